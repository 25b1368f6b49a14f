"""The figures of the lectures, and the chapters that show them."""

import ast
import builtins
import doctest
import re
import runpy
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

DOCS = Path(__file__).parents[2] / "docs"
SCRIPT = DOCS / "lectures.py"
FUNCTIONS = {
    node.name: node
    for node in ast.parse(SCRIPT.read_text(encoding="utf-8")).body
    if isinstance(node, ast.FunctionDef)
    and any(isinstance(each, ast.Name) and each.id == "figure" for each in node.decorator_list)
}
PAGES = {
    page.stem: page.read_text(encoding="utf-8")
    for page in sorted((DOCS / "companion").glob("*.md"))
    if page.stem != "index"
}
PICTURE = re.compile(
    r"^```\{figure\} \.\./_generated/lectures/(\w+)\.png\n:alt: \S[^\n]{20,}\n\n\S[^`]{9,}?^```$",
    re.MULTILINE | re.DOTALL,
)
LINES = re.compile(
    r"^```\{literalinclude\} \.\./lectures\.py\n:pyobject: (\w+)\n:lines: 4-\n", re.MULTILINE
)


@pytest.fixture(scope="module")
def lectures():
    mpl.use("agg")
    return runpy.run_path(str(SCRIPT))


def names(tree, kind):
    """The names that a piece of code reads, or binds."""
    found = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, kind)}
    if kind is ast.Store:
        imported = [each for n in ast.walk(tree) for each in getattr(n, "names", [])]
        found |= {each.asname or each.name.split(".")[0] for each in imported}
    return found


def test_each_figure_has_a_title_and_at_most_three_lines():
    assert len(FUNCTIONS) >= 60
    for name, function in FUNCTIONS.items():
        title, *lines = function.body
        assert ast.get_docstring(function), name
        assert function.lineno + 1 == title.lineno == title.end_lineno, name
        assert 1 <= lines[-1].end_lineno - title.end_lineno <= 3, name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_figure_is_drawn(name, lectures, tmp_path):
    picture = lectures["draw_figures"](tmp_path, [name])[name]
    pixels = plt.imread(picture)
    assert min(pixels.shape[:2]) > 100
    assert 0.01 < (pixels[..., :3].min(axis=2) < 0.98).mean() < 0.98  # neither empty nor full


def test_the_contact_sheet_holds_every_figure_under_its_chapter(lectures, tmp_path):
    plt.imsave(tmp_path / "small.png", [[0.0, 1.0]])
    sheet = lectures["contact_sheet"](dict.fromkeys(FUNCTIONS, tmp_path / "small.png"))
    shown = [ax.get_title(loc="left").split("\n")[0] for ax in sheet.axes if ax.images]
    plt.close(sheet)
    assert shown == list(FUNCTIONS)
    assert {name.split("_")[0] for name in shown} == set(lectures["CHAPTERS"]) == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_a_chapter_shows_each_of_its_figures_once_with_an_alt_text_and_a_caption(page):
    figures = [name for name in FUNCTIONS if name.startswith(f"{page}_")]
    assert sorted(PICTURE.findall(PAGES[page])) == sorted(figures)
    assert PAGES[page].count("{figure}") == len(figures)


@pytest.mark.parametrize("page", PAGES)
def test_the_lines_below_a_picture_use_what_the_chapter_has_named(page):
    prompts = doctest.DocTestParser().get_examples(PAGES[page])
    known = names(ast.parse("".join(each.source for each in prompts)), ast.Store)
    shown = LINES.findall(PAGES[page])
    assert len(shown) >= 5
    assert PAGES[page].count("{literalinclude}") == len(shown)
    for name in shown:
        body = ast.Module(FUNCTIONS[name].body[1:], [])
        unknown = names(body, ast.Load) - names(body, ast.Store) - known - set(dir(builtins))
        assert not unknown, name
