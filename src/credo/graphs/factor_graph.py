"""Factor graphs: any product of tables and rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, final

from credo import _checks as check
from credo._types import Label
from credo.exceptions import InputError
from credo.graphs.factors import Factor, read_factor
from credo.graphs.models import AbstractRuleModel, Scope
from credo.graphs.structured import AtMostOne, Parity, two_states
from credo.graphs.variables import Variable, VariableLike


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
        owner = "A factor" if name is None else f"Factor {name!r}"
        over, scope = self._some(variables, owner)
        named = f"{owner} over {check.listing([variable.name for variable in over])}"
        return self._take(read_factor(table, over, named, log=log, name=name), scope)

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
        over, scope = self._some(variables, f"The {Parity.rule}")
        return self._take(Parity(two_states(over, Parity.rule), bool(even)), scope)

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
        over, scope = self._some(variables, f"The {AtMostOne.rule}")
        return self._take(AtMostOne(two_states(over, AtMostOne.rule)), scope)

    def _some(self, variables: Any, owner: str) -> tuple[tuple[Variable, ...], Scope]:
        """Find variables, at least one, and check that one more factor is welcome."""
        self._open()
        over, scope = self._find(variables, f"{owner}: its scope")
        if not scope:
            raise InputError(f"{owner} needs at least one variable. Got none.")
        return over, scope

    def _key(self, scope: Scope) -> int:  # noqa: ARG002 - the base gives it
        """Keep the factors as they are added."""
        return len(self._held)
