"""Every exact engine against the sum over all configurations, in forty digits."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given, note, strategies as st
from tests.oracles import inference as oracle
from tests.properties.graph_strategies import bayesian_networks, factor_graphs, findings, models

import credo
from credo.exceptions import ImpossibleEvidence, InputError

METHODS = ("auto", "junction_tree", "elimination", "enumeration", "tree")
OF_ANY_SIZE = factor_graphs(kinds=("wide", "far", "steep", "steep", "again"), most_variables=5)


def posed(data, case):
    """Evidence on a case, and all configurations weighed by it."""
    found = data.draw(findings(case))
    return found, oracle.weigh(case.configurations, [(v, w) for v, w, _ in found.weights])


def assert_close(got, expected, case, times=1):
    """Relative to each entry; an entry that is zero must be zero."""
    np.testing.assert_allclose(got, expected, rtol=times * case.tolerance, atol=1e-300)


def assert_marginals(post, case, weighed):
    """All marginals, and the log of the sum to the same number of digits of the sum itself."""
    marginals = oracle.marginals(weighed, case.sizes)
    for name in post:
        assert_close(post.probabilities(name), marginals[case.names.index(name)], case)
    away = abs(post.log_evidence - oracle.log_total(weighed))
    assert away <= case.tolerance * max(1.0, case.span)


def assert_refused(case, found, question):
    """Impossible evidence is refused, naming findings none of which can be spared."""
    if not case.configurations:
        with pytest.raises(InputError, match="allows no configuration"):
            question()
        return
    with pytest.raises(ImpossibleEvidence) as caught:
        question()
    named = caught.value.conflict
    assert named
    candidates = [i for i, (_, _, name) in enumerate(found.weights) if name in named]
    assert set(named) == {found.weights[i][2] for i in candidates}
    assert any(
        is_minimal(case, found, chosen)
        for size in range(len(named), len(candidates) + 1)
        for chosen in itertools.combinations(candidates, size)
        if {found.weights[i][2] for i in chosen} == set(named)
    )


def is_minimal(case, found, chosen):
    return not is_possible(case, found, chosen) and all(
        is_possible(case, found, [i for i in chosen if i != left_out]) for left_out in chosen
    )


def is_possible(case, found, chosen):
    weights = [found.weights[i][:2] for i in chosen]
    return bool(oracle.weigh(case.configurations, weights))


@given(case=st.one_of(models(), OF_ANY_SIZE), data=st.data())
def test_marginals_the_evidence_and_joints_equal_the_sum_over_configurations(case, data):
    found, weighed = posed(data, case)
    some = st.lists(st.sampled_from(case.names), unique=True)
    query = data.draw(st.one_of(st.none(), some))
    for method in METHODS:
        is_cut = method == "tree" and not case.is_forest  # by evidence, if at all
        note(f"method={method!r}")
        options = {"likelihood": found.likelihood, "query": query, "method": method}
        ask = partial(credo.infer, case.model, found.evidence, **options)
        if not weighed:
            if not is_cut:
                assert_refused(case, found, ask)
            continue
        try:
            post = ask()
        except InputError as error:
            if is_cut and "cycle" in str(error):
                continue
            raise
        assert post.status == "EXACT"
        assert post.variables == tuple(case.names if query is None else query)
        assert_marginals(post, case, weighed)
    names = data.draw(some)
    if weighed and names:
        places = [case.names.index(name) for name in names]
        joint = credo.infer(case.model, found.evidence, likelihood=found.likelihood, query=query)
        assert_close(joint.joint(names).table, oracle.joint(weighed, case.sizes, places), case)


@given(case=st.one_of(models(), OF_ANY_SIZE), data=st.data())
def test_a_junction_tree_does_so_question_after_question(case, data):
    tree = credo.JunctionTree(case.model)
    for _ in range(3):
        found, weighed = posed(data, case)
        ask = partial(tree.infer, found.evidence, likelihood=found.likelihood)
        if weighed:
            assert_marginals(ask(), case, weighed)
        else:
            assert_refused(case, found, ask)


@given(case=factor_graphs(kinds=("wide", "far", "plain"), most_variables=5), data=st.data())
def test_weights_of_any_size_are_held(case, data):
    cell = st.sampled_from([0.0, 1e-300, 1.0, 1e300])
    weights = {
        v: data.draw(st.lists(cell, min_size=case.sizes[v], max_size=case.sizes[v]).filter(any))
        for v in data.draw(st.lists(st.integers(0, len(case.sizes) - 1), unique=True))
    }
    weighed = oracle.weigh(case.configurations, list(weights.items()))
    if not weighed:
        return
    case.span += 700.0 * len(weights)
    likelihood = {case.names[v]: w for v, w in weights.items()}
    assert_marginals(credo.infer(case.model, likelihood=likelihood), case, weighed)
    assert_marginals(credo.JunctionTree(case.model).infer(likelihood=likelihood), case, weighed)


@given(case=models(), data=st.data())
def test_jeffrey_on_one_variable_keeps_everything_given_it(case, data):
    found, weighed = posed(data, case)
    if not weighed:
        return
    v = data.draw(st.integers(0, len(case.sizes) - 1))
    now = oracle.joint(weighed, case.sizes, [v])
    wanted = np.where(now > 0, data.draw(st.sampled_from([1.0, 3.0])) + np.arange(len(now)), 0.0)
    wanted /= wanted.sum()
    expected = oracle.marginals(oracle.jeffrey(weighed, case.sizes, v, wanted), case.sizes)
    options = {"likelihood": found.likelihood, "jeffrey": {case.names[v]: wanted}}
    for ask in (partial(credo.infer, case.model), credo.JunctionTree(case.model).infer):
        post = ask(found.evidence, **options)
        for name, marginal in zip(case.names, expected, strict=True):
            assert_close(post.probabilities(name), marginal, case, times=4)
        assert abs(post.log_evidence - oracle.log_total(weighed)) <= 1e-11 * case.span


@given(case=bayesian_networks(most_variables=5), data=st.data())
def test_jeffrey_on_several_variables_gives_each_its_posterior_and_only_tilts(case, data):
    every = range(len(case.sizes))
    targets = data.draw(st.permutations(every))[: data.draw(st.integers(2, 3))]
    before = oracle.joint(case.configurations, case.sizes, targets)
    if (before == 0).any():
        return  # the posteriors asked for might contradict each other
    wanted = {v: np.arange(1.0, case.sizes[v] + 1) for v in targets}
    wanted = {v: q / q.sum() for v, q in wanted.items()}
    post = credo.infer(case.model, jeffrey={case.names[v]: q for v, q in wanted.items()})
    for v, q in wanted.items():
        np.testing.assert_allclose(post.probabilities(case.names[v]), q, rtol=0, atol=1e-11)
    tilt = np.log(post.joint([case.names[v] for v in targets]).table / before)
    for axes in itertools.combinations(range(tilt.ndim), 2):  # a sum of functions of one variable
        crossed = tilt
        for axis in axes:
            crossed = crossed - crossed.mean(axis=axis, keepdims=True)
        np.testing.assert_allclose(crossed, 0.0, atol=1e-9)


@given(case=models(), data=st.data())
def test_weights_of_evidence_in_turn_add_up_to_the_whole(case, data):
    found, weighed = posed(data, case)
    observed = {v for v, _, _ in found.weights}
    free = [v for v in range(len(case.sizes)) if v not in observed and case.sizes[v] > 1]
    if not weighed or not free or not observed:
        return
    v = free[0]
    before = oracle.joint(case.configurations, case.sizes, [v])
    after = oracle.joint(weighed, case.sizes, [v])
    if ((before == 0) | (before == 1) | (after == 0) | (after == 1)).any():
        return
    post = credo.infer(case.model, found.evidence, likelihood=found.likelihood)
    told = credo.explain(post, case.names[v], 0)
    whole = np.log10(after[0] / after[1:].sum()) - np.log10(before[0] / before[1:].sum())
    assert told.prior == pytest.approx(before[0], rel=case.tolerance)
    assert told.posterior == pytest.approx(after[0], rel=case.tolerance)
    assert told.total == pytest.approx(whole, abs=1e-10)
    assert sum(weight.in_turn for weight in told.weights) == pytest.approx(whole, abs=1e-10)
