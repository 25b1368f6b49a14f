"""How estimators are stored: their parameters, and what they learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from credo.classifiers.table_schema import ColumnSpec, TableSchema
from credo.exceptions import InputError
from credo.storage._faults import Fault
from credo.storage._json import Json
from credo.storage._kinds import (
    Choice,
    Count,
    Kind,
    Labels,
    Maybe,
    Numbers,
    Record,
    Single,
    check_fields,
)
from credo.storage._page import Page, Scope
from credo.storage._values import Value

#: What scikit-learn keeps in estimators for itself, and is no part of the model.
_NOT_THE_MODEL = {"_metadata_request", "_sklearn_output_config"}
_KINDS_OF_COLUMNS = ("number", "boolean", "category", "code", "text")


@final
class Dropped(Kind):
    """A parameter that is no part of the model, such as a function that reports progress."""

    def write(self, value: Any, path: str, page: Page) -> Json:  # noqa: ARG002 - nothing is kept
        """Write nothing."""
        return None

    def read(self, node: Json, path: str, scope: Scope) -> None:  # noqa: ARG002 - no arrays
        """Give None."""
        if node is not None:
            raise Fault(f"{path} must be null")


@final
class OfSummary(Kind):
    """A summary, which is left out if the user does not want it."""

    def __init__(self, kind: Kind) -> None:
        self._kind = Maybe(kind)

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the summary if it is wanted."""
        return self._kind.write(value if page.summary else None, path, page)

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Read the summary, or None."""
        return self._kind.read(node, path, scope)


@final
class _SchemaKind(Kind):
    """The schema of a table, with all columns in a few arrays."""

    _table = Record(
        dict,
        {
            "target": Single(str),
            "label_kind": Choice("text", "number", "boolean"),
            "weight": Maybe(Single(str)),
            "missing": Labels("M", tuple),
            "names": Labels("C", list),
            "kinds": Labels("C", list),
            "ends": Numbers("C", "<i8", least=0),
            "categories": Labels("E", list),
        },
    )

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the columns one after the other."""
        columns = value.features
        flat = _Flat(
            value.target,
            value.label_kind,
            value.weight,
            value.missing,
            [each.name for each in columns],
            [each.kind for each in columns],
            np.cumsum([len(each.categories) for each in columns], dtype=np.int64),
            [category for each in columns for category in each.categories],
        )
        return self._table.write(flat, path, page)

    def read(self, node: Json, path: str, scope: Scope) -> TableSchema:
        """Cut the arrays into columns again."""
        found = self._table.read(node, path, scope.inner(own_sizes=True))
        ends, categories = found["ends"], tuple(found["categories"])
        starts = np.concatenate([[0], ends[:-1]]) if ends.size else ends
        if (starts > ends).any() or len(categories) != (ends[-1] if ends.size else 0):
            raise Fault(f"the categories of {path} do not fit the columns")
        texts = (*found["names"], *found["missing"])
        if any(type(text) is not str for text in texts):
            raise Fault(f"{path} has a column whose name is no text")
        if any(kind not in _KINDS_OF_COLUMNS for kind in found["kinds"]):
            raise Fault(f"{path} has a column of an unknown kind")
        columns = zip(found["names"], found["kinds"], starts.tolist(), ends.tolist(), strict=True)
        features = tuple(ColumnSpec(n, k, categories[a:b]) for n, k, a, b in columns)
        kept = ("target", "label_kind", "weight", "missing")
        return TableSchema(features=features, **{name: found[name] for name in kept})


@dataclass(frozen=True, slots=True)
class _Flat:
    """The columns of a schema as lists."""

    target: str
    label_kind: str
    weight: str | None
    missing: tuple[str, ...]
    names: list[str]
    kinds: list[str]
    ends: Any
    categories: list[Any]


#: What all estimators may have: the columns that they were fitted to.
COLUMNS: dict[str, Kind] = {
    "n_features_in_": Count("D"),
    "feature_names_in_": Labels("D", np.ndarray, distinct=str),
    "schema_": _SchemaKind(),
}


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """What of an estimator is stored."""

    #: Parameters that are not plain values, and must be there.
    parameters: Mapping[str, Kind]
    #: What was learned, in the order in which it is read.
    learned: Mapping[str, Kind]
    #: What of it must be there; and what more, if the model is determined.
    needed: frozenset[str]
    ready: frozenset[str] = frozenset()
    #: Attributes that ``finish`` makes again.
    remade: frozenset[str] = frozenset()
    #: Sets what is made again, from what was read.
    finish: Callable[[Any, dict[str, Any]], None] = field(default=lambda _model, _found: None)


@contextmanager
def as_stored(model: Any, found: dict[str, Any], **methods: Any) -> Iterator[None]:
    """Let a model show what it learned: without warnings, and without computing some of it."""
    stand_ins = {"_warned": True, **methods}
    vars(model).update(stand_ins)
    yield
    for name in stand_ins:
        del vars(model)[name]
    if "_warned" in found:
        vars(model)["_warned"] = found["_warned"]


def check_priors(model: Any) -> None:
    """Check that the classes have some weight."""
    if not np.isfinite(model.priors_).all():
        raise Fault("its classes have no weight")


@final
class Estimator(Kind):
    """An estimator with parameters and learned attributes."""

    def __init__(self, make: type, plan: Plan) -> None:
        self._make, self._plan = make, plan
        names = make._get_param_names()  # type: ignore[attr-defined]  # noqa: SLF001 - scikit-learn
        plain = Value()
        self._parameters = {name: plan.parameters.get(name, plain) for name in names}

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the parameters and what was learned."""
        found = vars(value)
        self._check_known(found)
        if not self._plan.needed <= set(found):
            raise InputError(
                f"This {self._make.__name__} is not fitted, so there is nothing to save. Fit it "
                "first; an unfitted model is no more than its parameters."
            )
        determined = found.get("_problem") is None
        if not determined and not page.summary:
            raise InputError(
                f"This {self._make.__name__} waits for more rows: {found['_problem']} Without its "
                "summary nothing would be left of it. Save it with summary=True."
            )
        learned = {
            name: kind.write(found[name], f"{path}.{name}", page)
            for name, kind in self._plan.learned.items()
            if name in found and (determined or name not in self._plan.ready)
        }
        return {"parameters": self.write_parameters(value, path, page), "learned": learned}

    def write_parameters(self, value: Any, path: str, page: Page) -> dict[str, Json]:
        """Write the parameters."""
        names = self._parameters.items()
        return {n: k.write(getattr(value, n), f"{path}.{n}", page) for n, k in names}

    def _check_known(self, found: Mapping[str, Any]) -> None:
        """Refuse attributes that would be lost."""
        known = {*self._parameters, *self._plan.learned, *self._plan.remade, *_NOT_THE_MODEL}
        strange = sorted(set(found) - known)
        if strange:
            raise InputError(
                f"This {self._make.__name__} has the attribute {strange[0]!r}, which model files "
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
        return self._make(**read)
