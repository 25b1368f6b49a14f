"""Segments of a TIFF file as pixels."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from credo.exceptions import FileFormatError
from credo.images._tiff_layout import TiffLayout

#: Types of numbers in a directory.
_SHORT, _LONG = 3, 4
_STRIP_OFFSETS = 273


def unpacked(layout: TiffLayout, index: int, data: bytes) -> npt.NDArray[Any]:
    """Give the pixels of a segment, all its rows and columns."""
    if not data:
        empty = np.zeros((layout.rows(index), layout.segment[1]), layout.dtype)
        return inverted(layout, empty)
    if layout.is_packed and not layout.is_bytewise:
        return inverted(layout, _decompressed(layout, index, data))
    lines = (
        _decompressed(layout, index, data)
        if layout.is_packed
        else np.frombuffer(data, np.uint8, layout.size(index)).reshape(-1, layout.row_bytes)
    )
    return pixels(layout, lines, slice(0, layout.segment[1]))


def pixels(layout: TiffLayout, lines: Any, columns: slice) -> npt.NDArray[Any]:
    """Give some columns of the pixels of rows that are not compressed."""
    if layout.bits == 1:
        first, last = columns.start // 8, -(-columns.stop // 8)
        order: Any = "little" if layout.fill_order == 2 else "big"
        all_bits = np.unpackbits(lines[:, first:last], axis=1, bitorder=order)
        start = columns.start - 8 * first
        found = all_bits[:, start : start + columns.stop - columns.start].view(np.bool_)
    else:
        width = layout.bits // 8
        part = lines[:, columns.start * width : columns.stop * width]
        stored = np.ascontiguousarray(part).view(layout.dtype.newbyteorder(layout.byte_order))
        found = stored.astype(layout.dtype, copy=False)
    return inverted(layout, found)


def inverted(layout: TiffLayout, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Count from black to white where the file counts from white to black."""
    if not layout.is_inverted:
        return values
    return ~values  # of unsigned numbers too: the largest one minus the value


def _decompressed(layout: TiffLayout, index: int, data: bytes) -> npt.NDArray[Any]:
    """Have a segment decompressed by Pillow, as a picture of its own: of bytes, if it can be so.

    The decoder stops when the picture is full, so that what a segment claims to be is all that it
    can become.
    """
    from PIL import Image  # noqa: PLC0415 - takes as long as all of this room

    rows = layout.rows(index)
    columns = layout.row_bytes if layout.is_bytewise else layout.segment[1]
    try:
        stream = io.BytesIO(_alone(layout, (rows, columns), data))
        with Image.open(stream, formats=("TIFF",)) as image:
            found = np.asarray(image)
    except Exception as error:
        raise FileFormatError(
            f"Strip or tile {index} is damaged: {error}. Save the image again.", layout.name
        ) from error
    return found.astype(np.uint8 if layout.is_bytewise else layout.dtype, copy=False)


def _alone(layout: TiffLayout, shape: tuple[int, int], data: bytes) -> bytes:
    """Make a TIFF file of one strip."""
    is_float = layout.dtype == np.float32 and not layout.is_bytewise
    entries = [
        (256, _LONG, shape[1]),
        (257, _LONG, shape[0]),
        (258, _SHORT, 8 if layout.is_bytewise else layout.bits),
        (259, _SHORT, layout.compression),
        (262, _SHORT, 1),
        (266, _SHORT, layout.fill_order),
        (_STRIP_OFFSETS, _LONG, 0),
        (277, _SHORT, 1),
        (278, _LONG, shape[0]),
        (279, _LONG, len(data)),
        (292, _LONG, layout.options),
        (317, _SHORT, layout.predictor),
        (339, _SHORT, 3 if is_float else 1),
    ]
    order = layout.byte_order
    begin = 8 + 2 + 12 * len(entries) + 4
    mark = b"II*\0" if order == "<" else b"MM\0*"
    parts = [mark, struct.pack(order + "IH", 8, len(entries))]
    for tag, kind, value in entries:
        number = begin if tag == _STRIP_OFFSETS else value
        shown = (number, 0) if kind == _SHORT else (number,)
        form = "HHIHH" if kind == _SHORT else "HHII"
        parts.append(struct.pack(order + form, tag, kind, 1, *shown))
    return b"".join([*parts, struct.pack(order + "I", 0), data])
