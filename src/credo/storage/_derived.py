"""How records are stored: as they declare themselves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, final

import numpy as np

from credo._records import Declaration, declared
from credo.storage._faults import Fault
from credo.storage._json import Json
from credo.storage._kinds import (
    Apart,
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


@cache
def record_kind(record: type) -> Kind:
    """Return how records of a class are stored; those that check themselves do so when read."""

    def make(**fields: Any) -> Any:
        made = record(**fields)
        if hasattr(made, "_check"):
            made._check()  # noqa: SLF001 - it is there to be called here
        return made

    return Record(make, {name: field_kind(field) for name, field in declared(record).items()})


def field_kind(field: Declaration) -> Kind:
    """Return how a field is stored."""
    kind = _kind(field, str(field.dims or ""), field.marks)
    return Maybe(kind) if field.optional else kind


def _kind(field: Declaration, letters: str, marks: frozenset[str]) -> Kind:
    """Return how a field is stored that is not None."""
    if field.holds == "numbers":
        least, finite = 0 if ">= 0" in marks else None, "any" not in marks
        return Numbers(field.dims or "", field.of[0], by=field.by, least=least, finite=finite)
    if field.holds == "labels":
        of_array = field.of == (np.ndarray,)
        least, distinct = int(of_array), of_array or "distinct" in marks
        return Labels(letters, *field.of, least=least, each=field.each, distinct=distinct)
    if field.holds == "choice":
        return Choice(*field.of)
    if field.holds == "single":
        return Count(letters or None) if field.of == (int,) else Single(*field.of)
    one_of = OneOf({each.__name__: record_kind(each) for each in field.of})
    if field.many:
        return Many(one_of, letters)
    kind = one_of if len(field.of) > 1 else record_kind(field.of[0])
    return kind if field.dims is None else Apart(kind, letters)


@final
class OneOf(Kind):
    """Records of one class or of several."""

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        self._kinds = kinds

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write a single record."""
        return self.write_all([value], path, page)

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Read a single record."""
        return self.read_all(node, path, [scope])[0]

    def write_all(self, values: list[Any], path: str, page: Page) -> Json:
        """Write which of the classes each has, and the records of one class together."""
        names = [type(value).__name__ for value in values]
        which = np.array([list(self._kinds).index(name) for name in names], dtype=np.int64)
        found: dict[str, Json] = {"which": page.array(f"{path}.which", which)}
        for name in dict.fromkeys(names):
            group = [value for value, its in zip(values, names, strict=True) if its == name]
            found[name] = self._kinds[name].write_all(group, f"{path}.{name}", page)
        return found

    def which(self, node: Json, path: str, scope: Scope) -> list[int]:
        """Read which of the classes each record has."""
        check_fields(node, {"which", *self._kinds}, {"which"}, path)
        which = scope.array(node["which"], path)
        if which.dtype != np.int64 or which.ndim != 1 or not len(which):
            raise Fault(f"{path} does not say what it holds")
        scope.spend(len(which), path)
        if which.min() < 0 or which.max() >= len(self._kinds):
            raise Fault(f"{path} holds a record of an unknown class")
        return which.tolist()

    def read_all(self, node: Json, path: str, scopes: list[Scope]) -> list[Any]:
        """Read the records of each class, and put them into their order."""
        which = self.which(node, path, scopes[0])
        if len(which) != len(scopes):
            raise Fault(f"{path} has {len(which)} records, not {len(scopes)}")
        found: dict[int, Any] = {}
        for number, (name, kind) in enumerate(self._kinds.items()):
            own = [scope for scope, its in zip(scopes, which, strict=True) if its == number]
            if bool(own) != (name in node):
                raise Fault(f"{path} has other classes than it says")
            found[number] = iter(kind.read_all(node[name], path, own) if own else ())
        return [next(found[number]) for number in which]


@final
class Many(Kind):
    """A tuple of records, each with sizes of its own but for some that it shares."""

    def __init__(self, kind: OneOf, letters: str) -> None:
        self._kind, self._letters = kind, letters.split()

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write all records together."""
        return self._kind.write_all(list(value), path, page) if value else None

    def read(self, node: Json, path: str, scope: Scope) -> tuple[Any, ...]:
        """Read all records."""
        if node is None:
            return ()
        count = len(self._kind.which(node, path, scope))
        scopes = [scope.only(*self._letters) for _ in range(count)]
        return tuple(self._kind.read_all(node, path, scopes))
