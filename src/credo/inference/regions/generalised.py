"""Generalised belief propagation: two engines on region graphs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from credo._validation.arrays import as_number, positive_int
from credo.exceptions import InputError
from credo.graphs.problems import Problem
from credo.graphs.wiring import starts
from credo.inference.question import Answer, Beliefs, Callback, Kind, Status, indices
from credo.inference.regions._course import Course
from credo.inference.regions._loops import run_loops_in_loop, run_one_loop
from credo.inference.regions._messages import RegionMessages
from credo.inference.regions._reading import joint_reader
from credo.inference.regions.choice import Choice, Regions, pick
from credo.inference.regions.graph import build_graph


def run_generalised(
    problem: Problem,
    *,
    regions: Regions = "auto",
    sweeps: int = 1000,
    tolerance: float = 1e-8,
    momentum: float | str = "adaptive",
    callback: Callback | None = None,
) -> Answer:
    r"""Pass two-way messages between regions and their intersections.

    The beliefs are a stationary point of the Kikuchi free energy

    .. math:: F = \sum_\alpha \sum_{x_\alpha} Q_\alpha \log \frac{Q_\alpha}{\psi_\alpha}
              + \sum_\beta c_\beta \sum_{x_\beta} Q_\beta \log Q_\beta

    among beliefs that agree, :math:`\sum_{x_\alpha \setminus x_\beta} Q_\alpha = Q_\beta`, for
    outer regions :math:`\alpha`, their intersections :math:`\beta` and counting numbers
    :math:`c_\beta = 1 - \sum_{\gamma \supset \beta} c_\gamma`; :math:`\log Z \approx -F`.

    Parameters
    ----------
    problem : Problem
        The factors, with the evidence in them.
    regions : {"auto", "bethe", "plaquettes", "cliques"} or list of lists of names
        The outer regions; scopes of factors inside none of them are added. ``"bethe"`` is ordinary
        belief propagation. ``"plaquettes"`` takes triangles and cycles of four without a chord,
        as many as are independent. ``"auto"`` takes these where they are small, or scopes.
    sweeps : int
        Visits of each inner region at most.
    tolerance : float
        Largest difference between a marginal of an outer belief and the inner one.
    momentum : float or "adaptive"
        Weight of the new log message, in (0, 1]. ``"adaptive"`` starts at one. When the residual
        stops falling, negative counting numbers are relaxed more, and then the weight is halved.
    callback : callable or None
        Called after each sweep with its number and its residual.

    Returns
    -------
    Answer
        ``EXACT`` if the regions have a junction tree and the beliefs agree.

    Raises
    ------
    InputError
        If an option is wrong, or regions are too large or too many.

    See Also
    --------
    run_double_loop : Slower, and sure to converge.

    Notes
    -----
    A sweep costs two visits to each cell of an outer region per inner region that it holds.
    Inner regions that lie in others are taken carefully from the start: a part of their negative
    counting numbers is taken at the last belief. That has the same fixed points, and avoids
    maxima of the free energy. ``details`` tells the final ``momentum`` and ``relaxation``, and
    ``counting_total``, the sum of all counting numbers: above the number of parts that hang
    together, loops are counted twice.

    References
    ----------
    .. [1] T. Heskes, K. Albers and B. Kappen, "Approximate inference and constrained
       optimization", UAI 2003, algorithm 1.
    .. [2] J. Yedidia, W. Freeman and Y. Weiss, "Constructing free-energy approximations and
       generalized belief propagation algorithms", IEEE Trans. Inf. Theory 51, 2005, section VI.

    Examples
    --------
    A square of four, with one region: exact.

    >>> import credo
    >>> from credo.graphs.problems import pose
    >>> from credo.inference.question import ask
    >>> graph = credo.FactorGraph()
    >>> names = [graph.variable(name, 2).name for name in "abcd"]
    >>> for pair in ("ab", "bc", "cd", "da"):
    ...     _ = graph.factor(list(pair), [[2.0, 1.0], [1.0, 2.0]])
    >>> question = ask(graph, None, None, None, "1GB", "example")
    >>> found = run_generalised(pose(question.wiring, question.evidence))
    >>> found.status, round(float(np.exp(found.log_z)), 9), found.details["regions"]
    ('EXACT', 82.0, 1)
    """
    owner = "generalised belief propagation"
    most, least_gap = _checked(owner, sweeps, tolerance)
    is_adaptive = isinstance(momentum, str) and momentum == "adaptive"
    weight = None if is_adaptive else _as_momentum(momentum, owner)
    choice = pick(problem, _by_number(problem, regions, owner))
    messages = RegionMessages(problem, build_graph(problem, choice))
    course = Course(callback)
    if messages.is_impossible:
        return _impossible(problem, course)
    caution = run_one_loop(messages, course, sweeps=most, tolerance=least_gap, momentum=weight)
    return _read(
        problem,
        choice,
        messages,
        course,
        {"momentum": caution.momentum, "relaxation": caution.relaxation},
    )


def run_double_loop(
    problem: Problem,
    *,
    regions: Regions = "auto",
    sweeps: int = 10_000,
    tolerance: float = 1e-8,
    callback: Callback | None = None,
) -> Answer:
    r"""Minimise the Kikuchi free energy by a sequence of convex bounds.

    Entropies that are counted negatively are replaced by their tangents at the last beliefs,

    .. math:: c_\beta \sum Q_\beta \log Q_\beta \le c_\beta \sum Q_\beta \log Q_\beta^{old}
              \qquad (c_\beta < 0),

    and two-way messages minimise what is left, which is convex.

    Parameters
    ----------
    problem : Problem
        The factors, with the evidence in them.
    regions : {"auto", "bethe", "plaquettes", "cliques"} or list of lists of names
        The outer regions, as for ``run_generalised``.
    sweeps : int
        Visits of each inner region at most, in all inner loops together.
    tolerance : float
        Largest difference between beliefs that should agree, and between inner beliefs before and
        after the last bound.
    callback : callable or None
        Called after each sweep with its number and its residual.

    Returns
    -------
    Answer
        ``details["free_energies"]`` holds the free energy after each bound.

    Raises
    ------
    InputError
        If an option is wrong, or regions are too large or too many.

    See Also
    --------
    run_generalised : Usually several times faster.

    Notes
    -----
    The free energy never rises, but for what an inner loop leaves unsolved: 1e-4 nats were seen
    with frustrated couplings of 2 and Bethe regions, 1e-12 elsewhere. A bound takes two sweeps or
    so. A junction tree needs no bounds.

    References
    ----------
    .. [1] T. Heskes, K. Albers and B. Kappen, "Approximate inference and constrained
       optimization", UAI 2003, sections 3 and 4.

    Examples
    --------
    >>> import credo
    >>> from credo.graphs.problems import pose
    >>> from credo.inference.question import ask
    >>> graph = credo.FactorGraph()
    >>> names = [graph.variable(name, 2).name for name in "abcde"]
    >>> for pair in ("ab", "bc", "cd", "de", "ea"):
    ...     _ = graph.factor(list(pair), [[1.0, 4.0], [4.0, 1.0]])
    >>> question = ask(graph, None, None, None, "1GB", "example")
    >>> found = run_double_loop(pose(question.wiring, question.evidence), regions="bethe")
    >>> found.status, found.log_z_is
    ('CONVERGED', 'ESTIMATE')
    """
    owner = "the double loop"
    most, least_gap = _checked(owner, sweeps, tolerance)
    choice = pick(problem, _by_number(problem, regions, owner))
    messages = RegionMessages(problem, build_graph(problem, choice))
    course = Course(callback)
    if messages.is_impossible:
        return _impossible(problem, course)
    energies = run_loops_in_loop(messages, course, sweeps=most, tolerance=least_gap)
    return _read(problem, choice, messages, course, {"free_energies": np.array(energies)})


def _checked(owner: str, sweeps: int, tolerance: float) -> tuple[int, float]:
    """Check the options that both engines have."""
    gap = as_number(tolerance, owner, "tolerance")
    if gap <= 0:
        raise InputError(f"The tolerance of {owner} must be above 0. Got {gap:g}.")
    return positive_int(sweeps, owner, "sweeps"), gap


def _as_momentum(momentum: float | str, owner: str) -> float:
    """Check the weight of new messages."""
    weight = np.nan if isinstance(momentum, str) else as_number(momentum, owner, "momentum")
    if not 0 < weight <= 1:
        raise InputError(
            f"The momentum of {owner} must be 'adaptive', or above 0 and at most 1. Got "
            f"{momentum!r}."
        )
    return weight


def _by_number(problem: Problem, regions: Regions, owner: str) -> Any:
    """Find the free variables that names stand for; observed ones are no part of a region."""
    if isinstance(regions, str):
        return regions
    if not isinstance(regions, Iterable):
        raise InputError(
            f"The regions of {owner} must be 'auto', 'bethe', 'plaquettes', 'cliques' or a list "
            f"of lists of names. Got {regions!r}."
        )
    found = []
    for region in regions:
        places = indices(problem.wiring, region, owner, "region") or []
        where = np.searchsorted(problem.variables, places)
        is_free = np.append(problem.variables, -1)[where] == places
        found.append(where[is_free].tolist())
    return found


def _impossible(problem: Problem, course: Course) -> Answer:
    """Say that nothing is possible."""
    beliefs = Beliefs(problem.variables, starts(problem.n_states), np.empty(0), -np.inf)
    trace = np.array(course.residuals)
    return Answer(beliefs, "EXACT", -np.inf, "EXACT", trace)


def _read(
    problem: Problem,
    choice: Choice,
    messages: RegionMessages,
    course: Course,
    extra: dict[str, Any],
) -> Answer:
    """Read beliefs and the free energy; exact on a junction tree whose beliefs agree."""
    if messages.is_impossible:
        return _impossible(problem, course)
    graph = messages.graph
    energy = messages.free_energy()
    log_z = messages.log_constant - energy
    is_exact = graph.is_forest and course.status == "CONVERGED"
    status: Status = "EXACT" if is_exact else course.status
    kind: Kind = "EXACT" if is_exact else "ESTIMATE"
    start, values = messages.marginals()
    return Answer(
        Beliefs(problem.variables, start, values, log_z if problem.is_complete else None),
        status,
        log_z,
        kind,
        np.array(course.residuals),
        updates=messages.updates,
        period=course.period,
        joints=joint_reader(problem, messages),
        details={
            "kind": choice.kind,
            "regions": len(graph.outer),
            "inner": len(graph.inner),
            "counting": graph.counting,
            "counting_total": choice.overlaps.total,
            "free_energy": energy,
            **extra,
        },
    )
