import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from credo import Posterior
from credo.exceptions import InputError, LabelError, NumericalError

AB = ["a", "b"]


def gaussian_rows(share, n, old=(0.5, 0.5), seed=0):
    """Posterior rows of a two-Gaussian model with priors ``old``, data with share of 'a'."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < share
    x = np.where(truth, rng.normal(0, 1, n), rng.normal(2, 1, n))
    return Posterior.from_bayes(
        dict(zip(AB, old, strict=True)), {"a": norm.pdf(x, 0, 1), "b": norm.pdf(x, 2, 1)}
    )


def test_changing_priors_equals_bayes_rule_with_the_new_ones():
    likelihoods = {"a": np.array([0.3, 0.01]), "b": np.array([0.2, 0.9])}
    old, new = {"a": 0.5, "b": 0.5}, {"b": 0.9, "a": 0.1}
    shifted = Posterior.from_bayes(old, likelihoods).with_priors(old, new)
    direct = Posterior.from_bayes({"a": 0.1, "b": 0.9}, likelihoods)
    np.testing.assert_allclose(shifted.probabilities, direct.probabilities, rtol=1e-14)


def test_changing_priors_there_and_back_changes_nothing():
    p = Posterior.from_probabilities([[0.3, 0.7]], AB)
    back = p.with_priors([0.5, 0.5], [0.1, 0.9]).with_priors([0.1, 0.9], [0.5, 0.5])
    np.testing.assert_allclose(back.probabilities, p.probabilities, rtol=1e-14)


def test_a_new_prior_of_zero_rules_the_label_out():
    p = Posterior.from_probabilities([0.3, 0.7], AB).with_priors([0.5, 0.5], [0, 1])
    assert p.to_dict() == {"a": 0.0, "b": 1.0}


def test_an_old_prior_of_zero_must_fit_the_posterior():
    with pytest.raises(InputError, match="old prior of 'a' is 0"):
        Posterior.from_probabilities([0.3, 0.7], AB).with_priors([0, 1], [0.5, 0.5])
    fits = Posterior.from_probabilities([0.0, 0.5, 0.5], ["a", "b", "c"])
    shifted = fits.with_priors([0, 0.5, 0.5], [0, 0.2, 0.8])
    np.testing.assert_allclose(shifted.probabilities, [0, 0.2, 0.8])


def test_the_estimate_maximises_the_likelihood():
    rows = gaussian_rows(0.8, 2000)
    estimate = rows.estimate_priors([0.5, 0.5])
    ratio = rows.probabilities / 0.5
    best = minimize_scalar(
        lambda q: -np.log(ratio @ [q, 1 - q]).sum(),
        bounds=(0, 1),
        method="bounded",
        options={"xatol": 1e-12},
    )
    assert estimate.priors[0] == pytest.approx(best.x, abs=1e-6)
    assert estimate.log_likelihood[-1] == pytest.approx(-best.fun, abs=1e-8)
    assert estimate.converged
    assert estimate.to_dict()["a"] == estimate.priors[0]


def test_the_trace_never_falls_and_counts_the_steps():
    estimate = gaussian_rows(0.9, 500).estimate_priors([0.5, 0.5])
    assert (np.diff(estimate.log_likelihood) >= -1e-9).all()
    assert estimate.n_iterations == len(estimate.log_likelihood) - 1 > 1


def test_the_standard_error_covers_the_truth_as_often_as_it_should():
    hits = 0
    for seed in range(200):
        estimate = gaussian_rows(0.7, 400, seed=seed).estimate_priors([0.5, 0.5])
        hits += abs(estimate.priors[0] - 0.7) <= 1.96 * estimate.standard_errors[0]
    spread = 3 * np.sqrt(0.95 * 0.05 / 200)  # three standard deviations of a binomial share
    assert abs(hits / 200 - 0.95) <= spread


def test_the_estimate_corrects_the_posterior_in_one_call():
    rows = gaussian_rows(0.8, 1000)
    priors = rows.estimate_priors([0.5, 0.5]).priors
    np.testing.assert_array_equal(
        rows.with_priors([0.5, 0.5], "estimate").probabilities,
        rows.with_priors([0.5, 0.5], priors).probabilities,
    )


def test_an_estimate_that_did_not_settle_is_not_used_silently(monkeypatch):
    rows = gaussian_rows(0.8, 300)
    early = rows.estimate_priors([0.5, 0.5], max_iterations=2)
    assert (early.converged, early.n_iterations) == (False, 2)
    monkeypatch.setattr(Posterior, "estimate_priors", lambda *_: early)
    with pytest.raises(NumericalError, match="did not settle in 2 steps"):
        rows.with_priors([0.5, 0.5], "estimate")


@pytest.mark.parametrize("apart", [0.01, 0.001])
def test_rows_that_hardly_differ_still_reach_the_maximum(apart):
    rng = np.random.default_rng(0)
    p = 0.5 + apart * np.where(rng.random(5000) < 0.9, 1, -1)
    estimate = Posterior.from_probabilities(np.column_stack([p, 1 - p]), AB).estimate_priors(
        [0.5, 0.5]
    )
    assert estimate.converged
    assert estimate.priors[0] == pytest.approx(1.0, abs=1e-3)


def test_priors_that_come_as_a_series_are_matched_by_name():
    p = Posterior.from_probabilities([0.5, 0.5], AB)
    new = pd.Series({"b": 0.1, "a": 0.9})
    assert p.with_priors([0.5, 0.5], new)["a"] == pytest.approx(0.9)
    assert p.with_priors([0.5, 0.5], pd.Series([0.1, 0.9]))["a"] == pytest.approx(0.1)
    with pytest.raises(LabelError, match="needs 'a'"):
        p.with_priors([0.5, 0.5], pd.Series({"b": 0.1, "c": 0.9}))
    bayes = Posterior.from_bayes(new, pd.Series({"a": 0.5, "b": 0.5}))
    assert bayes.to_dict() == pytest.approx({"b": 0.1, "a": 0.9})


@pytest.mark.parametrize("old", [[0.4, 0.3, 0.3], [0.3, 0.3, 0.4]])
def test_many_equal_rows_have_infinite_standard_errors(old):
    rows = Posterior.from_probabilities([[0.5, 0.2, 0.3]] * 3000, ["a", "b", "c"])
    assert np.isinf(rows.estimate_priors(old).standard_errors).all()


EVEN = [0.5, 0.5]


@pytest.mark.parametrize(
    ("p", "call", "message"),
    [
        (EVEN, lambda p: p.estimate_priors(EVEN), "needs a table of rows"),
        (np.empty((0, 2)), lambda p: p.estimate_priors(EVEN), "needs a table of rows; this has 0"),
        ([EVEN], lambda p: p.estimate_priors([1e-310, 1]), "cannot be divided by"),
        ([EVEN], lambda p: p.estimate_priors(EVEN, max_iterations="x"), "max_iterations"),
        ([EVEN], lambda p: p.estimate_priors(EVEN, max_iterations=-5), "at least 1"),
        *(
            ([EVEN], lambda p, tol=tol: p.estimate_priors(EVEN, tol=tol), "tol")
            for tol in (0, -1, np.nan, "x")
        ),
        ([EVEN, [1, 0]], lambda p: p.with_priors(EVEN, [0, 1]), "row 1 holds minus infinity"),
    ],
    ids=range(10),
)
def test_what_gives_no_priors_is_refused(p, call, message):
    with pytest.raises(InputError, match=message):
        call(Posterior.from_probabilities(p, AB))
