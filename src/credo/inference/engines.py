"""``ENGINES``, ``MAXIMISERS``, ``ROW_ENGINES``: every way to an answer, by name.

A new engine is one file and one entry here: ``infer``, ``mpe``, ``infer_many``, their messages, the
reference and the command line read these lists. An engine's module is imported when it first runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Literal, TypeAlias

from credo.exceptions import InputError

#: What comes out: an exact answer, an estimate, a bound on log Z (of ``mpe``: on the best score),
#: or shares of draws.
Promise: TypeAlias = Literal["exact", "estimate", "lower", "upper", "samples"]
#: What the function is given first: a Question of tables and a Plan; a Problem, which is tables
#: with the evidence in them; or a Question that keeps its rules (for ``mpe``, the Problem too).
Needs: TypeAlias = Literal["plan", "tables", "rules"]


@dataclass(frozen=True)
class Engine:
    """One way to an answer.

    Attributes
    ----------
    name : str
        As in ``method=``, and as answers call it.
    module : str
        Where its function ``run_<name>`` is, within ``credo.inference``; empty where ``infer`` or
        ``mpe`` itself chooses or runs.
    promise, needs : str
        What comes out, and what goes in.
    aliases : str
        Other names that users know it by, with spaces between them.
    takes : tuple of str, optional
        Its options; by default those of a plan, or the keyword-only parameters of the function.
    """

    name: str
    module: str
    promise: Promise
    needs: Needs
    aliases: str = ""
    takes: tuple[str, ...] | None = None

    @cached_property
    def run(self) -> Callable[..., Any]:
        """The function; its module is imported now."""
        module = import_module(f"credo.inference.{self.module}")
        found: Callable[..., Any] = getattr(module, f"run_{self.name}")
        return found

    @cached_property
    def options(self) -> tuple[str, ...]:
        """The names of its options."""
        if self.takes is not None or self.needs == "plan":
            return self.takes or ("order", "effort", "seed")
        parameters = inspect.signature(self.run).parameters.values()
        return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


def _by_name(*engines: Engine) -> dict[str, Engine]:
    return {engine.name: engine for engine in engines}


_ROWS = "schedule sweeps tolerance momentum temperature dtype until log_evidence"
_CLIQUES = "jt clique_tree join_tree hugin shafer_shenoy"
_BP = "bp lbp loopy_bp belief_propagation loopy_belief_propagation"
_MAX = "max_product max_sum min_sum"
_GBP = "gbp generalized kikuchi generalised_bp generalized_bp"

#: Engines of ``infer``; the first two choose among the exact ones.
ENGINES = _by_name(
    Engine("auto", "", "exact", "plan"),
    Engine("exact", "", "exact", "plan"),
    Engine("tree", "exact", "exact", "plan", "forward_backward polytree"),
    Engine("junction_tree", "exact", "exact", "plan", _CLIQUES),
    Engine("elimination", "exact", "exact", "plan", "ve variable_elimination bucket_elimination"),
    Engine("enumeration", "exact", "exact", "plan", "brute_force enumerate"),
    Engine("loopy", "loopy.engine", "estimate", "rules", f"{_BP} sum_product message_passing"),
    Engine("generalised", "regions.generalised", "estimate", "tables", _GBP),
    Engine("double_loop", "regions.generalised", "estimate", "tables", "hak cccp"),
    Engine("tree_reweighted", "certificates.tree_reweighted", "upper", "tables", "trw trwbp trbp"),
    Engine("mean_field", "certificates.mean_field", "lower", "tables", "mf naive_mean_field"),
    Engine("structured_mean_field", "certificates.structured", "lower", "tables", "smf"),
    Engine("gibbs", "gibbs.engine", "samples", "tables", "mcmc gibbs_sampling"),
)

#: Engines of ``mpe``, which has its junction tree itself.
MAXIMISERS = _by_name(
    Engine("auto", "maxima.engine", "upper", "rules"),
    Engine("junction_tree", "", "exact", "plan", f"{_CLIQUES} exact viterbi ve", ("seed",)),
    Engine("graph_cut", "maxima.engine", "exact", "tables", "graphcut min_cut mincut max_flow"),
    Engine("tree_reweighted", "maxima.engine", "upper", "tables", "trws trw_s trw"),
    Engine("loopy", "maxima.engine", "estimate", "rules", f"{_BP} {_MAX}"),
    Engine("icm", "maxima.engine", "estimate", "tables", "iterated_conditional_modes"),
)


#: Engines of ``infer_many``; exact answers come from junction trees.
ROW_ENGINES = _by_name(
    Engine("auto", "", "exact", "plan", takes=("seed",)),
    Engine("exact", "", "exact", "plan", f"junction_tree {_CLIQUES}", ("seed",)),
    Engine("loopy", "", "estimate", "rules", ENGINES["loopy"].aliases, tuple(_ROWS.split())),
)


def promising(engines: Mapping[str, Engine], *promises: Promise) -> str:
    """Return the names of the engines that promise this, for help; choices left out."""
    named = (e for e in engines.values() if e.name not in ("auto", "exact"))
    return ", ".join(e.name for e in named if e.promise in promises)


def lookup(method: Any, engines: Mapping[str, Engine], what: str) -> Engine:
    """Return the engine of a name or an alias; hyphens and case do not matter."""
    is_text = isinstance(method, str)
    if is_text and method in engines:
        return engines[method]
    known = {name: e for e in engines.values() for name in (e.name, *e.aliases.split())}
    found = known.get(method.strip().lower().replace("-", "_")) if is_text else None
    if found is None:
        from credo._validation.labels import hint, listing  # noqa: PLC0415 - NumPy loads slowly

        near = hint(method, tuple(known)) if is_text else ""
        raise InputError(
            f"The {what} must be one of {listing(tuple(engines), 20)}. Got {method!r}.{near}"
        )
    return found


def check_options(
    engine: Engine, options: Mapping[str, Any], engines: Mapping[str, Engine], owner: str
) -> None:
    """Refuse options that an engine does not have, and say which it has and who has those."""
    known = engine.options
    for name in options:
        if name in known:
            continue
        from credo._validation.labels import hint, listing  # noqa: PLC0415 - NumPy loads slowly

        has = f"It has {listing(known, 20)}." if known else "It has none."
        others = [other.name for other in engines.values() if name in other.options]
        near = f" {name!r} is an option of {listing(others)}." if others else hint(name, known)
        raise InputError(f"{owner}: method={engine.name!r} has no option {name!r}. {has}{near}")
