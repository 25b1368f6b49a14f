"""``ENGINES``, ``MAXIMISERS``, ``ROW_ENGINES``: every way to an answer, by name.

A new engine is one file and one entry here: ``infer``, ``mpe``, ``infer_many``, their messages, the
reference and the command line read these lists. An engine's module is imported when it first runs.
"""

from __future__ import annotations

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
    aliases, takes : str
        Other names that users know it by, and the names of its options, with spaces between them.
        An option is a keyword-only parameter of the function.
    """

    name: str
    module: str
    promise: Promise
    needs: Needs
    aliases: str = ""
    takes: str = ""

    @cached_property
    def run(self) -> Callable[..., Any]:
        """The function; its module is imported now."""
        module = import_module(f"credo.inference.{self.module}")
        found: Callable[..., Any] = getattr(module, f"run_{self.name}")
        return found

    @property
    def options(self) -> tuple[str, ...]:
        """The names of its options."""
        return tuple(self.takes.split())


def _by_name(*engines: Engine) -> dict[str, Engine]:
    return {engine.name: engine for engine in engines}


_SEARCH = "order effort seed"
_SWEEPS = "sweeps tolerance"
_MESSAGES = f"schedule momentum domain {_SWEEPS} threads seed callback"
_LOOPY = f"{_MESSAGES} temperature counting dtype start root"
_BOUNDED = f"{_SWEEPS} seed callback"
_TREES = f"forests rounds {_BOUNDED}"
_MOVES = "start sweeps restarts forests seed callback"
_ASCENT = f"{_SWEEPS} restarts seed callback"
_DRAWS = "draws burn_in chains blocks thin log_z seed threads callback"
_ROWS = f"schedule momentum temperature {_SWEEPS} dtype until log_evidence threads"
_ELIMINATION = "ve variable_elimination bucket_elimination"
_REGIONS = f"regions {_SWEEPS} callback"
_CLIQUES = "jt clique_tree join_tree hugin shafer_shenoy"
_BP = "bp lbp loopy_bp belief_propagation loopy_belief_propagation"
_SUM = "sum_product message_passing"
_MAX = "max_product max_sum min_sum"
_WEIGHTED = "likelihood_weighting lw forward_sampling importance_sampling"
_GBP = "gbp generalized kikuchi generalised_bp generalized_bp"

#: Engines of ``infer``; the first two choose among the exact ones.
ENGINES = _by_name(
    Engine("auto", "", "exact", "plan", "", _SEARCH),
    Engine("exact", "", "exact", "plan", "", _SEARCH),
    Engine("tree", "exact", "exact", "plan", "forward_backward polytree", _SEARCH),
    Engine("junction_tree", "exact", "exact", "plan", _CLIQUES, _SEARCH),
    Engine("elimination", "exact", "exact", "plan", _ELIMINATION, _SEARCH),
    Engine("enumeration", "exact", "exact", "plan", "brute_force enumerate", _SEARCH),
    Engine("loopy", "loopy.engine", "estimate", "rules", f"{_BP} {_SUM}", _LOOPY),
    Engine("generalised", "regions.engine", "estimate", "tables", _GBP, f"momentum {_REGIONS}"),
    Engine("double_loop", "regions.engine", "estimate", "tables", "hak cccp", _REGIONS),
    Engine("tree_reweighted", "bounding.upper", "upper", "tables", "trw trwbp trbp", _TREES),
    Engine("mean_field", "bounding.lower", "lower", "tables", "mf naive_mean_field", _ASCENT),
    Engine(
        "structured_mean_field", "bounding.lower", "lower", "tables", "smf", f"blocks {_ASCENT}"
    ),
    Engine("gibbs", "gibbs.engine", "samples", "tables", "mcmc gibbs_sampling", _DRAWS),
    Engine("samples", "samples", "samples", "rules", _WEIGHTED, "draws seed callback"),
)

#: Engines of ``mpe``, which has its junction tree itself.
MAXIMISERS = _by_name(
    Engine("auto", "maxima.engine", "upper", "rules", "", _BOUNDED),
    Engine("junction_tree", "", "exact", "plan", f"{_CLIQUES} exact viterbi ve", "seed"),
    Engine("graph_cut", "maxima.engine", "exact", "tables", "graphcut min_cut mincut max_flow"),
    Engine("tree_reweighted", "maxima.engine", "upper", "tables", "trws trw_s trw", _BOUNDED),
    Engine("loopy", "maxima.engine", "estimate", "rules", f"{_BP} {_MAX}", _MESSAGES),
    Engine("icm", "maxima.engine", "estimate", "tables", "iterated_conditional_modes", _MOVES),
)


#: Engines of ``infer_many``; exact answers come from junction trees.
ROW_ENGINES = _by_name(
    Engine("auto", "", "exact", "plan", "", "threads seed"),
    Engine("exact", "", "exact", "plan", f"junction_tree {_CLIQUES}", "threads seed"),
    Engine("loopy", "", "estimate", "rules", f"{_BP} {_SUM}", _ROWS),
)

#: What ``bounds`` takes.
BOUNDS = Engine("bounds", "", "upper", "tables", "", f"rounds {_SWEEPS} restarts seed")

#: What options mean, for help; one that takes more than a word or a number is not here.
OPTIONS = {
    "schedule": "order of messages: auto, flooding, sequential, residual, random or tree",
    "momentum": "share of the new message, above 0 and at most 1, or adaptive; 1 - damping",
    "domain": "what is mixed with the old message: linear, or log",
    "temperature": "1 sums, 0 maximises",
    "counting": "counting number of all factors",
    "sweeps": "how many at most",
    "tolerance": "change at which sweeps stop",
    "dtype": "float64 or float32",
    "threads": "how many; the answer is the same for any number",
    "regions": "auto, bethe, plaquettes or cliques",
    "forests": "weights of spanning forests, optimise or uniform; of icm, how many are moved",
    "rounds": "steps by which the weights of forests are improved",
    "restarts": "starts, of which the best is kept",
    "blocks": "what moves together: trees, or none for single variables; of mean field, forest",
    "draws": "how many; of gibbs, sweeps of each chain that count",
    "burn_in": "sweeps of each chain before that",
    "chains": "how many",
    "thin": "keep every n-th sweep",
    "log_z": "ais estimates log Z by annealing; none leaves it out",
    "start": "where moves begin: single, random or annealed",
    "until": "converged, or satisfied: stop once all rules hold",
}


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
        from credo import _checks as check  # noqa: PLC0415 - NumPy loads slowly

        near = check.hint(method, tuple(known)) if is_text else ""
        if is_text and engines is not MAXIMISERS and method.lower() in f"viterbi {_MAX}".split():
            near = " It finds the best configuration: that is credo.mpe."
        raise InputError(
            f"The {what} must be one of {check.listing(tuple(engines), 20)}. Got {method!r}.{near}"
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
        from credo import _checks as check  # noqa: PLC0415 - NumPy loads slowly

        has = f"It has {check.listing(known, 20)}." if known else "It has none."
        others = [other.name for other in engines.values() if name in other.options]
        near = (
            f" {name!r} is an option of {check.listing(others)}."
            if others
            else check.hint(name, known)
        )
        raise InputError(f"{owner}: method={engine.name!r} has no option {name!r}. {has}{near}")
