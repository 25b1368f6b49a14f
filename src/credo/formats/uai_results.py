"""UAI result files: probability of evidence, marginals, and best states."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np

from credo._types import F64, Int
from credo.exceptions import FileFormatError, InputError
from credo.formats._net_numbers import Numbers, shown
from credo.formats._net_output import output
from credo.formats._text import place, read_bytes

#: What a result holds: log10 of the partition function, a marginal per variable, a state per
#: variable, or states of some variables.
Value: TypeAlias = float | tuple[F64, ...] | Int | dict[int, int]

_FIRST = re.compile(rb"\s*(\S+)")
_BEGIN = b"-BEGIN-"


@final
@dataclass(frozen=True, slots=True, eq=False)
class UaiResult:
    """Hold one result of the competition; made by ``read_uai_result``.

    Attributes
    ----------
    kind : {"PR", "MAR", "MAP", "MMAP"}
        The task.
    value : float, tuple of ndarray, ndarray or dict
        For PR the log10 of the partition function (of the probability of the evidence); for MAR a
        marginal for each variable; for MAP a state number for each variable; for MMAP
        ``{variable: state}``, both as numbers. Variables are in the order of the model.

    See Also
    --------
    read_uai_result : Read one from a file.

    Examples
    --------
    >>> from credo.formats.uai_results import read_uai_result
    >>> file = getfixture("tmp_path") / "pair.uai.PR"
    >>> _ = file.write_text("PR -2.5")
    >>> result = read_uai_result(file)
    >>> result.kind, result.value
    ('PR', -2.5)
    """

    kind: str
    value: Value


def read_uai_result(path: str | os.PathLike[str]) -> UaiResult:
    r"""Read a result of the competition (.PR, .MAR, .MAP, .MMAP).

    Parameters
    ----------
    path : str or path
        The file; its first word, not its name, tells the task. MPE is an older word for MAP.

    Returns
    -------
    UaiResult
        The task and the result.

    Raises
    ------
    FileFormatError
        If the file is damaged; the text names the file, the line and the column.

    See Also
    --------
    write_uai_result : The way back.

    Notes
    -----
    A file may hold better and better solutions, each after a line ``-BEGIN-``: the last is taken.
    Older files have a 1, for one set of evidence, before the result; it is passed over where the
    length of the file shows it.

    Examples
    --------
    >>> from credo.formats.uai_results import read_uai_result
    >>> file = getfixture("tmp_path") / "pair.uai.MAR"
    >>> _ = file.write_text("MAR\n2 2 0.25 0.75 2 0.5 0.5\n")
    >>> read_uai_result(file).value
    (array([0.25, 0.75]), array([0.5, 0.5]))
    """
    name = os.fspath(path)
    data = read_bytes(path)
    first = _FIRST.match(data)
    kind = first.group(1).decode("latin-1").upper() if first else ""
    kind = "MAP" if kind == "MPE" else kind
    if first is None or kind not in _READERS:
        got = shown(first.group(1)) if first else "nothing"
        reason = f"Expected one of {', '.join(_READERS)} at the start, got {got}."
        raise FileFormatError(reason, name, *place(data, first.start(1) if first else 0))
    last = data.rfind(_BEGIN)
    start = first.end() if last < 0 else last + len(_BEGIN)
    found = Numbers.of(data, name, start)
    if not len(found):
        found.fail(0, f"There is no result after {kind}. The file is cut off.")
    return UaiResult(kind, _READERS[kind](found))


def write_uai_result(path: str | os.PathLike[str], kind: str, value: Any) -> None:
    r"""Write a result as the competition does.

    Parameters
    ----------
    path : str or path
        Where to write; a name that ends in ``.gz`` is packed.
    kind : {"PR", "MAR", "MAP", "MMAP"}
        The task.
    value : float, sequence of array_like, sequence of int, or dict
        The result, as in ``UaiResult``: log10 (not ln) of the partition function for PR, a
        marginal for each variable for MAR, a state number for each variable for MAP, and
        ``{variable number: state number}`` for MMAP.

    Raises
    ------
    InputError
        If there is no such task, or if the value does not fit it.

    See Also
    --------
    read_uai_result : The way back.

    Notes
    -----
    Numbers are written so that they are read back bit for bit.

    Examples
    --------
    >>> from credo.formats.uai_results import write_uai_result
    >>> file = getfixture("tmp_path") / "pair.uai.MAP"
    >>> write_uai_result(file, "MAP", [0, 2, 1])
    >>> file.read_text()
    'MAP\n3 0 2 1\n'
    """
    if kind not in _WRITERS:
        raise InputError(f"Unknown task {kind!r}. Choose one of {', '.join(_WRITERS)}.")
    try:
        words = _WRITERS[kind](value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"write_uai_result: the value does not fit {kind} ({error}). See UaiResult for what "
            "each task holds."
        ) from error
    with output(path) as stream:
        stream.write(f"{kind}\n{' '.join(map(repr, words))}\n")


def _read_log10(found: Numbers) -> float:
    """Read a single number, perhaps after a 1."""
    if len(found) > 2 or (len(found) == 2 and found.values[0] != 1):
        found.fail(1, f"Expected one number, log10 of the partition function. Got {len(found)}.")
    value = float(found.values[-1])
    if np.isnan(value):
        found.fail(len(found) - 1, "Expected log10 of the partition function, got nan.")
    return value


def _read_marginals(found: Numbers) -> tuple[F64, ...]:
    """Read the number of variables, then a number of states and probabilities for each."""
    bounds = _marginals_from(found, 0)
    if bounds is None and found.values[0] == 1:
        bounds = _marginals_from(found, 1)
    if bounds is None:
        reason = (
            "The lengths of the marginals do not add up to the file. It must hold the number of "
            "variables, and for each the number of its states and as many probabilities."
        )
        found.fail(0, reason)
    marginals = [found.values[start:stop].copy() for start, stop in bounds]
    for (start, _), marginal in zip(bounds, marginals, strict=True):
        good = (marginal >= 0) & (marginal < np.inf)
        if not good.all():
            worst = start + int(np.argmin(good))
            found.fail(worst, f"Expected a probability, got {found.values.item(worst)!r}.")
    return tuple(marginals)


def _marginals_from(found: Numbers, position: int) -> list[tuple[int, int]] | None:
    """Find where each marginal stands; None if the lengths do not add up."""
    numbers = found.values
    count = numbers.item(position) if position < len(numbers) else -1.0
    bounds: list[tuple[int, int]] = []
    position += 1
    while len(bounds) < count and position < len(numbers):
        length = numbers.item(position)
        if not 1 <= length <= len(numbers) or not length.is_integer():
            return None
        bounds.append((position + 1, position + 1 + int(length)))
        position = bounds[-1][1]
    return bounds if len(bounds) == count and position == len(numbers) else None


def _read_states(found: Numbers) -> Int:
    """Read the number of variables and a state for each."""
    return np.array(_counted(found, 1, "variables and a state for each"), dtype=np.intp)


def _read_some_states(found: Numbers) -> dict[int, int]:
    """Read the number of variables, then a variable and a state for each."""
    words = _counted(found, 2, "variables and a pair of variable and state for each")
    states = dict(zip(words[::2], words[1::2], strict=True))
    if len(states) < len(words) // 2:
        found.fail(0, "A variable is listed twice. Remove one.")
    return states


def _counted(found: Numbers, width: int, what: str) -> list[int]:
    """Read a count and as many groups of whole numbers, perhaps after a 1."""
    first, second = found.values.item(0), found.values.item(min(1, len(found) - 1))
    older = first == 1 and len(found) == 2 + width * second
    start = 2 if older else 1
    if not older and len(found) != 1 + width * first:
        found.fail(0, f"Expected the number of {what}. Got {len(found)} numbers in all.")
    return found.wholes(start, len(found) - start, "a whole number")


def _some_words(value: Mapping[int, int]) -> list[int]:
    """Give pairs of variable and state after their number."""
    pairs = [(_number(variable), _number(state)) for variable, state in value.items()]
    return [len(pairs), *(word for pair in pairs for word in pair)]


def _marginal_words(value: Any) -> list[float]:
    """Give the marginals, each after its length, after their number."""
    marginals = [np.asarray(marginal, dtype=np.float64) for marginal in value]
    if any(m.ndim != 1 or not m.size or not (m >= 0).all() for m in marginals):
        raise ValueError("each marginal must be a list of probabilities")
    return [len(marginals), *(word for m in marginals for word in (m.size, *m.tolist()))]


def _state_words(value: Any) -> list[int]:
    """Give the states after their number."""
    states = [_number(state) for state in value]
    return [len(states), *states]


def _number(value: Any) -> int:
    """Check the number of a variable or a state."""
    number = int(value)
    if number != value or number < 0:
        raise ValueError(f"{value!r} is no number of a variable or state")
    return number


_READERS: dict[str, Callable[[Numbers], Value]] = {
    "PR": _read_log10,
    "MAR": _read_marginals,
    "MAP": _read_states,
    "MMAP": _read_some_states,
}
_WRITERS: dict[str, Callable[[Any], list[Any]]] = {
    "PR": lambda value: [float(value)],
    "MAR": _marginal_words,
    "MAP": _state_words,
    "MMAP": _some_words,
}
