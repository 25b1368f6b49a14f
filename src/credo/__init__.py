"""Credo: from evidence to decisions.

The lobby. Names are loaded from their rooms when they are first used, so that ``import credo``
costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo._lazy import doors
from credo._version import __version__ as __version__

if TYPE_CHECKING:  # the same names for type checkers and editors
    from credo.classifiers import (
        ClassSummary as ClassSummary,
        DecisionClassifier as DecisionClassifier,
        GaussianClassifier as GaussianClassifier,
        GaussianRegressor as GaussianRegressor,
        LogisticClassifier as LogisticClassifier,
        NaiveBayes as NaiveBayes,
        TextClassifier as TextClassifier,
        compare_generative_discriminative as compare_generative_discriminative,
        count_parameters as count_parameters,
        expected_loss_scorer as expected_loss_scorer,
        summarise as summarise,
    )
    from credo.decisions import (
        Decisions as Decisions,
        Loss as Loss,
        decide as decide,
        decide_value as decide_value,
    )
    from credo.formats import (
        read_bif as read_bif,
        read_network as read_network,
        write_network as write_network,
    )
    from credo.graphs import (
        BayesianNetwork as BayesianNetwork,
        FactorGraph as FactorGraph,
        GridField as GridField,
        MarkovNetwork as MarkovNetwork,
        chain as chain,
    )
    from credo.images import (
        add_noise as add_noise,
        denoise as denoise,
        segment as segment,
    )
    from credo.inference import (
        JunctionTree as JunctionTree,
        bounds as bounds,
        explain as explain,
        infer as infer,
        infer_grid as infer_grid,
        infer_many as infer_many,
        k_best as k_best,
        marginal_map as marginal_map,
        max_marginals as max_marginals,
        mpe as mpe,
        plan as plan,
    )
    from credo.posterior import (
        JointTable as JointTable,
        Posterior as Posterior,
        PosteriorMap as PosteriorMap,
        PriorEstimate as PriorEstimate,
    )
    from credo.storage import load as load
    from credo.tables import (
        evaluate_table as evaluate_table,
        fit_table as fit_table,
        predict_table as predict_table,
        update_table as update_table,
    )

__getattr__, __dir__, __all__ = doors(
    __name__,
    {
        "credo.classifiers": [
            "ClassSummary",
            "DecisionClassifier",
            "GaussianClassifier",
            "GaussianRegressor",
            "LogisticClassifier",
            "NaiveBayes",
            "TextClassifier",
            "compare_generative_discriminative",
            "count_parameters",
            "expected_loss_scorer",
            "summarise",
        ],
        "credo.decisions": ["Decisions", "Loss", "decide", "decide_value"],
        "credo.formats": ["read_bif", "read_network", "write_network"],
        "credo.graphs": ["BayesianNetwork", "FactorGraph", "GridField", "MarkovNetwork", "chain"],
        "credo.images": ["add_noise", "denoise", "segment"],
        "credo.inference": [
            "JunctionTree",
            "bounds",
            "explain",
            "infer",
            "infer_grid",
            "infer_many",
            "k_best",
            "marginal_map",
            "max_marginals",
            "mpe",
            "plan",
        ],
        "credo.posterior": ["JointTable", "Posterior", "PosteriorMap", "PriorEstimate"],
        "credo.storage": ["load"],
        "credo.tables": ["evaluate_table", "fit_table", "predict_table", "update_table"],
    },
    rooms=[
        "classifiers",
        "decisions",
        "exceptions",
        "families",
        "formats",
        "graphs",
        "images",
        "inference",
        "plots",
        "posterior",
        "storage",
        "tables",
    ],
)
