"""``credo noise``: a picture sent through a noisy channel."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Any, Literal

from credo.cli._console import check_out, note
from credo.cli._options import MODEL, arg, opt
from credo.exceptions import InputError

#: Kinds of noise that take an option.
_TAKERS = {
    "--flip": ("independent", "burst", "varying", "salt-and-pepper"),
    "--sigma": ("gaussian",),
    "--length": ("burst",),
}


def noise(
    picture: Annotated[Path, arg("The image file.", "IN")],
    out: Annotated[Path, arg("The file to write.", "OUT")],
    flip_probability: Annotated[
        float | None, opt("Mean share of pixels that are hit; 0.1 by default.", MODEL, "--flip")
    ] = None,
    kind: Annotated[
        Literal["independent", "burst", "varying", "salt-and-pepper", "gaussian"],
        opt("How pixels are hit.", MODEL),
    ] = "independent",
    sigma: Annotated[
        float | None, opt("Of gaussian: standard deviation in grey levels; 20 by default.", MODEL)
    ] = None,
    length: Annotated[
        float | None, opt("Of burst: mean length in pixels; 8 by default.", MODEL)
    ] = None,
    seed: Annotated[int, opt("Seed of what is drawn.", MODEL, min=0)] = 0,
) -> None:
    """Add noise to a picture: flips of single pixels, bursts, salt and pepper, or Gaussian."""
    given = {"--flip": flip_probability, "--sigma": sigma, "--length": length}
    for option, takers in _TAKERS.items():
        if given[option] is not None and kind not in takers:
            raise InputError(
                f"{option} is for --kind {', '.join(takers)}. Leave it out, or change the kind."
            )
    check_out(out, {"the image to read": picture})

    from credo.images import add_noise
    from credo.images.files import image_format, open_image, save_image

    logging.getLogger("PIL").addHandler(logging.NullHandler())  # our own message says it
    image_format(out)
    array, info = open_image(picture)
    if kind == "gaussian":
        array, info = _with_levels(array, info)
        sigma = 20.0 if sigma is None else sigma
    noisy = add_noise(
        array,
        0.1 if flip_probability is None else flip_probability,
        kind=kind.replace("-", "_"),  # type: ignore[arg-type]  # one of the five
        sigma=sigma,
        length=8.0 if length is None else length,
        seed=seed,
    )
    save_image(out, noisy, info)
    changed = noisy != array
    share = (changed.any(axis=2) if changed.ndim == 3 else changed).mean()
    height, width = array.shape[:2]
    note(f"{out}: {width} × {height} pixels, {share:.2%} of them changed.")


def _with_levels(array: Any, info: Any) -> tuple[Any, Any]:
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
