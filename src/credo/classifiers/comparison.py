"""``compare_generative_discriminative``: the same rows learned in two ways, as learning curves."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.base import clone

from credo import _checks as check
from credo._results import Drawable, html_table
from credo._types import F64, Bool, Int, RandomState
from credo.classifiers._base import read_numbers
from credo.classifiers._labels import read_labels
from credo.classifiers.gaussian import GaussianClassifier
from credo.classifiers.logistic import LogisticClassifier
from credo.exceptions import InputError, SeparationWarning, SingularWarning

_OWNER = "compare_generative_discriminative"

#: Sizes of training sets unless they are given, in equal steps of their logarithm.
_N_SIZES = 8


@final
@dataclass(frozen=True, slots=True, eq=False)
class LearningCurves(Drawable):
    """Hold the losses of two classifiers for growing training sets.

    Attributes
    ----------
    names : tuple of str
        The generative and the discriminative classifier.
    sizes : ndarray of shape (S,)
        Numbers of training rows.
    log_losses : ndarray of shape (2, S, R)
        Mean of -log p(true class) over test rows, for each classifier, size and repeat, in nats.
    error_rates : ndarray of shape (2, S, R)
        Share of test rows with another label than predicted.
    separated : ndarray of shape (S, R)
        True where the training rows were separable: the discriminative classifier then has no
        largest likelihood, and its log loss says little.
    agreement : ndarray of shape (S, R)
        Cosine between the coefficients of the two for features at one scale, 1 if their boundaries
        are parallel; NaN if one of them has no coefficients.

    Notes
    -----
    Training sets of one repeat contain each other, and have the class shares of all rows.

    References
    ----------
    .. [1] A. Y. Ng and M. I. Jordan, "On discriminative vs. generative classifiers", NIPS 2001.

    Examples
    --------
    >>> import credo
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> curves = credo.compare_generative_discriminative(
    ...     X[:, :4], y, sizes=[40, 300], n_repeats=5, random_state=0
    ... )
    >>> curves.mean_log_losses.shape
    (2, 2)
    """

    names: tuple[str, str]
    sizes: Int
    log_losses: F64
    error_rates: F64
    separated: Bool
    agreement: F64

    def __post_init__(self) -> None:
        arrays = self.sizes, self.log_losses, self.error_rates, self.separated, self.agreement
        for array in arrays:
            check.frozen(array)

    @property
    def mean_log_losses(self) -> F64:
        """Mean log loss over the repeats that are not separable, (2, S); NaN if all are.

        For separable rows the likelihood of the discriminative classifier has no maximum: its log
        loss is that of a small ridge, and says more about the ridge than about the rows.
        """
        kept = ~self.separated
        sums = np.where(kept, self.log_losses, 0.0).sum(axis=2)
        counts = kept.sum(axis=1)
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)

    def __repr__(self) -> str:
        first, second = self.names
        repeats = self.log_losses.shape[2]
        lines = [
            f"log loss on test rows, mean of {repeats} repeats without separable ones",
            f"  {'rows':>8}  {first:>20}  {second:>20}  {'separable':>9}  {'cosine':>6}",
        ]
        means, cosines = self.mean_log_losses, self.agreement.mean(axis=1)
        for s, size in enumerate(self.sizes.tolist()):
            share = f"{100 * np.mean(self.separated[s]):.0f} %"
            cells = ["-" if np.isnan(mean) else f"{mean:.4f}" for mean in means[:, s]]
            lines.append(
                f"  {size:>8}  {cells[0]:>20}  {cells[1]:>20}  {share:>9}  {cosines[s]:>6.3f}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = zip(self.sizes.tolist(), *self.mean_log_losses.tolist(), strict=True)
        return html_table("Mean log loss on test rows", ("training rows", *self.names), rows)


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
    rows = check.finite(read_numbers(X, _OWNER), f"rows X of {_OWNER}")
    classes, codes, _, _ = read_labels(y, None, len(rows), _OWNER)
    repeats = check.count(n_repeats, f"n_repeats of {_OWNER}")
    share = check.level(test_share, f"test_share of {_OWNER}")
    contestants = _check_models(models)
    rng = check.generator(random_state, f"random_state of {_OWNER}")
    n_test = max(len(classes), round(share * len(codes)))
    steps = _check_sizes(sizes, codes, n_test, len(classes))
    losses, errors = (np.empty((2, len(steps), repeats)) for _ in range(2))
    separated, agreement = np.zeros((len(steps), repeats), bool), np.ones((len(steps), repeats))
    scales = rows.std(axis=0)
    for r in range(repeats):
        order = _interleave(codes, rng)
        test, pool = order[:n_test], order[n_test:]
        for s, size in enumerate(steps):
            mine = [_fit(model, rows, classes[codes], pool[:size]) for model in contestants]
            for m, model in enumerate(mine):
                losses[m, s, r], errors[m, s, r] = _losses(model, rows[test], codes[test])
            separated[s, r] = getattr(mine[1], "separation_", None) is not None
            agreement[s, r] = _cosine(mine, scales)
        if progress is not None:
            progress(r + 1, repeats)
    names = (type(contestants[0]).__name__, type(contestants[1]).__name__)
    if names[0] == names[1]:
        names = (repr(contestants[0]), repr(contestants[1]))
    return LearningCurves(names, np.array(steps), losses, errors, separated, agreement)


def _check_models(models: Any) -> tuple[Any, Any]:
    """Return two classifiers with probabilities: those given, or the standard ones."""
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


def _check_sizes(sizes: Any, codes: Int, n_test: int, n_classes: int) -> list[int]:
    """Return the sizes of training sets, sorted: those given, or some."""
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
    steps = sorted({check.count(size, f"sizes of {_OWNER}") for size in sizes})
    if not steps or steps[0] < least or steps[-1] > most:
        raise InputError(
            f"The sizes of {_OWNER} must be between {least}, so that each class has two rows, and "
            f"{most}, the rows that are not tested on. Got {steps}."
        )
    return steps


def _least_size(counts: Int, n_test: int) -> int:
    """Return how many training rows, after the test rows, hold two of each class for sure."""
    places = [(np.arange(n) + 0.5) / n for n in counts]
    everything = np.sort(np.concatenate(places))
    seconds = [mine[mine > everything[n_test - 1]][1:2] for mine in places]
    if not all(map(len, seconds)):
        return len(everything) + 1
    return int(np.searchsorted(everything, np.max(seconds), side="right")) - n_test


def _interleave(codes: Int, rng: np.random.Generator) -> Int:
    """Shuffle rows so that every stretch has the class shares of all, as nearly as can be."""
    order = rng.permutation(len(codes))
    place = np.empty(len(codes))
    for k in range(int(codes.max()) + 1):
        mine = np.flatnonzero(codes[order] == k)
        place[mine] = (np.arange(len(mine)) + 0.5) / len(mine)
    return order[np.argsort(place, kind="stable")]


def _fit(model: Any, rows: Any, labels: Any, which: Int) -> Any:
    """Fit a copy; what would be a warning is part of the result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        warnings.simplefilter("ignore", SingularWarning)
        return clone(model).fit(rows[which], labels[which])


def _losses(model: Any, rows: Any, codes: Int) -> tuple[float, float]:
    """Return log loss and error rate of test rows."""
    logs = model.predict_log_proba(rows)
    picked = logs[np.arange(len(codes)), codes]
    return float(-picked.mean()), float((logs.argmax(axis=1) != codes).mean())


def _cosine(models: list[Any], scales: F64) -> float:
    """Return the cosine between the coefficients of two linear models, NaN if one has none."""
    if not all(hasattr(model, "coef_") for model in models):
        return float("nan")
    a, b = (model.coef_ * scales for model in models)
    if len(a) > 1:  # no posterior depends on the mean over the classes
        a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    scale = np.linalg.norm(a) * np.linalg.norm(b)
    return float((a * b).sum() / scale) if scale > 0 else 0.0
