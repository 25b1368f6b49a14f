"""Textbook G1: messages on a graph with cycles, momentum, schedules, and how it ends."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import credo
from credo.exceptions import InputError

HALF = Fraction(1, 2)


def triangle(first=(3.0, 1.0), table=((2.0, 1.0), (1.0, 2.0))):
    """Three variables in a cycle; only the first one has an opinion of its own."""
    field = credo.MarkovNetwork()
    field.node("a", 2, list(first))
    field.node("b", 2)
    field.node("c", 2)
    for one, two in ("ab", "bc", "ca"):
        field.edge(one, two, [list(row) for row in table])
    return field


def loopy(field, **options):
    options = {"method": "loopy", "schedule": "flooding", "on_failure": "return", **options}
    return credo.infer(field, **options)


def assert_says(post, source, target, first):
    """The message has this first entry, and sums to one."""
    values = post.message(source, target).values
    np.testing.assert_allclose(values, [float(first), float(1 - first)], rtol=1e-14)


def test_g1_one_sweep_from_a_uniform_start():
    """m(a to b) = 3 (2, 1) + 1 (1, 2) = (7, 5); b and c, who know nothing, say (3, 3)."""
    post = loopy(triangle(), sweeps=1, momentum=1.0)
    for target in "bc":
        assert_says(post, "a", target, Fraction(7, 12))
    for source, target in ("ba", "ca", "bc", "cb"):
        assert_says(post, source, target, HALF)
    assert post.residuals == pytest.approx([1 / 12], rel=1e-13)
    np.testing.assert_allclose(post.probabilities("a"), [3 / 4, 1 / 4], rtol=1e-14)
    np.testing.assert_allclose(post.probabilities("b"), [7 / 12, 5 / 12], rtol=1e-14)


def test_g1_momentum_is_the_share_of_the_new_message():
    """With eta = 1/4: 1/4 * 7/12 + 3/4 * 1/2 = 25/48, and the residual is that before mixing."""
    post = loopy(triangle(), sweeps=1, momentum=0.25)
    for target in "bc":
        assert_says(post, "a", target, Fraction(25, 48))
    assert post.residuals == pytest.approx([1 / 12], rel=1e-13)
    np.testing.assert_allclose(post.probabilities("b"), [25 / 48, 23 / 48], rtol=1e-14)


def test_g1_two_sweeps_with_momentum_one_half():
    """First (13, 11)/24; then a says (7/12 + 13/24)/2 = 9/16 to b, and b passes on to c

    2 * 13 + 11 = 37 against 13 + 2 * 11 = 35, mixed with one half: (37/72 + 1/2)/2 = 73/144.
    """
    post = loopy(triangle(), sweeps=2, momentum=0.5)
    for source, target in ("ab", "ac"):
        assert_says(post, source, target, Fraction(9, 16))
    for source, target in ("bc", "cb"):
        assert_says(post, source, target, Fraction(73, 144))
    for source, target in ("ba", "ca"):
        assert_says(post, source, target, HALF)
    assert post.residuals == pytest.approx([1 / 12, 1 / 24], rel=1e-13)
    right, wrong = Fraction(9, 16) * Fraction(73, 144), Fraction(7, 16) * Fraction(71, 144)
    expected = float(right / (right + wrong))
    np.testing.assert_allclose(post.probabilities("b"), [expected, 1 - expected], rtol=1e-13)


def test_g1_momentum_in_logs_mixes_ratios():
    """In logs the mixture of (7, 5) and (1, 1) by halves is (sqrt 7, sqrt 5)."""
    post = loopy(triangle(), sweeps=1, momentum=0.5, domain="log")
    said = post.message("a", "b").values
    assert said[0] / said[1] == pytest.approx(math.sqrt(7 / 5), rel=1e-14)
    assert said.sum() == pytest.approx(1.0, rel=1e-14)


def test_g1_factors_of_any_scale_send_the_same_normalised_messages():
    plain = loopy(triangle(), sweeps=3, momentum=0.5)
    scaled = loopy(triangle((3e8, 1e8), ((2e-9, 1e-9), (1e-9, 2e-9))), sweeps=3, momentum=0.5)
    for source, target in itertools.permutations("abc", 2):
        one, two = (post.message(source, target).values for post in (plain, scaled))
        np.testing.assert_allclose(one, two, rtol=1e-13)
        assert one.sum() == pytest.approx(1.0, rel=1e-14)
    np.testing.assert_allclose(plain.residuals, scaled.residuals, rtol=1e-12)


@pytest.mark.parametrize("sweeps", [1, 2, 10])
def test_g1_as_many_sweeps_as_asked_for(sweeps):
    post = loopy(triangle(), sweeps=sweeps, momentum=0.3)
    assert (post.status, post.sweeps, len(post.residuals)) == ("MAX_SWEEPS", sweeps, sweeps)
    assert post.updates == 6 * sweeps


def test_g1_the_residual_falls_until_the_tolerance_is_met():
    post = loopy(triangle(), momentum=1.0, tolerance=1e-10)
    assert post.status == "CONVERGED"
    assert post.residuals[-1] <= 1e-10 < post.residuals[0]
    # around the cycle a message is multiplied by the same matrix each time: errors shrink alike
    tail = post.residuals[4:12]
    assert (np.diff(tail) < 0).all()


def test_g1_the_fixed_point_of_a_cycle_solves_its_equation():
    """Around the triangle a message to b is an eigenvector of T T T' with T' carrying a's opinion.

    From a through b and c back to a: M = table^3 applied after the opinion; the message that a
    hears from c is its leading eigenvector, the largest eigenvalue being the estimate of Z.
    """
    table, opinion = np.array([[2.0, 1.0], [1.0, 2.0]]), np.diag([3.0, 1.0])
    around = np.linalg.matrix_power(table, 3) @ opinion
    values, vectors = np.linalg.eig(around)
    lead = vectors[:, values.argmax()] / vectors[:, values.argmax()].sum()
    post = loopy(triangle(), tolerance=1e-13)
    np.testing.assert_allclose(post.message("c", "a").values, lead, rtol=1e-10)
    assert post.log_evidence == pytest.approx(math.log(values.max()), abs=1e-10)
    belief = np.array([3.0, 1.0]) * lead**2
    np.testing.assert_allclose(post.probabilities("a"), belief / belief.sum(), rtol=1e-10)
    exact = credo.infer(triangle())
    assert math.exp(exact.log_evidence) == pytest.approx(values.sum(), rel=1e-12)


def ring_with_tails(n=40, tail=10):
    """A ring, and a chain hanging from it, whose last variable is pulled."""
    rng = np.random.default_rng(2)
    pairs = [(v, (v + 1) % n) for v in range(n)]
    pairs += [(0, n), *((n + i, n + i + 1) for i in range(tail))]
    fields = np.zeros((n + tail + 1, 2))
    fields[-1] = [0.0, 2.0]
    fields[: n // 2] = 0.3 * rng.normal(size=(n // 2, 2))
    table = np.array([[0.6, 0.0], [0.0, 0.6]])
    return credo.MarkovNetwork.from_arrays(fields, np.array(pairs), table, log=True)


def test_g1_leaves_to_root_and_back_settles_a_graph_with_a_cycle_in_fewer_sweeps():
    field = ring_with_tails()
    flood = loopy(field, momentum=1.0)
    walk = loopy(field, momentum=1.0, schedule="tree")
    assert flood.status == walk.status == "CONVERGED"
    assert 3 * walk.sweeps < flood.sweeps
    for v in range(51):
        np.testing.assert_allclose(walk.probabilities(v), flood.probabilities(v), atol=1e-7)


def test_g1_forests_cover_every_edge_of_a_graph_with_cycles():
    """Each sweep passes every message at least once: nobody keeps the uniform start."""
    field = ring_with_tails()
    once = loopy(field, momentum=1.0, schedule="tree", sweeps=1)
    assert once.updates >= 2 * 51
    settled = loopy(field, momentum=1.0)
    for one, two in [(v, (v + 1) % 40) for v in range(40)]:
        for source, target in ((one, two), (two, one)):
            said = once.message(source, target).values
            away = abs(settled.message(source, target).values[0] - 0.5)
            assert away < 1e-3 or abs(said[0] - 0.5) > 1e-6


def test_g1_on_a_tree_leaves_to_root_and_back_is_all_it_takes():
    chain = credo.MarkovNetwork()
    for name in "abcd":
        chain.node(name, 2, [2.0, 1.0])
    for one, two in ("ab", "bc", "cd"):
        chain.edge(one, two, [[3.0, 1.0], [1.0, 2.0]])
    post, exact = loopy(chain, schedule="tree"), credo.infer(chain)
    assert (post.status, post.sweeps, post.updates) == ("EXACT", 1, 6)
    for name in "abcd":
        np.testing.assert_allclose(post.probabilities(name), exact.probabilities(name), rtol=1e-14)


def test_g1_an_oscillation_is_detected_and_momentum_ends_it():
    """Four variables that all repel each other, all pulled the same way: all flip together."""
    field = credo.MarkovNetwork()
    for name in "abcd":
        field.node(name, 2, [1.0, math.exp(0.4)])
    for one, two in itertools.combinations("abcd", 2):
        field.edge(one, two, [[math.exp(-1), math.e], [math.e, math.exp(-1)]])
    post = loopy(field, momentum=1.0)
    assert (post.status, post.period) == ("OSCILLATING", 2)
    later = loopy(field, momentum=1.0, start=post, sweeps=1)
    assert abs(later.probabilities("a")[0] - post.probabilities("a")[0]) > 0.5
    back = loopy(field, momentum=1.0, start=later, sweeps=1)
    np.testing.assert_allclose(back.probabilities("a"), post.probabilities("a"), atol=1e-6)
    for momentum in (0.5, "adaptive"):
        mixed = loopy(field, momentum=momentum)
        assert (mixed.status, mixed.period) == ("CONVERGED", 0)
        assert mixed.residuals[-1] <= 1e-8


def test_g1_beliefs_are_seen_sweep_by_sweep():
    """The beliefs of b after one sweep are (7, 5)/12, as the message from a; see above."""
    heard = []
    post = loopy(
        triangle(),
        sweeps=4,
        momentum=0.5,
        callback=lambda *told, beliefs: heard.append((*told, beliefs)),
    )
    assert [sweep for sweep, _, _ in heard] == [1, 2, 3, 4]
    assert [residual for _, residual, _ in heard] == post.residuals.tolist()
    for k in (1, 2, 3):
        shorter = loopy(triangle(), sweeps=k, momentum=0.5)
        assert heard[k - 1][2] == {v: pytest.approx(p) for v, p in shorter.to_dict().items()}
    right, wrong = Fraction(13, 24), Fraction(11, 24)
    assert heard[0][2]["b"] == pytest.approx({0: float(right), 1: float(wrong)})
    assert heard[-1][2] == post.to_dict()


def test_g1_beliefs_handed_to_a_callback_have_observed_variables_and_leave_out_what_is_not_asked():
    heard = []
    loopy(triangle(), callback=lambda *_, beliefs: heard.append(beliefs), sweeps=1)
    assert list(heard[0]) == ["a", "b", "c"]
    field = triangle()
    credo.infer(
        field,
        {"c": 1},
        query=["b", "c"],
        method="loopy",
        callback=lambda *_, beliefs: heard.append(beliefs),
    )
    assert list(heard[-1]) == ["b", "c"]
    assert heard[-1]["c"] == {0: 0.0, 1: 1.0}
    with pytest.raises(InputError, match="only with method='loopy'"):
        credo.infer(field, method="mean_field", callback=lambda *_, beliefs: beliefs.clear())


def square():
    """A ring of four, each with an opinion of its own."""
    ring = credo.MarkovNetwork()
    for name, potential in OPINIONS.items():
        ring.node(name, 2, potential)
    for one, two in RING:
        ring.edge(one, two, TABLE)
    return ring


OPINIONS = {"a": [3.0, 1.0], "b": [1.0, 4.0], "c": [1.0, 2.0], "d": [5.0, 1.0]}
RING, TABLE = ("ab", "bc", "cd", "da"), np.array([[2.0, 1.0], [1.0, 2.0]])


def walked(root):
    """Beliefs after one sweep, written out: two trees of shortest paths, to the root and back.

    Variables and their pairs form a ring of eight, so any seven links are a tree. The first tree
    leaves out a link of the node across, c for a; the second takes it up and leaves out another.
    """
    links = [(pair, v) for pair in RING for v in pair]
    ring = ["a", "ab", "b", "bc", "c", "cd", "d", "da"]
    far = {v: abs(ring.index(v) - ring.index(root)) for v in ring}
    far = {v: min(steps, 8 - steps) for v, steps in far.items()}
    said, used = dict.fromkeys(links, np.ones(2)), dict.fromkeys(links, 0)
    for _ in range(2):
        tree = sorted(links, key=lambda link: (used[link], min(map(far.get, link))))[:7]
        depth, waiting = {root: 0}, [root]
        for node in waiting:
            ends = [one if two == node else two for one, two in tree if node in (one, two)]
            new = [end for end in ends if end not in depth]
            depth |= dict.fromkeys(new, depth[node] + 1)
            waiting += new
        up = sorted((x for x in tree if depth[x[0]] > depth[x[1]]), key=lambda x: -depth[x[0]])
        down = sorted((x for x in tree if depth[x[0]] < depth[x[1]]), key=lambda x: depth[x[1]])
        for pair, v in up + down:
            u = pair.replace(v, "")
            heard = [said[other, w] for other, w in links if w == u and other != pair]
            said[pair, v] = TABLE @ np.prod([OPINIONS[u], *heard], axis=0)
            said[pair, v] /= said[pair, v].sum()
            used[pair, v] += 1
    heard = {v: [m for (_, at), m in said.items() if at == v] for v in OPINIONS}
    products = {v: np.prod([OPINIONS[v], *heard[v]], axis=0) for v in OPINIONS}
    return {v: product / product.sum() for v, product in products.items()}


@pytest.mark.parametrize("root", list("abcd"))
def test_g1_the_tree_schedule_walks_to_the_root_asked_for_and_back(root):
    once = loopy(square(), schedule="tree", root=root, momentum=1.0, sweeps=1)
    for name, expected in walked(root).items():
        np.testing.assert_allclose(once.probabilities(name), expected, rtol=1e-12)
    post = loopy(square(), schedule="tree", root=root, momentum=1.0)
    settled = loopy(square(), momentum=1.0)
    assert post.status == "CONVERGED"
    for name in "abcd":
        np.testing.assert_allclose(post.probabilities(name), settled.probabilities(name), atol=1e-7)


def test_g1_on_a_loopy_graph_the_first_sweep_depends_on_the_root():
    first = [loopy(square(), schedule="tree", root=v, momentum=1.0, sweeps=1) for v in "ab"]
    one, two = (post.probabilities("a") for post in first)
    assert np.abs(one - two).max() > 1e-3


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"schedule": "flooding", "root": "a"}, "only with schedule='tree'"),
        ({"schedule": "tree", "root": "c"}, "must be a variable that takes part; 'c' is observed"),
        ({"schedule": "tree", "root": "z"}, "'z'"),
    ],
)
def test_g1_a_root_that_cannot_be_one_is_refused(options, reason):
    with pytest.raises(InputError, match=reason):
        credo.infer(triangle(), {"c": 0}, method="loopy", **options)
