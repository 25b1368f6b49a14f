"""The newcomer's session: a table, a price list, a model, a page, acts; as the pages show it."""

import io
import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "examples" / "data"
REAL = ROOT.parent / "shared" / "data" / "tabular" / "german_credit.csv"
TUTORIAL, README = ROOT / "docs" / "tutorials" / "credit.md", ROOT / "README.md"
#: Commands with what they print, also where the output names a version and a size.
SESSION = re.compile(r"^```(?:console|text)\n(\$ .*?)^```$", re.MULTILINE | re.DOTALL)
#: Rows of a file that was written, cut to four digits.
EXCERPT = re.compile(r'^"id".*?(?=\n```)', re.MULTILINE | re.DOTALL)
#: What is another one on another day.
CHANGING = re.compile(r"\d+ bytes, by credo \S+")
#: What a command adds on a slow day.
WAITED = re.compile(r"^[\d.]+ s, .* rows per second.*\n", re.MULTILINE)


def steps_of(page):
    """Commands that are about the credit tables, each with its output."""
    blocks = SESSION.findall(page.read_text(encoding="utf-8"))
    steps = [step for block in blocks for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    pairs = [tuple(step.split("\n", 1)) for step in steps]
    return [(command, output) for command, output in pairs if "credit" in command]


@pytest.fixture
def run(credo):
    """Run a command that succeeds, in an empty folder; return what it prints."""

    def ask(*arguments):
        code, out, err = credo(*arguments)
        assert code == 0, err
        return out + err

    return ask


def run_afresh(*arguments, program=(sys.executable, "-m", "credo")):
    """Run a command in a process of its own; give what it prints."""
    done = subprocess.run([*program, *arguments], capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def follow(page, folder, run):
    """Type in what a page shows, and compare what is printed."""
    for path in SAMPLE.glob("*.csv"):
        shutil.copy(path, folder)
    for command, output in steps_of(page):
        program, *arguments = shlex.split(command)
        is_ours = program == "credo"
        found = run(*arguments) if is_ours else run_afresh(command, program=["sh", "-c"])
        assert CHANGING.sub("…", WAITED.sub("", found)) == CHANGING.sub("…", output), command
    assert "refuse" in (folder / "report.html").read_text(encoding="utf-8")


def test_the_session_of_the_tutorial_goes_as_it_is_shown(tmp_path, run):
    follow(TUTORIAL, tmp_path, run)
    excerpt = EXCERPT.search(TUTORIAL.read_text(encoding="utf-8"))
    check_excerpt(excerpt[0], pd.read_csv("scored.csv"))


def test_the_session_of_the_readme_goes_as_it_is_shown(tmp_path, run):
    follow(README, tmp_path, run)


def check_excerpt(text, scored):
    """Compare rows as a page shows them, with four digits, with those that were written."""
    shown = pd.read_csv(io.StringIO(text))
    assert list(shown.columns) == list(scored.columns)
    for name, column in shown.items():
        found = scored[name][: len(shown)]
        if column.dtype == float:
            np.testing.assert_allclose(column, found, atol=5e-5)
        else:
            assert column.tolist() == found.tolist()


@pytest.mark.parametrize("page", [TUTORIAL, README], ids=["tutorial", "readme"])
def test_the_session_goes_from_a_table_to_acts(page):
    words = [command.split()[:2] for command, _ in steps_of(page)]
    done = [name for program, name in words if program == "credo"]
    assert {"fit", "evaluate", "predict"} <= set(done)


def test_the_sample_is_what_its_script_draws(tmp_path, monkeypatch, capsys):
    drawn = runpy.run_path(str(ROOT / "examples" / "make_credit_sample.py"))
    monkeypatch.setitem(drawn["main"].__globals__, "FOLDER", tmp_path)
    drawn["main"]()
    assert str(tmp_path) in capsys.readouterr().out
    names = sorted(path.name for path in SAMPLE.glob("credit_*.csv"))
    assert names == sorted(path.name for path in tmp_path.iterdir())
    for name in names:
        assert (tmp_path / name).read_bytes() == (SAMPLE / name).read_bytes()
        assert (SAMPLE / name).stat().st_size < 60_000


MODELS = {"naive-bayes": [], "logistic": ["--penalty", "l2"]}


@pytest.mark.parametrize("model", MODELS if REAL.exists() else [])
def test_on_the_real_table_deciding_by_the_costs_is_cheaper(model, tmp_path, run):
    frame = pd.read_csv(REAL)
    third = np.random.default_rng(0).random(len(frame)) < 1 / 3
    frame[~third].to_csv(tmp_path / "train.csv", index=False)
    frame[third].to_csv(tmp_path / "test.csv", index=False)
    (tmp_path / "loss.csv").write_text("truth,1,2\n1,0,1\n2,5,0\n")
    fit = ("fit", "train.csv", "--target", "class", "--model", model, "--loss", "loss.csv")
    assert run(*fit, *MODELS[model], "--out", "m.credo", "--quiet") == ""
    evaluate = ("evaluate", "m.credo", "test.csv", "--report", "report.html", "--json")
    found = json.loads(run(*evaluate))
    plain, constant = (found["alternatives"][name] for name in ("most_probable", "constant"))
    assert found["n_rows"] == third.sum()
    assert found["accuracy"] > 0.7
    assert found["mean_loss"] < constant["loss"] < plain["loss"]
    assert plain["saved"] > 2 * plain["standard_error"]
    run("predict", "m.credo", "test.csv", "--out", "scored.parquet")
    acts = pd.read_parquet("scored.parquet").act
    truth = frame["class"][third].to_numpy()
    loss = np.where(truth == 2, 5, 1) * (acts.to_numpy() != truth)
    assert loss.mean() == pytest.approx(found["mean_loss"])
    assert (tmp_path / "report.html").stat().st_size > 10_000
