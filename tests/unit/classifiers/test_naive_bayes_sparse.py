"""Sparse rows: the same model as dense ones, never made dense."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix, random_array
from scipy.special import logsumexp
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from tests.oracles import naive_bayes as oracle

from credo import NaiveBayes
from credo.exceptions import InputError

RNG = np.random.default_rng(20)
Y = np.array(["ant", "bee", "cat"])[RNG.integers(0, 3, 60)]
COUNTS = RNG.poisson(0.6, (60, 7)) * (RNG.random((60, 7)) < 0.7)
COUNTS[Y == "ant", 2] = 0  # never there: probability 0 without smoothing
DATA = {
    "bernoulli": np.where(Y[:, None] == "bee", [0, 0, 0, 0, 0, 0, 1], 0) | (COUNTS > 0),
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
    twin = oracle.fit(X.tolist(), Y, keys(family, 7), **options)
    dense = NaiveBayes(family, **options).fit(X, Y)
    sparse = NaiveBayes(family, **options).fit(csr_array(X), Y)
    expected = twin.log_joint(X.tolist())
    np.testing.assert_allclose(dense.log_joint(X), expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(sparse.log_joint(csr_array(X)), expected, rtol=1e-11, atol=1e-11)
    posterior = twin.log_posterior(X.tolist())
    for model, rows in ((dense, X), (sparse, csr_array(X)), (sparse, X)):
        np.testing.assert_allclose(model.predict_log_proba(rows), posterior, rtol=1e-10, atol=1e-10)
    assert np.isneginf(expected).any() == (alpha == 0)  # zeros and ones were tried


@pytest.mark.parametrize("family", SPARSE)
def test_every_small_row_has_the_same_posterior_or_the_same_refusal_in_both_forms(family):
    """All rows of three columns under probabilities of exactly 0 and 1."""
    X = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0], [1, 1, 1]])
    y = [0, 0, 1, 1, 1]
    dense = NaiveBayes(family, smoothing=0).fit(X, y)
    sparse = NaiveBayes(family, smoothing=0).fit(csr_array(X), y)
    twin = oracle.fit(X.tolist(), y, keys(family, 3), smoothing=0)
    most = 1 if family == "bernoulli" else 2
    for row in product(range(most + 1), repeat=3):
        joint = twin.log_joint([row])
        if np.isneginf(joint).all():
            for model, form in ((dense, np.array), (sparse, csr_array)):
                with pytest.raises(InputError, match="row 0 has probability zero"):
                    model.predict_proba(form([row]))
            continue
        expected = np.exp(joint - logsumexp(joint))
        np.testing.assert_allclose(dense.predict_proba([row]), expected, atol=1e-14)
        np.testing.assert_allclose(sparse.predict_proba(csr_array([row])), expected, atol=1e-14)


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


@pytest.mark.parametrize("form", [csr_array, csr_matrix, csc_array, coo_array])
@pytest.mark.parametrize("kind", [bool, np.int8, np.uint16, np.int64, np.float32, np.float64])
def test_every_format_and_dtype_gives_the_same(form, kind):
    X = DATA["bernoulli"].astype(kind)
    model = NaiveBayes("bernoulli").fit(form(X), Y)
    expected = NaiveBayes("bernoulli").fit(csr_array(DATA["bernoulli"]), Y)
    np.testing.assert_array_equal(
        model.predict_proba(form(X)), expected.predict_proba(csr_array(DATA["bernoulli"]))
    )


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


@pytest.mark.parametrize("family", ["multinomial", "bernoulli"])
def test_a_million_columns_agree_with_scikit_learn(family):
    rng = np.random.default_rng(0)
    n, width, per_row = 200, 10**6, 300
    columns = rng.integers(0, width, (n, per_row))
    counts = csr_array(
        (np.ones(n * per_row), (np.repeat(np.arange(n), per_row), columns.ravel())), (n, width)
    )
    counts.sum_duplicates()
    counts.data[:] = 1.0 if family == "bernoulli" else rng.integers(1, 40, counts.nnz)
    y = np.arange(n) % 3
    model = NaiveBayes(family).fit(counts, y)
    logs = model.predict_log_proba(counts)
    np.testing.assert_allclose(logsumexp(logs, axis=1), 0, atol=1e-12)
    assert np.isfinite(model.log_density(counts)).all()
    peer = (MultinomialNB if family == "multinomial" else BernoulliNB)().fit(counts, y)
    np.testing.assert_allclose(logs, peer.predict_log_proba(counts), rtol=1e-7, atol=1e-7)
    assert logs.min() < -100


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
