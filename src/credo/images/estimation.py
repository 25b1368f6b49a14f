"""``estimate_flips``: learn flip probability and coupling from one noisy binary image."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.images._estimate_climb import Climb, Point, Scale
from credo.images._estimate_picture import MOST_FLIP, Beliefs, NoisyPicture

Status: TypeAlias = Literal["CONVERGED", "MAX_ROUNDS", "GIVEN", "NO_STRUCTURE", "TOO_SMALL"]

#: What to restore with where nothing can be learnt. With e = 0.1, this coupling of four neighbours
#: has the fewest wrong pixels of 0.7, 0.75, 0.8 and 0.9, over five 128 x 128 pictures at e = 0.05,
#: 0.10, 0.15 and 0.20; of eight neighbours each has half of it.
DEFAULT_FLIP_PROBABILITY = 0.1
DEFAULT_COUPLING = 0.75

#: Neighbours agree by more than chance if the sum of their products is beyond so many standard
#: deviations of that of fair coins, which is the root of how many pairs there are.
_DEVIATIONS = 3.0
#: Where the climb may start from.
_EARLIEST, _LATEST = 0.01, 0.4
#: The pull is the coupling of all neighbours together, so that 4 and 8 are moved alike. The
#: objective falls steeply to small couplings and gently to large ones; in exp(-pull) it is nearly
#: symmetric. Pulls from one that is nothing to one that nothing withstands; steps so long that
#: rounding is nothing and so short that a parabola is a fair likeness; and a gain that is a third
#: of a nat on 128 x 128 pixels, by which nobody would tell two models apart.
_PULLS = Scale(
    place=lambda pull: math.exp(-pull),
    pull=lambda place: -math.log(place),
    least=0.02,
    most=8.0,
    least_step=0.2,
    most_step=0.6,
    least_gain=2e-5,
)


@final
@dataclass(frozen=True, slots=True, eq=False)
class FlipEstimate:
    """Hold what was learnt from a noisy binary image.

    Attributes
    ----------
    flip_probability : float or ndarray
        Probability that a pixel was flipped; as given, if it was given.
    coupling : float
        Coupling J of neighbours; as given, if it was given.
    objective : tuple of float
        Log pseudo-likelihood in nats per pixel, at the start and after each round; it rises.
    rounds : int
        How many rounds were made.
    status : str
        ``"CONVERGED"``: no round rises any more. ``"MAX_ROUNDS"``: it might still rise a little.
        ``"GIVEN"``: there was nothing to learn. ``"NO_STRUCTURE"``: neighbours agree no more often
        than fair coins do, so that noise and picture cannot be told apart: the coupling is 0, and
        the flip probability just below one half. ``"TOO_SMALL"``: fewer than ten pairs of
        neighbours, which show nothing: the defaults are given.
    """

    flip_probability: float | F64
    coupling: Any
    objective: tuple[float, ...]
    rounds: int
    status: Status


def estimate_flips(
    states: npt.NDArray[np.int8],
    beliefs: Beliefs,
    *,
    flip_probability: Any = None,
    coupling: Any = None,
    neighbours: int | None = 4,
) -> FlipEstimate:
    r"""Learn flip probability and coupling from one noisy binary image.

    They are those under which each noisy pixel is best foretold from all the others, a
    pseudo-likelihood of what was seen:

    .. math:: \ell(\epsilon, J) = \frac1n \sum_i \log p(y_i \mid y_{-i})
              = -\frac1n \sum_i \log\left(\frac{1 - d_i}{1 - \epsilon} + \frac{d_i}{\epsilon}
                \right),

    where :math:`d_i` is the belief that the true pixel differs from the noisy one. Each round
    takes EM's step :math:`\epsilon = \frac1n \sum_i d_i` and the coupling that is best by a
    parabola through three.

    Parameters
    ----------
    states : ndarray of int8
        The noisy image, of -1 and +1, in two or three dimensions.
    beliefs : callable
        ``beliefs(log_odds, coupling, sweeps, momentum)`` gives the plane of the probabilities of
        +1, by sum-product in flooding sweeps.
    flip_probability : float, ndarray or None
        Held fixed if given, for all pixels or pixel by pixel.
    coupling : float, one per axis, arrays per edge, or None
        Held fixed if given.
    neighbours : int or None
        4 or 8 in two dimensions, 6 in three; None for the fewest.

    Returns
    -------
    FlipEstimate
        With a status instead of an error where nothing can be learnt.

    Raises
    ------
    InputError
        If there is a state other than -1 and +1, or a probability not between 0 and 1.
    ShapeError
        If there is no pixel, or the probabilities are of another shape.

    See Also
    --------
    credo.denoise : Restore an image with what was learnt.

    Notes
    -----
    As many runs of six sweeps as two to three times the rounds, mostly thirteen; on 64 tiles of
    32 x 32 pixels of an image that has more. Deterministic, and alike for an image, its inverse
    and its transpose.

    Why not the likelihood: real pictures are not drawn from an Ising field. Its most likely J is
    the one that matches how often neighbours agree, which is ruled by phase transition rather
    than by how well a pixel is restored. Foretelling pixels is what the restored image does: with
    the restored pixel in the place of the noisy one it is the expected error itself.

    References
    ----------
    .. [1] J. Besag, On the statistical analysis of dirty pictures, *Journal of the Royal
       Statistical Society B* 48 (1986), section 5.
    .. [2] T. Weissman, E. Ordentlich, G. Seroussi, S. Verdu, M. J. Weinberger, Universal discrete
       denoising: known channel, *IEEE Transactions on Information Theory* 51 (2005), section IV.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.graphs import GridField
    >>> from credo.images.estimation import estimate_flips
    >>> from credo.inference.grids import infer_grid
    >>> def beliefs(log_odds, coupling, sweeps, momentum):
    ...     field = GridField.ising(log_odds / 2, coupling)
    ...     return infer_grid(field, sweeps=sweeps, momentum=momentum).posterior.of(1)
    >>> half = np.where(np.arange(64) < 32, -1, 1) * np.ones((64, 1))
    >>> flips = np.random.default_rng(0).random((64, 64)) < 0.1
    >>> found = estimate_flips(np.where(flips, -half, half).astype(np.int8), beliefs)
    >>> round(float(flips.mean()), 3), round(found.flip_probability, 3), found.status
    (0.104, 0.102, 'CONVERGED')
    """
    picture = NoisyPicture.of(states, beliefs, flip_probability, coupling, neighbours)
    if flip_probability is not None and coupling is not None:
        return FlipEstimate(flip_probability, coupling, (), 0, "GIVEN")
    (flip, pull), status = _first_guess(picture)
    if flip_probability is not None:
        flip = flip_probability
    if status is not None:
        given = pull / picture.neighbours if coupling is None else coupling
        return FlipEstimate(flip, given, (), 0, status)
    climb = _climb(picture, flip, pull, coupling)
    trace, ending = climb.to_the_top()
    if flip_probability is None:
        (flip,) = climb.here.noise
    if coupling is None:
        coupling = math.copysign(climb.here.pull, pull) / picture.neighbours
    return FlipEstimate(flip, coupling, trace, len(trace) - 1, ending)


def _climb(picture: NoisyPicture, flip: Any, pull: float, coupling: Any) -> Climb:
    """Start a climb from a guess; what is given does not move."""
    sign = math.copysign(1 / picture.neighbours, pull)

    def at(noise: tuple[Any, ...], size: Any) -> Point:
        found = picture.at(noise, sign * size if coupling is None else coupling)
        return found._replace(pull=size)

    noise = (flip if picture.given is None else picture.given,)
    return Climb(
        at,
        at(noise, abs(pull)),
        _PULLS,
        moves_noise=picture.given is None,
        moves_pull=coupling is None,
    )


def _first_guess(picture: NoisyPicture) -> tuple[tuple[float, float], Status | None]:
    """Guess flip probability and pull; a status if no better ones can be had."""
    pull = DEFAULT_COUPLING * 4
    total, n_pairs = picture.agreement()
    if n_pairs <= _DEVIATIONS**2:  # all of them could agree by chance
        return (DEFAULT_FLIP_PROBABILITY, pull), "TOO_SMALL"
    if abs(total) <= _DEVIATIONS * math.sqrt(n_pairs):
        return (MOST_FLIP, 0.0), "NO_STRUCTURE"
    flip = min(max(picture.nugget(), _EARLIEST, picture.least_flip), _LATEST)
    return (flip, math.copysign(pull, total)), None
