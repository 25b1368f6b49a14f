"""From a model to a text and arrays, and back."""

from __future__ import annotations

import re
import zlib
from typing import Any

from credo._version import __version__
from credo.exceptions import InputError
from credo.storage._about import about
from credo.storage._container import MOST_HEADER, Arrays, Header, checksum
from credo.storage._faults import Fault
from credo.storage._json import Json, parsed, written
from credo.storage._kinds import check_fields
from credo.storage._page import Page, Scope
from credo.storage._registry import kind_named, kind_of, storable

#: Version of the layout. A reader takes every version up to its own.
FORMAT = 2
#: Longest description of a model, in bytes of JSON.
MOST_TEXT = 2**19
_KNOWN = {"format", "library", "class", "about", "content", "checks", "check"}
#: The end of a description: the CRC-32 of all before it.
_CHECK = re.compile(r',"check":"([0-9a-f]{8})"}\Z')
_CHECK_LENGTH = len(',"check":"00000000"}')


def composed(model: Any, *, summary: bool) -> tuple[str, dict[str, Any]]:
    """Return the description of a model and its arrays."""
    name = type(model).__name__
    kind = kind_of(model)
    if kind is None:
        raise InputError(
            f"A {name} cannot be saved. Model files are for {', '.join(storable())}, not for "
            "subclasses of them or models of other libraries."
        )
    page = Page(name, summary=summary)
    content = kind.write(model, name, page)
    tree = {
        "format": FORMAT,
        "library": __version__,
        "class": name,
        "about": about(model),
        "content": content,
        "checks": {path: checksum(path, array) for path, array in page.arrays.items()},
    }
    text = written(tree)[:-1]
    text += f',"check":"{zlib.crc32(text.encode()):08x}"}}'
    _check_size(text, page)
    return text, page.arrays


def _check_size(text: str, page: Page) -> None:
    """Refuse a model of more small pieces than a header may have."""
    # A line of the table of arrays has the name, a type, a shape and two places: 40 to 120 bytes.
    length = len(written(text)) + sum(len(name) + 120 for name in page.arrays)
    if len(text) > MOST_TEXT or length > MOST_HEADER:
        raise InputError(
            f"{page.owner} has {len(page.arrays)} arrays and a description of {len(text)} bytes, "
            f"more than a model file can have ({MOST_TEXT}). Pass long parameters as arrays, and "
            "columns in fewer groups."
        )


def described(header: Header) -> dict[str, Json]:
    """Check and parse the description of a model."""
    text = header.text
    end = _CHECK.search(text)
    if end is None or int(end[1], 16) != zlib.crc32(text[:-_CHECK_LENGTH].encode()):
        raise Fault("it is damaged: the checksum of its description is another")
    tree = parsed(text, "its description")
    version = tree.get("format") if isinstance(tree, dict) else None
    if type(version) is not int or version < 1:
        raise Fault("its description has no version")
    if version != FORMAT:
        remedy = "Upgrade Credo" if version > FORMAT else "Fit the model again"
        raise Fault(
            f"it was written by Credo {str(tree.get('library'))[:40]} in version {version} of the "
            f"format, and this is Credo {__version__}, which reads version {FORMAT}. {remedy}"
        )
    if len(text) > MOST_TEXT:
        raise Fault("its description is too long")
    check_fields(tree, _KNOWN, _KNOWN, "the description")
    if not isinstance(tree["checks"], dict) or not isinstance(tree["about"], dict):
        raise Fault("its description is not as it must be")
    return dict(tree)


def restored(tree: dict[str, Json], arrays: Arrays) -> Any:
    """Rebuild a model from its description and arrays."""
    name = tree["class"]
    kind = kind_named(name) if isinstance(name, str) else None
    if kind is None:
        raise Fault(f"it holds a {str(name)[:80]}, which this version of Credo does not know")
    arrays.check(tree["checks"])
    scope = Scope(arrays, frozenset(tree["checks"]))
    model = kind.read(tree["content"], name, scope)
    unused = sorted(scope.names - scope.used)
    if unused:
        raise Fault(f"it has the array {unused[0][:80]!r}, which belongs to nothing")
    return model
