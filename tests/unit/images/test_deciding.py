"""Maps of probabilities are decided as rows are, pixel by pixel."""

import numpy as np
import pytest

import credo
from credo.exceptions import InputError, LabelError
from credo.images.deciding import decide_map
from credo.posterior import PosteriorMap

LABELS = ("sky", "sea", "land")
KINDS = [np.float32, np.float64]


def some_map(n_labels, kind=np.float64, shape=(7, 11), seed=0):
    p = np.random.default_rng(seed).dirichlet(np.ones(n_labels), size=shape)
    return PosteriorMap(p.astype(kind), LABELS[:n_labels])


def as_rows(posterior, loss):
    """Decide the same numbers with ``credo.decide``."""
    table = posterior.probabilities.reshape(-1, posterior.n_labels).astype(float)
    return credo.decide(table / table.sum(axis=1, keepdims=True), loss, posterior.labels)


def check_like_rows(posterior, loss_given, loss):
    """Compare a decided map with rows decided; rejected pixels keep their most probable label."""
    choice, rows = decide_map(posterior, loss_given, "test"), as_rows(posterior, loss)
    rejected = np.reshape(rows.rejected, posterior.shape)
    expected = np.where(rejected, posterior.best, np.reshape(rows.acts, posterior.shape))
    assert (choice.rejected == rejected).all()
    assert (choice.labels == expected).all()
    assert choice.labels.shape == choice.rejected.shape == choice.risk.shape == posterior.shape
    slack = 4 * np.finfo(choice.risk.dtype).eps * np.abs(loss.matrix).max()
    assert np.allclose(choice.risk, np.reshape(rows.risk, posterior.shape), rtol=0, atol=slack)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_without_a_loss_the_most_probable_label_is_chosen(n_labels, kind):
    posterior = some_map(n_labels, kind)
    choice = decide_map(posterior, None, "test")
    assert (choice.labels == np.array(LABELS)[posterior.probabilities.argmax(axis=-1)]).all()
    assert not choice.rejected.any()
    assert choice.risk.dtype == kind
    assert np.allclose(choice.risk, 1 - posterior.probabilities.max(axis=-1))


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cost", [0, 0.1, 0.3, 0.5, 0.7, 2])
def test_a_cost_is_zero_one_loss_with_a_reject_act(n_labels, kind, cost):
    loss = credo.Loss.zero_one(LABELS[:n_labels]).with_reject(cost)
    check_like_rows(some_map(n_labels, kind), cost, loss)


@pytest.mark.parametrize("kind", KINDS)
def test_pixels_at_and_around_a_tie_are_decided_as_rows_are(kind):
    for cost in (0.1, 0.2, 0.25, 1 / 3, 0.3, 0.45, 0.5, 0.6):
        near = kind(cost) + np.arange(-40, 41) * np.spacing(kind(min(cost, 1 - cost)))
        second = np.clip(np.concatenate([near, 1 - near]), 0, 1).reshape(2, -1)
        loss = credo.Loss.zero_one([0, 1]).with_reject(cost)
        check_like_rows(PosteriorMap.of_two(second, [0, 1]), cost, loss)
        both = np.stack([second[0], second[1]], axis=-1)[None]
        total = both.sum(axis=-1, keepdims=True)
        check_like_rows(PosteriorMap(both / total, [0, 1]), cost, loss)


def test_exact_ties_go_to_the_first_act_and_a_label_goes_before_rejecting():
    quarters = PosteriorMap.of_two([[0.25, 0.5, 0.75]], ["a", "b"])
    assert decide_map(quarters, 0.25, "test").rejected.tolist() == [[False, True, False]]
    assert decide_map(quarters, 0.5, "test").rejected.tolist() == [[False] * 3]
    assert decide_map(quarters, 0.5, "test").labels.tolist() == [["a", "a", "b"]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reject", [None, 0.4])
def test_a_loss_is_matched_by_name_in_any_order(kind, reject):
    loss = credo.Loss([[0, 3, 1], [2, 0, 5], [1, 1, 0]], ["land", "sky", "sea"], LABELS)
    loss = loss if reject is None else loss.with_reject(reject, "ask")
    check_like_rows(some_map(3, kind), loss, loss)


def test_a_loss_may_leave_out_labels_and_have_gains():
    loss = credo.Loss([[-2, 1], [0.5, -0.5]], ["sea", "sky"], ["sea", "?"], reject="?")
    check_like_rows(some_map(2), loss, loss)


def test_many_pixels_are_decided_block_by_block():
    second = np.random.default_rng(1).random((300, 801), dtype=np.float32)
    posterior = PosteriorMap.of_two(second, [-1, 1])
    loss = credo.Loss.class_costs({-1: 1, 1: 4}).with_reject(0.3)
    check_like_rows(posterior, loss, loss)
    check_like_rows(posterior, 0.3, credo.Loss.zero_one([-1, 1]).with_reject(0.3))


def test_a_volume_is_decided_voxel_by_voxel():
    posterior = some_map(3, shape=(2, 3, 4))
    check_like_rows(posterior, 0.4, credo.Loss.zero_one(LABELS).with_reject(0.4))


def test_sums_that_float32_left_off_one_are_divided_out():
    p = np.full((2, 2, 3), 1 / 3, dtype=np.float32)
    p[..., 0] += np.float32(9e-6)
    choice = decide_map(PosteriorMap(p, LABELS), 0.5, "test")
    assert (choice.labels == "sky").all()
    assert choice.rejected.all()


def test_a_label_called_reject_is_no_obstacle():
    posterior = PosteriorMap.of_two([[0.1, 0.45]], ["keep", "reject"])
    assert decide_map(posterior, 0.2, "test").rejected.tolist() == [[False, True]]


def test_labels_keep_their_type():
    assert decide_map(PosteriorMap.of_two([[0.1]], [0, 255]), 0.2, "test").labels.dtype.kind == "i"
    mixed = PosteriorMap(np.full((1, 1, 3), 1 / 3), [0, "b", (1, 2)])
    loss = credo.Loss([[1], [1], [0]], mixed.labels, [(1, 2)])
    assert decide_map(mixed, loss, "test").labels[0, 0] == (1, 2)


@pytest.mark.parametrize(
    ("loss", "error", "text"),
    [
        (-0.1, InputError, "segment, as a number, is the cost of rejecting a pixel: at least 0"),
        ("high", InputError, "The loss of segment must be a number"),
        (float("nan"), InputError, "must be finite"),
        (credo.Loss.zero_one(["sky", "see"]), LabelError, "differ in 'sea'"),
        (
            credo.Loss([[0, 1, 9], [1, 0, 9]], ["sky", "sea"], ["sky", "sea", "ask"]),
            LabelError,
            "the act 'ask' of the loss is neither a label",
        ),
        (
            credo.Loss.zero_one(["sky", "sea"]).per_row(np.zeros((1, 2, 2))),
            InputError,
            "one matrix",
        ),
    ],
    ids=["negative", "text", "nan", "truths", "act", "per row"],
)
def test_a_loss_that_does_not_fit_is_refused(loss, error, text):
    with pytest.raises(error, match=text):
        decide_map(some_map(2), loss, "segment")
