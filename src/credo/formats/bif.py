"""Bayesian networks as BIF files, in the dialects of bnlearn, pgmpy, pyAgrum and JavaBayes."""

from __future__ import annotations

import os
from itertools import product

import numpy as np

from credo._types import Label, Labels
from credo.exceptions import FileFormatError, InputError
from credo.formats._bif_blocks import Declared, declared
from credo.formats._bif_names import NOTED, quoted
from credo.formats._bif_rows import Tables, named_row, read_tables
from credo.formats._bif_tokens import Tokens, tokenised
from credo.formats._net_labels import NOTE, apply_note, distinct, noted, printable
from credo.formats._net_output import output
from credo.formats._net_parts import as_network
from credo.formats._text import read_bytes
from credo.graphs.bayesian_network import TOLERANCE, BayesianNetwork


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
    properties are skipped, but for the labels that ``write_bif`` keeps in one. Numbers are those
    of ``float``, bit for bit; a row that sums to one within 1e-4 is divided by its sum.

    Time and memory are linear in the size of the file: a megabyte takes about 20 ms. A table may
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
    array([[0.9, 0.1],
           [0.1, 0.9]])
    """
    tokens = tokenised(read_bytes(path), os.fspath(path))
    found = declared(tokens)
    tables = read_tables(tokens, found)
    names, states = _labels(tokens, found)
    try:
        return BayesianNetwork.from_arrays(names, states, found.parents, tables.values)
    except InputError as error:
        raise _refused(tokens, found, tables, error) from error


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
        If the model is no Bayesian network, or if a label is neither text nor a number.

    See Also
    --------
    read_bif : The way back.

    Notes
    -----
    Numbers are written so that they are read back bit for bit, names in quotes where they need
    them. A property ``credo_labels`` keeps labels that are not text, or that hold control
    characters, for reading back. Rules (noisy-OR and its kin) are written out.

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
    net = as_network(model, "write_bif")
    names = distinct(net.names, printable)
    written = dict(zip(net.names, map(quoted, names), strict=True))
    states: dict[Label, list[str]] = {}
    with output(path) as stream:
        stream.write("network unknown {\n}\n")
        for variable, name in zip(net.variables, names, strict=True):
            plain = distinct(variable.states, printable)
            note = noted(variable.name, variable.states, (name, plain))
            states[variable.name] = [quoted(state) for state in plain]
            listed = ", ".join(states[variable.name])
            stream.write(f"variable {written[variable.name]} {{\n")
            stream.write(f"  type discrete [ {len(plain)} ] {{ {listed} }};\n")
            stream.write(f"  property {quoted(f'{NOTE} {note}')} ;\n}}\n" if note else "}\n")
        for child in net.names:
            stream.write(_table_text(net, child, written, states))


def _table_text(
    net: BayesianNetwork, name: Label, written: dict[Label, str], states: dict[Label, list[str]]
) -> str:
    """Give the block of a table."""
    parents = net.parents(name)
    table = net.table(name)
    if not parents:
        numbers = ", ".join(map(repr, table.tolist()))
        return f"probability ( {written[name]} ) {{\n  table {numbers};\n}}\n"
    rows = zip(
        product(*(states[parent] for parent in parents)),
        table.reshape(-1, table.shape[-1]).tolist(),
        strict=True,
    )
    lines = [f"  ({', '.join(row)}) {', '.join(map(repr, numbers))};\n" for row, numbers in rows]
    given = ", ".join(written[parent] for parent in parents)
    return f"probability ( {written[name]} | {given} ) {{\n{''.join(lines)}}}\n"


def _labels(tokens: Tokens, found: Declared) -> tuple[list[Label], list[Labels]]:
    """Give names and states, as the notes of ``write_bif`` say where there are any."""
    names: list[Label] = list(found.names)
    states: list[Labels] = list(found.states)
    at = tokens.text.find(NOTED)
    while at >= 0:
        token = int(np.searchsorted(tokens.start, at))
        v = int(np.searchsorted(found.name_start, at)) - 1
        if token < tokens.kind.shape[0] and tokens.start[token] == at and v >= 0:
            note = tokens.decoded(tokens.spelt(token))[len(NOTED) :]
            try:
                names[v], states[v] = apply_note(note, names[v], states[v])
            except ValueError as error:
                reason = f"This property is damaged: {error}. Remove it."
                raise tokens.fault(token, reason) from error
        at = tokens.text.find(NOTED, at + 1)
    return names, states


def _refused(tokens: Tokens, found: Declared, tables: Tables, error: InputError) -> FileFormatError:
    """Say where the row is that a network refuses, if it is a row."""
    lengths = np.repeat([len(states) for states in found.states], np.diff(tables.first_row))
    totals = np.add.reduceat(tables.values, np.cumsum(lengths) - lengths)
    wrong = np.abs(totals - 1) > TOLERANCE
    if not wrong.any():
        return FileFormatError(str(error), tokens.path)
    row = int(np.argmax(wrong))
    reason = (
        f"The probabilities of {named_row(found, tables, row)} sum to {totals[row]:.9g}, not to 1 "
        f"within {TOLERANCE:g}. Mend the row."
    )
    return tokens.fault(int(tables.where[row]), reason)
