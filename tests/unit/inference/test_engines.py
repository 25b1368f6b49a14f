"""Every engine, on every kind of model and evidence, next to the joint table written out.

Only public names: what an engine says of itself (``status``, ``log_evidence_is``, ``is_exact``) is
what it is held to.
"""

import functools
import inspect
import itertools
import pickle  # noqa: TID251 - to send an answer to another process
import warnings

import numpy as np
import pytest
from tests.oracles.joint import Joint
from tests.properties.random_graphs import Case
from tests.properties.test_approximate_promises import LAWS
from tests.properties.test_exact_engines import check_exact

import credo
from credo.exceptions import (
    ApproximationWarning,
    BudgetError,
    CompilingWarning,
    ConvergenceWarning,
    ExpansionWarning,
    ImpossibleEvidence,
    InputError,
    LabelError,
    NumericalError,
    ShapeError,
)
from credo.inference.engines import (
    BOUNDS,
    ENGINES,
    MAXIMISERS,
    OPTIONS,
    ROW_ENGINES,
    check_options,
    lookup,
)

EXACT = ("auto", "exact", "junction_tree", "elimination", "enumeration", "tree")

APPROXIMATE = (
    "loopy",
    "tree_reweighted",
    "mean_field",
    "structured_mean_field",
    "generalised",
    "double_loop",
    "gibbs",
)

MAXIMA = ("auto", "junction_tree", "tree_reweighted", "loopy")
#: How far a belief may be off on these models if the engine says that it converged; 1 says nothing.
LOOSE = {"loopy": 0.35, "tree_reweighted": 0.5, "generalised": 0.1, "double_loop": 0.1}
PROMISED = {"lower": "LOWER_BOUND", "upper": "UPPER_BOUND"}


def network():
    """A Bayesian network with a loop and two zeros; its rows sum to one without rounding."""
    net = credo.BayesianNetwork()
    for name in ("rain", "sprinkler", "wet"):
        net.variable(name, ["no", "yes"])
    net.variable("road", ["dry", "damp", "flooded"])
    net.cpt("rain", table=[0.75, 0.25])
    net.cpt("sprinkler", given=["rain"], table=[[0.625, 0.375], [0.96875, 0.03125]])
    table = [[[1.0, 0.0], [0.25, 0.75]], [[0.125, 0.875], [0.03125, 0.96875]]]
    net.cpt("wet", given=["sprinkler", "rain"], table=table)
    net.cpt("road", given=["rain"], table=[[0.875, 0.125, 0.0], [0.125, 0.625, 0.25]])
    return net


def field():
    """A ring of four nodes, one of three states, with a pair that is not allowed."""
    net = credo.MarkovNetwork()
    net.node("a", 2, [1.0, 1.4])
    net.node("b", 3, [0.5, 1.0, 2.0])
    net.node("c", 2)
    net.node("d", 2, [2.0, 1.0])
    net.edge("a", "b", [[2.0, 1.0, 0.5], [0.25, 1.5, 3.0]])
    net.edge("b", "c", [[1.0, 0.5], [2.0, 0.0], [0.7, 1.1]])
    net.edge("c", "d", [[1.5, 0.8], [0.6, 1.2]])
    net.edge("d", "a", [[1.0, 2.0], [1.5, 0.5]])
    return net


def rules():
    """Every rule over six bits, and a function of two of them."""
    graph = credo.FactorGraph()
    weights = [[0.7, 0.3], [0.4, 0.6], [0.5, 0.5], [0.8, 0.3], [0.6, 0.5], [1.0, 2.0]]
    for i, each in enumerate(weights):
        graph.factor([graph.variable(i, 2)], each)
    size = graph.variable("size", ["few", "some", "many"])
    graph.parity([0, 1, 2, 3])
    graph.at_most_one([3, 4, 5])
    graph.noisy_or(5, {0: 0.8, 1: 0.3, 2: 0.5}, leak=0.1)
    graph.noisy_and(4, {1: 0.6, 2: 0.2}, leak=0.05)
    graph.deterministic(size, [0, 1], lambda *bits: ["few", "some", "many"][sum(bits)])
    return graph


def hidden_chain():
    """A hidden Markov model, nothing observed yet: a tree."""
    start, steps = {"calm": 0.625, "storm": 0.375}, [[0.875, 0.125], [0.25, 0.75]]
    symbols = [[0.75, 0.25, 0.0], [0.25, 0.25, 0.5]]
    return credo.chain(start, steps, length=3, emission=symbols)


def observed_chain():
    """The hidden states of a chain, given what was seen, which cannot go back."""
    emission, seen = [[0.7, 0.3], [0.2, 0.8]], [0, 1, 1, 0, 1]
    return credo.chain([0.6, 0.4], [[0.9, 0.1], [0, 1.0]], emission=emission, observations=seen)


MODELS = {
    "network": network,
    "field": field,
    "rules": rules,
    "hidden_chain": hidden_chain,
    "observed_chain": observed_chain,
}

TREES = ("hidden_chain", "observed_chain")

#: A state, several states, weights, a state and weights, of each model; then what cannot be true,
#: whose first two findings conflict.
SEEN = {
    "network": {
        "state": ({"wet": "yes"}, {}),
        "states": ({"road": {"damp", "flooded"}}, {}),
        "weights": ({}, {"wet": [0.1, 0.7], "road": [1, 2, 0.5]}),
        "both": ({"rain": {"no", "yes"}, "wet": "yes"}, {"wet": [0.5, 0.2], "sprinkler": [1, 3]}),
        "impossible": ({"rain": "no", "road": "flooded", "wet": "yes"}, {}),
    },
    "field": {
        "state": ({"a": 1}, {}),
        "states": ({"b": {0, 2}}, {}),
        "weights": ({}, {"c": [0.1, 0.7], "b": [1.0, 2.0, 3.0]}),
        "both": ({"a": 1}, {"a": [0.5, 0.2], "d": [1, 3]}),
        "impossible": ({"b": 1, "c": 1, "a": 0}, {}),
    },
    "rules": {
        "state": ({0: 1, 5: 1}, {}),
        "states": ({"size": {"few", "many"}}, {}),
        "weights": ({}, {1: [0.1, 0.7], "size": [1.0, 2.0, 3.0]}),
        "both": ({2: 1}, {2: [0.5, 0.2], 4: [1, 3]}),
        "impossible": ({4: 1, 5: 1, 0: 1}, {}),
    },
    "hidden_chain": {
        "state": ({"y0": 1, "y2": 2}, {}),
        "states": ({"y1": {0, 1}}, {}),
        "weights": ({}, {"x1": [0.1, 0.7], "y2": [1.0, 2.0, 3.0]}),
        "both": ({"x0": "calm"}, {"x0": [0.5, 0.2], "y1": [1, 3, 1]}),
        "impossible": ({"x1": "calm", "y1": 2, "y0": 0}, {}),
    },
    "observed_chain": {
        "state": ({"x0": 1}, {}),
        "states": ({"x2": {0, 1}}, {}),
        "weights": ({}, {"x1": [0.1, 0.7]}),
        "both": ({"x0": 0}, {"x0": [0.5, 0.2], "x4": [1, 3]}),
        "impossible": ({"x1": 1, "x3": 0, "x4": 1}, {}),
    },
}

POSSIBLE = ("nothing", "state", "states", "weights", "both", "everything")
every_model = pytest.mark.parametrize("kind", MODELS)
every_evidence = pytest.mark.parametrize("seen", POSSIBLE)


@functools.cache
def model_of(kind):
    """The model and its joint table; built once, since asking changes nothing."""
    model = MODELS[kind]()
    return model, Joint.of(model)


@functools.cache
def posed(kind, seen):
    """A model, its joint table, and evidence of a kind."""
    model, joint = model_of(kind)
    evidence, likelihood = SEEN[kind].get(seen, ({}, {}))
    if seen == "everything":
        evidence = joint.best()
    return Case(7, "usual", model, joint, kind in TREES, evidence, likelihood, 100.0)


def methods_on(kind, methods=EXACT):
    """The methods that can answer: one of them needs a tree."""
    return [method for method in methods if method != "tree" or kind in TREES]


def assert_refused(kind, ask):
    """The error names the two findings that conflict, and not the third."""
    evidence, _ = SEEN[kind]["impossible"]
    first, second, third = evidence
    with pytest.raises(ImpossibleEvidence, match="the evidence has probability zero") as caught:
        ask(evidence)
    assert caught.value.conflict == {first: evidence[first], second: evidence[second]}
    assert f"{first} = {evidence[first]}" in str(caught.value)
    assert f"{third} =" not in str(caught.value)


@every_model
class TestExactEngines:
    @every_evidence
    def test_marginals_and_evidence_are_those_of_the_joint_table(self, kind, seen):
        case = posed(kind, seen)
        for query in (None, [], case.names[1:2], case.names[::-2], list(case.evidence)):
            post = check_exact(case, query)
            assert post.probability_of_evidence == pytest.approx(np.exp(case.left.log_sum))
            for missing in (name for name in case.names if query is not None):
                if missing not in query:
                    assert missing not in post
                    with pytest.raises(InputError, match="was not asked for; query has"):
                        post.probabilities(missing)

    @every_evidence
    def test_pairs_and_triples_have_their_axes_in_the_order_asked_for(self, kind, seen):
        case = posed(kind, seen)
        post = credo.infer(case.model, **case.question)
        for names in (*itertools.permutations(case.names, 2), tuple(case.names[2::-1])):
            joint = post.joint(names)
            assert joint.variables == names
            np.testing.assert_allclose(joint.table, case.left.joint(names), atol=1e-9)

    def test_jeffreys_rule_keeps_what_goes_with_each_state(self, kind):
        case = posed(kind, "weights")
        model, left = case.model, case.left
        name = next(n for n in left.names if (left.marginal(n) > 0).sum() > 1)
        wanted = np.where(left.marginal(name) > 0, np.arange(len(left.marginal(name))) + 1.0, 0.0)
        wanted /= wanted.sum()
        asks = [functools.partial(credo.infer, model, method=m) for m in methods_on(kind)]
        for ask in (*asks, credo.JunctionTree(model).infer):
            post = ask(**case.question, jeffrey={name: wanted})
            moved = left.fitted({name: wanted})
            for n in left.names:
                np.testing.assert_allclose(post.probabilities(n), moved.marginal(n), atol=1e-9)
            assert post.log_evidence == pytest.approx(left.log_sum, abs=1e-9)  # of the findings
            with pytest.raises(InputError, match="must sum to one"):
                ask(jeffrey={name: 2.0 * wanted})


@pytest.mark.filterwarnings("ignore::credo.exceptions.ApproximationWarning")
@pytest.mark.filterwarnings("ignore::credo.exceptions.ExpansionWarning")
@every_model
@pytest.mark.parametrize("law", LAWS)
def test_every_promise_holds(kind, law):
    for seen in POSSIBLE:
        LAWS[law](posed(kind, seen))


@every_model
class TestApproximateEngines:
    @every_evidence
    @pytest.mark.parametrize("method", APPROXIMATE)
    def test_answers_are_near_the_truth_and_say_what_they_are(self, kind, seen, method):
        case = posed(kind, seen)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            post = credo.infer(case.model, **case.question, method=method, seed=3)
        told = [each for each in told if each.category is not CompilingWarning]
        assert all(each.category is ConvergenceWarning for each in told)
        assert (post.engine, post.plan) == (method, None)
        certain = all(np.isin(post.probabilities(v), (0.0, 1.0)).all() for v in case.names)
        usual = ("EXACT", "SAMPLED" if method == "gibbs" else "CONVERGED")
        assert post.status in usual
        assert method != "gibbs" or post.status == "SAMPLED" or certain  # nothing left to draw
        promised = PROMISED.get(ENGINES[method].promise, "ESTIMATE")
        assert post.log_evidence_is in (promised, "EXACT")
        if promised == "ESTIMATE":
            assert post.log_evidence == pytest.approx(case.left.log_sum, abs=0.5)
        assert post.free_energy == -post.log_evidence
        assert post.probability_of_evidence == np.exp(post.log_evidence)
        loose = 0.1 if method == "gibbs" and not told else LOOSE.get(method, 1.0)
        for name in case.names:
            assert np.abs(post.probabilities(name) - case.left.marginal(name)).max() <= loose

    @pytest.mark.parametrize("method", APPROXIMATE)
    def test_a_query_narrows_what_is_given(self, kind, method):
        case = posed(kind, "state")
        ask = functools.partial(credo.infer, case.model, case.evidence, on_failure="return")
        query = case.names[::-2]
        whole, post = ask(method=method), ask(method=method, query=query)
        assert list(post) == query
        for name in query:
            np.testing.assert_array_equal(post.probabilities(name), whole.probabilities(name))
        with pytest.raises(InputError, match="was not asked for"):
            post.probabilities(case.names[-2])
        with pytest.raises(InputError, match=f"needs an exact answer.*'{method}'"):
            post.sample(3)
        with pytest.raises(InputError, match=f"of infer. Got that of engine '{method}'"):
            credo.explain(post, query[0])


@pytest.mark.filterwarnings("ignore::credo.exceptions.ExpansionWarning")
@every_model
def test_impossible_evidence_is_refused_with_a_smallest_conflict_by_all(kind):
    model, joint = model_of(kind)
    for method in (*methods_on(kind), *APPROXIMATE):
        assert_refused(kind, functools.partial(credo.infer, model, method=method))
    for method in MAXIMA:
        assert_refused(kind, functools.partial(credo.mpe, model, method=method))
    assert_refused(kind, functools.partial(credo.infer, model, budget=8))
    assert_refused(kind, credo.JunctionTree(model).infer)
    assert_refused(kind, functools.partial(credo.bounds, model))
    assert_refused(kind, functools.partial(credo.k_best, model, 3))
    assert_refused(kind, functools.partial(credo.max_marginals, model))
    assert_refused(kind, functools.partial(credo.marginal_map, model, joint.names[:1]))
    assert_refused(kind, lambda row: credo.infer_many(model, [{}, row]))
    with pytest.warns(ApproximationWarning, match="does not prove that there is none"):
        found = credo.mpe(model, SEEN[kind]["impossible"][0], method="icm")  # moves, proves nothing
    assert found.log_score == -np.inf


@pytest.mark.parametrize("kind", TREES)
class TestOnTrees:
    def test_messages_are_the_same_by_whatever_method_and_make_the_belief(self, kind):
        case = posed(kind, "state")
        model, evidence, left = case.model, case.evidence, case.left
        exact = credo.infer(model, evidence)
        loopy = credo.infer(model, evidence, method="loopy")
        at = "x1"
        edges = [{v.name for v in f.variables} for f in model.factors if len(f.variables) == 2]
        neighbours = [next(iter(edge - {at})) for edge in edges if at in edge]
        own = [f for f in model.factors if [v.name for v in f.variables] == [at]]
        product = np.prod([f.table for f in own], axis=0) if own else np.ones(2)
        for source in neighbours:
            message = exact.message(source, at)
            assert (message.source, message.target) == (source, at)
            assert list(message.states) == left.states[at]
            assert message.values.sum() == pytest.approx(1.0, abs=1e-12)
            if source not in evidence:
                np.testing.assert_allclose(message.values, loopy.message(source, at).values, 1e-9)
            product = product * message.values
        np.testing.assert_allclose(product / product.sum(), left.marginal(at), atol=1e-9)
        message = exact.message(neighbours[0], at)
        assert repr(message).startswith(f"m[{neighbours[0]} -> x1] = ({left.states[at][0]}: ")
        assert list(message.to_dict()) == [
            "source",
            "target",
            "states",
            "values",
            "log_scale",
            "formula",
        ]


class TestMessages:
    def test_neighbours_only_and_trees_only(self):
        post = credo.infer(model_of("hidden_chain")[0])
        with pytest.raises(InputError, match="not neighbours"):
            post.message("x0", "x2")
        with pytest.raises(InputError, match="cycle"):
            credo.infer(model_of("field")[0]).message("a", "b")
        with pytest.raises(InputError, match="keeps no messages"):
            credo.infer(model_of("field")[0], method="mean_field").message("a", "b")
        with pytest.raises(InputError, match="cycle"):
            credo.infer(model_of("field")[0], method="tree")


@pytest.mark.filterwarnings("ignore::credo.exceptions.ExpansionWarning")
@every_model
@every_evidence
def test_the_best_configuration_is_exact_by_a_tree_with_its_ties(kind, seen):
    case = posed(kind, seen)
    top = np.argwhere(case.left.table >= case.left.table.max() * (1 - 1e-12))
    tied = [case.names[axis] for axis in range(top.shape[1]) if len(set(top[:, axis])) > 1]
    for method in ("auto", "junction_tree"):
        found = credo.mpe(case.model, **case.question, method=method)
        assert (found.engine, found.is_exact, found.gap) == ("junction_tree", True, 0.0)
        assert list(found.tied) == tied
    for method in MAXIMA[2:]:
        assert credo.mpe(case.model, **case.question, method=method).engine == method


class TestExpansion:
    def test_maxima_write_noisy_gates_out_and_say_so_and_sums_do_not(self):
        model = rules()
        with pytest.warns(ExpansionWarning, match="noisy-OR"):
            credo.mpe(model)
        credo.infer(model)


def cut():
    """A ring of bits that attract each other."""
    net = credo.MarkovNetwork()
    for name, weights in zip("abc", ([1.0, 1.2], [2.0, 1.0], [1.0, 3.0]), strict=True):
        net.node(name, 2, weights)
    for pair in ("ab", "bc", "ca"):
        net.edge(*pair, [[2.0, 1.0], [1.0, 2.0]])
    return net


@every_model
def test_impossible_rows_raise_or_are_marked(kind):
    model, joint = model_of(kind)
    evidence, _ = SEEN[kind]["impossible"]
    with pytest.raises(ImpossibleEvidence, match="infer_many, row 1: the evidence"):
        credo.infer_many(model, [{}, evidence])
    rows = [{}, evidence, dict(list(evidence.items())[:2])]
    many = credo.infer_many(model, rows, on_impossible="nan")
    assert many.impossible.tolist() == [1, 2]
    assert many.statuses.tolist() == ["EXACT", "IMPOSSIBLE", "IMPOSSIBLE"]
    assert (many.log_evidence[1:] == -np.inf).all()
    for name in joint.names:
        np.testing.assert_allclose(many.probabilities(name)[0], joint.marginal(name), atol=1e-9)
        assert np.isnan(many.probabilities(name)[1:]).all()
    assert (many.most_probable()[1:] == -1).all()
    with pytest.raises(InputError, match="are impossible and have no posterior"):
        _ = many[joint.names[0]]


class TestPosterior:
    """What an answer offers, exact or not."""

    @pytest.mark.parametrize("method", ["exact", *APPROXIMATE])
    def test_it_is_read_by_name(self, method):
        case = posed("network", "state")
        left = case.left
        post = credo.infer(case.model, case.evidence, method=method, on_failure="return")
        assert post.variables == tuple(post) == tuple(left.names)
        assert len(post) == len(left.names)
        assert "rain" in post
        assert "snow" not in post
        assert list(post["road"].labels) == left.states["road"]
        np.testing.assert_allclose(
            post["road"].probabilities, post.probabilities("road"), rtol=1e-12
        )
        for name in post:
            with pytest.raises(ValueError, match="read-only"):
                post.probabilities(name)[0] = 1.0
        as_dict = post.to_dict()
        assert list(as_dict) == left.names
        for name, states in left.states.items():
            assert list(as_dict[name]) == states
            np.testing.assert_array_equal(list(as_dict[name].values()), post.probabilities(name))
        assert f"4 variables, 1 findings, {post.engine}, {post.status}>" in repr(post)
        assert post.joint(["wet"]).table.tolist() == [0.0, 1.0]
        for name in ("snow", 3, None):
            with pytest.raises(LabelError):
                _ = post[name]

    def test_an_approximate_joint_is_that_of_one_table_or_region(self):
        model, joint = model_of("field")
        post = credo.infer(model, method="loopy")
        pair = post.joint(["b", "a"])
        assert pair.variables == ("b", "a")
        np.testing.assert_allclose(pair.table.sum(axis=0), post.probabilities("a"), atol=1e-6)
        assert np.abs(pair.table - joint.joint(["b", "a"])).max() < 0.05
        with pytest.raises(InputError, match="No table or region of engine 'loopy' holds all of"):
            post.joint(["a", "c"])
        with pytest.raises(InputError, match="names 'a' twice"):
            post.joint(["a", "a"])

    def test_models_are_asked_and_not_changed(self):
        model = network()
        before = [factor.table.copy() for factor in model.factors]
        for method in ("exact", "loopy"):
            credo.infer(model, {"wet": "yes"}, method=method)
        for factor, table in zip(model.factors, before, strict=True):
            np.testing.assert_array_equal(factor.table, table)

    def test_seeds_repeat_what_is_random(self):
        model = model_of("field")[0]
        runs = [
            credo.infer(model, method="gibbs", draws=50, seed=s, on_failure="return")
            for s in (1, 1, 2)
        ]
        one, again, other = (run.probabilities("a") for run in runs)
        np.testing.assert_array_equal(one, again)
        assert (one != other).any()


class TestNames:
    @pytest.mark.parametrize("engines", [ENGINES, MAXIMISERS], ids=["infer", "mpe"])
    def test_each_means_one_engine_and_each_engine_takes_its_own_options(self, engines):
        names = [n for e in engines.values() for n in (e.name, *e.aliases.split())]
        assert len(names) == len(set(names))
        assert all(lookup(name, engines, "method").name in engines for name in names)
        for engine in engines.values():
            check_options(engine, dict.fromkeys(engine.options), engines, "infer")

    @pytest.mark.parametrize("engines", [ENGINES, MAXIMISERS], ids=["infer", "mpe"])
    def test_an_entry_lists_the_options_of_its_function(self, engines):
        for engine in engines.values():
            if engine.needs == "plan":
                continue
            parameters = inspect.signature(engine.run).parameters.values()
            taken = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
            if any(p.kind is p.VAR_KEYWORD for p in parameters):  # handed on to messages
                taken = set(engine.options) & set(ENGINES["loopy"].options)
            assert set(engine.options) == taken, engine.name

    def test_every_option_has_words_unless_no_word_can_be_its_value(self):
        all_engines = [*ENGINES.values(), *MAXIMISERS.values(), *ROW_ENGINES.values(), BOUNDS]
        options = {name for engine in all_engines for name in engine.options}
        known = {"order", "effort", "seed", "callback", "log_evidence", "root"}
        assert options - set(OPTIONS) == known
        assert set(OPTIONS) <= options

    @pytest.mark.parametrize(
        ("name", "aliases"),
        [
            ("loopy", ["bp", "LBP", "sum-product", "loopy_bp"]),
            ("generalised", ["gbp", "generalized"]),
            ("tree_reweighted", ["trw", "Tree-Reweighted"]),
            ("mean_field", ["mf"]),
            ("gibbs", ["mcmc"]),
            ("junction_tree", ["jt", "Hugin", "clique_tree"]),
            ("enumeration", ["brute-force"]),
            ("elimination", ["ve", "variable_elimination"]),
        ],
    )
    def test_infer_knows_the_usual_ones(self, name, aliases):
        usual = credo.infer(cut(), method=name)
        for alias in aliases:
            post = credo.infer(cut(), method=alias)
            assert (post.engine, post["a"]) == (name, usual["a"])

    @pytest.mark.parametrize(
        ("name", "aliases"),
        [
            ("junction_tree", ["viterbi", "exact", "jt"]),
            ("loopy", ["max-product", "bp"]),
            ("icm", ["ICM"]),
            ("tree_reweighted", ["trws", "TRW-S"]),
            ("graph_cut", ["graphcut", "min_cut"]),
        ],
    )
    def test_mpe_knows_the_usual_ones(self, name, aliases):
        assert {credo.mpe(cut(), method=alias).engine for alias in aliases} == {name}

    def test_chains_and_rows_know_theirs(self):
        post = credo.infer(model_of("hidden_chain")[0], method="forward-backward")
        assert post.engine == "tree"
        for kind, aliases in (
            ("ESTIMATE", ["loopy", "bp", "Sum-Product"]),
            ("EXACT", ["exact", "jt", "junction-tree"]),
        ):
            for alias in aliases:
                assert credo.infer_many(cut(), [{"a": 1}], method=alias).log_evidence_is == kind

    @pytest.mark.parametrize(
        ("ask", "method", "near"),
        [
            (credo.infer, "lopy", "'loopy'"),
            (credo.infer, "generalisd", "'generalised'"),
            (credo.mpe, "viterby", "'viterbi'"),
        ],
    )
    def test_an_unknown_one_is_told_all_and_the_nearest(self, ask, method, near):
        engines = ENGINES if ask is credo.infer else MAXIMISERS
        said = f"must be one of 'auto'.*Did you mean {near}"
        with pytest.raises(InputError, match=said) as error:
            ask(cut(), method=method)
        assert all(f"'{name}'" in str(error.value) for name in engines)

    @pytest.mark.parametrize("method", [None, 3, ["loopy"], ""])
    def test_a_method_is_a_word(self, method):
        with pytest.raises(InputError, match="method of infer must be one of"):
            credo.infer(cut(), method=method)


#: A call with one thing wrong, the error, and words of its message.
WRONG = [
    ("infer", {"method": "exakt"}, InputError, "Did you mean 'exact'"),
    ("infer", {"method": "exact", "sweeps": 3}, InputError,
     "method='exact' has no option 'sweeps'.*'sweeps' is an option of 'loopy'"),
    ("infer", {"method": "loopy", "sweep": 3}, InputError,
     "'loopy' has no option 'sweep'. It has 'schedule', 'momentum'.*Did you mean 'sweeps'"),
    ("infer", {"method": "mf", "draws": 3}, InputError,
     "'mean_field' has no option 'draws'.*of 'gibbs'"),
    ("infer", {"method": "loopy", "order": ["rain"]}, InputError, "order needs an exact method"),
    ("infer", {"method": "loopy", "jeffrey": {"rain": [0.5, 0.5]}}, InputError,
     "jeffrey needs an exact method"),
    ("infer", {"jeffrey": [0.5, 0.5]}, InputError, "jeffrey"),
    ("infer", {"jeffrey": {"rain": [1.0]}}, InputError, "one weight per state"),
    ("infer", {"jeffrey": {"rain": [-0.5, 1.5]}}, InputError, "at least 0"),
    ("infer", {"jeffrey": {"rain": [np.nan, 1.0]}}, InputError, "finite|NaN"),
    ("infer", {"jeffrey": {"rain": {"no": 1.0}}}, InputError, "lack the state 'yes'"),
    ("infer", {"on_failure": "ignore"}, InputError,
     "on_failure of infer must be one of 'return', 'warn', 'raise'"),
    ("infer", {"evidence": {"rian": 1}}, LabelError, "'rian'.*rain"),
    ("infer", {"evidence": {"rain": "ja"}}, LabelError,
     "Variable 'rain' has no state 'ja'|'ja'.*'no', 'yes'"),
    ("infer", {"evidence": {"rain": None}}, LabelError, "Leave the variable out of the evidence"),
    ("infer", {"evidence": {"rain": []}}, InputError, "allows no state"),
    ("infer", {"evidence": [{"rain": "yes"}]}, InputError,
     "must be a mapping by variable. Got list; for many rows use infer_many"),
    ("infer", {"likelihood": {"snow": [1, 2]}}, LabelError, "'snow'"),
    ("infer", {"likelihood": {"rain": [1, 2, 3]}}, ShapeError, "one weight per state"),
    ("infer", {"likelihood": {"rain": [0, 0]}}, InputError, "not all 0"),
    ("infer", {"likelihood": {"rain": {"no": 1}}}, InputError, "lack the state 'yes'"),
    ("infer", {"query": ["snow"]}, LabelError, "'snow'"),
    ("infer", {"query": 3}, InputError, "The query of infer must be a list of names"),
    ("infer", {"query": "rain"}, InputError,
     r"list of names, in order. Got 'rain'. Pass \['rain'\]"),
    ("infer", {"query": ["rain", "rain"]}, InputError, "names 'rain' twice"),
    ("infer", {"order": ["snow"]}, LabelError, "'snow'"),
    ("infer", {"budget": "much"}, InputError,
     "The budget of infer must be bytes or text such as '4GB'"),
    ("infer", {"model": 3}, InputError,
     "infer needs a BayesianNetwork, MarkovNetwork or FactorGraph. Got int"),
    ("infer", {"model": credo.BayesianNetwork}, InputError, "Got the class"),
    ("infer", {"method": "loopy", "callback": 3}, InputError, "must be a function of two numbers"),
    ("plan", {"evidence": {"rain": "ja"}}, LabelError, "'ja'"),
    ("plan", {"query": "rain"}, InputError, r"Pass \['rain'\]"),
    ("plan", {"query": ["snow"]}, LabelError, "no variable 'snow'"),
    ("plan", {"query": ["rain", "rain"]}, InputError, "twice"),
    ("plan", {"model": [1, 2]}, InputError, "plan needs a BayesianNetwork"),
    ("mpe", {"model": {"a": 1}}, InputError, "Got dict"),
    ("mpe", {"method": "best"}, InputError, "method"),
    ("mpe", {"method": "junction_tree", "sweeps": 3}, InputError,
     "mpe: method='junction_tree' has no option 'sweeps'. It has 'seed'.*of 'auto'"),
    ("mpe", {"evidence": {"snow": 1}}, LabelError, "'snow'"),
    ("max_marginals", {"model": {"a": 1}}, InputError, "Got dict"),
    ("max_marginals", {"evidence": {"rain": "ja"}}, LabelError, "has no state"),
    ("k_best", {"k": 0}, InputError, "whole number of at least one"),
    ("marginal_map", {"query": ["rain", "rain"]}, InputError, "twice"),
    ("marginal_map", {"query": "rain"}, InputError, "must be a list of names"),
    ("marginal_map", {"query": ["rain", 77]}, LabelError, "has no variable 77"),
    ("bounds", {"rounds": -1}, InputError, "rounds"),
    ("infer_many", {"rows": {"snow": ["yes"]}}, LabelError, "'snow'"),
    ("infer_many", {"rows": {"rain": ["yes", "ja"]}}, LabelError, "row 1.*'ja'|'ja'.*row 1"),
    ("infer_many", {"rows": [{}], "method": "gibbs"}, InputError,
     "method of infer_many must be one of 'auto', 'exact'"),
    ("infer_many", {"rows": [{}], "sweeps": 3}, InputError, "method='auto' has no option 'sweeps'"),
    ("infer_many", {"rows": [{}], "on_impossible": "skip"}, InputError, "on_impossible"),
]  # fmt: skip


class TestErrors:
    @pytest.mark.parametrize(("ask", "options", "error", "words"), WRONG)
    def test_what_is_wrong_is_named(self, ask, options, error, words):
        with pytest.raises(error, match=words):
            getattr(credo, ask)(**{"model": model_of("network")[0], **options})

    def test_what_is_wrong_later_is_named(self):
        net = model_of("network")[0]
        with pytest.raises(InputError, match="was not asked for"):
            credo.bounds(net, query=["rain"]).marginal("wet")
        with pytest.raises(LabelError, match="'ja'"):
            credo.JunctionTree(net).infer({"rain": "ja"})
        with pytest.raises(LabelError, match="'snow'"):
            credo.JunctionTree(net).infer({"snow": "yes"})

    def test_a_model_that_allows_nothing_says_so_whatever_is_asked(self):
        graph = credo.FactorGraph()
        graph.factor([graph.variable("a", 2)], [1.0, 0.0])
        graph.factor(["a"], [0.0, 1.0])
        asks = [functools.partial(credo.infer, method=m) for m in (*EXACT, *APPROXIMATE)]
        asks += [credo.mpe, credo.max_marginals, credo.bounds]
        asks += [functools.partial(credo.k_best, k=2)]
        asks += [functools.partial(credo.infer_many, rows=[{}])]
        asks += [lambda model: credo.JunctionTree(model).infer()]
        for ask in asks:
            with pytest.raises(InputError, match="the model allows no configuration at all") as e:
                ask(graph)
            assert not isinstance(e.value, ImpossibleEvidence)

    def test_messages_that_swing_are_told_of_raised_or_returned(self):
        net = credo.MarkovNetwork()
        for name in "abcde":
            net.node(name, 2, [1.0, 1.3])
        for pair in itertools.combinations("abcde", 2):
            net.edge(*pair, [[1.0, 7.0], [7.0, 1.0]])
        swing = functools.partial(
            credo.infer, net, method="loopy", schedule="flooding", momentum=1.0
        )
        with pytest.warns(ConvergenceWarning, match="oscillates.* Remedies: ") as caught:
            swing()
        assert caught[0].filename == __file__
        with pytest.raises(NumericalError, match="oscillates: its messages come back every 2"):
            swing(on_failure="raise")
        post = swing(on_failure="return")
        assert (post.status, post.period) == ("OSCILLATING", 2)
        short = credo.infer(net, method="loopy", sweeps=2, on_failure="return")
        assert (short.status, short.sweeps) == ("MAX_SWEEPS", 2)


class TestBudget:
    def test_exact_engines_refuse_before_they_run_and_name_the_largest_clique(self):
        net = model_of("network")[0]
        asks = {
            "infer": functools.partial(credo.infer, net, method="exact", budget=40),
            "JunctionTree": functools.partial(credo.JunctionTree, net, budget="40 B"),
            "mpe": functools.partial(credo.mpe, net, method="junction_tree", budget=40),
            "max_marginals": functools.partial(credo.max_marginals, net, budget=40),
            "marginal_map": functools.partial(credo.marginal_map, net, ["wet"], budget=4),
            "k_best": functools.partial(credo.k_best, net, 2, budget=40),
        }
        for who, ask in asks.items():
            with pytest.raises(BudgetError, match=f"{who} needs .* for its clique tables") as e:
                ask()
            assert isinstance(e.value, MemoryError)
            assert "The largest clique has" in str(e.value)
            assert "fewer variables (query=[...])" in str(e.value)
        for method in ("junction_tree", "elimination", "enumeration"):
            with pytest.raises(BudgetError):
                credo.infer(net, method=method, budget=8)
        with pytest.raises(BudgetError):
            credo.infer(model_of("hidden_chain")[0], method="tree", budget=8)
        with pytest.raises(BudgetError, match="infer_many"):
            credo.infer_many(net, [{"rain": "yes"}, {"rain": "no"}], budget=8)

    def test_above_the_budget_auto_approximates_and_warns(self):
        model, joint = model_of("field")
        with pytest.warns(ApproximationWarning, match="infer gives an approximate answer"):
            post = credo.infer(model, budget=8)
        assert (post.engine, post.status) == ("loopy", "CONVERGED")
        assert post.why[0].startswith("no exact engine fits: infer needs")
        for name in joint.names:
            assert np.abs(post.probabilities(name) - joint.marginal(name)).max() < 0.05
        with pytest.raises(BudgetError):  # approximate engines cannot fit what jeffrey asks for
            credo.infer(model, budget=8, jeffrey={"a": [0.5, 0.5]})


def gone_and_back(post):
    """The same answer in another process."""
    return pickle.loads(pickle.dumps(post))  # noqa: S301 - our own


@pytest.mark.parametrize("method", ["exact", *APPROXIMATE])
def test_an_answer_that_travelled_reads_the_same(method):
    post = credo.infer(model_of("field")[0], {"a": 1}, method=method, on_failure="return")
    there = gone_and_back(post)
    assert there.to_dict() == post.to_dict()
    assert (there.status, there.log_evidence) == (post.status, post.log_evidence)
    np.testing.assert_array_equal(there.joint(["c", "b"]).table, post.joint(["c", "b"]).table)
    if method == "loopy":
        assert np.array_equal(there.message("b", "c").values, post.message("b", "c").values)
        again = credo.infer(there.question.model, {"a": 1}, method="loopy", start=there)
        assert again.sweeps <= 3


class TestCallbacks:
    SCHEDULES = ("flooding", "sequential", "residual", "random", "tree")

    @pytest.mark.parametrize(
        ("method", "options"),
        [*[("loopy", {"schedule": s}) for s in SCHEDULES], *[(m, {}) for m in APPROXIMATE[1:]]],
        ids=str,
    )
    def test_hear_of_every_sweep_in_order_and_may_stop_a_run(self, method, options):
        heard = []
        asked = functools.partial(credo.infer, model_of("field")[0], method=method, **options)
        post = asked(callback=lambda *told: heard.append(told), on_failure="return")
        numbers = [number for number, _ in heard]
        assert numbers
        if method == "gibbs":
            assert numbers == sorted(set(numbers))
        else:
            assert numbers == list(range(1, len(heard) + 1))
        if method in ("loopy", "generalised", "double_loop", "gibbs"):
            assert [residual for _, residual in heard] == post.residuals.tolist()
        with pytest.raises(ZeroDivisionError):
            asked(callback=lambda *_: 1 / 0)

    @pytest.mark.parametrize(
        ("method", "options", "numbers"),
        [("tree_reweighted", {"sweeps": 4, "tolerance": 0.0}, None), ("icm", {"restarts": 3}, 4)],
    )
    def test_hear_of_gaps_and_of_scores(self, method, options, numbers):
        told = []
        found = credo.mpe(
            field(), method=method, callback=lambda *each: told.append(each), **options
        )
        assert [k for k, _ in told] == list(range(1, 1 + (numbers or len(told))))
        if method == "icm":
            assert told[-1][1] == found.log_score == max(score for _, score in told)
        else:
            assert all(gap >= 0 for _, gap in told)
