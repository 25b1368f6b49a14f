"""Bayes decision theory: probabilities and losses in, acts and risks out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo._lazy import doors

if TYPE_CHECKING:  # the same names for type checkers and editors
    from credo.decisions.act import Decisions as Decisions, decide as decide
    from credo.decisions.confusion import (
        Confusion as Confusion,
        confusion_matrix as confusion_matrix,
    )
    from credo.decisions.coverage import (
        CoveragePoint as CoveragePoint,
        RiskCoverage as RiskCoverage,
        risk_coverage as risk_coverage,
    )
    from credo.decisions.curves import (
        CostCurve as CostCurve,
        NetBenefit as NetBenefit,
        cost_curve as cost_curve,
        net_benefit as net_benefit,
    )
    from credo.decisions.dominance import Dominance as Dominance
    from credo.decisions.empirical import (
        ExpectedLoss as ExpectedLoss,
        expected_loss as expected_loss,
    )
    from credo.decisions.evaluation import (
        ActRisk as ActRisk,
        Evaluation as Evaluation,
        evaluate as evaluate,
    )
    from credo.decisions.information import (
        InformationValue as InformationValue,
        value_of_perfect_information as value_of_perfect_information,
        value_of_test as value_of_test,
    )
    from credo.decisions.least_error import (
        BayesError as BayesError,
        bayes_error as bayes_error,
        bhattacharyya_bound as bhattacharyya_bound,
    )
    from credo.decisions.line import Regions as Regions, regions as regions
    from credo.decisions.loss import Loss as Loss
    from credo.decisions.predictive import Quantiles as Quantiles, Samples as Samples
    from credo.decisions.reliability import Calibration as Calibration, calibration as calibration
    from credo.decisions.rules import (
        likelihood_ratio_test as likelihood_ratio_test,
        likelihood_ratio_threshold as likelihood_ratio_threshold,
        maximum_posterior as maximum_posterior,
        reject_below as reject_below,
    )
    from credo.decisions.value import (
        SquaredSplit as SquaredSplit,
        ValueDecision as ValueDecision,
        decide_value as decide_value,
        split_squared as split_squared,
    )
    from credo.decisions.value_losses import (
        Absolute as Absolute,
        AsymmetricLinear as AsymmetricLinear,
        Linex as Linex,
        Pinball as Pinball,
        Squared as Squared,
        ZeroOne as ZeroOne,
    )

__getattr__, __dir__, __all__ = doors(
    __name__,
    {
        "credo.decisions.act": ["Decisions", "decide"],
        "credo.decisions.confusion": ["Confusion", "confusion_matrix"],
        "credo.decisions.coverage": ["CoveragePoint", "RiskCoverage", "risk_coverage"],
        "credo.decisions.curves": ["CostCurve", "NetBenefit", "cost_curve", "net_benefit"],
        "credo.decisions.dominance": ["Dominance"],
        "credo.decisions.empirical": ["ExpectedLoss", "expected_loss"],
        "credo.decisions.evaluation": ["ActRisk", "Evaluation", "evaluate"],
        "credo.decisions.information": [
            "InformationValue",
            "value_of_perfect_information",
            "value_of_test",
        ],
        "credo.decisions.least_error": ["BayesError", "bayes_error", "bhattacharyya_bound"],
        "credo.decisions.line": ["Regions", "regions"],
        "credo.decisions.loss": ["Loss"],
        "credo.decisions.predictive": ["Quantiles", "Samples"],
        "credo.decisions.reliability": ["Calibration", "calibration"],
        "credo.decisions.rules": [
            "likelihood_ratio_test",
            "likelihood_ratio_threshold",
            "maximum_posterior",
            "reject_below",
        ],
        "credo.decisions.value": ["SquaredSplit", "ValueDecision", "decide_value", "split_squared"],
        "credo.decisions.value_losses": [
            "Absolute",
            "AsymmetricLinear",
            "Linex",
            "Pinball",
            "Squared",
            "ZeroOne",
        ],
    },
)
