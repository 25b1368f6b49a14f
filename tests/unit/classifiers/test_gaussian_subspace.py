import warnings

import numpy as np
import pytest
from tests.oracles import gaussians as oracle

from credo import GaussianClassifier
from credo.exceptions import InputError, SingularWarning

X, CODES = oracle.rows_of(160, counts=(30, 35, 40), n_features=5)


def components_of(rows, number):
    """Principal components by the singular value decomposition, and the shares of variance."""
    centred = rows - rows.mean(axis=0)
    _, values, vectors = np.linalg.svd(centred, full_matrices=False)
    return vectors[:number], values**2 / (values**2).sum()


@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_the_model_is_of_the_rows_projected_on_the_components(shape, number):
    model = GaussianClassifier(shape, subspace=number).fit(X, CODES)
    vectors, _ = components_of(X, number)
    signs = np.sign((vectors * model.components_).sum(axis=1))
    np.testing.assert_allclose(model.components_, signs[:, None] * vectors, atol=1e-9)
    flat = (X - X.mean(axis=0)) @ model.components_.T
    twin = oracle.fit(flat, CODES, shape)
    tol = 1e-4 if shape == "proportional" else 1e-8
    np.testing.assert_allclose(model.means_, twin.means, rtol=tol, atol=tol)
    np.testing.assert_allclose(model.log_joint(X), oracle.log_joint(flat, twin), rtol=tol, atol=tol)
    np.testing.assert_allclose(
        model.mahalanobis(X), oracle.table(flat, twin, oracle.distance), rtol=tol, atol=tol
    )


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.999999])
def test_a_share_keeps_the_fewest_components_that_explain_it(share):
    _, shares = components_of(X, 5)
    expected = next(q for q in range(1, 6) if shares[:q].sum() >= share)
    model = GaussianClassifier("tied", subspace=share).fit(X, CODES)
    assert len(model.components_) == expected


@pytest.mark.parametrize("shape", oracle.LINEAR)
def test_linear_scores_are_in_terms_of_the_features(shape):
    model = GaussianClassifier(shape, subspace=2).fit(X, CODES)
    assert model.coef_.shape == (3, 5)
    scores = X @ model.coef_.T + model.intercept_
    gaps = model.log_joint(X) - scores
    np.testing.assert_allclose(gaps - gaps[:, :1], 0, atol=1e-9)


def test_samples_lie_in_the_subspace():
    model = GaussianClassifier("full", subspace=2).fit(X, CODES)
    rows, labels = model.sample(50, random_state=0)
    assert rows.shape == (50, 5)
    centred = rows - X.mean(axis=0)
    rest = centred - centred @ model.components_.T @ model.components_
    np.testing.assert_allclose(rest, 0, atol=1e-12)
    assert set(labels) <= {0, 1, 2}


def test_missing_values_cannot_be_projected():
    holes = oracle.with_holes(X, 0)
    with pytest.raises(InputError, match="NaN, which cannot be projected on a subspace"):
        GaussianClassifier("full", subspace=2).fit(holes, CODES)
    for shape in ("diagonal", "tied"):
        with pytest.raises(InputError, match="NaN.*subspace"):
            GaussianClassifier(shape, subspace=2).fit(holes, CODES)
    model = GaussianClassifier("full", subspace=2).fit(X, CODES)
    for method in ("predict", "predict_proba", "log_density", "mahalanobis"):
        with pytest.raises(InputError, match="NaN, which cannot be projected"):
            getattr(model, method)(holes)


def test_two_infinities_that_cancel_are_refused_too():
    model = GaussianClassifier("full", subspace=1).fit(X, CODES)
    first, second = np.sign(model.components_[0, :2])
    row = np.zeros((1, 5))
    row[0, :2] = np.inf * first, -np.inf * second
    with pytest.raises(InputError, match="infinity"):
        model.predict_proba(row)


def test_questions_about_features_are_refused():
    model = GaussianClassifier("full", subspace=2).fit(X, CODES)
    for method, argument in [("impute", X), ("conditional", X)]:
        with pytest.raises(InputError, match=f"{method} is about features"):
            getattr(model, method)(argument)
    with pytest.raises(InputError, match="boundary is about features"):
        model.boundary(0, 1)


def test_more_components_than_features_are_refused_and_none_is_found_in_constants():
    with pytest.raises(InputError, match="subspace=6, but the rows span only 5"):
        GaussianClassifier("full", subspace=6).fit(X, CODES)
    with pytest.raises(InputError, match="no feature varies"):
        GaussianClassifier("full", subspace=1).fit(np.ones_like(X), CODES)


def test_shrinkage_is_that_of_the_projected_rows():
    model = GaussianClassifier("full", subspace=3, shrinkage="auto").fit(X, CODES)
    flat = (X - X.mean(axis=0)) @ model.components_.T
    for k in range(3):
        own = flat[k == CODES]
        Z = (own - own.mean(axis=0)) / own.std(axis=0)
        assert model.shrinkage_[k] == pytest.approx(oracle.ledoit_wolf(Z), rel=1e-8)


def test_a_subspace_mends_more_features_than_rows():
    rng = np.random.default_rng(1)
    rows, y = rng.normal(size=(20, 50)), np.repeat(["a", "b"], 10)
    model = GaussianClassifier("full", subspace=3, singular="error").fit(rows, y)
    assert np.isfinite(model.log_joint(rows)).all()
    # two classes, three components: 2 priors, 6 means, 12 covariances
    assert model.n_parameters_ == 20


def test_a_mean_of_a_hundred_million_keeps_the_components():
    near = GaussianClassifier("full", subspace=2).fit(X, CODES)
    far = GaussianClassifier("full", subspace=2).fit(X + 1e8, CODES)
    np.testing.assert_allclose(far.components_, near.components_, atol=1e-6)
    np.testing.assert_allclose(
        far.predict_log_proba(X + 1e8), near.predict_log_proba(X), rtol=1e-5, atol=1e-5
    )


def test_fitting_without_a_subspace_forgets_its_components():
    model = GaussianClassifier("full", subspace=2).fit(X, CODES)
    model.set_params(subspace=None).fit(X, CODES)
    assert not hasattr(model, "components_")
    assert model.means_.shape == (3, 5)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_a_column_that_is_constant_within_each_class_takes_part_in_the_components(shape):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = np.column_stack([3.0 * y, rng.normal(size=40), rng.normal(size=40)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularWarning)
        model = GaussianClassifier(shape, subspace=2).fit(X, y)
    total = np.cov(X.T, bias=True)
    first = np.linalg.eigh(total)[1][:, -1]
    assert abs(model.components_[0] @ first) == pytest.approx(1.0, abs=1e-9)
    assert model.score(X, y) == 1.0
