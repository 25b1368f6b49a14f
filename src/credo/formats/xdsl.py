"""GeNIe XDSL files: Bayesian networks of chance, deterministic and noisy-MAX nodes."""

from __future__ import annotations

import math
import os
from graphlib import TopologicalSorter

import numpy as np

from credo._types import F64
from credo.formats._network import Declared, identifier, network, written
from credo.formats._text import output
from credo.formats._xml import Element, escape, parse, table_of
from credo.graphs.bayesian_network import TOLERANCE, BayesianNetwork

#: Most numbers that the nodes of one file are written out to, in all: 128 megabytes.
MOST_CELLS = 2**24
#: Where each kind of node keeps what its table is made of.
_TABLES = {"cpt": "probabilities", "deterministic": "resultingstates", "noisymax": "parameters"}
#: A probability that should be 0 or 1 and is off by more than this is not rounding.
_ROUNDING = 1e-6


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
        read, or if a row is not a distribution; the text names the file, the line and the column.

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
    rain  wet = dry  wet = wet
    no            1          0
    yes           0          1
    """
    root = parse(path)
    nodes, slices = root.first("nodes"), root.first("dynamic")
    if root.tag.lower() != "smile" or nodes is None:
        reason = f"Expected <smile> with <nodes>, got <{root.tag}>. Is it another format?"
        root.fail(reason)
    if slices is not None:
        reason = "Dynamic networks are not read. Unroll it in GeNIe and save it again."
        slices.fail(reason)
    return network(_Nodes(nodes.children).parts(), root.path)


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
        If the model is not a Bayesian network.

    See Also
    --------
    read_xdsl : The way back.

    Notes
    -----
    Numbers are written so that they are read back bit for bit. GeNIe wants parents before their
    children, and names and states that are words of letters, digits and underscores: variables
    are put in that order, and other signs in names and states become underscores. GeNIe shows the
    names in full. Rules (such as noisy-OR) are written out.

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
    ('__1_mm', 'more')
    """
    variables = {each.name: each for each in written(model, "write_xdsl", identifier, identifier)}
    places = {name: place for place, name in enumerate(variables)}
    order = list(variables.values())
    if any(places[parent] > places[each.name] for each in order for parent in each.parents):
        sorter = TopologicalSorter({each.name: each.parents for each in order})
        order = [variables[name] for name in sorter.static_order()]
    with output(path) as stream:
        stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        stream.write('<smile version="1.0" id="network">\n  <nodes>\n')
        for each in order:
            stream.write(f'    <cpt id="{each.name}">\n')
            stream.writelines(f'      <state id="{state}" />\n' for state in each.states)
            if each.parents:
                stream.write(f"      <parents>{' '.join(each.parents)}</parents>\n")
            values = " ".join(map(repr, each.table.ravel().tolist()))
            stream.write(f"      <probabilities>{values}</probabilities>\n")
            stream.write("    </cpt>\n")
        stream.write('  </nodes>\n  <extensions>\n    <genie version="1.0" name="network">\n')
        for each in order:
            title = escape(each.title)
            stream.write(f'      <node id="{each.name}"><name>{title}</name></node>\n')
        stream.write("    </genie>\n  </extensions>\n</smile>\n")


class _Nodes:
    """The nodes of one file and how many numbers they may still be written out to."""

    def __init__(self, items: list[Element]) -> None:
        self.items = items
        self.left = MOST_CELLS
        self.states: dict[str, tuple[str, ...]] = {}

    def parts(self) -> list[Declared]:
        """Read all nodes; the states of all are known before any table is read."""
        for item in self.items:
            name = self._name(item)
            states = tuple(state.attributes.get("id", "") for state in item.named("state"))
            self.states[name] = states
        return [self._part(item) for item in self.items]

    def _name(self, item: Element) -> str:
        """Return the name of a node; refuse nodes that are no chance nodes."""
        name = item.attributes.get("id", "")
        if item.tag.lower() not in _TABLES:
            kinds = ", ".join(_TABLES)
            item.fail(f"Node {name!r} is a {item.tag} node; only {kinds} are read. Remove it.")
        if not name:
            item.fail("A node has no id. Give it one.")
        return name

    def _part(self, item: Element) -> Declared:
        """Read one node."""
        kind, name = item.tag.lower(), item.attributes["id"]
        given = item.first("parents")
        parents = tuple(given.text.split()) if given else ()
        table = item.first(_TABLES[kind])
        if table is None:
            item.fail(f"Node {name!r} has no <{_TABLES[kind]}>. Add them.")
        if kind == "cpt":
            values = table_of(table, name)
        elif kind == "deterministic":
            values = self._deterministic(table, name, parents)
        else:
            values = self._noisy_max(item, table, parents)
        return Declared(name, self.states[name], parents, values, lambda _: table.where)

    def _sizes(self, table: Element, name: str, parents: tuple[str, ...]) -> list[int]:
        """Count the states of the parents, and see that the table may be written out."""
        for parent in parents:
            if parent not in self.states:
                table.fail(f"The parent {parent!r} of {name!r} is not declared. Declare it.")
        sizes = [len(self.states[parent]) for parent in parents]
        cells = math.prod(sizes) * len(self.states[name])
        if cells > self.left:
            table.fail(
                f"Node {name!r} takes {cells} numbers when written out; {MOST_CELLS} are the most "
                f"for all nodes together. Give it fewer parents."
            )
        self.left -= cells
        return sizes

    def _deterministic(self, table: Element, name: str, parents: tuple[str, ...]) -> F64:
        """Write out a deterministic node."""
        rows = math.prod(self._sizes(table, name, parents))
        order = {state: index for index, state in enumerate(self.states[name])}
        words = table.text.split()
        if len(words) != rows:
            table.fail(f"Node {name!r} needs {rows} resulting states, got {len(words)}.")
        odd = next((word for word in words if word not in order), None)
        if odd is not None:
            table.fail(f"Node {name!r} has no state {odd[:40]!r}. Correct it.")
        values = np.zeros((rows, len(order)))
        values[np.arange(rows), [order[word] for word in words]] = 1.0
        return values.ravel()

    def _noisy_max(self, item: Element, table: Element, parents: tuple[str, ...]) -> F64:
        """Write out a noisy-MAX node."""
        name = item.attributes["id"]
        sizes = self._sizes(table, name, parents)
        strengths = self._strengths(item, sizes)
        values = table_of(table, name)
        rows, columns = sum(sizes) + 1, len(self.states[name])
        if values.size != rows * columns or not columns:
            table.fail(f"Node {name!r} needs {rows * columns} parameters, got {values.size}.")
        given = values.reshape(rows, columns)
        with np.errstate(over="ignore", invalid="ignore"):
            good = (given >= 0).all() and (np.abs(given.sum(axis=1) - 1) <= TOLERANCE).all()
        if not (good and _ends_without_effect(given, strengths)):
            table.fail(
                f"The parameters of {name!r} must be distributions, and those for the last of each "
                f"parent's strengths must give the last state probability 1. Correct them."
            )
        return _noisy_max(given / given.sum(axis=1, keepdims=True), strengths)

    def _strengths(self, item: Element, sizes: list[int]) -> list[list[int]]:
        """Read the states of each parent from the strongest to the one without effect."""
        element = item.first("strengths")
        if element is None:
            return [list(range(size)) for size in sizes]
        words = element.text.split()
        found: list[list[int]] = []
        for size in sizes:
            known = {str(state): state for state in range(size)}
            found.append([known.pop(word, -1) for word in words[:size]])
            words = words[size:]
        complete = [sorted(part) for part in found] == [list(range(size)) for size in sizes]
        if words or not complete:
            name = item.attributes["id"]
            element.fail(f"The strengths of {name!r} must list each parent's states once.")
        return found


def _noisy_max(columns: F64, strengths: list[list[int]]) -> F64:
    r"""Write out a noisy-MAX node; states of the child go from the strongest effect to none.

    ``columns`` holds a row of child probabilities for each parent's state, in the order of its
    strengths (``strengths[i][j]`` is the state of strength ``j``; the last has no effect), and the
    leak last. With :math:`F_i(y \mid x)` the probability of an effect no stronger than ``y``,

    .. math:: P(Y \le y \mid x) = F_{leak}(y) \prod_i F_i(y \mid x_i).
    """
    below = np.cumsum(columns[:, ::-1], axis=1)[:, ::-1]
    below[:, 0] = 1.0
    product = below[-1]
    start = 0
    for order in strengths:
        own = np.empty((len(order), columns.shape[1]))
        own[order] = below[start : start + len(order)]
        product = product[..., np.newaxis, :] * own
        start += len(order)
    table = product.copy()
    table[..., :-1] -= product[..., 1:]
    flat: F64 = np.maximum(table, 0.0).ravel()
    return flat


def _ends_without_effect(columns: F64, strengths: list[list[int]]) -> bool:
    """Tell whether the last state of each parent has no effect, as noisy-MAX needs."""
    ends = np.cumsum([len(order) for order in strengths]) - 1
    return bool((columns[ends, -1] >= 1.0 - _ROUNDING).all())
