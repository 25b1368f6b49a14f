import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from tests.oracles import gaussians as oracle

from credo.exceptions import InputError
from credo.families import scores
from credo.families.class_gaussians import (
    labels_into,
    log_probabilities_into,
    log_totals,
    probabilities_into,
    score_rows,
    scores_into,
    totals_into,
)

X, Y = oracle.rows_of(40, counts=(60, 70, 80))
PRIORS = np.array([0.2, 0.3, 0.5])
HOLES = oracle.with_holes(X, 41)
HOLES[np.random.default_rng(42).random(len(Y)) < 0.5] = 0.0  # half of the rows are complete
HOLES[7] = np.nan


def models(shape):
    model = oracle.fit(X, Y, shape, priors=PRIORS)
    return model, oracle.as_class_gaussians(model, shape)


def table_of(ours, kind, rows=HOLES):
    out = np.empty((len(rows), 3))
    score_rows(ours, np.log(PRIORS), rows, scores_into(out), kind)
    return out


@pytest.fixture(params=["one block", "small blocks", "few held"])
def _sizes(request, monkeypatch):
    if request.param != "one block":
        monkeypatch.setattr(scores, "_block_size", lambda *_: 8)
        monkeypatch.setattr(scores, "_HELD_BYTES", 8 * 3 * 5)
    if request.param == "few held":
        monkeypatch.setattr(scores, "_MOST_HELD", 10)


@pytest.mark.usefixtures("_sizes")
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_complete_and_incomplete_rows_are_scored_at_their_own_places(shape):
    model, ours = models(shape)
    np.testing.assert_allclose(
        table_of(ours, "densities"), oracle.log_joint(HOLES, model), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(
        table_of(ours, "distances") - np.log(PRIORS),
        oracle.table(HOLES, model, oracle.distance),
        rtol=1e-9,
        atol=1e-9,
    )


@pytest.mark.usefixtures("_sizes")
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_each_finish_writes_what_it_says(shape):
    model, ours = models(shape)
    joint = oracle.log_joint(HOLES, model)
    n, log_priors = len(HOLES), np.log(PRIORS)
    proba, log_proba = np.empty((n, 3)), np.empty((n, 3))
    labels, totals = np.empty(n, dtype=np.intp), np.empty(n)
    score_rows(ours, log_priors, HOLES, probabilities_into(proba), "discriminants")
    score_rows(ours, log_priors, HOLES, log_probabilities_into(log_proba), "discriminants")
    score_rows(ours, log_priors, HOLES, labels_into(labels), "discriminants")
    score_rows(ours, log_priors, HOLES, totals_into(totals), "densities")
    np.testing.assert_allclose(proba, softmax(joint, axis=1), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(
        log_proba, joint - logsumexp(joint, axis=1, keepdims=True), rtol=1e-8, atol=1e-9
    )
    np.testing.assert_array_equal(labels, joint.argmax(axis=1))
    np.testing.assert_allclose(totals, logsumexp(joint, axis=1), rtol=1e-9, atol=1e-9)


def test_of_equals_the_first_wins():
    out = np.empty(2, dtype=np.intp)
    labels_into(out)(np.array([[1.0, 0.0], [1.0, 2.0], [0.5, 2.0]]), slice(2))
    assert out.tolist() == [0, 1]


def test_log_totals_keep_the_small_terms():
    columns = np.array([[0.0, -1e4, 0.0, 5.0], [-40.0, -1e4, -np.inf, 5.0]])
    expected = [np.log1p(np.exp(-40.0)), -1e4 + np.log(2), 0.0, 5 + np.log(2)]
    np.testing.assert_allclose(log_totals(columns), expected, rtol=1e-15)
    assert log_totals(columns)[0] > 0


def test_log_probabilities_are_exact_where_probabilities_are_zero():
    out = np.empty((1, 2))
    log_probabilities_into(out)(np.array([[0.0], [-1e4]]), slice(1))
    assert out.tolist() == [[0.0, -1e4]]


def test_single_precision_rounds_logarithms_as_it_rounds_probabilities():
    column = np.array([[0.0], [-18.0]])
    narrow, wide = np.empty((1, 2), dtype=np.float32), np.empty((1, 2))
    log_probabilities_into(narrow)(column.copy(), slice(1))
    log_probabilities_into(wide)(column.copy(), slice(1))
    assert narrow[0, 0] == 0.0
    assert wide[0, 0] == pytest.approx(-np.log1p(np.exp(-18.0)), rel=1e-14)


@pytest.mark.usefixtures("_sizes")
@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["densities", "discriminants", "distances"])
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_infinity_is_refused_with_its_row_and_column(shape, kind, value):
    rows = HOLES.copy()
    rows[101] = [0.0, np.nan, value]
    with pytest.raises(InputError, match="infinity, in row 101, column 2"):
        table_of(models(shape)[1], kind, rows)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_a_row_whose_square_is_no_number_is_refused(shape):
    rows = X.copy()
    rows[3] = 1e200
    with pytest.raises(InputError, match="Row 3 is so far from a class"):
        table_of(models(shape)[1], "densities", rows)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_rows_far_away_have_finite_scores(shape):
    model, ours = models(shape)
    rows = np.array([[1e8, -1e8, 3e8], [1e8, np.nan, 1e8]])
    np.testing.assert_allclose(
        table_of(ours, "densities", rows), oracle.log_joint(rows, model), rtol=1e-9
    )
