"""Sizes and bans: what every source file keeps to, read from its syntax tree."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "credo"
FILES = sorted(SOURCE.rglob("*.py"))

MOST_LINES_OF_A_FUNCTION = 40
MOST_LINES_OF_A_KERNEL = 60
MOST_METHODS_OF_A_CLASS = 15

#: Where modules are loaded by name, and why nowhere else: the walls cannot see such imports.
LOADS_BY_NAME = {"_lazy.py", "_results.py", "cli"}
UNSAFE_CALLS = {"eval", "exec"}
UNSAFE_MODULES = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _name(path):
    return path.relative_to(SOURCE).as_posix()


def _room(path):
    return path.relative_to(SOURCE).parts[0]


def _tree(path):
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _nodes(path, kinds):
    return [node for node in ast.walk(_tree(path)) if isinstance(node, kinds)]


def _lines_of_code(function, *, with_signature=True):
    """Lines from ``def`` to the end, without the docstring: nobody saves by documenting less."""
    start = function.lineno if with_signature else function.body[0].lineno
    lines = function.end_lineno - start + 1
    if ast.get_docstring(function) is None:
        return lines
    return lines - (function.body[0].end_lineno - function.body[0].lineno + 1)


def _methods(cls):
    """Public methods; a property is a value, not a method."""
    return [
        item.name
        for item in cls.body
        if isinstance(item, FUNCTIONS)
        and not item.name.startswith("_")
        and not any(ast.unparse(mark).endswith("property") for mark in item.decorator_list)
    ]


def _calls(path):
    """Names that are called, as written: ``print``, ``importlib.import_module``."""
    return {ast.unparse(node.func) for node in _nodes(path, ast.Call)}


def _imports(path):
    """Top-level names of the modules imported, and the names taken from them."""
    plain = {alias.name for node in _nodes(path, ast.Import) for alias in node.names}
    taken = _nodes(path, ast.ImportFrom)
    return {
        *(name.split(".")[0] for name in plain),
        *(node.module.split(".")[0] for node in taken),
        *(alias.name for node in taken for alias in node.names),
    }


def test_there_are_sources_to_look_at():
    assert any(path.name == "loss.py" for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=_name)
class TestEveryFile:
    def test_has_functions_that_fit_a_screen(self, path):
        whole = _room(path) != "cli"  # the signature of a command declares its options
        sizes = {
            function.name: _lines_of_code(function, with_signature=whole)
            for function in _nodes(path, FUNCTIONS)
        }
        most = MOST_LINES_OF_A_KERNEL if _room(path) == "_kernels" else MOST_LINES_OF_A_FUNCTION
        assert not {name: size for name, size in sizes.items() if size > most}

    def test_has_classes_with_few_methods(self, path):
        wide = {
            cls.name: _methods(cls)
            for cls in _nodes(path, ast.ClassDef)
            if len(_methods(cls)) > MOST_METHODS_OF_A_CLASS
        }
        assert not wide

    def test_prints_only_in_the_command_line(self, path):
        assert _room(path) == "cli" or "print" not in _calls(path)

    def test_runs_no_text_as_code_and_unpickles_nothing(self, path):
        assert not _calls(path) & UNSAFE_CALLS
        assert not _imports(path) & UNSAFE_MODULES

    def test_loads_by_name_only_at_the_known_doors(self, path):
        loads = _imports(path) & {"importlib", "import_module"} or "__import__" in _calls(path)
        assert _room(path) in LOADS_BY_NAME or not loads
