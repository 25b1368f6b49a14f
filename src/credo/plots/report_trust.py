"""The parts of a report about probabilities: doubtful cases, calibration, other conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.plots.report_figures import calibration_figure, cost_curve_figure, risk_coverage_figure
from credo.plots.report_html import amount, count, paragraph, safe, section, share, table

if TYPE_CHECKING:  # of the room above; a page only reads its numbers
    from credo.decisions import Calibration
    from credo.tables.evaluate import TableEvaluation

#: Shares of the cases at which the loss of the surest is written out.
_SHARES = (0.25, 0.5, 0.75, 0.9, 1.0)


def coverage_section(result: TableEvaluation) -> str:
    """Show what the surest cases cost."""
    curve = result.measures.outcome.risk_coverage
    if curve is None:
        return ""
    points = {point.coverage: point for point in map(curve.at_coverage, _SHARES)}
    rows = [
        (share(point.coverage), [amount(point.risk)])
        for point in points.values()
        if point.risk is not None
    ]
    own = curve.operating_point
    here = (
        f"The dot is this model with its own rule for asking a person: it decides "
        f"{share(own.coverage)} of the cases, at {amount(own.risk)} each."
        if own is not None and own.risk is not None
        else ""
    )
    return section(
        "coverage",
        "If doubtful cases go to a person",
        paragraph(
            "The model knows which cases it is sure of. The curve shows what its decisions cost if "
            "it decides only the surest ones; what the person costs for the others is not counted "
            "here. A curve that rises to the right means that the doubtful cases are the dear "
            "ones, as they should be.",
            here,
        ),
        _figure(risk_coverage_figure(curve), "Left: only the surest cases. Right: all of them."),
        table("The same in numbers", ["share decided", "mean loss of these"], rows, "plain"),
    )


def calibration_section(result: TableEvaluation) -> str:
    """Show whether probabilities can be taken at their word."""
    shown = result.measures.reliability
    lost = "" if result.log_loss == float("inf") else f"log loss {amount(result.log_loss)}, "
    impossible = shown.n_impossible
    return section(
        "calibration",
        "Can the probabilities be trusted?",
        paragraph(
            _meant(shown),
            "Points on the dashed line are as they should be. Points "
            "below it: it came less often than the model said; above: more often. On average the "
            f"two are <strong>{100 * shown.expected_calibration_error:.1f} percentage "
            "points</strong> apart.",
        ),
        paragraph(
            f"{count(impossible)} cases had a truth that the model called impossible "
            "(probability zero)."
        )
        if impossible
        else "",
        _figure(
            calibration_figure(shown),
            "Pale bars: how many of the cases have such a probability. Whiskers: 95&nbsp;% "
            "intervals, wide where there are few cases.",
        ),
        _bins(shown),
        paragraph(
            f"For comparison with other models: {lost}Brier score {amount(result.brier)} (0 is "
            f"best, {_blind(result)} is a model that only knows how frequent each class is).",
            kind="small soft",
        ),
    )


def conditions_section(result: TableEvaluation) -> str:
    """Show the cost under other class frequencies and losses."""
    curve, title = result.measures.cost_curve, "If losses or frequencies change"
    if curve is None:
        reason = safe(result.measures.no_cost_curve)
        return section("conditions", title, paragraph(f"This figure is left out. {reason}"))
    better = (curve.curve < curve.trivial).mean()
    aside = "" if result.measures.loss.reject is None else ", cases left to a person aside"
    return section(
        "conditions",
        title,
        paragraph(
            f"How dear it is to miss “{safe(curve.positive)}”, and how frequent it is, may change. "
            "The curve shows the cost of this model's decisions for every such weight, from 0 "
            f"(it never matters) to 1 (nothing else matters){aside}. Below the dashed line the "
            "model pays; above it, always deciding the same is cheaper. It pays over "
            f"{share(float(better))} of the range.",
        ),
        _figure(
            cost_curve_figure(curve),
            "The dot is the situation of this table. The green curve is what the same model could "
            "reach if its probabilities were mended; a wide gap calls for calibration.",
        ),
    )


def _meant(shown: Calibration) -> str:
    """Say what a probability of 80 % should mean."""
    if shown.label is None:
        return (
            "When the model gives its most probable class 80&nbsp;%, it should be right in about "
            "80&nbsp;% of the cases."
        )
    return (
        f"Of the cases to which the model gives “{safe(shown.label)}” a probability of 80&nbsp;%, "
        "about 80&nbsp;% should turn out so."
    )


def _blind(result: TableEvaluation) -> str:
    """Give the Brier score of the class frequencies."""
    return amount(result.measures.outcome.calibration.uncertainty)


def _bins(shown: Calibration) -> str:
    """Write the bins as a table that is opened on demand."""
    columns = (shown.edges, shown.weight, shown.predicted, shown.observed, shown.low, shown.high)
    rows = [
        (
            f"{100 * edges[0]:.3g} to {100 * edges[1]:.3g}&nbsp;%",
            [count(n), share(p), share(o), f"{share(low)} to {share(high)}"],
        )
        for edges, n, p, o, low, high in zip(*columns, strict=True)
    ]
    head = ["probability given", "cases", "mean of it", "what came", "95&nbsp;% interval"]
    inside = table("Probability and what came, in bins", head, rows, "plain")
    return f"<details><summary>The same in numbers</summary>\n{inside}\n</details>"


def _figure(svg: str, caption: str) -> str:
    """Put a figure with its caption."""
    return f"<figure>\n{svg}\n<figcaption>{caption}</figcaption>\n</figure>"
