"""Labels counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._types import F64, Labels
from credo._validation.labels import as_labels, distinct, positions
from credo._validation.probabilities import as_weights

_OWNER = "Posterior.from_frequencies"


def frequencies(y: Any, sample_weight: Any) -> tuple[F64, Labels]:
    """Give the total weight of each label, and the labels."""
    labels = as_labels(distinct(y, _OWNER), _OWNER)
    index = positions(y, labels, _OWNER, "label")
    weight = as_weights(sample_weight, len(index), _OWNER)
    return np.bincount(index, weights=weight, minlength=len(labels)).astype(np.float64), labels
