"""``NaiveBayes`` against its slow twin and peers: families, smoothing, floors, explanations."""

import math
from warnings import catch_warnings, simplefilter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from tests.oracles import naive_bayes as oracle

from credo import GaussianClassifier, NaiveBayes, families, load
from credo.exceptions import InputError, LabelError, ShapeError, SingularWarning

ROWS, Y = oracle.mixed_rows(80, seed=1)
HOLEY, Y_HOLEY = oracle.mixed_rows(90, seed=2, holes=0.25)
NEW, _ = oracle.mixed_rows(15, seed=3, holes=0.2)
ALONE = {f: (key if isinstance(key, tuple) else (key,)) for key, f in oracle.EVERY_FAMILY.items()}


def cut(rows, columns):
    return [[row[c] for c in columns] for row in rows]


def assert_like_the_twin(model, twin, rows, tol=1e-10):
    assert model.classes_.tolist() == twin.classes
    np.testing.assert_allclose(model.priors_, twin.priors, rtol=1e-13)
    np.testing.assert_allclose(model.log_joint(rows), twin.log_joint(rows), rtol=tol, atol=tol)
    np.testing.assert_allclose(model.log_density(rows), twin.log_density(rows), rtol=tol, atol=tol)
    expected = twin.log_posterior(rows)
    np.testing.assert_allclose(model.predict_log_proba(rows), expected, rtol=tol, atol=tol)
    np.testing.assert_allclose(model.predict_proba(rows), np.exp(expected), rtol=tol, atol=tol)
    best = [twin.classes[i] for i in expected.argmax(axis=1)]
    assert model.predict(rows).tolist() == best
    posterior = model.posterior(rows)
    np.testing.assert_allclose(posterior.probabilities, np.exp(expected), rtol=tol, atol=tol)
    assert list(posterior.labels) == twin.classes


def test_a_family_may_be_given_as_its_class():
    for family, columns in ALONE.items():
        kind = getattr(families, family.title().replace("_", ""))
        assert set(NaiveBayes(kind).fit(cut(ROWS, columns), Y).families_.values()) == {family}


@pytest.mark.parametrize(("rows", "y"), [(ROWS, Y), (HOLEY, Y_HOLEY)], ids=["whole", "holey"])
def test_all_families_in_one_table_agree_with_the_twin(rows, y):
    model = NaiveBayes(oracle.EVERY_FAMILY).fit(rows, y)
    twin = oracle.fit(rows, y, oracle.EVERY_FAMILY)
    assert_like_the_twin(model, twin, NEW)
    assert model.families_ == oracle.EVERY_FAMILY


def test_auto_goes_by_dtype_and_content_and_says_so():
    X = pd.DataFrame(
        {
            "age": [1.5, 2.0, 3.0, 2.5],
            "smoker": [True, False, None, True],
            "flag": [0, 1, 1, 0],
            "town": ["x", "y", None, "x"],
            "kind": pd.Categorical([1, 2, 1, 2]),
            "visits": [0, 1, 2, 1],
        }
    )
    model = NaiveBayes().fit(X, [0, 1, 1, 0])
    expected = {
        "age": "gaussian",
        "smoker": "bernoulli",
        "flag": "bernoulli",
        "town": "categorical",
        "kind": "categorical",
        "visits": "gaussian",
    }
    assert model.families_ == expected
    assert repr(model) == (
        "NaiveBayes() with gaussian age, visits; bernoulli smoker, flag; categorical town, kind"
    )
    assert repr(NaiveBayes()) == "NaiveBayes()"


def test_two_groups_of_counts_are_two_multinomials():
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, 5, (40, 5)), rng.integers(0, 2, 40)
    groups = {(0, 3): "multinomial", (1, 2, 4): "multinomial"}
    assert_like_the_twin(
        NaiveBayes(groups).fit(X, y), oracle.fit(X.tolist(), y, groups), X[:9].tolist()
    )


def test_parameters_are_counted():
    model = NaiveBayes(oracle.EVERY_FAMILY, unknown="ignore").fit(ROWS, Y)
    # priors; then per class: 2 + 2 + 1 + (4 - 1) + 1 + 1 + 2 + 2 + (3 - 1) + 3 + (2 + 3)
    assert model.n_parameters_ == 3 + 3 * (2 + 2 + 1 + 3 + 1 + 1 + 2 + 2 + 2 + 3 + 5)
    binary = NaiveBayes().fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    assert binary.n_parameters_ == 2 + 2 * 2


#: The columns of rows that smoothing matters to.
SMOOTHED = (2, 3, 4, 5, 8, 9, 10)
WHERE = {0: "bernoulli", 1: "categorical", 2: "poisson", 3: "exponential"}
WHERE[4, 5, 6] = "multinomial"
EACH = {0: 0.2, 1: 7.0, 2: 0.5, 3: 3.0, (4, 5, 6): 0.1}


@pytest.mark.parametrize("target", ["uniform", "marginal", "frequencies"])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0, 25.0, "auto", EACH], ids=str)
@pytest.mark.parametrize("unknown", ["smooth", "ignore"])
def test_smoothing_agrees_with_the_twin(alpha, target, unknown):
    options = {"smoothing": alpha, "smoothing_target": target, "unknown": unknown}
    rows, new = cut(HOLEY, SMOOTHED), cut(NEW, SMOOTHED)
    model = NaiveBayes(WHERE, **options).fit(rows, Y_HOLEY)
    twin = oracle.fit(rows, Y_HOLEY, WHERE, **options)
    assert_like_the_twin(model, twin, new)
    each = [twin.smoothing[key] for key in WHERE]
    assert model.smoothing_.tolist() == each + each[-1:] * 2


RARE = [["x", 0], ["x", 0], ["x", 0], ["y", 0], ["x", 0], ["z", 1], ["y", 0], ["x", 0]]


@pytest.mark.parametrize(
    "target", ["uniform", "marginal", "frequencies", {0: {"x": 0.7, "y": 0.2, "z": 0.1}}]
)
def test_the_smoothing_of_each_column_is_that_with_the_best_likelihood_left_out(target):
    """One row after the other is left out, with whole weights as so many rows."""
    weights, y = [1, 2, 1, 1, 3, 1, 1, 2], list("aaabbbcc")
    where = {0: "categorical", 1: "bernoulli"}
    options = {"smoothing": "auto", "smoothing_target": target}
    model = NaiveBayes(where, **options).fit(RARE, y, weights)
    twin = oracle.fit(RARE, y, where, weights, **options)
    assert model.smoothing_.tolist() == [twin.smoothing[0], twin.smoothing[1]]
    assert_like_the_twin(model, twin, RARE)
    repeated = np.repeat(np.arange(8), weights)
    again = NaiveBayes(where, **options).fit([RARE[i] for i in repeated], [y[i] for i in repeated])
    assert again.smoothing_.tolist() == model.smoothing_.tolist()


def test_the_smoothing_is_small_where_classes_differ_and_large_where_they_do_not():
    """If a class has one value, others are the less likely the less is added; if all, the more."""
    told = NaiveBayes(smoothing="auto").fit([["a"], ["b"], ["c"]] * 30, list("xyz") * 30)
    assert told.smoothing_.tolist() == [0.01]
    alike = NaiveBayes(smoothing="auto").fit([[c] for c in "abcdef"] * 2, list("x" * 6 + "y" * 6))
    assert alike.smoothing_.tolist() == [3.0]
    # one value, so that all candidates are alike; and nothing that smoothing matters to
    rest = NaiveBayes(smoothing="auto").fit([["a", 1.5], ["a", 2.0], ["a", 7.0]], list("xxx"))
    np.testing.assert_array_equal(rest.smoothing_, [1.0, np.nan])


def test_parts_that_are_merged_choose_the_smoothing_of_the_whole(tmp_path):
    rows, new = cut(HOLEY, SMOOTHED), cut(NEW, SMOOTHED)
    whole = NaiveBayes(WHERE, smoothing="auto").fit(rows, Y_HOLEY)
    parts = [NaiveBayes(WHERE, smoothing="auto").fit(rows[i::3], Y_HOLEY[i::3]) for i in range(3)]
    stream = NaiveBayes(WHERE, smoothing="auto")
    for i in range(3):
        stream.partial_fit(rows[i::3], Y_HOLEY[i::3])
    whole.save(tmp_path / "m.credo")
    for other in (parts[0].merge(parts[1]).merge(parts[2]), stream, load(tmp_path / "m.credo")):
        assert other.smoothing_.tolist() == whole.smoothing_.tolist()
        np.testing.assert_allclose(other.log_joint(new), whole.log_joint(new), rtol=1e-12)


ALPHA = np.array([0.01, 0.5, 1.0, 4.0])


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "given",
    [ALPHA, ALPHA.tolist(), dict(enumerate(ALPHA)), pd.Series(ALPHA)],
    ids=["array", "list", "mapping", "series"],
)
def test_one_smoothing_for_each_column_is_that_of_the_peer(given, form):
    rng = np.random.default_rng(12)
    y = rng.integers(0, 3, 60)
    X = rng.poisson(1 + y[:, None] * [0.1, 0.5, 0, 1])
    ours = NaiveBayes("multinomial", smoothing=given).fit(form(X), y)
    assert_like_the_peer(ours, MultinomialNB(alpha=ALPHA).fit(X, y), form(X))
    assert ours.smoothing_.tolist() == ALPHA.tolist()
    bits = (X > 1).astype(int)
    single = [BernoulliNB(alpha=ALPHA[j]).fit(bits[:, [j]], y) for j in range(4)]
    parts = [peer.predict_joint_log_proba(bits[:, [j]]) for j, peer in enumerate(single)]
    joint = np.sum(parts, axis=0) - 3 * single[0].class_log_prior_
    ours = NaiveBayes("bernoulli", smoothing=given).fit(form(bits), y)
    np.testing.assert_allclose(ours.log_joint(form(bits)), joint, rtol=1e-11)


def test_columns_that_smoothing_does_not_name_have_one():
    frame = pd.DataFrame(TOWNS, columns=["town"]).assign(ill=[0, 1, 1, 0, 1])
    model = NaiveBayes(smoothing={"town": 0.25}).fit(frame, WHO)
    assert model.smoothing_.tolist() == [0.25, 1.0]
    # (2 + 0.25) / (3 + 0.75) and (2 + 1) / (3 + 2) in class a
    row = pd.DataFrame({"town": ["ulm"], "ill": [1]})
    expected = math.log(0.6 * 2.25 / 3.75 * 3 / 5)
    assert model.log_joint(row)[0, 0] == pytest.approx(expected, rel=1e-13)


GIVEN = {"town": {"ulm": 0.5, "bonn": 0.2, "kiel": 0.1, "rom": 0.2}, "ill": {0: 0.9, 1: 0.1}}


@pytest.mark.parametrize("unknown", ["smooth", "ignore"])
def test_smoothing_towards_a_given_distribution(unknown):
    frame = pd.DataFrame(TOWNS, columns=["town"]).assign(ill=[0, 1, 1, 0, 1])
    model = NaiveBayes(smoothing=2.0, smoothing_target=GIVEN, unknown=unknown).fit(frame, WHO)
    # Without room for others the distribution is that of the towns that came, which had 0.8.
    size, ulm, rom = (4, 0.5, 0.2) if unknown == "smooth" else (3, 0.5 / 0.8, None)
    towns = [(2 + 2 * size * ulm) / (3 + 2 * size), (0 + 2 * size * ulm) / (2 + 2 * size)]
    ill = [(2 + 4 * 0.1) / (3 + 4), (1 + 4 * 0.1) / (2 + 4)]
    asked = pd.DataFrame({"town": ["ulm", "oslo"], "ill": [1, None]})
    found = np.exp(model.log_joint(asked))
    np.testing.assert_allclose(found[0], np.array([0.6, 0.4]) * towns * ill, rtol=1e-13)
    other = [1, 1] if rom is None else [8 * rom / (3 + 8), 8 * rom / (2 + 8)]
    np.testing.assert_allclose(found[1], np.array([0.6, 0.4]) * other, rtol=1e-13)


def test_smoothing_towards_a_given_distribution_of_a_group_of_counts():
    X, y = [[3, 0, 1], [1, 1, 1], [0, 2, 4]], list("aab")
    goal = {(0, 1, 2): {0: 0.2, 1: 0.3, 2: 0.5}}
    model = NaiveBayes({(0, 1, 2): "multinomial"}, smoothing_target=goal).fit(X, y)
    found = model.log_joint([[1, 0, 0]])[0]
    expected = np.log([2 / 3 * (4 + 3 * 0.2) / (7 + 3), 1 / 3 * (0 + 3 * 0.2) / (6 + 3)])
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_a_distribution_without_a_category_that_came_is_refused():
    lacking = {0: {"ulm": 0.5, "bonn": 0.5}}
    with pytest.raises(InputError, match=r"smoothing_target of 0 has no probability for 'kiel'"):
        NaiveBayes(smoothing_target=lacking).fit(TOWNS, WHO)
    with pytest.raises(InputError, match=r"for 0 must be at least 0 and sum to 1"):
        NaiveBayes(smoothing_target={0: {"ulm": 0.5, "bonn": 0.1}}).fit(TOWNS, WHO)
    with pytest.raises(InputError, match=r"for 0 must be a mapping from category to prob"):
        NaiveBayes(smoothing_target={0: [0.5, 0.5]}).fit(TOWNS, WHO)
    for learn in (NaiveBayes.fit, NaiveBayes.partial_fit):
        model = NaiveBayes(smoothing_target={0: {"ulm": 1.0}})
        with pytest.raises(InputError, match=r"distribution for 0, which is no Bernoulli or cat"):
            learn(model, [[1.0], [2.5], [3.0], [4.0]], list("aabb"))
        model = NaiveBayes(smoothing={"twon": 2.0})
        with pytest.raises(InputError, match=r"keys of smoothing.*name the column 'twon'"):
            learn(model, TOWNS, WHO)
        with pytest.raises(ShapeError, match=r"one for each of 1 columns. Got 2"):
            learn(model.set_params(smoothing=[1.0, 2.0]), TOWNS, WHO)
        assert not hasattr(model, "classes_")


def test_frequencies_give_a_class_the_shares_of_all_classes():
    """Frequencies give a value that one class lacks the share that it has in all."""
    model = NaiveBayes(smoothing=1.0, smoothing_target="frequencies").fit(TOWNS, WHO)
    # ulm: 2 of 5 in all, 2 of 3 in a, 0 of 2 in b; C = 3
    expected = [0.6 * (2 + 3 * 0.4) / (3 + 3), 0.4 * (0 + 3 * 0.4) / (2 + 3)]
    np.testing.assert_allclose(np.exp(model.log_joint([["ulm"]])[0]), expected, rtol=1e-13)


DIGITS = load_digits(return_X_y=True)


@pytest.mark.parametrize("share", [1e-9, 0.01, 0.1, 3.0])
@pytest.mark.parametrize("data", [DIGITS, load_iris(return_X_y=True)], ids=["digits", "iris"])
def test_added_variance_is_that_of_the_peer(data, share):
    """Digits have pixels that are constant in a class, and such in all."""
    X, y = data
    theirs = GaussianNB(var_smoothing=share).fit(X, y)
    ours = NaiveBayes("gaussian", variance_smoothing=share).fit(X, y)
    np.testing.assert_allclose(
        ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-7, atol=1e-7
    )
    assert not ours.variance_floored_.any()


def test_added_variance_agrees_with_the_twin_where_values_are_missing():
    X = [[None, 1.0, 7.0], [None, 2.0, 7.0], [3.0, 3.0, 8.0], [5.0, 5.0, 9.0]]
    where = dict.fromkeys(range(3), "gaussian")
    with pytest.warns(SingularWarning, match="unknown in class 'a': 0"):
        model = NaiveBayes(where, variance_smoothing=0.2).fit(X, list("aabb"))
    twin = oracle.fit(X, list("aabb"), where, variance_smoothing=0.2)
    assert_like_the_twin(model, twin, [[4.0, 2.0, 7.5], [None, 2.0, 9.0]])


def test_added_variance_makes_digits_right_more_often():
    """By five folds in the order of the rows: 0.887 with a tenth, 0.845 without."""
    X, y = DIGITS
    rights = []
    for options in ({}, {"variance_smoothing": 0.1}):
        with catch_warnings():
            simplefilter("ignore", SingularWarning)
            rights.append(cross_val_score(NaiveBayes("gaussian", **options), X, y, cv=5).mean())
    assert rights[1] > rights[0] + 0.03


TOWNS, WHO = [["ulm"], ["ulm"], ["bonn"], ["bonn"], ["kiel"]], list("aaabb")


def test_an_unseen_category_gets_its_smoothed_mass():
    model = NaiveBayes(smoothing=0.5, unknown="smooth").fit(TOWNS, WHO)
    # C = 4 with the spare one: 0.5 / (3 + 2) and 0.5 / (2 + 2)
    joint = np.log([0.6 * 0.5 / 5, 0.4 * 0.5 / 4])
    np.testing.assert_allclose(model.log_joint([["rom"]])[0], joint, rtol=1e-14)
    assert model.categories_ == {0: ["ulm", "bonn", "kiel"]}


def test_an_ignored_category_is_a_missing_one():
    model = NaiveBayes().fit(TOWNS, WHO)
    np.testing.assert_array_equal(model.log_joint([["rom"]]), model.log_joint([[None]]))
    # C = 3: (2 + 1) / (3 + 3) and (0 + 1) / (2 + 3)
    np.testing.assert_allclose(
        np.exp(model.log_joint([["ulm"]])[0]), [0.6 * 3 / 6, 0.4 * 1 / 5], rtol=1e-14
    )


def test_small_classes_do_not_pay_for_categories_that_nobody_has_seen():
    """Room for one more is a large part of each column in a class of few rows, a small one else."""
    rng = np.random.default_rng(5)
    tables = 0.3 * rng.dirichlet([0.5] * 4, (8, 20)) + 0.7 * rng.dirichlet([0.3] * 4, (1, 20))
    codes = [np.repeat(np.arange(8), sizes) for sizes in ([100, 4] * 4, [30] * 8)]
    edges = tables.cumsum(axis=-1)
    rows = [(rng.random((len(y), 20, 1)) > edges[y]).sum(axis=-1).clip(0, 3) for y in codes]
    losses = []
    for options in ({}, {"unknown": "smooth"}):
        model = NaiveBayes("categorical", **options).fit(rows[0], codes[0])
        logs = model.predict_log_proba(rows[1])
        losses.append(-logs[np.arange(len(logs)), codes[1]].mean())
    assert losses[0] < losses[1] - 0.5


def test_an_unknown_category_is_refused_by_name_if_asked():
    model = NaiveBayes(unknown="error").fit(pd.DataFrame(TOWNS, columns=["town"]), WHO)
    new = pd.DataFrame({"town": ["ulm", None, "rom"]})
    with pytest.raises(InputError, match=r"row 2 has 'rom' in column 'town'.*unknown='smooth'"):
        model.predict(new)
    assert model.predict(new[:2]).tolist() == ["a", "a"]


def test_numbers_may_be_categories_and_need_no_codes():
    X = np.array([[7000.5], [7000.5], [-3.0], [-3.0], [-3.0]])
    model = NaiveBayes("categorical").fit(X, WHO)
    words = NaiveBayes().fit([["p"], ["p"], ["q"], ["q"], ["q"]], WHO)
    np.testing.assert_array_equal(
        model.predict_proba([[7000.5], [-3], [1], [np.nan]]),
        words.predict_proba([["p"], ["q"], ["r"], [None]]),
    )
    assert model.categories_ == {0: [7000.5, -3]}


@pytest.mark.parametrize("types", [("f8", "f4"), ("f4", "f8"), ("f2", "f8")])
def test_the_same_number_is_the_same_category_in_any_float(types):
    """0.1 is written alike in 16, 32 and 64 bits, though it is rounded differently."""
    rows = np.array([[0.1], [0.1], [2.5], [2.5], [0.3]])
    model = NaiveBayes("categorical", unknown="error").fit(rows.astype(types[0]), WHO)
    alike = NaiveBayes("categorical", unknown="error").fit(rows, WHO)
    found = model.predict_proba(rows.astype(types[1]))
    np.testing.assert_array_equal(found, alike.predict_proba(rows))
    assert model.categories_ == {0: [0.1, 2.5, 0.3]}


def test_a_boolean_is_not_the_number_that_python_takes_for_equal(tmp_path):
    rows = [[1], [True], [1.0], [False], [0], [True]]
    model = NaiveBayes("categorical", smoothing=0).fit(rows, list("aaabbb"))
    assert [repr(value) for value in model.categories_[0]] == ["1", "True", "False", "0"]
    # 1 and 1.0 came twice in class a of three rows, True once in either class
    asked = [[1], [1.0], [True]]
    expected = [[1, 0], [1, 0], [0.5, 0.5]]
    np.testing.assert_allclose(model.predict_proba(asked), expected, rtol=1e-14)
    halves = [NaiveBayes("categorical", smoothing=0) for _ in range(2)]
    halves[0].fit([[1], [True], [0]], list("aab"))
    halves[1].fit([[1.0], [False], [True]], list("abb"))
    model.save(tmp_path / "model.credo")
    for other in (halves[0].merge(halves[1]), load(tmp_path / "model.credo")):
        np.testing.assert_allclose(other.predict_proba(asked), expected, rtol=1e-14)
    numbers = NaiveBayes("categorical", unknown="error").fit([[1], [0], [1]], list("aab"))
    with pytest.raises(InputError, match="row 0 has True in column 0, which was not seen"):
        numbers.predict([[True]])


def test_a_variance_below_its_floor_is_raised_and_reported():
    X = [[1.0, 5.0], [1.2, 7.0], [3.0, 9.0], [5.0, 4.0]]
    with pytest.warns(SingularWarning, match=r"variances were raised in class 'a': 0\b.*variance"):
        model = NaiveBayes("gaussian", variance_floor=0.01).fit(X, list("aabb"))
    assert model.variance_floored_.tolist() == [[True, False], [False, False]]
    assert not model.constant_features_.any()
    twin = oracle.fit(X, list("aabb"), {0: "gaussian", 1: "gaussian"}, variance_floor=0.01)
    assert_like_the_twin(model, twin, [[1.2, 5.0], [3.0, 3.0]])
    variance = 0.01 * np.var([1, 1.2, 3, 5])
    assert variance > np.var([1, 1.2])
    expected = -0.5 * math.log(2 * math.pi * variance) + math.log(0.5)
    assert model.log_joint([[1.1, None]])[0, 0] == pytest.approx(expected, rel=1e-12)


def test_a_column_that_is_constant_in_each_class_gets_a_share_of_its_variance_over_all_rows():
    X, y = [[1.0], [1.0], [3.0], [3.0], [3.0]], list("aabbb")
    with pytest.warns(SingularWarning, match="raised in class"):
        model = NaiveBayes("gaussian").fit(X, y)
    # Var = 0.4 · 0.6 · 2²; 1/3 and 1/4 of it
    assert model.log_joint([[1.0]])[0, 0] == pytest.approx(
        math.log(0.4) - 0.5 * math.log(2 * math.pi * 0.96 / 3), rel=1e-12
    )
    assert model.log_joint([[3.0]])[0, 1] == pytest.approx(
        math.log(0.6) - 0.5 * math.log(2 * math.pi * 0.96 / 4), rel=1e-12
    )
    assert model.predict(X).tolist() == y


@pytest.mark.parametrize("options", [{}, {"variance_floor": 0.3}, {"variance_floor": 0.0}])
def test_repaired_variances_are_those_of_the_gaussian_classifier(options):
    X = np.array([[1.0, 2.0], [1.0, 5.0], [3.0, 4.0], [5.0, 4.5], [7.0, 9.0]])
    with pytest.warns(SingularWarning):
        model = NaiveBayes("gaussian", **options).fit(X, list("aabbb"))
    twin = oracle.fit(X.tolist(), list("aabbb"), dict.fromkeys((0, 1), "gaussian"), **options)
    assert_like_the_twin(model, twin, X)
    if options.get("variance_floor", 0) < 0.1:
        with pytest.warns(SingularWarning):
            other = GaussianClassifier("diagonal").fit(X, list("aabbb"))
        np.testing.assert_allclose(model.log_joint(X), other.log_joint(X), rtol=1e-12)


def test_a_column_with_one_value_says_nothing():
    X = np.array([[2.0, 4.0], [3.0, 4.0], [5.0, 4.0], [7.0, 4.0]])
    model = NaiveBayes("gaussian").fit(X, [0, 0, 1, 1])
    assert model.constant_features_.tolist() == [False, True]
    assert not model.variance_floored_.any()
    alone = NaiveBayes("gaussian").fit(X[:, :1], [0, 0, 1, 1])
    np.testing.assert_array_equal(model.predict_proba([[3.0, 99.0]]), alone.predict_proba([[3.0]]))


def test_a_class_without_values_borrows_those_of_all_and_says_so():
    X = [[None, 1.0], [None, 2.0], [3.0, 3.0], [5.0, 5.0]]
    with pytest.warns(SingularWarning, match=r"unknown in class 'a': 0"):
        model = NaiveBayes("gaussian").fit(X, list("aabb"))
    twin = oracle.fit(X, list("aabb"), {0: "gaussian", 1: "gaussian"})
    assert_like_the_twin(model, twin, [[4.0, 2.0], [None, 2.0]])


def test_the_floor_of_a_laplace_column_is_reported_too():
    X, y = [[1.0], [1.2], [1.1], [3.0], [4.0], [9.5]], list("aaabbb")
    with pytest.warns(SingularWarning, match="raised in class 'a': 0"):
        model = NaiveBayes("laplace", variance_floor=0.5).fit(X, y)
    assert model.variance_floored_.tolist() == [[True], [False]]
    twin = oracle.fit(X, y, {0: "laplace"}, variance_floor=0.5)
    assert_like_the_twin(model, twin, [[1.0], [5.0]])


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
def test_what_is_constant_in_a_class_does_not_depend_on_the_unit(family):
    X, y = np.array([[1.0], [1.0], [3.0], [4.0], [4.5]]), list("aabbb")
    new = np.array([[0.7], [2.0], [5.0]])
    answers = []
    for unit in (1.0, 1e-6, 1e9):
        with pytest.warns(SingularWarning):
            model = NaiveBayes(family).fit(X * unit, y)
        assert model.variance_floored_.tolist() == [[True], [False]]
        answers.append(model.predict_log_proba(new * unit))
    np.testing.assert_allclose(answers[1], answers[0], rtol=1e-9)
    np.testing.assert_allclose(answers[2], answers[0], rtol=1e-9)


def finite_and_normalised(p):
    return np.isfinite(p).all() and np.allclose(p.sum(axis=1), 1.0, rtol=1e-12, atol=0)


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


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("alpha", [1e-6, 1e-100])
def test_with_any_smoothing_nothing_is_impossible_neither_a_one_nor_a_zero(alpha, form):
    """Class 0 has ones only, class 1 zeros only: (0 + α) / (3 + 2α) the other way."""
    rows = np.repeat([[1], [0]], 3, axis=0)
    model = NaiveBayes("bernoulli", smoothing=alpha).fit(form(rows), [0, 0, 0, 1, 1, 1])
    odds = np.log(alpha) - np.log(3 + alpha)
    logs = model.predict_log_proba(form(np.array([[1], [0]])))
    np.testing.assert_allclose(logs[:, 1] - logs[:, 0], [odds, -odds], rtol=1e-10)


def test_many_rows_are_scored_in_blocks_as_one_by_one():
    rng = np.random.default_rng(74)
    n = 20_000
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
    for i in (0, 1, 8191, 8192, 16_384, 19_999):
        one = model.log_joint(many[i : i + 1])
        np.testing.assert_allclose(joint[i], one[0], rtol=1e-12)
    backwards = NaiveBayes({"n": "poisson"}).fit(many[::-1], y[::-1])
    np.testing.assert_allclose(backwards.log_joint(many), joint, rtol=1e-9)


def test_classes_that_float64_cannot_tell_apart_by_squares_are_refused_by_name():
    X = pd.DataFrame({"a": [1.0, 2.0, 1e160, 1e160], "b": [1.0, 2.0, 1.0, 2.0]})
    with pytest.raises(InputError, match="column 'a' varies so much"):
        NaiveBayes().fit(X, [0, 0, 1, 1])


RNG = np.random.default_rng(10)
CODES_Y = RNG.integers(0, 3, 200)
WEIGHTS = RNG.uniform(0.1, 3.0, 200)
COUNTS = RNG.poisson(1 + CODES_Y[:, None] * np.arange(5) / 3)


def assert_like_the_peer(ours, theirs, X):
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(
        ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-10, atol=1e-10
    )
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10, rtol=0)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighted"])
@pytest.mark.parametrize("alpha", [0.01, 7.0])
@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
class TestText:
    def test_tf_idf_weights_have_the_posterior_of_multinomial_nb(self, form, alpha, weights):
        X = form(COUNTS * np.linspace(0.3, 1.7, 5))
        ours = NaiveBayes("multinomial", smoothing=alpha).fit(X, CODES_Y, weights)
        assert_like_the_peer(ours, MultinomialNB(alpha=alpha).fit(X, CODES_Y, weights), X)


HOLEY2, Y2 = oracle.mixed_rows(80, seed=40, holes=0.1)
NEW2, _ = oracle.mixed_rows(12, seed=41, holes=0.3)
MODEL = NaiveBayes(oracle.EVERY_FAMILY).fit(HOLEY2, Y2)
TWIN = oracle.fit(HOLEY2, Y2, oracle.EVERY_FAMILY)
FRAME = pd.DataFrame(
    {"age": [1.0, 2.0, 4.0, 7.0], "town": ["x", "y", "x", None], "ill": [1, 0, 1, 0]}
)
NAMED = NaiveBayes().fit(FRAME, ["a", "a", "b", "b"])


def log_odds(model, row, a, b):
    logs = dict(zip(model.classes_.tolist(), model.predict_log_proba(row)[0], strict=True))
    return logs[a] - logs[b]


@pytest.mark.parametrize("row", NEW2[:6], ids=range(6))
def test_contributions_and_prior_add_up_to_the_log_odds(row):
    """By default of the best class against the next; the largest come first."""
    for a, b in [("ant", "cat"), ("cat", "bee"), (None, None), ("bee", None), (None, "bee")]:
        told = MODEL.explain(row, a, b)
        expected = log_odds(MODEL, [row], told.label, told.against)
        assert told.prior + told.contributions.sum() == pytest.approx(expected, abs=1e-10)
        assert told.log_odds == pytest.approx(expected, abs=1e-10)
        assert a in (None, told.label)
        assert b in (None, told.against)
        assert (np.diff(np.abs(told.contributions)) <= 0).all()
        if (a, b) == (None, None):
            order = np.argsort(-MODEL.predict_log_proba([row])[0])
            assert [told.label, told.against] == MODEL.classes_[order[:2]].tolist()
            assert told.log_odds >= 0


def test_each_contribution_is_the_log_ratio_of_its_own_densities():
    told = MODEL.explain(NEW2[1], "cat", "ant")
    shares = dict(zip(told.features, told.contributions, strict=True))
    for key in oracle.EVERY_FAMILY:
        expected = TWIN.feature(NEW2[1], key, 2) - TWIN.feature(NEW2[1], key, 0)
        if key == (8, 9, 10):  # each count by itself; the coefficient cancels
            assert sum(shares[j] for j in key) == pytest.approx(expected, abs=1e-10)
        else:
            assert shares[key] == pytest.approx(expected, abs=1e-10)
    assert told.prior == pytest.approx(np.log(TWIN.priors[2] / TWIN.priors[0]))


def test_missing_values_add_nothing_and_equals_keep_the_order_of_columns():
    told = NAMED.explain([None, None, None], "a", "b")
    assert told.contributions.tolist() == [0.0, 0.0, 0.0]
    assert all(value is None for value in told.values)  # noqa: PD011 - not a data frame
    assert told.log_odds == 0.0
    assert told.features == ("age", "town", "ill")


@pytest.mark.parametrize(
    "row",
    [
        [2.0, "y", 1],
        (2.0, "y", 1),
        {"ill": 1, "age": 2.0, "town": "y"},
        np.array([2.0, "y", 1], dtype=object),
        pd.Series({"age": 2.0, "town": "y", "ill": 1}),
        pd.DataFrame({"age": [2.0], "town": ["y"], "ill": [1]}),
        pl.DataFrame({"age": [2.0], "town": ["y"], "ill": [1]}),
        pl.DataFrame({"age": [2.0], "town": ["y"], "ill": [1]}).to_arrow(),
    ],
    ids=["list", "tuple", "mapping", "array", "Series", "pandas", "Polars", "Arrow"],
)
def test_a_row_may_come_in_any_form(row):
    told = NAMED.explain(row, "a", "b")
    frame = pd.DataFrame({"age": [2.0], "town": ["y"], "ill": [1]})
    assert told.log_odds == pytest.approx(log_odds(NAMED, frame, "a", "b"), abs=1e-12)
    assert dict(zip(told.features, told.values, strict=True)) == {"age": 2, "town": "y", "ill": 1}


@pytest.mark.parametrize("family", ["bernoulli", "multinomial", "poisson"])
def test_sparse_rows_are_explained_by_the_columns_that_matter(family):
    counts = np.array([[1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]])
    model = NaiveBayes(family).fit(csr_array(counts), [0, 0, 1, 1])
    dense = NaiveBayes(family).fit(counts, [0, 0, 1, 1])
    for row in ([1, 0, 1, 1], [0, 0, 0, 0]):
        expected = dense.decision_function([row])[0]
        for form in (csr_array([row]), row, np.array([row]), dict(enumerate(row))):
            told = model.explain(form, 1, 0)
            assert told.log_odds == pytest.approx(expected, abs=1e-12)
            whole = dense.explain(row, 1, 0)
            amounts = dict(zip(whole.features, whole.contributions, strict=True))
            for feature, amount in zip(told.features, told.contributions, strict=True):
                assert amount == pytest.approx(amounts[feature], abs=1e-12)


def test_an_impossible_value_is_infinitely_against_its_class_and_never_nan():
    model = NaiveBayes(smoothing=0).fit([["x", 1], ["y", 0], ["y", 1], ["y", 0]], [0, 0, 1, 1])
    told = model.explain(["x", 1], 0, 1)
    assert told.contributions[0] == told.log_odds == np.inf
    rows = [[1, 0], [1, 0], [0, 1], [0, 1], [1, 1], [0, 0], [0, 1], [1, 0]]
    model = NaiveBayes(smoothing=0).fit(rows, list("aabbcccc"))
    assert model.explain([1, 1], "c", "a").log_odds == np.inf
    with pytest.raises(InputError, match="explain.*impossible under both"):
        model.explain([1, 1], "a", "b")


def test_the_repr_is_a_table_of_a_few_lines():
    told = MODEL.explain(NEW2[0], "ant", "bee")
    lines = repr(told).splitlines()
    assert lines[0].startswith("'ant' against 'bee': log odds ")
    assert lines[1].split()[0] == "prior"
    assert len(lines) == 2 + 12 + 1
    assert lines[-1].split()[:2] == [str(len(told.features) - 12), "more"]


def test_wrong_rows_are_refused():
    with pytest.raises(LabelError, match="needs 'town'"):
        NAMED.explain({"age": 1.0, "ill": 0})
    with pytest.raises(LabelError, match=r"does not know 'twon'|needs 'town'"):
        NAMED.explain({"age": 1.0, "ill": 0, "twon": "x"})
    with pytest.raises(InputError, match=r"3 values. Got 2"):
        NAMED.explain([1.0, "x"])
    with pytest.raises(InputError, match=r"one row. Got 4"):
        NAMED.explain(FRAME)
    with pytest.raises(LabelError, match="no class 'c'"):
        NAMED.explain([1.0, "x", 1], "c")
    with pytest.raises(InputError, match="compares two classes"):
        NaiveBayes().fit([[1.0], [2.0]], [0, 0]).explain([1.0])


LINEAR = {k: f for k, f in oracle.EVERY_FAMILY.items() if f != "laplace"}


def without_laplace(rows):
    return [[*row[:1], *row[2:]] for row in rows]


def moved(families):
    return {
        tuple(j - 1 for j in k) if isinstance(k, tuple) else k - (k > 1): f
        for k, f in families.items()
    }


@pytest.mark.parametrize(("a", "b"), [("ant", "bee"), ("cat", "ant")])
def test_log_odds_are_linear_in_the_statistics_of_all_exponential_families(a, b):
    model = NaiveBayes(moved(LINEAR)).fit(without_laplace(HOLEY2), Y2)
    new = without_laplace(oracle.mixed_rows(20, seed=42)[0])
    w, w0 = form = model.log_odds_weights(a, b)
    assert (form.label, form.against, form.intercept) == (a, b, w0)
    T = model.sufficient_statistics(new)
    assert T.shape == (20, len(w)) == (20, len(form.statistics))
    logs = model.predict_log_proba(new)
    i, j = (model.classes_.tolist().index(k) for k in (a, b))
    np.testing.assert_allclose(T @ w + w0, logs[:, i] - logs[:, j], rtol=1e-9, atol=1e-9)


def test_the_statistics_are_named():
    frame = pd.DataFrame({"t": ["x", "y", "x"], "g": [1.5, 2.0, 4.0], "f": [0, 1, 1]})
    frame["n"], frame["s"] = [3, 1, 2], [0.5, 1.5, 2.0]
    model = NaiveBayes({"n": "poisson", "s": "gamma"}, unknown="ignore").fit(frame, [0, 0, 0])
    names = model.log_odds_weights(0, 0).statistics
    assert set(names) == {"g", "g²", "f", "n", "log s", "s", "[t = 'x']", "[t = 'y']"}


def test_missing_values_have_no_statistics():
    rows = {"age": [None, 1.0, 1.0], "town": ["x", None, "y"], "ill": [1, 0, None]}
    T = NAMED.sufficient_statistics(pd.DataFrame(rows))
    assert np.isnan(T).any(axis=1).all()
    assert not np.isnan(T).all(axis=1).any()


def test_constant_columns_have_weight_zero():
    model = NaiveBayes("gaussian").fit(
        [[1.0, 5.0], [2.0, 5.0], [4.0, 5.0], [6.0, 5.0]], [0, 0, 1, 1]
    )
    w, w0 = model.log_odds_weights(1, 0)
    assert w[2:].tolist() == [0.0, 0.0]
    new = np.array([[3.0, 5.0], [1.0, 77.0]])
    np.testing.assert_allclose(
        model.sufficient_statistics(new) @ w + w0, model.decision_function(new), rtol=1e-10
    )


@pytest.mark.parametrize("family", ["bernoulli", "multinomial", "poisson"])
def test_sparse_rows_are_their_own_statistics(family):
    rows = csr_array(np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1]]))
    model = NaiveBayes(family).fit(rows, [0, 0, 1, 1])
    w, w0 = model.log_odds_weights(1, 0)
    T = model.sufficient_statistics(rows)
    np.testing.assert_allclose(T @ w + w0, model.decision_function(rows), rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(T.toarray(), rows.toarray())


def test_a_laplace_column_is_refused_by_name():
    with pytest.raises(InputError, match=r"Laplace family.*not a generalised linear"):
        MODEL.log_odds_weights("ant", "bee")


@pytest.mark.parametrize(
    ("rows", "y"),
    [
        ([[1, 1], [1, 0], [1, 0]], list("aab")),  # p = 1 in both classes
        ([[0, 1], [0, 0], [1, 0]], list("aab")),
        ([["x"], ["y"], ["y"], ["z"]], list("aabb")),
    ],
)
@pytest.mark.parametrize("form", [list, csr_array])
def test_infinite_weights_are_refused_with_the_remedy(rows, y, form):
    if form is csr_array and isinstance(rows[0][0], str):
        rows = [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]
    model = NaiveBayes(smoothing=0).fit(form(rows), y)
    with pytest.raises(InputError, match=r"infinite.*smoothing > 0"):
        model.log_odds_weights("a", "b")


def test_a_prior_of_zero_has_no_log_odds():
    model = NaiveBayes("bernoulli", priors=[0, 1]).fit([[0], [1], [1]], list("abb"))
    with pytest.raises(InputError, match="prior of 'a' or 'b' is zero"):
        model.log_odds_weights("a", "b")
    with pytest.raises(LabelError, match="no class 'q'"):
        model.log_odds_weights("a", "q")


@pytest.mark.parametrize("unknown", ["smooth", "ignore"])
def test_an_unseen_category_has_its_weight_or_none(unknown):
    model = NaiveBayes(unknown=unknown).fit([["r"], ["r"], ["g"], ["r"], ["b"]], list("aaabb"))
    w, w0 = model.log_odds_weights("b", "a")
    new = [["zz"], ["r"], ["b"], ["g"]]
    np.testing.assert_allclose(
        model.sufficient_statistics(new) @ w + w0, model.decision_function(new), rtol=1e-12
    )
