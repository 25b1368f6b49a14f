"""Logistic regression as in a textbook: one row at a time, every matrix written out."""

import numpy as np
from scipy.optimize import linprog
from scipy.special import log_softmax, softmax


def rows_of(seed, n=200, n_features=3, n_classes=3, noise=2.0):
    """Rows, codes: overlapping classes, columns of several units."""
    rng = np.random.default_rng(seed)
    plain = rng.normal(size=(n, n_features)) @ (
        np.eye(n_features) + 0.3 * rng.normal(size=(n_features, n_features))
    )
    truth = rng.normal(size=(n_classes, n_features))
    scores = plain @ truth.T + noise * rng.gumbel(size=(n, n_classes))
    units = 10.0 ** rng.integers(-2, 3, size=n_features)
    return plain * units + rng.normal(size=n_features) * units, scores.argmax(axis=1)


def with_ones(X, *, intercept=True):
    return np.column_stack([X, np.ones(len(X))]) if intercept else np.asarray(X)


def log_likelihood(X, codes, coef, intercept, weights=None):
    """Sum of w log p(y | x), of symmetric coefficients or one logit."""
    scores = X @ coef.T + intercept
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros(len(X)), scores])
    own = log_softmax(scores, axis=1)[np.arange(len(X)), codes]
    return own.sum() if weights is None else weights @ own


def gradient(X, codes, coef, intercept, weights=None):
    """Gradient of minus the log-likelihood: one row per logit, the intercept last."""
    scores = X @ coef.T + intercept
    w = np.ones(len(X)) if weights is None else weights
    if scores.shape[1] == 1:
        residuals = (softmax(np.column_stack([0 * scores, scores]), axis=1)[:, 1] - codes)[:, None]
    else:
        residuals = softmax(scores, axis=1) - np.eye(scores.shape[1])[codes]
    return (residuals * w[:, None]).T @ with_ones(X)


def hessian(u, probabilities, weights):
    """Hessian over differences from class 0, row by row: w (diag p - p pᵀ) ⊗ u uᵀ."""
    n_logits = probabilities.shape[1] - 1
    total = np.zeros((n_logits * u.shape[1],) * 2)
    for row, p, w in zip(u, probabilities[:, 1:], weights, strict=True):
        total += w * np.kron(np.diag(p) - np.outer(p, p), np.outer(row, row))
    return total


def newton(X, codes, weights=None, *, intercept=True, n_steps=60):
    """Coefficients (K - 1, P) against class 0, intercept last, and their covariance."""
    scale = X.std(axis=0)
    u = with_ones((X - X.mean(axis=0)) / scale if intercept else X / scale, intercept=intercept)
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    n_classes = int(codes.max()) + 1
    onehot = np.eye(n_classes)[codes]
    theta = np.zeros((n_classes - 1, u.shape[1]))
    for _ in range(n_steps):
        p = softmax(np.column_stack([np.zeros(len(u)), u @ theta.T]), axis=1)
        slope = ((p - onehot)[:, 1:] * w[:, None]).T @ u
        step = np.linalg.solve(hessian(u, p, w), slope.ravel()).reshape(theta.shape)
        theta = theta - step * min(1.0, 2.0 / np.abs(step).max())
        if np.abs(step).max() < 1e-13:
            break
    back = np.diag(np.append(1 / scale, 1.0)) if intercept else np.diag(1 / scale)
    if intercept:
        back[-1, :-1] = -X.mean(axis=0) / scale
    covariance = np.linalg.inv(hessian(u, p, w))
    both = np.kron(np.eye(n_classes - 1), back)
    return theta @ back.T, both @ covariance @ both.T


def separation(X, codes):
    """The kind of separation, or None: linear programmes over all margins at once."""
    u = with_ones((X - X.mean(axis=0)) / X.std(axis=0))
    n_classes = int(codes.max()) + 1
    margins = []
    for row, own in zip(u, codes, strict=True):
        for other in range(n_classes):
            if other != own:
                margin = np.zeros((n_classes, u.shape[1]))
                margin[own] += row
                margin[other] -= row
                margins.append(margin.ravel())
    margins = np.array(margins)
    n = margins.shape[1]
    widest = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.column_stack([-margins, np.ones(len(margins))]),
        b_ub=np.zeros(len(margins)),
        bounds=[(-1, 1)] * n + [(None, None)],
    )
    if -widest.fun > 1e-7:
        return "complete"
    furthest = linprog(
        -margins.sum(axis=0), A_ub=-margins, b_ub=np.zeros(len(margins)), bounds=[(-1, 1)] * n
    )
    return "quasi-complete" if -furthest.fun > 1e-5 else None


def highest_likelihood(X, codes):
    """The supremum of the mean log-likelihood, nearly: Newton steps while a ridge goes to zero."""
    u = with_ones((X - X.mean(axis=0)) / X.std(axis=0))
    n_classes = int(codes.max()) + 1
    onehot, theta = np.eye(n_classes)[codes], np.zeros((n_classes - 1, u.shape[1]))
    for ridge in 10.0 ** -np.arange(0, 8):
        for _ in range(50):
            p = softmax(np.column_stack([np.zeros(len(u)), u @ theta.T]), axis=1)
            slope = (p - onehot)[:, 1:].T @ u + ridge * theta
            bends = np.einsum("ik,kj->ikj", p[:, 1:], np.eye(n_classes - 1))
            bends -= p[:, 1:, None] * p[:, None, 1:]
            curve = np.einsum("ikj,ia,ib->kajb", bends, u, u, optimize=True)
            curve = curve.reshape(theta.size, theta.size) + ridge * np.eye(theta.size)
            step = np.linalg.solve(curve, slope.ravel()).reshape(theta.shape)
            theta = theta - step * min(1.0, 2.0 / np.abs(step).max())
            if np.abs(step).max() < 1e-6:
                break
    scores = np.column_stack([np.zeros(len(u)), u @ theta.T])
    return log_softmax(scores, axis=1)[np.arange(len(u)), codes].mean()


def coded(rows, seen, *, flags=True):
    """Rows as numbers, cell by cell; ``seen`` are those of fit, None is missing.

    Categories are zeros and ones without the first; what fit has not seen counts as the mean of the
    column's numbers; flags of missing cells come last.
    """
    table, ends = [[] for _ in rows], [[] for _ in rows]
    for j in range(len(seen[0])):
        cells = [row[j] for row in seen]
        known = [cell for cell in cells if cell is not None]
        is_flagged = flags and len(known) < len(cells)
        words = sorted(set(known)) if isinstance(known[0], str) else None
        if words is None:
            means = [sum(known) / len(known)]
        else:
            means = [cells.count(word) / len(cells) for word in words[1:]]
        for row, numbers, end in zip(rows, table, ends, strict=True):
            cell = row[j]
            is_word = words is not None and (cell in words or (cell is None and is_flagged))
            if is_word:
                numbers.extend(float(cell == word) for word in words[1:])
            elif words is None and cell is not None:
                numbers.append(float(cell))
            else:
                numbers.extend(means)
            if is_flagged:
                is_strange = words is not None and cell is not None and cell not in words
                end.append(cells.count(None) / len(cells) if is_strange else float(cell is None))
    return np.array([numbers + end for numbers, end in zip(table, ends, strict=True)])


def distinct(X, codes, weights):
    """The first row of each kind, its class, and what all of its kind weigh."""
    found = {}
    for row, code, weight in zip(X.tolist(), codes.tolist(), weights.tolist(), strict=True):
        found[tuple(row), code] = found.get((tuple(row), code), 0.0) + weight
    rows = np.array([row for row, _ in found])
    return rows, np.array([code for _, code in found]), np.array([*found.values()])
