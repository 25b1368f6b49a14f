"""Budgets: refused before anything large is allocated, naming the largest clique."""

import numpy as np
import pytest
from tests.work import bytes_in

import credo
from credo.exceptions import BudgetError, InputError
from credo.graphs import BayesianNetwork, FactorGraph, MarkovNetwork, chain
from credo.inference.question import as_bytes, as_text


def grid(n):
    index = np.arange(n * n).reshape(n, n)
    edges = np.concatenate(
        [
            np.column_stack([index[:, :-1].ravel(), index[:, 1:].ravel()]),
            np.column_stack([index[:-1].ravel(), index[1:].ravel()]),
        ]
    )
    return MarkovNetwork.from_arrays(np.ones((n * n, 2)), edges, np.ones((2, 2)))


def complete(n):
    graph = FactorGraph()
    for i in range(n):
        graph.variable(f"v{i}", 2)
    for i in range(n):
        for j in range(i):
            graph.factor([f"v{i}", f"v{j}"], np.ones((2, 2)))
    return graph


def refused(question):
    """Ask a question that must be refused; return the message and the peak of memory."""
    messages = []

    def ask():
        with pytest.raises(BudgetError) as caught:
            question()
        messages.append(str(caught.value))

    peak = bytes_in(ask)
    assert messages[0] == messages[1]
    return messages[0], peak


class TestRefusal:
    def test_a_large_grid_is_refused_before_anything_is_allocated(self):
        model = grid(60)
        model.compile()
        message, peak = refused(lambda: credo.infer(model, method="exact", effort=0.0))
        assert "largest clique has" in message
        assert "cells" in message
        assert peak < 60e6

    @pytest.mark.parametrize("budget", ["4GB", None, "1 TB"])
    def test_a_complete_graph_of_sixty_names_its_clique(self, budget):
        message, peak = refused(
            lambda: credo.infer(complete(60), method="exact", budget=budget, effort=0.0)
        )
        assert "60 variables and 2^60.0 cells" in message
        assert "'v0'" in message
        assert peak < 60e6

    def test_a_complete_graph_of_forty_needs_eight_terabytes(self):
        for question in (
            lambda: credo.infer(complete(40), method="exact", effort=0.0),
            lambda: credo.JunctionTree(complete(40), effort=0.0),
            lambda: credo.infer(complete(40), method="elimination"),
            lambda: credo.infer(complete(40), method="junction_tree", effort=0.0),
            lambda: credo.infer(complete(40), method="enumeration"),
        ):
            message, peak = refused(question)
            assert peak < 60e6
            assert "8.8 TB" in message or "17.6 TB" in message

    def test_the_message_offers_what_else_can_be_done(self):
        message, _ = refused(lambda: credo.infer(complete(40), method="exact", effort=0.0))
        for word in ("query", "evidence", "budget", "loopy"):
            assert word in message

    def test_is_a_memory_error_too(self):
        assert issubclass(BudgetError, MemoryError)

    def test_a_kilobyte_holds_a_hundred_and_twenty_five_cells(self):
        fits = chain([0.2] * 5, np.full((5, 5), 0.2), length=6)
        assert credo.infer(fits, budget="1kB", method="junction_tree").plan.n_bytes == 1000
        assert credo.infer(fits, budget=1000, method="junction_tree").status == "EXACT"
        larger = chain([0.2] * 5, np.full((5, 5), 0.2), length=7)
        with pytest.raises(BudgetError, match="1.2 kB.*the budget is 1kB"):
            credo.infer(larger, budget="1kB", method="junction_tree")
        with pytest.raises(BudgetError, match="budget is 1000"):
            credo.JunctionTree(fits, budget=1000)

    def test_a_joint_that_is_too_large_is_refused(self):
        post = credo.infer(chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=40))
        message, peak = refused(lambda: post.joint([f"x{i}" for i in range(40)]))
        assert message.startswith("joint needs")
        assert peak < 60e6

    def test_what_evidence_or_a_query_makes_small_is_answered(self):
        graph = complete(30)
        evidence = {f"v{i}": 0 for i in range(20)}
        assert credo.infer(graph, evidence, budget="1MB", effort=0.0).probabilities("v29")[0] == 0.5
        net = BayesianNetwork()
        for i in range(16):
            net.variable(i, 2)
            net.cpt(i, table=[0.5, 0.5])
        net.variable("sum", 2)
        net.cpt("sum", given=list(range(16)), table=np.full((2,) * 17, 0.5))
        assert credo.infer(net, query=[3], budget="1kB").probabilities(3)[0] == 0.5
        with pytest.raises(BudgetError):
            credo.infer(net, {"sum": 1}, query=[3], method="exact", budget="1kB")

    def test_a_sample_is_refused_too(self):
        net = BayesianNetwork()
        for i in range(16):
            net.variable(i, 2)
            net.cpt(i, table=[0.5, 0.5])
        net.variable("sum", 2)
        net.cpt("sum", given=list(range(16)), table=np.full((2,) * 17, 0.5))
        post = credo.infer(net, query=[3], budget="1kB")
        with pytest.raises(BudgetError, match="sample"):
            post.sample(1)


class TestWriting:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("4GB", 4e9),
            ("500 MiB", 500 * 2**20),
            (" 1.5kb ", 1500),
            ("12", 12),
            ("12 B", 12),
            ("2tb", 2e12),
            (7, 7),
            (2.5e9, 2.5e9),
            (np.int64(9), 9),
            (0, 0),
            (None, float("inf")),
            (float("inf"), float("inf")),
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
    @pytest.mark.parametrize("evidence", [{}, {"x0": 0, "x1": 0}], ids=["free", "all observed"])
    def test_is_checked_whatever_the_engine(self, method, evidence):
        model = chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=2)
        with pytest.raises(InputError, match="budget"):
            credo.infer(model, evidence, budget="lots", method=method)

    def test_sizes_are_written_for_people(self):
        assert [as_text(x) for x in (0, 12, 1200, 4.4e12, 1e18)] == [
            "0 B",
            "12 B",
            "1.2 kB",
            "4.4 TB",
            "1e+03 PB",
        ]
