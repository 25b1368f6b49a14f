"""Image files: read with a limit on their size, written whole or not at all."""

from __future__ import annotations

import io
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from credo._files import local_path, write_bytes_whole
from credo.exceptions import CredoError, CredoWarning, FileFormatError, InputError
from credo.images.coding import row_blocks, third_value

#: Pixels of the largest picture that is decoded, 16384 × 16384: the size up to which restoring is
#: measured. Decoded, it takes 0.3 GB if grey and 2 GB if coloured. A file of a few kilobytes can
#: claim thousands of times more; the claim is checked before anything is unpacked.
MOST_PIXELS = 2**28

#: Formats that are read. Others of Pillow's are not tried: some start programs.
_FORMATS = ("PNG", "PPM", "BMP", "TIFF", "JPEG", "GIF", "WEBP")

#: Modes of Pillow as people call them.
_WORDS = {
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

#: Format and modes by the ending of a name.
_ENDINGS = {
    ".png": ("PNG", ("1", "L", "P", "RGB", "LA", "RGBA", "I;16")),
    ".pbm": ("PPM", ("1",)),
    ".pgm": ("PPM", ("L", "I;16")),
    ".ppm": ("PPM", ("RGB",)),
    ".pnm": ("PPM", ("1", "L", "RGB", "I;16")),
    ".bmp": ("BMP", ("1", "L", "P", "RGB")),
    ".tif": ("TIFF", tuple(_WORDS)),
    ".tiff": ("TIFF", tuple(_WORDS)),
    ".jpg": ("JPEG", ("L", "RGB")),
    ".jpeg": ("JPEG", ("L", "RGB")),
    ".gif": ("GIF", ("1", "L", "P")),
    ".webp": ("WEBP", ("RGB", "RGBA")),
}
#: Modes that hold the same pixels, the smallest first.
_WIDER = {"1": ("1", "L", "RGB"), "L": ("L", "RGB"), "P": ("P", "RGB"), "LA": ("LA", "RGBA")}
#: How to write a format so that pixels stay what they are, or nearly so in JPEG.
_OPTIONS: dict[str, dict[str, Any]] = {
    "WEBP": {"lossless": True, "exact": True},
    "JPEG": {"quality": 95, "subsampling": 0},
}

#: Where Exif data say how the camera was held.
_ORIENTATION = 0x0112

#: Pillow's limit is one for the process.
_one_at_a_time = threading.Lock()


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


def open_image(path: str | os.PathLike[str]) -> tuple[npt.NDArray[Any], ImageInfo]:
    """Read an image file as an array.

    Parameters
    ----------
    path : str or path
        A PNG, PGM, PPM, PBM, BMP, TIFF, JPEG, GIF or WebP file with one picture.

    Returns
    -------
    array : ndarray of shape (height, width) or (height, width, 3)
        The pixels: bool if there are 1-bit pixels or just two colours (True is the lighter one),
        uint8 if grey or coloured, uint16, int32 or float32 if the file has such pixels. A coloured
        file without colours is grey. It is turned upright if the camera says how.
    info : ImageInfo
        How it was stored. Transparency is here, not in the array.

    Raises
    ------
    InputError
        If there is no such file, it is no image, is damaged, has no pixels, more than 2**28 of
        them, or several pictures.

    See Also
    --------
    save_image : Write an array, stored alike.

    Notes
    -----
    The number of pixels is checked before they are decoded. Colours of 16 bits are cut to 8, with a
    warning.

    References
    ----------
    .. [1] A. Clark and contributors, *Pillow documentation*, section "Image file formats".

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from credo.images.files import open_image, save_image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "dot.png"
    ...     save_image(path, np.eye(3, dtype=bool))
    ...     open_image(path)[0].astype(int)
    array([[1, 0, 0],
           [0, 1, 0],
           [0, 0, 1]])
    """
    name = local_path(path)
    start = _beginning(Path(name), name)
    with _decoding(name, start), Image.open(name, formats=_FORMATS) as image:
        is_preview = image.format == "MPO"  # a camera's JPEG, whose second picture is a preview
        kind, frames = "JPEG" if is_preview else str(image.format), getattr(image, "n_frames", 1)
        if frames > 1 and not is_preview:
            raise FileFormatError(
                f"There are {frames} pictures in the file. Save one of them.", name
            )
        deep = any(";16" in str(tile[3]) for tile in image.tile) and image.mode[:3] == "RGB"
        turned = image.getexif().get(_ORIENTATION, 1) != 1
        array, info = _read(ImageOps.exif_transpose(image) if turned else image, kind)
    if deep:
        warnings.warn(f"{name}: colours of 16 bits were cut to 8 bits.", CredoWarning, stacklevel=2)
    return array, info


def save_image(
    path: str | os.PathLike[str], array: npt.ArrayLike, like: ImageInfo | None = None
) -> None:
    """Write an array as an image file, whole or not at all.

    Parameters
    ----------
    path : str or path
        Its ending says the format: .png, .pgm, .ppm, .pbm, .pnm, .bmp, .tif, .tiff, .jpg, .jpeg,
        .gif or .webp.
    array : array of shape (height, width) or (height, width, 3)
        The pixels: bool, uint8, uint16 or floats. An array of another type that holds two values is
        written in black and white, the larger one white.
    like : ImageInfo, optional
        How another picture was stored: in two colours, in three channels, with transparency. This
        one is stored alike.

    Raises
    ------
    InputError
        If the ending is unknown, if its format does not hold such pixels, or if the file cannot be
        written. JPEG is refused for pictures of two values: it would blur them.

    See Also
    --------
    open_image : Read it again.

    Notes
    -----
    All but JPEG are written without loss, WebP too. The picture is encoded in memory, written under
    a temporary name, and renamed.

    References
    ----------
    .. [1] A. Clark and contributors, *Pillow documentation*, section "Image file formats".

    Examples
    --------
    >>> from credo.images.files import save_image
    >>> save_image("spins.jpg", [[1, -1], [-1, 1]])
    Traceback (most recent call last):
    ...
    credo.exceptions.InputError: Cannot write spins.jpg: JPEG blurs a picture of two values. ...
    """
    name, pixels = os.fspath(path), np.asarray(array)
    kind = image_format(path)
    image = _fit(_draw(pixels, like, name), name)
    if kind == "JPEG" and _has_two_values(pixels):
        raise InputError(
            f"Cannot write {name}: JPEG blurs a picture of two values. "
            f"Name it {Path(path).with_suffix('.png')}."
        )
    encoded = io.BytesIO()
    try:
        image.save(encoded, kind, **_OPTIONS.get(kind, {}))
    except Exception as error:
        raise InputError(f"Cannot write {name}: {error}.") from error
    write_bytes_whole(path, encoded.getbuffer())


def image_format(path: str | os.PathLike[str]) -> str:
    """Tell in which format a name is written, from its ending, or say which endings there are."""
    suffix = Path(path).suffix.lower()
    if suffix not in _ENDINGS:
        raise InputError(
            f"Cannot tell the format of {os.fspath(path)}. End its name in {', '.join(_ENDINGS)}."
        )
    return _ENDINGS[suffix][0]


def _beginning(path: Path, name: str) -> bytes:
    """Read the first bytes of a file, or say why that cannot be done."""
    if not path.exists():
        raise InputError(f"{name}: There is no such file.")
    if not path.is_file():
        what = "a folder" if path.is_dir() else "a pipe or a device"
        raise InputError(f"{name} is {what}. Name an image file.")
    try:
        with path.open("rb") as stream:
            return stream.read(16)
    except OSError as error:
        raise InputError(f"Cannot read {name}: {error.strerror}.") from error


@contextmanager
def _decoding(name: str, start: bytes) -> Iterator[None]:
    """Set Pillow's limit to ours, and word whatever a decoder may raise."""
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd but harmless metadata
        # Pillow refuses what has more than twice as many pixels as its limit
        usual, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, MOST_PIXELS // 2
        try:
            yield
        except CredoError:
            raise
        except Image.DecompressionBombError:
            raise FileFormatError(
                f"The image claims too many pixels; at most {MOST_PIXELS} (16384 × 16384) are "
                "decoded. Cut it into pieces, or restore a memory-mapped array by tiles.",
                name,
            ) from None
        except UnidentifiedImageError:
            raise FileFormatError(
                f"This is not an image, or its header is damaged: it begins {start!r}. Known are "
                "PNG, PGM, PPM, PBM, BMP, TIFF, JPEG, GIF and WebP. Save it again as one of them.",
                name,
            ) from None
        except MemoryError:
            raise InputError(f"{name}: There is not enough memory to decode this image.") from None
        except Exception as error:
            raise FileFormatError(
                f"The image is damaged: {error}. Save it again, or convert it to PNG.", name
            ) from error
        finally:
            Image.MAX_IMAGE_PIXELS = usual


def _read(image: Image.Image, kind: str) -> tuple[npt.NDArray[Any], ImageInfo]:
    """Turn a picture of a file of some kind into an array, and tell how it was stored."""
    alpha = None
    if image.has_transparency_data:
        image = image.convert("LA" if image.mode in ("1", "L", "LA", "La") else "RGBA")
        alpha = np.asarray(image.getchannel("A"))
        image = image.convert(image.mode.removesuffix("A"))
    elif image.mode not in _KEPT and not image.mode.startswith("I;16"):
        image = image.convert("RGB")
    mode = image.mode
    if mode in ("P", "RGB"):
        pixels, mode, colours = _read_colours(image.convert("RGB"), mode)
        return pixels, ImageInfo(kind, mode, colours, alpha)
    if mode == "1":  # Pillow hands out 255 as True, which NumPy must not see
        return np.asarray(image.convert("L")) != 0, ImageInfo(kind, mode, alpha=alpha)
    pixels = np.asarray(image)
    if mode.startswith("I;16") or (mode == "I" and kind == "PPM"):  # which has 16 bits at most
        return pixels.astype(np.uint16), ImageInfo(kind, "I;16", alpha=alpha)
    return pixels, ImageInfo(kind, mode, alpha=alpha)


def _read_colours(
    image: Image.Image, mode: str
) -> tuple[npt.NDArray[Any], str, tuple[tuple[int, ...], tuple[int, ...]] | None]:
    """Reduce a colour picture to two values or to grey if there is no more in it."""
    pixels = np.asarray(image)
    colours: Any = [colour for _, colour in image.getcolors(2) or ()]
    if len(colours) == 2:
        # by the lightness that Pillow gives them (ITU-R 601-2)
        darker, lighter = sorted(colours, key=lambda c: (np.dot((299, 587, 114), c), c))
        parts = [(pixels[rows] == lighter).all(axis=2) for rows in row_blocks(pixels)]
        return np.concatenate(parts), mode, (darker, lighter)
    if all((pixels[rows] == pixels[rows, :, :1]).all() for rows in row_blocks(pixels)):
        return np.ascontiguousarray(pixels[:, :, 0]), "L" if mode == "P" else mode, None
    return pixels, "RGB", None


def _has_two_values(pixels: npt.NDArray[Any]) -> bool:
    """Tell whether a picture has two values, or one."""
    return third_value([pixels], (pixels.min(), pixels.max())) is None


def _draw(pixels: npt.NDArray[Any], like: ImageInfo | None, name: str) -> Image.Image:
    """Turn an array into a picture, stored like another one if it can be."""
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
    if _has_two_values(pixels):
        return pixels == pixels.max()
    if pixels.dtype.kind == "f":
        return pixels.astype(np.float32)
    raise InputError(
        f"Cannot write {name}: pixels are bool, uint8, uint16 or floats, or have two values. "
        f"Got {pixels.dtype}. Pass pixels.astype('uint8')."
    )


def _fit(image: Image.Image, name: str) -> Image.Image:
    """Bring a picture to a mode that the format of its name holds, without loss."""
    _, modes = _ENDINGS[Path(name).suffix.lower()]
    if image.mode not in modes and image.mode in ("LA", "RGBA"):
        opaque = image.getchannel("A").getextrema() == (255, 255)
        image = image.convert(image.mode.removesuffix("A")) if opaque else image
    for mode in _WIDER.get(image.mode, (image.mode,)):
        if mode in modes:
            return image if mode == image.mode else image.convert(mode)
    if modes == ("1",) and image.mode == "L":
        values = {value for _, value in image.getcolors() or ()}
        if values <= {0, 255}:
            return image.convert("1")  # nothing to dither
    others = [each for each, (_, held) in _ENDINGS.items() if image.mode in held]
    raise InputError(
        f"Cannot write {name}: {Path(name).suffix} does not hold {_WORDS[image.mode]} pixels. "
        f"End its name in {' or '.join(others)}."
    )
