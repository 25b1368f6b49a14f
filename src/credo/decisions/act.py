"""``decide``: the act with the least expected loss, for any number of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, final

import numpy as np
import numpy.typing as npt

from credo._types import F64, Label, Labels
from credo._validation.labels import as_labels, hint, listing
from credo._validation.probabilities import BLOCK_ROWS, blocks, check_rows, check_width, tolerance
from credo.decisions._text import number
from credo.decisions.loss import Loss
from credo.exceptions import InputError, LabelError, ShapeError
from credo.posterior import Posterior
from credo.posterior.rows import label_array


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
    Time O(n K A) in blocks that fit the cache; beyond input and output it needs less than a
    megabyte. Exact up to rounding: acts whose expected losses differ by less than the rounding
    error of the sums count as tied, and ties go to the act that comes first in the loss. So the
    answer does not depend on how the sums were ordered.

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
    rows = _Rows(posterior, loss, labels)
    index = np.empty(rows.n_rows, dtype=np.min_scalar_type(len(loss.acts)))
    risk = np.empty(rows.n_rows)
    for block, losses, totals, scale in rows.expected():
        best = risk[block]
        np.minimum.reduce(losses, axis=0, out=best)
        limit = best + (best if scale is None else scale) * rows.rounding
        chosen = index[block]
        chosen[:] = len(losses) - 1
        for act in range(len(losses) - 2, -1, -1):
            np.copyto(chosen, act, where=losses[act] <= limit)
        best /= totals
    return Decisions(rows, index, risk)


@final
class Decisions:
    """The act chosen for each row, and what it is expected to cost.

    Made by ``credo.decide``. For a single case, ``acts`` is a label and ``risk`` a number.

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

    def __init__(self, rows: _Rows, index: npt.NDArray[Any], risk: F64) -> None:
        index.flags.writeable = risk.flags.writeable = False
        self._rows = rows
        self._index = index
        self._risk = risk

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
        return int(self._index[0]) if self._rows.is_single else self._index

    @property
    def acts(self) -> Any:
        """Name of the chosen act (per row)."""
        if self._rows.is_single:
            return self.loss.acts[int(self._index[0])]
        return label_array(self.loss.acts)[self._index]

    @property
    def risk(self) -> Any:
        """Expected loss of the chosen act (per row)."""
        return float(self._risk[0]) if self._rows.is_single else self._risk

    @property
    def expected_losses(self) -> F64:
        """Expected loss of every act, shape (A,) or (n, A); computed when asked for."""
        table = np.empty((self.n_rows, len(self.loss.acts)))
        for block, losses, totals, _ in self._rows.expected():
            np.divide(losses.T, totals[:, None], out=table[block])
        return table[0] if self._rows.is_single else table

    @property
    def margin(self) -> Any:
        """How much the second-best act is expected to cost more (per row); infinite if alone."""
        gap = np.full(self.n_rows, np.inf)
        if len(self.loss.acts) > 1:
            for block, losses, totals, _ in self._rows.expected():
                best, second = np.partition(losses, 1, axis=0)[:2]
                np.divide(second - best, totals, out=gap[block])
        return float(gap[0]) if self._rows.is_single else gap

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


class _Rows:
    """Probabilities and losses lined up, and their products block by block."""

    def __init__(self, posterior: Any, loss: Loss, labels: Iterable[Any] | None) -> None:
        if not isinstance(loss, Loss):
            raise InputError(
                f"decide needs a Loss with named truths and acts. Got {type(loss).__name__}. "
                "Make one with credo.Loss(matrix, truths, acts)."
            )
        self.loss = loss
        names = column_names(posterior, labels)
        if isinstance(posterior, Posterior):
            self._posterior: Posterior | None = posterior
            self._array = np.atleast_2d(posterior.log_probabilities)
            self.is_single = posterior.is_single
        else:
            self._posterior = None
            array = _numeric(posterior)
            check_width(array, names, "decide")
            self._array = np.atleast_2d(array)
            self.is_single = array.ndim == 1
        self.n_rows = len(self._array)
        self._aligned = loss.matrix[..., _rows_of(loss, names), :]
        if loss.is_per_row and len(loss.matrix) != self.n_rows:
            raise ShapeError(
                f"decide: the loss has {len(loss.matrix)} matrices for {self.n_rows} rows; one "
                "per row is needed."
            )
        self._signed = bool((self._aligned < 0).any())
        # Sums of K products have a relative error of at most K units of rounding, a unit being
        # eps/2; two sums are compared, and the probabilities were rounded once themselves.
        self.rounding = (len(names) + 2) * np.finfo(np.float64).eps

    def expected(self) -> Iterator[tuple[slice, F64, F64, F64 | None]]:
        """Yield (block, losses (A, b), totals (b,), scale (b,)) for consecutive rows.

        ``totals`` are the rows' sums, one up to rounding; ``scale`` is what the losses' rounding
        error is relative to, None for the losses themselves, which do if none is negative. The
        arrays are overwritten by the next block.
        """
        n_labels, n_acts = self._aligned.shape[-2:]
        product = self._products_per_row() if self.loss.is_per_row else self._products()
        for block in blocks(self.n_rows):
            p = self._probabilities(block)
            table = product(block, p)
            totals = table[n_acts]
            if self._posterior is None and not (
                p.min() >= 0 and np.abs(totals - 1).max() <= tolerance(n_labels)
            ):
                check_rows(p, "decide", first_row=None if self.is_single else block.start)
            yield block, table[:n_acts], totals, table[n_acts + 1] if self._signed else None

    def _products(self) -> Callable[[slice, F64], F64]:
        """Multiply by one matrix: its acts, a column of ones, and largest sizes if signed."""
        columns = [self._aligned, np.ones((len(self._aligned), 1))]
        if self._signed:
            columns.append(np.abs(self._aligned).max(axis=1, keepdims=True))
        factor = np.ascontiguousarray(np.concatenate(columns, axis=1).T)
        buffer = np.empty((len(factor), min(self.n_rows, BLOCK_ROWS)))

        def product(_: slice, p: F64) -> F64:
            full = p.shape[0] == buffer.shape[1]
            return np.dot(factor, p.T, out=buffer) if full else factor @ p.T

        return product

    def _products_per_row(self) -> Callable[[slice, F64], F64]:
        """Multiply each row by its own matrix, with the same extra columns."""

        def product(block: slice, p: F64) -> F64:
            part = self._aligned[block]
            rows = [np.einsum("bk,bka->ab", p, part), p.sum(axis=1)[None]]
            if self._signed:
                rows.append(np.einsum("bk,bk->b", p, np.abs(part).max(axis=2))[None])
            return np.concatenate(rows)

        return product

    def _probabilities(self, block: slice) -> F64:
        part = self._array[block]
        if self._posterior is None:
            return np.asarray(part, dtype=np.float64)
        known = self._posterior._probabilities  # noqa: SLF001
        return np.exp(part) if known is None else np.atleast_2d(known)[block]


def column_names(posterior: Any, labels: Iterable[Any] | None) -> Labels:
    """Find the names of the columns: a Posterior's, those given, or those of a data frame."""
    if isinstance(posterior, Posterior):
        if labels is not None:
            raise InputError("A Posterior has its own labels; leave labels out.")
        return posterior.labels
    if labels is None:
        labels = getattr(posterior, "columns", None)
    if labels is None:
        raise InputError(
            "Which column is which label? Pass labels=[...] with an array, or pass a Posterior."
        )
    return as_labels(labels, "decide")


def _numeric(array: Any) -> npt.NDArray[Any]:
    """Look at an array without copying it; integers and float32 are converted block by block."""
    values = np.asarray(array)
    if values.dtype.kind not in "fiub":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"decide: the probabilities must be numbers. {error}.") from error
    return values


def _rows_of(loss: Loss, names: Labels) -> npt.NDArray[np.intp]:
    """Find the loss's row for each label; the names must be the same ones."""
    if set(names) != set(loss.truths):
        odd = [n for n in names if n not in loss.truths] or [
            t for t in loss.truths if t not in names
        ]
        turned = (
            " The acts of the loss are these labels: it looks transposed. Rows are truths, columns "
            "are acts."
            if set(names) == set(loss.acts)
            else hint(odd[0], loss.truths if odd[0] in names else names)
        )
        raise LabelError(
            f"decide: the posterior's labels ({listing(names)}) and the loss's truths "
            f"({listing(loss.truths)}) differ in {odd[0]!r}.{turned}"
        )
    return np.array([loss.truths.index(name) for name in names], dtype=np.intp)
