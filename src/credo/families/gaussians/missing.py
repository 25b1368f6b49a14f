"""Scores and fillings of rows with missing entries: exact marginals and conditionals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo._types import F64
from credo.families.gaussians.class_gaussians import ClassGaussians
from credo.families.gaussians.patterns import MissingRows

_LOG_2PI = float(np.log(2 * np.pi))

#: The difference of quadratic forms that marginalises loses as many bits as the condition number
#: of the correlations has; with more than 20 the observed block is factored instead.
_STABLE = 2.0**20


@dataclass(frozen=True, eq=False)
class Factors:
    """What the kernels need of one covariance, restricted to the active features."""

    precision: F64
    covariance: F64
    log_determinant: float
    stable: bool

    @classmethod
    def of(cls, model: ClassGaussians, k: int) -> Factors:
        """Collect the matrices of one class; those shared by all if there are such."""
        active = np.ix_(model.active, model.active)
        w, covariance = model.shared_factor(k)
        precision = np.ascontiguousarray((w.T @ w)[active])
        covariance = np.ascontiguousarray(covariance[active])
        # The trace of R⁻¹ is at least its largest eigenvalue; that of R is the number of features.
        trace = float(np.diagonal(precision) @ np.diagonal(covariance))
        log_determinant = -2 * float(np.log(np.diagonal(w)[model.active]).sum())
        return cls(precision, covariance, log_determinant, trace * len(precision) <= _STABLE)


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """Rows with their missing entries replaced by conditional means."""

    values: F64
    #: Sum of the conditional covariances, weighted, (D, D).
    spread: F64
    #: Log density of the observed entries, (n,).
    log_density: F64


class MissingScorer:
    """Score and fill rows with missing entries under fitted Gaussians; factors are made once.

    Rows come, and scores go, in the order of the patterns.
    """

    def __init__(self, model: ClassGaussians) -> None:
        self.model = model
        self._factors: dict[int, Factors] = {}

    def discriminants(self, rows: MissingRows) -> F64:
        """Give log densities up to a term of the row, (K, n)."""
        model = self.model
        if not (model.is_linear and model.are_near):
            return self.log_densities(rows)
        rows = rows.only(model.active)
        if model.has_correlations:
            return self._shared(rows)[0].T
        centre, scales = self._columns()
        pulls = (model.means[:, model.active] - centre) * scales**2
        half = -0.5 * pulls * (model.means[:, model.active] - centre)
        return pulls @ rows.gaps(centre).T + half @ (~rows.mask).astype(np.float64).T

    def log_densities(self, rows: MissingRows) -> F64:
        """Give the log density of the observed entries under each class, (K, n)."""
        model = self.model
        rows = rows.only(model.active)
        if not model.has_correlations:
            return self._independent(rows)
        if model.shape == "full" or not model.are_near:
            return np.array([self._marginal(rows, k)[2] for k in range(model.n_classes)])
        scores, distances, determinants = self._shared(rows)
        factors = np.ones(model.n_classes) if model.factors is None else model.factors
        n_seen = rows.n_seen()
        inner = (distances[:, None] - 2 * scores) / factors + n_seen[:, None] * np.log(factors)
        result: F64 = -0.5 * (inner + (determinants + _LOG_2PI * n_seen)[:, None])
        return result.T

    def distances(self, rows: MissingRows) -> F64:
        """Give squared Mahalanobis distances of the observed entries, (K, n)."""
        model = self.model
        rows = rows.only(model.active)
        if not model.has_correlations:
            return self._independent_distances(rows)
        return np.array([self._marginal(rows, k)[1] for k in range(model.n_classes)])

    def _independent_distances(self, rows: MissingRows, classes: Any = slice(None)) -> F64:
        """Sum the squared gaps of the observed features, to some of the classes."""
        model = self.model
        centre, scales = self._columns()
        means = (model.means[:, model.active] - centre)[classes]
        z, seen = rows.gaps(centre), ~rows.mask
        result = np.empty((len(means), len(z)))
        for i, (mean, scale) in enumerate(zip(means, scales[classes], strict=True)):
            gap = (z - mean) * scale * seen
            np.einsum("ij,ij->i", gap, gap, out=result[i])
        return result

    def filled(self, rows: MissingRows, k: int, weights: F64) -> Filled:
        """Replace each missing entry by its mean given the class and the observed entries."""
        model = self.model
        active = rows.only(model.active)
        values = np.where(rows.mask, model.means[k], rows.x)
        spread = np.zeros((model.n_features, model.n_features))
        if not model.has_correlations:
            np.fill_diagonal(spread, (weights @ rows.mask) * np.diagonal(model.covariance_of(k)))
            return Filled(values, spread, self._independent(active, [k])[0])
        scale = 1.0 if model.factors is None else float(model.factors[k])
        inner = np.zeros((active.x.shape[1],) * 2)
        z, _, log_density = self._marginal(active, k, weights, inner)
        spread[np.ix_(model.active, model.active)] = scale * inner
        z += model.means[k][model.active]
        values[:, model.active] = np.where(active.mask, z, active.x)
        return Filled(values, spread, log_density)

    def _factor(self, k: int) -> Factors:
        """Give the matrices of a class, made once."""
        key = k if self.model.shape == "full" else 0
        if key not in self._factors:
            self._factors[key] = Factors.of(self.model, key)
        return self._factors[key]

    def _shared(self, rows: MissingRows) -> tuple[F64, F64, F64]:
        """Give linear scores (n, K), distances to the centre and log determinants, (n,) each."""
        from credo._kernels.missing_gaussian import marginal_shared  # noqa: PLC0415 - loads Numba

        model, f = self.model, self._factor(0)
        gaps = np.ascontiguousarray((model.means - model.centre)[:, model.active])
        pulls = gaps @ f.precision
        z = rows.gaps(model.centre[model.active])
        n = len(z)
        scores, distances, determinants = np.empty((n, len(gaps))), np.empty(n), np.empty(n)
        marginal_shared(
            z,
            z @ f.precision,
            z @ pulls.T,
            rows.starts,
            rows.missing,
            f.precision,
            f.covariance,
            gaps,
            pulls,
            np.einsum("ij,ij->i", gaps, pulls),
            f.log_determinant,
            f.stable,
            scores,
            distances,
            determinants,
        )
        return scores, distances, determinants

    def _marginal(
        self, rows: MissingRows, k: int, weights: F64 | None = None, spread: F64 | None = None
    ) -> tuple[F64, F64, F64]:
        """Give gaps to the mean of a class, filled if weighted; distances; log densities."""
        from credo._kernels.missing_gaussian import marginal_rows  # noqa: PLC0415 - loads Numba

        f = self._factor(k)
        z = rows.gaps(self.model.means[k][self.model.active])
        distances, determinants = np.empty(len(z)), np.empty(len(z))
        marginal_rows(
            z,
            z @ f.precision,
            rows.starts,
            rows.missing,
            f.precision,
            f.covariance,
            f.log_determinant,
            f.stable,
            distances,
            determinants,
            weights is not None,
            np.empty(0) if weights is None else weights,
            np.empty((0, 0)) if spread is None else spread,
        )
        scale = 1.0 if self.model.factors is None else float(self.model.factors[k])
        distances /= scale
        total = distances + determinants + rows.n_seen() * (_LOG_2PI + np.log(scale))
        return z, distances, -0.5 * total

    def _columns(self) -> tuple[F64, F64]:
        """Give centre and inverse deviations, (D,) and (K, D), of the active features."""
        model = self.model
        scales = np.broadcast_to(model.whiteners, model.means.shape)
        return model.centre[model.active], scales[:, model.active]

    def _independent(self, rows: MissingRows, classes: Any = slice(None)) -> F64:
        """Leave the missing terms out of the sums over features, for some of the classes."""
        model = self.model
        centre, scales = self._columns()
        scales = scales[classes]
        seen = (~rows.mask).astype(np.float64)
        terms = _LOG_2PI - 2 * np.log(scales)
        if not model.are_near:
            total: F64 = self._independent_distances(rows, classes) + terms @ seen.T
            return -0.5 * total
        means, inverse = (model.means[:, model.active] - centre)[classes], scales**2
        z = rows.gaps(centre)
        result: F64 = (-2 * means * inverse) @ z.T
        result += (means**2 * inverse + terms) @ seen.T
        result += inverse @ np.square(z, out=z).T
        return -0.5 * result
