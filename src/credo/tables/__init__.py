"""Tables of any size: reading them, learning from them, scoring them, on one machine or many.

Its names are written in ``__init__.pyi`` and loaded when they are first used, so that reading a
table does not load the classifiers, nor Dask and Spark.
"""

from credo._lazy import doors_of_stub

__getattr__, __dir__, __all__ = doors_of_stub(__name__, __file__)
