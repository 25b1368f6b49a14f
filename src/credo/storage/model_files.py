"""``save`` and ``load``: models in files that are safe to open."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from credo._files import bytes_written_whole
from credo.exceptions import CredoError, FileFormatError, InputError
from credo.storage._about import shown
from credo.storage._container import Arrays, Buffer, header_length, read_header, written_parts
from credo.storage._faults import Fault
from credo.storage._layers import composed, described, restored

#: Files up to this size are read; larger ones are mapped, so that they are in memory once,
#: whatever number of processes uses them. Reading so much takes 5 ms.
_MOST_READ = 2**23


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
    parts = written_parts(*composed(model, summary=summary))
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
    with _blamed(path), _opened(path) as (stream, size):
        if size <= _MOST_READ:
            return _rebuilt(stream.read(size), size)
        return _rebuilt(mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ), size)


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
        If the description is damaged, or it is no model file.

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
    with _blamed(path), _opened(path) as (stream, size):
        length = header_length(stream.read(8), size)
        header = read_header(stream.read(length), size)
        tree = described(header)
        content = tree["content"]
        parameters = content.get("parameters") if isinstance(content, dict) else None
        told = parameters if isinstance(parameters, dict) else {}
        kept = {name: tree[name] for name in ("format", "library", "class", "about")}
        arrays = {name: f"{e.dtype.name} {e.shape}" for name, e in header.entries.items()}
        shown_parameters = {name: shown(value) for name, value in told.items()}
        return {**kept, "size": size, "parameters": shown_parameters, "arrays": arrays}


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
    return b"".join(written_parts(*composed(value, summary=summary)))


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
    with _blamed("packed bytes"):
        return _rebuilt(content, len(content))


def _rebuilt(buffer: Buffer, size: int) -> Any:
    """Rebuild a model from a whole file in memory."""
    length = header_length(bytes(buffer[:8]), size)
    header = read_header(bytes(buffer[8 : 8 + length]), size)
    return restored(described(header), Arrays(buffer, header))


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[tuple[Any, int]]:
    """Open a file and tell its size; only a plain file has one."""
    mode = Path(path).stat().st_mode  # asked first: a pipe would wait for a writer
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening says what a folder is
        raise Fault("it is no plain file")
    with Path(path).open("rb") as stream:
        yield stream, os.fstat(stream.fileno()).st_size


@contextmanager
def _blamed(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in whatever error its content causes."""
    try:
        with np.errstate(all="ignore"):
            yield
    except Fault as fault:
        reason = f"{fault}. Load a copy that is whole, or save the model again."
        raise FileFormatError(reason, os.fspath(path)) from None
    except OSError:
        raise
    except CredoError as error:
        raise FileFormatError(f"it holds no proper model: {error}", os.fspath(path)) from error
    except Exception as error:
        kind = type(error).__name__
        reason = f"it holds no proper model ({kind}: {str(error)[:200]}). Save the model again."
        raise FileFormatError(reason, os.fspath(path)) from error
