"""How the summaries of single families are stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from credo.families import PositiveSummary, ScatterSummary, SumSummary
from credo.families.sketch import SketchSummary
from credo.storage._kinds import Choice, Kind, Numbers, Record
from credo.families.moments import ClassMoments
from credo.storage._derived import record_kind

MOMENTS = record_kind(ClassMoments)


def _summary(make: Any, name: str, weight: str, fields: Mapping[str, Kind]) -> Record:
    """Describe the summary of one family."""
    return Record(make, {"family": Choice(name), "weight": Numbers(weight, least=0), **fields})


def _sums(name: str, weight: str) -> Record:
    """Describe a summary of weights and sums."""
    return _summary(SumSummary, name, weight, {"total": Numbers("K D", least=0)})


def _positive(name: str, weight: str, dims: str) -> Record:
    """Describe a summary of positive numbers."""
    fields = ("mean", "rest", "divergence")
    return _summary(PositiveSummary, name, weight, {each: Numbers(dims) for each in fields})


_SKETCH = {
    "points": Numbers("K D M", finite=False),  # NaN where a column has fewer
    "point_weights": Numbers("K D M", least=0),
    "rank_error": Numbers("K D", least=0),
}
_SCATTER = {"mean": Numbers("K D"), "rest": Numbers("K D"), "scatter": Numbers("K D D")}

#: By the family of a part with D columns, in K classes. Categories are stored apart.
SUMMARIES: dict[str, Kind] = {
    "gaussian": MOMENTS,
    "laplace": _summary(SketchSummary, "Laplace", "K D", _SKETCH),
    "bernoulli": _sums("Bernoulli", "K D"),
    "poisson": _sums("Poisson", "K D"),
    "exponential": _sums("Exponential", "K D"),
    "multinomial": _sums("Multinomial", "K"),
    "gamma": _positive("Gamma", "K D", "K D"),
    "beta": _positive("Beta", "K D", "K D 2"),
    "dirichlet": _positive("Dirichlet", "K", "K D"),
    "multivariate_gaussian": _summary(ScatterSummary, "MultivariateGaussian", "K", _SCATTER),
}
