"""H8: the fitted parameters of naive Bayes as numbers that one can read."""

import numpy as np
import pandas as pd
import pytest

import credo

#: Urine test, blood test, pregnant?
WOMEN = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 1], [1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 1, 1]])


def test_h8_the_pregnancy_table():
    frame = pd.DataFrame(WOMEN[:, :2], columns=["urine", "blood"])
    pregnant = WOMEN[:, 2]
    model = credo.NaiveBayes("bernoulli", smoothing=0).fit(frame, pregnant)
    table = model.parameter_table().set_index(["column", "class", "parameter"])["value"]
    yes, no = WOMEN[pregnant == 1], WOMEN[pregnant == 0]
    assert table["", 1, "prior"] == pytest.approx(4 / 7)  # phi
    assert table["urine", 1, "probability"] == pytest.approx(yes[:, 0].mean())  # mu_11
    assert table["blood", 0, "probability"] == pytest.approx(no[:, 1].mean())  # mu_02
    np.testing.assert_allclose(model.distributions_["blood"].probability, [1 / 3, 3 / 4])


def test_h8_every_family_is_listed_by_column_and_class_and_gives_the_density():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1], 200))
    frame = pd.DataFrame(
        {
            "length": rng.normal(y, 1.0),
            "spend": rng.lognormal(2.0 * y, 1.5),
            "colour": rng.choice(["red", "blue"], 400),
            "visits": rng.poisson(1 + y),
        }
    )
    model = credo.NaiveBayes({"spend": "histogram", "visits": "poisson"}).fit(frame, y)
    assert list(model.distributions_) == ["length", "spend", "colour", "visits"]
    codes = [model.categories_["colour"].index(value) for value in frame["colour"]]
    cells = {"colour": np.array(codes)} | {
        n: frame[n].to_numpy() for n in ("length", "visits", "spend")
    }
    logs = np.log(model.priors_) + sum(
        each.log_density(np.repeat(cells[name][:, None], 2, axis=1))
        for name, each in model.distributions_.items()
    )
    np.testing.assert_allclose(logs, model.log_joint(frame), rtol=1e-9)
    table = model.parameter_table()
    shares = table[(table["column"] == "colour") & (table["class"] == 1)]["value"]
    assert shares.sum() == pytest.approx(1.0)
    assert {"probabilities red", "probabilities blue"} <= set(table["parameter"])
    assert set(table["family"]) == {"", "gaussian", "histogram", "categorical", "poisson"}
