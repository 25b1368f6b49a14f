"""Markov networks: potentials on the nodes and the edges of an undirected graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from credo import _checks as check
from credo._types import Int, Label, Labels
from credo.exceptions import InputError, ShapeError
from credo.graphs.factors import Factor, Potentials, as_potentials, read_factor
from credo.graphs.models import AbstractModel, Scope
from credo.graphs.variables import Same, Variable, VariableLike, as_states
from credo.graphs.wiring import Wiring, starts


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

    _kin = "neighbours"

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
        array = check.floats(node_potentials, "node potentials of a MarkovNetwork")
        if array.ndim != 2 or not array.shape[1]:
            raise ShapeError(
                f"The node potentials must have shape (n_nodes, n_states). Got {array.shape}."
            )
        n, k = array.shape
        labels = range(n) if names is None else check.labels(names, "names of a MarkovNetwork")
        every = as_states(k if states is None else states, "every node")
        if len(labels) != n or len(every) != k:
            raise ShapeError(
                f"Node potentials of shape {array.shape} need {n} names and {k} states. "
                f"Got {len(labels)} and {len(every)}."
            )
        pairs = _as_edges(edges, n)
        links = check.floats(edge_potentials, "edge potentials of a MarkovNetwork")
        if links.shape not in ((k, k), (len(pairs), k, k)):
            raise ShapeError(
                f"A MarkovNetwork of {k} states needs edge potentials of shape {(k, k)}, shared by "
                f"all edges, or {(len(pairs), k, k)}. Got shape {links.shape}."
            )
        which = np.arange(len(pairs)) * (links.ndim > 2)

        def who(table: int) -> tuple[str, list[Variable]]:
            if table < n:
                return f"Node {labels[table]!r}", [Variable(labels[table], every)]
            edge = f"Edge {table - n}, {pairs[table - n].tolist()},"
            owner = edge if links.ndim > 2 else "The edge potential"
            return owner, [Variable(end, every) for end in ("first node", "second node")]

        cells = np.concatenate([array.ravel(), links.ravel()])
        start = starts(np.repeat([k, k * k], [n, links.size // (k * k)]))
        tables = as_potentials(cells, start, who, log=log)
        return cls._of_arrays(wire_pairs(labels, every, pairs, which, tables))

    def node(
        self,
        name: Label,
        states: Iterable[Label] | Mapping[Label, float] | int,
        potential: Any = None,
        *,
        log: bool = False,
    ) -> Variable:
        """Declare a node, with its potential if it has one.

        Parameters
        ----------
        name : Hashable
            A new name.
        states : sequence of labels, int, or dict
            The states in order; a number k stands for 0, …, k - 1. A dict is the potential too,
            ``{state: number}``.
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
        if isinstance(states, Mapping):
            if potential is not None:
                raise InputError(f"The potential of node {name!r} is given twice. Give it once.")
            states, potential = list(states), states
        variable = Variable(name, states)  # type: ignore[arg-type]  # it makes them a tuple
        if potential is None:
            return self._declare(variable)
        factor = read_factor(potential, (variable,), f"Node {variable.name!r}", log=log)
        self._declare(variable)
        self._take(factor, (len(self) - 1,))
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
        over = self[a], self[b]
        if scope[0] == scope[1]:
            raise InputError(
                f"An edge cannot join node {over[0].name!r} to itself. Put its weight into the "
                f"potential of the node."
            )
        owner = f"Edge {over[0].name!r}, {over[1].name!r}"
        return self._take(read_factor(potential, over, owner, log=log), scope)

    @property
    def edges(self) -> list[tuple[Label, Label]]:
        """Return the names of the two nodes of each edge, in the order of the edges."""
        names = self._variables.names
        return [(names[a], names[b]) for a, b in self._ends().tolist()]

    def neighbours(self, name: VariableLike) -> tuple[Label, ...]:
        """Return the names of the nodes that edges join to a node, each once.

        Parameters
        ----------
        name : Variable or name
            The node.

        Returns
        -------
        tuple of Hashable
            Names, in the order of the nodes.

        Examples
        --------
        >>> from credo.graphs import MarkovNetwork
        >>> net = MarkovNetwork.from_arrays([[1, 1]] * 3, [[0, 1], [2, 1]], [[2, 1], [1, 2]])
        >>> net.neighbours(1)
        (0, 2)
        """
        ends, place = self._ends(), self._variables.find(name)
        found = ends[:, ::-1][ends == place]
        return tuple(self._variables.names[each] for each in np.unique(found).tolist())

    def _ends(self) -> Int:
        """Return the positions of the two nodes of each edge."""
        if self._arrays is None and self._wiring is None:
            pairs = [scope for _, scope in self._pairs() if len(scope) == 2]
            return np.array(pairs, dtype=np.intp).reshape(-1, 2)
        wiring = self.compile()
        first = wiring.scope_start[:-1][np.diff(wiring.scope_start) == 2]
        return np.stack([wiring.scope[first], wiring.scope[first + 1]], axis=1)

    def _key(self, scope: Scope) -> tuple[int, int]:
        """Keep the nodes in their order, then the edges as they are added."""
        return (0, scope[0]) if len(scope) == 1 else (1, len(self._held))


def _as_edges(edges: Any, n_nodes: int) -> Int:
    """Check pairs of positions: whole numbers in range, and not the same."""
    array = check.indices(edges, n_nodes, "edges of a MarkovNetwork")
    if not array.size:
        return np.empty((0, 2), dtype=np.intp)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ShapeError(f"The edges must have shape (n_edges, 2). Got shape {array.shape}.")
    loops = array[:, 0] == array[:, 1]
    if loops.any():
        row = int(np.argmax(loops))
        raise InputError(
            f"Edge {row} joins node {array[row, 0]} to itself. Put its weight into the node."
        )
    return array


def wire_pairs(
    names: Sequence[Label], states: Labels, edges: Int, which: Int, tables: Potentials
) -> Wiring:
    """Wire one table per node, then the tables of edges; ``which`` of these each edge has."""
    n, m, k = len(names), len(edges), len(states)
    first = np.arange(n, dtype=np.int32)
    return Wiring(
        names=names,
        states=Same(states, n),
        n_states=np.full(n, k, dtype=np.int64),
        scope_start=np.concatenate([np.arange(n + 1), np.arange(n + 2, n + 2 * m + 1, 2)]),
        scope=np.concatenate([first, edges.ravel().astype(np.int32)]),
        table=np.concatenate([first, (n + which).astype(np.int32)]),
        table_start=starts(np.repeat([k, k * k], [n, len(tables.log_scale) - n])),
        values=tables.values,
        log_scale=tables.log_scale,
        log_values=tables.log_values,
        owner=np.full(n + m, -1, dtype=np.int32),
    )
