"""What is read from an answer of loopy belief propagation, and how 'auto' comes to it."""

import itertools
import warnings

import numpy as np
import pytest
from tests.oracles import loopy as oracle

import credo
from credo.exceptions import (
    ApproximationWarning,
    BudgetError,
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


def twin_net(graph, seen=None, **settings):
    """The oracle with the factors of a graph."""
    place = {name: v for v, name in enumerate(graph.names)}
    factors = [
        (tuple(place[v.name] for v in factor.variables), oracle.logs_of(factor.values))
        for factor in graph.factors
    ]
    sizes = [len(variable.states) for variable in graph.variables]
    return oracle.Net(sizes, oracle.observe(factors, seen or {}), **settings)


class TestJoints:
    """Joint beliefs of variables that a factor holds."""

    def test_axes_come_in_the_order_asked_for(self, ring):
        post = loopy(ring)
        table = post.joint(["c", "a", "b"]).table
        assert table.shape == (2, 2, 3)
        for order in itertools.permutations(range(3)):
            names = ["cab"[i] for i in order]
            asked = post.joint(names)
            # each table is divided by its own sum, which is added up in another order
            np.testing.assert_array_max_ulp(asked.table, table.transpose(order), maxulp=2)
            assert asked.variables == tuple(names)

    def test_a_factor_is_summed_over_the_variables_not_asked_for(self, ring):
        post = loopy(ring, tolerance=1e-12)
        whole = post.joint(["c", "a", "b"]).table
        np.testing.assert_allclose(post.joint(["c", "a"]).table, whole.sum(axis=2), atol=1e-12)
        np.testing.assert_allclose(post.joint(["a", "c"]).table, whole.sum(axis=2).T, atol=1e-12)

    def test_joints_are_the_beliefs_of_factors(self, ring):
        post, net = loopy(ring, tolerance=1e-13), twin_net(ring)
        assert net.settled()
        np.testing.assert_allclose(post.joint(["d", "c"]).table, net.joint(2).T, atol=1e-11)
        np.testing.assert_allclose(post.joint(["c", "a", "b"]).table, net.joint(4), atol=1e-11)

    def test_one_variable_is_its_marginal(self, ring):
        post = loopy(ring)
        np.testing.assert_array_equal(post.joint(["d"]).table, post.probabilities("d"))

    def test_observed_variables_may_be_among_them(self, ring):
        post, net = loopy(ring, {"c": "c1"}, tolerance=1e-13), twin_net(ring, {2: 1})
        assert net.settled()
        table = post.joint(["a", "c", "b"]).table
        assert table.shape == (2, 2, 3)
        assert (table[:, 0] == 0).all()
        assert table.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(table[:, 1].sum(axis=1), post.probabilities("a"), atol=1e-11)
        assert post.joint(["c"]).table.tolist() == [0.0, 1.0]
        # d is no neighbour of b, but c is observed: b alone is free
        far = post.joint(["c", "b"]).table
        np.testing.assert_array_equal(far[1], post.probabilities("b"))

    def test_all_observed_is_one_cell(self, ring):
        post = loopy(ring, {"a": "a1", "c": "c0"})
        table = post.joint(["a", "c"]).table
        assert table.tolist() == [[0.0, 0.0], [1.0, 0.0]]

    def test_variables_that_no_factor_holds_are_refused(self, ring):
        with pytest.raises(InputError, match=r"No table or region .* holds all of \['b', 'd'\]"):
            loopy(ring).joint(["b", "d"])
        with pytest.raises(InputError, match="or for an exact answer"):
            loopy(ring).joint(["a", "b", "c", "d"])

    def test_names_are_checked(self, ring):
        post = loopy(ring)
        with pytest.raises(LabelError, match="'e'"):
            post.joint(["a", "e"])
        with pytest.raises(InputError, match="twice"):
            post.joint(["a", "a"])
        with pytest.raises(InputError, match="must be a list of names"):
            post.joint("ab")

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

    def test_nodes_may_be_given_as_objects(self, ring):
        post = loopy(ring)
        by_name = post.message("a", "b").values
        np.testing.assert_array_equal(post.message(ring["a"], ring["b"]).values, by_name)

    def test_who_is_no_neighbour_hears_nothing(self, ring):
        post = loopy(ring)
        for one, two in (("b", "d"), ("a", "a"), ("a", "c")):
            with pytest.raises(InputError, match="not joined by a factor of the two alone"):
                post.message(one, two)
        with pytest.raises(InputError, match="not linked"):
            post.message("three", "d")
        with pytest.raises(InputError, match="both factors"):
            post.message("three", "ab")
        with pytest.raises(LabelError):
            post.message("a", "nobody")

    def test_observed_variables_send_none(self, ring):
        post = loopy(ring, {"a": "a0"})
        with pytest.raises(InputError, match="observed"):
            post.message("a", "b")
        with pytest.raises(InputError, match="observed"):
            post.message("three", "a")

    def test_where_several_factors_join_two_variables_the_factor_must_be_named(self):
        graph = credo.FactorGraph()
        a, b = graph.variable("a", 2), graph.variable("b", 2)
        graph.factor([a, b], [[2, 1], [1, 2]], name="one")
        graph.factor([b, a], [[3, 1], [1, 1]], name="two")
        post = loopy(graph)
        with pytest.raises(InputError, match="joined by 2 factors.*name the factor"):
            post.message("a", "b")
        assert post.message("one", "b").values.sum() == pytest.approx(1.0)


class TestNames:
    """Everything is found by its name."""

    def test_to_dict_has_every_variable_and_state(self, ring):
        post = loopy(ring, {"c": "c1"})
        told = post.to_dict()
        assert list(told) == list("abcd")
        assert list(told["d"]) == ["d0", "d1", "d2", "d3"]
        assert told["c"] == {"c0": 0.0, "c1": 1.0}
        for name in "abcd":
            assert list(told[name].values()) == post.probabilities(name).tolist()
            assert sum(told[name].values()) == pytest.approx(1.0)

    def test_a_posterior_by_name(self, ring):
        post = loopy(ring)
        np.testing.assert_allclose(post["b"].probabilities, post.probabilities("b"), rtol=1e-14)
        assert len(post) == 4
        assert "a" in post
        assert "z" not in post
        assert list(post) == list("abcd")
        assert repr(post) == "<GraphPosterior: 4 variables, 0 findings, loopy, CONVERGED>"

    def test_a_query_gives_only_what_was_asked_for(self, ring):
        whole, part = loopy(ring, {"d": "d0"}), loopy(ring, {"d": "d0"}, query=["b", "a"])
        assert part.variables == ("b", "a")
        assert list(part.to_dict()) == ["b", "a"]
        np.testing.assert_allclose(part.probabilities("b"), whole.probabilities("b"), atol=1e-8)
        with pytest.raises(InputError, match="'c' was not asked for"):
            part.probabilities("c")

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

    def test_the_model_is_not_changed(self, ring):
        before = [np.array(factor.values) for factor in ring.factors]
        loopy(ring, {"a": "a0"}, temperature=0.5, counting=0.7, momentum=0.5)
        for factor, values in zip(ring.factors, before, strict=True):
            np.testing.assert_array_equal(factor.values, values)


def test_markov_and_bayesian_networks_are_taken_as_they_are():
    rng = np.random.default_rng(3)
    net = credo.BayesianNetwork()
    for name in "abcd":
        net.variable(name, 2)
    net.cpt("a", table=[0.3, 0.7])
    net.cpt("b", given=["a"], table=rng.dirichlet([1, 1], 2))
    net.cpt("c", given=["a"], table=rng.dirichlet([1, 1], 2))
    net.cpt("d", given=["b", "c"], table=rng.dirichlet([1, 1], (2, 2)))
    post = loopy(net, {"d": 1})
    graph = twin_net(net, {3: 1})
    assert graph.settled()
    assert post.log_evidence == pytest.approx(graph.log_z() - np.log(2), abs=1e-8)
    for v, name in enumerate("abc"):
        np.testing.assert_allclose(post.probabilities(name), graph.belief(v), atol=1e-8)
    unseen = loopy(net)  # without evidence the marginals of ancestors are exact
    exact = credo.infer(net)
    np.testing.assert_allclose(unseen.probabilities("a"), exact.probabilities("a"), atol=1e-8)


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


def test_within_the_budget_the_answer_is_exact_and_nothing_is_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        post = credo.infer(grid(6, 0.3))
    assert post.status == "EXACT"
    assert isinstance(post, credo.inference.GraphPosterior)


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


def test_exact_means_exact():
    for method in ("exact", "junction_tree"):
        with pytest.raises(BudgetError, match="1MB"):
            credo.infer(grid(20, 0.2), method=method, budget="1MB")


def test_what_messages_cannot_do_is_an_error_in_place_of_an_estimate():
    model = grid(20, 0.2)
    with pytest.raises(BudgetError):
        credo.infer(model, jeffrey={0: [0.5, 0.5]}, budget="1MB")


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
