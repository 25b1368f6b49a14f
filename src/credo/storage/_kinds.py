"""Kinds of fields: how each is written, and what is checked before it is believed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, final

import numpy as np

from credo.storage._faults import Fault
from credo.storage._json import Json
from credo.storage._page import Page, Scope
from credo.storage._scalars import MOST_WHOLE, scalar_from, scalar_to
from credo.storage._sequences import read_labels, write_labels


class Kind(ABC):
    """How a field is written to a page and read from a scope."""

    @abstractmethod
    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write a value; give what stands for it in the tree."""

    @abstractmethod
    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Check what stands in the tree; give the value."""


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
        array = np.asarray(value)
        known = array.dtype in self._dtypes
        return page.array(path, array if known else array.astype(self._dtypes[0]))

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Check type, shape and range; a number comes back as one."""
        array = scope.array(node, path)
        if array.dtype not in self._dtypes:
            raise Fault(f"{path} is of type {array.dtype}, not {self._dtypes[0]}")
        scope.bind(self._chosen(array.ndim, path, scope), array.shape, path)
        self._check_range(array, path)
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

    def _check_range(self, array: Any, path: str) -> None:
        """Refuse NaN, infinity and numbers that are too small."""
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

    ``distinct`` labels must all differ and be of that type.
    """

    def __init__(
        self, dims: str, *forms: type, least: int = 0, distinct: type | None = None
    ) -> None:
        self._dims, self._forms, self._least, self._distinct = dims, forms, least, distinct

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the labels."""
        return write_labels(value, path, page)

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Check the form and the number."""
        labels: Any = read_labels(node, path, scope, lambda n: scope.bind(self._dims, (n,), path))
        if type(labels) not in self._forms:
            raise Fault(f"{path} holds its labels in the wrong form")
        shape = labels.shape if isinstance(labels, np.ndarray) else (len(labels),)
        scope.bind(self._dims, shape, path)
        if len(labels) < self._least:
            raise Fault(f"{path} has {len(labels)} labels, fewer than {self._least}")
        if self._distinct is not None:
            self._check_distinct(labels, path)
        return labels

    def _check_distinct(self, labels: Any, path: str) -> None:
        """Check that no label comes twice."""
        items = labels.tolist() if isinstance(labels, np.ndarray) else labels
        known = {item for item in items if isinstance(item, self._distinct or object)}
        if len(known) < len(items):
            raise Fault(f"{path} holds a label twice, or of another kind")


#: The labels of K classes, of which there is at least one.
CLASSES = Labels("K", np.ndarray, least=1, distinct=object)


@final
class Single(Kind):
    """A single value, of one of some types."""

    def __init__(self, *types: type) -> None:
        self._types = types

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the value."""
        return scalar_to(value, path, page)

    def read(self, node: Json, path: str, scope: Scope) -> Any:  # noqa: ARG002 - no arrays
        """Check the type; a truth value is no number."""
        value = scalar_from(node, path)
        if self._types and type(value) not in self._types:
            raise Fault(f"{path} is a {type(value).__name__}, not a {self._types[0].__name__}")
        return value


@final
class Count(Kind):
    """A whole number that is at least zero; ``size`` names it."""

    def __init__(self, size: str | None = None) -> None:
        self._size = size

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the number."""
        return scalar_to(int(value), path, page)

    def read(self, node: Json, path: str, scope: Scope) -> int:
        """Check the number, and that it is the size of the arrays."""
        if type(node) is not int or not 0 <= node < MOST_WHOLE:
            raise Fault(f"{path} is no whole number from 0")
        if self._size is not None:
            scope.bind(self._size, (node,), path)
        return node


@final
class Choice(Kind):
    """One of some texts."""

    def __init__(self, *choices: str) -> None:
        self._choices = choices

    def write(self, value: Any, path: str, page: Page) -> Json:  # noqa: ARG002 - nothing to say
        """Write the text."""
        return value

    def read(self, node: Json, path: str, scope: Scope) -> str:  # noqa: ARG002 - no arrays
        """Check the text."""
        if not isinstance(node, str) or node not in self._choices:
            raise Fault(f"{path} is none of {', '.join(self._choices)}")
        return node


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


@final
class Apart(Kind):
    """A thing whose sizes have nothing to do with those around it."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the thing."""
        return self._kind.write(value, path, page)

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Read the thing with sizes of its own."""
        return self._kind.read(node, path, scope.only())


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
        if self._check is not None:
            self._check(inner.fields, inner)
        return self._make(**inner.fields)


@final
class Many(Kind):
    """A tuple of things of one kind, each with sizes of its own."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write one after the other."""
        return [self._kind.write(each, f"{path}.{i}", page) for i, each in enumerate(value)]

    def read(self, node: Json, path: str, scope: Scope) -> tuple[Any, ...]:
        """Read one after the other."""
        if not isinstance(node, list):
            raise Fault(f"{path} is no list")
        return tuple(
            self._kind.read(each, f"{path}.{i}", scope.inner(own_sizes=True))
            for i, each in enumerate(node)
        )


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
