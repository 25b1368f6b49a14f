"""Belief propagation between signs on a square grid in NumPy, float32, whole planes at a time.

Each takes the field h of exp(J sum x_i x_j + sum h_i x_i), and gives the plane of beliefs in +1
after so many sweeps, all messages at once, sums of one, momentum on the new message. All three
give the same beliefs; they differ in how the arithmetic is written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: Where messages arrive and whence they come: from above, below, the left, the right.
TO = (np.s_[1:], np.s_[:-1], np.s_[:, 1:], np.s_[:, :-1])
FROM = (TO[1], TO[0], TO[3], TO[2])
BACK = (1, 0, 3, 2)


def tuned(field: Any, coupling: float, sweeps: int, eta: float) -> Any:
    """Hold the probability of +1; ratios in between; every operation in place.

    With a = exp(2J) and q the odds of what a pixel has heard, it says (a q + 1) / ((a + 1)(q + 1)),
    which is a / (a + 1) - (a - 1) / ((a + 1)(q + 1)): one division. Strong fields would overflow.
    """
    one, keep, a = np.float32(1), np.float32(1 - eta), np.exp(2 * coupling)
    most, less = np.float32(eta * a / (a + 1)), np.float32(eta * (a - 1) / (a + 1))
    own = np.exp(2 * field)
    says = np.full((4, *field.shape), np.float32(0.5))
    odds, both, said = np.empty_like(says), np.empty_like(own), np.empty_like(own)
    for _ in range(sweeps):
        np.divide(says, np.subtract(one, says, out=odds), out=odds)
        for way in range(4):
            if way % 2 == 0:  # what comes from the two sides goes into both messages along the way
                np.multiply(odds[way - 2], odds[way - 1], out=both)
                np.multiply(both, own, out=both)
            np.multiply(both, odds[way], out=said)
            np.divide(less, np.add(said, one, out=said), out=said)
            message = says[way][TO[way]]
            message *= keep
            message += most
            message -= said[FROM[way]]
    odds = says / (one - says)
    own *= odds[0] * odds[1] * odds[2] * odds[3]
    return own / (own + one)


def lecture(field: Any, coupling: float, sweeps: int, eta: float) -> Any:
    """Write the lecture down: 2-vectors, products, a 2 x 2 matrix, sums of one."""
    new, old = np.float32(eta), np.float32(1 - eta)
    psi = np.exp(np.float32(coupling) * np.array([[1, -1], [-1, 1]], np.float32))
    own = np.exp(np.stack([-field, field]))
    says = np.full((4, *own.shape), np.float32(0.5))
    for _ in range(sweeps):
        above, below, left, right = says
        heard = (
            own * above * left * right,
            own * below * left * right,
            own * above * below * left,
            own * above * below * right,
        )
        for way, (first, second) in enumerate(heard):
            said = np.stack([psi[b, 0] * first + psi[b, 1] * second for b in (0, 1)])
            said /= said.sum(axis=0)
            to, source = (np.s_[:], *_pair(TO[way])), (np.s_[:], *_pair(FROM[way]))
            says[way][to] = new * said[source] + old * says[way][to]
    belief = own * says[0] * says[1] * says[2] * says[3]
    return belief[1] / belief.sum(axis=0)


def _pair(place: Any) -> tuple[Any, ...]:
    """Give a place in a plane as a tuple."""
    return place if isinstance(place, tuple) else (place,)


def logs(field: Any, coupling: float, sweeps: int, eta: float) -> Any:
    """Stay in logs, as general programs do, so that no field is too strong."""
    new, old, coupled = np.log(np.float32(eta)), np.log(np.float32(1 - eta)), np.float32(coupling)
    own = np.stack([-field, field])
    says = np.full((4, *own.shape), np.log(np.float32(0.5)))
    for _ in range(sweeps):
        heard, fresh = own + says.sum(axis=0), says.copy()
        for way in range(4):
            first, second = heard - says[BACK[way]]
            equal = np.logaddexp(first + coupled, second - coupled)
            other = np.logaddexp(first - coupled, second + coupled)
            said = np.stack([equal, other]) - np.logaddexp(equal, other)
            to, source = (np.s_[:], *_pair(TO[way])), (np.s_[:], *_pair(FROM[way]))
            fresh[way][to] = np.logaddexp(new + said[source], old + says[way][to])
        says = fresh
    belief = own + says.sum(axis=0)
    return np.exp(belief[1] - np.logaddexp(*belief))


STYLES = {"NumPy": tuned, "NumPy as the lecture": lecture, "NumPy in logs": logs}
