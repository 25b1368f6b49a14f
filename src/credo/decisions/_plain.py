"""Results as plain data: lists, numbers, names and None, ready for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_plain(value: Any) -> Any:
    """Turn arrays and tuples into lists; leave the rest."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def plain_fields(result: Any) -> dict[str, Any]:
    """Turn a result into a dictionary of its fields, as plain data."""
    return {name: as_plain(getattr(result, name)) for name in result.__dataclass_fields__}
