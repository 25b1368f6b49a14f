"""What every measure of decisions promises: weights, orders, losses by row, mistakes."""

import json

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from tests.alike import assert_alike

from credo import Loss, Posterior, decide
from credo.decisions import (
    calibration,
    confusion_matrix,
    cost_curve,
    evaluate,
    expected_loss,
    net_benefit,
    risk_coverage,
)
from credo.exceptions import InputError, LabelError, ShapeError

AB = ["a", "b"]
LOSS = Loss([[0, 3], [5, 1]], AB, ["x", "y"])
REJECT = LOSS.with_reject(1.5)
#: Each takes truths, a posterior, a loss and options.
MEASURES = {
    "confusion": lambda y, p, loss, **options: confusion_matrix(y, decide(p, loss), **options),
    "expected loss": lambda y, p, loss, **options: expected_loss(
        y, decide(p, loss), loss, **options, n_bootstrap=0
    ),
    "coverage of errors": lambda y, p, _, **options: risk_coverage(y, p, **options),
    "coverage": risk_coverage,
    "net benefit": net_benefit,
    "cost curve": lambda y, p, _, **options: cost_curve(y, p, LOSS, **options),
    "calibration": lambda y, p, _, **options: calibration(y, p, **options),
    **{
        f"calibration in {kind} bins": lambda y, p, _, kind=kind, **options: calibration(
            y, p, label="a", strategy=kind, n_bins=4, **options
        )
        for kind in ("uniform", "quantile")
    },
    "evaluation": lambda y, p, loss, **options: evaluate(y, p, loss, **options, n_bootstrap=0),
}
ALL = pytest.mark.parametrize("name", MEASURES)


@st.composite
def labelled(draw):
    """Exact probabilities that are never one half, truths of both labels, and whole weights."""
    n = draw(st.integers(2, 12))
    p = (2 * np.array(draw(st.lists(st.integers(0, 31), min_size=n, max_size=n))) + 1) / 64
    y = np.array(AB)[draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))]
    weights = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    assume(len(set(y[weights > 0])) == 2)
    return np.stack([p, 1 - p], axis=1), y, weights


def posterior(p):
    return Posterior.from_probabilities(p, AB)


@ALL
@given(rows=labelled())
def test_a_weight_is_the_row_so_many_times(name, rows):
    p, y, weights = rows
    weighted = MEASURES[name](y, posterior(p), REJECT, sample_weight=weights)
    many = MEASURES[name](np.repeat(y, weights), posterior(np.repeat(p, weights, axis=0)), REJECT)
    # intervals and the number of rows count rows, whatever they weigh
    assert_alike(weighted.to_dict(), many.to_dict(), apart=("n_rows", "low", "high"))


@ALL
@given(rows=labelled(), random=st.randoms(use_true_random=False))
def test_neither_the_order_of_rows_nor_of_labels_matters(name, rows, random):
    p, y, weights = rows
    order = list(range(len(p)))
    random.shuffle(order)
    one = MEASURES[name](y, posterior(p), REJECT, sample_weight=weights).to_dict()
    turned = Posterior.from_probabilities(p[order][:, ::-1], AB[::-1])
    loss = Loss(REJECT.matrix[::-1], AB[::-1], REJECT.acts, reject="reject")
    options = {"positive": one["positive"]} if "positive" in one else {}
    other = MEASURES[name](y[order], turned, loss, sample_weight=weights[order], **options)
    other = other.to_dict()
    for table in (other, other.get("confusion", {})):
        if "counts" in table:
            table["counts"], table["truths"] = table["counts"][::-1], table["truths"][::-1]
    assert_alike(other, one)


@pytest.mark.parametrize("name", ["confusion", "expected loss", "coverage", "evaluation"])
@given(rows=labelled())
def test_the_same_matrix_for_each_row_is_the_one_matrix(name, rows):
    p, y, weights = rows
    for loss in (LOSS, REJECT):
        per_row = loss.per_row(np.repeat(loss.matrix[None], len(y), axis=0))
        one, many = (
            MEASURES[name](y, posterior(p), each, sample_weight=weights) for each in (loss, per_row)
        )
        assert_alike(many.to_dict(), one.to_dict())


P = posterior(np.array([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]]))
Y = ["a", "b", "b"]
FLAT = LOSS.per_row(np.zeros((3, 2, 2)))
#: Pieces of what each prints.
PRINTED = {
    "confusion": ["truth \\ act  x  y  reject", "b            0  0       2"],
    "expected loss": ["Mean loss 1 on 3 rows (no interval)", "constant act 'reject': 1.5"],
    "coverage of errors": ["Area under the risk-coverage curve 0.063", "0.6667          0"],
    "coverage": ["Area under the risk-coverage curve 0.55", "none  with its reject act"],
    "net benefit": ["acting on 'b'", "the loss acts from 0.428571"],
    "cost curve": ["Cost curve for 'b': better than a constant act at 81 of 201"],
    "calibration": ["Calibration of the most probable label", " 0.500 to 0.600     0.6000    0.0"],
    "calibration in uniform bins": ["Calibration of 'a' on 3 rows", " 0.250 to 0.500     0.3000"],
    "calibration in quantile bins": ["Calibration of 'a' on 3 rows", " 0.300 to 0.600     0.6000"],
    "evaluation": ["mean loss           1 (", "predicted risk      1.16667", "0.333333 (largest"],
}


@ALL
def test_it_prints_in_words_and_travels_as_json(name):
    result = MEASURES[name](Y, P, REJECT)
    assert [piece for piece in PRINTED[name] if piece not in repr(result)] == []
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False)) == result.to_dict()


def test_what_is_not_asked_for_is_not_printed():
    assert "reject" not in repr(risk_coverage(Y, P))
    assert "the loss" not in repr(net_benefit(Y, P))
    nothing = risk_coverage(Y, P, LOSS.with_reject(0.0))
    assert "none" in repr(nothing).splitlines()[-1]
    assert nothing.to_dict()["operating_point"]["risk"] is None
    assert ">1</td>" in confusion_matrix(Y, Y)._repr_html_()


THREE = Posterior.from_probabilities([[0.2, 0.3, 0.5]] * 3, ["a", "b", "c"])
OTHER, ASK = Loss.zero_one(["b", "c"]), Loss([[1], [1]], AB, ["ask"], reject="ask")
WIDE = Loss(np.zeros((2, 3)), AB, list("xyz"))


@pytest.mark.parametrize("measure", [risk_coverage, calibration, evaluate])
def test_rows_that_do_not_fit_the_posterior_are_named(measure):
    with pytest.raises(LabelError, match=r"no label 'c' \(row 1\)"):
        measure(["a", "c", "b"], P)
    with pytest.raises(ShapeError, match="y has 1 rows and the posterior 3"):
        measure(["a"], P)
    with pytest.raises(InputError, match="needs a Posterior. Got ndarray"):
        measure(Y, P.probabilities)


@pytest.mark.parametrize("curve", [net_benefit, cost_curve])
def test_curves_are_of_two_labels_and_two_acts(curve):
    with pytest.raises(InputError, match="two labels. Got 3: 'a', 'b', 'c'. Take one against"):
        curve(Y, THREE, LOSS)
    with pytest.raises(LabelError, match="no label 'z'"):
        curve(Y, P, LOSS, positive="z")
    with pytest.raises(LabelError, match="differ in 'a'"):
        curve(Y, P, OTHER)
    with pytest.raises(InputError, match="two acts, a reject act aside. Got 'x', 'y', 'z'"):
        curve(Y, P, WIDE)
    with pytest.raises(InputError, match="one matrix for all rows"):
        curve(Y, P, FLAT)


MISTAKES = {
    LabelError: [
        (lambda: confusion_matrix(["a", "z"], AB, labels=AB), r"no label 'z' \(row 1\)"),
        (lambda: confusion_matrix(["z"], ["x"], LOSS), r"no truth 'z' \(row 0\)"),
        (lambda: expected_loss(["b", "aa"], ["x", "x"], LOSS), r"'aa' \(row 1\).*mean 'a'"),
        (lambda: expected_loss(["a"], ["z"], LOSS), r"no act 'z' \(row 0\)"),
        (lambda: expected_loss(Y, decide(P, Loss.zero_one(AB)), LOSS), r"no act 'a' \(row 0\)"),
        (lambda: calibration(Y, P, label="c"), "calibration has no label 'c'"),
        (lambda: evaluate(Y, P, OTHER, acts=["c"] * 3), "evaluate: the labels .* differ in 'a'"),
    ],
    ShapeError: [
        (lambda: confusion_matrix(AB, ["a"]), "2 rows and there are 1 acts"),
        (lambda: expected_loss(AB, ["x"], LOSS), "2 rows and there are 1 acts"),
        (lambda: expected_loss(["a"], ["x"], LOSS, sample_weight=[1, 2]), "weight per row, 1"),
        (lambda: expected_loss(["a"], ["x"], FLAT), "3 matrices for 1 rows"),
        (lambda: evaluate(Y, P, acts=["a"]), "3 rows and there are 1 acts"),
        (lambda: net_benefit(Y, P, thresholds=[]), "1-D with at least one entry"),
    ],
    InputError: [
        (lambda: confusion_matrix(Y, Y, LOSS, labels=AB), "leave labels out"),
        (lambda: confusion_matrix([["a"], {"b": 1}], AB), "values that cannot be names"),
        (lambda: confusion_matrix(Y, Y).normalised("rows"), "'truth', 'act', 'all'. Got 'rows'"),
        (lambda: expected_loss([], [], LOSS), "at least one row"),
        (lambda: expected_loss([{"a": 1}], ["x"], LOSS), "must be names. unhashable"),
        (lambda: expected_loss(["a"], ["x"], LOSS, sample_weight=[1e300]), "between 1e-100 and 1e"),
        (lambda: expected_loss(["a"], ["x"], LOSS, level=1.0), "strictly between 0 and 1"),
        (lambda: expected_loss(["a"], ["x"], LOSS, n_bootstrap=-1), "whole number, at least 0"),
        (
            lambda: expected_loss(["a"], ["x"], LOSS, random_state=-1),
            "expected_loss must be a seed",
        ),
        (lambda: risk_coverage(Y, P, ASK), "no act but the reject act 'ask'"),
        (lambda: calibration(Y, P, strategy="even"), "one of 'uniform', 'quantile'. Got 'even'"),
        (lambda: calibration(Y, P, n_bins=0), "n_bins of calibration must be a whole number"),
        (lambda: net_benefit(Y, P, thresholds=[0.5, 1.0]), "below 1: at 1 the odds are infinite"),
        (lambda: net_benefit(Y, P, thresholds=[-0.1]), "thresholds of net_benefit .*Got -0.1"),
        (lambda: cost_curve(Y, P, LOSS, conditions=[1.5]), "conditions of cost_curve .*Got 1.5"),
        (lambda: cost_curve(["a"] * 3, P, LOSS), "'b' does not"),
        (lambda: cost_curve(Y, P, LOSS, sample_weight=[0, 1, 1]), "'a' does not"),
    ],
}


@pytest.mark.parametrize("error", MISTAKES)
def test_a_mistake_is_named_with_its_place(error):
    for call, message in MISTAKES[error]:
        with pytest.raises(error, match=message):
            call()
