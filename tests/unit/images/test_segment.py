"""Segmentation is message passing on the field it says, then a decision."""

import dataclasses

import numpy as np
import pytest

import credo
from credo.exceptions import InputError, LabelError, ShapeError
from credo.graphs import GridField, Potts
from credo.images import contrast_couplings, segment
from credo.posterior import Posterior, PosteriorMap

RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.ones(3), size=(5, 6))
NAMES = ("sky", "sea", "land")
MAP = PosteriorMap(P, NAMES)


def marginals(network):
    """Exact marginals of all pixels, as rows."""
    post = credo.infer(network, method="exact")
    return np.array([post.probabilities(name) for name in network.names])


@pytest.mark.parametrize("coupling", [0.0, 0.7, 2.0])
def test_on_a_line_of_pixels_the_answer_is_exact(coupling):
    line = RNG.dirichlet(np.ones(3), size=(1, 9))
    found = segment(line, coupling, sweeps=80)
    chain = credo.MarkovNetwork()
    for i, p in enumerate(line[0]):
        chain.node(i, 3, p)
    for i in range(8):
        chain.edge(i, i + 1, np.where(np.eye(3), np.exp(coupling), 1.0))
    assert np.allclose(found.posterior.probabilities[0], marginals(chain), atol=1e-9)


@pytest.mark.parametrize("neighbours", [4, 8])
def test_on_a_grid_the_answer_is_that_of_loopy_messages(neighbours):
    found = segment(MAP, 0.6, neighbours=neighbours, sweeps=150)
    loopy = credo.infer(found.field, method="loopy", tolerance=1e-12)
    expected = np.array([loopy.probabilities(name) for name in found.field.names])
    assert np.allclose(found.posterior.probabilities.reshape(-1, 3), expected, atol=1e-7)
    assert (found.labels == found.posterior.best).all()
    assert not found.rejected.any()


def test_without_coupling_nothing_changes():
    found = segment(MAP, 0.0)
    assert np.allclose(found.posterior.probabilities, P)
    assert (found.labels == found.before).all()
    assert (found.before == MAP.best).all()


def test_rows_arrays_and_maps_of_the_same_probabilities_are_alike():
    of_map = segment(PosteriorMap(P, range(3)), 0.5)
    rows = Posterior.from_probabilities(P.reshape(-1, 3), range(3))
    for other in (segment(P, 0.5), segment(rows, 0.5, shape=(5, 6))):
        assert np.allclose(of_map.posterior.probabilities, other.posterior.probabilities)
        assert (of_map.before == other.before).all()
    flat = segment(P.reshape(-1, 3), 0.5, shape=(5, 6))
    assert (flat.before == of_map.before).all()


def test_priors_are_divided_out_before_the_weight_is_put_on():
    priors = {"land": 0.2, "sky": 0.5, "sea": 0.3}
    found = segment(MAP, 0.5, priors=priors, weight=0.25)
    evidence = 0.25 * (np.log(P) - np.log([0.5, 0.3, 0.2]))
    logs = found.field.log_potentials
    assert np.allclose(logs - logs[..., :1], evidence - evidence[..., :1])
    alone = np.exp(evidence) / np.exp(evidence).sum(axis=-1, keepdims=True)
    by_hand = segment(PosteriorMap(alone, NAMES), 0.5)
    assert np.allclose(found.posterior.probabilities, by_hand.posterior.probabilities)
    assert (found.before == MAP.best).all()


def test_a_small_weight_lets_neighbours_overrule_what_was_all_but_certain():
    logs = np.zeros((9, 2))
    logs[:, 1], logs[4] = -900.0, (-900.0, 0.0)
    rows = Posterior.from_log_joint(logs, [0, 1])
    assert segment(rows, 1.0, shape=(3, 3)).labels[1, 1] == 1
    assert segment(rows, 1.0, shape=(3, 3), weight=1 / 900).labels[1, 1] == 0


def test_couplings_may_differ_by_axis_and_by_edge():
    p = np.full((2, 2, 2), 0.5)
    p[0, 0] = [0.01, 0.99]
    down = segment(p, (3.0, 0.0)).posterior.of(1)
    assert down[1, 0] > 0.9
    assert down[0, 1] == pytest.approx(0.5)
    edges = segment(p, (np.array([[0.0, 0.0]]), np.array([[3.0], [0.0]]))).posterior.of(1)
    assert edges[0, 1] > 0.9
    assert edges[1, 0] == pytest.approx(0.5)


def test_a_loss_decides_the_smoothed_posterior():
    loss = credo.Loss.class_costs({"sky": 1, "sea": 5, "land": 1}).with_reject(0.6)
    found = segment(MAP, 0.4, loss=loss)
    rows = credo.decide(found.posterior.rows(), loss)
    assert (found.rejected.ravel() == rows.rejected).all()
    assert (found.labels.ravel()[~rows.rejected] == rows.acts[~rows.rejected]).all()
    assert 0 < found.rejected.mean() < 1
    assert np.allclose(found.risk.ravel(), rows.risk)


@pytest.mark.parametrize("p", [0.5, 0.5625, 0.625, 0.75, 0.875, 0.9375])
def test_a_pixel_whose_risk_is_the_cost_of_rejecting_is_decided(p):
    pixels = np.tile([p, 1 - p], (3, 4, 1))
    assert not segment(pixels, 0.0, loss=1 - p).rejected.any()
    assert segment(pixels, 0.0, loss=0.999 * (1 - p)).rejected.all()


def test_the_best_labels_as_a_whole_are_those_of_max_product():
    line = RNG.dirichlet(np.ones(2), size=(1, 10))
    found = segment(line, 1.5, method="max-product", sweeps=80)
    best = credo.mpe(found.field)
    assert found.labels.ravel().tolist() == [best[name] for name in found.field.names]


def test_a_volume_is_segmented():
    found = segment(RNG.dirichlet(np.ones(2), size=(3, 4, 5)), 0.5, loss=0.3)
    assert found.labels.shape == found.rejected.shape == found.risk.shape == (3, 4, 5)
    assert found.field.n_neighbours == 6


def test_float32_stays_float32():
    found = segment(PosteriorMap(P.astype(np.float32), NAMES), 0.5, weight=0.5, dtype="float32")
    assert found.field.log_potentials.dtype == found.risk.dtype == np.float32


def test_a_segmentation_does_not_change_and_tells_what_happened():
    found = segment(MAP, 2.0, loss=0.2)
    changed = int((found.posterior.best != found.before).sum())
    expected = f"5x6 pixels, labels 'sky', 'sea', 'land'; {changed} changed by the field, "
    assert changed
    assert repr(found) == f"<Segmentation: {expected}{found.rejected.sum()} rejected>"
    for plane in (found.labels, found.rejected, found.risk, found.before):
        assert not plane.flags.writeable
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.labels = None


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"weight": 0}, InputError, "weight of segment must be above 0"),
        ({"weight": [1, 2]}, ShapeError, "weight of segment must be one number"),
        ({"loss": 0.1, "method": "max-product"}, InputError, "no probabilities"),
        ({"loss": credo.Loss.zero_one(["sky", "sea"])}, LabelError, "'land'"),
        ({"shape": (6, 5)}, ShapeError, "shape"),
        ({"coupling": (1.0, 2.0, 3.0)}, ShapeError, "2 axes"),
        ({"neighbours": 6}, InputError, "4 or 8"),
        ({"method": "cut"}, InputError, "sum-product"),
    ],
    ids=["zero", "weights", "max-product", "truths", "shape", "axes", "neighbours", "method"],
)
def test_what_makes_no_segmentation_is_refused(options, error, text):
    with pytest.raises(error, match=text):
        segment(MAP, **{"coupling": 1.0, **options})


class TestContrast:
    @pytest.mark.parametrize("neighbours", [4, 8])
    def test_couplings_fall_with_the_difference_and_the_distance(self, neighbours):
        image = RNG.normal(size=(4, 5))
        found = contrast_couplings(image, 1.5, neighbours=neighbours)
        field = GridField(np.zeros((4, 5, 2)), Potts(found), neighbours=neighbours)
        pairs = [
            (axis, place, place[0] + dy, place[1] + dx)
            for axis, (dy, dx) in enumerate(field.axes)
            for place in np.ndindex(4, 5)
            if place[0] + dy < 4 and 0 <= place[1] + dx < 5
        ]
        squares = [(image[place] - image[r, c]) ** 2 for _, place, r, c in pairs]
        for (axis, place, r, c), square in zip(pairs, squares, strict=True):
            distance = np.hypot(place[0] - r, place[1] - c)
            expected = 1.5 / distance * np.exp(-square / (2 * np.mean(squares)))
            assert field.strength_plane(axis)[place] == pytest.approx(expected)

    def test_channels_add_up_and_volumes_have_three_axes(self):
        grey = RNG.normal(size=(3, 4))
        colour = np.stack([0.6 * grey, 0.8 * grey], axis=-1)
        for one, other in zip(
            contrast_couplings(grey, 1), contrast_couplings(colour, 1), strict=True
        ):
            assert np.allclose(one, other)
        found = contrast_couplings(RNG.normal(size=(2, 3, 4)), 1.0, neighbours=6)
        assert [each.shape for each in found] == [(1, 3, 4), (2, 2, 4), (2, 3, 3)]

    def test_a_flat_picture_has_equal_couplings(self):
        assert all((each == 0.7).all() for each in contrast_couplings(np.ones((3, 3)), 0.7))
        assert [each.size for each in contrast_couplings([[1.0]], 0.7)] == [0, 0]

    def test_a_border_stays_where_the_picture_has_one(self):
        p = np.full((5, 6, 2), 0.5)
        p[:, 0], p[:, -1] = (0.95, 0.05), (0.05, 0.95)
        image = np.repeat([[0.0, 0, 0, 0, 9, 9]], 5, axis=0)
        sharp = segment(p, contrast_couplings(image, 2.0), sweeps=60).labels
        assert (sharp == (image > 0)).all()

    def test_another_number_of_dimensions_is_refused(self):
        with pytest.raises(ShapeError, match="2 dimensions"):
            contrast_couplings([1.0, 2.0], 1.0)
        with pytest.raises(InputError, match="4 or 8"):
            contrast_couplings(np.ones((2, 2)), 1.0, neighbours=5)
