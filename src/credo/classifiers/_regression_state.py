"""The joint Gaussian of features and target: how it is fitted, what it says of the target."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from credo._results import Storable
from credo._types import F64, Bool, Int
from credo._validation.arrays import as_floats
from credo._validation.labels import listing
from credo._validation.probabilities import as_weights
from credo.classifiers._gaussian_fit import Options, second_pass_over
from credo.classifiers._generative import unchanged_on_error
from credo.classifiers._labels import without_mask
from credo.exceptions import InputError, NumericalError, ShapeError, SingularWarning
from credo.families.gaussians.class_gaussians import ClassGaussians
from credo.families.gaussians.definite import Names, SingularCovarianceError, Where
from credo.families.gaussians.em import fit_missing
from credo.families.gaussians.estimate import shrinkage_amounts
from credo.families.gaussians.likelihood import log_likelihood
from credo.families.gaussians.moments import MOST_BYTES, ClassMoments
from credo.families.gaussians.observed import reduce_observed
from credo.families.gaussians.reduction import Rows
from credo.families.gaussians.shapes import maximum_likelihood, n_covariance_parameters
from credo.families.gaussians.shrinkage import (
    oas_amount,
    shrunk,
)
from credo.families.gaussians.target import TargetGivenFeatures

_OWNER = "GaussianRegressor"

#: Squares of larger targets are no longer numbers.
_MOST = 1e150

#: What is known of the rows, whether or not it determines a model.
_OF_THE_ROWS = ("summary_", "n_features_in_", "feature_names_in_")


class JoinedRows:
    """Features and target side by side, joined block by block; the others see an array."""

    dtype = np.dtype(np.float64)

    def __init__(self, X: Any, y: F64, kept: Int | None = None) -> None:
        self._X, self._y, self._kept = X, y, kept
        self.shape = (len(y if kept is None else kept), X.shape[1] + 1)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> F64:
        where = rows if self._kept is None else self._kept[rows]
        y = self._y[where]
        result = np.empty((len(y), self.shape[1]))
        result[:, :-1] = self._X[where]
        result[:, -1] = y
        return result


class JointNames(Names):
    """Names in messages about one Gaussian, without classes."""

    __slots__ = ()

    def class_of(self, k: int | None) -> str:  # noqa: ARG002 - there is only one
        """Name the covariance."""
        return "the covariance"


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """What a fit found."""

    #: Of features and target, (D + 1,) and (D + 1, D + 1).
    mean: F64
    covariance: F64
    amount: float
    #: Σ w log p(x, t) before each step of EM and at the end; one entry if closed form.
    trace: F64
    converged: bool
    target: TargetGivenFeatures
    #: What was singular and how it was repaired; None if nothing was.
    repair: str | None = None

    @property
    def n_parameters(self) -> int:
        """Count the numbers of mean and covariance, constant columns left out."""
        size = int((np.diagonal(self.covariance) > 0).sum())
        return size + n_covariance_parameters("tied", 1, size)


def fit_joint(rows: Rows, moments: ClassMoments | None, options: Options, names: Names) -> Joint:
    """Fit from joined rows and their moments; without moments, the rows hold NaN: by EM."""
    if moments is not None:
        return fit_joint_moments(moments, options, names, rows)
    seen = reduce_observed(rows.X, rows.codes, rows.weights, 1)
    unseen = np.flatnonzero(seen.feature_weights[0] == 0)
    if unseen.size:
        raise InputError(
            f"{options.owner}: no value is observed in {names.columns(unseen)}. Drop these columns."
        )
    with _remedy("Fit the rows without NaN alone, drop columns, or pass shrinkage='oas'."):
        em = fit_missing(
            rows,
            replace(options.recipe_for_missing, shape="tied"),
            JointNames(names.owner, names.classes, (*names.features, "target y")),
            tol=options.tol,
            max_iter=options.max_iter,
            progress=options.progress,
        )
        model = em.found.model
        covariance = _cleared(model.covariances, model.active)
        where = Where(names, None, int(seen.counts[0]))
        target = TargetGivenFeatures.of(model.means[0], covariance, where)
    return Joint(
        mean=model.means[0],
        covariance=covariance,
        amount=float(em.found.amounts),
        trace=em.trace,
        converged=em.converged,
        target=target,
        repair=em.found.repair,
    )


def fit_joint_moments(
    moments: ClassMoments, options: Options, names: Names, rows: Rows | None = None
) -> Joint:
    """Fit in closed form; Ledoit-Wolf needs the rows too."""
    mean, n_rows = moments.means[0], int(moments.counts[0])
    if n_rows < 2:
        raise NumericalError(f"{options.owner}: one row has no covariance. Add rows.")
    covariance = _cleared(maximum_likelihood(moments, "tied"), ~moments.constant_features())
    second_pass = None if rows is None else second_pass_over(rows, None)
    shrinkage = options.recipe.shrinkage
    amount = float(shrinkage_amounts(covariance, moments, None, shrinkage, names, second_pass))
    covariance, repair = shrunk(covariance, amount), None
    where = Where(JointNames(names.owner, names.classes, names.features), None, n_rows)
    try:
        target = TargetGivenFeatures.of(mean, covariance, where)
    except SingularCovarianceError as singular:
        if not options.recipe.repair:
            kind = "oas" if rows is None else "auto"
            remedy = f"Drop columns, add rows, or pass shrinkage={kind!r} or singular='repair'."
            raise SingularCovarianceError(singular.fault, remedy) from None
        more = oas_amount(covariance, float(moments.weights[0]))
        covariance, amount = shrunk(covariance, more), 1 - (1 - amount) * (1 - more)
        target = TargetGivenFeatures.of(mean, covariance, where)
        repair = f"{singular.fault} Repaired with shrinkage {amount:.3g}."
    trace = np.array([_log_likelihood(target, covariance, moments)])
    return Joint(mean, covariance, amount, trace, True, target, repair)  # noqa: FBT003


@contextmanager
def _remedy(text: str) -> Iterator[None]:
    """Give a singular covariance a remedy that fits a regression."""
    try:
        yield
    except SingularCovarianceError as singular:
        raise SingularCovarianceError(singular.fault, text) from None


def _cleared(covariance: F64, active: Bool) -> F64:
    """Set what rounding left of constant columns to zero."""
    return np.where(np.outer(active, active), covariance, 0.0)


def _log_likelihood(target: TargetGivenFeatures, covariance: F64, moments: ClassMoments) -> float:
    r"""Give :math:`\sum_i w_i \log p(x_i, t_i)`, infinite if the fit is exact.

    The target comes last: the last row of the whitener is (-coefficients, 1) over the deviation.
    """
    active = np.append(target.active, target.total > 0)
    if not active.any():
        return 0.0
    if active[-1] and target.variance == 0:
        return float("inf")
    w, log_determinant = np.zeros(covariance.shape), target.log_determinant
    w[:-1, :-1] = target.whitener
    if active[-1]:
        w[-1] = np.append(-target.coefficients, 1.0) / np.sqrt(target.variance)
        log_determinant += float(np.log(target.variance))
    fitted = moments.means, covariance, w, np.array([log_determinant]), active
    return log_likelihood(ClassGaussians("tied", *fitted), moments)


def check_size(n_features: int, owner: str) -> None:
    """Refuse a covariance that would not fit into memory."""
    n_bytes = 8 * (n_features + 1) ** 2
    if n_bytes > MOST_BYTES:
        raise InputError(
            f"{owner}: the covariance of {n_features} features needs {n_bytes / 2**30:.1f} GiB, "
            f"above {MOST_BYTES / 2**30:.0f} GiB. Select fewer features."
        )


def check_columns(first: Any, second: Any, owner: str) -> None:
    """Check that two regressors were fitted to the same columns."""
    if first.n_features_in_ != second.n_features_in_:
        raise ShapeError(
            f"{owner}.merge: {first.n_features_in_} features cannot be merged with "
            f"{second.n_features_in_}. Fit the same columns."
        )
    mine, theirs = (list(getattr(each, "feature_names_in_", [])) for each in (first, second))
    if mine and theirs and mine != theirs:
        raise InputError(
            f"{owner}.merge: the columns differ: {listing(mine)} and {listing(theirs)}. Put them "
            "in the same order."
        )


class RegressorState(Storable, RegressorMixin, BaseEstimator):
    """Private half of ``GaussianRegressor``: what it reads, what it keeps, what it shows."""

    summary_: ClassMoments | None
    _joint: Joint
    _problem: str | None
    #: Told of a repair already, so that a stream is not told at every batch.
    _warned: bool = False

    def _predict(self, X: Any) -> tuple[F64, F64]:
        """Give mean and variance of the target of each row."""
        self._check_ready()
        rows = validate_data(
            self, without_mask(X), reset=False, dtype="numeric", ensure_all_finite=False
        )
        return self._joint.target.predict(rows)

    def _check_ready(self) -> None:
        check_is_fitted(self)
        if self._problem is not None:
            raise NumericalError(self._problem)

    def _read(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        """Check rows, target and weights; give those of positive weight, joined."""
        if reset:
            self.__dict__.pop("schema_", None)
        rows, target = validate_data(
            self,
            without_mask(X),
            y,
            reset=reset,
            dtype="numeric",
            ensure_all_finite=False,
            y_numeric=True,
        )
        check_size(rows.shape[1], _OWNER)
        target = as_floats(target, _OWNER, "targets y")
        if np.abs(target).max() > _MOST:
            raise InputError(
                f"{_OWNER}: y contains {np.abs(target).max():g}, whose square is not a number. "
                "Rescale y."
            )
        weights = None if sample_weight is None else as_weights(sample_weight, len(rows), _OWNER)
        kept = None
        if weights is not None and not weights.all():
            kept = np.flatnonzero(weights)
            weights = weights[kept]
        joined = JoinedRows(rows, target, kept)
        return Rows(joined, np.zeros(len(joined), dtype=np.intp), weights, 1)

    def _names(self) -> Names:
        """Name the columns for messages."""
        columns = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        return JointNames(_OWNER, ("rows",), tuple(columns.tolist()))

    def _set(self, joint: Joint, summary: ClassMoments | None) -> None:
        """Keep a fit and show what it learned."""
        target = joint.target
        self._joint, self._problem, self.summary_ = joint, None, summary
        self.coef_ = target.coefficients
        self.intercept_ = float(joint.mean[-1] - joint.mean[:-1] @ self.coef_)
        self.variance_ = target.variance
        self.mean_, self.covariance_ = joint.mean, joint.covariance
        self.shrinkage_ = joint.amount
        self.constant_features_ = ~target.active
        self.n_parameters_ = joint.n_parameters
        self.log_likelihood_trace_ = joint.trace
        self.log_likelihood_ = float(joint.trace[-1])
        self.converged_ = joint.converged
        self.n_iter_ = max(1, len(joint.trace) - 1)
        if joint.repair is not None and not self._warned:
            warnings.warn(joint.repair, SingularWarning, stacklevel=3)
            self._warned = True

    def _restart(self, summary: ClassMoments, options: Options) -> Self:
        """Continue from a summary; if it does not determine a model yet, remember why."""
        try:
            self._set(fit_joint_moments(summary, options, self._names()), summary)
        except NumericalError as problem:
            self.summary_, self._problem = summary, str(problem)
            for name in [each for each in vars(self) if each.endswith("_")]:
                if name not in _OF_THE_ROWS:
                    delattr(self, name)
        return self

    def _fit_summary(self, summary: ClassMoments, names: Sequence[str]) -> Self:
        """Fit from the moments of all rows of a table."""
        options = Options.checked(self)
        with unchanged_on_error(self):
            self._warned = False
            self.n_features_in_ = len(names)
            self.feature_names_in_ = np.array(names, dtype=object)
            self._set(fit_joint_moments(summary, options, self._names()), summary)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
