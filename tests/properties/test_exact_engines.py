"""Every exact engine against the sum over all configurations, in extended precision."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.properties.random_graphs import assert_told, cases

import credo
from credo.exceptions import InputError

METHODS = ("auto", "exact", "junction_tree", "elimination", "enumeration", "tree")
CASES = st.one_of(cases(), cases("wide"))


def assert_close(got, expected, case, times=1):
    """Relative to each entry; an entry that is zero must be zero."""
    np.testing.assert_allclose(got, expected, rtol=times * case.tolerance, atol=1e-300)


def assert_marginals(post, case, left):
    """All marginals, and the log of the sum to the same number of digits of the sum itself."""
    for name in post:
        assert_close(post.probabilities(name), left.marginal(name), case)
    assert abs(post.log_evidence - left.log_sum) <= case.tolerance * max(1.0, case.size)


def assert_refused(case, ask):
    with pytest.raises(InputError) as caught:
        ask()
    assert_told(case, caught.value)


def check_exact(case, query=None):
    """Ask by every method, for everything or for some variables; give the first answer."""
    first = None
    for method in METHODS:
        is_cut = method == "tree" and not case.is_forest  # by evidence, if at all
        ask = partial(credo.infer, case.model, **case.question, query=query, method=method)
        if not case.left.is_possible:
            if not is_cut:
                assert_refused(case, ask)
            continue
        try:
            post = ask()
        except InputError as error:
            if is_cut and "cycle" in str(error):
                continue
            raise
        assert (post.status, post.log_evidence_is, post.why) == ("EXACT", "EXACT", ())
        assert post.engine == post.plan.engine
        assert method in (post.engine, "auto", "exact")
        assert post.free_energy == -post.log_evidence
        assert post.residuals.size == post.updates == post.period == post.sweeps == 0
        assert list(post) == list(post.variables) == (case.names if query is None else query)
        assert_marginals(post, case, case.left)
        first = first or post
    return first


@given(case=CASES, data=st.data())
def test_marginals_the_evidence_and_joints_equal_the_sum_over_configurations(case, data):
    some = st.lists(st.sampled_from(case.names), unique=True) if case.names else st.just([])
    post = check_exact(case, data.draw(st.one_of(st.none(), some)))
    names = data.draw(st.permutations(case.names))[:3]
    if post and names:
        assert_close(post.joint(names).table, case.left.joint(names), case)


@given(case=CASES)
def test_a_junction_tree_does_so_question_after_question(case):
    tree = credo.JunctionTree(case.model)
    for _ in range(2):
        if case.joint.is_possible:
            assert_marginals(tree.infer(), case, case.joint)
        ask = partial(tree.infer, **case.question)
        if case.left.is_possible:
            assert_marginals(ask(), case, case.left)
        else:
            assert_refused(case, ask)


@given(case=cases("wide"))
def test_weights_of_any_size_are_held(case):
    rng = np.random.default_rng(case.seed)
    weights = {
        name: rng.choice([0.0, 1e-300, 1.0, 1e300], size=len(case.joint.states[name])).tolist()
        for name in case.names
        if rng.random() < 0.5
    }
    weights = {name: each for name, each in weights.items() if any(each)}
    left = case.joint.given(likelihood=weights)
    if not left.is_possible:
        return
    case.size += 700.0 * len(weights)
    for ask in (partial(credo.infer, case.model), credo.JunctionTree(case.model).infer):
        assert_marginals(ask(likelihood=weights), case, left)


@given(case=cases(), data=st.data())
def test_jeffrey_on_one_variable_keeps_everything_given_it(case, data):
    if not case.left.is_possible or not case.names:
        return
    name = data.draw(st.sampled_from(case.names))
    now = case.left.marginal(name)
    wanted = np.where(now > 0, data.draw(st.sampled_from([1.0, 3.0])) + np.arange(len(now)), 0.0)
    wanted /= wanted.sum()
    moved = case.left.fitted({name: wanted})
    for ask in (partial(credo.infer, case.model), credo.JunctionTree(case.model).infer):
        post = ask(**case.question, jeffrey={name: wanted})
        for each in case.names:
            assert_close(post.probabilities(each), moved.marginal(each), case, times=4)
        assert abs(post.log_evidence - case.left.log_sum) <= 1e-11 * case.size


@given(case=cases(), data=st.data())
def test_jeffrey_on_several_variables_gives_each_its_posterior_and_only_tilts(case, data):
    if not case.joint.is_possible or len(case.names) < 2:
        return
    targets = data.draw(st.permutations(case.names))[: data.draw(st.integers(2, 3))]
    before = case.joint.joint(targets)
    if (before == 0).any():
        return  # the posteriors asked for might contradict each other
    wanted = {name: np.arange(1.0, len(case.joint.states[name]) + 1) for name in targets}
    wanted = {name: q / q.sum() for name, q in wanted.items()}
    post = credo.infer(case.model, jeffrey=wanted)
    for name, q in wanted.items():
        np.testing.assert_allclose(post.probabilities(name), q, rtol=0, atol=1e-11)
    tilt = np.log(post.joint(targets).table / before)
    for axes in itertools.combinations(range(tilt.ndim), 2):  # a sum of functions of one variable
        crossed = tilt
        for axis in axes:
            crossed = crossed - crossed.mean(axis=axis, keepdims=True)
        np.testing.assert_allclose(crossed, 0.0, atol=1e-9)


@given(case=cases())
def test_weights_of_evidence_in_turn_add_up_to_the_whole(case):
    observed = {*case.evidence, *case.likelihood}
    free = [n for n in case.names if n not in observed and len(case.joint.states[n]) > 1]
    if not case.left.is_possible or not free or not observed:
        return
    before, after = (joint.marginal(free[0]) for joint in (case.joint, case.left))
    if ((before == 0) | (before == 1) | (after == 0) | (after == 1)).any():
        return
    post = credo.infer(case.model, **case.question)
    told = credo.explain(post, free[0], case.joint.states[free[0]][0])
    whole = np.log10(after[0] / after[1:].sum()) - np.log10(before[0] / before[1:].sum())
    assert told.prior == pytest.approx(before[0], rel=case.tolerance)
    assert told.posterior == pytest.approx(after[0], rel=case.tolerance)
    assert told.total == pytest.approx(whole, abs=1e-10)
    assert sum(weight.in_turn for weight in told.weights) == pytest.approx(whole, abs=1e-10)
