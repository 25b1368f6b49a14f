"""Random fits against exact rational arithmetic: weights, missing values, means of 1e8."""

from fractions import Fraction

import numpy as np
import pytest
from tests.oracles import gaussians, naive_bayes, rational

from credo import GaussianClassifier, GaussianRegressor, NaiveBayes

EPS = np.finfo(float).eps
#: Twenty every day, a thousand in all if there is time.
SEEDS = pytest.mark.parametrize(
    "seeds",
    [range(20), pytest.param(range(20, 1000), marks=pytest.mark.slow)],
    ids=["everyday", "thousand"],
)


def table_of(rng, *, missing=0.0, whole=False):
    """Rows of eighths about a place that may be far, labels, and weights of which some are zero."""
    size, n_classes = rng.integers(1, 4), rng.integers(1, 4)
    n = int(rng.integers(4 * n_classes * (size + 2), 6 * n_classes * (size + 2)))
    y = np.append(np.repeat(np.arange(n_classes), size + 3), rng.integers(0, n_classes, n))
    X = rng.integers(-40, 41, (len(y), size)) / 8 + rng.integers(0, 9, (n_classes, size))[y]
    X = X * 2.0 ** rng.integers(-8, 9, size) + rng.choice([0.0, 0.0, 1e8, -3e6, 1e5], size)
    weights = rng.integers(0, 4, len(y)) / (1 if whole else rng.choice([1, 2, 8]))
    weights[: n_classes * (size + 3)] += 1
    X[rng.random(X.shape) < missing] = np.nan
    return X, y, weights


def exact_parts(X, y, weights):
    """Means, scatter and weights of each class, from the rows that count."""
    rows = [[rational.exact(v) for v in row] for row in X.tolist()]
    w = [Fraction(v) for v in weights.tolist()]
    every = [
        [i for i in range(len(y)) if y[i] == k and w[i] > 0] for k in sorted(set(y[weights > 0]))
    ]
    return [rational.scatters([rows[i] for i in own], [w[i] for i in own]) for own in every]


def least_eigenvalue(matrices):
    """Of the correlations of all classes; 0 if a variance is."""
    found = 1.0
    for matrix in np.array(matrices, dtype=float):
        scale = np.sqrt(np.diagonal(matrix))
        found = min(found, *np.linalg.eigvalsh(matrix / np.outer(scale, scale)), *(scale > 0))
    return found


def as_matrix(model, k):
    """The covariance matrix of a class, whatever the shape."""
    found, size = model.covariances_, model.means_.shape[1]
    found = found if model.covariance in gaussians.LINEAR else found[k]
    return found if np.ndim(found) > 1 else np.diag(np.broadcast_to(found, size))


def rounding(X, matrices, joint):
    """What rounding of rows, means and sums may move a log density by.

    Rows and means are rounded by ε max|x|, which is a share δ of the least standard deviation; a
    squared distance q, at most twice the log density and some, moves by (q + 1) D δ / λ, where λ
    is the least eigenvalue of the correlations. Eight of that for all that is added up.
    """
    spread = min(np.sqrt(np.diagonal(m).min()) for m in np.array(matrices, dtype=float))
    share = EPS * (1 + np.nanmax(np.abs(X)) / spread)
    size = X.shape[1]
    return (1 + np.abs(joint)) * (1e-10 + 8 * size**2 * share / least_eigenvalue(matrices))


def exact_log_joint(X, parts, matrices, priors):
    rows = [[rational.exact(v) for v in row] for row in X.tolist()]
    pairs = [(means, matrix) for (means, _, _), matrix in zip(parts, matrices, strict=True)]
    return np.array([[rational.log_normal(r, *pair) for pair in pairs] for r in rows]) + priors


def compare(shape, seed):
    """Compare a fit and its answers; tell whether the rows were fit for it."""
    rng = np.random.default_rng(seed)
    missing = 0.15 if shape not in gaussians.CORRELATED and seed % 2 else 0.0
    X, y, weights = table_of(rng, missing=missing)
    seen = [~np.isnan(X[(y == k) & (weights > 0)]) for k in set(y)]
    if min(s.sum(axis=0).min() for s in seen) < 2:
        return False
    parts = exact_parts(X, y, weights)
    matrices = rational.covariances(parts, shape)
    numbers = np.array(matrices, dtype=float)
    scales = np.sqrt(np.diagonal(numbers, axis1=1, axis2=2))
    if not scales.all() or least_eigenvalue(matrices) < 1e-3:
        return False
    model = GaussianClassifier(shape, singular="error").fit(X, y, weights)
    near = 4 * EPS * np.nanmax(np.abs(X), axis=0)
    means = np.array([m for m, _, _ in parts], dtype=float)
    assert (np.abs(model.means_ - means) <= near).all()
    units = scales[:, :, None] * scales[:, None, :]
    found = np.array([as_matrix(model, k) for k in range(len(means))])
    np.testing.assert_allclose(found / units, numbers / units, rtol=0, atol=1e-10)
    priors = np.log(np.bincount(y, weights) / weights.sum())
    holes = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    for rows in (X, holes[:4]):
        joint = exact_log_joint(rows, parts, matrices, priors)
        near = rounding(X, matrices, joint)
        assert (np.abs(model.log_joint(rows) - joint) < near).all()
        logs = joint - np.logaddexp.reduce(joint, axis=1)[:, None]
        far = 2 * near.max(axis=1, keepdims=True)
        assert (np.abs(model.predict_log_proba(rows) - logs) < far).all()
    return True


@SEEDS
@pytest.mark.parametrize("shape", [s for s in gaussians.SHAPES if s != "proportional"])
def test_gaussian_classifiers_are_exact(shape, seeds):
    assert sum(compare(shape, seed) for seed in seeds) > 0.7 * len(seeds)


@SEEDS
def test_proportional_covariances_solve_their_equations_exactly(seeds):
    """α_k = tr(Σ⁻¹ S_k) / (D n_k) and Σ = Σ_k S_k / α_k / n, at the α that was found."""
    done = 0
    for seed in seeds:
        X, y, weights = table_of(np.random.default_rng(seed))
        parts = exact_parts(X, y, weights)
        if least_eigenvalue(rational.covariances(parts, "full")) < 1e-3:
            continue
        model = GaussianClassifier("proportional", singular="error").fit(X, y, weights)
        size, alphas = X.shape[1], [Fraction(a) for a in model.proportions_.tolist()]
        n = [w[0][0] for _, _, w in parts]
        sigma = [
            [
                sum(s[i][j] / a for (_, s, _), a in zip(parts, alphas, strict=True)) / sum(n)
                for j in range(size)
            ]
            for i in range(size)
        ]
        scale = np.sqrt(np.diag(np.array(sigma, dtype=float)))
        unit = np.outer(scale, scale)
        np.testing.assert_allclose(
            model.covariances_ / unit, np.array(sigma, dtype=float) / unit, atol=1e-8
        )
        for (_, scatter, _), alpha, weight in zip(parts, alphas, n, strict=True):
            solved, _ = rational.solve(sigma, scatter)
            trace = sum(solved[j][j] for j in range(size))
            assert float(trace / (size * weight) / alpha) == pytest.approx(1, abs=1e-6), seed
        done += 1
    assert done > 0.7 * len(seeds)


@SEEDS
@pytest.mark.parametrize("amount", [0, 0.25], ids=["plain", "shrunk"])
def test_gaussian_regressors_are_exact(amount, seeds):
    done = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X, _, weights = table_of(rng)
        slopes = rng.integers(-3, 4, X.shape[1]) / 4
        target = X @ slopes + rng.integers(-40, 41, len(X)) * 2.0 ** rng.integers(-3, 5)
        both = np.column_stack([X, target])
        parts = exact_parts(both, np.zeros(len(X), int), weights)
        (covariance,) = rational.covariances(parts, "full")
        for i, j in np.argwhere(~np.eye(len(covariance), dtype=bool)):
            covariance[i][j] *= 1 - Fraction(amount)
        if least_eigenvalue([covariance]) < 1e-3:
            continue
        model = GaussianRegressor(shrinkage=amount or None, singular="error").fit(
            X, target, weights
        )
        asked = np.vstack([X[:4], np.where(rng.random(X.shape) < 0.4, np.nan, X)[:4]])
        expected = [
            rational.predict_last([rational.exact(v) for v in row], parts[0][0], covariance)
            for row in asked.tolist()
        ]
        mean, std = model.predict(asked, return_std=True)
        near = rounding(both, [covariance], 1.0)
        spread = float(covariance[-1][-1]) ** 0.5
        far = np.abs(both[:, -1]).max() * EPS * 4 + 4 * near * spread
        np.testing.assert_allclose(mean, [float(m) for m, _ in expected], rtol=0, atol=far)
        np.testing.assert_allclose(std**2, [float(v) for _, v in expected], rtol=4 * near)
        done += 1
    assert done > 0.7 * len(seeds)


@SEEDS
def test_naive_bayes_loses_nothing_far_from_zero(seeds):
    """Eighths are exact wherever they are: the twin sees them about zero."""
    far = np.array([1e8, -3e6, 1e5, 1e8])
    families = {0: "gaussian", 1: "laplace", (2, 3): "multivariate_gaussian"}
    without_last = {0: "gaussian", 1: "laplace", 2: "gaussian"}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        y = np.append(np.repeat([0, 1, 2], 6), rng.integers(0, 3, 12))
        weights = np.append(np.ones(18), rng.integers(0, 4, 12)).astype(float)
        X = rng.integers(-40, 41, (len(y), 4)) / 8 + y[:, None]
        model = NaiveBayes(families, variance_floor=0).fit(X + far, y, weights)
        for own, rows in ((families, X), (without_last, np.where(np.arange(4) == 3, np.nan, X))):
            twin = naive_bayes.fit(X.tolist(), y, own, weights=weights, variance_floor=0)
            expected = twin.log_joint(X.tolist())
            # values near 1e8 are rounded by 1e8 ε, a share of 1e-8 of their deviations
            near = {"rtol": 1e-9, "atol": 1e-7, "err_msg": f"seed {seed}"}
            np.testing.assert_allclose(model.log_joint(rows + far), expected, **near)
