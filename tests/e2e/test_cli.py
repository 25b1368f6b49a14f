"""The command line, as a user runs it."""

import csv
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from credo import Loss, __version__, decide
from credo.cli import main as cli
from credo.tables import open_sink

LOSS = "truth,treat,discharge\ncancer,0,1000\nnormal,1,0\n"
ROWS = "id,normal,cancer\na,0.99,0.01\nb,0.9999,0.0001\nc,0.4,0.6\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "loss.csv").write_text(LOSS)
    (tmp_path / "p.csv").write_text(ROWS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["credo", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.run()
    captured = capsys.readouterr()
    return stop.value.code, captured.out, captured.err


@pytest.fixture
def credo(folder, capsys, monkeypatch):  # noqa: ARG001
    return lambda *arguments: run(capsys, monkeypatch, *arguments)


def test_acts_go_to_the_terminal_and_the_summary_beside(credo):
    code, out, err = credo("decide", "p.csv", "--loss", "loss.csv", "--keep", "id")
    assert code == 0
    assert list(csv.reader(io.StringIO(out))) == [
        ["id", "act", "risk"],
        ["a", "treat", "0.99"],
        ["b", "discharge", "0.1"],
        ["c", "treat", "0.4"],
    ]
    assert err == "3 rows: treat 2, discharge 1; mean risk 0.496667\n"


def test_json_holds_decisions_and_summary(credo):
    code, out, err = credo(
        "decide",
        "p.csv",
        "--loss",
        "loss.csv",
        "--keep",
        "id",
        "--json",
        "--reject",
        "0.3",
        "--expected-losses",
    )
    result = json.loads(out)
    assert code == 0
    assert err == ""
    assert result["rows"] == 3
    assert result["acts"] == {"treat": 0, "discharge": 1, "reject": 2}
    assert result["mean_risk"] == pytest.approx((0.3 + 0.1 + 0.3) / 3)
    assert result["decisions"][1]["id"] == "b"
    assert result["decisions"][0]["loss of discharge"] == pytest.approx(10)


def test_a_file_is_written_whole_and_json_then_sums_up(credo, folder):
    code, out, _ = credo(
        "decide", "p.csv", "--loss", "loss.csv", "--keep", "id", "--out", "acts.csv", "--json"
    )
    assert code == 0
    assert json.loads(out) == {
        "rows": 3,
        "acts": {"treat": 2, "discharge": 1},
        "mean_risk": pytest.approx(0.4966666),
        "out": "acts.csv",
    }
    assert (folder / "acts.csv").read_text().splitlines()[2] == "b,discharge,0.1"


def test_many_rows_stream_through_in_blocks(credo, folder):
    p = np.random.default_rng(0).dirichlet([1, 1], size=40_000)
    with gzip.open(folder / "big.csv.gz", "wt") as stream:
        stream.write("cancer,normal\n")
        stream.writelines(f"{a!r},{b!r}\n" for a, b in p.tolist())
    code, _, err = credo("decide", "big.csv.gz", "--loss", "loss.csv", "--out", "acts.csv")
    assert code == 0
    loss = Loss.from_csv(folder / "loss.csv")
    expected = decide(p, loss, labels=["cancer", "normal"])
    written = (folder / "acts.csv").read_text().splitlines()[1:]
    assert [line.split(",")[0] for line in written] == expected.acts.tolist()
    assert [float(line.split(",")[1]) for line in written] == expected.risk.tolist()
    assert err.startswith("40000 rows")
    assert err.endswith(f"mean risk {expected.risk.mean():.6g}\n")
    code, out, _ = credo("decide", "big.csv.gz", "--loss", "loss.csv", "--json")
    assert len(json.loads(out)["decisions"]) == 40_000


def test_a_bad_row_far_down_names_its_line_and_leaves_nothing(credo, folder):
    lines = ["cancer,normal"] + ["0.5,0.5"] * 30_000
    lines[25_000] = "0.5,0.6"
    (folder / "big.csv").write_text("\n".join(lines))
    (folder / "acts.csv").write_text("what was there before")
    code, out, err = credo("decide", "big.csv", "--loss", "loss.csv", "--out", "acts.csv")
    assert code == 2
    assert out == ""
    assert err == (
        "credo: big.csv, line 25001: the row sums to 1.1, not to 1. "
        "Pass --normalise if the values are rounded.\n"
    )
    assert (folder / "acts.csv").read_text() == "what was there before"
    assert sorted(path.name for path in folder.iterdir()) == [
        "acts.csv",
        "big.csv",
        "loss.csv",
        "p.csv",
    ]
    code, out, _ = credo("decide", "big.csv", "--loss", "loss.csv")
    assert (code, out) == (2, "")


def test_rounded_rows_are_normalised_when_asked(credo, folder):
    (folder / "p.csv").write_text("cancer,normal\n0.33,0.66\n")
    assert credo("decide", "p.csv", "--loss", "loss.csv")[0] == 2
    code, out, _ = credo("decide", "p.csv", "--loss", "loss.csv", "--normalise")
    assert code == 0
    assert float(out.splitlines()[1].split(",")[1]) == pytest.approx(2 / 3)
    (folder / "p.csv").write_text("cancer,normal\n0,0\n")
    code, _, err = credo("decide", "p.csv", "--loss", "loss.csv", "--normalise")
    assert (code, err) == (
        2,
        "credo: p.csv, line 2: the row sums to 0, not to a positive, finite number.\n",
    )


def test_an_empty_table_is_no_error(credo, folder):
    (folder / "p.csv").write_text("cancer,normal\n")
    code, out, err = credo("decide", "p.csv", "--loss", "loss.csv")
    assert (code, out, err) == (0, "act,risk\n", "0 rows: treat 0, discharge 0\n")
    assert json.loads(credo("decide", "p.csv", "--loss", "loss.csv", "--json")[1]) == {
        "decisions": [],
        "rows": 0,
        "acts": {"treat": 0, "discharge": 0},
        "mean_risk": None,
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["p.csv", "--loss", "loss.csv"], "differ in 'id'. Pass --keep 'id'"),
        (["p.csv", "--loss", "no.csv"], "no.csv: No such file or directory"),
        (["no.csv", "--loss", "loss.csv"], "no.csv: No such file or directory"),
        (["loss.csv", "--loss", "loss.csv"], "differ in 'truth'"),
        (["p.csv", "--loss", "p.csv"], r"the loss's truths \('a', 'b', 'c'\) differ in 'id'"),
        (["p.csv", "--loss", "loss.csv", "--keep", "ID"], "no column 'ID'.*Did you mean 'id'"),
        (
            ["p.csv", "--loss", "loss.csv", "--keep", "id", "--reject", "nan"],
            "--reject must be a finite",
        ),
        (["p.csv", "--loss", "loss.csv", "--keep", "id", "--out", "no/acts.csv"], "folder .* does"),
        (["p.csv", "--loss", "loss.csv", "--keep", "cancer", "--keep", "id"], "differ in 'cancer'"),
        ([".", "--loss", "loss.csv"], "p.csv: all files must have the same columns"),
    ],
)
def test_bad_input_exits_with_2_and_a_sentence(credo, arguments, message):
    code, out, err = credo("decide", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("credo: ")

    assert re.search(message, err)


def test_a_cell_that_is_empty_or_a_word_is_named(credo, folder):
    for cell, fault in (("", "column 'cancer' is empty"), ("NA", "column 'cancer' must be a num")):
        (folder / "q.csv").write_text(f"normal,cancer\n0.5,0.5\n\n0.5,{cell}\n")
        code, _, err = credo("decide", "q.csv", "--loss", "loss.csv")
        assert code == 2
        assert err.startswith(f"credo: q.csv, line 4: {fault}")


@pytest.mark.parametrize("ending", ["parquet", "feather", "tsv", "csv"])
def test_the_same_table_in_any_format_is_decided_alike(credo, folder, ending):
    table = pa.table({"id": [7, None], "cancer": [0.01, 0.5], "normal": [0.99, 0.5]})
    with open_sink(folder / f"t.{ending}", table.schema) as sink:
        sink.write(table.to_batches()[0])
    code, out, _ = credo("decide", f"t.{ending}", "--loss", "loss.csv", "--keep", "id")
    assert (code, out) == (0, "id,act,risk\n7,treat,0.99\n,treat,0.5\n")
    table = table.set_column(1, "cancer", pa.array([0.01, 0.6]))
    with open_sink(folder / f"t.{ending}", table.schema) as sink:
        sink.write(table.to_batches()[0])
    code, _, err = credo("decide", f"t.{ending}", "--loss", "loss.csv", "--keep", "id")
    place = ", line 3:" if ending.endswith("sv") else ": row 2:"
    assert (code, err.split(" the row")[0]) == (2, f"credo: t.{ending}{place}")


def test_probabilities_are_numbers(credo, folder):
    for cells, fault in (
        (["a"], " of t.parquet must hold numbers. Got string."),
        ([2**53 + 1], " cannot be taken as double: Integer value"),
    ):
        table = pa.table({"cancer": cells, "normal": [0.99]})
        with open_sink(folder / "t.parquet", table.schema) as sink:
            sink.write(table.to_batches()[0])
        code, _, err = credo("decide", "t.parquet", "--loss", "loss.csv")
        assert code == 2
        assert err.startswith(f"credo: Column 'cancer'{fault}")


def test_wrong_usage_exits_with_2(credo):
    assert credo("decide")[0] == 2
    assert credo("deside", "p.csv")[0] == 2
    assert credo("decide", "p.csv", "--loss", "loss.csv", "--reject", "much")[0] == 2


def test_an_internal_error_exits_with_1_and_asks_for_a_report(credo, monkeypatch):
    monkeypatch.setattr(Loss, "from_csv", lambda _: 1 / 0)
    code, _, err = credo("decide", "p.csv", "--loss", "loss.csv")
    assert code == 1
    assert "internal error: ZeroDivisionError: division by zero. Set CREDO_TRACEBACK=1" in err
    monkeypatch.setenv("CREDO_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        cli.run()


def test_not_converging_exits_with_3(credo, monkeypatch):
    from credo.exceptions import NumericalError

    def diverge(_):
        raise NumericalError("the integral did not converge.")

    monkeypatch.setattr(Loss, "from_csv", diverge)
    assert credo("decide", "p.csv", "--loss", "loss.csv")[::2] == (
        3,
        "credo: the integral did not converge.\n",
    )


def test_version_and_help(credo):
    assert credo("--version")[:2] == (0, f"credo {__version__}\n")
    code, out, _ = credo("--help")
    assert code == 0
    assert "decide" in out
    assert "Exit codes" in out
    assert "--reject" in credo("decide", "--help")[1]


def test_standard_input_and_a_closed_pipe(folder):
    command = [sys.executable, "-m", "credo", "decide", "-", "--loss", "loss.csv"]
    text = "cancer,normal\n" + "0.5,0.5\n" * 50_000
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0
    assert done.stdout.count("treat") == 50_000
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    process.stdout.close()
    process.stdin.write(text)
    process.stdin.close()
    complaint = process.stderr.read()
    process.stderr.close()
    process.wait()
    assert "Traceback" not in complaint


def test_help_loads_nothing_heavy():
    code = (
        "import sys; sys.argv = ['credo', '--help']\n"
        "from credo.cli.main import run\n"
        "try: run()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'matplotlib', 'pandas'}\n"
        "sys.exit(sorted(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_watcher_sees_a_bar(credo, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, out, _ = credo("decide", "p.csv", "--loss", "loss.csv", "--keep", "id")
    assert code == 0
    assert out.startswith("id,act,risk")


def test_a_kept_column_never_overwrites_an_answer(credo, folder):
    (folder / "k.csv").write_text("act,cancer,normal\na1,0.01,0.99\n")
    for flags in ([], ["--json"]):
        code, out, err = credo("decide", "k.csv", "--loss", "loss.csv", "--keep", "act", *flags)
        assert (code, out) == (2, "")
        assert "two columns 'act'" in err
    code, _, err = credo("decide", "p.csv", "--loss", "loss.csv", "--keep", "id", "--keep", "id")
    assert code == 2
    assert "two columns 'id'" in err


def test_a_transposed_loss_is_said_to_be_one(credo, folder):
    (folder / "turned.csv").write_text(",cancer,normal\ntreat,0,1\ndischarge,1000,0\n")
    (folder / "q.csv").write_text("cancer,normal\n0.5,0.5\n")
    code, _, err = credo("decide", "q.csv", "--loss", "turned.csv")
    assert code == 2
    assert "it looks transposed" in err
    assert "--keep" not in err


def test_a_bad_cell_is_named_by_its_column(credo, folder):
    for cell, fault in (("nan", "has NaN"), ("-0.5", "has the negative entry -0.5")):
        (folder / "q.csv").write_text(f"normal,cancer\n0.5,0.5\n0.5,{cell}\n")
        code, _, err = credo("decide", "q.csv", "--loss", "loss.csv")
        assert code == 2
        assert err == f"credo: q.csv, line 3: the row {fault} in column 'cancer'.\n"


def test_special_outputs(credo, folder):
    arguments = ("decide", "p.csv", "--loss", "loss.csv", "--keep", "id", "--out")
    assert credo(*arguments, "-")[1].startswith("id,act,risk")
    code, _, err = credo(*arguments, "acts.csv.gz")
    assert (code, err) == (2, "credo: --out writes plain text. Name it acts.csv.\n")
    assert credo(*arguments, "/dev/null")[0] == 0
    (folder / "r.csv").write_text("truth,treat,reject\ncancer,0,1\nnormal,1,0\n")
    code, _, err = credo("decide", "p.csv", "--loss", "r.csv", "--keep", "id", "--reject", "1")
    assert (code, err) == (2, "credo: r.csv has an act 'reject' already; leave --reject out.\n")


def test_one_row_is_one_row(credo, folder):
    (folder / "q.csv").write_text("normal,cancer\n0.5,0.5\n")
    assert credo("decide", "q.csv", "--loss", "loss.csv")[2].startswith("1 row: ")
    assert credo("-h")[0] == 0


def test_a_byte_order_mark_gzip_and_parquet_on_standard_input(folder):
    command = [sys.executable, "-m", "credo", "decide", "-", "--loss", "loss.csv", "--keep", "id"]
    table = pa.table({"id": ["a"], "normal": [0.99], "cancer": [0.01]})
    with open_sink(folder / "p.parquet", table.schema) as sink:
        sink.write(table.to_batches()[0])
    plain = b"\xef\xbb\xbf" + ROWS.encode()
    for data in (plain, gzip.compress(plain), (folder / "p.parquet").read_bytes()):
        done = subprocess.run(command, input=data, capture_output=True, check=False, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(b"id,act,risk")


def test_no_standard_input_is_bad_input(credo, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    code, _, err = credo("decide", "-", "--loss", "loss.csv")
    assert (code, err) == (2, "credo: There is no standard input to read from.\n")


def test_being_told_to_stop_leaves_nothing_behind(folder):
    command = [sys.executable, "-m", "credo", "decide", "-", "--loss", "loss.csv"]
    process = subprocess.Popen([*command, "--out", "acts.csv"], stdin=subprocess.PIPE, cwd=folder)
    process.stdin.write(b"cancer,normal\n")
    process.stdin.flush()
    for _ in range(200):
        if list(folder.glob(".credo-*.part")):
            break
        time.sleep(0.05)
    assert list(folder.glob(".credo-*.part"))
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 128 + signal.SIGTERM
    process.stdin.close()
    assert not list(folder.glob(".credo-*"))
    assert not (folder / "acts.csv").exists()


def test_a_carriage_return_in_a_kept_cell_survives(credo, folder):
    (folder / "cr.csv").write_bytes(b'id,cancer,normal\n"x\ry",0.5,0.5\nz,0.9,0.1\n')
    code, out, _ = credo("decide", "cr.csv", "--loss", "loss.csv", "--keep", "id")
    assert code == 0
    rows = list(csv.reader(io.StringIO(out, newline="")))
    assert [row[0] for row in rows] == ["id", "x\ry", "z"]


def test_an_old_file_survives_an_error_wherever_it_is(credo, folder):
    shared = Path("/dev", "shm")
    place = (shared if shared.is_dir() else folder) / f"credo-test-{os.getpid()}.csv"
    place.write_text("precious")
    try:
        (folder / "bad.csv").write_text("cancer,normal\n0.5,0.9\n")
        assert credo("decide", "bad.csv", "--loss", "loss.csv", "--out", place)[0] == 2
        assert place.read_text() == "precious"
    finally:
        place.unlink()


def test_output_is_utf_8_whatever_the_terminal_speaks(folder):
    (folder / "e.csv").write_text("id,cancer,normal\né,0.5,0.5\n", encoding="utf-8")
    command = [sys.executable, "-m", "credo", "decide", "e.csv", "--loss", "loss.csv"]
    done = subprocess.run(
        [*command, "--keep", "id"],
        capture_output=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0
    assert done.stdout.decode("utf-8").splitlines()[1].startswith("é,treat")


def test_no_standard_output_is_bad_input(credo, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    code, _, err = credo("decide", "p.csv", "--loss", "loss.csv", "--keep", "id")
    assert (code, err) == (2, "credo: There is no standard output to write to. Pass --out.\n")


def test_a_stream_given_as_a_file_is_written_to_not_replaced(folder):
    command = [sys.executable, "-m", "credo", "decide", "p.csv", "--loss", "loss.csv"]
    with (folder / "all.txt").open("w") as stream:
        stream.write("first\n")
        stream.flush()
        done = subprocess.run(
            [*command, "--keep", "id", "--out", "/dev/stderr"],
            stderr=subprocess.PIPE,
            stdout=stream,
            text=True,
            check=False,
            cwd=folder,
        )
    assert done.returncode == 0
    assert done.stderr.startswith("id,act,risk\na,treat,0.99\n")
    assert (folder / "all.txt").read_text() == "first\n"
