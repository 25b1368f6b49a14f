"""``ApproximatePosterior``: the answer of an approximate engine, and how far to trust it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, final

import numpy as np

from credo._types import F64, Label
from credo._validation.arrays import frozen
from credo.exceptions import InputError
from credo.inference._approximation import Approximation
from credo.inference._marginals import AbstractMarginals
from credo.inference._questions import Question, indices
from credo.inference.messages import Message
from credo.posterior import JointTable


@final
class ApproximatePosterior(AbstractMarginals):
    """Hold approximate marginals of a graph's variables, and how they were found.

    Made by :func:`credo.infer` with an approximate method, or where no exact one fits the budget.

    Attributes
    ----------
    engine : str
        Which engine ran: ``"loopy"``, ``"tree_reweighted"``, ``"mean_field"``,
        ``"structured_mean_field"``, ``"generalised"``, ``"double_loop"`` or ``"gibbs"``.
    status : str
        ``"EXACT"`` (on a tree), ``"CONVERGED"``, ``"MAX_SWEEPS"``, ``"OSCILLATING"`` or, for
        draws, ``"SAMPLED"``. Convergence is no promise of accuracy.
    log_evidence_is : str
        What ``log_evidence`` is: ``"EXACT"``, ``"ESTIMATE"``, ``"LOWER_BOUND"`` or
        ``"UPPER_BOUND"``.
    residuals : ndarray
        Largest change of a message in each sweep, before mixing with the old one.
    updates : int
        How many messages were computed.
    period : int
        After how many sweeps the messages of an oscillating run come back; otherwise 0.
    details : mapping
        What else the engine tells, by name.
    why : tuple of str
        Why this engine ran, where ``method="auto"`` chose it.

    See Also
    --------
    credo.infer : Makes one.
    credo.inference.GraphPosterior : The exact answer.
    credo.bounds : Certified intervals.

    Notes
    -----
    Marginals, joints and ``log_evidence`` are read from the messages when they are asked for.

    Examples
    --------
    >>> import credo
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
        self, question: Question, approximation: Approximation, engine: str, why: Iterable[str] = ()
    ) -> None:
        super().__init__(question, approximation.beliefs)
        self.approximation = approximation
        self.engine = engine
        self.why = tuple(why)
        self.status = approximation.status
        self.log_evidence_is = approximation.log_z_is
        self.residuals: F64 = frozen(approximation.residuals)
        self.updates = approximation.updates
        self.period = approximation.period
        self.details = approximation.details
        self._log_evidence: float | None = None

    @property
    def sweeps(self) -> int:
        """How many sweeps were made."""
        return len(self.residuals)

    @property
    def log_evidence(self) -> float:
        """The log of the probability of the evidence; of the partition function if there is none.

        It is what ``log_evidence_is`` says: an estimate or a bound, unless the graph is a tree. At
        another temperature T than one it is that of the model to the power 1/T; at 0, the log of
        the largest product.
        """
        if self._log_evidence is None:
            found = self.approximation
            self._log_evidence = found.find_log_z() if found.find_log_z else found.log_z
        if self.engine == "generalised" and self.status in ("MAX_SWEEPS", "OSCILLATING"):
            raise InputError(
                "Generalised belief propagation did not settle: its regions contradict each other, "
                "and their free energy means nothing. Use method='double_loop'."
            )
        if self.details.get("no_log_z"):
            raise InputError(
                f"The engine {self.engine!r} has no estimate of the probability of the evidence: "
                "none was asked for, or the weights of its annealed walks are too unequal for one. "
                "Draw more, use method='loopy', or credo.bounds for a certified interval."
            )
        return self._log_evidence

    @property
    def free_energy(self) -> float:
        """Minus ``log_evidence``: the free energy of Bethe, Kikuchi or the variational family."""
        return -self.log_evidence

    def joint(self, variables: Iterable[Any]) -> JointTable:
        """Give the joint belief of a few variables that one table, or one region, holds.

        Parameters
        ----------
        variables : iterable of Hashable
            Names; their order is that of the axes. Observed ones may be among them.

        Returns
        -------
        JointTable
            One labelled table.

        Raises
        ------
        InputError
            If no table or region holds all of them: an approximate engine knows nothing of how
            such variables depend on each other.
        """
        question = self._question
        wanted = indices(question.wiring, variables, "joint", "list of variables") or []
        free = [v for v in wanted if question.observed[v] < 0]
        names: list[Any] = [question.wiring.names[v] for v in wanted]
        states = [tuple(question.wiring.states[v]) for v in wanted]
        table = self._free_joint(np.array(free, np.int64), names)
        full = np.zeros([len(each) for each in states])
        place = tuple(
            slice(None) if question.observed[v] < 0 else int(question.observed[v]) for v in wanted
        )
        full[place] = table
        return JointTable(full, dict(zip(names, states, strict=True)))

    def _free_joint(self, free: Any, names: list[Label]) -> Any:
        """Give the belief of free variables."""
        if not len(free):
            return 1.0
        if len(free) == 1:
            return self._question.marginal(self._beliefs, int(free[0]))
        joints = self.approximation.joints
        table = None if joints is None else joints(free)
        if table is None:
            raise InputError(
                f"No table or region of engine {self.engine!r} holds all of {names!r}. Ask for "
                "variables of one table, or for an exact answer (method='exact')."
            )
        return table

    def message(self, source: Any, target: Any) -> Message:
        """Give the last message from one neighbour to another, where messages were passed.

        Parameters
        ----------
        source, target : Hashable
            Names of neighbouring variables, or of a variable and a factor.

        Returns
        -------
        Message
            Scaled to sum one.

        Raises
        ------
        InputError
            If the engine passes no messages between them.
        """
        reader = self.approximation.reader
        if reader is None:
            raise InputError(f"The engine {self.engine!r} keeps no messages. Use method='loopy'.")
        return reader.message(source, target)
