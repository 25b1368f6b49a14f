"""``LogisticClassifier``: its maximum, tables, penalties and paths, and what it refuses."""

import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from tests.oracles import logistic as oracle
from threadpoolctl import threadpool_limits

import credo
from credo.classifiers import logistic_rows, logistic_solver
from credo.classifiers.logistic import LogisticClassifier
from credo.classifiers.logistic_rows import Scaling
from credo.exceptions import InputError, LabelError, NumericalError, SingularWarning

X2, Y2 = oracle.rows_of(1, n_classes=2)
X3, Y3 = oracle.rows_of(2, n_classes=3)
NAMES = np.array(["ant", "bee", "cat"])
CASES = {"two classes": (X2, Y2), "three classes": (X3, Y3)}
WEIGHTS = np.random.default_rng(3).uniform(0.2, 3.0, len(Y2))


def against_first(model):
    both = np.column_stack([model.coef_, model.intercept_])
    return both if len(model.classes_) == 2 else (both - both[0])[1:]


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("case", CASES)
def test_the_maximum_of_the_likelihood_is_that_of_the_textbook(case, weights):
    X, y = CASES[case]
    model = LogisticClassifier().fit(X, y, weights)
    expected, covariance = oracle.newton(X, y, weights)
    np.testing.assert_allclose(against_first(model), expected, rtol=1e-9, atol=1e-9)
    errors = np.sqrt(np.diag(covariance)).reshape(expected.shape)
    table = model.coefficient_table(reference=0)
    np.testing.assert_allclose(table.standard_error, errors, rtol=1e-7)
    slope = oracle.gradient(X, y, model.coef_, model.intercept_, weights)
    assert np.abs(slope / (np.append(np.abs(X).max(axis=0), 1.0) * len(X))).max() < 1e-12
    assert model.converged_
    assert model.gradient_norm_ <= 1e-8
    own = oracle.log_likelihood(X, y, model.coef_, model.intercept_, weights)
    assert model.log_likelihood_ == pytest.approx(own, rel=1e-12)
    counts = np.bincount(y, weights)
    assert model.null_log_likelihood_ == pytest.approx(counts @ np.log(counts / counts.sum()))
    assert model.n_parameters_ == (len(counts) - 1) * (X.shape[1] + 1)
    assert model.separation_ is None


def test_two_classes_agree_with_statsmodels():
    model = LogisticClassifier().fit(X2, Y2)
    peer = sm.Logit(Y2, oracle.with_ones(X2)).fit(disp=0, tol=1e-13)
    table = model.coefficient_table(0.9)
    np.testing.assert_allclose(table.estimate[0], peer.params, rtol=1e-6)
    np.testing.assert_allclose(table.standard_error[0], peer.bse, rtol=1e-6)
    np.testing.assert_allclose(table.z[0], peer.tvalues, rtol=1e-6)
    np.testing.assert_allclose(table.p_value[0], peer.pvalues, rtol=1e-6)
    bounds = np.column_stack([table.lower[0], table.upper[0]])
    np.testing.assert_allclose(bounds, peer.conf_int(0.1), rtol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X2)[:, 1], peer.predict(), rtol=1e-6)
    assert model.log_likelihood_ == pytest.approx(peer.llf)
    assert model.null_log_likelihood_ == pytest.approx(peer.llnull)


def test_three_classes_agree_with_statsmodels():
    model = LogisticClassifier().fit(X3, NAMES[Y3])
    peer = sm.MNLogit(Y3, oracle.with_ones(X3)).fit(disp=0, method="newton", tol=1e-13)
    table = model.coefficient_table(reference="ant")
    assert table.classes == ("bee", "cat")
    np.testing.assert_allclose(table.estimate, peer.params.T, rtol=1e-6)
    np.testing.assert_allclose(table.standard_error, peer.bse.T, rtol=1e-6)
    np.testing.assert_allclose(table.p_value, peer.pvalues.T, rtol=1e-6)
    bounds = np.stack([table.lower, table.upper], axis=-1)
    np.testing.assert_allclose(bounds, peer.conf_int(), rtol=1e-6)


def test_the_table_of_symmetric_coefficients_follows_from_that_of_differences():
    model = LogisticClassifier().fit(X3, Y3)
    _, covariance = oracle.newton(X3, Y3)
    size = X3.shape[1] + 1
    turn = np.vstack([np.zeros(2), np.eye(2)]) - 1 / 3
    both = np.kron(turn, np.eye(size))
    expected = np.sqrt(np.diag(both @ covariance @ both.T)).reshape(3, size)
    table = model.coefficient_table()
    np.testing.assert_allclose(table.standard_error, expected, rtol=1e-7)
    np.testing.assert_allclose(table.estimate[:, :-1], model.coef_)
    np.testing.assert_allclose(table.estimate.sum(axis=0), 0, atol=1e-12)
    assert table.reference is None


@pytest.mark.parametrize("strength", [0.01, 50.0])
@pytest.mark.parametrize("case", CASES)
def test_l2_agrees_with_scikit_learn(case, strength):
    X, y = CASES[case]
    scaled = X / X.std(axis=0)
    model = LogisticClassifier("l2", strength=strength).fit(scaled, y)
    peer = LogisticRegression(C=1 / strength, solver="newton-cg", tol=1e-12, max_iter=10_000)
    peer.fit(scaled, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-6)


@pytest.mark.parametrize("strength", [0.5, 20.0])
@pytest.mark.parametrize("case", CASES)
def test_l1_meets_the_conditions_of_a_minimum(case, strength):
    X, y = CASES[case]
    scaled = X / X.std(axis=0)
    model = LogisticClassifier("l1", strength=strength).fit(scaled, y)
    slope = oracle.gradient(scaled, y, model.coef_, model.intercept_)
    weights, zero = model.coef_, model.coef_ == 0
    np.testing.assert_allclose(slope[:, -1], 0, atol=1e-5)
    np.testing.assert_allclose(slope[:, :-1][~zero], -strength * np.sign(weights[~zero]), atol=1e-5)
    assert (np.abs(slope[:, :-1][zero]) <= strength + 1e-5).all()
    assert model.gradient_norm_ <= 1e-8
    assert model.n_parameters_ == (~zero).sum() + len(model.classes_) - 1


@pytest.mark.parametrize("ratio", [0.3, 0.9])
@pytest.mark.parametrize("case", CASES)
def test_an_elastic_net_agrees_with_scikit_learn_and_meets_the_conditions(case, ratio):
    X, y = CASES[case]
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    model = LogisticClassifier("elasticnet", strength=8.0, l1_ratio=ratio).fit(scaled, y)
    peer = LogisticRegression(
        C=1 / 8.0, l1_ratio=ratio, solver="saga", tol=1e-12, max_iter=100_000, random_state=0
    ).fit(scaled, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-7)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-7)
    assert_elastic(model, scaled, y, 8.0, ratio)
    assert model.n_parameters_ == np.count_nonzero(model.coef_) + len(model.classes_) - 1


def assert_elastic(model, X, y, strength, ratio, slack=1e-5):
    slope = oracle.gradient(X, y, model.coef_, model.intercept_)
    weights, zero, amount = model.coef_, model.coef_ == 0, strength * ratio
    bent = slope[:, :-1] + (1 - ratio) * strength * weights
    np.testing.assert_allclose(slope[:, -1], 0, atol=slack)
    np.testing.assert_allclose(bent[~zero], -amount * np.sign(weights[~zero]), atol=slack)
    assert (np.abs(bent[zero]) <= amount + slack).all()


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("ratio", "penalty"), [(0, "l2"), (1.0, "l1")])
@pytest.mark.parametrize("case", CASES)
def test_the_ends_of_the_elastic_net_are_the_other_penalties(case, ratio, penalty, make):
    X, y = CASES[case]
    X = make(X / X.std(axis=0))
    net = LogisticClassifier("elasticnet", strength=3.0, l1_ratio=ratio).fit(X, y)
    end = LogisticClassifier(penalty, strength=3.0).fit(X, y)
    np.testing.assert_array_equal(net.coef_, end.coef_)
    assert net.n_parameters_ == end.n_parameters_


@pytest.mark.parametrize("case", CASES)
def test_an_elastic_net_of_many_coefficients_meets_the_conditions(case, monkeypatch):
    monkeypatch.setattr(logistic_solver, "MOST_FOR_HESSIAN", 0)
    X, y = CASES[case]
    scaled = X / X.std(axis=0)
    for make in (np.asarray, sp.csr_array):
        model = LogisticClassifier("elasticnet", strength=9.0, tol=1e-7).fit(make(scaled), y)
        assert_elastic(model, scaled, y, 9.0, 0.5, slack=1e-3)


def test_a_path_of_an_elastic_net_starts_where_a_feature_enters():
    X, y = SCALED[3]
    net = LogisticClassifier("elasticnet", l1_ratio=0.25)
    path = net.path(X, y, n=4)
    lasso = LogisticClassifier("l1").path(X, y, n=4)
    assert path.strengths[0] == pytest.approx(4 * lasso.strengths[0])
    assert path.n_nonzero[0] == 0 < path.n_nonzero[1]
    single = LogisticClassifier("elasticnet", strength=path.strengths[2], l1_ratio=0.25).fit(X, y)
    np.testing.assert_allclose(path.coefs[2], single.coef_, atol=1e-6)


@pytest.mark.parametrize("penalty", [None, "l2", "l1", "elasticnet"])
@pytest.mark.parametrize("case", CASES)
def test_sparse_rows_give_the_same_as_dense(case, penalty):
    X, y = CASES[case]
    holes = np.where(np.random.default_rng(5).random(X.shape) < 0.5, 0.0, X)
    dense = LogisticClassifier(penalty).fit(holes, y)
    for kind in (sp.csc_matrix, sp.coo_array):
        model = LogisticClassifier(penalty).fit(kind(holes), y)
        np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(
            model.predict_proba(kind(holes)), dense.predict_proba(holes), atol=1e-6
        )
    if penalty is None:
        np.testing.assert_allclose(
            model.coefficient_table().standard_error,
            dense.coefficient_table().standard_error,
            rtol=1e-6,
        )


def test_single_precision_rows_are_never_copied_as_a_whole():
    rng = np.random.default_rng(10)
    X = rng.normal(size=(100_000, 40)).astype(np.float32)  # 16 MB, and 32 MB in double precision
    y = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    tracemalloc.start()
    LogisticClassifier().fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12e6


def test_many_coefficients_are_found_by_products_with_the_hessian():
    rng = np.random.default_rng(6)
    X = sp.random_array((400, 700), density=0.05, rng=rng, format="csr")
    y = (X @ rng.normal(size=(700, 3)) + rng.gumbel(size=(400, 3))).argmax(axis=1)
    model = LogisticClassifier("l2", strength=0.5).fit(X, y)
    assert model.converged_
    slope = oracle.gradient(X.toarray(), y, model.coef_, model.intercept_)
    slope[:, :-1] += 0.5 * model.coef_
    assert np.abs(slope).max() < 1e-5
    dense = LogisticClassifier("l2", strength=0.5).fit(X.toarray(), y)
    np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-5)
    few = LogisticClassifier("l1", strength=0.5, tol=1e-6).fit(X, y)
    slope = oracle.gradient(X.toarray(), y, few.coef_, few.intercept_)
    assert (np.abs(slope[:, :-1]) <= 0.5 + 1e-3).all()
    assert few.n_parameters_ < model.n_parameters_ / 4


def test_many_rows_start_from_a_sample_and_end_where_few_would():
    X, y = oracle.rows_of(7, n=70_000, n_features=2)
    model = LogisticClassifier().fit(X, y)
    slope = oracle.gradient(X, y, model.coef_, model.intercept_)
    assert np.abs(slope / np.append(np.abs(X).max(axis=0), 1) / len(X)).max() < 1e-12
    lasso = LogisticClassifier("l1", strength=100).fit(X, y)
    assert lasso.gradient_norm_ <= 1e-8


@pytest.mark.parametrize("case", CASES)
def test_probabilities_are_finite_and_normalised_at_huge_scores(case):
    X, y = CASES[case]
    model = LogisticClassifier().fit(X, y)
    far = np.vstack([X[:5], -X[:5]]) * 1e4 / np.abs(model.decision_function(X)).max()
    far = far * 1e3
    assert np.abs(model.decision_function(far)).max() > 1e4
    table = model.predict_proba(far)
    assert np.isfinite(table).all()
    np.testing.assert_allclose(table.sum(axis=1), 1)
    assert np.isfinite(model.predict_log_proba(far)).all()


def test_collinear_columns_get_the_least_coefficients_and_are_named():
    X = np.column_stack([X3, X3[:, 0] - 2 * X3[:, 1], np.full(len(X3), 7.0)])
    with pytest.warns(SingularWarning, match="each other: 0, 1, 3, 4. The likelihood does not"):
        model = LogisticClassifier().fit(X, Y3)
    whole = LogisticClassifier().fit(X3, Y3)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X3), atol=1e-9)
    scaled, flat = model.coef_ * X.std(axis=0), np.array([1, -2, 0, -1, 0]) * X.std(axis=0)
    np.testing.assert_allclose(scaled @ flat, 0, atol=1e-9)  # orthogonal to what does not matter
    np.testing.assert_allclose(model.coef_[:, 4], 0, atol=1e-12)
    with pytest.raises(NumericalError, match="not determined, so there are no errors"):
        model.coefficient_table()


@pytest.mark.parametrize("offset", [20.0, 500.0, 1e6])
def test_collinear_columns_are_found_far_from_the_origin(offset):
    scaled = np.round(X3 / X3.std(axis=0), 6) + offset
    X = np.column_stack([scaled, scaled[:, 0] - scaled[:, 1]])
    with pytest.warns(SingularWarning, match="each other: 0, 1, 3. The"):
        model = LogisticClassifier().fit(X, Y3)
    assert np.abs(model.coef_).max() < 10


def test_sparse_indicator_columns_with_an_intercept_are_collinear():
    rng = np.random.default_rng(8)
    group = rng.integers(0, 3, 300)
    X = sp.csr_array(np.eye(3)[group])
    y = (rng.random(300) < np.array([0.3, 0.5, 0.6])[group]).astype(int)
    with pytest.warns(SingularWarning):
        model = LogisticClassifier().fit(X, y)
    shares = [y[group == k].mean() for k in range(3)]
    np.testing.assert_allclose(model.predict_proba(np.eye(3))[:, 1], shares, rtol=1e-9)
    with pytest.warns(SingularWarning):
        dense = LogisticClassifier().fit(X.toarray(), y)
    np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-7, atol=1e-9)


def test_far_from_the_origin_no_digits_are_lost():
    shifted = X3 / X3.std(axis=0) + 2.0**20
    near = LogisticClassifier().fit(shifted - 2.0**20, Y3)
    far = LogisticClassifier().fit(shifted, Y3)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-7)
    np.testing.assert_allclose(
        far.coefficient_table().standard_error[:, :-1],
        near.coefficient_table().standard_error[:, :-1],
        rtol=1e-6,
    )


def test_the_table_can_be_read():
    table = LogisticClassifier().fit(X3, NAMES[Y3]).coefficient_table()
    rows = list(table.rows())
    assert len(rows) == 12
    assert rows[3]["class"] == "ant"
    assert rows[3]["feature"] == "intercept"
    assert rows[5]["z"] == table.z[1, 1]
    text = repr(table).splitlines()
    assert text[0] == "Coefficients of log odds against the mean of the classes, 0.95 confidence"
    assert len(text) == 14
    with pytest.raises(ValueError, match="read-only"):
        table.estimate[0, 0] = 1.0
    X, y = oracle.rows_of(9, n=400, n_features=15)
    text = repr(LogisticClassifier().fit(X, y).coefficient_table())
    assert text.endswith("… 8 more")


def test_penalised_fits_have_no_table():
    with pytest.raises(InputError, match="a penalty biases the estimates on purpose"):
        LogisticClassifier("l2").fit(X2, Y2).coefficient_table()


def test_progress_hears_of_rising_likelihoods():
    heard = []
    model = LogisticClassifier(progress=lambda i, value: heard.append((i, value))).fit(X3, Y3)
    assert [i for i, _ in heard] == list(range(len(heard)))
    values = [value for _, value in heard]
    assert values == sorted(values)
    assert values[-1] == pytest.approx(model.log_likelihood_)


SCALED = {n: oracle.rows_of(30 + n, n_features=5, n_classes=n) for n in (2, 3)}
SCALED = {n: (X / X.std(axis=0), y) for n, (X, y) in SCALED.items()}


@pytest.mark.parametrize("n_classes", SCALED)
def test_a_path_of_l1_starts_where_a_feature_enters_and_meets_the_conditions(n_classes):
    X, y = SCALED[n_classes]
    path = LogisticClassifier("l1").path(X, y, n=12)
    assert path.n_nonzero[0] == 0
    assert path.n_nonzero[1] >= 1
    residuals = np.bincount(y) / len(y) - np.eye(n_classes)[y]
    assert path.strengths[0] == pytest.approx(np.abs(residuals.T @ X).max())
    assert path.strengths[-1] == pytest.approx(path.strengths[0] / 1000)
    assert path.converged.all()
    assert (np.diff(path.log_likelihoods) > 0).all()
    for strength, coef, intercept in zip(path.strengths, path.coefs, path.intercepts, strict=True):
        slope = oracle.gradient(X, y, coef, intercept)[:, :-1]
        zero = coef == 0
        np.testing.assert_allclose(slope[~zero], -strength * np.sign(coef[~zero]), atol=1e-5)
        assert (np.abs(slope[zero]) <= strength + 1e-5).all()


@pytest.mark.parametrize("n_classes", SCALED)
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_a_path_equals_single_fits(n_classes, penalty):
    X, y = SCALED[n_classes]
    strengths = [0.1, 10.0, 1.0]
    path = LogisticClassifier(penalty).path(X, y, strengths)
    np.testing.assert_array_equal(path.strengths, [10.0, 1.0, 0.1])
    for i, strength in enumerate(path.strengths):
        model = LogisticClassifier(penalty, strength=strength).fit(X, y)
        np.testing.assert_allclose(path.coefs[i], model.coef_, atol=1e-6)
        np.testing.assert_allclose(path.intercepts[i], model.intercept_, atol=1e-6)
        # the penalised sum is at its minimum, the likelihood alone has slope `strength`
        slack = 1e-6 * strength + 1e-9
        assert path.log_likelihoods[i] == pytest.approx(model.log_likelihood_, abs=slack)


def test_a_path_of_many_rows_takes_its_metric_from_a_sample():
    X, y = oracle.rows_of(37, n=40_000, n_features=2)
    X = X / X.std(axis=0)
    path = LogisticClassifier("l2").path(X, y, n=4)
    assert path.converged.all()
    for strength, coef, intercept in zip(path.strengths, path.coefs, path.intercepts, strict=True):
        slope = oracle.gradient(X, y, coef, intercept)
        slope[:, :-1] += strength * coef
        assert np.abs(slope).max() / len(y) < 1e-7


def test_a_path_can_be_read_and_taken_of_sparse_rows():
    X, y = SCALED[2]
    path = LogisticClassifier("l1").path(X, y, [100.0, 0.01])
    sparse = LogisticClassifier("l1").path(sp.csr_array(X), y, [100.0, 0.01])
    np.testing.assert_allclose(sparse.coefs, path.coefs, atol=1e-6)
    assert repr(path) == "StrengthPath(l1, 2 strengths from 100 to 0.01, 0 to 5 of 5 features)"
    assert path.classes == (0, 1)


def test_a_path_needs_a_penalty_and_positive_strengths():
    X, y = SCALED[2]
    with pytest.raises(InputError, match="needs a penalty"):
        LogisticClassifier().path(X, y)
    with pytest.raises(InputError, match="must be positive. Got -1"):
        LogisticClassifier("l2").path(X, y, [1.0, -1.0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "ridge"}, "penalty of LogisticClassifier must be one of None, 'l2', 'l1'"),
        ({"penalty": "none"}, "Got 'none'"),
        (
            {"penalty": "l2", "strength": 0.0},
            "strength of LogisticClassifier must be positive. Got 0. For no",
        ),
        ({"strength": 2.0}, "strength but no penalty"),
        ({"penalty": "l1", "l1_ratio": 0.5}, "0 to 1, with penalty='elasticnet'. Got 0.5 with"),
        ({"penalty": "elasticnet", "l1_ratio": 1.5}, "l1_ratio of .* from 0 to 1, .* Got 1.5"),
        ({"penalty": "elasticnet", "l1_ratio": "all"}, "l1_ratio of LogisticClassifier must be"),
        ({"missing_cells": "drop"}, "missing_cells of .* must be one of 'error', 'indicator'"),
        ({"penalty": "l1", "strength": np.nan}, "strength of LogisticClassifier must be finite"),
        ({"separation": "ignore"}, "separation of LogisticClassifier must be one of 'warn'"),
        ({"tol": None}, "tol of LogisticClassifier must be finite"),
        ({"tol": -1.0}, "tol of LogisticClassifier must be positive"),
        ({"progress": 3}, "progress of LogisticClassifier must be a function"),
        ({"max_iter": 0}, "max_iter of LogisticClassifier must be a whole number"),
    ],
    ids=str,
)
def test_wrong_options_are_refused_by_name(options, message):
    with pytest.raises(InputError, match=message):
        LogisticClassifier(**options).fit(X3, Y3)


def test_missing_values_are_refused_by_column_with_who_can_take_them():
    holes = pd.DataFrame(X3, columns=["age", "dose", "site"])
    holes.loc[17, "dose"] = np.nan
    message = "NaN in column 'dose' \\(row 17\\).*credo.GaussianClassifier or credo.NaiveBayes"
    with pytest.raises(InputError, match=message):
        LogisticClassifier().fit(holes, Y3)
    model = LogisticClassifier().fit(X3, Y3)
    with pytest.raises(InputError, match="NaN in column 1"):
        model.predict_proba(np.where(np.arange(3) == 1, np.nan, X3[:5]))


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (np.nan, sp.csr_array, r"NaN in column 2 \(row 4\)"),
        (np.nan, np.ma.masked_invalid, r"NaN in column 2 \(row 4\)"),
        (-np.inf, np.asarray, "infinity .* in column 2"),
        (1e300, np.asarray, "too large to square"),
    ],
)
def test_entries_that_are_no_use_are_refused_by_column(value, kind, message):
    wrong = X3.copy()
    wrong[4, 2] = value
    with pytest.raises(InputError, match=message):
        LogisticClassifier().fit(kind(wrong), Y3)


def test_a_single_class_is_refused():
    with pytest.raises(InputError, match="at least two classes. Got only one class: 1"):
        LogisticClassifier().fit(X3, np.ones(len(X3), dtype=int))
    with pytest.raises(InputError, match="at least two classes"):
        LogisticClassifier().fit(X3, Y3, (Y3 == 1).astype(float))


def test_stopping_early_is_told_with_the_gradient():
    X, y = oracle.rows_of(41)  # whose mean loss is about 1, and below it for two classes
    with pytest.warns(ConvergenceWarning, match="after 1 iterations with a gradient of .* Raise"):
        model = LogisticClassifier(max_iter=1).fit(X, y)
    assert not model.converged_
    for penalty in ("l1", "l2"):
        with pytest.warns(ConvergenceWarning, match="above tol=1e-08. Raise max_iter or tol\\.$"):
            LogisticClassifier(penalty, max_iter=1).fit(X, y)
    limit = r"above [5-7]\.?\d*e-09, tol=1e-08 of the mean loss 0\.[5-7]\d?\. Raise max_iter or tol"
    with pytest.warns(ConvergenceWarning, match=limit):
        LogisticClassifier(max_iter=1).fit(X, y == 1)


def test_a_search_that_rounding_ends_says_so_with_the_limit_it_missed():
    with pytest.warns(ConvergenceWarning) as told:
        model = LogisticClassifier("l2", tol=1e-300).fit(X3, Y3)
    text = str(told[0].message)
    assert "as no step lowers the loss any further in float64" in text
    assert text.endswith("Raise tol.")
    assert model.n_iter_ < 100


def test_a_table_checks_what_it_is_asked():
    model = LogisticClassifier().fit(X3, Y3)
    with pytest.raises(InputError, match="confidence .* strictly between 0 and 1. Got 95"):
        model.coefficient_table(95)
    with pytest.raises(LabelError, match="no class 9"):
        model.coefficient_table(reference=9)


def forged(path, **changes):
    """A model from a file whose Hessian was tampered with."""
    model = LogisticClassifier().fit(X3, Y3)
    information = replace(model._fitted.information, **changes)
    model._fitted = replace(model._fitted, information=information)
    model.save(path)
    return credo.load(path)


def test_a_singular_hessian_has_no_standard_errors(tmp_path):
    model = forged(tmp_path / "m.credo", hessian=np.ones((8, 8)))
    with pytest.raises(NumericalError, match="singular to rounding"):
        model.coefficient_table()


@pytest.mark.parametrize(
    "changes",
    [
        {"hessian": np.eye(8) + np.eye(8, k=1)},
        {"hessian": -np.eye(8)},
        {"hessian": np.eye(4)},
        {"hessian": np.eye(4), "n_classes": 2},
        {"scaling": Scaling(np.zeros(3), np.array([1.0, 0.0, 1.0]), intercept=True)},
        {"scaling": Scaling(np.zeros(4), np.ones(4), intercept=False)},
    ],
    ids=["lopsided", "negative", "small", "of two classes", "no scale", "of four columns"],
)
def test_a_forged_hessian_is_refused(tmp_path, changes):
    with pytest.raises(InputError, match="not fit|has shape"):
        forged(tmp_path / "m.credo", **changes)


def test_too_many_coefficients_have_no_table(monkeypatch):
    monkeypatch.setattr(logistic_solver, "MOST_FOR_HESSIAN", 10)
    rng = np.random.default_rng(42)
    wide = sp.random_array((300, 11), density=0.3, rng=rng, format="csr")
    model = LogisticClassifier().fit(wide, rng.integers(0, 2, 300))
    with pytest.raises(NumericalError, match="with 12 coefficients no Hessian was formed"):
        model.coefficient_table()


def test_sparse_rows_are_left_as_they_are():
    data = np.array([1.0, 2.0, 3.0, 4.0, -1.0, 0.5])
    rows = sp.csr_array((data, np.array([0, 0, 1, 0, 1, 1]), np.array([0, 2, 3, 5, 6])))
    before = rows.copy()
    summed = rows.toarray()
    y = [0, 1, 0, 1]
    model = LogisticClassifier("l2").fit(rows, y)
    assert rows.nnz == before.nnz
    np.testing.assert_array_equal(rows.data, before.data)
    np.testing.assert_allclose(
        model.coef_, LogisticClassifier("l2").fit(summed, y).coef_, rtol=1e-6
    )


@pytest.mark.parametrize("unit", [1e-100, 1e-20, 1e20, 1e100])
def test_extreme_units_are_no_matter_without_a_penalty(unit):
    model = LogisticClassifier().fit(X3 * unit, Y3)
    plain = LogisticClassifier().fit(X3, Y3)
    np.testing.assert_allclose(model.coef_ * unit, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.coefficient_table().z, plain.coefficient_table().z, rtol=1e-8)


def test_the_sign_turns_with_the_reference_of_two_classes():
    model = LogisticClassifier().fit(X2, NAMES[Y2])
    forth, back = (model.coefficient_table(reference=name) for name in ("ant", "bee"))
    assert (forth.classes, back.classes) == (("bee",), ("ant",))
    np.testing.assert_allclose(forth.estimate, -back.estimate)
    np.testing.assert_allclose(forth.lower, -back.upper)


@pytest.mark.parametrize("case", CASES)
def test_there_may_be_no_intercept(case):
    X, y = CASES[case]
    model = LogisticClassifier(fit_intercept=False).fit(X, y)
    expected, covariance = oracle.newton(X, y, intercept=False)
    np.testing.assert_allclose(against_first(model)[:, :-1], expected, rtol=1e-8)
    assert not model.intercept_.any()
    errors = np.sqrt(np.diag(covariance)).reshape(expected.shape)
    table = model.coefficient_table(reference=0)
    np.testing.assert_allclose(table.standard_error, errors, rtol=1e-7)
    assert table.features == (0, 1, 2)


# --- where a fit begins, and rows that repeat -----------------------------------------------------


@pytest.mark.parametrize("penalty", [None, "l2", "l1", "elasticnet"])
@pytest.mark.parametrize("case", CASES)
def test_a_warm_start_takes_fewer_iterations_to_the_same_optimum(case, penalty):
    X, y = CASES[case]
    model = LogisticClassifier(penalty, warm_start=True).fit(X[20:], y[20:])
    cold = LogisticClassifier(penalty).fit(X, y)
    model.fit(X, y)
    assert 0 < model.n_iter_ < cold.n_iter_
    np.testing.assert_allclose(model.coef_, cold.coef_, rtol=1e-5, atol=1e-7)
    again = model.fit(X, y)
    assert again is model
    assert model.n_iter_ == 0
    other = LogisticClassifier(penalty).fit(X, y)
    assert other.fit(X, y).n_iter_ == cold.n_iter_


def test_a_warm_start_from_a_file_and_of_batches(tmp_path):
    LogisticClassifier("l2", warm_start=True).fit(X3, Y3).save(tmp_path / "m.credo")
    loaded = credo.load(tmp_path / "m.credo")
    assert loaded.fit_batches([(X3[:90], Y3[:90]), (X3[90:], Y3[90:])]).n_iter_ == 0


def test_a_warm_start_needs_the_same_classes_and_columns():
    frame = pd.DataFrame(X3, columns=list("abc"))
    for rows, labels in (
        (frame.rename(columns={"c": "d"}), Y3),
        (frame[["a", "b"]], Y3),
        (frame, NAMES[Y3]),
        (frame[Y3 > 0], Y3[Y3 > 0]),
    ):
        model = LogisticClassifier("l2", warm_start=True).fit(frame, Y3).fit(rows, labels)
        cold = LogisticClassifier("l2").fit(rows, labels)
        assert model.n_iter_ == cold.n_iter_
        np.testing.assert_array_equal(model.coef_, cold.coef_)


def test_a_warm_start_that_fails_leaves_the_model_as_it_was():
    model = LogisticClassifier("l2", warm_start=True).fit(X3, Y3)
    coef = model.coef_.copy()
    with pytest.raises(InputError, match="NaN in column 0"):
        model.fit(np.full_like(X3, np.nan), Y3)
    np.testing.assert_array_equal(model.coef_, coef)
    assert model.fit(X3, Y3).n_iter_ == 0


@pytest.mark.filterwarnings("ignore::credo.exceptions.SeparationWarning")
def test_a_warm_start_under_separation_ends_at_the_same_ridge():
    X, y = np.array([[0.0], [1], [2], [3]]), [0, 0, 1, 1]
    cold = LogisticClassifier().fit(X, y)
    model = LogisticClassifier(warm_start=True).fit(X, y).fit(X, y)
    np.testing.assert_allclose(model.coef_, cold.coef_, rtol=1e-6)
    assert model.n_iter_ < cold.n_iter_


def repeated(times=12):
    rng = np.random.default_rng(31)
    X = np.column_stack([rng.integers(-2, 3, 60), rng.integers(0, 4, 60) / 4])
    rows = rng.permutation(np.repeat(np.arange(60), times))
    X = X[rows]
    return np.where(X == 0, -0.0, X), rng.integers(0, 3, len(rows)), rng.uniform(0.5, 2, len(rows))


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_repeat_are_visited_once(monkeypatch, weighted):
    X, y, weights = repeated()
    weights = weights if weighted else None
    X[::3] += 0.0  # zeros of both signs are one number
    visited, link = [], logistic_solver.link
    monkeypatch.setattr(
        logistic_solver, "link", lambda s, c: (visited.append(len(c)), link(s, c))[1]
    )
    for rows in (X, X.astype(np.float32), pd.DataFrame(X, columns=["a", "b"]).assign(c="u")):
        visited.clear()
        model = LogisticClassifier("l2").fit(rows, y, weights)
        kinds = len(pd.DataFrame(rows).assign(y=y).drop_duplicates())
        assert max(visited) == kinds < len(X) / 2
    theta, _ = oracle.newton(X, y, weights)
    found = LogisticClassifier().fit(X, y, weights)
    np.testing.assert_allclose(against_first(found), theta, rtol=1e-7, atol=1e-9)
    assert model.log_likelihood_ == pytest.approx(
        LogisticClassifier("l2").fit_batches([(rows, y, weights)]).log_likelihood_, rel=1e-10
    )


def test_the_kinds_of_rows_are_those_of_a_dictionary(monkeypatch):
    X, y, weights = repeated()
    first, totals = logistic_rows.merge_repeats(X, y, weights)
    rows, codes, expected = oracle.distinct(X, y, weights)
    np.testing.assert_array_equal(X[first], rows)
    np.testing.assert_array_equal(y[first], codes)
    np.testing.assert_allclose(totals, expected, rtol=1e-13)
    assert logistic_rows.merge_repeats(X3, Y3, None) is None
    assert logistic_rows.merge_repeats(sp.csr_array(X), y, None) is None
    few = np.vstack([X3, X3[:2]])
    assert logistic_rows.merge_repeats(few, np.append(Y3, Y3[:2]), None) is None
    monkeypatch.setattr(logistic_rows, "_hashes", lambda _x, codes, rows: 0 * codes[rows])
    assert logistic_rows.merge_repeats(X, y, weights) is None


def test_rows_with_heavy_tails_take_few_hessians(monkeypatch):
    rng = np.random.default_rng(5)
    X = np.exp(5 * rng.normal(size=(1000, 30)))
    scores = np.log(X) @ rng.normal(size=(30, 5)) + rng.gumbel(size=(1000, 5))
    y, made, init = scores.argmax(axis=1), [], logistic_solver.Hessian.__init__
    monkeypatch.setattr(
        logistic_solver.Hessian, "__init__", lambda s, *a: (made.append(1), init(s, *a))[1]
    )
    with threadpool_limits(1):  # on busy machines small products wait for each other
        model = LogisticClassifier("l2").fit(X, y)
    assert model.converged_
    slope = oracle.gradient(X, y, model.coef_, model.intercept_)
    slope[:, :-1] += model.coef_
    assert np.abs(slope / np.append(X.std(axis=0), 1)).max() <= 1e-8 * len(X)
    assert len(made) <= 16  # a new one for each step that does not halve the gradient makes 24


KDD = Path(__file__).parents[3].with_name("shared") / "data" / "tabular" / "kddcup99_10pct.gz"
ATTACKS = {
    "dos": ("back", "land", "neptune", "pod", "smurf", "teardrop"),
    "probe": ("ipsweep", "nmap", "portsweep", "satan"),
    "u2r": ("buffer_overflow", "loadmodule", "perl", "rootkit"),
    "normal": ("normal",),
}


@pytest.mark.slow
@pytest.mark.skipif(not KDD.exists(), reason="the connections of KDD-99 are not here")
def test_half_a_million_connections_take_less_than_a_minute_of_one_core():
    frame = pd.read_csv(KDD, header=None)
    kinds = {name: kind for kind, names in ATTACKS.items() for name in names}
    y = frame.pop(41).str.rstrip(".").map(lambda name: kinds.get(name, "r2l")).to_numpy()
    with threadpool_limits(1):
        start = time.process_time()
        model = LogisticClassifier("l2").fit(frame, y)
        seconds = time.process_time() - start
    assert model.converged_
    assert seconds < 60
    # of a search that visits all rows in each of its 117 iterations, 289 seconds
    assert model.log_likelihood_ == pytest.approx(-1789.4577817, abs=1e-5)
