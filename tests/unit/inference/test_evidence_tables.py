"""Rows of evidence in any container: the answers of ``infer``, row by row."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import credo

ROWS = [
    {"cause": "hot", "sign": "yes"},
    {"cause": "hot", "sign": "yes"},
    {"cause": None, "sign": "no"},
    {"cause": "mild", "sign": None},
    {"cause": None, "sign": None},
    {"cause": "cold", "sign": "yes"},
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}
STATES = {"cause": ["hot", "mild", "cold"], "sign": ["no", "yes"]}
CODES = [
    [-1 if row[name] is None else STATES[name].index(row[name]) for name in STATES] for row in ROWS
]
CONTAINERS = {
    "mappings": (ROWS, {}),
    "mappings without empty cells": ([{k: v for k, v in r.items() if v} for r in ROWS], {}),
    "columns": (COLUMNS, {}),
    "numbers of states": (np.array(CODES), {"columns": list(STATES)}),
    "pandas": (pd.DataFrame(COLUMNS), {}),
    "pandas categories": (pd.DataFrame(COLUMNS, dtype="category"), {}),
    "polars": (pl.DataFrame(COLUMNS), {}),
    "polars, other order": (pl.DataFrame(COLUMNS).select("sign", "cause"), {}),
    "arrow": (pa.table(COLUMNS), {}),
    "arrow dictionary": (
        pa.table({name: pa.array(cells).dictionary_encode() for name, cells in COLUMNS.items()}),
        {},
    ),
}


@pytest.fixture(scope="module")
def net():
    model = credo.BayesianNetwork()
    for name in ("cause", "other", "sign"):
        model.variable(name, STATES.get(name, ["off", "on"]))
    model.cpt("cause", table=[0.2, 0.5, 0.3])
    model.cpt("other", table=[0.6, 0.4])
    signs = [[[0.1, 0.9], [0.2, 0.8]], [[0.5, 0.5], [0.7, 0.3]], [[0.9, 0.1], [0.6, 0.4]]]
    model.cpt("sign", given=["cause", "other"], table=signs)
    return model


@pytest.mark.parametrize("method", ["exact", "loopy"])
@pytest.mark.parametrize("rows", CONTAINERS.values(), ids=CONTAINERS)
def test_an_empty_cell_is_not_observed_and_each_row_has_its_own_answer(net, rows, method):
    table, options = rows
    found = credo.infer_many(net, table, method=method, **options)
    for i, row in enumerate(ROWS):
        alone = credo.infer(net, {name: state for name, state in row.items() if state is not None})
        assert found.log_evidence[i] == pytest.approx(alone.log_evidence, abs=1e-9)
        for name in ("cause", "other", "sign"):
            np.testing.assert_allclose(
                found.probabilities(name)[i], alone.probabilities(name), atol=1e-9
            )
