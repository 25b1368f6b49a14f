"""How estimators are stored: their parameters, and what they learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, final

import numpy as np

from credo._records import field_of
from credo.classifiers._base import ScoredClassifier
from credo.classifiers.table_schema import TableSchema
from credo.exceptions import InputError
from credo.storage._derived import field_kind, record_kind
from credo.storage._faults import Fault
from credo.storage._json import Json
from credo.storage._kinds import CLASSES, Apart, Count, Kind, Labels, Maybe, Single, check_fields
from credo.storage._page import Page, Scope
from credo.storage._values import Value
from credo.storage._vectorizers import Vectorizer

#: The parameter that reports progress is no part of the model.
_DROPPED = "progress"
SCHEMA = Apart(record_kind(TableSchema))
#: What all estimators may have: the columns that they were fitted to.
COLUMNS: dict[str, Kind] = {
    "n_features_in_": Count("D"),
    "feature_names_in_": Labels("D", np.ndarray, each=str, distinct=True),
    "schema_": SCHEMA,
}


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """What of an estimator is stored."""

    #: What was learned, in the order in which it is read.
    learned: Mapping[str, Kind]
    #: What of it must be there; and what more, if the model is determined.
    needed: frozenset[str]
    ready: frozenset[str] = frozenset()
    #: Parameters that are not plain values, and must be there.
    parameters: Mapping[str, Kind] = field(default_factory=dict)
    #: Sets what is made again, from what was read.
    finish: Callable[[Any, dict[str, Any]], None] = field(default=lambda _model, _found: None)


@cache
def learner_kind(make: Any) -> Estimator:
    """Return how models are stored: what they learned from a summary, or from passes."""
    learned, needed, ready = dict(COLUMNS), {"n_features_in_"}, frozenset[str]()
    if make.kind == "documents":
        needed = set()
    if make.Summary is None:
        learned = {"classes_": CLASSES, **learned, "_fitted": record_kind(make.Fitted)}
        every = frozenset({*needed, "classes_", "_fitted"})
        return Estimator(make, Plan(learned, every, finish=_show))
    summary = field_kind(field_of(make.Summary, "Summary"))
    needed.add("summary_")
    if make.Fitted is not None:
        if issubclass(make, ScoredClassifier):
            learned = {"classes_": CLASSES, **learned}
            needed.add("classes_")
        summary, ready = Maybe(summary), frozenset({"_fitted"})
        learned["_fitted"] = field_kind(field_of(make.Fitted, "Fitted"))
    learned |= {"summary_": summary, "_problem": Maybe(Single(str)), "_warned": Single(bool)}
    return Estimator(make, Plan(learned, frozenset(needed), ready, finish=_show))


def _show(model: Any, found: dict[str, Any]) -> None:
    """Let a model show what it learned, as a fit does at its end, but without warnings."""
    summary: Any = found.get("summary_")
    warned = found.get("_warned")
    if model.Fitted is None and isinstance(model, ScoredClassifier):
        model.classes_ = summary.classes
    model._check_loaded()  # noqa: SLF001 - it is there to be called here, as all of these
    if found.get("_problem") is not None:
        return
    model._warned = True  # noqa: SLF001
    if model.Fitted is None:
        model._learn(summary)  # noqa: SLF001
    else:
        model._set(found["_fitted"], found.get("classes_"), summary)  # noqa: SLF001
    del model._warned  # noqa: SLF001
    if warned is not None:
        model._warned = warned  # noqa: SLF001
    if not np.isclose(np.sum(getattr(model, "priors_", 1.0)), 1.0):
        raise Fault("its classes have no weight")


@final
class Estimator(Kind):
    """An estimator with parameters and learned attributes."""

    def __init__(self, make: Any, plan: Plan) -> None:
        self.make, self._plan = make, plan
        names = make._get_param_names()  # noqa: SLF001 - scikit-learn's
        special, plain = {"vectorizer": Maybe(Vectorizer()), **plan.parameters}, Value()
        self._parameters = {n: special.get(n, plain) for n in names if n != _DROPPED}

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the parameters and what was learned."""
        found = vars(value)
        if not self._plan.needed <= set(found):
            raise InputError(
                f"This {self.make.__name__} is not fitted, so there is nothing to save. Fit it "
                "first; an unfitted model is no more than its parameters."
            )
        determined = found.get("_problem") is None
        if not determined and not page.summary:
            raise InputError(
                f"This {self.make.__name__} waits for more rows: {found['_problem']} Without its "
                "summary nothing would be left of it. Save it with summary=True."
            )
        kept = {
            name: found[name]
            for name in self._plan.learned
            if name in found and (determined or name not in self._plan.ready)
        }
        self._refuse_others(value, kept)
        if not page.summary and "_fitted" in kept:
            kept["summary_"] = None
        learned = {
            name: self._plan.learned[name].write(each, f"{path}.{name}", page)
            for name, each in kept.items()
        }
        return {"parameters": self.write_parameters(value, path, page), "learned": learned}

    def write_parameters(self, value: Any, path: str, page: Page) -> dict[str, Json]:
        """Write the parameters."""
        given = value.get_params(deep=False)
        if hasattr(value, "_plain_parameters"):
            given = value._plain_parameters()  # noqa: SLF001 - what is named instead of passed
        return {n: k.write(given[n], f"{path}.{n}", page) for n, k in self._parameters.items()}

    def _refuse_others(self, value: Any, kept: dict[str, Any]) -> None:
        """Refuse attributes that would be lost: those that no model has which is made of these."""
        twin = self.make(**value.get_params(deep=False))
        vars(twin).update(kept)
        self._plan.finish(twin, kept)
        strange = sorted(name for name in set(vars(value)) - set(vars(twin)) if name[0] != "_")
        if strange:
            raise InputError(
                f"This {self.make.__name__} has the attribute {strange[0]!r}, which model files "
                f"do not hold. Remove it first: del model.{strange[0]}."
            )

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Check the parameters and what was learned, then put the estimator together."""
        check_fields(node, {"parameters", "learned"}, {"parameters", "learned"}, path)
        model = self.read_parameters(node["parameters"], path, scope)
        learned, plan = node["learned"], self._plan
        check_fields(learned, set(plan.learned), set(plan.needed), path)
        if learned.get("_problem") is None:
            check_fields(learned, set(plan.learned), set(plan.ready), path)
        inner = scope.inner()
        for name, kind in plan.learned.items():
            if name in learned:
                inner.fields[name] = kind.read(learned[name], f"{path}.{name}", inner)
        vars(model).update(inner.fields)
        plan.finish(model, inner.fields)
        return model

    def read_parameters(self, node: Json, path: str, scope: Scope) -> Any:
        """Make an unfitted estimator; a plain parameter that is not there has its default."""
        check_fields(node, set(self._parameters), set(self._plan.parameters), path)
        inner = scope.inner(own_sizes=True)
        read = {n: self._parameters[n].read(v, f"{path}.{n}", inner) for n, v in node.items()}
        return self.make(**read)
