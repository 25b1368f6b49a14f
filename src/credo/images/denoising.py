"""``denoise``: restore an image from its noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from credo._validation.arrays import positive_int
from credo._validation.labels import one_of
from credo.decisions import Loss
from credo.exceptions import InputError
from credo.graphs.grids import GridField
from credo.images.coding import CodedImage, read_image
from credo.images.deciding import decide_map
from credo.images.restoration import Channel, Learnt, Restoration
from credo.inference.grids.messages import Settings
from credo.inference.grids.passing import messages_on, pass_messages, settings_for
from credo.posterior import PosteriorMap

Method: TypeAlias = Literal["sum-product", "max-product", "graph-cut"]
_WHO = "denoise"
_METHODS = ("sum-product", "max-product", "graph-cut")


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """How a plane is to be restored."""

    flip_probability: Any
    coupling: Any
    sweeps: int
    momentum: float
    method: Method
    loss: Loss | float | None
    sigma: Any
    levels: Any
    neighbours: int
    schedule: str
    dtype: Any
    threads: int
    callback: Any


def denoise(  # noqa: PLR0913, PLR0917 - one parameter per setting
    image: Any,
    flip_probability: Any = "estimate",
    coupling: Any = "estimate",
    sweeps: int = 20,
    momentum: float = 0.5,
    method: Method = "sum-product",
    loss: Loss | float | None = None,
    *,
    noise: Literal["auto", "flip", "gaussian"] = "auto",
    sigma: Any = "estimate",
    levels: Any = None,
    neighbours: int = 4,
    schedule: str = "flooding",
    dtype: Any = None,
    threads: int = 1,
    callback: Any = None,
) -> Restoration:
    r"""Restore an image whose pixels were flipped, or blurred by Gaussian noise.

    .. math:: p(x \mid y) \propto \exp\Bigl( J \sum_{ij} x_i x_j + \beta \sum_i y_i x_i \Bigr),
              \qquad \beta = \tfrac12 \log \frac{1 - \epsilon}{\epsilon}

    Parameters
    ----------
    image : array-like of shape (H, W) or (H, W, C), or Pillow image
        A binary image of any two values; a grey one; or a colour one, channel by channel.
    flip_probability : float, array-like of shape (H, W), or "estimate"
        Probability :math:`\epsilon` that a pixel was flipped, for all or pixel by pixel; of a grey
        image, that it was replaced by any level. Learnt from the image by default.
    coupling : float, one per axis, arrays per edge, or "estimate"
        Coupling J of neighbours; of a grey image, the slope of its truncated linear smoothness, per
        level. Learnt from the image by default.
    sweeps : int
        Sweeps of messages; 10 to 20 suffice as a rule.
    momentum : float
        Share of the new message, above 0 and at most 1.
    method : {"sum-product", "max-product", "graph-cut"}
        The marginals of the pixels; max-marginals; or the one best binary image, exactly.
    loss : Loss, float or None
        What a wrong pixel costs. A number is the cost of rejecting a pixel, where a wrong one costs
        one. None takes the most probable label.
    noise : {"auto", "flip", "gaussian"}
        Flips for images of two values, Gaussian noise with some replaced pixels for others.
    sigma : float or "estimate"
        Standard deviation of Gaussian noise, in the image's own units.
    levels : int, optional
        How many grey levels are told apart, from 2 to 256.
    neighbours : {4, 8}
        Which pixels are neighbours.
    schedule : {"flooding", "checkerboard", "sweep"}
        In which order messages are sent.
    dtype : {"float32", "float64"} or None
        Type of number; None takes float32 where it is safe.
    threads : int
        Blocks of rows at a time; the answer is the same to the last bit.
    callback : callable, optional
        Called after each sweep with its number and its residual.

    Returns
    -------
    Restoration
        With ``image``, ``posterior``, ``rejected``, ``energy``, ``trace``, ``flip_probability`` and
        ``coupling``.

    Raises
    ------
    InputError
        If it is no image, or a setting is out of range.
    ShapeError
        If a map has not the shape of the image.

    See Also
    --------
    credo.add_noise : The opposite.
    credo.segment : Smooth the posterior of a classifier.
    credo.images.denoise_tiled : The same for images that do not fit into memory.

    Notes
    -----
    Some 2 ns per pixel and sweep for binary images on one thread; memory 24 bytes per pixel. The
    marginals are approximate, and surer than they should be: see :func:`credo.bounds`.
    ``"graph-cut"`` is exact for the image as a whole. Restoring the noise model's own ``sweeps``
    is deterministic; so are the estimates.

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
    one_of(method, _METHODS, _WHO, "method")
    one_of(noise, ("auto", "flip", "gaussian"), _WHO, "noise")
    count = positive_int(sweeps, _WHO, "sweeps", least=0)
    wanted: Any = {"auto": None, "flip": "binary", "gaussian": "grey"}[noise]
    coded = read_image(image, _WHO, wanted)
    request = Request(
        flip_probability, coupling, count, momentum, method, loss, sigma, levels, neighbours,
        schedule, dtype, threads, callback,
    )  # fmt: skip
    channels = tuple(_restored(plane, coded, request) for plane in coded.planes)
    return Restoration(coded, channels, method, count)


def _restored(plane: Any, coded: CodedImage, request: Request) -> Channel:
    """Restore a plane."""
    if coded.kind == "binary":
        return _binary(plane, coded, request)
    raise InputError("grey images are not there yet")


def estimated(
    states: Any, flip_probability: Any, coupling: Any, neighbours: int = 4
) -> tuple[Any, Any]:
    """Give the flip probability and the coupling, learnt from the image where not given.

    Parameters
    ----------
    states : ndarray of int8
        The noisy image, of -1 and +1.
    flip_probability, coupling
        As given to ``denoise``.
    neighbours
        Which pixels are neighbours.

    Returns
    -------
    flip_probability, coupling
        As given, or numbers in the place of ``"estimate"``.
    """
    for value, what in ((flip_probability, "flip_probability"), (coupling, "coupling")):
        if isinstance(value, str):
            one_of(value, ("estimate",), _WHO, what)
    learn_flip, learn_coupling = isinstance(flip_probability, str), isinstance(coupling, str)
    if not (learn_flip or learn_coupling):
        return flip_probability, coupling
    from credo.images.estimation import estimate_flips  # noqa: PLC0415 - not for given numbers

    def beliefs(log_odds: Any, strength: Any, sweeps: int, momentum: float) -> Any:
        field = GridField.ising(log_odds / 2, strength, neighbours=neighbours)
        messages = messages_on(field, settings_for(field, "sum-product", momentum, who=_WHO))
        messages.advance(sweeps)
        return messages.posterior().of(1)

    found = estimate_flips(
        states,
        beliefs,
        flip_probability=None if learn_flip else flip_probability,
        coupling=None if learn_coupling else coupling,
        neighbours=neighbours,
    )
    return found.flip_probability, found.coupling


def _binary(plane: Any, coded: CodedImage, request: Request) -> Channel:
    """Restore a plane of two values."""
    labels: Any = coded.labels
    flip, coupling = request.flip_probability, request.coupling
    if isinstance(flip, str) or isinstance(coupling, str):
        states = np.where(plane == labels[1], np.int8(1), np.int8(-1))
        flip, coupling = estimated(states, flip, coupling, request.neighbours)
    field = GridField.from_flips(
        plane, flip, coupling, labels=labels, neighbours=request.neighbours
    )
    learnt = Learnt(flip, coupling, None)
    if request.method == "graph-cut":
        return _cut(plane, field, request, learnt)
    posterior, settings = passed(field, request)
    choice = decide_map(posterior, request.loss, _WHO)
    return Channel(
        plane, choice.labels, choice.labels, posterior, choice.rejected, field, settings, learnt
    )


def _cut(plane: Any, field: GridField, request: Request, learnt: Learnt) -> Channel:
    """Find the best plane of two values."""
    from credo.images.cutting import best_by_cut  # noqa: PLC0415 - only for this method

    if request.loss is not None:
        raise InputError(
            "denoise: a graph cut does not know how sure a pixel is, so it cannot weigh a loss. "
            "Use method='sum-product', or loss=None."
        )
    best = best_by_cut(field)
    sure = np.zeros(field.shape, dtype=np.bool_)
    return Channel(plane, best, best, None, sure, field, None, learnt)


def passed(field: GridField, request: Request) -> tuple[PosteriorMap, Settings]:
    """Pass messages on a field as was asked for."""
    settings = settings_for(
        field, request.method, request.momentum, request.schedule, request.dtype, _WHO
    )
    messages = messages_on(field, settings, request.threads)
    pass_messages(messages, request.sweeps, callback=request.callback)
    return messages.posterior(), settings
