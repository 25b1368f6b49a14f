"""How far a picture is from the true one, before and after it was restored."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.exceptions import InputError
from credo.images.files import two_values


def errors(truth: Any, noisy: Any, restored: Any, rejected: Any | None) -> dict[str, Any]:
    """Give the share of wrong pixels if there are two values, otherwise the distance in levels.

    With rejected pixels also the share of wrong ones among the others.
    """
    true, before, after = (_lighter(each) for each in (truth, noisy, restored))
    if true is None or before is None or after is None:
        levels = _levels(truth, noisy.dtype), _levels(noisy), _levels(restored)
        return {
            "measure": "root mean square",
            "noisy": _distance(levels[0], levels[1]),
            "restored": _distance(levels[0], levels[2]),
        }
    wrong = after != true
    found = {
        "measure": "share of pixels",
        "noisy": float((before != true).mean()),
        "restored": float(wrong.mean()),
    }
    if rejected is not None:
        found["kept"] = None if rejected.all() else float(wrong[~rejected].mean())
    return found


def _lighter(pixels: Any) -> Any:
    """Tell which pixels have the lighter of two values; None if there are more."""
    if pixels.dtype == np.bool_:
        return pixels
    values = two_values(pixels) if pixels.ndim == 2 else None
    if values is None:
        return None
    return pixels == max(values) if len(values) == 2 else pixels > _top(pixels.dtype) // 2


def _top(dtype: Any) -> float:
    """Give the level of white."""
    return 255 if dtype == np.bool_ or dtype.kind != "u" else float(np.iinfo(dtype).max)


def _levels(pixels: Any, like: Any = None) -> Any:
    """Give levels as numbers, in channels if there are any; black and white as another type has."""
    dtype = pixels.dtype if like is None else like
    if pixels.dtype == np.bool_:
        levels = pixels * float(_top(dtype))
    elif dtype in (pixels.dtype, np.bool_):
        levels = pixels.astype(np.float64)
    else:
        raise InputError(
            f"The picture to compare with has pixels of {pixels.dtype}, the noisy one of {dtype}. "
            "Save both alike."
        )
    return levels[..., None] if levels.ndim == 2 else levels


def _distance(first: Any, second: Any) -> float:
    """Give the root of the mean square of differences."""
    return float(np.sqrt(((first - second) ** 2).mean()))
