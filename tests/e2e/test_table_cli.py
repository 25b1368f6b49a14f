"""Tables from the command line: fit, predict, update, merge, evaluate, show."""

import csv
import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from pyarrow import feather, parquet

import credo as library
from credo import DecisionClassifier, GaussianClassifier, Loss, NaiveBayes
from credo.cli import main as cli
from credo.cli.table_progress import Meter, row_progress
from credo.storage import load, save
from credo.tables.evaluate import evaluate_table

LOSS = "truth,grant,refuse\ngood,0,1\nbad,5,0\n"


def people(n, seed):
    """Draw a table with columns of all kinds, and gaps."""
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
def folder(tmp_path, monkeypatch):
    for name, n, seed in (("train", 300, 0), ("more", 100, 1), ("test", 120, 2)):
        people(n, seed).to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "loss.csv").write_text(LOSS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def credo(folder, capsys, monkeypatch):  # noqa: ARG001 - it stands there
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["credo", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.run()
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    return run


@pytest.fixture
def fit(credo):
    """Fit naive Bayes to train.csv; give the model."""

    def run(*arguments, tables=("train.csv",), out="m.credo", model="naive-bayes"):
        base = ("--target", "outcome", "--model", model, "--out", out)
        code, _, err = credo("fit", *tables, *base, *arguments)
        assert code == 0, err
        return load(out)

    return run


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


# --- fit ------------------------------------------------------------------------------------


def test_a_fit_tells_what_it_learned_and_from_how_much(credo):
    code, out, err = credo(
        *("fit", "train.csv", "--target", "outcome", "--model", "naive-bayes"),
        *("--drop", "id,w", "--out", "m.credo"),
    )
    counts = people(300, 0).outcome.value_counts()
    told = f"bad {counts['bad']}, good {counts['good']}"
    assert (code, err) == (0, "")
    assert out == f"m.credo: NaiveBayes, 300 rows, 5 features, 2 classes: {told}\n"


def test_the_model_is_that_of_the_library(fit):
    found = fit("--drop", "id,w")
    frame = people(300, 0).drop(columns=["id", "w"])
    expected = NaiveBayes().fit(frame.drop(columns="outcome"), frame.outcome)
    rows = people(120, 2)[list(found.schema_.names)]
    np.testing.assert_allclose(found.predict_proba(rows), expected.predict_proba(rows), rtol=1e-12)


def test_options_reach_the_models(fit):
    naive = fit("--families", "loans=poisson,income=gamma", "--smoothing", "0.5", "--drop", "id")
    assert (naive.families_["loans"], naive.families_["income"]) == ("poisson", "gamma")
    assert naive.smoothing == 0.5
    numbers = ("--features", "age,income")
    tied = fit(*numbers, "--covariance", "tied", "--shrinkage", "0.2", model="gaussian")
    assert (tied.covariance, tied.shrinkage) == ("tied", 0.2)
    assert fit(*numbers, "--shrinkage", "oas", model="gaussian").shrinkage == "oas"
    even = fit(*numbers, "--priors", "uniform", model="gaussian")
    np.testing.assert_array_equal(even.priors_, [0.5, 0.5])
    odds = fit(*numbers, "--penalty", "l2", "--strength", "3", model="logistic")
    assert (odds.penalty, odds.strength) == ("l2", 3.0)
    assert fit(*numbers, "--penalty", "none", model="logistic").penalty is None


def test_a_target_that_is_a_number_is_predicted(credo):
    base = ("fit", "train.csv", "--target", "income", "--model", "regression", "--features", "age")
    code, out, err = credo(*base, "--out", "r.credo")
    assert (code, out, err) == (0, "r.credo: GaussianRegressor, 300 rows, 1 feature\n", "")
    code, out, _ = credo("predict", "r.credo", "test.csv")
    assert code == 0
    found = [float(row["mean"]) for row in rows_of(out)]
    np.testing.assert_allclose(found, load("r.credo").predict(people(120, 2)[["age"]]))
    code, _, err = credo(*base, "--out", "s.credo", "--reject", "0.2")
    assert (code, "for classes, and a GaussianRegressor predicts numbers" in err) == (2, True)


def test_categories_and_truth_values_go_into_logistic_regression(fit):
    found = fit("--drop", "id,w", model="logistic")
    assert list(found.coefficient_names_) == [
        *("age", "income", "loans", "home=own", "home=rent", "member")
    ]


def test_documents_are_learned_from(folder, fit):
    texts = ["cheap pills", "meeting at noon", "cheap watches", "notes of the meeting"]
    frame = pd.DataFrame({"text": texts, "outcome": ["spam", "ham", "spam", "ham"]})
    frame.to_csv(folder / "mail.csv", index=False)
    found = fit(tables=["mail.csv"], model="text")
    assert found.predict(["cheap meeting pills"]).tolist() == ["spam"]


def test_weights_count_as_repeated_rows(fit):
    weighted = fit("--weight", "w", "--drop", "id")
    frame = people(300, 0)
    again = frame.loc[frame.index.repeat(frame.w)].drop(columns=["id", "w"])
    assert weighted.summary_.weights.sum() == len(again)
    expected = NaiveBayes().fit(again.drop(columns="outcome"), again.outcome)
    np.testing.assert_allclose(weighted.priors_, expected.priors_)


def test_words_for_missing_cells_are_remembered(folder, fit, credo):
    for name in ("train", "test"):
        frame = people(60, len(name)).astype({"age": object})
        frame.loc[::7, "age"] = "?"
        frame.to_csv(folder / f"gaps_{name}.csv", index=False)
    found = fit("--missing", "?", "--drop", "id,w", tables=["gaps_train.csv"])
    assert found.schema_.missing == ("?",)
    code, out, err = credo("predict", "m.credo", "gaps_test.csv")
    assert code == 0, err
    assert len(rows_of(out)) == 60


@pytest.mark.parametrize("shape", ["several files", "a folder", "Parquet", "gzip", "Feather"])
def test_rows_come_from_any_kind_of_file(shape, folder, fit):
    frame = people(300, 0)
    whole = fit("--drop", "id")
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
        (folder / "rows.csv.gz").write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    found = fit("--drop", "id", tables=tables)
    np.testing.assert_allclose(found.priors_, whole.priors_)
    rows = people(120, 2)[list(whole.schema_.names)]
    np.testing.assert_allclose(found.predict_proba(rows), whole.predict_proba(rows), rtol=1e-9)


def test_a_loss_makes_a_model_that_decides(fit):
    found = fit("--drop", "id,w", "--loss", "loss.csv", "--reject", "0.5")
    assert isinstance(found, DecisionClassifier)
    assert found.loss.acts == ("grant", "refuse", "reject")
    assert found.loss.reject == "reject"
    assert set(found.predict(people(120, 2)[list(found.schema_.names)])) <= set(found.loss.acts)


def test_reject_alone_adds_to_zero_one_loss(fit):
    found = fit("--drop", "id,w", "--reject", "0.2")
    assert found.loss.acts == ("bad", "good", "reject")
    assert found.loss["bad", "good"] == 1


def test_names_in_a_loss_match_labels_that_are_numbers(folder, fit, credo):
    frame = people(200, 3).assign(outcome=lambda f: np.where(f.outcome == "bad", 2, 1))
    frame.to_csv(folder / "numbers.csv", index=False)
    (folder / "numbers_loss.csv").write_text("truth,1,2\n1,0,1\n2,5,0\n")
    found = fit("--drop", "id,w", "--loss", "numbers_loss.csv", tables=["numbers.csv"])
    assert found.loss.truths == (1, 2)
    for command in ("predict", "evaluate"):
        code, _, err = credo(command, "m.credo", "numbers.csv", "--loss", "numbers_loss.csv")
        assert code == 0, err
    code, out, err = credo("predict", "m.credo", "numbers.csv", "--reject", "0.3")
    acts = [row["act"] for row in rows_of(out)]
    assert code == 0, err
    assert err.startswith(f"200 rows: 1 {acts.count('1')}, 2 {acts.count('2')}, reject ")


def test_a_fit_in_json_has_all_numbers(credo):
    code, out, err = credo(
        *("fit", "train.csv", "--target", "outcome", "--model", "gaussian", "--out", "m.credo"),
        *("--features", "age,income", "--json"),
    )
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert (found["rows"], found["features"], found["classes"]) == (
        300,
        ["age", "income"],
        ["bad", "good"],
    )
    assert found["class_weights"] == people(300, 0).outcome.value_counts().to_dict()
    assert found["seconds"] > 0
    assert found["rows_per_second"] > 0


def test_a_quiet_fit_says_nothing(credo):
    arguments = ("--target", "outcome", "--model", "naive-bayes", "--out", "m.credo", "--quiet")
    assert credo("fit", "train.csv", *arguments) == (0, "", "")


def test_warnings_are_sentences_that_speak_of_options(folder, credo):
    frame = people(40, 0).assign(told=lambda f: (f.outcome == "bad").astype(int))
    frame.to_csv(folder / "told.csv", index=False)
    fit = ("fit", "told.csv", "--target", "outcome", "--out", "m.credo", "--features", "age,told")
    code, _, err = credo(*fit, "--model", "logistic")
    assert code == 0
    assert err.startswith("credo: warning: LogisticClassifier: ")
    assert "Pass --penalty l2" in err
    assert err.count("\n") == 1


def test_without_a_summary_a_model_cannot_learn_more(fit, credo):
    numbers = ("--features", "age,income")
    whole = fit(*numbers, model="gaussian")
    small = fit(*numbers, "--no-summary", model="gaussian", out="small.credo")
    assert whole.summary_ is not None
    assert getattr(small, "summary_", None) is None
    assert credo("predict", "small.credo", "test.csv")[0] == 0
    code, _, err = credo("update", "small.credo", "more.csv")
    assert code == 2
    assert "keeps no summary" in err
    assert "none" in credo("show", "small.credo")[1]


# --- predict --------------------------------------------------------------------------------


def test_scores_go_to_the_terminal_and_the_summary_beside(fit, credo):
    model = fit("--drop", "id,w", "--loss", "loss.csv")
    code, out, err = credo("predict", "m.credo", "test.csv", "--keep", "id")
    expected = library.predict_table(model, "test.csv", keep=["id"])
    rows = rows_of(out)
    assert code == 0
    assert list(rows[0]) == expected.column_names
    assert [row["act"] for row in rows] == expected["act"].to_pylist()
    for name in ("p_bad", "expected_loss", "log_density"):
        found = [float(row[name]) for row in rows]
        np.testing.assert_allclose(found, expected[name].to_numpy(), rtol=1e-12)
    acts = [row["act"] for row in rows]
    risk = expected["expected_loss"].to_numpy().mean()
    told = f"120 rows: grant {acts.count('grant')}, refuse {acts.count('refuse')}"
    assert err == f"{told}; mean risk {risk:.6g}\n"


@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz", "arrow", "feather"])
def test_scores_go_to_a_file_of_any_kind(ending, folder, fit, credo):
    model = fit("--drop", "id,w")
    code, out, _ = credo("predict", "m.credo", "test.csv", "--out", f"scored.{ending}", "--json")
    summary = json.loads(out)
    expected = library.predict_table(model, "test.csv")
    read = {"parquet": parquet.read_table, "csv": arrow_csv.read_csv}.get(ending)
    if ending == "csv.gz":
        found = arrow_csv.read_csv(
            pa.BufferReader(gzip.decompress((folder / "scored.csv.gz").read_bytes()))
        )
    else:
        found = (read or feather.read_table)(str(folder / f"scored.{ending}"))
    assert code == 0
    assert summary["rows"] == found.num_rows == 120
    assert sum(summary["acts"].values()) == 120
    np.testing.assert_allclose(found["p_bad"].to_numpy(), expected["p_bad"].to_numpy())


def test_columns_may_be_reordered_and_more_and_the_target_may_lack(folder, fit, credo):
    fit("--drop", "id,w")
    plain = credo("predict", "m.credo", "test.csv")[1]
    frame = people(120, 2)
    odd = frame[frame.columns[::-1]].drop(columns="outcome").assign(note="x")
    odd.to_csv(folder / "odd.csv", index=False)
    assert credo("predict", "m.credo", "odd.csv")[1] == plain


def test_another_loss_overrides_that_of_the_model(fit, credo):
    fit("--drop", "id,w", "--loss", "loss.csv")
    _, out, _ = credo("predict", "m.credo", "test.csv", "--reject", "0.01")
    assert {row["act"] for row in rows_of(out)} >= {"reject"}
    assert all((row["act"] == "reject") == (row["rejected"] == "true") for row in rows_of(out))
    Path("other.csv").write_text("truth,wait\ngood,0\nbad,0\n")
    _, out, _ = credo("predict", "m.credo", "test.csv", "--loss", "other.csv")
    assert {row["act"] for row in rows_of(out)} == {"wait"}


def test_a_table_without_rows_gives_none(folder, fit, credo):
    fit("--drop", "id,w")
    (folder / "none.csv").write_text("age,income,loans,home,member\n")
    code, out, err = credo("predict", "m.credo", "none.csv")
    assert (code, err) == (0, "0 rows: bad 0, good 0\n")
    assert rows_of(out) == []
    assert out.startswith('"p_bad"')


# --- update and merge -----------------------------------------------------------------------


def test_an_update_equals_one_fit_to_all_rows(fit, credo):
    fit("--drop", "id,w")
    code, out, err = credo("update", "m.credo", "more.csv")
    assert (code, err) == (0, "")
    assert out.startswith("m.credo: NaiveBayes, 400 rows, 5 features, 2 classes: bad ")
    whole = fit("--drop", "id,w", tables=["train.csv", "more.csv"], out="whole.credo")
    rows = people(120, 2)[list(whole.schema_.names)]
    updated = load("m.credo")
    np.testing.assert_allclose(updated.predict_proba(rows), whole.predict_proba(rows), rtol=1e-10)


def test_an_update_into_another_file_leaves_the_model(folder, fit, credo):
    fit("--drop", "id,w", "--loss", "loss.csv")
    before = (folder / "m.credo").read_bytes()
    assert credo("update", "m.credo", "more.csv", "--out", "n.credo")[0] == 0
    assert (folder / "m.credo").read_bytes() == before
    assert load("n.credo").estimator_.summary_.weights.sum() == 400
    assert load("n.credo").loss.acts == ("grant", "refuse")


def test_a_failed_update_leaves_the_model_as_it_was(folder, fit, credo):
    fit("--drop", "id,w")
    before = (folder / "m.credo").read_bytes()
    text = (folder / "more.csv").read_text().splitlines()
    text[50] = text[50].replace(text[50].split(",")[1], "old", 1)
    (folder / "wrong.csv").write_text("\n".join(text))
    code, _, err = credo("update", "m.credo", "wrong.csv")
    assert code == 2
    assert "wrong.csv, line 51" in err
    assert (folder / "m.credo").read_bytes() == before
    assert not list(folder.glob(".credo-*"))


def test_merged_models_equal_one_fit_to_all_rows(folder, fit, credo):
    frame = people(300, 0)
    for part in range(3):
        frame[part::3].to_csv(folder / f"part{part}.csv", index=False)
        fit(
            "--features",
            "age,income",
            tables=[f"part{part}.csv"],
            out=f"{part}.credo",
            model="gaussian",
        )
    code, out, _ = credo("merge", "0.credo", "1.credo", "2.credo", "--out", "all.credo")
    assert code == 0
    assert out.startswith("all.credo: GaussianClassifier, 300 rows, 2 features, 2 classes: ")
    whole = fit("--features", "age,income", model="gaussian")
    merged = load("all.credo")
    np.testing.assert_allclose(merged.means_, whole.means_, rtol=1e-12)
    np.testing.assert_allclose(merged.covariances_, whole.covariances_, rtol=1e-10)
    assert merged.schema_ == whole.schema_


def test_models_of_other_columns_are_not_merged(fit, credo, folder):
    fit("--features", "age,income", model="gaussian", out="a.credo")
    fit("--features", "age,loans", model="gaussian", out="b.credo")
    code, _, err = credo("merge", "a.credo", "b.credo", "--out", "c.credo")
    assert code == 2
    assert err == (
        "credo: a.credo and b.credo: credo merge needs the same columns in both. One has 'income', "
        "'loans', the other has not.\n"
    )
    assert not (folder / "c.credo").exists()
    assert "two or more" in credo("merge", "a.credo", "--out", "c.credo")[2]


# --- evaluate -------------------------------------------------------------------------------


def test_an_evaluation_compares_ways_to_act(fit, credo):
    model = fit("--drop", "id,w", "--loss", "loss.csv")
    code, out, err = credo("evaluate", "m.credo", "test.csv")
    found = evaluate_table(model, "test.csv")
    assert (code, err) == (0, "")
    lines = {line[:24].strip(): line[24:].split() for line in out.splitlines()}
    assert float(lines["decisions of the model"][0]) == pytest.approx(found.mean_loss, rel=1e-3)
    plain = found.measures.most_probable
    assert float(lines["most probable class"][0]) == pytest.approx(plain.loss, rel=1e-3)
    assert f"always {found.measures.constant.act}" in lines
    assert f"{100 * found.accuracy:.4g} %" in out
    assert "rejected" not in out


def test_an_evaluation_in_json_has_everything(fit, credo):
    fit("--drop", "id,w")
    code, out, _ = credo("evaluate", "m.credo", "test.csv", "--loss", "loss.csv", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["n_rows"] == 120
    assert found["loss"]["matrix"] == [[0, 1], [5, 0]]
    assert found["mean_loss"] <= found["alternatives"]["most_probable"]["loss"]


def test_the_share_of_rejected_rows_is_told(fit, credo):
    fit("--drop", "id,w")
    _, out, _ = credo("evaluate", "m.credo", "test.csv", "--loss", "loss.csv", "--reject", "0.05")
    assert "\nrejected " in out


def test_the_labels_may_be_in_a_column_of_another_name(folder, fit, credo):
    fit("--drop", "id,w")
    expected = credo("evaluate", "m.credo", "test.csv")[1]
    people(120, 2).rename(columns={"outcome": "seen"}).to_csv(folder / "late.csv", index=False)
    assert credo("evaluate", "m.credo", "late.csv", "--target", "seen")[1] == expected
    assert credo("evaluate", "m.credo", "late.csv")[0] == 2


def test_a_report_is_a_page(folder, fit, credo):
    fit("--drop", "id,w", "--loss", "loss.csv")
    code, out, err = credo("evaluate", "m.credo", "test.csv", "--report", "report.html")
    assert (code, err) == (0, "")
    assert out.endswith("\nThe page is in report.html.\n")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "refuse" in page


# --- show -----------------------------------------------------------------------------------


def test_a_model_is_shown_with_its_columns_and_its_loss(folder, fit, credo):
    fit("--drop", "id,w", "--loss", "loss.csv", "--families", "loans=poisson")
    code, out, _ = credo("show", "m.credo")
    counts = people(300, 0).outcome.value_counts()
    assert code == 0
    size = (folder / "m.credo").stat().st_size
    for part in (
        f"m.credo, {size} bytes, by credo {library.__version__}",
        "NaiveBayes",
        "smoothing=1.0",
        "outcome (text)",
        f"bad {counts['bad']}, good {counts['good']}",
        "bad          5      0",
        "loans   number    poisson",
        "member  boolean   bernoulli",
    ):
        assert part in out, part


def test_a_model_in_json_has_all_of_it(fit, credo):
    fit("--features", "age,home", model="logistic")
    found = json.loads(credo("show", "m.credo", "--json")[1])
    assert found["model"] == "LogisticClassifier"
    assert found["table"]["features"][1] == {
        "name": "home",
        "kind": "category",
        "family": None,
        "categories": ["free", "own", "rent"],
    }
    assert (found["summary"], found["loss"], found["classes"]) == (False, None, ["bad", "good"])


def test_other_things_that_were_saved_are_shown(folder, credo):
    save(Loss.from_csv(folder / "loss.csv"), "loss.credo")
    save(GaussianClassifier().fit([[1.0], [2.0], [5.0], [6.0]], [0, 0, 1, 1]), "g.credo")
    assert "truth \\ act" in credo("show", "loss.credo")[1]
    assert "GaussianClassifier" in credo("show", "g.credo")[1]


# --- what goes wrong ------------------------------------------------------------------------

FIT = ("--target", "outcome", "--model", "naive-bayes", "--out", "x.credo")
GAUSSIAN = ("--target", "outcome", "--model", "gaussian", "--out", "x.credo")
WRONG = {
    "no such table": (("fit", "nowhere.csv", *FIT), "nowhere.csv: No such file"),
    "unknown target": (
        ("fit", "train.csv", "--target", "outcom", *FIT[2:]),
        "Did you mean 'outcome'?",
    ),
    "unknown feature": (("fit", "train.csv", *FIT, "--features", "agee"), "Did you mean 'age'?"),
    "unknown column dropped": (("fit", "train.csv", *FIT, "--drop", "idd"), "Did you mean 'id'?"),
    "a column twice": (("fit", "train.csv", *FIT, "--drop", "id,id"), "--drop names 'id' twice"),
    "feature and dropped": (
        ("fit", "train.csv", *FIT, "--features", "age", "--drop", "age"),
        "both name 'age'",
    ),
    "unknown model": (
        ("fit", "train.csv", "--target", "outcome", "--model", "bayes", "--out", "x.credo"),
        "The --model of credo fit must be one of",
    ),
    "option of another model": (
        ("fit", "train.csv", *FIT, "--covariance", "tied"),
        "--covariance is an option of --model gaussian",
    ),
    "text for a Gaussian": (
        ("fit", "train.csv", *GAUSSIAN),
        "column 'home' holds categories. Use --model naive-bayes or --model logistic, or",
    ),
    "no family": (("fit", "train.csv", *FIT, "--families", "loans"), "takes column=family"),
    "unknown family": (("fit", "train.csv", *FIT, "--families", "loans=poison"), "poisson"),
    "no shrinkage": (
        ("fit", "train.csv", *GAUSSIAN, "--shrinkage", "much"),
        "--shrinkage is a number from 0 to 1",
    ),
    "streamed shrinkage": (
        ("fit", "train.csv", *GAUSSIAN, "--features", "age,income", "--shrinkage", "auto"),
        "pass --shrinkage oas",
    ),
    "no priors": (("fit", "train.csv", *FIT, "--priors", "even"), "takes the word uniform"),
    "no penalty": (
        ("fit", "train.csv", *FIT[:2], "--model", "logistic", *FIT[4:], "--penalty", "l3"),
        "one of 'none', 'l1', 'l2'",
    ),
    "empty table": (("fit", "empty.csv", *FIT), "empty.csv: the file is empty"),
    "table without rows": (("fit", "head.csv", *FIT), "has no rows"),
    "dates": (("fit", "dates.csv", *FIT), "column 'day' is a date or a time"),
    "a label is missing": (
        ("fit", "unlabelled.csv", *FIT),
        "the label 'outcome' is missing in row 2",
    ),
    "no loss": (("fit", "train.csv", *FIT, "--loss", "nowhere.csv"), "nowhere.csv: No such file"),
    "loss of other labels": (
        ("fit", "train.csv", *FIT, "--loss", "strange.csv"),
        "train.csv has the label",
    ),
    "infinite reject": (("fit", "train.csv", *FIT, "--reject", "inf"), "--reject must be a finite"),
    "folder that is not there": (
        ("fit", "train.csv", *FIT[:4], "--out", "nowhere/x.credo"),
        "does not exist",
    ),
    "a folder in the place of the file": (
        ("fit", "train.csv", *FIT[:4], "--out", "."),
        "it is a folder",
    ),
    "output that is an input": (
        ("fit", "train.csv", *FIT[:4], "--out", "train.csv"),
        "also a table",
    ),
    "two clusters": (
        ("fit", "train.csv", *FIT, "--dask", "local", "--spark", "local[1]"),
        "Pass one",
    ),
    "no scheduler": (("fit", "train.csv", *FIT, "--dask", "nonsense"), "Dask scheduler"),
    "no model": (("predict", "nowhere.credo", "test.csv"), "nowhere.credo: No such file"),
    "something else than a model": (("predict", "train.csv", "test.csv"), "train.csv"),
    "a model without a table": (("predict", "bare.credo", "test.csv"), "knows no table"),
    "a loss as a model": (
        ("predict", "loss.credo", "test.csv"),
        "holds a Loss that knows no table",
    ),
    "scores over the table": (
        ("predict", "m.credo", "test.csv", "--out", "test.csv"),
        "also a table",
    ),
    "scores over the model": (
        ("predict", "m.credo", "test.csv", "--out", "m.credo"),
        "also the model",
    ),
    "unknown kind of scores": (("predict", "m.credo", "test.csv", "--out", "s.xlsx"), "s.xlsx"),
    "a summary and no place for rows": (("predict", "m.credo", "test.csv", "--json"), "pass --out"),
    "unknown column kept": (
        ("predict", "m.credo", "test.csv", "--keep", "idd"),
        "Did you mean 'id'?",
    ),
    "a column lacks": (("predict", "m.credo", "short.csv"), "'income'"),
    "text in a column of numbers": (("predict", "m.credo", "retyped.csv"), "retyped.csv, line 3"),
    "another type": (("predict", "m.credo", "retyped.parquet"), "and a number to the model"),
    "loss for a model": (("predict", "m.credo", "test.csv", "--loss", "strange.csv"), "differ in"),
    "update with other columns": (("update", "m.credo", "short.csv"), "'income'"),
    "update without labels": (("update", "m.credo", "unlabelled.csv"), "missing"),
    "evaluation without labels": (("evaluate", "m.credo", "short.csv"), "column"),
    "report over the table": (
        ("evaluate", "m.credo", "test.csv", "--report", "test.csv"),
        "is also a table",
    ),
    "nothing to show": (("show", "loss.csv"), "loss.csv"),
    "an empty file to show": (("show", "empty.csv"), "empty.csv"),
}


@pytest.fixture
def wrong_files(folder, fit):
    fit("--features", "age,income,home")
    frame = people(20, 4)
    (folder / "empty.csv").write_text("")
    (folder / "head.csv").write_text("age,outcome\n")
    (folder / "dates.csv").write_text("day,outcome\n2020-01-01,good\n2020-01-02,bad\n")
    (folder / "unlabelled.csv").write_text("age,income,home,outcome\n1,2,own,bad\n3,4,rent,\n")
    (folder / "strange.csv").write_text("truth,grant\nfine,0\nbad,1\n")
    frame[["age", "home"]].to_csv(folder / "short.csv", index=False)
    retyped = frame.astype({"age": object})
    retyped.loc[1, "age"] = "old"
    retyped.to_csv(folder / "retyped.csv", index=False)
    parquet.write_table(pa.Table.from_pandas(frame.astype({"age": str})), "retyped.parquet")
    save(GaussianClassifier().fit([[1.0], [2.0], [5.0], [6.0]], [0, 0, 1, 1]), "bare.credo")
    save(Loss.zero_one(["a", "b"]), "loss.credo")


@pytest.mark.usefixtures("wrong_files")
@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_a_sentence_and_leaves_nothing_behind(case, folder, credo):
    arguments, message = WRONG[case]
    before = {path: path.read_bytes() for path in folder.iterdir()}
    code, out, err = credo(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("credo: ")
    assert message in err
    assert "Traceback" not in err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_an_output_in_the_folder_that_is_read_is_refused(folder, credo):
    code, _, err = credo("fit", folder, *FIT[:4], "--out", "x.credo")
    assert code == 2
    assert "would lie in the folder" in err


# --- clusters, bars, and the start ----------------------------------------------------------


@pytest.mark.slow
def test_rows_are_summarised_on_a_cluster(fit):
    plain = fit("--drop", "id,w")
    there = fit("--drop", "id,w", "--dask", "local", out="d.credo")
    np.testing.assert_allclose(there.priors_, plain.priors_)
    assert there.summary_.weights.sum() == 300


@pytest.mark.slow
def test_rows_are_scored_and_evaluated_on_a_cluster(fit, credo):
    fit("--drop", "id,w")
    for command in (
        ("predict", "m.credo", "test.csv", "--keep", "id"),
        ("evaluate", "m.credo", "test.csv"),
    ):
        here, there = credo(*command), credo(*command, "--dask", "local")
        assert there[:2] == here[:2]
        assert here[0] == 0


def test_the_master_of_spark_is_passed_on(credo, monkeypatch):
    heard = []

    class NoSpark:
        def __init__(self, master):
            heard.append(master)
            raise library.exceptions.MissingExtraError("no Spark here")

    monkeypatch.setattr("credo.tables.spark.SparkEngine", NoSpark)
    code, _, err = credo("fit", "train.csv", *FIT, "--spark", "local[2]")
    assert (code, err, heard) == (2, "credo: no Spark here\n", ["local[2]"])


def test_somebody_who_watches_sees_rows_and_their_rate(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with row_progress("fitting") as meter:
        meter(1000, 0.5)
    shown = capsys.readouterr().err
    assert "fitting" in shown
    assert "1000 rows" in shown
    assert "rows/s" in shown


def test_nobody_else_sees_anything(capsys, monkeypatch):
    with row_progress("fitting") as meter:
        meter(1000, 0.5)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with row_progress("fitting", quiet=True) as quiet:
        quiet(1000, 0.5)
    assert capsys.readouterr() == ("", "")
    assert meter.rows == quiet.rows == 1000


def test_fewer_rows_than_before_begin_a_new_pass():
    meter = Meter()
    for rows in (10, 20, 10, 20, 10):
        meter(rows, None)
    meter.stop()
    assert meter.passes == 3
    assert meter.rate * meter.seconds == pytest.approx(50)


def test_the_time_is_told_to_those_who_had_to_wait(monkeypatch):
    meter = Meter()
    meter(3_000_000, 1.0)
    meter.stop()
    assert meter.sentence() == ""
    monkeypatch.setattr(meter, "_took", 2.0)
    assert meter.sentence() == "2 s, 1500000 rows per second"


def test_help_loads_nothing_heavy():
    script = (
        "import sys\n"
        "from credo.cli import main\n"
        "for name in ('fit', 'predict', 'update', 'merge', 'evaluate', 'show'):\n"
        "    sys.argv = ['credo', name, '--help']\n"
        "    assert main.exit_code() == 0\n"
        "print([n for n in ('numpy', 'sklearn', 'pyarrow', 'pandas') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("\n[]\n")
