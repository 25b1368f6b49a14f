"""What files hold, by their first bytes and their names; one of another kind is refused at once."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Any

from credo._files import local_path
from credo.exceptions import InputError

#: What arguments and options take, by their names in the help.
_TAKES = {
    **dict.fromkeys(("TABLE", "PROBABILITIES", "--rows", "--loss"), "table"),
    "NETWORK": "network",
    "MODEL": "model",
    **dict.fromkeys(("NOISY", "IN", "--compare"), "image"),
}
#: Where such a file belongs.
_REMEDY = {
    "table": "Rows are for credo fit, predict and evaluate, or for --rows of credo infer.",
    "network": "Networks are for credo infer, plan, mpe, bounds and explain.",
    "model": "Models are for credo predict, evaluate, update, merge and show.",
    "image": "Images are for credo denoise and noise.",
    "archive": "Unpack it, or save its sheet as CSV.",
}
#: Bytes that are read of a file.
_START = 512
#: How files begin, unpacked and without blanks, the kind and what it is called.
_BEGIN = [
    (rb"PAR1", "table", "a Parquet table"),
    (rb"ARROW1|FEA1", "table", "an Arrow table"),
    (rb'[\s\S]{8}\{"__metadata__":\{"credo"', "model", "a model of Credo"),
    (rb"\x89PNG|\xff\xd8\xff|GIF8|II\*\0|MM\0\*|RIFF....WEBP|P[1-6]\s", "image", "an image"),
    (rb"PK\x03\x04", "archive", "a ZIP archive or a workbook"),
    (rb"network\s[^,{]*\{", "network", "a BIF network"),
    (rb"(?:<\?xml[^>]*>\s*)?(?:<!(?:DOCTYPE\s+BIF|--)|<BIF)", "network", "an XMLBIF network"),
    (rb"(?:<\?xml[^>]*>\s*)?<smile", "network", "a GeNIe network"),
    (rb"(?:net|class\s+\w+)\s*\{", "network", "a Hugin network"),
    (rb"(?:MARKOV|BAYES)\s+\d", "network", "a UAI network"),
]
#: How the names of files of text end.
_END = [
    ((".bif",), "network", "a BIF network"),
    ((".xml", ".bifxml", ".xmlbif"), "network", "an XMLBIF network"),
    ((".net",), "network", "a Hugin network"),
    ((".xdsl", ".dsl"), "network", "a GeNIe network"),
    ((".uai", ".lg"), "network", "a UAI network"),
    ((".csv", ".tsv", ".tab"), "table", "a table"),
]


def settle_files(command: str, parameters: Any, given: dict[str, Any]) -> None:
    """Replace ``file:`` URLs by paths, in place; refuse other URLs, and files of another kind."""
    for each in parameters:
        value, takes = given.get(each.name), _TAKES.get(each.metavar or each.opts[0], "")
        several = isinstance(value, (list, tuple))
        values: Any = value if several else [value]
        if value is not None and (takes or isinstance(value, Path)):
            files = [type(file)(local_path(file)) for file in values]
            for file in files if takes else ():
                _refuse_other(file, takes, command)
            given[each.name] = files if several else files[0]


def _refuse_other(file: Any, takes: str, command: str) -> None:
    """Refuse a file that certainly holds something else than is taken here."""
    kind, called = _held_by(Path(file))
    if kind not in ("", takes):
        raise InputError(
            f"{file} is {called}, and {command} takes {'an' * (takes == 'image') or 'a'} {takes} "
            f"here. {_REMEDY[kind]}"
        )


def _held_by(file: Path) -> tuple[str, str]:
    """Tell the kind of a file and what it is called, if that is certain."""
    if not file.is_file():
        return "", ""
    with file.open("rb") as stream:
        start = stream.read(_START)
    if start.startswith(b"\x1f\x8b"):
        try:
            start = zlib.decompressobj(31).decompress(start, _START)
        except zlib.error:
            return "", ""
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    for begin, kind, called in _BEGIN:
        if re.match(begin, text) or re.match(begin, start):
            return kind, called
    name = file.name.lower().removesuffix(".gz")
    for ends, kind, called in _END:
        if name.endswith(ends):
            return kind, called
    return "", ""
