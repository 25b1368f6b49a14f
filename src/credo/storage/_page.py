"""What is written to and read from: a tree of small values and named arrays beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from credo.exceptions import InputError
from credo.storage._container import STORED, Arrays
from credo.storage._faults import Fault


@final
class Page:
    """Takes the arrays of a model; one that several places share is written once."""

    def __init__(self, owner: str, *, summary: bool = True) -> None:
        self.owner, self.summary = owner, summary
        self.arrays: dict[str, Any] = {}
        self._names: dict[tuple[Any, ...], str] = {}
        self._kept: list[Any] = []

    def array(self, path: str, values: Any) -> str | dict[str, str]:
        """Take an array; give the reference to it, which tells if it lies column by column."""
        by_columns = values.ndim > 1 and values.mT.flags.c_contiguous
        if by_columns and not values.flags.c_contiguous:
            return {"by_columns": self._named(path, values.mT)}
        return self._named(path, values)

    def _named(self, path: str, values: Any) -> str:
        """Return the name under which an array is written."""
        dtype = values.dtype.newbyteorder("<")
        if dtype not in STORED:
            raise InputError(
                f"{self.owner} holds numbers of type {values.dtype} ({path}), which model files do "
                "not have. Convert them to float64 or int64, and fit again."
            )
        place = values.__array_interface__["data"][0], values.shape, values.strides, dtype
        if values.size and place in self._names:
            return self._names[place]
        self._kept.append(values)  # its place in memory stays its own
        self._names[place] = path
        self.arrays[path] = np.ascontiguousarray(values, dtype).reshape(values.shape)
        return path

    def refuse(self, path: str, value: Any, remedy: str) -> InputError:
        """Make the error that says that something cannot be written."""
        return InputError(
            f"{self.owner} cannot be saved: {path} is of type {type(value).__name__}. {remedy}"
        )


@final
@dataclass(slots=True)
class Scope:
    """The arrays of a file, the sizes bound so far and the fields read so far of one object."""

    arrays: Arrays
    names: frozenset[str]
    sizes: dict[str, int] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    #: Items that may still be made of arrays: no more than the file has bytes.
    room: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.room:
            self.room.append(self.arrays.size)

    def spend(self, count: int, path: str) -> None:
        """Refuse to make Python's own values of the same array over and over."""
        self.room[0] -= count
        if self.room[0] < 0:
            raise Fault(f"{path} repeats an array that others are made of")

    def inner(self, *, own_sizes: bool = False) -> Scope:
        """Return the scope of an object within; it sees all sizes, and may keep its own."""
        sizes = dict(self.sizes) if own_sizes else self.sizes
        return Scope(self.arrays, self.names, sizes, {}, self.used, self.room)

    def only(self, *symbols: str) -> Scope:
        """Return the scope of an object within that sees some of the sizes only."""
        sizes = {symbol: self.sizes[symbol] for symbol in symbols}
        return Scope(self.arrays, self.names, sizes, {}, self.used, self.room)

    def array(self, reference: Any, path: str) -> Any:
        """Find the array of a reference."""
        by_columns = isinstance(reference, dict) and set(reference) == {"by_columns"}
        name = reference["by_columns"] if by_columns else reference
        if not isinstance(name, str) or name not in self.names:
            raise Fault(f"{path} refers to an array that is not there")
        self.used.add(name)
        array = self.arrays[name]
        if by_columns:
            if array.ndim < 2:
                raise Fault(f"{path} is no matrix")
            array = array.mT
        return array

    def bind(self, dims: str, shape: tuple[int, ...], path: str) -> None:
        """Check a shape against symbols such as ``"K D"``; a new symbol takes the size found."""
        symbols = dims.split()
        if len(symbols) != len(shape):
            raise Fault(f"{path} has {len(shape)} axes, not the {len(symbols)} of ({dims})")
        for symbol, size in zip(symbols, shape, strict=True):
            known = int(symbol) if symbol.isdigit() else self.sizes.setdefault(symbol, size)
            if known != size:
                raise Fault(f"{path} has shape {shape}, where {symbol} of ({dims}) is {known}")
