import copy
import pickle  # noqa: TID251 - fields are sent to processes by it

import numpy as np
import pytest
from tests.oracles import grids as oracle, joint as graph_oracle

import credo
from credo.exceptions import ImpossibleEvidence, InputError, LabelError
from credo.formats import read_uai, write_uai
from credo.graphs import GridField, Ising, MarkovNetwork, Potts, TruncatedLinear, TruncatedQuadratic

RNG = np.random.default_rng(5)
LOGS = RNG.normal(size=(2, 3, 2))


def per_edge(shape, neighbours):
    """One random array per axis, of the shape of its edges."""
    last = [along[-1][0] for along in oracle.edges(shape, neighbours)]
    return [RNG.uniform(0, 1, size=[1 + place for place in entry]) for entry in last]


KINDS = {
    "Ising": Ising,
    "Potts": Potts,
    "TruncatedLinear": lambda strength: TruncatedLinear(strength, 1.5),
    "TruncatedQuadratic": lambda strength: TruncatedQuadratic(strength, 1.5),
}
STRENGTHS = {
    "one": lambda _shape, _neighbours: 0.7,
    "per axis": lambda _shape, neighbours: [0.3 + 0.2 * i for i in range(neighbours // 2)],
    "per edge": per_edge,
    "mixed": lambda shape, neighbours: [0.4, *per_edge(shape, neighbours)[1:]],
}


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize(("shape", "neighbours"), [((2, 3), 4), ((2, 3), 8), ((2, 2, 2), 6)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_wiring_is_the_product_of_all_potentials(kind, shape, neighbours, strength):
    logs = RNG.normal(size=(*shape, 3 if kind != "Ising" and len(shape) == 2 else 2))
    given = STRENGTHS[strength](shape, neighbours)
    field = GridField(logs, KINDS[kind](given), neighbours=neighbours)
    joint = oracle.joint(logs, kind, given, limit=1.5, neighbours=neighbours)
    np.testing.assert_allclose(graph_oracle.of_wiring(field.compile()), joint, rtol=1e-12)
    exact = credo.infer(field)
    assert exact.log_evidence == pytest.approx(np.log(joint.sum()), rel=1e-12)
    beliefs = [exact[name].probabilities for name in field.names]
    np.testing.assert_allclose(beliefs, oracle.marginals(joint), rtol=1e-11)


class TestTheLayout:
    def test_has_pixels_in_row_major_order_then_edges_axis_by_axis(self):
        field = GridField(LOGS, Potts(0.5), neighbours=8)
        scopes = [tuple(v.name for v in factor.variables) for factor in field.factors]
        pixels = [((r, c),) for r in range(2) for c in range(3)]
        edges = [(a, b) for along in oracle.edges((2, 3), 8) for _, a, b in along]
        assert scopes == pixels + edges

    def test_holds_one_table_per_axis_of_one_strength(self):
        wiring = GridField(LOGS, Potts((0.5, 0.25))).compile()
        assert wiring.table.tolist() == [0, 1, 2, 3, 4, 5, 7, 7, 7, 6, 6, 6, 6]
        assert wiring.values.size == LOGS.size + 2 * 4

    def test_holds_equal_tables_once(self):
        wiring = GridField(LOGS, Potts([np.full((1, 3), 0.5), 0.5])).compile()
        assert wiring.table.tolist() == [0, 1, 2, 3, 4, 5] + 7 * [6]

    @pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 1), (1, 1, 3)])
    def test_of_a_thin_picture_has_no_table_that_nobody_uses(self, shape):
        field = GridField.ising(np.zeros(shape), (0.5, 1.0, 1.5)[: len(shape)])
        wiring = field.compile()
        assert len(wiring.table) == 2 * len(field) - 1
        assert set(wiring.table.tolist()) == set(range(len(wiring.log_scale)))

    def test_of_a_certain_pixel_has_the_table_of_zero_and_one(self):
        wiring = GridField.ising([[np.inf, -np.inf, 400.0]], 1.0).compile()
        assert wiring.values[:4].tolist() == [0.0, 1.0, 1.0, 0.0]
        assert wiring.log_scale[:3].tolist() == [0.0, 0.0, 400.0]

    def test_carries_logs_that_are_too_wide(self):
        field = GridField.ising([[500.0, -500.0]], 1.0)
        assert credo.infer(field).log_evidence == pytest.approx(1000 - 1, rel=1e-15)

    def test_of_float32_potentials_is_in_double_precision(self):
        wiring = GridField(LOGS.astype(np.float32), Potts(0.5)).compile()
        wide = GridField(LOGS.astype(np.float32).astype(float), Potts(0.5)).compile()
        np.testing.assert_array_equal(wiring.values, wide.values)

    def test_is_made_once(self):
        field = GridField(LOGS, Potts(0.5))
        assert field.compile() is field.compile()


class TestEveryEngine:
    FIELD = GridField(RNG.normal(size=(3, 3, 3)), Potts(0.4), labels=["a", "b", "c"])

    def test_gives_the_map_of_the_largest_energy(self):
        joint = oracle.joint(np.asarray(self.FIELD.log_potentials), "Potts", 0.4)
        best = credo.mpe(self.FIELD)
        picture = np.reshape([best[name] for name in self.FIELD], (3, 3))
        assert best.log_score == pytest.approx(np.log(joint.max()), rel=1e-12)
        assert self.FIELD.energy(picture) == pytest.approx(best.log_score, rel=1e-12)

    def test_plans_bounds_and_answers_many(self):
        assert credo.plan(self.FIELD).width == 3
        exact = credo.infer(self.FIELD)
        bounds = credo.bounds(self.FIELD)
        assert bounds.lower <= exact.log_evidence <= bounds.upper
        rows = [{(0, 0): "a"}, {(1, 1): "b"}]
        many = credo.infer_many(self.FIELD, rows)
        for number, row in enumerate(rows):
            one = credo.infer(self.FIELD, row)
            np.testing.assert_allclose(
                many[2, 2].probabilities[number], one[2, 2].probabilities, rtol=1e-10
            )

    def test_honours_a_certain_pixel(self):
        field = GridField.ising([[np.inf, 0.0], [0.0, 0.0]], 0.5)
        free = GridField.ising(np.zeros((2, 2)), 0.5)
        assert credo.infer(field)[0, 0][1] == 1.0
        given = credo.infer(free, {(0, 0): 1})
        np.testing.assert_allclose(
            credo.infer(field)[1, 1].probabilities, given[1, 1].probabilities, rtol=1e-13
        )
        with pytest.raises(ImpossibleEvidence):
            credo.infer(field, {(0, 0): -1})

    def test_reads_it_back_from_a_file(self, tmp_path):
        write_uai(self.FIELD, tmp_path / "field.uai")
        twin = read_uai(tmp_path / "field.uai")
        exact = credo.infer(self.FIELD).log_evidence
        assert credo.infer(twin).log_evidence == pytest.approx(exact, rel=1e-12)


class TestAFieldIsComplete:
    def test_and_takes_no_nodes_or_edges(self):
        field = GridField(LOGS, Potts(0.5))
        for add in (
            lambda: field.node("lamp", 2),
            lambda: field.edge((0, 0), (1, 1), np.ones((2, 2))),
        ):
            with pytest.raises(InputError, match=r"complete: .* network = field.copy\(\)"):
                add()
        assert len(field) == 6

    def test_and_is_not_made_of_a_list_of_edges(self):
        with pytest.raises(InputError, match="Use MarkovNetwork.from_arrays"):
            GridField.from_arrays([[0.5, 0.5]], [], np.ones((2, 2)))

    def test_but_its_copy_is_an_open_network(self):
        field = GridField(LOGS, Potts(0.5))
        network = field.copy()
        assert type(network) is MarkovNetwork
        network.node("lamp", ["off", "on"], [0.2, 0.8])
        network.edge("lamp", (0, 1), [[2.0, 1.0], [1.0, 2.0]])
        assert len(network) == 7
        assert len(field) == 6
        whole = graph_oracle.of_wiring(network.compile())
        joint = graph_oracle.of_wiring(field.compile())
        lamp = [[0.2 * 2, 0.2 * 1], [0.8 * 1, 0.8 * 2]]  # by lamp, then by pixel (0, 1)
        expected = np.einsum("abcdef,lb->abcdefl", joint, lamp)
        np.testing.assert_allclose(whole, expected, rtol=1e-12)


class TestAFieldTravels:
    FIELDS = (
        GridField(LOGS, Potts([0.5, np.ones((2, 2))]), labels=["a", "b"]),
        GridField.ising(LOGS[..., 0].astype(np.float32), 0.5, neighbours=8),
    )

    @pytest.mark.parametrize("field", FIELDS, ids=["planes", "plane"])
    @pytest.mark.parametrize(
        "travel",
        [lambda field: pickle.loads(pickle.dumps(field)), copy.copy, copy.deepcopy],  # noqa: S301
        ids=["pickle", "copy", "deepcopy"],
    )
    def test_and_arrives_as_it_was(self, field, travel):
        twin = travel(field)
        assert type(twin) is GridField
        assert repr(twin) == repr(field)
        assert twin.labels == field.labels
        assert twin.smoothness == field.smoothness
        np.testing.assert_array_equal(twin.log_potentials, field.log_potentials)
        assert twin.log_potentials.dtype == field.log_potentials.dtype
        assert not twin.log_potentials.flags.writeable
        assert not twin.log_odds.flags.writeable
        picture = np.full(field.shape, field.labels[1])
        assert twin.energy(picture) == field.energy(picture)

    def test_and_leaves_its_wiring_behind(self):
        field = GridField.ising(np.zeros((20, 20)), 0.5)
        before = len(pickle.dumps(field))
        field.compile()
        assert len(pickle.dumps(field)) == before
        assert before < 2 * 8 * 400


class TestTheNamesOfPixels:
    @pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (1, 1)])
    def test_are_coordinates_in_row_major_order(self, shape):
        field = GridField.ising(np.zeros(shape), 0.5)
        names, pixels = field.names, list(np.ndindex(*shape))
        assert list(field) == list(names) == pixels == [names[i] for i in range(len(names))]
        assert [field.compile().index(pixel) for pixel in pixels] == list(range(len(pixels)))
        assert list(names[::-2]) == pixels[::-2]
        assert names[-1] == tuple(size - 1 for size in shape)

    def test_find_variables_without_a_search(self):
        names = GridField.ising(np.zeros((1024, 1024), np.float32), 0.5).names
        assert names.index((1023, np.int8(5))) == 1023 * 1024 + 5
        assert names.index((1, 0), 1024) == 1024
        for span in ((1025,), (0, 1024)):
            with pytest.raises(ValueError, match="is no pixel"):
                names.index((1, 0), *span)
        assert repr(names) == "<1048576 pixels of (1024, 1024)>"

    @pytest.mark.parametrize(
        "other", [(2, 0), (0, 3), (-1, 0), (0,), (0, 0, 0), 5, "ab", (0.5, 0), None], ids=repr
    )
    def test_are_nothing_else(self, other):
        field = GridField(LOGS, Potts(0.5), labels=["a", "b"])
        assert (1, 2) in field
        assert field[1, 2].states == ("a", "b")
        assert other not in field
        with pytest.raises(LabelError, match="no variable"):
            _ = field[other]
