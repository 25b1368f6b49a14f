"""Variables, factors and networks, and compiling them to flat arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo._lazy import doors

if TYPE_CHECKING:  # the same names for type checkers and editors
    from credo.graphs.bayesian_network import BayesianNetwork as BayesianNetwork
    from credo.graphs.chains import chain as chain
    from credo.graphs.codes import parity_graph as parity_graph
    from credo.graphs.factor_graph import FactorGraph as FactorGraph
    from credo.graphs.factors import Factor as Factor
    from credo.graphs.grids.field import GridField as GridField
    from credo.graphs.grids.smoothness import (
        Ising as Ising,
        Potts as Potts,
        TruncatedLinear as TruncatedLinear,
        TruncatedQuadratic as TruncatedQuadratic,
    )
    from credo.graphs.markov_network import MarkovNetwork as MarkovNetwork
    from credo.graphs.structured import (
        AtMostOne as AtMostOne,
        Deterministic as Deterministic,
        NoisyAnd as NoisyAnd,
        NoisyOr as NoisyOr,
        Parity as Parity,
    )
    from credo.graphs.variables import Variable as Variable
    from credo.graphs.wiring import Wiring as Wiring

__getattr__, __dir__, __all__ = doors(
    __name__,
    {
        "credo.graphs.bayesian_network": ["BayesianNetwork"],
        "credo.graphs.chains": ["chain"],
        "credo.graphs.codes": ["parity_graph"],
        "credo.graphs.factor_graph": ["FactorGraph"],
        "credo.graphs.factors": ["Factor"],
        "credo.graphs.grids.field": ["GridField"],
        "credo.graphs.grids.smoothness": [
            "Ising",
            "Potts",
            "TruncatedLinear",
            "TruncatedQuadratic",
        ],
        "credo.graphs.markov_network": ["MarkovNetwork"],
        "credo.graphs.structured": ["AtMostOne", "Deterministic", "NoisyAnd", "NoisyOr", "Parity"],
        "credo.graphs.variables": ["Variable"],
        "credo.graphs.wiring": ["Wiring"],
    },
)
