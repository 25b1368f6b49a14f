"""Mean field: the best distribution of independent variables, and its lower bound on log Z."""

from __future__ import annotations

import numpy as np

from credo._types import F64
from credo.graphs.problems import Problem
from credo.inference.certificates.ascent import (
    Ascent,
    Effort,
    as_answer,
    as_effort,
    climb_from_boxes,
)
from credo.inference.certificates.blocks import cut, singles
from credo.inference.certificates.reduction import Reduced, reduce
from credo.inference.certificates.tree_reweighted import impossible, rough_marginals
from credo.inference.question import Answer, Callback

_WHO = "mean field"


def run_mean_field(
    problem: Problem,
    *,
    sweeps: int = 1000,
    tolerance: float = 1e-8,
    restarts: int = 1,
    seed: int = 0,
    callback: Callback | None = None,
) -> Answer:
    r"""Bound log Z from below by a distribution of independent variables.

    .. math:: \log Z \ge \sum_f E_q \log \psi_f + \sum_i H(q_i), \qquad q(x) = \prod_i q_i(x_i)

    Each marginal in turn is set to the best, given the others, which never lowers the bound.

    Parameters
    ----------
    problem : Problem
        Factors over free variables.
    sweeps : int, default 1000
        Times at most that every variable is updated, from each start.
    tolerance : float, default 1e-8
        Largest change of a marginal in a sweep at which it stops.
    restarts : int, default 1
        Starts; the first is near tree-reweighted marginals, others are random. The best is kept.
    seed : int, default 0
        Seed of the starts.
    callback : callable, optional
        Called after each sweep with its number and its residual.

    Returns
    -------
    Answer
        ``log_z`` is a lower bound at any time, less an allowance for rounding. ``details`` has the
        ``bounds`` after each sweep and the allowance ``rounding``.

    Notes
    -----
    A sweep costs a few operations for each cell and variable of the factors. Zeros of the model
    need states that q leaves out; a start is found by dropping unlikely states until no zero cell
    is left. Where that fails the bound is minus infinity, which is true and useless.

    References
    ----------
    .. [1] T. S. Jaakkola, Tutorial on variational approximation methods, in *Advanced Mean Field
       Methods*, MIT Press, 2001, section 10.3.
    .. [2] M. J. Wainwright and M. I. Jordan, Graphical models, exponential families, and
       variational inference, Foundations and Trends in Machine Learning 1 (2008), section 5.3.

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
    >>> found = run_mean_field(pose(graph.compile(), Evidence(())))
    >>> found.log_z_is, round(float(np.exp(found.log_z)), 2)  # the sum is 28
    ('LOWER_BOUND', 22.63)
    """
    effort = as_effort(sweeps, tolerance, restarts, seed, callback, _WHO)
    reduced = reduce(problem)
    if not reduced.is_possible:
        return impossible(reduced)
    guide = rough_marginals(reduced)
    return as_answer(reduced, independent_ascent(reduced, guide, effort), guide)


def independent_ascent(reduced: Reduced, guide: F64, effort: Effort) -> Ascent | None:
    """Climb with every variable in a block of its own."""
    blocking = cut(reduced, singles(reduced))
    rng = np.random.default_rng(effort.seed)
    return None if blocking is None else climb_from_boxes(blocking, guide, effort, rng)
