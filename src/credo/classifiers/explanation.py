"""What features say for one class against another: of a row, and as a linear form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, final

import numpy as np

from credo import _checks as check
from credo._types import F64, Label
from credo.classifiers.naive_terms import Term
from credo.exceptions import InputError

#: Lines of the repr, and characters of what stands on the left of each.
_SHOWN, _WIDEST = 12, 40


@final
@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    r"""Split the log odds of a row into what each feature adds.

    .. math:: \log \frac{p(a \mid x)}{p(b \mid x)} = \log \frac{\pi_a}{\pi_b}
              + \sum_j \log \frac{p(x_j \mid a)}{p(x_j \mid b)}

    Attributes
    ----------
    label, against : label
        The classes a and b.
    features : tuple
        Names of the features, or of groups of them, the largest contribution first.
    values : tuple
        What the row holds there.
    contributions : ndarray of shape (n_features,)
        What each adds to the log odds of a; negative ones speak for b.
    prior : float
        What the priors add.

    Notes
    -----
    Sorted by size; of equals, the first column first. Missing values add nothing.

    References
    ----------
    .. [1] I. J. Good, *Probability and the Weighing of Evidence*, 1950, chapter 6.

    Examples
    --------
    >>> import credo
    >>> X = [["red", 1], ["red", 0], ["blue", 0], ["red", 1]]
    >>> model = credo.NaiveBayes().fit(X, ["stop", "stop", "go", "stop"])
    >>> model.explain(["red", 0])
    'stop' against 'go': log odds +1.569
      prior                 +1.099
      x0 = 'red'            +0.981
      x1 = 0                -0.511
    """

    label: Label
    against: Label
    features: tuple[Any, ...]
    values: tuple[Any, ...]
    contributions: F64
    prior: float

    @property
    def log_odds(self) -> float:
        """Log odds of the class against the other: the sum of all contributions."""
        return float(self.prior + self.contributions.sum())

    def __repr__(self) -> str:
        rows = zip(self.features, self.values, self.contributions, strict=True)
        lines = [("prior", self.prior)]
        lines += [(f"{_called(f)} = {_short(v)}", c) for f, v, c in islice(rows, _SHOWN)]
        rest = self.contributions[_SHOWN:]
        if rest.size:
            lines.append((f"{rest.size} more", float(rest.sum())))
        title = f"{self.label!r} against {self.against!r}: log odds {self.log_odds:+.3f}"
        width = max(20, *(min(len(text), _WIDEST) for text, _ in lines))
        return "\n".join([title, *(_line(text, amount, width) for text, amount in lines)])


def _line(text: str, amount: float, width: int) -> str:
    """Write one line of the table."""
    text = text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."
    return f"  {text:<{width}}  {amount:+.3f}"


def _called(feature: Any) -> str:
    """Name a feature; one without a name by its number."""
    return f"x{feature}" if isinstance(feature, int) else str(feature)


def _short(value: Any) -> str:
    """Write a value in a few characters."""
    if isinstance(value, tuple):
        return f"({', '.join(_short(each) for each in value)})"
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


def explain(
    terms: tuple[Term, ...],
    rows: Any,
    pair: tuple[int, int],
    labels: tuple[Label, Label],
    prior: float,
) -> Explanation:
    """Split the log odds of one row, of a pair of classes, by feature, the largest first."""
    listed: list[tuple[int, Any, Any, float]] = []
    sums, cells, names = np.zeros(2), rows.values(0), terms[0].names
    for term in terms:
        columns, logs = term.part.columns, term.contributions(rows, 0)[list(pair)]
        sums += logs.sum(axis=1)
        with np.errstate(invalid="ignore"):
            shares = np.nan_to_num(logs[0] - logs[1], posinf=np.inf, neginf=-np.inf).tolist()
        if len(shares) < len(columns):  # one event
            values = tuple(cells[c] for c in columns)
            listed.append((columns[0], names.keys(term.part)[0], values, shares[0]))
            continue
        shown = np.flatnonzero(shares).tolist() if term.part.is_sparse else range(len(columns))
        for c in shown:
            j = columns[c]
            listed.append((j, names.names[j], cells[j], shares[c]))
    if np.isneginf(sums).all():
        raise InputError(
            f"{names.owner}.explain: the row is impossible under both classes, so there are no "
            "log odds. Pass smoothing > 0, or compare other classes."
        )
    ordered = sorted(listed, key=lambda each: (-abs(each[3]), each[0]))
    return Explanation(
        *labels,
        features=tuple(each[1] for each in ordered),
        values=tuple(each[2] for each in ordered),
        contributions=check.frozen(np.array([each[3] for each in ordered], dtype=np.float64)),
        prior=prior,
    )


@final
@dataclass(frozen=True, slots=True, eq=False)
class LogOddsWeights:
    r"""Hold the linear form of the log odds of one class against another.

    .. math:: \log \frac{p(a \mid x)}{p(b \mid x)} = w \cdot T(x) + w_0, \qquad
              w = \eta_a - \eta_b, \quad w_0 = A_b - A_a + \log \frac{\pi_a}{\pi_b}

    Attributes
    ----------
    label, against : label
        The classes a and b.
    weights : ndarray of shape (S,)
        Weights w, one per sufficient statistic.
    intercept : float
        Offset :math:`w_0`.
    statistics : tuple of str
        What each weight multiplies.

    Notes
    -----
    ``w, w0 = model.log_odds_weights(a, b)`` unpacks the two. Rows of T are given by
    ``model.sufficient_statistics(X)``.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 4.2.4.

    Examples
    --------
    >>> import credo
    >>> X, y = [[0], [1], [1], [1], [0], [0]], [0, 0, 0, 1, 1, 1]
    >>> model = credo.NaiveBayes(smoothing=0).fit(X, y)
    >>> w, w0 = model.log_odds_weights(1, 0)
    >>> w.round(3), round(w0, 3)  # log(1/3 / (2/3)) - log(2/3 / (1/3)), log(2/3 / (1/3))
    (array([-1.386]), 0.693)
    """

    label: Label
    against: Label
    weights: F64
    intercept: float
    statistics: tuple[str, ...]

    def __iter__(self) -> Iterator[Any]:
        """Unpack weights and intercept."""
        yield self.weights
        yield self.intercept


def linear_form(
    terms: tuple[Term, ...], pair: tuple[int, int], labels: tuple[Label, Label], prior: float
) -> LogOddsWeights:
    """Join the natural parameters of all terms, and the log odds of the priors."""
    weights, offset, statistics = [], prior, list[str]()
    for term in terms:
        natural, partition = (each[list(pair)] for each in term.natural)
        with np.errstate(invalid="ignore"):
            weights.append(natural[0] - natural[1])
            offset += float((partition[1] - partition[0]).sum())
        statistics += term.statistic_names()
    w = np.concatenate(weights)
    if not (np.isfinite(w).all() and np.isfinite(offset)):
        first = statistics[int(np.isfinite(w).argmin())]
        raise InputError(
            f"{terms[0].names.owner}.log_odds_weights: the weight of {first} is infinite, because "
            "a probability is zero or one. Pass smoothing > 0."
        )
    return LogOddsWeights(*labels, check.frozen(w), offset, tuple(statistics))
