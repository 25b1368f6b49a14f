"""Binary images larger than memory, restored tile by tile: from files, arrays or Dask arrays.

After S sweeps the belief of a pixel depends on pixels at distance at most S only, so that a window
which is restored with a halo of as many pixels is restored as the whole image is, to the last bit.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, final

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._threads import map_in_order
from credo._types import Bool, Labels
from credo.exceptions import InputError, LabelError, MissingExtraError, ShapeError
from credo.graphs import GridField, Ising
from credo.graphs.grid_coordinates import Axis, edge_energy
from credo.graphs.grid_field import odds_energy
from credo.images._denoise import Energies, learn_flips
from credo.images.coding import read_image
from credo.images.tiff import Shape, Window, let_go, pieces
from credo.inference.grids.engine import GridSettings, messages_on, settings_for

#: Called with the number of tiles done, and of all tiles.
TileCallback: TypeAlias = Callable[[int, int], None]
#: A part of a picture, or of a map of flip probabilities.
Part: TypeAlias = npt.NDArray[Any]


@final
@dataclass(frozen=True, slots=True, eq=False)
class TiledRestoration:
    """Hold what was restored tile by tile, and what it was restored with.

    Made by :func:`credo.images.denoise_tiled`.

    Attributes
    ----------
    image : array
        The target, or the array that was made in its place: the restored image, coded as the
        noisy one.
    posterior : array or None
        As given: the probability of the second label of each pixel.
    labels : tuple
        The two values.
    energy : Energies
        U of the ``noisy`` image and of the ``restored`` one; larger is better.
    flip_probability : float or array
        Given or estimated.
    coupling : float or tuple of float
        Given or estimated.
    sweeps : int
        How many sweeps were made.
    tiles : int
        In how many tiles the image was cut.
    changed : int
        How many pixels differ from the noisy image.

    See Also
    --------
    credo.images.denoise_tiled : Makes one.

    Examples
    --------
    >>> from credo.images import denoise_tiled
    >>> noisy = [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    >>> denoise_tiled(noisy, flip_probability=0.1, coupling=0.8, tile=2)
    <TiledRestoration: 3x3 pixels in 4 tiles, 20 sweeps, 1 pixels changed>
    """

    image: Any
    posterior: Any
    labels: Labels
    energy: Energies
    flip_probability: Any
    coupling: Any
    sweeps: int
    tiles: int
    changed: int

    def __repr__(self) -> str:
        height, width = self.image.shape
        return (
            f"<TiledRestoration: {height}x{width} pixels in {self.tiles} tiles, {self.sweeps} "
            f"sweeps, {self.changed} pixels changed>"
        )


def denoise_tiled(  # noqa: PLR0913 - one parameter per setting
    source: Any,
    target: Any = None,
    *,
    flip_probability: Any = "estimate",
    coupling: Any = "estimate",
    sweeps: int = 20,
    momentum: float = 0.5,
    method: Literal["sum-product", "max-product"] = "sum-product",
    labels: Any = None,
    neighbours: int = 4,
    tile: int = 1024,
    dtype: Any = "float32",
    threads: int = 1,
    posterior: Any = None,
    callback: TileCallback | None = None,
) -> TiledRestoration:
    r"""Restore a binary image that need not fit into memory, tile by tile.

    After S sweeps the belief of a pixel depends on pixels at distance at most S only,

    .. math:: b_i^{(S)} = f(\{ y_j : |i - j| \le S \}),

    so a tile is restored together with a halo of as many pixels as sweeps. What comes out is the
    same, to the last bit, as for the whole image.

    Parameters
    ----------
    source : array-like of shape (height, width)
        Anything with ``shape``, ``dtype`` and slices: a ``numpy.memmap``, an array, a
        :class:`~credo.images.TiffSource`. It has two values.
    target : array-like, optional
        What is written to, of the same shape: a ``numpy.memmap``, a
        :class:`~credo.images.TiffTarget`. An array is made by default.
    flip_probability : float, array-like of shape (height, width), or "estimate"
        Probability that a pixel was flipped, for all or pixel by pixel. Learnt by default.
    coupling : float, one per direction, or "estimate"
        Coupling J of neighbours. Learnt by default.
    sweeps : int
        Sweeps of messages, all at once ("flooding"), and width of the halo.
    momentum : float
        Share of the new message, above 0 and at most 1.
    method : {"sum-product", "max-product"}
        Marginals of the pixels, or max-marginals.
    labels : pair of numbers, optional
        The two values, the lower one first as a rule; those found in the image by default.
    neighbours : {4, 8}
        Which pixels are neighbours.
    tile : int
        Rows and columns of a tile, without its halo.
    dtype : {"float32", "float64"} or None
        Type of number; None takes float32 where it is safe.
    threads : int
        Tiles at a time; the answer is the same to the last bit. Only one thread reads and writes.
    posterior : array-like of shape (height, width), optional
        Another array that is written to: the probability of the second label.
    callback : callable, optional
        Called after each tile with the number of tiles done and of all tiles.

    Returns
    -------
    TiledRestoration
        With ``image``, ``posterior``, ``energy``, ``flip_probability`` and ``coupling``.

    Raises
    ------
    LabelError
        If the image has a third value; names the pixel. Nothing has been written then.
    InputError
        If a setting is out of range, or the target is the source.
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    credo.denoise : For images that fit into memory; with losses, grey levels and colours.
    credo.images.denoise_dask : The same on Dask arrays.

    Notes
    -----
    Two passes: the first looks at all values, before anything is written; the second restores. If
    that one fails, the error has a note that says how many tiles were written.

    Memory beyond that of the program: for each thread ``(tile + 2 * sweeps + 2) ** 2`` pixels times
    30 bytes in float32 (40 with a map of float64), 60 in float64. That is 0.1 GB for two threads
    by default. Work grows by the same square over ``tile ** 2``, 8 per cent. Files that are mapped
    to memory are let go of after each row of tiles.

    ``"estimate"`` learns from the same pixels as :func:`credo.denoise`, 64 pieces of 32 x 32 that
    are spread over the image, and finds the same numbers.

    References
    ----------
    .. [1] Y. Weiss, Correctness of local probability propagation in graphical models with loops,
       *Neural Computation* 12 (2000): the unwrapped network.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.images import add_noise, denoise_tiled, portrait
    >>> noisy = add_noise(portrait(64), 0.1, seed=0)
    >>> found = denoise_tiled(noisy, flip_probability=0.1, coupling=0.8, tile=20, threads=2)
    >>> found.tiles, found.energy.noisy < found.energy.restored
    (16, True)
    """
    who = "denoise_tiled"
    seen = _as_picture(source, "source", who)
    shape: Shape = tuple(seen.shape)
    flips = _as_flips(flip_probability, shape, who)
    plane = flips if hasattr(flips, "shape") else None  #: a map of flip probabilities
    target = np.empty(shape, dtype=seen.dtype) if target is None else target
    pictures = _Pictures(seen, plane, target, posterior)
    _check_outputs(pictures, shape)
    size, count = check.count(tile, f"tile of {who}"), check.count(threads, f"threads of {who}")
    passing = neighbours, sweeps, momentum, method, dtype
    Restorer.of(who, passing, 0.5, coupling)  # refuses wrong settings before anything is read
    names, ends = _survey(pictures, cut_tiles(shape, size), labels)
    _check_holds(target, names, "target")
    flips, coupling, _ = learn_flips(seen, names, flips, coupling, neighbours)
    restorer = Restorer.of(who, passing, ends or flips, coupling, names)
    energy, changed, tiles = _restore_all(pictures, restorer, size, count, callback)
    return TiledRestoration(
        target, posterior, names, energy, flips, restorer.coupling, restorer.sweeps, tiles, changed
    )


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
        Whether to return the probability of the second label in place of the image.

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
    >>> from credo.images import add_noise, denoise_dask, portrait
    >>> noisy = da.from_array(add_noise(portrait(64), 0.1, seed=0), chunks=30)
    >>> clean = denoise_dask(noisy, flip_probability=0.1, coupling=0.8, labels=(False, True))
    >>> clean.shape, clean.dtype, int(clean.compute().sum()) > 0
    ((64, 64), dtype('bool'), True)
    """
    arrays, who = _load_dask(), "denoise_dask"
    if not isinstance(image, arrays.Array):
        raise InputError(
            f"{who} needs a Dask array. Got {type(image).__name__}. Use denoise_tiled, or "
            "dask.array.from_array."
        )
    if any(np.isnan(length) for length in image.shape):
        raise ShapeError(
            f"{who} needs an image of known size. Got shape {image.shape}. Call "
            "image.compute_chunk_sizes() first."
        )
    shape: Shape = _as_picture(image, "image", who).shape
    flips = _as_flips(flip_probability, shape, who)
    planes = [image]
    if hasattr(flips, "shape"):
        planes.append(arrays.asarray(flips, chunks=image.chunks).rechunk(image.chunks))
    passing = neighbours, sweeps, momentum, method, dtype
    Restorer.of(who, passing, 0.5, coupling)  # refuses wrong settings before anything is computed
    names, ends = _survey_blocks(arrays, planes, labels)
    flips = planes[1] if ends else flips
    flips, coupling, _ = learn_flips(image, names, flips, coupling, neighbours)
    restorer = Restorer.of(who, passing, ends or flips, coupling, names)
    kind = np.dtype(restorer.settings.dtype) if posterior else image.dtype
    depth = {axis: min(restorer.sweeps, length) for axis, length in enumerate(shape)}
    # along a side no longer than the halo blocks are merged; Dask merges other small ones
    whole = {axis: -1 for axis, length in enumerate(shape) if length <= depth[axis]}
    return arrays.map_overlap(
        _restore_block,
        *(plane.rechunk(whole) if whole else plane for plane in planes),
        depth=depth,
        boundary="none",
        dtype=kind,
        meta=np.empty((0, 0), dtype=kind),
        restorer=restorer,
        kind=None if posterior else kind,
    )


def _load_dask() -> Any:
    """Load Dask's arrays, or say how to install them."""
    try:
        import dask.array as arrays  # noqa: PLC0415 - an extra, loaded when it is used
    except ImportError as error:
        raise MissingExtraError(
            "Dask arrays need Dask. Install the extra: pip install 'credo[dask]'."
        ) from error
    return arrays


def _survey_blocks(
    arrays: Any, planes: list[Any], labels: Any
) -> tuple[Labels, tuple[float, float] | None]:
    """Find the two values, and the ends of a map, where they are not known; in one pass."""
    known = () if labels is None else _as_two(labels, "denoise_dask")
    wanted = planes[1:] if known else planes
    found = list(arrays.compute(*((each.min(), each.max()) for each in wanted)))
    names = known or _two_of(found.pop(0), planes[0].dtype, "denoise_dask")
    if not found:
        return names, None
    low, high = map(float, found[0])
    if not (low >= 0.0 and high <= 1.0):
        raise InputError(
            f"The flip_probability of denoise_dask must be between 0 and 1. Got a map from {low:g} "
            f"to {high:g}."
        )
    return names, (low, high)


def _restore_block(
    block: Part, flips: Part | None = None, *, restorer: Restorer, kind: Any
) -> Part:
    """Restore a block; the halo is cut off afterwards."""
    _, _, beliefs = restorer.restore(np.asarray(block), flips)
    return beliefs if kind is None else _name(beliefs > 0.5, restorer.labels, kind)


# --- one window -----------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class Restorer:
    """Restores one window after another, all with the same numbers.

    The range of the node potentials is known from the start, so that the type of number, and what
    is too strong for it, is the same for all windows.
    """

    beta: float | None  #: half the log odds of what a pixel shows; None if each has its own
    coupling: Any
    neighbours: int
    sweeps: int
    settings: GridSettings
    labels: Labels
    who: str

    @classmethod
    def of(
        cls, who: str, passing: tuple[Any, ...], flips: Any, coupling: Any, labels: Labels = ()
    ) -> Restorer:
        """Check how messages are passed, for a flip probability or the ends of a map of them."""
        neighbours, sweeps, momentum, method, dtype = passing
        count = check.count(sweeps, f"sweeps of {who}", 0)
        if isinstance(coupling, str):  # still to be learnt
            check.one_of(coupling, ("estimate",), f"coupling of {who}")
            coupling = 0.0
        smooth = Ising(coupling)
        if isinstance(smooth.strength, tuple) and any(map(np.ndim, smooth.strength)):
            raise InputError(
                f"The coupling of {who} must be one number, or one for each direction. For one per "
                "edge build a GridField and use credo.infer_grid."
            )
        span = flips if isinstance(flips, tuple) else (flips, flips)
        ends = GridField.from_flips(
            [[True, True]], [span], smooth, labels=(False, True), neighbours=neighbours
        )
        settings = settings_for(ends, method, momentum, "flooding", dtype, who)
        beta = None if isinstance(flips, tuple) else float(ends.log_odds[0, 0]) / 2
        return cls(beta, smooth.strength, ends.n_neighbours, count, settings, labels, who)

    def restore(
        self, seen: Part, flips: Part | None, window: Window | None = None
    ) -> tuple[Bool, GridField, Part]:
        """Return where a window shows the second label, its field, and that label's beliefs."""
        second = _is_second(seen, self.labels, self.who, window)
        options: Any = {"labels": (False, True), "neighbours": self.neighbours}
        if self.beta is None:
            field = GridField.from_flips(second, flips, self.coupling, **options)
        else:
            beta = self.settings.dtype(self.beta)
            half = check.frozen(np.where(second, beta, -beta))
            field = GridField.ising(half, self.coupling, **options)
        messages = messages_on(field, self.settings)
        messages.advance(self.sweeps)
        return second, field, messages.posterior().of(True)  # noqa: FBT003 - a label

    def energy(self, field: GridField, second: Bool, x: Bool, inside: Window) -> float:
        """Return U of a labelling, for the pixels and edges of the inner part of a window.

        An edge belongs to the part of its lower pixel. Its upper one may be one pixel outside.
        """
        if self.beta is None:
            nodes = odds_energy(field.log_odds[inside] / 2, x[inside])
        else:
            agree = int(np.count_nonzero(second[inside] == x[inside]))
            counts = (agree, self.beta), (x[inside].size - agree, -self.beta)
            nodes = sum(n * beta for n, beta in counts if n and beta != math.inf)
        units = field.smoothness.units(2)
        edges = math.fsum(
            edge_energy(x[_with_upper(inside, axis)], [axis], [strength], units)
            for axis, strength in zip(field.axes, field.strengths, strict=True)
        )
        return nodes + edges


def _with_upper(inside: Window, axis: Axis) -> Window:
    """Widen a window by the upper pixels of the edges along an axis, as far as there are any."""
    return tuple(
        slice(max(0, side.start + min(step, 0)), side.stop + max(step, 0))
        for side, step in zip(inside, axis, strict=True)
    )


def _name(second: Bool, labels: Labels, dtype: Any) -> Part:
    """Return labels in the place of booleans."""
    first, other = np.array(labels).astype(dtype)
    return np.where(second, other, first)


def _is_second(part: Part, labels: Sequence[Any], who: str, window: Window | None = None) -> Bool:
    """Tell where a part of a picture shows the second label; refuse any third value."""
    is_second: Bool = part == labels[-1] if labels else np.zeros(part.shape, np.bool_)
    good = is_second | (part == labels[0]) if labels else is_second
    if good.all():
        return is_second
    row, column = (int(i) for i in np.unravel_index(int(np.argmin(good)), good.shape))
    where = f"at ({row}, {column}) of a block"
    if window is not None:
        where = f"at pixel ({row + window[0].start}, {column + window[1].start})"
    known, other = f"{check.listing(labels)} and " if labels else "", part[row, column]
    remedy = "Threshold the image first, or pass the two values as labels if they are not these."
    if other != other:  # noqa: PLR0124 - NaN
        remedy = "Where nothing was observed, pass either value and a flip_probability of 0.5."
    raise LabelError(
        f"{who} needs an image of two values. Got {known}{check.plain(other)!r} {where}. {remedy}"
    )


# --- tiles ----------------------------------------------------------------------------------------


class Tile(NamedTuple):
    """The pixels that a tile decides, and those that it looks at for this."""

    core: Window
    outer: Window
    inside: Window  #: the core, as seen from the corner of the outer window


def cut_tiles(shape: Shape, size: int, halo: int = 0) -> Iterator[Tile]:
    """Cut a picture into tiles of at most ``size`` rows and columns, row by row."""
    for _, _, core, _ in pieces((slice(0, shape[0]), slice(0, shape[1])), (size, size)):
        outer = tuple(
            slice(max(0, side.start - halo), min(length, side.stop + halo))
            for side, length in zip(core, shape, strict=True)
        )
        inside = tuple(
            slice(side.start - wide.start, side.stop - wide.start)
            for side, wide in zip(core, outer, strict=True)
        )
        yield Tile(core, outer, inside)


class _Pictures(NamedTuple):
    """All that is read, and all that is written."""

    seen: Any
    flips: Any  #: a map of flip probabilities, or None
    target: Any
    posterior: Any

    def read(self, window: Window) -> tuple[Part, Part | None]:
        """Read a part of the picture, and of the map if there is one."""
        return _read(self.seen, window), None if self.flips is None else _read(self.flips, window)

    def let_go(self, tile: Tile) -> None:
        """Tell the system after a row of tiles that files in memory are not needed for now."""
        if tile.core[1].stop == self.seen.shape[1]:
            for each in self:
                let_go(each)


def _restore_all(
    pictures: _Pictures, restorer: Restorer, size: int, threads: int, callback: TileCallback | None
) -> tuple[Energies, int, int]:
    """Restore all tiles and write them as they come; return energies, changes, number of tiles."""
    shape = tuple(pictures.seen.shape)
    total = math.prod(-(-length // size) for length in shape)
    energies: list[list[float]] = []
    changed = 0

    def read() -> Iterator[tuple[Tile, Part, Part | None]]:
        # one pixel more than sweeps, for the edges that lead out of a tile
        for tile in cut_tiles(shape, size, restorer.sweeps + 1):
            yield tile, *pictures.read(tile.outer)

    def work(job: tuple[Tile, Part, Part | None]) -> tuple[Tile, Bool, Any, list[float], int]:
        tile, seen, flips = job
        inside = tile.inside
        second, field, beliefs = restorer.restore(seen, flips, tile.outer)
        restored: Bool = beliefs > 0.5  # ties go to the first label
        energy = [restorer.energy(field, second, x, inside) for x in (second, restored)]
        moved = int(np.count_nonzero(restored[inside] != second[inside]))
        kept = None if pictures.posterior is None else beliefs[inside].copy()
        return tile, restored[inside].copy(), kept, energy, moved

    try:
        for tile, restored, beliefs, energy, moved in map_in_order(work, read(), threads):
            pictures.target[tile.core] = _name(restored, restorer.labels, pictures.target.dtype)
            if pictures.posterior is not None:
                pictures.posterior[tile.core] = beliefs
            pictures.let_go(tile)
            energies.append(energy)
            changed += moved
            if callback is not None:
                callback(len(energies), total)
    except BaseException as error:
        error.add_note(f"denoise_tiled has written {len(energies)} of {total} tiles, row by row.")
        raise
    return Energies(*map(math.fsum, zip(*energies, strict=True))), changed, total


# --- what is read and written ---------------------------------------------------------------------


def _as_picture(values: Any, what: str, who: str) -> Any:
    """Check for something with a shape and a type that can be sliced; lists become arrays."""
    if not all(hasattr(values, name) for name in ("shape", "dtype", "__getitem__")):
        values = np.asarray(values)
    shape, dtype = tuple(values.shape), np.dtype(values.dtype)
    if len(shape) != 2 or not all(shape):
        raise ShapeError(
            f"The {what} of {who} must have the shape (height, width), both at least 1. Got shape "
            f"{shape}."
        )
    if dtype.kind not in "biuf":
        raise InputError(
            f"The {what} of {who} must be of booleans, whole numbers or floats. Got {dtype}."
        )
    return values


def _as_flips(flips: Any, shape: Shape, who: str) -> Any:
    """Check a flip probability: a number, ``"estimate"``, or a map that can be sliced."""
    if isinstance(flips, str):
        return check.one_of(flips, ("estimate",), f"flip_probability of {who}")
    if not np.ndim(flips) and not hasattr(flips, "__getitem__"):
        return check.number(flips, f"flip_probability of {who}", 0, 1)
    plane = _as_picture(flips, "flip_probability", who)
    if tuple(plane.shape) != shape:
        raise ShapeError(
            f"The flip_probability of {who} must be one number or a map of shape {shape}. Got "
            f"shape {tuple(plane.shape)}."
        )
    return plane


def _check_outputs(pictures: _Pictures, shape: Shape) -> None:
    """Check that target and posterior can be written to, and are apart from all else.

    A tile reads its neighbours' pixels, which must not have been written over.
    """
    before = [each for each in (pictures.seen, pictures.flips) if each is not None]
    for what, output in (("target", pictures.target), ("posterior", pictures.posterior)):
        if output is None:
            continue
        flags = getattr(output, "flags", None)
        is_locked = flags is not None and not flags.writeable
        if is_locked or not all(hasattr(output, n) for n in ("__setitem__", "shape", "dtype")):
            raise InputError(
                f"The {what} of denoise_tiled must be an array that can be written to. Got "
                f"{type(output).__name__}{', which is read-only' if is_locked else ''}."
            )
        if tuple(output.shape) != shape:
            raise ShapeError(
                f"The {what} of denoise_tiled must have the shape {shape} of the source. Got shape "
                f"{tuple(output.shape)}."
            )
        if what == "posterior":
            _check_holds(output, (0.0, 0.5, 1.0), what)
        if any(output is other or _share(output, other) for other in before):
            raise InputError(
                "denoise_tiled cannot write to an array that it reads or writes otherwise: tiles "
                "need the original pixels of their neighbours. Pass another array or file."
            )
        before.append(output)


def _check_holds(output: Any, values: Sequence[Any], what: str) -> None:
    """Check that the type of an output has some values."""
    dtype = np.dtype(output.dtype)
    with np.errstate(all="ignore"):
        held = [check.plain(np.asarray(value).astype(dtype)[()]) for value in values]
    if dtype.kind not in "biuf" or held != list(values):
        raise InputError(
            f"The {what} of denoise_tiled must hold {check.listing(values)}. Got an array of "
            f"{dtype}, which does not."
        )


def _share(one: Any, other: Any) -> bool:
    """Tell whether two arrays are in the same place, in memory or in a file."""
    in_memory = isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
    if in_memory and np.may_share_memory(one, other):
        return True
    files = [getattr(array, "filename", None) for array in (one, other)]
    return None not in files and len({os.path.realpath(str(name)) for name in files}) == 1


def _read(source: Any, window: Window) -> Part:
    """Read a part of a picture."""
    part = source[window]
    if np.ma.is_masked(part):
        raise InputError(
            "The source of denoise_tiled has masked pixels. Fill them, with .filled(...)."
        )
    array, wanted = np.asarray(part), tuple(side.stop - side.start for side in window)
    if array.shape != wanted:
        raise ShapeError(
            f"denoise_tiled asked its source for {wanted} pixels and got an array of shape "
            f"{array.shape}."
        )
    return array


def _survey(
    pictures: _Pictures, tiles: Iterable[Tile], labels: Any
) -> tuple[Labels, tuple[float, float] | None]:
    """Look at all tiles before anything is written: two values, and probabilities, nothing else.

    Return the two values, and the least and the largest probability of a map.
    """
    who = "denoise_tiled"
    known: list[Any] = [] if labels is None else list(_as_two(labels, who))
    ends: list[float] = []
    for tile in tiles:
        part, flips = pictures.read(tile.core)
        for value in (part.min().item(), part.max().item()):
            if len(known) < 2 and not math.isnan(value) and value not in known:
                known.append(value)
        _is_second(part, known, who, tile.core)
        if flips is not None:
            ends += _ends(flips, tile.core)
        pictures.let_go(tile)
    names = tuple(known) if labels is not None else _two_of(known, pictures.seen.dtype, who)
    return names, (min(ends), max(ends)) if ends else None


def _ends(part: Part, window: Window) -> tuple[float, float]:
    """Return the least and the largest flip probability of a part of a map."""
    low, high = float(part.min()), float(part.max())
    if low >= 0.0 and high <= 1.0:
        return low, high
    row, column = (int(i[0]) for i in np.nonzero(~((part >= 0) & (part <= 1))))
    raise InputError(
        f"The flip_probability of denoise_tiled must be between 0 and 1. Got {part[row, column]:g} "
        f"at pixel ({row + window[0].start}, {column + window[1].start})."
    )


def _two_of(values: Sequence[Any], dtype: Any, who: str) -> Labels:
    """Put the two values of an image in order; guess the other one if there is only one."""
    return read_image(np.array([values], dtype=dtype), who, "binary").labels or ()


def _as_two(labels: Any, who: str) -> Labels:
    """Check two labels that are numbers."""
    names = check.labels(labels, f"labels of {who}")
    if len(names) != 2 or not all(isinstance(name, (bool, int, float)) for name in names):
        raise InputError(f"{who} needs two numbers as labels. Got {check.listing(names)}.")
    return names
