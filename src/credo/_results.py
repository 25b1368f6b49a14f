"""What results have in common: they do not change, are saved, drawn, and written as plain data."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from html import escape
from importlib import import_module
from itertools import islice
from typing import Any, NoReturn, Self

import numpy as np

from credo.exceptions import MissingExtraError


class Immutable:
    """Refuses new values for its attributes; ``_set`` and ``_of`` are for whoever makes it."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"A {type(self).__name__} does not change; {name!r} cannot be set.")

    def _set(self, **values: Any) -> Self:
        """Set attributes of an object that is being made, arrays read-only, and return it."""
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)
        return self

    @classmethod
    def _of(cls, **values: Any) -> Self:
        """Return an object of parts that are known to be right, unchecked."""
        return cls.__new__(cls)._set(**values)  # noqa: SLF001 - a new object of this very class

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        self._set(**state[1])  # an object without a __dict__ is copied and pickled by its slots


class Storable:
    """Adds the ``save`` method to a model; the format itself lives in ``credo.storage``."""

    __slots__ = ()

    def save(self, path: str | os.PathLike[str], *, summary: bool = True) -> None:
        """Save this model to a file that is safe to open, for ``credo.load``.

        Parameters
        ----------
        path : path
            The file. It is there whole, or as it was before.
        summary : bool
            Keep what ``partial_fit`` and ``merge`` continue from, if the model has such.
        """
        import_module("credo.storage").save(self, path, summary=summary)


class Drawable:
    """Adds the ``plot`` method to a result; the drawing itself lives in ``credo.plots``."""

    __slots__ = ()

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw this result with Matplotlib; needs the ``plots`` extra.

        Parameters
        ----------
        ax
            Matplotlib axes to draw on; a new figure by default.
        **options
            Options of the drawing function in ``credo.plots``.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on.
        """
        return import_module("credo.plots").draw(self, ax=ax, **options)


class Animated(Drawable):
    """Adds the ``animate`` method to what sweeps have found on a picture."""

    __slots__ = ()

    def animate(
        self,
        path: str | os.PathLike[str],
        truth: Any = None,
        *,
        sweeps: Iterable[int] | None = None,
        milliseconds: float = 250,
    ) -> None:
        """Write a moving picture of the sweeps, which are made once more.

        Each frame shows the picture after a sweep, with its energy U(x), its error if the truth is
        given and the time so far, and beside it how sure each pixel is, on one scale throughout;
        also the noisy image and the true one. Needs the ``plots`` extra.

        Parameters
        ----------
        path : path
            A file that ends in ``.gif``. It is there whole, or as it was before.
        truth : array-like, optional
            The true picture.
        sweeps : iterable of int, optional
            Numbers of sweeps, one frame for each; by default all from 0, the evidence alone.
        milliseconds : float
            How long a frame is shown; the last one eight times as long.

        Raises
        ------
        InputError
            If the name does not end in ``.gif``, the numbers go down, the picture has more than two
            dimensions, or no sweeps were made.
        """
        animate = import_module("credo.plots.animation").animate
        animate(self, path, truth, sweeps=sweeps, milliseconds=milliseconds)


class DrawableClassifier:
    """Adds the ``plot`` method to a classifier; the drawing itself lives in ``credo.plots``."""

    __slots__ = ()
    _check_ready: Callable[[], None]

    def plot(
        self,
        X: Any,
        y: Any = None,
        *,
        loss: Any = None,
        features: Any = None,
        ax: Any = None,
    ) -> Any:
        """Draw the acts over one feature or two, with boundaries and rows; needs Matplotlib.

        Parameters
        ----------
        X : array-like or data frame of shape (n, D)
            Rows, which say what is in view; up to 1,000 of them are drawn.
        y : array-like of shape (n,), optional
            Their labels, for colours and the mean loss.
        loss : Loss, optional
            Losses by true class and act, a reject act included; zero-one by default.
        features : one or two names or numbers of features, optional
            Which to draw over, if there are more: the others are taken as missing.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
            Over two features shaded acts and their boundaries, of Gaussian classes ellipses at one
            and two standard deviations; over one feature the posteriors.
        """
        self._check_ready()
        draw = import_module("credo.plots.planes").draw_classifier
        return draw(self, X, y, loss=loss, features=features, ax=ax)


class Plain:
    """Gives a dataclass its ``to_dict``: its fields, and the properties named by ``_also``."""

    __slots__ = ()
    _also: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return all parts as plain dictionaries, lists, numbers; None for what is not finite."""
        names = [field.name for field in fields(self) if not field.name.startswith("_")]  # type: ignore[arg-type]
        return {name: as_plain(getattr(self, name)) for name in (*names, *self._also)}


def as_plain(value: Any) -> Any:
    """Return arrays and tuples as lists and results as dictionaries; leave the rest."""
    if isinstance(value, Plain):
        return value.to_dict()
    if isinstance(value, dict):
        return {key: as_plain(each) for key, each in value.items()}
    if hasattr(value, "tolist"):  # an array
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):  # JSON has no word for it
        return None
    return [as_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def as_frame(**columns: Any) -> Any:
    """Return a pandas frame of columns."""
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise MissingExtraError("to_frame needs pandas: pip install pandas.") from error
    return pandas.DataFrame(columns)


#: Rows of a table that a notebook shows.
SHOWN = 20


class Share(float):
    """A probability that a notebook shows with a bar of that length."""

    __slots__ = ()


def html_table(
    caption: str, header: Sequence[Any], rows: Iterable[Sequence[Any]], n_rows: int = 0
) -> str:
    """Return a table for notebooks: the first cell of a row is its name, the rest is what it has.

    ``n_rows`` says how many rows there are, if not all are given.
    """
    width = len(header)
    if width > SHOWN + 2:
        width = SHOWN + 1
        header = [*header[:width], f"… {len(header) - width} more"]
    body = ["".join(map(_cell, islice(row, width))) for row in rows]
    more = f"<tr><td>… {n_rows - len(body)} more</td></tr>" if n_rows > len(body) else ""
    lines = "".join(f"<tr>{line}</tr>" for line in body)
    head = "".join(f"<th>{escape(str(name))}</th>" for name in header)
    above = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{above}<tr>{head}</tr>{lines}{more}</table>"


def table_text(
    signs: str, header: Sequence[Any], rows: Iterable[Iterable[Any]], n_rows: int = 0
) -> str:
    """Return a table as text, each column to the left or to the right by its sign, < or >."""
    lines = [[*map(str, line)] for line in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = (
        "  ".join(f"{cell:{s}{w}}" for cell, s, w in zip(line, signs, widths, strict=True)).rstrip()
        for line in lines
    )
    more = n_rows - len(lines) + 1
    return "\n".join([*texts, *([f"… {more} more"] if more > 0 else [])])


def _cell(value: Any) -> str:
    """Return a cell: numbers to the right, shares with a bar behind them, others as text."""
    if isinstance(value, Share):
        end = f"{100 * min(max(value, 0.0), 1.0):.4g}%"
        bar = f"linear-gradient(90deg,#56B4E966 {end},transparent {end})"
        return f'<td style="text-align:right;background:{bar}">{value:.4g}</td>'
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f'<td style="text-align:right">{number(value)}</td>'
    return f'<td style="text-align:left">{escape(str(value))}</td>'


def number(value: float) -> str:
    """Return a whole number with all its digits, any other with at most six significant ones."""
    whole = abs(value) < 1e15 and float(value).is_integer()
    return f"{value:.0f}" if whole else f"{value:.6g}"


def duration(seconds: float) -> str:
    """Write a duration for people."""
    for limit, unit, scale in ((1e-3, "µs", 1e6), (1.0, "ms", 1e3), (120.0, "s", 1.0)):
        if seconds < limit:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds / 3600:.2g} h" if seconds < 1e6 else f"{seconds / 31_557_600:.2g} years"
