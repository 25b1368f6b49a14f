"""Bayes decision theory: probabilities and losses in, acts and risks out."""

from __future__ import annotations

from credo._lazy import doors

__getattr__, __dir__ = doors(
    __name__,
    {
        "credo.decisions.act": ["Decisions", "decide"],
        "credo.decisions.least_error": ["BayesError", "bayes_error", "bhattacharyya_bound"],
        "credo.decisions.confusion": ["Confusion", "confusion_matrix"],
        "credo.decisions.coverage": ["CoveragePoint", "RiskCoverage", "risk_coverage"],
        "credo.decisions.curves": ["CostCurve", "NetBenefit", "cost_curve", "net_benefit"],
        "credo.decisions.dominance": ["Dominance"],
        "credo.decisions.empirical": ["ExpectedLoss", "expected_loss"],
        "credo.decisions.evaluation": ["ActRisk", "Evaluation", "evaluate"],
        "credo.decisions.gaussian": ["Gaussian"],
        "credo.decisions.information": [
            "InformationValue",
            "value_of_perfect_information",
            "value_of_test",
        ],
        "credo.decisions.loss": ["Loss"],
        "credo.decisions.predictive": ["Quantiles", "Samples"],
        "credo.decisions.line": ["Regions", "regions"],
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
