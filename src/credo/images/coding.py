"""What an image is: its planes, the values they are coded with, and the way back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._types import Bool, Labels
from credo.exceptions import InputError, ShapeError

#: A plane of pixels, of the image's own type.
Plane: TypeAlias = npt.NDArray[Any]
#: Two values, or levels.
Kind: TypeAlias = Literal["binary", "grey"]

#: Pillow's modes whose pixels are what they say; the palettes P and PA are looked up first.
_MODES = ("1", "L", "LA", "RGB", "RGBA", "I", "I;16", "I;16L", "I;16B", "F")
#: Numbers of channels whose last one is opacity.
_WITH_ALPHA = (2, 4)
#: The pairs of values that an image with a single value is taken to be coded with.
_PAIRS = ((0, 1), (-1, 1), (0, 255))


@final
@dataclass(frozen=True, slots=True, eq=False)
class CodedImage:
    """Hold the planes of an image and how it was coded. Made by ``read_image``.

    Attributes
    ----------
    labels
        The two values in order, for a binary image; None for a grey one, which has levels.
    span
        The darkest value and the lightest that the coding has: the two labels; the range of an
        integer type of 8 or 16 bits; 0 and 1 for floats between them; otherwise the least value
        of the image and the greatest.
    planes
        One plane per channel without opacity, read-only, in the image's own type: one for a grey
        image, three for a colour image.
    alpha
        The plane of opacity, or None.
    dtype
        Type of the image's numbers.
    has_channels
        Whether the image has an axis of channels.
    lost
        Which pixels of each plane were not observed, or None if all were. In the plane they have
        the least value that was.
    """

    labels: Labels | None
    span: tuple[Any, Any]
    planes: tuple[Plane, ...]
    alpha: Plane | None
    dtype: np.dtype[Any]
    has_channels: bool
    lost: tuple[Bool | None, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        height, width = self.planes[0].shape
        return height, width

    def restore(self, planes: Sequence[Any]) -> npt.NDArray[Any]:
        """Put new planes together as the image was: its axes, its opacity and its type.

        Parameters
        ----------
        planes : sequence of arrays of shape (H, W)
            As many as the image has, with values of the image's coding. Where the type is of
            whole numbers, floats are rounded and what is out of its range is clipped.

        Returns
        -------
        ndarray
            A new array of the image's shape and type.
        """
        typed = [_as_type(np.asarray(plane), self.dtype) for plane in planes]
        if not self.has_channels:
            return np.array(typed[0])
        return np.stack(typed if self.alpha is None else [*typed, self.alpha], -1, dtype=self.dtype)


def read_image(
    image: Any, who: str, kind: Kind | None = None, mask: Any = None, *, can_miss: bool = False
) -> CodedImage:
    """Tell what an image is, and take it apart into planes.

    Two values make a binary image, whatever they are; more make a grey one. An image with a
    single value is binary if it is of booleans, or its value is one of a known pair: 0 or the
    greatest of an unsigned type, 0 or 1, -1 or 1, 0 or 255 (the first pair that has it).

    Parameters
    ----------
    image : array-like of shape (H, W) or (H, W, C), or Pillow image
        Booleans, whole numbers or floats. The channels C are grey (1), grey and opacity (2),
        colour (3), colour and opacity (4). Opacity is kept and not touched. A Pillow image of
        mode P becomes the colours of its palette, or their greys.
    who
        Name of the caller, for messages.
    kind
        What the image must be taken for; None to tell it by its values.
    mask : array-like of shape (H, W), optional
        True, or any one number but 0, where a pixel was not observed.
    can_miss
        Whether pixels may be unobserved: by the mask, NaN, or the mask of a masked array. What
        they show counts for nothing.

    Returns
    -------
    CodedImage
        Planes and coding; it holds views of the image where it can.

    Raises
    ------
    InputError
        If it is no image: text, objects, complex numbers, NaN, infinities, masked pixels, or a
        mode of Pillow that is not known; or it is not of the kind wanted; or it has a single
        value that could be of either kind; or no pixel of a channel was observed.
    ShapeError
        If it has no pixel or is not of the shapes above, or the mask is not of its height and
        width.

    See Also
    --------
    credo.add_noise : What a noisy channel makes of an image.

    Notes
    -----
    Time and memory: one pass or two over the pixels, no copy of an array of native byte order.
    The values of all channels count together: a colour image in black and white is binary.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.images.coding import read_image
    >>> seen = read_image(np.array([[0, 255], [255, 255]], dtype=np.uint8), "example")
    >>> seen.labels
    (0, 255)
    >>> seen.restore([np.array([[255, 0], [0, 0]])])
    array([[255,   0],
           [  0,   0]], dtype=uint8)
    """
    array = _as_pixels(image, who, can_miss=can_miss)
    _check_shape(array.shape, who)
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    channels = np.moveaxis(native, -1, 0) if native.ndim == 3 else native[None]
    planes = [check.frozen(channel) for channel in channels]
    alpha = planes.pop() if len(planes) in _WITH_ALPHA else None
    if alpha is not None:
        _ends(alpha, who)
    lost: list[Bool | None] = [None] * len(planes)
    if can_miss:
        lost = _find_lost(image, planes, mask, who)
        planes = [_filled(plane, gone) for plane, gone in zip(planes, lost, strict=True)]
    ends = [_ends(plane, who) for plane in planes]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    labels = _tell(planes, (low, high), who, kind)
    span = _span(low, high, array.dtype) if labels is None else (labels[0], labels[1])
    has_channels = array.ndim == 3
    return CodedImage(labels, span, tuple(planes), alpha, array.dtype, has_channels, tuple(lost))


def _find_lost(image: Any, planes: Sequence[Plane], mask: Any, who: str) -> list[Bool | None]:
    """Tell which pixels of each plane were not observed; None if all were."""
    given = np.False_ if mask is None else _as_mask(mask, planes[0].shape, who)
    behind = np.atleast_3d(np.ma.getmaskarray(image)) if np.ma.is_masked(image) else None
    found: list[Bool | None] = []
    for channel, plane in enumerate(planes):
        lost = np.isnan(plane) if plane.dtype.kind == "f" else np.zeros(plane.shape, np.bool_)
        lost |= given if behind is None else given | behind[..., channel]
        if lost.all():
            where = "" if len(planes) == 1 else f" in channel {channel}"
            raise InputError(
                f"{who} needs at least one pixel that was observed. Got none of {plane.size}"
                f"{where}: all are NaN or masked. A mask is True where a pixel was not observed."
            )
        found.append(lost if lost.any() else None)
    return found


def _as_mask(mask: Any, shape: tuple[int, ...], who: str) -> Bool:
    """Check a mask: booleans, or numbers of which one stands for True and 0 for False."""
    given = np.asarray(mask)
    if given.shape != shape:
        raise ShapeError(
            f"The mask of {who} must have the shape {shape} of the image. Got shape {given.shape}."
        )
    if given.dtype.kind not in "biuf" or third_value([given], (0, given.max())) is not None:
        raise InputError(
            f"The mask of {who} must be of booleans, True where a pixel was not observed; or of 0 "
            "and one other number. Got others. Pass mask > 0, or what you mean."
        )
    return given != 0


def _filled(plane: Plane, lost: Bool | None) -> Plane:
    """Put the least value that was observed where none was."""
    if lost is None:
        return plane
    return np.asarray(check.frozen(np.where(lost, plane[~lost].min(), plane)))


def _as_pixels(image: Any, who: str, *, can_miss: bool) -> npt.NDArray[Any]:
    """Turn an array-like or a Pillow image into an array of numbers."""
    if np.ma.is_masked(image) and not can_miss:
        raise InputError(
            f"The image of {who} has masked pixels. Fill them, with image.filled(...)."
        )
    try:
        is_pillow = hasattr(image, "mode") and hasattr(image, "getbands")
        array = _of_pillow(image, who) if is_pillow else np.asarray(image)
    except InputError:
        raise
    except (TypeError, ValueError, OSError) as error:
        raise InputError(f"The image of {who} cannot be read as pixels. {error}.") from error
    if array.dtype.kind in "biuf":
        return array
    remedies = {
        "c": "Pass its real part or its absolute values.",
        "U": "Open a file first, for example with PIL.Image.open(...).",
    }
    raise InputError(
        f"The image of {who} must be of booleans, whole numbers or floats. Got {array.dtype} "
        f"in shape {array.shape}. {remedies.get(array.dtype.kind, 'Convert it to one of them.')}"
    )


def _of_pillow(image: Any, who: str) -> npt.NDArray[Any]:
    """Return the pixels of a Pillow image; a palette becomes colours, or greys if all are grey."""
    if image.mode in ("P", "PA"):
        colours = np.asarray(image.convert("RGBA" if image.has_transparency_data else "RGB"))
        is_grey = (colours[..., :1] == colours[..., 1:3]).all()
        greys = colours[..., ::3] if colours.shape[-1] == 4 else colours[..., 0]
        return greys if is_grey else colours
    if image.mode not in _MODES:
        raise InputError(
            f"The image of {who} has Pillow's mode {image.mode!r}; known are P, PA, "
            f"{', '.join(_MODES)}. Pass image.convert('RGB')."
        )
    return np.asarray(image)


def _check_shape(shape: tuple[int, ...], who: str) -> None:
    """Refuse shapes that are not those of an image with at least one pixel."""
    if not (len(shape) == 2 or (len(shape) == 3 and shape[-1] <= 4)):
        first = len(shape) == 3 and shape[0] <= 4
        remedy = (
            "Put the channels last: numpy.moveaxis(image, 0, -1)."
            if first
            else "Pass a volume slice by slice, or build a GridField of it."
        )
        raise ShapeError(
            f"The image of {who} must have the shape (H, W), or (H, W, C) with 1 to 4 channels. "
            f"Got shape {shape}. {remedy}"
        )
    if not np.prod(shape):
        raise ShapeError(f"The image of {who} must have at least one pixel. Got shape {shape}.")


def _ends(plane: Plane, who: str) -> tuple[Any, Any]:
    """Return the least and the greatest value of a plane, which must be finite."""
    low, high = plane.min(), plane.max()
    if plane.dtype.kind == "f" and not (np.isfinite(low) and np.isfinite(high)):
        wrong = ~np.isfinite(plane)
        where = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), plane.shape))
        raise InputError(
            f"The image of {who} must be finite. Got {int(wrong.sum())} of {plane.size} pixels "
            f"that are not, the first {plane[where]:g} at {where}. Replace them, for example by "
            "the median of their neighbours; credo.denoise takes NaN for pixels not observed."
        )
    return check.plain(low), check.plain(high)


def _tell(
    planes: Sequence[Plane], ends: tuple[Any, Any], who: str, wanted: Kind | None
) -> Labels | None:
    """Return the two values of an image, or None if it is grey."""
    dtype = planes[0].dtype
    if wanted == "grey" and dtype.kind == "b":
        raise InputError(
            f"{who} needs a grey image. Got booleans. Convert them, with image.astype(float)."
        )
    if wanted == "grey":
        return None
    pair = _pair_with(ends[0], dtype) if ends[0] == ends[1] else ends
    if pair is None:
        raise InputError(
            f"{who} cannot tell whether the image is binary or grey: all its pixels are "
            f"{ends[0]!r}. Pass one with two values or more, or code the single one as 0 or 1."
        )
    third = third_value(planes, pair)
    if third is None:
        return pair
    if wanted == "binary":
        raise InputError(
            f"{who} needs an image of two values. Got {pair[0]!r}, {pair[1]!r} and {third!r} at "
            "least. Threshold it first, for example with image > image.mean()."
        )
    return None


def _pair_with(value: Any, dtype: np.dtype[Any]) -> tuple[Any, Any] | None:
    """Find the known pair of values that a single value belongs to, in the image's type."""
    if dtype.kind == "b":
        return False, True
    whole = ((0, int(np.iinfo(dtype).max)),) if dtype.kind == "u" else ()
    own = float if dtype.kind == "f" else int
    return next(((own(a), own(b)) for a, b in (*whole, *_PAIRS) if value in (a, b)), None)


def third_value(planes: Sequence[Plane], pair: tuple[Any, Any]) -> Any:
    """Find a value other than the two, or None; as a rule it is in the first block."""
    for plane in planes:
        for rows in row_blocks(plane):
            part = plane[rows]
            others = (part != pair[0]) & (part != pair[1])
            if others.any():
                return check.plain(part[others][0])
    return None


def _span(low: Any, high: Any, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return the darkest and the lightest value that a grey image of this type can have."""
    if dtype.kind in "iu" and dtype.itemsize <= 2:
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if dtype.kind == "f" and low >= 0 and high <= 1:
        return 0.0, 1.0
    return low, high


def _as_type(plane: Plane, dtype: np.dtype[Any]) -> Plane:
    """Turn a plane into the image's type: rounded and clipped if that is of whole numbers."""
    if plane.dtype == dtype or dtype.kind not in "iu" or plane.dtype.kind in "bO":
        return plane.astype(dtype, copy=False)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if plane.dtype.kind in "iu":
        own = np.iinfo(plane.dtype)
        return np.clip(plane, max(low, own.min), min(high, own.max)).astype(dtype)
    least, most = np.float64(low), np.float64(high)
    if int(most) > high:  # 2**63 - 1 has no float64; the next below it is in range
        most = np.nextafter(most, 0.0)
    return np.clip(np.rint(plane), least, most).astype(dtype)


def row_blocks(plane: Plane) -> Iterator[slice]:
    """Cut the rows of a plane into blocks of a few megabytes of float64."""
    return check.blocks(len(plane), check.block_rows(plane.shape[1]))
