"""Synthetic rows from fitted Gaussians."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from credo._types import F64, Int
from credo.families.gaussians.class_gaussians import ClassGaussians
from credo.families.gaussians.reduction import segments


def sample_rows(
    model: ClassGaussians, priors: F64, n: int, rng: np.random.Generator
) -> tuple[F64, Int]:
    """Draw classes by their priors, and a row from each; features without part keep their mean."""
    codes = rng.choice(model.n_classes, size=n, p=priors)
    noise = rng.standard_normal((n, model.n_features))
    rows = np.empty_like(noise)
    active = np.ix_(model.active, model.active)
    order = np.argsort(codes, kind="stable")
    for k, part in segments(codes[order]):
        here = order[part]
        w = model.whitener_of(k)
        rows[here] = model.means[k]
        if w.ndim == 2:
            z = solve_triangular(w[active], noise[here][:, model.active].T, lower=True).T
        else:
            z = noise[here][:, model.active] / w[model.active]
        rows[np.ix_(here, model.active)] += z
    return rows, codes
