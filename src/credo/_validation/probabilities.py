"""Probabilities of rooms that name the owner of an argument apart; see ``credo._checks``."""

from __future__ import annotations

from typing import Any

from credo import _checks as check
from credo._types import F64, Labels

BLOCK_BYTES = check.BLOCK_BYTES
block_rows = check.block_rows
blocks = check.blocks
by_name = check.by_name
check_rows = check.distributions
first_wrong_row = check.first_wrong_row
row_fault = check.row_fault
tolerance = check.tolerance


def check_width(array: F64, labels: Labels, owner: str) -> None:
    """Check for one column per label."""
    check.width(array, labels, f"probabilities of {owner}")


def as_priors(priors: Any, labels: Labels, owner: str, what: str = "priors") -> F64:
    """Return priors, given by name or in label order, as a distribution that sums to one."""
    return check.priors(priors, labels, f"{what} of {owner}")


def per_label(values: Any, labels: Labels, owner: str, what: str) -> F64:
    """Return one number per label, given by name or in order, in label order."""
    return check.per_label(values, labels, f"{what} of {owner}")


def as_weights(weights: Any, n_rows: int, owner: str) -> F64:
    """Return sample weights: at least zero, not all zero; None means ones."""
    return check.weights(weights, n_rows, f"sample weights of {owner}")
