"""GeNIe XDSL files: Bayesian networks of discrete chance nodes."""

from __future__ import annotations

import json
import os
from typing import IO
from xml.sax.saxutils import escape

from credo._types import F64
from credo.formats._net_labels import NOTE, distinct, identifier, noted, printable
from credo.formats._net_output import output
from credo.formats._net_parts import as_network, network
from credo.formats._text import read_bytes
from credo.formats._xml_nodes import read_parts
from credo.graphs.bayesian_network import BayesianNetwork


def read_xdsl(path: str | os.PathLike[str]) -> BayesianNetwork:
    r"""Read a Bayesian network from a GeNIe XDSL file (.xdsl).

    Parameters
    ----------
    path : str or path
        The file, packed with gzip or not.

    Returns
    -------
    BayesianNetwork
        Its variables in the order of the file; names and states are the ``id`` of nodes and states.

    Raises
    ------
    FileFormatError
        If the file is damaged, if a node is a decision, a utility or of another kind that is not
        read, or if a row is no distribution; the text names the file, the line and the column.

    See Also
    --------
    write_xdsl : The way back.
    read_network : Choose the reader by the name of the file.

    Notes
    -----
    Tables list the child fastest and the first parent slowest. Rows whose sum is off by no more
    than 1e-4 are divided by it. Nodes ``cpt``, ``deterministic`` and ``noisymax`` are read; the
    latter two are written out as tables, together no more than 2\ :sup:`24` numbers. The
    ``parameters`` of a noisy-MAX node hold, for each parent, a row for each of its states in the
    order of ``strengths``, from the strongest to the one without effect, and the leak at the end;
    the child's states go from the strongest effect to none. Drawing and other extensions are passed
    over.

    References
    ----------
    F. J. Díez, "Parameter adjustment in Bayes networks: the generalized noisy OR-gate", 1993.

    Examples
    --------
    >>> from credo.formats.xdsl import read_xdsl
    >>> text = '''<smile version="1.0" id="weather"><nodes>
    ...   <cpt id="rain"><state id="no" /><state id="yes" />
    ...     <probabilities>0.75 0.25</probabilities></cpt>
    ...   <deterministic id="wet"><state id="dry" /><state id="wet" /><parents>rain</parents>
    ...     <resultingstates>dry wet</resultingstates></deterministic>
    ... </nodes></smile>'''
    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "rain.xdsl").write_text(text)
    >>> read_xdsl(folder / "rain.xdsl").table("wet")
    array([[1., 0.],
           [0., 1.]])
    """
    name = os.fspath(path)
    return network(read_parts(read_bytes(path), name), name)


def write_xdsl(model: BayesianNetwork, path: str | os.PathLike[str]) -> None:
    """Write a Bayesian network as a GeNIe XDSL file.

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
    read_xdsl : The way back.

    Notes
    -----
    Numbers are written so that they are read back bit for bit. GeNIe wants parents before their
    children, and names and states that are words of letters, digits and underscores; what differs
    is kept in a property ``credo_labels`` of the node, so that names, states and order are read
    back as they were. Structured tables (noisy-OR and its kin) are written out.

    Examples
    --------
    >>> from credo.formats.xdsl import read_xdsl, write_xdsl
    >>> from credo.graphs.bayesian_network import BayesianNetwork
    >>> net = BayesianNetwork()
    >>> _ = net.variable("rain", ["< 1 mm", "more"])
    >>> _ = net.cpt("rain", table=[0.75, 0.25])
    >>> file = getfixture("tmp_path") / "rain.xdsl"
    >>> write_xdsl(net, file)
    >>> read_xdsl(file)["rain"].states
    ('< 1 mm', 'more')
    """
    net = as_network(model, "write_xdsl")
    names = distinct(net.names, identifier)
    written = dict(zip(net.names, names, strict=True))
    variables, order = net.variables, _parents_first(net)
    moved = order != list(range(len(order)))
    with output(path) as stream:
        stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        stream.write('<smile version="1.0" id="network">\n  <nodes>\n')
        for index in order:
            variable = variables[index]
            states = distinct(variable.states, identifier)
            note = noted(variable.name, variable.states, (names[index], states))
            if moved:
                note = json.dumps({**json.loads(note or "{}"), "place": index})
            given = [written[parent] for parent in net.parents(variable.name)]
            _write_node(stream, (names[index], states, given, note), net.table(variable.name))
        stream.write('  </nodes>\n  <extensions>\n    <genie version="1.0" name="network">\n')
        for index in order:
            title = escape(printable(str(variables[index].name)))
            stream.write(f'      <node id="{names[index]}"><name>{title}</name></node>\n')
        stream.write("    </genie>\n  </extensions>\n</smile>\n")


def _write_node(stream: IO[str], texts: tuple[str, list[str], list[str], str], table: F64) -> None:
    """Write one node."""
    name, states, given, note = texts
    stream.write(f'    <cpt id="{name}">\n')
    stream.writelines(f'      <state id="{state}" />\n' for state in states)
    if given:
        stream.write(f"      <parents>{' '.join(given)}</parents>\n")
    values = " ".join(map(repr, table.ravel().tolist()))
    stream.write(f"      <probabilities>{values}</probabilities>\n")
    if note:
        stream.write(f'      <property id="{NOTE}">{escape(note)}</property>\n')
    stream.write("    </cpt>\n")


def _parents_first(net: BayesianNetwork) -> list[int]:
    """Order the variables so that parents come first, otherwise as they are."""
    index = {name: i for i, name in enumerate(net.names)}
    parents = [[index[parent] for parent in net.parents(name)] for name in net.names]
    done = [False] * len(parents)
    order: list[int] = []
    for root in range(len(parents)):
        stack = [root]
        while stack:
            missing = next((i for i in parents[stack[-1]] if not done[i]), None)
            if missing is not None:
                stack.append(missing)
                continue
            last = stack.pop()
            if not done[last]:
                done[last] = True
                order.append(last)
    return order
