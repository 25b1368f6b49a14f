"""How Gaussian classifiers and regressors are stored."""

from __future__ import annotations

from typing import Any

from credo.classifiers.gaussian import GaussianClassifier
from credo.classifiers.regression import GaussianRegressor, Joint
from credo.families.class_gaussians import ClassGaussians
from credo.families.covariances import GaussianFit
from credo.families.subspace import Projection
from credo.storage._estimators import (
    COLUMNS,
    Dropped,
    Estimator,
    OfSummary,
    Plan,
    as_stored,
    check_priors,
)
from credo.storage._faults import Fault
from credo.storage._kinds import CLASSES, Apart, Choice, Kind, Maybe, Numbers, Record, Single
from credo.storage._moments import CLASS_SUMMARY
from credo.storage._page import Scope

#: What a fit shows, beside the classes and the summary.
_LEARNED = (
    "priors_",
    "means_",
    "covariances_",
    "proportions_",
    "shrinkage_",
    "coef_",
    "intercept_",
    "components_",
    "constant_features_",
    "n_parameters_",
    "log_likelihood_",
    "log_likelihood_trace_",
    "converged_",
    "n_iter_",
)

#: Covariances and whiteners by shape: K classes, Q features or components.
_COVARIANCES = {
    "full": "K Q Q",
    "tied": "Q Q",
    "diagonal": "K Q",
    "tied_diagonal": "Q",
    "spherical": "K",
    "tied_spherical": "",
    "proportional": "Q Q",
}
_WHITENERS = {**_COVARIANCES, "spherical": "K Q", "tied_spherical": "Q"}


def _check_factors(fields: dict[str, Any], scope: Scope) -> None:  # noqa: ARG001 - of all checks
    """Check that proportional covariances, and only these, have factors."""
    if (fields["factors"] is None) == (fields["shape"] == "proportional"):
        raise Fault("the factors of the covariances do not fit their shape")


_MODEL = Record(
    ClassGaussians,
    {
        "shape": Choice(*_COVARIANCES),
        "means": Numbers("K Q"),
        "covariances": Numbers(_COVARIANCES, by="shape"),
        "whiteners": Numbers(_WHITENERS, by="shape"),
        "log_determinants": Numbers("K"),
        "active": Numbers("Q", "?"),
        "factors": Maybe(Numbers("K")),
    },
    _check_factors,
)


def _check_projection(fields: dict[str, Any], scope: Scope) -> None:
    """Check that a model without a projection is one of the features, and has a likelihood."""
    if not scope.sizes["T"]:
        raise Fault("the model has no likelihood")
    if fields["projection"] is None and scope.sizes["Q"] != scope.sizes["D"]:
        raise Fault("the model has another number of features than its means")


_FITTED = Record(
    GaussianFit,
    {
        "model": _MODEL,
        "weights": Numbers("K", least=0),
        "amounts": Numbers(("", "K")),
        "repair": Maybe(Single(str)),
        "trace": Numbers("T", finite=False),
        "converged": Single(bool),
        "projection": Maybe(
            Record(
                Projection,
                {"components": Numbers("Q D"), "centre": Numbers("D"), "shares": Numbers("Q")},
            )
        ),
    },
    _check_projection,
)


def _restore_classifier(model: Any, found: dict[str, Any]) -> None:
    """Show what was learned; linear scores are as stored, which saves a product of matrices."""
    if found["_problem"] is not None:
        return
    classes, fitted = found["classes_"], found["_fitted"]
    stored = found.get("coef_"), found.get("intercept_")
    if fitted.model.is_linear:
        if any(array is None for array in stored):
            raise Fault("the model lacks its linear scores")
        if len(found["coef_"]) != (1 if len(classes) == 2 else len(classes)):
            raise Fault("the linear scores do not fit the classes")
    with as_stored(model, found, _linear=lambda _: stored):
        model._set(fitted, classes, found["summary_"])  # noqa: SLF001 - what a fit does at its end
    check_priors(model)


_CLASSIFIER = Plan(
    parameters={"progress": Dropped()},
    learned={
        "classes_": CLASSES,
        **COLUMNS,
        "_fitted": _FITTED,
        "coef_": Numbers("L D"),
        "intercept_": Numbers("L", finite=False),
        "summary_": OfSummary(CLASS_SUMMARY),
        "_problem": Maybe(Single(str)),
        "_warned": Single(bool),
    },
    needed=frozenset({"classes_", "n_features_in_", "summary_", "_problem"}),
    ready=frozenset({"_fitted"}),
    remade=frozenset({*_LEARNED, "_model"}),
    finish=_restore_classifier,
)


_JOINT = Record(
    Joint,
    {
        "mean": Numbers("E"),
        "covariance": Numbers("E E"),
        "features": _MODEL,
        "slopes": Numbers("Q"),
        "variance": Single(float),
        "amount": Single(float),
        "trace": Numbers("T", finite=False),
        "converged": Single(bool),
    },
)


def _restore_regressor(model: Any, found: dict[str, Any]) -> None:
    """Show what was learned."""
    summary = found["summary_"]
    wanted = (1, found["n_features_in_"] + 1)
    if summary is not None and (summary.means.shape != wanted or summary.moments.detail != "tied"):
        raise Fault("the summary does not fit the features")
    if found["_problem"] is None:
        with as_stored(model, found):
            model._set(found["_fitted"], None, summary)  # noqa: SLF001 - what a fit does at its end


_REGRESSOR = Plan(
    parameters={"progress": Dropped()},
    learned={
        **COLUMNS,
        "_fitted": _JOINT,
        "summary_": OfSummary(Apart(CLASS_SUMMARY)),
        "_problem": Maybe(Single(str)),
        "_warned": Single(bool),
    },
    needed=frozenset({"n_features_in_", "summary_", "_problem"}),
    ready=frozenset({"_fitted"}),
    remade=frozenset(
        {
            "coef_",
            "intercept_",
            "variance_",
            "mean_",
            "covariance_",
            "constant_features_",
            "n_parameters_",
            "log_likelihood_",
            "n_iter_",
            "shrinkage_",
            "log_likelihood_trace_",
            "converged_",
        }
    ),
    finish=_restore_regressor,
)

KINDS: dict[type, Kind] = {
    GaussianClassifier: Estimator(GaussianClassifier, _CLASSIFIER),
    GaussianRegressor: Estimator(GaussianRegressor, _REGRESSOR),
}
