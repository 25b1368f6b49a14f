r"""From scores to cross-entropy, residuals and probabilities, for a block of rows.

One logit s for two classes, :math:`-\log \sigma(\pm s)`; else one score per class,
:math:`\log \sum_k e^{s_k} - s_y`. Scores are (n_logits, B); everything else follows them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo._types import F64, Int


@dataclass(frozen=True, slots=True)
class Linked:
    """Cross-entropy of each row, p - y, and p: of the second class if there is one logit."""

    losses: F64
    residuals: F64
    probabilities: F64


def link(scores: F64, codes: Int) -> Linked:
    """Give losses, residuals and probabilities; the scores are overwritten."""
    return _one_logit(scores, codes) if len(scores) == 1 else _many(scores, codes)


def _one_logit(scores: F64, codes: Int) -> Linked:
    """Do so for two classes, without cancellation on either side."""
    score = scores[0]
    sign = 2.0 * codes - 1.0
    margin = score * sign
    small = np.exp(-np.abs(margin))
    losses = np.log1p(small)
    losses -= np.minimum(margin, 0.0)
    wrong = np.where(margin >= 0, small, 1.0) / (1.0 + small)
    residuals = -sign * wrong
    return Linked(losses, residuals[None], (residuals + codes)[None])


def _many(scores: F64, codes: Int) -> Linked:
    """Do so for more classes; the largest score of a row is taken out first.

    The other classes are summed apart from the own one, so that nothing cancels.
    """
    columns = np.arange(scores.shape[1])
    scores -= scores.max(axis=0)
    score = scores[codes, columns]
    probabilities = np.exp(scores, out=scores)
    own = probabilities[codes, columns]
    probabilities[codes, columns] = 0.0
    others = probabilities.sum(axis=0)
    totals = others + own
    losses = np.where(score == 0, np.log1p(others), np.log(totals) - score)
    residuals = probabilities / totals
    residuals[codes, columns] = -others / totals
    probabilities[codes, columns] = own
    probabilities /= totals
    return Linked(losses, residuals, probabilities)


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """List the pairs of classes; a Hessian has one block for each."""
    return [(k, j) for k in range(n_classes) for j in range(k)]


def pair_weights(probabilities: F64) -> F64:
    r"""Give :math:`\sqrt{p_k p_j}` for each pair of classes, shape (n_pairs, B)."""
    if len(probabilities) == 1:
        p = probabilities[0]
        root: F64 = np.sqrt(np.maximum(p * (1.0 - p), 0.0))
        return root[None]
    roots = np.sqrt(probabilities)
    return np.stack([roots[k] * roots[j] for k, j in pairs_of(len(roots))])
