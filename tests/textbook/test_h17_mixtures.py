"""H17: classes that are not unimodal: a mixture of Gaussians per class, and what says so."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from tests.oracles import mixtures as slow
from tests.oracles.gaussians import SHAPES

import credo
from credo.decisions import bayes_error
from credo.exceptions import InputError, LabelError, NumericalError, SingularWarning

RNG = np.random.default_rng(0)
LEFT = RNG.multivariate_normal([-2.5, 0.0], [[1.0, 0.4], [0.4, 0.8]], 40)
RIGHT = RNG.multivariate_normal([2.5, 1.0], [[0.6, -0.2], [-0.2, 1.0]], 60)
MIDDLE = RNG.multivariate_normal([0.0, 0.5], [[0.7, 0.1], [0.1, 0.5]], 80)
ROWS = np.concatenate([LEFT, RIGHT, MIDDLE])
Y = np.repeat(["out", "in"], [100, 80])
HOLES = np.where(RNG.random(ROWS.shape) < 0.15, np.nan, ROWS)
TWO = {"out": 2}


def fitted(rows=ROWS, **options):
    return credo.MixtureClassifier(TWO, **options).fit(rows, Y)


def parts(model, label):
    """Shares, means and full covariances of the components of a class."""
    mine = np.flatnonzero(model.component_classes_ == label)
    return model.weights_[mine], model.means_[mine], model.covariances_[mine]


def density(model, label, rows):
    w, m, s = parts(model, label)
    each = zip(w, m, s, strict=True)
    return sum(a * stats.multivariate_normal(b, c).pdf(rows) for a, b, c in each)


# --- the densities --------------------------------------------------------------------------------


def test_the_posterior_is_that_of_sums_of_gaussians():
    model = fitted()
    joint = np.stack(
        [p * density(model, k, ROWS) for p, k in zip(model.priors_, ["in", "out"], strict=True)], 1
    )
    np.testing.assert_allclose(model.log_density(ROWS), np.log(joint.sum(axis=1)), rtol=1e-10)
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(ROWS), expected, rtol=1e-9, atol=1e-14)
    even = model.with_priors("uniform").predict_proba(ROWS)
    joint /= model.priors_
    np.testing.assert_allclose(even, joint / joint.sum(axis=1, keepdims=True), atol=1e-12)


def test_a_missing_feature_is_marginalised_and_filled_in_as_by_integration():
    model, seen = fitted(), 0.3
    (w, m, s), axis = parts(model, "out"), np.linspace(-12, 12, 24_001)
    line = np.stack([axis, np.full(len(axis), seen)], axis=1)
    p = density(model, "out", line)
    mass = p.sum()
    found = model.conditional([[np.nan, seen]], "out")
    mean = (p * axis).sum() / mass
    assert found.mean[0, 0] == pytest.approx(mean, rel=1e-9)
    spread = (p * (axis - mean) ** 2).sum() / mass
    assert found.covariance[0, 0, 0] == pytest.approx(spread, rel=1e-9)
    marginal = sum(
        a * stats.norm(b[1], c[1, 1] ** 0.5).pdf(seen) for a, b, c in zip(w, m, s, strict=True)
    )
    alone = model.with_priors({"in": 0, "out": 1}).log_density([[np.nan, seen]])[0]
    assert alone == pytest.approx(np.log(marginal), rel=1e-12)
    both = model.impute([[np.nan, seen]])[0, 0]
    q = model.priors_[0] * density(model, "in", line) + model.priors_[1] * p
    assert both == pytest.approx((q * axis).sum() / q.sum(), rel=1e-9)


def test_rows_drawn_from_a_mixture_have_its_moments_and_uniform_p_values():
    model = fitted()
    rows, y = model.sample(40_000, random_state=1)
    assert np.mean(y == "out") == pytest.approx(100 / 180, abs=0.01)
    w, m, _ = parts(model, "out")
    np.testing.assert_allclose(rows[y == "out"].mean(axis=0), w @ m, atol=0.06)
    assert set(model.sample(9, 0, label="in")[1]) == {"in"}
    some = rows[:3000].copy()
    some[::2, 0] = np.nan
    assert stats.kstest(model.outlier_p_values(some), "uniform").statistic < 0.036
    centre = model.outlier_p_values([[0.0, 0.5]], "out")  # the mean of the class, and its valley
    assert centre < 0.05


def test_the_bayes_error_of_mixtures_is_the_integral_of_the_smaller_density():
    x = np.concatenate([RNG.normal(-3, 1, 80), RNG.normal(3, 1, 60), RNG.normal(0, 1, 100)])
    y = np.repeat(["out", "in"], [140, 100])
    model = credo.MixtureClassifier(TWO).fit(x[:, None], y)
    (w, m, s), (_, a, b) = parts(model, "out"), parts(model, "in")

    def least(t):
        out = w @ stats.norm(m[:, 0], np.sqrt(s[:, 0, 0])).pdf(t)
        return min(
            model.priors_[1] * out, model.priors_[0] * stats.norm(a[0, 0], b[0, 0, 0] ** 0.5).pdf(t)
        )

    expected = integrate.quad(least, -12, 12, limit=400)[0]
    found = bayes_error(model.densities_, model.priors_)
    assert found.low <= expected <= found.high
    assert found.value == pytest.approx(expected, abs=0.003)


# --- the fit --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [ROWS, HOLES], ids=["whole", "holes"])
def test_a_step_of_slow_em_stays_where_the_fit_is_and_its_likelihood_is_the_same(rows):
    model = fitted(rows, tol=1e-12)
    w, m, s = parts(model, "out")
    again = slow.step(rows[:100], w, m, s)
    np.testing.assert_allclose(again[0], w, atol=1e-4)
    np.testing.assert_allclose(again[1], m, atol=1e-3)
    np.testing.assert_allclose(again[2], s, atol=1e-3)
    total = slow.log_likelihood(rows[:100], w, m, s)
    total += slow.log_likelihood(rows[100:], *parts(model, "in"))
    total += 100 * np.log(100 / 180) + 80 * np.log(80 / 180)
    assert model.log_likelihood_ == pytest.approx(total, rel=1e-10)
    assert model.log_likelihood_ == pytest.approx(
        model.log_joint(rows)[range(180), (Y == "out") * 1].sum()
    )


def test_scikit_learn_finds_the_same_from_there_and_nothing_better_by_itself():
    model = fitted(tol=1e-12)
    w, m, s = parts(model, "out")
    start = {"weights_init": w, "means_init": m, "precisions_init": np.linalg.inv(s)}
    options = {"reg_covar": 0.0, "tol": 1e-12, "max_iter": 5000}
    same = GaussianMixture(2, **start, **options).fit(ROWS[:100])
    np.testing.assert_allclose(same.means_, m, atol=1e-4)
    np.testing.assert_allclose(same.covariances_, s, atol=1e-4)
    alone = credo.MixtureClassifier(2, tol=1e-12).fit(ROWS[:100], Y[:100])
    best = GaussianMixture(2, n_init=10, random_state=0, **options).fit(ROWS[:100])
    assert alone.log_likelihood_ >= best.score(ROWS[:100]) * 100 - 1e-5


@pytest.mark.parametrize("shape", SHAPES)
def test_the_likelihood_never_falls_and_one_component_is_the_gaussian_classifier(shape):
    model = fitted(HOLES, covariance=shape)
    trace = model.log_likelihood_trace_
    assert np.diff(trace).min() > -1e-9 * abs(trace[-1])
    assert model.converged_
    gauss = credo.GaussianClassifier(shape, tol=1e-7).fit(HOLES, Y)
    one = credo.MixtureClassifier(1, covariance=shape).fit(HOLES, Y)
    np.testing.assert_allclose(one.log_joint(ROWS), gauss.log_joint(ROWS), rtol=1e-4, atol=1e-4)
    assert one.n_parameters_ == gauss.n_parameters_
    extra = {"full": 6, "diagonal": 5, "spherical": 4, "proportional": 4}.get(shape, 3)
    assert model.n_parameters_ == gauss.n_parameters_ + extra
    assert model.log_likelihood_ > one.log_likelihood_ + 20


def test_a_weight_of_two_is_the_row_twice_and_a_seed_gives_one_model():
    weights = np.ones(180)
    weights[::3], weights[1::7] = 2, 0
    model = credo.MixtureClassifier(TWO, tol=1e-12).fit(ROWS, Y, weights)
    doubled = np.repeat(np.arange(180), weights.astype(int))
    other = credo.MixtureClassifier(TWO, tol=1e-12).fit(ROWS[doubled], Y[doubled])
    assert model.log_likelihood_ == pytest.approx(other.log_likelihood_, rel=1e-9)
    np.testing.assert_allclose(model.log_density(ROWS), other.log_density(ROWS), atol=1e-4)
    np.testing.assert_array_equal(fitted().means_, fitted().means_)


def test_a_component_that_collapses_is_refused_with_its_name_or_repaired_with_a_warning():
    rows = np.array([[0.0, 0.1], [0.2, 0.9], [1.1, 0.3], [5.0, 5.1], [0.7, 0.6]])
    with pytest.raises(NumericalError, match=r"'a, component \d' collapses .* fewer components"):
        credo.MixtureClassifier(2, singular="error").fit(rows, ["a"] * 5)
    with pytest.warns(SingularWarning, match="one row more, which varies as its class"):
        model = credo.MixtureClassifier(2).fit(rows, ["a"] * 5)
    assert np.isfinite(model.log_density(rows)).all()
    assert (np.linalg.eigvalsh(model.covariances_) > 0.02).all()
    assert credo.MixtureClassifier(2, covariance="tied").fit(rows, ["a"] * 5).converged_


def test_a_mixture_is_kept_in_a_file_and_takes_no_streams(tmp_path):
    frame = pd.DataFrame(HOLES, columns=["a", "b"])
    model = fitted(frame)
    model.save(tmp_path / "mixture.credo")
    again = credo.load(tmp_path / "mixture.credo")
    np.testing.assert_array_equal(again.log_joint(frame), model.log_joint(frame))
    assert again.component_classes_.tolist() == ["in", "out", "out"]
    assert again.log_likelihood_ == model.log_likelihood_
    with pytest.raises(InputError, match=r"merge: .* one of mixtures"):
        model.merge(again)
    with pytest.raises(InputError, match="EM needs all rows at once"):
        credo.fit_table(credo.MixtureClassifier(), frame.dropna().assign(y="k"), target="y")
    assert not hasattr(model, "partial_fit")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"components": 0}, InputError, "components of MixtureClassifier"),
        ({"components": {"on": 2}}, LabelError, "on"),
        ({"n_starts": 0}, InputError, "n_starts"),
        ({"shrinkage": "auto"}, InputError, "oas"),
        ({"covariance": "round"}, InputError, "covariance"),
    ],
)
def test_wrong_parameters_are_named(options, error, message):
    with pytest.raises(error, match=message):
        credo.MixtureClassifier(**options).fit(ROWS, Y)


def test_too_few_steps_are_told():
    with pytest.warns(ConvergenceWarning, match="max_iter=1 steps"):
        assert not fitted(max_iter=1).converged_


# --- the diagnostic -------------------------------------------------------------------------------


def test_the_class_with_two_peaks_is_named_with_the_remedy():
    gauss = credo.GaussianClassifier().fit(ROWS, Y)
    for rows in (ROWS, HOLES):
        found = gauss.check_modes(rows, Y)
        assert found.several == ("out",)
        assert found.p_values[1] == 1 / 200
        assert "Use MixtureClassifier(components={'out': 2})." in repr(found)
    assert "out" in found._repr_html_()
    assert found.to_dict()["several"] == ["out"]


def test_a_gaussian_class_and_a_skewed_one_have_one_peak():
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(0, 1, 300), rng.exponential(1, 300)])[:, None]
    y = np.repeat(["normal", "skewed"], 300)
    found = credo.GaussianClassifier().fit(x, y).check_modes(x, y)
    assert found.several == ()
    assert found.gains[0] < 0 < found.gains[1]
    assert "one Gaussian is enough" in repr(found)
    assert "not Gaussian, but perhaps one peak" in repr(found)
    assert repr(found).endswith("No class has more than one peak.")


def test_skew_flatness_heavy_tails_and_few_values_are_no_second_peak():
    rng = np.random.default_rng(8)
    kinds = {
        "lognormal": rng.lognormal(size=100),
        "tails": rng.standard_t(3, size=100),
        "die": rng.integers(1, 7, 100),
        "counts": rng.poisson(3, 100),
        "two": np.r_[rng.normal(0, 1, 50), rng.normal(5, 1, 50)],
    }
    x, y = np.concatenate(list(kinds.values()))[:, None], np.repeat(list(kinds), 100)
    found = credo.GaussianClassifier().fit(x, y).check_modes(x, y, n_starts=2)
    assert found.several == ("two",)
    assert (found.gains > 0).sum() > 2


def test_of_flat_classes_one_in_twenty_has_a_p_value_below_a_twentieth():
    x = np.random.default_rng(5).random((400, 1))
    y = np.repeat(np.arange(20), 20)
    p = credo.GaussianClassifier("diagonal").fit(x, y).check_modes(x, y, n_starts=1).p_values
    assert stats.binomtest(int((p <= 0.05).sum()), 20, 0.05).pvalue > 0.01
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_the_gain_is_that_of_two_gaussians_and_the_p_value_that_of_slow_distances():
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.normal(0, 1, 18), rng.normal(3.2, 1, 12)])[:, None]
    found = credo.GaussianClassifier().fit(x, np.zeros(30)).check_modes(x, np.zeros(30))
    options = {"covariance_type": "tied", "reg_covar": 0, "tol": 1e-10, "max_iter": 5000}
    one, two = (GaussianMixture(n, n_init=5, random_state=0, **options).fit(x) for n in (1, 2))
    assert found.gains[0] >= one.bic(x) - two.bic(x) - 0.01
    mine = slow.distance_from_one_peak(np.sort(x[:, 0]))
    flat = np.sort(np.random.default_rng(6).random((60, 30)))
    share = np.mean([slow.distance_from_one_peak(each) >= mine for each in flat])
    assert found.p_values[0] == pytest.approx(share, abs=4 * np.sqrt(0.25 / 60 + 0.25 / 199))


def test_weights_of_a_check_of_modes_are_repetitions():
    rng = np.random.default_rng(9)
    x = np.r_[rng.normal(0, 1, 40), rng.normal(4, 1, 40)][:, None]
    weights = rng.integers(1, 3, 80)
    model, y = credo.GaussianClassifier().fit(x, np.zeros(80)), np.zeros(80)
    one = model.check_modes(x, y, weights)
    two = model.check_modes(np.repeat(x, weights, axis=0), np.zeros(weights.sum()))
    assert one.gains == pytest.approx(two.gains, abs=0.05)
    assert one.p_values == pytest.approx(two.p_values, abs=0.15)


def test_each_component_is_drawn_with_its_own_ellipses():
    ax = fitted().plot(ROWS, Y)
    assert len(ax.patches) == 2 * 3
    assert sorted(text.get_text() for text in ax.texts) == ["in", "out", "out"]
