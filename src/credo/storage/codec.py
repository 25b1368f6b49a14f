"""Objects as a tree of small values and named arrays, and back, from what records declare.

All is written for many objects at once, field by field: of hundreds of records, each array is
stacked and each text joined, so that a file has few parts. Reading believes nothing: forms, types,
shapes and ranges are checked before an object is made, and objects check themselves.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Set as AbstractSet
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from itertools import accumulate
from typing import Any, TypeAlias, final

import numpy as np

from credo._checks import plain
from credo._records import Declaration, declared
from credo.columns import category_key
from credo.exceptions import InputError

#: What JSON can hold.
Json: TypeAlias = Any

#: Types of arrays that can be stored, by their names in the header of a file.
DTYPES: dict[str, np.dtype[Any]] = {
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (8, 4)},
    **{f"I{8 * size}": np.dtype(f"<i{size}") for size in (8, 4, 2, 1)},
    **{f"U{8 * size}": np.dtype(f"<u{size}") for size in (8, 4, 2, 1)},
    "BOOL": np.dtype("?"),
}
_STORED = frozenset(DTYPES.values())

#: Whole numbers below this fit into 64 bits; in the tree they may have this many.
_MOST_WHOLE, _MOST_BITS = 2**63, 512
#: Lists within lists, at most.
_MOST_DEEP = 16
#: Longer lists are written as arrays, so that the header stays short.
_SHORT = 8
#: Code points end here.
_MOST_CODE = 0x10FFFF
_ODD = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
#: Kinds of items that have an array of their own type.
_NUMBERS: dict[Any, str] = {bool: "<?", int: "<i8", float: "<f8"}
_SEQUENCES = {"numbers": ("b1", "i8", "f8"), "texts": ("u1",), "json": ("u1",)}
_SINGLE = (type(None), bool, int, float, str)
_LISTS: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


class Fault(Exception):  # noqa: N818 - never leaves this room
    """A fault in a file; the text is a clause that follows the name of the file."""


def parse(text: str | bytes, what: str) -> Json:
    """Parse strict JSON: no repeated keys, no NaN, nests as deep as Python's own calls at most."""
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        return _DECODER.decode(decoded)
    except (ValueError, RecursionError) as error:
        raise Fault(f"it is damaged: {what} cannot be read ({str(error)[:200]})") from None


def as_text(tree: Json) -> str:
    """Write a tree as short as it can be; the same tree gives the same text."""
    return _ENCODER.encode(tree)


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a table; a key that comes twice could mean two things."""
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a key comes twice")
    return table


def _refuse_constant(constant: str) -> None:
    """Refuse what is not JSON."""
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_table, parse_constant=_refuse_constant)
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


# --- what is written to and read from -------------------------------------------------------------


@final
class Page:
    """Takes the arrays of a model; one that several places share is written once."""

    def __init__(self, owner: str, *, summary: bool = True) -> None:
        self.owner, self.summary = owner, summary
        self.arrays: dict[str, Any] = {}
        self._names: dict[tuple[Any, ...], str] = {}
        self._kept: list[Any] = []

    def array(self, path: str, values: Any) -> str | dict[str, str]:
        """Take an array; return the reference to it, which tells if it lies column by column."""
        by_columns = values.ndim > 1 and values.mT.flags.c_contiguous
        if by_columns and not values.flags.c_contiguous:
            return {"by_columns": self._named(path, values.mT)}
        return self._named(path, values)

    def _named(self, path: str, values: Any) -> str:
        """Return the name under which an array is written."""
        dtype = values.dtype.newbyteorder("<")
        if dtype not in _STORED:
            raise InputError(
                f"{self.owner} holds numbers of type {values.dtype} ({path}), which model files do "
                "not have. Convert them to float64 or int64, and fit again."
            )
        place = values.__array_interface__["data"][0], values.shape, values.strides, dtype
        if values.size and place in self._names:
            return self._names[place]
        self._kept.append(values)  # its place in memory stays its own
        self._names[place] = path
        self.arrays[path] = np.ascontiguousarray(values, dtype).reshape(values.shape)
        return path

    def refuse(self, path: str, value: Any, remedy: str) -> InputError:
        """Make the error that says that something cannot be written."""
        return InputError(
            f"{self.owner} cannot be saved: {path} is of type {type(value).__name__}. {remedy}"
        )


@final
class Shelf:
    """The arrays of a file, which of them were used, and how much may still be made of them."""

    def __init__(self, arrays: Mapping[str, Any], size: int) -> None:
        self.arrays, self.room = arrays, size
        self.used: set[str] = set()

    def spend(self, count: int, path: str) -> None:
        """Refuse to make more values than the file has bytes, such as of one array many times."""
        self.room -= count
        if self.room < 0:
            raise Fault(f"{path} has more values than the file has room for")

    def array(self, reference: Json, path: str) -> Any:
        """Find the array of a reference."""
        by_columns = isinstance(reference, dict) and set(reference) == {"by_columns"}
        name = reference["by_columns"] if by_columns else reference
        if not isinstance(name, str) or name not in self.arrays:
            raise Fault(f"{path} refers to an array that is not there")
        self.used.add(name)
        array = self.arrays[name]
        if by_columns:
            if array.ndim < 2:
                raise Fault(f"{path} is not a matrix")
            array = array.mT
        return array

    def vector(self, reference: Json, path: str, dtype: str = "<i8") -> Any:
        """Find an array of one axis and of a type."""
        array = self.array(reference, path)
        if array.dtype != dtype or array.ndim != 1:
            raise Fault(f"{path} is not a list of numbers")
        return array


@final
@dataclass(slots=True)
class Scope:
    """The sizes bound so far, and the fields read so far, of one object."""

    shelf: Shelf
    sizes: dict[str, int] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)

    def inner(self, letters: str | None = None) -> Scope:
        """Return the scope of an object within, which shares all sizes, or some only."""
        if letters is None:
            return Scope(self.shelf, self.sizes)
        shared = {each: self.sizes[each] for each in letters.split() if each in self.sizes}
        return Scope(self.shelf, shared)

    def bind(self, dims: str, shape: tuple[int, ...], path: str) -> None:
        """Check a shape against letters such as ``"K D"``; a new letter takes the size found."""
        letters = dims.split()
        if len(letters) != len(shape):
            raise Fault(f"{path} has {len(shape)} axes, not the {len(letters)} of ({dims})")
        for letter, size in zip(letters, shape, strict=True):
            known = int(letter) if letter.isdigit() else self.sizes.setdefault(letter, size)
            if known != size:
                raise Fault(f"{path} has shape {shape}, where {letter} of ({dims}) is {known}")


# --- objects --------------------------------------------------------------------------------------


class Form:
    """How objects of a class are stored: of records, field by field, as they declare."""

    #: Fields that may be left out of a file.
    spare: frozenset[str] = frozenset()

    def __init__(self, record: Any) -> None:
        self.record, self.fields = record, declared(record)

    def take(self, value: Any, page: Page) -> dict[str, Any]:  # noqa: ARG002 - others need it
        """Take an object apart."""
        return {name: getattr(value, name) for name in self.fields}

    def make(self, found: dict[str, Any]) -> Any:
        """Make an object of its fields; one that can check itself does so."""
        made = self.record(**found)
        if hasattr(made, "_check"):
            made._check()  # noqa: SLF001 - it is there to be called here
        return made


@final
class StandIn(Form):
    """Objects of another class are stored as records, which have ``of`` and ``made``."""

    def take(self, value: Any, page: Page) -> dict[str, Any]:
        """Take the record apart that stands for an object."""
        return super().take(self.record.of(value), page)

    def make(self, found: dict[str, Any]) -> Any:
        """Make the object that a record stands for."""
        return super().make(found).made()


#: How classes that are no records are stored, and their subclasses: makes the form of a class.
forms: dict[type, Callable[[Any], Form]] = {}


def stands_for(*classes: type) -> Callable[[type], type]:
    """Let a record stand for objects of some classes in files."""

    def register(record: type) -> type:
        forms.update(dict.fromkeys(classes, lambda _: StandIn(record)))
        return record

    return register


@cache
def form_of(cls: Any) -> Form:
    """Return how objects of a class are stored."""
    make = next((forms[base] for base in cls.__mro__ if base in forms), Form)
    return make(cls)


def write_object(value: Any, path: str, page: Page) -> Json:
    """Write a single object."""
    cls: type = type(value)
    return _write_fields(form_of(cls), [value], path, page)


def read_object(cls: type, node: Json, path: str, shelf: Shelf) -> Any:
    """Read a single object of a class."""
    return _read_fields(form_of(cls), node, path, [Scope(shelf)])[0]


def _write_fields(form: Form, values: list[Any], path: str, page: Page) -> Json:
    """Write each field of all objects."""
    parts = [form.take(value, page) for value in values]
    return {
        name: write(each, [part[name] for part in parts], f"{path}.{name}", page)
        for name, each in form.fields.items()
    }


def _read_fields(form: Form, node: Json, path: str, scopes: list[Scope]) -> list[Any]:
    """Read each field of all objects in its order, then make them."""
    check_fields(node, form.fields.keys(), form.fields.keys() - form.spare, path)
    for name, each in form.fields.items():
        if name in node:
            values = read(each, node[name], f"{path}.{name}", scopes)
            for scope, value in zip(scopes, values, strict=True):
                scope.fields[name] = value
    return [form.make(scope.fields) for scope in scopes]


def check_fields(node: Json, known: AbstractSet[str], needed: AbstractSet[str], path: str) -> None:
    """Refuse a table with fields that are not known, or without one that is needed."""
    if not isinstance(node, dict):
        raise Fault(f"{path} is not a table of fields")
    if not node.keys() <= known:
        strange = min(node.keys() - known)
        raise Fault(f"{path} has the field {strange[:80]!r}, which is not known")
    if not needed <= node.keys():
        raise Fault(f"{path} lacks the field {min(needed - node.keys())!r}")


def write(what: Declaration, values: list[Any], path: str, page: Page) -> Json:
    """Write a field of some objects; of what may be None or many, how many, and all together."""
    if not (what.optional or what.many):
        return _WRITERS[what.holds](what, values, path, page)
    parts = values if what.many else [() if value is None else (value,) for value in values]
    whole = [each for part in parts for each in part]
    node = _WRITERS[what.holds](what, whole, path, page) if whole else None
    if what.optional and len(whole) in (0, len(values)):
        return node
    sizes = np.array([len(part) for part in parts], dtype=np.int64)
    return {"sizes": page.array(f"{path}.sizes", sizes), "of": node}


def read(what: Declaration, node: Json, path: str, scopes: list[Scope]) -> list[Any]:
    """Read a field of some objects, of which there is at least one, each in its scope."""
    if not (what.optional or what.many):
        return _READERS[what.holds](what, node, path, scopes)
    if what.optional and not (isinstance(node, dict) and node.keys() == {"sizes", "of"}):
        if node is None:
            return [None] * len(scopes)
        return _READERS[what.holds](what, node, path, scopes)
    check_fields(node, {"sizes", "of"}, {"sizes", "of"}, path)
    shelf = scopes[0].shelf
    sizes = shelf.vector(node["sizes"], path).tolist()
    if len(sizes) != len(scopes) or min(sizes) < 0 or (what.optional and max(sizes) > 1):
        raise Fault(f"{path} does not say how many there are")
    shelf.spend(sum(sizes), path)
    own = [scope for scope, size in zip(scopes, sizes, strict=True) for _ in range(size)]
    if bool(own) != (node["of"] is not None):
        raise Fault(f"{path} has another number of records than it says")
    found = _READERS[what.holds](what, node["of"], path, own) if own else []
    parts = _cut(found, sizes, path)
    return [tuple(part) if what.many else part[0] if part else None for part in parts]


def _write_records(what: Declaration, values: list[Any], path: str, page: Page) -> Json:
    """Write records of one class; of several, the records of each class together."""
    classes = _classes(what)
    if classes is None:
        return _write_fields(form_of(what.of[0]), values, path, page)
    names = [type(value).__name__ for value in values]
    for value, name in zip(values, names, strict=True):
        if classes.get(name) is not type(value):
            raise page.refuse(path, value, _remedy(value, ", ".join(classes)))
    kinds = list(dict.fromkeys(names))
    node = {
        kind: _write_fields(
            form_of(classes[kind]),
            [value for value, name in zip(values, names, strict=True) if name == kind],
            f"{path}.{kind}",
            page,
        )
        for kind in kinds
    }
    if len(kinds) == 1:
        return node
    which = np.array([kinds.index(name) for name in names], dtype=np.int64)
    return {"which": page.array(f"{path}.which", which), "of": node}


def _read_records(what: Declaration, node: Json, path: str, scopes: list[Scope]) -> list[Any]:
    """Read the records of each class in their order; they share the declared sizes with others."""
    letters = str(what.dims or "") if what.many or what.dims is not None else None
    scopes = [scope.inner(letters) for scope in scopes]
    classes = _classes(what)
    if classes is None:
        return _read_fields(form_of(what.of[0]), node, path, scopes)
    which = [0] * len(scopes)
    if isinstance(node, dict) and set(node) == {"which", "of"}:
        which = scopes[0].shelf.vector(node["which"], path).tolist()
        node = node["of"]
    check_fields(node, set(classes), set(), path)
    if len(which) != len(scopes) or set(which) != set(range(len(node))):
        raise Fault(f"{path} has other classes than it says")
    found = []
    for number, (name, inner) in enumerate(node.items()):
        own = [scope for scope, its in zip(scopes, which, strict=True) if its == number]
        found.append(iter(_read_fields(form_of(classes[name]), inner, f"{path}.{name}", own)))
    return [next(found[number]) for number in which]


def _classes(what: Declaration) -> dict[str, type] | None:
    """Return the classes of records by name; None if there can be but one."""
    if len(what.of) == 1 and is_dataclass(what.of[0]):
        return None
    named: list[Mapping[str, type]] = [getattr(c, "known", {c.__name__: c}) for c in what.of]
    return {name: each for group in named for name, each in group.items()}


def _cut(values: Any, sizes: list[int], path: str) -> list[Any]:
    """Cut an array or a list into pieces of these sizes, which are all of it."""
    if min(sizes, default=0) < 0 or sum(sizes) != len(values):
        raise Fault(f"the sizes of the pieces of {path} do not fit")
    return [values[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)]


# --- arrays of numbers ----------------------------------------------------------------------------


def _write_numbers(what: Declaration, values: list[Any], path: str, page: Page) -> Json:
    """Write an array; of several, all numbers in one, and shapes, -1 for an axis that is not."""
    arrays = [array if array.dtype in what.of else array.astype(what.of[0]) for array in values]
    if len(arrays) == 1:
        return page.array(path, arrays[0])
    shapes = np.full((len(arrays), max(array.ndim for array in arrays)), -1)
    for row, array in zip(shapes, arrays, strict=True):
        row[: array.ndim] = array.shape
    cells = np.concatenate([array.ravel() for array in arrays])
    return [page.array(path, cells), page.array(f"{path}.shapes", shapes)]


def _read_numbers(what: Declaration, node: Json, path: str, scopes: list[Scope]) -> list[Any]:
    """Read arrays, and check their type, numbers and shapes."""
    shelf = scopes[0].shelf
    if len(scopes) == 1:
        arrays = [shelf.array(node, path)]
        _check_numbers(arrays[0], what, path)
    else:
        if not isinstance(node, list) or len(node) != 2:
            raise Fault(f"{path} is not a stack of arrays")
        cells, shapes = (shelf.array(reference, path) for reference in node)
        if cells.ndim != 1 or shapes.dtype != np.int64 or shapes.shape[:-1] != (len(scopes),):
            raise Fault(f"{path} is not a stack of arrays")
        _check_numbers(cells, what, path)
        listed = [tuple(n for n in row if n >= 0) for row in shapes.tolist()]
        pieces = zip(_cut(cells, [*map(math.prod, listed)], path), listed, strict=True)
        arrays = [piece.reshape(shape) for piece, shape in pieces]
    for array, scope in zip(arrays, scopes, strict=True):
        scope.bind(_dims_of(what, array.ndim, scope), array.shape, path)
    return arrays


def _dims_of(what: Declaration, n_axes: int, scope: Scope) -> str:
    """Choose the letters that an array must have."""
    dims = what.dims or ""
    if isinstance(dims, Mapping):
        dims = dims[scope.fields[str(what.by)]]
    if isinstance(dims, str):
        return dims
    return next((each for each in dims if len(each.split()) == n_axes), dims[0])


def _check_numbers(array: Any, what: Declaration, path: str) -> None:
    """Refuse another type, NaN, infinity and numbers that are too small."""
    if array.dtype not in what.of:
        raise Fault(f"{path} is of type {array.dtype}, not {what.of[0]}")
    finite = "any" in what.marks or array.dtype.kind != "f" or math.isfinite(array.sum())
    if not finite and not np.isfinite(array).all():
        raise Fault(f"{path} holds NaN or infinity")
    if ">= 0" in what.marks and not array.min(initial=0) >= 0:
        raise Fault(f"{path} holds a number that is not at least 0")


# --- plain values: labels, single values, and parameters ------------------------------------------


def _write_plain(what: Declaration, values: list[Any], path: str, page: Page) -> Json:  # noqa: ARG001 - checked when read
    """Write a plain value of each object, of several as a list."""
    return write_value(values[0] if len(values) == 1 else values, path, page)


def _read_plain(what: Declaration, node: Json, path: str, scopes: list[Scope]) -> list[Any]:
    """Read a plain value of each object, and check it."""
    found = read_value(node, path, scopes[0].shelf)
    if len(scopes) == 1:
        found = [found]
    elif type(found) is not list or len(found) != len(scopes):
        raise Fault(f"{path} is not a list of {len(scopes)}")
    if what.holds != "value":
        check = _check_labels if what.holds == "labels" else _check_single
        for value, scope in zip(found, scopes, strict=True):
            check(value, what, path, scope)
    return found


def _check_labels(labels: Any, what: Declaration, path: str, scope: Scope) -> None:
    """Check the form, the number, and each label; an array has at least one, and all differ."""
    if type(labels) not in what.of:
        raise Fault(f"{path} holds its labels in the wrong form")
    in_array = isinstance(labels, np.ndarray)
    scope.bind(str(what.dims), labels.shape if in_array else (len(labels),), path)
    if in_array and not len(labels):
        raise Fault(f"{path} has no labels")
    if isinstance(labels, range):
        return
    items = labels.tolist() if in_array else labels
    if what.each is not object and not all(isinstance(item, what.each) for item in items):
        raise Fault(f"{path} holds a label of another kind")
    try:
        any_kind = not in_array and what.each not in (str, int)  # of categories True is no 1
        twice = len(set(map(category_key, items) if any_kind else items)) < len(items)
    except TypeError:
        raise Fault(f"{path} holds something that is not a label") from None
    if twice and (in_array or "distinct" in what.marks):
        raise Fault(f"{path} holds a label twice")


def _check_single(value: Any, what: Declaration, path: str, scope: Scope) -> None:
    """Check that a value is a choice, a count, perhaps that of a size, or of the type declared."""
    if what.holds == "choice":
        if not isinstance(value, str) or value not in what.of:
            raise Fault(f"{path} is none of {', '.join(what.of)}")
    elif what.of == (int,):
        if type(value) is not int or not 0 <= value < _MOST_WHOLE:
            raise Fault(f"{path} is not a whole number from 0")
        if what.dims is not None:
            scope.bind(str(what.dims), (value,), path)
    elif type(value) is not what.of[0]:  # a boolean is no number
        raise Fault(f"{path} is a {type(value).__name__}, not a {what.of[0].__name__}")


#: Classes of objects that may be parameters, by name.
parameters: dict[str, type] = {}


def _is_single(item: Any) -> bool:
    """Tell whether JSON gives a value back as it is."""
    if item is None or isinstance(item, (bool, str)):
        return True
    if isinstance(item, float):  # 1e999 is not finite
        return math.isfinite(item)
    return isinstance(item, int) and item.bit_length() <= _MOST_BITS


def write_value(value: Any, path: str, page: Page, depth: int = 0) -> Json:
    """Write a label, or what a user may pass as a parameter, so that the same comes back."""
    item: Any = plain(value)
    cls: type = type(item)
    if cls in _SINGLE and _is_single(item):
        return item
    if parameters.get(cls.__name__) is cls:
        return {cls.__name__: _write_fields(form_of(cls), [item], path, page)}
    if isinstance(item, np.ndarray):
        return _write_array(item, path, page, depth)
    if isinstance(item, Mapping):
        keys = _write_items(list(item), f"{path}.keys", page, depth + 1)
        return {"dict": [keys, _write_items(list(item.values()), path, page, depth + 1)]}
    if cls in _LISTS.values():
        items = sorted(item, key=repr) if cls in (set, frozenset) else item
        return {cls.__name__: _write_items(items, path, page, depth + 1)}
    if cls in (float, range):
        return {cls.__name__: str(item) if cls is float else [item.start, item.stop, item.step]}
    raise page.refuse(path, value, _remedy(item, "text, numbers, booleans, lists and mappings"))


def _remedy(item: Any, others: str) -> str:
    """Say what to do with a value that no file can hold."""
    if callable(item):
        return "A model file holds no code. Pass a value by name."
    if hasattr(item, "get_params"):
        return (
            "Model files hold Credo's own estimators, a CountVectorizer or a HashingVectorizer. "
            "Save the other library's model in its own way and the Loss with loss.save(path), and "
            "join them after loading."
        )
    return f"Model files hold {others} there."


def _write_array(array: Any, path: str, page: Page, depth: int) -> Json:
    """Write an array of numbers, of text of fixed width as code points, or of objects."""
    kind = array.dtype.kind
    if kind in "biuf":
        return {"array": page.array(path, array)}
    if kind == "U" and array.ndim == 1:
        width = array.dtype.itemsize // 4
        native = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
        return {"wide": page.array(path, native.view(np.uint32).reshape(len(array), width))}
    if kind in "OT" and array.ndim == 1:
        form = "objects" if kind == "O" else "strings"
        return {form: _write_items(array.tolist(), path, page, depth + 1)}
    raise page.refuse(path, array, f"Arrays of type {array.dtype} are not stored; use text.")


def _write_items(given: Any, path: str, page: Page, depth: int) -> Json:
    """Write a short list as it is, a long one as an array: of numbers, of lines, or of JSON."""
    if depth > _MOST_DEEP:
        raise page.refuse(path, given, f"It is nested more than {_MOST_DEEP} deep.")
    items: list[Any] = [plain(item) for item in given]
    kinds = {type(item) for item in items} if len(items) > _SHORT else ()
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind in _NUMBERS and (kind is not int or max(map(abs, items)) < _MOST_WHOLE):
        return {"numbers": page.array(path, np.array(items, dtype=_NUMBERS[kind]))}
    if kind is tuple:  # one behind the other
        sizes = np.array([len(item) for item in items], dtype=np.int64)
        whole = _write_items([e for item in items for e in item], f"{path}.of", page, depth + 1)
        return {"tuples": [page.array(f"{path}.lengths", sizes), whole]}
    if kind is str and not any("\n" in item for item in items):
        return {"texts": page.array(path, _bytes("\n".join(items)))}
    nodes = [write_value(item, f"{path}.{i}", page, depth) for i, item in enumerate(items)]
    return nodes if len(items) <= _SHORT else {"json": page.array(path, _bytes(as_text(nodes)))}


def _bytes(text: str) -> Any:
    """Return a text as an array."""
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)


def read_value(node: Json, path: str, shelf: Shelf, depth: int = 0) -> Any:
    """Read a plain value and all that it holds."""
    if _is_single(node):
        return node
    form, value = _only(node)
    if form in parameters:
        return _read_fields(form_of(parameters[form]), value, path, [Scope(shelf)])[0]
    if form not in _FORMS:
        raise Fault(f"{path} holds a value of an unknown kind")
    try:
        return _FORMS[form](value, path, shelf, depth + 1)
    except (KeyError, OverflowError, TypeError, ValueError):
        raise Fault(f"{path} is not a valid value of the kind {form!r}") from None


def _only(node: Json) -> tuple[str, Json]:
    """Return the form of a node and what is in it."""
    ((form, value),) = node.items() if isinstance(node, dict) and len(node) == 1 else (("", None),)
    return form, value


def _read_items(node: Json, path: str, shelf: Shelf, depth: int) -> list[Any]:
    """Read the items of a list."""
    if depth > _MOST_DEEP:
        raise Fault(f"{path} is nested too deep")
    if isinstance(node, list):
        return [read_value(each, path, shelf, depth) for each in node]
    form, value = _only(node)
    if form == "tuples" and isinstance(value, list) and len(value) == 2:
        sizes = shelf.vector(value[0], path).tolist()
        shelf.spend(len(sizes), path)
        items = _read_items(value[1], path, shelf, depth + 1)
        return [tuple(piece) for piece in _cut(items, sizes, path)]
    nodes = _read_sequence(form, shelf.array(value, path), path, shelf)
    return [read_value(each, path, shelf, depth) for each in nodes] if form == "json" else nodes


def _read_sequence(form: str, array: Any, path: str, shelf: Shelf) -> list[Any]:
    """Read the numbers, the lines of text, or the list in JSON that an array holds."""
    if array.ndim != 1 or array.dtype.str[1:] not in _SEQUENCES.get(form, ()):
        raise Fault(f"{path} is not a sequence of a known kind")
    shelf.spend(len(array), path)
    if form == "numbers":
        return list(array.tolist())
    try:
        text = array.tobytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise Fault(f"{path} holds a text that is not UTF-8") from None
    found = text.split("\n") if form == "texts" else parse(text, path)
    if not isinstance(found, list):
        raise Fault(f"{path} is not a list")
    return found


def _read_dict(value: Json, path: str, shelf: Shelf, depth: int) -> dict[Any, Any]:
    """Read a mapping from its keys and its values."""
    keys, values = (_read_items(each, path, shelf, depth) for each in value)
    return dict(zip(keys, values, strict=True))


def _read_objects(value: Json, path: str, shelf: Shelf, depth: int) -> Any:
    """Read an array of objects."""
    items = _read_items(value, path, shelf, depth)
    result = np.empty(len(items), dtype=object)
    result[:] = items
    return result


def _read_strings(value: Json, path: str, shelf: Shelf, depth: int) -> Any:
    """Read an array of text of any width."""
    items = _read_items(value, path, shelf, depth)
    if not all(isinstance(item, str) for item in items):
        raise TypeError
    return np.array(items, dtype=np.dtypes.StringDType())


def _read_wide(value: Json, path: str, shelf: Shelf, depth: int) -> Any:  # noqa: ARG001 - as the others
    """Read text of fixed width from its code points."""
    codes = shelf.array(value, path)
    if codes.dtype != np.uint32 or codes.ndim != 2 or not codes.shape[1]:
        raise Fault(f"{path} is not an array of texts")
    if codes.max(initial=0) > _MOST_CODE:
        raise Fault(f"{path} holds something that is not a character")
    if not codes.size:
        return np.empty(len(codes), dtype=f"U{codes.shape[1]}")
    return np.ascontiguousarray(codes).view(f"<U{codes.shape[1]}").reshape(len(codes))


def _read_range(value: Json, path: str, shelf: Shelf, *_: Any) -> range:
    """Read a range; what it numbers is in the file."""
    if max(map(abs, value)) >= _MOST_WHOLE // 2:
        raise OverflowError
    found = range(*value)
    shelf.spend(len(found), path)
    return found


def _read_list(make: Any) -> Callable[[Json, str, Shelf, int], Any]:
    """Return what reads a list, a tuple or a set."""
    return lambda value, path, shelf, depth: make(_read_items(value, path, shelf, depth))


#: What reads the values that JSON does not have, by the names of their forms.
_FORMS: dict[str, Callable[[Json, str, Shelf, int], Any]] = {
    **{name: _read_list(make) for name, make in _LISTS.items()},
    "dict": _read_dict,
    "objects": _read_objects,
    "strings": _read_strings,
    "wide": _read_wide,
    "array": lambda value, path, shelf, _: shelf.array(value, path),
    "range": _read_range,
    "float": lambda value, *_: _ODD[value],
}


def given_parameters(model: Any) -> dict[str, Any]:
    """Return the parameters of an estimator; what reports progress is no part of the model."""
    cls: type = type(model)
    given = {name: getattr(model, name) for name in parameter_names(cls)}
    if hasattr(model, "_plain_parameters"):
        given |= model._plain_parameters()  # noqa: SLF001 - what a file names instead
    return given


@cache
def parameter_names(cls: Any) -> tuple[str, ...]:
    """Name the parameters of estimators of a class; scikit-learn reads the signature each time."""
    names = cls._get_param_names()
    return tuple(name for name in names if name != "progress")


_WRITERS: dict[str, Callable[[Declaration, list[Any], str, Page], Json]] = {
    "numbers": _write_numbers,
    "records": _write_records,
    **dict.fromkeys(("labels", "choice", "single", "value"), _write_plain),
}
_READERS: dict[str, Callable[[Declaration, Json, str, list[Scope]], list[Any]]] = {
    "numbers": _read_numbers,
    "records": _read_records,
    **dict.fromkeys(("labels", "choice", "single", "value"), _read_plain),
}
