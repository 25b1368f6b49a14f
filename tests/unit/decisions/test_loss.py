import copy
import stat

import numpy as np
import pandas as pd
import pytest

from credo import Loss, decide
from credo.exceptions import FileFormatError, InputError, LabelError, ShapeError

CANCER = {
    ("cancer", "treat"): 0,
    ("cancer", "discharge"): 1000,
    ("normal", "treat"): 1,
    ("normal", "discharge"): 0,
}


@pytest.fixture
def cancer():
    return Loss.from_dict(CANCER)


def test_rows_are_truths_and_columns_are_acts(cancer):
    assert cancer.truths == ("cancer", "normal")
    assert cancer.acts == ("treat", "discharge")
    np.testing.assert_array_equal(cancer.matrix, [[0, 1000], [1, 0]])
    assert cancer["cancer", "discharge"] == 1000


def test_it_prints_as_a_table_with_both_axes_named(cancer):
    assert repr(cancer).splitlines() == [
        "truth \\ act  treat  discharge",
        "cancer           0       1000",
        "normal           1          0",
    ]
    html = Loss.zero_one(["<a>", "b"])._repr_html_()
    assert "truth \\ act" in html
    assert "&lt;a&gt;" in html


def test_a_long_table_is_cut_in_print():
    assert repr(Loss.zero_one(range(30))).endswith("… 10 more")


def test_class_costs_charge_by_the_truth():
    loss = Loss.class_costs({"a": 5, "b": 1, "c": 2})
    np.testing.assert_array_equal(loss.matrix, [[0, 5, 5], [1, 0, 1], [2, 2, 0]])


def test_gains_are_negative_losses():
    by_name = Loss.gains({("rain", "umbrella"): 2, ("rain", "walk"): -5})
    np.testing.assert_array_equal(by_name.matrix, [[-2, 5]])
    by_array = Loss.gains([[2, -5]], ["rain"], ["umbrella", "walk"])
    assert by_array == by_name


def test_a_reject_act_costs_the_same_whatever_the_truth(cancer):
    loss = cancer.with_reject(0.3)
    assert loss.reject == "reject"
    assert loss.acts == ("treat", "discharge", "reject")
    np.testing.assert_array_equal(loss.matrix[:, 2], [0.3, 0.3])


def test_a_reject_cost_may_depend_on_the_truth(cancer):
    by_name = cancer.with_reject({"normal": 1, "cancer": 7}, name="ask")
    np.testing.assert_array_equal(by_name.matrix[:, 2], [7, 1])
    assert cancer.with_reject([7, 1], name="ask") == by_name


@pytest.mark.parametrize("cost", [-1, -1e-9, [-1, -2], {"cancer": -3, "normal": -0.5}])
def test_a_reject_act_that_always_wins_is_refused(cancer, cost):
    with pytest.raises(InputError, match="'reject' costs less than any other act.*every case"):
        cancer.with_reject(cost)
    wide = np.column_stack([cancer.matrix, [-1, -1]])
    with pytest.raises(InputError, match="-1, where 'cancer' is true and the best act costs 0"):
        Loss(wide, cancer.truths, [*cancer.acts, "ask"], reject="ask")


def test_a_reject_cost_may_be_a_gain_beside_gains_and_nothing_where_all_is_certain(cancer):
    gains = Loss.gains(
        {("sun", "walk"): 3, ("sun", "stay"): 0, ("rain", "walk"): -5, ("rain", "stay"): 1}
    )
    asked = gains.with_reject(-2.0)  # ask: a gain of 2, more than what staying gains in the rain
    assert decide([[1, 0], [0, 1]], asked, labels=["sun", "rain"]).acts.tolist() == [
        "walk",
        "reject",
    ]
    with pytest.raises(InputError, match="every case would be rejected"):
        gains.with_reject(-3.5)
    free = decide([[1, 0], [0.99, 0.01]], cancer.with_reject(0), labels=cancer.truths)
    assert free.rejected.tolist() == [False, True]
    losses = cancer.with_reject(0.3).matrix - np.array([[[0, 0, 0]], [[0, 0, 9]]])
    assert cancer.with_reject(0.3).per_row(losses).is_per_row  # it wins in the second row alone


def test_per_row_losses_keep_names_and_reject(cancer):
    loss = cancer.with_reject(0.3).per_row(np.ones((4, 2, 3)))
    assert loss.is_per_row
    assert loss.reject == "reject"
    np.testing.assert_array_equal(loss["cancer", "treat"], np.ones(4))
    assert "Loss for 4 rows" in repr(loss)
    assert "<table>" in loss._repr_html_()
    wider = loss.with_reject(9, name="other")
    np.testing.assert_array_equal(wider["normal", "other"], [9] * 4)


def test_it_does_not_change(cancer):
    with pytest.raises(AttributeError, match="does not change"):
        cancer.truths = ()
    with pytest.raises(ValueError, match="read-only"):
        cancer.matrix[0, 0] = 3
    matrix = np.zeros((1, 2))
    Loss(matrix, ["a"], ["x", "y"])
    matrix[0, 0] = 1.0


def test_equality_and_copies(cancer):
    assert copy.deepcopy(cancer) == cancer
    assert cancer != cancer.with_reject(1)
    assert cancer != "a loss"
    with pytest.raises(TypeError, match="unhashable"):
        hash(cancer)


def test_a_transposed_loss_is_caught_by_decide():
    turned = Loss([[0, 1], [1000, 0], [0.3, 0.3]], ["treat", "discharge", "ask"], ["sick", "well"])
    with pytest.raises(LabelError, match="it looks transposed. Rows are truths"):
        decide([0.5, 0.5], turned, labels=["sick", "well"])


class TestCsv:
    def test_it_reads_back_equal(self, tmp_path, cancer):
        loss = Loss([[0.1, 1 / 3], [1e-300, -7]], ["a, b", 'say "x"'], ["ü", "y"])
        for each in (cancer, loss):
            each.to_csv(tmp_path / "loss.csv")
            assert Loss.from_csv(tmp_path / "loss.csv") == each

    def test_the_reject_act_can_be_named(self, tmp_path, cancer):
        cancer.with_reject(0.3).to_csv(tmp_path / "loss.csv")
        again = Loss.from_csv(tmp_path / "loss.csv", reject="reject")
        assert again == cancer.with_reject(0.3)

    def test_blank_lines_spaces_and_a_byte_order_mark_do_no_harm(self, tmp_path):
        text = "\ufeff, x ,y\n\na,0, 1\n\n b ,2,3\n"
        (tmp_path / "loss.csv").write_text(text, encoding="utf-8")
        loss = Loss.from_csv(tmp_path / "loss.csv")
        assert (loss.truths, loss.acts) == (("a", "b"), ("x", "y"))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "the first line must have .*; a line for each truth follows"),
            (",x,y\n", "the first line must have .*; a line for each truth follows"),
            (",x,y\na,0\n", "line 2: expected a truth and 2 losses, got 2 cells"),
            (
                ",x,y\na,0,1\nb,0,much\n",
                "line 3: the loss of act 'y' must be a finite number, got 'much'",
            ),
            (",x,x\na,0,1\n", "'x' occurs more than once"),
            (",x,y\na,0,nan\n", "line 2: the loss of act 'y' must be a finite number, got 'nan'"),
            (",x,y\na,0,1_0\n", "line 2: the loss of act 'y' must be a finite number"),
            (",x,y\na,0,1\na,0,1\n", "line 3: the truth 'a' occurs twice"),
            (",x,y\n,0,1\n", "line 2: the name of the truth is empty"),
            (
                "|x|y\na|0|1\n",
                "line 1: the first line must have .* separated by commas or semicolons",
            ),
            (";x;y\na;0;1,5\nb;0;1,5,0\n", "line 3: the loss of act 'y' must be a finite number"),
            (",x,\na,0,1\n", "line 1: the first line must have"),
            (',x,y\na,0,"1\n', "unexpected end of data"),
        ],
    )
    def test_a_damaged_file_is_an_error_with_its_line(self, tmp_path, text, message):
        (tmp_path / "loss.csv").write_text(text)
        with pytest.raises(InputError, match=message):
            Loss.from_csv(tmp_path / "loss.csv")

    def test_a_spreadsheet_may_write_semicolons_and_decimal_commas(self, tmp_path):
        (tmp_path / "loss.csv").write_bytes("\ufefftruth;x;y\r\na;0;1,5\r\nb;2.5;0\r\n".encode())
        assert Loss.from_csv(tmp_path / "loss.csv") == Loss(
            [[0, 1.5], [2.5, 0]], ["a", "b"], ["x", "y"]
        )

    def test_binary_junk_is_an_error(self, tmp_path):
        (tmp_path / "loss.csv").write_bytes(b"\xff\xfe\x00\x01" * 10)
        with pytest.raises(FileFormatError, match="loss.csv"):
            Loss.from_csv(tmp_path / "loss.csv")

    def test_names_that_would_not_be_read_back_are_not_written(self, tmp_path):
        for name in (" a", "a\r", "", "\ud800"):
            with pytest.raises(InputError, match="would not be read back"):
                Loss([[1]], [name], ["x"]).to_csv(tmp_path / "loss.csv")
        with pytest.raises(InputError, match="not unique as text"):
            Loss([[1], [2]], [1, "1"], ["x"]).to_csv(tmp_path / "loss.csv")

    def test_a_huge_file_is_refused_unread(self, tmp_path):
        path = tmp_path / "loss.csv"
        with path.open("wb") as stream:
            stream.truncate(2**25)
        with pytest.raises(FileFormatError, match="more than 16 MB is refused"):
            Loss.from_csv(path)

    def test_a_loss_per_row_is_not_written(self, tmp_path, cancer):
        with pytest.raises(InputError, match="one matrix"):
            cancer.per_row(np.ones((1, 2, 2))).to_csv(tmp_path / "loss.csv")
        assert not list(tmp_path.iterdir())

    def test_an_old_file_is_replaced_whole_and_keeps_its_mode(self, tmp_path, cancer):
        path = tmp_path / "loss.csv"
        path.write_text("old")
        path.chmod(0o640)
        cancer.to_csv(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        assert Loss.from_csv(path) == cancer


class TestDominance:
    def test_an_act_worse_everywhere_is_dominated_by_one(self):
        loss = Loss([[0, 1, 2], [1, 0, 2]], ["a", "b"], ["x", "y", "z"])
        (found,) = loss.dominated_acts()
        assert found.act == "z"
        assert found.mixture == {"x": 1.0}
        assert str(found) == "'z' is never better than 'x'"
        equal = Loss([[0, 0, 1], [1, 1, 0]], ["a", "b"], ["x", "y", "z"])
        assert [found.act for found in equal.dominated_acts()] == ["y"]
        assert Loss([[1], [2]], ["a", "b"], ["x"]).dominated_acts() == []

    def test_a_mixture_can_dominate_where_no_single_act_does(self):
        assert Loss.zero_one(["a", "b"]).with_reject(0.4).dominated_acts() == []
        (found,) = Loss.zero_one(["a", "b"]).with_reject(0.5).dominated_acts()
        assert found.act == "reject"
        assert found.mixture == pytest.approx({"a": 0.5, "b": 0.5})

    def test_an_act_that_matters_on_a_small_scale_is_kept(self):
        loss = Loss([[0, 1e9], [1, 0]], ["c", "n"], ["t", "d"]).with_reject(0.5)
        assert loss.dominated_acts() == []
        assert decide([6e-10, 1 - 6e-10], loss, labels=["c", "n"]).acts == "reject"

    def test_a_dear_act_does_not_hide_what_the_others_do(self):
        rest = np.array([[0.05, 0.7, 0.56], [0.93, 0.51, 0.82]])
        plain = Loss(rest, ["x", "y"], ["p", "q", "r"]).dominated_acts()
        dear = Loss(np.c_[[1e8, 7e8], rest], ["x", "y"], ["panic", "p", "q", "r"]).dominated_acts()
        assert [found.act for found in plain] == ["r"]
        assert [found.act for found in dear] == ["panic", "r"]

    def test_a_large_offset_changes_nothing(self):
        cells = np.array([[0, 1, 0.4], [1, 0, 0.4]])
        for offset in (0.0, 1e13, np.array([[3e12], [0]])):
            assert Loss(cells + offset, ["x", "y"], ["a", "b", "c"]).dominated_acts() == []

    def test_leaving_out_dominated_acts_never_raises_the_risk(self):
        rng = np.random.default_rng(3)
        simplex = rng.dirichlet(np.full(3, 0.3), size=5000)
        n_found = 0
        for _ in range(20):
            loss = Loss(rng.integers(0, 10, size=(3, 5)), list("abc"), list("vwxyz"))
            dominated = {found.act for found in loss.dominated_acts()}
            n_found += len(dominated)
            rest = [a for a, act in enumerate(loss.acts) if act not in dominated]
            smaller = Loss(loss.matrix[:, rest], loss.truths, [loss.acts[a] for a in rest])
            np.testing.assert_allclose(
                decide(simplex, smaller, list("abc")).risk,
                decide(simplex, loss, list("abc")).risk,
                atol=1e-12,
            )
        assert n_found > 10


def test_a_data_frame_is_not_relabelled_by_mistake():
    frame = pd.DataFrame([[0, 1], [2, 0]], index=["b", "a"], columns=["x", "y"])
    assert Loss(frame, ["b", "a"], ["x", "y"])["b", "y"] == 1
    with pytest.raises(InputError, match="the index of the table"):
        Loss(frame, ["a", "b"], ["x", "y"])
    with pytest.raises(InputError, match="the columns of the table"):
        Loss(frame, ["b", "a"], ["y", "x"])


LESS = {pair: cost for pair, cost in CANCER.items() if pair != ("normal", "treat")}
TURNED = {("treat", "normal"): 1}
AB, XY, MANY = ["a", "b"], ["x", "y"], range(200_000)
HERE = Loss.from_dict(CANCER)
REFUSED = {
    InputError: [
        (lambda: Loss.from_dict(LESS), "'normal' and act 'treat'. Truths: 'cancer'"),
        (lambda: Loss.from_dict(LESS | TURNED), "act 'treat'. The pair is there the other way"),
        (lambda: Loss.from_dict([[0, 1]]), "Got list. For a matrix, use credo.Loss"),
        (lambda: Loss.from_dict({"cancer": 1}), r"pair \(truth, act\). Got 'cancer'"),
        (lambda: Loss.class_costs([1, 2]), "needs {label: cost}"),
        (lambda: Loss.gains([[2, -5]]), "needs truths and acts with an array"),
        (lambda: HERE.with_reject(0.3).with_reject(0.4), "there is an act 'reject' already"),
        (lambda: HERE.with_reject(0.1, name=None), "needs a name"),
        (lambda: HERE.per_row(np.ones((1, 2, 2))).dominated_acts(), "one matrix"),
        (lambda: Loss([[0, np.nan]], ["a"], XY), r"must be finite. Got nan at index \[0, 1\]"),
        (lambda: Loss([[0, np.inf]], ["a"], XY), "must be finite. Got inf"),
        (lambda: Loss([[0, 1]], ["a"], ["x", "x"]), "'x' occurs more than once"),
        (lambda: Loss([["yes", 1]], ["a"], XY), "must be numbers"),
        (lambda: Loss([[10**400]], ["a"], ["x"]), "must be numbers"),
        (lambda: Loss([[0, -1e308]], ["a"], XY), r"at most 1e\+300 in size.*Got -1e\+308"),
        (lambda: Loss.zero_one(MANY), "would take 298 GB.*Posterior.mode"),
        (lambda: Loss.class_costs(dict.fromkeys(MANY, 1.0)), "Loss.class_costs: .* would take"),
    ],
    ShapeError: [
        (lambda: Loss([[0, 1]], AB, ["x"]), "It looks transposed: pass matrix.T"),
        (lambda: Loss([0, 1], ["a"], XY), r"shape \(1, 2\)"),
        (lambda: HERE.per_row([[0, 1], [1, 0]]), r"shape \(n, 2, 2\)"),
    ],
    LabelError: [
        (lambda: Loss([[0, 1]], ["a"], XY, reject="ask"), "no act 'ask'"),
        (lambda: HERE["cancer", "discharg"], "no act 'discharg'.*Did you mean 'discharge'"),
    ],
}


@pytest.mark.parametrize("error", REFUSED)
def test_what_is_no_loss_is_refused_by_name(error):
    for make, message in REFUSED[error]:
        with pytest.raises(error, match=message):
            make()
