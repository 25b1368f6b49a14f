"""Which classes can be stored, and how; names from files are compared with these, no more."""

from __future__ import annotations

from credo.classifiers._base import LearnsFromSummary
from credo.classifiers.naive_bayes import NaiveSummary
from credo.classifiers.summary import ClassSummary
from credo.classifiers.text import WordSummary
from credo.storage._decision_models import KINDS as DECISIONS
from credo.storage._derived import record_kind
from credo.storage._estimators import learner_kind
from credo.storage._kinds import Kind
from credo.storage._logistic_models import LOGISTIC

#: Summaries that are stored by themselves, as they declare.
_RECORDS = (ClassSummary, NaiveSummary, WordSummary)
_GRAPHS = ("BayesianNetwork", "FactorGraph", "GridField", "MarkovNetwork")


def storable() -> tuple[str, ...]:
    """Name all classes that can be stored."""
    named = (each.__name__ for each in (*_RECORDS, *DECISIONS, LOGISTIC.make))
    return tuple(sorted((*LearnsFromSummary.known, *named, *_GRAPHS)))


def kind_named(name: str) -> Kind | None:
    """Return how the class of a name is stored, or None if it is not."""
    return next(iter(_found(name).values()), None)


def kind_of(value: object) -> Kind | None:
    """Return how an object is stored, or None; subclasses are other classes."""
    return _found(type(value).__name__).get(type(value))


def _found(name: str) -> dict[type, Kind]:
    """Return the class of a name, if it can be stored, and how."""
    if name in LearnsFromSummary.known:
        model = LearnsFromSummary.known[name]
        return {model: learner_kind(model)}
    kinds = {**DECISIONS, LOGISTIC.make: LOGISTIC}
    if name in _GRAPHS:  # a room that other models do without
        from credo.storage import _grids, _networks  # noqa: PLC0415

        kinds = {**_grids.KINDS, **_networks.KINDS}
    kinds |= {each: record_kind(each) for each in _RECORDS}
    return {each: kind for each, kind in kinds.items() if each.__name__ == name}
