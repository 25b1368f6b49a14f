"""Laws of the Gaussian classifiers and of the regressor, on rows drawn at random."""

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from tests.oracles import gaussians as oracle

import credo
from credo import GaussianClassifier
from credo.classifiers.regression import GaussianRegressor

SHAPES = pytest.mark.parametrize("shape", oracle.SHAPES)
CORRELATED = pytest.mark.parametrize("shape", oracle.CORRELATED)
INDEPENDENT = pytest.mark.parametrize(
    "shape", [shape for shape in oracle.SHAPES if shape not in oracle.CORRELATED]
)


@st.composite
def problems(draw, most_classes=4):
    """Rows, labels and weights; every class has more rows than features."""
    seed = draw(st.integers(0, 2**32 - 1))
    size = draw(st.integers(1, 4))
    counts = draw(st.lists(st.integers(size + 4, 20), min_size=2, max_size=most_classes))
    X, y = oracle.rows_of(seed, tuple(counts), size, gap=draw(st.sampled_from([0.0, 1.0, 5.0])))
    weights = np.random.default_rng(seed).integers(1, 4, len(y)).astype(float)
    return X, y, weights


@st.composite
def batches(draw, n):
    """A cut of n rows into batches, in any order."""
    order = np.array(draw(st.permutations(range(n))))
    cuts = sorted(draw(st.lists(st.integers(1, n - 1), max_size=6, unique=True)))
    return np.split(order, cuts)


def shares_of_rounding(model, X):
    """The η, and the ρ of each class, that `assert_same` allows for."""
    variances, least = model.covariances_, 1.0
    if model.covariance in oracle.CORRELATED:
        variances = np.diagonal(model.covariances_, axis1=-2, axis2=-1)
        scales = np.sqrt(variances)
        correlations = model.covariances_ / (scales[..., :, None] * scales[..., None, :])
        least = np.linalg.eigvalsh(correlations).min(axis=-1)
    if model.covariance == "proportional":
        variances = variances * model.proportions_.min()
    far = np.nanmax(np.abs(X)) / np.sqrt(variances.min())
    moved = 8 * np.sqrt(3 * len(X)) * (1 + far) * np.finfo(float).eps  # weights are at most three
    return moved, X.shape[1] * moved / least


def assert_same(one, other, X, tol=1e-9):
    """Two fits of the same rows agree, up to what rounding does to nearly collinear rows.

    Sums in another order move an entry W s_i s_j r_ij of the scatter (W is the weight, s standard
    deviations) by η W s_i s_j at most, with η = 8 √n (1 + a) ε and a = max|x| / s: √n ε for the
    sum, because Σ w |x_i - m_i| |x_j - m_j| ≤ W s_i s_j and n roundings add up like √n (Higham and
    Mary 2019), and the rest for x - m and the means of parts, which are rounded by √n ε max|x|. So
    the correlations R of D features move by a matrix of norm D η, and their eigenvalues by the
    share ρ = D η / λ, where λ is the least of them. Hence

        |Δ ln det R| ≤ D ρ / (1 - ρ),    |Δ q| ≤ q ρ / (1 - ρ) + 2 √(q / λ) √D η

    for q = zᵀ R⁻¹ z and z = (x - m) / s, each of whose entries moves by η. For ρ ≤ 1/2 these are
    at most 2 D ρ and 2 q ρ + (q + 1) D ρ, because η / √λ ≤ ρ and 2 √q ≤ q + 1. A log density has
    half of both; the log-likelihood is -W ln det R / 2 and what does not depend on R.
    """
    np.testing.assert_array_equal(one.classes_, other.classes_)
    np.testing.assert_allclose(one.priors_, other.priors_, rtol=tol)
    np.testing.assert_allclose(one.means_, other.means_, rtol=tol, atol=tol)
    scale = np.abs(other.covariances_).max()
    np.testing.assert_allclose(one.covariances_, other.covariances_, rtol=tol, atol=tol * scale)
    moved, shares = shares_of_rounding(other, X)
    assume(np.max(shares) < 0.5)
    size, joint, q = X.shape[1], other.log_joint(X), other.mahalanobis(X)
    near = 1e-7 * (1 + np.abs(joint)) + size * (shares * (1.5 + 1.5 * q) + moved)
    np.testing.assert_array_less(np.abs(one.log_joint(X) - joint), near)
    near = 1e-8 + 3 * len(X) * size * (np.max(shares) + moved)
    assert one.log_likelihood_ == pytest.approx(other.log_likelihood_, rel=tol, abs=near)


@SHAPES
@given(data=st.data())
def test_any_split_in_any_order_equals_one_fit(shape, data):
    X, y, weights = data.draw(problems())
    model = GaussianClassifier(shape, singular="error")
    parts = data.draw(batches(len(y)))
    for rows in parts:
        model.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
    whole = GaussianClassifier(shape).fit(X, y, weights)
    assert_same(model, whole, X)
    summaries = [credo.summarise(X[r], y[r], weights[r], covariance=shape) for r in parts]
    joined = summaries[-1]
    for summary in summaries[-2::-1]:
        joined = summary.merge(joined)
    assert_same(GaussianClassifier(shape).fit_summary(joined), whole, X)


@INDEPENDENT
@given(data=st.data())
def test_any_split_of_rows_with_missing_values_equals_one_fit(shape, data):
    X, y, weights = data.draw(problems())
    holes = oracle.with_holes(X, data.draw(st.integers(0, 999)), 0.2)
    for k in set(y):
        holes[np.flatnonzero(y == k)[:2]] = X[np.flatnonzero(y == k)[:2]]
    model = GaussianClassifier(shape, singular="error")
    for rows in data.draw(batches(len(y))):
        model.partial_fit(holes[rows], y[rows], sample_weight=weights[rows])
    assert_same(model, GaussianClassifier(shape).fit(holes, y, weights), holes)


@CORRELATED
@given(data=st.data())
def test_an_affine_map_of_the_features_changes_no_posterior(shape, data):
    X, y, _ = data.draw(problems())
    size = X.shape[1]
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    turn = np.linalg.qr(rng.normal(size=(size, size)))[0] * rng.uniform(0.5, 2.0, size)
    mixer = 10 ** rng.uniform(-8, 8, (size, 1)) * turn  # new features of any unit
    rows = X @ mixer.T + mixer @ rng.normal(size=size)
    one = GaussianClassifier(shape, singular="error").fit(X, y)
    other = GaussianClassifier(shape, singular="error").fit(rows, y)
    np.testing.assert_allclose(
        other.predict_log_proba(rows), one.predict_log_proba(X), rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(
        other.log_density(rows),
        one.log_density(X) - np.linalg.slogdet(mixer)[1],
        rtol=1e-6,
        atol=1e-6,
    )


@SHAPES
@given(data=st.data())
def test_no_other_model_of_the_shape_is_more_likely(shape, data):
    """Means and covariances moved a little in any direction lower the likelihood."""
    X, y, weights = data.draw(problems())
    model = GaussianClassifier(shape).fit(X, y, weights)
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    best = model.log_likelihood_
    shifted = X + 1e-3 * rng.normal(size=X.shape)
    near = GaussianClassifier(shape).fit(shifted, y, weights)
    own = near.log_joint(X)[np.arange(len(y)), np.searchsorted(near.classes_, y)]
    assert weights @ own <= best + 1e-9 * abs(best)


@st.composite
def tables(draw, most_features=5):
    """Rows that determine their coefficients, with a target, and the same with holes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.integers(1, most_features))
    n = draw(st.integers(3 * d + 6, 60))
    mix = rng.normal(size=(d, d)) + 2 * np.eye(d)
    X = rng.normal(size=(n, d)) @ mix + rng.normal(size=d)
    y = X @ rng.normal(size=d) + draw(st.sampled_from([0.1, 1.0, 10.0])) * rng.normal(size=n)
    holes = np.where(rng.random(X.shape) < draw(st.sampled_from([0.1, 0.5])), np.nan, X)
    return X, y, holes, rng


def assert_same_line(model, other, rows, digits=1e-9):
    """Compare two regressors by what they learned and by what they say."""
    np.testing.assert_allclose(model.variance_, other.variance_, rtol=digits)
    for a, b in zip(
        model.predict(rows, return_std=True), other.predict(rows, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=digits, atol=digits * np.abs(b).max())


# A part may have too few rows to determine a model; the whole has enough.
@pytest.mark.filterwarnings("ignore::credo.exceptions.SingularWarning")
@given(tables(), st.sampled_from([None, 0.2, "oas"]), st.data())
def test_any_split_in_any_order_learns_the_same(table, shrinkage, data):
    X, y, holes, _ = table
    weights = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(y), max_size=len(y))))
    whole = GaussianRegressor(shrinkage=shrinkage).fit(X, y, weights)
    owner = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(y), max_size=len(y))))
    parts = [np.flatnonzero(owner == k) for k in data.draw(st.permutations(range(3)))]
    parts = [part for part in parts if part.size]
    streamed = GaussianRegressor(shrinkage=shrinkage)
    for part in parts:
        streamed.partial_fit(X[part], y[part], weights[part])
    assert_same_line(streamed, whole, holes)
    models = [
        GaussianRegressor(shrinkage=shrinkage).partial_fit(X[part], y[part], weights[part])
        for part in parts
    ]
    merged = models[-1]
    for model in models[-2::-1]:
        merged = merged.merge(model)
    assert_same_line(merged, whole, holes)
    np.testing.assert_allclose(merged.log_likelihood_, whole.log_likelihood_, rtol=1e-9)


@given(tables(), st.data())
def test_leaving_a_feature_unseen_is_regressing_on_the_others(table, data):
    X, y, _, _ = table
    d = X.shape[1]
    gone = np.array(data.draw(st.lists(st.booleans(), min_size=d, max_size=d)))
    model = GaussianRegressor().fit(X, y)
    if gone.all():
        expected = np.full(len(y), y.mean()), np.full(len(y), y.std())
    else:
        expected = GaussianRegressor().fit(X[:, ~gone], y).predict(X[:, ~gone], return_std=True)
    found = model.predict(np.where(gone, np.nan, X), return_std=True)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8 * np.abs(b).max())


@given(tables())
def test_seeing_less_never_makes_one_surer(table):
    X, y, holes, rng = table
    model = GaussianRegressor().fit(X, y)
    more = np.where(rng.random(X.shape) < 0.3, np.nan, holes)
    full, some, few = (model.predict(rows, return_std=True)[1] for rows in (X, holes, more))
    assert (some >= full).all()
    assert (few >= some * (1 - 1e-9)).all()
