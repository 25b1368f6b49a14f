"""Likelihood weighting: next to plain loops, to sums over everything, and to exact answers."""

import itertools
import math
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare
from tests.models import graph, sprinkler, star
from tests.oracles import draws as oracle
from tests.oracles.joint import Joint

import credo
from credo.exceptions import ConvergenceWarning, InputError, NumericalError
from credo.inference import samples

ALARM = Path(__file__).parents[4] / "shared" / "data" / "graphical" / "bif" / "alarm.bif.gz"


def sampled(net, evidence=None, **options):
    """The answer, whatever its draws are worth."""
    return credo.infer(net, evidence, method="samples", on_failure="return", **options)


def errors_of(post):
    """Standard errors by variable and state."""
    free = [v for v in post.question.wiring.names if post.question.observed[_index(post, v)] < 0]
    cells = [(v, s) for v in free for s in post.question.wiring.states[_index(post, v)]]
    return dict(zip(cells, post.details["standard_error"].tolist(), strict=True))


def _index(post, name):
    return post.question.wiring.index(name)


def gates():
    """Rules of every kind; the children are declared before their parents."""
    net = credo.BayesianNetwork()
    for name in ("fever", "runs", "size", "flu", "cold", "burn", "lazy"):
        net.variable(name, ["few", "some", "many"] if name == "size" else ["no", "yes"])
    causes = {"flu": 0.8, "cold": 0.5, "burn": 0.3, "lazy": 0.05}
    net.noisy_or("fever", causes, leak=0.02)
    net.noisy_and("runs", {"lazy": 0.9, "flu": 0.4, "cold": 0.3, "burn": 0.1}, leak=0.1)
    net.deterministic(
        "size", ["flu", "cold"], lambda a, b: ["few", "some", "many"][(a + b).count("yes")]
    )
    net.cpt("flu", table=[0.9, 0.1])
    net.cpt("cold", given=["flu"], table=[[0.7, 0.3], [0.4, 0.6]])
    net.noisy_or("burn", {}, leak=0.25)
    net.noisy_and("lazy", {"burn": 0.5}, leak=0.5)
    return net


ASKED = {
    "nothing": (sprinkler, {}, {}),
    "a state": (sprinkler, {"wet": "yes"}, {}),
    "weights": (sprinkler, {}, {"wet": [0.25, 4.0], "rain": [3.0, 1.0]}),
    "a state and weights": (sprinkler, {"rain": "no"}, {"rain": [0.5, 0.1], "wet": [1.0, 0.0]}),
    "gates": (gates, {"fever": "yes", "size": {"few", "some"}}, {"runs": [1.0, 0.5]}),
    "gates alone": (gates, {}, {}),
    "all but one": (sprinkler, {"rain": "no", "wet": "yes"}, {}),
    "everything": (sprinkler, {"rain": "no", "sprinkler": "yes", "wet": "yes"}, {}),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("block", [2**20, 100])
def test_draws_and_their_weights_are_those_of_plain_loops(asked, block, monkeypatch):
    make, evidence, likelihood = ASKED[asked]
    net = make()
    monkeypatch.setattr(samples, "_BLOCK", block)
    post = sampled(net, evidence, likelihood=likelihood, draws=300, seed=7)
    rng, n, drawn = np.random.default_rng(7), len(net), []
    weights = oracle.weights_of(net, evidence, likelihood)
    for size in [300] if block > 300 * n else [block // n] * (300 // (block // n)):
        drawn += [oracle.draw(net, weights, u) for u in rng.random((n, size)).T]
    left = 300 - len(drawn)
    drawn += [oracle.draw(net, weights, u) for u in rng.random((n, left)).T]
    marginals, errors, worth, log_z, spread = oracle.estimate(drawn, net)
    for (name, state), p in marginals.items():
        assert post[name][state] == pytest.approx(p, rel=1e-12, abs=1e-15)
    for cell, error in errors_of(post).items():
        assert error == pytest.approx(errors[cell], rel=1e-9)
    assert post.details["effective_sample_size"] == pytest.approx(worth, rel=1e-12)
    assert post.log_evidence == pytest.approx(log_z, rel=1e-12, abs=1e-14)
    assert post.details["log_z_standard_error"] == pytest.approx(spread, rel=1e-6, abs=1e-7)
    for pair in itertools.permutations(net.names, 2):
        joint = post.joint(*pair)
        total = sum(w for _, w in drawn)
        for cell in itertools.product(*(net[name].states for name in pair)):
            hits = (w for x, w in drawn if x and tuple(x[name] for name in pair) == cell)
            expected = sum(hits) / total
            assert joint[dict(zip(pair, cell, strict=True))] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("asked", [name for name in ASKED if name != "everything"])
def test_errors_are_as_large_as_they_are_said_to_be(asked):
    make, evidence, likelihood = ASKED[asked]
    net, runs, n = make(), 60, 2000
    joint = Joint.of(net).given(evidence, likelihood)
    spreads, worth = oracle.spread_of(net, oracle.weights_of(net, evidence, likelihood))
    posts = [
        sampled(net, evidence, likelihood=likelihood, draws=n, seed=seed) for seed in range(runs)
    ]
    for name in net.names:
        truth = dict(zip(net[name].states, joint.marginal(name), strict=True))
        for state, p in truth.items():
            off = np.array([post[name][state] - p for post in posts])
            exact = spreads[name, state] / math.sqrt(n)
            assert np.abs(off).max() <= 5 * exact + 1e-12
            # the spread of 60 runs is known to one part in eleven
            assert np.sqrt(np.mean(off**2)) == pytest.approx(exact, rel=0.4, abs=1e-12)
            if name in evidence and not isinstance(evidence[name], set):
                continue
            said = np.array([errors_of(post)[name, state] for post in posts])
            floor = [1 / post.details["effective_sample_size"] for post in posts]
            np.testing.assert_allclose(said, np.maximum(exact, floor), rtol=0.35)
    log_off = [post.log_evidence - float(joint.log_sum) for post in posts]
    said = np.mean([post.details["log_z_standard_error"] for post in posts])
    assert np.sqrt(np.mean(np.square(log_off))) == pytest.approx(said, rel=0.4, abs=1e-12)
    found = np.mean([post.details["effective_sample_size"] for post in posts])
    assert found == pytest.approx(worth * n, rel=0.05)


@pytest.mark.skipif(not ALARM.exists(), reason="the network of Beinlich and others is not here")
@pytest.mark.parametrize("seed", range(4))
def test_ten_thousand_draws_of_alarm_are_within_five_standard_errors(seed):
    net = credo.read_network(ALARM)
    shown = ["HRBP", "HREKG", "HRSAT", "CVP", "PCWP", "HISTORY", "TPR", "EXPCO2", "MINVOL", "PAP"]
    case = {name: states[0] for name, states in net.sample(1, random_state=seed).items()}
    evidence = {name: case[name] for name in shown[seed : seed + 4]}
    post, exact = sampled(net, evidence, seed=seed), credo.infer(net, evidence)
    assert post.details["effective_sample_size"] > 100
    for (name, state), error in errors_of(post).items():
        assert abs(post[name][state] - exact[name][state]) <= 5 * error
    off = post.log_evidence - exact.log_evidence
    assert abs(off) <= 5 * post.details["log_z_standard_error"]


class TestWhatIsSaid:
    @pytest.mark.parametrize("asked", ASKED)
    def test_nothing_is_ever_called_exact(self, asked):
        make, evidence, likelihood = ASKED[asked]
        post = sampled(make(), evidence, likelihood=likelihood, draws=50)
        assert (post.status, post.log_evidence_is) == ("SAMPLED", "ESTIMATE")
        assert (post.engine, post.plan, post.details["draws"]) == ("samples", None, 50)
        assert (post.details["standard_error"] >= 1 / 50 - 1e-12).all()

    def test_draws_without_evidence_all_count(self):
        post = credo.infer(sprinkler(), method="forward-sampling", draws=1234)
        assert post.details["effective_sample_size"] == pytest.approx(1234, rel=1e-12)
        assert (post.log_evidence, post.details["log_z_standard_error"]) == (0.0, 0.0)

    def test_draws_that_are_worth_little_are_warned_of_with_a_remedy(self):
        net, seen = star(6, 0.999), {f"leaf{i}": i % 2 for i in range(6)}
        seen |= {"leaf0": 1}
        with pytest.warns(ConvergenceWarning, match=r"its 90 draws are worth \d\d.*another method"):
            credo.infer(net, seen, method="samples", draws=90)
        with pytest.raises(NumericalError, match="worth 12 independent .*as large as 0.14"):
            credo.infer(net, method="samples", draws=12, on_failure="raise")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            credo.infer(net, method="samples", draws=100)
            sampled(net, draws=12)

    def test_evidence_that_no_draw_agrees_with_is_refused(self):
        net = sprinkler().replace({"wet": [[[1.0, 0.0], [1.0, 0.0]]] * 2})
        with pytest.raises(NumericalError, match="none of the 500 draws .* exact method"):
            sampled(net, {"wet": "yes"}, draws=500)
        with pytest.raises(NumericalError, match="none of the 9 draws"):
            sampled(sprinkler(), {"wet": "yes"}, likelihood={"wet": [1.0, 0.0]}, draws=9)

    @pytest.mark.parametrize("kind", ["MarkovNetwork", "FactorGraph"])
    def test_models_without_parents_are_refused_with_a_remedy(self, kind):
        model = graph("ab", ("ab", [[1, 2], [3, 4]]))
        if kind == "MarkovNetwork":
            model = credo.MarkovNetwork.from_arrays(np.ones((2, 2)), [[0, 1]], np.ones((2, 2)))
        with pytest.raises(InputError, match=f"needs a BayesianNetwork. Got a {kind}; use .*gibbs"):
            sampled(model)

    @pytest.mark.parametrize("draws", [0, -1, 2.5, "many"])
    def test_draws_are_a_positive_number(self, draws):
        with pytest.raises(InputError, match="draws of method='samples'"):
            sampled(sprinkler(), draws=draws)

    def test_a_callback_hears_of_blocks(self, monkeypatch):
        monkeypatch.setattr(samples, "_BLOCK", 300)
        heard = []
        post = sampled(sprinkler(), draws=250, callback=lambda *each: heard.append(each))
        assert [number for number, _ in heard] == [100, 200, 250]
        assert [residual for _, residual in heard] == post.residuals.tolist()
        assert heard[-1][1] < heard[0][1] <= 1


def test_weights_far_below_the_least_float_are_no_trouble():
    net, seen = star(3000, 0.7), {f"leaf{i}": int(i % 10 < 3) for i in range(3000)}
    post, exact = sampled(net, seen, draws=200), credo.infer(net, seen)
    assert exact.log_evidence < -1000
    assert post["centre"][0] == pytest.approx(1.0)
    assert post.log_evidence == pytest.approx(exact.log_evidence, abs=0.5)


def test_weights_of_any_size_are_only_ratios():
    small, large = (
        sampled(sprinkler(), likelihood={"wet": [0.2 * scale, scale]}, draws=100)
        for scale in (1e-300, 1.7e308)
    )
    assert small["rain"]["yes"] == pytest.approx(large["rain"]["yes"])
    gap = large.log_evidence - small.log_evidence
    assert gap == pytest.approx(math.log(1.7e8) + 600 * math.log(10))


def test_memory_does_not_grow_with_the_draws(monkeypatch):
    net, peaks = star(30), []
    monkeypatch.setattr(samples, "_BLOCK", 2**14)
    sampled(net, {"leaf0": 1}, draws=10)
    for draws in (1_000, 30_000):
        tracemalloc.start()
        post = sampled(net, {"leaf0": 1}, draws=draws)
        post.joint("centre", "leaf3")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def test_steps_in_time_share_their_table():
    rng, peaks = np.random.default_rng(0), []
    moves = rng.dirichlet(np.ones(60), 60)
    for length in (20, 400):
        net = credo.chain(np.full(60, 1 / 60), moves, length=length)
        net.compile()
        tracemalloc.start()
        net.sample(5, random_state=0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 20 * 60 * 60 * 8  # tables of all steps would take 20 times as much


class TestForwardDraws:
    """``BayesianNetwork.sample``."""

    def test_configurations_are_as_frequent_as_they_are_probable(self):
        net = gates()
        drawn, n = net.sample(20_000, random_state=1), 20_000
        assert list(drawn) == list(net.names)
        joint = Joint.of(net)
        places = [[net[v].states.index(x) for x in drawn[v]] for v in net.names]
        counts = np.zeros(joint.table.shape)
        np.add.at(counts, tuple(places), 1)
        expected = np.asarray(joint.table / joint.table.sum() * n, dtype=float)
        assert not counts[expected == 0].any()
        often = expected >= 5
        counts = np.append(counts[often], counts[~often].sum())
        expected = np.append(expected[often], expected[~often].sum())
        assert chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > 1e-4

    @pytest.mark.parametrize("make", [sprinkler, gates])
    def test_draws_are_those_of_plain_loops(self, make):
        net = make()
        u = np.random.default_rng(5).random((len(net), 40))
        drawn = net.sample(40, np.random.default_rng(5))
        for i in range(40):
            expected = oracle.draw(net, {}, u[:, i])[0]
            assert {name: states[i] for name, states in drawn.items()} == expected

    def test_seeds_repeat_draws_and_none_are_no_error(self):
        net = sprinkler()
        assert net.sample(9, 3) == net.sample(9, random_state=3) != net.sample(9, 4)
        assert net.sample(0) == {"rain": [], "sprinkler": [], "wet": []}
        assert credo.BayesianNetwork().sample(3) == {}

    def test_what_cannot_be_drawn_is_refused(self):
        net = credo.BayesianNetwork()
        net.variable("a", 2)
        with pytest.raises(InputError, match="'a' has no CPT"):
            net.sample(3)
        net.cpt("a", table=[0.5, 0.5])
        with pytest.raises(InputError, match="n of sample"):
            net.sample(-1)
        with pytest.raises(InputError, match="random_state of sample"):
            net.sample(1, random_state="x")
