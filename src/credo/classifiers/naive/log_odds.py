"""Log odds that are linear in the sufficient statistics: weights and offset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from credo._types import F64, Label
from credo._validation.arrays import frozen
from credo.classifiers.naive.parts import ColumnNames
from credo.classifiers.naive.terms import CategoricalTerm, GaussianTerm, LinearTerm, Term
from credo.exceptions import InputError

#: What the statistics of a family are called, x being the feature.
_STATISTICS = {
    "gaussian": ("{0}", "{0}²"),
    "bernoulli": ("{0}",),
    "poisson": ("{0}",),
    "exponential": ("{0}",),
    "gamma": ("log {0}", "{0}"),
    "beta": ("log {0}", "log(1 - {0})"),
    "multinomial": ("{0}",),
    "dirichlet": ("log {0}",),
}


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

    def with_prior(self, log_odds: float) -> LogOddsWeights:
        """Add the log odds of the priors to the offset."""
        return replace(self, intercept=self.intercept + log_odds)

    def __iter__(self) -> Iterator[Any]:
        """Unpack weights and intercept."""
        yield self.weights
        yield self.intercept


def linear_form(
    terms: tuple[Term, ...], a: int, b: int, labels: tuple[Label, Label], names: ColumnNames
) -> LogOddsWeights:
    """Join the natural parameters of all terms; the priors are added by the caller."""
    weights, offset, statistics = [], 0.0, []
    for term in terms:
        natural, partition = _natural(term, names)
        with np.errstate(invalid="ignore"):
            weights.append(natural[a] - natural[b])
            offset += float((partition[b] - partition[a]).sum())
        statistics += _named(term, names)
    w = np.concatenate(weights)
    if not (np.isfinite(w).all() and np.isfinite(offset)):
        first = statistics[int(np.isfinite(w).argmin())]
        raise InputError(
            f"{names.owner}.log_odds_weights: the weight of {first} is infinite, because a "
            "probability is zero or one. Pass smoothing > 0."
        )
    return LogOddsWeights(*labels, frozen(w), offset, tuple(statistics))


def _natural(term: Term, names: ColumnNames) -> tuple[F64, F64]:
    """Give natural parameters (K, S) and log partitions (K, D) of a term."""
    if term.part.family == "laplace":
        raise InputError(
            f"{names.owner}.log_odds_weights: the columns {names.of(term.part.columns)} are of the "
            "Laplace family. Its location is not a natural parameter, so the posterior is not a "
            "generalised linear model. Leave them out, or choose another family."
        )
    natural, partition = term.family.natural_parameters, term.family.log_partition
    k = len(natural)
    if isinstance(term, GaussianTerm):
        active = term.model.active
        natural, partition = natural * active[:, None], partition * active
    return natural.reshape(k, -1), partition.reshape(k, -1)


def _named(term: Term, names: ColumnNames) -> list[str]:
    """Name the statistics of a term."""
    columns = [names.called(j) for j in term.part.columns]
    if isinstance(term, CategoricalTerm):
        known = [f"[{columns[0]} = {value!r}]" for value in term.categories.values]
        return [*known, f"[{columns[0]} unknown]"][: term.family.mean.shape[1]]
    if term.part.family == "multivariate_gaussian":
        products = [f"{i} {j}" for i in columns for j in columns]
        return [str(c) for c in columns] + products
    return [text.format(c) for c in columns for text in _STATISTICS[term.part.family]]


def statistics_of(terms: tuple[Term, ...], rows: Any, block: slice) -> F64:
    """Give the sufficient statistics of dense rows, in the order of the weights."""
    parts = []
    n = block.stop - block.start
    for term in terms:
        if isinstance(term, CategoricalTerm):
            table = np.eye(len(term.categories.values) + 2, term.family.mean.shape[1])
            table[-1] = np.nan  # missing: what it would add is not known
            parts.append(table[term.codes(rows)[block]])
        elif isinstance(term, LinearTerm):
            parts.append(term.statistics(rows, block))
        else:
            x = rows.floats(term.part.columns, block)[:, None]
            parts.append(term.family.sufficient_statistics(x).reshape(n, -1))
    return np.concatenate(parts, axis=1)
