"""Kinds of fields: how each is written, and what is checked before it is believed."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any, final

import numpy as np

from credo._checks import plain
from credo.storage._faults import Fault
from credo.storage._json import Json
from credo.storage._page import Page, Scope
from credo.storage._scalars import MOST_WHOLE, scalar_from, scalar_to
from credo.storage._sequences import read_labels, read_sequence, write_labels, write_sequence


class Kind(ABC):
    """How a field is written to a page and read from a scope."""

    @abstractmethod
    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write a value; return what stands for it in the tree."""

    @abstractmethod
    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Check what stands in the tree; return the value."""

    def write_all(self, values: list[Any], path: str, page: Page) -> Json:
        """Write the field of many objects, one behind the other."""
        return [self.write(value, f"{path}.{i}", page) for i, value in enumerate(values)]

    def read_all(self, node: Json, path: str, scopes: list[Scope]) -> list[Any]:
        """Read the field of many objects, each in a scope of its own; there is at least one."""
        if not isinstance(node, list) or len(node) != len(scopes):
            raise Fault(f"{path} is no list of {len(scopes)}")
        return [
            self.read(each, f"{path}.{i}", scope)
            for i, (each, scope) in enumerate(zip(node, scopes, strict=True))
        ]


@final
class Numbers(Kind):
    """An array of numbers.

    ``dims`` names the sizes, ``"K D"``; or is a tuple of such, of which one must fit; or a
    mapping from the value of the field ``by`` to them. A single number has no axes.
    """

    def __init__(
        self,
        dims: str | tuple[str, ...] | Mapping[Any, str | tuple[str, ...]],
        dtype: str = "<f8",
        *,
        by: str | None = None,
        least: float | None = None,
        finite: bool = True,
    ) -> None:
        self._dims, self._by = dims, by
        self._dtypes = tuple(np.dtype(each) for each in dtype.split("|"))
        self._least, self._finite = least, finite

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the array."""
        return page.array(path, self._typed(value))

    def _typed(self, value: Any) -> Any:
        """Return the value as an array of a type that is stored."""
        array = np.asarray(value)
        return array if array.dtype in self._dtypes else array.astype(self._dtypes[0])

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Check type, shape and range."""
        array = scope.array(node, path)
        self._check_cells(array, path)
        return self._bound(array, path, scope)

    def write_all(self, values: list[Any], path: str, page: Page) -> Json:
        """Write all numbers in one array, and all shapes, with -1 for an axis that is not there."""
        arrays = [self._typed(value) for value in values]
        shapes = np.full((len(arrays), max(array.ndim for array in arrays)), -1)
        for row, array in zip(shapes, arrays, strict=True):
            row[: array.ndim] = array.shape
        cells = np.concatenate([array.ravel() for array in arrays])
        return [page.array(path, cells), page.array(f"{path}.shapes", shapes)]

    def read_all(self, node: Json, path: str, scopes: list[Scope]) -> list[Any]:
        """Cut the numbers into arrays."""
        if not isinstance(node, list) or len(node) != 2:
            raise Fault(f"{path} is no stack of arrays")
        cells, shapes = (scopes[0].array(reference, path) for reference in node)
        if cells.ndim != 1 or shapes.ndim != 2 or shapes.dtype != np.int64:
            raise Fault(f"{path} is no stack of arrays")
        self._check_cells(cells, path)
        listed = [tuple(n for n in row if n >= 0) for row in shapes.tolist()]
        pieces = cut(cells, [math.prod(shape) for shape in listed], len(scopes), path)
        return [
            self._bound(piece.reshape(shape), path, scope)
            for piece, shape, scope in zip(pieces, listed, scopes, strict=True)
        ]

    def _bound(self, array: Any, path: str, scope: Scope) -> Any:
        """Check the shape."""
        scope.bind(self._chosen(array.ndim, path, scope), array.shape, path)
        return array

    def _chosen(self, n_axes: int, path: str, scope: Scope) -> str:
        """Choose the symbols that this array must have."""
        dims = self._dims
        if isinstance(dims, Mapping):
            dims = dims[scope.fields[str(self._by)]]
        options = (dims,) if isinstance(dims, str) else dims
        fitting = [each for each in options if len(each.split()) == n_axes]
        if not fitting:
            raise Fault(f"{path} has {n_axes} axes, which none of {options} has")
        return fitting[0]

    def _check_cells(self, array: Any, path: str) -> None:
        """Refuse another type, NaN, infinity and numbers that are too small."""
        if array.dtype not in self._dtypes:
            raise Fault(f"{path} is of type {array.dtype}, not {self._dtypes[0]}")
        if not array.size or array.dtype.kind not in "fiu":
            return
        if self._finite and array.dtype.kind == "f":
            with np.errstate(all="ignore"):
                total = array.sum()
            if not np.isfinite(total) and not np.isfinite(array).all():
                raise Fault(f"{path} holds NaN or infinity")
        if self._least is not None and not array.min() >= self._least:
            raise Fault(f"{path} holds a number that is not at least {self._least:g}")


@final
class Labels(Kind):
    """Labels in the form in which they were; ``dims`` names how many there are.

    Each must be of a type, and they must differ if they are ``distinct``.
    """

    def __init__(
        self,
        dims: str,
        *forms: type,
        least: int = 0,
        each: type = object,
        distinct: bool = False,
    ) -> None:
        self._dims, self._forms, self._least = dims, forms, least
        self._each, self._distinct = each, distinct

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the labels."""
        return write_labels(value, path, page)

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Check the form and the number."""
        labels: Any = read_labels(node, path, scope, lambda n: scope.bind(self._dims, (n,), path))
        return self._checked(labels, path, scope)

    def write_all(self, values: list[Any], path: str, page: Page) -> Json:
        """Write tuples one behind the other, and where each ends."""
        if not all(isinstance(value, tuple) for value in values):
            return super().write_all(values, path, page)
        whole = [label for value in values for label in value]
        sizes = np.array([len(value) for value in values], dtype=np.int64)
        return {"of": write_labels(whole, path, page), "sizes": page.array(f"{path}.sizes", sizes)}

    def read_all(self, node: Json, path: str, scopes: list[Scope]) -> list[Any]:
        """Cut the labels into tuples."""
        if not isinstance(node, dict):
            return super().read_all(node, path, scopes)
        check_fields(node, {"of", "sizes"}, {"of", "sizes"}, path)
        whole, sizes = (
            read_labels(node["of"], path, scopes[0]),
            scopes[0].array(node["sizes"], path),
        )
        if not isinstance(whole, list) or sizes.dtype != np.int64 or sizes.ndim != 1:
            raise Fault(f"{path} is no stack of labels")
        pieces = cut(whole, sizes.tolist(), len(scopes), path)
        return [
            self._checked(tuple(piece), path, scope)
            for piece, scope in zip(pieces, scopes, strict=True)
        ]

    def _checked(self, labels: Any, path: str, scope: Scope) -> Any:
        """Check the form, the number, and each label."""
        if type(labels) not in self._forms:
            raise Fault(f"{path} holds its labels in the wrong form")
        shape = labels.shape if isinstance(labels, np.ndarray) else (len(labels),)
        scope.bind(self._dims, shape, path)
        if len(labels) < self._least:
            raise Fault(f"{path} has {len(labels)} labels, fewer than {self._least}")
        if isinstance(labels, range) or not (self._distinct or self._each is not object):
            return labels
        items = labels.tolist() if isinstance(labels, np.ndarray) else labels
        if self._each is not object and not all(isinstance(item, self._each) for item in items):
            raise Fault(f"{path} holds a label of another kind")
        if self._distinct and len(set(items)) < len(items):
            raise Fault(f"{path} holds a label twice")
        return labels


#: The labels of K classes, of which there is at least one.
CLASSES = Labels("K", np.ndarray, least=1, distinct=True)


class Scalar(Kind):
    """A single value."""

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the value."""
        return scalar_to(value, path, page)

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Read the value."""
        return self.checked(scalar_from(node, path), path, scope)

    def write_all(self, values: list[Any], path: str, page: Page) -> Json:
        """Write the values as a sequence."""
        return write_sequence([plain(value) for value in values], path, page)

    def read_all(self, node: Json, path: str, scopes: list[Scope]) -> list[Any]:
        """Read as many values as there are objects."""
        found = read_sequence(node, path, scopes[0])
        if len(found) != len(scopes):
            raise Fault(f"{path} has {len(found)} values, not {len(scopes)}")
        return [self.checked(v, path, scope) for v, scope in zip(found, scopes, strict=True)]

    @abstractmethod
    def checked(self, value: Any, path: str, scope: Scope) -> Any:
        """Check the value and return it."""


@final
class Single(Scalar):
    """A single value, of one of some types."""

    def __init__(self, *types: type) -> None:
        self._types = types

    def checked(self, value: Any, path: str, scope: Scope) -> Any:  # noqa: ARG002 - no sizes
        """Check the type; a boolean is no number."""
        if self._types and type(value) not in self._types:
            raise Fault(f"{path} is a {type(value).__name__}, not a {self._types[0].__name__}")
        return value


@final
class Count(Scalar):
    """A whole number that is at least zero; ``size`` names it."""

    def __init__(self, size: str | None = None) -> None:
        self._size = size

    def checked(self, value: Any, path: str, scope: Scope) -> int:
        """Check the number, and that it is the size of the arrays."""
        if type(value) is not int or not 0 <= value < MOST_WHOLE:
            raise Fault(f"{path} is no whole number from 0")
        if self._size is not None:
            scope.bind(self._size, (value,), path)
        return value


@final
class Choice(Scalar):
    """One of some texts."""

    def __init__(self, *choices: str) -> None:
        self._choices = choices

    def checked(self, value: Any, path: str, scope: Scope) -> str:  # noqa: ARG002 - no sizes
        """Check the text."""
        if not isinstance(value, str) or value not in self._choices:
            raise Fault(f"{path} is none of {', '.join(self._choices)}")
        return value


@final
class Maybe(Kind):
    """A field that may be None."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write None as null."""
        return None if value is None else self._kind.write(value, path, page)

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Read null as None."""
        return None if node is None else self._kind.read(node, path, scope)

    def write_all(self, values: list[Any], path: str, page: Page) -> Json:
        """Write where there is something, and what."""
        there = np.array([value is not None for value in values])
        found = [value for value in values if value is not None]
        written = self._kind.write_all(found, path, page) if found else None
        return [page.array(f"{path}.there", there), written]

    def read_all(self, node: Json, path: str, scopes: list[Scope]) -> list[Any]:
        """Read what is there, and None elsewhere."""
        if not isinstance(node, list) or len(node) != 2:
            raise Fault(f"{path} is no list of what may be there")
        there = scopes[0].array(node[0], path)
        if there.dtype != np.bool_ or there.shape != (len(scopes),):
            raise Fault(f"{path} does not say what is there")
        known = [scope for scope, is_there in zip(scopes, there.tolist(), strict=True) if is_there]
        found = iter(self._kind.read_all(node[1], path, known) if known else ())
        return [next(found) if is_there else None for is_there in there.tolist()]


@final
class Apart(Kind):
    """A thing that shares some sizes only with what is around it."""

    def __init__(self, kind: Kind, letters: str = "") -> None:
        self._kind, self._letters = kind, letters.split()

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the thing."""
        return self._kind.write(value, path, page)

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Read the thing with sizes of its own."""
        return self._kind.read(node, path, scope.only(*self._letters))

    def write_all(self, values: list[Any], path: str, page: Page) -> Json:
        """Write all things."""
        return self._kind.write_all(values, path, page)

    def read_all(self, node: Json, path: str, scopes: list[Scope]) -> list[Any]:
        """Read all things, each with sizes of its own."""
        own = [scope.only(*self._letters) for scope in scopes]
        return self._kind.read_all(node, path, own)


@final
class Record(Kind):
    """An object with fields, all of which must be there, and no others.

    ``make`` gets the fields by name, once all of them have been checked.
    """

    def __init__(
        self,
        make: Callable[..., Any],
        fields: Mapping[str, Kind],
        check: Callable[[dict[str, Any], Scope], None] | None = None,
    ) -> None:
        self._make, self._fields, self._check = make, fields, check

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write each field."""
        fields = self._fields.items()
        return {n: k.write(getattr(value, n), f"{path}.{n}", page) for n, k in fields}

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Read each field in its order, then make the object."""
        check_fields(node, set(self._fields), set(self._fields), path)
        inner = scope.inner()
        for name, kind in self._fields.items():
            inner.fields[name] = kind.read(node[name], f"{path}.{name}", inner)
        return self._made(inner)

    def write_all(self, values: list[Any], path: str, page: Page) -> Json:
        """Write each field of all objects."""
        return {
            name: kind.write_all([getattr(v, name) for v in values], f"{path}.{name}", page)
            for name, kind in self._fields.items()
        }

    def read_all(self, node: Json, path: str, scopes: list[Scope]) -> list[Any]:
        """Read each field of all objects, then make them."""
        check_fields(node, set(self._fields), set(self._fields), path)
        inner = [scope.inner() for scope in scopes]
        for name, kind in self._fields.items():
            values = kind.read_all(node[name], f"{path}.{name}", inner)
            for scope, value in zip(inner, values, strict=True):
                scope.fields[name] = value
        return [self._made(scope) for scope in inner]

    def _made(self, scope: Scope) -> Any:
        """Make the object of fields that were read."""
        if self._check is not None:
            self._check(scope.fields, scope)
        return self._make(**scope.fields)


def cut(values: Any, sizes: list[int], count: int, path: str) -> list[Any]:
    """Cut an array or a list into so many pieces of these sizes, which must be all of it."""
    if len(sizes) != count or min(sizes) < 0 or sum(sizes) != len(values):
        raise Fault(f"the sizes of the pieces of {path} do not fit")
    ends = list(accumulate(sizes))
    return [values[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def check_fields(node: Json, known: set[str], needed: set[str], path: str) -> None:
    """Refuse a table with fields that are not known, or without one that is needed."""
    if not isinstance(node, dict):
        raise Fault(f"{path} is no table of fields")
    strange = sorted(set(node) - known)
    if strange:
        raise Fault(f"{path} has the field {strange[0][:80]!r}, which is not known")
    lacking = sorted(needed - set(node))
    if lacking:
        raise Fault(f"{path} lacks the field {lacking[0]!r}")
