"""Exponential families: summary, merge, estimate, log density, sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo._lazy import doors

if TYPE_CHECKING:  # the same names for type checkers and editors
    from credo.families._base import AbstractFamily as AbstractFamily
    from credo.families._summary import AbstractSummary as AbstractSummary
    from credo.families.bernoulli import Bernoulli as Bernoulli
    from credo.families.beta import Beta as Beta
    from credo.families.boundary import Hyperplane as Hyperplane, Quadric as Quadric
    from credo.families.categorical import Categorical as Categorical
    from credo.families.class_gaussians import Conditional as Conditional
    from credo.families.diagonal_gaussian import DiagonalGaussian as DiagonalGaussian
    from credo.families.dirichlet import Dirichlet as Dirichlet
    from credo.families.exponential import Exponential as Exponential
    from credo.families.gamma import Gamma as Gamma
    from credo.families.gaussian import Gaussian as Gaussian
    from credo.families.laplace import Laplace as Laplace
    from credo.families.multinomial import Multinomial as Multinomial
    from credo.families.multivariate import MultivariateGaussian as MultivariateGaussian
    from credo.families.poisson import Poisson as Poisson
    from credo.families.sketch import SketchSummary as SketchSummary
    from credo.families.summaries import (
        CountSummary as CountSummary,
        MomentSummary as MomentSummary,
        PositiveSummary as PositiveSummary,
        ScatterSummary as ScatterSummary,
        SumSummary as SumSummary,
    )

__getattr__, __dir__, __all__ = doors(
    __name__,
    {
        "credo.families._base": ["AbstractFamily"],
        "credo.families._summary": ["AbstractSummary"],
        "credo.families.bernoulli": ["Bernoulli"],
        "credo.families.beta": ["Beta"],
        "credo.families.categorical": ["Categorical"],
        "credo.families.diagonal_gaussian": ["DiagonalGaussian"],
        "credo.families.dirichlet": ["Dirichlet"],
        "credo.families.exponential": ["Exponential"],
        "credo.families.gamma": ["Gamma"],
        "credo.families.gaussian": ["Gaussian"],
        "credo.families.boundary": ["Hyperplane", "Quadric"],
        "credo.families.class_gaussians": ["Conditional"],
        "credo.families.laplace": ["Laplace"],
        "credo.families.multinomial": ["Multinomial"],
        "credo.families.multivariate": ["MultivariateGaussian"],
        "credo.families.poisson": ["Poisson"],
        "credo.families.sketch": ["SketchSummary"],
        "credo.families.summaries": [
            "CountSummary",
            "MomentSummary",
            "PositiveSummary",
            "ScatterSummary",
            "SumSummary",
        ],
    },
)
