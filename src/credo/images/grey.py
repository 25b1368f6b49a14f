"""Grey levels: what noisy pixels say of them, and learning noise and smoothness from a plane."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo._validation.arrays import as_number, as_vector, in_unit_interval, positive_int
from credo.exceptions import InputError, ShapeError
from credo.images._estimate_climb import Climb, Point, Scale
from credo.images._grey_nodes import GreyNodes
from credo.images._grey_picture import LEAST_IMPULSE, GreyBeliefs, GreyPicture

Status: TypeAlias = Literal["CONVERGED", "MAX_ROUNDS", "GIVEN", "NO_STRUCTURE", "TOO_SMALL"]

#: How many levels are told apart unless asked otherwise: of 8 bits every fourth.
DEFAULT_LEVELS = 64
MOST_LEVELS = 256
#: What a jump costs at most, in nats for one of four neighbours. Of 2.5, 3.2, 4 and 6 it has the
#: highest mean PSNR over 24 noisy pictures. With less, impulses that touch are kept as if they
#: were drawn; with more, edges are blurred. It is not learnt: where impulses are any value, the
#: pseudo-likelihood would rather have them drawn.
JUMP = 3.2
#: The slope to start from, and without anything to learn from: for a 63rd of the range.
DEFAULT_SLOPE = 0.25
#: How strongly the logarithm of the slope is held there, in nats per pixel. Alone, the
#: pseudo-likelihood takes slopes that restore worse, by little likelihood; and where impulses are
#: any value, it ends at two to four times the best one.
_HOLD = 0.1
_FIRST_IMPULSE = 0.05
#: Pairs of neighbours below which nothing is learnt, as for binary images.
_FEWEST_PAIRS = 10
#: The pull is the logarithm of the slope for a 63rd of the range, for four neighbours: from one
#: that is nothing to one at which every step is a jump. Less gain than a third of a thousandth of
#: a nat per pixel does not show in the restored image.
_PULLS = Scale(
    place=float,
    pull=float,
    least=math.log(0.02),
    most=math.log(3.0),
    least_step=0.2,
    most_step=0.5,
    least_gain=3e-4,
)
_WHO = "estimate_grey"


@final
@dataclass(frozen=True, slots=True)
class GreyEstimate:
    """Hold what was learnt from a noisy grey image.

    Attributes
    ----------
    sigma : float
        Standard deviation of the Gaussian noise, in the image's units.
    impulse : float
        Probability that a pixel is an impulse.
    slope, limit : float
        Of the smoothness ``TruncatedLinear(slope, limit)`` on the levels.
    objective : tuple of float
        Log pseudo-likelihood in nats per pixel, less what holds the slope, at the start and after
        each round; it rises.
    rounds : int
        How many rounds were made.
    status : str
        ``"CONVERGED"``: no round rises any more. ``"MAX_ROUNDS"``: it might still rise a little.
        ``"GIVEN"``: there was nothing to learn. ``"NO_STRUCTURE"``: neighbours are hardly more
        alike than pixels far apart, so that nothing tells noise from picture. ``"TOO_SMALL"``:
        fewer than ten pairs of neighbours; the defaults are given.
    """

    sigma: float
    impulse: float
    slope: float
    limit: float
    objective: tuple[float, ...]
    rounds: int
    status: Status


def grey_levels(plane: npt.NDArray[Any], count: int = DEFAULT_LEVELS) -> F64:
    """Spread levels evenly from the darkest value of a plane to the lightest.

    Parameters
    ----------
    plane : ndarray
        Numbers; NaN is unobserved.
    count : int
        From 2 to 256.

    Returns
    -------
    ndarray of shape (count,)
        Increasing. Of a plane of one value, they go from it to one more.

    Raises
    ------
    InputError
        If ``count`` is not from 2 to 256, or no value is observed.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.images.grey import grey_levels
    >>> grey_levels(np.array([[10, 50], [20, 30]]), 5)
    array([10., 20., 30., 40., 50.])
    """
    if positive_int(count, "grey_levels", "count", least=2) > MOST_LEVELS:
        raise InputError(f"The count of grey_levels must be at most {MOST_LEVELS}. Got {count}.")
    if not plane.size or np.isnan(plane).all():
        raise InputError("grey_levels needs a plane with at least one observed value.")
    low, high = float(np.nanmin(plane)), float(np.nanmax(plane))
    return np.linspace(low, high if high > low else low + 1.0, count)


def grey_potentials(
    plane: npt.NDArray[Any], levels: Any, sigma: float, impulse: float = 0.0
) -> npt.NDArray[np.float32]:
    r"""Give the log potentials of the levels under Gaussian noise and impulses.

    .. math:: \phi_i(k) = (1 - \epsilon)\, N(y_i; l_k, \sigma^2) + \epsilon\, u(y_i)

    A value at either end of the levels may have been clipped and has the Gaussian's whole tail.
    Of the impulses, u, one half are at these ends (salt and pepper) and one half are anywhere.

    Parameters
    ----------
    plane : ndarray
        Noisy values; NaN is unobserved and says nothing.
    levels : array-like of shape (K,)
        Increasing values.
    sigma : float
        Standard deviation of the noise, above 0.
    impulse : float
        Probability :math:`\epsilon` of an impulse.

    Returns
    -------
    ndarray of shape (\*plane.shape, K)
        In float32; finite if there are impulses.

    Raises
    ------
    InputError
        If levels do not increase, or ``sigma`` or ``impulse`` is out of range.

    Notes
    -----
    Computed once for each different value: a table of 256 rows for an image of 8 bits.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.images.grey import grey_potentials
    >>> logs = grey_potentials(np.array([[0, 90, 200]]), [0.0, 100.0, 200.0], 20.0, 0.1)
    >>> logs.argmax(axis=-1)
    array([[0, 1, 2]])
    """
    who = "grey_potentials"
    values = _checked_levels(levels, who)
    spread = as_number(sigma, who, "sigma")
    if spread <= 0:
        raise InputError(f"The sigma of {who} must be above 0. Got {spread:g}.")
    nodes = GreyNodes.of(np.asarray(plane), values)
    table = nodes.log_table(spread, in_unit_interval(impulse, who, "impulse"))
    with np.errstate(over="ignore"):
        logs: npt.NDArray[np.float32] = table.astype(np.float32)[nodes.rows]
    return logs


def estimate_grey(  # noqa: PLR0913 - one for each parameter that may be given
    plane: npt.NDArray[Any],
    levels: Any,
    beliefs: GreyBeliefs,
    *,
    sigma: float | None = None,
    impulse: float | None = None,
    slope: float | None = None,
    limit: float | None = None,
    neighbours: int = 4,
) -> GreyEstimate:
    r"""Learn noise and smoothness from one noisy grey plane.

    They are those under which each noisy pixel is best foretold from all the others, a
    pseudo-likelihood of what was seen:

    .. math:: \ell = \frac1n \sum_i \log p(y_i \mid y_{-i})
                   = -\frac1n \sum_i \log \sum_k \frac{b_i(k)}{\phi_i(k)}

    where b are the beliefs of the levels. Each round takes EM's step for ``sigma`` and
    ``impulse``, and the slope that is best by a parabola through three, held near a usual one. A
    jump costs 3.2 nats at most, shared out among the neighbours: ``limit`` is that over the slope.

    Parameters
    ----------
    plane : ndarray of shape (H, W)
        Noisy values; NaN is unobserved.
    levels : array-like of shape (K,)
        Increasing values, as of ``grey_levels``.
    beliefs : callable
        ``beliefs(log_potentials, slope, limit, sweeps)`` gives the probabilities of the levels,
        of shape (H, W, K), by sum-product in flooding sweeps without momentum.
    sigma, impulse, slope, limit : float or None
        Held fixed if given.
    neighbours : int
        4 or 8.

    Returns
    -------
    GreyEstimate
        With a status instead of an error where nothing can be learnt.

    Raises
    ------
    InputError
        If levels do not increase, or a given number is out of range.
    ShapeError
        If the plane has no pixel.

    See Also
    --------
    grey_potentials : The potentials that these numbers make.
    credo.denoise : Restore an image with what was learnt.

    Notes
    -----
    As many runs of four sweeps as three times the rounds, mostly a dozen; on nine tiles of
    32 x 32 pixels of a plane that has more. Deterministic.

    References
    ----------
    .. [1] J. Immerkaer, Fast noise variance estimation, *Computer Vision and Image Understanding*
       64 (1996), section 2, for the start.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.graphs import GridField, TruncatedLinear
    >>> from credo.images.grey import estimate_grey, grey_levels
    >>> from credo.inference.grids import infer_grid
    >>> def beliefs(logs, slope, limit, sweeps):
    ...     field = GridField(logs, TruncatedLinear(slope, limit))
    ...     return infer_grid(field, sweeps=sweeps, momentum=1.0).posterior.probabilities
    >>> ramp = np.add.outer(np.arange(40.0), 2 * np.arange(40.0))
    >>> noisy = ramp + 8 * np.random.default_rng(0).normal(size=ramp.shape)
    >>> found = estimate_grey(noisy, grey_levels(noisy, 32), beliefs)
    >>> round(found.sigma, 1), found.impulse < 0.01, found.status
    (7.1, True, 'CONVERGED')
    """
    values = _checked_levels(levels, _WHO)
    if not plane.size:
        raise ShapeError(f"{_WHO} needs a plane with at least one pixel. Got {plane.shape}.")
    _check_given(sigma, impulse, slope, limit)
    unit = (len(values) - 1) / 63 * neighbours / 4
    smoothness = _Smoothness(slope, limit, unit, JUMP * 4 / neighbours)
    picture = GreyPicture.of(plane, values, beliefs, (sigma, impulse))
    first = picture.first_sigma() if sigma is None else sigma
    pull = math.log(DEFAULT_SLOPE)
    is_given = None not in (sigma, impulse, slope)
    if is_given or _pairs(plane.shape) < _FEWEST_PAIRS:
        status: Status = "GIVEN" if is_given else "TOO_SMALL"
        quiet = LEAST_IMPULSE if impulse is None else impulse
        return GreyEstimate(first, quiet, *smoothness.at(pull), (), 0, status)
    return _climbed(picture, smoothness, (first, impulse), slope, moves_sigma=sigma is None)


def _climbed(
    picture: GreyPicture,
    smoothness: _Smoothness,
    start: tuple[float, float | None],
    slope: float | None,
    *,
    moves_sigma: bool,
) -> GreyEstimate:
    """Climb from a start; an impulse or a slope that is not given is learnt too."""
    sigma, impulse = start
    noise = (sigma, _FIRST_IMPULSE if impulse is None else impulse)
    pull = math.log(DEFAULT_SLOPE)

    def at(noise: tuple[Any, ...], pull: float) -> Point:
        found = picture.at(noise, *smoothness.at(pull))
        held = _HOLD * (pull - math.log(DEFAULT_SLOPE)) ** 2 / 2
        return found._replace(pull=pull, objective=found.objective - held)

    moves = moves_sigma or impulse is None
    climb = Climb(at, at(noise, pull), _PULLS, moves_noise=moves, moves_pull=slope is None)
    trace, ending = climb.to_the_top()
    status: Status = "NO_STRUCTURE" if climb.here.pull <= _PULLS.least else ending
    noise_found: tuple[float, float] = (climb.here.noise[0], climb.here.noise[1])
    return GreyEstimate(
        *noise_found, *smoothness.at(climb.here.pull), trace, len(trace) - 1, status
    )


@dataclass(frozen=True, slots=True)
class _Smoothness:
    """Turn a pull into slope and limit, or give those that are given."""

    slope: float | None
    given_limit: float | None
    unit: float
    jump: float

    def at(self, pull: float) -> tuple[float, float]:
        """Give slope and limit."""
        slope = math.exp(pull) / self.unit if self.slope is None else self.slope
        if self.given_limit is not None:
            return slope, self.given_limit
        return slope, self.jump / slope if slope else math.inf


def _pairs(shape: tuple[int, ...]) -> int:
    """Count the pairs of neighbours along the dimensions."""
    return sum(math.prod(shape) // size * (size - 1) for size in shape)


def _checked_levels(levels: Any, who: str) -> F64:
    """Check for two or more increasing levels."""
    values = as_vector(levels, who, "levels")
    if len(values) < 2 or not (np.diff(values) > 0).all():
        raise InputError(f"The levels of {who} must be two or more increasing numbers.")
    return values


def _check_given(
    sigma: float | None, impulse: float | None, slope: float | None, limit: float | None
) -> None:
    """Check the numbers that are given."""
    if impulse is not None:
        in_unit_interval(impulse, _WHO, "impulse", open_ends=True)
    for value, what in ((sigma, "sigma"), (slope, "slope"), (limit, "limit")):
        if value is not None and not (value > 0 or (what == "slope" and value == 0)):
            raise InputError(f"The {what} of {_WHO} must be above 0. Got {value!r}.")


def expected_grey(probabilities: npt.NDArray[Any], levels: F64) -> F64:
    r"""Give the mean of the levels, which has the least expected squared error.

    Parameters
    ----------
    probabilities : ndarray of shape (\*shape, K)
        Of the levels, pixel by pixel.
    levels : ndarray of shape (K,)
        Their values.

    Returns
    -------
    ndarray of shape ``shape``
        In float64.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.images.grey import expected_grey
    >>> expected_grey(np.array([[0.5, 0.5, 0.0]]), np.array([0.0, 10.0, 20.0]))
    array([5.])
    """
    return np.einsum("...k,k->...", probabilities, levels, dtype=np.float64)
