"""Marginals of a graph's variables by name: what all answers have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from credo._results import Drawable
from credo._types import F64, Label
from credo.exceptions import InputError
from credo.inference._beliefs import Beliefs
from credo.inference._questions import Question, not_asked
from credo.posterior.posterior import Posterior, trusted


class AbstractMarginals(Drawable):
    """Hold marginals, and what was asked."""

    engine: str
    status: str

    def __init__(self, question: Question, beliefs: Beliefs) -> None:
        self._question = question
        self._beliefs = beliefs

    @property
    def question(self) -> Question:
        """What was asked: the compiled model, the evidence, the query and the budget."""
        return self._question

    @property
    def variables(self) -> tuple[Label, ...]:
        """The names of the variables whose marginals are here."""
        wiring, query = self._question.wiring, self._question.query
        return tuple(wiring.names if query is None else (wiring.names[v] for v in query))

    def __getitem__(self, name: Any) -> Posterior:
        """Return the marginal of one variable."""
        states = self._question.wiring.states[self._index(name)]
        p = self.probabilities(name)
        return trusted(states, p / p.sum())

    def __iter__(self) -> Iterator[Label]:
        return iter(self.variables)

    def __len__(self) -> int:
        query = self._question.query
        return len(self._question.wiring.names if query is None else query)

    def __contains__(self, name: object) -> bool:
        try:
            self._index(name)
        except InputError:
            return False
        return True

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {len(self)} variables, "
            f"{len(self._question.evidence.findings)} findings, {self.engine}, {self.status}>"
        )

    def probabilities(self, name: Any) -> F64:
        """Return the marginal of one variable as an array, in the order of its states."""
        return self._question.marginal(self._beliefs, self._index(name))

    def to_dict(self) -> dict[Label, dict[Label, float]]:
        """Give all marginals as ``{variable: {state: probability}}``."""
        states = self._question.wiring.states
        return {
            name: dict(
                zip(states[self._index(name)], self.probabilities(name).tolist(), strict=True)
            )
            for name in self
        }

    def _index(self, name: Any) -> int:
        """Find a variable that was asked for."""
        question = self._question
        v = question.wiring.index(name)
        if question.wanted is not None and v not in question.wanted:
            raise not_asked(name, self.variables)
        return v
