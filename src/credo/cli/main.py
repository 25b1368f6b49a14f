"""The ``credo`` command: its sub-commands, its exit codes and its errors.

Exit codes: 0 done, 1 internal error, 2 bad input, 3 did not converge.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated

import typer

from credo._version import __version__
from credo.cli.adding_noise import noise
from credo.cli.best_states import mpe
from credo.cli.certified import bounds
from credo.cli.conversion import convert
from credo.cli.costs import plan
from credo.cli.decide import decide
from credo.cli.denoising import denoise
from credo.cli.graphs import infer
from credo.cli.table_evaluate import evaluate
from credo.cli.table_fit import fit
from credo.cli.table_predict import predict
from credo.cli.table_show import show
from credo.cli.table_update import merge, update
from credo.cli.uai_task import uai
from credo.cli.warm_up import warm_up
from credo.cli.weighing import explain
from credo.exceptions import CredoError, NumericalError

DONE, INTERNAL, BAD_INPUT, NOT_CONVERGED = 0, 1, 2, 3

app = typer.Typer(
    name="credo",
    help="Credo: from evidence to decisions.",
    epilog="Exit codes: 0 done, 1 internal error, 2 bad input, 3 did not converge.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (
    *(fit, predict, evaluate, update, merge, show),
    *(decide, infer, plan, mpe, bounds, explain, convert, uai, denoise, noise, warm_up),
):
    app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"credo {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which Credo.")
    ] = False,
) -> None:
    """Credo: from evidence to decisions."""


def run() -> None:
    """Run the command line and leave with its exit code; being told to stop cleans up too."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _stop)
    sys.exit(exit_code())


def _stop(number: int, _: object) -> None:
    sys.exit(128 + number)


def exit_code() -> int:
    """Run the command line; turn errors into a sentence on stderr and a code."""
    try:
        app()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else INTERNAL
    except Exception as error:
        if os.environ.get("CREDO_TRACEBACK"):
            raise
        code, message = _verdict(error)
        typer.echo(f"credo: {message}", err=True)
        return code
    return DONE


def _verdict(error: Exception) -> tuple[int, str]:
    """Tell whose fault an error is, and word it for the user."""
    if isinstance(error, NumericalError):
        return NOT_CONVERGED, str(error)
    if isinstance(error, CredoError):
        return BAD_INPUT, str(error)
    if isinstance(error, OSError):
        return BAD_INPUT, f"{error.filename}: {error.strerror}" if error.filename else str(error)
    where = "Set CREDO_TRACEBACK=1 to see where, and report it."
    return INTERNAL, f"internal error: {type(error).__name__}: {error}. {where}"
