"""Networks on the command line, as a user runs it."""

import csv
import gzip
import io
import itertools
import json
import math
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pyarrow as pa
import pytest

from credo.cli import main as cli
from credo.formats.network_files import read_network, write_network
from credo.graphs.bayesian_network import BayesianNetwork
from credo.tables import open_sink

#: P(rain), P(sprinkler | rain), P(wet | sprinkler, rain); states no, yes. Rain wets for certain.
RAIN = [0.8, 0.2]
SPRINKLER = [[0.6, 0.4], [0.99, 0.01]]
WET = [[[1.0, 0.0], [0.0, 1.0]], [[0.1, 0.9], [0.0, 1.0]]]

LAWN = """network lawn {}
variable rain { type discrete [ 2 ] { no, yes }; }
variable sprinkler { type discrete [ 2 ] { no, yes }; }
variable wet { type discrete [ 2 ] { no, yes }; }
probability ( rain ) { table 0.8, 0.2; }
probability ( sprinkler | rain ) { (no) 0.6, 0.4; (yes) 0.99, 0.01; }
probability ( wet | sprinkler, rain ) {
  (no, no) 1.0, 0.0; (no, yes) 0.0, 1.0; (yes, no) 0.1, 0.9; (yes, yes) 0.0, 1.0;
}
"""


def joint(**observed):
    """Probability of each configuration that agrees with the evidence, by the definition."""
    names = ("rain", "sprinkler", "wet")
    found = {}
    for r, s, w in itertools.product(range(2), repeat=3):
        config = dict(zip(names, (r, s, w), strict=True))
        if all(config[name] == state for name, state in observed.items()):
            found[r, s, w] = RAIN[r] * SPRINKLER[r][s] * WET[s][r][w]
    return found


def rain_given(**observed):
    found = joint(**observed)
    total = sum(found.values())
    return sum(p for (r, _, _), p in found.items() if r == 1) / total, math.log(total)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "lawn.bif").write_text(LAWN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def credo(folder, capsys, monkeypatch):  # noqa: ARG001
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["credo", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.run()
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    return run


def odd_network(path):
    """A network whose names and states need quotes."""
    net = BayesianNetwork()
    net.variable("Asy/Patch", ["a, b", "a|b", "a", "b", 'say "c"'])
    net.variable("x=y", [">=5", "<5"])
    net.cpt("Asy/Patch", table=[0.1, 0.2, 0.3, 0.15, 0.25])
    net.cpt("x=y", given=["Asy/Patch"], table=[[0.5, 0.5]] * 4 + [[0.9, 0.1]])
    write_network(net, path)


class TestInfer:
    def test_prints_a_table_in_the_networks_order(self, credo):
        code, out, err = credo("infer", "lawn.bif", "--evidence", "wet=yes")
        assert (code, err) == (0, "")
        p, log_evidence = rain_given(wet=1)
        assert out.splitlines() == [
            "variable   probabilities",
            f"rain       no {1 - p:.6g}  yes {p:.6g}",
            *out.splitlines()[2:3],
            "wet        no 0         yes 1",
            "",
            f"ln P(evidence)  {log_evidence:.8g}",
            "engine          junction_tree",
        ]
        assert out.splitlines()[2].startswith("sprinkler  no ")

    def test_gives_all_digits_as_json(self, credo):
        code, out, err = credo("infer", "lawn.bif", "--evidence", "wet=yes,sprinkler=no", "--json")
        assert (code, err) == (0, "")
        p, log_evidence = rain_given(wet=1, sprinkler=0)
        found = json.loads(out)
        assert list(found["variables"]) == ["rain", "sprinkler", "wet"]
        assert found["variables"]["rain"]["yes"] == pytest.approx(p, abs=1e-15)
        assert found["variables"]["sprinkler"] == {"no": 1.0, "yes": 0.0}
        assert found["log_evidence"] == pytest.approx(log_evidence, rel=1e-14)
        assert found["status"] == "EXACT"

    def test_answers_only_what_is_asked(self, credo):
        arguments = ["--evidence", "wet=yes", "--query", "rain", "--json"]
        found = json.loads(credo("infer", "lawn.bif", *arguments)[1])
        assert list(found["variables"]) == ["rain"]
        assert found["log_evidence"] == pytest.approx(rain_given(wet=1)[1], rel=1e-14)
        both = json.loads(credo("infer", "lawn.bif", "--query", "wet,rain", "--json")[1])
        assert list(both["variables"]) == ["wet", "rain"]

    @pytest.mark.parametrize("method", ["tree", "junction_tree", "elimination", "enumeration"])
    def test_takes_any_exact_method_that_fits(self, credo, folder, method):
        net = BayesianNetwork()
        for name in ("a", "b"):
            net.variable(name, ["no", "yes"])
        net.cpt("a", table=[0.25, 0.75])
        net.cpt("b", given=["a"], table=[[0.5, 0.5], [0.2, 0.8]])
        write_network(net, folder / "pair.net")
        arguments = ["--evidence", "b=yes", "--method", method, "--json"]
        found = json.loads(credo("infer", "pair.net", *arguments)[1])
        assert found["engine"] == method
        assert found["variables"]["a"]["yes"] == pytest.approx(0.6 / 0.725)

    def test_evidence_comes_in_several_options_and_sets_of_states(self, credo):
        given = ["--evidence", "wet=yes", "--evidence", " sprinkler = no | yes "]
        several = json.loads(credo("infer", "lawn.bif", *given, "--json")[1])
        assert several["variables"]["rain"]["yes"] == pytest.approx(rain_given(wet=1)[0])

    @pytest.mark.parametrize(
        ("evidence", "weights"),
        [
            ('"Asy/Patch"="a, b"', [1, 0, 0, 0, 0]),
            ('Asy/Patch="a, b"', [1, 0, 0, 0, 0]),
            ("Asy/Patch=a|b", [0, 1, 0, 0, 0]),
            ('Asy/Patch="a|b"', [0, 1, 0, 0, 0]),
            ('Asy/Patch="a"|b', [0, 0, 1, 1, 0]),
            ('Asy/Patch=b|"a, b"', [1, 0, 0, 1, 0]),
            ('Asy/Patch="say ""c"""', [0, 0, 0, 0, 1]),
            ('"x=y"=>=5', [0.5, 0.5, 0.5, 0.5, 0.9]),
        ],
    )
    def test_odd_names_are_quoted(self, credo, folder, evidence, weights):
        odd_network(folder / "odd.xml")
        code, out, err = credo("infer", "odd.xml", "--evidence", evidence, "--json")
        assert (code, err) == (0, "")
        expected = np.array([0.1, 0.2, 0.3, 0.15, 0.25]) * weights
        found = json.loads(out)["variables"]["Asy/Patch"]
        assert list(found.values()) == pytest.approx(expected / expected.sum())

    def test_a_long_variable_goes_on_in_the_next_line(self, credo, folder):
        net = BayesianNetwork()
        net.variable("many", [f"a_rather_long_state_{i}" for i in range(9)])
        net.cpt("many", table=[1 / 9] * 9)
        write_network(net, folder / "many.bif")
        lines = credo("infer", "many.bif")[1].splitlines()
        table = lines[1 : lines.index("")]
        assert len(table) == 5
        assert all(line.startswith("          a_rather") for line in table[1:])
        assert all(len(line) <= 100 for line in table)

    @pytest.mark.parametrize(
        "text",
        [
            '{"wet": {"yes": 0.9, "no": 0.3}}',
            '\ufeff{"wet": [3, 9]}',
            "weight,variable,state\n3,wet,no\n9,wet,yes\n",
        ],
        ids=["by state", "in order", "csv"],
    )
    def test_uncertain_evidence_comes_from_a_file(self, credo, folder, text):
        (folder / "seen").write_text(text, encoding="utf-8")
        code, out, _ = credo("infer", "lawn.bif", "--likelihood", "seen", "--json")
        assert code == 0
        weighted = {c: p * (3 if c[2] == 1 else 1) for c, p in joint().items()}
        expected = sum(p for c, p in weighted.items() if c[0] == 1) / sum(weighted.values())
        assert json.loads(out)["variables"]["rain"]["yes"] == pytest.approx(expected)

    def test_jeffreys_rule_fixes_the_posterior(self, credo, folder):
        (folder / "j.json").write_text('{"wet": {"no": 0.3, "yes": 0.7}}')
        found = json.loads(credo("infer", "lawn.bif", "--jeffrey", "j.json", "--json")[1])
        expected = 0.7 * rain_given(wet=1)[0] + 0.3 * rain_given(wet=0)[0]
        assert found["variables"]["wet"]["yes"] == pytest.approx(0.7)
        assert found["variables"]["rain"]["yes"] == pytest.approx(expected)

    def test_states_that_are_numbers_are_found_by_their_text(self, credo, folder):
        (folder / "pair.uai").write_text("MARKOV 2 2 3 1 2 0 1 6 1 2 3 4 5 6")
        code, out, _ = credo("infer", "pair.uai", "--evidence", "1=2", "--json")
        assert code == 0
        assert json.loads(out)["variables"]["0"] == {"0": pytest.approx(1 / 3), "1": 2 / 3}
        assert "ln Z(evidence)  2.19" in credo("infer", "pair.uai", "--evidence", "1=2")[1]

    def test_labels_that_read_the_same_are_refused(self, credo, folder):
        net = BayesianNetwork()
        net.variable("a", [1, "1"])
        net.cpt("a", table=[0.5, 0.5])
        write_network(net, folder / "pair.uai")
        code, out, err = credo("infer", "pair.uai")
        assert (code, out) == (2, "")
        assert "two states of variable 'a' read the same: 1" in err

    def test_control_characters_do_not_reach_the_terminal(self, credo, folder):
        net = BayesianNetwork()
        net.variable("a\x1b[2J", ["no\n", "yes"])
        net.cpt("a\x1b[2J", table=[0.5, 0.5])
        write_network(net, folder / "odd.uai")
        code, out, _ = credo("infer", "odd.uai")
        assert code == 0
        assert "a\\x1b[2J  no\\n 0.5  yes 0.5\n" in out

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["no.bif"], "no.bif: There is no such file"),
            (["lawn.txt"], "Cannot tell the format of lawn.txt"),
            (["."], "Cannot tell the format"),
            (["lawn.bif", "--evidence", "wett=yes"], "no variable 'wett'.*Did you mean 'wet'"),
            (["lawn.bif", "--evidence", "wet=Yes"], "no state 'Yes'.*Did you mean 'yes'"),
            (["lawn.bif", "--evidence", "wet=yes|maybe"], "no state 'maybe'"),
            (["lawn.bif", "--evidence", "wet=yes,wet=yes"], "--evidence names 'wet' twice"),
            (["lawn.bif", "--evidence", "wet"], "expected variable=state, got 'wet'"),
            (["lawn.bif", "--evidence", "wet="], "missing at character 5"),
            (["lawn.bif", "--evidence", "wet=yes,"], "missing at character 9"),
            (["lawn.bif", "--evidence", ""], "missing at character 1"),
            (["lawn.bif", "--evidence", 'wet="yes'], "a double quote is not closed"),
            (["lawn.bif", "--evidence", '"wet"x=yes'], "expected one of = , after the quoted"),
            (["lawn.bif", "--evidence", 'w"et=yes'], "a double quote inside"),
            (["lawn.bif", "--query", "rain,snow"], "no variable 'snow'"),
            (["lawn.bif", "--query", "rain", "--query", "rain"], "--query names 'rain' twice"),
            (["lawn.bif", "--method", "magic"], "must be one of 'auto'.*Got 'magic'"),
            (["lawn.bif", "--budget", "much"], "budget of infer must be bytes.*Got 'much'"),
            (
                ["lawn.bif", "--budget", "8 B", "--method", "exact"],
                "needs .* the budget is 8 B. The largest clique",
            ),
            (["lawn.bif", "--likelihood", "no.json"], "no.json: No such file"),
            (["lawn.bif", "--out", "p.csv"], "--out goes with --rows only"),
            (["lawn.bif", "--keep", "id"], "--keep goes with --rows only"),
            (["lawn.bif", "--evidence", "wet=no,rain=yes"], "cannot all be true: wet = no, rain"),
        ],
    )
    def test_bad_input_exits_with_2_and_a_sentence(self, credo, arguments, message):
        code, out, err = credo("infer", *arguments)
        assert (code, out) == (2, "")
        assert re.match(f"credo: .*{message}", err), err
        assert err.count("\n") == 1

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("{", "line 1, column 2: Expecting"),
            ("[1]", "expected an object"),
            ('{"wet": "yes"}', "weights of 'wet' must be numbers"),
            ('{"wet": [true, 1]}', "weights of 'wet' must be numbers"),
            ('{"wet": [1, 2], "wet": [1, 2]}', "'wet' comes twice"),
            ('{"wett": [1, 2]}', "no variable 'wett'.*Did you mean"),
            ('{"wet": {"no": 1, "si": 2}}', "no state 'si'"),
            ('{"wet": {"no": 1}}', "the weights lack the state 'yes'"),
            ('{"wet": [NaN, 1]}', "finite"),
            ('{"wet": [0, 0]}', "not all 0"),
            ("{" * 100_000, "JSON|Expecting"),
            ("variable,state,weight\nwet,no,1\nwet,no,2\n", "line 3: there is a weight"),
            ("variable,state,weight\nwet,no,much\n", "line 2: column 'weight' must be a number"),
            ("variable,state,weight\nwet,no,\n", "line 2: a cell is empty"),
            ("variable,state\nwet,no\n", "no column 'weight'"),
            ("", "the file is empty"),
        ],
        ids=str,
    )
    def test_damaged_weights_are_named(self, credo, folder, text, message):
        (folder / "w").write_text(text)
        code, out, err = credo("infer", "lawn.bif", "--likelihood", "w")
        assert (code, out) == (2, "")
        assert re.match(f"credo: .*({message})", err), err

    def test_a_folder_that_cannot_be_written_to_is_bad_input(self, credo, folder):
        (folder / "rows.csv").write_text("wet\nyes\n")
        for arguments in (
            ("infer", "lawn.bif", "--rows", "rows.csv", "--out", "/proc/p.csv"),
            ("convert", "lawn.bif", "/proc/lawn.net"),
            ("uai", "PR", "lawn.uai", "--out", "/proc/lawn.PR"),
        ):
            code, out, err = credo(*arguments)
            assert (code, out) == (2, "")
            assert err.startswith("credo: ")
            assert "internal" not in err

    def test_a_damaged_network_is_named_with_its_line(self, credo, folder):
        (folder / "bad.bif").write_text(LAWN.replace("0.99, 0.01", "0.99, maybe"))
        code, out, err = credo("infer", "bad.bif")
        assert (code, out) == (2, "")
        assert err.startswith("credo: bad.bif, line 6, column ")
        (folder / "cut.bif").write_text(LAWN[: len(LAWN) // 2])
        assert credo("infer", "cut.bif")[0] == 2
        (folder / "not.bif").write_bytes(bytes(range(256)))
        assert credo("infer", "not.bif")[0] == 2


class TestRows:
    ROWS = "id,wet,sprinkler\na,yes,\nb,,no\nc,yes,no\nd,,\n"

    @pytest.fixture(autouse=True)
    def table(self, folder):
        (folder / "rows.csv").write_text(self.ROWS)

    def test_each_row_is_answered_and_the_summary_goes_beside(self, credo):
        arguments = ("--rows", "rows.csv", "--keep", "id", "--query", "rain")
        code, out, err = credo("infer", "lawn.bif", *arguments)
        assert (code, err) == (0, "4 rows: 0 impossible; 1 variable each\n")
        table = list(csv.reader(io.StringIO(out)))
        assert table[0] == ["id", "rain=no", "rain=yes", "ln P(evidence)"]
        assert [row[0] for row in table[1:]] == ["a", "b", "c", "d"]
        given = [{"wet": 1}, {"sprinkler": 0}, {"wet": 1, "sprinkler": 0}, {}]
        for row, observed in zip(table[1:], given, strict=True):
            p, log_evidence = rain_given(**observed)
            assert [float(cell) for cell in row[1:]] == pytest.approx(
                [1 - p, p, log_evidence], abs=1e-14
            )

    def test_a_file_is_written_whole_and_json_sums_up(self, credo, folder):
        arguments = ("--rows", "rows.csv", "--ignore", "id", "--out", "post.csv", "--json")
        code, out, err = credo("infer", "lawn.bif", *arguments)
        assert (code, err) == (0, "")
        assert json.loads(out) == {
            "rows": 4,
            "impossible": 0,
            "not_converged": 0,
            "observed": ["wet", "sprinkler"],
            "variables": ["rain", "sprinkler", "wet"],
            "out": "post.csv",
        }
        header = (folder / "post.csv").read_text().splitlines()[0]
        assert header == "rain=no,rain=yes,sprinkler=no,sprinkler=yes,wet=no,wet=yes,ln P(evidence)"

    def test_an_impossible_row_is_named_by_its_line(self, credo, folder):
        (folder / "rows.csv").write_text("rain,wet\nyes,yes\nyes,no\nno,no\n")
        (folder / "post.csv").write_text("precious")
        arguments = ("--rows", "rows.csv", "--out", "post.csv", "--query", "sprinkler")
        code, out, err = credo("infer", "lawn.bif", *arguments)
        assert (code, out) == (2, "")
        assert err.startswith("credo: rows.csv, line 3: ")
        assert "cannot all be true: rain = yes, wet = no" in err
        assert (folder / "post.csv").read_text() == "precious"
        code, _, err = credo("infer", "lawn.bif", *arguments, "--on-impossible", "blank")
        assert (code, err) == (0, "3 rows: 1 impossible; 1 variable each\n")
        lines = (folder / "post.csv").read_text().splitlines()
        assert lines[2] == ",,"
        assert all(math.isfinite(float(cell)) for cell in lines[3].split(","))

    def test_text_can_mean_not_observed(self, credo, folder):
        arguments = ("--rows", "rows.csv", "--query", "rain")
        (folder / "rows.csv").write_text('wet\n?\nNA\n""\n yes \n')
        missing = ("--missing", "?", "--missing", "NA")
        code, out, _ = credo("infer", "lawn.bif", *arguments, *missing)
        assert code == 0
        values = [float(line.split(",")[1]) for line in out.splitlines()[1:]]
        assert values == pytest.approx([0.2, 0.2, 0.2, rain_given(wet=1)[0]])
        code, _, err = credo("infer", "lawn.bif", *arguments)
        assert code == 2
        assert err.startswith("credo: rows.csv, line 2: variable 'wet' has no state '?'.")
        code, _, err = credo("infer", "lawn.bif", *arguments, "--missing", "no")
        assert code == 2
        assert "--missing 'no' is a state of variable 'wet'" in err

    def test_a_kept_variable_is_evidence_unless_it_is_ignored(self, credo, folder):
        (folder / "rows.csv").write_text("rain,wet\nyes,yes\n")
        arguments = ("--rows", "rows.csv", "--query", "rain", "--keep", "rain")
        used = credo("infer", "lawn.bif", *arguments)[1].splitlines()[1].split(",")
        assert (used[0], float(used[2])) == ("yes", 1.0)
        held = credo("infer", "lawn.bif", *arguments, "--ignore", "rain")[1].splitlines()[1]
        assert float(held.split(",")[2]) == pytest.approx(rain_given(wet=1)[0])

    @pytest.mark.parametrize("coded", [False, True], ids=["words", "codes"])
    @pytest.mark.parametrize("ending", ["parquet", "arrow", "tsv"])
    def test_the_same_rows_in_any_format_are_answered_alike(self, credo, folder, ending, coded):
        words = pa.array([" yes ", "no", None])
        wet = words.dictionary_encode() if coded else words
        table = pa.table({"id": [7, 8, 9], "wet": wet})
        with open_sink(folder / f"t.{ending}", table.schema) as sink:
            sink.write(table.to_batches()[0])
        arguments = ("--keep", "id", "--query", "rain")
        (folder / "rows.csv").write_text("id,wet\n7,yes\n8,no\n9,\n")
        expected = credo("infer", "lawn.bif", "--rows", "rows.csv", *arguments)
        assert credo("infer", "lawn.bif", "--rows", f"t.{ending}", *arguments) == expected
        table = pa.table({"wet": ["no", "not"]})
        with open_sink(folder / f"t.{ending}", table.schema) as sink:
            sink.write(table.to_batches()[0])
        place = ", line 3:" if ending == "tsv" else ": row 2:"
        _, _, err = credo("infer", "lawn.bif", "--rows", f"t.{ending}")
        assert err.startswith(f"credo: t.{ending}{place} variable 'wet' has no state 'not'")

    def test_a_state_may_read_like_a_missing_value(self, credo, folder):
        (folder / "odd.bif").write_text(LAWN.replace("yes", "NA"))
        (folder / "rows.csv").write_text("wet,sprinkler\nNA,no\n")
        arguments = ("--rows", "rows.csv", "--query", "rain")
        code, out, _ = credo("infer", "odd.bif", *arguments)
        assert code == 0
        expected = rain_given(wet=1, sprinkler=0)[0]
        assert float(out.splitlines()[1].split(",")[1]) == pytest.approx(expected)

    def test_many_rows_stream_through_in_blocks(self, credo, folder):
        rng = np.random.default_rng(0)
        cells = np.array(["", "no", "yes"])[rng.integers(0, 3, (40_000, 2))]
        cells[cells[:, 0] == "yes", 1] = "yes"
        with gzip.open(folder / "big.csv.gz", "wt") as stream:
            stream.write("rain,wet\n")
            stream.writelines(f"{r},{w}\n" for r, w in cells)
        arguments = ("--rows", "big.csv.gz", "--query", "sprinkler", "--out", "post.csv")
        code, _, err = credo("infer", "lawn.bif", *arguments)
        assert (code, err) == (0, "40000 rows: 0 impossible; 1 variable each\n")
        found = np.loadtxt(folder / "post.csv", delimiter=",", skiprows=1)
        assert found.shape == (40_000, 3)
        index = {"no": 0, "yes": 1}
        for pair in np.unique(cells, axis=0):
            names = zip(("rain", "wet"), pair, strict=True)
            agree = joint(**{name: index[cell] for name, cell in names if cell})
            total = sum(agree.values())
            p = sum(q for (_, s, _), q in agree.items() if s == 1) / total
            rows = found[(cells == pair).all(axis=1)]
            assert np.allclose(rows, [1 - p, p, math.log(total)], rtol=1e-12, atol=1e-14)

    def test_the_size_of_a_block_does_not_matter(self, credo, folder, monkeypatch):
        from credo.cli import evidence_rows

        arguments = ("infer", "lawn.bif", "--rows", "rows.csv", "--keep", "id", "--out")
        assert credo(*arguments, "at_once.csv")[0] == 0
        monkeypatch.setattr(evidence_rows, "_BLOCK_CELLS", 1)
        assert credo(*arguments, "singly.csv")[0] == 0
        assert (folder / "singly.csv").read_text() == (folder / "at_once.csv").read_text()

    def test_an_empty_table_is_no_error(self, credo, folder):
        (folder / "rows.csv").write_text("wet\n")
        code, out, err = credo("infer", "lawn.bif", "--rows", "rows.csv", "--query", "rain")
        assert (code, out) == (0, "rain=no,rain=yes,ln P(evidence)\n")
        assert err == "0 rows: 0 impossible; 1 variable each\n"

    def test_a_table_without_evidence_gives_priors(self, credo, folder):
        (folder / "rows.csv").write_text("id\n7\n8\n")
        arguments = ("--rows", "rows.csv", "--keep", "id", "--query", "rain")
        code, out, _ = credo("infer", "lawn.bif", *arguments)
        assert code == 0
        assert [float(line.split(",")[2]) for line in out.splitlines()[1:]] == pytest.approx(
            [0.2, 0.2]
        )

    def test_a_carriage_return_in_a_kept_cell_survives(self, credo, folder):
        (folder / "rows.csv").write_bytes(b'id,wet\n"x\ry",yes\nz,no\n')
        arguments = ("--rows", "rows.csv", "--keep", "id", "--query", "rain")
        out = credo("infer", "lawn.bif", *arguments)[1]
        rows = list(csv.reader(io.StringIO(out, newline="")))
        assert [row[0] for row in rows] == ["id", "x\ry", "z"]

    def test_a_watcher_sees_a_bar(self, credo, monkeypatch):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        code, out, _ = credo("infer", "lawn.bif", "--rows", "rows.csv", "--keep", "id")
        assert code == 0
        assert out.startswith("id,rain=no")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--rows", "no.csv"], "no.csv: No such file"),
            (["--rows", "rows.csv"], "the column 'id' is no variable.*Pass --keep 'id'"),
            (["--rows", "rows.csv", "--keep", "ID"], "no column 'ID'.*Did you mean 'id'"),
            (["--rows", "rows.csv", "--keep", "id", "--keep", "id"], "two columns 'id'"),
            (["--rows", "rows.csv", "--out", "rows.csv"], "rows.csv is also the file of rows"),
            (["--rows", "rows.csv", "--out", "lawn.bif"], "lawn.bif is also the network"),
            (["--rows", "rows.csv", "--out", "no/p.csv"], "the folder .* does not exist"),
            (["--rows", "rows.csv", "--out", "p.csv.gz"], "writes plain text. Name it p.csv"),
            (["--rows", "rows.csv", "--out", "p.parquet"], "writes CSV. Name it p.csv"),
            (["--rows", "rows.csv", "--json"], "--json prints a summary. Pass --out"),
            (["--rows", "rows.csv", "--on-impossible", "skip"], "must be one of 'error', 'blank'"),
            (["--rows", "rows.csv", "--evidence", "wet=yes"], "--evidence does not go with --rows"),
            (["--rows", "rows.csv", "--method", "tree"], "must be one of 'auto', 'exact', 'loopy'"),
            (["--rows", "rows.csv", "--keep", "id", "--budget", "1B"], "the budget is 1 ?B"),
            (["--rows", "empty.csv"], "empty.csv: the file is empty"),
            (["--rows", "short.csv"], "short.csv, line 3: expected 2 cells as in the header"),
            (["--rows", "typo.csv"], "typo.csv, line 3: variable 'wet' has no state 'yess'"),
        ],
    )
    def test_bad_input_exits_with_2_and_a_sentence(self, credo, folder, arguments, message):
        (folder / "empty.csv").write_text("")
        (folder / "short.csv").write_text("wet,rain\nyes,\nyes\n")
        (folder / "typo.csv").write_text("wet,rain\nyes,\nyess,\n")
        before = sorted(path.name for path in folder.iterdir())
        code, out, err = credo("infer", "lawn.bif", *arguments)
        assert (code, out) == (2, "")
        assert re.match(f"credo: .*{message}", err), err
        assert sorted(path.name for path in folder.iterdir()) == before


class TestPlan:
    def test_prints_the_cost_and_computes_nothing(self, credo):
        code, out, err = credo("plan", "lawn.bif", "--evidence", "wet=yes")
        assert (code, err) == (0, "")
        assert re.search(r"^largest table +4 cells", out, re.MULTILINE)
        assert out.endswith("budget           within 4GB\n")

    def test_says_what_is_over_the_budget_and_exits_with_0(self, credo):
        code, out, _ = credo("plan", "lawn.bif", "--budget", "8B")
        assert code == 0
        assert out.endswith("budget           OVER the budget of 8B: infer would approximate\n")
        record = json.loads(credo("plan", "lawn.bif", "--budget", "8B", "--json")[1])
        assert record["fits"] is False
        assert record["bytes"] == 64
        assert record["largest_clique"] == ["rain", "sprinkler", "wet"]
        assert json.loads(credo("plan", "lawn.bif", "--budget", "none", "--json")[1])["fits"]

    def test_counts_only_what_the_query_needs(self, credo):
        record = json.loads(credo("plan", "lawn.bif", "--query", "rain", "--json")[1])
        assert (record["variables"], record["not_needed"]) == (1, 2)

    def test_bad_input_exits_with_2(self, credo):
        assert credo("plan", "lawn.bif", "--budget", "much")[0] == 2
        assert credo("plan", "lawn.bif", "--query", "snow")[0] == 2
        assert credo("plan", "no.bif")[0] == 2

    def test_a_model_that_no_machine_could_hold_has_a_plan(self, credo, folder):
        net = BayesianNetwork()
        rng = np.random.default_rng(0)
        for i in range(300):
            net.variable(f"p{i}", 8)
            net.cpt(f"p{i}", table=[0.125] * 8)
        for i in range(1500):
            first, second = rng.choice(300, 2, replace=False)
            net.variable(f"c{i}", 2)
            given = [f"p{first}", f"p{second}"]
            net.cpt(f"c{i}", given=given, table=np.full((8, 8, 2), 0.5))
        write_network(net, folder / "dense.uai")
        evidence = ",".join(f"c{i}=0" for i in range(1500))
        arguments = ("dense.uai", "--evidence", evidence)
        code, out, _ = credo("plan", *arguments, "--json")
        assert code == 0
        record = json.loads(out)
        assert record["fits"] is False
        assert record["width"] >= 20  # 8 ** 20 is more than can be addressed
        code, _, err = credo("infer", *arguments, "--method", "exact")
        assert code == 2
        assert "The largest clique has" in err


class TestMpe:
    def test_finds_the_best_configuration(self, credo):
        best, score = max(joint(wet=1).items(), key=lambda item: item[1])
        code, out, err = credo("mpe", "lawn.bif", "--evidence", "wet=yes")
        assert (code, err) == (0, "")
        words = ["no", "yes"]
        assert out.splitlines() == [
            "variable   state",
            f"rain       {words[best[0]]}",
            f"sprinkler  {words[best[1]]}",
            f"wet        {words[best[2]]}",
            "",
            f"ln P       {math.log(score):.8g}",
            "engine     junction_tree",
            "gap        0",
        ]

    def test_finds_the_next_best_too(self, credo):
        code, out, _ = credo("mpe", "lawn.bif", "--k", "4", "--json")
        assert code == 0
        found = json.loads(out)["configurations"]
        expected = sorted((p for p in joint().values() if p), reverse=True)[:4]
        assert [math.exp(each["log_score"]) for each in found] == pytest.approx(expected)
        lines = credo("mpe", "lawn.bif", "--k", "2")[1].splitlines()
        assert lines[0].split() == ["variable", "1", "2"]
        assert lines[-1].split() == ["engine", "junction_tree"]

    def test_sums_the_others_out_for_some(self, credo):
        code, out, _ = credo("mpe", "lawn.bif", "--variables", "rain", "--json")
        assert code == 0
        (found,) = json.loads(out)["configurations"]
        assert found["states"] == {"rain": "no"}
        assert found["log_score"] == pytest.approx(math.log(0.8))

    def test_warnings_are_sentences(self, credo, monkeypatch):
        from credo.exceptions import ExpansionWarning
        from credo.inference import maximum

        found = maximum.mpe

        def warn(*arguments, **options):
            warnings.warn("a rule was written out.", ExpansionWarning, stacklevel=2)
            return found(*arguments, **options)

        monkeypatch.setattr(maximum, "mpe", warn)
        code, out, err = credo("mpe", "lawn.bif")
        assert (code, err) == (0, "credo: warning: a rule was written out.\n")
        assert out.startswith("variable")

    def test_says_what_is_tied(self, credo, folder):
        (folder / "tie.uai").write_text("MARKOV 2 2 2 1 2 0 1 4 1 3 3 2")
        code, out, _ = credo("mpe", "tie.uai")
        assert code == 0
        assert "ln score  1.0986123\n" in out
        assert out.endswith("tied: 0, 1; in other states a configuration is as good\n")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--k", "0"], "k of k_best must be a whole number"),
            (["--k", "2", "--variables", "rain"], "Leave out --variables"),
            (["--variables", "snow"], "no variable 'snow'"),
            (["--evidence", "wet=no,rain=yes"], "cannot all be true"),
            (["--budget", "8B", "--method", "junction_tree"], "the budget is 8B"),
            (["--budget", "much"], "budget of mpe must be bytes"),
        ],
    )
    def test_bad_input_exits_with_2_and_a_sentence(self, credo, arguments, message):
        code, out, err = credo("mpe", "lawn.bif", *arguments)
        assert (code, out) == (2, "")
        assert re.match(f"credo: .*{message}", err), err


class TestExplain:
    ARGUMENTS = ("explain", "lawn.bif", "--evidence", "wet=yes", "--target", "rain")

    def test_weighs_findings_in_log10_odds(self, credo):
        code, out, err = credo(*self.ARGUMENTS, "--state", "yes")
        assert (code, err) == (0, "")
        p = rain_given(wet=1)[0]
        total = math.log10(p / (1 - p)) - math.log10(0.2 / 0.8)
        assert out.startswith(f"rain = yes: 0.2 -> {p:.4g} ({total:+.3f} in log10 odds)\n")

    def test_infinite_weights_are_words_in_json(self, credo):
        arguments = ("explain", "lawn.bif", "--evidence", "wet=no", "--target", "rain")
        code, out, _ = credo(*arguments, "--state", "yes", "--json")
        assert code == 0
        record = json.loads(out)
        assert (record["prior"], record["posterior"]) == (pytest.approx(0.2), 0.0)
        assert record["total"] == "-inf"
        assert record["findings"][0]["finding"] == "no"
        several = ("explain", "lawn.bif", "--evidence", "wet=no|yes", "--target", "rain", "--json")
        assert json.loads(credo(*several)[1])["findings"][0]["finding"] == ["no", "yes"]

    def test_bad_input_exits_with_2(self, credo):
        assert credo(*self.ARGUMENTS, "--state", "maybe")[0] == 2
        assert credo("explain", "lawn.bif", "--target", "rain")[0] == 2
        assert credo("explain", "lawn.bif", "--evidence", "wet=yes", "--target", "wet")[0] == 2
        assert credo("explain", "lawn.bif", "--evidence", "wet=yes", "--target", "snow")[0] == 2
        assert credo("explain", "lawn.bif", "--evidence", "wet=yes")[0] == 2


class TestConvert:
    @pytest.mark.parametrize("ending", ["bif", "xml", "net", "xdsl", "uai", "net.gz", "LG"])
    def test_every_format_holds_the_network(self, credo, folder, ending):
        code, out, err = credo("convert", "lawn.bif", f"other.{ending}")
        assert (code, out) == (0, "")
        assert err.startswith(f"other.{ending}: 3 variables, 14 table cells.\n")
        back = read_network(folder / f"other.{ending}")
        assert list(back.names) == ["rain", "sprinkler", "wet"]
        assert np.allclose(back.table("wet"), WET, rtol=1e-15)
        assert ("names.json. Keep it beside" in err) == (ending in ("uai", "LG"))

    def test_each_kind_of_loss_has_a_sentence(self):
        from credo.cli.conversion import _losses

        def network(name, states, table):
            net = BayesianNetwork()
            net.variable(name, states)
            net.cpt(name, table=table)
            return net

        before = network("a b", ["no", "yes"], [0.5, 0.5])
        after = network("a_b", ["no", "si"], [0.25, 0.75])
        assert list(_losses(before, after))[:-1] == [
            "1 names changed; the first, 'a b', is 'a_b' now.",
            "1 states of variables changed; the first, ('no', 'yes'), is ('no', 'si') now.",
            "2 table entries moved, by up to a factor of 1 ± 1.",
        ]
        assert len(list(_losses(before, before))) == 1

    def test_factors_in_logs_are_the_same_factors(self, credo, folder):
        (folder / "field.uai").write_text("MARKOV 2 2 3 1 2 0 1 6 1 0 3 4 5 1e-200")
        code, _, err = credo("convert", "field.uai", "field.LG")
        assert code == 0
        moved = re.search(r"moved, by up to a factor of 1 ± (.*)\.", err)
        assert moved is None or float(moved[1]) < 1e-12

    def test_another_order_of_the_variables_is_said(self):
        from credo.cli.conversion import _losses

        def coins(names):
            net = BayesianNetwork()
            for name in names:
                net.variable(name, 2)
                net.cpt(name, table=[0.5, 0.5])
            return net

        first = next(iter(_losses(coins("ab"), coins("ba"))))
        assert first == "The variables are in another order now."

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["lawn.bif", "lawn.bif"], "lawn.bif is also the network to read"),
            (["lawn.bif", "./lawn.bif"], "is also the network to read"),
            (["lawn.bif", "lawn.txt"], "Cannot tell the format of lawn.txt"),
            (["lawn.bif", "no/lawn.net"], "the folder .* does not exist"),
            (["no.bif", "lawn.net"], "There is no such file"),
            (["field.uai", "field.bif"], "Bayesian"),
        ],
    )
    def test_bad_input_exits_with_2_and_a_sentence(self, credo, folder, arguments, message):
        (folder / "field.uai").write_text("MARKOV 2 2 3 1 2 0 1 6 1 2 3 4 5 6")
        code, out, err = credo("convert", *arguments)
        assert (code, out) == (2, "")
        assert re.match(f"credo: .*{message}", err), err
        assert (folder / "lawn.bif").read_text() == LAWN


class TestUai:
    MODEL = "MARKOV 2 2 3 1 2 0 1 6 1 2 3 4 5 6"

    @pytest.fixture(autouse=True)
    def model(self, folder):
        (folder / "m.uai").write_text(self.MODEL)
        (folder / "m.evid").write_text("1 1 2")
        (folder / "m.query").write_text("1 0")

    def test_writes_results_as_the_competitions_do(self, credo, folder):
        code, out, _ = credo("uai", "PR", "m.uai")
        assert code == 0
        kind, value = out.split()
        assert (kind, float(value)) == ("PR", pytest.approx(math.log10(21)))
        words = credo("uai", "MAR", "m.uai", "m.evid")[1].split()
        assert words[:3] == ["MAR", "2", "2"]
        assert [float(word) for word in words[3:]] == pytest.approx([1 / 3, 2 / 3, 3, 0, 0, 1])
        assert credo("uai", "map", "m.uai", "m.evid")[1] == "MAP\n2 1 2\n"
        arguments = ("uai", "MMAP", "m.uai", "--query-file", "m.query", "--out", "m.MMAP")
        assert credo(*arguments) == (0, "", "")
        assert (folder / "m.MMAP").read_text() == "MMAP\n1 0 1\n"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["SUM", "m.uai"], "task of credo uai must be one of 'PR'.*Got 'SUM'"),
            (["MMAP", "m.uai"], "MMAP needs --query-file"),
            (["PR", "m.uai", "--query-file", "m.query"], "--query-file is for MMAP"),
            (["PR", "no.uai"], "There is no such file"),
            (["PR", "m.uai", "no.evid"], "There is no such file"),
            (["PR", "m.uai", "--out", "m.uai"], "m.uai is also the model"),
            (["PR", "m.uai", "m.evid", "--out", "m.evid"], "m.evid is also the evidence"),
            (["MMAP", "m.uai", "--query-file", "far.query"], "There is no variable 7"),
            (["MMAP", "m.uai", "--query-file", "long.query"], "Expected 1 variables, got 2"),
            (["MMAP", "m.uai", "--query-file", "cut.query"], "file ends where a variable"),
            (["MAR", "m.uai", "--budget", "8B"], "the budget is 8B"),
            (["MAP", "m.uai", "--budget", "8B"], "the budget is 8B"),
        ],
    )
    def test_bad_input_exits_with_2_and_a_sentence(self, credo, folder, arguments, message):
        (folder / "far.query").write_text("1 7")
        (folder / "long.query").write_text("1 0 1")
        (folder / "cut.query").write_text("2 0")
        code, out, err = credo("uai", *arguments)
        assert (code, out) == (2, "")
        assert re.match(f"credo: .*{message}", err), err


class TestProcess:
    def run(self, *arguments, **options):
        command = [sys.executable, "-m", "credo", *arguments]
        return subprocess.run(command, capture_output=True, check=False, **options)

    def test_rows_come_from_a_pipe_and_names_are_utf_8(self, folder):
        (folder / "lawn.bif").write_text(LAWN.replace("rain", "pluie_é"), encoding="utf-8")
        done = self.run(
            *("infer", "lawn.bif", "--rows", "-", "--query", "pluie_é"),
            input=b"wet\nyes\n",
            cwd=folder,
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.decode("utf-8").startswith("pluie_é=no,pluie_é=yes,")

    def test_a_closed_pipe_is_no_error(self, folder):
        command = [sys.executable, "-m", "credo", "infer", "lawn.bif"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder
        ) as process:
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 0

    def loaded_by(self, folder, *arguments):
        """Modules that a fresh process has loaded after a command."""
        code = (
            f"import sys; sys.argv = ['credo', *{arguments!r}]\n"
            "from credo.cli.main import exit_code\n"
            "assert exit_code() == 0\n"
            "print(*sys.modules, file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env={name: value for name, value in os.environ.items() if name != "CREDO_KERNELS"},
        )
        assert done.returncode == 0, done.stderr
        return set(done.stderr.split())

    def test_a_small_question_loads_nothing_heavy(self, folder):
        heavy = {
            *("sklearn", "pandas", "polars", "pyarrow", "narwhals", "scipy.stats"),
            *("scipy.optimize", "matplotlib", "rich", "numba", "credo.classifiers"),
        }
        arguments = ("lawn.bif", "--evidence", "wet=yes")
        assert not heavy & self.loaded_by(folder, "infer", *arguments)
        assert not heavy & self.loaded_by(folder, "infer", *arguments, "--method", "loopy")

    def test_a_large_question_loads_the_compiler(self, folder):
        net = BayesianNetwork()
        for i in range(11):
            net.variable(f"p{i}", 4)
            net.cpt(f"p{i}", table=[0.25] * 4)
        for i, j in itertools.combinations(range(11), 2):
            net.variable(f"c{i}_{j}", 2)
            net.cpt(f"c{i}_{j}", given=[f"p{i}", f"p{j}"], table=np.full((4, 4, 2), 0.5))
        write_network(net, folder / "dense.uai")
        evidence = ",".join(f"c{i}_{j}=0" for i, j in itertools.combinations(range(11), 2))
        assert "numba" in self.loaded_by(folder, "infer", "dense.uai", "--evidence", evidence)
