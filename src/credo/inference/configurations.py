"""Configurations and max-marginals: what the maximum of a product is attained by."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, final

import numpy as np

from credo import _checks as check
from credo._types import F64, Label
from credo.graphs.problems import Problem
from credo.graphs.variables import Same, Variable
from credo.graphs.wiring import Int64, Wiring
from credo.inference.question import Beliefs

#: States shown by repr.
_SHOWN = 6
#: Relative distance to the bound at which a score is proven: what TRW-S stops at by default.
ROUNDING = 1e-12


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Configuration(Mapping[Label, Label]):
    """Hold one state for each of several variables, and the score of having them together.

    Made by :func:`credo.mpe`, :func:`credo.marginal_map` and :func:`credo.k_best`; a mapping of
    variables to their states.

    Attributes
    ----------
    states : dict
        ``{variable: state}``, observed variables included.
    log_score : float
        Natural log of the product of all factors, summed over the variables that are not in
        ``states``: for a Bayesian network, the log of the probability of these states and the
        evidence.
    tied : tuple
        Variables that are in another state in some configuration that is as good, up to rounding;
        empty where the engine does not tell.
    bound : float or None
        No configuration has a larger log score, for ``k_best`` none but those before it; None where
        nothing is known. Equal to ``log_score`` where the answer is proven to be the best.
    engine : str
        What found it: ``"junction_tree"``, ``"graph_cut"``, ``"tree_reweighted"``, ``"loopy"`` or
        ``"icm"``; empty if it was made by hand.

    See Also
    --------
    credo.mpe : The most probable configuration.
    credo.k_best : The next best ones too.

    Notes
    -----
    The scores of a Markov network or factor graph are not normalised; subtract the log of the
    partition function, ``credo.infer(model).log_evidence``, for log probabilities.

    Examples
    --------
    >>> from credo.inference.configurations import Configuration
    >>> best = Configuration({"rain": "yes", "wet": "yes"}, -0.5)
    >>> best
    Configuration({'rain': 'yes', 'wet': 'yes'}, log_score=-0.5)
    >>> best["rain"], best.ties
    ('yes', False)
    >>> Configuration({"rain": "no"}, -0.5, bound=-0.25, engine="tree_reweighted")
    Configuration({'rain': 'no'}, log_score=-0.5, gap=0.25)
    """

    states: dict[Label, Label]
    log_score: float
    tied: tuple[Label, ...] = ()
    bound: float | None = None
    engine: str = ""

    @property
    def gap(self) -> float:
        """How much better a configuration could be, at most, in log score; inf if not known."""
        if self.bound is None:
            return math.inf
        return max(self.bound - self.log_score, 0.0)

    @property
    def is_exact(self) -> bool:
        """Whether it is proven that none is better, up to rounding."""
        if self.bound is None:
            return False
        return self.bound <= self.log_score + ROUNDING * max(1.0, abs(self.log_score))

    @property
    def ties(self) -> bool:
        """Whether another configuration is as good, up to rounding; ``tied`` says where."""
        return bool(self.tied)

    def __getitem__(self, name: Any) -> Label:
        """Return the state of one variable."""
        wanted = _plain_name(name)
        try:
            return self.states[wanted]
        except (KeyError, TypeError):
            known = tuple(self.states)
            known_name = known[check.position(wanted, known, "variable", "The configuration")]
            return self.states[known_name]

    def __contains__(self, name: object) -> bool:
        return _plain_name(name) in self.states

    def __iter__(self) -> Iterator[Label]:
        return iter(self.states)

    def __len__(self) -> int:
        return len(self.states)

    def __repr__(self) -> str:
        first = list(islice(self.states.items(), _SHOWN))
        shown = ", ".join(f"{name!r}: {state!r}" for name, state in first)
        more = f", … ({len(self)} in all)" if len(self) > _SHOWN else ""
        tied = f", tied: {check.listing(self.tied)}" if self.tied else ""
        gap = "" if self.is_exact or not self.engine else f", gap={self.gap:.3g}"
        return f"Configuration({{{shown}{more}}}, log_score={self.log_score:.6g}{gap}{tied})"


@final
class MaxMarginals:
    r"""Hold the log max-marginals of all variables.

    .. math:: m_v(x_v) = \max_{x \setminus x_v} \ln \prod_f \psi_f(x_f)

    Made by :func:`credo.max_marginals`. Indexing by a variable gives ``{state: log score}``.

    Attributes
    ----------
    best : Configuration
        A best configuration, with the variables that are tied.

    See Also
    --------
    credo.max_marginals : Makes one.
    credo.infer : Sums in place of maxima.

    Notes
    -----
    The largest entry is the same for every variable: the score of the best configuration. Taking
    each variable's best state is a best configuration only where nothing is tied, so ``best`` is
    decoded along the tree.

    Examples
    --------
    >>> from credo.graphs import FactorGraph
    >>> from credo.inference.maximum import max_marginals
    >>> graph = FactorGraph()
    >>> a, b = graph.variable("a", 2), graph.variable("b", 2)
    >>> _ = graph.factor([a, b], [[0, 3], [2, 2]])
    >>> scores = max_marginals(graph)
    >>> {state: round(score, 4) for state, score in scores["a"].items()}
    {0: 1.0986, 1: 0.6931}
    >>> scores.best
    Configuration({'a': 0, 'b': 1}, log_score=1.09861)
    """

    def __init__(self, wiring: Wiring, values: Beliefs, best: Configuration) -> None:
        self._wiring = wiring
        self._values = values  # of the free variables, auxiliary ones too
        self.best = best

    def log_values(self, name: Any) -> F64:
        """Return the log max-marginals of a variable, in the order of its states.

        Parameters
        ----------
        name : Hashable or Variable
            The variable.

        Returns
        -------
        ndarray of shape (n_states,)
            For each state the log score of the best configuration that has it; minus infinity
            where there is none, as for the states that an observed variable is not in. Read-only.

        Raises
        ------
        LabelError
            If there is no such variable.

        Examples
        --------
        >>> from credo.graphs import FactorGraph
        >>> from credo.inference.maximum import max_marginals
        >>> graph = FactorGraph()
        >>> _ = graph.factor([graph.variable("a", 2)], [1, 0])
        >>> max_marginals(graph).log_values("a")
        array([  0., -inf])
        """
        v = self._wiring.index(name)
        free = self._values.of(v)
        if free is not None:
            return np.asarray(check.frozen(free))
        scores = np.full(int(self._wiring.n_states[v]), -np.inf)
        seen = self.best.states[self._wiring.names[v]]
        scores[self._wiring.states[v].index(seen)] = self.best.log_score
        return np.asarray(check.frozen(scores))

    def __getitem__(self, name: Any) -> dict[Label, float]:
        """Return the log max-marginals of a variable by state."""
        states = self._wiring.states[self._wiring.index(name)]
        return dict(zip(states, self.log_values(name).tolist(), strict=True))

    def __contains__(self, name: object) -> bool:
        return name in self._wiring.variables

    def __iter__(self) -> Iterator[Label]:
        return iter(self._wiring.names)

    def __len__(self) -> int:
        return len(self._wiring.names)

    def __repr__(self) -> str:
        return f"<MaxMarginals: {len(self)} variables, best score {self.best.log_score:.6g}>"


def _plain_name(name: Any) -> Label:
    """Take the name of a variable, or the name itself, in its plain form."""
    return name.name if isinstance(name, Variable) else check.plain(name)


def all_states(problem: Problem, states: Int64) -> Int64:
    """Put the states of the free variables beside the observed ones."""
    every = problem.observed.copy()
    every[problem.variables] = states
    return every


def named(wiring: Wiring, states: Int64, chosen: Sequence[int]) -> dict[Label, Label]:
    """Return the states of the chosen variables by name."""
    names, labels = wiring.names, wiring.states
    codes = states.tolist()
    if isinstance(labels, Same):  # as many variables as you like, all with the same states
        same = labels.item
        return {names[v]: same[codes[v]] for v in chosen}
    return {names[v]: labels[v][codes[v]] for v in chosen}
