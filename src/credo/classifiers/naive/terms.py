"""Terms: what each part adds to log p(x, k), for blocks of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, final

import numpy as np

from credo._types import F64, Bool, Int
from credo.classifiers.columns.categories import Categories
from credo.classifiers.columns.table import Table
from credo.classifiers.naive.counts import counts_of, refuse_infinite
from credo.classifiers.naive.parts import ColumnNames, Part
from credo.exceptions import InputError
from credo.families import AbstractFamily
from credo.families.class_gaussians import ClassGaussians

#: Stands for the logarithm of zero in products; what it scores is then made impossible.
_LEAST = -1e3
#: Gives the scores (K, B) of a block of rows.
Scorer = Callable[[slice], F64]


@dataclass(frozen=True, eq=False)
class Term(ABC):
    """One fitted part."""

    part: Part
    #: Its distributions: a batch of (K, D), or of (K,) if the columns are one event.
    family: AbstractFamily[Any]
    names: ColumnNames

    def __getstate__(self) -> dict[str, Any]:
        """Leave out tables that were made for scoring."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @abstractmethod
    def scorer(self, rows: Any, *, whole: bool) -> Scorer:
        """Get ready for rows: give what gives log p(x | k) of the columns of a block, (K, B).

        Unless ``whole``, a term that is the same for all classes may be left out.
        """

    @property
    def floored(self) -> Bool | None:
        """Where a variance was raised, (K, D); None if there is nothing to raise."""
        return None

    @property
    def unseen(self) -> Bool | None:
        """Where a class takes a distribution from all classes, (K, D); None if nowhere."""
        return None

    def contributions(self, rows: Any, row: int) -> F64:
        """Give what each column of one row adds, (K, D), or (K, 1) if they are one event."""
        x = rows.floats(self.part.columns, slice(row, row + 1))[0]
        logs = self.family.log_density(x)
        return logs[:, None] if self.part.is_vector else logs

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return self.family.n_parameters

    @property
    def width(self) -> int:
        """Numbers per row that scoring a block needs at once."""
        return len(self.part.columns)

    def of_class(self, k: int) -> AbstractFamily[Any]:
        """Give the distributions of one class."""
        family: Any = self.family
        parameters = [f.name for f in fields(family) if not f.name.startswith("_")]
        return type(family)(*(getattr(family, name)[k] for name in parameters))


@final
@dataclass(frozen=True, eq=False)
class GaussianTerm(Term):
    """Gaussian columns; constant ones have no part."""

    model: ClassGaussians
    #: Where the variance was raised, (K, D).
    raised: Bool
    #: Where nothing was observed, so that the distribution over all classes stands in, (K, D).
    borrowed: Bool

    @property
    def floored(self) -> Bool:
        """Where a variance was raised, (K, D)."""
        return self.raised

    @property
    def unseen(self) -> Bool:
        """Where the distribution over all classes stands in, (K, D)."""
        return self.borrowed

    def scorer(self, rows: Table, *, whole: bool) -> Scorer:  # noqa: ARG002 - always whole
        """Get ready for rows; see ``Term.scorer``."""

        def score(block: slice) -> F64:
            x = rows.floats(self.part.columns, block)
            scores = self.model.log_densities(x)
            odd = np.flatnonzero(~np.isfinite(scores.sum(axis=0)))
            if odd.size:
                refuse_infinite(x[odd], odd + block.start, self.part, self.names)
                scores[:, odd] = self.model.scores_of_observed(x[odd], "densities")
            return scores

        return score

    def contributions(self, rows: Table, row: int) -> F64:
        """Give what each column of one row adds; see ``Term.contributions``."""
        return np.where(self.model.active, super().contributions(rows, row), 0.0)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: mean and variance of each column that varies."""
        return 2 * self.model.n_classes * int(self.model.active.sum())


@dataclass(frozen=True, eq=False)
class LinearTerm(Term):
    r"""Scores :math:`\eta_k \cdot T(x) - A_k + \log h(x)` by one product of matrices."""

    @cached_property
    def _weights(self) -> tuple[F64, F64]:
        """Give natural parameters (K, S) and log partitions (K, D) or (K, 1)."""
        natural = self.family.natural_parameters
        k = len(natural)
        return natural.reshape(k, -1), self.family.log_partition.reshape(k, -1)

    def scorer(self, rows: Table, *, whole: bool) -> Scorer:
        """Get ready for rows; see ``Term.scorer``."""

        def score(block: slice) -> F64:
            scores = self._product(self.statistics(rows, block))
            if whole:
                x = rows.floats(self.part.columns, block)[:, None]
                scores += self.family.log_base(x).reshape(len(x), -1).sum(axis=1)
            return scores

        return score

    def statistics(self, rows: Table, block: slice) -> F64:
        """Give the sufficient statistics of a block, (B, S), NaN where missing."""
        x = rows.floats(self.part.columns, block)[:, None]
        return self.family.sufficient_statistics(x).reshape(len(x), -1)

    def _product(self, statistics: F64) -> F64:
        """Multiply the statistics of rows by the weights, without what is missing."""
        weights, partitions = self._weights
        hidden = np.isnan(statistics)
        if hidden.any():
            statistics = np.where(hidden, 0.0, statistics)
            each = hidden.reshape(len(hidden), partitions.shape[1], -1)[:, :, 0]
            offsets = partitions @ (~each).T.astype(np.float64)
        else:
            offsets = partitions.sum(axis=1)[:, None]
        scores: F64 = weights @ statistics.T
        scores -= offsets
        return scores


@final
@dataclass(frozen=True, eq=False)
class CountsTerm(LinearTerm):
    """Multinomial groups: parts of counts have a posterior, though no density."""

    @cached_property
    def _barred(self) -> F64 | None:
        """Tell which columns must be zero, (K, D); None if none must."""
        impossible = np.isneginf(self.family.natural_parameters)
        return impossible.astype(np.float64) if impossible.any() else None

    def _product(self, statistics: F64) -> F64:
        x = np.nan_to_num(statistics, nan=0.0)
        scores: F64 = np.maximum(self.family.natural_parameters, _LEAST) @ x.T
        if self._barred is not None:
            scores[self._barred @ (x > 0).T > 0] = -np.inf
        return scores

    def statistics(self, rows: Table, block: slice) -> F64:
        """Give the counts of a block, NaN in rows with a missing one."""
        x = counts_of(rows, self.part, block, self.names)
        gaps = np.isnan(x.sum(axis=1))
        return np.where(gaps[:, None], np.nan, x) if gaps.any() else x

    def contributions(self, rows: Table, row: int) -> F64:
        """Give what the count of each column adds, without the coefficient."""
        x = np.nan_to_num(self.statistics(rows, slice(row, row + 1))[0], nan=0.0)
        return np.where(x > 0, x, 1.0) * np.where(x > 0, self.family.natural_parameters, 0.0)


@dataclass(frozen=True, eq=False)
class GeneralTerm(Term):
    """Scores by the log density itself: Laplace, full covariances, probabilities of zero."""

    @property
    def width(self) -> int:
        """Numbers per row: the densities of all classes and columns."""
        return len(self.part.columns) * len(self.family.mean)

    def scorer(self, rows: Table, *, whole: bool) -> Scorer:  # noqa: ARG002 - always whole
        """Get ready for rows; see ``Term.scorer``."""

        def score(block: slice) -> F64:
            x = rows.floats(self.part.columns, block)
            logs = self.family.log_density(x[:, None])
            return (logs if logs.ndim == 2 else logs.sum(axis=2)).T

        return score


@final
@dataclass(frozen=True, eq=False)
class LaplaceTerm(GeneralTerm):
    """Laplace columns."""

    #: Where the scale was raised, and where nothing was observed, (K, D).
    raised: Bool
    borrowed: Bool

    @property
    def floored(self) -> Bool:
        """Where a variance was raised, (K, D)."""
        return self.raised

    @property
    def unseen(self) -> Bool:
        """Where the distribution over all classes stands in, (K, D)."""
        return self.borrowed


@final
@dataclass(frozen=True, eq=False)
class CategoricalTerm(Term):
    """Looks up the logarithm of the probability of each category."""

    categories: Categories
    #: What happens to a category that was never seen.
    unknown: str

    @cached_property
    def _table(self) -> F64:
        """Give log p of each category, of an unseen one and of a missing one: (K, C + 2)."""
        logs = self.family.natural_parameters
        size = len(self.categories.values)
        unseen = logs[:, size:] if self.unknown == "smooth" else np.zeros((len(logs), 1))
        return np.concatenate([logs[:, :size], unseen, np.zeros((len(logs), 1))], axis=1)

    def codes(self, rows: Table) -> Int:
        """Give the category of each row: C if it was never seen, -1 if it is missing."""
        words = rows.words(self.part.columns[0])
        codes = self.categories.codes(words)
        if self.unknown == "error":
            new = np.flatnonzero(codes == len(self.categories.values))
            if new.size:
                value = words.categories[words.codes[new[0]]]
                raise InputError(
                    f"{self.names.owner}: row {new[0]} has {value!r} in column "
                    f"{self.names.of(self.part.columns)}, which was not seen in fit. Pass "
                    "unknown='smooth' or unknown='ignore' to accept it."
                )
        return codes

    def scorer(self, rows: Table, *, whole: bool) -> Scorer:  # noqa: ARG002 - always whole
        """Get ready for rows; see ``Term.scorer``."""
        codes = self.codes(rows)
        return lambda block: np.take(self._table, codes[block], axis=1)

    def contributions(self, rows: Table, row: int) -> F64:
        """Give what each column of one row adds; see ``Term.contributions``."""
        return self._table[:, [self.codes(rows)[row]]]
