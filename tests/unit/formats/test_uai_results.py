"""UAI result files: PR, MAR, MAP and MMAP."""

import math
from pathlib import Path

import numpy as np
import pytest

from credo.exceptions import FileFormatError, InputError
from credo.formats.uai_results import read_uai_result, write_uai_result

PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "graphical" / "uai"
ENDINGS = {".PR", ".MAR", ".MAP", ".MAP_best_known"}
ALL = sorted(path for path in PUBLISHED.rglob("*.uai.*") if path.suffix in ENDINGS)


@pytest.fixture
def read(tmp_path):
    def reader(text):
        path = tmp_path / "x.res"
        path.write_text(text)
        return read_uai_result(path)

    return reader


def plain(value):
    """Give a result as lists, for comparing."""
    if isinstance(value, tuple):
        return [marginal.tolist() for marginal in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("PR\n-19.5\n", "PR", -19.5),
        ("PR\n1\n-19.5\n", "PR", -19.5),
        ("PR 1", "PR", 1.0),
        ("PR\n-inf", "PR", -math.inf),
        ("MAR\n2 2 0.25 0.75 3 0.5 0.25 0.25", "MAR", [[0.25, 0.75], [0.5, 0.25, 0.25]]),
        ("MAR\n1\n2 2 0.25 0.75 3 0.5 0.25 0.25", "MAR", [[0.25, 0.75], [0.5, 0.25, 0.25]]),
        ("MAR 1 2 0.25 0.75", "MAR", [[0.25, 0.75]]),
        ("MAP\n3 0 2 1", "MAP", [0, 2, 1]),
        ("MPE\n3 0 2 1", "MAP", [0, 2, 1]),
        ("MAP\n1\n3 0 2 1", "MAP", [0, 2, 1]),
        ("map\n1 1", "MAP", [1]),
        ("MMAP\n2 5 1 3 0", "MMAP", {5: 1, 3: 0}),
        ("MMAP\n1\n2 5 1 3 0", "MMAP", {5: 1, 3: 0}),
        ("MAP\n-BEGIN-\n2 0 0\n-BEGIN-\n2 0 1\n", "MAP", [0, 1]),
    ],
)
def test_results_are_read(read, text, kind, value):
    result = read(text)
    assert (result.kind, plain(result.value)) == (kind, value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expected one of PR, MAR, MAP, MMAP at the start, got nothing"),
        ("MARKOV 1 2 0", "got 'MARKOV'"),
        ("PR", "no result after PR"),
        ("PR nan", "got nan"),
        ("PR 2 3", "Expected one number"),
        ("PR x", "Expected a number, got 'x'"),
        ("MAR 2 2 0.5 0.5", "do not add up"),
        ("MAR 1 1e12 0.5", "do not add up"),
        ("MAR 1 2 0.5 -0.5", "Expected a probability, got -0.5"),
        ("MAR 1 2 0.5 nan", "Expected a probability, got nan"),
        ("MAP 3 0 1", "Got 3 numbers in all"),
        ("MAP 2 0 0.5", "a whole number from 0 on, got 0.5"),
        ("MAP 1e308", "Got 1 numbers in all"),
        ("MMAP 2 0 1 0 1", "listed twice"),
        ("MMAP 1e308 0 1", "Got 3 numbers in all"),
    ],
)
def test_damage_is_named(read, text, message):
    with pytest.raises(FileFormatError) as caught:
        read(text)
    assert message in str(caught.value)
    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("PR", -1 / 3),
        ("MAR", [[0.1, 0.9], [1 / 3, 2 / 3, 0.0]]),
        ("MAP", [0, 4, 2]),
        ("MMAP", {7: 1, 0: 3}),
    ],
)
def test_what_is_written_is_read_back(tmp_path, kind, value):
    write_uai_result(tmp_path / "x", kind, value)
    result = read_uai_result(tmp_path / "x")
    assert (result.kind, plain(result.value)) == (kind, value)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("MPE", [0], "Unknown task 'MPE'. Choose one of PR, MAR, MAP, MMAP"),
        ("PR", "x", "does not fit PR"),
        ("MAR", [[0.5, -0.5]], "does not fit MAR"),
        ("MAR", [0.5], "does not fit MAR"),
        ("MAP", [0.5], "does not fit MAP"),
        ("MAP", [-1], "does not fit MAP"),
        ("MAP", [math.inf], "does not fit MAP"),
        ("MMAP", {"rain": 1}, "does not fit MMAP"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_and_nothing_is_written(
    tmp_path, kind, value, message
):
    with pytest.raises(InputError, match=message):
        write_uai_result(tmp_path / "x", kind, value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", ALL, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_published_results_are_read_back_bit_for_bit(path, tmp_path):
    result = read_uai_result(path)
    assert result.kind == path.suffix[1:].removesuffix("_best_known")
    write_uai_result(tmp_path / "x", result.kind, result.value)
    assert plain(read_uai_result(tmp_path / "x").value) == plain(result.value)
