"""``GraphPosterior``: the answer of an exact engine, with what it was asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, final

import numpy as np

from credo._types import Label
from credo.graphs.problems import pose
from credo.inference._beliefs import Beliefs
from credo.inference._marginals import AbstractMarginals
from credo.inference._questions import Question, names_of_factors, tree_of
from credo.inference.cliques import sum_out
from credo.inference.exact import draw, joint_of
from credo.posterior import JointTable

if TYPE_CHECKING:
    from credo._types import RandomState
    from credo.inference.messages import Message, TreeRun
    from credo.inference.plans import Plan


@final
class GraphPosterior(AbstractMarginals):
    """Hold the marginals of a graph's variables, given evidence.

    Made by :func:`credo.infer`.

    Attributes
    ----------
    engine : str
        Which engine ran.
    status : str
        ``"EXACT"``.
    log_evidence_is : str
        ``"EXACT"``.
    plan : Plan
        What was planned.
    why : tuple of str
        Empty: an exact engine fits.

    See Also
    --------
    credo.infer : Makes one.
    credo.Posterior : What indexing by a variable gives.

    Notes
    -----
    Marginals are read from arrays; objects are made when they are asked for.

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
    """

    def __init__(self, question: Question, beliefs: Beliefs, plan: Plan) -> None:
        super().__init__(question, beliefs)
        has_weights = question.evidence is not question.findings  # jeffrey's are not evidence
        self._log_evidence = None if has_weights else beliefs.log_z
        self._tree: tuple[TreeRun, dict[Label, int]] | None = None
        self.plan = plan
        self.engine = plan.engine
        self.status = "EXACT"
        self.log_evidence_is = "EXACT"
        self.why: tuple[str, ...] = ()

    @property
    def log_evidence(self) -> float:
        """The log of the probability of the evidence; of the partition function if there is none.

        Weights given by ``jeffrey`` are left out: they have no probability of their own.
        """
        if self._log_evidence is None:
            question = self._question
            problem = pose(question.wiring, question.findings, [], whole=True)
            self._log_evidence = sum_out(problem, "log_evidence", question.budget)[1]
        return self._log_evidence

    @property
    def probability_of_evidence(self) -> float:
        """The probability of the evidence; 0.0 where it is too small for float64."""
        return float(np.exp(self.log_evidence))

    def joint(self, variables: Iterable[Any]) -> JointTable:
        """Compute the joint probability of a few variables, given the evidence.

        Parameters
        ----------
        variables : iterable of Hashable
            Names; their order is that of the axes.

        Returns
        -------
        JointTable
            One labelled table with as many cells as the product of the numbers of states.

        Raises
        ------
        BudgetError
            If the tables do not fit the budget that ``infer`` was given.
        """
        return joint_of(self._question, variables)

    def sample(self, n: int, *, random_state: RandomState = None) -> dict[Label, list[Label]]:
        """Draw configurations of all variables from the posterior, exactly and independently.

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
        """
        return draw(self._question, n, random_state)

    def message(self, source: Any, target: Any) -> Message:
        """Give the message from one neighbour to another, on a graph that is a tree.

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
            If the graph has a cycle.
        """
        if self._tree is None:
            self._tree = tree_of(self._question), names_of_factors(self._question.model)
        run, factors = self._tree
        return run.message(source, target, factors)
