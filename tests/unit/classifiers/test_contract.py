"""What every model promises: one answer, however the rows came, were weighted, named or stored.

A case is a model with rows that suit it; each law below is asked of every case it applies to.
"""

import copy
import pickle  # noqa: TID251 - scikit-learn's tools send models to processes by it
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from tests.oracles import gaussians as gaussian_rows, naive_bayes as mixed

import credo
from credo import (
    DecisionClassifier,
    GaussianClassifier,
    GaussianRegressor,
    LogisticClassifier,
    Loss,
    NaiveBayes,
    TextClassifier,
)
from credo.exceptions import CredoError, InputError, LabelError

# Parts of a table may have too few rows; what matters is that the whole has enough.
pytestmark = pytest.mark.filterwarnings("ignore::credo.exceptions.SingularWarning")

# --- rows ------------------------------------------------------------------------------------

NAMES = np.array(["ant", "bee", "cat"])
X, CODES = gaussian_rows.rows_of(170, counts=(14, 16, 18), gap=0.6)
N = len(CODES)
Y = NAMES[CODES]
WEIGHTS = np.random.default_rng(171).integers(1, 4, N).astype(float)
NUMBERS = pd.DataFrame(X, columns=["a", "b", "c"])
HOLES = pd.DataFrame(gaussian_rows.with_holes(X, 1), columns=["a", "b", "c"])

COLUMNS = {
    **{family: (family,) for key, family in mixed.EVERY_FAMILY.items() if isinstance(key, int)},
    "multinomial": ("m0", "m1", "m2"),
    "dirichlet": ("d0", "d1", "d2"),
    "multivariate_gaussian": ("g0", "g1"),
}
FAMILIES = {(names if len(names) > 1 else names[0]): f for f, names in COLUMNS.items()}


def mixed_frame(holes=0.0):
    """One column, or group of columns, for each family, drawn for the classes of ``Y``."""
    rng = np.random.default_rng(172)
    rows = [mixed.mixed_row(rng, int(k)) for k in CODES]
    for row in rows:
        for j in range(mixed.N_COLUMNS - 2):  # full covariances need complete rows
            row[j] = None if rng.random() < holes else row[j]
    return pd.DataFrame(rows, columns=sum(COLUMNS.values(), ()))


MIXED, MIXED_HOLES = mixed_frame(), mixed_frame(0.15)
COUNTS = np.random.default_rng(173).poisson(0.4 + 0.3 * CODES[:, None], (N, 9)).astype(float)
ANIMALS = ["zebra", "lion", "tiger", "apple", "pear", "fig", "car", "bus", "train", "the"]


def documents():
    rng = np.random.default_rng(174)
    shares = rng.dirichlet(np.ones(len(ANIMALS)), size=3)
    texts = [" ".join(rng.choice(ANIMALS, rng.integers(1, 7), p=shares[k])) for k in CODES]
    return ["", ":)", *texts[2:]]


TEXTS = documents()
WORD_OPTIONS = {
    "": {},
    " marginal": {"smoothing_target": "marginal"},
    " frequent": {"vocabulary": "frequent", "max_words": 3},
    " relevant": {"vocabulary": "relevant", "max_words": 4},
    " at most": {"max_words": 2},
    " stop words": {"vocabulary": "no_stop_words", "stop_words": ["car", "pear"]},
    " hashing": {"hashing": 64},
    " hashing relevant": {"hashing": 64, "vocabulary": "relevant", "max_words": 4},
    " bigrams": {"vectorizer": CountVectorizer(ngram_range=(1, 2))},
}
TEXT_OPTIONS = {
    **{
        model + name: {"model": model, **options}
        for model in ("complement", "multinomial")
        for name, options in WORD_OPTIONS.items()
    },
    "complement alone": {"calibrated": False},
    **{
        "bernoulli" + name: {"model": "bernoulli", **WORD_OPTIONS[name]}
        for name in ("", " relevant", " hashing")
    },
}


# --- cases -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A model, rows to learn from, and which laws hold for it."""

    make: Callable[..., Any]
    X: Any = None
    y: Any = None
    new: Any = None  # rows to ask about, beside those it learned from
    streams: bool = True  # partial_fit and merge
    tables: bool = True
    units: tuple[str, ...] = ()  # columns whose units do not matter, each with its own
    one_unit: bool = False  # all of them must have the same
    wrong: Any = np.inf  # a cell that is refused
    digits: float = 1e-9

    @property
    def asked(self):
        """All rows to ask about."""
        if self.new is None:
            return self.X
        return [*self.X, *self.new] if isinstance(self.X, list) else pd.concat([self.X, self.new])

    def fit(self, places=None, weights=None):
        """Fit to some of the rows."""
        places = np.arange(N) if places is None else places
        w = () if weights is None else (weights[places],)
        return self.make().fit(take(self.X, places), self.y[places], *w)

    def stream(self, parts, weights):
        """Fit to one part after the other."""
        model = self.make()
        for p in parts:
            model.partial_fit(take(self.X, p), self.y[p], sample_weight=weights[p])
        return model


def take(rows, places):
    """Some of the rows, in their kind of table."""
    if isinstance(rows, list):
        return [rows[i] for i in places]
    return rows.iloc[places] if hasattr(rows, "iloc") else rows[places]


def gaussian(shape, rows=NUMBERS, **changes):
    options = {key: changes.pop(key) for key in ("shrinkage", "subspace", "tol") if key in changes}
    far = pd.DataFrame(3 * X[:5] - 2, columns=["a", "b", "c"])
    some = {"units": ("a", "b", "c"), "one_unit": "spherical" in shape or "subspace" in options}
    make = partial(GaussianClassifier, shape, **options)
    return Case(make, rows, Y, far, **{**some, **changes})


def naive(families, rows, new=None, **changes):
    return Case(partial(NaiveBayes, families), rows, Y, new, **changes)


UNITS = ("gaussian", "laplace", "exponential", "gamma")
WRONG = {"categorical": {}}
CASES = {
    **{f"gaussian {shape}": gaussian(shape) for shape in gaussian_rows.SHAPES},
    **{
        f"gaussian {shape} missing": gaussian(shape, HOLES)
        for shape in gaussian_rows.SHAPES
        if shape not in gaussian_rows.CORRELATED
    },
    "gaussian em": gaussian("full", HOLES, tol=1e-5, streams=False, tables=False),
    "gaussian tied em": gaussian("tied", HOLES, tol=1e-5, streams=False, tables=False),
    "gaussian full shrunk": gaussian("full", shrinkage=0.3),
    "gaussian full oas": gaussian("full", shrinkage="oas"),
    "gaussian tied oas": gaussian("tied", shrinkage="oas"),
    "gaussian proportional oas": gaussian("proportional", shrinkage="oas"),
    "gaussian auto": gaussian("full", shrinkage="auto", streams=False, tables=False),
    "gaussian tied auto": gaussian("tied", shrinkage="auto", streams=False, tables=False),
    "gaussian subspace": gaussian("full", subspace=2, tables=False),
    "gaussian tied subspace": gaussian("tied", subspace=0.9, tables=False),
    **{
        f"naive {family}": naive(
            {(c if len(c) > 1 else c[0]): family},
            MIXED[list(c)],
            units=c if family in (*UNITS, "multivariate_gaussian") else (),
            wrong=WRONG.get(family, np.inf),
        )
        for family, c in COLUMNS.items()
    },
    "naive mixed": naive(FAMILIES, MIXED, units=UNITS),
    "naive mixed missing": naive(FAMILIES, MIXED_HOLES, MIXED_HOLES[::-7], units=UNITS),
    "naive marginal": Case(
        partial(NaiveBayes, FAMILIES, smoothing_target="marginal", unknown="ignore"),
        MIXED_HOLES,
        Y,
    ),
    "naive sparse multinomial": naive("multinomial", csr_array(COUNTS), tables=False),
    "naive sparse poisson": naive("poisson", csr_array(COUNTS), tables=False),
    "naive sparse bernoulli": naive("bernoulli", csr_array(np.minimum(COUNTS, 1)), tables=False),
    **{
        f"text {name}": Case(
            partial(TextClassifier, **options), TEXTS, Y, ["kiwi", "lion bus bus"], wrong=None
        )
        for name, options in TEXT_OPTIONS.items()
    },
    **{
        f"regressor {amount}": Case(
            partial(GaussianRegressor, shrinkage=amount),
            HOLES[["a", "b"]] if amount == "em" else NUMBERS[["a", "b"]],
            X[:, 2],
            HOLES[["a", "b"]],
            streams=amount != "auto",
            tables=amount != "auto",
            units=("a", "b"),
        )
        for amount in (None, 0.3, "oas", "auto")
    },
    "logistic": Case(LogisticClassifier, NUMBERS, Y, streams=False, digits=1e-6),
    "logistic l2": Case(
        partial(LogisticClassifier, "l2", strength=0.5), NUMBERS, Y, streams=False, digits=1e-6
    ),
    "decision": Case(
        partial(DecisionClassifier, GaussianClassifier("tied")), NUMBERS, Y, streams=False
    ),
}
LOGISTIC = [name for name in CASES if name.startswith("logistic")]
REGRESSORS = [name for name in CASES if name.startswith("regressor")]
CLASSIFIERS = [name for name in CASES if name not in REGRESSORS]
GENERATIVE = [name for name in CLASSIFIERS if name not in (*LOGISTIC, "decision")]
#: Those with a density; the complement model has priors, but no density.
DENSE = [name for name in GENERATIVE if "complement" not in name]
STREAMS = [name for name in CASES if CASES[name].streams]
FRAMES = [name for name in CASES if isinstance(CASES[name].X, pd.DataFrame)]
#: Cases that differ in more than how something is chosen, shrunk or tied.
VARIED = [
    name
    for name in CASES
    if name.split(" ", 1)[0] != "text"
    or name in ("text complement", "text multinomial", "text bernoulli hashing")
    if not name.endswith(("oas", "0.3", "shrunk", "tied em", "tied_diagonal missing"))
    if "spherical missing" not in name
]
#: One of each kind, for laws that do not depend on what is estimated.
KINDS = [
    *("gaussian full", "gaussian diagonal missing", "naive mixed missing"),
    *("naive sparse multinomial", "text multinomial", "text multinomial hashing"),
    *("text complement", "text complement hashing"),
]

ROWS = np.arange(N)
SORTED = np.argsort(CODES, kind="stable")
#: Ways to cut the rows into batches; sorted rows bring one class after the other.
SPLITS = {
    "sevenths backwards": np.array_split(ROWS[::-1], 7),
    "class by class": np.array_split(SORTED, 5),
    "row by row": [ROWS[i : i + 1] for i in ROWS],
}


def cases(names):
    return pytest.mark.parametrize("name", names)


ESTIMATES = (
    *("priors_", "means_", "covariances_", "proportions_", "shrinkage_", "components_", "coef_"),
    *("intercept_", "log_likelihood_", "variance_", "log_probabilities_", "smoothing_"),
    *("temperature_", "biases_"),
)


def answers(model, rows):
    """What a model says about rows, as a table of numbers."""
    if isinstance(model, GaussianRegressor):
        return np.stack(model.predict(rows, return_std=True))
    dense = hasattr(model, "log_joint") and getattr(model, "model", "") != "complement"
    return model.log_joint(rows) if dense else model.predict_log_proba(rows)


def assert_same(one, other, rows, digits=1e-9):
    expected = answers(other, rows)
    np.testing.assert_allclose(answers(one, rows), expected, rtol=digits, atol=digits)
    assert hasattr(one, "classes_") == hasattr(other, "classes_")
    if hasattr(one, "classes_"):
        assert one.classes_.tolist() == other.classes_.tolist()
    for name in ESTIMATES:
        if hasattr(other, name):
            np.testing.assert_allclose(
                getattr(one, name), getattr(other, name), rtol=digits, atol=digits, err_msg=name
            )
    for name in ("n_parameters_", "families_", "words_"):
        assert getattr(one, name, None) == getattr(other, name, None), name
    for name in ("constant_features_", "variance_floored_"):
        np.testing.assert_array_equal(getattr(one, name, None), getattr(other, name, None))
    seen, expected = (getattr(model, "categories_", {}) for model in (one, other))
    assert {k: set(v) for k, v in seen.items()} == {k: set(v) for k, v in expected.items()}
    if isinstance(one, TextClassifier):
        np.testing.assert_allclose(
            one.mutual_information(), other.mutual_information(), rtol=1e-9, atol=1e-13
        )
        assert one.top_words(2) == other.top_words(2)


def refusal_or(call):
    """What a call gives, or why it refuses."""
    try:
        return call()
    except (ValueError, TypeError) as refusal:
        return refusal


# --- one model, however the rows came --------------------------------------------------------


@cases(STREAMS)
def test_a_stream_equals_one_fit(name):
    case = CASES[name]
    whole = case.fit(weights=WEIGHTS)
    splits = ["sevenths backwards", "class by class"]
    for split in (*splits, "row by row") if name in (*KINDS, "regressor None") else splits:
        assert_same(case.stream(SPLITS[split], WEIGHTS), whole, case.asked)


@cases(STREAMS)
def test_merged_parts_equal_one_fit_in_any_order(name):
    """A part may be too small for a model of its own."""
    case = CASES[name]
    whole = case.fit(weights=WEIGHTS)
    splits = SPLITS["class by class"]
    models = [case.stream([p], WEIGHTS) for p in splits]
    assert_same(reduce(lambda a, b: a.merge(b), models), whole, case.asked)
    assert_same(reduce(lambda a, b: b.merge(a), models), whole, case.asked)
    if isinstance(whole, GaussianClassifier):
        parts = [
            credo.summarise(case.X.iloc[p], Y[p], WEIGHTS[p], covariance=whole.covariance)
            for p in splits
        ]
        model = case.make().fit_summary(reduce(lambda a, b: b.merge(a), parts))
        assert_same(model, whole, case.asked)


@cases(STREAMS)
def test_a_stream_continues_a_fit_and_a_fit_forgets(name):
    case = CASES[name]
    first, rest = np.split(SORTED[::-1], [33])
    model = case.fit(first).partial_fit(take(case.X, rest), case.y[rest])
    assert_same(model, case.fit(), case.asked)
    assert_same(model.fit(take(case.X, first), case.y[first]), case.fit(first), case.asked)


@cases(
    [
        name
        for name in CASES
        if name in [*FRAMES, "text complement", "text multinomial"] and CASES[name].tables
    ]
)
@pytest.mark.parametrize("form", ["frame", "parquet"])
def test_a_table_gives_what_fit_gives(name, form, tmp_path):
    case = CASES[name]
    X = pd.DataFrame({"text": case.X}) if isinstance(case.X, list) else case.X
    source = X.assign(y=case.y, w=WEIGHTS)
    if form == "parquet":
        table = pa.Table.from_pandas(source, preserve_index=False)
        pq.write_table(table, tmp_path / "rows.parquet", row_group_size=20)
        source = tmp_path / "rows.parquet"
    model = credo.fit_table(case.make(), source, "y", weight="w")
    if name == "decision":
        expected = case.make().fit(case.X, case.y, sample_weight=WEIGHTS)
    else:
        expected = case.fit(weights=WEIGHTS)
    assert_same(model, expected, case.asked, case.digits)


@cases(CASES)
def test_a_saved_model_answers_bit_for_bit_and_learns_on(name, tmp_path):
    case = CASES[name]
    first, rest = np.split(SORTED[::-1], [33])
    model = case.fit(first)
    model.save(tmp_path / "model.credo")
    loaded = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(answers(loaded, case.asked), answers(model, case.asked))
    if case.streams:
        for each in (loaded, model):
            each.partial_fit(take(case.X, rest), case.y[rest])
        np.testing.assert_array_equal(answers(loaded, case.asked), answers(model, case.asked))
        assert_same(loaded.merge(loaded), model.merge(model), case.asked)


@cases(CASES)
def test_a_weight_of_two_is_the_row_twice_and_of_zero_no_row(name):
    case = CASES[name]
    weights = np.arange(N) % 4.0  # whole ones; whatever holds zero is absent
    places = np.repeat(ROWS, weights.astype(int))
    weighted = case.make().fit(case.X, case.y, sample_weight=weights)
    assert_same(weighted, case.fit(places), case.asked, case.digits)


@cases([name for name in VARIED if name in CLASSIFIERS])
def test_a_row_or_a_class_of_weight_zero_is_absent_whatever_it_holds(name):
    case = CASES[name]
    weights = np.where((CODES == 1) | (ROWS == 0), 0.0, WEIGHTS)
    holds = wrong_cell(case) if name not in UNREAD else case.X
    model = case.make().fit(holds, case.y, sample_weight=weights)
    assert model.classes_.tolist() == ["ant", "cat"]
    kept = np.flatnonzero(weights)
    expected = case.make().fit(take(case.X, kept), case.y[kept], sample_weight=weights[kept])
    assert_same(model, expected, case.asked, case.digits)


@cases(CASES)
def test_the_order_of_rows_does_not_matter(name):
    case = CASES[name]
    order = np.random.default_rng(175).permutation(N)
    assert_same(case.fit(order), case.fit(), case.asked, max(case.digits, 1e-8))


@cases(FRAMES)
def test_the_order_of_named_columns_does_not_matter(name):
    case = CASES[name]
    turned = list(case.X.columns[::-1])
    model = case.make().fit(case.X[turned], case.y)
    np.testing.assert_allclose(
        answers(model, case.asked[turned]), answers(case.fit(), case.asked), rtol=1e-6, atol=1e-8
    )


FORMS = {
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(map(tuple, x)),
    "fortran": np.asfortranarray,
    "strided": lambda x: np.repeat(np.repeat(x, 2, axis=0), 2, axis=1)[::2, ::2],
    "reversed": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "read-only": lambda x: np.broadcast_to(x, x.shape),
    "object": lambda x: x.astype(object),
    "long": lambda x: x.astype(np.longdouble),
    "float32": lambda x: x.astype(np.float32),
    "int8": lambda x: x.astype(np.int8),
    "masked": np.ma.masked_invalid,
    "pandas": pd.DataFrame,
    "nullable": lambda x: pd.DataFrame(x).astype("Float64"),
    "polars": lambda x: pl.DataFrame(x).with_columns(pl.all().fill_nan(None)),
}


@cases(
    [
        *("gaussian full", "gaussian tied_spherical", "gaussian diagonal missing"),
        *("gaussian subspace", "regressor None", "logistic"),
    ]
)
@pytest.mark.parametrize("form", FORMS)
def test_any_table_of_numbers_gives_the_same_in_double_precision(name, form):
    case = CASES[name]
    rows = np.round(16 * case.X.to_numpy())  # whole numbers, which are the same in every type
    if form == "int8" and np.isnan(rows).any():
        return
    y = np.round(64 * case.y) if name in REGRESSORS else case.y
    model, expected = case.make().fit(FORMS[form](rows), y), case.make().fit(rows, y)
    found = answers(model, FORMS[form](rows))
    tol = 1e-4 if name == "logistic" and found.dtype == np.float32 else 1e-9
    np.testing.assert_allclose(found, answers(expected, rows), rtol=tol, atol=tol)
    if name not in REGRESSORS:
        narrow = np.float32 if form == "float32" else np.float64
        assert model.predict_proba(FORMS[form](rows)).dtype == narrow
        assert model.posterior(FORMS[form](rows)).probabilities.dtype == np.float64


@cases([n for n in CASES if n.startswith(("gaussian", "regressor"))])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_refused_with_its_place(name, value):
    case = CASES[name]
    rows = case.X.to_numpy()
    model = case.make().fit(rows, case.y)
    rows = np.nan_to_num(rows)
    rows[7, 1] = value
    with pytest.raises(InputError, match="infinity, in column 1"):
        case.make().fit(rows, case.y)
    for method in ("predict", "predict_proba", "log_joint", "log_density", "mahalanobis"):
        if hasattr(model, method) and not (name in REGRESSORS and method == "log_density"):
            with pytest.raises(InputError, match="infinity, in row 7, column 1"):
                getattr(model, method)(rows)


@pytest.mark.parametrize(
    ("name", "power"),
    [
        *((name, 20) for name in CASES if CASES[name].units),
        *((name, p) for name in VARIED if CASES[name].units for p in (500, -500)),
    ],
)
def test_units_do_not_matter(name, power):
    """Powers of two, so that scaling is exact: a density has the inverse unit, a posterior none."""
    case = CASES[name]
    powers = np.full(len(case.units), power)
    if power == 20 and not case.one_unit:
        powers = np.linspace(-20, 20, len(case.units)).round()
    units = dict(zip(case.units, 2.0**powers, strict=True))

    def scaled(rows):
        return rows.assign(**{c: rows[c] * unit for c, unit in units.items()})

    model = case.fit()
    other = refusal_or(lambda: case.make().fit(scaled(case.X), case.y))
    if "naive" in name and isinstance(other, InputError):  # beyond what a family takes
        assert abs(power) == 500
        assert "Rescale the unit" in str(other)
        assert any(repr(column) in str(other) for column in units)
        return
    found, expected = answers(other, scaled(case.X)), answers(model, case.X)
    for attribute in ("variance_floored_", "constant_features_", "shrinkage_"):
        np.testing.assert_allclose(
            getattr(other, attribute, 0), getattr(model, attribute, 0), rtol=1e-9
        )
    if name not in REGRESSORS:
        seen = case.X[list(units)].notna().to_numpy()
        logs = seen @ np.log(list(units.values()))
        found += logs[:, None] if "subspace" not in name else 0
        np.testing.assert_allclose(
            other.predict_proba(scaled(case.X)), model.predict_proba(case.X), rtol=1e-9, atol=1e-12
        )
    if "subspace" not in name:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@cases([n for n in GENERATIVE if n in FRAMES and "subspace" not in n])
def test_a_row_without_values_has_the_prior_for_its_posterior(name):
    case = CASES[name]
    model = case.fit()
    nothing = pd.DataFrame([[None] * case.X.shape[1]], columns=case.X.columns)
    nothing = nothing if "naive" in name else nothing.astype(float)
    np.testing.assert_allclose(model.predict_proba(nothing)[0], model.priors_, rtol=1e-12)
    np.testing.assert_allclose(model.log_density(nothing), 0.0, atol=1e-12)


# --- probabilities and priors ----------------------------------------------------------------


@cases(CLASSIFIERS)
def test_probabilities_logarithms_densities_and_decisions_agree(name):
    case = CASES[name]
    model, rows = case.fit(), case.asked
    proba, logs = model.predict_proba(rows), model.predict_log_proba(rows)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-13)
    np.testing.assert_allclose(np.exp(logs), proba, rtol=1e-12, atol=1e-300)
    posterior = model.posterior(rows)
    assert posterior.labels == tuple(NAMES.tolist())
    np.testing.assert_allclose(posterior.probabilities, proba, rtol=1e-12)
    best = model.classes_[logs.argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(rows), best)
    acts = credo.decide(posterior, Loss.zero_one(NAMES.tolist())).acts
    np.testing.assert_array_equal(acts, best)
    right = model.predict(case.X) == case.y
    if name != "decision":
        assert model.score(case.X, case.y) == pytest.approx(right.mean())
        weighted = model.score(case.X, case.y, sample_weight=WEIGHTS)
        assert weighted == pytest.approx(np.average(right, weights=WEIGHTS))
        scores = model.decision_function(rows)
        scores = scores - logsumexp(scores, axis=1, keepdims=True)
        np.testing.assert_allclose(scores, logs, rtol=1e-9, atol=1e-9)
    if name in DENSE:
        joint, density = model.log_joint(rows), model.log_density(rows)
        np.testing.assert_allclose(logsumexp(joint, axis=1), density, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(joint - density[:, None], logs, rtol=1e-9, atol=1e-9)


@cases([name for name in VARIED if name in (*GENERATIVE, *LOGISTIC)])
def test_two_classes_have_one_decision_the_log_odds_of_the_second(name):
    case = CASES[name]
    model = case.fit(np.flatnonzero(CODES != 1))
    logs = model.predict_log_proba(case.asked)
    np.testing.assert_allclose(
        model.decision_function(case.asked), logs[:, 1] - logs[:, 0], rtol=1e-8, atol=1e-9
    )


@cases(GENERATIVE)
def test_priors_move_the_log_prior_only(name):
    case = CASES[name]

    def scores(model):
        return model.log_joint(case.X) if name in DENSE else model.decision_function(case.X)

    plain = case.fit(weights=WEIGHTS)
    shares = np.bincount(CODES, WEIGHTS)
    np.testing.assert_allclose(plain.priors_, shares / shares.sum(), rtol=1e-13)
    given = {
        "uniform": np.full(3, 1 / 3),
        (0.6, 0.3, 0.1): np.array([0.6, 0.3, 0.1]),
        "mapping": np.array([0.6, 0.3, 0.1]),
    }
    for priors, expected in given.items():
        value = {"cat": 0.1, "ant": 0.6, "bee": 0.3} if priors == "mapping" else priors
        asked = case.make(priors=value).fit(case.X, case.y, sample_weight=WEIGHTS)
        before = dict(vars(plain))
        moved = plain.with_priors(value)
        assert vars(plain) == before
        for model in (asked, moved):
            np.testing.assert_allclose(model.priors_, expected, rtol=1e-15)
            np.testing.assert_allclose(
                scores(model) - scores(plain),
                np.tile(np.log(expected / plain.priors_), (N, 1)),
                rtol=1e-8,
                atol=1e-8,
            )
        np.testing.assert_array_equal(scores(moved), scores(asked))
        for attribute in ESTIMATES:
            np.testing.assert_array_equal(
                getattr(moved, attribute, 0), getattr(asked, attribute, 0)
            )
        np.testing.assert_array_equal(moved.with_priors(None).priors_, plain.priors_)


@cases([name for name in VARIED if name in GENERATIVE])
def test_a_prior_of_zero_rules_a_class_out(name):
    case = CASES[name]
    model = case.fit().with_priors([0.0, 0.4, 0.6])
    assert not model.predict_proba(case.X)[:, 0].any()
    assert (model.predict_log_proba(case.X)[:, 0] == -np.inf).all()
    assert set(model.predict(case.X)) <= {"bee", "cat"}
    assert name not in DENSE or np.isfinite(model.log_density(case.X)).all()
    assert getattr(model, "log_likelihood_", -np.inf) == -np.inf
    alone = model.with_priors({"ant": 0.0, "bee": 1.0, "cat": 0.0})
    assert (alone.predict_proba(case.X) == [0.0, 1.0, 0.0]).all()
    assert (alone.predict_log_proba(case.X)[:, 1] == 0).all()


@cases(KINDS)
@pytest.mark.parametrize(
    ("priors", "text"),
    [
        ([0.5, 0.6, 0.1], "sum to 1"),
        ([1.2, -0.1, -0.1], "at least 0"),
        ([0.5, 0.5], "3 numbers"),
        ([1.0], "3 numbers"),
        ({"ant": 0.5, "bee": 0.5}, "'cat'"),
        ({"ant": 0.5, "bee": 0.3, "cat": 0.1, "dog": 0.1}, "'dog'"),
        ("frequencies", "None, 'uniform'"),
        ([0.5, np.nan, 0.5], "finite"),
    ],
    ids=str,
)
def test_wrong_priors_are_refused(name, priors, text):
    case = CASES[name]
    with pytest.raises(InputError, match=text):
        case.make(priors=priors).fit(case.X, case.y)
    with pytest.raises(InputError, match=text):
        case.fit().with_priors(priors)


# --- classes ---------------------------------------------------------------------------------

LABELS = {
    "text": NAMES,
    "objects": NAMES.astype(object),
    "int": np.array([10, 20, 30]),
    "wide": np.array([-7, 0, 2**40]),
    "int8": np.array([-128, -1, 127], dtype=np.int8),
    "uint64": np.array([0, 1, 2**64 - 1], dtype=np.uint64),
    "huge": np.array([2**63, 2**63 + 1, 2**63 + 2], dtype=np.uint64),
    "extreme": np.array([-(2**63), 0, 2**63 - 1]),
    "float": np.array([1, 3, 5], dtype=np.float32),
    "empty": np.array(["", "A", "a"]),
}


@cases(["gaussian full", "naive mixed missing", "text complement", "logistic", "decision"])
@pytest.mark.parametrize("kind", LABELS)
def test_any_kind_of_label_works(name, kind):
    case, names = CASES[name], LABELS[kind]
    model, expected = case.make().fit(case.X, names[CODES]), case.fit()
    np.testing.assert_array_equal(model.classes_, names)
    assert model.classes_.dtype == names.dtype
    codes = np.searchsorted(NAMES, expected.predict(case.X))
    np.testing.assert_array_equal(model.predict(case.X), names[codes])
    np.testing.assert_array_equal(model.predict_proba(case.X), expected.predict_proba(case.X))


@cases([*KINDS, "logistic"])
@pytest.mark.parametrize(
    "labels",
    [list, pd.Series, pl.Series, pa.array, lambda y: pd.Series(y, dtype="category")],
    ids=["list", "pandas", "polars", "arrow", "categories"],
)
def test_labels_come_in_every_form(name, labels):
    case = CASES[name]
    model = case.make().fit(case.X, labels(Y.tolist()))
    assert model.classes_.tolist() == NAMES.tolist()
    np.testing.assert_array_equal(answers(model, case.X), answers(case.fit(), case.X))


@cases([name for name in VARIED if name in CLASSIFIERS])
def test_booleans_are_labels(name):
    case = CASES[name]
    model = case.make().fit(case.X, CODES == 2)
    assert model.classes_.tolist() == [False, True]
    assert model.predict(case.X).dtype == bool
    two = case.make().fit(case.X, (CODES == 2).astype(int))
    np.testing.assert_array_equal(model.predict_proba(case.X), two.predict_proba(case.X))


@cases([name for name in VARIED if name in GENERATIVE])
def test_one_class_is_certain(name):
    case = CASES[name]
    model = case.fit(np.flatnonzero(CODES == 2))
    assert model.classes_.tolist() == ["cat"]
    assert (model.predict_proba(case.asked) == 1).all()
    assert set(model.predict(case.asked)) == {"cat"}


@cases(KINDS)
def test_a_class_may_come_at_any_time_and_a_batch_may_lack_some(name):
    """Names that are longer than those before are kept whole."""
    case = CASES[name]
    names = np.array(["ant", "a bee, which is much longer", "cat"])
    labels, model = names[CODES], case.make()
    for seen, k in enumerate((2, 0, 1)):
        rows = np.flatnonzero(k == CODES)
        model.partial_fit(take(case.X, rows), labels[rows], classes=names)
        assert len(model.classes_) == seen + 1
    assert_same(model, case.make().fit(case.X, labels), case.asked)


@cases(KINDS)
def test_known_classes_catch_others(name):
    case = CASES[name]
    model = case.make().partial_fit(case.X, case.y, classes=["cat", "ant", "bee"])
    before = dict(vars(model))
    with pytest.raises(LabelError, match="no class 'cow'"):
        model.partial_fit(take(case.X, [0]), ["cow"], classes=["ant", "bee", "cat"])
    assert_unchanged(model, before)


@cases(KINDS)
@pytest.mark.parametrize("form", ["mapping", "list"])
def test_priors_of_classes_that_have_not_come_yet_are_waited_for(name, form):
    case = CASES[name]
    priors = {"ant": 0.2, "bee": 0.3, "cat": 0.5}
    model = case.make(priors=priors if form == "mapping" else list(priors.values()))
    rows = np.flatnonzero(CODES < 2)
    model.partial_fit(take(case.X, rows), case.y[rows])
    with pytest.raises(CredoError, match="priors"):
        model.predict(case.X)
    rows = np.flatnonzero(CODES == 2)
    model.partial_fit(take(case.X, rows), case.y[rows])
    assert_same(model, case.make(priors=priors).fit(case.X, case.y), case.asked)


# --- what stays as it was --------------------------------------------------------------------


def assert_unchanged(model, before):
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


def wrong_cell(case):
    """The rows with a cell that the model refuses."""
    if isinstance(case.X, list):
        return [case.wrong, *case.X[1:]]
    if isinstance(case.X, pd.DataFrame):
        first = case.X.columns[0]
        return case.X.astype(object).assign(**{first: [case.wrong, *case.X[first][1:]]})
    return csr_array(np.where(np.arange(N)[:, None] == 0, -1.0, case.X.toarray()))


#: Cells of these are read before the weights are asked.
UNREAD = ["naive categorical", *(name for name in VARIED if name.startswith("text"))]

#: Weights that no model takes, and what is said of them.
WRONG_WEIGHTS = {
    "a weight too few": (WEIGHTS[1:], "one sample weight per row"),
    "a negative weight": (-WEIGHTS, "at least zero"),
    "no weight": (0 * WEIGHTS, "not all zero"),
    "a weight that is no number": (WEIGHTS * np.nan, "finite"),
    "an infinite weight": (WEIGHTS + np.inf, "finite"),
    "weights that are a text": ("abcd", "weight"),
}
#: Rows, labels and weights that no model takes: {kind: what of it is wrong}.
WRONG_ROWS = {
    "a cell": lambda case: (wrong_cell(case), case.y, None),
    "one label too few": lambda case: (case.X, case.y[:-1], None),
    "no labels": lambda case: (case.X, None, None),
    "no rows": lambda case: (take(case.X, []), case.y[:0], None),
    "no table": lambda case: (5, case.y, None),
    "no columns": lambda case: (np.empty((N, 0)), case.y, None),
    "one column": lambda case: (np.ones(N), case.y, None),
    "a cube": lambda case: (np.ones((N, 2, 2)), case.y, None),
    "complex numbers": lambda case: (np.ones((N, 2)) + 1j, case.y, None),
    "labels of no kind": lambda case: (case.X, np.where(CODES == 0, np.nan, CODES), None),
    "labels of two kinds": lambda case: (case.X, np.array([1, "a", None], object)[CODES], None),
    "a missing label": lambda case: (case.X, np.array(["b", None, "a"], object)[CODES], None),
    "two columns of labels": lambda case: (case.X, np.eye(3)[CODES], None),
    **{kind: lambda case, w=w: (case.X, case.y, w) for kind, (w, _) in WRONG_WEIGHTS.items()},
}
#: Beside them, what is no fault of a new fit.
WRONG_BATCHES = {
    "labels of another kind": lambda case: (case.X, CODES, None),
    "another column": lambda case: (wider(case.X), case.y, None),
}


def wider(rows):
    if isinstance(rows, list):
        return [[text] for text in rows]
    return rows.assign(more=1.0) if hasattr(rows, "assign") else csr_array(np.ones((N, 99)))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@cases([name for name in VARIED if name != "decision"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_what_is_refused_leaves_the_model_as_it_was(name, method):
    case = CASES[name]
    if not case.streams and method == "partial_fit":
        return
    kinds = WRONG_ROWS if method == "fit" else {**WRONG_ROWS, **WRONG_BATCHES}
    for model in (case.make(), case.fit()):
        before = dict(vars(model))
        for kind, wrong in kinds.items():
            if kind in WRONG_BATCHES and ("classes_" not in before or name in REGRESSORS):
                continue
            if kind == "two columns of labels" and name in REGRESSORS:
                continue  # these are two targets
            rows, labels, weights = wrong(case)
            learn = partial(getattr(model, method), rows, labels, sample_weight=weights)
            refusal = refusal_or(learn)
            assert isinstance(refusal, Exception), kind
            assert_unchanged(model, before)
            if kind in WRONG_WEIGHTS and not name.startswith("logistic"):
                assert WRONG_WEIGHTS[kind][1] in str(refusal)
                assert type(model).__name__ in str(refusal)


@cases([name for name in VARIED if name in STREAMS])
def test_merging_leaves_both_models_as_they_were(name):
    case = CASES[name]
    one, other = case.fit(SORTED[:40]), case.fit(SORTED[30:])
    before = dict(vars(one)), dict(vars(other)), answers(one, case.asked)
    one.merge(other)
    assert_unchanged(one, before[0])
    assert_unchanged(other, before[1])
    np.testing.assert_array_equal(answers(one, case.asked), before[2])


@cases([name for name in VARIED if name in STREAMS])
def test_only_fitted_models_of_one_kind_of_rows_merge(name):
    case = CASES[name]
    model = case.fit()
    with pytest.raises(NotFittedError):
        model.merge(case.make())
    with pytest.raises(NotFittedError):
        case.make().merge(model)
    other = CASES["regressor None" if name not in REGRESSORS else "gaussian full"].fit()
    for stranger in (3, None, other):
        with pytest.raises((InputError, TypeError), match=r"\w"):
            model.merge(stranger)
    if name in CLASSIFIERS:
        with pytest.raises(InputError, match="of two kinds"):
            model.merge(case.make().fit(case.X, CODES))
    if name in FRAMES and case.X.shape[1] > 1:
        with pytest.raises(InputError, match="columns differ|same columns"):
            model.merge(case.make().fit(case.X[case.X.columns[::-1]], case.y))
        assert model.merge(model).feature_names_in_.tolist() == list(case.X.columns)


@cases([name for name in VARIED if name in FRAMES])
def test_names_of_columns_are_kept_and_checked(name):
    case = CASES[name]
    model = case.fit()
    assert model.feature_names_in_.tolist() == list(case.X.columns)
    assert model.n_features_in_ == case.X.shape[1]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(case.X.rename(columns={case.X.columns[0]: "other"}))
    if case.X.shape[1] > 1:
        with pytest.raises(ValueError, match="order"):
            model.predict(case.X[case.X.columns[::-1]])
    if case.streams:
        with pytest.raises(ValueError, match="feature names"):
            model.partial_fit(case.X.rename(columns={case.X.columns[0]: "other"}), case.y)


@cases(VARIED)
def test_what_is_given_stays_as_it_was(name):
    case = CASES[name]
    rows = copy.deepcopy(case.X)
    labels, weights = case.y.copy(), WEIGHTS.copy()
    for array in (labels, weights):
        array.flags.writeable = False
    model = case.make().fit(rows, labels, sample_weight=weights)
    model.predict(rows), answers(model, rows)
    if isinstance(rows, pd.DataFrame):
        pd.testing.assert_frame_equal(rows, case.X)
    else:
        assert repr(rows) == repr(case.X)


@cases(VARIED)
def test_a_model_that_is_not_fitted_says_so(name):
    case = CASES[name]
    model = case.make()
    for method in (
        *("predict", "predict_proba", "predict_log_proba", "posterior", "log_joint"),
        *("log_density", "decision_function", "mahalanobis", "conditional", "impute", "explain"),
        *("sufficient_statistics", "predictive", "mutual_information", "boundary", "sample"),
        "coefficient_table",
    ):
        if hasattr(model, method):
            few = dict.fromkeys(["mutual_information", "sample", "coefficient_table"], ())
            few["boundary"] = ("ant", "bee")
            rows = (case.X, case.y) if name in REGRESSORS and method == "log_density" else (case.X,)
            with pytest.raises(NotFittedError):
                getattr(model, method)(*few.get(method, rows))
    if name in GENERATIVE:
        with pytest.raises(NotFittedError):
            model.with_priors("uniform")


# --- as scikit-learn's estimators ------------------------------------------------------------


def pickled(model):
    return pickle.loads(pickle.dumps(model))  # noqa: S301 - its own


@cases(CASES)
def test_a_clone_is_unfitted_and_copies_answer_and_learn_on(name):
    case = CASES[name]
    model = case.fit()
    expected = answers(model, case.asked)  # whatever is computed once is there
    twin = clone(model)
    assert repr(twin.get_params()) == repr(case.make().get_params())
    assert not [key for key in vars(twin) if key.endswith("_") and not key.startswith("_")]
    np.testing.assert_array_equal(answers(twin.fit(case.X, case.y), case.asked), expected)
    copies = [copy.deepcopy(model), pickled(model)]
    for other in copies:
        assert repr(other) == repr(model)
        np.testing.assert_array_equal(answers(other, case.asked), expected)
    if case.streams:
        learned = [
            answers(each.partial_fit(case.X, case.y), case.asked) for each in (model, *copies)
        ]
        np.testing.assert_array_equal(learned[1], learned[0])
        np.testing.assert_array_equal(learned[2], learned[0])


@cases(VARIED)
def test_parameters_are_kept_as_they_were_given(name):
    case = CASES[name]
    model = case.make()
    given = dict(vars(model))
    assert set(given) == set(model.get_params(deep=False))
    model.fit(case.X, case.y)
    assert all(vars(model)[key] is value for key, value in given.items())


GRIDS = {
    "gaussian full": {"covariance": ["full", "tied", "diagonal"], "shrinkage": [None]},
    "naive mixed missing": {
        "smoothing": [0.1, 1.0, 10.0],
        "smoothing_target": ["uniform", "marginal"],
    },
    "naive sparse multinomial": {"smoothing": [0.1, 1.0]},
    "text complement bigrams": {
        "model": ["complement", "multinomial", "bernoulli"],
        "vocabulary": ["all", "relevant"],
        "vectorizer__ngram_range": [(1, 1), (1, 2)],
    },
}


@cases(GRIDS)
def test_grids_folds_pipelines_and_calibration_take_it(name):
    case = CASES[name]
    search = GridSearchCV(
        case.make(), GRIDS[name], cv=3, scoring="neg_log_loss", error_score="raise"
    ).fit(case.X, case.y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert set(search.predict(case.X)) <= set(NAMES)
    scores = cross_val_score(case.make(), case.X, case.y, cv=3, error_score="raise")
    assert scores.mean() > 0.34
    piped = make_pipeline("passthrough", case.make()).fit(case.X, case.y)
    np.testing.assert_array_equal(piped.predict_proba(case.X), case.fit().predict_proba(case.X))
    rows = np.array(case.X) if isinstance(case.X, list) else case.X
    calibrated = CalibratedClassifierCV(case.make(), cv=2).fit(rows, case.y)
    assert calibrated.predict_proba(rows).shape == (N, 3)
