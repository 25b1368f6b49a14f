"""Hugin NET files: Bayesian networks of discrete chance nodes."""

from __future__ import annotations

import os
import re
from itertools import accumulate
from operator import mul
from typing import NamedTuple

from credo._types import F64
from credo.formats._network import Declared, identifier, in_quotes, network, printable, written
from credo.formats._text import BlockFile, output
from credo.graphs.bayesian_network import BayesianNetwork

#: A quoted text (group 1), a comment, or the start of a text that does not end.
_SKIPPED = re.compile(r'("(?:[^"\\]|\\.)*+")|(?:%|//)[^\r\n]*+|"', re.DOTALL)
_ATTRIBUTE = re.compile(r'([^\s(){}=;|,"]*+)\s*+(=?)')


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
        expression (``model_data``) only, or if a row has a negative number or no positive one;
        the text names the file, the line and the column.

    Warns
    -----
    CredoWarning
        If rows do not sum to 1, as Hugin's own default ``(1 1)``: they are divided by their sums.

    See Also
    --------
    write_net : The way back.
    read_network : Choose the reader by the name of the file.

    Notes
    -----
    In ``potential (A | B C)`` the table lists A fastest and B slowest. Rows are divided by their
    sums, without a warning where these are off by no more than 1e-4. Comments go from ``%`` or
    ``//`` to the end of the line. Positions, colours, ``HR_`` and other attributes are passed over.

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
    rain  wet = no  wet = yes
    no           1          0
    yes        0.5        0.5
    """
    source = BlockFile.of(path, _SKIPPED, ('"', "%", "//"))
    nodes, potentials = _sorted(source)
    parts = [_part(source, node, potentials) for node in nodes]
    declared = {part.name for part in parts}
    for name, block in potentials.items():
        if name not in declared:
            reason = f"There is a potential of {name!r}, which is not declared. Declare it."
            source.fail(block.place, reason)
    return network(parts, source.path, weights=True)


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
        If the model is not a Bayesian network.

    See Also
    --------
    read_net : The way back.

    Notes
    -----
    Numbers are written so that they are read back bit for bit. In names, signs other than letters,
    digits and underscores become underscores; ``label`` has the name in full. States that are not
    text are written as their text and come back as text. Rules (such as noisy-OR) are written
    out.

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
    ['heavy_rain']
    """
    variables = written(model, "write_net", identifier, printable)
    with output(path) as stream:
        stream.write("net\n{\n}\n")
        for each in variables:
            stream.write(f"\nnode {each.name}\n{{\n")
            stream.write(f"    states = ({' '.join(map(in_quotes, each.states))});\n")
            stream.write(f"    label = {in_quotes(each.title)};\n}}\n")
        for each in variables:
            head = " ".join([each.name, *(["|", *each.parents] if each.parents else [])])
            stream.write(f"\npotential ({head})\n{{\n    data = {_table_text(each.table)};\n}}\n")


def _table_text(table: F64) -> str:
    """Return nested brackets, one row to a line."""
    rows = table.reshape(-1, table.shape[-1]).tolist()
    blocks = list(accumulate(reversed(table.shape[:-1]), mul))
    lines = []
    for index, row in enumerate(rows):
        opened = "(" * sum(index % block == 0 for block in blocks)
        closed = ")" * sum((index + 1) % block == 0 for block in blocks)
        lines.append(f"{opened}({' '.join(map(repr, row))}){closed}")
    return "\n           ".join(lines)


class _Block(NamedTuple):
    """``kind name (children | parents) { attributes }``; attributes are places of their values."""

    place: int
    name_place: int
    kind: list[str]
    children: list[str]
    parents: list[str]
    attributes: dict[str, tuple[int, int, int]]


def _sorted(source: BlockFile) -> tuple[list[_Block], dict[str, _Block]]:
    """Return the nodes, and the potentials by the names of their children."""
    nodes: list[_Block] = []
    potentials: dict[str, _Block] = {}
    for head, opened, closed in source.blocks():
        block = _block(source, head, opened, closed)
        kind = [word.lower() for word in block.kind]
        if kind == ["potential"]:
            owners = block.children
            if len(owners) != 1:
                reason = f"A potential must be of one node. Got {len(owners)} before the bar."
                source.fail(block.place, reason)
            if potentials.setdefault(owners[0], block) is not block:
                source.fail(block.place, f"{owners[0]!r} has two potentials. Remove one.")
        elif len(kind) > 1 and kind[:-1] in (["node"], ["discrete", "node"]):
            nodes.append(block)
        elif kind != ["net"]:
            *kind, name = block.kind
            what = f"{name!r} is a {' '.join(kind)}" if kind else f"The block {name!r} is not known"
            reason = f"{what}; only discrete chance nodes and their potentials are read. Remove it."
            source.fail(block.place, reason)
    return nodes, potentials


def _block(source: BlockFile, head: int, opened: int, closed: int) -> _Block:
    """Read the head of a block, and find its attributes."""
    bracket = source.text.find("(", head, opened)
    bracket = opened if bracket < 0 else bracket
    kind = source.tokens(head, bracket + 1)
    if kind[0][0] in "{}()[];":
        source.expected("'net', 'node' or 'potential'", kind[0])
    bar = source.text.find("|", bracket, opened)
    bar = opened if bar < 0 else bar
    attributes: dict[str, tuple[int, int, int]] = {}
    for start, stop in source.statements(opened, closed):
        found = _ATTRIBUTE.match(source.text, start)
        if found is None or not found[1]:
            source.expected("an attribute", source.tokens(start, stop)[0])
        if not found[2]:
            source.fail(found.end(), f"Expected '=', got {source.text[found.end()]!r}.")
        attributes[found[1].lower()] = start, found.end(), stop
    return _Block(
        kind[0].start(),
        kind[-2].start(),
        _names(source, head, bracket),
        _names(source, bracket, bar),
        _names(source, bar, opened),
        attributes,
    )


def _names(source: BlockFile, start: int, stop: int) -> list[str]:
    """Return names, texts and numbers without the punctuation."""
    tokens = source.tokens(start, stop)
    return [source.name(token[0]) for token in tokens if token[0] not in "{}()[];"]


def _part(source: BlockFile, node: _Block, potentials: dict[str, _Block]) -> Declared:
    """Put a node and its potential together."""
    name = node.kind[-1]
    potential = potentials.get(name)
    if potential is None:
        source.fail(node.name_place, f"Node {name!r} has no potential. Add one.")
    if "data" not in potential.attributes:
        what = "model_data, an expression," if "model_data" in potential.attributes else "no data"
        reason = f"The potential of {name!r} has {what} and no table. Write out its table."
        source.fail(potential.place, reason)
    if "states" not in node.attributes:
        source.fail(node.name_place, f"Node {name!r} has no states. Add 'states = (...);'.")
    begin, start, stop = potential.attributes["data"]
    if source.text.count("(", start, stop) != source.text.count(")", start, stop):
        source.fail(start, "The brackets of a table do not match. Correct them.")
    return Declared(
        name,
        tuple(_names(source, *node.attributes["states"][1:])),
        tuple(potential.parents),
        source.numbers(start, stop, between="(),"),
        lambda _: source.where(begin),
    )
