"""``GaussianClassifier`` and its summaries against the formulas, exact numbers and peers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.special import logsumexp
from sklearn.covariance import ledoit_wolf
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from tests.oracles import gaussians as oracle

import credo
from credo import ClassSummary, GaussianClassifier
from credo.exceptions import CredoError, InputError, LabelError, ShapeError

X, CODES = oracle.rows_of(100, counts=(30, 35, 40))
NAMES = np.array(["ant", "bee", "cat"])
Y = NAMES[CODES]
WEIGHTS = np.random.default_rng(101).uniform(0.2, 3.0, len(Y))
PRIORS = np.array([0.6, 0.3, 0.1])
SHAPES = pytest.mark.parametrize("shape", oracle.SHAPES)


def tolerance(shape):
    """The twin of the proportional shape is found by a search."""
    return 1e-4 if shape == "proportional" else 1e-9


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@SHAPES
def test_it_is_the_model_of_the_formulas(shape, weights):
    found = GaussianClassifier(shape).fit(X, Y, weights)
    expected = oracle.fit(X, Y, shape, weights)
    tol = tolerance(shape)
    assert found.classes_.tolist() == ["ant", "bee", "cat"]
    np.testing.assert_allclose(found.priors_, expected.priors, rtol=1e-12)
    np.testing.assert_allclose(found.means_, expected.means, rtol=1e-10)
    joint = oracle.log_joint(X, expected)
    np.testing.assert_allclose(found.log_joint(X), joint, rtol=tol, atol=tol)
    np.testing.assert_allclose(found.log_density(X), logsumexp(joint, axis=1), rtol=tol, atol=tol)
    np.testing.assert_allclose(
        found.predict_proba(X), oracle.posteriors(X, expected), rtol=tol, atol=tol
    )
    np.testing.assert_array_equal(found.predict(X), NAMES[joint.argmax(axis=1)])
    np.testing.assert_allclose(
        found.mahalanobis(X), oracle.table(X, expected, oracle.distance), rtol=tol, atol=tol
    )


@pytest.mark.parametrize("shape", oracle.LINEAR)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_scores_follow_the_formula(shape, n_classes):
    rows = n_classes > CODES
    model = GaussianClassifier(shape, priors=PRIORS[:n_classes] / PRIORS[:n_classes].sum())
    model.fit(X[rows], Y[rows])
    twin = oracle.fit(X[rows], Y[rows], shape)
    inverse = np.linalg.inv(twin.covariances[0])
    w = np.array([inverse @ m for m in twin.means])
    w0 = np.array([-0.5 * m @ inverse @ m for m in twin.means]) + np.log(model.priors_)
    if n_classes == 2:
        w, w0 = w[1:] - w[:1], w0[1:] - w0[:1]
    np.testing.assert_allclose(model.coef_, w, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, w0, rtol=1e-8, atol=1e-10)
    scores = X @ model.coef_.T + model.intercept_
    if n_classes == 2:
        np.testing.assert_allclose(scores[:, 0], model.decision_function(X), rtol=1e-9, atol=1e-9)
    else:
        softmax = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
        np.testing.assert_allclose(softmax, model.predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("shape", "size", "number"),
    [
        ("full", (3, 3, 3), 3 + 9 + 18),
        ("proportional", (3, 3), 3 + 9 + 6 + 2),
        ("tied", (3, 3), 3 + 9 + 6),
        ("diagonal", (3, 3), 3 + 9 + 9),
        ("tied_diagonal", (3,), 3 + 9 + 3),
        ("spherical", (3,), 3 + 9 + 3),
        ("tied_spherical", (), 3 + 9 + 1),
    ],
)
def test_covariances_are_parsimonious_and_parameters_are_counted(shape, size, number):
    model = GaussianClassifier("tied").fit(X, Y).set_params(covariance=shape).fit(X, Y)
    assert np.shape(model.covariances_) == size
    assert hasattr(model, "coef_") == hasattr(model, "intercept_") == (shape in oracle.LINEAR)
    assert model.n_parameters_ == number
    assert hasattr(model, "proportions_") == (shape == "proportional")
    if shape == "proportional":
        assert np.bincount(CODES) @ np.log(model.proportions_) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@SHAPES
def test_the_log_likelihood_is_the_sum_of_log_joints_at_the_labels(shape, weights):
    for priors in (None, PRIORS):
        model = GaussianClassifier(shape, priors=priors).fit(X, Y, weights)
        own = model.log_joint(X)[np.arange(len(Y)), CODES]
        expected = own.sum() if weights is None else weights @ own
        assert model.log_likelihood_ == pytest.approx(expected, rel=1e-10)
        assert model.log_likelihood_trace_.tolist() == [model.log_likelihood_]
        assert model.converged_ is True
        assert model.n_iter_ == 1


@SHAPES
def test_a_boundary_is_where_the_log_odds_are_zero(shape):
    model = GaussianClassifier(shape, priors=PRIORS).fit(X, Y)
    surface = model.boundary("cat", "ant")
    assert type(surface).__name__ == ("Hyperplane" if shape in oracle.LINEAR else "Quadric")
    joint = model.log_joint(X)
    np.testing.assert_allclose(surface(X), joint[:, 2] - joint[:, 0], rtol=1e-8, atol=1e-8)


def test_a_boundary_needs_two_known_classes():
    model = GaussianClassifier().fit(X, Y)
    with pytest.raises(LabelError, match="GaussianClassifier.boundary has no class 'cow'.*'cat'"):
        model.boundary("ant", "cow")
    with pytest.raises(InputError, match="positive priors"):
        model.with_priors([0.0, 0.5, 0.5]).boundary("ant", "bee")


def test_samples_repeat_with_the_seed():
    model = GaussianClassifier(priors=PRIORS).fit(X, Y)
    rows, labels = model.sample(20, random_state=7)
    again, _ = model.sample(20, random_state=np.random.default_rng(7))
    np.testing.assert_array_equal(rows, again)
    assert set(labels) <= set(NAMES)
    assert model.sample()[0].shape == (1, 3)
    with pytest.raises(InputError, match="GaussianClassifier.sample must be a whole number"):
        model.sample(0)


@pytest.mark.parametrize("fitted", [False, True])
def test_a_fit_that_fails_on_the_way_leaves_the_classifier_as_it_was(fitted):
    twins, stop = np.column_stack([X, X[:, 0]]), GaussianClassifier(progress=_interrupt)
    strict = GaussianClassifier(singular="error")
    for model, rows in [
        *((strict, twins), (strict, np.full_like(X, np.nan)), (strict, np.ones_like(X))),
        (stop, oracle.with_holes(X, 4)),
    ]:
        if fitted:
            model.fit(X, Y)
        before = dict(vars(model))
        with pytest.raises((CredoError, KeyboardInterrupt)):
            model.fit(rows, Y)
        assert vars(model) == before


def _interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("shape", oracle.LINEAR)
def test_a_class_far_away_does_not_blur_the_others(shape):
    rows, y = np.vstack([X, X[:5] + 1e7]), np.append(CODES, [3] * 5)
    model = GaussianClassifier(shape).fit(rows, y)
    sigma = model.covariances_
    sigma = sigma if shape == "tied" else np.diag(np.broadcast_to(sigma, 3))
    gap, middle = model.means_[1] - model.means_[0], (model.means_[1] + model.means_[0]) / 2
    expected = (X - middle) @ np.linalg.solve(sigma, gap)
    expected += np.log(model.priors_[1] / model.priors_[0])
    table = model.predict_log_proba(X)
    np.testing.assert_allclose(table[:, 1] - table[:, 0], expected, atol=1e-6)


def test_scores_of_ten_thousand_neither_overflow_nor_vanish():
    """Classes 200 standard deviations apart: log odds of 2e4 at a mean, by hand."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=50)
    z = (z - z.mean()) / z.std()
    rows = np.concatenate([z, z + 200])[:, None]
    for shape in oracle.SHAPES:
        model = GaussianClassifier(shape).fit(rows, np.repeat(["a", "b"], 50))
        logs = model.predict_log_proba([[0.0], [200.0], [100.0]])
        np.testing.assert_allclose(logs[0], [0.0, -20_000], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(logs[1], [-20_000, 0.0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(logs[2], np.log([0.5, 0.5]), atol=1e-6)
        np.testing.assert_array_equal(model.predict_proba([[0.0], [200.0]]), [[1, 0], [0, 1]])
        assert model.decision_function([[0.0]])[0] == pytest.approx(-20_000, rel=1e-9)


def test_log_probabilities_near_zero_keep_their_digits():
    """p(a) = 1 - 1e-18: the logarithm of it is -1e-18, not zero."""
    rng = np.random.default_rng(4)
    z = rng.normal(size=50)
    z = (z - z.mean()) / z.std()
    rows = np.concatenate([z, z + 10])[:, None]
    model = GaussianClassifier("tied").fit(rows, np.repeat(["a", "b"], 50))
    x = 5 - np.log(1e18) / 10
    logs = model.predict_log_proba([[x]])[0]
    np.testing.assert_allclose(logs, [-1e-18, np.log(1e-18)], rtol=1e-9)


@SHAPES
@pytest.mark.parametrize("units", [1e-25, 1.0, 1e15])
def test_single_precision_rows_have_single_precision_probabilities(shape, units):
    """Log odds move by 2.5e-4 at most, so a probability by a quarter of that."""
    rows = (X * units).astype(np.float32)
    model = GaussianClassifier(shape).fit(rows, CODES)
    proba, wide = model.predict_proba(rows), model.predict_proba(rows.astype(np.float64))
    assert proba.dtype == np.float32
    np.testing.assert_allclose(proba, wide, rtol=1e-3, atol=7e-5)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)
    assert model.posterior(rows).probabilities.dtype == np.float64
    np.testing.assert_allclose(model.posterior(rows).probabilities, wide, rtol=1e-12, atol=1e-300)
    holes = oracle.with_holes(rows, 7).astype(np.float32)
    np.testing.assert_allclose(
        model.predict_proba(holes),
        model.predict_proba(holes.astype(np.float64)),
        rtol=1e-3,
        atol=7e-5,
    )


def test_a_million_rows_with_missing_values_are_scored_at_their_own_places():
    """More of them than are held back at once, complete rows in between."""
    both = np.column_stack([X[:, 0], X[:, 0] ** 2])
    model = GaussianClassifier("tied_diagonal").fit(both, CODES)
    n, few = 1_200_000, both[:100].copy()
    few[np.arange(100) % 10 > 0, 1] = np.nan
    rows = np.tile(few, (n // 100, 1))
    assert np.isnan(rows[:, 1]).sum() > 2**20
    found = model.predict_proba(rows).reshape(n // 100, 100, 3)
    expected = np.vstack([model.predict_proba(row[None]) for row in few])
    np.testing.assert_allclose(found - expected, 0, atol=1e-12)


SORTED = np.argsort(CODES, kind="stable")


def assert_same(one, other):
    np.testing.assert_array_equal(one.classes_, other.classes_)
    np.testing.assert_allclose(one.log_joint(X), other.log_joint(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_batches_with_missing_values_are_refused_if_features_are_correlated(shape):
    model = GaussianClassifier(shape).partial_fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(InputError, match="EM over all rows at once. Use fit, or"):
        model.partial_fit(oracle.with_holes(X, 1), Y)
    assert vars(model) == before


@SHAPES
def test_a_first_batch_that_says_too_little_is_completed_by_more(shape):
    model = GaussianClassifier(shape, singular="error").partial_fit(X[SORTED[:1]], Y[SORTED[:1]])
    for method in ("predict", "predict_proba", "log_density", "mahalanobis", "impute"):
        with pytest.raises(CredoError, match="constant|singular|too few|varies"):
            getattr(model, method)(X)
    with pytest.raises(CredoError):
        model.sample()
    with pytest.raises(CredoError):
        model.with_priors("uniform")
    assert not hasattr(model, "means_")
    model.partial_fit(X[SORTED[1:]], Y[SORTED[1:]])
    assert_same(model, GaussianClassifier(shape).fit(X, Y))


def test_auto_shrinkage_says_why_it_has_no_streams():
    auto = GaussianClassifier(shrinkage="auto")
    assert not hasattr(auto, "partial_fit")
    with pytest.raises(AttributeError) as caught:
        auto.partial_fit(X, Y)
    assert "shrinkage='oas'" in str(caught.value.__cause__)
    with pytest.raises(InputError, match="merging pass shrinkage='oas'"):
        auto.fit(X, Y).merge(GaussianClassifier().fit(X, Y))


DATA = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
#: Since 1.9 the 'svd' solvers divide the scatter by N, as maximum likelihood does. Before, that
#: of LDA divided by N - K and that of QDA by n - 1, and probabilities differ from ours by it.
DIVIDES_BY_N = tuple(int(v) for v in sklearn.__version__.split(".")[:2]) >= (1, 9)
PEERS = {
    "tied": LinearDiscriminantAnalysis(solver="lsqr", store_covariance=True),
    "full": QuadraticDiscriminantAnalysis(store_covariance=True),
    "diagonal": GaussianNB(var_smoothing=0),  # it adds variance to all features by default
}


@pytest.fixture(params=DATA)
def data(request):
    return DATA[request.param]


@pytest.mark.parametrize("shape", PEERS)
def test_it_is_the_analysis_of_scikit_learn(shape, data):
    if shape == "full" and not DIVIDES_BY_N:
        pytest.skip("this version divides by n - 1")
    X, y = data
    peer, ours = PEERS[shape].fit(X, y), GaussianClassifier(shape).fit(X, y)
    means, covariances = ("theta_", "var_") if shape == "diagonal" else ("means_", "covariance_")
    np.testing.assert_allclose(ours.means_, getattr(peer, means), rtol=1e-10)
    np.testing.assert_allclose(ours.covariances_, getattr(peer, covariances), rtol=1e-7, atol=1e-9)
    assert_like_the_peer(ours, peer, X)


def assert_like_the_peer(ours, peer, X):
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))


def test_auto_shrinkage_of_full_is_ledoit_wolf_of_each_class(data):
    X, y = data
    ours = GaussianClassifier(shrinkage="auto").fit(X, y)
    for k in range(3):
        scaler = StandardScaler().fit(X[y == k])
        covariance, amount = ledoit_wolf(scaler.transform(X[y == k]))
        np.testing.assert_allclose(ours.shrinkage_[k], amount, rtol=1e-8)
        np.testing.assert_allclose(
            ours.covariances_[k], covariance * np.outer(scaler.scale_, scaler.scale_), rtol=1e-8
        )
    if DIVIDES_BY_N:
        peer = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(X, y)
        assert_like_the_peer(ours, peer, X)


FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


@pytest.mark.parametrize(
    ("made_for", "serves"),
    [
        ("full", set(oracle.SHAPES)),
        ("tied", {"tied", "tied_diagonal", "tied_spherical"}),
        ("diagonal", {"diagonal", "tied_diagonal", "spherical", "tied_spherical"}),
        ("spherical", {"diagonal", "tied_diagonal", "spherical", "tied_spherical"}),
        ("proportional", set(oracle.SHAPES)),
    ],
)
def test_a_summary_serves_poorer_shapes_and_no_others(made_for, serves):
    summary = credo.summarise(X, Y, covariance=made_for)
    for shape in oracle.SHAPES:
        model = GaussianClassifier(shape)
        if shape in serves:
            model.fit_summary(summary)
            expected = GaussianClassifier(shape).fit(X, Y)
            np.testing.assert_allclose(model.log_joint(X), expected.log_joint(X), rtol=1e-10)
            assert model.log_likelihood_ == pytest.approx(expected.log_likelihood_, rel=1e-10)
        else:
            with pytest.raises(InputError, match=f"{shape!r} cannot be estimated from a summary"):
                model.fit_summary(summary)
            assert not hasattr(model, "classes_")


def test_names_of_columns_are_kept_and_must_agree():
    summary = credo.summarise(FRAME, Y)
    assert summary.feature_names == ("a", "b", "c")
    model = GaussianClassifier().fit_summary(summary)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    model.predict(FRAME)
    with pytest.raises(InputError, match="the columns differ: 'a', 'b', 'c' and 'c', 'b', 'a'"):
        summary.merge(credo.summarise(FRAME[["c", "b", "a"]], Y))
    assert summary.merge(credo.summarise(X, Y)).feature_names == ("a", "b", "c")
    assert credo.summarise(X, Y).merge(summary).feature_names == ("a", "b", "c")
    polar = credo.summarise(pl.DataFrame(X, schema=["a", "b", "c"]), Y)
    assert summary.merge(polar).n_rows == 2 * len(Y)


@pytest.mark.parametrize("shape", oracle.LINEAR)
def test_linear_scores_far_from_the_origin_keep_what_double_precision_allows(shape):
    """A score of features near 1e6 is rounded at 1e6 eps = 2e-10, and so may the weights be."""
    rows = CODES < 2
    far = X[rows] + 1e6
    model = GaussianClassifier(shape).fit(far, CODES[rows])
    logs = model.predict_log_proba(far)
    scores = far @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(scores, logs[:, 1] - logs[:, 0], atol=1e-6)


def test_a_summary_shows_what_it_holds():
    weights = np.arange(len(Y)) % 3.0
    summary = credo.summarise(X, Y, weights, covariance="tied")
    found = oracle.class_moments(X, Y, weights)
    assert repr(summary) == "ClassSummary(70 rows, 3 classes, 3 features, tied)"
    assert isinstance(summary, ClassSummary)
    np.testing.assert_array_equal(summary.counts, [m.count for m in found.values()])
    np.testing.assert_allclose(summary.weights, [m.weight for m in found.values()])
    np.testing.assert_allclose(summary.means, [m.mean for m in found.values()], rtol=1e-12)


HOLES, SUMMARY = oracle.with_holes(X, 1), credo.summarise(X, Y)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: SUMMARY.merge(credo.summarise(X[:, :2], Y)),
            ShapeError,
            "cannot be merged with 2",
        ),
        (lambda: SUMMARY.merge(credo.summarise(X, CODES)), InputError, "of two kinds"),
        (
            lambda: SUMMARY.merge(credo.summarise(X, Y, covariance="tied")),
            InputError,
            "'full' scatter cannot be merged with 'tied'.*'full'",
        ),
        (lambda: SUMMARY.merge(X), InputError, "merge needs a ClassSummary. Got ndarray"),
        (lambda: GaussianClassifier().fit_summary(X), InputError, "needs a ClassSummary"),
        (lambda: credo.summarise(np.where(X[4, 1] == X, np.inf, X), Y), InputError, "in column 1"),
        (lambda: credo.summarise(X, Y, covariance="oval"), InputError, "summarise must be one of"),
        (lambda: credo.summarise(X, Y, [1.0]), ShapeError, "one sample weight per row"),
        (lambda: credo.summarise(X[:, 0], Y), ValueError, r"\w"),
        (lambda: credo.summarise(X, Y[:4]), ValueError, r"\w"),
        *(
            (
                lambda shape=shape: credo.summarise(HOLES, Y, covariance=shape),
                InputError,
                f"NaN, and covariance='{shape}'.*'diagonal'",
            )
            for shape in oracle.CORRELATED
        ),
    ],
    ids=range(13),
)
def test_what_cannot_be_summarised_or_merged_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
