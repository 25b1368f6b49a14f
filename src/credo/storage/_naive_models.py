"""How naive Bayes models of columns and of words are stored: by their summaries."""

from __future__ import annotations

import numpy as np
from collections.abc import Mapping
from typing import Any, final

from credo.classifiers.naive.parts import FAMILIES, family_name
from credo.classifiers.naive_bayes import NaiveBayes
from credo.storage._estimators import COLUMNS, Estimator, Plan
from credo.storage._faults import Fault
from credo.storage._json import Json
from credo.storage._kinds import Choice, Kind, Labels, Maybe, Single, check_fields
from credo.storage._naive_summaries import NAIVE_SUMMARY
from credo.storage._page import Page, Scope
from credo.storage._values import Value

#: Libraries of data frames that rows may have come in.
_FRAMES = ("pandas", "polars", "pyarrow", "modin", "cudf")
@final
class _Families(Kind):
    """The families of columns, all by name."""

    _value = Value()

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write names in the place of classes."""
        if isinstance(value, Mapping):
            named = {column: _named(family) for column, family in value.items()}
            return self._value.write(named, path, page)
        return _named(value)

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Read a name, or a mapping from column to name."""
        value = self._value.read(node, path, scope)
        names = list(value.values()) if isinstance(value, dict) else [value]
        known = {*FAMILIES, "auto"}
        if not all(isinstance(name, str) and name in known for name in names):
            raise Fault(f"{path} names a family that is not known")
        return value


def _named(family: Any) -> str:
    """Name a family."""
    is_auto = isinstance(family, str) and family == "auto"
    return "auto" if is_auto else family_name(family, "NaiveBayes")


@final
class _Frame(Kind):
    """The library of data frames that the rows came in, or None."""

    _name = Maybe(Choice(*_FRAMES))

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write its name."""
        return self._name.write(value if value is None else str(value.value), path, page)

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Give the library that Narwhals has under the name."""
        name = self._name.read(node, path, scope)
        if name is None:
            return None
        from narwhals import Implementation  # noqa: PLC0415 - arrays do without it

        return next(each for each in Implementation if each.value == name)


def _restore_columns(model: Any, found: dict[str, Any]) -> None:
    """Estimate from the summary again, which is exact."""
    summary, width = found["summary_"], found["n_features_in_"]
    columns = [part.part.columns for part in summary.parts]
    is_sparse = [each == range(width) for each in columns if isinstance(each, range)]
    if found["_sparse"] != bool(is_sparse) or not all(is_sparse):
        raise Fault("the columns of the parts are not those of the model")
    placed = [] if is_sparse else sorted(j for each in columns for j in each)
    if not is_sparse and (len(placed) != width or placed != list(range(len(placed)))):
        raise Fault("the columns of the parts are not those of the model")
    model.classes_ = summary.classes
    if found["_problem"] is None:
        model._warned = True
        model._set(summary, sparse=found["_sparse"])  # noqa: SLF001 - as a fit does
        model._warned = found["_warned"]
        if not np.isfinite(model.priors_).all():
            raise Fault("its classes have no weight")


_COLUMNS_PLAN = Plan(
    parameters={"families": _Families()},
    learned={
        **COLUMNS,
        "summary_": NAIVE_SUMMARY,
        "_sparse": Single(bool),
        "_labels": Maybe(Labels("D", tuple)),
        "_kind": _Frame(),
        "_problem": Maybe(Single(str)),
        "_warned": Single(bool),
    },
    needed=frozenset({"n_features_in_", "summary_", "_sparse", "_problem"}),
    finish=_restore_columns,
)
KINDS: dict[type, Kind] = {
    NaiveBayes: Estimator(NaiveBayes, _COLUMNS_PLAN),
}
