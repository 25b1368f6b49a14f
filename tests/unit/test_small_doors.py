"""What people try first: a dict of an answer, a frame of it, a loss without names."""

import sys

import numpy as np
import pandas as pd
import pytest

import credo
from credo.exceptions import InputError, LabelError, MissingExtraError, ShapeError


@pytest.fixture
def net():
    net = credo.BayesianNetwork()
    for name in ("rain", "wet"):
        net.variable(name, ["no", "yes"])
    net.cpt("rain", table=[0.8, 0.2])
    net.cpt("wet", ["rain"], [[0.9, 0.1], [0.25, 0.75]])
    return net


class TestConfigurations:
    def test_are_mappings(self, net):
        best = credo.mpe(net, {"wet": "yes"})
        assert dict(best) == {"rain": "yes", "wet": "yes"} == best.states
        assert list(best.items()) == [("rain", "yes"), ("wet", "yes")]
        assert best.get("snow") is None

    def test_of_some_variables_are_asked_for_by_query(self, net):
        assert dict(credo.mpe(net, {"wet": "yes"}, query=["rain"])) == {"rain": "yes"}
        assert credo.mpe(net, query=["wet"]).log_score == pytest.approx(np.log(0.8 * 0.9 + 0.2 / 4))
        assert credo.marginal_map(net, query=["wet"])["wet"] == "no"

    def test_of_some_variables_are_found_by_sums_only(self, net):
        with pytest.raises(InputError, match="query of mpe.*method='icm'"):
            credo.mpe(net, query=["rain"], method="icm")


class TestAnswers:
    def test_of_a_graph_give_joint_tables_of_names(self, net):
        post = credo.infer(net)
        assert post.joint("rain", "wet").to_dict() == post.joint(["rain", "wet"]).to_dict()
        assert post.joint("rain")[{"rain": "yes"}] == pytest.approx(0.2)
        assert post.joint("rain", "wet")[{"rain": "yes", "wet": "no"}] == pytest.approx(0.05)

    def test_of_a_graph_whose_names_are_tuples_do_too(self):
        field = credo.GridField.ising([[0.25, -0.5]], 1.0)
        post = credo.infer(field)
        assert post.joint((0, 0), (0, 1)).to_dict() == post.joint([(0, 0), (0, 1)]).to_dict()
        assert post.joint((0, 1)).to_dict() == post.joint([(0, 1)]).to_dict()

    def test_of_a_graph_are_frames_with_a_line_per_state(self, net):
        frame = credo.infer(net, {"wet": "yes"}).to_frame()
        assert list(frame.columns) == ["variable", "state", "probability"]
        seen = frame.set_index(["variable", "state"])["probability"]
        assert seen["wet", "yes"] == 1.0
        assert seen["rain", "yes"] == pytest.approx(0.15 / 0.23)
        assert len(credo.infer(net, query=["rain"]).to_frame()) == 2

    def test_of_decide_are_frames_with_a_line_per_row(self):
        loss = credo.Loss([[0, 10], [1, 0]], ["ill", "well"], ["treat", "wait"]).with_reject(0.5)
        p = [[0.9, 0.1], [0.01, 0.99], [0.07, 0.93]]
        choice = credo.decide(p, loss, labels=["ill", "well"])
        frame = choice.to_frame()
        assert list(frame) == ["act", "expected_loss", "margin", "rejected"]
        assert frame["act"].tolist() == ["treat", "wait", "reject"]
        np.testing.assert_array_equal(frame["expected_loss"], choice.risk)
        np.testing.assert_array_equal(frame["margin"], choice.margin)
        one = credo.decide(p[0], credo.Loss.zero_one(["ill", "well"]), labels=["ill", "well"])
        assert list(one.to_frame()) == ["act", "expected_loss", "margin"]
        assert one.to_frame().shape == (1, 3)

    def test_say_what_frames_need(self, net, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(MissingExtraError, match="to_frame needs pandas"):
            credo.infer(net).to_frame()


class TestLossesWithoutNames:
    def test_number_truths_and_acts_from_zero(self):
        loss = credo.Loss([[0, 1], [5, 0]])
        assert loss.truths == loss.acts == (0, 1)
        assert credo.Loss(np.zeros((2, 3))).acts == (0, 1, 2)
        assert credo.decide([[0.9, 0.1], [0.8, 0.2]], loss, labels=[0, 1]).acts.tolist() == [0, 1]

    def test_act_by_the_names_of_truths_if_there_are_as_many(self):
        assert credo.Loss([[0, 1], [5, 0]], ["a", "b"]).acts == ("a", "b")
        with pytest.raises(InputError, match="3 acts.*2 truths.*acts="):
            credo.Loss(np.zeros((2, 3)), ["a", "b"])

    def test_take_those_of_a_frame(self):
        table = pd.DataFrame([[0, 1], [5, 0]], index=["good", "bad"], columns=["grant", "refuse"])
        loss = credo.Loss(table)
        assert (loss.truths, loss.acts) == (("good", "bad"), ("grant", "refuse"))

    def test_are_not_matched_with_other_labels(self):
        with pytest.raises(LabelError, match="'a'"):
            credo.decide([0.5, 0.5], credo.Loss([[0, 1], [5, 0]]), labels=["a", "b"])
        with pytest.raises(ShapeError):
            credo.Loss([0, 1])


@pytest.mark.parametrize(
    "model", [credo.GaussianClassifier("diagonal"), credo.NaiveBayes("gaussian")]
)
def test_rows_can_be_drawn_of_one_class(model):
    X = np.array([[0.0, 1.0], [1.0, 0.0], [50.0, 51.0], [52.0, 50.0], [51.0, 53.0]])
    fitted = model.fit(X, ["low", "low", "high", "high", "high"])
    rows, labels = fitted.sample(200, random_state=0, label="low")
    assert set(labels) == {"low"}
    np.testing.assert_allclose(rows.mean(axis=0), [0.5, 0.5], atol=0.2)
    with pytest.raises(LabelError, match="class 'mid'"):
        fitted.sample(2, label="mid")


def test_a_table_of_a_network_has_its_names():
    net = credo.BayesianNetwork()
    for name in ("a", "b", "c"):
        net.variable(name, ["no", "yes"])
    net.cpt("a", table=[0.8, 0.2])
    net.cpt("b", table=[0.6, 0.4])
    cells = np.random.default_rng(0).dirichlet([1, 1], (2, 2))
    net.cpt("c", ["b", "a"], cells)
    frame = net.table("c").to_frame()
    assert list(frame.columns) == ["b", "a", "c = no", "c = yes"]
    row = frame[(frame["b"] == "yes") & (frame["a"] == "no")]
    np.testing.assert_allclose(row[["c = no", "c = yes"]].to_numpy()[0], cells[1, 0])
    assert net.table("a").to_frame().to_numpy().tolist() == [[0.8, 0.2]]


def test_a_table_of_a_network_prints_with_its_names_and_is_an_array():
    net = credo.BayesianNetwork()
    net.variable("rain", ["no", "yes"])
    net.variable("wet", ["no", "a bit", "yes"])
    net.cpt("rain", table=[0.75, 0.25])
    net.cpt("wet", ["rain"], [[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]])
    table = net.table("wet")
    assert (
        str(table)
        == repr(table)
        == (
            "rain  wet = no  wet = a bit  wet = yes\n"
            "no         0.5         0.25       0.25\n"
            "yes      0.125        0.125       0.75"
        )
    )
    assert str(net.table("rain")) == "rain = no  rain = yes\n     0.75        0.25"
    assert table._repr_html_().count("<tr>") == 3
    assert (table.shape, table.sum(axis=1).tolist()) == ((2, 3), [1.0, 1.0])
    assert str(table[1]) == "[0.125 0.125 0.75 ]"
    assert table[1]._repr_html_() is None
    with pytest.raises(InputError, match="whole table of a network has names"):
        table[1].to_frame()
    with pytest.raises(ValueError, match="read-only"):
        table[0, 0] = 1.0


def test_of_a_table_with_many_rows_the_first_are_printed():
    net = credo.BayesianNetwork()
    for i in range(6):
        net.variable(f"x{i}", 2)
        net.cpt(f"x{i}", table=[0.5, 0.5])
    net.variable("y", 2)
    net.cpt("y", [f"x{i}" for i in range(6)], np.full((2,) * 7, 0.5))
    lines = str(net.table("y")).splitlines()
    assert len(lines) == 22
    assert lines[-1] == "… 44 more"
    assert "… 44 more" in net.table("y")._repr_html_()
