import dataclasses
import os
import pickle  # noqa: TID251 - work is sent to processes by it
import subprocess
import sys

import numpy as np
import pytest

from credo.exceptions import LabelError
from credo.graphs import BayesianNetwork, FactorGraph, MarkovNetwork, Variable, chain
from credo.graphs.wiring import from_logs, ranges, starts


def small():
    graph = FactorGraph()
    a, b = graph.variable("a", ["x", "y"]), graph.variable("b", 3)
    graph.factor([b, a], np.arange(6.0).reshape(3, 2))
    graph.parity([a])
    graph.factor([a], [-1.0, -900.0], log=True)
    return graph


def ways():
    """Wirings made in every way there is."""
    net = BayesianNetwork.from_arrays(["a", "b"], [(0, 1)] * 2, [[], [0]], [0.5] * 6)
    field = MarkovNetwork.from_arrays(np.ones((3, 2)), [[0, 1]], np.ones((2, 2)))
    tables = [[0.5, 0.5], [[0.5, 0.5], [0.1, 0.9]]]
    return {
        "objects": small().compile(),
        "tables only": small().compile().tabulated(sum_product=True),
        "network arrays": net.compile(),
        "field arrays": field.compile(),
        "chain": chain(*tables, length=3, emission=tables[1]).compile(),
        "hidden chain": chain(*tables, log_likelihood=[[0, -1], [0, -900.0]]).compile(),
        "empty": FactorGraph().compile(),
    }


WAYS = ways()


def arrays_of(wiring):
    every = {f.name: getattr(wiring, f.name) for f in dataclasses.fields(wiring)}
    return {name: value for name, value in every.items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("wiring", WAYS.values(), ids=WAYS)
class TestEveryWiring:
    def test_has_read_only_arrays_of_the_types_promised(self, wiring):
        types = {
            "n_states": np.int64,
            "scope_start": np.int64,
            "scope": np.int32,
            "table": np.int32,
            "table_start": np.int64,
            "values": np.float64,
            "log_scale": np.float64,
            "log_values": np.float64,
            "owner": np.int32,
        }
        for name, array in arrays_of(wiring).items():
            assert array.dtype == types[name], name
            assert not array.flags.writeable, name
            assert array.flags.c_contiguous, name
            assert array.ndim == 1, name

    def test_fits_together(self, wiring):
        n_factors, n_tables = len(wiring.table), len(wiring.log_scale)
        assert len(wiring.names) == len(wiring.states) <= len(wiring.n_states)
        assert [len(s) for s in wiring.states] == wiring.n_states[: len(wiring.names)].tolist()
        assert wiring.scope_start[0] == 0
        assert wiring.scope_start[-1] == len(wiring.scope)
        assert len(wiring.scope_start) == n_factors + 1
        assert wiring.table_start[0] == 0
        assert wiring.table_start[-1] == len(wiring.values)
        assert len(wiring.table_start) == n_tables + 1
        assert len(wiring.owner) == n_factors
        assert (wiring.table < 0).sum() == len(wiring.structured)
        if wiring.log_values is not None:
            with np.errstate(divide="ignore"):
                near = wiring.log_values > -700
                np.testing.assert_allclose(
                    np.log(wiring.values[near]), wiring.log_values[near], rtol=1e-12
                )
            assert len(wiring.log_values) == len(wiring.values)

    def test_has_tables_of_the_size_of_their_scope_without_repeats(self, wiring):
        for factor, table in enumerate(wiring.table.tolist()):
            scope = wiring.scope[wiring.scope_start[factor] : wiring.scope_start[factor + 1]]
            assert 0 < len(set(scope.tolist())) == len(scope)
            if table >= 0:
                size = wiring.table_start[table + 1] - wiring.table_start[table]
                assert size == np.prod(wiring.n_states[scope])

    def test_finds_every_name(self, wiring):
        assert [wiring.index(name) for name in wiring.names] == list(range(len(wiring.names)))
        assert list(wiring.variables.lookup) == list(wiring.names)

    def test_survives_the_way_to_another_process(self, wiring):
        twin = pickle.loads(pickle.dumps(wiring))  # noqa: S301 - our own bytes
        for name, array in arrays_of(wiring).items():
            np.testing.assert_array_equal(getattr(twin, name), array)
        assert [twin.index(name) for name in wiring.names] == list(range(len(wiring.names)))


def test_a_table_is_laid_out_in_the_order_of_its_axes():
    wiring = small().compile()
    assert wiring.scope.tolist() == [1, 0, 0, 0]
    assert wiring.scope_start.tolist() == [0, 2, 3, 4]
    assert wiring.table.tolist() == [0, -1, 1]
    assert wiring.values[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert wiring.owner.tolist() == [-1, -1, -1]
    assert repr(wiring) == "<Wiring: 2 variables, 3 factors, 2 tables, 8 cells>"


def test_an_unknown_name_is_refused_with_the_nearest():
    graph = FactorGraph()
    graph.variable("BLOOD PRESSURE", 2)
    with pytest.raises(LabelError, match="Did you mean 'BLOOD PRESSURE'"):
        graph.compile().index("blood pressure")
    assert graph.compile().index(Variable("BLOOD PRESSURE", 2)) == 0


def test_tabulated_gives_itself_when_nothing_is_structured():
    wiring = WAYS["network arrays"]
    assert wiring.tabulated(sum_product=True) is wiring
    assert wiring.tabulated(sum_product=False) is wiring


def test_tabulated_answers_are_kept():
    wiring = small().compile()
    assert wiring.tabulated(sum_product=True) is wiring.tabulated(sum_product=True)
    assert wiring.tabulated(sum_product=True) is not wiring.tabulated(sum_product=False)
    assert not wiring.tabulated(sum_product=True).structured
    assert (wiring.tabulated(sum_product=True).table >= 0).all()


def test_compiling_is_the_same_under_any_hash_seed():
    code = """
from credo.graphs import BayesianNetwork
net = BayesianNetwork()
for name in ("rain", "sprinkler", "road", "grass"):
    net.variable(name, ["no", "yes"])
net.noisy_or("grass", {"rain": 0.8, "sprinkler": 0.5, "road": 0.1})
net.cpt("road", ["rain"], {"yes": {"no": 0.1, "yes": 0.9}, "no": [1, 0]})
net.cpt("rain", table={"yes": 0.2, "no": 0.8})
net.cpt("sprinkler", ["road"], [[0.5, 0.5], [1, 0]])
wiring = net.compile().tabulated(sum_product=True)
print(wiring.names, wiring.scope.tolist(), wiring.values.tolist())
"""
    texts = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert texts[0] == texts[1] != ""


class TestPartsOfDifferentLengths:
    def test_start_where_those_before_them_end(self):
        assert starts(np.array([2, 0, 3])).tolist() == [0, 2, 2, 5]
        assert starts(np.empty(0)).tolist() == [0]
        spans = np.array([7, 1, 4, 0]), np.array([2, 0, 3, 1])
        assert ranges(*spans).tolist() == [7, 8, 4, 5, 6, 0]
        assert ranges(np.empty(0, np.intp), np.empty(0, np.intp)).tolist() == []

    @pytest.mark.parametrize(
        ("least", "is_wide"), [(-500.0, False), (-700.0, True), (-np.inf, False)]
    )
    def test_in_logs_are_scaled_by_their_largest_cell(self, least, is_wide):
        logs = np.array([5.0, 5.0 + least, 0.0, np.log(0.25)])
        values, scale, wide = from_logs(logs, np.array([0, 2, 4]))
        assert scale.tolist() == [5.0, 0.0]
        assert values[[0, 2]].tolist() == [1.0, 1.0]
        assert values[3] == pytest.approx(0.25, rel=1e-15)
        assert (wide is not None) == is_wide
        if wide is not None:
            np.testing.assert_allclose(wide, [0.0, -700.0, 0.0, np.log(0.25)])

    def test_may_be_none(self):
        values, scale, wide = from_logs(np.empty(0), np.array([0]))
        assert (values.size, scale.size, wide) == (0, 0, None)
