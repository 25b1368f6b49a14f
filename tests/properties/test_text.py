"""Laws of the text classifier, on documents drawn at random."""

import numpy as np
from hypothesis import given, strategies as st
from tests.oracles import text as oracle

from credo import TextClassifier

WORDS = ["ant", "bee", "cat", "dog", "elk", "fox"]

documents = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
models = st.sampled_from(["multinomial", "bernoulli"])


@st.composite
def corpora(draw):
    """Documents with labels and weights; the first has a word."""
    n = draw(st.integers(2, 12))
    texts = [draw(st.sampled_from(WORDS)), *(draw(documents) for _ in range(n - 1))]
    labels = [draw(st.sampled_from("abc")) for _ in range(n)]
    weights = [1.0, *(float(draw(st.sampled_from([0, 1, 2, 0.5]))) for _ in range(n - 1))]
    return texts, labels, weights


@st.composite
def options(draw):
    """Options of the classifier, those of streams included."""
    vocabulary = draw(st.sampled_from(["all", "frequent", "relevant"]))
    return {
        "model": draw(models),
        "vocabulary": vocabulary,
        "max_words": draw(st.sampled_from([None, 1, 3])),
        "smoothing": draw(st.sampled_from([0.1, 1.0, 2.5])),
        "smoothing_target": draw(st.sampled_from(["uniform", "marginal"])),
        "hashing": draw(st.sampled_from([None, 8, 64])),
    }


@given(corpora(), options(), st.data())
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
    np.testing.assert_allclose(model.log_joint(new), whole.log_joint(new), rtol=1e-10, atol=1e-10)


@given(corpora(), models, st.sampled_from(["uniform", "marginal"]))
def test_it_equals_its_slow_twin(corpus, model, target):
    texts, labels, weights = corpus
    ours = TextClassifier(model, smoothing=0.7, smoothing_target=target)
    ours.fit(texts, labels, weights)
    twin = oracle.Twin(model, smoothing=0.7, smoothing_target=target).fit(texts, labels, weights)
    assert list(ours.words_) == twin.words
    new = [*texts, "ant fox fox", "", "unknown"]
    np.testing.assert_allclose(ours.log_joint(new), twin.log_joint(new), rtol=1e-10, atol=1e-10)


@given(corpora(), models)
def test_mutual_information_is_the_double_sum_between_zero_and_log_k(corpus, model):
    texts, labels, weights = corpus
    fitted = TextClassifier(model).fit(texts, labels, weights)
    values = fitted.mutual_information()
    assert (values >= 0).all()
    assert (values <= np.log(len(fitted.classes_)) + 1e-12).all()
    expected = [
        oracle.mutual_information(oracle.events(texts, labels, word, model, weights))
        for word in fitted.words_
    ]
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)


@given(corpora(), options(), documents)
def test_explanations_and_linear_forms_give_the_log_odds(corpus, chosen, text):
    texts, labels, weights = corpus
    labels[0], labels[1], weights[1] = "a", "b", 1.0
    fitted = TextClassifier(**chosen).fit(texts, labels, weights)
    logs = fitted.predict_log_proba([text])[0]
    told = fitted.explain(text, "a", "b")
    np.testing.assert_allclose(told.log_odds, logs[0] - logs[1], rtol=1e-9, atol=1e-10)
    w, w0 = fitted.log_odds_weights("a", "b")
    shown = dict(zip(told.features, told.values, strict=True))
    dense = np.array([shown.get(word, 0) for word in fitted.words_])
    np.testing.assert_allclose(dense @ w + w0, logs[0] - logs[1], rtol=1e-9, atol=1e-10)


@given(corpora(), models, st.permutations(WORDS))
def test_names_of_words_do_not_matter(corpus, model, names):
    texts, labels, weights = corpus
    other = dict(zip(WORDS, names, strict=True))
    renamed = [" ".join(other[word] for word in text.split()) for text in texts]
    one = TextClassifier(model).fit(texts, labels, weights)
    two = TextClassifier(model).fit(renamed, labels, weights)
    np.testing.assert_allclose(one.log_joint(texts), two.log_joint(renamed), rtol=1e-11, atol=1e-11)
