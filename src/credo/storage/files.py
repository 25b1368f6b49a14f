"""``save`` and ``load``: models in files that are safe to open.

A file is in the safetensors format: a header as JSON, then arrays. The header holds the places of
the arrays and the description of the model, a text of JSON with all checksums.
"""

from __future__ import annotations

import math
import mmap
import os
import re
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from credo._checks import plain
from credo._files import bytes_written_whole, local_path
from credo._version import __version__
from credo.exceptions import CredoError, FileFormatError, InputError
from credo.storage import codec
from credo.storage.codec import DTYPES, Fault, Json, as_text

#: All bytes of a file, in memory or mapped.
Content: TypeAlias = bytes | mmap.mmap

#: Version of the layout.
FORMAT = 3
#: Longest header that is written or read: the text of a model and a line per array. What Python
#: makes of it stays below 32 MB, whatever it says (measured: empty lists, the densest, make 30).
_MOST_HEADER = 2**20
#: Longest description of a model, in bytes of JSON.
_MOST_TEXT = 2**19
#: Files up to this size are read; larger ones are mapped, so that they are in memory once,
#: whatever number of processes uses them, and checked by two threads: 48 MB in 16 ms, where one
#: takes 23 to 36. Reading so much takes 5 ms.
_LARGE = 2**23
#: NumPy allows no more axes.
_MOST_AXES = 64
_FIELDS = {"format", "library", "class", "about", "content", "checks", "check"}
#: The end of a description: the CRC-32 of all before it.
_CHECK = re.compile(r',"check":"([0-9a-f]{8})"}\Z')
_CHECK_LENGTH = len(',"check":"00000000"}')
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_NETWORKS = ("BayesianNetwork", "FactorGraph", "GridField", "MarkovNetwork")
#: Names shown of a longer list, and characters of a name.
_SHOWN, _WIDTH = 50, 80


def save(model: Any, path: str | os.PathLike[str], *, summary: bool = True) -> None:
    """Save a model to a file that is safe to open.

    Parameters
    ----------
    model : estimator, network, grid field, loss or summary
        A fitted model. Functions that report progress are left out.
    path : path
        The file. It is there whole, or as it was before.
    summary : bool
        Keep what ``partial_fit`` and ``merge`` continue from. Without it a Gaussian model is about
        half as large. Naive Bayes and text models are made of it, and always keep it.

    Raises
    ------
    InputError
        If the model is not fitted, or holds what no model file can hold, such as a function or
        another library's estimator.
    OSError
        If the file cannot be written.

    See Also
    --------
    load : Read it back.
    describe : See what a file holds.

    Notes
    -----
    The file is in the safetensors format, with a description as JSON. The content is on the disk
    before it gets its name.

    Examples
    --------
    >>> import os, tempfile
    >>> import credo
    >>> from credo.storage import load, save
    >>> model = credo.NaiveBayes().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.credo")
    ...     save(model, path)
    ...     load(path).predict([[1.5]])
    array(['a'], dtype='<U1')
    """
    parts = _compose(model, summary=summary)
    with bytes_written_whole(path) as stream:
        stream.writelines(parts)


def load(path: str | os.PathLike[str]) -> Any:
    r"""Load a model from a file; whatever the file holds, no code of it is run.

    Parameters
    ----------
    path : path
        A file that ``save`` wrote.

    Returns
    -------
    model
        As it was saved: it predicts the same numbers, bit for bit.

    Raises
    ------
    FileFormatError
        If the file is damaged, cut short, no model file, or of a later version of the format.
    OSError
        If it cannot be read.

    See Also
    --------
    save : Write one.

    Notes
    -----
    All checksums, types and shapes are checked before anything is built. The arrays of large files
    are not read but mapped: replace such a file as ``save`` does, by renaming another; do not
    write into it while a model is in use.

    Examples
    --------
    >>> import os, tempfile
    >>> import credo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "loss.credo")
    ...     credo.storage.save(credo.Loss.zero_one(["a", "b"]), path)
    ...     credo.storage.load(path)
    truth \ act  a  b
    a            0  1
    b            1  0
    """
    with _blame(path):
        return _rebuild(_content(path))


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Tell what a model file holds, without its arrays.

    Parameters
    ----------
    path : path
        A file that ``save`` wrote.

    Returns
    -------
    dict
        ``format``, ``library`` (the version that wrote it), ``class``, ``size`` in bytes,
        ``about`` (labels, features, rows, schema: whatever there is), ``parameters`` of an
        estimator, and ``arrays``, from name to type and shape.

    Raises
    ------
    FileFormatError
        If the description is damaged, or it is not a model file.

    See Also
    --------
    load : Load the model, and check its arrays.

    Examples
    --------
    >>> import os, tempfile
    >>> import credo
    >>> model = credo.GaussianClassifier().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.credo")
    ...     credo.storage.save(model, path)
    ...     found = credo.storage.describe(path)
    >>> found["class"], found["about"]["labels"], found["parameters"]["covariance"]
    ('GaussianClassifier', ['a', 'b'], 'full')
    """
    with _blame(path):
        content = _content(path)
        text, arrays = _open_content(content)
        tree = _read_description(text)
        told = dict(tree["about"])
        return {
            **{name: tree[name] for name in ("format", "library", "class")},
            "size": len(content),
            "parameters": told.pop("parameters", {}),
            "about": told,
            "arrays": {name: f"{each.dtype.name} {each.shape}" for name, each in arrays.items()},
        }


def pack(value: Any, *, summary: bool = True) -> bytes:
    """Pack a summary or a model into bytes, for the way to another machine.

    Parameters
    ----------
    value : ClassSummary, NaiveSummary, WordSummary, or a model
        What ``save`` takes.
    summary : bool
        As in ``save``.

    Returns
    -------
    bytes
        What ``save`` would write.

    See Also
    --------
    unpack : The way back.

    Examples
    --------
    >>> import credo
    >>> from credo.storage import pack, unpack
    >>> unpack(pack(credo.summarise([[1.0], [3.0]], ["no", "no"])))
    ClassSummary(2 rows, 1 classes, 1 features, full)
    """
    return b"".join(_compose(value, summary=summary))


def unpack(content: bytes) -> Any:
    """Unpack what ``pack`` packed; nothing in it is run.

    Parameters
    ----------
    content : bytes
        What ``pack`` gave, or the content of a model file.

    Returns
    -------
    summary or model
        Its arrays are views of ``content``.

    Raises
    ------
    FileFormatError
        If the bytes are damaged or something else.

    See Also
    --------
    pack : The way there.

    Examples
    --------
    >>> import credo
    >>> from credo.storage import pack, unpack
    >>> unpack(pack(credo.Loss.zero_one(["a", "b"])))["a", "b"]
    1.0
    """
    if not isinstance(content, bytes):
        raise InputError(f"unpack needs bytes. Got {type(content).__name__}.")
    with _blame("packed bytes"):
        return _rebuild(content)


# --- from a model to bytes, and back --------------------------------------------------------------


def storable() -> dict[str, type]:
    """Return all classes that can be stored, by name."""
    from credo import graphs  # noqa: PLC0415 - a room that other models do without
    from credo.storage import models  # noqa: PLC0415 - networks do without scikit-learn

    networks = {name: getattr(graphs, name) for name in _NETWORKS}
    return dict(sorted({**models.storable(), **networks}.items()))


def _find_class(name: str) -> type | None:
    """Return the class of a name that can be stored; names are compared, and no more."""
    if name in _NETWORKS:
        from credo.storage import networks  # noqa: PLC0415

        return networks.CLASSES[name]
    from credo.storage import models  # noqa: PLC0415

    return models.storable().get(name)


def _compose(model: Any, *, summary: bool) -> list[bytes | memoryview]:
    """Return the parts of a file, in order: length, header, and arrays, which are not copied."""
    name = type(model).__name__
    if _find_class(name) is not type(model):
        raise InputError(
            f"A {name} cannot be saved. Model files are for {', '.join(storable())}, not for "
            "subclasses of them or models of other libraries."
        )
    page = codec.Page(name, summary=summary)
    content = codec.write_object(model, name, page)
    tree = {
        "format": FORMAT,
        "library": __version__,
        "class": name,
        "about": _about(model),
        "content": content,
        "checks": {path: checksum(path, array) for path, array in page.arrays.items()},
    }
    text = as_text(tree)[:-1]
    text += f',"check":"{zlib.crc32(text.encode()):08x}"}}'
    header, order = _write_header(text, page.arrays)
    if len(text) > _MOST_TEXT or len(header) > _MOST_HEADER:
        raise InputError(
            f"{name} has {len(page.arrays)} arrays and a description of {len(text)} bytes, more "
            f"than a model file can have ({_MOST_TEXT}). Pass long parameters as arrays, and "
            "columns in fewer groups."
        )
    data = [memoryview(each.reshape(-1).view(np.uint8)) for each in order if each.size]
    return [struct.pack("<Q", len(header)), header, *data]


def _rebuild(content: Content) -> Any:
    """Rebuild a model from the content of a file."""
    text, arrays = _open_content(content)
    tree = _read_description(text)
    name = tree["class"]
    cls = _find_class(name) if isinstance(name, str) else None
    if cls is None:
        raise Fault(f"it holds a {str(name)[:80]}, which this version of Credo does not know")
    _check_arrays(arrays, tree["checks"], len(content))
    shelf = codec.Shelf(arrays, len(content))
    model = codec.read_object(cls, tree["content"], name, shelf)
    unused = sorted(set(arrays) - shelf.used)
    if unused:
        raise Fault(f"it has the array {unused[0][:80]!r}, which belongs to nothing")
    return model


def _read_description(text: str) -> dict[str, Json]:
    """Check and parse the description of a model."""
    end = _CHECK.search(text)
    if end is None or int(end[1], 16) != zlib.crc32(text[:-_CHECK_LENGTH].encode()):
        raise Fault("it is damaged: the checksum of its description does not match")
    tree = codec.parse(text, "its description")
    version = tree.get("format") if isinstance(tree, dict) else None
    if type(version) is not int or version < 1:
        raise Fault("its description has no version")
    if version != FORMAT:
        remedy = "Upgrade Credo" if version > FORMAT else "Fit the model again"
        raise Fault(
            f"it was written by Credo {str(tree.get('library'))[:40]} in version {version} of the "
            f"format, and this is Credo {__version__}, which reads version {FORMAT}. {remedy}"
        )
    if len(text) > _MOST_TEXT:
        raise Fault("its description is too long")
    codec.check_fields(tree, _FIELDS, _FIELDS, "the description")
    if not isinstance(tree["checks"], dict) or not isinstance(tree["about"], dict):
        raise Fault("its description is malformed")
    return dict(tree)


# --- the container --------------------------------------------------------------------------------


def _write_header(text: str, arrays: Mapping[str, Any]) -> tuple[bytes, list[Any]]:
    """Write a header, and return the arrays in their order, wide ones first: all are lined up."""
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    table: dict[str, Any] = {"__metadata__": {"credo": text}}
    start = 0
    for name in order:
        array = arrays[name]
        stop = start + array.nbytes
        kind = _NAMES[array.dtype]
        table[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [start, stop]}
        start = stop
    header = as_text(table).encode()
    return header + b" " * (-len(header) % 8), [arrays[name] for name in order]


def _open_content(content: Content) -> tuple[str, dict[str, Any]]:
    """Return the description of a model, and its arrays, not copied; every byte is of one."""
    text, table, begin = _read_header(content)
    entries = {name: _read_entry(name, value) for name, value in table.items()}
    end = 0
    for start, stop in sorted(places for _, _, places in entries.values()):
        if start != end:
            raise Fault("its arrays overlap or leave a gap")
        end = stop
    size = len(content)
    if begin + end != size:
        raise Fault(f"it is cut short or has a tail: {begin + end} bytes expected, {size} found")
    return text, {
        name: np.ndarray(shape, dtype, content, begin + start)
        for name, (dtype, shape, (start, _)) in entries.items()
    }


def _read_header(content: Content) -> tuple[str, dict[str, Json], int]:
    """Return the description of a model, the entries of its arrays, and where these begin."""
    size = len(content)
    if size < 8:
        raise Fault(f"it has {size} bytes, too few for a model file")
    length: int = struct.unpack("<Q", content[:8])[0]
    if length > _MOST_HEADER:
        raise Fault(
            f"it is not a model file: its first bytes, the length of a header, say {length}, "
            f"above {_MOST_HEADER}"
        )
    if 8 + length > size:
        raise Fault(f"it is cut short: {8 + length} bytes of header, but {size} bytes in all")
    text = content[8 : 8 + length]
    if not text.startswith(b"{") or not text.rstrip(b" ").endswith(b"}") or len(text) % 8:
        raise Fault("it is not a model file: the header is not in the safetensors format")
    table = codec.parse(text, "the header")
    metadata = table.pop("__metadata__", None)
    if not isinstance(metadata, dict) or set(metadata) != {"credo"}:
        raise Fault("it is a safetensors file, but not a model file of Credo")
    if not isinstance(metadata["credo"], str):
        raise Fault("it is not a model file: its description is not text")
    return metadata["credo"], table, 8 + length


def _read_entry(name: str, value: Any) -> tuple[np.dtype[Any], list[int], list[int]]:
    """Check the entry of one array: its type, its shape, and where it begins and ends."""
    what = f"the array {name[:80]!r}"
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise Fault(f"the entry of {what} is malformed")
    kind, shape, places = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(kind, str) or kind not in DTYPES:
        raise Fault(f"{what} is of a type that model files do not have")
    for counts in (shape, places):
        if not isinstance(counts, list) or not all(type(n) is int and n >= 0 for n in counts):
            raise Fault(f"{what} has no valid shape or place")
    dtype = DTYPES[kind]
    if len(places) != 2 or places[0] % dtype.itemsize:
        raise Fault(f"{what} has no valid shape or place")
    n_bytes = math.prod(shape) * dtype.itemsize
    if len(shape) > _MOST_AXES or n_bytes != places[1] - places[0]:
        raise Fault(f"the shape of {what} does not fit its length")
    if not n_bytes and max(shape) >= _MOST_HEADER:  # nothing has so many axes of nothing
        raise Fault(f"the shape of {what} does not fit its length")
    return dtype, shape, places


def _check_arrays(arrays: Mapping[str, Any], sums: Mapping[str, Any], size: int) -> None:
    """Compare the checksum of each array; of large files, two at a time."""
    if set(sums) != set(arrays):
        raise Fault("its arrays are not those that its description lists")
    found: Iterator[int] = map(checksum, arrays, arrays.values())
    if size >= _LARGE:
        with ThreadPoolExecutor(2) as pool:
            found = pool.map(checksum, arrays, arrays.values())
    for name, check in zip(arrays, found, strict=True):
        if sums[name] != check:
            raise Fault(f"it is damaged: the checksum of the array {name[:80]!r} does not match")
        array = arrays[name]
        if array.dtype == np.bool_ and array.view(np.uint8).max(initial=0) > 1:
            raise Fault(f"the array {name[:80]!r} has booleans other than 0 and 1")


def checksum(name: str, array: Any) -> int:
    """Return the CRC-32 of an array with its name, type and shape.

    It finds every change of up to 32 neighbouring bits, so every changed byte, and any other with
    probability 1 - 2⁻³². It runs at 3.8 GB/s (measured), and outside of the interpreter's lock.
    """
    start = zlib.crc32(f"{name}\n{array.dtype.str}\n{array.shape}\n".encode())
    return zlib.crc32(array.reshape(-1).view(np.uint8), start) if array.size else start


def _content(path: str | os.PathLike[str]) -> Content:
    """Read a file, or map a large one; only a plain file has a size."""
    name = Path(local_path(path))
    mode = name.stat().st_mode  # asked first: a pipe would wait for a writer
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening says what a folder is
        raise Fault("it is not a regular file")
    with name.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if size <= _LARGE:
            return stream.read(size)
        return mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ)


@contextmanager
def _blame(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in whatever error its content causes."""
    name = local_path(path)
    try:
        with np.errstate(all="ignore"):
            yield
    except Fault as fault:
        reason = f"{fault}. Load a copy that is whole, or save the model again."
        raise FileFormatError(reason, name) from None
    except OSError:
        raise
    except CredoError as error:
        raise FileFormatError(f"it holds no valid model: {error}", name) from error
    except Exception as error:
        kind = type(error).__name__
        reason = f"it holds no valid model ({kind}: {str(error)[:200]}). Save the model again."
        raise FileFormatError(reason, name) from error


# --- what a file says of itself to people ---------------------------------------------------------


def _about(model: Any) -> dict[str, Json]:
    """Describe a model, whatever of it there is; never used to rebuild it."""
    classes = getattr(model, "classes_", getattr(model, "classes", None))
    schema = getattr(model, "schema_", None)
    given = codec.given_parameters(model) if hasattr(model, "get_params") else {}
    if schema is not None:
        columns = [[each.name[:_WIDTH], each.kind] for each in schema.features[:_SHOWN]]
        target = schema.target[:_WIDTH]
        schema = {"target": target, "columns": columns, "weight": schema.weight}
    found = {
        "labels": _list(classes),
        "label_type": None if classes is None else str(np.asarray(classes).dtype),
        "features": _list(getattr(model, "feature_names_in_", None)),
        "n_features": getattr(model, "n_features_in_", None),
        "rows": _rows(getattr(model, "estimator_", model)),
        "schema": schema,
        "variables": len(model) if hasattr(model, "compile") else None,
        "parameters": {name: _show(each) for name, each in given.items()},
    }
    return {name: value for name, value in found.items() if value is not None}


def _show(value: Any) -> Json:
    """Show a parameter; what is long is cut, and what is no plain value is named by its class."""
    value = plain(value)
    if isinstance(value, Mapping):
        return _show(list(value.items()))
    if isinstance(value, (list, tuple, set, frozenset)):
        ordered = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        return [_show(each) for each in ordered[:_SHOWN]]
    if isinstance(value, str):
        return value[:_WIDTH]
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    return "…" if isinstance(value, np.ndarray) else type(value).__name__


def _list(names: Any) -> Json:
    """List names as text, cut after some."""
    if names is None:
        return None
    shown = [str(name)[:_WIDTH] for name in names[:_SHOWN]]
    return shown if len(names) <= _SHOWN else [*shown, f"… ({len(names)} in all)"]


def _rows(model: Any) -> float | None:
    """Return the total weight of the rows that a model or a summary was made from."""
    for holder in (getattr(model, "summary_", None), getattr(model, "_fitted", None), model):
        weights = getattr(holder, "weights", getattr(holder, "documents", None))
        if isinstance(weights, np.ndarray) and np.isfinite(weights.sum()):
            return float(weights.sum())
    return None
