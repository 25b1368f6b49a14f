"""``GaussianClassifier``: one Gaussian per class, of seven covariance shapes."""

from __future__ import annotations

import copy
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from credo._types import F64, Label, PerLabel, RandomState
from credo._validation.arrays import generator, positive_int
from credo._validation.labels import as_labels, position, positions
from credo.classifiers._gaussian_fit import Options, Progress, fit_moments, fit_rows
from credo.classifiers._gaussian_state import GaussianState, streams
from credo.classifiers._generative import unchanged_on_error
from credo.classifiers.summary import ClassSummary
from credo.exceptions import InputError
from credo.families.gaussians.boundary import Hyperplane, Quadric, boundary_between
from credo.families.gaussians.conditional import Conditional, condition_rows, impute_rows
from credo.families.gaussians.sampling import sample_rows
from credo.families.gaussians.scores import score_rows, scores_into
from credo.families.gaussians.shapes import Shape

_OWNER = "GaussianClassifier"


class GaussianClassifier(GaussianState):
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
        One of the seven shapes.
    shrinkage : None, "auto", "oas" or float
        Amount λ in :math:`(1 - \lambda) \Sigma + \lambda \operatorname{diag}(\Sigma)`: the
        correlations shrink and the variances stay, so units do not matter. ``"auto"`` is Ledoit
        and Wolf's amount on standardised features, ``"oas"`` that of Chen et al., which needs
        second moments only: it works with summaries, and stands in for ``"auto"`` if rows have
        missing values. For ``"full"``, ``"tied"`` and ``"proportional"``.
    singular : {"repair", "error"}
        What to do about a covariance that is not positive definite. ``"repair"`` warns with the
        class and the columns: a feature that is constant in a class of n rows gets a share of its
        pooled variance, 1 / (n + 1) or, for ``"full"``, the OAS amount if that is more; then
        correlations that are still singular shrink by the OAS amount. ``"error"`` refuses, with
        the same names and the remedies.
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
    as absent.

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
        self.subspace = subspace
        self.priors = priors
        self.tol = tol
        self.max_iter = max_iter
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows; a failed fit leaves the classifier as it was.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows; NaN is missing.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), optional
            Weight of each row: 2 counts as the row twice, 0 as no row.

        Returns
        -------
        GaussianClassifier
            Itself.
        """
        options = Options.checked(self)
        with unchanged_on_error(self):
            self._warned = False
            rows, classes = self._read(X, y, sample_weight, reset=True)
            summary = self._summary(rows, classes, options)
            moments = None if summary is None else summary.moments
            fitted = fit_rows(rows, moments, options, self._names(classes))
            self._set(fitted, classes, summary)
        if not fitted.converged:
            options.warn_of_stopping()
        return self

    @available_if(streams)  # type: ignore[untyped-decorator]
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
        options = Options.checked(self)
        before = getattr(self, "summary_", None)
        if before is None and hasattr(self, "classes_"):
            raise InputError(
                f"{_OWNER}.partial_fit: the model has no summary to add to: it was fitted to "
                "missing values by EM, or saved without it. Fit all rows at once."
            )
        with unchanged_on_error(self):
            rows, found = self._read(X, y, sample_weight, reset=before is None)
            if classes is not None:
                positions(found, as_labels(classes, _OWNER, "classes"), _OWNER, "class")
            summary = self._summary(rows, found, options)
            if summary is None:
                raise InputError(
                    f"{_OWNER}.partial_fit: X contains NaN, and covariance={self.covariance!r} "
                    "learns from missing values by EM over all rows at once. Use fit, or "
                    "covariance='diagonal'."
                )
            self._restart(summary if before is None else before.merge(summary), options)
        return self

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
        options = Options.checked(self)
        with unchanged_on_error(self):
            self._warned = False
            self.n_features_in_ = summary.moments.n_features
            self._forget("feature_names_in_", "schema_")
            if summary.feature_names is not None:
                self.feature_names_in_ = np.array(summary.feature_names, dtype=object)
            fitted = fit_moments(summary.moments, options, self._names(summary.classes))
            self._set(fitted, summary.classes, summary)
        return self

    def merge(self, other: Self) -> Self:
        """Give a classifier fitted to the rows of both, with the parameters of this one.

        Parameters
        ----------
        other : GaussianClassifier
            Fitted to other rows of the same columns.

        Returns
        -------
        GaussianClassifier
            A new one.
        """
        check_is_fitted(self)
        check_is_fitted(other)
        if self.summary_ is None or other.summary_ is None:
            raise InputError(
                f"{_OWNER}.merge: a model fitted to missing values by EM, or saved without its "
                "summary, has none to merge. Fit all rows at once."
            )
        summary = self.summary_.merge(other.summary_)
        merged = copy.copy(self)
        return merged._restart(summary, Options.checked(self))  # noqa: SLF001 - its own copy

    def mahalanobis(self, X: Any) -> F64:
        r"""Give squared distances :math:`(x - \mu_k)^T \Sigma_k^{-1} (x - \mu_k)`.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows; of missing entries, the distance of the others is given.

        Returns
        -------
        ndarray of shape (n, K)
            One column per class.
        """
        rows = self._located(X)
        table = np.empty((len(rows), len(self.classes_)))
        none = np.zeros(len(self.classes_))
        score_rows(self._model, none, rows, scores_into(table), "distances")
        return table

    def boundary(self, i: Label, j: Label) -> Hyperplane | Quadric:
        """Give the surface where two classes are equally probable.

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
        owner = f"{_OWNER}.boundary"
        if self._fitted.projection is not None:
            raise InputError(f"{owner} is about features, and this model is of a subspace.")
        labels = as_labels(self.classes_, owner)
        a, b = position(i, labels, owner, "class"), position(j, labels, owner, "class")
        return boundary_between(self._model, self._log_priors(), a, b, owner)

    def sample(self, n: int = 1, random_state: RandomState = None) -> tuple[F64, Any]:
        """Draw synthetic rows and their labels.

        Parameters
        ----------
        n : int
            How many.
        random_state : int, Generator or None
            Seed.

        Returns
        -------
        X : ndarray of shape (n, D)
            Rows; they lie in the subspace if there is one.
        y : ndarray of shape (n,)
            Labels, drawn by the priors.
        """
        self._check_ready()
        size = positive_int(n, f"{_OWNER}.sample", "n")
        rng = generator(random_state, f"{_OWNER}.sample")
        rows, codes = sample_rows(self._model, self.priors_, size, rng)
        projection = self._fitted.projection
        if projection is not None:
            rows = rows @ projection.components + projection.centre
        return rows, self.classes_[codes]

    def conditional(self, X: Any, label: Label | None = None) -> Conditional:
        """Give mean and covariance of missing features given the observed ones.

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
        rows, classes = self._to_fill(X, label, "conditional")
        return condition_rows(self._model, self._log_priors(), rows, classes)

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
        rows, classes = self._to_fill(X, label, "impute")
        return impute_rows(self._model, self._log_priors(), rows, classes)
