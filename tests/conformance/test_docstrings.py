"""Every public object says what it takes, what it gives, and shows it."""

import importlib
import inspect
from pathlib import Path

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

ROOMS = ["credo", "credo.decisions", "credo.families"]

#: GL08 no docstring, PR01/PR02 a parameter missing or unknown, RT01 a result not described,
#: SS03/SS05 a summary without full stop or not in the imperative, EX01 no example.
FUNCTION_CHECKS = {"GL08", "PR01", "PR02", "RT01", "SS03", "SS05"}
CLASS_CHECKS = {"GL08", "PR01", "PR02", "SS03"}
#: A result is made by a function, so its attributes are documented instead of its parameters.
RESULT_CHECKS = CLASS_CHECKS - {"PR01"}
METHOD_CHECKS = {"GL08", "PR02", "SS03"}


def _public(package):
    home = importlib.import_module(package)
    folder = Path(home.__file__).parent
    rooms = {path.stem for path in folder.iterdir()} if package == "credo" else set()
    return [(package, name) for name in home.__all__ if name not in rooms]


PUBLIC = [pair for package in ROOMS for pair in _public(package)]
LOBBY = [pair for pair in PUBLIC if pair[0] == "credo"]


def _load(package, name):
    return getattr(importlib.import_module(package), name)


def _is_result(cls):
    doc = inspect.getdoc(cls) or ""
    return "\nAttributes\n---" in doc or "Made by" in doc


def _faults(thing, checks):
    errors = validate(get_doc_object(thing))["errors"]
    return [f"{code}: {message}" for code, message in errors if code in checks]


def _members(cls):
    """Public methods and properties that the class itself defines."""
    return {name: value for name, value in vars(cls).items() if not name.startswith("_")}


def _own_faults(thing):
    if not callable(thing):
        return ["not callable"]
    if inspect.isclass(thing):
        return _faults(thing, RESULT_CHECKS if _is_result(thing) else CLASS_CHECKS)
    return _faults(thing, FUNCTION_CHECKS)


def _member_faults(thing, member, value):
    if isinstance(value, property):
        return [] if inspect.getdoc(value) else ["no docstring"]
    return _faults(getattr(thing, member), METHOD_CHECKS) if inspect.isroutine(value) else []


def test_public_names_are_documented():
    found = {f"{home}.{name}": _own_faults(_load(home, name)) for home, name in PUBLIC}
    assert {name: faults for name, faults in found.items() if faults} == {}


def test_names_of_the_lobby_show_an_example():
    assert [name for _, name in LOBBY if _faults(_load("credo", name), {"EX01"})] == []


def test_members_of_public_classes_are_documented():
    things = {f"{home}.{name}": _load(home, name) for home, name in PUBLIC}
    found = {
        f"{name}.{member}": _member_faults(thing, member, value)
        for name, thing in things.items()
        if inspect.isclass(thing)
        for member, value in _members(thing).items()
    }
    assert len(found) > 100
    assert {name: faults for name, faults in found.items() if faults} == {}
