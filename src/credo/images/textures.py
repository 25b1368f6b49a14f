"""A picture of two textures, drawn by code: something to segment where no data are."""

from __future__ import annotations

import numpy as np

from credo._types import F64, Bool, Int, RandomState
from credo._validation.arrays import generator, positive_int
from credo.exceptions import ShapeError

_OWNER = "texture_pair"

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
    >>> from credo.images.textures import texture_pair
    >>> image, labels = texture_pair((64, 80), seed=1)
    >>> image.shape, sorted(set(labels.ravel().tolist()))
    ((64, 80), [0, 1])
    """
    if len(size) != 2:
        raise ShapeError(f"The size of {_OWNER} must be (height, width). Got {size!r}.")
    height, width = (positive_int(side, _OWNER, "size") for side in size)
    rng = generator(seed, _OWNER)
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
