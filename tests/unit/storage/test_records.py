"""Records are stored as they declare themselves, and what declares nothing is refused by name."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from credo._types import F64, Bool, Int, Labels
from credo.classifiers._base import LearnsFromSummary
from credo.exceptions import InputError
from credo.storage.codec import Fault, Page, Shelf, as_text, parse, read_object, write_object


@dataclass(frozen=True, eq=False)
class Leaf:
    values: Annotated[F64, "K D"]
    names: Annotated[Labels, "D", "distinct"]
    kept: Annotated[Bool, "D"] | None = None


@dataclass(frozen=True, eq=False)
class Stem:
    counts: Annotated[Int, "K", ">= 0"]
    word: str
    leaf: Leaf


@dataclass(frozen=True, eq=False)
class Tree:
    classes: Annotated[Any, "K"]
    detail: Literal["full", "tied"]
    scatter: Annotated[F64, {"full": "K D D", "tied": "D D"}, "detail"]
    amounts: Annotated[F64, ("", "K")]
    odd: Annotated[F64, "K 2", "any"]
    columns: Annotated[Labels | range, "D"]
    texts: Annotated[tuple[str, ...], "T"]
    n_classes: Annotated[int, "K"]
    steps: int
    share: float
    is_done: bool
    name: str | None
    leaf: Annotated[Leaf, "K"]
    either: Leaf | Stem
    parts: Annotated[tuple[Leaf | Stem, ...], "K"]
    none: tuple[Stem, ...] = ()
    made: int = field(init=False, default=7)

    def _check(self) -> None:
        if self.steps > 9:
            raise InputError("Too many steps.")


def leaf(size, n_classes=3):
    """Make a leaf with so many columns."""
    names = tuple(f"column {j}" for j in range(size))
    kept = np.arange(size) % 2 == 0 if size % 2 else None
    return Leaf(np.arange(n_classes * size, dtype=float).reshape(n_classes, size), names, kept)


def stem(size, word="é"):
    """Make a stem."""
    return Stem(np.array([1, 2, size]), word, leaf(size))


TREE = Tree(
    np.array(["a", "b", "ç"]),
    "full",
    np.arange(12.0).reshape(3, 2, 2),
    np.array(0.5),
    np.array([[np.nan, np.inf]] * 3),
    range(2),
    ("x", "x", ""),
    3,
    4,
    float("inf"),
    is_done=True,
    name=None,
    leaf=leaf(5),
    either=stem(2),
    parts=(leaf(1), stem(4), leaf(0), stem(3, ""), leaf(2)),
)


def through_a_file(record, change=lambda _tree, _arrays: None):
    """Write a record, perhaps change what was written, and read it."""
    page = Page("test")
    tree = write_object(record, "it", page)
    change(tree, page.arrays)
    shelf = Shelf(page.arrays, 10_000)
    made = read_object(type(record), parse(as_text(tree), "it"), "it", shelf)
    assert shelf.used == set(page.arrays)
    return made


def assert_same(one, other):
    """Check that two records are alike to the last bit and type."""
    assert type(one) is type(other)
    if is_dataclass(one):
        for each in fields(one):
            assert_same(getattr(one, each.name), getattr(other, each.name))
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_same(*pair)
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()
    else:
        assert one == other


@pytest.mark.parametrize(
    "tree",
    [
        TREE,
        replace(TREE, detail="tied", scatter=np.eye(2), amounts=np.ones(3), name="oak", parts=()),
        replace(TREE, columns=("p", 3), either=leaf(2), none=(stem(0), stem(1)), texts=()),
    ],
)
def test_a_record_with_a_field_of_each_kind_comes_back(tree):
    assert_same(through_a_file(tree), tree)


def test_many_records_take_few_arrays():
    page = Page("test")
    write_object(replace(TREE, parts=tuple(leaf(j % 7) for j in range(500))), "it", page)
    assert len(page.arrays) < 40


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda _, a: a.update({"it.scatter": np.zeros((3, 2, 3))}), "where D of (K D D) is 2"),
        (lambda _, a: a.update({"it.scatter": np.zeros((3, 2))}), "2 axes"),
        (lambda _, a: a.update({"it.amounts": np.array(np.nan)}), "NaN"),
        (lambda _, a: a.update({"it.amounts": np.array(1)}), "of type int64"),
        (lambda _, a: a.update({"it.either.Stem.counts": np.array([1, -2, 3])}), "not at least 0"),
        (lambda _, a: a.update({"it.classes": np.array([[97], [98], [97]], "u4")}), "twice"),
        (lambda t, _: t.update(detail="half"), "none of full, tied"),
        (lambda t, _: t.update(n_classes=4), "where K of (K) is 3"),
        (lambda t, _: t.update(steps=-1), "not a whole number"),
        (lambda t, _: t.update(steps=1.0), "not a whole number"),
        (lambda t, _: t.update(share=1), "not a float"),
        (lambda t, _: t.update(is_done=0), "not a bool"),
        (lambda t, _: t.update(name=5), "not a str"),
        (lambda t, _: t.update(made=7), "'made', which is not known"),
        (lambda t, _: t.pop("share"), "lacks the field 'share'"),
        (lambda t, _: t["either"].update(Tree=t["either"].pop("Stem")), "'Tree', which is not"),
        (lambda t, _: t.update(parts=[]), "not a table of fields"),
        (lambda t, _: t["parts"].update(of=None), "another number of records"),
        (lambda _, a: a.update({"it.parts.sizes": np.array([2**40])}), "more values"),
        (lambda t, _: t["parts"]["of"]["of"].pop("Leaf"), "other classes than it says"),
        (lambda _, a: a.update({"it.parts.which": np.array([0, 1, 0, 1, 9])}), "other classes"),
        (lambda _, a: a.update({"it.parts.which": np.array([0, 1, 0, 1])}), "other classes"),
        (lambda _, a: a["it.parts.Leaf.values.shapes"].__setitem__((0, 1), 2), "do not fit"),
        (lambda _, a: a["it.parts.Leaf.values.shapes"].__setitem__(0, [1, 3]), "where K of"),
        (lambda _, a: a["it.parts.Leaf.kept.sizes"].__setitem__(1, 2), "how many there are"),
        (lambda _, a: a["it.parts.Leaf.kept.sizes"].__setitem__(1, 1), "not a stack"),
    ],
    ids=range(26),
)
def test_what_is_not_as_declared_is_refused(change, told):
    def copied(tree, arrays):
        arrays.update({name: array.copy() for name, array in arrays.items()})
        change(tree, arrays)

    with pytest.raises(Fault) as caught:
        through_a_file(TREE, copied)
    assert told in str(caught.value)


@pytest.mark.parametrize("lengths", [[-1] * 9, [0] * 9, [2**60] * 9, [0, 1] * 4])
def test_tuples_of_other_lengths_are_refused(lengths):
    def change(_, arrays):
        arrays["it.parts.Leaf.names.lengths"] = np.array(lengths)

    with pytest.raises(Fault, match="do not fit|not a list of 9"):
        through_a_file(replace(TREE, parts=tuple(leaf(j % 7) for j in range(9))), change)


def test_a_record_checks_itself_when_it_is_read_and_only_then():
    with pytest.raises(InputError, match="Too many steps"):
        through_a_file(replace(TREE, steps=10))


@dataclass(frozen=True)
class Bare:
    values: F64


@dataclass(frozen=True)
class Holder:
    inner: tuple[Bare, ...]


@dataclass(frozen=True)
class Marked:
    values: Annotated[F64, "K", "> 0"]


class NoRecord:
    values: Annotated[F64, "K"]


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (Bare, "Bare: 'values' is declared as"),
        (Holder, "Holder: Bare: 'values' is declared as"),
        (Marked, "Marked: 'values' is declared as"),
        (NoRecord, r"'Model\.Summary' is declared as .*NoRecord"),
        (dict, r"'Model\.Summary' is declared as"),
    ],
)
def test_a_model_of_an_undeclared_record_is_refused_by_name_when_it_is_defined(record, told):
    with pytest.raises(TypeError, match=told):
        type("Model", (LearnsFromSummary,), {"Summary": record})
    with pytest.raises(TypeError, match=told.replace("Summary", "Fitted")):
        type("Model", (LearnsFromSummary,), {"Summary": Leaf, "Fitted": record})
    assert "Model" not in LearnsFromSummary.known


def test_all_models_that_learn_from_a_summary_are_known():
    known = {"GaussianClassifier", "GaussianRegressor", "NaiveBayes", "TextClassifier"}
    assert known <= set(LearnsFromSummary.known)
