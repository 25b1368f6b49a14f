"""Networks on the command line: questions, rows, plans, maxima, weights, formats."""

import csv
import gzip
import io
import itertools
import math
import os
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from credo.cli import convert as conversion, infer as inference
from credo.formats import read_network, write_network
from credo.graphs import BayesianNetwork
from credo.tables import open_sink

#: P(rain), P(sprinkler | rain), P(wet | sprinkler, rain) of the lawn; states no, yes.
RAIN = [0.8, 0.2]
SPRINKLER = [[0.6, 0.4], [0.99, 0.01]]
WET = [[[1.0, 0.0], [0.0, 1.0]], [[0.1, 0.9], [0.0, 1.0]]]
#: Two variables, of two and three states, and one table.
PAIR = "MARKOV 2 2 3 1 2 0 1 6 1 2 3 4 5 6"


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


def network(**tables):
    """Variables without parents, by their states and probabilities."""
    net = BayesianNetwork()
    for name, table in tables.items():
        net.variable(name, list(table))
        net.cpt(name, table=list(table.values()))
    return net


@pytest.fixture
def folder(folder, lawn):  # noqa: ARG001 - it writes the file
    (folder / "pair.uai").write_text(PAIR)
    return folder


class TestInfer:
    def test_prints_a_table_in_the_networks_order(self, credo):
        code, out, err = credo("infer", "lawn.bif", "--evidence", "wet=yes")
        assert (code, err) == (0, "")
        p, log_evidence = rain_given(wet=1)
        lines = out.splitlines()
        assert lines.pop(2).startswith("sprinkler  no ")
        assert lines == [
            "variable   probabilities",
            f"rain       no {1 - p:.6g}  yes {p:.6g}",
            "wet        no 0         yes 1",
            "",
            f"ln P(evidence)  {log_evidence:.8g}",
            "engine          junction_tree",
        ]

    def test_gives_all_digits_as_json(self, ask):
        p, log_evidence = rain_given(wet=1, sprinkler=0)
        found = ask("infer", "lawn.bif", "--evidence", "wet=yes,sprinkler=no")
        assert list(found["variables"]) == ["rain", "sprinkler", "wet"]
        assert found["variables"]["rain"]["yes"] == pytest.approx(p, abs=1e-15)
        assert found["variables"]["sprinkler"] == {"no": 1.0, "yes": 0.0}
        assert found["log_evidence"] == pytest.approx(log_evidence, rel=1e-14)
        assert found["status"] == "EXACT"
        assert "sweeps" not in found

    def test_answers_only_what_is_asked(self, ask):
        found = ask("infer", "lawn.bif", "--evidence", "wet=yes", "--query", "rain")
        assert list(found["variables"]) == ["rain"]
        assert found["log_evidence"] == pytest.approx(rain_given(wet=1)[1], rel=1e-14)
        assert list(ask("infer", "lawn.bif", "--query", "wet,rain")["variables"]) == ["wet", "rain"]

    @pytest.mark.parametrize("method", ["tree", "junction_tree", "elimination", "enumeration"])
    def test_takes_any_exact_method_that_fits(self, ask, folder, method):
        net = BayesianNetwork()
        for name in ("a", "b"):
            net.variable(name, ["no", "yes"])
        net.cpt("a", table=[0.25, 0.75])
        net.cpt("b", given=["a"], table=[[0.5, 0.5], [0.2, 0.8]])
        write_network(net, folder / "two.net")
        found = ask("infer", "two.net", "--evidence", "b=yes", "--method", method)
        assert found["engine"] == method
        assert found["variables"]["a"]["yes"] == pytest.approx(0.6 / 0.725)

    def test_evidence_comes_in_several_options_and_sets_of_states(self, ask):
        given = ["--evidence", "wet=yes", "--evidence", " sprinkler = no | yes "]
        several = ask("infer", "lawn.bif", *given)
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
    def test_odd_names_are_quoted(self, ask, folder, evidence, weights):
        prior = {"a, b": 0.1, "a|b": 0.2, "a": 0.3, "b": 0.15, 'say "c"': 0.25}
        net = network(**{"Asy/Patch": prior})
        net.variable("x=y", [">=5", "<5"])
        net.cpt("x=y", given=["Asy/Patch"], table=[[0.5, 0.5]] * 4 + [[0.9, 0.1]])
        write_network(net, folder / "odd.xml")
        found = ask("infer", "odd.xml", "--evidence", evidence)["variables"]["Asy/Patch"]
        expected = np.array(list(prior.values())) * weights
        assert list(found.values()) == pytest.approx(expected / expected.sum())

    def test_a_long_variable_goes_on_in_the_next_line(self, credo, folder):
        states = {f"a_rather_long_state_{i}": 1 / 9 for i in range(9)}
        write_network(network(many=states), folder / "many.bif")
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
    def test_uncertain_evidence_comes_from_a_file(self, ask, folder, text):
        (folder / "seen").write_text(text, encoding="utf-8")
        found = ask("infer", "lawn.bif", "--likelihood", "seen")
        weighted = {c: p * (3 if c[2] == 1 else 1) for c, p in joint().items()}
        expected = sum(p for c, p in weighted.items() if c[0] == 1) / sum(weighted.values())
        assert found["variables"]["rain"]["yes"] == pytest.approx(expected)

    def test_jeffreys_rule_fixes_the_posterior(self, ask, folder):
        (folder / "j.json").write_text('{"wet": {"no": 0.3, "yes": 0.7}}')
        found = ask("infer", "lawn.bif", "--jeffrey", "j.json")["variables"]
        expected = 0.7 * rain_given(wet=1)[0] + 0.3 * rain_given(wet=0)[0]
        assert found["wet"]["yes"] == pytest.approx(0.7)
        assert found["rain"]["yes"] == pytest.approx(expected)

    def test_states_that_are_numbers_are_found_by_their_text(self, ask, credo):
        found = ask("infer", "pair.uai", "--evidence", "1=2")
        assert found["variables"]["0"] == {"0": pytest.approx(1 / 3), "1": 2 / 3}
        assert "ln Z(evidence)  2.19" in credo("infer", "pair.uai", "--evidence", "1=2")[1]

    def test_labels_that_read_the_same_are_refused(self, folder, refused):
        write_network(network(a={1: 0.5, "1": 0.5}), folder / "same.uai")
        refused("two states of variable 'a' read the same: 1", "infer", "same.uai")

    def test_control_characters_do_not_reach_the_terminal(self, credo, folder):
        write_network(network(**{"a\x1b[2J": {"no\n": 0.5, "yes": 0.5}}), folder / "odd.uai")
        code, out, _ = credo("infer", "odd.uai")
        assert code == 0
        assert "a\\x1b[2J  no\\n 0.5  yes 0.5\n" in out

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["no.bif"], "no.bif: There is no such file"),
            (["lawn.txt"], "Cannot tell the format of lawn.txt"),
            (["."], "Cannot tell the format"),
            (["bad.bif"], "bad.bif, line 6, column "),
            (["cut.bif"], "cut.bif, line "),
            (["bytes.bif"], "bytes.bif"),
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
            (["lawn.bif", "--evidence", "query=1"], "no variable 'query'"),
            (["lawn.bif", "--query", "rain,snow"], "no variable 'snow'"),
            (["lawn.bif", "--query", "rain", "--query", "rain"], "--query names 'rain' twice"),
            (["lawn.bif", "--method", "magic"], "must be one of 'auto'.*Got 'magic'"),
            (["lawn.bif", "--budget", "much"], "--budget of infer must be bytes.*Got 'much'"),
            (["lawn.bif", "--budget", "8 B", "--method", "exact"], "budget is 8 B. The largest"),
            (["lawn.bif", "--likelihood", "no.json"], "no.json: No such file"),
            (["lawn.bif", "--out", "p.csv"], "--out goes with --rows only"),
            (["lawn.bif", "--keep", "id"], "--keep goes with --rows only"),
            (["lawn.bif", "--evidence", "wet=no,rain=yes"], "cannot all be true: wet = no, rain"),
        ],
    )
    def test_bad_input_exits_with_2_and_a_sentence(self, folder, lawn, refused, arguments, message):
        (folder / "bad.bif").write_text(lawn.replace("0.99, 0.01", "0.99, maybe"))
        (folder / "cut.bif").write_text(lawn[: len(lawn) // 2])
        (folder / "bytes.bif").write_bytes(bytes(range(256)))
        refused(message, "infer", *arguments)

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
    def test_damaged_weights_are_named(self, folder, refused, text, message):
        (folder / "w").write_text(text)
        refused(message, "infer", "lawn.bif", "--likelihood", "w")


class TestRows:
    ARGUMENTS = ("infer", "lawn.bif", "--rows", "rows.csv")

    @pytest.fixture(autouse=True)
    def table(self, folder):
        (folder / "rows.csv").write_text("id,wet,sprinkler\na,yes,\nb,,no\nc,yes,no\nd,,\n")

    def test_each_row_is_answered_and_the_summary_goes_beside(self, credo):
        code, out, err = credo(*self.ARGUMENTS, "--keep", "id", "--query", "rain")
        assert (code, err) == (0, "4 rows: 0 impossible; 1 variable each\n")
        header, *rows = csv.reader(io.StringIO(out))
        assert header == ["id", "rain=no", "rain=yes", "ln P(evidence)"]
        assert [row[0] for row in rows] == ["a", "b", "c", "d"]
        given = [{"wet": 1}, {"sprinkler": 0}, {"wet": 1, "sprinkler": 0}, {}]
        for row, observed in zip(rows, given, strict=True):
            p, log_evidence = rain_given(**observed)
            expected = pytest.approx([1 - p, p, log_evidence], abs=1e-14)
            assert [float(cell) for cell in row[1:]] == expected

    def test_a_file_is_written_whole_and_json_sums_up(self, ask, folder):
        found = ask(*self.ARGUMENTS, "--ignore", "id", "--out", "post.csv")
        assert found == {
            "rows": 4,
            "impossible": 0,
            "not_converged": 0,
            "observed": ["wet", "sprinkler"],
            "variables": ["rain", "sprinkler", "wet"],
            "out": "post.csv",
        }
        header = (folder / "post.csv").read_text().splitlines()[0]
        names = "rain=no,rain=yes,sprinkler=no,sprinkler=yes,wet=no,wet=yes,ln P(evidence)"
        assert next(csv.reader([header])) == names.split(",")

    def test_an_impossible_row_is_named_by_its_line(self, credo, folder, refused):
        (folder / "rows.csv").write_text("rain,wet\nyes,yes\nyes,no\nno,no\n")
        (folder / "post.csv").write_text("precious")
        arguments = (*self.ARGUMENTS, "--out", "post.csv", "--query", "sprinkler")
        refused("rows.csv, line 3: .*cannot all be true: rain = yes, wet = no", *arguments)
        assert (folder / "post.csv").read_text() == "precious"
        code, _, err = credo(*arguments, "--on-impossible", "blank")
        assert (code, err) == (0, "3 rows: 1 impossible; 1 variable each\n")
        lines = (folder / "post.csv").read_text().splitlines()
        assert lines[2] == ",,"
        assert all(math.isfinite(float(cell)) for cell in lines[3].split(","))

    def test_text_can_mean_not_observed(self, credo, folder, refused):
        (folder / "rows.csv").write_text('wet\n?\nNA\n""\n yes \n')
        arguments = (*self.ARGUMENTS, "--query", "rain")
        code, out, _ = credo(*arguments, "--missing", "?", "--missing", "NA")
        assert code == 0
        values = [float(line.split(",")[1]) for line in out.splitlines()[1:]]
        assert values == pytest.approx([0.2, 0.2, 0.2, rain_given(wet=1)[0]])
        refused(r"rows.csv, line 2: variable 'wet' has no state '\?'\..* --missing", *arguments)
        refused("'no' is a state of variable 'wet'", *arguments, "--missing", "no")

    def test_a_state_may_read_like_a_missing_value(self, credo, folder, lawn):
        (folder / "lawn.bif").write_text(lawn.replace("yes", "NA"))
        (folder / "rows.csv").write_text("wet,sprinkler\nNA,no\n")
        out = credo(*self.ARGUMENTS, "--query", "rain")[1]
        expected = rain_given(wet=1, sprinkler=0)[0]
        assert float(out.splitlines()[1].split(",")[1]) == pytest.approx(expected)

    def test_a_kept_variable_is_evidence_unless_it_is_ignored(self, credo, folder):
        (folder / "rows.csv").write_text("rain,wet\nyes,yes\n")
        arguments = (*self.ARGUMENTS, "--query", "rain", "--keep", "rain")
        used = credo(*arguments)[1].splitlines()[1].split(",")
        assert (used[0], float(used[2])) == ('"yes"', 1.0)
        held = credo(*arguments, "--ignore", "rain")[1].splitlines()[1]
        assert float(held.split(",")[2]) == pytest.approx(rain_given(wet=1)[0])

    @pytest.mark.parametrize("coded", [False, True], ids=["words", "codes"])
    @pytest.mark.parametrize("ending", ["parquet", "arrow", "tsv"])
    def test_the_same_rows_in_any_format_are_answered_alike(
        self, credo, folder, refused, ending, coded
    ):
        words = pa.array([" yes ", "no", None])
        table = pa.table({"id": [7, 8, 9], "wet": words.dictionary_encode() if coded else words})
        with open_sink(folder / f"t.{ending}", table.schema) as sink:
            sink.write(table.to_batches()[0])
        (folder / "rows.csv").write_text("id,wet\n7,yes\n8,no\n9,\n")
        other, options = ("infer", "lawn.bif", "--rows", f"t.{ending}"), ("--keep", "id")
        assert credo(*other, *options) == credo(*self.ARGUMENTS, *options)
        table = pa.table({"wet": ["no", "not"]})
        with open_sink(folder / f"t.{ending}", table.schema) as sink:
            sink.write(table.to_batches()[0])
        place = ", line 3:" if ending == "tsv" else ": row 2:"
        refused(f"credo: t.{ending}{place} variable 'wet' has no state 'not'", *other)

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

    def test_the_size_of_a_block_does_not_matter(self, credo, monkeypatch):
        at_once = credo(*self.ARGUMENTS, "--keep", "id")
        assert at_once[0] == 0
        monkeypatch.setattr(inference, "_BLOCK_CELLS", 1)
        assert credo(*self.ARGUMENTS, "--keep", "id") == at_once

    def test_a_table_without_rows_or_without_evidence_is_no_error(self, credo, folder):
        (folder / "rows.csv").write_text("wet\n")
        code, out, err = credo(*self.ARGUMENTS, "--query", "rain")
        assert (code, out) == (0, '"rain=no","rain=yes","ln P(evidence)"\n')
        assert err == "0 rows: 0 impossible; 1 variable each\n"
        (folder / "rows.csv").write_text("id\n7\n8\n")
        lines = credo(*self.ARGUMENTS, "--keep", "id", "--query", "rain")[1].splitlines()[1:]
        assert [float(line.split(",")[2]) for line in lines] == pytest.approx([0.2, 0.2])

    def test_a_carriage_return_in_a_kept_cell_survives(self, credo, folder):
        (folder / "rows.csv").write_bytes(b'id,wet\n"x\ry",yes\nz,no\n')
        out = credo(*self.ARGUMENTS, "--keep", "id", "--query", "rain")[1]
        rows = list(csv.reader(io.StringIO(out, newline="")))
        assert [row[0] for row in rows] == ["id", "x\ry", "z"]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("no.csv", "no.csv: No such file"),
            ("rows.csv", "the column 'id' is no variable.*Pass --keep 'id'"),
            ("rows.csv --keep ID", "no column 'ID'.*Did you mean 'id'"),
            ("rows.csv --keep id --keep id", "two columns 'id'"),
            ("rows.csv --out rows.csv", "rows.csv is also the file of rows"),
            ("rows.csv --out lawn.bif", "lawn.bif is also the network"),
            ("rows.csv --out no/p.csv", "the folder .* does not exist"),
            ("rows.csv --keep id --out p.xls", "p.xls: the ending says the format. Use one of"),
            ("rows.csv --keep id --out /proc/p.csv", "/proc"),
            ("rows.csv --json", "--json prints a summary. Pass --out"),
            ("rows.csv --on-impossible skip", "'--on-impossible'.*'skip' is not one of 'error', "),
            ("rows.csv --evidence wet=yes", "--evidence does not go with --rows"),
            ("rows.csv --on-failure raise", "--on-failure does not go with --rows"),
            ("rows.csv --method tree", "must be one of 'auto', 'exact', 'loopy'"),
            ("rows.csv --sweeps 3", "--sweeps is no option of .* --method auto.*method loopy"),
            ("rows.csv --draws 3", "--draws is no option of .* --method auto. Leave it out"),
            ("rows.csv --keep id --budget 1B", "the budget is 1 ?B"),
            ("empty.csv", "empty.csv: the file is empty"),
            ("short.csv", "short.csv, line 3: expected 2 cells as in the header"),
            ("typo.csv", "typo.csv, line 3: variable 'wet' has no state 'yess'"),
            ("rows.csv --keep id --query wett", "--query: The model has no variable 'wett'"),
        ],
    )
    def test_bad_input_exits_with_2_and_a_sentence(self, folder, refused, arguments, message):
        (folder / "empty.csv").write_text("")
        (folder / "short.csv").write_text("wet,rain\nyes,\nyes\n")
        (folder / "typo.csv").write_text("wet,rain\nyes,\nyess,\n")
        before = sorted(folder.iterdir())
        refused(message, "infer", "lawn.bif", "--rows", *arguments.split())
        assert sorted(folder.iterdir()) == before


class TestPlan:
    def test_prints_the_cost_and_computes_nothing(self, credo):
        code, out, err = credo("plan", "lawn.bif", "--evidence", "wet=yes")
        assert (code, err) == (0, "")
        assert re.search(r"^largest table +4 cells", out, re.MULTILINE)
        assert out.endswith("budget           within 4GB\n")

    def test_says_what_is_over_the_budget_and_exits_with_0(self, credo, ask):
        code, out, _ = credo("plan", "lawn.bif", "--budget", "8B")
        assert code == 0
        assert out.endswith("budget           OVER the budget of 8B: infer would approximate\n")
        record = ask("plan", "lawn.bif", "--budget", "8B")
        assert (record["fits"], record["bytes"]) == (False, 64)
        assert record["largest_clique"] == ["rain", "sprinkler", "wet"]
        assert ask("plan", "lawn.bif", "--budget", "none")["fits"]

    def test_counts_only_what_the_query_needs(self, ask):
        record = ask("plan", "lawn.bif", "--query", "rain")
        assert (record["variables"], record["not_needed"]) == (1, 2)

    def test_bad_input_exits_with_2(self, refused):
        refused("--budget of plan must be", "plan", "lawn.bif", "--budget", "much")
        refused("no variable 'snow'", "plan", "lawn.bif", "--query", "snow")
        refused("no such file", "plan", "no.bif")

    def test_a_model_that_no_machine_could_hold_has_a_plan(self, ask, folder, refused):
        rng = np.random.default_rng(0)
        net = network(**{f"p{i}": dict.fromkeys(range(8), 0.125) for i in range(300)})
        for i in range(1500):
            first, second = rng.choice(300, 2, replace=False)
            net.variable(f"c{i}", 2)
            given = [f"p{first}", f"p{second}"]
            net.cpt(f"c{i}", given=given, table=np.full((8, 8, 2), 0.5))
        write_network(net, folder / "dense.uai")
        arguments = ("dense.uai", "--evidence", ",".join(f"c{i}=0" for i in range(1500)))
        record = ask("plan", *arguments)
        assert record["fits"] is False
        assert record["width"] >= 20  # 8 ** 20 is more than can be addressed
        refused("The largest clique has", "infer", *arguments, "--method", "exact")


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

    def test_finds_the_next_best_too(self, ask, credo):
        found = ask("mpe", "lawn.bif", "--k", "4")["configurations"]
        expected = sorted((p for p in joint().values() if p), reverse=True)[:4]
        assert [math.exp(each["log_score"]) for each in found] == pytest.approx(expected)
        lines = credo("mpe", "lawn.bif", "--k", "2")[1].splitlines()
        assert lines[0].split() == ["variable", "1", "2"]
        assert lines[-1].split() == ["engine", "junction_tree"]

    def test_sums_the_others_out_for_some(self, ask):
        (found,) = ask("mpe", "lawn.bif", "--variables", "rain")["configurations"]
        assert found["states"] == {"rain": "no"}
        assert found["log_score"] == pytest.approx(math.log(0.8))

    def test_says_what_is_tied(self, credo, folder):
        (folder / "tie.uai").write_text("MARKOV 2 2 2 1 2 0 1 4 1 3 3 2")
        code, out, _ = credo("mpe", "tie.uai")
        assert code == 0
        assert "ln score  1.0986123\n" in out
        assert out.endswith("tied: 0, 1; in other states a configuration is as good\n")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("--k 0", "Invalid value for '--k'"),
            ("--k 2 --variables rain", "Leave out --variables"),
            ("--k 2 --method icm", "--method does not go with --k"),
            ("--k 2 --sweeps 3", "--sweeps does not go with --k"),
            ("--variables rain --method icm", "--method does not go with --variables"),
            ("--variables snow", "no variable 'snow'"),
            ("--evidence wet=no,rain=yes", "cannot all be true"),
            ("--budget 8B --method junction_tree", "the budget is 8B"),
            ("--budget much", "--budget of mpe must be bytes"),
            ("--method magic", "--method of credo mpe must be one of 'auto'.*Got 'magic'"),
            ("--method icm --tolerance 1", "--tolerance is no option of credo mpe --method icm"),
        ],
    )
    def test_bad_input_exits_with_2_and_a_sentence(self, refused, arguments, message):
        refused(message, "mpe", "lawn.bif", *arguments.split())


class TestExplain:
    ARGUMENTS = ("explain", "lawn.bif", "--target", "rain")

    def test_weighs_findings_in_log10_odds(self, credo):
        code, out, err = credo(*self.ARGUMENTS, "--evidence", "wet=yes", "--state", "yes")
        assert (code, err) == (0, "")
        p = rain_given(wet=1)[0]
        total = math.log10(p / (1 - p)) - math.log10(0.2 / 0.8)
        assert out.startswith(f"rain = yes: 0.2 -> {p:.4g} ({total:+.3f} in log10 odds)\n")

    def test_infinite_weights_are_words_in_json(self, ask):
        record = ask(*self.ARGUMENTS, "--evidence", "wet=no", "--state", "yes")
        assert (record["prior"], record["posterior"]) == (pytest.approx(0.2), 0.0)
        assert record["total"] == "-inf"
        assert record["findings"][0]["finding"] == "no"
        several = ask(*self.ARGUMENTS, "--evidence", "wet=no|yes")
        assert several["findings"][0]["finding"] == ["no", "yes"]

    def test_bad_input_exits_with_2(self, refused):
        seen = ("--evidence", "wet=yes")
        refused("no state 'maybe'", *self.ARGUMENTS, *seen, "--state", "maybe")
        refused("nothing to weigh", *self.ARGUMENTS)
        refused("'wet' is observed itself", "explain", "lawn.bif", "--target", "wet", *seen)
        refused("no variable 'snow'", "explain", "lawn.bif", "--target", "snow", *seen)
        refused("Missing option '--target'", "explain", "lawn.bif", *seen)


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
        even = {0: 0.5, 1: 0.5}
        before = network(**{"a b": {"no": 0.5, "yes": 0.5}}).compile()
        after = network(a_b={"no": 0.25, "si": 0.75}).compile()
        assert list(conversion._losses(before, after)) == [
            "1 names changed; the first, 'a b', is 'a_b' now.",
            "1 states of variables changed; the first, ('no', 'yes'), is ('no', 'si') now.",
            "2 table entries moved, by up to a factor of 1 ± 1.",
        ]
        assert not list(conversion._losses(before, before))
        turned = network(a=even, b=even).compile(), network(b=even, a=even).compile()
        assert list(conversion._losses(*turned)) == ["The variables are in another order now."]

    def test_factors_in_logs_are_the_same_factors(self, credo, folder):
        (folder / "field.uai").write_text("MARKOV 2 2 3 1 2 0 1 6 1 0 3 4 5 1e-200")
        code, _, err = credo("convert", "field.uai", "field.LG")
        assert code == 0
        moved = re.search(r"moved, by up to a factor of 1 ± (.*)\.", err)
        assert moved is None or float(moved[1]) < 1e-12

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("lawn.bif lawn.bif", "lawn.bif is also the network to read"),
            ("lawn.bif ./lawn.bif", "is also the network to read"),
            ("lawn.bif lawn.txt", "Cannot tell the format of lawn.txt"),
            ("lawn.bif no/lawn.net", "the folder .* does not exist"),
            ("lawn.bif /proc/lawn.net", "/proc"),
            ("no.bif lawn.net", "There is no such file"),
            ("pair.uai field.bif", "Bayesian"),
        ],
    )
    def test_bad_input_exits_with_2_and_a_sentence(self, folder, lawn, refused, arguments, message):
        refused(message, "convert", *arguments.split())
        assert (folder / "lawn.bif").read_text() == lawn


class TestUai:
    @pytest.fixture(autouse=True)
    def files(self, folder):
        (folder / "m.evid").write_text("1 1 2")
        (folder / "m.query").write_text("1 0")

    def test_writes_results_as_the_competitions_do(self, credo, folder):
        code, out, _ = credo("uai", "PR", "pair.uai")
        assert code == 0
        kind, value = out.split()
        assert (kind, float(value)) == ("PR", pytest.approx(math.log10(21)))
        words = credo("uai", "MAR", "pair.uai", "m.evid")[1].split()
        assert words[:3] == ["MAR", "2", "2"]
        assert [float(word) for word in words[3:]] == pytest.approx([1 / 3, 2 / 3, 3, 0, 0, 1])
        assert credo("uai", "map", "pair.uai", "m.evid", "--out", "-")[1] == "MAP\n2 1 2\n"
        arguments = ("uai", "MMAP", "pair.uai", "--query-file", "m.query", "--out", "m.MMAP")
        assert credo(*arguments) == (0, "", "")
        assert (folder / "m.MMAP").read_text() == "MMAP\n1 0 1\n"

    def test_an_answer_that_does_not_fit_is_approximate_and_says_so(self, credo, folder):
        rng = np.random.default_rng(0)
        loop = [0, 1, 2, 3]
        tables = [np.exp(rng.normal(size=(2, 2))) for _ in loop]
        pairs = [(i, (i + 1) % 4) for i in loop]
        text = f"MARKOV 4 2 2 2 2 4 {' '.join(f'2 {i} {j}' for i, j in pairs)} "
        text += " ".join(f"4 {' '.join(map(str, t.ravel().tolist()))}" for t in tables)
        (folder / "loop.uai").write_text(text)
        joint = np.einsum("ab,bc,cd,da->abcd", *tables)
        said = r"credo: warning: (infer|mpe) .*the budget is 8B.*"
        code, out, err = credo("uai", "PR", "loop.uai", "--budget", "8B")
        assert code == 0
        assert re.match(r"credo: warning: infer gives an approximate answer \(engine", err)
        assert "--method exact to get an error instead" in err
        estimate = float(out.split()[1])
        assert estimate == pytest.approx(math.log10(joint.sum()), abs=0.05)
        assert estimate != pytest.approx(math.log10(joint.sum()), abs=1e-6)
        code, out, err = credo("uai", "MAR", "loop.uai", "--budget", "8B")
        assert (code, re.match(said, err) is None) == (0, False)
        first = [float(word) for word in out.split()[3:5]]
        assert first == pytest.approx(joint.sum((1, 2, 3)) / joint.sum(), abs=0.05)
        _, out, err = credo("uai", "PR", "loop.uai")
        assert (err, float(out.split()[1])) == ("", pytest.approx(math.log10(joint.sum())))
        code, out, err = credo("uai", "MAP", "loop.uai", "--budget", "8B")
        best = np.unravel_index(joint.argmax(), joint.shape)
        assert (code, out) == (0, f"MAP\n4 {' '.join(map(str, best))}\n")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("SUM pair.uai", "'SUM' is not one of 'pr', 'mar'"),
            ("MMAP pair.uai", "MMAP needs --query-file"),
            ("PR pair.uai --query-file m.query", "--query-file is for MMAP"),
            ("PR no.uai", "There is no such file"),
            ("PR pair.uai no.evid", "There is no such file"),
            ("PR pair.uai --out pair.uai", "pair.uai is also the model"),
            ("PR pair.uai --out /proc/lawn.PR", "/proc"),
            ("PR pair.uai m.evid --out m.evid", "m.evid is also the evidence"),
            ("MMAP pair.uai --query-file far.query", "There is no variable 7"),
            ("MMAP pair.uai --query-file long.query", "Expected 1 variables, got 2"),
            ("MMAP pair.uai --query-file cut.query", "file ends where a variable"),
            ("PR pair.uai --method exact --budget 8B", "the budget is 8B"),
            ("MAR pair.uai --method exact --budget 8B", "the budget is 8B"),
            ("MAP pair.uai --method exact --budget 8B", "the budget is 8B"),
            ("MMAP pair.uai --query-file m.query --budget 8B", "the budget is 8B"),
        ],
    )
    def test_bad_input_exits_with_2_and_a_sentence(self, folder, refused, arguments, message):
        (folder / "far.query").write_text("1 7")
        (folder / "long.query").write_text("1 0 1")
        (folder / "cut.query").write_text("2 0")
        refused(message, "uai", *arguments.split())


class TestProcess:
    def test_rows_come_from_a_pipe_and_names_are_utf_8(self, folder, lawn, process):
        (folder / "lawn.bif").write_text(lawn.replace("rain", "pluie_é"), encoding="utf-8")
        done = process(
            *("infer", "lawn.bif", "--rows", "-", "--query", "pluie_é"),
            input=b"wet\nyes\n",
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.decode("utf-8").startswith('"pluie_é=no","pluie_é=yes",')

    def loaded_by(self, folder, *arguments):
        """Modules that a fresh process has loaded after a command."""
        code = (
            f"import sys; sys.argv = ['credo', *{arguments!r}]\n"
            "from credo.cli.main import run\n"
            "try: run()\n"
            "except SystemExit as stop: print(stop.code, *sys.modules, file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=folder,
            env={name: value for name, value in os.environ.items() if name != "CREDO_KERNELS"},
        )
        code, *modules = done.stderr.split()
        assert code == "0"
        return set(modules)

    def test_a_small_question_loads_nothing_heavy(self, folder):
        heavy = {
            *("sklearn", "pandas", "polars", "pyarrow", "narwhals", "scipy.stats"),
            *("scipy.optimize", "matplotlib", "rich", "numba", "credo.classifiers"),
        }
        arguments = ("lawn.bif", "--evidence", "wet=yes")
        assert not heavy & self.loaded_by(folder, "infer", *arguments)
        assert not heavy & self.loaded_by(folder, "infer", *arguments, "--method", "loopy")

    def test_a_large_question_loads_the_compiler(self, folder):
        pairs = list(itertools.combinations(range(11), 2))
        net = network(**{f"p{i}": dict.fromkeys(range(4), 0.25) for i in range(11)})
        for i, j in pairs:
            net.variable(f"c{i}_{j}", 2)
            net.cpt(f"c{i}_{j}", given=[f"p{i}", f"p{j}"], table=np.full((4, 4, 2), 0.5))
        write_network(net, folder / "dense.uai")
        evidence = ",".join(f"c{i}_{j}=0" for i, j in pairs)
        assert "numba" in self.loaded_by(folder, "infer", "dense.uai", "--evidence", evidence)
