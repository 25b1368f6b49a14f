"""What a notebook shows of results: tables with names, numbers and bars, safe for any name."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import credo
from credo import Loss, Posterior
from credo.decisions import evaluate


class Cells(HTMLParser):
    """Read the cells of a table, and refuse tags that a table of ours does not have."""

    def __init__(self):
        super().__init__()
        self.rows, self.caption, self._open = [], "", []

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        assert tag in ("table", "caption", "tr", "th", "td")
        self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open[-1] == "caption":
            self.caption += data
        else:
            self.rows[-1][-1] += data


def shown(result):
    reader = Cells()
    reader.feed(result._repr_html_())
    assert not reader._open
    return reader


@pytest.fixture
def net():
    made = credo.BayesianNetwork()
    made.variable("rain", ["no", "yes"])
    made.variable("<b>wet</b>", ["no", "yes"])
    made.cpt("rain", [], [0.75, 0.25])
    made.cpt("<b>wet</b>", ["rain"], [[0.9, 0.1], [0.2, 0.8]])
    return made


def test_posteriors_show_rows_with_bars_as_long_as_the_probability():
    table = shown(Posterior.from_probabilities([[0.25, 0.75]] * 25, ["<i>", "b"]))
    assert table.rows[0] == ["row", "<i>", "b"]
    assert table.rows[1] == ["0", "0.25", "0.75"]
    assert len(table.rows) == 22
    assert table.rows[-1] == ["… 5 more"]
    one = Posterior.from_probabilities([0.125, 0.875], ["a", "b"])
    bars = re.findall(r"transparent ([\d.]+)%", one._repr_html_())
    assert [float(bar) for bar in bars] == [12.5, 87.5]


def test_answers_of_networks_show_each_state(net):
    table = shown(credo.infer(net, {"rain": "yes"}))
    assert table.rows[0] == ["variable", "state", "probability"]
    assert table.rows[3:] == [["<b>wet</b>", "no", "0.2"], ["", "yes", "0.8"]]
    assert table.caption == "1 observed: elimination, EXACT"


def test_networks_show_states_and_parents_or_neighbours(net):
    table = shown(net)
    assert table.rows[0] == ["variable", "states", "parents"]
    assert table.rows[2] == ["<b>wet</b>", "'no', 'yes'", "'rain'"]
    field = credo.MarkovNetwork()
    for name in "ab":
        field.node(name, 2)
    field.edge("a", "b", [[2, 1], [1, 2]])
    assert shown(field).rows[1] == ["a", "0, 1", "'b'"]
    graph = credo.FactorGraph()
    graph.variable("x", 3)
    assert shown(graph).rows[:2] == [["variable", "states"], ["x", "0, 1, 2"]]


def test_decisions_show_the_act_the_risk_and_all_losses():
    loss = Loss([[0, 1], [5, 0]], ["ill", "well"], ["treat", "wait"])
    table = shown(credo.decide([[0.5, 0.5], [0.9, 0.1]], loss, labels=["ill", "well"]))
    assert table.rows[0] == ["row", "act", "risk", "loss of treat", "loss of wait"]
    assert table.rows[1] == ["0", "wait", "0.5", "2.5", "0.5"]
    one = shown(credo.decide([0.5, 0.5], loss, labels=["ill", "well"]))
    assert one.rows[1:] == table.rows[1:2]


def test_plans_and_explanations_show_their_lines(net):
    plan = credo.plan(net)
    lines = dict(shown(plan).rows[1:])
    assert lines["engine"] == plan.engine
    assert lines["largest table"].startswith("4 cells")
    model = credo.NaiveBayes("categorical").fit(
        [["r", "x"], ["b", "x"], ["r", "y"]], ["s", "g", "s"]
    )
    found = model.explain(["r", "x"])
    table = shown(found)
    assert table.rows[0] == ["feature", "value", "adds to the log odds"]
    numbers = [float(row[-1]) for row in table.rows[1:]]
    assert sum(numbers) == pytest.approx(found.log_odds, rel=1e-5)


def test_losses_and_confusion_keep_truths_and_acts():
    loss = Loss(np.eye(3), list("abc"), list("xyz"))
    assert shown(loss).rows[1] == ["a", "1", "0", "0"]


def test_evaluations_show_their_measures_and_calibrations_their_bins():
    p = Posterior.from_probabilities([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], ["a", "b"])
    report = evaluate(["a", "b", "b"], p, n_bootstrap=0)
    measures, counts = report._repr_html_().split("</table>")[:2]
    assert "Evaluation of 3 rows" in measures
    assert ">Brier score<" in measures
    assert "truth" in counts
    bins = shown(report.calibration)
    assert bins.rows[0] == ["bin", "predicted", "observed", "low", "high", "weight"]
    assert len(bins.rows) == 1 + len(report.calibration.weight)
    assert bins.rows[1][1:3] == ["0.6", "0"]


def test_regions_coefficients_and_learning_curves_show_their_numbers():
    known = credo.GaussianClassifier.from_parameters(
        {"a": 0.0, "b": 2.0}, {"a": 1.0, "b": 1.0}, {"a": 0.5, "b": 0.5}
    )
    assert shown(known.regions()).rows[1:] == [["-inf", "1", "a"], ["1", "inf", "b"]]
    x = np.linspace(-1, 1, 40)
    y = np.where((x > 0) ^ (np.arange(40) % 5 == 0), "b", "a")
    table = credo.LogisticClassifier(penalty=None).fit(x[:, None], y).coefficient_table()
    assert [row[1] for row in shown(table).rows[1:]] == ["0", "intercept"]
    curves = credo.compare_generative_discriminative(
        np.c_[x, x**2], y, sizes=[20, 25], n_repeats=2, random_state=0
    )
    assert [row[0] for row in shown(curves).rows] == ["training rows", "20", "25"]


def test_tables_of_very_many_classes_are_cut():
    names = [f"k{i}" for i in range(150)]
    table = shown(Posterior.from_probabilities(np.full((2, 150), 1 / 150), names))
    assert table.rows[0][-2:] == ["k19", "… 130 more"]
    assert len(table.rows[1]) == 21


def test_a_posterior_of_bayes_rule_shows_the_evidence():
    # p(x) = 0.5 × 0.2 + 0.5 × 0.6 = 0.4, and log 0.4 = -0.91629
    one = Posterior.from_bayes({"a": 0.5, "b": 0.5}, {"a": 0.2, "b": 0.6})
    page = one._repr_html_()
    assert "log p(x)" in page
    assert "-0.916291" in page
    assert "log p(x)" not in Posterior.from_probabilities([0.25, 0.75], ["a", "b"])._repr_html_()
