r"""Gaussians with missing entries: rows grouped by pattern, each pattern factored once.

With P = Σ⁻¹, observed entries o and missing entries m, and z = x - μ with zeros at m:

    distance   z_oᵀ Σ_oo⁻¹ z_o = zᵀ P z - uᵀ P_mm⁻¹ u,   u = (P z)_m
    log |Σ_oo| = log |Σ| + log |P_mm|
    E[z_m | z_o] = -P_mm⁻¹ u,   Cov[z_m | z_o] = P_mm⁻¹

so that only the m×m block is factored. Where more is missing than observed, or P is too
ill-conditioned for the difference (``stable`` is false), Σ_oo is factored instead.

Patterns come as ``starts`` (S + 1 offsets into the rows, which are sorted by pattern) and
``missing`` (S, D). All arrays are float64 and C-contiguous.
"""

import math

import numpy as np

from credo._kernels.tiers import kernel


@kernel
def _split(mask, gone, seen):
    """List the missing and the observed entries; give how many are missing."""
    n_gone = 0
    n_seen = 0
    for j in range(mask.shape[0]):
        if mask[j]:
            gone[n_gone] = j
            n_gone += 1
        else:
            seen[n_seen] = j
            n_seen += 1
    return n_gone


@kernel
def _factor(matrix, index, n, factor):
    """Write the Cholesky factor of matrix[index, index] (n of them); give its log determinant."""
    total = 0.0
    for i in range(n):
        for j in range(i + 1):
            s = matrix[index[i], index[j]]
            for t in range(j):
                s -= factor[i, t] * factor[j, t]
            if i == j:
                pivot = math.sqrt(max(s, 0.0))
                factor[i, i] = pivot
                total += math.log(pivot) if pivot > 0.0 else -math.inf
            else:
                factor[i, j] = s / factor[j, j]
    return 2.0 * total


@kernel
def _forward(factor, n, b):
    """Solve L v = b in place; give the squared length of v."""
    total = 0.0
    for i in range(n):
        s = b[i]
        for t in range(i):
            s -= factor[i, t] * b[t]
        b[i] = s / factor[i, i]
        total += b[i] * b[i]
    return total


@kernel
def _backward(factor, n, b):
    """Solve Lᵀ v = b in place."""
    for i in range(n - 1, -1, -1):
        s = b[i]
        for t in range(i + 1, n):
            s -= factor[t, i] * b[t]
        b[i] = s / factor[i, i]


@kernel
def _fill_by_precision(gone, n_gone, factor, total, b, spread):
    """Add ``total`` times P_mm⁻¹ to the missing block of ``spread``."""
    for c in range(n_gone):
        for a in range(n_gone):
            b[a] = 0.0
        b[c] = 1.0
        _forward(factor, n_gone, b)
        _backward(factor, n_gone, b)
        for a in range(n_gone):
            spread[gone[a], gone[c]] += total * b[a]


@kernel
def _fill_by_covariance(covariance, gone, seen, n_gone, n_seen, factor, total, b, spread):
    """Add ``total`` times Σ_mm - Σ_mo Σ_oo⁻¹ Σ_om to the missing block of ``spread``."""
    for c in range(n_gone):
        for a in range(n_seen):
            b[a] = covariance[seen[a], gone[c]]
        _forward(factor, n_seen, b)
        _backward(factor, n_seen, b)
        for d in range(n_gone):
            s = covariance[gone[d], gone[c]]
            for a in range(n_seen):
                s -= covariance[gone[d], seen[a]] * b[a]
            spread[gone[d], gone[c]] += total * s


@kernel(visits=5)
def marginal_rows(
    z,
    pz,
    starts,
    missing,
    precision,
    covariance,
    log_determinant,
    stable,
    distances,
    determinants,
    fill,
    weights,
    spread,
):
    """Write the distance of the observed part of each row, and log |Σ_oo|, (n,) each.

    ``z`` are rows less the mean, zero where missing, and ``pz`` their products with P. With
    ``fill``, missing entries of z are replaced by their conditional means, in place, and the
    conditional covariances times the weights are added to ``spread``, (D, D).
    """
    size = z.shape[1]
    gone = np.empty(size, np.intp)
    seen = np.empty(size, np.intp)
    factor = np.empty((size, size))
    b = np.empty(size)
    for p in range(missing.shape[0]):
        n_gone = _split(missing[p], gone, seen)
        n_seen = size - n_gone
        by_precision = stable and n_gone <= n_seen
        if by_precision:
            log_det = log_determinant + _factor(precision, gone, n_gone, factor)
        else:
            log_det = _factor(covariance, seen, n_seen, factor)
        weight = 0.0
        for i in range(starts[p], starts[p + 1]):
            determinants[i] = log_det
            if by_precision:
                total = 0.0
                for j in range(size):
                    total += z[i, j] * pz[i, j]
                for a in range(n_gone):
                    b[a] = -pz[i, gone[a]]
                distances[i] = max(total - _forward(factor, n_gone, b), 0.0)
            else:
                for a in range(n_seen):
                    b[a] = z[i, seen[a]]
                distances[i] = _forward(factor, n_seen, b)
            if not fill:
                continue
            weight += weights[i]
            if by_precision:
                _backward(factor, n_gone, b)
                for a in range(n_gone):
                    z[i, gone[a]] = b[a]
            else:
                _backward(factor, n_seen, b)
                for c in range(n_gone):
                    s = 0.0
                    for a in range(n_seen):
                        s += covariance[gone[c], seen[a]] * b[a]
                    z[i, gone[c]] = s
        if fill and by_precision:
            _fill_by_precision(gone, n_gone, factor, weight, b, spread)
        elif fill:
            _fill_by_covariance(covariance, gone, seen, n_gone, n_seen, factor, weight, b, spread)


@kernel(visits=5)
def marginal_shared(
    z,
    pz,
    zh,
    starts,
    missing,
    precision,
    covariance,
    gaps,
    pulls,
    lengths,
    log_determinant,
    stable,
    scores,
    distances,
    determinants,
):
    """Score the observed part of each row for classes that share a covariance.

    ``z`` are rows less a centre, zero where missing, ``pz`` their products with P; ``gaps`` the
    means less the centre, (K, D), ``pulls`` their products with P, ``zh`` those of z with the
    pulls, (n, K), ``lengths`` gapᵀ P gap, (K,). Writes the scores gap_oᵀ Σ_oo⁻¹ (z_o - gap_o / 2),
    (n, K), and the distance to the centre and log |Σ_oo|, (n,) each. With L Lᵀ = P_mm the missing
    part of each product is (L⁻¹ u)ᵀ (L⁻¹ h_m), h the pull.
    """
    size = z.shape[1]
    n_classes = gaps.shape[0]
    gone = np.empty(size, np.intp)
    seen = np.empty(size, np.intp)
    factor = np.empty((size, size))
    b = np.empty(size)
    white = np.empty((n_classes, size))
    half = np.empty(n_classes)
    for p in range(missing.shape[0]):
        n_gone = _split(missing[p], gone, seen)
        n_seen = size - n_gone
        by_precision = stable and n_gone <= n_seen
        if by_precision:
            n, index, log_det, source = n_gone, gone, log_determinant, pulls
            log_det += _factor(precision, gone, n_gone, factor)
        else:
            n, index, log_det, source = n_seen, seen, 0.0, gaps
            log_det += _factor(covariance, seen, n_seen, factor)
        for k in range(n_classes):
            for a in range(n):
                white[k, a] = source[k, index[a]]
            length = _forward(factor, n, white[k])
            half[k] = -0.5 * (lengths[k] - length if by_precision else length)
        for i in range(starts[p], starts[p + 1]):
            determinants[i] = log_det
            total = 0.0
            if by_precision:
                for j in range(size):
                    total += z[i, j] * pz[i, j]
            for a in range(n):
                b[a] = pz[i, index[a]] if by_precision else z[i, index[a]]
            length = _forward(factor, n, b)
            distances[i] = max(total - length, 0.0) if by_precision else length
            for k in range(n_classes):
                dot = 0.0
                for a in range(n):
                    dot += b[a] * white[k, a]
                scores[i, k] = half[k] + (zh[i, k] - dot if by_precision else dot)
