"""Orders in which to eliminate variables, and what they cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._kernels.cliques import elimination_cliques
from credo._kernels.orders import eliminate
from credo._kernels.refine import BITS, refined
from credo.exceptions import InputError, ShapeError

Heuristic: TypeAlias = Literal["auto", "min-fill", "weighted-min-fill", "min-degree", "min-weight"]
_Ints: TypeAlias = npt.NDArray[np.int64]
_Scopes: TypeAlias = tuple[_Ints, _Ints, _Ints]

#: In the numbering of the kernel.
_NAMES = ("min-fill", "weighted-min-fill", "min-degree", "min-weight")
_TRIED = {name: [kind] for kind, name in enumerate(_NAMES)} | {"auto": [1, 0, 3]}
#: Below this many cells an answer takes less than a millisecond, whatever the order.
_QUICK = 1e5
#: Units of work in a second, measured: 4 to 9 ns each on munin1, link, pigs and water.
_UNITS_PER_SECOND = 2e8
#: Units of work that a cell of the best order is worth: a quarter of a first answer, which takes
#: about 4 ns a cell. Mean cells over eight seeds, as parts of weighted min-fill, for 0.1, 0.2, 0.4:
#: insurance .80 .52 .44, andes 1 1 .89, pigs 1 .97 .87, water .83 .83 .83, munin2 .63 .51 .46,
#: munin .67 .66 .65, link .60 .60 .60, munin1 .35 .35 .35. Search and first answer together are
#: then .79, .81 and .88 of the plain order (geometric mean), and later answers are cheaper the
#: longer the search.
_SHARE = 0.2
#: Part of that for greedy tries after the first.
_GREEDY_SHARE = 0.1
#: Units that one unit of a greedy try takes, and that a variable takes in refinement.
_GREEDY, _PLANTING = 2.0, 32.0
#: Log2 of cells that cannot be addressed, with some to spare (2 ** 58 doubles are 2 ** 61 bytes),
#: and cells up to which the cliques of an order are counted.
_HOPELESS, _COUNTED = 60.0, 2.0**256
#: Units of greedy tries after which one that came to such a clique is taken at its word.
_PATIENCE = 1e8
#: Units, beside those for what is given, after which a graph turns out to be harder than it looked,
#: and how many times as many come next: the run begins again, compiled if so many are worth it.
_LARGE, _MORE = 1e5, 8


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """Hold an elimination order and what it costs.

    Parameters
    ----------
    sequence
        Variables in the order in which they are eliminated.
    log2_largest
        Base-2 logarithm of the cells of the largest clique.
    cells
        Cells of all maximal cliques: what a junction tree stores.
    cells_all
        Cells of the cliques of all variables: what bucket elimination fills and sums.
    width
        Variables in the largest clique, less one.
    heuristic
        Where the order comes from; ``"given"`` for the user's own.
    tries
        Orders, and orders of pieces, that were tried.
    clique
        Variables of the largest clique.
    exact
        Whether the costs are counted to the end. If not, the search stopped at a clique that is
        too large for any computer: ``clique`` is that one, and the costs and the width are its
        own, which are lower bounds. The rest of the sequence is then arbitrary.
    """

    sequence: _Ints
    log2_largest: float
    cells: float
    cells_all: float
    width: int
    heuristic: str
    tries: int
    clique: _Ints
    exact: bool


def find_order(  # noqa: PLR0913 - three arrays say what, four options say how
    n_states: npt.ArrayLike,
    scope_start: npt.ArrayLike,
    scope: npt.ArrayLike,
    *,
    last: npt.ArrayLike = (),
    effort: float = 2.0,
    seed: int = 0,
    heuristic: Heuristic = "auto",
) -> Order:
    r"""Find an order that eliminates the variables through small tables.

    Eliminating :math:`v` makes a table over :math:`v` and its neighbours :math:`N(v)`, of
    :math:`\prod_{u \in N(v) \cup v} k_u` cells, and joins the neighbours to one another. The sum
    over the maximal tables is made small.

    Parameters
    ----------
    n_states
        Number of states of each variable.
    scope_start, scope
        Factor f touches the variables ``scope[scope_start[f]:scope_start[f + 1]]``.
    last
        Variables to be eliminated after all others.
    effort
        At most about this many seconds of refinement. They are counted in steps, so that the
        order does not depend on the speed of the machine.
    seed
        Seed of the search.
    heuristic
        Which variable comes next: one that joins the fewest pairs of neighbours, the same
        weighted by their states, one with the fewest neighbours, or with the smallest table.
        With ``"auto"`` the best of three is refined for as long as that pays.

    Returns
    -------
    Order
        The order and its cost.

    Raises
    ------
    InputError
        If variables, states or options are not what they should be.

    See Also
    --------
    evaluate_order : The cost of an order that is given.

    Notes
    -----
    The best order is NP-hard to find. Variables whose neighbours are all joined come first,
    which costs nothing; on trees and chordal graphs the order is therefore the best. The
    refinement eliminates pieces of the clique tree anew and keeps what is cheaper, so it never
    makes an order worse. It stops once the search has taken about a quarter of the time of
    passing messages over the cells that are left. Equal input and seed give the equal order.
    Refinement is left out below :math:`10^5` cells, where an answer takes less than a
    millisecond. The search ends at the first clique beyond :math:`2^{60}` cells, which cannot be
    addressed, or before it begins if some part of the graph leaves no order without one; the
    costs are then lower bounds and ``exact`` is false.

    References
    ----------
    Kjaerulff, U. (1990). Triangulation of graphs: algorithms giving small total state space.
    Koller, D. and Friedman, N. (2009). Probabilistic Graphical Models, section 9.4.

    Examples
    --------
    >>> order = find_order([2, 2, 2, 2], [0, 2, 4, 6, 8], [0, 1, 1, 2, 2, 3, 3, 0])
    >>> order.width, order.cells
    (2, 16.0)
    """
    kinds = _TRIED[check.one_of(heuristic, tuple(_TRIED), "heuristic of find_order")]
    units = check.number(effort, "effort of find_order", 0) * _UNITS_PER_SECOND
    seed = check.count(seed, "seed of find_order", 0)
    scopes = _check_graph(n_states, scope_start, scope, "find_order")
    group = np.zeros(scopes[0].shape[0], np.int64)
    group[_variables(last, group.shape[0], "find_order", "last variables")] = 1
    budget = units if heuristic == "auto" else 0.0
    return _search(scopes, group, kinds, budget, seed)


class _Try(NamedTuple):
    """An order, its cliques step by step, the pairs that it joined, and the work."""

    order: Order
    cliques: tuple[Any, ...]
    joins: int
    work: float

    @property
    def cells(self) -> float:
        """Cells of its maximal cliques; infinite if they were not counted to the end."""
        return self.order.cells if self.order.exact else math.inf


def _greedy(scopes: _Scopes, group: _Ints, kind: int, most_cells: float = math.inf) -> _Try:
    """Eliminate by one rule."""
    n = group.shape[0]
    sequence = np.empty(n, np.int64)
    most = _LARGE + 64.0 * sum(map(len, scopes))
    while True:
        steps, joins, work, clique = eliminate(
            *scopes, group, kind, _HOPELESS, most_cells, most, sequence
        )
        if steps == n or work <= most:
            break
        most *= _MORE
        eliminate.expect(most / 10)
    counted = _count_cost(scopes, sequence, _NAMES[kind], clique if steps < n else None)
    return _Try(*counted, joins, _GREEDY * work)


def _count_cost(
    scopes: _Scopes, sequence: _Ints, heuristic: str, stopped_at: _Ints | None = None
) -> tuple[Order, tuple[Any, ...]]:
    """Count what an order costs, and list its cliques; not if a search stopped at one of them."""
    exact, clique, cliques = False, stopped_at, ()
    if clique is None:
        found = elimination_cliques(*scopes, sequence, _COUNTED)
        _, cliques, cells, filled, width, top = found
        start, members, *_ = cliques
        exact = len(start) > len(sequence)
        clique = sequence[members[slice(*start[top : top + 2])]]
    states = scopes[0][clique].tolist()
    if not exact:
        cells = filled = math.prod(map(float, states))
        width = len(states) - 1
    order = Order(
        check.frozen(sequence),
        math.fsum(map(math.log2, states)),
        float(cells),
        float(filled),
        int(width),
        heuristic,
        1,
        check.frozen(clique),
        exact=exact,
    )
    return order, cliques


def _search(scopes: _Scopes, group: _Ints, kinds: list[int], budget: float, seed: int) -> Order:
    """Eliminate by the first rule, try others and refine the best order while that pays."""
    best = _greedy(scopes, group, kinds[0])
    spent, tries = best.work, 1
    for kind in kinds[1:]:
        # Where nothing was joined, no order does without these cliques.
        if not best.joins or spent > _GREEDY_SHARE * min(best.cells, _PATIENCE):
            break
        now = _greedy(scopes, group, kind, best.cells)
        spent, tries = spent + now.work, tries + 1
        if now.cells < best.cells:
            best = now
    plain = best.order if tries == 1 else replace(best.order, tries=tries)
    worth = min(budget, _SHARE * best.cells) - spent
    small = plain.cells < _QUICK or worth < _PLANTING * group.shape[0]
    if small or not best.joins or not plain.exact or plain.width >= BITS - 1:
        return plain
    sequence, pieces = refined(scopes, group, plain.sequence, best.cliques, seed, _SHARE, worth)
    order, _ = _count_cost(scopes, sequence, plain.heuristic)
    return replace(min(plain, order, key=lambda each: each.cells), tries=tries + pieces)


def evaluate_order(
    n_states: npt.ArrayLike,
    scope_start: npt.ArrayLike,
    scope: npt.ArrayLike,
    sequence: npt.ArrayLike,
) -> Order:
    """Return the cost of eliminating the variables in a given order.

    Parameters
    ----------
    n_states
        Number of states of each variable.
    scope_start, scope
        Factor f touches the variables ``scope[scope_start[f]:scope_start[f + 1]]``.
    sequence
        Every variable once, in the order of elimination.

    Returns
    -------
    Order
        The order and its cost.

    Raises
    ------
    InputError
        If the sequence does not hold every variable once.

    See Also
    --------
    find_order : A cheap order.

    Notes
    -----
    Exact up to cliques of :math:`2^{256}` cells; beyond the first that is larger, the costs are
    lower bounds. Takes time linear in the size of the cliques.

    References
    ----------
    Koller, D. and Friedman, N. (2009). Probabilistic Graphical Models, section 9.4.

    Examples
    --------
    >>> evaluate_order([2, 3, 4], [0, 2, 4], [0, 1, 1, 2], [1, 0, 2]).cells
    24.0
    """
    arrays = _check_graph(n_states, scope_start, scope, "evaluate_order")
    n = arrays[0].shape[0]
    order = _variables(sequence, n, "evaluate_order", "variables of the sequence").copy()
    if order.shape[0] != n or np.bincount(order, minlength=n).max(initial=0) > 1:
        raise InputError(
            f"The sequence of evaluate_order must hold each of the {n} variables once. "
            f"Got {order.shape[0]} entries, {np.unique(order).shape[0]} of them different."
        )
    return _count_cost(arrays, order, "given")[0]


def _check_graph(n_states: Any, scope_start: Any, scope: Any, owner: str) -> _Scopes:
    """Turn the graph into arrays that the kernel can walk without falling off."""
    states = _whole(n_states, owner, "numbers of states")
    start = _whole(scope_start, owner, "starts of scopes")
    members = _variables(scope, states.shape[0], owner, "variables of the scopes")
    if states.min(initial=1) < 1:
        raise InputError(f"Every variable of {owner} needs at least one state. Got {states.min()}.")
    ends = (start[0], start[-1]) if start.shape[0] else None
    if ends != (0, members.shape[0]) or (start[1:] < start[:-1]).any():
        raise ShapeError(
            f"The starts of scopes of {owner} must rise from 0 to the {members.shape[0]} "
            f"variables of the scopes. Got {start.tolist()[:8]}."
        )
    return states, start, members


def _variables(values: Any, n: int, owner: str, what: str) -> _Ints:
    """Check that these are indices of n variables."""
    array = _whole(values, owner, what)
    if array.size and array.view(np.uint64).max() >= n:  # where negative numbers are huge
        bad = array[(array < 0) | (array >= n)][0]
        raise InputError(f"The {what} of {owner} must be indices from 0 to {n - 1}. Got {bad}.")
    return array


def _whole(values: Any, owner: str, what: str) -> _Ints:
    """Turn values into a 1-D array of whole numbers."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ShapeError(f"The {what} of {owner} must be 1-D. Got shape {array.shape}.")
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"The {what} of {owner} must be whole numbers. Got {array.dtype}.")
    return np.ascontiguousarray(array, np.int64)
