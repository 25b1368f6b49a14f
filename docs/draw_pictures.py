"""Draw the pictures in ``docs/_static`` by the tutorials and examples that show their code."""

import doctest
import os
import re
import runpy
import tempfile
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).parent
SHOWN = sorted((DOCS / "_static").glob("*.png"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def run(page: Path) -> None:
    """Run an example, or the code of a page."""
    if page.suffix == ".py":
        runpy.run_path(str(page), run_name="__main__")
        return
    code = "\n".join(BLOCK.findall(page.read_text(encoding="utf-8")))
    test = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), 0)
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS).run(test)


def draw(page: Path) -> list[Path]:
    """Run a page or an example in an empty folder; keep the pictures that the pages show."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run(page)
        os.chdir(DOCS)
        found = {each.name: each for each in sorted(Path(folder).rglob("*.png"))}
        kept = [each for each in SHOWN if each.name in found]
        for each in kept:  # in 256 colours, which takes a third of the bytes
            Image.open(found[each.name]).convert("RGB").quantize(dither=0).save(each, optimize=True)
        return kept


if __name__ == "__main__":
    examples = sorted((DOCS.parent / "examples").glob("*/plot_*.py"))
    for source in [*sorted((DOCS / "tutorials").glob("first_*.md")), *examples]:
        if any(each.name in source.read_text(encoding="utf-8") for each in SHOWN):
            print(source.name, "->", *draw(source))
