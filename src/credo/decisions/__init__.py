"""Bayes decision theory: probabilities and losses in, acts and expected losses out."""

from credo.decisions._decide import (
    Decisions,
    decide,
    likelihood_ratio_test,
    likelihood_ratio_threshold,
    maximum_posterior,
    reject_below,
)
from credo.decisions.curves import (
    CostCurve,
    CoveragePoint,
    NetBenefit,
    RiskCoverage,
    RocCurve,
    cost_curve,
    net_benefit,
    risk_coverage,
    roc_curve,
)
from credo.decisions.evaluation import (
    ActRisk,
    Confusion,
    Evaluation,
    ExpectedLoss,
    confusion_matrix,
    evaluate,
    expected_loss,
)
from credo.decisions.information import (
    InformationValue,
    value_of_perfect_information,
    value_of_test,
)
from credo.decisions.joint_density import JointDensity
from credo.decisions.least_error import BayesError, bayes_error, bhattacharyya_bound
from credo.decisions.line import Regions, regions
from credo.decisions.loss import Dominance, Loss
from credo.decisions.predictive import Quantiles, Samples
from credo.decisions.reliability import Calibration, calibration
from credo.decisions.values import (
    Absolute,
    AsymmetricLinear,
    Linex,
    Pinball,
    Squared,
    SquaredSplit,
    ValueDecision,
    ZeroOne,
    decide_value,
    split_squared,
)

__all__ = [
    "Absolute",
    "ActRisk",
    "AsymmetricLinear",
    "BayesError",
    "Calibration",
    "Confusion",
    "CostCurve",
    "CoveragePoint",
    "Decisions",
    "Dominance",
    "Evaluation",
    "ExpectedLoss",
    "InformationValue",
    "JointDensity",
    "Linex",
    "Loss",
    "NetBenefit",
    "Pinball",
    "Quantiles",
    "Regions",
    "RiskCoverage",
    "RocCurve",
    "Samples",
    "Squared",
    "SquaredSplit",
    "ValueDecision",
    "ZeroOne",
    "bayes_error",
    "bhattacharyya_bound",
    "calibration",
    "confusion_matrix",
    "cost_curve",
    "decide",
    "decide_value",
    "evaluate",
    "expected_loss",
    "likelihood_ratio_test",
    "likelihood_ratio_threshold",
    "maximum_posterior",
    "net_benefit",
    "regions",
    "reject_below",
    "risk_coverage",
    "roc_curve",
    "split_squared",
    "value_of_perfect_information",
    "value_of_test",
]
