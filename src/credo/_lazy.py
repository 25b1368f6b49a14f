"""Doors that open when someone walks through: names loaded from their module on first use."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

_Doors = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def doors(package: str, modules: Mapping[str, Sequence[str]], rooms: Sequence[str] = ()) -> _Doors:
    """Make a package's ``__getattr__``, ``__dir__`` and ``__all__`` from ``{module: names}``.

    ``rooms`` are sub-packages that are reached by their own name.
    """
    home = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> Any:
        if name in home:
            return getattr(import_module(home[name]), name)
        if name in rooms:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def listing() -> list[str]:
        return sorted([*home, *rooms])

    return load, listing, listing()


def doors_of_stub(package: str, file: str) -> _Doors:
    """Make the doors of the names that the stub beside a package's ``__init__.py`` imports.

    Names that the stub imports from the package itself are its rooms, if it has any.
    """
    with open(f"{file}i", encoding="utf-8") as stub:  # noqa: PTH123 - pathlib loads slowly
        lines = ast.parse(stub.read()).body
    modules = {
        line.module: [alias.name for alias in line.names if not alias.name.startswith("_")]
        for line in lines
        if isinstance(line, ast.ImportFrom) and line.module
    }
    return doors(package, modules, rooms=modules.pop(package, ()))
