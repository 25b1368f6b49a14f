"""Many rows of evidence: the shapes they come in."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from credo.exceptions import InputError, LabelError, ShapeError
from credo.graphs import BayesianNetwork
from credo.inference import infer_many

CELLS = {
    "smoke": ["no", None, "yes", "yes", None],
    "stage": [None, 2, None, 0, 1],
    "alarm": [True, None, False, None, True],
}
CODES = [[0, -1, 1], [-1, 2, -1], [1, -1, 0], [1, 0, -1], [-1, 1, 1]]


def network():
    net = BayesianNetwork()
    net.variable("smoke", ["no", "yes"])
    net.variable("stage", [0, 1, 2])
    net.variable("alarm", [False, True])
    net.cpt("smoke", table=[0.7, 0.3])
    net.cpt("stage", given=["smoke"], table=[[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
    net.cpt("alarm", given=["stage"], table=[[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    return net


def bits(rows, columns=None):
    """All numbers of the answers; that of an observed variable is one at its state."""
    many = infer_many(network(), rows, columns=columns)
    return [many.probabilities(name).tolist() for name in many], many.log_evidence.tolist()


def dictionaries(frame):
    """The text of an Arrow table as dictionaries."""
    return frame.set_column(0, "smoke", frame["smoke"].dictionary_encode())


FRAMES = {
    "pandas": lambda: pd.DataFrame(CELLS),
    "pandas objects": lambda: pd.DataFrame(CELLS, dtype=object),
    "pandas nullable": lambda: pd.DataFrame(CELLS).convert_dtypes(),
    "pandas categories": lambda: pd.DataFrame(CELLS).astype("category"),
    "polars": lambda: pl.DataFrame(CELLS),
    "polars categories": lambda: pl.DataFrame(CELLS).with_columns(
        pl.col("smoke").cast(pl.Categorical)
    ),
    "arrow": lambda: pa.table(CELLS),
    "arrow chunks": lambda: pa.concat_tables([pa.table(CELLS).slice(0, 2), pa.table(CELLS)[2:]]),
    "arrow categories": lambda: dictionaries(pa.table(CELLS)),
    "columns": lambda: CELLS,
    "columns of arrays": lambda: {k: np.array(v, dtype=object) for k, v in CELLS.items()},
    "columns of series": lambda: dict(pd.DataFrame(CELLS).items()),
    "mappings": lambda: [{k: v[i] for k, v in CELLS.items()} for i in range(5)],
    "mappings without empty cells": lambda: [
        {k: v[i] for k, v in CELLS.items() if v[i] is not None} for i in range(5)
    ],
    "another order": lambda: pd.DataFrame(CELLS)[["alarm", "smoke", "stage"]],
    "a tuple": lambda: tuple({k: v[i] for k, v in CELLS.items()} for i in range(5)),
}


@pytest.mark.parametrize("shape", FRAMES)
def test_rows_of_all_shapes_are_the_same(shape):
    assert bits(FRAMES[shape]()) == bits(np.array(CODES), ["smoke", "stage", "alarm"])


@pytest.mark.parametrize("kind", ["i1", "i8", "u2"])
def test_an_array_holds_state_indices(kind):
    codes = np.array(CODES)[:, [2, 0]]
    codes = np.maximum(codes, 0) if kind == "u2" else codes
    cells = [
        {"alarm": None if a < 0 else bool(a), "smoke": None if s < 0 else ("no", "yes")[s]}
        for a, s in codes
    ]
    assert bits(codes.astype(kind), ["alarm", "smoke"]) == bits(cells)


def test_masked_cells_of_an_array_were_not_observed():
    masked = np.ma.array([[0, 1]], mask=[[False, True]])
    assert bits(masked, ["smoke", "stage"]) == bits({"smoke": ["no"], "stage": [None]})


def test_all_spellings_of_missing_are_missing():
    cells = [None, float("nan"), np.nan, np.float64("nan"), pd.NA, pd.NaT, np.datetime64("NaT")]
    cells = cells * 5 + [float("nan") for _ in range(40)]
    assert bits({"stage": cells}) == bits(np.full((len(cells), 1), -1), ["stage"])


def test_numbers_of_numpy_and_floats_are_the_states_that_they_equal():
    cells = [np.int8(2), np.float32(1.0), 2.0, True]
    assert bits({"stage": cells}) == bits(np.array([[2], [1], [2], [1]]), ["stage"])


@pytest.mark.parametrize("shape", ["pandas", "polars", "arrow", "columns", "mappings"])
def test_an_unknown_state_is_named_with_its_row(shape):
    cells = {"stage": [0, 1, 1], "smoke": ["no", None, "Yes"]}
    make = {
        "pandas": pd.DataFrame,
        "polars": pl.DataFrame,
        "arrow": pa.table,
        "columns": dict,
        "mappings": lambda c: [{k: v[i] for k, v in c.items()} for i in range(3)],
    }
    with pytest.raises(LabelError, match="row 2 has 'Yes' for 'smoke'.*Did you mean 'yes'"):
        infer_many(network(), make[shape](cells))


def test_a_state_of_another_type_is_no_state():
    with pytest.raises(LabelError, match="row 0 has '1' for 'stage'.* 1 is of type int"):
        infer_many(network(), {"stage": ["1"]})
    with pytest.raises(LabelError, match="row 1 has \\['no'\\] for 'smoke'"):
        infer_many(network(), {"smoke": ["no", ["no"]]})
    with pytest.raises(LabelError, match="row 0 has \\['no'\\] for 'smoke'"):
        infer_many(network(), [{"smoke": ["no"]}])


@pytest.mark.parametrize(
    "rows",
    [
        pd.DataFrame({"smoek": ["no"]}),
        pl.DataFrame({"smoek": ["no"]}),
        pa.table({"smoek": ["no"]}),
        {"smoek": ["no"]},
        [{"smoek": "no"}],
    ],
)
def test_a_column_that_is_no_variable_is_named(rows):
    expected = "infer_many: a column is no variable.*'smoek'.*Did you mean 'smoke'.*Drop columns"
    with pytest.raises(LabelError, match=expected):
        infer_many(network(), rows)


@pytest.mark.parametrize(
    ("rows", "columns", "said"),
    [
        (np.array([[0.0]]), ["smoke"], "must hold integers: state indices, -1 where nothing"),
        (np.array([["no"]]), ["smoke"], "pass a data frame or a mapping"),
        (np.array([[0]]), None, "an array has no names. Pass columns"),
        (
            np.array([[1], [2]]),
            ["smoke"],
            "row 1 has state index 2 for 'smoke'",
        ),
        (np.array([[-2]]), ["smoke"], "row 0 has state index -2"),
        (np.array([[0, 0]]), ["smoke", "smoke"], "columns names 'smoke' twice"),
        ([{"smoke": "no"}], ["smoke"], "columns= names the columns of an array"),
        ([["no"]], None, "Row 0 is list"),
        ({"smoke": "no"}, None, "must be a list of cells, one per row. Got 'no'"),
        ({"smoke": 3}, None, "must be a list of cells"),
        (pl.LazyFrame({"smoke": ["no"]}), None, "a lazy frame has no rows yet"),
        (pd.Series(["no"], name="smoke"), None, "Got Series"),
        ("no", None, "Got str"),
        (None, None, "Got NoneType"),
    ],
)
def test_what_is_no_table_is_refused(rows, columns, said):
    with pytest.raises(InputError, match=said):
        infer_many(network(), rows, columns=columns)


def test_columns_must_be_of_one_length():
    with pytest.raises(ShapeError, match="'stage' has 1 cells and 'smoke' has 2"):
        infer_many(network(), {"smoke": ["no", "yes"], "stage": [1]})
    with pytest.raises(ShapeError, match="shape \\(rows, 1\\), one column per name. Got \\(2,\\)"):
        infer_many(network(), np.array([0, 1]), columns=["smoke"])


def test_names_that_repeat_are_refused():
    frame = pd.DataFrame([["no", "yes"]], columns=["smoke", "smoke"])
    with pytest.raises(InputError, match="column"):
        infer_many(network(), frame)


def test_a_state_named_none_cannot_be_told_from_an_empty_cell():
    net = BayesianNetwork()
    net.variable("grade", [None, "low"])
    net.cpt("grade", table=[0.5, 0.5])
    with pytest.raises(InputError, match="None is a state of 'grade'"):
        infer_many(net, {"grade": [None]})
    found = infer_many(net, np.array([[0], [-1]]), columns=["grade"])
    assert found.probabilities("grade").tolist() == [[1.0, 0.0], [0.5, 0.5]]


def test_frames_without_rows_or_columns_are_fine():
    assert infer_many(network(), pd.DataFrame({"smoke": []})).n_rows == 0
    assert infer_many(network(), pl.DataFrame({"smoke": []}, schema={"smoke": str})).n_rows == 0
    assert infer_many(network(), pd.DataFrame(index=range(3))).n_rows == 3
    assert infer_many(network(), np.empty((2, 0), int), columns=[]).n_rows == 2
