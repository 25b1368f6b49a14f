"""Factor graphs: any product of tables and rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self, final

from credo._types import Label
from credo._validation.labels import listing
from credo.exceptions import InputError
from credo.graphs.factors import Factor, as_potentials
from credo.graphs.models import AbstractRuleModel, AnyFactor, Scope, assemble
from credo.graphs.structured import AtMostOne, Parity, two_states
from credo.graphs.variables import Variable, VariableLike
from credo.graphs.wiring import Wiring


@final
class FactorGraph(AbstractRuleModel):
    r"""Model a joint distribution as a product of factors.

    .. math:: p(x) = \frac{1}{Z} \prod_f \psi_f(x_f)

    Each factor is a table over a few variables, or a rule over many.

    Attributes
    ----------
    variables : sequence of Variable
        The variables in the order in which they were declared.
    names : sequence of Hashable
        Their names.
    factors : sequence of Factor and rules
        The factors in the order in which they were added.

    See Also
    --------
    BayesianNetwork : Factors that are conditional probabilities.
    MarkovNetwork : Factors over nodes and edges.

    Notes
    -----
    Equal factors are all kept: a table added twice counts twice. After ``compile`` the graph is
    frozen; ``copy`` gives one that is open.

    References
    ----------
    .. [1] F. R. Kschischang, B. J. Frey, H.-A. Loeliger, "Factor graphs and the sum-product
       algorithm", IEEE Transactions on Information Theory 47, 2001, section II.

    Examples
    --------
    >>> from credo.graphs import FactorGraph
    >>> graph = FactorGraph()
    >>> rain = graph.variable("rain", ["no", "yes"])
    >>> grass = graph.variable("grass", ["dry", "wet"])
    >>> _ = graph.factor([rain], [0.8, 0.2])
    >>> _ = graph.factor([rain, grass], [[0.9, 0.1], [0.1, 0.9]])
    >>> graph
    <FactorGraph: 2 variables, 2 factors, open>
    >>> graph["grass"].states
    ('dry', 'wet')
    """

    def __init__(self) -> None:
        super().__init__()
        self._factors: list[AnyFactor] = []
        self._scopes: list[Scope] = []

    def variable(self, name: Label, states: Iterable[Label] | int) -> Variable:
        """Declare a variable.

        Parameters
        ----------
        name : Hashable
            A new name.
        states : sequence of labels, or int
            The states in order; a number k stands for 0, …, k - 1.

        Returns
        -------
        Variable
            The variable.

        Raises
        ------
        InputError
            If the name is taken, or two states are the same.

        Examples
        --------
        >>> from credo.graphs import FactorGraph
        >>> FactorGraph().variable("rain", ["no", "yes"])
        Variable(name='rain', states=('no', 'yes'))
        """
        return self._declare(name, states)

    def factor(
        self,
        variables: Iterable[VariableLike],
        table: Any,
        *,
        log: bool = False,
        name: Label | None = None,
    ) -> Factor:
        """Add a table over variables.

        Parameters
        ----------
        variables : sequence of Variable or name
            The variables, in the order of the axes; at least one, all different.
        table : array_like or dict
            Potentials, finite and at least zero, with one axis per variable; or
            ``{(state, ...): potential}`` with every joint state, in any order.
        log : bool, default False
            Whether the table holds logs of potentials; minus infinity stands for zero.
        name : Hashable, optional
            A name for people.

        Returns
        -------
        Factor
            The factor.

        Raises
        ------
        ShapeError
            If the axes do not fit the states.
        InputError
            If a potential is negative, NaN or infinite, or all are zero.
        LabelError
            If a variable or a state is not known.

        Examples
        --------
        >>> from credo.graphs import FactorGraph
        >>> graph = FactorGraph()
        >>> rain = graph.variable("rain", ["no", "yes"])
        >>> graph.factor(["rain"], {"yes": 1.0, "no": 4.0}).table
        array([4., 1.])
        """
        self._open()
        owner = "A factor" if name is None else f"Factor {name!r}"
        scope = self._scope(variables, owner)
        if not scope:
            raise InputError(f"{owner} needs at least one variable. Got none.")
        over = self._at(scope)
        named = f"{owner} over {listing([variable.name for variable in over])}"
        factor = Factor(over, *as_potentials(table, over, named, log=log), name=name)
        self._take(factor, scope)
        return factor

    def parity(self, variables: Iterable[VariableLike], even: bool = True) -> Parity:  # noqa: FBT001, FBT002 - reads as a word
        r"""Add a parity check: the number of second states must be even.

        .. math:: f(x) = [\, x_1 + \dots + x_n \text{ is even} \,]

        Parameters
        ----------
        variables : sequence of Variable or name
            Variables with two states each.
        even : bool, default True
            Whether the number must be even; odd if False.

        Returns
        -------
        Parity
            The factor; never written out as a whole.

        Raises
        ------
        InputError
            If a variable has not two states.

        See Also
        --------
        at_most_one : Allow at most one second state.

        Examples
        --------
        >>> from credo.graphs import FactorGraph
        >>> graph = FactorGraph()
        >>> bits = [graph.variable(name, 2) for name in "ab"]
        >>> graph.parity(bits).table()
        array([[1., 0.],
               [0., 1.]])
        """
        over, scope = self._bits(variables, Parity.rule)
        factor = Parity(over, bool(even))
        self._take(factor, scope)
        return factor

    def at_most_one(self, variables: Iterable[VariableLike]) -> AtMostOne:
        r"""Add the rule that at most one variable is in its second state.

        .. math:: f(x) = [\, x_1 + \dots + x_n \le 1 \,]

        Parameters
        ----------
        variables : sequence of Variable or name
            Variables with two states each.

        Returns
        -------
        AtMostOne
            The factor; never written out as a whole.

        Raises
        ------
        InputError
            If a variable has not two states.

        See Also
        --------
        parity : Allow an even number of second states.

        Examples
        --------
        >>> from credo.graphs import FactorGraph
        >>> graph = FactorGraph()
        >>> faults = [graph.variable(name, ["ok", "broken"]) for name in ("pump", "valve")]
        >>> graph.at_most_one(faults)
        at-most-one rule of 'pump', 'valve'
        """
        over, scope = self._bits(variables, AtMostOne.rule)
        factor = AtMostOne(over)
        self._take(factor, scope)
        return factor

    def _bits(
        self, variables: Iterable[VariableLike], rule: str
    ) -> tuple[tuple[Variable, ...], Scope]:
        """Find variables that must have two states each."""
        self._open()
        scope = self._scope(variables, f"The {rule}")
        if not scope:
            raise InputError(f"The {rule} needs at least one variable. Got none.")
        return two_states(self._at(scope), rule), scope

    def _welcome(self, child: int) -> None:
        """Take any number of rules for a child."""

    def _take(self, factor: AnyFactor, scope: Scope) -> None:
        """Add a factor that was checked."""
        self._factors.append(factor)
        self._scopes.append(scope)

    def _listed(self) -> tuple[AnyFactor, ...]:
        """List the factors as they were added."""
        return tuple(self._factors)

    def _assembled(self) -> Wiring:
        """Lay the factors out as they were added."""
        return assemble(self._variables, self._factors, self._scopes, owned=False)

    def _copy_factors(self, twin: Self) -> None:
        """Hand the factors to a twin."""
        twin._factors, twin._scopes = self._factors.copy(), self._scopes.copy()
