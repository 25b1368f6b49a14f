"""XMLBIF 0.3, the XML interchange format of Bayesian networks."""

from __future__ import annotations

import os
from typing import IO
from xml.sax.saxutils import escape

from credo.exceptions import FileFormatError
from credo.formats._net_labels import NOTE, distinct, noted, printable
from credo.formats._net_output import output
from credo.formats._net_parts import Part, as_network, network, table_of
from credo.formats._text import read_bytes
from credo.formats._xml_tree import Element, parse
from credo.graphs.bayesian_network import BayesianNetwork

_NOTE = f"{NOTE} = "


def read_xmlbif(path: str | os.PathLike[str]) -> BayesianNetwork:
    """Read a Bayesian network from an XMLBIF file (.xml, .bifxml, .xmlbif).

    Parameters
    ----------
    path : str or path
        The file, packed with gzip or not.

    Returns
    -------
    BayesianNetwork
        Its variables in the order of the file; names and states are text.

    Raises
    ------
    FileFormatError
        If the file is damaged, if it declares entities, if a variable is a decision or a utility,
        or if a row is no distribution; the text names the file, the line and the column.

    See Also
    --------
    write_xmlbif : The way back.
    read_network : Choose the reader by the name of the file.

    Notes
    -----
    A table lists the child fastest and the first ``GIVEN`` slowest. Rows whose sum is off by no
    more than 1e-4 are divided by it, because published files are rounded. A document type may
    declare elements and attributes; entities are refused, so that no small file unpacks to a large
    one. A property ``credo_labels`` keeps labels that are not plain text, see ``write_xmlbif``.

    References
    ----------
    F. G. Cozman, "The Interchange Format for Bayesian Networks", version 0.3, 1998.

    Examples
    --------
    >>> from pathlib import Path
    >>> from credo.formats.xmlbif import read_xmlbif
    >>> text = '''<BIF VERSION="0.3"><NETWORK>
    ...   <VARIABLE TYPE="nature"><NAME>rain</NAME><OUTCOME>no</OUTCOME><OUTCOME>yes</OUTCOME>
    ...   </VARIABLE>
    ...   <DEFINITION><FOR>rain</FOR><TABLE>0.75 0.25</TABLE></DEFINITION>
    ... </NETWORK></BIF>'''
    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "rain.xml").write_text(text)
    >>> read_xmlbif(folder / "rain.xml").table("rain")
    array([0.75, 0.25])
    """
    name = os.fspath(path)
    root = parse(read_bytes(path), name)
    inside = root if root.tag.lower() == "network" else root.first("network")
    if inside is None:
        reason = f"Expected <BIF> with a <NETWORK>, got <{root.tag}>. Is it another format?"
        raise FileFormatError(reason, name, *root.where)
    definitions = _definitions(inside, name)
    parts = [_part(item, definitions, name) for item in inside.named("variable")]
    known = {part.name for part in parts}
    for owner, item in definitions.items():
        if owner not in known:
            reason = f"There is a definition of {owner!r}, which is not declared. Declare it."
            raise FileFormatError(reason, name, *item.where)
    return network(parts, name)


def write_xmlbif(model: BayesianNetwork, path: str | os.PathLike[str]) -> None:
    """Write a Bayesian network as an XMLBIF file.

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
    read_xmlbif : The way back.

    Notes
    -----
    Numbers are written so that they are read back bit for bit. Labels that are not text, or that
    XML would change, are written as text and kept in a property ``credo_labels``, which other
    programs pass over; they are read back as they were. Structured tables (noisy-OR and its kin)
    are written out.

    Examples
    --------
    >>> from credo.formats.xmlbif import read_xmlbif, write_xmlbif
    >>> from credo.graphs.bayesian_network import BayesianNetwork
    >>> net = BayesianNetwork()
    >>> _ = net.variable("rain", [False, True])
    >>> _ = net.cpt("rain", table=[0.75, 0.25])
    >>> file = getfixture("tmp_path") / "rain.xml"
    >>> write_xmlbif(net, file)
    >>> read_xmlbif(file)["rain"].states
    (False, True)
    """
    net = as_network(model, "write_xmlbif")
    names = distinct(net.names, printable)
    written = dict(zip(net.names, names, strict=True))
    with output(path) as stream:
        stream.write('<?xml version="1.0" encoding="UTF-8"?>\n<BIF VERSION="0.3">\n<NETWORK>\n')
        for variable, name in zip(net.variables, names, strict=True):
            states = distinct(variable.states, printable)
            note = noted(variable.name, variable.states, (name, states))
            _write_variable(stream, name, states, note)
        for variable in net.variables:
            given = [written[parent] for parent in net.parents(variable.name)]
            values = net.table(variable.name).ravel().tolist()
            _write_definition(stream, written[variable.name], given, values)
        stream.write("</NETWORK>\n</BIF>\n")


def _write_variable(stream: IO[str], name: str, states: list[str], note: str) -> None:
    """Write the declaration of one variable."""
    stream.write(f'<VARIABLE TYPE="nature">\n\t<NAME>{escape(name)}</NAME>\n')
    stream.writelines(f"\t<OUTCOME>{escape(state)}</OUTCOME>\n" for state in states)
    if note:
        stream.write(f"\t<PROPERTY>{_NOTE}{escape(note)}</PROPERTY>\n")
    stream.write("</VARIABLE>\n")


def _write_definition(stream: IO[str], name: str, given: list[str], values: list[float]) -> None:
    """Write one table."""
    stream.write(f"<DEFINITION>\n\t<FOR>{escape(name)}</FOR>\n")
    stream.writelines(f"\t<GIVEN>{escape(parent)}</GIVEN>\n" for parent in given)
    stream.write(f"\t<TABLE>{' '.join(map(repr, values))}</TABLE>\n</DEFINITION>\n")


def _definitions(inside: Element, path: str) -> dict[str, Element]:
    """Find the definition of each variable."""
    found: dict[str, Element] = {}
    for item in inside.named("definition", "probability"):
        owners = [owner.text for owner in item.named("for")]
        if len(owners) != 1 or owners[0] in found:
            reason = (
                f"A definition must be for one variable, each once. Got {', '.join(owners) or 'no'}"
                " name in <FOR>. Split or remove it."
            )
            raise FileFormatError(reason, path, *item.where)
        found[owners[0]] = item
    return found


def _part(item: Element, definitions: dict[str, Element], path: str) -> Part:
    """Read one variable and its definition."""
    title = item.first("name")
    name = title.text if title else ""
    kind = {key.lower(): value for key, value in item.attributes.items()}.get("type", "nature")
    if not name:
        raise FileFormatError("A variable has no <NAME>. Give it one.", path, *item.where)
    if kind.lower() not in {"nature", "discrete"}:
        reason = f"Variable {name!r} is of type {kind!r}; only nature (chance) variables are read."
        raise FileFormatError(reason, path, *item.where)
    if name not in definitions:
        reason = f"Variable {name!r} has no <DEFINITION>. Add one."
        raise FileFormatError(reason, path, *item.where)
    definition = definitions[name]
    table = definition.first("table")
    if table is None:
        reason = f"The definition of {name!r} has no <TABLE>. Add it."
        raise FileFormatError(reason, path, *definition.where)
    return Part(
        name,
        tuple(state.text for state in item.named("outcome", "value")),
        tuple(parent.text for parent in definition.named("given")),
        table_of(table.text.encode(), name, path, table.where),
        table.place,
        _note(item),
    )


def _note(item: Element) -> str:
    """Find the note on the labels of a variable."""
    texts = (note.text for note in item.named("property"))
    return next((text.removeprefix(_NOTE) for text in texts if text.startswith(_NOTE)), "")
