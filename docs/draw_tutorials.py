"""Draw the pictures of the tutorials into ``docs/_static``, by the code that they show."""

import doctest
import os
import re
import shutil
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def draw(page: Path) -> list[Path]:
    """Run the code of a page in an empty folder; keep the pictures that it saves with its name."""
    code = "\n".join(BLOCK.findall(page.read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        test = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), 0)
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS).run(test)
        os.chdir(DOCS)
        found = sorted(Path(folder).glob(f"{page.stem}*.png"))
        return [Path(shutil.copy(each, DOCS / "_static" / each.name)) for each in found]


if __name__ == "__main__":
    for tutorial in sorted((DOCS / "tutorials").glob("first_*.md")):
        print(tutorial.name, "->", *draw(tutorial))
