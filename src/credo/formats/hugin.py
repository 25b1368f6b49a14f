"""Hugin NET files: Bayesian networks of discrete chance nodes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from operator import mul
from typing import IO, Never

from credo._types import F64
from credo.formats._net_labels import NOTE, distinct, identifier, in_quotes, noted, printable
from credo.formats._net_output import output
from credo.formats._net_parts import Part, as_network, network
from credo.formats._net_tokens import Block, Source, Token
from credo.formats._text import decoded, read_bytes
from credo.graphs.bayesian_network import BayesianNetwork


def read_net(path: str | os.PathLike[str]) -> BayesianNetwork:
    """Read a Bayesian network from a Hugin NET file (.net).

    Parameters
    ----------
    path : str or path
        The file, packed with gzip or not; UTF-8 or Latin-1.

    Returns
    -------
    BayesianNetwork
        Its variables in the order of the file. Names are those after ``node``, not the labels.

    Raises
    ------
    FileFormatError
        If the file is damaged, if a node is not a discrete chance node, if a table is given as an
        expression (``model_data``) only, or if a row is no distribution; the text names the file,
        the line and the column.

    See Also
    --------
    write_net : The way back.
    read_network : Choose the reader by the name of the file.

    Notes
    -----
    In ``potential (A | B C)`` the table lists A fastest and B slowest. Rows whose sum is off by no
    more than 1e-4 are divided by it. Positions, colours, ``HR_`` and other attributes are passed
    over; an attribute ``credo_labels`` keeps labels that are no words, see ``write_net``.

    References
    ----------
    Hugin Expert A/S, "Hugin API Reference Manual", chapter "The NET language".

    Examples
    --------
    >>> from credo.formats.hugin import read_net
    >>> text = '''net { }
    ... node rain { states = ("no" "yes"); }
    ... node wet  { states = ("no" "yes"); }
    ... potential (rain) { data = (0.75 0.25); }
    ... potential (wet | rain) { data = ((1 0)     % rain = no
    ...                                  (0.5 0.5)); }'''
    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "rain.net").write_text(text)
    >>> read_net(folder / "rain.net").table("wet")
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    name = os.fspath(path)
    source = Source(decoded(read_bytes(path)), name)
    nodes: list[Block] = []
    potentials: dict[str, Block] = {}
    for block in source.blocks():
        _sort_in(source, block, nodes, potentials)
    parts = [_part(source, node, potentials) for node in nodes]
    known = {part.name for part in parts}
    for owner, block in potentials.items():
        if owner not in known:
            reason = f"There is a potential of {owner!r}, which is not declared. Declare it."
            source.fail(block.kind[0].start, reason)
    return network(parts, name)


def write_net(model: BayesianNetwork, path: str | os.PathLike[str]) -> None:
    """Write a Bayesian network as a Hugin NET file.

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
    read_net : The way back.

    Notes
    -----
    Numbers are written so that they are read back bit for bit. A name that is no word of letters,
    digits and underscores is replaced by one that is, and stands in ``label``; an attribute
    ``credo_labels`` keeps it, and states that are not text, for reading back. Structured tables
    (noisy-OR and its kin) are written out.

    Examples
    --------
    >>> from credo.formats.hugin import read_net, write_net
    >>> from credo.graphs.bayesian_network import BayesianNetwork
    >>> net = BayesianNetwork()
    >>> _ = net.variable("heavy rain", ["no", "yes"])
    >>> _ = net.cpt("heavy rain", table=[0.75, 0.25])
    >>> file = getfixture("tmp_path") / "rain.net"
    >>> write_net(net, file)
    >>> list(read_net(file).names)
    ['heavy rain']
    """
    net = as_network(model, "write_net")
    names = distinct(net.names, identifier)
    written = dict(zip(net.names, names, strict=True))
    with output(path) as stream:
        stream.write("net\n{\n}\n")
        for variable, name in zip(net.variables, names, strict=True):
            states = distinct(variable.states, printable)
            note = noted(variable.name, variable.states, (name, states))
            stream.write(f"\nnode {name}\n{{\n")
            stream.write(f"    states = ({' '.join(map(in_quotes, states))});\n")
            stream.write(f"    label = {in_quotes(printable(str(variable.name)))};\n")
            stream.write(f"    {NOTE} = {in_quotes(note)};\n}}\n" if note else "}\n")
        for variable in net.variables:
            given = [written[parent] for parent in net.parents(variable.name)]
            head = " ".join([written[variable.name], *(["|", *given] if given else [])])
            stream.write(f"\npotential ({head})\n{{\n    data = ")
            _write_table(stream, net.table(variable.name))
            stream.write(";\n}\n")


def _write_table(stream: IO[str], table: F64) -> None:
    """Write nested brackets, one row to a line."""
    rows = table.reshape(-1, table.shape[-1]).tolist()
    blocks = list(accumulate(reversed(table.shape[:-1]), mul))
    for index, row in enumerate(rows):
        opened = "(" * sum(index % block == 0 for block in blocks)
        closed = ")" * sum((index + 1) % block == 0 for block in blocks)
        end = "" if index + 1 == len(rows) else "\n           "
        stream.write(f"{opened}({' '.join(map(repr, row))}){closed}{end}")


def _sort_in(source: Source, block: Block, nodes: list[Block], found: dict[str, Block]) -> None:
    """Put a block among the nodes or the potentials."""
    kind = [token.text.lower() for token in block.kind]
    if kind == ["net"]:
        return
    if kind == ["potential"]:
        owner = _owner(source, block)
        if owner in found:
            source.fail(block.kind[0].start, f"{owner!r} has two potentials. Remove one.")
        found[owner] = block
    elif len(kind) > 1 and kind[:-1] in (["node"], ["discrete", "node"]):
        nodes.append(block)
    else:
        _refuse(source, block)


def _refuse(source: Source, block: Block) -> Never:
    """Refuse a block that is neither a discrete chance node nor a potential."""
    *kind, name = [token.text[:40] for token in block.kind]
    what = f"{name!r} is a {' '.join(kind)}" if kind else f"The block {name!r} is not known"
    reason = f"{what}; only discrete chance nodes and their potentials are read. Remove it."
    source.fail(block.kind[0].start, reason)


def _owner(source: Source, block: Block) -> str:
    """Give the one variable that a potential is of."""
    children = _words(block.head[: _bar(block.head)])
    if len(children) != 1:
        reason = f"A potential must be of one node. Got {len(children)} before the bar."
        source.fail(block.kind[0].start, reason)
    return children[0]


def _bar(head: Sequence[Token]) -> int:
    """Find the bar between child and parents; the end if there is none."""
    return next((i for i, token in enumerate(head) if token.mark and token.text == "|"), len(head))


def _words(tokens: Sequence[Token]) -> list[str]:
    """Give the names, texts and numbers without the punctuation."""
    return [token.text for token in tokens if not token.mark]


def _part(source: Source, node: Block, potentials: dict[str, Block]) -> Part:
    """Put a node and its potential together."""
    name = node.kind[-1]
    potential = potentials.get(name.text)
    if potential is None:
        source.fail(name.start, f"Node {name.text!r} has no potential. Add one.")
    if potential.data is None:
        what = "model_data, an expression," if "model_data" in potential.attributes else "no data"
        reason = f"The potential of {name.text!r} has {what} and no table. Write out its table."
        source.fail(potential.kind[0].start, reason)
    if "states" not in node.attributes:
        source.fail(name.start, f"Node {name.text!r} has no states. Add 'states = (...);'.")
    return Part(
        name.text,
        tuple(_words(node.attributes["states"])),
        tuple(_words(potential.head[_bar(potential.head) :])),
        potential.data,
        partial(source.where, potential.data_start),
        " ".join(_words(node.attributes.get(NOTE, []))),
    )
