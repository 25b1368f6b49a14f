"""The pages run: every prompt in them is executed, every link leads somewhere."""

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md"]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

#: A file shown on a page: a block of text with its name as the caption.
SHOWN_FILE = re.compile(
    r"^```\{code-block\} text\n:caption: (\S+)\n\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
SESSION = re.compile(r"^```console\n(\$ .*?)^```$", re.MULTILINE | re.DOTALL)


def _name(path):
    return path.relative_to(ROOT).as_posix()


def _code(page):
    """The page with everything outside its Python blocks blanked, so that line numbers stay."""
    inside, lines = False, []
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            inside = line == "```python"
            lines.append("")
        else:
            lines.append(line if inside else "")
    return "\n".join(lines)


def _links(page):
    """Targets of the page's links to other files."""
    found = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    return [target for target in found if "://" not in target]


def _sessions(page):
    """The commands of a page and what they print: ``[(command, output)]``."""
    blocks = SESSION.findall(page.read_text(encoding="utf-8"))
    steps = [step for block in blocks for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [tuple(step.split("\n", 1)) for step in steps]


SESSIONS = [page for page in PAGES if _sessions(page)]


def test_there_are_pages_with_examples():
    assert sum(">>>" in _code(page) for page in PAGES) >= 5
    assert "command_line" in [page.stem for page in SESSIONS]


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_the_examples_of_a_page_give_what_they_show(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(_code(page), {}, _name(page), str(page), 0)
    report = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert result.failed == 0, "".join(report)


@pytest.mark.parametrize("page", SESSIONS, ids=_name)
def test_the_commands_of_a_page_print_what_they_show(page, tmp_path):
    for path in (ROOT / "examples" / "data").glob("*.csv"):
        shutil.copy(path, tmp_path)
    for name, text in SHOWN_FILE.findall(page.read_text(encoding="utf-8")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    for command, output in _sessions(page):
        program, *arguments = shlex.split(command)
        run = [sys.executable, "-m", "credo"] if program == "credo" else [program]
        done = subprocess.run(
            [*run, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.stdout + done.stderr == output, command
        assert done.returncode == 0


def test_the_page_of_the_command_line_lists_the_options_there_are():
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    headings = "".join(re.findall(r"^## (`.*)$", page, re.MULTILINE))
    told = "".join(_help_of(command) for command in re.findall(r"`(\w+)`", headings))
    listed = re.findall(r"^\| `(--[a-z-]+)", page, re.MULTILINE)
    assert {*listed, "--help"} == set(re.findall(r"^│[ *]+(--[a-z-]+)", told, re.MULTILINE))


def _help_of(command):
    return subprocess.run(
        [sys.executable, "-m", "credo", command, "--help"],
        env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_prompt_of_a_page_is_in_a_block_that_runs(page):
    shown = re.findall(r"^\s*>>> ", page.read_text(encoding="utf-8"), re.MULTILINE)
    run = re.findall(r"^\s*>>> ", _code(page), re.MULTILINE)
    assert len(shown) == len(run)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_the_links_of_a_page_lead_somewhere(page):
    lost = [target for target in _links(page) if not (page.parent / target).exists()]
    assert not lost
