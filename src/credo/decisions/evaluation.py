"""Decisions on labelled rows: what they cost, who got which, and whether the posterior said so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from credo import _checks as check
from credo._results import Drawable, Plain, html_table, number
from credo._types import F64, Int, Label, Labels, RandomState
from credo.decisions._decide import Decisions, decide
from credo.decisions.curves import (
    CostCurve,
    NetBenefit,
    RiskCoverage,
    RocCurve,
    cost_curve,
    net_benefit,
    roc_curve,
    trace_coverage,
)
from credo.decisions.labelled_rows import LabelledRows, index_of, positive_weights
from credo.decisions.loss import Loss, as_loss, html_matrix, text_table
from credo.decisions.reliability import Calibration, calibrate
from credo.exceptions import InputError, ShapeError

#: Numbers drawn at once by the bootstrap: eight megabytes of float64.
_DRAWS_AT_ONCE = 2**20
#: Drawing a count costs about as much as drawing this many rows (measured with NumPy's generator).
_ROWS_PER_COUNT = 8
_MEAN = "expected_loss"


def _act_index(acts: Any, known: Labels, n_rows: int, who: str) -> Int:
    """Return the position among the acts ``known`` of that of each row, by name or as decided."""
    if isinstance(acts, Decisions) and acts.loss.acts == known:
        index = np.atleast_1d(acts.act_index)
    else:
        named = np.atleast_1d(acts.acts) if isinstance(acts, Decisions) else acts
        index = index_of(named, known, "act", who)
    if len(index) != n_rows:
        raise ShapeError(
            f"{who}: y has {n_rows} rows and there are {len(index)} acts. Pass one act per row."
        )
    return index


# --- mean loss ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class ExpectedLoss(Plain):
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

    def interval(self) -> str:
        """Write the interval in words, such as ``95 % interval 0.1 to 0.2``."""
        if self.low is None or self.high is None:
            return "no interval"
        return f"{100 * self.level:g} % interval {number(self.low)} to {number(self.high)}"

    def __repr__(self) -> str:
        ratio = "not comparable, because that is not positive"
        if self.normalised is not None:
            ratio = f"normalised {number(self.normalised)}"
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
        The true class of each row.
    acts : Decisions, or array-like of shape (n,)
        The act taken in each row, by name.
    loss
        Losses by true class and act; one matrix, or one per row.
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
    truth = index_of(y, as_loss(loss, _MEAN).truths, "truth", _MEAN)
    act = _act_index(acts, loss.acts, len(truth), _MEAN)
    weight, kept = positive_weights(sample_weight, len(truth), _MEAN)
    loss = as_loss(loss, _MEAN, n_rows=len(truth), kept=kept)
    if kept is not None:
        truth, act = truth[kept], act[kept]
    return _mean_loss(truth, act, weight, loss, (level, n_bootstrap, random_state))


def _mean_loss(
    truth: Int, act: Int, weight: F64, loss: Loss, bootstrap: tuple[float, int, RandomState]
) -> ExpectedLoss:
    """Return the mean loss of acts under truths, both by position in the loss."""
    level, n_bootstrap, random_state = bootstrap
    level = check.level(level, f"level of {_MEAN}")
    n_bootstrap = check.count(n_bootstrap, f"n_bootstrap of {_MEAN}", least=0)
    losses = loss.of(truth, act)
    value = float(weight @ losses / weight.sum())
    if loss.is_per_row:
        totals = weight @ loss.matrix[np.arange(len(truth)), truth]
    else:
        totals = np.bincount(truth, weight, len(loss.truths)) @ loss.matrix
    constant = int(totals.argmin())  # the act that costs least if always taken
    least = float(totals[constant] / weight.sum())
    low = high = None
    if n_bootstrap:
        rng = check.generator(random_state, f"random_state of {_MEAN}")
        cells = None if loss.is_per_row else truth * len(loss.acts) + act
        means = _bootstrap_means(losses, weight, cells, n_bootstrap, rng)
        low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2]).tolist()
    ratio = value / least if least > 0 else None
    return ExpectedLoss(value, low, high, level, loss.acts[constant], least, ratio, len(truth))


def _bootstrap_means(
    losses: F64, weight: F64, cells: Int | None, n_bootstrap: int, rng: np.random.Generator
) -> F64:
    """Return weighted mean losses of bootstrap samples.

    Rows of the same cell (truth, act) and weight are drawn together, as one count, if there are so
    many of them that this is faster.
    """
    n_rows, first, counts = len(losses), np.arange(len(losses)), np.ones(len(losses))
    if cells is not None:
        levels, code = np.unique(weight, return_inverse=True)
        group = cells * len(levels) + code
        _, first, counts = np.unique(group, return_index=True, return_counts=True)
    grouped = len(first) * _ROWS_PER_COUNT <= n_rows
    if not grouped:
        first = np.arange(n_rows)
    terms = np.stack([losses[first] * weight[first], weight[first]])
    means = []
    for part in check.blocks(n_bootstrap, max(1, _DRAWS_AT_ONCE // len(first))):
        n_draws = part.stop - part.start
        if grouped:
            total, size = (rng.multinomial(n_rows, counts / n_rows, n_draws) @ terms.T).T
        else:
            chosen = rng.integers(n_rows, size=(n_draws, n_rows))
            total, size = (term.take(chosen).sum(axis=1) for term in terms)
        means.append(total / size)
    return np.concatenate(means)


# --- confusion ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Confusion(Drawable, Plain):
    """Counts of rows by true class and act. Made by ``confusion_matrix``.

    Attributes
    ----------
    counts : ndarray of shape (K, A)
        Rows are true classes, columns are acts; sums of weights if there were weights.
    truths, acts
        Names of the rows and columns.
    reject
        Which act is the reject act, or None.
    """

    counts: F64
    truths: Labels
    acts: Labels
    reject: Label | None = None
    _also = ("accuracy", "coverage")

    def normalised(self, over: Literal["truth", "act", "all"] = "truth") -> F64:
        """Divide the counts by their sum over each truth, each act, or all.

        A truth or an act that never occurred keeps its zeros.
        """
        axes = {"truth": 1, "act": 0, "all": None}
        chosen = check.one_of(over, tuple(axes), "choice of Confusion.normalised")
        totals = self.counts.sum(axis=axes[chosen], keepdims=True)
        return self.counts / np.where(totals > 0, totals, 1.0)

    @property
    def _is_decided(self) -> list[bool]:
        """Which acts are not the reject act."""
        return [self.reject is None or act != self.reject for act in self.acts]

    @property
    def coverage(self) -> float:
        """Share of the rows that were not rejected."""
        return float(self.counts[:, self._is_decided].sum() / self.counts.sum())

    @property
    def accuracy(self) -> float | None:
        """Share of right acts among the rows not rejected.

        An act is right if it is the name of the truth. None if all rows were rejected, or if some
        act is not the name of a truth, such as ``treat``: what is right is then for the loss
        to say.
        """
        total = self.counts[:, self._is_decided].sum()
        decided = [act for act, is_one in zip(self.acts, self._is_decided, strict=True) if is_one]
        if not total > 0 or not {*decided} <= {*self.truths}:
            return None
        right = [self.counts[self.truths.index(a), self.acts.index(a)] for a in decided]
        return float(sum(right) / total)

    def per_label(self) -> dict[Label, dict[str, float | None]]:
        """Return recall and precision of each truth that may also be an act's name.

        Recall is the share of the rows with this truth that got this act, rejected rows
        included; precision is the share of the rows with this act that had this truth. None where
        there are no such rows, or no such act.
        """
        found: dict[Label, dict[str, float | None]] = {}
        for label, row in zip(self.truths, self.counts, strict=True):
            a = self.acts.index(label) if label in self.acts else None
            totals = {
                "recall": row.sum(),
                "precision": 0.0 if a is None else self.counts[:, a].sum(),
            }
            found[label] = {
                name: float(row[a] / total) if a is not None and total > 0 else None
                for name, total in totals.items()
            }
        return found

    def __repr__(self) -> str:
        return text_table(self.counts, self.truths, self.acts)

    def _repr_html_(self) -> str:
        return html_matrix(self.counts, self.truths, self.acts)


def confusion_matrix(
    y: Any,
    acts: Any,
    loss: Loss | None = None,
    *,
    sample_weight: Any = None,
    labels: Iterable[Any] | None = None,
) -> Confusion:
    r"""Count the rows by true class and act.

    .. math:: N_{ka} = \sum_i w_i\, [y_i = k]\, [a_i = a]

    Parameters
    ----------
    y : array-like of shape (n,)
        The true class of each row.
    acts : Decisions, or array-like of shape (n,)
        The act taken in each row, by name. Decisions bring their loss with them.
    loss
        Gives the names, their order and the reject act. Without one, acts are labels too, and
        the names are those seen, sorted, or as they come if they cannot be sorted.
    sample_weight : array-like of shape (n,), optional
        Weight of each row.
    labels
        Names and their order, if there is no loss.

    Returns
    -------
    Confusion
        With the counts, the accuracy among the rows not rejected, and recall and precision.

    Raises
    ------
    LabelError
        If a truth or an act is not known; the row is named.
    InputError
        If both ``loss`` and ``labels`` are given.

    See Also
    --------
    expected_loss : The same counts, weighed by what each cell costs.

    Notes
    -----
    Time O(n), after sorting the names in O(n log n). Exact.

    Examples
    --------
    >>> import credo
    >>> from credo.decisions import confusion_matrix
    >>> loss = credo.Loss.zero_one(["ham", "spam"]).with_reject(0.2)
    >>> p = [[0.9, 0.1], [0.3, 0.7], [0.05, 0.95], [0.1, 0.9]]
    >>> choice = credo.decide(p, loss, labels=["ham", "spam"])
    >>> table = confusion_matrix(["ham", "ham", "spam", "ham"], choice)
    >>> table
    truth \ act  ham  spam  reject
    ham            1     1       1
    spam           0     1       0
    >>> table.coverage, round(table.accuracy, 4)
    (0.75, 0.6667)
    """
    who = "confusion_matrix"
    if loss is None and isinstance(acts, Decisions):
        loss = acts.loss
    if loss is not None and labels is not None:
        raise InputError(f"{who}: the names come from the loss; leave labels out.")
    if loss is not None:
        loss = as_loss(loss, who)
        truths, columns, reject, what = loss.truths, loss.acts, loss.reject, "truth"
    else:
        if labels is None:
            labels = check.distinct([*check.distinct(y), *check.distinct(acts)])
        truths = columns = check.labels(labels, f"labels of {who}")
        reject, what = None, "label"
    truth = index_of(y, truths, what, who)
    act = _act_index(acts, columns, len(truth), who)
    weight = check.weights(sample_weight, len(truth), f"sample weights of {who}")
    return Confusion(_count(truth, act, weight, truths, columns), truths, columns, reject)


def _count(truth: Int, act: Int, weight: F64, truths: Labels, acts: Labels) -> F64:
    """Sum up the weights by true class and act."""
    flat = np.bincount(truth * len(acts) + act, weight, len(truths) * len(acts))
    return check.frozen(flat.reshape(len(truths), len(acts)))


# --- all together ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ActRisk(Plain):
    """What the model expected of one act, and what came of it.

    Attributes
    ----------
    act
        Name of the act.
    share
        Share of the rows in which it was taken.
    predicted
        Mean risk of these rows under the posterior.
    actual
        Mean loss that occurred in these rows.
    """

    act: Label
    share: float
    predicted: float
    actual: float


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation(Drawable, Plain):
    """Decisions on labelled rows, seen from all sides. Made by ``evaluate``.

    Attributes
    ----------
    expected_loss
        Mean loss that occurred, with its interval and the best constant act.
    predicted_risk
        Mean risk that the posterior itself gives to the acts taken.
    by_act
        The same two numbers for each act that was taken.
    confusion
        Rows by true class and act.
    calibration
        Confidence next to accuracy, and the proper scores.
    risk_coverage
        Mean loss among the surest rows; None if the acts are not those of ``decide``, because
        the curve is that of its acts.
    """

    expected_loss: ExpectedLoss
    predicted_risk: float
    by_act: tuple[ActRisk, ...]
    confusion: Confusion
    calibration: Calibration
    risk_coverage: RiskCoverage | None
    _rows: LabelledRows
    _loss: Loss
    _also = ("gap",)

    @property
    def gap(self) -> float:
        """Mean loss minus predicted risk: by how much the posterior was too optimistic."""
        return self.expected_loss.value - self.predicted_risk

    def roc_curve(self, positive: Label | None = None) -> RocCurve:
        """Return the ROC curve of these rows; see ``credo.decisions.roc_curve``."""
        return roc_curve(self._rows, None, self._loss, positive=positive)

    def cost_curve(self, positive: Label | None = None) -> CostCurve:
        """Return the cost curve of these rows; see ``credo.decisions.cost_curve``."""
        return cost_curve(self._rows, None, self._loss, positive=positive)

    def net_benefit(self, positive: Label | None = None) -> NetBenefit:
        """Return the net benefit on these rows; see ``credo.decisions.net_benefit``."""
        return net_benefit(self._rows, None, self._loss, positive=positive)

    def _lines(self) -> dict[str, str]:
        """Return what there is to say, by its name."""
        lost, sure, curve = self.expected_loss, self.calibration, self.risk_coverage
        table, right = self.confusion, self.confusion.accuracy
        ratio = "" if lost.normalised is None else f" (normalised {number(lost.normalised)})"
        note = f" ({sure.n_impossible} true classes had probability 0)" if sure.n_impossible else ""
        share = "" if table.reject is None else f" of the {100 * table.coverage:.4g} % not rejected"
        lines = {
            "mean loss": f"{number(lost.value)} ({lost.interval()})",
            "predicted risk": f"{number(self.predicted_risk)}{self._verdict()}",
            "best constant act": f"{lost.constant_act!r} at {number(lost.constant_loss)}{ratio}",
            "calibration error": f"{number(sure.expected_calibration_error)} "
            f"(largest {number(sure.maximum_calibration_error)})",
            "Brier score": number(sure.brier),
            "log loss": f"{number(sure.log_loss)}{note}",
            "risk-coverage area": curve
            and f"{number(curve.area)} (best order {number(curve.optimal_area)})",
            "accuracy": "" if right is None else f"{number(right)}{share}",
        }
        return {name: text for name, text in lines.items() if text}

    def __repr__(self) -> str:
        body = [f"  {name:<20}{text}" for name, text in self._lines().items()]
        return "\n".join(
            [f"Evaluation of {self.expected_loss.n_rows} rows", *body, repr(self.confusion)]
        )

    def _repr_html_(self) -> str:
        caption = f"Evaluation of {self.expected_loss.n_rows:,} rows"
        lines = html_table(caption, ("measure", "value"), self._lines().items())
        return lines + self.confusion._repr_html_()

    def _verdict(self) -> str:
        """Say whether the predicted risk lies in the interval of the mean loss."""
        low, high = self.expected_loss.low, self.expected_loss.high
        if low is None or high is None:
            return ""
        slack = 1e-9 * (abs(low) + abs(high))  # sums in another order differ by less
        if self.predicted_risk < low - slack:
            return ", below that interval: the posterior is too optimistic"
        if self.predicted_risk > high + slack:
            return ", above that interval: the posterior is too pessimistic"
        return ", within that interval"


def evaluate(  # noqa: PLR0913 - five inputs and the two settings of the bootstrap
    y: Any,
    posterior: Any,
    loss: Loss | None = None,
    *,
    acts: Any = None,
    sample_weight: Any = None,
    n_bootstrap: int = 1000,
    random_state: RandomState = 0,
) -> Evaluation:
    r"""Report the loss of decisions next to the calibration of their posterior.

    The Bayes act has the least expected loss only under the true posterior. So the risk that
    the posterior predicts is shown beside the loss that occurred,

    .. math:: \sum_i w_i \sum_k p(k \mid x_i)\, L_{k a_i} \Big/ \sum_i w_i \quad\text{and}\quad
              \sum_i w_i L_{y_i a_i} \Big/ \sum_i w_i ,

    which agree on average if the posterior is calibrated.

    Parameters
    ----------
    y : array-like of shape (n,)
        The true class of each row.
    posterior : Posterior
        Probabilities of each row.
    loss
        Losses by true class and act; default: that of ``acts`` if they are Decisions, or zero-one.
    acts : Decisions, or array-like of shape (n,), optional
        The acts taken; by default those of ``decide(posterior, loss)``.
    sample_weight : array-like of shape (n,), optional
        Weight of each row.
    n_bootstrap
        Number of bootstrap samples for the interval of the mean loss; 0 for none.
    random_state
        Seed or generator of the bootstrap.

    Returns
    -------
    Evaluation
        Prints as a report; ``plot`` draws four panels, ``roc_curve().plot()`` another.

    Raises
    ------
    LabelError
        If truths, labels and the loss do not match; the row is named.
    ShapeError
        If the lengths differ.

    See Also
    --------
    expected_loss, confusion_matrix, calibration, risk_coverage : The parts.
    roc_curve, cost_curve, net_benefit : Curves for two labels, which are methods of the result too.

    Notes
    -----
    Time O(n K log n). All parts are exact but the bootstrap interval.

    References
    ----------
    .. [1] J. O. Berger, *Statistical Decision Theory and Bayesian Analysis*, 2nd ed., 1985,
       section 4.4.
    .. [2] A. P. Dawid, "The well-calibrated Bayesian", Journal of the American Statistical
       Association 77 (1982), pages 605-610.

    Examples
    --------
    A posterior that says 0.95 where 0.8 is true promises a fourth of the loss that occurs.

    >>> import credo
    >>> from credo.decisions import evaluate
    >>> rows = [[0.95, 0.05]] * 50 + [[0.05, 0.95]] * 50
    >>> y = ["a"] * 40 + ["b"] * 10 + ["b"] * 40 + ["a"] * 10
    >>> print(evaluate(y, credo.Posterior.from_probabilities(rows, ["a", "b"])))
    Evaluation of 100 rows
      mean loss           0.2 (95 % interval 0.13 to 0.29)
      predicted risk      0.05, below that interval: the posterior is too optimistic
      best constant act   'a' at 0.5 (normalised 0.4)
      calibration error   0.15 (largest 0.15)
      Brier score         0.365
      log loss            0.640181
      risk-coverage area  0.2 (best order 0.0214852)
      accuracy            0.8
    truth \ act   a   b
    a            40  10
    b            10  40
    """
    who = "evaluate"
    rows = LabelledRows.of(y, posterior, sample_weight, who)
    if loss is None:
        loss = acts.loss if isinstance(acts, Decisions) else Loss.zero_one(posterior.labels)
    own, order = rows.loss(loss, who)
    best = np.atleast_1d(decide(posterior, loss).act_index)
    act = best if acts is None else _act_index(acts, loss.acts, rows.n_given, who)
    is_best = acts is None or np.array_equal(act, best)
    if rows.kept is not None:
        act = act[rows.kept]
    truth, weight = order[rows.truth], rows.weight
    by_act = _by_act(rows, own, order, act)
    table = _count(truth, act, weight, own.truths, own.acts)
    return Evaluation(
        expected_loss=_mean_loss(truth, act, weight, own, (0.95, n_bootstrap, random_state)),
        predicted_risk=sum(entry.share * entry.predicted for entry in by_act),
        by_act=by_act,
        confusion=Confusion(table, own.truths, own.acts, own.reject),
        calibration=calibrate(rows),
        risk_coverage=trace_coverage(rows, loss) if is_best else None,
        _rows=rows,
        _loss=loss,
    )


def _by_act(rows: LabelledRows, loss: Loss, order: Int, act: Int) -> tuple[ActRisk, ...]:
    """Average predicted and actual loss over the rows of each act that was taken."""
    if loss.is_per_row:
        columns = loss.matrix[np.arange(len(act))[:, None], order, act[:, None]]
    else:
        columns = loss.matrix[order].T[act]
    predicted = np.einsum("ik,ik->i", rows.probabilities, columns)
    actual = loss.of(order[rows.truth], act)
    weight, expected, lost = (
        np.bincount(act, rows.weight * part, len(loss.acts)) for part in (1.0, predicted, actual)
    )
    return tuple(
        ActRisk(
            act=loss.acts[a],
            share=float(weight[a] / weight.sum()),
            predicted=float(expected[a] / weight[a]),
            actual=float(lost[a] / weight[a]),
        )
        for a in np.flatnonzero(weight)
    )
