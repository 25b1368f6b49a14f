"""``GraphPosterior``: what an engine found about a graph's variables, with names on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, final

import numpy as np

from credo import _checks as check
from credo._results import SHOWN, Drawable, Share, as_frame, html_table
from credo._types import F64, Label
from credo.exceptions import InputError
from credo.inference.exact import axes_of, draw, joint_of
from credo.inference.messages import Message, run_tree
from credo.inference.question import Answer, Question, names_of_factors, not_asked
from credo.posterior import JointTable
from credo.posterior.posterior import Posterior, trusted

if TYPE_CHECKING:
    from credo._types import RandomState
    from credo.inference._plan import Plan


@final
class GraphPosterior(Drawable):
    """Hold the marginals of a graph's variables, given evidence, and how they were found.

    Made by :func:`credo.infer`, by an exact engine or by an approximate one.

    Attributes
    ----------
    engine : str
        Which engine ran, as in ``method=`` of :func:`credo.infer`.
    status : str
        ``"EXACT"``, ``"CONVERGED"``, ``"MAX_SWEEPS"``, ``"OSCILLATING"`` or, for draws,
        ``"SAMPLED"``. Convergence is no promise of accuracy.
    log_evidence_is : str
        What ``log_evidence`` is: ``"EXACT"``, ``"ESTIMATE"``, ``"LOWER_BOUND"``,
        ``"UPPER_BOUND"``, or ``"NOT_ESTIMATED"`` where draws give none.
    plan : Plan or None
        What was planned, if an exact engine ran; None if an approximate one did.
    why : tuple of str
        Why an approximate engine ran, where ``method="auto"`` chose it.
    question : Question
        What was asked: the compiled model, the evidence, the query and the budget.
    answer : Answer
        What the engine gave, in flat arrays.
    residuals : ndarray
        Largest change of a message in each sweep, before mixing with the old one.
    updates : int
        How many messages were computed.
    period : int
        After how many sweeps the messages of an oscillating run come back; otherwise 0.
    details : mapping
        What else the engine tells, by name.

    See Also
    --------
    credo.infer : Makes one.
    credo.Posterior : What indexing by a variable gives.
    credo.bounds : Certified intervals.

    Notes
    -----
    Marginals are read from arrays; objects are made when they are asked for, and kept. Joints, and
    what else takes time, are computed when asked for.

    Examples
    --------
    >>> import credo
    >>> net = credo.BayesianNetwork()
    >>> _ = net.variable("rain", ["no", "yes"]), net.variable("wet", ["no", "yes"])
    >>> _ = net.cpt("rain", table=[0.8, 0.2])
    >>> _ = net.cpt("wet", given=["rain"], table=[[0.9, 0.1], [0.2, 0.8]])
    >>> post = credo.infer(net, {"wet": "yes"})
    >>> post["rain"]
    Posterior(no 0.3333, yes 0.6667)
    >>> round(post.probability_of_evidence, 3)
    0.24

    An approximate answer says so:

    >>> ring = credo.MarkovNetwork()
    >>> for name in "abc":
    ...     _ = ring.node(name, 2, potential=[0.6, 0.4])
    >>> for one, two in ("ab", "bc", "ca"):
    ...     _ = ring.edge(one, two, [[2.0, 1.0], [1.0, 2.0]])
    >>> post = credo.infer(ring, method="loopy")
    >>> post.status, post.log_evidence_is
    ('CONVERGED', 'ESTIMATE')
    >>> post["a"]
    Posterior(0 0.689, 1 0.311)
    >>> round(post.joint(["a", "b"])[{"a": 0, "b": 0}], 3)
    0.541
    """

    def __init__(
        self,
        question: Question,
        answer: Answer,
        engine: str,
        *,
        plan: Plan | None = None,
        why: Iterable[str] = (),
    ) -> None:
        self.question = question
        self.answer = answer
        self.engine = engine
        self.plan = plan
        self.why = tuple(why)
        self.status = answer.status
        self.log_evidence_is = answer.log_z_is
        self.residuals: F64 = check.frozen(answer.residuals)
        self.updates = answer.updates
        self.period = answer.period
        self.details = answer.details
        self._read: dict[Any, Posterior] = {}

    @property
    def variables(self) -> tuple[Label, ...]:
        """The names of the variables whose marginals are here."""
        wiring, query = self.question.wiring, self.question.query
        return tuple(wiring.names if query is None else (wiring.names[v] for v in query))

    @property
    def sweeps(self) -> int:
        """How many sweeps were made."""
        return len(self.residuals)

    def __getitem__(self, name: Any) -> Posterior:
        """Return the marginal of one variable."""
        try:
            found = self._read.get(name)
        except TypeError:  # not hashable, so no name
            found = None
        if found is not None:
            return found
        v = self._index(name)
        p = self.question.marginal(self.answer.beliefs, v)
        total = sum(p.tolist())  # to rounding; quicker than NumPy for a few states
        self._read[name] = found = trusted(
            self.question.wiring.states[v], p if total == 1.0 else p / total
        )
        return found

    def __iter__(self) -> Iterator[Label]:
        return iter(self.variables)

    def __len__(self) -> int:
        query = self.question.query
        return len(self.question.wiring.names if query is None else query)

    def __contains__(self, name: object) -> bool:
        try:
            self._index(name)
        except InputError:
            return False
        return True

    def __repr__(self) -> str:
        findings = len(self.question.evidence.findings)
        return (
            f"<GraphPosterior: {len(self)} variables, {findings} findings, {self.engine}, "
            f"{self.status}>"
        )

    def _repr_html_(self) -> str:
        rows = []
        for name in islice(self, SHOWN):
            states = self.question.wiring.variables[self._index(name)].states
            shares = self.probabilities(name).tolist()
            rows += [
                (name if i == 0 else "", str(s), Share(p))
                for i, (s, p) in enumerate(zip(states, shares, strict=True))
            ]
        caption = f"{len(self.question.evidence.findings)} observed: {self.engine}, {self.status}"
        more = len(rows) + max(0, len(self) - SHOWN)
        return html_table(caption, ("variable", "state", "probability"), rows, more)

    def probabilities(self, name: Any) -> F64:
        """Return the marginal of one variable as an array, in the order of its states."""
        return self.question.marginal(self.answer.beliefs, self._index(name))

    def to_dict(self) -> dict[Label, dict[Label, float]]:
        """Return all marginals as ``{variable: {state: probability}}``."""
        variables = {name: self.question.wiring.variables[self._index(name)] for name in self}
        return {
            name: dict(zip(variable.states, self.probabilities(name).tolist(), strict=True))
            for name, variable in variables.items()
        }

    @cached_property
    def log_evidence(self) -> float:
        """The log of the probability of the evidence; of the partition function if there is none.

        It is what ``log_evidence_is`` says; where ``status`` says that an engine did not settle, it
        is the estimate at which it stopped, and may mean little. Weights given by ``jeffrey`` are
        left out: they have no probability of their own. At another temperature T than one it is
        that of the model to the power 1/T; at 0, the log of the largest product.
        """
        if self.log_evidence_is == "NOT_ESTIMATED":
            raise InputError(
                f"The engine {self.engine!r} has no estimate of the probability of the evidence: "
                "none was asked for, or the weights of its annealed walks are too unequal for one. "
                "Draw more, use method='loopy', or credo.bounds for a certified interval."
            )
        find = self.answer.find_log_z
        return self.answer.log_z if find is None else find()

    @property
    def free_energy(self) -> float:
        """Minus ``log_evidence``: the free energy of Bethe, Kikuchi or the variational family."""
        return -self.log_evidence

    @property
    def probability_of_evidence(self) -> float:
        """The probability of the evidence; 0.0 where it is too small for float64."""
        return float(np.exp(self.log_evidence))

    def joint(self, *variables: Any) -> JointTable:
        """Return the joint probability of a few variables, given the evidence.

        Parameters
        ----------
        *variables : Hashable
            Names, or one list of them; their order is that of the axes. Observed ones may be among
            them.

        Returns
        -------
        JointTable
            One labelled table with as many cells as the product of the numbers of states.

        Raises
        ------
        BudgetError
            If the table, or those that an exact answer takes, do not fit the budget of ``infer``.
        InputError
            If there are none or more than 64; if an approximate engine has no table or region that
            holds all of them: it knows nothing of how such variables depend on each other.
        """
        wiring, observed = self.question.wiring, self.question.observed
        is_list = len(variables) == 1 and not (
            isinstance(variables[0], str) or variables[0] in wiring.variables
        )
        names = variables[0] if is_list else variables
        if self.plan is not None:
            return joint_of(self.question, names)
        wanted = axes_of(self.question, names)
        table = np.zeros(wiring.n_states[wanted])
        table[tuple(slice(None) if x < 0 else x for x in observed[wanted])] = self._held(wanted)
        axes: dict[Any, Any] = {wiring.names[v]: wiring.states[v] for v in wanted}
        return JointTable(table, axes)

    def to_frame(self) -> Any:
        """Return the marginals as a pandas frame: variable, state, probability.

        Returns
        -------
        pandas.DataFrame
            One line for each state of each variable that was asked for.
        """
        known = {name: self[name] for name in self}
        return as_frame(
            variable=[name for name, post in known.items() for _ in post.labels],
            state=[state for post in known.values() for state in post.labels],
            probability=[p for post in known.values() for p in post.probabilities.tolist()],
        )

    def _held(self, wanted: list[int]) -> F64 | float:
        """Return the belief of the free ones among some variables that one region holds."""
        free = [v for v in wanted if self.question.observed[v] < 0]
        if not free:
            return 1.0
        if len(free) == 1:
            return self.question.marginal(self.answer.beliefs, free[0])
        joints = self.answer.joints
        table = None if joints is None else joints(np.array(free, np.int64))
        if table is None:
            names = [self.question.wiring.names[v] for v in wanted]
            raise InputError(
                f"No table or region of engine {self.engine!r} holds all of {names!r}. Ask for "
                "variables of one table, or for an exact answer (method='exact')."
            )
        return table

    def sample(self, n: int, *, random_state: RandomState = None) -> dict[Label, list[Label]]:
        """Draw configurations of all variables from an exact posterior, independently.

        Parameters
        ----------
        n : int
            How many.
        random_state : int or Generator, optional
            Seed or generator.

        Returns
        -------
        dict
            ``{variable: n states}``, observed variables included.

        Raises
        ------
        InputError
            If the answer is that of an approximate engine.
        """
        if self.plan is None:
            raise InputError(
                f"sample needs an exact answer; this is that of engine {self.engine!r}. Use "
                "infer(..., method='exact')."
            )
        return draw(self.question, n, random_state)

    def message(self, source: Any, target: Any) -> Message:
        """Return the (last) message from one neighbour to another, where messages are passed.

        Parameters
        ----------
        source, target : Hashable
            Names of neighbouring variables, or of a variable and a factor of three or more.

        Returns
        -------
        Message
            What the source says about the states of the target, given all that lies behind it.

        Raises
        ------
        InputError
            If the engine passes no messages between them, or the graph of an exact answer has a
            cycle.
        """
        found: Message
        if self.plan is not None:
            run, factors = self._tree
            found = run.message(source, target, factors)
        elif self.answer.reader is not None:
            found = self.answer.reader.message(source, target)
        else:
            raise InputError(f"The engine {self.engine!r} keeps no messages. Use method='loopy'.")
        return found

    @cached_property
    def _tree(self) -> tuple[Any, dict[Label, int]]:
        """Messages of an exact answer, with the places of factors by name."""
        asked = self.question
        run = run_tree(asked.wiring, asked.observed, asked.evidence.soft(asked.wiring))
        return run, names_of_factors(asked.model)

    def _index(self, name: Any) -> int:
        """Find a variable that was asked for."""
        v = self.question.wiring.index(name)
        if self.question.wanted is not None and v not in self.question.wanted:
            raise not_asked(name, self.variables)
        return v
