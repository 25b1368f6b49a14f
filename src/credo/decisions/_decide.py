"""``decide``: the act with the least expected loss; well-known rules are special cases of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._results import SHOWN, Immutable, as_frame, html_table, number
from credo._types import F64, Int, Label, Labels, PerLabel
from credo.decisions.loss import Loss, as_loss
from credo.exceptions import InputError
from credo.posterior import Posterior

_REMEDY = "Divide the rows by their sums, or pass Posterior.from_probabilities(…, normalise=True)."


def decide(posterior: Any, loss: Loss, labels: Iterable[Any] | None = None) -> Decisions:
    r"""Choose the act with the least posterior expected loss, row by row.

    .. math:: a^*(x) = \arg\min_a R(a \mid x), \qquad
              R(a \mid x) = \sum_k L_{ka}\, p(k \mid x)

    Parameters
    ----------
    posterior : Posterior, or array-like of shape (K,) or (n, K)
        Probabilities. Rows of an array must sum to one to six decimals.
    loss
        Losses by true class and act. Truths are matched with the labels by name, in any order.
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
    names = column_names(posterior, labels)
    as_loss(loss, "decide")
    is_checked = isinstance(posterior, Posterior)
    p: Any = posterior if is_checked else as_array(posterior)
    if not is_checked:
        check.width(p, names, "probabilities of decide")
    order, n_rows = loss.rows_for(names), p.n_rows if is_checked else len(np.atleast_2d(p))
    as_loss(loss, "decide", n_rows=n_rows)
    index = np.empty(n_rows, dtype=np.min_scalar_type(len(loss.acts)))
    risk = np.empty(n_rows)
    found = Decisions(p, loss, order, index.view(), risk.view())
    # The expected loss of an act lies within slack * size of the number computed. An act may be
    # the best if the lower end of that interval is not above the upper end of any other.
    slack = rounding(len(names))
    for block, losses, totals, sizes in found.expected_blocks(verify=not is_checked):
        best = np.minimum.reduce(losses, axis=0, out=risk[block])
        if sizes is losses:  # no loss is negative: ends of intervals are multiples of the losses
            lower, limit = losses, best * ((1 + slack) / (1 - slack))
        else:
            lower, limit = losses - slack * sizes, (losses + slack * sizes).min(axis=0)
        first = index[block]
        first[:] = len(lower) - 1
        for act in range(len(lower) - 2, -1, -1):  # the first act that may be the best
            np.copyto(first, act, where=lower[act] <= limit)
        best /= totals
    check.frozen(index)
    check.frozen(risk)
    return found


def rounding(n_labels: int) -> float:
    r"""Bound the rounding error of an expected loss, relative to :math:`\sum_k p_k |L_{ka}|`.

    A sum of K products is off by at most K units of rounding, a unit being eps/2, and the
    probabilities and losses were each rounded once before: K/2 + 1 times eps.
    """
    return (n_labels / 2 + 1) * float(np.finfo(np.float64).eps)


@final
class Decisions(Immutable):
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

    __slots__ = ("_index", "_is_single", "_order", "_p", "_risk", "loss", "n_rows")
    loss: Loss  #: The loss that was minimised.
    n_rows: int  #: Number of rows; one for a single case.
    _p: Any
    _order: Int
    _is_single: bool
    _index: Any
    _risk: F64

    def __init__(self, p: Any, loss: Loss, order: Int, index: Any, risk: F64) -> None:
        is_single = p.is_single if isinstance(p, Posterior) else p.ndim == 1
        seen = p if isinstance(p, Posterior) else p.view()  # the caller may still write to p
        self._set(loss=loss, n_rows=len(risk), _p=seen, _order=order, _is_single=is_single)
        self._set(_index=index, _risk=risk)

    @property
    def act_index(self) -> Any:
        """Position of the chosen act in ``loss.acts`` (per row)."""
        return int(self._index[0]) if self._is_single else self._index.astype(np.intp)

    @property
    def acts(self) -> Any:
        """Name of the chosen act (per row)."""
        acts = self.loss.acts
        return acts[self._index[0]] if self._is_single else check.names_array(acts)[self._index]

    @property
    def risk(self) -> Any:
        """Expected loss of the chosen act (per row)."""
        return self._shown(self._risk)

    @property
    def expected_losses(self) -> F64:
        """Expected loss of every act, shape (A,) or (n, A); computed when asked for."""
        table = np.empty((self.n_rows, len(self.loss.acts)))
        for block, losses, totals in self._again():
            np.divide(losses.T, totals[:, None], out=table[block])
        return table[0] if self._is_single else table

    @property
    def margin(self) -> Any:
        """How much the second-best act is expected to cost more (per row); infinite if alone."""
        gap = np.full(self.n_rows, np.inf)
        if len(self.loss.acts) > 1:
            for block, losses, totals in self._again():
                best, second = np.partition(losses, 1, axis=0)[:2]
                np.divide(second - best, totals, out=gap[block])
        return self._shown(gap)

    @property
    def rejected(self) -> Any:
        """Whether the chosen act is the loss's reject act (per row)."""
        acts, reject = self.loss.acts, self.loss.reject
        return self._shown(self._index == (-1 if reject is None else acts.index(reject)))

    def counts(self) -> dict[Label, int]:
        """Count how often each act was chosen."""
        counted = np.bincount(self._index, minlength=len(self.loss.acts)).tolist()
        return dict(zip(self.loss.acts, counted, strict=True))

    def to_frame(self) -> Any:
        """Return a pandas frame with a line per row: act, expected_loss, margin, rejected.

        Returns
        -------
        pandas.DataFrame
            Without ``rejected`` if the loss has no reject act.
        """
        lines = {"act": self.acts, "expected_loss": self.risk, "margin": self.margin}
        if self.loss.reject is not None:
            lines["rejected"] = self.rejected
        one = self._is_single
        return as_frame(**{name: [each] if one else each for name, each in lines.items()})

    def to_dict(self) -> dict[str, Any]:
        """Return acts, risk and expected losses as plain lists and numbers."""
        table = self.expected_losses.T.tolist()
        return {
            "acts": self.acts if self._is_single else self.acts.tolist(),
            "risk": self.risk if self._is_single else self.risk.tolist(),
            "expected_losses": dict(zip(self.loss.acts, table, strict=True)),
        }

    def __repr__(self) -> str:
        if self._is_single:
            return f"Decisions({self.acts!r}, risk {number(self.risk)})"
        shares = ", ".join(f"{act} {n}" for act, n in self.counts().items())
        mean = number(self._risk.mean()) if self.n_rows else "undefined"
        return f"Decisions for {self.n_rows} rows: {shares}; mean risk {mean}"

    def _repr_html_(self) -> str:
        acts, risk = np.atleast_1d(self.acts), np.atleast_1d(self.risk)
        losses = np.atleast_2d(self.expected_losses)[:SHOWN].tolist()
        first = enumerate(zip(acts.tolist(), risk.tolist(), losses, strict=False))
        rows = ((str(i), str(act), cost, *row) for i, (act, cost, row) in first)
        header = ("row", "act", "risk", *(f"loss of {act}" for act in self.loss.acts))
        return html_table(repr(self), header, rows, self.n_rows)

    def _shown(self, values: Any) -> Any:
        """Return one value per row, or the single one."""
        return values[0].item() if self._is_single else values

    def expected_blocks(self, *, verify: bool) -> Iterator[tuple[slice, F64, F64, F64]]:
        """Yield (block, losses (A, b), totals (b,), sizes (A, b)) for consecutive rows.

        ``losses`` are Σ p L, ``totals`` Σ p and ``sizes`` Σ p abs(L), ``losses`` itself if no
        loss is negative. The arrays are overwritten by the next block. With ``verify``, rows that
        are not distributions are refused.
        """
        (n_labels, n_acts), per_row = self.loss.matrix.shape[-2:], self.loss.is_per_row
        off_one = check.tolerance(n_labels)
        size = check.block_rows(n_labels * n_acts if per_row else n_labels + 2 * n_acts)
        if not per_row:
            factor = np.ascontiguousarray(_with_totals(self.loss.matrix[self._order]).T)
            buffer = np.empty((len(factor), min(self.n_rows, size)))
        for block in check.blocks(self.n_rows, size):
            p = self._probabilities(block)
            if per_row:
                own = _with_totals(self.loss.matrix[block][:, self._order])
                table = np.einsum("bk,bka->ab", p, own)
            else:
                table = np.matmul(factor, p.T, out=buffer[:, : len(p)])
            losses, totals, sizes = table[:n_acts], table[n_acts], table[n_acts + 1 :]
            if verify and not (p.min() >= 0 and np.abs(totals - 1).max() <= off_one):
                first = None if self._is_single else block.start
                check.distributions(p, "decide", _REMEDY, first_row=first)
            yield block, losses, totals, sizes if len(sizes) else losses

    def _probabilities(self, block: slice) -> F64:
        """Return the probabilities of some rows as float64."""
        if isinstance(self._p, Posterior):
            part = self._p if self._is_single else self._p.rows(block)
            return np.atleast_2d(part.probabilities)
        return np.asarray(np.atleast_2d(self._p)[block], dtype=np.float64)

    def _again(self) -> Iterator[tuple[slice, F64, F64]]:
        """Multiply once more, and make sure that acts and risk are still those decided on."""
        slack, off_one = 4 * rounding(len(self.loss.truths)), check.tolerance(len(self.loss.truths))
        for block, losses, totals, sizes in self.expected_blocks(verify=False):
            chosen = self._index[block].astype(np.intp)[None]
            own, size = (np.take_along_axis(table, chosen, axis=0)[0] for table in (losses, sizes))
            same = np.abs(own / totals - self._risk[block]) <= slack * size
            same &= own <= losses.min(axis=0) + slack * size
            if not (same & (np.abs(totals - 1) <= off_one)).all():
                raise InputError(
                    "Decisions: the array of probabilities given to decide has been changed since. "
                    "Decide again, or decide on a copy or a Posterior."
                )
            yield block, losses, totals


def _with_totals(matrix: F64) -> F64:
    """Add a column of ones, and the sizes of the losses if some are negative."""
    ones = np.ones((*matrix.shape[:-1], 1))
    sizes = [np.abs(matrix)] if (matrix < 0).any() else []
    return np.concatenate([matrix, ones, *sizes], axis=-1)


def column_names(posterior: Any, labels: Iterable[Any] | None) -> Labels:
    """Return the names of the columns: a Posterior's, those given, or those of a data frame."""
    if isinstance(posterior, Posterior):
        if labels is not None:
            raise InputError("A Posterior has its own labels; leave labels out.")
        return posterior.labels
    found = check.names_of(posterior) if labels is None else labels
    if found is None:
        raise InputError(
            "Which column is which label? Pass labels=[...] with an array, or pass a Posterior."
        )
    names = check.labels(found, "labels of decide")
    check.frame(posterior, names, "labels of decide")
    return names


def as_array(values: Any) -> npt.NDArray[Any]:
    """Look at an array without copying it; integers and float32 are converted block by block."""
    if not np.ma.is_masked(values) and getattr(values, "dtype", None) is not None:
        array = np.asarray(values)
        if array.dtype.kind in "fiub":
            return array
    return check.floats(values, "probabilities of decide")


# --- rules ----------------------------------------------------------------------------------------


def maximum_posterior(posterior: Any, labels: Iterable[Any] | None = None) -> Decisions:
    r"""Choose the most probable label: the Bayes act for zero-one loss.

    .. math:: a^*(x) = \arg\max_k p(k \mid x)

    Parameters
    ----------
    posterior : Posterior, or array-like of shape (K,) or (n, K)
        Probabilities.
    labels
        Names of the columns, if ``posterior`` is an array.

    Returns
    -------
    Decisions
        The risk is the probability of a mistake.

    Notes
    -----
    Time O(n K²), exact. Ties go to the first label.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 1.5.1.

    Examples
    --------
    >>> from credo.decisions import maximum_posterior
    >>> maximum_posterior([0.2, 0.5, 0.3], labels=["a", "b", "c"])
    Decisions('b', risk 0.5)
    """
    return decide(posterior, Loss.zero_one(column_names(posterior, labels)), labels)


@dataclass(frozen=True, slots=True)
class RejectBelow:
    """The rule made by ``reject_below``; call it with a posterior."""

    theta: float
    name: Label = "reject"

    def loss(self, labels: Iterable[Any]) -> Loss:
        """Return the loss behind the rule: zero-one, and 1 − θ for rejecting."""
        return Loss.zero_one(labels).with_reject(1.0 - self.theta, self.name)

    def __call__(self, posterior: Any, labels: Iterable[Any] | None = None) -> Decisions:
        """Choose the most probable label, or reject."""
        return decide(posterior, self.loss(column_names(posterior, labels)), labels)


def reject_below(theta: float, name: Label = "reject") -> RejectBelow:
    r"""Make the rule that rejects when the largest probability is below θ.

    It is Chow's rule with reject cost :math:`\lambda = 1 - \theta`: zero-one loss with one more
    act of loss :math:`\lambda` rejects if and only if :math:`\max_k p_k < 1 - \lambda`.

    Parameters
    ----------
    theta
        Threshold between 0 and 1. At most 1/K never rejects; 1 rejects all but certainty.
    name
        Name of the reject act.

    Returns
    -------
    RejectBelow
        Call it with a Posterior, or with an array and ``labels``.

    See Also
    --------
    Loss.with_reject : The same by its cost.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 1.5.3.

    Examples
    --------
    >>> from credo.decisions import reject_below
    >>> reject_below(0.8)([[0.9, 0.1], [0.6, 0.4]], labels=["a", "b"]).acts
    array(['a', 'reject'], dtype='<U6')
    """
    return RejectBelow(check.number(theta, "threshold of reject_below", 0, 1), name)


def likelihood_ratio_threshold(loss: Loss, priors: PerLabel) -> float:
    r"""Return the threshold of the likelihood-ratio test for two truths and two acts.

    The first act is right when

    .. math:: \frac{p(x \mid 0)}{p(x \mid 1)} > T^* =
        \frac{(L_{10} - L_{11})\, \pi_1}{(L_{01} - L_{00})\, \pi_0}

    with :math:`L_{ka}` the loss of act :math:`a` under truth :math:`k`.

    Parameters
    ----------
    loss
        Two truths, two acts; the diagonal need not be zero.
    priors
        Prior of each truth: ``{truth: p}`` or in the order of the loss.

    Returns
    -------
    float
        The threshold. Infinite if the second act is never worse, zero if the first never is.

    Raises
    ------
    InputError
        If the loss is not 2 × 2, or each act suits the other's truth, so that the test would turn
        round.

    See Also
    --------
    likelihood_ratio_test : Apply it.

    References
    ----------
    .. [1] S. M. Kay, *Fundamentals of Statistical Signal Processing: Detection Theory*, 1998,
       section 3.7 (Bayes risk).

    Examples
    --------
    >>> import credo
    >>> from credo.decisions import likelihood_ratio_threshold
    >>> loss = credo.Loss.class_costs({"cancer": 1000, "normal": 1})
    >>> round(likelihood_ratio_threshold(loss, {"cancer": 0.004, "normal": 0.996}), 6)
    0.249
    """
    (l00, l01), (l10, l11) = _two_by_two(loss, "likelihood_ratio_threshold")
    first, second = check.priors(priors, loss.truths, "priors of likelihood_ratio_threshold")
    gain, harm = (l01 - l00) * (first > 0), (l10 - l11) * (second > 0)
    if gain < 0 and harm < 0:
        raise InputError(
            f"likelihood_ratio_threshold: act {loss.acts[0]!r} suits truth {loss.truths[1]!r} and "
            f"{loss.acts[1]!r} suits {loss.truths[0]!r}. List the acts in the order of the truths."
        )
    if gain > 0:  # ratios first: products of small losses and small priors would underflow
        return float(max(harm, 0.0) / gain * (second / first))
    return 0.0 if gain == 0 and harm <= 0 else float("inf")


def likelihood_ratio_test(log_ratio: Any, loss: Loss, priors: PerLabel) -> Decisions:
    r"""Choose between two acts by :math:`\log p(x \mid 0) - \log p(x \mid 1)`.

    Parameters
    ----------
    log_ratio : float or array-like of shape (n,)
        Log-likelihood ratio of the first truth against the second.
    loss
        Two truths, two acts.
    priors
        Prior of each truth: ``{truth: p}`` or in the order of the loss.

    Returns
    -------
    Decisions
        The first act where the ratio exceeds ``likelihood_ratio_threshold(loss, priors)``.

    Notes
    -----
    Time O(n). Computed as ``decide`` on the posterior, so the two agree exactly and the risk comes
    with the act.

    Examples
    --------
    >>> import credo
    >>> from credo.decisions import likelihood_ratio_test
    >>> loss = credo.Loss.zero_one(["signal", "noise"])
    >>> likelihood_ratio_test([-1.0, 2.0], loss, priors=[0.5, 0.5]).acts
    array(['noise', 'signal'], dtype='<U6')
    """
    _two_by_two(loss, "likelihood_ratio_test")
    ratio = check.floats(log_ratio, "log ratio of likelihood_ratio_test")
    prior = check.priors(priors, loss.truths, "priors of likelihood_ratio_test")
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior)
    # min(r, 0) and min(-r, 0) differ by r, and an infinite ratio rules one truth out.
    scores = np.stack([np.minimum(ratio, 0.0), np.minimum(-ratio, 0.0)], axis=-1)
    return decide(Posterior.from_log_joint(scores + log_prior, loss.truths), loss)


def _two_by_two(loss: Loss, who: str) -> list[list[float]]:
    """Return the losses of two acts under two truths."""
    shape = as_loss(loss, who).matrix.shape
    if shape != (2, 2):
        raise InputError(
            f"{who} needs a loss of two truths and two acts, shape (2, 2). Got shape {shape}. Use "
            "credo.decide for more."
        )
    return loss.matrix.tolist()
