"""Settings shared by all tests."""

import os

import matplotlib as mpl
import pytest
from hypothesis import settings

mpl.use("Agg")
#: Kernels are compiled whatever their size, so that what is tested is what large problems run.
os.environ.setdefault("CREDO_KERNELS", "compiled")

settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=60, deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(autouse=True)
def _close_figures():
    """No test leaves a figure open."""
    yield
    from matplotlib import pyplot as plt

    plt.close("all")
