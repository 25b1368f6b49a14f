"""``Posterior``: immutable, labelled log-probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self, final

import numpy as np
from scipy.special import xlogy

from credo._types import F64, Int, Label, Labels, PerLabel
from credo._validation.arrays import as_floats, frozen
from credo._validation.labels import as_labels, plain, position
from credo._validation.probabilities import as_priors, as_rows, check_width, row_error, wrong_rows
from credo.exceptions import InputError
from credo.posterior.prior_shift import PriorEstimate, estimate_priors

_OWNER = "Posterior"


@final
class Posterior:
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
    Posterior.from_probabilities : The same from probabilities.
    Posterior.from_bayes : Bayes' rule from priors and likelihoods.
    credo.decide : The act with the least expected loss.

    Notes
    -----
    Exact up to rounding. Memory 8 n K bytes, twice that once ``probabilities`` has been asked for.

    Examples
    --------
    >>> import credo
    >>> test = credo.Posterior.from_bayes(
    ...     priors={"disease": 0.004, "healthy": 0.996},
    ...     likelihoods={"disease": 0.8, "healthy": 0.1})
    >>> test
    Posterior(disease 0.03113, healthy 0.9689)
    >>> round(test["disease"], 6)
    0.031128
    >>> test.mode()
    'healthy'
    """

    __slots__ = ("_labels", "_log", "_probabilities")
    _labels: Labels
    _log: F64
    _probabilities: F64 | None

    def __init__(self, log_probabilities: Any, labels: Iterable[Any]) -> None:
        names = as_labels(labels, _OWNER)
        log_p = as_floats(log_probabilities, _OWNER, "log-probabilities")
        check_width(log_p, names, _OWNER)
        rows = np.atleast_2d(log_p)
        normalisers = log_sum_exp(rows)
        with np.errstate(over="ignore"):
            totals = np.exp(normalisers)
        bad = wrong_rows(totals, len(names))
        if bad.size:
            number = None if log_p.ndim == 1 else int(bad[0])
            with np.errstate(over="ignore"):
                message = row_error(np.exp(rows[bad[0]]), f"{_OWNER}(log_probabilities)", number)
            raise InputError(message.replace("Pass normalise=True if these are weights.", _SCORES))
        self._set((rows - normalisers[:, None]).reshape(log_p.shape), names)

    def _set(self, log_p: F64, labels: Labels, probabilities: F64 | None = None) -> Self:
        object.__setattr__(self, "_log", frozen(log_p))
        object.__setattr__(self, "_labels", labels)
        object.__setattr__(
            self, "_probabilities", None if probabilities is None else frozen(probabilities)
        )
        return self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A Posterior does not change; {name!r} cannot be set.")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._log, self._labels, self._probabilities)

    # --- other ways to make one -------------------------------------------------------------

    @classmethod
    def from_probabilities(cls, p: Any, labels: Iterable[Any], *, normalise: bool = False) -> Self:
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
        >>> Posterior.from_probabilities([0.2, 0.8], ["spam", "ham"]).mode()
        'ham'
        >>> Posterior.from_probabilities([2, 6], ["spam", "ham"], normalise=True)
        Posterior(spam 0.25, ham 0.75)
        """
        names = as_labels(labels, _OWNER)
        array = as_rows(p, names, _OWNER, normalise=normalise)
        rows = array / array.sum(axis=-1, keepdims=True)
        with np.errstate(divide="ignore"):
            log_p = np.log(rows)
        return cls.__new__(cls)._set(log_p, names, rows)  # noqa: SLF001

    @classmethod
    def from_log_joint(cls, log_joint: Any, labels: Iterable[Any]) -> Self:
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
        names = as_labels(labels, _OWNER)
        scores = as_floats(log_joint, _OWNER, "log scores")
        check_width(scores, names, _OWNER)
        rows = np.atleast_2d(scores)
        bad = np.flatnonzero(~np.isfinite(rows.max(axis=1)))
        if bad.size:
            row = rows[bad[0]]
            fault = (
                "NaN"
                if np.isnan(row).any()
                else "plus infinity"
                if row.max() > 0
                else "minus infinity for every label: the case is impossible under all of them"
            )
            where = "the scores hold" if scores.ndim == 1 else f"row {bad[0]} holds"
            raise InputError(f"Posterior.from_log_joint: {where} {fault}.")
        log_p = (rows - log_sum_exp(rows)[:, None]).reshape(scores.shape)
        return cls.__new__(cls)._set(log_p, names)  # noqa: SLF001

    @classmethod
    def from_bayes(
        cls, priors: Mapping[Any, float], likelihoods: Mapping[Any, Any], *, log: bool = False
    ) -> Self:
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
        names = as_labels(priors, _OWNER)
        prior = as_priors(priors, names, "Posterior.from_bayes")
        given = as_labels(likelihoods, "Posterior.from_bayes", "likelihoods")
        columns = [
            as_floats(likelihoods[given[position(name, given, "likelihoods")]], _OWNER, "values")
            for name in names
        ]
        if len(given) > len(names):
            position(next(n for n in given if n not in names), names, "priors")
        values = np.stack(np.broadcast_arrays(*columns), axis=-1)
        if not log and (values < 0).any():
            raise InputError(
                "Posterior.from_bayes: likelihoods must be at least 0. Got "
                f"{values.min():g}. Pass log=True for log-likelihoods."
            )
        with np.errstate(divide="ignore"):
            log_joint = (values if log else np.log(values)) + np.log(prior)
        return cls.from_log_joint(log_joint, names)

    @classmethod
    def from_frequencies(cls, y: Any, sample_weight: Any = None) -> Self:
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
            The share of each label, labels in sorted order.

        Examples
        --------
        >>> from credo import Posterior
        >>> Posterior.from_frequencies(["other", "player", "other", "other"])
        Posterior(other 0.75, player 0.25)
        """
        labels, index = np.unique(np.asarray(y), return_inverse=True)
        counts = np.bincount(index.ravel(), weights=sample_weight, minlength=len(labels))
        return cls.from_probabilities(counts, labels, normalise=True)

    # --- looking inside ---------------------------------------------------------------------

    @property
    def labels(self) -> Labels:
        """Names of the columns, in order."""
        return self._labels

    @property
    def log_probabilities(self) -> F64:
        """Natural logarithms of the probabilities, read-only, shape (K,) or (n, K)."""
        return self._log

    @property
    def probabilities(self) -> F64:
        """Probabilities, read-only, shape (K,) or (n, K)."""
        known = self._probabilities
        if known is None:
            known = frozen(np.exp(self._log))
            object.__setattr__(self, "_probabilities", known)
        return known

    @property
    def is_single(self) -> bool:
        """Whether this is one case (shape (K,)) and not a table of rows."""
        return self._log.ndim == 1

    @property
    def n_rows(self) -> int:
        """Number of rows; one for a single case."""
        return 1 if self.is_single else len(self._log)

    def rows(self, which: slice | Int | list[int]) -> Posterior:
        """Give the posterior of some rows, as a slice or a list of row numbers."""
        if self.is_single:
            raise InputError("This Posterior is a single case; it has no rows to choose from.")
        known = self._probabilities
        return Posterior.__new__(Posterior)._set(  # noqa: SLF001
            np.atleast_2d(self._log[which]),
            self._labels,
            None if known is None else np.atleast_2d(known[which]),
        )

    def __getitem__(self, label: Any) -> Any:
        """Give the probability of ``label``: a number, or one per row."""
        column = self.probabilities[..., position(label, self._labels, _OWNER)]
        return float(column) if self.is_single else column

    def mode(self) -> Any:
        """Give the most probable label (per row); ties go to the first."""
        best = self._log.argmax(axis=-1)
        return self._labels[int(best)] if self.is_single else label_array(self._labels)[best]

    def confidence(self) -> Any:
        """Give the largest probability (per row)."""
        best = np.exp(self._log.max(axis=-1))
        return float(best) if self.is_single else best

    def entropy(self, base: float | None = None) -> Any:
        r"""Give :math:`-\sum_k p_k \log p_k` (per row), in nats or to the given base."""
        p = self.probabilities
        nats = np.maximum(0.0, -xlogy(p, p).sum(axis=-1))
        result = nats if base is None else nats / np.log(base)
        return float(result) if self.is_single else result

    def log_odds(self, a: Any, b: Any) -> Any:
        r"""Give :math:`\log p_a - \log p_b` (per row); infinite where one of the two is zero.

        Raises
        ------
        InputError
            If both probabilities are zero: the odds are undefined. The row is named.
        """
        top, bottom = (self._log[..., position(name, self._labels, _OWNER)] for name in (a, b))
        lost = np.flatnonzero(np.isneginf(np.atleast_1d(top)) & np.isneginf(np.atleast_1d(bottom)))
        if lost.size:
            where = "" if self.is_single else f" in row {lost[0]}"
            raise InputError(
                f"Posterior.log_odds: {plain(a)!r} and {plain(b)!r} both have probability 0"
                f"{where}, so their odds are undefined."
            )
        odds = top - bottom
        return float(odds) if self.is_single else odds

    def to_dict(self) -> dict[Label, Any]:
        """Give ``{label: probability}``, with a list per label if there are rows."""
        return dict(zip(self._labels, self.probabilities.T.tolist(), strict=True))

    # --- other priors -----------------------------------------------------------------------

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

        See Also
        --------
        Posterior.estimate_priors : New priors from unlabelled rows.

        Notes
        -----
        Exact if only the priors changed (no shift of :math:`p(x \mid k)`). Time O(n K).

        References
        ----------
        .. [1] C. Elkan, "The foundations of cost-sensitive learning", IJCAI 2001, theorem 2.

        Examples
        --------
        A model trained on balanced data, used where one case in a hundred is a fraud:

        >>> from credo import Posterior
        >>> balanced = Posterior.from_probabilities([0.9, 0.1], ["fraud", "fair"])
        >>> balanced.with_priors(old=[0.5, 0.5], new={"fraud": 0.01, "fair": 0.99})
        Posterior(fraud 0.08333, fair 0.9167)
        """
        before = self._old_priors(old)
        after = (
            self.estimate_priors(old).priors
            if isinstance(new, str) and new == "estimate"
            else as_priors(new, self._labels, "Posterior.with_priors", "new priors")
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = np.where(before > 0, np.log(after) - np.log(before), -np.inf)
        return Posterior.from_log_joint(self._log + shift, self._labels)

    def estimate_priors(
        self, old: PerLabel, *, tol: float = 1e-10, max_iterations: int = 10_000
    ) -> PriorEstimate:
        r"""Estimate the priors of unlabelled rows by expectation maximisation.

        The rows' priors :math:`\pi'` maximise
        :math:`\ell(\pi') = \sum_i \log \sum_k p(k \mid x_i)\, \pi'_k / \pi_k`.

        Parameters
        ----------
        old
            Priors behind this posterior.
        tol
            Stop when no prior moves by more than this.
        max_iterations
            Stop after so many steps in any case; ``converged`` then says False.

        Returns
        -------
        PriorEstimate
            New priors, their standard errors and the log-likelihood trace, which never falls.

        Notes
        -----
        Time O(n K) a step. The log-likelihood is concave, so the maximum found is the only one.

        References
        ----------
        .. [1] M. Saerens, P. Latinne, C. Decaestecker, "Adjusting the outputs of a classifier to
           new a priori probabilities", Neural Computation 14 (2002), section 2.

        Examples
        --------
        >>> import numpy as np
        >>> from credo import Posterior
        >>> rows = np.repeat([[0.95, 0.05], [0.05, 0.95]], [800, 200], axis=0)
        >>> estimate = Posterior.from_probabilities(rows, ["a", "b"]).estimate_priors([0.5, 0.5])
        >>> estimate.priors.round(4), estimate.converged
        (array([0.8333, 0.1667]), True)
        """
        if self.is_single:
            raise InputError(
                "Posterior.estimate_priors needs a table of rows; this is a single case."
            )
        before = self._old_priors(old)
        return estimate_priors(self.probabilities, before, self._labels, tol, max_iterations)

    def _old_priors(self, old: PerLabel) -> F64:
        before = as_priors(old, self._labels, _OWNER, "old priors")
        for k in np.flatnonzero(before == 0):
            if np.isfinite(self._log[..., k]).any():
                raise InputError(
                    f"Posterior: the old prior of {self._labels[k]!r} is 0, yet the posterior "
                    "gives it some probability. Pass the priors the posterior was made with."
                )
        return before

    # --- printing ---------------------------------------------------------------------------

    def __repr__(self) -> str:
        if self.is_single:
            parts = [f"{k} {p:.4g}" for k, p in zip(self._labels, self.probabilities, strict=True)]
            return f"Posterior({', '.join(parts)})"
        head = f"Posterior of {self.n_rows} rows over {len(self._labels)} labels"
        shown = [str(label) for label in self._labels]
        width = max(7, *(len(text) for text in shown))
        lines = ["  ".join(text.rjust(width) for text in shown)]
        lines += [
            "  ".join(f"{value:.4g}".rjust(width) for value in row) for row in np.exp(self._log[:6])
        ]
        more = [f"… {self.n_rows - 6} more"] if self.n_rows > 6 else []
        return "\n".join([head, *lines, *more])


def _restore(log_p: F64, labels: Labels, probabilities: F64 | None) -> Posterior:
    """Make the same posterior again, to the last bit, for copies."""
    return Posterior.__new__(Posterior)._set(log_p, labels, probabilities)  # noqa: SLF001


_SCORES = "Pass unnormalised scores to Posterior.from_log_joint(...)."


def log_sum_exp(rows: F64) -> F64:
    """Give log Σ exp of each row of a 2-D array; minus infinity for a row of zeros.

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


def label_array(labels: Labels) -> Any:
    """Make an array of labels that can be indexed by position; text and numbers keep their type."""
    kinds = {type(label) for label in labels}
    if len(kinds) == 1 and kinds <= {str, int, float, bool}:
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array
