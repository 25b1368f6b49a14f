"""
How much of a picture comes back from noise?
============================================

A portrait of 128 × 128 pixels, drawn by code, is sent through a channel that flips pixels: one in
twenty, and up to one in five. Neighbours tend to be equal, and nothing else is known:
messages between neighbours restore most of what was flipped. How often pixels were flipped, and how
often neighbours are equal, is learnt from the one noisy picture. Then noise that is not
independent, and pixels that are better left to a person than guessed.
"""

import time
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import credo
from credo.images import flip_map, portrait

LEVELS, SWEEPS = (0.05, 0.10, 0.15, 0.20), (1, 2, 5, 10, 20)
face = portrait(128)


def wrong(picture: np.ndarray) -> float:
    """Return the share of pixels that differ from the true picture."""
    return float((picture != face).mean())


def seconds(picture: np.ndarray, *parameters: float) -> float:
    """Time one restoration."""
    begun = time.perf_counter()
    credo.denoise(picture, *parameters)
    return time.perf_counter() - begun


def best_time(picture: np.ndarray, *parameters: float) -> str:
    """Write the best of a few times, in milliseconds."""
    return f"{1000 * min(seconds(picture, *parameters) for _ in range(9)):.1f}"


# %%
# Four levels of noise: nothing but the noisy picture is given.
noisy = [credo.add_noise(face, level, seed=0) for level in LEVELS]
print(f"The first call takes {seconds(noisy[0]):.2f} s: it loads the compiled loops.\n")

print("U(x) is the log of a picture's probability up to a constant: larger is better. 20 sweeps;")
print("times in ms with both parameters learnt from the picture, and with both given.")
print("            U(x)                       wrong pixels       learnt          time")
print("flipped     true   noisy  restored    noisy  restored    flips  coupling  learnt  given")
restored = [credo.denoise(picture) for picture in noisy]
for level, picture, clean in zip(LEVELS, noisy, restored, strict=True):
    learnt = float(clean.flip_probability), float(clean.coupling)
    print(
        f"{level:7.2f}  {clean.field.energy(face):7.0f} {clean.energy.noisy:7.0f}  "
        f"{clean.energy.restored:8.0f}  {wrong(picture):7.2%}  {wrong(clean.image):8.2%}  "
        f"{learnt[0]:7.4f}  {learnt[1]:8.4f}  {best_time(picture):>6}  "
        f"{best_time(picture, *learnt):>5}"
    )

# %%
# Noise that is not the same everywhere.
print("\nFlips that are not alike everywhere: ever more from left to right, or in bursts. It is of")
print(
    "little use to know how the rate varies, and of great use to know where the bursts are. Means"
)
print("of five noisy pictures; the coupling is learnt.")
print("kind     flipped  left wrong with one probability  with a map of probabilities")
for kind, level in ((kind, level) for kind in ("varying", "burst") for level in (0.10, 0.20)):
    ends = []
    for seed in range(5):
        spoilt = credo.add_noise(face, level, kind=kind, seed=seed)
        known = flip_map(face.shape, level, kind=kind, seed=seed)
        ends.append([wrong(credo.denoise(spoilt, flips).image) for flips in (level, known)])
    plain, mapped = np.mean(ends, axis=0)
    print(f"{kind:8} {level:7.2f}  {plain:31.2%}  {mapped:27.2%}")

# %%
# Pixels that are better left open than guessed.
print("\nOne pixel in ten is flipped. A wrong pixel costs 1; leaving one open has its own cost.")
print("cost of an open pixel   left open  wrong among the others  mean cost")
for cost in (0.5, 0.3, 0.1, 0.03):
    careful = credo.denoise(noisy[1], loss=cost)
    left, errors = careful.rejected, careful.image != face
    print(
        f"{cost:21.2f}  {left.mean():10.2%}  {errors[~left].mean():22.2%}  "
        f"{(errors & ~left).mean() + cost * left.mean():9.4f}"
    )


# %%
# The picture, sweep by sweep, and how uncertain each pixel is.
def show(axes: Any, picture: np.ndarray) -> None:
    """Draw a picture of numbers between 0 and 1."""
    axes.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(color="#B3B3B3", linewidth=0.6)


SIZE, STEP, LEFT, HEAD = 1.28, 1.36, 0.28, 0.25  # inches, so that a pixel is two by two at 200 dpi
columns = ["noisy", *(f"{n} sweep{'s' * (n > 1)}" for n in SWEEPS), "uncertainty"]
width, height = LEFT + STEP * len(columns), HEAD + STEP * len(LEVELS)
figure = plt.figure(figsize=(width, height))
for row, (level, picture, clean) in enumerate(zip(LEVELS, noisy, restored, strict=True)):
    sure = clean.posterior.confidence
    shown = [picture, *clean.snapshots(SWEEPS), 1 - 4 * sure * (1 - sure)]
    for column, (image, name) in enumerate(zip(shown, columns, strict=True)):
        left, bottom = LEFT + STEP * column, height - HEAD - STEP * row - SIZE
        axes = figure.add_axes((left / width, bottom / height, SIZE / width, SIZE / height))
        show(axes, image)
        if not row:
            axes.set_title(name, fontsize=9, pad=4)
        if not column:
            axes.set_ylabel(f"{level:.0%} flipped", fontsize=9, labelpad=3)

target = Path("build/denoising.png")
target.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(target, dpi=200)
print(f"\nThe figure is in {target}")

# %%
# Next: :doc:`/how-to/denoising` restores an image of your own, grey or with holes.
