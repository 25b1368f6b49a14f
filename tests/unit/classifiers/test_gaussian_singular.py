import warnings

import numpy as np
import pytest
from tests.oracles import gaussians as oracle
from tests.work import calls_in

from credo import GaussianClassifier
from credo.exceptions import InputError, NumericalError, SingularWarning

X, CODES = oracle.rows_of(140, counts=(25, 30, 40))
NAMES = np.array(["ant", "bee", "cat"])
Y = NAMES[CODES]
SHAPES = pytest.mark.parametrize("shape", oracle.SHAPES)


def refused(shape, rows, y=Y):
    """Give the text of the refusal, and check that the repaired model is usable."""
    with pytest.raises(NumericalError) as caught:
        GaussianClassifier(shape, singular="error").fit(rows, y)
    with pytest.warns(SingularWarning) as told:
        model = GaussianClassifier(shape).fit(rows, y)
    text = str(caught.value)
    assert str(told[0].message).startswith(text.split(". ", maxsplit=1)[0])
    assert told[0].filename == __file__
    assert np.isfinite(model.log_joint(rows)).all()
    np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1, rtol=1e-12)
    return text, model


@SHAPES
def test_a_constant_column_is_ignored_whatever_its_later_values(shape):
    wide = np.insert(X, 1, 0.1, axis=1)
    model = GaussianClassifier(shape).fit(wide, Y)
    assert model.constant_features_.tolist() == [False, "spherical" not in shape, False, False]
    if "spherical" in shape:
        return
    plain = GaussianClassifier(shape).fit(X, Y)
    np.testing.assert_allclose(model.log_joint(wide), plain.log_joint(X), rtol=1e-9)
    wide[:, 1] = 1e6
    np.testing.assert_allclose(model.log_joint(wide), plain.log_joint(X), rtol=1e-9)
    assert model.n_parameters_ == plain.n_parameters_


@pytest.mark.parametrize("shape", ["full", "diagonal"])
def test_a_column_that_is_constant_in_one_class_is_named(shape):
    rows = X.copy()
    rows[Y == "bee", 2] = 5.0
    text, model = refused(shape, rows)
    assert "'bee'" in text
    assert "constant in its 30 rows: 2" in text
    pooled = sum(rows[name == Y, 2].var() * (name == Y).sum() for name in NAMES) / len(Y)
    found, share = model.covariances_[1], 1 / 31
    if shape == "full":  # or the amount by which the other correlations would shrink, if more
        share = max(share, oracle.oas(np.corrcoef(rows[Y == "bee", :2].T), 30))
        found = np.diag(found)
    assert found[2] == pytest.approx(share * pooled, rel=1e-9)


@pytest.mark.parametrize("shape", ["tied", "tied_diagonal", "proportional", "full", "diagonal"])
def test_a_column_that_is_constant_in_every_class_is_named(shape):
    rows = X.copy()
    rows[:, 0] = CODES
    text, model = refused(shape, rows)
    assert "0" in text
    # such a column tells the classes apart; the repair lets it
    assert model.score(rows, Y) == 1.0


@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_duplicated_columns_are_named(shape):
    text, _ = refused(shape, np.column_stack([X, 1000 * X[:, 1] - 3]))
    assert "column 1 is, to rounding, a combination of 3" in text or (
        "column 3 is, to rounding, a combination of 1" in text
    )
    assert "singular='repair'" in text


@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_collinear_columns_are_named(shape):
    rows = np.column_stack([X, X[:, 0] - 2 * X[:, 2]])
    text, _ = refused(shape, rows)
    named = text.split("column ")[1].split(";")[0]
    assert all(name in named for name in "023")
    assert "1" not in named


@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_more_features_than_rows_are_refused_with_the_number_needed(shape):
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(20, 30)), np.repeat(["a", "b"], 10)
    text, _ = refused(shape, rows, y)
    needed = "at least 31" if shape == "full" else "at least 32"
    assert "are too few for 30 features" in text
    assert needed in text
    for shrinkage in (0.5, "auto", "oas"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingularWarning)
            model = GaussianClassifier(shape, shrinkage=shrinkage).fit(rows, y)
        assert np.isfinite(model.log_joint(rows)).all()


@pytest.mark.parametrize("shape", ["full", "diagonal", "spherical", "proportional"])
def test_a_class_of_one_row_is_named(shape):
    rows, y = np.vstack([X, [1.0, 2.0, 3.0]]), np.append(Y, "dog")
    text, model = refused(shape, rows, y)
    assert "'dog'" in text
    assert "1 rows" in text
    np.testing.assert_array_equal(model.means_[3], [1.0, 2.0, 3.0])


def test_classes_along_different_axes_have_no_proportional_covariances():
    """Their likelihood has no bound; the repair gives the factors a finite place."""
    rng = np.random.default_rng(2)
    rows = np.zeros((40, 2))
    rows[:10, 0], rows[10:, 1] = rng.normal(size=10), rng.normal(size=30)
    y = np.repeat(["a", "b"], [10, 30])
    _, model = refused("proportional", rows, y)
    assert model.proportions_.max() / model.proportions_.min() < 1e6


@pytest.mark.parametrize("shape", oracle.LINEAR)
def test_a_class_of_one_row_is_fine_if_the_covariance_is_shared(shape):
    rows, y = np.vstack([X, [1.0, 2.0, 3.0]]), np.append(Y, "dog")
    model = GaussianClassifier(shape, singular="error").fit(rows, y)
    twin = oracle.fit(rows, y, shape)
    np.testing.assert_allclose(model.log_joint(X), oracle.log_joint(X, twin), rtol=1e-9)


@SHAPES
def test_nothing_is_learned_from_constants_only(shape):
    with pytest.raises(InputError, match="every feature is constant"):
        GaussianClassifier(shape).fit(np.full_like(X, 0.3), Y)
    with pytest.raises(InputError, match="every feature is constant"):
        GaussianClassifier(shape).fit(X[:1], Y[:1])


@pytest.mark.parametrize("shape", oracle.CORRELATED)
@pytest.mark.parametrize("rubbish", [[np.inf] * 4, [np.nan] * 4, [1e300] * 4, [-np.inf, 0, 0, 1]])
def test_rows_of_weight_zero_do_not_disturb_the_shrinkage(shape, rubbish):
    wide = np.column_stack([X, np.ones(len(X))])  # a constant column has scale zero
    rows, y = np.vstack([wide, [rubbish]]), np.append(Y, "bee")
    model = GaussianClassifier(shape, shrinkage="auto")
    model.fit(rows, y, np.append(np.ones(len(Y)), 0.0))
    plain = GaussianClassifier(shape, shrinkage="auto").fit(wide, Y)
    np.testing.assert_allclose(model.shrinkage_, plain.shrinkage_, rtol=1e-12)


def test_repairs_warn_on_streams_too_and_end_with_the_model_of_all_rows():
    model = GaussianClassifier("full")
    with pytest.warns(SingularWarning, match="'ant'"):
        model.partial_fit(X[Y == "ant"][:3], Y[Y == "ant"][:3])
    assert np.isfinite(model.log_density(X)).all()
    rest = np.ones(len(Y), dtype=bool)
    rest[np.flatnonzero(Y == "ant")[:3]] = False
    model.partial_fit(X[rest], Y[rest])
    whole = GaussianClassifier("full").fit(X, Y)
    np.testing.assert_allclose(model.log_joint(X), whole.log_joint(X), rtol=1e-9)


@pytest.mark.parametrize("shape", ["tied", "diagonal", "tied_diagonal", "spherical"])
def test_five_thousand_classes_take_few_calls(shape):
    rng = np.random.default_rng(1)
    n = 5000
    centres = rng.normal(size=(n, 4)) * 100
    y = np.tile(np.arange(n), 4)
    rows = centres[y] + rng.normal(size=(4 * n, 4))
    assert calls_in(lambda: GaussianClassifier(shape).fit(rows, y).predict(rows[:200])) < 100 * n
    model = GaussianClassifier(shape).fit(rows, y)
    found = model.predict(rows[:200])
    assert (found == y[:200]).mean() > 0.5
    assert model.means_.shape == (n, 4)
    np.testing.assert_allclose(
        model.means_[[0, 7]], [rows[y == 0].mean(axis=0), rows[y == 7].mean(axis=0)]
    )


def test_full_matrices_of_too_many_classes_are_refused_before_they_are_made():
    rows, y = np.zeros((40_000, 200)), np.arange(40_000) % 20_000
    with pytest.raises(InputError, match="20000 classes with 200 features need.*GiB"):
        GaussianClassifier("full").fit(rows, y)
