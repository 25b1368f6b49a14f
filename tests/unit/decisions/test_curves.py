import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from sklearn.metrics import roc_auc_score
from tests.oracles import evaluation as oracle

from credo import Loss, Posterior, decide
from credo.decisions import cost_curve, evaluate, expected_loss, net_benefit, roc_curve
from credo.exceptions import InputError

LABELS = ["well", "ill"]
LOSS = Loss([[0, 1], [4, 0]], LABELS, ["wait", "treat"])
P = np.array([0.9, 0.6, 0.3, 0.1])
Y = ["ill", "well", "ill", "well"]


@st.composite
def labelled(draw):
    """Probabilities of "ill" in sixty-fourths, truths and whole weights."""
    n = draw(st.integers(2, 14))
    p = np.array(draw(st.lists(st.integers(0, 64), min_size=n, max_size=n))) / 64
    truth = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    weights = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    return p, truth, weights


@st.composite
def both_labels(draw):
    """The same with both labels present."""
    p, truth, weights = draw(labelled())
    seen = {z for z, w in zip(truth, weights, strict=True) if w}
    assume(len(seen) == 2)
    return p, truth, weights


def posterior(p, labels=LABELS):
    p = np.asarray(p)
    columns = [1 - p, p] if labels == LABELS else [p, 1 - p]
    return Posterior.from_probabilities(np.stack(columns, axis=1), labels)


def named(truth):
    return ["ill" if z else "well" for z in truth]


def realistic(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.3
    score = rng.normal(truth * 1.5, 1)
    p = 1 / (1 + np.exp(-(2 * score - 2.5)))
    return p, truth


# --- net benefit ------------------------------------------------------------------------------


@given(labelled())
def test_net_benefit_and_acting_always_and_never_equal_the_slow_twins(rows):
    p, truth, weights = rows
    t = np.arange(64) / 64
    curve = net_benefit(named(truth), posterior(p), thresholds=t, sample_weight=weights)
    slow = [oracle.net_benefit(p, truth, weights, x) for x in t]
    np.testing.assert_allclose(curve.model, slow, atol=1e-12)
    share = oracle.mean(truth, weights)
    np.testing.assert_allclose(curve.treat_all, share - (1 - share) * t / (1 - t), atol=1e-12)
    assert not curve.treat_none.any()
    assert curve.model[0] == pytest.approx(share)


def test_a_probability_on_a_threshold_reaches_it_whatever_the_rounding():
    p = np.arange(1, 100) / 100
    rows = Posterior.from_probabilities(
        np.stack([3 * (1 - p), 3 * p], axis=1), LABELS, normalise=True
    )
    curve = net_benefit(["ill"] * 99, rows)
    np.testing.assert_allclose(curve.model, np.arange(99, 0, -1) / 99)


def test_the_threshold_of_a_loss_is_where_decide_changes_its_act():
    loss = Loss([[1, 3], [9, 2]], LABELS, ["wait", "treat"])
    t = net_benefit(Y, posterior(P), loss).loss_threshold
    assert t == pytest.approx((3 - 1) / ((3 - 1) + (9 - 2)))
    near = decide(posterior([t - 1e-9, t + 1e-9]), loss).acts
    assert near.tolist() == ["wait", "treat"]


def test_the_acts_of_a_loss_are_matched_by_what_they_cost():
    swapped = Loss([[1, 0], [0, 4]], LABELS, ["treat", "wait"]).with_reject(0.3, "ask")
    assert net_benefit(Y, posterior(P), swapped).loss_threshold == pytest.approx(0.2)
    turned = Loss([[4, 0], [0, 1]], ["ill", "well"], ["wait", "treat"])
    assert net_benefit(Y, posterior(P), turned).loss_threshold == pytest.approx(0.2)


def test_the_positive_label_is_the_dearer_to_miss_or_the_last():
    assert net_benefit(Y, posterior(P)).positive == "ill"
    assert net_benefit(Y, posterior(P), LOSS).positive == "ill"
    reverse = Loss([[0, 4], [1, 0]], LABELS, ["wait", "treat"])
    curve = net_benefit(Y, posterior(P), reverse)
    assert (curve.positive, curve.loss_threshold) == ("well", pytest.approx(0.2))
    told = net_benefit(Y, posterior(P), reverse, positive="ill")
    assert (told.positive, told.loss_threshold) == ("ill", pytest.approx(0.8))
    assert net_benefit(Y, posterior(P), Loss.zero_one(LABELS)).positive == "ill"


# --- cost curve -------------------------------------------------------------------------------


@given(both_labels())
def test_the_curve_and_its_envelope_equal_the_slow_twins(rows):
    p, truth, weights = rows
    # The odds of each inner condition have a prime factor above 64, which ratios of sixty-fourths
    # and of small weights never have: no row is exactly on a threshold.
    grid = np.array([0.0, 0.009, 0.137, 0.251, 0.397, 0.503, 0.631, 0.777, 0.911, 0.983, 1.0])
    curve = cost_curve(named(truth), posterior(p), LOSS, conditions=grid, sample_weight=weights)
    for x, mine, best in zip(grid, curve.curve, curve.envelope, strict=True):
        assert mine == pytest.approx(oracle.bayes_cost(p, truth, weights, x), abs=1e-12)
        assert best == pytest.approx(oracle.least_cost(p, truth, weights, x), abs=1e-12)


@given(both_labels())
def test_the_envelope_is_below_the_curve_and_the_constant_acts(rows):
    p, truth, weights = rows
    curve = cost_curve(named(truth), posterior(p), LOSS, sample_weight=weights)
    assert (curve.envelope <= curve.curve + 1e-12).all()
    assert (curve.envelope <= curve.trivial + 1e-12).all()
    np.testing.assert_array_equal(curve.trivial, np.minimum(curve.conditions, 1 - curve.conditions))


def test_the_operating_point_is_the_mean_loss_of_decide_over_the_largest_possible():
    p, truth = realistic()
    curve = cost_curve(named(truth), posterior(p), LOSS)
    share = truth.mean()
    worst = share * 4 + (1 - share) * 1  # every row wrong
    mine = expected_loss(named(truth), decide(posterior(p), LOSS), LOSS, n_bootstrap=0).value
    assert curve.operating_cost == pytest.approx(mine / worst)
    assert curve.operating_condition == pytest.approx(share * 4 / worst)


def test_the_curve_at_another_condition_is_decide_under_the_shifted_priors():
    p, truth = realistic()
    share, new = truth.mean(), 0.6
    shifted = posterior(p).with_priors([1 - share, share], [1 - new, new])
    acted = decide(shifted, LOSS).acts == "treat"
    missed, alarms = oracle.error_rates(acted, truth, np.ones(len(p)))
    x = new * 4 / (new * 4 + (1 - new) * 1)
    curve = cost_curve(named(truth), posterior(p), LOSS, conditions=[x])
    assert curve.curve[0] == pytest.approx(missed * x + alarms * (1 - x))


def test_the_conditions_may_come_in_any_order():
    p, truth = realistic(200)
    grid = np.random.default_rng(3).random(40)
    mixed = cost_curve(named(truth), posterior(p), LOSS, conditions=grid)
    order = np.argsort(grid)
    in_order = cost_curve(named(truth), posterior(p), LOSS, conditions=grid[order])
    np.testing.assert_array_equal(mixed.envelope[order], in_order.envelope)
    np.testing.assert_array_equal(mixed.curve[order], in_order.curve)


# --- ROC ---------------------------------------------------------------------------------------


@given(both_labels())
def test_an_roc_curve_equals_counting_at_each_threshold_and_its_area_counting_pairs(rows):
    p, truth, weights = rows
    curve = roc_curve(named(truth), posterior(p), sample_weight=weights)
    kept = np.array(weights) > 0
    np.testing.assert_array_equal(curve.thresholds[1:], np.unique(p[kept])[::-1])
    points = zip(curve.thresholds, curve.false_positive_rate, curve.true_positive_rate, strict=True)
    for threshold, false, true in points:
        missed, alarms = oracle.error_rates(p >= threshold, truth, weights)
        assert (false, true) == pytest.approx((alarms, 1 - missed), abs=1e-12)
    pairs = oracle.share_of_ordered_pairs(p, truth, weights)
    assert curve.area == pytest.approx(pairs, abs=1e-12)


@pytest.mark.parametrize("label", ["a", "b", "c"])
def test_the_area_of_one_label_against_the_rest_is_that_of_scikit_learn(label):
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1, 2, 1], size=500).round(2)  # with ties
    y = np.array([rng.choice(list("abc"), p=row / row.sum()) for row in p])
    weights = rng.integers(0, 4, 500)
    rows = Posterior.from_probabilities(p, list("abc"), normalise=True)
    curve = roc_curve(y, rows, positive=label, sample_weight=weights)
    own = rows.probabilities[:, "abc".index(label)].round(12)
    assert curve.area == pytest.approx(roc_auc_score(y == label, own, sample_weight=weights))
    assert curve.n_rows == (weights > 0).sum()


@pytest.mark.parametrize("reject", [False, True])
def test_the_operating_point_has_the_rates_of_decide_and_lies_on_the_curve(reject):
    p, truth = realistic()
    loss = LOSS.with_reject(0.3) if reject else LOSS
    curve = roc_curve(named(truth), posterior(p), loss)
    acted = decide(posterior(p), LOSS).acts == "treat"
    missed, alarms = oracle.error_rates(acted, truth, np.ones(len(p)))
    assert curve.operating_point == pytest.approx((alarms, 1 - missed))
    at = np.searchsorted(-curve.thresholds, -0.2, side="right") - 1  # ill from 0.2 on
    on_curve = curve.false_positive_rate[at], curve.true_positive_rate[at]
    assert curve.operating_point == pytest.approx(on_curve)


def test_the_operating_point_of_more_labels_or_of_losses_per_row_counts_the_acts_taken():
    rng = np.random.default_rng(2)
    p = rng.dirichlet([1, 1, 1], size=300)
    y = rng.choice(list("abc"), size=300)
    rows = Posterior.from_probabilities(p, list("abc"))
    loss = Loss([[0, 1, 3], [1, 0, 1], [9, 1, 0]], list("abc"), list("xyz"))
    each = loss.per_row(loss.matrix * rng.uniform(1, 2, size=(300, 1, 1)))
    acted = decide(rows, loss).acts == "z"  # the best act for c
    expected = acted[y != "c"].mean(), acted[y == "c"].mean()
    for given_loss in (loss, each):
        point = roc_curve(y, rows, given_loss, positive="c").operating_point
        assert point == pytest.approx(expected)


def test_rows_next_to_certain_are_told_apart():
    logs = np.array([[-40.0, -np.exp(-40)], [-50.0, -np.exp(-50)], [-60.0, -np.exp(-60)]])
    curve = roc_curve(["ill", "well", "ill"], Posterior(logs, LABELS))
    np.testing.assert_allclose(curve.true_positive_rate, [0, 0.5, 0.5, 1])
    assert curve.area == 0.5


def test_curves_of_an_evaluation_are_those_of_its_rows():
    p, truth = realistic(400)
    weights = np.random.default_rng(0).integers(0, 3, 400)
    given_rows = named(truth), posterior(p), LOSS
    report = evaluate(*given_rows, sample_weight=weights, n_bootstrap=0)
    for name, function in (
        ("roc_curve", roc_curve),
        ("cost_curve", cost_curve),
        ("net_benefit", net_benefit),
    ):
        expected = function(*given_rows, sample_weight=weights)
        assert getattr(report, name)().to_dict() == expected.to_dict()
        turned = function(*given_rows, positive="well", sample_weight=weights)
        assert getattr(report, name)("well").to_dict() == turned.to_dict()


def test_an_infinite_threshold_is_none_as_plain_data():
    plain = roc_curve(Y, posterior(P)).to_dict()
    assert plain["thresholds"] == [None, 0.9, 0.6, 0.3, 0.1]


def test_roc_curves_say_what_they_need():
    rows = Posterior.from_probabilities([[0.2, 0.3, 0.5]] * 2, list("abc"))
    with pytest.raises(InputError, match="one label against the rest, and there are 3"):
        roc_curve(["a", "b"], rows)
    with pytest.raises(InputError, match="'c' does not"):
        roc_curve(["a", "b"], rows, positive="c")
    with pytest.raises(InputError, match="'another than a' does not"):
        roc_curve(["a", "a"], rows, positive="a")


# --- reading them, and mistakes ---------------------------------------------------------------


def test_the_thresholds_passed_in_are_not_locked():
    grid = np.array([0.1, 0.2])
    net_benefit(Y, posterior(P), thresholds=grid)
    cost_curve(Y, posterior(P), LOSS, conditions=grid)
    grid[0] = 0.3
    assert grid[0] == 0.3


@pytest.mark.parametrize(
    ("cells", "better"),
    [
        ([[0, 1], [0, 4]], "wait"),
        ([[1, 0], [4, 0]], "treat"),
        ([[0, 1], [0, 0]], "wait"),
        ([[0, 0], [4, 0]], "treat"),
        ([[0, 0], [0, 0]], "wait"),
        ([[0, 0], [0, 1]], "wait"),
        ([[1, 0], [0, 0]], "treat"),
    ],
)
def test_an_act_that_is_never_worse_is_named(cells, better):
    loss = Loss(cells, LABELS, ["wait", "treat"])
    with pytest.raises(InputError, match=f"act '{better}' is never worse"):
        cost_curve(Y, posterior(P), loss)
