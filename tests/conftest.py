"""Settings shared by all tests."""

import gc
import os
import sys

import matplotlib as mpl
import pytest
from hypothesis import settings

mpl.use("Agg")
#: Kernels are compiled whatever their size, so that what is tested is what large problems run.
os.environ.setdefault("CREDO_KERNELS", "compiled")

settings.register_profile("everyday", max_examples=20, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=200, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "everyday"))


def pytest_sessionstart():
    gc.disable()  # nothing that is collected becomes garbage, and looking for it takes a third


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _close_figures():
    """No test leaves a figure open."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
