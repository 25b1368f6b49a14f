"""What each feature of a row says for one class against another."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any, final

import numpy as np

from credo._types import F64, Label
from credo._validation.arrays import frozen
from credo.classifiers.naive.parts import ColumnNames
from credo.classifiers.naive.sparse import SparseRows
from credo.classifiers.naive.terms import Term
from credo.exceptions import InputError


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


#: Lines of the repr, and characters of what stands on the left of each.
_SHOWN, _WIDEST = 12, 40


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


def contributions(
    terms: tuple[Term, ...], rows: Any, pair: tuple[int, int], names: ColumnNames
) -> list[tuple[Any, Any, float]]:
    """List feature, value and what it adds to the log odds of a pair of classes, for one row."""
    listed: list[tuple[int, Any, Any, float]] = []
    sums, cells = np.zeros(2), rows.values(0)
    for term in terms:
        columns, logs = term.part.columns, term.contributions(rows, 0)[list(pair)]
        sums += logs.sum(axis=1)
        with np.errstate(invalid="ignore"):
            shares = np.nan_to_num(logs[0] - logs[1], posinf=np.inf, neginf=-np.inf).tolist()
        if len(shares) < len(columns):  # one event
            values = tuple(cells[c] for c in columns)
            listed.append((columns[0], names.keys(term.part)[0], values, shares[0]))
            continue
        sparse = isinstance(rows, SparseRows)
        shown = np.flatnonzero(shares).tolist() if sparse else range(len(columns))
        for c in shown:
            j = columns[c]
            listed.append((j, names.names[j], cells[j], shares[c]))
    if np.isneginf(sums).all():
        raise InputError(
            f"{names.owner}.explain: the row is impossible under both classes, so there are no "
            "log odds. Pass smoothing > 0, or compare other classes."
        )
    return [each[1:] for each in sorted(listed, key=lambda each: each[0])]


def sorted_explanation(
    labels: tuple[Label, Label], prior: float, parts: list[tuple[Any, Any, float]]
) -> Explanation:
    """Sort (feature, value, contribution) by size; equals keep their order."""
    amounts = np.array([amount for _, _, amount in parts], dtype=np.float64)
    order = np.argsort(-np.abs(amounts), kind="stable")
    return Explanation(
        *labels,
        features=tuple(parts[i][0] for i in order),
        values=tuple(parts[i][1] for i in order),
        contributions=frozen(amounts[order]),
        prior=prior,
    )
