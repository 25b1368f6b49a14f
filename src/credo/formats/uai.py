"""UAI files: models, evidence and results of the inference competitions."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np

from credo._types import F64, Int, Label
from credo.exceptions import FileFormatError, InputError
from credo.formats._network import refuse_empty
from credo.formats._text import NumberFile, TextFile, output, read_bytes, shown
from credo.graphs.bayesian_network import TOLERANCE, BayesianNetwork
from credo.graphs.factor_graph import FactorGraph
from credo.graphs.markov_network import MarkovNetwork
from credo.graphs.wiring import Wiring, from_logs, starts

#: Any model.
Model: TypeAlias = BayesianNetwork | FactorGraph | MarkovNetwork
#: What a result holds: log10 of the partition function, a marginal per variable, a state per
#: variable, or states of some variables.
Value: TypeAlias = float | tuple[F64, ...] | Int | dict[int, int]

#: Most states, in all, of variables that stand in no function.
MOST_IDLE_STATES = 2**20
#: Most cells, in all, of the tables that stand for functions of no variable.
MOST_CONSTANT_CELLS = 2**24
_COMMENT = re.compile(r"#[^\r\n]*")
_FIRST = re.compile(r"\s*(\S+)")
_BEGIN = "-BEGIN-"


# --- models ---------------------------------------------------------------------------------


def read_uai(
    path: str | os.PathLike[str], *, log: bool | None = None
) -> BayesianNetwork | FactorGraph:
    """Read a model from a UAI file (.uai, .LG).

    Parameters
    ----------
    path : str or path
        The file, packed with gzip or not.
    log : bool, optional
        Whether the tables hold natural logs, ``-inf`` standing for zero; everything else is the
        same. By default they do in files called ``.LG`` (or ``.LG.gz``) and in no others.

    Returns
    -------
    BayesianNetwork or FactorGraph
        A MARKOV file gives a FactorGraph. A BAYES file gives a BayesianNetwork if its functions
        are one table per variable, the last of its scope, with rows that sum to 1 within 1e-4 and
        without a cycle; otherwise a FactorGraph, which is the same product.

    Raises
    ------
    FileFormatError
        If the file or its side-car is damaged; the text names the file, the line and the column.

    See Also
    --------
    write_uai : The way back.
    read_uai_evidence : Evidence for the model.
    read_network : Choose the reader by the name of the file.

    Notes
    -----
    The last variable of a scope is the fastest. The format knows no names: variables are called
    0, 1, … and their states 0, 1, …, unless a side-car ``model.uai.names.json`` stands beside
    ``model.uai`` (or ``model.uai.gz``). A side-car that does not fit the model is an error. A
    function of no variable, which is a constant, becomes a table of equal cells over the variable
    with the fewest states. Text from ``#`` to the end of a line is passed over. Time and memory are
    linear in the size of the file, whatever its preamble says.

    References
    ----------
    UAI inference competitions 2006 to 2022, "File formats".

    Examples
    --------
    >>> from credo.formats.uai import read_uai
    >>> file = getfixture("tmp_path") / "pair.uai"
    >>> _ = file.write_text("MARKOV 2 2 3 1 2 0 1 6 1 2 3 4 5 6")
    >>> read_uai(file).compile().values
    array([1., 2., 3., 4., 5., 6.])
    """
    in_logs = _is_log_name(path) if log is None else log
    source = TextFile.read(path, _COMMENT)
    kind, start = _first_word(source, ("MARKOV", "BAYES"))
    tables = _read_tables(NumberFile.of(source, start), log=in_logs)
    names, states = _read_labels(path, tables.sizes.tolist())
    net = _network(tables, names, states, log=in_logs) if kind == "BAYES" else None
    return _graph(tables, names, states, log=in_logs) if net is None else net


def write_uai(model: Model, path: str | os.PathLike[str], *, log: bool | None = None) -> None:
    """Write a model as a UAI file.

    Parameters
    ----------
    model : BayesianNetwork, FactorGraph or MarkovNetwork
        The model. It is not changed and not frozen.
    path : str or path
        Where to write; a name that ends in ``.gz`` is packed.
    log : bool, optional
        Whether to write natural logs, ``-inf`` for zero. By default this is done in files called
        ``.LG`` (or ``.LG.gz``) and in no others, as ``read_uai`` expects.

    Raises
    ------
    InputError
        If a table given in logs is too large or too small for plain numbers (pass ``log=True``),
        or if a label is neither text nor a number.

    See Also
    --------
    read_uai : The way back.

    Notes
    -----
    A Bayesian network is written as BAYES, all else as MARKOV. Plain numbers are read back bit for
    bit; logs of tables that were given as plain numbers to rounding. Names and states other than
    0, 1, … go to a side-car ``model.uai.names.json``, and ``read_uai`` takes them from there; if
    there are none, an old side-car is deleted. Rules (parity, noisy-OR, …) become tables; those
    that need auxiliary variables append them, with the same evidence, marginals and maxima for
    the variables of the model.

    Examples
    --------
    >>> from credo.formats.uai import read_uai, write_uai
    >>> from credo.graphs.factor_graph import FactorGraph
    >>> graph = FactorGraph()
    >>> rain = graph.variable("rain", ["no", "yes"])
    >>> _ = graph.factor([rain], [3.0, 1.0])
    >>> file = getfixture("tmp_path") / "rain.uai"
    >>> write_uai(graph, file)
    >>> read_uai(file)["rain"].states
    ('no', 'yes')
    """
    if not isinstance(model, Model):
        raise InputError(f"write_uai writes a model. Got {type(model).__name__}.")
    refuse_empty(model, "write_uai")
    wiring = model.copy().compile().tabulated(sum_product=False)
    names, states = _all_labels(wiring)
    labels = [names, *states]
    plain = all(type(x) is int and x == i for each in labels for i, x in enumerate(each))
    side_car, place = _side_car(path), Path(path)
    is_stream = str(place).startswith(("/dev/", "/proc/")) or (
        place.exists() and not place.is_file()
    )
    with output(path) as stream:
        stream.writelines(_lines(wiring, log=_is_log_name(path) if log is None else log))
        if not plain and side_car.parent.is_dir() and not is_stream:
            with output(side_car) as beside:
                kept = {"names": _packed(tuple(names)), "states": _packed(tuple(states))}
                beside.write(f"{json.dumps(kept, indent=0)}\n")
    if plain and not is_stream:
        side_car.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class _Tables:
    """The functions of a model: scopes and tables one after the other, as in the file.

    Function f touches ``scope[scope_start[f]:scope_start[f + 1]]`` and holds
    ``values[table_start[f]:table_start[f + 1]]``, the last variable being the fastest.
    """

    sizes: Int
    scope_start: Int
    scope: Int
    table_start: Int
    values: F64


def _read_tables(found: NumberFile, *, log: bool) -> _Tables:
    """Read the functions; every size is checked before anything is made of it."""
    count = found.whole(0, "the number of variables")
    if not count:
        found.fail(0, "A model must have at least one variable. Got 0.")
    sizes = np.array(found.wholes(1, count, "a number of states"), dtype=np.intp)
    if sizes.min() < 1:
        found.fail(1 + int(np.argmin(sizes)), "A variable must have at least one state. Got 0.")
    heads, end = _heads(found, count)
    lengths = np.diff(np.append(heads, end)) - 1
    scope = _scope(found, heads, lengths, end, count)
    _check_idle(found, sizes, scope)
    bare = lengths == 0
    smallest = int(np.argmin(sizes))
    if np.count_nonzero(bare) * int(sizes[smallest]) > MOST_CONSTANT_CELLS:
        found.fail(int(heads[np.argmax(bare)]), "Too many functions have no variables. Merge them.")
    cells = np.ones(len(lengths))
    if (~bare).any():
        with np.errstate(over="ignore"):  # in float64: a product beyond 2**53 is beyond any file
            first = starts(lengths)[:-1][~bare]
            cells[~bare] = np.multiply.reduceat(sizes[scope].astype(np.float64), first)
    values = _values(found, end, cells, log=log)
    if bare.any():  # a constant goes over the smallest variable: all its states alike
        scope = np.insert(scope, starts(lengths)[:-1][bare], smallest)
        values = np.repeat(values, np.repeat(np.where(bare, sizes[smallest], 1), cells.astype(int)))
        lengths, cells = np.where(bare, 1, lengths), np.where(bare, sizes[smallest], cells)
    return _Tables(sizes, starts(lengths), scope, starts(cells), values)


def _check_idle(found: NumberFile, sizes: Int, scope: Int) -> None:
    """Check variables of no function: nothing else in the file bounds their states."""
    idle = np.ones(len(sizes), dtype=bool)
    idle[scope] = False
    total = np.cumsum(np.where(idle, sizes, 0.0))
    if total[-1] > MOST_IDLE_STATES:
        worst = int(np.argmax(total > MOST_IDLE_STATES))
        reason = (
            f"Variable {worst} has {sizes[worst]} states and stands in no function; such variables "
            f"may have {MOST_IDLE_STATES} in all. Correct the number."
        )
        found.fail(1 + worst, reason)


def _heads(found: NumberFile, count: int) -> tuple[Int, int]:
    """Find where the scope of each function starts, and where the last ends."""
    position, numbers = count + 2, found.values
    heads: list[int] = []
    for _ in range(found.whole(count + 1, "the number of functions")):
        length = numbers.item(position) if position < len(numbers) else -1.0
        if not (0 <= length <= count and length.is_integer()):
            found.whole(position, "the number of variables of a function")
            reason = f"A function cannot have {length:g} variables: there are {count} in all."
            found.fail(position, reason)
        heads.append(position)
        position += 1 + int(length)
    if position > len(found):
        found.fail(len(found), "The file ends inside the scopes of functions. It is cut off.")
    return np.array(heads, dtype=np.intp), position


def _scope(found: NumberFile, heads: Int, lengths: Int, end: int, count: int) -> Int:
    """Take the variables of all functions, each of which must be known and stand once."""
    places = np.delete(np.arange(count + 2, end), heads - (count + 2))
    numbers = found.values[places]
    good = (numbers >= 0) & (numbers < count) & (numbers == np.floor(numbers))
    if not good.all():
        worst = int(places[np.argmin(good)])
        value = found.whole(worst, "the number of a variable")
        found.fail(worst, f"There is no variable {value}: they are numbered 0 to {count - 1}.")
    scope = numbers.astype(np.intp)
    owner = np.repeat(np.arange(len(heads)), lengths)
    order = np.lexsort((scope, owner))
    same = (np.diff(scope[order]) == 0) & (np.diff(owner[order]) == 0)
    if same.any():
        worst = int(places[order[1:][same].min()])
        found.fail(worst, f"Variable {int(found.values[worst])} stands twice in one function.")
    return scope


def _values(found: NumberFile, start: int, cells: F64, *, log: bool) -> F64:
    """Take the tables, each of which states its size first."""
    with np.errstate(over="ignore"):
        ends = start + np.cumsum(1 + cells)
    heads = np.append(start, ends)[:-1] if len(cells) else np.empty(0)
    there = heads[heads < len(found)].astype(np.intp)
    odd = found.values[there] != cells[: len(there)]
    if odd.any():
        number = int(np.argmax(odd))
        reason = (
            f"The table of function {number} must hold {cells[number]:.15g} numbers, as many as "
            f"its variables have joint states. Got {found.values[there[number]]:.15g}."
        )
        found.fail(int(there[number]), reason)
    end = float(ends[-1]) if len(cells) else start
    if end > len(found):
        found.fail(len(found), "The file ends inside a table. It is cut off; fetch it again.")
    if end < len(found):
        found.fail(int(end), "There are more numbers than the preamble says. Remove them.")
    places = np.delete(np.arange(start, int(end)), there - start)
    values = found.values[places]
    good = values < np.inf if log else (values >= 0) & (values < np.inf)
    if not good.all():
        worst = int(places[np.argmin(good)])
        what = "a log that is finite or -inf" if log else "a finite number that is at least 0"
        hint = "" if log else " If the file holds logs, pass log=True."
        found.fail(worst, f"Expected {what}, got {found.values.item(worst)!r}.{hint}")
    if len(cells):
        first = starts(cells)[:-1]
        empty = np.maximum.reduceat(values, first) <= (-np.inf if log else 0)
        if empty.any():
            number = int(np.argmax(empty))
            reason = f"The table of function {number} is all zero: no joint state is possible."
            found.fail(int(places[first[number]]), reason)
    return values


def _network(
    tables: _Tables, names: list[Any], states: list[Any], *, log: bool
) -> BayesianNetwork | None:
    """Make a network of a BAYES file, or None if it is not one."""
    ends = tables.scope[tables.scope_start[1:] - 1]
    if sorted(ends.tolist()) != list(range(len(names))):
        return None
    with np.errstate(over="ignore", under="ignore"):
        values = np.exp(tables.values) if log else tables.values
        columns = tables.sizes[ends]
        widths = np.repeat(columns, np.diff(tables.table_start) // columns)
        sums = np.add.reduceat(values, np.cumsum(widths) - widths)
    if not (np.abs(sums - 1) <= TOLERANCE).all():
        return None
    scopes, cells = tables.scope_start.tolist(), tables.table_start.tolist()
    order = np.argsort(ends).tolist()
    parents = [tables.scope[scopes[f] : scopes[f + 1] - 1].tolist() for f in order]
    flat = np.concatenate([values[cells[f] : cells[f + 1]] for f in order])
    try:
        return BayesianNetwork.from_arrays(names, states, parents, flat)
    except InputError:  # a cycle: all else has been checked
        return None


def _graph(tables: _Tables, names: list[Any], states: list[Any], *, log: bool) -> FactorGraph:
    """Make a factor graph of checked arrays, without an object for each factor."""
    count = len(tables.scope_start) - 1
    values, log_scale, log_values = tables.values, np.zeros(count), None
    if log:
        values, log_scale, log_values = from_logs(tables.values, tables.table_start)
    return FactorGraph._of_arrays(  # noqa: SLF001 - the way for arrays that were checked
        Wiring(
            names=tuple(names),
            states=tuple(states),
            n_states=tables.sizes.astype(np.int64),
            scope_start=tables.scope_start.astype(np.int64),
            scope=tables.scope.astype(np.int32),
            table=np.arange(count, dtype=np.int32),
            table_start=tables.table_start.astype(np.int64),
            values=values,
            log_scale=log_scale,
            log_values=log_values,
            owner=np.full(count, -1, dtype=np.int32),
        )
    )


def _lines(wiring: Wiring, *, log: bool) -> Iterator[str]:
    """Return the lines of a model; a table that several factors share is turned to text once."""
    ends = wiring.scope[wiring.scope_start[1:] - 1]
    directed = (
        len(wiring.table) == len(wiring.n_states)
        and (wiring.owner == ends).all()
        and (np.bincount(ends, minlength=len(ends)) == 1).all()
    )
    yield f"{'BAYES' if directed else 'MARKOV'}\n{len(wiring.n_states)}\n"
    yield f"{' '.join(map(str, wiring.n_states.tolist()))}\n{len(wiring.table)}\n"
    for start, stop in pairwise(wiring.scope_start.tolist()):
        yield f"{stop - start} {' '.join(map(str, wiring.scope[start:stop].tolist()))}\n"
    used = np.bincount(wiring.table, minlength=len(wiring.log_scale))
    kept: dict[int, str] = {}
    for table in wiring.table.tolist():
        text = kept.get(table)
        if text is None:
            numbers = _table(wiring, table, log=log)
            text = f"\n{len(numbers)}\n{' '.join(map(repr, numbers.tolist()))}\n"
        if used[table] > 1:
            kept[table] = text
        yield text


def _table(wiring: Wiring, table: int, *, log: bool) -> F64:
    """Return the numbers of one table, or their logs."""
    cells = slice(*wiring.table_start[table : table + 2].tolist())
    values, scale = wiring.values[cells], float(wiring.log_scale[table])
    logs = None if wiring.log_values is None else wiring.log_values[cells]
    with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
        if log:
            return (np.log(values) if logs is None else logs) + scale
        numbers = values * np.exp(scale) if scale else values
    possible = values > 0 if logs is None else logs > -np.inf
    if not (np.isfinite(numbers).all() and (numbers > 0)[possible].all()):
        raise InputError(
            "write_uai: a table given in logs is too large or too small for plain numbers. "
            "Pass log=True to write logs."
        )
    return numbers


def _is_log_name(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file is called as one that holds logs."""
    return os.fspath(path).lower().removesuffix(".gz").endswith(".lg")


def _first_word(source: TextFile, known: Sequence[str]) -> tuple[str, int]:
    """Return the word that tells what a file holds, and where the rest starts."""
    first = _FIRST.match(source.text)
    kind = first[1].upper() if first else ""
    if first is None or kind not in known:
        got = shown(first[1]) if first else "nothing"
        reason = f"Expected {' or '.join(known)} at the start, got {got}. Is it another format?"
        source.fail(first.start(1) if first else 0, reason)
    return kind, first.end()


# --- names, which the format itself does not know: a file beside it --------------------------


def _side_car(path: str | os.PathLike[str]) -> Path:
    """Return the name of the side-car: ``model.uai.names.json``, also beside ``model.uai.gz``."""
    name = os.fspath(path)
    return Path((name[:-3] if name.lower().endswith(".gz") else name) + ".names.json")


def _read_labels(path: str | os.PathLike[str], sizes: list[int]) -> tuple[list[Any], list[Any]]:
    """Return names and states: those of the side-car, or numbers."""
    side_car = _side_car(path)
    if not side_car.exists():
        ranges = {size: tuple(range(size)) for size in set(sizes)}
        return list(range(len(sizes))), [ranges[size] for size in sizes]
    try:
        value = json.loads(read_bytes(side_car))
        names, states = _unpacked(value["names"]), _unpacked(value["states"])
        labels = [names, *states]
        if not all(isinstance(each, tuple) and len(set(each)) == len(each) for each in labels) or [
            len(each) for each in labels
        ] != [len(sizes), *sizes]:
            raise ValueError("too few")  # noqa: TRY301 - said below
    except json.JSONDecodeError as error:
        reason = f"The side-car with the names is damaged: {error.msg}. Restore or delete it."
        raise FileFormatError(reason, str(side_car), error.lineno, error.colno) from None
    except FileFormatError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError):
        reason = (
            f'The side-car must be JSON with two lists, "names" and "states": a name and states '
            f"for each of the {len(sizes)} variables of the model, all different. Restore or "
            "delete it."
        )
        raise FileFormatError(reason, str(side_car)) from None
    return list(names), list(states)


def _all_labels(wiring: Wiring) -> tuple[list[Any], list[Any]]:
    """Return the names and states of all variables, auxiliary ones too."""
    names, states = list(wiring.names), list(wiring.states)
    for number, size in enumerate(wiring.n_states[len(names) :].tolist(), 1):
        name = f"auxiliary {number}"
        while name in names:
            name += "'"
        names.append(name)
        states.append(tuple(range(size)))
    return names, states


def _packed(label: Hashable) -> Any:
    """Return a label as JSON knows it: text, a number, a boolean, None, or a list for a tuple."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, tuple):
        return [_packed(part) for part in label]
    if _is_plain(label):
        return label
    raise InputError(
        f"The label {label!r} cannot be written to a file: it is neither text nor a number. "
        "Rename it."
    )


def _unpacked(value: Any) -> Any:
    """Turn a value of JSON into a label again; raise ValueError if it cannot be one."""
    if isinstance(value, list):
        return tuple(_unpacked(part) for part in value)
    if _is_plain(value):
        return value
    raise ValueError(f"{value!r} is not a label")


def _is_plain(value: object) -> bool:
    """Tell whether it is text, a finite number, a boolean or None."""
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)


# --- evidence -------------------------------------------------------------------------------


def read_uai_evidence(path: str | os.PathLike[str], model: Model) -> dict[Label, Label]:
    """Read evidence from a UAI file (.evid).

    Parameters
    ----------
    path : str or path
        The file.
    model : BayesianNetwork, FactorGraph or MarkovNetwork
        The model that it belongs to; gives the names.

    Returns
    -------
    dict
        ``{name: state}`` in the order of the file; empty if nothing is observed.

    Raises
    ------
    FileFormatError
        If the file is damaged, or names a variable or a state that the model does not have, or two
        states for one variable.

    See Also
    --------
    write_uai_evidence : The way back.

    Notes
    -----
    The number of observed variables is followed by pairs of variable and state. A file that starts
    with 0 has no evidence, whatever follows. Files from before 2010, in which a number of sets
    comes first, are refused.

    Examples
    --------
    >>> from credo.formats.uai import read_uai, read_uai_evidence
    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "pair.uai").write_text("MARKOV 2 2 3 1 2 0 1 6 1 2 3 4 5 6")
    >>> _ = (folder / "pair.uai.evid").write_text("1 1 2")
    >>> read_uai_evidence(folder / "pair.uai.evid", read_uai(folder / "pair.uai"))
    {1: 2}
    """
    found = NumberFile.of(TextFile.read(path))
    count = found.whole(0, "the number of observed variables") if len(found) else 0
    if count and len(found) != 1 + 2 * count:
        reason = (
            f"Evidence on {count} variables takes {1 + 2 * count} numbers. Got {len(found)}. "
            "Write the number of pairs, then variable and state for each. Files from before 2010 "
            "begin with a number of sets: remove it."
        )
        found.fail(0, reason)
    evidence: dict[Label, Label] = {}
    variables = model.variables
    for position in range(1, 1 + 2 * count, 2):
        place = found.whole(position, "the number of a variable")
        if place >= len(variables):
            reason = f"There is no variable {place}: the model has {len(variables)}, from 0 on."
            found.fail(position, reason)
        name, states = variables[place].name, variables[place].states
        state = found.whole(position + 1, "the number of a state")
        if state >= len(states):
            reason = f"Variable {place} has no state {state}: it has {len(states)}, from 0 on."
            found.fail(position + 1, reason)
        if evidence.setdefault(name, states[state]) != states[state]:
            found.fail(position, f"Variable {name!r} is observed in two states. Remove one.")
    return evidence


def write_uai_evidence(
    evidence: Mapping[Any, Any], path: str | os.PathLike[str], model: Model
) -> None:
    r"""Write evidence as a UAI file.

    Parameters
    ----------
    evidence : dict
        ``{name: state}``, one state each.
    path : str or path
        Where to write; a name that ends in ``.gz`` is packed.
    model : BayesianNetwork, FactorGraph or MarkovNetwork
        The model that it belongs to; gives the numbers.

    Raises
    ------
    LabelError
        If a variable or a state is not known.
    InputError
        If the evidence is no mapping, as when the path is passed first.

    See Also
    --------
    read_uai_evidence : The way back.

    Examples
    --------
    >>> from credo.formats.uai import write_uai_evidence
    >>> from credo.graphs.factor_graph import FactorGraph
    >>> graph = FactorGraph()
    >>> _ = graph.variable("rain", ["no", "yes"]), graph.variable("wet", ["no", "yes"])
    >>> file = getfixture("tmp_path") / "wet.uai.evid"
    >>> write_uai_evidence({"wet": "yes"}, file, graph)
    >>> file.read_text()
    '1 1 1\n'
    """
    if not isinstance(evidence, Mapping):
        raise InputError(
            "write_uai_evidence takes the evidence {name: state}, then the path, then the model. "
            f"Got {type(evidence).__name__} for the evidence."
        )
    places = {name: index for index, name in enumerate(model.names)}
    words = [len(evidence)]
    for name, state in evidence.items():
        variable = model[name]
        words += [places[variable.name], variable.index(state)]
    with output(path) as stream:
        stream.write(f"{' '.join(map(str, words))}\n")


# --- results --------------------------------------------------------------------------------


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
    >>> from credo.formats.uai import read_uai_result
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
    Files from before 2010, in which a number of sets of evidence comes first, are refused.

    Examples
    --------
    >>> from credo.formats.uai import read_uai_result
    >>> file = getfixture("tmp_path") / "pair.uai.MAR"
    >>> _ = file.write_text("MAR\n2 2 0.25 0.75 2 0.5 0.5\n")
    >>> read_uai_result(file).value
    (array([0.25, 0.75]), array([0.5, 0.5]))
    """
    source = TextFile.read(path)
    kind, start = _first_word(source, (*_READERS, "MPE"))
    kind = "MAP" if kind == "MPE" else kind
    last = source.text.rfind(_BEGIN)
    found = NumberFile.of(source, start if last < 0 else last + len(_BEGIN))
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
    >>> from credo.formats.uai import write_uai_result
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


def _read_log10(found: NumberFile) -> float:
    """Read a single number."""
    if len(found) > 1:
        found.fail(1, f"Expected one number, log10 of the partition function. Got {len(found)}.")
    value = float(found.values[0])
    if math.isnan(value):
        found.fail(0, "Expected log10 of the partition function, got nan.")
    return value


def _read_marginals(found: NumberFile) -> tuple[F64, ...]:
    """Read the number of variables, then a number of states and probabilities for each."""
    marginals: list[F64] = []
    position, numbers = 1, found.values
    while position < len(numbers):
        length = found.whole(position, "a number of states")
        marginal = numbers[position + 1 : position + 1 + length].copy()
        good = (marginal >= 0) & (marginal < np.inf)
        if not good.all():
            worst = position + 1 + int(np.argmin(good))
            found.fail(worst, f"Expected a probability, got {numbers.item(worst)!r}.")
        marginals.append(marginal)
        position += 1 + max(length, 1)
    if len(marginals) != numbers[0] or position != len(numbers):
        reason = (
            "The lengths of the marginals do not add up to the file. It must hold the number of "
            "variables, and for each the number of its states and as many probabilities."
        )
        found.fail(0, reason)
    return tuple(marginals)


def _read_states(found: NumberFile) -> Int:
    """Read the number of variables and a state for each."""
    return np.array(_read_counted(found, 1, "variables and a state for each"), dtype=np.intp)


def _read_some_states(found: NumberFile) -> dict[int, int]:
    """Read the number of variables, then a variable and a state for each."""
    words = _read_counted(found, 2, "variables and a pair of variable and state for each")
    states = dict(zip(words[::2], words[1::2], strict=True))
    if len(states) < len(words) // 2:
        found.fail(0, "A variable is listed twice. Remove one.")
    return states


def _read_counted(found: NumberFile, width: int, what: str) -> list[int]:
    """Read a count and as many groups of whole numbers."""
    if len(found) != 1 + width * found.values.item(0):
        found.fail(0, f"Expected the number of {what}. Got {len(found)} numbers in all.")
    return found.wholes(1, len(found) - 1, "a whole number")


def _some_words(value: Mapping[int, int]) -> list[int]:
    """Return pairs of variable and state after their number."""
    pairs = [(_number(variable), _number(state)) for variable, state in value.items()]
    return [len(pairs), *(word for pair in pairs for word in pair)]


def _marginal_words(value: Any) -> list[float]:
    """Return the marginals, each after its length, after their number."""
    marginals = [np.asarray(marginal, dtype=np.float64) for marginal in value]
    if any(m.ndim != 1 or not m.size or not (m >= 0).all() for m in marginals):
        raise ValueError("each marginal must be a list of probabilities")
    return [len(marginals), *(word for m in marginals for word in (m.size, *m.tolist()))]


def _state_words(value: Any) -> list[int]:
    """Return the states after their number."""
    states = [_number(state) for state in value]
    return [len(states), *states]


def _number(value: Any) -> int:
    """Check the number of a variable or a state."""
    number = int(value)
    if number != value or number < 0:
        raise ValueError(f"{value!r} is not the number of a variable or state")
    return number


_READERS: dict[str, Callable[[NumberFile], Value]] = {
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
