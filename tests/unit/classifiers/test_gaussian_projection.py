"""Fisher's projection: next to the eigenvalues of S_W⁻¹ S_B and to scikit-learn's; its laws."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from tests.oracles import gaussians as oracle

import credo
from credo import GaussianClassifier
from credo.exceptions import InputError, SingularWarning

X, CODES = oracle.rows_of(3, counts=(25, 30, 40, 12), n_features=5)
NAMES = np.array(["ant", "bee", "cat", "dog"])
Y = NAMES[CODES]
PRIORS = [0.1, 0.2, 0.3, 0.4]
WEIGHTS = np.random.default_rng(0).integers(0, 4, len(Y)).astype(float)
LINEAR = pytest.mark.parametrize("shape", oracle.LINEAR)


def assert_is(model, found, rows, shares):
    """It is the projection of a model of the oracle."""
    directions, values, centre = oracle.fisher(found, shares)
    np.testing.assert_allclose(model.transform(rows), (rows - centre) @ directions.T, atol=1e-9)
    np.testing.assert_allclose(model.explained_variance_ratio_, values / values.sum(), atol=1e-12)


@LINEAR
@pytest.mark.parametrize("priors", [None, PRIORS])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("n_features", [5, 2, 1])
def test_it_solves_the_eigenproblem_of_fisher(shape, priors, weights, n_features):
    rows = X[:, :n_features]
    model = GaussianClassifier(shape, priors=priors).fit(rows, Y, weights)
    expected = oracle.fit(rows, Y, shape, weights)
    assert_is(model, expected, rows, expected.priors if priors is None else priors)
    assert model.transform(rows).shape == (len(rows), min(3, n_features))


@pytest.mark.parametrize("data", [(X, Y), load_wine(return_X_y=True)], ids=["random", "wine"])
def test_it_is_that_of_scikit_learn_up_to_signs(data):
    rows, y = data
    model = GaussianClassifier("lda").fit(rows, y)
    peer = LinearDiscriminantAnalysis(solver="eigen").fit(rows, y)
    theirs = peer.transform(rows - rows.mean(axis=0))
    np.testing.assert_allclose(np.abs(model.transform(rows)), np.abs(theirs), rtol=1e-6, atol=1e-8)
    ratios = peer.explained_variance_ratio_
    np.testing.assert_allclose(model.explained_variance_ratio_, ratios, rtol=1e-9)


def test_priors_weigh_the_means_as_in_scikit_learn():
    model = GaussianClassifier("tied", priors=PRIORS).fit(X, Y)
    peer = LinearDiscriminantAnalysis(solver="svd", priors=PRIORS).fit(X, Y)
    ours, theirs = np.abs(model.transform(X)), np.abs(peer.transform(X))
    scale = ours[0, 0] / theirs[0, 0]  # which is one, or that of N - K
    np.testing.assert_allclose(ours, scale * theirs, rtol=1e-8, atol=1e-10)
    ratios = peer.explained_variance_ratio_
    np.testing.assert_allclose(model.explained_variance_ratio_, ratios, rtol=1e-9)
    plain = GaussianClassifier("tied").fit(X, Y)
    moved = plain.with_priors(PRIORS)
    np.testing.assert_array_equal(moved.transform(X), model.transform(X))
    assert np.abs(plain.transform(X) - model.transform(X)).max() > 0.01


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 6))
@LINEAR
def test_laws(shape, seed, n_classes, n_features):
    rng = np.random.default_rng(seed)
    counts = rng.integers(8, 30, n_classes)
    rows, y = oracle.rows_of(seed, counts=counts, n_features=n_features)
    priors = rng.dirichlet(np.full(n_classes, 3.0))
    model = GaussianClassifier(shape, priors=priors).fit(rows, y)
    new = oracle.rows_of(seed + 1, counts=counts, n_features=n_features)[0]
    z, means = model.transform(new), model.transform(model.means_)
    ratios = model.explained_variance_ratio_
    assert (np.diff(ratios) <= 1e-15).all()
    assert ratios.sum() == pytest.approx(1.0, rel=1e-14)
    # decisions by the nearest projected mean, priors counted in
    scores = np.log(priors) - 0.5 * ((z[:, None] - means) ** 2).sum(axis=2)
    log_odds = model.decision_function(new)
    log_odds = log_odds[:, None] * [0, 1] if n_classes == 2 else log_odds
    np.testing.assert_allclose(
        scores - scores[:, :1], log_odds - log_odds[:, :1], rtol=1e-7, atol=1e-7
    )
    # columns are centred and uncorrelated between the classes, and one within
    np.testing.assert_allclose(priors @ means, 0.0, atol=1e-9)
    between = (priors[:, None] * means).T @ means
    lambdas = between.trace() * ratios
    np.testing.assert_allclose(between, np.diag(lambdas), atol=1e-9 * between.trace())
    sigma = oracle.covariance_of(model._model, 0)
    base = model.transform(np.zeros((1, n_features)))
    a = (model.transform(np.eye(n_features)) - base).T
    np.testing.assert_allclose(a @ sigma @ a.T, np.eye(len(a)), atol=1e-8)
    # signs: of the two outermost classes the later one has the larger coordinate
    assert (means.argmin(axis=0) < means.argmax(axis=0)).all()


@given(st.integers(0, 2**32 - 1))
def test_maps_of_the_features_change_nothing_but_the_map(seed):
    rng = np.random.default_rng(seed)
    turn, shift = rng.normal(size=(5, 5)) + 2 * np.eye(5), 10 * rng.normal(size=5)
    plain = GaussianClassifier("tied").fit(X, Y)
    mapped = GaussianClassifier("tied").fit(X @ turn + shift, Y)
    rtol = 1e-12 * np.linalg.cond(turn) ** 2
    np.testing.assert_allclose(
        mapped.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=rtol
    )
    np.testing.assert_allclose(
        mapped.transform(X @ turn + shift), plain.transform(X), atol=1e3 * rtol
    )


def test_the_order_of_the_rows_changes_no_sign():
    order = np.random.default_rng(1).permutation(len(Y))
    one, other = (GaussianClassifier("tied").fit(X[i], Y[i]) for i in (slice(None), order))
    np.testing.assert_allclose(one.transform(X), other.transform(X), atol=1e-12)


def test_two_classes_are_told_apart_towards_the_second():
    for shares in ([0.5, 0.5], [0.9, 0.1], [0.1, 0.9]):
        some = np.isin(Y, ["ant", "bee"])
        model = GaussianClassifier("tied", priors=shares).fit(X[some], Y[some])
        z = model.transform(X)
        assert z.shape == (len(X), 1)
        assert model.explained_variance_ratio_.tolist() == [1.0]
        slope = np.polyfit(z[:, 0], model.decision_function(X), 1)[0]
        assert slope == pytest.approx(np.ptp(model.transform(model.means_)))


def test_means_in_a_smaller_space_give_fewer_columns():
    z = np.random.default_rng(0).normal(size=(40, 3))
    z -= z.mean(axis=0)
    rows = np.vstack([z + k * np.array([1, 2, -1]) for k in range(4)]) + 7e3
    model = GaussianClassifier("tied").fit(rows, np.repeat(range(4), 40))
    assert model.transform(rows).shape == (160, 1)
    assert model.explained_variance_ratio_.tolist() == [1.0]


@pytest.mark.parametrize("shape", [s for s in oracle.SHAPES if s not in oracle.LINEAR])
def test_shapes_with_a_covariance_for_each_class_say_why_not(shape):
    model = GaussianClassifier(shape).fit(X, Y)
    names = ("transform", "fit_transform", "get_feature_names_out", "set_output")
    assert not any(hasattr(model, name) for name in (*names, "explained_variance_ratio_"))
    with pytest.raises(AttributeError) as caught:
        model.transform(X)
    assert "share" in str(caught.value.__cause__)
    assert "Use covariance='tied'" in str(caught.value.__cause__)
    with pytest.raises(AttributeError, match=f"covariance='{shape}' has one for each"):
        _ = model.explained_variance_ratio_


class TestRows:
    model = GaussianClassifier("tied").fit(X, Y)

    def test_missing_values_are_projected_as_expected(self):
        holes = oracle.with_holes(X, 5)
        found = self.model.transform(holes)
        np.testing.assert_allclose(found, self.model.transform(self.model.impute(holes)))
        # by the definition: the mean of the projections of many completions
        row = X[7].copy()
        row[[1, 3]] = np.nan
        given_ = self.model.conditional(row[None])
        rng = np.random.default_rng(0)
        drawn = rng.multivariate_normal(given_.mean[0], given_.covariance[0], 4000)
        z = self.model.transform(drawn)
        off = np.abs(z.mean(axis=0) - self.model.transform(row[None])[0])
        assert (off < 5 * z.std(axis=0) / np.sqrt(4000)).all()

    def test_what_cannot_be_projected_is_refused(self):
        rows = X.copy()
        rows[4, 2] = np.inf
        with pytest.raises(InputError, match="infinity, in row 4, column 2"):
            self.model.transform(rows)
        rows[4] = 1.7e308 * np.array([1, -1, 1, -1, 1])
        with pytest.raises(InputError, match="Row 4 is so far"):
            self.model.transform(rows)
        with pytest.raises(ValueError, match="X has 4 features, but .* is expecting 5"):
            self.model.transform(X[:, :4])
        with pytest.raises(NotFittedError):
            GaussianClassifier("tied").transform(X)
        with pytest.raises(NotFittedError):
            _ = GaussianClassifier("tied").explained_variance_ratio_

    def test_without_means_that_differ_there_is_no_direction(self):
        for rows, y in ((X, ["one"] * len(X)), (np.vstack([X, X]), np.repeat(["a", "b"], len(X)))):
            model = GaussianClassifier("tied").fit(rows, y)
            assert len(model.explained_variance_ratio_) == 0
            with pytest.raises(InputError, match="means of all classes are the same"):
                model.transform(X)

    def test_blocks_frames_and_single_precision(self):
        many = np.tile(X, (400, 1))
        np.testing.assert_allclose(
            self.model.transform(many), np.tile(self.model.transform(X), (400, 1)), atol=1e-12
        )
        named = GaussianClassifier("tied").fit(pd.DataFrame(X, columns=list("abcde")), Y)
        frame = pd.DataFrame(X, columns=list("abcde"))
        np.testing.assert_array_equal(named.transform(frame), self.model.transform(X))
        found = self.model.transform(X.astype(np.float32))
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, self.model.transform(X), atol=1e-4)


class TestModels:
    def test_constant_features_count_for_nothing(self):
        wide = np.insert(X, 1, 0.1, axis=1)
        model = GaussianClassifier("tied").fit(wide, Y)
        wide[:, 1] = 1e6
        expected = GaussianClassifier("tied").fit(X, Y).transform(X)
        np.testing.assert_allclose(model.transform(wide), expected, atol=1e-9)

    @pytest.mark.parametrize("shrinkage", [None, 0.3])
    def test_a_repaired_covariance_is_the_one_that_counts(self, shrinkage):
        wide = np.column_stack([X, X[:, 0] + X[:, 1]])
        with pytest.warns(SingularWarning) if shrinkage is None else _nothing():
            model = GaussianClassifier("tied", shrinkage=shrinkage).fit(wide, Y)
        covariances = [model.covariances_] * 4
        found = oracle.Model(list(NAMES), model.priors_, list(model.means_), covariances)
        assert_is(model, found, wide, model.priors_)

    def test_rows_with_holes_are_fitted_first(self):
        model = GaussianClassifier("tied").fit(oracle.with_holes(X, 2), Y)
        covariances = [model.covariances_] * 4
        found = oracle.Model(list(NAMES), model.priors_, list(model.means_), covariances)
        assert_is(model, found, X, model.priors_)

    def test_a_subspace_is_projected_further(self):
        model = GaussianClassifier("tied", subspace=3).fit(X, Y)
        centre = X.mean(axis=0)
        inner = (X - centre) @ model.components_.T
        plain = GaussianClassifier("tied").fit(inner, Y)
        np.testing.assert_allclose(model.transform(X), plain.transform(inner), atol=1e-9)

    def test_streams_summaries_and_files_give_the_same(self, tmp_path):
        whole = GaussianClassifier("tied", priors="uniform").fit(X, Y)
        stream = clone(whole)
        for part in (slice(0, 40), slice(40, None)):
            stream.partial_fit(X[part], Y[part])
        summed = clone(whole).fit_summary(credo.summarise(X, Y))
        whole.save(tmp_path / "model.credo")
        loaded = credo.load(tmp_path / "model.credo")
        np.testing.assert_array_equal(loaded.transform(X), whole.transform(X))
        assert loaded.explained_variance_ratio_.tolist() == whole.explained_variance_ratio_.tolist()
        for other in (stream, summed):
            np.testing.assert_allclose(other.transform(X), whole.transform(X), atol=1e-9)


class TestScikitLearn:
    def test_columns_have_names_and_frames_if_asked_for(self):
        model = GaussianClassifier("tied").set_output(transform="pandas")
        frame = model.fit_transform(X, Y)
        names = [f"gaussianclassifier{i}" for i in range(3)]
        assert list(frame.columns) == names == model.get_feature_names_out().tolist()
        np.testing.assert_array_equal(frame, GaussianClassifier("tied").fit(X, Y).transform(X))

    def test_it_is_a_step_of_a_pipeline(self):
        pipe = make_pipeline(GaussianClassifier("lda", priors="uniform"), NearestCentroid())
        plain = GaussianClassifier("lda", priors="uniform").fit(X, Y)
        assert (pipe.fit(X, Y).predict(X) == plain.predict(X)).all()
        with pytest.raises(TypeError, match="implement fit and transform"):
            make_pipeline(GaussianClassifier(), NearestCentroid()).fit(X, Y)


def _nothing():
    """A context in which nothing is expected."""
    return pytest.MonkeyPatch.context()
