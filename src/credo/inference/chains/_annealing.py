"""Annealed importance sampling: an unbiased estimate of the sum over everything."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from credo._types import F64
from credo.inference.chains._field import Field, Int64
from credo.inference.chains._forests import Forests, turns
from credo.inference.chains._records import no_record
from credo.inference.chains._starts import located
from credo.inference.chains._walkers import Walker, on_threads

#: Walks to average, and the fewest temperatures of each.
WALKS, _LEAST_RUNGS = 16, 32
#: How much less likely a zero is than the least positive cell of its table, times the number of
#: tables: so at the end all but a few walks in a thousand have left the zeros.
_RARE = 1e3


@dataclass(frozen=True, slots=True)
class LogSum:
    """An estimate of log Z and its standard error by the delta method, or None for neither."""

    value: float | None
    standard_error: float


def annealed(
    field: Field,
    forests: Forests | None,
    seeds: list[np.random.SeedSequence],
    rungs: int,
    threads: int,
) -> LogSum:
    r"""Walk from independent variables to the target; average the weights gained on the way.

    With f_b = base^(1 - b) target^b and sweeps that leave each f_b as it is,

    .. math:: Z = E \prod_j f_{b_j}(x_{j-1}) / f_{b_{j-1}}(x_{j-1}), \qquad x_0 \sim \text{base} .

    Zeros stay out of it, being replaced by something small, until the end: a walk that ends at a
    zero has weight zero. The base has the factors of one variable. It owes nothing to the chains:
    made of their beliefs the weights would vary less, but repeat what the chains miss.
    """
    soft = _softened(field)
    steps = np.linspace(0.0, 1.0, max(_LEAST_RUNGS, rungs) + 1)
    plan = turns(len(steps) - 1, forests)

    def walk(seed: np.random.SeedSequence) -> float:
        rng = np.random.default_rng(seed)
        states = _drawn(soft, rng)
        walker = Walker(soft, forests, rng, states, located(soft, states), no_record())
        gained = walker.advance(steps, plan)
        return -np.inf if _is_zero(field, walker) else gained

    logs = np.array(list(on_threads(walk, seeds, threads)))
    return _averaged(logs, field.log_constant)


def _averaged(logs: F64, constant: float) -> LogSum:
    """Average weights given by their logs; unless they are too few, or differ too much.

    Where logs of weights have variance s², about exp(s² / 2) of them are needed (Chatterjee and
    Diaconis, "The sample size required in importance sampling", 2018, theorem 1.1).
    """
    alive = logs[logs > -np.inf]
    if len(alive) < 2 or 0.5 * float(alive.var(ddof=1)) > np.log(len(alive)):
        return LogSum(None, np.inf)
    top = float(logs.max())
    weights = np.exp(logs - top)
    mean = float(weights.mean())
    error = float(weights.std(ddof=1)) / mean / np.sqrt(len(weights))
    return LogSum(constant + top + float(np.log(mean)), error)


def _softened(field: Field) -> Field:
    """Make the base, and put something small in the place of zeros."""
    first, sizes = field.start[:-1], np.diff(field.start)
    alone = _without_zeros(field.weights[1], first, sizes, field)
    top = np.maximum.reduceat(alone, first)
    total = np.add.reduceat(np.exp(alone - np.repeat(top, sizes)), first)
    base = alone - np.repeat(top + np.log(total), sizes)
    logs = field.logs.copy()
    cells, widths = field.cells, field.sizes
    logs[cells] = _without_zeros(logs[cells], np.cumsum(widths) - widths, widths, field)
    return replace(field, weights=np.stack([base, alone]), logs=logs)


def _drawn(field: Field, rng: np.random.Generator) -> Int64:
    """Draw states from the base."""
    ends = np.cumsum(np.exp(field.weights[0]))
    low = np.concatenate([[0.0], ends])[field.start[:-1]]
    aim = low + rng.random(len(low)) * (ends[field.start[1:] - 1] - low)
    state = np.searchsorted(ends, aim, side="right") - field.start[:-1]
    return np.asarray(np.clip(state, 0, np.diff(field.start) - 1))


def _without_zeros(logs: F64, first: Int64, sizes: Int64, field: Field) -> F64:
    """Replace -inf, in each part, by something well below all that is finite."""
    if not len(logs):
        return logs
    least = np.minimum.reduceat(np.where(logs > -np.inf, logs, np.inf), first)
    rare = np.log(_RARE * (len(field.cell_start) + field.n_variables))
    return np.where(logs > -np.inf, logs, np.repeat(least - rare, sizes))


def _is_zero(field: Field, walker: Walker) -> bool:
    """Tell whether a walk ended where the target is zero."""
    alone = field.weights[1, field.start[:-1] + walker.states]
    return bool((alone == -np.inf).any() or (field.logs[walker.cells] == -np.inf).any())
