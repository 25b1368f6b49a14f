"""Naive Bayes of distributions that were given, not learned."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.oracles import naive_bayes as mixed

import credo
from credo.exceptions import InputError, LabelError, ShapeError
from credo.families import (
    Bernoulli,
    Categorical,
    DiagonalGaussian,
    Dirichlet,
    Gaussian,
    Histogram,
    Multinomial,
    MultivariateGaussian,
    Poisson,
)

PRIORS = {"ill": 0.1, "well": 0.9}
COLUMNS = {
    "test": {"ill": Bernoulli(0.9), "well": Bernoulli(0.2)},
    "visits": {"well": Poisson(1.0), "ill": Poisson(3.0)},
    "fever": {"ill": Gaussian(39.0, 0.5), "well": Gaussian(37.0, 0.25)},
    "town": {"ill": Categorical([0.2, 0.3, 0.5]), "well": Categorical([0.6, 0.3, 0.1])},
}
TOWNS = ["Bonn", "Ulm", "Trier"]
FRAME = pd.DataFrame(
    {
        "test": [1, 0, None],
        "visits": [2, None, 0],
        "fever": [38.1, 37.0, 39.5],
        "town": ["Ulm", "Trier", None],
    }
)


def known():
    return credo.NaiveBayes.from_parameters(COLUMNS, PRIORS, categories={"town": TOWNS})


def log_joint(rows):
    """Add up logarithms by hand, without what is missing."""
    found = np.tile(np.log([0.1, 0.9]), (len(rows), 1))
    scale = np.sqrt([0.5, 0.25])
    for i, row in enumerate(rows.itertuples()):
        if not pd.isna(row.test):
            found[i] += stats.bernoulli([0.9, 0.2]).logpmf(row.test)
        if not pd.isna(row.visits):
            found[i] += stats.poisson([3.0, 1.0]).logpmf(row.visits)
        found[i] += stats.norm([39.0, 37.0], scale).logpdf(row.fever)
        if isinstance(row.town, str):
            found[i] += np.log([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])[:, TOWNS.index(row.town)]
    return found


def test_given_distributions_have_the_posterior_of_their_product():
    model, expected = known(), log_joint(FRAME)
    np.testing.assert_allclose(model.log_joint(FRAME), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_, ["ill", "well"])
    other = model.with_priors("uniform").log_joint(FRAME)
    np.testing.assert_allclose(other, expected - np.log([0.2, 1.8]), rtol=1e-12)
    odds = model.explain(FRAME.iloc[[0]], "ill", "well").log_odds
    assert odds == pytest.approx(expected[0, 0] - expected[0, 1], rel=1e-12)


def test_given_distributions_are_kept_in_a_file_and_shown_as_a_table(tmp_path):
    known().save(tmp_path / "known.credo")
    again = credo.load(tmp_path / "known.credo")
    np.testing.assert_array_equal(again.log_joint(FRAME), known().log_joint(FRAME))
    assert again.families_ == dict(
        zip(COLUMNS, ("bernoulli", "poisson", "gaussian", "categorical"), strict=True)
    )
    table = again.parameter_table().set_index(["column", "class", "parameter"])["value"]
    assert table["town", "ill", "probabilities Trier"] == 0.5
    assert table["", "well", "prior"] == 0.9
    assert again.n_parameters_ == 2 + 2 + 2 + 4 + 2 * 2


def test_rows_drawn_of_given_distributions_have_their_means():
    rows, y = known().sample(40_000, random_state=0)
    assert np.mean(y == "ill") == pytest.approx(0.1, abs=0.01)
    rows, y = known().sample(20_000, random_state=1, label="ill")
    assert set(y) == {"ill"}
    assert rows["visits"].mean() == pytest.approx(3.0, abs=0.05)
    assert rows["fever"].var() == pytest.approx(0.5, abs=0.02)
    assert (rows["town"] == "Trier").mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("named", [True, False])
def test_distributions_of_every_family_that_a_fit_shows_give_its_densities(named):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1, 2], 40))
    cells = np.array([mixed.mixed_row(rng, int(k)) for k in y], dtype=object)
    names = [f"c{j}" for j in range(mixed.N_COLUMNS)]
    rows = pd.DataFrame(cells.tolist(), columns=names) if named else cells
    call = (lambda j: f"c{j}") if named else int
    families = {
        tuple(map(call, key)) if isinstance(key, tuple) else call(key): family
        for key, family in mixed.EVERY_FAMILY.items()
    }
    fitted = credo.NaiveBayes(families, cells=4).fit(rows, y)
    again = credo.NaiveBayes.from_parameters(
        fitted.distributions_, fitted.priors_, classes=[0, 1, 2], categories=fitted.categories_
    )
    np.testing.assert_allclose(again.log_joint(rows), fitted.log_joint(rows), rtol=1e-12)
    assert again.families_ == fitted.families_
    assert again.n_parameters_ == fitted.n_parameters_


def test_one_given_number_has_thresholds_and_cells_have_their_densities():
    model = credo.NaiveBayes.from_parameters({0: Gaussian([0, 3], [2.0, 2.0])}, [0.9, 0.1])
    expected = 1.5 + 2.0 / 3.0 * np.log(9)
    np.testing.assert_allclose(model.regions().thresholds, [expected], rtol=1e-12)
    cells = {k: Histogram([0, 1, 3], p) for k, p in {"a": [0.5, 0.5], "b": [0.2, 0.8]}.items()}
    model = credo.NaiveBayes.from_parameters({0: cells})
    np.testing.assert_allclose(model.log_joint([[2.0]]), np.log([[0.125, 0.2]]), rtol=1e-12)
    with pytest.raises(InputError, match=r"regions cuts a line, and the model has 4 columns"):
        known().regions()


def test_given_distributions_take_no_rows():
    model = known()
    with pytest.raises(InputError, match="given parameters has seen no rows"):
        model.partial_fit(FRAME, ["ill", "well", "ill"])
    with pytest.raises(InputError, match="given parameters has seen no rows"):
        model.merge(known())
    votes = {"a": Multinomial([0.5, 0.5]), "b": Multinomial([0.1, 0.9])}
    group = credo.NaiveBayes.from_parameters({(0, 1): votes})
    with pytest.raises(InputError, match="Pass total="):
        group.sample(3, 0)
    assert set(group.sample(9, 0, total=4)[0].sum(axis=1)) == {4}


@pytest.mark.parametrize(
    ("columns", "more", "error", "message"),
    [
        ({}, {}, InputError, "needs the distributions by column"),
        ({0: {"a": Poisson(1), "b": Gaussian(0, 1)}}, {}, InputError, "Got Poisson, Gaussian"),
        ({0: DiagonalGaussian([[0.0], [1.0]], [[1.0], [1.0]])}, {}, InputError, "one family"),
        ({0: {"a": Poisson(1), "b": Poisson(2)}, 1: {"a": Poisson(1)}}, {}, LabelError, "b"),
        ({0: Poisson([1, 2]), 1: Poisson([1, 2, 3])}, {}, ShapeError, "column 1 needs one"),
        ({0: {"a": Poisson([1, 2])}}, {}, ShapeError, "one distribution of each of 1 classes"),
        ({(0, 1): MultivariateGaussian(np.zeros((2, 3)), np.eye(3))}, {}, InputError, "not fit"),
        ({(0, 1): {"a": Dirichlet([1, 2])}, 1: {"a": Poisson(1)}}, {}, InputError, "1 occurs more"),
        (
            {0: {"a": Categorical([0.5, 0.5])}},
            {"categories": {0: ["x", "y", "z"]}},
            InputError,
            "does not fit its columns or categories",
        ),
        (
            {0: {"a": Histogram([0, 1], [1.0]), "b": Histogram([0, 2], [1.0])}},
            {},
            InputError,
            "same edges",
        ),
        (
            {"c": {"a": Categorical([0.5, 0.5])}, "x": {"a": Poisson(1)}},
            {"categories": {"x": ["no", "yes"]}},
            LabelError,
            "no column of categories 'x'. Known: 'c'",
        ),
        ({0: Poisson([1, 2])}, {"priors": [0.3, 0.8]}, InputError, "priors"),
    ],
)
def test_distributions_that_do_not_fit_each_other_are_named(columns, more, error, message):
    with pytest.raises(error, match=message):
        credo.NaiveBayes.from_parameters(columns, **more)
