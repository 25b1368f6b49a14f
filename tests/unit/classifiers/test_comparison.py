"""Learning curves of two classifiers on the same rows, and counts of parameters."""

import math
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from credo import (
    GaussianClassifier,
    NaiveBayes,
    TextClassifier,
    compare_generative_discriminative as compare,
    count_parameters,
)
from credo.exceptions import InputError


def gaussians(counts, gap=1.5, d=2, seed=0):
    """Rows of spherical Gaussians on a line, in random order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    return rng.normal(size=(len(y), d)) + gap * y[:, None] * np.eye(1, d), y


X, Y = gaussians([150, 150])
NB = GaussianNB()


@pytest.fixture(scope="module")
def curves():
    return compare(X, Y, sizes=[8, 40, 200], n_repeats=6, random_state=0)


class Uniform(ClassifierMixin, BaseEstimator):
    """Learns nothing, and tells which rows it was fitted to and tested on; X is their numbers."""

    def fit(self, X, y):
        SEEN.append(X[:, 0].astype(int))
        self.classes_ = np.unique(y)
        return self

    def predict_log_proba(self, X):
        SEEN.append(X[:, 0].astype(int))
        return np.full((len(X), len(self.classes_)), -np.log(len(self.classes_)))


SEEN = []


def splits(codes, sizes=None, **options):
    """Sizes, and of each repeat the test rows and the training sets."""
    SEEN.clear()
    rows, models = np.arange(len(codes))[:, None], (Uniform(), Uniform())
    got = compare(rows, codes, sizes=sizes, models=models, **options)
    n = len(got.sizes)
    repeats = [SEEN[i : i + 4 * n] for i in range(0, len(SEEN), 4 * n)]  # fit, fit, test, test
    return got.sizes, [(each[2], each[::4]) for each in repeats]


@pytest.mark.parametrize(
    "counts",
    [[30, 30], [50, 10], [20, 31, 9], [3, 97], [7, 7, 7, 7], [4, 40], [6, 11, 23]],
    ids=str,
)
def test_training_sets_grow_with_the_class_shares_and_never_hold_test_rows(counts):
    codes = np.random.default_rng(1).permutation(np.repeat(np.arange(len(counts)), counts))
    shares = np.array(counts) / sum(counts)
    (least, *_, most), _ = splits(codes, n_repeats=1)
    sizes, repeats = splits(codes, range(least, most + 1), n_repeats=10, random_state=2)
    for test, sets in repeats:
        assert sorted([*test, *sets[-1]]) == list(range(len(codes)))
        assert [len(each) for each in sets] == sizes.tolist()
        assert np.bincount(codes[sets[0]], minlength=len(counts)).min() >= 2
        for smaller, larger in pairwise(sets):
            assert larger[:-1].tolist() == smaller.tolist()
        for each in [test[:0], *sets]:
            held = np.concatenate([test, each])
            found = np.bincount(codes[held], minlength=len(counts))
            # half a row by rounding in each class, and one by ties
            assert (np.abs(found - len(held) * shares) <= 1 + len(counts) / 2).all()
    assert len({tuple(test) for test, _ in repeats}) > 1


def test_results_have_a_place_for_each_model_size_and_repeat(curves):
    assert curves.names == ("GaussianClassifier", "LogisticClassifier")
    assert curves.sizes.tolist() == [8, 40, 200]
    assert curves.log_losses.shape == curves.error_rates.shape == (2, 3, 6)
    assert curves.separated.shape == curves.agreement.shape == (3, 6)
    for s, separated in enumerate(curves.separated):
        mean = curves.log_losses[:, s, ~separated].mean(axis=1) if not separated.all() else np.nan
        np.testing.assert_allclose(curves.mean_log_losses[:, s], mean)
    assert ((curves.error_rates >= 0) & (curves.error_rates <= 1)).all()
    assert (np.abs(curves.agreement) <= 1 + 1e-12).all()
    assert not curves.separated[-1].any()


def test_losses_are_those_of_scikit_learns_metrics():
    kept = []

    class Kept(LinearDiscriminantAnalysis):
        def predict_log_proba(self, X):
            kept.append((X.copy(), self))
            return super().predict_log_proba(X)

    got = compare(X, Y, sizes=[100], n_repeats=3, models=(Kept(), GaussianNB()), random_state=0)
    truths = {tuple(row): label for row, label in zip(X.tolist(), Y.tolist(), strict=True)}
    for r, (rows, model) in enumerate(kept):
        y = [truths[tuple(row)] for row in rows.tolist()]
        proba = LinearDiscriminantAnalysis.predict_proba(model, rows)
        assert got.log_losses[0, 0, r] == pytest.approx(log_loss(y, proba), rel=1e-9)
        assert got.error_rates[0, 0, r] == pytest.approx((model.predict(rows) != y).mean())


def test_the_same_seed_gives_the_same_curves(curves):
    again = compare(X, Y, sizes=[200, 8, 40, 8], n_repeats=6, random_state=np.random.default_rng(0))
    np.testing.assert_array_equal(again.log_losses, curves.log_losses)
    np.testing.assert_array_equal(again.agreement, curves.agreement)
    other = compare(X, Y, sizes=[8, 40, 200], n_repeats=6, random_state=1)
    assert not np.array_equal(other.log_losses, curves.log_losses)


def test_other_models_can_be_compared_and_stay_unfitted():
    models = GaussianClassifier("full"), LogisticRegression(C=0.5)
    got = compare(X, Y, sizes=[50], n_repeats=2, models=models)
    assert got.names == ("GaussianClassifier", "LogisticRegression")
    assert not hasattr(models[0], "classes_")
    assert not hasattr(models[1], "classes_")
    assert np.isnan(got.agreement).all()
    assert not got.separated.any()
    assert "nan" in repr(got)


def test_by_default_eight_sizes_grow_to_all_rows():
    got = compare(X, Y, n_repeats=1, random_state=0)
    assert len(got.sizes) == 8
    assert got.sizes[-1] == 210
    assert (np.diff(got.sizes) > 0).all()
    assert got.sizes[0] == 4
    ratios = got.sizes[1:] / got.sizes[:-1]
    assert ratios.max() / ratios.min() < 1.4


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_test_share_is_kept_and_progress_told_after_each_repeat(share):
    told = []
    sizes, ((test, _), _) = splits(
        Y, n_repeats=2, test_share=share, progress=lambda done, of: told.append((done, of))
    )
    assert (len(test), sizes[-1]) == (round(share * 300), 300 - round(share * 300))
    assert told == [(1, 2), (2, 2)]


def test_the_table_has_a_line_per_size(curves):
    lines = repr(curves).splitlines()
    assert "6 repeats" in lines[0]
    assert len(lines) == 2 + 3
    assert lines[-1].split()[0] == "200"
    assert lines[-1].split()[1] == f"{curves.mean_log_losses[0, -1]:.4f}"
    assert lines[-1].split()[2] == f"{curves.mean_log_losses[1, -1]:.4f}"


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("sizes", [[3], [211], [], [0], [-5], [20.5], [True], ["20"], 5, 20.0]),
        ("models", [(NB,), (NB, NB, NB), (GaussianNB, GaussianNB), (NB, SVC()), "ab", NB]),
        ("n_repeats", [0, 1.5, "2"]),
        ("test_share", [0.0, 1.0, 2]),
        ("random_state", ["x"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_options_are_named(option, values):
    for value in values:
        with pytest.raises(InputError, match=f"{option} of compare_generative_discriminative"):
            compare(X, Y, **{"n_repeats": 1, option: value})


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (X, np.zeros(300), "two classes or more"),
        (X[:4], [0, 0, 1, 1], "two training rows of each"),
        (X, np.append(np.zeros(298), [1, 1]), "two training rows of each"),
        (np.where(X[3, 1] == X, np.nan, X), Y, r"finite\. Got nan at index \[3, 1\]"),
        (X, Y[:7], "inconsistent"),
    ],
    ids=["one class", "few rows", "a rare class", "missing values", "lengths"],
)
def test_rows_that_cannot_be_split_are_refused(rows, labels, message):
    with pytest.raises(ValueError, match=message):
        compare(rows, labels)


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_a_model_of_numbers_has_no_table(family):
    model = NaiveBayes({0: family}).fit([[1.0, 0], [2.0, 1], [4.0, 1], [7.0, 0]], [0, 0, 1, 1])
    with pytest.raises(InputError, match=f"column 0 is {family}"):
        count_parameters(model)


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("states of count_parameters", [0, -2, 2.5, True, None, [2, 0], [2, -1], [2.0, 3], "22"]),
        ("states of count_parameters", [["2"], {"a": 2}, np.array(3), TextClassifier()]),
        ("n_classes of count_parameters", [(3, 0), (3, -1), (3, 1.5), (3, "two"), (3, True)]),
        ("fitted NaiveBayes", [NaiveBayes()]),
    ],
    ids=["states", "no states", "classes", "not fitted"],
)
def test_what_cannot_be_counted_is_refused(message, arguments):
    for each in arguments:
        with pytest.raises(InputError, match=message):
            count_parameters(*(each if isinstance(each, tuple) else (each,)))


def test_large_tables_are_written_in_powers_of_ten():
    shown = repr(count_parameters(2000))
    assert f"about 1e{math.floor(2000 * math.log10(2))}" in shown
    assert "2000 features, 2 classes" in shown
    rows = [line.split() for line in repr(count_parameters(10, 3)).splitlines()]
    assert rows[2] == ["full", "table", "1023", "3071"]
    assert rows[3] == ["naive", "Bayes", "10", "32"]
    assert "about" not in repr(count_parameters(38))
    assert "about 1e12" in repr(count_parameters(40))


def test_lines_of_three_classes_agree_in_the_limit():
    rows, y = gaussians([1500] * 3, gap=1.0, seed=2)
    assert compare(rows, y, sizes=[3000], n_repeats=1, random_state=0).agreement.min() > 0.99


def test_the_total_of_naive_bayes_is_what_its_model_holds():
    """A model has K priors, of which K - 1 are free."""
    rng = np.random.default_rng(0)
    X = np.array([rng.choice(["a", "b", "c"], 60), rng.choice(["x", "y"], 60)]).T
    model = NaiveBayes(unknown="ignore").fit(X, np.arange(60) % 3)
    count = count_parameters(model)
    assert (count.states, count.n_classes, count.full_table) == ((3, 2), 3, 3 * 2 - 1)
    assert count.naive_bayes_total == model.n_parameters_ - 1
