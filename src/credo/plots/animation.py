"""``animate``: a GIF of what sweeps of messages make of a picture."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from credo import _checks as check
from credo._files import bytes_written_whole
from credo.exceptions import InputError
from credo.images import Restoration
from credo.images.files import image_format
from credo.inference import GridPosterior
from credo.plots.pictures import Panel, panels_of, sureness

#: Pixels: the least and the most of a picture's longer side, between pictures, of a line of text.
_LEAST, _MOST, _GAP, _LINE = 200, 512, 8, 16
#: A panel is not narrower, so that captions do not run into each other.
_CAPTION = 124
#: Greys that are told apart: a GIF has 256 colours, and half of them leave room for others.
_GREYS = 127


def animate(
    result: Restoration | GridPosterior,
    path: str | os.PathLike[str],
    truth: Any = None,
    *,
    sweeps: Iterable[int] | None = None,
    milliseconds: float = 250,
) -> None:
    """Write a moving picture of sweeps; see ``animate`` of the result."""
    if image_format(path) != "GIF":
        raise InputError(f"animate writes GIF files. Got {os.fspath(path)}; end its name in .gif.")
    each = check.number(milliseconds, "milliseconds of animate", 20)
    numbers = list(range(result.sweeps + 1) if sweeps is None else sweeps)
    if not numbers:
        raise InputError("animate needs at least one number of sweeps to show. Got none.")
    pictures = result.pictures(truth, numbers)
    panels = dict(zip(pictures, panels_of(result, pictures), strict=True))
    stages = [f"after {number}" for number in dict.fromkeys(numbers)]
    sure = [np.asarray(pictures[name].confidence) for name in stages]
    top = max(float(plane.max()) for plane in sure)
    lines = 1 + max(name.count("\n") for name, _ in panels.values())
    frames = []
    for stage, plane in zip(stages, sure, strict=True):
        row = [panels[name] for name in ("noisy", stage, "true") if name in panels]
        frames.append(_frame([*row, sureness(result, plane, top)], lines))
    durations = [each] * (len(frames) - 1) + [8 * each]
    with bytes_written_whole(path) as stream:
        frames[0].save(
            stream, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0
        )


def _frame(panels: list[Panel], lines: int) -> Image.Image:
    """Draw panels side by side over lines of captions, every pixel a square of pixels."""
    height, width = panels[0][1].shape[:2]
    less, times = -(-max(height, width) // _MOST), max(1, -(-_LEAST // max(height, width)))
    blocks = [
        np.rint(255 / _GREYS * np.rint(_GREYS * inks[::less, ::less])).astype(np.uint8)
        for _, inks in panels
    ]
    big = [block.repeat(times, axis=0).repeat(times, axis=1) for block in blocks]
    high, wide = big[0].shape[:2]
    step = max(wide, _CAPTION) + _GAP
    sheet = Image.new("RGB", (step * len(panels) + _GAP, high + 2 * _GAP + _LINE * lines), "white")
    pen, fonts = ImageDraw.Draw(sheet), Path(mpl.get_data_path(), "fonts", "ttf")
    font = ImageFont.truetype(fonts / "DejaVuSans.ttf", 12)
    for i, ((name, _), block) in enumerate(zip(panels, big, strict=True)):
        left = _GAP + i * step
        sheet.paste(Image.fromarray(block), (left, _GAP))
        pen.multiline_text((left, high + _GAP + 2), name, fill=(40, 40, 40), font=font, spacing=3)
    return sheet
