"""How a TIFF file holds a picture: its segments, which are strips or tiles, and their coding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from credo.exceptions import FileFormatError

#: Compressions that Pillow's decoder knows, and what to call others.
_COMPRESSIONS = (1, 2, 3, 4, 5, 8, 32773, 32946, 34925, 50000)
_NO_COMPRESSION = 1
#: Types of pixels by format of a sample (whole numbers, floats) and bits.
_WHOLE, _FLOAT = 1, 3
_TYPES = {
    (_WHOLE, 1): np.bool_,
    (_WHOLE, 8): np.uint8,
    (_WHOLE, 16): np.uint16,
    (_FLOAT, 32): np.float32,
}
#: White is zero, black is zero.
_GREYS = (0, 1)

#: Pixels of the largest picture that is opened, a million rows of a million. More is a mistake.
_MOST_PIXELS = 2**40
#: Bytes of the largest segment that is unpacked, and by that the memory that a read takes: 4096
#: rows of a picture 16384 wide, with a byte per pixel.
_MOST_IN_SEGMENT = 2**26

#: The tags that are looked up by number.
_ORIENTATION, _T4_OPTIONS = 274, 292


@final
@dataclass(frozen=True, slots=True, eq=False)
class TiffLayout:
    """A picture of one channel, cut into segments of equal size, row by row."""

    name: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]  #: of the pixels, in native byte order
    segment: tuple[int, int]  #: rows and columns of a segment
    offsets: tuple[int, ...]  #: where in the file a segment begins; 0 if there is none
    counts: tuple[int, ...]  #: how many bytes it has there; 0 if there is none
    byte_order: Literal["<", ">"]
    compression: int
    predictor: int
    fill_order: int  #: 2 if the first of eight bits is the lowest
    options: int  #: of CCITT's compression
    is_inverted: bool  #: whether zero is white

    @property
    def columns(self) -> int:
        """Count the segments that stand side by side."""
        return math.ceil(self.shape[1] / self.segment[1])

    @property
    def bits(self) -> int:
        """Bits of a pixel."""
        return 1 if self.dtype == np.bool_ else 8 * self.dtype.itemsize

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of a segment without compression; it begins with a new byte."""
        return math.ceil(self.segment[1] * self.bits / 8)

    @property
    def is_packed(self) -> bool:
        """Whether segments are compressed."""
        return self.compression != _NO_COMPRESSION

    @property
    def is_bytewise(self) -> bool:
        """Whether what is compressed is just the bytes of the pixels."""
        return self.bits > 1 and self.predictor == 1

    @property
    def is_contiguous(self) -> bool:
        """Whether all rows lie one behind the other in the file, as in an array."""
        ends = [offset + self.size(i) for i, offset in enumerate(self.offsets)]
        return (
            not self.is_packed
            and self.segment[1] == self.shape[1]
            and all(self.counts)
            and ends[:-1] == list(self.offsets[1:])
        )

    def rows(self, index: int) -> int:
        """Count the rows of a segment; the last strip has fewer, and tiles are alike in size."""
        whole, width = self.segment
        if width != self.shape[1]:
            return whole
        return min(whole, self.shape[0] - index * whole)

    def size(self, index: int) -> int:
        """Count the bytes of a segment without compression."""
        return self.rows(index) * self.row_bytes


def layout_of(page: Any, file_size: int, name: str) -> TiffLayout:
    """Take the layout from a page as tifffile has read it; refuse what cannot be a picture."""
    shape = int(page.imagelength), int(page.imagewidth)
    _check_kind(page, shape, name)
    tiled = bool(page.is_tiled)
    segment = (
        (int(page.tilelength), int(page.tilewidth)) if tiled else (int(page.rowsperstrip), shape[1])
    )
    kind = _TYPES[int(page.sampleformat), page.bitspersample]
    layout = TiffLayout(
        name, shape, np.dtype(kind), segment, tuple(map(int, page.dataoffsets)),
        tuple(map(int, page.databytecounts)), page.parent.byteorder, int(page.compression),
        int(page.predictor), int(page.fillorder), int(page.tags.valueof(_T4_OPTIONS) or 0),
        int(page.photometric) == 0 and kind != np.float32,
    )  # fmt: skip
    _check_segments(layout, file_size)
    return layout


def _check_kind(page: Any, shape: tuple[int, int], name: str) -> None:
    """Refuse pictures without pixels or with too many, in colour, turned, or coded otherwise."""
    height, width = shape
    if not 0 < height * width <= _MOST_PIXELS:
        raise FileFormatError(
            f"The image claims {height} × {width} pixels; there must be from 1 to 2**40.", name
        )
    format_and_bits = int(page.sampleformat), page.bitspersample
    if page.samplesperpixel != 1 or page.imagedepth != 1 or int(page.photometric) not in _GREYS:
        raise FileFormatError(
            f"The image has {page.samplesperpixel} channels, kind {page.photometric!s}. Save it in "
            "black and white or in grey.",
            name,
        )
    if format_and_bits not in _TYPES or (int(page.fillorder) == 2 and page.bitspersample != 1):
        raise FileFormatError(
            f"Pixels of {page.bitspersample} bits, in an order of bits {page.fillorder!s}, are not "
            "read here. Save the image with 1, 8 or 16 bits, or as 32-bit floats.",
            name,
        )
    if page.tags.valueof(_ORIENTATION) not in (None, 1):
        raise FileFormatError("The image is stored turned. Save it upright.", name)
    if int(page.compression) not in _COMPRESSIONS or _is_swapped(page):
        raise FileFormatError(
            f"The compression {page.compression!s} is not read here. Save the image with deflate, "
            "LZW or CCITT group 4, or without compression.",
            name,
        )


def _is_swapped(page: Any) -> bool:
    """Tell differences of big-endian floats, whose bytes Pillow would give in the wrong order."""
    is_float = int(page.sampleformat) == _FLOAT
    return is_float and page.parent.byteorder == ">" and int(page.predictor) != 1


def _check_segments(layout: TiffLayout, file_size: int) -> None:
    """Refuse segments that are not as many as they should be, not in the file, or too large."""
    height, width = layout.segment
    if height < 1 or width < 1:
        raise FileFormatError(f"Strips or tiles of {height} × {width} pixels.", layout.name)
    wanted = math.ceil(layout.shape[0] / height) * layout.columns
    if (len(layout.offsets), len(layout.counts)) != (wanted, wanted):
        raise FileFormatError(
            f"The image should have {wanted} strips or tiles. Got {len(layout.offsets)} offsets "
            f"and {len(layout.counts)} sizes. The file is damaged.",
            layout.name,
        )
    for index, (offset, count) in enumerate(zip(layout.offsets, layout.counts, strict=True)):
        needed = 1 if layout.is_packed else layout.size(index)
        if count and (offset < 8 or offset + max(count, needed) > file_size or count < needed):
            raise FileFormatError(
                f"The file is cut off or damaged: strip or tile {index} should have {needed} bytes "
                f"at least and end at byte {offset + max(count, needed)}; it has {count}, and the "
                f"file ends at {file_size}.",
                layout.name,
            )
    size = height * max(width, layout.row_bytes)
    if size > _MOST_IN_SEGMENT and not layout.is_contiguous:
        raise FileFormatError(
            f"A strip or tile of {height} × {width} pixels would have to be unpacked at once, into "
            f"{size} bytes; at most {_MOST_IN_SEGMENT} are. Save the image in tiles, or in strips "
            "of fewer rows.",
            layout.name,
        )
