"""Rows of logistic regression: read as numbers, scaled, summed over, and surveyed in a first pass.

Rows come in labelled batches, as arrays of numbers or as tables. A column of words becomes columns
of zeros and ones: categories sorted, one column for each that occurs but the first. Columns with
missing cells, if these are welcome, have one more such column each, behind all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, NoReturn, Self, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from credo import _checks as check
from credo._types import F64, Bool, Int, Label, Labels
from credo.classifiers._labels import join_weights, union_of
from credo.columns import Categories, Table, Words, category_key, category_of
from credo.exceptions import InputError
from credo.families.moments import ClassMoments, Rows, RowsView

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
#: Rows that are looked at for repeats before all are: if every row is there twice, some twenty of
#: so many drawn from 400 000 are found twice.
_LOOKED_AT = 2**12
#: Repeats are worth a copy of the others if they are this share: a fit takes ten passes or more.
_WORTH_MERGING = 0.1


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
    def amounts(self) -> F64:
        """Weights, ones if they are not given."""
        return np.ones(len(self)) if self.weights is None else self.weights

    def cut(self, n_logits: int, scaling: Scaling | None = None) -> Iterator[RowBatch]:
        """Yield blocks that fit a cache, in float64, and scaled if there is a scaling."""
        is_sparse = sparse.issparse(self.x)
        width = 8 * max(n_logits, 1 if is_sparse else self.x.shape[1])
        size = max(64, (_SCORE_BYTES if is_sparse else _DENSE_BYTES) // width)
        for start in range(0, len(self), size):
            block = self if is_sparse and size >= len(self) else self[start : start + size]
            x = block.x if scaling is None else scaling.rows(block.x)
            x = x if sparse.issparse(x) else np.ascontiguousarray(x)
            yield RowBatch(x.astype(np.float64, copy=False), block.codes, block.weights)

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
        if sparse.issparse(self.x):
            rows = sparse.hstack([self.x, np.ones((len(self), 1))], format="csr")
            rows.data *= np.repeat(root, np.diff(rows.indptr))
            return np.asarray((rows.T @ rows).toarray())
        weighted = np.empty((len(self), self.x.shape[1] + 1))
        np.multiply(self.x, root[:, None], out=weighted[:, :-1])
        weighted[:, -1] = root
        return weighted.T @ weighted


def _product(table: F64, x: Any) -> F64:
    """Return the product of a table (n_logits, B) with dense or sparse rows."""
    if not sparse.issparse(x):
        return np.asarray(table @ x)
    return np.ascontiguousarray((x.T @ np.ascontiguousarray(table.T)).T)


@dataclass(frozen=True, slots=True)
class Coding:
    """A column of words: its categories, those that occurred first, each sorted."""

    column: int
    categories: Annotated[Labels, "C", "distinct"]
    n_seen: int

    @classmethod
    def of(cls, column: int, seen: frozenset[Label], declared: frozenset[Label]) -> Self:
        """Sort the categories; those that were declared but never came follow at the end."""
        occurring, absent = _sorted(seen), _sorted(declared - seen)
        return cls(column, (*occurring, *absent), len(occurring))


def _sorted(categories: frozenset[Label]) -> list[Label]:
    """Sort the categories of keys, those of several kinds by kind."""
    found = sorted(map(category_of, categories), key=lambda each: (type(each).__name__, str(each)))
    try:
        return sorted(found)
    except TypeError:
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """Reads labelled batches as numbers; small, as it travels to wherever the rows are."""

    #: Names of the columns that are read; and all classes, once they are known.
    names: Sequence[Label]
    codings: tuple[Coding, ...] = ()
    classes: Any = None
    #: Columns with a column of ones where cells are missing; None if these are refused.
    flagged: tuple[int, ...] | None = None
    #: Means of the columns of numbers, which stand for what is not known of a cell.
    means: F64 | None = None
    #: Told of a column, and of what it holds that fit has not seen; None where that is refused.
    tell: Callable[[Label, str], None] | None = None

    @property
    def columns(self) -> list[int]:
        """Columns that the numbers are of, but for those that flag missing cells."""
        widths = {each.column: each.n_seen - 1 for each in self.codings}
        return [j for j in range(len(self.names)) for _ in range(widths.get(j, 1))]

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
        return (*names, *(f"{self.names[j]} is missing" for j in self.flagged or ()))

    def with_flags(self, columns: Iterable[int]) -> Self:
        """Flag missing cells of these columns too; unless missing cells are refused."""
        if self.flagged is None:
            return self.check()
        return replace(self, flagged=tuple(sorted({*self.flagged, *columns}))).check()

    def with_means(self, moments: ClassMoments) -> Self:
        """Flag columns of numbers with missing cells, for which the means of the others stand."""
        columns = self.columns
        observed, total = moments.feature_weights[0][: len(columns)], moments.weights[0]
        if not observed.all():
            self._refuse_empty(columns[int(observed.argmin())])
        some = np.flatnonzero(observed < total * (1.0 - 1e-9))  # what rounding of the sums leaves
        return replace(self, means=moments.means[0]).with_flags(columns[j] for j in some)

    @property
    def class_names(self) -> Labels:
        """Names of the classes."""
        return check.labels(self.classes, f"classes of {OWNER}")

    def check(self) -> Self:
        """Refuse names that mean two columns, and tables that have only one category each."""
        empty = [each.column for each in self.codings if not each.n_seen]
        if empty:
            self._refuse_empty(empty[0])
        names = self.coefficient_names
        if not names:
            raise InputError(
                f"{OWNER}: every column has only one category, so none carries information."
            )
        name, times = Counter(names).most_common(1)[0]
        if times > 1:
            raise InputError(
                f"{OWNER}: the category {name!r} has the name of another column. Rename one."
            )
        return self

    def _refuse_empty(self, column: int) -> NoReturn:
        """Refuse a column that is missing as a whole."""
        name = self.names[column]
        raise InputError(f"{OWNER}: column {name!r} has no value in any row. Leave it out.")

    def batch(self, labelled: LabelledBatch) -> RowBatch:
        """Return a batch with the codes of all classes."""
        rows, classes = labelled
        codes = rows.codes
        if self.classes is not None and not np.array_equal(classes, self.classes):
            codes = check.positions(classes, self.class_names, "class", OWNER)[codes]
        x = self.rows(rows.X) if isinstance(rows.X, Table) else rows.X
        return RowBatch(x, codes, rows.weights)

    def rows(self, table: Table) -> RowsView:
        """Return the rows of a table as numbers, which are made block by block."""
        if table.n_columns != len(self.names):
            raise InputError(
                f"{OWNER} was fitted to {len(self.names)} columns. Got {table.n_columns}."
            )
        coded = {each.column: each for each in self.codings}
        columns = np.array(self.columns, dtype=np.intp)
        flags = {j: len(columns) + place for place, j in enumerate(self.flagged or ())}
        numbers, codes = [], []
        for j in range(table.n_columns):
            places = np.append(np.flatnonzero(columns == j), flags.get(j, _NONE))
            if j in coded:
                codes.append((places, self._codes(table, coded[j], places)))
            elif isinstance(column := table.column(j), Words):
                raise InputError(
                    f"{OWNER}: column {self.names[j]!r} held numbers in fit. Got categories such "
                    f"as {check.listing(column.categories, 3)}."
                )
            else:
                numbers.append((j, *places))
        shape = table.n_rows, len(columns) + len(flags)
        return RowsView(shape, partial(self._block, table, np.array(numbers).T, codes, shape[1]))

    def _codes(self, table: Table, coding: Coding, places: Int) -> Int:
        """Return which column of zeros and ones each row has a one in; or none, or their means."""
        name, words = self.names[coding.column], table.words(coding.column)
        codes = Categories.of(coding.categories).codes(words)
        gone, strange = codes < 0, codes == len(coding.categories)
        if gone.any() and self.flagged is None:
            raise InputError(
                f"{OWNER}: column {name!r} has no value in row {int(gone.argmax())}, and a model "
                "of p(y | x) alone cannot leave it out. Pass missing_cells='indicator', fill it "
                "in, or use credo.NaiveBayes."
            )
        value = repr(words.categories[words.codes[strange.argmax()]]) if strange.any() else ""
        if strange.any() and (self.tell is None or self.means is None):
            raise InputError(
                f"{OWNER}: row {int(strange.argmax())} has {value} in column {name!r}, which was "
                f"not seen in fit. Known: {check.listing(coding.categories)}."
            )
        if gone.any() and places[-1] == _NONE:
            value, strange = value or "missing cells", strange | gone
        if value and self.tell is not None:
            self.tell(name, value)
        ones = np.full(len(coding.categories) + 2, _NONE)  # of -1 for what is missing, the last
        ones[1 : coding.n_seen], ones[-1] = places[:-1], places[-1]
        return np.where(strange, _MEAN, ones[codes])

    def _block(self, table: Table, numbers: Int, codes: list[Any], width: int, rows: slice) -> F64:
        """Return a block of rows: numbers in their places, and a one where each category is."""
        block = np.zeros((len(range(*rows.indices(table.n_rows))), width))
        if numbers.size:
            read, places, flags = numbers.tolist()
            block[:, places] = table.floats(read, rows)
            if self.means is not None and self.flagged is not None:
                self._fill(block, places, flags, self.means)
        for places, every in codes:
            ones = every[rows]
            some = np.flatnonzero((ones >= 0) & (ones < width))
            block[some, ones[some]] = 1.0
            strange, own = np.flatnonzero(ones == _MEAN), places[places < width]
            if strange.size and self.means is not None:
                block[np.ix_(strange, own)] = self.means[own]
        return block

    def _fill(self, block: F64, places: list[int], flags: list[int], means: F64) -> None:
        """Put means where numbers are missing, and ones into the columns that say so."""
        for place, flag in zip(places, flags, strict=True):
            gone = np.isnan(block[:, place])
            if gone.any():
                block[gone, place] = means[place]
                if flag != _NONE:
                    block[gone, flag] = 1.0
                elif self.tell is not None:
                    self.tell(self.names[self.columns[place]], "missing cells")

    def refuse(self, x: Any) -> NoReturn:
        """Name the first column of numbers that cannot be used, and where."""
        names = self.coefficient_names
        x = x[:] if isinstance(x, RowsView) else x
        for j in range(x.shape[1]):
            column = x[:, [j]].toarray() if sparse.issparse(x) else x[:, j]
            column = np.asarray(column, dtype=np.float64).ravel()
            if np.isnan(column).any():
                raise InputError(
                    f"{OWNER}: X contains NaN in column {names[j]!r} (row "
                    f"{int(np.isnan(column).argmax())}). This model knows p(y | x), not p(x), "
                    "so it cannot marginalise missing values. Pass missing_cells='indicator' "
                    "with dense rows, impute them, or use credo.GaussianClassifier or "
                    "credo.NaiveBayes, which can."
                )
            if np.isinf(column).any():
                raise InputError(f"{OWNER}: X contains infinity (inf) in column {names[j]!r}.")
        raise InputError(f"{OWNER}: X contains numbers too large to square. Change their unit.")


#: The place of a category without a column, and of one whose columns have their means.
_NONE, _MEAN = 2**40, -1


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

    def theta(self, coefficients: F64, intercepts: F64) -> F64:
        """Return the coefficients of u, from those of x and the intercepts."""
        theta = coefficients * self.scale
        return np.column_stack(
            [theta, intercepts + coefficients @ self.centre][: 1 + self.intercept]
        )

    def first(self, sums: F64) -> F64:
        """Return sums of weight times u from those of weight times (x, 1)."""
        scaled = (sums[:, :-1] - sums[:, -1:] * self.centre) / self.scale
        return np.column_stack([scaled, sums[:, -1]]) if self.intercept else scaled

    def second(self, moments: F64) -> F64:
        """Return sums of weight times u uᵀ from those of (x, 1)(x, 1)ᵀ."""
        turn = np.diag(np.append(1.0 / self.scale, 1.0))
        turn[:-1, -1] = -self.centre / self.scale
        return (turn @ moments @ turn.T)[..., : self.n_columns, : self.n_columns]


#: Keys of the categories of a column that came, and of those that its type declares; and None if
#: some cell was missing.
_Seen: TypeAlias = tuple[frozenset[Label], frozenset[Label], frozenset[None]]


@dataclass(frozen=True, slots=True, eq=False)
class FirstPass:
    """What the first pass learns: classes, categories, means and spreads of columns, a sample."""

    classes: Any
    class_weights: F64
    is_sparse: bool
    #: Categories by place and name of the column, those that came and those that were declared;
    #: there are no moments until a reader knows them.
    categories: Mapping[tuple[int, Label], _Seen]
    moments: ClassMoments | None = None
    #: One row in so many, a power of two, and these rows.
    every: int = 1
    sample: RowBatch | None = None

    @classmethod
    def of(cls, labelled: LabelledBatch, reader: Reader) -> FirstPass:
        """Survey a batch."""
        rows, classes = labelled
        weights = np.bincount(rows.codes, rows.weights, len(classes)).astype(np.float64)
        is_sparse = sparse.issparse(rows.X)
        found = {} if reader.codings else _categories(rows.X, reader.names)
        if found:
            return cls(classes, weights, is_sparse, found)
        batch = replace(reader, classes=None).batch(labelled)
        moments = _moments_of(batch)
        with np.errstate(over="ignore", invalid="ignore"):
            is_usable = np.isfinite(moments.means + moments.scatter).all()
        if (moments.observed is not None and reader.flagged is None) or not is_usable:
            reader.refuse(batch.x)
        sample = None if is_sparse else batch
        return cls(classes, weights, is_sparse, {}, moments, 1, sample).thinned()

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
            at: _few(at[1], tuple(map(frozenset.union, seen, other.categories[at])))
            for at, seen in self.categories.items()
        }
        moments = self.moments and other.moments and self.moments.merge(other.moments)
        every, parts = max(self.every, other.every), []
        for survey, places in ((self, here), (other, there)):
            if survey.sample is not None:
                part = survey.sample[:: every // survey.every]
                parts.append(replace(part, codes=places[part.codes]))
        sample = _joined(parts) if parts else None
        return FirstPass(classes, weights, self.is_sparse, both, moments, every, sample).thinned()

    def thinned(self) -> FirstPass:
        """Keep one row in two, four or more of the sample if there are more than twice enough."""
        if self.sample is None:
            return self
        width, step = self.sample.x.shape[1], 1
        enough = max(_SAMPLE_ROWS, _SAMPLE_PER_COLUMN * width)
        enough = max(1, min(enough, _SAMPLE_BYTES // (8 * width)))
        while len(self.sample) > 2 * step * enough:
            step *= 2
        some = self.sample[::step]
        some = replace(some, x=np.array(some.x))
        return replace(self, every=step * self.every, sample=some)

    def scaling(self, *, intercept: bool) -> Scaling:
        """Return centres and scales; sparse columns are not centred, nor without intercept."""
        moments: Any = self.moments
        mean, variance = moments.means[0], moments.scatter[0] / moments.weights[0]
        size = np.sqrt(variance + mean**2)
        scale = np.sqrt(variance) if intercept else size
        scale = np.where(scale > _CONSTANT * size, scale, np.where(size > 0, size, 1.0))
        centred = intercept and not self.is_sparse
        return Scaling(mean if centred else np.zeros(len(scale)), scale, intercept)


def _categories(x: Any, names: Sequence[Label]) -> dict[tuple[int, Label], _Seen]:
    """Return the categories of each column of words."""
    if not isinstance(x, Table):
        return {}
    columns = ((j, x.column(j)) for j in range(x.n_columns))
    return {
        (j, names[j]): _few(names[j], (_keys(column.categories), _keys(column.declared), gone))
        for j, column in columns
        if isinstance(column, Words)
        for gone in [frozenset([None] if column.codes.min() < 0 else [])]
    }


def _keys(categories: Sequence[Label]) -> frozenset[Label]:
    """Return what tells the categories of a column apart."""
    return frozenset(map(category_key, categories))


def _few(name: Label, seen: Any) -> _Seen:
    """Refuse more categories than anyone would want coefficients of."""
    if len(seen[0]) > _MOST_CATEGORIES:
        raise InputError(
            f"{OWNER}: column {name!r} has more than {_MOST_CATEGORIES} categories, each of which "
            "would be a coefficient. Is it an identifier? Leave it out."
        )
    return seen


def _moments_of(batch: RowBatch) -> ClassMoments:
    """Return mean and scatter of all columns, as of one class."""
    one = np.zeros(len(batch), dtype=np.intp)
    if not sparse.issparse(batch.x):
        return ClassMoments.of(batch.x, one, batch.weights, 1, "diagonal")
    x, amounts = sparse.csr_matrix(batch.x, dtype=np.float64), batch.amounts
    with np.errstate(over="ignore", invalid="ignore"):
        mean, variance = mean_variance_axis(x, 0, amounts)  # which passes over NaN
        mean[x.indices[~np.isfinite(x.data)]] = np.nan
        total = amounts.sum(keepdims=True)
        counts = np.array([len(batch)])
        return ClassMoments(counts, total, mean[None], "diagonal", variance[None] * total)


def _joined(parts: Sequence[RowBatch]) -> RowBatch:
    """Join dense batches."""
    is_plain = all(part.weights is None for part in parts)
    weights = None if is_plain else np.concatenate([part.amounts for part in parts])
    x, codes = (np.concatenate([getattr(p, n) for p in parts]) for n in ("x", "codes"))
    return RowBatch(x, codes, weights)


# --- rows that repeat -----------------------------------------------------------------------------


def merge_repeats(x: Any, codes: Int, weights: F64 | None) -> tuple[Bool, F64] | None:
    """Return which rows are the first of their kind, and the weight of each kind.

    None if few repeat, or the rows are sparse. The likelihood is a sum over rows, so the answer is
    that of all. Equal hashes are checked cell by cell.
    """
    if sparse.issparse(x):
        return None
    n = len(codes)
    columns = [_column(x, j) for j in range(x.n_columns if isinstance(x, Table) else x.shape[1])]
    some = np.unique(np.random.default_rng(0).integers(n, size=_LOOKED_AT))
    for few in (columns[:1], columns):  # one column of measurements tells all rows apart
        if len(np.unique(_hashes(few, codes, some))) == len(some):
            return None
    _, first, kind = np.unique(
        _hashes(columns, codes, slice(None)), return_index=True, return_inverse=True
    )
    if n - len(first) < _WORTH_MERGING * n:
        return None
    like = first[kind]
    if not all(np.array_equal(bits, bits[like]) for bits in (codes, *map(_bits, columns))):
        return None
    order = np.argsort(first)
    totals = np.bincount(kind, weights)[order].astype(np.float64)
    return np.bincount(first, minlength=n) > 0, totals


def _column(x: Any, j: int) -> Any:
    """Return the numbers of a column, or the codes of its categories."""
    if not isinstance(x, Table):
        return x[:, j]
    column = x.column(j)
    return column.codes if isinstance(column, Words) else column.values


def _bits(values: Any) -> Any:
    """Return numbers as bits, the same for the same float64; zero has one sign."""
    return np.add(values, 0.0, dtype=np.float64, casting="unsafe").view(np.uint64)


def _hashes(columns: Sequence[Any], codes: Int, rows: Any) -> Any:
    """Return a number for each row with its class; other rows rarely have the same."""
    found = codes[rows].astype(np.uint64)
    for column in columns:
        found ^= found >> np.uint64(32)
        found *= np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio, made odd
        found ^= _bits(column[rows])
        found ^= found >> np.uint64(29)
        found *= np.uint64(0x9E3779B97F4A7C15)
    return found
