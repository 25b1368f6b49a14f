"""XML as a small tree of elements with their places; nothing is fetched and nothing expanded."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Never
from xml.parsers import expat

from credo._types import F64
from credo.exceptions import FileFormatError
from credo.formats._text import TextFile, read_bytes

#: Most elements of a file. The largest published networks have some ten thousand; each element
#: takes a few hundred bytes, far more than the four that a hostile file spends on it.
MOST_ELEMENTS = 2**20
#: Deepest nesting: networks need six levels, drawings of nested submodels some more.
DEEPEST = 100


@dataclass(slots=True, eq=False)
class Element:
    """One element: its name, attributes, text and children, and where it starts."""

    tag: str
    attributes: dict[str, str]
    path: str
    where: tuple[int, int]
    pieces: list[str] = field(default_factory=list)
    children: list[Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text directly inside, without blanks around it."""
        return "".join(self.pieces).strip()

    def fail(self, reason: str) -> Never:
        """Raise the error that names the place of the element."""
        raise FileFormatError(reason, self.path, *self.where)

    def named(self, *tags: str) -> Iterator[Element]:
        """Return the children that are called so, whatever the case of their letters."""
        return (child for child in self.children if child.tag.lower() in tags)

    def first(self, tag: str) -> Element | None:
        """Return the first child that is called so, or None."""
        return next(self.named(tag), None)


class _Tree:
    """The elements that the parser has met."""

    def __init__(self, path: str) -> None:
        self.opened = [Element("", {}, path, (1, 1))]
        self.count = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = lambda _: self.opened.pop()
        self.parser.CharacterDataHandler = self.add_text
        self.parser.EntityDeclHandler = self.parser.SkippedEntityHandler = self.refuse
        self.parser.ExternalEntityRefHandler = self.refuse

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Add an element."""
        place = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1
        element = Element(tag, attributes, self.opened[0].path, place)
        self.count += 1
        if self.count > MOST_ELEMENTS or len(self.opened) > DEEPEST:
            element.fail(
                f"The file has more than {MOST_ELEMENTS} elements or nests them deeper than "
                f"{DEEPEST}, which is not read. Split the network."
            )
        self.opened[-1].children.append(element)
        self.opened.append(element)

    def add_text(self, text: str) -> None:
        """Add text to the element that is open."""
        self.opened[-1].pieces.append(text)

    def refuse(self, *_: object) -> Never:
        """Refuse entities: they can unpack to any size, or fetch other files."""
        reason = "Entities are not read. Remove the ENTITY declarations and write out their text."
        place = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1
        raise FileFormatError(reason, self.opened[0].path, *place)


def parse(path: str | os.PathLike[str]) -> Element:
    """Read XML. A document type may declare elements and attributes, but no entities."""
    name = os.fspath(path)
    tree = _Tree(name)
    try:
        tree.parser.Parse(read_bytes(path), True)  # noqa: FBT003 - it takes no name for it
    except expat.ExpatError as error:
        what = expat.errors.messages.get(error.code, "it is damaged")
        reason = f"This is not well-formed XML: {what}. Correct or write the file again."
        raise FileFormatError(reason, name, error.lineno, error.offset + 1) from error
    except FileFormatError:
        raise
    except (ValueError, LookupError) as error:
        reason = f"The file cannot be decoded ({error}). Save it as UTF-8."
        raise FileFormatError(reason, name, 1, 1) from error
    return tree.opened[0].children[0]


def escape(text: str) -> str:
    """Return text as it may stand between tags."""
    return html.escape(text, quote=False)


def table_of(element: Element, owner: str) -> F64:
    """Read the numbers of one table."""
    source = TextFile(element.text, element.path)
    try:
        return source.numbers(0, len(source.text))
    except FileFormatError as error:
        reason = f"The table of {owner!r}: {error.reason}"
        raise FileFormatError(reason, element.path, *element.where) from None
