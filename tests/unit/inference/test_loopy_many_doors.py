"""Many rows through loopy belief propagation: what goes in, and how rows end."""

import numpy as np
import pytest

import credo
from credo.exceptions import BudgetError, ImpossibleEvidence, InputError, LabelError, ShapeError
from credo.graphs import FactorGraph, parity_graph
from credo.inference.many import ManyEngine, infer_batches, infer_many


def triangle(coupling=1.0):
    """Three spins in a ring."""
    graph = FactorGraph()
    for name in "abc":
        graph.variable(name, ["down", "up"])
    for pair in ("ab", "bc", "ca"):
        graph.factor(list(pair), coupling * np.array([[1.0, -1.0], [-1.0, 1.0]]), log=True)
    return graph


def loopy(*args, **kwargs):
    return credo.infer_many(*args, method="loopy", **kwargs)


def test_a_result_says_how_every_row_ended():
    rows = [{"a": "up"}, {}, {"a": "up"}, {"b": "down", "c": "up"}]
    many = loopy(triangle(), rows)
    assert many.status == "CONVERGED"
    assert many.statuses.tolist() == ["CONVERGED"] * 4
    assert many.log_evidence_is == "ESTIMATE"
    assert (many.residuals <= 1e-8).all()
    assert many.sweeps[0] == many.sweeps[2] > many.sweeps[3] > 0
    assert repr(many) == "<ManyPosteriors: 4 rows, 3 variables, CONVERGED>"
    assert many["b"].probabilities[0].argmax() == 1
    short = loopy(triangle(), rows, sweeps=2)
    assert short.status == "MAX_SWEEPS"
    assert short.statuses.tolist() == ["MAX_SWEEPS", "CONVERGED", "MAX_SWEEPS", "MAX_SWEEPS"]
    exact = infer_many(triangle(), rows)
    assert exact.status == exact.log_evidence_is == "EXACT"
    assert exact.statuses.tolist() == ["EXACT"] * 4
    assert not exact.sweeps.any()
    assert not exact.residuals.any()


def test_momentum_settles_what_goes_back_and_forth():
    settings = {"log_potentials": {"a": np.array([[0.0, 0.3]])}, "sweeps": 300}
    assert loopy(triangle(-2.0), **settings).status == "MAX_SWEEPS"
    assert loopy(triangle(-2.0), momentum=0.5, **settings).status == "CONVERGED"


def test_the_most_probable_states_are_given_all_at_once():
    graph = FactorGraph()
    graph.variable("a", 2)
    graph.variable("b", 3)
    graph.factor(["a", "b"], [[1.0, 0.0, 0.0], [0.0, 1.0, 3.0]])
    rows = [{"a": 0}, {}, {"b": 1}, {"a": 0, "b": 1}, {}]
    many = loopy(graph, rows, on_impossible="nan")
    assert many.most_probable().tolist() == [[0, 0], [1, 2], [1, 1], [-1, -1], [1, 2]]
    assert many.impossible.tolist() == [3]
    assert infer_many(graph, rows[:3], query=["b"]).most_probable().tolist() == [[0], [2], [1]]
    assert loopy(graph, rows[:2], query=[]).most_probable().shape == (2, 0)


def test_impossible_rows_are_named_or_nan():
    graph = parity_graph([[1, 1, 1, 0], [0, 1, 1, 1]])
    rows = [{0: 1, 3: 1}, {0: 1, 3: 0}, {0: 0, 1: 1, 2: 0}]
    said = "infer_many, row 2: .* cannot all be true"
    with pytest.raises(ImpossibleEvidence, match=said) as error:
        loopy(graph, [rows[0], rows[0], rows[2]])
    assert set(error.value.conflict) == {0, 1, 2}
    for wants_sums in (True, False):
        many = loopy(graph, rows, on_impossible="nan", log_evidence=wants_sums)
        assert many.statuses[2] == "IMPOSSIBLE"
        assert np.isnan(many.residuals[2])
        assert np.isnan(many.probabilities(3)[2]).all()
        assert many.log_evidence[2] == -np.inf
        assert np.isnan(many.log_evidence[0]) != wants_sums
    with pytest.raises(InputError, match="Rows 2 are impossible"):
        _ = many[0]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("far", [0.0, -5000.0])
def test_potentials_that_allow_nothing_are_named(dtype, far):
    """Also in logs, where rows go whose numbers are too small."""
    graph, logs = parity_graph([[1, 1]]), np.zeros((3, 2, 2))
    logs[:, 0, 1] = far
    logs[1, 0], logs[2] = -np.inf, [[far, -np.inf], [-np.inf, 0.0]]
    with pytest.raises(ImpossibleEvidence, match="row 1: potentials and evidence allow no"):
        loopy(graph, log_potentials=logs, dtype=dtype)
    many = loopy(graph, log_potentials=logs, dtype=dtype, on_impossible="nan")
    assert many.statuses.tolist() == ["CONVERGED", "IMPOSSIBLE", "IMPOSSIBLE"]
    assert many.log_evidence.tolist() == [pytest.approx(np.log1p(np.exp(far))), -np.inf, -np.inf]
    again = loopy(graph, potentials=np.exp(logs), dtype=dtype, on_impossible="nan")
    assert again.impossible.tolist() == [1, 2]


def test_a_model_that_allows_nothing_is_an_error():
    graph = FactorGraph()
    graph.variable("a", 2)
    graph.factor(["a"], [1.0, 0.0])
    graph.factor(["a"], [0.0, 1.0])
    with pytest.raises(InputError, match="the model allows no configuration"):
        loopy(graph, [{}])


class TestUntilSatisfied:
    """A row is done once the most probable states are possible together."""

    def test_decoding_stops_when_all_checks_hold(self):
        hamming = parity_graph((np.arange(1, 8) >> np.arange(3)[:, None]) & 1)
        words = np.zeros((8, 7, 2))
        words[..., 1] = -2.0
        words[np.arange(1, 8), np.arange(7), 1] = 0.5  # the first is clean, others have one error
        many = loopy(hamming, log_potentials=words, until="satisfied")
        assert many.status == "SATISFIED"
        assert many.sweeps[0] == 1
        assert not many.most_probable().any()
        assert (loopy(hamming, log_potentials=words).sweeps > many.sweeps).all()

    def test_what_settles_elsewhere_has_converged(self):
        logs = np.zeros((2, 2, 2))
        logs[1, 0, 1] = 1.0
        many = loopy(parity_graph([[1, 1]], syndrome=[1]), log_potentials=logs, until="satisfied")
        assert many.statuses.tolist() == ["CONVERGED", "SATISFIED"]
        assert many.status == "CONVERGED"

    def test_rows_in_logs_stop_too(self):
        logs = np.zeros((2, 3, 2))
        logs[:, :2, 1] = 2000.0
        logs[1, 2, 1] = 1000.0
        many = loopy(parity_graph([[1, 1, 1]]), log_potentials=logs, until="satisfied")
        assert many.statuses.tolist() == ["SATISFIED"] * 2
        assert many.most_probable().tolist() == [[1, 1, 0]] * 2

    @pytest.mark.parametrize(
        ("rule", "likely", "is_possible"),
        [
            ("at_most_one", [1, 0, 0], True),
            ("at_most_one", [1, 1, 0], False),
            ("noisy_or", [0, 0, 0], True),
            ("noisy_or", [0, 1, 1], True),
            ("noisy_or", [1, 0, 0], False),
            ("noisy_or", [0, 0, 1], False),
            ("noisy_and", [1, 1, 1], True),
            ("noisy_and", [0, 1, 1], False),
            ("factor", [0, 1, 1], True),
            ("factor", [1, 1, 1], False),
        ],
    )
    def test_rules_and_tables_are_checked(self, rule, likely, is_possible):
        graph = FactorGraph()
        for name in "abc":
            graph.variable(name, 2)
        table = np.zeros((2, 2, 2))
        table[0, 1, 1], table[0, 0, 0] = 1.0, 0.5
        gate = "c", {"a": 1.0, "b": 0.5}
        given = {"at_most_one": (list("abc"),), "factor": (list("abc"), table)}
        getattr(graph, rule)(*given.get(rule, gate))
        favours = {name: [[0.0, 9.0 * x - 4.5]] for name, x in zip("abc", likely, strict=True)}
        many = loopy(graph, log_potentials=favours, until="satisfied", tolerance=1e-3)
        is_kept = many.most_probable().tolist() == [likely]
        assert (is_kept and many.status == "SATISFIED") == is_possible


def test_progress_counts_repeats():
    seen = []
    rows = [{"a": "up"}] * 5 + [{"b": "down"}]
    loopy(triangle(), rows, progress=lambda *counts: seen.append(counts), threads=1)
    assert seen[-1] == (6, 6)


def test_an_engine_and_batches_answer_the_same():
    rows = [{"a": "up"}, {"b": "up"}, {}]
    whole = loopy(triangle(), rows, sweeps=9).probabilities("c")
    engine = ManyEngine(triangle(), method="loopy", sweeps=9, query=["c"])
    np.testing.assert_array_equal(engine.run(rows).probabilities("c"), whole)
    potentials = {"a": [[0.0, 1.0]]}
    np.testing.assert_array_equal(engine.run(potentials=potentials).probabilities("c"), whole[:1])
    parts = infer_batches(triangle(), ([row] for row in rows), method="loopy", sweeps=9)
    np.testing.assert_array_equal(np.vstack([p.probabilities("c") for p in parts]), whole)


def test_no_rows_lonely_variables_and_constants_are_no_trouble():
    assert loopy(triangle(), potentials=np.ones((0, 3, 2))).n_rows == 0
    assert loopy(triangle(), []).status == "EXACT"
    graph = FactorGraph()
    graph.variable("alone", 3)
    graph.variable("weighed", 2)
    graph.factor(["weighed"], [3.0, 1.0])
    graph.parity(["weighed"], even=False)
    many = loopy(graph, [{}])
    assert many.log_evidence[0] == pytest.approx(np.log(3.0))
    assert many.probabilities("weighed").tolist() == [[0.0, 1.0]]
    assert loopy(FactorGraph(), [{}]).log_evidence.tolist() == [0.0]


def test_budgets_are_kept():
    with pytest.raises(BudgetError, match="the marginals of 1000 rows, 6 numbers each, take"):
        loopy(triangle(), potentials=np.ones((1000, 3, 2)), budget="60kB")
    with pytest.raises(BudgetError, match="messages of rows side by side take .* budget leaves"):
        loopy(triangle(), [{}], budget="5kB")
    few = loopy(triangle(), potentials=np.ones((300, 3, 2)), budget="100kB", threads=8)
    assert few.status == "CONVERGED"


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"rows": None}, InputError, "needs rows of evidence, or potentials. Got neither"),
        ({"potentials": np.ones((1, 3, 2)), "log_potentials": 1}, InputError, "not both"),
        ({"potentials": {}}, InputError, "name no variable"),
        ({"potentials": {"z": np.ones((1, 2))}}, LabelError, "'z'"),
        ({"potentials": {"a": np.ones((1, 3))}}, ShapeError, r"'a' must have shape \(rows, 2\)"),
        (
            {"potentials": {"a": np.ones((1, 2)), "b": np.ones((2, 2))}},
            ShapeError,
            "'b' have 2 rows, those of 'a' 1",
        ),
        ({"potentials": np.ones((4, 2))}, ShapeError, r"must have shape \(rows, 3, 2\)"),
        ({"potentials": "abc"}, InputError, "must be numbers"),
        ({"potentials": -np.ones((1, 3, 2))}, InputError, "Row 0 has -1.0 for 'a'"),
        ({"potentials": {"b": [[1.0, np.inf]]}}, InputError, "Row 0 has inf for 'b'"),
        ({"log_potentials": {"b": [[0.0, np.nan]]}}, InputError, "Row 0 has nan for 'b'"),
        ({"potentials": np.ones((2, 3, 2))}, ShapeError, "1 rows of evidence and 2 of potentials"),
        ({"momentum": 0.0}, InputError, "momentum"),
        ({"momentum": "adaptive"}, InputError, "share of the new message"),
        ({"sweeps": 0}, InputError, "sweeps"),
        ({"tolerance": -1.0}, InputError, "tolerance"),
        ({"dtype": "float16"}, InputError, "dtype"),
        ({"until": "done"}, InputError, "until"),
        ({"schedule": "residual"}, InputError, "schedule"),
        ({"speed": 1}, InputError, "has no option 'speed'"),
        ({"threads": 0}, InputError, "threads"),
        ({"method": "auto", "potentials": np.ones((1, 3, 2))}, InputError, "need method='loopy'"),
    ],
)
def test_what_does_not_fit_is_refused(given, error, said):
    with pytest.raises(error, match=said):
        infer_many(triangle(), **{"rows": [{}], "method": "loopy"} | given)


def test_unequal_numbers_of_states_need_names():
    graph = FactorGraph()
    graph.variable("a", 2)
    graph.variable("b", 3)
    with pytest.raises(ShapeError, match="have 2 to 3. Pass a mapping"):
        loopy(graph, potentials=np.ones((1, 2, 2)))
