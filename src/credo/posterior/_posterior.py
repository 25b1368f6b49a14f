"""``Posterior``: immutable, labelled log-probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self, final

import numpy as np

from credo._types import F64, Int, Label, Labels, PerLabel
from credo._validation.arrays import as_floats, frozen
from credo._validation.labels import as_labels, check_frame, names_in, plain, position
from credo._validation.probabilities import as_priors, as_rows, check_width
from credo.exceptions import InputError
from credo.posterior import prior_shift as _shift, rows as _rows
from credo.posterior.bayes import log_joint_of
from credo.posterior.frequencies import frequencies

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
    credo.decide : The act with the least expected loss.

    Notes
    -----
    Exact up to rounding. Memory 8 n K bytes, and as much again for probabilities that were given
    or asked for.

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
        normalisers = _rows.log_sum_exp(rows)
        _rows.check_normalised(rows, normalisers, _OWNER, single=log_p.ndim == 1)
        self._set((rows - normalisers[:, None]).reshape(log_p.shape), names)

    def _set(self, log_p: F64, labels: Labels, probabilities: F64 | None = None) -> Self:
        object.__setattr__(self, "_log", frozen(log_p))
        object.__setattr__(self, "_labels", labels)
        known = None if probabilities is None else frozen(probabilities)
        object.__setattr__(self, "_probabilities", known)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Posterior):
            return NotImplemented
        return self._labels == other._labels and np.array_equal(self._log, other._log)

    __hash__ = None  # type: ignore[assignment]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A Posterior does not change; {name!r} cannot be set.")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._log, self._labels, self._probabilities)

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
        names = as_labels(labels, _OWNER)
        check_frame(p, names, _OWNER)
        array = as_rows(p, names, _OWNER, normalise=normalise)
        rows = array / array.sum(axis=-1, keepdims=True)
        with np.errstate(divide="ignore"):
            log_p = np.log(rows)
        return _restore(log_p, names, rows)

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
        names = as_labels(labels, _OWNER)
        scores = as_floats(log_joint, _OWNER, "log scores")
        check_width(scores, names, _OWNER)
        rows = np.atleast_2d(scores)
        _rows.check_scores(rows, "Posterior.from_log_joint", single=scores.ndim == 1)
        log_p = (rows - _rows.log_sum_exp(rows)[:, None]).reshape(scores.shape)
        return _restore(log_p, names)

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
        return cls.from_log_joint(*log_joint_of(priors, likelihoods, log=log))

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
        return cls.from_probabilities(*frequencies(y, sample_weight), normalise=True)

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
        _rows.check_which(which, len(self._log))
        chosen = None if known is None else np.atleast_2d(known[which])
        return _restore(np.atleast_2d(self._log[which]), self._labels, chosen)

    def __getitem__(self, label: Any) -> Any:
        """Give the probability of ``label``: a number, or one per row."""
        column = self.probabilities[..., position(label, self._labels, _OWNER)]
        return float(column) if self.is_single else column

    def mode(self) -> Any:
        """Give the most probable label (per row); ties go to the first."""
        best = self._log.argmax(axis=-1)
        return self._labels[int(best)] if self.is_single else names_in(self._labels)[best]

    def confidence(self) -> Any:
        """Give the largest probability (per row)."""
        best = self.probabilities.max(axis=-1)
        return float(best) if self.is_single else best

    def entropy(self, base: float | None = None) -> Any:
        r"""Give :math:`-\sum_k p_k \log p_k` (per row), in nats or to the given base."""
        if base is not None and not (base > 0 and base != 1):
            raise InputError(f"The base of Posterior.entropy must be positive, not 1. Got {base}.")
        finite = np.where(np.isneginf(self._log), 0.0, self._log)
        nats = np.maximum(0.0, -(self.probabilities * finite).sum(axis=-1))
        result = nats if base is None else nats / np.log(base)
        return float(result) if self.is_single else result

    def log_odds(self, a: Any, b: Any) -> Any:
        r"""Give :math:`\log p_a - \log p_b` (per row); infinite where one of the two is zero.

        Where both are zero the odds are undefined: an InputError names the row.
        """
        top, bottom = (self._log[..., position(name, self._labels, _OWNER)] for name in (a, b))
        _rows.check_odds(top, bottom, f"{plain(a)!r} and {plain(b)!r}")
        odds = top - bottom
        return float(odds) if self.is_single else odds

    def to_dict(self) -> dict[Label, Any]:
        """Give ``{label: probability}``, with a list per label if there are rows."""
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
        before = _shift.old_priors(old, self._log, self._labels)
        after = (
            _shift.converged_priors(self.estimate_priors(old))
            if isinstance(new, str) and new == "estimate"
            else as_priors(new, self._labels, "Posterior.with_priors", "new priors")
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = np.where(before > 0, np.log(after) - np.log(before), -np.inf)
        return Posterior.from_log_joint(self._log + shift, self._labels)

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
        before = _shift.old_priors(old, self._log, self._labels)
        return _shift.estimate_priors(self.probabilities, before, self._labels, tol, max_iterations)

    def __repr__(self) -> str:
        if self.is_single:
            parts = [f"{k} {p:.4g}" for k, p in zip(self._labels, self.probabilities, strict=True)]
            return f"Posterior({', '.join(parts)})"
        return _rows.table_text(np.exp(self._log[:6]), self._labels, self.n_rows)


def _restore(log_p: F64, labels: Labels, probabilities: F64 | None = None) -> Posterior:
    """Make a posterior from parts that are known to be right, to the last bit."""
    return Posterior.__new__(Posterior)._set(log_p, labels, probabilities)  # noqa: SLF001
