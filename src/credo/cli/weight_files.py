"""Weights on states from a file: likelihoods, or posteriors for Jeffrey's rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from credo._types import Label
    from credo.cli.networks import Network


def weights_of(network: Network, path: Path | None) -> dict[Label, Any] | None:
    """Read ``{variable: weights}``: a JSON object, or the columns variable, state, weight."""
    from credo.exceptions import FileFormatError, LabelError

    if path is None:
        return None
    with path.open("rb") as stream:
        is_json = stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
    try:
        return _from_json(network, path) if is_json else _from_table(network, path)
    except LabelError as error:
        raise FileFormatError(str(error), str(path)) from error


def _from_table(network: Network, path: Path) -> dict[Label, Any]:
    """Read one weight per row."""
    import pyarrow as pa

    from credo.cli.row_files import open_rows

    found: dict[Label, Any] = {}
    types = {"variable": pa.string(), "state": pa.string(), "weight": pa.float64()}
    row = 0
    with open_rows(str(path), types) as rows:
        for batch in rows.batches(list(types)):
            for variable, state, weight in zip(*batch.to_pydict().values(), strict=True):
                row += 1
                if None in (variable, state, weight):
                    raise rows.fault_at("a cell is empty. Each row names a weight.", row)
                weights = found.setdefault(network.name(variable), {})
                label = network.state(network.name(variable), state)
                if label in weights:
                    reason = f"there is a weight for {variable!r}, state {state!r}, already."
                    raise rows.fault_at(reason, row)
                weights[label] = weight
    return found


def _from_json(network: Network, path: Path) -> dict[Label, Any]:
    """Read an object whose values are lists, or objects by state."""
    from credo.exceptions import FileFormatError

    found: dict[Label, Any] = {}
    for variable, weights in _object(path).items():
        name = network.name(variable)
        by_state = isinstance(weights, dict)
        values = list(weights.values()) if by_state else weights
        if not isinstance(values, list) or not all(type(each) in {int, float} for each in values):
            raise FileFormatError(
                f"the weights of {variable!r} must be numbers, in a list or by state.", str(path)
            )
        if by_state:
            values = {network.state(name, state): weight for state, weight in weights.items()}
        found[name] = values
    return found


def _object(path: Path) -> dict[str, Any]:
    """Read a JSON object; a key that comes twice is an error."""
    from credo.exceptions import FileFormatError

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise FileFormatError(f"{key!r} comes twice.", str(path))
            found[key] = value
        return found

    try:
        found = json.loads(path.read_bytes().decode("utf-8-sig"), object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise FileFormatError(f"{error.msg}.", str(path), error.lineno, error.colno) from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise FileFormatError("this is not a JSON file of weights.", str(path)) from error
    if not isinstance(found, dict):
        raise FileFormatError("expected an object {variable: weights}.", str(path))
    return found
