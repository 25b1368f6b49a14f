"""Expected losses by quadrature and the value that minimises them by search, one case at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import minimize_scalar

from credo._types import F64
from credo._validation.arrays import as_floats
from credo.exceptions import InputError, NumericalError, ShapeError

#: A function of an array of truths.
Curve: TypeAlias = Callable[[F64], F64]

# Sixteen Gauss-Legendre nodes integrate polynomials of degree 31 exactly.
NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)

#: A piece is cut in two until that changes the integral by less than this share of it.
_TOLERANCE = 1e-13
#: An integral that could not be settled to this share is an error, not an answer.
UNSETTLED = 1e-6
#: Fifty halvings reach the rounding error of a piece's own width.
_HALVINGS = 50
#: More unsettled pieces than this are noise, which halving cannot remove.
_MOST_PIECES = 2048
#: The range of candidates may double this often before the search gives up.
_DOUBLINGS = 60
#: How many of the scanned local minima are refined.
_REFINED = 3


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One distribution: atoms, pieces of density, and whether either side goes on beyond them."""

    atoms: F64
    masses: F64
    edges: F64
    density: Curve
    grid: F64
    endless: tuple[bool, bool] = (False, False)

    def expect(self, loss: Any, value: float, *, rough: bool = False) -> float:
        """Give the expected loss of ``value``; a rough one does not refine the pieces."""
        total = 0.0
        if self.atoms.size:
            total += float(self.masses @ _losses(loss, value, self.atoms))
        if self.edges.size:
            edges = np.union1d(self.edges, np.clip(value, self.edges[0], self.edges[-1]))
            total += integral(self._integrand(loss, value), edges, rough=rough)
        return total

    def check_tails(self, loss: Any, value: float, expected: float) -> None:
        """Raise if the outermost atoms or pieces of an endless side still count."""
        ends = np.zeros(2)
        if self.atoms.size:
            ends += (self.masses * np.abs(_losses(loss, value, self.atoms)))[[0, -1]]
        if self.edges.size:
            outer = self.edges[[0, -2]], self.edges[[1, -1]]
            ends += np.abs(_rule(self._integrand(loss, value), *outer))
        if (ends[np.array(self.endless)] > 1e-2 * UNSETTLED * abs(expected)).any():
            raise NumericalError(
                f"The expected loss of {value:g} does not settle: the loss grows too fast for the "
                "tails of the predictive. Use a loss that grows more slowly, or Samples."
            )

    def _integrand(self, loss: Any, value: float) -> Curve:
        """Multiply loss and density, calling the loss only where there is density."""

        def product(truth: F64) -> F64:
            density = self.density(truth)
            here = (density > 0) & np.isfinite(density)  # a pole may be hit by rounding
            result = np.zeros_like(density)
            result[here] = density[here] * _losses(loss, value, truth[here])
            return result

        return product


def _losses(loss: Any, value: float, truth: F64) -> F64:
    """Call the loss, and check what it gives."""
    with np.errstate(over="ignore"):
        result = as_floats(loss(value, truth), "decide_value", "losses")
    if result.shape != truth.shape:
        raise ShapeError(
            f"decide_value: the loss must give one number per truth, shape {truth.shape}. Got "
            f"shape {result.shape}. Write it with NumPy functions, so that truth may be an array."
        )
    bad = ~np.isfinite(result)
    if bad.any():
        i = int(np.argmax(bad))
        raise InputError(
            f"decide_value: the loss must be finite. Got {result[i]} for value {value:g} and "
            f"truth {truth[i]:g}. If it grows fast, there may be no expectation under the "
            "predictive's tails."
        )
    return result


def _rule(f: Curve, left: F64, right: F64) -> F64:
    """Integrate ``f`` over each piece with the Gauss-Legendre rule."""
    half = 0.5 * (right - left)
    points = (0.5 * (left + right))[:, None] + half[:, None] * NODES
    return (f(points.ravel()).reshape(points.shape) @ _WEIGHTS) * half


def integral(f: Curve, edges: F64, *, rough: bool = False) -> float:
    """Integrate ``f`` from the first edge to the last, halving pieces until they settle."""
    left, right = edges[:-1], edges[1:]
    whole = _rule(f, left, right)
    if rough:
        return float(whole.sum())
    settled, size, missed = 0.0, 0.0, 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (left + right)
        parts = _rule(f, np.concatenate([left, middle]), np.concatenate([middle, right]))
        lower, upper = np.split(parts, 2)
        scale = size + float(np.abs(parts).sum())
        change = np.abs(lower + upper - whole)
        again = change > _TOLERANCE * scale
        settled += float((lower + upper)[~again].sum())
        size += float(np.abs(lower + upper)[~again].sum())
        missed = float(change[again].sum())
        whole = np.concatenate([lower[again], upper[again]])
        left, right = (
            np.concatenate([left[again], middle[again]]),
            np.concatenate([middle[again], right[again]]),
        )
        if not 0 < whole.size <= _MOST_PIECES:
            break
    if not missed <= UNSETTLED * scale:
        raise NumericalError(
            f"An integral over the predictive did not settle: its error is about {missed:.1g} of "
            f"{scale:.3g}. Draw from the predictive and pass Samples instead."
        )
    return settled + float(whole.sum())


def search(loss: Any, case: Case) -> tuple[float, float]:
    """Find the value with the least expected loss: scan, then refine the best few."""
    grid, risks = _scan(loss, case)
    found = [pair for i in dips(risks) for pair in _refined(loss, case, grid, i)]
    expected, value = min(found)
    case.check_tails(loss, value, expected)
    return value, expected


def dips(scores: F64) -> list[int]:
    """Give the positions of the best few local minima, best first."""
    low = np.r_[np.inf, scores[:-1]] >= scores
    high = scores <= np.r_[scores[1:], np.inf]
    minima = np.flatnonzero(low & high)
    return minima[np.argsort(scores[minima], kind="stable")][:_REFINED].tolist()


def _scan(loss: Any, case: Case) -> tuple[F64, F64]:
    """Give candidates and their rough expected losses, widened until the best is inside."""
    span = float(np.ptp(case.grid)) or max(1.0, abs(float(case.grid[0])))
    grid = [case.grid[0] - span / 2, *case.grid.tolist(), case.grid[-1] + span / 2]
    risks = [case.expect(loss, v, rough=True) for v in grid]
    for _ in range(_DOUBLINGS):
        span *= 2
        if risks[0] < min(risks[1:]):
            grid.insert(0, grid[0] - span)
            risks.insert(0, case.expect(loss, grid[0], rough=True))
        elif risks[-1] < min(risks[:-1]):
            grid.append(grid[-1] + span)
            risks.append(case.expect(loss, grid[-1], rough=True))
        else:
            return np.array(grid), np.array(risks)
    end = grid[0] if risks[0] < risks[-1] else grid[-1]
    raise NumericalError(
        f"decide_value found no minimum: the expected loss still falls at value {end:.3g}. Check "
        "that the loss grows on both sides of the truth."
    )


def bracket(grid: F64, i: int) -> tuple[float, float, float]:
    """Give a point of the grid, and how far its neighbours are."""
    centre = float(grid[i])
    low, high = grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]
    return centre, float(low) - centre, float(high) - centre


def _refined(loss: Any, case: Case, grid: F64, i: int) -> list[tuple[float, float]]:
    """Give (expected loss, value) for a scanned minimum, its refinement and the atoms near it."""
    # The search runs over the offset, because its tolerance is relative to its argument.
    centre, low, high = bracket(grid, i)
    offset = minimise(lambda s: case.expect(loss, centre + s), low, high)
    values = [centre, centre + offset]
    after = int(np.searchsorted(case.atoms, values[1]))
    values += case.atoms[max(after - 1, 0) : after + 1].tolist()
    return [(case.expect(loss, v), v) for v in values]


def minimise(f: Callable[[float], float], low: float, high: float) -> float:
    """Minimise ``f`` between two bounds by golden sections and parabolas."""
    tolerance = {"xatol": 1e-9 * (high - low)}
    return float(minimize_scalar(f, bounds=(low, high), method="bounded", options=tolerance).x)
