"""Findings written on a command line, such as ``smoke=yes,"Asy/Patch"="a, b"``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Never

if TYPE_CHECKING:
    from credo._types import Label
    from credo.cli.networks import Network


@dataclass(frozen=True, slots=True)
class Word:
    """A name or a state; one in double quotes is taken as it is."""

    text: str
    quoted: bool


def evidence_of(network: Network, texts: Sequence[str] | None) -> dict[Label, Any]:
    """Read the findings of all ``--evidence`` options; each variable once."""
    from credo.exceptions import InputError

    evidence: dict[Label, Any] = {}
    for text in texts or ():
        for variable, words in findings_in(text):
            name = network.name(variable.text)
            if name in evidence:
                raise InputError(
                    f"--evidence names {variable.text!r} twice. For several states write "
                    f"{variable.text}=state|state."
                )
            evidence[name] = _states(network, name, words)
    return evidence


def names_of(network: Network, texts: Sequence[str] | None, option: str) -> list[Label] | None:
    """Read the variables of an option that lists names; each once."""
    from credo.exceptions import InputError

    if not texts:
        return None
    names = [network.name(word.text) for text in texts for word in words_in(text, option)]
    seen: set[Label] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{option} names {name!r} twice.")
        seen.add(name)
    return names


def findings_in(text: str) -> Iterator[tuple[Word, list[Word]]]:
    """Give the variables and the words of their states, separated by commas."""
    reader = _Reader(text, "--evidence")
    while True:
        variable = reader.word("=,")
        if reader.taken != "=":
            reader.fail(f"expected variable=state, got {variable.text!r}")
        states = [reader.word("|,")]
        while reader.taken == "|":
            states.append(reader.word("|,"))
        yield variable, states
        if not reader.taken:
            return


def words_in(text: str, option: str) -> Iterator[Word]:
    """Give names that are separated by commas."""
    reader = _Reader(text, option)
    yield reader.word(",")
    while reader.taken:
        yield reader.word(",")


def _states(network: Network, name: Label, words: list[Word]) -> Any:
    """Find the state, or the states, of a finding."""
    whole = "|".join(word.text for word in words)
    plain = not any(word.quoted for word in words)
    if len(words) == 1 or (plain and whole in network.states(name)):
        return network.state(name, whole)
    return [network.state(name, word.text) for word in words]


class _Reader:
    """Words of a text from left to right; ``taken`` is the mark that ended the last, or ""."""

    def __init__(self, text: str, option: str) -> None:
        self.text = text
        self.option = option
        self.place = 0
        self.taken = ""

    def word(self, marks: str) -> Word:
        """Read a word up to one of the marks, or to the end."""
        self._skip_spaces()
        quoted = self.text[self.place : self.place + 1] == '"'
        found = self._quoted() if quoted else self._bare(marks)
        self._skip_spaces()
        self.taken = self.text[self.place : self.place + 1]
        if self.taken and self.taken not in marks:
            self.fail(f"expected one of {' '.join(marks)} after the quoted {found!r}")
        self.place += len(self.taken)
        return Word(found, quoted)

    def fail(self, reason: str) -> Never:
        """Say what is wrong with the text."""
        from credo.exceptions import InputError

        raise InputError(
            f"{self.option} {self.text!r}: {reason}. Write names or states that hold commas, "
            "equals signs or bars in double quotes."
        )

    def _bare(self, marks: str) -> str:
        start = self.place
        while self.place < len(self.text) and self.text[self.place] not in marks:
            self.place += 1
        found = self.text[start : self.place].strip()
        if not found:
            self.fail(f"a name or a state is missing at character {start + 1}")
        if '"' in found:
            self.fail(f"there is a double quote inside {found!r}; double it in a quoted name")
        return found

    def _quoted(self) -> str:
        """Read a word in quotes; two quotes inside it stand for one."""
        parts = []
        while True:
            end = self.text.find('"', self.place + 1)
            if end < 0:
                self.fail("a double quote is not closed")
            parts.append(self.text[self.place + 1 : end])
            self.place = end + 1
            if self.text[self.place : self.place + 1] != '"':
                return '"'.join(parts)

    def _skip_spaces(self) -> None:
        while self.text[self.place : self.place + 1].isspace():
            self.place += 1
