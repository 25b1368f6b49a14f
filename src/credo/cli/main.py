"""The ``credo`` command: its sub-commands, its exit codes and its errors.

Exit codes: 0 done, 1 internal error, 2 bad input, 3 did not converge.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal

import typer
import typer.completion
from typer.core import TyperCommand

from credo._version import __version__
from credo.cli._console import note, say
from credo.cli._kinds import settle_files
from credo.cli._options import OUTPUT
from credo.cli.bounds import bounds
from credo.cli.convert import convert
from credo.cli.decide import decide
from credo.cli.denoise import denoise
from credo.cli.evaluate import evaluate
from credo.cli.explain import explain
from credo.cli.fit import fit
from credo.cli.infer import infer
from credo.cli.mpe import mpe
from credo.cli.noise import noise
from credo.cli.plan import plan
from credo.cli.predict import predict
from credo.cli.show import show
from credo.cli.uai import uai
from credo.cli.update import merge, update
from credo.cli.warm_up import warm_up
from credo.exceptions import CompilingWarning, CredoError, CredoWarning, NumericalError

INTERNAL, BAD_INPUT, NOT_CONVERGED = 1, 2, 3
#: By this, a shell that completes a line asks for words.
_COMPLETE = "_CREDO_COMPLETE"

#: Commands by what they are about, as ``credo --help`` groups them.
_COMMANDS = {
    "Tables": (fit, predict, evaluate, update, merge, show),
    "Networks": (infer, plan, mpe, bounds, explain, convert, uai),
    "Decisions": (decide,),
    "Images": (denoise, noise),
    "Housekeeping": (warm_up,),
}
#: A parameter and its value, as the library writes them: penalty='l2', features=[…], log=True.
_GIVEN = re.compile(
    r"\b(\w+)=(?:'([^']*)'|\[('[^']*')\]|\[[^\]]*\]|True\b|(\w[\w.+-]*\b)|(?=[\s,.;)]))"
)
#: A parameter by its name alone, where only a parameter can be meant.
_NAMED = re.compile(
    r"\bThe (\w+)(?= of [\w -]+? (?:must|is|needs|name)\b)|(?<=: )(\w+)(?= (?:must|needs)\b)"
    r"|(?<=eave )(\w+)(?= out\b)|(?<=use )(\w+)(?=[.,;])|(?<!')\b(None)\b(?!')"
)
#: Functions of the library, and the commands that call them.
_FUNCTIONS = re.compile(
    r"\b(?:credo\.)?(?:(fit|predict|evaluate|update)_table|(merge)_models)\b|\bcredo\.(mpe)\b"
)
#: Functions that raise, named before the reason: whoever typed a command knows it.
_RAISERS = re.compile(
    r"(?:^|(?<=: ))(?:[a-z]+_(?:table|models|best|map|many|noise)|ManyEngine\.run"
    r"|bounds|decide|denoise|explain|infer|mpe|plan): "
)


class _Command(TyperCommand):
    """A command whose warnings and errors are sentences, and speak of options as typed."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        if self.help:  # lines end where the terminal does
            self.help = re.sub(r"(?<!\n)\n(?!\n)", " ", self.help)
        for each in self.params:
            if getattr(each, "is_flag", False):
                each.metavar = ""  # it takes no value
            elif getattr(each, "multiple", False):
                each.metavar = "<str>"

    def get_help_option(self, ctx: Any) -> Any:
        option: Any = super().get_help_option(ctx)
        option.rich_help_panel, option.metavar = OUTPUT, ""
        return option

    def invoke(self, ctx: Any) -> Any:
        try:
            with self._spoken_warnings():
                settle_files(f"credo {self.name}", self.params, ctx.params)
                return super().invoke(ctx)
        except typer.Exit:
            raise
        except Exception as error:
            if os.environ.get("CREDO_TRACEBACK"):
                raise
            code, message = self._verdict(error)
            note(f"credo: {message}")
            raise typer.Exit(code) from None

    def _verdict(self, error: Exception) -> tuple[int, str]:
        """Tell whose fault an error is, and word it for the user."""
        if isinstance(error, CredoError):
            code = NOT_CONVERGED if isinstance(error, NumericalError) else BAD_INPUT
            return code, self._as_typed(str(error))
        if isinstance(error, OSError):
            reason = error.strerror or str(error)
            return BAD_INPUT, f"{error.filename}: {reason}" if error.filename else reason
        where = "Set CREDO_TRACEBACK=1 to see where, and report it."
        return INTERNAL, f"internal error: {type(error).__name__}: {error}. {where}"

    @contextmanager
    def _spoken_warnings(self) -> Iterator[None]:
        """Turn warnings into sentences on stderr: of a wait at once, of the others at the end."""
        said: dict[str, None] = {}

        def show(message: object, category: type[Warning], *_: object) -> None:
            text = self._as_typed(str(message))
            if issubclass(category, CompilingWarning):
                note(f"credo: {text}")
            else:
                said[text] = None

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", CredoWarning)
            warnings.showwarning = show  # type: ignore[assignment]  # file and line are not said
            try:
                yield
            finally:
                for text in said:
                    note(f"credo: warning: {text}")

    def _as_typed(self, text: str) -> str:
        """Speak of options in the place of parameters, and of commands in that of functions."""
        if text.startswith("--"):  # it does already, and may quote what was typed
            return text
        options = {each.name: each.opts[0] for each in self.params if each.opts[0][0] == "-"}

        def given(found: re.Match[str]) -> str:
            option, value = options.get(found[1]), found[2] or found[3] or (found[4] or "").lower()
            return found[0] if option is None else f"{option} {value}".rstrip()

        def named(found: re.Match[str]) -> str:
            return (
                "none" if found[0] == "None" else options.get(found[found.lastindex or 0], found[0])
            )

        text = _RAISERS.sub("", _NAMED.sub(named, _GIVEN.sub(given, text)))
        return _FUNCTIONS.sub(lambda found: f"credo {found[found.lastindex or 0]}", text)


app = typer.Typer(
    name="credo",
    help="Credo: from evidence to decisions.",
    epilog="Exit codes: 0 done, 1 internal error, 2 bad input, 3 did not converge.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    pretty_exceptions_enable=False,
)
for panel, commands in _COMMANDS.items():
    for command in commands:
        app.command(cls=_Command, rich_help_panel=panel)(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"credo {__version__}")
        raise typer.Exit


def _completion(shell: str | None) -> None:
    """Print what makes a shell complete commands, options and their values; it asks us for them."""
    if shell:
        script: Any = vars(typer.completion)["get_completion_script"]
        say(script(prog_name="credo", complete_var=_COMPLETE, shell=shell))
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, metavar="", help="Say which Credo."
        ),
    ] = False,
    completion: Annotated[
        Literal["bash", "zsh", "fish"] | None,
        typer.Option(callback=_completion, is_eager=True, help="Print the completion of a shell."),
    ] = None,
) -> None:
    """Credo: from evidence to decisions."""


def run() -> None:
    """Run the command line and leave with its exit code; being told to stop cleans up too."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _stop)
    if _COMPLETE in os.environ:
        vars(typer.completion)["completion_init"]()
    app()


def _stop(number: int, _: object) -> None:
    sys.exit(128 + number)
