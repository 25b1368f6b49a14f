"""Whatever is passed in by mistake, the error is one of the library, with its own words."""

import datetime as dt
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import credo
from credo import decisions, families, graphs, images, inference
from credo.exceptions import CredoError, InputError

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], 10)
X = RNG.normal(size=(20, 3)) + Y[:, None]
FRAME = pd.DataFrame(X, columns=list("abc"))
TEXTS = [f"word{i % 3} good bad{i % 2}" for i in range(20)]
DAY = np.datetime64("2020-01-01")
BEYOND = np.where(X.max() == X, np.inf, X)

ROWS = {
    "none": None,
    "a text": "abc",
    "bytes": b"abc",
    "a number": 3.0,
    "texts": ["a", "b"],
    "ragged": [[1, 2, 3], [1, 2]],
    "complex": X.astype(complex),
    "complex objects": X.astype(complex).astype(object),
    "infinite": BEYOND,
    "minus infinite": -BEYOND,
    "no rows": X[:0],
    "no columns": X[:, :0],
    "three axes": X[:, :, None],
    "one axis": X[:, 0],
    "no axis": np.array(1.0),
    "wide": np.c_[X, X],
    "narrow": X[:, :2],
    "short": X[:19],
    "objects": np.array([[object()] * 3] * 20),
    "dictionaries": np.array([[{}] * 3] * 20),
    "words": np.array([["a", "b", "c"]] * 20),
    "byte words": np.array([[b"a", b"b", b"c"]] * 20),
    "sparse": sparse.csr_array(X),
    "sparse, no rows": sparse.csr_array((0, 3)),
    "sparse, complex": sparse.csr_array(X.astype(complex)),
    "sparse, wide": sparse.coo_array(np.c_[X, X]),
    "sparse, infinite": sparse.csr_array(BEYOND),
    "empty list": [],
    "empty row": [[]],
    "nested": [[[1], [2], [3]]] * 20,
    "empty frame": pd.DataFrame(),
    "frame without rows": FRAME.iloc[:0],
    "swapped names": FRAME[["c", "b", "a"]],
    "mixed names": FRAME.set_axis(["a", 1, "c"], axis=1),
    "a name twice": FRAME.set_axis(["a", "a", "c"], axis=1),
    "other names": FRAME.set_axis(list("xyz"), axis=1),
    "a name that is none": FRAME.set_axis([None, "b", "c"], axis=1),
    "frame of dates": FRAME.assign(a=pd.date_range("2020", periods=20)),
    "frame of lists": FRAME.assign(a=[[1]] * 20),
    "sparse frame": FRAME.astype(pd.SparseDtype(float)),
    "a series": FRAME["a"],
    "a dictionary": {"a": [1, 2]},
    "a set": {1, 2},
    "dates": np.full((20, 3), DAY),
    "days": [[dt.date(2020, 1, 1)] * 3] * 20,
    "records": np.zeros(20, dtype=[("a", float), ("b", float)]),
    "an iterator": iter(X),
    "a function": len,
    "a type": float,
    "huge": [[10**400, 1, 2]] * 20,
    "masked": np.ma.masked_all((20, 3)),
    "missing": np.full((20, 3), np.nan),
    "matrix": np.matrix(X),
}
LABELS = {
    "none": None,
    "short": Y[:19],
    "long": np.r_[Y, 0],
    "empty": Y[:0],
    "missing": np.where(Y == 0, np.nan, 1.0),
    "infinite": np.where(Y == 0, np.inf, 1.0),
    "continuous": RNG.normal(size=20),
    "complex": Y.astype(complex),
    "complex objects": (Y + 1j).astype(object),
    "two columns": np.c_[Y, Y],
    "three axes": np.zeros((20, 1, 1)),
    "one": 1,
    "a text": "abc",
    "mixed": ["a", 1] * 10,
    "none among": [None, 1] * 10,
    "ragged": [[1], [2, 3]] * 10,
    "dictionaries": [{}] * 20,
    "objects": [object() for _ in range(20)],
    "sets": [{1}] * 20,
    "sparse": sparse.csr_array(Y[None]),
    "a frame of two": pd.DataFrame({"a": Y, "b": Y}),
    "missing whole": pd.array([1, None] * 10, dtype="Int64"),
    "missing text": pd.array(["a", None] * 10, dtype="string"),
    "missing objects": np.array(["a", np.nan] * 10, dtype=object),
    "missing category": pd.Categorical(["a", None] * 10),
    "dates": np.full(20, DAY),
    "no dates": np.full(20, np.datetime64("NaT")),
    "periods": pd.period_range("2020", periods=20),
    "many columns": np.eye(20),
    "masked": np.ma.masked_all(20),
    "records": np.zeros(20, dtype=[("a", float)]),
    "an iterator": iter(Y),
    "a dictionary": {0: 1},
    "a set": {0, 1},
    "a function": len,
    "tuples": [(1, 2)] * 20,
    "bytes": [b"a", b"b"] * 10,
}
WEIGHTS = {
    "negative": -np.ones(20),
    "short": np.ones(19),
    "two columns": np.ones((20, 2)),
    "missing": np.full(20, np.nan),
    "infinite": np.full(20, np.inf),
    "zero": np.zeros(20),
    "a text": "abc",
    "words": ["a"] * 20,
    "complex": np.ones(20) * 1j,
    "a number": 2.0,
    "nones": [None] * 20,
    "sparse": sparse.csr_array(np.ones((1, 20))),
    "a dictionary": {0: 1},
    "enormous": np.full(20, 1e200),
    "objects": [object()] * 20,
    "ragged": [[1], [1, 2]] * 10,
    "masked": np.ma.masked_all(20),
    "a function": len,
    "dates": np.full(20, DAY),
}
MODELS = {
    "gaussian": credo.GaussianClassifier,
    "diagonal": partial(credo.GaussianClassifier, "diagonal"),
    "regressor": credo.GaussianRegressor,
    "naive Bayes": credo.NaiveBayes,
    "categories": partial(credo.NaiveBayes, "categorical"),
    "logistic": partial(credo.LogisticClassifier, penalty="l2"),
    "deciding": lambda: credo.DecisionClassifier(credo.GaussianClassifier()),
    "text": credo.TextClassifier,
}
ANSWERS = ("predict", "predict_proba", "posterior", "log_joint", "decision_function", "explain")
QUIET = pytest.mark.filterwarnings("ignore")  # what is fitted in spite of itself may warn


def taken_or_refused(action, *given, **options):
    """Run it: all may go well, or an error of the library, in words, says why not."""
    try:
        action(*given, **options)
    except CredoError as error:
        return len(str(error)) > 20
    return True


def fitted(kind, rows=X):
    return MODELS[kind]().fit(TEXTS if kind == "text" else rows, Y)


@QUIET
@pytest.mark.parametrize("kind", MODELS)
def test_rows_that_are_wrong_are_refused_by_the_library(kind):
    models = [fitted(kind), fitted(kind, FRAME)]
    for rows in ROWS.values():
        assert taken_or_refused(MODELS[kind]().fit, rows, Y)
        for model in models:
            assert taken_or_refused(model.score, rows, Y)
            for answer in ANSWERS:
                assert not hasattr(model, answer) or taken_or_refused(getattr(model, answer), rows)
        if hasattr(models[0], "partial_fit"):
            assert taken_or_refused(fitted(kind).partial_fit, rows, Y)


@QUIET
@pytest.mark.parametrize("kind", MODELS)
def test_labels_and_weights_that_are_wrong_are_refused_by_the_library(kind):
    rows, model = TEXTS if kind == "text" else X, fitted(kind)
    for labels in LABELS.values():
        assert taken_or_refused(MODELS[kind]().fit, rows, labels)
        assert taken_or_refused(model.score, rows, labels)
        if hasattr(model, "partial_fit"):
            assert taken_or_refused(fitted(kind).partial_fit, rows, labels)
    for weights in WEIGHTS.values():
        assert taken_or_refused(MODELS[kind]().fit, rows, Y, sample_weight=weights)
        assert taken_or_refused(model.score, rows, Y, sample_weight=weights)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda: credo.NaiveBayes().fit(X, Y).predict(X[:, :2]), "X has 2 features, .* Pass the"),
        (
            lambda: credo.GaussianClassifier().fit(FRAME, Y).predict(FRAME[["c", "b", "a"]]),
            "GaussianClassifier: The feature names .* same order .* Pass the columns that it was",
        ),
        (
            lambda: credo.GaussianClassifier().fit(ROWS["mixed names"], Y),
            "string names, but your input has .*str",
        ),
        (
            lambda: credo.LogisticClassifier().fit(X, LABELS["continuous"]),
            "Unknown label type: continuous.* Pass the name of a class for each row",
        ),
        (
            lambda: credo.GaussianClassifier().fit(X, LABELS["two columns"]),
            r"shape \(20, 2\) instead. Pass y as one column",
        ),
        (
            lambda: credo.GaussianClassifier().fit(X, LABELS["complex"]),
            "^GaussianClassifier: Complex data not supported. Pass y as one column",
        ),
        (
            lambda: credo.GaussianClassifier().fit(X, Y).score(X, Y[:19]),
            r"GaussianClassifier\.score: Found .* \[19, 20\]\. Pass one true label per row",
        ),
        (lambda: credo.NaiveBayes().predict(X), "NaiveBayes instance is not fitted yet"),
    ],
    ids=["width", "order", "names", "continuous", "columns", "complex", "score", "unfitted"],
)
def test_what_scikit_learn_refuses_has_a_remedy(action, words):
    with pytest.raises(InputError, match=words):
        action()


def test_a_model_that_is_not_fitted_is_known_to_scikit_learn_as_such():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        credo.GaussianClassifier().predict(X)


def rain():
    net = credo.BayesianNetwork()
    for name in ("rain", "grass"):
        net.variable(name, ["no", "yes"])
    net.cpt("rain", table=[0.8, 0.2])
    net.cpt("grass", ["rain"], table=[[0.9, 0.1], [0.2, 0.8]])
    return net


P = RNG.dirichlet([1, 1], size=12)
NAMES = ["a", "b"]
LOSS = credo.Loss([[0, 1], [5, 0]], NAMES, NAMES)
POST = credo.Posterior.from_probabilities(P, NAMES)
TRUE = NAMES * 6
PAIR = {"a": families.Gaussian(0, 1), "b": families.Gaussian(1, 1)}
FIELD = credo.GridField(np.log(RNG.dirichlet([1, 1], size=(4, 4))), graphs.Potts(1.0))
IMAGE = RNG.random((8, 8)) > 0.5
TABLE = pd.DataFrame({"x": RNG.normal(size=12), "y": TRUE})
CALLS = {
    "decide": (credo.decide, POST, LOSS),
    "decide by arrays": (partial(credo.decide, labels=NAMES), P, LOSS),
    "evaluate": (decisions.evaluate, TRUE, POST, LOSS),
    "calibration": (decisions.calibration, TRUE, POST),
    "confusion_matrix": (decisions.confusion_matrix, TRUE, TRUE, LOSS),
    "cost_curve": (decisions.cost_curve, TRUE, POST, LOSS),
    "expected_loss": (decisions.expected_loss, TRUE, TRUE, LOSS),
    "maximum_posterior": (decisions.maximum_posterior, POST),
    "net_benefit": (decisions.net_benefit, TRUE, POST, LOSS),
    "risk_coverage": (decisions.risk_coverage, TRUE, POST, LOSS),
    "perfect": (decisions.value_of_perfect_information, POST, LOSS),
    "bayes_error": (decisions.bayes_error, PAIR, [0.5, 0.5]),
    "Loss": (credo.Loss, [[0, 1], [5, 0]], NAMES, NAMES),
    "zero_one": (credo.Loss.zero_one, NAMES),
    "from_dict": (credo.Loss.from_dict, {("a", "x"): 1}),
    "Posterior": (credo.Posterior, np.log(P), NAMES),
    "from_probabilities": (credo.Posterior.from_probabilities, P, NAMES),
    "Posterior[]": (POST.__getitem__, "a"),
    "reject_below": (decisions.reject_below, 0.9, NAMES),
    "infer": (credo.infer, rain(), {"rain": "yes"}),
    "query": (lambda query: credo.infer(rain(), query=query), ["grass"]),
    "mpe": (credo.mpe, rain(), {"rain": "yes"}),
    "plan": (credo.plan, rain(), {"rain": "yes"}),
    "k_best": (credo.k_best, rain(), 2),
    "marginal_map": (credo.marginal_map, rain(), ["rain"]),
    "infer_many": (credo.infer_many, rain(), [{"rain": "yes"}]),
    "JunctionTree": (credo.JunctionTree, rain()),
    "infer_grid": (credo.infer_grid, FIELD),
    "r_hat": (inference.r_hat, RNG.normal(size=(2, 50))),
    "variable": (lambda *given: rain().variable(*given), "snow", ["no", "yes"]),
    "with_cpt": (lambda table: rain().with_cpt("rain", table=table), [0.5, 0.5]),
    "Factor": (graphs.Factor, ["rain"], [0.5, 0.5]),
    "parity_graph": (graphs.parity_graph, [[1, 1, 0], [0, 1, 1]]),
    "Potts": (graphs.Potts, 1.0),
    "denoise": (partial(credo.denoise, sweeps=1), IMAGE),
    "add_noise": (partial(credo.add_noise, seed=0), IMAGE, 0.1),
    "flip_map": (images.flip_map, (8, 8), 0.1),
    "Gaussian": (families.Gaussian, 0, 1),
    "log_density": (families.Gaussian(0, 1).log_density, [0.0, 1.0]),
    "Categorical": (families.Categorical, [0.5, 0.5]),
    "MultivariateGaussian": (families.MultivariateGaussian, [0, 0], np.eye(2)),
    "summarise": (credo.summarise, X, Y),
    "compare": (
        partial(credo.compare_generative_discriminative, n_repeats=1, sizes=[8]),
        X,
        Y,
    ),
    "fit_table": (lambda *given: credo.fit_table(credo.NaiveBayes(), *given), TABLE, "y"),
    "scorer": (credo.expected_loss_scorer, LOSS),
    "load": (credo.load, b""),
    "read_network": (credo.read_network, "no such file.bif"),
    "open_source": (credo.tables.open_source, TABLE),
    "unpack": (credo.storage.unpack, b"abcdefgh"),
}
#: No text: that there is no such file is the system's error, and says so.
WRONG = {
    "none": None,
    "a number": 3.5,
    "minus one": -1,
    "texts": [["a"], ["b", "c"]],
    "ragged": [[1, 2], [1]],
    "complex": P.astype(complex),
    "missing": np.full((12, 2), np.nan),
    "infinite": np.full((12, 2), np.inf),
    "negative": -P,
    "no rows": P[:0],
    "no columns": P[:, :0],
    "three axes": P[:, :, None],
    "one axis": P[:, 0],
    "no axis": np.array(0.5),
    "wide": np.c_[P, P],
    "objects": np.array([[object()] * 2] * 12),
    "an object": object(),
    "sparse": sparse.csr_array(P),
    "empty": [],
    "empty row": [[]],
    "empty frame": pd.DataFrame(),
    "frame": pd.DataFrame(P, columns=["x", "y"]),
    "a name twice": pd.DataFrame(P, columns=["a", "a"]),
    "a series": pd.Series([1.0, 2.0]),
    "a dictionary": {"a": 1},
    "numbers by number": {1: 2},
    "a set": {1},
    "dates": np.full((12, 2), DAY),
    "records": np.zeros(12, dtype=[("a", float)]),
    "an iterator": iter([1, 2]),
    "a function": len,
    "a type": float,
    "masked": np.ma.masked_all((12, 2)),
    "true": True,
    "dictionaries": [{}],
    "a pair": (1, 2),
    "words": np.array([["a", "b"]] * 12),
    "nested": [[[1]]],
    "a range": range(5),
    "not available": pd.NA,
}


@QUIET
@pytest.mark.parametrize("name", CALLS)
def test_an_argument_that_is_wrong_is_refused_by_the_library(name):
    call, *given = CALLS[name]
    for place in range(len(given)):
        for wrong in WRONG.values():
            assert taken_or_refused(call, *given[:place], wrong, *given[place + 1 :])


@QUIET
@pytest.mark.parametrize(
    "name", [name for name in CALLS if name not in ("load", "read_network", "unpack")]
)
def test_the_arguments_that_others_are_put_in_the_place_of_are_right(name):
    call, *given = CALLS[name]
    call(*given)
