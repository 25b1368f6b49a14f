"""``JointTable``: the sum rule, the product rule and the chain rule on a small joint table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, final

import numpy as np

from credo import _checks as check
from credo._results import Immutable
from credo._types import F64, Label, Labels
from credo.exceptions import InputError, ShapeError
from credo.posterior.posterior import Posterior, trusted


@final
class JointTable(Immutable):
    r"""Hold the joint probability of a few discrete variables as one labelled table.

    For learning and for checking: every rule of probability is one method. The table has
    :math:`\prod_i K_i` cells; larger models are for graphs.

    Parameters
    ----------
    table : array-like
        Probabilities, one axis per variable; they must sum to one.
    variables
        ``{variable: its states}``, in the order of the axes.

    Raises
    ------
    InputError
        If the entries do not sum to one, one is negative or NaN, or the shape does not fit.

    See Also
    --------
    Posterior : The result of conditioning on everything but one variable.

    Notes
    -----
    Exact up to rounding. Every method is linear in the number of cells.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 1.2.

    Examples
    --------
    >>> from credo import JointTable
    >>> joint = JointTable([[0.4, 0.2], [0.1, 0.3]],
    ...     {"weather": ["sun", "rain"], "air": ["hot", "cold"]})
    >>> joint.marginal("air").posterior()
    Posterior(hot 0.5, cold 0.5)
    >>> joint.given(air="hot").posterior()
    Posterior(sun 0.8, rain 0.2)
    >>> joint.are_independent("weather", "air")
    False
    """

    __slots__ = ("_states", "_table")
    _states: dict[str, Labels]
    _table: F64

    def __init__(self, table: Any, variables: Mapping[str, Iterable[Any]]) -> None:
        if not isinstance(variables, Mapping):
            raise InputError("JointTable needs its variables as {variable: states}, in axis order.")
        check.labels(variables, "variables of JointTable")
        states = {
            name: check.labels(names, f"states of {name!r}") for name, names in variables.items()
        }
        cells = check.floats(table, "table of JointTable")
        shape = tuple(len(names) for names in states.values())
        if cells.shape != shape:
            raise ShapeError(
                f"JointTable needs one axis per variable, shape {shape}. Got shape {cells.shape}."
            )
        check.distributions(
            cells.reshape(1, -1), "JointTable", "Divide the table by its sum.", first_row=None
        )
        self._set(_table=cells / cells.sum(), _states=states)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables, in the order of the axes."""
        return tuple(self._states)

    @property
    def states(self) -> dict[str, Labels]:
        """States of each variable."""
        return dict(self._states)

    @property
    def table(self) -> F64:
        """The probabilities, read-only, one axis per variable."""
        return self._table

    def __getitem__(self, assignment: Mapping[str, Any]) -> float:
        """Return the probability of a partial or whole assignment ``{variable: state}``."""
        return float(self._table[self._index(assignment)].sum())

    def marginal(self, *variables: str) -> JointTable:
        r"""Sum out all other variables: :math:`p(a) = \sum_b p(a, b)`.

        The axes of the result come in the order asked for.
        """
        wanted = check.labels(variables, "variables of JointTable.marginal")
        axes = [check.position(name, self.variables, "variable", "JointTable") for name in wanted]
        rest = tuple(i for i in range(self._table.ndim) if i not in axes)
        cells = self._table.sum(axis=rest).transpose(np.argsort(np.argsort(axes)))
        states = {name: self._states[name] for name in variables}
        return JointTable._of(_table=cells / cells.sum(), _states=states)

    def given(self, evidence: Mapping[str, Any] | None = None, **named: Any) -> JointTable:
        r"""Condition on states: :math:`p(a \mid b) = p(a, b) / p(b)`.

        Parameters
        ----------
        evidence
            ``{variable: state}``.
        **named
            The same as keywords.

        Returns
        -------
        JointTable
            Over the other variables.

        Raises
        ------
        InputError
            If the evidence has probability zero, or leaves no variable.
        """
        observed = {**(evidence or {}), **named}
        cells = self._table[self._index(observed)]
        rest = {name: names for name, names in self._states.items() if name not in observed}
        if not rest:
            raise InputError("JointTable.given: the evidence names all variables; nothing is left.")
        if not cells.sum() > 0:
            raise InputError(f"JointTable.given: the evidence {observed} has probability 0.")
        return JointTable._of(_table=cells / cells.sum(), _states=rest)

    def conditional(self, variable: str, parents: Sequence[str]) -> F64:
        r"""Tabulate :math:`p(\text{variable} \mid \text{parents})`, the variable on the last axis.

        Parent states of probability zero, where the conditional is undefined, give NaN rows.
        """
        family = self.marginal(*parents, variable).table
        totals = family.sum(axis=-1, keepdims=True)
        return np.divide(family, totals, out=np.full_like(family, np.nan), where=totals > 0)

    def chain(self) -> list[F64]:
        r"""Factor the table by the chain rule, :math:`p(x_1)\, p(x_2 \mid x_1) \cdots`.

        Returns
        -------
        list of ndarray
            One conditional table per variable in the order of the axes; their product is the
            joint table.
        """
        names = self.variables
        return [self.conditional(name, names[:i]) for i, name in enumerate(names)]

    def are_independent(
        self, a: str, b: str, given: Sequence[str] = (), tol: float = 1e-12
    ) -> bool:
        r"""Check :math:`p(a, b \mid c)\, = p(a \mid c)\, p(b \mid c)` for all states.

        Multiplied out as :math:`p(a, b, c)\, p(c) = p(a, c)\, p(b, c)`, so that states of ``given``
        with probability zero do no harm. The two conditional probabilities may differ by ``tol``:
        far more than rounding, far less than any table means.
        """
        cells = self.marginal(*given, a, b).table
        rows, columns = cells.sum(axis=-1, keepdims=True), cells.sum(axis=-2, keepdims=True)
        total = rows.sum(axis=-2, keepdims=True)
        return bool((np.abs(cells * total - rows * columns) <= tol * total**2).all())

    def posterior(self) -> Posterior:
        """Return a table over one variable as a ``Posterior``."""
        if len(self._states) != 1:
            raise InputError(
                f"JointTable.posterior needs one variable left, got {', '.join(self.variables)}. "
                "Use .marginal(name) or .given(...) first."
            )
        (states,) = self._states.values()
        return trusted(states, self._table)

    def _index(self, assignment: Mapping[str, Any]) -> tuple[int | slice, ...]:
        if not isinstance(assignment, Mapping):
            raise InputError(f"JointTable needs {{variable: state}}. Got {assignment!r}.")
        index: list[int | slice] = [slice(None)] * len(self._states)
        for name, state in assignment.items():
            axis = check.position(name, self.variables, "variable", "JointTable")
            known, holder = self._states[name], f"JointTable variable {name!r}"
            index[axis] = check.position(state, known, "state", holder)
        return tuple(index)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} ({len(states)})" for name, states in self._states.items())
        return f"JointTable over {sizes}"

    def to_dict(self) -> dict[tuple[Label, ...], float]:
        """Return ``{(state, …): probability}`` over all cells."""
        return dict(zip(product(*self._states.values()), self._table.ravel().tolist(), strict=True))
