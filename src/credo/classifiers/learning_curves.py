"""``LearningCurves``: two classifiers on the same rows, as they get more of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from credo._drawable import Drawable
from credo._types import F64, Bool, Int


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
        Mean of -log p(truth) over the test rows, for each classifier, size and repeat, in nats.
    error_rates : ndarray of shape (2, S, R)
        Share of test rows with another label than predicted.
    separated : ndarray of shape (S, R)
        True where the training rows were separable: the discriminative classifier then has no
        largest likelihood, and its log loss says little.
    agreement : ndarray of shape (S, R)
        Cosine between the coefficients of the two, 1 if their boundaries are parallel.

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

    @property
    def mean_log_losses(self) -> F64:
        """Mean log loss over the repeats, (2, S)."""
        result: F64 = self.log_losses.mean(axis=2)
        return result

    def __repr__(self) -> str:
        first, second = self.names
        lines = [
            f"log loss on test rows, mean of {self.log_losses.shape[2]} repeats",
            f"  {'rows':>8}  {first:>20}  {second:>20}  {'separable':>9}  {'cosine':>6}",
        ]
        means, cosines = self.mean_log_losses, self.agreement.mean(axis=1)
        for s, size in enumerate(self.sizes.tolist()):
            share = f"{100 * np.mean(self.separated[s]):.0f} %"
            lines.append(
                f"  {size:>8}  {means[0, s]:>20.4f}  {means[1, s]:>20.4f}  {share:>9}  "
                f"{cosines[s]:>6.3f}"
            )
        return "\n".join(lines)
