"""Approximate engines by name: check their settings, run one, and say how it ended."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from credo._validation.labels import listing, position
from credo.exceptions import (
    ApproximationWarning,
    BudgetError,
    ConvergenceWarning,
    InputError,
    NumericalError,
)
from credo.graphs.evidence import Evidence
from credo.graphs.problems import pose
from credo.inference._approximation import Approximation
from credo.inference._budget import ADVICE, Budget
from credo.inference._questions import Question, ask, check_callback
from credo.inference.approximate_result import ApproximatePosterior
from credo.inference.conflicts import impossible

OnFailure: TypeAlias = Literal["return", "warn", "raise"]
Engine: TypeAlias = Callable[..., Approximation]

METHODS = (
    "loopy",
    "tree_reweighted",
    "mean_field",
    "structured_mean_field",
    "generalised",
    "double_loop",
    "gibbs",
)
_SETTLED = ("EXACT", "CONVERGED", "SAMPLED")
#: R-hat above which chains are said to disagree: the customary 1.01 is too strict for draws of
#: thousands of variables, of which the worst counts.
_MIXED = 1.05


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A question before it is compiled, so that each engine may compile it its own way."""

    model: Any
    evidence: Mapping[Hashable, Any] | None
    likelihood: Mapping[Hashable, Any] | None
    query: Iterable[Hashable] | None
    budget: Budget

    def question(self, *, keep_rules: bool) -> Question:
        """Compile the question; rules stay rules, or become tables."""
        return ask(
            self.model,
            self.evidence,
            self.likelihood,
            self.query,
            self.budget,
            "infer",
            keep_rules=keep_rules,
        )


def approximate(
    request: Request,
    method: str,
    options: Mapping[str, Any],
    on_failure: OnFailure = "warn",
) -> ApproximatePosterior:
    """Run an approximate engine; warn, or raise, if it did not settle."""
    answer = run_engine(request, method, options)
    _report(answer, on_failure)
    return answer


def _report(answer: ApproximatePosterior, on_failure: OnFailure) -> None:
    """Warn, or raise, if an engine did not settle, or chains of draws disagree."""
    said = _ended(answer)
    if not said or on_failure == "return":
        return
    if on_failure == "raise":
        raise NumericalError(said)
    warnings.warn(said, ConvergenceWarning, stacklevel=4)


def run_engine(
    request: Request, method: str, options: Mapping[str, Any], why: Iterable[str] = ()
) -> ApproximatePosterior:
    """Run an engine on a question; name the findings that conflict, if it finds out."""
    run = _engine(method)
    check_options(method, options)
    question = request.question(keep_rules=method == "loopy")
    problem = question if method == "loopy" else pose(question.wiring, question.evidence)
    found: Approximation = run(problem, **options)
    if found.log_z == float("-inf"):
        tables = request.question(keep_rules=False)
        judge = _judge(question) if method == "loopy" else None
        raise impossible(tables.wiring, tables.evidence, "infer", request.budget, judge)
    return ApproximatePosterior(question, found, method, why)


def _judge(question: Question) -> Callable[[Evidence], bool]:
    """Let messages tell whether findings are possible: a contradiction between them is a proof."""
    run = _engine("loopy")

    def is_possible(evidence: Evidence) -> bool:
        return run(question.with_evidence(evidence), schedule="sequential").log_z > float("-inf")

    return is_possible


def check_options(method: str, options: Mapping[str, Any]) -> None:
    """Check that an engine knows the options that it is given."""
    known = _names(_engine(method))
    check_callback(options, "infer")
    for name in options:
        if name not in known:
            raise InputError(
                f"infer: method={method!r} has no option {name!r}. It has {listing(known, 20)}."
            )


def takes_seed(method: str) -> bool:
    """Tell whether an engine uses chance."""
    return "seed" in _names(_engine(method))


def _engine(method: str) -> Engine:
    """Give the function that runs an engine, which is loaded now."""
    position(method, METHODS, "infer", "approximate method")
    if method == "loopy":
        from credo.inference.loopy.engine import run_loopy  # noqa: PLC0415

        return run_loopy
    if method == "gibbs":
        from credo.inference.chains.gibbs import run_gibbs  # noqa: PLC0415

        return run_gibbs
    if method in ("generalised", "double_loop"):
        from credo.inference.regions import generalised  # noqa: PLC0415

        is_single = method == "generalised"
        return generalised.run_generalised if is_single else generalised.run_double_loop
    return _variational(method)


def _variational(method: str) -> Engine:
    """Give the function that runs an engine whose log Z is a bound."""
    if method == "tree_reweighted":
        from credo.inference.certificates.tree_reweighted import (  # noqa: PLC0415
            run_tree_reweighted,
        )

        return run_tree_reweighted
    if method == "mean_field":
        from credo.inference.certificates.mean_field import run_mean_field  # noqa: PLC0415

        return run_mean_field
    from credo.inference.certificates.structured import (  # noqa: PLC0415
        run_structured_mean_field,
    )

    return run_structured_mean_field


def _names(run: Callable[..., Any]) -> tuple[str, ...]:
    """Give the names of an engine's options."""
    parameters = inspect.signature(run).parameters.values()
    return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


def _ended(answer: ApproximatePosterior) -> str:
    """Say how a run ended that did not settle, and what to try; nothing if it did."""
    who = f"infer: method={answer.engine!r}"
    worst = answer.details.get("worst_r_hat", 1.0)
    if worst > _MIXED:
        return (
            f"{who}: its chains disagree (R-hat {worst:.3g}, where 1 is perfect), so its beliefs "
            "are not those of the model. Draw more, use blocks='trees', or another method."
        )
    if answer.status in _SETTLED:
        return ""
    if not answer.sweeps:
        return f"{who} found no place to begin from, and gives what it began with."
    moved = float(answer.residuals[-1])
    last = (
        f"the last one changed a probability by {moved:.2g}"
        if moved > 1e-12
        else "messages stand still, but the outer loop does not"
    )
    known = _names(_engine(answer.engine))
    remedies = ["allow more sweeps"] if answer.status == "MAX_SWEEPS" else []
    remedies += ["mix in old messages (momentum='adaptive', or below 0.5)"] * ("momentum" in known)
    remedies += ["use method='double_loop', which cannot oscillate"] * ("momentum" in known)
    ended = (
        f"oscillates: its messages come back every {answer.period} sweeps; {last}"
        if answer.status == "OSCILLATING"
        else f"did not converge within {answer.sweeps} sweeps; {last}"
    )
    return f"{who} {ended}. Remedies: {'; '.join(remedies)}."


def instead(
    request: Request, error: BudgetError, on_failure: OnFailure = "warn"
) -> ApproximatePosterior:
    """Answer where no exact engine fits: loopy, and if that does not settle, what always does."""
    reason = str(error).removesuffix(ADVICE).strip()
    why = [f"no exact engine fits: {reason}", "loopy belief propagation with adaptive damping"]
    answer = run_engine(request, "loopy", {"momentum": "adaptive"}, why)
    for method, words in (
        ("generalised", "generalised belief propagation on regions"),
        ("double_loop", "the double loop, which cannot oscillate"),
    ):
        if answer.status in _SETTLED:
            break
        why[-1] += f" ended as {answer.status}"
        why.append(words)
        answer = run_engine(request, method, {}, why)
    if answer.status not in _SETTLED and on_failure == "raise":
        raise NumericalError(_ended(answer))
    warnings.warn(
        f"infer gives an approximate answer (engine {answer.engine!r}, {answer.status}): {reason} "
        "Use method='exact' to get an error instead.",
        ApproximationWarning,
        stacklevel=3,
    )
    return answer
