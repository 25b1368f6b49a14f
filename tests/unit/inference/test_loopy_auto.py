"""What ``method="auto"`` does where no exact engine fits: it passes messages, warns, says why."""

import warnings

import numpy as np
import pytest

import credo
from credo.exceptions import ApproximationWarning, BudgetError, ImpossibleEvidence


def grid(side, coupling, *, mixed=False, field=0.1, seed=0):
    """A square field of two-state variables; couplings all attract, or half of them repel."""
    rng = np.random.default_rng(seed)
    site = np.arange(side**2).reshape(side, side)
    across = np.column_stack([site[:, :-1].ravel(), site[:, 1:].ravel()])
    down = np.column_stack([site[:-1].ravel(), site[1:].ravel()])
    edges = np.vstack([across, down])
    signs = rng.choice([-1.0, 1.0], len(edges)) if mixed else np.ones(len(edges))
    tables = coupling * signs[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    pulls = field * rng.normal(size=side**2)
    potentials = np.column_stack([-pulls, pulls])
    return credo.MarkovNetwork.from_arrays(potentials, edges, tables, log=True)


def test_within_the_budget_the_answer_is_exact_and_nothing_is_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        post = credo.infer(grid(6, 0.3))
    assert post.status == "EXACT"
    assert isinstance(post, credo.inference.GraphPosterior)


def test_too_wide_a_graph_is_answered_by_messages_with_a_warning():
    model = grid(14, 0.2)
    with pytest.warns(ApproximationWarning, match="engine 'loopy', CONVERGED") as caught:
        post = credo.infer(model, budget="100kB")
    assert caught[0].filename == __file__
    assert "method='exact'" in str(caught[0].message)
    assert (post.engine, post.status, post.log_evidence_is) == ("loopy", "CONVERGED", "ESTIMATE")
    assert post.why[0].startswith("no exact engine fits")
    assert post.why[1] == "loopy belief propagation with adaptive damping"
    exact = credo.infer(model)
    gap = max(
        np.abs(post.probabilities(v) - exact.probabilities(v)).max() for v in range(0, 196, 7)
    )
    assert gap < 0.01  # weak couplings
    assert post.log_evidence == pytest.approx(exact.log_evidence, rel=5e-3)
    assert post.log_evidence < exact.log_evidence  # all pairs attract: Bethe's is a lower bound


def test_exact_means_exact():
    for method in ("exact", "junction_tree"):
        with pytest.raises(BudgetError, match="1MB"):
            credo.infer(grid(20, 0.2), method=method, budget="1MB")


def test_what_messages_cannot_do_is_an_error_in_place_of_an_estimate():
    model = grid(20, 0.2)
    with pytest.raises(BudgetError):
        credo.infer(model, jeffrey={0: [0.5, 0.5]}, budget="1MB")


def test_where_messages_do_not_settle_regions_are_next():
    model = grid(10, 1.5, mixed=True)
    options = {"method": "loopy", "momentum": "adaptive", "on_failure": "return"}
    assert credo.infer(model, **options).status != "CONVERGED"
    with pytest.warns(ApproximationWarning, match="engine '(generalised|double_loop)'"):
        post = credo.infer(model, budget="10kB")
    assert post.engine in ("generalised", "double_loop")
    assert post.why[1].startswith("loopy belief propagation with adaptive damping ended as ")
    assert post.why[2].startswith("generalised belief propagation on regions")
    assert post.status == "CONVERGED"
    exact = credo.infer(model)
    assert post.log_evidence == pytest.approx(exact.log_evidence, rel=0.02)


def test_evidence_may_make_an_exact_engine_fit():
    model, side = grid(20, 0.2), 20
    cut = {v: 1 for v in range(side**2) if (v // side) % 3 == 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert credo.infer(model, cut, budget="1MB").status == "EXACT"


def test_impossible_evidence_is_an_error_here_too():
    model = credo.FactorGraph()
    side = 14
    for v in range(side**2):
        model.variable(v, 2)
    for v in range(side**2):
        if v % side < side - 1:
            model.factor([v, v + 1], [[1, 0], [0, 1]] if v == 0 else [[2, 1], [1, 2]])
        if v < side * (side - 1):
            model.factor([v, v + side], [[2, 1], [1, 2]])
    with pytest.raises(ImpossibleEvidence) as caught:
        credo.infer(model, {0: 0, 1: 1}, budget="10kB")
    assert caught.value.conflict == {0: 0, 1: 1}
