"""``Loss``: what each act costs under each truth."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Self, final

import numpy as np

from credo._results import Storable
from credo._types import F64, Label, Labels
from credo._validation.arrays import as_finite, as_number, frozen
from credo._validation.labels import as_labels, plain, position
from credo._validation.probabilities import per_label
from credo.decisions import loss_csv
from credo.decisions._text import html_table, text_table
from credo.decisions.dominance import Dominance, dominated_acts
from credo.decisions.loss_cells import cells_of, checked_cells, off_diagonal
from credo.exceptions import InputError, ShapeError

_AXES = ("truth", "act")


@final
class Loss(Storable):
    r"""Hold the loss :math:`L_{ka}` of taking act :math:`a` when the truth is :math:`k`.

    Rows are truths, columns are acts, both named. There may be more acts than truths or fewer.

    Parameters
    ----------
    matrix : array-like of shape (K, A) or (n, K, A)
        Finite losses; negative ones are gains. With a leading axis, each row of data has a
        loss matrix of its own.
    truths : iterable of K names
        What may be the case.
    acts : iterable of A names
        What may be done.
    reject
        Which of the acts is "send it to a person", if any; reports then show it apart.

    Raises
    ------
    InputError
        If an entry is not finite, names repeat, or the shape does not fit the names.

    See Also
    --------
    credo.decide : The act with the least expected loss.
    Loss.from_dict, Loss.zero_one, Loss.class_costs, Loss.gains, Loss.from_csv : Ways to make one.

    Notes
    -----
    Immutable. Adding a constant to a row, or multiplying all by a positive number, changes no
    decision.

    References
    ----------
    .. [1] J. O. Berger, *Statistical Decision Theory and Bayesian Analysis*, 2nd ed., 1985,
       section 1.3.

    Examples
    --------
    >>> import credo
    >>> credo.Loss([[0, 1000], [1, 0]], ["cancer", "normal"], ["treat", "discharge"])
    truth \ act  treat  discharge
    cancer           0       1000
    normal           1          0
    """

    __slots__ = ("_acts", "_matrix", "_reject", "_truths")
    _acts: Labels
    _matrix: F64
    _reject: Label | None
    _truths: Labels

    def __init__(
        self,
        matrix: Any,
        truths: Iterable[Any],
        acts: Iterable[Any],
        *,
        reject: Label | None = None,
    ) -> None:
        rows = as_labels(truths, "Loss", "truths")
        columns = as_labels(acts, "Loss", "acts")
        cells = checked_cells(matrix, rows, columns)
        if reject is not None:
            position(reject, columns, "Loss", "act")
        object.__setattr__(self, "_matrix", frozen(cells))
        object.__setattr__(self, "_truths", rows)
        object.__setattr__(self, "_acts", columns)
        object.__setattr__(self, "_reject", plain(reject))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A Loss does not change; {name!r} cannot be set.")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._matrix, self._truths, self._acts, self._reject)

    # --- ways to make one -------------------------------------------------------------------

    @classmethod
    def zero_one(cls, labels: Iterable[Any]) -> Self:
        r"""Charge one for each mistake: the best act is then the most probable label.

        Examples
        --------
        >>> import credo
        >>> credo.Loss.zero_one(["a", "b"])
        truth \ act  a  b
        a            0  1
        b            1  0
        """
        names = as_labels(labels, "Loss.zero_one")
        return cls(off_diagonal(len(names), "Loss.zero_one"), names, names)

    @classmethod
    def class_costs(cls, costs: Mapping[Any, float]) -> Self:
        r"""Charge a mistake by its true class: :math:`L_{ka} = \lambda_k [a \neq k]`.

        Parameters
        ----------
        costs
            ``{label: cost of missing it}``.

        Examples
        --------
        >>> import credo
        >>> credo.Loss.class_costs({"fraud": 20, "fair": 1})
        truth \ act  fraud  fair
        fraud            0    20
        fair             1     0
        """
        if not isinstance(costs, Mapping):
            raise InputError("Loss.class_costs needs {label: cost}, so that costs have names.")
        names = as_labels(costs, "Loss.class_costs")
        values = as_finite(list(costs.values()), "Loss.class_costs", "costs")
        return cls(values[:, None] * off_diagonal(len(names), "Loss.class_costs"), names, names)

    @classmethod
    def from_dict(cls, losses: Mapping[tuple[Any, Any], float]) -> Self:
        """Make a loss from ``{(truth, act): loss}``; a missing cell is an error that names it.

        Examples
        --------
        >>> import credo
        >>> credo.Loss.from_dict({("cancer", "treat"): 0, ("cancer", "discharge"): 1000,
        ...                       ("normal", "treat"): 1})
        Traceback (most recent call last):
        ...
        credo.exceptions.InputError: Loss.from_dict: no loss for truth 'normal' and act...
        """
        return cls(*cells_of(losses, "Loss.from_dict", "loss"))

    @classmethod
    def gains(
        cls,
        gains: Any,
        truths: Iterable[Any] | None = None,
        acts: Iterable[Any] | None = None,
    ) -> Self:
        r"""Make a loss from gains, where more is better: the loss is minus the gain.

        Parameters
        ----------
        gains
            ``{(truth, act): gain}``, or an array with ``truths`` and ``acts``.
        truths, acts
            Names, if ``gains`` is an array.

        Examples
        --------
        >>> import credo
        >>> credo.Loss.gains({("rain", "umbrella"): 2, ("rain", "walk"): -5,
        ...                   ("sun", "umbrella"): 0, ("sun", "walk"): 3})
        truth \ act  umbrella  walk
        rain               -2     5
        sun                 0    -3
        """
        if isinstance(gains, Mapping):
            gains, truths, acts = cells_of(gains, "Loss.gains", "gain")
        elif truths is None or acts is None:
            raise InputError(
                "Loss.gains needs truths and acts with an array, so that rows and columns have "
                "names; or pass {(truth, act): gain}."
            )
        return cls(0.0 - as_finite(gains, "Loss.gains", "gains"), truths, acts)

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str], *, reject: str | None = None) -> Self:
        """Read a loss: acts in the first line, a truth in the first cell of each other line.

        Parameters
        ----------
        path
            The file. Its names are read as text.
        reject
            Which of its acts is the reject act, if any.

        Returns
        -------
        Loss
            With rows and columns in the order of the file.

        Raises
        ------
        FileFormatError
            If a cell is not a number or a line has the wrong length; the line is named.

        See Also
        --------
        Loss.to_csv : Write one.
        """
        matrix, truths, acts = loss_csv.read(path)
        return cls(matrix, truths, acts, reject=reject)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the loss with all digits, for ``from_csv``; the file is whole or absent."""
        loss_csv.write(path, self.matrix, self.truths, self.acts)

    # --- variations -------------------------------------------------------------------------

    def with_reject(self, cost: Any, name: Label = "reject") -> Loss:
        r"""Add an act that costs the same whatever the truth, such as asking a person.

        With zero-one losses this is Chow's rule: reject unless some
        :math:`p_k \ge 1 - \text{cost}`.

        Parameters
        ----------
        cost : float, or {truth: cost}, or array-like of shape (K,)
            What rejecting costs; it may depend on the truth.
        name
            Name of the new act, which comes last.

        Returns
        -------
        Loss
            With one more column.

        References
        ----------
        .. [1] C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE Transactions
           on Information Theory 16 (1970), pages 41-46.

        Examples
        --------
        >>> import credo
        >>> credo.Loss.zero_one(["a", "b"]).with_reject(0.2)
        truth \ act  a  b  reject
        a            0  1     0.2
        b            1  0     0.2
        """
        if name is None:
            raise InputError("Loss.with_reject: the reject act needs a name. Got None.")
        if name in self._acts:
            raise InputError(f"Loss.with_reject: there is an act {name!r} already. Pass name=….")
        scalar = not isinstance(cost, Mapping) and np.ndim(cost) == 0
        column = (
            np.full(len(self._truths), as_number(cost, "Loss.with_reject", "cost"))
            if scalar
            else per_label(cost, self._truths, "Loss.with_reject", "cost")
        )
        wide = np.broadcast_to(column[:, None], (*self._matrix.shape[:-1], 1))
        cells = np.concatenate([self._matrix, wide], axis=-1)
        return Loss(cells, self._truths, (*self._acts, name), reject=name)

    def per_row(self, matrices: Any) -> Loss:
        """Give every row of data a loss matrix of its own, with these truths and acts.

        Parameters
        ----------
        matrices : array-like of shape (n, K, A)
            ``matrices[i, k, a]`` is the loss of act ``a`` in row ``i`` if the truth is ``k``.

        Examples
        --------
        A missed fraud costs the amount, an alarm costs 10:

        >>> import numpy as np, credo
        >>> amount = np.array([5.0, 500.0])
        >>> losses = np.zeros((2, 2, 2))
        >>> losses[:, 0, 1], losses[:, 1, 0] = amount, 10
        >>> loss = credo.Loss.zero_one(["fraud", "fair"]).per_row(losses)
        >>> credo.decide([[0.1, 0.9], [0.1, 0.9]], loss, labels=["fraud", "fair"]).acts
        array(['fair', 'fraud'], dtype='<U5')
        """
        cells = as_finite(matrices, "Loss.per_row", "matrices")
        if cells.ndim != 3:
            raise ShapeError(
                f"Loss.per_row needs shape (n, {len(self._truths)}, {len(self._acts)}). "
                f"Got shape {cells.shape}."
            )
        return Loss(cells, self._truths, self._acts, reject=self._reject)

    # --- looking inside ---------------------------------------------------------------------

    @property
    def matrix(self) -> F64:
        """The losses, read-only, shape (K, A) or (n, K, A)."""
        return self._matrix

    @property
    def truths(self) -> Labels:
        """Names of the rows."""
        return self._truths

    @property
    def acts(self) -> Labels:
        """Names of the columns."""
        return self._acts

    @property
    def reject(self) -> Label | None:
        """Name of the reject act, or None."""
        return self._reject

    @property
    def is_per_row(self) -> bool:
        """Whether every row of data has a matrix of its own."""
        return self._matrix.ndim == 3

    def __getitem__(self, cell: tuple[Any, Any]) -> Any:
        """Give the loss of ``truth, act``: a number, or one per row."""
        truth, act = cell
        k = position(truth, self._truths, "Loss", "truth")
        a = position(act, self._acts, "Loss", "act")
        return self._matrix[:, k, a] if self.is_per_row else float(self._matrix[k, a])

    def dominated_acts(self) -> list[Dominance]:
        r"""List acts that no posterior would ever need.

        An act is dominated if some mixture of the others has a loss at most as large under
        every truth. Found by linear programming.

        Returns
        -------
        list of Dominance
            Each names the act and the mixture that replaces it.

        References
        ----------
        .. [1] J. O. Berger, *Statistical Decision Theory and Bayesian Analysis*, 2nd ed., 1985,
           section 1.3.2 (inadmissible acts).

        Examples
        --------
        >>> import credo
        >>> loss = credo.Loss.zero_one(["a", "b"]).with_reject(0.6)
        >>> print(*loss.dominated_acts())
        'reject' is never better than 0.5 'a' + 0.5 'b'
        """
        if self.is_per_row:
            raise InputError("Loss.dominated_acts needs one matrix, not one per row.")
        return dominated_acts(self._matrix, self._acts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Loss):
            return NotImplemented
        return (
            self._truths == other._truths
            and self._acts == other._acts
            and self._reject == other._reject
            and np.array_equal(self._matrix, other._matrix)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if not self.is_per_row:
            return text_table(self._matrix, self._truths, self._acts, _AXES)
        head = f"Loss for {len(self._matrix)} rows, each with its own matrix; the mean of them:"
        mean = self._matrix.mean(axis=0)
        return f"{head}\n{text_table(mean, self._truths, self._acts, _AXES)}"

    def _repr_html_(self) -> str:
        cells = self._matrix.mean(axis=0) if self.is_per_row else self._matrix
        return html_table(cells, self._truths, self._acts, _AXES)


def _rebuild(matrix: F64, truths: Labels, acts: Labels, reject: Label | None) -> Loss:
    """Make the same loss again, for copies."""
    return Loss(matrix, truths, acts, reject=reject)
