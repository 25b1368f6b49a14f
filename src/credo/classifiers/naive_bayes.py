"""``NaiveBayes``: one naive Bayes for whatever columns there are."""

from __future__ import annotations

import copy
from typing import Any, Literal, Self

from sklearn.utils.validation import check_is_fitted

from credo._types import Label, PerLabel, RandomState
from credo._validation.arrays import generator, positive_int
from credo._validation.labels import as_labels, positions
from credo.classifiers._base import unchanged_on_error
from credo.classifiers._naive_state import NaiveState
from credo.classifiers.columns.rebuilt import kind_of, rebuilt
from credo.classifiers.naive.explanation import Explanation
from credo.classifiers.naive.learning import NaiveSummary
from credo.classifiers.naive.log_odds import LogOddsWeights, statistics_of
from credo.classifiers.naive.planning import plan
from credo.classifiers.naive.sampling import sample_columns, sample_sparse, totals_of
from credo.classifiers.naive.sparse import SparseRows
from credo.exceptions import InputError

_OWNER = "NaiveBayes"


class NaiveBayes(NaiveState):
    r"""Classify rows of mixed columns, taken as independent within a class.

    .. math:: p(k \mid x) \propto \pi_k \prod_j p_j(x_j \mid \theta_{jk})

    Each column has a family of its own: numbers, counts, yes and no, categories as text. The prior
    is counted once. Missing values (NaN, None, null) are marginalised: their factor is left out, or
    that of the whole group if a column of a group is missing.

    Parameters
    ----------
    families : "auto", str, family or mapping
        One family for all columns, or a mapping from column (its name or number) to family; a
        tuple of columns shares one ``"multinomial"``, ``"dirichlet"`` or
        ``"multivariate_gaussian"``. Others: ``"gaussian"``, ``"laplace"``, ``"bernoulli"``,
        ``"categorical"``, ``"poisson"``, ``"exponential"``, ``"gamma"``, ``"beta"``; or classes of
        ``credo.families``. Columns without one are ``"auto"``: text and categories are
        categorical; booleans, and numbers of which just 0 and 1 occur, are Bernoulli; other
        numbers are Gaussian; sparse rows are Bernoulli if all entries are 0 or 1, else
        multinomial. Counts in a table are not guessed.
    smoothing : float
        Artificial observations α. Bernoulli :math:`(n_1 + \alpha)/(n + 2\alpha)`, categorical and
        multinomial :math:`(n_c + \alpha)/(n + \alpha C)`. Poisson and exponential columns get α
        observations of their mean over all classes.
    smoothing_target : {"uniform", "marginal"}
        What the artificial observations are: equally many of each value, or as in all classes
        together, :math:`(n_c + \alpha C t_c)/(n + \alpha C)` with t the distribution over all
        rows, itself smoothed by α.
    unknown : {"smooth", "ignore", "error"}
        A category that was not seen in fit: ``"smooth"`` keeps room for one more, with α and no
        observations; ``"ignore"`` takes it as missing; ``"error"`` refuses it.
    variance_floor : float
        Least variance of a Gaussian or Laplace column within a class, as a share of the variance
        that this column has over all rows: :math:`\sigma_{jk}^2 \ge f \operatorname{Var}(x_j)`. Per
        feature, so units do not matter. A column that is constant in a class of n rows gets
        1 / (n + 1) of its variance within classes instead, as in ``GaussianClassifier``. Told with
        a warning when it was needed.
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
    categories_ : dict
        Categories of each categorical column, in the order in which they appeared.
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
    Laplace column in a stream has an approximate median. Missing at random is assumed. Features
    that depend on each other are counted twice: posteriors are then too near 0 and 1. The
    density of a multinomial group is given its total and includes the coefficient. Sparse rows, and
    in fit the groups of ``"multivariate_gaussian"``, must be complete. ``n_parameters_`` counts K
    priors and the room for unknown categories.

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani and J. Friedman, *The Elements of Statistical Learning*,
       2nd ed., 2009, section 6.6.3.
    .. [2] C. D. Manning, P. Raghavan and H. Schütze, *Introduction to Information Retrieval*,
       2008, chapter 13.

    Examples
    --------
    >>> import credo
    >>> rows = [[63, "ex", True], [41, "never", False], [58, "daily", True], [33, "never", None]]
    >>> model = credo.NaiveBayes().fit(rows, ["ill", "well", "ill", "well"])
    >>> model
    NaiveBayes() with gaussian x0; bernoulli x2; categorical x1
    >>> model.predict_proba([[None, "weekly", True]]).round(3)
    array([[0.692, 0.308]])
    """

    def __init__(
        self,
        families: Any = "auto",
        *,
        smoothing: float = 1.0,
        smoothing_target: Literal["uniform", "marginal"] = "uniform",
        unknown: Literal["smooth", "ignore", "error"] = "smooth",
        variance_floor: float = 1e-9,
        priors: PerLabel | Literal["uniform"] | None = None,
    ) -> None:
        self.families = families
        self.smoothing = smoothing
        self.smoothing_target = smoothing_target
        self.unknown = unknown
        self.variance_floor = variance_floor
        self.priors = priors

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows; a failed fit leaves the classifier as it was.

        Parameters
        ----------
        X : array-like, data frame or sparse array of shape (n, D)
            Rows; NaN, None and null are missing.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), optional
            Weight of each row: 2 counts as the row twice, 0 as no row.

        Returns
        -------
        NaiveBayes
            Itself.
        """
        with unchanged_on_error(self):
            self._warned = False
            rows, classes = self._read(X, y, sample_weight, reset=True)
            parts = plan(self.families, rows.rows, rows.names)
            summary = NaiveSummary.of(rows, classes, parts)
            self._kind = kind_of(X)
            self._set(summary, sparse=isinstance(rows.rows, SparseRows))
        return self

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
        before = getattr(self, "summary_", None)
        with unchanged_on_error(self):
            rows, found = self._read(X, y, sample_weight, reset=before is None)
            if classes is not None:
                positions(found, as_labels(classes, _OWNER, "classes"), _OWNER, "class")
            sparse = isinstance(rows.rows, SparseRows)
            if before is None:
                self._kind = kind_of(X)
                parts = plan(self.families, rows.rows, rows.names)
                return self._restart(NaiveSummary.of(rows, found, parts), sparse=sparse)
            if sparse != self._sparse:
                raise InputError(f"{_OWNER}.partial_fit needs all rows sparse, or all dense.")
            parts = tuple(each.part for each in before.parts)
            added = NaiveSummary.of(rows, found, parts)
            return self._restart(before.merge(added, f"{_OWNER}.partial_fit"), sparse=sparse)

    def merge(self, other: Self) -> Self:
        """Give a classifier fitted to the rows of both, with the parameters of this one.

        Parameters
        ----------
        other : NaiveBayes
            Fitted to other rows of the same columns, with the same families.

        Returns
        -------
        NaiveBayes
            A new one.
        """
        check_is_fitted(self)
        if not isinstance(other, NaiveBayes):
            raise InputError(f"{_OWNER}.merge needs a NaiveBayes. Got {type(other).__name__}.")
        check_is_fitted(other)
        mine, theirs = (each._column_names().names for each in (self, other))  # noqa: SLF001
        if mine != theirs or self._sparse != other._sparse:
            raise InputError(f"{_OWNER}.merge needs the same columns, in the same order, in both.")
        summary = self.summary_.merge(other.summary_, f"{_OWNER}.merge")
        merged = copy.copy(self)
        return merged._restart(summary, sparse=self._sparse)  # noqa: SLF001 - its own copy

    def log_odds_weights(self, a: Label, b: Label) -> LogOddsWeights:
        r"""Give the log odds of two classes as a linear form, from the natural parameters.

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
        return self._linear_form(a, b)

    def sufficient_statistics(self, X: Any) -> Any:
        """Give T(x) of each row, in the order of the weights of ``log_odds_weights``.

        Parameters
        ----------
        X : array-like, data frame or sparse array of shape (n, D)
            Rows.

        Returns
        -------
        ndarray of shape (n, S)
            Dense; NaN where a value is missing. Sparse rows are their own statistics, and are
            given back as they are.
        """
        rows = self._rows(X)
        if isinstance(rows, SparseRows):
            return rows.X
        return statistics_of(self._terms, rows, slice(0, len(rows)))

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
        return self._explained(self._one_row(x), a, b)

    def sample(self, n: int = 1, random_state: RandomState = None, total: int | None = None) -> Any:
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

        Returns
        -------
        X : ndarray, sparse array or data frame of shape (n, D)
            Rows in an array or a frame of the library that was fitted; truth values as 0 and 1,
            Gaussian columns as floats, categories as they are.
        y : ndarray of shape (n,)
            Labels, drawn by the priors.
        """
        self._check_ready()
        size = positive_int(n, f"{_OWNER}.sample", "n")
        rng = generator(random_state, f"{_OWNER}.sample")
        codes = rng.choice(len(self.classes_), size, p=self.priors_)
        totals = totals_of(self.summary_, total, f"{_OWNER}.sample")
        if self._sparse:
            return sample_sparse(self._terms[0], codes, totals[0], rng), self.classes_[codes]
        columns = sample_columns(self._terms, codes, totals, rng)
        ordered = [columns[j] for j in range(self.n_features_in_)]
        return rebuilt(ordered, self._column_names().names, self._kind), self.classes_[codes]
