"""``credo noise``: a picture sent through a noisy channel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from credo.images.files import ImageInfo

#: Standard deviation of Gaussian noise, in grey levels, and mean length of bursts, in pixels.
_SIGMA, _LENGTH, _FLIP = 20.0, 8.0, 0.1
#: Kinds of noise, and the options that each of them takes.
_TAKES: dict[str, tuple[str, ...]] = {
    "independent": ("flip",),
    "burst": ("flip", "length"),
    "varying": ("flip",),
    "salt-and-pepper": ("flip",),
    "gaussian": ("sigma",),
}


def noise(
    picture: Annotated[Path, typer.Argument(help="The image file.", metavar="IN")],
    out: Annotated[Path, typer.Argument(help="The file to write.", metavar="OUT")],
    flip: Annotated[
        float | None,
        typer.Option(help="Mean share of pixels that are hit; 0.1 by default.", show_default=False),
    ] = None,
    kind: Annotated[
        str, typer.Option(help="independent, burst, varying, salt-and-pepper or gaussian.")
    ] = "independent",
    sigma: Annotated[
        float | None,
        typer.Option(
            help="Of gaussian: standard deviation in grey levels; 20 by default.",
            show_default=False,
        ),
    ] = None,
    length: Annotated[
        float | None,
        typer.Option(
            help="Of burst: mean length in pixels; 8 by default.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of what is drawn.")] = 0,
) -> None:
    """Add noise to a picture: flips of single pixels, bursts, salt and pepper, or Gaussian."""
    from credo._validation.labels import one_of
    from credo.cli.destinations import refuse_overwriting
    from credo.cli.image_jobs import hush_decoders
    from credo.cli.networks import spoken_warnings
    from credo.images.files import image_format, open_image, save_image

    hush_decoders()
    one_of(kind, tuple(_TAKES), "credo noise", "--kind")
    _refuse(kind, flip=flip, sigma=sigma, length=length)
    image_format(out)
    refuse_overwriting(out, {"the image to read": picture})
    with spoken_warnings():
        array, info = open_image(picture)
        if kind == "gaussian":
            array, info = _with_levels(array, info)
        noisy = _sent(array, kind, flip, sigma, length, seed)
        save_image(out, noisy, info)
    changed = noisy != array
    share = (changed.any(axis=2) if changed.ndim == 3 else changed).mean()
    height, width = array.shape[:2]
    typer.echo(f"{out}: {width} × {height} pixels, {share:.2%} of them changed.", err=True)


def _refuse(kind: str, **given: float | None) -> None:
    """Refuse options that this kind of noise does not have."""
    from credo.exceptions import InputError

    for name, value in given.items():
        if value is not None and name not in _TAKES[kind]:
            takers = ", ".join(each for each in _TAKES if name in _TAKES[each])
            raise InputError(f"--{name} is for --kind {takers}. Leave it out, or change the kind.")


def _sent(
    array: Any,
    kind: str,
    flip: float | None,
    sigma: float | None,
    length: float | None,
    seed: int,
) -> Any:
    """Send an array through the channel."""
    from credo.images import add_noise

    return add_noise(
        array,
        _FLIP if flip is None else flip,
        kind=kind.replace("-", "_"),  # type: ignore[arg-type]  # checked
        sigma=(_SIGMA if sigma is None else sigma) if kind == "gaussian" else None,
        length=_LENGTH if length is None else length,
        seed=seed,
    )


def _with_levels(array: Any, info: ImageInfo) -> tuple[Any, ImageInfo]:
    """Give a picture of two values the levels between them."""
    import numpy as np

    from credo.images.files import ImageInfo

    if array.dtype != np.bool_:
        return array, info
    colours = ((0,), (255,)) if info.colours is None else info.colours
    levels = np.array(colours, np.uint8)[array.astype(np.intp)]
    grey = levels.shape[2] == 1
    mode = "L" if grey and info.mode == "1" else "RGB"
    return levels[..., 0] if grey else levels, ImageInfo(info.format, mode, alpha=info.alpha)
