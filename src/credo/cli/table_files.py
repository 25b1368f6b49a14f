"""Model files as the commands for tables open them."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def open_model(path: Path) -> Any:
    """Load a model that was fitted to a table, or say what else the file holds."""
    from credo.classifiers.schema import TableSchema
    from credo.exceptions import InputError
    from credo.storage import load

    model = load(path)
    if not isinstance(getattr(model, "schema_", None), TableSchema):
        raise InputError(
            f"{path} holds a {type(model).__name__} that knows no table: its columns have no "
            "names to find again. Fit it with credo fit or credo.fit_table."
        )
    return model
