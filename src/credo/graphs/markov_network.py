"""Markov networks: potentials on the nodes and the edges of an undirected graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

from credo._types import Label
from credo._validation.arrays import as_floats
from credo._validation.labels import as_labels
from credo.exceptions import InputError, ShapeError
from credo.graphs._assembly import AnyFactor, Scope, assemble
from credo.graphs._model import AbstractModel
from credo.graphs._pairwise import as_edge_tables, as_edges, as_tables, pairwise
from credo.graphs._tables import as_potentials
from credo.graphs.factors import Factor
from credo.graphs.variables import Variable, VariableLike, as_states
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
