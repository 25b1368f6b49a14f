"""Extreme scores, units and densities of ``NaiveBayes``."""

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from scipy.sparse import csr_array
from scipy.special import logsumexp
from tests.oracles import naive_bayes as oracle

from credo import NaiveBayes
from credo.exceptions import InputError

ROWS, Y = oracle.mixed_rows(80, seed=70)
X = np.array([[row[j] for j in (0, 1, 5, 6)] for row in ROWS])
NEW = np.array([[row[j] for j in (0, 1, 5, 6)] for row in oracle.mixed_rows(15, seed=71)[0]])


# --- scores of any size ----------------------------------------------------------------------


def finite_and_normalised(p):
    return np.isfinite(p).all() and np.allclose(p.sum(axis=1), 1.0, rtol=1e-12, atol=0)


@pytest.mark.parametrize("size", [1e2, 1e4, 1e6, 1e8])
def test_posteriors_are_finite_and_normalised_at_any_score(size):
    model = NaiveBayes("gaussian").fit(X, Y)
    far = NEW * np.sqrt(size)
    assert np.abs(model.log_joint(far)).max() > size
    assert finite_and_normalised(model.predict_proba(far))
    logs = model.predict_log_proba(far)
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(logsumexp(logs, axis=1), 0, atol=1e-9)


@pytest.mark.parametrize("family", ["bernoulli", "multinomial", "poisson"])
def test_thousands_of_columns_that_agree_do_not_underflow(family):
    """20 000 columns that all say the same: the log odds exceed 1e4."""
    rows = np.repeat([[0, 1], [1, 0]], 10_000, axis=1).astype(float)
    for form in (np.asarray, csr_array):
        model = NaiveBayes(family, smoothing=0.01).fit(form(rows), [0, 1])
        assert np.abs(model.decision_function(form(rows))).min() > 1e4
        p = model.predict_proba(form(rows))
        assert finite_and_normalised(p)
        assert p.tolist() == [[1.0, 0.0], [0.0, 1.0]]
        assert np.isfinite(model.predict_log_proba(form(rows))).all()


def test_the_lesser_log_probability_is_exact_far_below_the_least_number():
    model = NaiveBayes("gaussian", priors="uniform").fit(
        [[-1.0], [1.0], [9.0], [11.0]], [0, 0, 1, 1]
    )
    # variances 1, means 0 and 10: log odds 10 x - 50
    np.testing.assert_allclose(model.predict_log_proba([[1e3]]), [[-9950.0, 0.0]], rtol=1e-12)


def test_a_hundred_equal_columns_are_a_hundred_times_as_sure():
    one = NaiveBayes("gaussian", priors="uniform").fit(X[:, :1], Y)
    many = NaiveBayes("gaussian", priors="uniform").fit(np.repeat(X[:, :1], 100, axis=1), Y)
    scores = one.log_joint(NEW[:, :1]) + np.log(3)
    np.testing.assert_allclose(
        many.log_joint(np.repeat(NEW[:, :1], 100, axis=1)) + np.log(3), 100 * scores, rtol=1e-10
    )


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("alpha", [1e-6, 1e-12, 1e-20, 1e-100])
def test_with_any_smoothing_nothing_is_impossible_neither_a_one_nor_a_zero(alpha, form):
    """Class 0 has ones only, class 1 zeros only: (0 + α) / (3 + 2α) the other way."""
    rows = np.repeat([[1], [0]], 3, axis=0)
    model = NaiveBayes("bernoulli", smoothing=alpha).fit(form(rows), [0, 0, 0, 1, 1, 1])
    odds = np.log(alpha) - np.log(3 + alpha)
    logs = model.predict_log_proba(form(np.array([[1], [0]])))
    np.testing.assert_allclose(logs[:, 1] - logs[:, 0], [odds, -odds], rtol=1e-10)


# --- densities -------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.5, 2.0])
@pytest.mark.parametrize("unknown", ["smooth", "ignore"])
def test_the_density_sums_to_one_over_a_small_discrete_space(unknown, alpha):
    rows = [[1, "x", 0], [0, "y", 2], [1, "x", 1], [1, "z", 3]]
    families = {0: "bernoulli", 1: "categorical", 2: "poisson"}
    model = NaiveBayes(families, smoothing=alpha, unknown=unknown).fit(rows, [0, 0, 1, 1])
    towns = ["x", "y", "z", *(["another"] if unknown == "smooth" else [])]
    space = [list(x) for x in product([0, 1], towns, range(60))]
    assert np.exp(model.log_density(space)).sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(np.exp(model.log_joint(space)).sum(axis=0), model.priors_)


def test_the_density_sums_to_one_without_smoothing_too():
    rows = [[1, "x"], [0, "y"], [1, "x"], [1, "z"]]
    model = NaiveBayes({0: "bernoulli"}, smoothing=0).fit(rows, [0, 0, 1, 1])
    space = [[b, t] for b, t in product([0, 1], "xyz") if (b, t) != (0, "z")]
    # 0 with z is impossible under both classes: it has no density to ask for
    assert np.exp(model.log_density(space)).sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("total", [0, 1, 5])
def test_the_multinomial_density_has_its_coefficient(form, total):
    model = NaiveBayes("multinomial").fit(
        form(np.array([[1, 0, 3], [2, 2, 0], [0, 1, 1]])), [0, 1, 1]
    )
    space = np.array([x for x in product(range(total + 1), repeat=3) if sum(x) == total])
    assert np.exp(model.log_density(form(space))).sum() == pytest.approx(1.0, rel=1e-12)
    first = stats.multinomial.logpmf(space, total, np.array([2, 1, 4]) / 7) + np.log(1 / 3)
    np.testing.assert_allclose(model.log_joint(form(space))[:, 0], first, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("family", "low", "high"),
    [
        ("gaussian", -np.inf, np.inf),
        ("laplace", -np.inf, np.inf),
        ("exponential", 0, np.inf),
        ("gamma", 0, np.inf),
        ("beta", 0, 1),
    ],
)
def test_the_density_of_a_continuous_column_integrates_to_one(family, low, high):
    values = [[row[7]] for row in ROWS] if family == "beta" else X[:, 3:]
    model = NaiveBayes(family).fit(values, Y)
    middle = [0.5] if family == "beta" else [1.0, 3.0, 8.0]
    edges = [low, *middle, high]
    area = sum(
        integrate.quad(lambda x: np.exp(model.log_density([[x]])[0]), a, b, limit=200)[0]
        for a, b in pairwise(edges)
    )
    assert area == pytest.approx(1.0, abs=1e-6)


# --- order -----------------------------------------------------------------------------------


def test_many_rows_are_scored_in_blocks_as_one_by_one():
    rng = np.random.default_rng(74)
    n = 30_000
    many = pd.DataFrame(
        {
            "g": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "t": rng.choice(["x", "y", None], n),
            "n": rng.poisson(2, n),
        }
    )
    y = rng.integers(0, 3, n)
    model = NaiveBayes({"n": "poisson"}).fit(many, y)
    joint = model.log_joint(many)
    for i in (0, 1, 8191, 8192, 16_384, 29_999):
        one = model.log_joint(many[i : i + 1])
        np.testing.assert_allclose(joint[i], one[0], rtol=1e-12)
    backwards = NaiveBayes({"n": "poisson"}).fit(many[::-1], y[::-1])
    np.testing.assert_allclose(backwards.log_joint(many), joint, rtol=1e-9)


def test_classes_that_float64_cannot_tell_apart_by_squares_are_refused_by_name():
    X = pd.DataFrame({"a": [1.0, 2.0, 1e160, 1e160], "b": [1.0, 2.0, 1.0, 2.0]})
    with pytest.raises(InputError, match="column 'a' varies so much"):
        NaiveBayes().fit(X, [0, 0, 1, 1])
