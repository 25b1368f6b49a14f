"""``LogisticClassifier``: logistic and softmax regression that says what it cannot know."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from credo._types import Label
from credo._validation.arrays import in_unit_interval, positive_int
from credo._validation.labels import as_labels, position
from credo.classifiers._base import unchanged_on_error
from credo.classifiers._logistic_state import (
    OWNER,
    LogisticFit,
    LogisticState,
    Options,
    Progress,
)
from credo.classifiers.softmax.fit import solve
from credo.classifiers.softmax.inference import CoefficientTable, Comparison, Information, table_of
from credo.classifiers.softmax.path import StrengthPath, follow, path_of, strengths_of
from credo.exceptions import InputError, NumericalError


class LogisticClassifier(LogisticState):
    r"""Classify by linear log odds; unpenalised, with standard errors, by default.

    .. math:: p(k \mid x) \propto \exp(w_k^T x + b_k)

    minimises :math:`\sum_i w_i \left(-\log p(y_i \mid x_i)\right)` plus
    :math:`\frac{\lambda}{2} \lVert W \rVert^2` or :math:`\lambda \lVert W \rVert_1`; intercepts
    are never penalised. If no maximum of the likelihood exists because a direction separates
    classes, it says so and names the direction.

    Parameters
    ----------
    penalty : None, "l2" or "l1"
        None for maximum likelihood.
    strength : float, optional
        λ of the penalty, which is ``1 / C`` of scikit-learn; 1 unless given.
    fit_intercept : bool
        Whether there are intercepts.
    separation : {"warn", "error"}
        Whether separation, without a penalty, is told by a ``SeparationWarning`` or refused.
    tol : float
        It has converged if no entry of the gradient of the mean penalised loss is larger, for
        columns at one scale; nor larger than this share of that loss, if it is below one.
    max_iter : int
        Most iterations.
    progress : callable, optional
        Called at each iteration with its number and the log-likelihood, less the penalty.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels, sorted.
    coef_ : ndarray of shape (1, D) or (K, D)
        Coefficients of the log odds of the second of two classes; or of each of more classes,
        which sum to zero over the classes unless ``penalty="l1"``.
    intercept_ : ndarray of shape (1,) or (K,)
        Intercepts.
    converged_ : bool
        Whether the gradient met ``tol``; False if classes are separated.
    n_iter_ : int
        Iterations over all rows.
    gradient_norm_ : float
        Largest entry of that gradient, or of the least subgradient with ``penalty="l1"``.
    log_likelihood_ : float
        :math:`\sum_i w_i \log p(y_i \mid x_i)` of the rows it was fitted on.
    null_log_likelihood_ : float
        The same of the class frequencies alone, or of equal ones if there are no intercepts.
    n_parameters_ : int
        Free numbers in the model; with ``penalty="l1"``, those that are not zero.
    separation_ : Separation or None
        Which direction separates which classes, if one does and there is no penalty.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    credo.GaussianClassifier : Generative; takes missing values.
    credo.decide : Act on ``posterior(X)`` under a loss.

    Notes
    -----
    Exact to ``tol``. Columns are scaled inside, so units do not matter without a penalty; with
    one, they do, as λ is on the coefficients of the columns as given. Up to 1000 coefficients a
    Newton method with Cholesky factors is used, O(N D² K²) per Hessian, of which two or
    three are needed; it starts from a sample of the rows. Beyond, Newton steps by conjugate
    gradients, O(nnz K) per product. Sparse rows stay sparse; of float32 rows only blocks are
    copied. Rows of weight zero count as absent. Columns that are linear functions of others get
    the least coefficients, with a ``SingularWarning``. NaN is refused.

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

    kind = "coded"  # type: ignore[assignment]  # until it codes its own columns
    Fitted = LogisticFit

    def __init__(  # noqa: PLR0913 - one per option, all but the first by name
        self,
        penalty: Literal["l2", "l1"] | None = None,
        *,
        strength: float | None = None,
        fit_intercept: bool = True,
        separation: Literal["warn", "error"] = "warn",
        tol: float = 1e-8,
        max_iter: int = 1000,
        progress: Progress | None = None,
    ) -> None:
        self.penalty = penalty
        self.strength = strength
        self.fit_intercept = fit_intercept
        self.separation = separation
        self.tol = tol
        self.max_iter = max_iter
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows; a failed fit leaves the classifier as it was.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, D)
            Rows, without missing values.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), optional
            Weight of each row: 2 counts as the row twice, 0 as no row.

        Returns
        -------
        LogisticClassifier
            Itself.
        """
        options = Options.checked(self)
        with unchanged_on_error(self):
            problem = self._in_memory(X, y, sample_weight, options)
            rules = options.rules_for(problem.design.total)
            found = solve(problem, options.penalty, options.strength, rules)
            return self._keep(problem, found, options)

    def fit_batches(self, source: Any, classes: Any = None) -> Self:
        """Fit to batches that are read again for each pass; the answer is that of ``fit``.

        Gradients and Hessians are sums over batches, so only one batch, and a sample to start
        from, are in memory.

        Parameters
        ----------
        source : callable or list
            A function that gives a new iterator of batches ``(X, y)`` or ``(X, y, weights)`` at
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
        return self._fit_named(source, classes, None)

    def _fit_named(self, source: Any, classes: Any, names: Sequence[str] | None) -> Self:
        """Fit to batches of arrays, whose columns may be given names."""
        options = Options.checked(self)
        with unchanged_on_error(self):
            problem = self._streamed(source, classes, options)
            rules = options.rules_for(problem.design.total)
            found = solve(problem, options.penalty, options.strength, rules)
            if names is not None:
                self.feature_names_in_ = np.array(names, dtype=object)
            return self._keep(problem, found, options)

    def coefficient_table(
        self, confidence: float = 0.95, *, reference: Label | None = None
    ) -> CoefficientTable:
        """Give standard errors, z-tests and confidence intervals of the coefficients.

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
        check_is_fitted(self)
        owner = f"{OWNER}.coefficient_table"
        level = in_unit_interval(confidence, owner, "confidence", open_ends=True)
        information = self._checked_information(owner)
        labels = as_labels(self.classes_, owner, "classes")
        base = None if reference is None else position(reference, labels, owner, "class")
        comparison = Comparison.of(labels, base)
        coefficients, features = self.coef_, self._features()
        if information.scaling.intercept:
            coefficients = np.column_stack([coefficients, self.intercept_])
            features = (*features, "intercept")
        return table_of(comparison, coefficients, features, information, level)

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
            Positive strengths. By default ``n`` of them on a logarithmic scale: for L1 from the
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
        options = Options.checked(self)
        owner = f"{OWNER}.path"
        if options.penalty is None:
            raise InputError(f"{owner} needs a penalty. Pass penalty='l2' or penalty='l1'.")
        other = copy.copy(self)
        problem = other._in_memory(X, y, sample_weight, options)  # noqa: SLF001 - its own copy
        size = positive_int(n, owner, "n")
        along = strengths_of(problem, options.penalty, strengths, size, owner)
        rules = options.rules_for(problem.design.total)
        found = follow(problem, options.penalty, along, rules)
        names = (as_labels(other.classes_, owner, "classes"), other._features())  # noqa: SLF001
        return path_of(problem, options.penalty, along, found, names)

    def _checked_information(self, owner: str) -> Information:
        """Give the Hessian, or say why there is none to be had."""
        if self._information is None and self._penalised:
            raise InputError(
                f"{owner} is for penalty=None: a penalty biases the estimates on purpose, and "
                "their standard errors would say nothing of that."
            )
        if self._problem_of_table is not None:
            raise NumericalError(f"{owner}: {self._problem_of_table}, so there are no errors.")
        if self._information is None:
            raise NumericalError(
                f"{owner}: with {self.n_parameters_} coefficients no Hessian was formed. Choose "
                "fewer features."
            )
        return self._information
