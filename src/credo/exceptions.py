"""Every error Credo raises and every warning it gives, on one screen.

::

    CredoError
    ├── InputError (ValueError)             something that was passed in is wrong
    │   ├── LabelError (KeyError)           a name that is not among the known ones
    │   ├── ShapeError                      arrays that do not fit together
    │   └── FileFormatError                 a damaged file; carries path and line
    ├── NumericalError (ArithmeticError)    an integral or a search did not succeed
    └── MissingExtraError (ImportError)     an optional dependency is not installed

    CredoWarning (UserWarning)
    ├── SeparationWarning                   no largest likelihood: the classes are separable
    └── SingularWarning                     data determine too little; how it was repaired
"""

from __future__ import annotations


class CredoError(Exception):
    """Base of all errors raised by Credo; its text is for the user."""


class InputError(CredoError, ValueError):
    """Something that was passed in is wrong; the text says what and how to mend it."""


class LabelError(InputError, KeyError):
    """A label, truth or act that is not among the known ones."""

    def __str__(self) -> str:
        """Give the sentence itself, where KeyError would quote it."""
        return str(self.args[0]) if self.args else ""


class ShapeError(InputError):
    """Arrays whose shapes do not fit together."""


class FileFormatError(InputError):
    """A file that cannot be read; names the file and the line.

    Parameters
    ----------
    reason
        What is wrong, as a sentence.
    path
        The file.
    line
        Line number, counted from one, or None if the whole file is meant.
    """

    def __init__(self, reason: str, path: str, line: int | None = None) -> None:
        where = path if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {reason}")
        self.reason = reason
        self.path = path
        self.line = line

    def __reduce__(self) -> tuple[type[FileFormatError], tuple[str, str, int | None]]:
        """Survive the way back from another process."""
        return FileFormatError, (self.reason, self.path, self.line)


class NumericalError(CredoError, ArithmeticError):
    """An integral or a search did not succeed; the text says why and what to try."""


class MissingExtraError(CredoError, ImportError):
    """An optional dependency is not installed; the text names the extra."""


class CredoWarning(UserWarning):
    """Base of all warnings given by Credo."""


class SeparationWarning(CredoWarning):
    """The likelihood has no maximum: a direction separates classes; the text names it."""


class SingularWarning(CredoWarning):
    """Variances or coefficients that the data do not determine; the text says how it was mended."""
