"""Read messages out of the slots of a finished run, in the words of the lecture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.special import logsumexp

from credo._types import F64, Label
from credo._validation.arrays import frozen
from credo._validation.labels import listing
from credo.exceptions import InputError
from credo.graphs.wiring import Wiring
from credo.inference._tree_forest import Forest
from credo.inference._tree_layout import Store, logarithms
from credo.inference.messages import Message


@final
@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """What a run leaves behind, and what is needed to make sense of it."""

    wiring: Wiring
    forest: Forest
    store: Store
    base: float  #: log of the base of exponents: log 2 for numbers, 1 for logs
    maximum: bool
    both: bool

    def message(self, source: Any, target: Any, factors: Mapping[Label, int]) -> Message:
        """Find the link between two nodes and make the message along it."""
        (sender, is_rule), (hearer, to_rule) = (
            self._node(name, factors) for name in (source, target)
        )
        if is_rule and to_rule:
            raise InputError(f"{source!r} and {target!r} are both factors, which never talk.")
        if is_rule:
            logs = self._incoming(self._link(sender, hearer, source, target))
        elif to_rule:
            logs = self._outgoing(self._link(hearer, sender, target, source))
        else:
            logs = self._incoming(self._edge(sender, hearer, source, target))
        return self._made(source, target, sender if to_rule else hearer, logs)

    def _made(self, source: Any, target: Any, v: int, logs: F64) -> Message:
        """Scale logs and name them."""
        scale = float(logs.max() if self.maximum else logsumexp(logs))
        values = frozen(np.exp(logs - scale))
        one, two = (getattr(node, "name", node) for node in (source, target))
        return Message(one, two, tuple(self.wiring.states[v]), values, scale)

    def _node(self, name: Any, factors: Mapping[Label, int]) -> tuple[int, bool]:
        """Find a variable, or else a factor, by its name."""
        if name in factors and name not in self.wiring.variables:
            return factors[name], True
        return self.wiring.index(name), False

    def _scope(self, f: int) -> range:
        """Give the links of a factor."""
        return range(*self.wiring.scope_start[f : f + 2].tolist())

    def _link(self, f: int, v: int, factor: Any, variable: Any) -> int:
        """Find the link of a factor and a variable."""
        links = self._scope(f)
        if len(links) == 1:
            raise InputError(
                f"Factor {factor!r} has one variable: it is a part of its potential, and sends "
                "no message."
            )
        for link in links:
            if self.wiring.scope[link] == v:
                return link
        names = [self.wiring.names[self.wiring.scope[link]] for link in links]
        raise InputError(
            f"Factor {factor!r} and variable {variable!r} are not linked. The factor is over "
            f"{listing(names)}."
        )

    def _edge(self, i: int, j: int, source: Any, target: Any) -> int:
        """Find the link through which variable j hears from i: a factor of these two."""
        scope = self.wiring.scope
        shared = [
            [links[0], links[-1]][int(scope[links[0]] == i)]
            for links in map(self._scope, self.forest.factor[np.flatnonzero(scope == i)])
            if len(links) == 2 and j in scope[links.start : links.stop]
        ]
        if len(shared) == 1 and i != j:
            return shared[0]
        joined = f"joined by {len(shared)} factors" if shared and i != j else "not neighbours"
        raise InputError(
            f"Variables {source!r} and {target!r} are {joined}. A message goes from one end of "
            "an edge to the other; around a factor of three variables or more, and where several "
            "factors join two, from a variable to a factor or back: name the factor."
        )

    def _incoming(self, link: int) -> F64:
        """Give the logs of what a factor tells a variable, for each state of it."""
        v, f = int(self.wiring.scope[link]), int(self.forest.factor[link])
        node = self.forest.n + f
        self._check_pass(self.forest.up[node] in {link, -2})
        if self.forest.observed[v] < 0:
            logs = self._slot(self.forest.n + link)
        else:
            logs = self._summed(link)
        return logs + self._scales(node, v, link)

    def _outgoing(self, link: int) -> F64:
        """Give the logs of what a variable tells a factor, for each state of it."""
        n = self.forest.n
        v, f = int(self.wiring.scope[link]), int(self.forest.factor[link])
        self._check_pass(self.forest.up[v] == link or self._is_closed(v))
        logs = self._known(link)
        return logs if self._is_closed(v) else logs + self._scales(v, n + f, link)

    def _check_pass(self, is_first: bool) -> None:  # noqa: FBT001 - one question
        """Refuse messages that a single pass has not made."""
        if not (is_first or self.both):
            raise InputError(
                "This message goes away from the root, and only the pass towards it was run. "
                "Run both passes."
            )

    def _is_closed(self, v: int) -> bool:
        """Tell whether a variable was cut off because it is observed."""
        return bool(self.forest.cut and self.forest.observed[v] >= 0)

    def _slot(self, slot: int) -> F64:
        """Give the logs of a slot, with its exponent."""
        low, high = self.store.start[slot : slot + 2]
        cells = self.store.cells[low:high]
        logs = cells if self.base == 1.0 else logarithms(cells)
        return logs + self.base * self.store.exponent[slot]

    def _known(self, link: int) -> F64:
        """Give the logs of an outgoing message for all states: none but the observed one."""
        v = int(self.wiring.scope[link])
        seen = self.forest.observed[v]
        slot = self.forest.n + len(self.wiring.scope) + link
        logs = np.zeros(1) if self._is_closed(v) else self._slot(slot)
        if seen < 0:
            return logs
        full = np.full(self.wiring.n_states[v], -np.inf)
        full[seen] = logs[0]
        return full

    def _summed(self, link: int) -> F64:
        """Sum a factor towards an observed variable, of which the run has kept one state."""
        wiring = self.wiring
        f = int(self.forest.factor[link])
        links = self._scope(f)
        low, high = wiring.table_start[wiring.table[f] : wiring.table[f] + 2]
        logs = wiring.log_values
        logs = logarithms(wiring.values[low:high]) if logs is None else logs[low:high]
        logs = logs.reshape(wiring.n_states[wiring.scope[links.start : links.stop]])
        for axis, other in enumerate(links):
            if other != link:
                shape = [-1 if i == axis else 1 for i in range(len(links))]
                logs = logs + self._known(other).reshape(shape)
        rest = tuple(axis for axis, other in enumerate(links) if other != link)
        return logs.max(axis=rest) if self.maximum else logsumexp(logs, axis=rest)

    def _scales(self, sender: int, hearer: int, link: int) -> float:
        """Add up the log scales of all tables on the sender's side of a link."""
        wiring, forest = self.wiring, self.forest
        if not wiring.log_scale.any():
            return 0.0
        from credo._kernels.tree_order import behind  # noqa: PLC0415 - loads Numba

        n = forest.n
        of_factor = wiring.log_scale[wiring.table]
        unary = np.flatnonzero(np.diff(wiring.scope_start) == 1)
        weights = np.concatenate([np.zeros(n), of_factor])
        np.add.at(weights, wiring.scope[wiring.scope_start[unary]], of_factor[unary])
        below, whole = np.empty((2, len(weights)))
        behind(n, forest.scope, forest.factor, forest.order, forest.up, weights, below, whole)
        if forest.up[sender] == link:
            return float(below[sender])
        return float(whole[sender] - (below[hearer] if forest.up[hearer] == link else 0.0))
