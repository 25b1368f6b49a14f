"""``NaiveBayes`` among scikit-learn's tools."""

import copy
import pickle  # noqa: TID251 - scikit-learn's tools send models to processes by it

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.oracles import naive_bayes as oracle

import credo
from credo import NaiveBayes

ROWS, Y = oracle.mixed_rows(90, seed=60, holes=0.1)
FRAME = pd.DataFrame([row[:5] for row in ROWS], columns=["g", "l", "b", "colour", "n"])


# Some checks fit as many rows as features: variances are then repaired, with a warning.
@pytest.mark.filterwarnings("ignore::credo.exceptions.SingularWarning")
@parametrize_with_checks(
    [
        NaiveBayes(),
        NaiveBayes("gaussian"),
        NaiveBayes("categorical"),
        NaiveBayes(unknown="ignore", smoothing_target="marginal"),
    ]
)
def test_it_honours_scikit_learns_contract(estimator, check):
    check(estimator)


def test_it_is_in_the_lobby():
    assert credo.NaiveBayes is NaiveBayes
    assert "NaiveBayes" in dir(credo)


def test_parameters_are_kept_as_they_were_given():
    families, priors = {"n": "poisson"}, {"ant": 0.2, "bee": 0.3, "cat": 0.5}
    model = NaiveBayes(families, smoothing=0.5, unknown="ignore", priors=priors)
    assert model.get_params() == {
        "families": families,
        "smoothing": 0.5,
        "smoothing_target": "uniform",
        "unknown": "ignore",
        "variance_floor": 1e-9,
        "priors": priors,
    }
    model.fit(FRAME, Y)
    assert model.families is families
    assert model.priors is priors


def test_a_clone_is_unfitted_and_fits_the_same():
    model = NaiveBayes({"n": "poisson"}, smoothing=2).fit(FRAME, Y)
    twin = clone(model)
    assert not hasattr(twin, "classes_")
    np.testing.assert_array_equal(twin.fit(FRAME, Y).log_joint(FRAME), model.log_joint(FRAME))


def pickled(model):
    return pickle.loads(pickle.dumps(model))  # noqa: S301 - its own


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
def test_copies_predict_sample_explain_and_learn_on(copied):
    model = NaiveBayes({"n": "poisson", "l": "laplace"}).fit(FRAME, Y)
    model.predict(FRAME)  # whatever is computed once is there
    other = copied(model)
    np.testing.assert_array_equal(other.log_joint(FRAME), model.log_joint(FRAME))
    pd.testing.assert_frame_equal(other.sample(5, 0)[0], model.sample(5, 0)[0])
    assert repr(other) == repr(model)
    assert repr(other.explain(FRAME[:1])) == repr(model.explain(FRAME[:1]))
    np.testing.assert_array_equal(
        other.partial_fit(FRAME, Y).log_joint(FRAME), model.partial_fit(FRAME, Y).log_joint(FRAME)
    )


def test_sparse_models_are_pickled_too():
    X = csr_array(np.array([[1, 0, 2], [0, 1, 1]]))
    model = NaiveBayes().fit(X, [0, 1])
    model.predict(X)
    other = pickled(model)
    np.testing.assert_array_equal(other.log_joint(X), model.log_joint(X))


def test_grids_and_folds_take_strings_and_missing_values():
    search = GridSearchCV(
        NaiveBayes({"n": "poisson"}),
        {"smoothing": [0.1, 1.0, 10.0], "smoothing_target": ["uniform", "marginal"]},
        scoring="neg_log_loss",
        cv=3,
        error_score="raise",
    ).fit(FRAME, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert set(search.predict(FRAME)) <= set(Y)
    scores = cross_val_score(NaiveBayes(), FRAME, Y, cv=4, error_score="raise")
    assert scores.min() > 1 / 3
    folded = cross_val_predict(NaiveBayes(), FRAME, Y, cv=3, method="predict_log_proba")
    assert folded.shape == (90, 3)


def test_a_pipeline_may_prepare_some_columns():
    X = FRAME[["g", "l", "colour"]].fillna({"g": 0, "l": 0})
    prepared = make_column_transformer(
        (StandardScaler(), ["g", "l"]), remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    piped = make_pipeline(prepared, NaiveBayes()).fit(X, Y)
    plain = NaiveBayes().fit(X, Y)
    assert piped[-1].families_ == {"g": "gaussian", "l": "gaussian", "colour": "categorical"}
    np.testing.assert_allclose(piped.predict_proba(X), plain.predict_proba(X), rtol=1e-8)


def test_documents_go_through_a_vectoriser():
    words = ["cheap pills now", "cheap offer", "meeting at noon", "notes of the meeting"]
    spam = make_pipeline(CountVectorizer(), NaiveBayes("multinomial"))
    spam.fit(words, ["spam", "spam", "ham", "ham"])
    assert spam.predict(["cheap meeting pills", "the noon notes"]).tolist() == ["spam", "ham"]


def test_calibration_and_decisions_take_its_posterior():
    calibrated = CalibratedClassifierCV(NaiveBayes(), cv=2).fit(FRAME, Y)
    assert calibrated.predict_proba(FRAME).shape == (90, 3)
    model = NaiveBayes().fit(FRAME, Y)
    choice = credo.decide(model.posterior(FRAME), credo.Loss.zero_one(model.classes_.tolist()))
    np.testing.assert_array_equal(np.asarray(choice.acts), model.predict(FRAME))


def test_scores_are_accuracies_weighted_if_asked():
    model = NaiveBayes().fit(FRAME, Y)
    right = model.predict(FRAME) == Y
    assert model.score(FRAME, Y) == pytest.approx(right.mean())
    weights = np.arange(90.0)
    assert model.score(FRAME, Y, weights) == pytest.approx(np.average(right, weights=weights))
