"""Labels counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._types import F64, Labels
from credo._validation.labels import as_labels, names_in, plain, positions
from credo._validation.probabilities import as_weights
from credo.exceptions import InputError

_OWNER = "Posterior.from_frequencies"


def frequencies(y: Any, sample_weight: Any) -> tuple[F64, Labels]:
    """Give the total weight of each label, and the labels: sorted, if they are of one type."""
    values = names_in(y)
    seen = np.unique(values) if values.dtype.kind != "O" else values
    labels = as_labels(_unique(seen), _OWNER)
    index = positions(values, labels, _OWNER, "label")
    weight = as_weights(sample_weight, len(index), _OWNER)
    return np.bincount(index, weights=weight, minlength=len(labels)).astype(np.float64), labels


def _unique(values: Any) -> list[Any]:
    """List the values once each; as they come, if they cannot be sorted."""
    try:
        names = list({plain(value): None for value in values.ravel()})
    except TypeError as error:
        raise InputError(f"{_OWNER} needs labels that can be names. {error}.") from error
    try:
        return sorted(names)
    except TypeError:
        return names
