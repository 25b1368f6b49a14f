"""Features of the block of pixels around each pixel: cosine transforms in zig-zag order."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from credo._types import F64, Int
from credo._validation.arrays import as_finite, positive_int
from credo._validation.labels import one_of
from credo._validation.probabilities import block_rows, blocks
from credo.exceptions import InputError, ShapeError

_OWNER = "block_features"


def block_features(
    image: Any,
    size: int = 8,
    *,
    transform: Literal["dct"] | None = "dct",
    step: int = 1,
    n_features: int | None = None,
    align: Literal["centre", "corner"] = "centre",
) -> F64:
    r"""Describe each pixel by the block of pixels at it.

    The features are the coefficients of the block's two-dimensional cosine transform (DCT-II,
    orthonormal), in zig-zag order from low to high frequencies:

    .. math:: F_{ij} = \sum_{u, v} C_{iu} C_{jv}\, B_{uv}, \qquad
              C_{iu} = \sqrt{\tfrac{2 - [i = 0]}{s}} \cos \frac{\pi i (2 u + 1)}{2 s}

    Parameters
    ----------
    image : array-like of shape (H, W)
        A grey picture.
    size
        Side s of the blocks.
    transform
        ``"dct"``; or None for the block's pixels themselves, row by row.
    step
        Describe every so many pixels of each axis, from the first on.
    n_features
        Keep only the first so many coefficients; all by default.
    align
        Which pixel a block belongs to: its middle one (of an even side, the last one of the first
        half) or its top left one (``"corner"``, which shifts what is found by half a block). At the
        borders the picture is continued by its mirror image.

    Returns
    -------
    ndarray of shape (ceil(H / step), ceil(W / step), n_features)
        Features; ``.reshape(-1, n_features)`` are rows for a classifier.

    Raises
    ------
    InputError
        If the picture is not finite, or an option is out of range.
    ShapeError
        If the picture is not a plane.

    See Also
    --------
    credo.segment : Smooth what a classifier says about these features.

    Notes
    -----
    Exact up to rounding. Two matrix products over sliding windows, :math:`2 s^3` operations per
    pixel and fewer for few coefficients, in blocks of rows: beyond picture and answer it needs a
    few megabytes. Blocks of neighbours overlap, so that their features repeat each other: a
    classifier's posteriors of neighbouring pixels are no independent evidence.

    References
    ----------
    .. [1] N. Ahmed, T. Natarajan and K. R. Rao, "Discrete cosine transform", IEEE Transactions on
       Computers C-23 (1974), pages 90-93.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.images.blocks import block_features
    >>> ramp = np.arange(16.0).reshape(4, 4)
    >>> block_features(ramp, size=2, n_features=3)[0, 0]
    array([ 5., -1., -4.])
    """
    plane = as_finite(image, _OWNER, "image")
    side, stride = positive_int(size, _OWNER, "size"), positive_int(step, _OWNER, "step")
    _check(plane, transform)
    one_of(align, ("centre", "corner"), _OWNER, "align")
    order = _kept(side, transform, n_features)
    before = (side - 1) // 2 if align == "centre" else 0
    padded = np.pad(plane, [(before, side - 1 - before)] * 2, mode="symmetric")
    basis = np.eye(side) if transform is None else cosines(side)
    high, wide = order // side, order % side
    down, along = basis[: high.max() + 1], basis[: wide.max() + 1]
    place = high * len(along) + wide
    found = np.empty((*(-(-length // stride) for length in plane.shape), len(order)))
    for rows in blocks(len(found), block_rows(2 * side * side * found.shape[1])):
        part = padded[rows.start * stride : (rows.stop - 1) * stride + side]
        found[rows] = _transformed(part, down, along, stride)[..., place]
    return found


def zigzag(size: int) -> Int:
    """Give positions in a square, row-major, from corner to corner along the diagonals.

    Parameters
    ----------
    size
        Side of the square.

    Returns
    -------
    ndarray of shape (size * size,)
        Diagonals in turn; odd ones downwards, even ones upwards.

    Examples
    --------
    >>> from credo.images.blocks import zigzag
    >>> zigzag(3)
    array([0, 1, 3, 6, 4, 2, 5, 7, 8])
    """
    side = positive_int(size, "zigzag", "size")
    row, column = np.divmod(np.arange(side * side), side)
    diagonal = row + column
    return np.lexsort((np.where(diagonal % 2, row, column), diagonal))


def cosines(size: int) -> F64:
    """Give the orthonormal basis of the cosine transform DCT-II, one vector per row."""
    i, u = np.ogrid[:size, :size]
    basis: F64 = np.sqrt(2 / size) * np.cos(np.pi * i * (2 * u + 1) / (2 * size))
    basis[0] = np.sqrt(1 / size)
    return basis


def _transformed(part: F64, down: F64, along: F64, stride: int) -> F64:
    """Transform all blocks of some rows: along the rows first, then down the columns."""
    windows = sliding_window_view(part, along.shape[1], axis=1)[:, ::stride]
    rows = windows @ along.T
    windows = sliding_window_view(rows, down.shape[1], axis=0)[::stride]
    both = down @ windows.swapaxes(-1, -2)
    return both.reshape(*both.shape[:2], -1)


def _check(plane: F64, transform: str | None) -> None:
    """Check that a picture is a plane, and that the transform is known."""
    one_of(transform, ("dct", None), _OWNER, "transform")
    if plane.ndim != 2 or not plane.size:
        raise ShapeError(
            f"The image of {_OWNER} must be a grey picture of shape (H, W). Got shape "
            f"{plane.shape}. Take one channel of a colour picture at a time, or their mean."
        )


def _kept(side: int, transform: str | None, n_features: int | None) -> Int:
    """Give the positions in a block of the features kept, in order."""
    if transform is None:
        if n_features is not None:
            raise InputError(
                f"{_OWNER}: n_features counts coefficients from low to high frequencies. With "
                "transform=None there are none; leave it out."
            )
        return np.arange(side * side)
    most = side * side
    n = most if n_features is None else positive_int(n_features, _OWNER, "n_features")
    if n > most:
        raise InputError(f"{_OWNER}: a block of side {side} has {most} features. Asked for {n}.")
    return zigzag(side)[:n]
