"""Whatever is saved comes back as it was; what no file holds is refused with a remedy."""

import copy
from dataclasses import replace
from datetime import date
from functools import reduce

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from tests.unit.storage.stored_models import (
    NAMES,
    all_models,
    answers,
    codes,
    documents,
    rows,
)

import credo
from credo.exceptions import InputError
from credo.graphs import BayesianNetwork
from credo.storage import describe, load, pack, save, unpack

MODELS = all_models()
#: Objects that are compared by what they answer.
OBJECTS = {
    *("_terms", "_reader", "_fitted", "_model", "_joint", "_projection", "summary_"),
    *("estimator", "estimator_", "separation_", "vectorizer", "progress", "families"),
    "_information",
}
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=5)
)
LABELS = st.lists(SCALARS | st.tuples(SCALARS, SCALARS), max_size=12)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=10)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=10)
        | st.frozensets(st.text(max_size=3), max_size=10)
    ),
    max_leaves=10,
)
TEXTS = st.lists(st.text(st.characters(exclude_categories=()), max_size=6), min_size=1)
ARRAYS = TEXTS.map(np.array) | st.just(np.asfortranarray(np.arange(6.0).reshape(2, 3)))


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_answers_bit_for_bit_as_the_saved_one(name):
    content = pack(MODELS[name])
    assert repr(answers(unpack(content))) == repr(answers(MODELS[name]))
    assert pack(unpack(content)) == content
    if hasattr(MODELS[name], "get_params"):
        before, after = vars(MODELS[name]), vars(unpack(content))
        assert set(before) == set(after)
        for key in set(before) - OBJECTS:
            assert type(before[key]) is type(after[key]), key
            assert getattr(before[key], "dtype", None) == getattr(after[key], "dtype", None), key
            np.testing.assert_equal(after[key], before[key], key)


def test_files_packed_bytes_and_methods_hold_the_same(tmp_path):
    for name in ("gaussian_tied", "text", "bayesian_chain", "loss"):
        save(MODELS[name], tmp_path / "function.credo")
        MODELS[name].save(tmp_path / "method.credo")
        for path in tmp_path.iterdir():
            assert path.read_bytes() == pack(MODELS[name])
            assert pack(credo.load(str(path))) == pack(MODELS[name])


def test_a_large_file_is_mapped_and_cannot_be_written_to(tmp_path):
    X = np.random.default_rng(0).normal(size=(600, 1100))
    model = credo.GaussianClassifier("tied", shrinkage=0.5).fit(X, np.arange(600) % 3)
    model.save(tmp_path / "model.credo")
    assert (tmp_path / "model.credo").stat().st_size > 2**23
    loaded = load(tmp_path / "model.credo")
    assert not loaded.means_.flags.writeable
    assert loaded.predict_log_proba(X[:9]).tolist() == model.predict_log_proba(X[:9]).tolist()
    assert np.shares_memory(loaded.means_, loaded.summary_.means)  # stored once


def test_without_its_summary_a_model_is_smaller_and_predicts_the_same():
    model = MODELS["gaussian_full"]
    small = pack(model, summary=False)
    assert len(small) < len(pack(model))
    loaded = unpack(small)
    assert loaded.summary_ is None
    assert answers(loaded) == answers(model)
    with pytest.raises(InputError, match="summary"):
        loaded.partial_fit(rows(), NAMES[codes()])


def test_a_model_that_waits_for_more_rows_can_wait_in_a_file():
    waiting = credo.GaussianClassifier("full", singular="error").partial_fit(
        rows()[:4], codes()[:4]
    )
    loaded = unpack(pack(waiting))
    with pytest.raises(credo.exceptions.NumericalError):
        loaded.predict(rows())
    loaded.partial_fit(rows()[4:], codes()[4:])
    whole = credo.GaussianClassifier("full").fit(rows(), codes())
    np.testing.assert_allclose(loaded.means_, whole.means_, rtol=1e-12)
    with pytest.raises(InputError, match="summary=True"):
        pack(waiting, summary=False)


def test_functions_that_report_progress_are_left_out_and_families_become_names():
    assert MODELS["gaussian_em"].progress is not None
    assert unpack(pack(MODELS["gaussian_em"])).progress is None
    assert unpack(pack(MODELS["naive_numbered"])).families == "gaussian"


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 1, 2], dtype=np.int16),
        np.array([2, 1, 0], dtype=np.float32),
        np.array([7, 9, 8], dtype=np.uint64),
        np.array([1, 2, 3], dtype=">i8"),
        np.array([True, False]),
        np.array(["a", "bb", "\U0001f600"], dtype="<U9"),
        np.array(["ab", "c"], dtype=np.dtypes.StringDType()),
        np.array(["a", "ß", None, 7, 1.5, float("inf")], dtype=object),
        np.array([2**70, -(2**70), 0], dtype=object),
        np.array([False, True], dtype=object),
        np.array([("a", 1), ("b", (2, None))], dtype="O,O").astype(object),
        np.array(["\ud800", "", "\x00", "a\nb", *"defghij"], dtype=object),
    ],
    ids=lambda labels: f"{labels.dtype} {labels[0]!a}",
)
def test_labels_of_any_kind_keep_their_values_and_types(labels):
    n = len(labels)
    summary = credo.summarise(rows()[:n], np.arange(n), covariance="diagonal")
    found = unpack(pack(replace(summary, classes=labels))).classes
    assert found.tolist() == labels.tolist()
    assert list(map(type, found.tolist())) == list(map(type, labels.tolist()))
    assert (found.dtype.kind, found.itemsize) == (labels.dtype.kind, labels.itemsize)


def test_many_priors_and_many_names_do_not_lengthen_the_header(tmp_path):
    n = 1500
    X = np.random.default_rng(0).normal(size=(2 * n, 2))
    y = np.array([f"class number {i}" for i in range(n)] * 2)
    priors = {f"class number {i}": 1 / n for i in range(n)}
    credo.GaussianClassifier("tied", priors=priors).fit(X, y).save(tmp_path / "m.credo")
    found = describe(tmp_path / "m.credo")
    loaded = load(tmp_path / "m.credo")
    assert loaded.priors == priors
    assert found["about"]["labels"][-1] == "… (1500 in all)"


def test_an_open_network_stays_open_and_the_loaded_one_is_open_too():
    net = BayesianNetwork()
    net.variable("a", ["no", "yes"])
    net.cpt("a", table=[0.3, 0.7])
    loaded = unpack(pack(net))
    for each in (net, loaded):
        each.variable("b", 2)
        each.cpt("b", ["a"], [[0.5, 0.5], [0.1, 0.9]])
    assert answers(loaded) == answers(net)
    assert loaded.tolerance == net.tolerance


def test_names_of_factors_and_states_that_look_alike_come_back():
    graph = unpack(pack(MODELS["factor_graph"]))
    assert [getattr(each, "name", None) for each in graph.factors] == [None, None, "pair", None]
    markov = unpack(pack(MODELS["markov"]))
    assert [type(state) for state in markov["b"].states] == [float, bool, type(None)]
    assert [type(state) for state in markov["a"].states] == [int, int]


def test_a_description_tells_what_a_file_holds(tmp_path):
    save(MODELS["gaussian_two"], tmp_path / "m.credo")
    found = describe(tmp_path / "m.credo")
    assert (found["format"], found["class"]) == (3, "GaussianClassifier")
    assert found["library"] == credo.__version__
    assert found["parameters"]["priors"] == [[False, 0.4], [True, 0.6]]
    assert found["about"]["rows"] == 60.0
    assert found["size"] == (tmp_path / "m.credo").stat().st_size
    assert "float64 (2, 4)" in found["arrays"].values()


def shown(value):
    """Show a value so that what differs in type or in a bit looks different."""
    if isinstance(value, np.ndarray):
        return [value.dtype, value.flags.f_contiguous, value.tolist()]
    if isinstance(value, frozenset):
        return f"frozenset {sorted(value)}"
    if isinstance(value, dict):
        return [(shown(key), shown(each)) for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(shown, value)]
    return repr(value)


REGRESSOR = credo.GaussianRegressor().fit(rows(), codes())


@given(VALUES | ARRAYS)
def test_any_parameter_comes_back(value):
    model = copy.copy(REGRESSOR)
    model.tol = value
    assert shown(unpack(pack(model)).tol) == shown(value)


@given(LABELS)
def test_any_names_come_back(labels):
    distinct = tuple(dict.fromkeys(label for label in labels if label == label))  # noqa: PLR0124
    if distinct:
        loss = credo.Loss(np.zeros((2, len(distinct))), ["a", "b"], distinct)
        assert repr(unpack(pack(loss)).acts) == repr(loss.acts)


@pytest.mark.parametrize(
    "model",
    [
        credo.GaussianClassifier(),
        credo.GaussianRegressor(),
        credo.NaiveBayes(),
        credo.TextClassifier(),
        credo.LogisticClassifier(),
        credo.DecisionClassifier(credo.NaiveBayes()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_an_unfitted_model_is_refused(model):
    with pytest.raises(InputError, match="is not fitted"):
        pack(model)


class Mine(credo.NaiveBayes):
    """Somebody else's model."""


def decision(*given):
    """Fit a classifier that acts."""
    return credo.DecisionClassifier(*given).fit(rows(), codes())


def texts(**options):
    """Fit a text classifier that counts in a way of its own."""
    vectorizer = CountVectorizer(token_pattern=None, **options)
    return credo.TextClassifier(vectorizer=vectorizer).fit(documents(), codes())


def regressor(**attributes):
    """Fit a regressor, and set attributes."""
    model = credo.GaussianRegressor().fit(rows(), codes())
    vars(model).update(attributes)
    return model


def with_dates(*days):
    """Make a summary of categories that no file holds."""
    summary = credo.NaiveBayes().fit([["a"], ["b"]], [0, 1]).summary_
    part = summary.parts[0]
    odd = replace(part, summary=replace(part.summary, categories=days))
    return replace(summary, parts=(odd,))


def incomplete():
    """Make a network that is not finished."""
    net = BayesianNetwork()
    net.variable("a", 2)
    return net


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: decision(LogisticRegression()), r"LogisticRegression.*loss\.save"),
        (LogisticRegression, "cannot be saved"),
        (lambda: Mine().fit(rows(), codes()), "A Mine cannot be saved"),
        (lambda: decision(credo.NaiveBayes(), lambda _: None), "holds no code"),
        (lambda: texts(tokenizer=str.split), r"vectorizer\.tokenizer.*holds no code"),
        (lambda: texts(analyzer=str.split), r"vectorizer\.analyzer.*holds no code"),
        (lambda: regressor(tol=pd.Series([0.2])), r"GaussianRegressor\.tol is of type Series"),
        (lambda: regressor(note_="mine"), r"'note_'.*del model\.note_"),
        (lambda: regressor(tol=[np.zeros(1) for _ in range(20_000)]), "more than a model file"),
        (lambda: regressor(tol=reduce(lambda x, _: [x], range(20))), "nested more than"),
        (lambda: regressor(tol=np.array(["2024-01-01"], "M8[D]")), "datetime64"),
        (lambda: with_dates(date(2024, 1, 1), date(2024, 1, 2)), "is of type date"),
        (incomplete, "has no CPT"),
    ],
    ids=range(13),
)
def test_what_no_file_holds_is_refused_with_a_remedy(make, told):
    with pytest.raises(InputError, match=told):
        pack(make())


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.credo"
    save(credo.Loss.zero_one(["a", "b"]), path)
    before = path.read_bytes()
    with pytest.raises(InputError):
        save(credo.GaussianClassifier(), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_folder_must_be_there(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        save(credo.Loss.zero_one(["a", "b"]), tmp_path / "no" / "m.credo")
