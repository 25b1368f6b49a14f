"""Mixtures of Gaussians, one per class: maximum likelihood from several starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, final

import numpy as np
import scipy

from credo import _checks as check
from credo._types import F64, Int
from credo.exceptions import InputError
from credo.families.class_gaussians import LINEAR, SPHERICAL, ClassGaussians
from credo.families.covariances import (
    Names,
    Recipe,
    SingularCovarianceError,
    choose_features,
    detail_for,
    estimate,
)
from credo.families.em import Steps, fit_missing
from credo.families.moments import ClassMoments, Rows

Progress = Callable[[int, float], None] | None
#: Steps that each start may take before the best goes on.
_SHORT = 50
#: A component with a variance below this share of that of its class is on its way to a point.
_FLAT = 1e-18


@final
@dataclass(frozen=True, slots=True, eq=False)
class MixtureFit:
    """Hold C Gaussians, to which of K classes each belongs, and its share there."""

    model: Annotated[ClassGaussians, ""]
    owners: Annotated[Int, "C", ">= 0"]
    shares: Annotated[F64, "C", ">= 0"]
    #: Weight of each class.
    weights: Annotated[F64, "K", ">= 0"]
    #: What was singular and how it was repaired; None if nothing was.
    repair: str | None = None
    #: Σ w log p(x | y) before each step of EM, and at the end.
    trace: Annotated[F64, "T", "any"] = field(default_factory=lambda: np.empty(0))
    converged: bool = True

    def _check(self) -> None:
        """Refuse components from a file that are no mixture of each class."""
        sizes = np.bincount(self.owners, minlength=len(self.weights))
        fits = len(sizes) == len(self.weights) and bool(sizes.all())
        fits = fits and len(self.owners) == self.model.n_classes and not np.isnan(self.trace).any()
        fits = fits and bool((np.diff(self.owners) >= 0).all() and self.weights.any())
        if not fits or not np.allclose(np.bincount(self.owners, self.shares), 1.0):
            raise InputError("The components of the model are not those of its classes.")

    @property
    def firsts(self) -> Int:
        """The first component of each class."""
        return np.searchsorted(self.owners, np.arange(len(self.weights)))

    def scores(self, x: Any, first_row: int = 0) -> F64:
        """Return log density and share of rows under each component, (C, B)."""
        with np.errstate(divide="ignore"):
            return self.model.scores(x, "densities", first_row) + np.log(self.shares)[:, None]

    def axis(self) -> F64:
        """Return the direction along which two components are told apart best, (D,)."""
        pulls = self.model.precision_of(0) + self.model.precision_of(1)
        return np.asarray(pulls @ (self.model.means[1] - self.model.means[0]))


def fit_mixtures(  # noqa: PLR0913 - as many things to know
    rows: Rows,
    sizes: Int,
    recipe: Recipe,
    names: Names,
    n_starts: int,
    rng: np.random.Generator,
    *,
    begin: MixtureFit | None = None,
) -> MixtureFit:
    """Fit so many components per class by EM, from several starts; rows may have NaN.

    A start in which a component collapses on too few rows, where the likelihood has no maximum, is
    given up. If none is left this is an error, or all components get one more row that varies as
    their class does. The one start may be given, and is returned if a component collapses.
    """
    em = _Mixing(rows, np.repeat(np.arange(len(sizes)), sizes), recipe, names)
    starts, short = n_starts if (sizes > 1).any() else 1, min(_SHORT, recipe.max_iter)
    firsts = (em.start(rng) for _ in range(starts)) if begin is None else [begin]
    runs = [em.attempt(first, short) for first in firsts]
    for best in sorted(filter(None, runs), key=lambda run: -run.trace[-1]):
        done = em.attempt(best, recipe.max_iter, recipe.progress)
        if done is not None:
            return replace(done, repair=em.repair)
    if begin is not None:
        return begin
    fault = em.faults[0]
    if not recipe.repair:
        raise fault
    em.extra = 1.0
    fit = em.run(em.start(rng), recipe.max_iter, recipe.progress)
    told = f"{fault.fault} Repaired: each component has one row more, which varies as its class."
    return replace(fit, repair=told)


class _Mixing:
    """Steps of EM for the components of all classes together, on the rows of each class."""

    def __init__(self, rows: Rows, owners: Int, recipe: Recipe, names: Names) -> None:
        self._x, self._owners, self._names = np.asarray(rows.X, np.float64), owners, names
        self._w = np.ones(len(rows.codes)) if rows.weights is None else rows.weights
        self._detail = detail_for(recipe.shape)
        seen = ClassMoments.of(self._x, rows.codes, rows.weights, rows.n_classes, "diagonal")
        self._active, flat = choose_features(seen, recipe, names)
        self._flat = flat if flat.ndim == 1 else flat[owners]
        moments = rows.moments(self._detail, names.owner, names.features)
        whole = fit_missing(rows, recipe, names) if moments is None else None
        self._base = whole or estimate(moments, recipe, names)  # type: ignore[arg-type]
        self._codes, self._recipe = rows.codes, replace(recipe, repair=False)
        self._components, self._rows = np.nonzero(owners[:, None] == rows.codes)
        self._pairs = self._x[self._rows]
        self._weights = np.bincount(rows.codes, self._w, rows.n_classes).astype(np.float64)
        self._holes = bool(np.isnan(self._x).any()) and self._detail != "diagonal"
        places = np.arange(len(owners)) - np.searchsorted(owners, owners)
        called = zip(places.tolist(), owners.tolist(), strict=True)
        self._called = replace(
            names, classes=tuple(f"{names.classes[k]}, component {i + 1}" for i, k in called)
        )
        #: What was repaired of single Gaussians, and why runs were given up.
        self.repair, self.faults = self._base.repair, list[SingularCovarianceError]()
        #: Rows that each component has more, if all starts collapse.
        self.extra = 0.0

    def start(self, rng: np.random.Generator) -> MixtureFit:
        """Begin at rows that are far from each other, as k-means++ chooses them."""
        sizes = np.bincount(self._owners)
        means = [self._far_rows(k, int(size), rng) for k, size in enumerate(sizes)]
        weights = (self._weights / sizes)[self._owners]
        spread = self._spreads() / sizes[self._owners, None, None] * weights[:, None, None]
        moments = self._moments(np.concatenate(means), weights, spread)
        model = estimate(moments, self._recipe, self._called, features=self._features).model
        return MixtureFit(model, self._owners, 1 / sizes[self._owners], self._weights)

    @property
    def _features(self) -> Any:
        return self._active, self._flat

    def _spreads(self) -> F64:
        """Return the covariance of the class of each component, (C, D, D)."""
        return np.stack([self._base.model.covariance_of(k) for k in self._owners])

    def _moments(self, means: F64, weights: F64, scatter: F64) -> ClassMoments:
        """Return moments of these means and scatters, in the detail of the shape."""
        if self._detail != "full":
            scatter = (
                scatter.sum(axis=0) if self._detail == "tied" else np.einsum("kii->ki", scatter)
            )
        counts = np.maximum(weights, 1).astype(np.intp)
        return ClassMoments(counts, weights, means, self._detail, scatter)

    def _far_rows(self, k: int, size: int, rng: np.random.Generator) -> F64:
        """Choose rows of a class, the next by its squared distance from the nearest so far."""
        model, mine = self._base.model, np.flatnonzero(self._codes == k)
        if size == 1:
            return model.means[[k]]
        x, w = self._x[mine], self._w[mine]
        lacking = np.flatnonzero(np.isnan(x).any(axis=1))
        for part, values, *_ in model.filled(x[lacking], k):
            x[lacking[part]] = values
        whitener, gaps = model.whitener_of(k), x - model.means[k]
        z = gaps @ whitener.T if whitener.ndim == 2 else gaps * whitener
        chosen, far = list[int](), np.ones(len(z))
        for _ in range(size):
            p = w * far if (w * far).any() else w
            chosen.append(int(rng.choice(len(z), p=p / p.sum())))
            distances = ((z - z[chosen[-1]]) ** 2).sum(axis=1)
            far = distances if len(chosen) == 1 else np.minimum(far, distances)
        return np.asarray(x[chosen])

    def attempt(self, fit: MixtureFit, most: int, progress: Progress = None) -> MixtureFit | None:
        """Run, or remember why a component collapsed."""
        try:
            return self.run(fit, most, progress)
        except SingularCovarianceError as fault:
            self.faults.append(fault)
            return None

    def run(self, fit: MixtureFit, most: int, progress: Progress = None) -> MixtureFit:
        """Take at most so many steps, or until the log-likelihood stops rising."""
        trace, before, converged = fit.trace.tolist()[:-1], np.nan, False
        least = self._recipe.tol * float(self._w.sum())
        for step in range(most + 1):
            logs = np.where(self._owners[:, None] == self._codes, fit.scores(self._x), -np.inf)
            totals = np.logaddexp.reduce(logs, axis=0)
            trace.append(float(self._w @ totals))
            if progress is not None:
                progress(len(trace) - 1, trace[-1])
            converged = bool(abs(trace[-1] - before) <= least)
            if converged or step == most:
                break
            fit, before = self._next(fit.model, np.exp(logs - totals)), trace[-1]
        return replace(fit, trace=np.array(trace), converged=converged)

    def _next(self, model: ClassGaussians, parts: F64) -> MixtureFit:
        """Estimate from rows that belong to components in parts, (C, n)."""
        w = parts[self._components, self._rows] * self._w[self._rows]
        pairs = Rows(self._pairs, self._components, w, len(self._owners))
        if self._holes:
            moments = Steps(pairs, self._recipe, self._called, self._features).expected(model)[0]
        else:
            moments = ClassMoments.of(pairs.X, pairs.codes, w, pairs.n_classes, self._detail)
        shares = moments.weights / self._weights[self._owners]
        if self.extra:
            more = self._moments(moments.means, np.full(len(shares), self.extra), self._spreads())
            moments = moments.merge(more)
        self._refuse_collapse(moments)
        fit = estimate(moments, self._recipe, self._called, features=self._features)
        return MixtureFit(fit.model, self._owners, shares, self._weights)

    def _refuse_collapse(self, moments: ClassMoments) -> None:
        """Refuse components with too few rows for a covariance of their own, or without spread."""
        own = self._recipe.shape not in LINEAR
        least = 1 + own * (int(self._active.sum()) if self._detail == "full" else 1)
        few = moments.weights < least * self._w.mean() * (not self.extra)
        if own:
            spread = moments.diagonals() / moments.feature_weights
        else:
            spread = moments.pooled_diagonal() / moments.weights.sum()
        flat = (spread <= _FLAT * np.einsum("kii->ki", self._spreads())) | self._flat
        if self._recipe.shape in SPHERICAL:
            few |= flat.all(axis=1)
        else:
            few |= (flat & ~self._flat & self._active).any(axis=1)
        if few.any():
            raise SingularCovarianceError(
                f"{self._names.owner}: {self._called.classes[int(few.argmax())]!r} collapses on "
                "too few rows, where the likelihood has no maximum.",
                "Pass fewer components, covariance='tied', or singular='repair'.",
            )


def log_sum(logs: F64, firsts: Int) -> F64:
    """Add up the components of each class, (K, B), in logarithms."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.logaddexp.reduceat(logs, firsts, axis=0))


@final
class MixtureDensity:
    """The density of one class: ``logpdf`` and ``rvs``, for ``bayes_error``."""

    def __init__(self, model: ClassGaussians, components: Int, shares: F64) -> None:
        self._model, self._components, self._shares = model, components, shares

    def logpdf(self, x: Any) -> F64:
        """Return the log density of rows (n, D)."""
        logs = self._model.scores(np.asarray(x, np.float64), "densities")[self._components]
        return np.asarray(scipy.special.logsumexp(logs, axis=0, b=self._shares[:, None]))

    def rvs(self, size: int = 1, random_state: Any = None) -> F64:
        """Draw rows (n, D)."""
        p = np.bincount(self._components, self._shares, self._model.n_classes).astype(np.float64)
        return self._model.sample(p, size, check.generator(random_state))[0]
