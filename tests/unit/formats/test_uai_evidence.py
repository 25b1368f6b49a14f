"""UAI evidence files in their three forms."""

from pathlib import Path

import pytest

from credo.exceptions import FileFormatError, InputError, LabelError
from credo.formats.uai import read_uai, read_uai_evidence, write_uai_evidence
from credo.graphs import FactorGraph

PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "graphical" / "uai"
ALL = sorted(PUBLISHED.rglob("*.uai.gz"))


@pytest.fixture
def model():
    graph = FactorGraph()
    graph.variable("rain", ["no", "yes"])
    graph.variable("wet", ["dry", "damp", "soaked"])
    graph.variable("slippery", ["no", "yes"])
    return graph


@pytest.fixture
def read(tmp_path, model):
    def reader(text, **more):
        path = tmp_path / "x.uai.evid"
        path.write_text(text)
        return read_uai_evidence(path, model, **more)

    return reader


@pytest.mark.parametrize("text", ["0", "0\n", "0\n2 0\n", "0 1 2 3", "", "\n", "1 0", "1\n0\n"])
def test_no_evidence_is_an_empty_dictionary(read, text):
    assert read(text) == {}


@pytest.mark.parametrize(
    "text",
    ["2 1 2 0 1", "2 1 2 0 1\n", "2\n1 2\n0 1", "1\n2 1 2 0 1", "1 2 1 2 0 1 \n", "3 1 2 0 1 1 2"],
    ids=["usual", "line end", "lines", "older", "older on a line", "the same twice"],
)
def test_evidence_is_given_by_names(read, text):
    evidence = read(text)
    assert evidence == {"wet": "soaked", "rain": "yes"}
    assert list(evidence) == ["wet", "rain"]


def test_one_of_several_older_sets_is_chosen_by_its_number(read):
    text = "3\n1 0 1\n0\n2 1 2 2 0\n"
    assert [read(text, number=i) for i in range(3)] == [
        {"rain": "yes"},
        {},
        {"wet": "soaked", "slippery": "no"},
    ]
    with pytest.raises(InputError, match="has 3 sets of evidence, numbered from 0. Got number=3"):
        read(text, number=3)


def test_where_both_forms_fit_the_usual_one_is_taken(read):
    assert read("2 0 1 1 0") == {"rain": "yes", "wet": "dry"}


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("1 3 0", 3, "no variable 3: the model has 3, from 0 on"),
        ("1 1 3", 5, "Variable 1 has no state 3: it has 3, from 0 on"),
        ("2 0 1 0 0", 7, "'rain' is observed in two states"),
        ("2 0 1", 1, "Evidence on 2 variables takes 5 numbers. Got 3"),
        ("1 0 1 2 3", 1, "Evidence on 1 variables takes 3 numbers. Got 5"),
        ("x", 1, "Expected a number, got 'x'"),
        ("1 0 -1", 5, "a whole number from 0 on, got -1.0"),
        ("1.5", 1, "a whole number from 0 on, got 1.5"),
        ("1e15 0 1", 1, "takes 2000000000000001 numbers"),
    ],
)
def test_damage_is_named_with_its_place(read, text, column, message):
    with pytest.raises(FileFormatError) as caught:
        read(text)
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (1, column)


def test_what_is_written_is_read_back(tmp_path, model):
    evidence = {"slippery": "yes", "wet": "damp"}
    write_uai_evidence(evidence, tmp_path / "x.evid", model)
    assert (tmp_path / "x.evid").read_text() == "2 2 1 1 1\n"
    assert read_uai_evidence(tmp_path / "x.evid", model) == evidence


def test_unknown_names_and_states_are_not_written(tmp_path, model):
    with pytest.raises(LabelError, match="no variable 'snow'"):
        write_uai_evidence({"snow": "yes"}, tmp_path / "x.evid", model)
    with pytest.raises(LabelError, match="no state 'maybe'"):
        write_uai_evidence({"rain": "maybe"}, tmp_path / "x.evid", model)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", ALL, ids=lambda path: f"{path.parent.name}/{path.name[:-7]}")
def test_published_evidence_is_read(path):
    file = path.with_name(path.name.removesuffix(".gz") + ".evid")
    words = list(map(int, file.read_text().split()))
    evidence = read_uai_evidence(file, read_uai(path))
    count = words[0]
    assert evidence == dict(
        zip(words[1 : 2 * count : 2], words[2 : 2 * count + 1 : 2], strict=True)
    )


def test_reading_lists_the_variables_once_whatever_the_number_of_findings(read, monkeypatch):
    asked = []
    kept = FactorGraph.variables.fget
    counting = property(lambda graph: asked.append(1) or kept(graph))
    monkeypatch.setattr(FactorGraph, "variables", counting)
    assert read("3 0 1 1 2 2 0") == {"rain": "yes", "wet": "soaked", "slippery": "no"}
    assert len(asked) == 1


def test_a_path_in_the_place_of_the_evidence_is_named(tmp_path, model):
    with pytest.raises(InputError, match="takes the evidence .*, then the path.*Got str"):
        write_uai_evidence(str(tmp_path / "x.evid"), {"rain": "yes"}, model)
