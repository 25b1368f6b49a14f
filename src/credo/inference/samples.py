"""Likelihood weighting: draws of a Bayesian network from the top down, weighted by evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from credo import _checks as check
from credo._types import F64
from credo.exceptions import InputError, NumericalError
from credo.graphs.bayesian_network import BayesianNetwork
from credo.graphs.forward_draws import ForwardDraws
from credo.graphs.wiring import Int32, Int64, starts
from credo.inference.question import Answer, Beliefs, Callback, Question

#: States that are drawn at a time: 8 MB of random numbers.
_BLOCK = 2**20


def run_samples(
    question: Question, *, draws: int = 10_000, seed: int = 0, callback: Callback | None = None
) -> Answer:
    r"""Draw a Bayesian network forwards, and weight each draw by how well it explains the evidence.

    .. math:: \hat p(x_v = s \mid e) = \frac{\sum_i w_i [x_v^i = s]}{\sum_i w_i}, \qquad
              w_i = \prod_{v \in e} \sum_s p(s \mid \text{parents}_v^i)\, l_v(s)

    Variables are drawn given their parents; those with evidence in proportion to its weights
    :math:`l` as well, so an observed variable is not drawn but weighted.

    Parameters
    ----------
    question : Question
        About a Bayesian network.
    draws : int
        How many, independent of each other.
    seed : int
        Where all random numbers come from.
    callback : callable or None
        Called after each block with the number of draws so far, and with the largest change of a
        belief since the last time, at first since zero. These are the residuals.

    Returns
    -------
    Answer
        With status SAMPLED. Its ``details`` have ``draws``; ``effective_sample_size``,
        :math:`(\sum_i w_i)^2 / \sum_i w_i^2`; ``standard_error`` for each state as laid out in
        ``beliefs``; and ``log_z_standard_error``.

    Raises
    ------
    InputError
        If the model is no Bayesian network, or an option is wrong.
    NumericalError
        If no draw agrees with the evidence.

    See Also
    --------
    credo.inference.gibbs.engine.run_gibbs : Draws of any model, which depend on each other.

    Notes
    -----
    Time is linear in draws times states; memory is that of the tables and of a block of draws,
    which are not kept: a joint table draws them again. Approximate. Standard errors are those of a
    ratio of means, to first order (the delta method),

    .. math:: \sum_i w_i^2 ([x_v^i = s] - \hat p)^2 / (\textstyle\sum_i w_i)^2 ,

    and at least one over the effective sample size: that of a probability so small that one draw
    is expected of it, for a state that none has met is not known to be impossible. The estimate of
    the probability of the evidence is unbiased.

    Few draws count where evidence low in the network is improbable given most of what is drawn
    above it. The effective sample size tells, unless all draws have missed what matters.

    References
    ----------
    .. [1] R. Fung and K.-C. Chang, "Weighing and integrating evidence for stochastic simulation in
       Bayesian networks", *UAI*, 1989, section 4.
    .. [2] A. B. Owen, *Monte Carlo theory, methods and examples*, 2013, section 9.2.

    Examples
    --------
    >>> import credo
    >>> net = credo.BayesianNetwork.from_arrays(
    ...     ["rain", "wet"], [("no", "yes")] * 2, [[], [0]], [0.8, 0.2, 0.9, 0.1, 0.1, 0.9]
    ... )
    >>> post = credo.infer(net, {"wet": "yes"}, method="samples")
    >>> bool(abs(post["rain"]["yes"] - 9 / 13) < 5 * post.details["standard_error"][1])
    True
    """
    count = check.count(draws, "draws of method='samples'")
    wiring = question.wiring
    if not isinstance(question.model, BayesianNetwork):
        raise InputError(
            "infer: method='samples' draws each variable given its parents, and needs a "
            f"BayesianNetwork. Got a {type(question.model).__name__}; use method='gibbs', which "
            "draws from any model."
        )
    made = _Draws(ForwardDraws(wiring, question.evidence.weights(wiring)), count, seed)
    free = np.flatnonzero(question.observed < 0)
    start = starts(wiring.n_states[free])
    sums, residuals = _Sums(int(start[-1])), list[float]()
    for states, logs in made:
        before = sums.beliefs
        sums.add(states[free] + start[:-1, None], logs)
        residuals.append(float(np.abs(sums.beliefs - before).max(initial=0.0)))
        if callback is not None:
            callback(sums.count, residuals[-1])
    if sums.top == -np.inf:
        raise NumericalError(
            f"infer: none of the {count} draws of method='samples' agrees with the evidence: it is "
            "impossible, or too improbable for so few. An exact method, or loopy belief "
            "propagation, can tell."
        )
    log_z = sums.top + float(np.log(sums.total[0] / count))
    return Answer(
        Beliefs(free, start, sums.beliefs, log_z),
        status="SAMPLED",
        log_z=log_z,
        log_z_is="ESTIMATE",
        residuals=np.array(residuals),
        updates=count * len(free),
        joints=partial(made.joint, top=sums.top),
        details=sums.details(),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Draws:
    """Weighted draws in blocks, the same each time that they are read."""

    forward: ForwardDraws
    count: int
    seed: int

    def __iter__(self) -> Iterator[tuple[Int32, F64]]:
        rng = np.random.default_rng(self.seed)
        for block in check.blocks(self.count, max(1, _BLOCK // max(1, len(self.forward.n_states)))):
            yield self.forward.draw(block.stop - block.start, rng)

    def joint(self, variables: Int64, top: float) -> F64:
        """Return the joint table of some variables; ``top`` is the log of the largest weight."""
        shape = self.forward.n_states[variables].tolist()
        table = np.zeros(shape)
        for states, logs in self:
            cells = np.ravel_multi_index(tuple(states[variables]), shape)
            table += np.bincount(cells, np.exp(logs - top), table.size).reshape(shape)
        return np.asarray(table / table.sum())


class _Sums:
    """Sums of the weights of draws, and of their squares; the largest weight so far is one."""

    def __init__(self, n_states: int) -> None:
        self.top, self.count = -np.inf, 0
        self.total, self.hits = np.zeros(2), np.zeros((2, n_states))

    def add(self, places: Int64, logs: F64) -> None:
        """Add draws, whose states, (variables, n), are numbered over all variables."""
        self.count += len(logs)
        top = max(self.top, float(logs.max()))
        if top == -np.inf:  # none of them counts
            return
        fade, w = np.exp(self.top - top), np.exp(logs - top)
        self.top = top
        for i, (scale, own) in enumerate(((fade, w), (fade**2, w**2))):
            of_each = np.broadcast_to(own, places.shape).ravel()
            hits = np.bincount(places.ravel(), of_each, self.hits.shape[1])
            self.hits[i] = self.hits[i] * scale + hits
            in_turn = own.cumsum()[-1]  # as hits are added, so that no share is above one
            self.total[i] = self.total[i] * scale + in_turn

    @property
    def beliefs(self) -> F64:
        """Shares of the weight; zero while nothing counts."""
        return np.asarray(self.hits[0] / max(self.total[0], np.finfo(float).tiny))

    def details(self) -> dict[str, Any]:
        """Return what the draws are worth."""
        p, (total, squares) = self.beliefs, self.total
        worth = float(total**2 / squares)
        own = self.hits[1]
        off = np.sqrt(own * (1 - p) ** 2 + (squares - own) * p**2) / total
        return {
            "draws": self.count,
            "effective_sample_size": worth,
            "standard_error": np.maximum(off, 1 / worth),
            "log_z_standard_error": float(np.sqrt(max(0.0, 1 / worth - 1 / self.count))),
        }
