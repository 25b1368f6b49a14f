"""UAI models: what is read, what is written, and names beside the file."""

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest
from tests.work import calls_in

from credo.exceptions import FileFormatError, InputError
from credo.formats.uai import read_uai, read_uai_evidence, write_uai
from credo.graphs import BayesianNetwork, FactorGraph, MarkovNetwork
from credo.inference import infer

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


@pytest.fixture
def file(tmp_path):
    def write(text, name="model.uai"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def arrays(model):
    """Give all that a model is, for comparing bit for bit."""
    wiring = model.compile()
    kept = ("n_states", "scope_start", "scope", "table", "table_start", "values", "log_scale")
    return {
        "kind": type(model),
        "variables": list(model.variables),
        **{name: getattr(wiring, name).tolist() for name in kept},
    }


def total(wiring):
    """Sum the product of all factors over all joint states, the slow way."""
    joint = np.ones(wiring.n_states)
    for f, table in enumerate(wiring.table):
        scope = wiring.scope[wiring.scope_start[f] : wiring.scope_start[f + 1]].tolist()
        cells = wiring.values[wiring.table_start[table] : wiring.table_start[table + 1]]
        values = cells.reshape([wiring.n_states[v] for v in scope])
        order = np.argsort(scope)
        shape = [k if v in scope else 1 for v, k in enumerate(wiring.n_states)]
        joint = joint * values.transpose(order).reshape(shape) * math.exp(wiring.log_scale[table])
    return float(joint.sum())


# --- reading -----------------------------------------------------------------------------------


def test_a_markov_file_is_a_factor_graph_whose_last_variable_is_fastest(file):
    graph = read_uai(file(MARKOV))
    assert isinstance(graph, FactorGraph)
    assert graph.names == (0, 1, 2)
    assert graph[2].states == (0, 1, 2)
    assert graph.factors[2].table.tolist() == [[0.210, 0.333, 0.457], [0.811, 0.0, 0.189]]


def test_the_partition_function_is_that_of_the_sum_written_out(file):
    first, second, third = (
        np.array([0.436, 0.564]),
        np.array([[0.128, 0.872], [0.920, 0.080]]),
        np.array([[0.210, 0.333, 0.457], [0.811, 0.0, 0.189]]),
    )
    expected = sum(
        first[a] * second[a, b] * third[b, c] for a in range(2) for b in range(2) for c in range(3)
    )
    assert infer(read_uai(file(MARKOV))).log_evidence == pytest.approx(
        math.log(expected), rel=1e-13
    )


def test_in_a_bayes_file_the_last_variable_of_a_scope_is_the_child(file):
    net = read_uai(file(BAYES))
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
def test_a_bayes_file_that_is_no_network_is_a_factor_graph(file, text):
    assert isinstance(read_uai(file(text)), FactorGraph)


def test_rounded_rows_of_a_bayes_file_are_a_network(file):
    net = read_uai(file("BAYES 1 3 1 1 0 3 0.3333 0.3333 0.3333"))
    assert net.table(0) == pytest.approx([1 / 3] * 3, abs=1e-15)


def test_constants_count(file):
    graph = read_uai(file("MARKOV 2 3 2 3  1 0  0  0   3 1 2 3  1 0.5  1 4"))
    assert total(graph.compile()) == (1 + 2 + 3) * 2 * 0.5 * 4


def test_equal_functions_are_all_kept(file):
    graph = read_uai(file("MARKOV 1 2 2 1 0 1 0 2 1 3 2 1 3"))
    assert len(graph.factors) == 2
    assert total(graph.compile()) == 1 + 9


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
def test_the_layout_does_not_matter(file, text):
    assert arrays(read_uai(file(text))) == arrays(read_uai(file(MARKOV, "plain.uai")))


def test_packed_files_are_unpacked(file):
    path = file(gzip.compress(MARKOV.encode()), "model.uai.gz")
    assert arrays(read_uai(path)) == arrays(read_uai(file(MARKOV)))


def test_a_file_with_thousands_of_functions_is_read_with_few_calls_for_each(file):
    n, count = 1000, 3000
    scopes = "".join(f"2 {i % n} {(7 * i + 1) % n}\n" for i in range(count))
    text = f"MARKOV\n{n}\n{'2 ' * n}\n{count}\n{scopes}" + "4\n0.25 0.5 0.75 1.0\n" * count
    path = file(text)
    assert len(read_uai(path).factors) == count
    assert calls_in(read_uai, path) < 5 * count  # with an object for each factor there are more


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
def test_damage_is_named_with_its_place(file, text, line, column, message):
    path = file(text)
    with pytest.raises(FileFormatError) as caught:
        read_uai(path)
    assert message in str(caught.value)
    assert (caught.value.path, caught.value.line, caught.value.column) == (str(path), line, column)


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
def test_a_file_that_promises_more_than_it_holds_is_refused_at_once(file, text):
    with pytest.raises(FileFormatError):
        read_uai(file(text))


# --- writing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [MARKOV, BAYES], ids=["markov", "bayes"])
@pytest.mark.parametrize("name", ["copy.uai", "copy.uai.gz"])
def test_what_is_written_is_read_back_bit_for_bit(file, tmp_path, text, name):
    model = read_uai(file(text))
    write_uai(model, tmp_path / name)
    assert arrays(read_uai(tmp_path / name)) == arrays(model)
    assert ((tmp_path / name).read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")


def test_numbers_of_any_length_survive(tmp_path):
    values = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 0.0, 1e16 + 2]
    graph = FactorGraph()
    graph.variable(0, 6)
    graph.factor([0], values)
    write_uai(graph, tmp_path / "x.uai")
    assert read_uai(tmp_path / "x.uai").compile().values.tolist() == values


def test_writing_leaves_the_model_open(tmp_path):
    graph = FactorGraph()
    graph.variable("a", 2)
    graph.factor(["a"], [1.0, 2.0])
    write_uai(graph, tmp_path / "x.uai")
    graph.factor(["a"], [1.0, 3.0])


def test_a_markov_network_with_shared_tables_is_written(tmp_path):
    net = MarkovNetwork.from_arrays(
        np.full((3, 2), 0.5), np.array([[0, 1], [1, 2]]), np.array([[2.0, 1.0], [1.0, 3.0]])
    )
    write_uai(net, tmp_path / "x.uai")
    back = read_uai(tmp_path / "x.uai")
    assert total(back.compile()) == pytest.approx(total(net.compile()), rel=1e-15)
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
def test_a_file_called_lg_holds_natural_logs(file, tmp_path, name):
    write_uai(read_uai(file(MARKOV)), tmp_path / name)
    given, found = read_uai(file(MARKOV)).compile(), read_uai(tmp_path / name).compile()
    scales = np.repeat(found.log_scale, np.diff(found.table_start))
    assert found.values * np.exp(scales) == pytest.approx(given.values, rel=1e-15)


def test_logs_are_read_as_they_stand(file):
    graph = read_uai(file("MARKOV 1 3 1 1 0 3 -1000 -inf -1001.5"), log=True)
    log_total = -1000 + math.log(1 + math.exp(-1.5))
    assert infer(graph).log_evidence == pytest.approx(log_total, rel=1e-15)


def test_a_network_in_logs_is_a_network(file, tmp_path):
    net = read_uai(file(BAYES))
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


@pytest.mark.parametrize("word", ["nan", "inf"])
def test_a_log_must_be_below_infinity(file, word):
    with pytest.raises(FileFormatError, match=f"a log that is finite or -inf, got {word}"):
        read_uai(file(f"MARKOV 1 2 1 1 0 2 0 {word}"), log=True)


def test_a_table_of_impossible_logs_is_refused(file):
    with pytest.raises(FileFormatError, match="all zero"):
        read_uai(file("MARKOV 1 2 1 1 0 2 -inf -inf"), log=True)


# --- names -------------------------------------------------------------------------------------

LABELS = {
    "text": ("rain", ["no", "yes"]),
    "numbers": (7, [10, 20]),
    "truth values": ("wet", [False, True]),
    "mixed": ("m", ["1", 1]),
    "floats": ("f", [0.5, 1.5]),
    "tuples": (("row", 3), [("a", 1), ("a", 2)]),
    "unicode": ("température", ["< 5 °C", 'le "reste"\n']),
    "nothing": (None, [None, ""]),
    "text of numbers": ("0", ["0", "1"]),
}


@pytest.mark.parametrize("which", LABELS)
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_names_and_states_are_kept_beside_the_file(tmp_path, which, ending):
    name, states = LABELS[which]
    graph = FactorGraph()
    graph.factor([graph.variable(name, states)], [1.0, 2.0])
    write_uai(graph, tmp_path / f"x.uai{ending}")
    assert (tmp_path / "x.uai.names.json").exists()
    variable = read_uai(tmp_path / f"x.uai{ending}").variables[0]
    assert (variable.name, variable.states) == (name, tuple(states))
    assert list(map(type, variable.states)) == list(map(type, states))


def test_plain_names_need_no_side_car_and_an_old_one_is_deleted(file, tmp_path):
    (tmp_path / "x.uai.names.json").write_text("{}")
    write_uai(read_uai(file(MARKOV)), tmp_path / "x.uai")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.uai", "x.uai"]


def test_a_stream_has_no_side_car():
    graph = FactorGraph()
    graph.factor([graph.variable("rain", ["no", "yes"])], [1.0, 2.0])
    write_uai(graph, "/dev/null")
    assert not Path("/dev/null.names.json").exists()


def test_a_name_that_no_file_can_hold_is_refused_and_nothing_is_written(tmp_path):
    graph = FactorGraph()
    graph.factor([graph.variable(frozenset("a"), 2)], [1.0, 2.0])
    with pytest.raises(InputError, match="neither text nor a number. Rename it."):
        write_uai(graph, tmp_path / "x.uai")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is damaged: Expecting value"),
        ('{"names": [', "is damaged: Expecting value"),
        ("[]", 'two lists, "names" and "states"'),
        ("{}", 'two lists, "names" and "states"'),
        ("[" * 100_000, 'two lists, "names" and "states"'),
        ('{"names": "abc", "states": []}', "does not fit the model of 3 variables"),
        ('{"names": ["a", "b"], "states": [[0, 1], [0, 1]]}', "does not fit"),
        ('{"names": ["a", "b", "b"], "states": [[0, 1], [0, 1], [0, 1, 2]]}', "all different"),
        ('{"names": ["a", "b", "c"], "states": [[0, 1], [0, 1], [0, 1]]}', "does not fit"),
        ('{"names": ["a", "b", "c"], "states": [[0, 1], [1, 1], [0, 1, 2]]}', "all different"),
        ('{"names": ["a", "b", {}], "states": [[0, 1], [0, 1], [0, 1, 2]]}', "two lists"),
        ('{"names": ["a", "b", NaN], "states": [[0, 1], [0, 1], [0, 1, 2]]}', "two lists"),
    ],
    ids=[
        "nothing",
        "cut off",
        "a list",
        "no lists",
        "deep",
        "text",
        "too few",
        "names alike",
        "too few states",
        "states alike",
        "an object",
        "nan",
    ],
)
def test_a_damaged_side_car_is_named(file, text, message):
    path = file(MARKOV)
    beside = file(text, "model.uai.names.json")
    with pytest.raises(FileFormatError) as caught:
        read_uai(path)
    assert caught.value.path == str(beside)
    assert message in str(caught.value)
    assert "Restore or delete it" in str(caught.value)


def test_a_side_car_that_is_a_folder_is_named(file, tmp_path):
    (tmp_path / "model.uai.names.json").mkdir()
    with pytest.raises(FileFormatError, match="names.json: This is a folder"):
        read_uai(file(MARKOV))


def test_the_side_car_is_json_that_people_can_read(tmp_path):
    graph = FactorGraph()
    graph.factor([graph.variable("rain", ["no", "yes"])], [1.0, 2.0])
    write_uai(graph, tmp_path / "x.uai")
    labels = json.loads((tmp_path / "x.uai.names.json").read_text())
    assert labels == {"names": ["rain"], "states": [["no", "yes"]]}


# --- published models --------------------------------------------------------------------------

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
def test_published_models_are_read_back_bit_for_bit(path, tmp_path):
    model = read_uai(path)
    write_uai(model, tmp_path / "x.uai")
    assert arrays(read_uai(tmp_path / "x.uai")) == arrays(model)


@pytest.mark.parametrize("name", [n for n in EXACT if (PUBLISHED / f"{n}.uai.gz").exists()])
def test_written_models_have_the_published_partition_function(name, tmp_path):
    write_uai(read_uai(PUBLISHED / f"{name}.uai.gz"), tmp_path / "x.uai")
    model = read_uai(tmp_path / "x.uai")
    evidence = read_uai_evidence(PUBLISHED / f"{name}.uai.evid", model)
    assert infer(model, evidence=evidence).log_evidence == pytest.approx(EXACT[name], rel=1e-9)
