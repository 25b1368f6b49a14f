"""Gibbs sampling of a problem: chains, what they agree on, and log Z by annealing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._kernels.forest import Forest, Graph, grow, locate, make_scratch, plant
from credo._types import F64, Label
from credo.exceptions import NumericalError
from credo.graphs.problems import Problem
from credo.graphs.wiring import starts
from credo.inference.bounding.reduce import (
    Int64,
    Reduced,
    fold,
    named_blocks,
    reduce,
    states_of,
    tables_of,
)
from credo.inference.gibbs.diagnostics import LEAST_DRAWS, describe
from credo.inference.gibbs.kernels import Record, Target, dive, run_sites, run_trees
from credo.inference.question import Answer, Callback

_OWNER = "Gibbs sampling"
#: How often the beliefs are looked at on the way, for the residuals.
_ROUNDS = 10
#: Bytes of the states, and of the batches, that all chains keep together; unless this would leave
#: less than so many of them to each chain.
_BYTES, _LEAST_KEPT, _LEAST_BATCHES = 2**27, 64, 8
#: Batches of a chain: with four chains their spread is known to one part in twenty.
_MOST_BATCHES = 64
#: Random numbers that are made at a time: 8 MB for each thread.
_BLOCK = 2**20
#: Partitions to take turns, and the sweeps that each has at a time. On a 12 × 12 Ising grid near
#: its critical coupling 80000 draws are worth 4700 if one partition stays on, 4200 if they change
#: at every fourth sweep, and 3900 if they change at each.
_PARTITIONS, _HOLD = 4, 4
#: Trees of a partition; in denser graphs the variables that are left are blocks of their own.
_TREES = 16
#: Searches for a start: at most, and at least where each of them visits many cells.
_TRIES, _LEAST_TRIES, _VISITS = 1000, 20, 2**27
#: States that no chain has met, for which it is looked whether they should have.
_WITNESSES = 32
#: Largest R-hat at which this is asked: above, chains disagree anyway.
_AGREE = 1.1
#: Walks to average for log Z, and the fewest temperatures of each.
_WALKS, _LEAST_RUNGS = 16, 32
#: How much less likely a zero is than the least positive cell of its table, times the number of
#: tables: so at the end all but a few walks in a thousand have left the zeros.
_RARE = 1e3
#: Joint tables of more cells than this would be mostly empty.
_MOST_CELLS = 2**20


def run_gibbs(  # noqa: PLR0913 - one parameter per setting
    problem: Problem,
    *,
    draws: int = 2000,
    burn_in: int = 500,
    chains: int = 4,
    blocks: str | Iterable[Sequence[Label]] | None = None,
    thin: int = 1,
    log_z: str | None = "ais",
    seed: int = 0,
    threads: int | None = None,
    callback: Callback | None = None,
) -> Answer:
    r"""Sample a problem by Markov chains, one variable or tree at a time.

    .. math:: x_v \sim p(x_v \mid x_{-v}) \propto \prod_{f \ni v} \psi_f(x_f)

    for each variable v in turn, or the same for blocks of variables. Beliefs are averages of these
    conditional probabilities, which vary less than counts of states (Rao-Blackwell).

    Parameters
    ----------
    problem : Problem
        What is sampled.
    draws : int
        Sweeps of each chain that count, at least four.
    burn_in : int
        Sweeps of each chain before that, which do not.
    chains : int
        Independent chains. Two begin at the first and the last possible states, the others at
        random ones.
    blocks : {"trees"}, list of lists of names, or None
        None draws one variable at a time. ``"trees"`` cuts the variables into trees, in up to four
        ways that take turns, and draws each tree as a whole. Blocks of your own have to be trees;
        variables that they do not name are drawn alone.
    thin : int
        Take every so-many-th sweep.
    log_z : {"ais"} or None
        Estimate log Z by annealed importance sampling, which takes half as many sweeps as the
        chains do; or do not.
    seed : int
        Where all random numbers come from.
    threads : int or None
        Chains to run at a time; one per core by default. The answer does not depend on it.
    callback : callable or None
        Called up to ten times with the number of sweeps so far, and with the largest change of a
        belief since the last time, at first since zero. These are the residuals.

    Returns
    -------
    Answer
        With status SAMPLED; EXACT where the evidence leaves nothing to draw. Its ``details`` have,
        for each state as laid out in ``beliefs``, ``r_hat``, ``effective_sample_size``,
        ``standard_error`` (of the belief) and ``never_moved``; and ``worst_r_hat``,
        ``least_effective_sample_size``, ``draws`` of all chains, ``kept``, ``blocks`` (None,
        "trees" or "named"), and, of an estimate of log Z, ``log_z_standard_error``.

    Raises
    ------
    InputError
        If an option is wrong, or a block is no tree.
    NumericalError
        If no state of positive probability was found to begin with.

    See Also
    --------
    credo.inference.gibbs.diagnostics.r_hat : Whether chains agree.

    Notes
    -----
    A sweep takes O(links × states), with blocks O(cells of factors). Approximate: errors fall with
    the root of the number of draws. Where zeros cut the space into parts that no single change of
    a variable, or of a block, connects, a chain stays in its part: look at ``worst_r_hat``, which
    compares chains from different starts. It is infinite, too, where a search finds a state that no
    chain could reach in a configuration that draws should have met.

    States, and sums of batches, are kept up to 128 MB each, but at least 64 draws and 8 batches of
    each chain. So in models of more than some ten thousand variables every so-many-th draw is kept,
    and the effective sample size, which comes from these, is a lower bound; R-hat counts all draws.

    Annealing takes 16 walks from the factors of one variable to all factors. Its estimate of Z, not
    of log Z, is unbiased. Where the weights of the walks differ so much that 16 cannot do, as in
    large networks with many zeros, none is given.

    References
    ----------
    .. [1] S. Geman and D. Geman, "Stochastic relaxation, Gibbs distributions, and the Bayesian
       restoration of images", *IEEE PAMI* 6(6), 1984, section X.
    .. [2] F. Hamze and N. de Freitas, "From fields to trees", *UAI*, 2004, section 3.
    .. [3] R. M. Neal, "Annealed importance sampling", *Statistics and Computing* 11, 2001,
       section 2.

    Examples
    --------
    >>> from credo.graphs import FactorGraph
    >>> from credo.graphs.problems import pose
    >>> from credo.graphs.evidence import resolve
    >>> graph = FactorGraph()
    >>> a, b = graph.variable("a", 2), graph.variable("b", 2)
    >>> _ = graph.factor([a, b], [[4, 1], [1, 2]])
    >>> wiring = graph.compile()
    >>> found = run_gibbs(pose(wiring, resolve(wiring, {}, {}, "example")))
    >>> bool(abs(found.beliefs.of(0)[1] - 3 / 8) < 5 * found.details["standard_error"][1])
    True
    >>> print(f"{found.details['worst_r_hat']:.2f}")
    1.00
    """
    lengths = _Lengths(
        check.count(draws, f"draws of {_OWNER}", LEAST_DRAWS),
        check.count(burn_in, f"burn_in of {_OWNER}", 0),
        check.count(thin, f"thin of {_OWNER}"),
        check.count(chains, f"chains of {_OWNER}"),
    )
    check.one_of(log_z, ("ais", None), f"log_z of {_OWNER}")
    seeds = np.random.SeedSequence(seed).spawn(2)
    threads = check.threads(threads, f"threads of {_OWNER}")
    reduced = reduce(problem)
    if not reduced.n:
        return _answer_without_draws(reduced)
    ways = _find_ways(reduced, blocks)
    target = _target_of(reduced)
    records = [lengths.record(reduced) for _ in range(chains)]
    rngs = [np.random.default_rng(one) for one in seeds[0].spawn(chains)]
    tables = _with_zeros(reduced)
    begun = [_find_start(reduced, tables, rng, i) for i, rng in enumerate(rngs)]
    walkers = [_Walker(target, ways, *parts) for parts in zip(rngs, begun, records, strict=True)]
    walkers[0].run.expect(chains * lengths.sweeps * reduced.n)
    value, error = None, np.inf
    with ThreadPoolExecutor(threads) as pool:
        residuals = _advance(walkers, lengths, lengths.plan(records[0], ways), pool, callback)
        if log_z is not None:
            rungs = chains * lengths.sweeps // (2 * _WALKS)
            value, error = _anneal(reduced, target, ways, seeds[1].spawn(_WALKS), rungs, pool)
    found = _pool(records, lengths.draws)
    details = describe(records, target.start, lengths.draws)
    if details["worst_r_hat"] < _AGREE and _is_blind(reduced, tables, walkers[0], found, draws):
        details["worst_r_hat"] = np.inf
    if value is not None:
        details["log_z_standard_error"] = error
    return Answer(
        reduced.beliefs(found, value),
        status="SAMPLED",
        log_z=np.nan if value is None else value,
        log_z_is="NOT_ESTIMATED" if value is None else "ESTIMATE",
        residuals=residuals,
        updates=chains * lengths.sweeps * len(problem.variables),
        joints=_Frequencies(reduced, [record.trace for record in records]),
        details=_of_all_states(reduced, details)
        | {"blocks": blocks if blocks is None or isinstance(blocks, str) else "named"},
    )


@dataclass(frozen=True, slots=True)
class _Lengths:
    """How long chains run, and how much of them is kept."""

    draws: int
    burn_in: int
    thin: int
    chains: int

    @property
    def sweeps(self) -> int:
        """Sweeps of one chain."""
        return self.burn_in + self.draws * self.thin

    def record(self, reduced: Reduced) -> Record:
        """Make room for what one chain keeps."""
        n_states = len(reduced.unary)
        dtype = np.dtype(np.uint8 if reduced.n_states.max() <= 256 else np.uint32)
        kept = max(_LEAST_KEPT, _BYTES // (self.chains * reduced.n * dtype.itemsize))
        batches = max(_LEAST_BATCHES, _BYTES // (self.chains * n_states * 8))
        return Record(
            np.zeros((min(self.draws, _MOST_BATCHES, batches), n_states)),
            np.zeros((2, n_states), np.int64),
            np.zeros((min(self.draws, kept), reduced.n), dtype),
        )

    def plan(self, record: Record, ways: _Ways) -> Int64:
        """Say for each sweep which batch, half and kept draw it is, or -1; and its blocks."""
        plan = _turns(self.sweeps, ways)
        d = np.arange(self.draws)
        drawn = plan[self.burn_in + self.thin - 1 :: self.thin]
        drawn[:, 0] = d * len(record.sums) // self.draws
        drawn[: self.draws // 2, 1] = 0
        drawn[self.draws - self.draws // 2 :, 1] = 1
        kept = d * len(record.trace) // self.draws
        drawn[:, 2] = np.where(np.diff(kept, prepend=-1) > 0, kept, -1)
        return plan


# --- what is sampled ------------------------------------------------------------------------------


def _target_of(reduced: Reduced) -> Target:
    """Lay out what is sampled."""
    graph = reduced.graph
    near = np.column_stack([graph.factor, graph.stride])[graph.near]
    field = np.stack([np.zeros_like(reduced.unary), reduced.unary])
    return Target(graph.start, graph.near_start, near, field, reduced.logs)


def _answer_without_draws(reduced: Reduced) -> Answer:
    """Answer where there is nothing to sample: nothing is possible, or nothing is free."""
    value, joints = reduced.constant, _Frequencies(reduced, [np.zeros((1, 0), np.uint8)])
    return Answer(reduced.beliefs(np.empty(0), value), "EXACT", value, "EXACT", joints=joints)


def _of_all_states(reduced: Reduced, details: dict[str, Any]) -> dict[str, Any]:
    """Put beside the states that were sampled those that are certain, or impossible."""
    rest = {"r_hat": 1.0, "effective_sample_size": float(details["draws"])}
    rest |= {"standard_error": 0.0, "never_moved": True}
    for name, value in rest.items():
        whole = np.full(len(reduced.alive), value)
        whole[reduced.place] = details[name]
        details[name] = whole
    return details


@dataclass(frozen=True, slots=True, eq=False)
class _Frequencies:
    """Joint beliefs of any few variables: how often the draws that were kept have each state."""

    reduced: Reduced
    traces: list[npt.NDArray[Any]]

    def __call__(self, variables: Int64) -> F64 | None:
        """Return the table of some variables of the wiring; None if it is too large."""
        shape = self.reduced.problem.wiring.n_states[variables].tolist()
        if np.prod(shape, dtype=np.float64) > _MOST_CELLS:
            return None
        columns = tuple(self.states_of(int(v)) for v in variables)
        cells = np.ravel_multi_index(columns, shape) if columns else np.zeros(1, np.int64)
        counts = np.bincount(cells, minlength=int(np.prod(shape, dtype=np.int64)))
        return np.asarray(counts.reshape(shape) / len(cells))

    def states_of(self, variable: int) -> Int64:
        """Return the states of a variable of the wiring in all draws, also of an observed one."""
        reduced, problem = self.reduced, self.reduced.problem
        n = sum(len(trace) for trace in self.traces)
        if problem.observed[variable] >= 0:
            return np.full(n, problem.observed[variable])
        v = int(np.searchsorted(problem.variables, variable))
        first, stop = starts(problem.n_states)[v : v + 2]
        states = np.flatnonzero(reduced.alive[first:stop])
        if len(states) == 1:
            return np.full(n, states[0])
        i = int(np.searchsorted(reduced.kept, v))
        return states[np.concatenate([trace[:, i] for trace in self.traces])]


# --- blocks ---------------------------------------------------------------------------------------


class _Ways(NamedTuple):
    """The graph, and its partitions into blocks that are trees; None for one variable at a time."""

    graph: Graph
    forest: Forest | None
    first: Int64  #: where the blocks of each partition begin


def _turns(sweeps: int, ways: _Ways) -> Int64:
    """Plan sweeps of which nothing is kept yet; partitions take turns."""
    plan = np.full((sweeps, 5), -1, np.int64)
    if ways.forest is not None:
        turn = np.arange(sweeps) // _HOLD % (len(ways.first) - 1)
        plan[:, 3], plan[:, 4] = ways.first[turn], ways.first[turn + 1]
    return plan


def _find_ways(reduced: Reduced, blocks: Any) -> _Ways:
    """Find the blocks."""
    graph = reduced.graph
    if blocks is None:
        return _Ways(graph, None, np.zeros(1, np.int64))
    if isinstance(blocks, str) and blocks == "trees":
        block_of = _tree_blocks(graph)
    else:
        block_of = named_blocks(reduced, blocks, _OWNER, None, "trees")[None]
    return _Ways(graph, plant(graph, block_of), starts(block_of.max(axis=1) + 1))


def _tree_blocks(graph: Graph) -> Int64:
    """Cut the variables into trees, in a few ways, so that a tree holds each factor once.

    Trees are grown greedily. Factors that no tree held so far come first, and count more than all
    others of a variable together.
    """
    everyone, arity = np.arange(len(graph.start) - 1), np.diff(graph.scope_start)
    heavy = 1.0 + float(np.diff(graph.near_start).max())
    cut = np.ones(len(arity), np.bool_)
    ways: list[Int64] = []
    while len(ways) < _PARTITIONS and (cut.any() or not ways):
        listed = np.concatenate([graph.scope[np.repeat(cut & bool(ways), arity)], everyone])
        order = listed[np.sort(np.unique(listed, return_index=True)[1])]
        block_of = grow(graph, order, np.where(cut, heavy, 1.0), _TREES)
        its = block_of[graph.scope]
        strays = np.bincount(graph.factor, its != its[graph.scope_start[graph.factor]], len(arity))
        if ways and not (cut & (strays == 0)).any():
            break
        ways.append(block_of)
        cut &= strays > 0
    return np.array(ways)


# --- chains ---------------------------------------------------------------------------------------


def _with_zeros(reduced: Reduced) -> Any:
    """Return the factors that have zeros, which alone make a start hard to find."""
    arity, sizes = np.diff(reduced.scope_start), np.diff(reduced.cell_start)
    factor = np.repeat(np.arange(len(sizes)), sizes)
    hard = np.bincount(factor, reduced.logs == -np.inf, len(sizes)) > 0
    return tables_of(
        reduced.n_states,
        starts(arity[hard]),
        reduced.scope[np.repeat(hard, arity)],
        starts(sizes[hard]),
        reduced.logs[np.repeat(hard, sizes)],
    )


def _find_start(reduced: Reduced, tables: Any, rng: np.random.Generator, chain: int) -> Int64:
    """Find states of positive probability.

    They are random, but to spread the chains the first one takes the first state of each variable
    that is open to it, and the second the last: in models that like equal states, the two ends.
    Where a search fails, the variable at which it did comes first in the next, with a new state,
    and the others wish for the states that they had.
    """
    order, u = np.arange(reduced.n), rng.random(reduced.n)
    if chain < 2:
        u[:] = (0.0, np.nextafter(1.0, 0.0))[chain]
    states = (u * reduced.n_states).astype(np.int64)
    tries = min(_TRIES, max(_LEAST_TRIES, _VISITS // max(1, len(tables.logs))))
    for _ in range(tries):
        room = states_of(tables, np.ones(len(reduced.unary), np.uint8))
        failed = int(dive(tables, room, order, u, states))
        if failed < 0:
            return states
        u = rng.random(reduced.n)
        states[failed] = u[failed] * reduced.n_states[failed]
        order = np.concatenate([[failed], order[order != failed]])
    raise NumericalError(
        f"{_OWNER} needs states of positive probability to begin with, and found none in {tries} "
        "searches: zeros in the factors rule out what was tried. The evidence may be impossible; "
        "infer with an exact method, or loopy belief propagation, can tell."
    )


def _is_blind(reduced: Reduced, tables: Any, walker: _Walker, beliefs: F64, draws: int) -> bool:
    """Tell whether chains have missed a state that zeros keep them from, and that may count.

    No draw gave it any probability, and it is part of a configuration that is at least one over
    ``draws`` times as probable as the last draw of a chain.
    """
    unseen = np.flatnonzero(beliefs == 0.0) if len(tables.logs) else np.empty(0, np.int64)
    for s in unseen[:_WITNESSES].tolist():
        v = int(np.searchsorted(reduced.state_start, s, side="right")) - 1
        states = walker.states.copy()
        states[v] = s - reduced.state_start[v]
        order = np.concatenate([[v], np.delete(np.arange(reduced.n), v)])
        room = states_of(tables, np.ones(len(reduced.unary), np.uint8))
        if dive(tables, room, order, np.zeros(reduced.n), states) < 0:
            ahead = walker.log_weight(states) - walker.log_weight(walker.states)
            if ahead > -np.log(draws):
                return True
    return False


class _Walker:
    """One chain: what it does depends on its target, its start and its own generator alone."""

    def __init__(
        self,
        target: Target,
        ways: _Ways,
        rng: np.random.Generator,
        states: Int64,
        record: Record,
    ) -> None:
        self.states, self.record = states, record
        self._target, self._graph = target, ways.graph
        self.cells = self._cells_of(states)
        self._rng = rng
        self.run: Any = run_sites
        self._given: tuple[Any, ...] = target, record
        self._rest = states, self.cells, np.empty(target.field.shape[1])
        if ways.forest is not None:
            room = make_scratch(ways.graph, ways.forest)
            self.run, self._given = run_trees, (target, *ways[:2], room, record)
            self._rest = states, self.cells, np.empty_like(states)

    def _cells_of(self, states: Int64) -> Int64:
        """Return the cells that states point to."""
        cells = np.empty(len(self._graph.scope_start) - 1, np.int64)
        locate(self._graph, states, cells)
        return cells

    def log_weight(self, states: Int64) -> float:
        """Return the log of the target at some states, up to a constant."""
        start, _, _, field, logs = self._target
        return float(field[1, start[:-1] + states].sum() + logs[self._cells_of(states)].sum())

    def advance(self, beta: F64, plan: Int64) -> float:
        """Make a sweep for each row of the plan; return the log of the weight that was gained.

        Sweep t is at inverse temperature ``beta[t + 1]``, after ``beta[t]``.
        """
        gained, n = 0.0, len(self.states)
        step = max(1, _BLOCK // n)
        for t in range(0, len(plan), step):
            part = plan[t : t + step]
            u = self._rng.random((len(part), n))
            gained += self.run(*self._given, beta[t : t + len(part) + 1], part, u, *self._rest)
        return float(gained)


def _advance(
    walkers: list[_Walker],
    lengths: _Lengths,
    plan: Int64,
    pool: ThreadPoolExecutor,
    callback: Callback | None,
) -> F64:
    """Run the chains; return the largest change of a belief in each of some rounds."""
    cold = np.ones(len(plan) + 1)
    records = [walker.record for walker in walkers]
    before = np.zeros(records[0].sums.shape[1])
    residuals: list[float] = []
    done = 0
    for n in np.unique(-(-lengths.draws * np.arange(1, _ROUNDS + 1) // _ROUNDS)).tolist():
        part = slice(done, lengths.burn_in + n * lengths.thin)
        beta, rows = cold[part.start : part.stop + 1], plan[part]
        list(pool.map(methodcaller("advance", beta, rows), walkers))
        beliefs = _pool(records, n)
        residuals.append(float(np.abs(beliefs - before).max()))
        before, done = beliefs, part.stop
        if callback is not None:
            callback(done, residuals[-1])
    return np.array(residuals)


def _pool(records: list[Record], draws: int) -> F64:
    """Average the conditional probabilities of all chains: lower in variance than counting."""
    total = sum(record.sums.sum(axis=0) for record in records)
    return np.asarray(total / (draws * len(records)))


# --- annealing ------------------------------------------------------------------------------------


def _anneal(
    reduced: Reduced,
    target: Target,
    ways: _Ways,
    seeds: list[np.random.SeedSequence],
    rungs: int,
    pool: ThreadPoolExecutor,
) -> tuple[float | None, float]:
    r"""Walk from independent variables to the target; average the weights gained on the way.

    With f_b = base^(1 - b) target^b and sweeps that leave each f_b as it is,

    .. math:: Z = E \prod_j f_{b_j}(x_{j-1}) / f_{b_{j-1}}(x_{j-1}), \qquad x_0 \sim \text{base} .

    Zeros stay out of it, being replaced by something small, until the end: a walk that ends at a
    zero has weight zero. The base has the factors of one variable. It owes nothing to the chains:
    made of their beliefs the weights would vary less, but repeat what the chains miss.
    """
    soft, first = _soften(reduced, target), reduced.state_start[:-1]
    steps = np.linspace(0.0, 1.0, max(_LEAST_RUNGS, rungs) + 1)
    plan = _turns(len(steps) - 1, ways)
    ends = np.cumsum(np.exp(soft.field[0]))
    nothing = Record(np.empty((0, 0)), np.empty((0, 0), np.int64), np.empty((0, 0), np.uint8))

    def walk(seed: np.random.SeedSequence) -> float:
        rng = np.random.default_rng(seed)
        aim = np.arange(reduced.n) + rng.random(reduced.n)
        states = np.searchsorted(ends, aim, side="right") - first
        states = np.clip(states, 0, reduced.n_states - 1)
        walker = _Walker(soft, ways, rng, states, nothing)
        gained = walker.advance(steps, plan)
        return -np.inf if (target.logs[walker.cells] == -np.inf).any() else gained

    return _average(np.array(list(pool.map(walk, seeds))), reduced.constant)


def _average(logs: F64, constant: float) -> tuple[float | None, float]:
    """Average weights given by their logs, with a standard error by the delta method.

    None where they are too few, or differ too much: where logs of weights have variance s², about
    exp(s² / 2) of them are needed (Chatterjee and Diaconis, "The sample size required in importance
    sampling", 2018, theorem 1.1).
    """
    alive = logs[logs > -np.inf]
    if len(alive) < 2 or 0.5 * float(alive.var(ddof=1)) > np.log(len(alive)):
        return None, np.inf
    top = float(logs.max())
    weights = np.exp(logs - top)
    mean = float(weights.mean())
    error = float(weights.std(ddof=1)) / mean / np.sqrt(len(weights))
    return constant + top + float(np.log(mean)), error


def _soften(reduced: Reduced, target: Target) -> Target:
    """Make the base of factors of one variable, and put something small in place of zeros."""
    unary, logs, cells = reduced.unary, reduced.logs, reduced.cell_start
    sums = fold(np.add, np.exp(unary), reduced.state_start)  # the largest log of each is zero
    base = unary - np.repeat(np.log(sums), reduced.n_states)
    least = fold(np.minimum, np.where(logs > -np.inf, logs, np.inf), cells)
    rare = np.log(_RARE * (len(least) + reduced.n))
    soft = np.where(logs > -np.inf, logs, np.repeat(least - rare, np.diff(cells)))
    return target._replace(field=np.stack([base, unary]), logs=soft)
