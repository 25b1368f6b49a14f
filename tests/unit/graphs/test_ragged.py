"""Parts of different lengths in one array."""

import numpy as np
import pytest

from credo.graphs.wiring import from_logs, ranges, starts


def test_parts_start_where_those_before_them_end():
    assert starts(np.array([2, 0, 3])).tolist() == [0, 2, 2, 5]
    assert starts(np.empty(0)).tolist() == [0]


def test_ranges_are_listed_one_after_the_other():
    assert ranges(np.array([7, 1, 4, 0]), np.array([2, 0, 3, 1])).tolist() == [7, 8, 4, 5, 6, 0]
    assert ranges(np.empty(0, np.intp), np.empty(0, np.intp)).tolist() == []


def test_tables_of_logs_are_scaled_by_their_largest_cell():
    logs = np.log([1.0, 4.0, 6.0, 3.0, 2.0])
    values, scale, wide = from_logs(logs, np.array([0, 2, 5]))
    np.testing.assert_allclose(values, [0.25, 1.0, 1.0, 0.5, 1 / 3], rtol=1e-15)
    np.testing.assert_allclose(scale, np.log([4.0, 6.0]), rtol=1e-15)
    assert wide is None


@pytest.mark.parametrize(("least", "is_wide"), [(-500.0, False), (-700.0, True), (-np.inf, False)])
def test_logs_are_kept_where_potentials_might_underflow(least, is_wide):
    values, scale, wide = from_logs(np.array([5.0, 5.0 + least, 0.0]), np.array([0, 2, 3]))
    assert (wide is not None) == is_wide
    assert scale.tolist() == [5.0, 0.0]
    if wide is not None:
        assert wide.tolist() == [0.0, -700.0, 0.0]
    assert values[[0, 2]].tolist() == [1.0, 1.0]


def test_no_tables_have_no_cells():
    values, scale, wide = from_logs(np.empty(0), np.array([0]))
    assert (values.size, scale.size, wide) == (0, 0, None)
