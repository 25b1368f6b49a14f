"""``JunctionTree``: compile a graph once, then ask it often."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping
from typing import Any, final

import numpy as np

from credo._types import Label
from credo.graphs.evidence import resolve
from credo.inference._beliefs import Beliefs, calibrate, calibrate_in_logs
from credo.inference._budget import Budget, as_text, refuse_above
from credo.inference._jeffrey import fitted
from credo.inference._layout import lay_out
from credo.inference._questions import Question, as_targets, ask, check_search
from credo.inference._slices import Slices
from credo.inference._tables import Homes, Places, SumTables, Weights
from credo.inference.conflicts import impossible
from credo.inference.planning import make_plan
from credo.inference.result import GraphPosterior


@final
class JunctionTree:
    r"""Compile a graph into a tree of cliques that answers question after question.

    The tables are laid out and the factors multiplied once; an answer is then one pass to the roots
    and one back, in scaled arithmetic:

    .. math:: m_{C \to D}(x_S) = \sum_{x_{C \setminus S}} \psi_C(x_C) \prod_{B \ne D} m_{B \to C}

    Parameters
    ----------
    model : BayesianNetwork, MarkovNetwork or FactorGraph
        The model; it is compiled.
    budget : str, int or None, default "4GB"
        Memory for the tables, which are kept twice: factors and beliefs.
    effort : float, default 2.0
        About how many seconds may go into looking for a good elimination order.
    seed : int, default 0
        Seed of that search.

    Attributes
    ----------
    plan : Plan
        The order that was found and what it costs.

    Raises
    ------
    BudgetError
        If the tables do not fit; names the largest clique and the alternatives.

    See Also
    --------
    credo.infer : One question, which may leave out what it does not need.
    credo.infer_many : Many rows at once.

    Notes
    -----
    Memory: twice the clique tables, and the separators. Evidence never changes the tree. Where what
    is observed makes the tables much smaller, the slices are calibrated instead; which variables
    were observed is remembered, so that the next such question finds its tree. Several threads may
    ask the same tree; they take turns.

    References
    ----------
    .. [1] F. V. Jensen, S. L. Lauritzen and K. G. Olesen, Bayesian updating in causal probabilistic
       networks by local computations, Computational Statistics Quarterly 4 (1990).

    Examples
    --------
    >>> import credo
    >>> net = credo.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=4)
    >>> tree = credo.JunctionTree(net)
    >>> tree.cliques
    (('x0', 'x1'), ('x1', 'x2'), ('x2', 'x3'))
    >>> tree.infer({"x3": 0})["x0"]
    Posterior(0 0.6407, 1 0.3593)
    """

    def __init__(
        self, model: Any, *, budget: Budget = "4GB", effort: float = 2.0, seed: int = 0
    ) -> None:
        check_search(effort, seed, "JunctionTree")
        self._search = (effort, seed)
        self._question = ask(model, None, None, None, budget, "JunctionTree")
        self.plan = make_plan(self._question, method="junction_tree", effort=effort, seed=seed)
        step = self.plan.steps[0]
        refuse_above(budget, step.problem, step.order, "JunctionTree", copies=2.0)
        self._problem = step.problem
        self._layout = lay_out(self._problem, step.order.sequence)
        self._homes = Homes(self._problem, self._layout)
        self._tables = SumTables(self._problem, self._layout, reusable=True)
        self._places = Places(self._layout, self._problem.n_states)
        self._slices = Slices(self._layout.n_cells)
        self._turn = threading.Lock()

    def __repr__(self) -> str:
        cells = self._layout.n_cells
        return f"<JunctionTree: {len(self._layout.parent)} cliques, {as_text(8.0 * cells)}>"

    @property
    def cliques(self) -> tuple[tuple[Label, ...], ...]:
        """The variables of each clique, children before parents."""
        names = self._question.wiring.names
        return tuple(
            tuple(names[v] for v in sorted(self._layout.variables_of(k)) if v < len(names))
            for k in range(len(self._layout.parent))
        )

    @property
    def parents(self) -> tuple[int | None, ...]:
        """The parent of each clique, by its place in ``cliques``; None for roots."""
        return tuple(None if p < 0 else int(p) for p in self._layout.parent)

    @property
    def separators(self) -> tuple[tuple[Label, ...], ...]:
        """The variables that each clique shares with its parent; none for roots."""
        names, layout = self._question.wiring.names, self._layout
        return tuple(
            tuple(names[v] for v in sorted(layout.separator_of(k)) if v < len(names))
            for k in range(len(layout.parent))
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Survive the way to another process, where the tree is built again."""
        return _rebuilt, (self._question.model, self._question.budget, self._search)

    def infer(
        self,
        evidence: Mapping[Hashable, Any] | None = None,
        *,
        likelihood: Mapping[Hashable, Any] | None = None,
        jeffrey: Mapping[Hashable, Any] | None = None,
    ) -> GraphPosterior:
        """Compute all marginals given evidence.

        Parameters
        ----------
        evidence, likelihood, jeffrey : mapping, optional
            As for :func:`credo.infer`.

        Returns
        -------
        GraphPosterior
            The same as :func:`credo.infer` gives.

        Raises
        ------
        ImpossibleEvidence
            If the evidence has probability zero.
        """
        asked = self._question
        found = resolve(asked.wiring, evidence, likelihood, "infer")
        question = Question(asked.wiring, found, found, None, asked.budget, asked.model)
        if jeffrey:
            targets = as_targets(asked.wiring, jeffrey, "infer")
            question = fitted(question, targets, self._beliefs)
        return GraphPosterior(question, self._beliefs(question), self.plan)

    def _beliefs(self, question: Question) -> Beliefs:
        """Run both passes with the question's evidence, on the tree or on slices of it."""
        wiring, evidence = question.wiring, question.evidence
        with self._turn:
            sliced = self._slices.layout_for(wiring, evidence)
        if sliced is not None:
            beliefs = calibrate(*sliced)
        else:
            weights = evidence.weights(wiring)
            placed = Weights(self._places, weights) if weights else None
            with self._turn:
                beliefs = self._calibrated(placed)
        if beliefs.are_impossible:
            raise impossible(wiring, evidence, "infer", question.budget)
        return beliefs

    def _calibrated(self, weights: Weights | None) -> Beliefs:
        """Run in scaled arithmetic, or in logs if terms were lost."""
        problem, homes, tables = self._problem, self._homes, self._tables
        if not problem.is_wide:
            log_z, lost = tables.collect(weights)
            if not lost and log_z > -np.inf:
                tables.distribute()
                return Beliefs(problem.variables, homes.start, tables.marginals(homes), log_z)
        return calibrate_in_logs(problem, self._layout, homes, weights)


def _rebuilt(model: Any, budget: Budget, search: tuple[float, int]) -> JunctionTree:
    """Build a tree again."""
    return JunctionTree(model, budget=budget, effort=search[0], seed=search[1])
