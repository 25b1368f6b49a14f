"""The kernels of Gibbs sampling: step by step against definitions, compiled and as plain Python."""

import numpy as np
import pytest
from tests.oracles import gibbs as oracle
from tests.speeds import plain_kernels

from credo.exceptions import InputError, NumericalError
from credo.graphs import FactorGraph
from credo.graphs.evidence import resolve
from credo.graphs.problems import pose
from credo.inference.chains import _starts
from credo.inference.chains._field import read_field
from credo.inference.chains._forests import named_blocks, tree_blocks, turns
from credo.inference.chains._records import Lengths, no_record
from credo.inference.chains._starts import located, possible_states
from credo.inference.chains._walkers import Walker
from credo.inference.chains.gibbs import run_gibbs

SIZES = [2, 3, 2, 1, 2, 3]
SCOPES = [(0, 1), (1, 0), (1, 2), (2, 0, 4), (4, 3), (5,), (5,), (4, 5), (0,), ()]


def some_factors(seed=0, zeros=0.0, sizes=SIZES, scopes=SCOPES):
    """Random tables, some cells of which are zero."""
    rng = np.random.default_rng(seed)
    factors = []
    for scope in scopes:
        table = rng.uniform(0.2, 2.0, [sizes[v] for v in scope])
        table[rng.random(table.shape) < zeros] = 0.0
        table.flat[0] = 1.0
        factors.append((scope, table))
    return factors


def as_problem(sizes, factors, evidence=None, *, log=False):
    graph = FactorGraph()
    for v, k in enumerate(sizes):
        graph.variable(v, k)
    constant = 1.0
    for scope, table in factors:
        if scope:
            with np.errstate(divide="ignore"):
                graph.factor(list(scope), np.log(table) if log else table, log=log)
        else:
            constant *= float(table)
    wiring = graph.compile()
    return pose(wiring, resolve(wiring, evidence or {}, {}, "test")), constant


@pytest.fixture(params=["compiled", "plain"])
def kernels(request, monkeypatch):
    if request.param == "plain":
        plain_kernels(monkeypatch)


@pytest.mark.usefixtures("kernels")
def test_what_weighs_nothing_is_never_drawn():
    from credo._kernels.gibbs_sweeps import pick

    weights = np.array([7.0, 0.0, 0.5, 0.5, 0.0])
    chosen = [pick(weights, 1, 4, 1.0, u) for u in (0.0, 0.49, 0.5, 0.99, 1.0)]
    assert chosen == [1, 1, 2, 2, 2]


@pytest.mark.usefixtures("kernels")
class TestSites:
    """One variable after the other."""

    @pytest.mark.parametrize("zeros", [0.0, 0.4])
    def test_a_sweep_is_that_of_the_definition(self, zeros):
        factors = some_factors(zeros=zeros)
        field = read_field(as_problem(SIZES, factors)[0])
        rng = np.random.default_rng(7)
        states, cells = possible_states(field, rng, 2, "test")
        lengths = Lengths(draws=12, burn_in=0, thin=1, chains=1)
        expected, sums = states.tolist(), np.zeros(field.n_states)
        u = np.random.default_rng(1).random((12, len(SIZES)))
        walker = Walker(field, None, np.random.default_rng(1), states, cells, lengths.record(field))
        walker.advance(np.ones(13), lengths.plan(field, turns(12, None)))
        for t in range(12):
            expected, conditionals = oracle.sweep(SIZES, factors, expected, u[t])
            sums += conditionals
            assert walker.record.trace[t].tolist() == expected
        np.testing.assert_allclose(walker.record.sums.sum(axis=0), sums, rtol=1e-12)
        assert walker.record.visits.sum() == 12 * len(SIZES)
        np.testing.assert_array_equal(walker.cells, located(field, walker.states))

    def test_weight_is_gained_where_the_temperature_falls(self):
        factors = some_factors()
        field = read_field(as_problem(SIZES, factors)[0])
        states = np.zeros(len(SIZES), np.int64)
        walker = Walker(
            field, None, np.random.default_rng(0), states, located(field, states), no_record()
        )
        gained = walker.advance(np.array([0.25, 0.75]), turns(1, None))
        assert gained == pytest.approx(0.5 * np.log(oracle.weight(factors[:-1], [0] * 6)))
        assert walker.advance(np.array([1.0, 1.0]), turns(1, None)) == 0.0


@pytest.mark.usefixtures("kernels")
class TestStarts:
    """Where chains begin."""

    @pytest.mark.parametrize("steps", [1, 50])
    def test_a_search_ends_after_so_many_changes(self, steps, monkeypatch):
        monkeypatch.setattr(_starts, "_LEAST_CHANGES", steps)
        monkeypatch.setattr(_starts, "_BLOCK", 10)
        differ = 1.0 - np.eye(2)
        ring = [((0, 1), differ), ((1, 2), differ), ((2, 0), differ)]
        field = read_field(as_problem([2] * 3, ring)[0])
        with pytest.raises(NumericalError, match="test needs states of positive probability"):
            possible_states(field, np.random.default_rng(0), 0, "test")

    def test_a_search_ends_where_there_is_no_choice(self):
        only_ones = np.array([0.0, 1.0])
        factors = [((0, 1), 1.0 - np.diag(only_ones)), ((0,), only_ones), ((1,), only_ones)]
        field = read_field(as_problem([2, 2], factors)[0])
        with pytest.raises(NumericalError, match="The evidence may be impossible"):
            possible_states(field, np.random.default_rng(0), 0, "test")

    @pytest.mark.parametrize("chain", [0, 1, 2])
    @pytest.mark.parametrize("seed", range(5))
    def test_they_are_possible(self, seed, chain):
        factors = some_factors(seed, zeros=0.5)
        field = read_field(as_problem(SIZES, factors)[0])
        states, cells = possible_states(field, np.random.default_rng(seed), chain, "test")
        assert oracle.weight(factors, states) > 0
        np.testing.assert_array_equal(cells, located(field, states))

    def test_the_first_two_chains_begin_at_both_ends(self):
        field = read_field(as_problem(SIZES, some_factors())[0])
        ends = [possible_states(field, np.random.default_rng(0), c, "t")[0] for c in range(2)]
        assert ends[0].tolist() == [0] * 6
        assert ends[1].tolist() == [k - 1 for k in SIZES]

    def test_looking_ahead_is_not_always_enough(self):
        # x0 = x1 = ... = x5 around a ring, but x5 = 0 is known by a factor that comes late:
        # the chain that begins with ones has to be repaired
        equal = np.eye(2)
        pairs = [((i, i + 1), equal) for i in range(5)]
        late = [((5, 6), np.array([[1.0, 1.0], [0.0, 0.0]]))]
        factors = [*pairs, *late]
        field = read_field(as_problem([2] * 7, factors)[0])
        states, _ = possible_states(field, np.random.default_rng(0), 1, "test")
        assert oracle.weight(factors, states) > 0
        assert states[:6].tolist() == [0] * 6


@pytest.mark.usefixtures("kernels")
class TestTrees:
    """Blocks that are drawn as a whole."""

    @pytest.mark.parametrize("zeros", [0.0, 0.4])
    @pytest.mark.parametrize("block", [[0, 1], [1, 2, 5], [0, 2, 4, 5], [3], [3, 4, 5]])
    def test_beliefs_of_a_block_are_those_given_all_others(self, block, zeros):
        factors = some_factors(seed=3, zeros=zeros)
        problem, _ = as_problem(SIZES, factors)
        field = read_field(problem)
        rng = np.random.default_rng(2)
        states, cells = possible_states(field, rng, 2, "test")
        forests = named_blocks(field, problem, [block], "test")
        lengths = Lengths(draws=4, burn_in=0, thin=1, chains=1)
        walker = Walker(field, forests, rng, states, cells, lengths.record(field))
        first = lengths.plan(field, turns(4, forests))[:1]
        before = states.tolist()
        walker.advance(np.ones(2), first)
        wanted = oracle.block_marginals(SIZES, factors, before, block)
        for v, p in zip(block, wanted, strict=True):
            got = walker.record.sums[0, field.start[v] : field.start[v + 1]]
            np.testing.assert_allclose(got, p, rtol=1e-12, atol=1e-15)
        assert oracle.weight(factors, walker.states) > 0
        np.testing.assert_array_equal(walker.cells, located(field, walker.states))

    def test_a_parent_may_rule_out_all_states_of_its_child(self):
        factors = [((0, 1), np.array([[0.0, 2.0], [1.0, 1.0]])), ((1, 2), np.eye(2))]
        factors.append(((2,), np.array([1.0, 0.0])))
        problem, _ = as_problem([2] * 3, factors)
        found = run_gibbs(problem, draws=4, chains=1, burn_in=0, blocks=[[0, 1]], log_z=None)
        assert set(np.unique(found.joints.traces[0][:, 0])) == {1}

    def test_a_block_with_a_cycle_is_refused(self):
        problem, _ = as_problem(SIZES, some_factors())
        with pytest.raises(InputError, match="Those of 0, 1, 2 close one through"):
            named_blocks(read_field(problem), problem, [[0, 1, 2]], "test")

    def test_lonely_variables_are_one_block(self):
        forests = tree_blocks(read_field(as_problem(SIZES, [])[0]))
        assert forests.part_start.tolist() == [0, 1]
        assert forests.roots.tolist() == list(range(6))

    def test_all_blocks_of_all_partitions_are_trees(self):
        rng = np.random.default_rng(0)
        for _ in range(10):
            n = 12
            scopes = [tuple(rng.permutation(n)[: rng.integers(2, 4)].tolist()) for _ in range(14)]
            factors = some_factors(sizes=[2] * n, scopes=scopes)
            field = read_field(as_problem([2] * n, factors)[0])
            forests = tree_blocks(field)
            n_partitions = len(forests.part_start) - 1
            assert sorted(forests.member.tolist()) == sorted(list(range(n)) * n_partitions)
            for b in range(len(forests.of_block) - 1):
                low, high = forests.of_block[b, 0], forests.of_block[b + 1, 0]
                assert is_forest(scopes, set(forests.member[low:high].tolist()))


def is_forest(scopes, block):
    """Whether variables of a block and factors of two or more of them close no cycle."""
    different = {frozenset(scope) for scope in scopes}
    edges = [scope & block for scope in different if len(scope & block) > 1]
    trees = {v: {v} for v in block}
    for edge in edges:
        met = [trees[v] for v in sorted(edge)]
        if any(a is b for i, a in enumerate(met) for b in met[:i]):
            return False
        union = set().union(*met)
        for v in union:
            trees[v] = union
    return True


@pytest.mark.parametrize("blocks", [None, "trees"])
def test_whole_runs_are_the_same_compiled_and_plain(blocks, monkeypatch):
    problem, _ = as_problem(SIZES, some_factors(seed=5, zeros=0.3), {2: 0})
    run = {"draws": 24, "burn_in": 3, "chains": 2, "blocks": blocks}
    compiled = run_gibbs(problem, **run)
    plain_kernels(monkeypatch)
    plain = run_gibbs(problem, **run)
    np.testing.assert_array_equal(plain.beliefs.values, compiled.beliefs.values)
    assert plain.log_z == compiled.log_z
    for a, b in zip(plain.joints.traces, compiled.joints.traces, strict=True):
        np.testing.assert_array_equal(a, b)
