"""``Posterior``: immutable, labelled log-probabilities, and the ways to make them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, final

import numpy as np

from credo import _checks as check
from credo._results import SHOWN, Immutable, Share, html_table, number
from credo._types import F64, Int, Label, Labels, PerLabel
from credo.exceptions import InputError, ShapeError
from credo.posterior import prior_shift as _shift


@final
class Posterior(Immutable):
    r"""Hold the probability of each label, for one case or for many rows.

    Stored as normalised log-probabilities :math:`\log p(k \mid x)`, so that a probability of
    1e-300 is as exact as one of 0.3. Immutable.

    Parameters
    ----------
    log_probabilities : array-like of shape (K,) or (n, K)
        Natural logarithms. Each row must sum to one after ``exp``, to six decimals; it is
        then normalised to rounding.
    labels : iterable of K hashable names
        One name per column; they must differ.

    Raises
    ------
    InputError
        If a row does not sum to one or holds NaN (the row is named), or labels repeat.

    See Also
    --------
    credo.decide : The act with the least expected loss.

    Notes
    -----
    Exact up to rounding. Memory 8 n K bytes, and as much again once both probabilities and their
    logarithms were given or asked for.

    Examples
    --------
    >>> import credo, math
    >>> test = credo.Posterior.from_bayes(
    ...     priors={"disease": 0.004, "healthy": 0.996},
    ...     likelihoods={"disease": 0.8, "healthy": 0.1})
    >>> test
    Posterior(disease 0.03113, healthy 0.9689)
    >>> round(test["disease"], 6), round(math.exp(test.log_evidence), 4)
    (0.031128, 0.1028)
    """

    __slots__ = ("_evidence", "_labels", "_log", "_p")
    _evidence: F64 | None  # log p(x), where it was made from log p(x, k)
    _labels: Labels
    _log: F64 | None  # at least one of the two is there
    _p: F64 | None

    def __init__(self, log_probabilities: Any, labels: Iterable[Any]) -> None:
        names, log_p = _labelled(log_probabilities, labels, "log-probabilities")
        with np.errstate(over="ignore"):
            p = np.exp(log_p)
        remedy = "Pass unnormalised scores to Posterior.from_log_joint(...)."
        _check_rows(p, remedy, who="Posterior, after exp")
        self._set(_labels=names, _log=_normalise(log_p), _p=None, _evidence=None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Posterior):
            return NotImplemented
        is_same = np.array_equal(self.log_probabilities, other.log_probabilities)
        return self._labels == other._labels and is_same

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def from_probabilities(
        cls, p: Any, labels: Iterable[Any], *, normalise: bool = False
    ) -> Posterior:
        """Make a posterior from probabilities.

        Parameters
        ----------
        p : array-like of shape (K,) or (n, K)
            Probabilities. Rows must sum to one to six decimals.
        labels : iterable of K hashable names
            One name per column.
        normalise
            Accept rows of non-negative weights with any positive sum, and divide by it.

        Returns
        -------
        Posterior
            With the same rows, each divided by its sum.

        Examples
        --------
        >>> from credo import Posterior
        >>> Posterior.from_probabilities([2, 6], ["spam", "ham"], normalise=True)
        Posterior(spam 0.25, ham 0.75)
        """
        names, array = _labelled(p, labels, "probabilities")
        remedy = "" if normalise else "Pass normalise=True if these are weights."
        _check_rows(array, remedy, normalise=normalise)
        return trusted(names, array / array.sum(axis=-1, keepdims=True))

    @classmethod
    def from_log_joint(cls, log_joint: Any, labels: Iterable[Any]) -> Posterior:
        r"""Make a posterior from unnormalised log scores, :math:`\log p(x, k)`.

        Parameters
        ----------
        log_joint : array-like of shape (K,) or (n, K)
            Any real numbers or minus infinity, but not minus infinity in a whole row.
        labels : iterable of K hashable names
            One name per column.

        Returns
        -------
        Posterior
            ``log_joint`` minus the logarithm of each row's sum of exponentials.

        Examples
        --------
        >>> from credo import Posterior
        >>> Posterior.from_log_joint([-1000.0, -1001.0], ["a", "b"])
        Posterior(a 0.7311, b 0.2689)
        """
        names, scores = _labelled(log_joint, labels, "log scores")
        _check_scores(scores)
        logs = _normalise(scores)
        best = logs.argmax(axis=-1, keepdims=True)
        evidence = (np.take_along_axis(each, best, axis=-1)[..., 0] for each in (scores, logs))
        return trusted(names, None, logs, np.subtract(*evidence))

    @classmethod
    def from_bayes(
        cls, priors: Mapping[Any, float], likelihoods: Mapping[Any, Any], *, log: bool = False
    ) -> Posterior:
        r"""Apply Bayes' rule, :math:`p(k \mid x) \propto p(x \mid k)\, \pi_k`.

        Parameters
        ----------
        priors
            ``{label: prior probability}``; must sum to one.
        likelihoods
            ``{label: p(x | label)}``; each a number, or an array with one entry per case.
        log
            The likelihoods are log-likelihoods.

        Returns
        -------
        Posterior
            In the order of ``priors``.

        References
        ----------
        .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, equation 1.82.

        Examples
        --------
        >>> from scipy.stats import norm
        >>> from credo import Posterior
        >>> height = 2.0
        >>> Posterior.from_bayes({"player": 0.05, "other": 0.95},
        ...     {"player": norm(2.0, 0.1).pdf(height), "other": norm(1.75, 0.1).pdf(height)})
        Posterior(player 0.545, other 0.455)
        """
        prior, likelihood = check.by_name(priors), check.by_name(likelihoods)
        if prior is None or likelihood is None:
            what = "priors" if prior is None else "likelihoods"
            raise InputError(f"Posterior.from_bayes needs the {what} by label, {{label: value}}.")
        names = check.labels(prior, "labels of the priors of Posterior.from_bayes")
        share = check.priors(prior, names, "priors of Posterior.from_bayes")
        values = _likelihood_columns(likelihood, names)
        if not log and (values < 0).any():
            raise InputError(
                f"The likelihoods of Posterior.from_bayes must be at least 0. Got "
                f"{values.min():g}. Pass log=True for log-likelihoods."
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls.from_log_joint((values if log else np.log(values)) + np.log(share), names)

    @classmethod
    def from_frequencies(cls, y: Any, sample_weight: Any = None) -> Posterior:
        """Estimate class priors by frequency.

        Parameters
        ----------
        y : array-like of shape (n,)
            Observed labels.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.

        Returns
        -------
        Posterior
            The share of each label; sorted, or as they come if they cannot be sorted.

        Examples
        --------
        >>> from credo import Posterior
        >>> Posterior.from_frequencies(["other", "player", "other", "other"])
        Posterior(other 0.75, player 0.25)
        """
        names = check.labels(check.distinct(y), "labels of Posterior.from_frequencies")
        index = check.positions(y, names)
        weight = check.weights(sample_weight, len(index))
        counts = np.bincount(index, weights=weight, minlength=len(names))
        return trusted(names, counts / counts.sum())

    @property
    def labels(self) -> Labels:
        """Names of the columns, in order."""
        return self._labels

    @property
    def log_probabilities(self) -> F64:
        """Natural logarithms of the probabilities, read-only, shape (K,) or (n, K)."""
        if self._log is None:
            with np.errstate(divide="ignore"):
                self._set(_log=np.log(self.probabilities))
        return self._log  # type: ignore[return-value]

    @property
    def probabilities(self) -> F64:
        """Probabilities, read-only, shape (K,) or (n, K)."""
        if self._p is None:
            self._set(_p=np.exp(self.log_probabilities))
        return self._p  # type: ignore[return-value]

    @property
    def log_evidence(self) -> Any:
        r"""The log of :math:`p(x) = \sum_k p(x \mid k)\, \pi_k` (per row): Bayes' denominator.

        It is known where the posterior was made by ``from_bayes`` or ``from_log_joint``.
        """
        if self._evidence is None:
            raise InputError(
                "This Posterior was made from probabilities of labels, which do not say how "
                "probable the case was. Make it with from_bayes or from_log_joint."
            )
        return self._each(self._evidence)

    @property
    def _held(self) -> F64:
        """What is there of the two, for its shape."""
        return self._p if self._log is None else self._log  # type: ignore[return-value]

    @property
    def is_single(self) -> bool:
        """Whether this is one case (shape (K,)) and not a table of rows."""
        return self._held.ndim == 1

    @property
    def n_rows(self) -> int:
        """Number of rows; one for a single case."""
        return 1 if self.is_single else len(self._held)

    def rows(self, which: slice | Int | list[int]) -> Posterior:
        """Return the posterior of some rows, given as a slice, a list of row numbers or a mask."""
        if self.is_single:
            raise InputError("This Posterior is a single case; it has no rows to choose from.")
        chosen = _row_numbers(which, self.n_rows)
        held = (self._p, self._log, self._evidence)
        return trusted(self._labels, *(None if x is None else x[chosen] for x in held))

    def __getitem__(self, label: Any) -> Any:
        """Return the probability of ``label``: a number, or one per row."""
        return self._each(self._column(self.probabilities, label))

    def _column(self, held: F64, label: Any) -> Any:
        return held[..., check.position(label, self._labels, holder="Posterior")]

    def _each(self, numbers: Any) -> Any:
        """Return one number per row as it is, and that of a single case as a float."""
        return float(numbers) if self.is_single else numbers

    def mode(self) -> Any:
        """Return the most probable label (per row); ties go to the first."""
        best = self.log_probabilities.argmax(axis=-1)
        return self._labels[int(best)] if self.is_single else check.names_array(self._labels)[best]

    def confidence(self) -> Any:
        """Return the largest probability (per row)."""
        return self._each(self.probabilities.max(axis=-1))

    def entropy(self, base: float | None = None) -> Any:
        r"""Return :math:`-\sum_k p_k \log p_k` (per row), in nats or to the given base."""
        if base is not None and not (base > 0 and base != 1):
            raise InputError(f"The base of Posterior.entropy must be positive, not 1. Got {base}.")
        log_p = self.log_probabilities
        finite = np.where(np.isneginf(log_p), 0.0, log_p)
        nats = np.maximum(0.0, -(self.probabilities * finite).sum(axis=-1))
        return self._each(nats if base is None else nats / np.log(base))

    def log_odds(self, a: Any, b: Any) -> Any:
        r"""Return :math:`\log p_a - \log p_b` (per row); infinite where one of the two is zero.

        Where both are zero the odds are undefined: an InputError names the row.
        """
        top, bottom = (self._column(self.log_probabilities, name) for name in (a, b))
        lost = np.atleast_1d(np.isneginf(top) & np.isneginf(bottom))
        if lost.any():
            where = "" if self.is_single else f" in row {int(lost.argmax())}"
            raise InputError(
                f"Posterior.log_odds: {check.plain(a)!r} and {check.plain(b)!r} both have "
                f"probability 0{where}, so their odds are undefined."
            )
        return self._each(top - bottom)

    def to_dict(self) -> dict[Label, Any]:
        """Return ``{label: probability}``, with a list per label if there are rows."""
        return dict(zip(self._labels, self.probabilities.T.tolist(), strict=True))

    def with_priors(self, old: PerLabel, new: PerLabel | Literal["estimate"]) -> Posterior:
        r"""Correct for priors that differ from those the posterior was made with.

        .. math:: p'(k \mid x) \propto p(k \mid x)\, \pi'_k / \pi_k

        Parameters
        ----------
        old
            Priors behind this posterior: ``{label: p}`` or in label order.
        new
            Priors to change to, or ``"estimate"`` for those of ``estimate_priors(old)``.

        Returns
        -------
        Posterior
            Under the new priors; the class-conditional densities are as before.

        Raises
        ------
        InputError
            If ``old`` is zero for a label with some probability, or a row loses all of it.

        Notes
        -----
        Exact if only the priors changed (no shift of :math:`p(x \mid k)`). Time O(n K).

        References
        ----------
        .. [1] C. Elkan, "The foundations of cost-sensitive learning", IJCAI 2001, theorem 2.

        Examples
        --------
        >>> from credo import Posterior
        >>> balanced = Posterior.from_probabilities([0.9, 0.1], ["fraud", "fair"])
        >>> balanced.with_priors(old=[0.5, 0.5], new={"fraud": 0.01, "fair": 0.99})
        Posterior(fraud 0.08333, fair 0.9167)
        """
        before = _shift.old_priors(old, self.log_probabilities, self._labels)
        if isinstance(new, str) and new == "estimate":
            after = _shift.settled_priors(self.estimate_priors(old))
        else:
            after = check.priors(new, self._labels, "new priors of Posterior.with_priors")
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = np.where(before > 0, np.log(after) - np.log(before), -np.inf)
        return Posterior.from_log_joint(self.log_probabilities + shift, self._labels)

    def estimate_priors(
        self, old: PerLabel, *, tol: float = 1e-8, max_iterations: int = 10_000
    ) -> _shift.PriorEstimate:
        r"""Estimate the priors of unlabelled rows by expectation maximisation.

        The rows' priors :math:`\pi'` maximise
        :math:`\ell(\pi') = \sum_i \log \sum_k p(k \mid x_i)\, \pi'_k / \pi_k`.

        Parameters
        ----------
        old
            Priors behind this posterior.
        tol
            Stop when the log-likelihood is certainly within this of its maximum.
        max_iterations
            Stop after so many steps in any case; ``converged`` then says False.

        Returns
        -------
        PriorEstimate
            New priors, their standard errors and the trace of the log-likelihood, which rises.

        Notes
        -----
        Time O(n K) a step. The log-likelihood is concave: its maximum is the only one, and how far
        away it can be is known at each step.

        References
        ----------
        .. [1] M. Saerens, P. Latinne, C. Decaestecker, "Adjusting the outputs of a classifier to
           new a priori probabilities", Neural Computation 14 (2002), section 2.

        Examples
        --------
        >>> from credo import Posterior
        >>> rows = [[0.95, 0.05]] * 800 + [[0.05, 0.95]] * 200
        >>> estimate = Posterior.from_probabilities(rows, ["a", "b"]).estimate_priors([0.5, 0.5])
        >>> estimate.priors.round(4), estimate.converged
        (array([0.8333, 0.1667]), True)
        """
        if self.is_single or not self.n_rows:
            raise InputError(
                f"Posterior.estimate_priors needs a table of rows; this has {self.n_rows}."
            )
        before = _shift.old_priors(old, self.log_probabilities, self._labels)
        return _shift.estimate_priors(self.probabilities, before, self._labels, tol, max_iterations)

    def __repr__(self) -> str:
        if self.is_single:
            parts = [f"{k} {p:.4g}" for k, p in zip(self._labels, self.probabilities, strict=True)]
            return f"Posterior({', '.join(parts)})"
        return _table_text(self.rows(slice(6)).probabilities, self._labels, self.n_rows)

    def _repr_html_(self) -> str:
        shown = np.atleast_2d(
            self.probabilities if self.is_single else self.rows(slice(SHOWN)).probabilities
        )
        names, known = self._labels, self._evidence is not None
        logs = np.atleast_1d(self.log_evidence)[:SHOWN].tolist() if known else []
        rows = [[str(i), *map(Share, row)] for i, row in enumerate(shown.tolist())]
        for row, log in zip(rows, logs, strict=False):  # none if it is not known
            row.append(number(log))
        return html_table("Posterior", ("row", *names, *(("log p(x)",) * known)), rows, self.n_rows)


def trusted(
    labels: Labels,
    probabilities: F64 | None = None,
    log_probabilities: F64 | None = None,
    log_evidence: F64 | None = None,
) -> Posterior:
    """Return a posterior of parts that are known to be right, unchecked and to the last bit.

    At least one of the first two arrays must be there, and nobody else may write to them.
    """
    parts = {"_p": probabilities, "_log": log_probabilities, "_evidence": log_evidence}
    return Posterior._of(_labels=labels, **parts)  # noqa: SLF001 - of parts that are right


def log_sum_exp(rows: F64) -> F64:
    """Return log Σ exp of each row of a 2-D array; minus infinity for a row of zeros.

    The largest term is taken out of the sum and the rest goes through log1p, so that a rest of
    1e-18 is not lost beside the one.
    """
    best = rows.argmax(axis=1)[:, None]
    top = np.take_along_axis(rows, best, axis=1)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(over="ignore"):
        terms = np.exp(rows - shift)
    np.put_along_axis(terms, best, 0.0, axis=1)
    result: F64 = np.where(np.isfinite(top), shift + np.log1p(terms.sum(axis=1)[:, None]), top)
    return result[:, 0]


def _likelihood_columns(named: Mapping[Any, Any], names: Labels) -> F64:
    """Return the likelihoods with the labels on the last axis, in their order."""
    what = "likelihoods of Posterior.from_bayes"
    order = check.order(names, tuple(check.plain(name) for name in named), what)
    columns = [check.floats(values, what) for values in named.values()]
    try:
        return np.stack(np.broadcast_arrays(*columns), axis=-1)[..., order]
    except ValueError:
        shapes = ", ".join(str(column.shape) for column in columns)
        raise ShapeError(f"The {what} need one entry per case. Got shapes {shapes}.") from None


def _labelled(values: Any, labels: Iterable[Any], what: str) -> tuple[Labels, F64]:
    """Check the labels, and that the numbers have a column for each."""
    names = check.labels(labels, "labels of Posterior")
    check.frame(values, names, "labels of Posterior")
    array = check.floats(values, f"{what} of Posterior")
    check.width(array, names, f"{what} of Posterior")
    return names, array


def _check_rows(p: F64, remedy: str, *, normalise: bool = False, who: str = "Posterior") -> None:
    """Check that a single case, or each row, is a distribution; name the first that is not."""
    first = None if p.ndim == 1 else 0
    check.distributions(np.atleast_2d(p), who, remedy, normalise=normalise, first_row=first)


def _check_scores(scores: F64) -> None:
    """Check that each row of log scores can be normalised; name the first that cannot."""
    tops = np.atleast_1d(scores.max(axis=-1))
    right = np.isfinite(tops)
    if right.all():
        return
    i = int(np.argmin(right))
    where = "the scores hold" if scores.ndim == 1 else f"row {i} holds"
    fault = "minus infinity for every label: the case is impossible under all of them"
    fault = "NaN" if np.isnan(tops[i]) else "plus infinity" if tops[i] > 0 else fault
    raise InputError(f"Posterior.from_log_joint: {where} {fault}.")


def _normalise(scores: F64) -> F64:
    """Return log scores less the log-sum of their row, or of the single case they are."""
    rows = np.atleast_2d(scores)
    return (rows - log_sum_exp(rows)[:, None]).reshape(scores.shape)


def _row_numbers(which: Any, n_rows: int) -> Any:
    """Return a slice, a mask or the numbers of rows after checking that they are there."""
    if isinstance(which, slice):
        return which
    chosen = np.atleast_1d(which) if np.size(which) else np.empty(0, np.intp)
    if chosen.ndim > 1 or chosen.dtype.kind not in "iub":
        raise InputError("Posterior.rows needs a slice, a list of row numbers or a mask.")
    if chosen.dtype.kind == "b":
        if len(chosen) != n_rows:
            n = len(chosen)
            raise InputError(f"Posterior.rows: the mask has {n} entries for {n_rows} rows.")
        return chosen
    odd = chosen[(chosen < -n_rows) | (chosen >= n_rows)]
    if odd.size:
        raise InputError(f"Posterior.rows: there is no row {odd[0]}; there are {n_rows} rows.")
    return chosen


def _table_text(shown: F64, labels: Labels, n_rows: int) -> str:
    """Return the first rows of probabilities under their labels, as text."""
    cells = [[str(label) for label in labels], *([f"{p:.4g}" for p in row] for row in shown)]
    width = max(7, *(len(name) for name in cells[0]))
    lines = [f"Posterior of {n_rows} rows over {len(labels)} labels"]
    lines += ["  ".join(cell.rjust(width) for cell in row) for row in cells]
    more = [f"… {n_rows - len(shown)} more"] if n_rows > len(shown) else []
    return "\n".join(lines + more)
