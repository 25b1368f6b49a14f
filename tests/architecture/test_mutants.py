"""The tables of described faults fit the source: each can be planted, and its tests are there."""

import ast
import re
from collections import Counter
from functools import cache

from tests.mutants.run import ROOT, read_faults

FAULTS = read_faults()
SOURCE = ROOT / "src"


@cache
def _named(path):
    """Give the tests of a file as node ids name them, ``test_this`` or ``TestThat::test_this``."""
    body = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
    classes = [(f"{each.name}::", each.body) for each in body if isinstance(each, ast.ClassDef)]
    return {
        f"{owner}{each.name}"
        for owner, inside in [("", body), *classes]
        for each in inside
        if isinstance(each, ast.FunctionDef)
    }


def _is_there(test):
    path, _, name = test.partition("::")
    return (ROOT / path).is_file() and name.partition("[")[0] in _named(path)


def test_the_code_of_each_fault_stands_once_in_its_file():
    moved = {fault.words: fault.file for fault in FAULTS if fault.occurrences(SOURCE) != 1}
    assert not moved


def test_a_planted_fault_is_other_code_and_python_still_python():
    for fault in FAULTS:
        text = (SOURCE / "credo" / fault.file).read_text(encoding="utf-8")
        if fault.file.endswith(".py"):
            ast.parse(text.replace(fault.code, fault.becomes))
        bare = [re.sub(r"#.*|\s", "", code) for code in (fault.code, fault.becomes)]
        assert bare[0] != bare[1], fault.words


def test_the_tests_that_notice_a_fault_are_there():
    lost = {fault.words: fault.tests for fault in FAULTS if not all(map(_is_there, fault.tests))}
    assert not lost
    assert all(fault.tests for fault in FAULTS)


def test_each_fault_is_described_once():
    times = Counter(fault.words for fault in FAULTS)
    assert times.most_common(1)[0][1] == 1
