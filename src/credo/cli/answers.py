"""``credo infer``: the answer to one question, exact or not, and how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from credo.cli.networks import Network
    from credo.inference import GraphPosterior
    from credo.inference.engines import Engine

#: Details of an engine that a person should see.
_TOLD = {
    "draws": "draws",
    "worst_r_hat": "worst R-hat",
    "least_effective_sample_size": "effective draws",
}


@dataclass(frozen=True, slots=True)
class Ask:
    """What the command line asked for."""

    network: Path
    evidence: list[str] | None
    query: list[str] | None
    likelihood: Path | None
    jeffrey: Path | None
    method: str
    budget: str | None
    seed: int
    on_failure: str
    options: dict[str, Any]  #: settings of an approximate engine
    as_json: bool


def answer_one(wanted: Ask) -> None:
    """Answer a single question and print it."""
    from credo.cli.destinations import say, say_json
    from credo.cli.networks import opened

    engine = _check(wanted)
    with opened(wanted.network) as net:
        post = _asked(wanted, engine, net)
        log_evidence = _log_evidence(post)
        marginals = post.to_dict()
    if wanted.as_json:
        say_json({"variables": marginals, "log_evidence": log_evidence, **_record(post)})
        return
    from credo.cli.text_tables import marginals_table

    lines = _lines(_quantity(net, wanted.options), log_evidence, post)
    width = max(len(name) for name, _ in lines)
    below = "\n".join(f"{name:<{width}}  {value}" for name, value in lines)
    say(f"{marginals_table(marginals)}\n\n{below}")


def _check(wanted: Ask) -> Engine:
    """Check the words, before a file is read, and find the engine."""
    from typing import get_args

    from credo._validation.labels import one_of
    from credo.inference._infer import OnFailure
    from credo.inference.engines import ENGINES, check_options, lookup
    from credo.inference.question import as_bytes

    engine = lookup(wanted.method, ENGINES, "--method of credo infer")
    one_of(wanted.on_failure, get_args(OnFailure), "credo infer", "--on-failure")
    as_bytes(wanted.budget, "infer")
    check_options(engine, wanted.options, ENGINES, "infer")
    return engine


def _asked(wanted: Ask, engine: Engine, net: Network) -> GraphPosterior:
    """Put the question, with as much machinery as it needs."""
    from credo.cli.findings import evidence_of, names_of
    from credo.cli.progress import sweep_progress
    from credo.cli.weight_files import weights_of
    from credo.inference._infer import infer

    findings = evidence_of(net, wanted.evidence)
    names = names_of(net, wanted.query, "--query")
    likelihood, jeffrey = (weights_of(net, path) for path in (wanted.likelihood, wanted.jeffrey))

    def run(**options: Any) -> GraphPosterior:
        return infer(
            net.model,
            findings,
            likelihood=likelihood,
            jeffrey=jeffrey,
            query=names,
            method=engine.name,
            budget=wanted.budget,
            seed=wanted.seed,
            on_failure=wanted.on_failure,  # type: ignore[arg-type]  # checked
            **wanted.options,
            **options,
        )

    if "callback" not in engine.options:
        return run()
    with sweep_progress() as callback:
        return run(callback=callback)


def _log_evidence(post: GraphPosterior) -> float | None:
    """Give the log evidence; None if it costs more than the marginals, or was not estimated."""
    from credo.exceptions import InputError

    try:
        return post.log_evidence
    except InputError:
        return None


def _quantity(network: Network, options: dict[str, Any]) -> str:
    """Name what the log evidence is the log of; at another temperature it is none."""
    temperature = options.get("temperature", 1.0)
    if temperature == 0:
        return "ln best score"
    if temperature != 1:
        return f"ln Z at {temperature:g}"
    return "ln P(evidence)" if network.is_normalised else "ln Z(evidence)"


def _lines(
    quantity: str, log_evidence: float | None, post: GraphPosterior
) -> list[tuple[str, str]]:
    """Say for a person what was found beside marginals, and how."""
    from credo.cli.text_tables import bound_text

    engine = ("engine", post.engine)
    if post.plan is not None:
        cost = "needs more memory than the budget"
        return [(quantity, cost if log_evidence is None else f"{log_evidence:.8g}"), engine]
    kind = post.log_evidence_is.lower().replace("_", " ")
    value = (
        "not estimated" if log_evidence is None else f"{bound_text(log_evidence, kind)} ({kind})"
    )
    period = f", back after {post.period} sweeps" if post.period else ""
    lines = [(quantity, value), engine, ("status", f"{post.status}{period}")]
    if post.sweeps and post.status != "SAMPLED":
        lines += [("sweeps", f"{post.sweeps}"), ("last residual", f"{post.residuals[-1]:.3g}")]
    details = post.details
    lines += [(words, _digits(details[name])) for name, words in _TOLD.items() if name in details]
    return [*lines, *(("" if i else "why", reason) for i, reason in enumerate(post.why))]


def _digits(value: float) -> str:
    """Write a count in full, and a measure briefly."""
    return f"{value:.4g}" if isinstance(value, float) else f"{value}"


def _record(post: GraphPosterior) -> dict[str, Any]:
    """Give by name how an answer was found."""
    import numpy as np

    from credo._validation.labels import plain

    record = {
        "log_evidence_is": post.log_evidence_is,
        "engine": post.engine,
        "status": post.status,
    }
    if post.plan is not None:
        return record
    return {
        **record,
        "sweeps": post.sweeps,
        "residual": float(post.residuals[-1]) if post.sweeps else None,
        "updates": post.updates,
        "period": post.period,
        "why": post.why,
        "details": {name: plain(each) for name, each in post.details.items() if np.isscalar(each)},
    }
