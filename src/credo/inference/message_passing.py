"""Message passing on trees as one follows it: a root by name, messages in order, beliefs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any, Literal, final, overload

import numpy as np

from credo import _checks as check
from credo._results import SHOWN, Drawable, html_table
from credo._types import Label, Labels
from credo.exceptions import InputError
from credo.inference._explain import impossible
from credo.inference.configurations import Configuration
from credo.inference.maximum import mpe
from credo.inference.messages import Message, TreeRun, in_words, name_of, run_tree
from credo.inference.question import ask, names_of_factors

#: Messages of a pass, and beliefs, that are printed.
_SHOWN = 40


@final
@dataclass(frozen=True, eq=False, repr=False)
class MessagePassing(Drawable):
    """Hold the messages of a tree in the order in which they were sent, and beliefs. Immutable.

    ``print`` shows them, ``plot`` draws them as numbered arrows; indexing gives one,
    ``passed["a", "b"]`` by source and target or ``passed[0]`` by its place; ``passed[:3]`` is the
    run after three messages, with what each variable believes then. Iterates over all.

    Attributes
    ----------
    root : Hashable
        The variable that the first pass went to.
    log_evidence : float
        Log of the sum over all configurations that agree with the evidence: of the probability of
        the evidence, or of the partition function. For maxima, log of the largest weight.
    max_product : bool
        Whether other variables were maximised out, not summed out.

    See Also
    --------
    credo.pass_messages : Makes it.
    credo.infer : Answers on any graph.

    Examples
    --------
    >>> import credo
    >>> net = credo.MarkovNetwork()
    >>> _ = net.node("a", 2, [1, 3]), net.node("b", 2), net.edge("a", "b", [[3, 1], [1, 3]])
    >>> passed = credo.pass_messages(net, root="b")
    >>> passed["a", "b"]
    m[a -> b] = (0: 0.375, 1: 0.625)
    >>> [(message.source, message.target) for message in passed]
    [('a', 'b'), ('b', 'a')]
    >>> passed[:0].belief("b"), passed.belief("b")
    ({0: 0.5, 1: 0.5}, {0: 0.375, 1: 0.625})
    """

    root: Label
    log_evidence: float
    max_product: bool
    _run: TreeRun
    _observed: Any
    _model: Any
    _given: tuple[Any, Any]
    _count: int | None = None  #: messages that have arrived; None once beliefs are final

    @property
    def n_towards(self) -> int:
        """How many messages went to the root; the others came from it."""
        return min(len(self), len(self._all) // 2 if self._run.both else len(self._all))

    @property
    def variables(self) -> Labels:
        """The names of all variables."""
        return tuple(self._run.wiring.names)

    @property
    def observed(self) -> dict[Label, Label]:
        """The variables that were observed, with their states."""
        states = self._observed[: len(self.variables)].tolist()
        found = [(v, state) for v, state in enumerate(states) if state >= 0]
        return {self.variables[v]: self._run.states(v)[state] for v, state in found}

    @property
    def whole(self) -> MessagePassing:
        """The run with all its messages, of which ``passed[:k]`` is the beginning."""
        return replace(self, _count=None)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages: from the leaves to the root, then from the root to the leaves."""
        return tuple(self)

    @property
    def beliefs(self) -> dict[Label, dict[Label, float]]:
        """The belief of each variable by state; after one pass, of roots and what was observed.

        Of ``passed[:k]`` what each believes so far: its potential times the messages it received.
        """
        return {name: self.belief(name) for name in self._known}

    @cached_property
    def best(self) -> Configuration:
        """The best configuration, with ties, that messages of max-product decode to.

        Without ties it has for each variable the state of its largest belief.
        """
        if not self.max_product:
            raise InputError(
                "The best configuration is decoded from maxima. Pass max_product=True, or call "
                "credo.mpe."
            )
        evidence, likelihood = self._given
        return mpe(self._model, evidence, likelihood=likelihood)

    def belief(self, variable: Any) -> dict[Label, float]:
        """Return the belief of a variable; of ``passed[:k]`` what it believes so far.

        Parameters
        ----------
        variable : Hashable
            Its name.

        Returns
        -------
        dict
            ``{state: value}``, scaled to sum one; for maxima to largest one.

        Raises
        ------
        InputError
            If only the pass towards the root was run, and this is not the root.
        """
        run, v = self._run, self._run.wiring.index(variable)
        if self._count is not None:
            return self._after(v, self._count)
        values = run.marginals[run.start[v] : run.start[v + 1]]
        if np.isnan(values[0]):
            raise InputError(
                f"The belief of {variable!r} is not known: one pass gives that of the root, "
                f"{self.root!r}. Pass passes=2, or root={variable!r}."
            )
        return dict(zip(run.states(v), values.tolist(), strict=True))

    def _after(self, v: int, count: int) -> dict[Label, float]:
        """Return what a variable believes after so many messages."""
        run, forest = self._run, self._run.forest
        around = forest.links[forest.var_start[v] : forest.var_start[v + 1]].tolist()
        heard = (2 * forest.n + link for link in around if self._heard_at[link] < count)
        values, _ = run.scaled(sum(map(run.logs, heard), start=run.logs(v)))
        return dict(zip(run.states(v), values.tolist(), strict=True))

    def message(self, source: Any, target: Any) -> Message:
        """Return the message from one node to another.

        Parameters
        ----------
        source, target : Hashable
            Two variables joined by an edge; or a variable and a factor of three or more, by its
            name or, if it has none, by the tuple of its variables.

        Returns
        -------
        Message
            What the source says, given all that lies behind it.

        Raises
        ------
        LabelError
            If there is no such name.
        InputError
            If the two are not linked, or the message belongs to a pass that was not run.
        """
        variables = self._run.wiring.variables
        factors = {} if source in variables and target in variables else self._factors
        return self._make(self._run.find(source, target, factors)[:2])

    @overload
    def __getitem__(self, key: int | tuple[Any, Any]) -> Message: ...
    @overload
    def __getitem__(self, key: slice) -> MessagePassing: ...
    def __getitem__(self, key: int | tuple[Any, Any] | slice) -> Message | MessagePassing:
        if isinstance(key, tuple) and len(key) == 2:
            return self.message(*key)
        if isinstance(key, slice) and key.start in (None, 0) and key.step in (None, 1):
            return replace(self, _count=key.indices(len(self))[1])
        if not isinstance(key, (int, np.integer)):
            raise InputError(
                "A message is found by source and target, passed['a', 'b'], or by its place, "
                f"passed[0]; the run after three messages is passed[:3]. Got {key!r}."
            )
        return self._make(self._sent[key])

    def __iter__(self) -> Iterator[Message]:
        return map(self._make, self._sent)

    def __len__(self) -> int:
        return len(self._sent)

    def __repr__(self) -> str:
        return (
            f"<MessagePassing: {len(self)} messages, root {self.root!r}, "
            f"log_evidence {self.log_evidence:.6g}>"
        )

    def __str__(self) -> str:
        half = self.n_towards
        numbered = list(enumerate(self._sent, 1))
        parts: list[tuple[str, Sequence[Any], Callable[[Any], object]]] = [
            (f"Messages towards {self.root}", numbered[:half], self._line),
            (f"Messages from {self.root}", numbered[half:], self._line),
            ("Beliefs", self._known, lambda v: f"b[{v}] = {in_words(self.belief(v).items())}"),
        ]
        lines = []
        for title, items, show in parts:
            lines += [title, *(f"  {show(item)}" for item in items[:_SHOWN])] if items else []
            lines += [f"  … {len(items) - _SHOWN} more"] if len(items) > _SHOWN else []
        if self._count is not None:
            return "\n".join(lines)
        if self.max_product:
            lines += ["Best configuration", f"  {self.best}"]
        what = "Log of the maximum" if self.max_product else "Log evidence"
        return "\n".join([*lines, f"{what}: {self.log_evidence:.6g}"])

    def _repr_html_(self) -> str:
        shown = enumerate(self._sent[:SHOWN], 1)
        rows = [
            (n, *str(self._make(sent)).split(" = ", 1), self._then(n, sent)) for n, sent in shown
        ]
        head = "", "message", "made of: values ∝ scaled", "belief so far"
        return html_table(repr(self)[1:-1], head, rows, len(self))

    @cached_property
    def _all(self) -> list[tuple[int, bool]]:
        return list(self._run.sent())

    @cached_property
    def _sent(self) -> list[tuple[int, bool]]:
        return self._all[: self._count]

    @cached_property
    def _heard_at(self) -> Mapping[int, float]:
        """The place of the message that arrives along a link."""
        places = {link: i for i, (link, is_said) in enumerate(self._all) if not is_said}
        return defaultdict(lambda: math.inf, places)

    @property
    def _known(self) -> list[Label]:
        """The variables whose belief is known; on the way there, all have one."""
        if self._count is not None:
            return list(self._run.wiring.names)
        is_known = ~np.isnan(self._run.marginals)[self._run.start[: len(self._run.wiring.names)]]
        return list(compress(self._run.wiring.names, is_known))

    def _line(self, numbered: tuple[int, tuple[int, bool]]) -> str:
        """Write a message with its number, and what its receiver believes then."""
        number, sent = numbered
        then = self._then(number, sent)
        return f"{number}. {self._make(sent)}" + (f"\n     so far {then}" if then else "")

    def _then(self, number: int, sent: tuple[int, bool]) -> str:
        """Write what the variable that received a message believes then; nothing of a factor."""
        link, is_said = sent
        v = int(self._run.wiring.scope[link])
        name = name_of(self._run.wiring, v)
        return "" if is_said else f"b[{name}] = {in_words(self._after(v, number).items())}"

    def _make(self, sent: tuple[int, bool]) -> Message:
        """Return a message with the names of its ends, and what it is made of."""
        run, (link, is_said) = self._run, sent
        message = run.spoken(link, is_said, *self._ends(link, is_said=is_said))
        return replace(message, formula=self._formula(link, is_said=is_said))

    def _ends(self, link: int, *, is_said: bool) -> tuple[Label, Label]:
        """Return the names of who sends along a link, and of who receives."""
        run = self._run
        f, v = int(run.forest.factor[link]), int(run.wiring.scope[link])
        rest = [u for u in run.scope_of(f) if u != v]
        other = name_of(run.wiring, rest[0]) if len(rest) == 1 else self._names[f]
        own = name_of(run.wiring, v)
        return (own, other) if is_said else (other, own)

    def _formula(self, link: int, *, is_said: bool) -> str:
        """Write what a message is: of a variable a product, of a factor a sum over the others."""
        run, forest = self._run, self._run.forest
        f = int(forest.factor[link])
        if is_said:
            return " ".join(self._heard(link)) or "1"
        others = [i for i in range(*forest.scope_start[f : f + 2].tolist()) if i != link]
        parts, hidden, seen = [self._factor(f)], list[str](), list[str]()
        for other in others:
            v = int(run.wiring.scope[other])
            name, state = name_of(run.wiring, v), self._observed[v]
            parts += (
                self._heard(other)
                if len(others) == 1
                else [_arrow(*self._ends(other, is_said=True))]
            )
            if state < 0:
                hidden.append(str(name))
            else:
                seen.append(f"{name} = {run.states(v)[state]}")
        sums = f"{'max' if self.max_product else 'Σ'}_{','.join(hidden)} " if hidden else ""
        return ", ".join([f"{sums}{' '.join(parts)}", *seen])

    def _heard(self, link: int) -> list[str]:
        """List what the variable of a link multiplies: potentials, and messages from elsewhere.

        A copy of an observed variable, where evidence cuts a cycle, has neither.
        """
        forest, v = self._run.forest, int(self._run.wiring.scope[link])
        if forest.scope[link] != v:
            return []
        around = forest.links[forest.var_start[v] : forest.var_start[v + 1]].tolist()
        told = (self._ends(other, is_said=False) for other in around if other != link)
        own = map(self._factor, self._alone.get(v, ()))
        return [*own, *(_arrow(*ends) for ends in told)]

    def _factor(self, f: int) -> str:
        """Write a factor by its variables: p(a | b) of a network, ψ(a, b) otherwise."""
        wiring = self._run.wiring
        names = [str(name_of(wiring, v)) for v in self._run.scope_of(f)]
        if wiring.owner[f] < 0:
            return f"ψ({', '.join(names)})"
        given = f" | {', '.join(names[:-1])}" if names[1:] else ""
        return f"p({names[-1]}{given})"

    @cached_property
    def _alone(self) -> dict[int, list[int]]:
        """Factors of one variable, by that variable."""
        wiring, found = self._run.wiring, dict[int, list[int]]()
        for f in np.flatnonzero(np.diff(wiring.scope_start) == 1).tolist():
            found.setdefault(int(wiring.scope[wiring.scope_start[f]]), []).append(f)
        return found

    @cached_property
    def _names(self) -> dict[int, Label]:
        """Names of factors by position; those that have none are named after their variables."""
        larger = np.flatnonzero(np.diff(self._run.wiring.scope_start) > 2).tolist()
        scopes = {
            f: tuple(name_of(self._run.wiring, v) for v in self._run.scope_of(f)) for f in larger
        }
        return scopes | {f: name for name, f in names_of_factors(self._model).items()}

    @cached_property
    def _factors(self) -> dict[Label, int]:
        return {name: f for f, name in self._names.items()}


def _arrow(source: Label, target: Label) -> str:
    """Name a message."""
    return f"m[{source} -> {target}]"


def pass_messages(
    model: Any,
    evidence: Mapping[Hashable, Any] | None = None,
    *,
    likelihood: Mapping[Hashable, Any] | None = None,
    root: Any = None,
    passes: Literal[1, 2] = 2,
    max_product: bool = False,
) -> MessagePassing:
    r"""Pass messages on a tree, from the leaves to a root and back, and keep each of them.

    .. math:: m_{j \to i}(x_i) = \sum_{x_j} \psi_j(x_j) \, \psi_{ij}(x_i, x_j)
              \prod_{k \in N(j) \setminus i} m_{k \to j}(x_j), \qquad
              b(x_i) \propto \psi_i(x_i) \prod_{j \in N(i)} m_{j \to i}(x_i)

    with the evidence in :math:`\psi`. This is belief propagation, the forward–backward algorithm on
    a chain, and Viterbi's with ``max_product``: each message can be looked at.

    Parameters
    ----------
    model : BayesianNetwork, MarkovNetwork or FactorGraph
        A tree, or several: its factor graph has no cycle, or evidence cuts each.
    evidence : mapping, optional
        What was observed: ``{variable: state}``, or a set of states one of which is true.
    likelihood : mapping, optional
        Virtual evidence, ``{variable: weights}``: one weight per state, which multiply the model.
    root : Hashable, optional
        Name of the variable that the first pass goes to; by default the first. Other trees of the
        graph go to their first variable.
    passes : {2, 1}
        Whether to come back from the root. One pass gives the belief of the root alone.
    max_product : bool, default False
        Whether to maximise other variables out, in place of summing; ``passed.best`` is then the
        best configuration.

    Returns
    -------
    MessagePassing
        The messages in order, beliefs by name, and the log of the evidence; ``print`` shows them,
        with what the receiver of each believes so far.

    Raises
    ------
    InputError
        If the graph has a cycle that no observed variable cuts, which the text names; or if the
        evidence is impossible.

    See Also
    --------
    credo.infer : Marginals of any graph; ``method="tree"`` takes the same engine.
    credo.mpe : The best configuration, with ties.

    Notes
    -----
    Exact, in time and memory linear in the cells of all factors; nothing recurses. A tree of n
    variables joined by edges takes :math:`2 (n - 1)` messages, one per direction of an edge, from
    the deepest nodes upwards and back. A factor of three variables or more is a node of its own: it
    receives a message from each of its variables and sends one to each.

    Messages include every potential and all evidence on the sender's side. If evidence had to cut
    cycles, an observed variable sends the edge alone; its own potential counts once, in
    ``log_evidence``.

    Vectors are scaled by powers of two, which are counted exactly. As long as every number is zero
    or above 1e-300, nothing underflows and each belief has full relative precision. Otherwise the
    run is done again with logs, as it is from the beginning for maxima and for tables that span
    more than float64.

    References
    ----------
    .. [1] F. R. Kschischang, B. J. Frey, H.-A. Loeliger, "Factor graphs and the sum-product
       algorithm", IEEE Transactions on Information Theory 47, 2001, section II.

    Examples
    --------
    >>> import credo
    >>> net = credo.MarkovNetwork()
    >>> for name, weights in {"a": [2, 1], "b": [1, 1], "c": [1, 4]}.items():
    ...     _ = net.node(name, 2, weights)
    >>> for pair in ("ab", "bc"):
    ...     _ = net.edge(*pair, [[3, 1], [1, 3]])
    >>> print(credo.pass_messages(net, {"c": 1}, root="b"))
    Messages towards b
      1. m[c -> b] = ψ(b, c) ψ(c), c = 1: (0: 4, 1: 12) ∝ (0: 0.25, 1: 0.75)
         so far b[b] = (0: 0.25, 1: 0.75)
      2. m[a -> b] = Σ_a ψ(a, b) ψ(a): (0: 7, 1: 5) ∝ (0: 0.583333, 1: 0.416667)
         so far b[b] = (0: 0.318182, 1: 0.681818)
    Messages from b
      3. m[b -> a] = Σ_b ψ(a, b) ψ(b) m[c -> b]: (0: 24, 1: 40) ∝ (0: 0.375, 1: 0.625)
         so far b[a] = (0: 0.545455, 1: 0.454545)
      4. m[b -> c] = Σ_b ψ(b, c) ψ(b) m[a -> b]: (0: 26, 1: 22) ∝ (0: 0.541667, 1: 0.458333)
         so far b[c] = (0: 0, 1: 1)
    Beliefs
      b[a] = (0: 0.545455, 1: 0.454545)
      b[b] = (0: 0.318182, 1: 0.681818)
      b[c] = (0: 0, 1: 1)
    Log evidence: 4.47734
    """
    question = ask(
        model, evidence, likelihood, None, "4GB", "pass_messages", sum_product=not max_product
    )
    wiring, given = question.wiring, question.evidence
    at = -1 if root is None else wiring.index(root)
    observed, soft = question.observed, given.soft(wiring)
    both = check.one_of(passes, (1, 2), "passes of pass_messages") == 2
    run = run_tree(wiring, observed, soft, root=at, both_passes=both, maximum=max_product)
    if run.log_z == -np.inf:
        raise impossible(wiring, given, "pass_messages")
    first = wiring.names[max(at, 0)] if len(wiring.names) else None
    found = first, run.log_z, bool(max_product), run, observed, model
    return MessagePassing(*found, (evidence, likelihood))
