"""``GaussianRegressor``: the joint Gaussian of features and target."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Self, overload

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from credo import _checks as check
from credo._results import Storable
from credo._types import F64
from credo.classifiers._base import note_columns, own_errors, read_numbers, row_weights
from credo.classifiers._labels import read_targets, refuse_missing
from credo.classifiers.gaussian import GaussianModel, Progress
from credo.classifiers.summary import ClassSummary
from credo.exceptions import InputError, NumericalError, ShapeError, SingularWarning
from credo.families import Gaussian, MultivariateGaussian
from credo.families.class_gaussians import ClassGaussians, refuse_infinite
from credo.families.covariances import (
    Names,
    SingularCovarianceError,
    check_spread,
    constant_in_all,
    n_covariance_parameters,
    oas_amount,
    shrinkage_amounts,
    shrunk,
    whiten,
)
from credo.families.moments import MOST_BYTES, ClassMoments, Rows, RowsView

_OWNER = "GaussianRegressor"
#: All rows are one class, and the target is the last column.
_CLASSES, _TARGET = np.array(["rows"]), "target y"
#: Rounding moves each correlation by some units in the last place, and the variance that is left
#: by as much times 1 + b², b the standardised slopes; on exact data it stayed below 6 of them.
_ULPS = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """The joint Gaussian of features and target, and what it says of the target.

    Only the block of the features is factored, so that the target may be a function of them.
    """

    #: Of features and target.
    mean: Annotated[F64, "E"]
    covariance: Annotated[F64, "E E"]
    #: The features alone, a single class.
    features: ClassGaussians
    #: Slopes, zero for features that do not vary; and Var[t | x] if all of x is observed, of
    #: several targets the sum.
    slopes: Annotated[F64, ("D", "D M")]
    variance: float
    #: Shrinkage, log-likelihood before each step of EM and at the end, and whether it stood still.
    amount: float = 0.0
    trace: Annotated[F64, "T", "any"] = field(default_factory=lambda: np.empty(0))
    converged: bool = True

    @classmethod
    def of(cls, mean: F64, covariance: F64, n: int, names: Names, n_rows: int) -> Joint:
        """Condition ``n`` targets on the features, or refuse if these are collinear."""
        d = len(mean) - n
        own = -1 if n == 1 else slice(d, None)
        inner, pulls = covariance[:d, :d], covariance[:d, own]
        active = np.diagonal(inner) > 0
        w, logs = np.zeros(inner.shape).T, np.zeros(1)
        if active.any():
            logs[0] = whiten(inner, w, active, names, None, n_rows)
        slopes = w.T @ (w @ pulls)
        slopes += w.T @ (w @ (pulls - inner @ slopes))  # wins back lost digits
        features = ClassGaussians("tied", mean[None, :d], inner, w, logs, active)
        joint = cls(mean, covariance, features, slopes, 0.0)
        return replace(joint, variance=float(np.trace(np.atleast_2d(joint._left()))))

    def _left(self) -> Any:
        """Return the variance that the features leave, or the covariance of several targets."""
        d, own = len(self.slopes), self._own
        inner, pulls = self.covariance[:d, :d], self.covariance[:d, own]
        # Off by the square of the error of the slopes only, unlike Var[t] - b · c.
        left = self.covariance[own, own] - self.slopes.T @ (2 * pulls - inner @ self.slopes)
        if self.slopes.ndim == 1:
            return left if left > self._rounding else 0.0
        exact = np.diagonal(left) <= self._rounding
        return np.where(exact | exact[:, None], 0.0, 0.5 * (left + left.T))

    @property
    def spread(self) -> F64:
        """Var[t | x] if all of x is observed, as an array; of several targets their covariance."""
        return np.array(self.variance if self.slopes.ndim == 1 else self._left())

    @property
    def _own(self) -> Any:
        """Which entries are the target, or targets."""
        return -1 if self.slopes.ndim == 1 else slice(len(self.slopes), None)

    @property
    def _rounding(self) -> Any:
        """The variance that rounding may leave, of each target."""
        variances = np.diagonal(self.covariance)
        standardised = self.slopes.T * np.sqrt(variances[: len(self.slopes)])
        return _ULPS * (variances[self._own] + (standardised**2).sum(axis=-1))

    def _check(self) -> None:
        """Refuse parts from a file that are not those of one Gaussian."""
        d, own = len(self.slopes), self._own
        inner, pulls = self.covariance[:d, :d], self.covariance[:d, own]
        fits = self.features.means.shape == (1, d) and pulls.shape == self.slopes.shape
        fits = fits and len(self.trace) > 0 and not np.isnan(self.trace).any()
        fits = fits and np.array_equal(self.features.means[0], self.mean[:d])
        fits = fits and np.array_equal(self.features.covariances, inner)
        fits = fits and 0 <= self.variance < np.inf and 0 <= self.amount <= 1
        if fits:
            variances = np.abs(np.diagonal(self.covariance))
            scale = np.sqrt(np.multiply.outer(variances[:d], variances[own]))
            fits = bool((np.abs(inner @ self.slopes - pulls) <= 0.1 * scale).all())
            most = 1e-6 * np.sum(variances[own])
            fits &= pulls.ndim == 1 or abs(self.variance - np.trace(self.spread)) <= most
        if not fits:
            raise InputError("The joint Gaussian of features and target does not fit together.")

    def log_likelihood(self, moments: ClassMoments) -> float:
        r"""Return :math:`\sum_i w_i \log p(x_i) p(t_i \mid x_i)`, infinite if the fit is exact."""
        n, d, total = float(moments.weights[0]), len(self.slopes), 0.0
        if self.features.active.any():
            inner = replace(
                moments, means=moments.means[:, :d], scatter=moments.scatter[:d, :d], rests=None
            )
            total = self.features.log_likelihood(inner)
        vary = np.flatnonzero(np.diagonal(self.covariance)[d:])
        if not vary.size:
            return total
        spread = np.atleast_2d(self.spread)[np.ix_(vary, vary)]
        if is_exact(spread):
            return float("inf")
        residual = np.c_[-self.slopes.reshape(d, -1).T, np.eye(len(self.mean) - d)][vary]
        squares = np.trace(np.linalg.solve(spread, residual @ moments.scatter @ residual.T))
        return total - 0.5 * (n * float(np.linalg.slogdet(2 * np.pi * spread)[1]) + float(squares))

    def predict(self, X: Any) -> tuple[F64, F64]:
        """Return mean and variance of each row, or covariance of targets; NaN is marginalised."""
        d, spread = len(self.slopes), self.spread
        mean = np.empty((len(X), *self.slopes.shape[1:]))
        variance = np.tile(spread, (len(X), *(1,) * spread.ndim))
        with np.errstate(over="ignore", invalid="ignore"):
            for block in check.blocks(len(X), check.block_rows(X.shape[1])):
                z = np.subtract(X[block], self.mean[:d], dtype=np.float64)
                mean[block] = z @ self.slopes
                odd = np.flatnonzero(~np.isfinite(mean[block]).reshape(len(z), -1).all(axis=1))
                if odd.size:
                    rows = odd + block.start
                    refuse_infinite(z[odd], rows)
                    mean[rows], variance[rows] = self._of_observed(z[odd])
        mean += self.mean[self._own]
        wrong = ~np.isfinite(mean).reshape(len(mean), -1).all(axis=1)
        if wrong.any():
            raise InputError(
                f"Row {int(wrong.argmax())} of X is so far from the mean that its prediction is "
                "not a number. Check its values and their unit."
            )
        return mean, variance

    def _of_observed(self, z: F64) -> tuple[F64, F64]:
        """Return mean and variance of the target, less its mean, of gaps with missing entries.

        The variance grows by that of what the missing features would have said.
        """
        active = self.features.active
        z, slopes = z[:, active], self.slopes[active]
        mean = np.empty((len(z), *slopes.shape[1:]))
        variance = np.empty((*mean.shape, *slopes.shape[1:]))
        spread = self.spread
        for part in self.features.parts(z):
            free = self.features.free(0, part)
            gaps = np.where(part.hidden, 0.0, z[part.rows])
            expected, more = free.pulled(slopes, gaps)
            mean[part.rows] = gaps @ slopes + expected
            variance[part.rows] = spread + more
        if not spread.ndim:
            if self.variance == 0:
                variance[variance <= self._rounding] = 0.0
            return mean, variance
        small = np.diagonal(variance, axis1=1, axis2=2) <= self._rounding
        exact = small & (np.diagonal(spread) == 0)
        variance[exact[:, :, None] | exact[:, None, :]] = 0.0
        return mean, variance


def is_exact(spread: F64) -> bool:
    """Tell whether a covariance of targets has a direction without variance, to rounding."""
    scale = np.sqrt(np.diagonal(spread))
    if not scale.all():
        return True
    return bool(np.linalg.eigvalsh(spread / np.outer(scale, scale))[0] <= _ULPS)


def _targets(n: int) -> tuple[str, ...]:
    """Name the targets."""
    return (_TARGET,) if n == 1 else tuple(f"{_TARGET} {j}" for j in range(n))


class GaussianRegressor(GaussianModel, Storable, RegressorMixin, BaseEstimator):
    r"""Regress with the joint Gaussian of features and target.

    .. math:: E[t \mid x] = \mu_t + \Sigma_{tx} \Sigma_{xx}^{-1} (x - \mu_x), \qquad
              \mathrm{Var}[t \mid x] = \Sigma_{tt} - \Sigma_{tx} \Sigma_{xx}^{-1} \Sigma_{xt}

    The mean is the best prediction under squared loss; ``predictive(X)`` is the whole
    distribution, for any other loss. With y of shape (n, M) there are several targets, each
    predicted as if alone; ``predictive`` says how their errors go together. Missing features (NaN)
    are marginalised: x is then what was observed, and the variance grows.

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
        the OAS amount and warns with the columns, and leaves constant features out; ``"error"``
        refuses with the same names.
    tol : float
        EM, for rows with missing values, stops when the log-likelihood per row gains less.
    max_iter : int
        Most steps of EM.
    progress : callable, optional
        Called with the step and the log-likelihood at each step of EM.

    Attributes
    ----------
    coef_ : ndarray of shape (D,) or (M, D)
        Slope of each feature, if all are observed; a row for each of several targets.
    intercept_ : float or ndarray of shape (M,)
        Prediction at x = 0; ``predict`` does not use it and loses no digits to large means.
    variance_ : float or ndarray of shape (M, M)
        Var[t | x], if all features are observed; 0 if the fit is exact. The covariance of several
        targets.
    mean_ : ndarray of shape (D + M,)
        Mean of the features and, last, the target or targets.
    covariance_ : ndarray of shape (D + M, D + M)
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
    summary_ : ClassSummary or None
        Weight, mean and scatter of features and target, as of one class, which ``partial_fit`` and
        ``merge`` continue from; None after EM.
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

    command = "regression"
    Summary = Annotated[ClassSummary, ""]  # of one column more than the features
    Fitted = Joint

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

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add rows to those seen before; the result is that of one fit to all of them.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, without NaN.
        y : array-like of shape (n,) or (n, M)
            Target, or several.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.

        Returns
        -------
        GaussianRegressor
            Itself. If the rows so far do not determine the coefficients, predicting says why
            until more have come.
        """
        return self._add(X, y, sample_weight)

    def _read(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Rows, Any]:
        if reset:
            self._forget("schema_")
        rows = read_numbers(X, _OWNER)
        note_columns(self, X, y, reset=reset)
        n_bytes = 8 * (rows.shape[1] + 1) ** 2
        if n_bytes > MOST_BYTES:
            raise InputError(
                f"{_OWNER}: the covariance of {rows.shape[1]} features needs "
                f"{n_bytes / 2**30:.1f} GiB, above {MOST_BYTES / 2**30:.0f} GiB. Select fewer "
                "features."
            )
        target = check.floats(read_targets(y, len(rows), _OWNER), f"targets y of {_OWNER}")
        refuse_missing(target, _OWNER)
        return self._joined(rows, target, row_weights(sample_weight, len(rows), _OWNER))

    def _joined(self, rows: Any, target: F64, weights: F64 | None) -> tuple[Rows, Any]:
        """Join features and target, as rows of one class that are made when they are read."""

        def joined(which: Any) -> F64:
            return np.column_stack([rows[which], target[which]])

        n_targets = 1 if target.ndim == 1 else target.shape[1]
        view = RowsView((len(rows), rows.shape[1] + n_targets), joined)
        return Rows(view, np.zeros(len(rows), dtype=np.intp), weights, 1), _CLASSES

    def _summarise(self, batch: tuple[Rows, Any]) -> ClassSummary | None:
        rows, classes = batch
        columns = getattr(self, "feature_names_in_", None)
        targets = _targets(rows.X.shape[1] - self.n_features_in_)
        names = None if columns is None else (*columns.tolist(), *targets)
        every = (*range(self.n_features_in_), *targets) if names is None else names
        moments = rows.moments("tied", _OWNER, every)
        return None if moments is None else ClassSummary(classes, moments, names)

    def _learn(self, summary: ClassSummary | None, batch: Any = None) -> None:
        columns = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        rows: Any = None if batch is None else batch[0]
        n_columns = rows.X.shape[1] if summary is None else summary.moments.n_features
        targets = _targets(n_columns - self.n_features_in_)
        names = Names(_OWNER, ("rows",), (*columns.tolist(), *targets), "the covariance")
        n_rows = rows.n_kept if summary is None else summary.n_rows
        if n_rows < 2:
            raise InputError(
                f"{_OWNER} needs at least 2 rows of positive weight. Got 1 sample, which has no "
                "covariance. Add rows."
            )
        if summary is None:
            joint, repair = self._of_missing(rows, names)
        else:
            joint, repair = self._of_moments(summary.moments, names, rows)
        self._set(joint, _CLASSES, summary)
        self._tell(repair, SingularWarning)

    def _of_moments(
        self, moments: ClassMoments, names: Names, rows: Rows | None
    ) -> tuple[Joint, str | None]:
        """Fit in closed form, and say what was repaired; Ledoit-Wolf needs the rows too."""
        recipe, repair = self._recipe(), None
        n_rows, weight = int(moments.counts[0]), float(moments.weights[0])
        varying = ~moments.constant_features()
        d = self.n_features_in_
        if not recipe.repair and not varying[:d].all():
            raise constant_in_all(~varying & (np.arange(len(varying)) < d), names)
        check_spread(moments, "tied", varying, names)
        covariance = np.where(np.outer(varying, varying), moments.scatter / weight, 0.0)
        amount = float(shrinkage_amounts(covariance, moments, recipe.shrinkage, _OWNER, rows))
        covariance = shrunk(covariance, amount)
        try:
            joint = Joint.of(moments.means[0], covariance, len(varying) - d, names, n_rows)
        except SingularCovarianceError as singular:
            if not recipe.repair:
                kind = "oas" if rows is None else "auto"
                remedy = f"Drop columns, add rows, or pass shrinkage={kind!r} or singular='repair'."
                raise SingularCovarianceError(singular.fault, remedy) from None
            more = oas_amount(covariance, weight)
            covariance, amount = shrunk(covariance, more), 1 - (1 - amount) * (1 - more)
            joint = Joint.of(moments.means[0], covariance, len(varying) - d, names, n_rows)
            repair = f"{singular.fault} Repaired with shrinkage {amount:.3g}."
        trace = np.array([joint.log_likelihood(moments)])
        return replace(joint, amount=amount, trace=trace), repair

    def _of_missing(self, rows: Rows, names: Names) -> tuple[Joint, str | None]:
        """Fit rows with NaN by EM, and say what was repaired."""
        try:
            fit = self._fit_missing(rows, names)
            model = fit.model
            covariance = np.where(np.outer(model.active, model.active), model.covariances, 0.0)
            n = len(covariance) - self.n_features_in_
            joint = Joint.of(model.means[0], covariance, n, names, rows.n_kept)
        except SingularCovarianceError as singular:
            remedy = "Fit the rows without NaN alone, drop columns, or pass shrinkage='oas'"
            remedy += "." if self.singular == "repair" else " or singular='repair'."
            raise SingularCovarianceError(singular.fault, remedy) from None
        amount, trace, converged = float(fit.amounts), fit.trace, fit.converged
        return replace(joint, amount=amount, trace=trace, converged=converged), fit.repair

    def _check_loaded(self) -> None:
        """Check that a model from a file has a summary of its features and the targets."""
        summary, fitted = self.summary_, getattr(self, "_fitted", None)
        least = self.n_features_in_ + 1
        if summary is not None and (
            summary.moments.n_features < least
            or (fitted is not None and summary.moments.n_features != len(fitted.mean))
            or summary.moments.detail != "tied"
            or summary.classes.tolist() != _CLASSES.tolist()
        ):
            raise InputError("The summary does not fit the features.")

    def _set(self, fitted: Joint, classes: Any, summary: ClassSummary | None) -> None:  # noqa: ARG002 - of all models
        """Keep a fit and show what it learned."""
        self._fitted, self._problem, self.summary_ = fitted, None, summary
        self.coef_, d = fitted.slopes.T, len(fitted.slopes)
        self.variance_ = fitted.spread if fitted.slopes.ndim > 1 else fitted.variance
        own = slice(d, None) if fitted.slopes.ndim > 1 else -1
        offsets = fitted.mean[own] - fitted.mean[:d] @ fitted.slopes
        self.intercept_ = offsets if fitted.slopes.ndim > 1 else float(offsets)
        self.mean_, self.covariance_ = fitted.mean, fitted.covariance
        self.shrinkage_ = fitted.amount
        self.constant_features_ = ~fitted.features.active
        size = int((np.diagonal(fitted.covariance) > 0).sum())
        self.n_parameters_ = size + n_covariance_parameters("tied", 1, size)
        self.log_likelihood_trace_, self.log_likelihood_ = fitted.trace, float(fitted.trace[-1])
        self.converged_, self.n_iter_ = fitted.converged, max(1, len(fitted.trace) - 1)

    @overload
    def predict(self, X: Any, *, return_std: Literal[False] = False) -> F64: ...

    @overload
    def predict(self, X: Any, *, return_std: Literal[True]) -> tuple[F64, F64]: ...

    def predict(self, X: Any, *, return_std: bool = False) -> F64 | tuple[F64, F64]:
        """Return the mean of the target of each row, and its standard deviation if asked.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows; NaN is missing and marginalised.
        return_std : bool
            Return standard deviations too.

        Returns
        -------
        mean : ndarray of shape (n,) or (n, M)
            E[t | x].
        std : ndarray of shape (n,) or (n, M)
            Square root of Var[t | x]; only if asked.
        """
        mean, variance = self._predict(X)
        if variance.ndim > 1:
            variance = np.diagonal(variance, axis1=1, axis2=2)
        return (mean, np.sqrt(variance)) if return_std else mean

    def predictive(self, X: Any) -> Gaussian | MultivariateGaussian:
        """Return the distribution of the target of each row, for ``credo.decide_value``.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows; NaN is missing and marginalised.

        Returns
        -------
        Gaussian or MultivariateGaussian
            With arrays of shape (n,) as mean and variance; of several targets with means (n, M)
            and covariances (n, M, M).

        Raises
        ------
        NumericalError
            If the fit is exact, so that the variance of a row is 0.
        """
        mean, variance = self._predict(X)
        several = variance.ndim > 1
        exact = np.array(list(map(is_exact, variance)), bool) if several else variance == 0
        if exact.any():
            raise NumericalError(
                f"{_OWNER}: the target is, to rounding, a linear function of the features, so its "
                f"variance in row {int(exact.argmax())} is 0, and a density needs a "
                "positive one. Use predict, or fit more rows, or pass shrinkage='auto'."
            )
        return MultivariateGaussian(mean, variance) if several else Gaussian(mean, variance)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        r"""Return :math:`R^2`, the share of the variance of the targets that predictions explain.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows.
        y : array-like of shape (n,) or (n, M)
            Targets.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.

        Returns
        -------
        float
            At most one.
        """
        with own_errors(f"{_OWNER}.score", "Pass one number per row."):
            return float(super().score(X, y, sample_weight))

    def log_density(self, X: Any, y: Any) -> F64:
        r"""Return :math:`\log p(t \mid x)` of each row; low values are outliers.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows; NaN is missing and marginalised.
        y : array-like of shape (n,) or (n, M)
            Target, or several.

        Returns
        -------
        ndarray of shape (n,)
            In float64.
        """
        predictive = self.predictive(X)
        what = f"targets y of {_OWNER}.log_density"
        several = predictive.mean.ndim > 1
        target = check.finite(y, what) if several else check.vector(y, what)
        if target.shape != predictive.mean.shape:
            wanted = f", shape {predictive.mean.shape}" if several else f", {len(predictive.mean)}"
            raise ShapeError(
                f"{_OWNER}.log_density needs one target per row{' and column' * several}{wanted}. "
                f"Got {target.shape if several else len(target)}."
            )
        return predictive.log_density(target)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _predict(self, X: Any) -> tuple[F64, F64]:
        """Return mean and variance of the target of each row."""
        rows = self._rows(X)
        return self._fitted.predict(rows)
