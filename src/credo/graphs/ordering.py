"""Orders in which to eliminate variables, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._kernels.elimination_graph import lay_out
from credo._validation.arrays import as_number, frozen
from credo.exceptions import InputError, ShapeError

if TYPE_CHECKING:
    from credo.graphs._order_pass import Costs

Heuristic: TypeAlias = Literal["auto", "min-fill", "weighted-min-fill", "min-degree", "min-weight"]
_Ints: TypeAlias = npt.NDArray[np.int64]
_Scopes: TypeAlias = tuple[_Ints, _Ints, _Ints]

#: In the numbering of the kernel.
_NAMES = ("given", "min-fill", "weighted-min-fill", "min-degree", "min-weight")
_TRIED = {name: [kind] for kind, name in enumerate(_NAMES) if kind}
_TRIED["auto"] = [2, 1, 4]
#: Up to this many variables a first order is found at once, and is good enough if its tables have
#: so few cells that an answer takes less than a millisecond.
_SMALL, _QUICK = 200, 1e5
#: Units of work in a second, measured: 4 to 9 ns each on munin1, link, pigs and water.
_UNITS_PER_SECOND = 2e8


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
        Cells of the cliques of all variables: the multiplications of bucket elimination.
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
        too large for any computer: ``clique`` is that one, and the costs and the width are lower
        bounds, those of the cliques up to there. The rest of the sequence is then arbitrary.
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
        At most about this many seconds of search. They are counted in steps, so that the
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
    if heuristic not in _TRIED:
        allowed = ", ".join(repr(name) for name in _TRIED)
        raise InputError(
            f"The heuristic of find_order must be one of {allowed}. Got {heuristic!r}."
        )
    arrays = _checked(n_states, scope_start, scope, "find_order")
    seconds = as_number(effort, "find_order", "effort")
    if seconds < 0 or seed < 0:
        raise InputError(
            f"The effort and the seed of find_order must not be negative. Got {effort}, {seed}."
        )
    group = np.zeros(arrays[0].shape[0], np.int64)
    group[_variables(last, group.shape[0], "find_order", "last variables")] = 1
    if heuristic == "auto" and group.shape[0] <= _SMALL:
        quick = _small_order(arrays, group)
        if quick.cells < _QUICK:
            return quick
    budget = seconds * _UNITS_PER_SECOND if heuristic == "auto" else 0.0
    from credo.graphs._order_search import search  # noqa: PLC0415 - Numba loads late

    found = search(lay_out(*arrays), group, _TRIED[heuristic], int(seed), budget)
    return _order(found.sequence, found.costs, _NAMES[found.kind], found.tries)


def _small_order(arrays: _Scopes, group: _Ints) -> Order:
    """Order a small graph at once, by weighted minimum fill."""
    from credo._kernels.small_orders import weighted_min_fill  # noqa: PLC0415 - Numba loads late

    sequence = np.empty(group.shape[0], np.int64)
    costs = np.zeros(4)
    clique = weighted_min_fill(*arrays, group, sequence, costs)
    largest, cells, cells_all, width = costs.tolist()
    return Order(
        frozen(sequence), largest, cells, cells_all, int(width), _NAMES[2], 1, clique, exact=True
    )


def evaluate_order(
    n_states: npt.ArrayLike,
    scope_start: npt.ArrayLike,
    scope: npt.ArrayLike,
    sequence: npt.ArrayLike,
) -> Order:
    """Give the cost of eliminating the variables in a given order.

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
    lower bounds. Costs about 10 ns for each pair of neighbours that is looked at.

    References
    ----------
    Koller, D. and Friedman, N. (2009). Probabilistic Graphical Models, section 9.4.

    Examples
    --------
    >>> evaluate_order([2, 3, 4], [0, 2, 4], [0, 1, 1, 2], [1, 0, 2]).cells
    24.0
    """
    arrays = _checked(n_states, scope_start, scope, "evaluate_order")
    n = arrays[0].shape[0]
    order = _variables(sequence, n, "evaluate_order", "variables of the sequence").copy()
    if order.shape[0] != n or np.bincount(order, minlength=n).max(initial=0) > 1:
        raise InputError(
            f"The sequence of evaluate_order must hold each of the {n} variables once. "
            f"Got {order.shape[0]} entries, {np.unique(order).shape[0]} of them different."
        )
    from credo.graphs._order_search import evaluate  # noqa: PLC0415 - Numba loads late

    return _order(order, evaluate(lay_out(*arrays), order), _NAMES[0], 1)


def _order(sequence: _Ints, costs: Costs, heuristic: str, tries: int) -> Order:
    """Write down an order and its costs."""
    return Order(
        frozen(sequence),
        costs.log2_largest,
        costs.cells,
        costs.cells_all,
        costs.width,
        heuristic,
        tries,
        frozen(costs.clique),
        costs.exact,
    )


def _checked(n_states: Any, scope_start: Any, scope: Any, owner: str) -> _Scopes:
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
    if array.shape[0] and (array.min() < 0 or array.max() >= n):
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
