"""``compare_generative_discriminative``: learning curves of two classifiers on the same rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from credo import GaussianClassifier, LogisticClassifier, compare_generative_discriminative
from credo.classifiers.comparison import _interleave, _least_size
from credo.exceptions import InputError


def gaussians(counts, gap=1.5, d=2, seed=0):
    """Rows of spherical Gaussians on a line, in random order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    return rng.normal(size=(len(y), d)) + gap * y[:, None] * np.eye(1, d), y


X, Y = gaussians([150, 150])


@pytest.fixture(scope="module")
def curves():
    return compare_generative_discriminative(X, Y, sizes=[8, 40, 200], n_repeats=6, random_state=0)


# --- splits ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "counts", [[30, 30], [50, 10], [20, 31, 9], [3, 97], [7, 7, 7, 7]], ids=str
)
def test_every_stretch_has_the_class_shares(counts):
    codes = np.random.default_rng(1).permutation(np.repeat(np.arange(len(counts)), counts))
    order = _interleave(codes, np.random.default_rng(2))
    assert sorted(order.tolist()) == list(range(len(codes)))
    shares = np.array(counts) / sum(counts)
    for m in range(1, len(codes) + 1):
        found = np.bincount(codes[order[:m]], minlength=len(counts))
        # half a row by rounding in each class, and one by ties
        assert (np.abs(found - m * shares) <= 1 + len(counts) / 2).all()


def test_splits_differ_and_take_every_row():
    codes = np.repeat([0, 1], 20)
    rng = np.random.default_rng(0)
    orders = np.array([_interleave(codes, rng) for _ in range(200)])
    assert len({tuple(order) for order in orders}) > 190
    # each row is tested on about as often as others: 12 of 40 places
    tested = np.bincount(orders[:, :12].ravel(), minlength=40) / 200
    assert tested.min() > 0.15
    assert tested.max() < 0.45


@pytest.mark.parametrize("counts", [[10, 10], [4, 40], [6, 11, 23], [5, 5, 5]], ids=str)
@pytest.mark.parametrize("n_test", [3, 5, 8])
def test_the_least_size_holds_two_rows_of_each_class_however_they_fall(counts, n_test):
    codes = np.repeat(np.arange(len(counts)), counts)
    least = _least_size(np.array(counts), n_test)
    rng = np.random.default_rng(0)
    for _ in range(200):
        order = _interleave(codes, rng)
        found = np.bincount(codes[order[n_test : n_test + least]], minlength=len(counts))
        assert found.min() >= 2 or least > len(codes) - n_test


def test_training_sets_contain_each_other_and_never_test_rows():
    seen = []

    class Spy(GaussianNB):
        def fit(self, X, y):
            seen.append(("fit", {tuple(row) for row in X.tolist()}))
            return super().fit(X, y)

        def predict_log_proba(self, X):
            seen.append(("test", {tuple(row) for row in X.tolist()}))
            return super().predict_log_proba(X)

    compare_generative_discriminative(
        X, Y, sizes=[10, 50, 210], n_repeats=2, models=(Spy(), GaussianNB()), random_state=3
    )
    for r in range(2):
        mine = seen[6 * r : 6 * r + 6]
        fits = [rows for kind, rows in mine if kind == "fit"]
        tests = [rows for kind, rows in mine if kind == "test"]
        assert [len(rows) for rows in fits] == [10, 50, 210]
        assert fits[0] < fits[1] < fits[2]
        assert len(tests[0]) == 90
        assert tests[0] == tests[1] == tests[2]
        assert not fits[2] & tests[0]
    assert seen[1][1] != seen[7][1]


# --- results ---------------------------------------------------------------------------------


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


def test_losses_are_those_of_scikit_learns_metrics():
    kept = []

    class Kept(LinearDiscriminantAnalysis):
        def predict_log_proba(self, X):
            kept.append((X.copy(), self))
            return super().predict_log_proba(X)

    got = compare_generative_discriminative(
        X, Y, sizes=[100], n_repeats=3, models=(Kept(), GaussianNB()), random_state=0
    )
    truths = {tuple(row): label for row, label in zip(X.tolist(), Y.tolist(), strict=True)}
    for r, (rows, model) in enumerate(kept):
        y = [truths[tuple(row)] for row in rows.tolist()]
        proba = LinearDiscriminantAnalysis.predict_proba(model, rows)
        assert got.log_losses[0, 0, r] == pytest.approx(log_loss(y, proba), rel=1e-9)
        assert got.error_rates[0, 0, r] == pytest.approx((model.predict(rows) != y).mean())


def test_the_default_generative_one_is_scikit_learns_lda():
    ours = compare_generative_discriminative(X, Y, sizes=[60], n_repeats=3, random_state=5)
    theirs = compare_generative_discriminative(
        X,
        Y,
        sizes=[60],
        n_repeats=3,
        random_state=5,
        models=(LinearDiscriminantAnalysis(), LogisticRegression(C=np.inf, tol=1e-10)),
    )
    np.testing.assert_allclose(ours.log_losses[0], theirs.log_losses[0], rtol=1e-7)
    np.testing.assert_allclose(ours.log_losses[1], theirs.log_losses[1], rtol=1e-3)
    np.testing.assert_allclose(ours.agreement, theirs.agreement, atol=1e-3)


def test_the_same_seed_gives_the_same_curves(curves):
    again = compare_generative_discriminative(
        X, Y, sizes=[200, 8, 40, 8], n_repeats=6, random_state=np.random.default_rng(0)
    )
    np.testing.assert_array_equal(again.log_losses, curves.log_losses)
    np.testing.assert_array_equal(again.agreement, curves.agreement)
    other = compare_generative_discriminative(X, Y, sizes=[8, 40, 200], n_repeats=6, random_state=1)
    assert not np.array_equal(other.log_losses, curves.log_losses)


def test_two_lines_agree_in_the_limit_and_losses_fall():
    rows, y = gaussians([3000, 3000])
    got = compare_generative_discriminative(
        rows, y, sizes=[10, 100, 4200], n_repeats=8, random_state=0
    )
    assert got.agreement[-1].min() > 0.999
    assert got.agreement[-1].mean() > got.agreement[0].mean()
    means = got.mean_log_losses
    assert means[0, -1] == pytest.approx(means[1, -1], rel=2e-3)
    assert (means[:, 0] > means[:, -1]).all()


@pytest.mark.parametrize("relabel", [str, bool, float], ids=["text", "boolean", "float"])
def test_the_kind_of_labels_does_not_matter(relabel, curves):
    labels = np.array([relabel(k) for k in Y])
    got = compare_generative_discriminative(
        X, labels, sizes=[8, 40, 200], n_repeats=6, random_state=0
    )
    np.testing.assert_allclose(got.log_losses, curves.log_losses, rtol=1e-12)


def test_a_data_frame_is_taken(curves):
    got = compare_generative_discriminative(
        pd.DataFrame(X, columns=["a", "b"]),
        pd.Series(Y),
        sizes=[8, 40, 200],
        n_repeats=6,
        random_state=0,
    )
    np.testing.assert_array_equal(got.log_losses, curves.log_losses)


def test_three_classes_are_compared():
    rows, y = load_iris(return_X_y=True)
    got = compare_generative_discriminative(rows[:, :2], y, n_repeats=4, random_state=0)
    assert got.error_rates[:, -1].mean() < 0.35
    assert np.isfinite(got.log_losses).all()
    assert got.agreement[-1].mean() > 0.5
    rows, y = gaussians([1500] * 3, gap=1.0, seed=2)
    got = compare_generative_discriminative(rows, y, sizes=[3000], n_repeats=3, random_state=0)
    assert got.agreement.min() > 0.99


def test_separable_rows_are_a_result_and_not_a_warning():
    rows, y = gaussians([40, 40], gap=30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = compare_generative_discriminative(rows, y, n_repeats=3, random_state=0)
    assert got.separated.all()
    assert (got.error_rates == 0).all()
    assert "100 %" in repr(got)


def test_rows_that_overlap_are_not_called_separable(curves):
    assert not curves.separated[-1].any()


def test_fewer_rows_than_columns_are_no_warning_either():
    rows, y = gaussians([30, 30], gap=2, d=12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = compare_generative_discriminative(rows, y, sizes=[4, 8, 40], n_repeats=3)
    assert got.separated[0].all()
    assert not np.isnan(got.log_losses).any()


# --- other models, sizes and messages --------------------------------------------------------


def test_other_models_can_be_compared_and_stay_unfitted():
    models = GaussianClassifier("full"), LogisticRegression(C=0.5)
    got = compare_generative_discriminative(X, Y, sizes=[50], n_repeats=2, models=models)
    assert got.names == ("GaussianClassifier", "LogisticRegression")
    assert not hasattr(models[0], "classes_")
    assert not hasattr(models[1], "classes_")
    assert np.isnan(got.agreement).all()
    assert not got.separated.any()
    assert "nan" in repr(got)


def test_logistic_against_itself_agrees_entirely():
    models = LogisticClassifier(penalty="l2"), LogisticClassifier(penalty="l2")
    got = compare_generative_discriminative(X, Y, sizes=[50, 100], n_repeats=2, models=models)
    np.testing.assert_array_equal(got.log_losses[0], got.log_losses[1])
    np.testing.assert_allclose(got.agreement, 1, rtol=1e-12)


def test_by_default_eight_sizes_grow_to_all_rows():
    got = compare_generative_discriminative(X, Y, n_repeats=1, random_state=0)
    assert len(got.sizes) == 8
    assert got.sizes[-1] == 210
    assert (np.diff(got.sizes) > 0).all()
    assert got.sizes[0] == 4
    ratios = got.sizes[1:] / got.sizes[:-1]
    assert ratios.max() / ratios.min() < 1.4


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_test_share_is_kept(share):
    got = compare_generative_discriminative(X, Y, n_repeats=1, test_share=share, random_state=0)
    assert got.sizes[-1] == 300 - round(share * 300)


def test_progress_is_told_after_each_repeat():
    told = []
    compare_generative_discriminative(
        X, Y, sizes=[20], n_repeats=4, progress=lambda done, of: told.append((done, of))
    )
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_the_table_has_a_line_per_size(curves):
    lines = repr(curves).splitlines()
    assert "6 repeats" in lines[0]
    assert len(lines) == 2 + 3
    assert lines[-1].split()[0] == "200"
    assert lines[-1].split()[1] == f"{curves.mean_log_losses[0, -1]:.4f}"
    assert lines[-1].split()[2] == f"{curves.mean_log_losses[1, -1]:.4f}"


@pytest.mark.parametrize(
    "sizes", [[3], [211], [], [0], [-5], [20.5], [True], ["20"], 5, 20.0], ids=repr
)
def test_impossible_sizes_are_refused(sizes):
    with pytest.raises(InputError, match="sizes of compare_generative_discriminative"):
        compare_generative_discriminative(X, Y, sizes=sizes, n_repeats=1)


@pytest.mark.parametrize(
    "models",
    [
        (GaussianNB(),),
        (GaussianNB(), GaussianNB(), GaussianNB()),
        (GaussianNB, GaussianNB),
        (GaussianNB(), SVC()),
        "ab",
        GaussianNB(),
    ],
    ids=["one", "three", "classes", "no probabilities", "text", "alone"],
)
def test_what_is_no_pair_of_models_is_refused(models):
    with pytest.raises(InputError, match="models of compare_generative_discriminative"):
        compare_generative_discriminative(X, Y, sizes=[20], n_repeats=1, models=models)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_repeats": 0}, "n_repeats"),
        ({"test_share": 0.0}, "test_share"),
        ({"test_share": 1.0}, "test_share"),
        ({"random_state": "x"}, "random_state"),
    ],
    ids=str,
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(InputError, match=f"{message} of compare_generative_discriminative"):
        compare_generative_discriminative(X, Y, **options)


def test_two_classes_with_rows_to_spare_are_needed():
    with pytest.raises(InputError, match="two classes or more"):
        compare_generative_discriminative(X, np.zeros(300))
    with pytest.raises(InputError, match="two training rows of each"):
        compare_generative_discriminative(X[:4], [0, 0, 1, 1])
    rare = np.append(np.zeros(298), [1, 1])
    with pytest.raises(InputError, match="two training rows of each"):
        compare_generative_discriminative(X, rare)


def test_missing_values_and_wrong_lengths_are_refused():
    holes = X.copy()
    holes[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        compare_generative_discriminative(holes, Y)
    with pytest.raises(ValueError, match="inconsistent"):
        compare_generative_discriminative(X, Y[:7])
