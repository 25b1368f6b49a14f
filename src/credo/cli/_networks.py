"""Networks as the command line sees them: a file whose names and states are text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from credo.cli._options import findings_in, names_in
from credo.cli._rows import open_rows
from credo.exceptions import FileFormatError, InputError, LabelError


class Network:
    """A model from a file, with its names and states found by their text."""

    def __init__(self, path: Path) -> None:
        from credo.formats import read_network
        from credo.graphs import BayesianNetwork

        self.model: Any = read_network(path)
        self.is_normalised = isinstance(self.model, BayesianNetwork)
        self.names = _by_text(self.model.names, f"{path}: two variables")
        for each in self.model.variables:
            _by_text(each.states, f"{path}: two states of variable {each.name!r}")

    @property
    def quantity(self) -> str:
        """What the log evidence is the log of."""
        return "ln P(evidence)" if self.is_normalised else "ln Z(evidence)"

    def name(self, text: str) -> Any:
        """Find a variable, or say which one may be meant."""
        if text not in self.names:
            self.model[text]  # raises, and names the nearest
        return self.names[text]

    def states(self, name: Any) -> dict[str, Any]:
        """Return the states of a variable by their text."""
        return {str(state): state for state in self.model[name].states}

    def state(self, name: Any, text: str) -> Any:
        """Find a state of a variable, or say which one may be meant."""
        from credo import _checks as check

        states = self.states(name)
        check.position(text, tuple(states), "state", f"variable {name!r}")
        return states[text]

    def chosen(self, texts: Sequence[str] | None, option: str) -> list[Any] | None:
        """Read the variables of an option that lists names; None if there are none."""
        with _blaming(option):
            return [self.name(text) for text in names_in(texts, option)] or None

    def evidence(self, texts: Sequence[str] | None) -> dict[Any, Any]:
        """Read the findings of all ``--evidence`` options; each variable once."""
        found: dict[Any, Any] = {}
        for variable, words in (each for t in texts or () for each in findings_in(t, "--evidence")):
            with _blaming("--evidence"):
                name = self.name(variable.text)
                if name in found:
                    raise InputError(
                        f"--evidence names {variable.text!r} twice. For several states write "
                        f"{variable.text}=state|state."
                    )
                whole = "|".join(word.text for word in words)
                plain = not any(word.quoted for word in words)
                if len(words) == 1 or (plain and whole in self.states(name)):
                    found[name] = self.state(name, whole)
                else:
                    found[name] = [self.state(name, word.text) for word in words]
        return found

    def weights(self, path: Path | None) -> dict[Any, Any] | None:
        """Read ``{variable: weights}``: a JSON object, or the columns variable, state, weight."""
        if path is None:
            return None
        with path.open("rb") as stream:
            is_json = stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
        return self._json_weights(path) if is_json else self._table_weights(path)

    def _table_weights(self, path: Path) -> dict[Any, Any]:
        """Read one weight per row."""
        import pyarrow as pa

        found: dict[Any, Any] = {}
        types = {"variable": pa.string(), "state": pa.string(), "weight": pa.float64()}
        with open_rows(str(path), types) as rows:
            cells = (
                row
                for batch in rows.batches(list(types))
                for row in zip(*batch.to_pydict().values(), strict=True)
            )
            for number, (variable, state, weight) in enumerate(cells, 1):
                if None in (variable, state, weight):
                    raise rows.fault_at("a cell is empty. Each row names a weight.", number)
                try:
                    name = self.name(variable)
                    weights, label = found.setdefault(name, {}), self.state(name, state)
                except LabelError as error:
                    raise rows.fault_at(str(error), number) from None
                if label in weights:
                    reason = f"there is a weight for {variable!r}, state {state!r}, already."
                    raise rows.fault_at(reason, number)
                weights[label] = weight
        return found

    def _json_weights(self, path: Path) -> dict[Any, Any]:
        """Read an object whose values are lists, or objects by state."""
        found: dict[Any, Any] = {}
        for variable, weights in _object(path).items():
            by_state = isinstance(weights, dict)
            values = list(weights.values()) if by_state else weights
            if not isinstance(values, list) or not {type(each) for each in values} <= {int, float}:
                reason = f"the weights of {variable!r} must be numbers, in a list or by state."
                raise FileFormatError(reason, str(path))
            with _blaming(path):
                name = self.name(variable)
                states = [self.state(name, state) for state in weights] if by_state else None
            found[name] = values if states is None else dict(zip(states, values, strict=True))
        return found


@contextmanager
def _blaming(place: object) -> Iterator[None]:
    """Say in which option or file there is a name that is not known."""
    try:
        yield
    except LabelError as error:
        raise LabelError(f"{place}: {error}") from None


def _by_text(labels: Iterable[Any], what: str) -> dict[str, Any]:
    """Index labels by their text, which must tell them apart."""
    found: dict[str, Any] = {}
    for label in labels:
        if found.setdefault(str(label), label) != label:
            raise InputError(f"{what} read the same: {label}. Rename one of them.")
    return found


def _object(path: Path) -> dict[str, Any]:
    """Read a JSON object; a key that comes twice is an error."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice = [key for key, n in Counter(key for key, _ in pairs).items() if n > 1]
        if twice:
            raise FileFormatError(f"{twice[0]!r} comes twice.", str(path))
        return dict(pairs)

    try:
        found = json.loads(path.read_bytes().decode("utf-8-sig"), object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise FileFormatError(f"{error.msg}.", str(path), error.lineno, error.colno) from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise FileFormatError("this is not a JSON file of weights.", str(path)) from error
    if not isinstance(found, dict):
        raise FileFormatError("expected an object {variable: weights}.", str(path))
    return found
