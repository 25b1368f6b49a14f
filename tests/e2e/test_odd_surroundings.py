"""Terminals that speak no UTF-8, names that are no text, and files of another kind."""

import gzip
import json
import os
import shutil
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from tests.e2e.conftest import LAWN

from credo import GaussianClassifier

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


@pytest.fixture
def things(folder):
    """Write one file of each kind."""
    (folder / "lawn.bif").write_text(LAWN)
    (folder / "lawn.txt").write_text(f"\n{LAWN}")
    (folder / "lawn.bif.gz").write_bytes(gzip.compress(LAWN.encode()))
    (folder / "lawn.xml").write_text('<?xml version="1.0"?>\n<BIF VERSION="0.3"></BIF>')
    (folder / "pair.uai").write_text("MARKOV 2 2 2 1 2 0 1 4 1 2 3 4")
    (folder / "rows.csv").write_text("BMI,y\n1,a\n2,b\n")
    (folder / "odd.csv").write_text("P1,y\n1,a\n2,b\n")
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": ["a", "b"]}), folder / "rows.parquet")
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": ["a", "b"]}), folder / "packed.csv")
    GaussianClassifier("tied").fit([[1.0], [2.0], [4.0], [3.0]], [0, 0, 1, 1]).save("m.credo")
    Image.new("L", (4, 4)).save(folder / "face.png")
    Image.new("L", (4, 4)).save(folder / "face.pgm")
    (folder / "book.xlsx").write_bytes(b"PK\x03\x04rest")


@pytest.mark.usefixtures("things")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "fit lawn.bif FIT",
            "lawn.bif is a BIF network, .*credo inf",
        ),
        ("fit lawn.txt FIT", "lawn.txt is a BIF network"),
        ("fit lawn.bif.gz FIT", "is a BIF network, and credo fit"),
        ("fit lawn.xml FIT", "lawn.xml is an XMLBIF network"),
        ("fit m.credo FIT", "is a model of Credo.*credo predict"),
        ("fit face.png FIT", "face.png is an image.*credo denoise"),
        ("fit book.xlsx FIT", "workbook.* save its sheet as CSV"),
        (
            "fit packed.csv FIT",
            "in Parquet.* Rename it to .parquet",
        ),
        ("fit rows.csv lawn.bif FIT", "lawn.bif is a BIF"),
        ("predict rows.csv m.credo", "rows.csv is a table, and credo predict takes a model"),
        ("predict m.credo pair.uai", "pair.uai is a UAI network, .* takes a table"),
        ("evaluate m.credo face.pgm", "face.pgm is an image"),
        ("show lawn.bif", "lawn.bif is a BIF network, and credo show takes a model"),
        ("infer rows.parquet", "rows.parquet is a Parquet table, and credo infer takes a network"),
        ("infer m.credo", "m.credo is a model of Credo, and credo infer takes a network"),
        ("infer lawn.bif --rows m.credo", "m.credo is a model of Credo, .* takes a table"),
        ("mpe rows.csv", "rows.csv is a table, and credo mpe takes a network"),
        ("uai PR rows.csv", "rows.csv is a table, and credo uai takes a network"),
        ("decide lawn.bif --loss rows.csv", "lawn.bif is a BIF network, and credo decide takes"),
        ("denoise rows.csv out.png", "rows.csv is a table, and credo denoise takes an image"),
        ("noise lawn.bif out.png", "lawn.bif is a BIF network, and credo noise takes an image"),
        ("infer https://x.org/alarm.bif", "https://x.org/alarm.bif is a URL.* Download it first"),
        ("fit s3://b/r.csv FIT", "s3://b/r.csv is a URL"),
        ("infer lawn.bif --rows gs://b/r.csv", "gs://b/r.csv is a URL"),
        ("fit rows.csv --target y --model gaussian --out s3://b/m", "s3://b/m is a URL"),
    ],
)
def test_a_file_of_another_kind_is_called_what_it_is(refused, arguments, message):
    refused(message, *arguments.replace("FIT", " ".join([*FIT, "o"])).split())


@pytest.mark.usefixtures("things")
def test_files_are_found_by_url_and_odd_headers_are_tables(credo, folder):
    code, out, err = credo("infer", (folder / "lawn.bif").as_uri(), "--query", "rain")
    assert (code, err) == (0, "")
    assert "0.2" in out
    for name in ("odd.csv", "rows.csv"):
        place = (folder / name).as_uri()
        arguments = ("fit", place, "--target", "y", "--model", "naive-bayes", "--out", "o.credo")
        assert credo(*arguments)[0] == 0


COMPLETE = """
eval "$(credo --completion bash)"
reply() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _credo_completion credo
    echo "${COMPREPLY[*]}"
}
complete -p credo
reply credo fi
reply credo noise --kind ""
reply credo fit rows.csv --mod
reply credo fit rows.csv --model ga
reply credo mpe lawn.bif --method ju
reply credo fit row
"""


def test_bash_completes_commands_options_and_their_values(folder):
    (folder / "credo").write_text(
        f'#!/bin/sh\nexec {sys.executable} -c \'import sys; sys.argv[0] = "credo"; '
        'from credo.cli.main import run; run()\' "$@"\n'
    )
    (folder / "credo").chmod(0o755)
    env = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [shutil.which("bash"), "-c", COMPLETE], capture_output=True, text=True, env=env, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "complete -o default -F _credo_completion credo",
        "fit",
        "independent burst varying salt-and-pepper gaussian",
        "--model",
        "gaussian",
        "junction_tree",
        "",  # the shell adds the names of files
    ]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_asks_credo(credo, shell):
    code, out, err = credo("--completion", shell)
    assert (code, err) == (0, "")
    assert f"_CREDO_COMPLETE=complete_{shell}" in out


def test_other_shells_are_refused(refused):
    refused("'tcsh' is not one of 'bash', 'zsh', 'fish'", "--completion", "tcsh")
