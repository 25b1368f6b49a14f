"""Terminals that speak no UTF-8, names that are no text, and files of another kind."""

import json
import os

import pytest

ROWS = "x,y\n" + "".join(f"{i},{label}\n" for i in range(6) for label in ("ä Σ", "b — c"))
SPEECHES = {
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "latin-1": {"PYTHONIOENCODING": "latin-1"},
}
FIT = ("--target", "y", "--model", "gaussian", "--out")


@pytest.fixture
def rows(folder):
    (folder / "rows.csv").write_text(ROWS, encoding="utf-8")
    (folder / "tür.csv").write_text(ROWS, encoding="utf-8")
    odd = os.fsdecode(b"odd\xff.csv")
    (folder / odd).write_text(ROWS, encoding="utf-8")
    return odd


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("speech", SPEECHES)
def test_no_command_dies_of_the_encoding_of_its_terminal(process, speech):
    env = os.environ | SPEECHES[speech]
    fitted = process("fit", "tür.csv", *FIT, "ü.credo", env=env)
    assert fitted.returncode == 0, fitted.stderr
    assert "b — c 6, ä Σ 6" in fitted.stdout.decode()
    missing = process("show", "nö.credo", env=env)
    assert missing.returncode == 2
    assert missing.stderr.startswith(b"credo: n")
    assert missing.stderr.endswith(b".credo: No such file or directory\n")


@pytest.mark.parametrize("speech", ["C", "latin-1"])
def test_a_name_that_is_no_text_is_read_written_and_printed(process, folder, rows, speech):
    env, out = os.environ | SPEECHES[speech], os.fsdecode(b"m\xff.credo")
    fitted = process("fit", rows, *FIT, out, "--json", env=env)
    assert fitted.returncode == 0, fitted.stderr
    assert json.loads(fitted.stdout)["out"] == out
    assert (folder / out).is_file()
    table = os.fsdecode(b"p\xff.parquet")
    predicted = process("predict", out, rows, "--out", table, env=env)
    assert predicted.returncode == 0, predicted.stderr
    assert (folder / table).is_file()


def test_a_page_about_a_name_that_is_no_text_is_written(credo, folder, rows):
    assert credo("fit", rows, *FIT, "m.credo")[0] == 0
    code, out, _ = credo("evaluate", "m.credo", rows, "--report", os.fsdecode(b"p\xff.html"))
    assert code == 0
    assert "The page is in p\\udcff.html." in out
    assert (folder / os.fsdecode(b"p\xff.html")).is_file()
