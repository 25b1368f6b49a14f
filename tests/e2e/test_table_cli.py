"""Tables from the command line: fit, predict, update, merge, evaluate, show."""

import csv
import gzip
import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from pyarrow import feather, parquet
from sklearn.linear_model import LogisticRegression
from tests.oracles import logistic as oracle

import credo as library
from credo import DecisionClassifier, GaussianClassifier, Loss, NaiveBayes
from credo.cli import _console
from credo.storage import load, save
from credo.tables import evaluate_table

NUMBERS = ("--features", "age,income")


def people(n, seed):
    """Draw a table with columns of all kinds."""
    rng = np.random.default_rng(seed)
    bad = rng.random(n) < 0.4
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "age": np.rint(rng.normal(np.where(bad, 30, 45), 9)),
            "income": np.rint(100 * rng.gamma(np.where(bad, 2, 4), 8)) / 100,
            "loans": rng.poisson(np.where(bad, 2, 1)),
            "home": rng.choice(["own", "rent", "free"], n),
            "member": rng.random(n) < np.where(bad, 0.3, 0.6),
            "w": rng.integers(0, 3, n),
            "outcome": np.where(bad, "bad", "good"),
        }
    )


@pytest.fixture
def folder(folder):
    for name, n, seed in (("train", 300, 0), ("more", 100, 1), ("test", 120, 2)):
        people(n, seed).to_csv(folder / f"{name}.csv", index=False)
    (folder / "loss.csv").write_text("truth,grant,refuse\ngood,0,1\nbad,5,0\n")
    return folder


@pytest.fixture
def fit(credo):
    """Fit to train.csv, all columns that mean something by default; return the model."""

    def run(*arguments, tables=("train.csv",), out="m.credo", model="naive-bayes"):
        base = ("--target", "outcome", "--model", model, "--out", out)
        chosen = () if "--features" in arguments or "--drop" in arguments else ("--drop", "id,w")
        code, _, err = credo("fit", *tables, *base, *chosen, *arguments)
        assert code == 0, err
        return load(out)

    return run


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def assert_alike(found, expected, rtol=1e-9):
    """Two models give new rows the same probabilities."""
    rows = people(120, 2)[list(expected.feature_names_in_)]
    np.testing.assert_allclose(found.predict_proba(rows), expected.predict_proba(rows), rtol=rtol)


# --- fit ------------------------------------------------------------------------------------------


def test_a_fit_is_that_of_the_library_and_tells_from_how_much(credo, monkeypatch):
    monkeypatch.setattr(_console, "_PATIENCE", 60.0)  # of a longer wait the seconds are told too
    arguments = ("fit", "train.csv", "--target", "outcome", "--drop", "id,w", "--out", "m.credo")
    code, out, err = credo(*arguments, "--model", "naive-bayes")
    counts = people(300, 0).outcome.value_counts()
    told = f"bad {counts['bad']}, good {counts['good']}"
    assert (code, err) == (0, "")
    assert out == f"m.credo: NaiveBayes, 300 rows, 5 features, 2 classes: {told}\n"
    frame = people(300, 0).drop(columns=["id", "w"])
    expected = NaiveBayes().fit(frame.drop(columns="outcome"), frame.outcome)
    assert_alike(load("m.credo"), expected, rtol=1e-12)
    assert credo(*arguments, "--model", "naive-bayes", "--quiet") == (0, "", "")
    found = json.loads(credo(*arguments, "--model", "logistic", "--json")[1])
    assert (found["rows"], found["features"]) == (300, ["age", "income", "loans", "home", "member"])
    assert (found["classes"], found["class_weights"]) == (["bad", "good"], None)
    assert found["bytes"] == Path("m.credo").stat().st_size
    assert min(found["seconds"], found["rows_per_second"]) > 0
    expected = [*("age", "income", "loans", "home=own", "home=rent", "member")]
    assert list(load("m.credo").coefficient_names_) == expected


@pytest.mark.parametrize(
    ("model", "options", "expected"),
    [
        ("naive-bayes", "--smoothing 0.5", {"smoothing": 0.5}),
        ("naive-bayes", "--smoothing auto", {"smoothing": "auto"}),
        (
            "naive-bayes",
            "--families loans=poisson,income=gamma",
            {"families": {"loans": "poisson", "income": "gamma"}},
        ),
        ("gaussian", "--covariance tied --shrinkage 0.2", {"covariance": "tied", "shrinkage": 0.2}),
        ("gaussian", "--shrinkage 0 --priors uniform", {"shrinkage": 0, "priors": "uniform"}),
        ("gaussian", "--shrinkage oas", {"shrinkage": "oas"}),
        ("logistic", "--penalty l2 --strength 3", {"penalty": "l2", "strength": 3.0}),
        ("logistic", "--penalty none", {"penalty": None}),
        (
            "logistic",
            "--penalty elasticnet --l1-ratio 0.2 --missing-cells indicator",
            {"penalty": "elasticnet", "l1_ratio": 0.2, "missing_cells": "indicator"},
        ),
    ],
)
def test_options_reach_the_models(fit, model, options, expected):
    found = fit("--features", "age,income,loans", *options.split(), model=model).get_params()
    assert {name: found[name] for name in expected} == expected


def test_logistic_regression_takes_missing_cells_and_new_categories_of_a_file(folder, credo):
    rows = [["5", "rent", "no"], ["", "own", "yes"], ["7", "", "yes"], ["6", "rent", "yes"]]
    rows = [["3", "own", "no"], *rows, ["", "rent", "no"]] * 3
    lines = ["age,home,paid", *(",".join(row) for row in rows)]
    (folder / "loans.csv").write_text("\n".join(lines) + "\n")
    fit = "fit", "loans.csv", "--target", "paid", "--model", "logistic", "--out", "m.credo"
    fit = *fit, "--penalty", "l2"
    code, _, err = credo(*fit)
    assert (code, "--missing-cells indicator" in err) == (2, True)
    assert credo(*fit, "--missing-cells", "indicator")[0] == 0
    (folder / "new.csv").write_text("age,home\n4,boat\n,own\n9,barge\n")
    code, out, err = credo("predict", "m.credo", "new.csv")
    assert code == 0
    told = "credo: warning: LogisticClassifier: column 'home' has 'boat', which fit has not seen."
    assert told in err
    assert err.count("column 'home'") == 1
    found = [float(row["p_yes"]) for row in rows_of(out)]
    cells = [[float(row[0]) if row[0] else None, row[1] or None] for row in rows]
    by_hand = LogisticRegression(tol=1e-10, max_iter=1000)
    by_hand.fit(oracle.coded(cells, cells), [row[2] for row in rows])
    new = oracle.coded([[4.0, "boat"], [None, "own"], [9.0, "barge"]], cells)
    np.testing.assert_allclose(found, by_hand.predict_proba(new)[:, 1], atol=1e-6)


def test_a_target_that_is_a_number_is_predicted(credo):
    base = ("fit", "train.csv", "--target", "income", "--model", "regression", "--features", "age")
    told = (0, "r.credo: GaussianRegressor, 300 rows, 1 feature\n", "")
    assert credo(*base, "--out", "r.credo") == told
    code, out, err = credo("predict", "r.credo", "test.csv")
    found = [float(row["mean"]) for row in rows_of(out)]
    assert (code, err) == (0, "120 rows\n")
    np.testing.assert_allclose(found, load("r.credo").predict(people(120, 2)[["age"]]))
    for command in ((*base, "--out", "s.credo"), ("predict", "r.credo", "test.csv")):
        code, _, err = credo(*command, "--reject", "0.2")
        assert (code, "for classes, and a GaussianRegressor predicts numbers" in err) == (2, True)
    assert "needs a classifier" in credo("evaluate", "r.credo", "test.csv")[2]


def test_documents_are_learned_from(folder, fit):
    texts = ["cheap pills", "meeting at noon", "cheap watches", "notes of the meeting"]
    frame = pd.DataFrame({"text": texts, "outcome": ["spam", "ham", "spam", "ham"]})
    frame.to_csv(folder / "mail.csv", index=False)
    found = fit("--features", "text", tables=["mail.csv"], model="text")
    assert found.predict(["cheap meeting pills"]).tolist() == ["spam"]


def test_weights_count_as_repeated_rows(fit):
    weighted, frame = fit("--weight", "w", "--drop", "id"), people(300, 0)
    again = frame.loc[frame.index.repeat(frame.w)].drop(columns=["id", "w"])
    assert weighted.summary_.weights.sum() == len(again)
    assert_alike(weighted, NaiveBayes().fit(again.drop(columns="outcome"), again.outcome))


def test_words_for_missing_cells_are_remembered(folder, fit, credo):
    frame = people(60, 3).astype({"age": object})
    frame.loc[::7, "age"] = "?"
    frame.to_csv(folder / "gaps.csv", index=False)
    assert fit("--missing", "?", tables=["gaps.csv"]).schema_.missing == ("?",)
    code, out, err = credo("predict", "m.credo", "gaps.csv")
    assert (code, len(rows_of(out))) == (0, 60), err


def test_marks_of_missing_cells_are_told(folder, credo):
    frame = people(60, 3).astype({"age": object})
    frame.loc[::7, "age"] = "?"
    frame.loc[::20, "home"] = "?"
    frame.to_csv(folder / "gaps.csv", index=False)
    command = ("--target", "outcome", "--model", "naive-bayes", "--out", "m.credo", "--quiet")
    code, _, err = credo("fit", "gaps.csv", *command)
    assert code == 0
    assert "warning: gaps.csv: column 'age' has '?' 9 times among numbers: taken as missing" in err
    assert "column 'home' has '?' 3 times, taken as a category. If it means missing, pass " in err
    assert err.endswith("pass --missing '?'.\n")
    assert credo("fit", "gaps.csv", *command, "--missing", "?")[2] == ""


@pytest.mark.parametrize("shape", ["several files", "a folder", "Parquet", "gzip", "Feather"])
def test_rows_come_from_any_kind_of_file(shape, folder, fit):
    frame = people(300, 0)
    if shape in {"several files", "a folder"}:
        (folder / "parts").mkdir()
        tables = [folder / "parts" / name for name in ("a.csv", "b.csv")]
        frame[:170].to_csv(tables[0], index=False)
        frame[170:].to_csv(tables[1], index=False)
        tables = [folder / "parts"] if shape == "a folder" else tables
    elif shape == "Parquet":
        tables = ["rows.parquet"]
        parquet.write_table(pa.Table.from_pandas(frame), tables[0])
    elif shape == "Feather":
        tables = ["rows.feather"]
        feather.write_feather(pa.Table.from_pandas(frame), tables[0])
    else:
        tables = ["rows.csv.gz"]
        (folder / tables[0]).write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    assert_alike(fit(tables=tables), fit())


def test_a_loss_makes_a_model_that_decides(fit):
    found = fit("--loss", "loss.csv", "--reject", "0.5")
    assert isinstance(found, DecisionClassifier)
    assert (found.loss.acts, found.loss.reject) == (("grant", "refuse", "reject"), "reject")
    assert set(found.predict(people(120, 2)[list(found.schema_.names)])) <= set(found.loss.acts)
    alone = fit("--reject", "0.2").loss
    assert (alone.acts, alone["bad", "good"]) == (("bad", "good", "reject"), 1)


def test_names_in_a_loss_match_labels_that_are_numbers(folder, fit, credo):
    frame = people(200, 3).assign(outcome=lambda f: np.where(f.outcome == "bad", 2, 1))
    frame.to_csv(folder / "numbers.csv", index=False)
    (folder / "numbers_loss.csv").write_text("truth,1,2\n1,0,1\n2,5,0\n")
    assert fit("--loss", "numbers_loss.csv", tables=["numbers.csv"]).loss.truths == (1, 2)
    for command in ("predict", "evaluate"):
        code, _, err = credo(command, "m.credo", "numbers.csv", "--loss", "numbers_loss.csv")
        assert code == 0, err
    code, out, err = credo("predict", "m.credo", "numbers.csv", "--reject", "0.3")
    acts = [row["act"] for row in rows_of(out)]
    assert code == 0, err
    assert err.startswith(f"200 rows: 1 {acts.count('1')}, 2 {acts.count('2')}, reject ")


def test_warnings_are_sentences_that_speak_of_options(folder, credo):
    frame = people(40, 0).assign(told=lambda f: (f.outcome == "bad").astype(int))
    frame.to_csv(folder / "told.csv", index=False)
    fit = ("fit", "told.csv", "--target", "outcome", "--out", "m.credo", "--features", "age,told")
    code, _, err = credo(*fit, "--model", "logistic")
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith("credo: warning: LogisticClassifier: ")
    assert "--penalty l2" in err
    assert "=" not in err


def test_without_a_summary_a_model_cannot_learn_more(fit, credo):
    assert fit(*NUMBERS, model="gaussian").summary_ is not None
    small = fit(*NUMBERS, "--no-summary", model="gaussian")
    assert getattr(small, "summary_", None) is None
    assert credo("predict", "m.credo", "test.csv")[0] == 0
    code, _, err = credo("update", "m.credo", "more.csv")
    assert (code, "credo: the GaussianClassifier keeps no summary" in err) == (2, True)
    assert "\nsummary     none\n" in credo("show", "m.credo")[1]


# --- predict --------------------------------------------------------------------------------------


def test_scores_go_to_the_terminal_and_the_summary_beside(fit, credo):
    model = fit("--loss", "loss.csv")
    code, out, err = credo("predict", "m.credo", "test.csv", "--keep", "id", "--out", "-")
    expected = library.predict_table(model, "test.csv", keep=["id"])
    rows = rows_of(out)
    acts = [row["act"] for row in rows]
    assert code == 0
    assert list(rows[0]) == expected.column_names
    assert acts == expected["act"].to_pylist()
    for name in ("p_bad", "expected_loss", "log_density"):
        found = [float(row[name]) for row in rows]
        np.testing.assert_allclose(found, expected[name].to_numpy(), rtol=1e-12)
    risk = expected["expected_loss"].to_numpy().mean()
    told = f"120 rows: grant {acts.count('grant')}, refuse {acts.count('refuse')}"
    assert err == f"{told}; mean risk {risk:.6g}\n"


@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz", "arrow", "feather"])
def test_scores_go_to_a_file_of_any_kind(ending, folder, fit, credo):
    model = fit()
    place = folder / f"scored.{ending}"
    code, out, _ = credo("predict", "m.credo", "test.csv", "--out", place, "--json")
    summary = json.loads(out)
    expected = library.predict_table(model, "test.csv")
    if ending == "csv.gz":
        found = arrow_csv.read_csv(pa.BufferReader(gzip.decompress(place.read_bytes())))
    else:
        read = {"parquet": parquet.read_table, "csv": arrow_csv.read_csv}
        found = read.get(ending, feather.read_table)(str(place))
    assert (code, summary["rows"], summary["out"]) == (0, found.num_rows, str(place))
    assert sum(summary["acts"].values()) == 120
    assert summary["mean_risk"] == pytest.approx(expected["expected_loss"].to_numpy().mean())
    np.testing.assert_allclose(found["p_bad"].to_numpy(), expected["p_bad"].to_numpy())


def test_columns_may_be_reordered_and_more_and_the_target_may_lack(folder, fit, credo):
    fit()
    plain = credo("predict", "m.credo", "test.csv")[1]
    odd = people(120, 2).iloc[:, ::-1].drop(columns="outcome").assign(note="x")
    odd.to_csv(folder / "odd.csv", index=False)
    assert credo("predict", "m.credo", "odd.csv")[1] == plain
    (folder / "none.csv").write_text("age,income,loans,home,member\n")
    code, out, err = credo("predict", "m.credo", "none.csv")
    assert (code, err, rows_of(out)) == (0, "0 rows: bad 0, good 0\n", [])
    assert out.startswith('"p_bad"')


def test_another_loss_overrides_that_of_the_model(fit, credo):
    fit("--loss", "loss.csv")
    rows = rows_of(credo("predict", "m.credo", "test.csv", "--reject", "0.01")[1])
    assert {row["act"] for row in rows} >= {"reject"}
    assert all((row["act"] == "reject") == (row["rejected"] == "true") for row in rows)
    Path("other.csv").write_text("truth,wait\ngood,0\nbad,0\n")
    rows = rows_of(credo("predict", "m.credo", "test.csv", "--loss", "other.csv")[1])
    assert {row["act"] for row in rows} == {"wait"}


# --- update and merge -----------------------------------------------------------------------------


def test_an_update_equals_one_fit_to_all_rows(folder, fit, credo):
    fit("--loss", "loss.csv")
    before = (folder / "m.credo").read_bytes()
    found = json.loads(credo("update", "m.credo", "more.csv", "--out", "n.credo", "--json")[1])
    assert (found["rows"], found["rows_added"], found["out"]) == (400, 100, "n.credo")
    assert (folder / "m.credo").read_bytes() == before
    code, out, err = credo("update", "m.credo", "more.csv")
    assert (code, err) == (0, "")
    assert out.startswith("m.credo: NaiveBayes, 400 rows, 5 features, 2 classes: bad ")
    whole = fit(tables=["train.csv", "more.csv"], out="whole.credo")
    for name in ("m.credo", "n.credo"):
        assert_alike(load(name).estimator_, whole)
        assert load(name).loss.acts == ("grant", "refuse")


def test_a_failed_update_leaves_the_model_as_it_was(folder, fit, credo):
    fit()
    before = (folder / "m.credo").read_bytes()
    text = (folder / "more.csv").read_text().splitlines()
    text[50] = text[50].replace(text[50].split(",")[1], "old", 1)
    (folder / "wrong.csv").write_text("\n".join(text))
    code, _, err = credo("update", "m.credo", "wrong.csv")
    assert (code, "wrong.csv, line 51" in err) == (2, True)
    assert (folder / "m.credo").read_bytes() == before
    assert not list(folder.glob(".credo-*"))


def test_merged_models_equal_one_fit_to_all_rows(folder, fit, credo):
    for part in range(3):
        people(300, 0)[part::3].to_csv(folder / f"part{part}.csv", index=False)
        fit(*NUMBERS, tables=[f"part{part}.csv"], out=f"{part}.credo", model="gaussian")
    code, out, _ = credo("merge", "0.credo", "1.credo", "2.credo", "--out", "all.credo")
    assert code == 0
    assert out.startswith("all.credo: GaussianClassifier, 300 rows, 2 features, 2 classes: ")
    whole, merged = fit(*NUMBERS, model="gaussian"), load("all.credo")
    np.testing.assert_allclose(merged.covariances_, whole.covariances_, rtol=1e-10)
    assert_alike(merged, whole)
    assert merged.schema_ == whole.schema_
    fit("--features", "age,loans", model="gaussian", out="b.credo")
    code, _, err = credo("merge", "0.credo", "b.credo", "--out", "c.credo")
    told = "needs the same columns in both. Only one of them has 'income', 'loans'."
    assert (code, err) == (2, f"credo: 0.credo and b.credo: credo merge {told}\n")
    assert "two or more" in credo("merge", "0.credo", "--out", "c.credo")[2]
    assert not (folder / "c.credo").exists()


# --- evaluate -------------------------------------------------------------------------------------


def test_an_evaluation_compares_ways_to_act(folder, fit, credo):
    model = fit("--loss", "loss.csv")
    code, out, err = credo("evaluate", "m.credo", "test.csv", "--report", "report.html")
    found = evaluate_table(model, "test.csv")
    assert (code, err) == (0, "")
    lines = {line[:24].strip(): line[24:].split() for line in out.splitlines()}
    assert float(lines["decisions of the model"][0]) == pytest.approx(found.mean_loss, rel=1e-3)
    plain = found.measures.most_probable
    assert float(lines["most probable class"][0]) == pytest.approx(plain.loss, rel=1e-3)
    more = [f"{abs(plain.saved):.4g}", "more" if plain.saved >= 0 else "less", "±"]
    assert lines["most probable class"][1:4] == more
    assert f"always {found.measures.constant.act}" in lines
    assert f"{100 * found.accuracy:.4g} %" in out
    assert "rejected" not in out
    assert out.endswith("\nThe page is in report.html.\n")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "refuse" in page


def test_an_evaluation_takes_a_loss_a_target_and_weights(folder, fit, credo):
    fit()
    code, out, _ = credo("evaluate", "m.credo", "test.csv", "--loss", "loss.csv", "--json")
    found = json.loads(out)
    assert (code, found["n_rows"], found["loss"]["matrix"]) == (0, 120, [[0, 1], [5, 0]])
    assert found["mean_loss"] <= found["alternatives"]["most_probable"]["loss"]
    rejecting = ("--loss", "loss.csv", "--reject", "0.05")
    assert "\nrejected " in credo("evaluate", "m.credo", "test.csv", *rejecting)[1]
    expected = credo("evaluate", "m.credo", "test.csv")[1]
    people(120, 2).rename(columns={"outcome": "seen"}).to_csv(folder / "late.csv", index=False)
    assert credo("evaluate", "m.credo", "late.csv", "--target", "seen")[1] == expected
    assert credo("evaluate", "m.credo", "late.csv")[0] == 2
    weighted = json.loads(credo("evaluate", "m.credo", "test.csv", "--weight", "w", "--json")[1])
    assert weighted["weight"] == "w"
    assert weighted["mean_loss"] != found["mean_loss"]


def test_labels_unseen_in_fit_are_counted(folder, fit, credo):
    fit()
    frame = people(120, 2)
    frame.loc[:6, "outcome"] = "fled"
    frame.to_csv(folder / "fled.csv", index=False)
    (folder / "wide.csv").write_text("truth,grant,refuse\ngood,0,1\nbad,5,0\nfled,9,0\n")
    code, out, err = credo("evaluate", "m.credo", "fled.csv")
    assert code == 0
    assert re.search("\nrows with labels unseen in fit +fled 7\n", out)
    assert "fled.csv has labels unseen in fit in 7 rows: 'fled' 7. They cost one each" in err
    found = json.loads(credo("evaluate", "m.credo", "fled.csv", "--loss", "wide.csv", "--json")[1])
    assert (found["n_rows"], found["n_left_out"], found["unseen"]) == (120, 0, {"fled": 7})
    acts = rows_of(credo("predict", "m.credo", "fled.csv", "--loss", "loss.csv")[1])
    cost = {"good": (0, 1), "bad": (5, 0), "fled": (9, 0)}
    pairs = zip(frame.outcome, acts, strict=True)
    costs = [cost[truth][row["act"] == "refuse"] for truth, row in pairs]
    assert found["mean_loss"] == pytest.approx(np.mean(costs))
    less = json.loads(credo("evaluate", "m.credo", "fled.csv", "--loss", "loss.csv", "--json")[1])
    assert (less["n_rows"], less["n_left_out"]) == (113, 7)
    assert less["mean_loss"] == pytest.approx(np.mean(costs[7:]))


def test_an_infinite_log_loss_is_told(folder, fit, credo):
    rows = [*zip("uuuvvv", "aaabbb", strict=True)]
    pd.DataFrame(rows, columns=["x", "outcome"]).to_csv(folder / "sure.csv", index=False)
    pd.DataFrame([("u", "b"), *rows], columns=["x", "outcome"]).to_csv("odd.csv", index=False)
    fit("--features", "x", "--smoothing", "0", tables=["sure.csv"])
    code, out, _ = credo("evaluate", "m.credo", "odd.csv")
    assert (code, "log loss" in out, "infinite" in out) == (0, True, True)


# --- show -----------------------------------------------------------------------------------------


def test_a_model_is_shown_with_its_columns_and_its_loss(folder, fit, credo):
    fit("--loss", "loss.csv", "--families", "loans=poisson")
    code, out, _ = credo("show", "m.credo")
    counts, size = people(300, 0).outcome.value_counts(), (folder / "m.credo").stat().st_size
    assert code == 0
    for part in (
        f"m.credo, {size} bytes, by credo {library.__version__}",
        "NaiveBayes",
        "smoothing=1.0",
        "outcome (text)",
        f"bad {counts['bad']}, good {counts['good']}",
        "kept; credo update and credo merge continue from it",
        "bad          5      0",
        "loans   number    poisson",
        "member  boolean   bernoulli",
    ):
        assert part in out, part


def test_a_model_in_json_has_all_of_it(fit, credo):
    fit("--features", "age,home", model="logistic")
    found = json.loads(credo("show", "m.credo", "--json")[1])
    home = {"name": "home", "kind": "category", "family": None}
    assert found["model"] == "LogisticClassifier"
    assert found["table"]["features"][1] == {**home, "categories": ["free", "own", "rent"]}
    assert (found["summary"], found["loss"], found["classes"]) == (False, None, ["bad", "good"])


def test_other_things_that_were_saved_are_shown(folder, credo):
    save(Loss.from_csv(folder / "loss.csv"), "loss.credo")
    save(GaussianClassifier().fit([[1.0], [2.0], [5.0], [6.0]], [0, 0, 1, 1]), "g.credo")
    assert "truth \\ act" in credo("show", "loss.credo")[1]
    assert "GaussianClassifier" in credo("show", "g.credo")[1]


# --- what goes wrong ------------------------------------------------------------------------------

FIT = "fit train.csv --target outcome --out x.credo --model"
NAIVE, GAUSSIAN = f"{FIT} naive-bayes", f"{FIT} gaussian"
ELSEWHERE = "fit train.csv --target outcome --model naive-bayes --out"
TABLE = "--target outcome --model naive-bayes --out x.credo"
WRONG = [
    (f"fit nowhere.csv {TABLE}", "nowhere.csv: No such file"),
    ("fit train.csv --target outcom --model text --out x.credo", "Did you mean 'outcome'?"),
    (f"{NAIVE} --features agee", "Did you mean 'age'?"),
    (f"{NAIVE} --drop idd", "Did you mean 'id'?"),
    (f"{NAIVE} --drop id,id", "--drop names 'id' twice"),
    (f"{NAIVE} --features age --drop age", "--features and --drop both name 'age'"),
    (f"{FIT} bayes", "--model of credo fit must be one of 'gaussian', "),
    (f"{NAIVE} --covariance tied", "--covariance is an option of --model gaussian, not of naive"),
    (f"{NAIVE} --penalty none", "--penalty is an option of --model logistic"),
    (f"{FIT} logistic --smoothing 1", "is an option of --model naive-bayes and text, not of"),
    (GAUSSIAN, "column 'home' holds categories. "),
    (f"{NAIVE} --families loans", "--families takes column=family"),
    (f"{NAIVE} --families a=poisson,a=gamma", "--families names column 'a' twice"),
    (f"{NAIVE} --families loans=poison", "poisson"),
    (
        f"{GAUSSIAN} --shrinkage much --features age",
        "must be none, 'auto', 'oas' or a number",
    ),
    (f"{GAUSSIAN} --shrinkage 7 --features age", "--shrinkage of GaussianClassifier must"),
    (f"{GAUSSIAN} --features age,income --shrinkage auto", "--shrinkage oas"),
    (f"{NAIVE} --priors even", "--priors of NaiveBayes must be none, 'uniform'"),
    (f"{FIT} logistic --penalty l3", "must be one of none, 'l2', 'l1', 'elasticnet'. Got 'l3'"),
    (
        f"{FIT} logistic --penalty l2 --strength -1",
        "--strength of LogisticClassifier must",
    ),
    (f"fit empty.csv {TABLE}", "empty.csv: the file is empty"),
    (f"fit head.csv {TABLE}", "has no rows"),
    (f"fit dates.csv {TABLE}", "column 'day' is a date or a time"),
    (f"fit unlabelled.csv {TABLE}", "the label 'outcome' is missing in row 2"),
    (f"{NAIVE} --loss nowhere.csv", "nowhere.csv: No such file"),
    (f"{NAIVE} --loss strange.csv", "train.csv has the label"),
    (f"{NAIVE} --loss loss.csv --target home", "home"),
    (f"{NAIVE} --reject inf", "--reject"),
    (f"{NAIVE} --reject -1", "every case would be rejected: -1"),
    ("predict m.credo test.csv --reject -0.5", "every case would be rejected: -0.5"),
    ("evaluate m.credo test.csv --reject -0.5", "every case would be rejected: -0.5"),
    (f"{ELSEWHERE} nowhere/x.credo", "does not exist"),
    (f"{ELSEWHERE} .", "it is a folder"),
    (f"{ELSEWHERE} train.csv", "also a table to learn from"),
    (f"{ELSEWHERE} loss.csv --loss loss.csv", "also the loss"),
    (f"{NAIVE} --dask local --spark local[1]", "Pass one"),
    (f"{NAIVE} --dask nonsense", "Dask scheduler"),
    (f"fit . {TABLE}", "would lie in the folder"),
    ("predict nowhere.credo test.csv", "nowhere.credo: No such file"),
    ("predict train.csv test.csv", "train.csv"),
    ("predict bare.credo test.csv", "holds a GaussianClassifier that knows no table"),
    ("predict loss.credo test.csv", "holds a Loss that knows no table"),
    ("predict m.credo test.csv --out test.csv", "also a table to score"),
    ("predict m.credo test.csv --out m.credo", "also the model"),
    ("predict m.credo test.csv --out s.xlsx", "s.xlsx"),
    ("predict m.credo test.csv --json", "pass --out"),
    ("predict m.credo test.csv --keep idd", "Did you mean 'id'?"),
    ("predict m.credo short.csv", "'income'"),
    ("predict m.credo retyped.csv", "retyped.csv, line 3"),
    ("predict m.credo retyped.parquet", "and a number to the model"),
    ("predict m.credo test.csv --loss strange.csv", "differ in"),
    ("update m.credo short.csv", "'income'"),
    ("update m.credo unlabelled.csv", "missing"),
    ("evaluate m.credo short.csv", "column"),
    ("evaluate m.credo test.csv --loss strange.csv", "differ in"),
    ("predict m.credo test.csv --loss wide.csv", "differ in 'fled'"),
    ("evaluate m.credo test.csv --report test.csv", "is also a table"),
    ("evaluate m.credo test.csv --report page.pdf", "Name it page.html"),
    ("evaluate m.credo test.csv --report -", "Cannot write -: the result is a file"),
    (f"{NAIVE} --families agee=gamma", "--families of NaiveBayes name the column 'agee'"),
    ("show loss.csv", "loss.csv"),
    ("show empty.csv", "empty.csv"),
]


@pytest.fixture
def wrong_files(folder, fit):
    fit("--features", "age,income,home")
    frame = people(20, 4)
    (folder / "empty.csv").write_text("")
    (folder / "head.csv").write_text("age,outcome\n")
    (folder / "dates.csv").write_text("day,outcome\n2020-01-01,good\n2020-01-02,bad\n")
    (folder / "unlabelled.csv").write_text("age,income,home,outcome\n1,2,own,bad\n3,4,rent,\n")
    (folder / "strange.csv").write_text("truth,grant\nfine,0\nbad,1\n")
    (folder / "wide.csv").write_text("truth,grant,refuse\ngood,0,1\nbad,5,0\nfled,9,0\n")
    frame[["age", "home"]].to_csv(folder / "short.csv", index=False)
    retyped = frame.astype({"age": object})
    retyped.loc[1, "age"] = "old"
    retyped.to_csv(folder / "retyped.csv", index=False)
    parquet.write_table(pa.Table.from_pandas(frame.astype({"age": str})), "retyped.parquet")
    save(GaussianClassifier().fit([[1.0], [2.0], [5.0], [6.0]], [0, 0, 1, 1]), "bare.credo")
    save(Loss.zero_one(["a", "b"]), "loss.credo")


@pytest.mark.usefixtures("wrong_files")
def test_a_mistake_is_a_sentence_and_leaves_nothing_behind(folder, credo, subtests):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for arguments, message in WRONG:
        with subtests.test(arguments):
            code, out, err = credo(*arguments.split())
            assert (code, out) == (2, "")
            assert err.startswith("credo: ") or "Error" in err.splitlines()[2]  # Typer's
            assert message in err
            assert {path: path.read_bytes() for path in folder.iterdir()} == before


# --- clusters, bars, and the start ----------------------------------------------------------------


@pytest.mark.slow
def test_rows_are_worked_on_by_a_cluster(fit, credo):
    plain, there = fit(), fit("--dask", "local", out="d.credo")
    np.testing.assert_allclose(there.priors_, plain.priors_)
    assert there.summary_.weights.sum() == 300
    for command in (
        ("predict", "m.credo", "test.csv", "--keep", "id"),
        ("evaluate", "m.credo", "test.csv"),
    ):
        here, there = credo(*command), credo(*command, "--dask", "local")
        assert (here[0], there[:2]) == (0, here[:2])


def test_the_master_of_spark_is_passed_on(credo, monkeypatch):
    heard = []

    def no_spark(master):
        heard.append(master)
        raise library.exceptions.MissingExtraError("no Spark here")

    monkeypatch.setattr("credo.tables.SparkEngine", no_spark)
    code, _, err = credo(*NAIVE.split(), "--spark", "local[2]")
    assert (code, err, heard) == (2, "credo: no Spark here\n", ["local[2]"])


def test_somebody_who_watches_sees_rows_and_passes(fit, credo, monkeypatch):
    fit()
    monkeypatch.setattr(_console, "_PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    many = pd.concat([people(300, 0)[["age", "outcome"]]] * 300)  # more than one batch
    parquet.write_table(pa.Table.from_pandas(many), "many.parquet")
    logistic = f"fit many.parquet {TABLE} --model logistic".split()
    commands = {
        "fitting, pass ": logistic,
        "predicting": ("predict", "m.credo", "test.csv", "--out", "s.csv"),
        "evaluating": ("evaluate", "m.credo", "test.csv"),
        "updating": ("update", "m.credo", "more.csv"),
    }
    for words, command in commands.items():
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        code, _, err = credo(*command)
        assert code == 0
        assert words in err
        assert " rows, " in err
        assert "rows/s" in err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert credo(*logistic, "--quiet") == (0, "", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    assert credo(*logistic)[2] == ""
