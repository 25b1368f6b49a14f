"""Explanations and linear forms of the log odds."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from tests.oracles import naive_bayes as oracle

from credo import NaiveBayes
from credo.exceptions import InputError, LabelError

ROWS, Y = oracle.mixed_rows(80, seed=40, holes=0.1)
NEW, _ = oracle.mixed_rows(12, seed=41, holes=0.3)
MODEL = NaiveBayes(oracle.EVERY_FAMILY).fit(ROWS, Y)
TWIN = oracle.fit(ROWS, Y, oracle.EVERY_FAMILY)
X = pd.DataFrame({"age": [1.0, 2.0, 4.0, 7.0], "town": ["x", "y", "x", None], "ill": [1, 0, 1, 0]})
NAMED = NaiveBayes().fit(X, ["a", "a", "b", "b"])


def log_odds(model, row, a, b):
    logs = dict(zip(model.classes_.tolist(), model.predict_log_proba(row)[0], strict=True))
    return logs[a] - logs[b]


# --- explain ---------------------------------------------------------------------------------


@pytest.mark.parametrize("row", NEW, ids=range(12))
def test_contributions_and_prior_add_up_to_the_log_odds(row):
    """By default of the best class against the next; the largest come first."""
    for a, b in [("ant", "cat"), ("cat", "bee"), (None, None), ("bee", None), (None, "bee")]:
        told = MODEL.explain(row, a, b)
        expected = log_odds(MODEL, [row], told.label, told.against)
        assert told.prior + told.contributions.sum() == pytest.approx(expected, abs=1e-10)
        assert told.log_odds == pytest.approx(expected, abs=1e-10)
        assert a in (None, told.label)
        assert b in (None, told.against)
        assert (np.diff(np.abs(told.contributions)) <= 0).all()
        if (a, b) == (None, None):
            order = np.argsort(-MODEL.predict_log_proba([row])[0])
            assert [told.label, told.against] == MODEL.classes_[order[:2]].tolist()
            assert told.log_odds >= 0


def test_each_contribution_is_the_log_ratio_of_its_own_densities():
    told = MODEL.explain(NEW[1], "cat", "ant")
    shares = dict(zip(told.features, told.contributions, strict=True))
    for key in oracle.EVERY_FAMILY:
        expected = TWIN.feature(NEW[1], key, 2) - TWIN.feature(NEW[1], key, 0)
        if key == (8, 9, 10):  # each count by itself; the coefficient cancels
            assert sum(shares[j] for j in key) == pytest.approx(expected, abs=1e-10)
        else:
            assert shares[key] == pytest.approx(expected, abs=1e-10)
    assert told.prior == pytest.approx(np.log(TWIN.priors[2] / TWIN.priors[0]))


def test_missing_values_add_nothing_and_equals_keep_the_order_of_columns():
    told = NAMED.explain([None, None, None], "a", "b")
    assert told.contributions.tolist() == [0.0, 0.0, 0.0]
    assert all(value is None for value in told.values)  # noqa: PD011 - not a data frame
    assert told.log_odds == 0.0
    assert told.features == ("age", "town", "ill")


def test_swapping_the_classes_changes_the_signs():
    one, other = MODEL.explain(NEW[2], "ant", "cat"), MODEL.explain(NEW[2], "cat", "ant")
    np.testing.assert_allclose(one.contributions, -other.contributions, atol=1e-13)
    assert one.features == other.features


@pytest.mark.parametrize(
    "row",
    [
        [2.0, "y", 1],
        (2.0, "y", 1),
        {"ill": 1, "age": 2.0, "town": "y"},
        np.array([2.0, "y", 1], dtype=object),
        pd.Series({"age": 2.0, "town": "y", "ill": 1}),
        pd.DataFrame({"age": [2.0], "town": ["y"], "ill": [1]}),
        pl.DataFrame({"age": [2.0], "town": ["y"], "ill": [1]}),
        pl.DataFrame({"age": [2.0], "town": ["y"], "ill": [1]}).to_arrow(),
    ],
    ids=["list", "tuple", "mapping", "array", "Series", "pandas", "Polars", "Arrow"],
)
def test_a_row_may_come_in_any_form(row):
    told = NAMED.explain(row, "a", "b")
    frame = pd.DataFrame({"age": [2.0], "town": ["y"], "ill": [1]})
    assert told.log_odds == pytest.approx(log_odds(NAMED, frame, "a", "b"), abs=1e-12)
    assert dict(zip(told.features, told.values, strict=True)) == {"age": 2, "town": "y", "ill": 1}


@pytest.mark.parametrize("family", ["bernoulli", "multinomial", "poisson"])
def test_sparse_rows_are_explained_by_the_columns_that_matter(family):
    counts = np.array([[1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]])
    model = NaiveBayes(family).fit(csr_array(counts), [0, 0, 1, 1])
    dense = NaiveBayes(family).fit(counts, [0, 0, 1, 1])
    for row in ([1, 0, 1, 1], [0, 0, 0, 0]):
        expected = dense.decision_function([row])[0]
        for form in (csr_array([row]), row, np.array([row]), dict(enumerate(row))):
            told = model.explain(form, 1, 0)
            assert told.log_odds == pytest.approx(expected, abs=1e-12)
            whole = dense.explain(row, 1, 0)
            amounts = dict(zip(whole.features, whole.contributions, strict=True))
            for feature, amount in zip(told.features, told.contributions, strict=True):
                assert amount == pytest.approx(amounts[feature], abs=1e-12)


def test_an_unseen_category_is_explained_by_its_smoothed_mass():
    told = NAMED.explain({"age": None, "town": "new", "ill": None}, "a", "b")
    # C = 3: 1 / (2 + 3) and 1 / (1 + 3)
    assert told.log_odds == pytest.approx(np.log((1 / 5) / (1 / 4)), rel=1e-12)


def test_an_impossible_value_is_infinitely_against_its_class_and_never_nan():
    model = NaiveBayes(smoothing=0).fit([["x", 1], ["y", 0], ["y", 1], ["y", 0]], [0, 0, 1, 1])
    told = model.explain(["x", 1], 0, 1)
    assert told.contributions[0] == told.log_odds == np.inf
    rows = [[1, 0], [1, 0], [0, 1], [0, 1], [1, 1], [0, 0], [0, 1], [1, 0]]
    model = NaiveBayes(smoothing=0).fit(rows, list("aabbcccc"))
    assert model.explain([1, 1], "c", "a").log_odds == np.inf
    with pytest.raises(InputError, match="explain.*impossible under both"):
        model.explain([1, 1], "a", "b")


def test_the_repr_is_a_table_of_a_few_lines():
    told = MODEL.explain(NEW[0], "ant", "bee")
    lines = repr(told).splitlines()
    assert lines[0].startswith("'ant' against 'bee': log odds ")
    assert lines[1].split()[0] == "prior"
    assert len(lines) == 2 + 12 + 1
    assert lines[-1].split()[:2] == [str(len(told.features) - 12), "more"]


def test_wrong_rows_are_refused():
    with pytest.raises(LabelError, match="needs 'town'"):
        NAMED.explain({"age": 1.0, "ill": 0})
    with pytest.raises(LabelError, match=r"does not know 'twon'|needs 'town'"):
        NAMED.explain({"age": 1.0, "ill": 0, "twon": "x"})
    with pytest.raises(InputError, match=r"3 values. Got 2"):
        NAMED.explain([1.0, "x"])
    with pytest.raises(InputError, match=r"one row. Got 4"):
        NAMED.explain(X)
    with pytest.raises(LabelError, match="no class 'c'"):
        NAMED.explain([1.0, "x", 1], "c")
    with pytest.raises(InputError, match="compares two classes"):
        NaiveBayes().fit([[1.0], [2.0]], [0, 0]).explain([1.0])


# --- linear forms ----------------------------------------------------------------------------

LINEAR = {k: f for k, f in oracle.EVERY_FAMILY.items() if f != "laplace"}


def without_laplace(rows):
    return [[*row[:1], *row[2:]] for row in rows]


def moved(families):
    return {
        tuple(j - 1 for j in k) if isinstance(k, tuple) else k - (k > 1): f
        for k, f in families.items()
    }


@pytest.mark.parametrize(("a", "b"), [("ant", "bee"), ("cat", "ant"), ("bee", "cat")])
def test_log_odds_are_linear_in_the_statistics_of_all_exponential_families(a, b):
    model = NaiveBayes(moved(LINEAR)).fit(without_laplace(ROWS), Y)
    new = without_laplace(oracle.mixed_rows(20, seed=42)[0])
    w, w0 = form = model.log_odds_weights(a, b)
    assert (form.label, form.against, form.intercept) == (a, b, w0)
    T = model.sufficient_statistics(new)
    assert T.shape == (20, len(w)) == (20, len(form.statistics))
    logs = model.predict_log_proba(new)
    i, j = (model.classes_.tolist().index(k) for k in (a, b))
    np.testing.assert_allclose(T @ w + w0, logs[:, i] - logs[:, j], rtol=1e-9, atol=1e-9)


def test_the_statistics_are_named():
    frame = pd.DataFrame({"t": ["x", "y", "x"], "g": [1.5, 2.0, 4.0], "f": [0, 1, 1]})
    frame["n"], frame["s"] = [3, 1, 2], [0.5, 1.5, 2.0]
    model = NaiveBayes({"n": "poisson", "s": "gamma"}, unknown="ignore").fit(frame, [0, 0, 0])
    names = model.log_odds_weights(0, 0).statistics
    assert set(names) == {"g", "g²", "f", "n", "log s", "s", "[t = 'x']", "[t = 'y']"}


@pytest.mark.parametrize("unknown", ["smooth", "ignore"])
def test_an_unseen_category_has_its_weight_or_none(unknown):
    model = NaiveBayes(unknown=unknown).fit([["r"], ["r"], ["g"], ["r"], ["b"]], list("aaabb"))
    w, w0 = model.log_odds_weights("b", "a")
    new = [["zz"], ["r"], ["b"], ["g"]]
    np.testing.assert_allclose(
        model.sufficient_statistics(new) @ w + w0, model.decision_function(new), rtol=1e-12
    )


def test_missing_values_have_no_statistics():
    rows = {"age": [None, 1.0, 1.0], "town": ["x", None, "y"], "ill": [1, 0, None]}
    T = NAMED.sufficient_statistics(pd.DataFrame(rows))
    assert np.isnan(T).any(axis=1).all()
    assert not np.isnan(T).all(axis=1).any()


def test_constant_columns_have_weight_zero():
    model = NaiveBayes("gaussian").fit(
        [[1.0, 5.0], [2.0, 5.0], [4.0, 5.0], [6.0, 5.0]], [0, 0, 1, 1]
    )
    w, w0 = model.log_odds_weights(1, 0)
    assert w[2:].tolist() == [0.0, 0.0]
    new = np.array([[3.0, 5.0], [1.0, 77.0]])
    np.testing.assert_allclose(
        model.sufficient_statistics(new) @ w + w0, model.decision_function(new), rtol=1e-10
    )


@pytest.mark.parametrize("family", ["bernoulli", "multinomial", "poisson"])
def test_sparse_rows_are_their_own_statistics(family):
    rows = csr_array(np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1]]))
    model = NaiveBayes(family).fit(rows, [0, 0, 1, 1])
    w, w0 = model.log_odds_weights(1, 0)
    T = model.sufficient_statistics(rows)
    np.testing.assert_allclose(T @ w + w0, model.decision_function(rows), rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(T.toarray(), rows.toarray())


def test_a_laplace_column_is_refused_by_name():
    with pytest.raises(InputError, match=r"Laplace family.*not a generalised linear"):
        MODEL.log_odds_weights("ant", "bee")


@pytest.mark.parametrize(
    ("rows", "y"),
    [
        ([[1, 1], [1, 0], [1, 0]], list("aab")),  # p = 1 in both classes
        ([[0, 1], [0, 0], [1, 0]], list("aab")),
        ([["x"], ["y"], ["y"], ["z"]], list("aabb")),
    ],
)
@pytest.mark.parametrize("form", [list, csr_array])
def test_infinite_weights_are_refused_with_the_remedy(rows, y, form):
    if form is csr_array and isinstance(rows[0][0], str):
        rows = [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]
    model = NaiveBayes(smoothing=0).fit(form(rows), y)
    with pytest.raises(InputError, match=r"infinite.*smoothing > 0"):
        model.log_odds_weights("a", "b")


def test_a_prior_of_zero_has_no_log_odds():
    model = NaiveBayes("bernoulli", priors=[0, 1]).fit([[0], [1], [1]], list("abb"))
    with pytest.raises(InputError, match="prior of 'a' or 'b' is zero"):
        model.log_odds_weights("a", "b")
    with pytest.raises(LabelError, match="no class 'q'"):
        model.log_odds_weights("a", "q")
