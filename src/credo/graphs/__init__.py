"""Variables, factors and networks, and compiling them to flat arrays."""

from credo.graphs.bayesian_network import BayesianNetwork
from credo.graphs.builders import chain, parity_graph
from credo.graphs.conditional_table import ConditionalTable
from credo.graphs.factor_graph import FactorGraph
from credo.graphs.factors import Factor
from credo.graphs.grid_field import GridField
from credo.graphs.markov_network import MarkovNetwork
from credo.graphs.smoothness import Ising, Potts, TruncatedLinear, TruncatedQuadratic
from credo.graphs.structured import AtMostOne, Deterministic, NoisyAnd, NoisyOr, Parity
from credo.graphs.variables import Variable
from credo.graphs.wiring import Wiring

__all__ = [
    "AtMostOne",
    "BayesianNetwork",
    "ConditionalTable",
    "Deterministic",
    "Factor",
    "FactorGraph",
    "GridField",
    "Ising",
    "MarkovNetwork",
    "NoisyAnd",
    "NoisyOr",
    "Parity",
    "Potts",
    "TruncatedLinear",
    "TruncatedQuadratic",
    "Variable",
    "Wiring",
    "chain",
    "parity_graph",
]
