"""``DecisionClassifier``: any probabilistic classifier, acting under a loss; and its scorer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.metrics import make_scorer
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if

from credo import _checks as check
from credo._results import Storable
from credo._types import F64
from credo.classifiers._base import check_fitted, own_errors
from credo.decisions import Decisions, Loss, decide, expected_loss
from credo.decisions.loss import as_loss
from credo.exceptions import InputError, LabelError, ShapeError
from credo.posterior import Posterior


def _estimator_has(name: str) -> Callable[[Any], bool]:
    """Offer a method only if the wrapped classifier has it."""
    return lambda self: hasattr(getattr(self, "estimator_", self.estimator), name)


class DecisionClassifier(Storable, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    r"""Act under a loss with the probabilities of any classifier.

    ``predict`` returns :math:`\arg\min_a \sum_k L_{ka}\, p(k \mid x)`, where the posterior comes
    from the wrapped classifier's ``predict_proba``.

    Parameters
    ----------
    estimator
        A scikit-learn classifier with ``predict_proba``; it is cloned, then fitted.
    loss : Loss, callable, or None
        Losses by true class and act; the true classes are those of ``fit``, in any order. A
        callable gets ``X`` and returns a Loss, or an array of shape (n, K, A), for losses that
        depend on the row. None is zero-one loss: the most probable class.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier.
    classes_ : ndarray of shape (K,)
        Labels seen in ``fit``, which are the true classes.
    n_features_in_, feature_names_in_
        As seen by the wrapped classifier, if it tells.

    See Also
    --------
    credo.decide : The same on probabilities.
    credo.expected_loss_scorer : Score it in cross-validation.

    Notes
    -----
    The acts are optimal under the classifier's own posterior. Costs belong here, not in
    ``class_weight`` or resampling: those distort the posterior, and then count twice.

    References
    ----------
    .. [1] C. Elkan, "The foundations of cost-sensitive learning", IJCAI 2001, section 2.

    Examples
    --------
    >>> import credo
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> loss = credo.Loss.from_dict({(0, "treat"): 0, (0, "discharge"): 50,
    ...                              (1, "treat"): 1, (1, "discharge"): 0})
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> policy = credo.DecisionClassifier(model, loss.with_reject(0.3)).fit(X, y)
    >>> policy.predict(X[:3])
    array(['treat', 'treat', 'treat'], dtype='<U9')
    """

    def __init__(self, estimator: Any, loss: Loss | Callable[[Any], Any] | None = None) -> None:
        self.estimator = estimator
        self.loss = loss

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit a clone of the classifier; a failed fit leaves this one as it was.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Whatever the classifier takes: arrays, sparse matrices, pandas, polars.
        y : array-like of shape (n,)
            True labels.
        **fit_params
            Passed to the classifier's ``fit``, such as ``sample_weight``.

        Returns
        -------
        DecisionClassifier
            Itself.
        """
        if not hasattr(self.estimator, "predict_proba"):
            raise InputError(
                "DecisionClassifier needs an estimator with predict_proba. Got "
                f"{type(self.estimator).__name__}. Wrap it in sklearn's CalibratedClassifierCV."
            )
        if self.loss is not None and not isinstance(self.loss, Loss) and not callable(self.loss):
            raise InputError(
                "DecisionClassifier needs a Loss, a callable or None. Got "
                f"{type(self.loss).__name__}. Make one with credo.Loss(matrix, truths, acts)."
            )
        if get_config()["enable_metadata_routing"]:
            fit_params = process_routing(self, "fit", **fit_params).estimator.fit
        with own_errors("DecisionClassifier", "Pass y as one column, a label for each row."):
            labels = y if y is None else column_or_1d(y, warn=True)
        return self._adopt(clone(self.estimator).fit(X, labels, **fit_params))

    def _adopt(self, fitted: Any) -> Self:
        """Decide by a fitted classifier from now on."""
        if isinstance(self.loss, Loss):
            classes = check.labels(fitted.classes_, "classes of DecisionClassifier")
            self.loss.rows_for(classes, "DecisionClassifier")
        self.estimator_ = fitted
        self.classes_ = fitted.classes_
        for name in ("n_features_in_", "feature_names_in_", "schema_"):
            self.__dict__.pop(name, None)
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        return self

    def decide(self, X: Any, loss: Any = None) -> Decisions:
        """Return acts with their expected loss, margin and the expected losses of all.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to act on.
        loss : Loss, callable or array-like of shape (n, K, A), optional
            Used in place of the classifier's own loss. An array has its true classes in the order
            of ``classes_`` and its acts in that of the classifier's own loss.

        Returns
        -------
        Decisions
            One per row.
        """
        return decide(self.predict_proba(X), self._loss_for(X, loss), labels=self.classes_)

    def predict(self, X: Any, loss: Any = None) -> Any:
        """Return the act for each row, under the classifier's loss or the one given.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to act on.
        loss : Loss, callable or array-like of shape (n, K, A), optional
            Used in place of the classifier's own loss, as in ``decide``.

        Returns
        -------
        ndarray of shape (n,)
            Names of acts; class labels if the loss is zero-one.
        """
        chosen = self.decide(X, loss)
        own_labels = self.loss is None and loss is None
        return self.classes_[chosen.act_index] if own_labels else chosen.acts

    def expected_losses(self, X: Any, loss: Any = None) -> F64:
        """Return the expected loss of every act, shape (n, A).

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to act on.
        loss : Loss, callable or array-like of shape (n, K, A), optional
            Used in place of the classifier's own loss, as in ``decide``.

        Returns
        -------
        ndarray of shape (n, A)
            In the order of the loss's acts.
        """
        return self.decide(X, loss).expected_losses

    def posterior(self, X: Any) -> Posterior:
        """Return the classifier's posterior over ``classes_``, one row per row of ``X``."""
        return Posterior.from_probabilities(self.predict_proba(X), self.classes_)

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the classifier's probabilities, columns in the order of ``classes_``."""
        check_fitted(self)
        if len(self.classes_) == 1:  # some classifiers fail or give two columns here
            return np.ones((len(self.estimator_.predict(X)), 1))
        return self.estimator_.predict_proba(X)

    @available_if(_estimator_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Return the classifier's log-probabilities."""
        check_fitted(self)
        if len(self.classes_) == 1:
            return np.log(self.predict_proba(X))
        return self.estimator_.predict_log_proba(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return minus the mean loss of the acts; the accuracy if the loss is None.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to act on.
        y : array-like of shape (n,)
            True labels.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.

        Returns
        -------
        float
            Higher is better, as everywhere in scikit-learn.
        """
        if self.loss is None:
            with own_errors("DecisionClassifier.score", "Pass one true label per row."):
                return float(super().score(X, y, sample_weight))
        chosen = self.decide(X)
        return _score_acts(y, chosen, chosen.loss, sample_weight)

    def _loss_for(self, X: Any, loss: Any) -> Loss:
        """Turn whatever was given, or the classifier's own loss, into a Loss."""
        given = self.loss if loss is None else loss
        chosen = given(X) if callable(given) else given
        if isinstance(chosen, Loss):
            return chosen
        base = self.loss if isinstance(self.loss, Loss) else Loss.zero_one(self.classes_)
        if chosen is None:
            return base
        array = check.floats(chosen, "losses of DecisionClassifier")
        if array.ndim != 3:
            raise ShapeError(
                f"DecisionClassifier needs a Loss, or losses of shape (n, {len(self.classes_)}, "
                f"{len(base.acts)}): rows, classes, acts. Got shape {array.shape}."
            )
        return Loss(array, self.classes_, base.acts, reject=base.reject)

    def get_metadata_routing(self) -> MetadataRouter:
        """Tell scikit-learn which metadata goes to the wrapped classifier.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
            What ``fit`` gets, the wrapped classifier's ``fit`` may ask for.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags.multi_class = getattr(inner.classifier_tags, "multi_class", True)
        return tags


def expected_loss_scorer(loss: Loss, *, from_probabilities: bool = False) -> Any:
    r"""Make a scorer from a loss, for ``cross_val_score`` and ``GridSearchCV``.

    The score is :math:`-\frac1n \sum_i L[y_i, a_i]`: higher is better.

    Parameters
    ----------
    loss
        Losses by true class and act, one matrix for all rows.
    from_probabilities
        False: the acts are what the estimator's ``predict`` returns, so that an estimator is
        judged by what it does; where that are classes, and the acts are named unlike these, as
        with True. True: the acts are the best ones under ``loss`` for the estimator's
        ``predict_proba``.

    Returns
    -------
    callable
        A scorer ``scorer(estimator, X, y, sample_weight=None)``. With ``from_probabilities=False``
        and an act for each class it is one of scikit-learn's own, so it also works where those are
        asked for, such as in ``TunedThresholdClassifierCV``.

    See Also
    --------
    credo.DecisionClassifier : A classifier whose ``predict`` returns acts.
    credo.decisions.expected_loss : The same with an interval.

    Examples
    --------
    >>> import credo
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> loss = credo.Loss.zero_one([0, 1, 2]).with_reject(0.2)
    >>> policy = credo.DecisionClassifier(GaussianNB(), loss)
    >>> scores = cross_val_score(policy, X, y, scoring=credo.expected_loss_scorer(loss))
    >>> print(round(scores.mean(), 4))
    -0.0347
    """
    as_loss(loss, "expected_loss_scorer", per_row=False)
    if from_probabilities:
        return partial(_score_probabilities, loss)
    if set(loss.truths) <= set(loss.acts):
        return make_scorer(_score_predictions, loss=loss)
    return partial(_score_either, loss)


def _score_acts(y: Any, acts: Any, loss: Loss, sample_weight: Any) -> float:
    """Return minus the mean loss of acts."""
    return -expected_loss(y, acts, loss, sample_weight=sample_weight, n_bootstrap=0).value


def _score_probabilities(
    loss: Loss, estimator: Any, X: Any, y: Any, sample_weight: Any = None
) -> float:
    """Score an estimator by the best acts under a loss for its probabilities."""
    acts = decide(estimator.predict_proba(X), loss, labels=estimator.classes_)
    return _score_acts(y, acts, loss, sample_weight)


def _score_either(loss: Loss, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Score what predict returns if these are acts, else the best acts for the probabilities."""
    try:
        return _score_predictions(y, estimator.predict(X), loss, sample_weight)
    except LabelError:
        if not hasattr(estimator, "predict_proba"):
            raise
        return _score_probabilities(loss, estimator, X, y, sample_weight)


def _score_predictions(y: Any, acts: Any, loss: Loss, sample_weight: Any = None) -> float:
    """Score what predict returned; say what to do if these are not the loss's acts."""
    try:
        return _score_acts(y, acts, loss, sample_weight)
    except LabelError as error:
        raise LabelError(
            f"{error} expected_loss_scorer takes what predict returns as acts: wrap the "
            "classifier in credo.DecisionClassifier, or pass from_probabilities=True."
        ) from error
