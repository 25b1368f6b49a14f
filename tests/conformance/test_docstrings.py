"""Every public object says what it takes, what it gives, and shows it."""

import importlib
import inspect
from pathlib import Path

import pytest
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
    return [(package, name) for name in dir(home) if name not in rooms]


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


@pytest.mark.parametrize(("package", "name"), PUBLIC)
def test_a_public_name_is_documented(package, name):
    thing = _load(package, name)
    assert callable(thing)
    if inspect.isclass(thing):
        assert not _faults(thing, RESULT_CHECKS if _is_result(thing) else CLASS_CHECKS)
    else:
        assert not _faults(thing, FUNCTION_CHECKS)


@pytest.mark.parametrize(("package", "name"), LOBBY)
def test_a_name_of_the_lobby_shows_an_example(package, name):
    assert not _faults(_load(package, name), {"EX01"})


@pytest.mark.parametrize(("package", "name"), PUBLIC)
def test_the_members_of_a_public_class_are_documented(package, name):
    thing = _load(package, name)
    faults = {}
    for member, value in _members(thing).items() if inspect.isclass(thing) else ():
        if isinstance(value, property):
            faults[member] = [] if inspect.getdoc(value) else ["no docstring"]
        elif inspect.isroutine(value):
            faults[member] = _faults(getattr(thing, member), METHOD_CHECKS)
    assert not {member: found for member, found in faults.items() if found}
