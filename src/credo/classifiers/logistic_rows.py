"""Rows of logistic regression: read as numbers, scaled, summed over, and surveyed in a first pass.

Rows come in labelled batches, as arrays of numbers or as tables. A column of words becomes columns
of zeros and ones: categories sorted, one column for each that occurs but the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Self, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from credo import _checks as check
from credo._types import F64, Int, Label, Labels
from credo.classifiers._labels import join_weights, union_of
from credo.columns import Categories, Table, Words
from credo.exceptions import InputError
from credo.families.moments import Rows, RowsView

#: Rows with codes of their classes and weights; and the labels of these classes.
LabelledBatch: TypeAlias = tuple[Rows, Any]

OWNER = "LogisticClassifier"

#: More categories than this in a column make more coefficients than anyone would want.
_MOST_CATEGORIES = 10_000
#: Bytes of dense rows worked on at once (half a core's own cache), and of scores of sparse rows.
_DENSE_BYTES, _SCORE_BYTES = 2**19, 2**25
#: Rows of a sample to start from: enough that its Hessian is like that of all rows; per column,
#: and its most bytes.
_SAMPLE_ROWS, _SAMPLE_PER_COLUMN, _SAMPLE_BYTES = 2**13, 64, 2**26
#: Columns so many deviations from zero, or of scales beyond these, are mapped before they are
#: summed: the square of the first times the rounding of float64 is what a Hessian loses otherwise.
_FAR, _EXTREME = 30.0, 1e60
#: A deviation below this share of the largest entry is rounding of a constant column.
_CONSTANT = 1e-13


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Rows, dense, CSR or made when read, of positive weight; class codes; None is weight 1."""

    x: Any
    codes: Int
    weights: F64 | None

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def __getitem__(self, rows: Any) -> RowBatch:
        weights = None if self.weights is None else self.weights[rows]
        return RowBatch(self.x[rows], self.codes[rows], weights)

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(len(self)) if self.weights is None else float(self.weights.sum())

    def cut(self, n_logits: int) -> Iterator[RowBatch]:
        """Yield blocks that fit a cache."""
        width = 8 * max(1, n_logits, 1 if sparse.issparse(self.x) else self.x.shape[1])
        size = max(64, (_SCORE_BYTES if sparse.issparse(self.x) else _DENSE_BYTES) // width)
        is_whole = size >= len(self) and not isinstance(self.x, RowsView)
        for start in range(0, len(self), size):
            yield self if is_whole else self[start : start + size]


@dataclass(frozen=True, slots=True)
class Coding:
    """A column of words: its categories, those that occurred first, each sorted."""

    column: int
    categories: Annotated[Labels, "C", "distinct"]
    n_seen: int

    @classmethod
    def of(cls, column: int, seen: AbstractSet[Label], declared: Iterable[Label] = ()) -> Self:
        """Sort the categories; those that were declared but never came follow at the end."""
        occurring, known = _sorted(seen), set(seen)
        absent = _sorted({each for each in declared if each not in known})
        return cls(column, (*occurring, *absent), len(occurring))


def _sorted(categories: AbstractSet[Label]) -> list[Label]:
    """Sort categories, those of several kinds by kind."""
    try:
        return sorted(categories)  # type: ignore[type-var] # what cannot be sorted is met below
    except TypeError:
        return sorted(categories, key=lambda each: (type(each).__name__, str(each)))


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """Reads labelled batches as numbers; small, as it travels to wherever the rows are."""

    #: Names of the columns that are read; and all classes, once they are known.
    names: Sequence[Label]
    codings: tuple[Coding, ...] = ()
    classes: Any = None

    @property
    def coefficient_names(self) -> Labels:
        """Names of the columns of numbers."""
        coded = {each.column: each for each in self.codings}
        names: list[Label] = []
        for j, name in enumerate(self.names):
            if j in coded:
                seen = coded[j].categories[1 : coded[j].n_seen]
                names += [f"{name}={category}" for category in seen]
            else:
                names.append(name)
        return tuple(names)

    def check(self) -> Self:
        """Refuse names that mean two columns, and tables that have only one category each."""
        names = self.coefficient_names
        if not names:
            raise InputError(
                f"{OWNER}: every column has one category only, so none tells anything."
            )
        twice = [name for place, name in enumerate(names) if name in names[:place]]
        if twice:
            raise InputError(
                f"{OWNER}: the category {twice[0]!r} has the name of another column. Rename one."
            )
        return self

    def batch(self, labelled: LabelledBatch) -> RowBatch:
        """Return a batch with the codes of all classes."""
        rows, classes = labelled
        codes = rows.codes
        if self.classes is not None and not np.array_equal(classes, self.classes):
            known = check.labels(self.classes, f"classes of {OWNER}")
            codes = check.positions(classes, known, "class", OWNER)[codes]
        x = self.rows(rows.X) if isinstance(rows.X, Table) else rows.X
        return RowBatch(x, codes, rows.weights)

    def rows(self, table: Table) -> RowsView:
        """Return the rows of a table as numbers, which are made block by block."""
        if table.n_columns != len(self.names):
            raise InputError(
                f"{OWNER} was fitted to {len(self.names)} columns. Got {table.n_columns}."
            )
        coded = {each.column: each for each in self.codings}
        numbers, places, codes, start = [], [], [], 0
        for j in range(table.n_columns):
            if j in coded:
                codes.append(start + self._codes(table, coded[j]))
                start += coded[j].n_seen - 1
            else:
                self._check_numbers(table, j)
                numbers.append(j)
                places.append(start)
                start += 1
        read = partial(_coded_rows, table, (numbers, places), codes, start)
        return RowsView((table.n_rows, start), read)

    def _check_numbers(self, table: Table, j: int) -> None:
        """Refuse words where there were numbers."""
        column = table.column(j)
        if isinstance(column, Words):
            raise InputError(
                f"{OWNER}: column {self.names[j]!r} held numbers in fit. Got categories such as "
                f"{check.listing(column.categories, 3)}."
            )

    def _codes(self, table: Table, coding: Coding) -> Int:
        """Return which column of zeros and ones each row has a one in; a huge number for none."""
        name, words = self.names[coding.column], table.words(coding.column)
        codes = Categories.of(coding.categories).codes(words)
        if codes.min() < 0:
            raise InputError(
                f"{OWNER}: column {name!r} has no value in row {int(codes.argmin())}, and a model "
                "that only knows p(y | x) cannot do without. Fill it in, or use credo.NaiveBayes."
            )
        if codes.max() == len(coding.categories):
            row = int(codes.argmax())
            raise InputError(
                f"{OWNER}: row {row} has {words.categories[words.codes[row]]!r} in column "
                f"{name!r}, which was not seen in fit. Known: {check.listing(coding.categories)}."
            )
        return np.where((codes > 0) & (codes < coding.n_seen), codes - 1, _NONE)

    def refuse(self, x: Any, columns: Iterable[int]) -> None:
        """Name the first entry of some columns of numbers that cannot be used."""
        names = self.coefficient_names
        x = x[:] if isinstance(x, RowsView) else x
        for j in columns:
            column = x[:, [j]].toarray() if sparse.issparse(x) else x[:, j]
            column = np.asarray(column, dtype=np.float64).ravel()
            if np.isnan(column).any():
                raise InputError(
                    f"{OWNER}: X contains NaN in column {names[j]!r} (row "
                    f"{int(np.isnan(column).argmax())}). Scores given x say nothing of x itself, "
                    "so missing values cannot be marginalised. Impute them, or use "
                    "credo.GaussianClassifier or credo.NaiveBayes, which can."
                )
            if np.isinf(column).any():
                raise InputError(f"{OWNER}: X contains infinity (inf) in column {names[j]!r}.")
        raise InputError(f"{OWNER}: X contains numbers too large to square. Change their unit.")


#: The place of a category without a column.
_NONE = 2**40


def _coded_rows(
    table: Table, numbers: tuple[list[int], list[int]], codes: list[Int], width: int, rows: slice
) -> F64:
    """Return a block of rows: numbers in their places, and a one where each category is."""
    n_rows = len(range(*rows.indices(table.n_rows)))
    block = np.zeros((n_rows, width))
    if numbers[0]:
        block[:, numbers[1]] = table.floats(numbers[0], rows)
    for each in codes:
        places = each[rows]
        some = np.flatnonzero(places < width)
        block[some, places[some]] = 1.0
    return block


@dataclass(frozen=True, slots=True)
class Scaling:
    """The map u = ((x - c) / s, 1), without c and 1 if there is no intercept."""

    centre: Annotated[F64, "M"]
    scale: Annotated[F64, "M", ">= 0"]
    intercept: bool

    @property
    def n_columns(self) -> int:
        """Number of coefficients per logit, P."""
        return len(self.scale) + self.intercept

    @property
    def is_far(self) -> bool:
        """Whether rows must be mapped one by one, because sums of x would lose digits."""
        extreme = (self.scale > _EXTREME) | (self.scale < 1 / _EXTREME)
        return bool((extreme | (np.abs(self.centre) > _FAR * self.scale)).any())

    def rows(self, x: Any) -> F64:
        """Map rows to scaled dense ones, without the column of ones."""
        rows: F64 = x.toarray() if sparse.issparse(x) else x
        return (rows - self.centre) / self.scale

    def coefficients(self, theta: F64) -> tuple[F64, F64]:
        """Return the coefficients of x, shape (n_logits, D), and the intercepts."""
        coefficients = theta[:, : len(self.scale)] / self.scale
        if not self.intercept:
            return coefficients, np.zeros(len(theta))
        return coefficients, theta[:, -1] - coefficients @ self.centre

    def first(self, sums: F64) -> F64:
        """Return sums of weight times u from those of weight times (x, 1)."""
        scaled = (sums[:, :-1] - sums[:, -1:] * self.centre) / self.scale
        return np.column_stack([scaled, sums[:, -1]]) if self.intercept else scaled

    def second(self, moments: F64) -> F64:
        """Return sums of weight times u uᵀ from those of (x, 1)(x, 1)ᵀ."""
        turn = np.diag(np.append(1.0 / self.scale, 1.0))
        turn[:-1, -1] = -self.centre / self.scale
        return (turn @ moments @ turn.T)[..., : self.n_columns, : self.n_columns]


class RowBlock:
    """A block of rows, and sums over them; a ``Scaling`` makes sums of scaled columns of these."""

    __slots__ = ("codes", "weights", "x")

    def __init__(self, batch: RowBatch, scaling: Scaling | None) -> None:
        self.codes, self.weights = batch.codes, batch.weights
        x = batch.x if scaling is None else scaling.rows(batch.x)
        is_sparse = sparse.issparse(x)
        self.x: Any = x.astype(float, copy=False) if is_sparse else np.ascontiguousarray(x, float)

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def scores(self, weights: tuple[F64, F64]) -> F64:
        """Return scores (n_logits, B) from coefficients of x and intercepts."""
        coefficients, offsets = weights
        scores = np.ascontiguousarray((self.x @ np.ascontiguousarray(coefficients.T)).T)
        scores += offsets[:, None]
        return scores

    def times(self, table: F64) -> F64:
        """Return the sums of a table (n_logits, B) times (x, 1)."""
        return np.column_stack([_product(table, self.x), table.sum(axis=1)])

    def times_squares(self, table: F64) -> F64:
        """Return the sums of a table (n_logits, B) times x²."""
        return _product(table, self.x.power(2) if sparse.issparse(self.x) else self.x**2)

    def gram(self, root: F64) -> F64:
        """Return the sum of root² (x, 1)(x, 1)ᵀ."""
        ones = root[:, None]
        if sparse.issparse(self.x):
            data = self.x.data * np.repeat(root, np.diff(self.x.indptr))
            rows = sparse.csr_array((data, self.x.indices, self.x.indptr), shape=self.x.shape)
            inner, edge = (rows.T @ rows).toarray(), (rows.T @ ones)
            return np.block([[inner, edge], [edge.T, ones.T @ ones]])
        weighted = np.empty((len(self), self.x.shape[1] + 1))
        np.multiply(self.x, ones, out=weighted[:, :-1])
        weighted[:, -1] = root
        return weighted.T @ weighted


def _product(table: F64, x: Any) -> F64:
    """Return the product of a table (n_logits, B) with dense or sparse rows."""
    if not sparse.issparse(x):
        return np.asarray(table @ x)
    return np.ascontiguousarray((x.T @ np.ascontiguousarray(table.T)).T)


#: The categories of a column that came, and those that its type declares.
_Seen: TypeAlias = tuple[frozenset[Label], frozenset[Label]]


@dataclass(frozen=True, slots=True, eq=False)
class FirstPass:
    """What the first pass learns: classes, categories, means and spreads of columns, a sample."""

    classes: Any
    class_weights: F64
    is_sparse: bool
    n_rows: int
    #: Categories by place and name of the column, those that came and those that were declared;
    #: there are no moments until a reader knows them.
    categories: Mapping[tuple[int, Label], _Seen]
    mean: F64
    scatter: F64
    #: Every so many rows, and which.
    every: int
    sample: RowBatch | None

    @classmethod
    def of(cls, labelled: LabelledBatch, reader: Reader, *, whole: bool) -> FirstPass:
        """Survey a batch, which may be the whole of the rows."""
        rows, classes = labelled
        weights = np.bincount(rows.codes, rows.weights, len(classes)).astype(np.float64)
        n_rows, is_sparse = len(rows.codes), sparse.issparse(rows.X)
        found = {} if reader.codings else _categories(rows.X, reader.names)
        if found:
            none = np.zeros(0)
            return cls(classes, weights, is_sparse, n_rows, found, none, none, 1, None)
        batch = replace(reader, classes=None).batch(labelled)
        with np.errstate(over="ignore", invalid="ignore"):
            mean, scatter = _moments_of(batch)
            usable = np.isfinite(mean + scatter)
        if not usable.all():
            reader.refuse(batch.x, np.flatnonzero(~usable))
        survey = cls(classes, weights, is_sparse, n_rows, {}, mean, scatter, 1, None)
        if is_sparse:
            return survey
        every = max(1, n_rows // (2 * survey.wanted)) if whole else 1
        some = batch[::every]
        return _thinned(replace(survey, every=every, sample=replace(some, x=np.array(some.x))))

    @property
    def total(self) -> float:
        """Sum of all weights."""
        return float(self.class_weights.sum())

    @property
    def wanted(self) -> int:
        """Rows that a sample should have at least."""
        wanted = max(_SAMPLE_ROWS, _SAMPLE_PER_COLUMN * len(self.mean))
        return max(1, min(wanted, _SAMPLE_BYTES // (8 * max(1, len(self.mean)))))

    def merge(self, other: FirstPass) -> FirstPass:
        """Join the surveys of rows and of those behind them."""
        if self.is_sparse != other.is_sparse:
            raise InputError(f"{OWNER}.fit_batches: batches must be all dense or all sparse.")
        if self.categories.keys() != other.categories.keys():
            _, name = min(self.categories.keys() ^ other.categories.keys())
            raise InputError(
                f"{OWNER}: column {name!r} holds categories in some batches and numbers in others."
            )
        classes, here, there = union_of(self.classes, other.classes, OWNER)
        weights = join_weights(self.class_weights, other.class_weights, here, there)
        both = {
            at: _few(at[1], *map(frozenset.union, seen, other.categories[at]))
            for at, seen in self.categories.items()
        }
        share, gap = other.total / (self.total + other.total), other.mean - self.mean
        with np.errstate(over="ignore", invalid="ignore"):
            mean = self.mean + gap * share
            scatter = self.scatter + other.scatter + gap**2 * (self.total * share)
        every, sample = max(self.every, other.every), None
        if self.sample is not None and other.sample is not None:
            parts = [
                replace(part, codes=places[part.codes])
                for part, places in (
                    (self.sample[:: every // self.every], here),
                    (other.sample[:: every // other.every], there),
                )
            ]
            sample = _joined(parts)
        n_rows = self.n_rows + other.n_rows
        joined = FirstPass(
            classes, weights, self.is_sparse, n_rows, both, mean, scatter, every, sample
        )
        return _thinned(joined)

    def scaling(self, *, intercept: bool) -> Scaling:
        """Return centres and scales; sparse columns are not centred, nor without intercept."""
        variance = self.scatter / self.total
        size = np.sqrt(variance + self.mean**2)
        scale = np.sqrt(variance) if intercept else size
        scale = np.where(scale > _CONSTANT * size, scale, np.where(size > 0, size, 1.0))
        centred = intercept and not self.is_sparse
        return Scaling(self.mean.copy() if centred else np.zeros(len(scale)), scale, intercept)


def _thinned(survey: FirstPass) -> FirstPass:
    """Keep every second row of the sample while there are too many."""
    every, sample = survey.every, survey.sample
    while sample is not None and len(sample) > 4 * survey.wanted:
        every, sample = 2 * every, sample[::2]
    return replace(survey, every=every, sample=sample)


def _categories(x: Any, names: Sequence[Label]) -> dict[tuple[int, Label], _Seen]:
    """Return the categories of each column of words."""
    if not isinstance(x, Table):
        return {}
    columns = ((j, x.column(j)) for j in range(x.n_columns))
    return {
        (j, names[j]): _few(names[j], frozenset(column.categories), frozenset(column.declared))
        for j, column in columns
        if isinstance(column, Words)
    }


def _few(name: Label, came: frozenset[Label], declared: frozenset[Label]) -> _Seen:
    """Refuse more categories than anyone would want coefficients of."""
    if max(len(came), len(declared)) > _MOST_CATEGORIES:
        raise InputError(
            f"{OWNER}: column {name!r} has more than {_MOST_CATEGORIES} categories, each of which "
            "would be a coefficient. Is it an identifier? Leave it out."
        )
    return came, declared


def _moments_of(batch: RowBatch) -> tuple[F64, F64]:
    """Return mean and scatter of all columns, by Chan's merge of blocks."""
    total, mean, scatter = 0.0, np.zeros(batch.x.shape[1]), np.zeros(batch.x.shape[1])
    for block in batch.cut(1):
        weight, x = block.total, block.x
        ones = np.ones(len(block)) if block.weights is None else block.weights
        if sparse.issparse(x):
            x = sparse.csr_matrix(x, dtype=np.float64)
            own, variance = mean_variance_axis(x, 0, ones)  # which passes over NaN
            own_scatter = variance * weight
            own[x.indices[~np.isfinite(x.data)]] = np.nan
        else:
            own = ones @ x / weight
            own_scatter = ones @ (x - own) ** 2
        gap, total = own - mean, total + weight
        mean += gap * (weight / total)
        scatter += own_scatter + gap**2 * ((total - weight) * weight / total)
    return mean, scatter


def _joined(parts: Sequence[RowBatch]) -> RowBatch:
    """Join dense batches."""
    weights = None
    if any(part.weights is not None for part in parts):
        known = [np.ones(len(p)) if p.weights is None else p.weights for p in parts]
        weights = np.concatenate(known)
    x, codes = (np.concatenate([getattr(p, n) for p in parts]) for n in ("x", "codes"))
    return RowBatch(x, codes, weights)
