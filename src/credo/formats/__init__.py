"""Networks and codes as files: BIF, XMLBIF, UAI, Hugin NET, GeNIe XDSL and DSL, libDAI, alist."""

from credo.formats.alist import read_alist
from credo.formats.bif import read_bif, write_bif
from credo.formats.dsl import read_dsl
from credo.formats.fg import read_fg
from credo.formats.hugin import read_net, write_net
from credo.formats.network_files import read_network, write_network
from credo.formats.uai import (
    UaiResult,
    read_uai,
    read_uai_evidence,
    read_uai_result,
    write_uai,
    write_uai_evidence,
    write_uai_result,
)
from credo.formats.xdsl import read_xdsl, write_xdsl
from credo.formats.xmlbif import read_xmlbif, write_xmlbif

__all__ = [
    "UaiResult",
    "read_alist",
    "read_bif",
    "read_dsl",
    "read_fg",
    "read_net",
    "read_network",
    "read_uai",
    "read_uai_evidence",
    "read_uai_result",
    "read_xdsl",
    "read_xmlbif",
    "write_bif",
    "write_net",
    "write_network",
    "write_uai",
    "write_uai_evidence",
    "write_uai_result",
    "write_xdsl",
    "write_xmlbif",
]
