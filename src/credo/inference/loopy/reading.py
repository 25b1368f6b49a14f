"""Read what a run of messages leaves behind: messages by name, beliefs of factors, a warm start."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64, Label
from credo._validation.arrays import frozen
from credo.exceptions import InputError
from credo.graphs.wiring import ranges
from credo.inference.loopy._old_net import TABLE, Net
from credo.inference.messages import Message
from credo.inference.question import names_of_factors

if TYPE_CHECKING:
    from credo.inference.loopy.engine import LoopyRun

Int64: TypeAlias = npt.NDArray[np.int64]


class Reader:
    """Gives messages and joint beliefs of a run."""

    def __init__(self, run: LoopyRun) -> None:
        self._run = run

    @cached_property
    def _place(self) -> Int64:
        """The place among the free variables of each variable; -1 if it is observed."""
        problem = self._run.net.problem
        place = np.full(len(problem.wiring.n_states), -1, np.int64)
        place[problem.variables] = np.arange(len(problem.variables))
        return place

    @cached_property
    def _slot_keys(self) -> Int64:
        """The key of each slot."""
        return _keys(self._run.net)

    @cached_property
    def _tables(self) -> Int64:
        """The places of the tables among the factors of the model."""
        return np.flatnonzero(self._run.question.wiring.table >= 0)

    @cached_property
    def _names(self) -> dict[Label, int]:
        """The number, among the tables, of each table that has a name."""
        return names_of_factors(self._run.question.model)

    @staticmethod
    def of(answer: Any, question: Any) -> Reader:
        """Find the reader of an earlier answer about the same model."""
        found = getattr(getattr(answer, "answer", None), "reader", None)
        if not isinstance(found, Reader):
            raise InputError(
                "The start of loopy belief propagation must be an answer of method='loopy'. Got "
                f"{type(answer).__name__}."
            )
        if found._run.question.wiring is not question.wiring:  # noqa: SLF001 - of its own kind
            raise InputError(
                "The start of loopy belief propagation must be an answer about the same model; "
                "this one is about another, or about a copy."
            )
        return found

    def for_net(self, net: Net) -> F64:
        """Give the messages, as logs, in the slots of a net; 0 where this run has none."""
        keys, begin, logs = self._keyed()
        wanted, sizes = _keys(net), np.diff(net.message_start)
        result = np.zeros(int(net.message_start[-1]))
        if not len(keys):
            return result
        place = np.clip(np.searchsorted(keys, wanted), 0, len(keys) - 1)
        known = np.flatnonzero((keys[place] == wanted) & (wanted >= 0))
        to = ranges(net.message_start[:-1][known], sizes[known])
        result[to] = logs[ranges(begin[place[known]], sizes[known])]
        return result

    def for_pairs(self, factor: npt.NDArray[np.integer], ends: Int64, k: int) -> F64:
        """Give the messages of pairs, as logs, of shape (m, 2, k); 0 where this run has none."""
        keys, start, logs = self._keyed()
        wanted = factor.astype(np.int64)[:, np.newaxis] * _KEY + ends
        result = np.zeros((*wanted.shape, k))
        if not len(keys):
            return result
        place = np.clip(np.searchsorted(keys, wanted), 0, len(keys) - 1)
        known = keys[place] == wanted
        result[known] = logs[start[place[known]][:, np.newaxis] + np.arange(k)]
        return result

    def _keyed(self) -> tuple[Int64, Int64, F64]:
        """Give sorted keys of all messages, where each begins, and their logs."""
        from credo.inference.loopy.pairwise import Pairwise  # noqa: PLC0415

        sweeper = self._run.sweeper
        if isinstance(sweeper, Pairwise):
            pairs = sweeper.pairs
            ends = np.stack([pairs.left, pairs.right], axis=1)[sweeper.order]
            factor = pairs.factor[sweeper.order].astype(np.int64)
            keys = (factor[:, np.newaxis] * _KEY + pairs.variables[ends]).ravel()
            order = np.argsort(keys)
            return keys[order], order * pairs.k, sweeper.log_messages().ravel()
        net = self._run.net
        keys = _keys(net)
        order = np.argsort(keys, kind="stable")
        return keys[order], net.message_start[:-1][order], sweeper.state.messages

    def message(self, source: Any, target: Any) -> Message:
        """Make the message from one node to another: variables, or a variable and a factor."""
        general, net, factors = self._run.general(), self._run.net, self._names
        names = net.problem.wiring
        is_from, is_to = (
            isinstance(node, Hashable) and node in factors and node not in names.variables
            for node in (source, target)
        )
        if is_from and is_to:
            raise InputError(f"{source!r} and {target!r} are both factors, which never talk.")
        if is_from or is_to:
            factor, name = (source, target) if is_from else (target, source)
            place = int(self._tables[factors[factor]])
            slot = self._slot_of(place, names.index(name), factor, name)
        else:
            slot = self._slot_between(net, names.index(source), names.index(target), source, target)
        begin, end = net.message_start[slot], net.message_start[slot + 1]
        said = general.state.messages[begin:end]
        if is_to:
            said = general.cavity(slot)
        values = np.exp(said - said.max())
        states = tuple(names.states[int(net.problem.variables[net.scope[slot]])])
        one, two = (getattr(node, "name", node) for node in (source, target))
        return Message(one, two, states, frozen(values / values.sum()), 0.0)

    def _slot_of(self, f: int, v: int, factor: Any, name: Any) -> int:
        """Find the slot of a factor of the wiring and a variable of the wiring."""
        found = np.flatnonzero(self._slot_keys == f * _KEY + v)
        if not len(found):
            raise InputError(
                f"Factor {factor!r} and variable {name!r} are not linked, or {name!r} is observed "
                "and sends and hears no messages."
            )
        return int(found[0])

    def _slot_between(self, net: Net, i: int, j: int, source: Any, target: Any) -> int:
        """Find the slot through which variable j hears from i: a factor of these two alone."""
        a, b = int(self._place[i]), int(self._place[j])
        found = []
        for s in net.incident[net.incident_start[b] : net.incident_start[b + 1]] if b >= 0 else ():
            f = net.factor_at(int(s))
            scope = net.scope[net.scope_start[f] : net.scope_start[f + 1]].tolist()
            if sorted(scope) == sorted((a, b)):
                found.append(int(s))
        if len(found) == 1 and a != b:
            return found[0]
        joined = (
            f"joined by {len(found)} factors"
            if found
            else "not joined by a factor of the two alone, or observed"
        )
        raise InputError(
            f"Variables {source!r} and {target!r} are {joined}. A message goes from one end of an "
            "edge to the other; around a factor of three variables or more, and where several "
            "factors join two, from a variable to a factor or back: name the factor."
        )

    def joint(self, variables: Int64) -> F64 | None:
        """Give the belief of a factor that holds some free variables, summed over its others."""
        net = self._run.net
        wanted = self._place[variables]
        for s in net.incident[net.incident_start[wanted[0]] : net.incident_start[wanted[0] + 1]]:
            f = net.factor_at(int(s))
            scope = net.scope[net.scope_start[f] : net.scope_start[f + 1]]
            if net.kind[f] == TABLE and np.isin(wanted, scope).all():
                belief = self._run.general().factor_belief(f)
                return _reduced(belief, scope, wanted, maximum=self._run.options.maximum)
        return None


#: Keys of messages: the factor times this, plus the variable.
_KEY = 2**31


def _keys(net: Net) -> Int64:
    """Give a key to each slot: its factor and its variable, in the model; -1 for weights."""
    factor = net.origin[net.factor_of]
    return np.where(factor < 0, -1, factor * _KEY + net.problem.variables[net.scope])


def _reduced(table: F64, scope: Int64, wanted: Int64, *, maximum: bool) -> F64:
    """Sum, or maximise, a belief over all but some variables; put the axes of these in order."""
    others = tuple(i for i, v in enumerate(scope.tolist()) if v not in wanted.tolist())
    kept = [v for v in scope.tolist() if v in wanted.tolist()]
    small = table.max(axis=others) if maximum else table.sum(axis=others)
    return np.transpose(small / small.sum(), [kept.index(v) for v in wanted.tolist()])
