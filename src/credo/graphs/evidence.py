"""Evidence: what was observed, by name, as weights on states. It never changes the model."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._types import F64
from credo.exceptions import InputError, LabelError, ShapeError
from credo.graphs.wiring import Wiring


class Finding(NamedTuple):
    """One observation: a state, a set of states, or a likelihood, on one variable."""

    variable: int
    state: int  #: the observed state, or -1
    weights: F64 | None  #: weights on the states, or None for a single state
    name: Any
    given: Any  #: as the user wrote it


@dataclass(frozen=True, slots=True)
class Evidence:
    """Findings on the variables of one model."""

    findings: tuple[Finding, ...]

    def observed(self, n: int) -> npt.NDArray[np.int64]:
        """Return the observed state of each of ``n`` variables, -1 where there is none."""
        states = np.full(n, -1, np.int64)
        weighted = {finding.variable for finding in self.findings if finding.weights is not None}
        for finding in self.findings:
            if finding.variable not in weighted:
                states[finding.variable] = finding.state
        return states

    def soft(self, wiring: Wiring) -> dict[int, F64]:
        """Multiply the weights of all findings on variables that have more than a state."""
        weighted = {finding.variable for finding in self.findings if finding.weights is not None}
        if not weighted:
            return {}
        return Evidence(tuple(f for f in self.findings if f.variable in weighted)).weights(wiring)

    def weights(self, wiring: Wiring) -> dict[int, F64]:
        """Multiply the weights of all findings, single states too."""
        weights: dict[int, F64] = {}
        for finding in self.findings:
            v, now = finding.variable, self.weights_of(finding, wiring)
            weights[v] = weights[v] * now if v in weights else now
        return weights

    @staticmethod
    def weights_of(finding: Finding, wiring: Wiring) -> F64:
        """Return a finding as weights on the states of its variable."""
        if finding.weights is not None:
            return finding.weights
        one = np.zeros(int(wiring.n_states[finding.variable]))
        one[finding.state] = 1.0
        return one

    def only(self, chosen: Sequence[int]) -> Evidence:
        """Return the evidence with these findings only."""
        return Evidence(tuple(self.findings[i] for i in chosen))

    def and_weights(self, weights: Mapping[int, F64], wiring: Wiring) -> Evidence:
        """Add findings given as weights, by index of the variable."""
        more = (Finding(v, -1, w, wiring.names[v], w.tolist()) for v, w in sorted(weights.items()))
        return Evidence((*self.findings, *more))


def resolve(
    wiring: Wiring,
    evidence: Mapping[Hashable, Any] | None,
    likelihood: Mapping[Hashable, Any] | None = None,
    owner: str = "infer",
) -> Evidence:
    """Find the variables and states that evidence names.

    Parameters
    ----------
    wiring
        The compiled model.
    evidence
        ``{variable: state}`` or ``{variable: {state, state}}``.
    likelihood
        ``{variable: weights}``: one weight per state, in order or by name.
    owner
        Who asks, for messages.
    """
    findings: list[Finding] = []
    seen: set[int] = set()
    for name, given in items_of(evidence, owner, "evidence"):
        v = wiring.index(name)
        if v in seen:
            raise InputError(f"The evidence of {owner} names {wiring.names[v]!r} twice.")
        seen.add(v)
        findings.append(_states(v, wiring.names[v], given, tuple(wiring.states[v])))
    for name, given in items_of(likelihood, owner, "likelihood"):
        v = wiring.index(name)
        weights = as_weights_on(given, tuple(wiring.states[v]), f"{owner}, variable {name!r}")
        findings.append(Finding(v, -1, weights, wiring.names[v], weights.tolist()))
    return Evidence(tuple(findings))


def items_of(given: Any, owner: str, what: str) -> Any:
    """Return the items of a mapping, or say what was expected."""
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise InputError(
            f"The {what} of {owner} must be a mapping by variable. Got {type(given).__name__}"
            + ("." if what == "jeffrey" else "; for many rows use infer_many.")
        )
    return given.items()


def _states(v: int, name: Any, given: Any, states: tuple[Any, ...]) -> Finding:
    """Turn a state, or several, into a finding."""
    if type(given) is str and given in states:  # the everyday case, at once
        return Finding(v, states.index(given), None, name, given)
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given.item()
    if not _are_several(given, states):
        return Finding(v, _place(given, states, name), None, name, given)
    each = sorted(given, key=repr) if isinstance(given, AbstractSet) else list(given)
    flags = (bool, np.bool_)  # True would be read as the state 1
    if any(isinstance(s, flags) for s in each) and not any(isinstance(s, flags) for s in states):
        raise InputError(
            f"The evidence on {name!r} must list states. Got booleans; list the states that are "
            "allowed."
        )
    allowed = sorted({_place(state, states, name) for state in each})
    if not allowed:
        raise InputError(
            f"The evidence on {name!r} allows no state. Leave the variable out if it was not "
            "observed."
        )
    if len(allowed) == 1:
        return Finding(v, allowed[0], None, name, states[allowed[0]])
    weights = np.zeros(len(states))
    weights[allowed] = 1.0
    return Finding(v, -1, weights, name, [states[i] for i in allowed])


def _are_several(given: Any, states: tuple[Any, ...]) -> bool:
    """Tell a collection of states from a single one, which may be a tuple or a frozenset."""
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        return False
    return not (isinstance(given, Hashable) and given in states)


def _place(given: Any, states: tuple[Any, ...], name: Any) -> int:
    """Return the index of a state; what stands for no value at all is none."""
    try:
        is_missing = given is None or bool(given != given)  # noqa: PLR0124 - NaN alone does
    except TypeError:  # pandas' NA is neither
        is_missing = True
    if is_missing and not any(given is state for state in states):
        raise LabelError(
            f"Variable {name!r} has no state {given!r}. Leave the variable out of the evidence if "
            "it was not observed."
        )
    return check.position(given, states, "state", f"Variable {name!r}")


def as_weights_on(given: Any, states: tuple[Any, ...], owner: str) -> F64:
    """Return weights, given in the order of the states or by name, as a new vector."""
    given = check.by_name(given, states) or given
    lacking = [state for state in states if isinstance(given, Mapping) and state not in given]
    if lacking:
        raise InputError(f"{owner}: the weights lack the state {lacking[0]!r}. Give one to each.")
    shape = None if isinstance(given, Mapping) else check.finite(given, f"weights of {owner}").shape
    if shape not in (None, (len(states),)):
        raise ShapeError(
            f"{owner}: weights must be one weight per state, {len(states)} in all. Got shape "
            f"{shape}."
        )
    weights = np.array(check.per_label(given, states, f"weights of {owner}"))
    if (weights < 0).any() or not weights.any():
        raise InputError(
            f"{owner}: weights must be finite, at least 0, and not all 0. Got {weights.tolist()}."
        )
    return weights
