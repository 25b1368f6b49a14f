"""Numbers in cells, and the choice between cells and a Gaussian, by ``NaiveBayes``."""

import json
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import integrate
from tests.oracles import histograms as oracle

import credo
from credo.exceptions import FileFormatError, InputError
from credo.storage import pack, unpack

Histogram = credo.families.Histogram


def cells_of(model, X):
    """The cell of each row of the first column."""
    return model.sufficient_statistics(X).argmax(axis=1)


def mixed(rng, n=60, n_classes=3):
    """Columns of all shapes, and labels."""
    y = rng.integers(0, n_classes, n)
    return (
        np.column_stack(
            [
                rng.normal(y, 1.0),
                np.exp(rng.normal(y, 1.5)),
                np.where(rng.random(n) < 0.7, 0.0, rng.exponential(1.0 + y)),
                rng.normal(np.where(rng.random(n) < 0.5, -2 * y, 2 * y), 0.3),
                np.round(rng.normal(0, 2, n)),
                rng.uniform(0, 1, n) ** (1 + y),
                rng.standard_t(1.5, n) + y,
            ]
        ),
        y,
    )


# --- cuts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_mdl_cells_are_those_of_fayyad_and_irani(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 150))
    y = rng.integers(0, 2 + seed % 3, n)
    x = np.round(np.where(y == 1, rng.normal(3, 1, n), rng.normal(0, 2, n)), seed % 2)
    cuts = oracle.mdl_cuts(x.tolist(), y.tolist())
    model = credo.NaiveBayes("histogram", cells="mdl").fit(x[:, None], y)
    expected = [oracle.cell_of(v, cuts) for v in x]
    assert cells_of(model, x[:, None]).tolist() == expected
    assert model.n_parameters_ == len(model.classes_) * (1 + len(cuts))


@pytest.mark.parametrize("cells", [1, 3, 10])
def test_equal_cells_are_shared_by_all_classes_and_never_split_ties(cells):
    rng = np.random.default_rng(cells)
    x, y = np.round(rng.exponential(2, 150), 1), rng.integers(0, 3, 150)
    cuts = oracle.equal_cuts(x.tolist(), cells)
    model = credo.NaiveBayes("histogram", cells=cells).fit(x[:, None], y)
    new = np.r_[x, -5.0, 99.0]
    assert cells_of(model, new[:, None]).tolist() == [oracle.cell_of(v, cuts) for v in new]


def test_rare_values_of_a_column_of_zeros_have_a_cell_of_their_own():
    x = np.r_[np.zeros(990), np.full(10, 7.0)]
    model = credo.NaiveBayes("histogram").fit(x[:, None], np.arange(1000) >= 985)
    assert set(cells_of(model, [[0.0], [3.4]])) == {0}
    assert set(cells_of(model, [[3.6], [7.0], [99.0]])) == {1}


def test_cells_are_ten_up_to_ten_thousand_rows_and_by_description_length_above():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 10_001)
    X = rng.normal(y, 1)[:, None].round(2)
    for n, like in ((10_000, 10), (10_001, "mdl")):
        found = credo.NaiveBayes("histogram").fit(X[:n], y[:n])
        wanted = credo.NaiveBayes("histogram", cells=like).fit(X[:n], y[:n])
        np.testing.assert_array_equal(found.predict_proba(X), wanted.predict_proba(X))


# --- probabilities --------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["uniform", "marginal"])
def test_cells_are_smoothed_as_categories_are(target):
    rng = np.random.default_rng(4)
    X, y = mixed(rng)
    cells = np.searchsorted(oracle.equal_cuts(X[:, 1].tolist(), 6), X[:, 1])
    how = {"smoothing": 0.7, "smoothing_target": target}
    model = credo.NaiveBayes("histogram", cells=6, **how).fit(X[:, [1]], y)
    peer = credo.NaiveBayes(unknown="ignore", **how).fit([[f"c{c}"] for c in cells], y)
    expected = peer.predict_proba([[f"c{c}"] for c in cells])
    np.testing.assert_allclose(model.predict_proba(X[:, [1]]), expected, rtol=1e-12)


def test_what_is_beyond_the_seen_range_is_in_the_end_cell_and_missing_is_skipped():
    X, y = mixed(np.random.default_rng(5))
    model = credo.NaiveBayes("histogram").fit(X, y)
    low, high = X.min(axis=0), X.max(axis=0)
    ends = model.predict_proba([low, high])
    np.testing.assert_array_equal(model.predict_proba([low - 1e6, high + 1e6]), ends)
    assert np.isfinite(model.log_density([low - 1e6, high + 1e6])).all()
    gone = np.array([low, high])
    gone[:, 2] = np.nan
    others = [j for j in range(7) if j != 2]
    alone = credo.NaiveBayes("histogram").fit(X[:, others], y)
    np.testing.assert_allclose(model.log_joint(gone), alone.log_joint([low[others], high[others]]))
    gone[1, 2] = np.inf
    with pytest.raises(InputError, match="other than infinity.* in row 1, column 2"):
        model.predict(gone)
    with pytest.raises(InputError, match="other than infinity.* in row 0, column 0"):
        credo.NaiveBayes("histogram").fit([[-np.inf], [1.0]], [0, 1])


@pytest.mark.parametrize("column", range(7))
@pytest.mark.parametrize("cells", [1, 2, 10])
def test_densities_integrate_to_one(column, cells):
    X, y = mixed(np.random.default_rng(6))
    x = X[:, column]
    model = credo.NaiveBayes("histogram", cells=cells).fit(x[:, None], y)
    cuts = oracle.equal_cuts(x.tolist(), cells) or [float(x.mean())]
    far = np.ptp(x) * np.geomspace(1e-4, 60, 12)
    steps = np.unique(np.concatenate([x.min() - far, x, cuts, x.max() + far]))

    def density(v):
        return np.exp(model.log_density([[v]])[0])

    parts = [integrate.quad(density, a, b)[0] for a, b in pairwise(steps)]
    assert sum(parts) == pytest.approx(1.0, abs=1e-6)


def test_explanations_samples_and_weights_agree_with_the_posterior():
    X, y = mixed(np.random.default_rng(7), 300)
    model = credo.NaiveBayes("histogram").fit(X, y)
    row = X[3]
    found = model.explain(row, 0, 2)
    logs = model.predict_log_proba([row])[0]
    assert found.log_odds == pytest.approx(logs[0] - logs[2])
    w, offset = model.log_odds_weights(0, 2)
    linear = model.sufficient_statistics(X) @ w + offset
    logs = model.predict_log_proba(X)
    np.testing.assert_allclose(linear, logs[:, 0] - logs[:, 2], rtol=1e-9, atol=1e-9)
    names = model.log_odds_weights(0, 2).statistics
    assert names[0].startswith("[x0 < ")
    assert " ≤ x0 < " in names[1]
    drawn, labels = model.sample(20_000, 1)
    again = credo.NaiveBayes("histogram").fit(X, y)
    for k in range(3):
        shares = model.sufficient_statistics(drawn[labels == k]).mean(axis=0)
        expected = np.exp(np.concatenate([t.family.natural_parameters[k, 0] for t in again._terms]))
        np.testing.assert_allclose(shares, expected, atol=0.03)


def test_a_constant_column_one_class_and_a_column_without_values_add_nothing():
    X = np.column_stack([np.full(6, 3.25), [1, 2, 3, 4, 5, 6.0], np.full(6, np.nan)])
    y = [0, 0, 0, 1, 1, 1]
    model = credo.NaiveBayes("histogram").fit(X, y)
    alone = credo.NaiveBayes("histogram").fit(X[:, [1]], y)
    np.testing.assert_allclose(model.log_joint(X), alone.log_joint(X[:, [1]]))
    drawn, _ = model.sample(5, 0)
    assert (drawn[:, 0] == 3.25).all()
    assert np.isnan(drawn[:, 2]).all()
    assert credo.NaiveBayes().fit(X, y).constant_features_.tolist() == [True, False, True]
    single = credo.NaiveBayes("histogram").fit(X[:, :2], ["a"] * 6)
    assert single.predict_proba(X[:, :2]).tolist() == [[1.0]] * 6
    assert set(credo.NaiveBayes().fit(X[:, :2], ["a"] * 6).families_.values()) == {"gaussian"}


# --- the choice -----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["uniform", "marginal"])
@pytest.mark.parametrize("seed", range(4))
def test_the_family_is_chosen_as_by_fitting_again_without_each_row(seed, target):
    X, y = mixed(np.random.default_rng(seed), 50 + 10 * seed, 2 + seed % 2)
    model = credo.NaiveBayes(cells=5, smoothing_target=target).fit(X, y)
    chosen = set()
    for j in range(X.shape[1]):
        cuts = oracle.equal_cuts(X[:, j].tolist(), 5)
        gaussian, histogram = oracle.left_out_losses(X[:, j], y, cuts, target=target)
        expected = "histogram" if histogram < gaussian else "gaussian"
        assert model.families_[j] == expected, (j, gaussian, histogram)
        chosen.add(expected)
    assert chosen == {"gaussian", "histogram"}


def test_cells_are_not_taken_with_as_many_probabilities_as_rows():
    x, y = np.array([0.0, 0.1, 0.2, 900.0, 1000, 1100, 0, 0.1]), [0, 0, 1, 1, 0, 1, 1, 0]
    for n, family in ((8, "gaussian"), (80, "histogram")):
        rows = np.tile(x, n // 8)[:, None]
        model = credo.NaiveBayes(cells=4).fit(rows, np.tile(y, n // 8))
        assert model.families_ == {0: family}


def test_the_model_says_what_was_chosen():
    rng = np.random.default_rng(8)
    y = rng.integers(0, 2, 400)
    frame = pd.DataFrame(
        {"height": rng.normal(y, 1.0), "bytes": np.exp(rng.normal(y, 3.0)), "flag": y % 2}
    )
    model = credo.NaiveBayes().fit(frame, y)
    assert model.families_ == {"height": "gaussian", "bytes": "histogram", "flag": "bernoulli"}
    assert repr(model) == "NaiveBayes() with gaussian height; histogram bytes; bernoulli flag"
    named = credo.NaiveBayes({"bytes": Histogram, "height": "gaussian"}).fit(frame, y)
    np.testing.assert_allclose(model.predict_proba(frame), named.predict_proba(frame), rtol=1e-12)
    drawn, _ = model.sample(5, 0)
    assert list(drawn.columns) == list(frame.columns)
    with pytest.raises(InputError, match="'bytes' was learned as 'auto'.*'gaussian'"):
        model.set_params(families={"bytes": "gaussian"}).partial_fit(frame, y)


def test_too_many_points_leave_the_gaussian(monkeypatch):
    monkeypatch.setattr("credo.families.histogram._MOST_WEIGHTS", 1500)
    X, y = mixed(np.random.default_rng(9), 200, 2)
    model = credo.NaiveBayes().fit(X, y)
    assert set(model.families_.values()) == {"gaussian"}
    peer = credo.NaiveBayes("gaussian").fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), peer.predict_proba(X))
    few = credo.NaiveBayes().partial_fit(X[:60], y[:60])
    assert len(few.summary_.parts[0].summary.points) == 7
    assert few.partial_fit(X[60:], y[60:]).summary_.parts[0].summary.points == ()


@pytest.mark.parametrize("cells", [0, 1.5, True, "many", None])
def test_cells_are_a_number_or_a_word(cells):
    with pytest.raises(InputError, match="cells"):
        credo.NaiveBayes(cells=cells).fit([[1.0], [2.0]], [0, 1])


@pytest.mark.filterwarnings("ignore::credo.exceptions.SingularWarning")  # of the Gaussians
def test_attacks_on_a_network_cost_far_less_than_with_gaussians():
    """Every 25th row of KDD-99's tenth, half of them to test, under the costs of the contest."""
    beside = Path(__file__).parents[4] / "shared" / "data"
    folder = Path(os.environ.get("CREDO_DATA", beside)) / "tabular"
    if not (folder / "kddcup99_10pct.gz").exists():
        pytest.skip("the table is not here")
    table = pd.read_csv(folder / "kddcup99_10pct.gz", header=None)[::25]
    info = json.loads((folder / "cost_matrices.json").read_text())["kddcup99"]
    groups = ["normal", "probe", "dos", "u2r", "r2l"]
    names = {label: group for group, each in info["label_to_category"].items() for label in each}
    truth = table.pop(41).str.rstrip(".").map(names).to_numpy()
    kept = table[::2]  # what is 0 or 1 there would be Bernoulli
    numbers = [j for j in kept if kept[j].dtype.kind in "if" and kept[j].nunique() > 2]
    table = table.drop(columns=[j for j in table.columns if j not in (1, 2, 3, *numbers)])
    matrix, codes = np.asarray(info["matrix"]), [groups.index(each) for each in truth[1::2]]
    costs = []
    for families in ("auto", dict.fromkeys(numbers, "gaussian")):
        model = credo.NaiveBayes(families, unknown="ignore").fit(table[::2], truth[::2])
        seen = [groups.index(label) for label in model.classes_]
        shown = np.zeros((len(table[1::2]), 5))
        shown[:, seen] = model.predict_proba(table[1::2])
        costs.append(matrix[codes, (shown @ matrix).argmin(axis=1)].mean())
    assert costs[0] < costs[1] / 2


# --- doors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("families", ["auto", "histogram"])
@pytest.mark.parametrize("digits", [1, 12])
def test_every_door_gives_the_same_model(families, digits):
    """Also above 4096 distinct values, where points are no longer the values."""
    rng = np.random.default_rng(10)
    X, y = mixed(rng, 9000, 3)
    X = np.round(X, digits)
    X[rng.random(X.shape) < 0.1] = np.nan
    names = [f"c{j}" for j in range(7)]
    frame = pd.DataFrame(X, columns=names).assign(y=np.array(list("abc"))[y])
    whole = credo.NaiveBayes(families).fit(frame[names], frame.y)
    stream, parts = credo.NaiveBayes(families), []
    ordered = frame.sort_values("y", kind="stable")
    for start, stop in ((0, 5), (5, 2000), (2000, 7001), (7001, 9000)):
        part = ordered.iloc[start:stop]
        stream.partial_fit(part[names], part.y)
        parts.append(credo.NaiveBayes(families).fit(part[names], part.y))
    merged = parts[3].merge(parts[1]).merge(parts[0].merge(parts[2]))
    table = pa.Table.from_pandas(frame, preserve_index=False)
    batches = pa.Table.from_batches(table.to_batches(max_chunksize=700))
    stored = unpack(pack(whole))
    for other in (
        stream,
        merged,
        stored,
        credo.fit_table(credo.NaiveBayes(families), batches, "y"),
    ):
        assert other.families_ == whole.families_
        np.testing.assert_allclose(
            other.log_joint(frame[names]), whole.log_joint(frame[names]), rtol=1e-9
        )
    assert whole.predict_proba(frame[names]).tolist() == stored.predict_proba(frame[names]).tolist()


@pytest.mark.parametrize("families", ["auto", "histogram"])
def test_a_weight_of_two_is_the_row_twice(families):
    rng = np.random.default_rng(11)
    X, y = mixed(rng, 200)
    times = rng.integers(0, 4, 200)
    weighted = credo.NaiveBayes(families).fit(X, y, times)
    repeated = credo.NaiveBayes(families).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.families_ == repeated.families_
    np.testing.assert_allclose(weighted.log_joint(X), repeated.log_joint(X), rtol=1e-9)


def test_float32_rows_and_minus_zero_are_the_numbers_that_they_are():
    X, y = mixed(np.random.default_rng(12), 300)
    small = X.astype(np.float32)
    one = credo.NaiveBayes().fit(small, y)
    two = credo.NaiveBayes().fit(small.astype(np.float64), y)
    np.testing.assert_array_equal(one.predict_proba(small), two.predict_proba(small))
    zeros = np.where(X == 0, -0.0, X)
    same = credo.NaiveBayes("histogram").fit(np.r_[X, zeros], np.r_[y, y])
    twice = credo.NaiveBayes("histogram").fit(np.r_[X, X], np.r_[y, y])
    np.testing.assert_array_equal(same.predict_proba(zeros), twice.predict_proba(X))


def test_points_are_exact_up_to_4096_values_and_few_bits_less_above():
    rng = np.random.default_rng(13)
    for n, exact in ((4096, True), (4097, False)):
        x = np.r_[-rng.permutation(n // 2) - 1.0, rng.permutation(n - n // 2)]
        summary = credo.NaiveBayes("histogram").fit(x[:, None], np.arange(n) % 2).summary_
        found = summary.parts[0].summary
        assert (found.points.tolist() == np.sort(x).tolist()) is exact
        assert found.weights.sum(axis=1).tolist() == [(n + 1) // 2, n // 2]
        assert len(found.points) <= 4096
    # Nine bits behind the first tell whole numbers below 1024 apart, and pairs of larger ones.
    assert found.dropped == 52 - 9
    near = np.trunc(found.points[np.abs(found.points) < 1024])
    assert near.tolist() == list(range(-1023, 1024))
    assert set(np.diff(found.points[found.points > 1024])) <= {2.0, 3.0}


def test_a_model_of_many_rows_is_small():
    sizes = []
    for n in (20_000, 80_000):
        X = np.random.default_rng(14).normal(size=(n, 2))
        sizes.append(len(pack(credo.NaiveBayes().fit(X, np.arange(n) % 2))))
    assert max(sizes) < 2 * 4096 * 8 * (1 + 2) + 20_000


@pytest.mark.parametrize(
    "forged",
    [
        lambda s: replace(s, points=s.points[::-1].copy()),
        lambda s: replace(s, points=np.zeros_like(s.points)),
        lambda s: replace(s, weights=0 * s.weights),
        lambda s: replace(s, dropped=63),
        lambda s: replace(s, dropped=-1),
    ],
    ids=["disorder", "equal", "weightless", "all bits", "fewer bits"],
)
def test_forged_points_are_refused(forged):
    X, y = mixed(np.random.default_rng(15))
    model = credo.NaiveBayes("histogram").fit(X[:, :1], y)
    part = model.summary_.parts[0]
    summary = replace(model.summary_, parts=(replace(part, summary=forged(part.summary)),))
    with pytest.raises(FileFormatError, match="not those of any rows|whole number from 0"):
        unpack(pack(summary))


def test_points_of_other_rows_than_the_moments_are_refused():
    X, y = mixed(np.random.default_rng(16))
    model = credo.NaiveBayes().fit(X, y)
    part = model.summary_.parts[0]
    heavier = replace(part.summary.points[0], weights=2 * part.summary.points[0].weights)
    for points in (part.summary.points[:3], (heavier, *part.summary.points[1:])):
        wrong = replace(part, summary=replace(part.summary, points=points))
        with pytest.raises(FileFormatError, match="are of different rows"):
            unpack(pack(replace(model.summary_, parts=(wrong,))))
