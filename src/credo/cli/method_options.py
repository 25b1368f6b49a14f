"""Options of methods on the command line: those of the registry, under their own names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_type_hints

import typer

from credo.inference.engines import OPTIONS, Engine

_PANEL = "Options of methods"


def method_options(
    *registries: Mapping[str, Engine], without: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each that an engine of the registries has.

    The command is called with those that were given, as ``options``.
    """
    engines = [engine for registry in registries for engine in registry.values()]
    names = [name for name in OPTIONS if name not in without and _owners(name, engines)]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(**given: Any) -> None:
            texts = {name: given.pop(name) for name in names}
            options = {name: read(text) for name, text in texts.items() if text is not None}
            command(**given, options=options)

        hints = get_type_hints(command, include_extras=True)
        own = inspect.signature(command)
        parameters = [
            p.replace(annotation=hints[p.name], kind=p.KEYWORD_ONLY)
            for p in own.parameters.values()
            if p.name != "options"
        ]
        parameters += [_parameter(name, engines) for name in names]
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


def _owners(name: str, engines: list[Engine]) -> list[str]:
    """Return the engines that have an option, each once."""
    return list(dict.fromkeys(engine.name for engine in engines if name in engine.options))


def _parameter(name: str, engines: list[Engine]) -> inspect.Parameter:
    """Return the parameter of an option, as Typer reads it."""
    words = f"Of {', '.join(_owners(name, engines))}: {OPTIONS[name]}."
    option = typer.Option(help=words, show_default=False, metavar="VALUE", rich_help_panel=_PANEL)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[str | None, option],
    )


def read(text: str) -> Any:
    """Return a whole number, a number, None for the word none, or else the text."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return None if text.strip().lower() == "none" else text
