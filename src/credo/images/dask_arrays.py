"""``denoise_dask``: restore a binary image that is a Dask array, block by block, anywhere."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from credo._types import Labels
from credo.exceptions import InputError, MissingExtraError, ShapeError
from credo.images._tile_engine import Passing, TileEngine, named
from credo.images._tile_inputs import Survey, as_flips, as_picture, as_two, second_in, two_of
from credo.images._tile_sample import learnt, sample_windows

_WHO = "denoise_dask"


def denoise_dask(  # noqa: PLR0913 - one parameter per setting
    image: Any,
    *,
    flip_probability: Any = "estimate",
    coupling: Any = "estimate",
    sweeps: int = 20,
    momentum: float = 0.5,
    method: Literal["sum-product", "max-product"] = "sum-product",
    labels: Any = None,
    neighbours: int = 4,
    dtype: Any = "float32",
    posterior: bool = False,
) -> Any:
    r"""Restore a binary image that is a Dask array; lazily.

    After S sweeps the belief of a pixel depends on pixels at distance at most S only,

    .. math:: b_i^{(S)} = f(\{ y_j : |i - j| \le S \}),

    so a block is restored together with a halo of as many pixels as sweeps. What comes out is the
    same, to the last bit, as for the whole image, whatever the blocks and the scheduler.

    Parameters
    ----------
    image : dask.array.Array of shape (height, width)
        It has two values.
    flip_probability : float, array of shape (height, width), or "estimate"
        Probability that a pixel was flipped, for all or pixel by pixel (a Dask array or another).
        Learnt by default.
    coupling : float, one per direction, or "estimate"
        Coupling J of neighbours. Learnt by default.
    sweeps : int
        Sweeps of messages, all at once ("flooding"), and width of the halo.
    momentum : float
        Share of the new message, above 0 and at most 1.
    method : {"sum-product", "max-product"}
        Marginals of the pixels, or max-marginals.
    labels : pair of numbers, optional
        The two values; the least and the largest of the image by default.
    neighbours : {4, 8}
        Which pixels are neighbours.
    dtype : {"float32", "float64"} or None
        Type of number; None takes float32 where it is safe.
    posterior : bool
        Whether to give the probability of the second label in place of the image.

    Returns
    -------
    dask.array.Array of shape (height, width)
        The restored image, coded and typed as the noisy one; or probabilities.

    Raises
    ------
    InputError
        If it is no Dask array, or a setting is out of range. A third value in the image is found
        when its block is computed, and is a ``LabelError`` then.
    ShapeError
        If the image has not two dimensions of known size, or a map another shape.
    MissingExtraError
        If Dask is not installed.

    See Also
    --------
    credo.images.denoise_tiled : The same for files and arrays on one machine.

    Notes
    -----
    Nothing is computed now if labels, flip probability and coupling are given, and the flip
    probability is one number. If not, there is one pass for the least and the largest values, and
    one for the 64 pieces of 32 x 32 pixels that :func:`credo.denoise` learns from too. They are not
    part of the graph of the result: with its labels in the graph, all blocks would have to be in
    memory at once.

    Blocks narrower than the halo are merged. A worker needs about 40 bytes in float32 for each
    pixel of a block and its halo; blocks of 1024 x 1024 or more waste little on halos.

    References
    ----------
    .. [1] M. Rocklin, Dask: parallel computation with blocked algorithms and task scheduling,
       *Proceedings of the 14th Python in Science Conference* (2015), section 3.

    Examples
    --------
    >>> import dask.array as da
    >>> from credo.images import add_noise, portrait
    >>> from credo.images.dask_arrays import denoise_dask
    >>> noisy = da.from_array(add_noise(portrait(64), 0.1, seed=0), chunks=30)
    >>> clean = denoise_dask(noisy, flip_probability=0.1, coupling=0.8, labels=(False, True))
    >>> clean.shape, clean.dtype, int(clean.compute().sum()) > 0
    ((64, 64), dtype('bool'), True)
    """
    arrays = _dask_array()
    _check(image, arrays)
    shape = tuple(image.shape)
    flips = as_flips(flip_probability, shape, _WHO)
    plane = _as_blocks(flips, image, arrays) if hasattr(flips, "shape") else None
    passing = Passing(coupling, neighbours, sweeps, momentum, method, dtype)
    passing.check(_WHO)
    looked = _looked(image, plane, labels)
    flips, coupling = _numbers(image, plane, (flips, coupling), looked.labels, neighbours)
    engine = TileEngine.of(looked.flips or flips, passing._replace(coupling=coupling), _WHO)
    blocks = [image] if plane is None else [image, plane]
    kind = np.dtype(engine.settings.dtype) if posterior else image.dtype
    depth = [min(engine.sweeps, length) for length in shape]
    return arrays.map_overlap(
        _restored,
        *(_merged(each, depth) for each in blocks),
        depth=dict(enumerate(depth)),
        boundary="none",
        dtype=kind,
        meta=np.empty((0, 0), dtype=kind),
        engine=engine,
        labels=looked.labels,
        kind=None if posterior else kind,
    )


def _dask_array() -> Any:
    """Load Dask's arrays, or say how to install them."""
    try:
        import dask.array as arrays  # noqa: PLC0415 - an extra, loaded when it is used
    except ImportError as error:
        raise MissingExtraError(
            "Dask arrays need Dask. Install the extra: pip install 'credo[dask]'."
        ) from error
    return arrays


def _check(image: Any, arrays: Any) -> None:
    """Check for a Dask array with two sides of known length."""
    if not isinstance(image, arrays.Array):
        raise InputError(
            f"{_WHO} needs a Dask array. Got {type(image).__name__}. Use denoise_tiled, or "
            "dask.array.from_array."
        )
    if any(np.isnan(length) for length in image.shape):
        raise ShapeError(
            f"{_WHO} needs an image of known size. Got shape {image.shape}. Call "
            "image.compute_chunk_sizes() first."
        )
    as_picture(image, _WHO, "image")


def _as_blocks(flips: Any, image: Any, arrays: Any) -> Any:
    """Cut a map as the image is cut."""
    if isinstance(flips, arrays.Array):
        return flips.rechunk(image.chunks)
    return arrays.from_array(flips, chunks=image.chunks)


def _looked(image: Any, plane: Any, labels: Any) -> Survey:
    """Find the two values, and the ends of a map, where they are not known; in one pass."""
    wanted = [image] if labels is None else []
    wanted += [] if plane is None else [plane]
    found = list(_dask_array().compute(*((each.min(), each.max()) for each in wanted)))
    names = two_of(found.pop(0), image.dtype, _WHO) if labels is None else as_two(labels, _WHO)
    if not found:
        return Survey(names, None)
    low, high = float(found[0][0]), float(found[0][1])
    if not (low >= 0.0 and high <= 1.0):
        raise InputError(
            f"The flip_probability of {_WHO} must be between 0 and 1. Got a map from {low:g} to "
            f"{high:g}."
        )
    return Survey(names, (low, high))


def _numbers(
    image: Any, plane: Any, numbers: tuple[Any, Any], labels: Labels, neighbours: Any
) -> tuple[Any, Any]:
    """Give the flip probability and the coupling, learnt from a sample where they are not given."""
    if not any(isinstance(number, str) for number in numbers):
        return numbers
    mosaics = _mosaic(image), None if plane is None else _mosaic(plane)
    return learnt(mosaics, tuple(image.shape), labels, numbers, neighbours, _WHO)


def _mosaic(blocks: Any) -> npt.NDArray[Any]:
    """Compute a sample."""
    windows = sample_windows(blocks.shape)
    parts = [[blocks[window] for window in row] for row in windows]
    return _dask_array().block(parts).compute()


def _merged(blocks: Any, depth: list[int]) -> Any:
    """Merge the blocks along a side no longer than the halo; Dask merges other small ones."""
    whole = {axis: -1 for axis, length in enumerate(blocks.shape) if length <= depth[axis]}
    return blocks.rechunk(whole) if whole else blocks


def _restored(
    block: npt.NDArray[Any],
    flips: npt.NDArray[Any] | None = None,
    *,
    engine: TileEngine,
    labels: Labels,
    kind: Any,
) -> npt.NDArray[Any]:
    """Restore a block; the halo is cut off afterwards."""
    beliefs = engine.beliefs(engine.field(second_in(np.asarray(block), labels, _WHO), flips))
    return beliefs if kind is None else named(beliefs > 0.5, labels, kind)
