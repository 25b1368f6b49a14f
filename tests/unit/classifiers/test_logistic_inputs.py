from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from tests.oracles import logistic as oracle

import credo
from credo.classifiers import logistic_solver
from credo.classifiers.logistic import LogisticClassifier
from credo.classifiers.logistic_rows import Scaling
from credo.exceptions import InputError, LabelError, NumericalError, ShapeError

X, Y = oracle.rows_of(41)


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
        LogisticClassifier(**options).fit(X, Y)


def test_missing_values_are_refused_by_column_with_who_can_take_them():
    holes = pd.DataFrame(X, columns=["age", "dose", "site"])
    holes.loc[17, "dose"] = np.nan
    message = "NaN in column 'dose' \\(row 17\\).*credo.GaussianClassifier or credo.NaiveBayes"
    with pytest.raises(InputError, match=message):
        LogisticClassifier().fit(holes, Y)
    model = LogisticClassifier().fit(X, Y)
    with pytest.raises(InputError, match="NaN in column 1"):
        model.predict_proba(np.where(np.arange(3) == 1, np.nan, X[:5]))


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
    wrong = X.copy()
    wrong[4, 2] = value
    with pytest.raises(InputError, match=message):
        LogisticClassifier().fit(kind(wrong), Y)


def test_a_single_class_is_refused():
    with pytest.raises(InputError, match="at least two classes. Got only one class: 1"):
        LogisticClassifier().fit(X, np.ones(len(X), dtype=int))
    with pytest.raises(InputError, match="at least two classes"):
        LogisticClassifier().fit(X, Y, (Y == 1).astype(float))


def test_numbers_of_a_regression_are_no_labels():
    with pytest.raises(ValueError, match="continuous"):
        LogisticClassifier().fit(X, X[:, 0])


@pytest.mark.parametrize("weights", [-np.ones(200), np.zeros(200), np.full(200, np.nan), [1.0]])
def test_wrong_weights_are_refused(weights):
    with pytest.raises((InputError, ShapeError), match="sample weight"):
        LogisticClassifier().fit(X, Y, weights)


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = LogisticClassifier().fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(InputError):
        model.fit(np.full((5, 7), np.nan), [0, 1, 0, 1, 0])
    assert vars(model) == before


def test_stopping_early_is_told_with_the_gradient():
    with pytest.warns(ConvergenceWarning, match="after 1 iterations with a gradient of .* Raise"):
        model = LogisticClassifier(max_iter=1).fit(X, Y)
    assert not model.converged_
    for penalty in ("l1", "l2"):
        with pytest.warns(ConvergenceWarning, match="above tol=1e-08. Raise max_iter or tol\\.$"):
            LogisticClassifier(penalty, max_iter=1).fit(X, Y)
    limit = r"above [5-7]\.?\d*e-09, tol=1e-08 of the mean loss 0\.[5-7]\d?\. Raise max_iter or tol"
    with pytest.warns(ConvergenceWarning, match=limit):
        LogisticClassifier(max_iter=1).fit(X, Y == 1)


def test_a_search_that_rounding_ends_says_so_with_the_limit_it_missed():
    with pytest.warns(ConvergenceWarning) as told:
        model = LogisticClassifier("l2", tol=1e-300).fit(X, Y)
    text = str(told[0].message)
    assert "as no step lowers the loss any further in float64" in text
    assert text.endswith("Raise tol.")
    assert model.n_iter_ < 100


@pytest.mark.parametrize("method", ["predict", "predict_proba", "posterior", "decision_function"])
def test_an_unfitted_model_says_so(method):
    with pytest.raises(NotFittedError):
        getattr(LogisticClassifier(), method)(X)
    with pytest.raises(NotFittedError):
        LogisticClassifier().coefficient_table()


def test_a_table_checks_what_it_is_asked():
    model = LogisticClassifier().fit(X, Y)
    with pytest.raises(InputError, match="confidence .* strictly between 0 and 1. Got 95"):
        model.coefficient_table(95)
    with pytest.raises(LabelError, match="no class 9"):
        model.coefficient_table(reference=9)


def forged(path, **changes):
    """A model from a file whose Hessian was tampered with."""
    model = LogisticClassifier().fit(X, Y)
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
    model = LogisticClassifier().fit(X * unit, Y)
    plain = LogisticClassifier().fit(X, Y)
    np.testing.assert_allclose(model.coef_ * unit, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.coefficient_table().z, plain.coefficient_table().z, rtol=1e-8)
