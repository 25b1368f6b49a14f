"""``GaussianRegressor``: the joint Gaussian of features and target."""

from __future__ import annotations

import copy
from typing import Any, Literal, Self, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from credo._types import F64
from credo._validation.arrays import as_vector
from credo.classifiers._gaussian_fit import Options, Progress
from credo.classifiers._generative import unchanged_on_error
from credo.classifiers._regression_state import RegressorState, check_columns, fit_joint
from credo.exceptions import InputError, NumericalError, ShapeError
from credo.families.gaussian import Gaussian

_OWNER = "GaussianRegressor"


class GaussianRegressor(RegressorState):
    r"""Regress with the joint Gaussian of features and target.

    .. math:: E[t \mid x] = \mu_t + \Sigma_{tx} \Sigma_{xx}^{-1} (x - \mu_x), \qquad
              \mathrm{Var}[t \mid x] = \Sigma_{tt} - \Sigma_{tx} \Sigma_{xx}^{-1} \Sigma_{xt}

    The mean is the best prediction under squared loss; ``predictive(X)`` is the whole
    distribution, for any other loss. Missing features (NaN) are marginalised: x is then what was
    observed, and the variance grows.

    Parameters
    ----------
    shrinkage : None, "auto", "oas" or float
        Amount λ in :math:`(1 - \lambda) \Sigma + \lambda \operatorname{diag}(\Sigma)`, of the
        joint covariance of features and target: correlations shrink and variances stay, so units
        do not matter. The coefficients shrink too, as in ridge regression, towards zero at λ = 1.
        ``"auto"`` is Ledoit and Wolf's amount on standardised columns, ``"oas"`` that of Chen et
        al., which needs second moments only and works after ``partial_fit`` and with NaN too.
    singular : {"repair", "error"}
        What to do about collinear features, or fewer rows than features: ``"repair"`` shrinks by
        the OAS amount and warns with the columns, ``"error"`` refuses with the same names.
    tol : float
        EM, for rows with missing values, stops when the log-likelihood per row gains less.
    max_iter : int
        Most steps of EM.
    progress : callable, optional
        Called with the step and the log-likelihood at each step of EM.

    Attributes
    ----------
    coef_ : ndarray of shape (D,)
        Slope of each feature, if all are observed.
    intercept_ : float
        Prediction at x = 0; ``predict`` does not use it and loses no digits to large means.
    variance_ : float
        Var[t | x], if all features are observed; 0 if the fit is exact.
    mean_ : ndarray of shape (D + 1,)
        Mean of the features and, last, the target.
    covariance_ : ndarray of shape (D + 1, D + 1)
        Their covariance, maximum likelihood but for the shrinkage.
    shrinkage_ : float
        Amount used.
    constant_features_ : ndarray of shape (D,)
        True for features with a single value in all rows; they are ignored.
    n_parameters_ : int
        Numbers in the model: mean and covariance, constant columns left out.
    log_likelihood_ : float
        :math:`\sum_i w_i \log p(x_i, t_i)` of the rows it was fitted on, constant columns left
        out; infinite if the fit is exact.
    log_likelihood_trace_ : ndarray
        The same, of what was observed, before each step of EM and after the last; never falls
        unless shrunk.
    converged_ : bool
        False if EM stopped at ``max_iter``.
    n_iter_ : int
        Steps of EM; 1 in closed form.
    summary_ : ClassMoments or None
        Weight, mean and scatter of the rows, which ``partial_fit`` and ``merge`` continue from;
        None after EM.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    credo.decide_value : Choose a number from ``predictive(X)`` under a loss.
    credo.GaussianClassifier : One Gaussian per class.

    Notes
    -----
    Exact but for rounding, also with missing features, if these are missing at random. Without
    shrinkage and missing values the coefficients are those of least squares; rows with NaN are
    fitted by maximum likelihood of what was observed, by EM. Fitting costs O(N D² + D³) and never
    copies more than a block of the rows; predicting O(D) a row, and a linear system for each
    pattern of missing features. A target that is a linear function of the features is
    fitted exactly. Rows of weight zero count as absent.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, sections 1.5.5 and
       2.3.1.
    .. [2] R. J. A. Little and D. B. Rubin, *Statistical Analysis with Missing Data*, 2nd ed.,
       2002, section 11.2.

    Examples
    --------
    >>> import credo, numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = credo.GaussianRegressor().fit(X, y)
    >>> rows = X[:2].copy()
    >>> rows[1, 5:] = np.nan
    >>> mean, std = model.predict(rows, return_std=True)
    >>> mean.round(1), std.round(1)
    (array([206.1, 105.4]), array([53.5, 59.6]))
    >>> loss = credo.decisions.Pinball(0.9)
    >>> credo.decide_value(model.predictive(rows), loss).value.round(1)
    array([274.6, 181.8])
    """

    def __init__(
        self,
        *,
        shrinkage: float | Literal["auto", "oas"] | None = None,
        singular: Literal["repair", "error"] = "repair",
        tol: float = 1e-9,
        max_iter: int = 1000,
        progress: Progress | None = None,
    ) -> None:
        self.shrinkage = shrinkage
        self.singular = singular
        self.tol = tol
        self.max_iter = max_iter
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows; a failed fit leaves the regressor as it was.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows; NaN is missing.
        y : array-like of shape (n,)
            Target.
        sample_weight : array-like of shape (n,), optional
            Weight of each row: 2 counts as the row twice, 0 as no row.

        Returns
        -------
        GaussianRegressor
            Itself.
        """
        options = Options.checked(self)
        with unchanged_on_error(self):
            self._warned = False
            rows = self._read(X, y, sample_weight, reset=True)
            if len(rows.X) < 2:
                raise InputError(
                    f"{_OWNER} needs at least 2 rows of positive weight. Got 1 sample, which has "
                    "no covariance."
                )
            moments = rows.moments("tied", _OWNER)
            self._set(fit_joint(rows, moments, options, self._names()), moments)
        if not self.converged_:
            options.warn_of_stopping()
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add rows to those seen before; the result is that of one fit to all of them.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, without NaN.
        y : array-like of shape (n,)
            Target.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.

        Returns
        -------
        GaussianRegressor
            Itself. If the rows so far do not determine the coefficients, predicting says why
            until more have come.
        """
        options = Options.checked(self)
        before = getattr(self, "summary_", None)
        if before is None and hasattr(self, "summary_"):
            raise InputError(
                f"{_OWNER}.partial_fit: the model has no summary to add to: it was fitted to "
                "missing values by EM, or saved without it. Fit all rows at once."
            )
        with unchanged_on_error(self):
            rows = self._read(X, y, sample_weight, reset=before is None)
            moments = rows.moments("tied", _OWNER)
            if moments is None:
                raise InputError(
                    f"{_OWNER}.partial_fit: X contains NaN, and missing values are learned from "
                    "by EM over all rows at once. Use fit."
                )
            self._restart(moments if before is None else before.merge(moments), options)
        return self

    def merge(self, other: Self) -> Self:
        """Give a regressor fitted to the rows of both, with the parameters of this one.

        Parameters
        ----------
        other : GaussianRegressor
            Fitted to other rows of the same columns.

        Returns
        -------
        GaussianRegressor
            A new one.
        """
        check_is_fitted(self)
        if not isinstance(other, GaussianRegressor):
            raise InputError(f"{_OWNER}.merge needs another one. Got {type(other).__name__}.")
        check_is_fitted(other)
        if self.summary_ is None or other.summary_ is None:
            raise InputError(
                f"{_OWNER}.merge: a model fitted to missing values by EM, or saved without its "
                "summary, has none to merge. Fit all rows at once."
            )
        check_columns(self, other, _OWNER)
        summary = self.summary_.merge(other.summary_)
        new = copy.copy(self)
        return new._restart(summary, Options.checked(self))  # noqa: SLF001 - of its own copy

    @overload
    def predict(self, X: Any, *, return_std: Literal[False] = False) -> F64: ...

    @overload
    def predict(self, X: Any, *, return_std: Literal[True]) -> tuple[F64, F64]: ...

    def predict(self, X: Any, *, return_std: bool = False) -> F64 | tuple[F64, F64]:
        """Give the mean of the target of each row, and its standard deviation if asked.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows; NaN is missing and marginalised.
        return_std : bool
            Give standard deviations too.

        Returns
        -------
        mean : ndarray of shape (n,)
            E[t | x].
        std : ndarray of shape (n,)
            Square root of Var[t | x]; only if asked.
        """
        mean, variance = self._predict(X)
        return (mean, np.sqrt(variance)) if return_std else mean

    def predictive(self, X: Any) -> Gaussian:
        """Give the distribution of the target of each row, for ``credo.decide_value``.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows; NaN is missing and marginalised.

        Returns
        -------
        Gaussian
            With arrays of shape (n,) as mean and variance.

        Raises
        ------
        NumericalError
            If the fit is exact, so that the variance of a row is 0.
        """
        mean, variance = self._predict(X)
        if (variance == 0).any():
            raise NumericalError(
                f"{_OWNER}: the target is, to rounding, a linear function of the features, so its "
                f"variance in row {int((variance == 0).argmax())} is 0, and a density needs a "
                "positive one. Use predict, or fit more rows, or pass shrinkage='auto'."
            )
        return Gaussian(mean, variance)

    def log_density(self, X: Any, y: Any) -> F64:
        r"""Give :math:`\log p(t \mid x)` of each row; low values are outliers.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows; NaN is missing and marginalised.
        y : array-like of shape (n,)
            Target.

        Returns
        -------
        ndarray of shape (n,)
            In float64.
        """
        predictive = self.predictive(X)
        target = as_vector(y, f"{_OWNER}.log_density", "targets y")
        if target.shape != predictive.mean.shape:
            raise ShapeError(
                f"{_OWNER}.log_density needs one target per row, {len(predictive.mean)}. Got "
                f"{len(target)}."
            )
        return predictive.logpdf(target)
