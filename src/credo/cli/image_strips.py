"""A strip of small pictures side by side, with captions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image

#: A caption, and the bytes of the picture that it stands above.
Panel: TypeAlias = tuple[str, Any]

#: Pixels of the strip: between pictures, above them, and the least and the most of a picture.
_GAP, _HEAD, _LEAST, _MOST = 4, 18, 96, 512
_FONT_SIZE = 12
_PAPER, _INK = (255, 255, 255), (40, 40, 40)


def draw_strip(panels: Sequence[Panel]) -> Any:
    """Draw pictures of one size side by side, enlarged or reduced to fit captions and screens."""
    from PIL import Image, ImageDraw, ImageFont

    pictures = [_picture(pixels) for _, pixels in panels]
    width, height = pictures[0].size
    step = max(width, _LEAST) + _GAP
    sheet = Image.new("RGB", (len(pictures) * step + _GAP, height + _HEAD + _GAP), _PAPER)
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(_FONT_SIZE)
    for i, ((caption, _), picture) in enumerate(zip(panels, pictures, strict=True)):
        left = _GAP + i * step
        pen.text((left, 2), caption, fill=_INK, font=font)
        sheet.paste(picture, (left, _HEAD))
        pen.rectangle((left - 1, _HEAD - 1, left + width, _HEAD + height), outline=(200, 200, 200))
    return np.asarray(sheet)


def _picture(pixels: Any) -> Image:
    """Bring a picture to bytes and to a size that can be looked at."""
    from PIL import Image

    picture = Image.fromarray(pixels).convert("RGB")
    largest = max(picture.size)
    if largest > _MOST:
        return picture.reduce(-(-largest // _MOST))
    times = min(-(-_LEAST // picture.width), _MOST // largest)
    return picture.resize((picture.width * times, picture.height * times), 0)


def as_bytes(pixels: Any, low: float = 0.0, high: float = 1.0) -> Any:
    """Give levels between black and white; numbers that are no bytes from ``low`` to ``high``."""
    if pixels.dtype == np.uint8:
        return pixels
    share = (np.asarray(pixels, np.float64) - low) / ((high - low) or 1.0)
    return np.rint(255 * np.clip(share, 0.0, 1.0)).astype(np.uint8)
