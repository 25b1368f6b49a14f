"""Every error Credo raises and every warning it gives, on one screen.

::

    CredoError
    ├── InputError (ValueError)             something that was passed in is wrong
    │   ├── LabelError (KeyError)           a name that is not among the known ones
    │   ├── ShapeError                      arrays that do not fit together
    │   ├── FileFormatError                 a damaged file; carries path, line and column
    │   ├── ImpossibleEvidence              findings that cannot all be true; names a conflict
    │   └── BudgetError (MemoryError)       an exact answer needs more memory than was allowed
    ├── NumericalError (ArithmeticError)    an integral or a search did not succeed
    └── MissingExtraError (ImportError)     an optional dependency is not installed

    CredoWarning (UserWarning)
    ├── ApproximationWarning                the exact answer was out of reach; says what was given
    ├── CompilingWarning                    a large problem waits for the compiler, once per machine
    ├── ConvergenceWarning                  message passing did not settle; says how it ended
    ├── ExpansionWarning                    a structured factor was written out as a table
    ├── SeparationWarning                   no largest likelihood: the classes are separable
    ├── SingularWarning                     data determine too little; how it was repaired
    └── TableWarning                        rows that may not say what was meant
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = [
    "ApproximationWarning",
    "BudgetError",
    "CompilingWarning",
    "ConvergenceWarning",
    "CredoError",
    "CredoWarning",
    "ExpansionWarning",
    "FileFormatError",
    "ImpossibleEvidence",
    "InputError",
    "LabelError",
    "MissingExtraError",
    "NumericalError",
    "SeparationWarning",
    "ShapeError",
    "SingularWarning",
    "TableWarning",
]


class CredoError(Exception):
    """Base of all errors raised by Credo; its text is for the user."""


class InputError(CredoError, ValueError):
    """Something that was passed in is wrong; the text says what is wrong and how to fix it."""


class LabelError(InputError, KeyError):
    """A label, true class or act that is not among the known ones."""

    def __str__(self) -> str:
        """Return the sentence itself, where KeyError would quote it."""
        return str(self.args[0]) if self.args else ""


class ShapeError(InputError):
    """Arrays whose shapes do not fit together."""


class FileFormatError(InputError):
    """A file that cannot be read; names the file, the line and the column.

    Parameters
    ----------
    reason
        What is wrong, as a sentence.
    path
        The file.
    line
        Line number, counted from one, or None if the whole file is meant.
    column
        Column in that line, counted from one, or None if the whole line is meant.
    """

    def __init__(
        self, reason: str, path: str, line: int | None = None, column: int | None = None
    ) -> None:
        place = [path]
        place += [] if line is None else [f"line {line}"]
        place += [] if column is None else [f"column {column}"]
        super().__init__(f"{', '.join(place)}: {reason}")
        self.reason = reason
        self.path = path
        self.line = line
        self.column = column

    def __reduce__(self) -> tuple[type[FileFormatError], tuple[str, str, int | None, int | None]]:
        """Return what pickle rebuilds the error from."""
        return FileFormatError, (self.reason, self.path, self.line, self.column)


class ImpossibleEvidence(InputError):  # noqa: N818 - it is the evidence that is at fault
    """Findings that the model says cannot all be true.

    Parameters
    ----------
    reason
        What is wrong, as a sentence.
    conflict
        A smallest set of findings that cannot be true together: without any one of them the
        others can. ``{variable: state, states or weights}``.
    """

    def __init__(self, reason: str, conflict: Mapping[Any, Any]) -> None:
        super().__init__(reason)
        self.reason = reason
        self.conflict = dict(conflict)

    def __reduce__(self) -> tuple[type[ImpossibleEvidence], tuple[str, dict[Any, Any]]]:
        """Return what pickle rebuilds the error from."""
        return ImpossibleEvidence, (self.reason, self.conflict)


class BudgetError(InputError, MemoryError):
    """An exact answer needs more memory than was allowed; the text names the largest table."""


class NumericalError(CredoError, ArithmeticError):
    """An integral or a search did not succeed; the text says why and what to try."""


class MissingExtraError(CredoError, ImportError):
    """An optional dependency is not installed; the text names the extra."""


class CredoWarning(UserWarning):
    """Base of all warnings given by Credo."""


class ApproximationWarning(CredoWarning):
    """The exact answer was out of reach; the text says what was given in its place, and why."""


class CompilingWarning(CredoWarning):
    """A large problem waits for the compiler, once per machine; ``credo warm-up`` does it ahead."""


class ConvergenceWarning(CredoWarning):
    """An iteration ended before it settled; the text says how, and what to try."""


class ExpansionWarning(CredoWarning):
    """A structured factor had to be written out as a table; the text says how large it is."""


class SeparationWarning(CredoWarning):
    """The likelihood has no maximum: a direction separates classes; the text names it."""


class SingularWarning(CredoWarning):
    """Variances or coefficients that the data do not determine; the text names the repair."""


class TableWarning(CredoWarning):
    """Rows that may not say what was meant; the text says what they were taken for."""
