"""Exponential families: summary, merge, estimate, log density, sample."""

from credo.families.boundary import Hyperplane, Quadric
from credo.families.class_gaussians import Conditional
from credo.families.continuous import Beta, Dirichlet, Exponential, Gamma, Laplace
from credo.families.discrete import Bernoulli, Categorical, Multinomial, Poisson
from credo.families.family import AbstractFamily
from credo.families.gaussian import DiagonalGaussian, Gaussian, MultivariateGaussian
from credo.families.histogram import Histogram
from credo.families.summaries import (
    AbstractSummary,
    CountSummary,
    MomentSummary,
    PositiveSummary,
    SketchSummary,
    SumSummary,
)

__all__ = [
    "AbstractFamily",
    "AbstractSummary",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Conditional",
    "CountSummary",
    "DiagonalGaussian",
    "Dirichlet",
    "Exponential",
    "Gamma",
    "Gaussian",
    "Histogram",
    "Hyperplane",
    "Laplace",
    "MomentSummary",
    "Multinomial",
    "MultivariateGaussian",
    "Poisson",
    "PositiveSummary",
    "Quadric",
    "SketchSummary",
    "SumSummary",
]
