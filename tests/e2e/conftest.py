"""The command line in this process: a folder to work in, and what a run returns."""

import sys

import pytest

from credo.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
