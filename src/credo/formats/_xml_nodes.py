"""The nodes of a GeNIe XDSL file, each kind read into its table."""

from __future__ import annotations

import math
from typing import Never

import numpy as np

from credo._types import F64
from credo.exceptions import FileFormatError
from credo.formats._net_labels import NOTE, loads
from credo.formats._net_parts import Part, table_of
from credo.formats._xml_noisy import MOST_CELLS, deterministic, has_weakest_last, noisy_max
from credo.formats._xml_tree import Element, parse
from credo.graphs.bayesian_network import TOLERANCE

#: Where each kind of node keeps what its table is made of.
_TABLES = {"cpt": "probabilities", "deterministic": "resultingstates", "noisymax": "parameters"}


def read_parts(data: bytes, path: str) -> list[Part]:
    """Read the nodes, in the order that notes give them or else in the order of the file."""
    root = parse(data, path)
    nodes = root.first("nodes")
    if root.tag.lower() != "smile" or nodes is None:
        reason = f"Expected <smile> with <nodes>, got <{root.tag}>. Is it another format?"
        raise FileFormatError(reason, path, *root.where)
    slices = root.first("dynamic")
    if slices is not None:
        reason = "Dynamic networks are not read. Unroll it in GeNIe and save it again."
        raise FileFormatError(reason, path, *slices.where)
    return _placed(_Nodes(path, nodes.children).parts())


class _Nodes:
    """The nodes of one file and how many numbers they may still be written out to."""

    def __init__(self, path: str, items: list[Element]) -> None:
        self.path = path
        self.items = items
        self.left = MOST_CELLS
        self.states: dict[str, tuple[str, ...]] = {}

    def parts(self) -> list[Part]:
        """Read all nodes; the states of all are known before any table is read."""
        for item in self.items:
            name = self._name(item)
            states = tuple(state.attributes.get("id", "") for state in item.named("state"))
            self.states[name] = states
        return [self._part(item) for item in self.items]

    def _fail(self, item: Element, reason: str) -> Never:
        """Raise an error that points at an element."""
        raise FileFormatError(reason, self.path, *item.where)

    def _name(self, item: Element) -> str:
        """Give the name of a node; refuse nodes that are no chance nodes."""
        name = item.attributes.get("id", "")
        if item.tag.lower() not in _TABLES:
            kinds = ", ".join(_TABLES)
            reason = f"Node {name!r} is a {item.tag} node; only {kinds} are read. Remove it."
            self._fail(item, reason)
        if not name:
            self._fail(item, "A node has no id. Give it one.")
        return name

    def _part(self, item: Element) -> Part:
        """Read one node."""
        kind, name = item.tag.lower(), item.attributes["id"]
        given = item.first("parents")
        parents = tuple(given.text.split()) if given else ()
        table = item.first(_TABLES[kind])
        if table is None:
            self._fail(item, f"Node {name!r} has no <{_TABLES[kind]}>. Add them.")
        if kind == "cpt":
            values = table_of(table.text.encode(), name, self.path, table.where)
        elif kind == "deterministic":
            values = self._deterministic(table, name, parents)
        else:
            values = self._noisy_max(item, table, parents)
        notes = (note.text for note in item.named("property") if note.attributes.get("id") == NOTE)
        return Part(name, self.states[name], parents, values, table.place, next(notes, ""))

    def _sizes(self, table: Element, name: str, parents: tuple[str, ...]) -> list[int]:
        """Count the states of the parents, and see that the table may be written out."""
        for parent in parents:
            if parent not in self.states:
                self._fail(table, f"The parent {parent!r} of {name!r} is not declared. Declare it.")
        sizes = [len(self.states[parent]) for parent in parents]
        cells = math.prod(sizes) * len(self.states[name])
        if cells > self.left:
            reason = (
                f"Node {name!r} takes {cells} numbers when written out; {MOST_CELLS} are the most "
                f"for all nodes together. Give it fewer parents."
            )
            self._fail(table, reason)
        self.left -= cells
        return sizes

    def _deterministic(self, table: Element, name: str, parents: tuple[str, ...]) -> F64:
        """Write out a deterministic node."""
        rows = math.prod(self._sizes(table, name, parents))
        order = {state: index for index, state in enumerate(self.states[name])}
        words = table.text.split()
        if len(words) != rows:
            reason = f"Node {name!r} needs {rows} resulting states, got {len(words)}."
            self._fail(table, reason)
        odd = next((word for word in words if word not in order), None)
        if odd is not None:
            self._fail(table, f"Node {name!r} has no state {odd[:40]!r}. Correct it.")
        return deterministic([order[word] for word in words], len(self.states[name]))

    def _noisy_max(self, item: Element, table: Element, parents: tuple[str, ...]) -> F64:
        """Write out a noisy-MAX node."""
        name = item.attributes["id"]
        sizes = self._sizes(table, name, parents)
        strengths = self._strengths(item, sizes)
        values = table_of(table.text.encode(), name, self.path, table.where)
        rows, columns = sum(sizes) + 1, len(self.states[name])
        if values.size != rows * columns or not columns:
            reason = f"Node {name!r} needs {rows * columns} parameters, got {values.size}."
            self._fail(table, reason)
        given = values.reshape(rows, columns)
        with np.errstate(over="ignore", invalid="ignore"):
            good = (given >= 0).all() and (np.abs(given.sum(axis=1) - 1) <= TOLERANCE).all()
        if not (good and has_weakest_last(given, strengths)):
            reason = (
                f"The parameters of {name!r} must be distributions, and those for the last of each "
                f"parent's strengths must give the last state probability 1. Correct them."
            )
            self._fail(table, reason)
        return noisy_max(given / given.sum(axis=1, keepdims=True), strengths)

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
            self._fail(element, f"The strengths of {name!r} must list each parent's states once.")
        return found


def _placed(parts: list[Part]) -> list[Part]:
    """Order the parts as their notes say, if these say it for all."""
    order = {_place(part.note): part for part in parts}
    if any(index not in order for index in range(len(parts))):
        return parts
    return [order[index] for index in range(len(parts))]


def _place(note: str) -> int:
    """Give the position of a variable that its note keeps, or -1."""
    try:
        place = loads(note).get("place") if note else -1
    except (AttributeError, ValueError):
        return -1
    return place if type(place) is int else -1
