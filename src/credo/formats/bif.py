"""Bayesian networks as BIF files, in the dialects of bnlearn, pgmpy, pyAgrum and JavaBayes."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product, repeat
from operator import add
from typing import NamedTuple, Never, TypeAlias

import numpy as np

from credo import _checks as check
from credo._types import F64
from credo.exceptions import FileFormatError
from credo.formats._network import (
    Declared,
    Written,
    in_quotes,
    network,
    printable,
    row_name,
    written,
)
from credo.formats._text import BlockFile, floats, is_number, output, shown
from credo.graphs.bayesian_network import BayesianNetwork
from credo.graphs.wiring import ranges, starts

#: The states of a variable, and their numbers.
_States: TypeAlias = dict[str, int]
#: Where the head of a block starts, and where its braces open and close.
_Block: TypeAlias = tuple[int, int, int]

#: The most cells of all tables together, a gigabyte of numbers. A default row fills many cells
#: from few bytes, so that the size of the file alone does not bound them.
MOST_CELLS = 2**27
#: A quoted name (group 1), a comment, or the start of one that does not end.
_SKIPPED = re.compile(r'("(?:\\["\\]|[^"\r\n])*+")|//[^\r\n]*|/\*.*?\*/|"|/\*', re.DOTALL)
#: Names that other readers too take without quotes.
_PLAIN = re.compile(r"[A-Za-z0-9_.+%<>=-][A-Za-z0-9_.+%<>=/-]*")
_KEYWORDS = frozenset(
    {"network", "variable", "probability", "type", "discrete", "property", "table", "default"}
)
#: The states of the parents at the start of a row.
_LABELS = re.compile(r"\(([^();]*)\)")


def read_bif(path: str | os.PathLike[str]) -> BayesianNetwork:
    """Read a Bayesian network from a BIF file.

    Parameters
    ----------
    path : str or path
        The file, packed with gzip or not; UTF-8 or Latin-1.

    Returns
    -------
    BayesianNetwork
        The network, with the variables in the order of their blocks. Names and states are text,
        also those that look like numbers.

    Raises
    ------
    FileFormatError
        If the file is damaged; the text names the file, the line, the column and the remedy.

    See Also
    --------
    write_bif : The way back.

    Notes
    -----
    A row ``(state, state) 0.1, 0.9;`` goes where the names of its states say, in whatever order
    rows are given; ``default`` fills the rows that are not given. In ``table``, the values of the
    first variable, the child, vary slowest and those of the last parent fastest, as pgmpy and
    pyAgrum read it. A name needs quotes if it holds one of ``{ } ( ) [ ] , ; | "``, or blanks
    that no comma sets apart; a quoted name may escape a quote by a backslash. Comments and
    properties are skipped. Numbers are those of ``float``, bit for bit; a row that sums to one
    within 1e-4 is divided by its sum.

    Time and memory are linear in the size of the file: a megabyte takes about 50 ms. A table may
    not have more cells than its block has numbers, unless it has a default row; all tables
    together may have 2**27 cells.

    References
    ----------
    .. [1] *The Interchange Format for Bayesian Networks*, appendix of G. Hulten and P. Domingos,
       *VFML*, University of Washington, 2003.

    Examples
    --------
    >>> from credo.formats.bif import read_bif
    >>> file = getfixture("tmp_path") / "rain.bif"
    >>> _ = file.write_text('''network example { }
    ... variable rain { type discrete [ 2 ] { no, yes }; }
    ... variable grass { type discrete [ 2 ] { dry, wet }; }
    ... probability ( rain ) { table 0.8, 0.2; }
    ... probability ( grass | rain ) { (yes) 0.1, 0.9; (no) 0.9, 0.1; }''')
    >>> read_bif(file).table("grass")
    rain  grass = dry  grass = wet
    no            0.9          0.1
    yes           0.1          0.9
    """
    source = BlockFile.of(path, _SKIPPED, ('"', "//", "/*"))
    variables: dict[str, _Variable] = {}
    chances: list[_Block] = []
    bodies: dict[str, _States] = {}
    for head, opened, closed in source.blocks():
        first = next(token for token in source.tokens(head, opened + 1) if token[0] != ";")
        if first[0] == "variable":
            _declare(source, (first.end(), opened, closed), variables, bodies)
        elif first[0] == "probability":
            chances.append((first.start(), opened, closed))
        elif first[0] != "network":
            what = "a block that starts with network, variable or probability"
            source.expected(f"{what} (other text belongs in /* a comment */)", first)
    if not variables:
        raise FileFormatError("The file declares no variable. Is it a BIF file?", source.path)
    return network(_parts(_tables(source, chances, variables)), source.path)


def write_bif(model: BayesianNetwork, path: str | os.PathLike[str]) -> None:
    """Write a Bayesian network as a BIF file.

    Parameters
    ----------
    model : BayesianNetwork
        The network. It is not changed and not frozen.
    path : str or path
        Where to write; a name that ends in ``.gz`` is packed.

    Raises
    ------
    InputError
        If the model is not a Bayesian network.

    See Also
    --------
    read_bif : The way back.

    Notes
    -----
    Numbers are written so that they are read back bit for bit, names in quotes where they need
    them. Labels that are not text are written as their text and come back as text; control
    characters become underscores. Rules (such as noisy-OR) are written out.

    Examples
    --------
    >>> from credo.formats.bif import write_bif
    >>> from credo.graphs.bayesian_network import BayesianNetwork
    >>> net = BayesianNetwork()
    >>> _ = net.variable("heavy rain", ["no", "yes"])
    >>> _ = net.cpt("heavy rain", table=[0.75, 0.25])
    >>> file = getfixture("tmp_path") / "rain.bif"
    >>> write_bif(net, file)
    >>> print(file.read_text())
    network unknown {
    }
    variable "heavy rain" {
      type discrete [ 2 ] { no, yes };
    }
    probability ( "heavy rain" ) {
      table 0.75, 0.25;
    }
    """
    variables = written(model, "write_bif", printable, printable)
    states = {each.name: [_quoted(state) for state in each.states] for each in variables}
    with output(path) as stream:
        stream.write("network unknown {\n}\n")
        for each in variables:
            listed = ", ".join(states[each.name])
            stream.write(f"variable {_quoted(each.name)} {{\n")
            stream.write(f"  type discrete [ {len(each.states)} ] {{ {listed} }};\n}}\n")
        for each in variables:
            stream.write(_table_text(each, states))


def _table_text(variable: Written, states: dict[str, list[str]]) -> str:
    """Return the block of a table."""
    rows = variable.table.reshape(-1, variable.table.shape[-1]).tolist()
    name = _quoted(variable.name)
    if not variable.parents:
        return f"probability ( {name} ) {{\n  table {', '.join(map(repr, rows[0]))};\n}}\n"
    given = product(*(states[parent] for parent in variable.parents))
    lines = [
        f"  ({', '.join(labels)}) {', '.join(map(repr, row))};\n"
        for labels, row in zip(given, rows, strict=True)
    ]
    parents = ", ".join(map(_quoted, variable.parents))
    return f"probability ( {name} | {parents} ) {{\n{''.join(lines)}}}\n"


def _quoted(name: str) -> str:
    """Return a name, in quotes if it needs them."""
    if _PLAIN.fullmatch(name) and "//" not in name and name not in _KEYWORDS:
        return name
    return in_quotes(name)


# --- variables ------------------------------------------------------------------------------


class _Variable(NamedTuple):
    """A declared variable: its states, and where it stands."""

    states: _States
    place: int


def _declare(
    source: BlockFile,
    block: _Block,
    variables: dict[str, _Variable],
    bodies: dict[str, _States],
) -> None:
    """Add a variable; most share their ``bodies`` with others, which are read once."""
    head, opened, closed = block
    names = source.phrases(head, opened)
    sign = source.first_sign(head, opened + 1)
    if len(names) != 1 or sign.start() < opened:
        what = "the name of one variable (in quotes if it holds signs)"
        source.expected(what, sign if sign.start() < opened or not names else names[1])
    name, body = source.name(names[0][0]), source.text[opened:closed]
    if name in variables:
        reason = f"The variable {name!r} is declared twice. Rename one."
        source.fail(names[0].start(), reason)
    if body not in bodies:
        bodies[body] = _body(source, name, opened, closed)
    variables[name] = _Variable(bodies[body], names[0].start())


def _body(source: BlockFile, name: str, opened: int, closed: int) -> _States:
    """Read the states of a variable."""
    states: _States = {}
    for start, stop in source.statements(opened, closed):
        tokens = source.tokens(start, stop + 1)
        if tokens[0][0] == "type" and not states:
            states = _states(source, name, tokens)
        elif tokens[0][0] != "property":
            source.expected("one type, or property", tokens[0])
    if not states:
        source.fail(closed, "Expected a type, such as: type discrete [ 2 ] { yes, no };")
    return states


def _states(source: BlockFile, name: str, tokens: list[re.Match[str]]) -> _States:
    """Return the states that a type lists, which must differ."""
    states: _States = {}
    for token in _read_states(source, name, tokens):
        state = source.name(token[0])
        if state in states:
            reason = f"The state {state!r} is listed twice. Rename or remove one."
            source.fail(token.start(), reason)
        states[state] = len(states)
    return states


def _read_states(source: BlockFile, name: str, tokens: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return the states in ``type discrete [ 2 ] { yes, no };``."""
    words = [token[0] for token in tokens]
    if words[1:3] + words[4:6] != ["discrete", "[", "]", "{"]:
        source.expected("discrete [ number of states ] { states }", tokens[1])
    if not words[3].isdecimal() or len(words[3]) > 18:
        source.expected("the number of states", tokens[3])
    first, end = tokens[6], source.first_sign(tokens[6].start())
    if end[0] != "}" or end.start() != tokens[-2].start():
        source.expected("names of states, then };", tokens[-2] if end[0] == "}" else end)
    if first.start() == end.start():
        source.expected("at least one state", first)
    count, listed = int(words[3]), tokens[6:-2]
    if len(listed) != count:
        listed = source.phrases(first.start(), end.start())
    if len(listed) != count:
        reason = f"The variable {name!r} declares {count} states but lists {len(listed)}."
        source.fail(first.start(), f"{reason} Mend the number, or separate states by commas.")
    return listed


# --- tables ---------------------------------------------------------------------------------


def _tables(
    source: BlockFile, blocks: Sequence[_Block], variables: dict[str, _Variable]
) -> list[_Table]:
    """Return the tables in the order of the variables; each variable must have one."""
    tables: dict[str, _Table] = {}
    for head, opened, closed in blocks:
        child, *parents = _members(source, head, opened, variables)
        if child in tables:
            reason = f"The probabilities of {child!r} are given twice. Remove one of the blocks."
            source.fail(head, reason)
        states = [variables[name].states for name in parents]
        own = variables[child].states
        tables[child] = _Table(source, child, parents, states, own, opened, closed)
    for name, variable in variables.items():
        if name not in tables:
            reason = f"The variable {name!r} has no probabilities. Add: probability ( {name} ) …"
            source.fail(variable.place, reason)
    return [tables[name] for name in variables]


def _members(
    source: BlockFile, head: int, opened: int, variables: dict[str, _Variable]
) -> list[str]:
    """Return the variables in the head of a table, the child first."""
    _, first, *rest = source.tokens(head, opened + 1)
    inner = rest[:-2]
    if first[0] != "(" or not inner or rest[-2][0] != ")":
        source.expected("( child | parents ) after probability", first)
    sign = source.first_sign(first.end())
    if sign.start() < rest[-2].start():
        source.expected("names of variables between the brackets", sign)
    if any(source.name(token[0]) not in variables for token in inner):
        inner = source.phrases(first.end(), sign.start())
    names = [source.name(token[0]) for token in inner]
    for name, token in zip(names, inner, strict=True):
        if name not in variables:
            near = check.hint(name, list(variables))
            source.fail(token.start(), f"No variable {name!r} is declared.{near}")
    if len(set(names)) < len(names):
        reason = f"A variable occurs twice in the head of {names[0]!r}. Name each parent once."
        source.fail(head, reason)
    return names


@dataclass(frozen=True)
class _Table:
    """The block of one table: whose it is, and where its braces are."""

    source: BlockFile
    child: str
    parents: list[str]
    states: list[_States]
    own: _States
    opened: int
    closed: int

    @cached_property
    def n_rows(self) -> int:
        """The number of joint states of the parents."""
        return math.prod(map(len, self.states))

    def part(self, values: F64) -> Declared:
        """Return the variable with its numbers."""
        return Declared(self.child, tuple(self.own), tuple(self.parents), values, self.where)

    def where(self, row: int) -> tuple[int, int]:
        """Return line and column of a row."""
        given, default = self.statements()
        place = given[row][0] if row in given else default[0] if default else self.opened
        return self.source.where(place)

    def rows(self, known: dict[tuple[str, ...], list[int] | None]) -> tuple[str, list[int]] | None:
        """Cut a table of rows only, all of them and nothing odd; None for others.

        Gives the text of its numbers, in which "inf" stands for the labels before each row, and
        which row of the text each row of the table is. Many tables share their labels: ``known``
        keeps what was made of them.
        """
        body = self.source.text[self.opened + 1 : self.closed]
        if "default" in body or "property" in body:
            return None
        if not self.parents:
            before, *numbers = body.split("table")
            return (f" inf {numbers[0]}", [0]) if len(numbers) == 1 and not before.strip() else None
        pieces = _LABELS.split(body)
        if len(pieces) != 2 * self.n_rows + 1 or pieces[0].strip():
            return None
        labels = ";".join([*pieces[1::2], ""])
        key = labels, *map(str, map(id, self.states))
        if key not in known:
            known[key] = self._order(labels)
        order = known[key]
        return None if order is None else (" inf ".join(pieces[::2]), order)

    def _order(self, labels: str) -> list[int] | None:
        """Find which of the rows with these labels is the first, the second … of the table."""
        names = self.source.names(labels)
        width, stride = len(self.states) + 1, self.n_rows
        if len(names) != width * self.n_rows or set(names[width - 1 :: width]) != {";"}:
            return None
        rows: Iterable[int] = repeat(0)
        for i, states in enumerate(self.states):
            stride //= len(states)
            steps = {state: number * stride for state, number in states.items()}
            rows = map(add, rows, map(steps.__getitem__, names[i::width]))
        try:
            places = {row: place for place, row in enumerate(rows)}
        except KeyError:  # a state that is not known, or spelt with blanks
            return None
        return [places[row] for row in range(self.n_rows)] if len(places) == self.n_rows else None

    def values(self) -> F64:
        """Read a table of any kind, statement by statement."""
        given, default = self.statements()
        if default is not None:
            table = np.tile(default[1], (self.n_rows, 1))
        elif len(given) == self.n_rows:
            table = np.empty((self.n_rows, len(self.own)))
        else:
            missing = next(row for row in range(self.n_rows) if row not in given)
            told = row_name(self.child, self.parents, list(map(list, self.states)), missing)
            reason = f"There are no probabilities of {told}. Add the row, or a default row."
            self.source.fail(self.closed, reason)
        if given:
            table[list(given)] = [numbers for _, numbers in given.values()]
        return table.ravel()

    def statements(
        self,
    ) -> tuple[dict[int, tuple[int, list[float]]], tuple[int, list[float]] | None]:
        """Read rows by their numbers, and the default row, each with its place."""
        given: dict[int, tuple[int, list[float]]] = {}
        default: tuple[int, list[float]] | None = None
        n_states = len(self.own)
        for start, stop in self.source.statements(self.opened, self.closed):
            kind, begin = self._kind(start, stop)
            if kind == "property":
                continue
            whole = kind == "table" and bool(self.parents)
            row = self._numbers(start, begin, stop, n_states * (self.n_rows if whole else 1))
            if kind == "default":
                if default is not None:
                    self._refuse_second(default[0], start)
                default = start, row
                continue
            index = self._row(start, begin) if kind == "(" else 0
            if index in given or (whole and given):
                self._refuse_second(given.get(index, next(iter(given.values())))[0], start)
            if whole:  # the child varies slowest
                given = {i: (start, row[i :: self.n_rows]) for i in range(self.n_rows)}
            else:
                given[index] = start, row
        return given, default

    def _kind(self, start: int, stop: int) -> tuple[str, int]:
        """Tell what a statement is by its start, and where its numbers begin."""
        if self.source.text[start] == "(":
            end = self.source.text.find(")", start, stop)
            if end < 0:
                self.source.fail(stop, "Expected ) after the states of the parents. Got ';'.")
            return "(", end + 1
        word = self.source.tokens(start, stop)[0]
        if word[0] not in ("table", "default", "property"):
            what = "a row such as (state, state) 0.1, 0.9; or the word table, default or property"
            self.source.expected(what, word)
        return word[0], word.end()

    def _row(self, start: int, stop: int) -> int:
        """Find the row that the states in brackets name; only commas separate names with blanks."""
        source = self.source
        sign = source.first_sign(start + 1)
        if sign.start() < stop - 1:
            source.expected("a state of a parent", sign)
        labels = source.tokens(start + 1, stop - 1)
        if len(labels) != len(self.parents):
            labels = source.phrases(start + 1, stop - 1)
        if len(labels) != len(self.parents):
            source.fail(
                start,
                f"Expected {len(self.parents)} states, one for each parent of {self.child!r} "
                f"({check.listing(self.parents) or 'none'}). Got {len(labels)}. Quote names that "
                f"hold commas.",
            )
        row = 0
        for parent, states, token in zip(self.parents, self.states, labels, strict=True):
            label = source.name(token[0])
            if label not in states:
                reason = f"{parent!r} has no state {label!r}.{check.hint(label, list(states))}"
                source.fail(token.start(), reason)
            row = row * len(states) + states[label]
        return row

    def _numbers(self, start: int, begin: int, stop: int, count: int) -> list[float]:
        """Read the numbers of a statement, which must be ``count`` probabilities."""
        words = self.source.tokens(begin, stop)
        for token in words:
            word = token[0]
            if is_number(word) and 0 <= float(word) < math.inf:
                continue
            remedy = "Check the number and the semicolon before it."
            if word.lower().lstrip("+-") == "nan":
                remedy = (
                    "R writes it for states that the data never showed: estimate them, or give a "
                    "row."
                )
            elif word.startswith("-"):
                remedy = "A probability is not negative."
            got = shown(self.source.name(word))
            self.source.fail(token.start(), f"Expected a probability. Got {got}. {remedy}")
        if len(words) != count:
            reason = f"Expected {count} probabilities for {self.child!r} here, one for each state."
            self.source.fail(start, f"{reason} Got {len(words)}.")
        return [float(token[0]) for token in words]

    def _refuse_second(self, first: int, second: int) -> Never:
        """Say that a row is given twice."""
        line, _ = self.source.where(first)
        reason = f"This row was given on line {line} already. Remove one of them."
        self.source.fail(second, reason)


def _parts(tables: Sequence[_Table]) -> list[Declared]:
    """Read all tables: those of rows only at once, the others statement by statement."""
    known: dict[tuple[str, ...], list[int] | None] = {}
    cut = [(table, *found) for table in tables if (found := table.rows(known)) is not None]
    read = _numbers(cut)
    odd = [table for table in tables if table.child not in read]
    n_cells = 0
    for table in odd:
        cells = table.n_rows * len(table.own)
        n_cells += cells
        _check_size(table, cells, n_cells)
        read[table.child] = table.values()
    return [table.part(read[table.child]) for table in tables]


def _numbers(cut: Sequence[tuple[_Table, str, list[int]]]) -> dict[str, F64]:
    """Read the numbers of all tables at once; nothing if there is something odd in them.

    Each row begins with inf, in place of its labels, and ends with nan, in place of its
    semicolon, so that one look at the numbers tells whether all rows have their shape.
    """
    text = " ".join([numbers for _, numbers, _ in cut])
    try:
        numbers = floats(text.replace(",", " ").replace(";", " nan "))
    except ValueError:
        return {}
    n_rows = np.array([len(order) for _, _, order in cut], np.intp)
    n_states = np.repeat(np.array([len(table.own) for table, _, _ in cut], np.intp), n_rows)
    first = starts(n_states + 2)
    if (
        numbers.size != first[-1]
        or not np.isposinf(numbers[first[:-1]]).all()
        or not np.isnan(numbers[first[1:] - 1]).all()
        or np.count_nonzero((numbers >= 0) & (numbers < np.inf)) != n_states.sum()
    ):
        return {}
    orders = np.fromiter(chain.from_iterable([order for _, _, order in cut]), np.intp)
    rows = np.repeat(np.cumsum(n_rows) - n_rows, n_rows) + orders
    cells = numbers[ranges(first[rows] + 1, n_states)]
    read: dict[str, F64] = {}
    end = 0
    for table, _, order in cut:
        begin, end = end, end + len(order) * len(table.own)
        read[table.child] = cells[begin:end]
    return read


def _check_size(table: _Table, cells: int, n_cells: int) -> None:
    """Refuse a table for which its block is too short, unless a default row fills the rest."""
    source, opened, closed = table.source, table.opened, table.closed
    if cells <= closed - opened:
        return
    if n_cells > MOST_CELLS:
        reason = (
            f"The table of {table.child!r} has {cells} cells; all tables together may have "
            f"{MOST_CELLS}. Give it fewer parents."
        )
        source.fail(opened, reason)
    if "default" not in source.text[opened:closed]:
        reason = (
            f"The table of {table.child!r} has {cells} cells, more than its block holds. Give a "
            f"row for all states of the parents, or a default row."
        )
        source.fail(opened, reason)
