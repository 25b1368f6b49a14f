"""Networks with a bar for each state, traces of messages, and bars for weights of findings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from credo._types import F64, Label
from credo._validation.arrays import positive_int
from credo.exceptions import InputError
from credo.graphs.wiring import Wiring
from credo.inference._explain import WeightOfEvidence
from credo.inference._infer import infer
from credo.inference.graph_posterior import GraphPosterior
from credo.plots._boxes import BELIEVED, WIDTHS, Box, draw_boxes, percent
from credo.plots._draw import COLOURS, axes_for, draw
from credo.plots._layers import Arc, arrange

#: States shown of one variable.
_SHOWN = 5


@draw.register
def draw_network(
    result: GraphPosterior, ax: Any = None, *, n_variables: int = 20, prior: bool = True
) -> Any:
    """Draw the variables in layers, parents above children, with a bar for each state.

    Of an approximate answer, how far messages moved, sweep by sweep.

    Parameters
    ----------
    result
        The posterior.
    ax
        Matplotlib axes; a new figure by default.
    n_variables
        How many variables to draw. If there are more, those whose marginals the evidence changed
        most (in total variation) are taken; without priors, the first.
    prior
        Whether to compute, and draw, the marginals without the evidence too.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.
    """
    most = positive_int(n_variables, "draw", "n_variables")
    if result.plan is None:
        return _draw_residuals(result, ax)
    if not len(result):
        raise InputError("There is nothing to draw: the query of infer was empty.")
    before = _prior(result) if prior and result.question.evidence.findings else None
    names = _most_changed(result, before, most)
    wiring = result.question.model.compile()
    chosen = [wiring.index(name) for name in names]
    directed = bool((wiring.owner >= 0).all())
    boxes = [_box(result, before, name) for name in names]
    layers = arrange(len(boxes), _arcs(wiring, chosen), WIDTHS, directed=directed)
    axes = draw_boxes(ax, boxes, layers, arrows=directed)
    if len(names) < len(result):
        which = "first" if before is None else "most changed"
        axes.set_title(f"{len(names)} of {len(result)} variables, the {which}", fontsize=9)
    return axes


@draw.register
def draw_explanation(result: WeightOfEvidence, ax: Any = None) -> Any:
    """Draw the weight of each finding, given the others and alone, the most telling on top.

    Parameters
    ----------
    result
        The explanation.
    ax
        Matplotlib axes; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on. An infinite weight, which proves or excludes the state, reaches the edge.
    """
    axes = axes_for(ax, (6.4, 1.4 + 0.4 * len(result.weights)))
    own = [weight.given_others for weight in result.weights]
    alone = [weight.alone for weight in result.weights]
    finite = [abs(w) for w in (*own, *alone) if math.isfinite(w)]
    edge = 1.25 * max([*finite, 0.5])
    y = np.arange(len(own))
    bars = np.clip(own, -edge, edge)
    inks = [BELIEVED if w > 0 else COLOURS[3] for w in own]
    axes.barh(y, bars, height=0.55, color=inks, label="given the other findings")
    axes.plot(
        np.clip(alone, -edge, edge),
        y,
        "D",
        color="#222222",
        markeredgecolor="white",
        markersize=6,
        label="alone",
        zorder=3,
    )
    axes.axvline(0, color="#222222", linewidth=0.8)
    axes.set_yticks(y, [f"{w.variable} = {w.finding}" for w in result.weights])
    axes.invert_yaxis()
    axes.set_xlim(-edge, edge)
    axes.set_xlabel("weight of evidence in bans (powers of ten of the odds)")
    change = f"{percent(result.prior)} → {percent(result.posterior)}"
    axes.set_title(f"{result.target} = {result.state}: {change}", fontsize=10)
    axes.legend(frameon=False, fontsize="small", loc="best")
    return axes


def _draw_residuals(result: GraphPosterior, ax: Any = None) -> Any:
    """Draw the largest change of a message in each sweep, on a log scale.

    Parameters
    ----------
    result
        The answer of an approximate engine.
    ax
        Matplotlib axes; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.
    """
    if not result.sweeps:
        raise InputError(
            f"There is no trace to draw: engine {result.engine!r} made no sweeps. Its marginals "
            "are in probabilities(name)."
        )
    axes = axes_for(ax)
    sweeps = np.arange(1, result.sweeps + 1)
    positive = result.residuals > 0
    axes.plot(sweeps[positive], result.residuals[positive], color=COLOURS[0], marker=".")
    axes.set_yscale("log")
    axes.set_xlabel("sweep")
    axes.set_ylabel("largest change of a message")
    period = f", every {result.period} sweeps" if result.period else ""
    axes.set_title(f"{result.engine}: {result.status}{period}", fontsize=10)
    return axes


def _prior(result: GraphPosterior) -> GraphPosterior:
    """Ask the same without evidence."""
    question = result.question
    query = None if question.query is None else result.variables
    return infer(question.model, query=query, method="exact", budget=question.budget)


def _most_changed(result: GraphPosterior, before: GraphPosterior | None, most: int) -> list[Label]:
    """Choose the variables to draw, in their order."""
    names = list(result.variables)
    if len(names) <= most or before is None:
        return names[:most]
    change = [
        np.abs(result.probabilities(name) - before.probabilities(name)).sum() for name in names
    ]
    chosen = np.argsort(-np.array(change), kind="stable")[:most]
    return [names[i] for i in sorted(chosen.tolist())]


def _arcs(wiring: Wiring, chosen: Sequence[int]) -> list[Arc]:
    """List parents and children, or neighbours, among the chosen, by their places there."""
    place = {v: i for i, v in enumerate(chosen)}
    factor = np.repeat(np.arange(len(wiring.table)), np.diff(wiring.scope_start))
    touched = np.unique(factor[np.isin(wiring.scope, list(chosen))])
    arcs: dict[Arc, None] = {}
    for f in touched.tolist():
        scope = wiring.scope[wiring.scope_start[f] : wiring.scope_start[f + 1]].tolist()
        child = int(wiring.owner[f])
        pairs = (
            [(p, child) for p in scope if p != child]
            if child >= 0
            else combinations(sorted(scope), 2)
        )
        arcs |= {(place[a], place[b]): None for a, b in pairs if a in place and b in place}
    return list(arcs)


def _box(result: GraphPosterior, before: GraphPosterior | None, name: Label) -> Box:
    """Say what is drawn of a variable; of many states, the most probable ones and the rest."""
    question = result.question
    states = [str(state) for state in question.wiring.states[question.wiring.index(name)]]
    now = result.probabilities(name)
    earlier = None if before is None else before.probabilities(name)
    kept = list(range(len(states)))
    if len(states) > _SHOWN:
        kept = sorted(np.argsort(-now, kind="stable")[: _SHOWN - 1].tolist())
    lines = [(states[s], float(now[s]), _at(earlier, [s])) for s in kept]
    others = [s for s in range(len(states)) if s not in kept]
    if others:
        lines.append((f"{len(others)} others", float(now[others].sum()), _at(earlier, others)))
    v = question.wiring.index(name)
    kinds = [f.weights is None for f in question.evidence.findings if f.variable == v]
    finding = "" if not kinds else "state" if all(kinds) else "weights"
    return Box(str(name), lines, finding)


def _at(values: F64 | None, states: list[int]) -> float | None:
    """Sum probabilities, if there are any."""
    return None if values is None else float(values[states].sum())
