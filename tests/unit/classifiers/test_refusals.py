"""What can never work is refused at once, by name; what float64 holds does not depend on units."""

import datetime as dt
import re
from functools import partial, reduce
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
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
NUMBERS = {
    "smoothing": [-1, -1e-9, np.nan, np.inf, "much", None, [1.0]],
    "smoothing_target": ["mean", None, 3, ["uniform"]],
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
        **SHARED,
    },
    GaussianRegressor: SHARED,
    NaiveBayes: {
        "families": ["gausian", None, 3, dict, ["gaussian"] * 3, {"a": "norml"}, {"a": None}],
        "unknown": ["skip", None, ["smooth"]],
        "variance_floor": [-1e-3, 1.5, np.nan, "small", None],
        "variance_smoothing": [-1e-3, np.nan, np.inf, "small", None],
        "smoothing": [
            *NUMBERS["smoothing"],
            *("Auto", [1.0, 2.0], [1.0, -1.0, 1.0], [[1.0], 2.0, 3.0]),
            *({"a": -1}, {"a": "auto"}, {"q": 1.0}, {("a", "q"): 1.0}, {(): 1.0}, {"a": 1, 0: 2}),
        ],
        "smoothing_target": [
            *NUMBERS["smoothing_target"],
            *({"a": "uniform"}, {"a": {"x": 0.5}}, {"a": {"x": 1.0}}, {"q": {"x": 1.0}}),
        ],
    },
    TextClassifier: {
        "model": ["poisson", None, 3],
        "vocabulary": ["some", None, ["all"]],
        "max_words": [0, -1, 2.0, True, "ten"],
        "hashing": [0, -1, 2.5, True, "many"],
        "vectorizer": ["words", 3, TfidfVectorizer()],
        "smoothing": [
            0,
            *(v for v in NUMBERS["smoothing"] if v is not None),
            "auto",
            {"word1": 1.0},
        ],
        "smoothing_target": [*NUMBERS["smoothing_target"], {"word1": {0: 0.5, 1: 0.5}}],
        "calibrated": ["yes", None, 2],
    },
}


def assert_refused(model, method, rows, name):
    before = dict(vars(model))
    said = {"families": "famil"}.get(name, name)
    with pytest.raises(InputError, match=said) as caught:
        getattr(model, method)(*rows)
    assert type(model).__name__ in str(caught.value)
    assert vars(model) == before


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, options in WRONG.items() for name in options]
)
def test_a_parameter_that_can_never_work_is_refused_at_once(kind, name):
    for value in WRONG[kind][name]:
        for method in ("fit", "partial_fit"):
            assert_refused(kind(**{name: value}), method, ROWS[kind], name)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_parameters_that_do_not_go_together_are_refused_at_once(method):
    for shape, amount in (("diagonal", 0.1), ("tied_spherical", "oas")):
        model = GaussianClassifier(shape, shrinkage=amount)
        assert_refused(model, method, (FRAME, Y), "shrinkage")
    for words in ("klingon", 3, [3]):
        model = TextClassifier(vocabulary="no_stop_words", stop_words=words)
        assert_refused(model, method, (WORDS, Y), "stop_words")


@pytest.mark.parametrize("kind", [GaussianClassifier, NaiveBayes, TextClassifier])
def test_priors_are_refused_at_once_if_wrong_or_without_a_class_that_has_come(kind):
    """Whatever classes the first batch has; and classes never go again."""
    rows, y = ROWS[kind]
    some = np.flatnonzero(CODES == 0)
    batch = ([rows[i] for i in some] if isinstance(rows, list) else rows.iloc[some]), y[some]
    for priors in ([0.5, 0.6], {"ant": 0.5, "bee": 0.6}, {"ant": -1, "bee": 2}):
        assert_refused(kind(priors=priors), "partial_fit", batch, "prior")
    for priors in ([0.5, 0.5], {"ant": 0.5, "bee": 0.5}, [1.0]):
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


SIZES = np.array([1.0, 2, 4, 3, 7, 5])


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


@pytest.mark.parametrize("none", [0, 0.0, np.float32(0)], ids=repr)
def test_a_shrinkage_of_zero_is_none(none):
    for shape in oracle.SHAPES:
        for way in (WAYS["fit"], streamed):
            plain = way(partial(GaussianClassifier, shape), FRAME, Y)
            model = way(partial(GaussianClassifier, shape, shrinkage=none), FRAME, Y)
            np.testing.assert_array_equal(model.log_joint(FRAME), plain.log_joint(FRAME))
            np.testing.assert_array_equal(model.shrinkage_, plain.shrinkage_)
    rows, target = ROWS[GaussianRegressor]
    found = GaussianRegressor(shrinkage=none).fit(rows, target)
    np.testing.assert_array_equal(
        found.predict(rows), GaussianRegressor().fit(rows, target).predict(rows)
    )


#: A sphere has one radius for all columns, so that a constant one is no singularity.
NOT_ROUND = [shape for shape in oracle.SHAPES if "spherical" not in shape]
FLAT = FRAME.assign(flat=4.0)
NAMED = r"(?s)'flat'.*(?i:drop|singular='repair')"


@pytest.mark.parametrize("shape", NOT_ROUND)
def test_a_constant_column_is_named_if_asked(shape):
    strict = GaussianClassifier(shape, singular="error")
    before = dict(vars(strict))
    with pytest.raises(CredoError, match=NAMED):
        strict.fit(FLAT, Y)
    assert vars(strict) == before
    for way in (tabled, summarised):
        with pytest.raises(CredoError, match=NAMED):
            way(partial(GaussianClassifier, shape, singular="error"), FLAT, Y)


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


UNITS = [1e-300, 1e-160, 1e160, 1e300]
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


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("shape", [*oracle.SHAPES, "naive"])
def test_a_unit_changes_no_posterior_or_is_refused_with_its_column(shape, where):
    make = NaiveBayes if shape == "naive" else partial(GaussianClassifier, shape)
    if "spherical" in shape and where == "one":
        return
    expected = make().fit(FRAME, Y).predict_log_proba(FRAME)
    for unit, way in product(UNITS, WAYS):
        if (shape, way) != ("naive", "summarise"):
            rows = FRAME.assign(**{column: FRAME[column] * unit for column in WHERE[where]})
            ask = partial(lambda rows, way: way(make, rows, Y).predict_log_proba(rows), rows)
            owner = "NaiveBayes" if shape == "naive" else ""
            assert_same_or_named(partial(ask, WAYS[way]), expected, WHERE[where], owner)


GOOD = [[1.0, "x", 1, 3], [2.0, "y", 0, 1], [4.0, "x", 1, 0], [7.0, None, 0, 2]]
PAIRS = list("aabb")
PERSON = ["age", "town", "ill", "visits"]
PEOPLE = pd.DataFrame(GOOD, columns=PERSON)
MIXED = {"town": "categorical", "age": "gaussian", "ill": "bernoulli", "visits": "poisson"}


def changed(column, value, row=2):
    frame = PEOPLE.astype(object)
    frame[column] = [value if i == row else cell for i, cell in enumerate(frame[column])]
    return frame


@pytest.mark.parametrize(
    ("families", "message"),
    [
        ("gausian", r"family 'gausian'. Choose one of gaussian"),
        (["gaussian"] * 4, "a mapping from column to family.*Got a list"),
        (None, "does not know the family"),
        (3, "does not know the family 3"),
        (dict, "does not know the family 'dict'"),
        ({"age": "norml"}, "does not know the family 'norml'"),
        ({"aeg": "gaussian"}, r"column 'aeg', which is not there. Known: 'age', 'town'"),
        ({17: "gaussian"}, "column 17, which is not there"),
        ({-1: "gaussian"}, "column -1, which is not there"),
        ({("ill", "vists"): "multinomial"}, "column 'vists', which is not there"),
        ({"age": "gaussian", 0: "laplace"}, "name column 'age' twice"),
        ({"ill": "poisson", ("ill", "visits"): "multinomial"}, "name column 'ill' twice"),
        ({("ill", "ill"): "multinomial"}, "name column 'ill' twice"),
        ({(): "multinomial"}, "famil"),
        (np.array(["gaussian"] * 4), "a mapping from column to family.*Got a list"),
    ],
)
def test_wrong_families_are_refused(families, message):
    with pytest.raises(InputError, match=message) as caught:
        NaiveBayes(families).fit(PEOPLE, PAIRS)
    assert "NaiveBayes" in str(caught.value)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("age", "old", r"column 'age'.*numbers. Got"),
        ("age", np.inf, "infinity"),
        ("age", -np.inf, "infinity"),
        ("ill", 0.5, r"0 or 1.*Got 0.5"),
        ("ill", 2, r"0 or 1.*Got 2"),
        ("visits", -1, r"0 or more.*Got -1"),
        ("visits", 1.5, r"whole numbers.*Got 1.5"),
        ("visits", np.inf, r"whole numbers.*inf"),
        ("visits", "many", r"column 'visits'.*numbers"),
        ("town", dt.date(2020, 1, 1), "column 'town' holds dates"),
        ("town", {"a": 1}, "column 'town', row 2, holds a dict"),
        ("town", ["a"], "column 'town', row 2, holds a list"),
        ("town", 1j, r"(?i)complex"),
        ("age", 10**400, "no float can hold"),
    ],
)
def test_wrong_cells_are_refused_with_their_column(column, value, message):
    rows, model = changed(column, value), NaiveBayes(MIXED).fit(PEOPLE, PAIRS)
    for method in ("fit", "partial_fit", "predict", "log_density"):
        with pytest.raises(InputError, match=message) as caught:
            getattr(model, method)(rows, *([PAIRS] if "fit" in method else []))
        assert "NaiveBayes" in str(caught.value)
        assert repr(column) in str(caught.value)


@pytest.mark.parametrize(
    ("family", "value"),
    [
        ("exponential", -1.0),
        ("exponential", np.inf),
        ("gamma", 0.0),
        ("gamma", -2.0),
        ("gamma", np.inf),
        ("beta", 0.0),
        ("beta", 1.5),
        ("laplace", np.inf),
    ],
)
def test_values_outside_of_the_support_are_refused_with_row_and_column(family, value):
    X = pd.DataFrame({"t": list("xyxyxy"), "v": [0.2, 0.5, 0.4, 0.7, 0.9, 0.1]})
    y = [0, 0, 0, 1, 1, 1]
    wrong = X.copy()
    wrong.loc[4, "v"] = value
    with pytest.raises(InputError, match=r"(?s)NaiveBayes.*'v'"):
        NaiveBayes({"v": family}).fit(wrong, y)
    with pytest.raises(InputError, match=r"(?s)NaiveBayes.*row 4.*'v'"):
        NaiveBayes({"v": family}).fit(X, y).predict(wrong)


@pytest.mark.parametrize("bad", [[0.5, -0.1, 0.6], [0.5, 0.2, 0.2], [1.0, 0.0, 0.0]])
def test_vectors_that_are_no_shares_are_refused(bad):
    rng = np.random.default_rng(0)
    X, y = rng.dirichlet([2, 3, 4], 8), np.arange(8) % 2
    wrong = X.copy()
    wrong[5] = bad
    with pytest.raises(InputError, match=r"NaiveBayes.*dirichlet.*sum to 1.*row 5"):
        NaiveBayes("dirichlet").fit(wrong, y)
    with pytest.raises(InputError, match=r"NaiveBayes.*row 5"):
        NaiveBayes("dirichlet").fit(X, y).predict(wrong)


def test_infinity_is_named_by_its_own_column_and_row_also_far_down_a_mixed_table():
    n = 9000
    X = pd.DataFrame({"t": ["x", "y"] * (n // 2), "a": np.arange(n) * 1.0, "b": np.arange(n) % 7.0})
    y = np.arange(n) % 2
    model = NaiveBayes().fit(X, y)
    X.loc[8765, "b"] = np.inf
    with pytest.raises(InputError, match=r"NaiveBayes.*row 8765.*'b'"):
        model.predict(X)
    with pytest.raises(InputError, match=r"NaiveBayes.*infinity.*'b'"):
        NaiveBayes().fit(X, y)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "posterior"])
def test_impossible_rows_are_refused_with_row_and_column_never_nan(method):
    X = pd.DataFrame({"f": [1, 1, 0, 0], "t": ["x", "y", "x", "y"], "n": [0, 0, 0, 0]})
    families = {"f": "bernoulli", "t": "categorical", "n": "poisson"}
    model = NaiveBayes(families, smoothing=0, unknown="smooth").fit(X, PAIRS)
    possible = pd.DataFrame({"f": [1], "t": ["x"], "n": [0]})
    assert np.isfinite(model.predict_proba(possible)).all()
    unseen = pd.DataFrame({"f": [1, 1], "t": ["x", "zz"], "n": [0, 0]})
    with pytest.raises(InputError, match=r"row 1 has probability zero.*'t'.*smoothing > 0"):
        getattr(model, method)(unseen)
    counted = pd.DataFrame({"f": [1, 0, 1], "t": ["x", "x", None], "n": [0, 0, 5]})
    with pytest.raises(InputError, match=r"row 2 has probability zero.*'n'"):
        getattr(model, method)(counted)


def test_columns_that_are_impossible_only_together_are_said_to_be():
    rows = [[1, 0], [1, 0], [0, 1], [0, 1]]
    model = NaiveBayes("bernoulli", smoothing=0).fit(rows, PAIRS)
    with pytest.raises(InputError, match="row 1 has probability zero.*together"):
        model.predict_proba([[1, 0], [1, 1]])
    assert model.predict_proba([[1, 0], [0, 1], [1, None]]).tolist() == [[1, 0], [0, 1], [1, 0]]


def test_a_family_that_cannot_be_estimated_names_its_columns():
    X = pd.DataFrame({"t": list("xyxy"), "v": [1.0, 1.0, 2.0, 3.0]})
    with pytest.raises(InputError, match=r"NaiveBayes, gamma of 'v'"):
        NaiveBayes({"v": "gamma"}).fit(X, PAIRS)
    holes = pd.DataFrame({"t": list("xyxy"), "v": [None, None, 2.0, 3.0]})
    with pytest.raises(InputError, match=r"NaiveBayes, gamma of 'v'"):
        NaiveBayes({"v": "gamma"}).fit(holes, PAIRS)
    bits = pd.DataFrame({"v": [None, None, 1.0, 0.0]})
    with pytest.raises(InputError, match=r"NaiveBayes, bernoulli of 'v'"):
        NaiveBayes("bernoulli", smoothing=0).fit(bits, PAIRS)


def test_columns_may_be_named_by_numbers_of_numpy():
    model = NaiveBayes({np.int64(0): "poisson", np.int32(1): "laplace"})
    model.fit([[1, 2.0], [3, 4.0], [2, 1.0], [5, 7.0]], PAIRS)
    assert model.families_ == {0: "poisson", 1: "laplace"}
