"""What logistic regression tells beside its coefficients: standard errors, separation, a path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, final

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import ndtr, ndtri

from credo._checks import frozen, listing
from credo._results import html_table, table_text
from credo._types import F64, Bool, Int, Label, Labels
from credo.classifiers.logistic_rows import Coding, Scaling
from credo.classifiers.logistic_solver import Design, Solution
from credo.classifiers.separation import Direction, Kind
from credo.exceptions import InputError, NumericalError

_HEADS = ("class", "feature", "estimate", "std error", "z", "p value", "lower", "upper")
#: Lines of a table shown by ``repr``.
_MOST_LINES = 40


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
        """Return one mapping per coefficient, as for a data frame.

        Yields
        ------
        dict
            Keys ``class``, ``feature``, ``estimate``, ``std error``, ``z``, ``p value``,
            ``lower`` and ``upper``.
        """
        columns = self.estimate, self.standard_error, self.z, self.p_value, self.lower, self.upper
        for k, label in enumerate(self.classes):
            for j, feature in enumerate(self.features):
                numbers = (float(column[k, j]) for column in columns)
                yield dict(zip(_HEADS, (label, feature, *numbers), strict=True))

    def __repr__(self) -> str:
        mean = "the mean of the classes" if self.reference is None else repr(self.reference)
        title = f"Coefficients of log odds against {mean}, {self.confidence:.6g} confidence"
        rows = (map(_cell, row.values()) for row in islice(self.rows(), _MOST_LINES))
        return f"{title}\n{table_text('<<>>>>>>', _HEADS, rows, self.estimate.size)}"

    def _repr_html_(self) -> str:
        rows = (tuple(row.values()) for row in islice(self.rows(), _MOST_LINES))
        return html_table(repr(self).split("\n", 1)[0], _HEADS, rows, self.estimate.size)


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
        """Refuse a Hessian of other coefficients, or of no likelihood; and scales of zero."""
        hessian, size = self.hessian, max(1, self.n_classes - 1) * self.scaling.n_columns
        if (
            len(hessian) != size
            or not (np.diagonal(hessian) >= 0).all()
            or np.abs(hessian - hessian.T).max() > 1e-6 * np.abs(hessian).max()
            or not self.scaling.scale.all()
        ):
            raise InputError("The Hessian does not fit the coefficients.")

    def variances(self, contrasts: F64) -> F64:
        """Return the variance of each combination (R, M) of logits, per column of the user's."""
        scale, size = np.sqrt(np.diagonal(self.hessian)), self.scaling.n_columns
        try:
            factor = cho_factor(self.hessian / scale / scale[:, None], check_finite=False)
        except (LinAlgError, ValueError) as error:
            raise NumericalError(
                "The Hessian of the log-likelihood is singular to rounding, so that there are no "
                "standard errors. Drop features that others nearly determine."
            ) from error
        inverse = cho_solve(factor, np.eye(len(scale)), check_finite=False) / scale / scale[:, None]
        blocks = inverse.reshape(len(scale) // size, size, -1, size)
        mixed = np.einsum("rm,mpnq,rn->rpq", contrasts, blocks, contrasts, optimize=True)
        coefficients, offsets = self.scaling.coefficients(np.eye(size))
        back = np.column_stack([coefficients, offsets]) if self.scaling.intercept else coefficients
        return np.einsum("pj,rpq,qj->rj", back, mixed, back, optimize=True)

    def table(
        self, coef: F64, classes: Labels, features: Labels, reference: int | None, confidence: float
    ) -> CoefficientTable:
        """Compare coefficients (n_logits, P), the intercept last, with a class or their mean."""
        n_classes = len(classes)
        base = 0 if n_classes == 2 and reference is None else reference
        if n_classes == 2:
            estimate, contrasts = coef if base == 0 else -coef, np.ones((1, 1))
        else:
            full = np.eye(n_classes)[:, :-1]
            if base is None:
                estimate, contrasts = coef, full - 1.0 / n_classes
            else:
                estimate = np.delete(coef - coef[base], base, axis=0)
                contrasts = np.delete(full - full[base], base, axis=0)
        error = np.sqrt(self.variances(contrasts))
        z = estimate / error
        reach = float(ndtri(0.5 + 0.5 * confidence)) * error
        return CoefficientTable(
            classes=tuple(label for k, label in enumerate(classes) if k != base),
            reference=None if base is None else classes[base],
            features=features,
            estimate=frozen(estimate.copy()),
            standard_error=frozen(error),
            z=frozen(z),
            p_value=frozen(2 * ndtr(-np.abs(z))),
            lower=frozen(estimate - reach),
            upper=frozen(estimate + reach),
            confidence=confidence,
        )


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit:
    """What a fit learned: all that predictions, tables and files need beside the classes."""

    coef: Annotated[F64, "L M"]
    intercept: Annotated[F64, "L"]
    codings: tuple[Coding, ...]
    n_iter: int
    converged: bool
    gradient_norm: float
    log_likelihood: float
    null_log_likelihood: float
    n_parameters: int
    separation: Separation | None
    information: Information | None
    penalised: bool
    #: Why there are no standard errors, if so.
    doubt: str | None
    #: Columns with an indicator of missing cells, None if these are refused; and the means of the
    #: columns of numbers, which stand for what fit has not seen.
    flagged: Annotated[tuple[int, ...], "F"] | None = None
    means: Annotated[F64, "M"] | None = None


#: Features named in a message, and the least share that is, relative to the largest.
_SHOWN, _WORTH_NAMING = 3, 0.01
#: A share below this takes no part in the direction.
_NO_PART = 1e-9


@final
@dataclass(frozen=True, slots=True, eq=False)
class Separation:
    r"""Tell that the likelihood has no maximum, and along which direction it keeps rising.

    With scores :math:`s_k(x) = d_k^T x + c_k` of the direction, every row's own class scores at
    least as high as every other: strictly higher if ``kind`` is ``"complete"``, else with ties.
    Adding any multiple of the direction to the coefficients raises the likelihood.

    Attributes
    ----------
    kind : {"complete", "quasi-complete"}
        Whether all rows are strictly on their own side, or some on the boundary.
    pairs : tuple of (label, label)
        Pairs of classes that the direction parts.
    features : tuple of label
        Features that take part, the largest share first.
    shares : ndarray
        Share of each of them in the absolute direction, columns at one scale; they sum to one.
    coef : ndarray of shape (1, D) or (K, D)
        The direction d, as ``coef_`` is.
    intercept : ndarray of shape (1,) or (K,)
        Its offset c.

    Notes
    -----
    Proven on all rows, up to rounding: the direction is checked row by row.

    References
    ----------
    .. [1] A. Albert and J. A. Anderson, "On the existence of maximum likelihood estimates in
       logistic regression models", Biometrika 71, 1984, section 2.
    """

    kind: Kind
    pairs: Annotated[tuple[tuple[Label, Label], ...], "P"]
    features: Annotated[Labels, "S"]
    shares: Annotated[F64, "S"]
    coef: Annotated[F64, "L M"]
    intercept: Annotated[F64, "L"]

    def _check(self) -> None:
        """Refuse what is no pair."""
        if any(not isinstance(pair, tuple) or len(pair) != 2 for pair in self.pairs):
            raise InputError("The separation parts something else than pairs of classes.")

    @classmethod
    def of(cls, found: Direction, design: Design) -> Separation:
        """Put a direction of scaled columns into the user's words and units."""
        classes, features = design.reader.class_names, design.reader.coefficient_names
        sizes = np.abs(found.theta[:, : len(features)]).sum(axis=0)
        sizes /= sizes.sum()
        order = [int(j) for j in np.argsort(-sizes, kind="stable") if sizes[j] > _NO_PART]
        coef, intercept = design.scaling.coefficients(found.theta)
        return cls(
            found.kind,
            tuple((classes[a], classes[b]) for a, b in found.pairs),
            tuple(features[j] for j in order),
            frozen(sizes[order]),
            frozen(coef),
            frozen(intercept),
        )

    @property
    def classes(self) -> Labels:
        """Labels of the classes that the direction parts."""
        return tuple(dict.fromkeys(label for pair in self.pairs for label in pair))

    def __str__(self) -> str:
        return (
            f"{self.kind} separation: {self._whom()} by {self._what()}. The likelihood keeps "
            "rising along this direction and has no maximum"
        )

    def __repr__(self) -> str:
        return f"Separation({self.kind}, {self._whom()} by {self._what()})"

    def _whom(self) -> str:
        """Name the classes that are parted from each other."""
        for label in self.classes:
            if all(label in pair for pair in self.pairs):
                rest = [other for other in self.classes if other != label]
                return f"{label!r} from {listing(rest)}"
        return f"{listing(self.classes)} from each other"

    def _what(self) -> str:
        """Name the features with the largest shares."""
        shown: list[Any] = [
            f"{name!r} ({100 * share:.3g}%)"
            for name, share in zip(self.features[:_SHOWN], self.shares, strict=False)
            if share >= _WORTH_NAMING * self.shares[0]
        ]
        more = len(self.features) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more else "")


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StrengthPath:
    """Hold the fits along a path of penalty strengths, from the strongest on.

    Made by ``LogisticClassifier.path``.

    Attributes
    ----------
    penalty : {"l1", "l2", "elasticnet"}
        Of which kind.
    strengths : ndarray of shape (S,)
        Strengths, falling.
    coefs : ndarray of shape (S, 1, D) or (S, K, D)
        ``coef_`` at each strength.
    intercepts : ndarray of shape (S, 1) or (S, K)
        ``intercept_`` at each strength.
    log_likelihoods : ndarray of shape (S,)
        Of the rows, without the penalty.
    n_nonzero : ndarray of shape (S,)
        How many features have a coefficient that is not zero.
    converged : ndarray of shape (S,)
        Whether the gradient met the tolerance.
    classes, features : tuple of label
        What rows and columns of ``coefs`` are about.
    """

    penalty: str
    strengths: F64
    coefs: F64
    intercepts: F64
    log_likelihoods: F64
    n_nonzero: Int
    converged: Bool
    classes: Labels
    features: Labels

    @classmethod
    def of(
        cls, penalty: str, strengths: F64, found: list[Solution], design: Design
    ) -> StrengthPath:
        """Put the fits into the user's units."""
        both = [design.scaling.coefficients(each.place.theta) for each in found]
        coefs = np.stack([coef for coef, _ in both])
        return cls(
            penalty,
            frozen(strengths),
            frozen(coefs),
            frozen(np.stack([intercept for _, intercept in both])),
            frozen(np.array([-design.total * each.place.mean for each in found])),
            frozen((coefs != 0).any(axis=1).sum(axis=1)),
            frozen(np.array([each.converged for each in found])),
            design.reader.class_names,
            design.reader.coefficient_names,
        )

    def __len__(self) -> int:
        return len(self.strengths)

    def __repr__(self) -> str:
        return (
            f"StrengthPath({self.penalty}, {len(self)} strengths from {self.strengths[0]:.4g} to "
            f"{self.strengths[-1]:.4g}, {int(self.n_nonzero[0])} to {int(self.n_nonzero[-1])} of "
            f"{len(self.features)} features)"
        )
