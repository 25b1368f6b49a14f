"""Gibbs sampling of a problem: chains, what they agree on, and log Z by annealing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import methodcaller
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._kernels.gibbs_blocks import run_trees
from credo._kernels.gibbs_sweeps import run_sites
from credo._types import F64, Label
from credo._validation.arrays import positive_int
from credo._validation.cores import count_threads
from credo._validation.labels import one_of
from credo.exceptions import InputError
from credo.graphs.problems import Problem
from credo.inference.chains._annealing import WALKS, LogSum, annealed
from credo.inference.chains._field import Field, read_field
from credo.inference.chains._forests import Forests, named_blocks, tree_blocks, turns
from credo.inference.chains._frequencies import Frequencies
from credo.inference.chains._records import Lengths, Record, diagnosed, pooled
from credo.inference.chains._starts import possible_states
from credo.inference.chains._walkers import Walker, on_threads
from credo.inference.chains.diagnostics import LEAST_DRAWS
from credo.inference.question import Answer, Beliefs, Callback

Int64: TypeAlias = npt.NDArray[np.int64]
Blocks: TypeAlias = Literal["trees"] | Iterable[Sequence[Label]] | None
_OWNER = "Gibbs sampling"
#: How often the beliefs are looked at on the way, for the residuals.
_ROUNDS = 10


def run_gibbs(  # noqa: PLR0913 - one parameter per setting
    problem: Problem,
    *,
    draws: int = 2000,
    burn_in: int = 500,
    chains: int = 4,
    blocks: Blocks = None,
    thin: int = 1,
    log_z: Literal["ais"] | None = "ais",
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
        With status SAMPLED. Its ``details`` have, for each state as laid out in ``beliefs``,
        ``r_hat``, ``effective_sample_size``, ``standard_error`` (of the belief) and
        ``never_moved``; and ``worst_r_hat``, ``least_effective_sample_size``, ``draws`` of all
        chains, ``kept``, ``log_z_standard_error``, and ``no_log_z`` where there is none.

    Raises
    ------
    InputError
        If an option is wrong, or a block is no tree.
    NumericalError
        If no state of positive probability was found to begin with.

    See Also
    --------
    credo.inference.chains.diagnostics.r_hat : Whether chains agree.

    Notes
    -----
    A sweep takes O(links × states), with blocks O(cells of factors). Approximate: errors fall with
    the root of the number of draws. Where zeros cut the space into parts that no single change of
    a variable, or of a block, connects, a chain stays in its part: look at ``worst_r_hat``, which
    compares chains from different starts. States, and sums of batches, are kept up to 128 MB each,
    but at least 64 draws and 8 batches of each chain. So in models of more than some ten thousand
    variables every so-many-th draw is kept, and the effective sample size, which comes from these,
    is a lower bound; R-hat counts all draws.

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
    lengths = _lengths(draws, burn_in, thin, chains)
    one_of(log_z, ("ais", None), _OWNER, "log_z")
    seeds = np.random.SeedSequence(positive_int(seed, _OWNER, "seed", least=0)).spawn(2)
    threads = count_threads(threads, _OWNER)
    if callback is not None and not callable(callback):
        raise InputError(f"The callback of {_OWNER} must be a function of sweep and residual.")
    field = read_field(problem)
    if field is None or not field.n_variables:
        return _settled(problem, -np.inf if field is None else field.log_constant)
    forests = _forests(field, problem, blocks)
    walkers = [_begun(field, forests, lengths, seeds[0], i) for i in range(chains)]
    plan = lengths.plan(field, turns(lengths.sweeps, forests))
    sweep = run_sites if forests is None else run_trees
    sweep.expect(chains * lengths.sweeps * field.n_variables)
    residuals = _advanced(walkers, lengths, plan, threads, callback)
    found = LogSum(None, np.inf)
    if log_z is not None:
        rungs = chains * lengths.sweeps // (2 * WALKS)
        found = annealed(field, forests, seeds[1].spawn(WALKS), rungs, threads)
    return _told(problem, field, lengths, [walker.record for walker in walkers], found, residuals)


def _told(
    problem: Problem,
    field: Field,
    lengths: Lengths,
    records: list[Record],
    found: LogSum,
    residuals: F64,
) -> Answer:
    """Put the outcome together."""
    value = found.value if problem.is_complete else None
    return Answer(
        Beliefs(problem.variables, field.start, pooled(records, lengths.draws), value),
        status="SAMPLED",
        log_z=0.0 if found.value is None else found.value,
        log_z_is="ESTIMATE",
        residuals=residuals,
        updates=lengths.chains * lengths.sweeps * field.n_variables,
        joints=Frequencies(problem, [record.trace for record in records]),
        details={**diagnosed(records, lengths, field.start), **_about(found)},
    )


def _lengths(draws: int, burn_in: int, thin: int, chains: int) -> Lengths:
    """Check how long chains are to run."""
    return Lengths(
        positive_int(draws, _OWNER, "draws", least=LEAST_DRAWS),
        positive_int(burn_in, _OWNER, "burn_in", least=0),
        positive_int(thin, _OWNER, "thin"),
        positive_int(chains, _OWNER, "chains"),
    )


def _forests(field: Field, problem: Problem, blocks: Blocks) -> Forests | None:
    """Find the blocks."""
    if blocks is None:
        return None
    if isinstance(blocks, str) and blocks == "trees":
        return tree_blocks(field)
    return named_blocks(field, problem, blocks, _OWNER)


def _settled(problem: Problem, log_z: float) -> Answer:
    """Answer where there is nothing to sample: nothing is possible, or nothing is free."""
    start = np.concatenate([[0], np.cumsum(problem.n_states)]).astype(np.int64)
    beliefs = Beliefs(problem.variables, start, np.empty(0), log_z)
    return Answer(beliefs, status="EXACT", log_z=log_z, log_z_is="EXACT")


def _begun(
    field: Field,
    forests: Forests | None,
    lengths: Lengths,
    seed: np.random.SeedSequence,
    chain: int,
) -> Walker:
    """Put a chain at its start."""
    rng = np.random.default_rng(seed.spawn(1)[0])
    states, cells = possible_states(field, rng, chain, _OWNER)
    return Walker(field, forests, rng, states, cells, lengths.record(field))


def _advanced(
    walkers: list[Walker], lengths: Lengths, plan: Int64, threads: int, callback: Callback | None
) -> F64:
    """Run the chains; give the largest change of a belief in each of some rounds."""
    cold = np.ones(len(plan) + 1)
    before = np.zeros(walkers[0].record.sums.shape[1])
    residuals: list[float] = []
    done = 0
    for n in np.unique(-(-lengths.draws * np.arange(1, _ROUNDS + 1) // _ROUNDS)).tolist():
        part = slice(done, lengths.burn_in + n * lengths.thin)
        beta, rows = cold[part.start : part.stop + 1], plan[part]
        on_threads(methodcaller("advance", beta, rows), walkers, threads)
        beliefs = pooled([walker.record for walker in walkers], n)
        residuals.append(float(np.abs(beliefs - before).max()))
        before, done = beliefs, part.stop
        if callback is not None:
            callback(done, residuals[-1])
    return np.array(residuals)


def _about(found: LogSum) -> dict[str, Any]:
    """Tell of the estimate of log Z, or that there is none."""
    if found.value is None:
        return {"no_log_z": True}
    return {"log_z_standard_error": found.standard_error}
