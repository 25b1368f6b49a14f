"""``compare_generative_discriminative``: the same rows, learned in two ways."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_X_y

from credo._types import F64, Int, RandomState
from credo._validation.arrays import generator, in_unit_interval, positive_int
from credo.classifiers._labels import encode_labels
from credo.classifiers.gaussian import GaussianClassifier
from credo.classifiers.learning_curves import LearningCurves
from credo.classifiers.logistic import LogisticClassifier
from credo.exceptions import InputError, SeparationWarning, SingularWarning

_OWNER = "compare_generative_discriminative"

#: Sizes of training sets unless they are given, in equal steps of their logarithm.
_N_SIZES = 8


def compare_generative_discriminative(  # noqa: PLR0913 - all but the rows by name
    X: Any,
    y: Any,
    *,
    sizes: Sequence[int] | None = None,
    n_repeats: int = 20,
    test_share: float = 0.3,
    models: tuple[Any, Any] | None = None,
    random_state: RandomState = None,
    progress: Callable[[int, int], None] | None = None,
) -> LearningCurves:
    r"""Draw learning curves of linear discriminant analysis and logistic regression.

    Both have the posterior :math:`\operatorname{softmax}(w_k \cdot x + w_{k0})`. The first learns
    p(x, k) and needs fewer rows if its Gaussians are right; the second learns p(k | x) alone. If
    they are right, both tend to the same boundary.

    Parameters
    ----------
    X : array-like of shape (n, D)
        Rows, without missing values.
    y : array-like of shape (n,)
        Labels.
    sizes : sequence of int, optional
        Numbers of training rows; eight from the least possible to all, by default.
    n_repeats : int
        Random splits into training and test rows.
    test_share : float
        Share of the rows that are tested on.
    models : tuple of two classifiers, optional
        Others than ``GaussianClassifier("tied")`` and ``LogisticClassifier()``, unfitted.
    random_state : int, Generator or None
        Seed.
    progress : callable, optional
        Called with the number of repeats done and the number of all.

    Returns
    -------
    LearningCurves
        Log losses, error rates, where rows were separable, and how well the boundaries agree; its
        repr is a table, and ``plot`` draws it.

    Raises
    ------
    InputError
        If a size leaves a class with fewer than two rows, or there are too few rows.

    See Also
    --------
    credo.GaussianClassifier : The generative one.
    credo.LogisticClassifier : The discriminative one; it says when rows are separable.

    Notes
    -----
    Fits 2 S R models. Splits keep the class shares; a separable training set is a result here,
    not a warning.

    References
    ----------
    .. [1] A. Y. Ng and M. I. Jordan, "On discriminative vs. generative classifiers", NIPS 2001.

    Examples
    --------
    >>> import credo, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 2000)
    >>> X = rng.normal(size=(4000, 2)) + 1.5 * y[:, None]
    >>> curves = credo.compare_generative_discriminative(
    ...     X, y, sizes=[40, 200, 2800], n_repeats=10, random_state=0
    ... )
    >>> bool(curves.agreement[-1].min() > 0.999)  # the same boundary in the limit
    True
    >>> generative, discriminative = curves.mean_log_losses
    >>> bool(generative[0] < discriminative[0])  # the Gaussians are right
    True
    """
    rows, labels = check_X_y(X, y)
    classes, codes = encode_labels(labels, None)
    repeats = positive_int(n_repeats, _OWNER, "n_repeats")
    share = in_unit_interval(test_share, _OWNER, "test_share", open_ends=True)
    contestants = _checked_models(models)
    rng = generator(random_state, _OWNER)
    n_test = max(len(classes), round(share * len(codes)))
    steps = _checked_sizes(sizes, codes, n_test, len(classes))
    losses, errors = (np.empty((2, len(steps), repeats)) for _ in range(2))
    separated, agreement = np.zeros((len(steps), repeats), bool), np.ones((len(steps), repeats))
    scales = rows.std(axis=0)
    for r in range(repeats):
        order = _interleaved(codes, rng)
        test, pool = order[:n_test], order[n_test:]
        for s, size in enumerate(steps):
            mine = [_fitted(model, rows, labels, pool[:size]) for model in contestants]
            for m, model in enumerate(mine):
                losses[m, s, r], errors[m, s, r] = _losses(model, rows[test], codes[test])
            separated[s, r] = getattr(mine[1], "separation_", None) is not None
            agreement[s, r] = _cosine(mine[0], mine[1], scales)
        if progress is not None:
            progress(r + 1, repeats)
    names = (type(contestants[0]).__name__, type(contestants[1]).__name__)
    if names[0] == names[1]:
        names = (repr(contestants[0]), repr(contestants[1]))
    return LearningCurves(names, np.array(steps), losses, errors, separated, agreement)


def _checked_models(models: Any) -> tuple[Any, Any]:
    """Check two classifiers with probabilities, or give the standard ones."""
    if models is None:
        return GaussianClassifier("tied"), LogisticClassifier()
    pair = tuple(models) if isinstance(models, (tuple, list)) else ()
    ready = [not isinstance(m, type) and hasattr(m, "predict_log_proba") for m in pair]
    if ready != [True, True]:
        shown = [m.__name__ if isinstance(m, type) else type(m).__name__ for m in pair]
        raise InputError(
            f"The models of {_OWNER} must be two classifiers with predict_log_proba, not classes. "
            f"Got {shown or models!r}."
        )
    return pair[0], pair[1]


def _checked_sizes(sizes: Any, codes: Int, n_test: int, n_classes: int) -> list[int]:
    """Check the sizes of training sets, or choose them."""
    counts = np.bincount(codes, minlength=n_classes)
    least, most = _least_size(counts, n_test), len(codes) - n_test
    if n_classes < 2 or least > most:
        raise InputError(
            f"{_OWNER} needs two classes or more, and two training rows of each beside the test "
            f"rows. Got {counts.tolist()} rows of {n_classes} classes."
        )
    if sizes is None:
        return sorted({round(float(size)) for size in np.geomspace(least, most, _N_SIZES)})
    if not np.iterable(sizes):
        raise InputError(f"The sizes of {_OWNER} must be a list of whole numbers. Got {sizes!r}.")
    steps = sorted({positive_int(size, _OWNER, "sizes") for size in sizes})
    if not steps or steps[0] < least or steps[-1] > most:
        raise InputError(
            f"The sizes of {_OWNER} must be between {least}, so that each class has two rows, and "
            f"{most}, the rows that are not tested on. Got {steps}."
        )
    return steps


def _least_size(counts: Int, n_test: int) -> int:
    """Give how many training rows, after the test rows, hold two of each class for sure."""
    places = [(np.arange(n) + 0.5) / n for n in counts]
    everything = np.sort(np.concatenate(places))
    tested = everything[n_test - 1]
    needed = 0.0
    for mine in places:
        left = mine[mine > tested]
        needed = max(needed, float(left[1]) if len(left) > 1 else np.inf)
    if needed == np.inf:
        return len(everything) + 1
    return int(np.searchsorted(everything, needed, side="right")) - n_test


def _interleaved(codes: Int, rng: np.random.Generator) -> Int:
    """Shuffle rows so that every stretch has the class shares of all, as nearly as can be."""
    order = rng.permutation(len(codes))
    shuffled = codes[order]
    place = np.empty(len(codes))
    for k in range(int(codes.max()) + 1):
        mine = np.flatnonzero(shuffled == k)
        place[mine] = (np.arange(len(mine)) + 0.5) / max(1, len(mine))
    return order[np.argsort(place, kind="stable")]


def _fitted(model: Any, rows: Any, labels: Any, which: Int) -> Any:
    """Fit a copy; what would be a warning is part of the result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        warnings.simplefilter("ignore", SingularWarning)
        return clone(model).fit(rows[which], labels[which])


def _losses(model: Any, rows: Any, codes: Int) -> tuple[float, float]:
    """Give log loss and error rate of test rows."""
    logs = model.predict_log_proba(rows)
    picked = logs[np.arange(len(codes)), codes]
    return float(-picked.mean()), float((logs.argmax(axis=1) != codes).mean())


def _cosine(first: Any, second: Any, scales: F64) -> float:
    """Give the cosine between the coefficients of two linear classifiers, NaN if one has none."""
    if not (hasattr(first, "coef_") and hasattr(second, "coef_")):
        return float("nan")
    a, b = (_centred(model.coef_ * scales) for model in (first, second))
    scale = np.linalg.norm(a) * np.linalg.norm(b)
    return float((a * b).sum() / scale) if scale > 0 else 0.0


def _centred(coefficients: F64) -> F64:
    """Take the mean over the classes away, which no posterior depends on."""
    shared = 0.0 if len(coefficients) == 1 else coefficients.mean(axis=0)
    return coefficients - shared
