"""Answers that are not exact on the command line: their labels, warnings and intervals."""

import itertools
import json
import math
import re
import sys
import warnings

import numpy as np
import pytest

import credo as library
from credo import bounds
from credo.cli import main as cli, progress
from credo.cli.method_options import read
from credo.cli.text_tables import bound_text
from credo.formats.network_files import read_network
from credo.inference.engines import ENGINES, MAXIMISERS, OPTIONS

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
#: Five variables, each of which wants to differ from every other: flooding oscillates.
PAIRS = list(itertools.combinations(range(5), 2))
FIELDS = [[1, 1 + 0.1 * i] for i in range(5)]
RIVALS = " ".join(
    [
        "MARKOV 5 2 2 2 2 2 15",
        *(f"1 {i}" for i in range(5)),
        *(f"2 {i} {j}" for i, j in PAIRS),
        *(f"2 {a} {b}" for a, b in FIELDS),
        *("4 1 9 9 1" for _ in PAIRS),
    ]
)


def rivals(state, apart=9.0):
    """The product of all factors, by the definition."""
    alone = math.prod(FIELDS[i][x] for i, x in enumerate(state))
    return alone * math.prod(apart if state[i] != state[j] else 1.0 for i, j in PAIRS)


STATES = list(itertools.product(range(2), repeat=5))
LOG_Z = math.log(sum(map(rivals, STATES)))
BEST = math.log(max(map(rivals, STATES)))
METHODS = {
    "loopy": "ESTIMATE",
    "tree_reweighted": "UPPER_BOUND",
    "mean_field": "LOWER_BOUND",
    "structured_mean_field": "LOWER_BOUND",
    "generalised": "ESTIMATE",
    "double_loop": "ESTIMATE",
    "gibbs": "ESTIMATE",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "lawn.bif").write_text(LAWN)
    (tmp_path / "rivals.uai").write_text(RIVALS)
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


def lines_below(out):
    """What a text says beside the table."""
    below = out.split("\n\n")[1].splitlines()
    return dict(re.split("  +", line, maxsplit=1) for line in below)


class TestMethods:
    @pytest.mark.parametrize("method", METHODS)
    def test_every_method_says_what_its_log_evidence_is(self, credo, method):
        options = {"generalised": {}, "gibbs": {}}.get(method, {"sweeps": 40})
        given = [word for name, value in options.items() for word in (f"--{name}", value)]
        arguments = ("rivals.uai", "--method", method, *given, "--on-failure", "return", "--json")
        code, out, err = credo("infer", *arguments)
        assert (code, err) == (0, "")
        found = json.loads(out)
        expected = library.infer(
            read_network("rivals.uai"), method=method, on_failure="return", **options
        )
        assert found["engine"] == method
        assert found["status"] == expected.status
        assert found["log_evidence"] == expected.log_evidence
        assert found["log_evidence_is"] == METHODS[method] == expected.log_evidence_is
        assert found["sweeps"] == expected.sweeps > 0
        assert found["residual"] == expected.residuals[-1]
        assert found["updates"] == expected.updates
        assert (found["period"], found["why"]) == (0, [])
        for name in expected:
            marginal = list(found["variables"][str(name)].values())
            assert marginal == expected.probabilities(name).tolist()

    def test_an_engine_that_did_not_settle_gives_its_estimate_and_says_so(self, credo):
        arguments = ("rivals.uai", "--method", "generalised", "--sweeps", "3")
        code, out, _ = credo("infer", *arguments, "--on-failure", "return", "--json")
        found = json.loads(out)
        assert (code, found["status"], found["log_evidence_is"]) == (0, "MAX_SWEEPS", "ESTIMATE")
        post = library.infer(
            read_network("rivals.uai"), method="generalised", sweeps=3, on_failure="return"
        )
        assert math.isfinite(post.log_evidence)
        assert found["log_evidence"] == post.log_evidence

    def test_draws_without_an_estimate_of_log_z_say_so(self, credo):
        arguments = ("rivals.uai", "--method", "gibbs", "--draws", "50", "--log-z", "none")
        code, out, _ = credo("infer", *arguments, "--on-failure", "return", "--json")
        found = json.loads(out)
        assert (code, found["log_evidence_is"]) == (0, "NOT_ESTIMATED")
        assert found["log_evidence"] is None

    def test_the_text_says_how_far_to_trust_it(self, credo):
        expected = library.infer(read_network("rivals.uai"), method="loopy")
        code, out, err = credo("infer", "rivals.uai", "--method", "loopy")
        assert (code, err) == (0, "")
        assert lines_below(out) == {
            "ln Z(evidence)": f"{expected.log_evidence:.8g} (estimate)",
            "engine": "loopy",
            "status": "CONVERGED",
            "sweeps": f"{expected.sweeps}",
            "last residual": f"{expected.residuals[-1]:.3g}",
        }

    @pytest.mark.parametrize(
        ("method", "label", "is_below"),
        [
            ("mean_field", "(lower bound)", True),
            ("structured_mean_field", "(lower bound)", True),
            ("tree_reweighted", "(upper bound)", False),
        ],
    )
    def test_a_bound_holds_as_printed(self, credo, method, label, is_below):
        arguments = ("--method", method, "--on-failure", "return", "--sweeps", "40")
        value, kind = lines_below(credo("infer", "rivals.uai", *arguments)[1])[
            "ln Z(evidence)"
        ].split(" ", 1)
        found = library.infer(
            read_network("rivals.uai"), method=method, on_failure="return", sweeps=40
        )
        assert kind == label
        assert float(value) == pytest.approx(found.log_evidence, rel=1e-7)
        assert (float(value) <= found.log_evidence) == is_below
        assert (float(value) < LOG_Z) == is_below

    def test_on_a_tree_it_is_exact_and_says_so(self, credo, folder):
        (folder / "pair.uai").write_text("MARKOV 2 2 3 1 2 0 1 6 1 2 3 4 5 6")
        out = credo("infer", "pair.uai", "--evidence", "1=2", "--method", "loopy")[1]
        assert lines_below(out)["ln Z(evidence)"] == f"{math.log(9):.8g} (exact)"
        assert lines_below(out)["status"] == "EXACT"

    def test_exact_is_the_cheapest_exact_method(self, credo):
        found = json.loads(credo("infer", "rivals.uai", "--method", "exact", "--json")[1])
        assert found["log_evidence"] == pytest.approx(LOG_Z, rel=1e-13)
        assert (found["log_evidence_is"], found["status"]) == ("EXACT", "EXACT")
        assert "sweeps" not in found

    def test_evidence_weights_and_queries_count(self, credo, folder):
        (folder / "seen.json").write_text('{"wet": {"no": 0.1, "yes": 0.8}}')
        arguments = ("--likelihood", "seen.json", "--evidence", "sprinkler=no", "--query", "rain")
        found = json.loads(credo("infer", "lawn.bif", *arguments, "--method", "loopy", "--json")[1])
        assert list(found["variables"]) == ["rain"]
        rain = np.array([0.8 * 0.6 * 0.1, 0.2 * 0.99 * 0.8])
        assert list(found["variables"]["rain"].values()) == pytest.approx(rain / rain.sum())
        assert found["log_evidence"] == pytest.approx(math.log(rain.sum()))

    def test_gibbs_sampling_shows_whether_chains_agree(self, credo):
        arguments = ("infer", "rivals.uai", "--method", "gibbs", "--seed", "3")
        below = lines_below(credo(*arguments)[1])
        assert below["status"] == "SAMPLED"
        assert 0.99 < float(below["worst R-hat"]) < 1.1
        details = json.loads(credo(*arguments, "--json")[1])["details"]
        assert int(below["draws"]) == details["draws"]
        assert float(below["effective draws"]) == pytest.approx(
            details["least_effective_sample_size"], rel=1e-3
        )
        assert "sweeps" not in below


class TestSettings:
    OSCILLATING = ("--method", "loopy", "--schedule", "flooding", "--momentum", "1")

    def test_settings_reach_the_engine(self, credo):
        settings = {
            "schedule": "random",
            "momentum": 0.3,
            "sweeps": 7,
            "tolerance": 0.5,
            "threads": 2,
        }
        expected = library.infer(
            read_network("rivals.uai"), method="loopy", seed=5, on_failure="return", **settings
        )
        given = [word for name, value in settings.items() for word in (f"--{name}", value)]
        arguments = ("rivals.uai", "--method", "loopy", "--seed", "5", "--on-failure", "return")
        found = json.loads(credo("infer", *arguments, *given, "--json")[1])
        assert found["log_evidence"] == expected.log_evidence
        assert found["details"] == {"schedule": "random", "momentum": 0.3}
        adaptive = ("--method", "loopy", "--momentum", "adaptive", "--json")
        default = credo("infer", "rivals.uai", "--method", "loopy", "--json")
        assert credo("infer", "rivals.uai", *adaptive) == default

    @pytest.mark.parametrize(
        ("temperature", "quantity"),
        [("1", "ln Z(evidence)"), ("0.5", "ln Z at 0.5"), ("0", "ln best score")],
    )
    def test_a_temperature_changes_what_is_summed(self, credo, folder, temperature, quantity):
        (folder / "pair.uai").write_text("MARKOV 2 2 3 1 2 0 1 6 1 2 3 4 5 6")
        arguments = ("--method", "loopy", "--temperature", temperature)
        out = credo("infer", "pair.uai", *arguments)[1]
        table = np.arange(1.0, 7.0)
        heat = float(temperature)
        expected = np.log((table ** (1 / heat)).sum() if heat else table.max())
        assert lines_below(out)[quantity] == f"{expected:.8g} (exact)"

    def test_a_run_that_oscillates_says_so_and_is_warned_of(self, credo):
        code, out, err = credo("infer", "rivals.uai", *self.OSCILLATING)
        assert code == 0
        assert re.fullmatch(
            r"credo: warning: infer: method='loopy' oscillates: .* 2 sweeps.*\n", err
        )
        assert lines_below(out)["status"] == "OSCILLATING, back after 2 sweeps"
        found = json.loads(credo("infer", "rivals.uai", *self.OSCILLATING, "--json")[1])
        assert (found["status"], found["period"]) == ("OSCILLATING", 2)

    def test_on_failure_chooses_between_silence_and_an_error(self, credo):
        few = ("infer", "rivals.uai", "--method", "loopy", "--sweeps", "2")
        code, out, err = credo(*few)
        assert code == 0
        assert re.match("credo: warning: .* did not converge within 2 sweeps", err)
        assert err.count("\n") == 1
        assert lines_below(out)["status"] == "MAX_SWEEPS"
        assert credo(*few, "--on-failure", "return") == (0, out, "")
        code, out, err = credo(*few, "--on-failure", "raise")
        assert (code, out) == (cli.NOT_CONVERGED, "")
        assert re.match("credo: infer: method='loopy' did not converge within 2 sweeps", err)
        assert err.count("\n") == 1

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--method", "magic"], "--method of credo infer must be one of 'auto'.*Got 'magic'"),
            (["--method", "loopy", "--momentum", "2"], "momentum .* at most 1.*Got 2\\."),
            (["--method", "loopy", "--momentum", "0"], "momentum .* above 0.*Got 0\\."),
            (["--method", "loopy", "--momentum", "nan"], "momentum .* must be finite"),
            (["--method", "loopy", "--momentum", "fast"], "momentum .*'adaptive'. Got 'fast'"),
            (["--method", "loopy", "--schedule", "magic"], "schedule .* must be one of 'auto'"),
            (["--method", "loopy", "--sweeps", "0"], "sweeps .* at least 1. Got 0"),
            (["--method", "mean_field", "--sweeps", "0"], "sweeps .* at least 1. Got 0"),
            (["--method", "loopy", "--tolerance", "-1"], "tolerance .* at least 0. Got -1"),
            (
                ["--method", "loopy", "--temperature", "-1"],
                "temperature .* must be 0, which",
            ),
            (["--method", "loopy", "--threads", "0"], "threads .* at least 1. Got 0"),
            (["--method", "loopy", "--seed", "-1"], "seed .* at least 0. Got -1"),
            (["--method", "loopy", "--on-failure", "cry"], "--on-failure .* one of .*Got 'cry'"),
            (["--on-failure", "cry"], "--on-failure .* one of .*Got 'cry'"),
            (["--method", "mean_field", "--schedule", "tree"], "'mean_field' has no option 'sched"),
            (["--method", "gibbs", "--momentum", "0.5"], "'gibbs' has no option 'momentum'"),
            (["--method", "exact", "--sweeps", "3"], "method='exact' has no option 'sweeps'"),
            (["--sweeps", "3"], "method='auto' has no option 'sweeps'"),
            (["--method", "loopy", "--budget", "much"], "budget of infer must be bytes"),
            (["--method", "loopy", "--jeffrey", "w.json"], "jeffrey needs an exact method"),
            (["--method", "loopy", "--query", "snow"], "no variable 'snow'"),
            (["--method", "loopy", "--evidence", "wet=no,rain=yes"], "cannot all be true: wet"),
            (["--method", "mean_field", "--evidence", "wet=no,rain=yes"], "cannot all be true"),
            (["--rows", "r.csv", "--method", "gibbs"], "must be one of 'auto', 'exact', 'loopy'"),
            (["--rows", "r.csv", "--sweeps", "3"], "'auto' has no option 'sweeps'"),
            (["--rows", "r.csv", "--on-failure", "raise"], "--on-failure does not go with --rows"),
        ],
    )
    def test_bad_input_exits_with_2_and_a_sentence(self, credo, folder, arguments, message):
        (folder / "w.json").write_text('{"wet": [0.3, 0.7]}')
        (folder / "r.csv").write_text("wet\nyes\n")
        code, out, err = credo("infer", "lawn.bif", *arguments)
        assert (code, out) == (2, "")
        assert re.match(f"credo: .*{message}", err), err
        assert err.count("\n") == 1

    @pytest.mark.parametrize("option", ["--sweeps", "--threads", "--tolerance", "--temperature"])
    def test_words_in_place_of_numbers_are_refused(self, credo, option):
        code, out, err = credo("infer", "lawn.bif", "--method", "loopy", option, "many")
        assert (code, out) == (2, "")
        assert option.removeprefix("--") in err
        assert "many" in err


#: All that each engine takes, on the command line.
INFER_OPTIONS = {
    "loopy": "--schedule residual --momentum 0.5 --domain log --temperature 1.5 --sweeps 77 "
    "--tolerance 1e-5 --dtype float64 --threads 2 --counting 1.5",
    "generalised": "--regions bethe --momentum 0.9 --sweeps 77 --tolerance 1e-5",
    "double_loop": "--regions cliques --sweeps 77 --tolerance 1e-5",
    "tree_reweighted": "--forests uniform --rounds 2 --sweeps 77 --tolerance 1e-5",
    "mean_field": "--restarts 2 --sweeps 77 --tolerance 1e-5",
    "structured_mean_field": "--blocks forest --restarts 2 --sweeps 77 --tolerance 1e-5",
    "gibbs": "--draws 50 --burn-in 20 --chains 3 --blocks trees --thin 2 --log-z none --threads 2",
}
MPE_OPTIONS = {
    "auto": "--sweeps 7 --tolerance 0.1",
    "tree_reweighted": "--sweeps 7 --tolerance 0.1",
    "loopy": "--schedule flooding --momentum 0.5 --domain log --sweeps 9 --tolerance 0.1 "
    "--threads 2",
    "icm": "--start random --sweeps 9 --restarts 2 --forests 1",
}


class TestOptionsOfMethods:
    """Whatever an engine takes can be said on the command line, and arrives."""

    @staticmethod
    def values(words):
        """The same as keyword arguments."""
        given = words.split()
        pairs = zip(given[::2], given[1::2], strict=True)
        return {name[2:].replace("-", "_"): read(text) for name, text in pairs}

    @pytest.mark.parametrize(
        ("text", "value"), [("3", 3), ("0.5", 0.5), ("1e-3", 1e-3), ("None", None), ("log", "log")]
    )
    def test_a_word_is_a_number_or_none_where_it_can_be(self, text, value):
        assert read(text) == value
        assert type(read(text)) is type(value)

    @pytest.mark.parametrize("method", INFER_OPTIONS)
    def test_of_infer(self, credo, folder, method):
        options = self.values(INFER_OPTIONS[method])
        offered = set(ENGINES[method].options) & set(OPTIONS) - {"start"}
        assert set(options) == offered
        post = library.infer(
            read_network(folder / "rivals.uai"), method=method, on_failure="return", **options
        )
        arguments = ("--method", method, "--on-failure", "return", "--json")
        code, out, err = credo("infer", "rivals.uai", *arguments, *INFER_OPTIONS[method].split())
        assert (code, err) == (0, "")
        found = json.loads(out)
        assert found["sweeps"] == post.sweeps
        assert list(found["variables"]["0"].values()) == post.probabilities(0).tolist()

    @pytest.mark.parametrize("method", MPE_OPTIONS)
    def test_of_mpe(self, credo, folder, method):
        options = self.values(MPE_OPTIONS[method])
        assert set(options) == set(MAXIMISERS[method].options) & set(OPTIONS)
        best = library.mpe(read_network(folder / "rivals.uai"), method=method, **options)
        code, out, err = credo(
            *("mpe", "rivals.uai", "--method", method, "--json", *MPE_OPTIONS[method].split())
        )
        assert (code, err) == (0, "")
        assert json.loads(out)["configurations"][0]["log_score"] == best.log_score

    def test_of_bounds(self, credo, folder):
        options = "--rounds 1 --sweeps 20 --tolerance 1e-3 --restarts 2"
        found = bounds(read_network(folder / "rivals.uai"), **self.values(options), seed=3)
        code, out, _ = credo("bounds", "rivals.uai", *options.split(), "--seed", "3", "--json")
        assert code == 0
        assert json.loads(out)["log_evidence"]["upper"] == found.upper

    def test_of_many_rows(self, credo, folder):
        (folder / "r.csv").write_text("0,1\n1,\n,0\n")
        options = "--sweeps 2 --schedule flooding --threads 2 --dtype float64 --momentum 0.9"
        arguments = ("--rows", "r.csv", "--method", "lbp", *options.split())
        code, out, err = credo("infer", "rivals.uai", "--query", "2", *arguments)
        assert code == 0
        assert "2 rows: 0 impossible, 2 not converged; 1 variable each" in err
        network = read_network(folder / "rivals.uai")
        many = library.infer_many(
            network,
            [{0: 1}, {1: 0}],
            **{"query": [2], "method": "loopy", **self.values(options)},
        )
        cells = [float(line.split(",")[0]) for line in out.splitlines()[1:]]
        assert cells == many.probabilities(2)[:, 0].tolist()

    def test_help_says_whose_they_are(self, credo):
        code, out, _ = credo("infer", "--help")
        assert code == 0
        assert re.search(r"--draws .*Of gibbs: sweeps of each chain that count", out)
        assert re.search(r"--regions .*Of generalised, double_loop: auto, bethe", out)


class TestBudget:
    def test_above_the_budget_the_answer_is_approximate_and_warned_of(self, credo):
        arguments = ("infer", "lawn.bif", "--evidence", "wet=yes", "--budget", "8 B")
        code, out, err = credo(*arguments, "--json")
        assert code == 0
        assert re.match("credo: warning: infer gives an approximate answer .*budget is 8 B", err)
        assert err.count("\n") == 1
        expected = library.infer(
            read_network("lawn.bif"), {"wet": "yes"}, method="loopy", momentum="adaptive"
        )
        found = json.loads(out)
        assert (found["engine"], found["log_evidence_is"]) == ("loopy", "ESTIMATE")
        assert found["log_evidence"] == expected.log_evidence
        assert found["variables"]["rain"] == expected.to_dict()["rain"]
        assert found["why"][0].startswith("no exact engine fits: ")
        assert found["why"][-1].startswith("loopy belief propagation")
        text = credo(*arguments)[1]
        assert f"\nwhy             {found['why'][0]}\n" in text
        assert text.endswith(f"\n                {found['why'][-1]}\n")

    def test_exact_methods_refuse_instead(self, credo, folder):
        (folder / "w.json").write_text('{"wet": [0.3, 0.7]}')
        for options in (
            ["--method", "exact"],
            ["--method", "junction_tree"],
            ["--jeffrey", "w.json"],
        ):
            code, out, err = credo("infer", "lawn.bif", "--budget", "8 B", *options)
            assert (code, out) == (2, "")
            assert re.match("credo: .*the budget is 8 B", err), err

    def test_impossible_evidence_is_named_all_the_same(self, credo):
        arguments = ("--evidence", "wet=no,rain=yes", "--budget", "8 B")
        code, out, err = credo("infer", "lawn.bif", *arguments)
        assert (code, out) == (2, "")
        assert "cannot all be true: wet = no, rain = yes" in err


class TestProgress:
    ARGUMENTS = ("infer", "rivals.uai", "--method", "loopy")

    def test_somebody_who_waits_sees_a_bar(self, credo, monkeypatch):
        unseen = credo(*self.ARGUMENTS)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        monkeypatch.setattr(progress, "_PATIENCE", 0.0)
        code, out, err = credo(*self.ARGUMENTS)
        assert (code, out) == unseen[:2]
        assert re.search(r"sweep \d+, residual \d", err)
        assert unseen[2] == ""

    def test_nobody_sees_a_bar_before_waiting(self, credo, monkeypatch):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        monkeypatch.setattr(progress, "_PATIENCE", 3600.0)
        assert credo(*self.ARGUMENTS)[2] == ""


def test_a_network_without_factors_is_no_error(credo, folder):
    (folder / "free.uai").write_text("MARKOV 1 2 0")
    found = json.loads(credo("infer", "free.uai", "--method", "loopy", "--json")[1])
    assert found["variables"] == {"0": {"0": 0.5, "1": 0.5}}
    assert found["log_evidence"] == pytest.approx(math.log(2))


class TestBounds:
    def test_the_interval_holds_as_printed(self, credo, folder):
        (folder / "mild.uai").write_text(RIVALS.replace("1 9 9 1", "1 1.5 1.5 1"))
        code, out, err = credo("bounds", "mild.uai", "--query", "0,3")
        assert (code, err) == (0, "")
        header, evidence, *marginals, by = (re.split("  +", line) for line in out.splitlines())
        assert header == ["", "lower", "upper"]
        assert evidence[0] == "ln Z(evidence)"
        total = sum(rivals(state, 1.5) for state in STATES)
        assert float(evidence[1]) < math.log(total) < float(evidence[2])
        found = bounds(read_network("mild.uai"))
        assert float(evidence[1]) <= found.lower
        assert found.upper <= float(evidence[2])
        assert [float(cell) for cell in evidence[1:]] == pytest.approx(found.log_z, rel=1e-7)
        assert by == ["by", *found.by.values()]
        assert [row[0] for row in marginals] == ["P(0=0)", "P(0=1)", "P(3=0)", "P(3=1)"]
        for label, low, high in marginals:
            i, x = int(label[2]), int(label[4])
            p = sum(rivals(state, 1.5) for state in STATES if state[i] == x) / total
            assert float(low) <= p <= float(high)

    def test_json_has_all_digits(self, credo, folder):
        (folder / "seen.json").write_text('{"wet": {"no": 0.1, "yes": 0.8}}')
        arguments = ("--likelihood", "seen.json", "--evidence", "sprinkler=no", "--query", "rain")
        code, out, err = credo("bounds", "lawn.bif", *arguments, "--json")
        assert (code, err) == (0, "")
        found = json.loads(out)
        expected = bounds(
            read_network("lawn.bif"),
            {"sprinkler": "no"},
            likelihood={"wet": [0.1, 0.8]},
            query=["rain"],
        )
        assert found["log_evidence"] == {
            "lower": expected.lower,
            "upper": expected.upper,
            "gap": expected.gap,
            "by": expected.by,
        }
        weights = np.array([0.8 * 0.6 * 0.1, 0.2 * 0.99 * 0.8])
        assert expected.lower <= math.log(weights.sum()) <= expected.upper
        for (low, high), p in zip(
            found["variables"]["rain"].values(), weights / weights.sum(), strict=True
        ):
            assert low <= p <= high
        assert list(found["variables"]["rain"]) == ["no", "yes"]

    def test_without_a_query_no_probabilities_are_bounded(self, credo):
        assert json.loads(credo("bounds", "lawn.bif", "--json")[1])["variables"] == {}
        lines = credo("bounds", "lawn.bif", "--evidence", "wet=yes")[1].splitlines()
        assert [line.split("  ")[0] for line in lines] == ["", "ln P(evidence)", "by"]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["no.bif"], "no.bif: There is no such file"),
            (["lawn.bif", "--query", "snow"], "no variable 'snow'"),
            (["lawn.bif", "--evidence", "wet=maybe"], "no state 'maybe'"),
            (["lawn.bif", "--evidence", "wet=no,rain=yes"], "cannot all be true: wet = no, rain"),
            (["lawn.bif", "--likelihood", "no.json"], "no.json: No such file"),
        ],
    )
    def test_bad_input_exits_with_2_and_a_sentence(self, credo, arguments, message):
        code, out, err = credo("bounds", *arguments)
        assert (code, out) == (2, "")
        assert re.match(f"credo: .*{message}", err), err
        assert err.count("\n") == 1


class TestMpe:
    @pytest.mark.parametrize("method", ["auto", "junction_tree", "tree_reweighted", "loopy", "icm"])
    def test_every_method_gives_a_configuration_and_what_is_proven(self, credo, method):
        code, out, err = credo("mpe", "rivals.uai", "--method", method, "--json")
        assert (code, err) == (0, "")
        (found,) = json.loads(out)["configurations"]
        states = tuple(int(state) for state in found["states"].values())
        assert found["log_score"] == pytest.approx(math.log(rivals(states)))
        assert found["log_score"] <= BEST + 1e-12
        assert found["engine"] == ("junction_tree" if method == "auto" else method)
        if method in ("loopy", "icm"):
            assert (found["bound"], found["gap"], found["is_exact"]) == (None, "inf", False)
        else:
            assert found["bound"] >= BEST - 1e-12
            assert found["is_exact"] == (found["gap"] == 0)

    def test_the_text_shows_the_engine_and_the_gap(self, credo):
        lines = credo("mpe", "rivals.uai", "--method", "icm")[1].splitlines()
        assert lines[-2:] == ["engine    icm", "gap       not known"]
        expected = library.mpe(read_network("rivals.uai"), method="tree_reweighted")
        assert expected.gap > 0.01
        lines = credo("mpe", "rivals.uai", "--method", "tree_reweighted")[1].splitlines()
        assert lines[-2] == "engine    tree_reweighted"
        name, gap = lines[-1].split()
        assert name == "gap"
        assert expected.gap <= float(gap) == pytest.approx(expected.gap, rel=0.01)

    def test_attracting_pairs_are_cut(self, credo, folder):
        (folder / "like.uai").write_text(RIVALS.replace("1 9 9 1", "9 1 1 9"))
        found = credo("mpe", "like.uai", "--method", "graph_cut")[1].splitlines()
        assert [line.split()[1] for line in found[1:6]] == ["1"] * 5
        score = 10 * math.log(9) + sum(math.log(b) for _, b in FIELDS)
        assert found[-3:] == [f"ln score  {score:.8g}", "engine    graph_cut", "gap       0"]

    def test_above_the_budget_it_is_bounded_and_warned_of(self, credo):
        code, out, err = credo("mpe", "rivals.uai", "--budget", "8 B", "--json")
        assert code == 0
        assert re.match("credo: warning: mpe: .*budget of 8 B", err)
        assert err.count("\n") == 1
        (found,) = json.loads(out)["configurations"]
        assert found["engine"] == "tree_reweighted"
        assert found["log_score"] <= BEST + 1e-12 <= found["bound"] + 2e-12

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--method", "magic"], "--method of credo mpe must be one of 'auto'.*Got 'magic'"),
            (["--method", "icm", "--k", "2"], "--method does not go with --k"),
            (["--method", "icm", "--variables", "0"], "--method does not go with --variables"),
            (["--method", "graph_cut"], "graph_cut needs pairs that attract"),
            (["--method", "junction_tree", "--budget", "8 B"], "the budget is 8 B"),
            (["--method", "icm", "--budget", "much"], "budget of mpe must be bytes"),
        ],
    )
    def test_bad_input_exits_with_2_and_a_sentence(self, credo, arguments, message):
        code, out, err = credo("mpe", "rivals.uai", *arguments)
        assert (code, out) == (2, "")
        assert re.match(f"credo: .*{message}", err), err


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (0.123456789, "lower bound", "0.123"),
        (0.123456789, "upper bound", "0.124"),
        (0.123456789, "estimate", "0.123"),
        (0.1239, "exact", "0.124"),
        (-1.2345e-9, "lower bound", "-1.24e-09"),
        (-1.2345e-9, "upper bound", "-1.23e-09"),
        (-math.inf, "lower bound", "-inf"),
        (0.0, "upper bound", "0"),
    ],
)
def test_bounds_are_rounded_outwards(value, kind, text):
    assert bound_text(value, kind, 3) == text


def test_an_answer_without_log_evidence_says_so(credo, monkeypatch):
    from credo.inference import _infer

    found = library.infer(read_network("rivals.uai"), method="loopy")
    found.log_evidence_is = "NOT_ESTIMATED"
    monkeypatch.setattr(_infer, "infer", lambda *_, **__: found)
    arguments = ("infer", "rivals.uai", "--method", "loopy")
    assert lines_below(credo(*arguments)[1])["ln Z(evidence)"] == "not estimated"
    assert json.loads(credo(*arguments, "--json")[1])["log_evidence"] is None


def test_warnings_of_others_are_not_shown(credo, monkeypatch):
    from credo.inference import _infer

    infer = _infer.infer

    def noisy(*arguments, **options):
        warnings.warn("something about another library", RuntimeWarning, stacklevel=2)
        return infer(*arguments, **options)

    monkeypatch.setattr(_infer, "infer", noisy)
    assert credo("infer", "rivals.uai", "--method", "loopy")[2] == ""
