"""The state of a logistic classifier: what it reads, what it keeps, what it says."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from credo._types import F64, Int, Labels
from credo._validation.arrays import as_number, positive_int
from credo._validation.labels import as_labels, listing, one_of, positions
from credo._validation.probabilities import as_weights
from credo.classifiers._base import Blocks, ScoredClassifier, StoredModel
from credo.classifiers._labels import encode_labels, without_mask
from credo.classifiers.softmax.batches import Batch, cut
from credo.classifiers.softmax.census import Census
from credo.classifiers.softmax.finding import Separation
from credo.classifiers.softmax.fit import Penalty, Problem, Solution
from credo.classifiers.softmax.inference import Information
from credo.classifiers.softmax.newton import Rules
from credo.classifiers.softmax.objective import Design, Value, scores_of
from credo.classifiers.softmax.stream import Stream, one_batch, refuse_unusable
from credo.exceptions import InputError, SeparationWarning, ShapeError, SingularWarning

OWNER = "LogisticClassifier"

#: Rows of a sample to start from: enough that its Hessian is like that of all rows, by a factor
#: of the root of this over the number of columns; and its most bytes.
_SAMPLE_ROWS, _SAMPLE_PER_COLUMN, _SAMPLE_BYTES = 2**13, 64, 2**26
#: A column with less than this in a direction that no row tells apart takes no part in it.
_NO_PART = 1e-6

#: Called with the iteration and the log-likelihood, less the penalty, so far.
Progress = Callable[[int, float], None]


@dataclass(frozen=True, slots=True)
class Options:
    """The parameters of an estimator, checked."""

    penalty: Penalty
    strength: float
    intercept: bool
    refuses_separation: bool
    rules: Rules
    progress: Progress | None

    @classmethod
    def checked(cls, estimator: Any) -> Options:
        """Check the parameters."""
        penalty = one_of(estimator.penalty, (None, "l2", "l1"), OWNER, "penalty")
        if penalty is None and estimator.strength is not None:
            raise InputError(
                f"{OWNER} has a strength but no penalty. Pass penalty='l2' or penalty='l1' too."
            )
        given = 1.0 if estimator.strength is None else estimator.strength
        strength = as_number(given, OWNER, "strength")
        if strength <= 0:
            raise InputError(
                f"The strength of {OWNER} must be positive. Got {strength:g}. For no penalty "
                "pass penalty=None."
            )
        tol = as_number(estimator.tol, OWNER, "tol")
        if tol <= 0:
            raise InputError(f"The tol of {OWNER} must be positive. Got {tol:g}.")
        refuses = one_of(estimator.separation, ("warn", "error"), OWNER, "separation") == "error"
        rules = Rules(tol, positive_int(estimator.max_iter, OWNER, "max_iter"))
        intercept = bool(estimator.fit_intercept)
        if not (estimator.progress is None or callable(estimator.progress)):
            raise InputError(
                f"The progress of {OWNER} must be a function of an iteration and a "
                f"log-likelihood. Got {estimator.progress!r}."
            )
        return cls(penalty, strength, intercept, refuses, rules, estimator.progress)

    def rules_for(self, total: float) -> Rules:
        """Give the rules of a search, which tells whoever wants to know how it goes."""
        progress = self.progress
        if progress is None:
            return self.rules

        def told(iteration: int, value: Value) -> None:
            progress(iteration, -total * value.loss)

        return Rules(self.rules.tol, self.rules.max_iter, told)


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit:
    """What a fit learned, for files."""

    coef: Annotated[F64, "L D"]
    intercept: Annotated[F64, "L"]
    n_iter: int
    converged: bool
    gradient_norm: float
    log_likelihood: float
    null_log_likelihood: float
    n_parameters: int
    separation: Separation | None
    information: Information | None
    penalised: bool
    problem_of_table: str | None


class LogisticState(StoredModel, ScoredClassifier):
    """Private half of ``LogisticClassifier``."""

    _fitted: LogisticFit

    classes_: Any
    coef_: F64
    intercept_: F64
    separation_: Separation | None
    _information: Information | None
    _problem_of_table: str | None
    _penalised: bool

    def _read(self, X: Any, y: Any, sample_weight: Any, *, reset: bool, least: int = 1) -> Batch:
        """Check rows, labels and weights; rows of weight zero are left out. Labels, no codes."""
        if reset:
            self.__dict__.pop("schema_", None)
        elif sample_weight is None and self._is_plain(X, y):
            return Batch(X, y, None)
        rows, labels = validate_data(
            self,
            without_mask(X),
            y,
            reset=reset,
            accept_sparse="csr",
            dtype="numeric",
            ensure_all_finite=False,
            ensure_min_samples=least,
        )
        if sparse.issparse(rows) and not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        if sample_weight is None:
            return Batch(rows, labels, None)
        weights = as_weights(sample_weight, rows.shape[0], OWNER)
        some = weights > 0
        if some.all():
            return Batch(rows, labels, weights)
        return Batch(rows[some], labels[some], weights[some])

    def _is_plain(self, X: Any, y: Any) -> bool:
        """Tell arrays that need no further check, so that small batches are read fast."""
        return (
            (type(X) is np.ndarray or (isinstance(X, sparse.csr_array) and X.has_canonical_format))
            and type(y) is np.ndarray
            and X.dtype in (np.float64, np.float32)
            and y.dtype.kind in "iub"
            and y.shape == X.shape[:1]
            and X.shape[1:] == (self.n_features_in_,)
            and not hasattr(self, "feature_names_in_")
        )

    def _in_memory(self, X: Any, y: Any, sample_weight: Any, options: Options) -> Problem:
        """Survey rows that are all there."""
        batch = self._read(X, y, sample_weight, reset=True)
        self.classes_, codes = encode_labels(batch.codes, None)
        batch = Batch(batch.x, codes, batch.weights)
        with np.errstate(over="ignore", invalid="ignore"):
            census, sample = one_batch(batch, _sample_size)
        self._refuse_unusable(batch, census)
        class_weights = np.bincount(codes, batch.weights, len(self.classes_)).astype(np.float64)
        return self._pose(lambda: (batch,), census, sample, class_weights, options)

    def _streamed(self, source: Any, classes: Any, options: Options) -> Problem:
        """Survey rows that come in batches."""
        stream = Stream(source, self._read_batch, f"{OWNER}.fit_batches", _sample_size)
        _refuse_mixed(list(stream.weights))
        found = np.array(list(stream.weights))
        order = np.argsort(found, kind="stable")
        self.classes_ = found[order]
        if classes is not None:
            self._check_classes(classes)
        known = as_labels(self.classes_, OWNER, "classes")
        encode = partial(_codes, self.classes_, known)
        weights = np.array(list(stream.weights.values()))[order]
        census: Any = stream.census
        sample = stream.sample(encode)
        return self._pose(stream.source(encode), census, sample, weights, options, in_memory=False)

    def _check_classes(self, classes: Any) -> None:
        """Check that all labels found were announced, and all that were announced came."""
        known = as_labels(np.asarray(classes), OWNER, "classes")
        positions(self.classes_, known, f"{OWNER}.fit_batches", "class")
        came = set(self.classes_.tolist())
        absent = [label for label in known if label not in came]
        if absent:
            raise InputError(
                f"{OWNER}.fit_batches: no row has the class {absent[0]!r}. Without a penalty "
                "or rows nothing can be said of it. Leave it out of classes."
            )

    def _read_batch(self, raw: Any, *, first_batch: bool, first_pass: bool) -> Batch:
        """Check one batch of a source."""
        if not isinstance(raw, (tuple, list)) or len(raw) not in (2, 3):
            raise ShapeError(
                f"{OWNER}.fit_batches needs batches (X, y) or (X, y, weights). Got "
                f"{type(raw).__name__}."
            )
        X, y, weights = raw if len(raw) == 3 else (*raw, None)
        nothing = weights is not None and not np.any(weights)
        batch = self._read(X, y, None if nothing else weights, reset=first_batch, least=0)
        if nothing:
            if np.shape(weights) != (len(batch),):
                raise ShapeError(
                    f"{OWNER}.fit_batches needs one weight per row, {len(batch)}. Got shape "
                    f"{np.shape(weights)}."
                )
            return Batch(batch.x[:0], batch.codes[:0], None)
        if batch.codes.dtype.kind == "f":
            check_classification_targets(batch.codes)
        if first_pass:
            self._refuse_missing(batch)
        return batch

    def _refuse_missing(self, batch: Batch) -> None:
        """Refuse NaN and infinity; in later passes, other sums tell of them."""
        values = batch.x.data if sparse.issparse(batch.x) else batch.x
        with np.errstate(over="ignore", invalid="ignore"):
            total = values.sum(dtype=np.float64) if values.dtype.kind == "f" else 0.0
        if not np.isfinite(total):
            self._refuse_unusable(batch, None)

    def _refuse_unusable(self, batch: Batch, census: Census | None) -> None:
        """Name NaN and infinity by column."""
        if census is None:
            moments = np.full(batch.x.shape[1], np.nan)
        else:
            moments = census.mean + census.scatter
        names = self._features()
        refuse_unusable(batch.x, moments, lambda j: repr(names[j]), OWNER)

    def _pose(
        self,
        source: Any,
        census: Census,
        sample: Batch | None,
        class_weights: F64,
        options: Options,
        *,
        in_memory: bool = True,
    ) -> Problem:
        """Put together what a solver needs."""
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise InputError(
                f"{OWNER} needs rows of at least two classes. Got only one class: "
                f"{listing(self.classes_.tolist())}."
            )
        scaling = census.scaling(intercept=options.intercept)
        design = Design(source, scaling, n_classes, census.total, census.is_sparse)
        return Problem(design, class_weights, census.n_rows, census.n_stored, sample, in_memory)

    def _features(self) -> Labels:
        """Name the columns."""
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        return as_labels(names, OWNER, "columns")

    def _set(self, fitted: LogisticFit, classes: Any, summary: None) -> None:  # noqa: ARG002 - of all models
        """Show what was learned."""
        self.classes_, self._fitted = classes, fitted
        for each in fields(LogisticFit):
            private = each.name in ("information", "penalised", "problem_of_table")
            setattr(
                self, f"_{each.name}" if private else f"{each.name}_", getattr(fitted, each.name)
            )

    def _check_loaded(self) -> None:
        """Check that there is a row of coefficients per class, or one for two classes."""
        n_classes = len(self.classes_)
        if n_classes < 2 or len(self._fitted.coef) != (1 if n_classes == 2 else n_classes):
            raise InputError("The coefficients do not fit the classes.")

    def _keep(self, problem: Problem, found: Solution, options: Options) -> Self:
        """Keep a fit, show what it learned, and say what is wrong with it."""
        design = problem.design
        self.coef_, self.intercept_ = design.scaling.coefficients(found.theta)
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        self.gradient_norm_, self.log_likelihood_ = found.norm, found.log_likelihood
        shares = problem.class_weights / design.total
        if not options.intercept:
            shares = np.full(design.n_classes, 1.0 / design.n_classes)
        self.null_log_likelihood_ = float(problem.class_weights @ np.log(shares))
        self.n_parameters_ = _n_parameters(found.theta, problem, options.penalty)
        self.separation_ = None
        if found.separation is not None:
            labels = as_labels(self.classes_, OWNER, "classes")
            scaling, features = design.scaling, self._features()
            self.separation_ = Separation.of(found.separation, scaling, labels, features)
        self._information, self._penalised = None, options.penalty is not None
        if found.hessian is not None:
            hessian = found.hessian * design.total
            self._information = Information(hessian, design.scaling, design.n_classes)
        self._problem_of_table = self._judge(found, options)
        self._fitted = LogisticFit(
            self.coef_,
            self.intercept_,
            self.n_iter_,
            self.converged_,
            self.gradient_norm_,
            self.log_likelihood_,
            self.null_log_likelihood_,
            self.n_parameters_,
            self.separation_,
            self._information,
            self._penalised,
            self._problem_of_table,
        )
        return self

    def _judge(self, found: Solution, options: Options) -> str | None:
        """Warn of what is wrong; give the reason why there can be no standard errors."""
        if self.separation_ is not None:
            self._say_separated(self.separation_, options)
            return f"The fit met {self.separation_}"
        reason = None
        if found.null is not None and found.null.size:
            reason = self._say_collinear(found.null)
        if not found.converged:
            warnings.warn(
                f"{OWNER}: stopped after {found.n_iter} iterations with a gradient of "
                f"{found.norm:.2g}, above tol={options.rules.tol:g}. Raise max_iter or tol"
                + (", or pass penalty='l2'." if options.penalty is None else "."),
                ConvergenceWarning,
                stacklevel=4,
            )
            reason = reason or "The fit has not converged"
        return reason

    def _say_separated(self, separation: Separation, options: Options) -> None:
        """Refuse or warn."""
        text = (
            f"{OWNER}: {separation}; the coefficients are where the search stopped. Pass "
            "penalty='l2', bring more rows, or drop the feature."
        )
        if options.refuses_separation:
            raise InputError(text)
        warnings.warn(text, SeparationWarning, stacklevel=5)

    def _say_collinear(self, null: F64) -> str:
        """Name columns that others determine."""
        names = self._features()
        part = np.abs(null[: len(names)]).max(axis=1) > _NO_PART
        columns = listing([names[j] for j in np.flatnonzero(part)])
        fact = f"columns that are constant or linear functions of each other: {columns}"
        warnings.warn(
            f"{OWNER}: {fact}. The likelihood does not determine their coefficients; the least "
            "that reach its maximum were taken, at the scale of each column. Drop some of them, "
            "or pass penalty='l2'.",
            SingularWarning,
            stacklevel=5,
        )
        return f"There are {fact}. Their coefficients are not determined"

    def _scores(self, rows: Any, *, densities: bool = False) -> Blocks:  # noqa: ARG002 - none here
        """Yield blocks of scores (K, B); zero for the first of two classes."""
        start = 0
        none = np.empty(rows.shape[0], dtype=np.intp)
        for block in cut(Batch(rows, none, None), len(self.classes_)):
            with np.errstate(over="ignore", invalid="ignore"):
                scores = scores_of(self.coef_, self.intercept_, block.x)
            if not np.isfinite(scores).all():
                self._refuse_unusable(Batch(rows, none, None), None)
            if len(scores) == 1:
                scores = np.vstack([np.zeros_like(scores), scores])
            yield slice(start, start + len(block)), scores
            start += len(block)

    def _rows(self, X: Any) -> Any:
        """Check rows to predict."""
        check_is_fitted(self)
        return validate_data(
            self,
            without_mask(X),
            reset=False,
            accept_sparse="csr",
            dtype="numeric",
            ensure_all_finite=False,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _sample_size(n_features: int) -> int:
    """Tell how many rows a sample is to have."""
    wanted = max(_SAMPLE_ROWS, _SAMPLE_PER_COLUMN * n_features)
    return max(1, min(wanted, _SAMPLE_BYTES // (8 * max(1, n_features))))


def _refuse_mixed(labels: list[Any]) -> None:
    """Refuse text beside numbers, which would become text too."""
    text = [label for label in labels if isinstance(label, str)]
    rest = [label for label in labels if not isinstance(label, str)]
    if text and rest:
        raise InputError(
            f"{OWNER}.fit_batches: the labels are of two kinds, {text[0]!s} as text and "
            f"{rest[0]!s} not. Use the same kind in all batches."
        )


def _codes(classes: Any, known: Labels, labels: Any) -> Int:
    """Find codes of labels; fast if they are of the kind of the classes."""
    if labels.dtype.kind == classes.dtype.kind:
        places: Int = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        if (classes[places] == labels).all():
            return places
    return positions(column_or_1d(labels), known, f"{OWNER}.fit_batches", "class")


def _n_parameters(theta: F64, problem: Problem, penalty: Penalty) -> int:
    """Count coefficients; with an L1 penalty, those that are not zero, and intercepts."""
    if penalty != "l1":
        return problem.n_coefficients
    scaling = problem.design.scaling
    n_features = len(scaling.scale)
    n_free = (problem.design.n_classes - 1) * scaling.intercept
    return int(np.count_nonzero(theta[:, :n_features])) + n_free
