"""The command line in this process: a folder to work in, and what a run returns."""

import json
import re
import subprocess
import sys

import pytest

from credo.cli import main

#: Rain, sprinkler and wet grass; rain wets for certain.
LAWN = """network lawn {}
variable rain { type discrete [ 2 ] { no, yes }; }
variable sprinkler { type discrete [ 2 ] { no, yes }; }
variable wet { type discrete [ 2 ] { no, yes }; }
probability ( rain ) { table 0.8, 0.2; }
probability ( sprinkler | rain ) { (no) 0.6, 0.4; (yes) 0.99, 0.01; }
probability ( wet | sprinkler, rain ) {
  (no, no) 1.0, 0.0; (no, yes) 0.0, 1.0; (yes, no) 0.1, 0.9; (yes, yes) 0.0, 1.0;
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def lawn(folder):
    """Write a small network; return its text."""
    (folder / "lawn.bif").write_text(LAWN)
    return LAWN


@pytest.fixture
def credo(folder, capsys, monkeypatch):  # noqa: ARG001
    """Run a command; return its exit code, its output and its errors."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["credo", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main.run()
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    return run


@pytest.fixture
def ask(credo):
    """Run a command that succeeds in silence, and read its JSON."""

    def run(*arguments):
        code, out, err = credo(*arguments, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return run


@pytest.fixture
def refused(credo):
    """Run a command that is refused: code 2, no output, and a sentence or Typer's box on stderr."""

    def run(message, *arguments):
        code, out, err = credo(*arguments)
        assert (code, out) == (2, "")
        assert "internal" not in err
        assert err.startswith("Usage:") or (err.startswith("credo: ") and err.count("\n") == 1), err
        assert re.search(message, re.sub(r"[│╭╮╰╯─\s]+", " ", err)), err

    return run


@pytest.fixture
def process(folder):
    """Run a command in a process of its own, for pipes, signals and what it loads."""

    def run(*arguments, **options):
        command = [sys.executable, "-m", "credo", *arguments]
        return subprocess.run(command, capture_output=True, check=False, cwd=folder, **options)

    return run
