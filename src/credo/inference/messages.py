"""Messages on trees: what one node of a graph tells another, exactly, by arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from credo import _checks as check
from credo._kernels import trees as kernels
from credo._results import Plain
from credo._types import F64, Bool, Label, Labels
from credo.exceptions import InputError
from credo.graphs.wiring import Int64, Wiring

#: Tables with larger numbers are run as logs, so that no product overflows.
_LARGE = 2.0**100
_LOG_2 = float(np.log(2.0))


class RootedForest(NamedTuple):
    """A factor graph as ``kernels.grow`` orders it; the words are those of the kernels."""

    scope_start: Int64
    scope: Int64  #: of each link its variable, or a copy of one that is observed
    factor: Int64  #: of each link
    var_start: Int64
    links: Int64
    order: Int64
    up: Int64

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.var_start) - 1


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Message(Plain):
    r"""Hold a message between two nodes of a graph.

    .. math:: m_{i \to j}(x_j) = \sum_{x_i} \psi_{ij}(x_i, x_j) \, \psi_i(x_i)
              \prod_{k \in N(i) \setminus j} m_{k \to i}(x_i)
              = \text{values}(x_j) \, e^{\text{log\_scale}}

    with the evidence in :math:`\psi_i`. For maxima the sum is a maximum. A factor of three
    variables or more is a node of its own: a variable sends it the product of what it receives from
    others, and the factor sends the sum of its table times what it receives from others.

    Attributes
    ----------
    source : Hashable
        Name of the variable or factor that sends.
    target : Hashable
        Name of the variable or factor that receives.
    states : tuple
        States of the variable that the message is about: the target, or the source if the target
        is a factor.
    values : ndarray of shape (len(states),)
        One number per state, scaled to sum one; for maxima, to largest one. Read-only.
    log_scale : float
        Log of the scale that was taken out.
    formula : str
        What it is the sum and product of, by names, where ``pass_messages`` made it.

    See Also
    --------
    credo.pass_messages : Passes all messages of a tree, in order.

    Notes
    -----
    ``values * exp(log_scale)`` is the message exactly, up to rounding. It may be too large or too
    small for float64, which is why the two are apart.

    References
    ----------
    .. [1] D. Koller, N. Friedman, *Probabilistic Graphical Models*, MIT Press, 2009, section 10.2.

    Examples
    --------
    >>> import numpy as np
    >>> Message(5, 3, (0, 1), np.array([0.42, 0.58]), log_scale=-0.7)
    m[5 -> 3] = (0: 0.42, 1: 0.58)
    """

    source: Label
    target: Label
    states: Labels
    values: F64
    log_scale: float
    formula: str = ""

    def __repr__(self) -> str:
        return f"m[{self.source} -> {self.target}] = {self._in_words(self.values)}"

    def __str__(self) -> str:
        """Write the formula, the message itself, and the message scaled."""
        with np.errstate(over="ignore"):
            raw = self.values * np.exp(self.log_scale)
        made = f"{self.formula}: " if self.formula else ""
        texts = dict.fromkeys([self._in_words(raw), self._in_words(self.values)])
        return f"m[{self.source} -> {self.target}] = {made}{' ∝ '.join(texts)}"

    def _in_words(self, values: F64) -> str:
        return in_words(zip(self.states, values.tolist(), strict=True))


@final
@dataclass(frozen=True, slots=True, eq=False)
class TreeRun:
    """Hold beliefs and messages of a forest, by position."""

    wiring: Wiring
    forest: RootedForest
    cells: F64  #: slots, ``start`` and ``exponent`` are those of the kernels
    start: Int64  #: the belief of v is ``marginals[start[v]:start[v + 1]]``
    exponent: F64
    mode: int
    both: bool
    marginals: F64  #: scaled to sum one, for maxima to largest one; NaN where none was asked for
    log_z: float  #: of the sum, or the maximum, over all configurations; -inf if there is none

    def message(self, source: Any, target: Any, factors: Mapping[Label, int]) -> Message:
        """Return the message from one node to another, by name; ``factors`` holds positions."""
        return self.spoken(*self.find(source, target, factors))

    def find(
        self, source: Any, target: Any, factors: Mapping[Label, int]
    ) -> tuple[int, bool, Label, Label]:
        """Return the link of a message, whether its variable sends it, and who its ends are."""
        known = self.wiring.variables
        one, two = (getattr(node, "name", node) for node in (source, target))
        is_factor = [name in factors and name not in known for name in (one, two)]
        if all(is_factor):
            raise InputError(f"{one!r} and {two!r} are both factors: no message links them.")
        if any(is_factor):
            factor, name = (one, two) if is_factor[0] else (two, one)
            link = self._link(factors[factor], known.find(name), factor, name)
        else:
            link = self._edge(known.find(source), known.find(target), one, two)
        return link, is_factor[1], one, two

    def spoken(self, link: int, is_said: bool, source: Label, target: Label) -> Message:  # noqa: FBT001 - one of two ways
        """Return what the variable of a link sends along it, or what it receives."""
        slot = 2 * self.forest.n + link + is_said * len(self.forest.scope)
        if np.isnan(self.cells[self.start[slot]]):
            raise InputError(
                f"The message from {source!r} to {target!r} goes away from the root, and only the "
                "pass towards it was run. Run both passes: passes=2."
            )
        values, log_scale = self.scaled(self.logs(slot))
        v = int(self.wiring.scope[link])
        return Message(source, target, self.states(v), check.frozen(values), log_scale)

    def states(self, v: int) -> Labels:
        """Return the states of a variable, also of one that stands in for a rule."""
        is_named = v < len(self.wiring.names)
        return tuple(self.wiring.states[v] if is_named else range(self.wiring.n_states[v]))

    def logs(self, slot: int) -> F64:
        """Return the logs of a slot."""
        cells = self.cells[self.start[slot] : self.start[slot + 1]]
        logs = _logs(cells) if self.mode == kernels.NUMBERS else cells
        return np.asarray(logs + _base(self.mode) * self.exponent[slot])

    def scaled(self, logs: F64) -> tuple[F64, float]:
        """Return numbers that sum to one, or whose largest is one, and the log of their scale."""
        mode = kernels.MAXIMA if self.mode == kernels.MAXIMA else kernels.LOGS
        values, log_scales = _normalise(logs, np.array([0, len(logs)]), mode)
        return values, float(log_scales[0])

    def sent(self) -> Iterator[tuple[int, bool]]:
        """Yield all messages in order, as a link and whether its variable sends or receives it.

        Between the two variables of an edge there is one: what the other end receives.
        """
        arity, n = np.diff(self.wiring.scope_start).tolist(), self.forest.n
        scopes, _, factor, var_start, links, order, up = (array.tolist() for array in self.forest)
        for node in reversed(order):
            if node >= n:
                yield up[node], False
            elif up[node] >= 0 and arity[factor[up[node]]] > 2:
                yield up[node], True
        for node in order if self.both else ():
            around = (
                links[var_start[node] : var_start[node + 1]]
                if node < n
                else range(scopes[node - n], scopes[node - n + 1])
            )
            for link in around:
                if link != up[node] and (node >= n or arity[factor[link]] > 2):
                    yield link, node < n

    def scope_of(self, f: int) -> list[int]:
        """Return the variables of a factor."""
        return self.wiring.scope[slice(*self.wiring.scope_start[f : f + 2])].tolist()

    def _link(self, f: int, v: int, factor: Label, variable: Label) -> int:
        """Return the link of a factor and a variable."""
        scope = self.scope_of(f)
        if len(scope) == 1:
            raise InputError(
                f"Factor {factor!r} has one variable: it is a part of its potential, and sends "
                "no message."
            )
        if v in scope:
            return int(self.wiring.scope_start[f]) + scope.index(v)
        raise InputError(
            f"Factor {factor!r} and variable {variable!r} are not linked. The factor is over "
            f"{check.listing([name_of(self.wiring, u) for u in scope])}."
        )

    def _edge(self, i: int, j: int, source: Label, target: Label) -> int:
        """Return the link through which variable j receives from i: of a factor of these two."""
        around = self.forest.factor[self.wiring.scope == i].tolist()
        shared = [f for f in around if sorted(self.scope_of(f)) == sorted((i, j))]
        if len(shared) == 1:
            return self._link(shared[0], j, source, target)
        joined = f"joined by {len(shared)} factors" if shared else "not neighbours"
        raise InputError(
            f"Variables {source!r} and {target!r} are {joined}. A message goes from one end of "
            "an edge to the other; around a factor of three variables or more, and where several "
            "factors join two, from a variable to a factor or back: name the factor."
        )


def run_tree(
    wiring: Wiring,
    observed: Int64,
    soft: Mapping[int, F64],
    *,
    root: int = -1,
    both_passes: bool = True,
    maximum: bool = False,
) -> TreeRun:
    """Pass messages on a forest of tables, given states or -1 and weights on states by position."""
    forest, owner = _plant(wiring, observed, root)
    n_states, n, arity = wiring.n_states[owner], len(owner), np.diff(wiring.scope_start)
    of_link = np.where(np.repeat(arity > 1, arity), n_states[forest.scope], 0)
    most = [n_states.max(initial=1)]
    start = np.cumsum(np.concatenate([[0], n_states, n_states, of_link, of_link, most]))
    weights, is_seen = _weigh(observed[owner], n_states, start, soft)
    safe = kernels.MAXIMA if maximum else kernels.LOGS
    is_wide = wiring.log_values is not None or wiring.values.max(initial=0.0) > _LARGE
    for mode in [safe] if maximum or is_wide else [kernels.NUMBERS, safe]:
        tables = wiring.table, wiring.table_start, *_tables(wiring, mode)
        cells, exponent = np.full(start[-1], np.nan), np.zeros(len(start) - 1)
        cells[: start[n]] = weights if mode == kernels.NUMBERS else _logs(weights)
        cells[start[n] : start[2 * n]] = np.where(is_seen, cells[: start[n]], np.nan)
        room = np.empty(np.diff(wiring.table_start).max(initial=1))
        with np.errstate(all="ignore"):
            kernels.run(tuple(forest), tables, (cells, start, exponent, room), both_passes, mode)
            marginals, totals = _normalise(cells[start[n] : start[2 * n]], start[: n + 1], mode)
        if not np.isnan(exponent.sum()):
            break
    roots = forest.up[:n] == kernels.ROOT
    log_z = float(totals[roots].sum() + _base(mode) * exponent[n : 2 * n][roots].sum())
    log_z = -np.inf if np.isnan(log_z) else log_z
    marginals = check.frozen(marginals[: start[len(observed)]])
    return TreeRun(wiring, forest, cells, start, exponent, mode, both_passes, marginals, log_z)


def is_tree(wiring: Wiring, observed: Int64) -> bool:
    """Tell whether ``run_tree`` takes a graph: no cycle is left once observed variables are cut."""
    arity = np.diff(wiring.scope_start)
    n_links = (np.repeat(arity > 1, arity) & (observed[wiring.scope] < 0)).sum()
    if n_links >= len(observed) + (arity > 1).sum():
        return False  # more links than any forest has: no need to look where
    return _grow(wiring, *_cut(wiring, observed))[1] < 0


def _plant(wiring: Wiring, observed: Int64, root: int) -> tuple[RootedForest, Int64]:
    """Return the graph as a forest, cut at observed variables if it has cycles otherwise.

    Also returns the variable that each variable of the forest is, or is a copy of.
    """
    scope, owner = wiring.scope.astype(np.int64), np.arange(len(observed))
    forest, closing = _grow(wiring, scope, owner, root)
    if closing >= 0 and (observed >= 0).any():
        scope, owner = _cut(wiring, observed)
        forest, closing = _grow(wiring, scope, owner, root)
    if closing < 0:
        return forest, owner
    names = [name_of(wiring, v) for v in _cycle(forest, closing)]
    raise InputError(
        f"The graph is not a tree: it has the cycle {check.listing([*names, names[0]], 12)}. Use "
        "method='junction_tree' of infer, which is exact on any graph."
    )


def _weigh(
    observed: Int64, n_states: Int64, start: Int64, soft: Mapping[int, F64]
) -> tuple[F64, Bool]:
    """Return weights on all states, zero for those that were not observed; and which were asked."""
    is_seen = np.repeat(observed >= 0, n_states)
    weights = np.where(is_seen, 0.0, 1.0)
    weights[(start[: len(observed)] + observed)[observed >= 0]] = 1.0
    for v, given in soft.items():
        weights[start[v] : start[v + 1]] *= given
    return weights, is_seen


def _cut(wiring: Wiring, observed: Int64) -> tuple[Int64, Int64]:
    """Copy observed variables for each factor of two variables or more.

    Returns the scopes, with copies after all variables, and the variable that each is.
    """
    scope, arity = wiring.scope.astype(np.int64), np.diff(wiring.scope_start)
    seen = np.flatnonzero((observed[scope] >= 0) & np.repeat(arity > 1, arity))
    owner = np.concatenate([np.arange(len(observed)), scope[seen]])
    scope[seen] = np.arange(len(observed), len(owner))
    return scope, owner


def _grow(wiring: Wiring, scope: Int64, owner: Int64, root: int = -1) -> tuple[RootedForest, int]:
    """Return the graph in breadth first order, and a link that closes a cycle, or -1."""
    n, arity = len(owner), np.diff(wiring.scope_start)
    factor, is_open = np.repeat(np.arange(len(arity)), arity), np.repeat(arity > 1, arity)
    links = np.flatnonzero(is_open)
    links = links[np.argsort(scope[links], kind="stable")]
    var_start = np.concatenate([[0], np.cumsum(np.bincount(scope[links], minlength=n))])
    order, up = np.empty((2, n + len(arity)), np.int64)
    forest = RootedForest(wiring.scope_start, scope, factor, var_start, links, order, up)
    count, closing = kernels.grow(*forest, root)
    return forest._replace(order=order[:count]), closing


def _cycle(forest: RootedForest, closing: int) -> list[int]:
    """Return the variables of the cycle that a link closes, in order."""
    n, scope, factor, up = forest.n, forest.scope, forest.factor, forest.up
    one, two = [int(scope[closing])], [int(n + factor[closing])]
    for path in (one, two):
        while (link := up[path[-1]]) >= 0:
            path.append(int(scope[link] if path[-1] >= n else n + factor[link]))
    while len(one) > 1 and len(two) > 1 and one[-2] == two[-2]:
        one.pop()
        two.pop()
    return [node for node in [*one, *two[-2::-1]] if node < n]


def _tables(wiring: Wiring, mode: int) -> tuple[F64, F64]:
    """Return the cells of all tables, and the whole exponent of each table."""
    shift = np.rint(wiring.log_scale / _base(mode))
    rest = wiring.log_scale - _base(mode) * shift
    if mode == kernels.NUMBERS:
        values = wiring.values
    else:
        values = _logs(wiring.values) if wiring.log_values is None else wiring.log_values
    if rest.any():
        rest = np.repeat(rest, np.diff(wiring.table_start))
        values = values * np.exp(rest) if mode == kernels.NUMBERS else values + rest
    return check.frozen(values), shift


def _normalise(beliefs: F64, start: Int64, mode: int) -> tuple[F64, F64]:
    """Scale vectors to sum one, or for maxima to largest one; return logs of what was there too."""
    begin, width = start[:-1], np.diff(start)
    tops = np.zeros(len(begin))
    if mode != kernels.NUMBERS:
        tops = np.maximum.reduceat(beliefs, begin)
        beliefs = np.exp(beliefs - np.repeat(tops, width))
    if mode == kernels.MAXIMA:
        return beliefs, tops
    total = np.add.reduceat(beliefs, begin)
    return beliefs / np.repeat(total, width), tops + np.log(total)


def _base(mode: int) -> float:
    """Return the log of the base of exponents."""
    return _LOG_2 if mode == kernels.NUMBERS else 1.0


def _logs(values: F64) -> F64:
    """Return logs; minus infinity of zero."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def name_of(wiring: Wiring, v: int) -> Label:
    """Return the name of a variable, also of one that stands in for a rule."""
    return wiring.names[v] if v < len(wiring.names) else f"auxiliary {v}"


def in_words(cells: Iterable[tuple[Label, float]]) -> str:
    """Return states and values as text."""
    return "(" + ", ".join(f"{state}: {value:.6g}" for state, value in cells) + ")"
