"""What can never work is refused at once, by name; what float64 holds does not depend on units."""

import re
from decimal import Decimal
from fractions import Fraction
from functools import partial, reduce

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer
from tests.oracles import gaussians as oracle

import credo
from credo import GaussianClassifier, GaussianRegressor, NaiveBayes, TextClassifier
from credo.exceptions import CredoError, InputError

X, CODES = oracle.rows_of(190, counts=(30, 34, 36), gap=1.0)
Y = np.array(["ant", "bee", "cat"])[CODES]
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
HALVES = np.array_split(np.arange(len(Y)), 2)
WORDS = [f"word{k} other{i % 7}" for i, k in enumerate(CODES)]
ROWS = {
    GaussianClassifier: (FRAME, Y),
    GaussianRegressor: (FRAME[["a", "b"]], X[:, 2]),
    NaiveBayes: (FRAME, Y),
    TextClassifier: (WORDS, Y),
}


# --- parameters ------------------------------------------------------------------------------

PRIORS = [
    *("flat", "", 3, True, [], {}, [[0.2, 0.3, 0.5]], ["x", "y", "z"], [0.5, 0.6], [1.2, -0.2]),
    *([np.nan, 0.5, 0.5], [np.inf, 0.5, 0.5], [0.5, 0.6, 0.1], [1.5, -0.25, -0.25]),
    {"ant": 0.5, "bee": 0.6},
    {"ant": 1.5, "bee": -0.5},
    {"ant": "half", "bee": 0.5},
    {"ant": np.nan, "bee": 1.0},
]
NUMBERS = {
    "smoothing": [-1, -1e-9, np.nan, np.inf, "much", None, [1.0]],
    "smoothing_target": ["mean", None, 3, ["uniform"]],
    "priors": PRIORS,
}
SHARED = {
    "shrinkage": ["lots", -0.1, 1.5, np.nan, True, [0.1]],
    "singular": ["ignore", None, True, ["repair"]],
    "tol": [-1, "small", np.nan, None],
    "max_iter": [0, -1, 1.5, "many", None],
    "progress": [3, "loud"],
}
WRONG = {
    GaussianClassifier: {
        "covariance": ["round", None, 3, ["full"]],
        "subspace": [0, -1, 1.0, 0.0, 2.5, True, np.nan, "two"],
        "priors": PRIORS,
        **SHARED,
    },
    GaussianRegressor: SHARED,
    NaiveBayes: {
        "families": ["gausian", None, 3, dict, ["gaussian"] * 3, {"a": "normal"}, {"a": None}],
        "unknown": ["skip", None, ["smooth"]],
        "variance_floor": [-1e-3, 1.5, np.nan, "small", None],
        **NUMBERS,
    },
    TextClassifier: {
        "model": ["poisson", None, 3],
        "vocabulary": ["some", None, ["all"]],
        "max_words": [0, -1, 2.0, True, "ten"],
        "hashing": [0, -1, 2.5, True, "many"],
        "vectorizer": ["words", 3, TfidfVectorizer()],
        **NUMBERS,
    },
}


def assert_refused(model, method, rows, name):
    before = dict(vars(model))
    said = {"families": "famil", "priors": "prior"}.get(name, name)
    with pytest.raises(InputError, match=said) as caught:
        getattr(model, method)(*rows)
    assert type(model).__name__ in str(caught.value)
    assert vars(model) == before


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        pytest.param(kind, name, value, id=f"{kind.__name__}-{name}-{value!r:.40}")
        for kind, options in WRONG.items()
        for name, values in options.items()
        for value in values
    ],
)
def test_a_parameter_that_can_never_work_is_refused_at_once(kind, name, value, method):
    assert_refused(kind(**{name: value}), method, ROWS[kind], name)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"covariance": "diagonal", "shrinkage": 0.1}, "shrinkage"),
        ({"covariance": "tied_spherical", "shrinkage": "oas"}, "shrinkage"),
    ],
    ids=str,
)
def test_shrinkage_without_correlations_is_refused_at_once(options, name, method):
    assert_refused(GaussianClassifier(**options), method, (FRAME, Y), name)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("stop_words", ["klingon", 3, [3]], ids=str)
def test_stop_words_that_are_no_words_are_refused_at_once(stop_words, method):
    model = TextClassifier(vocabulary="no_stop_words", stop_words=stop_words)
    assert_refused(model, method, (WORDS, Y), "stop_words")


@pytest.mark.parametrize("kind", [GaussianClassifier, NaiveBayes, TextClassifier])
@pytest.mark.parametrize("priors", [[0.5, 0.6], {"ant": 0.5, "bee": 0.6}, {"ant": -1, "bee": 2}])
def test_wrong_priors_are_refused_whatever_classes_the_first_batch_has(kind, priors):
    rows, y = ROWS[kind]
    some = np.flatnonzero(CODES == 0)
    batch = ([rows[i] for i in some] if isinstance(rows, list) else rows.iloc[some]), y[some]
    assert_refused(kind(priors=priors), "partial_fit", batch, "prior")


@pytest.mark.parametrize("kind", [GaussianClassifier, NaiveBayes, TextClassifier])
@pytest.mark.parametrize("priors", [[0.5, 0.5], {"ant": 0.5, "bee": 0.5}, [1.0]], ids=str)
def test_priors_that_lack_a_class_that_has_come_are_refused_at_once(kind, priors):
    """Classes never go again."""
    assert_refused(kind(priors=priors), "partial_fit", ROWS[kind], "prior")


@pytest.mark.parametrize("shape", ["diagonal", "tied_diagonal", "spherical", "tied_spherical"])
def test_a_subspace_is_not_made_from_variances(shape):
    summary = credo.summarise(FRAME, Y, covariance="diagonal")
    with pytest.raises(InputError, match="subspace needs correlations.*covariance='full'"):
        GaussianClassifier(shape, subspace=2).fit_summary(summary)
    model = GaussianClassifier(shape).fit(FRAME, Y)
    merged = model.set_params(subspace=2).merge(GaussianClassifier(shape).fit(FRAME, Y))
    with pytest.raises(CredoError, match="subspace needs correlations"):
        merged.predict(FRAME)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("kind", ROWS)
def test_masked_labels_are_refused(kind, method):
    rows, y = ROWS[kind]
    hidden = np.ma.masked_array(y, mask=np.arange(len(y)) == 3)
    with pytest.raises(InputError, match="masked in row 3"):
        getattr(kind(), method)(rows, hidden)


@pytest.mark.parametrize("kind", [GaussianClassifier, GaussianRegressor, NaiveBayes])
def test_models_of_other_numbers_of_columns_do_not_merge(kind):
    rows, y = ROWS[kind]
    with pytest.raises(InputError, match=rf"{kind.__name__}\.merge: {rows.shape[1]} features.*1\."):
        kind().fit(rows, y).merge(kind().fit(rows[["a"]], y))


@pytest.mark.parametrize("kind", [GaussianClassifier, NaiveBayes, TextClassifier])
def test_a_parameter_that_is_set_wrongly_on_the_way_leaves_the_stream_as_it_was(kind):
    model = kind().partial_fit(*ROWS[kind])
    model.set_params(priors=[0.5, 0.6, 0.1])
    assert_refused(model, "partial_fit", ROWS[kind], "prior")
    model.set_params(priors=None)
    np.testing.assert_allclose(model.predict_proba(ROWS[kind][0]).sum(axis=1), 1)


# --- no shrinkage ----------------------------------------------------------------------------


#: Columns that are no numbers, by container.
DAYS = pd.date_range("2020", periods=6)
OTHERS = {
    "dates": pd.Series(DAYS),
    "durations": pd.Series(DAYS - DAYS[0]),
    "periods": pd.Series(DAYS.to_period("M")),
    "dates as objects": pd.Series(DAYS.to_pydatetime(), dtype=object),
    "text": pd.Series(list("abcdef")),
    "categories": pd.Series(list("abcdef"), dtype="category"),
    "lists": pd.Series([[1]] * 6),
    "records": pd.Series([{"x": 1}] * 6),
    "Arrow dates": pa.array(DAYS),
    "Arrow dictionary": pa.array(list("abcdef")).dictionary_encode(),
    "Arrow lists": pa.array([[1]] * 6),
    "Arrow records": pa.array([{"x": 1}] * 6),
    "Polars dates": pl.Series(DAYS.to_numpy()),
    "Polars lists": pl.Series([[1]] * 6),
}
SIZES = np.array([1.0, 2, 4, 3, 7, 5])


def in_frame(column):
    """A table of a column of numbers, and another one."""
    make = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}.get(type(column), pa.table)
    return make({"size": SIZES, "other": column})


@pytest.mark.parametrize("ask", ["classify", "regress", "summarise"])
@pytest.mark.parametrize("column", OTHERS.values(), ids=OTHERS)
def test_a_column_that_holds_no_numbers_is_named(column, ask):
    table, rows, target = in_frame(column), in_frame(pd.Series(SIZES**2)), np.arange(6) % 2
    model = GaussianClassifier("tied") if ask == "classify" else GaussianRegressor()
    learn = credo.summarise if ask == "summarise" else model.fit
    for call in partial(learn, table, target), partial(model.fit(rows, target).predict, table):
        with pytest.raises(InputError, match=r"column 'other'.* holds .* Turn it into numbers"):
            call()


HOUSING = ["own", "rent", "own", "free", "own", "rent"]
RAGGED = np.empty(6, dtype=object)
RAGGED[:] = [np.ones(3), *[np.ones(2)] * 5]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (pd.DataFrame({"size": SIZES, "housing": HOUSING}), "column 'housing' holds text.*'own'"),
        (pl.DataFrame({"size": SIZES, "housing": HOUSING}), "column 'housing' holds text.*'own'"),
        (pa.table({"size": SIZES, "housing": HOUSING}), "column 'housing' holds text.*'own'"),
        (list(zip(SIZES, HOUSING, strict=True)), "column 1 holds text such as 'own'"),
        (np.array([SIZES, HOUSING], dtype=object).T, "column 1 holds text such as 'own'"),
        (np.array([HOUSING, HOUSING]).T, "column 0 holds text such as 'own'"),
    ],
    ids=["pandas", "Polars", "Arrow", "list", "objects", "text"],
)
@pytest.mark.parametrize("learn", [GaussianClassifier().fit, credo.summarise])
def test_text_is_refused_with_the_models_that_take_it(rows, said, learn):
    with pytest.raises(InputError, match=f"{said}.*NaiveBayes or credo.LogisticClassifier.*leave"):
        learn(rows, np.arange(6) % 2)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (pd.DataFrame(np.ones((6, 2)), columns=["a", "a"]), "column names must differ.*Rename"),
        (np.ones((6, 2)) * 1j, "Complex data not supported. Split it into real and imaginary"),
        ([[1.0, 2.0]] * 5 + [[1.0]], r"rows of X must be equally long.*lengths \[1, 2\]. Use None"),
        (RAGGED, r"rows of X must be equally long.*lengths \[2, 3\]. Use None"),
        (pl.LazyFrame({"a": SIZES}), "lazy frame has no rows yet. Use its collect"),
        (csr_array(np.ones((6, 2))), "X is sparse.*toarray"),
    ],
    ids=["names", "complex", "lists", "arrays", "lazy", "sparse"],
)
@pytest.mark.parametrize("kind", [GaussianClassifier, GaussianRegressor])
def test_what_is_no_table_of_numbers_is_refused_in_a_sentence(kind, rows, said):
    with pytest.raises(InputError, match=f"{kind.__name__}.*{said}"):
        kind().fit(rows, np.arange(6) % 2)


def test_numbers_written_as_text_are_numbers():
    rows = np.array([["1", "2.5"], ["3", None], ["2", "0"], ["2.5", "1"]] * 3, dtype=object)
    numbers, target = np.array(rows, dtype=float), np.arange(12) // 6
    for shape in "diagonal", "tied_diagonal":
        found = GaussianClassifier(shape).fit(rows, target).log_joint(rows)
        expected = GaussianClassifier(shape).fit(numbers, target).log_joint(numbers)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["datetime64[D]", "timedelta64[s]"])
@pytest.mark.parametrize("make", [np.array, list, np.ma.masked_array])
def test_an_array_of_dates_is_no_array_of_numbers(dtype, make):
    dates = make(np.arange(12).reshape(6, 2).astype(dtype))
    with pytest.raises(InputError, match="column 0 holds dates or durations"):
        GaussianClassifier("diagonal").fit(dates, np.arange(6) % 2)


@pytest.mark.parametrize(
    "column",
    [pa.array([Decimal(i * i) for i in range(6)]), pd.Series([Fraction(i, 3) for i in range(6)])],
    ids=["decimals", "fractions"],
)
@pytest.mark.parametrize("shape", ["tied", "diagonal"])
def test_exact_numbers_are_numbers(column, shape):
    table, target = in_frame(column), np.arange(6) % 2
    rows = in_frame(pd.Series(np.asarray(table)[:, 1].astype(float)))
    for model in GaussianClassifier(shape), GaussianRegressor():
        expected = model.fit(rows, target).predict(rows)
        assert_allclose(model.predict(table), expected, rtol=1e-12)
        assert_allclose(model.fit(table, target).predict(table), expected, rtol=1e-12)


@pytest.mark.parametrize("none", [0, 0.0, np.float32(0)], ids=repr)
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_a_shrinkage_of_zero_is_none(shape, none):
    model, plain = GaussianClassifier(shape, shrinkage=none), GaussianClassifier(shape)
    np.testing.assert_array_equal(
        model.fit(FRAME, Y).log_joint(FRAME), plain.fit(FRAME, Y).log_joint(FRAME)
    )
    np.testing.assert_array_equal(model.shrinkage_, plain.shrinkage_)
    model, plain = GaussianClassifier(shape, shrinkage=none), GaussianClassifier(shape)
    for half in HALVES:
        model.partial_fit(FRAME.iloc[half], Y[half])
        plain.partial_fit(FRAME.iloc[half], Y[half])
    np.testing.assert_array_equal(model.log_joint(FRAME), plain.log_joint(FRAME))
    rows, target = ROWS[GaussianRegressor]
    found = GaussianRegressor(shrinkage=none).fit(rows, target)
    np.testing.assert_array_equal(
        found.predict(rows), GaussianRegressor().fit(rows, target).predict(rows)
    )


# --- constant columns ------------------------------------------------------------------------

#: A sphere has one radius for all columns, so that a constant one is no singularity.
NOT_ROUND = [shape for shape in oracle.SHAPES if "spherical" not in shape]
FLAT = FRAME.assign(flat=4.0)
NAMED = r"(?s)'flat'.*(?i:drop|singular='repair')"


@pytest.mark.parametrize("shape", NOT_ROUND)
def test_a_constant_column_is_named_if_asked_and_ignored_else(shape):
    strict = GaussianClassifier(shape, singular="error")
    before = dict(vars(strict))
    with pytest.raises(CredoError, match=NAMED):
        strict.fit(FLAT, Y)
    assert vars(strict) == before
    with pytest.raises(CredoError, match=NAMED):
        credo.fit_table(GaussianClassifier(shape, singular="error"), FLAT.assign(y=Y), "y")
    with pytest.raises(CredoError, match=NAMED):
        GaussianClassifier(shape, singular="error").fit_summary(
            credo.summarise(FLAT, Y, covariance=shape)
        )
    lenient, plain = GaussianClassifier(shape).fit(FLAT, Y), GaussianClassifier(shape).fit(FRAME, Y)
    assert lenient.constant_features_.tolist() == [False, False, False, True]
    np.testing.assert_allclose(lenient.log_joint(FLAT), plain.log_joint(FRAME), rtol=1e-9)


@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_a_constant_column_with_missing_values_is_named_too(shape):
    holes = FLAT.mask(np.random.default_rng(1).random(FLAT.shape) < 0.1)
    with pytest.raises(CredoError, match=NAMED):
        GaussianClassifier(shape, singular="error").fit(holes, Y)


@pytest.mark.parametrize("shape", NOT_ROUND)
def test_a_stream_waits_for_a_constant_column_to_vary(shape):
    model = GaussianClassifier(shape, singular="error").partial_fit(FLAT, Y)
    with pytest.raises(CredoError, match=NAMED):
        model.predict(FLAT)
    other = FRAME.assign(flat=X[::-1, 0])
    model.partial_fit(other, Y)
    assert not model.constant_features_.any()
    assert np.isfinite(model.log_joint(FLAT)).all()


def test_a_constant_column_of_a_regression_is_named_if_asked_and_ignored_else():
    rows, target = FLAT[["a", "b", "flat"]], X[:, 2]
    with pytest.raises(CredoError, match=NAMED):
        GaussianRegressor(singular="error").fit(rows, target)
    model = GaussianRegressor().fit(rows, target)
    assert model.constant_features_.tolist() == [False, False, True]


# --- units -----------------------------------------------------------------------------------

UNITS = [1e-300, 1e-200, 1e-170, 1e-160, 1e160, 1e200, 1e300]
#: Columns that have the unit, of three; without spheres, it may be a single one.
WHERE = {"all": ["a", "b", "c"], "one": ["b"]}


def summarised(make, rows, y):
    parts = [credo.summarise(rows.iloc[h], y[h], covariance=make().covariance) for h in HALVES]
    return make().fit_summary(reduce(lambda a, b: a.merge(b), parts))


def streamed(make, rows, y):
    return reduce(lambda model, h: model.partial_fit(rows.iloc[h], y[h]), HALVES, make())


def merged(make, rows, y):
    one, other = (make().partial_fit(rows.iloc[h], y[h]) for h in HALVES)
    return one.merge(other)


def tabled(make, rows, y):
    return credo.fit_table(make(), rows.assign(y=y), "y")


WAYS = {
    "fit": lambda make, rows, y: make().fit(rows, y),
    "partial_fit": streamed,
    "merge": merged,
    "fit_table": tabled,
    "summarise": summarised,
}


def assert_same_or_named(ask, expected, columns, owner):
    """The same answers, or a refusal that tells the column and what to do; nothing else."""
    try:
        found = ask()
    except CredoError as refusal:
        found = str(refusal)
    if isinstance(found, str):
        assert "unit" in found or "escale" in found, found
        assert owner in found, found
        named = [rf"{column!r}|column {'abc'.find(column)}\b" for column in columns]
        named = r"\b(y|targets?)\b" if columns == ["y"] else "|".join(named)
        assert re.search(named, found), found
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [*oracle.SHAPES, "naive"])
def test_a_unit_changes_no_posterior_or_is_refused_with_its_column(shape, way, where, unit):
    make = NaiveBayes if shape == "naive" else partial(GaussianClassifier, shape)
    if ("spherical" in shape and where == "one") or (shape, way) == ("naive", "summarise"):
        return
    rows = FRAME.assign(**{column: FRAME[column] * unit for column in WHERE[where]})
    assert_same_or_named(
        lambda: WAYS[way](make, rows, Y).predict_log_proba(rows),
        make().fit(FRAME, Y).predict_log_proba(FRAME),
        WHERE[where],
        "NaiveBayes" if shape == "naive" else "",
    )


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("where", ["features", "one", "target"])
@pytest.mark.parametrize("way", [way for way in WAYS if way != "summarise"])
@pytest.mark.parametrize("amount", [None, 0.2], ids=["plain", "shrunk"])
def test_a_unit_changes_no_regression_or_is_refused_with_its_column(amount, way, where, unit):
    columns = {"features": ["a", "b"], "one": ["b"], "target": []}[where]
    rows = FRAME[["a", "b"]].assign(**{column: FRAME[column] * unit for column in columns})
    target = unit if where == "target" else 1.0
    make = partial(GaussianRegressor, shrinkage=amount)
    expected = make().fit(FRAME[["a", "b"]], X[:, 2]).predict(FRAME[["a", "b"]], return_std=True)
    assert_same_or_named(
        lambda: (
            np.array(WAYS[way](make, rows, X[:, 2] * target).predict(rows, return_std=True))
            / target
        ),
        expected,
        columns or ["y"],
        "",
    )


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("shape", [s for s in oracle.SHAPES if "spherical" not in s])
def test_a_unit_moves_a_density_by_its_logarithm_also_with_missing_values(shape, unit):
    holes = FRAME.mask(np.random.default_rng(2).random(FRAME.shape) < 0.15)
    rows = holes.assign(b=holes["b"] * unit)
    make = partial(GaussianClassifier, shape, tol=1e-4)
    seen = holes["b"].notna().to_numpy()
    assert_same_or_named(
        lambda: make().fit(rows, Y).log_density(rows) + seen * np.log(unit),
        make().fit(holes, Y).log_density(holes),
        ["b"],
        "",
    )


@pytest.mark.parametrize("family", ["laplace", "exponential", "gamma", "multivariate_gaussian"])
@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_changes_no_family_or_is_refused_with_its_column(family, unit):
    key = ("a", "b") if family == "multivariate_gaussian" else "a"
    rows = np.exp(FRAME)
    scaled = rows.assign(a=rows["a"] * unit)
    make = partial(NaiveBayes, {key: family})
    assert_same_or_named(
        lambda: make().fit(scaled, Y).predict_log_proba(scaled),
        make().fit(rows, Y).predict_log_proba(rows),
        ["a"],
        "NaiveBayes",
    )
