import numpy as np
import pytest
from tests.oracles import gaussians as oracle

import credo
from credo import GaussianClassifier
from credo.exceptions import CredoError, InputError, LabelError, NumericalError, ShapeError

X, CODES = oracle.rows_of(120, counts=(30, 35, 40))
NAMES = np.array(["ant", "bee", "cat"])
Y = NAMES[CODES]
WEIGHTS = np.random.default_rng(121).uniform(0.2, 3.0, len(Y))
SORTED = np.argsort(CODES, kind="stable")
INDEPENDENT = tuple(shape for shape in oracle.SHAPES if shape not in oracle.CORRELATED)

#: Ways to cut the rows into batches; sorted rows bring one class after the other.
SPLITS = {
    "halves": np.array_split(np.arange(len(Y)), 2),
    "sevenths backwards": np.array_split(np.arange(len(Y))[::-1], 7),
    "class by class": np.array_split(SORTED, 5),
    "row by row": [np.array([i]) for i in range(len(Y))],
}


def assert_same(one, other, tol=1e-9):
    np.testing.assert_array_equal(one.classes_, other.classes_)
    for name in ("priors_", "means_", "covariances_"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=tol, atol=tol, err_msg=name
        )
    np.testing.assert_allclose(one.log_joint(X), other.log_joint(X), rtol=tol, atol=tol)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=tol, atol=tol)
    assert one.log_likelihood_ == pytest.approx(other.log_likelihood_, rel=tol)
    assert one.n_parameters_ == other.n_parameters_


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_batches_in_any_order_equal_one_fit(shape, split):
    model = GaussianClassifier(shape, singular="error")
    for rows in SPLITS[split]:
        model.partial_fit(X[rows], Y[rows], sample_weight=WEIGHTS[rows])
    assert_same(model, GaussianClassifier(shape).fit(X, Y, WEIGHTS))


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_models_of_parts_merge_to_the_model_of_all(shape):
    parts = [
        GaussianClassifier(shape).fit(X[r], Y[r], WEIGHTS[r]) for r in np.split(SORTED, [45, 80])
    ]
    merged = parts[0].merge(parts[1]).merge(parts[2])
    whole = GaussianClassifier(shape).fit(X, Y, WEIGHTS)
    assert_same(merged, whole)
    assert_same(parts[2].merge(parts[0].merge(parts[1])), whole)
    assert parts[0].classes_.tolist() == ["ant", "bee"]


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_summaries_of_parts_fit_the_model_of_all(shape):
    parts = [
        credo.summarise(X[r], Y[r], WEIGHTS[r], covariance=shape)
        for r in np.split(SORTED, [20, 70])
    ]
    merged = parts[1].merge(parts[0]).merge(parts[2])
    model = GaussianClassifier(shape).fit_summary(merged)
    assert_same(model, GaussianClassifier(shape).fit(X, Y, WEIGHTS))
    assert model.n_features_in_ == 3


@pytest.mark.parametrize("shape", INDEPENDENT)
def test_batches_with_missing_values_equal_one_fit_of_independent_features(shape):
    holes = oracle.with_holes(X, 122, 0.4)
    whole = GaussianClassifier(shape).fit(holes, Y, WEIGHTS)
    for rows_of in (SPLITS["halves"], SPLITS["class by class"], SPLITS["row by row"]):
        model = GaussianClassifier(shape, singular="error")
        for rows in rows_of:
            model.partial_fit(holes[rows], Y[rows], sample_weight=WEIGHTS[rows])
        assert_same(model, whole)


@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_batches_with_missing_values_are_refused_if_features_are_correlated(shape):
    model = GaussianClassifier(shape).partial_fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(InputError, match="EM over all rows at once. Use fit, or"):
        model.partial_fit(oracle.with_holes(X, 1), Y)
    assert vars(model) == before


def test_a_new_class_may_come_at_any_time_and_a_batch_may_lack_some():
    model = GaussianClassifier("tied")
    for label in ("cat", "ant"):
        model.partial_fit(X[label == Y], Y[label == Y])
    assert model.classes_.tolist() == ["ant", "cat"]
    assert model.coef_.shape == (1, 3)
    model.partial_fit(X[Y == "bee"], Y[Y == "bee"])
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    assert model.coef_.shape == (3, 3)
    assert_same(model, GaussianClassifier("tied").fit(X, Y))


def test_longer_names_are_not_cut():
    model = GaussianClassifier("diagonal").partial_fit(X[:20], np.repeat(["a", "b"], 10))
    model.partial_fit(X[20:40], np.repeat(["a", "a much longer name"], 10))
    assert model.classes_.tolist() == ["a", "a much longer name", "b"]


def test_known_classes_catch_others():
    model = GaussianClassifier("diagonal").partial_fit(X, Y, classes=["cat", "ant", "bee"])
    before = dict(vars(model))
    with pytest.raises(LabelError, match="no class 'cow'"):
        model.partial_fit(X[:1], ["cow"], classes=["ant", "bee", "cat"])
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


@pytest.mark.parametrize("priors", [{"ant": 0.2, "bee": 0.3, "cat": 0.5}, [0.2, 0.3, 0.5]])
def test_priors_of_classes_that_have_not_come_yet_are_waited_for(priors):
    model = GaussianClassifier("diagonal", priors=priors)
    model.partial_fit(X[Y != "cat"], Y[Y != "cat"])
    with pytest.raises(CredoError, match="priors"):
        model.predict(X)
    model.partial_fit(X[Y == "cat"], Y[Y == "cat"])
    assert_same(model, GaussianClassifier("diagonal", priors=priors).fit(X, Y))


def test_fitting_again_forgets_and_streaming_continues_after_a_fit():
    model = GaussianClassifier("full").fit(X[:50], Y[:50])
    model.partial_fit(X[50:], Y[50:])
    assert_same(model, GaussianClassifier("full").fit(X, Y))
    assert_same(model.fit(X[:60], Y[:60]), GaussianClassifier("full").fit(X[:60], Y[:60]))


def test_a_refused_batch_leaves_the_model_as_it_was():
    model = GaussianClassifier("tied").partial_fit(X, Y)
    before = dict(vars(model))
    for rows, labels in [
        (X[:, :2], Y),
        (np.full((3, 3), np.inf), Y[:3]),
        (X, CODES),
        (X[:5], Y[:4]),
    ]:
        with pytest.raises(ValueError, match="."):
            model.partial_fit(rows, labels)
        assert vars(model) == before


def test_text_and_numbers_do_not_mix():
    model = GaussianClassifier("tied").partial_fit(X, Y)
    with pytest.raises(InputError, match="of two kinds"):
        model.partial_fit(X, CODES)
    with pytest.raises(InputError, match="of two kinds"):
        model.merge(GaussianClassifier("tied").fit(X, CODES))


def test_oas_works_on_streams_and_auto_says_why_not():
    whole = GaussianClassifier(shrinkage="oas").fit(X, Y)
    model = GaussianClassifier(shrinkage="oas")
    for rows in SPLITS["halves"]:
        model.partial_fit(X[rows], Y[rows])
    np.testing.assert_allclose(model.shrinkage_, whole.shrinkage_, rtol=1e-9)
    auto = GaussianClassifier(shrinkage="auto")
    assert not hasattr(auto, "partial_fit")
    with pytest.raises(AttributeError) as caught:
        auto.partial_fit(X, Y)
    assert "shrinkage='oas'" in str(caught.value.__cause__)
    with pytest.raises(InputError, match="merging pass shrinkage='oas'"):
        auto.fit(X, Y).merge(whole)


def test_a_subspace_follows_the_stream():
    whole = GaussianClassifier("full", subspace=2).fit(X, Y)
    model = GaussianClassifier("full", subspace=2)
    for rows in SPLITS["class by class"]:
        model.partial_fit(X[rows], Y[rows])
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-8, atol=1e-9)


def test_merging_leaves_both_models_as_they_were():
    one, other = GaussianClassifier().fit(X[:60], Y[:60]), GaussianClassifier().fit(X[60:], Y[60:])
    before = dict(vars(one)), dict(vars(other))
    one.merge(other)
    assert (vars(one), vars(other)) == before


def test_models_of_other_columns_do_not_merge():
    one = GaussianClassifier("diagonal").fit(X, Y)
    with pytest.raises(ShapeError, match="3 columns cannot be merged with 2"):
        one.merge(GaussianClassifier("diagonal").fit(X[:, :2], Y))
    with pytest.raises(InputError):
        one.merge(GaussianClassifier("full").fit(X, Y))


def test_models_of_the_same_columns_in_another_order_do_not_merge():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    one = GaussianClassifier("diagonal").fit(frame, Y)
    other = GaussianClassifier("diagonal").fit(frame[["c", "b", "a"]], Y)
    with pytest.raises(InputError, match="columns differ"):
        one.merge(other)
    merged = one.merge(GaussianClassifier("diagonal").fit(frame, Y))
    assert merged.feature_names_in_.tolist() == ["a", "b", "c"]


def test_a_mean_of_a_hundred_million_keeps_ten_digits_in_a_stream():
    far = X + 1e8
    model = GaussianClassifier("full")
    for rows in SPLITS["sevenths backwards"]:
        model.partial_fit(far[rows], Y[rows])
    exact = [oracle.exact_moments(far[name == Y])[1] for name in NAMES]
    np.testing.assert_allclose(model.covariances_, exact, rtol=1e-10, atol=1e-10)
