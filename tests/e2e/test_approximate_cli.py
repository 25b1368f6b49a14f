"""Answers that are not exact on the command line: their labels, warnings and intervals."""

import itertools
import json
import math
import re
import sys

import numpy as np
import pytest

import credo as library
from credo.cli import _console
from credo.cli._options import value_in
from credo.inference.engines import ENGINES, MAXIMISERS, OPTIONS

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
STATES = list(itertools.product(range(2), repeat=5))
METHODS = {
    "loopy": "ESTIMATE",
    "tree_reweighted": "UPPER_BOUND",
    "mean_field": "LOWER_BOUND",
    "structured_mean_field": "LOWER_BOUND",
    "generalised": "ESTIMATE",
    "double_loop": "ESTIMATE",
    "gibbs": "ESTIMATE",
}
LOOPY = ("infer", "rivals.uai", "--method", "loopy")


def rivals(state, apart=9.0):
    """The product of all factors, by the definition."""
    alone = math.prod(FIELDS[i][x] for i, x in enumerate(state))
    return alone * math.prod(apart if state[i] != state[j] else 1.0 for i, j in PAIRS)


LOG_Z = math.log(sum(map(rivals, STATES)))
BEST = math.log(max(map(rivals, STATES)))


@pytest.fixture
def folder(folder, lawn):  # noqa: ARG001 - it writes the file
    (folder / "rivals.uai").write_text(RIVALS)
    (folder / "pair.uai").write_text("MARKOV 2 2 3 1 2 0 1 6 1 2 3 4 5 6")
    (folder / "w.json").write_text('{"wet": {"no": 0.1, "yes": 0.8}}')
    (folder / "j.json").write_text('{"wet": [0.3, 0.7]}')
    return folder


def model(name="rivals.uai"):
    return library.read_network(name)


def lines_below(out):
    """What a text says beside the table."""
    below = out.split("\n\n")[1].splitlines()
    return dict(re.split("  +", line, maxsplit=1) for line in below)


class TestMethods:
    @pytest.mark.parametrize("method", METHODS)
    def test_every_method_says_what_its_log_evidence_is(self, ask, method):
        options = {} if method in ("generalised", "gibbs") else {"sweeps": 40}
        given = [word for name, value in options.items() for word in (f"--{name}", value)]
        found = ask("infer", "rivals.uai", "--method", method, *given, "--on-failure", "return")
        expected = library.infer(model(), method=method, on_failure="return", **options)
        assert found["engine"] == method
        assert found["log_evidence_is"] == METHODS[method] == expected.log_evidence_is
        assert found["residual"] == expected.residuals[-1]
        assert (found["period"], found["why"]) == (0, [])
        for name in ("status", "log_evidence", "sweeps", "updates"):
            assert found[name] == getattr(expected, name)
        for name in expected:
            marginal = list(found["variables"][str(name)].values())
            assert marginal == expected.probabilities(name).tolist()

    def test_an_engine_that_did_not_settle_gives_its_estimate_and_says_so(self, ask):
        arguments = ("rivals.uai", "--method", "generalised", "--sweeps", "3")
        found = ask("infer", *arguments, "--on-failure", "return")
        assert (found["status"], found["log_evidence_is"]) == ("MAX_SWEEPS", "ESTIMATE")
        post = library.infer(model(), method="generalised", sweeps=3, on_failure="return")
        assert math.isfinite(post.log_evidence)
        assert found["log_evidence"] == post.log_evidence

    def test_draws_without_an_estimate_of_log_z_say_so(self, ask, credo):
        arguments = ("rivals.uai", "--method", "gibbs", "--draws", "50", "--log-z", "none")
        found = ask("infer", *arguments, "--on-failure", "return")
        assert (found["log_evidence_is"], found["log_evidence"]) == ("NOT_ESTIMATED", None)
        text = credo("infer", *arguments, "--on-failure", "return")[1]
        assert lines_below(text)["ln Z(evidence)"] == "not estimated"

    def test_the_text_says_how_far_to_trust_it(self, credo):
        expected = library.infer(model(), method="loopy")
        code, out, err = credo(*LOOPY)
        assert (code, err) == (0, "")
        assert lines_below(out) == {
            "ln Z(evidence)": f"{expected.log_evidence:.8g} (estimate)",
            "engine": "loopy",
            "status": "CONVERGED",
            "sweeps": f"{expected.sweeps}",
            "last residual": f"{expected.residuals[-1]:.3g}",
        }

    @pytest.mark.parametrize("method", ["mean_field", "structured_mean_field", "tree_reweighted"])
    def test_a_bound_holds_as_printed(self, credo, method):
        arguments = ("--method", method, "--on-failure", "return", "--sweeps", "40")
        below = lines_below(credo("infer", "rivals.uai", *arguments)[1])
        value, kind = below["ln Z(evidence)"].split(" ", 1)
        found = library.infer(model(), method=method, on_failure="return", sweeps=40).log_evidence
        is_below = method != "tree_reweighted"
        assert kind == ("(lower bound)" if is_below else "(upper bound)")
        assert float(value) == pytest.approx(found, rel=1e-7)
        assert (float(value) <= found) == (float(value) < LOG_Z) == is_below

    def test_on_a_tree_it_is_exact_and_says_so(self, credo):
        below = lines_below(credo("infer", "pair.uai", "--evidence", "1=2", "--method", "loopy")[1])
        assert below["ln Z(evidence)"] == f"{math.log(9):.8g} (exact)"
        assert below["status"] == "EXACT"

    def test_evidence_weights_and_queries_count(self, ask):
        arguments = ("--likelihood", "w.json", "--evidence", "sprinkler=no", "--query", "rain")
        found = ask("infer", "lawn.bif", *arguments, "--method", "loopy")
        rain = np.array([0.8 * 0.6 * 0.1, 0.2 * 0.99 * 0.8])
        assert list(found["variables"]) == ["rain"]
        assert list(found["variables"]["rain"].values()) == pytest.approx(rain / rain.sum())
        assert found["log_evidence"] == pytest.approx(math.log(rain.sum()))

    def test_gibbs_sampling_shows_whether_chains_agree(self, credo, ask):
        arguments = ("infer", "rivals.uai", "--method", "gibbs", "--seed", "3")
        below, details = lines_below(credo(*arguments)[1]), ask(*arguments)["details"]
        assert below["status"] == "SAMPLED"
        assert "sweeps" not in below
        assert 0.99 < float(below["worst R-hat"]) < 1.1
        assert int(below["draws"]) == details["draws"]
        least = details["least_effective_sample_size"]
        assert float(below["effective draws"]) == pytest.approx(least, rel=1e-3)

    def test_weighted_draws_show_what_they_are_worth(self, credo, ask):
        arguments = ("infer", "lawn.bif", "--evidence", "wet=yes", "--method", "samples")
        arguments += ("--draws", "500", "--seed", "3")
        below, found = lines_below(credo(*arguments)[1]), ask(*arguments)
        given = {"method": "samples", "draws": 500, "seed": 3}
        expected = library.infer(model("lawn.bif"), {"wet": "yes"}, **given)
        assert found["variables"] == expected.to_dict()
        assert (found["status"], found["log_evidence_is"]) == ("SAMPLED", "ESTIMATE")
        assert found["log_evidence"] == expected.log_evidence
        worth = expected.details["effective_sample_size"]
        assert found["details"]["effective_sample_size"] == worth
        assert (below["draws"], below["effective draws"]) == ("500", f"{worth:.4g}")
        code, _, err = credo("infer", "rivals.uai", "--method", "samples")
        assert code == 2
        assert "needs a BayesianNetwork. Got a" in err
        assert "--method gibbs" in err

    def test_a_network_without_factors_is_no_error(self, ask, folder):
        (folder / "free.uai").write_text("MARKOV 1 2 0")
        found = ask("infer", "free.uai", "--method", "loopy")
        assert found["variables"] == {"0": {"0": 0.5, "1": 0.5}}
        assert found["log_evidence"] == pytest.approx(math.log(2))


class TestSettings:
    @pytest.mark.parametrize(
        ("temperature", "quantity"),
        [("1", "ln Z(evidence)"), ("0.5", "ln Z at 0.5"), ("0", "ln best score")],
    )
    def test_a_temperature_changes_what_is_summed(self, credo, temperature, quantity):
        out = credo("infer", "pair.uai", "--method", "loopy", "--temperature", temperature)[1]
        table, heat = np.arange(1.0, 7.0), float(temperature)
        expected = np.log((table ** (1 / heat)).sum() if heat else table.max())
        assert lines_below(out)[quantity] == f"{expected:.8g} (exact)"

    def test_a_run_that_oscillates_says_so_and_is_warned_of(self, credo):
        oscillating = (*LOOPY, "--schedule", "flooding", "--momentum", "1")
        code, out, err = credo(*oscillating)
        assert code == 0
        told = r"credo: warning: --method loopy oscillates: .* 2 sweeps.*\n"
        assert re.fullmatch(told, err)
        assert lines_below(out)["status"] == "OSCILLATING, back after 2 sweeps"
        found = json.loads(credo(*oscillating, "--json")[1])
        assert (found["status"], found["period"]) == ("OSCILLATING", 2)

    def test_on_failure_chooses_between_silence_and_an_error(self, credo):
        few = (*LOOPY, "--sweeps", "2")
        code, out, err = credo(*few)
        assert code == 0
        told = "--method loopy did not converge within 2 sweeps.*\n"
        assert re.fullmatch(f"credo: warning: {told}", err)
        assert lines_below(out)["status"] == "MAX_SWEEPS"
        assert credo(*few, "--on-failure", "return") == (0, out, "")
        code, out, err = credo(*few, "--on-failure", "raise")
        assert (code, out) == (3, "")
        assert re.fullmatch(f"credo: {told}", err)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("--method magic", "--method of credo infer must be one of 'auto'.*Got 'magic'"),
            ("--method loopy --momentum 2", "--momentum .* at most 1.*Got 2\\."),
            ("--method loopy --momentum 0", "--momentum .* above 0.*Got 0\\."),
            ("--method loopy --momentum nan", "--momentum .* must be finite"),
            ("--method loopy --momentum fast", "--momentum .*'adaptive'. Got 'fast'"),
            ("--method loopy --schedule magic", "--schedule .* must be one of 'auto'"),
            ("--method loopy --sweeps 0", "--sweeps .* at least 1. Got 0"),
            ("--method loopy --sweeps many", "--sweeps .* at least 1. Got 'many'"),
            ("--method mean_field --sweeps 0", "--sweeps .* at least 1. Got 0"),
            ("--method loopy --tolerance -1", "--tolerance .* at least 0. Got -1"),
            ("--method loopy --tolerance many", "--tolerance .*'many'"),
            ("--method loopy --temperature -1", "--temperature .* must be 0, which"),
            ("--method loopy --temperature many", "--temperature .*'many'"),
            ("--method loopy --threads 0", "--threads .* at least 1. Got 0"),
            ("--method loopy --threads many", "--threads .* at least 1. Got 'many'"),
            ("--method loopy --seed -1", "--seed .* at least 0. Got -1"),
            ("--on-failure cry", "'--on-failure'.*'cry' is not one of 'warn', 'raise', 'return'"),
            ("--method mean_field --schedule tree", "--schedule is no option .* mean_field. It g"),
            ("--method gibbs --momentum 0.5", "--momentum is no option .* gibbs.* loopy, general"),
            ("--method exact --sweeps 3", "--sweeps is no option of credo infer --method exact"),
            ("--sweeps 3", "--sweeps is no option of credo infer --method auto"),
            ("--method loopy --budget much", "--budget of infer must be bytes"),
            ("--method loopy --jeffrey w.json", "--jeffrey needs an exact method.*method exact"),
            ("--method loopy --query snow", "no variable 'snow'"),
            ("--method loopy --evidence wet=no,rain=yes", "cannot all be true: wet"),
            ("--method mean_field --evidence wet=no,rain=yes", "cannot all be true"),
            ("--method exact --budget 8B", "the budget is 8B.*raise --budget"),
            ("--method junction_tree --budget 8B", "the budget is 8B"),
            ("--jeffrey w.json", "must sum to one.*use --likelihood"),
            ("--jeffrey j.json --budget 8B", "the budget is 8B"),
            ("--evidence wet=no,rain=yes --budget 8B", "cannot all be true: wet = no, rain = yes"),
        ],
    )
    def test_bad_input_exits_with_2_and_a_sentence(self, refused, arguments, message):
        refused(message, "infer", "lawn.bif", *arguments.split())

    def test_above_the_budget_the_answer_is_approximate_and_warned_of(self, credo):
        arguments = ("infer", "lawn.bif", "--evidence", "wet=yes", "--budget", "8 B")
        code, out, err = credo(*arguments, "--json")
        assert code == 0
        told = "credo: warning: infer gives an approximate answer .*budget is 8 B.*\n"
        assert re.fullmatch(told, err)
        expected = library.infer(model("lawn.bif"), {"wet": "yes"}, method="loopy")
        found = json.loads(out)
        assert (found["engine"], found["log_evidence_is"]) == ("loopy", "ESTIMATE")
        assert found["log_evidence"] == expected.log_evidence
        assert found["variables"]["rain"] == expected.to_dict()["rain"]
        assert found["why"][0].startswith("no exact engine fits: ")
        assert found["why"][-1].startswith("loopy belief propagation")
        text = credo(*arguments)[1]
        assert f"\nwhy             {found['why'][0]}\n" in text
        assert text.endswith(f"\n                {found['why'][-1]}\n")

    def test_somebody_who_waits_sees_a_bar(self, credo, monkeypatch):
        unseen = credo(*LOOPY)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        monkeypatch.setattr(_console, "_PATIENCE", 0.0)
        code, out, err = credo(*LOOPY)
        assert (code, out) == unseen[:2]
        assert re.search(r"inferring .*sweep \d+, residual \d", err)
        err = credo("infer", "lawn.bif", "--method", "samples", "--draws", "5000")[2]
        assert re.search(r"inferring .*5000 draws, change \d", err)
        assert unseen[2] == ""


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


def values(words):
    """The same as keyword arguments."""
    given = words.split()
    pairs = zip(given[::2], given[1::2], strict=True)
    return {name[2:].replace("-", "_"): value_in(text) for name, text in pairs}


class TestOptionsOfMethods:
    """Whatever an engine takes can be said on the command line, and arrives."""

    @pytest.mark.parametrize(
        ("text", "value"), [("3", 3), ("0.5", 0.5), ("1e-3", 1e-3), ("None", None), ("log", "log")]
    )
    def test_a_word_is_a_number_or_none_where_it_can_be(self, text, value):
        assert value_in(text) == value
        assert type(value_in(text)) is type(value)

    @pytest.mark.parametrize("method", INFER_OPTIONS)
    def test_of_infer(self, ask, method):
        words = INFER_OPTIONS[method]
        options = values(words)
        assert set(options) == set(ENGINES[method].options) & set(OPTIONS) - {"start"}
        post = library.infer(model(), method=method, on_failure="return", seed=5, **options)
        arguments = ("--method", method, "--on-failure", "return", "--seed", "5", *words.split())
        found = ask("infer", "rivals.uai", *arguments)
        assert found["sweeps"] == post.sweeps
        assert list(found["variables"]["0"].values()) == post.probabilities(0).tolist()

    @pytest.mark.parametrize("method", MPE_OPTIONS)
    def test_of_mpe(self, ask, method):
        options = values(MPE_OPTIONS[method])
        assert set(options) == set(MAXIMISERS[method].options) & set(OPTIONS)
        best = library.mpe(model(), method=method, **options)
        found = ask("mpe", "rivals.uai", "--method", method, *MPE_OPTIONS[method].split())
        assert found["configurations"][0]["log_score"] == best.log_score

    def test_of_bounds(self, ask):
        options = "--rounds 1 --sweeps 20 --tolerance 1e-3 --restarts 2 --seed 3"
        found = ask("bounds", "rivals.uai", *options.split())
        assert found["log_evidence"]["upper"] == library.bounds(model(), **values(options)).upper

    def test_of_many_rows(self, credo, folder):
        (folder / "r.csv").write_text("0,1\n1,\n,0\n")
        options = "--sweeps 2 --schedule flooding --threads 2 --dtype float64 --momentum 0.9"
        arguments = ("--rows", "r.csv", "--method", "lbp", *options.split())
        code, out, err = credo("infer", "rivals.uai", "--query", "2", *arguments)
        assert code == 0
        assert "2 rows: 0 impossible, 2 not converged; 1 variable each" in err
        given = {"query": [2], "method": "loopy", **values(options)}
        many = library.infer_many(model(), [{0: 1}, {1: 0}], **given)
        cells = [float(line.split(",")[0]) for line in out.splitlines()[1:]]
        assert cells == many.probabilities(2)[:, 0].tolist()

    def test_help_says_whose_they_are(self, credo):
        code, out, _ = credo("infer", "--help")
        assert code == 0
        assert re.search(r"--draws .*Of gibbs, samples: how many; of gibbs", out)
        assert re.search(r"--regions .*Of generalised, double_loop: auto, bethe", out)


class TestBounds:
    def test_the_interval_holds_as_printed(self, credo, folder):
        (folder / "mild.uai").write_text(RIVALS.replace("1 9 9 1", "1 1.5 1.5 1"))
        code, out, err = credo("bounds", "mild.uai", "--query", "0,3")
        assert (code, err) == (0, "")
        header, evidence, *marginals, by = (re.split("  +", line) for line in out.splitlines())
        assert header == ["", "lower", "upper"]
        assert evidence[0] == "ln Z(evidence)"
        total = sum(rivals(state, 1.5) for state in STATES)
        found = library.bounds(model("mild.uai"))
        low, high = map(float, evidence[1:])
        assert low <= found.lower < math.log(total) < found.upper <= high
        assert [low, high] == pytest.approx(found.log_z, rel=1e-7)
        assert by == ["by", *found.by.values()]
        assert [row[0] for row in marginals] == ["P(0=0)", "P(0=1)", "P(3=0)", "P(3=1)"]
        for label, lower, upper in marginals:
            i, x = int(label[2]), int(label[4])
            p = sum(rivals(state, 1.5) for state in STATES if state[i] == x) / total
            assert float(lower) <= p <= float(upper)

    def test_json_has_all_digits(self, ask):
        arguments = ("--likelihood", "w.json", "--evidence", "sprinkler=no", "--query", "rain")
        found = ask("bounds", "lawn.bif", *arguments)
        given = {"likelihood": {"wet": [0.1, 0.8]}, "query": ["rain"]}
        expected = library.bounds(model("lawn.bif"), {"sprinkler": "no"}, **given)
        names = ("lower", "upper", "gap", "by")
        assert found["log_evidence"] == {name: getattr(expected, name) for name in names}
        weights = np.array([0.8 * 0.6 * 0.1, 0.2 * 0.99 * 0.8])
        assert expected.lower <= math.log(weights.sum()) <= expected.upper
        rain = found["variables"]["rain"]
        assert list(rain) == ["no", "yes"]
        for (low, high), p in zip(rain.values(), weights / weights.sum(), strict=True):
            assert low <= p <= high

    def test_without_a_query_no_probabilities_are_bounded(self, ask, credo):
        assert ask("bounds", "lawn.bif")["variables"] == {}
        lines = credo("bounds", "lawn.bif", "--evidence", "wet=yes")[1].splitlines()
        assert [line.split("  ")[0] for line in lines] == ["", "ln P(evidence)", "by"]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("no.bif", "no.bif: There is no such file"),
            ("lawn.bif --query snow", "no variable 'snow'"),
            ("lawn.bif --evidence wet=maybe", "no state 'maybe'"),
            ("lawn.bif --evidence wet=no,rain=yes", "cannot all be true: wet = no, rain"),
            ("lawn.bif --likelihood no.json", "no.json: No such file"),
            ("lawn.bif --rounds -1", "--rounds of bounds must be a whole number"),
        ],
    )
    def test_bad_input_exits_with_2_and_a_sentence(self, refused, arguments, message):
        refused(message, "bounds", *arguments.split())

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
    def test_bounds_are_rounded_outwards(self, value, kind, text):
        assert _console.bound_text(value, kind, 3) == text


class TestMpe:
    @pytest.mark.parametrize("method", ["auto", "junction_tree", "tree_reweighted", "loopy", "icm"])
    def test_every_method_gives_a_configuration_and_what_is_proven(self, ask, method):
        (found,) = ask("mpe", "rivals.uai", "--method", method)["configurations"]
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
        expected = library.mpe(model(), method="tree_reweighted").gap
        assert expected > 0.01
        lines = credo("mpe", "rivals.uai", "--method", "tree_reweighted")[1].splitlines()
        assert lines[-2] == "engine    tree_reweighted"
        name, gap = lines[-1].split()
        assert name == "gap"
        assert expected <= float(gap) == pytest.approx(expected, rel=0.01)

    def test_attracting_pairs_are_cut(self, credo, folder, refused):
        (folder / "like.uai").write_text(RIVALS.replace("1 9 9 1", "9 1 1 9"))
        found = credo("mpe", "like.uai", "--method", "graph_cut")[1].splitlines()
        assert [line.split()[1] for line in found[1:6]] == ["1"] * 5
        score = 10 * math.log(9) + sum(math.log(b) for _, b in FIELDS)
        assert found[-3:] == [f"ln score  {score:.8g}", "engine    graph_cut", "gap       0"]
        refused("needs pairs that attract", "mpe", "rivals.uai", "--method", "graph_cut")

    def test_above_the_budget_it_is_bounded_and_warned_of(self, credo):
        code, out, err = credo("mpe", "rivals.uai", "--budget", "8 B", "--json")
        assert code == 0
        assert re.fullmatch("credo: warning: .*budget of 8 B.*\n", err)
        (found,) = json.loads(out)["configurations"]
        assert found["engine"] == "tree_reweighted"
        assert found["log_score"] <= BEST + 1e-12 <= found["bound"] + 2e-12
