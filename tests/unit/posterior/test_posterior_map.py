import copy
import pickle  # noqa: TID251 - maps travel between processes by it
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from tests.strategies import LETTERS, simplices

from credo.exceptions import InputError, LabelError
from credo.posterior import Posterior, PosteriorMap

ABC = ("a", "b", "c")


@pytest.fixture
def three():
    p = np.random.default_rng(0).dirichlet([0.5, 1, 2], size=(4, 5))
    return PosteriorMap(p, ABC)


@pytest.fixture
def two():
    return PosteriorMap.of_two([[0.25, 0.5, 1.0], [0.0, 0.75, 0.125]], (-1, 1))


def test_it_says_what_it_holds(three, two):
    assert (three.labels, three.shape, three.n_labels) == (ABC, (4, 5), 3)
    assert (two.labels, two.shape, two.n_labels) == ((-1, 1), (2, 3), 2)
    assert repr(three) == "<PosteriorMap: 4x5 pixels, labels 'a', 'b', 'c'>"
    assert repr(two) == "<PosteriorMap: 2x3 pixels, labels -1, 1>"
    assert repr(PosteriorMap.of_two(np.zeros((2, 3, 4)), (0, 1))).startswith("<PosteriorMap: 2x3x4")
    many = PosteriorMap(np.full((1, 1, 256), 1 / 256), range(256))
    assert repr(many).endswith("labels 0, 1, 2, 3, 4, 5, 6, 7, … (256 in all)>")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_and_double_precision_are_kept(dtype):
    p = np.array([[[0.25, 0.75]]], dtype=dtype)
    for kept in (PosteriorMap(p, ["a", "b"]), PosteriorMap.of_two(p[..., 1], ["a", "b"])):
        planes = kept.probabilities, kept.of("a"), kept.confidence, kept.entropy
        assert {plane.dtype for plane in planes} == {np.dtype(dtype)}


def test_the_plane_of_a_label_is_its_column(three, two):
    np.testing.assert_array_equal(three.of("b"), three.probabilities[..., 1])
    np.testing.assert_array_equal(two.of(1), [[0.25, 0.5, 1.0], [0.0, 0.75, 0.125]])
    np.testing.assert_array_equal(two.of(-1), [[0.75, 0.5, 0.0], [1.0, 0.25, 0.875]])
    with pytest.raises(LabelError, match="PosteriorMap has no label 'A'.*Did you mean 'a'"):
        three.of("A")


def test_ties_go_to_the_first_label(two):
    np.testing.assert_array_equal(two.best, [[-1, -1, 1], [-1, 1, -1]])
    third = 1 / 3
    ties = PosteriorMap([[[third, third, third], [0.2, 0.4, 0.4]]], ABC)
    np.testing.assert_array_equal(ties.best, [["a", "b"]])
    assert PosteriorMap([[[0.9, 0.1]]], [(0, 1), "reject"]).best.tolist() == [[(0, 1)]]


@pytest.mark.parametrize("towards", [0.0, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_least_difference_from_a_half_decides(dtype, towards):
    nearly = np.nextafter(dtype(0.5), dtype(towards))
    assert PosteriorMap.of_two(np.array([nearly]), (0, 1)).best[0] == towards


def test_the_best_of_many_labels_is_the_largest_entry():
    p = np.random.default_rng(1).dirichlet(np.ones(300), size=(20, 30)).astype(np.float32)
    np.testing.assert_array_equal(PosteriorMap(p, range(300)).best, p.argmax(axis=-1))


def test_entropy_is_that_of_scipy_and_zero_for_certainty(three, two):
    expected = stats.entropy(three.probabilities, axis=-1)
    np.testing.assert_allclose(three.entropy, expected, rtol=1e-13)
    expected = stats.entropy(two.probabilities, axis=-1)
    np.testing.assert_allclose(two.entropy, expected, rtol=1e-13)
    assert two.entropy[0, 2] == two.entropy[1, 0] == 0


def test_rows_are_the_pixels_in_row_major_order(three, two):
    for seen in (three, two):
        rows = seen.rows()
        assert isinstance(rows, Posterior)
        assert rows.labels == seen.labels
        expected = seen.probabilities.reshape(-1, seen.n_labels)
        np.testing.assert_allclose(rows.probabilities, expected, rtol=1e-15)


def test_a_pixel_is_a_posterior(three, two):
    assert isinstance(three[2, 3], Posterior)
    np.testing.assert_allclose(three[2, 3].probabilities, three.probabilities[2, 3], rtol=1e-15)
    assert two[0, 0].to_dict() == {-1: 0.75, 1: 0.25}
    assert two[-1, np.int64(-1)].to_dict() == {-1: 0.875, 1: 0.125}
    assert PosteriorMap([[0.5, 0.5], [0.0, 1.0]], (0, 1))[1].mode() == 1


@pytest.mark.parametrize("pixel", [0, (0, 3), (-3, 0), (0, 0, 0), (0, 1.0), (True, 0), "a"])
def test_a_pixel_that_is_not_there_is_refused(two, pixel):
    with pytest.raises(InputError, match="one pixel of the shape .2, 3., as 2 whole numbers"):
        two[pixel]
    with pytest.raises(InputError):
        two[0, :]


def test_equality_is_by_labels_shape_and_numbers(three, two):
    assert three == PosteriorMap(three.probabilities, ABC)
    assert two == PosteriorMap(two.probabilities, (-1, 1))
    assert PosteriorMap(two.probabilities, (-1, 1)) == two
    assert two != PosteriorMap.of_two(two.of(1), (0, 1))
    assert two != PosteriorMap.of_two(two.of(1).reshape(3, 2), (-1, 1))
    assert two != PosteriorMap.of_two(two.of(-1), (-1, 1))
    assert two != three
    assert two != "a map"
    with pytest.raises(TypeError, match="unhashable"):
        hash(two)


def pickled(seen):
    return pickle.loads(pickle.dumps(seen))  # noqa: S301 - our own


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
def test_copies_are_equal_and_do_not_change_either(three, two, again):
    for seen in (three, two):
        other = again(seen)
        assert other == seen
        assert other.probabilities.dtype == seen.probabilities.dtype
        assert not other.of(other.labels[1]).flags.writeable
    many = PosteriorMap.of_two(np.full((100, 100), 0.5, dtype=np.float32), (0, 1))
    assert len(pickle.dumps(many)) < 100 * 100 * 4 + 500  # still one plane


def test_it_does_not_change(three, two):
    with pytest.raises(AttributeError, match="does not change"):
        three.labels = ABC
    for plane in (three.probabilities, three.of("a"), two.probabilities, two.of(1), two.of(-1)):
        with pytest.raises(ValueError, match="read-only"):
            plane[0, 0] = 1


def test_the_callers_array_is_the_callers():
    p = np.array([[0.25, 0.75]])
    seen, plane = PosteriorMap(p, (0, 1)), PosteriorMap.of_two(p, (0, 1))
    behind = np.array([[0.25, 0.75]])
    view = behind.view()
    view.flags.writeable = False
    watched = PosteriorMap.of_two(view, (0, 1))
    p[:], behind[:] = 0.5, 0.5
    assert seen.of(0)[0] == plane.of(1)[0, 0] == watched.of(1)[0, 0] == 0.25


def test_an_array_that_nobody_can_write_to_is_not_copied():
    p = np.array([[0.25, 0.75]])
    p.flags.writeable = False
    assert np.shares_memory(PosteriorMap(p, (0, 1)).probabilities, p)
    assert np.shares_memory(PosteriorMap.of_two(p, (0, 1)).of(1), p)


def test_a_large_map_is_never_copied_as_float64():
    plane = np.full((1024, 2048), 0.25, dtype=np.float32)  # 8 MiB
    plane.flags.writeable = False
    tracemalloc.start()
    seen = PosteriorMap.of_two(plane, (0, 1))
    made = tracemalloc.get_traced_memory()[1]
    assert seen.entropy.nbytes == plane.nbytes
    answered = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert made < 4 * 2**20
    assert answered < plane.nbytes + 12 * 2**20


def test_a_fault_far_down_is_named_where_it_is():
    p = np.full((3000, 400, 2), 0.5, dtype=np.float32)
    p[2345, 67] = 0.25
    with pytest.raises(InputError, match=r"pixel \(2345, 67\) sums to 0.5"):
        PosteriorMap(p, (0, 1))
    p[..., 0][2345, 67] = np.nan
    with pytest.raises(InputError, match=r"Got nan at pixel \(2345, 67\)"):
        PosteriorMap.of_two(p[..., 0], (0, 1))


def test_sums_may_be_off_by_the_rounding_of_their_precision():
    p = np.array([[0.5, 0.500009]])
    with pytest.raises(InputError, match="sums to 1.000009"):
        PosteriorMap(p, (0, 1))
    single = PosteriorMap(p.astype(np.float32), (0, 1))
    np.testing.assert_allclose(single.rows().probabilities.sum(), 1, rtol=1e-15)
    assert single[0].probabilities.sum() == pytest.approx(1, rel=1e-15)


@given(st.integers(1, 5).flatmap(simplices))
def test_a_map_agrees_with_the_posterior_of_its_rows(p):
    labels = list(LETTERS[: p.shape[1]])
    seen, rows = PosteriorMap(p, labels), Posterior.from_probabilities(p, labels)
    np.testing.assert_array_equal(seen.best, rows.mode())
    np.testing.assert_allclose(seen.confidence, rows.confidence(), rtol=1e-12)
    np.testing.assert_allclose(seen.entropy, rows.entropy(), rtol=1e-12, atol=1e-14)
    assert seen.rows() == rows


MASKED, TWO = np.ma.masked_less(np.array([[0.5, 0.5]]), 1), PosteriorMap.of_two


@pytest.mark.parametrize(
    ("make", "p", "labels", "message"),
    [
        (PosteriorMap, [[[0.5, 0.5], [0.5, 0.6]]], (0, 1), r"pixel \(0, 1\) sums to 1.1, not to 1"),
        (PosteriorMap, [[[0.5, 0.5]], [[-0.1, 1.1]]], (0, 1), r"\(1, 0\) has the negative entry"),
        (PosteriorMap, [[[0.5, np.nan]]], (0, 1), r"pixel \(0, 0\) has NaN at position 1"),
        (PosteriorMap, [[[0.5, np.inf]]], (0, 1), r"pixel \(0, 0\) sums to inf"),
        (PosteriorMap, [[["x", "y"]]], (0, 1), "must be numbers"),
        (PosteriorMap, [[[0.5j, 0.5]]], (0, 1), "complex"),
        (PosteriorMap, MASKED, (0, 1), "masked"),
        *(
            (PosteriorMap, p, (0, 1), "K = 2, one entry per label.*Got shape")
            for p in ([0.5, 0.5], [[0.2, 0.3, 0.5]], np.empty((0, 3, 2)), 1.0)
        ),
        (TWO, [[0.5]], (0, 1, 2), "needs two labels. Got 3: 0, 1, 2"),
        (TWO, [[0.5]], (0, 0), "must differ"),
        (TWO, 0.5, (0, 1), "at least one pixel"),
        (TWO, np.empty((0, 2)), (0, 1), "at least one pixel"),
        (TWO, [[0.5, 1.5]], (0, 1), r"between 0 and 1. Got 1.5 at pixel \(0, 1\)"),
        (TWO, [[0.5], [-0.5]], (0, 1), r"Got -0.5 at pixel \(1, 0\)"),
    ],
    ids=range(17),
)
def test_what_is_no_map_is_refused_with_its_pixel(make, p, labels, message):
    with pytest.raises(InputError, match=message):
        make(p, labels)
