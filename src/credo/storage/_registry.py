"""Which classes can be stored, and how; names from files are compared with these, no more."""

from __future__ import annotations

from importlib import import_module

from credo.classifiers._base import LearnsFromSummary
from credo.storage._derived import record_kind
from credo.storage._estimators import learner_kind
from credo.storage._kinds import Kind

#: Models that learn from a summary are stored as they declare, and so are these summaries.
_RECORDS = {
    "ClassSummary": "credo.classifiers.summary",
    "NaiveSummary": "credo.classifiers.naive_bayes",
    "WordSummary": "credo.classifiers.text",
}
#: The others, by the module that says how.
_OTHERS = {
    "BayesianNetwork": "_networks",
    "DecisionClassifier": "_decision_models",
    "FactorGraph": "_networks",
    "GridField": "_grids",
    "LogisticClassifier": "_logistic_models",
    "Loss": "_decision_models",
    "MarkovNetwork": "_networks",
}


def storable() -> tuple[str, ...]:
    """Name all classes that can be stored."""
    return tuple(sorted({*LearnsFromSummary.known, *_RECORDS, *_OTHERS}))


def kind_named(name: str) -> Kind | None:
    """Return how the class of a name is stored, or None if it is not."""
    found = _class_named(name)
    return None if found is None else found[1]


def kind_of(value: object) -> Kind | None:
    """Return how an object is stored, or None; subclasses are other classes."""
    found = _class_named(type(value).__name__)
    return found[1] if found is not None and found[0] is type(value) else None


def _class_named(name: str) -> tuple[type, Kind] | None:
    """Return the class of a name and how it is stored."""
    if name in LearnsFromSummary.known:
        made = LearnsFromSummary.known[name]
        return made, learner_kind(made)
    if name in _RECORDS:
        record = getattr(import_module(_RECORDS[name]), name)
        return record, record_kind(record)
    if name in _OTHERS:
        kinds = import_module(f"credo.storage.{_OTHERS[name]}").KINDS
        return next((each, kind) for each, kind in kinds.items() if each.__name__ == name)
    return None
