"""``Restoration``: a restored image, how sure each pixel is, and how it was found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from credo._results import Drawable
from credo._types import F64, Bool
from credo._validation.arrays import frozen, positive_int
from credo.exceptions import InputError
from credo.graphs import GridField
from credo.images.coding import CodedImage
from credo.images.deciding import decide_map
from credo.inference.grids.engine import GridSettings, Messages, messages_on
from credo.posterior import PosteriorMap

Plane = npt.NDArray[Any]


class Energies(NamedTuple):
    """The energy U of the noisy image and of the restored one; larger is better."""

    noisy: float
    restored: float


class Trace(NamedTuple):
    """What each sweep did: the largest change of a message, and U of the best image after it."""

    residuals: F64
    energies: F64


class Learnt(NamedTuple):
    """The numbers that a plane was restored with, given or estimated."""

    flip_probability: Any
    coupling: Any
    sigma: float | None
    status: str = "GIVEN"


@dataclass(frozen=True, slots=True, eq=False)
class Channel:
    """One plane of a restoration."""

    seen: Plane  #: the labels of the noisy plane
    labels: Plane  #: the labels decided on
    values: Plane  #: what the image shows: the labels, or for grey levels the posterior mean
    posterior: PosteriorMap | None
    rejected: Bool
    field: GridField
    settings: GridSettings | None  #: how messages were passed; None if none were
    sweeps: int  #: how many times
    status: str  #: and how that ended
    learnt: Learnt
    mean: Any = None  #: the levels whose mean is shown; None shows the labels
    loss: Any = None  #: what the labels were decided with

    def energies(self) -> Energies:
        """Give U before and after."""
        return Energies(self.field.energy(self.seen), self.field.energy(self.labels))


@final
class Restoration(Drawable):
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

    def __init__(
        self,
        coded: CodedImage,
        channels: tuple[Channel, ...],
        method: str,
    ) -> None:
        self._coded = coded
        self.image: npt.NDArray[Any] = coded.restore([channel.values for channel in channels])
        self.channels = channels
        self.method = method
        self.sweeps = max(channel.sweeps for channel in channels)
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
        each = [channel.energies() for channel in self.channels]
        return Energies(sum(e.noisy for e in each), sum(e.restored for e in each))

    @cached_property
    def trace(self) -> Trace:
        """What each sweep did. The sweeps are made once more, when this is first asked for."""
        moved, energies = np.zeros(self.sweeps), np.zeros(self.sweeps)
        for channel in self.channels:
            messages, now = self._messages(channel), 0.0
            for sweep in range(channel.sweeps):
                moved[sweep] = max(moved[sweep], messages.advance_one())
                now = channel.field.energy(messages.posterior().best)
                energies[sweep] += now
            energies[channel.sweeps :] += now  # at rest, while other colours go on
        return Trace(frozen(moved), frozen(energies))

    def snapshots(self, sweeps: Iterable[int] = (1, 2, 5, 10, 20)) -> list[npt.NDArray[Any]]:
        """Give the image as it was after some numbers of sweeps, which are made once more.

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
        numbers = [positive_int(number, "snapshots", "sweeps", least=0) for number in sweeps]
        if sorted(numbers) != numbers:
            raise InputError(f"The sweeps of snapshots must not go down. Got {numbers}.")
        every = [self._messages(channel) for channel in self.channels]
        found = []
        for last, number in pairwise([0, *numbers]):
            for channel, messages in zip(self.channels, every, strict=True):
                most = channel.sweeps if channel.status == "CONVERGED" else number
                messages.advance(max(0, min(number, most) - last))
            planes = [
                values_of(messages.posterior(), channel.mean, channel.loss)
                for messages, channel in zip(every, self.channels, strict=True)
            ]
            found.append(self._coded.restore(planes))
        return found

    def __repr__(self) -> str:
        height, width = self.image.shape[:2]
        ended = ", ".join(dict.fromkeys(channel.status for channel in self.channels))
        learnt = ", ".join(dict.fromkeys(channel.learnt.status for channel in self.channels))
        return (
            f"<Restoration: {height}x{width} pixels, {self.method}, {self.sweeps} sweeps, {ended}; "
            f"learning: {learnt}>"
        )

    def _messages(self, channel: Channel) -> Messages:
        """Begin again with the messages of a channel."""
        if channel.settings is None:
            raise InputError("A graph cut makes no sweeps. Use method='sum-product'.")
        return messages_on(channel.field, channel.settings)

    def _each(self, get: Callable[[Channel], Any]) -> Any:
        """Give what the only channel has, or what each of several has."""
        found = tuple(get(channel) for channel in self.channels)
        return found[0] if len(found) == 1 else found


def values_of(posterior: PosteriorMap, mean: Any, loss: Any) -> Plane:
    """Give the mean of levels, if they are given, or the labels that a loss decides on."""
    if mean is None:
        return decide_map(posterior, loss, "denoise").labels
    from credo.images.grey import expected_grey  # noqa: PLC0415 - not for two values

    return expected_grey(posterior.probabilities, mean)
