"""Positive definite or not: decided on the correlation scale, with the guilty columns named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpocon, dpotrf, dpstrf, dtrtri

from credo._types import F64, Bool, Int, Labels
from credo._validation.labels import listing
from credo.exceptions import NumericalError

#: A correlation matrix of D features whose reciprocal condition number is below D times this
#: is singular: its inverse would keep no trustworthy digit.
_SINGULAR = 64 * float(np.finfo(np.float64).eps)
#: A weight below this, of standardised columns, takes no part in a combination.
_NO_PART = 1e-6


class SingularCovarianceError(NumericalError):
    """A covariance that is not positive definite: what is wrong, and what to do."""

    def __init__(self, fault: str, remedy: str) -> None:
        super().__init__(f"{fault} {remedy}")
        self.fault, self.remedy = fault, remedy

    def __reduce__(self) -> tuple[type[SingularCovarianceError], tuple[str, str]]:
        """Survive the way back from another process."""
        return SingularCovarianceError, (self.fault, self.remedy)


@dataclass(frozen=True, slots=True)
class Names:
    """What the classes and the columns are called in messages, and who speaks."""

    owner: str
    classes: Labels
    features: Labels

    def class_of(self, k: int | None) -> str:
        """Name a class, or all of them."""
        return "the shared covariance" if k is None else f"the covariance of {self.classes[k]!r}"

    def columns(self, which: Int) -> str:
        """List columns."""
        return listing([self.features[j] for j in which])


@dataclass(frozen=True, slots=True)
class Where:
    """Which covariance is meant, for messages: of a class, or shared if k is None."""

    names: Names
    k: int | None
    n_rows: int


def whiten(covariance: F64, out: F64, active: Bool, where: Where) -> float:
    r"""Write W with :math:`W \Sigma W^T = I`, lower triangular; give :math:`\log |\Sigma|`.

    Features that are not active have zero rows and columns and no part in the determinant; the
    others have positive variances. Quickest if ``out`` is in Fortran order.
    """
    every = bool(active.all())
    sub = covariance if every else covariance[np.ix_(active, active)]
    scale = np.sqrt(np.diagonal(sub))
    correlation = sub / scale
    correlation /= scale[:, None]
    norm = np.abs(correlation).sum(axis=0).max()
    factor, failed = dpotrf(correlation.T, lower=1, clean=1)
    if failed or dpocon(factor, norm, uplo="L")[0] <= len(scale) * _SINGULAR:
        raise _refusal(correlation, np.flatnonzero(active), where)
    log_determinant = 2 * float(np.log(np.diagonal(factor)).sum() + np.log(scale).sum())
    inverse = dtrtri(factor, lower=1, overwrite_c=1)[0]
    if every:
        np.divide(inverse, scale, out=out)
    else:
        out[...] = 0.0
        out[np.ix_(active, active)] = inverse / scale
    return log_determinant


def _refusal(correlation: F64, columns: Int, where: Where) -> SingularCovarianceError:
    """Say which columns are combinations of which, or that the rows are too few."""
    size = len(correlation)
    names, k, n_rows = where.names, where.k, where.n_rows
    classes = 1 if k is not None else len(names.classes)
    remedy = "pass shrinkage='oas' or singular='repair'" + (
        "." if k is None else ", or covariance='tied'."
    )
    who = f"{names.owner}: {names.class_of(k)} is singular"
    if n_rows - classes < size:
        return SingularCovarianceError(
            f"{who}: {n_rows} rows are too few for {size} features; at least {size + classes} are "
            "needed.",
            f"Drop columns, {remedy}",
        )
    order, rank = dpstrf(correlation, lower=1, tol=size * _SINGULAR)[1:3]
    order = order - 1
    rank = min(int(rank), size - 1)
    kept, dropped = order[:rank], order[rank]
    weights: Any = np.linalg.lstsq(
        correlation[np.ix_(kept, kept)], correlation[kept, dropped], rcond=None
    )[0]
    partners = np.sort(kept[np.abs(weights) > _NO_PART])
    if not partners.size:
        partners = np.sort(kept[[np.abs(weights).argmax()]])
    return SingularCovarianceError(
        f"{who}: column {names.columns(columns[[dropped]])} is, to rounding, a combination of "
        f"{names.columns(columns[partners])}; {size - rank} of {size} columns are redundant.",
        f"Drop it, {remedy}",
    )
