"""Engines: exact answers on graphs, planned before they run, and honest approximations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo._lazy import doors

if TYPE_CHECKING:  # the same names for type checkers and editors
    from credo.inference._explain import (
        FindingWeight as FindingWeight,
        WeightOfEvidence as WeightOfEvidence,
        explain as explain,
    )
    from credo.inference._infer import infer as infer
    from credo.inference._plan import Plan as Plan, plan as plan
    from credo.inference.bounding.certified import Bounds as Bounds, bounds as bounds
    from credo.inference.configurations import (
        Configuration as Configuration,
        MaxMarginals as MaxMarginals,
    )
    from credo.inference.gibbs.diagnostics import (
        effective_sample_size as effective_sample_size,
        r_hat as r_hat,
    )
    from credo.inference.graph_posterior import GraphPosterior as GraphPosterior
    from credo.inference.grids import GridPosterior as GridPosterior, infer_grid as infer_grid
    from credo.inference.junction_tree import JunctionTree as JunctionTree
    from credo.inference.many import (
        ManyEngine as ManyEngine,
        ManyPosteriors as ManyPosteriors,
        infer_batches as infer_batches,
        infer_many as infer_many,
    )
    from credo.inference.maximum import (
        k_best as k_best,
        marginal_map as marginal_map,
        max_marginals as max_marginals,
        mpe as mpe,
    )
    from credo.inference.message_passing import (
        MessagePassing as MessagePassing,
        pass_messages as pass_messages,
    )
    from credo.inference.messages import Message as Message

__getattr__, __dir__, __all__ = doors(
    __name__,
    {
        "credo.inference._infer": ["infer"],
        "credo.inference.bounding.certified": ["Bounds", "bounds"],
        "credo.inference.gibbs.diagnostics": ["effective_sample_size", "r_hat"],
        "credo.inference._explain": ["WeightOfEvidence", "FindingWeight", "explain"],
        "credo.inference.grids": ["GridPosterior", "infer_grid"],
        "credo.inference.junction_tree": ["JunctionTree"],
        "credo.inference.many": ["ManyEngine", "ManyPosteriors", "infer_batches", "infer_many"],
        "credo.inference.configurations": ["Configuration", "MaxMarginals"],
        "credo.inference.maximum": [
            "k_best",
            "marginal_map",
            "max_marginals",
            "mpe",
        ],
        "credo.inference.message_passing": ["MessagePassing", "pass_messages"],
        "credo.inference.messages": ["Message"],
        "credo.inference._plan": ["Plan", "plan"],
        "credo.inference.graph_posterior": ["GraphPosterior"],
    },
)
