"""How the summaries of naive Bayes models are stored: part by part, categories all together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from credo._types import F64, Int
from credo.classifiers.naive_bayes import NaiveSummary
from credo.classifiers.naive_terms import CategorySummary, Part, PartSummary
from credo.classifiers.text import WordSummary
from credo.storage._family_summaries import SUMMARIES
from credo.storage._faults import Fault
from credo.storage._json import Json
from credo.storage._kinds import (
    CLASSES,
    Choice,
    Kind,
    Labels,
    Many,
    Maybe,
    Numbers,
    Record,
    check_fields,
)
from credo.storage._page import Page, Scope

#: Libraries of data frames that rows may have come in.
FRAMES = ("pandas", "polars", "pyarrow", "modin", "cudf")


@final
class _OtherPart(Kind):
    """A part that is not categorical: its family tells what its summary is."""

    _head = Record(Part, {"family": Choice(*SUMMARIES), "columns": Labels("D", tuple, range)})

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the part and its summary."""
        head = self._head.write(value.part, path, page)
        return {**head, "summary": SUMMARIES[value.part.family].write(value.summary, path, page)}

    def read(self, node: Json, path: str, scope: Scope) -> PartSummary:
        """Read the part, then the summary that goes with its family."""
        check_fields(node, {"family", "columns", "summary"}, {"summary"}, path)
        head = {name: value for name, value in node.items() if name != "summary"}
        own = scope.only("K")  # D is the number of columns of the part
        part = self._head.read(head, path, own)
        if not isinstance(part.columns, range) and any(type(j) is not int for j in part.columns):
            raise Fault(f"{path} has columns that are no positions")
        return PartSummary(part, SUMMARIES[part.family].read(node["summary"], path, own))


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """All categorical parts, as a few long arrays."""

    #: Where the parts are among all parts, their columns, and where their categories end: (P,).
    places: Int
    columns: Int
    ends: Int
    #: (P, K).
    weights: F64
    #: Classes by categories, part by part.
    counts: F64
    categories: list[Any]

    @classmethod
    def of(cls, parts: tuple[PartSummary, ...], n_classes: int) -> _Counted:
        """Lay the categorical ones of the parts one after the other."""
        places = [i for i, each in enumerate(parts) if each.part.family == "categorical"]
        chosen = [parts[i] for i in places]
        values = [list(each.summary.categories) for each in chosen]
        counts = [each.summary.counts.ravel() for each in chosen]
        return cls(
            np.array(places, dtype=np.int64),
            np.array([each.part.columns[0] for each in chosen], dtype=np.int64),
            np.cumsum([len(each) for each in values], dtype=np.int64),
            np.array([each.summary.counts.sum(axis=1) for each in chosen]).reshape(
                len(chosen), n_classes
            ),
            np.concatenate([np.zeros(0), *counts]),
            [value for each in values for value in each],
        )

    def parts(self) -> list[PartSummary]:
        """Cut the arrays into parts again."""
        n_classes = self.weights.shape[1]
        starts = [0, *self.ends.tolist()]
        return [self._part(p, starts[p], starts[p + 1], n_classes) for p in range(len(self.ends))]

    def _part(self, number: int, start: int, stop: int, n_classes: int) -> PartSummary:
        """Cut one part out."""
        cells = self.counts[n_classes * start : n_classes * stop]
        counts = cells.reshape(n_classes, stop - start)
        return PartSummary(
            Part("categorical", (int(self.columns[number]),)),
            CategorySummary(tuple(self.categories[start:stop]), counts),
        )


def _check_counted(fields: dict[str, Any], scope: Scope) -> None:
    """Check that the arrays can be cut where the parts end."""
    ends = fields["ends"]
    if (np.diff(ends, prepend=0) < 0).any() or scope.sizes["S"] != (ends[-1] if ends.size else 0):
        raise Fault("the categories of the parts do not fit their ends")
    if scope.sizes["Z"] != scope.sizes["S"] * scope.sizes["K"]:
        raise Fault("the counts do not fit the categories and the classes")


@final
class _Parts(Kind):
    """The parts of a naive Bayes summary, in their order."""

    _others = Many(_OtherPart())
    _counted = Record(
        _Counted,
        {
            "places": Numbers("P", "<i8", least=0),
            "columns": Numbers("P", "<i8", least=0),
            "ends": Numbers("P", "<i8", least=0),
            "weights": Numbers("P K", least=0),
            "counts": Numbers("Z", least=0),
            "categories": Labels("S", list),
        },
        _check_counted,
    )

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write categorical parts together, others one by one."""
        parts, n_classes = value
        others = [each for each in parts if each.part.family != "categorical"]
        counted = _Counted.of(parts, n_classes)
        return {
            "others": self._others.write(others, path, page),
            "counted": self._counted.write(counted, f"{path}.counted", page),
        }

    def read(self, node: Json, path: str, scope: Scope) -> tuple[PartSummary, ...]:
        """Read both and put them into their order."""
        check_fields(node, {"others", "counted"}, {"others", "counted"}, path)
        others = iter(self._others.read(node["others"], path, scope))
        counted = self._counted.read(node["counted"], f"{path}.counted", scope)
        parts = counted.parts()
        total = len(parts) + len(node["others"])
        placed = dict(zip(counted.places.tolist(), parts, strict=True))
        if len(placed) < len(parts) or any(place >= total for place in placed):
            raise Fault(f"{path} has parts in places that are not there")
        result = tuple(placed[i] if i in placed else next(others) for i in range(total))
        columns = [column for each in result for column in _listed(each.part.columns)]
        if len(set(columns)) < len(columns) or min(columns, default=0) < 0:
            raise Fault(f"{path} has a column in two parts")
        return result


def _listed(columns: Any) -> list[int]:
    """List columns; a range is that of all of sparse rows, and stands for its ends."""
    if not isinstance(columns, range):
        return list(columns)
    return [0, len(columns) - 1][: len(columns)] if columns == range(len(columns)) else [-1]


@final
class _NaiveSummaryKind(Kind):
    """A NaiveSummary; its parts see the number of classes."""

    _head = Record(dict, {"classes": CLASSES, "weights": Numbers("K", least=0)})
    _parts = _Parts()
    _columns = Labels("D", tuple, range)

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write classes, weights, columns and parts."""
        head = self._head.write(value, path, page)
        parts = self._parts.write((value.parts, len(value.classes)), f"{path}.parts", page)
        columns = self._columns.write(value.columns, f"{path}.columns", page)
        return {**head, "columns": columns, "frame": value.frame, "parts": parts}

    def read(self, node: Json, path: str, scope: Scope) -> NaiveSummary:
        """Read classes and weights, then the parts."""
        check_fields(node, {"classes", "weights", "columns", "frame", "parts"}, {"parts"}, path)
        head = {name: node[name] for name in ("classes", "weights") if name in node}
        found = self._head.read(head, path, scope)
        parts = self._parts.read(node["parts"], f"{path}.parts", scope)
        columns: Any = range(sum(len(each.part.columns) for each in parts))
        if "columns" in node:  # version 1 had them beside the summary
            own = scope.only("K")
            columns = self._columns.read(node["columns"], f"{path}.columns", own)
        frame = Maybe(Choice(*FRAMES)).read(node.get("frame"), path, scope)
        return NaiveSummary(**found, columns=columns, frame=frame, parts=parts)


def _check_words(fields: dict[str, Any], scope: Scope) -> None:
    """Check that words are texts that differ, or all slots."""
    words = fields["words"]
    if isinstance(words, range):
        if words != range(scope.sizes["V"]):
            raise Fault("the slots of the words are not those of the counts")
    elif any(type(word) is not str for word in words) or len(set(words)) < len(words):
        raise Fault("the words are no texts that differ")


NAIVE_SUMMARY = _NaiveSummaryKind()
#: K classes, V words.
WORD_SUMMARY = Record(
    WordSummary,
    {
        "model": Choice("multinomial", "bernoulli"),
        "classes": CLASSES,
        "documents": Numbers("K", least=0),
        "words": Labels("V", tuple, range),
        "counts": Numbers("K V", least=0),
    },
    _check_words,
)

KINDS: dict[type, Kind] = {NaiveSummary: NAIVE_SUMMARY, WordSummary: WORD_SUMMARY}
