"""Standard errors, tests and intervals of the coefficients, from the Hessian."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, final

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import ndtr, ndtri

from credo._types import F64, Label, Labels
from credo._validation.arrays import frozen
from credo.classifiers.softmax.scaling import Scaling
from credo.exceptions import InputError, NumericalError

_HEADS = ("class", "feature", "estimate", "std error", "z", "p value", "lower", "upper")
#: Lines shown by ``repr``.
_SHOWN = 40


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CoefficientTable:
    r"""Hold estimates with standard errors, z-tests and confidence intervals.

    .. math:: z = \hat\beta / \mathrm{se}, \qquad p = 2 \Phi(-|z|), \qquad
              \hat\beta \pm \Phi^{-1}\left(\tfrac{1 + c}{2}\right) \mathrm{se}

    Made by ``LogisticClassifier.coefficient_table``. Arrays have one row per logit and one
    column per feature, the intercept last.

    Attributes
    ----------
    classes : tuple of label
        What each row is about.
    reference : label or None
        Class that the log odds are against; None for the mean of all classes.
    features : tuple of label
        Names of the columns, with ``"intercept"`` last if there is one.
    estimate, standard_error, z, p_value, lower, upper : ndarray
        The table.
    confidence : float
        Probability that an interval covers the true value.

    Notes
    -----
    Asymptotic: the inverse of the Hessian of the log-likelihood is the covariance in the limit
    of many rows. Intervals are Wald's; weights count as repeated rows.

    References
    ----------
    .. [1] A. Agresti, *Categorical Data Analysis*, 3rd ed., 2013, section 5.5.
    """

    classes: Labels
    reference: Label | None
    features: Labels
    estimate: F64
    standard_error: F64
    z: F64
    p_value: F64
    lower: F64
    upper: F64
    confidence: float

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one mapping per coefficient, as for a data frame.

        Yields
        ------
        dict
            Keys ``class``, ``feature``, ``estimate``, ``std error``, ``z``, ``p value``,
            ``lower`` and ``upper``.
        """
        columns = (
            self.estimate,
            self.standard_error,
            self.z,
            self.p_value,
            self.lower,
            self.upper,
        )
        for k, label in enumerate(self.classes):
            for j, feature in enumerate(self.features):
                numbers = (float(column[k, j]) for column in columns)
                yield dict(zip(_HEADS, (label, feature, *numbers), strict=True))

    def __repr__(self) -> str:
        mean = "the mean of the classes" if self.reference is None else repr(self.reference)
        title = f"Coefficients of log odds against {mean}, {self.confidence:.6g} confidence"
        lines: list[tuple[str, ...]] = [_HEADS]
        for row in self.rows():
            if len(lines) > _SHOWN:
                break
            lines.append(tuple(_cell(value) for value in row.values()))
        widths = [max(len(line[i]) for line in lines) for i in range(len(_HEADS))]
        text = [
            "  ".join(
                cell.ljust(width) if i < 2 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        more = self.estimate.size - (len(lines) - 1)
        return "\n".join([title, *text, *([f"… and {more} more"] if more else [])])


def _cell(value: Any) -> str:
    """Write a cell: numbers to four significant digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True)
class Information:
    """The Hessian of the log-likelihood of scaled columns, last of several classes left out."""

    hessian: Annotated[F64, "H H"]
    scaling: Scaling
    n_classes: Annotated[int, "K"]

    def _check(self) -> None:
        """Refuse a Hessian of other coefficients."""
        if len(self.hessian) != max(1, self.n_classes - 1) * self.scaling.n_columns:
            raise InputError("The Hessian does not fit the coefficients.")

    def variances(self, contrasts: F64) -> F64:
        """Give the variance of each combination of logits, per column, in the user's units.

        ``contrasts`` is (R, M) over the logits of the Hessian; the answer is (R, P).
        """
        n_columns = self.scaling.n_columns
        covariance = _inverse(self.hessian)
        n_logits = len(self.hessian) // n_columns
        blocks = covariance.reshape(n_logits, n_columns, n_logits, n_columns)
        back = _to_user(self.scaling)
        mixed = np.einsum("rm,mpnq,rn->rpq", contrasts, blocks, contrasts, optimize=True)
        return np.einsum("jp,rpq,jq->rj", back, mixed, back, optimize=True)


def _inverse(hessian: F64) -> F64:
    """Invert a Hessian on the scale of its diagonal."""
    scale = np.sqrt(np.diagonal(hessian))
    try:
        factor = cho_factor(hessian / scale / scale[:, None], check_finite=False)
    except (LinAlgError, ValueError) as error:
        raise NumericalError(
            "The Hessian of the log-likelihood is singular to rounding, so that there are no "
            "standard errors. Drop features that others nearly determine."
        ) from error
    inverse: F64 = cho_solve(factor, np.eye(len(hessian)), check_finite=False)
    return inverse / scale / scale[:, None]


def _to_user(scaling: Scaling) -> F64:
    """Give the matrix from coefficients of scaled columns to those of the user's."""
    coefficients, offsets = scaling.coefficients(np.eye(scaling.n_columns))
    both = np.column_stack([coefficients, offsets]) if scaling.intercept else coefficients
    return both.T


@dataclass(frozen=True, slots=True)
class Comparison:
    """Which classes are compared with what: a reference, or the mean of several classes."""

    classes: Labels
    reference: int | None

    @classmethod
    def of(cls, classes: Labels, reference: int | None) -> Comparison:
        """Compare two classes with the first of them unless told otherwise."""
        return cls(classes, 0 if len(classes) == 2 and reference is None else reference)

    @property
    def shown(self) -> Labels:
        """Labels of the rows of a table."""
        return tuple(label for k, label in enumerate(self.classes) if k != self.reference)

    @property
    def label(self) -> Label | None:
        """Label of the reference."""
        return None if self.reference is None else self.classes[self.reference]

    def estimates(self, coefficients: F64) -> F64:
        """Compare symmetric coefficients, or turn the sign of a single logit."""
        if len(self.classes) == 2:
            return coefficients if self.reference == 0 else -coefficients
        if self.reference is None:
            return coefficients
        return np.delete(coefficients - coefficients[self.reference], self.reference, axis=0)

    def contrasts(self) -> F64:
        """Give the same over the logits of a reduced Hessian, which lacks the last class."""
        n_classes = len(self.classes)
        if n_classes == 2:
            return np.ones((1, 1))
        full = np.eye(n_classes)[:, :-1]
        if self.reference is None:
            return full - 1.0 / n_classes
        return np.delete(full - full[self.reference], self.reference, axis=0)


def table_of(
    comparison: Comparison,
    coefficients: F64,
    features: Labels,
    information: Information,
    confidence: float,
) -> CoefficientTable:
    """Make the table of coefficients (n_logits, P), the intercept last."""
    estimate = comparison.estimates(coefficients)
    error = np.sqrt(information.variances(comparison.contrasts()))
    z = estimate / error
    reach = float(ndtri(0.5 + 0.5 * confidence)) * error
    return CoefficientTable(
        comparison.shown,
        comparison.label,
        features,
        estimate=frozen(estimate.copy()),
        standard_error=frozen(error),
        z=frozen(z),
        p_value=frozen(2 * ndtr(-np.abs(z))),
        lower=frozen(estimate - reach),
        upper=frozen(estimate + reach),
        confidence=confidence,
    )
