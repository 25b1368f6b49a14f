"""Bayes' rule on named priors and likelihoods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credo._types import F64, Labels
from credo._validation.arrays import as_floats
from credo._validation.labels import as_labels, order_of, plain
from credo._validation.probabilities import as_priors, by_name
from credo.exceptions import InputError, ShapeError

_OWNER = "Posterior.from_bayes"


def log_joint_of(
    priors: Mapping[Any, float], likelihoods: Mapping[Any, Any], *, log: bool
) -> tuple[F64, Labels]:
    """Give log p(x | k) + log π_k with the labels on the last axis, and the labels."""
    priors, likelihoods = _named(priors, "priors"), _named(likelihoods, "likelihoods")
    names = as_labels(priors, _OWNER)
    prior = as_priors(priors, names, _OWNER)
    given = tuple(plain(name) for name in likelihoods)
    order = order_of(names, given, _OWNER, "the likelihoods")
    columns = [as_floats(values, _OWNER, "likelihoods") for values in likelihoods.values()]
    try:
        values = np.stack(np.broadcast_arrays(*columns), axis=-1)[..., order]
    except ValueError:
        shapes = ", ".join(str(column.shape) for column in columns)
        raise ShapeError(
            f"{_OWNER}: likelihoods need one entry per case, the same for all labels. Got shapes "
            f"{shapes}."
        ) from None
    if not log and (values < 0).any():
        raise InputError(
            f"{_OWNER}: likelihoods must be at least 0. Got {values.min():g}. Pass log=True for "
            "log-likelihoods."
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        return (values if log else np.log(values)) + np.log(prior), names


def _named(values: Any, what: str) -> Mapping[Any, Any]:
    """Check that values come by label."""
    named = by_name(values)
    if named is None:
        raise InputError(f"{_OWNER} needs the {what} by label, {{label: value}}.")
    return named
