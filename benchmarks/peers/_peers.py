"""Which peers can be measured: in this interpreter, or in one of their own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

from _measure import ABSENT

HERE = Path(__file__).resolve().parent
#: The module by which a peer is imported.
MODULES = {
    "DuckDB": "duckdb",
    "PGMax": "pgmax",
    "Polars": "polars",
    "Spark": "pyspark",
    "dask-ml": "dask_ml",
    "ldpc": "ldpc",
    "mixed-naive-bayes": "mixed_naive_bayes",
    "mrftools": "mrftools.MarkovNet",
    "pgmpy": "pgmpy",
    "pyAgrum": "pyagrum",
    "scikit-image": "skimage",
    "toulbar2": "pytoulbar2",
    "wnb": "wnb",
}
#: Peers that may live in an interpreter of their own, and the variable that names it.
INTERPRETERS = {
    "PGMax": "CREDO_PGMAX_PYTHON",
    "dask-ml": "CREDO_DASK_ML_PYTHON",
    "ldpc": "CREDO_LDPC_PYTHON",
    "mrftools": "CREDO_MRFTOOLS_PYTHON",
    "scikit-image": "CREDO_SCIKIT_IMAGE_PYTHON",
}


@cache
def python_of(peer: str) -> str | None:
    """Return the interpreter that has a peer: one that is named, or this one; None if none has."""
    named = os.environ.get(INTERPRETERS.get(peer, ""))
    if named:
        return named
    is_here = _can_import(MODULES[peer]) and (peer != "Spark" or shutil.which("java") is not None)
    return sys.executable if is_here else None


def _can_import(module: str) -> bool:
    """Tell whether a module is there, apart from this folder, whose ``ldpc.py`` is no peer."""
    places: Sequence[str] | None = [p for p in sys.path if Path(p).resolve() != HERE]
    for name in module.split("."):
        found = PathFinder.find_spec(name, places)
        if found is None:
            return False
        places = found.submodule_search_locations
    return True


def is_there(peer: str) -> bool:
    """Tell whether a peer can be measured; what is no peer, such as NumPy, always can."""
    return peer not in MODULES or python_of(peer) is not None


def blank(peer: str) -> str:
    """Return what stands in a cell without a figure: nothing if it was not asked for."""
    return "" if is_there(peer) else ABSENT


def say_absent(*peers: str) -> None:
    """Print which peers are not measured, and how they would be."""
    for peer in peers:
        if not is_there(peer):
            variable = INTERPRETERS.get(peer)
            how = f", or name its interpreter in {variable}" if variable else ""
            print(f"{peer}: {ABSENT}. Install it{how}.", flush=True)
