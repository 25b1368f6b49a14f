"""Laws of ``NaiveBayes``: streams, merges, weights, order, and the slow twin."""

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from scipy.sparse import csr_array
from tests.oracles import naive_bayes as oracle

from credo import NaiveBayes
from credo.exceptions import InputError

pytestmark = pytest.mark.filterwarnings("ignore::credo.exceptions.SingularWarning")

#: A number, a category, a bit, a count, and two counts that share a multinomial.
FAMILIES = {
    0: "gaussian",
    1: "categorical",
    2: "bernoulli",
    3: "poisson",
    (4, 5): "multinomial",
}


def maybe(cells):
    return st.one_of(st.none(), cells, cells, cells)


CELLS = [
    st.integers(-20, 20).map(lambda i: i / 2),
    st.sampled_from(["x", "y", "zebra", "", "1"]),
    st.integers(0, 1),
    st.integers(0, 9),
    st.integers(0, 4),
    st.integers(0, 4),
]
WHOLE_ROW = st.tuples(*CELLS).map(list)
ROW = st.tuples(*map(maybe, CELLS)).map(list)
OPTIONS = st.fixed_dictionaries(
    {
        "smoothing": st.sampled_from([0.25, 1.0, 3.0]),
        "smoothing_target": st.sampled_from(["uniform", "marginal"]),
        "unknown": st.sampled_from(["smooth", "ignore"]),
        "variance_floor": st.sampled_from([1e-9, 0.2]),
    }
)


@st.composite
def tables(draw, most=14):
    """Rows with missing cells, labels that may occur once, and whole weights, some of zero."""
    n = draw(st.integers(2, most))
    rows = draw(st.lists(ROW, min_size=n, max_size=n))
    labels = draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=n, max_size=n))
    weights = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    assume(any(weights))
    return rows, np.array(labels), np.array(weights, dtype=float)


def assert_same(one, other, rows):
    assert one.classes_.tolist() == other.classes_.tolist()
    np.testing.assert_allclose(one.priors_, other.priors_, rtol=1e-12)
    np.testing.assert_allclose(one.log_joint(rows), other.log_joint(rows), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(one.variance_floored_, other.variance_floored_)
    assert one.n_parameters_ == other.n_parameters_


@given(tables(), OPTIONS, st.lists(ROW, min_size=1, max_size=4))
def test_the_model_is_that_of_the_twin(table, options, new):
    rows, y, weights = table
    model = NaiveBayes(FAMILIES, **options).fit(rows, y, weights)
    counted = any(
        w and row[4] is not None and row[5] is not None
        for row, w in zip(rows, weights, strict=True)
    )
    families = FAMILIES if counted else {k: f for k, f in FAMILIES.items() if k != (4, 5)}
    twin = oracle.fit(rows, y, families, weights=weights, **options)
    asked = [*rows, *new]
    if not counted:  # without any counts, both columns are as likely in all classes
        asked = [[*row[:4], None, None] for row in asked]
    assert model.classes_.tolist() == twin.classes
    np.testing.assert_allclose(model.log_joint(asked), twin.log_joint(asked), rtol=1e-8, atol=1e-8)


@given(tables(), OPTIONS, st.randoms(use_true_random=False), st.integers(1, 6))
def test_a_stream_in_any_split_and_order_equals_one_fit(table, options, random, n_batches):
    rows, y, weights = table
    whole = NaiveBayes(FAMILIES, **options).fit(rows, y, weights)
    places = list(range(len(y)))
    random.shuffle(places)
    model = NaiveBayes(FAMILIES, **options)
    for batch in np.array_split(places, n_batches):
        if weights[batch].sum() > 0:
            model.partial_fit([rows[i] for i in batch], y[batch], sample_weight=weights[batch])
    assert_same(model, whole, rows)


@given(tables(), OPTIONS, st.integers(1, 13))
def test_two_models_merge_to_the_model_of_all_rows_in_either_order(table, options, cut):
    rows, y, weights = table
    assume(0 < cut < len(y) and weights[:cut].sum() > 0 and weights[cut:].sum() > 0)
    whole = NaiveBayes(FAMILIES, **options).fit(rows, y, weights)
    first = NaiveBayes(FAMILIES, **options).fit(rows[:cut], y[:cut], weights[:cut])
    second = NaiveBayes(FAMILIES, **options).fit(rows[cut:], y[cut:], weights[cut:])
    assert_same(first.merge(second), whole, rows)
    assert_same(second.merge(first), whole, rows)


@given(tables(), OPTIONS)
def test_weights_are_repeated_rows(table, options):
    rows, y, weights = table
    places = np.repeat(np.arange(len(y)), weights.astype(int))
    weighted = NaiveBayes(FAMILIES, **options).fit(rows, y, weights)
    repeated = NaiveBayes(FAMILIES, **options).fit([rows[i] for i in places], y[places])
    assert_same(weighted, repeated, rows)
    assert weighted.categories_ == repeated.categories_


@given(tables(), OPTIONS, st.permutations(range(6)))
def test_the_order_of_columns_does_not_matter(table, options, order):
    rows, y, _ = table
    turned = [[row[j] for j in order] for row in rows]
    where = {j: i for i, j in enumerate(order)}
    families = {
        tuple(where[j] for j in key) if isinstance(key, tuple) else where[key]: family
        for key, family in FAMILIES.items()
    }
    model = NaiveBayes(FAMILIES, **options).fit(rows, y)
    other = NaiveBayes(families, **options).fit(turned, y)
    np.testing.assert_allclose(other.log_joint(turned), model.log_joint(rows), rtol=1e-10)


@given(tables(), OPTIONS, ROW)
def test_an_explanation_adds_up_and_missing_cells_say_nothing(table, options, row):
    rows, y, _ = table
    assume(len(set(y)) > 1)
    model = NaiveBayes(FAMILIES, **options).fit(rows, y)
    a, b = model.classes_[:2].tolist()
    told = model.explain(row, a, b)
    logs = model.predict_log_proba([row])[0]
    assert told.log_odds == pytest.approx(logs[0] - logs[1], rel=1e-9, abs=1e-9)
    assert (np.diff(np.abs(told.contributions)) <= 0).all()
    for value, amount in zip(told.values, told.contributions, strict=True):
        assert value is not None or amount == 0


@given(tables(), OPTIONS, WHOLE_ROW)
def test_the_posterior_is_a_linear_function_of_the_statistics(table, options, row):
    rows, y, _ = table
    assume(len(set(y)) > 1)
    model = NaiveBayes(FAMILIES, **options).fit(rows, y)
    a, b = model.classes_[:2].tolist()
    w, w0 = model.log_odds_weights(a, b)
    logs = model.predict_log_proba([row])[0]
    linear = (model.sufficient_statistics([row]) @ w + w0)[0]
    assert linear == pytest.approx(logs[0] - logs[1], rel=1e-7, abs=1e-7)


@given(
    st.sampled_from(["bernoulli", "multinomial", "poisson"]),
    st.sampled_from([0.0, 0.5, 2.0]),
    st.integers(1, 6).flatmap(
        lambda d: st.lists(
            st.lists(st.integers(0, 3), min_size=d, max_size=d), min_size=2, max_size=9
        )
    ),
    st.data(),
)
def test_sparse_rows_have_the_posterior_of_dense_ones_or_the_same_refusal(
    family, alpha, rows, data
):
    X = np.array(rows, dtype=float)
    X = np.minimum(X, 1) if family == "bernoulli" else X
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(X), max_size=len(X))))
    models = []
    for form in (np.asarray, csr_array):
        try:
            models.append(NaiveBayes(family, smoothing=alpha).fit(form(X), y))
        except InputError:
            models.append(None)
    assert (models[0] is None) == (models[1] is None)
    assume(models[0] is not None)
    for row in [*X, X.max(axis=0), X[0] * 0]:
        answers = []
        for model, form in zip(models, (np.asarray, csr_array), strict=True):
            try:
                answers.append(model.log_joint(form(row[None])))
            except InputError as error:
                answers.append(str(error))
        if isinstance(answers[0], str):
            assert answers[0] == answers[1]
        else:
            np.testing.assert_allclose(answers[0], answers[1], rtol=1e-10, atol=1e-10)


@given(tables(), st.integers(0, 2**32 - 1))
def test_samples_are_possible_rows_and_depend_on_the_seed_alone(table, seed):
    rows, y, _ = table
    model = NaiveBayes(FAMILIES).fit(rows, y)
    X, labels = model.sample(4, seed)
    again, _ = model.sample(4, seed)
    assert repr(X.tolist()) == repr(again.tolist())  # as text, for NaN is not itself
    assert np.isfinite(model.log_joint(X.tolist())).all()
    assert set(labels) <= set(y)
