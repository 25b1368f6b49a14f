"""The door for user input, used as ``check.finite(x, "prices")``: a clean value or a clear error.

``what`` names the argument as the user knows it, with its owner where that helps: "priors of
Posterior.from_bayes". What the library itself made is not checked again.
"""

from __future__ import annotations

import difflib
import math
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from credo._types import F64, Int, Label, Labels, RandomState
from credo.exceptions import InputError, LabelError, ShapeError

#: Bytes worked on at once: what stays in a core's own cache, and what a large input needs beyond
#: itself and the answer.
BLOCK_BYTES = 3 * 2**20

#: Rounding to six decimals moves an entry by at most this.
_SIXTH_DECIMAL = 0.5e-6

#: More threads than this wait for memory more than they compute.
_MOST_THREADS = 8

#: The least sample weight but zero, and one over the largest.
LEAST_WEIGHT = 1e-100


# --- numbers --------------------------------------------------------------------------------------


def floats(values: Any, what: str) -> F64:
    """Return a float64 array of ``values``."""
    try:
        if np.ma.is_masked(values):
            raise TypeError("Some are masked")  # noqa: TRY301 - NumPy would show what is behind
        if np.asarray(values).dtype.kind == "c":
            raise TypeError("They are complex")  # noqa: TRY301 - NumPy would drop a part of them
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"The {what} must be numbers in a rectangular array. {error}.") from error


def finite(values: Any, what: str) -> F64:
    """Return a finite float64 array of ``values``; the error names the first entry that is not."""
    array = floats(values, what)
    bad = ~np.isfinite(array)
    if bad.any():
        where = np.argwhere(bad)[0].tolist()
        raise InputError(f"The {what} must be finite. Got {array[tuple(where)]} at index {where}.")
    return array


def vector(values: Any, what: str) -> F64:
    """Return a finite 1-D array with at least one entry; a single number counts as one."""
    array = np.atleast_1d(finite(values, what))
    if array.ndim != 1 or not array.size:
        raise ShapeError(
            f"The {what} must be 1-D with at least one entry. Got shape {array.shape}."
        )
    return array


def number(value: Any, what: str, least: float = -math.inf, most: float = math.inf) -> float:
    """Return one finite number between ``least`` and ``most``."""
    try:
        found = np.asarray(value, np.float64)
    except OverflowError:
        raise InputError(f"The {what} must be a number that a float can hold.") from None
    except (TypeError, ValueError):
        raise InputError(f"The {what} must be a number. Got {value!r}.") from None
    if found.ndim:
        raise ShapeError(f"The {what} must be one number. Got shape {found.shape}.")
    if not np.isfinite(found):
        raise InputError(f"The {what} must be finite. Got {found}.")
    if not least <= found <= most:
        span = f"at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
        raise InputError(f"The {what} must be {span}. Got {found:g}.")
    return float(found)


def level(value: Any, what: str) -> float:
    """Return a number strictly between zero and one."""
    found = number(value, what)
    if not 0 < found < 1:
        raise InputError(f"The {what} must be strictly between 0 and 1. Got {found:g}.")
    return found


def count(value: Any, what: str, least: int = 1) -> int:
    """Return a whole number that is at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"The {what} must be a whole number, at least {least}. Got {value!r}.")
    return int(value)


def threads(value: int | None, what: str) -> int:
    """Return the number of threads: by default one per core that may be used, at most eight."""
    return min(usable_cores(), _MOST_THREADS) if value is None else count(value, what)


def usable_cores() -> int:
    """Return how many cores this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def indices(values: Any, n: int, what: str) -> Int:
    """Return an array of whole numbers from 0 to ``n - 1``; the error names the first other one."""
    array = np.asarray(values)
    good = (array >= 0) & (array < n) if array.dtype.kind in "iu" else np.zeros(array.shape, bool)
    if not good.all():
        where = np.argwhere(~good)[0].tolist()
        raise InputError(
            f"The {what} must be whole numbers from 0 to {n - 1}. Got {array[tuple(where)]} at "
            f"index {where}."
        )
    return array.astype(np.intp)


def generator(random_state: RandomState, what: str = "random_state") -> np.random.Generator:
    """Return a random generator made from a seed, or the generator given."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InputError(f"The {what} must be a seed or a generator. {error}.") from error


def frozen(array: Any) -> Any:
    """Mark an array as read-only and return it."""
    array.flags.writeable = False
    return array


def is_read_only(array: Any) -> bool:
    """Tell whether neither the array nor what it is a view of can be written to."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return True


# --- names ----------------------------------------------------------------------------------------


def plain(label: Any) -> Label:
    """Return the Python value that a NumPy scalar stands for; dates stay as they are."""
    is_date = isinstance(label, (np.datetime64, np.timedelta64))
    return label.item() if isinstance(label, np.generic) and not is_date else label


def labels(given: Iterable[Any], what: str = "labels") -> Labels:
    """Return names as a tuple: Python values, hashable, unique, at least one, never NaN."""
    if isinstance(given, str):
        raise InputError(
            f"The {what} must be a sequence of names. Got the single string {given!r}; pass "
            f"[{given!r}]."
        )
    try:
        names = tuple(plain(label) for label in given)
        known = set(names)
    except TypeError as error:
        raise InputError(
            f"The {what} must be a sequence of hashable names, such as strings or integers. Got "
            f"{given!r}."
        ) from error
    if not names:
        raise InputError(f"The {what} must be at least one. Got none.")
    if len(known) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise InputError(f"The {what} must differ. {twice!r} occurs more than once.")
    if not all(equals_itself(name) for name in names):
        raise InputError(f"The {what} contain NaN, which no label can be matched with.")
    return names


def equals_itself(name: Any) -> bool:
    """Tell names from NaN and its kin, which are unlike themselves."""
    try:
        return bool(name == name)  # noqa: PLR0124 - that is the question
    except TypeError:
        return False


def names_array(names: Any) -> Any:
    """Return an array of names; tuples, and names of several types, stay what they are."""
    if not isinstance(names, (list, tuple)):
        return np.asarray(names)
    kinds = {type(name) for name in names}
    if len(kinds) <= 1 and tuple not in kinds:
        with suppress(ValueError):  # lists of several lengths are no array
            array = np.asarray(names)
            if array.tolist() == list(names):  # not so for huge integers, or text ending in NUL
                return array
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array


def distinct(values: Any, what: str = "labels") -> list[Any]:
    """Return the names among values once each: sorted, or as they come if that cannot be."""
    array = names_array(values)
    once = array.ravel() if array.dtype.kind == "O" else np.unique(array)
    try:
        names = list(dict.fromkeys(plain(value) for value in once))
    except TypeError as error:
        raise InputError(f"The {what} hold values that cannot be names. {error}.") from error
    try:
        return sorted(names)
    except TypeError:
        return names


def listing(names: Sequence[Label], most: int = 8) -> str:
    """Return names as a list for a message, cut after ``most``."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)} in all)"


def hint(name: Label, known: Sequence[Label]) -> str:
    """Return a sentence with the known name that may be meant; empty if none is near."""
    for other in known:
        if str(other) == str(name) and other != name:
            kinds = type(other).__name__, type(name).__name__
            return f" {other!r} is of type {kinds[0]}, {name!r} of type {kinds[1]}: use the same."
    texts = {str(other).casefold(): other for other in known}
    near = difflib.get_close_matches(str(name).casefold(), list(texts), n=1)
    return f" Did you mean {texts[near[0]]!r}?" if near else ""


def one_of(value: Any, known: Sequence[Any], what: str) -> Any:
    """Return an option that is one of several words, or None where that is one of them."""
    if not any(value is each or (isinstance(value, str) and value == each) for each in known):
        near = hint(value, known) if isinstance(value, str) else ""
        raise InputError(f"The {what} must be one of {listing(known, 20)}. Got {value!r}.{near}")
    return value


def position(name: Any, known: Labels, what: str = "label", holder: str = "") -> int:
    """Return the index of ``name`` among ``known``, the names that ``holder`` has."""
    wanted = plain(name)
    try:
        return known.index(wanted)
    except (TypeError, ValueError):  # what cannot be compared is not known
        raise _unknown(wanted, known, what, holder) from None


def positions(values: Any, known: Labels, what: str = "label", holder: str = "") -> Int:
    """Return the index among ``known`` of each entry of the 1-D ``values``."""
    array = names_array(values)
    to = f" given to {holder}" if holder else ""
    if array.ndim != 1:
        raise InputError(f"The {what}s{to} must be 1-D. Got shape {array.shape}.")
    lookup = {name: i for i, name in enumerate(known)}
    try:
        if array.dtype.kind == "O":
            codes = (lookup.get(plain(value), -1) for value in array)
            found = np.fromiter(codes, dtype=np.intp, count=len(array))
        else:
            unique, inverse = np.unique(array, return_inverse=True)
            found = np.array([lookup.get(plain(v), -1) for v in unique], dtype=np.intp)[inverse]
    except TypeError as error:
        raise InputError(f"The {what}s{to} must be names. {error}.") from error
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        raise _unknown(plain(array[row]), known, what, holder, f" (row {row})")
    return found


def _unknown(name: Label, known: Labels, what: str, holder: str, where: str = "") -> LabelError:
    """Return the error about a name that is not known."""
    start = f"{holder} has no" if holder else "There is no"
    return LabelError(
        f"{start} {what} {name!r}{where}. Known: {listing(known)}.{hint(name, known)}"
    )


def order(wanted: Labels, given: Labels, what: str) -> Int:
    """Return the indices that bring ``given`` into the order of ``wanted``; the sets must agree."""
    for name in wanted:
        if name not in given:
            raise LabelError(
                f"Credo needs {name!r}, which is missing in the {what}: {listing(given)}."
                f"{hint(name, given)}"
            )
    for name in given:
        if name not in wanted:
            raise LabelError(
                f"Credo does not know {name!r}, given in the {what}. Known: {listing(wanted)}."
                f"{hint(name, wanted)}"
            )
    return np.array([given.index(name) for name in wanted], dtype=np.intp)


def names_of(table: Any, axis: str = "columns") -> Labels | None:
    """Return the names that a data frame, an Arrow table or a Series has on an axis, if any."""
    found = getattr(table, "column_names", None) if axis == "columns" else None
    if found is None:
        found = getattr(table, axis, None)
    if found is None and hasattr(table, "items"):  # a Series: one row, named by its index
        found = getattr(table, "index", None)
    return None if found is None or callable(found) else tuple(plain(name) for name in found)


def frame(table: Any, names: Labels, what: str, axis: str = "columns") -> None:
    """Refuse names that would relabel the columns, or the index, of a data frame by mistake."""
    own = names_of(table, axis)
    if own is not None and own != names and set(own) == set(names):
        raise InputError(
            f"The {what} are {listing(names)}; the {axis} of the table: {listing(own)}. They are "
            "the same in another order. Put them in the table's order."
        )


def by_name(values: Any, names: Labels = ()) -> Mapping[Any, Any] | None:
    """Return values that come with names as a mapping: a mapping itself, or a pandas Series.

    A Series numbered from zero is in order and has no names, unless ``names`` are these numbers.
    """
    if isinstance(values, Mapping):
        return values
    if not (hasattr(values, "items") and hasattr(values, "index")):
        return None
    named = dict(values.items())
    numbers = set(range(len(named)))
    return None if set(named) == numbers and set(names) != numbers else named


# --- probabilities --------------------------------------------------------------------------------


def block_rows(n_columns: int) -> int:
    """Return how many rows of so many float64 numbers are worked on at once."""
    return max(1, BLOCK_BYTES // (8 * max(n_columns, 1)))


def blocks(n_rows: int, size: int) -> Iterator[slice]:
    """Cut ``n_rows`` into slices of at most ``size`` rows."""
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


def tolerance(n_entries: int) -> float:
    """Return how far from one the sum of ``n_entries`` probabilities of six decimals may be.

    At worst K times half a unit; but K independent roundings, each with standard deviation
    half a unit / √3, add up like √K, and nine of their standard deviations never happen.
    """
    return _SIXTH_DECIMAL * min(n_entries, 9 * math.sqrt(n_entries / 3))


def width(array: F64, names: Labels, what: str = "probabilities") -> None:
    """Check for one column per label."""
    if array.ndim not in (1, 2) or array.shape[-1] != len(names):
        raise ShapeError(
            f"The {what} must have shape (K,) or (n, K) with K = {len(names)}, one column per "
            f"label. Got shape {array.shape}."
        )


def distributions(
    p: F64, who: str, remedy: str = "", *, normalise: bool = False, first_row: int | None = 0
) -> None:
    """Check that each row of the 2-D ``p`` is a distribution; name the first that is not.

    ``first_row`` is what the first row is called in messages; None for a single distribution.
    ``remedy`` is what to do about a sum that is not one. With ``normalise``, weights with any
    positive, finite sum will do.
    """
    row = first_wrong_row(p, normalise=normalise)
    if row is not None:
        where = "it" if first_row is None else f"row {first_row + row}"
        raise InputError(f"{who}: {where} {row_fault(p[row], remedy, normalise=normalise)}")


def first_wrong_row(p: F64, *, normalise: bool = False, slack: float | None = None) -> int | None:
    """Return the first row of the 2-D ``p`` that is not a distribution, or cannot become one."""
    slack, ones = tolerance(p.shape[1]) if slack is None else slack, np.ones(p.shape[1])
    for block in blocks(len(p), block_rows(p.shape[1])):
        part = p[block]
        with np.errstate(over="ignore", invalid="ignore"):
            totals = part @ ones
            right = (totals > 0) & (totals < np.inf) if normalise else abs(totals - 1) <= slack
        if not right.all() or part.min(initial=0.0) < 0:
            return int(block.start + np.argmax(~right | (part < 0).any(axis=1)))
    return None


def row_fault(
    row: F64, remedy: str = "", *, normalise: bool = False, names: Labels | None = None
) -> str:
    """Return what is wrong with one row, a sentence without its subject, and the remedy."""

    def place(wrong: Any) -> str:
        k = int(np.argmax(wrong))
        return f"at position {k}" if names is None else f"in column {names[k]!r}"

    if np.isnan(row).any():
        return f"has NaN {place(np.isnan(row))}."
    if (row < 0).any():
        return f"has the negative entry {row[row < 0][0]:g} {place(row < 0)}."
    goal = "to a positive, finite number" if normalise else "to 1"
    with np.errstate(over="ignore"):
        return f"sums to {row.sum():.9g}, not {goal}. {remedy}".rstrip()


def per_label(values: Any, names: Labels, what: str) -> F64:
    """Return one number per label, given by name or in order, in label order."""
    named = by_name(values, names)
    if named is not None:
        places = order(names, tuple(plain(name) for name in named), what)
        return finite(list(named.values()), what)[places]
    array = finite(values, what)
    if array.shape != (len(names),):
        raise ShapeError(
            f"The {what} must be {len(names)} numbers, one per label. Got shape {array.shape}."
        )
    return array


def priors(given: Any, names: Labels, what: str = "priors") -> F64:
    """Return priors, given by name or in label order, as a distribution that sums to one."""
    values = per_label(given, names, what)
    total = values.sum()
    if values.min(initial=0.0) < 0 or not abs(total - 1.0) <= tolerance(len(names)):
        raise InputError(
            f"The {what} must be at least 0 and sum to 1. Got {values.tolist()}, which sums to "
            f"{total:.9g}."
        )
    return values / total


def weights(given: Any, n_rows: int, what: str = "sample weights") -> F64:
    """Return sample weights: at least zero, not all zero; None means ones."""
    if given is None:
        return np.ones(n_rows)
    array = finite(given, what)
    if array.shape != (n_rows,):
        raise ShapeError(
            f"The {what} have shape {array.shape}. Pass one sample weight per row, {n_rows}."
        )
    some = array[array > 0]
    if array.min(initial=0.0) < 0 or not some.size:
        raise InputError(f"The {what} must be at least zero and not all zero.")
    if some.max() > 1 / LEAST_WEIGHT or some.min() < LEAST_WEIGHT:
        raise InputError(
            f"The {what} must be 0 or between {LEAST_WEIGHT:g} and {1 / LEAST_WEIGHT:g}, so that "
            "their squares are numbers. Rescale them."
        )
    return array


# --- warnings ------------------------------------------------------------------------------------


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line that called the library, however deep in it this is."""
    frame, depth = sys._getframe(1), 2  # noqa: SLF001 - there is no public way before Python 3.12
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("credo."):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, category, stacklevel=depth)
