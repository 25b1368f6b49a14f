"""Singular covariances, their repair and subspaces, and faults that were found by hunting."""

import re
import warnings

import numpy as np
import pytest
from tests.oracles import gaussians as oracle
from tests.work import calls_in

from credo import GaussianClassifier, summarise
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
    drawn, _ = model.sample(20, random_state=0)
    assert (drawn[:, 1] == 0.1).all()
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
    if shape == "full":
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
@pytest.mark.parametrize(("weights", "told"), [((0, 1000, 0), "13"), ((1, 0, -2), "023")])
def test_duplicated_and_collinear_columns_are_named(shape, weights, told):
    text, _ = refused(shape, np.column_stack([X, X @ weights - 3]))
    named = text.split("column ")[1].split(";")[0]
    assert sorted(re.findall(r"\d", named)) == list(told)
    assert "to rounding, a combination of" in named
    assert "singular='repair'" in text


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


def test_classes_along_different_axes_have_no_proportional_covariances():
    """Their likelihood has no bound; the repair gives the factors a finite place."""
    rng = np.random.default_rng(2)
    rows = np.zeros((40, 2))
    rows[:10, 0], rows[10:, 1] = rng.normal(size=10), rng.normal(size=30)
    y = np.repeat(["a", "b"], [10, 30])
    _, model = refused("proportional", rows, y)
    assert model.proportions_.max() / model.proportions_.min() < 1e6


@SHAPES
def test_nothing_is_learned_from_constants_only(shape):
    with pytest.raises(InputError, match="every feature is constant"):
        GaussianClassifier(shape).fit(np.full_like(X, 0.3), Y)
    with pytest.raises(InputError, match="every feature is constant"):
        GaussianClassifier(shape).fit(X[:1], Y[:1])


@pytest.mark.parametrize("shape", ["tied", "diagonal"])
def test_thousands_of_classes_take_few_calls(shape):
    rng = np.random.default_rng(1)
    n = 2000
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


RNG = np.random.default_rng(0)
NOISE, THIRDS = RNG.normal(size=(60, 3)), np.arange(60) % 3


def test_a_subspace_never_holds_components_that_are_rounding():
    rows = np.c_[NOISE[:, :2], NOISE[:, 0] + NOISE[:, 1]]
    with pytest.raises(InputError, match="span only 2 dimensions.*at most 2"):
        GaussianClassifier("diagonal", subspace=3).fit(rows, THIRDS)
    model = GaussianClassifier("diagonal", subspace=1 - 1e-15).fit(rows, THIRDS)
    assert model.components_.shape == (2, 3)


def test_em_keeps_a_repair_and_tells_of_it():
    rows = np.c_[NOISE, NOISE[:, 0] + NOISE[:, 1]]
    rows[np.random.default_rng(1).random(rows.shape) < 0.2] = np.nan
    with pytest.warns(SingularWarning, match="combination of"):
        model = GaussianClassifier("tied").fit(rows, THIRDS)
    assert model.converged_
    assert 0 < model.shrinkage_ < 1
    assert np.linalg.cond(model.covariances_) < 1e6


@pytest.mark.parametrize("method", ["impute", "conditional"])
def test_rows_too_far_to_compare_are_refused_when_filled(method):
    with pytest.raises(InputError, match="Row 0 is so far"):
        getattr(GaussianClassifier().fit(NOISE, THIRDS), method)([[1e160, np.nan, 1.0]])


@pytest.mark.parametrize("shape", ["full", "tied", "diagonal"])
def test_an_outlier_of_tiny_weight_costs_no_digits(shape):
    rows, weights = RNG.normal(size=(1000, 1)), np.ones(1000)
    rows[0], weights[0] = 1e10, 1e-22
    found = GaussianClassifier(shape).fit(rows, np.zeros(1000, int), weights).covariances_
    mean = rows[1:].mean()
    expected = (((rows[1:] - mean) ** 2).sum() + 1e-22 * 1e20) / 999
    assert found.item() == pytest.approx(expected, rel=1e-9)


def test_a_feature_seen_once_counts_once():
    rows = NOISE.copy()
    rows[THIRDS == 0, 1] = np.nan
    rows[0, 1] = 0.5
    with pytest.warns(SingularWarning, match="observed of its 20 rows: 1. Repaired with 0.5 of"):
        model = GaussianClassifier("diagonal").fit(rows, THIRDS)
    pooled = (
        sum(((rows[k == THIRDS, 1] - rows[k == THIRDS, 1].mean()) ** 2).sum() for k in (1, 2)) / 41
    )
    assert model.covariances_[0, 1] == pytest.approx(pooled / 2, rel=1e-9)


WIDE, WIDE_CODES = oracle.rows_of(160, counts=(30, 35, 40), n_features=5)


def components_of(rows, number):
    """Principal components by the singular value decomposition, and the shares of variance."""
    centred = rows - rows.mean(axis=0)
    _, values, vectors = np.linalg.svd(centred, full_matrices=False)
    return vectors[:number], values**2 / (values**2).sum()


@pytest.mark.parametrize("number", [2, 5])
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_the_model_is_of_the_rows_projected_on_the_components(shape, number):
    model = GaussianClassifier(shape, subspace=number).fit(WIDE, WIDE_CODES)
    vectors, _ = components_of(WIDE, number)
    signs = np.sign((vectors * model.components_).sum(axis=1))
    np.testing.assert_allclose(model.components_, signs[:, None] * vectors, atol=1e-9)
    flat = (WIDE - WIDE.mean(axis=0)) @ model.components_.T
    twin = oracle.fit(flat, WIDE_CODES, shape)
    tol = 1e-4 if shape == "proportional" else 1e-8
    np.testing.assert_allclose(model.means_, twin.means, rtol=tol, atol=tol)
    np.testing.assert_allclose(
        model.log_joint(WIDE), oracle.log_joint(flat, twin), rtol=tol, atol=tol
    )
    np.testing.assert_allclose(
        model.mahalanobis(WIDE), oracle.table(flat, twin, oracle.distance), rtol=tol, atol=tol
    )


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.999999])
def test_a_share_keeps_the_fewest_components_that_explain_it(share):
    _, shares = components_of(WIDE, 5)
    expected = next(q for q in range(1, 6) if shares[:q].sum() >= share)
    model = GaussianClassifier("tied", subspace=share).fit(WIDE, WIDE_CODES)
    assert len(model.components_) == expected


@pytest.mark.parametrize("shape", oracle.LINEAR)
def test_linear_scores_are_in_terms_of_the_features(shape):
    model = GaussianClassifier(shape, subspace=2).fit(WIDE, WIDE_CODES)
    assert model.coef_.shape == (3, 5)
    scores = WIDE @ model.coef_.T + model.intercept_
    gaps = model.log_joint(WIDE) - scores
    np.testing.assert_allclose(gaps - gaps[:, :1], 0, atol=1e-9)


def test_missing_values_cannot_be_projected():
    holes = oracle.with_holes(WIDE, 0)
    with pytest.raises(InputError, match="NaN, which cannot be projected on a subspace"):
        GaussianClassifier("full", subspace=2).fit(holes, WIDE_CODES)
    for shape in ("diagonal", "tied"):
        with pytest.raises(InputError, match="NaN.*subspace"):
            GaussianClassifier(shape, subspace=2).fit(holes, WIDE_CODES)
    model = GaussianClassifier("full", subspace=2).fit(WIDE, WIDE_CODES)
    for method in ("predict", "predict_proba", "log_density", "mahalanobis"):
        with pytest.raises(InputError, match="NaN, which cannot be projected"):
            getattr(model, method)(holes)


def test_two_infinities_that_cancel_are_refused_too():
    model = GaussianClassifier("full", subspace=1).fit(WIDE, WIDE_CODES)
    first, second = np.sign(model.components_[0, :2])
    row = np.zeros((1, 5))
    row[0, :2] = np.inf * first, -np.inf * second
    with pytest.raises(InputError, match="infinity"):
        model.predict_proba(row)


def test_questions_about_features_are_refused():
    model = GaussianClassifier("full", subspace=2).fit(WIDE, WIDE_CODES)
    for method, argument in [("impute", WIDE), ("conditional", WIDE)]:
        with pytest.raises(InputError, match=f"{method} is about features"):
            getattr(model, method)(argument)
    with pytest.raises(InputError, match="boundary is about features"):
        model.boundary(0, 1)


def test_more_components_than_features_are_refused_and_none_is_found_in_constants():
    with pytest.raises(InputError, match="subspace=6, but the rows span only 5"):
        GaussianClassifier("full", subspace=6).fit(WIDE, WIDE_CODES)
    with pytest.raises(InputError, match="no feature varies"):
        GaussianClassifier("full", subspace=1).fit(np.ones_like(WIDE), WIDE_CODES)


def test_shrinkage_is_that_of_the_projected_rows():
    model = GaussianClassifier("full", subspace=3, shrinkage="auto").fit(WIDE, WIDE_CODES)
    flat = (WIDE - WIDE.mean(axis=0)) @ model.components_.T
    for k in range(3):
        own = flat[k == WIDE_CODES]
        Z = (own - own.mean(axis=0)) / own.std(axis=0)
        assert model.shrinkage_[k] == pytest.approx(oracle.ledoit_wolf(Z), rel=1e-8)


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


def test_signed_and_unsigned_labels_stay_integers():
    labels = np.where(THIRDS > 0, 2**62 + 1, 2**62)
    model = (
        GaussianClassifier().partial_fit(NOISE, labels).partial_fit(NOISE, labels.astype(np.uint64))
    )
    assert model.classes_.tolist() == [2**62, 2**62 + 1]
    large = summarise(NOISE, np.where(THIRDS > 0, np.uint64(2**63 + 1), np.uint64(0)))
    assert summarise(NOISE, THIRDS).merge(large).classes.tolist() == [0, 1, 2, 2**63 + 1]
    with pytest.raises(InputError, match="two kinds"):
        summarise(NOISE, THIRDS).merge(summarise(NOISE, THIRDS.astype("datetime64[D]")))


def test_samples_lie_in_the_subspace():
    model = GaussianClassifier("full", subspace=2).fit(WIDE, WIDE_CODES)
    rows, labels = model.sample(50, random_state=0)
    assert rows.shape == (50, 5)
    centred = rows - WIDE.mean(axis=0)
    rest = centred - centred @ model.components_.T @ model.components_
    np.testing.assert_allclose(rest, 0, atol=1e-12)
    assert set(labels) <= {0, 1, 2}


def test_a_mean_of_a_hundred_million_keeps_the_components():
    near = GaussianClassifier("full", subspace=2).fit(WIDE, WIDE_CODES)
    far = GaussianClassifier("full", subspace=2).fit(WIDE + 1e8, WIDE_CODES)
    np.testing.assert_allclose(far.components_, near.components_, atol=1e-6)
    np.testing.assert_allclose(
        far.predict_log_proba(WIDE + 1e8), near.predict_log_proba(WIDE), rtol=1e-5, atol=1e-5
    )
