"""Noisy channels: what flips, bursts, salt and pepper, and Gaussian noise make of an image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._types import F64, Bool, RandomState
from credo.exceptions import InputError, ShapeError
from credo.images.coding import CodedImage, Plane, read_image, row_blocks

FlipKind: TypeAlias = Literal["independent", "burst", "varying"]
NoiseKind: TypeAlias = Literal["independent", "burst", "varying", "salt_and_pepper", "gaussian"]

_FLIPS = ("independent", "burst", "varying")
_NOISES = (*_FLIPS, "salt_and_pepper", "gaussian")

#: Why the flips of a kind cannot be more frequent than one in two.
_AT_MOST_HALF = {
    "burst": "pixels inside a burst flip with probability 1/2",
    "varying": "it grows to twice its mean at the right",
}


def add_noise(
    image: Any,
    flip_probability: Any = 0.1,
    *,
    kind: NoiseKind = "independent",
    sigma: Any = None,
    length: float = 8.0,
    seed: RandomState = 0,
) -> npt.NDArray[Any]:
    r"""Send an image through a noisy channel.

    Pixel :math:`i` is flipped with probability :math:`\epsilon_i`, the map that ``flip_map`` gives
    for the same kind and seed:

    .. math:: p(y_i \neq x_i) = \epsilon_i, \qquad \frac1n \sum_i E\,\epsilon_i = \epsilon

    Flipped means the other value in a binary image. In a grey or colour image it means a value
    drawn evenly from all levels of the coding, its own among them; for floats, evenly from the
    darkest to the lightest value.

    Parameters
    ----------
    image : array-like of shape (H, W) or (H, W, C), or Pillow image
        A binary image (any two values), a grey one or one in colour; opacity is left alone. The
        channels of a pixel are flipped together.
    flip_probability : float or array-like of shape (H, W)
        Mean share of flipped pixels :math:`\epsilon`. The kinds ``"independent"`` and
        ``"salt_and_pepper"`` also take one per pixel; bursts and varying flips at most 0.5.
        Not used by ``"gaussian"``.
    kind
        ``"independent"``: each pixel on its own. ``"burst"``: runs of pixels, along rows and on
        into the next row, within which each flips with probability 1/2. ``"varying"``: ever more
        flips from left to right. ``"salt_and_pepper"``: a pixel that is hit becomes the darkest
        value or the lightest, with equal chance. ``"gaussian"``: adds :math:`N(0, \sigma^2)` to
        each channel of each pixel.
    sigma : float or array-like of shape (H, W), optional
        Standard deviation of ``"gaussian"``, in the image's own units.
    length
        Mean length of the runs of ``"burst"``, at least 1.
    seed
        A seed or a generator.

    Returns
    -------
    ndarray
        Coded and typed as the image. Whole numbers are rounded and clipped to their type's range.

    Raises
    ------
    InputError
        If the image is none, a probability is out of range, or ``sigma`` does not go with the kind.
    ShapeError
        If a map of probabilities or of standard deviations is not of the image's height and width.

    See Also
    --------
    flip_map : The probabilities that the flips are drawn with.

    Notes
    -----
    The darkest and the lightest value are the two of a binary image, the ends of the range of
    integers of 8 or 16 bits, 0 and 1 for floats between them, and otherwise the least value of the
    image and the greatest. Flips compare uniform random numbers with probabilities and nothing
    else, so that a seed gives the same flips on every machine. A second pass with the same seed
    takes the flips of a binary image back, as long as it still has both values. Time O(H W).

    References
    ----------
    .. [1] E. N. Gilbert, "Capacity of a burst-noise channel", Bell System Technical Journal 39
       (1960), pp. 1253-1265.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.images import add_noise
    >>> cross = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
    >>> noisy = add_noise(cross, 0.2, seed=4)
    >>> noisy
    array([[0, 1, 0],
           [0, 1, 1],
           [0, 0, 0]])
    >>> bool((add_noise(noisy, 0.2, seed=4) == cross).all())
    True
    """
    who = "add_noise"
    check.one_of(kind, _NOISES, f"kind of {who}")
    seen = read_image(image, who, "grey" if kind == "gaussian" else None)
    draws = check.generator(seed, f"random_state of {who}")
    if kind == "gaussian":
        if sigma is None:
            raise InputError(
                f"{who} needs sigma for kind='gaussian': the standard deviation in the image's "
                "units."
            )
        spread = per_pixel(sigma, seen.shape, f"sigma of {who}")
        return seen.restore([p + spread * draws.standard_normal(p.shape) for p in seen.planes])
    if sigma is not None:
        raise InputError(f"The sigma of {who} is for kind='gaussian'. Got kind={kind!r}.")
    flips = "independent" if kind == "salt_and_pepper" else kind
    rates = _rates(seen.shape, flip_probability, flips, length, draws, who)
    each, hit = np.broadcast_to(rates, seen.shape), np.empty(seen.shape, dtype=np.bool_)
    for rows in row_blocks(hit):
        hit[rows] = draws.random(hit[rows].shape) < each[rows]
    noisy = [plane.copy() for plane in seen.planes]
    for plane, values in zip(noisy, _draw_values(seen, hit, kind, draws), strict=True):
        plane[hit] = values
    return seen.restore(noisy)


def flip_map(
    shape: Sequence[int],
    flip_probability: Any = 0.1,
    *,
    kind: FlipKind = "burst",
    length: float = 8.0,
    seed: RandomState = 0,
) -> F64:
    r"""Return the probability of a flip for each pixel of a noisy channel.

    Bursts are those of Gilbert's channel [1]_. A pixel is inside or outside a burst; from one
    pixel to the next, in row-major order, the state changes with probabilities

    .. math::

        p(\text{out} \mid \text{in}) = \frac1L, \qquad
        p(\text{in} \mid \text{out}) = \frac1L \, \frac{2\epsilon}{1 - 2\epsilon},

    so that runs are geometric with mean :math:`L` and a share :math:`2\epsilon` of the pixels is
    inside, where :math:`\epsilon_i = 1/2`; outside :math:`\epsilon_i = 0`. Varying flips grow with
    the column :math:`c` of :math:`W`, :math:`\epsilon_i = 2 \epsilon\, c / (W - 1)`.

    Parameters
    ----------
    shape : pair of int
        Height and width.
    flip_probability : float or array-like of shape (H, W)
        Mean share of flipped pixels :math:`\epsilon`; at most 0.5 for bursts and varying flips.
        One per pixel only for ``"independent"``.
    kind
        ``"burst"``, ``"varying"`` or ``"independent"``.
    length
        Mean length :math:`L` of the bursts, at least 1.
    seed
        A seed or a generator; only bursts are drawn.

    Returns
    -------
    ndarray of shape (H, W)
        Flip probabilities :math:`\epsilon_i`, float64.

    Raises
    ------
    InputError
        If a probability is out of range, or bursts of this length cannot be that frequent.
    ShapeError
        If the shape is not a height and a width, or a map does not have it.

    See Also
    --------
    add_noise : Draw the flips.

    Notes
    -----
    Between two bursts there is at least one pixel, so that they cover at most :math:`L / (L + 1)`
    of the picture; a probability of 0.5 makes it one burst. The first pixel is inside with
    probability :math:`2\epsilon` as any other. Time O(H W).

    References
    ----------
    .. [1] E. N. Gilbert, "Capacity of a burst-noise channel", Bell System Technical Journal 39
       (1960), pp. 1253-1265.

    Examples
    --------
    >>> from credo.images import flip_map
    >>> flip_map((1, 5), 0.1, kind="varying")
    array([[0.  , 0.05, 0.1 , 0.15, 0.2 ]])
    >>> flip_map((2, 12), 0.2, length=3, seed=1)
    array([[0. , 0.5, 0. , 0. , 0. , 0. , 0. , 0. , 0.5, 0. , 0. , 0. ],
           [0. , 0. , 0. , 0.5, 0.5, 0.5, 0.5, 0. , 0. , 0. , 0. , 0. ]])
    """
    who = "flip_map"
    check.one_of(kind, _FLIPS, f"kind of {who}")
    if check.floats(shape, f"shape of {who}").shape != (2,):
        raise ShapeError(
            f"The shape of {who} must be a height and a width. Got {shape!r}. For a colour image "
            "pass image.shape[:2]."
        )
    height, width = (check.count(side, f"sides of {who}") for side in shape)
    draws = check.generator(seed, f"random_state of {who}")
    rates = _rates((height, width), flip_probability, kind, length, draws, who)
    return np.array(np.broadcast_to(rates, (height, width)), dtype=np.float64)


def _rates(
    shape: tuple[int, int],
    flip_probability: Any,
    kind: str,
    length: float,
    draws: np.random.Generator,
    who: str,
) -> npt.NDArray[Any]:
    """Return flip probabilities that broadcast to the shape."""
    if kind == "independent":
        return per_pixel(flip_probability, shape, f"flip_probability of {who}", 1.0)
    mean = check.number(flip_probability, f"flip_probability of {who}", 0, 1)
    if mean > 0.5:
        raise InputError(
            f"The flip_probability of {who} must be at most 0.5 for kind={kind!r}, as "
            f"{_AT_MOST_HALF[kind]}. Got {mean:g}."
        )
    if kind == "varying":
        return np.linspace(0.0, 2 * mean, shape[1]) if shape[1] > 1 else np.array([mean])
    run = check.number(length, f"length of {who}", 1)
    most = run / (run + 1) / 2
    if most < mean < 0.5:
        raise InputError(
            f"The flip_probability of {who} must be at most {most:g} for bursts of mean length "
            f"{run:g}, so that there is a pixel between two of them. Got {mean:g}. Take longer "
            "bursts or fewer flips."
        )
    return np.float32(0.5) * _bursts(shape, 2 * mean, run, draws)


def per_pixel(values: Any, shape: tuple[int, int], what: str, most: float = math.inf) -> F64:
    """Check one number, or one per pixel, that is at least 0."""
    if isinstance(values, str) or not np.iterable(values):
        return np.array(check.number(values, what, 0, most))
    found = check.finite(values, what)
    if found.shape != shape:
        raise ShapeError(
            f"The {what} must be one number, or one per pixel in shape {shape}. Got shape "
            f"{found.shape}."
        )
    wrong = (found < 0) | (found > most)
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        span = "at least 0" if most == math.inf else f"between 0 and {most:g}"
        raise InputError(
            f"The {what} must be {span}. Got {found[row, column]:g} at pixel ({row}, {column})."
        )
    return found


def _bursts(
    shape: tuple[int, int], share: float, length: float, draws: np.random.Generator
) -> Bool:
    """Draw which pixels are inside bursts, in row-major order."""
    inside = np.ones(shape, dtype=np.bool_)
    if share == 1:
        return inside
    stay, enter = 1 - 1 / length, min(1.0, share / (1 - share) / length)
    state = bool(draws.random() < share)
    for rows in row_blocks(inside):
        part = inside[rows]
        part[:] = _chain(draws.random(part.size), enter, stay, state=state).reshape(part.shape)
        state = bool(part[-1, -1])
    return inside


def _chain(uniform: F64, enter: float, stay: float, *, state: bool) -> Bool:
    """Run a chain of two states on uniform random numbers, from the state before the first.

    A number below both probabilities leads inside and one above both outside, whatever was
    before. In between the state is kept, or changed if entering is likelier than staying. So each
    state follows from the last number that settled it.
    """
    low, high = min(enter, stay), max(enter, stay)
    settled = np.concatenate([[True], (uniform < low) | (uniform >= high)])
    inside = np.concatenate([[state], uniform < low])
    steps = np.arange(len(inside))
    last = np.maximum.accumulate(np.where(settled, steps, 0))
    changed = (steps - last) % 2 == 1 if enter > stay else np.False_
    result: Bool = inside[last] ^ changed
    return result[1:]


def _draw_values(seen: CodedImage, hit: Bool, kind: str, draws: np.random.Generator) -> list[Plane]:
    """Return new values for the pixels that are hit: an end, the other of two, or any level."""
    (low, high), n_hit, dtype = seen.span, int(hit.sum()), seen.planes[0].dtype
    if kind == "salt_and_pepper":  # in all channels alike
        return [np.where(draws.random(n_hit) < 0.5, high, low)] * len(seen.planes)
    if seen.labels is not None:
        return [np.where(plane[hit] == low, high, low) for plane in seen.planes]
    if dtype.kind == "f":
        uniform = [draws.random(n_hit) for _ in seen.planes]
        return [low * (1 - u) + high * u for u in uniform]
    return [draws.integers(low, high, n_hit, dtype, endpoint=True) for _ in seen.planes]
