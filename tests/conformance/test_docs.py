"""The pages run: every prompt in them is executed, every link leads somewhere."""

import doctest
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from credo.cli import main

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md"]
#: A page that starts clusters of processes, as tests of engines do.
SLOW = {"past_one_machine"}
#: The tutorial at a terminal.
TABLE = ROOT / "docs" / "tutorials" / "credit.md"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

#: A file shown on a page: a block of text with its name as the caption.
SHOWN_FILE = re.compile(
    r"^```\{code-block\} text\n:caption: (\S+)\n\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
#: A program shown on a page, and what it prints.
SCRIPT = re.compile(
    r"^```\{code-block\} python\n:caption: (\S+\.py)\n\n(.*?)^```\n\n"
    r"```\{code-block\} text\n:caption: what \1 prints\n\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
#: What a command adds on a slow day.
WAITED = re.compile(r"^[\d.]+ s, .* rows per second.*\n", re.MULTILINE)
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


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (page.stem in SLOW)) for page in PAGES],
    ids=map(_name, PAGES),
)
def test_the_examples_of_a_page_give_what_they_show(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(_code(page), {}, _name(page), str(page), 0)
    report = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert result.failed == 0, "".join(report)


@pytest.mark.slow
def test_a_program_that_starts_processes_prints_what_its_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "how-to" / "past_one_machine.md"
    [(name, text, output)] = SCRIPT.findall(page.read_text(encoding="utf-8"))
    assert 'if __name__ == "__main__":' in text
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert _run(sys.executable, name) == (0, output)


def test_a_tutorial_begins_with_a_question_and_ends_with_a_picture_and_a_next_step():
    tutorials = [*sorted((ROOT / "docs" / "tutorials").glob("first_*.md")), TABLE]
    assert len(tutorials) == 4
    for page in tutorials:
        text = page.read_text(encoding="utf-8")
        assert "?" in text.split("\n## ")[0], page
        *_, seen, after = text.split("\n## ")
        [picture] = re.findall(r"\.\./_static/\S+\.png", seen)
        assert (page.parent / picture).stat().st_size < 100_000
        assert after.startswith("Next\n"), page
        saved = re.findall(r'savefig\("(\S+)"', text)
        assert saved == ([] if page == TABLE else [Path(picture).name])


@pytest.fixture
def credo(monkeypatch, capsys):
    """Run the command line in this process; return its exit code and what it printed."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["credo", *arguments])
        with pytest.raises(SystemExit) as stop:
            main.run()
        out, err = capsys.readouterr()
        return stop.value.code, out + err

    return run


def _run(*command):
    """Run a command as a process of its own."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("page", SESSIONS, ids=_name)
def test_the_commands_of_a_page_print_what_they_show(page, tmp_path, monkeypatch, credo):
    """The first one starts as a user starts it; the others share this process."""
    monkeypatch.chdir(tmp_path)
    for path in (ROOT / "examples" / "data").glob("*.csv"):
        shutil.copy(path, tmp_path)
    for name, text in SHOWN_FILE.findall(page.read_text(encoding="utf-8")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    for i, (command, output) in enumerate(_sessions(page)):
        program, *arguments = shlex.split(command)
        if program != "credo":
            code, printed = _run("sh", "-c", command)
        elif i == 0:
            code, printed = _run(sys.executable, "-m", "credo", *arguments)
        else:
            code, printed = credo(*arguments)
        assert WAITED.sub("", printed) == output, command
        assert code == 0


def test_the_page_of_the_command_line_lists_the_options_there_are(monkeypatch, credo):
    for name, value in (("COLUMNS", "120"), ("NO_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    headings = "".join(re.findall(r"^## (`.*)$", page, re.MULTILINE))
    told = "".join(credo(command, "--help")[1] for command in re.findall(r"`(\w+)`", headings))
    listed = re.findall(r"^\| `(--[a-z-]+)", page, re.MULTILINE)
    assert {*listed, "--help"} == set(re.findall(r"^│[ *]+(--[a-z-]+)", told, re.MULTILINE))


def test_every_prompt_of_a_page_is_in_a_block_that_runs():
    prompt = re.compile(r"^\s*>>> ", re.MULTILINE)
    for page in PAGES:
        shown = prompt.findall(page.read_text(encoding="utf-8"))
        assert len(shown) == len(prompt.findall(_code(page))), page


def test_the_links_of_a_page_lead_somewhere():
    links = [(page, target) for page in PAGES for target in _links(page)]
    assert len(links) > 100
    assert [link for link in links if not (link[0].parent / link[1]).exists()] == []
