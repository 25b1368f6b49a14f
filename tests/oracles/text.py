"""A slow twin of ``TextClassifier``: one document, one class and one word at a time."""

import math
import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax


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


def complement_scores(rows, classes, document, smoothing, target="uniform"):
    """Give the score of each class for a document, learned from rows of (tokens, label, weight).

    Minus the sum of weighted logarithms of how frequent its words are in all other classes.
    """
    words = sorted({word for found, _, _ in rows for word in found})
    sums = {(k, word): 0.0 for k in classes for word in words}
    for found, label, weight in rows:
        for word, value in unit_vector(found, words).items():
            sums[label, word] += weight * value
    n = sum(weight for _, _, weight in rows)
    rarity = {}
    for word in words:
        have = sum(weight for found, _, weight in rows if word in found)
        rarity[word] = 1 + math.log((1 + n) / (1 + have))
    every = {word: sum(sums[k, word] for k in classes) for word in words}
    total = sum(every.values())
    mean = sum(every[word] * rarity[word] for word in words) / total if words else 1.0
    extra = smoothing * len(words)
    scores = []
    for k in classes:
        outside = {w: (every[w] - sums[k, w]) * rarity[w] / mean for w in words}
        score = 0.0
        for word, value in unit_vector(document, words).items():
            share = 1 / len(words)
            if target == "marginal":
                share = (every[word] * rarity[word] / mean + smoothing) / (total + extra)
            theta = (outside[word] + extra * share) / (sum(outside.values()) + extra)
            score -= value * rarity[word] / mean * math.log(theta)
        scores.append(score)
    return scores


def unit_vector(found, words):
    """Give log(1 + count) of the known words of a document, at length one."""
    logs = {word: math.log(1 + n) for word, n in Counter(found).items() if word in words}
    length = math.sqrt(sum(value**2 for value in logs.values()))
    return {word: value / length for word, value in logs.items()}


@dataclass
class ComplementTwin:
    """The complement model, calibrated by fitting it again without each document and its copies."""

    smoothing: float | None = None
    smoothing_target: str = "uniform"

    def fit(self, documents, labels, weights=None):
        weights = [1.0] * len(labels) if weights is None else weights
        copies = {}
        for text, label, weight in zip(documents, labels, weights, strict=True):
            if weight > 0:
                copies[text, label] = copies.get((text, label), 0.0) + weight
        self.rows = [(tokens(text), label, weight) for (text, label), weight in copies.items()]
        self.classes = sorted({label for _, label, _ in self.rows})
        total = sum(weight for _, _, weight in self.rows)
        self.log_shares = [
            math.log(sum(w for _, label, w in self.rows if label == k) / total)
            for k in self.classes
        ]
        fits = [
            self._calibrate(a) for a in ([1.0, 0.1] if not self.smoothing else [self.smoothing])
        ]
        best = min(fits, key=lambda each: each[1].fun)
        self.alpha, self.sharpness = best[0], math.exp(best[1].x[0]) * max(1, len(self.classes) - 1)
        self.biases = best[1].x[1:]
        return self

    def left_out(self, alpha):
        """Give the scores of each document by a fit to all others."""
        return [
            complement_scores(
                self.rows[:i] + self.rows[i + 1 :],
                self.classes,
                self.rows[i][0],
                alpha,
                self.smoothing_target,
            )
            for i in range(len(self.rows))
        ]

    def _calibrate(self, alpha):
        scores = np.array(self.left_out(alpha)) * max(1, len(self.classes) - 1)
        scores = np.maximum(scores - scores.max(axis=1, keepdims=True), -30)

        def loss(x):
            result = 0.5 * np.sum(x**2)
            for row, (_, label, weight) in zip(scores, self.rows, strict=True):
                logits = np.exp(x[0]) * row + self.log_shares + x[1:]
                result -= weight * (logits[self.classes.index(label)] - logsumexp(logits))
            return result

        start = np.zeros(1 + len(self.classes))
        return alpha, minimize(loss, start, jac="3-point", method="BFGS", options={"gtol": 1e-7})

    def predict_proba(self, documents):
        scores = [
            complement_scores(self.rows, self.classes, tokens(d), self.alpha, self.smoothing_target)
            for d in documents
        ]
        return softmax(self.sharpness * np.array(scores) + self.log_shares + self.biases, axis=1)


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
