"""Slow twins of the Gaussian classifiers: loops over rows, sub-matrices, exact fractions."""

from dataclasses import dataclass
from fractions import Fraction
from math import fsum, log, pi
from typing import Any

import numpy as np
from scipy import optimize
from scipy.stats import multivariate_normal
from tests.oracles.rational import log_of, solve

from credo.families.class_gaussians import ClassGaussians
from credo.families.moments import ClassMoments

CORRELATED = ("full", "proportional", "tied")
LINEAR = ("tied", "tied_diagonal", "tied_spherical")
SHAPES = (*CORRELATED, "diagonal", "tied_diagonal", "spherical", "tied_spherical")
LOG_2PI = log(2 * pi)


# --- rows ------------------------------------------------------------------------------------


def rows_of(seed, counts=(14, 19, 23), n_features=3, gap=1.5):
    """Correlated classes of different covariances; labels 0, 1, ... in mixed order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    mixers = rng.normal(size=(len(counts), n_features, n_features)) * 0.4 + np.eye(n_features)
    centres = gap * rng.normal(size=(len(counts), n_features))
    noise = rng.normal(size=(len(y), n_features))
    X = np.array([centres[k] + mixers[k] @ z for k, z in zip(y, noise, strict=True)])
    return X, y


def with_holes(X, seed, share=0.25):
    """The rows with some entries missing, at least one observed in each column."""
    holes = np.random.default_rng(seed).random(X.shape) < share
    return np.where(holes, np.nan, X)


# --- moments and estimates -------------------------------------------------------------------


@dataclass(frozen=True)
class Moments:
    """Rows and weight of one class, its mean and its scatter."""

    count: int
    weight: float
    mean: Any
    scatter: Any


@dataclass(frozen=True)
class Model:
    """Priors, means and covariance matrices, class by class."""

    labels: list[Any]
    priors: Any
    means: list[Any]
    covariances: list[Any]


def class_moments(X, y, weights=None):
    """Give the moments of each label with positive weight, by exact sums over rows."""
    w = np.ones(len(y)) if weights is None else weights
    found = {}
    for label in sorted({own for own, v in zip(y, w, strict=True) if v > 0}):
        rows = [(r, v) for r, own, v in zip(X, y, w, strict=True) if own == label and v > 0]
        total = fsum(v for _, v in rows)
        columns = range(X.shape[1])
        mean = np.array([fsum(v * r[j] for r, v in rows) / total for j in columns])
        scatter = [
            [fsum(v * (r[i] - mean[i]) * (r[j] - mean[j]) for r, v in rows) for j in columns]
            for i in columns
        ]
        found[label] = Moments(len(rows), total, mean, np.array(scatter))
    return found


def observed_variances(X, y, weights=None):
    """Give {label: (weights, means, scatters)} of each feature from its observed entries."""
    w = np.ones(len(y)) if weights is None else weights
    found = {}
    for label in sorted(set(y)):
        parts = []
        for column in X.T:
            seen = (y == label) & ~np.isnan(column) & (w > 0)
            total = fsum(w[seen])
            mean = fsum(w[seen] * column[seen]) / total
            parts.append((total, mean, fsum(w[seen] * (column[seen] - mean) ** 2)))
        found[label] = tuple(np.array(each) for each in zip(*parts, strict=True))
    return found


def covariances_of(found, shape):
    """Give the maximum-likelihood covariance matrix of each class, from the formulas."""
    parts = list(found.values())
    n, total = [m.weight for m in parts], fsum(m.weight for m in parts)
    size = len(parts[0].mean)
    own = [m.scatter / m.weight for m in parts]
    shared = sum(m.scatter for m in parts) / total
    if shape == "proportional":
        sigma, alphas = proportional(np.array([m.scatter for m in parts]), np.array(n))
        return [alpha * sigma for alpha in alphas]
    matrices = [shared] * len(parts) if shape in LINEAR else own
    if shape in ("diagonal", "tied_diagonal"):
        return [np.diag(np.diag(m)) for m in matrices]
    if shape in ("spherical", "tied_spherical"):
        return [np.trace(m) / size * np.eye(size) for m in matrices]
    return matrices


def fit(X, y, shape, weights=None, priors=None):
    """Fit a model of a shape to complete rows."""
    found = class_moments(X, y, weights)
    n = np.array([m.weight for m in found.values()])
    shares = n / n.sum() if priors is None else np.asarray(priors)
    means = [m.mean for m in found.values()]
    return Model(list(found), shares, means, covariances_of(found, shape))


def proportional(scatters, weights):
    """Maximise the likelihood of Σ_k = α_k Σ numerically over log α, Σ n log α = 0.

    At the best Σ = Σ_k S_k / α_k / N minus twice the log-likelihood is N log |Σ| and a constant.
    """
    total = weights.sum()
    if len(weights) == 1:
        return scatters[0] / total, np.ones(1)

    def spread(free):
        return np.append(free, -(weights[:-1] @ free) / weights[-1])

    def shared(free):
        return np.tensordot(np.exp(-spread(free)), scatters, axes=1) / total

    found = optimize.minimize(
        lambda free: np.linalg.slogdet(shared(free))[1],
        np.zeros(len(weights) - 1),
        method="BFGS",
        options={"gtol": 1e-9},
    )
    return shared(found.x), np.exp(spread(found.x))


# --- densities -------------------------------------------------------------------------------


def log_density(x, mean, covariance):
    """Give log p of the observed entries of one row, from the sub-matrix."""
    seen = ~np.isnan(x)
    if not seen.any():
        return 0.0
    block = covariance[np.ix_(seen, seen)]
    return float(multivariate_normal.logpdf(x[seen], np.asarray(mean)[seen], block))


def distance(x, mean, covariance):
    """Give the squared Mahalanobis distance of the observed entries of one row."""
    seen = ~np.isnan(x)
    gap = (x - mean)[seen]
    return float(gap @ np.linalg.solve(covariance[np.ix_(seen, seen)], gap))


def table(X, model, function):
    """Give a function of each row and each class, (n, K)."""
    pairs = list(zip(model.means, model.covariances, strict=True))
    return np.array([[function(x, m, c) for m, c in pairs] for x in X])


def log_joint(X, model):
    """Give log p(x, k), row by row and class by class."""
    with np.errstate(divide="ignore"):
        return table(X, model, log_density) + np.log(model.priors)


def posteriors(X, model):
    """Give p(k | x), row by row."""
    joint = log_joint(X, model)
    weights = np.exp(joint - joint.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def log_likelihood(X, y, model, weights=None):
    """Give the weighted sum of log p(x, y)."""
    w = np.ones(len(y)) if weights is None else weights
    joint = log_joint(X, model)
    return fsum(v * joint[i, model.labels.index(y[i])] for i, v in enumerate(w) if v > 0)


# --- missing entries -------------------------------------------------------------------------


def conditional(x, mean, covariance):
    """Give mean and covariance of one row given its observed entries, zero where observed."""
    gone = np.isnan(x)
    cross = covariance[np.ix_(gone, ~gone)]
    pull = np.linalg.solve(covariance[np.ix_(~gone, ~gone)], cross.T)
    filled = np.array(x, dtype=float)
    filled[gone] = mean[gone] + pull.T @ (x - mean)[~gone]
    left = np.zeros_like(covariance)
    left[np.ix_(gone, gone)] = covariance[np.ix_(gone, gone)] - pull.T @ cross.T
    return filled, left


def mixed_conditional(x, model):
    """Give mean and covariance of one row given its observed entries, over all classes."""
    shares = posteriors(x[None], model)[0]
    pairs = [conditional(x, m, c) for m, c in zip(model.means, model.covariances, strict=True)]
    mean = sum(s * filled for s, (filled, _) in zip(shares, pairs, strict=True))
    spread = sum(
        s * (left + np.outer(filled - mean, filled - mean))
        for s, (filled, left) in zip(shares, pairs, strict=True)
    )
    return mean, spread


def em_step(X, y, model, shape, weights=None):
    """Do one step of EM, row by row."""
    w = np.ones(len(y)) if weights is None else weights
    found = {}
    for k, label in enumerate(model.labels):
        here = [i for i in range(len(y)) if y[i] == label and w[i] > 0]
        pairs = [conditional(X[i], model.means[k], model.covariances[k]) for i in here]
        total = fsum(w[here])
        mean = sum(w[i] * filled for i, (filled, _) in zip(here, pairs, strict=True)) / total
        scatter = sum(
            w[i] * (left + np.outer(filled - mean, filled - mean))
            for i, (filled, left) in zip(here, pairs, strict=True)
        )
        found[label] = Moments(len(here), total, mean, scatter)
    means = [m.mean for m in found.values()]
    return Model(model.labels, model.priors, means, covariances_of(found, shape))


def maximise_observed(X, y, shape, start):
    """Maximise the likelihood of the observed entries over means and Cholesky factors."""
    classes, size = len(start.labels), X.shape[1]
    lower = np.tril_indices(size)
    n_factors = 1 if shape == "tied" else classes

    def unpack(values):
        means = values[: classes * size].reshape(classes, size)
        rest = values[classes * size :].reshape(n_factors, -1)
        matrices = []
        for part in rest:
            factor = np.zeros((size, size))
            factor[lower] = part
            matrices.append(factor @ factor.T)
        return Model(start.labels, start.priors, list(means), (matrices * classes)[:classes])

    roots = [np.linalg.cholesky(c)[lower] for c in start.covariances[:n_factors]]
    values = np.concatenate([np.ravel(start.means), np.ravel(roots)])
    found = optimize.minimize(
        lambda v: -log_likelihood(X, y, unpack(v)) / len(y),
        values,
        method="BFGS",
        options={"gtol": 1e-7},
    )
    return unpack(found.x)


# --- shrinkage -------------------------------------------------------------------------------


def ledoit_wolf(Z):
    """Give the amount of Ledoit and Wolf (2004), lemmas 3.2 to 3.4, for standardised rows Z."""
    n, size = Z.shape
    S = Z.T @ Z / n
    norm = np.linalg.norm  # their norm also divides by the size, which cancels
    d2 = norm(S - np.trace(S) / size * np.eye(size)) ** 2
    b2 = min(sum(norm(np.outer(z, z) - S) ** 2 for z in Z) / n**2, d2)
    return b2 / d2


def oas(S, n):
    """Give the amount of Chen, Wiesel, Eldar and Hero (2010), equation 23."""
    size = len(S)
    square, trace = np.trace(S @ S), np.trace(S)
    above = (1 - 2 / size) * square + trace**2
    below = (n + 1 - 2 / size) * (square - trace**2 / size)
    return min(1.0, above / below)


def shrunk(covariance, amount):
    """Multiply every correlation by one minus the amount."""
    result = (1 - amount) * covariance
    for j in range(len(covariance)):
        result[j, j] = covariance[j, j]
    return result


# --- exact arithmetic ------------------------------------------------------------------------


def _fractions(values):
    return [Fraction(float(v)) for v in values]


def exact_parts(x, mean, covariance):
    """Give distance, log determinant and filled row for one row, exact until the last rounding."""
    seen, gone = np.flatnonzero(~np.isnan(x)), np.flatnonzero(np.isnan(x))
    gap = [a - b for a, b in zip(_fractions(x[seen]), _fractions(mean[seen]), strict=True)]
    block = [_fractions(covariance[i, seen]) for i in seen]
    pulled, determinant = solve(block, [[g] for g in gap])
    pulled = [row[0] for row in pulled]
    length = sum(g * p for g, p in zip(gap, pulled, strict=True))
    filled = np.array(x, dtype=float)
    for j in gone:
        cross = _fractions(covariance[j, seen])
        move = sum(c * p for c, p in zip(cross, pulled, strict=True))
        filled[j] = float(Fraction(float(mean[j])) + move)
    return float(length), log_of(determinant), filled


def exact_log_density(x, mean, covariance):
    """Give log p of the observed entries of one row, exact until the last roundings."""
    length, log_determinant, _ = exact_parts(x, mean, covariance)
    n_seen = int((~np.isnan(x)).sum())
    return -0.5 * (length + log_determinant + n_seen * LOG_2PI)


def exact_moments(X):
    """Give mean and covariance of the rows (divided by N), exact until the last rounding."""
    columns = [_fractions(column) for column in X.T]
    means = [sum(column) / len(X) for column in columns]
    gaps = [[v - m for v in c] for c, m in zip(columns, means, strict=True)]
    cells = [[sum(a * b for a, b in zip(p, q, strict=True)) / len(X) for q in gaps] for p in gaps]
    return np.array([float(m) for m in means]), np.array([[float(c) for c in r] for r in cells])


# --- the same as the library's own objects ---------------------------------------------------


def as_class_moments(found, detail):
    """Put moments by label into the library's summary of a detail."""
    parts = list(found.values())
    scatters = np.array([m.scatter for m in parts])
    kept = {
        "full": scatters,
        "tied": scatters.sum(axis=0),
        "diagonal": np.array([np.diag(s) for s in scatters]),
    }[detail]
    counts, weights = [m.count for m in parts], [m.weight for m in parts]
    means = np.array([m.mean for m in parts])
    return ClassMoments(np.array(counts), np.array(weights), means, detail, kept)


def covariance_of(ours, k):
    """Give the covariance matrix of one class of the library's model."""
    own = ours.covariances if ours.shape in (*LINEAR, "proportional") else ours.covariances[k]
    if ours.shape not in CORRELATED:
        return np.diag(np.broadcast_to(own, ours.means.shape[1]))
    return own if ours.factors is None else own * ours.factors[k]


def as_class_gaussians(model, shape):
    """Put a model into the library's factored form, with NumPy's own factors."""
    matrices = np.array(model.covariances)
    factors = None
    if shape == "proportional":
        logs = np.linalg.slogdet(matrices)[1] / matrices.shape[1]
        factors = np.exp(logs - model.priors @ logs)
        matrices = matrices[:1] / factors[0]
    kept = matrices[0] if shape in (*LINEAR, "proportional") else matrices
    if shape in CORRELATED:
        covariances, whiteners = kept, np.tril(np.linalg.inv(np.linalg.cholesky(kept)))
    else:
        covariances = np.diagonal(kept, axis1=-2, axis2=-1)
        whiteners = np.ascontiguousarray(1 / np.sqrt(covariances))
        covariances = covariances[..., 0] if "spherical" in shape else covariances
    return ClassGaussians(
        shape=shape,
        means=np.array(model.means),
        covariances=np.array(covariances),
        whiteners=whiteners,
        log_determinants=np.linalg.slogdet(np.array(model.covariances))[1],
        active=np.ones(matrices.shape[1], dtype=bool),
        factors=factors,
    )


# --- Fisher's projection ---------------------------------------------------------------------


def fisher(model, shares):
    """Give Fisher's directions as rows and the ratios of scatter, by the eigenvalues of S_W⁻¹ S_B.

    Directions are scaled to variance one within the classes; of the two outermost classes along
    one, the later has the larger coordinate.
    """
    centre = sum(share * mean for share, mean in zip(shares, model.means, strict=True))
    between = sum(
        share * np.outer(mean - centre, mean - centre)
        for share, mean in zip(shares, model.means, strict=True)
    )
    within = model.covariances[0]
    values, vectors = np.linalg.eig(np.linalg.solve(within, between))
    order = np.argsort(-values.real)[: min(len(model.means) - 1, len(centre))]
    directions, ratios = [], []
    for i in order:
        a, ratio = vectors[:, i].real, values[i].real
        a = a / np.sqrt(a @ within @ a)
        places = [float(a @ mean) for mean in model.means]
        first, last = places.index(min(places)), places.index(max(places))
        directions.append(a if first < last else -a)
        ratios.append(ratio)
    return np.array(directions), np.array(ratios), centre
