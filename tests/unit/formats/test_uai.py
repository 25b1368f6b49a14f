"""UAI: models with names beside them, evidence, and results; parity checks in alist files."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from tests.work import bytes_in, calls_in

from credo.exceptions import FileFormatError, InputError, LabelError
from credo.formats import (
    read_uai,
    read_uai_evidence,
    read_uai_result,
    write_uai,
    write_uai_evidence,
    write_uai_result,
)
from credo.graphs import BayesianNetwork, FactorGraph, MarkovNetwork
from credo.inference import infer

READ = read_uai
PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "graphical" / "uai"
ALL = sorted(PUBLISHED.rglob("*.uai.gz"))

#: The example of the competition's own page, with a table of three variables.
MARKOV = """MARKOV
3
2 2 3
3
1 0
2 0 1
2 1 2

2
 0.436 0.564

4
 0.128 0.872
 0.920 0.080

6
 0.210 0.333 0.457
 0.811 0.000 0.189
"""

BAYES = "BAYES\n2\n2 3\n2\n2 0 1\n1 0\n6\n0.5 0.25 0.25 1 0 0\n2\n0.25 0.75\n"


def arrays(model):
    """Give all that a model is, for comparing bit for bit."""
    wiring = model.compile()
    kept = ("n_states", "scope_start", "scope", "table", "table_start", "values", "log_scale")
    return {
        "kind": type(model),
        "variables": list(model.variables),
        **{name: getattr(wiring, name).tolist() for name in kept},
    }


# --- reading -----------------------------------------------------------------------------------


def test_a_markov_file_is_a_factor_graph_whose_last_variable_is_fastest(read):
    graph = read(MARKOV)
    assert isinstance(graph, FactorGraph)
    assert graph.names == (0, 1, 2)
    assert graph[2].states == (0, 1, 2)
    assert graph.factors[2].table.tolist() == [[0.210, 0.333, 0.457], [0.811, 0.0, 0.189]]


def test_in_a_bayes_file_the_last_variable_of_a_scope_is_the_child(read):
    net = read(BAYES)
    assert isinstance(net, BayesianNetwork)
    assert net.parents(1) == (0,)
    assert net.table(1).tolist() == [[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]]
    assert net.table(0).tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    "text",
    [
        "BAYES 2 2 2 2 1 0 2 0 1  2 3 1  4 .5 .5 .5 .5",  # a row that sums to 4
        "BAYES 2 2 2 2 1 0 2 0 1  2 .5 .4998  4 .5 .5 .5 .5",  # one that is off by 2e-4
        "BAYES 2 2 2 2 2 1 0 2 0 1  4 .5 .5 .5 .5  4 .5 .5 .5 .5",  # a cycle
        "BAYES 2 2 2 2 1 0 1 0  2 .5 .5  2 .5 .5",  # a child twice
        "BAYES 2 2 2 1 1 0  2 .5 .5",  # a variable without a table
    ],
    ids=["sum", "tolerance", "cycle", "twice", "none"],
)
def test_a_bayes_file_that_is_no_network_is_a_factor_graph(read, text):
    assert isinstance(read(text), FactorGraph)


def test_constants_count(read):
    graph = read("MARKOV 2 3 2 3  1 0  0  0   3 1 2 3  1 0.5  1 4")
    assert math.exp(infer(graph).log_evidence) == pytest.approx((1 + 2 + 3) * 2 * 0.5 * 4)


@pytest.mark.parametrize(
    "text",
    [
        MARKOV.replace("\n", "\r\n"),
        MARKOV.replace("\n", " "),
        MARKOV.replace("MARKOV", "markov"),
        MARKOV.replace("2 0 1\n", "2 0 1   # rain, wet\n"),
        "\ufeff" + MARKOV,
        MARKOV.rstrip(),
    ],
    ids=["crlf", "one line", "case", "comment", "mark", "no last line end"],
)
def test_the_layout_does_not_matter(read, text):
    assert arrays(read(text)) == arrays(read(MARKOV))


def test_a_file_with_thousands_of_functions_is_read_with_few_calls_for_each(read):
    n, count = 1000, 3000
    scopes = "".join(f"2 {i % n} {(7 * i + 1) % n}\n" for i in range(count))
    text = f"MARKOV\n{n}\n{'2 ' * n}\n{count}\n{scopes}" + "4\n0.25 0.5 0.75 1.0\n" * count
    assert len(read(text).factors) == count
    assert calls_in(read, text) < 5 * count  # with an object for each factor there are more


# --- damage ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "Expected MARKOV or BAYES at the start, got nothing"),
        ("network {\n}", 1, 1, "got 'network'. Is it another format?"),
        ("MARKOV", 1, 7, "ends where the number of variables"),
        ("MARKOV\n0\n0", 2, 1, "at least one variable"),
        ("MARKOV\n-1", 2, 1, "a whole number from 0 on, got -1.0"),
        ("MARKOV\n1.5", 2, 1, "a whole number from 0 on, got 1.5"),
        ("MARKOV\n1\nnan", 3, 1, "a whole number from 0 on, got nan"),
        ("MARKOV\n2\n2", 3, 2, "ends where a number of states"),
        ("MARKOV\n2\n2 0\n0", 3, 3, "at least one state"),
        ("MARKOV\n1\n2\n1\n2 0 0\n4 1 1 1 1", 5, 1, "cannot have 2 variables: there are 1"),
        ("MARKOV\n2\n2 2\n1\n2 0 0\n4 1 1 1 1", 5, 5, "Variable 0 stands twice"),
        ("MARKOV\n2\n2 2\n1\n2 0 2\n4 1 1 1 1", 5, 5, "no variable 2: they are numbered 0 to 1"),
        ("MARKOV\n2\n2 2\n1\n2 0 0.5\n4 1 1 1 1", 5, 5, "a whole number"),
        ("MARKOV\n2\n2 2\n1\n2 0", 5, 4, "ends inside the scopes"),
        ("MARKOV\n1\n2\n1\n1 0\n3\n1 1 1", 6, 1, "must hold 2 numbers"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1", 7, 2, "ends inside a table"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1 1\n5", 8, 1, "more numbers than the preamble says"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1 x", 7, 3, "Expected a number, got 'x'"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1 1_0", 7, 3, "Expected a number, got '1_0'"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1 -1", 7, 3, "at least 0, got -1.0. If the file holds logs"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1 nan", 7, 3, "got nan"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n1 inf", 7, 3, "got inf"),
        ("MARKOV\n1\n2\n1\n1 0\n2\n0 0", 7, 1, "function 0 is all zero"),
    ],
    ids=str,
)
def test_damage_is_named_with_its_place(refused, text, line, column, message):
    error = refused(text)
    assert message in error.reason
    assert (error.line, error.column) == (line, column)


@pytest.mark.parametrize(
    "text",
    [
        "MARKOV 1000000000000",
        "MARKOV 1 1000000000000 0",
        "MARKOV 1 2 1000000000000",
        "MARKOV 2 1000000 1000000 1 2 0 1 1000000000000 1",
        f"MARKOV 99 {'999999999 ' * 99} 1 99 {' '.join(map(str, range(99)))} 1e308 1",
        f"MARKOV {'9' * 100_000}",
        f"MARKOV 1 1000 50001 1 0 {'0 ' * 50000} 1000 {'1 ' * 1000} {'1 1 ' * 50000}",
    ],
    ids=["variables", "states", "functions", "cells", "product", "digits", "constants"],
)
def test_a_file_that_promises_more_than_it_holds_is_refused_at_once(refused, text):
    assert bytes_in(refused, text) < 2e7


# --- writing -----------------------------------------------------------------------------------


def test_a_markov_network_with_shared_tables_is_written(tmp_path):
    net = MarkovNetwork.from_arrays(
        np.full((3, 2), 0.5), np.array([[0, 1], [1, 2]]), np.array([[2.0, 1.0], [1.0, 3.0]])
    )
    write_uai(net, tmp_path / "x.uai")
    back = read_uai(tmp_path / "x.uai")
    assert infer(back).log_evidence == pytest.approx(infer(net).log_evidence, rel=1e-14)
    assert not (tmp_path / "x.uai.names.json").exists()


def test_rules_become_tables_with_the_same_sums_and_marginals(tmp_path):
    graph = FactorGraph()
    bits = [graph.variable(f"b{i}", ["no", "yes"]) for i in range(5)]
    for i, bit in enumerate(bits):
        graph.factor([bit], [1.0, 0.25 + i])
    graph.parity(bits)
    graph.at_most_one(bits[:3])
    write_uai(graph, tmp_path / "x.uai")
    back = read_uai(tmp_path / "x.uai")
    given, found = infer(graph), infer(back)
    assert found.log_evidence == pytest.approx(given.log_evidence, rel=1e-12)
    for bit in bits:
        assert found[bit.name]["yes"] == pytest.approx(given[bit.name]["yes"], rel=1e-12)


def test_auxiliary_variables_have_names_of_their_own(tmp_path):
    graph = FactorGraph()
    bits = [graph.variable(f"auxiliary {i}", 2) for i in range(5)]
    graph.parity(bits)
    write_uai(graph, tmp_path / "x.uai")
    back = read_uai(tmp_path / "x.uai")
    assert back.names[:5] == graph.names
    assert back.names[5] == "auxiliary 1'"
    assert infer(back).log_evidence == pytest.approx(math.log(2**4), rel=1e-14)


def test_something_else_than_a_model_is_refused(tmp_path):
    with pytest.raises(InputError, match="write_uai writes a model. Got dict"):
        write_uai({}, tmp_path / "x.uai")


# --- logs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.LG", "x.lg.gz"])
def test_a_file_called_lg_holds_natural_logs(read, tmp_path, name):
    write_uai(read(MARKOV), tmp_path / name)
    given, found = read(MARKOV).compile(), read_uai(tmp_path / name).compile()
    scales = np.repeat(found.log_scale, np.diff(found.table_start))
    assert found.values * np.exp(scales) == pytest.approx(given.values, rel=1e-15)


def test_logs_are_read_as_they_stand(read):
    graph = read("MARKOV 1 3 1 1 0 3 -1000 -inf -1001.5", log=True)
    log_total = -1000 + math.log(1 + math.exp(-1.5))
    assert infer(graph).log_evidence == pytest.approx(log_total, rel=1e-15)


def test_a_network_in_logs_is_a_network(read, tmp_path):
    net = read(BAYES)
    write_uai(net, tmp_path / "x.uai", log=True)
    assert "-inf" in (tmp_path / "x.uai").read_text()
    back = read_uai(tmp_path / "x.uai", log=True)
    assert isinstance(back, BayesianNetwork)
    assert back.table(1) == pytest.approx(net.table(1), rel=1e-15)


def test_logs_too_wide_for_numbers_are_written_as_logs_only(tmp_path):
    graph = FactorGraph()
    graph.variable(0, 3)
    graph.factor([0], [-5000.0, 3.0, -math.inf], log=True)
    write_uai(graph, tmp_path / "x.LG")
    assert (tmp_path / "x.LG").read_text().split()[-3:] == ["-5000.0", "3.0", "-inf"]
    with pytest.raises(InputError, match="Pass log=True"):
        write_uai(graph, tmp_path / "x.uai")
    assert not (tmp_path / "x.uai").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("0 nan", "a log that is finite or -inf, got nan"),
        ("0 inf", "a log that is finite or -inf, got inf"),
        ("-inf -inf", "all zero"),
    ],
)
def test_a_log_is_below_infinity_and_one_above_its_negative(refused, words, message):
    assert message in refused(f"MARKOV 1 2 1 1 0 2 {words}", log=True).reason


# --- names -------------------------------------------------------------------------------------


def test_plain_names_need_no_side_car_and_an_old_one_is_deleted(read, tmp_path):
    (tmp_path / "x.uai.names.json").write_text("{}")
    write_uai(read(MARKOV), tmp_path / "x.uai")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", "x.uai"]


def test_a_name_that_no_file_can_hold_is_refused_and_nothing_is_written(tmp_path):
    graph = FactorGraph()
    graph.factor([graph.variable(frozenset("a"), 2)], [1.0, 2.0])
    with pytest.raises(InputError, match="neither text nor a number. Rename it."):
        write_uai(graph, tmp_path / "x.uai")
    assert not list(tmp_path.iterdir())


DAMAGED = {
    "nothing": ("", "is damaged: Expecting value"),
    "cut off": ('{"names": [', "is damaged: Expecting value"),
    "a list": ("[]", 'two lists, "names" and "states"'),
    "no lists": ("{}", 'two lists, "names" and "states"'),
    "deep": ("[" * 100_000, 'two lists, "names" and "states"'),
    "text": ('{"names": "abc", "states": [[0, 1], [0, 1], [0, 1, 2]]}', "each of the 3 variables"),
    "too few": ('{"names": ["a", "b"], "states": [[0, 1], [0, 1]]}', "each of the 3 variables"),
    "names alike": ('{"names": ["a", "b", "b"], "states": [[0, 1], [0, 1], [0, 1, 2]]}', "differ"),
    "too few states": ('{"names": ["a", "b", "c"], "states": [[0, 1], [0, 1], [0, 1]]}', "each of"),
    "too many states": (
        '{"names": ["a", "b", "c"], "states": [[0, 1], [0, 1, 1], [0, 1, 2]]}', "all different"
    ),
    "an object": ('{"names": ["a", "b", {}], "states": [[0, 1], [0, 1], [0, 1, 2]]}', "two lists"),
    "nan": ('{"names": ["a", "b", NaN], "states": [[0, 1], [0, 1], [0, 1, 2]]}', "two lists"),
}  # fmt: skip


@pytest.mark.parametrize("which", DAMAGED)
def test_a_damaged_side_car_is_named(read, tmp_path, which):
    text, message = DAMAGED[which]
    (tmp_path / "x.names.json").write_text(text)
    with pytest.raises(FileFormatError) as caught:
        read(MARKOV)
    assert caught.value.path == str(tmp_path / "x.names.json")
    assert message in str(caught.value)
    assert "Restore or delete it" in str(caught.value)


def test_a_side_car_that_is_a_folder_is_named(read, tmp_path):
    (tmp_path / "x.names.json").mkdir()
    with pytest.raises(FileFormatError, match="names.json: This is a folder"):
        read(MARKOV)


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_the_side_car_is_json_that_people_can_read(tmp_path, ending):
    graph = FactorGraph()
    graph.factor([graph.variable("rain", [False, np.int64(7), ("a", 1)])], [1.0, 2.0, 3.0])
    write_uai(graph, tmp_path / f"x.uai{ending}")
    labels = json.loads((tmp_path / "x.uai.names.json").read_text())
    assert labels == {"names": ["rain"], "states": [[False, 7, ["a", 1]]]}
    assert read_uai(tmp_path / f"x.uai{ending}")["rain"].states == (False, 7, ("a", 1))


# --- evidence ----------------------------------------------------------------------------------


@pytest.fixture
def model():
    graph = FactorGraph()
    graph.variable("rain", ["no", "yes"])
    graph.variable("wet", ["dry", "damp", "soaked"])
    graph.variable("slippery", ["no", "yes"])
    return graph


@pytest.fixture
def given(tmp_path, model):
    def given(text):
        (tmp_path / "x.uai.evid").write_text(text)
        return read_uai_evidence(tmp_path / "x.uai.evid", model)

    return given


@pytest.mark.parametrize("text", ["0", "0\n", "0\n2 0\n", "0 1 2 3", "", "\n"])
def test_no_evidence_is_an_empty_dictionary(given, text):
    assert given(text) == {}


@pytest.mark.parametrize("text", ["2 1 2 0 1", "2\n1 2\n0 1\n", "3 1 2 0 1 1 2"])
def test_evidence_is_given_by_names(given, text):
    evidence = given(text)
    assert evidence == {"wet": "soaked", "rain": "yes"}
    assert list(evidence) == ["wet", "rain"]


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("1 3 0", 3, "no variable 3: the model has 3, from 0 on"),
        ("1 1 3", 5, "Variable 1 has no state 3: it has 3, from 0 on"),
        ("2 0 1 0 0", 7, "'rain' is observed in two states"),
        ("2 0 1", 1, "Evidence on 2 variables takes 5 numbers. Got 3"),
        ("1 2 1 2 0 1", 1, "begin with a number of sets: remove it"),
        ("x", 1, "Expected a number, got 'x'"),
        ("1 0 -1", 5, "a whole number from 0 on, got -1.0"),
        ("1.5", 1, "a whole number from 0 on, got 1.5"),
        ("1e15 0 1", 1, "takes 2000000000000001 numbers"),
    ],
)
def test_damaged_evidence_is_named_with_its_place(given, text, column, message):
    with pytest.raises(FileFormatError) as caught:
        given(text)
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (1, column)


def test_written_evidence_is_read_back(tmp_path, model):
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


def test_a_path_in_the_place_of_the_evidence_is_named(tmp_path, model):
    with pytest.raises(InputError, match="takes the evidence .*, then the path.*Got str"):
        write_uai_evidence(str(tmp_path / "x.evid"), {"rain": "yes"}, model)


# --- results -----------------------------------------------------------------------------------


def plain(value):
    """Give a result as lists, for comparing."""
    if isinstance(value, tuple):
        return [marginal.tolist() for marginal in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("PR\n-19.5\n", "PR", -19.5),
        ("PR 1", "PR", 1.0),
        ("PR\n-inf", "PR", -math.inf),
        ("MAR\n2 2 0.25 0.75 3 0.5 0.25 0.25", "MAR", [[0.25, 0.75], [0.5, 0.25, 0.25]]),
        ("MAR 1 2 0.25 0.75", "MAR", [[0.25, 0.75]]),
        ("MAP\n3 0 2 1", "MAP", [0, 2, 1]),
        ("MPE\n3 0 2 1", "MAP", [0, 2, 1]),
        ("map\n1 1", "MAP", [1]),
        ("MMAP\n2 5 1 3 0", "MMAP", {5: 1, 3: 0}),
        ("MAP\n-BEGIN-\n2 0 0\n-BEGIN-\n2 0 1\n", "MAP", [0, 1]),
    ],
)
def test_results_are_read(tmp_path, text, kind, value):
    (tmp_path / "x").write_text(text)
    result = read_uai_result(tmp_path / "x")
    assert (result.kind, plain(result.value)) == (kind, value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expected PR or MAR or MAP or MMAP or MPE at the start, got nothing"),
        ("MARKOV 1 2 0", "got 'MARKOV'"),
        ("PR", "no result after PR"),
        ("PR nan", "got nan"),
        ("PR 1 3", "Expected one number"),
        ("PR x", "Expected a number, got 'x'"),
        ("MAR 2 2 0.5 0.5", "do not add up"),
        ("MAR 1 1e12 0.5", "do not add up"),
        ("MAR 1 2 0.5 -0.5", "Expected a probability, got -0.5"),
        ("MAR 1 2 0.5 nan", "Expected a probability, got nan"),
        ("MAR 1 0", "do not add up"),
        ("MAR 2 0 1 1", "do not add up"),
        ("MAP 3 0 1", "Got 3 numbers in all"),
        ("MAP 1 3 0 2 1", "Got 5 numbers in all"),
        ("MAP 2 0 0.5", "a whole number from 0 on, got 0.5"),
        ("MAP 1e308", "Got 1 numbers in all"),
        ("MMAP 2 0 1 0 1", "listed twice"),
        ("MMAP 1e308 0 1", "Got 3 numbers in all"),
    ],
)
def test_a_damaged_result_is_named(tmp_path, text, message):
    (tmp_path / "x").write_text(text)
    with pytest.raises(FileFormatError) as caught:
        read_uai_result(tmp_path / "x")
    assert message in str(caught.value)
    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("PR", -1 / 3),
        ("MAR", [[0.1, 0.9], [1 / 3, 2 / 3, 0.0]]),
        ("MAP", [0, 4, 2]),
        ("MMAP", {7: 1, 0: 3}),
    ],
)
def test_written_results_are_read_back(tmp_path, kind, value):
    write_uai_result(tmp_path / "x", kind, value)
    result = read_uai_result(tmp_path / "x")
    assert (result.kind, plain(result.value)) == (kind, value)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("MPE", [0], "Unknown task 'MPE'. Choose one of PR, MAR, MAP, MMAP"),
        ("PR", "x", "does not fit PR"),
        ("MAR", [[0.5, -0.5]], "does not fit MAR"),
        ("MAR", [0.5], "does not fit MAR"),
        ("MAP", [0.5], "does not fit MAP"),
        ("MAP", [-1], "does not fit MAP"),
        ("MAP", [math.inf], "does not fit MAP"),
        ("MMAP", {"rain": 1}, "does not fit MMAP"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_and_nothing_is_written(
    tmp_path, kind, value, message
):
    with pytest.raises(InputError, match=message):
        write_uai_result(tmp_path / "x", kind, value)
    assert not list(tmp_path.iterdir())


# --- published files ---------------------------------------------------------------------------

ENDINGS = {".PR", ".MAR", ".MAP", ".MAP_best_known"}
RESULTS = sorted(path for path in PUBLISHED.rglob("*.uai.*") if path.suffix in ENDINGS)

#: Natural logs of the partition function given the evidence, computed by another junction tree.
EXACT = {
    "small/ChestClinic": -2.204641656,
    "small/paskin": 0.6931471806,
    "small/simple5": 11.4619216,
    "uai2006/BN_0": -20.47708121,
    "uai2006/BN_3": -28.91982442,
    "uai2014/Promedus_13": -10.37781609,
}


@pytest.mark.parametrize("path", ALL, ids=lambda path: f"{path.parent.name}/{path.name[:-7]}")
def test_published_models_and_evidence_are_read_back_bit_for_bit(path, tmp_path):
    model = read_uai(path)
    write_uai(model, tmp_path / "x.uai")
    assert arrays(read_uai(tmp_path / "x.uai")) == arrays(model)
    file = path.with_name(path.name.removesuffix(".gz") + ".evid")
    count, *words = map(int, file.read_text().split())
    pairs = zip(words[0 : 2 * count : 2], words[1 : 2 * count : 2], strict=True)
    assert read_uai_evidence(file, model) == dict(pairs)


@pytest.mark.parametrize("name", [n for n in EXACT if (PUBLISHED / f"{n}.uai.gz").exists()])
def test_written_models_have_the_published_partition_function(name, tmp_path):
    write_uai(read_uai(PUBLISHED / f"{name}.uai.gz"), tmp_path / "x.uai")
    model = read_uai(tmp_path / "x.uai")
    evidence = read_uai_evidence(PUBLISHED / f"{name}.uai.evid", model)
    assert infer(model, evidence=evidence).log_evidence == pytest.approx(EXACT[name], rel=1e-9)


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_published_results_are_read_back_bit_for_bit(path, tmp_path):
    result = read_uai_result(path)
    assert result.kind == path.suffix[1:].removesuffix("_best_known")
    write_uai_result(tmp_path / "x", result.kind, result.value)
    assert plain(read_uai_result(tmp_path / "x").value) == plain(result.value)
