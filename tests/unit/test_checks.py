import copy

import numpy as np
import pytest

from credo import _checks as check
from credo.exceptions import CredoError, FileFormatError, LabelError


def test_long_listings_are_cut():
    assert check.listing(range(10)).endswith("7, … (10 in all)")


def test_a_view_of_what_can_be_written_to_is_not_read_only():
    base = np.zeros(3)
    assert not check.is_read_only(check.frozen(base[:]))
    assert check.is_read_only(check.frozen(base)[:])


@pytest.mark.parametrize("n_rows", [1, 7, 10])
def test_blocks_cover_every_row_once(n_rows):
    rows = [row for block in check.blocks(n_rows, 3) for row in range(n_rows)[block]]
    assert rows == list(range(n_rows))


def test_a_label_error_reads_as_a_sentence():
    assert str(LabelError("no such thing")) == "no such thing"
    assert str(LabelError()) == ""
    assert issubclass(LabelError, KeyError)
    assert issubclass(LabelError, CredoError)


def test_a_file_error_survives_the_way_from_another_process():
    error = FileFormatError("odd.", "p.csv", 3)
    again = copy.copy(error)
    assert str(again) == str(error) == "p.csv, line 3: odd."
    assert (again.path, again.line) == ("p.csv", 3)
