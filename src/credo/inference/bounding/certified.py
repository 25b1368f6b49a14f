"""``bounds``: certified intervals for log Z and for the probabilities of a few variables."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from scipy.special import logsumexp

from credo import _checks as check
from credo._types import F64, Label
from credo.exceptions import InputError
from credo.graphs.problems import pose
from credo.inference._explain import impossible
from credo.inference.bounding.lower import Effort, ascend_alone, ascend_blocks
from credo.inference.bounding.reduce import Reduced, reduce
from credo.inference.bounding.upper import EPS, bound_above
from credo.inference.question import Question, ask, indices, not_asked

#: Joint states of the variables asked for, each of which takes a run of its own.
_MOST = 4096


@final
class Bounds:
    r"""Hold a certified interval for log Z, and give intervals for probabilities.

    Made by :func:`credo.bounds`. From bounds :math:`L_s \le \log Z(x_S = s) \le U_s` for all joint
    states :math:`s` of a few variables follows

    .. math:: \Bigl(1 + \sum_{t \ne s} e^{U_t - L_s}\Bigr)^{-1} \le p(x_S = s \mid e) \le
              \Bigl(1 + \sum_{t \ne s} e^{L_t - U_s}\Bigr)^{-1} .

    Attributes
    ----------
    lower, upper : float
        The interval for log Z.
    by : dict
        Which method gave ``"lower"`` and ``"upper"``.

    See Also
    --------
    credo.bounds : Makes one.

    Notes
    -----
    Intervals for probabilities are computed when they are asked for, with one run for each joint
    state, and kept.

    Examples
    --------
    >>> import credo
    >>> net = credo.MarkovNetwork()
    >>> for name in "abc":
    ...     _ = net.node(name, 2)
    >>> for a, b in ("ab", "bc", "ca"):
    ...     _ = net.edge(a, b, [[2.0, 1.0], [1.0, 2.0]])
    >>> found = credo.bounds(net)
    >>> found
    <Bounds: log Z in [3.178, 3.378] by structured mean field and tree-reweighted>
    >>> found.marginal("a").round(3)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    def __init__(self, question: Question, found: _Interval, methods: tuple[int, Effort]) -> None:
        self._question = question
        self._methods = methods
        self._joints: dict[tuple[int, ...], F64] = {}
        self.lower = found.lower
        self.upper = found.upper
        self.by = {"lower": found.lower_by, "upper": found.upper_by}

    @property
    def log_z(self) -> tuple[float, float]:
        """The lower and the upper bound on log Z, which with evidence is the log of its sum."""
        return self.lower, self.upper

    @property
    def gap(self) -> float:
        """How far the bounds are apart."""
        return self.upper - self.lower

    def __repr__(self) -> str:
        between = f"log Z in [{self.lower:.4g}, {self.upper:.4g}]"
        if self.by["lower"] == self.by["upper"]:
            return f"<Bounds: {between} by {self.by['lower']}>"
        return f"<Bounds: {between} by {self.by['lower']} and {self.by['upper']}>"

    def marginal(self, name: Any) -> F64:
        """Bound the probability of each state of a variable, given the evidence.

        Parameters
        ----------
        name : Hashable
            The variable.

        Returns
        -------
        ndarray of shape (n_states, 2)
            For each state, in order, the lower and the upper bound.
        """
        return self.joint([name])

    def joint(self, names: Iterable[Any]) -> F64:
        """Bound the probability of each joint state of a few variables, given the evidence.

        Parameters
        ----------
        names : iterable of Hashable
            The variables; their order is that of the axes.

        Returns
        -------
        ndarray of shape (n_states, ..., 2)
            One axis for each variable, then the lower and the upper bound.

        Raises
        ------
        InputError
            If there are more than 4096 joint states: each takes a run of its own.
        """
        variables = tuple(indices(self._question.wiring, names, "joint", "variables") or ())
        wanted = self._question.wanted
        for v in variables:
            if wanted is not None and v not in wanted:
                asked = [self._question.wiring.names[w] for w in self._question.query or []]
                raise not_asked(self._question.wiring.names[v], asked)
        if variables not in self._joints:
            self._joints[variables] = check.frozen(self._compute(variables))
        return self._joints[variables]

    def _compute(self, variables: tuple[int, ...]) -> F64:
        """Bound the sum for every joint state that agrees with the evidence."""
        question = self._question
        sizes = [int(question.wiring.n_states[v]) for v in variables]
        free = [v for v in variables if question.observed[v] < 0]
        shape = [int(question.wiring.n_states[v]) for v in free]
        if math.prod(shape) > _MOST:
            raise InputError(
                f"Bounds takes one run for each joint state, at most {_MOST}. Got "
                f"{math.prod(shape)} joint states; ask for fewer variables."
            )
        problem = pose(question.wiring, question.evidence, list(variables))
        places = np.searchsorted(problem.variables, free).tolist()
        found = [
            _bound(reduce(problem, dict(zip(places, state, strict=True))), *self._methods)
            for state in np.ndindex(*shape)
        ]
        lower, upper = (
            np.array([getattr(one, side) for one in found]) for side in ("lower", "upper")
        )
        if upper.max() == -np.inf:
            raise impossible(question.wiring, question.evidence, "bounds")
        whole = np.zeros((*sizes, 2))
        seen = tuple(slice(None) if v in free else int(question.observed[v]) for v in variables)
        whole[seen] = _probabilities(lower, upper).reshape(*shape, 2)
        return whole


def bounds(  # noqa: PLR0913 - a question has these parts, each with a default
    model: Any,
    evidence: Mapping[Hashable, Any] | None = None,
    *,
    likelihood: Mapping[Hashable, Any] | None = None,
    query: Iterable[Label] | None = None,
    rounds: int = 10,
    sweeps: int = 500,
    tolerance: float = 1e-8,
    restarts: int = 3,
    seed: int = 0,
) -> Bounds:
    r"""Bound log Z from both sides, and probabilities of a few variables.

    .. math:: \max_{q} E_q \log \frac{\prod_f \psi_f}{q} \le \log Z \le
              \min_{\theta_T} \sum_T \mu_T \log Z(\theta_T)

    On the left q runs over independent variables and over independent blocks, each a forest (mean
    field). On the right the model is a mixture of forests T with weights :math:`\mu_T` and
    :math:`\sum_T \mu_T \theta_T = \theta` (tree-reweighted).

    Parameters
    ----------
    model : BayesianNetwork, MarkovNetwork or FactorGraph
        The model. It is compiled, and not changed.
    evidence : mapping, optional
        What was observed: ``{variable: state}``, or a set of states one of which is true.
    likelihood : mapping, optional
        Virtual evidence, ``{variable: weights}``.
    query : iterable of Hashable, optional
        The variables whose probabilities may be asked for; all by default.
    rounds : int, default 10
        Steps by which the weights of the forests are improved.
    sweeps : int, default 500
        Sweeps at most: of messages for each set of weights, of updates from each start.
    tolerance : float, default 1e-8
        Change at which sweeps stop. Bounds hold whether or not they have.
    restarts : int, default 3
        Starts of mean field, and choices of blocks; the best is kept.
    seed : int, default 0
        Seed of starts and of ties.

    Returns
    -------
    Bounds
        ``log_z``, ``lower``, ``upper``, ``gap``, ``by``; ``marginal(name)`` and ``joint(names)``
        for intervals of probabilities.

    Raises
    ------
    ImpossibleEvidence
        If the evidence is seen to have probability zero; names findings that conflict.
    LabelError
        If a variable or a state is unknown; suggests the nearest.

    See Also
    --------
    infer : Marginals; exact where that can be afforded.

    Notes
    -----
    The bounds are certificates: the value of each is computed exactly for what was found, with an
    allowance for rounding, so that it holds however early the search stops. On a forest they
    differ by that allowance only. Time is proportional to the number of cells of the factors,
    times sweeps, rounds and forests. States that arc consistency rules out are left out first.

    References
    ----------
    .. [1] M. J. Wainwright, T. S. Jaakkola and A. S. Willsky, A new class of upper bounds on the
       log partition function, IEEE Trans. Information Theory 51 (2005), sections III to V.
    .. [2] M. J. Wainwright and M. I. Jordan, Graphical models, exponential families, and
       variational inference, Foundations and Trends in Machine Learning 1 (2008), sections 5 and 7.
    .. [3] T. S. Jaakkola, Tutorial on variational approximation methods, in *Advanced Mean Field
       Methods*, MIT Press, 2001, section 10.3.

    Examples
    --------
    >>> import credo
    >>> net = credo.MarkovNetwork()
    >>> for name in "abcd":
    ...     _ = net.node(name, 2, [1.0, 1.5])
    >>> for a, b in ("ab", "bc", "cd", "da"):
    ...     _ = net.edge(a, b, [[3.0, 1.0], [1.0, 3.0]])
    >>> found = credo.bounds(net)
    >>> low, high = found.log_z
    >>> low < credo.infer(net).log_evidence < high
    True
    """
    check.count(seed, "seed of bounds", 0)
    effort = Effort.of("bounds", sweeps, tolerance, restarts, seed, None)
    methods = check.count(rounds, "rounds of bounds", 0), effort
    question = ask(model, evidence, likelihood, query, None, "bounds")
    problem = pose(question.wiring, question.evidence, [], whole=True)
    found = _bound(reduce(problem), *methods)
    if _are_probabilities(question) and found.upper > 0.0:
        found = replace(found, upper=0.0, upper_by="a probability is at most one")
    if found.upper == -np.inf:
        raise impossible(question.wiring, question.evidence, "bounds")
    return Bounds(question, found, methods)


def _are_probabilities(question: Question) -> bool:
    """Tell whether the sum is the probability of findings: no more than one."""
    wiring = question.wiring
    weights = question.evidence.soft(wiring).values()
    is_network = len(wiring.table) == len(wiring.n_states) and bool((wiring.owner >= 0).all())
    return is_network and all(weight.max() <= 1.0 for weight in weights)


# --- intervals ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Interval:
    """Bounds on log Z, and what each was found by."""

    lower: float
    upper: float
    lower_by: str
    upper_by: str


def _bound(reduced: Reduced, rounds: int, effort: Effort) -> _Interval:
    """Bound the log of the sum over a reduced problem from both sides."""
    if not reduced.is_possible:
        return _Interval(-np.inf, -np.inf, "arc consistency", "arc consistency")
    above = bound_above(reduced, effort.pace, rounds, effort.seed)
    if above.status == "EXACT":
        low, high = above.value - above.rounding, above.value + above.rounding
        low, high = float(np.nextafter(low, -np.inf)), float(np.nextafter(high, np.inf))
        return _Interval(low, high, "exact forest", "exact forest")
    guide = above.found.marginals
    alone = ascend_alone(reduced, guide, effort)
    blocks = ascend_blocks(reduced, guide, effort, alone)
    ended = (alone, "mean field"), (blocks, "structured mean field")
    lower = [(one.log_z, by) for one, by in ended if one is not None]
    low, by = max(lower, default=(-np.inf, "nothing"))
    return _Interval(low, above.log_z, by, "tree-reweighted")


def _probabilities(lower: F64, upper: F64) -> F64:
    """Return bounds on the probability of each state from bounds on the log of its sum.

    A state is least probable where its own sum is least and the others' are greatest.
    """
    n = len(lower)
    result = np.zeros((n, 2))
    possible = np.flatnonzero(upper > -np.inf)
    if len(possible) == 1:
        result[possible] = 1.0
        return result
    for s in possible:
        for side, (own, others) in enumerate(((lower, upper), (upper, lower))):
            terms = others.copy()
            terms[s] = own[s]
            if own[s] > -np.inf:
                result[s, side] = np.exp(own[s] - logsumexp(terms))
    sizes = np.concatenate([lower[lower > -np.inf], upper[possible]])
    off = EPS * (4.0 * float(np.abs(sizes).max()) + 8.0 * n)
    wide = result[possible] * np.array([1.0 - off, 1.0 + off])
    result[possible] = np.clip(np.nextafter(wide, [-np.inf, np.inf]), 0.0, 1.0)
    return result
