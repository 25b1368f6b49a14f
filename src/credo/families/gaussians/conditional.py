"""Missing features given the observed ones: mean and covariance, under a class or all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from credo._types import F64, Int
from credo._validation.probabilities import BLOCK_BYTES, block_rows, blocks
from credo.exceptions import InputError
from credo.families.gaussians.class_gaussians import ClassGaussians
from credo.families.gaussians.missing import MissingScorer
from credo.families.gaussians.patterns import (
    MissingRows,
    gathered,
    refuse_infinite,
    rows_with_missing,
    sorted_by_pattern,
)
from credo.families.gaussians.scores import log_totals, refuse_far

#: Bytes of rows that are worked on at once, and of covariances that are given back.
_HELD_BYTES = 4 * BLOCK_BYTES
_MOST_BYTES = 2 * 2**30


@final
@dataclass(frozen=True, slots=True, eq=False)
class Conditional:
    r"""Hold mean and covariance of each row given its observed entries.

    .. math:: E[x_m \mid x_o] = \mu_m + \Sigma_{mo} \Sigma_{oo}^{-1} (x_o - \mu_o), \qquad
              \mathrm{Cov}[x_m \mid x_o] = \Sigma_{mm} - \Sigma_{mo} \Sigma_{oo}^{-1} \Sigma_{om}

    Over several classes these are mixed with the posterior of the row, and the covariance holds
    the spread between the classes too.

    Attributes
    ----------
    mean : ndarray of shape (n, D)
        Observed entries as they are, missing entries by their conditional mean.
    covariance : ndarray of shape (n, D, D)
        Zero in the rows and columns of observed entries.

    See Also
    --------
    credo.GaussianClassifier.conditional : Makes one.

    Notes
    -----
    Exact for the fitted Gaussians.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 2.3.1.

    Examples
    --------
    >>> import credo, numpy as np
    >>> X = [[0.0, 0.1], [1.0, 0.9], [2.0, 2.1], [3.0, 2.9]]
    >>> model = credo.GaussianClassifier().fit(X, ["a"] * 4)
    >>> model.conditional([[2.0, np.nan]]).mean.round(2)
    array([[2.  , 1.98]])
    """

    mean: F64
    covariance: F64


def impute_rows(model: ClassGaussians, log_priors: F64, X: Any, classes: Int) -> F64:
    """Replace missing entries by their conditional means, mixed over some classes."""
    result = np.array(X, dtype=np.float64)
    for rows, missing in _by_pattern(X, len(classes)):
        result[rows] = _mixed(model, log_priors, missing, classes, rows)[0]
    return result


def condition_rows(model: ClassGaussians, log_priors: F64, X: Any, classes: Int) -> Conditional:
    """Give conditional means and covariances, mixed over some classes."""
    n_bytes = 8 * len(X) * X.shape[1] ** 2
    if n_bytes > _MOST_BYTES:
        raise InputError(
            f"GaussianClassifier.conditional: the covariances of {len(X)} rows need "
            f"{n_bytes / 2**30:.1f} GiB. Ask for fewer rows, or use impute for the means alone."
        )
    mean = np.array(X, dtype=np.float64)
    covariance = np.zeros((len(X), X.shape[1], X.shape[1]))
    for rows, missing in _by_pattern(X, len(classes)):
        mean[rows], fillings, shares = _mixed(model, log_priors, missing, classes, rows)
        for k, filled, share in zip(classes, fillings, shares, strict=True):
            gap = filled - mean[rows]
            covariance[rows] += share[:, None, None] * (gap[:, :, None] * gap[:, None, :])
            for p, pattern in enumerate(missing.missing):
                part = slice(missing.starts[p], missing.starts[p + 1])
                left = _left_over(model.covariance_of(int(k)), pattern, model.active)
                covariance[rows[part]] += share[part, None, None] * left
    return Conditional(mean, covariance)


def _by_pattern(X: Any, n_classes: int) -> Any:
    """Give the rows with missing entries in blocks, sorted by pattern, with their numbers.

    Blocks are small enough to be filled for each class at once.
    """
    for block in blocks(len(X), block_rows(X.shape[1])):
        refuse_infinite(X[block], np.arange(block.start, block.stop))
    most = max(1, _HELD_BYTES // (8 * X.shape[1] * n_classes))
    rows, keys = sorted_by_pattern(X, rows_with_missing(X), most)
    for block, missing in gathered(X, rows, keys, most):
        yield rows[block], missing


def _mixed(
    model: ClassGaussians, log_priors: F64, rows: MissingRows, classes: Int, numbers: Int
) -> tuple[F64, list[F64], F64]:
    """Give the mixed means, those of each class, and the posteriors of the classes, (C, n)."""
    scorer = MissingScorer(model)
    shares = np.ones((1, len(rows.x)))
    if len(classes) > 1:
        with np.errstate(over="ignore", invalid="ignore"):
            scores = scorer.discriminants(rows)[classes]
        refuse_far(scores, numbers)
        scores += log_priors[classes, None]
        shares = np.exp(scores - log_totals(scores))
    weights = np.zeros(len(rows.x))
    fillings = [scorer.filled(rows, int(k), weights).values for k in classes]
    mean = np.zeros_like(rows.x)
    for share, filled in zip(shares, fillings, strict=True):
        mean += share[:, None] * filled
    return np.where(rows.mask, mean, rows.x), fillings, shares


def _left_over(covariance: F64, missing: Any, active: Any) -> F64:
    """Give the conditional covariance of a pattern, (D, D), zero where observed."""
    gone, seen = missing & active, ~missing & active
    result = np.zeros_like(covariance)
    cross = covariance[np.ix_(seen, gone)]
    inner = covariance[np.ix_(gone, gone)]
    if seen.any() and gone.any():
        inner = inner - cross.T @ np.linalg.solve(covariance[np.ix_(seen, seen)], cross)
    result[np.ix_(gone, gone)] = 0.5 * (inner + inner.T)
    return result
