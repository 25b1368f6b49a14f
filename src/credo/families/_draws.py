"""Random draws: how many, from which generator, and gammas in logarithms."""

from __future__ import annotations

import numpy as np

from credo._types import F64, RandomState
from credo._validation.arrays import generator, positive_int

#: The least positive number of full precision; what would be smaller is drawn as this.
TINY = float(np.finfo(np.float64).tiny)


def ready(n: int, random_state: RandomState, owner: str) -> tuple[int, np.random.Generator]:
    """Check the number of draws and make the generator."""
    return positive_int(n, owner, "n", least=0), generator(random_state, owner)


def log_gammas(rng: np.random.Generator, shape: F64, n: int) -> F64:
    r"""Draw logarithms of gammas, right for shapes so small that the gammas would be zero.

    If G has shape a + 1 and E is exponential, :math:`\log G - E / a` has the law of the logarithm
    of a gamma of shape a (Marsaglia and Tsang 2000, section 6).
    """
    size = (n, *shape.shape)
    result: F64 = np.log(rng.standard_gamma(shape + 1.0, size))
    result -= rng.standard_exponential(size) / shape
    return result
