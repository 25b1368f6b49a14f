"""What every family can do, checked for all of them next to SciPy's."""

import copy
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from tests.oracles.families import CASES, EVERY

from credo.exceptions import InputError, ShapeError
from credo.families import Dirichlet, Poisson

ALL = pytest.mark.parametrize("case", EVERY.values(), ids=EVERY)
#: Families with a spread, which constant data have none of.
SPREAD = [
    *("Gaussian", "DiagonalGaussian", "MultivariateGaussian"),
    *("Laplace", "Histogram", "Gamma", "Beta", "Dirichlet"),
]
#: Numbers that break formulas.
EXTREMES = [-np.inf, -1e308, -1.0, 0.0, 5e-324, 1e-300, 0.5, 1.0, 3.0, 1e100, 1e308, np.inf]
#: Deviations of five standard errors happen to one in two million.
FIVE = 5.0


def _batch(case):
    return case.family(*case.parameters)


def _names(case):
    return [field.name for field in fields(_batch(case)) if not field.name.startswith("_")]


def _rows(case, n=40, seed=0):
    return case.rows(np.random.default_rng(seed), (n, 3))


@ALL
def test_the_log_density_is_that_of_scipy(case):
    rows = _rows(case)
    expected = [[case.log_density(row[k], *case.one(k)) for k in range(3)] for row in rows]
    np.testing.assert_allclose(_batch(case).log_density(rows), expected, rtol=1e-12, atol=1e-13)


@ALL
def test_values_are_broadcast_against_a_batch_of_any_shape(case):
    rows = _rows(case)
    logs = _batch(case).log_density(rows[:, :1])
    assert logs.shape == (40, 3)
    for k in range(3):
        single = case.family(*case.one(k))
        assert single.batch_shape == ()
        np.testing.assert_allclose(single.log_density(rows[:, 0]), logs[:, k], rtol=1e-13)
    wide = case.family(*(np.stack([p, p]) for p in map(np.asarray, case.parameters)))
    assert wide.batch_shape == (2, 3)
    assert wide.n_parameters == 2 * _batch(case).n_parameters
    assert wide.sample(4, 0).shape[:3] == (4, 2, 3)
    np.testing.assert_array_equal(
        wide.log_density(rows[:, None])[:, 1], _batch(case).log_density(rows)
    )


@ALL
def test_a_missing_value_contributes_nothing(case):
    rows = _rows(case)
    whole = _batch(case).log_density(rows)
    rows[3, 1] = np.nan
    logs = _batch(case).log_density(rows)
    assert logs[3, 1] == 0
    whole[3, 1] = 0
    np.testing.assert_array_equal(logs, whole)


@ALL
def test_the_log_density_is_never_nan_and_never_warns(case):
    batch = _batch(case)
    size = batch.mean.shape[-1] if case.vectors else None
    for value in EXTREMES:
        event = value if size is None else np.r_[[value], np.full(size - 1, 0.25)]
        for shape in (event, np.full(size, value) if size else event):
            assert (batch.log_density(shape) < np.inf).all()  # which NaN is not
    for value in case.outside:
        assert (batch.log_density(value) == -np.inf).all()


@ALL
def test_values_that_do_not_fit_are_refused(case):
    batch = _batch(case)
    wrong = np.zeros((2, 4)) if not case.vectors else np.zeros((2, 7))
    with pytest.raises(ShapeError, match=f"{case.family.__name__} needs values that broadcast"):
        batch.log_density(wrong)
    with pytest.raises(InputError, match="must be numbers"):
        batch.log_density(["a", "b", "c"])
    if case.vectors:
        with pytest.raises(ShapeError, match=r"Got shape \(\)"):
            batch.log_density(1.0)


@ALL
def test_the_natural_form_gives_the_log_density(case):
    batch, rows = _batch(case), _rows(case)
    dots = (batch.natural_parameters * batch.sufficient_statistics(rows)).sum(axis=-1)
    logs = dots - batch.log_partition + batch.log_base(rows)
    np.testing.assert_allclose(logs, batch.log_density(rows), rtol=1e-11, atol=1e-11)
    assert batch.natural_parameters.shape[:-1] == batch.log_partition.shape == batch.batch_shape


@ALL
def test_statistics_of_values_outside_are_refused_and_of_missing_ones_missing(case):
    batch, rows = _batch(case), _rows(case)
    for value in case.outside:
        with pytest.raises(InputError, match=r"sufficient_statistics needs"):
            batch.sufficient_statistics(value)
    rows[2] = np.nan
    statistics = batch.sufficient_statistics(rows)
    assert np.isnan(statistics[2]).all()
    assert not np.isnan(np.delete(statistics, 2, axis=0)).any()
    assert (batch.log_base(rows)[2] == 0).all()


@ALL
def test_mean_and_variance_are_those_of_scipy(case):
    mean, variance, _ = case.moments(*map(np.asarray, case.parameters))
    np.testing.assert_allclose(_batch(case).mean, mean, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(_batch(case).variance, variance, rtol=1e-12)


@ALL
def test_samples_have_the_moments_of_the_distribution(case):
    n = 20_000
    batch = _batch(case)
    draws = batch.sample(n, random_state=7)
    np.testing.assert_array_equal(batch.sample(n, np.random.default_rng(7)), draws)
    assert (batch.sample(50, 1) != batch.sample(50, 2)).any()
    assert batch.sample(0, 1).shape[0] == 0
    with pytest.raises(InputError, match=r"sample must be a whole number, at least 0"):
        batch.sample(-1)
    assert np.isfinite(batch.log_density(draws)).all()
    if case.family.__name__ == "Categorical":
        draws = batch.sufficient_statistics(draws)
    mean, variance, kurtosis = case.moments(*map(np.asarray, case.parameters))
    assert draws.shape == (n, *mean.shape)
    error = np.sqrt(variance / n)
    assert (np.abs(draws.mean(axis=0) - mean) <= FIVE * error).all()
    spread = ((draws - mean) ** 2).mean(axis=0)
    error = variance * np.sqrt((kurtosis + 2) / n)  # of squares: kurtosis + 2 times variance²
    assert (np.abs(spread - variance) <= FIVE * error).all()


@ALL
def test_distributions_and_summaries_do_not_change_and_can_be_copied(case):
    given = [np.array(p) for p in case.parameters]
    batch, summary = case.family(*given), case.family.summarise(_rows(case))
    before = batch.mean.copy()
    for array in given:
        array[...] = 0.5
    np.testing.assert_array_equal(batch.mean, before)
    for one in (batch, summary):
        for name in [field.name for field in fields(one) if field.name != "family"]:
            with pytest.raises(FrozenInstanceError):
                setattr(one, name, 1.0)
            with pytest.raises(ValueError, match="read-only"):
                getattr(one, name)[...] = 1.0
            np.testing.assert_array_equal(getattr(copy.deepcopy(one), name), getattr(one, name))


@ALL
def test_bad_parameters_are_refused_by_name(case):
    for i, name in enumerate(_names(case)):
        bad = [np.array(p) for p in case.parameters]
        bad[i] = np.where(np.ones_like(bad[i]), np.nan, 0)
        with pytest.raises(InputError, match=name):
            case.family(*bad)


def test_the_number_of_free_parameters_is_known():
    counts = {name: _batch(case).n_parameters for name, case in EVERY.items()}
    assert counts == {
        "Gaussian": 6,
        "DiagonalGaussian": 12,
        "MultivariateGaussian": 15,
        "Laplace": 6,
        "Histogram": 9,
        "Bernoulli": 3,
        "Categorical": 6,
        "Multinomial": 6,
        "Poisson": 3,
        "Exponential": 3,
        "Gamma": 6,
        "Beta": 6,
        "Dirichlet": 9,
    }


@ALL
def test_the_estimate_matches_the_mean_of_the_statistics(case):
    """The likelihood equation of an exponential family: E[T] is the mean of T."""
    rows = _rows(case)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(rows))
    fitted = case.family.fit(rows, weight)
    statistics = np.average(fitted.sufficient_statistics(rows), axis=0, weights=weight)
    for k in range(3):
        parameters = [getattr(fitted, name)[k] for name in _names(case)]
        expected = np.asarray(case.statistics(*parameters))
        np.testing.assert_allclose(statistics[k], expected, rtol=1e-12, atol=1e-14)


@ALL
def test_a_summary_is_made_by_the_same_family_and_merges_with_its_like(case):
    other = CASES["Poisson" if case.family.__name__ != "Poisson" else "Gaussian"].family
    mine, foreign = case.family.summarise(_rows(case)), other.summarise([1.0, 2.0, 4.0])
    with pytest.raises(InputError, match=r"estimate needs a summary of .*\.summarise"):
        case.family.estimate(foreign)
    with pytest.raises(InputError, match="merges with another"):
        mine.merge(foreign)
    with pytest.raises(InputError, match="Got int"):
        case.family.estimate(3)
    with pytest.raises(ShapeError, match="merge if groups and columns agree"):
        mine.merge(case.family.summarise(_rows(case)[:, :2]))


@ALL
def test_a_column_or_a_group_without_rows_is_named(case):
    rows, groups = _rows(case), np.repeat([0, 2], 20)
    message = r"(weight is 0|nothing was counted) at index \[1[],]"
    with pytest.raises(InputError, match=message):
        case.family.estimate(case.family.summarise(rows[:, 0], groups=groups, n_groups=4))
    rows[:, 1] = np.nan
    if case.family.__name__ in CASES:
        with pytest.raises(InputError, match=message):
            case.family.fit(rows)


@ALL
def test_no_rows_or_no_columns_at_all_are_a_summary_that_changes_nothing(case):
    rows = _rows(case)
    none = case.family.summarise(rows[:, :0])
    assert case.family.estimate(none.merge(none)).batch_shape == (0,)
    empty = case.family.summarise(rows[:0])
    assert (empty.weight == 0).all()
    both = empty.merge(case.family.summarise(rows)).merge(case.family.summarise(rows, np.zeros(40)))
    np.testing.assert_array_equal(case.family.estimate(both).mean, case.family.fit(rows).mean)
    with pytest.raises(InputError, match="weight is 0|nothing was counted"):
        case.family.estimate(empty)


@ALL
def test_values_outside_of_the_support_are_named_with_their_row(case):
    for value in (*case.outside, np.inf, -np.inf):
        rows = _rows(case)
        if case.family.__name__ == "Categorical" and value == 3.0:
            continue  # a new category, not a mistake
        rows[17, 2] = value
        with pytest.raises(InputError, match=r"summarise needs .*Got .* in row 17"):
            case.family.summarise(rows)


@ALL
def test_a_row_of_weight_zero_may_hold_anything(case):
    rows = _rows(case)
    weight = np.ones(40)
    weight[17] = 0
    without = case.family.fit(np.delete(rows, 17, axis=0))
    rows[17] = np.inf
    np.testing.assert_array_equal(case.family.fit(rows, weight).mean, without.mean)
    rows[5] = -np.inf
    for other in (17, 2):
        weight[other] = 0
        with pytest.raises(InputError, match="in row 5"):
            case.family.fit(rows, weight)


@ALL
def test_weights_and_groups_must_be_one_per_row(case):
    rows = _rows(case)
    with pytest.raises(ShapeError, match="one weight per row, 40"):
        case.family.summarise(rows, [1.0])
    for bad in (-np.ones(40), np.full(40, 1e200)):
        with pytest.raises(InputError, match="weights of .* must be between 0 and 1e\\+100"):
            case.family.summarise(rows, bad)
    with pytest.raises(ShapeError, match="groups as one whole number per row, 40"):
        case.family.summarise(rows, groups=np.zeros(40))
    assert case.family.summarise(rows, groups=np.arange(40) == 7).weight.shape[0] == 2
    with pytest.raises(InputError, match=r"from 0 to 1. Got 2 at index \[7\]"):
        case.family.summarise(rows, groups=2 * (np.arange(40) == 7), n_groups=2)
    with pytest.raises(InputError, match=r"Got -1 at index \[0\]"):
        case.family.summarise(rows, groups=np.full(40, -1))
    with pytest.raises(InputError, match="n_groups but no groups"):
        case.family.summarise(rows, n_groups=2)
    with pytest.raises(ShapeError, match=r"needs values of shape \(n"):
        case.family.summarise(1.0)


@pytest.mark.parametrize("name", SPREAD)
def test_constant_data_are_refused_by_index(name):
    case = EVERY[name]
    for scale in (1.0, 0.1, 1 / 3):  # sums of the last two are rounded
        rows = _rows(case)
        rows[:, 1] = rows[0, 1] * (
            scale if name in ("Gaussian", "Laplace", "Histogram", "Gamma") else 1.0
        )
        place = r"\[1, 0\]" if name in ("DiagonalGaussian", "MultivariateGaussian") else r"\[1\]"
        with pytest.raises(InputError, match=f"all values at index {place}.* are equal"):
            case.family.fit(rows)
        halves = case.family.summarise(rows[:13]).merge(case.family.summarise(rows[13:]))
        with pytest.raises(InputError, match=f"all values at index {place}.* are equal"):
            case.family.estimate(halves)
    with pytest.raises(InputError, match="are equal"):
        case.family.fit(rows[:1])


@pytest.mark.parametrize("name", ["Multinomial", "MultivariateGaussian"])
def test_events_of_another_length_do_not_merge(name):
    two, three = (EVERY[name].family.summarise(np.eye(d)) for d in (2, 3))
    with pytest.raises(ShapeError, match="events have the same length"):
        two.merge(three)


@pytest.mark.parametrize(
    ("family", "row", "message"),
    [
        (Poisson, [1.0, -2.0], "whole numbers, 0 or more. Got -2 in row 102, column 'b'."),
        (Dirichlet, [0.5, 0.2], "that sum to 1. Got [0.5, 0.2] in row 102, columns 'a', 'b'."),
    ],
)
def test_the_caller_may_say_what_rows_and_columns_are_called(family, row, message):
    """As naive Bayes does for blocks of a table."""
    rows = np.array([[0.5, 0.5], row]) if family is Dirichlet else np.array([[1.0, 2.0], row])
    with pytest.raises(InputError) as caught:
        family._support.refuse_others(rows, "Model: the family 'x'", [100, 102], ["a", "b"])
    assert str(caught.value).startswith("Model: the family 'x' needs ")
    assert str(caught.value).endswith(message)
