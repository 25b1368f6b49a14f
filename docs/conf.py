"""Settings of the documentation; built by ``make docs``."""

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
    "sphinx.ext.viewcode",
]
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

autosummary_generate = False  # entries are written out in reference/api.md, nothing is generated
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc's parameter lists say it
autodoc_default_options = {
    "members": True,
    # scikit-learn adds these, with references into its own glossary
    "exclude-members": "set_fit_request, set_partial_fit_request, set_predict_request, "
    "set_score_request",
}
numpydoc_show_class_members = False

html_theme = "furo"
html_title = "Credo"
html_static_path = ["_static"]
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0072B2"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#56B4E9"},
}
