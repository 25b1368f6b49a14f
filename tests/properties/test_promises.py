"""Whatever says that it is exact is the joint table's to nine digits, on random models."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from tests.properties.random_graphs import cases, draw_case

import credo
from credo.exceptions import ImpossibleEvidence, InputError

pytestmark = pytest.mark.filterwarnings("ignore::credo.exceptions.ExpansionWarning")

ENGINES = ("auto", "junction_tree", "elimination", "enumeration", "tree")
APPROXIMATE = (
    "tree_reweighted",
    "mean_field",
    "structured_mean_field",
    "generalised",
    "double_loop",
    "gibbs",
)
CLOSE = 1e-9


def ask(case, method="auto", **options):
    """Infer; None where there is a cycle and the method needs a tree."""
    try:
        return credo.infer(
            case.model, case.evidence, likelihood=case.likelihood, method=method, **options
        )
    except InputError as error:
        if method == "tree" and not case.is_forest and "cycle" in str(error):
            return None
        raise


def assert_refused(case, question, *arguments, **options):
    """Whoever asks is told that nothing is possible, and which findings cannot be true."""
    if not case.joint.is_possible:
        with pytest.raises(InputError, match="allows no configuration"):
            question(*arguments, **options)
        return
    with pytest.raises(ImpossibleEvidence) as caught:
        question(*arguments, **options)
    named = caught.value.conflict
    evidence = {name: case.evidence[name] for name in named if name in case.evidence}
    likelihood = {name: case.likelihood[name] for name in named if name in case.likelihood}
    assert not case.joint.given(evidence, likelihood).is_possible


def all_of(names, marginal):
    """The marginals of all variables, one after the other."""
    return np.concatenate([np.empty(0), *map(marginal, names)])


def assert_close(got, expected):
    """To nine digits; minus infinity is itself."""
    np.testing.assert_allclose(got, expected, rtol=0, atol=CLOSE)


def assert_marginals(post, case):
    """All marginals, and the log of the sum."""
    names = case.joint.names
    assert_close(all_of(names, post.probabilities), all_of(names, case.left.marginal))
    assert abs(post.log_evidence - case.left.log_sum) <= CLOSE


def assert_sums(case):
    """Marginals and log evidence of every engine, and joints of pairs."""
    for method in ENGINES:
        if not case.left.is_possible:
            if method != "tree" or case.is_forest:
                assert_refused(case, ask, case, method)
            continue
        post = ask(case, method)
        if post is not None:
            assert post.status == post.log_evidence_is == "EXACT"
            assert_marginals(post, case)
    if not case.left.is_possible:
        return
    post = ask(case)
    rng = np.random.default_rng(case.seed)
    pairs = list(itertools.permutations(case.joint.names, 2))
    for i in rng.permutation(len(pairs))[:3].tolist():
        assert_close(post.joint(pairs[i]).table, case.left.joint(pairs[i]))
    draws = post.sample(3, random_state=1)
    for states in zip(*draws.values(), strict=True):
        assert case.left.score(dict(zip(draws, states, strict=True))) > -np.inf


def assert_tree(case):
    """A junction tree that is asked twice, and rows of evidence."""
    tree = credo.JunctionTree(case.model)
    for _ in range(2):
        if not case.left.is_possible:
            assert_refused(case, tree.infer, case.evidence, likelihood=case.likelihood)
        else:
            assert_marginals(tree.infer(case.evidence, likelihood=case.likelihood), case)


def assert_rows(case, method="exact"):
    """Rows: nothing, the states that were seen, and the best configuration."""
    seen = {name: x for name, x in case.evidence.items() if not isinstance(x, set)}
    rows = [{}, seen, case.joint.best()]
    options = {"query": case.joint.names, "on_impossible": "nan", "method": method}
    many = credo.infer_many(case.model, rows, **options)
    names = case.joint.names
    for i, row in enumerate(rows):
        left = case.joint.given(row)
        if not left.is_possible:
            if method == "exact":
                assert many.statuses[i] == "IMPOSSIBLE"
            continue
        if many.log_evidence_is == "EXACT":
            assert many.log_evidence[i] == pytest.approx(left.log_sum, abs=CLOSE)
        if many.statuses[i] == "EXACT":
            got = all_of(names, lambda name, i=i: many.probabilities(name)[i])
            assert_close(got, all_of(names, left.marginal))


def assert_maxima(case):
    """The best, the next best, the best with each state, the best of some variables."""
    given_ = {"evidence": case.evidence, "likelihood": case.likelihood}
    rng = np.random.default_rng(case.seed)
    names = [case.joint.names[i] for i in rng.permutation(len(case.joint.names))]
    some = names[: int(rng.integers(0, len(names) + 1))]
    if not case.left.is_possible:
        assert_refused(case, credo.mpe, case.model, **given_)
        assert_refused(case, credo.k_best, case.model, 2, **given_)
        assert_refused(case, credo.max_marginals, case.model, **given_)
        assert_refused(case, credo.marginal_map, case.model, some, **given_)
        return
    scores = case.left.scores()
    assert_best(case, credo.mpe(case.model, **given_), scores[0])
    listed = credo.k_best(case.model, 5, **given_)
    assert_close([each.log_score for each in listed], scores[:5])
    assert len({tuple(each.states.items()) for each in listed}) == len(listed)
    for each in listed:
        assert each.log_score == pytest.approx(case.left.score(each.states), abs=CLOSE)
    largest = credo.max_marginals(case.model, **given_)
    assert_best(case, largest.best, scores[0])
    assert_close(all_of(names, largest.log_values), all_of(names, case.left.largest))
    found = credo.marginal_map(case.model, some, **given_)
    assert list(found.states) == some
    assert_best(case, found, case.left.tops(some)[0])


def assert_best(case, found, best):
    """A configuration that is proven to be the best is, and has the score that it says."""
    assert found.is_exact
    assert found.log_score == pytest.approx(best, abs=CLOSE)
    assert found.log_score == pytest.approx(case.left.score(found.states), abs=CLOSE)


def assert_honest(case, method):
    """An approximate engine that says EXACT is, and its bounds hold."""
    if not case.left.is_possible:
        return
    post = ask(case, method, on_failure="return")
    if post.status == "EXACT":
        names = case.joint.names
        assert_close(all_of(names, post.probabilities), all_of(names, case.left.marginal))
    if post.log_evidence_is == "EXACT":
        assert post.log_evidence == pytest.approx(case.left.log_sum, abs=CLOSE)
    if post.log_evidence_is == "LOWER_BOUND":
        assert post.log_evidence <= case.left.log_sum + CLOSE
    if post.log_evidence_is == "UPPER_BOUND":
        assert post.log_evidence >= case.left.log_sum - CLOSE


@given(cases())
def test_sums_that_say_so_are_exact(case):
    assert_sums(case)


@given(cases())
def test_trees_and_rows_that_say_so_are_exact(case):
    assert_tree(case)
    assert_rows(case)


@given(cases())
def test_maxima_that_say_so_are_exact(case):
    assert_maxima(case)


@given(cases())
@pytest.mark.parametrize("method", APPROXIMATE)
def test_approximate_engines_say_exact_only_if_they_are(method, case):
    assert_honest(case, method)


@given(cases())
def test_messages_say_exact_only_if_they_are(case):
    assert_honest(case, "loopy")
    assert_rows(case, "loopy")


@given(cases())
def test_bounds_hold(case):
    question = {"evidence": case.evidence, "likelihood": case.likelihood}
    if not case.left.is_possible:
        return
    found = credo.bounds(case.model, **question, rounds=1, restarts=1)
    assert found.lower - CLOSE <= case.left.log_sum <= found.upper + CLOSE


@pytest.mark.parametrize("rule", ["parity", "at_most_one", "factor"])
def test_a_rule_over_nothing_is_refused(rule):
    graph = credo.FactorGraph()
    table = ([1.0],) if rule == "factor" else ()
    with pytest.raises(InputError, match="needs at least one variable. Got none"):
        getattr(graph, rule)([], *table)


@pytest.mark.slow
def test_ten_thousand_graphs():
    for seed in range(10_000):
        case = draw_case(seed)
        method = APPROXIMATE[seed % 5]  # all but gibbs, which takes its time
        try:
            assert_sums(case)
            assert_tree(case)
            assert_rows(case)
            assert_maxima(case)
            assert_honest(case, method)
        except BaseException as error:
            error.add_note(repr(case))
            raise
