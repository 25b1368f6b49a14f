"""Features of the block of pixels around each pixel: cosine transforms in zig-zag order."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy
from numpy.lib.stride_tricks import sliding_window_view

from credo import _checks as check
from credo._types import F64, Int
from credo.exceptions import InputError, ShapeError


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
    Exact up to rounding. Two matrix products over sliding windows, in blocks of rows: beyond
    picture and answer it needs a few megabytes. Blocks of neighbours overlap, so that their
    features repeat each other: a classifier's posteriors of neighbouring pixels are no independent
    evidence.

    References
    ----------
    .. [1] N. Ahmed, T. Natarajan and K. R. Rao, "Discrete cosine transform", IEEE Transactions on
       Computers C-23 (1974), pages 90-93.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.images import block_features
    >>> ramp = np.arange(16.0).reshape(4, 4)
    >>> block_features(ramp, size=2, n_features=3)[0, 0]
    array([ 5., -1., -4.])
    """
    plane = check.finite(image, "image of block_features")
    side = check.count(size, "size of block_features")
    stride = check.count(step, "step of block_features")
    check.one_of(transform, ("dct", None), "transform of block_features")
    check.one_of(align, ("centre", "corner"), "align of block_features")
    if plane.ndim != 2 or not plane.size:
        raise ShapeError(
            "The image of block_features must be a grey picture of shape (H, W). Got shape "
            f"{plane.shape}. Take one channel of a colour picture at a time, or their mean."
        )
    order = _kept(side, transform, n_features)
    before = (side - 1) // 2 if align == "centre" else 0
    padded = np.pad(plane, [(before, side - 1 - before)] * 2, mode="symmetric")
    basis = np.eye(side) if transform is None else scipy.fft.dct(np.eye(side), axis=0, norm="ortho")
    high, wide = order // side, order % side
    down, along = basis[: high.max() + 1], basis[: wide.max() + 1]
    found = np.empty((*(-(-length // stride) for length in plane.shape), len(order)))
    for rows in check.blocks(len(found), check.block_rows(2 * side**2 * found.shape[1])):
        part = padded[rows.start * stride : (rows.stop - 1) * stride + side]
        part = sliding_window_view(part, side, axis=1)[:, ::stride] @ along.T
        part = down @ sliding_window_view(part, side, axis=0)[::stride].swapaxes(-1, -2)
        found[rows] = part[..., high, wide]
    return found


def _kept(side: int, transform: str | None, n_features: int | None) -> Int:
    """Return the positions in a block of the features kept, in order."""
    most = side * side
    if transform is None:
        if n_features is not None:
            raise InputError(
                "block_features: n_features counts coefficients from low to high frequencies. With "
                "transform=None there are none; leave it out."
            )
        return np.arange(most)
    n = most if n_features is None else check.count(n_features, "n_features of block_features")
    if n > most:
        raise InputError(
            f"block_features: a block of side {side} has {most} features. Asked for {n}."
        )
    row, column = np.divmod(np.arange(most), side)
    diagonal = row + column  # diagonals in turn; odd ones downwards, even ones upwards
    return np.lexsort((np.where(diagonal % 2, row, column), diagonal))[:n]
