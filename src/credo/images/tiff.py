"""TIFF files that are read and written region by region, so that they need not fit into memory."""

from __future__ import annotations

import math
import mmap
import os
import tempfile
import threading
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias, final

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._files import bytes_written_whole, local_path
from credo.exceptions import (
    CredoError,
    FileFormatError,
    InputError,
    MissingExtraError,
    ShapeError,
)

#: Rows and columns.
Window: TypeAlias = tuple[slice, ...]
Shape: TypeAlias = tuple[int, ...]

#: Bytes of unpacked strips or tiles that are kept, so that tiles of another size than theirs find
#: them again: a band of 2048 rows of a picture 65536 wide.
_KEPT = 2**27
#: Pixels of the largest picture that is opened, a million rows of a million. More is a mistake.
_MOST_PIXELS = 2**40
#: Bytes of the largest strip or tile that is unpacked, and by that the memory that a read takes:
#: 4096 rows of a picture 16384 wide, with a byte per pixel.
_MOST_IN_SEGMENT = 2**26
#: Bytes of pixels up to which positions in a file surely fit into 32 bits: 32 MB are left for the
#: directory, and for tiles that deflate makes longer.
_MOST_CLASSIC = 2**32 - 2**25

#: Types of pixels by format of a sample (1 whole numbers, 3 floats) and bits.
_TYPES = {(1, 1): np.bool_, (1, 8): np.uint8, (1, 16): np.uint16, (3, 32): np.float32}
_WRITTEN = ("bool", "uint8", "uint16", "float32")
#: None, CCITT (three), LZW, deflate (two numbers), PackBits, LZMA, Zstandard. All are without loss.
_COMPRESSIONS = (1, 2, 3, 4, 5, 8, 32946, 32773, 34925, 50000)
_ORIENTATION = 274
#: How hard deflate tries. Whole numbers of restored pictures get twice as small at level 6 as at 1,
#: at 10 ns per pixel; probabilities just a tenth smaller, at 700 ns.
_LEVEL, _LEVEL_OF_FLOATS = 6, 1


@final
class TiffSource:
    """Read a TIFF file of one channel region by region, like an array.

    Made by :func:`credo.images.open_tiff`. ``source[10:20, 30:40]`` reads what is needed for
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
    credo.images.open_tiff : Makes one.
    credo.images.denoise_tiled : What it is for.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from credo.images import open_tiff
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "grey.tif"
    ...     Image.fromarray(np.arange(200, dtype=np.uint8).reshape(10, 20)).save(path)
    ...     with open_tiff(path) as source:
    ...         source[5:7, 3:6]
    array([[103, 104, 105],
           [123, 124, 125]], dtype=uint8)
    """

    def __init__(self, path: str, page: Any, number: int | None) -> None:
        self.filename = path
        self.shape: Shape = int(page.imagelength), int(page.imagewidth)
        self.ndim = 2
        self.reads = 0
        self._number = number
        self._segment = _check_page(page, self.shape, path)
        self.dtype = np.dtype(_TYPES[int(page.sampleformat), page.bitspersample])
        self._is_inverted = int(page.photometric) == 0 and self.dtype != np.float32
        self._bit_order: Any = "little" if int(page.fillorder) == 2 else "big"
        self._places = list(zip(page.dataoffsets, page.databytecounts, strict=True))
        self._decode = page.decode
        size = math.prod(self._segment) * self.dtype.itemsize
        self._unpacked = lru_cache(max(1, _KEPT // size))(self._unpack)
        self._lock = threading.Lock()
        self._is_closed = False
        self._lines: Any = None  #: the rows of a file that is mapped; of 1-bit pixels, as bytes
        if _is_contiguous(page, self._segment, self.shape):
            (height, width), is_bits = self.shape, self.dtype == np.bool_
            kind = np.uint8 if is_bits else self.dtype.newbyteorder(page.parent.byteorder)
            form = height, -(-width // 8) if is_bits else width
            self._lines = np.memmap(path, kind, "r", int(page.dataoffsets[0]), form)

    def __getitem__(self, window: Any) -> npt.NDArray[Any]:
        """Read the pixels of some rows and columns, given as slices."""
        rows, columns = _as_window(window, self.shape, "TiffSource")
        if self._is_closed:
            raise InputError(f"{self.filename} has been closed. Open it again with open_tiff.")
        found = np.empty((rows.stop - rows.start, columns.stop - columns.start), self.dtype)
        if self._lines is not None:
            found[:] = self._mapped(rows, columns)
        else:
            across = -(-self.shape[1] // self._segment[1])
            for row, column, there, here in pieces((rows, columns), self._segment):
                found[there] = self._unpacked(row * across + column)[here]
        # from black to white, where the file counts from white to black
        return np.invert(found, out=found) if self._is_inverted else found

    def _mapped(self, rows: slice, columns: slice) -> npt.NDArray[Any]:
        """Return pixels that are mapped to memory."""
        if self.dtype != np.bool_:
            return np.asarray(self._lines[rows, columns])
        first, last = columns.start // 8, -(-columns.stop // 8)
        bits = np.unpackbits(self._lines[rows, first:last], axis=1, bitorder=self._bit_order)
        return bits[:, columns.start - 8 * first : columns.stop - 8 * first]

    def _unpack(self, index: int) -> npt.NDArray[Any]:
        """Read the pixels of a strip or tile from the file."""
        with self._lock:
            self.reads += 1
        offset, count = self._places[index]
        if not count:
            return np.zeros(self._segment, self.dtype)
        with Path(self.filename).open("rb") as stream:
            stream.seek(offset)
            data = stream.read(count)
        if len(data) < count:
            raise FileFormatError(f"The file has lost strip or tile {index}.", self.filename)
        try:
            found: npt.NDArray[Any] = self._decode(data, index)[0][0, :, :, 0]
        except Exception as error:
            raise FileFormatError(
                f"Strip or tile {index} is damaged: {error}. Save the image again.", self.filename
            ) from error
        return found

    def let_go(self) -> None:
        """Tell the system that what is mapped to memory is not needed for now."""
        let_go(self._lines)

    def close(self) -> None:
        """Let go of the file; it cannot be read any more."""
        self._is_closed = True
        self._lines = None
        self._unpacked.cache_clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Open the file again at the other end."""
        return open_tiff, (str(Path(self.filename).absolute()), self._number)

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
        LZMA or Zstandard.
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
        If tifffile or imagecodecs is not installed.

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
    >>> from credo.images import TiffTarget, open_tiff
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
    name = local_path(path)
    tifffile = _load_tifffile()
    if not Path(name).is_file():
        raise InputError(f"{name}: There is no such file.")
    if page is not None:
        check.count(page, "page of open_tiff", 0)
    try:
        with tifffile.TiffFile(name) as file:
            return TiffSource(name, _choose_page(file, page, name), page)
    except CredoError:
        raise
    except MemoryError:
        raise FileFormatError("The file claims more than there is memory for.", name) from None
    except Exception as error:
        raise FileFormatError(f"This is no TIFF file, or it is damaged: {error}.", name) from error


def _load_tifffile() -> Any:
    """Load tifffile and what it decodes with, or say how to install them."""
    try:
        import imagecodecs  # noqa: F401, PLC0415 - an extra, loaded when a file is opened
        import tifffile  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            "TIFF files that are read or written region by region need tifffile and imagecodecs. "
            "Install the extra: pip install 'credo[tiff]'."
        ) from error
    return tifffile


def _choose_page(file: Any, number: int | None, name: str) -> Any:
    """Return the picture of a file, which has only one unless its number is given."""
    pictures = [each for each in file.pages if each.index == 0 or not each.is_reduced]
    if number is None and len(pictures) > 1:
        raise FileFormatError(
            f"There are {len(pictures)} pictures in the file. Say which, with page=0.", name
        )
    if (number or 0) >= len(pictures):
        raise FileFormatError(
            f"There is no page {number}; pages are from 0 to {len(pictures) - 1}.", name
        )
    return pictures[number or 0]


def _check_page(page: Any, shape: Shape, name: str) -> Shape:
    """Refuse what cannot be a picture, or is coded otherwise; return the size of its segments."""
    if not 0 < math.prod(shape) <= _MOST_PIXELS:
        raise FileFormatError(
            f"The image claims {shape[0]} × {shape[1]} pixels; there must be from 1 to 2**40.", name
        )
    if page.samplesperpixel != 1 or page.imagedepth != 1 or int(page.photometric) not in (0, 1):
        raise FileFormatError(
            f"The image has {page.samplesperpixel} channels, kind {page.photometric!s}. Save it in "
            "black and white or in grey.",
            name,
        )
    bits, is_turned = page.bitspersample, int(page.fillorder) == 2 and page.bitspersample != 1
    if (int(page.sampleformat), bits) not in _TYPES or is_turned:
        raise FileFormatError(
            f"Pixels of {bits} bits, in an order of bits {page.fillorder!s}, are not read here. "
            "Save the image with 1, 8 or 16 bits, or as 32-bit floats.",
            name,
        )
    if page.tags.valueof(_ORIENTATION) not in (None, 1):
        raise FileFormatError("The image is stored turned. Save it upright.", name)
    if int(page.compression) not in _COMPRESSIONS:
        raise FileFormatError(
            f"The compression {page.compression!s} is not read here. Save the image with deflate, "
            "LZW or CCITT group 4, or without compression.",
            name,
        )
    height, width = (
        (int(page.tilelength), int(page.tilewidth))
        if page.is_tiled
        else (int(page.rowsperstrip), shape[1])
    )
    if height < 1 or width < 1:
        raise FileFormatError(f"Strips or tiles of {height} × {width} pixels.", name)
    _check_segments(page, (height, width), shape, name)
    return height, width


def _check_segments(page: Any, segment: Shape, shape: Shape, name: str) -> None:
    """Refuse strips or tiles that are not as many as they should be, not in the file, too large."""
    (height, width), bits = segment, page.bitspersample
    wanted = -(-shape[0] // height) * -(-shape[1] // width)
    found = len(page.dataoffsets), len(page.databytecounts)
    if found != (wanted, wanted):
        raise FileFormatError(
            f"The image should have {wanted} strips or tiles. Got {found[0]} offsets and "
            f"{found[1]} sizes. The file is damaged.",
            name,
        )
    file_size, row_bytes = Path(name).stat().st_size, -(-width * bits // 8)
    for index, (offset, count) in enumerate(
        zip(page.dataoffsets, page.databytecounts, strict=True)
    ):
        rows = height if page.is_tiled else min(height, shape[0] - index * height)
        needed = 1 if int(page.compression) != 1 else rows * row_bytes
        if count and (offset < 8 or offset + max(count, needed) > file_size or count < needed):
            raise FileFormatError(
                f"The file is cut off or damaged: strip or tile {index} should have {needed} bytes "
                f"at least and end at byte {offset + max(count, needed)}; it has {count}, and the "
                f"file ends at {file_size}.",
                name,
            )
    size = height * max(width, row_bytes)
    if size > _MOST_IN_SEGMENT and not _is_contiguous(page, segment, shape):
        raise FileFormatError(
            f"A strip or tile of {height} × {width} pixels would have to be unpacked at once, into "
            f"{size} bytes; at most {_MOST_IN_SEGMENT} are. Save the image in tiles, or in strips "
            "of fewer rows.",
            name,
        )


def _is_contiguous(page: Any, segment: Shape, shape: Shape) -> bool:
    """Tell whether all rows lie one behind the other in the file, as in an array."""
    step = segment[0] * -(-segment[1] * page.bitspersample // 8)
    first = page.dataoffsets[0]
    return (
        int(page.compression) == 1
        and int(page.predictor) == 1
        and segment[1] == shape[1]
        and all(page.databytecounts)
        and all(offset == first + i * step for i, offset in enumerate(page.dataoffsets))
    )


@final
class TiffTarget:
    """Write a TIFF file of one channel region by region, like an array.

    Regions may come in any order; each pixel is written once. The file appears under its name when
    it is closed and complete. Use it in a ``with`` block: after an error nothing is left of it.

    Parameters
    ----------
    path : str or path
        The file.
    shape : tuple of int
        Height and width.
    dtype : dtype
        bool, which becomes 1 bit per pixel; uint8, uint16 or float32.
    tile : int
        Rows and columns of the tiles in the file, a multiple of 16.

    Attributes
    ----------
    shape : tuple of int
        Height and width.
    dtype : numpy.dtype
        Type of the pixels.
    filename : str
        The file.

    Raises
    ------
    InputError
        If the file cannot be written, or the type or the size of the tiles does not fit.
    MissingExtraError
        If tifffile or imagecodecs is not installed.

    See Also
    --------
    credo.images.open_tiff : Read it again.

    Notes
    -----
    Tiles are compressed with deflate as soon as all their pixels have come, and only those in
    between are in memory. Compressed tiles wait in a temporary file beside the other, which needs
    as much room again. The file is a BigTIFF if it could exceed 4 GB.

    References
    ----------
    .. [1] Adobe, *TIFF Revision 6.0*, 1992, section 15: tiled images.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from credo.images import TiffTarget
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "halves.tif"
    ...     with TiffTarget(path, (40, 60), np.uint8) as target:
    ...         target[:, 30:] = np.full((40, 30), 255)
    ...         target[:, :30] = np.zeros((40, 30))
    ...     np.asarray(Image.open(path))[20, 28:32]
    array([  0,   0, 255, 255], dtype=uint8)
    """

    def __init__(
        self, path: str | os.PathLike[str], shape: Shape, dtype: Any, *, tile: int = 256
    ) -> None:
        self._tifffile = _load_tifffile()
        self.filename = os.fspath(path)
        if np.shape(shape) != (2,):
            raise ShapeError(f"The shape of TiffTarget must be (height, width). Got {shape!r}.")
        height, width = (check.count(side, "sides of TiffTarget") for side in shape)
        self.shape: Shape = height, width
        self.dtype = np.dtype(dtype)
        self.ndim = 2
        if self.dtype not in _WRITTEN:
            raise InputError(f"TiffTarget writes {', '.join(_WRITTEN)}. Got {self.dtype}.")
        self._tile = check.count(tile, "tile of TiffTarget")
        if self._tile % 16:
            raise InputError(f"The tile of TiffTarget must be a multiple of 16. Got {tile}.")
        self._across = -(-width // self._tile)
        self._total = -(-height // self._tile) * self._across
        self._places: dict[int, tuple[int, int]] = {}
        self._begun: dict[int, tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]] = {}
        self._lock = threading.Lock()
        self._stack = ExitStack()
        self._stream = self._stack.enter_context(bytes_written_whole(path))
        waiting = tempfile.TemporaryFile(dir=Path(path).absolute().parent)  # noqa: SIM115
        self._waiting = self._stack.enter_context(waiting)

    def __setitem__(self, window: Any, values: Any) -> None:
        """Write the pixels of some rows and columns, given as slices."""
        where = _as_window(window, self.shape, "TiffTarget")
        size = tuple(side.stop - side.start for side in where)
        part = np.broadcast_to(np.asarray(values), size).astype(self.dtype, copy=False)
        with self._lock:
            for row, column, there, here in pieces(where, (self._tile, self._tile)):
                self._put(row, column, here, part[there])

    def _put(self, row: int, column: int, here: Window, part: npt.NDArray[Any]) -> None:
        """Write a part of a tile, which is compressed when it is complete."""
        index, side = row * self._across + column, self._tile
        block, missing = self._begun.pop(index, (None, None))
        if block is None or missing is None:
            block, missing = np.zeros((side, side), self.dtype), np.zeros((side, side), np.bool_)
            height, width = self.shape[0] - row * side, self.shape[1] - column * side
            missing[:height, :width] = index not in self._places
        if not missing[here].all():
            raise InputError(f"{self.filename}: a pixel is written twice, in tile {index}.")
        block[here], missing[here] = part, False
        if missing.any():
            self._begun[index] = block, missing
            return
        little = block.astype(self.dtype.newbyteorder("<"), copy=False)
        stored = np.packbits(block, axis=1) if self.dtype == np.bool_ else little
        level = _LEVEL_OF_FLOATS if self.dtype.kind == "f" else _LEVEL
        data = zlib.compress(stored.tobytes(), level)
        self._places[index] = self._waiting.tell(), len(data)
        self._waiting.write(data)

    def _tiles(self) -> Iterator[bytes]:
        """Yield the compressed tiles in the order of the file."""
        for index in range(self._total):
            offset, count = self._places[index]
            self._waiting.seek(offset)
            yield self._waiting.read(count)

    def close(self) -> None:
        """Finish the file, which appears under its name; if pixels are missing, remove it.

        Raises
        ------
        InputError
            If pixels are missing.
        """
        if self._stream.closed:
            return
        with self._stack:  # gives the file its name, or removes it after an error
            missing = [index for index in range(self._total) if index not in self._places]
            if missing:
                row, column = (self._tile * number for number in divmod(missing[0], self._across))
                raise InputError(
                    f"{self.filename} is not complete: {len(missing)} of {self._total} tiles lack "
                    f"pixels, the first the one at pixel ({row}, {column}). No file was written."
                )
            self._tifffile.imwrite(
                self._stream,
                self._tiles(),
                bigtiff=self._total * self._tile**2 * self.dtype.itemsize > _MOST_CLASSIC,
                byteorder="<",
                shape=self.shape,
                dtype=self.dtype,
                tile=(self._tile, self._tile),
                compression="zlib",
                photometric="minisblack",
                metadata=None,
                software=False,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            self._stack.__exit__(kind, error, trace)

    def __repr__(self) -> str:
        height, width = self.shape
        return f"<TiffTarget: {height}x{width} pixels of {self.dtype}, {self.filename}>"


# --- windows --------------------------------------------------------------------------------------


def _as_window(index: Any, shape: Shape, who: str) -> Window:
    """Check an index of up to two slices with a step of one; return where they start and stop."""
    slices = index if isinstance(index, tuple) else (index,)
    slices = tuple(slice(None) if each is Ellipsis else each for each in slices)
    plain = [each for each in slices if isinstance(each, slice) and each.step in (None, 1)]
    if len(plain) != len(slices) or len(slices) > 2:
        raise InputError(
            f"{who} takes rows and columns as slices, such as [0:100, 50:80]. Got {index!r}."
        )
    pairs = zip(shape, (*plain, slice(None), slice(None)), strict=False)
    ends = [each.indices(length) for length, each in pairs]
    rows, columns = (slice(start, max(start, stop)) for start, stop, _ in ends)
    return rows, columns


def pieces(window: Window, cell: Shape) -> Iterator[tuple[int, int, Window, Window]]:
    """Cut a window along a raster of cells of equal size, row by row.

    Yield row and column of each cell, the pixels as seen from the corner of the window, and the
    same pixels as seen from the corner of the cell.
    """
    for row, there_rows, here_rows in _cut(window[0], cell[0]):
        for column, there_columns, here_columns in _cut(window[1], cell[1]):
            yield row, column, (there_rows, there_columns), (here_rows, here_columns)


def _cut(side: slice, size: int) -> Iterator[tuple[int, slice, slice]]:
    """Cut a side of a window at the multiples of a size."""
    for number in range(side.start // size, -(-side.stop // size)):
        low, high = max(side.start, number * size), min(side.stop, (number + 1) * size)
        there = slice(low - side.start, high - side.start)
        yield number, there, slice(low - number * size, high - number * size)


def let_go(array: Any) -> None:
    """Tell the system that the pages of a memory-mapped file are not needed for now.

    What was written to them stays, in the file. Those of a private copy would be lost; they are
    not touched.
    """
    if hasattr(array, "let_go"):
        array.let_go()
        return
    mapped = None
    while isinstance(array, np.ndarray):
        mapped = array if isinstance(array, np.memmap) else mapped
        array = array.base
    is_shared = mapped is not None and mapped.mode != "c"
    if is_shared and isinstance(array, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        array.madvise(mmap.MADV_DONTNEED)
