"""Missing values: left out of densities, filled in, and learned from."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.oracles import gaussians as oracle

from credo import GaussianClassifier
from credo.exceptions import InputError, LabelError

X, CODES = oracle.rows_of(110, counts=(30, 35, 40), n_features=4)
NAMES = np.array(["ant", "bee", "cat"])
Y = NAMES[CODES]
PRIORS = [0.5, 0.3, 0.2]


def as_model(model):
    """The fitted parameters as matrices, class by class, for the twins to work with."""
    matrices = model.covariances_
    if model.covariance in oracle.LINEAR or model.covariance == "proportional":
        matrices = [matrices] * len(model.classes_)
    if model.covariance == "proportional":
        matrices = [a * m for a, m in zip(model.proportions_, matrices, strict=True)]
    if model.covariance not in oracle.CORRELATED:
        size = model.means_.shape[1]
        matrices = [np.diag(np.broadcast_to(m, size)) for m in matrices]
    labels = list(model.classes_)
    return oracle.Model(labels, model.priors_, list(model.means_), [np.array(m) for m in matrices])


def patterns_of(x):
    """The row with every possible set of entries missing."""
    every = np.array([[(p >> j) & 1 for j in range(len(x))] for p in range(2 ** len(x))])
    return np.where(every == 1, np.nan, x)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_a_missing_entry_is_a_column_dropped_from_the_gaussians(shape):
    model = GaussianClassifier(shape, priors=PRIORS).fit(X, Y)
    twin = as_model(model)
    rows = np.vstack([patterns_of(X[0]), patterns_of(X[1])])
    joint = oracle.log_joint(rows, twin)
    np.testing.assert_allclose(model.log_joint(rows), joint, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        model.predict_proba(rows), oracle.posteriors(rows, twin), rtol=1e-8, atol=1e-10
    )
    np.testing.assert_array_equal(model.predict(rows), NAMES[joint.argmax(axis=1)])
    np.testing.assert_allclose(
        model.mahalanobis(rows), oracle.table(rows, twin, oracle.distance), rtol=1e-8, atol=1e-9
    )
    np.testing.assert_allclose(
        model.log_density(rows), np.logaddexp.reduce(joint, axis=1), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("shape", [s for s in oracle.SHAPES if s != "spherical"])
def test_a_missing_constant_feature_changes_no_posterior(shape):
    """But for spheres of different radius, in whose volume the feature counts."""
    wide = np.column_stack([X, np.full(len(X), 3.0)])
    model = GaussianClassifier(shape).fit(wide, Y)
    rows = wide.copy()
    rows[:, 4] = np.nan
    if "spherical" not in shape:
        np.testing.assert_allclose(model.log_joint(rows), model.log_joint(wide), rtol=1e-9)
        assert model.constant_features_.tolist() == [False] * 4 + [True]
    np.testing.assert_allclose(
        model.predict_proba(rows), model.predict_proba(wide), rtol=1e-8, atol=1e-12
    )


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_missing_features_are_mixed_over_the_classes_or_given_one(shape):
    model = GaussianClassifier(shape, priors=PRIORS).fit(X, Y)
    twin = as_model(model)
    rows = np.vstack([patterns_of(X[2]), patterns_of(X[50])])
    found = model.conditional(rows)
    pairs = [oracle.mixed_conditional(x, twin) for x in rows]
    np.testing.assert_allclose(found.mean, [m for m, _ in pairs], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.covariance, [c for _, c in pairs], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(model.impute(rows), found.mean, rtol=1e-12)
    given = model.conditional(rows, label="bee")
    pairs = [oracle.conditional(x, twin.means[1], twin.covariances[1]) for x in rows]
    np.testing.assert_allclose(given.mean, [m for m, _ in pairs], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(given.covariance, [c for _, c in pairs], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(model.impute(rows, "bee"), given.mean, rtol=1e-12)


def test_a_class_of_prior_zero_has_no_part_in_the_mixture_but_may_be_asked_for():
    model, rows = GaussianClassifier().fit(X, Y), oracle.with_holes(X, 1)
    only = model.with_priors([0.0, 0.0, 1.0])
    np.testing.assert_allclose(only.impute(rows), only.impute(rows, "cat"), rtol=1e-12)
    np.testing.assert_allclose(only.impute(rows, "ant"), model.impute(rows, "ant"))


@pytest.mark.parametrize("method", ["impute", "conditional"])
def test_filling_knows_its_classes_and_takes_no_infinity(method):
    fill = getattr(GaussianClassifier().fit(X, Y), method)
    with pytest.raises(LabelError, match=f"{method} has no class 'cow'"):
        fill(X, "cow")
    for row in ([np.inf, np.nan, 0.0, 0.0], [0.0, np.inf, 0.0, 0.0]):
        with pytest.raises(InputError, match="infinity"):
            fill([row])


def test_the_rows_to_fill_stay_as_they_are():
    model = GaussianClassifier().fit(X, Y)
    rows = oracle.with_holes(X, 2).astype(np.float32)
    before = rows.copy()
    filled = model.impute(rows)
    np.testing.assert_array_equal(rows, before)
    assert filled.dtype == np.float64


@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_correlated_features_are_learned_by_em(shape):
    holes = oracle.with_holes(X, 4)
    steps = []
    model = GaussianClassifier(shape, tol=1e-10, progress=lambda *s: steps.append(s))
    model.fit(holes, Y)
    own = oracle.log_joint(holes, as_model(model))[np.arange(len(Y)), CODES]
    assert model.log_likelihood_ == pytest.approx(own.sum(), rel=1e-10)
    trace = model.log_likelihood_trace_
    assert (np.diff(trace) >= -1e-9).all()
    assert trace[-1] == model.log_likelihood_
    assert len(steps) == len(trace)
    assert model.n_iter_ == len(trace) - 1
    assert model.summary_ is None
    assert model.converged_ is True
    twin = oracle.em_step(holes, Y, as_model(model), shape)
    np.testing.assert_allclose(model.means_, twin.means, atol=1e-3)


@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_missing_entries_of_weight_zero_leave_the_closed_form(shape):
    rows = np.vstack([X, [np.nan, 1.0, np.inf, 2.0]])
    weights = np.append(np.ones(len(Y)), 0.0)
    model = GaussianClassifier(shape).fit(rows, np.append(Y, "ant"), weights)
    assert model.summary_ is not None
    np.testing.assert_allclose(
        model.log_joint(X), GaussianClassifier(shape).fit(X, Y).log_joint(X), rtol=1e-9
    )


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_a_class_without_any_value_of_a_column_is_named_with_it(shape):
    rows = X.copy()
    rows[CODES == 1, 2] = np.nan
    with pytest.raises(InputError, match="class 'bee' has no observed value in column 2"):
        GaussianClassifier(shape).fit(rows, Y)


def test_stopping_early_is_said_and_kept():
    holes = oracle.with_holes(X, 6)
    with pytest.warns(ConvergenceWarning, match="EM stopped after max_iter=2 steps.*Raise"):
        model = GaussianClassifier(max_iter=2).fit(holes, Y)
    assert model.converged_ is False
    assert model.n_iter_ == 2
    assert len(model.log_likelihood_trace_) == 3


@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_some_missing_values_do_not_make_oas_give_up_all_correlations(shape):
    """The complete rows are shrunk by a third to a half; a quarter missing is no reason for all."""
    complete = GaussianClassifier(shape, shrinkage="oas").fit(X, Y)
    assert np.max(complete.shrinkage_) < 0.6
    model = GaussianClassifier(shape, shrinkage="oas").fit(oracle.with_holes(X, 7), Y)
    assert np.max(model.shrinkage_) < 1


def test_a_model_from_em_cannot_be_continued():
    model = GaussianClassifier().fit(oracle.with_holes(X, 9), Y)
    with pytest.raises(InputError, match="fitted to missing values by EM.*all rows at once"):
        model.partial_fit(X, Y)
    with pytest.raises(InputError, match="by EM.*has none to merge"):
        model.merge(GaussianClassifier().fit(X, Y))
    with pytest.raises(InputError, match="by EM.*has none to merge"):
        GaussianClassifier().fit(X, Y).merge(model)
    assert model.fit(X, Y).summary_ is not None
    model.partial_fit(X, Y)
