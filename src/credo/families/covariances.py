"""From moments to fitted covariances: seven shapes, shrinkage, a repair or a reasoned refusal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, get_args

import numpy as np
import scipy

from credo import _checks as check
from credo._types import F64, Bool, Int, Labels
from credo.exceptions import InputError, NumericalError
from credo.families.class_gaussians import (
    LINEAR,
    SPHERICAL,
    WITH_CORRELATIONS,
    ClassGaussians,
    Shape,
)
from credo.families.moments import ClassMoments, Detail, Rows
from credo.families.subspace import Projection

#: One amount, one for each covariance, how to find them, or None for maximum likelihood.
Shrinkage = float | F64 | Literal["auto", "oas"] | None

#: The least variance of which rounding costs no more digits than of any other: its squares are
#: off by half the least number of float64, which is this times its unit in the last place.
_LEAST = float(np.finfo(np.float64).tiny)
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
        """Return what pickle rebuilds the error from."""
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
        return check.listing([self.features[j] for j in which])


@dataclass(frozen=True, slots=True)
class Recipe:
    """How Gaussians are to be estimated."""

    shape: Shape
    #: Amount, or how to find it; None for maximum likelihood.
    shrinkage: Shrinkage = None
    #: Mend a singular covariance and tell, instead of refusing it.
    repair: bool = False
    #: EM stops when the log-likelihood of a row gains less, or after so many steps.
    tol: float = 1e-9
    max_iter: int = 1000
    #: Called with each step of EM and the log-likelihood before it.
    progress: Callable[[int, float], None] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class GaussianFit:
    """Fitted Gaussians, whatever the priors, and how they were found."""

    model: Annotated[ClassGaussians, "K"]
    #: Weight of each class.
    weights: Annotated[F64, "K", ">= 0"]
    #: Shrinkage of each covariance, or of the shared one.
    amounts: Annotated[F64, ("", "K")]
    #: What was singular and how it was repaired; None if nothing was.
    repair: str | None = None
    #: Σ w log p(x | y) before each step of EM and at the end; one entry if closed form, none if
    #: the parameters were given.
    trace: Annotated[F64, "T", "any"] = field(default_factory=lambda: np.empty(0))
    converged: bool = True
    #: None if the features themselves are modelled.
    projection: Projection | None = None

    def _check(self) -> None:
        """Refuse numbers from a file that no fit gives."""
        if (
            np.isnan(self.trace).any()
            or not self.weights.any()
            or (self.amounts < 0).any()
            or (self.amounts > 1).any()
        ):
            raise InputError("The Gaussians of the model are not those of a fit.")


# --- shapes --------------------------------------------------------------------------------------


#: Names that classifiers with these shapes are known by.
_KNOWN_AS = {"lda": "tied", "qda": "full", "gnb": "diagonal"}


def checked_shape(name: Any, owner: str) -> Shape:
    """Return the shape of a name: its own, or "lda", "qda" or "gnb"."""
    shape = _KNOWN_AS.get(name.lower(), name) if isinstance(name, str) else name
    return check.one_of(shape, get_args(Shape), f"covariance of {owner}")


def detail_for(shape: Shape) -> Detail:
    """Return the least detail of scatter that the shape is estimated from."""
    if shape not in WITH_CORRELATIONS:
        return "diagonal"
    return "tied" if shape == "tied" else "full"


def n_covariance_parameters(shape: Shape, n_classes: int, n_features: int) -> int:
    """Count the numbers that describe the covariances."""
    matrix = n_features * (n_features + 1) // 2
    if shape == "proportional":
        return matrix + n_classes - 1
    each = matrix if shape in WITH_CORRELATIONS else 1 if shape in SPHERICAL else n_features
    return each if shape in LINEAR else n_classes * each


def n_parameters_of(model: ClassGaussians) -> int:
    """Count the numbers that describe Gaussians: shares, means and covariances."""
    n, size = model.n_classes, int(model.active.sum())
    return n * (size + 1) + n_covariance_parameters(model.shape, n, size)


def maximum_likelihood(moments: ClassMoments, shape: Shape) -> F64:
    """Return the covariances of every shape but the proportional one, without any shrinkage."""
    if shape == "full":
        return np.asarray(moments.scatter / moments.weights[:, None, None])
    if shape == "tied":
        return np.asarray(moments.pooled() / moments.weights.sum())
    squares, n = _sums_of_squares(moments, shape, moments.feature_weights)
    variances = squares / np.where(n > 0, n, 1.0)
    variances = variances[:, 0] if shape in SPHERICAL else variances
    return np.asarray(variances[0] if shape in LINEAR else variances)


def _sums_of_squares(moments: ClassMoments, shape: Shape, weights: F64) -> tuple[F64, F64]:
    """Return what the variances of a shape are made of, and the sums of weights (K, D) behind it.

    One row if classes share them, and one column if features do.
    """
    if shape in LINEAR or shape == "proportional":
        squares, weights = moments.pooled_diagonal()[None], weights.sum(axis=0, keepdims=True)
    else:
        squares = moments.diagonals()
    if shape in SPHERICAL:
        squares, weights = (each.sum(axis=1, keepdims=True) for each in (squares, weights))
    return squares, weights


# --- shrinkage -----------------------------------------------------------------------------------


def shrunk(covariance: F64, amount: float) -> F64:
    r"""Return :math:`(1 - \lambda) \Sigma + \lambda \operatorname{diag}(\Sigma)`.

    The variances stay, so the unit of a feature does not matter.
    """
    result = (1 - amount) * covariance
    np.fill_diagonal(result, np.diagonal(covariance))
    return result


def oas_amount(covariance: F64, weight: float) -> float:
    r"""Return the oracle-approximating amount of Chen et al. (2010), equation 23, for correlations.

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
    r"""Return the amount of Ledoit and Wolf (2004), section 3.3, for correlations.

    ``fourth`` is :math:`\sum_i w_i (\sum_d z_{id}^2)^2` of the standardised rows.
    """
    size, squares = _squared_correlations(covariance)
    if size < 2 or weight <= 1:
        return 1.0 if weight <= 1 else 0.0
    spread = squares - size  # the squared distance from the target, times the size
    error = min((fourth / weight - squares) / weight, spread)
    return 0.0 if error <= 0 else error / spread


def _squared_correlations(covariance: F64) -> tuple[int, float]:
    """Return how many features vary, and the sum of their squared correlations."""
    variances = np.diagonal(covariance)
    varying = np.flatnonzero(variances > 0)
    scale = np.sqrt(variances[varying])
    correlation = covariance[np.ix_(varying, varying)] / scale[:, None] / scale
    return len(varying), float((correlation**2).sum())


def fourth_moments(rows: Rows, means: F64, scales: F64) -> F64:
    r"""Return :math:`\sum_i w_i (\sum_d z_{id}^2)^2` of each class, z standardised by its class.

    ``scales`` holds the inverse standard deviation of each class and feature, zero to leave a
    feature out. A second pass over the rows, in blocks.
    """
    result = np.zeros(len(means))
    for block in check.blocks(len(rows.codes), check.block_rows(rows.X.shape[1])):
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
    owner: str,
    rows: Rows | None,
    factors: F64 | None = None,
) -> F64:
    """Return the amount of shrinkage of each matrix; Ledoit-Wolf needs the rows too."""
    shared = matrices.ndim == 2
    if not isinstance(shrinkage, str):
        return np.full(() if shared else len(matrices), 0.0 if shrinkage is None else shrinkage)
    stack = matrices[None] if shared else matrices
    weights = _behind(matrices, moments.weights)
    if shrinkage == "oas":
        amounts = [oas_amount(*each) for each in zip(stack, weights, strict=True)]
    elif rows is None:
        raise InputError(
            f"{owner}: shrinkage='auto' (Ledoit-Wolf) needs fourth moments, which a summary does "
            "not give. Pass shrinkage='oas', which needs second moments only, or a number."
        )
    else:
        variances = np.diagonal(matrices, axis1=-2, axis2=-1)
        if factors is not None:
            variances = variances * factors[:, None]
        with np.errstate(divide="ignore"):
            inverse = np.where(variances > 0, 1 / np.sqrt(variances), 0.0)
        fourth = fourth_moments(rows, moments.means, np.broadcast_to(inverse, moments.means.shape))
        each = zip(stack, weights, _behind(matrices, fourth), strict=True)
        amounts = [ledoit_wolf_amount(*one) for one in each]
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
    factor, failed = scipy.linalg.lapack.dpotrf(correlation.T, lower=1, clean=1)
    if failed or scipy.linalg.lapack.dpocon(factor, norm, uplo="L")[0] <= len(scale) * _SINGULAR:
        raise _collinear(correlation, np.flatnonzero(active), names, k, n_rows)
    out[...] = 0.0
    out[kept] = scipy.linalg.lapack.dtrtri(factor, lower=1)[0] / scale
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
    order, rank = scipy.linalg.lapack.dpstrf(correlation, lower=1, tol=size * _SINGULAR)[1:3]
    rank = min(int(rank), size - 1)
    kept, dropped = order[:rank] - 1, order[rank] - 1
    inner = correlation[np.ix_(kept, kept)]
    weights = np.abs(np.linalg.lstsq(inner, correlation[kept, dropped], rcond=None)[0])
    partners = np.sort(kept[weights > min(_NO_PART, weights.max(initial=0.0) * (1 - _NO_PART))])
    return SingularCovarianceError(
        f"{names.owner}: {whose} is singular: column {names.columns(columns[[dropped]])} is, to "
        f"rounding, a combination of {names.columns(columns[partners])}; {size - rank} of {size} "
        "columns are redundant.",
        f"Drop it, {remedy}",
    )


def choose_features(moments: ClassMoments, recipe: Recipe, names: Names) -> tuple[Bool, Bool]:
    """Tell which features take part, and which of these are flat: have no spread within classes.

    Constant features are left out, if that may be repaired; the spherical shapes have no use for
    it. Flat features are told by class, (K, D), or (D,) if the covariance is shared; of shapes
    with one number of spread per class only in classes that are points.
    """
    _check_observed(moments, names)
    constant, spherical = moments.constant_features(), recipe.shape in SPHERICAL
    if constant.all():
        raise InputError(
            f"{names.owner}: every feature is constant ({int(moments.counts.sum())} sample(s)), so "
            "there is nothing to learn from. Check the columns, or give more rows."
        )
    if constant.any() and not spherical and not recipe.repair:
        raise constant_in_all(constant, names)
    active = np.full_like(constant, fill_value=True) if spherical else ~constant
    flat = moments.flat(pooled=recipe.shape in LINEAR) & active
    if spherical or recipe.shape == "proportional":
        points = (flat | ~active).all(axis=-1, keepdims=True)
        flat &= points | (flat.all(axis=0) & (recipe.shape == "proportional"))
    if flat.any() and not recipe.repair:
        raise _constant_within(flat, moments, names)
    return active, flat


@np.errstate(over="ignore")
def check_spread(moments: ClassMoments, shape: Shape, active: Bool, names: Names) -> None:
    """Refuse features that vary by more, or by less, than the squares of float64 can tell."""
    most = np.maximum(moments.feature_weights, moments.counts[:, None])
    squares, n = _sums_of_squares(moments, shape, most)
    few, many = (squares < n * _LEAST) & active, ~np.isfinite(squares) & active
    for wrong, what, remedy in (few, "little", "multiply"), (many, "much", "divide"):
        if wrong.any():
            which = f"column {names.features[int(wrong.any(axis=0).argmax())]!r}"
            raise InputError(
                f"{names.owner}: {which} varies so {what} that float64 does not hold its variance "
                f"to full precision. Rescale the column: {remedy} it by 1e170, say."
            )


def constant_in_all(constant: Bool, names: Names) -> SingularCovarianceError:
    """Say which columns do not vary at all."""
    return SingularCovarianceError(
        f"{names.owner}: the covariance is singular: constant in all rows: "
        f"{names.columns(np.flatnonzero(constant))}.",
        "Drop these columns, or pass singular='repair', which leaves them out.",
    )


@np.errstate(over="ignore")
def with_variation(moments: ClassMoments, flat: Bool) -> ClassMoments:
    """Return flat features a share of the variance that they have over all classes.

    That of one more row that varies, 1 / (n + 1), of their pooled variance within classes, or of
    the total variance if that is zero too. They get no correlations.
    """
    weights = moments.feature_weights
    total, within = weights.sum(axis=0), moments.pooled_diagonal()
    between = (weights * (moments.means - moments.grand_mean()) ** 2).sum(axis=0)
    spare = np.where(moments.flat(pooled=True), within + between, within) / total
    shared, each = flat.ndim == 1, np.broadcast_to(flat, moments.means.shape)
    n = total if shared else weights
    extra = np.broadcast_to(n / (n + 1) * spare, each.shape)
    varied = replace(moments, scatter=moments.scatter.copy())
    if moments.detail == "tied":
        each, extra = flat, extra[0]
    elif shared:
        extra = extra / moments.n_classes
    if moments.detail != "diagonal":
        varied.scatter[each[..., :, None] | each[..., None, :]] = 0.0
    varied.diagonals()[each] = extra[each]
    return varied


def _constant_within(flat: Bool, moments: ClassMoments, names: Names) -> SingularCovarianceError:
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
    rows: Rows | None = None,
    features: tuple[Bool, Bool] | None = None,
) -> GaussianFit:
    """Fit Gaussians in closed form; Ledoit-Wolf needs the rows too.

    ``features`` are those that are active and those that are flat, if the moments cannot tell:
    what EM expects always has some spread.
    """
    shape, detail = recipe.shape, moments.detail
    if detail not in ("full", detail_for(shape)) and not (detail == "tied" and shape in LINEAR):
        raise InputError(
            f"{names.owner}: covariance={shape!r} cannot be estimated from a summary of detail "
            f"{detail!r}. Summarise with covariance='full', which serves every shape."
        )
    active, flat = choose_features(moments, recipe, names) if features is None else features
    notes = []
    if flat.any():
        fault = _constant_within(flat, moments, names)
        weights = moments.feature_weights
        share = 1 / ((weights.sum(axis=0) if flat.ndim == 1 else weights)[flat][0] + 1)
        moments = with_variation(moments, flat)
        notes.append(f"{fault.fault} Repaired with {share:.3g} of its variance elsewhere.")
    check_spread(moments, shape, active, names)
    if shape in WITH_CORRELATIONS:
        model, amounts, more = _matrices(moments, recipe, active, names, rows)
        notes += more
    else:
        variances, amounts = maximum_likelihood(moments, shape), np.zeros(())
        model = ClassGaussians.of_variances(shape, moments.means, variances, active)
    return GaussianFit(model, moments.weights, amounts, " ".join(notes) or None)


def _check_observed(moments: ClassMoments, names: Names) -> None:
    """Check that every class has seen every feature."""
    unseen = moments.feature_weights == 0
    if unseen.any():
        k, j = (int(i) for i in np.argwhere(unseen)[0])
        alone = len(names.classes) == 1
        who = "no value is" if alone else f"class {names.classes[k]!r} has no"
        raise InputError(
            f"{names.owner}: {who} observed {'' if alone else 'value '}in column "
            f"{names.features[j]!r}, so its mean is unknown. Drop the column"
            f"{'' if alone else ' or the class'}."
        )


def _matrices(
    moments: ClassMoments, recipe: Recipe, active: Bool, names: Names, rows: Rows | None
) -> tuple[ClassGaussians, F64, list[str]]:
    """Fit matrices, shrink and factor them; those that are singular are shrunk more, if allowed."""
    factors, notes = None, list[str]()
    if recipe.shape == "proportional":
        matrices, factors, notes = _proportional(moments, recipe, active, names)
    else:
        matrices = maximum_likelihood(moments, recipe.shape)
    amounts = shrinkage_amounts(matrices, moments, recipe.shrinkage, names.owner, rows, factors)
    shared, stack = matrices.ndim == 2, matrices.reshape(-1, *matrices.shape[-2:])
    weights, counts = _behind(matrices, moments.weights), _behind(matrices, moments.counts)
    whiteners, used = np.empty(stack.shape), amounts.reshape(-1)
    determinants, faults = np.empty(len(stack)), list[str]()
    for i, matrix in enumerate(stack):
        if used[i]:
            matrix[...] = shrunk(matrix, used[i])
        whose = active, names, None if shared else i, int(counts[i])
        try:
            determinants[i] = whiten(matrix, whiteners[i], *whose)
        except SingularCovarianceError as singular:
            if not recipe.repair:
                raise
            more = oas_amount(matrix, float(weights[i]))
            matrix[...] = shrunk(matrix, more)
            determinants[i] = whiten(matrix, whiteners[i], *whose)
            used[i] = 1 - (1 - used[i]) * (1 - more)
            faults.append(f"{singular.fault} Repaired with shrinkage {used[i]:.3g}.")
    if faults:
        notes.append(faults[0] + (f" (And {len(faults) - 1} more.)" if len(faults) > 1 else ""))
    volumes = active.sum() * np.log(1.0 if factors is None else factors)
    logs = np.broadcast_to(determinants, moments.n_classes) + volumes
    whiteners = whiteners.reshape(matrices.shape)
    model = ClassGaussians(recipe.shape, moments.means, matrices, whiteners, logs, active, factors)
    return model, amounts, notes


def _behind(matrices: F64, of_classes: Any) -> Any:
    """Return what is behind each matrix, such as its weight: one number if classes share it."""
    return of_classes.sum(keepdims=True) if matrices.ndim == 2 else of_classes


def _proportional(
    moments: ClassMoments, recipe: Recipe, active: Bool, names: Names
) -> tuple[F64, F64, list[str]]:
    """Return the shared matrix, the factors, and what had to be repaired."""
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
            inverse = scipy.linalg.cho_solve(
                scipy.linalg.cho_factor(shared, lower=True), np.eye(size)
            )
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
