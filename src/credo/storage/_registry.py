"""Which classes can be stored, and how; names from files are compared with these, no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from credo.storage._kinds import Kind

Kinds: TypeAlias = Mapping[type, Kind]


def _class_summary() -> Kinds:
    from credo.storage._moments import KINDS  # noqa: PLC0415 - the others are not needed

    return KINDS


def _naive_summary() -> Kinds:
    from credo.storage._naive_summaries import KINDS  # noqa: PLC0415 - the others are not needed

    return KINDS


def _gaussian() -> Kinds:
    from credo.storage._gaussian_models import KINDS  # noqa: PLC0415 - the others are not needed

    return KINDS


def _naive() -> Kinds:
    from credo.storage._naive_models import KINDS  # noqa: PLC0415 - the others are not needed

    return KINDS


def _logistic() -> Kinds:
    from credo.storage._logistic_models import KINDS  # noqa: PLC0415 - the others are not needed

    return KINDS


def _decision() -> Kinds:
    from credo.storage._decision_models import KINDS  # noqa: PLC0415 - the others are not needed

    return KINDS


def _network() -> Kinds:
    from credo.storage._networks import KINDS  # noqa: PLC0415 - the others are not needed

    return KINDS


def _grid() -> Kinds:
    from credo.storage._grids import KINDS  # noqa: PLC0415 - the others are not needed

    return KINDS


#: By the name of the class: what loads how it is stored.
_HOMES: dict[str, Callable[[], Kinds]] = {
    "BayesianNetwork": _network,
    "ClassSummary": _class_summary,
    "DecisionClassifier": _decision,
    "FactorGraph": _network,
    "GaussianClassifier": _gaussian,
    "GaussianRegressor": _gaussian,
    "GridField": _grid,
    "LogisticClassifier": _logistic,
    "Loss": _decision,
    "MarkovNetwork": _network,
    "NaiveBayes": _naive,
    "NaiveSummary": _naive_summary,
    "TextClassifier": _naive,
    "WordSummary": _naive_summary,
}
#: Names of all classes that can be stored.
STORABLE = tuple(_HOMES)


def kind_named(name: str) -> Kind | None:
    """Give how the class of a name is stored, or None if it is not."""
    return next((kind for cls, kind in _found(name).items() if cls.__name__ == name), None)


def kind_of(value: object) -> Kind | None:
    """Give how an object is stored, or None; subclasses are other classes."""
    return _found(type(value).__name__).get(type(value))


def _found(name: str) -> Kinds:
    """Give the classes that are stored in the same way as the one of a name."""
    return _HOMES[name]() if name in _HOMES else {}
