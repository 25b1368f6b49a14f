"""``LearningCurves``: two classifiers on the same rows, as they get more of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from credo._results import Drawable
from credo._types import F64, Bool, Int
from credo._validation.arrays import frozen


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
        for array in (self.sizes, self.log_losses, self.error_rates, self.separated):
            frozen(array)
        frozen(self.agreement)

    @property
    def mean_log_losses(self) -> F64:
        """Mean log loss over the repeats that are not separable, (2, S); NaN if all are.

        Of separable rows the discriminative classifier has no log loss to speak of: it depends on
        where its search for a largest likelihood was given up.
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
