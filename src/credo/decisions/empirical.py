"""``expected_loss``: what acts cost on labelled rows, with an interval and a yardstick."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from credo._types import F64, Int, Label, Labels, RandomState
from credo._validation.arrays import in_unit_interval, positive_int
from credo._validation.labels import positions
from credo._validation.probabilities import as_weights
from credo.decisions._text import number
from credo.decisions.act import Decisions
from credo.decisions.loss import Loss
from credo.exceptions import InputError, ShapeError
from credo.posterior import Posterior
from credo.posterior.rows import label_array

#: Numbers drawn at once by the bootstrap: eight megabytes of float64.
_DRAWS_AT_ONCE = 2**20
#: Drawing a count costs about as much as drawing this many rows (measured with NumPy's generator).
_ROWS_PER_COUNT = 8


@dataclass(frozen=True, slots=True)
class ExpectedLoss:
    """The mean loss of acts on labelled rows, next to that of the best constant act.

    Made by ``expected_loss``.

    Parameters
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

    def __str__(self) -> str:
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
    truth = index_of(y, loss.truths, owner, "truth")
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


# --- labelled rows, for all evaluations ---------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """The rows with a positive weight: position of the truth, posterior and weight of each."""

    truth: Int
    posterior: Posterior
    weight: F64
    kept: Int | None
    n_given: int

    @classmethod
    def of(cls, y: Any, posterior: Posterior, sample_weight: Any, owner: str) -> LabelledRows:
        """Check truths, posterior and weights against each other."""
        if not isinstance(posterior, Posterior):
            raise InputError(
                f"{owner} needs a Posterior. Got {type(posterior).__name__}. Make one with "
                "credo.Posterior.from_probabilities(p, labels)."
            )
        truth = index_of(y, posterior.labels, owner, "label")
        if len(truth) != posterior.n_rows:
            raise ShapeError(
                f"{owner}: y has {len(truth)} rows and the posterior {posterior.n_rows}; they "
                "must be the same rows."
            )
        weight, kept = positive_weights(sample_weight, len(truth), owner)
        if kept is None:
            return cls(truth, posterior, weight, kept, len(truth))
        return cls(truth[kept], posterior.rows(kept), weight, kept, len(truth))

    @property
    def probabilities(self) -> F64:
        """Probabilities of shape (n, K), for a single case too."""
        return np.atleast_2d(self.posterior.probabilities)

    def loss(self, loss: Loss, owner: str) -> Loss:
        """Give the loss of these rows."""
        return loss_of_rows(loss, self.kept, self.n_given, owner)


def index_of(values: Any, known: Labels, owner: str, what: str) -> Int:
    """Find the position of each entry of ``values`` among ``known``; at least one is needed."""
    index = positions(column(values), known, owner, what)
    if not index.size:
        raise InputError(f"{owner} needs at least one row. Got none.")
    return index


def column(values: Any) -> Any:
    """Make an array of names; a list of several types keeps them instead of turning to text."""
    if isinstance(values, (list, tuple)) and len({type(value) for value in values}) > 1:
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.asarray(values)


def act_index(acts: Any, loss: Loss, owner: str, n_rows: int) -> Int:
    """Find the position in ``loss.acts`` of the act of each row, by name or from Decisions."""
    if isinstance(acts, Decisions):
        taken = np.atleast_1d(acts.act_index).astype(np.intp)
        same = acts.loss.acts == loss.acts
        index = taken if same else _renamed(taken, acts.loss.acts, loss.acts, owner)
    else:
        index = index_of(acts, loss.acts, owner, "act")
    if len(index) != n_rows:
        raise ShapeError(
            f"{owner}: there are {n_rows} truths and {len(index)} acts; one act per row is needed."
        )
    return index


def _renamed(taken: Int, old: Labels, new: Labels, owner: str) -> Int:
    """Turn positions among the ``old`` acts into positions among the ``new`` ones."""
    return positions(label_array(old)[taken], new, owner, "act")


def positive_weights(weights: Any, n_rows: int, owner: str) -> tuple[F64, Int | None]:
    """Give the positive weights and which rows they belong to; None for all rows."""
    values = as_weights(weights, n_rows, owner)
    kept = np.flatnonzero(values > 0)
    return (values, None) if len(kept) == n_rows else (values[kept], kept)


def loss_of_rows(loss: Loss, kept: Int | None, n_rows: int, owner: str) -> Loss:
    """Check a loss per row for its length, and keep the matrices of the rows kept."""
    if not loss.is_per_row:
        return loss
    if len(loss.matrix) != n_rows:
        raise ShapeError(
            f"{owner}: the loss has {len(loss.matrix)} matrices for {n_rows} rows; one per row "
            "is needed."
        )
    return loss if kept is None else loss.per_row(loss.matrix[kept])


def without_reject(loss: Loss, owner: str) -> Loss:
    """Leave out the reject act."""
    if loss.reject is None:
        return loss
    keep = [i for i, act in enumerate(loss.acts) if act != loss.reject]
    if not keep:
        raise InputError(
            f"{owner}: the loss has no act but the reject act {loss.reject!r}. Add the acts to "
            "decide between."
        )
    return Loss(loss.matrix[..., keep], loss.truths, [loss.acts[i] for i in keep])


def losses_of(loss: Loss, truth: Int, act: Int) -> F64:
    """Give the loss of each row's act under its truth."""
    if loss.is_per_row:
        return loss.matrix[np.arange(len(truth)), truth, act]
    return loss.matrix[truth, act]


def _constant(loss: Loss, truth: Int, weight: F64) -> tuple[Label, float]:
    """Find the act that costs least if always taken; ties go to the first."""
    if loss.is_per_row:
        totals = weight @ loss.matrix[np.arange(len(truth)), truth]
    else:
        totals = np.bincount(truth, weights=weight, minlength=len(loss.truths)) @ loss.matrix
    best = int(totals.argmin())
    return loss.acts[best], float(totals[best] / weight.sum())


def plain_fields(result: Any) -> dict[str, Any]:
    """Turn a result that holds arrays into a dictionary of lists, numbers and names."""
    fields = {name: getattr(result, name) for name in result.__dataclass_fields__}
    return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in fields.items()}


# --- bootstrap ------------------------------------------------------------------------------------


def _groups(loss: Loss, truth: Int, act: Int) -> Int | None:
    """Give each row the number of its (truth, act) cell; None if each row has losses of its own."""
    return None if loss.is_per_row else truth * len(loss.acts) + act


def _bootstrap_means(
    losses: F64, cells: Int | None, weight: F64, n_bootstrap: int, random_state: RandomState
) -> F64:
    """Draw the weighted mean loss of bootstrap samples."""
    rng = np.random.default_rng(random_state)
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
    result: F64 = drawn @ terms
    return result


def _rows_drawn(rng: np.random.Generator, n_draws: int, _: Any, terms: F64) -> F64:
    """Sum ``terms`` (n, 2) over samples, drawn row by row."""
    chosen = rng.integers(len(terms), size=(n_draws, len(terms)))
    return np.stack([part.take(chosen).sum(axis=1) for part in terms.T.copy()], axis=1)
