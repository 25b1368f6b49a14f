"""Grey pictures with Gaussian noise, restored in several ways, next to the truth.

``python benchmarks/images.py [--quick]``

``CREDO_SCIKIT_IMAGE_PYTHON``
    scikit-image's interpreter, if it is not this one.
``CREDO_DATA``
    A folder with the pictures of ``PHOTOGRAPHS`` and ``FLAT`` in ``images/``; those that are not
    there are left out. The phantom is drawn by code.

Errors are root mean squares in levels of 8 bits, of which noisy pictures are rounded and clipped.
Credo is told nothing. The others are told sigma, and get the best width and the best weight by the
truth. Seconds are CPU time on one thread, the better of two.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy import ndimage

import credo

sys.path.insert(0, str(Path(__file__).parent / "peers"))

from _measure import Row, arguments, significant, write, write_machine
from _peers import blank, python_of, say_absent
from _turns import ONE_THREAD

PEER, OF_PEER = "scikit-image", ("total variation", "non-local means")
SIGMAS = (10, 20, 40)
FLAT = {"disparity": "middlebury/tsukuba-truedispL.png"}
PHOTOGRAPHS = {
    "camera": "skimage_camera_512.png",
    "coins": "skimage_coins.png",
    "page": "skimage_page.png",
    "mona lisa": "mona_lisa_128_gray.png",
    "tsukuba": "middlebury/tsukuba-imL.png",
}
#: The head phantom of Shepp and Logan (1974) with Toft's contrasts: what is added inside of an
#: ellipse, its half axes, its centre, and by how many degrees it is turned.
PHANTOM = (
    (1.0, 0.69, 0.92, 0.0, 0.0, 0),
    (-0.8, 0.6624, 0.874, 0.0, -0.0184, 0),
    (-0.2, 0.11, 0.31, 0.22, 0.0, -18),
    (-0.2, 0.16, 0.41, -0.22, 0.0, 18),
    (0.1, 0.21, 0.25, 0.0, 0.35, 0),
    (0.1, 0.046, 0.046, 0.0, 0.1, 0),
    (0.1, 0.046, 0.046, 0.0, -0.1, 0),
    (0.1, 0.046, 0.023, -0.08, -0.605, 0),
    (0.1, 0.023, 0.023, 0.0, -0.606, 0),
    (0.1, 0.023, 0.046, 0.06, -0.605, 0),
)


def draw_phantom(side: int = 256) -> Any:
    """Draw the phantom in bytes."""
    y, x = 1 - np.mgrid[:side, :side] * 2 / (side - 1)
    picture = np.zeros((side, side))
    for grey, a, b, column, row, degrees in PHANTOM:
        turn = np.radians(degrees)
        across = (-x - column) * np.cos(turn) + (y - row) * np.sin(turn)
        along = (y - row) * np.cos(turn) - (-x - column) * np.sin(turn)
        picture += grey * ((across / a) ** 2 + (along / b) ** 2 <= 1)
    return np.rint(255 * np.clip(picture, 0, 1)).astype(np.uint8)


def clean_pictures(*, quick: bool) -> dict[str, Any]:
    """Return the pictures that are there; pieces of them if it must be quick."""
    folder = Path(os.environ.get("CREDO_DATA", Path(__file__).parents[2] / "shared" / "data"))
    found = {"phantom": draw_phantom()}
    for name, file in (FLAT | PHOTOGRAPHS).items():
        if (folder / "images" / file).exists():
            found[name] = np.asarray(Image.open(folder / "images" / file).convert("L"))
    return {name: each[40:80, 40:80] for name, each in found.items()} if quick else found


def by_credo(**options: Any) -> Callable[[Any], list[Any]]:
    """Return a way to restore, by default of which options are changed."""
    return lambda noisy: [credo.denoise(noisy, **options).image]


def by_best_level(noisy: Any) -> list[Any]:
    """Restore with the best level in place of the mean."""
    return [credo.denoise(noisy, method="max-product").posterior.best]


def by_median(noisy: Any) -> list[Any]:
    """Restore with median filters of two widths."""
    return [ndimage.median_filter(noisy, width) for width in (3, 5)]


#: Ways to restore, by what they are called; each returns images of which the best counts.
WAYS: dict[str, Callable[[Any], list[Any]]] = {
    "credo": by_credo(),
    "64 levels": by_credo(levels=64),
    "max-product": by_credo(method="max-product"),
    "its best level": by_best_level,
    "median filter": by_median,
}


def by_peer(noisy: Sequence[Any], sigmas: Sequence[float]) -> Mapping[str, Any] | None:
    """Restore with scikit-image, if it is there."""
    python = python_of(PEER)
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        given, into = Path(folder) / "noisy.npz", Path(folder) / "restored.npz"
        named = {f"noisy_{i}": each for i, each in enumerate(noisy)}
        np.savez(given, sigmas=sigmas, **named)
        script = Path(__file__).parent / "_image_peers.py"
        command = [python, str(script), str(given), str(into)]
        subprocess.run(command, check=True, env=os.environ | ONE_THREAD)
        return dict(np.load(into))


def run(way: Callable[[Any], list[Any]], noisy: Any) -> tuple[list[Any], float]:
    """Restore twice; return the images, and the CPU seconds of the better time for one of them."""
    took = []
    for _ in range(2):
        begun = time.process_time()
        images = way(noisy)
        took.append(time.process_time() - begun)
    return images, min(took) / len(images)


def error(images: Any, clean: Any) -> float:
    """Return the root mean square error of the best image."""
    return min(float(np.sqrt(np.square(each - clean.astype(float)).mean())) for each in images)


def summarise(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    """Return how far each is from the best on the average, and its time on the largest picture."""
    measured = [name for name in names if all(isinstance(row[name], float) for row in rows)]
    best = [min(row[name] for name in measured) for row in rows]
    groups = {
        "flat pictures": [row["picture"] not in PHOTOGRAPHS for row in rows],
        "photographs": [row["picture"] in PHOTOGRAPHS for row in rows],
        "all": [True for _ in rows],
    }
    table = []
    for name in measured:
        logs = np.log([row[name] / low for row, low in zip(rows, best, strict=True)])
        shares = {
            g: significant(float(np.exp(logs[chosen].mean()))) for g, chosen in groups.items()
        }
        largest = max(rows, key=lambda row: row["pixels"])
        table.append({"error / least error": name, **shares, "CPU s": largest[f"{name} s"]})
    return table


def main() -> None:
    """Restore all pictures in all ways, write the tables and print them."""
    read = arguments(__doc__)
    say_absent(PEER)
    clean = clean_pictures(quick=read.quick)
    jobs = [(name, sigma) for name in clean for sigma in SIGMAS]
    noisy = [credo.add_noise(clean[n], kind="gaussian", sigma=s, seed=0) for n, s in jobs]
    theirs = by_peer(noisy, [sigma for _, sigma in jobs])
    credo.denoise(noisy[0], sweeps=1, method="max-product")  # kernels compile now
    rows: list[Row] = []
    for i, (name, sigma) in enumerate(jobs):
        truth = clean[name]
        row: Row = {"picture": name, "pixels": truth.size, "sigma": sigma}
        row["noisy"] = significant(error([noisy[i]], truth))
        seconds: Row = {}
        for way, restore in WAYS.items():
            images, took = run(restore, noisy[i])
            row[way], seconds[f"{way} s"] = significant(error(images, truth)), significant(took)
        for way in OF_PEER:
            row[way] = seconds[f"{way} s"] = blank(PEER)
            if theirs is not None:
                row[way] = significant(error(theirs[f"{way}_{i}"], truth))
                seconds[f"{way} s"] = significant(float(theirs[f"{way}_{i}_seconds"]))
        rows.append(row | seconds)
        print(rows[-1], flush=True)
    write("images", rows, read.into)
    write("images_ratios", summarise(rows, [*WAYS, *OF_PEER]), read.into)
    write_machine(read.into)
    print(f"The tables are in {read.into}")


if __name__ == "__main__":
    main()
