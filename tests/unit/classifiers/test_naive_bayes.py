"""``NaiveBayes`` against its slow twin: families, smoothing, categories, floors, priors."""

import math

import numpy as np
import pandas as pd
import pytest
from tests.oracles import naive_bayes as oracle

from credo import GaussianClassifier, NaiveBayes, families
from credo.exceptions import InputError, SingularWarning

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


# --- families --------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ALONE)
def test_each_family_alone_agrees_with_its_twin(family):
    columns = ALONE[family]
    rows, new = cut(ROWS, columns), cut(NEW, columns)
    key = tuple(range(len(columns))) if len(columns) > 1 else 0
    twin = oracle.fit(rows, Y, {key: family})
    assert_like_the_twin(NaiveBayes({key: family}).fit(rows, Y), twin, new)
    assert_like_the_twin(NaiveBayes(family).fit(rows, Y), twin, new)


@pytest.mark.parametrize("family", ALONE)
def test_a_family_may_be_given_as_its_class(family):
    columns = ALONE[family]
    kind = {name: getattr(families, name) for name in families.__all__}
    name = "".join(word.capitalize() for word in family.split("_"))
    rows, new = cut(ROWS, columns), cut(NEW, columns)
    by_class, by_name = NaiveBayes(kind[name]).fit(rows, Y), NaiveBayes(family).fit(rows, Y)
    np.testing.assert_array_equal(by_class.log_joint(new), by_name.log_joint(new))
    assert by_class.families_ == by_name.families_


@pytest.mark.parametrize(("rows", "y"), [(ROWS, Y), (HOLEY, Y_HOLEY)], ids=["whole", "holey"])
def test_all_families_in_one_table_agree_with_the_twin(rows, y):
    model = NaiveBayes(oracle.EVERY_FAMILY).fit(rows, y)
    twin = oracle.fit(rows, y, oracle.EVERY_FAMILY)
    assert_like_the_twin(model, twin, NEW)
    assert model.families_ == oracle.EVERY_FAMILY


def test_the_prior_is_counted_once_however_many_families_there_are():
    model = NaiveBayes(oracle.EVERY_FAMILY).fit(ROWS, Y)
    parts = [model.log_joint([_only(NEW[0], key)])[0] for key in oracle.EVERY_FAMILY]
    surplus = (len(parts) - 1) * np.log(model.priors_)
    np.testing.assert_allclose(model.log_joint(NEW[:1])[0], sum(parts) - surplus, rtol=1e-11)


def _only(row, key):
    kept = key if isinstance(key, tuple) else (key,)
    return [cell if j in kept else None for j, cell in enumerate(row)]


def test_a_row_that_misses_a_column_is_scored_as_if_the_column_did_not_exist():
    chosen = {j: oracle.EVERY_FAMILY[j] for j in range(8)}
    model = NaiveBayes(chosen).fit(cut(HOLEY, range(8)), Y_HOLEY)
    for j in range(8):
        others = [c for c in range(8) if c != j]
        smaller = NaiveBayes({i: chosen[c] for i, c in enumerate(others)})
        smaller.fit(cut(HOLEY, others), Y_HOLEY)
        row = list(ROWS[0][:8])
        row[j] = None
        expected = smaller.log_joint([[row[c] for c in others]])
        np.testing.assert_allclose(model.log_joint([row]), expected, rtol=1e-12)


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


def test_columns_that_are_not_named_are_auto():
    rows = [["x", 1, 0.5], ["y", 3, 2.5], ["x", 0, 1.0], ["x", 2, 4.5]]
    model = NaiveBayes({1: "poisson"}).fit(rows, [0, 1, 0, 1])
    assert model.families_ == {0: "categorical", 1: "poisson", 2: "gaussian"}
    same = NaiveBayes({1: "poisson", 2: "auto", 0: "auto"})
    same.fit(rows, [0, 1, 0, 1])
    assert same.families_ == model.families_


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


# --- smoothing -------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["uniform", "marginal"])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0, 25.0])
@pytest.mark.parametrize("unknown", ["smooth", "ignore"])
def test_smoothing_agrees_with_the_twin(alpha, target, unknown):
    chosen = {key: oracle.EVERY_FAMILY[key] for key in (2, 3, 4, 5, (8, 9, 10))}
    options = {"smoothing": alpha, "smoothing_target": target, "unknown": unknown}
    where = {0: "bernoulli", 1: "categorical", 2: "poisson", 3: "exponential"}
    where[4, 5, 6] = chosen[8, 9, 10]
    columns = (2, 3, 4, 5, 8, 9, 10)
    rows, new = cut(HOLEY, columns), cut(NEW, columns)
    model = NaiveBayes(where, **options).fit(rows, Y_HOLEY)
    assert_like_the_twin(model, oracle.fit(rows, Y_HOLEY, where, **options), new)


def test_much_smoothing_towards_the_marginal_forgets_the_class():
    X = [["a"], ["a"], ["b"], ["b"], ["b"]]
    model = NaiveBayes(smoothing=1e12, smoothing_target="marginal", unknown="ignore")
    model.fit(X, [0, 0, 0, 1, 1])
    np.testing.assert_allclose(model.predict_proba(X), [[0.6, 0.4]] * 5, rtol=1e-9)


# --- categories ------------------------------------------------------------------------------

TOWNS, WHO = [["ulm"], ["ulm"], ["bonn"], ["bonn"], ["kiel"]], list("aaabb")


def test_an_unseen_category_gets_its_smoothed_mass():
    model = NaiveBayes(smoothing=0.5).fit(TOWNS, WHO)
    # C = 4 with the spare one: 0.5 / (3 + 2) and 0.5 / (2 + 2)
    joint = np.log([0.6 * 0.5 / 5, 0.4 * 0.5 / 4])
    np.testing.assert_allclose(model.log_joint([["rom"]])[0], joint, rtol=1e-14)
    assert model.categories_ == {0: ["ulm", "bonn", "kiel"]}


def test_an_ignored_category_is_a_missing_one():
    model = NaiveBayes(unknown="ignore").fit(TOWNS, WHO)
    np.testing.assert_array_equal(model.log_joint([["rom"]]), model.log_joint([[None]]))
    # C = 3: (2 + 1) / (3 + 3) and (0 + 1) / (2 + 3)
    np.testing.assert_allclose(
        np.exp(model.log_joint([["ulm"]])[0]), [0.6 * 3 / 6, 0.4 * 1 / 5], rtol=1e-14
    )


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


# --- Gaussian columns ------------------------------------------------------------------------


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


@pytest.mark.parametrize("floor", [0.0, 1e-9])
def test_a_column_that_is_constant_in_a_class_gets_a_share_of_its_variance_within_classes(floor):
    X = [[1.0], [1.0], [3.0], [5.0], [7.0]]
    with pytest.warns(SingularWarning, match=r"raised in class 'a': 0\b.*1/\(n \+ 1\)"):
        model = NaiveBayes("gaussian", variance_floor=floor).fit(X, list("aabbb"))
    assert model.variance_floored_.tolist() == [[True], [False]]
    # within classes (0 + 4 + 0 + 4) / 5 = 8/5, of which 1 / (2 + 1)
    expected = math.log(0.4) - 0.5 * math.log(2 * math.pi * 8 / 15)
    assert model.log_joint([[1.0]])[0, 0] == pytest.approx(expected, rel=1e-12)
    twin = oracle.fit(X, list("aabbb"), {0: "gaussian"}, variance_floor=floor)
    assert_like_the_twin(model, twin, [[0.5], [2.0], [9.0]])


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
