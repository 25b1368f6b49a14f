"""Rows in every container: one posterior, and samples of the same kind."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.oracles import naive_bayes as oracle

from credo import NaiveBayes, fit_table
from credo.exceptions import InputError

RNG = np.random.default_rng(50)
N = 60
Y = np.array(["no", "yes"])[RNG.integers(0, 2, N)]
COLUMNS = {
    "age": [None if RNG.random() < 0.1 else float(a) for a in RNG.normal(40, 9, N).round(3)],
    "town": [None if RNG.random() < 0.1 else str(t) for t in RNG.choice(["ulm", "bonn", "á"], N)],
    "ill": [None if RNG.random() < 0.1 else bool(b) for b in RNG.random(N) < 0.4],
    "visits": [int(v) for v in RNG.poisson(3, N)],
}
ROWS = [list(row) for row in zip(*COLUMNS.values(), strict=True)]
NAMES = list(COLUMNS)
FAMILIES = ["gaussian", "categorical", "bernoulli", "poisson"]
POLARS = pl.DataFrame(COLUMNS)


def masked(rows):
    cells = np.array(rows, dtype=object)
    hidden = np.array([[cell is None for cell in row] for row in rows])
    return np.ma.MaskedArray(np.where(hidden, "?", cells), hidden)


#: Each makes the same table in another way.
TABLES = {
    "lists": lambda: ROWS,
    "tuples": lambda: tuple(tuple(row) for row in ROWS),
    "objects": lambda: np.array(ROWS, dtype=object),
    "NaN for None": lambda: [[np.nan if c is None else c for c in row] for row in ROWS],
    "masked": lambda: masked(ROWS),
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas objects": lambda: pd.DataFrame(COLUMNS).astype(object),
    "pandas nullable": lambda: pd.DataFrame(COLUMNS).convert_dtypes(),
    "pandas categories": lambda: pd.DataFrame(COLUMNS).astype({"town": "category"}),
    "pandas Arrow": lambda: pd.DataFrame(COLUMNS).convert_dtypes(dtype_backend="pyarrow"),
    "Polars": lambda: POLARS,
    "Polars categories": lambda: POLARS.with_columns(pl.col("town").cast(pl.Categorical)),
    "Polars enumerated": lambda: POLARS.with_columns(
        pl.col("town").cast(pl.Enum(["á", "bonn", "ulm"]))
    ),
    "Arrow": lambda: pa.table(COLUMNS),
    "Arrow dictionary": lambda: pa.table(COLUMNS).set_column(
        1, "town", pa.array(COLUMNS["town"]).dictionary_encode()
    ),
    "Arrow chunks": lambda: pa.concat_tables(
        [pa.table(COLUMNS).slice(0, 25), pa.table(COLUMNS).slice(25)]
    ),
}
TWIN = oracle.fit(ROWS, Y, dict(enumerate(FAMILIES)))


def has_names(table):
    return not isinstance(table, (list, tuple, np.ndarray))


def keyed(table):
    return dict(zip(NAMES if has_names(table) else range(4), FAMILIES, strict=True))


@pytest.mark.parametrize("name", TABLES)
def test_every_container_gives_the_model_of_the_twin(name):
    table = TABLES[name]()
    weights = (np.arange(N) % 3).astype(float)  # zeros drop rows
    model = NaiveBayes(keyed(table)).fit(table, Y, weights)
    twin = oracle.fit(ROWS, Y, dict(enumerate(FAMILIES)), weights=weights)
    np.testing.assert_allclose(model.log_joint(table), twin.log_joint(ROWS), rtol=1e-11)
    model = NaiveBayes(keyed(table)).fit(table, Y)
    np.testing.assert_allclose(model.log_joint(table), TWIN.log_joint(ROWS), rtol=1e-11)
    assert model.n_features_in_ == 4
    assert list(getattr(model, "feature_names_in_", NAMES)) == NAMES
    assert model.families_ == keyed(table)
    automatic = NaiveBayes().fit(table, Y)
    assert automatic.families_ == keyed(table) | {list(keyed(table))[3]: "gaussian"}


NAMED = [name for name in TABLES if has_names(TABLES[name]())]


@pytest.mark.parametrize("one", ["pandas", "Polars categories", "Arrow"])
@pytest.mark.parametrize("other", NAMED)
def test_a_model_of_one_library_predicts_tables_of_another(one, other):
    model = NaiveBayes(dict(zip(NAMES, FAMILIES, strict=True))).fit(TABLES[one](), Y)
    expected = TWIN.log_posterior(ROWS)
    np.testing.assert_allclose(model.predict_log_proba(TABLES[other]()), expected, rtol=1e-9)
    model.partial_fit(TABLES[other](), Y)
    double = oracle.fit(ROWS, Y, dict(enumerate(FAMILIES)), weights=[2] * N)
    np.testing.assert_allclose(model.log_joint(TABLES[one]()), double.log_joint(ROWS), rtol=1e-11)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int8, np.int64, np.uint16, ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_numbers_of_every_type_give_the_same(kind, order):
    X = np.array(RNG.poisson(3, (40, 3)), dtype=kind, order=order)
    y = np.arange(40) % 2
    expected = oracle.fit(X.astype(int).tolist(), y, dict.fromkeys(range(3), "poisson"))
    model = NaiveBayes("poisson").fit(X, y)
    np.testing.assert_allclose(model.log_joint(X), expected.log_joint(X.astype(int)), rtol=1e-12)
    assert model.predict_proba(X).dtype == np.float64


def test_a_pipeline_may_prepare_some_columns():
    X = pd.DataFrame(COLUMNS)[["age", "visits", "town"]].fillna({"age": 40.0})
    prepared = make_column_transformer(
        (StandardScaler(), ["age", "visits"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    piped = make_pipeline(prepared, NaiveBayes()).fit(X, Y)
    plain = NaiveBayes().fit(X, Y)
    assert piped[-1].families_ == {
        "age": "gaussian",
        "visits": "gaussian",
        "town": "categorical",
    }
    np.testing.assert_allclose(piped.predict_proba(X), plain.predict_proba(X), rtol=1e-8)


# --- declared categories ---------------------------------------------------------------------

SEEN = [None if town == "á" else town for town in COLUMNS["town"]]
DECLARED = ["never", "ulm", "á", "bonn"]
KIND = pa.dictionary(pa.int8(), pa.string())


def declared(cells):
    """An Arrow dictionary of all declared categories."""
    places = [None if cell is None else DECLARED.index(cell) for cell in cells]
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), DECLARED)


#: A column of two towns, and the categories that count.
DECLARING = {
    "pandas": (pd.DataFrame({"town": pd.Categorical(SEEN, DECLARED)}), DECLARED),
    "pandas ordered": (
        pd.DataFrame({"town": pd.Categorical(SEEN, DECLARED, ordered=True)}),
        DECLARED,
    ),
    "pandas numbers": (
        pd.DataFrame({"town": pd.Categorical([t and len(t) for t in SEEN], [2, 4, 9, 3])}),
        [2, 4, 9, 3],
    ),
    "pandas Arrow": (
        pd.DataFrame({"town": pd.arrays.ArrowExtensionArray(declared(SEEN))}),
        DECLARED,
    ),
    "Polars Enum": (pl.DataFrame({"town": pl.Series(SEEN, dtype=pl.Enum(DECLARED))}), DECLARED),
    "Polars Categorical": (
        pl.DataFrame({"town": pl.Series(SEEN, dtype=pl.Categorical)}),
        list(dict.fromkeys(t for t in SEEN if t)),
    ),
    "Arrow": (pa.table({"town": declared(SEEN)}), DECLARED),
    "Arrow chunks of their own": (
        pa.table(
            {"town": pa.chunked_array([pa.array(["bonn"] * 20).cast(KIND), declared(SEEN)[20:]])}
        ),
        ["bonn", "never", "ulm", "á"],
    ),
    "Arrow text": (pa.table({"town": SEEN}), list(dict.fromkeys(t for t in SEEN if t))),
}


def labelled(table):
    """The table with its labels, of which one is declared and does not occur."""
    labels = pd.Categorical(Y, ["maybe", "yes", "no"])
    if isinstance(table, pd.DataFrame):
        return table.assign(label=labels)
    if isinstance(table, pl.DataFrame):
        return table.with_columns(label=pl.Series(Y, dtype=pl.Enum(["maybe", "yes", "no"])))
    return table.append_column("label", pa.array(labels))


def rows_of(table):
    """An Arrow table."""
    return table.to_arrow() if isinstance(table, pl.DataFrame) else pa.table(table)


@pytest.mark.parametrize("name", DECLARING)
def test_declared_categories_count_alike_however_the_rows_come(name, tmp_path):
    table, known = DECLARING[name]
    cut = table.iloc if isinstance(table, pd.DataFrame) else table
    parts = [(cut[part], Y[part]) for part in (slice(0, 7), slice(7, 31), slice(31, N))]
    stream, merged = NaiveBayes(), NaiveBayes().fit(*parts[0])
    for part in parts:
        stream.partial_fit(*part)
    for part in parts[1:]:
        merged = merged.merge(NaiveBayes().fit(*part))
    rows, path = labelled(table), tmp_path / "rows.parquet"
    pq.write_table(rows_of(rows), path, row_group_size=16)
    # Parquet has no codes of numbers, and writes others anew where chunks differ.
    tables = [rows] if name in {"pandas numbers", "Arrow chunks of their own"} else [rows, path]
    whole = NaiveBayes().fit(table, Y)
    assert whole.categories_ == {"town": known}
    for model in stream, merged, *(fit_table(NaiveBayes(), t, "label") for t in tables):
        assert model.categories_ == whole.categories_
        assert model.classes_.tolist() == ["no", "yes"]
        np.testing.assert_allclose(model.log_joint(table), whole.log_joint(table), rtol=1e-12)


@pytest.mark.parametrize("name", [name for name in DECLARING if "á" in DECLARING[name][1]])
def test_a_declared_category_counts_though_its_rows_have_no_weight(name):
    table, known = DECLARING[name]
    model = NaiveBayes().fit(table, Y, [float(town != "ulm") for town in SEEN])
    assert model.categories_ == {"town": known}


@pytest.mark.parametrize("unknown", ["smooth", "ignore", "error"])
def test_a_declared_category_that_does_not_occur_has_its_share_of_smoothing(unknown):
    table = pd.DataFrame({"town": pd.Categorical(["ulm", "bonn", "ulm", "ulm"], DECLARED)})
    model = NaiveBayes(smoothing=0.5, unknown=unknown).fit(table, ["a", "a", "a", "b"])
    size = 4 + (unknown == "smooth")
    found = np.exp(model.log_joint(pd.DataFrame({"town": ["never", "ulm"]})))
    np.testing.assert_allclose(
        found[0], [0.75 * 0.5 / (3 + 0.5 * size), 0.25 * 0.5 / (1 + 0.5 * size)]
    )
    np.testing.assert_allclose(
        found[1], [0.75 * 2.5 / (3 + 0.5 * size), 0.25 * 1.5 / (1 + 0.5 * size)]
    )


# --- samples ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
def test_a_sample_is_of_the_kind_that_was_fitted_and_can_be_predicted(name):
    table = TABLES[name]()
    model = NaiveBayes(keyed(table)).fit(table, Y)
    X, y = model.sample(7, random_state=1)
    if has_names(table):
        assert type(X) is type(table)
        assert list(X.columns if not isinstance(X, pa.Table) else X.column_names) == NAMES
    else:
        assert isinstance(X, np.ndarray)
        assert X.dtype == object
    assert X.shape == (7, 4)
    assert y.shape == (7,)
    assert set(y) <= {"no", "yes"}
    assert np.isfinite(model.predict_proba(X)).all()
    assert NaiveBayes(keyed(X)).fit(X, y).predict(X).shape == (7,)


def test_a_sample_holds_values_of_the_right_kind():
    model = NaiveBayes(dict(zip(NAMES, FAMILIES, strict=True))).fit(POLARS, Y)
    X, _ = model.sample(200, random_state=2)
    assert X.schema["age"] == pl.Float64
    assert X.schema["town"] == pl.String
    assert X.schema["visits"] == pl.Int64
    assert set(X["town"]) == {"ulm", "bonn", "á"}
    assert set(X["ill"].to_list()) == {0, 1}
    assert X["visits"].min() >= 0


def test_numbers_are_sampled_as_an_array_of_numbers():
    X = np.random.default_rng(3).normal(size=(20, 2))
    sample, _ = NaiveBayes().fit(X, np.arange(20) % 2).sample(5, random_state=0)
    assert sample.dtype == np.float64
    assert sample.shape == (5, 2)


def test_the_same_seed_draws_the_same_rows():
    model = NaiveBayes(oracle.EVERY_FAMILY).fit(*oracle.mixed_rows(60, seed=51))
    one, other, third = (model.sample(9, np.random.default_rng(s)) for s in (5, 5, 6))
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_array_equal(one[1], other[1])
    np.testing.assert_array_equal(one[0], model.sample(9, random_state=5)[0])
    assert (one[0] != third[0]).any()


def test_samples_have_the_moments_of_the_model():
    """Within five standard errors; the seed is fixed."""
    rows, y = oracle.mixed_rows(300, seed=52)
    model = NaiveBayes(oracle.EVERY_FAMILY).fit(rows, y)
    n = 40_000
    X, labels = model.sample(n, random_state=7)
    rows, y = np.array(rows, dtype=object), np.asarray(y)
    for k in model.classes_:
        mine, theirs = X[labels == k], rows[y == k]
        m = len(mine)
        assert abs(m / n - np.mean(y == k)) < 5 * np.sqrt(0.25 / n)
        # families whose maximum-likelihood mean is the mean of the rows
        for j in (0, 5, 6, 8, 9, 10, 14, 15):
            values = mine[:, j].astype(float)
            error = 5 * values.std() / np.sqrt(m)
            smoothed = 0.1 if j in (5, 8, 9, 10) else 1e-9
            assert abs(values.mean() - theirs[:, j].astype(float).mean()) < error + smoothed, j
        spread = mine[:, 14:].astype(float)
        np.testing.assert_allclose(
            np.cov(spread.T), np.cov(theirs[:, 14:].astype(float).T, bias=True), atol=0.15
        )
        median = np.median(theirs[:, 1].astype(float))
        assert abs(np.median(mine[:, 1].astype(float)) - median) < 5 / np.sqrt(m) * 2
        for town in oracle.COLOURS:
            share = np.mean(theirs[:, 3] == town)
            assert abs(np.mean(mine[:, 3] == town) - share) < 0.05
    np.testing.assert_allclose(X[:, 11:14].astype(float).sum(axis=1), 1, rtol=1e-12)


def test_counts_sum_to_the_mean_total_of_the_rows_that_have_them():
    X = [[3, 3], [None, 2], [None, 1], [4, 2], [None, 0]]
    model = NaiveBayes({(0, 1): "multinomial"}).fit(X, list("ababa"))
    assert set(model.sample(20, 0)[0].sum(axis=1)) == {6}
    assert set(model.sample(20, 0, total=11)[0].sum(axis=1)) == {11}
    assert set(model.sample(20, 0, total=0)[0].sum(axis=1)) == {0}


@pytest.mark.parametrize("family", ["bernoulli", "multinomial", "poisson"])
def test_sparse_rows_are_sampled_sparse(family):
    counts = (RNG.random((300, 5)) < [0.1, 0.2, 0.5, 0.3, 0.9]).astype(float)
    model = NaiveBayes(family).fit(csr_array(counts), np.zeros(300))
    X, y = model.sample(20_000, random_state=0)
    assert issparse(X)
    assert X.shape == (20_000, 5)
    assert set(y) == {0}
    means = counts.mean(axis=0)
    if family == "multinomial":
        means = 2 * counts.sum(axis=0) / counts.sum()
        assert set(X.sum(axis=1)) == {2}
    np.testing.assert_allclose(X.toarray().mean(axis=0), means, atol=0.025)


def test_columns_without_spread_or_values_are_sampled_as_they_are():
    rows = [[None, None, 1.0, 5.0], [None, None, 2.0, 5.0], [None, None, 4.0, 5.0]]
    X, _ = (
        NaiveBayes({0: "categorical"})
        .fit([*rows, [None, None, 3.0, 5.0]], list("aabb"))
        .sample(9, 0)
    )
    assert X.shape == (9, 4)
    assert [row[0] for row in X] == [None] * 9
    assert np.isnan(X[:, 1].astype(float)).all()
    assert np.isfinite(X[:, 2].astype(float)).all()
    assert set(X[:, 3]) == {5.0}


def test_wrong_wishes_for_samples_are_refused():
    model = NaiveBayes("multinomial").fit([[1, 2], [2, 1]], [0, 1])
    for options in ({"n": 0}, {"n": 1.5}, {"total": -1}, {"total": 0.5}):
        with pytest.raises(InputError, match=r"NaiveBayes\.sample"):
            model.sample(**options)


def test_zero_is_one_category_whatever_its_sign_and_however_many_rows():
    values = np.tile([0.0, -0.0, 0.5, 1.5], 2**15)
    labels = np.tile([0, 0, 1, 1], 2**15)
    model = NaiveBayes("categorical").fit(values[:, None], labels)
    plain = NaiveBayes("categorical").fit(np.abs(values)[:, None], labels)
    np.testing.assert_array_equal(
        model.predict_proba([[0.0], [-0.0], [0.5]]), plain.predict_proba([[0.0], [0.0], [0.5]])
    )
