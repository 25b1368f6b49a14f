"""What a type checker sees is what Python loads."""

import ast
import importlib
from pathlib import Path

import pytest


def _seen(lines):
    """``{name: value}`` of import lines that a type checker reads."""
    return {
        alias.asname: getattr(importlib.import_module(line.module), alias.name)
        for line in lines
        for alias in line.names
    }


def _tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("package", ["credo", "credo.tables"])
def test_type_checkers_see_every_name_of_a_stub(package):
    module = importlib.import_module(package)
    lines = _tree(Path(module.__file__).with_suffix(".pyi")).body
    seen = _seen(lines)
    assert set(seen) - {"__version__"} == set(dir(module))
    assert all(getattr(module, name) is value for name, value in seen.items())
    assert all(alias.asname == alias.name for line in lines for alias in line.names)
