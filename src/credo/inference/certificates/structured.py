"""Structured mean field: independent blocks of variables, each of them a forest."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from credo._types import F64, Bool
from credo._validation.labels import listing
from credo.exceptions import InputError
from credo.graphs.problems import Problem
from credo.inference.certificates.ascent import (
    Ascent,
    Climber,
    Effort,
    as_answer,
    as_effort,
    climb_from_boxes,
)
from credo.inference.certificates.blocks import Blocking, cut, forest_blocks
from credo.inference.certificates.dual import Dual
from credo.inference.certificates.mean_field import independent_ascent
from credo.inference.certificates.reduction import Int64, Reduced, reduce
from credo.inference.certificates.tree_reweighted import impossible, rough_marginals, strengths
from credo.inference.question import Answer, Callback, indices

_WHO = "structured mean field"


def run_structured_mean_field(  # noqa: PLR0913 - one parameter per setting
    problem: Problem,
    *,
    blocks: Literal["forest"] | Sequence[Iterable[Hashable]] = "forest",
    sweeps: int = 1000,
    tolerance: float = 1e-8,
    restarts: int = 3,
    seed: int = 0,
    callback: Callback | None = None,
) -> Answer:
    r"""Bound log Z from below by a distribution of independent blocks.

    .. math:: \log Z \ge \sum_f E_q \log \psi_f + \sum_B H(q_B), \qquad q(x) = \prod_B q_B(x_B)

    Each block is a forest, within which sums are exact. Blocks in turn are set to the best, given
    the others, which never lowers the bound.

    Parameters
    ----------
    problem : Problem
        Factors over free variables.
    blocks : "forest" or list of lists of names
        "forest" looks for few blocks that hold the strongest factors whole. Given blocks must have
        no cycle of factors; variables in none of them are blocks of their own.
    sweeps : int, default 1000
        Times at most that every block is updated, from each start.
    tolerance : float, default 1e-8
        Largest change of a marginal in a sweep at which it stops.
    restarts : int, default 3
        Ways to choose blocks, and starts; the best is kept. The first also starts from mean field,
        so that the bound is at least as high.
    seed : int, default 0
        Seed of the starts.
    callback : callable, optional
        Called after each sweep with its number and its residual.

    Returns
    -------
    Answer
        ``log_z`` is a lower bound at any time, less an allowance for rounding; exact where one
        forest holds all factors. ``details`` has the ``bounds`` after each sweep, the allowance
        ``rounding``, and the ``blocks`` as lists of variables of the wiring.

    Raises
    ------
    InputError
        If given blocks share a variable, or have a cycle of factors.

    Notes
    -----
    A sweep costs a few operations for each cell and variable of the factors. A factor in two blocks
    acts on each by its logs, averaged over the other.

    References
    ----------
    .. [1] L. K. Saul and M. I. Jordan, Exploiting tractable substructures in intractable networks,
       NIPS 8 (1996), section 3.
    .. [2] M. J. Wainwright and M. I. Jordan, Graphical models, exponential families, and
       variational inference, Foundations and Trends in Machine Learning 1 (2008), section 5.5.

    Examples
    --------
    >>> import numpy as np
    >>> from credo import FactorGraph
    >>> from credo.graphs.evidence import Evidence
    >>> from credo.graphs.problems import pose
    >>> graph = FactorGraph()
    >>> for name in "abc":
    ...     _ = graph.variable(name, 2)
    >>> for pair in ("ab", "bc", "ca"):
    ...     _ = graph.factor(list(pair), [[2.0, 1.0], [1.0, 2.0]])
    >>> found = run_structured_mean_field(pose(graph.compile(), Evidence(())))
    >>> found.log_z_is, round(float(np.exp(found.log_z)), 2)  # the sum is 28
    ('LOWER_BOUND', 24.0)
    """
    effort = as_effort(sweeps, tolerance, restarts, seed, callback, _WHO)
    reduced = reduce(problem)
    if not reduced.is_possible:
        return impossible(reduced)
    given = None if isinstance(blocks, str) and blocks == "forest" else _given(reduced, blocks)
    guide = rough_marginals(reduced)
    start = independent_ascent(reduced, guide, replace(effort, restarts=1))
    found = block_ascent(reduced, guide, effort, start, given)
    result = as_answer(reduced, found, guide)
    if found is None:
        return result
    return replace(result, details={**result.details, "blocks": _listed(found.blocking)})


def block_ascent(
    reduced: Reduced, guide: F64, effort: Effort, start: Ascent | None, given: Int64 | None = None
) -> Ascent | None:
    """Climb with several ways to choose blocks, and from an ascent with independent variables."""
    rng = np.random.default_rng(effort.seed)
    strong = strengths(Dual(reduced))
    once = replace(effort, restarts=1)
    found: list[Ascent] = []
    for turn in range(effort.restarts):
        noise = np.exp(rng.standard_normal(len(strong))) if turn else 1.0
        block = forest_blocks(reduced, strong * noise) if given is None else given
        blocking = cut(reduced, block)
        if blocking is None:
            raise _cyclic(reduced, block)
        if start is not None and not turn:
            climber = Climber(blocking)
            climber.start_at(start.marginals)
            found.append(climber.climb(effort))
        ascent = climb_from_boxes(blocking, guide, once, rng)
        found += [] if ascent is None else [ascent]
        if not len(blocking.crossing):
            break  # exact
    return max(found, key=lambda ascent: ascent.value, default=None)


def _given(reduced: Reduced, blocks: Any) -> Int64:
    """Give the number of each variable's block, as the user named them; others come after."""
    wiring, problem = reduced.problem.wiring, reduced.problem
    if isinstance(blocks, str) or not isinstance(blocks, Sequence):
        raise InputError(
            f"The blocks of {_WHO} must be 'forest' or a list of lists of names. Got {blocks!r}."
        )
    place = {int(problem.variables[v]): i for i, v in enumerate(reduced.kept.tolist())}
    block = np.full(reduced.n, -1, np.int64)
    seen: set[int] = set()
    for number, names in enumerate(blocks):
        for v in indices(wiring, names, _WHO, "blocks") or []:
            if v in seen:
                raise InputError(f"The blocks of {_WHO} name {wiring.names[v]!r} twice.")
            seen.add(v)
            if v in place:
                block[place[v]] = number
    alone = block < 0
    block[alone] = len(blocks) + np.arange(int(alone.sum()))
    return np.unique(block, return_inverse=True)[1].astype(np.int64)


def _listed(blocking: Blocking) -> list[Int64]:
    """List the variables of each block, as numbered in the wiring."""
    reduced, blocks = blocking.reduced, blocking.blocks
    variables = reduced.problem.variables[reduced.kept[blocks.members]]
    return np.split(variables, blocks.member_start[1:-1])


def _cyclic(reduced: Reduced, block: Int64) -> InputError:
    """Name the first block that has a cycle of factors."""
    names = reduced.problem.wiring.names
    groups = (block == number for number in range(int(block.max()) + 1))
    inside = next(group for group in groups if _has_cycle(reduced, group))
    variables = reduced.problem.variables[reduced.kept[inside]].tolist()
    listed = listing([names[v] for v in variables if v < len(names)])
    return InputError(
        f"Each block of {_WHO} must have no cycle of factors. Got one with {listed}; split it, or "
        "use blocks='forest'."
    )


def _has_cycle(reduced: Reduced, inside: Bool) -> bool:
    """Tell whether a block, with all others alone, cannot be cut out."""
    apart = np.where(inside, 0, np.arange(reduced.n) + 1)
    return cut(reduced, np.unique(apart, return_inverse=True)[1].astype(np.int64)) is None
