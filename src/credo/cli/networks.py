"""Networks as the command line sees them: a file whose names and states are text."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from credo._types import Label


class Network:
    """A model from a file, with its names and states found by their text."""

    def __init__(self, path: Path) -> None:
        from credo.formats.network_files import read_network

        self.path = path
        self.model: Any = read_network(path)
        for name, states in zip(self.model.names, self._all_states(), strict=True):
            if not all(isinstance(state, str) for state in states):
                _by_text(states, f"{path}: two states of variable {name!r}")

    @property
    def is_normalised(self) -> bool:
        """Whether the factors multiply to probabilities."""
        from credo.graphs.bayesian_network import BayesianNetwork

        return isinstance(self.model, BayesianNetwork)

    @cached_property
    def names(self) -> dict[str, Label]:
        """The names of the variables by their text."""
        return _by_text(self.model.names, f"{self.path}: two variables")

    def name(self, text: str) -> Label:
        """Find a variable, or say which one may be meant."""
        if text not in self.names:
            self.model[text]  # raises, and names the nearest
        return self.names[text]

    def states(self, name: Label) -> dict[str, Label]:
        """Give the states of a variable by their text."""
        return {str(state): state for state in self.model[name].states}

    def state(self, name: Label, text: str) -> Label:
        """Find a state of a variable, or say which one may be meant."""
        from credo._validation.labels import position

        states = self.states(name)
        return states[list(states)[position(text, tuple(states), f"Variable {name!r}", "state")]]

    def _all_states(self) -> Iterator[tuple[Label, ...]]:
        return (variable.states for variable in self.model.variables)


def _by_text(labels: Iterable[Label], what: str) -> dict[str, Label]:
    """Index labels by their text, which must tell them apart."""
    from credo.exceptions import InputError

    found: dict[str, Label] = {}
    for label in labels:
        if found.setdefault(str(label), label) != label:
            raise InputError(f"{what} read the same: {label}. Rename one of them.")
    return found


@contextmanager
def opened(path: Path) -> Iterator[Network]:
    """Read a network for one question; warnings on the way are sentences on stderr."""
    with spoken_warnings():
        yield Network(path)


@contextmanager
def spoken_warnings(reword: Callable[[str], str] = str) -> Iterator[None]:
    """Turn warnings into sentences on stderr: of a wait at once, of the others at the end."""
    from credo.exceptions import CompilingWarning, CredoWarning

    said: dict[str, None] = {}

    def show(message: object, category: type[Warning], *_: object) -> None:
        text = reword(str(message))
        if issubclass(category, CompilingWarning):
            typer.echo(f"credo: {text}", err=True)
        else:
            said[text] = None

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CredoWarning)
        warnings.showwarning = show  # type: ignore[assignment]  # file and line are not said
        try:
            yield
        finally:
            for text in said:
                typer.echo(f"credo: warning: {text}", err=True)
