"""``expected_loss``: what acts cost on labelled rows, with an interval and a yardstick."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from credo._types import F64, Int, Label, RandomState
from credo._validation.arrays import generator, in_unit_interval, positive_int
from credo.decisions._text import number
from credo.decisions.labelled_rows import act_index, index_of, losses_of, positive_weights
from credo.decisions.loss import Loss
from credo.decisions.loss_matching import as_loss, loss_of_rows

#: Numbers drawn at once by the bootstrap: eight megabytes of float64.
_DRAWS_AT_ONCE = 2**20
#: Drawing a count costs about as much as drawing this many rows (measured with NumPy's generator).
_ROWS_PER_COUNT = 8


@dataclass(frozen=True, slots=True, repr=False)
class ExpectedLoss:
    """The mean loss of acts on labelled rows, next to that of the best constant act.

    Made by ``expected_loss``.

    Attributes
    ----------
    value
        Mean loss.
    low, high
        Bootstrap interval of the mean loss; None if none was asked for.
    level
        Confidence level of the interval.
    constant_act, constant_loss
        The single act that would have cost least on these rows, and its mean loss.
    normalised
        ``value / constant_loss``: below one, looking at each row paid. None if the constant act
        costs nothing or gains, because the ratio then says nothing.
    n_rows
        Number of rows with a positive weight.
    """

    value: float
    low: float | None
    high: float | None
    level: float
    constant_act: Label
    constant_loss: float
    normalised: float | None
    n_rows: int

    def to_dict(self) -> dict[str, Any]:
        """Give all fields as plain numbers and names."""
        return asdict(self)

    def interval(self) -> str:
        """Write the interval in words, such as ``95 % interval 0.1 to 0.2``."""
        if self.low is None or self.high is None:
            return "no interval"
        return f"{100 * self.level:g} % interval {number(self.low)} to {number(self.high)}"

    def __repr__(self) -> str:
        ratio = (
            "not comparable, because that is not positive"
            if self.normalised is None
            else f"normalised {number(self.normalised)}"
        )
        return (
            f"Mean loss {number(self.value)} on {self.n_rows} rows ({self.interval()})\n"
            f"Best constant act {self.constant_act!r}: {number(self.constant_loss)}; {ratio}"
        )


def expected_loss(  # noqa: PLR0913 - the three settings of the bootstrap belong to this call
    y: Any,
    acts: Any,
    loss: Loss,
    *,
    sample_weight: Any = None,
    level: float = 0.95,
    n_bootstrap: int = 1000,
    random_state: RandomState = 0,
) -> ExpectedLoss:
    r"""Average the loss that acts caused on labelled rows.

    .. math:: \bar L = \sum_i w_i\, L_{y_i a_i} \Big/ \sum_i w_i

    Parameters
    ----------
    y : array-like of shape (n,)
        The truth of each row.
    acts : Decisions, or array-like of shape (n,)
        The act taken in each row, by name.
    loss
        Losses by truth and act; one matrix, or one per row.
    sample_weight : array-like of shape (n,), optional
        How much each row counts. Rows of weight zero are left out.
    level
        Confidence level of the interval.
    n_bootstrap
        Number of bootstrap samples; 0 for no interval.
    random_state
        Seed or generator of the bootstrap.

    Returns
    -------
    ExpectedLoss
        The mean, its percentile interval, and the best constant act for comparison.

    Raises
    ------
    LabelError
        If a truth or an act is not one of the loss's; the row is named.
    ShapeError
        If the lengths differ.

    See Also
    --------
    credo.decide : The acts with the least expected loss under a posterior.
    evaluate : This, with the confusion matrix and the calibration.

    Notes
    -----
    The mean is exact. The interval resamples rows, each as likely as the next; a weight says how
    much a row counts, not that it was seen several times. Where rows share the truth, the act and
    the weight, their counts are drawn from a multinomial distribution, which is the same bootstrap
    at a cost that does not depend on n; with weights or losses of each row's own, each sample
    takes O(n). Memory stays within a few arrays of n numbers.

    References
    ----------
    .. [1] B. Efron, R. J. Tibshirani, *An Introduction to the Bootstrap*, 1993, section 13.3.

    Examples
    --------
    >>> import credo
    >>> from credo.decisions import expected_loss
    >>> loss = credo.Loss.class_costs({"fraud": 20, "fair": 1})
    >>> y = ["fair"] * 90 + ["fraud"] * 10
    >>> acts = ["fair"] * 85 + ["fraud"] * 14 + ["fair"]
    >>> print(expected_loss(y, acts, loss))
    Mean loss 0.25 on 100 rows (95 % interval 0.02 to 0.67)
    Best constant act 'fraud': 0.9; normalised 0.277778
    """
    owner = "expected_loss"
    level = in_unit_interval(level, owner, "level", open_ends=True)
    n_bootstrap = positive_int(n_bootstrap, owner, "n_bootstrap", least=0)
    truth = index_of(y, as_loss(loss, owner).truths, owner, "truth")
    act = act_index(acts, loss, owner, len(truth))
    weight, kept = positive_weights(sample_weight, len(truth), owner)
    loss = loss_of_rows(loss, kept, len(truth), owner)
    if kept is not None:
        truth, act = truth[kept], act[kept]
    losses = losses_of(loss, truth, act)
    value = float(weight @ losses / weight.sum())
    constant, constant_loss = _constant(loss, truth, weight)
    means = (
        _bootstrap_means(losses, _groups(loss, truth, act), weight, n_bootstrap, random_state)
        if n_bootstrap
        else None
    )
    tails = None if means is None else np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return ExpectedLoss(
        value=value,
        low=None if tails is None else float(tails[0]),
        high=None if tails is None else float(tails[1]),
        level=level,
        constant_act=constant,
        constant_loss=constant_loss,
        normalised=value / constant_loss if constant_loss > 0 else None,
        n_rows=len(truth),
    )


def _constant(loss: Loss, truth: Int, weight: F64) -> tuple[Label, float]:
    """Find the act that costs least if always taken; ties go to the first."""
    if loss.is_per_row:
        totals = weight @ loss.matrix[np.arange(len(truth)), truth]
    else:
        totals = np.bincount(truth, weights=weight, minlength=len(loss.truths)) @ loss.matrix
    best = int(totals.argmin())
    return loss.acts[best], float(totals[best] / weight.sum())


# --- bootstrap ------------------------------------------------------------------------------------


def _groups(loss: Loss, truth: Int, act: Int) -> Int | None:
    """Give each row the number of its (truth, act) cell; None if each row has losses of its own."""
    return None if loss.is_per_row else truth * len(loss.acts) + act


def _bootstrap_means(
    losses: F64, cells: Int | None, weight: F64, n_bootstrap: int, random_state: RandomState
) -> F64:
    """Draw the weighted mean loss of bootstrap samples."""
    rng = generator(random_state, "expected_loss")
    first, counts = np.arange(len(losses)), np.ones(len(losses))
    if cells is not None:
        levels, code = np.unique(weight, return_inverse=True)
        group = cells * len(levels) + code
        _, first, counts = np.unique(group, return_index=True, return_counts=True)
    grouped = len(first) * _ROWS_PER_COUNT <= len(losses)
    draw = _counts_drawn if grouped else _rows_drawn
    value, size = (losses[first], weight[first]) if grouped else (losses, weight)
    parts = []
    for n_draws in _portions(n_bootstrap, len(value)):
        sums = draw(rng, n_draws, counts, np.stack([value * size, size], axis=1))
        parts.append(sums[:, 0] / sums[:, 1])
    return np.concatenate(parts)


def _portions(total: int, width: int) -> Iterator[int]:
    """Cut ``total`` samples of ``width`` draws into portions of bounded size."""
    size = max(1, _DRAWS_AT_ONCE // width)
    for start in range(0, total, size):
        yield min(size, total - start)


def _counts_drawn(rng: np.random.Generator, n_draws: int, counts: Any, terms: F64) -> F64:
    """Sum ``terms`` (G, 2) over samples, drawn as counts per group."""
    n_rows = int(counts.sum())
    drawn = rng.multinomial(n_rows, counts / n_rows, size=n_draws)
    return drawn @ terms


def _rows_drawn(rng: np.random.Generator, n_draws: int, _: Any, terms: F64) -> F64:
    """Sum ``terms`` (n, 2) over samples, drawn row by row."""
    chosen = rng.integers(len(terms), size=(n_draws, len(terms)))
    return np.stack([part.take(chosen).sum(axis=1) for part in terms.T.copy()], axis=1)
