"""Labels: canonical, unique, matched by name, with the nearest one on a mistake."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from credo._types import Int, Label, Labels
from credo.exceptions import InputError, LabelError


def plain(label: Any) -> Label:
    """Turn a NumPy scalar into the Python value it stands for; dates stay as they are."""
    is_date = isinstance(label, (np.datetime64, np.timedelta64))
    value: Label = label.item() if isinstance(label, np.generic) and not is_date else label
    return value


def as_labels(labels: Iterable[Any], owner: str, what: str = "labels") -> Labels:
    """Canonicalise labels: Python scalars, hashable, unique, at least one, never NaN."""
    if isinstance(labels, str):
        raise InputError(
            f"The {what} of {owner} must be a sequence of names. Got the single string "
            f"{labels!r}; pass [{labels!r}]."
        )
    try:
        names = tuple(plain(label) for label in labels)
        known = set(names)
    except TypeError as error:
        raise InputError(
            f"The {what} of {owner} must be a sequence of hashable names, such as strings or "
            f"integers. Got {labels!r}."
        ) from error
    if not names:
        raise InputError(f"{owner} needs at least one of {what}. Got none.")
    if len(known) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise InputError(f"The {what} of {owner} must differ. {twice!r} occurs more than once.")
    if not all(_equals_itself(name) for name in names):
        raise InputError(f"The {what} of {owner} contain NaN, which no label can be matched with.")
    return names


def _equals_itself(name: Any) -> bool:
    """Tell NaN and its kin, which are unlike themselves, from names."""
    try:
        return bool(name == name)  # noqa: PLR0124 - that is the question
    except TypeError:
        return False


def listing(names: Sequence[Label], most: int = 8) -> str:
    """List names for a message, cut after ``most``."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)} in all)"


def one_of(value: Any, known: Sequence[Any], owner: str, what: str) -> Any:
    """Check that an option is one of several words, or None where that is one."""
    if not any(value is each or (isinstance(value, str) and value == each) for each in known):
        near = hint(value, known) if isinstance(value, str) else ""
        words = listing(known, most=20)
        raise InputError(f"The {what} of {owner} must be one of {words}. Got {value!r}.{near}")
    return value


def hint(name: Label, known: Sequence[Label]) -> str:
    """Say which known name is meant, if one is near; empty otherwise."""
    for other in known:
        if str(other) == str(name) and other != name:
            kinds = type(other).__name__, type(name).__name__
            return f" {other!r} is of type {kinds[0]}, {name!r} of type {kinds[1]}: use the same."
    texts = {str(other).casefold(): other for other in known}
    near = difflib.get_close_matches(str(name).casefold(), list(texts), n=1)
    return f" Did you mean {texts[near[0]]!r}?" if near else ""


def position(name: Any, known: Labels, owner: str, what: str = "label") -> int:
    """Find the index of ``name`` among ``known``, or raise with the nearest match."""
    wanted = plain(name)
    try:
        return known.index(wanted)
    except ValueError:
        raise LabelError(
            f"{owner} has no {what} {wanted!r}. Known: {listing(known)}.{hint(wanted, known)}"
        ) from None


def positions(values: Any, known: Labels, owner: str, what: str) -> Int:
    """Find the index among ``known`` of each entry of the 1-D ``values``."""
    array = names_in(values)
    if array.ndim != 1:
        raise InputError(f"The {what}s given to {owner} must be 1-D. Got shape {array.shape}.")
    lookup = {name: i for i, name in enumerate(known)}
    try:
        if array.dtype.kind == "O":
            codes = (lookup.get(plain(value), -1) for value in array)
            found = np.fromiter(codes, dtype=np.intp, count=len(array))
        else:
            unique, inverse = np.unique(array, return_inverse=True)
            found = np.array([lookup.get(plain(v), -1) for v in unique], dtype=np.intp)[inverse]
    except TypeError as error:
        raise InputError(f"The {what}s given to {owner} must be names. {error}.") from error
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        wanted = plain(array[row])
        raise LabelError(
            f"{owner} has no {what} {wanted!r} (row {row}). Known: {listing(known)}."
            f"{hint(wanted, known)}"
        )
    return found


def names_in(values: Any) -> Any:
    """Make an array of names; tuples, and names of several types, stay what they are."""
    if not isinstance(values, (list, tuple)):
        return np.asarray(values)
    kinds = {type(value) for value in values}
    if len(kinds) <= 1 and not kinds & {tuple}:
        plain_array = np.asarray(values)
        if plain_array.tolist() == list(values):  # not so for huge integers, or text ending in NUL
            return plain_array
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def distinct(values: Any, owner: str) -> list[Any]:
    """List the names among values once each: sorted, or as they come if they cannot be sorted."""
    array = names_in(values)
    once = array.ravel() if array.dtype.kind == "O" else np.unique(array)
    try:
        names = list(dict.fromkeys(plain(value) for value in once))
    except TypeError as error:
        raise InputError(f"{owner} needs labels that can be names. {error}.") from error
    try:
        return sorted(names)
    except TypeError:
        return names


def names_of(table: Any, axis: str = "columns") -> Labels | None:
    """Give the names that a data frame, an Arrow table or a Series has on an axis, if any."""
    found = getattr(table, "column_names", None) if axis == "columns" else None
    if found is None:
        found = getattr(table, axis, None)
    if found is None and hasattr(table, "items"):  # a Series: one row, named by its index
        found = getattr(table, "index", None)
    return None if found is None or callable(found) else tuple(plain(name) for name in found)


def check_frame(table: Any, names: Labels, owner: str, axis: str = "columns") -> None:
    """Refuse names that would relabel the columns, or the index, of a data frame by mistake."""
    own = names_of(table, axis)
    if own is not None and own != names and set(own) == set(names):
        raise InputError(
            f"{owner}: the {axis} of the table: {listing(own)}; the names given: "
            f"{listing(names)}. They are the same in another order. Put them in the table's order."
        )


def order_of(wanted: Labels, given: Labels, owner: str, other: str) -> Int:
    """Give the indices that bring ``given`` into the order of ``wanted``; the sets must agree."""
    missing = [name for name in wanted if name not in given]
    if missing:
        raise LabelError(
            f"{owner} needs {missing[0]!r}, which is missing in {other}: {listing(given)}."
            f"{hint(missing[0], given)}"
        )
    extra = [name for name in given if name not in wanted]
    if extra:
        raise LabelError(
            f"{owner} does not know {extra[0]!r}, given in {other}. Known: {listing(wanted)}."
            f"{hint(extra[0], wanted)}"
        )
    return np.array([given.index(name) for name in wanted], dtype=np.intp)
