"""Labelled probabilities: the currency between all rooms."""

from credo.posterior.joint import JointTable
from credo.posterior.posterior import Posterior
from credo.posterior.posterior_map import PosteriorMap
from credo.posterior.prior_shift import PriorEstimate

__all__ = ["JointTable", "Posterior", "PosteriorMap", "PriorEstimate"]
