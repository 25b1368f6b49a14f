"""What every classifier offers, from one hook: predictions, posteriors, densities, other priors.

``LearnsFromSummary`` is the other half: fitting, streams and merging, from three hooks.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, validate_data

from credo import _checks as check
from credo._records import field_of
from credo._results import DrawableClassifier, Storable
from credo._types import F64, Int, Label, PerLabel, RandomState
from credo.columns import MARKS, KindError, Numbers, Table, marks_text, read_table
from credo.exceptions import CredoError, InputError, NumericalError, ShapeError, TableWarning
from credo.posterior import Posterior

#: Log densities that differ by less are tied: the same row, scored in another block.
_SLACK = 1e-9
#: Most bytes of covariances that are given back.
_MOST_BYTES = 2 * 2**30

#: Blocks of rows, one behind the other, with their scores (K, B), which the reader may overwrite.
Blocks = Iterator[tuple[slice, F64]]


class ScoredClassifier(Storable, DrawableClassifier, ClassifierMixin, BaseEstimator, ABC):
    """Base of classifiers whose posterior is the softmax of scores.

    A subclass sets ``classes_``, and writes ``_rows`` and ``_scores``.
    """

    classes_: Any

    def _check_ready(self) -> None:
        """Refuse to predict before anything was learned."""
        check_fitted(self)

    @abstractmethod
    def _rows(self, X: Any) -> Any:
        """Check rows to predict."""

    @abstractmethod
    def _scores(self, rows: Any, *, densities: bool = False) -> Blocks:
        """Yield log p(x, k) of all rows; without ``densities``, less a term of the row."""

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row; of equals, the first.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, of any kind that fit takes.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        rows = self._rows(X)
        codes = np.empty(n_rows(rows), dtype=np.intp)
        for block, scores in self._scores(rows):
            codes[block] = scores.argmax(axis=0)
        return self.classes_[codes]

    def predict_proba(self, X: Any) -> Any:
        """Return posterior probabilities, columns in the order of ``classes_``.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, of any kind that fit takes.

        Returns
        -------
        ndarray of shape (n, K)
            Computed in float64; Gaussian and logistic classifiers round them to float32 for rows
            of float32.
        """
        rows = self._rows(X)
        return self._table(rows, probabilities, dtype=_precision(rows))

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of the posterior probabilities.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, of any kind that fit takes.

        Returns
        -------
        ndarray of shape (n, K)
            Exact far below the least positive probability; in float32, zero where the probability
            is one.
        """
        rows = self._rows(X)
        table = self._table(rows, log_probabilities, dtype=_precision(rows))
        if table.dtype == np.float32:
            table[table > -np.finfo(np.float32).epsneg] = 0.0
        return table

    def posterior(self, X: Any) -> Posterior:
        """Return the posterior over ``classes_``, for ``credo.decide``.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, of any kind that fit takes.

        Returns
        -------
        Posterior
            One row per row.
        """
        return Posterior(self._table(self._rows(X), log_probabilities), self.classes_)

    def decision_function(self, X: Any) -> F64:
        """Return a score per class, or the log odds of the second class if there are two.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, of any kind that fit takes.

        Returns
        -------
        ndarray of shape (n, K), or (n,) if there are two classes
            Scores differ from log posteriors by a term of the row.
        """
        table = self._table(self._rows(X))
        return table[:, 1] - table[:, 0] if len(self.classes_) == 2 else table

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of the rows whose most probable class is their label.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, of any kind that fit takes.
        y : array-like of shape (n,)
            True labels.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.

        Returns
        -------
        float
            The accuracy.
        """
        with own_errors(f"{type(self).__name__}.score", "Pass one true label per row."):
            return float(super().score(X, y, sample_weight))

    def _table(
        self,
        rows: Any,
        finish: Callable[[F64], F64] | None = None,
        *,
        densities: bool = False,
        dtype: Any = np.float64,
    ) -> Any:
        """Return the scores of all rows, or what ``finish`` makes of them, (n, K)."""
        table = np.empty((n_rows(rows), len(self.classes_)), dtype=dtype)
        for block, scores in self._scores(rows, densities=densities):
            table[block] = (scores if finish is None else finish(scores)).T
        return table


def n_rows(rows: Any) -> int:
    """Count rows of an array, of a sparse array, which has no length, or of a table."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def room_for_covariances(n: int, size: int, owner: str) -> F64:
    """Return zeros (n, D, D), if they fit into memory."""
    n_bytes = 8 * n * size**2
    if n_bytes > _MOST_BYTES:
        raise InputError(
            f"{owner}: the covariances of {n} rows need {n_bytes / 2**30:.1f} GiB. Ask for fewer "
            "rows, or use impute for the means alone."
        )
    return np.zeros((n, size, size))


def _precision(rows: Any) -> Any:
    """Return the precision of answers about rows."""
    return np.float32 if getattr(rows, "dtype", None) == np.float32 else np.float64


def probabilities(scores: F64) -> F64:
    """Turn scores (K, B) into posteriors, in place."""
    scores -= scores.max(axis=0)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=0)
    return scores


def log_probabilities(scores: F64) -> F64:
    """Turn scores (K, B) into log posteriors, in place."""
    scores -= scores.max(axis=0)  # first, so that log p is exact next to zero
    scores -= log_totals(scores)
    return scores


def log_totals(scores: F64) -> F64:
    """Return log Σ_k exp of each column; the largest term stays out of the sum, for its rest."""
    best = scores.argmax(axis=0)
    columns = np.arange(scores.shape[1])
    top = scores[best, columns]
    terms = np.exp(scores - top)
    terms[best, columns] = 0.0
    return top + np.log1p(terms.sum(axis=0))


class GenerativeClassifier(ScoredClassifier):
    """Base of classifiers with p(x | k) and p(k): posteriors, densities and other priors.

    A subclass sets ``classes_`` and ``priors_``, and writes ``_scores``.
    """

    priors: Any
    priors_: F64

    @property
    def _has_density(self) -> bool:
        """Tell whether p(x | k) is known, and not only the posterior."""
        return True

    def log_joint(self, X: Any) -> F64:
        r"""Return :math:`\log p(x, k) = \log p(x \mid k) + \log \pi_k`.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, of any kind that fit takes.

        Returns
        -------
        ndarray of shape (n, K)
            In float64.
        """
        return self._table(self._rows(X), densities=True)

    def log_density(self, X: Any) -> F64:
        r"""Return :math:`\log p(x)`, the log density of each row under the whole model.

        Low values are outliers.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows; NaN is missing and marginalised, so rows with different missing entries are
            densities over different features.

        Returns
        -------
        ndarray of shape (n,)
            In float64.
        """
        return self._log_densities(self._rows(X))

    def _log_densities(self, rows: Any) -> F64:
        """Return log p(x) of rows that were checked."""
        totals = np.empty(n_rows(rows))
        for block, scores in self._scores(rows, densities=True):
            totals[block] = log_totals(scores)
        return totals

    def with_priors(self, priors: PerLabel | str | None) -> Self:
        """Return the same classifier with other priors, without fitting again.

        Parameters
        ----------
        priors : array-like of shape (K,), mapping from label, "uniform" or None
            Probabilities of the classes where it will be used; None for the frequencies.

        Returns
        -------
        classifier
            A new one; this one stays as it is.
        """
        self._check_ready()
        other = copy.copy(self)
        other.priors = priors
        return other._set_priors()  # noqa: SLF001 - of its own copy

    @abstractmethod
    def _set_priors(self) -> Self:
        """Set what depends on the priors; return itself."""

    def outlier_p_values(
        self,
        X: Any,
        label: Label | None = None,
        *,
        n_samples: int = 10_000,
        random_state: RandomState = 0,
    ) -> F64:
        r"""Return how often the model gives a row at least as improbable as each of these.

        .. math:: P(x) = \Pr\big[p(x') \le p(x)\big], \qquad x' \sim p

        So ``model.outlier_p_values(X) < 0.01`` are outliers at the level of 1 %: of rows that come
        from the model, one in a hundred is called one.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, of any kind that fit takes. A row with missing values is compared with rows that
            lack the same, and one of counts with rows of the same total.
        label : label, optional
            Judge by this class only, and not by all classes mixed by their priors.
        n_samples : int
            Rows drawn from the model to compare with.
        random_state : int, Generator or None
            Seed.

        Returns
        -------
        ndarray of shape (n,)
            Uniform between 0 and 1 for rows from the model; of discrete columns, where rows tie,
            at least as large.

        Notes
        -----
        Of a single Gaussian exact, from the chi-square distribution of squared distances. Otherwise
        one plus the number of draws that are no more probable, over one plus all: at no level does
        this call more rows outliers than it says, whatever ``n_samples``, and its standard error
        is :math:`\sqrt{P (1 - P) / n}`, 0.001 at 1 %.
        Costs ``n_samples`` densities for each set of missing columns and total that occurs.

        References
        ----------
        .. [1] A. C. Davison and D. V. Hinkley, *Bootstrap Methods and their Application*, 1997,
           section 4.2.
        """
        self._check_ready()
        what = f"{type(self).__name__}.outlier_p_values"
        size = check.count(n_samples, f"n_samples of {what}")
        rng = check.generator(random_state, f"random_state of {what}")
        if label is not None:
            one = self.with_priors(self._shares_of(label, "outlier_p_values"))
            return one.outlier_p_values(X, n_samples=size, random_state=rng)
        rows = self._rows(X)
        exact = self._exact_p_values(rows)
        if exact is not None:
            return exact
        logs, result = self._log_densities(rows), np.empty(n_rows(rows))
        logs += _SLACK * (1.0 + np.abs(logs))
        for members, drawn in self._draw_like(rows, size, rng):
            others = np.sort(self._log_densities(drawn))
            result[members] = 1 + np.searchsorted(others, logs[members], side="right")
        return result / (size + 1)

    def _exact_p_values(self, rows: Any) -> F64 | None:  # noqa: ARG002 - for those that know it
        """Return the p-values of rows where they have a closed form."""
        return None

    def _draw_like(
        self, rows: Any, size: int, rng: np.random.Generator
    ) -> Iterator[tuple[Int, Any]]:
        """Yield rows that can be compared, by their numbers, with draws that lack the same."""
        raise NotImplementedError

    def _shares_of(self, label: Label | None, method: str = "sample") -> F64:
        """Return the priors, or all for one class."""
        if label is None:
            return self.priors_
        owner = f"{type(self).__name__}.{method}"
        place = check.position(label, check.labels(self.classes_), "class", owner)
        return np.eye(len(self.classes_))[place]

    def _log_priors(self) -> F64:
        """Return the logarithms of the priors; minus infinity for a prior of zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.priors_)


class StoredModel:
    """Base of models that a file can hold: known by name, and declared by their records.

    What a fit learned is a record in ``_fitted``, which ``_set(fitted, classes, summary)`` shows;
    or it is learned again from ``summary_``, the record that streams and merging continue from.
    """

    #: What rows are: an array of numbers, a table of columns, or documents.
    kind: ClassVar[Literal["numbers", "columns", "documents"]]
    #: What ``credo fit --model`` calls it; None if it is not for the command line.
    command: ClassVar[str | None] = None
    #: The record that is merged, and the one that predictions need; None for none.
    Summary: ClassVar[Any] = None
    Fitted: ClassVar[Any] = None
    #: Models with a record of their own, by name: these can be stored.
    known: ClassVar[dict[str, type]] = {}

    #: Why what was seen so far does not determine a model; None if it does.
    _problem: str | None = None
    #: Told of a repair already, so that a stream is not told at every batch.
    _warned: bool = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        declared = [name for name in ("Summary", "Fitted") if name in vars(cls)]
        for name in declared:
            if getattr(cls, name) is not None:
                field_of(getattr(cls, name), f"{cls.__name__}.{name}")
        if declared:
            StoredModel.known[cls.__name__] = cls

    def _check_loaded(self) -> None:
        """Refuse parts from a file that do not fit each other."""


class LearnsFromSummary(StoredModel, ABC):
    """Base of models that are estimated from a mergeable summary of the rows.

    A subclass writes three hooks: ``_read`` checks rows, ``_summarise`` reduces them, and
    ``_learn`` estimates from a summary; and a check of its parameters. Fitting, streams, merging
    and tables follow from these.
    """

    summary_: Any
    #: What the columns of a table were to it; only after it learned from one.
    schema_: Any

    @abstractmethod
    def _check_parameters(self, seen: Sequence[Label] | None = None) -> None:
        """Refuse what can never become valid; in a stream, ``seen`` are the classes so far."""

    @abstractmethod
    def _read(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Any:
        """Check rows, and return them as a batch."""

    @abstractmethod
    def _summarise(self, batch: Any) -> Any:
        """Reduce a batch to a summary; None if the model needs all rows at once, for EM."""

    @abstractmethod
    def _learn(self, summary: Any, batch: Any = None) -> None:
        """Estimate, and show what was learned; the batch is None unless it is all there is."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows; a failed fit leaves the model as it was.

        Parameters
        ----------
        X : array-like of shape (n, D), or what else the class takes
            Rows, of any kind that the class names; NaN is missing.
        y : array-like of shape (n,)
            Labels, or the target of a regression.
        sample_weight : array-like of shape (n,), optional
            Weight of each row: 2 counts as the row twice, 0 as no row.

        Returns
        -------
        model
            Itself.
        """
        with unchanged_on_error(self):
            self._warned = False
            self._check_parameters()
            batch = self._read(X, y, sample_weight, reset=True)
            self._learn(self._summarise(batch), batch)
        ask_of_marks(self, "put None in its place, and numbers in that of their texts.")
        return self

    def _add(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Self:
        """Add rows to those seen before; ``classes`` are all labels that may occur."""
        owner, before = type(self).__name__, getattr(self, "summary_", None)
        if before is None and hasattr(self, "summary_"):
            raise InputError(
                f"{owner}.partial_fit: the model has no summary to add to: it was fitted to "
                "missing values by EM, or saved without it. Fit all rows at once."
            )
        self._check_parameters(())
        with unchanged_on_error(self):
            summary = self._summarise(self._read(X, y, sample_weight, reset=before is None))
            if summary is None:
                raise InputError(
                    f"{owner}.partial_fit: X contains NaN, and correlations are learned from "
                    "missing values by EM over all rows at once. Use fit, or a model without "
                    "correlations."
                )
            if classes is not None:
                known = check.labels(classes, f"classes of {owner}")
                check.positions(summary.classes, known, "class", owner)
            return self._restart(summary if before is None else before.merge(summary))

    def merge(self, other: Self) -> Self:
        """Return a model fitted to the rows of both, with the parameters of this one.

        Parameters
        ----------
        other : model of the same kind
            Fitted to other rows of the same columns.

        Returns
        -------
        model
            A new one.
        """
        owner = type(self).__name__
        if not isinstance(other, type(self)):
            raise InputError(f"{owner}.merge needs a {owner}. Got {type(other).__name__}.")
        check_fitted(self)
        check_fitted(other)
        if self.summary_ is None or other.summary_ is None:
            raise InputError(
                f"{owner}.merge: a model fitted to missing values by EM, one of mixtures, or one "
                "saved without its summary, has none to merge. Fit all rows at once."
            )
        merged = copy.copy(self)
        if hasattr(self, "schema_") and hasattr(other, "schema_"):
            merged.schema_ = self.schema_.merge(other.schema_, f"{owner}.merge")
        sizes = [getattr(each, "n_features_in_", None) for each in (self, other)]
        if sizes[0] != sizes[1]:
            raise ShapeError(
                f"{owner}.merge: {sizes[0]} features cannot be merged with {sizes[1]}. Fit the "
                "same columns."
            )
        summary = self.summary_.merge(other.summary_)
        return merged._restart(summary)  # noqa: SLF001 - of its own copy

    def _settle(self, rows: Any) -> None:
        """Settle what the columns are by the first rows of a table."""

    def _keep(self, summary: Any) -> None:
        """Keep what was settled when a summary was made."""

    def _fit_summary(self, summary: Any, n_features: int | None = None, names: Any = None) -> Self:
        """Fit from the summary of all rows, of so many columns, with these names or none."""
        with unchanged_on_error(self):
            self._warned = False
            self._check_parameters(())
            self._forget("feature_names_in_", "schema_")
            if n_features is not None:
                self.n_features_in_ = n_features
            if names is not None:
                self.feature_names_in_ = np.array(names, dtype=object)
            self._learn(summary)
        ask_of_marks(self, "pass missing=[{}].")
        return self

    def _restart(self, summary: Any) -> Self:
        """Continue from a summary; if it does not determine a model yet, remember why."""
        self._check_parameters(summary.classes.tolist())
        self.summary_ = summary
        if isinstance(self, ScoredClassifier):
            self.classes_ = summary.classes
        try:
            self._learn(summary)
        except CredoError as problem:
            self._problem = str(problem)
            of_the_rows = "summary_", "classes_", "n_features_in_", "feature_names_in_", "schema_"
            learned = [name for name in vars(self) if name.endswith("_")]
            self._forget(*(name for name in learned if name not in of_the_rows))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc] # of BaseEstimator, beside this
        tags.input_tags.allow_nan = True
        return tags

    def _forget(self, *names: str) -> None:
        """Remove attributes, if they are there."""
        for name in names:
            self.__dict__.pop(name, None)

    def _check_ready(self) -> None:
        """Check that there is a fitted model."""
        check_fitted(self)
        if self._problem is not None:
            raise NumericalError(self._problem)

    def _tell(self, repair: str | None, category: type[Warning]) -> None:
        """Warn of a repair, once."""
        if repair is not None and not self._warned:
            check.warn(repair, category)
            self._warned = True


def ask_of_marks(model: Any, remedy: str) -> None:
    """Ask whether categories that look like marks of missing values are such."""
    told, met, summary = [], dict[Any, None](), getattr(model, "summary_", None)
    for name, categories in getattr(model, "categories_", {}).items():
        found = [mark for mark in MARKS if mark in categories]
        shown = " and ".join(map(repr, found))
        if summary is not None:  # which has their numbers; one that is only declared has none
            times = {mark: summary.times(name, mark) for mark in found}
            shown = marks_text({mark: number for mark, number in times.items() if number})
        if shown:
            among = " among texts of numbers" if _are_numbers(categories) else ""
            told.append(f"column {name!r} has {shown}{among}")
            met |= dict.fromkeys(found)
    if told:
        check.warn(
            f"{type(model).__name__}: {'; '.join(told)}, taken as a category. If it means missing, "
            f"{remedy.format(', '.join(map(repr, met)))}",
            TableWarning,
        )


def _are_numbers(categories: Sequence[Any]) -> bool:
    """Tell texts that are all numbers, but for marks."""
    try:
        return bool([float(each) for each in categories if each not in MARKS])
    except (TypeError, ValueError):
        return False


class UnfittedError(InputError, NotFittedError):
    """A model that has learned nothing yet; scikit-learn asks for its own class, too."""


@contextmanager
def own_errors(owner: str, remedy: str = "") -> Iterator[None]:
    """Say what scikit-learn refuses as an error of this library, with a remedy."""
    try:
        yield
    except CredoError:
        raise
    except NotFittedError as error:
        raise UnfittedError(str(error)) from error
    except (TypeError, ValueError, OverflowError) as error:
        said = " ".join(str(error).partition("\n[")[0].split()).rstrip(".")
        kind = KindError if isinstance(error, TypeError) else InputError
        raise kind(f"{owner}: {said}. {remedy}".rstrip()) from error


def check_fitted(model: Any) -> None:
    """Refuse a model that has learned nothing yet."""
    with own_errors(type(model).__name__):
        check_is_fitted(model)


def note_columns(model: Any, X: Any, *y: Any, reset: bool, **how: Any) -> Any:
    """Keep the number and names of the columns, or compare them with those of the fit.

    ``how`` the rows themselves are read by scikit-learn; by default they are not.
    """
    remedy = "" if reset else "Pass the columns that it was fitted to, under the same names."
    with own_errors(type(model).__name__, remedy):
        return validate_data(model, X, *y, reset=reset, **how or {"skip_check_array": True})


def read_numbers(X: Any, owner: str) -> Any:
    """Check rows of numbers, NaN being missing; numbers in an array are not copied."""
    table = read_table(X, owner)
    if table.matrix is not None:
        return table.matrix
    return np.stack([_numbers_of(table, j) for j in range(table.n_columns)]).T


def _numbers_of(table: Table, j: int) -> Any:
    """Return a column of numbers, which may be written as text; refuse any other by name."""
    column = table.column(j)
    if isinstance(column, Numbers):
        return column.values
    numbers = [np.nan] * (len(column.categories) + 1)  # the last is for what is missing
    for code, value in enumerate(column.categories):
        try:
            numbers[code] = float(value)
        except (TypeError, ValueError):
            kind = "text" if isinstance(value, str) else "categories"
            raise InputError(
                f"{table.where(j)} holds {kind} such as {value!r}, and this model takes numbers "
                "alone. Turn it into numbers, such as zeros and ones for each category; use "
                "credo.NaiveBayes or credo.LogisticClassifier, which take categories; or leave it "
                "out."
            ) from None
    return np.array(numbers)[column.codes]


def row_weights(given: Any, n: int, owner: str) -> F64 | None:
    """Check sample weights; None if all are one."""
    return None if given is None else check.weights(given, n, f"sample weights of {owner}")


def prior_probabilities(priors: Any, classes: Any, weights: F64, owner: str) -> F64:
    """Return one prior per class: frequencies, equal, or as given."""
    if priors is None:
        return weights / weights.sum()
    if isinstance(priors, str):
        if priors != "uniform":
            raise InputError(
                f"The priors of {owner} must be None, 'uniform', an array or a mapping. Got "
                f"{priors!r}."
            )
        return np.full(len(classes), 1 / max(1, len(classes)))
    return check.priors(priors, check.labels(classes, f"classes of {owner}"), f"priors of {owner}")


def refuse_priors(priors: Any, owner: str, classes: Sequence[Label] = ()) -> None:
    """Refuse priors that no further class could make right; ``classes`` are those seen so far."""
    if priors is None or isinstance(priors, str):
        prior_probabilities(priors, (), np.ones(1), owner)
        return
    named, what = check.by_name(priors), f"priors of {owner}"
    if named is None:
        names: tuple[Any, ...] = tuple(range(len(check.vector(priors, what))))
    else:
        names = tuple(map(check.plain, named))
    check.priors(priors if named is None else named, names, what)
    if named is not None:
        for label in classes:
            check.position(label, names, "prior of the class", owner)
    elif len(classes) > len(names):
        raise ShapeError(
            f"The {what} are {len(names)} numbers, and there are {len(classes)} classes: "
            f"{check.listing(classes)}. Pass one prior per class."
        )


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was if something fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
