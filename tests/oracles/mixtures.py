"""A slow twin of ``MixtureClassifier``: EM for one class, row by row, from a given start."""

import numpy as np
from scipy import stats


def log_likelihood(rows, shares, means, covariances):
    """Add up log Σ_c w_c N(x | μ_c, Σ_c) over what was observed of each row."""
    total = 0.0
    for row in rows[~np.isnan(rows).all(axis=1)]:
        seen = ~np.isnan(row)
        parts = [
            w * stats.multivariate_normal(m[seen], s[np.ix_(seen, seen)]).pdf(row[seen])
            for w, m, s in zip(shares, means, covariances, strict=True)
        ]
        total += np.log(sum(parts))
    return total


def step(rows, shares, means, covariances):
    """Take one step of EM: parts of rows, filled in with what is expected, and their moments.

    Rows of which nothing was observed say nothing, and are left out.
    """
    size = rows.shape[1]
    weights, sums, squares = [], [], []
    for w, m, s in zip(shares, means, covariances, strict=True):
        weights.append(0.0), sums.append(np.zeros(size)), squares.append(np.zeros((size, size)))
        for row in rows[~np.isnan(rows).all(axis=1)]:
            seen = ~np.isnan(row)
            own = [
                v * stats.multivariate_normal(a[seen], b[np.ix_(seen, seen)]).pdf(row[seen])
                for v, a, b in zip(shares, means, covariances, strict=True)
            ]
            mine = w * stats.multivariate_normal(m[seen], s[np.ix_(seen, seen)]).pdf(row[seen])
            r, x, spread = mine / sum(own), row.copy(), np.zeros((size, size))
            gone = ~seen
            if gone.any():
                pull = s[np.ix_(gone, seen)] @ np.linalg.inv(s[np.ix_(seen, seen)])
                x[gone] = m[gone] + pull @ (row[seen] - m[seen])
                left = s[np.ix_(gone, gone)] - pull @ s[np.ix_(seen, gone)]
                spread[np.ix_(gone, gone)] = left
            weights[-1] += r
            sums[-1] = sums[-1] + r * x
            squares[-1] = squares[-1] + r * (np.outer(x, x) + spread)
    n = np.array(weights)
    means = np.array(sums) / n[:, None]
    outer = means[:, :, None] * means[:, None, :]
    return n / n.sum(), means, np.array(squares) / n[:, None, None] - outer


def distance_from_one_peak(x):
    """Return how far sorted numbers are from one peak, by chords between all pairs of them."""
    n = len(x)

    def above_convex(x, m):
        i, k = np.triu_indices(m + 1, 1)
        worst = 0.0
        for j in range(m):
            over = (i <= j) & (j <= k)
            slope = (k[over] - i[over]) / n / (x[k[over]] - x[i[over]])
            chord = i[over] / n + slope * (x[j] - x[i[over]])
            worst = max(worst, (j + 1) / n - chord.min())
        return worst

    mirrored = -x[::-1]
    return min(max(above_convex(x, m), above_convex(mirrored, n - 1 - m)) for m in range(n))
