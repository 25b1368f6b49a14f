import sys

import pytest

from credo.exceptions import InputError, MissingExtraError
from credo.plots import draw
from credo.plots._draw import axes_for


def test_something_else_has_no_figure():
    with pytest.raises(InputError, match="no figure for dict"):
        draw({})


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'credo\[plots\]'"):
        axes_for(None)
    with pytest.raises(ImportError):
        axes_for(None)


def test_given_axes_are_drawn_on():
    ax = axes_for(None)
    assert axes_for(ax) is ax
