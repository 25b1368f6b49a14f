"""Names as BIF files spell them."""

from __future__ import annotations

import re

from credo.formats._net_labels import NOTE, in_quotes

#: How the note begins that keeps labels which BIF cannot write.
NOTED = f"{NOTE} ".encode()
#: Names that other readers too take without quotes.
_PLAIN = re.compile(r"[A-Za-z0-9_.+%<>=-][A-Za-z0-9_.+%<>=/-]*")
_KEYWORDS = frozenset(
    {"network", "variable", "probability", "type", "discrete", "property", "table", "default"}
)


def quoted(name: str) -> str:
    """Put a name in quotes if it needs them."""
    if _PLAIN.fullmatch(name) and "//" not in name and name not in _KEYWORDS:
        return name
    return in_quotes(name)
