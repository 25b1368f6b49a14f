"""Models from and to files, whatever their format: the name of the file tells it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from credo._files import local_path
from credo.exceptions import InputError
from credo.formats.bif import read_bif, write_bif
from credo.formats.dsl import read_dsl
from credo.formats.fg import read_fg
from credo.formats.hugin import read_net, write_net
from credo.formats.uai import Model, read_uai, write_uai
from credo.formats.xdsl import read_xdsl, write_xdsl
from credo.formats.xmlbif import read_xmlbif, write_xmlbif
from credo.graphs.bayesian_network import BayesianNetwork
from credo.graphs.factor_graph import FactorGraph

#: Reader and writer by the end of a file's name.
FORMATS: dict[str, tuple[Callable[..., Any], Callable[..., None]]] = {
    ".bif": (read_bif, write_bif),
    ".xml": (read_xmlbif, write_xmlbif),
    ".bifxml": (read_xmlbif, write_xmlbif),
    ".xmlbif": (read_xmlbif, write_xmlbif),
    ".net": (read_net, write_net),
    ".xdsl": (read_xdsl, write_xdsl),
    ".uai": (read_uai, write_uai),
    ".lg": (read_uai, write_uai),
}
#: Readers of formats that are not written.
READ_ONLY: dict[str, Callable[..., Any]] = {".dsl": read_dsl, ".fg": read_fg}


def read_network(path: str | os.PathLike[str]) -> BayesianNetwork | FactorGraph:
    """Read a model from a file, in the format that its name tells.

    ======================== ======================= ================
    name                     format                  reader
    ======================== ======================= ================
    .bif                     BIF                     ``read_bif``
    .xml, .bifxml, .xmlbif   XMLBIF 0.3              ``read_xmlbif``
    .net                     Hugin NET               ``read_net``
    .xdsl                    GeNIe XDSL              ``read_xdsl``
    .dsl                     GeNIe DSL               ``read_dsl``
    .fg                      libDAI                  ``read_fg``
    .uai, .LG                UAI, plain or in logs   ``read_uai``
    ======================== ======================= ================

    Parameters
    ----------
    path : str or path
        The file. Each name may be followed by ``.gz``.

    Returns
    -------
    BayesianNetwork or FactorGraph
        A FactorGraph only from libDAI and UAI files, see ``read_uai``.

    Raises
    ------
    InputError
        If the name tells no format; the text lists those that are known.
    FileFormatError
        If the file is damaged; the text names the file, the line and the column.

    See Also
    --------
    write_network : The way back.

    Examples
    --------
    >>> from credo.formats.network_files import read_network
    >>> file = getfixture("tmp_path") / "pair.uai"
    >>> _ = file.write_text("MARKOV 2 2 3 1 2 0 1 6 1 2 3 4 5 6")
    >>> len(read_network(file))
    2
    >>> read_network("alarm.txt")
    Traceback (most recent call last):
    credo.exceptions.InputError: Cannot tell the format of alarm.txt. Known endings: .bif, .xml, ...
    """
    readers = {ending: each for ending, (each, _) in FORMATS.items()} | READ_ONLY
    model: BayesianNetwork | FactorGraph = _by_ending(path, readers)(path)
    return model


def write_network(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, in the format that its name tells.

    Parameters
    ----------
    model : BayesianNetwork, FactorGraph or MarkovNetwork
        The model. All formats but UAI hold Bayesian networks only.
    path : str or path
        Where to write; the names are those of ``read_network``. One that ends in ``.gz`` is packed.

    Raises
    ------
    InputError
        If the name tells no format, or if the format cannot hold the model.

    See Also
    --------
    read_network : The way back.

    Notes
    -----
    Numbers are read back bit for bit, names and states as text; UAI files keep labels of other
    kinds beside them. Hugin NET and GeNIe XDSL take only words for names, XDSL for states too.

    Examples
    --------
    >>> from credo.formats.network_files import read_network, write_network
    >>> from credo.graphs.bayesian_network import BayesianNetwork
    >>> net = BayesianNetwork()
    >>> _ = net.variable("rain", ["no", "yes"])
    >>> _ = net.cpt("rain", table=[0.75, 0.25])
    >>> file = getfixture("tmp_path") / "rain.net"
    >>> write_network(net, file)
    >>> read_network(file).table("rain")
    rain = no  rain = yes
             0.75        0.25
    """
    _by_ending(path, {ending: each for ending, (_, each) in FORMATS.items()})(model, path)


def _by_ending(
    path: str | os.PathLike[str], functions: Mapping[str, Callable[..., Any]]
) -> Callable[..., Any]:
    """Return the reader or writer by the end of a file's name."""
    name = local_path(path)
    plain = name.lower().removesuffix(".gz")
    for ending, function in functions.items():
        if plain.endswith(ending):
            return function
    for ending in READ_ONLY:
        if plain.endswith(ending):
            raise InputError(
                f"Files {ending} are read, not written. Write one of {', '.join(functions)}."
            )
    raise InputError(
        f"Cannot tell the format of {name}. Known endings: {', '.join(functions)}, each also with "
        ".gz. Rename the file, or call the reader or writer of its format."
    )
