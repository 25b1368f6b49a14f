"""Image files: read with a limit on their size, written whole or not at all."""

from __future__ import annotations

import io
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from credo._files import write_bytes_whole
from credo.exceptions import CredoError, CredoWarning, FileFormatError, InputError
from credo.images._pictures import WORDS, ImageInfo, array_of, picture_of, two_values

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

__all__ = ["MOST_PIXELS", "ImageInfo", "image_format", "open_image", "save_image"]

#: Pixels of the largest picture that is decoded, 16384 × 16384: the size up to which restoring is
#: measured. Decoded, it takes 0.3 GB if grey and 2 GB if coloured. A file of a few kilobytes can
#: claim thousands of times more; the claim is checked before anything is unpacked.
MOST_PIXELS = 2**28

#: How files begin. Others of Pillow's formats are not tried: some start programs.
_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    *((b"P%d" % i, "PPM") for i in range(1, 7)),
    (b"Pf", "PPM"),
    (b"BM", "BMP"),
    (b"GIF8", "GIF"),
    (b"\xff\xd8\xff", "JPEG"),
    *((start, "TIFF") for start in (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")),
)
_KNOWN = "PNG, PGM, PPM, PBM, BMP, TIFF, JPEG, GIF and WebP"

#: Format and modes by the ending of a name.
_ENDINGS = {
    ".png": ("PNG", ("1", "L", "P", "RGB", "LA", "RGBA", "I;16")),
    ".pbm": ("PPM", ("1",)),
    ".pgm": ("PPM", ("L", "I;16")),
    ".ppm": ("PPM", ("RGB",)),
    ".pnm": ("PPM", ("1", "L", "RGB", "I;16")),
    ".bmp": ("BMP", ("1", "L", "P", "RGB")),
    ".tif": ("TIFF", tuple(WORDS)),
    ".tiff": ("TIFF", tuple(WORDS)),
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
    name = os.fspath(path)
    kind = _kind(Path(path), name)
    with _decoding(name):
        from PIL import Image  # noqa: PLC0415 - takes as long as all of this room

        with Image.open(name, formats=(kind,)) as image:
            _check(image, name)
            deep = any(";16" in str(tile[3]) for tile in image.tile) and image.mode[:3] == "RGB"
            array, info = array_of(_upright(image), kind)
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
    if kind == "JPEG" and two_values(pixels) is not None:
        raise InputError(
            f"Cannot write {name}: JPEG blurs a picture of two values. "
            f"Name it {Path(path).with_suffix('.png')}."
        )
    image = _fitted(picture_of(pixels, like, name), name)
    encoded = io.BytesIO()
    try:
        _load_plugin(kind)
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


def _kind(path: Path, name: str) -> str:
    """Tell an image's format from the first bytes of its file."""
    start = _beginning(path, name)
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "WEBP"
    for beginning, kind in _BEGINNINGS:
        if start.startswith(beginning):
            return kind
    raise FileFormatError(f"This is no image. Known are {_KNOWN}; it begins {start!r}.", name)


def _beginning(path: Path, name: str) -> bytes:
    """Read the first bytes of a file, or say why that cannot be done."""
    if path.is_dir():
        raise InputError(f"{name} is a folder. Name an image file in it.")
    if not path.exists():
        raise InputError(f"{name}: There is no such file.")
    if not path.is_file():
        raise InputError(f"{name} is a pipe or a device. Save the image to a file first.")
    try:
        with path.open("rb") as stream:
            start = stream.read(16)
    except OSError as error:
        raise InputError(f"Cannot read {name}: {error.strerror}.") from error
    if not start:
        raise FileFormatError("The file is empty. Save the image again.", name)
    return start


@contextmanager
def _decoding(name: str) -> Iterator[None]:
    """Set Pillow's limit to ours, and word whatever a decoder may raise."""
    from PIL import Image  # noqa: PLC0415 - see above

    bombs = (Image.DecompressionBombWarning, Image.DecompressionBombError)
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd but harmless metadata
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        usual, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, MOST_PIXELS
        try:
            yield
        except CredoError:
            raise
        except bombs:
            raise _too_large(name) from None
        except MemoryError:
            raise InputError(f"{name}: There is not enough memory to decode this image.") from None
        except Exception as error:
            raise FileFormatError(
                f"The image is damaged: {error}. Save it again, or convert it to PNG.", name
            ) from error
        finally:
            Image.MAX_IMAGE_PIXELS = usual


def _too_large(name: str, size: tuple[int, int] | None = None) -> FileFormatError:
    """Word the error on a picture with too many pixels."""
    claimed = "more" if size is None else f"{size[0]} × {size[1]}"
    return FileFormatError(
        f"The image claims {claimed} pixels; at most {MOST_PIXELS} (16384 × 16384) are decoded. "
        "Cut it into pieces, or restore a memory-mapped array by tiles.",
        name,
    )


def _check(image: ImageFile, name: str) -> None:
    """Refuse what the header promises and we do not want."""
    if image.width * image.height > MOST_PIXELS:
        raise _too_large(name, image.size)
    if not image.width or not image.height:
        raise FileFormatError(f"The image has no pixels: {image.width} × {image.height}.", name)
    frames = 1 if image.format == "MPO" else getattr(image, "n_frames", 1)
    if frames > 1:  # a camera's file has a preview as its second picture
        raise FileFormatError(f"There are {frames} pictures in the file. Save one of them.", name)


def _upright(image: Image) -> Image:
    """Turn a picture as the camera says that it was held."""
    if image.getexif().get(_ORIENTATION, 1) == 1:
        return image
    from PIL import ImageOps  # noqa: PLC0415 - rarely needed

    return ImageOps.exif_transpose(image)


def _fitted(image: Image, name: str) -> Image:
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
        f"Cannot write {name}: {Path(name).suffix} does not hold {WORDS[image.mode]} pixels. "
        f"End its name in {' or '.join(others)}."
    )


def _load_plugin(kind: str) -> None:
    """Load what writes a format; Pillow would load all its formats, which takes long."""
    if kind == "TIFF":
        import PIL.TiffImagePlugin  # noqa: PLC0415
    elif kind == "WEBP":
        import PIL.WebPImagePlugin  # noqa: F401, PLC0415
