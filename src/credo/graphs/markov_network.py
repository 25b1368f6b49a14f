"""Markov networks: potentials on the nodes and the edges of an undirected graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from credo._types import F64, Int, Label, Labels
from credo._validation.arrays import as_floats
from credo._validation.labels import as_labels
from credo.exceptions import InputError, ShapeError
from credo.graphs.factors import WIDE_LOGS, Factor, as_potentials
from credo.graphs.models import AbstractModel, AnyFactor, Scope, assemble
from credo.graphs.variables import Same, Variable, VariableLike, as_states
from credo.graphs.wiring import Wiring


class MarkovNetwork(AbstractModel):
    r"""Model a joint distribution by potentials on nodes and edges.

    .. math:: p(x) = \frac{1}{Z} \prod_i \phi_i(x_i) \prod_{ij} \psi_{ij}(x_i, x_j)

    Attributes
    ----------
    variables : sequence of Variable
        The nodes in the order in which they were declared.
    names : sequence of Hashable
        Their names.
    factors : sequence of Factor
        The potentials of the nodes, in their order, then those of the edges.

    See Also
    --------
    FactorGraph : Tables over more than two variables.

    Notes
    -----
    Two edges between the same nodes both count. After ``compile`` the network is frozen; ``copy``
    gives one that is open.

    References
    ----------
    .. [1] D. Koller, N. Friedman, *Probabilistic Graphical Models*, MIT Press, 2009, section 4.4.1.

    Examples
    --------
    >>> from credo.graphs import MarkovNetwork
    >>> net = MarkovNetwork()
    >>> _ = net.node("left", ["black", "white"], potential=[0.9, 0.1])
    >>> _ = net.node("right", ["black", "white"])
    >>> _ = net.edge("left", "right", [[2.0, 1.0], [1.0, 2.0]])
    >>> net
    <MarkovNetwork: 2 variables, 2 factors, open>
    """

    def __init__(self) -> None:
        super().__init__()
        self._nodes: dict[int, AnyFactor] = {}
        self._edges: list[tuple[AnyFactor, Scope]] = []

    @classmethod
    def from_arrays(
        cls,
        node_potentials: Any,
        edges: Any,
        edge_potentials: Any,
        *,
        log: bool = False,
        names: Sequence[Label] | None = None,
        states: Iterable[Label] | None = None,
    ) -> Self:
        """Make a network of arrays, with no object per node or edge.

        Parameters
        ----------
        node_potentials : array_like of shape (n, k)
            Potentials of the nodes, which have k states each.
        edges : array_like of int, shape (m, 2)
            Positions of the two nodes that each edge joins. Edges may repeat; each counts.
        edge_potentials : array_like of shape (k, k) or (m, k, k)
            One potential for all edges, which is held once, or one for each.
        log : bool, default False
            Whether all potentials are given as logs.
        names : sequence of Hashable, optional
            Names of the nodes; 0, …, n - 1 if not given.
        states : sequence of Hashable, optional
            States of every node; 0, …, k - 1 if not given.

        Returns
        -------
        MarkovNetwork
            The network.

        Raises
        ------
        ShapeError
            If the arrays do not fit together.
        InputError
            If an edge leaves the network or joins a node to itself, or a potential is not one.

        Notes
        -----
        A million nodes with three million edges take less than a second.

        Examples
        --------
        >>> from credo.graphs import MarkovNetwork
        >>> net = MarkovNetwork.from_arrays(
        ...     [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]], [[0, 1], [1, 2]], [[2.0, 1.0], [1.0, 2.0]]
        ... )
        >>> net
        <MarkovNetwork: 3 variables, 5 factors, open>
        """
        array = as_floats(node_potentials, "A MarkovNetwork", "node potentials")
        if array.ndim != 2 or not array.shape[1]:
            raise ShapeError(
                f"The node potentials must have shape (n_nodes, n_states). Got {array.shape}."
            )
        n, k = array.shape
        labels = range(n) if names is None else as_labels(names, "A MarkovNetwork", "names")
        every = as_states(k if states is None else states, "every node")
        if len(labels) != n or len(every) != k:
            raise ShapeError(
                f"Node potentials of shape {array.shape} need {n} names and {k} states. "
                f"Got {len(labels)} and {len(every)}."
            )
        nodes = as_tables(array, lambda row: f"Node {labels[row]!r}", log=log)
        pairs = as_edges(edges, n)
        links = as_edge_tables(edge_potentials, pairs, k, log=log)
        return cls._of_arrays(pairwise(labels, every, nodes, pairs, links))

    def node(
        self,
        name: Label,
        states: Iterable[Label] | int,
        potential: Any = None,
        *,
        log: bool = False,
    ) -> Variable:
        """Declare a node, with its potential if it has one.

        Parameters
        ----------
        name : Hashable
            A new name.
        states : sequence of labels, or int
            The states in order; a number k stands for 0, …, k - 1.
        potential : array_like or dict, optional
            A number for each state, in their order or by state.
        log : bool, default False
            Whether the potential is given as logs.

        Returns
        -------
        Variable
            The variable.

        Raises
        ------
        InputError
            If the name is taken, or a potential is negative, NaN or infinite.

        Examples
        --------
        >>> from credo.graphs import MarkovNetwork
        >>> MarkovNetwork().node("pixel", ["black", "white"], {"white": 0.7, "black": 0.3}).states
        ('black', 'white')
        """
        self._open()
        variable = Variable(name, states)  # type: ignore[arg-type]  # it makes them a tuple
        held = None
        if potential is not None:
            over, owner = (variable,), f"Node {variable.name!r}"
            held = Factor(over, *as_potentials(potential, over, owner, log=log))
        self._declare(variable.name, variable.states)
        if held is not None:
            self._nodes[len(self) - 1] = held
        return variable

    def edge(
        self, a: VariableLike, b: VariableLike, potential: Any, *, log: bool = False
    ) -> Factor:
        """Join two nodes by a potential.

        Parameters
        ----------
        a, b : Variable or name
            The nodes.
        potential : array_like of shape (states of a, states of b), or dict
            A number for each joint state; or ``{(state of a, state of b): potential}``.
        log : bool, default False
            Whether the potential is given as logs.

        Returns
        -------
        Factor
            The potential, as a factor over both.

        Raises
        ------
        InputError
            If both are the same node, or a potential is negative, NaN or infinite.

        Examples
        --------
        >>> from credo.graphs import MarkovNetwork
        >>> net = MarkovNetwork()
        >>> a, b = net.node("a", 2), net.node("b", 2)
        >>> net.edge(a, b, [[0.5, -0.5], [-0.5, 0.5]], log=True).log_table
        array([[ 0.5, -0.5],
               [-0.5,  0.5]])
        """
        self._open()
        scope = self._variables.find(a), self._variables.find(b)
        over = self._at(scope)
        if scope[0] == scope[1]:
            raise InputError(
                f"An edge cannot join node {over[0].name!r} to itself. Put its weight into the "
                f"potential of the node."
            )
        owner = f"Edge {over[0].name!r}, {over[1].name!r}"
        factor = Factor(over, *as_potentials(potential, over, owner, log=log))
        self._take(factor, scope)
        return factor

    def _take(self, factor: AnyFactor, scope: Scope) -> None:
        """Add a factor that was checked."""
        if len(scope) == 1:
            self._nodes[scope[0]] = factor
        else:
            self._edges.append((factor, scope))

    def _listed(self) -> Sequence[AnyFactor]:
        """List the nodes' factors, then those of the edges."""
        nodes = [self._nodes[place] for place in sorted(self._nodes)]
        return (*nodes, *(factor for factor, _ in self._edges))

    def _assembled(self) -> Wiring:
        """Lay the factors out: nodes, then edges."""
        scopes: list[Scope] = [(place,) for place in sorted(self._nodes)]
        scopes += [scope for _, scope in self._edges]
        return assemble(self._variables, self._listed(), scopes, owned=False)

    def _copy_factors(self, twin: Self) -> None:
        """Hand the factors to a twin."""
        twin._nodes, twin._edges = self._nodes.copy(), self._edges.copy()


class Tables(NamedTuple):
    """Tables of one size, a row each; their log scales, and their logs if they are too wide."""

    values: F64
    log_scale: F64
    log_values: F64 | None


def as_tables(array: F64, name: Callable[[int], str], *, log: bool) -> Tables:
    """Check tables, or logs of tables, a row each; ``name`` says which one is wrong."""
    good = (array < np.inf) if log else (array >= 0) & (array < np.inf)
    if not good.all():
        row, cell = (int(i) for i in np.argwhere(~good)[0])
        wanted = (
            "logs that are finite or minus infinity" if log else "finite potentials, at least 0"
        )
        remedy = "" if log else " If these are logs, pass log=True."
        raise InputError(f"{name(row)} needs {wanted}. Got {array[row, cell]:g}.{remedy}")
    top = array.max(axis=1) if array.size else np.empty(len(array))
    none = top == (-np.inf if log else 0.0)
    if none.any():
        raise InputError(f"{name(int(np.argmax(none)))} allows no state: all are zero.")
    return _scaled(array, top) if log else Tables(array, np.zeros(len(array)), None)


def _scaled(array: F64, top: F64) -> Tables:
    """Turn logs into potentials of which the largest is one."""
    logs = array - top[:, np.newaxis]
    wide = float(logs.min(where=logs > -np.inf, initial=0.0)) < -WIDE_LOGS
    with np.errstate(under="ignore"):
        return Tables(np.exp(logs), top, logs if wide else None)


def as_edges(edges: Any, n_nodes: int) -> Int:
    """Check pairs of positions: whole numbers in range, and not the same."""
    array = np.asarray(edges)
    if not array.size:
        return np.empty((0, 2), dtype=np.intp)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ShapeError(f"The edges must have shape (n_edges, 2). Got shape {array.shape}.")
    if array.dtype.kind not in "iu":
        raise InputError(f"The edges must be whole numbers. Got numbers of type {array.dtype}.")
    outside = (array < 0) | (array >= n_nodes)
    if outside.any():
        row = int(np.argmax(outside.any(axis=1)))
        raise InputError(
            f"Edge {row} joins {array[row].tolist()}, but the {n_nodes} nodes are numbered from 0 "
            f"to {n_nodes - 1}."
        )
    loops = array[:, 0] == array[:, 1]
    if loops.any():
        row = int(np.argmax(loops))
        raise InputError(
            f"Edge {row} joins node {array[row, 0]} to itself. Put its weight into the node."
        )
    return array


def as_edge_tables(tables: Any, edges: Int, k: int, *, log: bool) -> Tables:
    """Check one (k, k) table for all edges, or one for each."""
    array = as_floats(tables, "A MarkovNetwork", "edge potentials")
    if array.shape not in ((k, k), (len(edges), k, k)):
        raise ShapeError(
            f"A MarkovNetwork of {k} states needs edge potentials of shape {(k, k)}, shared by "
            f"all edges, or {(len(edges), k, k)}. Got shape {array.shape}."
        )

    def name(row: int) -> str:
        shared = array.ndim == 2
        return "The edge potential" if shared else f"Edge {row}, {edges[row].tolist()},"

    return as_tables(array.reshape(-1, k * k), name, log=log)


def pairwise(
    names: Sequence[Label], states: Labels, nodes: Tables, edges: Int, links: Tables
) -> Wiring:
    """Wire one table per node, then one per edge, or one for all edges."""
    n, m, k = len(names), len(edges), len(states)
    own = len(links.values) == m
    first = np.arange(n, dtype=np.int32)
    table_sizes = np.repeat([k, k * k], [n, len(links.values)])
    last = np.arange(n, n + m, dtype=np.int32) if own else np.full(m, n, dtype=np.int32)
    return Wiring(
        names=names,
        states=Same(states, n),
        n_states=np.full(n, k, dtype=np.int64),
        scope_start=np.concatenate([np.arange(n + 1), np.arange(n + 2, n + 2 * m + 1, 2)]),
        scope=np.concatenate([first, edges.ravel().astype(np.int32)]),
        table=np.concatenate([first, last]),
        table_start=np.concatenate([[0], np.cumsum(table_sizes)]),
        values=np.concatenate([nodes.values.ravel(), links.values.ravel()]),
        log_scale=np.concatenate([nodes.log_scale, links.log_scale]),
        log_values=_joined_logs(nodes, links),
        owner=np.full(n + m, -1, dtype=np.int32),
    )


def _joined_logs(nodes: Tables, links: Tables) -> F64 | None:
    """Lay the logs one after the other, if some are too wide for linear values."""
    if nodes.log_values is None and links.log_values is None:
        return None
    with np.errstate(divide="ignore"):
        parts = [np.log(t.values) if t.log_values is None else t.log_values for t in (nodes, links)]
    return np.concatenate([part.ravel() for part in parts])
