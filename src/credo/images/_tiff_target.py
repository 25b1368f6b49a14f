"""``TiffTarget``: a tiled TIFF file that is written region by region."""

from __future__ import annotations

import os
import threading
import zlib
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from credo._files import written_whole
from credo._validation.arrays import positive_int
from credo.exceptions import InputError, ShapeError
from credo.images._tiff_directory import MOST_CLASSIC, header, tiled_directory
from credo.images._tile_regions import Shape, Window, as_window, pieces

#: Types of pixels that are written.
_TYPES = ("bool", "uint8", "uint16", "float32")
#: How hard deflate tries. Whole numbers of restored pictures get twice as small at level 6 as at 1,
#: at 10 ns per pixel; probabilities just a tenth smaller, at 700 ns.
_LEVEL, _LEVEL_OF_FLOATS = 6, 1


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

    See Also
    --------
    credo.images.tiff.open_tiff : Read it again.

    Notes
    -----
    Tiles are compressed with deflate as soon as all their pixels have come, and only those in
    between are in memory. The file is a BigTIFF if it could exceed 4 GB.

    References
    ----------
    .. [1] Adobe, *TIFF Revision 6.0*, 1992, section 15: tiled images.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from credo.images.tiff import TiffTarget
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
        who = type(self).__name__
        self.filename = os.fspath(path)
        self.shape = _as_shape(shape, who)
        self.dtype = np.dtype(dtype)
        self.ndim = 2
        if self.dtype not in _TYPES:
            raise InputError(f"{who} writes {', '.join(_TYPES)}. Got {self.dtype}.")
        self._tile = positive_int(tile, who, "tile")
        if self._tile % 16:
            raise InputError(f"The tile of {who} must be a multiple of 16. Got {tile}.")
        self._grid = tuple(-(-length // self._tile) for length in self.shape)
        self._places: dict[int, tuple[int, int]] = {}
        self._begun: dict[int, tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]] = {}
        self._lock = threading.Lock()
        self._stack = ExitStack()
        text: Any = self._stack.enter_context(written_whole(path))
        self._stream = text.buffer  # all that is written is bytes
        pixels_of_tiles = self._grid[0] * self._grid[1] * self._tile**2
        self._is_big = pixels_of_tiles * self.dtype.itemsize > MOST_CLASSIC
        self._stream.write(header(0, is_big=self._is_big))

    def __setitem__(self, window: Any, values: Any) -> None:
        """Write the pixels of some rows and columns, given as slices."""
        where = as_window(window, self.shape, "TiffTarget")
        size = tuple(side.stop - side.start for side in where)
        part = np.broadcast_to(np.asarray(values), size).astype(self.dtype, copy=False)
        with self._lock:
            for row, column, there, here in pieces(where, (self._tile, self._tile)):
                self._put(row * self._grid[1] + column, here, part[there])

    def _put(self, index: int, here: Window, part: npt.NDArray[Any]) -> None:
        """Write a part of a tile; the tile goes to the file when it is complete."""
        rows, columns = self._size(index)
        side = self._tile, self._tile
        block, missing = self._begun.pop(index, (None, None))
        if block is None or missing is None:
            block, missing = np.zeros(side, self.dtype), np.zeros(side, np.bool_)
            missing[:rows, :columns] = index not in self._places
        if not missing[here].all():
            raise InputError(f"{self.filename}: a pixel is written twice, in tile {index}.")
        block[here], missing[here] = part, False
        if missing.any():
            self._begun[index] = block, missing
        else:
            self._append(index, block)

    def _size(self, index: int) -> tuple[int, int]:
        """Count the rows and columns of a tile that are in the picture."""
        row, column = divmod(index, self._grid[1])
        height, width = self.shape
        return min(self._tile, height - row * self._tile), min(
            self._tile, width - column * self._tile
        )

    def _append(self, index: int, block: npt.NDArray[Any]) -> None:
        """Compress a tile and write it behind the others."""
        is_bits = self.dtype == np.bool_
        little = self.dtype.newbyteorder("<")
        stored = np.packbits(block, axis=1) if is_bits else block.astype(little, copy=False)
        level = _LEVEL_OF_FLOATS if self.dtype.kind == "f" else _LEVEL
        data = zlib.compress(stored.tobytes(), level)
        self._places[index] = self._stream.tell(), len(data)
        self._stream.write(data)

    def close(self) -> None:
        """Finish the file, which appears under its name; if pixels are missing, remove it.

        Raises
        ------
        InputError
            If pixels are missing.
        """
        if self._stream.closed:
            return
        total = self._grid[0] * self._grid[1]
        with self._stack:  # gives the file its name, or removes it after an error
            if len(self._places) < total:
                raise self._incomplete(total)
            places = [self._places[index] for index in range(total)]
            begin = self._stream.tell() + self._stream.tell() % 2
            self._stream.seek(begin)
            kind = self.shape, self.dtype, self._tile
            self._stream.write(tiled_directory(*kind, places, begin, is_big=self._is_big))
            self._stream.seek(0)
            self._stream.write(header(begin, is_big=self._is_big))

    def _incomplete(self, total: int) -> InputError:
        """Word the error on pixels that were not written."""
        first = next(index for index in range(total) if index not in self._places)
        row, column = (self._tile * number for number in divmod(first, self._grid[1]))
        return InputError(
            f"{self.filename} is not complete: {total - len(self._places)} of {total} tiles lack "
            f"pixels, the first the one at pixel ({row}, {column}). No file was written."
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


def _as_shape(shape: Any, who: str) -> Shape:
    """Check a height and a width."""
    if np.shape(shape) != (2,):
        raise ShapeError(f"The shape of {who} must be (height, width). Got {shape!r}.")
    height, width = (positive_int(side, who, "sides") for side in shape)
    return height, width
