"""``infer_grid``: message passing on a grid field, and ``GridPosterior``, what it finds."""

from __future__ import annotations

import contextlib
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple, final

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._results import Animated
from credo._types import F64, Bool
from credo.exceptions import BudgetError, InputError, ShapeError
from credo.graphs import GridField, TruncatedLinear, TruncatedQuadratic
from credo.graphs.wiring import Int64
from credo.inference.grids import binary_kernels, kernels
from credo.inference.grids.layout import (
    Block,
    Floats,
    Layout,
    Rotation,
    cut,
    directed_strengths,
    exchange,
    is_even,
    on_threads,
)
from credo.inference.question import Budget, Callback, as_bytes, as_text, check_callback
from credo.posterior import PosteriorMap

_WHO = "infer_grid"
#: With less of the new message, thousands of sweeps would not get anywhere.
_LEAST_SHARE = 1e-4
#: The colours of the pixels that messages go to, in the order of a sweep. -1 stands for all of
#: them; on a checkerboard the even pixels send first, to the odd ones.
_COLOURS = {"flooding": (-1,), "checkerboard": (1, 0), "sweep": ()}
#: Slabs of several sweeps that a core works on at a time should stay in its share of the caches.
#: From half a megabyte to eight, two labels took the same time; 64 labels took a third less at
#: four than at a half.
_CACHE = 2**22
#: More sweeps at a time than this gain nothing, and each costs a slab on either side of a block.
_MOST_SWEEPS = 20
#: Pixels that are looked at together, few enough for the cache.
_AT_A_TIME = 2**16
#: Entries between rows of scratch: float64 rows of 512 lie 4096 bytes apart, where eight of them
#: fill a set of the first cache; messages took up to three times as long without a gap.
_GAP = 16

Ending = Literal["CONVERGED", "MAX_SWEEPS"]


class Picture(NamedTuple):
    """A picture that was found, or given: how good it is, and how sure each of its pixels."""

    image: npt.NDArray[Any]
    energy: float  #: U(x), larger is better
    error: float | None = None  #: how far it is from the truth, if that is known
    seconds: float | None = None  #: what its sweeps took
    confidence: Floats | None = None  #: the largest belief of each pixel
    marked: Bool | None = None  #: pixels that were not observed, or are rejected


@final
class GridPosterior(Animated):
    """Hold the beliefs of every pixel of a field, and how they were found.

    Made by :func:`credo.infer_grid`.

    Attributes
    ----------
    field : GridField
        The field.
    posterior : PosteriorMap
        The belief of every pixel; of ``"max-product"`` the max-marginals divided by their sum.
    status : str
        ``"CONVERGED"`` if a tolerance was given and met; otherwise ``"MAX_SWEEPS"``. Convergence is
        no promise of accuracy.
    residuals : ndarray
        Largest change of a message in each sweep, before it was mixed with the old one: of a
        probability, or for max-product with more than two labels, of a log. With 8 neighbours,
        ``"sweep"`` sends diagonal messages twice, and what counts is where they end. Empty if
        neither a tolerance nor a callback was given.
    sweeps : int
        How many sweeps were made.
    seconds : float
        What they took; the first time with loading the compiled loops.

    See Also
    --------
    credo.infer_grid : Makes one.

    Examples
    --------
    >>> from credo.graphs import GridField
    >>> from credo.inference import infer_grid
    >>> found = infer_grid(GridField.ising([[1.0, -0.2]], coupling=0.5), tolerance=1e-9)
    >>> found.status, found.best.tolist()
    ('CONVERGED', [[1, 1]])
    """

    def __init__(
        self, field: GridField, posterior: PosteriorMap, run: Run, settings: GridSettings
    ) -> None:
        self.field = field
        self.posterior = posterior
        self._settings = settings
        self.status: Ending = run.status
        self.residuals: F64 = check.frozen(run.residuals)
        self.sweeps = run.sweeps
        self.seconds = run.seconds

    @property
    def best(self) -> npt.NDArray[Any]:
        """The most probable label of every pixel."""
        return self.posterior.best

    @property
    def energy(self) -> float:
        """The energy U of ``best``, which is larger for better pictures."""
        return self.field.energy(self.best)

    def pictures(self, truth: Any = None, sweeps: Iterable[int] = ()) -> dict[str, Picture]:
        """Return the most probable labels, also after some sweeps, and the true ones.

        Parameters
        ----------
        truth : array-like, optional
            The true label of every pixel.
        sweeps : iterable of int
            Numbers of sweeps after which they are shown too, each at least the one before. The
            sweeps are made once more.

        Returns
        -------
        dict
            By name: the ``image``, its ``energy`` U(x), its ``error``, the share of wrong pixels,
            the ``seconds`` of its sweeps, and the ``confidence`` of its pixels.

        Examples
        --------
        >>> from credo.graphs import GridField
        >>> from credo.inference import infer_grid
        >>> found = infer_grid(GridField.ising([[1.0, -0.2]], coupling=0.5), sweeps=5)
        >>> {name: each.image.tolist() for name, each in found.pictures(sweeps=[0]).items()}
        {'after 0': [[1, -1]], 'most probable': [[1, 1]]}
        """
        given = None if truth is None else np.asarray(truth)
        if given is not None and given.shape != self.field.shape:
            raise ShapeError(
                f"The truth must have the shape of the field, {self.field.shape}. Got "
                f"{given.shape}."
            )

        def picture(image: Any, *rest: Any) -> Picture:
            error = None if given is None else float((image != given).mean())
            return Picture(image, self.field.energy(image), error, *rest)

        numbers = sweep_numbers(sweeps, "pictures")
        stages = messages_on(self.field, self._settings).stages(numbers) if numbers else ()
        found = {
            f"after {number}": picture(post.best, seconds, post.confidence)
            for number, (post, seconds) in zip(numbers, stages, strict=True)
        }
        found["most probable"] = picture(self.best, self.seconds, self.posterior.confidence)
        return found if given is None else {**found, "true": picture(given)}

    def __repr__(self) -> str:
        pixels = "x".join(str(n) for n in self.field.shape)
        return f"<GridPosterior: {pixels} pixels, {self.sweeps} sweeps, {self.status}>"


def infer_grid(  # noqa: PLR0913 - one parameter per setting
    field: GridField,
    *,
    method: Literal["sum-product", "max-product"] = "sum-product",
    sweeps: int = 100,
    momentum: float = 0.5,
    schedule: Literal["flooding", "checkerboard", "sweep"] = "flooding",
    tolerance: float | None = None,
    dtype: Any = "float64",
    threads: int = 1,
    budget: Budget = "4GB",
    callback: Callback | None = None,
) -> GridPosterior:
    r"""Find the marginals of every pixel of a field by passing messages between neighbours.

    .. math:: m_{j \to i}(x_i) = \sum_{x_j} \psi_{ij}(x_i, x_j)\, \phi_j(x_j)
              \prod_{k \in N(j) \setminus i} m_{k \to j}(x_j)

    Messages are normalised to sum one and mixed, :math:`\eta\, m^{new} + (1 - \eta)\, m^{old}`.

    Parameters
    ----------
    field : GridField
        A field on a picture or a volume.
    method : {"sum-product", "max-product"}
        Marginals, or max-marginals, whose best labels are those of a good joint configuration.
    sweeps : int
        How many sweeps to make; with a tolerance, at most.
    momentum : float
        The share :math:`\eta` of the new message, from 0.0001 to 1.
    schedule : {"flooding", "checkerboard", "sweep"}
        All messages at once; those of the even pixels and then those of the odd ones (4 neighbours
        in a plane, 6 in a volume); or forth and back along each dimension, which takes information
        through the whole picture in one sweep.
    tolerance : float, optional
        Stop when no message changes by more than this. By default all sweeps are made.
    dtype : {"float64", "float32"} or None
        The type of number; None takes float32 where it is safe.
    threads : int
        Blocks of rows at a time; the answer is the same to the last bit. Not for ``"sweep"``.
    budget : str, int or None
        Memory that may be used, in bytes or as ``"4GB"``; None for no limit.
    callback : callable, optional
        Called after each sweep with its number and its residual.

    Returns
    -------
    GridPosterior
        With ``posterior``, ``best``, ``energy``, ``residuals`` and ``status``.

    Raises
    ------
    InputError
        If a setting is out of range, or edges are too strong for the type of number.
    BudgetError
        If messages and beliefs do not fit the budget; before anything is allocated.

    See Also
    --------
    credo.infer : Exact and other engines, for fields that are small.
    credo.denoise : Restore an image.

    Notes
    -----
    Time is linear in pixels and sweeps, and in the number of labels (truncated quadratics: times
    the labels within the limit). Two labels take one number per
    message, a ratio; nothing in the loop takes an exponential or a logarithm. Several sweeps run
    through the picture one a row behind the other, so that rows stay in the cache. Every
    operation is rounded as IEEE 754 says, and none depends on where a pixel stands: tiles and
    threads give the same bits. Approximate on grids, and over-confident: see the references.
    Max-product messages of more than two labels are logs, and mixed as such.

    References
    ----------
    .. [1] P. F. Felzenszwalb, D. P. Huttenlocher, Efficient belief propagation for early vision,
       *International Journal of Computer Vision* 70 (2006), sections 3 and 4.
    .. [2] Y. Weiss, Correctness of local probability propagation in graphical models with loops,
       *Neural Computation* 12 (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from credo.graphs import GridField
    >>> from credo.inference import infer_grid
    >>> seen = np.array([[1, 1, 1], [1, -1, 1], [1, 1, 1]])
    >>> field = GridField.ising(1.1 * seen, coupling=0.8)
    >>> found = infer_grid(field, sweeps=20)
    >>> found.best
    array([[1, 1, 1],
           [1, 1, 1],
           [1, 1, 1]])
    >>> round(float(found.posterior.of(1)[1, 1]), 2)
    0.98
    """
    settings = settings_for(field, method, momentum, schedule, dtype)
    count = check.count(sweeps, f"sweeps of {_WHO}", 0)
    if tolerance is not None:
        check.number(tolerance, f"tolerance of {_WHO}", 0)
    check_callback({"callback": callback}, _WHO)
    is_watched = tolerance is not None or callback is not None
    check_memory(field, settings, budget, is_watched=is_watched)
    messages = messages_on(field, settings, check.count(threads, f"threads of {_WHO}"))
    run = messages.run(count, tolerance, callback)
    return GridPosterior(field, messages.posterior(), run, settings)


@dataclass(frozen=True, slots=True)
class GridSettings:
    """How messages are passed."""

    maximum: bool
    momentum: float
    schedule: str
    dtype: Any


class Run(NamedTuple):
    """How passing messages ended."""

    status: Ending
    sweeps: int
    residuals: F64  #: how much moved in each sweep; empty if nobody asked
    seconds: float  #: what the sweeps took


def settings_for(
    field: GridField,
    method: Any,
    momentum: Any = 0.5,
    schedule: Any = "flooding",
    dtype: Any = None,
    who: str = _WHO,
) -> GridSettings:
    """Check how messages are to be passed on a field."""
    if not isinstance(field, GridField):
        raise InputError(
            f"{who} needs a GridField. Got {type(field).__name__}. For other models use "
            "credo.infer(model, method='loopy')."
        )
    check.one_of(method, ("sum-product", "max-product"), f"method of {who}")
    check.one_of(schedule, tuple(_COLOURS), f"schedule of {who}")
    if schedule == "checkerboard" and any(sum(map(abs, axis)) != 1 for axis in field.axes):
        raise InputError(
            f"{who}: on a checkerboard, pixels that touch at a corner have one colour, so that it "
            f"needs 4 neighbours. Got a field of {field.n_neighbours}; use schedule='flooding' or "
            "'sweep'."
        )
    eta, wanted = as_share(momentum, who), as_number_type(dtype, who)
    kinds = (np.float32, np.float64) if wanted is None else (wanted,)
    maximum = method == "max-product"
    if field.n_labels == 2:
        number = _ratio_type(field, kinds, who)
    else:
        number = kinds[0] if maximum else _sum_type(field, kinds, who)
    return GridSettings(maximum, eta, schedule, number)


def as_share(momentum: Any, who: str) -> float:
    """Check the share of the new message."""
    eta = check.number(momentum, f"momentum of {who}")
    if not _LEAST_SHARE <= eta <= 1.0:
        raise InputError(
            f"The momentum of {who} is the share of the new message, at least {_LEAST_SHARE:g} and "
            f"at most 1. Got {momentum!r}."
        )
    return eta


def as_number_type(dtype: Any, who: str) -> Any:
    """Check a type of number; None leaves the choice."""
    if dtype is None:
        return None
    with contextlib.suppress(TypeError, ValueError):
        if np.dtype(dtype) in (np.float32, np.float64):
            return np.dtype(dtype).type
    raise InputError(f"The dtype of {who} must be 'float64', 'float32' or None. Got {dtype!r}.")


def check_memory(
    field: GridField,
    settings: GridSettings,
    budget: Budget,
    who: str = _WHO,
    *,
    is_watched: bool = False,
) -> None:
    """Refuse a field whose potentials, messages, weights and beliefs do not fit a budget."""
    size, n = np.dtype(settings.dtype).itemsize, field.n_labels
    lines, directions = 1 if n == 2 else n, 2 * len(field.axes)
    each = lines * size * (directions + 3)
    if not is_even(field):
        each += directions * (3 * 8 + 2 * size)
    if settings.schedule == "sweep":
        each *= 1 + len(field.shape)
    each += lines * size * directions * is_watched
    refuse_memory(math.prod(field.shape), each, n, budget, who)


def refuse_memory(pixels: int, each: float, n_labels: int, budget: Budget, who: str) -> None:
    """Raise BudgetError if so many pixels of so many bytes do not fit."""
    needed = float(pixels) * each
    if needed > as_bytes(budget, who):
        raise BudgetError(
            f"{who} needs about {as_text(needed)} for {pixels:.3g} pixels of {n_labels} labels; "
            f"the budget is {budget}. Use fewer labels, dtype='float32' if it is not that, a part "
            "of the picture at a time (of two values: credo.images.denoise_tiled), or raise budget."
        )


def sweep_numbers(sweeps: Iterable[int], who: str) -> list[int]:
    """Check numbers of sweeps after which to look."""
    if not isinstance(sweeps, Iterable):
        raise InputError(f"The sweeps of {who} are numbers, such as (1, 5). Got {sweeps!r}.")
    numbers = [check.count(number, f"sweeps of {who}", 0) for number in sweeps]
    if sorted(numbers) != numbers:
        raise InputError(f"The sweeps of {who} must not go down. Got {numbers}.")
    return numbers


def messages_on(field: GridField, settings: GridSettings, threads: int = 1) -> Messages:
    """Begin with uniform messages on a field."""
    kind = _RatioMessages if field.n_labels == 2 else _LabelMessages
    return kind(field, settings, threads)


class Messages(ABC):
    """The messages of a field; they begin uniform."""

    _kernels: Any  #: has ``flood`` and ``sweep``
    _lines: tuple[int, ...]  #: the lines of a message: none, or one for each label
    _uniform: float  #: a number of a message that says nothing

    def __init__(
        self, field: GridField, settings: GridSettings, weights: Floats, threads: int
    ) -> None:
        self._layout = Layout.of(field.shape, field.axes)
        self._field = field
        self._type = settings.dtype
        self._eta = settings.dtype(settings.momentum)
        self._maximum = settings.maximum
        self._colours = _COLOURS[settings.schedule]
        self._weights = weights
        slabs, count = self._layout.slabs, threads if self._colours else 1
        numbers = math.prod(self._lines) * self._layout.length * (1 + weights.shape[1])
        self._at_a_time = _sweeps_at_a_time(numbers * weights.itemsize, slabs, count)
        self.blocks = cut(slabs, self._part, count, self._at_a_time)
        self._rotations: list[tuple[Rotation, Block]] = []
        if not self._colours:
            every = (Rotation.of(self._layout, field.axes, d) for d in range(len(field.shape)))
            self._rotations = [(rotation, self._turned(rotation)) for rotation in every]

    def _part(self, first: int, last: int) -> tuple[Floats, Floats, Floats]:
        """Return the potentials, the first messages and the weights of a range of slabs."""
        own = self._weights
        shape = (last - first, own.shape[1], *self._lines, self._layout.length)
        messages = np.full(shape, self._uniform, self._type)
        return self._nodes(first, last), messages, own[first:last] if len(own) > 1 else own

    @abstractmethod
    def _nodes(self, first: int, last: int) -> Floats:
        """Return the potentials of a range of slabs, laid out."""

    @abstractmethod
    def _go(self, pass_: Any, block: Block, layout: Layout, order: Any, rooms: int) -> None:
        """Run a kernel on a block, with so many rooms."""

    @abstractmethod
    def posterior(self) -> PosteriorMap:
        """Return the beliefs."""

    @abstractmethod
    def _distance(self, before: Floats, after: Floats) -> float:
        """Return how far messages are from others."""

    def run(
        self, sweeps: int, tolerance: float | None = None, callback: Callback | None = None
    ) -> Run:
        """Make sweeps; if anybody wants to know, one by one until they move next to nothing.

        Without a tolerance or a callback several sweeps run one behind the other, and what each of
        them moves is never there to be seen: that is why this is no run of ``inference.damping``.
        """
        begun = time.perf_counter()
        if tolerance is None and callback is None:
            self.advance(sweeps)
            return Run("MAX_SWEEPS", sweeps, np.empty(0), time.perf_counter() - begun)
        residuals: list[float] = []
        status: Ending = "MAX_SWEEPS"
        while len(residuals) < sweeps and status != "CONVERGED":
            residuals.append(self.advance_one())
            if callback is not None:
                callback(len(residuals), residuals[-1])
            if tolerance is not None and residuals[-1] <= tolerance:
                status = "CONVERGED"
        seconds = time.perf_counter() - begun
        return Run(status, len(residuals), np.array(residuals), seconds)

    def stages(self, numbers: Iterable[int]) -> Iterator[tuple[PosteriorMap, float]]:
        """Yield beliefs after some numbers of sweeps, and the seconds that these took so far."""
        made, seconds = 0, 0.0
        for number in numbers:
            begun = time.perf_counter()
            self.advance(number - made)
            seconds += time.perf_counter() - begun
            made = number
            yield self.posterior(), seconds

    def advance(self, sweeps: int) -> None:
        """Make sweeps; a few at a time, after which blocks tell their neighbours."""
        for _ in range(sweeps if self._rotations else 0):
            for rotation, turned in self._rotations:
                self._pass_through(rotation, turned)
        colours = np.tile(np.array(self._colours, np.int64), sweeps)
        rounds = -(-len(colours) // self._at_a_time)
        for few in np.array_split(colours, rounds) if rounds else ():
            on_threads(partial(self._flood, colours=few), self.blocks)
            for above, below in pairwise(self.blocks):
                exchange(above, below)

    def advance_one(self) -> float:
        """Make a sweep; return the largest change of a message, before it was mixed."""
        before = [messages.copy() for messages in self._cores()]
        self.advance(1)
        moves = [
            self._distance(old[few], new[few])  # a few at a time, so that they stay in the cache
            for old, new in zip(before, self._cores(), strict=True)
            for few in _few(0, len(old), old[:1].size)
        ]
        return max(moves) / float(self._eta)

    def _cores(self) -> list[Floats]:
        """Return the messages between pixels, block by block, without the rims."""
        return [self._layout.pixels(block.messages[block.core]) for block in self.blocks]

    def _flood(self, block: Block, colours: Int64) -> None:
        """Make a sweep for each colour on a block, whose first slab may be an odd one."""
        own = np.where(colours < 0, colours, (colours + block.first) % 2)
        rooms = 2 * len(self._layout.axes) * (1 + len(own))
        self._go(self._kernels.flood, block, self._layout, own, rooms)

    def _pass_through(self, rotation: Rotation, turned: Block) -> None:
        """Pass messages forth and back along a dimension."""
        (own,) = self.blocks
        turned.messages = rotation.there(own.messages)
        for backward in (False, True):
            self._go(self._kernels.sweep, turned, rotation.layout, backward, 1)
        own.messages = rotation.back(turned.messages)

    def _turned(self, rotation: Rotation) -> Block:
        """Return a block of the rotated picture."""
        (own,), length = self.blocks, rotation.layout.length
        if is_even(self._field):
            weights = own.weights[:, rotation.directions]
            wide = (*weights.shape[:-1], length)
            weights = np.ascontiguousarray(np.broadcast_to(weights[..., :1], wide))
        else:
            weights = rotation.there(own.weights)
        nodes = rotation.there(own.nodes[:, np.newaxis], directed=False)[:, 0]
        return Block(0, 0, rotation.layout.slabs, nodes, own.messages, weights)


def _strongest(field: GridField) -> float:
    """Return the largest strength of an edge, by size."""
    return max(float(np.abs(s).max(initial=0.0)) for s in map(np.asarray, field.strengths))


def _sweeps_at_a_time(slab_bytes: int, slabs: int, threads: int) -> int:
    """Return how many sweeps run one behind the other, by what fits into a core's cache."""
    most = max(1, min(_MOST_SWEEPS, _CACHE // slab_bytes))
    return max(1, min(most, slabs // (2 * threads))) if threads > 1 else most


# --- two labels: messages as ratios ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Range:
    """How far logs may go before the numbers themselves overflow in a product of messages.

    A message lies between exp(-w) and exp(w), w being the largest weight of an edge, in logs. A
    product of D of them with a node's ratio exp(h), times what the update multiplies it by, stays
    below exp(h + (D + 2) w). Pixels that are more certain than that allows are held at the most
    that it does; nobody can tell, as long as even then all their neighbours together leave them
    certain to the last digit.
    """

    most: float  #: the largest log ratio of a node
    is_enough: bool  #: whether a node that is held at it is certain to the last digit

    @classmethod
    def of(cls, weight: float, n_directions: int, dtype: Any) -> Range:
        """Find the range of a type of number; there is none if ``most`` is not above zero."""
        info = np.finfo(dtype)
        top = float(np.log(info.max)) - 3.0  # sums of four such terms, and their rounding
        most = top - (n_directions + 2) * weight
        needed = (n_directions + 1) * weight - float(np.log(info.eps))
        return cls(most, most >= needed)


def _ratio_type(field: GridField, kinds: tuple[Any, ...], who: str) -> Any:
    """Return the first type of number that is safe for ratios."""
    layout = Layout.of(field.shape, field.axes)
    unit = field.smoothness.units(2)
    weight = _strongest(field) * abs(float(unit[0] - unit[1]))
    largest = max(
        float(np.abs(field.log_odds_of(rows)).max(initial=0.0))
        for rows in _few(0, layout.slabs, layout.length)
    )
    for kind in kinds:
        room = Range.of(weight, 2 * len(field.axes), kind)
        if room.most > 0 and (largest <= room.most or room.is_enough):
            return kind
    raise InputError(
        f"{who}: edges that weigh up to {weight:.3g} in logs are too strong for messages in "
        f"{np.dtype(kinds[-1]).name}. Use a weaker coupling, dtype='float64' if it is not "
        "that, or for the best labels credo.mpe or denoise(method='graph-cut'), which take any."
    )


def _few(first: int, last: int, length: int) -> Iterator[slice]:
    """Yield slices of slabs, few enough of them for the cache."""
    count = max(1, _AT_A_TIME // max(1, length))
    for low in range(first, last, count):
        yield slice(low, min(low + count, last))


@final
class _RatioMessages(Messages):
    """The messages of a field of two labels: the second label's number over the first's."""

    _kernels, _lines, _uniform = binary_kernels, (), 1.0

    def __init__(self, field: GridField, settings: GridSettings, threads: int) -> None:
        unit = field.smoothness.units(2)
        layout = Layout.of(field.shape, field.axes)
        logs = directed_strengths(field, layout) * float(unit[0] - unit[1])
        strongest = float(np.abs(logs).max(initial=0.0))
        self._most = Range.of(strongest, logs.shape[1], settings.dtype).most
        super().__init__(field, settings, np.exp(logs).astype(settings.dtype), threads)

    def _nodes(self, first: int, last: int) -> Floats:
        ratios = np.empty((last - first, *self._layout.shape[1:]), self._type)
        for rows in _few(0, last - first, self._layout.length):
            odds = self._field.log_odds_of(slice(first + rows.start, first + rows.stop))
            np.exp(np.clip(odds, -self._most, self._most), out=ratios[rows], dtype=self._type)
        return self._layout.lines(ratios, 1.0)

    def _go(self, pass_: Any, block: Block, layout: Layout, order: Any, rooms: int) -> None:
        products = np.ones((rooms, layout.length + 2 * layout.margin), self._type)
        pass_(
            block.nodes, block.messages, block.weights, layout.axes, layout.outside, layout.margin,
            self._eta, self._maximum, order, products,
        )  # fmt: skip

    def posterior(self) -> PosteriorMap:
        """Return the beliefs: a node's ratio times its messages."""
        lines = np.empty((self._layout.slabs, self._layout.length), self._type)
        on_threads(lambda block: self._believe(block, lines), self.blocks)
        return PosteriorMap.of_two(self._layout.planes(check.frozen(lines)), self._field.labels)

    @staticmethod
    def _believe(block: Block, lines: Floats) -> None:
        """Write the beliefs of a block, a few slabs at a time."""
        for rows in _few(block.low, block.high, lines.shape[1]):
            here = slice(rows.start - block.first, rows.stop - block.first)
            belief = lines[rows]
            np.multiply(block.nodes[here], block.messages[here, 0], out=belief)
            for way in range(1, block.messages.shape[1]):
                belief *= block.messages[here, way]
            belief /= belief + 1  # of a ratio r of probabilities the upper one is r / (1 + r)

    def _distance(self, before: Floats, after: Floats) -> float:
        """Return the largest change of a probability."""
        return float(np.abs(before / (1 + before) - after / (1 + after)).max(initial=0.0))


# --- any number of labels: lines of numbers that sum to one, or of logs ---------------------------


def _sum_type(field: GridField, kinds: tuple[Any, ...], who: str) -> Any:
    """Return the first type of number that is safe for sums.

    Potentials of nodes are scaled so that the largest is one. A message that sums to one is at
    least exp(-w) / K, w being the most that the labels of an edge can differ by in logs, so that
    the product of D of them with the largest potential stays above exp(-D w) / K^D.
    """
    spread = float(np.ptp(field.smoothness.units(field.n_labels))) * _strongest(field)
    most = sum(_most_ends(field.shape, axis) for axis in field.axes)
    least = most * (spread + math.log(field.n_labels))
    for kind in kinds:
        if least < -float(np.log(np.finfo(kind).tiny)):
            return kind
    raise InputError(
        f"{who}: edges whose labels differ by up to {spread:.3g} in logs are too strong for sums "
        f"in {np.dtype(kinds[-1]).name}. Use a weaker or truncated smoothness, dtype='float64' if "
        "it is not that, or method='max-product', which takes any."
    )


def _most_ends(shape: tuple[int, ...], axis: tuple[int, ...]) -> int:
    """Return how many edges along an axis a pixel can have: none, one or two."""
    return min(min(n - 1, 2) for n, step in zip(shape, axis, strict=True) if step)


@final
class _LabelMessages(Messages):
    """The messages of a field of any number of labels."""

    _kernels = kernels

    def __init__(self, field: GridField, settings: GridSettings, threads: int) -> None:
        n = field.n_labels
        self._lines, self._uniform = (n,), 0.0 if settings.maximum else 1.0 / n
        self._edges, limit = _edges_of(field, settings)
        strengths = directed_strengths(field, Layout.of(field.shape, field.axes))
        if settings.maximum:
            far = -strengths * limit if limit < math.inf else np.full_like(strengths, -math.inf)
            step = strengths
        else:
            far = np.exp(-strengths * limit) if limit < math.inf else 0 * strengths
            step = far if self._edges[0] == kernels.POTTS else np.exp(-strengths)
        weights = np.stack([step, far], axis=2).astype(settings.dtype)
        super().__init__(field, settings, weights, threads)

    def _nodes(self, first: int, last: int) -> Floats:
        """Return potentials (slabs, labels, length), the largest of each pixel being one."""
        logs = np.moveaxis(self._field.log_potentials[first:last], -1, 0)
        with np.errstate(over="ignore"):
            logs = logs - logs.max(axis=0)
            values = (logs if self._maximum else np.exp(logs)).astype(self._type)
        lines = self._layout.lines(values, 0.0 if self._maximum else 1.0)
        return np.ascontiguousarray(np.swapaxes(lines, 0, 1))

    def _go(self, pass_: Any, block: Block, layout: Layout, order: Any, rooms: int) -> None:
        labels, length = block.nodes.shape[1:]
        if labels == 1:  # then there is nothing to say
            return
        fours, reach = -(-labels // 4) * 4, self._edges[2]
        width = min(length, kernels.STEP) + _GAP
        blank = -math.inf if self._maximum else 0.0  # of labels that do not exist
        products = np.full((rooms, fours, length), blank, self._type)
        products[:, :labels] = 1
        margin = reach + kernels.MARGIN
        rows = (5, fours + 2 * margin, fours + 1, margin)  # see kernels._send
        pass_(
            self._edges, self._eta, block.nodes, block.messages, block.weights, layout.axes,
            layout.outside, order, products, np.empty((labels, length), self._type),
            tuple(np.full((count, width), blank, self._type) for count in rows),
        )  # fmt: skip

    def posterior(self) -> PosteriorMap:
        """Return the beliefs, normalised; those of maxima are max-marginals over their sum."""
        shape = (*self._layout.shape, *self._lines)
        found = np.empty(shape, self._type)
        on_threads(lambda block: self._believe(block, found), self.blocks)
        return PosteriorMap(check.frozen(found), self._field.labels)

    def _believe(self, block: Block, found: Floats) -> None:
        """Write the beliefs of a block, slab by slab."""
        for slab in range(block.low, block.high):
            here = slab - block.first
            messages = block.messages[here]
            if self._maximum:
                belief = block.nodes[here] + messages.sum(axis=0)
                belief = np.exp(belief - belief.max(axis=0))
            else:
                belief = block.nodes[here] * messages.prod(axis=0)
            belief /= belief.sum(axis=0, dtype=np.float64)  # a row for each label: no pairwise sum
            planes = self._layout.pixels(belief).reshape(*self._lines, *self._layout.shape[1:])
            found[slab] = np.moveaxis(planes, 0, -1)

    def _distance(self, before: Floats, after: Floats) -> float:
        """Return the largest change of a number."""
        moved = after - before
        if self._maximum:
            with np.errstate(invalid="ignore"):
                moved = np.where(after == before, 0, moved)
        return float(np.abs(moved).max(initial=0.0))


def _edges_of(field: GridField, settings: GridSettings) -> tuple[tuple[int, bool, int], float]:
    """Return the kind of edges, whether to take maxima, and the reach; then the limit of costs.

    Sums whose every difference is at the limit are those of Potts; those of linear edges none of
    whose differences is have no reach to leave, and whatever would leave it weighs nothing.
    """
    smooth, maximum, n = field.smoothness, settings.maximum, field.n_labels
    if not isinstance(smooth, (TruncatedLinear, TruncatedQuadratic)):
        return (kernels.POTTS, maximum, 0), 1.0
    kind = kernels.LINEAR if isinstance(smooth, TruncatedLinear) else kernels.QUADRATIC
    costs = np.arange(1, n, dtype=np.float64) ** (1 if kind == kernels.LINEAR else 2)
    reach, limit = int(np.count_nonzero(costs < smooth.limit)), smooth.limit
    if maximum:
        return (kind, maximum, reach if kind == kernels.QUADRATIC else 0), limit
    if reach == 0:
        return (kernels.POTTS, maximum, 0), limit
    if kind == kernels.LINEAR:
        return ((kind, maximum, reach), limit) if reach < n - 1 else ((kind, maximum, 0), math.inf)
    return (kind, maximum, reach), limit
