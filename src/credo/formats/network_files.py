"""Models from and to files, whatever their format: the name of the file tells it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from credo.exceptions import InputError

if TYPE_CHECKING:  # readers and models are loaded when one is needed
    from credo.graphs.bayesian_network import BayesianNetwork
    from credo.graphs.factor_graph import FactorGraph
    from credo.graphs.markov_network import MarkovNetwork

#: What the end of a file's name says about its format.
FORMATS = {
    ".bif": "bif",
    ".xml": "xmlbif",
    ".bifxml": "xmlbif",
    ".xmlbif": "xmlbif",
    ".net": "net",
    ".xdsl": "xdsl",
    ".uai": "uai",
    ".lg": "uai",
}


def read_network(path: str | os.PathLike[str]) -> BayesianNetwork | FactorGraph:
    """Read a model from a file, in the format that its name tells.

    ======================== ======================= ================
    name                     format                  reader
    ======================== ======================= ================
    .bif                     BIF                     ``read_bif``
    .xml, .bifxml, .xmlbif   XMLBIF 0.3              ``read_xmlbif``
    .net                     Hugin NET               ``read_net``
    .xdsl                    GeNIe XDSL              ``read_xdsl``
    .uai, .LG                UAI, plain or in logs   ``read_uai``
    ======================== ======================= ================

    Parameters
    ----------
    path : str or path
        The file. Each name may be followed by ``.gz``.

    Returns
    -------
    BayesianNetwork or FactorGraph
        A FactorGraph only from UAI files, see ``read_uai``.

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
    match _format_of(path):
        case "bif":
            from credo.formats.bif import read_bif as reader  # noqa: PLC0415 - only what is needed
        case "xmlbif":
            from credo.formats.xmlbif import read_xmlbif as reader  # noqa: PLC0415
        case "net":
            from credo.formats.hugin import read_net as reader  # noqa: PLC0415
        case "xdsl":
            from credo.formats.xdsl import read_xdsl as reader  # noqa: PLC0415
        case _:
            from credo.formats.uai import read_uai  # noqa: PLC0415

            return read_uai(path)
    return reader(path)


def write_network(
    model: BayesianNetwork | FactorGraph | MarkovNetwork, path: str | os.PathLike[str]
) -> None:
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
    All formats read back what was written: names, states and numbers bit for bit.

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
    array([0.75, 0.25])
    """
    match _format_of(path):
        case "bif":
            from credo.formats.bif import write_bif as writer  # noqa: PLC0415 - only what is needed
        case "xmlbif":
            from credo.formats.xmlbif import write_xmlbif as writer  # noqa: PLC0415
        case "net":
            from credo.formats.hugin import write_net as writer  # noqa: PLC0415
        case "xdsl":
            from credo.formats.xdsl import write_xdsl as writer  # noqa: PLC0415
        case _:
            from credo.formats.uai import write_uai  # noqa: PLC0415

            write_uai(model, path)
            return
    writer(model, path)  # type: ignore[arg-type]  # each says what it can write


def _format_of(path: str | os.PathLike[str]) -> str:
    """Tell the format by the end of the name."""
    name = os.fspath(path)
    plain = name.lower().removesuffix(".gz")
    for ending, kind in FORMATS.items():
        if plain.endswith(ending):
            return kind
    raise InputError(
        f"Cannot tell the format of {name}. Known endings: {', '.join(FORMATS)}, each also with "
        ".gz. Rename the file, or call the reader or writer of its format."
    )
