"""Maps of probabilities decided pixel by pixel under a loss, a block of pixels at a time."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64, Bool, Int, Labels
from credo._validation.arrays import as_number
from credo._validation.labels import hint, listing, names_in
from credo._validation.probabilities import block_rows, blocks, tolerance
from credo.decisions import Loss, decide
from credo.decisions.loss import as_loss
from credo.exceptions import InputError, LabelError
from credo.posterior import PosteriorMap

#: A plane of numbers, float32 or float64 as the map has it.
Plane: TypeAlias = npt.NDArray[Any]

#: What the reject act of a cost is called; a tuple, so that no label of an image is in its way.
_REJECT = ("reject",)


class MapDecision(NamedTuple):
    """What was decided for each pixel, and what that is expected to cost."""

    labels: npt.NDArray[Any]  #: the label chosen; the most probable one where rejected
    rejected: Bool  #: whether the act chosen is the reject act
    risk: Plane  #: expected loss of the act chosen, in the floating type of the map


def decide_map(posterior: PosteriorMap, loss: Loss | float | None, who: str) -> MapDecision:
    r"""Choose the act with the least expected loss for each pixel of a map.

    .. math:: a^*(i) = \arg\min_a \sum_k L_{ka}\, p_i(k)

    Parameters
    ----------
    posterior
        Probabilities of the labels, for each pixel.
    loss
        None for the most probable label; a number for zero-one losses with a reject act of that
        cost; or a loss with the labels for truths, whose acts are labels or its reject act.
    who
        Name of the caller, for messages.

    Returns
    -------
    MapDecision
        Labels, rejected pixels and risk. Rejected pixels keep their most probable label.

    Raises
    ------
    LabelError
        If the truths are not the labels, or an act is neither a label nor the reject act.
    InputError
        If the loss is none, or a cost is negative.

    See Also
    --------
    credo.decide : The same for rows; the acts are the same, also where some are tied.

    Notes
    -----
    Time O(n K A), and a few megabytes beyond the map and the answer. For two labels and a cost
    there is one comparison per pixel, of the smaller probability with the cost; only the few pixels
    within rounding of a tie are decided in full.

    References
    ----------
    .. [1] C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE Transactions on
       Information Theory 16 (1970), pages 41-46.

    Examples
    --------
    >>> from credo.images.deciding import decide_map
    >>> from credo.posterior import PosteriorMap
    >>> row = PosteriorMap([[[0.9, 0.1], [0.45, 0.55], [0.2, 0.8]]], ["sky", "sea"])
    >>> choice = decide_map(row, 0.3, "example")
    >>> choice.labels
    array([['sky', 'sea', 'sea']], dtype='<U3')
    >>> choice.rejected
    array([[False,  True, False]])
    >>> choice.risk.round(3)
    array([[0.1, 0.3, 0.2]])
    """
    if loss is None:
        sure = np.zeros(posterior.shape, dtype=np.bool_)
        return MapDecision(posterior.best, sure, 1 - posterior.confidence)
    planes = [posterior.of(label).reshape(-1) for label in posterior.labels]
    pixels = _Pixels(planes, loss_for(loss, posterior.labels, who), posterior.labels)
    choice = MapDecision(
        posterior.best.reshape(-1),
        np.empty(pixels.n, dtype=np.bool_),
        np.empty(pixels.n, dtype=planes[0].dtype),
    )
    if isinstance(loss, Loss) or len(planes) != 2:
        pixels.decide_all(choice)
    else:
        pixels.weigh(float(loss), choice)
    return MapDecision(*(each.reshape(posterior.shape) for each in choice))


def _cost(cost: Any, who: str) -> float:
    """Check the cost of rejecting."""
    number = as_number(cost, who, "loss")
    if number < 0:
        raise InputError(
            f"The loss of {who}, as a number, is the cost of rejecting a pixel: at least 0. Got "
            f"{number:g}, with which every pixel would be rejected."
        )
    return number


def loss_for(loss: Loss | float, labels: Labels, who: str) -> Loss:
    """Make a loss of the cost of rejecting, or check one for the labels of a map."""
    if not isinstance(loss, Loss):
        return Loss.zero_one(labels).with_reject(_cost(loss, who), _REJECT)
    known = as_loss(loss, who, per_row=False)
    known.rows_for(labels, who)
    odd = [act for act in known.acts if act not in labels and act != known.reject]
    if odd:
        raise LabelError(
            f"{who}: the act {odd[0]!r} of the loss is neither a label of the image nor the "
            f"loss's reject act. Labels: {listing(labels)}.{hint(odd[0], labels)} Name the reject "
            "act with Loss(…, reject=…), or add one with Loss.with_reject(cost)."
        )
    return known


class _Pixels:
    """Planes of probabilities, flat, and a loss to decide them under."""

    def __init__(self, planes: list[Plane], loss: Loss, labels: Labels) -> None:
        self._planes, self._loss, self._labels = planes, loss, labels
        self.n = planes[0].size
        # what stands in the map for each act: its label, or anything for the reject act
        known = [labels.index(act) if act != loss.reject else 0 for act in loss.acts]
        self._names = names_in(labels)[known]

    def decide_all(self, choice: MapDecision) -> None:
        """Decide all pixels in full."""
        for block in blocks(self.n, block_rows(3 * len(self._planes))):
            choice.risk[block] = self._decide(block, choice)

    def _decide(self, where: slice | Int, choice: MapDecision) -> F64:
        """Decide some pixels from their probabilities, and give the risk."""
        rows = np.stack([plane[where] for plane in self._planes], axis=1).astype(np.float64)
        totals = rows.sum(axis=1, keepdims=True)
        if np.abs(totals - 1).max() > tolerance(len(self._labels)):  # float32 that was worked on
            rows /= totals
        decided = decide(rows, self._loss, self._labels)
        rejected = choice.rejected[where] = decided.rejected
        chosen = self._names[decided.act_index]
        choice.labels[where] = np.where(rejected, choice.labels[where], chosen)
        return decided.risk

    def weigh(self, cost: float, choice: MapDecision) -> None:
        """Compare the risk of the better of two labels with the cost of rejecting.

        The smaller probability over the sum of both, and the cost, are off by at most a unit of
        rounding each; ``decide`` takes acts for tied that are within four units or so. What is
        further than eight units from a tie is therefore decided alike; the rest is left to it.
        """
        kind = choice.risk.dtype
        limit, near = kind.type(cost), 8 * np.finfo(kind).eps
        for block in blocks(self.n, block_rows(4)):
            first, second = (plane[block] for plane in self._planes)
            risk = np.minimum(first, second)
            risk /= first + second
            np.greater(risk, limit, out=choice.rejected[block])
            np.minimum(risk, limit, out=choice.risk[block])
            tied = np.abs(risk - limit) <= near
            tied |= risk >= 0.5 - near
            if tied.any():
                self._decide(block.start + np.flatnonzero(tied), choice)
