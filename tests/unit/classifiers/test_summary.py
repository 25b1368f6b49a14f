import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.oracles import gaussians as oracle

import credo
from credo import ClassSummary, GaussianClassifier
from credo.exceptions import InputError, ShapeError

X, CODES = oracle.rows_of(170, counts=(30, 35, 40))
NAMES = np.array(["ant", "bee", "cat"])
Y = NAMES[CODES]
WEIGHTS = np.random.default_rng(171).integers(0, 3, len(Y)).astype(float)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_a_summary_holds_counts_weights_and_means(shape):
    summary = credo.summarise(X, Y, WEIGHTS, covariance=shape)
    found = oracle.class_moments(X, Y, WEIGHTS)
    assert summary.classes.tolist() == ["ant", "bee", "cat"]
    assert summary.n_rows == (WEIGHTS > 0).sum()
    np.testing.assert_array_equal(summary.counts, [m.count for m in found.values()])
    np.testing.assert_allclose(summary.weights, [m.weight for m in found.values()])
    np.testing.assert_allclose(summary.means, [m.mean for m in found.values()], rtol=1e-12)


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


def test_merging_joins_classes_and_rows():
    one, other = credo.summarise(X[CODES < 2], Y[CODES < 2]), credo.summarise(X[50:], Y[50:])
    merged = one.merge(other)
    both_x, both_y = np.vstack([X[CODES < 2], X[50:]]), np.concatenate([Y[CODES < 2], Y[50:]])
    found = oracle.class_moments(both_x, both_y)
    assert merged.classes.tolist() == list(found)
    np.testing.assert_array_equal(merged.counts, [m.count for m in found.values()])
    np.testing.assert_allclose(merged.means, [m.mean for m in found.values()], rtol=1e-12)
    np.testing.assert_allclose(
        merged.moments.scatter, [m.scatter for m in found.values()], rtol=1e-10
    )


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_a_summary_stays_as_it_was(shape):
    summary = credo.summarise(X, Y, covariance=shape)
    before = {
        name: np.copy(getattr(summary.moments, name))
        for name in ("counts", "weights", "means", "scatter")
    }
    GaussianClassifier(shape).fit_summary(summary).partial_fit(X, Y)
    summary.merge(credo.summarise(X, Y, covariance=shape))
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(summary.moments, name), value)
    with pytest.raises(AttributeError):
        summary.classes = NAMES


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


def test_a_model_fitted_to_names_forgets_them_with_a_summary_without():
    model = GaussianClassifier().fit(FRAME, Y)
    model.fit_summary(credo.summarise(X, Y))
    assert not hasattr(model, "feature_names_in_")


def test_what_does_not_fit_together_does_not_merge():
    summary = credo.summarise(X, Y)
    with pytest.raises(ShapeError, match="3 columns cannot be merged with 2"):
        summary.merge(credo.summarise(X[:, :2], Y))
    with pytest.raises(InputError, match="of two kinds"):
        summary.merge(credo.summarise(X, CODES))
    with pytest.raises(InputError, match="'full'.*'tied'"):
        summary.merge(credo.summarise(X, Y, covariance="tied"))
    with pytest.raises(InputError, match="ClassSummary.merge needs a ClassSummary. Got ndarray"):
        summary.merge(X)
    with pytest.raises(InputError, match="fit_summary needs a ClassSummary. Got ndarray"):
        GaussianClassifier().fit_summary(X)


def test_missing_values_are_summarised_without_correlations_only():
    holes = oracle.with_holes(X, 1)
    summary = credo.summarise(holes, Y, covariance="diagonal")
    model = GaussianClassifier("diagonal").fit_summary(summary)
    expected = GaussianClassifier("diagonal").fit(holes, Y)
    np.testing.assert_allclose(model.log_joint(X), expected.log_joint(X), rtol=1e-12)
    for shape in oracle.CORRELATED:
        with pytest.raises(InputError, match=f"NaN, and covariance='{shape}'.*'diagonal'"):
            credo.summarise(holes, Y, covariance=shape)


def test_what_cannot_be_summarised_is_refused():
    with pytest.raises(InputError, match="infinity, in column 1"):
        credo.summarise(np.where(np.arange(3) == 1, np.inf, X), Y)
    with pytest.raises(InputError, match="covariance of summarise must be one of"):
        credo.summarise(X, Y, covariance="oval")
    with pytest.raises(ShapeError, match="one sample weight per row"):
        credo.summarise(X, Y, [1.0])
    with pytest.raises(ValueError, match="."):
        credo.summarise(X[:, 0], Y)
    with pytest.raises(ValueError, match="."):
        credo.summarise(X, Y[:4])


def test_a_summary_shows_its_size():
    summary = credo.summarise(X, Y, covariance="tied")
    assert repr(summary) == "ClassSummary(105 rows, 3 classes, 3 features, tied)"
    assert isinstance(summary, ClassSummary)


def test_auto_shrinkage_needs_rows_and_oas_does_not():
    summary = credo.summarise(X, Y)
    with pytest.raises(InputError, match="shrinkage='oas'"):
        GaussianClassifier(shrinkage="auto").fit_summary(summary)
    model = GaussianClassifier(shrinkage="oas").fit_summary(summary)
    expected = GaussianClassifier(shrinkage="oas").fit(X, Y)
    np.testing.assert_allclose(model.shrinkage_, expected.shrinkage_, rtol=1e-10)
