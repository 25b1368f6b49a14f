"""The lobby: every public name opens, stays what it is, and has its place in the reference."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import credo

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
ROOMS = [
    "classifiers",
    "decisions",
    "exceptions",
    "families",
    "formats",
    "graphs",
    "images",
    "inference",
    "plots",
    "posterior",
    "storage",
    "tables",
]

PRINTING = """
import credo
import credo.columns
loss = credo.Loss.from_dict({("cancer", "treat"): 0, ("cancer", "discharge"): 1000,
                             ("normal", "treat"): 1, ("normal", "discharge"): 0})
choice = credo.decide([[0.01, 0.99], [0.0001, 0.9999], [1 / 1001, 1000 / 1001]],
                      loss.with_reject({"normal": 0.5, "cancer": 0.5}), labels=["cancer", "normal"])
print(loss, choice, choice.to_dict(), choice.acts, dir(credo), dir(credo.decisions), sep="\\n")
print(credo.Loss.class_costs({"c": 3, "a": 1, "b": 2}).with_reject(0.9).dominated_acts())
print(credo.JointTable([[0.4, 0.2], [0.1, 0.3]], {"w": ["sun", "rain"], "air": ["hot", "cold"]}))
try:
    credo.decide([0.5, 0.5], loss, labels=["cancre", "nomal"])
except credo.exceptions.LabelError as error:
    print(error)
for cells in ([*"the quick brown fox", None, 1, 2.5, True, b"x"] * 2, [*"the lazy dog", None]):
    words = credo.columns.read_table([[cell] for cell in cells], "Test").words(0)
    print(words.codes.tolist(), words.categories)
docs = ["zeta alpha beta", "beta gamma", "delta alpha", "eps zeta zeta", "eta theta", "iota"]
for options in ({}, {"max_words": 3}, {"vocabulary": "relevant", "max_words": 4}, {"hashing": 16},
                {"vocabulary": "no_stop_words", "stop_words": ["alpha", "iota"]},
                {"model": "multinomial"}):
    text = credo.TextClassifier(**options)
    for i in (0, 2, 4):
        text.partial_fit(docs[i : i + 2], ["b", "a", "c", "a", "b", "c"][i : i + 2])
    scores = text.decision_function(docs).tolist()
    print(text.words_, scores, text.explain(docs[0]), text.top_words(3))
"""


def public_names():
    """``(package, name)`` of everything a user may import."""
    pairs = [("credo", name) for name in dir(credo) if name not in ROOMS]
    for room in ROOMS:
        package = importlib.import_module(f"credo.{room}")
        names = getattr(package, "__all__", None) or dir(package)
        pairs += [
            (package.__name__, name)
            for name in names
            if not name.startswith("_") and name != "annotations"
        ]
    return pairs


PUBLIC = public_names()


def test_the_lobby_lists_names_and_rooms_in_order():
    assert dir(credo) == sorted(dir(credo))
    assert set(ROOMS) <= set(dir(credo))
    assert {"Loss", "Posterior", "decide"} <= set(dir(credo))


def test_a_public_name_opens_and_is_no_module():
    homes = [(importlib.import_module(package), name) for package, name in PUBLIC]
    for _ in range(2):  # loading a module of the same name must not take the name's place
        modules = [
            f"{home.__name__}.{name}"
            for home, name in homes
            if isinstance(getattr(home, name), ModuleType)
        ]
        assert not modules


def test_a_public_name_has_its_entry_in_the_reference():
    pages = [(REFERENCE / f"{room}.md").read_text(encoding="utf-8") for room in ROOMS]
    entries = re.findall(r"^   (credo\.[\w.]+)$", "\n".join(pages), re.MULTILINE)
    documented = {id(_resolve(entry)) for entry in entries}
    names = [f"{package}.{name}" for package, name in PUBLIC]
    assert [name for name in names if id(_resolve(name)) not in documented] == []


def _resolve(path):
    package, _, name = path.rpartition(".")
    return getattr(importlib.import_module(package), name)


def test_no_public_name_is_also_a_module_that_would_take_its_place():
    for package in ("classifiers", "decisions", "families"):
        home = importlib.import_module(f"credo.{package}")
        modules = {path.stem for path in Path(home.__file__).parent.glob("*.py")}
        assert not modules & set(home.__all__)


def test_a_room_opens_by_its_name():
    for room in ROOMS:
        assert getattr(credo, room) is importlib.import_module(f"credo.{room}")


@pytest.mark.parametrize("package", ["credo", "credo.decisions", "credo.classifiers"])
def test_an_unknown_name_is_an_attribute_error_that_names_it(package):
    with pytest.raises(AttributeError, match=rf"module '{package}' has no attribute 'desicions'"):
        _ = importlib.import_module(package).desicions


def test_the_citation_names_the_version_and_the_licence_of_the_package():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert f"version: {credo.__version__}" in citation
    assert "license: BSD-3-Clause" in citation


def test_the_hash_seed_changes_nothing_that_is_printed():
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", PRINTING],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("0", "77")
    ]
    one, other = (run.communicate(timeout=120)[0] for run in runs)
    assert one == other
    assert "discharge" in one
    assert "zeta" in one
