"""Which words a text model uses: all, the most frequent, or those that tell classes apart."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from credo._types import F64, Int
from credo._validation.probabilities import block_rows, blocks
from credo.classifiers.words.counting import WordSummary
from credo.exceptions import InputError


def mutual_information(summary: WordSummary) -> F64:
    r"""Give the mutual information of each word and the class, in nats, (V,).

    .. math:: I = \sum_{t, k} p(t, k) \log \frac{p(t, k)}{p(t)\, p(k)}

    For the Bernoulli model t says whether a document has the word; for the multinomial model,
    whether a position holds it.
    """
    totals = summary.documents if summary.model == "bernoulli" else summary.counts.sum(axis=1)
    everything = totals.sum()
    result = np.zeros(len(summary.words))
    if not everything > 0:
        return result
    p_class = (totals / everything)[:, None]
    for block in blocks(len(result), block_rows(len(totals))):
        with_word = summary.counts[:, block] / everything
        without = np.maximum(p_class - with_word, 0.0)
        result[block] = _terms(with_word, p_class) + _terms(without, p_class)
    return np.maximum(result, 0.0)


def _terms(joint: F64, p_class: F64) -> F64:
    """Add up the terms of one value of t over the classes; impossible ones add nothing."""
    marginal = joint.sum(axis=0) * p_class
    ratio = np.divide(joint, marginal, out=np.ones_like(joint), where=joint > 0)
    return xlogy(joint, ratio).sum(axis=0)


def choose(summary: WordSummary, vocabulary: str, max_words: int | None, owner: str) -> Int:
    """Give the positions of the words to use, in order."""
    seen = np.flatnonzero(summary.counts.sum(axis=0) > 0)
    if vocabulary not in ("frequent", "relevant") and max_words is None:
        chosen = np.arange(len(summary.words)) if isinstance(summary.words, range) else seen
    else:
        relevant = vocabulary == "relevant"
        values = mutual_information(summary) if relevant else summary.counts.sum(axis=0)
        most = 1000 if max_words is None else max_words
        best = seen[np.argsort(-values[seen], kind="stable")[:most]]
        chosen = np.sort(best)
    if not len(chosen):
        raise InputError(f"{owner}: no words are left to learn from. Pass documents with words.")
    return chosen
