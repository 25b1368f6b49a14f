"""Credo: from evidence to decisions.

The lobby. Its names are written in ``__init__.pyi`` and loaded from their rooms when they are
first used, so that ``import credo`` costs next to nothing.
"""

from credo._lazy import doors_of_stub
from credo._version import __version__ as __version__

__getattr__, __dir__, __all__ = doors_of_stub(__name__, __file__)
