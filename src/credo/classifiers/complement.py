"""The complement model of documents: what it learns, and how it is calibrated on what it has seen.

A class is described by the words of all other classes. A few documents are kept in the summary;
each is scored as if it had been left out, and these scores tell temperature, biases and smoothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import Annotated, Any, Self, final

import numpy as np
import scipy
from scipy.sparse import csr_array, vstack

from credo import _checks as check
from credo._types import F64, Int
from credo.classifiers.naive_terms import SparseRows, SparseTerm
from credo.exceptions import InputError, NumericalError

#: Documents that are kept at most. Of twenty classes a hundred each; measured on newsgroups, R8 and
#: SMS, the log loss with all documents kept is the same to 0.005.
MOST_KEPT = 2000
#: Log odds beyond this are taken as this, so that no single document sets the temperature.
_MOST_ODDS = 30.0
#: Newton's method stops when the loss would fall by less than this share, after six to nine steps
#: as measured. A loss may rise by rounding.
_GAIN, _SLACK, _MOST_STEPS = 1e-20, 1e-12, 100
#: Total weight above which what is expected of temperature and biases has no say left.
_MOST_WEIGHT = 1e9
#: What is left of a word's weight after subtracting all of it, relative to it, is rounding.
_ROUNDING = 1e-9
#: Cells, of words and classes, that are worked on at once: 8 MiB.
_CELLS = 2**20


@final
@dataclass(frozen=True, slots=True, eq=False)
class DocumentSketch:
    """The documents with the least hashes of their text; immutable, and a monoid.

    Copies of a document are one, with their weight. Which are kept depends on neither order nor
    batches, so that this merges exactly.
    """

    hashes: Annotated[Int, "N"]
    codes: Annotated[Int, "N", ">= 0"]
    weights: Annotated[F64, "N", ">= 0"]
    #: Where the words of each document begin, and where the last ones end.
    starts: Annotated[Int, "M", ">= 0"]
    #: Positions of words among those of the summary, and how often each occurs.
    words: Annotated[Int, "E", ">= 0"]
    counts: Annotated[F64, "E", ">= 0"]

    def __post_init__(self) -> None:
        for each in fields(self):
            check.frozen(getattr(self, each.name))

    @classmethod
    def of(cls, documents: Sequence[str], codes: Int, weights: F64 | None, counts: Any) -> Self:
        """Keep some of the documents, which have these words."""
        digests = [
            blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            for text in documents
        ]
        hashes = np.frombuffer(b"".join(digests), dtype="<i8").astype(np.int64)
        return cls._least(
            hashes, codes, np.ones(len(codes)) if weights is None else weights, counts
        )

    @classmethod
    def _least(cls, hashes: Int, codes: Int, weights: F64, counts: Any) -> Self:
        """Join copies, and keep the least."""
        order = np.lexsort((codes, hashes))
        ordered = np.stack([hashes[order], codes[order]])
        new = np.ones(len(order), dtype=bool)
        new[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
        totals = np.bincount(np.cumsum(new) - 1, weights[order]).astype(np.float64)
        kept = order[new][:MOST_KEPT]
        found = counts[kept]
        places = found.indptr.astype(np.intp), found.indices.astype(np.intp)
        return cls(hashes[kept], codes[kept], totals[: len(kept)], *places, found.data)

    def merge(self, other: Self, classes: Sequence[Int], words: Sequence[Int], size: int) -> Self:
        """Join two sketches, whose classes and words went to these places, of so many words."""
        hashes = np.concatenate([self.hashes, other.hashes])
        codes = np.concatenate([classes[0][self.codes], classes[1][other.codes]])
        weights = np.concatenate([self.weights, other.weights])
        rows = vstack([self.rows(words[0], size), other.rows(words[1], size)])
        return self._least(hashes, codes, weights, csr_array(rows))

    def rows(self, places: Int, size: int) -> csr_array:
        """Return the counts of so many words, if each went to its place."""
        entries = self.counts, places[self.words], self.starts
        found = csr_array(entries, shape=(len(self.codes), size), copy=True)
        found.sort_indices()
        return found

    def _check(self) -> None:
        """Refuse documents from a file that no sketch has."""
        n, size = len(self.codes), len(self.words)
        pairs = list(zip(self.hashes.tolist(), self.codes.tolist(), strict=True))
        fits = n <= MOST_KEPT and all(a < b for a, b in pairwise(pairs))
        fits = fits and self.starts.tolist() == sorted(self.starts.tolist())
        fits = fits and self.starts[[0, -1]].tolist() == [0, size] and len(self.starts) == n + 1
        if fits:  # words of a document differ, and are in order
            first = np.isin(np.arange(1, size), self.starts)
            fits = bool(((np.diff(self.words) > 0) | first).all())
        if not fits or not ((self.weights > 0).all() and (self.counts > 0).all()):
            raise InputError("The kept documents of the summary are not those of any documents.")


def unit_rows(counts: csr_array) -> csr_array:
    """Return log(1 + count) of words in order, at length one; rows without words are zero."""
    logs = csr_array((np.log1p(counts.data), counts.indices, counts.indptr), shape=counts.shape)
    lengths = np.sqrt(logs.power(2).sum(axis=1))
    logs.data /= np.repeat(lengths, np.diff(logs.indptr))
    return logs


@final
@dataclass(frozen=True, eq=False)
class ComplementWords:
    """What the complement model learned of V words in K classes."""

    #: Share of each word outside of each class.
    mean: F64
    #: Weight of each word, more for rare ones; one on average.
    rarity: F64
    smoothing: float
    temperature: float
    biases: F64

    @cached_property
    def natural_parameters(self) -> F64:
        """What a word adds to the score of each class, (K, V)."""
        return np.log(self.mean) * (-self.rarity / self.temperature)

    @property
    def log_partition(self) -> F64:
        """Nothing: only words add to a score."""
        return np.zeros(len(self.mean))

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: of words, and temperature and biases, whose sum is zero."""
        n_classes, n_words = self.mean.shape
        return n_classes * (n_words - 1) + n_words + n_classes


@final
@dataclass(frozen=True, eq=False)
class ComplementTerm(SparseTerm):
    """Words of the complement model; linear in log counts at length one."""

    def ready(self, rows: SparseRows) -> SparseRows:
        """Bring the documents to length one."""
        return SparseRows(rows.owner, unit_rows(rows.X))

    def score(self, ready: SparseRows, block: slice, *, whole: bool) -> F64:
        """Score documents; see ``Term.score``."""
        if whole:
            raise InputError(
                f"{self.names.owner}: the complement model describes a class by the words of all "
                "others, and has no density of documents. Use model='multinomial' for densities; "
                "posterior and decision_function work with any model."
            )
        return super().score(ready, block, whole=False)

    def contributions(self, rows: SparseRows, row: int) -> F64:
        """Return what each word adds; see ``Term.contributions``."""
        return super().contributions(self.ready(rows), row)

    def statistic_names(self) -> list[str]:
        """Name what the weights of words multiply."""
        return [f"log(1 + {word}) / length" for word in self.names.names]


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def learn_complement(
    summary: Any, chosen: Int, smoothings: Sequence[float], target: str
) -> ComplementWords:
    """Learn from a summary and the words chosen; the first smoothing of equally good ones."""
    n, k = summary.documents.sum(), len(summary.documents)
    sums = summary.counts[:, chosen]
    everyone = sums.sum(axis=0)
    rarity = _rarity(n, summary.frequencies[chosen])
    rarity = rarity * (everyone.sum() / (everyone @ rarity))
    shares = np.log(summary.documents / n)
    # To first order a class stands out from the words of all others 1/(K - 1) times as much as
    # from its own: the scores are larger by that much at the temperature expected.
    expected = float(max(1, k - 1))
    codes, weights, held_out = np.zeros(0, np.intp), np.zeros(0), np.zeros((len(smoothings), 0, k))
    if summary.sketch is not None:
        codes, weights = summary.sketch.codes, summary.sketch.weights
        held_out = _HeldOut(summary, chosen).scores(smoothings, target)
    if not (np.isfinite(held_out).all() and np.isfinite(everyone @ rarity)):
        raise NumericalError(
            "TextClassifier: the sums of words are beyond what numbers hold. Rescale the sample "
            "weights, so that they are near one."
        )
    found = [_calibrate(expected * scores, codes, weights, shares) for scores in held_out]
    best = min(range(len(found)), key=lambda i: found[i][0])
    _, log_sharpness, biases = found[best]
    amount, size = smoothings[best], len(chosen)
    inside = np.maximum(everyone - sums, 0.0) * rarity
    extra = _extra(amount, size, everyone * rarity, everyone.sum(), target)
    mean = (inside + extra) / (inside.sum(axis=1, keepdims=True) + amount * size)
    temperature = float(np.exp(-log_sharpness)) / expected
    return ComplementWords(mean, rarity, amount, temperature, biases)


def _rarity(n: Any, frequencies: F64) -> F64:
    """Return the weights of words that so many of n documents have, more for rare ones."""
    return np.log((1.0 + n) / (1.0 + frequencies)) + 1.0


def _extra(amount: float, size: Any, words: F64, total: Any, target: str) -> Any:
    """Return the artificial observations of words: equally many, or as in all documents."""
    if target == "uniform":
        return amount
    own = amount if target == "marginal" else 0.0
    return amount * size * (words + own) / (total + own * size)


class _HeldOut:
    """Scores kept documents as if each, with its copies, had never been seen; in closed form."""

    def __init__(self, summary: Any, chosen: Int) -> None:
        sketch, size = summary.sketch, len(summary.words)
        rows = sketch.rows(np.arange(size), size)
        self.codes, self.weights = sketch.codes, sketch.weights
        self.shares = csr_array(unit_rows(rows)[:, chosen])
        self.logs = np.log1p(csr_array(rows[:, chosen]).data)
        self.n, self.frequencies = summary.documents.sum(), summary.frequencies[chosen]
        self.rarity = _rarity(self.n, self.frequencies)
        sums = summary.counts[:, chosen]
        everyone = sums.sum(axis=0)
        #: Sums of the documents of all other classes; the last column is of all documents.
        self.sums = np.column_stack([(everyone - sums).T, everyone])

    def scores(self, smoothings: Sequence[float], target: str) -> F64:
        """Return the scores under each smoothing, (A, N, K)."""
        n, k = len(self.codes), self.sums.shape[1] - 1
        result = np.zeros((len(smoothings), n, k))
        for block in check.blocks(n, max(1, n * _CELLS // max(1, self.shares.nnz * k))):
            result[:, block] = self._block(block, smoothings, target)
        return result

    def _block(self, block: slice, smoothings: Sequence[float], target: str) -> list[F64]:
        """Score some documents: what each brought is taken from all sums before."""
        starts = self.shares.indptr[block.start : block.stop + 1]
        entries, lengths = slice(starts[0], starts[-1]), np.diff(starts)
        words, rows = self.shares.indices[entries], np.repeat(np.arange(len(lengths)), lengths)
        ones, numbers = np.ones(len(words)), np.arange(len(words))
        add = csr_array((ones, numbers, starts - starts[0]), shape=(len(lengths), len(words)))
        weights, before = self.weights[block], self.sums[words]
        n_left = np.maximum(self.n - weights, 0.0)
        left = np.maximum(self.frequencies[words] - weights[rows], 0.0)
        known = left > _ROUNDING * self.frequencies[words]
        brought = self.shares.data[entries] * weights[rows]
        now = before - brought[:, None]
        # The sums outside of its own class never had it.
        now[numbers, self.codes[block][rows]] += brought
        now = np.maximum(now, 0.0) * known[:, None]
        # With n, the rarities of all words shift alike; those of the document's words change.
        rarity, shift = _rarity(n_left[rows], left), np.log((1.0 + n_left) / (1.0 + self.n))
        weighted = self.rarity @ self.sums + shift[:, None] * self.sums.sum(axis=0)
        shifted = self.rarity[words] + shift[rows]
        weighted += add @ (now * rarity[:, None] - before * shifted[:, None])
        total = np.maximum(self.sums[:, -1].sum() - add @ brought, np.finfo(np.float64).tiny)
        mean = np.maximum(weighted[:, -1:] / total[:, None], 1.0)  # no rarity is below one
        rarity, outside = rarity / mean[rows, 0], np.maximum(weighted[:, :-1] / mean, 0.0)
        n_words = np.maximum(len(self.sums) - add @ (1.0 - known), 1.0)
        x = self.logs[entries] * known
        x = np.divide(x * rarity, np.sqrt(add @ x**2)[rows], out=x, where=known)
        result = []
        for amount in smoothings:
            spread = n_words[rows], now[:, -1] * rarity, total[rows]
            extra = np.reshape(_extra(amount, *spread, target), (-1, 1))
            inside = now[:, :-1] * rarity[:, None] + extra
            theta = inside / (outside + amount * n_words[:, None])[rows]
            result.append(add @ (np.log(theta) * -x[:, None]))
        return result


def _calibrate(scores: F64, codes: Int, weights: F64, shares: F64) -> tuple[float, float, F64]:
    r"""Fit sharpness and biases to scores; return the loss, the log of the sharpness, and biases.

    .. math:: -\sum_i w_i \log \operatorname{softmax}_{y_i}(e^u s_i + \log \pi + b)
              + \tfrac12 u^2 + \tfrac12 \sum_k b_k^2

    Newton's method, halving steps that go too far. The last two terms hold what few documents do
    not tell: sharpness one, no biases.
    """
    scores = np.maximum(scores - scores.max(axis=1, keepdims=True), -_MOST_ODDS)
    weights = weights * min(1.0, _MOST_WEIGHT / max(1.0, weights.sum()))
    rows, at = np.arange(len(codes)), np.zeros(1 + len(shares))

    def posterior(at: F64) -> tuple[float, F64]:
        logits = np.exp(at[0]) * scores + shares + at[1:]
        logits -= scipy.special.logsumexp(logits, axis=1, keepdims=True)
        loss = -float(weights @ logits[rows, codes]) + 0.5 * float(at @ at)
        return loss, np.exp(logits)

    loss, p = posterior(at)
    for _ in range(_MOST_STEPS):
        sharp = np.exp(at[0]) * scores
        weighted = p * weights[:, None]
        errors = weighted.copy()
        errors[rows, codes] -= weights
        slope = float((errors * sharp).sum())
        gradient = at + np.concatenate([[slope], errors.sum(axis=0)])
        inner = np.einsum("nk,nk->n", p, sharp)
        cross = np.einsum("nk,nk->k", weighted, sharp - inner[:, None])
        curvature = np.diag(1.0 + np.concatenate([[max(slope, 0.0)], weighted.sum(axis=0)]))
        curvature[1:, 1:] -= weighted.T @ p
        curvature[0, 1:] = curvature[1:, 0] = cross
        curvature[0, 0] += float((weighted * (sharp - inner[:, None]) ** 2).sum())
        step = -scipy.linalg.solve(curvature, gradient, assume_a="pos")
        decrease = -float(gradient @ step)
        after, p_after = posterior(at + step)
        while after > loss * (1.0 + _SLACK):
            step *= 0.5
            after, p_after = posterior(at + step)
        at, loss, p = at + step, after, p_after
        if not decrease > _GAIN * loss:
            break
    return loss, float(at[0]), at[1:]
