"""What a type checker sees is what Python loads."""

import ast
import importlib
from pathlib import Path

import pytest

LAZY = ["credo", "credo.classifiers", "credo.decisions", "credo.families"]


@pytest.mark.parametrize("package", LAZY)
def test_type_checkers_see_every_lazy_name(package):
    module = importlib.import_module(package)
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.asname: getattr(importlib.import_module(line.module), alias.name)
        for line in block.body
        for alias in line.names
    }
    rooms = {path.parent.name for path in Path(module.__file__).parent.glob("*/__init__.py")}
    lazy = set(dir(module)) - rooms - {"exceptions"}
    assert set(seen) == lazy
    assert all(getattr(module, name) is value for name, value in seen.items())
