"""The lists of engines: names, aliases, options, promises, and what reads them."""

import numpy as np
import pytest

import credo
from credo.exceptions import InputError
from credo.inference.engines import ENGINES, MAXIMISERS, check_options, lookup

KIND = {"estimate": "ESTIMATE", "lower": "LOWER_BOUND", "upper": "UPPER_BOUND"}
EXACT = [name for name, engine in ENGINES.items() if engine.needs == "plan"]
OTHERS = [name for name in ENGINES if name not in EXACT]


def ring():
    pairs = [[0, 1], [1, 2], [2, 0]]
    return credo.MarkovNetwork.from_arrays(np.full((3, 2), [0.6, 0.4]), pairs, [[2, 1], [1, 2]])


def path():
    return credo.chain([0.6, 0.4], [[0.9, 0.1], [0.2, 0.8]], length=4)


class TestNames:
    @pytest.mark.parametrize("engines", [ENGINES, MAXIMISERS])
    def test_each_means_one_engine(self, engines):
        names = [n for e in engines.values() for n in (e.name, *e.aliases.split())]
        assert len(names) == len(set(names))
        assert all(lookup(name, engines, "method").name in engines for name in names)

    @pytest.mark.parametrize(
        ("alias", "name"),
        [
            *[("bp", "loopy"), ("LBP", "loopy"), ("sum-product", "loopy"), ("loopy_bp", "loopy")],
            *[("gbp", "generalised"), ("generalized", "generalised")],
            *[("trw", "tree_reweighted"), ("Tree-Reweighted", "tree_reweighted")],
            *[("mf", "mean_field"), ("mcmc", "gibbs")],
            *[("jt", "junction_tree"), ("Hugin", "junction_tree")],
            *[("clique_tree", "junction_tree"), ("brute-force", "enumeration")],
            *[("ve", "elimination"), ("variable_elimination", "elimination")],
        ],
    )
    def test_infer_knows_the_usual_ones(self, alias, name):
        post = credo.infer(ring(), method=alias)
        assert post.engine == name
        assert post[0] == credo.infer(ring(), method=name)[0]

    def test_forward_backward_passes_messages_on_a_chain(self):
        assert credo.infer(path(), method="forward-backward").engine == "tree"

    @pytest.mark.parametrize(
        ("alias", "name"),
        [
            *[("viterbi", "junction_tree"), ("exact", "junction_tree"), ("jt", "junction_tree")],
            *[("max-product", "loopy"), ("bp", "loopy"), ("ICM", "icm")],
            *[("trws", "tree_reweighted"), ("TRW-S", "tree_reweighted")],
            *[("graphcut", "graph_cut"), ("min_cut", "graph_cut")],
        ],
    )
    def test_mpe_knows_the_usual_ones(self, alias, name):
        assert credo.mpe(ring(), method=alias).engine == name

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
        with pytest.raises(
            InputError, match=f"must be one of 'auto'.*Did you mean {near}"
        ) as error:
            ask(ring(), method=method)
        assert all(f"'{name}'" in str(error.value) for name in engines)

    @pytest.mark.parametrize("method", [None, 3, ["loopy"], ""])
    def test_a_method_is_a_word(self, method):
        with pytest.raises(InputError, match="method of infer must be one of"):
            credo.infer(ring(), method=method)


class TestPromises:
    @pytest.mark.parametrize("method", EXACT)
    def test_exact_engines_have_a_plan(self, method):
        post = credo.infer(path(), {"x1": 0}, method=method)
        assert post.plan.engine == post.engine
        assert (post.status, post.log_evidence_is) == ("EXACT", "EXACT")
        assert post.residuals.size == post.updates == post.period == post.sweeps == 0
        assert post.free_energy == -post.log_evidence

    @pytest.mark.parametrize("method", OTHERS)
    def test_others_say_what_log_z_is(self, method):
        post = credo.infer(ring(), method=method, on_failure="return")
        kind = KIND.get(ENGINES[method].promise, "ESTIMATE")
        assert post.plan is None
        assert post.log_evidence_is in (kind, "EXACT")
        assert post.probability_of_evidence == np.exp(post.log_evidence)

    @pytest.mark.parametrize("method", OTHERS)
    def test_they_draw_no_samples_and_explain_nothing(self, method):
        post = credo.infer(ring(), {0: 1}, method=method, on_failure="return")
        with pytest.raises(InputError, match=f"needs an exact answer.*'{method}'"):
            post.sample(3)
        with pytest.raises(
            InputError, match=f"exact answer of infer. Got that of engine '{method}'"
        ):
            credo.explain(post, 1)


class TestOptions:
    @pytest.mark.parametrize("engines", [ENGINES, MAXIMISERS])
    def test_each_engine_takes_its_own(self, engines):
        for engine in engines.values():
            check_options(engine, dict.fromkeys(engine.options), engines, "infer")

    def test_a_wrong_one_is_told_the_nearest(self):
        with pytest.raises(InputError, match="has no option 'sweep'.*Did you mean 'sweeps'"):
            credo.infer(ring(), method="bp", sweep=3)

    def test_or_who_has_it(self):
        with pytest.raises(InputError, match="'mean_field' has no option 'draws'.*of 'gibbs'"):
            credo.infer(ring(), method="mf", draws=3)


class TestOneRead:
    def test_a_marginal_is_made_once(self):
        post = credo.infer(path())
        assert post["x1"] is post["x1"]

    def test_names_that_cannot_be_names_are_refused(self):
        with pytest.raises(InputError, match="no variable"):
            credo.infer(path())[["x1"]]


class TestNoEvidence:
    """Conditional tables sum to one, so the probability of no evidence is one to the last bit."""

    def nets(self):
        rng = np.random.default_rng(3)
        net = credo.BayesianNetwork()
        for v in range(8):
            net.variable(v, 3)
            given = list(range(max(0, v - 2), v))
            net.cpt(
                v,
                given=given,
                table=rng.dirichlet([1, 1, 1], 3 ** len(given)).reshape((3,) * (len(given) + 1)),
            )
        gates = credo.BayesianNetwork()
        for name in "abc":
            gates.variable(name, 2)
        gates.cpt("a", table=[0.3, 0.7])
        gates.cpt("b", table=[0.1, 0.9])
        gates.noisy_or("c", {"a": 0.3, "b": 0.2})
        return net, gates

    @pytest.mark.parametrize("method", [name for name in EXACT if name != "tree"])
    def test_it_is_certain(self, method):
        for net in self.nets():
            assert credo.infer(net, method=method).log_evidence == 0.0
            some = credo.infer(net, query=list(net.names)[:1], method=method)
            assert some.probability_of_evidence == 1.0

    def test_on_trees_and_junction_trees_too(self):
        assert credo.infer(path(), method="tree").log_evidence == 0.0
        for net in self.nets():
            assert credo.JunctionTree(net).infer().log_evidence == 0.0

    def test_with_jeffreys_rule_too(self):
        post = credo.infer(path(), jeffrey={"x0": [0.2, 0.8]})
        assert post.log_evidence == 0.0

    def test_evidence_and_other_models_are_counted(self):
        assert credo.infer(path(), likelihood={"x0": [0.5, 0.5]}).log_evidence < -0.6
        assert credo.infer(ring()).log_evidence > 1.0

    def test_rows_without_evidence_are_certain_too(self):
        for net in self.nets():
            name = next(iter(net.names))
            found = credo.infer_many(net, [{}, {name: 1}, {}]).log_evidence
            assert found[0] == found[2] == 0.0 > found[1]


class TestRows:
    @pytest.mark.parametrize("alias", ["loopy", "bp", "Sum-Product"])
    def test_messages_by_any_name(self, alias):
        many = credo.infer_many(ring(), [{0: 1}], method=alias)
        assert many.log_evidence_is == "ESTIMATE"

    @pytest.mark.parametrize("alias", ["exact", "jt", "junction-tree"])
    def test_junction_trees_by_any_name(self, alias):
        assert credo.infer_many(ring(), [{0: 1}], method=alias).log_evidence_is == "EXACT"

    def test_others_are_refused(self):
        with pytest.raises(InputError, match="method of infer_many must be one of 'auto', 'exact'"):
            credo.infer_many(ring(), [{0: 1}], method="gibbs")
