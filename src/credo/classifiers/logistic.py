"""``LogisticClassifier``: logistic and softmax regression that says what it cannot know."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self, TypeVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from credo import _checks as check
from credo._types import F64, Bool, Label, Labels
from credo.classifiers._base import (
    Blocks,
    ScoredClassifier,
    StoredModel,
    ask_of_marks,
    check_fitted,
    n_rows,
    note_columns,
    read_numbers,
    unchanged_on_error,
)
from credo.classifiers._labels import read_labels
from credo.classifiers.logistic_results import (
    CoefficientTable,
    Information,
    LogisticFit,
    Separation,
    StrengthPath,
)
from credo.classifiers.logistic_rows import (
    OWNER,
    Coding,
    FirstPass,
    LabelledBatch,
    Reader,
    RowBatch,
    merge_repeats,
)
from credo.classifiers.logistic_solver import (
    Design,
    InMemory,
    Objective,
    Passes,
    Solution,
    StopRules,
    fit,
)
from credo.classifiers.separation import FALL_BACK, maximise_likelihood
from credo.columns import Numbers, Table, Words, read_table, with_weight
from credo.exceptions import (
    CredoWarning,
    InputError,
    NumericalError,
    SeparationWarning,
    ShapeError,
    SingularWarning,
)
from credo.families.moments import Rows

T = TypeVar("T")

#: Called with the iteration and the log-likelihood, less the penalty, so far.
Progress = Callable[[int, float], None]

#: A column with less than this in a direction that no row tells apart takes no part in it.
_NO_PART = 1e-6
#: The weakest of the strengths of a path, as a share of the strongest: with an L1 penalty, without.
_L1_RANGE, _L2_RANGE = 1e-3, 1e-6
#: The strongest L2 penalty of a path, in units of the summed squares of a column.
_L2_STRONGEST = 10.0
#: Sums of the same numbers in another order agree to this share.
_SAME = 1e-9
#: What a user sees of the record of a fit.
_SHOWN = (
    *("coef", "intercept", "n_iter", "converged", "gradient_norm", "log_likelihood"),
    *("null_log_likelihood", "n_parameters", "separation"),
)
#: Rows in memory with columns of categories are kept as numbers if these take at most so many
#: bytes; else blocks of them are made in each pass.
_CODED_BYTES = 2**28


class LogisticClassifier(StoredModel, ScoredClassifier):
    r"""Classify by linear log odds; unpenalised, with standard errors, by default.

    .. math:: p(k \mid x) \propto \exp(w_k^T x + b_k)

    minimises :math:`\sum_i w_i \left(-\log p(y_i \mid x_i)\right)` plus
    :math:`\lambda \left( \frac{1 - \rho}{2} \lVert W \rVert^2 + \rho \lVert W \rVert_1 \right)`,
    where :math:`\rho` is 0 for ``"l2"``, 1 for ``"l1"`` and ``l1_ratio`` for ``"elasticnet"``;
    intercepts are never penalised. If no maximum of the likelihood exists because a direction
    separates classes, it says so, names the direction, and fits a small ridge instead.

    Parameters
    ----------
    penalty : None, "l2", "l1" or "elasticnet"
        None for maximum likelihood.
    strength : float, optional
        λ of the penalty, which is ``1 / C`` of scikit-learn; 1 unless given.
    l1_ratio : float, optional
        ρ of an elastic net, from 0 (as ``"l2"``) to 1 (as ``"l1"``); 0.5 unless given.
    fit_intercept : bool
        Whether there are intercepts.
    missing_cells : {"error", "indicator"}
        Whether missing cells are refused, or take part: see the notes.
    separation : {"warn", "error"}
        Whether separation, without a penalty, gives a ``SeparationWarning`` or an error. After
        the warning, coefficients minimise the summed loss with a ridge of 0.01 on columns at one
        scale.
    tol : float
        It has converged if no entry of the gradient of the mean penalised loss is larger, for
        columns at one scale; nor larger than this share of that loss, if it is below one.
    max_iter : int
        Most iterations.
    warm_start : bool
        Whether a fit begins at the coefficients of the last one, if its classes and the names of
        its coefficients are the same. It ends at the same optimum.
    progress : callable, optional
        Called at each iteration with its number and the log-likelihood, less the penalty.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels, sorted.
    coef_ : ndarray of shape (1, M) or (K, M)
        Coefficients of the log odds of the second of two classes; or of each of more classes,
        which sum to zero over the classes unless the penalty has an L1 part.
    coefficient_names_ : ndarray of shape (M,)
        What the columns of ``coef_`` are about: a column of numbers, ``"column=category"``, or
        ``"column is missing"``.
    categories_ : dict
        The categories of each column of text: those that occurred, sorted, the base first; then
        those that were only declared.
    intercept_ : ndarray of shape (1,) or (K,)
        Intercepts.
    converged_ : bool
        Whether the gradient met ``tol``; False if classes are separated.
    n_iter_ : int
        Iterations over all rows.
    gradient_norm_ : float
        Largest entry of that gradient, or of the least subgradient with an L1 part.
    log_likelihood_ : float
        :math:`\sum_i w_i \log p(y_i \mid x_i)` of the rows it was fitted on.
    null_log_likelihood_ : float
        The same of the class frequencies alone, or of equal ones if there are no intercepts.
    n_parameters_ : int
        Free numbers in the model; with an L1 part, those that are not zero.
    separation_ : Separation or None
        Which direction separates which classes, if one does and there is no penalty.
    n_features_in_, feature_names_in_
        Number and names of the columns of X, as in scikit-learn.

    See Also
    --------
    credo.GaussianClassifier : Generative; takes missing values.
    credo.decide : Act on ``posterior(X)`` under a loss.

    Notes
    -----
    Exact to ``tol``. Columns are scaled inside, so units do not matter without a penalty; with
    one, they do, as λ is on the coefficients of the columns as given. Up to 1000 coefficients a
    Newton method with Cholesky factors is used, O(N D² K²) per Hessian, of which two or
    three are needed; it starts from a sample of the rows, and rows in memory that repeat are
    counted once, with their weight. Beyond, Newton steps by conjugate
    gradients, O(nnz K) per product. Sparse rows stay sparse; of float32 rows only blocks are
    copied. Rows of weight zero count as absent. Columns that are linear functions of others get
    the least coefficients, with a ``SingularWarning``.

    Columns that hold text or categories become columns of zeros and ones, one for
    each category but the base, the first in sorted order that occurs; booleans are zeros and ones.
    A category that a type declares but no row has gets no coefficient, and is predicted as the
    base. One that ``fit`` has not seen otherwise is predicted with the mean effect that its column
    had on the log odds of the rows of ``fit``, with a warning, once per column. At most 10 000
    per column.

    Missing cells (NaN, None, null) are refused, as a model of p(y | x) cannot marginalise them.
    With ``missing_cells="indicator"`` each column that has some in ``fit`` gets one more column, of
    ones where it is missing: beside the mean of the others for a number, instead of a category for
    text. That a cell is missing is evidence then, good as long as cells are missing for the same
    reasons as in ``fit``. Cells missing in a column that was complete in ``fit`` count as its mean,
    or with the mean effect of its categories, with a warning, once per column. Sparse rows must be
    complete.

    Separation is proven by a linear programme and checked on all rows. With more than 2000
    coefficients only complete separation is found, and with more than 1000 no word is said of
    collinear columns. Sparse columns stay uncentred: one whose mean is above 1e5 deviations does
    not converge.

    References
    ----------
    .. [1] T. Hastie, R. Tibshirani and J. Friedman, *The Elements of Statistical Learning*,
       2nd ed., 2009, section 4.4.
    .. [2] A. Albert and J. A. Anderson, "On the existence of maximum likelihood estimates in
       logistic regression models", Biometrika 71, 1984, section 2.

    Examples
    --------
    >>> import credo
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = credo.LogisticClassifier().fit(X[["mean radius", "mean texture"]], y)
    >>> model.coefficient_table()
    Coefficients of log odds against 0, 0.95 confidence
    class  feature       estimate  std error       z    p value    lower    upper
    1      mean radius     -1.057     0.1015  -10.42  2.079e-25   -1.256  -0.8582
    1      mean texture   -0.2181    0.03707  -5.885  3.976e-09  -0.2908  -0.1455
    1      intercept        19.85      1.774   11.19  4.594e-29    16.37    23.33
    """

    command = "logistic"
    kind = "columns"
    Fitted = LogisticFit

    def __init__(  # noqa: PLR0913 - one per option, all but the first by name
        self,
        penalty: Literal["l2", "l1", "elasticnet"] | None = None,
        *,
        strength: float | None = None,
        l1_ratio: float | None = None,
        fit_intercept: bool = True,
        missing_cells: Literal["error", "indicator"] = "error",
        separation: Literal["warn", "error"] = "warn",
        tol: float = 1e-8,
        max_iter: int = 1000,
        warm_start: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.penalty = penalty
        self.strength = strength
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.missing_cells = missing_cells
        self.separation = separation
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows; a failed fit leaves the classifier as it was.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, D)
            Rows; missing cells as ``missing_cells`` says. Columns may hold text or categories.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), optional
            Weight of each row: 2 counts as the row twice, 0 as no row.

        Returns
        -------
        LogisticClassifier
            Itself.
        """
        self._check_parameters()
        with unchanged_on_error(self):
            self._fit(self._in_memory(X, y, sample_weight))
        ask_of_marks(self, "put None in its place, and numbers in that of their texts.")
        return self

    def fit_batches(self, source: Any, classes: Any = None) -> Self:
        """Fit to batches that are read again for each pass; the answer is that of ``fit``.

        Gradients and Hessians are sums over batches, so only one batch, and a sample to start
        from, are in memory.

        Parameters
        ----------
        source : callable or list
            A function that returns a new iterator of batches ``(X, y)`` or ``(X, y, weights)`` at
            each call; or a list of batches.
        classes : array-like, optional
            All labels, to catch others; not needed.

        Returns
        -------
        LogisticClassifier
            Itself.

        Raises
        ------
        InputError
            If the source can be read only once, or gives other rows in a later pass.
        """
        self._check_parameters()
        with unchanged_on_error(self):
            names: list[Label] = []
            passes = _Batches(source, partial(self._read_batch, names=names))
            return self._fit(self._survey(passes, names, classes))

    def _fit_passes(self, passes: Passes, names: Sequence[str]) -> Self:
        """Fit to the rows of a table with these columns, wherever they are."""
        self._check_parameters()
        with unchanged_on_error(self):
            self.__dict__.pop("schema_", None)
            self.n_features_in_ = len(names)
            self.feature_names_in_ = np.array(names, dtype=object)
            self._fit(self._survey(passes, names))
        ask_of_marks(self, "pass missing=[{}].")
        return self

    def coefficient_table(
        self, confidence: float = 0.95, *, reference: Label | None = None
    ) -> CoefficientTable:
        """Return standard errors, z-tests and confidence intervals of the coefficients.

        Parameters
        ----------
        confidence : float
            Probability that an interval covers the true coefficient.
        reference : label, optional
            Class that the log odds are against; by default the first of two classes, or the mean
            of more.

        Returns
        -------
        CoefficientTable
            Per class and feature.

        Raises
        ------
        InputError
            If there is a penalty: its estimates are biased, and have no such errors.
        NumericalError
            If the data do not determine the coefficients.
        """
        check_fitted(self)
        owner = f"{OWNER}.coefficient_table"
        level = check.level(confidence, f"confidence of {owner}")
        information = self._checked_information(owner)
        labels = check.labels(self.classes_, f"classes of {owner}")
        base = None if reference is None else check.position(reference, labels, "class", owner)
        coefficients, features = self.coef_, tuple(self.coefficient_names_.tolist())
        if information.scaling.intercept:
            coefficients = np.column_stack([coefficients, self.intercept_])
            features = (*features, "intercept")
        return information.table(coefficients, labels, features, base, level)

    def path(
        self, X: Any, y: Any, strengths: Any = None, *, n: int = 50, sample_weight: Any = None
    ) -> StrengthPath:
        """Fit along a path of strengths, each fit from the last; this one stays as it is.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, D)
            Rows.
        y : array-like of shape (n,)
            Labels.
        strengths : array-like, optional
            Positive strengths. By default ``n`` of them on a logarithmic scale: with L1 from the
            least that makes all coefficients zero down to a thousandth of it, for L2 from one
            that leaves next to nothing of them down to a millionth of it.
        n : int
            How many, if they are not given.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.

        Returns
        -------
        StrengthPath
            Coefficients, intercepts, log-likelihoods and numbers of features, strongest first.

        Raises
        ------
        InputError
            If the penalty is None.
        """
        self._check_parameters()
        owner = f"{OWNER}.path"
        if self.penalty is None:
            raise InputError(f"{owner} needs a penalty: pass penalty='l2', 'l1' or 'elasticnet'.")
        size = check.count(n, f"n of {owner}")
        design = copy.copy(self)._in_memory(X, y, sample_weight)  # noqa: SLF001 - of its own copy
        if strengths is None:
            top = self._strongest(design)
            weakest = _L1_RANGE if self._ratio else _L2_RANGE
            along = top * np.logspace(0.0, np.log10(weakest), size)
        else:
            along = np.sort(check.vector(strengths, f"strengths of {owner}"))[::-1]
            if along[-1] <= 0:
                raise InputError(f"The strengths of {owner} must be positive. Got {along[-1]:g}.")
        found: list[Solution] = []
        for strength in along:
            start = found[-1].place.theta if found else design.start()
            rules = self._rules(design.total)
            found.append(fit(Objective.of(design, float(strength), self._ratio), rules, start))
        return StrengthPath.of(self.penalty, along, found, design)

    def _strongest(self, design: Design) -> float:
        """Return the strongest strength worth a look."""
        scale = design.scaling.scale
        if not self._ratio:
            return _L2_STRONGEST * design.total * float((scale**2).mean())
        place = Objective.of(design, 0.0, 0.0).at(design.start())
        slopes = np.abs(place.gradient[:, : len(scale)]) * scale
        return max(design.total * float(slopes.max()) / self._ratio, np.finfo(np.float64).tiny)

    @property
    def _ratio(self) -> float:
        """Share of the L1 penalty."""
        given = 0.5 if self.l1_ratio is None else float(self.l1_ratio)
        return {"l1": 1.0, "elasticnet": given}.get(str(self.penalty), 0.0)

    def _check_parameters(self) -> None:
        """Refuse parameters that can never become valid."""
        check.one_of(self.penalty, (None, "l2", "l1", "elasticnet"), f"penalty of {OWNER}")
        if self.penalty is None and self.strength is not None:
            raise InputError(
                f"{OWNER} has a strength but no penalty. Pass penalty='l2' or penalty='l1' too."
            )
        if self.l1_ratio is not None:
            share = check.number(self.l1_ratio, f"l1_ratio of {OWNER}")
            if self.penalty != "elasticnet" or not 0 <= share <= 1:
                raise InputError(
                    f"The l1_ratio of {OWNER} must be from 0 to 1, with penalty='elasticnet'. Got "
                    f"{share:g} with penalty={self.penalty!r}."
                )
        strength = 1.0 if self.strength is None else self.strength
        remedy = " For no penalty pass penalty=None."
        for name, given, more in (("strength", strength, remedy), ("tol", self.tol, "")):
            number = check.number(given, f"{name} of {OWNER}")
            if number <= 0:
                raise InputError(f"The {name} of {OWNER} must be positive. Got {number:g}.{more}")
        check.one_of(self.separation, ("warn", "error"), f"separation of {OWNER}")
        check.one_of(self.missing_cells, ("error", "indicator"), f"missing_cells of {OWNER}")
        check.count(self.max_iter, f"max_iter of {OWNER}")
        if not (self.progress is None or callable(self.progress)):
            raise InputError(
                f"The progress of {OWNER} must be a function of an iteration and a "
                f"log-likelihood. Got {self.progress!r}."
            )

    def _rules(self, total: float) -> StopRules:
        """Return when to stop and whom to tell."""
        progress = self.progress or (lambda _iteration, _value: None)
        return StopRules(
            float(self.tol),
            int(self.max_iter),
            lambda iteration, place: progress(iteration, -total * place.loss),
        )

    def _open(self, X: Any, *, reset: bool) -> Any:
        """Return rows as numbers, dense or CSR; or as a table if these are not all there is."""
        if sparse.issparse(X):
            how = {"accept_sparse": "csr", "ensure_all_finite": False, "dtype": "numeric"}
            rows = note_columns(self, X, reset=reset, **how)
            if not rows.has_canonical_format:
                rows = rows.copy()
                rows.sum_duplicates()
            return rows
        table = read_table(X, OWNER)
        note_columns(self, X, reset=reset)
        columns = range(0 if table.matrix is not None else table.n_columns)
        has_words = any(isinstance(table.column(j), Words) for j in columns)
        is_read = reset and self.missing_cells == "indicator"
        if not reset and hasattr(self, "_fitted"):
            is_read = bool(self._fitted.codings) or self._fitted.flagged is not None
        return table if has_words or is_read else read_numbers(X, OWNER)

    def _labelled(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, merge: bool = False
    ) -> LabelledBatch:
        """Check rows, labels and weights; rows of weight zero are left out."""
        if reset:
            self.__dict__.pop("schema_", None)
        rows = self._open(X, reset=reset)
        classes, codes, weights, kept = read_labels(y, sample_weight, n_rows(rows), OWNER)
        if kept is not None:
            X, rows = _kept(X, rows, kept)
        if merge and (found := merge_repeats(rows, codes, weights)) is not None:
            first, weights = found
            (_, rows), codes = _kept(X, rows, first), codes[first]
        return Rows(rows, codes, weights, len(classes)), classes

    def _in_memory(self, X: Any, y: Any, sample_weight: Any) -> Design:
        """Survey rows that are all there; those that repeat count once, with their weight."""
        labelled = self._labelled(X, y, sample_weight, reset=True, merge=True)
        return self._survey(InMemory(labelled), self._names())

    def _read_batch(self, raw: Any, names: list[Label], *, reset: bool) -> LabelledBatch | None:
        """Check one batch of a source; None if it has no rows. The first tells the names."""
        if not isinstance(raw, (tuple, list)) or len(raw) not in (2, 3):
            raise ShapeError(
                f"{OWNER}.fit_batches needs batches (X, y) or (X, y, weights). Got "
                f"{type(raw).__name__}."
            )
        X, y, weights = raw if len(raw) == 3 else (*raw, None)
        if getattr(X, "shape", (1,))[0] == 0:
            return None
        if weights is not None and not np.any(weights):
            if np.shape(weights) != np.shape(y):
                raise ShapeError(
                    f"{OWNER}.fit_batches needs one weight per row, {np.size(y)}. Got shape "
                    f"{np.shape(weights)}."
                )
            return None
        labelled = self._labelled(X, y, weights, reset=reset)
        if reset:
            names[:] = self._names()
        return labelled

    def _survey(self, passes: Passes, names: Sequence[Label], classes: Any = None) -> Design:
        """Go over the rows for their classes and categories, and for means and spreads."""
        reader = Reader(names, flagged=() if self.missing_cells == "indicator" else None)
        rows, survey = passes, _survey(passes, reader)
        if classes is not None:
            _check_classes(survey.classes, classes)
        if len(survey.classes) < 2:
            raise InputError(
                f"{OWNER} needs rows of at least two classes. Got only one class: "
                f"{check.listing(survey.classes.tolist())}."
            )
        if survey.categories:
            found = sorted(survey.categories.items(), key=lambda each: each[0][0])
            codings = tuple(Coding.of(j, *each[:2]) for (j, _), each in found)
            reader = replace(reader, codings=codings).with_flags(
                [j for (j, _), each in found if each[2]]
            )
            rows = _coded(passes, reader)
            survey = _survey(rows, reader)
        if survey.moments is not None and survey.moments.observed is not None:
            reader = reader.with_means(survey.moments)
            rows = _coded(passes, reader)
            survey = _survey(rows, reader)
        return Design.of(rows, reader, survey, intercept=bool(self.fit_intercept))

    def _names(self) -> Labels:
        """Name the columns that are read."""
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        return check.labels(names, f"columns of {OWNER}")

    def _fit(self, design: Design) -> Self:
        """Solve a problem, keep what was found, and say what is wrong with it."""
        rules, direction, start = self._rules(design.total), None, self._last(design)
        if self.penalty is None:
            bare = Objective.of(design, 0.0, 0.0)
            found, direction = maximise_likelihood(bare, rules, start)
        else:
            strength = 1.0 if self.strength is None else float(self.strength)
            found = fit(Objective.of(design, strength, self._ratio), rules, start)
        place, scaling, reader = found.place, design.scaling, design.reader
        coef, intercept = scaling.coefficients(place.theta)
        shares = design.class_weights / design.total
        if not self.fit_intercept:
            shares = np.full(design.n_classes, 1.0 / design.n_classes)
        n_parameters = design.n_coefficients
        if self._ratio:
            n_free = (design.n_classes - 1) * scaling.intercept
            n_parameters = int(np.count_nonzero(coef)) + n_free
        separation = information = None
        if direction is not None:
            separation = Separation.of(direction, design)
        if found.hessian is not None:
            information = Information(found.hessian * design.total, scaling, design.n_classes)
        fitted = LogisticFit(
            coef=coef,
            intercept=intercept,
            codings=reader.codings,
            n_iter=found.n_iter,
            converged=found.converged,
            gradient_norm=place.norm,
            log_likelihood=-design.total * place.mean,
            null_log_likelihood=float(design.class_weights @ np.log(shares)),
            n_parameters=n_parameters,
            separation=separation,
            information=information,
            penalised=self.penalty is not None,
            doubt=self._judge(found, separation, reader.coefficient_names),
            flagged=reader.flagged,
            means=design.means if reader.codings or reader.flagged is not None else None,
        )
        return self._set(fitted, reader.classes)

    def _last(self, design: Design) -> F64 | None:
        """Return where the last fit ended, if this one is to begin there and it fits."""
        names = list(design.reader.coefficient_names)
        if not self.warm_start or getattr(self, "_fitted", None) is None:
            return None
        is_same = np.array_equal(self.classes_, design.reader.classes)
        if not is_same or self.coefficient_names_.tolist() != names:
            return None
        return design.scaling.theta(self._fitted.coef, self._fitted.intercept)

    def _reader(self) -> Reader:
        """Return what reads rows to predict; what fit has not seen is told once per column."""
        fitted, told = self._fitted, self._told

        def tell(name: Label, what: str) -> None:
            if name not in told:
                check.warn(
                    f"{OWNER}: column {name!r} has {what}, which fit has not seen. Such cells "
                    "count as the average of the column in fit. This is told once per column.",
                    CredoWarning,
                )
                told.add(name)

        names = self._names()
        return Reader(names, fitted.codings, None, fitted.flagged, fitted.means, tell)

    def _set(self, fitted: LogisticFit, classes: Any, _summary: None = None) -> Self:
        """Show what was learned."""
        self._fitted, self.classes_, self._told = fitted, classes, set[Label]()
        reader = self._reader()
        self.coefficient_names_ = np.array(reader.coefficient_names, dtype=object)
        self.categories_ = {reader.names[c.column]: c.categories for c in fitted.codings}
        for name in _SHOWN:
            setattr(self, f"{name}_", getattr(fitted, name))
        return self

    def _check_loaded(self) -> None:
        """Refuse parts from a file that do not fit each other."""
        fitted, n_classes, width = self._fitted, len(self.classes_), self.n_features_in_
        columns, information = [each.column for each in fitted.codings], fitted.information
        flagged = fitted.flagged or ()
        width += sum(each.n_seen - 2 for each in fitted.codings) + len(flagged)
        if (
            n_classes < 2
            or len(fitted.coef) != (1 if n_classes == 2 else n_classes)
            or fitted.coef.shape[1] != width
            or (information and len(information.scaling.scale) != width)
            or (information and information.n_classes != n_classes)
            or columns != sorted(set(columns))
            or list(flagged) != sorted(set(flagged) & set(range(self.n_features_in_)))
            or (flagged and fitted.means is None)
            or any(each.column >= self.n_features_in_ for each in fitted.codings)
            or any(not 0 < each.n_seen <= len(each.categories) for each in fitted.codings)
        ):
            raise InputError("The coefficients do not fit the classes and columns.")

    def _judge(self, found: Solution, separation: Separation | None, names: Labels) -> str | None:
        """Warn of what is wrong; return the reason why there can be no standard errors."""
        if separation is not None:
            text = (
                f"{OWNER}: {separation}. Pass penalty='l2', bring more rows, or drop the feature."
            )
            if self.separation == "error":
                raise InputError(text)
            meanwhile = f"the coefficients are those of a ridge of {FALL_BACK:g} on columns at one"
            check.warn(f"{text} Meanwhile {meanwhile} scale.", SeparationWarning)
            return f"The fit met {separation}"
        reason = None
        if found.null is not None and found.null.size:
            part = np.abs(found.null[: len(names)]).max(axis=1) > _NO_PART
            columns = check.listing([names[j] for j in np.flatnonzero(part)])
            fact = f"columns that are constant or linear functions of each other: {columns}"
            check.warn(
                f"{OWNER}: {fact}. The likelihood does not determine their coefficients; the least "
                "that reach its maximum were taken, at the scale of each column. Drop some of "
                "them, or pass penalty='l2'.",
                SingularWarning,
            )
            reason = f"There are {fact}. Their coefficients are not determined"
        if not found.converged:
            check.warn(self._unconverged(found), ConvergenceWarning)
            reason = reason or "The fit has not converged"
        return reason

    def _unconverged(self, found: Solution) -> str:
        """Say which criterion was not met, by which number, and why the search ended."""
        loss, limit = found.place.loss, f"tol={self.tol:g}"
        if loss < 1:
            limit = f"{self.tol * loss:.2g}, {limit} of the mean loss {loss:.2g}"
        why, remedy = ", as no step lowers the loss any further in float64,", "Raise tol"
        if found.n_iter >= self.max_iter:
            why, remedy = "", "Raise max_iter or tol"
        other = "" if self.penalty else ", or pass penalty='l2'"
        return (
            f"{OWNER}: stopped after {found.n_iter} iterations{why} with a gradient of "
            f"{found.place.norm:.2g}, above {limit}. {remedy}{other}."
        )

    def _checked_information(self, owner: str) -> Information:
        """Return the Hessian, or say why there is none to be had."""
        fitted = self._fitted
        if fitted.information is None and fitted.penalised:
            raise InputError(
                f"{owner} is for penalty=None: a penalty biases the estimates on purpose, and "
                "their standard errors would say nothing of that."
            )
        if fitted.doubt is not None:
            raise NumericalError(f"{owner}: {fitted.doubt}, so there are no errors.")
        if fitted.information is None:
            raise NumericalError(
                f"{owner}: with {self.n_parameters_} coefficients no Hessian was formed. Choose "
                "fewer features."
            )
        return fitted.information

    def _scores(self, rows: Any, *, densities: bool = False) -> Blocks:  # noqa: ARG002 - none here
        """Yield blocks of scores (K, B); zero for the first of two classes."""
        reader = self._reader()
        x = reader.rows(rows) if isinstance(rows, Table) else rows
        start, batch = 0, RowBatch(x, np.empty(n_rows(rows), dtype=np.intp), None)
        for block in batch.cut(len(self.classes_)):
            with np.errstate(over="ignore", invalid="ignore"):
                scores = block.scores((self.coef_, self.intercept_))
            if not np.isfinite(scores).all():
                reader.refuse(x)
            if len(scores) == 1:
                scores = np.vstack([np.zeros_like(scores), scores])
            yield slice(start, start + len(block)), scores
            start += len(block)

    def _rows(self, X: Any) -> Any:
        """Check rows to predict."""
        check_fitted(self)
        return self._open(X, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing_cells == "indicator"
        return tags


class _Batches:
    """Batches of a source that is read again for every pass, and caught if it changes."""

    in_memory = False

    def __init__(self, source: Any, read: Callable[..., LabelledBatch | None]) -> None:
        self._source, self._read = source, read
        #: Rows, weight and sum of the numbers of the first pass; and the sum of their sizes.
        self._known: F64 | None = None
        self._size = 0.0
        is_once = not hasattr(source, "__iter__") or iter(source) is source
        if not callable(source) and is_once:
            raise InputError(
                f"{OWNER}.fit_batches reads its batches in each of its passes. Got "
                f"{type(source).__name__}, which can be read only once. Pass a function that "
                "returns a new iterator, or a list."
            )

    def reduce(
        self, function: Callable[[LabelledBatch], T], merge: Callable[[T, T], T]
    ) -> T | None:
        """Pass over the batches."""
        tally, is_first, found = np.zeros(3), self._known is None, None
        for raw in self._source() if callable(self._source) else self._source:
            labelled = self._read(raw, reset=is_first)
            if labelled is not None:
                is_first = False
                numbers, weights = _numbers_of(labelled[0].X), labelled[0].weights
                count = len(labelled[0].codes)
                weight = count if weights is None else float(weights.sum())
                tally += count, weight, sum(map(_total, numbers))
                if self._known is None:
                    self._size += sum(_total(np.abs(part)) for part in numbers)
                new = function(labelled)
                found = new if found is None else merge(found, new)
            del raw, labelled
        if self._known is None:
            self._known = tally
        slack = _SAME * np.array([*self._known[:2], self._size])
        if not (np.abs(tally - self._known) <= slack).all():
            rows, now = int(self._known[0]), int(tally[0])
            raise InputError(
                f"{OWNER}.fit_batches: the first pass over the batches gave {rows} rows, a later "
                f"one {now}{' with other values' if rows == now else ''}. Every pass must give the "
                "same rows: pass a function that starts afresh."
            )
        return found


def _numbers_of(x: Any) -> list[Any]:
    """Return the numbers of rows, as arrays whose sums tell them from others."""
    if isinstance(x, Table):
        columns = (x.column(j) for j in range(x.n_columns))
        return [each.values for each in columns if isinstance(each, Numbers)]
    return [x.data if sparse.issparse(x) else x]


def _total(part: Any) -> float:
    """Return the sum of numbers, but for those that are missing."""
    total = float(part.sum(dtype=np.float64))
    return float(np.nansum(part, dtype=np.float64)) if np.isnan(total) else total


def _kept(X: Any, rows: Any, kept: Bool) -> tuple[Any, Any]:
    """Return some of the rows, as they were given and as they were read."""
    if not isinstance(rows, Table):
        return X, rows[kept]
    some = with_weight(X, kept, OWNER)
    return some, read_table(some, OWNER)


def _survey(passes: Passes, reader: Reader) -> FirstPass:
    """Survey all rows, of which there must be some."""
    survey = passes.reduce(partial(FirstPass.of, reader=reader), FirstPass.merge)
    if survey is None:
        raise InputError(f"{OWNER} got no rows: there was no batch with any.")
    return survey


def _coded(passes: Passes, reader: Reader) -> Passes:
    """Turn rows in memory into numbers once, if these take little memory."""
    if not isinstance(passes, InMemory):
        return passes
    rows, classes = passes.rows
    view = reader.rows(rows.X)
    if 8 * view.shape[0] * view.shape[1] > _CODED_BYTES:
        return passes
    return InMemory((replace(rows, X=view[:]), classes))


def _check_classes(found: Any, classes: Any) -> None:
    """Check that all labels found were announced, and all that were announced came."""
    owner = f"{OWNER}.fit_batches"
    known = check.labels(np.asarray(classes), f"classes of {owner}")
    check.positions(found, known, "class", owner)
    came = set(found.tolist())
    absent = [label for label in known if label not in came]
    if absent:
        raise InputError(
            f"{owner}: no row has the class {absent[0]!r}. Without a penalty or rows nothing can "
            "be said of it. Leave it out of classes."
        )
