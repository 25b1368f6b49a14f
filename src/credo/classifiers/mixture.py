"""``MixtureClassifier``: several Gaussians per class, for classes with more than one peak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from credo import _checks as check
from credo._types import F64, Int, Label, PerLabel, RandomState
from credo.classifiers._base import (
    Blocks,
    refuse_priors,
)
from credo.classifiers.gaussian import GaussianDensities, Progress
from credo.exceptions import InputError, SingularWarning
from credo.families.class_gaussians import Shape
from credo.families.mixtures import MixtureDensity, MixtureFit, fit_mixtures, log_sum

_OWNER = "MixtureClassifier"


class MixtureClassifier(GaussianDensities):
    r"""Classify with a mixture of Gaussians per class; missing values are marginalised.

    .. math:: p(k \mid x) \propto \pi_k \sum_c w_{kc}\, \mathcal{N}(x \mid \mu_{kc}, \Sigma_{kc})

    For classes that are not one cloud, such as digits that are written in two ways.
    ``GaussianClassifier.check_modes`` says which are.

    Parameters
    ----------
    components : int or mapping from label
        Gaussians of each class; classes that a mapping does not name have one.
    covariance : str
        One of the seven shapes of ``GaussianClassifier``, of all components: ``"tied"`` is one
        covariance for all of them.
    shrinkage : None, "oas" or float
        As in ``GaussianClassifier``.
    singular : {"repair", "error"}
        As in ``GaussianClassifier``; and what to do if in all starts a component collapses on so
        few rows that the likelihood has no maximum. ``"repair"`` warns, and gives each component
        one row more, which varies as its class; ``"error"`` names component and remedies.
    priors : None, "uniform", array-like or mapping from label
        Class probabilities; None for the frequencies, weighted.
    n_starts : int
        How often EM starts; the run with the greatest likelihood is kept.
    random_state : int, Generator or None
        Seed of the starts.
    tol : float
        EM stops when the log-likelihood per row gains less.
    max_iter : int
        Most steps of EM.
    progress : callable, optional
        Called with the step and the log-likelihood at each step of the best run.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels, sorted.
    priors_ : ndarray of shape (K,)
        Probability of each class.
    component_classes_ : ndarray of shape (C,)
        Label of each component, in the order of ``classes_``.
    weights_ : ndarray of shape (C,)
        Share w of each component in its class.
    means_ : ndarray of shape (C, D)
        Mean of each component.
    covariances_ : ndarray
        (C, D, D), (D, D), (C, D), (D,), (C,) or () by the shape; the shared Σ if proportional.
    constant_features_ : ndarray of shape (D,)
        True for features with a single value in all rows; they are ignored.
    n_parameters_ : int
        Numbers in the model: priors, shares, means and covariances.
    log_likelihood_ : float
        :math:`\sum_i w_i \log p(x_i, y_i)` of the rows it was fitted on.
    log_likelihood_trace_ : ndarray
        The same before each step of the best run and after the last; it never falls unless
        covariances are shrunk or repaired.
    converged_ : bool
        False if EM stopped at ``max_iter``.
    n_iter_ : int
        Steps of the best run.
    summary_ : None
        A mixture is learned from all rows at once: streams, tables and merging are refused.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    credo.GaussianClassifier : One Gaussian per class; ``check_modes`` tells whether that is enough.

    Notes
    -----
    A local maximum of the likelihood, the best of ``n_starts``; more rarely lose the greatest one.
    Starts are rows far from each other, as k-means++ chooses them, with missing entries filled in.
    Each runs 50 steps, and the best goes on. Missing values are marginalised exactly, in each step
    and in predictions, and assumed missing at random. Components of a class come in no order that
    means anything. One component per class is ``GaussianClassifier``. A step costs O(N C D²).

    References
    ----------
    .. [1] T. Hastie and R. Tibshirani, "Discriminant analysis by Gaussian mixtures", *Journal of
       the Royal Statistical Society* B 58, 1996.
    .. [2] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 9.2.

    Examples
    --------
    A class on both sides of the other:

    >>> import credo, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = np.concatenate([rng.normal(-3, 1, 50), rng.normal(3, 1, 50), rng.normal(0, 1, 100)])
    >>> y = np.repeat(["outside", "inside"], 100)
    >>> model = credo.MixtureClassifier({"outside": 2}).fit(x[:, None], y)
    >>> model.predict([[-3.0], [0.0], [3.0]])
    array(['outside', 'inside', 'outside'], dtype='<U7')
    >>> model.means_.round(1).ravel().tolist(), model.component_classes_.tolist()
    ([-0.1, 3.0, -2.9], ['inside', 'outside', 'outside'])
    """

    Fitted: ClassVar[type] = MixtureFit
    summary_: None

    def __init__(  # noqa: PLR0913 - one per option, all but the first by name
        self,
        components: int | Mapping[Any, int] = 2,
        *,
        covariance: Shape = "full",
        shrinkage: float | Literal["oas"] | None = None,
        singular: Literal["repair", "error"] = "repair",
        priors: PerLabel | Literal["uniform"] | None = None,
        n_starts: int = 10,
        random_state: RandomState = 0,
        tol: float = 1e-7,
        max_iter: int = 1000,
        progress: Progress | None = None,
    ) -> None:
        self.components = components
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.singular = singular
        self.priors = priors
        self.n_starts = n_starts
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.progress = progress

    # --- learning -------------------------------------------------------------------------------

    def _check_parameters(self, seen: Sequence[Label] | None = None) -> None:
        if seen is not None:
            raise InputError(
                f"{_OWNER}: EM needs all rows at once, which a stream, a table or a summary does "
                "not give. Use fit, or a GaussianClassifier."
            )
        refuse_priors(self.priors, _OWNER)
        self._recipe()
        if self.shrinkage == "auto":
            raise InputError(f"{_OWNER} has no fourth moments for 'auto'. Pass shrinkage='oas'.")
        check.count(self.n_starts, f"n_starts of {_OWNER}")
        named = check.by_name(self.components)
        for size in [self.components] if named is None else named.values():
            check.count(size, f"components of {_OWNER}")

    def _fit_passes(self, passes: Any, names: Any) -> None:  # noqa: ARG002 - of a table
        """Refuse tables, which are read in parts."""
        self._check_parameters(())

    def _summarise(self, batch: Any) -> None:
        """Return nothing: EM needs the rows."""

    def _learn(self, summary: None, batch: Any = None) -> None:  # noqa: ARG002 - as others
        rows, classes = batch
        names, named = self._names(classes, _OWNER), check.by_name(self.components)
        for label in named or ():
            check.position(label, names.classes, "class", f"components of {_OWNER}")
        sizes = [self.components if named is None else named.get(k, 1) for k in names.classes]
        rng = check.generator(self.random_state, f"random_state of {_OWNER}")
        fit = fit_mixtures(rows, np.array(sizes), self._recipe(), names, self.n_starts, rng)
        self._set(fit, classes, None)
        self._tell(fit.repair, SingularWarning)
        self._warn_unless(fit.converged)

    def _set(self, fitted: MixtureFit, classes: Any, summary: None) -> None:
        """Keep a fit and show what it learned."""
        self._show(fitted, classes, summary)
        self.component_classes_, self.weights_ = classes[fitted.owners], fitted.shares
        self._set_priors()

    def _check_loaded(self) -> None:
        """Check that a model from a file is one of its features."""
        if self._fitted.model.n_features != self.n_features_in_:
            raise InputError("The model does not fit its features.")

    # --- answers --------------------------------------------------------------------------------

    def _scores(self, rows: Any, *, densities: bool = False) -> Blocks:  # noqa: ARG002 - always
        fitted, priors = self._fitted, self._log_priors()[:, None]
        width = max(rows.shape[1], fitted.model.n_classes)
        for block in check.blocks(len(rows), check.block_rows(width)):
            yield block, log_sum(fitted.scores(rows[block], block.start), fitted.firsts) + priors

    def _weights_of(self, label: Label | None, method: str = "sample") -> F64:
        p = self._shares_of(label, method)[self._fitted.owners] * self._fitted.shares
        return np.asarray(p / p.sum())

    def _labels_of(self, drawn: Int) -> Any:
        return self.component_classes_[drawn]

    @property
    def densities_(self) -> dict[Label, MixtureDensity]:
        """The density of each class by its label, for ``bayes_error``."""
        self._check_ready()
        fitted, labels = self._fitted, check.labels(self.classes_)
        parts = [np.flatnonzero(fitted.owners == k) for k in range(len(labels))]
        each = [MixtureDensity(fitted.model, part, fitted.shares[part]) for part in parts]
        return dict(zip(labels, each, strict=True))
