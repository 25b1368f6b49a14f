import numpy as np
import pytest
from tests.oracles import trees as oracle

from credo.exceptions import InputError, LabelError
from credo.inference.messages import Message
from credo.inference.tree import run_tree

NAMES = ["a", "b", "c", "d", "e"]
EDGES = [(0, 1), (0, 2), (2, 3), (4, 2)]


def pairwise(seed, observed, soft, *, log=False):
    """Draw a tree of five variables; give its run, and potentials of nodes and edges."""
    rng = np.random.default_rng(seed)
    n_states = [2, 3, 2, 1, 3]
    nodes = [rng.uniform(0.1, 5.0, k) for k in n_states]
    edges = {(i, j): rng.uniform(0.1, 5.0, (n_states[i], n_states[j])) for i, j in EDGES}
    factors = [*edges.items(), *(((v,), table) for v, table in enumerate(nodes))]
    given = [(scope, np.log(table)) for scope, table in factors] if log else factors
    wiring = oracle.wiring(n_states, given, log=log, names=NAMES)
    for v, weights in soft.items():
        nodes[v] = nodes[v] * weights
    for v, seen in enumerate(observed):
        if seen >= 0:
            nodes[v] = nodes[v] * (np.arange(n_states[v]) == seen)
    return run_tree(wiring, observed, soft), wiring, nodes, edges


def lecture(i, j, nodes, edges, choose=np.sum):
    """The message as the lecture writes it, by recursion."""
    edge = edges[i, j] if (i, j) in edges else edges[j, i].T
    near = [b if a == i else a for a, b in edges if i in {a, b}]
    product = nodes[i].copy()
    for k in near:
        if k != j:
            product = product * lecture(k, i, nodes, edges, choose)
    return choose(edge * product[:, None], axis=0)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("observed", [[-1] * 5, [-1, 2, -1, 0, 1], [1, -1, 0, -1, -1]])
def test_messages_between_variables_are_those_of_the_lecture_exactly(observed, log):
    soft = {1: np.array([0.2, 1.0, 3.0])}
    run, wiring, nodes, edges = pairwise(1, observed, soft, log=log)
    largest = run_tree(wiring, observed, soft, maximum=True)
    for i, j in [*EDGES, *((j, i) for i, j in EDGES)]:
        message = run.message(NAMES[i], NAMES[j])
        expected = lecture(i, j, nodes, edges)
        assert message.values.sum() == pytest.approx(1.0, rel=1e-14)
        np.testing.assert_allclose(
            message.values * np.exp(message.log_scale), expected, rtol=1e-12, err_msg=f"{i}->{j}"
        )
        top = largest.message(NAMES[i], NAMES[j])
        assert top.values.max() == 1.0
        np.testing.assert_allclose(
            top.values * np.exp(top.log_scale), lecture(i, j, nodes, edges, np.max), rtol=1e-12
        )


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_what_goes_both_ways_along_a_link_multiplies_to_the_total_of_the_tree(seed, log):
    rng = np.random.default_rng(seed)
    n_states, factors = oracle.random_tree(rng, n=8, most_states=3, join=1.0)
    factors = [(scope, table) for scope, table in factors if len(scope)]
    observed = np.full(8, -1)
    observed[rng.integers(8)] = 0
    given = factors if log else [(scope, np.exp(table)) for scope, table in factors]
    run = run_tree(oracle.wiring(n_states, given, log=log), observed, {})
    _, log_z = oracle.answers(oracle.log_joint(n_states, factors, observed, {}))
    names = {f"factor {f}": f for f in range(len(factors))}
    checked = 0
    for f, (scope, _) in enumerate(factors):
        for v in scope if len(scope) > 1 else []:
            one = run.message(v, f"factor {f}", names)
            two = run.message(f"factor {f}", v, names)
            total = np.log(one.values @ two.values) + one.log_scale + two.log_scale
            assert total == pytest.approx(log_z, rel=1e-12, abs=1e-12)
            assert one.states == two.states == tuple(range(n_states[v]))
            belief = one.values * two.values / (one.values @ two.values)
            own = run.marginals[run.start[v] : run.start[v + 1]]
            np.testing.assert_allclose(belief, own, rtol=1e-12)
            checked += 1
    assert checked >= 8


def test_a_cut_off_variable_sends_the_edge_alone():
    tables = [np.array([[1.0, 2.0], [3.0, 4.0]]) * (i + 1) for i in range(3)]
    ring = [((i, (i + 1) % 3), table) for i, table in enumerate(tables)] + [((0,), [5.0, 7.0])]
    run = run_tree(oracle.wiring([2] * 3, ring, names=NAMES[:3]), [1, -1, -1], {})
    message = run.message("a", "b")
    np.testing.assert_allclose(message.values * np.exp(message.log_scale), tables[0][1])
    heard = run.message("b", "a")
    rest = tables[1] @ tables[2][:, 1]  # c summed out, with a observed there
    np.testing.assert_allclose(heard.values * np.exp(heard.log_scale), tables[0] @ rest)
    own = run.message("a", 0, {0: 0})
    assert (own.values.tolist(), own.log_scale) == ([0.0, 1.0], 0.0)
    assert np.exp(run.log_z) == pytest.approx(7 * tables[0][1] @ rest)


def test_cut_off_variables_talk_to_each_other_through_the_edge_alone():
    ring = [((i, (i + 1) % 3), np.array([[1.0, 2.0], [3.0, 4.0]])) for i in range(3)]
    wiring = oracle.wiring([2] * 3, ring, names=NAMES[:3])
    run = run_tree(wiring, [1, 0, -1], {})
    message = run.message("a", "b")
    np.testing.assert_allclose(message.values * np.exp(message.log_scale), [3.0, 4.0])
    assert run.n_messages == 2


def test_messages_print_their_states_and_values():
    run, *_ = pairwise(2, [-1] * 5, {})
    message = run.message("b", "a")
    shown = ", ".join(f"{i}: {value:.6g}" for i, value in enumerate(message.values))
    assert repr(message) == f"m[b -> a] = ({shown})"
    assert message.to_dict() == {
        "source": "b",
        "target": "a",
        "states": [0, 1],
        "values": message.values.tolist(),
        "log_scale": message.log_scale,
    }
    with pytest.raises(ValueError, match="read-only"):
        message.values[0] = 1.0
    assert repr(Message(5, 3, (0, 1), np.array([0.42, 0.58]), 0.0)) == (
        "m[5 -> 3] = (0: 0.42, 1: 0.58)"
    )


def test_messages_that_do_not_exist_are_refused_with_a_reason():
    run, wiring, *_ = pairwise(2, [-1] * 5, {})
    factors = {"ab": 0, "ac": 1, "only a": 4}
    for source, target, reason in [
        ("b", "c", "'b' and 'c' are not neighbours"),
        ("a", "a", "'a' and 'a' are not neighbours"),
        ("ab", "ac", "both factors"),
        ("ab", "e", "'ab' and variable 'e' are not linked. The factor is over 'a', 'b'"),
        ("only a", "a", "has one variable"),
        ("a", "only a", "has one variable"),
    ]:
        with pytest.raises(InputError, match=reason):
            run.message(source, target, factors)
    with pytest.raises(LabelError, match="'ax'"):
        run.message("ax", "a", factors)
    one = run_tree(wiring, [-1] * 5, {}, root=0, both_passes=False)
    assert one.message("b", "a").values.tolist() == run.message("b", "a").values.tolist()
    for away in (("a", "b", None), ("c", "d", None), ("a", "ab", factors)):
        with pytest.raises(InputError, match="away from the root.*Run both passes"):
            one.message(*away)


def test_variables_around_a_larger_factor_talk_to_the_factor():
    wiring = oracle.wiring([2] * 3, [((0, 1, 2), np.arange(8.0))], names=NAMES[:3])
    run = run_tree(wiring, [-1] * 3, {})
    assert run.n_messages == 6
    with pytest.raises(InputError, match="three variables or more.*name the factor"):
        run.message("a", "b")
    message = run.message("abc", "a", {"abc": 0})
    np.testing.assert_allclose(message.values * np.exp(message.log_scale), [6.0, 22.0])
    one = run_tree(wiring, [-1] * 3, {}, both_passes=False)
    assert one.n_messages == 3


def test_two_factors_that_join_an_observed_variable_are_told_apart_by_name():
    tables = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0], [7.0, 8.0]])
    wiring = oracle.wiring([2, 2], [((0, 1), table) for table in tables], names=["a", "b"])
    run = run_tree(wiring, [-1, 1], {})
    with pytest.raises(InputError, match="joined by 2 factors"):
        run.message("b", "a")
    message = run.message("second", "a", {"first": 0, "second": 1})
    np.testing.assert_allclose(message.values * np.exp(message.log_scale), [6.0, 8.0])


def test_impossible_evidence_leaves_no_messages():
    wiring = oracle.wiring([2, 2], [((0, 1), np.eye(2))])
    run = run_tree(wiring, [0, 1], {})
    assert run.log_z == -np.inf
    with pytest.raises(InputError, match="the evidence is impossible"):
        run.message(0, 1)
