"""``denoise_tiled``: restore a binary image that is larger than memory, tile by tile."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, final

import numpy as np
import numpy.typing as npt

from credo._threads import map_in_order
from credo._types import Bool, Labels
from credo._validation.arrays import positive_int
from credo.images._tile_engine import Passing, TileEngine, named
from credo.images._tile_inputs import (
    Survey,
    as_flips,
    as_picture,
    check_apart,
    check_holds,
    check_output,
    read_window,
    second_in,
    survey,
)
from credo.images._tile_regions import Shape, Tile, Window, count_tiles, tiles_of
from credo.images._tile_sample import learnt, sample_windows
from credo.images.restoration import Energies
from credo.images.tiff import let_go

#: Called with the number of tiles done, and of all tiles.
TileCallback: TypeAlias = Callable[[int, int], None]

_WHO = "denoise_tiled"


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
    >>> from credo.images.tiles import denoise_tiled
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


class _Job(NamedTuple):
    """A tile and what was read for it."""

    tile: Tile
    seen: npt.NDArray[Any]
    flips: npt.NDArray[Any] | None


class _Done(NamedTuple):
    """A tile and what was found."""

    tile: Tile
    restored: Bool
    second: npt.NDArray[Any] | None  #: probabilities, if anybody wants them
    energies: Energies
    changed: int


@dataclass(frozen=True, slots=True, eq=False)
class _Pictures:
    """All that is read, and all that is written."""

    seen: Any
    flips: Any
    target: Any
    posterior: Any

    @property
    def shape(self) -> Shape:
        """Height and width."""
        height, width = self.seen.shape
        return int(height), int(width)

    @property
    def map(self) -> Any:
        """The map of flip probabilities, or None if there is one number."""
        return self.flips if hasattr(self.flips, "shape") else None

    def jobs(self, size: int, halo: int) -> Iterator[_Job]:
        """Read tile by tile."""
        for tile in tiles_of(self.shape, size, halo):
            flips = None if self.map is None else read_window(self.map, tile.outer, _WHO)
            yield _Job(tile, read_window(self.seen, tile.outer, _WHO), flips)

    def write(self, done: _Done, labels: Labels) -> None:
        """Write what was found for a tile; after a row of tiles, let go of files in memory."""
        self.target[done.tile.core] = named(done.restored, labels, self.target.dtype)
        if self.posterior is not None:
            self.posterior[done.tile.core] = done.second
        if done.tile.ends_row:
            for each in (self.seen, self.map, self.target, self.posterior):
                let_go(each)


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
        :class:`~credo.images.tiff.TiffSource`. It has two values.
    target : array-like, optional
        What is written to, of the same shape: a ``numpy.memmap``, a
        :class:`~credo.images.tiff.TiffTarget`. An array is made by default.
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
    >>> from credo.images import add_noise, portrait
    >>> from credo.images.tiles import denoise_tiled
    >>> noisy = add_noise(portrait(64), 0.1, seed=0)
    >>> found = denoise_tiled(noisy, flip_probability=0.1, coupling=0.8, tile=20, threads=2)
    >>> found.tiles, found.energy.noisy < found.energy.restored
    (16, True)
    """
    pictures = _as_pictures(source, target, flip_probability, posterior)
    size, count = positive_int(tile, _WHO, "tile"), positive_int(threads, _WHO, "threads")
    passing = Passing(coupling, neighbours, sweeps, momentum, method, dtype)
    passing.check(_WHO)
    looked = survey(pictures.seen, pictures.map, tiles_of(pictures.shape, size, 0), labels, _WHO)
    check_holds(pictures.target, looked.labels, _WHO, "target")
    flips, coupling = _numbers(pictures, looked, passing)
    passing = passing._replace(coupling=coupling)
    engine = TileEngine.of(looked.flips or flips, passing, _WHO)
    found = _restore(pictures, engine, looked.labels, size, count, callback)
    return TiledRestoration(
        pictures.target, posterior, looked.labels, found.energy,
        flip_probability if pictures.map is not None else flips, engine.coupling, engine.sweeps,
        count_tiles(pictures.shape, size), found.changed,
    )  # fmt: skip


def _as_pictures(source: Any, target: Any, flips: Any, posterior: Any) -> _Pictures:
    """Check what is read and what is written to; make a target if there is none."""
    seen = as_picture(source, _WHO, "source")
    shape: Shape = tuple(seen.shape)
    if target is None:
        target = np.empty(shape, dtype=seen.dtype)
    pictures = _Pictures(seen, as_flips(flips, shape, _WHO), target, posterior)
    check_output(target, shape, _WHO, "target")
    outputs = [target]
    if posterior is not None:
        check_output(posterior, shape, _WHO, "posterior")
        check_holds(posterior, (0.0, 0.5, 1.0), _WHO, "posterior")
        outputs.append(posterior)
    check_apart(outputs, [seen] if pictures.map is None else [seen, pictures.map], _WHO)
    return pictures


def _numbers(pictures: _Pictures, looked: Survey, passing: Passing) -> tuple[Any, Any]:
    """Give the flip probability and the coupling, learnt from a sample where they are not given."""
    numbers = pictures.flips, passing.coupling
    if not any(isinstance(number, str) for number in numbers):
        return numbers
    windows = sample_windows(pictures.shape)
    plane = None if pictures.map is None else _mosaic(pictures.map, windows)
    mosaics = _mosaic(pictures.seen, windows), plane
    return learnt(mosaics, pictures.shape, looked.labels, numbers, passing.neighbours, _WHO)


def _mosaic(source: Any, windows: list[list[Window]]) -> npt.NDArray[Any]:
    """Put the pixels of windows side by side."""
    return np.block([[read_window(source, window, _WHO) for window in row] for row in windows])


class _Totals(NamedTuple):
    """Sums over all tiles."""

    energy: Energies
    changed: int


def _restore(
    pictures: _Pictures,
    engine: TileEngine,
    labels: Labels,
    size: int,
    threads: int,
    callback: TileCallback | None,
) -> _Totals:
    """Restore all tiles and write them as they come."""
    total = count_tiles(pictures.shape, size)
    noisy: list[float] = []
    restored: list[float] = []
    changed = 0

    def work(job: _Job) -> _Done:
        return _restored(job, engine, labels, keep=pictures.posterior is not None)

    try:
        # one pixel more than sweeps, for the edges that lead out of a tile
        for done in map_in_order(work, pictures.jobs(size, engine.sweeps + 1), threads):
            pictures.write(done, labels)
            noisy.append(done.energies.noisy)
            restored.append(done.energies.restored)
            changed += done.changed
            if callback is not None:
                callback(len(noisy), total)
    except BaseException as error:
        error.add_note(f"{_WHO} has written {len(noisy)} of {total} tiles, row by row.")
        raise
    return _Totals(Energies(math.fsum(noisy), math.fsum(restored)), changed)


def _restored(job: _Job, engine: TileEngine, labels: Labels, *, keep: bool) -> _Done:
    """Restore a tile; of its probabilities keep those that are asked for."""
    inside = job.tile.inside
    second = second_in(job.seen, labels, _WHO, job.tile.outer)
    field = engine.field(second, job.flips)
    beliefs = engine.beliefs(field)
    restored: Bool = beliefs > 0.5  # ties go to the first label
    energies = engine.energies(field, second, restored, inside)
    core = restored[inside]
    changed = int(np.count_nonzero(core != second[inside]))
    return _Done(job.tile, core.copy(), beliefs[inside].copy() if keep else None, energies, changed)
