"""Jeffrey's rule: weights on variables that give them the posteriors they must have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from credo._types import F64
from credo.exceptions import ImpossibleEvidence, NumericalError
from credo.inference._beliefs import Beliefs
from credo.inference._questions import Question

#: Rounds of proportional fitting before giving up, and how near the posteriors have to come.
_ROUNDS, _CLOSE = 1000, 1e-12


def fitted(
    question: Question, targets: dict[int, F64], answer: Callable[[Question], Beliefs]
) -> Question:
    r"""Add weights to a question's evidence until each target variable has its posterior.

    Proportional fitting: :math:`w_v \leftarrow w_v \, q_v / p_v`, one variable after the other. One
    variable needs one step; several are repeated until all fit.

    References
    ----------
    .. [1] I. Csiszár, I-divergence geometry of probability distributions and minimization
       problems, Annals of Probability 3 (1975), section 3.
    """
    weights = {v: np.ones(len(q)) for v, q in targets.items()}
    for v, wanted in targets.items():
        asked = question.narrowed(question.findings, [v])
        _check_possible(wanted, asked.marginal(answer(asked), v), question, v)
    for _ in range(_ROUNDS):
        furthest = 0.0
        for v, wanted in targets.items():
            evidence = question.findings.and_weights(weights, question.wiring)
            asked = question.narrowed(evidence, [v])
            now = asked.marginal(answer(asked), v)
            furthest = max(furthest, float(np.abs(now - wanted).max()))
            ratio = np.zeros_like(wanted)
            np.divide(wanted, now, out=ratio, where=now > 0)
            if not ratio.any():
                raise _contradiction(furthest)
            weights[v] = weights[v] * (ratio / ratio.max())
            weights[v] /= weights[v].max()
        if furthest < _CLOSE or len(targets) == 1:
            return question.with_evidence(question.findings.and_weights(weights, question.wiring))
    raise _contradiction(furthest)


def _contradiction(apart: float) -> NumericalError:
    """Word the error for posteriors that do not go together."""
    return NumericalError(
        f"infer: the posteriors asked for by jeffrey could not be fitted together in {_ROUNDS} "
        f"rounds; they are still {apart:.1e} apart. They may contradict each other."
    )


def _check_possible(wanted: F64, now: F64, question: Question, v: int) -> None:
    """Refuse a positive probability for a state that has none."""
    stuck = (now == 0) & (wanted > 0)
    if stuck.any():
        name = question.wiring.names[v]
        state = question.wiring.states[v][int(np.argmax(stuck))]
        raise ImpossibleEvidence(
            f"infer: jeffrey asks for a positive probability of {name} = {state}, which the model "
            "and the evidence make impossible.",
            {name: state},
        )
