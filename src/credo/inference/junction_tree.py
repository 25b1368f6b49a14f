"""``JunctionTree``: compile a graph once, then ask it often."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping
from typing import Any, final

from credo._results import Drawable
from credo._types import Label
from credo.graphs.evidence import resolve
from credo.graphs.ordering import find_order
from credo.graphs.problems import Problem, pose
from credo.inference._explain import impossible
from credo.inference._plan import make_plan
from credo.inference.cliques import CliqueTables, CliqueTree, calibrate, plant
from credo.inference.exact import as_answer, fit_jeffrey
from credo.inference.graph_posterior import GraphPosterior
from credo.inference.question import (
    Answer,
    Budget,
    Question,
    as_targets,
    as_text,
    ask,
    check_search,
    refuse_above,
)

#: Tables of fewer cells are calibrated whole, in less time than slicing takes.
_SMALL = 20_000
#: Slices pay if they have at most this share of the cells: they are filled anew each time.
_SHARE = 0.6
#: How many sets of observed variables are remembered.
_REMEMBERED = 64


@final
class JunctionTree(Drawable):
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
        self._tree = plant(self._problem, step.order.sequence)
        self._tables = CliqueTables(self._problem, self._tree, reusable=True)
        self._slices: dict[tuple[tuple[int, ...], ...], CliqueTree | None] = {}
        self._turn = threading.Lock()

    def __repr__(self) -> str:
        cells = self._tree.n_cells
        return f"<JunctionTree: {len(self._tree.parent)} cliques, {as_text(8.0 * cells)}>"

    @property
    def cliques(self) -> tuple[tuple[Label, ...], ...]:
        """The variables of each clique, children before parents."""
        return self.plan.cliques

    @property
    def parents(self) -> tuple[int | None, ...]:
        """The parent of each clique, by its place in ``cliques``; None for roots."""
        return self.plan.parents

    @property
    def separators(self) -> tuple[tuple[Label, ...], ...]:
        """The variables that each clique shares with its parent; none for roots."""
        return self.plan.separators

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
            question = fit_jeffrey(question, targets, self._answer)
        return GraphPosterior(question, self._answer(question), "junction_tree", plan=self.plan)

    def _answer(self, question: Question) -> Answer:
        """Run both passes with the question's evidence, on the tree or on slices of it."""
        wiring, evidence = question.wiring, question.evidence
        sliced = self._sliced(question)
        if sliced is not None:
            beliefs = calibrate(*sliced)
        else:
            weights = evidence.weights(wiring)
            with self._turn:
                beliefs = calibrate(self._problem, self._tree, weights, self._tables)
        if beliefs.are_impossible:
            raise impossible(wiring, evidence, "infer", question.budget)
        return as_answer(question, beliefs)

    def _sliced(self, question: Question) -> tuple[Problem, CliqueTree] | None:
        """Return what the observed states leave, and its tree; None where that saves little."""
        wiring, evidence = question.wiring, question.evidence
        if self._tree.n_cells < _SMALL or not evidence.findings:
            return None
        soft = evidence.soft(wiring)
        hard = sorted(f.variable for f in evidence.findings if f.variable not in soft)
        key = tuple(hard), tuple(soft)
        with self._turn:
            if key in self._slices and self._slices[key] is None:
                return None
            problem = pose(wiring, evidence)
            if key not in self._slices:
                if len(self._slices) >= _REMEMBERED:
                    del self._slices[next(iter(self._slices))]
                order = find_order(problem.n_states, problem.scope_start, problem.scope)
                pays = order.cells <= _SHARE * self._tree.n_cells
                self._slices[key] = plant(problem, order.sequence) if pays else None
            tree = self._slices[key]
        return None if tree is None else (problem, tree)


def _rebuilt(model: Any, budget: Budget, search: tuple[float, int]) -> JunctionTree:
    """Build a tree again."""
    return JunctionTree(model, budget=budget, effort=search[0], seed=search[1])
