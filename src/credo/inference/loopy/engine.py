"""Loopy belief propagation: settings, which messages pass how, and what is read from them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._types import F64
from credo.exceptions import InputError
from credo.graphs.wiring import ranges, starts
from credo.inference.damping import Ending, Pace, drive
from credo.inference.loopy.kernels import TABLE
from credo.inference.loopy.messages import LogMessages, PairMessages, Pairs
from credo.inference.loopy.net import Draft, Net, key
from credo.inference.messages import Message
from credo.inference.question import (
    Answer,
    Beliefs,
    Callback,
    Question,
    hears_beliefs,
    names_of_factors,
)

Int64: TypeAlias = npt.NDArray[np.int64]
_WHO = "Loopy belief propagation"
SCHEDULES = ("auto", "flooding", "sequential", "residual", "random", "tree")
#: Below this, logs over the temperature have too few digits left to be worth anything.
_COLDEST = 1e-9
#: Pairs from which on flooding, which is then many times faster per message, is the default.
_MANY_PAIRS = 2000
#: The priority queue is for nets of up to so many messages, rules of up to so many variables, and
#: so many neighbours of a message on average: each update of a hub changes those of all others.
_QUEUED, _WIDE_RULE, _CROWDED = 500_000, 64, 50.0


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """Checked settings of a run."""

    schedule: str
    in_logs: bool
    temperature: float
    dtype: Any
    threads: int
    seed: int
    pace: Pace

    @classmethod
    def of(  # noqa: PLR0913 - one parameter per setting
        cls,
        *,
        schedule: str,
        momentum: Any,
        temperature: float,
        sweeps: int,
        tolerance: float | None,
        dtype: Any,
        domain: str = "linear",
        threads: int = 1,
        seed: int = 0,
        callback: Callback | None = None,
    ) -> Options:
        """Check the settings of loopy belief propagation."""
        check.one_of(schedule, SCHEDULES, f"schedule of {_WHO}")
        check.one_of(domain, ("linear", "log"), f"domain of {_WHO}")
        heat = check.number(temperature, f"temperature of {_WHO}")
        if heat != 0.0 and not _COLDEST <= heat < np.inf:
            raise InputError(
                f"The temperature of {_WHO} must be 0, which maximises, or at least {_COLDEST}; 1 "
                f"sums. Got {temperature}."
            )
        name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype))
        if name not in ("float64", "float32"):
            raise InputError(f"The dtype of {_WHO} must be 'float64' or 'float32'. Got {dtype!r}.")
        number = np.dtype(name)
        least = (1e-8 if number == np.float64 else 2e-6) if tolerance is None else tolerance
        return cls(
            schedule,
            domain == "log",
            heat,
            number,
            check.count(threads, f"threads of {_WHO}"),
            check.count(seed, f"seed of {_WHO}", 0),
            Pace.of(_WHO, momentum, sweeps, least, callback),
        )

    @property
    def maximum(self) -> bool:
        """Whether the others are maximised out, in place of summed."""
        return self.temperature == 0.0


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
    dtype: str = "float64",
    threads: int = 1,
    start: Any = None,
    seed: int = 0,
    root: Any = None,
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
    root
        The variable that schedule "tree" passes messages to and back, first along the tree of
        shortest paths from it; by default the first of each tree, and links in their order.
    callback
        Called after each sweep with its number and residual; one with a parameter ``beliefs`` also
        with ``{variable: {state: probability}}`` as they are then.
    """
    options = Options.of(
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
    numbers = _as_counting(counting, len(question.wiring.table))
    args = question.wiring, question.evidence, question.query, options.temperature, numbers
    return LoopyRun(question, Draft.of(*args), options, start, root).answer()


def _as_counting(given: Any, n_factors: int) -> F64 | None:
    """Check counting numbers: one for all factors, or one for each; None for one everywhere."""
    if given is None:
        return None
    numbers = check.floats(given, f"counting numbers of {_WHO}")
    if numbers.ndim == 0:
        numbers = np.full(n_factors, float(numbers))
    bad = numbers[~(np.isfinite(numbers) & (numbers > 0))]
    if numbers.shape != (n_factors,) or bad.size:
        got = f"{bad[0]:.4g}" if bad.size else f"shape {numbers.shape}"
        raise InputError(
            f"The counting numbers of {_WHO} must be one positive number, or one for each of the "
            f"{n_factors} factors of the model, in their order. Got {got}."
        )
    return numbers


class LoopyRun:
    """One run, and what can be read from it: messages by name, joint beliefs, a warm start."""

    def __init__(
        self, question: Question, draft: Draft, options: Options, start: Any, root: Any = None
    ) -> None:
        self.question, self.draft, self._maximum = question, draft, options.maximum
        how: dict[str, Any] = {"maximum": options.maximum, "threads": options.threads}
        pairs = self._pairs(options) if root is None else None
        self.messages: LogMessages | PairMessages
        if pairs is not None:
            self.schedule = "flooding"
            self.messages = PairMessages(pairs, options.dtype, **how)
        else:
            is_auto = options.schedule == "auto"
            self.schedule = self._best_schedule() if is_auto else options.schedule
            how |= {"tolerance": options.pace.tolerance, "seed": options.seed}
            how |= {} if root is None else {"root": self._place_of(root)}
            self.messages = LogMessages(self.net, self.schedule, in_logs=options.in_logs, **how)
        if start is not None:
            self.messages.start_from(self._messages_of(start))
        self.is_exact = False
        pace = options.pace
        if pace.callback is not None and hears_beliefs(pace.callback):
            pace = replace(pace, callback=partial(self._tell, pace.callback))
        self.ending = self._run(pace)

    def _place_of(self, root: Any) -> int:
        """Return the place of the root of schedule "tree" among the free variables."""
        if self.schedule != "tree":
            raise InputError(
                f"{_WHO} has a root only with schedule='tree', which passes messages to it and "
                f"back. Got schedule={self.schedule!r}."
            )
        free = self.draft.problem.variables
        place = np.flatnonzero(free == self.question.wiring.index(root))
        if not len(place):
            raise InputError(
                f"The root of {_WHO} must be a variable that takes part; {root!r} is observed or "
                "not needed for the query."
            )
        return int(place[0])

    def _tell(self, callback: Callback, number: int, residual: float) -> None:
        """Call a callback with beliefs by name."""
        names = self.question.wiring.names
        query = self.question.query
        beliefs = self._beliefs()
        told = {}
        for v in range(len(names)) if query is None else query:
            values = self.question.marginal(beliefs, v).tolist()
            told[names[v]] = dict(zip(self.question.wiring.states[v], values, strict=True))
        callback(number, residual, beliefs=told)

    def _beliefs(self) -> Beliefs:
        """Return the beliefs of the free variables as they are now."""
        problem = self.draft.problem
        return Beliefs(problem.variables, starts(problem.n_states), self.messages.beliefs(), None)

    @cached_property
    def net(self) -> Net:
        """The net of all messages; pairs do without, until something is read from them."""
        return self.draft.net()

    def _pairs(self, options: Options) -> Pairs | None:
        """Return the pairs, if flooding on them is asked for, or fastest."""
        if options.schedule not in ("auto", "flooding") or options.in_logs:
            return None
        n, count = len(self.draft.problem.n_states), len(self.draft.problem.scope_start) - 1
        if count < _MANY_PAIRS and options.dtype == np.float64:
            return None
        pairs = Pairs.of(self.draft)
        if pairs is None or (len(pairs.scope) < _MANY_PAIRS and options.dtype == np.float64):
            return None
        is_tree = options.schedule == "auto" and len(pairs.scope) < n and self.net.is_forest
        return None if is_tree else pairs

    def _best_schedule(self) -> str:
        """Choose a schedule."""
        wires = self.net.wires
        if self.net.is_forest:
            return "tree"
        widest = int(np.diff(wires.scope_start)[wires.kind != TABLE].max(initial=0))
        crowd = float((np.diff(wires.incident_start) ** 2.0).sum()) / max(len(wires.scope), 1)
        is_easy = len(wires.scope) <= _QUEUED and widest <= _WIDE_RULE and crowd <= _CROWDED
        return "residual" if is_easy else "sequential"

    def _run(self, pace: Pace) -> Ending:
        """Sweep; on a tree, once along its edges and back is all it takes."""
        messages = self.messages
        if isinstance(messages, PairMessages):
            return drive(messages, pace)
        if messages.is_contradiction:
            return Ending("MAX_SWEEPS", np.empty(0), eta=pace.eta, is_impossible=True)
        is_tree = self.draft.counting is None and self.net.is_forest
        self.is_exact = is_tree and self.schedule == "tree"
        ending = drive(messages, pace.fixed(1) if self.is_exact else pace)
        if is_tree and ending.status == "CONVERGED" and not self.is_exact:
            messages.settle()  # nothing but the last digits moves, and then they are exact
            self.is_exact = True
        return replace(ending, is_impossible=ending.is_impossible or messages.is_contradiction)

    def answer(self) -> Answer:
        """Return what was found as an Answer."""
        ending, messages, log_z = self.ending, self.messages, 0.0
        is_late = isinstance(messages, PairMessages)  # to find log Z takes as long as some sweeps
        if not is_late:
            log_z = -np.inf if ending.is_impossible else self.log_z()
        if log_z == -np.inf:
            nothing = Beliefs(np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0), -np.inf)
            return Answer(nothing, ending.status, -np.inf, "EXACT")
        return Answer(
            self._beliefs(),
            "EXACT" if self.is_exact else ending.status,
            log_z,
            "EXACT" if self.is_exact else "ESTIMATE",
            residuals=ending.residuals,
            updates=messages.updates,
            period=ending.period,
            find_log_z=self.log_z if is_late else None,
            joints=self.joint,
            reader=self,
            details={"schedule": self.schedule, "momentum": ending.eta, **messages.details},
        )

    def log_z(self) -> float:
        """Return the Bethe estimate of the log of the sum, or the maximum."""
        return self._logs.log_z()

    def _messages_of(self, start: Any) -> F64:
        """Return the messages of an earlier answer, where a factor receives the same, or 0."""
        found = getattr(getattr(start, "answer", None), "reader", None)
        if not isinstance(found, LoopyRun):
            raise InputError(
                "The start of loopy belief propagation must be an answer of method='loopy'. Got "
                f"{type(start).__name__}."
            )
        if found.question.wiring is not self.question.wiring:
            raise InputError(
                "The start of loopy belief propagation must be an answer about the same model; "
                "this one is about another, or about a copy."
            )
        begin, sizes = self.net.wires.message_start[:-1], np.diff(self.net.wires.message_start)
        _, own, its = np.intersect1d(self.net.keys, found.net.keys, return_indices=True)
        result, there = np.zeros(int(sizes.sum())), found.net.wires.message_start[its]
        logs = found.messages.log_messages()
        result[ranges(begin[own], sizes[own])] = logs[ranges(there, sizes[own])]
        return result

    @cached_property
    def _logs(self) -> LogMessages:
        """The messages in logs, for reading."""
        if isinstance(self.messages, LogMessages):
            return self.messages
        logs = LogMessages(self.net, maximum=self._maximum)
        logs.start_from(self.messages.log_messages())
        return logs

    def message(self, source: Any, target: Any) -> Message:
        """Make the message from one node to another: variables, or a variable and a factor."""
        names, factors = self.net.problem.wiring, names_of_factors(self.question.model)
        is_from, is_to = (
            isinstance(node, Hashable) and node in factors and node not in names.variables
            for node in (source, target)
        )
        if is_from and is_to:
            raise InputError(f"{source!r} and {target!r} are both factors: no message links them.")
        if is_from or is_to:
            factor, name = (source, target) if is_from else (target, source)
            v = names.index(name)
            said = self._with_factor(factors[factor], v, factor, name, inward=is_to)
        else:
            v = names.index(target)
            said = self._said(self._slot_between(names.index(source), v, source, target))
        values = np.exp(said - said.max())
        one, two = (getattr(node, "name", node) for node in (source, target))
        states = tuple(names.states[v])
        return Message(one, two, states, check.frozen(values / values.sum()), 0.0)

    def _said(self, slot: int) -> F64:
        """Return the message of a slot, as logs."""
        begin, end = self.net.wires.message_start[slot : slot + 2]
        return self._logs.log_messages()[begin:end]

    def _with_factor(self, number: int, v: int, factor: Any, name: Any, *, inward: bool) -> F64:
        """Return the message between a table of this number and a variable, as logs."""
        wires = self.net.wires
        f = int(np.flatnonzero(self.question.wiring.table >= 0)[number])
        found = np.flatnonzero(self.net.keys == key(f, v))
        if not len(found):
            raise InputError(
                f"Factor {factor!r} and variable {name!r} are not linked, or {name!r} is observed "
                "and sends and hears no messages."
            )
        slot = int(found[0])
        if not inward:
            return self._said(slot)
        own = wires.factor_of[slot]
        return self._logs.inbox(own)[slot - wires.scope_start[own]]

    def _slot_between(self, i: int, j: int, source: Any, target: Any) -> int:
        """Find the slot through which variable j receives from i: a factor of these two alone."""
        wires, variables = self.net.wires, self.net.problem.variables
        pair = np.flatnonzero(np.diff(wires.scope_start) == 2)
        first = wires.scope_start[pair]
        ends = variables[np.stack([wires.scope[first], wires.scope[first + 1]], axis=1)]
        found = first[(np.sort(ends, axis=1) == sorted((i, j))).all(axis=1)]
        if len(found) == 1 and i != j:
            return int(found[0] + (variables[wires.scope[found[0]]] != j))
        joined = (
            f"joined by {len(found)} factors"
            if len(found)
            else "not joined by a factor of the two alone, or observed"
        )
        raise InputError(
            f"Variables {source!r} and {target!r} are {joined}. A message goes from one end of an "
            "edge to the other; around a factor of three variables or more, and where several "
            "factors join two, from a variable to a factor or back: name the factor."
        )

    def joint(self, variables: Int64) -> F64 | None:
        """Return the belief of a table that holds some free variables, summed over its others."""
        wires = self.net.wires
        wanted = np.searchsorted(self.net.problem.variables, variables)
        holds = np.bincount(
            wires.factor_of[np.isin(wires.scope, wanted)], minlength=len(wires.kind)
        )
        found = np.flatnonzero((holds == len(wanted)) & (wires.kind == TABLE))
        if not len(found):
            return None
        f = int(found[0])
        scope = wires.scope[wires.scope_start[f] : wires.scope_start[f + 1]].tolist()
        others = tuple(i for i, v in enumerate(scope) if v not in wanted)
        belief, kept = self._logs.factor_belief(f), [v for v in scope if v in wanted]
        small = belief.max(axis=others) if self._maximum else belief.sum(axis=others)
        return np.transpose(small / small.sum(), [kept.index(v) for v in wanted])
