"""The command line as such, and ``credo decide``."""

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
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from credo import Loss, __version__
from credo.cli import _console, main
from credo.decisions import decide
from credo.exceptions import ExpansionWarning, InputError, NumericalError
from credo.tables import open_sink

DECIDE = ("decide", "p.csv", "--loss", "loss.csv")


@pytest.fixture
def folder(folder):
    (folder / "loss.csv").write_text("truth,treat,discharge\ncancer,0,1000\nnormal,1,0\n")
    (folder / "p.csv").write_text("id,normal,cancer\na,0.99,0.01\nb,0.9999,0.0001\nc,0.4,0.6\n")
    return folder


def write(path, **columns):
    table = pa.table(columns)
    with open_sink(path, table.schema) as sink:
        sink.write(table.to_batches()[0])


class TestDecide:
    def test_acts_go_to_the_terminal_and_the_summary_beside(self, credo):
        code, out, err = credo(*DECIDE, "--keep", "id")
        assert code == 0
        assert out == '"id","act","risk"\n"a","treat",0.99\n"b","discharge",0.1\n"c","treat",0.4\n'
        assert err == "3 rows: treat 2, discharge 1; mean risk 0.496667\n"
        assert credo(*DECIDE, "--keep", "id", "--out", "-")[1] == out

    def test_json_holds_decisions_and_summary(self, credo):
        options = ("--keep", "id", "--json", "--reject", "0.3", "--expected-losses")
        code, out, err = credo(*DECIDE, *options)
        result = json.loads(out)
        assert (code, err, result["rows"]) == (0, "", 3)
        assert result["acts"] == {"treat": 0, "discharge": 1, "reject": 2}
        assert result["mean_risk"] == pytest.approx((0.3 + 0.1 + 0.3) / 3)
        assert result["decisions"][1]["id"] == "b"
        assert result["decisions"][0]["loss of discharge"] == pytest.approx(10)

    def test_a_file_is_written_whole_and_json_then_sums_up(self, credo, folder):
        code, out, _ = credo(*DECIDE, "--keep", "id", "--out", "acts.csv", "--json")
        assert code == 0
        assert json.loads(out) == {
            "rows": 3,
            "acts": {"treat": 2, "discharge": 1},
            "mean_risk": pytest.approx(0.4966666),
            "out": "acts.csv",
        }
        assert (folder / "acts.csv").read_text().splitlines()[2] == '"b","discharge",0.1'

    def test_many_rows_stream_through_in_blocks(self, credo, folder):
        p = np.random.default_rng(0).dirichlet([1, 1], size=70_000)
        with gzip.open(folder / "big.csv.gz", "wt") as stream:
            stream.write("cancer,normal\n")
            stream.writelines(f"{a!r},{b!r}\n" for a, b in p.tolist())
        arguments = ("decide", "big.csv.gz", "--loss", "loss.csv")
        code, _, err = credo(*arguments, "--out", "acts.parquet")
        assert code == 0
        expected = decide(p, Loss.from_csv(folder / "loss.csv"), labels=["cancer", "normal"])
        written = pq.read_table(folder / "acts.parquet").to_pydict()
        assert written == {"act": expected.acts.tolist(), "risk": expected.risk.tolist()}
        assert err.startswith("70000 rows")
        assert err.endswith(f"mean risk {expected.risk.mean():.6g}\n")
        assert len(json.loads(credo(*arguments, "--json")[1])["decisions"]) == 70_000

    def test_a_bad_row_far_down_names_its_line_and_leaves_nothing(self, credo, folder):
        lines = ["cancer,normal"] + ["0.5,0.5"] * 30_000
        lines[25_000] = "0.5,0.6"
        (folder / "big.csv").write_text("\n".join(lines))
        (folder / "acts.csv").write_text("what was there before")
        before = sorted(folder.iterdir())
        told = (
            "credo: big.csv, line 25001: the row sums to 1.1, not to 1. "
            "Pass --normalise if the values are rounded.\n"
        )
        for out in ("acts.csv", "-"):
            arguments = ("decide", "big.csv", "--loss", "loss.csv", "--out", out)
            assert credo(*arguments) == (2, "", told)
        assert (folder / "acts.csv").read_text() == "what was there before"
        assert sorted(folder.iterdir()) == before

    def test_rounded_rows_are_normalised_when_asked(self, credo, folder, refused):
        (folder / "p.csv").write_text("cancer,normal\n0.33,0.66\n")
        refused("sums to 0.99", *DECIDE)
        code, out, err = credo(*DECIDE, "--normalise")
        assert code == 0
        assert float(out.splitlines()[1].split(",")[1]) == pytest.approx(2 / 3)
        assert err.startswith("1 row: ")
        (folder / "p.csv").write_text("cancer,normal\n0,0\n")
        refused("line 2: the row sums to 0, not to a positive, finite n", *DECIDE, "--normalise")

    def test_an_empty_table_is_no_error(self, credo, folder):
        (folder / "p.csv").write_text("cancer,normal\n")
        assert credo(*DECIDE) == (0, '"act","risk"\n', "0 rows: treat 0, discharge 0\n")
        assert json.loads(credo(*DECIDE, "--json")[1]) == {
            "decisions": [],
            "rows": 0,
            "acts": {"treat": 0, "discharge": 0},
            "mean_risk": None,
        }

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("p.csv --loss loss.csv", "differ in 'id'. Pass --keep 'id'"),
            ("p.csv --loss no.csv", "no.csv: No such file or directory"),
            ("no.csv --loss loss.csv", "no.csv: No such file or directory"),
            ("loss.csv --loss loss.csv", "differ in 'truth'"),
            ("p.csv --loss p.csv", r"the loss's truths \('a', 'b', 'c'\) differ in 'id'"),
            ("p.csv --loss loss.csv --keep ID", "no column 'ID'.*Did you mean 'id'"),
            ("p.csv --loss loss.csv --keep id --reject nan", "'--reject': a cost must be finite"),
            ("p.csv --loss loss.csv --keep id --reject much", "'--reject'.*'much'"),
            ("p.csv --loss loss.csv --keep id --reject -1", "every case would be rejected: -1"),
            ("p.csv --loss loss.csv --keep id --out no/acts.csv", "folder .* does not exist"),
            ("p.csv --loss loss.csv --keep id --out acts.xls", "Use one of .parquet, .pq, .arrow"),
            ("p.csv --loss loss.csv --keep id --out p.csv", "p.csv is also the probabilities"),
            ("p.csv --loss loss.csv --keep cancer --keep id", "differ in 'cancer'"),
            ("p.csv --loss loss.csv --keep id --keep id", "two columns 'id'"),
            ("p.csv --loss reject.csv --keep id --reject 1", "reject.csv has an act 'reject' alr"),
            ("pair --loss loss.csv", "b.csv: all files must have the same columns"),
            ("act.csv --loss loss.csv --keep act", "two columns 'act'"),
            ("act.csv --loss loss.csv --keep act --json", "two columns 'act'"),
            ("even.csv --loss turned.csv", "it looks transposed.*acts\\. $"),
            ("empty.csv --loss loss.csv", "empty.csv, line 4: column 'cancer' is empty"),
            ("word.csv --loss loss.csv", "word.csv, line 3: column 'cancer' must be a number"),
            ("nan.csv --loss loss.csv", "nan.csv, line 3: the row has NaN in column 'cancer'"),
            ("minus.csv --loss loss.csv", "line 3: the row has the negative entry -0.5 in column "),
            ("", "Missing argument"),
            ("p.csv", "Missing option '--loss'"),
        ],
    )
    def test_bad_input_exits_with_2_and_a_sentence(self, folder, refused, arguments, message):
        (folder / "pair").mkdir()
        for name, text in {
            "pair/a": "cancer,normal\n0.5,0.5\n",
            "pair/b": "cancer,health\n0.5,0.5\n",
            "reject": "truth,treat,reject\ncancer,0,1\nnormal,1,0\n",
            "act": "act,cancer,normal\na1,0.01,0.99\n",
            "turned": ",cancer,normal\ntreat,0,1\ndischarge,1000,0\n",
            "even": "cancer,normal\n0.5,0.5\n",
            "empty": "normal,cancer\n0.5,0.5\n\n0.5,\n",
            **{
                name: f"normal,cancer\n0.5,0.5\n0.5,{cell}\n"
                for name, cell in (("word", "NA"), ("nan", "nan"), ("minus", "-0.5"))
            },
        }.items():
            (folder / f"{name}.csv").write_text(text)
        refused(message, "decide", *arguments.split())

    @pytest.mark.parametrize("ending", ["parquet", "feather", "tsv", "csv"])
    def test_the_same_table_in_any_format_is_decided_alike(self, credo, folder, refused, ending):
        file, normal = f"t.{ending}", [0.99, 0.5]
        arguments = ("decide", file, "--loss", "loss.csv", "--keep", "id")
        write(folder / file, id=[7, None], cancer=[0.01, 0.5], normal=normal)
        assert credo(*arguments)[:2] == (
            0,
            '"id","act","risk"\n"7","treat",0.99\n,"treat",0.5\n',
        )
        write(folder / file, id=[7, None], cancer=[0.01, 0.6], normal=normal)
        refused(f"{file}{', line 3:' if ending.endswith('sv') else ': row 2:'} the row", *arguments)

    @pytest.mark.parametrize(
        ("cell", "fault"),
        [
            ("a", "of t.parquet must hold numbers. Got string."),
            (True, "of t.parquet must hold numbers. Got bool."),
            (2**53 + 1, "cannot be taken as double: Integer value"),
        ],
    )
    def test_probabilities_are_numbers(self, folder, refused, cell, fault):
        write(folder / "t.parquet", cancer=[cell], normal=[0.99])
        refused(f"Column 'cancer' {fault}", "decide", "t.parquet", "--loss", "loss.csv")

    def test_a_carriage_return_in_a_kept_cell_survives(self, credo, folder):
        (folder / "p.csv").write_bytes(b'id,cancer,normal\n"x\ry",0.5,0.5\nz,0.9,0.1\n')
        out = credo(*DECIDE, "--keep", "id")[1]
        rows = list(csv.reader(io.StringIO(out, newline="")))
        assert [row[0] for row in rows] == ["id", "x\ry", "z"]

    def test_an_old_file_survives_an_error_wherever_it_is(self, folder, refused):
        shared = Path("/dev", "shm")
        place = (shared if shared.is_dir() else folder) / f"credo-test-{os.getpid()}.csv"
        place.write_text("precious")
        try:
            (folder / "p.csv").write_text("cancer,normal\n0.5,0.9\n")
            refused("sums to 1.4", *DECIDE, "--out", place)
            assert place.read_text() == "precious"
        finally:
            place.unlink()

    def test_streams_that_are_not_there_are_bad_input(self, credo, refused, monkeypatch):
        assert credo(*DECIDE, "--keep", "id", "--out", "/dev/null")[0] == 0
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", None)
            refused("There is no standard input", "decide", "-", "--loss", "loss.csv")
        monkeypatch.setattr(sys, "stdout", None)
        refused("no standard output to write to. Pass --out.", *DECIDE, "--keep", "id")


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "code", "told"),
        [
            (NumericalError("it did not converge."), 3, "it did not converge."),
            (InputError("Pass log=True or penalty='l2'."), 2, "Pass log=True or penalty='l2'."),
            (InputError("Pass normalise=True or keep=[…]."), 2, "Pass --normalise or --keep."),
            (InputError("Pass keep=['?']."), 2, "Pass --keep '?'."),
            (
                InputError("raise reject=, or use loss=None."),
                2,
                "raise --reject, or use --loss none.",
            ),
            (
                InputError("The reject of x must be 1, or None."),
                2,
                "--reject of x must be 1, or none.",
            ),
            (
                InputError("x: loss needs y; leave loss out."),
                2,
                "x: --loss needs y; leave --loss out.",
            ),
            (
                InputError("use loss='a' or loss='b'; fit_table"),
                2,
                "use --loss a or --loss b; credo fit",
            ),
            (InputError("--keep 'loss=3': 'None'?"), 2, "--keep 'loss=3': 'None'?"),
            (
                InputError("x.csv, line 2: fit_table: decide: no. That is credo.mpe."),
                2,
                "x.csv, line 2: no. That is credo mpe.",
            ),
            (FileNotFoundError(2, "No such file", "x.csv"), 2, "x.csv: No such file"),
            (
                ZeroDivisionError("division by zero"),
                1,
                (
                    "internal error: ZeroDivisionError: division by zero. Set CREDO_TRACEBACK=1 to "
                    "see where, and report it."
                ),
            ),
        ],
        ids=str,
    )
    def test_they_are_sentences_that_speak_of_options(self, credo, monkeypatch, error, code, told):
        def fail(_):
            raise error

        monkeypatch.setattr(Loss, "from_csv", fail)
        assert credo(*DECIDE) == (code, "", f"credo: {told}\n")
        monkeypatch.setenv("CREDO_TRACEBACK", "1")
        monkeypatch.setattr(sys, "argv", ["credo", *DECIDE])
        with pytest.raises(type(error)):
            main.run()

    def test_warnings_are_sentences_and_those_of_others_are_not_shown(self, credo, monkeypatch):
        read = Loss.from_csv

        def warn(path):
            warnings.warn("rows were dropped; keep=['id'].", ExpansionWarning, stacklevel=2)
            warnings.warn("rows were dropped; keep=['id'].", ExpansionWarning, stacklevel=2)
            warnings.warn("something about another library", RuntimeWarning, stacklevel=2)
            return read(path)

        monkeypatch.setattr(Loss, "from_csv", warn)
        code, _, err = credo(*DECIDE, "--keep", "id")
        assert code == 0
        assert re.fullmatch("3 rows: .*\ncredo: warning: rows were dropped; --keep 'id'.\n", err)

    def test_wrong_usage_exits_with_2(self, refused):
        refused("No such command 'deside'", "deside", "p.csv")
        refused("No such option", *DECIDE, "--nothing")

    def test_version_and_help(self, credo):
        assert credo("--version")[:2] == (0, f"credo {__version__}\n")
        code, out, _ = credo("--help")
        assert code == 0
        panels = re.findall("─ (Tables|Networks|Decisions|Images|Housekeeping) ─", out)
        assert len(panels) == 5
        assert "Exit codes" in out
        assert credo("-h")[:2] == (code, out)

    def test_help_groups_the_options_of_each_command_alike(self, credo):
        order = ["Arguments", "What to read", "The question", "The model", "The method"]
        order += ["Options of methods", "Decisions", "Where it runs", "Output"]
        for command in main.app.registered_commands:
            name = command.callback.__name__.replace("_", "-")
            code, out, _ = credo(name, "--help")
            panels = re.findall(r"╭─ ([\w ]+?) ─", out)
            assert (code, panels) == (0, [panel for panel in order if panel in panels]), name
            assert "--help" in out.split("╭─ Output")[1], name


class TestWait:
    @staticmethod
    def watch(monkeypatch, patience=0.0, *, terminal=True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
        monkeypatch.setattr(_console, "_PATIENCE", patience)

    def test_every_kind_of_report_is_shown(self, capsys, monkeypatch):
        self.watch(monkeypatch)
        with _console.Wait("fitting") as wait:
            wait.rows(500, 0.5)
            wait.rows(1000, 1.0)
            assert not wait._bar.tasks[0].finished  # what follows the last row may take long
            wait.rows(200, 0.2)
        seen = capsys.readouterr().err
        assert re.search(r"fitting, pass 2 .* 200 rows, \d+ rows/s, 20%, 0:00:0\d left", seen)
        with _console.Wait("inferring") as wait:
            wait.sweeps(3, 0.25)
        assert re.search(r"inferring .* sweep 3, residual 0.25", capsys.readouterr().err)
        with _console.Wait("Compiling") as wait:
            wait.steps("Compiled chains", 2, 7)
        assert re.search(r"Compiled chains .* 2 of 7", capsys.readouterr().err)

    def test_a_wait_that_reports_nothing_is_shown_too(self, capsys, monkeypatch):
        self.watch(monkeypatch)
        with _console.Wait("planning") as wait:
            for _ in range(200):
                if wait._bar is not None:
                    break
                time.sleep(0.01)
        assert "planning" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("patience", "terminal", "quiet"),
        [(9.0, True, False), (0.0, True, True), (0.0, False, False)],
    )
    def test_nobody_else_sees_a_bar(self, capsys, monkeypatch, patience, terminal, quiet):
        self.watch(monkeypatch, patience, terminal=terminal)
        with _console.Wait("fitting", quiet=quiet) as wait:
            wait.rows(5, None)
        assert capsys.readouterr().err == ""

    def test_rows_and_seconds_are_told_in_the_end(self, monkeypatch):
        with _console.Wait("fitting") as wait:
            wait.rows(1_000_000, None)
            wait.rows(500_000, None)
        assert wait.sentence() == ""
        monkeypatch.setattr(wait, "_took", 2.0)
        assert wait.sentence() == "2 s, 750000 rows per second in 2 passes"
        assert wait.record() == {"seconds": 2.0, "rows_per_second": 750_000, "passes": 2}


class TestProcess:
    def test_standard_input_is_text_compressed_or_not_or_parquet(self, folder, process):
        write(folder / "p.parquet", id=["a"], normal=[0.99], cancer=[0.01])
        plain = b"\xef\xbb\xbf" + (folder / "p.csv").read_bytes()
        for data in (plain, gzip.compress(plain), (folder / "p.parquet").read_bytes()):
            done = process("decide", "-", "--loss", "loss.csv", "--keep", "id", input=data)
            assert done.returncode == 0, done.stderr
            assert done.stdout.startswith(b'"id","act","risk"')

    def test_a_closed_pipe_is_no_error(self, folder):
        command = [sys.executable, "-m", "credo", "decide", "-", "--loss", "loss.csv"]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with subprocess.Popen(command, text=True, cwd=folder, **pipes) as process:
            process.stdout.close()
            process.stdin.write("cancer,normal\n" + "0.5,0.5\n" * 50_000)
            process.stdin.close()
            assert process.stderr.read().startswith("50000 rows")
        assert process.returncode == 0

    def test_being_told_to_stop_leaves_nothing_behind(self, folder):
        command = [sys.executable, "-m", "credo", "decide", "-", "--loss", "loss.csv"]
        process = subprocess.Popen(
            [*command, "--out", "acts.csv"],
            stdin=subprocess.PIPE,
            cwd=folder,
            env={**os.environ, "TMPDIR": str(folder)},
        )
        process.stdin.write(b"cancer,normal\n")
        process.stdin.flush()
        for _ in range(200):
            if list(folder.glob("credo-*")):
                break
            time.sleep(0.05)
        assert list(folder.glob("credo-*"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 128 + signal.SIGTERM
        process.stdin.close()
        assert {path.name for path in folder.iterdir()} == {"loss.csv", "p.csv"}

    def test_output_is_utf_8_whatever_the_terminal_speaks(self, folder, process):
        (folder / "p.csv").write_text("id,cancer,normal\né,0.5,0.5\n", encoding="utf-8")
        done = process(*DECIDE, "--keep", "id", env={**os.environ, "PYTHONIOENCODING": "ascii"})
        assert done.returncode == 0
        assert done.stdout.decode("utf-8").splitlines()[1].startswith('"é","treat"')

    def test_a_stream_given_as_a_file_is_written_to_not_replaced(self, process):
        done = process(*DECIDE, "--keep", "id", "--out", "/dev/stderr")
        assert (done.returncode, done.stdout) == (0, b"")
        assert done.stderr.startswith(b'"id","act","risk"\n"a","treat",0.99\n')

    def test_help_loads_nothing_heavy(self):
        code = (
            "import sys\n"
            "from credo.cli.main import app, run\n"
            "for command in ('', *(each.callback.__name__ for each in app.registered_commands)):\n"
            "    sys.argv = ['credo', *filter(None, [command.replace('_', '-')]), '--help']\n"
            "    try: run()\n"
            "    except SystemExit as stop: assert not stop.code\n"
            "heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'matplotlib', 'pandas', 'pyarrow'}\n"
            "sys.exit(sorted(heavy & set(sys.modules)) or 0)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
