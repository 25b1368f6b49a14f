"""Laws of logistic regression, naive Bayes and text models, on small problems of any kind."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from scipy.sparse import csr_array
from tests.oracles import logistic, naive_bayes, text as text_model

from credo import NaiveBayes, TextClassifier
from credo.classifiers.logistic import LogisticClassifier
from credo.exceptions import CredoWarning, InputError


@st.composite
def problems(draw, least=2):
    """Rows on a coarse grid, so that ties and separation happen; every class occurs."""
    n_classes = draw(st.integers(least, 3))
    n_features = draw(st.integers(1, 3))
    n = draw(st.integers(3 * n_classes, 25))
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, n_features)).astype(float)
    X[0], X[1] = -2.0, 2.0  # no column is constant
    noise = draw(st.sampled_from([0.0, 0.5, 2.0, 8.0]))
    scores = X @ rng.normal(size=(n_features, n_classes)) + noise * rng.normal(size=(n, n_classes))
    y = scores.argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return X, y, rng


def fitted(X, y, weights=None, penalty="l2", strength=0.5):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CredoWarning)
        amount = None if penalty is None else strength
        return LogisticClassifier(penalty, strength=amount).fit(X, y, weights)


penalties = st.sampled_from(["l2", "l1"])


@given(problems())
def test_separation_is_claimed_if_and_only_if_there_is_any(problem):
    X, y, _ = problem
    found = fitted(X, y, None, None).separation_
    assert (None if found is None else found.kind) == logistic.separation(X, y)


@given(problems())
def test_the_gradient_vanishes_where_there_is_a_maximum(problem):
    X, y, _ = problem
    model = fitted(X, y, None, None)
    if model.separation_ is None:
        slope = logistic.gradient(X, y, model.coef_, model.intercept_)
        assert np.abs(slope).max() < 1e-7


@given(problems(), penalties, st.integers(1, 6))
def test_batches_are_one_fit(problem, penalty, n_parts):
    X, y, _ = problem
    parts = np.array_split(np.arange(len(y)), n_parts)
    model = LogisticClassifier(penalty, strength=0.5)
    model.fit_batches([(X[part], y[part]) for part in parts])
    whole = fitted(X, y, None, penalty)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-6)


@given(problems())
def test_mean_probabilities_are_the_frequencies(problem):
    X, y, _ = problem
    model = fitted(X, y, None, "l1", 0.3)
    np.testing.assert_allclose(
        model.predict_proba(X).mean(axis=0), np.bincount(y) / len(y), atol=1e-7
    )


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
    twin = naive_bayes.fit(rows, y, families, weights=weights, **options)
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


WORDS = ["ant", "bee", "cat", "dog", "elk", "fox"]
DOCUMENTS = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
MODELS = st.sampled_from(["multinomial", "bernoulli"])


@st.composite
def corpora(draw):
    """Documents with labels and weights; the first has a word."""
    n = draw(st.integers(2, 12))
    texts = [draw(st.sampled_from(WORDS)), *(draw(DOCUMENTS) for _ in range(n - 1))]
    labels = [draw(st.sampled_from("abc")) for _ in range(n)]
    weights = [1.0, *(float(draw(st.sampled_from([0, 1, 2, 0.5]))) for _ in range(n - 1))]
    return texts, labels, weights


@st.composite
def text_options(draw):
    """Options of the classifier, those of streams included."""
    vocabulary = draw(st.sampled_from(["all", "frequent", "relevant"]))
    return {
        "model": draw(st.sampled_from(["complement", "multinomial", "bernoulli"])),
        "vocabulary": vocabulary,
        "max_words": draw(st.sampled_from([None, 1, 3])),
        "smoothing": draw(st.sampled_from([None, 0.1, 1.0, 2.5])),
        "smoothing_target": draw(st.sampled_from(["uniform", "marginal"])),
        "hashing": draw(st.sampled_from([None, 8, 64])),
    }


@given(corpora(), text_options(), st.data())
def test_any_split_in_any_order_equals_one_fit(corpus, chosen, data):
    texts, labels, weights = corpus
    weights = [max(w, 0.5) for w in weights]  # a batch must weigh something
    whole = TextClassifier(**chosen).fit(texts, labels, weights)
    n = len(texts)
    order = data.draw(st.permutations(range(n)))
    cuts = sorted(data.draw(st.lists(st.integers(1, n - 1), max_size=3, unique=True)))
    parts = np.split(np.array(order), cuts)
    parts.sort(key=lambda rows: 0 not in rows)  # the document that surely has a word comes first
    model = TextClassifier(**chosen)
    for rows in parts:
        model.partial_fit(
            [texts[i] for i in rows], [labels[i] for i in rows], None, [weights[i] for i in rows]
        )
    assert model.classes_.tolist() == whole.classes_.tolist()
    assert tuple(model.words_) == tuple(whole.words_)
    new = [*texts, "ant fox", "", "unknown"]
    found, expected = (each.decision_function(new) for each in (model, whole))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@given(corpora(), MODELS, st.sampled_from(["uniform", "marginal"]))
def test_a_text_model_equals_its_slow_twin(corpus, model, target):
    texts, labels, weights = corpus
    ours = TextClassifier(model, smoothing=0.7, smoothing_target=target)
    ours.fit(texts, labels, weights)
    twin = text_model.Twin(model, smoothing=0.7, smoothing_target=target).fit(
        texts, labels, weights
    )
    assert list(ours.words_) == twin.words
    new = [*texts, "ant fox fox", "", "unknown"]
    np.testing.assert_allclose(ours.log_joint(new), twin.log_joint(new), rtol=1e-10, atol=1e-10)


@given(corpora(), st.sampled_from(["uniform", "marginal"]), st.sampled_from([0.1, 1.0, 3.0]))
def test_a_complement_model_equals_its_slow_twin(corpus, target, alpha):
    texts, labels, weights = corpus
    ours = TextClassifier(smoothing=alpha, smoothing_target=target, calibrated=False)
    ours.fit(texts, labels, weights)
    rows = [
        (text_model.tokens(d), k, w) for d, k, w in zip(texts, labels, weights, strict=True) if w
    ]
    for text in [*texts, "ant fox fox", "", "unknown"]:
        found = text_model.tokens(text)
        scores = text_model.complement_scores(rows, ours.classes_.tolist(), found, alpha, target)
        logs = np.log(ours.priors_) + np.array(scores) / ours.temperature_
        logs -= np.logaddexp.reduce(logs)
        np.testing.assert_allclose(ours.predict_log_proba([text])[0], logs, rtol=1e-9, atol=1e-9)


@given(corpora(), text_options(), DOCUMENTS)
def test_explanations_and_linear_forms_give_the_log_odds(corpus, chosen, text):
    texts, labels, weights = corpus
    labels[0], labels[1], weights[1] = "a", "b", 1.0
    fitted = TextClassifier(**chosen).fit(texts, labels, weights)
    logs = fitted.predict_log_proba([text])[0]
    told = fitted.explain(text, "a", "b")
    np.testing.assert_allclose(told.log_odds, logs[0] - logs[1], rtol=1e-9, atol=1e-10)
    w, w0 = fitted.log_odds_weights("a", "b")
    shown = dict(zip(told.features, told.values, strict=True))
    if chosen["model"] == "complement":
        if chosen["hashing"]:
            return  # words that say nothing are not shown, but have a part in the length
        shown = text_model.unit_vector(text_model.tokens(text), fitted.words_)
    dense = np.array([shown.get(word, 0) for word in fitted.words_])
    np.testing.assert_allclose(dense @ w + w0, logs[0] - logs[1], rtol=1e-9, atol=1e-10)
