import numpy as np
import pytest
from matplotlib import pyplot as plt

import credo
from credo.exceptions import InputError


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def ring():
    pairs = [[0, 1], [1, 2], [2, 0]]
    return credo.MarkovNetwork.from_arrays(np.full((3, 2), [0.6, 0.4]), pairs, [[2, 1], [1, 2]])


def test_the_trace_has_a_point_for_each_sweep_and_says_how_it_ended():
    post = credo.infer(ring(), method="loopy", schedule="flooding")
    axes = post.plot()
    (line,) = axes.lines
    assert np.array_equal(line.get_ydata(), post.residuals)
    assert np.array_equal(line.get_xdata(), np.arange(1, post.sweeps + 1))
    assert axes.get_yscale() == "log"
    assert axes.get_title() == "loopy: CONVERGED"


def test_sweeps_that_change_nothing_have_no_point_on_a_log_scale():
    post = credo.infer(ring(), method="loopy", schedule="flooding", tolerance=0.0, sweeps=200)
    (line,) = post.plot().lines
    assert (np.asarray(line.get_ydata()) > 0).all()


def test_a_run_without_sweeps_has_nothing_to_draw():
    post = credo.infer(ring(), {0: 0, 1: 0, 2: 1}, method="gibbs")
    with pytest.raises(InputError, match="made no sweeps"):
        post.plot()
