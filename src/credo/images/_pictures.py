"""Pillow's pictures as arrays, and arrays as pictures of the same kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from credo.exceptions import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

#: Modes of Pillow as people call them.
WORDS = {
    "1": "black and white",
    "L": "grey",
    "P": "palette",
    "RGB": "colour",
    "LA": "grey with transparency",
    "RGBA": "colour with transparency",
    "I;16": "16-bit grey",
    "I": "32-bit grey",
    "F": "fractional grey",
}
#: Modes whose pixels are taken as they are; others become colour.
_KEPT = ("1", "L", "P", "RGB", "I", "F")
#: Types of pixels that any reader of pictures expects, and those of which few formats know.
_USUAL, _RARE = (np.bool_, np.uint8, np.uint16), {"I": np.int32, "F": np.float32}
#: Rows that are looked at together, so that what is found early costs little.
_ROWS = 256


@dataclass(frozen=True, eq=False)
class ImageInfo:
    """How a picture was stored, so that another one can be stored alike.

    Parameters
    ----------
    format
        The file's format, such as ``"PNG"``.
    mode
        Pillow's name of the kind of pixels, without transparency: ``"1"``, ``"L"``, ``"P"``,
        ``"RGB"``, ``"I;16"``, ``"I"`` or ``"F"``.
    colours
        The darker and the lighter colour of a picture that has just two; its array is then bool.
    alpha
        The plane of opacity, which is handed through untouched.
    """

    format: str
    mode: str
    colours: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    alpha: npt.NDArray[np.uint8] | None = None


def array_of(image: Image, kind: str) -> tuple[npt.NDArray[Any], ImageInfo]:
    """Turn a picture of a file of some kind into an array, and tell how it was stored."""
    image, alpha = _without_alpha(image)
    mode = "I;16" if image.mode.startswith("I;16") else image.mode
    if mode in ("P", "RGB"):
        pixels, mode, colours = _of_colours(np.asarray(image.convert("RGB")), mode)
        return pixels, ImageInfo(kind, mode, colours, alpha)
    if mode == "1":  # Pillow hands out 255 as True, which NumPy must not see
        return np.asarray(image.convert("L")) != 0, ImageInfo(kind, mode, alpha=alpha)
    if mode == "I" and kind == "PPM":  # which has 16 bits at most
        mode = "I;16"
    pixels = np.asarray(image)
    return pixels.astype(np.uint16) if mode == "I;16" else pixels, ImageInfo(
        kind, mode, None, alpha
    )


def _without_alpha(image: Image) -> tuple[Image, npt.NDArray[np.uint8] | None]:
    """Bring a picture to a mode that is kept, and take its opacity off."""
    if image.has_transparency_data:
        image = image.convert("LA" if image.mode in ("1", "L", "LA", "La") else "RGBA")
        alpha = np.asarray(image.getchannel("A"))
        return image.convert(image.mode.removesuffix("A")), alpha
    is_kept = image.mode in _KEPT or image.mode.startswith("I;16")
    return image if is_kept else image.convert("RGB"), None


def _of_colours(
    pixels: npt.NDArray[Any], mode: str
) -> tuple[npt.NDArray[Any], str, tuple[tuple[int, ...], tuple[int, ...]] | None]:
    """Reduce a colour picture to two values or to grey if there is no more in it."""
    codes = _two(map(_codes, _blocks(pixels)))
    if codes is not None and len(codes) == 2:
        colours = sorted((_colour(code) for code in codes), key=_lightness)
        lighter = np.concatenate([(rows == colours[1]).all(axis=2) for rows in _blocks(pixels)])
        return lighter, mode, (colours[0], colours[1])
    grey = all((rows == rows[:, :, :1]).all() for rows in _blocks(pixels))
    if grey:
        return np.ascontiguousarray(pixels[:, :, 0]), "L" if mode == "P" else mode, None
    return pixels, "RGB", None


def two_values(pixels: npt.NDArray[Any]) -> list[Any] | None:
    """Find the values of a picture, in order of place; None if there are more than two."""
    return _two(_blocks(pixels))


def _two(blocks: Iterable[npt.NDArray[Any]]) -> list[Any] | None:
    """Find the values in some blocks; None if there are more than two."""
    seen: list[Any] = []
    for block in blocks:
        left = block.ravel()
        for value in seen:
            left = left[left != value]
        while left.size:
            if len(seen) == 2:
                return None
            seen.append(left[0])
            left = left[left != left[0]]
    return seen


def _blocks(pixels: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """Give a few rows at a time."""
    return (pixels[i : i + _ROWS] for i in range(0, len(pixels), _ROWS))


def _codes(pixels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Give each colour as one number."""
    wide = pixels.astype(np.uint32)
    return (wide[..., 0] << 16) | (wide[..., 1] << 8) | wide[..., 2]


def _colour(code: Any) -> tuple[int, ...]:
    """Give the colour that a number stands for."""
    return int(code) >> 16, int(code) >> 8 & 255, int(code) & 255


def _lightness(colour: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Order colours by the lightness that Pillow gives them (ITU-R 601-2)."""
    red, green, blue = colour
    return 299 * red + 587 * green + 114 * blue, colour


def picture_of(pixels: npt.NDArray[Any], like: ImageInfo | None, name: str) -> Image:
    """Turn an array into a picture, stored like another one if it can be."""
    from PIL import Image  # noqa: PLC0415 - takes as long as all of this room

    if like is not None and like.colours is not None and pixels.dtype == np.bool_:
        image = Image.fromarray(pixels.astype(np.uint8))
        image.putpalette([part for colour in like.colours for part in colour])
        image = image if like.mode == "P" else image.convert("RGB")
    else:
        image = Image.fromarray(_storable(pixels, like, name))
        if like is not None and like.mode == "RGB" and image.mode in ("1", "L"):
            image = image.convert("RGB")
    if like is None or like.alpha is None or like.alpha.shape != pixels.shape[:2]:
        return image
    image = image.convert("LA" if image.mode in ("1", "L") else "RGBA")
    image.putalpha(Image.fromarray(like.alpha))
    return image


def _storable(pixels: npt.NDArray[Any], like: ImageInfo | None, name: str) -> npt.NDArray[Any]:
    """Bring an array to a shape and a type that files hold."""
    planes = (3, 4) if pixels.dtype == np.uint8 else ()
    is_picture = pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in planes)
    if not is_picture or not pixels.size:
        raise InputError(
            f"Cannot write {name}: a picture is an array of shape (height, width), or (height, "
            f"width, 3) of bytes. Got shape {pixels.shape} of {pixels.dtype}."
        )
    rare = None if like is None else _RARE.get(like.mode)
    if pixels.dtype.type in _USUAL or pixels.dtype.type is rare:
        return pixels
    values = two_values(pixels)
    if values is not None:
        return pixels == max(values)
    if pixels.dtype.kind == "f":
        return pixels.astype(np.float32)
    raise InputError(
        f"Cannot write {name}: pixels are bool, uint8, uint16 or floats, or have two values. "
        f"Got {pixels.dtype}. Pass pixels.astype('uint8')."
    )
