"""Segmentation: a classifier's posterior of each pixel, smoothed by a field, then decided."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._results import Drawable
from credo._types import F64, Bool
from credo.decisions import Loss
from credo.exceptions import InputError, ShapeError
from credo.graphs import GridField, Potts
from credo.graphs.grid_coordinates import axes_of, lower_pixels, neighbours_in, upper_pixels
from credo.images._denoise import decide_map, loss_for
from credo.images.coding import Plane
from credo.inference.grids.engine import check_memory, messages_on, settings_for
from credo.posterior import Posterior, PosteriorMap


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Segmentation(Drawable):
    """What was decided for each pixel, and from what.

    Made by ``credo.segment``.

    Attributes
    ----------
    labels : ndarray of the picture's shape
        The label chosen; where rejected, the most probable one.
    rejected : ndarray of bool
        Whether the reject act was chosen.
    risk : ndarray
        Expected loss of the act chosen.
    posterior : PosteriorMap
        Probabilities after smoothing.
    before : ndarray of labels
        The most probable labels before smoothing.
    field : GridField
        The field that was smoothed with.

    Examples
    --------
    >>> from credo.images import segment
    >>> segment([[[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]]], coupling=1.0)
    <Segmentation: 1x3 pixels, labels 0, 1; 1 changed by the field, 0 rejected>
    """

    labels: npt.NDArray[Any]
    rejected: Bool
    risk: Plane
    posterior: PosteriorMap
    before: npt.NDArray[Any]
    field: GridField

    def __repr__(self) -> str:
        size = "x".join(str(length) for length in self.labels.shape)
        names = ", ".join(repr(label) for label in self.posterior.labels)
        changed = np.count_nonzero(self.posterior.best != self.before)
        lost = np.count_nonzero(self.rejected)
        return (
            f"<Segmentation: {size} pixels, labels {names}; {changed} changed by the field, "
            f"{lost} rejected>"
        )


def segment(  # noqa: PLR0913 - one per option, all but the first two by name
    posterior: PosteriorMap | Posterior | npt.ArrayLike,
    coupling: Any,
    *,
    loss: Loss | float | None = None,
    shape: tuple[int, ...] | None = None,
    priors: Any = None,
    weight: float = 1.0,
    neighbours: int | None = None,
    method: Literal["sum-product", "max-product"] = "sum-product",
    sweeps: int = 20,
    momentum: float = 0.5,
    schedule: Literal["flooding", "checkerboard", "sweep"] = "flooding",
    dtype: Any = "float64",
    threads: int = 1,
    budget: str | float | None = "4GB",
) -> Segmentation:
    r"""Smooth what a classifier says about each pixel, and decide under a loss.

    .. math:: p(x \mid y) \propto \prod_i \left( \frac{p(x_i \mid y_i)}{\pi(x_i)} \right)^{\!w}
              \prod_{ij} e^{J_{ij} [x_i = x_j]}

    Parameters
    ----------
    posterior : PosteriorMap, Posterior, or array-like of shape (…, K)
        Any classifier's probabilities. A Posterior has one row per pixel, in row-major order.
    coupling : float, one float per axis, or one array per axis
        The reward J for being equal to a neighbour, as ``Potts`` takes it;
        ``contrast_couplings`` makes one for each edge.
    loss : None, float or Loss
        None for the most probable label; a number for zero-one losses and a reject act of that
        cost; or a loss with the labels for truths, whose acts are labels or its reject act.
    shape
        Shape of the picture, if ``posterior`` has rows.
    priors : mapping from label, or sequence of K float, optional
        The priors :math:`\pi` behind the posterior, to be divided out; those of the field, under
        which all labels are alike, take their place. By default they stay.
    weight
        Power w of what is said of a pixel, above 0. Below 1 if neighbours share evidence.
    neighbours
        4 (default) or 8; 6 in a volume.
    method
        Marginals of the pixels, or those labels that are best as a whole (which no loss goes with).
    sweeps, momentum, schedule, dtype, threads, budget
        As in ``infer_grid``.

    Returns
    -------
    Segmentation
        With ``labels``, ``rejected``, ``risk``, the smoothed ``posterior``, the labels ``before``
        and the ``field``.

    Raises
    ------
    ShapeError
        If the rows do not fit the shape, or the couplings do not fit the edges.
    LabelError
        If the truths of the loss are not the labels.
    InputError
        If an option is out of range.
    BudgetError
        If the messages do not fit the budget.

    See Also
    --------
    block_features : Features of each pixel, for a classifier.
    credo.images.cut.best_by_cut : The best labelling of ``field`` as a whole, for two labels.

    Notes
    -----
    The formula takes what is said of different pixels for independent evidence. Posteriors made
    from overlapping blocks are not: with blocks of :math:`s \times s` pixels each pixel is counted
    :math:`s^2` times, so that the field can hardly overrule what is said, and what comes out is
    overconfident. A ``weight`` between :math:`1 / s^2` and 1 makes up for that. Choose it with the
    coupling, on a picture whose labels are known.

    Marginals are those of loopy belief propagation, after so many sweeps: approximate. Time is
    linear in pixels, labels and sweeps.

    References
    ----------
    .. [1] S. Z. Li, *Markov Random Field Modeling in Image Analysis*, 3rd ed., 2009, section 2.1.

    Examples
    --------
    One pixel is an exception, another one is undecided:

    >>> from credo.images import segment
    >>> row = [[[0.9, 0.1], [0.4, 0.6], [0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]]
    >>> found = segment(row, coupling=1.0, loss=0.3)
    >>> found.before
    array([[0, 1, 0, 1, 1]])
    >>> found.labels
    array([[0, 0, 0, 1, 1]])
    >>> found.rejected
    array([[False, False, False,  True, False]])
    """
    if method == "max-product" and loss is not None:
        raise InputError(
            "segment: method='max-product' finds labels that are best as a whole, and no "
            "probabilities to weigh a loss with. Use method='sum-product', or leave the loss out."
        )
    field = _field(posterior, Potts(coupling), shape, priors, weight, neighbours)
    weighed = loss_for(loss, field.labels, "segment")
    settings = settings_for(field, method, momentum, schedule, dtype, "segment")
    check_memory(field, settings, budget, "segment")
    messages = messages_on(field, settings, check.count(threads, "threads of segment"))
    messages.advance(check.count(sweeps, "sweeps of segment", 0))
    smoothed = messages.posterior()
    choice = decide_map(smoothed, weighed)
    before = _before(posterior, field)
    labels, rejected, risk = (check.frozen(each) for each in choice)
    return Segmentation(labels, rejected, risk, smoothed, check.frozen(before), field)


def _field(
    posterior: Any, smoothness: Potts, shape: Any, priors: Any, weight: Any, neighbours: Any
) -> GridField:
    """Make the field; its potentials are what is said of the pixels, to the power of the weight."""
    power = check.number(weight, "weight of segment")
    if power <= 0:
        raise InputError(
            f"The weight of segment must be above 0. Got {power:g}. At 0 the pixels would say "
            "nothing."
        )
    plain = GridField.from_posterior(
        posterior, smoothness, shape=shape, priors=priors, neighbours=neighbours
    )
    if power == 1:
        return plain
    logs = check.frozen(power * plain.log_potentials)
    return GridField(logs, smoothness, labels=plain.labels, neighbours=neighbours)


def _before(posterior: Any, field: GridField) -> npt.NDArray[Any]:
    """Return the most probable labels before smoothing, as a map."""
    if isinstance(posterior, PosteriorMap):
        return np.asarray(posterior.best)
    if isinstance(posterior, Posterior):
        return np.reshape(posterior.mode(), field.shape)
    best = np.argmax(posterior, axis=-1).reshape(field.shape)
    return np.asarray(check.names_array(field.labels)[best])


def contrast_couplings(
    image: Any, coupling: float, *, neighbours: Literal[4, 6, 8] = 4
) -> tuple[F64, ...]:
    r"""Weaken couplings where neighbouring pixels differ, so that borders stay sharp.

    .. math:: J_{ij} = \frac{J}{\lVert i - j \rVert}
              \exp\left(-\frac{\lVert y_i - y_j \rVert^2}{2 \sigma^2}\right)

    with the mean :math:`\sigma^2` of the squared differences over all edges.

    Parameters
    ----------
    image : array-like of shape (H, W) or (H, W, channels)
        The picture; with 6 neighbours a volume of shape (D, H, W) or (D, H, W, channels).
    coupling
        The coupling J of equal neighbours.
    neighbours
        4 or 8; 6 in a volume.

    Returns
    -------
    tuple of ndarray
        One array per axis with one coupling per edge, for ``segment``, ``Potts`` and the others.

    Raises
    ------
    ShapeError
        If the picture has another number of dimensions.
    InputError
        If it is not finite.

    See Also
    --------
    segment : Where they are used.

    Notes
    -----
    Time O(n). Made for objects of their own grey value or colour. Inside of a texture neighbours
    differ as much as at its border: take a number there.

    References
    ----------
    .. [1] Y. Boykov and M.-P. Jolly, "Interactive graph cuts for optimal boundary and region
       segmentation of objects in N-D images", ICCV 2001, section 2.5.

    Examples
    --------
    >>> from credo.images import contrast_couplings
    >>> down, along = contrast_couplings([[0, 0, 9], [0, 0, 9]], 1.0)
    >>> along.round(2)
    array([[1.  , 0.17],
           [1.  , 0.17]])
    """
    who = "contrast_couplings"
    pixels, strength = (
        check.finite(image, f"image of {who}"),
        check.number(coupling, f"coupling of {who}"),
    )
    n_dimensions = 3 if neighbours == 6 else 2
    axes = axes_of(n_dimensions, neighbours_in(n_dimensions, neighbours, who))
    if pixels.ndim not in (n_dimensions, n_dimensions + 1):
        raise ShapeError(
            f"{who} with {neighbours} neighbours needs a picture of {n_dimensions} dimensions, and "
            f"one more for channels. Got shape {pixels.shape}."
        )
    shape = pixels.shape[:n_dimensions]
    channels = pixels.reshape(*shape, -1)
    squares = []
    for axis in axes:
        step = channels[lower_pixels(shape, axis)] - channels[upper_pixels(shape, axis)]
        squares.append((step**2).sum(axis=-1))
    variance = sum(float(s.sum()) for s in squares) / max(1, sum(s.size for s in squares))
    scale = 2 * variance if variance > 0 else 1.0  # of a flat picture no neighbours differ
    return tuple(
        strength / math.hypot(*axis) * np.exp(-each / scale)
        for axis, each in zip(axes, squares, strict=True)
    )
