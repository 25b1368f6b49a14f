"""What exact answers are asked for besides marginals: joint tables and draws."""

import collections

import numpy as np
import pytest
from scipy import stats
from tests.models import graph, sprinkler, star, steps
from tests.oracles.joint import Joint

import credo
from credo.exceptions import InputError, LabelError

N = 20_000


class TestJoint:
    def test_of_twenty_variables_along_a_chain(self):
        names = [f"x{i}" for i in range(20)]
        table = credo.infer(steps(20, [0.3, 0.7])).joint(names).table
        assert table.shape == (2,) * 20
        assert table[(0,) * 20] == pytest.approx(0.3 * 0.9**19, rel=1e-12)

    def test_holds_the_weights_of_jeffrey(self):
        joint = credo.infer(steps(6), jeffrey={"x1": [0.5, 0.5]}).joint(["x1", "x2"])
        np.testing.assert_allclose(joint.table, [[0.45, 0.05], [0.1, 0.4]], rtol=1e-12)
        assert joint[{"x2": 1, "x1": 0}] == joint.table[0, 1]

    def test_of_a_wide_table_is_summed_in_logs(self):
        wide = ("ab", [[0.0, -5000.0], [-5000.0, -9000.0]])
        model = graph("abc", wide, ("bc", [[-5000.0, -np.inf], [-np.inf, 0.0]]), log=True)
        joint = credo.infer(model).joint(["c", "a"])
        np.testing.assert_allclose(joint.table, [[0.5, 0.0], [0.5, 0.0]], rtol=1e-10)

    def test_nothing_one_twice_unknown_or_a_string_is_refused(self):
        post = credo.infer(steps(3))
        for names, error, words in [
            ([], InputError, "joint needs"),
            (["x0", "x0"], InputError, "'x0' twice"),
            (["x99"], LabelError, "x99"),
            ("x0", InputError, "list of names"),
        ]:
            with pytest.raises(error, match=words):
                post.joint(names)


def assert_frequencies(draws, probabilities, n=N):
    """Every cell within the binomial bounds that one run in a million of cells leaves."""
    counts = collections.Counter(zip(*draws.values(), strict=True))
    for place, p in np.ndenumerate(probabilities):
        low, high = stats.binom.interval(1 - 1e-6, n, p)
        assert low <= counts.pop(place, 0) <= high
    assert not counts


class TestDraws:
    @pytest.mark.parametrize(
        ("evidence", "likelihood"), [({}, {}), ({1: {0, 2}, 0: 0}, {3: [0.2, 1.0, 3.0]})]
    )
    def test_whole_configurations_are_as_frequent_as_they_are_probable(self, evidence, likelihood):
        rng = np.random.default_rng(5)
        sizes = [2, 3, 2, 3]
        pairs = [(i, (i + 1) % 4) for i in range(4)]
        tables = [rng.random((sizes[i], sizes[j])) for i, j in pairs]
        tables = [np.where(table < 0.3, 0.0, table) for table in tables]
        model = graph(dict(enumerate(sizes)), *zip(pairs, tables, strict=True))
        draws = credo.infer(model, evidence, likelihood=likelihood).sample(N, random_state=1)
        left = Joint.of(model).given(evidence, likelihood)
        assert_frequencies(draws, left.joint(left.names))

    def test_under_jeffrey(self):
        draws = credo.infer(steps(3), jeffrey={"x1": [0.5, 0.5]}).sample(N, random_state=2)
        assert_frequencies({"x1": draws["x1"]}, np.array([0.5, 0.5]))

    def test_in_logs(self):
        factors = [("a", [0.0, -3000.0]), ("ab", [[-3000.0, -np.inf], [np.log(0.5)] * 2])]
        draws = credo.infer(graph("ab", *factors, log=True)).sample(N, random_state=3)
        assert_frequencies(draws, np.array([[0.5, 0.0], [0.25, 0.25]]))

    def test_where_scaled_arithmetic_would_lose_a_state(self):
        evidence = {f"leaf{i}": int(i >= 200) for i in range(400)}
        draws = credo.infer(star(400), evidence).sample(2000, random_state=4)
        assert_frequencies({"centre": draws["centre"]}, np.array([0.5, 0.5]), 2000)

    def test_all_variables_come_in_order_whatever_the_query(self):
        draws = credo.infer(sprinkler(), {"wet": "yes"}, query=["rain"]).sample(7, random_state=0)
        assert list(draws) == ["rain", "sprinkler", "wet"]
        assert draws["wet"] == ["yes"] * 7
        assert set(draws["rain"]) <= {"no", "yes"}

    def test_none_and_more_than_a_block(self):
        post = credo.infer(sprinkler())
        assert post.sample(0) == {"rain": [], "sprinkler": [], "wet": []}
        assert len(post.sample(2500, random_state=0)["rain"]) == 2500

    def test_are_others_by_another_seed_and_the_same_by_a_generator(self):
        post = credo.infer(steps(30))
        assert post.sample(50, random_state=3) != post.sample(50, random_state=4)
        again = np.random.default_rng(3)
        assert post.sample(50, random_state=again) == post.sample(50, random_state=3)

    @pytest.mark.parametrize("n", [-1, 2.5, "many"])
    def test_counts_must_be_whole_and_not_negative(self, n):
        with pytest.raises(InputError, match="sample"):
            credo.infer(sprinkler()).sample(n)
