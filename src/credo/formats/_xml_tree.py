"""XML as a small tree of elements with their places; nothing is fetched and nothing expanded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Never
from xml.parsers import expat

from credo.exceptions import FileFormatError

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
    where: tuple[int, int]
    pieces: list[str] = field(default_factory=list)
    children: list[Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Give the text directly inside, without blanks around it."""
        return "".join(self.pieces).strip()

    def place(self) -> tuple[int, int]:
        """Give line and column of its start."""
        return self.where

    def named(self, *tags: str) -> Iterator[Element]:
        """Give the children that are called so, whatever the case of their letters."""
        return (child for child in self.children if child.tag.lower() in tags)

    def first(self, tag: str) -> Element | None:
        """Give the first child that is called so, or None."""
        return next(self.named(tag), None)


def parse(data: bytes, path: str) -> Element:
    """Read XML. A document type may declare elements and attributes, but no entities."""
    return _Reader(path).read(data)


class _Reader:
    """Build the tree while the parser goes through the file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.count = 0
        self.top = Element("", {}, (1, 1))
        self.open = [self.top]
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.EntityDeclHandler = self._entity
        self.parser.SkippedEntityHandler = self._entity
        self.parser.ExternalEntityRefHandler = self._entity

    def read(self, data: bytes) -> Element:
        """Parse the whole file and give its root element."""
        try:
            self.parser.Parse(data, True)  # noqa: FBT003 - the parser takes no name for it
        except expat.ExpatError as error:
            what = expat.errors.messages.get(error.code, "it is damaged")
            reason = f"This is not well-formed XML: {what}. Correct or write the file again."
            raise FileFormatError(reason, self.path, error.lineno, error.offset + 1) from error
        except FileFormatError:
            raise
        except (ValueError, LookupError) as error:
            reason = f"The file cannot be decoded ({error}). Save it as UTF-8."
            raise FileFormatError(reason, self.path, 1, 1) from error
        return self.top.children[0]

    def _here(self) -> tuple[int, int]:
        """Give line and column of what is being read."""
        return self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        """Open an element."""
        self.count += 1
        if self.count > MOST_ELEMENTS or len(self.open) > DEEPEST:
            reason = (
                f"The file has more than {MOST_ELEMENTS} elements or nests them deeper than "
                f"{DEEPEST}, which is not read. Split the network."
            )
            raise FileFormatError(reason, self.path, *self._here())
        element = Element(tag, attributes, self._here())
        self.open[-1].children.append(element)
        self.open.append(element)

    def _end(self, _tag: str) -> None:
        """Close an element."""
        self.open.pop()

    def _data(self, text: str) -> None:
        """Keep text."""
        self.open[-1].pieces.append(text)

    def _entity(self, *_: object) -> Never:
        """Refuse entities: they can unpack to any size, or fetch other files."""
        reason = "Entities are not read. Remove the ENTITY declarations and write out their text."
        raise FileFormatError(reason, self.path, *self._here())
