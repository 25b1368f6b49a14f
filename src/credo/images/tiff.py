"""TIFF files that are read and written region by region, so that they need not fit into memory."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from credo._validation.arrays import positive_int
from credo.exceptions import CredoError, FileFormatError, InputError, MissingExtraError
from credo.images import _tile_regions
from credo.images._tiff_layout import TiffLayout, layout_of
from credo.images._tiff_segments import pixels, unpacked
from credo.images._tiff_target import TiffTarget
from credo.images._tile_regions import as_window, pieces

__all__ = ["TiffSource", "TiffTarget", "open_tiff"]

#: Bytes of unpacked strips or tiles that are kept, so that tiles of another size than theirs find
#: them again: a band of 2048 rows of a picture 65536 wide.
_KEPT = 2**27


@final
class TiffSource:
    """Read a TIFF file of one channel region by region, like an array.

    Made by :func:`credo.images.tiff.open_tiff`. ``source[10:20, 30:40]`` reads what is needed for
    that region, and nothing else.

    Attributes
    ----------
    shape : tuple of int
        Height and width.
    dtype : numpy.dtype
        bool for 1-bit pixels, uint8, uint16 or float32. Large values are light, whatever the file
        says zero is.
    filename : str
        The file.
    reads : int
        How many strips or tiles have been read from the file; 0 if rows are mapped to memory.

    Notes
    -----
    Files without compression whose rows lie one behind the other are mapped to memory. Of others,
    strips or tiles that a region touches are unpacked whole, and 128 MB of them are kept. Threads
    may read at the same time. A copy that is sent to another process opens the file there. No file
    stays open between two reads.

    See Also
    --------
    credo.images.tiff.open_tiff : Makes one.
    credo.images.tiles.denoise_tiled : What it is for.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from credo.images.tiff import open_tiff
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "grey.tif"
    ...     Image.fromarray(np.arange(200, dtype=np.uint8).reshape(10, 20)).save(path)
    ...     with open_tiff(path) as source:
    ...         source[5:7, 3:6]
    array([[103, 104, 105],
           [123, 124, 125]], dtype=uint8)
    """

    def __init__(self, path: str, layout: TiffLayout, page: int | None) -> None:
        self.filename = path
        self.shape = layout.shape
        self.dtype = layout.dtype
        self.ndim = 2
        self.reads = 0
        self._layout, self._page = layout, page
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, npt.NDArray[Any]] = OrderedDict()
        height, width = layout.segment
        self._most_kept = max(1, _KEPT // (height * width * layout.dtype.itemsize))
        self._lines: Any = None
        self._is_closed = False
        if layout.is_contiguous:
            size = layout.shape[0], layout.row_bytes
            self._lines = np.memmap(path, np.uint8, "r", layout.offsets[0], size)

    def __getitem__(self, window: Any) -> npt.NDArray[Any]:
        """Read the pixels of some rows and columns, given as slices."""
        rows, columns = as_window(window, self.shape, "TiffSource")
        if self._is_closed:
            raise InputError(f"{self.filename} has been closed. Open it again with open_tiff.")
        found = np.empty((rows.stop - rows.start, columns.stop - columns.start), self.dtype)
        if not found.size:
            return found
        if self._lines is not None:
            return pixels(self._layout, self._lines[rows], columns)
        for row, column, there, here in pieces((rows, columns), self._layout.segment):
            found[there] = self._segment(row * self._layout.columns + column)[here]
        return found

    def _segment(self, index: int) -> npt.NDArray[Any]:
        """Give the pixels of a strip or tile, from the file if they are not at hand."""
        with self._lock:
            if index in self._kept:
                self._kept.move_to_end(index)
                return self._kept[index]
            self.reads += 1
        with Path(self.filename).open("rb") as stream:
            stream.seek(self._layout.offsets[index])
            data = stream.read(self._layout.counts[index])
        if len(data) < self._layout.counts[index]:
            raise FileFormatError(f"The file has lost strip or tile {index}.", self.filename)
        found = unpacked(self._layout, index, data)
        with self._lock:
            self._kept[index] = found
            while len(self._kept) > self._most_kept:
                self._kept.popitem(last=False)
        return found

    def let_go(self) -> None:
        """Tell the system that what is mapped to memory is not needed for now."""
        if self._lines is not None:
            _tile_regions.let_go(self._lines)

    def close(self) -> None:
        """Let go of the file; it cannot be read any more."""
        self._is_closed = True
        self._lines = None
        self._kept.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Open the file again at the other end."""
        return open_tiff, (str(Path(self.filename).absolute()), self._page)

    def __repr__(self) -> str:
        height, width = self.shape
        return f"<TiffSource: {height}x{width} pixels of {self.dtype}, {self.filename}>"


def open_tiff(path: str | os.PathLike[str], page: int | None = None) -> TiffSource:
    """Open a TIFF file to be read region by region.

    Parameters
    ----------
    path : str or path
        A TIFF or BigTIFF file in black and white (1 bit) or grey (8 or 16 bits, or 32-bit floats),
        in strips or tiles, without compression or with deflate, LZW, PackBits, CCITT group 3 or 4,
        LZMA or Zstandard (the last two if Pillow has been built with them).
    page : int, optional
        Which picture, from 0, if the file has several. Reduced copies do not count as pictures.

    Returns
    -------
    TiffSource
        Like an array of two dimensions. Close it, or use it in a ``with`` block.

    Raises
    ------
    InputError
        If there is no such file; if it is no TIFF, is cut off or damaged, has several pictures, or
        has pixels or a coding that are not known.
    MissingExtraError
        If tifffile is not installed.

    See Also
    --------
    TiffTarget : Write one.
    credo.images.files.open_image : Read a whole picture.

    Notes
    -----
    Sizes are checked against those of the file before anything is read. A compressed strip or tile
    of more than 2**26 bytes is refused: it could only be unpacked whole.

    References
    ----------
    .. [1] Adobe, *TIFF Revision 6.0*, 1992, sections 7 (strips), 11 (CCITT) and 15 (tiles).

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from credo.images.tiff import TiffTarget, open_tiff
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "eye.tif"
    ...     with TiffTarget(path, (500, 700), bool) as target:
    ...         target[:, :] = np.eye(500, 700, dtype=bool)
    ...     with open_tiff(path) as source:
    ...         corner = source[300:303, 300:304], source.reads
    >>> corner
    (array([[ True, False, False, False],
           [False,  True, False, False],
           [False, False,  True, False]]), 1)
    """
    name = os.fspath(path)
    tifffile = _tifffile()
    if not Path(path).is_file():
        raise InputError(f"{name}: There is no such file.")
    if page is not None:
        positive_int(page, "open_tiff", "page", least=0)
    try:
        with tifffile.TiffFile(name) as file:
            layout = layout_of(_chosen(file, page, name), Path(path).stat().st_size, name)
    except CredoError:
        raise
    except MemoryError:
        raise FileFormatError("The file claims more than there is memory for.", name) from None
    except Exception as error:
        raise FileFormatError(f"This is no TIFF file, or it is damaged: {error}.", name) from error
    return TiffSource(name, layout, page)


def _tifffile() -> Any:
    """Load tifffile, or say how to install it."""
    try:
        import tifffile  # noqa: PLC0415 - an extra, loaded when a file is opened
    except ImportError as error:
        raise MissingExtraError(
            "Reading TIFF files region by region needs tifffile. Install the extra: "
            "pip install 'credo[tiff]'."
        ) from error
    return tifffile


def _chosen(file: Any, page: int | None, name: str) -> Any:
    """Choose the picture of a file, which has only one unless its number is given."""
    pictures = [each for each in file.pages if each.index == 0 or not each.is_reduced]
    if page is None and len(pictures) > 1:
        raise FileFormatError(
            f"There are {len(pictures)} pictures in the file. Say which, with page=0.", name
        )
    number = page or 0
    if number >= len(pictures):
        raise FileFormatError(
            f"There is no page {number}; pages are from 0 to {len(pictures) - 1}.", name
        )
    return pictures[number]
