"""Labels of rooms that name the owner of an argument apart; see ``credo._checks``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from credo import _checks as check
from credo._types import Int, Labels

hint = check.hint
listing = check.listing
names_in = check.names_array
names_of = check.names_of
plain = check.plain


def as_labels(labels: Iterable[Any], owner: str, what: str = "labels") -> Labels:
    """Return names as a tuple: Python values, hashable, unique, at least one, never NaN."""
    return check.labels(labels, f"{what} of {owner}")


def one_of(value: Any, known: Sequence[Any], owner: str, what: str) -> Any:
    """Return an option that is one of several words, or None where that is one of them."""
    return check.one_of(value, known, f"{what} of {owner}")


def position(name: Any, known: Labels, owner: str, what: str = "label") -> int:
    """Return the index of ``name`` among ``known``."""
    return check.position(name, known, what, owner)


def positions(values: Any, known: Labels, owner: str, what: str) -> Int:
    """Return the index among ``known`` of each entry of the 1-D ``values``."""
    return check.positions(values, known, what, owner)


def distinct(values: Any, owner: str) -> list[Any]:
    """Return the names among values once each: sorted, or as they come if that cannot be."""
    return check.distinct(values, f"labels of {owner}")


def check_frame(table: Any, names: Labels, owner: str, axis: str = "columns") -> None:
    """Refuse names that would relabel the columns, or the index, of a data frame by mistake."""
    check.frame(table, names, f"names given to {owner}", axis)


def order_of(wanted: Labels, given: Labels, owner: str, other: str) -> Int:
    """Return the indices that bring ``given`` into the order of ``wanted``; the sets must agree."""
    return check.order(wanted, given, f"{other} of {owner}")
