import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.oracles import gaussians as oracle

from credo import GaussianClassifier
from credo.exceptions import CredoError, InputError

X, CODES = oracle.rows_of(130, counts=(30, 35, 40))
FITTED = {shape: GaussianClassifier(shape).fit(X, CODES) for shape in oracle.SHAPES}
SHAPES = pytest.mark.parametrize("shape", oracle.SHAPES)


# --- labels ----------------------------------------------------------------------------------


def test_labels_may_be_a_list_a_series_or_a_column():
    names = [f"class {k}" for k in CODES]
    expected = GaussianClassifier().fit(X, np.array(names)).predict(X)
    for y in (names, pd.Series(names), pl.Series(names), pd.Series(names, dtype="category")):
        np.testing.assert_array_equal(GaussianClassifier().fit(X, y).predict(X), expected)


# --- rows ------------------------------------------------------------------------------------


@SHAPES
@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.tolist(),
        lambda x: tuple(map(tuple, x)),
        np.asfortranarray,
        lambda x: np.repeat(np.repeat(x, 2, axis=0), 2, axis=1)[::2, ::2],
        lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
        lambda x: np.broadcast_to(x, x.shape),
        lambda x: x.astype(object),
        lambda x: x.astype(np.longdouble),
        pd.DataFrame,
        lambda x: pd.DataFrame(x).astype("Float64"),
        pl.DataFrame,
    ],
    ids=[
        "list",
        "tuple",
        "fortran",
        "strided",
        "reversed",
        "read-only",
        "object",
        "long",
        "frame",
        "nullable",
        "polars",
    ],
)
def test_any_kind_of_table_gives_the_same_model(make, shape):
    rows = make(X)
    model = GaussianClassifier(shape).fit(rows, CODES)
    np.testing.assert_allclose(
        model.predict_log_proba(rows), FITTED[shape].predict_log_proba(X), rtol=1e-9, atol=1e-9
    )


@SHAPES
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int64, np.int8, np.uint8, np.bool_])
def test_numbers_of_any_type_are_computed_in_double_precision(shape, kind):
    rows = (
        (2 * X + 8).astype(kind)
        if kind is not np.bool_
        else np.random.default_rng(1).random(X.shape) < 0.3 + 0.2 * CODES[:, None]
    )
    before = rows.copy()
    model = GaussianClassifier(shape).fit(rows, CODES)
    wide = GaussianClassifier(shape).fit(rows.astype(np.float64), CODES)
    np.testing.assert_array_equal(rows, before)
    np.testing.assert_allclose(model.means_, wide.means_, rtol=1e-12)
    np.testing.assert_allclose(model.log_joint(rows), wide.log_joint(rows.astype(float)), rtol=1e-9)
    expected = np.float32 if kind is np.float32 else np.float64
    assert model.predict_proba(rows).dtype == expected
    assert model.predict_log_proba(rows).dtype == expected
    assert model.log_joint(rows).dtype == np.float64
    tol = 1e-4 if kind is np.float32 else 1e-9  # single precision is told in test_single
    np.testing.assert_allclose(
        model.predict_proba(rows), wide.predict_proba(rows.astype(float)), rtol=tol, atol=tol
    )


def test_rows_and_weights_that_are_read_only_stay_untouched():
    rows, y, weights = X.copy(), CODES.copy(), np.ones(len(CODES))
    for array in (rows, y, weights):
        array.flags.writeable = False
    for shape in oracle.SHAPES:
        model = GaussianClassifier(shape).fit(rows, y, weights)
        model.predict_proba(rows)
        holes = oracle.with_holes(X, 2)
        holes.flags.writeable = False
        model.impute(holes)
        GaussianClassifier(shape).fit(holes, y)


def test_names_of_columns_are_kept_checked_and_used_in_messages():
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    model = GaussianClassifier().fit(frame, CODES)
    assert model.feature_names_in_.tolist() == ["age", "height", "weight"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["height", "age", "weight"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    frame["copy"] = 2 * frame["age"]
    with pytest.raises(CredoError, match="'copy'.*'age'|'age'.*'copy'"):
        GaussianClassifier(singular="error").fit(frame, CODES)
    frame["age"] = np.nan
    with pytest.raises(InputError, match="class 0 has no observed value in column 'age'"):
        GaussianClassifier().fit(frame, CODES)


def test_nulls_of_data_frames_are_missing_values():
    holes = oracle.with_holes(X, 3)
    expected = GaussianClassifier("diagonal").fit(holes, CODES)
    nullable = pd.DataFrame(holes).astype("Float64")
    assert nullable.isna().to_numpy().any()
    polar = pl.DataFrame(holes, schema=["a", "b", "c"]).with_columns(pl.all().fill_nan(None))
    for rows in (nullable, polar):
        model = GaussianClassifier("diagonal").fit(rows, CODES)
        np.testing.assert_allclose(model.means_, expected.means_, rtol=1e-12)
        np.testing.assert_allclose(model.predict_proba(rows), expected.predict_proba(holes))


# --- refusals --------------------------------------------------------------------------------


@SHAPES
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_refused_with_its_place(shape, value):
    rows = X.copy()
    rows[7, 2] = value
    with pytest.raises(InputError, match="infinity, in column 2"):
        GaussianClassifier(shape).fit(rows, CODES)
    for method in ("predict", "predict_proba", "log_joint", "log_density", "mahalanobis"):
        with pytest.raises(InputError, match="infinity, in row 7, column 2"):
            getattr(FITTED[shape], method)(rows)


@pytest.mark.parametrize(
    ("rows", "y"),
    [
        (X[:, 0], CODES),
        (X[None], CODES),
        (X[:0], CODES[:0]),
        (X[:, :0], CODES),
        (X, CODES[:5]),
        (X + 1j, CODES),
        ([["a", "b", "c"]] * 5, [0, 1, 0, 1, 0]),
        (X, None),
    ],
    ids=["1-D", "3-D", "no rows", "no columns", "lengths", "complex", "text", "no labels"],
)
def test_what_is_no_table_with_labels_is_refused(rows, y):
    with pytest.raises((ValueError, TypeError), match="."):
        GaussianClassifier().fit(rows, y)


@pytest.mark.parametrize("rows", [X[:, :2], X[0], X[:0], np.column_stack([X, X])])
def test_rows_of_another_width_are_refused_when_predicting(rows):
    for method in ("predict", "predict_proba", "log_density", "impute", "conditional"):
        with pytest.raises(ValueError, match="."):
            getattr(FITTED["full"], method)(rows)


def test_a_failed_fit_leaves_the_classifier_as_it_was():
    fresh, fitted = GaussianClassifier(singular="error"), GaussianClassifier(singular="error")
    fitted.fit(X, CODES)
    twins = np.column_stack([X, X[:, 0]])
    for model in (fresh, fitted):
        before = dict(vars(model))
        for rows, y in [
            (twins, CODES),
            (np.where(X > 1, np.inf, X), CODES),
            (X, CODES[:5]),
            (np.full_like(X, np.nan), CODES),
            (np.ones_like(X), CODES),
        ]:
            with pytest.raises((ValueError, ArithmeticError), match="."):
                model.fit(rows, y)
            assert vars(model) == before
    broken = GaussianClassifier(progress=_interrupt).fit(X, CODES)
    before = dict(vars(broken))
    with pytest.raises(KeyboardInterrupt):
        broken.fit(oracle.with_holes(X, 4), CODES)
    assert vars(broken) == before


def _interrupt(*_):
    raise KeyboardInterrupt
