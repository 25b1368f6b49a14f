"""XMLBIF 0.3, the XML interchange format of Bayesian networks."""

from __future__ import annotations

import os

from credo.formats._network import Declared, network, printable, written
from credo.formats._text import output
from credo.formats._xml import Element, escape, parse, table_of
from credo.graphs.bayesian_network import BayesianNetwork


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
        or if a row is not a distribution; the text names the file, the line and the column.

    See Also
    --------
    write_xmlbif : The way back.
    read_network : Choose the reader by the name of the file.

    Notes
    -----
    A table lists the child fastest and the first ``GIVEN`` slowest. Rows whose sum is off by no
    more than 1e-4 are divided by it, because published files are rounded. A document type may
    declare elements and attributes; entities are refused, so that no small file unpacks to a large
    one. Properties are passed over.

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
    rain = no  rain = yes
             0.75        0.25
    """
    root = parse(path)
    inside = root if root.tag.lower() == "network" else root.first("network")
    if inside is None:
        reason = f"Expected <BIF> with a <NETWORK>, got <{root.tag}>. Is it another format?"
        root.fail(reason)
    definitions: dict[str, Element] = {}
    for item in inside.named("definition", "probability"):
        owners = [owner.text for owner in item.named("for")]
        if len(owners) != 1 or owners[0] in definitions:
            item.fail(
                f"A definition must be for one variable, each once. Got {', '.join(owners) or 'no'}"
                " name in <FOR>. Split or remove it."
            )
        definitions[owners[0]] = item
    parts = [_part(item, definitions) for item in inside.named("variable")]
    declared = {part.name for part in parts}
    for owner, item in definitions.items():
        if owner not in declared:
            reason = f"There is a definition of {owner!r}, which is not declared. Declare it."
            item.fail(reason)
    return network(parts, root.path)


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
        If the model is not a Bayesian network.

    See Also
    --------
    read_xmlbif : The way back.

    Notes
    -----
    Numbers are written so that they are read back bit for bit. Labels that are not text are
    written as their text and come back as text; control characters become underscores. Rules
    (such as noisy-OR) are written out.

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
    ('False', 'True')
    """
    variables = written(model, "write_xmlbif", printable, printable)
    with output(path) as stream:
        stream.write('<?xml version="1.0" encoding="UTF-8"?>\n<BIF VERSION="0.3">\n<NETWORK>\n')
        for each in variables:
            stream.write(f'<VARIABLE TYPE="nature">\n\t<NAME>{escape(each.name)}</NAME>\n')
            stream.writelines(f"\t<OUTCOME>{escape(state)}</OUTCOME>\n" for state in each.states)
            stream.write("</VARIABLE>\n")
        for each in variables:
            stream.write(f"<DEFINITION>\n\t<FOR>{escape(each.name)}</FOR>\n")
            stream.writelines(f"\t<GIVEN>{escape(parent)}</GIVEN>\n" for parent in each.parents)
            values = " ".join(map(repr, each.table.ravel().tolist()))
            stream.write(f"\t<TABLE>{values}</TABLE>\n</DEFINITION>\n")
        stream.write("</NETWORK>\n</BIF>\n")


def _part(item: Element, definitions: dict[str, Element]) -> Declared:
    """Read one variable and its definition."""
    title = item.first("name")
    name = title.text if title else ""
    kind = {key.lower(): value for key, value in item.attributes.items()}.get("type", "nature")
    definition = definitions.get(name)
    table = definition and definition.first("table")
    if not name:
        item.fail("A variable has no <NAME>. Give it one.")
    if kind.lower() not in {"nature", "discrete"}:
        reason = f"Variable {name!r} is of type {kind!r}; only nature (chance) variables are read."
        item.fail(reason)
    if definition is None:
        item.fail(f"Variable {name!r} has no <DEFINITION>. Add one.")
    if table is None:
        definition.fail(f"The definition of {name!r} has no <TABLE>. Add it.")
    return Declared(
        name,
        tuple(state.text for state in item.named("outcome", "value")),
        tuple(parent.text for parent in definition.named("given")),
        table_of(table, name),
        lambda _: table.where,
    )
