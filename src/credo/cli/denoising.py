"""``credo denoise``: pictures restored from their noise."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credo.cli.options import AsJson

if TYPE_CHECKING:
    from credo.cli.image_jobs import Settings
    from credo.cli.image_places import Places

_METHODS = ("sum-product", "max-product", "graph-cut")


def denoise(
    noisy: Annotated[
        Path,
        typer.Argument(
            help="The noisy image: PNG, PGM, PPM, PBM, BMP, TIFF, JPEG, GIF or WebP; or a folder.",
            metavar="NOISY",
        ),
    ],
    clean: Annotated[
        Path,
        typer.Argument(
            help="The file to write, whose ending tells the format; or a folder.", metavar="CLEAN"
        ),
    ],
    flip: Annotated[
        str,
        typer.Option(help="Probability that a pixel was flipped, or estimate.", metavar="NUMBER"),
    ] = "estimate",
    coupling: Annotated[
        str,
        typer.Option(help="How alike neighbours are (J), or estimate.", metavar="NUMBER"),
    ] = "estimate",
    sweeps: Annotated[int, typer.Option(help="Sweeps of messages.")] = 20,
    tolerance: Annotated[
        float | None,
        typer.Option(help="Stop when no message changes by more.", show_default=False),
    ] = None,
    momentum: Annotated[
        float, typer.Option(help="Share of the new message, above 0 and at most 1.")
    ] = 0.5,
    method: Annotated[
        str,
        typer.Option(
            help="sum-product for the most probable pixels; max-product; or graph-cut for the "
            "best picture as a whole, which is exact for two values."
        ),
    ] = "sum-product",
    reject: Annotated[
        float | None,
        typer.Option(
            help="Cost of leaving a pixel open, where a wrong one costs 1.", show_default=False
        ),
    ] = None,
    rejected: Annotated[
        Path | None,
        typer.Option(
            help="With --reject: write the pixels left open, in white.", show_default=False
        ),
    ] = None,
    posterior: Annotated[
        Path | None,
        typer.Option(
            help="Write the probability of the lighter value as grey levels.", show_default=False
        ),
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option(help="The true image: say how far the others are.", show_default=False),
    ] = None,
    strip: Annotated[
        Path | None,
        typer.Option(
            help="Write a strip: noisy, after sweeps 1, 2, 5, 10 and 20, and the uncertainty.",
            show_default=False,
        ),
    ] = None,
    threads: Annotated[
        int, typer.Option(help="Threads; the answer is the same for any number.")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Restore a noisy image, or all images of a folder.

    Black-and-white images from flipped pixels, grey and coloured ones from Gaussian noise.
    """
    _check(sweeps, tolerance, momentum, method, reject, threads)
    _check_extras(method, reject, rejected, posterior)
    numbers = _number(flip, "--flip", 0, 1), _number(coupling, "--coupling", -math.inf, math.inf)

    from credo.cli.image_jobs import Settings, hush_decoders
    from credo.cli.image_places import Places

    hush_decoders()

    settings = Settings(*numbers, sweeps, tolerance, momentum, method, reject, threads)
    places = Places(noisy, clean, rejected, posterior, strip, compare)
    if noisy.is_dir():
        _restore_all(places, settings, as_json=as_json)
    else:
        _restore_one(places, settings, as_json=as_json)


def _restore_one(places: Places, settings: Settings, *, as_json: bool) -> None:
    """Restore a picture and tell about it."""
    from credo.cli.destinations import say, say_json
    from credo.cli.image_jobs import restore
    from credo.cli.image_reports import report
    from credo.cli.networks import spoken_warnings
    from credo.cli.progress import sweep_progress

    with spoken_warnings(), sweep_progress() as heard:
        record = restore(places, settings, heard)
    if as_json:
        say_json(record)
    else:
        say(report(record))


def _restore_all(places: Places, settings: Settings, *, as_json: bool) -> None:
    """Restore the pictures of a folder; say which files are none, and leave with 2 if any is."""
    from credo.cli.destinations import say, say_json
    from credo.cli.image_folders import restore_folder
    from credo.cli.image_reports import table
    from credo.cli.networks import spoken_warnings

    with spoken_warnings():
        records = list(restore_folder(places, settings))
    failed = [record for record in records if "failure" in record]
    restored = [record for record in records if "failure" not in record]
    if as_json:
        say_json(records)  # type: ignore[arg-type]  # a list is written as one
    elif restored:
        say(table(restored))
    for record in failed:
        typer.echo(f"credo: skipped: {record['failure']}", err=True)
    if failed:
        raise typer.Exit(2)


def _check(
    sweeps: int,
    tolerance: float | None,
    momentum: float,
    method: str,
    reject: float | None,
    threads: int,
) -> None:
    """Check what is the same for all pictures, before one is read."""
    from credo._validation.labels import one_of
    from credo.exceptions import InputError

    one_of(method, _METHODS, "credo denoise", "--method")
    if sweeps < 1:
        raise InputError(f"--sweeps must be at least 1. Got {sweeps}.")
    if tolerance is not None and not 0 <= tolerance < math.inf:
        raise InputError(f"--tolerance must be at least 0. Got {tolerance:g}.")
    if threads < 1:
        raise InputError(f"--threads must be at least 1. Got {threads}.")
    if not 0 < momentum <= 1:
        raise InputError(f"--momentum must be above 0 and at most 1. Got {momentum:g}.")
    if reject is not None and not 0 <= reject < math.inf:
        raise InputError(f"--reject must be a cost of at least 0. Got {reject:g}.")


def _check_extras(method: str, reject: Any, rejected: Any, posterior: Any) -> None:
    """Refuse what does not go together."""
    from credo.exceptions import InputError

    if rejected is not None and reject is None:
        raise InputError("--rejected shows what --reject leaves open. Pass --reject with a cost.")
    if method == "max-product" and reject is not None:
        raise InputError(
            "--reject needs probabilities of single pixels, and max-product looks for the best "
            "image as a whole. Take --method sum-product."
        )
    for name, value in (("reject", reject), ("posterior", posterior)):
        if method == "graph-cut" and value is not None:
            raise InputError(
                f"--{name} needs probabilities, which a graph cut has not. Take --method "
                "sum-product."
            )


def _number(text: str, option: str, least: float, most: float) -> float | str:
    """Read a number, or the word estimate."""
    from credo.exceptions import InputError

    if text == "estimate":
        return text
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if least <= value <= most and math.isfinite(value):
        return value
    what = "a number" if math.isinf(least) else f"a number between {least:g} and {most:g}"
    raise InputError(f"{option} is {what}, or the word estimate. Got {text!r}.")
