"""What is read from an answer of loopy belief propagation, and how 'auto' comes to it."""

import itertools
import warnings

import numpy as np
import pytest
from tests.oracles import loopy as oracle

import credo
from credo.exceptions import (
    ApproximationWarning,
    ImpossibleEvidence,
    InputError,
    LabelError,
)


def loopy(model, evidence=None, **options):
    return credo.infer(model, evidence, method="loopy", **options)


@pytest.fixture
def ring():
    """Four variables in a ring, two factors of three across, one of them named."""
    rng = np.random.default_rng(1)
    graph = credo.FactorGraph()
    for name, k in zip("abcd", (2, 3, 2, 4), strict=True):
        graph.variable(name, [f"{name}{i}" for i in range(k)])
    for one, two in ("ab", "bc", "cd", "da"):
        shape = len(graph[one].states), len(graph[two].states)
        graph.factor([one, two], 0.3 * rng.normal(size=shape), log=True, name=one + two)
    graph.factor(["c", "a", "b"], 0.3 * rng.normal(size=(2, 2, 3)), log=True, name="three")
    return graph


def twin_net(graph):
    """The oracle with the factors of a graph."""
    place = {name: v for v, name in enumerate(graph.names)}
    factors = [
        (tuple(place[v.name] for v in factor.variables), oracle.logs_of(factor.values))
        for factor in graph.factors
    ]
    sizes = [len(variable.states) for variable in graph.variables]
    return oracle.Net(sizes, factors)


class TestJoints:
    """Joint beliefs of variables that a factor holds."""

    def test_joints_are_the_beliefs_of_factors(self, ring):
        post, net = loopy(ring, tolerance=1e-13), twin_net(ring)
        assert net.settled()
        np.testing.assert_allclose(post.joint(["d", "c"]).table, net.joint(2).T, atol=1e-11)
        np.testing.assert_allclose(post.joint(["c", "a", "b"]).table, net.joint(4), atol=1e-11)
        summed = net.joint(4).sum(axis=2).T
        np.testing.assert_allclose(post.joint(["a", "c"]).table, summed, atol=1e-11)
        for order in itertools.permutations(range(3)):
            asked = post.joint(["cab"[i] for i in order])
            # each table is divided by its own sum, which is added up in another order
            table = post.joint(list("cab")).table.transpose(order)
            np.testing.assert_array_max_ulp(asked.table, table, maxulp=2)

    def test_observed_variables_may_be_among_them(self, ring):
        post = loopy(ring, {"c": "c1"}, tolerance=1e-13)
        table = post.joint(["a", "c", "b"]).table
        assert table.shape == (2, 2, 3)
        assert (table[:, 0] == 0).all()
        assert table.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(table[:, 1].sum(axis=1), post.probabilities("a"), atol=1e-11)
        assert post.joint(["c"]).table.tolist() == [0.0, 1.0]
        # d is no neighbour of b, but c is observed: b alone is free
        far = post.joint(["c", "b"]).table
        np.testing.assert_array_equal(far[1], post.probabilities("b"))
        both = loopy(ring, {"a": "a1", "c": "c0"}).joint(["a", "c"]).table
        assert both.tolist() == [[0.0, 0.0], [1.0, 0.0]]

    @pytest.mark.parametrize(
        ("names", "error", "words"),
        [
            (["b", "d"], InputError, r"No table or region .* holds all of \['b', 'd'\]"),
            (["a", "b", "c", "d"], InputError, "or for an exact answer"),
            (["a", "e"], LabelError, "'e'"),
            ("ab", InputError, "must be a list of names"),
        ],
    )
    def test_others_are_refused(self, ring, names, error, words):
        with pytest.raises(error, match=words):
            loopy(ring).joint(names)

    def test_at_temperature_zero_they_are_scaled_maxima(self):
        table = np.random.default_rng(0).random((2, 3, 2))
        graph = credo.FactorGraph()
        for name, k in zip("abc", table.shape, strict=True):
            graph.variable(name, k)
        graph.factor(list("abc"), table)
        post = loopy(graph, temperature=0)
        np.testing.assert_allclose(post.joint(list("abc")).table, table / table.sum())
        pair = table.max(axis=2)
        np.testing.assert_allclose(post.joint(["a", "b"]).table, pair / pair.sum())


class TestMessages:
    """Messages by the names of the nodes."""

    def test_from_variable_to_variable(self, ring):
        post, net = loopy(ring, schedule="flooding", momentum=1.0), twin_net(ring)
        net.sweeps(post.sweeps)
        for f, (one, two) in enumerate([(0, 1), (1, 2), (2, 3), (3, 0)]):
            for source, target in ((one, two), (two, one)):
                message = post.message("abcd"[source], "abcd"[target])
                expected = np.exp(net.messages[f, target])
                np.testing.assert_allclose(message.values, expected, atol=1e-10)
                assert message.values.sum() == pytest.approx(1.0)
                assert (message.source, message.target) == ("abcd"[source], "abcd"[target])
                assert message.states == tuple(ring["abcd"[target]].states)
                by_node = post.message(ring["abcd"[source]], ring["abcd"[target]])
                np.testing.assert_array_equal(by_node.values, message.values)

    def test_from_factor_to_variable_and_back(self, ring):
        post, net = loopy(ring, schedule="flooding", momentum=1.0), twin_net(ring)
        net.sweeps(post.sweeps)
        for v in (0, 1, 2):
            out = post.message("three", "abcd"[v])
            np.testing.assert_allclose(out.values, np.exp(net.messages[4, v]), atol=1e-10)
            back = post.message("abcd"[v], "three")
            expected = np.exp(oracle.scaled(net.heard(v, 4)))
            np.testing.assert_allclose(back.values, expected, atol=1e-10)
            assert out.states == back.states == tuple(ring["abcd"[v]].states)
            belief = out.values * back.values
            np.testing.assert_allclose(
                belief / belief.sum(), post.probabilities("abcd"[v]), atol=1e-10
            )

    @pytest.mark.parametrize(
        ("seen", "source", "target", "error", "words"),
        [
            ({}, "b", "d", InputError, "not joined by a factor of the two alone"),
            ({}, "a", "a", InputError, "not joined by a factor of the two alone"),
            ({}, "a", "c", InputError, "not joined by a factor of the two alone"),
            ({}, "three", "d", InputError, "not linked"),
            ({}, "three", "ab", InputError, "both factors"),
            ({}, "a", "nobody", LabelError, "nobody"),
            ({"a": "a0"}, "a", "b", InputError, "observed"),
            ({"a": "a0"}, "three", "a", InputError, "observed"),
        ],
    )
    def test_who_does_not_talk_is_told(self, ring, seen, source, target, error, words):
        with pytest.raises(error, match=words):
            loopy(ring, seen).message(source, target)

    def test_where_several_factors_join_two_variables_the_factor_must_be_named(self):
        graph = credo.FactorGraph()
        a, b = graph.variable("a", 2), graph.variable("b", 2)
        graph.factor([a, b], [[2, 1], [1, 2]], name="one")
        graph.factor([b, a], [[3, 1], [1, 1]], name="two")
        post = loopy(graph)
        with pytest.raises(InputError, match="joined by 2 factors.*name the factor"):
            post.message("a", "b")
        assert post.message("one", "b").values.sum() == pytest.approx(1.0)


class TestRuns:
    """What is said of a run."""

    def test_a_query_leaves_children_out_that_nobody_needs(self):
        net = credo.BayesianNetwork()
        for name in "abc":
            net.variable(name, 2)
        net.cpt("a", table=[0.3, 0.7])
        net.cpt("b", given=["a"], table=[[0.9, 0.1], [0.2, 0.8]])
        net.cpt("c", given=["b"], table=[[0.5, 0.5], [0.1, 0.9]])
        post = loopy(net, {"a": 1}, query=["b"])
        assert post.probabilities("b").tolist() == pytest.approx([0.2, 0.8])
        assert post.updates == 0
        assert post.log_evidence == pytest.approx(np.log(0.7))

    def test_what_ran_is_told(self, ring):
        post = loopy(ring, momentum=0.7, schedule="sequential")
        assert (post.engine, post.why) == ("loopy", ())
        assert dict(post.details) == {"schedule": "sequential", "momentum": 0.7}
        assert loopy(ring).details["schedule"] == "residual"
        assert post.free_energy == -post.log_evidence

    def test_answers_cannot_be_written_to(self, ring):
        post = loopy(ring)
        for array in (post.residuals, post.probabilities("a"), post.message("a", "b").values):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0.0


def grid(side, coupling, *, mixed=False, field=0.1, seed=0):
    """A square field of two-state variables; couplings all attract, or half of them repel."""
    rng = np.random.default_rng(seed)
    site = np.arange(side**2).reshape(side, side)
    across = np.column_stack([site[:, :-1].ravel(), site[:, 1:].ravel()])
    down = np.column_stack([site[:-1].ravel(), site[1:].ravel()])
    edges = np.vstack([across, down])
    signs = rng.choice([-1.0, 1.0], len(edges)) if mixed else np.ones(len(edges))
    tables = coupling * signs[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    pulls = field * rng.normal(size=side**2)
    potentials = np.column_stack([-pulls, pulls])
    return credo.MarkovNetwork.from_arrays(potentials, edges, tables, log=True)


def test_too_wide_a_graph_is_answered_by_messages_with_a_warning():
    model = grid(14, 0.2)
    with pytest.warns(ApproximationWarning, match="engine 'loopy', CONVERGED") as caught:
        post = credo.infer(model, budget="100kB")
    assert caught[0].filename == __file__
    assert "method='exact'" in str(caught[0].message)
    assert (post.engine, post.status, post.log_evidence_is) == ("loopy", "CONVERGED", "ESTIMATE")
    assert post.why[0].startswith("no exact engine fits")
    assert post.why[1] == "loopy belief propagation with adaptive damping"
    exact = credo.infer(model)
    gap = max(
        np.abs(post.probabilities(v) - exact.probabilities(v)).max() for v in range(0, 196, 7)
    )
    assert gap < 0.01  # weak couplings
    assert post.log_evidence == pytest.approx(exact.log_evidence, rel=5e-3)
    assert post.log_evidence < exact.log_evidence  # all pairs attract: Bethe's is a lower bound


def test_where_messages_do_not_settle_regions_are_next():
    model = grid(10, 1.5, mixed=True)
    options = {"method": "loopy", "momentum": "adaptive", "on_failure": "return"}
    assert credo.infer(model, **options).status != "CONVERGED"
    with pytest.warns(ApproximationWarning, match="engine '(generalised|double_loop)'"):
        post = credo.infer(model, budget="10kB")
    assert post.engine in ("generalised", "double_loop")
    assert post.why[1].startswith("loopy belief propagation with adaptive damping ended as ")
    assert post.why[2].startswith("generalised belief propagation on regions")
    assert post.status == "CONVERGED"
    exact = credo.infer(model)
    assert post.log_evidence == pytest.approx(exact.log_evidence, rel=0.02)


def test_evidence_may_make_an_exact_engine_fit():
    model, side = grid(20, 0.2), 20
    cut = {v: 1 for v in range(side**2) if (v // side) % 3 == 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert credo.infer(model, cut, budget="1MB").status == "EXACT"


def test_impossible_evidence_is_an_error_here_too():
    model = credo.FactorGraph()
    side = 14
    for v in range(side**2):
        model.variable(v, 2)
    for v in range(side**2):
        if v % side < side - 1:
            model.factor([v, v + 1], [[1, 0], [0, 1]] if v == 0 else [[2, 1], [1, 2]])
        if v < side * (side - 1):
            model.factor([v, v + side], [[2, 1], [1, 2]])
    with pytest.raises(ImpossibleEvidence) as caught:
        credo.infer(model, {0: 0, 1: 1}, budget="10kB")
    assert caught.value.conflict == {0: 0, 1: 1}
