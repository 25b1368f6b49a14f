import numpy as np
import pytest
from tests.oracles import gaussians as oracle

from credo import GaussianClassifier
from credo.exceptions import CredoError, InputError, NumericalError, ShapeError

X, CODES = oracle.rows_of(120, counts=(30, 35, 40))
NAMES = np.array(["ant", "bee", "cat"])
Y = NAMES[CODES]
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


@pytest.mark.parametrize("shape", oracle.SHAPES)
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


def test_a_new_class_of_one_row_is_waited_for():
    model = GaussianClassifier("full", singular="error")
    model.partial_fit(X[Y != "cat"], Y[Y != "cat"])
    assert model.predict(X[:1]).shape == (1,)
    cats = np.flatnonzero(Y == "cat")
    model.partial_fit(X[cats[:1]], Y[cats[:1]])
    with pytest.raises(NumericalError, match="'cat'"):
        model.predict(X)
    model.partial_fit(X[cats[1:]], Y[cats[1:]])
    assert_same(model, GaussianClassifier("full").fit(X, Y))


def test_auto_shrinkage_says_why_it_has_no_streams():
    auto = GaussianClassifier(shrinkage="auto")
    assert not hasattr(auto, "partial_fit")
    with pytest.raises(AttributeError) as caught:
        auto.partial_fit(X, Y)
    assert "shrinkage='oas'" in str(caught.value.__cause__)
    with pytest.raises(InputError, match="merging pass shrinkage='oas'"):
        auto.fit(X, Y).merge(GaussianClassifier().fit(X, Y))


def test_models_of_other_columns_do_not_merge():
    one = GaussianClassifier("diagonal").fit(X, Y)
    with pytest.raises(ShapeError, match="3 features cannot be merged with 2"):
        one.merge(GaussianClassifier("diagonal").fit(X[:, :2], Y))
    tied, full = (GaussianClassifier(shape).fit(X, Y) for shape in ("tied", "full"))
    with pytest.raises(InputError, match="'tied' scatter cannot be merged with 'full'.*'full'"):
        tied.merge(full)


def test_a_mean_of_a_hundred_million_keeps_ten_digits_in_a_stream():
    far = X + 1e8
    model = GaussianClassifier("full")
    for rows in np.array_split(np.arange(len(Y))[::-1], 7):
        model.partial_fit(far[rows], Y[rows])
    exact = [oracle.exact_moments(far[name == Y])[1] for name in NAMES]
    np.testing.assert_allclose(model.covariances_, exact, rtol=1e-10, atol=1e-10)
