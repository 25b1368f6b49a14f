"""Every exact engine against the sum over all configurations."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given, note, strategies as st
from tests.oracles import inference as oracle
from tests.properties.graph_strategies import (
    bayesian_networks,
    factor_graphs,
    findings,
    models,
)

import credo
from credo.exceptions import ImpossibleEvidence, InputError

METHODS = ("auto", "junction_tree", "elimination", "enumeration", "tree")


def posed(data, cases):
    """A case, evidence on it, and all configurations weighed by the evidence."""
    case = data.draw(cases)
    found = data.draw(findings(case))
    weighed = oracle.weigh(case.configurations, [(v, w) for v, w, _ in found.weights])
    return case, found, weighed


def methods_for(case, weighed):
    """Every method, noted as it is used; whether a loop is found out before zero is open."""
    for method in METHODS:
        if method != "tree" or weighed or case.is_forest:
            note(f"method={method!r}")
            yield method


def ask(case, found, method, **options):
    """Infer; None if the graph has a cycle and the method needs a tree."""
    try:
        return credo.infer(
            case.model, found.evidence, likelihood=found.likelihood, method=method, **options
        )
    except InputError as error:
        if method == "tree" and not case.is_forest and not isinstance(error, ImpossibleEvidence):
            return None
        raise


def assert_close(got, expected, case):
    """Relative to each entry; an entry that is zero must be zero."""
    np.testing.assert_allclose(got, expected, rtol=case.tolerance, atol=1e-300)


def assert_all_marginals(post, case, weighed):
    for name, expected in zip(case.names, oracle.marginals(weighed, case.sizes), strict=True):
        assert_close(post.probabilities(name), expected, case)
    assert_evidence(post, case, weighed)


def assert_evidence(post, case, weighed):
    """The log of the sum, to the same number of digits of the sum itself."""
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


@given(data=st.data())
def test_all_marginals_and_the_evidence_equal_the_sum_over_configurations(data):
    case, found, weighed = posed(data, models())
    for method in methods_for(case, weighed):
        if not weighed:
            assert_refused(case, found, partial(ask, case, found, method))
            continue
        post = ask(case, found, method)
        if post is not None:
            assert post.status == "EXACT"
            assert_all_marginals(post, case, weighed)


@given(data=st.data())
def test_a_junction_tree_equals_the_sum_over_configurations_question_after_question(data):
    case = data.draw(models())
    tree = credo.JunctionTree(case.model)
    for _ in range(3):
        found = data.draw(findings(case))
        weighed = oracle.weigh(case.configurations, [(v, w) for v, w, _ in found.weights])
        ask_tree = partial(tree.infer, found.evidence, likelihood=found.likelihood)
        if weighed:
            assert_all_marginals(ask_tree(), case, weighed)
        else:
            assert_refused(case, found, ask_tree)


@given(data=st.data())
def test_asking_for_fewer_variables_changes_no_answer(data):
    case, found, weighed = posed(data, models())
    wanted = data.draw(st.lists(st.sampled_from(case.names), unique=True))
    expected = oracle.marginals(weighed, case.sizes) if weighed else None
    for method in methods_for(case, weighed):
        if not weighed:
            assert_refused(case, found, partial(ask, case, found, method, query=wanted))
            continue
        post = ask(case, found, method, query=wanted)
        if post is None:
            continue
        assert post.variables == tuple(wanted)
        for name in wanted:
            assert_close(post.probabilities(name), expected[case.names.index(name)], case)
        assert_evidence(post, case, weighed)


@given(data=st.data())
def test_a_joint_equals_the_sum_over_configurations_in_the_order_of_its_names(data):
    case, found, weighed = posed(data, models())
    if not weighed:
        return
    wanted = data.draw(st.lists(st.sampled_from(range(len(case.sizes))), min_size=1, unique=True))
    query = data.draw(st.sampled_from([None, case.names[:1]]))
    post = ask(case, found, "auto", query=query)
    names = [case.names[v] for v in wanted]
    joint = post.joint(names)
    assert joint.variables == tuple(names)
    assert_close(joint.table, oracle.joint(weighed, case.sizes, wanted), case)


@given(data=st.data())
def test_potentials_of_any_size_are_held(data):
    cases = factor_graphs(kinds=("wide", "far", "steep", "steep", "again"), most_variables=5)
    case, found, weighed = posed(data, cases)
    for method in methods_for(case, weighed):
        if not weighed:
            assert_refused(case, found, partial(ask, case, found, method))
            continue
        post = ask(case, found, method)
        if post is not None:
            assert_all_marginals(post, case, weighed)


@given(data=st.data())
def test_a_junction_tree_holds_potentials_and_weights_of_any_size(data):
    case = data.draw(factor_graphs(kinds=("wide", "far", "plain"), most_variables=5))
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
    assert_all_marginals(credo.infer(case.model, likelihood=likelihood), case, weighed)
    assert_all_marginals(credo.JunctionTree(case.model).infer(likelihood=likelihood), case, weighed)


@given(data=st.data())
def test_jeffrey_on_one_variable_keeps_everything_given_it(data):
    case, found, weighed = posed(data, models())
    if not weighed:
        return
    v = data.draw(st.integers(0, len(case.sizes) - 1))
    now = oracle.joint(weighed, case.sizes, [v])
    wanted = np.where(now > 0, data.draw(st.sampled_from([1.0, 3.0])) + np.arange(len(now)), 0.0)
    wanted /= wanted.sum()
    expected = oracle.jeffrey(weighed, case.sizes, v, wanted)
    options = {"likelihood": found.likelihood, "jeffrey": {case.names[v]: wanted}}
    tree = credo.JunctionTree(case.model)
    for post in (
        credo.infer(case.model, found.evidence, **options),
        tree.infer(found.evidence, **options),
    ):
        for name, marginal in zip(case.names, oracle.marginals(expected, case.sizes), strict=True):
            np.testing.assert_allclose(
                post.probabilities(name), marginal, rtol=4 * case.tolerance, atol=1e-300
            )
        assert abs(post.log_evidence - oracle.log_total(weighed)) <= 1e-11 * case.span


@given(case=bayesian_networks(most_variables=5), data=st.data())
def test_jeffrey_on_several_variables_gives_each_its_posterior_and_only_tilts(case, data):
    targets = data.draw(
        st.lists(st.integers(0, len(case.sizes) - 1), min_size=2, max_size=3, unique=True)
        if len(case.sizes) > 1
        else st.just([0])
    )
    if (oracle.joint(case.configurations, case.sizes, targets) == 0).any():
        return  # the posteriors asked for might contradict each other
    wanted = {
        v: (np.arange(case.sizes[v]) + 1.0) / np.arange(case.sizes[v] + 1).sum() for v in targets
    }
    post = credo.infer(case.model, jeffrey={case.names[v]: q for v, q in wanted.items()})
    for v, q in wanted.items():
        np.testing.assert_allclose(post.probabilities(case.names[v]), q, rtol=0, atol=1e-11)
    before = oracle.joint(case.configurations, case.sizes, targets)
    tilt = np.log(post.joint([case.names[v] for v in targets]).table / before)
    for axes in itertools.combinations(range(tilt.ndim), 2):  # a sum of functions of one variable
        crossed = tilt
        for axis in axes:
            crossed = crossed - crossed.mean(axis=axis, keepdims=True)
        np.testing.assert_allclose(crossed, 0.0, atol=1e-9)


@given(data=st.data())
def test_samples_are_possible_and_hold_the_evidence(data):
    case, found, weighed = posed(data, models())
    if not weighed:
        return
    possible = {place for place, _ in weighed}
    draws = ask(case, found, "auto").sample(20, random_state=1)
    assert list(draws) == case.names
    columns = [draws[name] for name in case.names]
    assert set(zip(*columns, strict=True)) <= possible


@given(data=st.data())
def test_weights_of_evidence_in_turn_add_up_to_the_whole(data):
    case, found, weighed = posed(data, models())
    observed = {v for v, _, _ in found.weights}
    free = [v for v in range(len(case.sizes)) if v not in observed and case.sizes[v] > 1]
    if not weighed or not free or not observed:
        return
    v = free[0]
    before = oracle.joint(case.configurations, case.sizes, [v])
    after = oracle.joint(weighed, case.sizes, [v])
    if ((before == 0) | (before == 1) | (after == 0) | (after == 1)).any():
        return
    told = credo.explain(ask(case, found, "auto"), case.names[v], 0)
    whole = np.log10(after[0] / after[1:].sum()) - np.log10(before[0] / before[1:].sum())
    assert told.prior == pytest.approx(before[0], rel=case.tolerance)
    assert told.posterior == pytest.approx(after[0], rel=case.tolerance)
    assert told.total == pytest.approx(whole, abs=1e-10)
    assert sum(weight.in_turn for weight in told.weights) == pytest.approx(whole, abs=1e-10)
