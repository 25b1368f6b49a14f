"""``GaussianClassifier``: one Gaussian per class, of seven covariance shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import scipy
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from credo import _checks as check
from credo._types import F64, Int, Label, PerLabel, RandomState
from credo.classifiers._base import (
    Blocks,
    GenerativeClassifier,
    LearnsFromSummary,
    log_totals,
    note_columns,
    prior_probabilities,
    read_numbers,
    refuse_priors,
    room_for_covariances,
)
from credo.classifiers.modes import ClassModes, check_modes
from credo.classifiers.summary import ClassSummary, labelled_rows
from credo.decisions import Loss, Regions, regions
from credo.exceptions import InputError, ShapeError, SingularWarning
from credo.families import Gaussian, MultivariateGaussian
from credo.families.boundary import Hyperplane, Quadric, boundary_between
from credo.families.class_gaussians import (
    LINEAR,
    WITH_CORRELATIONS,
    ClassGaussians,
    Conditional,
    Kind,
    Shape,
    refuse_far,
    refuse_infinite,
)
from credo.families.covariances import (
    GaussianFit,
    Names,
    Recipe,
    Shrinkage,
    check_spread,
    checked_shape,
    detail_for,
    estimate,
    n_parameters_of,
)
from credo.families.em import fit_missing
from credo.families.moments import ClassMoments, Detail, Rows
from credo.families.subspace import Projection

_OWNER = "GaussianClassifier"
#: Called with the step and the log-likelihood so far.
Progress = Callable[[int, float], None]


class GaussianModel(LearnsFromSummary):
    """Base of Gaussian classifiers and regressors: their parameters, and what they warn of."""

    kind = "numbers"
    #: Shape of the covariances, of models that do not let it be chosen.
    covariance: Shape = "tied"
    shrinkage: Any
    singular: Any
    tol: Any
    max_iter: Any
    progress: Any

    def _recipe(self) -> Recipe:
        """Check the parameters."""
        owner, progress = type(self).__name__, self.progress
        shape = checked_shape(self.covariance, owner)
        check.one_of(self.singular, ("repair", "error"), f"singular of {owner}")
        if progress is not None and not callable(progress):
            raise InputError(f"The progress of {owner} must be None or callable. Got {progress!r}.")
        return Recipe(
            shape,
            _shrinkage(self.shrinkage, shape, owner),
            self.singular == "repair",
            _number(self.tol, f"tol of {owner}"),
            check.count(self.max_iter, f"max_iter of {owner}"),
            progress,
        )

    def _rows(self, X: Any) -> Any:
        """Check rows to predict."""
        self._check_ready()
        rows = read_numbers(X, type(self).__name__)
        note_columns(self, X, reset=False)
        return rows

    def _check_parameters(self, seen: Sequence[Label] | None = None) -> None:
        recipe = self._recipe()
        if seen is not None and isinstance(recipe.shrinkage, str) and recipe.shrinkage == "auto":
            raise InputError(
                f"{type(self).__name__}: shrinkage='auto' (Ledoit-Wolf) needs fourth moments of "
                "all rows, which a summary does not give. For streams, tables and merging pass "
                "shrinkage='oas', which needs second moments only, or a number."
            )

    def _fit_missing(self, rows: Rows, names: Names) -> GaussianFit:
        """Fit rows with NaN, by EM; OAS stands in for Ledoit-Wolf, which has no fourth moments."""
        recipe = self._recipe()
        if isinstance(recipe.shrinkage, str):
            recipe = replace(recipe, shrinkage="oas")
        fit = fit_missing(rows, recipe, names)
        self._warn_unless(fit.converged)
        return fit

    def _warn_unless(self, converged: bool) -> None:  # noqa: FBT001 - what EM says
        if not converged:
            check.warn(
                f"{type(self).__name__}: EM stopped after max_iter={self.max_iter} steps before "
                f"the log-likelihood settled to tol={self.tol:g}. Raise max_iter or tol.",
                ConvergenceWarning,
            )


def _number(value: Any, what: str, most: float = np.inf) -> float:
    """Check a number that is at least zero, and no boolean."""
    if isinstance(value, (bool, np.bool_, str)):
        raise InputError(f"The {what} must be a number, at least 0. Got {value!r}.")
    return check.number(value, what, 0, most)


def _shrinkage(value: Any, shape: Shape, owner: str) -> Shrinkage:
    """Check the shrinkage; none at all is zero."""
    if isinstance(value, str) and value not in ("auto", "oas"):
        raise InputError(
            f"The shrinkage of {owner} must be None, 'auto', 'oas' or a number between 0 and 1. "
            f"Got {value!r}."
        )
    is_word = isinstance(value, str)
    if value is None or (not is_word and not _number(value, f"shrinkage of {owner}", 1)):
        return None
    if shape not in WITH_CORRELATIONS:
        raise InputError(
            f"{owner}: shrinkage moves correlations towards zero, and covariance={shape!r} has "
            "none. Pass shrinkage=None, or another covariance."
        )
    found: Shrinkage = value if is_word else float(value)
    return found


def _subspace(value: Any, owner: str) -> float | None:
    """Check the subspace: a number of components, or a share of the variance."""
    if isinstance(value, (bool, np.bool_, str)):
        raise InputError(f"The subspace of {owner} must be None or a number. Got {value!r}.")
    if isinstance(value, (int, np.integer)):
        return check.count(int(value), f"subspace of {owner}")
    if value is None:
        return None
    return check.level(value, f"subspace (if not a whole number) of {owner}")


def _streams(classifier: Any) -> bool:
    """Offer partial_fit unless the shrinkage needs all rows at once."""
    if isinstance(classifier.shrinkage, str) and classifier.shrinkage == "auto":
        raise AttributeError(
            f"{_OWNER}.partial_fit: shrinkage='auto' (Ledoit-Wolf) needs all rows at once. For a "
            "stream pass shrinkage='oas', which needs second moments only, or a number."
        )
    return True


def _projects(classifier: Any) -> bool:
    """Offer Fisher's projection if the classes share a covariance."""
    if checked_shape(classifier.covariance, _OWNER) in LINEAR:
        return True
    raise AttributeError(
        f"{_OWNER}: Fisher's projection needs one covariance that all classes share, and "
        f"covariance={classifier.covariance!r} has one for each. Use covariance='tied'."
    )


class GaussianDensities(GaussianModel, GenerativeClassifier):
    """Base of classifiers whose densities are Gaussians, or mixtures of them.

    A subclass says with ``_show`` what a fit learned, and which class each Gaussian is of in
    ``_owners``.
    """

    _fitted: Any
    _model: ClassGaussians
    #: What rows are projected on; None if they are not.
    _projection: Projection | None = None

    def _read(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Rows, Any]:
        if reset:
            self._forget("schema_")
        owner, rows = type(self).__name__, read_numbers(X, type(self).__name__)
        note_columns(self, X, y, reset=reset)
        return labelled_rows(rows, y, sample_weight, owner)

    def _names(self, classes: Any, owner: str) -> Names:
        """Return what classes and features are called."""
        columns = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        labels = check.labels(classes, f"classes of {owner}")
        return Names(owner, labels, check.labels(columns, f"columns of {owner}"))

    def _show(self, fitted: Any, classes: Any, summary: ClassSummary | None) -> None:
        """Keep a fit and show what it learned."""
        self._fitted, self._model, self._problem = fitted, fitted.model, None
        self.classes_, self.summary_ = classes, summary
        self.means_, self.covariances_ = fitted.model.means, fitted.model.covariances
        self.constant_features_ = ~fitted.model.active
        self.n_parameters_ = n_parameters_of(fitted.model)
        self.converged_, self.n_iter_ = fitted.converged, max(1, len(fitted.trace) - 1)

    def _set_priors(self) -> Self:
        fitted, owner = self._fitted, type(self).__name__
        self.priors_ = prior_probabilities(self.priors, self.classes_, fitted.weights, owner)
        with np.errstate(invalid="ignore"):
            shares = np.where(fitted.weights > 0, fitted.weights * self._log_priors(), 0.0).sum()
        self._forget("log_likelihood_", "log_likelihood_trace_")
        if len(fitted.trace):  # parameters that were given have seen no rows
            self.log_likelihood_trace_ = fitted.trace + shares
            self.log_likelihood_ = float(self.log_likelihood_trace_[-1])
        return self

    def _weights_of(self, label: Label | None, method: str = "sample") -> F64:
        """Return the probability of each Gaussian, or that within a class."""
        return self._shares_of(label, method)

    def sample(
        self, n: int = 1, random_state: RandomState = None, *, label: Label | None = None
    ) -> tuple[F64, Any]:
        """Draw synthetic rows and their labels.

        Parameters
        ----------
        n : int
            How many.
        random_state : int, Generator or None
            Seed.
        label : label, optional
            Draw rows of this class only.

        Returns
        -------
        X : ndarray of shape (n, D)
            Rows; they lie in the subspace if there is one.
        y : ndarray of shape (n,)
            Labels, drawn by the priors.
        """
        self._check_ready()
        owner = f"{type(self).__name__}.sample"
        size = check.count(n, f"n of {owner}")
        rng = check.generator(random_state, f"random_state of {owner}")
        rows, drawn = self._model.sample(self._weights_of(label), size, rng)
        if self._projection is not None:
            rows = rows @ self._projection.components + self._projection.centre
        return rows, self._labels_of(drawn)

    def _labels_of(self, drawn: Int) -> Any:
        """Return the class of each Gaussian."""
        return self.classes_[drawn]

    def conditional(self, X: Any, label: Label | None = None) -> Conditional:
        """Return mean and covariance of missing features given the observed ones.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, NaN where missing.
        label : label, optional
            Class to condition on; by default the classes are mixed by the posterior of each row.

        Returns
        -------
        Conditional
            With ``mean`` (n, D) and ``covariance`` (n, D, D), zero where observed.
        """
        rows = self._rows(X)
        covariance = room_for_covariances(
            len(rows), rows.shape[1], f"{type(self).__name__}.conditional"
        )
        return Conditional(self._filled(rows, label, "conditional", covariance), covariance)

    def impute(self, X: Any, label: Label | None = None) -> F64:
        """Replace missing entries by their expected values given the observed ones.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, NaN where missing.
        label : label, optional
            Class to condition on; by default the classes are mixed by the posterior of each row.

        Returns
        -------
        ndarray of shape (n, D)
            A copy without NaN.
        """
        return self._filled(self._rows(X), label, "impute")

    def _filled(
        self, rows: Any, label: Label | None, method: str, covariance: F64 | None = None
    ) -> F64:
        """Return rows with missing entries by their mean over some classes; add its covariance."""
        self._refuse_subspace(method)
        weights = self._weights_of(label, method)
        classes = np.flatnonzero(weights > 0)
        logs = np.log(weights[classes])
        result = np.array(rows, dtype=np.float64)
        for block in check.blocks(len(rows), check.block_rows(rows.shape[1] * len(classes))):
            refuse_infinite(result[block], np.arange(block.start, block.stop))
            lacking = block.start + np.flatnonzero(np.isnan(result[block]).any(axis=1))
            x = result[lacking]
            shares = self._posteriors(x, classes, logs, lacking)
            fillings, more = np.empty((len(classes), *x.shape)), []
            for i, k in enumerate(classes.tolist()):
                for part, values, columns, spread, _ in self._model.filled(x, k):
                    fillings[i, part] = values
                    more.append((part, columns, shares[i, part, None, None] * spread))
            mean = (shares[:, :, None] * fillings).sum(axis=0)
            result[lacking] = np.where(np.isnan(x), mean, x)
            if covariance is None:
                continue
            gaps = fillings - result[lacking]
            covariance[lacking] = np.einsum("cn,cni,cnj->nij", shares, gaps, gaps)
            for part, columns, spread in more:
                where = lacking[part][:, None, None], columns[:, :, None], columns[:, None, :]
                covariance[where] += spread
        return result

    def _refuse_subspace(self, method: str) -> None:
        if self._projection is not None:
            owner = f"{type(self).__name__}.{method}"
            raise InputError(f"{owner} is about features, and this model is of a subspace.")

    def _draw_like(
        self, rows: Any, size: int, rng: np.random.Generator
    ) -> Iterator[tuple[Int, F64]]:
        drawn = self.sample(size, rng)[0]
        patterns, which = np.unique(np.isnan(rows), axis=0, return_inverse=True)
        for i, hidden in enumerate(patterns):
            yield np.flatnonzero(which.ravel() == i), np.where(hidden, np.nan, drawn)

    def _posteriors(self, x: F64, classes: Int, logs: F64, numbers: Int) -> F64:
        """Return the posterior of some Gaussians by what is observed of rows, (C, n)."""
        if len(classes) == 1:
            return np.ones((1, len(x)))
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._model.scores_of_observed(x, "discriminants")[classes]
        refuse_far(scores, numbers)
        scores += logs[:, None]
        return np.asarray(np.exp(scores - log_totals(scores)))


class GaussianClassifier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GaussianDensities):
    r"""Classify with one Gaussian per class; missing values are marginalised.

    .. math:: p(k \mid x) \propto \pi_k\, \mathcal{N}(x \mid \mu_k, \Sigma_k)

    The covariances are ``"full"`` (quadratic discriminant analysis), ``"tied"``
    (:math:`\Sigma_k = \Sigma`, linear discriminant analysis), ``"diagonal"`` (Gaussian naive
    Bayes), ``"tied_diagonal"``, ``"spherical"`` (:math:`\sigma_k^2 I`), ``"tied_spherical"`` or
    ``"proportional"`` (:math:`\Sigma_k = \alpha_k \Sigma`). All estimates are maximum likelihood,
    scatter divided by N. Priors move the log-prior only, never a covariance.

    Parameters
    ----------
    covariance : str
        One of the seven shapes. ``"qda"`` is ``"full"``, ``"lda"`` is ``"tied"``, and ``"gnb"``
        (Gaussian naive Bayes) is ``"diagonal"``.
    shrinkage : None, "auto", "oas" or float
        Amount λ in :math:`(1 - \lambda) \Sigma + \lambda \operatorname{diag}(\Sigma)`: the
        correlations shrink and the variances stay, so units do not matter. ``"auto"`` is Ledoit
        and Wolf's amount on standardised features, ``"oas"`` that of Chen et al., which needs
        second moments only: it works with summaries, and stands in for ``"auto"`` if rows have
        missing values. For ``"full"``, ``"tied"`` and ``"proportional"``.
    singular : {"repair", "error"}
        What to do about a covariance that is not positive definite. ``"repair"`` warns with the
        class and the columns: a feature that is constant in a class of n rows gets a share of its
        pooled variance, 1 / (n + 1); then correlations that are still singular shrink by the OAS
        amount; a feature that is constant in all rows is left out without a warning. ``"error"``
        refuses all of these, with the same names and the remedies.
    subspace : None, int or float
        Model the first principal components of all rows instead of the features: so many
        of them, or as many as explain this share of the variance.
    priors : None, "uniform", array-like or mapping from label
        Class probabilities; None for the frequencies, weighted.
    tol : float
        EM, for rows with missing values, stops when the log-likelihood per row gains less.
    max_iter : int
        Most steps of EM.
    progress : callable, optional
        Called with the step and the log-likelihood at each step of EM.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels, sorted.
    priors_ : ndarray of shape (K,)
        Probability of each class.
    means_ : ndarray of shape (K, D)
        Mean of each class.
    covariances_ : ndarray
        (K, D, D), (D, D), (K, D), (D,), (K,) or () by the shape; the shared Σ if proportional.
    proportions_ : ndarray of shape (K,)
        Factors α of ``"proportional"``, with weighted geometric mean 1.
    shrinkage_ : float or ndarray of shape (K,)
        Amount used: one per class if ``"full"``.
    coef_, intercept_ : ndarray
        Of the linear shapes: ``X @ coef_.T + intercept_`` are scores whose softmax is the
        posterior; for two classes one row, the log odds of the second.
    explained_variance_ratio_ : ndarray of shape (R,)
        Of the linear shapes: the part of the spread between the means that each column of
        ``transform`` has, largest first; they sum to one.
    components_ : ndarray of shape (Q, D)
        Principal components if ``subspace`` is given; means and covariances are then theirs.
    constant_features_ : ndarray of shape (D,)
        True for features with a single value in all rows; they are ignored.
    n_parameters_ : int
        Numbers in the model: priors, means and covariances.
    log_likelihood_ : float
        :math:`\sum_i w_i \log p(x_i, y_i)` of the rows it was fitted on.
    log_likelihood_trace_ : ndarray
        The same before each step of EM and after the last; it never falls unless covariances
        are shrunk or repaired.
    converged_ : bool
        False if EM stopped at ``max_iter``.
    n_iter_ : int
        Steps of EM; 1 if it was closed form.
    summary_ : ClassSummary or None
        What ``partial_fit`` and ``merge`` continue from; None after EM.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    credo.summarise : Summarise rows once, fit any covariance from it.
    credo.decide : Act on ``posterior(X)`` under a loss.

    Notes
    -----
    Exact but for rounding, also with missing values (NaN): predicting marginalises them, which
    for a Gaussian drops rows and columns of the covariance; fitting maximises the likelihood of
    what was observed, by EM if features are correlated. Both assume that values are missing at
    random.
    Fitting costs O(N D²), or O(N D) without correlations, plus O(K D³), and never copies more
    than a block of the rows. Rank is decided on the correlation scale. Rows of weight zero count
    as absent. Units change no answer; a column whose variance float64 cannot hold to full
    precision, of deviations below 1.5e-154 or above about 1e150, is refused by name.

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani and J. Friedman, *The Elements of Statistical Learning*,
       2nd ed., 2009, section 4.3.
    .. [2] R. J. A. Little and D. B. Rubin, *Statistical Analysis with Missing Data*, 2nd ed.,
       2002, section 11.2.

    Examples
    --------
    >>> import credo, numpy as np
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = credo.GaussianClassifier(covariance="tied").fit(X, y)
    >>> model.predict_proba([[5.8, np.nan, 4.9, np.nan]]).round(3)
    array([[0.   , 0.111, 0.889]])
    >>> model.with_priors([0.05, 0.9, 0.05]).predict([[5.8, np.nan, 4.9, np.nan]])
    array([1])
    """

    command = "gaussian"
    Summary = ClassSummary
    Fitted = GaussianFit

    def __init__(  # noqa: PLR0913 - one per option, all but the first by name
        self,
        covariance: Shape = "full",
        *,
        shrinkage: float | Literal["auto", "oas"] | None = None,
        singular: Literal["repair", "error"] = "repair",
        subspace: float | None = None,
        priors: PerLabel | Literal["uniform"] | None = None,
        tol: float = 1e-9,
        max_iter: int = 1000,
        progress: Progress | None = None,
    ) -> None:
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.singular = singular
        self.subspace: Any = subspace
        self.priors = priors
        self.tol = tol
        self.max_iter = max_iter
        self.progress = progress

    @classmethod
    def from_parameters(
        cls,
        means: Any,
        covariances: Any,
        priors: PerLabel | Literal["uniform"] = "uniform",
        *,
        classes: Any = None,
    ) -> Self:
        r"""Return a classifier of known Gaussians, without rows.

        It does what a fitted one does but for streams and merging; ``log_likelihood_`` is not
        there, as there are no rows.

        Parameters
        ----------
        means : {label: mean}, or array-like of shape (K, D)
            Mean of each class; of one feature, K numbers.
        covariances : {label: covariance}, or array-like of shape (K, D, D) or (D, D)
            Covariance of each class, or the one that all share; of one feature, variances.
        priors : {label: p}, array-like of shape (K,), or "uniform"
            Probability of each class.
        classes : array-like of shape (K,), optional
            Labels, if the means are not given by label; 0 to K - 1 by default.

        Returns
        -------
        GaussianClassifier
            With ``covariance="tied"`` if one covariance is shared, else ``"full"``.

        Raises
        ------
        InputError
            If a covariance is not symmetric and positive definite; the class is named.
        ShapeError
            If means and covariances do not fit each other.

        Examples
        --------
        >>> import credo
        >>> known = credo.GaussianClassifier.from_parameters(
        ...     {"low": 0.0, "high": 2.0}, 1.0, {"low": 0.8, "high": 0.2})
        >>> known.regions().thresholds.round(4)  # 1 + log(0.8 / 0.2) / 2
        array([1.6931])
        """
        what = f"{cls.__name__}.from_parameters"
        named = check.by_name(means)
        labels = check.labels(
            (range(len(means)) if classes is None else classes) if named is None else tuple(named),
            f"classes of {what}",
        )
        centres = check.finite(list(means if named is None else named.values()), f"means of {what}")
        spreads = check.by_name(covariances)
        if spreads is not None:
            check.order(labels, tuple(spreads), f"covariances of {what}")
            covariances = [spreads[label] for label in labels]
        sigma = check.finite(covariances, f"covariances of {what}")
        if centres.ndim == 1:  # of one feature
            centres, sigma = centres[:, None], sigma[..., None, None]
        shape = (*centres.shape, centres.shape[-1])
        if centres.shape[:1] != (len(labels),) or sigma.shape not in (shape, shape[1:]):
            raise ShapeError(
                f"{what} needs a mean of {len(labels)} classes and one covariance for all or each. "
                f"Got means of shape {centres.shape} and covariances of shape {sigma.shape}."
            )
        for label, matrix in zip(labels, np.broadcast_to(sigma, shape), strict=True):
            try:
                MultivariateGaussian(np.zeros(shape[-1]), matrix)
            except InputError as error:
                raise InputError(f"{what}, covariance of {label!r}: {error}") from None
        model = cls("tied" if sigma.ndim == 2 else "full", singular="error", priors=priors)
        model.n_features_in_ = shape[-1]
        one = np.ones(len(labels))
        scatter = np.broadcast_to(sigma, shape)
        moments = ClassMoments(one.astype(np.intp), one, centres, "full", scatter.copy())
        names = Names(what, labels, tuple(range(shape[-1])))
        fitted = estimate(moments, model._recipe(), names)
        model._set(fitted, check.names_array(labels), None)
        return model

    # --- learning -------------------------------------------------------------------------------

    @available_if(_streams)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those seen before; the result is that of one fit to all of them.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows. NaN only for covariances without correlations.
        y : array-like of shape (n,)
            Labels; new classes may appear at any time, and a batch may lack some.
        classes : array-like, optional
            All labels that may occur, to catch others; not needed.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.

        Returns
        -------
        GaussianClassifier
            Itself. If the rows so far do not determine the covariances, predicting says why
            until more have come.
        """
        return self._add(X, y, sample_weight, classes)

    def fit_summary(self, summary: ClassSummary) -> Self:
        """Fit from a summary made by ``credo.summarise``, without a second pass.

        Parameters
        ----------
        summary : ClassSummary
            Of the rows.

        Returns
        -------
        GaussianClassifier
            Itself.
        """
        if not isinstance(summary, ClassSummary):
            raise InputError(
                f"{_OWNER}.fit_summary needs a ClassSummary. Got {type(summary).__name__}. Make "
                "one with credo.summarise(X, y)."
            )
        return self._fit_summary(summary, summary.moments.n_features, summary.feature_names)

    def _check_parameters(self, seen: Sequence[Label] | None = None) -> None:
        _subspace(self.subspace, _OWNER)
        refuse_priors(self.priors, _OWNER, seen or ())
        super()._check_parameters(seen)

    def _detail(self) -> Detail:
        """Return the least detail of scatter that the parameters need."""
        shape = checked_shape(self.covariance, _OWNER)
        if self.subspace is None:
            return detail_for(shape)
        return "tied" if shape in LINEAR else "full"

    def _summarise(self, batch: tuple[Rows, Any]) -> ClassSummary | None:
        rows, classes = batch
        if isinstance(self.subspace, (int, np.integer)) and self.subspace > self.n_features_in_:
            raise InputError(
                f"{_OWNER}: subspace={self.subspace}, but the rows span only "
                f"{self.n_features_in_} dimensions, their features. Pass at most these."
            )
        columns = getattr(self, "feature_names_in_", None)
        names = None if columns is None else tuple(columns.tolist())
        moments = rows.moments(self._detail(), _OWNER, names)
        return None if moments is None else ClassSummary(classes, moments, names)

    def _learn(self, summary: ClassSummary | None, batch: Any = None) -> None:
        rows: Any = None if batch is None else batch[0]
        classes = batch[1] if summary is None else summary.classes
        names = self._names(classes, _OWNER)
        if summary is not None:
            fit = self._closed_form(summary.moments, names, rows)
        elif self.subspace is not None:
            raise InputError(
                f"{_OWNER}: X contains NaN, which cannot be projected on a subspace. Pass "
                "subspace=None to fit by EM, or impute first."
            )
        else:
            fit = self._fit_missing(rows, names)
        self._set(fit, classes, summary)
        self._tell(fit.repair, SingularWarning)

    def _closed_form(self, moments: ClassMoments, names: Names, rows: Rows | None) -> GaussianFit:
        """Fit from moments; Ledoit-Wolf needs the rows too."""
        projection = None
        if self.subspace is not None:
            if moments.detail == "diagonal":
                raise InputError(
                    f"{_OWNER}: a subspace needs correlations, and the summary has variances only. "
                    "Summarise or fit all rows with covariance='full', or pass subspace=None."
                )
            check_spread(moments, "tied", ~moments.flat(pooled=True), names)
            projection = Projection.of(moments, self.subspace, _OWNER)
            moments = projection.moments(moments)
            components = tuple(f"component {i}" for i in range(moments.n_features))
            names = replace(names, features=components)
            rows = None if rows is None else replace(rows, X=projection.rows(rows.X))
        fit = estimate(moments, self._recipe(), names, rows)
        trace = np.array([fit.model.log_likelihood(moments)])
        return replace(fit, trace=trace, projection=projection)

    def _set(self, fitted: GaussianFit, classes: Any, summary: ClassSummary | None) -> None:
        """Keep a fit and show what it learned."""
        self._show(fitted, classes, summary)
        self._projection, amounts = fitted.projection, fitted.amounts
        self.shrinkage_ = amounts if amounts.ndim else float(amounts)
        self._forget("proportions_", "components_")
        if fitted.model.factors is not None:
            self.proportions_ = fitted.model.factors
        if fitted.projection is not None:
            self.components_ = fitted.projection.components
            self.constant_features_ = np.zeros(self.n_features_in_, dtype=bool)
        self._set_priors()

    def _check_loaded(self) -> None:
        """Check that a model from a file is one of its features, and its summary too."""
        fitted, summary = getattr(self, "_fitted", None), self.summary_
        if summary is not None and (
            summary.moments.n_features != self.n_features_in_
            or summary.classes.tolist() != self.classes_.tolist()
        ):
            raise InputError("The summary of the model is not one of its classes and features.")
        if fitted is None:  # it waits for more rows
            return
        size = (
            self.n_features_in_ if fitted.projection is None else len(fitted.projection.components)
        )
        if fitted.model.n_features != size:
            raise InputError("The model does not fit its features.")

    def _set_priors(self) -> Self:
        super()._set_priors()
        self._forget("coef_", "intercept_")
        if self._model.is_linear:
            self.coef_, self.intercept_ = self._linear(self._log_priors())
        return self

    def _linear(self, log_priors: F64) -> tuple[F64, F64]:
        """Return weights and offsets of the linear scores, in terms of the features."""
        means, projection = self._model.means, self._projection
        gaps, priors, ends = means, log_priors, means
        if len(means) == 2:  # the log odds of the second class, about the middle of the means
            gaps, priors = np.diff(means, axis=0), np.diff(log_priors)
            ends = means.sum(axis=0, keepdims=True)
        coefficients = self._model.pulls(gaps)
        offsets = priors - 0.5 * np.vecdot(coefficients, ends)  # without a second large array
        if projection is not None:
            offsets -= coefficients @ (projection.components @ projection.centre)
            coefficients = coefficients @ projection.components
        return coefficients, offsets

    # --- answers --------------------------------------------------------------------------------

    def _scores(self, rows: Any, *, densities: bool = False) -> Blocks:
        log_priors = self._log_priors()[:, None]
        kind: Kind = "densities" if densities else "discriminants"
        for block, scores in self._model_scores(rows, kind):
            yield block, np.add(scores, log_priors, out=scores)

    def _model_scores(self, X: Any, kind: Kind) -> Blocks:
        """Yield scores without the priors."""
        projection = self._projection
        rows = X if projection is None else projection.rows(X)
        for block in check.blocks(
            len(rows), check.block_rows(max(rows.shape[1], len(self.classes_)))
        ):
            yield block, self._model.scores(rows[block], kind, block.start)

    def regions(self, loss: Loss | None = None) -> Regions:
        """Return the decision regions of a model of one feature, with thresholds and risk.

        Parameters
        ----------
        loss : Loss, optional
            Losses by true class and act; zero-one by default.

        Returns
        -------
        Regions
            As ``credo.decisions.regions`` gives for its densities and priors.
        """
        densities = self.densities_
        if len(self.means_[0]) != 1:
            raise InputError(
                f"{_OWNER}.regions cuts a line, and the model has {len(self.means_[0])} features. "
                "Use plot for two, or bayes_error(model.densities_, model.priors_, loss=loss)."
            )
        lines = {k: Gaussian(d.mean[0], d.covariance[0, 0]) for k, d in densities.items()}
        return regions(lines, self.priors_, Loss.zero_one(lines) if loss is None else loss)

    @property
    def densities_(self) -> dict[Label, MultivariateGaussian]:
        """The Gaussian of each class by its label, for ``regions``, ``bayes_error`` and others.

        Of principal components if there is a ``subspace``. A feature that is constant in all rows
        has no density, and is refused.
        """
        self._check_ready()
        constant = np.flatnonzero(~self._model.active).tolist()
        if constant:
            raise InputError(
                f"{_OWNER}.densities_: feature {constant[0]} is constant in all rows, so that it "
                "has no density. Drop it, and fit again."
            )
        pairs = [
            MultivariateGaussian(mean, self._model.covariance_of(k))
            for k, mean in enumerate(self.means_)
        ]
        return dict(zip(check.labels(self.classes_), pairs, strict=True))

    def mahalanobis(self, X: Any) -> F64:
        r"""Return squared distances :math:`(x - \mu_k)^T \Sigma_k^{-1} (x - \mu_k)`.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows; of missing entries, the distance of the others is given.

        Returns
        -------
        ndarray of shape (n, K)
            One column per class.
        """
        rows = self._rows(X)
        table = np.empty((len(rows), len(self.classes_)))
        for block, distances in self._model_scores(rows, "distances"):
            table[block] = distances.T
        return table

    def transform(self, X: Any) -> F64:
        r"""Project rows on the directions that tell the classes apart best (Fisher, Rao).

        .. math:: z = A (x - \mu), \qquad A \Sigma A^T = I, \quad
                  A S_B A^T = \operatorname{diag}(\lambda), \quad
                  S_B = \sum_k \pi_k (\mu_k - \mu)(\mu_k - \mu)^T, \quad
                  \mu = \sum_k \pi_k \mu_k

        The first row of A maximises the spread of the means relative to that within the classes,
        :math:`a^T S_B a / a^T \Sigma a`, and each further row the same among the directions that
        are uncorrelated with those before it.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows; of missing values the expected ones are projected, as ``impute`` gives them.

        Returns
        -------
        ndarray of shape (n, R)
            The coordinates z, of variance one within the classes, in float64. R is K - 1 or D,
            whichever is less, or less where the means lie in a smaller space. The first q columns
            are the best projection on q directions.

        Raises
        ------
        InputError
            If the means of all classes are the same, or a value is infinite.

        See Also
        --------
        mahalanobis : Squared distances from the means, in all directions.

        Notes
        -----
        Exact but for rounding, O(n D R) after O(K D min(K, D)). For covariances that all classes
        share: "tied" (linear discriminant analysis), "tied_diagonal" and "tied_spherical". Σ is the
        covariance of the model: of maximum likelihood, scatter divided by N, after shrinkage or
        repair. The shares π are ``priors_``. Of the two outermost classes along a direction, the
        one that comes later in ``classes_`` has the larger coordinate. The nearest projected mean,
        priors counted in, is the class that ``predict`` gives to a whole row.

        scikit-learn's ``LinearDiscriminantAnalysis`` gives the same for "tied", up to signs; it
        leaves the centre in with ``solver="eigen"``, and older versions divide by N - K with "svd".

        References
        ----------
        .. [1] R. A. Fisher, "The use of multiple measurements in taxonomic problems", *Annals of
           Eugenics* 7, 1936.
        .. [2] T. Hastie, R. Tibshirani and J. Friedman, *The Elements of Statistical Learning*,
           2nd ed., 2009, section 4.3.3.

        Examples
        --------
        >>> import credo
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = credo.GaussianClassifier("tied").fit(X, y)
        >>> model.transform(X[:2]).round(2)
        array([[-8.14,  0.3 ],
               [-7.2 , -0.79]])
        >>> model.explained_variance_ratio_.round(4)
        array([0.9912, 0.0088])
        """
        rows = self._rows(X)
        centre, directions, _ = self._directions()
        if not len(directions):
            raise InputError(
                f"{_OWNER}.transform: the means of all classes are the same, so no direction tells "
                "the classes apart."
            )
        projection = self._projection
        rows = rows if projection is None else projection.rows(rows)
        table = np.empty((len(rows), len(directions)))
        for block in check.blocks(len(rows), check.block_rows(rows.shape[1])):
            x, numbers = np.asarray(rows[block], np.float64), np.arange(block.start, block.stop)
            refuse_infinite(x, numbers)
            if np.isnan(x).any():
                x = self._filled(x, None, "transform")
            with np.errstate(over="ignore", invalid="ignore"):
                table[block] = (x - centre) @ directions.T
            refuse_far(table[block].T, numbers)
        return table

    def _directions(self) -> tuple[F64, F64, F64]:
        """Return the centre, the directions, and what each of them tells apart."""
        return self._model.directions(self.priors_)

    @property
    def explained_variance_ratio_(self) -> F64:
        """The part of the spread between the means that each column of ``transform`` has."""
        _projects(self)
        self._check_ready()
        return self._directions()[2]

    @property
    def _n_features_out(self) -> int:
        """How many columns ``transform`` gives; scikit-learn asks."""
        return len(self.explained_variance_ratio_)

    def check_modes(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        n_starts: int = 5,
        random_state: RandomState = 0,
    ) -> ClassModes:
        """Tell which classes have more than one peak, so that one Gaussian does not describe them.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, such as those of the fit; NaN is missing.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.
        n_starts : int
            How often EM for two Gaussians starts.
        random_state : int, Generator or None
            Seed of the starts.

        Returns
        -------
        ClassModes
            A printable table by class: how much better two Gaussians are, by BIC, and how
            likely one peak is; and what to do.
        """
        owner = f"{_OWNER}.check_modes"
        rows, classes = labelled_rows(self._rows(X), y, sample_weight, owner)
        rng = check.generator(random_state, f"random_state of {owner}")
        starts = check.count(n_starts, f"n_starts of {owner}")
        return check_modes(rows, self._recipe(), self._names(classes, owner), starts, rng)

    def boundary(self, i: Label, j: Label) -> Hyperplane | Quadric:
        """Return the surface where two classes are equally probable.

        Parameters
        ----------
        i, j : label
            Two of ``classes_``.

        Returns
        -------
        Hyperplane or Quadric
            A hyperplane if the covariance is shared; calling either with rows gives the log
            odds of i against j.
        """
        self._check_ready()
        self._refuse_subspace("boundary")
        owner, known = f"{_OWNER}.boundary", check.labels(self.classes_)
        a, b = (check.position(label, known, "class", owner) for label in (i, j))
        return boundary_between(self._model, self._log_priors(), a, b, owner)

    def _exact_p_values(self, rows: Any) -> F64 | None:
        places = np.flatnonzero(self.priors_)
        if len(places) > 1:
            return None
        squares = np.empty(len(rows))
        for block, found in self._model_scores(rows, "distances"):
            squares[block] = found[places[0]]
        active = self._model.active
        seen = active.sum() if len(active) != rows.shape[1] else (~np.isnan(rows[:, active])).sum(1)
        return np.asarray(scipy.special.gammaincc(np.maximum(seen, 1e-300) / 2, squares / 2))


# Afterwards, since scikit-learn wraps the methods when the class is made, for ``set_output``.
for _name in ("transform", "fit_transform", "get_feature_names_out"):
    setattr(GaussianClassifier, _name, available_if(_projects)(getattr(GaussianClassifier, _name)))
