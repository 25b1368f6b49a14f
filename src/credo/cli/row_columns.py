"""Columns of a file of rows: which are evidence, which are handed through, and their states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from credo._types import Label
    from credo.cli.networks import Network
    from credo.tables import CsvRows, RowBlock


class _States(dict[str, int]):
    """Indices of the states of a variable by their text; -1 for what means not observed."""

    def __missing__(self, cell: str) -> int:
        stripped = cell.strip()
        if stripped == cell:
            raise KeyError(cell)
        return self[stripped]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns that are read, as text: the kept ones first, then one per variable."""

    kept: list[str]
    texts: list[str]
    variables: list[Label]
    states: list[_States]
    labels: list[tuple[Label, ...]]

    @staticmethod
    def of(
        network: Network, rows: CsvRows, keep: list[str], ignore: list[str], missing: list[str]
    ) -> Columns:
        """Match the header with the network; what is neither variable nor named is an error."""
        from credo._validation.labels import position

        for name in (*keep, *ignore):
            position(name, rows.header, rows.name, "column")
        header = [str(name) for name in rows.header]
        used = [name for name in header if _is_evidence(network, name, keep, ignore, rows.name)]
        variables = [network.names[name] for name in used]
        return Columns(
            keep,
            [*keep, *used],
            variables,
            [_states(network, name, missing) for name in variables],
            [network.model[name].states for name in variables],
        )

    def codes(self, block: RowBlock, path: str) -> npt.NDArray[np.int32]:
        """Find the states of a block's cells, -1 where nothing was observed."""
        import numpy as np

        codes = np.empty((len(block.texts), len(self.variables)), np.int32)
        first = len(self.kept)
        for j, states in enumerate(self.states):
            try:
                codes[:, j] = [states[row[first + j]] for row in block.texts]
            except KeyError:
                raise self._culprit(block, j, path) from None
        return codes

    def kept_cells(self, row: list[str]) -> list[str]:
        """Give the cells that are handed through."""
        return row[: len(self.kept)]

    def evidence(self, codes: npt.NDArray[np.int32]) -> dict[Label, Any]:
        """Give one row as findings by name."""
        return {
            name: labels[code]
            for name, labels, code in zip(self.variables, self.labels, codes.tolist(), strict=True)
            if code >= 0
        }

    def _culprit(self, block: RowBlock, column: int, path: str) -> Exception:
        """Word the error for the first cell of a column that is no state."""
        from credo._validation.labels import position
        from credo.exceptions import FileFormatError, LabelError

        states = self.states[column]
        known = tuple(str(label) for label in self.labels[column])
        for row, line in zip(block.texts, block.lines, strict=True):
            cell = row[len(self.kept) + column].strip()
            if cell not in states:
                try:
                    position(cell, known, f"variable {self.variables[column]!r}", "state")
                except LabelError as error:
                    remedy = " Pass --missing TEXT for text that means not observed."
                    return FileFormatError(f"{error}{remedy}", path, line)
        raise AssertionError("unreachable: the caller met such a cell")


def output_names(
    network: Network, kept: list[str], query: list[Label], log_evidence: str
) -> list[str]:
    """Name the columns of the output, each once."""
    from credo.exceptions import InputError

    answers = [f"{name}={state}" for name in query for state in network.model[name].states]
    names = [*kept, *answers, log_evidence]
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(
                f"The output would have two columns {name!r}. Rename the one in the input, or "
                "leave it out of --keep."
            )
        seen.add(name)
    return names


def _is_evidence(
    network: Network, column: str, keep: list[str], ignore: list[str], path: str
) -> bool:
    """Tell whether a column holds findings; one that nobody knows is an error."""
    from credo.exceptions import LabelError

    if column in ignore:
        return False
    if column in network.names:
        return True
    if column in keep:
        return False
    try:
        network.name(column)
    except LabelError as error:
        raise LabelError(
            f"{path}: the column {column!r} is no variable. {error} Pass --keep {column!r} to hand "
            f"it through, or --ignore {column!r}."
        ) from None
    return True


def _states(network: Network, name: Label, missing: list[str]) -> _States:
    """Index the states of a variable by text, with what means not observed."""
    from credo.exceptions import InputError

    states = _States((text, i) for i, text in enumerate(network.states(name)))
    for text in ("", *(each.strip() for each in missing)):
        if text in dict.keys(states) and states[text] >= 0:
            raise InputError(
                f"--missing {text!r} is a state of variable {name!r}. Rename it in the file, or "
                "leave --missing out."
            )
        states[text] = -1
    return states
