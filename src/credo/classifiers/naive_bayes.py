"""``NaiveBayes``: one naive Bayes for whatever columns there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, ClassVar, Literal, Self, final

import numpy as np
from scipy.sparse import csr_array, issparse

from credo import _checks as check
from credo._results import as_frame
from credo._types import F64, Bool, Int, Label, Labels, PerLabel, RandomState
from credo.classifiers._base import (
    Blocks,
    GenerativeClassifier,
    LearnsFromSummary,
    note_columns,
    prior_probabilities,
    probabilities,
    refuse_priors,
    room_for_covariances,
)
from credo.classifiers._labels import join_weights, read_labels, union_of
from credo.classifiers.explanation import Explanation, LogOddsWeights
from credo.classifiers.histogram_terms import HistogramTerm, NumberTerms
from credo.classifiers.naive_terms import (
    FAMILIES,
    SPARSE,
    VECTORS,
    BernoulliTerm,
    CategoricalTerm,
    CategorySummary,
    ColumnNames,
    ColumnPart,
    CountsTerm,
    FamilyTerm,
    GaussianTerm,
    Known,
    LaplaceTerm,
    Parameter,
    PartSummary,
    SparseRows,
    SparseTerm,
    Term,
    class_weights,
    estimate_term,
    refuse_parameters,
)
from credo.classifiers.summary import ColumnMemory, remember_numbers
from credo.columns import Numbers, Table, kind_of, read_table, rebuilt, with_weight
from credo.decisions import Loss, Regions, regions
from credo.exceptions import InputError, ShapeError, SingularWarning
from credo.families import DiagonalGaussian
from credo.families.class_gaussians import Conditional
from credo.families.histogram import NumberSummary
from credo.families.moments import ClassMoments, Rows
from credo.posterior import Posterior

_OWNER = "NaiveBayes"
#: How the columns of each family are learned and scored, if the rows are not sparse.
TERMS: dict[str, Any] = {
    **dict.fromkeys(FAMILIES, FamilyTerm),
    "bernoulli": BernoulliTerm,
    "gaussian": GaussianTerm,
    "histogram": HistogramTerm,
    "laplace": LaplaceTerm,
    "multinomial": CountsTerm,
    "categorical": CategoricalTerm,
    "auto": NumberTerms,
}
#: Scores of sparse rows that are made at once, 8 MiB: measured, fewer cost more a row.
_SCORES = 2**20


class TermClassifier(LearnsFromSummary, GenerativeClassifier):
    """Base of classifiers whose log p(x, k) is a sum of terms: of columns, or of words.

    A subclass sets ``_terms``, ``classes_`` and ``summary_``, which has the ``weights`` of the
    classes, and writes ``_rows``.
    """

    smoothing: Any
    smoothing_target: Any
    _terms: tuple[Term, ...]
    #: Whether no smoothing at all, None, leaves it to the model.
    _chooses_smoothing: ClassVar[bool] = False

    def _check_parameters(self, seen: Sequence[Label] | None = None) -> None:
        owner, target = type(self).__name__, f"smoothing_target of {type(self).__name__}"
        for amount in self._amounts():
            if amount is not None or not self._chooses_smoothing:
                check.number(amount, f"smoothing of {owner}", 0, 1e100)
        if self.kind == "columns" and isinstance(self.smoothing_target, Mapping):
            for key, shares in self.smoothing_target.items():
                named = check.by_name(shares)
                if named is None:
                    raise InputError(
                        f"The {target} for {key!r} must be a mapping from category to probability. "
                        f"Got {shares!r}."
                    )
                check.priors(named, tuple(named), f"{target} for {key!r}")
        else:
            words = "uniform", "marginal", "frequencies"
            check.one_of(self.smoothing_target, words, target)
        refuse_priors(self.priors, owner, seen or ())

    def _amounts(self) -> Iterable[Any]:
        """List the numbers that the smoothing gives."""
        return [self.smoothing]

    def _set_priors(self) -> Self:
        weights, owner = self.summary_.weights, type(self).__name__
        self.priors_ = prior_probabilities(self.priors, self.classes_, weights, owner)
        return self

    def _scores(self, rows: Any, *, densities: bool = False) -> Blocks:
        priors = self._log_priors()[:, None]
        ready = [term.ready(rows) for term in self._terms]
        size = check.block_rows(max(len(priors), *(term.width for term in self._terms)))
        if isinstance(rows, SparseRows):  # a product of few rows costs far more a row
            size = max(1, _SCORES // len(priors))
        for block in check.blocks(len(rows), size):
            with np.errstate(over="ignore", invalid="ignore"):
                parts = zip(self._terms, ready, strict=True)
                logs = (term.score(each, block, whole=densities) for term, each in parts)
                scores = np.add(next(logs), priors, order="C")
                for more in logs:
                    scores += more
                best = scores.max(axis=0)
            if not np.isfinite(best).all():
                self._refuse_row(rows, block.start + int(np.isfinite(best).argmin()))
            yield block, scores

    def _refuse_row(self, rows: Any, row: int) -> None:
        """Say why a row has no posterior."""
        possible = np.isfinite(self._log_priors())
        wrong: list[Any] = []
        for term in self._terms:
            best = term.contributions(rows, row)[possible].max(axis=0)
            impossible = np.flatnonzero(np.isneginf(best) | np.isnan(best)).tolist()
            features = term.features(len(best)) if impossible else []
            wrong += [features[j] for j in impossible]
        where = f"the values in {check.listing(wrong)} are" if wrong else "its values together are"
        raise InputError(
            f"{type(self).__name__}: row {row} has probability zero under every class: {where} "
            "impossible or beyond what numbers hold. Pass smoothing > 0, or check the row."
        )

    def _draw_like(
        self, rows: Any, size: int, rng: np.random.Generator
    ) -> Iterator[tuple[Int, Any]]:
        codes = rng.choice(len(self.classes_), size, p=self.priors_)
        each = [term.kinds(rows) for term in self._terms]
        ends = np.cumsum([found.shape[1] for found in each])[:-1]
        kinds, which = np.unique(np.concatenate(each, axis=1), axis=0, return_inverse=True)
        for i, kind in enumerate(kinds):
            parts = zip(self._terms, np.split(kind, ends), strict=True)
            drawn = [(term.part, term.sample_like(codes, own, rng)) for term, own in parts]
            if drawn[0][0].is_sparse:
                yield np.flatnonzero(which.ravel() == i), SparseRows.of(drawn[0][1], "draws")
                continue
            pairs = [pair for part, own in drawn for pair in zip(part.columns, own, strict=True)]
            columns = [column for _, column in sorted(pairs, key=lambda pair: pair[0])]
            rows_like = read_table(rebuilt(columns, None, None), "draws")
            yield np.flatnonzero(which.ravel() == i), rows_like

    def _explain(self, rows: Any, a: Label | None, b: Label | None) -> Explanation:
        """Split the log odds of one row; by default of the most probable classes."""
        owner = f"{type(self).__name__}.explain"
        best = np.argsort(-self._table(rows)[0], kind="stable").tolist()
        if len(best) < 2:
            raise InputError(f"{owner} compares two classes, and the model has one.")
        j = None if b is None else self._position(b, owner)
        i = next(k for k in best if k != j) if a is None else self._position(a, owner)
        j = next(k for k in best if k != i) if j is None else j
        logs, labels = self._log_priors(), self.classes_.tolist()
        if np.isneginf(logs[[i, j]]).all():
            raise InputError(
                f"{owner}: the priors of {labels[i]!r} and {labels[j]!r} are both zero. Compare "
                "other classes."
            )
        listed: list[tuple[int, Any, Any, float]] = []
        sums, cells = np.zeros(2), rows.values(0)
        for term in self._terms:
            columns, parts = term.part.columns, term.contributions(rows, 0)[[i, j]]
            sums += parts.sum(axis=1)
            with np.errstate(invalid="ignore"):
                shares = np.nan_to_num(parts[0] - parts[1], posinf=np.inf, neginf=-np.inf).tolist()
            values = [cells[column] for column in columns]
            if len(shares) < len(columns):  # one event
                values = [tuple(values)]
            everything = zip(columns, term.features(len(shares)), values, shares, strict=False)
            listed += [each for each in everything if each[3] or not term.part.is_sparse]
        if np.isneginf(sums).all():
            raise InputError(
                f"{owner}: the row is impossible under both classes, so there are no log odds. "
                "Pass smoothing > 0, or compare other classes."
            )
        listed.sort(key=lambda each: (-abs(each[3]), each[0]))
        _, features, found, shares = zip(*listed, strict=True) if listed else ((),) * 4
        contributions = check.frozen(np.array(shares, dtype=np.float64))
        prior = float(logs[i] - logs[j])
        return Explanation(labels[i], labels[j], features, found, contributions, prior)

    def _position(self, label: Label, owner: str) -> int:
        """Find a class."""
        return check.position(label, check.labels(self.classes_), "class", owner)

    def log_odds_weights(self, a: Label, b: Label) -> LogOddsWeights:
        r"""Return the log odds of two classes as a linear form, from the natural parameters.

        .. math:: \log \frac{p(a \mid x)}{p(b \mid x)} = w \cdot T(x) + w_0

        Parameters
        ----------
        a, b : label
            Two of ``classes_``.

        Returns
        -------
        LogOddsWeights
            Unpacks to w and :math:`w_0`. T(x) is x itself for Bernoulli, Poisson, exponential and
            multinomial columns; the posterior is then linear in x. A Gaussian adds the square of
            x, with weight zero if the classes share the variance.

        Raises
        ------
        InputError
            If a column is Laplace, or a weight is infinite.
        """
        self._check_ready()
        owner = f"{type(self).__name__}.log_odds_weights"
        i, j = self._position(a, owner), self._position(b, owner)
        logs = self._log_priors()
        if not np.isfinite(logs[[i, j]]).all():
            raise InputError(f"{owner}: the prior of {a!r} or {b!r} is zero.")
        weights, offset, statistics = [], float(logs[i] - logs[j]), list[str]()
        for term in self._terms:
            natural, partition = term.natural
            with np.errstate(invalid="ignore"):
                weights.append(natural[i] - natural[j])
                offset += float((partition[j] - partition[i]).sum())
            statistics += term.statistic_names()
        w = np.concatenate(weights)
        if not (np.isfinite(w).all() and np.isfinite(offset)):
            first = statistics[int(np.isfinite(w).argmin())]
            raise InputError(
                f"{owner}: the weight of {first} is infinite, because a probability is zero or "
                "one. Pass smoothing > 0."
            )
        return LogOddsWeights(a, b, check.frozen(w), offset, tuple(statistics))


# --- families -------------------------------------------------------------------------------------


def _name_families(families: Any) -> Any:
    """Return the families of columns, given by name or by class, by name; one, or a mapping."""
    if isinstance(families, Mapping):
        return {columns: _name_family(family) for columns, family in families.items()}
    return _name_family(families)


def _name_family(family: Any) -> str:
    """Return the name of a family, or "auto"."""
    if isinstance(family, (list, tuple, np.ndarray)):
        raise InputError(
            f"The families of {_OWNER} are one name for all columns, or a mapping from column to "
            "family, such as {0: 'gaussian', 1: 'poisson'}. Got a list."
        )
    if family is DiagonalGaussian or family in ("diagonal_gaussian", "normal"):
        return "gaussian"  # the same: independent columns
    if family == "multivariate_normal":
        return "multivariate_gaussian"
    for name, each in {**FAMILIES, "auto": "auto"}.items():
        if family is each or (isinstance(family, str) and family == name):
            return name
    shown = family if isinstance(family, str) else getattr(family, "__name__", family)
    raise InputError(
        f"{_OWNER} does not know the family {shown!r}. Choose one of {', '.join(FAMILIES)}."
    )


def _plan(families: Any, rows: Table, names: ColumnNames) -> tuple[ColumnPart, ...]:
    """Choose a family for each column: as named, or by what it holds."""
    wanted = [(tuple(range(rows.n_columns)), families)]
    if isinstance(families, Mapping):
        wanted = list(zip(names.find(families, "families"), families.values(), strict=True))
    named = {j for columns, _ in wanted for j in columns}
    wanted.append((tuple(j for j in range(rows.n_columns) if j not in named), "auto"))
    pairs: list[tuple[tuple[int, ...], str]] = []
    for columns, family in wanted:
        if family in VECTORS:
            pairs.append((columns, family))
        else:
            pairs += [((j,), _guess(rows, j) if family == "auto" else family) for j in columns]
    # Columns of families that are worked on together make one part, in the order of the columns.
    together: dict[str, list[int]] = {}
    parts = []
    for columns, name in sorted(pairs):
        if name in VECTORS or name in ("categorical", "histogram"):
            parts.append(ColumnPart(name, columns))
        else:
            together.setdefault(name, []).extend(columns)
    return (*(ColumnPart(name, tuple(each)) for name, each in together.items()), *parts)


def _sparse_family(families: Any, rows: SparseRows) -> str:
    """Choose the one family of all columns of sparse rows."""
    if isinstance(families, Mapping):
        raise InputError(
            f"{_OWNER}: sparse rows have one family for all columns, such as "
            "families='multinomial'. Got a mapping. Use a table for columns of several kinds."
        )
    if families == "auto":
        return "bernoulli" if np.isin(rows.X.data, (0, 1)).all() else "multinomial"
    if families not in SPARSE:
        raise InputError(
            f"{_OWNER}: sparse rows can be of the families {', '.join(SPARSE)}. Got {families!r}, "
            "under which every zero has a density of its own. Pass X.toarray() if it fits into "
            "memory."
        )
    return str(families)


def _guess(rows: Table, column: int) -> str:
    """Choose a family by dtype and content.

    Text and categories are categorical; booleans, and numbers of which only 0 and 1 occur, are
    Bernoulli; other numbers stay "auto": Gaussian or cells, which all rows together decide. Counts
    are not guessed: a Poisson model of counts that vary more than it allows is far overconfident.
    """
    if rows.matrix is None:
        found = rows.column(column)
        if not isinstance(found, Numbers):
            return "categorical"
        if found.is_bool:
            return "bernoulli"
    elif rows.matrix.dtype == np.bool_:
        return "bernoulli"
    return "bernoulli" if _is_zero_one(rows, column) else "auto"


def _is_zero_one(rows: Table, column: int) -> bool:
    """Tell whether zeros and ones occur, and nothing else but missing values."""
    zeros = ones = False
    for block in check.blocks(rows.n_rows, check.block_rows(1)):
        x = rows.floats([column], block)
        zero, one = x == 0, x == 1
        if not (zero | one | np.isnan(x)).all():
            return False
        zeros, ones = zeros or bool(zero.any()), ones or bool(one.any())
    return zeros and ones


# --- summary --------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class NaiveSummary:
    """Class weights and the summaries of all parts; immutable, and a monoid."""

    classes: Annotated[Any, "K"]
    weights: Annotated[F64, "K", ">= 0"]
    #: Names of the columns, or a range if they have none.
    columns: Annotated[Labels | range, "D"]
    #: Library of the data frames that the rows came in; None for arrays.
    frame: Literal["pandas", "polars", "pyarrow", "modin", "cudf"] | None
    parts: Annotated[tuple[PartSummary, ...], "K"]

    def __post_init__(self) -> None:
        check.frozen(self.weights)

    def merge(self, other: Self) -> NaiveSummary:
        """Join two summaries of the same parts; the classes of both are kept."""
        owner = f"{_OWNER}.merge"
        if any(isinstance(each.summary, Known) for each in (*self.parts, *other.parts)):
            raise InputError(
                f"{owner}: a model of given parameters has seen no rows to add others to. Fit all "
                "rows at once."
            )
        mine, theirs = ([each.part for each in one.parts] for one in (self, other))
        if self.columns != other.columns or mine[0].is_sparse != theirs[0].is_sparse:
            raise InputError(f"{owner} needs the same columns, in the same order, in both.")
        if mine != theirs:
            shown = [
                check.listing(
                    [f"{each.family} of columns {list(each.columns[:8])}" for each in one]
                )
                for one in (mine, theirs)
            ]
            raise InputError(
                f"{owner}: the columns have different families: {shown[0]} and {shown[1]}. Pass "
                "the same families= to both."
            )
        classes, here, there = union_of(self.classes, other.classes, owner)
        weights = join_weights(self.weights, other.weights, here, there)
        pairs: Any = zip(self.parts, other.parts, strict=True)
        n = len(classes)
        parts = tuple(
            PartSummary(one.part, one.summary.spread(here, n).merge(two.summary.spread(there, n)))
            for one, two in pairs
        )
        return NaiveSummary(classes, weights, self.columns, self.frame, parts)

    def times(self, column: Label, category: Any) -> float:
        """Return in how many rows, by weight, a column of categories has one of them."""
        for part, summary in ((each.part, each.summary) for each in self.parts):
            if isinstance(summary, CategorySummary) and self.columns[part.columns[0]] == column:
                place = summary.categories.index(category)
                return float(summary.counts[:, place].sum())
        return 0.0  # of given parameters: not counted

    def describe(self, names: Labels) -> dict[Any, ColumnMemory]:
        """Return what is remembered of columns with moments or counts, by these names."""
        found: dict[Any, ColumnMemory] = {}
        for part in self.parts:
            columns, summary = tuple(names[j] for j in part.part.columns), part.summary
            if isinstance(summary, NumberSummary):
                summary = summary.moments
            if isinstance(summary, ClassMoments):
                found |= remember_numbers(summary, columns)
            elif isinstance(summary, CategorySummary):
                shares = summary.counts.sum(axis=0) / (summary.counts.sum() or 1.0)
                pairs = zip(summary.categories, shares.tolist(), strict=True)
                found[columns[0]] = ColumnMemory(shares=dict(pairs))
        return found


class NaiveBayes(TermClassifier):
    r"""Classify rows of mixed columns, taken as independent within a class.

    .. math:: p(k \mid x) \propto \pi_k \prod_j p_j(x_j \mid \theta_{jk})

    Each column has a family of its own: numbers, counts, yes and no, categories as text. The prior
    is counted once. Missing values (NaN, None, null) are marginalised: their factor is left out. Of
    a group, ``"multivariate_gaussian"`` keeps the columns that are there, and the others are left
    out as a whole.

    Parameters
    ----------
    families : "auto", str, family or mapping
        One family for all columns, or a mapping from column (its name or number) to family; a
        tuple of columns shares one ``"multinomial"``, ``"dirichlet"`` or
        ``"multivariate_gaussian"``. Others: ``"gaussian"`` (or ``"normal"``), ``"histogram"``
        (cells that all classes share), ``"laplace"``,
        ``"bernoulli"``, ``"categorical"``, ``"poisson"``, ``"exponential"``, ``"gamma"``,
        ``"beta"``; or classes of ``credo.families``. Columns without one are ``"auto"``: text and
        categories are categorical; booleans, and numbers of which just 0 and 1 occur, are
        Bernoulli; other numbers are Gaussian, or a histogram where that predicts the class better
        (see the notes); sparse rows are Bernoulli if all entries are 0 or 1, else multinomial.
        Counts in a table are not guessed.
    smoothing : float, "auto", mapping or sequence
        Artificial observations α. Bernoulli :math:`(n_1 + \alpha)/(n + 2\alpha)`, categorical and
        multinomial :math:`(n_c + \alpha)/(n + \alpha C)`. Poisson and exponential columns get α
        observations of a mean m over all classes, :math:`(s + \alpha m)/(n + \alpha)`:
        exponential ones of :math:`m = S/N`, Poisson ones of :math:`(S + \alpha)/(N + \alpha)`, so
        that no count is impossible. A mapping from column (name, number, or a tuple of them) to
        number; columns without one have 1. Or one number per column, which of a multinomial group
        are those of its counts. ``"auto"`` chooses α of each Bernoulli and categorical column and
        each multinomial group, see the notes; others have 1.
    smoothing_target : {"uniform", "marginal", "frequencies"} or mapping
        What the artificial observations are: equally many of each value; or as a distribution t
        says, :math:`(n_c + \alpha C t_c)/(n + \alpha C)`. ``"frequencies"`` are those of all
        classes together, :math:`t_c = N_c/N`; ``"marginal"`` these smoothed by α,
        :math:`(N_c + \alpha)/(N + \alpha C)`. A mapping from column, or from the tuple of a
        multinomial group, has one that is given, ``{category: probability}``: of 0 and 1 for
        Bernoulli columns, of columns for groups; columns without one are uniform. What it gives to
        categories that were not seen is that of unknown ones if these are smoothed; else the others
        are rescaled.
    unknown : {"ignore", "smooth", "error"}
        A category that was neither seen nor declared in fit: ``"ignore"`` takes it as missing, and
        so it does any number but 0 and 1 in a column that was Bernoulli by its content;
        ``"smooth"`` keeps room for one more in every class, with α and no observations, which
        small classes pay for; ``"error"`` refuses it.
    cells : int, "mdl" or "auto"
        Cells of a histogram. A number: at most so many, of about equal frequency over all classes,
        by mid-ranks; equal values are in one cell. ``"mdl"``: cut where it tells the classes apart,
        as long as that shortens the description (Fayyad and Irani [3]_). ``"auto"``: 10, and
        ``"mdl"`` above 10 000 rows. Probabilities are smoothed as those of categories.
    variance_floor : float
        Least variance of a Gaussian or Laplace column within a class, as a share of the variance
        that this column has over all rows: :math:`\sigma_{jk}^2 \ge f \operatorname{Var}(x_j)`. Per
        feature, so units do not matter. A column that is constant in a class of n rows gets
        1 / (n + 1) of its variance within classes instead, as in ``GaussianClassifier``. Told with
        a warning when it was needed.
    variance_smoothing : float
        Share v of the largest variance of any Gaussian column that is added to the variances of all
        of them, :math:`\sigma_{jk}^2 + v \max_i \operatorname{Var}(x_i)`, as ``var_smoothing`` of
        scikit-learn does. For columns of one unit, such as pixels; it takes the place of the
        1 / (n + 1).
    priors : None, "uniform", array-like or mapping from label
        Class probabilities; None for the frequencies, weighted.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels, sorted.
    priors_ : ndarray of shape (K,)
        Probability of each class.
    families_ : dict
        Family of each column, or of each group of columns.
    distributions_ : dict
        Fitted distributions of each column, or group, with the classes as their batch: of
        ``credo.families``. A column that is constant in all rows has a Gaussian of variance 1 here,
        and no part in predictions.
    categories_ : dict
        Categories of each categorical column: those that its type declares, in its order (of a
        pandas categorical, a Polars Enum or an Arrow dictionary), whether they occur or not;
        else those that occur, in the order in which they appeared.
    smoothing_ : ndarray of shape (D,)
        Artificial observations α of each column, given or chosen; NaN if its family has none.
    n_parameters_ : int
        Numbers in the model: priors and parameters of all families.
    constant_features_ : ndarray of shape (D,)
        True for Gaussian columns with a single value in all rows; they are ignored.
    variance_floored_ : ndarray of shape (K, D)
        Where the floor was active.
    summary_ : NaiveSummary
        What ``partial_fit`` and ``merge`` continue from.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    credo.TextClassifier : From documents instead of columns.
    credo.GaussianClassifier : Gaussian columns that are correlated.
    credo.decide : Act on ``posterior(X)`` under a loss.

    Notes
    -----
    Exact but for rounding, in the log domain. Takes arrays, lists of rows, pandas, Polars and
    Arrow tables, and sparse rows (Bernoulli, multinomial, Poisson) without making them dense.
    Fitting is one pass, O(N D), in blocks of rows; streams and merges give the same model. A
    Laplace column in a stream has an approximate median. The family of a number is chosen by the
    leave-one-out log loss of the class given this column alone, from the weight of each class at
    each value; the Gaussian stays unless cells are better, and while there are fewer rows than
    probabilities. Values are kept up to 4096 a column, beyond that without their last bits, which
    batches agree on; above 2^25 weights in all columns together the Gaussian stays. A histogram is
    uniform in inner cells and falls exponentially in the two at the ends, so that no number has
    density zero; what is beyond the seen range is in an end cell. Missing at random is assumed.
    Features that depend on each other are counted twice: posteriors are then too near 0 and 1. The
    density of a multinomial group is given its total and includes the coefficient. Sparse rows, and
    in fit the groups of ``"multivariate_gaussian"``, must be complete. ``n_parameters_`` counts K
    priors and the room for unknown categories. Of categories, 1 and 1.0 are the same, True is
    another, and a number is the same in float32 and float64 if it is written alike.

    ``smoothing="auto"`` chooses α of 0.01, 0.03, 0.1, 0.3, 1 and 3 for which the cells of a column
    are most likely, each given its class and all rows but its own,

    .. math:: \sum_k \sum_c n_{kc}
              \log \frac{n_{kc} - 1 + \alpha C t_c}{n_k - 1 + \alpha C},

    where t is without the row as well if it comes from the rows; of counts, single ones are left
    out. It needs the counts alone, O(K C) per column, so streams and merged models choose the same.

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani and J. Friedman, *The Elements of Statistical Learning*,
       2nd ed., 2009, section 6.6.3.
    .. [2] C. D. Manning, P. Raghavan and H. Schütze, *Introduction to Information Retrieval*,
       2008, chapter 13.
    .. [3] U. M. Fayyad and K. B. Irani, "Multi-interval discretization of continuous-valued
       attributes for classification learning", IJCAI 1993.

    Examples
    --------
    >>> import credo
    >>> rows = [[63, "ex", True], [41, "never", False], [58, "daily", True], [33, "never", None]]
    >>> model = credo.NaiveBayes().fit(rows, ["ill", "well", "ill", "well"])
    >>> model
    NaiveBayes() with gaussian x0; bernoulli x2; categorical x1
    >>> model.predict_proba([[None, "weekly", True]]).round(3)
    array([[0.692, 0.308]])

    With an α for each column that rows are smoothed in, chosen by how rows foretell each other:

    >>> credo.NaiveBayes(smoothing="auto").fit(rows, ["ill", "well", "ill", "well"]).smoothing_
    array([ nan, 1.  , 0.01])
    """

    summary_: NaiveSummary
    n_features_in_: int
    command = "naive-bayes"
    Summary: ClassVar[type] = NaiveSummary
    kind: ClassVar[Literal["numbers", "columns", "documents"]] = "columns"
    #: Parts, names of columns and library of frames, until there is a summary that holds them.
    _settled: tuple[tuple[ColumnPart, ...], Labels | range, Any]

    def __init__(  # noqa: PLR0913 - one per option, all but the first by name
        self,
        families: Any = "auto",
        *,
        smoothing: Any = 1.0,
        smoothing_target: Any = "uniform",
        unknown: Literal["smooth", "ignore", "error"] = "ignore",
        cells: int | Literal["auto", "mdl"] = "auto",
        variance_floor: float = 1e-9,
        variance_smoothing: float = 0.0,
        priors: PerLabel | Literal["uniform"] | None = None,
    ) -> None:
        self.families = families
        self.smoothing = smoothing
        self.smoothing_target = smoothing_target
        self.unknown = unknown
        self.cells = cells
        self.variance_floor = variance_floor
        self.variance_smoothing = variance_smoothing
        self.priors = priors

    @classmethod
    def from_parameters(
        cls,
        distributions: Mapping[Any, Any],
        priors: PerLabel | Literal["uniform"] = "uniform",
        *,
        classes: Any = None,
        categories: Mapping[Any, Sequence[Any]] | None = None,
    ) -> Self:
        """Return a classifier of known distributions, without rows.

        It does what a fitted one does but for streams and merging.

        Parameters
        ----------
        distributions : {column: {label: distribution}}
            Of ``credo.families``: the distribution of each column in each class, or one with the
            classes as its batch, as ``distributions_`` has it. A tuple of columns has one of
            vectors. Columns are names, or their numbers from 0.
        priors : {label: p}, array-like of shape (K,), or "uniform"
            Probability of each class.
        classes : array-like of shape (K,), optional
            Labels, if neither distributions nor priors are given by label; 0 to K - 1 by default.
        categories : {column: values}, optional
            What the codes of categorical columns stand for; 0 to C - 1 by default.

        Returns
        -------
        NaiveBayes
            With ``families`` that name the family of each column.

        Raises
        ------
        InputError
            If the classes of a column have different families, or one that it does not know.
        ShapeError
            If distributions and classes do not fit each other; the column is named.

        Examples
        --------
        >>> import credo
        >>> from credo.families import Bernoulli, Poisson
        >>> known = credo.NaiveBayes.from_parameters(
        ...     {"test": {"ill": Bernoulli(0.9), "well": Bernoulli(0.2)},
        ...      "visits": {"ill": Poisson(3), "well": Poisson(1)}},
        ...     {"ill": 0.1, "well": 0.9})
        >>> known.explain({"test": 1, "visits": 0})
        'well' against 'ill': log odds +2.693
          prior                 +2.197
          visits = 0            +2.000
          test = 1              -1.504
        """
        what = f"{cls.__name__}.from_parameters"
        if not (isinstance(distributions, Mapping) and distributions):
            raise InputError(f"{what} needs the distributions by column. Got {distributions!r}.")
        first = next(iter(distributions.values()))
        for given in (first, priors):
            if classes is None and check.by_name(given) is not None:
                classes = tuple(given)
        size = (*getattr(first, "batch_shape", ()), 0)[0]
        labels = check.labels(range(size) if classes is None else classes, f"classes of {what}")
        groups = [tuple(k) if isinstance(k, (tuple, range)) else (k,) for k in distributions]
        names: Any = [name for group in groups for name in group]
        names = check.labels(names, f"columns of {what}")
        if sorted(names, key=str) == sorted(range(len(names)), key=str):
            names = range(len(names))
        parts, families = [], {}
        for (key, given), group in zip(distributions.items(), groups, strict=True):
            owner = f"{what}, column {key!r}"
            family, parameters = _given_parameters(given, labels, owner)
            codes: Labels = ()
            if family == "categorical":
                listed = (categories or {}).get(key, range(parameters[0].values.shape[-1]))
                codes = check.labels(listed, f"categories of {owner}")
            part = ColumnPart(family, tuple(names.index(name) for name in group))
            parts.append(PartSummary(part, Known(parameters, codes)))
            families[key if len(group) == 1 else group] = family
        coded = tuple(k for k, family in families.items() if family == "categorical")
        for key in categories or ():
            check.position(key, coded, "column of categories", what)
        model, frame = cls(families, priors=priors), None if isinstance(names, range) else "pandas"
        weights = prior_probabilities(priors, labels, np.ones(len(labels)), what)
        kept: Any = check.names_array(labels), weights, names, frame, tuple(parts)
        return model._fit_summary(NaiveSummary(*kept), len(names), None if frame is None else names)

    # --- learning -------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those seen before; the result is that of one fit to all of them.

        Parameters
        ----------
        X : array-like, data frame or sparse array of shape (n, D)
            Rows. The first batch decides the families that are ``"auto"``.
        y : array-like of shape (n,)
            Labels; new classes and categories may appear at any time.
        classes : array-like, optional
            All labels that may occur, to catch others; not needed.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.

        Returns
        -------
        NaiveBayes
            Itself. If the rows so far do not determine all distributions, predicting says why
            until more have come.
        """
        return self._add(X, y, sample_weight, classes)

    def _check_parameters(self, seen: Sequence[Label] | None = None) -> None:
        super()._check_parameters(seen)
        check.one_of(self.unknown, ("smooth", "ignore", "error"), f"unknown of {_OWNER}")
        if isinstance(self.cells, str):
            check.one_of(self.cells, ("auto", "mdl"), f"cells, if not a number, of {_OWNER}")
        else:
            check.count(self.cells, f"cells of {_OWNER}")
        floor = f"variance_floor (a share of each feature's variance) of {_OWNER}"
        check.number(self.variance_floor, floor, 0, 1)
        check.number(self.variance_smoothing, f"variance_smoothing of {_OWNER}", 0, 1e100)
        _name_families(self.families)

    def _amounts(self) -> Iterable[Any]:
        given = self.smoothing
        if isinstance(given, str) and given == "auto":
            return []
        named = check.by_name(given)
        if named is not None:
            return list(named.values())
        is_listed = isinstance(given, (list, tuple, np.ndarray)) or hasattr(given, "to_numpy")
        return given if is_listed else [given]

    def _plain_parameters(self) -> dict[str, Any]:
        """Return what a file holds by name: the families."""
        return {"families": _name_families(self.families)}

    def _check_loaded(self) -> None:
        self._check_parameters()
        names, everything = self.summary_.columns, range(self.n_features_in_)
        parts = [each.part for each in self.summary_.parts]
        if any(part.is_sparse for part in parts):
            fits = [part.columns for part in parts] == [everything]
        else:  # what a file says of their number is not believed
            listed = sorted(j for part in parts for j in part.columns)
            fits = len(listed) == len(everything) and listed == list(everything)
        if not fits or (isinstance(names, range) and names != everything):
            raise InputError(f"The summary of {_OWNER} is not one of its columns.")

    def _read(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Rows, Any]:
        if reset:
            self._forget("schema_")
        rows = _open(X)
        note_columns(self, X, y, reset=reset)
        classes, codes, weights, kept = read_labels(y, sample_weight, len(rows), _OWNER)
        if kept is not None:
            rows = _open(with_weight(X, kept, _OWNER))
        if reset:
            self._settle(rows, kind_of(X))
        elif isinstance(rows, SparseRows) != self._is_sparse():
            raise InputError(f"{_OWNER}.partial_fit needs all rows sparse, or all dense.")
        else:
            self._keep(self.summary_)
        return Rows(rows, codes, weights, len(classes)), classes

    def _settle(self, rows: Table | SparseRows, frame: str | None = "pyarrow") -> None:
        """Choose the families of columns, by the first rows, and keep what they are called."""
        named = getattr(rows, "labels", None)
        if named is None:
            named = getattr(self, "feature_names_in_", None)
        columns: Labels | range = range(rows.n_columns)
        if named is not None:
            columns = check.labels(named, f"columns of {_OWNER}")
        families = _name_families(self.families)
        if isinstance(rows, SparseRows):
            parts: Any = (ColumnPart(_sparse_family(families, rows), range(rows.n_columns)),)
        else:
            parts = _plan(families, rows, ColumnNames(_OWNER, columns))
        self._settled = parts, columns, frame

    def _keep(self, summary: NaiveSummary) -> None:
        """Go on with the families of a summary; refuse others that were named since."""
        parts, given = tuple(each.part for each in summary.parts), _name_families(self.families)
        names = ColumnNames(_OWNER, summary.columns)
        for part in parts:
            for column in names.keys(part):
                family = given.get(column, "auto") if isinstance(given, Mapping) else given
                if family not in ("auto", part.family):
                    raise InputError(
                        f"{_OWNER}: column {column!r} was learned as {part.family!r}, and "
                        f"families= says {family!r} now. Fit all rows again, or set families back."
                    )
        self._settled = parts, summary.columns, summary.frame

    def _summarise(self, batch: tuple[Rows, Any]) -> NaiveSummary:
        rows, classes = batch
        parts, columns, frame = self._settled
        names = ColumnNames(_OWNER, columns)
        refuse_parameters(self, parts, names)
        found = tuple(PartSummary(p, _term_of(p).summarise(rows, p, names)) for p in parts)
        return NaiveSummary(classes, class_weights(rows), columns, frame, found)

    def _learn(self, summary: NaiveSummary, batch: Any = None) -> None:  # noqa: ARG002 - as others
        self._forget("_settled")
        names = ColumnNames(_OWNER, summary.columns)
        found = (
            estimate_term(_term_of(p.part), p.part, p.summary, self, names) for p in summary.parts
        )
        terms = tuple(t for each in found for t in (each if isinstance(each, tuple) else (each,)))
        self._terms, self._problem = terms, None
        self.summary_, self.classes_ = summary, summary.classes
        self._set_priors()
        pairs = [
            (term.part.columns[i], key, term.part.family)
            for term in terms
            for i, key in enumerate(names.keys(term.part))
        ]
        self.families_ = {key: family for _, key, family in sorted(pairs, key=lambda p: p[0])}
        self.categories_ = {
            names.names[t.part.columns[0]]: list(t.categories.values)
            for t in terms
            if isinstance(t, CategoricalTerm)
        }
        self.smoothing_ = np.full(self.n_features_in_, np.nan)
        for term in terms:
            if term.smoothing is not None:
                columns = term.part.columns
                self.smoothing_[... if term.part.is_sparse else list(columns)] = term.smoothing
        self.n_parameters_ = len(self.classes_) + sum(term.n_parameters for term in terms)
        self.constant_features_ = np.zeros(self.n_features_in_, dtype=bool)
        for term in terms:
            if isinstance(term, GaussianTerm):
                self.constant_features_[list(term.part.columns)] = ~term.model.active
        self.variance_floored_ = self._marked([term.raised for term in terms])
        unseen = self._marked([term.borrowed for term in terms]) & ~self.constant_features_
        told = [
            f"{what} in class {label!r}: {names.of(np.flatnonzero(row).tolist())}"
            for which, what in ((self.variance_floored_, "raised"), (unseen, "unknown"))
            for label, row in zip(self.classes_.tolist(), which, strict=True)
            if row.any()
        ]
        if told:
            more = f"; and {len(told) - 4} more" if len(told) > 4 else ""
            self._tell(
                f"{_OWNER}: variances were {'; '.join(told[:4])}{more}. What is constant in a "
                "class of n rows gets 1/(n + 1) of its variance within classes; the least is "
                "variance_floor × the variance over all rows; what a class never shows, it takes "
                "from all classes.",
                SingularWarning,
            )

    def _marked(self, marks: Sequence[Bool | None]) -> Bool:
        """Put the marks of terms where their columns are, (K, D)."""
        result = np.zeros((len(self.classes_), self.n_features_in_), dtype=bool)
        for term, each in zip(self._terms, marks, strict=True):
            if each is not None:
                result[:, list(term.part.columns)] = each
        return result

    def _is_sparse(self) -> bool:
        """Tell whether it was fitted to sparse rows."""
        return self.summary_.parts[0].part.is_sparse

    # --- answers --------------------------------------------------------------------------------

    @property
    def distributions_(self) -> dict[Any, Any]:
        """Fitted distributions of each column, or group, with the classes as their batch."""
        self._check_ready()
        names = ColumnNames(_OWNER, self.summary_.columns)
        pairs = [
            (key, each)
            for term in self._terms
            for key, each in zip(names.keys(term.part), term.distributions(), strict=True)
        ]
        found = dict(pairs)
        return {key: found[key] for key in self.families_}

    def regions(self, loss: Loss | None = None) -> Regions:
        """Return the decision regions of a model of one number, with thresholds and risk.

        Parameters
        ----------
        loss : Loss, optional
            Losses by true class and act; zero-one by default.

        Returns
        -------
        Regions
            As ``credo.decisions.regions`` gives for its densities and priors.
        """
        found = list(self.distributions_.values())
        if self.n_features_in_ != 1:
            raise InputError(
                f"{_OWNER}.regions cuts a line, and the model has {self.n_features_in_} columns. "
                "Use plot for two, or make a model of one."
            )
        labels = check.labels(self.classes_)
        lines = {label: found[0]._one(k) for k, label in enumerate(labels)}  # noqa: SLF001
        return regions(lines, self.priors_, Loss.zero_one(lines) if loss is None else loss)

    def parameter_table(self) -> Any:
        """Return the fitted parameters as a table: a line for each column, class and parameter.

        Returns
        -------
        pandas.DataFrame
            With the columns ``column``, ``family``, ``class``, ``parameter`` and ``value``; the
            priors come first. Parameters of several numbers, such as the probabilities of
            categories, are numbered, or named by their category.

        Examples
        --------
        >>> import credo
        >>> X = [[1, 0], [1, 1], [0, 1], [0, 0], [0, 1]]
        >>> model = credo.NaiveBayes(smoothing=0).fit(X, ["yes", "yes", "yes", "no", "no"])
        >>> print(model.parameter_table().to_string(index=False))
        column    family class   parameter    value
                            no       prior 0.400000
                           yes       prior 0.600000
             0 bernoulli    no probability 0.000000
             0 bernoulli   yes probability 0.666667
             1 bernoulli    no probability 0.500000
             1 bernoulli   yes probability 0.666667
        """
        self._check_ready()
        labels, lines = self.classes_.tolist(), []
        for label, share in zip(labels, self.priors_.tolist(), strict=True):
            lines.append(("", "", label, "prior", share))
        for key, each in self.distributions_.items():
            names = self.categories_.get(key, ())
            own = each._parameters.items()  # noqa: SLF001 - of the library
            for (k, label), (field, values) in product(enumerate(labels), own):
                cells = np.atleast_1d(values[k])
                for place, value in np.ndenumerate(cells):
                    at = names[place[0]] if place[0] < len(names) else " ".join(map(str, place))
                    told = field if cells.size == 1 else f"{field} {at}"
                    lines.append((key, self.families_[key], label, told, float(value)))
        columns = zip(*lines, strict=True)
        header = ("column", "family", "class", "parameter", "value")
        return as_frame(**dict(zip(header, map(list, columns), strict=True)))

    def _rows(self, X: Any) -> Any:
        self._check_ready()
        rows = _open(X)
        note_columns(self, X, reset=False)
        if isinstance(rows, Table) and self._is_sparse():
            return SparseRows.of(csr_array(rows.floats(range(rows.n_columns), slice(None))), _OWNER)
        if isinstance(rows, SparseRows) and not self._is_sparse():
            raise InputError(
                f"{_OWNER} was fitted to dense rows. Got sparse rows: use X.toarray()."
            )
        return rows

    def sufficient_statistics(self, X: Any) -> Any:
        """Return T(x) of each row, in the order of the weights of ``log_odds_weights``.

        Parameters
        ----------
        X : array-like, data frame or sparse array of shape (n, D)
            Rows.

        Returns
        -------
        ndarray of shape (n, S)
            Dense; NaN where a value is missing. Sparse rows are their own statistics, and come
            back as they are.
        """
        rows = self._rows(X)
        if isinstance(rows, SparseRows):
            return rows.X
        block = slice(0, len(rows))
        return np.concatenate([term.statistics(rows, block) for term in self._terms], axis=1)

    def explain(self, x: Any, a: Label | None = None, b: Label | None = None) -> Explanation:
        """Split the log odds of one row into what each feature adds, sorted.

        Parameters
        ----------
        x : array-like of shape (D,), or a table of one row
            The row; a mapping from column to value if there are column names.
        a, b : label, optional
            Explain class a against class b; by default the most probable class against the next.

        Returns
        -------
        Explanation
            The largest contributions first.
        """
        return self._explain(self._one_row(x), a, b)

    def _one_row(self, x: Any) -> Any:
        """Check one row: a mapping from column to value, a list of values, or a table."""
        owner = f"{_OWNER}.explain"
        self._check_ready()
        if isinstance(x, Mapping):
            columns = tuple(self.summary_.columns)
            check.order(columns, tuple(x), f"row of {owner}")
            x = [x[name] for name in columns]
        rows: Any
        if isinstance(x, (list, tuple)) or getattr(x, "ndim", 2) == 1:
            cells = list(x)
            rows = _open(csr_array([cells]) if self._is_sparse() else [cells])
            if rows.n_columns != self.n_features_in_:
                raise InputError(
                    f"{owner} needs {self.n_features_in_} values. Got {rows.n_columns}."
                )
        else:
            rows = self._rows(x)
        if len(rows) != 1:
            raise InputError(f"{owner} needs one row. Got {len(rows)}.")
        return rows

    def conditional(self, X: Any, label: Label | None = None) -> Conditional:
        """Return what is known of missing cells given the observed ones.

        Parameters
        ----------
        X : array-like or data frame of shape (n, D)
            Rows, with cells missing.
        label : label, optional
            Class to condition on; by default the classes are mixed by the posterior of each row.

        Returns
        -------
        Conditional
            With ``mean`` (n, D), ``covariance`` (n, D, D) and ``categories``. Of yes and no, the
            mean is the probability of yes.

        Raises
        ------
        InputError
            If a row lacks a part of a multinomial or Dirichlet group, or rows are sparse.

        Notes
        -----
        Exact: within a class only the columns of a ``"multivariate_gaussian"`` tell of each other;
        otherwise one column tells of another through the class.
        """
        rows = self._dense(X, "conditional")
        covariance = room_for_covariances(len(rows), self.n_features_in_, f"{_OWNER}.conditional")
        mean, categories = self._fill(rows, label, "conditional", covariance)
        return Conditional(mean, covariance, categories)

    def impute(self, X: Any, label: Label | None = None) -> Any:
        """Replace missing cells by what is expected given the observed ones.

        Parameters
        ----------
        X : array-like or data frame of shape (n, D)
            Rows, with cells missing.
        label : label, optional
            Class to condition on; by default the classes are mixed by the posterior of each row.

        Returns
        -------
        ndarray or data frame of shape (n, D)
            A copy: numbers are expected values, of yes and no the probability of yes, and
            categories the most probable ones. A column that no row of fit had stays missing.
        """
        rows = self._dense(X, "impute")
        mean, categories = self._fill(rows, label, "impute")
        columns: list[Any] = list(mean.T)
        for name, found in categories.items():
            j = self.summary_.columns.index(name)
            words = rows.words(j)
            seen = np.array([*words.categories, None], dtype=object)[words.codes]
            columns[j] = np.where(words.codes < 0, np.asarray(found.mode(), dtype=object), seen)
        return rebuilt(columns, self.summary_.columns, kind_of(X))

    def _dense(self, X: Any, method: str) -> Table:
        """Check rows whose cells may be missing."""
        rows = self._rows(X)
        if isinstance(rows, SparseRows):
            raise InputError(f"{_OWNER}.{method}: sparse rows lack nothing. Pass dense rows.")
        return rows

    def _fill(
        self, rows: Table, label: Label | None, method: str, covariance: F64 | None = None
    ) -> tuple[F64, dict[Any, Posterior]]:
        """Return numbers, expected where they are missing, and categories; add the covariance."""
        n, k = len(rows), len(self.classes_)
        shares = np.broadcast_to(self._shares_of(label, method), (n, k))
        if label is None:
            shares = self._table(rows, probabilities)
        mean, found = np.full((n, self.n_features_in_), np.nan), {}
        for term in self._terms:
            if isinstance(term, CategoricalTerm) and term.categories.values:
                values, codes = term.categories.values, term.ready(rows)
                p = shares @ term.family.mean[:, : len(values)]
                seen = (codes >= 0) & (codes < len(values))
                p[seen] = np.eye(len(values))[codes[seen]]
                name = self.summary_.columns[term.part.columns[0]]
                found[name] = Posterior.from_probabilities(p / p.sum(1, keepdims=True), values)
        for block in check.blocks(n, check.block_rows(k * mean.shape[1])):
            spread = None if covariance is None else covariance[block]
            mean[block] = self._expect(rows, block, shares[block], spread)
        return mean, found

    def _expect(self, rows: Table, block: slice, shares: F64, covariance: F64 | None) -> F64:
        """Return the numbers of a block, NaN for categories; add the covariance."""
        n, size = len(shares), self.n_features_in_
        fillings = np.full((len(self.classes_), n, size), np.nan)
        hidden, possible = np.zeros((n, size), dtype=bool), np.flatnonzero(shares.any(axis=0))
        for term in (each for each in self._terms if not isinstance(each, CategoricalTerm)):
            columns = np.array(term.part.columns)
            x = rows.floats(columns.tolist(), block)
            hidden[:, columns] = np.isnan(x)
            for k in possible.tolist():
                spread = None if covariance is None else np.zeros((*x.shape, len(columns)))
                fillings[k][:, columns] = term.filled(x, k, spread)
                if covariance is not None and spread is not None:
                    more = shares[:, k, None, None] * spread
                    covariance[:, columns[:, None], columns] += more
        fillings, shares = fillings[possible], shares[:, possible]
        expected = np.einsum("nk,knd->nd", shares, fillings)
        mean = np.where(hidden, expected, fillings[0])
        if covariance is not None:
            gaps = np.where(hidden, fillings - mean, 0.0 * fillings)
            covariance += np.einsum("nk,kni,knj->nij", shares, gaps, gaps)
        return mean

    def sample(
        self,
        n: int = 1,
        random_state: RandomState = None,
        total: int | None = None,
        *,
        label: Label | None = None,
    ) -> Any:
        """Draw synthetic rows and their labels.

        Parameters
        ----------
        n : int
            How many.
        random_state : int, Generator or None
            Seed.
        total : int, optional
            What the counts of a multinomial group sum to; by default the mean over the rows of
            fit, rounded.
        label : label, optional
            Draw rows of this class only.

        Returns
        -------
        X : ndarray, sparse array or data frame of shape (n, D)
            Rows in an array or a frame of the library that was fitted; booleans as 0 and 1,
            Gaussian columns as floats, categories as they are.
        y : ndarray of shape (n,)
            Labels, drawn by the priors.
        """
        self._check_ready()
        size = check.count(n, f"n of {_OWNER}.sample")
        rng = check.generator(random_state, f"random_state of {_OWNER}.sample")
        codes = rng.choice(len(self.classes_), size, p=self._shares_of(label))
        if total is not None:
            check.count(total, f"total of {_OWNER}.sample", least=0)
        columns: dict[int, Any] = {}
        totals = {
            each.part: _mean_total(each) if total is None else total for each in self.summary_.parts
        }
        for term in self._terms:
            drawn = term.sample(codes, totals.get(term.part, 0), rng)
            if term.part.is_sparse:
                return drawn, self.classes_[codes]
            columns.update(zip(term.part.columns, drawn, strict=True))
        ordered = [columns[j] for j in range(self.n_features_in_)]
        summary = self.summary_
        return rebuilt(ordered, summary.columns, summary.frame), self.classes_[codes]

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text: str = super().__repr__(N_CHAR_MAX)
        if getattr(self, "families_", None) is None:
            return text
        shown = []
        for family in dict.fromkeys(term.part.family for term in self._terms):
            columns = [c for t in self._terms if t.part.family == family for c in t.part.columns]
            names = [self._terms[0].names.name_of(j) for j in columns[:8]]
            more = f", … ({len(columns)} in all)" if len(columns) > 8 else ""
            shown.append(f"{family} {', '.join(names)}{more}")
        return f"{text} with {'; '.join(shown)}"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        name = self.families if isinstance(self.families, str) else None
        tags.input_tags.sparse = name in ("auto", *SPARSE)
        tags.input_tags.positive_only = name in SPARSE
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def _given_parameters(given: Any, labels: Labels, owner: str) -> tuple[str, tuple[Parameter, ...]]:
    """Return the family of a column, and its parameters by class."""
    named = check.by_name(given)
    if named is not None:
        check.order(labels, tuple(named), f"classes of {owner}")
    each = [given] if named is None else [named[label] for label in labels]
    family = next((name for name, kind in FAMILIES.items() if kind is type(each[0])), None)
    if family is None or any(type(one) is not type(each[0]) for one in each):
        kinds = ", ".join(dict.fromkeys(type(one).__name__ for one in each))
        raise InputError(
            f"{owner}: the distributions must be of one family that {_OWNER} knows. Got {kinds}."
        )
    own = each[0]._parameters  # noqa: SLF001 - of the library
    arrays = [[getattr(one, name) for one in each] for name in own]
    batch = (len(labels),) if named is None else ()
    right = all(one.batch_shape == batch for one in each)
    if not right or any(len({array.shape for array in some}) > 1 for some in arrays):
        raise ShapeError(
            f"{owner} needs one distribution of each of {len(labels)} classes, all of one size. "
            f"Got {[one.batch_shape for one in each]} as the shapes of their batches."
        )
    stacked = [some[0] if named is None else np.stack(some) for some in arrays]
    return family, tuple(map(Parameter, own, stacked))


def _open(X: Any) -> Table | SparseRows:
    """Read rows of any kind."""
    return SparseRows.of(X, _OWNER) if issparse(X) else read_table(X, _OWNER)


def _term_of(part: ColumnPart) -> Any:
    """Return the class that learns and scores a part."""
    return SparseTerm if part.is_sparse else TERMS[part.family]


def _mean_total(learned: PartSummary) -> int:
    """Return the mean total of a group of counts, rounded; zero for others."""
    summary: Any = learned.summary
    if learned.part.family == "multinomial" and isinstance(summary, Known):
        raise InputError(f"{_OWNER}.sample: given counts have no mean total. Pass total=.")
    if learned.part.family != "multinomial" or not summary.weight.sum() > 0:
        return 0
    return round(float(summary.total.sum()) / float(summary.weight.sum()))
