"""Budgets: refused before anything large is allocated, naming the largest clique."""

import itertools

import numpy as np
import pytest
from tests.models import graph, steps
from tests.work import bytes_in

import credo
from credo.exceptions import BudgetError, InputError
from credo.graphs import BayesianNetwork, MarkovNetwork
from credo.inference.question import as_bytes, as_text


def grid(n):
    index = np.arange(n * n).reshape(n, n)
    across = np.column_stack([index[:, :-1].ravel(), index[:, 1:].ravel()])
    edges = np.concatenate([across, np.column_stack([index[:-1].ravel(), index[1:].ravel()])])
    return MarkovNetwork.from_arrays(np.ones((n * n, 2)), edges, np.ones((2, 2)))


def complete(n):
    pairs = itertools.combinations([f"v{i}" for i in range(n)], 2)
    return graph([f"v{i}" for i in range(n)], *[(pair, np.ones((2, 2))) for pair in pairs])


def gate(n=16):
    net = BayesianNetwork()
    for i in range(n):
        net.variable(i, 2)
        net.cpt(i, table=[0.5, 0.5])
    net.variable("sum", 2)
    net.cpt("sum", given=list(range(n)), table=np.full((2,) * (n + 1), 0.5))
    return net


def refused(question, *arguments, **options):
    """Ask a question that must be refused at little cost; return the message."""
    messages = []

    def ask():
        with pytest.raises(BudgetError) as caught:
            question(*arguments, **options)
        messages.append(str(caught.value))

    assert bytes_in(ask) < 60e6
    assert messages[0] == messages[1]
    return messages[0]


class TestRefusal:
    def test_a_large_grid_is_refused_before_anything_is_allocated(self):
        message = refused(credo.infer, grid(40), method="exact", effort=0.0)
        assert "largest clique has" in message
        assert "cells" in message

    @pytest.mark.parametrize("budget", ["4GB", None, "1 TB"])
    def test_a_complete_graph_of_sixty_names_its_clique(self, budget):
        message = refused(credo.infer, complete(60), method="exact", budget=budget, effort=0.0)
        assert "60 variables and 2^60.0 cells" in message
        assert "'v0'" in message

    def test_a_complete_graph_of_forty_needs_eight_terabytes(self):
        forty = complete(40)
        efforts = {"exact": 0.0, "elimination": 0.5, "junction_tree": 0.0, "enumeration": 0.5}
        said = [refused(credo.infer, forty, method=m, effort=e) for m, e in efforts.items()]
        assert all(word in said[0] for word in ("query", "evidence", "budget", "loopy"))
        for message in (*said, refused(credo.JunctionTree, forty, effort=0.0)):
            assert "8.8 TB" in message or "17.6 TB" in message

    def test_a_kilobyte_holds_a_hundred_and_twenty_five_cells(self):
        fits, larger = (steps(n, [0.2] * 5, np.full((5, 5), 0.2)) for n in (6, 7))
        assert credo.infer(fits, budget="1kB", method="junction_tree").plan.n_bytes == 1000
        assert credo.infer(fits, budget=1000, method="junction_tree").status == "EXACT"
        with pytest.raises(BudgetError, match="1.2 kB.*the budget is 1kB"):
            credo.infer(larger, budget="1kB", method="junction_tree")
        with pytest.raises(BudgetError, match="budget is 1000"):
            credo.JunctionTree(fits, budget=1000)

    def test_what_evidence_or_a_query_makes_small_is_answered(self):
        evidence = {f"v{i}": 0 for i in range(20)}
        post = credo.infer(complete(30), evidence, budget="1MB", effort=0.0)
        assert post.probabilities("v29")[0] == 0.5
        post = credo.infer(gate(), query=[3], budget="1kB")
        assert post.probabilities(3)[0] == 0.5
        with pytest.raises(BudgetError, match="sample"):
            post.sample(1)
        with pytest.raises(BudgetError):
            credo.infer(gate(), {"sum": 1}, query=[3], method="exact", budget="1kB")

    def test_trees_are_counted(self):
        plan = credo.plan(steps(5000))
        assert plan.engine == "tree"
        with pytest.raises(BudgetError, match="for messages and marginals; the budget is 1kB"):
            credo.infer(steps(5000), method="exact", budget="1kB")
        assert credo.infer(steps(5000), budget=plan.n_bytes)["x0"].is_single

    @pytest.mark.parametrize("seen", [0, 40])
    def test_joints_are_counted_of_observed_variables_too(self, seen):
        post = credo.infer(steps(40), {f"x{i}": 0 for i in range(seen)})
        assert refused(post.joint, [f"x{i}" for i in range(40)]).startswith("joint needs")
        with pytest.raises(InputError, match="joint needs"):
            credo.infer(steps(70), {f"x{i}": 0 for i in range(70)}).joint(steps(70).names)

    def test_draws_are_counted(self):
        post = credo.infer(steps(100), budget="1MB")
        with pytest.raises(BudgetError, match="sample needs 1.6 GB for 1000000 draws"):
            post.sample(1_000_000)

    def test_tables_that_factors_share_are_not_copied_before_the_check(self):
        k = 600
        ring = MarkovNetwork.from_arrays(
            np.full((3, k), 1.0 / k), [[0, 1], [1, 2], [2, 0]], np.full((k, k), 1.0)
        )
        ring.compile()

        def ask():
            with pytest.raises(BudgetError, match="The factors alone take 8.65 MB"):
                credo.infer(ring, budget="1MB", method="junction_tree")

        assert bytes_in(ask) < 2e6


class TestWriting:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            *[("4GB", 4e9), ("500 MiB", 500 * 2**20), (" 1.5kb ", 1500), ("12", 12), ("12 B", 12)],
            *[("2tb", 2e12), (7, 7), (2.5e9, 2.5e9), (np.int64(9), 9), (0, 0)],
            *[(None, float("inf")), (float("inf"), float("inf"))],
        ],
    )
    def test_is_read(self, text, expected):
        assert as_bytes(text, "infer") == expected

    @pytest.mark.parametrize(
        "text",
        ["", "GB", "4 G", "-1GB", "1e9", "4GB!", "four", "1,5GB", -1, float("nan"), True, [1], {}],
        ids=repr,
    )
    def test_is_refused_where_it_makes_no_sense(self, text):
        with pytest.raises(InputError, match="budget of infer must be bytes or text"):
            as_bytes(text, "infer")

    @pytest.mark.parametrize(
        "method", ["auto", "junction_tree", "elimination", "enumeration", "tree"]
    )
    def test_is_checked_whatever_the_engine_and_the_evidence(self, method):
        for evidence in ({}, {"x0": 0, "x1": 0}):
            with pytest.raises(InputError, match="budget"):
                credo.infer(steps(2), evidence, budget="lots", method=method)

    def test_sizes_are_written_for_people(self):
        texts = {0: "0 B", 12: "12 B", 1200: "1.2 kB", 4.4e12: "4.4 TB", 1e18: "1e+03 PB"}
        assert [as_text(size) for size in texts] == list(texts.values())
