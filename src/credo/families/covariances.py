"""From moments to fitted covariances: seven shapes, shrinkage, and a repair or a reasoned refusal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpocon, dpotrf, dpstrf, dtrtri

from credo._types import F64, Bool, Int, Labels
from credo._validation.labels import listing, one_of
from credo._validation.probabilities import block_rows, blocks
from credo.exceptions import InputError, NumericalError
from credo.families.class_gaussians import LINEAR, WITH_CORRELATIONS, ClassGaussians, Shape
from credo.families.moments import ClassMoments, Detail, Rows, rounding_variance

#: Every shape, from the richest to the poorest.
SHAPES: tuple[Shape, ...] = (
    "full",
    "proportional",
    "tied",
    "diagonal",
    "tied_diagonal",
    "spherical",
    "tied_spherical",
)
_SPHERICAL = ("spherical", "tied_spherical")
#: One amount, one for each covariance, how to find them, or None for maximum likelihood.
Shrinkage = float | F64 | Literal["auto", "oas"] | None
#: Fourth moments by class from means and inverse deviations (K, D): a second pass over the rows.
SecondPass = Callable[[F64, F64], F64]

#: A correlation matrix of D features whose reciprocal condition number is below D times this
#: is singular: its inverse would keep no trustworthy digit.
_SINGULAR = 64 * float(np.finfo(np.float64).eps)
#: A weight below this, of standardised columns, takes no part in a combination.
_NO_PART = 1e-6
#: Proportional factors that differ by more are on their way to zero: half of the digits are gone.
_LEAST_RATIO = float(np.sqrt(np.finfo(np.float64).eps))
#: Changes of these factors below this that do not shrink for so many steps are rounding; and more
#: steps than the linear convergence of the alternation took on any data met so far.
_NEARLY, _IDLE_STEPS, _MOST_STEPS = 1e-8, 10, 10_000


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
    #: What a covariance of all rows is called.
    shared: str = "the shared covariance"

    def columns(self, which: Int) -> str:
        """List columns."""
        return listing([self.features[j] for j in which])


@dataclass(frozen=True, slots=True)
class Recipe:
    """How covariances are to be estimated."""

    shape: Shape
    #: Amount, or how to find it; None for maximum likelihood.
    shrinkage: Shrinkage = None
    #: Mend a singular covariance and tell, instead of refusing it.
    repair: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Fitted Gaussians, and what was done to their covariances."""

    model: ClassGaussians
    #: Shrinkage of each covariance, (K,), or of the shared one, ().
    amounts: Annotated[F64, ("", "K")]
    #: What was singular and how it was repaired; None if nothing was.
    repair: str | None = None


# --- shapes --------------------------------------------------------------------------------------


def checked_shape(name: Any, owner: str) -> Shape:
    """Check the name of a covariance shape."""
    one_of(name, SHAPES, owner, "covariance")
    shape: Shape = name
    return shape


def detail_for(shape: Shape) -> Detail:
    """Give the least detail of scatter that the shape is estimated from."""
    if shape not in WITH_CORRELATIONS:
        return "diagonal"
    return "tied" if shape == "tied" else "full"


def n_covariance_parameters(shape: Shape, n_classes: int, n_features: int) -> int:
    """Count the numbers that describe the covariances."""
    matrix = n_features * (n_features + 1) // 2
    if shape == "proportional":
        return matrix + n_classes - 1
    each = matrix if shape in WITH_CORRELATIONS else 1 if shape in _SPHERICAL else n_features
    return each if shape in LINEAR else n_classes * each


def maximum_likelihood(moments: ClassMoments, shape: Shape) -> F64:
    """Give the covariances of every shape but the proportional one, without any shrinkage."""
    weights = moments.feature_weights
    if shape == "full":
        return np.asarray(moments.scatter / moments.weights[:, None, None])
    if shape == "tied":
        return np.asarray(moments.pooled() / moments.weights.sum())
    axes = (0, 1) if shape == "tied_spherical" else 1 if shape == "spherical" else 0
    if shape == "diagonal":
        empty = np.zeros_like(moments.means)
        return np.divide(moments.diagonals(), weights, out=empty, where=weights > 0)
    if shape in LINEAR:
        squares = moments.pooled_diagonal()
        return np.asarray((squares.sum() if axes != 0 else squares) / weights.sum(axis=axes))
    return np.asarray(moments.diagonals().sum(axis=1) / weights.sum(axis=1))


# --- shrinkage -----------------------------------------------------------------------------------


def shrunk(covariance: F64, amount: float) -> F64:
    r"""Give :math:`(1 - \lambda) \Sigma + \lambda \operatorname{diag}(\Sigma)`.

    The variances stay, so the unit of a feature does not matter.
    """
    result = (1 - amount) * covariance
    np.fill_diagonal(result, np.diagonal(covariance))
    return result


def oas_amount(covariance: F64, weight: float) -> float:
    r"""Give the oracle-approximating amount of Chen et al. (2010), equation 23, for correlations.

    .. math:: \min\left(1, \frac{(1 - 2/D) \operatorname{tr} R^2 + D^2}
              {(n + 1 - 2/D)(\operatorname{tr} R^2 - D)}\right)
    """
    size, squares = _squared_correlations(covariance)
    if size < 2 or weight <= 1:
        return 1.0 if weight <= 1 else 0.0
    denominator = (weight + 1 - 2 / size) * (squares - size)
    numerator = (1 - 2 / size) * squares + size**2
    return 1.0 if denominator <= numerator else numerator / denominator


def ledoit_wolf_amount(covariance: F64, weight: float, fourth: float) -> float:
    r"""Give the amount of Ledoit and Wolf (2004), section 3.3, for correlations.

    ``fourth`` is :math:`\sum_i w_i (\sum_d z_{id}^2)^2` of the standardised rows.
    """
    size, squares = _squared_correlations(covariance)
    if size < 2 or weight <= 1:
        return 1.0 if weight <= 1 else 0.0
    spread = squares - size  # the squared distance from the target, times the size
    error = min((fourth / weight - squares) / weight, spread)
    return 0.0 if error <= 0 else error / spread


def _squared_correlations(covariance: F64) -> tuple[int, float]:
    """Give how many features vary, and the sum of their squared correlations."""
    variances = np.diagonal(covariance)
    varying = np.flatnonzero(variances > 0)
    scale = np.sqrt(variances[varying])
    correlation = covariance[np.ix_(varying, varying)] / scale[:, None] / scale
    return len(varying), float((correlation**2).sum())


def fourth_moments(rows: Rows, means: F64, scales: F64) -> F64:
    r"""Give :math:`\sum_i w_i (\sum_d z_{id}^2)^2` of each class, z standardised by its class.

    ``scales`` holds the inverse standard deviation of each class and feature, zero to leave a
    feature out. A second pass over the rows, in blocks.
    """
    result = np.zeros(len(means))
    for block in blocks(len(rows.codes), block_rows(rows.X.shape[1])):
        part = rows.codes[block]
        with np.errstate(over="ignore", invalid="ignore"):  # rows of weight zero hold anything
            z = (rows.X[block] - means[part]) * scales[part]
            fourth = np.einsum("ij,ij->i", z, z) ** 2
        if rows.weights is not None:
            weights = rows.weights[block]
            fourth = np.where(weights > 0, fourth, 0.0) * weights
        result += np.bincount(part, weights=fourth, minlength=len(means))
    return result


def shrinkage_amounts(
    matrices: F64,
    moments: ClassMoments,
    shrinkage: Shrinkage,
    names: Names,
    second_pass: SecondPass | None,
    factors: F64 | None = None,
) -> F64:
    """Give the amount of shrinkage of each matrix."""
    shared = matrices.ndim == 2
    if not isinstance(shrinkage, str):
        return np.full(() if shared else len(matrices), 0.0 if shrinkage is None else shrinkage)
    stack = matrices[None] if shared else matrices
    weights = moments.weights.sum(keepdims=True) if shared else moments.weights
    if shrinkage == "oas":
        amounts = [oas_amount(*each) for each in zip(stack, weights, strict=True)]
    elif second_pass is None:
        raise InputError(
            f"{names.owner}: shrinkage='auto' (Ledoit-Wolf) needs fourth moments, which a summary "
            "does not give. Pass shrinkage='oas', which needs second moments only, or a number."
        )
    else:
        variances = np.diagonal(matrices, axis1=-2, axis2=-1)
        if factors is not None:
            variances = variances * factors[:, None]
        with np.errstate(divide="ignore"):
            inverse = np.where(variances > 0, 1 / np.sqrt(variances), 0.0)
        fourth = second_pass(moments.means, np.broadcast_to(inverse, moments.means.shape))
        fourth = fourth.sum(keepdims=True) if shared else fourth
        amounts = [ledoit_wolf_amount(*each) for each in zip(stack, weights, fourth, strict=True)]
    return np.array(amounts[0] if shared else amounts)


# --- rank ----------------------------------------------------------------------------------------


def whiten(
    covariance: F64, out: F64, active: Bool, names: Names, k: int | None, n_rows: int
) -> float:
    r"""Write W with :math:`W \Sigma W^T = I`, lower triangular; give :math:`\log |\Sigma|`.

    Rank is decided on the correlation scale. Features that are not active have zero rows and
    columns and no part in the determinant; the others have positive variances. ``k`` and
    ``n_rows`` tell whose covariance it is in a refusal, None being all classes.
    """
    kept = np.ix_(active, active)
    scale = np.sqrt(np.diagonal(covariance)[active])
    correlation = covariance[kept] / scale / scale[:, None]
    norm = np.abs(correlation).sum(axis=0).max()
    factor, failed = dpotrf(correlation.T, lower=1, clean=1)
    if failed or dpocon(factor, norm, uplo="L")[0] <= len(scale) * _SINGULAR:
        raise _collinear(correlation, np.flatnonzero(active), names, k, n_rows)
    out[...] = 0.0
    out[kept] = dtrtri(factor, lower=1)[0] / scale
    return 2 * float(np.log(np.diagonal(factor)).sum() + np.log(scale).sum())


def _collinear(
    correlation: F64, columns: Int, names: Names, k: int | None, n_rows: int
) -> SingularCovarianceError:
    """Say which columns are combinations of which, or that the rows are too few."""
    size = len(correlation)
    classes = 1 if k is not None else len(names.classes)
    remedy = "pass shrinkage='oas' or singular='repair'"
    remedy += "." if k is None else ", or covariance='tied'."
    whose = names.shared if k is None else f"the covariance of {names.classes[k]!r}"
    if n_rows - classes < size:
        return SingularCovarianceError(
            f"{names.owner}: {whose} is singular: {n_rows} rows are too few for {size} features; "
            f"at least {size + classes} are needed.",
            f"Drop columns, {remedy}",
        )
    order, rank = dpstrf(correlation, lower=1, tol=size * _SINGULAR)[1:3]
    rank = min(int(rank), size - 1)
    kept, dropped = order[:rank] - 1, order[rank] - 1
    inner = correlation[np.ix_(kept, kept)]
    weights = np.abs(np.linalg.lstsq(inner, correlation[kept, dropped], rcond=None)[0])
    partners = np.sort(kept[weights > min(_NO_PART, weights.max() * (1 - _NO_PART))])
    return SingularCovarianceError(
        f"{names.owner}: {whose} is singular: column {names.columns(columns[[dropped]])} is, to "
        f"rounding, a combination of {names.columns(columns[partners])}; {size - rank} of {size} "
        "columns are redundant.",
        f"Drop it, {remedy}",
    )


def active_features(moments: ClassMoments, shape: Shape, names: Names) -> Bool:
    """Tell which features take part: those that are not constant in all rows.

    The spherical shapes have no use for leaving any out.
    """
    constant = moments.constant_features()
    if constant.all():
        raise InputError(
            f"{names.owner}: every feature is constant ({int(moments.counts.sum())} sample(s)), so "
            "there is nothing to learn from. Check the columns, or give more rows."
        )
    return np.ones_like(constant) if shape in _SPHERICAL else ~constant


def flat_features(moments: ClassMoments, shape: Shape, active: Bool) -> Bool:
    """Tell which features have no spread but rounding: (K, D), or (D,) if it is shared.

    Of shapes with one number of spread per class, only classes that are points are told.
    """
    rounding = moments.feature_weights * rounding_variance(moments.means)
    if shape in LINEAR:
        flat = (moments.pooled_diagonal() <= rounding.sum(axis=0)) & active
    else:
        flat = (moments.diagonals() <= rounding) & active
    if shape in (*_SPHERICAL, "proportional"):
        points = (flat | ~active).all(axis=-1, keepdims=True)
        flat &= points | (flat.all(axis=0) & (shape == "proportional"))
    return np.asarray(flat)


def with_variation(moments: ClassMoments, flat: Bool) -> ClassMoments:
    """Give flat features a share of the variance that they have over all classes.

    That of one more row that varies, 1 / (n + 1), of their pooled variance within classes, or of
    the total variance if that is zero too. They get no correlations.
    """
    weights = moments.feature_weights
    total, within = weights.sum(axis=0), moments.pooled_diagonal()
    rounding = (weights * rounding_variance(moments.means)).sum(axis=0)
    between = (weights * (moments.means - moments.grand_mean()) ** 2).sum(axis=0)
    spare = np.where(within > rounding, within, within + between) / total
    shared, each = flat.ndim == 1, np.broadcast_to(flat, moments.means.shape)
    n = total if shared else weights
    extra = np.broadcast_to(n / (n + 1) * spare, each.shape)
    scatter = moments.scatter.copy()
    if moments.detail == "tied":
        scatter[flat] = scatter[:, flat] = 0.0
        scatter[flat, flat] = extra[0, flat]
        return replace(moments, scatter=scatter)
    if moments.detail == "full":
        scatter[each[:, :, None] | each[:, None, :]] = 0.0
    diagonal = scatter if moments.detail == "diagonal" else np.einsum("kii->ki", scatter)
    diagonal[each] = (extra / moments.n_classes if shared else extra)[each]
    return replace(moments, scatter=scatter)


def constant_within(flat: Bool, moments: ClassMoments, names: Names) -> SingularCovarianceError:
    """Say which class and which columns do not vary."""
    if flat.ndim == 1:
        return SingularCovarianceError(
            f"{names.owner}: the shared covariance is singular: constant within every class "
            f"({int(moments.counts.sum())} rows): {names.columns(np.flatnonzero(flat))}.",
            "Drop these columns, or pass singular='repair'.",
        )
    k = int(flat.any(axis=1).argmax())
    return SingularCovarianceError(
        f"{names.owner}: the covariance of {names.classes[k]!r} is singular: constant in "
        f"{'its' if moments.observed is None else 'what is observed of its'} {moments.counts[k]} "
        f"rows: {names.columns(np.flatnonzero(flat[k]))}.",
        "Drop these columns, share the covariance between classes (covariance='tied'), or pass "
        "singular='repair'.",
    )


# --- estimates -----------------------------------------------------------------------------------


def estimate(
    moments: ClassMoments,
    recipe: Recipe,
    names: Names,
    second_pass: SecondPass | None = None,
    flat: Bool | None = None,
) -> Estimate:
    """Fit Gaussians; ``second_pass`` is what Ledoit-Wolf needs, None if the rows are gone.

    ``flat`` tells features without spread, if the moments cannot: those that EM expects have some.
    """
    shape, detail = recipe.shape, moments.detail
    if detail not in ("full", detail_for(shape)) and not (detail == "tied" and shape in LINEAR):
        raise InputError(
            f"{names.owner}: covariance={shape!r} cannot be estimated from a summary of detail "
            f"{detail!r}. Summarise with covariance='full', which serves every shape."
        )
    check_observed(moments, names)
    active = active_features(moments, shape, names)
    if flat is None:
        flat = flat_features(moments, shape, active)
    notes = []
    if flat.any():
        fault = constant_within(flat, moments, names)
        if not recipe.repair:
            raise fault
        weights = moments.feature_weights
        share = 1 / ((weights.sum(axis=0) if flat.ndim == 1 else weights)[flat][0] + 1)
        moments = with_variation(moments, flat)
        notes.append(f"{fault.fault} Repaired with {share:.3g} of its variance elsewhere.")
    if shape in WITH_CORRELATIONS:
        model, amounts, more = _matrices(moments, recipe, active, names, second_pass)
        notes += more
    else:
        variances, amounts = maximum_likelihood(moments, shape), np.zeros(())
        model = ClassGaussians.of_variances(shape, moments.means, variances, active)
    return Estimate(model, amounts, " ".join(notes) or None)


def check_observed(moments: ClassMoments, names: Names) -> None:
    """Check that every class has seen every feature."""
    unseen = moments.feature_weights == 0
    if unseen.any():
        k, j = (int(i) for i in np.argwhere(unseen)[0])
        raise InputError(
            f"{names.owner}: class {names.classes[k]!r} has no observed value in column "
            f"{names.features[j]!r}, so its mean is unknown. Drop the column or the class."
        )


def _matrices(
    moments: ClassMoments,
    recipe: Recipe,
    active: Bool,
    names: Names,
    second_pass: SecondPass | None,
) -> tuple[ClassGaussians, F64, list[str]]:
    """Fit matrices, shrink and factor them; those that are singular are shrunk more, if allowed."""
    factors, notes = None, []
    if recipe.shape == "proportional":
        matrices, factors, notes = _proportional(moments, recipe, active, names)
    else:
        matrices = maximum_likelihood(moments, recipe.shape)
    amounts = shrinkage_amounts(matrices, moments, recipe.shrinkage, names, second_pass, factors)
    shared = matrices.ndim == 2
    whiteners = np.empty(matrices.shape).swapaxes(-1, -2)  # columns contiguous, as BLAS wants them
    stack, out = (matrices[None], whiteners[None]) if shared else (matrices, whiteners)
    used = amounts.reshape(-1)
    weights = moments.weights.sum(keepdims=True) if shared else moments.weights
    counts = moments.counts.sum(keepdims=True) if shared else moments.counts
    determinants, faults = np.empty(len(stack)), []
    for i, matrix in enumerate(stack):
        if used[i]:
            matrix[...] = shrunk(matrix, used[i])
        whose = active, names, None if shared else i, int(counts[i])
        try:
            determinants[i] = whiten(matrix, out[i], *whose)
        except SingularCovarianceError as singular:
            if not recipe.repair:
                raise
            more = oas_amount(matrix, float(weights[i]))
            matrix[...] = shrunk(matrix, more)
            used[i] = 1 - (1 - used[i]) * (1 - more)
            determinants[i] = whiten(matrix, out[i], *whose)
            faults.append(f"{singular.fault} Repaired with shrinkage {used[i]:.3g}.")
    if faults:
        notes.append(faults[0] + (f" (And {len(faults) - 1} more.)" if len(faults) > 1 else ""))
    if factors is not None:
        determinants = determinants + active.sum() * np.log(factors)
    logs = np.broadcast_to(determinants, moments.n_classes).copy()
    model = ClassGaussians(recipe.shape, moments.means, matrices, whiteners, logs, active, factors)
    return model, amounts, notes


def _proportional(
    moments: ClassMoments, recipe: Recipe, active: Bool, names: Names
) -> tuple[F64, F64, list[str]]:
    """Give the shared matrix, the factors, and what had to be repaired."""
    scatters = moments.scatter[:, active][:, :, active]
    pooled = maximum_likelihood(moments, "tied")
    kept, notes = np.ix_(active, active), []
    try:
        whiten(pooled, np.empty_like(pooled), active, names, None, int(moments.counts.sum()))
        shared, factors = proportional_covariances(scatters, moments.weights, names.owner)
    except SingularCovarianceError as singular:
        if not recipe.repair and recipe.shrinkage is None:
            raise
        # Towards a pooled matrix of full rank, every scatter gets one, and the factors a bound.
        amount = oas_amount(pooled[kept], float(moments.weights.sum()))
        target = moments.weights[:, None, None] * shrunk(pooled[kept], amount)
        mixed = (1 - amount) * scatters + amount * target
        shared, factors = proportional_covariances(mixed, moments.weights, names.owner)
        notes.append(
            f"{singular.fault} Repaired: every scatter moved by {amount:.3g} to the pooled one."
        )
    matrix = np.zeros_like(pooled)
    matrix[kept] = shared
    return matrix, factors, notes


def proportional_covariances(scatters: F64, weights: F64, owner: str) -> tuple[F64, F64]:
    r"""Fit :math:`\Sigma_k = \alpha_k \Sigma` by alternating maximum likelihood.

    .. math:: \Sigma = \frac{1}{N} \sum_k \frac{S_k}{\alpha_k}, \qquad
              \alpha_k = \frac{\operatorname{tr}(\Sigma^{-1} S_k)}{n_k D},
              \qquad \sum_k n_k \log \alpha_k = 0

    Neither step can lower the likelihood. ``scatters`` are positive definite in sum, and none is
    zero. References: B. Flury, "Proportionality of k covariance matrices", Statistics &
    Probability Letters 4, 1986, section 2.
    """
    size, total, factors = scatters.shape[1], weights.sum(), np.ones(len(weights))
    tolerance = 4 * size * float(np.finfo(np.float64).eps)
    collapse = SingularCovarianceError(
        f"{owner}: the proportional covariances collapse: the factor of a class goes to zero.",
        "Pass covariance='tied' or singular='repair'.",
    )
    least, idle = np.inf, 0
    for _ in range(_MOST_STEPS):
        shared = np.tensordot(1 / factors, scatters, axes=1) / total
        try:
            inverse = cho_solve(cho_factor(shared, lower=True), np.eye(size))
        except np.linalg.LinAlgError:
            raise collapse from None
        new = np.einsum("ij,kij->k", inverse, scatters) / (weights * size)
        if not (new.min() > new.max() * _LEAST_RATIO):
            raise collapse
        new /= np.exp(weights @ np.log(new) / total)
        change = np.abs(new / factors - 1).max()
        factors = new
        least, idle = (change, 0) if change < least else (least, idle + 1)
        if change <= tolerance or (idle >= _IDLE_STEPS and least <= _NEARLY):
            break
    if least > _NEARLY:
        raise collapse
    shared = np.tensordot(1 / factors, scatters, axes=1) / total
    return 0.5 * (shared + shared.T), factors
