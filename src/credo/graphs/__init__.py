"""Variables, factors and networks, and compiling them to flat arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo._lazy import doors

if TYPE_CHECKING:  # the same names for type checkers and editors
    from credo.graphs.bayesian_network import BayesianNetwork as BayesianNetwork
    from credo.graphs.builders import chain as chain, parity_graph as parity_graph
    from credo.graphs.factor_graph import FactorGraph as FactorGraph
    from credo.graphs.factors import Factor as Factor
    from credo.graphs.grid_field import GridField as GridField
    from credo.graphs.markov_network import MarkovNetwork as MarkovNetwork
    from credo.graphs.smoothness import (
        Ising as Ising,
        Potts as Potts,
        TruncatedLinear as TruncatedLinear,
        TruncatedQuadratic as TruncatedQuadratic,
    )
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
        "credo.graphs.builders": ["chain", "parity_graph"],
        "credo.graphs.factor_graph": ["FactorGraph"],
        "credo.graphs.factors": ["Factor"],
        "credo.graphs.grid_field": ["GridField"],
        "credo.graphs.markov_network": ["MarkovNetwork"],
        "credo.graphs.smoothness": ["Ising", "Potts", "TruncatedLinear", "TruncatedQuadratic"],
        "credo.graphs.structured": ["AtMostOne", "Deterministic", "NoisyAnd", "NoisyOr", "Parity"],
        "credo.graphs.variables": ["Variable"],
        "credo.graphs.wiring": ["Wiring"],
    },
)
