"""``credo denoise``: pictures restored from their noise."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from credo.cli._console import Wait, check_out, note, say, say_json, table_text
from credo.cli._options import DECISIONS, METHOD, MODEL, OUTPUT, AsJson, arg, opt, value_in
from credo.exceptions import CredoError, InputError

if TYPE_CHECKING:
    from credo.images import Restoration

#: The files of one restoration, or the folders of many, by the arguments that name them.
Files: TypeAlias = dict[str, Path]

#: The arguments that name what is read.
_READ = ("NOISY", "--compare", "--mask")
#: Sweeps after which the strip shows the picture.
_SHOWN = (1, 2, 5, 10, 20)
#: Pixels of the strip: between pictures, above them, and the least and the most of a picture.
_GAP, _HEAD, _LEAST, _MOST = 4, 18, 96, 512

_NOISY = "The noisy image: PNG, PGM, PPM, PBM, BMP, TIFF, JPEG, GIF or WebP; or a folder."
_METHOD = (
    "sum-product for the most probable pixels; max-product; or graph-cut for the best picture as a "
    "whole, which is exact for two values."
)
_MASK = "An image that is white where a pixel was not observed; it is filled in. Or a folder."
_STRIP = "Write a strip: noisy, after sweeps 1, 2, 5, 10 and 20, and the uncertainty."


def denoise(
    noisy: Annotated[Path, arg(_NOISY, "NOISY")],
    clean: Annotated[
        Path, arg("The file to write, whose ending tells the format; or a folder.", "CLEAN")
    ],
    flip_probability: Annotated[
        str,
        opt("Share of pixels that were flipped, or estimate.", MODEL, "--flip", metavar="NUMBER"),
    ] = "estimate",
    coupling: Annotated[
        str, opt("How alike neighbours are (J), or estimate.", MODEL, metavar="NUMBER")
    ] = "estimate",
    mask: Annotated[Path | None, opt(_MASK, MODEL)] = None,
    method: Annotated[
        Literal["sum-product", "max-product", "graph-cut"], opt(_METHOD, METHOD, metavar="NAME")
    ] = "sum-product",
    sweeps: Annotated[int, opt("Sweeps of messages.", METHOD, min=1)] = 20,
    tolerance: Annotated[
        float | None, opt("Stop when no message changes by more.", METHOD, min=0)
    ] = None,
    momentum: Annotated[
        float, opt("Share of the new message, above 0 and at most 1.", METHOD)
    ] = 0.5,
    threads: Annotated[
        int, opt("Threads; the answer is the same for any number.", METHOD, min=1)
    ] = 1,
    loss: Annotated[
        float | None,
        opt("Cost of leaving a pixel open; a wrong one costs 1.", DECISIONS, "--reject", min=0),
    ] = None,
    compare: Annotated[
        Path | None, opt("The true image: say how far the others are.", OUTPUT)
    ] = None,
    rejected: Annotated[
        Path | None, opt("With --reject: write the pixels left open, in white.", OUTPUT)
    ] = None,
    posterior: Annotated[
        Path | None, opt("Write the probability of the lighter value as grey levels.", OUTPUT)
    ] = None,
    strip: Annotated[Path | None, opt(_STRIP, OUTPUT)] = None,
    as_json: AsJson = False,
) -> None:
    """Restore a noisy image, or all images of a folder.

    Black-and-white images from flipped pixels, grey and coloured ones from Gaussian noise.
    """
    if rejected is not None and loss is None:
        raise InputError("--rejected shows what --reject leaves open. Pass --reject with a cost.")
    if method == "graph-cut" and posterior is not None:
        raise InputError(
            "--posterior needs probabilities, which a graph cut has not. Take --method sum-product."
        )
    logging.getLogger("PIL").addHandler(logging.NullHandler())  # our own message says it
    named = {"NOISY": noisy, "CLEAN": clean, "--compare": compare, "--mask": mask}
    named |= {"--rejected": rejected, "--posterior": posterior, "--strip": strip}
    files = {name: path for name, path in named.items() if path is not None}
    settings = {
        "flip_probability": value_in(flip_probability),
        "coupling": value_in(coupling),
        "sweeps": sweeps,
        "tolerance": tolerance,
        "momentum": momentum,
        "method": method,
        "loss": loss,
        "threads": threads,
    }
    with Wait(f"restoring {noisy.name}") as wait:
        if noisy.is_dir():
            records = list(_restore_folder(files, settings, wait))
        else:
            if tolerance is not None:  # else nobody listens, and sweeps are made several at a time
                settings["callback"] = wait.sweeps
            records = [_restore(files, settings)]
    _tell(records, as_json=as_json, many=noisy.is_dir())


# --- files ----------------------------------------------------------------------------------------


def _written(files: Files) -> Files:
    """Return the files that are written."""
    return {name: path for name, path in files.items() if name not in _READ}


def _check_distinct(files: Files) -> None:
    """Refuse a place that is named twice."""
    seen = {files["NOISY"].resolve(): "NOISY"}
    for name, path in _written(files).items():
        other = seen.setdefault(path.resolve(), name)
        if other != name:
            raise InputError(f"{name} and {other} are both {path}. Choose another name.")


def _restore_folder(files: Files, settings: dict[str, Any], wait: Wait) -> Iterator[dict[str, Any]]:
    """Restore picture by picture; yield for each what was found, or why it was skipped."""
    _check_distinct(files)
    for name, folder in _written(files).items():
        if folder.exists() and not folder.is_dir():
            raise InputError(
                f"NOISY is a folder, so {name} must be one too. {folder} is a file; name a "
                "folder, which is made if need be."
            )
    compare = files.get("--compare")
    if compare is not None and not compare.is_dir():
        raise InputError(
            f"NOISY is a folder, so --compare must be one with the same names. Got {compare}."
        )
    inside = (path for path in files["NOISY"].iterdir() if not path.is_dir())
    pictures = sorted(path.name for path in inside if not path.name.startswith("."))
    if not pictures:
        raise InputError(f"There are no files in {files['NOISY']}.")
    for folder in _written(files).values():
        folder.mkdir(parents=True, exist_ok=True)
    for number, picture in enumerate(pictures):
        wait.steps(f"restoring {picture}", number, len(pictures))
        png = picture if picture.lower().endswith(".png") else f"{picture}.png"
        names = dict.fromkeys((*_READ, "CLEAN"), picture)
        own = {  # a mask that is a file serves all
            name: place / names.get(name, png) if place.is_dir() else place
            for name, place in files.items()
        }
        try:
            yield _restore(own, settings)
        except (CredoError, OSError) as error:
            told = str(error) if picture in str(error) else f"{picture}: {error}"
            yield {"noisy": str(own["NOISY"]), "failure": told}


# --- one picture ----------------------------------------------------------------------------------


def _restore(files: Files, settings: dict[str, Any]) -> dict[str, Any]:
    """Restore one picture, write what is wanted, and return what was found."""
    from credo.images import denoise
    from credo.images.files import image_format, open_image, save_image

    source, compare, mask = files["NOISY"], files.get("--compare"), files.get("--mask")
    noisy, info = open_image(source)
    for name, path in _written(files).items():
        if image_format(path) == "JPEG" and name != "CLEAN":
            raise InputError(f"{name} {path}: JPEG would blur it. End its name in .png.")
        known = {"the noisy image": source, "the picture to compare with": compare}
        check_out(path, {**known, "the mask": mask})
    _check_distinct(files)
    truth = None if compare is None else open_image(compare)[0]
    if truth is not None and truth.shape[:2] != noisy.shape[:2]:
        sizes = [f"{each.shape[1]} × {each.shape[0]}" for each in (truth, noisy)]
        raise InputError(
            f"{compare} has {sizes[0]} pixels and {source} has {sizes[1]}. Compare pictures of "
            "one size."
        )
    begun = time.perf_counter()
    found = denoise(noisy, mask=mask, **settings)
    seconds = time.perf_counter() - begun
    rejected = None if settings["loss"] is None else found.rejected
    error = None if truth is None else _errors(truth, noisy, found.image, rejected)
    for name, draw in _EXTRAS.items():
        if name in files:
            save_image(files[name], draw(found, noisy))
    save_image(files["CLEAN"], found.image, info)  # the last, which says that all is there
    learnt = {True: "estimated", False: "given"}
    return {
        "noisy": str(source),
        "clean": str(files["CLEAN"]),
        "width": noisy.shape[1],
        "height": noisy.shape[0],
        "method": found.method,
        "sweeps": None if found.method == "graph-cut" else found.sweeps,
        "status": found.status,
        "learning_status": found.learning_status,
        "flip_probability": _plain(found.flip_probability),
        "flip_probability_is": learnt[settings["flip_probability"] == "estimate"],
        "coupling": _plain(found.coupling),
        "coupling_is": learnt[settings["coupling"] == "estimate"],
        "sigma": _plain(found.sigma),
        "energy": {"noisy": found.energy.noisy, "restored": found.energy.restored},
        "rejected": None if rejected is None else float(rejected.mean()),
        "error": error,
        "seconds": seconds,
    }


def _plain(value: Any) -> Any:
    """Return numbers of Python, one per channel if there are several."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return None if value is None else float(value)


def _errors(truth: Any, noisy: Any, restored: Any, rejected: Any | None) -> dict[str, Any]:
    """Return the share of wrong pixels if there are two values, otherwise the distance in levels.

    With rejected pixels also the share of wrong ones among the others.
    """
    true, before, after = (_lighter(each) for each in (truth, noisy, restored))
    if true is None or before is None or after is None:
        levels = _levels(truth, noisy.dtype)
        gaps = [levels - _levels(each) for each in (noisy, restored)]
        far = [(gap[gap * 0 == 0] ** 2).mean() ** 0.5 for gap in gaps]  # NaN was not observed
        return {"measure": "root mean square", "noisy": float(far[0]), "restored": float(far[1])}
    wrong = after != true
    found = {"measure": "share of pixels", "noisy": float((before != true).mean())}
    found["restored"] = float(wrong.mean())
    if rejected is not None:
        found["kept"] = None if rejected.all() else float(wrong[~rejected].mean())
    return found


def _lighter(pixels: Any) -> Any:
    """Tell which pixels have the lighter of two values; None if there are more."""
    if pixels.dtype == bool:
        return pixels
    low, high = pixels.min(), pixels.max()
    if pixels.ndim == 3 or not ((pixels == low) | (pixels == high)).all():
        return None
    return pixels == high if low < high else pixels > _white(pixels.dtype) / 2


def _white(dtype: Any) -> float:
    """Return the level of white."""
    return 2.0 ** (8 * dtype.itemsize) - 1 if dtype.kind == "u" else 255.0


def _levels(pixels: Any, like: Any = None) -> Any:
    """Return levels as numbers, in channels; black and white as those of another type."""
    dtype = pixels.dtype if like is None else like
    if pixels.dtype != bool and dtype not in {pixels.dtype, bool}:
        raise InputError(
            f"The picture to compare with has pixels of {pixels.dtype}, the noisy one of {dtype}. "
            "Save both alike."
        )
    levels = pixels * (_white(dtype) if pixels.dtype == bool else 1.0)
    return levels[..., None] if levels.ndim == 2 else levels


# --- extra pictures -------------------------------------------------------------------------------


def _maps(found: Restoration) -> tuple[Any, ...]:
    """Return the posterior of each channel."""
    return found.posterior if isinstance(found.posterior, tuple) else (found.posterior,)


def _draw_rejected(found: Restoration, _: Any) -> Any:
    return found.rejected


def _draw_posterior(found: Restoration, _: Any) -> Any:
    """Draw the probability of the lighter value, or of the best level, in each channel."""
    import numpy as np

    planes = [m.of(m.labels[1]) if m.n_labels == 2 else m.confidence for m in _maps(found)]
    return _as_bytes(planes[0] if len(planes) == 1 else np.stack(planes, axis=2))


def _draw_strip(found: Restoration, noisy: Any) -> Any:
    """Draw the noisy picture, how it was restored, and how sure that is, side by side."""
    import numpy as np
    from PIL import Image, ImageDraw, ImageFont

    ends = (0.0, 1.0) if noisy.dtype == bool else (np.nanmin(noisy), np.nanmax(noisy))
    low, high = map(float, ends)
    panels = {"noisy": noisy, "restored": found.image}
    if found.method != "graph-cut":
        numbers = [number for number in _SHOWN if number < found.sweeps] + [found.sweeps]
        words = ["1 sweep" if number == 1 else f"{number} sweeps" for number in numbers]
        panels = {"noisy": noisy, **dict(zip(words, found.snapshots(numbers), strict=True))}
    shown = {caption: _as_bytes(picture, low, high) for caption, picture in panels.items()}
    if found.method != "graph-cut":  # 1 where a label is certain, 0 where all are alike
        sure = [(m.confidence - 1 / m.n_labels) / (1 - 1 / m.n_labels) for m in _maps(found)]
        shown["uncertainty"] = _as_bytes(np.mean(sure, axis=0))
    pictures = [_in_size(Image.fromarray(pixels).convert("RGB")) for pixels in shown.values()]
    width, height = pictures[0].size
    step = max(width, _LEAST) + _GAP
    sheet = Image.new("RGB", (len(pictures) * step + _GAP, height + _HEAD + _GAP), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(12)
    for i, (caption, picture) in enumerate(zip(shown, pictures, strict=True)):
        left = _GAP + i * step
        pen.text((left, 2), caption, fill=(40, 40, 40), font=font)
        sheet.paste(picture, (left, _HEAD))
        pen.rectangle((left - 1, _HEAD - 1, left + width, _HEAD + height), outline=(200, 200, 200))
    return np.asarray(sheet)


def _in_size(picture: Any) -> Any:
    """Enlarge or reduce a picture, to fit captions and screens."""
    largest = max(picture.size)
    if largest > _MOST:
        return picture.reduce(-(-largest // _MOST))
    times = min(-(-_LEAST // picture.width), _MOST // largest)
    return picture.resize((picture.width * times, picture.height * times), 0)


def _as_bytes(pixels: Any, low: float = 0.0, high: float = 1.0) -> Any:
    """Return levels between black and white; numbers that are no bytes from ``low`` to ``high``."""
    import numpy as np

    if pixels.dtype == np.uint8:
        return pixels
    share = (np.asarray(pixels, np.float64) - low) / ((high - low) or 1.0)
    return np.rint(255 * np.nan_to_num(np.clip(share, 0.0, 1.0))).astype(np.uint8)


_EXTRAS: dict[str, Callable[[Restoration, Any], Any]] = {
    "--rejected": _draw_rejected,
    "--posterior": _draw_posterior,
    "--strip": _draw_strip,
}


# --- what is told ---------------------------------------------------------------------------------


def _tell(records: list[dict[str, Any]], *, as_json: bool, many: bool) -> None:
    """Tell what was found; say which files are no pictures, and leave with 2 if any is."""
    done = [record for record in records if "failure" not in record]
    if as_json:
        say_json(records if many else records[0])
    elif done:
        say(_table(done) if many else _report(done[0]))
    for record in records:
        if "failure" in record:
            note(f"credo: skipped: {record['failure']}")
    if len(done) < len(records):
        raise typer.Exit(2)


def _report(record: dict[str, Any]) -> str:
    """Tell about one picture, line by line."""
    swept = "" if record["sweeps"] is None else f" after {record['sweeps']} sweeps"
    error, rows = record["error"], [("size", f"{record['width']} × {record['height']}")]
    for name in ("flip_probability", "coupling"):
        told = f"{_digits(record[name])} ({record[f'{name}_is']})"
        rows.append((name.replace("_", " "), told))
    if record["sigma"] is not None:
        rows.append(("sigma", _digits(record["sigma"])))
    rows += [
        ("status", f"{_words(record['status'])}{swept}"),
        ("learning", _words(record["learning_status"])),
        ("U(x)", "{noisy:.1f} -> {restored:.1f}".format(**record["energy"])),
    ]
    if record["rejected"] is not None:
        rows.append(("rejected", f"{record['rejected']:.2%} of the pixels"))
    if error is not None and error["measure"] == "share of pixels":
        rows.append(("wrong", "{noisy:.2%} -> {restored:.2%} of the pixels".format(**error)))
        if error.get("kept") is not None:
            rows.append(("", f"{error['kept']:.2%} of those not rejected"))
    elif error is not None:
        told = "{noisy:.2f} -> {restored:.2f} levels (root mean square)"
        rows.append(("error", told.format(**error)))
    return table_text([*rows, ("seconds", f"{record['seconds']:.3g}")])


def _table(records: list[dict[str, Any]]) -> str:
    """Tell about many pictures, one per row."""
    header = ["file", "size", "flip", "coupling", "U(x) noisy", "restored"]
    header += [] if records[0]["rejected"] is None else ["rejected"]
    header += [] if records[0]["error"] is None else ["error noisy", "restored"]
    rows = [[*header, "seconds"]]
    for record in records:
        energy, error = record["energy"], record["error"]
        row = [Path(record["noisy"]).name, f"{record['width']}×{record['height']}"]
        row += [_digits(record["flip_probability"]), _digits(record["coupling"])]
        row += [f"{energy['noisy']:.1f}", f"{energy['restored']:.1f}"]
        row += [] if record["rejected"] is None else [f"{record['rejected']:.2%}"]
        if error is not None:
            form = "{:.2%}" if error["measure"] == "share of pixels" else "{:.2f}"
            row += [form.format(error["noisy"]), form.format(error["restored"])]
        rows.append([*row, f"{record['seconds']:.3g}"])
    return table_text(rows)


def _words(status: Any) -> str:
    """Write a status, or one per channel if they differ."""
    return ", ".join(dict.fromkeys([status] if isinstance(status, str) else status))


def _digits(value: Any) -> str:
    """Write a number briefly, or one per channel."""
    if isinstance(value, list):
        return ", ".join(map(_digits, value))
    return "none" if value is None else f"{value:.4g}"
