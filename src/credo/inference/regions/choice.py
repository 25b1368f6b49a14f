"""Choosing the outer regions: sets of variables whose joint beliefs are kept as tables."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from credo._validation.labels import listing
from credo.exceptions import InputError
from credo.graphs.problems import Problem
from credo.inference.regions._cliques import maximal_cliques
from credo.inference.regions._cycles import Plaquettes, find_plaquettes, neighbours
from credo.inference.regions._overlaps import Overlaps, intersections, shared_variables
from credo.inference.regions._sets import Int64, Sets, live_scopes

#: How to choose regions: by name, or as collections of variables.
Regions: TypeAlias = str | Iterable[Collection[Hashable]]
#: What regions were made of.
Kind: TypeAlias = Literal["bethe", "plaquettes", "cliques", "given"]

KINDS = ("auto", "bethe", "plaquettes", "cliques")
#: Cells of a region that no factor has asked for: half a megabyte.
MOST_CELLS = 2**16
#: Cells of all regions: a gigabyte for their factors, and another for their beliefs.
MOST_CELLS_IN_ALL = 2**27
#: The same where regions are chosen unasked: plaquettes of eight states, and a sixteenth of a
#: second per sweep and inner region that a cell is in.
FEW_CELLS = 2**12
FEW_CELLS_IN_ALL = 2**23
#: Plaquettes from which on all are tried at first: to find independent ones takes 0.2 seconds.
MANY_CYCLES = 10**4
NOTHING = Sets.of([])


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Outer regions, none inside another, that cover all factors and variables."""

    kind: Kind
    outer: Sets
    overlaps: Overlaps


def choose_regions(problem: Problem, regions: Regions) -> list[tuple[int, ...]]:
    """Choose the outer regions of a problem.

    Parameters
    ----------
    problem : Problem
        The factors, with the evidence in them.
    regions : {"auto", "bethe", "plaquettes", "cliques"} or list of collections of int
        ``"bethe"`` takes the scopes of the factors. ``"plaquettes"`` adds triangles and cycles of
        four without a chord, on a grid its faces: as many as are independent, for others would
        count loops twice. ``"cliques"`` takes the maximal cliques that are not too large.
        ``"auto"`` takes plaquettes where their tables are small and their counting numbers
        balance, and scopes elsewhere. Or sets of variables as numbered in the problem.

    Returns
    -------
    list of tuple of int
        Ascending variables; a variable with one state is in none of them. Scopes that lie in no
        region are regions too, and regions inside others are left out.

    Raises
    ------
    InputError
        If a region is too large, or there are too many.

    See Also
    --------
    run_generalised : Passes messages between the regions.

    Notes
    -----
    Time is linear in variables, factors and plaquettes where degrees are bounded.

    References
    ----------
    .. [1] M. Welling, "On the choice of regions for generalized belief propagation", UAI 2004,
       section 4.

    Examples
    --------
    >>> import credo
    >>> from credo.graphs.problems import pose
    >>> from credo.inference.question import ask
    >>> graph = credo.FactorGraph()
    >>> names = [graph.variable(name, 2).name for name in "abcde"]
    >>> for pair in ("ab", "bc", "cd", "da", "de"):
    ...     _ = graph.factor(list(pair), [[2.0, 1.0], [1.0, 2.0]])
    >>> question = ask(graph, None, None, None, "1GB", "example")
    >>> choose_regions(pose(question.wiring, question.evidence), "plaquettes")
    [(0, 1, 2, 3), (3, 4)]
    """
    return pick(problem, regions).outer.tuples()


def pick(problem: Problem, regions: Regions) -> Choice:
    """Choose the outer regions; say what they were made of and what they share."""
    scopes = live_scopes(problem)
    if not isinstance(regions, str):
        given = _as_given(problem, regions)
        _check_cells(problem, given)
        return _closed(problem, "given", given, scopes)
    if regions == "auto":
        return _automatic(problem, scopes)
    if regions == "bethe":
        return _bethe(problem, scopes)
    if regions == "plaquettes":
        return _plaquettes(problem, scopes)
    if regions == "cliques":
        cliques = maximal_cliques(neighbours(problem, scopes))
        small = cliques.cells(problem.n_states) <= MOST_CELLS
        return _closed(problem, "cliques", cliques.chosen(small), scopes)
    raise InputError(
        f"regions must be one of {', '.join(KINDS)}, or a list of lists of names. Got {regions!r}."
    )


def _as_given(problem: Problem, regions: Iterable[Collection[Any]]) -> Sets:
    """Take sets of variables as numbered in the problem."""
    live = problem.n_states > 1
    return Sets.of(sorted(v for v in set(region) if live[v]) for region in regions)


def _bethe(problem: Problem, scopes: Sets) -> Choice:
    """Take the scopes, which share single variables."""
    outer = _covering(problem, NOTHING, scopes)
    return Choice("bethe", outer, shared_variables(outer, len(problem.n_states)))


def _closed(problem: Problem, kind: Kind, sets: Sets, scopes: Sets) -> Choice:
    """Take sets and scopes, and all that they share."""
    outer = _covering(problem, sets, scopes)
    return Choice(kind, outer, intersections(outer, len(problem.n_states)))


def _plaquettes(problem: Problem, scopes: Sets) -> Choice:
    """Take the plaquettes, independent ones if all of them do not balance."""
    found = find_plaquettes(problem, scopes)
    if found is None:
        raise InputError(
            "The graph has too many triangles and cycles of four to list. Choose regions='bethe', "
            "or list the regions."
        )
    _check_cells(problem, found.cycles)
    choice = _balanced(problem, scopes, found)[0]
    return choice or _closed(problem, "plaquettes", found.cycles, scopes)


def _balanced(problem: Problem, scopes: Sets, found: Plaquettes) -> tuple[Choice | None, bool]:
    """Take independent plaquettes, or very many if they balance; tell whether they do.

    Counting numbers balance if they sum to the number of parts, less one for each independent
    cycle that is in no region. None if independent plaquettes are hard to find.
    """
    n_loops, n_cycles = found.n_loops, len(found.cycles)
    if MANY_CYCLES < n_cycles <= n_loops and not found.known.any():
        choice = _closed(problem, "plaquettes", found.cycles, scopes)
        if _is_balanced(choice, n_loops - n_cycles):
            return choice, True
    kept = found.independent()
    if kept is None:
        return None, False
    choice = _closed(problem, "plaquettes", kept[0], scopes)
    return choice, _is_balanced(choice, n_loops - kept[1])


def _is_balanced(choice: Choice, n_left: int) -> bool:
    """Tell whether no loop is counted twice, if so many are in no region."""
    return choice.overlaps.total == choice.overlaps.n_parts - n_left


def _automatic(problem: Problem, scopes: Sets) -> Choice:
    """Take plaquettes if they are small and balance, or the scopes."""
    found = find_plaquettes(problem, scopes)
    if found is not None and len(found.cycles):
        cells = found.cycles.cells(problem.n_states)
        if cells.max() <= FEW_CELLS and cells.sum() <= FEW_CELLS_IN_ALL:
            choice, is_balanced = _balanced(problem, scopes, found)
            if choice is not None and is_balanced:
                return choice
    return _bethe(problem, scopes)


def _covering(problem: Problem, sets: Sets, scopes: Sets) -> Sets:
    """Add the scopes and variables that no set holds; leave out what lies inside others."""
    alone = Sets.of_rows(np.flatnonzero(problem.n_states > 1)[:, None])
    outer = sets.joined(scopes).joined(alone).maximal(len(problem.n_states))
    total = outer.cells(problem.n_states).sum()
    if total > MOST_CELLS_IN_ALL:
        raise InputError(
            f"The regions need {total:.3g} cells in all; at most {MOST_CELLS_IN_ALL} are kept. "
            "Choose fewer or smaller regions, or regions='bethe'."
        )
    return outer


def _check_cells(problem: Problem, sets: Sets) -> None:
    """Refuse a region that is larger than the limit."""
    cells = sets.cells(problem.n_states)
    if len(cells) and cells.max() > MOST_CELLS:
        worst = int(np.argmax(cells))
        members = sets.members[sets.start[worst] : sets.start[worst + 1]]
        raise InputError(
            f"A region may have {MOST_CELLS} cells at most. The one of variables "
            f"{_names(problem, members)} has {cells[worst]:.6g}. Choose smaller regions, or "
            "regions='bethe'."
        )


def _names(problem: Problem, members: Int64) -> str:
    """List names of variables; those that stand for parts of a rule have none."""
    names = problem.wiring.names
    places = problem.variables[members].tolist()
    return listing([names[v] if v < len(names) else f"auxiliary {v}" for v in places])
