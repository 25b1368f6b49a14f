"""Laws of the Gaussian classifiers, on rows drawn at random."""

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from tests.oracles import gaussians as oracle

import credo
from credo import GaussianClassifier

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


@SHAPES
@given(data=st.data())
def test_a_weight_of_two_is_the_row_twice_and_of_zero_no_row(shape, data):
    X, y, weights = data.draw(problems())
    rubbish = data.draw(st.sampled_from([np.nan, np.inf, -np.inf, 1e250]))
    rows = np.vstack([np.full((2, X.shape[1]), rubbish), X])
    labels = np.concatenate([[y[0], 99], y])  # the second is the only row of its class
    weighted = GaussianClassifier(shape).fit(rows, labels, np.concatenate([[0, 0], weights]))
    times = weights.astype(int)
    repeated = GaussianClassifier(shape).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_same(weighted, repeated, X)


@SHAPES
@given(data=st.data())
def test_an_absent_row_may_hold_anything_beside_missing_values_too(shape, data):
    X, y, _ = data.draw(problems())
    holes = oracle.with_holes(X, data.draw(st.integers(0, 999)), 0.1)
    for k in set(y):
        holes[np.flatnonzero(y == k)[:4]] = X[np.flatnonzero(y == k)[:4]]
    rubbish = data.draw(st.sampled_from([np.nan, np.inf, -np.inf, 1e250]))
    rows = np.vstack([np.full((1, X.shape[1]), rubbish), holes])
    labels, weights = np.append(y[0], y), np.append(0.0, np.ones(len(y)))
    options = {"tol": 1e-4, "singular": "error"}
    one = GaussianClassifier(shape, **options).fit(rows, labels, weights)
    assert_same(one, GaussianClassifier(shape, **options).fit(holes, y), holes, tol=1e-7)


@SHAPES
@given(data=st.data())
def test_marginalising_is_dropping_the_column(shape, data):
    X, y, _ = data.draw(problems())
    model = GaussianClassifier(shape).fit(X, y)
    gone = np.array(data.draw(st.lists(st.booleans(), min_size=X.shape[1], max_size=X.shape[1])))
    rows = X[:6].copy()
    rows[:, gone] = np.nan
    matrices = model.covariances_
    if shape in (*oracle.LINEAR, "proportional"):
        matrices = [matrices] * len(model.classes_)
    if shape == "proportional":
        matrices = [a * m for a, m in zip(model.proportions_, matrices, strict=True)]
    if shape not in oracle.CORRELATED:
        matrices = [np.diag(np.broadcast_to(m, X.shape[1])) for m in matrices]
    twin = oracle.Model(list(model.classes_), model.priors_, list(model.means_), list(matrices))
    np.testing.assert_allclose(
        model.log_joint(rows), oracle.log_joint(rows, twin), rtol=1e-8, atol=1e-8
    )
    np.testing.assert_allclose(
        model.predict_proba(rows), oracle.posteriors(rows, twin), rtol=1e-6, atol=1e-9
    )
    np.testing.assert_allclose(
        model.mahalanobis(rows), oracle.table(rows, twin, oracle.distance), rtol=1e-7, atol=1e-8
    )


@SHAPES
@given(data=st.data())
def test_the_order_of_features_rows_and_labels_does_not_matter(shape, data):
    X, y, weights = data.draw(problems())
    model = GaussianClassifier(shape).fit(X, y, weights)
    columns = np.array(data.draw(st.permutations(range(X.shape[1]))))
    rows = np.array(data.draw(st.permutations(range(len(y)))))
    names = np.array(data.draw(st.permutations("abcd"))[: len(model.classes_)])
    other = GaussianClassifier(shape).fit(X[rows][:, columns], names[y[rows]], weights[rows])
    place = np.searchsorted(other.classes_, names)
    np.testing.assert_allclose(other.means_[place], model.means_[:, columns], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        other.log_joint(X[:, columns])[:, place], model.log_joint(X), rtol=1e-8, atol=1e-8
    )
    np.testing.assert_allclose(
        other.predict_proba(X[:, columns])[:, place], model.predict_proba(X), rtol=1e-6, atol=1e-9
    )


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
def test_other_priors_equal_a_fit_with_them(shape, data):
    X, y, _ = data.draw(problems())
    n = len(set(y))
    shares = np.array(data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))) + 1e-3
    priors = shares / shares.sum()
    moved = GaussianClassifier(shape).fit(X, y).with_priors(priors)
    given_first = GaussianClassifier(shape, priors=dict(enumerate(priors))).fit(X, y)
    np.testing.assert_array_equal(moved.covariances_, given_first.covariances_)
    np.testing.assert_allclose(moved.log_joint(X), given_first.log_joint(X), rtol=1e-12)
    proba = moved.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(moved.predict(X), moved.classes_[proba.argmax(axis=1)])


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


@CORRELATED
@settings(max_examples=settings().max_examples // 4)
@given(data=st.data())
def test_em_never_lowers_the_likelihood(shape, data):
    X, y, weights = data.draw(problems(most_classes=2))
    holes = oracle.with_holes(X, data.draw(st.integers(0, 999)), 0.15)
    for k in set(y):
        first = np.flatnonzero(y == k)[: X.shape[1] + 2]
        holes[first] = X[first]
    model = GaussianClassifier(shape, tol=1e-5, singular="error").fit(holes, y, weights)
    trace = model.log_likelihood_trace_
    assert (np.diff(trace) >= -1e-9 * np.abs(trace).max()).all()
    own = model.log_joint(holes)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    assert model.log_likelihood_ == pytest.approx(weights @ own, rel=1e-8)
