"""``decide``: the act with the least expected loss, for any number of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, final

import numpy as np
import numpy.typing as npt

from credo._types import F64, Label
from credo._validation.arrays import frozen
from credo._validation.labels import names_in
from credo._validation.probabilities import tolerance
from credo.decisions._text import number
from credo.decisions.lined_up import LinedUp, rounding
from credo.decisions.loss import Loss
from credo.exceptions import InputError


def decide(posterior: Any, loss: Loss, labels: Iterable[Any] | None = None) -> Decisions:
    r"""Choose the act with the least posterior expected loss, row by row.

    .. math:: a^*(x) = \arg\min_a R(a \mid x), \qquad
              R(a \mid x) = \sum_k L_{ka}\, p(k \mid x)

    Parameters
    ----------
    posterior : Posterior, or array-like of shape (K,) or (n, K)
        Probabilities. Rows of an array must sum to one to six decimals.
    loss
        Losses by truth and act. Truths are matched with the labels by name, in any order.
    labels : iterable of K names, optional
        Names of the columns, if ``posterior`` is an array. A data frame brings its own.

    Returns
    -------
    Decisions
        With ``acts``, ``risk``, ``expected_losses`` and ``margin``.

    Raises
    ------
    LabelError
        If labels and truths differ; the nearest match is given.
    InputError
        If a row is not a distribution; the row is named.

    See Also
    --------
    Loss.with_reject : An act for "ask a person".
    credo.DecisionClassifier : The same inside scikit-learn.

    Notes
    -----
    Time O(n K A) in blocks that fit the cache; beyond input and output it needs a few megabytes,
    however many rows there are. Exact up to rounding: acts whose expected losses differ by less
    than the rounding error of the sums count as tied, and ties go to the act that comes first in
    the loss. So exact ties are decided alike, in whatever order the sums are taken.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, equation 1.81.

    Examples
    --------
    >>> import credo
    >>> loss = credo.Loss.from_dict({("cancer", "treat"): 0, ("cancer", "discharge"): 1000,
    ...                              ("normal", "treat"): 1, ("normal", "discharge"): 0})
    >>> choice = credo.decide([[0.01, 0.99], [0.0001, 0.9999]], loss, labels=["cancer", "normal"])
    >>> choice.acts
    array(['treat', 'discharge'], dtype='<U9')
    >>> choice.risk
    array([0.99, 0.1 ])
    """
    rows = LinedUp(posterior, loss, labels)
    # The expected loss of an act lies within slack * size of the number computed. An act may be
    # the best if the lower end of that interval is not above the upper end of any other.
    index = np.empty(rows.n_rows, dtype=np.min_scalar_type(len(loss.acts)))
    risk = np.empty(rows.n_rows)
    slack = rounding(len(loss.truths))
    for block, losses, totals, sizes in rows.expected():
        best = np.minimum.reduce(losses, axis=0, out=risk[block])
        if sizes is losses:  # no loss is negative: ends of intervals are multiples of the losses
            lower, limit = losses, best * ((1 + slack) / (1 - slack))
        else:
            lower, limit = losses - slack * sizes, (losses + slack * sizes).min(axis=0)
        _first_at_most(limit, lower, out=index[block])
        best /= totals
    return Decisions(rows, index, risk)


def _first_at_most(limit: F64, lower: F64, out: npt.NDArray[Any]) -> None:
    """Find the first act whose ``lower`` is at most ``limit``, row by row; one is."""
    out[:] = len(lower) - 1
    for act in range(len(lower) - 2, -1, -1):
        np.copyto(out, act, where=lower[act] <= limit)


@final
class Decisions:
    """The act chosen for each row, and what it is expected to cost.

    Made by ``credo.decide``. For a single case, ``acts`` is a label and ``risk`` a number.
    ``expected_losses`` and ``margin`` are computed from the probabilities each time they are asked
    for, so that ten million decisions stay small; an array that no longer leads to these acts and
    risks is refused.

    Examples
    --------
    >>> import credo
    >>> loss = credo.Loss.zero_one(["a", "b"]).with_reject(0.2)
    >>> choice = credo.decide([[0.9, 0.1], [0.6, 0.4]], loss, labels=["a", "b"])
    >>> choice
    Decisions for 2 rows: a 1, b 0, reject 1; mean risk 0.15
    >>> choice.margin
    array([0.1, 0.2])
    """

    __slots__ = ("_index", "_risk", "_rows")

    def __init__(self, rows: LinedUp, index: npt.NDArray[Any], risk: F64) -> None:
        self._rows = rows
        self._index = frozen(index)
        self._risk = frozen(risk)

    @property
    def loss(self) -> Loss:
        """The loss that was minimised."""
        return self._rows.loss

    @property
    def n_rows(self) -> int:
        """Number of rows; one for a single case."""
        return len(self._index)

    @property
    def act_index(self) -> Any:
        """Position of the chosen act in ``loss.acts`` (per row)."""
        return int(self._index[0]) if self._rows.is_single else self._index.astype(np.intp)

    @property
    def acts(self) -> Any:
        """Name of the chosen act (per row)."""
        if self._rows.is_single:
            return self.loss.acts[int(self._index[0])]
        return names_in(self.loss.acts)[self._index]

    @property
    def risk(self) -> Any:
        """Expected loss of the chosen act (per row)."""
        return float(self._risk[0]) if self._rows.is_single else self._risk

    @property
    def expected_losses(self) -> F64:
        """Expected loss of every act, shape (A,) or (n, A); computed when asked for."""
        table = np.empty((self.n_rows, len(self.loss.acts)))
        for block, losses, totals in self._again():
            np.divide(losses.T, totals[:, None], out=table[block])
        return table[0] if self._rows.is_single else table

    @property
    def margin(self) -> Any:
        """How much the second-best act is expected to cost more (per row); infinite if alone."""
        gap = np.full(self.n_rows, np.inf)
        if len(self.loss.acts) > 1:
            for block, losses, totals in self._again():
                best, second = np.partition(losses, 1, axis=0)[:2]
                np.divide(second - best, totals, out=gap[block])
        return float(gap[0]) if self._rows.is_single else gap

    def _again(self) -> Iterator[tuple[slice, F64, F64]]:
        """Multiply once more, and make sure that acts and risk are still those decided on."""
        slack = rounding(len(self.loss.truths))
        for block, losses, totals, sizes in self._rows.expected(check=False):
            chosen = self._index[block].astype(np.intp)[None]
            own, size = (np.take_along_axis(table, chosen, axis=0)[0] for table in (losses, sizes))
            off = np.abs(own / totals - self._risk[block])
            known = off <= 4 * slack * size
            known &= own <= losses.min(axis=0) + 4 * slack * size
            if not (known & (np.abs(totals - 1) <= tolerance(len(self.loss.truths)))).all():
                raise InputError(
                    "Decisions: the array of probabilities given to decide has been changed since. "
                    "Decide again, or decide on a copy or a Posterior."
                )
            yield block, losses, totals

    @property
    def rejected(self) -> Any:
        """Whether the chosen act is the loss's reject act (per row)."""
        reject = self.loss.reject
        mask = (
            np.zeros(self.n_rows, dtype=bool)
            if reject is None
            else self._index == self.loss.acts.index(reject)
        )
        return bool(mask[0]) if self._rows.is_single else mask

    def counts(self) -> dict[Label, int]:
        """Count how often each act was chosen."""
        counted = np.bincount(self._index, minlength=len(self.loss.acts)).tolist()
        return dict(zip(self.loss.acts, counted, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Give acts, risk and expected losses as plain lists and numbers."""
        table = self.expected_losses
        acts = self.acts if self._rows.is_single else self.acts.tolist()
        return {
            "acts": acts,
            "risk": self.risk if self._rows.is_single else self._risk.tolist(),
            "expected_losses": dict(zip(self.loss.acts, table.T.tolist(), strict=True)),
        }

    def __repr__(self) -> str:
        if self._rows.is_single:
            return f"Decisions({self.acts!r}, risk {number(self.risk)})"
        shares = ", ".join(f"{act} {n}" for act, n in self.counts().items())
        mean = number(self._risk.mean()) if self.n_rows else "undefined"
        return f"Decisions for {self.n_rows} rows: {shares}; mean risk {mean}"
