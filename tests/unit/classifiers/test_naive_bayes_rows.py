"""Rows of ``NaiveBayes``: in every container, sparse, batch by batch; and samples of their kind."""

import gc
import pickle  # noqa: TID251 - to weigh a model
import tracemalloc
import warnings
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix, issparse, random_array
from scipy.special import logsumexp
from tests.oracles import naive_bayes as oracle

from credo import NaiveBayes, TextClassifier, fit_table
from credo.exceptions import InputError, NumericalError, SingularWarning

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


@pytest.mark.parametrize("one", ["pandas", "Polars categories"])
@pytest.mark.parametrize("other", NAMED)
def test_a_model_of_one_library_predicts_tables_of_another(one, other):
    model = NaiveBayes(dict(zip(NAMES, FAMILIES, strict=True))).fit(TABLES[one](), Y)
    expected = TWIN.log_posterior(ROWS)
    np.testing.assert_allclose(model.predict_log_proba(TABLES[other]()), expected, rtol=1e-9)
    model.partial_fit(TABLES[other](), Y)
    double = oracle.fit(ROWS, Y, dict(enumerate(FAMILIES)), weights=[2] * N)
    np.testing.assert_allclose(model.log_joint(TABLES[one]()), double.log_joint(ROWS), rtol=1e-11)


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


@pytest.mark.parametrize("name", TABLES)
def test_a_sample_is_of_the_kind_that_was_fitted_and_can_be_predicted(name):
    table = TABLES[name]()
    model = NaiveBayes(keyed(table)).fit(table, Y)
    X, y = model.sample(7, random_state=1)
    np.testing.assert_array_equal(np.array(model.sample(7, np.random.default_rng(1))[0]), X)
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


OTHER = np.random.default_rng(20)
ANIMALS = np.array(["ant", "bee", "cat"])[OTHER.integers(0, 3, 60)]
COUNTS = OTHER.poisson(0.6, (60, 7)) * (OTHER.random((60, 7)) < 0.7)
COUNTS[ANIMALS == "ant", 2] = 0  # never there: probability 0 without smoothing
DATA = {
    "bernoulli": np.where(ANIMALS[:, None] == "bee", [0, 0, 0, 0, 0, 0, 1], 0) | (COUNTS > 0),
    "multinomial": COUNTS,
    "poisson": COUNTS,
}
SPARSE = tuple(DATA)


def keys(family, n):
    if family == "multinomial":
        return {tuple(range(n)): family}
    return dict.fromkeys(range(n), family)


@pytest.mark.parametrize("target", ["uniform", "marginal"])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("family", SPARSE)
def test_sparse_and_dense_rows_agree_with_the_twin(family, alpha, target):
    X = DATA[family].astype(float)
    options = {"smoothing": alpha, "smoothing_target": target}
    twin = oracle.fit(X.tolist(), ANIMALS, keys(family, 7), **options)
    dense = NaiveBayes(family, **options).fit(X, ANIMALS)
    sparse = NaiveBayes(family, **options).fit(csr_array(X), ANIMALS)
    expected = twin.log_joint(X.tolist())
    np.testing.assert_allclose(dense.log_joint(X), expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(sparse.log_joint(csr_array(X)), expected, rtol=1e-11, atol=1e-11)
    posterior = twin.log_posterior(X.tolist())
    for model, rows in ((dense, X), (sparse, csr_array(X)), (sparse, X)):
        np.testing.assert_allclose(model.predict_log_proba(rows), posterior, rtol=1e-10, atol=1e-10)
    assert np.isneginf(expected).any() == (alpha == 0)  # zeros and ones were tried


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_parts_of_counts_have_a_posterior_and_a_linear_form_but_no_density(form):
    X, new = form(np.array([[1, 0, 1], [0, 1, 1]])), np.array([[0.5, 0, 1], [0.25, 2.5, 0]])
    strict = NaiveBayes("multinomial", smoothing=0).fit(X, [0, 1])
    assert strict.predict_proba(form(new[:1])).tolist() == [[1.0, 0.0]]
    model = NaiveBayes("multinomial").fit(X, [0, 1])
    w, w0 = model.log_odds_weights(1, 0)
    linear = model.sufficient_statistics(form(new)) @ w + w0
    np.testing.assert_allclose(linear, model.decision_function(form(new)), rtol=1e-12)
    with pytest.raises(InputError, match=r"Got \[?0\.5"):
        model.log_density(form(new))


def test_every_format_and_dtype_gives_the_same():
    rows = csr_array(DATA["bernoulli"])
    expected = NaiveBayes("bernoulli").fit(rows, ANIMALS).predict_proba(rows)
    for form in (csr_array, csr_matrix, csc_array, coo_array):
        for kind in (bool, np.int8, np.uint16, np.int64, np.float32, np.float64):
            X = form(DATA["bernoulli"].astype(kind))
            model = NaiveBayes("bernoulli").fit(X, ANIMALS)
            np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_entries_in_any_order_twice_or_zero_mean_what_the_dense_rows_mean():
    rows = csr_array(
        (np.array([2.0, 1.0, 1.0, 0.0, 3.0]), np.array([2, 0, 2, 1, 1]), np.array([0, 4, 5])),
        shape=(2, 3),
    )
    before = rows.data.copy(), rows.indices.copy(), rows.indptr.copy()
    assert rows.toarray().tolist() == [[1, 0, 3], [0, 3, 0]]
    for family in ("multinomial", "poisson"):
        model = NaiveBayes(family).fit(rows, [0, 1])
        dense = NaiveBayes(family).fit(rows.toarray(), [0, 1])
        np.testing.assert_allclose(
            model.log_joint(rows), dense.log_joint(rows.toarray()), rtol=1e-13
        )
    for now, then in zip((rows.data, rows.indices, rows.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_auto_is_bernoulli_for_zeros_and_ones_and_multinomial_else():
    assert list(NaiveBayes().fit(csr_array([[1, 0], [0, 1]]), [0, 1]).families_.values()) == [
        "bernoulli"
    ]
    model = NaiveBayes().fit(csr_array([[2, 0], [0, 1]]), [0, 1])
    assert list(model.families_.values()) == ["multinomial"]
    assert repr(model) == "NaiveBayes() with multinomial x0, x1"


def test_a_vocabulary_of_a_million_is_not_made_dense():
    """400 rows of 10⁶ columns would need 3.2 GB; a table of two classes needs 16 MB."""
    X = random_array((400, 10**6), density=5e-5, format="csr", rng=np.random.default_rng(21))
    X.data = np.ceil(X.data * 3)
    y = np.arange(400) % 2
    tracemalloc.start()
    NaiveBayes("multinomial").fit(X, y).predict_proba(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300e6
    model = NaiveBayes("poisson").fit(X, y)
    assert model.score(X, y) == 1.0
    assert len(repr(model)) < 300


@pytest.mark.parametrize("family", ["gaussian", "categorical", "gamma", "laplace"])
def test_other_families_of_sparse_rows_are_refused_with_the_remedy(family):
    with pytest.raises(InputError, match=rf"Got '{family}'.*toarray"):
        NaiveBayes(family).fit(csr_array([[1, 0], [0, 1]]), [0, 1])


@pytest.mark.parametrize(
    ("family", "value"),
    [
        ("bernoulli", 2),
        ("bernoulli", 0.5),
        ("poisson", 0.5),
        ("poisson", -1),
        ("poisson", np.nan),
        ("multinomial", -1),
        ("multinomial", np.nan),
        ("multinomial", np.inf),
    ],
)
def test_entries_that_a_family_does_not_know_are_refused_with_their_place(family, value):
    X = csr_array(np.array([[1, 0, 0], [0, 1, 1]], dtype=float))
    wrong = X.copy()
    wrong.data[2] = value
    with pytest.raises(InputError, match="row 1, column 2"):
        NaiveBayes(family).fit(wrong, [0, 1])
    model = NaiveBayes(family).fit(X, [0, 1])
    with pytest.raises(InputError, match="row 1, column 2"):
        model.predict(wrong)


def test_wrong_sparse_rows_are_refused():
    good = csr_array([[1, 0], [0, 1]])
    with pytest.raises(InputError, match="one family for all columns"):
        NaiveBayes({0: "poisson"}).fit(good, [0, 1])
    with pytest.raises(InputError, match="needs sparse rows of numbers"):
        NaiveBayes().fit(good.astype(complex), [0, 1])
    with pytest.raises(InputError, match="0 sample"):
        NaiveBayes().fit(csr_array((0, 2)), [])
    dense = NaiveBayes("poisson").fit(good.toarray(), [0, 1])
    with pytest.raises(InputError, match=r"fitted to dense rows.*toarray"):
        dense.predict(good)
    with pytest.raises(InputError, match="all rows sparse, or all dense"):
        dense.partial_fit(good, [0, 1])
    with pytest.raises(InputError, match="same columns"):
        dense.merge(NaiveBayes("poisson").fit(good, [0, 1]))
    with pytest.raises(ValueError, match="3 features"):
        NaiveBayes("poisson").fit(good, [0, 1]).predict(csr_array([[1, 0, 1]]))


@pytest.mark.parametrize("family", SPARSE)
def test_rows_in_many_blocks_have_the_scores_of_dense_ones(family):
    """Half a million entries: long rows, rows of none, and one longer than a block."""
    rng = np.random.default_rng(22)
    X = rng.poisson(0.3, (90, 70_000)) * (rng.random((90, 1)) < 0.8)
    X[:, 20_000:] *= rng.random((90, 1)) < 0.2
    X[17] = 1 + np.arange(70_000) % 2
    X[[0, 18, 89]] = 0
    X = np.minimum(X, 1) if family == "bernoulli" else X
    y = np.arange(90) % 3
    model = NaiveBayes(family).fit(csr_array(X), y)
    totals = np.array([X[y == k].sum(axis=0) for k in range(3)])
    if family == "multinomial":
        logs = np.log((totals + 1) / (totals.sum(axis=1, keepdims=True) + X.shape[1]))
        scores = X @ logs.T
    elif family == "bernoulli":
        p = (totals + 1) / (30 + 2)
        scores = X @ np.log(p / (1 - p)).T + np.log1p(-p).sum(axis=1)
    else:
        rate = (totals + (totals.sum(axis=0) + 1) / (90 + 1)) / (30 + 1)
        scores = X @ np.log(rate).T - rate.sum(axis=1)
    expected = scores - logsumexp(scores, axis=1, keepdims=True)
    np.testing.assert_allclose(
        model.predict_log_proba(csr_array(X)), expected, rtol=1e-9, atol=1e-7
    )


pytestmark = pytest.mark.filterwarnings("ignore::credo.exceptions.SingularWarning")
FRAME = pd.DataFrame({1: [1.0, 2.0, 3.0, 5.0], 2: [0, 1, 0, 2], 3: list("xyxy")})


def assert_same(one, other, rows):
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one.families_ == other.families_
    assert one.categories_ == other.categories_
    np.testing.assert_allclose(one.log_joint(rows), other.log_joint(rows), rtol=1e-9, atol=1e-9)


def test_a_new_class_and_a_new_category_may_come_at_any_time():
    model = NaiveBayes("categorical").partial_fit([["x"], ["y"]], ["b", "b"])
    model.partial_fit([["new"], ["x"]], ["aardvark", "b"])
    rows = [["x"], ["y"], ["new"], ["x"]]
    whole = NaiveBayes("categorical").fit(rows, ["b", "b", "aardvark", "b"])
    assert_same(model, whole, [*rows, ["other"], [None]])
    assert model.classes_.tolist() == ["aardvark", "b"]
    assert model.categories_ == {0: ["x", "y", "new"]}


def test_the_first_batch_decides_what_auto_means():
    model = NaiveBayes().partial_fit([[0], [1]], [0, 1])
    assert model.families_ == {0: "bernoulli"}
    with pytest.raises(InputError, match="0 or 1"):
        model.partial_fit([[2]], [1])
    assert model.partial_fit([[1]], [1]).families_ == {0: "bernoulli"}


def test_until_the_rows_determine_a_model_predicting_says_why():
    model = NaiveBayes("gamma").partial_fit([[1.0], [2.0], [2.5]], list("aaa"))
    assert model.predict([[1.0]]).tolist() == ["a"]
    model.partial_fit([[3.0]], ["b"])
    with pytest.raises(NumericalError, match="gamma of 0"):
        model.predict([[1.0]])
    with pytest.raises(NumericalError, match="gamma of 0"):
        model.explain([1.0])
    learned = ("priors_", "families_", "categories_", "n_parameters_", "variance_floored_")
    assert [name for name in learned if hasattr(model, name)] == []
    model.partial_fit([[5.0], [4.5]], ["b", "b"])
    rows = [[1.0], [2.0], [2.5], [3.0], [5.0], [4.5]]
    assert_same(model, NaiveBayes("gamma").fit(rows, list("aaabbb")), rows)


def test_models_of_other_columns_or_families_do_not_merge():
    one = NaiveBayes().fit(pd.DataFrame({"a": [1.0, 2, 4], "b": [2.0, 5, 7]}), [0, 0, 1])
    counts = NaiveBayes("poisson").fit(pd.DataFrame({"a": [1, 2, 4], "b": [2, 5, 7]}), [0, 0, 1])
    with pytest.raises(InputError, match=r"auto of columns.*poisson of columns"):
        one.merge(counts)
    numbered = NaiveBayes().fit([[1.0, 2.0], [3.0, 4.0]], [0, 1])
    with pytest.raises(InputError, match="same columns"):
        one.merge(numbered)


def test_a_row_of_weight_zero_does_not_decide_a_family_nor_break_one():
    rows = [[0, "1"], [1, "2"], [7, "x"], [1, "1"]]
    model = NaiveBayes().fit(rows, [0, 1, 1, 0], [1, 1, 0, 1])
    assert model.families_[0] == "bernoulli"
    NaiveBayes("bernoulli").fit([[0], [1], [0.5]], [0, 1, 1], [1, 1, 0])


def test_a_fitted_model_does_not_keep_the_rows():
    rng = np.random.default_rng(33)
    sizes = []
    for n in (2_000, 20_000):
        X = rng.normal(size=(n, 3))
        X[:, 2] = rng.integers(0, 2, n)
        watch = weakref.ref(X)
        model = NaiveBayes("gaussian").fit(X, rng.integers(0, 2, n))
        model.predict(X)
        del X
        gc.collect()
        assert watch() is None
        sizes.append(len(pickle.dumps(model)))
    assert sizes[1] < sizes[0] + 200


@pytest.mark.filterwarnings("default::credo.exceptions.SingularWarning")
def test_a_stream_is_told_of_a_floor_once_and_where_it_was_called():
    model = NaiveBayes("gaussian")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", SingularWarning)
        for i in range(5):
            model.partial_fit([[1.0], [float(i)]], ["a", "b"])
    assert [w.filename for w in told] == [__file__]


def test_a_number_names_the_column_with_that_label():
    model = NaiveBayes({2: "categorical"}).fit(FRAME, list("aabb"))
    assert model.families_ == {1: "gaussian", 2: "categorical", 3: "categorical"}
    assert model.categories_ == {2: [0, 1, 2], 3: ["x", "y"]}
    assert model.explain({1: 2.0, 2: 1, 3: "x"}).log_odds > 0


def test_numbered_columns_are_sampled_as_a_frame():
    X, _ = NaiveBayes().fit(FRAME, list("aabb")).sample(3, 0)
    assert X.columns.tolist() == [1, 2, 3]
    assert set(X[3]) <= {"x", "y"}


def test_the_labels_of_an_earlier_fit_are_forgotten():
    model = NaiveBayes().fit(FRAME, list("aabb")).fit(FRAME.to_numpy(), list("aabb"))
    assert list(model.families_) == [0, 1, 2]


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA], ids=str)
@pytest.mark.parametrize("classifier", [NaiveBayes(), TextClassifier()], ids=str)
def test_a_missing_label_is_named_by_its_row(classifier, gap):
    X = [["one two"], ["two"]] if isinstance(classifier, NaiveBayes) else ["one two", "two"]
    with pytest.raises(InputError, match="Input y contains NaN or infinity, in row 1"):
        classifier.fit(X, np.array(["a", gap], dtype=object))


def test_classes_of_prior_zero_are_not_compared():
    rows = [[1.0], [2.0], [2.5], [3.0], [4.0], [6.0]]
    model = NaiveBayes().fit(rows, list("aabbcc")).with_priors([1.0, 0.0, 0.0])
    with pytest.raises(InputError, match="priors of 'b' and 'c' are both zero"):
        model.explain([2.0], "b", "c")


def test_a_sample_holds_values_of_the_right_kind():
    model = NaiveBayes(dict(zip(NAMES, FAMILIES, strict=True))).fit(POLARS, Y)
    X, _ = model.sample(200, random_state=2)
    assert X.schema["age"] == pl.Float64
    assert X.schema["town"] == pl.String
    assert X.schema["visits"] == pl.Int64
    assert set(X["town"]) == {"ulm", "bonn", "á"}
    assert set(X["ill"].to_list()) == {0, 1}
    assert X["visits"].min() >= 0


def test_summaries_are_of_the_rows_and_not_of_the_options_and_read_only():
    one = NaiveBayes(smoothing=1).fit(FRAME, list("aabb"))
    other = NaiveBayes(smoothing=7, priors="uniform").fit(FRAME, list("aabb"))
    joined = one.merge(other)
    assert joined.smoothing == 1
    assert joined.summary_.weights.tolist() == [4.0, 4.0]
    with pytest.raises(ValueError, match="read-only"):
        joined.summary_.weights[0] = 100.0


def test_a_column_that_was_zero_and_one_so_far_may_meet_other_numbers_later():
    """KDD-99 has such columns: a count that happened to be 0 or 1 in every row of the fit."""
    X = np.array([[0.0, 1.0], [1.0, 2.0], [0.0, 3.5], [1.0, 9.0], [0.0, 4.0], [1.0, 7.0]])
    y = [0, 1, 0, 1, 0, 1]
    model = NaiveBayes().fit(X, y)
    assert model.families_[0] == "bernoulli"
    np.testing.assert_array_equal(
        model.predict_proba([[2.0, 3.0], [0.5, 3.0]]), model.predict_proba([[np.nan, 3.0]] * 2)
    )
    for other in (NaiveBayes({0: "bernoulli"}), NaiveBayes(unknown="error")):
        with pytest.raises(InputError, match="needs 0 or 1"):
            other.fit(X, y).predict([[2.0, 3.0]])
