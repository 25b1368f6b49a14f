"""What the README shows is what there is."""

import csv
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PEERS = ROOT / "benchmarks" / "peers"
QUOTED = re.compile(r"<!-- (\w+) -->\n(.*?)\n<!-- end -->", re.DOTALL)
#: Pages that quote tables, and how many.
QUOTING = {"README.md": 1, "docs/reference/benchmarks.md": 32, "docs/how-to/denoising.md": 1}
EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples").glob("*/plot_*.py"))}

#: Examples with tests of their own.
TOLD = {"plot_denoising", "plot_cancer"}
#: Examples that take longer than the everyday suite allows.
LONG = {"plot_ldpc"}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run an example, which draws; return what it prints."""

    def run(name):
        monkeypatch.chdir(tmp_path)
        runpy.run_path(str(EXAMPLES[name]), run_name="__main__")
        (picture,) = tmp_path.rglob("*.png")
        assert picture.stat().st_size > 10_000
        printed = capsys.readouterr().out
        assert "The figure is in" in printed
        return printed

    return run


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in LONG))
        for name in EXAMPLES
        if name not in TOLD
    ],
)
def test_an_example_runs_and_draws(name, run):
    run(name)


def test_every_example_has_a_name_of_its_own_a_group_a_title_and_a_next_step():
    groups = [path.parent for path in (ROOT / "examples").glob("*/GALLERY_HEADER.rst")]
    assert len(EXAMPLES) == len(list((ROOT / "examples").rglob("plot_*.py")))
    for path in EXAMPLES.values():
        text = path.read_text(encoding="utf-8")
        assert path.parent in groups, path
        assert re.match(r'"""\n(.+\?)\n(=+)\n\n', text), path
        assert re.search(r"^# (%% )?Next: :doc:`", text, re.MULTILINE), path


def test_the_demo_restores_a_portrait_at_four_levels_of_noise(run):
    shown = run("plot_denoising")
    for level in ("0.05", "0.10", "0.15", "0.20"):
        (row,) = re.findall(
            rf"^ *{level} +(\d+) +(\d+) +(\d+) +(\S+)% +(\S+)%", shown, re.MULTILINE
        )
        true, noisy, restored, before, after = map(float, row)
        assert noisy < true < restored
        assert after < before / 3
    assert "plot_denoising.py" in (ROOT / "Makefile").read_text()


def test_the_cancer_example_goes_end_to_end(run):
    shown = run("plot_cancer")
    for part in (
        "truth \\ act",
        "Posterior(cancer 0.03113",
        "act 'treat'",
        "risk 0.9689",
        "specialist",
    ):
        assert part in shown


@pytest.mark.parametrize("page", QUOTING)
def test_a_page_quotes_the_measured_tables(page):
    quoted = QUOTED.findall((ROOT / page).read_text(encoding="utf-8"))
    assert len(quoted) == QUOTING[page]
    for name, shown in quoted:
        with (PEERS / "results" / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
            rows = ["| " + " | ".join(row) + " |" for row in csv.reader(stream)]
        lines = shown.splitlines()
        assert [lines[0], *lines[2:]] == rows, name


def test_the_six_rows_of_the_readme_are_those_of_the_long_tables(monkeypatch):
    monkeypatch.syspath_prepend(PEERS)
    rows = runpy.run_path(str(PEERS / "glance.py"))["glance"]()
    with (PEERS / "results" / "glance.csv").open(encoding="utf-8", newline="") as stream:
        assert list(csv.DictReader(stream)) == rows
    assert len(rows) == 6


def test_the_readme_is_short_and_has_no_gaps():
    assert len(README.encode()) < 12_000
    assert not re.search(r"@[A-Z]+@|TODO", README)
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / link).exists(), link
