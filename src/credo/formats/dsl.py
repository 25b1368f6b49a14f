"""GeNIe's older text files: .dsl, Bayesian networks of discrete chance nodes."""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

import numpy as np

from credo.formats._network import Declared, network
from credo.formats._text import TextFile, is_number, shown
from credo.graphs.bayesian_network import BayesianNetwork

#: A text in quotes, a comment, one sign, or a word.
_TOKEN = re.compile(r'"[^"]*"|//[^\r\n]*|/\*.*?\*/|[{}()=;]|[^\s,"{}()=;]+', re.DOTALL)
#: Blocks within blocks, at most: GeNIe's own have four.
_DEEPEST = 50


class _Braces(NamedTuple):
    """What stands between braces: ``{key: value}``, where it begins, and blocks with a name."""

    place: int
    values: dict[str, Any]
    named: list[tuple[str, str, _Braces]]


def read_dsl(path: str | os.PathLike[str]) -> BayesianNetwork:
    """Read a Bayesian network from a GeNIe DSL file (.dsl).

    Parameters
    ----------
    path : str or path
        The file, packed with gzip or not; UTF-8 or Latin-1.

    Returns
    -------
    BayesianNetwork
        Its variables in the order of the file; names are the nodes' own, not those shown.

    Raises
    ------
    FileFormatError
        If the file is damaged, or if a node is neither a table of probabilities (``CPT``) nor of
        resulting states (``TRUTHTABLE``); the text names the file, the line and the column.

    See Also
    --------
    read_xdsl : GeNIe's present format.
    read_network : Choose the reader by the name of the file.

    Notes
    -----
    Tables list the states of the node fastest and those of the first parent slowest. Layout,
    colours, comments and other properties are passed over. Time is linear in the size of the file.

    Examples
    --------
    >>> from credo.formats import read_dsl
    >>> file = getfixture("tmp_path") / "rain.dsl"
    >>> _ = file.write_text('''net weather {
    ...   node rain { TYPE = CPT; PARENTS = ();
    ...     DEFINITION = { NAMESTATES = (no, yes); PROBABILITIES = (0.75, 0.25); }; }; };''')
    >>> read_dsl(file).table("rain")
    rain = no  rain = yes
             0.75        0.25
    """
    source = TextFile.read(path)
    tokens = [t for t in _TOKEN.finditer(source.text) if not t[0].startswith(("//", "/*"))]
    whole, end = _block(source, tokens, 0, 0)
    if end < len(tokens):
        source.fail(tokens[end].start(), "No brace is open here. Remove it.")
    nets = [inner for kind, _, inner in whole.named if kind.lower() == "net"]
    if not nets:
        source.fail(0, "Expected net NAME { … }. Is it another format?")
    nodes = [(name, node) for kind, name, node in nets[0].named if kind.lower() == "node"]
    return network([_declared(source, name, node) for name, node in nodes], source.path)


def _block(
    source: TextFile, tokens: list[re.Match[str]], at: int, depth: int
) -> tuple[_Braces, int]:
    """Read statements up to the closing brace, or to the end; return what follows, too."""
    if depth > _DEEPEST:
        source.fail(tokens[at].start(), "Blocks stand too deep inside each other.")
    found = _Braces(tokens[at].start() if at < len(tokens) else 0, {}, [])
    words: list[str] = []
    while at < len(tokens) and tokens[at][0] != "}":
        sign, here = tokens[at][0], tokens[at].start()
        inner: Any = [word for word in words[2:] if word not in "()"]
        if sign == "{":
            inner, at = _block(source, tokens, at + 1, depth + 1)
            if at == len(tokens):
                source.fail(here, "This brace is not closed. Add } where the block ends.")
        at += 1
        if sign not in "{;":
            words.append(sign)
            continue
        if words[1:2] == ["="]:
            found.values[words[0].upper()] = inner
        else:
            found.named.append((" ".join(words[:-1]), _plain((words or [""])[-1]), inner))
        words = []
    if depth and words:
        last = min(at, len(tokens) - 1)
        source.fail(tokens[last].start(), "Expected a semicolon (;) before the end of the block.")
    return found, at


def _plain(word: str) -> str:
    """Return what a word spells."""
    return word[1:-1] if word.startswith('"') else word


def _declared(source: TextFile, name: str, node: _Braces) -> Declared:
    """Return a node as a variable of a network."""

    def fail(reason: str) -> Any:
        source.fail(node.place, f"Node {name!r} {reason}")

    kind = " ".join(node.values.get("TYPE", ["?"]))
    definition: Any = node.values.get("DEFINITION")
    if kind not in {"CPT", "TRUTHTABLE"} or not isinstance(definition, _Braces):
        fail(f"is of type {kind}. Only discrete chance nodes (CPT, TRUTHTABLE) are read.")
    states = tuple(map(_plain, definition.values.get("NAMESTATES", ())))
    parents = tuple(map(_plain, node.values.get("PARENTS", ())))
    if kind == "CPT":
        words = definition.values.get("PROBABILITIES", [])
        odd = next((word for word in words if not is_number(word)), None)
        if odd is not None:
            fail(f"needs numbers as PROBABILITIES. Got {shown(odd)}.")
        values = np.array(list(map(float, words)))
    else:
        chosen = list(map(_plain, definition.values.get("RESULTINGSTATES", ())))
        odd = next((word for word in chosen if word not in states), None)
        if odd is not None:
            fail(f"has the resulting state {shown(odd)}, which is none of its states.")
        values = np.eye(len(states))[[states.index(word) for word in chosen]].ravel()
    return Declared(name, states, parents, values, lambda _: source.where(node.place))
