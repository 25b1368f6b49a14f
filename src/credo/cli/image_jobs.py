"""One picture restored for the command line: read, restored, written, and told about."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.cli.image_places import Places
from credo.exceptions import InputError
from credo.images.files import ImageInfo, open_image, save_image

if TYPE_CHECKING:
    from credo.images import Restoration
    from credo.posterior import PosteriorMap

#: Sweeps after which the strip shows the picture.
_SHOWN = (1, 2, 5, 10, 20)
#: Pixels from which on sweeps may take a second. Being watched, they cannot be made several at a
#: time, which is faster.
_MANY_PIXELS = 2**21


@dataclass(frozen=True)
class Settings:
    """How pictures are restored."""

    flip: float | str
    coupling: float | str
    sweeps: int
    tolerance: float | None
    momentum: float
    method: str
    reject: float | None
    threads: int


def restore(
    places: Places, settings: Settings, callback: Callable[[int, float], None] | None = None
) -> dict[str, Any]:
    """Restore one picture, write what is wanted, and tell what was found."""
    noisy, info = open_image(places.noisy)
    places.check()
    truth = _truth(places, noisy)
    begun = time.perf_counter()
    found = _restored(noisy, settings, callback if noisy.size >= _MANY_PIXELS else None)
    seconds = time.perf_counter() - begun
    record = _record(places, settings, noisy, found)
    if truth is not None:
        from credo.cli.image_comparison import errors

        rejected = None if settings.reject is None else found.rejected
        record["error"] = errors(truth, noisy, found.image, rejected)
    _write(places, found, noisy, info)
    return {**record, "seconds": seconds}


def _truth(places: Places, noisy: Any) -> Any:
    """Read the picture to compare with, if there is one."""
    if places.compare is None:
        return None
    truth, _ = open_image(places.compare)
    if truth.shape[:2] != noisy.shape[:2]:
        sizes = [f"{each.shape[1]} × {each.shape[0]}" for each in (truth, noisy)]
        raise InputError(
            f"{places.compare} has {sizes[0]} pixels and {places.noisy} has {sizes[1]}. "
            "Compare pictures of one size."
        )
    return truth


def _restored(noisy: Any, settings: Settings, callback: Any) -> Restoration:
    """Restore an array."""
    from credo.images import denoise

    return denoise(
        noisy,
        settings.flip,
        settings.coupling,
        settings.sweeps,
        settings.momentum,
        settings.method,  # type: ignore[arg-type]  # checked
        settings.reject,
        threads=settings.threads,
        tolerance=settings.tolerance,
        callback=callback,
    )


def _record(places: Places, settings: Settings, noisy: Any, found: Restoration) -> dict[str, Any]:
    """Give by name what was found, and with what."""
    height, width = noisy.shape[:2]
    learnt = {True: "estimated", False: "given"}
    return {
        "noisy": str(places.noisy),
        "clean": str(places.clean),
        "width": width,
        "height": height,
        "method": settings.method,
        "sweeps": None if settings.method == "graph-cut" else found.sweeps,
        "status": found.status,
        "learning_status": found.learning_status,
        "flip_probability": _plain(found.flip_probability),
        "flip_probability_is": learnt[settings.flip == "estimate"],
        "coupling": _plain(found.coupling),
        "coupling_is": learnt[settings.coupling == "estimate"],
        "sigma": _plain(found.sigma),
        "energy": {"noisy": found.energy.noisy, "restored": found.energy.restored},
        "rejected": None if settings.reject is None else float(found.rejected.mean()),
        "error": None,
    }


def _plain(value: Any) -> Any:
    """Give numbers of Python, one per channel if there are several."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return None if value is None else float(value)


def _write(places: Places, found: Restoration, noisy: Any, info: ImageInfo) -> None:
    """Write the pictures that are wanted; the restored one last, which says that all is there."""
    from credo.cli.image_strips import as_bytes, draw_strip

    if places.rejected is not None:
        save_image(places.rejected, found.rejected)
    if places.posterior is not None:
        save_image(places.posterior, as_bytes(_probabilities(found)))
    if places.strip is not None:
        save_image(places.strip, draw_strip(_panels(found, noisy)))
    save_image(places.clean, found.image, info)


def _maps(found: Restoration) -> tuple[PosteriorMap, ...]:
    """Give the posterior of each channel."""
    posterior = found.posterior
    return posterior if isinstance(posterior, tuple) else (posterior,)


def _probabilities(found: Restoration) -> Any:
    """Give the probability of the lighter value, or of the best level, in each channel."""
    planes = [m.of(m.labels[1]) if m.n_labels == 2 else m.confidence for m in _maps(found)]
    return planes[0] if len(planes) == 1 else np.stack(planes, axis=2)


def _sureness(found: Restoration) -> Any:
    """Give 1 where a label is certain and 0 where all are alike, the mean of the channels."""
    planes = [(m.confidence - 1 / m.n_labels) / (1 - 1 / m.n_labels) for m in _maps(found)]
    return np.mean(planes, axis=0)


def _panels(found: Restoration, noisy: Any) -> list[tuple[str, Any]]:
    """Give what the strip shows: the noisy picture, how it was restored, and how sure that is."""
    from credo.cli.image_strips import as_bytes

    if found.method == "graph-cut":
        words, pictures, last = ["restored"], [found.image], []
    else:
        numbers = [number for number in _SHOWN if number < found.sweeps] + [found.sweeps]
        words = ["1 sweep" if number == 1 else f"{number} sweeps" for number in numbers]
        pictures = found.snapshots(numbers)
        last = [("uncertainty", as_bytes(_sureness(found)))]
    bits = noisy.dtype == np.bool_
    low, high = (0.0, 1.0) if bits else (float(noisy.min()), float(noisy.max()))
    shown = [as_bytes(picture, low, high) for picture in (noisy, *pictures)]
    return [*zip(["noisy", *words], shown, strict=True), *last]


def hush_decoders() -> None:
    """Keep Pillow from writing to the terminal what our own message says in a sentence."""
    logging.getLogger("PIL").addHandler(logging.NullHandler())
