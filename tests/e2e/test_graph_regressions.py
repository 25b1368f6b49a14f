"""What went wrong in other libraries, and must not go wrong here."""

import math
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from tests.models import graph, sprinkler, star

import credo
from credo.exceptions import ImpossibleEvidence
from credo.formats.bif import read_bif
from credo.graphs import BayesianNetwork, chain
from credo.inference.maximum import mpe

METHODS = ["auto", "junction_tree", "elimination", "enumeration"]
every_method = pytest.mark.parametrize("method", METHODS)


def asia():
    """Lauritzen and Spiegelhalter's chest clinic."""
    net = BayesianNetwork()
    for name in ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"):
        net.variable(name, ["yes", "no"])
    net.cpt("asia", table=[0.01, 0.99])
    net.cpt("tub", given=["asia"], table=[[0.05, 0.95], [0.01, 0.99]])
    net.cpt("smoke", table=[0.5, 0.5])
    net.cpt("lung", given=["smoke"], table=[[0.1, 0.9], [0.01, 0.99]])
    net.cpt("bronc", given=["smoke"], table=[[0.6, 0.4], [0.3, 0.7]])
    sure = [1.0, 0.0]
    net.cpt("either", given=["lung", "tub"], table=[[sure, sure], [sure, [0.0, 1.0]]])
    net.cpt("xray", given=["either"], table=[[0.98, 0.02], [0.05, 0.95]])
    net.cpt(
        "dysp",
        given=["bronc", "either"],
        table=[[[0.9, 0.1], [0.8, 0.2]], [[0.7, 0.3], [0.1, 0.9]]],
    )
    return net


class TestEqualFactors:
    @every_method
    @pytest.mark.parametrize(("k", "expected"), [(0, 0.5), (1, 0.1), (2, 1 / 82), (3, 1 / 730)])
    def test_identical_children_all_count(self, method, k, expected):
        """Kept in a set, equal factors are one; each child then moves the posterior no further."""
        evidence = {f"leaf{i}": 0 for i in range(k)}
        post = credo.infer(star(3, right=0.9), evidence, method=method)
        assert post["centre"][1] == pytest.approx(expected, rel=1e-13)

    @every_method
    def test_equal_tables_on_different_edges_all_count(self, method):
        table = np.array([[2.0, 1.0], [1.0, 3.0]])
        model = graph("abc", ("ab", table), ("ac", table))
        post = credo.infer(model, method=method)
        np.testing.assert_allclose(post.probabilities("a"), [9 / 25, 16 / 25], rtol=1e-13)
        assert post.log_evidence == pytest.approx(math.log(25), rel=1e-13)


class TestMostProbable:
    def test_the_best_configuration_need_not_hold_the_best_states(self):
        model = graph("ab", ("ab", [[0.0, 3.0], [2.0, 2.0]]))
        assert credo.infer(model).probabilities("a").argmax() == 1
        assert dict(mpe(model).states) == {"a": 0, "b": 1}

    def test_a_long_hidden_chain_is_decoded_without_underflow(self):
        rng = np.random.default_rng(0)
        move, show = [[0.95, 0.05], [0.1, 0.9]], np.array([[0.7, 0.3], [0.2, 0.8]])
        seen = rng.integers(0, 2, size=200)
        best = mpe(chain([0.5, 0.5], move, emission=show, observations=seen))
        score, back = np.log([0.5, 0.5]) + np.log(show[:, seen[0]]), []
        for symbol in seen[1:]:
            ways = score[:, None] + np.log(move)
            back.append(ways.argmax(axis=0))
            score = ways.max(axis=0) + np.log(show[:, symbol])
        path = [int(score.argmax())]
        for step in reversed(back):
            path.append(int(step[path[-1]]))
        assert [best.states[f"x{t}"] for t in range(200)] == path[::-1]
        assert best.log_score == pytest.approx(score.max(), rel=1e-12)


class TestImpossibleEvidence:
    @every_method
    def test_is_named_in_the_chest_clinic(self, method):
        evidence = {"smoke": "yes", "either": "yes", "lung": "no", "tub": "no"}
        with pytest.raises(ImpossibleEvidence, match="probability zero") as caught:
            credo.infer(asia(), evidence, method=method)
        assert caught.value.conflict == {"either": "yes", "lung": "no", "tub": "no"}

    def test_the_clinic_gives_the_published_numbers(self):
        post = credo.infer(asia())
        assert post["dysp"]["yes"] == pytest.approx(0.4359706, abs=1e-7)
        assert post["xray"]["yes"] == pytest.approx(0.11029004, abs=1e-8)


class TestCost:
    def test_a_chain_of_twenty_needs_memory_that_is_linear(self):
        """5 ** 20 cells would be seven hundred thousand gigabytes."""
        model = chain([0.2] * 5, np.full((5, 5), 0.2), length=20)
        plan = credo.plan(model)
        assert (plan.width, plan.n_bytes) == (1, 8 * 19 * 25)
        credo.infer(model, {"x19": 0})
        tracemalloc.start()
        credo.infer(model, {"x19": 0})
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1e6


class TestSoftEvidence:
    def test_leaves_later_questions_alone(self):
        net = asia()
        tree = credo.JunctionTree(net)
        before, from_tree = credo.infer(net).to_dict(), tree.infer().to_dict()
        for question in ({"likelihood": {"smoke": [3.0, 1.0]}}, {"jeffrey": {"xray": [0.8, 0.2]}}):
            changed = credo.infer(net, **question).to_dict()
            assert changed["lung"] != before["lung"]
            tree.infer(**question)
        assert credo.infer(net).to_dict() == before
        assert tree.infer().to_dict() == from_tree


class TestFiles:
    CANCER = """network unknown {{
}}
variable Pollution {{
  type discrete [ 2 ] {{ low, high }};
}}
variable Smoker {{
  type discrete [ 2 ] {{ True, False }};
}}
variable Cancer {{
  type discrete [ 2 ] {{ True, False }};
}}
probability ( Pollution ) {{
  table 0.9, 0.1;
}}
probability ( Smoker ) {{
  table 0.3, 0.7;
}}
probability ( Cancer | Pollution, Smoker ) {{
{rows}
}}
"""
    ROWS = (
        "  (low, True) 0.03, 0.97;",
        "  (high, True) 0.05, 0.95;",
        "  (low, False) 0.001, 0.999;",
        "  (high, False) 0.02, 0.98;",
    )

    def test_rows_in_any_order_are_the_same_network(self, tmp_path):
        answers = []
        for shift in range(4):
            rows = [*self.ROWS[shift:], *self.ROWS[:shift]]
            file = tmp_path / f"cancer{shift}.bif"
            file.write_text(self.CANCER.format(rows="\n".join(rows)), encoding="utf-8")
            answers.append(credo.infer(read_bif(file), {"Cancer": "True"}).to_dict())
        assert all(answer == answers[0] for answer in answers)
        cancer = 0.9 * (0.3 * 0.03 + 0.7 * 0.001) + 0.1 * (0.3 * 0.05 + 0.7 * 0.02)
        smoker = 0.3 * (0.9 * 0.03 + 0.1 * 0.05)
        assert answers[0]["Smoker"]["True"] == pytest.approx(smoker / cancer, rel=1e-13)

    def test_what_bnlearn_for_r_exports_is_read(self, tmp_path):
        """Names with dots, states that look like numbers, and numbers with exponents."""
        file = tmp_path / "r.bif"
        file.write_text(
            "network unknown {\n}\n"
            "variable A {\n  type discrete [ 2 ] { 0, 1e-05 };\n}\n"
            "variable B.x {\n  type discrete [ 3 ] { low, middle, high };\n}\n"
            "probability ( A ) {\n  table 0.3333333333333333, 0.6666666666666667;\n}\n"
            "probability ( B.x | A ) {\n"
            "  (0) 0.1, 0.2, 0.7;\n  (1e-05) 1e-05, 0.29999, 0.7;\n}\n",
            encoding="utf-8",
        )
        post = credo.infer(read_bif(file), {"B.x": "low"})
        odds = (0.6666666666666667 * 1e-05) / (0.3333333333333333 * 0.1)
        assert post["A"]["1e-05"] == pytest.approx(odds / (1 + odds), rel=1e-12)


class TestTheSprinkler:
    @every_method
    def test_the_grass_is_wet_on_647_days_of_a_thousand(self, method):
        net = BayesianNetwork()
        for name in ("cloudy", "sprinkler", "rain", "wet"):
            net.variable(name, [False, True])
        net.cpt("cloudy", table=[0.5, 0.5])
        net.cpt("sprinkler", given=["cloudy"], table=[[0.5, 0.5], [0.9, 0.1]])
        net.cpt("rain", given=["cloudy"], table=[[0.8, 0.2], [0.2, 0.8]])
        table = [[[1.0, 0.0], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]]
        net.cpt("wet", given=["sprinkler", "rain"], table=table)
        assert credo.infer(net, method=method)["wet"][True] == pytest.approx(0.6471, rel=1e-12)
        assert credo.infer(net, {"wet": True}, method=method)["sprinkler"][True] == pytest.approx(
            0.2781 / 0.6471, rel=1e-12
        )

    @every_method
    def test_it_rained_given_wet_grass_as_in_the_encyclopaedia(self, method):
        post = credo.infer(sprinkler(), {"wet": "yes"}, method=method)
        assert post["rain"]["yes"] == pytest.approx(0.16038 / 0.44838, rel=1e-12)


class TestDeterminism:
    SCRIPT = """
import numpy as np, credo
from credo.graphs import FactorGraph
rng = np.random.default_rng(3)
graph = FactorGraph()
names = [f"name{i}" for i in range(14)]
for name in names:
    graph.variable(name, ["low", "mid", "high"])
for _ in range(22):
    pair = [names[i] for i in rng.choice(14, size=2, replace=False)]
    graph.factor(pair, rng.random((3, 3)))
tree = credo.JunctionTree(graph)
print(tree.cliques, tree.parents, tree.separators)
weights = {"name5": {"high": 1, "low": 2, "mid": 3}}
post = credo.infer(graph, {"name3": {"low", "high"}}, likelihood=weights)
print(post.plan.order, [x.hex() for name in post for x in post.probabilities(name).tolist()])
print(post.joint(names[:3]).table.tolist(), post.log_evidence.hex())
print(post.sample(5, random_state=0))
"""

    def test_cliques_and_beliefs_are_the_same_under_two_hash_seeds(self):
        runs = [
            subprocess.Popen(
                [sys.executable, "-c", self.SCRIPT],
                env={**os.environ, "PYTHONHASHSEED": str(seed)},
                stdout=subprocess.PIPE,
                text=True,
            )
            for seed in range(2)
        ]
        printed = [run.communicate()[0] for run in runs]
        assert [run.returncode for run in runs] == [0, 0]
        assert "name13" in printed[0]
        assert set(printed) == {printed[0]}
