"""``ClassGaussians``: fitted Gaussians of K classes; densities, missing values, samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal, final

import numpy as np
import scipy

from credo import _checks as check
from credo._types import F64, Bool, Int
from credo.exceptions import InputError
from credo.families.moments import ClassMoments

#: Shapes of covariances, from the richest to the poorest.
Shape = Literal[
    "full", "proportional", "tied", "diagonal", "tied_diagonal", "spherical", "tied_spherical"
]
#: Shapes with correlations between features.
WITH_CORRELATIONS = ("full", "tied", "proportional")
#: Shapes with the same covariance in all classes: the boundaries are hyperplanes.
LINEAR = ("tied", "tied_diagonal", "tied_spherical")
#: Shapes with one variance for all features.
SPHERICAL = ("spherical", "tied_spherical")
#: Sizes of the covariances by shape: K classes, D features.
COVARIANCES = {
    "full": "K D D",
    "tied": "D D",
    "diagonal": "K D",
    "tied_diagonal": "D",
    "spherical": "K",
    "tied_spherical": "",
    "proportional": "D D",
}
#: What rows are scored by: log p(x | k); the same less a term of the row; squared distances.
Kind = Literal["densities", "discriminants", "distances"]

_LOG_2PI = float(np.log(2 * np.pi))
#: Distances are expanded into products if the means are this near to each other in standard
#: deviations, squared: the expansion then loses at most 14 of the 53 bits.
_NEAR = 2.0**14
#: Bytes of the factors of patterns that are worked on at once.
_FACTOR_BYTES = check.BLOCK_BYTES


@final
@dataclass(frozen=True, slots=True, eq=False)
class Conditional:
    r"""Hold mean and covariance of each row given its observed entries.

    .. math:: E[x_m \mid x_o] = \mu_m + \Sigma_{mo} \Sigma_{oo}^{-1} (x_o - \mu_o), \qquad
              \mathrm{Cov}[x_m \mid x_o] = \Sigma_{mm} - \Sigma_{mo} \Sigma_{oo}^{-1} \Sigma_{om}

    Over several classes these are mixed with the posterior of the row, and the covariance holds
    the spread between the classes too.

    Attributes
    ----------
    mean : ndarray of shape (n, D)
        Observed entries as they are, missing entries by their conditional mean.
    covariance : ndarray of shape (n, D, D)
        Zero in the rows and columns of observed entries.
    categories : dict
        Of naive Bayes: a ``Posterior`` over the values of each column of categories, for all rows;
        such columns are NaN in ``mean`` and ``covariance``.

    See Also
    --------
    credo.GaussianClassifier.conditional, credo.NaiveBayes.conditional : Make one.

    Notes
    -----
    Exact for the fitted distributions.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 2.3.1.

    Examples
    --------
    >>> import credo, numpy as np
    >>> X = [[0.0, 0.1], [1.0, 0.9], [2.0, 2.1], [3.0, 2.9]]
    >>> model = credo.GaussianClassifier().fit(X, ["a"] * 4)
    >>> model.conditional([[2.0, np.nan]]).mean.round(2)
    array([[2.  , 1.98]])
    """

    mean: F64
    covariance: F64
    categories: Mapping[Any, Any] = field(default_factory=dict)


@lru_cache(8)
def _probes(size: int) -> F64:
    """Return rows (size, 8) that each pick every eighth feature, with signs; or one if few."""
    signs = np.where(np.cos(np.arange(size)) > 0, 1.0, -1.0)
    width = max(1, min(size, 8))
    return check.frozen(np.resize(np.eye(width), (size, width)) * signs[:, None])


def _are_near(first: Any, second: Any, scale: Any) -> bool:
    """Tell whether two arrays are the same to a tenth of a scale."""
    return bool((np.abs(first - second) <= 0.1 * scale).all())


@dataclass(frozen=True, eq=False)
class ClassGaussians:
    r"""Hold K Gaussians in D dimensions, factored: :math:`W_k \Sigma_k W_k^T = I`.

    Blocks of rows go in as (B, D) and scores come out as (K, B), classes first: reductions over a
    few classes are then vectorised over the rows.
    """

    shape: Shape
    means: Annotated[F64, "K D"]
    #: In the parsimonious shape; the shared matrix if proportional.
    covariances: Annotated[F64, COVARIANCES, "shape"]
    #: Lower triangular W; without correlations the inverse deviations.
    whiteners: Annotated[F64, {**COVARIANCES, "spherical": "K D", "tied_spherical": "D"}, "shape"]
    #: log |Σ_k|.
    log_determinants: Annotated[F64, "K"]
    #: Features that take part; the others are constant in all rows.
    active: Annotated[Bool, "D"]
    #: α_k of Σ_k = α_k Σ; None for the other shapes.
    factors: Annotated[F64, "K"] | None = None

    @classmethod
    def of_variances(cls, shape: Shape, means: F64, variances: F64, active: Bool) -> ClassGaussians:
        """Make Gaussians without correlations; spherical shapes have one variance for all."""
        wide = variances
        if shape in SPHERICAL:
            wide = np.repeat(variances[..., None], means.shape[1], -1)
        used = np.where(active, wide, 1.0)
        logs = np.broadcast_to(np.log(used).sum(axis=-1), len(means)).copy()
        whiteners = np.where(active, 1 / np.sqrt(used), 0.0)
        return cls(shape, means, variances, whiteners, logs, active)

    def _check(self) -> None:
        """Refuse parts from a file that are not those of covariances; in O(K D²).

        Rank is decided so that W Σ Wᵀ is the identity to 1/64, whatever the machine. Each entry of
        it is checked up to eight features; of more, sums over every eighth.
        """
        if (self.factors is None) == (self.shape == "proportional"):
            raise InputError("The factors of the covariances do not fit their shape.")
        stack, active = self._stack, self.active
        covariances = self.covariances[..., None] if self.shape in SPHERICAL else self.covariances
        if self.has_correlations:
            sigma, diagonal = covariances.reshape(stack.shape), np.diagonal(stack, axis1=1, axis2=2)
            rows = _probes(self.n_features) * active[:, None]
            found = stack @ (sigma @ (stack.mT @ rows))
            fits = _are_near(found, rows, math.sqrt(1 + self.n_features // 8))
        else:
            diagonal = stack
            fits = _are_near((stack**2 * covariances)[:, active], 1.0, 1.0)
        own = diagonal[:, active]
        above = (own > 0).all() and not diagonal[:, ~active].any()
        fits = fits and bool(above and (self._factors > 0).all())
        if fits:
            logs = active.sum() * np.log(self._factors) - 2 * np.log(own).sum(axis=1)
            fits = _are_near(self.log_determinants, logs, 1 + np.abs(logs))
        if not fits:
            raise InputError("The covariances of the model are not those that it was factored by.")

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.means)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.means.shape[1])

    @property
    def is_linear(self) -> bool:
        """Tell whether all classes share one covariance."""
        return self.shape in LINEAR

    @property
    def has_correlations(self) -> bool:
        """Tell whether covariances are matrices."""
        return self.shape in WITH_CORRELATIONS

    @property
    def _stack(self) -> F64:
        """Factors without the proportions: one per class, or one for all; (K or 1, ...)."""
        shared = self.whiteners.ndim == (2 if self.has_correlations else 1)
        return self.whiteners[None] if shared else self.whiteners

    @cached_property
    def _factors(self) -> F64:
        """Return the proportions, (K,); one unless the shape has some."""
        return np.ones(self.n_classes) if self.factors is None else self.factors

    def whitener_of(self, k: int) -> F64:
        """Return the factor of one class: a matrix, or a vector of inverse deviations."""
        return self._stack[k % len(self._stack)] / np.sqrt(self._factors[k])

    def precision_of(self, k: int) -> F64:
        """Return the inverse covariance of one class, (D, D), zero for features without part."""
        w = self.whitener_of(k)
        return np.asarray(w.T @ w if w.ndim == 2 else np.diag(w**2))

    def covariance_of(self, k: int) -> F64:
        """Return the covariance of one class, (D, D)."""
        own = self.covariances
        if self.shape in SPHERICAL:
            own = np.repeat(own[..., None], self.n_features, -1)
        own = own if self.is_linear or self.factors is not None else own[k]
        return (own if self.has_correlations else np.diag(own)) * self._factors[k]

    def whitened(self, gaps: F64) -> F64:
        """Multiply rows by the shared factor."""
        w = self._stack[0]
        return np.asarray(gaps @ w.T if w.ndim == 2 else gaps * w)

    def pulls(self, gaps: F64) -> F64:
        r"""Return :math:`\Sigma^{-1}` gap of rows, for a shared covariance."""
        w = self._stack[0]
        return np.asarray(self.whitened(gaps) @ w if w.ndim == 2 else gaps * w**2)

    def directions(self, shares: F64) -> tuple[F64, F64, F64]:
        r"""Return the mean of the means, Fisher's directions, (R, D), and what each tells apart.

        With shares :math:`\pi` of the classes, the rows :math:`\sqrt{\pi_k}\, W (\mu_k - \mu)` have
        singular values s and vectors v, and :math:`a = W^T v` solves :math:`S_B a = s^2 \Sigma a`.
        Values that may be rounding of the means have no direction.
        """
        centre, last = shares @ self.means, self.n_classes - 1
        white = self.whitened(self.means - centre)
        _, sizes, axes = np.linalg.svd(np.sqrt(shares)[:, None] * white, full_matrices=False)
        noise = np.finfo(np.float64).eps * white.size * np.abs(self.whitened(self.means)).max()
        kept = sizes[:last] > noise
        axes, spread = axes[:last][kept], sizes[:last][kept] ** 2
        places = white @ axes.T
        axes[places.argmax(axis=0) < places.argmin(axis=0)] *= -1.0
        w = self._stack[0]
        return centre, axes @ w if w.ndim == 2 else axes * w, spread / spread.sum()

    # --- where the means are --------------------------------------------------------------------

    def _furthest(self, gaps: F64) -> float:
        """Return the largest squared length of one gap per class, in standard deviations."""
        if self.shape == "full":
            return np.inf  # each class is centred on its own mean
        white = self.whitened(gaps) if self.has_correlations else gaps * self._stack
        return float((white**2).sum(axis=1).max())

    @cached_property
    def centre(self) -> F64:
        """Return the point that rows are centred on: the middle of the means, or the origin.

        The origin if all means are near it in standard deviations: centring would save no digits.
        """
        if self._furthest(self.means) <= _NEAR:
            return np.zeros(self.n_features)
        return np.asarray(self.means.mean(axis=0))

    @cached_property
    def are_near(self) -> bool:
        """Tell whether the means are so near that distances may be expanded."""
        return self._furthest(self.means - self.centre) <= _NEAR

    def _centred(self, x: Any) -> F64:
        """Return rows less the centre, in float64; the rows themselves if that is the origin."""
        if self.centre.any():
            return np.asarray(np.subtract(x, self.centre, dtype=np.float64))
        return np.asarray(x, dtype=np.float64)

    # --- scores ---------------------------------------------------------------------------------

    def scores(self, x: Any, kind: Kind, first_row: int = 0) -> F64:
        """Score rows, (K, B); those with NaN by their observed entries.

        Discriminants are log densities up to a term that is the same for all classes of a row.
        Infinity is refused, by the number of the row, and so are rows too far away for numbers.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            if kind == "discriminants" and self.is_linear and self.are_near:
                weights, offsets = self._linear
                result = weights @ self._centred(x).T
                result += offsets[:, None]
            else:
                result = self.distances(x) if kind == "distances" else self.log_densities(x)
            odd = np.flatnonzero(~np.isfinite(result.sum(axis=0)))
            if odd.size:
                part = np.asarray(x[odd], dtype=np.float64)
                refuse_infinite(part, odd + first_row)
                result[:, odd] = self.scores_of_observed(part, kind)
                refuse_far(result[:, odd], odd + first_row)
        return result

    @cached_property
    def constants(self) -> F64:
        """Return the log density at the mean of each class, (K,)."""
        return np.asarray(-0.5 * (self.active.sum() * _LOG_2PI + self.log_determinants))

    @cached_property
    def _linear(self) -> tuple[F64, F64]:
        r"""Return :math:`\Sigma^{-1} (\mu_k - c)` and the offsets at the centre c, if shared."""
        gaps = self.means - self.centre
        return self.pulls(gaps), -0.5 * (self.whitened(gaps) ** 2).sum(axis=1)

    def log_densities(self, x: Any) -> F64:
        """Return the log density of each row under each class, (K, B)."""
        result = self.distances(x)
        result *= -0.5
        result += self.constants[:, None]
        return result

    def distances(self, x: Any) -> F64:
        """Return squared Mahalanobis distances of rows to each mean, (K, B)."""
        if self.has_correlations and not self.is_linear:
            result, z = np.full((self.n_classes, len(x)), np.nan), np.empty(x.shape)
            rows: Any = slice(None)
            for k in range(self.n_classes if len(x) else 0):
                np.subtract(x, self.means[k], out=z)
                w = self._stack[k % len(self._stack)]
                scipy.linalg.blas.dtrmm(1.0, w.T, z.T, trans_a=1, overwrite_b=1)
                result[k, rows] = np.einsum("ij,ij->i", z, z)
                if not k and np.isnan(result[0]).any():  # rows that lack something: not again
                    rows = np.flatnonzero(~np.isnan(result[0]))
                    x, z = x[rows], z[: len(rows)]
            result /= self._factors[:, None]
            return result
        if self.has_correlations:
            gaps = self.whitened(self.means - self.centre)
            return self._summed(self.whitened(self._centred(x)), gaps, np.ones(gaps.shape))
        return self._summed(self._centred(x), self.means - self.centre, self._scales)

    @property
    def _scales(self) -> F64:
        """Inverse deviations of independent features, (K, D)."""
        return np.broadcast_to(self._stack, self.means.shape)

    def _summed(self, z: F64, means: F64, scales: F64, seen: Any = None) -> F64:
        """Sum the squares of (z - mean) · scale of each class, (K, B), where z was seen."""
        if self.are_near:
            inverse = scales**2
            result = -2 * means * inverse @ z.T
            result += inverse @ np.square(z).T
            own = means**2 * inverse
            result += own.sum(axis=1)[:, None] if seen is None else own @ seen.T
            return np.maximum(result, 0.0, out=result)
        result = np.empty((len(means), len(z)))
        for k, mean in enumerate(means):
            gap = (z - (mean if seen is None else mean * seen)) * scales[k]
            np.einsum("ij,ij->i", gap, gap, out=result[k])
        return result

    # --- missing values -------------------------------------------------------------------------

    def scores_of_observed(self, x: F64, kind: Kind) -> F64:
        """Score rows with missing entries by the others, (K, n): exact marginals."""
        linear = kind == "discriminants" and self.is_linear and self.are_near
        if not self.has_correlations:
            return self._scores_apart(x, kind, linear=linear)
        x, means = x[:, np.flatnonzero(self.active)], self.means[:, self.active]
        result = np.zeros((self.n_classes, len(x)))
        shared = len(self._stack) == 1
        for part in self.parts(x):
            if part.hidden.all():
                continue  # nothing is observed, so all scores are zero, to the bit
            z = x[part.rows]
            for j in range(len(self._stack)):
                centre = self.centre[self.active] if shared else means[j]
                free = self.free(j, part)
                gaps = z - centre
                np.put_along_axis(gaps, part.gone, 0.0, axis=1)
                left = free.residuals(gaps)
                for k in range(self.n_classes) if shared else [j]:
                    own = free.residuals_of(means[k] - centre) if shared else 0.0
                    if linear:
                        result[k, part.rows] = np.einsum("ij,ij->i", own, left - 0.5 * own)
                        continue
                    gap = left - own if shared else left
                    squares = np.einsum("ij,ij->i", gap, gap) / self._factors[k]
                    if kind != "distances":
                        squares = self._log_density(squares, free, part, k)
                    result[k, part.rows] = squares
        return result

    def _log_density(self, squares: F64, free: _Free, part: _Part, k: int) -> F64:
        """Return log densities of what was observed, from its squared distances."""
        n_seen = part.hidden.shape[1] - part.gone.shape[1]
        logs = free.log_determinants + n_seen * (_LOG_2PI + np.log(self._factors[k]))
        return np.asarray(-0.5 * (squares + logs))

    def _scores_apart(self, x: F64, kind: Kind, *, linear: bool) -> F64:
        """Score independent features by those that are observed."""
        seen, means, scales = ~np.isnan(x), self.means - self.centre, self._scales
        z = np.where(seen, x - self.centre, 0.0)
        if linear:
            pulls = means * scales**2
            return np.asarray(pulls @ z.T - (0.5 * pulls * means) @ seen.T)
        result = self._summed(z, means, scales, seen)
        if kind != "distances":
            logs = _LOG_2PI - 2 * np.log(np.where(self.active, scales, 1.0))
            result += np.where(self.active, logs, 0.0) @ seen.T
            result *= -0.5
        return result

    def filled(self, x: F64, k: int) -> Iterator[tuple[Int, F64, Int, F64, F64]]:
        """Return rows with missing entries in parts, these replaced by their conditional means.

        Each part has the numbers of its rows, their values, the columns (n, m) that were missing
        and their conditional covariances, (n, m, m), and the log density of what was observed.
        Features without part get their mean.
        """
        inner, mean = x[:, self.active], self.means[k][self.active]
        values = np.where(np.isnan(x), self.means[k], x)
        if not self.has_correlations:
            logs = self._scores_apart(x, "densities", linear=False)[k]
            variances = self._scales[k][self.active] ** -2.0
        for part in self.parts(inner):
            columns, rows = np.flatnonzero(self.active)[part.gone], values[part.rows]
            if not self.has_correlations:
                spread = variances[part.gone][:, :, None] * np.eye(part.gone.shape[1])
                yield part.rows, rows, columns, spread, logs[part.rows]
                continue
            free = self.free(k % len(self._stack), part)
            gaps = np.where(part.hidden, 0.0, inner[part.rows] - mean)
            guesses, left = free.fitted(free.whitened(gaps))
            rows[:, self.active] = np.where(part.hidden, mean - guesses, inner[part.rows])
            squares = np.einsum("ij,ij->i", left, left) / self._factors[k]
            density = self._log_density(squares, free, part, k)
            yield part.rows, rows, columns, self._factors[k] * free.covariances, density

    def parts(self, x: F64) -> Iterator[_Part]:
        """Cut rows into parts with as many missing entries, small enough to be factored at once."""
        hidden = np.isnan(x)
        n_gone = hidden.sum(axis=1)
        for n in np.unique(n_gone):
            members = np.flatnonzero(n_gone == n)
            most = max(1, _FACTOR_BYTES // (8 * max(x.shape[1], 1) * max(int(n), 1)))
            for block in check.blocks(len(members), most):
                yield _Part(members[block], hidden[members[block]], int(n))

    def free(self, j: int, part: _Part) -> _Free:
        """Get ready to leave missing entries out, under one matrix."""
        return _Free(self._stack[j][np.ix_(self.active, self.active)], part)

    # --- from moments, and back -----------------------------------------------------------------

    def log_likelihood(self, moments: ClassMoments) -> float:
        r"""Return :math:`\sum_i w_i \log p(x_i \mid y_i)` of the rows behind the moments.

        .. math:: -\tfrac12 \sum_k n_k (D \log 2\pi + \log |\Sigma_k|)
                  + \operatorname{tr}(\Sigma_k^{-1} S_k), \qquad
                  S_k \text{ about the model's mean}
        """
        gaps, stack = moments.means - self.means, self._stack
        if not self.has_correlations:
            on, weights = self.active, moments.feature_weights
            scales, squares = self._scales[:, on], np.atleast_2d(moments.diagonals())
            inner = float((squares[:, on] * stack[:, on] ** 2).sum())
            terms = _LOG_2PI - 2 * np.log(scales) + (gaps[:, on] * scales) ** 2
            return -0.5 * (inner + float((weights[:, on] * terms).sum()))
        inner = float(-2 * moments.weights @ self.constants)
        if self.is_linear:
            w, gap = stack[0], np.sqrt(moments.weights)[:, None] * self.whitened(gaps)
            return -0.5 * (inner + float(((w @ moments.pooled()) * w).sum() + (gap**2).sum()))
        for k, (n, gap) in enumerate(zip(moments.weights, gaps, strict=True)):
            w = self.whitener_of(k)
            inner += float(((w @ moments.scatter[k]) * w).sum() + n * ((w @ gap) ** 2).sum())
        return -0.5 * inner

    def sample(self, priors: F64, n: int, rng: np.random.Generator) -> tuple[F64, Int]:
        """Draw classes by their priors, and a row from each; features without part stay put."""
        codes = rng.choice(self.n_classes, size=n, p=priors)
        noise = rng.standard_normal((n, self.n_features))
        rows = self.means[codes]
        for k in np.unique(codes):
            here, w = np.flatnonzero(codes == k), self.whitener_of(k)
            z = noise[here][:, self.active]
            if w.ndim == 2:
                inner = w[np.ix_(self.active, self.active)]
                rows[np.ix_(here, self.active)] += scipy.linalg.solve_triangular(
                    inner, z.T, lower=True
                ).T
            else:
                rows[np.ix_(here, self.active)] += z / w[self.active]
        return rows, codes


class _Part:
    """Rows with as many missing entries: their numbers, what is hidden, and where, (n, m)."""

    def __init__(self, rows: Int, hidden: Bool, n_gone: int) -> None:
        self.rows, self.hidden = rows, hidden
        self.gone: Int = np.nonzero(hidden)[1].reshape(len(rows), n_gone)

    @cached_property
    def patterns(self) -> tuple[Int, Any]:
        """A row of each distinct pattern, (S,), and the pattern of each row, (n,).

        If few rows share one, each is taken for its own.
        """
        first, which = _distinct(self.hidden)
        return (first, which) if 2 * len(first) < len(which) else (np.arange(len(which)), ...)


class _Free:
    r"""Leave missing entries out of whitened rows, exactly, by letting them be free.

    The distance of the observed entries is that of the nearest row that agrees with them: the
    least squares of :math:`W_o z_o + W_m z_m` over :math:`z_m`. With :math:`W_m = Q R`

        residual             (I - Q Qᵀ) W_o z_o
        log |Σ_oo|           log |Σ| + 2 log |det R|
        E[z_m | z_o]         -R⁻¹ Qᵀ W_o z_o
        Cov[z_m | z_o]       R⁻¹ R⁻ᵀ

    and errors grow with the condition of W, the square root of that of Σ. Patterns that rows share
    are factored once.
    """

    def __init__(self, factor: F64, part: _Part) -> None:
        self._w, self._part = factor, part
        self._patterns, self._which = part.patterns
        self._gone = part.gone[self._patterns]
        self._q, self._r = _orthogonalise(factor.T[self._gone])
        logs = np.log(np.diagonal(self._r, axis1=1, axis2=2)).sum(axis=1)
        base = -2 * float(np.log(np.diagonal(factor)).sum())
        #: log |Σ_oo| of each row, without the proportions.
        self.log_determinants: F64 = (base + 2 * logs)[self._which]

    def whitened(self, gaps: F64) -> F64:
        """Multiply rows by the factor."""
        return np.asarray(gaps @ self._w.T)

    def residuals(self, gaps: F64) -> F64:
        """Return rows, zero where missing, in the space where their length is the distance."""
        white = self.whitened(gaps)
        return white - self._projected(white)[1]

    def residuals_of(self, gap: F64) -> F64:
        """Return the same for one gap of all rows, which is factored once for each pattern."""
        white = self.whitened(np.where(self._part.hidden[self._patterns], 0.0, gap))
        inner = np.einsum("nd,nmd->nm", white, self._q)
        return np.asarray((white - np.einsum("nm,nmd->nd", inner, self._q))[self._which])

    def fitted(self, white: F64) -> tuple[F64, F64]:
        """Return the missing entries with the opposite sign, zero elsewhere, and the residuals."""
        inner, near = self._projected(white)
        guesses = np.zeros_like(white)
        values = np.einsum("nij,nj->ni", self._inverse[self._which], inner)
        np.put_along_axis(guesses, self._part.gone, values, axis=1)
        return guesses, white - near

    def _projected(self, white: F64) -> tuple[F64, F64]:
        """Return Qᵀ of each row, and the part of the row that lies in Q."""
        q = self._q[self._which]
        inner = np.einsum("nd,nmd->nm", white, q)
        return inner, np.einsum("nm,nmd->nd", inner, q)

    @cached_property
    def _inverse(self) -> F64:
        """Return R⁻¹ of each pattern, (S, m, m)."""
        return np.asarray(np.linalg.inv(self._r), dtype=np.float64)

    @property
    def covariances(self) -> F64:
        """Conditional covariance of the missing entries of each row, (n, m, m)."""
        return (self._inverse @ self._inverse.swapaxes(1, 2))[self._which]

    def pulled(self, slopes: F64, gaps: F64) -> tuple[F64, F64]:
        """Return mean and variance of slopes · missing entries of each row, given the others.

        Of a matrix of slopes, one column for each of several sums, the covariance of these.
        """
        own = np.einsum("nji,nj...->ni...", self._inverse, slopes[self._gone])
        inner = self._projected(self.whitened(gaps))[0]
        mean = -np.einsum("ij...,ij->i...", own[self._which], inner)
        squares = (own**2).sum(axis=1) if own.ndim == 2 else own.swapaxes(1, 2) @ own
        return mean, squares[self._which]


def _orthogonalise(columns: F64) -> tuple[F64, F64]:
    """Return Q, (S, m, D), and R, (S, m, m), of S sets of m columns, given as (S, m, D).

    Gram and Schmidt's way, twice, is orthogonal to rounding, as reflections are, and goes through
    all sets at once: Giraud et al., Numerische Mathematik 101, 2005.
    """
    q, r = columns.copy(), np.zeros((*columns.shape[:2], columns.shape[1]))
    for j in range(columns.shape[1]):
        own, before = q[:, j], q[:, :j]
        for _ in range(2 if j else 0):
            inner = np.einsum("sd,sid->si", own, before)
            own -= np.einsum("si,sid->sd", inner, before)
            r[:, :j, j] += inner
        r[:, j, j] = np.sqrt(np.einsum("sd,sd->s", own, own))
        own /= r[:, j, j, None]
    return q, r


def _distinct(hidden: Bool) -> tuple[Int, Int]:
    """Return a row of each distinct pattern, and the pattern of each row."""
    packed: Any = np.packbits(np.pad(hidden, ((0, 0), (0, 64 - hidden.shape[1] % 64))), axis=1)
    words = packed.view(np.uint64)
    keys = words[:, 0] if words.shape[1] == 1 else packed.view(f"V{packed.shape[1]}")[:, 0]
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return first, which


def refuse_infinite(x: F64, rows: Int) -> None:
    """Refuse infinity, which is neither a value nor missing."""
    wrong = np.isinf(x)
    if wrong.any():
        i, j = (int(each) for each in np.argwhere(wrong)[0])
        raise InputError(
            f"X contains infinity, in row {int(rows[i])}, column {j}. Missing values are NaN."
        )


def refuse_far(scores: F64, rows: Int) -> None:
    """Refuse rows whose densities are not numbers."""
    far = ~np.isfinite(scores.sum(axis=0))
    if far.any():
        raise InputError(
            f"Row {int(rows[far.argmax()])} is so far from a class that its density is not a "
            "number. Check its values and their unit."
        )
