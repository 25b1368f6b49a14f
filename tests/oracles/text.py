"""A slow twin of ``TextClassifier``: one document, one class and one word at a time."""

import math
import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from scipy.special import logsumexp


def tokens(document):
    """Words as scikit-learn's ``CountVectorizer()`` sees them: two letters or more, lower case."""
    return re.findall(r"\b\w\w+\b", document.lower())


@dataclass
class Twin:
    """Naive Bayes of words, with the options of the estimator by the same names."""

    model: str = "multinomial"
    smoothing: float = 1.0
    smoothing_target: str = "uniform"
    words: list = field(default_factory=list)

    def fit(self, documents, labels, weights=None):
        weights = [1.0] * len(labels) if weights is None else weights
        rows = [
            (tokens(d), k, w) for d, k, w in zip(documents, labels, weights, strict=True) if w > 0
        ]
        self.classes = sorted({k for _, k, _ in rows})
        self.words = self.words or sorted({word for found, _, _ in rows for word in found})
        self.documents = {k: sum(w for _, label, w in rows if label == k) for k in self.classes}
        total = sum(self.documents.values())
        self.priors = {k: self.documents[k] / total for k in self.classes}
        self.counts = {
            (k, word): sum(w * self._count(found, word) for found, label, w in rows if label == k)
            for k in self.classes
            for word in self.words
        }
        self.theta = {key: self._probability(*key) for key in self.counts}
        return self

    def _count(self, found, word):
        n = found.count(word)
        return n if self.model == "multinomial" else min(n, 1)

    def _probability(self, k, word):
        """Give θ of a word in a class, pulled towards the target by artificial observations."""
        a, values = self.smoothing, self._n_values()
        numerator, denominator = self.counts[k, word], self._chances([k])
        if self.smoothing_target == "uniform":
            return (numerator + a) / (denominator + values * a)
        pooled = sum(self.counts[c, word] for c in self.classes) + a
        pooled /= self._chances(self.classes) + values * a
        return (numerator + values * a * pooled) / (denominator + values * a)

    def _n_values(self):
        return len(self.words) if self.model == "multinomial" else 2

    def _chances(self, classes):
        """Give how often a word could have occurred: at every position, or in every document."""
        if self.model == "bernoulli":
            return sum(self.documents[k] for k in classes)
        return sum(self.counts[k, word] for k in classes for word in self.words)

    def log_density(self, document, k):
        """Give log p(x | k), the multinomial coefficient included."""
        found = Counter(word for word in tokens(document) if word in set(self.words))
        if self.model == "bernoulli":
            return sum(
                math.log(self.theta[k, word] if found[word] else 1 - self.theta[k, word])
                for word in self.words
            )
        result = math.lgamma(sum(found.values()) + 1)
        for word, n in found.items():
            result += n * math.log(self.theta[k, word]) - math.lgamma(n + 1)
        return result

    def log_joint(self, documents):
        return np.array(
            [
                [math.log(self.priors[k]) + self.log_density(d, k) for k in self.classes]
                for d in documents
            ]
        )

    def predict_proba(self, documents):
        joint = self.log_joint(documents)
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))


def mutual_information(pairs):
    """Give the mutual information in nats of weighted pairs (t, k, weight), by a double loop."""
    total = sum(w for _, _, w in pairs)
    result = 0.0
    for t in {t for t, _, _ in pairs}:
        for k in {k for _, k, _ in pairs}:
            joint = sum(w for a, b, w in pairs if (a, b) == (t, k)) / total
            p_t = sum(w for a, _, w in pairs if a == t) / total
            p_k = sum(w for _, b, w in pairs if b == k) / total
            result += joint * math.log(joint / (p_t * p_k)) if joint else 0.0
    return result


def events(documents, labels, word, model, weights=None):
    """List what a word is compared with the class in: positions, or documents."""
    weights = [1.0] * len(labels) if weights is None else weights
    rows = list(zip(documents, labels, weights, strict=True))
    if model == "bernoulli":
        return [(word in tokens(d), k, w) for d, k, w in rows]
    return [(token == word, k, w) for d, k, w in rows for token in tokens(d)]
