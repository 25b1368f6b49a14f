"""``PosteriorMap``: the probability of each label at each pixel of a picture or a volume."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any, final

import numpy as np

from credo import _checks as check
from credo._results import Immutable
from credo._types import Labels
from credo.exceptions import InputError, ShapeError
from credo.posterior.posterior import Posterior, trusted

#: How far from one the sum of float32 probabilities may be. Rounding K entries to float32 moves
#: their sum by at most 6e-8; the rest is for a maker that multiplies and divides in float32.
_SINGLE_SLACK = 1e-5


@final
class PosteriorMap(Immutable):
    r"""Hold the probability of each label at each pixel, :math:`p(x_i = k \mid y)`.

    Stored as probabilities in float32 or float64, as given. Immutable.

    Parameters
    ----------
    probabilities : array-like of shape (…, K)
        Probabilities; those of a pixel must sum to one, to six decimals (to 1e-5 in float32).
    labels : iterable of K hashable names
        One name per entry of the last axis; they must differ.

    Raises
    ------
    InputError
        If a pixel's probabilities are not distributions (the pixel is named), or labels repeat.
    ShapeError
        If the last axis has not one entry per label, or there is no pixel.

    See Also
    --------
    Posterior : The probabilities of one case, or of rows without a place.

    Notes
    -----
    An array that can still be written to is copied; a read-only one is held as it is. Checks and
    answers work in blocks of a few megabytes: a float32 map is never copied as float64.
    ``PosteriorMap.of_two`` holds one plane in place of two.

    Examples
    --------
    >>> from credo.posterior import PosteriorMap
    >>> seen = PosteriorMap([[[0.9, 0.1], [0.4, 0.6]]], labels=["sky", "sea"])
    >>> seen
    <PosteriorMap: 1x2 pixels, labels 'sky', 'sea'>
    >>> seen.best
    array([['sky', 'sea']], dtype='<U3')
    >>> seen[0, 1]
    Posterior(sky 0.4, sea 0.6)
    """

    __slots__ = ("_held", "_labels", "_of_two")
    _held: Any
    _labels: Labels
    _of_two: bool

    def __init__(self, probabilities: Any, labels: Iterable[Any]) -> None:
        names = check.labels(labels, "labels of PosteriorMap")
        array = _as_floating(probabilities)
        if array.ndim < 2 or not array.size or array.shape[-1] != len(names):
            raise ShapeError(
                f"PosteriorMap needs shape (…, K) with K = {len(names)}, one entry per label, "
                f"and at least one pixel. Got shape {array.shape}."
            )
        _check_pixels(array)
        self._set(_held=_own(array), _labels=names, _of_two=False)

    @classmethod
    def of_two(cls, second: Any, labels: Iterable[Any]) -> PosteriorMap:
        """Make a map of two labels from the plane of the second one's probabilities.

        Parameters
        ----------
        second : array-like
            Probability of the second label at each pixel; the only plane that is held.
        labels : iterable of two hashable names
            The first label and the second.

        Returns
        -------
        PosteriorMap
            Of the shape of ``second``.

        Raises
        ------
        InputError
            If there are not two labels, or a probability is not between 0 and 1.
        ShapeError
            If the plane has no pixel.

        Examples
        --------
        >>> from credo.posterior import PosteriorMap
        >>> PosteriorMap.of_two([[0.25, 0.75]], labels=(-1, 1)).best
        array([[-1,  1]])
        """
        who = "PosteriorMap.of_two"
        names = check.labels(labels, f"labels of {who}")
        if len(names) != 2:
            raise InputError(f"{who} needs two labels. Got {len(names)}: {check.listing(names)}.")
        plane = _as_floating(second)
        if not (plane.ndim and plane.size):
            raise ShapeError(f"{who} needs a plane of at least one pixel. Got {plane.shape}.")
        for rows in _row_blocks(plane):
            part = plane[rows]
            if not (part.min() >= 0 and part.max() <= 1):
                pixel = _pixel(np.argmin((part >= 0) & (part <= 1)), rows, plane.shape)
                raise InputError(
                    f"{who} needs probabilities between 0 and 1. Got {plane[pixel]:g} at pixel "
                    f"{pixel}."
                )
        return PosteriorMap._of(_held=_own(plane), _labels=names, _of_two=True)

    @property
    def labels(self) -> Labels:
        """Names of the labels, in order."""
        return self._labels

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self._labels)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the picture or the volume, without the axis of the labels."""
        shape: tuple[int, ...] = self._held.shape
        return shape if self._of_two else shape[:-1]

    @property
    def probabilities(self) -> Any:
        """Probabilities, read-only, shape (…, K); a map of two makes them when asked."""
        return check.frozen(self._beside(self._held))

    def _beside(self, held: Any) -> Any:
        """Return what is held with the first label's probabilities beside the second's."""
        return np.stack([1 - held, held], axis=-1) if self._of_two else held

    def of(self, label: Any) -> Any:
        """Return the plane of the probabilities of ``label``, read-only."""
        k = check.position(label, self._labels, holder="PosteriorMap")
        if not self._of_two:
            return self._held[..., k]
        return self._held if k else check.frozen(1 - self._held)

    @property
    def best(self) -> Any:
        """The most probable label of each pixel; ties go to the first label."""
        names = check.names_array(self._labels)
        found = np.empty(self.shape, dtype=names.dtype)
        for rows, planes in self._blocks():
            names.take(_first_largest(planes), out=found[rows], mode="clip")
        return found

    @property
    def confidence(self) -> Any:
        """The largest probability of each pixel."""
        found = np.empty(self.shape, dtype=self._held.dtype)
        for rows, planes in self._blocks():
            found[rows] = reduce(np.maximum, planes)
        return found

    @property
    def entropy(self) -> Any:
        r"""Entropy of each pixel in nats, :math:`-\sum_k p_k \log p_k`."""
        found = np.empty(self.shape, dtype=self._held.dtype)
        for rows, planes in self._blocks():
            # a sum of float32 may exceed one by a rounding, and then its logarithm is positive
            found[rows] = np.maximum(0, -reduce(np.add, map(_weighted_log, planes)))
        return found

    def _blocks(self) -> Iterator[tuple[slice, list[Any]]]:
        """Return blocks of the first axis, each with one plane per label."""
        for rows in _row_blocks(self._held):
            part = self._held[rows]
            yield rows, [1 - part, part] if self._of_two else [*np.moveaxis(part, -1, 0)]

    def rows(self) -> Posterior:
        """Return the pixels as rows of a float64 ``Posterior``, in row-major order."""
        table = self._as_doubles(self._held).reshape(-1, self.n_labels)
        return trusted(self._labels, table)

    def __getitem__(self, pixel: Any) -> Posterior:
        """Return the posterior of one pixel: ``[row, column]``, or ``[z, row, column]``."""
        index = pixel if isinstance(pixel, tuple) else (pixel,)
        if not _is_pixel(index, self.shape):
            raise InputError(
                f"PosteriorMap gives one pixel of the shape {self.shape}, as {len(self.shape)} "
                f"whole numbers in range. Got {pixel!r}."
            )
        return trusted(self._labels, self._as_doubles(self._held[index]))

    def _as_doubles(self, held: Any) -> Any:
        """Return the probabilities of some pixels in float64, normalised to rounding."""
        p = self._beside(held.astype(np.float64))
        return p / p.sum(axis=-1, keepdims=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PosteriorMap):
            return NotImplemented
        if self._labels != other._labels or self.shape != other.shape:
            return False
        if self._of_two is other._of_two:
            return np.array_equal(self._held, other._held)
        return np.array_equal(self.probabilities, other.probabilities)

    __hash__ = None  # type: ignore[assignment] # equality is by value, as for arrays

    def __repr__(self) -> str:
        size = "x".join(str(length) for length in self.shape)
        return f"<PosteriorMap: {size} pixels, labels {check.listing(self._labels)}>"


def _as_floating(values: Any) -> Any:
    """Return an array of float32 or float64, as it is if it is one."""
    is_floating = isinstance(values, np.ndarray) and values.dtype in (np.float32, np.float64)
    is_plain = is_floating and not isinstance(values, np.ma.MaskedArray)
    return np.asarray(values) if is_plain else check.floats(values, "probabilities of PosteriorMap")


def _own(array: Any) -> Any:
    """Return the array itself if nobody can write to it, and a copy otherwise."""
    return array if check.is_read_only(array) else array.copy(order="K")


def _row_blocks(array: Any) -> Iterator[slice]:
    """Cut the first axis so that a block holds few megabytes in float64."""
    return check.blocks(len(array), check.block_rows(array.size // len(array)))


def _first_largest(planes: list[Any]) -> Any:
    """Return the position of the first plane that is the largest, pixel by pixel."""
    number = np.min_scalar_type(len(planes) - 1)
    top, best = planes[0].copy(), np.zeros(planes[0].shape, dtype=number)
    for k, plane in enumerate(planes[1:], start=1):
        larger = np.multiply(plane > top, k, dtype=number)
        np.maximum(best, larger, out=best)  # k grows: the last one to exceed all before it
        np.maximum(top, plane, out=top)
    return best


def _weighted_log(p: Any) -> Any:
    """Return p log p, which is zero at zero."""
    return p * np.log(p, out=np.zeros_like(p), where=p > 0)


def _is_pixel(index: tuple[Any, ...], shape: tuple[int, ...]) -> bool:
    """Tell whether the index is one whole number in range for each axis."""
    return len(index) == len(shape) and all(
        isinstance(i, (int, np.integer)) and not isinstance(i, bool) and -n <= i < n
        for i, n in zip(index, shape, strict=True)
    )


def _check_pixels(p: Any) -> None:
    """Check that each pixel has a distribution; name the first that has none."""
    slack = _SINGLE_SLACK if p.dtype == np.float32 else None
    for rows in _row_blocks(p):
        wrong = check.first_wrong_row(p[rows].reshape(-1, p.shape[-1]), slack=slack)
        if wrong is not None:
            pixel = _pixel(wrong, rows, p.shape[:-1])
            remedy = "Divide the weights of a pixel by their sum."
            fault = check.row_fault(p[pixel].astype(np.float64), remedy)
            raise InputError(f"PosteriorMap: pixel {pixel} {fault}")


def _pixel(number: Any, rows: slice, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the place of a pixel by its number in a block of rows."""
    row, *rest = np.unravel_index(int(number), (rows.stop - rows.start, *shape[1:]))
    return rows.start + int(row), *map(int, rest)
