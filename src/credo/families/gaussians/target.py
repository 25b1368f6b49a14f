"""One number given the other features of a joint Gaussian, whichever of them are observed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from credo._types import F64, Bool, Int
from credo._validation.probabilities import BLOCK_BYTES, block_rows, blocks
from credo.exceptions import InputError
from credo.families.gaussians.definite import Where, whiten
from credo.families.gaussians.patterns import (
    MissingRows,
    gathered,
    refuse_infinite,
    sorted_by_pattern,
)

#: Bytes of rows with missing entries, or of blocks of matrices, that are worked on at once.
_HELD_BYTES = 4 * BLOCK_BYTES

#: Eliminating missing features from the inverse correlations loses as many bits as their condition
#: number has; with more than 20 the observed block is solved instead.
_STABLE = 2.0**20

#: Rounding moves each correlation by some units in the last place, and the variance that is left
#: by as much times 1 + b², b the standardised slopes; on exact data it stayed below 6 of them.
_ULPS = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class TargetGivenFeatures:
    r"""Hold p(t | x) of a joint Gaussian, whichever features are observed.

    Features are standardised, z = (x - mean) / scale, so that their units do not matter. With R
    the correlations of the features and c the covariances of z and t, the slopes are R⁻¹ c and
    the variance is Var[t] - cᵀ R⁻¹ c.
    """

    #: Mean of features and target, (D + 1,).
    mean: F64
    #: Features that vary, (D,); the arrays below are theirs.
    active: Bool
    scale: F64
    correlation: F64
    precision: F64
    pulls: F64
    slopes: F64
    #: Var[t], and Var[t | x] if all of x is observed.
    total: float
    variance: float
    #: Lower triangular W of the features, and the log determinant of their covariance.
    whitener: F64
    log_determinant: float

    @classmethod
    def of(cls, mean: F64, covariance: F64, where: Where) -> TargetGivenFeatures:
        """Condition the target on the features; only the block of the features is factored."""
        features, total = covariance[:-1, :-1], float(covariance[-1, -1])
        variances = np.diagonal(features)
        active: Bool = variances > 0
        w, log_determinant = np.zeros(features.shape), 0.0
        if active.any():
            log_determinant = whiten(features, w, active, where)
        scale = np.sqrt(variances[active])
        block = np.ix_(active, active)
        correlation = features[block] / scale[:, None] / scale
        standard = w[block] * scale
        precision = standard.T @ standard
        pulls = covariance[:-1, -1][active] / scale
        slopes = precision @ pulls
        slopes += precision @ (pulls - correlation @ slopes)  # wins back lost digits
        return cls(
            mean=mean,
            active=active,
            scale=scale,
            correlation=correlation,
            precision=precision,
            pulls=pulls,
            slopes=slopes,
            total=total,
            variance=_left_over(total, pulls, slopes, correlation),
            whitener=w,
            log_determinant=log_determinant,
        )

    @property
    def coefficients(self) -> F64:
        """Slopes in the units of the features, (D,), zero for those that do not vary."""
        result = np.zeros(len(self.active))
        result[self.active] = self.slopes / self.scale
        return result

    def predict(self, X: Any) -> tuple[F64, F64]:
        """Give mean and variance of the target of each row; NaN is marginalised."""
        coefficients, ones = self.coefficients, np.ones(X.shape[1])
        mean, variance = np.empty(len(X)), np.full(len(X), self.variance)
        odd = [np.empty(0, dtype=np.intp)]
        with np.errstate(over="ignore", invalid="ignore"):
            for block in blocks(len(X), block_rows(X.shape[1])):
                z = np.subtract(X[block], self.mean[:-1], dtype=np.float64)
                mean[block] = z @ coefficients + self.mean[-1]
                odd.append(block.start + np.flatnonzero(~np.isfinite(z @ ones)))
            self._predict_odd(X, np.concatenate(odd), mean, variance)
        wrong = ~np.isfinite(mean)
        if wrong.any():
            raise InputError(
                f"Row {int(wrong.argmax())} of X is so far from the mean that its prediction is "
                "not a number. Check its values and their unit."
            )
        return mean, variance

    def _predict_odd(self, X: Any, rows: Int, mean: F64, variance: F64) -> None:
        """Write mean and variance of rows with missing entries; refuse infinity."""
        if not rows.size:
            return
        most = max(1, _HELD_BYTES // (8 * X.shape[1]))
        rows, keys = sorted_by_pattern(X, rows, most)
        for block, missing in gathered(X, rows, keys, most):
            part = rows[block]
            refuse_infinite(missing.x, part)
            mean[part], variance[part] = self._marginal(missing.only(self.active))

    def _marginal(self, rows: MissingRows) -> tuple[F64, F64]:
        """Give mean and variance of the target of rows sorted by pattern."""
        slopes, variances = self.without(rows.missing)
        counts = np.diff(rows.starts)
        z = rows.gaps(self.mean[:-1][self.active]) / self.scale
        mean = np.einsum("ij,ij->i", z, np.repeat(slopes, counts, axis=0)) + self.mean[-1]
        return mean, np.repeat(variances, counts)

    def without(self, missing: Bool) -> tuple[F64, F64]:
        """Give slopes, (S, D), and variances, (S,), for S patterns of missing features.

        Patterns with as many missing features are solved together.
        """
        slopes, variances = np.zeros(missing.shape), np.empty(len(missing))
        size = missing.shape[1]
        n_gone = missing.sum(axis=1)
        for n in np.unique(n_gone):
            solve = self._by_precision if self._is_stable and 2 * n <= size else self._by_covariance
            members = np.flatnonzero(n_gone == n)
            for block in blocks(len(members), max(1, _HELD_BYTES // (8 * max(size, 1) ** 2))):
                part = members[block]
                slopes[part], variances[part] = solve(missing[part])
        if self.variance == 0:
            variances[variances <= _rounding(self.total, (slopes**2).sum(axis=1))] = 0.0
        return slopes, variances

    @cached_property
    def _is_stable(self) -> bool:
        """Tell whether the inverse correlations keep enough digits to eliminate features."""
        sizes = [np.abs(m).sum(axis=0).max(initial=0.0) for m in (self.correlation, self.precision)]
        return bool(sizes[0] * sizes[1] <= _STABLE)

    def _by_precision(self, missing: Bool) -> tuple[F64, F64]:
        r"""Eliminate missing features m, with P = R⁻¹ and v = P_mm⁻¹ b_m.

        The slopes become b - P v; the variance grows by b_m · v, since Cov[z_m | z_o] = P_mm⁻¹.
        """
        gone = _places(missing)
        own = self.slopes[gone]
        v = _solve(self.precision, gone, own)
        slopes = self.slopes - (v[:, None, :] @ self.precision[gone])[:, 0]
        slopes[missing] = 0.0
        return slopes, self.variance + (own * v).sum(axis=1)

    def _by_covariance(self, missing: Bool) -> tuple[F64, F64]:
        """Regress on the observed features o alone: slopes R_oo⁻¹ c_o."""
        seen = _places(~missing)
        own = self.pulls[seen]
        v = _solve(self.correlation, seen, own)
        slopes = np.zeros(missing.shape)
        np.put_along_axis(slopes, seen, v, axis=1)
        return slopes, np.maximum(self.total - (own * v).sum(axis=1), self.variance)


def _left_over(total: float, pulls: F64, slopes: F64, correlation: F64) -> float:
    """Give the variance that is not explained, that of t - bᵀ z; zero if it is rounding.

    Unlike Var[t] - cᵀ b, it is off by the square of the error of the slopes only.
    """
    left = total - float(slopes @ (2 * pulls - correlation @ slopes))
    return left if left > _rounding(total, slopes @ slopes) else 0.0


def _rounding(total: float, squares: Any) -> Any:
    """Give the variance that rounding may leave of a total, by the squared length of the slopes."""
    return _ULPS * (total + squares)


def _places(mask: Bool) -> Int:
    """List the true entries of each row; every row has as many."""
    return np.nonzero(mask)[1].reshape(len(mask), -1)


def _solve(matrix: F64, places: Int, right: F64) -> F64:
    """Solve with the principal block of each row of places, (S, m)."""
    inner = matrix[places[:, :, None], places[:, None, :]]
    return np.asarray(np.linalg.solve(inner, right[:, :, None])[:, :, 0], dtype=np.float64)
