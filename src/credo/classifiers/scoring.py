"""Mean loss as a scikit-learn scorer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.metrics import make_scorer

from credo.decisions.act import decide
from credo.decisions.empirical import expected_loss
from credo.decisions.loss import Loss
from credo.decisions.loss_matching import one_matrix
from credo.exceptions import LabelError


def expected_loss_scorer(loss: Loss, *, from_probabilities: bool = False) -> Any:
    r"""Make a scorer from a loss, for ``cross_val_score`` and ``GridSearchCV``.

    The score is :math:`-\frac1n \sum_i L[y_i, a_i]`: higher is better.

    Parameters
    ----------
    loss
        Losses by truth and act, one matrix for all rows.
    from_probabilities
        False: the acts are what the estimator's ``predict`` returns, so that an estimator is
        judged by what it does. True: the acts are the best ones under ``loss`` for the
        estimator's ``predict_proba``.

    Returns
    -------
    callable
        A scorer ``scorer(estimator, X, y, sample_weight=None)``. With ``from_probabilities=False``
        it is one of scikit-learn's own, so it also works where those are asked for, such as in
        ``TunedThresholdClassifierCV``.

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
    one_matrix(loss, "expected_loss_scorer")
    if from_probabilities:
        return _ProbabilityScorer(loss)
    return make_scorer(_of_predicted_acts, loss=loss)


@dataclass(frozen=True, slots=True, eq=False)
class _ProbabilityScorer:
    """Scores an estimator by the best acts under a loss for its probabilities."""

    loss: Loss

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give minus the mean loss of the acts."""
        acts = decide(estimator.predict_proba(X), self.loss, labels=estimator.classes_)
        return _minus_mean_loss(y, acts, self.loss, sample_weight)


def _of_predicted_acts(y: Any, acts: Any, loss: Loss, sample_weight: Any = None) -> float:
    """Score what predict returned; say what to do if these are not the loss's acts."""
    try:
        return _minus_mean_loss(y, acts, loss, sample_weight)
    except LabelError as error:
        raise LabelError(
            f"{error} expected_loss_scorer takes what predict returns as acts: wrap the "
            "classifier in credo.DecisionClassifier, or pass from_probabilities=True."
        ) from error


def _minus_mean_loss(y: Any, acts: Any, loss: Loss, sample_weight: Any) -> float:
    """Give minus the mean loss of acts."""
    return -expected_loss(y, acts, loss, sample_weight=sample_weight, n_bootstrap=0).value
