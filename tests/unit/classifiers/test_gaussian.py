import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from tests.oracles import gaussians as oracle

from credo import GaussianClassifier
from credo.exceptions import CredoError, InputError, LabelError

X, CODES = oracle.rows_of(100, counts=(25, 30, 40))
NAMES = np.array(["ant", "bee", "cat"])
Y = NAMES[CODES]
WEIGHTS = np.random.default_rng(101).uniform(0.2, 3.0, len(Y))
PRIORS = np.array([0.6, 0.3, 0.1])


def tolerance(shape):
    """The twin of the proportional shape is found by a search."""
    return 1e-4 if shape == "proportional" else 1e-9


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("shape", oracle.SHAPES)
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


@pytest.mark.parametrize("shape", ["full", "diagonal", "spherical", "proportional"])
def test_shapes_that_are_not_linear_have_no_linear_scores(shape):
    model = GaussianClassifier("tied").fit(X, Y).set_params(covariance=shape).fit(X, Y)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "intercept_")


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
    model = GaussianClassifier(shape).fit(X, Y)
    assert np.shape(model.covariances_) == size
    assert model.n_parameters_ == number
    assert hasattr(model, "proportions_") == (shape == "proportional")
    if shape == "proportional":
        assert np.bincount(CODES) @ np.log(model.proportions_) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_the_log_likelihood_is_the_sum_of_log_joints_at_the_labels(shape, weights):
    for priors in (None, PRIORS):
        model = GaussianClassifier(shape, priors=priors).fit(X, Y, weights)
        own = model.log_joint(X)[np.arange(len(Y)), CODES]
        expected = own.sum() if weights is None else weights @ own
        assert model.log_likelihood_ == pytest.approx(expected, rel=1e-10)
        assert model.log_likelihood_trace_.tolist() == [model.log_likelihood_]
        assert model.converged_ is True
        assert model.n_iter_ == 1


# --- priors ----------------------------------------------------------------------------------


# --- what a generative model can do ----------------------------------------------------------


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_points_on_a_boundary_have_equal_posteriors(shape):
    model = GaussianClassifier(shape, priors=PRIORS).fit(X, Y)
    surface = model.boundary("cat", "ant")
    assert type(surface).__name__ == ("Hyperplane" if shape in oracle.LINEAR else "Quadric")
    joint = model.log_joint(X)
    np.testing.assert_allclose(surface(X), joint[:, 2] - joint[:, 0], rtol=1e-8, atol=1e-8)
    # walk from a mean to the other and stop where the log odds change their sign
    start, end = model.means_[2], model.means_[0]
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        inside = surface((start + middle * (end - start))[None])[0] > 0
        low, high = (middle, high) if inside else (low, middle)
    p = model.predict_proba((start + low * (end - start))[None])[0]
    assert p[0] == pytest.approx(p[2], rel=1e-8)


def test_a_boundary_needs_two_known_classes():
    model = GaussianClassifier().fit(X, Y)
    with pytest.raises(LabelError, match="GaussianClassifier.boundary has no class 'cow'.*'cat'"):
        model.boundary("ant", "cow")
    with pytest.raises(InputError, match="positive priors"):
        model.with_priors([0.0, 0.5, 0.5]).boundary("ant", "bee")


def test_samples_have_labels_by_the_priors_and_repeat_with_the_seed():
    model = GaussianClassifier(priors=PRIORS).fit(X, Y)
    rows, labels = model.sample(20_000, random_state=7)
    again, _ = model.sample(20_000, random_state=np.random.default_rng(7))
    np.testing.assert_array_equal(rows, again)
    for name, prior, mean, covariance in zip(
        NAMES, PRIORS, model.means_, model.covariances_, strict=True
    ):
        own = rows[labels == name]
        error = np.sqrt(prior * (1 - prior) / 20_000)
        assert len(own) / 20_000 == pytest.approx(prior, abs=6 * error)
        bound = 6 * np.sqrt(np.diag(covariance) / len(own))
        assert (np.abs(own.mean(axis=0) - mean) < bound).all()
    assert model.sample()[0].shape == (1, 3)
    with pytest.raises(InputError, match="GaussianClassifier.sample must be a whole number"):
        model.sample(0)


# --- as a scikit-learn estimator -------------------------------------------------------------


# --- names and failures ----------------------------------------------------------------------


def test_names_of_columns_are_used_in_messages():
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    frame["copy"] = 2 * frame["age"]
    with pytest.raises(CredoError, match="'copy'.*'age'|'age'.*'copy'"):
        GaussianClassifier(singular="error").fit(frame, CODES)
    frame["age"] = np.nan
    with pytest.raises(InputError, match="class 0 has no observed value in column 'age'"):
        GaussianClassifier().fit(frame, CODES)


@pytest.mark.parametrize("rows", [X[:, :2], X[0], X[:0], np.column_stack([X, X])])
def test_rows_of_another_width_are_refused_when_predicting(rows):
    model = GaussianClassifier().fit(X, Y)
    for method in ("predict", "predict_proba", "log_density", "impute", "conditional"):
        with pytest.raises(ValueError, match="."):
            getattr(model, method)(rows)


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
