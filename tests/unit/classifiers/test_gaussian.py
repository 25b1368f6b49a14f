import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.oracles import gaussians as oracle

from credo import GaussianClassifier, Loss, Posterior, decide
from credo.exceptions import InputError, LabelError, ShapeError
from credo.families.boundary import Hyperplane, Quadric

X, CODES = oracle.rows_of(100, counts=(25, 30, 40))
NAMES = np.array(["ant", "bee", "cat"])
Y = NAMES[CODES]
WEIGHTS = np.random.default_rng(101).uniform(0.2, 3.0, len(Y))
PRIORS = np.array([0.6, 0.3, 0.1])
METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "posterior",
    "log_joint",
    "log_density",
    "decision_function",
    "mahalanobis",
    "conditional",
    "impute",
)


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


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_probabilities_and_their_logarithms_and_the_posterior_agree(shape):
    model = GaussianClassifier(shape).fit(X, Y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), proba, rtol=1e-12)
    posterior = model.posterior(X)
    assert isinstance(posterior, Posterior)
    assert posterior.labels == ("ant", "bee", "cat")
    np.testing.assert_allclose(posterior.probabilities, proba, rtol=1e-12)
    scores = model.decision_function(X)
    logs = scores - logsumexp(scores, axis=1, keepdims=True)
    np.testing.assert_allclose(logs, model.predict_log_proba(X), rtol=1e-9, atol=1e-9)
    acts = decide(posterior, Loss.zero_one(NAMES.tolist())).acts
    np.testing.assert_array_equal(acts, model.predict(X))


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_two_classes_have_log_odds(shape):
    two = Y != "cat"
    model = GaussianClassifier(shape).fit(X[two], Y[two])
    joint = model.log_joint(X)
    np.testing.assert_allclose(
        model.decision_function(X), joint[:, 1] - joint[:, 0], rtol=1e-9, atol=1e-9
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


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_priors_move_the_log_prior_only(shape):
    plain, given = GaussianClassifier(shape).fit(X, Y), GaussianClassifier(shape, priors=PRIORS)
    moved = plain.with_priors(PRIORS)
    for other in (given.fit(X, Y), moved):
        np.testing.assert_array_equal(other.means_, plain.means_)
        np.testing.assert_array_equal(other.covariances_, plain.covariances_)
        np.testing.assert_allclose(
            other.log_joint(X) - plain.log_joint(X),
            np.tile(np.log(PRIORS / plain.priors_), (len(X), 1)),
            rtol=1e-9,
            atol=1e-9,
        )
    np.testing.assert_array_equal(moved.predict_proba(X), given.predict_proba(X))
    assert moved.log_likelihood_ == given.log_likelihood_
    if shape in oracle.LINEAR:
        np.testing.assert_array_equal(moved.coef_, plain.coef_)
        np.testing.assert_array_equal(moved.intercept_, given.intercept_)


def test_with_priors_leaves_the_classifier_as_it_was():
    model = GaussianClassifier("tied").fit(X, Y)
    before = {name: np.copy(value) for name, value in vars(model).items() if name.endswith("_")}
    other = model.with_priors(PRIORS)
    assert other is not model
    assert model.priors is None
    assert set(before) == {name for name in vars(model) if name.endswith("_")}
    for name in ("priors_", "intercept_", "coef_", "means_", "log_likelihood_"):
        np.testing.assert_array_equal(getattr(model, name), before[name])
    np.testing.assert_array_equal(other.with_priors(None).priors_, model.priors_)


def test_priors_come_by_label_in_any_order():
    by_name = {"cat": 0.1, "ant": 0.6, "bee": 0.3}
    expected = GaussianClassifier(priors=PRIORS).fit(X, Y)
    for model in (
        GaussianClassifier(priors=by_name).fit(X, Y),
        GaussianClassifier().fit(X, Y).with_priors(by_name),
    ):
        np.testing.assert_allclose(model.priors_, PRIORS)
        np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-14)
    uniform = GaussianClassifier(priors="uniform").fit(X, Y)
    np.testing.assert_array_equal(uniform.priors_, np.full(3, 1 / 3))


@pytest.mark.parametrize(
    ("priors", "error", "text"),
    [
        ([0.5, 0.6, 0.1], InputError, "sum to 1"),
        ([1.2, -0.1, -0.1], InputError, "at least 0"),
        ([0.5, 0.5], ShapeError, "3 numbers"),
        ({"ant": 0.5, "bee": 0.5}, LabelError, "'cat'"),
        ({"ant": 0.5, "bee": 0.3, "cat": 0.1, "dog": 0.1}, LabelError, "'dog'"),
        ("frequencies", InputError, "None, 'uniform'"),
        ([0.5, np.nan, 0.5], InputError, "finite"),
    ],
)
def test_wrong_priors_are_refused(priors, error, text):
    with pytest.raises(error, match=text):
        GaussianClassifier(priors=priors).fit(X, Y)
    with pytest.raises(error, match=text):
        GaussianClassifier().fit(X, Y).with_priors(priors)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_a_class_of_prior_zero_is_never_predicted(shape):
    model = GaussianClassifier(shape).fit(X, Y).with_priors([0.0, 0.4, 0.6])
    assert not model.predict_proba(X)[:, 0].any()
    assert (model.predict_log_proba(X)[:, 0] == -np.inf).all()
    assert set(model.predict(X)) == {"bee", "cat"}
    assert np.isfinite(model.log_density(X)).all()
    assert model.log_likelihood_ == -np.inf
    alone = GaussianClassifier(shape).fit(X, Y).with_priors({"ant": 0.0, "bee": 1.0, "cat": 0.0})
    assert (alone.predict_proba(X) == [0.0, 1.0, 0.0]).all()
    assert (alone.predict_log_proba(X)[:, 1] == 0).all()
    np.testing.assert_allclose(alone.log_density(X), alone.log_joint(X)[:, 1])


# --- what a generative model can do ----------------------------------------------------------


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_points_on_a_boundary_have_equal_posteriors(shape):
    model = GaussianClassifier(shape, priors=PRIORS).fit(X, Y)
    surface = model.boundary("cat", "ant")
    assert isinstance(surface, Hyperplane if shape in oracle.LINEAR else Quadric)
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


@pytest.mark.parametrize("method", [*METHODS, "boundary", "sample", "with_priors", "merge"])
def test_it_must_be_fitted_first(method):
    arguments = {"boundary": ("ant", "bee"), "sample": (), "with_priors": (PRIORS,)}
    call = getattr(GaussianClassifier(), method)
    with pytest.raises(NotFittedError):
        call(*arguments.get(method, (GaussianClassifier() if method == "merge" else X,)))


def test_parameters_are_kept_cloned_and_set():
    model = GaussianClassifier("tied", shrinkage=0.2, priors={"ant": 1.0}, tol=1e-6, max_iter=7)
    params = model.get_params()
    assert params["covariance"] == "tied"
    assert params["priors"] == {"ant": 1.0}
    assert clone(model).get_params() == params
    assert model.set_params(shrinkage="oas").shrinkage == "oas"
    assert "covariance='tied'" in repr(model)


def test_it_works_in_a_pipeline_and_a_search():
    search = GridSearchCV(
        make_pipeline(StandardScaler(), GaussianClassifier()),
        {"gaussianclassifier__covariance": ["full", "tied", "diagonal"]},
        cv=3,
    ).fit(X, Y)
    assert search.best_score_ > 0.6
    scores = cross_val_score(GaussianClassifier("tied"), X, Y, cv=3, scoring="neg_log_loss")
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"covariance": "round"}, "covariance of GaussianClassifier must be one of"),
        ({"shrinkage": "lots"}, "'auto', 'oas' or a number"),
        ({"shrinkage": 1.5}, "between 0 and 1"),
        ({"shrinkage": 0.1, "covariance": "diagonal"}, "has none"),
        ({"singular": "ignore"}, "one of 'repair', 'error'"),
        ({"subspace": 0}, "subspace"),
        ({"subspace": 1.5}, "subspace"),
        ({"subspace": 9}, "span only 3 dimensions"),
        ({"tol": -1}, "tol"),
        ({"tol": "small"}, "tol"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_wrong_options_are_refused_when_fitting(options, text):
    model = GaussianClassifier(**options)
    with pytest.raises(InputError, match=text):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")
