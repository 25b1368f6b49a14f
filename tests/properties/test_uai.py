"""Laws of UAI files: any model comes back as it was, and any damage is named."""

import math
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import assume, given, strategies as st

from credo.exceptions import FileFormatError
from credo.formats import (
    read_uai,
    read_uai_evidence,
    read_uai_result,
    write_uai,
    write_uai_evidence,
    write_uai_result,
)
from credo.graphs import FactorGraph

LABEL = st.one_of(
    st.text(max_size=5),
    st.integers(-5, 5),
    st.floats(allow_nan=False, allow_infinity=False),
    st.none(),
    st.tuples(st.text(max_size=2), st.integers(0, 3)),
)
CELL = st.one_of(st.just(0.0), st.floats(0, 1e300, allow_subnormal=True))


@st.composite
def graphs(draw):
    """Draw a factor graph of up to five variables with labels of any kind."""
    graph = FactorGraph()
    names = draw(st.lists(LABEL, min_size=1, max_size=5, unique=True))
    for name in names:
        graph.variable(name, draw(st.lists(LABEL, min_size=1, max_size=3, unique=True)))
    for _ in range(draw(st.integers(0, 5))):
        scope = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        shape = [graph[name].n_states for name in scope]
        cells = draw(st.lists(CELL, min_size=math.prod(shape), max_size=math.prod(shape)))
        assume(any(cells))
        graph.factor(scope, np.reshape(cells, shape))
    return graph


def wired(model):
    """Give all that a model is."""
    wiring = model.copy().compile()
    kept = ("n_states", "scope_start", "scope", "table", "table_start", "values", "log_scale")
    return [list(map(repr, model.variables)), *(getattr(wiring, name).tolist() for name in kept)]


@given(graphs(), st.sampled_from(["x.uai", "x.uai.gz"]))
def test_any_graph_comes_back_bit_for_bit(graph, name):
    with tempfile.TemporaryDirectory() as folder:
        write_uai(graph, Path(folder) / name)
        assert wired(read_uai(Path(folder) / name)) == wired(graph)


@given(graphs())
def test_logs_of_any_graph_come_back_to_rounding(graph):
    with tempfile.TemporaryDirectory() as folder:
        write_uai(graph, Path(folder) / "x.LG")
        found = read_uai(Path(folder) / "x.LG").compile()
    values = graph.copy().compile().values
    with np.errstate(divide="ignore"):
        logs = np.log(values)
        again = np.log(found.values) if found.log_values is None else found.log_values.copy()
    again += np.repeat(found.log_scale, np.diff(found.table_start))
    assert np.isneginf(again).tolist() == np.isneginf(logs).tolist()
    finite = np.isfinite(logs)
    assert np.allclose(again[finite], logs[finite], rtol=1e-14, atol=1e-12)


@given(graphs(), st.data())
def test_any_evidence_comes_back(graph, data):
    names = data.draw(st.lists(st.sampled_from(graph.names), unique=True))
    evidence = {name: data.draw(st.sampled_from(graph[name].states)) for name in names}
    with tempfile.TemporaryDirectory() as folder:
        write_uai_evidence(evidence, Path(folder) / "x.evid", graph)
        assert read_uai_evidence(Path(folder) / "x.evid", graph) == evidence


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=4), min_size=2, max_size=5))
def test_any_marginals_come_back(marginals):
    with tempfile.TemporaryDirectory() as folder:
        write_uai_result(Path(folder) / "x", "MAR", marginals)
        value = read_uai_result(Path(folder) / "x").value
    assert [marginal.tolist() for marginal in value] == marginals


@given(
    st.sampled_from(["MARKOV", "BAYES", "MAR"]),
    st.lists(
        st.one_of(st.integers(0, 4), st.floats(), st.sampled_from([10**12, "x", "1e308", "#"])),
        max_size=25,
    ),
)
def test_any_text_is_a_model_or_is_named_as_damaged(kind, words):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.uai"
        path.write_text(f"{kind} {' '.join(map(str, words))}", encoding="utf-8")
        for read in (read_uai, read_uai_result):
            try:
                read(path)
            except FileFormatError as error:
                assert error.line == 1  # noqa: PT017 - reading it is no error either
