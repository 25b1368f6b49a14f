"""Run loopy belief propagation on a question: choose how, pass messages, say how it ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from credo._types import F64
from credo.graphs.wiring import starts
from credo.inference.loopy.general import General
from credo.inference.loopy._old_net import TABLE, Net, build
from credo.inference.loopy.options import Options, as_counting, check
from credo.inference.loopy.pairs import Pairs, find_pairs
from credo.inference.loopy.pairwise import Pairwise
from credo.inference.loopy.reading import Reader
from credo.inference.loopy.sweeping import Ending, run
from credo.inference.question import Answer, Beliefs, Callback, Kind, Question, Status

#: Pairs from which on flooding, which is then a hundred times faster per message, is the default.
_MANY_PAIRS = 2000
#: Messages up to which a priority queue pays for itself.
_QUEUED = 500_000
#: Variables of a rule up to which its messages are worth computing one by one.
_WIDE_RULE = 64
#: Neighbours of a message, on average, up to which the queue is worth keeping: each update of a hub
#: changes the priorities of all that hang on it.
_CROWDED = 50.0


def run_loopy(  # noqa: PLR0913 - one parameter per setting, each with a default
    question: Question,
    *,
    schedule: str = "auto",
    momentum: float | str = "adaptive",
    domain: str = "linear",
    temperature: float = 1.0,
    counting: Any = None,
    sweeps: int = 1000,
    tolerance: float | None = None,
    dtype: Any = "float64",
    threads: int = 1,
    start: Any = None,
    seed: int = 0,
    callback: Callback | None = None,
) -> Answer:
    """Pass messages until they settle.

    Parameters
    ----------
    question
        The model, not tabulated, its evidence and query.
    schedule
        Which message is next: "flooding", "sequential", "residual", "random", "tree"; "auto" takes
        "tree" on trees, "flooding" for many pairs, and "residual" or "sequential" otherwise.
    momentum
        Share of the new message, above 0 and at most 1; "adaptive" begins with 1 and halves it
        while the residual does not fall.
    domain
        Whether "linear" or "log" messages are mixed.
    temperature
        1 sums, 0 maximises; between, and above, marginals of the model to the power 1/temperature.
        Other than at 1, noisy gates are written out as tables.
    counting
        Counting numbers: one for all, or one for each factor of the model in its order, of which
        those of single variables do not matter; 1 is belief propagation, edge appearance
        probabilities are tree-reweighted belief propagation.
    sweeps
        How many at most.
    tolerance
        Largest change of a probability in a message at which to stop; by default 1e-8.
    dtype
        "float64", or "float32" for graphs of pairs.
    threads
        For flooding; the answer is the same for any number.
    start
        An earlier answer, whose messages are begun with.
    seed
        Of the order, if it is "random".
    callback
        Called after each sweep with its number and residual.
    """
    options = check(
        schedule=schedule,
        momentum=momentum,
        domain=domain,
        temperature=temperature,
        sweeps=sweeps,
        tolerance=tolerance,
        dtype=dtype,
        threads=threads,
        seed=seed,
        callback=callback,
    )
    return LoopyRun(question, options, counting, start).answer()


class LoopyRun:
    """One run, and what can be read from it."""

    def __init__(
        self, question: Question, options: Options, counting: Any = None, start: Any = None
    ) -> None:
        self.question = question
        self._counting = counting
        self._net: Net | None = None
        self._general: General | None = None
        self._was_settled = False
        self.options = options
        pairs = self._pairs()
        self.sweeper: General | Pairwise
        if pairs is not None:
            self.options = replace(options, schedule="flooding")
            self.sweeper = Pairwise(pairs, self.options)
        else:
            self.options = replace(options, schedule=self._schedule())
            self.sweeper = General(self.net, self.options, self._numbers())
        if start is not None:
            self._begin_with(start)
        self.ending = self._run()

    @property
    def net(self) -> Net:
        """The net of messages."""
        if self._net is None:
            question = self.question
            self._net = build(
                question.wiring,
                question.evidence,
                question.query,
                sum_product=self.options.temperature == 1.0 and self._counting is None,
            )
        return self._net

    def _pairs(self) -> Pairs | None:
        """Give the pairs, if flooding on them is asked for, or fastest."""
        options, question = self.options, self.question
        if options.schedule not in ("auto", "flooding") or self._counting is not None:
            return None
        if options.in_logs:
            return None
        pairs = find_pairs(question.wiring, question.evidence, options.temperature)
        if pairs is None or not pairs.fits(np.float64):
            return None
        few = len(pairs.left) < _MANY_PAIRS and options.dtype == np.float64
        return None if few or (options.schedule == "auto" and pairs.are_forest) else pairs

    def _schedule(self) -> str:
        """Choose a schedule."""
        if self.options.schedule != "auto":
            return self.options.schedule
        if self.net.is_forest:
            return "tree"
        net = self.net
        widest_rule = int(np.diff(net.scope_start)[net.kind != TABLE].max(initial=0))
        crowd = float((np.diff(net.incident_start).astype(float) ** 2).sum()) / max(net.n_slots, 1)
        is_easy = net.n_slots <= _QUEUED and widest_rule <= _WIDE_RULE and crowd <= _CROWDED
        return "residual" if is_easy else "sequential"

    def _numbers(self) -> F64 | None:
        """Check the counting numbers."""
        numbers = as_counting(self._counting, len(self.question.wiring.table))
        if numbers is None:
            return None
        return numbers[self.net.origin[np.diff(self.net.scope_start) > 1]]

    def _begin_with(self, start: Any) -> None:
        """Take over the messages of an earlier run, where the same factor hears the same."""
        reader = Reader.of(start, self.question)
        if isinstance(self.sweeper, Pairwise):
            pairs = self.sweeper.pairs
            ends = np.stack([pairs.left, pairs.right], axis=1)
            self.sweeper.start_from(reader.for_pairs(pairs.factor, pairs.variables[ends], pairs.k))
        else:
            self.sweeper.start_from(reader.for_net(self.net))

    def _run(self) -> Ending:
        """Sweep; on a tree, twice along its edges is all it takes."""
        if isinstance(self.sweeper, General) and self.sweeper.is_contradiction:
            return Ending("MAX_SWEEPS", np.empty(0), 0, self.options.eta, is_impossible=True)
        try:
            ending = run(self.sweeper, self._options_here())
        finally:
            if isinstance(self.sweeper, Pairwise):
                self.sweeper.close()
        if isinstance(self.sweeper, General):
            is_tree = self.net.is_forest and self._counting is None
            if is_tree and ending.status == "CONVERGED" and not self._is_one_walk:
                self.sweeper.settle()  # nothing but the last digits moves, and then they are exact
                self._was_settled = True
            if self.sweeper.is_contradiction:
                return replace(ending, is_impossible=True)
        return ending

    def _options_here(self) -> Options:
        """On a tree whose messages climb and fall once, stop there and do not mix."""
        if self._is_one_walk:
            return replace(self.options, sweeps=1, eta=1.0, is_adaptive=False)
        return self.options

    @property
    def _is_one_walk(self) -> bool:
        """Whether a single sweep settles everything."""
        is_tree = self.options.schedule == "tree" and self._counting is None
        return is_tree and self.net.is_forest

    @property
    def is_exact(self) -> bool:
        """Whether the answer is exact: on a tree, along which messages went there and back."""
        if self._counting is not None or isinstance(self.sweeper, Pairwise):
            return False
        return self._is_one_walk or self._was_settled

    def general(self) -> General:
        """Give the messages in the general layout, for reading."""
        if isinstance(self.sweeper, General):
            return self.sweeper
        if self._general is None:
            self._general = General(self.net, replace(self.options, schedule="sequential"))
            self._general.start_from(Reader(self).for_net(self.net))
        return self._general

    def log_z(self) -> float:
        """Give the Bethe estimate of log Z, of the tempered model."""
        heat = self.options.temperature or 1.0
        if isinstance(self.sweeper, Pairwise) and not self.options.maximum:
            return self.sweeper.log_z()
        general = self.general()
        shift = float((general.wires.counting * general.shift).sum())
        return general.log_z() + shift + self.net.problem.log_constant / heat

    def _possible_log_z(self) -> float:
        """Give the estimate of log Z; -inf if a contradiction was met."""
        return -np.inf if self.ending.is_impossible else self.log_z()

    def answer(self) -> Answer:
        """Word what came out."""
        ending = self.ending
        log_z = 0.0 if isinstance(self.sweeper, Pairwise) else self._possible_log_z()
        if log_z == -np.inf:
            nothing = Beliefs(np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0), -np.inf)
            return Answer(nothing, ending.status, -np.inf, "EXACT")
        sweeper = self.sweeper
        part = sweeper.pairs if isinstance(sweeper, Pairwise) else self.net.problem
        variables = part.variables
        n_states = self.question.wiring.n_states[variables]
        beliefs = Beliefs(variables, starts(n_states), self.sweeper.beliefs(), None)
        exact, reader = self.is_exact, Reader(self)
        status: Status = "EXACT" if exact else ending.status
        kind: Kind = "EXACT" if exact else "ESTIMATE"
        return Answer(
            beliefs,
            status,
            log_z,
            kind,
            residuals=ending.residuals,
            updates=self.sweeper.updates,
            period=ending.period,
            find_log_z=self.log_z if isinstance(sweeper, Pairwise) else None,
            joints=reader.joint,
            reader=reader,
            details={"schedule": self.options.schedule, "momentum": ending.eta},
        )
