"""``denoise``: restore an image from its noise, and decide about its pixels under a loss."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from os import PathLike
from typing import Any, Literal, NamedTuple, TypeAlias, final

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._results import Animated, as_frame
from credo._types import F64, Bool, Labels
from credo.decisions import Loss, decide
from credo.exceptions import InputError, LabelError, ShapeError
from credo.graphs import GridField, TruncatedLinear
from credo.graphs.grid_coordinates import neighbours_in
from credo.images.coding import CodedImage, Plane, read_image
from credo.images.cut import best_by_cut
from credo.images.estimate import (
    DEFAULT_LEVELS,
    MOST_LEVELS,
    MOST_PIXELS,
    GreyValues,
    Sample,
    Watch,
    estimate_flips,
    estimate_grey,
    grey_levels,
)
from credo.images.files import open_image
from credo.images.noise import per_pixel
from credo.inference.grids.engine import (
    GridSettings,
    Messages,
    Picture,
    Run,
    check_memory,
    messages_on,
    refuse_memory,
    settings_for,
    sweep_numbers,
)
from credo.inference.question import check_callback
from credo.posterior import PosteriorMap

Method: TypeAlias = Literal["sum-product", "max-product", "graph-cut"]

#: What the reject act of a cost is called; a tuple, so that no label of an image is in its way.
_REJECT = ("reject",)


def denoise(  # noqa: PLR0913, PLR0917 - one parameter per setting
    image: Any,
    flip_probability: Any = "estimate",
    coupling: Any = "estimate",
    sweeps: int = 20,
    momentum: float = 0.5,
    method: Method = "sum-product",
    loss: Loss | float | None = None,
    *,
    mask: Any = None,
    noise: Literal["auto", "flip", "gaussian"] = "auto",
    sigma: Any = "estimate",
    levels: Any = None,
    neighbours: int = 4,
    schedule: str = "flooding",
    dtype: Any = None,
    threads: int = 1,
    budget: str | float | None = "4GB",
    tolerance: float | None = None,
    callback: Any = None,
) -> Restoration:
    r"""Restore an image whose pixels were flipped, or have Gaussian noise.

    .. math:: p(x \mid y) \propto \exp\Bigl( J \sum_{ij} x_i x_j + \beta \sum_i y_i x_i \Bigr),
              \qquad \beta = \tfrac12 \log \frac{1 - \epsilon}{\epsilon}

    Parameters
    ----------
    image : array-like of shape (H, W) or (H, W, C), Pillow image, or path of an image file
        A binary image of any two values; a grey one; or a colour one, channel by channel. Pixels
        that are NaN, or masked in a masked array, were not observed.
    flip_probability : float, array-like of shape (H, W), or "estimate"
        Probability :math:`\epsilon` that a pixel was flipped, for all or pixel by pixel; of a grey
        image, that it was replaced by any level. Learnt from the image by default.
    coupling : float, one per axis, arrays per edge, or "estimate"
        Coupling J of neighbours; of a grey image, the slope of its truncated linear smoothness, per
        level. Learnt from the image by default.
    sweeps : int
        Sweeps of messages, with a tolerance at most; 10 to 20 suffice as a rule.
    momentum : float
        Share of the new message, from 0.0001 to 1.
    method : {"sum-product", "max-product", "graph-cut"}
        The marginals of the pixels; max-marginals, which restore grey images in flat parts better
        and photographs worse; or the one best binary image, exactly.
    loss : Loss, float or None
        What a wrong pixel costs. A number is the cost of rejecting a pixel, where a wrong one costs
        one. None takes the most probable label.
    mask : array-like of bool of shape (H, W), or path of an image file, optional
        True, or white, where a pixel was not observed: it is filled in from its neighbours, and
        nothing is learnt from it.
    noise : {"auto", "flip", "gaussian"}
        Flips for images of two values, Gaussian noise with some replaced pixels for others.
    sigma : float or "estimate"
        Standard deviation of Gaussian noise, in the image's own units.
    levels : int, optional
        How many grey levels are told apart, from 2 to 256; 32 by default. The image shows their
        mean, with a loss the level decided on.
    neighbours : {4, 8}
        Which pixels are neighbours.
    schedule : {"flooding", "checkerboard", "sweep"}
        In which order messages are sent.
    dtype : {"float32", "float64"} or None
        Type of number; None takes float32 where it is safe.
    threads : int
        Blocks of rows at a time; the answer is the same to the last bit.
    budget : str, int or None
        Memory that may be used for a plane, in bytes or as ``"4GB"``; None for no limit.
    tolerance : float, optional
        Stop when no message changes by more than this. By default all sweeps are made.
    callback : callable, optional
        Called after each sweep with its number, from 1 in each plane, and its residual. While
        numbers are learnt it is called with 0 and NaN, before each short run of messages.

    Returns
    -------
    Restoration
        With ``image``, ``posterior``, ``rejected``, ``energy``, ``trace``, ``flip_probability``,
        ``coupling``, ``status`` (how the messages ended) and ``learning_status``.

    Raises
    ------
    InputError
        If it is no image, no pixel of it was observed, or a setting is out of range.
    FileFormatError
        If a file is not an image that can be read.
    ShapeError
        If a map or a mask has not the shape of the image.
    BudgetError
        If a plane does not fit the budget; before its messages are allocated.

    See Also
    --------
    credo.add_noise : The opposite.
    credo.segment : Smooth the posterior of a classifier.
    credo.images.denoise_tiled : The same for images that do not fit into memory.

    Notes
    -----
    Some 2 ns per pixel and sweep for binary images on one thread, and some 10 ns for each level of
    grey ones. Memory in float32 is 28 bytes per pixel, beside the field's own 8, or for each level
    of a grey image. The marginals are approximate, and overconfident: see :func:`credo.bounds`.
    ``"graph-cut"`` is exact for the image as a whole.
    Estimates are deterministic; they trust that neighbours tend to be alike and that flips are
    independent, and mislead where neither holds.

    References
    ----------
    .. [1] S. Geman, D. Geman, Stochastic relaxation, Gibbs distributions, and the Bayesian
       restoration of images, *IEEE Transactions on Pattern Analysis and Machine Intelligence* 6
       (1984).

    Examples
    --------
    >>> import credo
    >>> face = credo.images.portrait(128)
    >>> noisy = credo.add_noise(face, 0.1, seed=0)
    >>> clean = credo.denoise(noisy)
    >>> float((noisy != face).mean()) > 3 * float((clean.image != face).mean())
    True
    """
    check.one_of(noise, ("auto", "flip", "gaussian"), "noise of denoise")
    check.one_of(method, ("sum-product", "max-product", "graph-cut"), "method of denoise")
    count = check.count(sweeps, "sweeps of denoise", 0)
    around = neighbours_in(2, neighbours, "denoise")
    any_field = GridField.ising([[0.0, 0.0]], 0.0, neighbours=around)
    settings_for(any_field, "sum-product", momentum, schedule, dtype, "denoise")
    check.count(threads, "threads of denoise")
    check_callback({"callback": callback}, "denoise")
    _check_settings(coupling, tolerance, method, loss)
    kinds: dict[str, Any] = {"auto": None, "flip": "binary", "gaussian": "grey"}
    picture, holes = (
        open_image(each)[0] if isinstance(each, (str, PathLike)) else each for each in (image, mask)
    )
    coded = read_image(picture, "denoise", kinds[noise], holes, can_miss=True)
    watch = None if callback is None else partial(callback, 0, math.nan)
    numbers, channels = (flip_probability, coupling, sigma, levels), []
    for plane, lost in zip(coded.planes, coded.lost, strict=True):
        if coded.labels is None:
            model = _model_grey(plane, lost, method, numbers, around, budget, watch)
        else:
            model = _model_flips(plane, lost, coded.labels, numbers, around, watch)
        if method == "graph-cut":
            channels.append(_cut(model))
            continue
        settings = settings_for(model.field, method, momentum, schedule, dtype, "denoise")
        weighed = loss_for(loss, model.field.labels, "denoise")
        is_heard = callback is not None or tolerance is not None
        check_memory(model.field, settings, budget, "denoise", is_watched=is_heard)
        messages = messages_on(model.field, settings, threads)
        run = messages.run(count, tolerance, callback)
        channels.append(_decide(model, messages.posterior(), settings, run, weighed))
    return Restoration(coded, tuple(channels), method)


def _check_settings(coupling: Any, tolerance: Any, method: str, loss: Any) -> None:
    """Check what can be checked whatever the image."""
    if tolerance is not None:
        check.number(tolerance, "tolerance of denoise", 0)
    if coupling is None or isinstance(coupling, str):
        check.one_of(coupling, ("estimate",), "coupling of denoise")
    if method != "sum-product" and loss is not None:
        raise InputError(
            f"denoise: {method} looks for the best image as a whole and does not know how "
            "sure a pixel is, so it cannot weigh a loss. Use method='sum-product' or loss=None."
        )


# --- planes and their fields ----------------------------------------------------------------------


class Learnt(NamedTuple):
    """The numbers that a plane was restored with, given or estimated."""

    flip_probability: Any
    coupling: Any
    sigma: float | None
    status: str = "GIVEN"


class _Model(NamedTuple):
    """The field of a plane, what it shows, and the numbers that it was made with."""

    seen: Plane  #: the labels of the noisy plane
    field: GridField
    learnt: Learnt
    mean: F64 | None = None  #: the levels whose posterior mean the image shows, if it does


def learn_flips(
    plane: Any, labels: Any, flip: Any, coupling: Any, neighbours: int, watch: Watch | None = None
) -> tuple[Any, Any, str]:
    """Return flip probability and coupling, learnt from some of the pixels where ``"estimate"``.

    The plane, and a map of flip probabilities, are anything that can be sliced; a pixel that has
    neither label was not observed. What is given comes back as it is.
    """
    flip_given, coupling_given = (None if isinstance(n, str) else n for n in (flip, coupling))
    if flip_given is not None and coupling_given is not None:
        return flip, coupling, "GIVEN"
    is_per_edge = np.iterable(coupling) and any(np.ndim(each) for each in coupling)
    sample = Sample.of(plane.shape, math.prod(plane.shape) if is_per_edge else MOST_PIXELS)
    taken = np.asarray(sample.take(plane))
    states = (taken == labels[1]).astype(np.int8) - (taken == labels[0])
    if getattr(flip, "shape", ()):
        flip_given = np.asarray(sample.take(flip))
    found = estimate_flips(
        states, sample, flip=flip_given, coupling=coupling_given, neighbours=neighbours, watch=watch
    )
    return found.noise[0] if flip_given is None else flip, found.smoothness[0], found.status


def _model_flips(
    plane: Plane, lost: Bool | None, labels: Any, numbers: Any, neighbours: int, watch: Watch | None
) -> _Model:
    """Return the field of a plane of two values whose pixels were flipped."""
    flip, coupling, sigma, levels = numbers
    if levels is not None or not isinstance(sigma, str):
        raise InputError(
            "denoise: sigma and levels are for grey images, and this one has two values. Leave "
            "them out, or pass noise='gaussian'."
        )
    what = "flip_probability of denoise"
    if isinstance(flip, str):
        check.one_of(flip, ("estimate",), what)
    else:
        each = per_pixel(flip, plane.shape, what, 1.0)
        flip = each if each.ndim else flip
    signs, names = plane, labels
    if lost is not None:
        signs = np.where(plane == labels[1], np.int8(1), np.int8(-1)) * ~lost
        names = -1, 1
    flip, coupling, status = learn_flips(signs, names, flip, coupling, neighbours, watch)
    flips = flip if lost is None else np.where(lost, 0.5, flip)  # one half says nothing
    field = GridField.from_flips(plane, flips, coupling, labels=labels, neighbours=neighbours)
    learnt = Learnt(_own(flip), _own(coupling), None, status)
    return _Model(check.frozen(plane.copy()), field, learnt)


def _own(given: Any) -> Any:
    """Copy what the caller could still change."""
    if isinstance(given, np.ndarray):
        return check.frozen(given.copy())
    return tuple(map(_own, given)) if isinstance(given, (list, tuple)) else given


def _model_grey(  # noqa: PLR0913, PLR0917 - one parameter per setting
    plane: Plane,
    lost: Bool | None,
    method: str,
    numbers: Any,
    neighbours: int,
    budget: Any,
    watch: Any,
) -> _Model:
    """Return the field of a plane of grey levels with Gaussian noise and impulses."""
    if method == "graph-cut":
        raise InputError(
            "denoise: graph cuts are for images of two values, and this one is grey. Use "
            "method='max-product' or 'sum-product'."
        )
    *given, levels = numbers
    count = DEFAULT_LEVELS if levels is None else check.count(levels, "levels of denoise", 2)
    if count > MOST_LEVELS:
        raise InputError(f"The levels of denoise are {MOST_LEVELS} at most. Got {count}.")
    each = 4 * count * (neighbours + 4)  # messages, twice potentials, beliefs, their mean
    refuse_memory(plane.size, each, count, budget, "denoise")
    names = "flip_probability", "coupling", "sigma"
    impulse, slope, sigma = map(_grey_number, given, names)
    span = grey_levels(plane, count)
    found = estimate_grey(
        plane,
        span,
        sigma=sigma,
        impulse=impulse,
        slope=slope,
        neighbours=neighbours,
        lost=lost,
        watch=watch,
    )
    sigma, share = found.noise[0], found.noise[1] if impulse is None else impulse
    logs = GreyValues.of(plane, span, lost).log_potentials(sigma, share)
    smoothness = TruncatedLinear(*found.smoothness)
    field = GridField(logs, smoothness, labels=span.tolist(), neighbours=neighbours)
    nearest = np.rint((plane.astype(np.float64) - span[0]) / (span[1] - span[0]))
    seen = span[np.clip(nearest, 0, count - 1).astype(np.intp)]
    learnt = Learnt(share, found.smoothness[0], sigma, found.status)
    return _Model(check.frozen(seen), field, learnt, span)


def _grey_number(value: Any, what: str) -> float | None:
    """Check a number for a grey plane; None if it is to be learnt."""
    if isinstance(value, str):
        check.one_of(value, ("estimate",), f"{what} of denoise")
        return None
    if np.ndim(value):
        raise InputError(
            f"denoise: the {what} of a grey image must be one number, or 'estimate'. Got an array "
            f"of shape {np.shape(value)}. Make a GridField of it for infer_grid."
        )
    if what == "flip_probability":
        return check.number(value, f"{what} of denoise", 0, 1)
    number = check.number(value, f"{what} of denoise")
    if number <= 0:
        raise InputError(f"The {what} of denoise must be above 0 for a grey image. Got {number:g}.")
    return number


# --- what was found -------------------------------------------------------------------------------


class Energies(NamedTuple):
    """The energy U of the noisy image and of the restored one; larger is better."""

    noisy: float
    restored: float


class Trace(NamedTuple):
    """What each sweep did: the largest change of a message, and U of the best image after it."""

    residuals: F64
    energies: F64


@dataclass(frozen=True, slots=True, eq=False)
class Channel:
    """One plane of a restoration: its model, and what was found."""

    seen: Plane  #: the labels of the noisy plane
    field: GridField
    learnt: Learnt
    mean: F64 | None  #: the levels whose mean the image shows; None shows the labels
    labels: Plane  #: the labels decided on
    rejected: Bool
    sweeps: int = 0
    status: str = "EXACT"
    posterior: PosteriorMap | None = None
    settings: GridSettings | None = None  #: how messages were passed; None if none were
    loss: Loss | None = None  #: what the labels were decided with
    seconds: float = 0.0  #: what the sweeps took, or the cut

    @property
    def values(self) -> Plane:
        """What the image shows: the labels, or for grey levels the posterior mean."""
        return self.labels if self.mean is None else self.show(self.posterior)[0]

    def show(self, posterior: Any) -> tuple[Plane, Bool]:
        """Return what an image shows, and which pixels are rejected.

        That is the mean of levels, which has the least squared error, or the labels decided on.

        The max-marginals over their sum are no probabilities, yet their mean is nearer to the truth
        than the best level: by nine per cent, over seven pictures at three levels of noise.
        """
        if self.mean is None:
            return decide_map(posterior, self.loss)[:2]
        p, none = posterior.probabilities, np.zeros(posterior.shape, dtype=np.bool_)
        return np.einsum("...k,k->...", p, self.mean, dtype=np.float64), none

    def stages(self, sweeps: list[int]) -> Iterator[tuple[Plane, Bool, Any, float]]:
        """Yield values, rejected pixels, confidence and seconds after some numbers of sweeps."""
        if self.status == "CONVERGED":
            sweeps = [min(number, self.sweeps) for number in sweeps]
        for posterior, seconds in self.messages().stages(sweeps):
            yield *self.show(posterior), posterior.confidence, seconds

    def messages(self) -> Messages:
        """Begin again with uniform messages."""
        if self.settings is None:
            raise InputError("A graph cut makes no sweeps. Use method='sum-product'.")
        return messages_on(self.field, self.settings)


@final
class Restoration(Animated):
    """Hold a restored image, how sure each pixel is, and what it was restored with.

    Made by :func:`credo.denoise`.

    Attributes
    ----------
    image : ndarray
        The restored image, coded and typed as the noisy one.
    rejected : ndarray of bool
        The pixels that the loss would rather leave to somebody else; of a colour image those that
        any of its channels would.
    sweeps : int
        How many sweeps were made; of a colour image the most that a channel needed.
    method : str
        How the labels were found.
    channels : tuple
        What was found plane by plane; one for binary and grey images.
    seconds : float
        What the sweeps took, or the cut, without learning; the first time with loading the compiled
        loops.

    See Also
    --------
    credo.denoise : Makes one.

    Examples
    --------
    >>> import numpy as np
    >>> import credo
    >>> noisy = np.zeros((5, 5), dtype=bool)
    >>> noisy[2, 2] = True
    >>> clean = credo.denoise(noisy, flip_probability=0.1, coupling=0.8)
    >>> int(clean.image.sum())
    0
    >>> clean.energy.noisy < clean.energy.restored
    True
    """

    def __init__(self, coded: CodedImage, channels: tuple[Channel, ...], method: str) -> None:
        self._coded = coded
        self.image: npt.NDArray[Any] = coded.restore([channel.values for channel in channels])
        self.channels = channels
        self.method = method
        self.sweeps = max(channel.sweeps for channel in channels)
        self.seconds = sum(channel.seconds for channel in channels)
        self.rejected: Bool = np.logical_or.reduce([channel.rejected for channel in channels])

    @property
    def posterior(self) -> Any:
        """The probabilities of the labels of each pixel: a map, or one for each colour."""
        if self.method == "graph-cut":
            raise InputError(
                "A graph cut finds the best image as a whole, and says nothing about how sure a "
                "pixel is. Use method='sum-product'."
            )
        return self._each(lambda channel: channel.posterior)

    @property
    def field(self) -> Any:
        """The field that was restored with, or one for each colour."""
        return self._each(lambda channel: channel.field)

    @property
    def flip_probability(self) -> Any:
        """The flip probability, given or estimated; one for each colour."""
        return self._each(lambda channel: channel.learnt.flip_probability)

    @property
    def coupling(self) -> Any:
        """The coupling of neighbours, given or estimated; one for each colour."""
        return self._each(lambda channel: channel.learnt.coupling)

    @property
    def sigma(self) -> Any:
        """The standard deviation of the noise of a grey image, or one for each colour."""
        return self._each(lambda channel: channel.learnt.sigma)

    @property
    def status(self) -> Any:
        """How the messages ended, or for each colour.

        ``"CONVERGED"``: a tolerance was given, and no message moved by more in the last sweep.
        ``"MAX_SWEEPS"``: all sweeps were made; ``trace`` tells what still moved. ``"EXACT"``: a
        graph cut, which passes no messages.
        """
        return self._each(lambda channel: channel.status)

    @property
    def learning_status(self) -> Any:
        """How learning ended, or for each colour.

        ``"GIVEN"``: nothing was to be learnt. ``"CONVERGED"``. ``"MAX_ROUNDS"``: it might still
        have got a little better. ``"NO_STRUCTURE"``: noise and picture cannot be told apart, and
        the image is hardly changed. ``"TOO_SMALL"``: fewer than ten pairs of neighbours.
        """
        return self._each(lambda channel: channel.learnt.status)

    @cached_property
    def energy(self) -> Energies:
        """The energy U of the noisy image and of the restored one, over all channels."""
        pairs = [(channel.field, channel.seen, channel.labels) for channel in self.channels]
        noisy = sum(field.energy(seen) for field, seen, _ in pairs)
        return Energies(noisy, sum(field.energy(labels) for field, _, labels in pairs))

    @cached_property
    def trace(self) -> Trace:
        """What each sweep did. The sweeps are made once more, when this is first asked for."""
        moved, energies = np.zeros(self.sweeps), np.zeros(self.sweeps)
        for channel in self.channels:
            messages, now = channel.messages(), 0.0
            for sweep in range(channel.sweeps):
                moved[sweep] = max(moved[sweep], messages.advance_one())
                now = channel.field.energy(messages.posterior().best)
                energies[sweep] += now
            energies[channel.sweeps :] += now  # at rest, while other colours go on
        return Trace(check.frozen(moved), check.frozen(energies))

    def snapshots(self, sweeps: Iterable[int] = (1, 2, 5, 10, 20)) -> list[npt.NDArray[Any]]:
        """Return the image as it was after some numbers of sweeps, which are made once more.

        Parameters
        ----------
        sweeps : iterable of int
            Numbers of sweeps, each at least the one before.

        Returns
        -------
        list of ndarray
            An image for each number, coded and typed as the noisy one.

        Raises
        ------
        InputError
            If the image was restored by a graph cut, or the numbers go down.

        Examples
        --------
        >>> import credo
        >>> noisy = credo.add_noise(credo.images.portrait(128), 0.1, seed=0)
        >>> first, last = credo.denoise(noisy, 0.1, 0.8).snapshots([1, 20])
        >>> bool((last == credo.denoise(noisy, 0.1, 0.8).image).all())
        True
        """
        return [each.image for each in self._stages(sweep_numbers(sweeps, "snapshots"))]

    def pictures(self, truth: Any = None, sweeps: Iterable[int] = ()) -> dict[str, Picture]:
        """Return the noisy image, those after some sweeps, the restored one and the true one.

        Parameters
        ----------
        truth : array-like, optional
            The clean image, coded as the noisy one.
        sweeps : iterable of int
            Numbers of sweeps after which it is shown too, each at least the one before. The sweeps
            are made once more.

        Returns
        -------
        dict
            By name: the ``image``; its ``energy`` U(x); its ``error``, None without a truth: the
            share of wrong pixels of a binary image, otherwise the root of the mean squared error;
            the ``seconds`` of its sweeps; the ``confidence`` of its pixels; and which are
            ``marked``: of the noisy image those not observed, of others those rejected.
        """
        noisy, given = self._coded.restore(self._coded.planes), None
        lost = [gone for gone in self._coded.lost if gone is not None]
        missing = np.logical_or.reduce(lost) if lost else None
        found = {"noisy": Picture(noisy, self._energy(noisy), marked=missing)}
        numbers = sweep_numbers(sweeps, "pictures")
        made = self._stages(numbers) if numbers else ()
        found |= {f"after {n}": each for n, each in zip(numbers, made, strict=True)}
        sure = [each.posterior.confidence for each in self.channels if each.posterior is not None]
        least = np.min(sure, axis=0) if sure else None
        energy = self.energy.restored  # of the labels, where the image shows their mean
        found["restored"] = Picture(self.image, energy, None, self.seconds, least, self.rejected)
        if truth is not None:
            given = np.asarray(truth)
            if given.shape != self.image.shape:
                raise ShapeError(
                    f"The truth must have the shape of the image, {self.image.shape}. Got "
                    f"{given.shape}."
                )
            self._check_coding(given)
            found["true"] = Picture(given, self._energy(given))
        off = {n: None if given is None else self._off(p.image, given) for n, p in found.items()}
        return {name: each._replace(error=off[name]) for name, each in found.items()}

    def table(self, truth: Any = None, sweeps: Iterable[int] = ()) -> Any:
        """Return energies, seconds, and errors if the truth is given, as a pandas frame.

        Parameters
        ----------
        truth, sweeps
            As for ``pictures``.

        Returns
        -------
        pandas.DataFrame
            With the columns ``picture``, ``energy``, ``seconds`` of its sweeps (NaN where it was
            given) and, with a truth, ``error``.

        Examples
        --------
        >>> import credo
        >>> face = credo.images.portrait(64)
        >>> clean = credo.denoise(credo.add_noise(face, 0.1, seed=0), 0.1, 0.8)
        >>> clean.table(face)["picture"].tolist()
        ['noisy', 'restored', 'true']
        """
        found = self.pictures(truth, sweeps)
        shown = ("energy", "seconds") if truth is None else ("energy", "error", "seconds")
        columns = {name: [getattr(each, name) for each in found.values()] for name in shown}
        return as_frame(picture=list(found), **columns)

    def _stages(self, numbers: list[int]) -> Iterator[Picture]:
        """Make the sweeps once more, and yield the picture after some numbers of them."""
        every = (channel.stages(numbers) for channel in self.channels)
        for stage in zip(*every, strict=True):
            planes, rejected, sure, seconds = zip(*stage, strict=True)
            image = self._coded.restore(planes)
            least, marked = np.min(sure, axis=0), np.logical_or.reduce(rejected)
            yield Picture(image, self._energy(image), None, sum(seconds), least, marked)

    def _check_coding(self, truth: npt.NDArray[Any]) -> None:
        """Refuse a truth with values that the noisy image cannot have."""
        values, labels = check.finite(truth, "truth of the pictures"), self._coded.labels
        if labels is None or self._coded.alpha is not None:
            return
        odd = values[~np.isin(values, np.asarray(labels))]
        if odd.size:
            raise InputError(
                f"The truth must have the values of the image, {labels[0]} and {labels[1]}. Got "
                f"{odd[0]:g}."
            )

    def _energy(self, image: npt.NDArray[Any]) -> float:
        """Return the energy of an image of the same coding; of grey ones, of the nearest levels."""
        planes = np.moveaxis(image, -1, 0) if self._coded.has_channels else [image]
        total = 0.0
        for channel, plane in zip(self.channels, planes, strict=False):
            labels = np.asarray(channel.field.labels)
            middles = (labels[1:].astype(np.float64) + labels[:-1]) / 2
            total += channel.field.energy(labels[np.searchsorted(middles, plane)])
        return total

    def _off(self, image: npt.NDArray[Any], truth: npt.NDArray[Any]) -> float:
        """Return the share of wrong pixels, or of grey images the root of the mean square."""
        if self._coded.labels is not None:
            return float((image != truth).mean())
        return float(np.sqrt(np.mean((image.astype(np.float64) - truth) ** 2)))

    def __repr__(self) -> str:
        height, width = self.image.shape[:2]
        ended = ", ".join(dict.fromkeys(channel.status for channel in self.channels))
        learnt = ", ".join(dict.fromkeys(channel.learnt.status for channel in self.channels))
        return (
            f"<Restoration: {height}x{width} pixels, {self.method}, {self.sweeps} sweeps, {ended}; "
            f"learning: {learnt}>"
        )

    def _each(self, get: Callable[[Channel], Any]) -> Any:
        """Return what the only channel has, or what each of several has."""
        found = tuple(get(channel) for channel in self.channels)
        return found[0] if len(found) == 1 else found


def _cut(model: _Model) -> Channel:
    """Find the best labels of a plane of two values."""
    begun, none = time.perf_counter(), np.zeros(model.seen.shape, dtype=np.bool_)
    best = best_by_cut(model.field)
    return Channel(*model, best, none, seconds=time.perf_counter() - begun)


def _decide(
    model: _Model, posterior: PosteriorMap, settings: GridSettings, run: Run, loss: Loss | None
) -> Channel:
    """Decide about the pixels of a plane."""
    choice = decide_map(posterior, loss)
    if loss is not None:
        model = model._replace(mean=None)
    return Channel(
        *model, choice.labels, choice.rejected, run.sweeps, run.status, posterior, settings, loss,
        run.seconds,
    )  # fmt: skip


# --- maps decided under a loss --------------------------------------------------------------------


class MapDecision(NamedTuple):
    """What was decided for each pixel, and what that is expected to cost."""

    labels: npt.NDArray[Any]  #: the label chosen; the most probable one where rejected
    rejected: Bool  #: whether the act chosen is the reject act
    risk: Plane  #: expected loss of the act chosen, in the floating type of the map


def decide_map(posterior: PosteriorMap, loss: Loss | None) -> MapDecision:
    r"""Choose the act with the least expected loss for each pixel of a map.

    .. math:: a^*(i) = \arg\min_a \sum_k L_{ka}\, p_i(k)

    Parameters
    ----------
    posterior
        Probabilities of the labels, for each pixel.
    loss
        None for the most probable label; or a loss, as ``loss_for`` returns it.

    Returns
    -------
    MapDecision
        Labels, rejected pixels and expected loss. Rejected pixels keep their most probable label.

    See Also
    --------
    credo.decide : The same for rows; the acts are the same, also where some are tied.

    Notes
    -----
    Time O(n K A), and a few megabytes beyond the map and the answer.

    References
    ----------
    .. [1] C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE Transactions on
       Information Theory 16 (1970), pages 41-46.

    Examples
    --------
    >>> from credo.images._denoise import decide_map, loss_for
    >>> from credo.posterior import PosteriorMap
    >>> row = PosteriorMap([[[0.9, 0.1], [0.45, 0.55], [0.2, 0.8]]], ["sky", "sea"])
    >>> choice = decide_map(row, loss_for(0.3, row.labels, "example"))
    >>> choice.labels
    array([['sky', 'sea', 'sea']], dtype='<U3')
    >>> choice.rejected
    array([[False,  True, False]])
    >>> choice.risk.round(3)
    array([[0.1, 0.3, 0.2]])
    """
    labels, rejected = posterior.best, np.zeros(posterior.shape, dtype=np.bool_)
    if loss is None:
        return MapDecision(labels, rejected, 1 - posterior.confidence)
    names = posterior.labels
    # what stands in the map for each act: its label, or anything for the reject act
    known = [names.index(act) if act != loss.reject else 0 for act in loss.acts]
    shown = check.names_array(names)[known]
    planes = [posterior.of(label).reshape(-1) for label in names]
    risk = np.empty(posterior.shape, dtype=planes[0].dtype)
    best, left, cost = (each.reshape(-1) for each in (labels, rejected, risk))
    for block in check.blocks(best.size, check.block_rows(3 * len(planes))):
        rows = np.stack([plane[block] for plane in planes], axis=1, dtype=np.float64)
        far = np.abs(sum(rows.T) - 1).max()  # column by column, which is fast for few
        if far > check.tolerance(len(names)):  # float32 that was worked on
            rows /= rows.sum(axis=1, keepdims=True)
        decided = decide(rows, loss, names)
        left[block], cost[block] = decided.rejected, decided.risk
        best[block] = np.where(decided.rejected, best[block], shown[decided.act_index])
    return MapDecision(labels, rejected, risk)


def loss_for(loss: Loss | float | None, labels: Labels, who: str) -> Loss | None:
    """Return the zero-one loss with a cost of rejecting, or a loss checked for a map's labels.

    The truths of a loss must be the labels; its acts are labels, or its reject act.
    """
    if loss is None:
        return None
    if not isinstance(loss, Loss):
        cost = check.number(loss, f"loss of {who}")
        if cost < 0:
            raise InputError(
                f"The loss of {who}, as a number, is the cost of rejecting a pixel: at least 0. "
                f"Got {cost:g}, with which every pixel would be rejected."
            )
        return Loss.zero_one(labels).with_reject(cost, _REJECT)
    if loss.is_per_row:
        raise InputError(f"{who} needs a loss with one matrix for all rows, not one per row.")
    decide(np.full((1, len(labels)), 1 / len(labels)), loss, labels)  # are its truths the labels?
    odd = [act for act in loss.acts if act not in labels and act != loss.reject]
    if odd:
        raise LabelError(
            f"{who}: the act {odd[0]!r} of the loss is neither a label of the image nor the "
            f"loss's reject act. Labels: {check.listing(labels)}.{check.hint(odd[0], labels)} Name "
            "the reject act with Loss(…, reject=…), or add one with Loss.with_reject(cost)."
        )
    return loss
