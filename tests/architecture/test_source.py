"""Bans: what every source file keeps to, read from its syntax tree."""

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "credo"
FILES = sorted(SOURCE.rglob("*.py"))

#: Where modules are loaded by name, and why nowhere else: the walls cannot see such imports.
LOADS_BY_NAME = ("_lazy.py", "_results.py", "inference/engines.py", "cli/")
UNSAFE_CALLS = {"eval", "exec"}
UNSAFE_MODULES = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}


def _room(path):
    return path.relative_to(SOURCE).parts[0]


@cache
def _calls_and_imports(path):
    """Names that are called, as written; modules imported, and the names taken from them."""
    calls, imports = set(), set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        match node:
            case ast.Call():
                calls.add(ast.unparse(node.func))
            case ast.Import():
                imports |= {alias.name.split(".")[0] for alias in node.names}
            case ast.ImportFrom():
                imports |= {node.module.split(".")[0], *(alias.name for alias in node.names)}
    return calls, imports


def _calls(path):
    return _calls_and_imports(path)[0]


def _imports(path):
    return _calls_and_imports(path)[1]


def _offenders(is_offence):
    return [path.relative_to(SOURCE).as_posix() for path in FILES if is_offence(path)]


def test_calls_and_imports_are_seen(tmp_path):
    path = tmp_path / "source.py"
    path.write_text(
        "import pickle.x as p\nfrom importlib.util import find_spec\n"
        "def f():\n    print(eval('1'), importlib.import_module('a'))\n",
        encoding="utf-8",
    )
    assert _calls(path) == {"print", "eval", "importlib.import_module"}
    assert _imports(path) == {"pickle", "importlib", "find_spec"}


def test_there_are_sources_to_look_at():
    assert any(path.name == "loss.py" for path in FILES)


def test_only_the_command_line_prints():
    assert not _offenders(lambda path: _room(path) != "cli" and "print" in _calls(path))


def test_no_text_is_run_as_code():
    assert not _offenders(lambda path: _calls(path) & UNSAFE_CALLS)


def test_nothing_is_unpickled():
    assert not _offenders(lambda path: _imports(path) & UNSAFE_MODULES)


def test_modules_are_loaded_by_name_only_at_the_known_doors():
    def loads(path):
        return _imports(path) & {"importlib", "import_module"} or "__import__" in _calls(path)

    def is_door(path):
        return path.relative_to(SOURCE).as_posix().startswith(LOADS_BY_NAME)

    assert not _offenders(lambda path: not is_door(path) and loads(path))
