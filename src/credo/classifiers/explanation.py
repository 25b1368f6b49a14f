"""What features say for one class against another: of a row, and as a linear form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, final

from credo._results import html_table
from credo._types import F64, Label

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
        What each adds to the log odds of a; negative ones favour b.
    prior : float
        What the priors add, and the class biases of a text model, if it has them.

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
    'stop' against 'go': log odds +1.463
      prior                 +1.099
      x0 = 'red'            +0.875
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

    def _repr_html_(self) -> str:
        shown = zip(self.features, self.values, self.contributions.tolist(), strict=True)
        rows = [(_feature_name(f), _short(v), c) for f, v, c in islice(shown, _SHOWN)]
        caption = f"{self.label!r} against {self.against!r}: log odds {self.log_odds:+.3f}"
        header = ("feature", "value", "adds to the log odds")
        return html_table(
            caption, header, [("prior", "", self.prior), *rows], len(self.features) + 1
        )

    def __repr__(self) -> str:
        rows = zip(self.features, self.values, self.contributions, strict=True)
        lines = [("prior", self.prior)]
        lines += [(f"{_feature_name(f)} = {_short(v)}", c) for f, v, c in islice(rows, _SHOWN)]
        rest = self.contributions[_SHOWN:]
        if rest.size:
            lines.append((f"{rest.size} more", float(rest.sum())))
        title = f"{self.label!r} against {self.against!r}: log odds {self.log_odds:+.3f}"
        width = max(20, *(min(len(text), _WIDEST) for text, _ in lines))
        shown = [(t if len(t) <= _WIDEST else t[: _WIDEST - 3] + "...", c) for t, c in lines]
        return "\n".join([title, *(f"  {text:<{width}}  {c:+.3f}" for text, c in shown)])


def _feature_name(feature: Any) -> str:
    """Name a feature; one without a name by its number."""
    return f"x{feature}" if isinstance(feature, int) else str(feature)


def _short(value: Any) -> str:
    """Write a value in a few characters."""
    if isinstance(value, tuple):
        return f"({', '.join(_short(each) for each in value)})"
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


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
