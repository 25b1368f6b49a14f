"""Terms of naive Bayes: one class per way that columns are learned and scored.

A term summarises the columns of a part, estimates their distributions from a summary, scores rows,
splits the score of a row by column, and draws columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, reduce
from typing import Annotated, Any, Self, final

import numpy as np
import scipy
from scipy.sparse import coo_array, csr_array, vstack

from credo import _checks as check, families
from credo._types import F64, Bool, Int, Labels
from credo.columns import Categories, Table
from credo.exceptions import InputError, NumericalError, ShapeError
from credo.families.class_gaussians import ClassGaussians
from credo.families.covariances import Names, check_spread, with_variation
from credo.families.family import AbstractFamily, Support
from credo.families.histogram import NumberSummary, PointSummary
from credo.families.moments import ClassMoments, Rows, RowsView, class_sums, rounding_variance
from credo.families.summaries import (
    CountSummary,
    MomentSummary,
    PositiveSummary,
    SketchSummary,
    SumSummary,
)

#: Families by name. Those of one number describe each column by itself.
FAMILIES: dict[str, type[AbstractFamily[Any]]] = {
    "gaussian": families.Gaussian,
    "histogram": families.Histogram,
    "laplace": families.Laplace,
    "bernoulli": families.Bernoulli,
    "categorical": families.Categorical,
    "poisson": families.Poisson,
    "exponential": families.Exponential,
    "gamma": families.Gamma,
    "beta": families.Beta,
    "multinomial": families.Multinomial,
    "dirichlet": families.Dirichlet,
    "multivariate_gaussian": families.MultivariateGaussian,
}
#: Families of vectors describe a group of columns together.
VECTORS = tuple(name for name, each in FAMILIES.items() if each._support.vectors)  # noqa: SLF001
#: Families that sparse rows can have: a value of zero costs nothing.
SPARSE = ("bernoulli", "multinomial", "poisson")
#: Families of which the user's smoothing adds artificial observations of each value.
_SMOOTHED = ("bernoulli", "multinomial", "categorical")
#: Families of which it adds observations of the mean over all classes.
_PULLED = ("poisson", "exponential")
#: What "auto" chooses the smoothing of a column from; of equals the first. A fixed 1 was worse on
#: ten tables, whole and with classes of five rows: mean rank 8.8 of 12 by loss, this choice 4.6.
_CANDIDATES = (1.0, 0.3, 3.0, 0.1, 0.03, 0.01)
#: What messages call what names columns.
_KEYS, _TARGET_KEYS = "keys of smoothing", "keys of smoothing_target"
#: What the sufficient statistics of a family are called, if not by the name of the column.
_STATISTICS = {
    "gaussian": ("{0}", "{0}²"),
    "gamma": ("log {0}", "{0}"),
    "beta": ("log {0}", "log(1 - {0})"),
    "dirichlet": ("log {0}",),
}
#: Stands for the logarithm of zero in products; what it scores is then made impossible.
_LEAST = -1e3
#: Categories times classes of one column; above it the counts would not be small any more.
_MOST_CELLS = 2**28
#: Cells of draws that are made at once.
_DRAWN_CELLS = 2**20
#: Entries of sparse rows that are added up at once: their class codes are 64 MiB.
_ENTRIES = 2**24
#: Classes up to which a column less in a sparse product saves more time than it costs to place.
_FEW = 8
#: Measured, a stream of Bernoulli columns needs eleven tables at its peak; if they need more bytes
#: than this, they are refused before they are made.
_TABLES, _MOST_BYTES = 11, 16 * 2**30
#: What Gaussian columns, and groups of counts, may hold. Parts of counts have a posterior, though
#: no density.
FINITE = Support(np.isfinite, "numbers other than infinity; missing is NaN", 0.0)
_AMOUNTS = Support(lambda x: (x >= 0) & (x < np.inf), "counts, numbers that are 0 or more", 0.0)


# --- columns --------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class ColumnPart:
    """A family and the positions of its columns: a range if the rows are sparse."""

    family: str
    columns: Annotated[tuple[int, ...] | range, "D", "distinct"]

    @property
    def distribution(self) -> type[AbstractFamily[Any]]:
        """The class of the family."""
        return FAMILIES[self.family]

    @property
    def is_vector(self) -> bool:
        """Tell whether the columns are one event."""
        return self.family in VECTORS

    @property
    def is_sparse(self) -> bool:
        """Tell whether the rows are sparse."""
        return isinstance(self.columns, range)


@final
@dataclass(frozen=True, slots=True)
class ColumnNames:
    """What columns are called: by name, or by number if they have none."""

    owner: str
    names: Labels | range

    def of(self, columns: Sequence[int]) -> str:
        """List columns."""
        return check.listing([self.names[j] for j in columns])

    def name_of(self, column: int) -> str:
        """Name a column in a sentence; x and its number if it has no name."""
        return f"x{column}" if isinstance(self.names, range) else str(self.names[column])

    def keys(self, part: ColumnPart) -> list[Any]:
        """Name the columns of a part: one by one, or as a group if they are one event.

        All columns without names are a range: there may be a million of them.
        """
        if isinstance(part.columns, range) and isinstance(self.names, range):
            return [part.columns]
        names = self.names_of(part)
        return [tuple(names)] if part.is_vector else names

    def names_of(self, part: ColumnPart) -> list[Any]:
        """Name the columns of a part."""
        return [self.names[j] for j in part.columns]

    def find(self, keys: Iterable[Any], what: str) -> list[tuple[int, ...]]:
        """Find the columns that each key of a mapping names; none may be named twice."""
        found = [self._columns(key, what) for key in keys]
        for column, n in Counter(j for columns in found for j in columns).items():
            if n > 1:
                raise InputError(
                    f"The {what} of {self.owner} name column {self.names[column]!r} twice."
                )
        return found

    def _columns(self, key: Any, what: str) -> tuple[int, ...]:
        """Find the columns that a key names: one, or a tuple of them."""
        if isinstance(key, tuple) and not key:
            raise InputError(f"The {what} of {self.owner} name an empty group of columns.")
        group = key if isinstance(key, tuple) and key not in self.names else (key,)
        return tuple(self._column(name, what) for name in group)

    def _column(self, name: Any, what: str) -> int:
        """Find a column by its name, or by its number."""
        if not isinstance(name, bool):
            if name in self.names:
                return self.names.index(name)
            if isinstance(name, (int, np.integer)) and 0 <= name < len(self.names):
                return int(name)
        raise InputError(
            f"The {what} of {self.owner} name the column {name!r}, which is not there. Known: "
            f"{check.listing(self.names)}."
        )

    def refuse(self, support: Support, x: F64, part: ColumnPart, rows: Sequence[int]) -> None:
        """Refuse cells outside of a support, by row and column."""
        owner = f"{self.owner}: the family {part.family!r}"
        support.refuse_others(x, owner, rows, self.names_of(part))

    @contextmanager
    def naming(self, x: F64, part: ColumnPart, rows: Sequence[int]) -> Iterator[None]:
        """Say which cell it was, or at least which columns, if a family refuses a block."""
        try:
            yield
        except InputError as error:
            cells = "poisson" if part.family == "multinomial" else part.family  # one by one
            self.refuse(FAMILIES[cells]._support, x, part, rows)  # noqa: SLF001 - of the library
            what = f"{self.owner}, {part.family} of {self.of(part.columns)}"
            raise InputError(f"{what}: {error}") from error


def _blocks(
    rows: Rows, part: ColumnPart, names: ColumnNames, size: int | None = None
) -> Iterator[tuple[F64, F64 | None, Int, range]]:
    """Yield the columns of a part, weights, codes and row numbers, a block at a time."""
    check_size(rows.n_classes, len(part.columns), names.owner)
    for block in check.blocks(len(rows.codes), size or check.block_rows(len(part.columns))):
        weights = None if rows.weights is None else rows.weights[block]
        x = rows.X.floats(part.columns, block)
        yield x, weights, rows.codes[block], range(block.start, block.stop)


def class_weights(rows: Rows) -> F64:
    """Return the total weight of each class."""
    return np.bincount(rows.codes, rows.weights, rows.n_classes).astype(np.float64)


def check_size(n_classes: int, n_columns: int, owner: str) -> None:
    """Refuse tables that would not fit into memory."""
    n_bytes = 8 * n_classes * n_columns * _TABLES
    if n_bytes > _MOST_BYTES:
        raise InputError(
            f"{owner}: tables for {n_classes} classes and {n_columns} columns may need "
            f"{n_bytes / 2**30:.1f} GiB, above {_MOST_BYTES / 2**30:.0f} GiB. Use fewer columns."
        )


# --- sparse rows ----------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """Rows of counts in compressed form, each column at most once."""

    owner: str
    X: csr_array
    #: Number of the first row, in messages.
    first: int = 0

    @classmethod
    def of(cls, X: Any, owner: str) -> Self:
        """Take a sparse matrix or array of any format; one that is in order is not copied."""
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise InputError(
                f"{owner} needs sparse rows of numbers, of shape (n, D). Got {X.dtype} of shape "
                f"{X.shape}."
            )
        if not all(X.shape):
            raise InputError(
                f"{owner}: found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s) "
                f"(shape={X.shape}) while a minimum of 1 is required."
            )
        rows = csr_array(X)
        if X.format == "csr" and X.has_canonical_format:  # looked up once, and remembered by X
            rows.has_canonical_format = True
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        return cls(owner, rows)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    def values(self, row: int) -> list[float]:
        """Return all entries of a row."""
        return self.X[[row]].toarray()[0].tolist()

    def piece(self, rows: slice) -> SparseRows:
        """Cut a block of rows out, as float64, which they usually are."""
        starts = self.X.indptr[rows.start : rows.stop + 1]
        entries = slice(int(starts[0]), int(starts[-1]))
        cut = csr_array((rows.stop - rows.start, self.n_columns))
        # Set one by one, as SciPy copies what is a small part of a larger array.
        cut.data = np.asarray(self.X.data[entries], dtype=np.float64)
        cut.indices, cut.indptr = self.X.indices[entries], starts - starts[0]
        return SparseRows(self.owner, cut, rows.start)

    def refuse_others(self, support: Support) -> None:
        """Refuse entries that are no counts of a family."""
        for part in check.blocks(self.X.nnz, check.block_rows(8)):
            x = self.X.data[part]
            if support is _AMOUNTS and x.min() >= 0 and x.max() < np.inf:
                continue  # an interval: faster than comparing each
            right = support.inside(x)
            if not right.all():
                entry = part.start + int(right.argmin())
                row = self.first + int(np.searchsorted(self.X.indptr, entry, side="right")) - 1
                raise InputError(
                    f"{self.owner} needs {support.needs}, in sparse rows. Got "
                    f"{self.X.data[entry]:g} in row {row}, column {self.X.indices[entry]}. Parts "
                    "of counts have a posterior under families='multinomial', but no density; rows "
                    "with missing counts must be left out."
                )

    def counts(self, codes: Int, weights: F64 | None, n_classes: int, family: str) -> F64:
        """Add up the rows of each class, weighted: (K, D)."""
        check_size(n_classes, self.n_columns, self.owner)
        result = np.zeros((n_classes, self.n_columns))
        entries = max(_ENTRIES, result.size)  # so that adding tables up costs less than making them
        small = codes.astype(np.int32)
        for rows in check.blocks(len(self), max(1, len(self) * entries // max(1, self.X.nnz))):
            piece = self.piece(rows)
            piece.refuse_others(_count_support(family))
            lengths, values = np.diff(piece.X.indptr), piece.X.data
            if weights is not None:
                values = values * np.repeat(weights[rows], lengths)
            cells = np.repeat(small[rows], lengths), piece.X.indices
            result += coo_array((values, cells), shape=result.shape).toarray()
        return result


def _count_support(family: str) -> Support:
    """Return what the entries of sparse rows may be."""
    return _AMOUNTS if family == "multinomial" else FAMILIES[family]._support  # noqa: SLF001


# --- estimates ------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class CategorySummary:
    """The weight of each category of a column in each class."""

    categories: Annotated[Labels, "C", "distinct"]
    counts: Annotated[F64, "K C", ">= 0"]

    def __post_init__(self) -> None:
        check.frozen(self.counts)

    def merge(self, other: Self) -> CategorySummary:
        """Join two summaries of the same classes; categories are matched by value."""
        both, places = Categories.of(self.categories).merged(Categories.of(other.categories))
        _check_cells(len(self.counts), both.values)
        counts = np.zeros((len(self.counts), len(both.values)))
        counts[:, : len(self.categories)] = self.counts
        counts[:, places] += other.counts
        return CategorySummary(both.values, counts)

    def spread(self, places: Int, n_classes: int) -> CategorySummary:
        """Put class i at ``places[i]`` among ``n_classes``; the others are empty."""
        counts = np.zeros((n_classes, len(self.categories)))
        counts[places] = self.counts
        return replace(self, counts=counts)


def _check_cells(n_classes: int, categories: Labels) -> None:
    """Refuse a column with more categories than anyone would count."""
    if n_classes * len(categories) > _MOST_CELLS:
        raise InputError(
            f"A column has {len(categories)} categories, too many to count in {n_classes} "
            f"classes: {check.listing(categories)}. Is it an identifier? Drop it."
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A parameter of a family that was given, of each class."""

    name: str
    values: Annotated[F64, ("K", "K A", "K A A")]

    def __post_init__(self) -> None:
        check.frozen(self.values)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A distribution of each class that was given: stands where a summary would, without rows."""

    parameters: Annotated[tuple[Parameter, ...], "K"]
    #: What the codes of a categorical column stand for.
    categories: Annotated[Labels, "C", "distinct"] = ()

    def family(self, part: ColumnPart) -> Any:
        """Make the distributions; numbers have an axis for the column, of length one."""
        apart = not part.is_vector and part.family != "categorical"
        values = [each.values[:, None] if apart else each.values for each in self.parameters]
        own = [each.name for each in fields(part.distribution) if each.repr]
        found = part.distribution(*values) if own == [e.name for e in self.parameters] else None
        size = len(part.columns) if part.is_vector else len(self.categories) or 1
        wide = part.is_vector or part.family == "categorical"
        if found is None or (found.mean.shape[-1] if wide else len(part.columns)) != size:
            raise InputError(f"The given {part.family!r} does not fit its columns or categories.")
        return found


#: What a part is learned from; all but what is known merge, and have a leading axis of classes.
Summary = (
    ClassMoments
    | SumSummary
    | CategorySummary
    | PositiveSummary
    | SketchSummary
    | MomentSummary
    | PointSummary
    | NumberSummary
    | Known
)
#: Those of families that have another than their distribution; "auto" is a part of numbers.
_SUMMARIES: dict[str, type] = {
    "gaussian": ClassMoments,
    "categorical": CategorySummary,
    "histogram": PointSummary,
    "auto": NumberSummary,
}


@final
@dataclass(frozen=True, slots=True, eq=False)
class PartSummary:
    """A part, and what is known of its columns."""

    part: ColumnPart
    summary: Annotated[Summary, "K D"]

    def _check(self) -> None:
        """Refuse the summary of another family, in a file."""
        part, found = self.part, self.summary
        if isinstance(found, Known):
            found.family(part)
            return
        own: Any = _SUMMARIES.get(part.family)
        if own is None and part.family in FAMILIES:
            own = getattr(part.distribution, "_summary", PositiveSummary)  # of two parts or more
        right = type(found) is own
        if right and isinstance(found, ClassMoments):
            right = found.detail == "diagonal"
        elif right and isinstance(found, CategorySummary | PointSummary):
            right = len(part.columns) == 1
        elif right and not isinstance(found, NumberSummary):
            axes = {"beta": 3, "multivariate_gaussian": 3}.get(part.family, 2)
            last: Any = getattr(found, "scatter", getattr(found, "mean", None))
            name, weight = found.family, found.weight  # type: ignore[union-attr]
            right = name == part.distribution.__name__ and weight.ndim == 2 - part.is_vector
            right = right and (last is None or last.ndim == axes)
        if not right or (part.is_sparse and part.family not in SPARSE):
            raise InputError(f"A {type(found).__name__} is not what {part.family!r} learns from.")


def estimate_term(term: Any, part: ColumnPart, summary: Any, how: Any, names: ColumnNames) -> Any:
    """Estimate the distributions of one part; ``how`` has the parameters of the classifier."""
    try:
        if isinstance(summary, Known):
            return term.known(part, summary, how, names)
        return term.estimate(part, summary, how, names)
    except (InputError, NumericalError) as error:
        raise InputError(
            f"{names.owner}, {part.family} of {names.of(part.columns)}, by class and column: "
            f"{error}"
        ) from error


def estimate_smoothed(
    part: ColumnPart, summary: Any, how: Any, names: ColumnNames, values: Labels = (), **more: int
) -> tuple[Any, Any]:
    """Estimate by maximum likelihood, or with artificial observations; and return how many.

    ``values`` are the categories of a categorical column.
    """
    make: Any = part.distribution.estimate
    if part.family not in (*_SMOOTHED, *_PULLED):
        return make(summary), None
    amount, target = _amounts(how.smoothing, part, names), how.smoothing_target
    is_open = isinstance(amount, str)
    if part.family in _PULLED:
        amount = 1.0 if is_open else amount
        return make(_pulled(summary, amount, counts=part.family == "poisson")), amount
    if not isinstance(target, str):
        spare = more.get("n_categories", 0) > len(values)
        target = _given_target(target, part, names, values, spare=spare)
    if is_open:
        amount = _choose(_tabulate(part, summary, **more), target)
    if isinstance(target, str) and target != "uniform":
        own = amount if target == "marginal" else 0.0
        target = make(_pool_classes(summary), own, **more).mean
    return make(summary, amount, None if isinstance(target, str) else target, **more), amount


def _amounts(given: Any, part: ColumnPart, names: ColumnNames) -> Any:
    """Return the smoothing of the columns of a part: one number, one each, or "auto"."""
    named = check.by_name(given, names.names if isinstance(names.names, tuple) else ())
    if named is None and not np.ndim(given):
        return given if isinstance(given, str) else float(given)
    each = np.ones(len(names.names))
    if named is not None:
        for columns, amount in zip(names.find(named, _KEYS), named.values(), strict=True):
            each[list(columns)] = amount
    elif len(given) != len(each):
        raise ShapeError(
            f"The smoothing of {names.owner} must be one number, or one for each of {len(each)} "
            f"columns. Got {len(given)}."
        )
    else:
        each[:] = given
    return each if part.is_sparse else each[list(part.columns)]


def refuse_parameters(how: Any, parts: Sequence[ColumnPart], names: ColumnNames) -> None:
    """Refuse smoothing by columns that are not there, or that have no categories."""
    _amounts(how.smoothing, parts[0], names)
    given = how.smoothing_target
    if isinstance(given, str):
        return
    counted = [part for part in parts if part.family in _SMOOTHED]
    known = {tuple(part.columns) for part in counted if part.family != "bernoulli"}
    known |= {(j,) for part in counted if part.family == "bernoulli" for j in part.columns}
    for key, columns in zip(given, names.find(given, _TARGET_KEYS), strict=True):
        if columns not in known:
            raise InputError(
                f"The smoothing_target of {names.owner} has a distribution for {key!r}, which is "
                "no Bernoulli or categorical column and no group of counts. Leave it out."
            )


def _given_target(
    given: Mapping[Any, Any], part: ColumnPart, names: ColumnNames, values: Labels, *, spare: bool
) -> Any:
    """Return the distributions that the columns of a part are smoothed towards.

    Bernoulli columns have the probability of 1; those without a distribution are uniform.
    """
    found = dict(zip(names.find(given, _TARGET_KEYS), given.values(), strict=True))
    if part.family == "bernoulli":
        even = {0: 0.5, 1: 0.5}
        listed = [_shares(found.get((j,), even), (0, 1), names.of([j])) for j in part.columns]
        return np.array(listed)[:, 1]
    if tuple(part.columns) not in found:
        return "uniform"
    known = tuple(names.names_of(part)) if part.is_vector else values
    return _shares(found[tuple(part.columns)], known, names.of(part.columns), spare=spare)


def _shares(given: Any, values: Labels, column: str, *, spare: bool = False) -> F64:
    """Return the probabilities of categories; with a spare one, which has those of all others."""
    named: Any = check.by_name(given)
    lacking = [value for value in values if value not in named]
    found = np.array([named.get(value, 0.0) for value in values], dtype=np.float64)
    total = found.sum()
    if lacking or not (spare or total > 0):
        what = f"no probability for {lacking[0]!r}" if lacking else "probability 0 for all"
        raise InputError(
            f"The smoothing_target of {column} has {what}. Give one to each category that occurs, "
            "0 if need be, but not to all of them."
        )
    return np.append(found, max(0.0, 1.0 - total)) if spare else found / total


def _tabulate(part: ColumnPart, summary: Any, n_categories: int = 0) -> F64:
    """Return the counts of a summary with categories on the last axis: (K, C) or (K, D, 2)."""
    if part.family == "bernoulli":
        ones = summary.total
        return np.stack([np.maximum(summary.weight - ones, 0.0), ones], axis=-1)
    counts: F64 = summary.padded(n_categories) if n_categories else summary.total
    return counts


def _choose(counts: F64, target: Any) -> Any:
    r"""Choose the smoothing of columns by the likelihood of cells, each given all other rows.

    .. math:: \sum_k \sum_c n_{kc}
              \log \frac{n_{kc} - 1 + \alpha C t_c}{n_k - 1 + \alpha C}

    The target t is without the row too if it comes from the rows. Of a weight below 1 nothing is
    left. What is then impossible whatever the smoothing, the one row of a category, has no say.
    """
    size, totals, both = counts.shape[-1], counts.sum(axis=-1, keepdims=True), counts.sum(axis=0)
    rest, left = np.maximum(counts - 1.0, 0.0), np.maximum(totals - 1.0, 0.0)
    share: Any = 1.0 / size
    if not isinstance(target, str):
        share = np.stack([1.0 - target, target], axis=-1) if counts.ndim > 2 else target
    scores = []
    for amount in _CANDIDATES:
        if isinstance(target, str) and target != "uniform":
            own = amount if target == "marginal" else 0.0
            whole = np.maximum(both.sum(axis=-1, keepdims=True) - 1.0, 0.0) + own * size
            share = (np.maximum(both - 1.0, 0.0) + own) / np.where(whole > 0, whole, 1.0)
        p = (rest + amount * size * share) / (left + amount * size)
        scores.append(scipy.special.xlogy(counts, np.where(p > 0, p, 1.0)).sum(axis=(0, -1)))
    return np.array(_CANDIDATES)[np.argmax(scores, axis=0)]


def _pool_classes(summary: Any) -> Any:
    """Add up the classes of a summary of sums or counts."""
    arrays = [each.name for each in fields(summary) if each.name != "family"]
    return replace(summary, **{name: getattr(summary, name).sum(axis=0) for name in arrays})


def _pulled(summary: SumSummary, amount: Any, *, counts: bool) -> SumSummary:
    r"""Add so many observations of the mean m over all classes.

    For counts m is :math:`(S + a) / (N + a)`, so that nothing is impossible.
    """
    both = _pool_classes(summary)
    extra = amount if counts else 0.0
    weight = both.weight + extra
    mean = np.divide(both.total + extra, weight, out=np.zeros_like(weight), where=weight > 0)
    return replace(summary, weight=summary.weight + amount, total=summary.total + amount * mean)


# --- terms ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Term(ABC):
    """One fitted part."""

    part: ColumnPart
    #: Its distributions: a batch of (K, D), or of (K,) if the columns are one event.
    family: Any
    names: ColumnNames
    #: Where a variance was raised, and where nothing was observed in a class, so that the
    #: distribution over all classes stands in: (K, D); None if that cannot be.
    raised: Bool | None = field(default=None, kw_only=True)
    borrowed: Bool | None = field(default=None, kw_only=True)
    #: How many artificial observations its columns have: one number, or one each; None if none.
    smoothing: Any = field(default=None, kw_only=True)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out tables that were made for scoring."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    @abstractmethod
    def summarise(cls, rows: Rows, part: ColumnPart, names: ColumnNames) -> Any:
        """Summarise the columns of a part."""

    @classmethod
    def estimate(cls, part: ColumnPart, summary: Any, how: Any, names: ColumnNames) -> Self:
        """Estimate the distributions from a summary."""
        family, amount = estimate_smoothed(part, summary, how, names)
        return cls(part, family, names, smoothing=amount)

    @classmethod
    def known(cls, part: ColumnPart, given: Known, how: Any, names: ColumnNames) -> Self:  # noqa: ARG003
        """Take distributions that were given."""
        return cls(part, given.family(part), names)

    def distributions(self) -> list[Any]:
        """Return the distributions of each column, or of the event, with classes as their batch."""
        own = self.family
        if self.part.is_vector or self.part.is_sparse or len(own.batch_shape) == 1:
            return [own]
        return [own._one(slice(None), j) for j in range(len(self.part.columns))]  # noqa: SLF001

    def ready(self, rows: Any) -> Any:
        """Return what scoring needs of all rows."""
        return rows

    @abstractmethod
    def score(self, ready: Any, block: slice, *, whole: bool) -> F64:
        """Return log p(x | k) of the columns of a block, (K, B).

        Unless ``whole``, a term that is the same for all classes may be left out.
        """

    def contributions(self, rows: Any, row: int) -> F64:
        """Return what each column of one row adds, (K, D), or (K, 1) if they are one event."""
        logs: F64 = self.family.log_density(self._block(rows, slice(row, row + 1))[0])
        return logs[:, None] if self.part.is_vector else logs

    def features(self, n: int) -> list[Any]:
        """Name so many contributions: of the columns, or of all of them if they are one event."""
        names = self.names.names_of(self.part)
        return names if n == len(names) else [tuple(names)]

    def sample(self, codes: Int, total: int, rng: np.random.Generator) -> Any:
        """Draw the columns of rows of these classes, one after the other; counts have a total."""
        draws = self._draws(codes, total, rng)
        whole = self.part.family in ("bernoulli", "poisson", "multinomial")
        return list((draws.astype(np.int64) if whole else draws).T)

    def _draws(self, codes: Int, total: int, rng: np.random.Generator) -> F64:
        """Draw the columns, class by class: (n, D)."""
        result = np.empty((len(codes), len(self.part.columns)))
        more = {"total": total} if self.part.family == "multinomial" else {}
        for k in np.unique(codes):
            mine = np.flatnonzero(codes == k)
            result[mine] = self.family._one(k).sample(len(mine), rng, **more)  # noqa: SLF001
        return result

    def moments(self, k: int) -> tuple[Any, Any]:
        """Return means and variances of the columns in a class."""
        return self.family.mean[k], self.family.variance[k]

    def filled(self, x: F64, k: int, spread: F64 | None = None) -> F64:
        """Return columns with missing entries by their means in a class; add their covariances."""
        hidden = np.isnan(x)
        if self.part.family == "multivariate_gaussian":
            result = x.copy()
            for part, values, columns, more, _ in self.family._alone((k,)).filled(x, 0):  # noqa: SLF001
                result[part] = values
                if spread is not None:
                    spread[part[:, None, None], columns[:, :, None], columns[:, None, :]] = more
            return result
        if self.part.is_vector and hidden.any():
            raise InputError(
                f"{self.names.owner}: row {int(hidden.any(axis=1).argmax())} lacks a value of the "
                f"{self.part.family} group {self.names.of(self.part.columns)}, which the others do "
                "not determine. Fill it in, or leave the row out."
            )
        means, variances = self.moments(k) if hidden.any() else (0.0, 0.0)
        if spread is not None:
            np.einsum("nii->ni", spread)[...] = hidden * variances
        return np.where(hidden, means, x)

    def kinds(self, rows: Any) -> F64:
        """Return what must agree if densities are to be compared: what is missing, (n, d)."""
        return np.isnan(self._block(rows, slice(0, len(rows)))).astype(np.float64)

    def sample_like(self, codes: Int, kind: F64, rng: np.random.Generator) -> list[Any]:
        """Draw columns of such a kind."""
        drawn = self.sample(codes, 0, rng)
        gone = np.full(len(codes), np.nan)
        return [gone if lacks else each for each, lacks in zip(drawn, kind, strict=True)]

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return int(self.family.n_parameters)

    @property
    def width(self) -> int:
        """Numbers per row that scoring a block needs at once."""
        return len(self.part.columns)

    def _block(self, rows: Table, block: slice) -> F64:
        """Read the columns of a block."""
        return rows.floats(self.part.columns, block)

    # --- natural form ---------------------------------------------------------------------------

    @property
    def natural(self) -> tuple[F64, F64]:
        """Natural parameters (K, S) and log partitions (K, D) or (K, 1)."""
        natural = self.family.natural_parameters
        k = len(natural)
        return natural.reshape(k, -1), self.family.log_partition.reshape(k, -1)

    def statistics(self, rows: Any, block: slice) -> F64:
        """Return the sufficient statistics of a block, (B, S), NaN where missing."""
        x = self._block(rows, block)
        with self.names.naming(x, self.part, range(block.start, block.stop)):
            found: F64 = self.family.sufficient_statistics(x[:, None])
        return found.reshape(len(x), -1)

    def statistic_names(self) -> list[str]:
        """Name the sufficient statistics."""
        columns = [self.names.name_of(j) for j in self.part.columns]
        if self.part.family == "multivariate_gaussian":
            return columns + [f"{i} {j}" for i in columns for j in columns]
        texts = _STATISTICS.get(self.part.family, ("{0}",))
        return [text.format(column) for column in columns for text in texts]


@final
@dataclass(frozen=True, eq=False)
class GaussianTerm(Term):
    """Gaussian columns; constant ones have no part."""

    model: ClassGaussians = field(kw_only=True)

    @classmethod
    def summarise(cls, rows: Rows, part: ColumnPart, names: ColumnNames) -> ClassMoments:
        """Return means and centred squares."""
        check_size(rows.n_classes, len(part.columns), names.owner)
        shape = len(rows.codes), len(part.columns)
        view = RowsView(shape, lambda block: rows.X.floats(part.columns, block))
        found: Any = replace(rows, X=view).moments("diagonal", names.owner, names.names_of(part))
        return found  # never None: what is missing is left out of diagonals

    @classmethod
    def estimate(
        cls, part: ColumnPart, summary: ClassMoments, how: Any, names: ColumnNames
    ) -> Self:
        r"""Estimate means and variances, the latter at least a share of the feature's own variance.

        All get a share of the largest variance of any feature, if asked. Without it, what is
        constant in a class of n rows gets 1 / (n + 1) of its variance within classes, as
        one more row that varies would give. A class in which a feature was never observed takes
        its distribution over all classes.
        """
        weights, centre = summary.feature_weights, summary.grand_mean()
        total, unseen = weights.sum(axis=0), weights == 0
        with np.errstate(over="ignore"):  # refused with the variances
            between = (weights * (summary.means - centre) ** 2).sum(axis=0)
        overall = (summary.pooled_diagonal() + between) / np.where(total > 0, total, 1.0)
        share = how.variance_smoothing
        added = share * overall.max(initial=0.0) if share else 0.0
        active = ~summary.constant_features()
        flat = summary.flat() & active & ~unseen
        seen = active & ~unseen
        if added:  # which is variation enough
            seen, flat = seen & ~flat, np.zeros_like(flat)
        varied = with_variation(summary, flat) if flat.any() else summary
        check_spread(varied, "diagonal", seen, Names("Gaussian", (), tuple(names.names_of(part))))
        means, variances = summary.means, varied.diagonals() / np.where(unseen, 1.0, weights)
        if unseen.any():
            means, variances = np.where(unseen, centre, means), np.where(unseen, overall, variances)
        variances = variances + added
        low = (variances < how.variance_floor * overall) & active
        variances = np.where(low, how.variance_floor * overall, variances)
        model = ClassGaussians.of_variances("diagonal", means, variances, active)
        family = families.Gaussian(means, np.where(active, variances, 1.0))
        return cls(part, family, names, raised=flat | low, borrowed=unseen, model=model)

    @classmethod
    def known(cls, part: ColumnPart, given: Known, how: Any, names: ColumnNames) -> Self:  # noqa: ARG003
        """Take Gaussians that were given."""
        own, no = given.family(part), np.zeros((len(given.parameters[0].values), 1), dtype=bool)
        model = ClassGaussians.of_variances("diagonal", own.mean, own.variance, ~no[0])
        return cls(part, own, names, raised=no, borrowed=no, model=model)

    def score(self, ready: Table, block: slice, *, whole: bool) -> F64:  # noqa: ARG002 - always
        """Return log densities; see ``Term.score``."""
        x = self._block(ready, block)
        scores = self.model.log_densities(x)
        odd = np.flatnonzero(~np.isfinite(scores.sum(axis=0)))
        if odd.size:
            self.names.refuse(FINITE, x[odd], self.part, odd + block.start)
            scores[:, odd] = self.model.scores_of_observed(x[odd], "densities")
        return scores

    def contributions(self, rows: Table, row: int) -> F64:
        """Return what each column of one row adds; see ``Term.contributions``."""
        return np.where(self.model.active, super().contributions(rows, row), 0.0)

    def moments(self, k: int) -> tuple[F64, F64]:
        """Return means, NaN where nothing was ever observed, and variances, zero if constant."""
        assert self.borrowed is not None  # noqa: S101 - it says where
        means = np.where(self.borrowed.all(axis=0), np.nan, self.model.means[k])
        return means, self.family.variance[k] * self.model.active

    def _draws(self, codes: Int, total: int, rng: np.random.Generator) -> F64:
        draws = super()._draws(codes, total, rng)
        constant = ~self.model.active
        draws[:, constant] = self.model.means[codes][:, constant]
        assert self.borrowed is not None  # noqa: S101 - it says where
        draws[:, self.borrowed.all(axis=0)] = np.nan  # never observed
        return draws

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: mean and variance of each column that varies."""
        return 2 * self.model.n_classes * int(self.model.active.sum())

    @property
    def natural(self) -> tuple[F64, F64]:
        """Natural parameters and log partitions, zero for columns that have no part."""
        active, (natural, partition) = self.model.active, super().natural
        return natural * np.repeat(active, 2), partition * active


@dataclass(frozen=True, eq=False)
class FamilyTerm(Term):
    r"""Scores :math:`\eta_k \cdot T(x) - A_k + \log h(x)` by one product of matrices.

    By the log density itself for full covariances and for probabilities of zero.
    """

    #: Rows at once where merging would be approximate: all of them.
    _in_one_piece = False

    @classmethod
    def summarise(cls, rows: Rows, part: ColumnPart, names: ColumnNames) -> Any:
        """Summarise blocks of rows and merge."""
        found = []
        size = len(rows.codes) if cls._in_one_piece else None
        for x, weights, codes, numbers in _blocks(rows, part, names, size):
            with names.naming(x, part, numbers):
                found.append(part.distribution.summarise(x, weights, codes, rows.n_classes))
        return reduce(lambda one, other: one.merge(other), found)

    @cached_property
    def _weights(self) -> tuple[F64, F64] | None:
        """Return the weights of the product; None if there is no such product."""
        linear = self.part.family not in ("multivariate_gaussian", "laplace")
        return self.natural if linear and np.isfinite(self.natural[0]).all() else None

    @property
    def width(self) -> int:
        """Numbers per row: of log densities, those of all classes and columns."""
        return len(self.part.columns) * (1 if self._weights else len(self.family.mean))

    def score(self, ready: Table, block: slice, *, whole: bool) -> F64:
        """Return scores by the product, or log densities; see ``Term.score``."""
        if self._weights is None:
            logs: F64 = self.family.log_density(self._block(ready, block)[:, None])
            return (logs if logs.ndim == 2 else logs.sum(axis=2)).T
        scores = self._product(self.statistics(ready, block), *self._weights)
        return scores + self._log_base(ready, block) if whole else scores

    def _log_base(self, rows: Table, block: slice) -> F64:
        """Return the log base measure of each row."""
        x = self._block(rows, block)
        with self.names.naming(x, self.part, range(block.start, block.stop)):
            base: F64 = self.family.log_base(x[:, None])
        return base.reshape(len(x), -1).sum(axis=1)

    def _product(self, statistics: F64, weights: F64, partitions: F64) -> F64:
        """Multiply the statistics of rows by the weights, without what is missing."""
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
class BernoulliTerm(FamilyTerm):
    """Zeros and ones; of columns that the first rows made such, other numbers are unknown."""

    #: Columns that nobody named, if unknown values are ignored; of those that were given, none.
    guessed: Any = field(default=False, kw_only=True)

    @classmethod
    def estimate(cls, part: ColumnPart, summary: Any, how: Any, names: ColumnNames) -> Self:
        """Estimate the probabilities of one."""
        family, amount = estimate_smoothed(part, summary, how, names)
        given, named = how.families, set(part.columns)
        if isinstance(given, Mapping):
            named = {j for columns in names.find(given, "families") for j in columns}
        elif isinstance(given, str) and given == "auto":
            named = set()
        guessed = np.array([how.unknown == "ignore" and j not in named for j in part.columns])
        return cls(part, family, names, smoothing=amount, guessed=guessed)

    def _block(self, rows: Table, block: slice) -> F64:
        x = super()._block(rows, block)
        others = (x != 0) & (x != 1) & np.isfinite(x) & self.guessed
        return np.where(others, np.nan, x) if others.any() else x


@final
@dataclass(frozen=True, eq=False)
class LaplaceTerm(FamilyTerm):
    """Laplace columns, whose spread has a least size as that of Gaussian ones has."""

    _in_one_piece = True

    @classmethod
    def estimate(
        cls, part: ColumnPart, summary: SketchSummary, how: Any, names: ColumnNames
    ) -> Self:
        """Estimate medians and mean deviations; the variance, twice its square, has the floor."""
        arrays = [each.name for each in fields(summary) if each.name != "family"]
        classes = [
            replace(summary, **{name: getattr(summary, name)[k] for name in arrays})
            for k in range(len(summary.weight))
        ]
        overall = families.Laplace.estimate(reduce(lambda one, other: one.merge(other), classes))
        unseen, centres = summary.weight == 0, summary.median()
        weights = np.where(unseen, 0.0, summary.weight)
        with np.errstate(invalid="ignore"):
            own = np.where(unseen, 0.0, summary.mean_deviation(centres))
        flat = (own**2 <= rounding_variance(centres)) & ~unseen
        within = (weights * own).sum(axis=0) / weights.sum(axis=0)
        spare = np.where((flat | unseen).all(axis=0), overall.scale, within)
        floor = np.sqrt(how.variance_floor) * overall.scale
        least = np.where(flat, spare / np.sqrt(weights + 1), floor)
        family = families.Laplace(
            np.where(unseen, overall.location, centres),
            np.where(unseen, overall.scale, np.maximum(own, least)),
        )
        return cls(part, family, names, raised=(own < least) & ~unseen, borrowed=unseen)

    @property
    def natural(self) -> tuple[F64, F64]:
        """There are no natural parameters."""
        raise InputError(
            f"{self.names.owner}.log_odds_weights: the columns {self.names.of(self.part.columns)} "
            "are of the Laplace family. Its location is not a natural parameter, so the posterior "
            "is not a generalised linear model. Leave them out, or choose another family."
        )


@final
@dataclass(frozen=True, eq=False)
class CountsTerm(FamilyTerm):
    """Multinomial groups: parts of counts have a posterior, though no density."""

    @classmethod
    def summarise(cls, rows: Rows, part: ColumnPart, names: ColumnNames) -> SumSummary:
        """Add up the counts; a row with a missing one is left out."""
        k = rows.n_classes
        total, weight = np.zeros((k, len(part.columns))), np.zeros(k)
        for x, weights, codes, numbers in _blocks(rows, part, names):
            names.refuse(_AMOUNTS, x, part, numbers)
            seen = ~np.isnan(x).any(axis=1)
            c, w = codes[seen], None if weights is None else weights[seen]
            total += class_sums(x[seen], c, w, k)
            weight += np.bincount(c, w, k)
        return SumSummary(part.distribution.__name__, weight, total)

    @cached_property
    def _weights(self) -> tuple[F64, F64]:
        """Return the weights of the product, and what makes a positive count impossible."""
        natural = self.natural[0]
        return np.maximum(natural, _LEAST), np.isneginf(natural).astype(np.float64)

    def _product(self, statistics: F64, weights: F64, barred: F64) -> F64:
        x = np.nan_to_num(statistics, nan=0.0)
        scores: F64 = weights @ x.T
        if barred.any():
            scores[barred @ (x > 0).T > 0] = -np.inf
        return scores

    def statistics(self, rows: Table, block: slice) -> F64:
        """Return the counts of a block, NaN in rows with a missing one."""
        x = self._block(rows, block)
        self.names.refuse(_AMOUNTS, x, self.part, range(block.start, block.stop))
        lacking = np.isnan(x.sum(axis=1))
        return np.where(lacking[:, None], np.nan, x) if lacking.any() else x

    def contributions(self, rows: Table, row: int) -> F64:
        """Return what the count of each column adds, without the coefficient."""
        x = np.nan_to_num(self.statistics(rows, slice(row, row + 1))[0], nan=0.0)
        return np.where(x > 0, x, 1.0) * np.where(x > 0, self.natural[0], 0.0)

    def kinds(self, rows: Table) -> F64:
        """Return the totals; of rows with a missing count -1. See ``Term.kinds``."""
        return np.nan_to_num(self.statistics(rows, slice(0, len(rows))).sum(1), nan=-1.0)[:, None]

    def sample_like(self, codes: Int, kind: F64, rng: np.random.Generator) -> list[Any]:
        """Draw counts of such a total; see ``Term.sample_like``."""
        gone = [np.full(len(codes), np.nan)] * len(self.part.columns)
        return gone if kind[0] < 0 else self.sample(codes, int(kind[0]), rng)


@final
@dataclass(frozen=True, eq=False)
class CategoricalTerm(Term):
    """Looks up the logarithm of the probability of each category."""

    categories: Categories = field(kw_only=True)
    #: What happens to a category that was never seen.
    unknown: str = field(kw_only=True)

    @classmethod
    def summarise(cls, rows: Rows, part: ColumnPart, names: ColumnNames) -> CategorySummary:  # noqa: ARG003
        """Count the categories of a column; those that its type declares, if it does, in its order.

        Batches that declare the same then agree, whatever occurs in them, and in which order.
        """
        words = rows.X.words(part.columns[0])
        known, codes = words.categories, words.codes
        if words.declared:
            known = words.declared
            codes = Categories.of(known).codes(words)
        k, size = rows.n_classes, len(known)
        _check_cells(k, known)
        cells = (rows.codes * (size + 1) + codes) + 1  # a class begins with what is missing
        flat: Any = np.bincount(cells, rows.weights, k * (size + 1))
        counts = flat.reshape(k, size + 1)[:, 1:].astype(np.float64)
        return CategorySummary(known, counts)

    @classmethod
    def estimate(
        cls, part: ColumnPart, summary: CategorySummary, how: Any, names: ColumnNames
    ) -> Self:
        """Estimate probabilities, with room for one category more if unknown ones are smoothed."""
        counts = CountSummary("Categorical", summary.counts.sum(axis=1), summary.counts)
        spare = how.unknown == "smooth"
        size = max(1, len(summary.categories) + spare)
        known = Categories.of(summary.categories)
        family, amount = estimate_smoothed(
            part, counts, how, names, known.values, n_categories=size
        )
        return cls(*(part, family, names), smoothing=amount, categories=known, unknown=how.unknown)

    @classmethod
    def known(cls, part: ColumnPart, given: Known, how: Any, names: ColumnNames) -> Self:
        """Take probabilities that were given."""
        known, unknown = Categories.of(given.categories), how.unknown
        unknown = "ignore" if unknown == "smooth" else unknown  # which has no room to be in
        return cls(part, given.family(part), names, categories=known, unknown=unknown)

    @cached_property
    def _table(self) -> F64:
        """Return log p of each category, of an unseen one and of a missing one: (K, C + 2)."""
        logs = self.family.natural_parameters
        size = len(self.categories.values)
        unseen = logs[:, size:] if self.unknown == "smooth" else np.zeros((len(logs), 1))
        return np.concatenate([logs[:, :size], unseen, np.zeros((len(logs), 1))], axis=1)

    def ready(self, rows: Table) -> Int:
        """Return the category of each row: C if it was never seen, -1 if it is missing."""
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

    def score(self, ready: Int, block: slice, *, whole: bool) -> F64:  # noqa: ARG002 - always
        """Look the categories up; see ``Term.score``."""
        return np.take(self._table, ready[block], axis=1)

    def contributions(self, rows: Table, row: int) -> F64:
        """Return what the column adds; see ``Term.contributions``."""
        return self._table[:, [self.ready(rows)[row]]]

    def sample(self, codes: Int, total: int, rng: np.random.Generator) -> list[Any]:  # noqa: ARG002
        """Draw categories that were seen or declared."""
        values = np.empty(len(self.categories.values), dtype=object)
        values[:] = self.categories.values
        if not len(values):
            return [np.full(len(codes), None, dtype=object)]
        edges = np.cumsum(self.family.mean[:, : len(values)], axis=1)
        uniform = rng.random(len(codes)) * edges[codes, -1]
        found = np.empty(len(codes), dtype=np.intp)
        for k in np.unique(codes):
            mine = codes == k
            found[mine] = np.searchsorted(edges[k], uniform[mine], side="right")
        return [values[np.minimum(found, len(values) - 1)]]

    def kinds(self, rows: Table) -> F64:
        """Tell where the category is missing or unknown; see ``Term.kinds``."""
        codes, n = self.ready(rows), len(self.categories.values)
        return ((codes < 0) | (codes == n)).astype(np.float64)[:, None]

    def statistics(self, rows: Table, block: slice) -> F64:
        """Return which category it is, as zeros and a one; NaN where it is missing."""
        table = np.eye(len(self.categories.values) + 2, self.family.mean.shape[1])
        table[-1] = np.nan  # missing: what it would add is not known
        return table[self.ready(rows)[block]]

    def statistic_names(self) -> list[str]:
        """Name the categories, and the place of unknown ones."""
        column = self.names.name_of(self.part.columns[0])
        known = [f"[{column} = {value!r}]" for value in self.categories.values]
        return [*known, f"[{column} unknown]"][: self.family.mean.shape[1]]


@dataclass(frozen=True, eq=False)
class SparseTerm(Term):
    """Bernoulli, multinomial or Poisson columns of sparse rows: only what is not zero is read."""

    @classmethod
    def summarise(cls, rows: Rows, part: ColumnPart, names: ColumnNames) -> SumSummary:  # noqa: ARG003
        """Add up sparse rows."""
        counts = rows.X.counts(rows.codes, rows.weights, rows.n_classes, part.family)
        return cls.summary_of(part.family, class_weights(rows), counts)

    @staticmethod
    def summary_of(family: str, weights: F64, counts: F64) -> SumSummary:
        """Return the summary of rows of so much weight (K,) with so many counts (K, D)."""
        if family not in VECTORS:
            weights = np.broadcast_to(weights[:, None], counts.shape)
        return SumSummary(FAMILIES[family].__name__, weights, counts)

    @cached_property
    def _table(self) -> F64:
        """Return the weights of columns, (D, K), zero where they are infinite."""
        weights = np.where(np.isfinite(self.natural[0]), self.natural[0], 0.0)
        return np.ascontiguousarray(weights.T)

    @cached_property
    def _differences(self) -> F64:
        """Return the weights less those of the first class, (D, K - 1)."""
        return self._table[:, 1:] - self._table[:, :1]

    @cached_property
    def _offsets(self) -> F64:
        """Return the score of a row of zeros, (K,), without what is impossible."""
        partitions = self.natural[1]
        return -np.where(np.isfinite(partitions), partitions, 0.0).sum(axis=1)

    @cached_property
    def _count_impossible(self) -> tuple[F64, F64] | None:
        """Count impossible entries: 1 if a column must be zero, -1 if it must not; and the latter.

        None if all weights are finite.
        """
        weights = self.natural[0]
        if np.isfinite(weights).all():
            return None
        table = np.isneginf(weights).astype(np.float64) - np.isposinf(weights)
        needed = np.isposinf(weights).sum(axis=1, dtype=np.float64)
        return np.ascontiguousarray(table.T), needed

    def score(self, ready: SparseRows, block: slice, *, whole: bool) -> F64:
        """Score rows by a sparse product; see ``Term.score``."""
        rows = ready.piece(block)
        rows.refuse_others(_count_support(self.part.family))
        X = rows.X
        if whole or len(self._offsets) > _FEW:
            scores = X @ self._table
        else:  # a posterior needs differences only: one column less
            scores = np.zeros((len(rows), len(self._offsets)))
            scores[:, 1:] = X @ self._differences
        if self._offsets.any():
            scores += self._offsets
        if self._count_impossible is not None:
            present = csr_array(((X.data > 0).astype(np.float64), X.indices, X.indptr), X.shape)
            scores[present @ self._count_impossible[0] + self._count_impossible[1] > 0] = -np.inf
        if whole and self.part.family != "bernoulli":
            rows.refuse_others(_count_support("poisson"))
            logs = csr_array((scipy.special.gammaln(X.data + 1.0), X.indices, X.indptr), X.shape)
            scores -= logs.sum(axis=1)[:, None]
            if self.part.is_vector:
                scores += scipy.special.gammaln(X.sum(axis=1) + 1.0)[:, None]
        return scores.T

    def contributions(self, rows: SparseRows, row: int) -> F64:
        """Return what each column of one row adds, (K, D)."""
        x = np.array(rows.values(row), dtype=np.float64)
        if not self.part.is_vector:
            logs: F64 = self.family.log_density(x)
            return logs
        with np.errstate(invalid="ignore"):
            return np.where(x > 0, x * self.family.natural_parameters, 0.0)

    def kinds(self, rows: SparseRows) -> F64:
        """Return the totals of counts that have one; see ``Term.kinds``."""
        totals: F64 = rows.X.sum(axis=1)[:, None]
        return totals if self.part.is_vector else totals[:, :0]

    def sample_like(self, codes: Int, kind: F64, rng: np.random.Generator) -> Any:
        """Draw rows of such a total; see ``Term.sample_like``."""
        return self.sample(codes, int(kind.sum()), rng)

    def sample(self, codes: Int, total: int, rng: np.random.Generator) -> csr_array:
        """Draw sparse rows, some at a time."""
        size = max(1, _DRAWN_CELLS // len(self.part.columns))
        starts = range(0, len(codes), size)
        parts = [csr_array(self._draws(codes[i : i + size], total, rng)) for i in starts]
        return csr_array(vstack(parts))
