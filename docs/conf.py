"""Settings of the documentation; built by ``make docs``."""

import re
import runpy
import shutil
from importlib.util import find_spec
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.fileutil import copy_asset

import credo
from credo.inference.engines import ENGINES, MAXIMISERS, Engine

project = "Credo"
author = "The Credo developers"
project_copyright = author
version = release = credo.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3


def table_of(engines: dict[str, Engine]) -> str:
    """Return a list of engines as a table in Markdown."""
    rows = ["| `method` | also called | log Z or score | options |", "|---|---|---|---|"]
    for engine in engines.values():
        also, options = (
            " ".join(f"`{w}`" for w in words) for words in (engine.aliases.split(), engine.options)
        )
        rows.append(f"| `{engine.name}` | {also} | {engine.promise} | {options} |")
    return "\n".join(rows)


myst_substitutions = {"engines": table_of(ENGINES), "maximisers": table_of(MAXIMISERS)}

#: What others' classes bring along is left out, with references into glossaries of their own.
FOREIGN = (
    *("BaseEstimator", "ClassifierMixin", "RegressorMixin", "TransformerMixin"),
    *("_MetadataRequester", "_SetOutputMixin", "BaseException", "ndarray"),
)
#: Groups of examples, in this order.
GROUPS = ("decide", "learn", "networks", "images")

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc's parameter lists say it
autodoc_default_options = {
    "members": True,
    "inherited-members": ", ".join(FOREIGN),
    # scikit-learn adds these, with references into its own glossary
    "exclude-members": "set_fit_request, set_partial_fit_request, set_predict_request, "
    "set_score_request",
}
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = "div.highlight:not(.sphx-glr-script-out *) pre"  # not what was printed

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "backreferences_dir": "gallery/uses",  # which examples use a name, for the name's own page
    "doc_module": ("credo",),
    "reference_url": {"credo": None},
    "ignore_pattern": "make_",
    "subsection_order": [f"../examples/{group}" for group in GROUPS],
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": ("_repr_html_",),
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
}

html_theme = "furo"
html_title = "Credo"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
pygments_dark_style = "a11y-high-contrast-dark"
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0072B2"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#56B4E9"},
}

#: MathJax as its package ships it (Apache licence 2.0): one script, and the fonts beside it.
MATHJAX = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"
mathjax_path = "mathjax/tex-chtml.js"
mathjax3_config = {"options": {"enableMenu": False}}  # the menu would load more, from elsewhere


def synonyms() -> dict[str, list[str]]:
    """Return the words of the glossary by the page that each row of it leads to."""
    found: dict[str, list[str]] = {}
    text = (Path(__file__).parent / "reference" / "glossary.md").read_text(encoding="utf-8")
    row = re.compile(
        r"^\| ([^|]+) \|[^|]+\| \[[^]]+\]\(\.\./([\w/-]+)\.md[^)]*\) \|$", re.MULTILINE
    )
    for words, page in row.findall(text):
        plain = re.sub(r" \([^)]*\)|`", "", words).replace("–", "-")
        found.setdefault(page, []).extend(plain.split(", "))
    return found


SYNONYMS = synonyms()


def add_synonyms(_app: Sphinx, page: str, source: list[str]) -> None:
    """Put the words of the glossary into the index of the page, where the search finds them."""
    if page in SYNONYMS:
        words = f"\n\n```{{index}} {', '.join(f'! {word}' for word in SYNONYMS[page])}\n```"
        source[0] = re.sub(
            r"^# .*$", lambda title: title[0] + words, source[0], count=1, flags=re.MULTILINE
        )


def draw_lectures(app: Sphinx) -> None:
    """Draw the pictures of the companion, unless those there are newer than their script."""
    script, folder = app.srcdir / "lectures.py", app.srcdir / "_generated" / "lectures"
    drawn = [picture.stat().st_mtime for picture in folder.glob("*.png")]
    if min(drawn, default=0.0) < script.stat().st_mtime:
        runpy.run_path(str(script))["draw_figures"](folder)


def finish(app: Sphinx, error: Exception | None) -> None:
    """Put MathJax into the site; remove pictures that the examples wrote beside themselves."""
    if error is None:
        target, fonts = app.outdir / "_static" / "mathjax", "output/chtml/fonts/woff-v2"
        copy_asset(MATHJAX / "tex-chtml.js", target)
        copy_asset(MATHJAX / fonts, target / fonts)
    for group in GROUPS:
        shutil.rmtree(Path(__file__).parents[1] / "examples" / group / "build", ignore_errors=True)


def setup(app: Sphinx) -> None:
    """Register what the build does besides."""
    app.connect("builder-inited", draw_lectures)
    app.connect("source-read", add_synonyms)
    app.connect("build-finished", finish)
