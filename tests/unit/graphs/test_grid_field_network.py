import copy
import pickle  # noqa: TID251 - fields are sent to processes by it

import numpy as np
import pytest
from tests.oracles import graphs as graph_oracle, grid_fields as oracle

import credo
from credo.exceptions import ImpossibleEvidence, InputError, LabelError
from credo.formats import read_uai, write_uai
from credo.graphs import (
    GridField,
    Ising,
    MarkovNetwork,
    Potts,
    TruncatedLinear,
    TruncatedQuadratic,
)
from credo.graphs.grid_coordinates import Coordinates

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

    def test_agrees_on_marginals(self):
        evidence = {(0, 0): "a", (2, 1): ["a", "c"]}
        exact = credo.infer(self.FIELD, evidence)
        for method in ("elimination", "enumeration"):
            other = credo.infer(self.FIELD, evidence, method=method)
            assert other.log_evidence == pytest.approx(exact.log_evidence, rel=1e-12)
            for name in self.FIELD:
                np.testing.assert_allclose(
                    other[name].probabilities, exact[name].probabilities, rtol=1e-11
                )

    def test_is_near_by_loopy_propagation(self):
        exact = credo.infer(self.FIELD)
        loopy = credo.infer(self.FIELD, method="loopy")
        for name in self.FIELD:
            near = np.abs(loopy[name].probabilities - exact[name].probabilities).max()
            assert near < 0.03

    @pytest.mark.parametrize("shape", [(1, 6), (6, 1)])
    def test_is_exact_by_loopy_propagation_on_a_line(self, shape):
        field = GridField(RNG.normal(size=(*shape, 3)), TruncatedLinear(0.5))
        exact, loopy = credo.infer(field, method="tree"), credo.infer(field, method="loopy")
        for name in field:
            np.testing.assert_allclose(
                loopy[name].probabilities, exact[name].probabilities, rtol=1e-6
            )

    def test_gives_the_map_of_the_largest_energy(self):
        logs = np.asarray(self.FIELD.log_potentials)
        joint = oracle.joint(logs, "Potts", 0.4)
        best = credo.mpe(self.FIELD)
        picture = np.reshape([best[name] for name in self.FIELD], (3, 3))
        assert best.log_score == pytest.approx(np.log(joint.max()), rel=1e-12)
        assert self.FIELD.energy(picture) == pytest.approx(best.log_score, rel=1e-12)

    @pytest.mark.parametrize("neighbours", [4, 8])
    def test_finds_the_map_of_an_ising_field_by_graph_cut(self, neighbours):
        h = RNG.normal(size=(4, 4))
        field = GridField.ising(h, 0.4, neighbours=neighbours)
        cut, exact = credo.mpe(field, method="graph_cut"), credo.mpe(field)
        assert {name: cut[name] for name in field} == {name: exact[name] for name in field}
        assert cut.log_score == pytest.approx(exact.log_score, rel=1e-12)

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

    def test_gives_potts_of_twice_the_coupling_the_posterior_of_ising(self):
        strength = per_edge((3, 3), 4)
        logs = RNG.normal(size=(3, 3, 2))
        ising = credo.infer(GridField(logs, Ising(strength)))
        potts = credo.infer(GridField(logs, Potts([2 * each for each in strength])))
        for name in Coordinates((3, 3)):
            np.testing.assert_allclose(
                ising[name].probabilities, potts[name].probabilities, rtol=1e-12
            )

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


class TestCoordinates:
    @pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (1, 1)])
    def test_are_the_pixels_in_row_major_order(self, shape):
        pixels = Coordinates(shape)
        assert list(pixels) == list(np.ndindex(*shape)) == [pixels[i] for i in range(len(pixels))]
        assert [pixels.index(pixel) for pixel in np.ndindex(*shape)] == list(range(len(pixels)))
        assert pixels[-1] == tuple(size - 1 for size in shape)

    def test_have_slices(self):
        pixels = Coordinates((3, 4))
        assert list(pixels[5:2:-1]) == [(1, 1), (1, 0), (0, 3)]
        assert pixels[5:2:-1].index((1, 0)) == 1
        assert (0, 0) not in pixels[5:2:-1]
        assert list(pixels[::-1]) == list(pixels)[::-1]

    def test_are_found_in_no_time(self):
        pixels = Coordinates((2**20, 2**20))
        assert pixels.index((2**20 - 1, 5)) == (2**20 - 1) * 2**20 + 5
        assert (2**20 - 1, 5) in pixels

    def test_take_the_numbers_of_numpy(self):
        assert Coordinates((3, 4)).index((np.int8(2), np.int64(1))) == 9

    @pytest.mark.parametrize(
        "other", [(3, 0), (0, 4), (-1, 0), (0,), (0, 0, 0), 5, "ab", (0.5, 0), None], ids=repr
    )
    def test_hold_nothing_else(self, other):
        pixels = Coordinates((3, 4))
        assert other not in pixels
        with pytest.raises(ValueError, match="no pixel of"):
            pixels.index(other)

    def test_can_be_searched_from_a_place_on(self):
        pixels = Coordinates((3, 4))
        assert pixels.index((1, 0), 4) == 4
        with pytest.raises(ValueError, match="is not there"):
            pixels.index((1, 0), 5)
        with pytest.raises(ValueError, match="is not there"):
            pixels.index((1, 0), 0, 4)

    def test_say_how_many_they_are(self):
        assert repr(Coordinates((3, 4))) == "<12 pixels of (3, 4)>"

    def test_name_the_variables_of_a_field(self):
        field = GridField(LOGS, Potts(0.5), labels=["a", "b"])
        assert field[1, 2].name == (1, 2)
        assert field[1, 2].states == ("a", "b")
        assert (1, 2) in field
        assert (2, 1) not in field
        assert list(field) == list(np.ndindex(2, 3))
        with pytest.raises(LabelError, match=r"no variable \(2, 1\)"):
            _ = field[2, 1]
