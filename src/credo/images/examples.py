"""Pictures drawn by code, which belong to nobody: a portrait to restore, textures to segment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._types import F64, Bool, Int, RandomState
from credo.exceptions import ShapeError

#: Whether a shape is white, and the points on its outline, in units of the drawing.
Shape: TypeAlias = tuple[bool, F64]
Points: TypeAlias = Sequence[tuple[float, float]] | F64

_BLACK, _WHITE = False, True
#: Side of the drawing's own square; x runs to the right, y down.
_SIDE = 128.0
#: Chords between two given points of a curve: at 4096 pixels they are up to ten pixels long.
_CHORDS = 24
#: Pixels below which a face cannot be told from a blot.
_LEAST = 16

#: Waves per pixel of both textures, and how widely waves spread: a block of 8 pixels sees one wave.
_FREQUENCY, _SPREAD = 0.13, 0.06
#: Directions of the waves, background and foreground, in degrees from the rows.
_DIRECTIONS = (20.0, 60.0)
#: Share of the variance that is white noise and tells nothing.
_NOISE = 0.6
#: Mean and standard deviation of the grey values of both textures.
_GREY, _CONTRAST = 0.5, 0.15
#: Radius of the foreground, as a share of the picture's sides; how much it bulges, per number of
#: bulges. The largest radius stays below one half.
_RADIUS, _BULGES = 0.31, (0.0, 0.16, 0.14, 0.08)


def portrait(size: int = 128) -> npt.NDArray[np.bool_]:
    """Draw a woman before a landscape, in black and white.

    Large areas, thin lines, and a few details of one to three pixels: what restoring an image
    keeps, and what it may lose.

    Parameters
    ----------
    size : int, default=128
        Pixels along each side; at least 16.

    Returns
    -------
    ndarray of shape (size, size), bool
        The picture; True is white.

    Raises
    ------
    InputError
        If ``size`` is no whole number, or below 16.

    See Also
    --------
    credo.add_noise : Spoil it.
    credo.denoise : Restore it.

    Notes
    -----
    Time and memory are proportional to the number of pixels. Outlines are Catmull and Rom's curves;
    a pixel has the ink of the last shape that its centre lies in. Nothing is random.

    References
    ----------
    .. [1] E. Catmull and R. Rom, "A class of local interpolating splines", *Computer Aided
       Geometric Design*, Academic Press, 1974, section 3.

    Examples
    --------
    >>> from credo.images import portrait
    >>> picture = portrait()
    >>> picture.shape, picture.dtype
    ((128, 128), dtype('bool'))
    >>> bool(picture[2, 64]), bool(picture[12, 64]), bool(picture[34, 64])  # sky, hair, forehead
    (True, False, True)
    """
    check.count(size, "size of portrait", _LEAST)
    canvas = np.full((size, size), _WHITE)
    for part in (_landscape, _figure, _face, _light):
        for ink, outline in part():
            _fill(canvas, outline * (size / _SIDE), ink=ink)
    return canvas


def _landscape() -> Iterator[Shape]:
    """Draw hills with a tower, a river, a road, two cypresses and a gull."""
    hills = [(-6, 62), (4, 54), (11, 56), (20, 48), (27, 52), (36, 51), (60, 56), (88, 54)]
    hills += [(98, 57), (108, 53), (116, 57), (134, 50), (134, 72), (118, 74), (100, 70)]
    yield _BLACK, _curve([*hills, (60, 70), (30, 69), (14, 71), (-6, 69)])
    tower = [(15, 52), (15, 37), (18, 37), (18, 40), (22, 40), (22, 37), (25, 37), (25, 52)]
    yield _BLACK, np.array(tower, np.float64)
    yield _WHITE, np.array([(19, 44), (21, 44), (21, 48), (19, 48)], np.float64)
    river = [(-12, 100), (4, 97), (13, 99), (19, 94), (14, 88), (8, 83), (14, 78), (32, 76)]
    yield _BLACK, _stroke(6.0, river)
    yield _BLACK, _stroke(3.4, [(144, 94), (122, 88), (110, 90), (94, 98)])
    for x, top, foot, half in ((109, 36, 70, 3), (120, 28, 72, 4)):
        middle = [(x - half, 62), (x, foot), (x + half, 62)]
        yield _BLACK, _curve([(x, top), (x - 0.6 * half, 48), *middle, (x + 0.6 * half, 48)])
    yield _BLACK, _stroke(2.8, [(8, 20), (13, 15), (18, 19.5)])
    yield _BLACK, _stroke(2.8, [(18, 19.5), (22.5, 14), (28, 17.5)])


def _figure() -> Iterator[Shape]:
    """Draw hair, dress, neck and the shadow on it."""
    hair = [(64, 6), (50, 8), (38, 17), (32, 31), (31, 46), (28, 60), (24, 74), (23, 90)]
    hair += [(29, 103), (42, 108), (62, 108), (84, 108), (99, 104), (105, 91), (103, 75)]
    yield _BLACK, _curve([*hair, (99, 60), (97, 44), (95, 30), (89, 16), (78, 8)])
    dress = [(-6, 136), (-2, 121), (10, 110), (28, 102), (40, 99), (62, 110), (86, 99)]
    yield _BLACK, _curve([*dress, (99, 102), (118, 110), (130, 121), (134, 136)])
    neck = [(53, 78), (53, 92), (48, 99), (38, 104), (35, 107), (44, 115), (61, 119)]
    yield _WHITE, _curve([*neck, (79, 115), (90, 107), (82, 102), (72, 92), (72, 78)])
    shadow = [(50, 78), (57.5, 88), (65, 93), (73, 100), (82, 103.5), (86, 88), (70, 78)]
    yield _BLACK, _curve(shadow)
    yield _BLACK, _stroke(2.2, [(42, 106.5), (50, 105.5), (57, 109)])


def _face() -> Iterator[Shape]:
    """Draw the face: its outline, parted hair, a side in shadow, and the features."""
    face = [(60, 21), (50, 25), (44, 33), (41, 43), (41, 50), (39.5, 56), (42, 66), (46, 74)]
    chin = [(52, 82), (59, 87.5), (66, 87.5), (74, 82), (81, 72), (84.5, 60), (86, 48)]
    yield _WHITE, _curve([*face, *chin, (84, 34), (76, 24), (68, 20)])
    left = [(66, 17), (60, 24), (50, 28), (44, 36), (41, 48), (38, 48), (38, 30), (48, 18)]
    yield _BLACK, _curve([*left, (58, 14)])
    right = [(65, 17), (72, 25), (80, 31), (84, 40), (85, 52), (91, 52), (92, 32), (84, 18)]
    yield _BLACK, _curve([*right, (74, 13)])
    shadow = [(86, 44), (82, 50), (82, 57), (79, 62), (79, 69), (75, 76), (70, 81), (64, 89)]
    yield _BLACK, _curve([*shadow, (74, 88), (84, 73), (88, 58)])
    yield _BLACK, _stroke(3.2, [(44, 44), (50, 40.5), (58.5, 43)])
    yield _BLACK, _stroke(3.2, [(68, 43), (76, 40), (83, 44)])
    for x in (51.5, 75.0):
        yield from _eye(x, 50.4)
    yield _BLACK, _stroke(2.8, [(65.5, 45.5), (65.2, 52), (66, 58), (69, 63), (67, 66.5)])
    nose = [(56.5, 65), (60, 66), (62.5, 67.4), (65, 66.5), (68.8, 65), (66, 69), (62.5, 69.9)]
    yield _BLACK, _curve([*nose, (59, 68.8)])
    lips = [(51.5, 73.4), (56.5, 73.6), (60.3, 72), (62.5, 73.1), (65, 72), (68.7, 73.6)]
    yield _BLACK, _curve([*lips, (73.7, 73.4), (69, 76.8), (62.7, 77.8), (56.5, 76.8)])
    yield _BLACK, _stroke(2.2, [(57, 81), (62.5, 82.6), (68, 81)])


def _eye(x: float, y: float) -> Iterator[Shape]:
    """Draw an eye: upper lid, iris, the light in it, and lower lid."""
    lid = [(x - 6.2, y + 1), (x - 2.5, y - 2.4), (x + 2, y - 2.4), (x + 6.2, y + 1.2)]
    yield _BLACK, _stroke(3.0, lid)
    yield _BLACK, _disc(x, y, 3.0)
    yield _WHITE, _disc(x - 1, y - 0.9, 0.8)
    yield _BLACK, _stroke(1.5, [(x - 4.4, y + 3.8), (x, y + 4.8), (x + 4.4, y + 3.8)])


def _light() -> Iterator[Shape]:
    """Draw what shines: strands of hair, folds of the dress, and beads."""
    left = [(60, 11), (46, 18.5), (38, 33), (36, 52), (31, 72), (29, 87), (34, 98)]
    yield _WHITE, _stroke(3.2, left)
    right = [(71, 11), (84, 18.5), (90.5, 33), (92, 52), (97, 72), (99.5, 87), (95, 98)]
    yield _WHITE, _stroke(3.2, right)
    yield _WHITE, _stroke(3.0, [(16, 110), (23, 119), (26, 136)])
    yield _WHITE, _stroke(3.0, [(110, 110), (104, 119), (102, 136)])
    for aside, y in ((0, 123.5), (8, 122.5), (16, 119.5), (23, 115.5), (29, 110.5)):
        yield _WHITE, _disc(62.5 - aside, y, 1.6)
        yield _WHITE, _disc(62.5 + aside, y, 1.6)


def _curve(points: Points, *, closed: bool = True) -> F64:
    """Draw a smooth curve through points."""
    p = np.asarray(points, np.float64)
    ends = (p[-1:], p[:2]) if closed else (2 * p[:1] - p[1:2], 2 * p[-1:] - p[-2:-1])
    p = np.concatenate([ends[0], p, ends[1]])
    a, b, c, d = (p[i : len(p) - 3 + i, None] for i in range(4))
    t = np.linspace(0.0, 1.0, _CHORDS, endpoint=False)[:, None]
    path = b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)))
    return np.concatenate([path.reshape(-1, 2), p[:0] if closed else p[-2:-1]])


def _stroke(width: float, points: Points) -> F64:
    """Outline a stroke of a brush along a curve, 0.4 of its width at both ends."""
    spine = _curve(points, closed=False)
    along = np.gradient(spine, axis=0)
    across = along[:, ::-1] * [-1.0, 1.0] / np.sqrt((along**2).sum(axis=1, keepdims=True))
    t = np.linspace(0.0, 1.0, len(spine))[:, None]
    side = 0.5 * width * np.sqrt(0.16 + 3.36 * t * (1.0 - t)) * across
    return np.concatenate([spine + side, (spine - side)[::-1]])


def _disc(x: float, y: float, radius: float) -> F64:
    """Outline a disc, by a curve through eight points."""
    angle = np.arange(8) * (np.pi / 4)
    return _curve(np.stack([x + radius * np.cos(angle), y + radius * np.sin(angle)], axis=1))


def _fill(canvas: npt.NDArray[np.bool_], outline: F64, *, ink: bool) -> None:
    """Ink the pixels whose centres an outline winds around, within the box that holds it."""
    size = len(canvas)
    left, top = np.clip(np.floor(outline.min(axis=0)), 0, size).astype(int).tolist()
    right, bottom = np.clip(np.ceil(outline.max(axis=0)), 0, size).astype(int).tolist()
    box = canvas[top:bottom, left:right]
    box[_winding(outline - [left, top], *box.shape) != 0] = ink


def _winding(outline: F64, height: int, width: int) -> npt.NDArray[np.int8]:
    """Count an outline's turns around each pixel: its sides that cross the row further left."""
    x, y = outline.T
    next_x, next_y = np.roll(x, -1), np.roll(y, -1)
    first = np.clip(np.ceil(np.minimum(y, next_y) - 0.5), 0, height).astype(np.intp)
    last = np.clip(np.ceil(np.maximum(y, next_y) - 0.5), 0, height).astype(np.intp)
    side = np.repeat(np.arange(len(x)), last - first)
    row = np.arange(len(side)) - np.repeat(np.cumsum(last - first) - last, last - first)
    share = (row + 0.5 - y[side]) / (next_y[side] - y[side])
    column = np.ceil(x[side] + share * (next_x[side] - x[side]) - 0.5)
    turns = np.zeros((height, width + 1), np.int8)
    place = row, np.clip(column, 0, width).astype(np.intp)
    np.add.at(turns, place, np.where(next_y > y, 1, -1)[side].astype(np.int8))
    return np.cumsum(turns[:, :-1], axis=1, dtype=np.int8)


# --- two textures ---------------------------------------------------------------------------------


def texture_pair(size: tuple[int, int] = (128, 160), seed: RandomState = 0) -> tuple[F64, Int]:
    r"""Draw a grey picture of two textures, one of which fills a smooth shape.

    Both are Gaussian noise with the same mean and variance, so that a grey value tells nothing.
    They differ in the direction of their waves: with frequencies :math:`f` and the wave vector
    :math:`g_k` of texture k,

    .. math:: S_k(f) \propto e^{-\lVert f - g_k \rVert^2 / s^2} + e^{-\lVert f + g_k \rVert^2 / s^2}

    plus white noise of one and a half times that variance.

    Parameters
    ----------
    size
        Height and width in pixels.
    seed
        Of the noise and of the shape. The two textures are always the same, so that one picture
        can train what another one tests.

    Returns
    -------
    image : ndarray of shape ``size``
        Grey values from 0 to 1.
    labels : ndarray of shape ``size``
        1 in the foreground, 0 elsewhere.

    Raises
    ------
    ShapeError
        If the size is not two numbers.

    See Also
    --------
    block_features : Features that tell such textures apart.

    Notes
    -----
    Time O(n log n). A Gaussian for each class, fitted to 8 x 8 blocks of another picture, gets some
    10 to 13 % of the pixels wrong.

    Examples
    --------
    >>> from credo.images import texture_pair
    >>> image, labels = texture_pair((64, 80), seed=1)
    >>> image.shape, sorted(set(labels.ravel().tolist()))
    ((64, 80), [0, 1])
    """
    if len(size) != 2:
        raise ShapeError(f"The size of texture_pair must be (height, width). Got {size!r}.")
    height, width = (check.count(side, "size of texture_pair") for side in size)
    rng = check.generator(seed, "random_state of texture_pair")
    labels = _blob(height, width, rng)
    textures = [_waves(height, width, direction, rng) for direction in _DIRECTIONS]
    mixed = np.sqrt(1 - _NOISE) * np.where(labels == 1, textures[1], textures[0])
    mixed += np.sqrt(_NOISE) * rng.normal(size=labels.shape)
    return np.clip(_GREY + _CONTRAST * mixed, 0.0, 1.0), labels


def _blob(height: int, width: int, rng: np.random.Generator) -> Int:
    """Draw a shape around the middle whose radius swings smoothly with the angle."""
    phases = rng.uniform(0, 2 * np.pi, size=len(_BULGES))
    down = (np.arange(height) + 0.5)[:, None] / height - 0.5
    right = (np.arange(width) + 0.5)[None, :] / width - 0.5
    angle = np.arctan2(down, right)
    bulges = sum(
        size * np.cos((n + 1) * angle + phase)
        for n, (size, phase) in enumerate(zip(_BULGES, phases, strict=True))
    )
    inside: Bool = np.hypot(down, right) < _RADIUS * (1 + bulges)
    return inside.astype(np.intp)


def _waves(height: int, width: int, direction: float, rng: np.random.Generator) -> F64:
    """Filter white noise so that it has waves in one direction, and variance one."""
    down, right = np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width)[None, :]
    turn = np.deg2rad(direction)
    along, across = _FREQUENCY * np.cos(turn), _FREQUENCY * np.sin(turn)
    power = sum(
        np.exp(-((right - sign * along) ** 2 + (down - sign * across) ** 2) / _SPREAD**2)
        for sign in (-1, 1)
    )
    spectrum = np.fft.fft2(rng.normal(size=(height, width))) * np.sqrt(power / np.mean(power))
    return np.real(np.fft.ifft2(spectrum))
