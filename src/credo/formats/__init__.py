"""Networks and codes as files: BIF, XMLBIF, UAI, Hugin NET, GeNIe XDSL and alist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo._lazy import doors

if TYPE_CHECKING:  # the same names for type checkers and editors
    from credo.formats.alist import read_alist as read_alist
    from credo.formats.bif import read_bif as read_bif, write_bif as write_bif
    from credo.formats.hugin import read_net as read_net, write_net as write_net
    from credo.formats.network_files import (
        read_network as read_network,
        write_network as write_network,
    )
    from credo.formats.uai import (
        read_uai as read_uai,
        read_uai_evidence as read_uai_evidence,
        write_uai as write_uai,
        write_uai_evidence as write_uai_evidence,
    )
    from credo.formats.uai_results import (
        UaiResult as UaiResult,
        read_uai_result as read_uai_result,
        write_uai_result as write_uai_result,
    )
    from credo.formats.xdsl import read_xdsl as read_xdsl, write_xdsl as write_xdsl
    from credo.formats.xmlbif import read_xmlbif as read_xmlbif, write_xmlbif as write_xmlbif

__getattr__, __dir__, __all__ = doors(
    __name__,
    {
        "credo.formats.alist": ["read_alist"],
        "credo.formats.bif": ["read_bif", "write_bif"],
        "credo.formats.hugin": ["read_net", "write_net"],
        "credo.formats.network_files": ["read_network", "write_network"],
        "credo.formats.uai": [
            "read_uai",
            "read_uai_evidence",
            "write_uai",
            "write_uai_evidence",
        ],
        "credo.formats.uai_results": ["UaiResult", "read_uai_result", "write_uai_result"],
        "credo.formats.xdsl": ["read_xdsl", "write_xdsl"],
        "credo.formats.xmlbif": ["read_xmlbif", "write_xmlbif"],
    },
)
