"""
How many sweeps does a picture need?
====================================

Each sweep sends one message along every edge of the grid, and costs time. The energy U(x), the log
of a picture's probability up to a constant, tells how far it has come without knowing the truth.
Most is gained in the first five sweeps, and nothing after twenty.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import credo
from credo.plots.figures import COLOURS

# %%
# A table by sweeps: energy, share of wrong pixels, and the seconds that the sweeps took.
face = credo.images.portrait(128)
noisy = credo.add_noise(face, 0.15, seed=0)
clean = credo.denoise(noisy, sweeps=30)
table = clean.table(face, sweeps=range(31)).set_index("picture")
rows = ["noisy", *(f"after {n}" for n in (1, 2, 5, 10, 20)), "restored", "true"]
print(table.loc[rows, ["energy", "error", "seconds"]].round(4).to_string())

# %%
# The true picture has a lower energy than the restored one: it has details that the field does
# not expect. More energy is therefore not always fewer errors. ``clean.animate("portrait.gif",
# truth=face)`` writes the sweeps as a moving picture.
swept = table.loc[[f"after {n}" for n in range(31)]]
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
left.plot(swept["energy"].to_numpy(), color=COLOURS[0], marker=".")
left.axhline(table["energy"]["true"], color=COLOURS[2], linestyle="--")
left.text(30, table["energy"]["true"], "true picture", color=COLOURS[2], ha="right", va="bottom")
left.set(ylabel="energy U(x)")
middle.plot(100 * swept["error"].to_numpy(), color=COLOURS[1], marker=".")
middle.set(ylabel="wrong pixels, %", ylim=(0, None))
right.semilogy(range(1, 31), clean.trace.residuals, color=COLOURS[3], marker=".")
right.set(ylabel="largest change of a message")
for axes in (left, middle, right):
    axes.set_xlabel("sweeps")
    axes.spines[["top", "right"]].set_visible(False)

picture = Path("build/sweeps.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=130)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/denoising` has schedules that arrive sooner.
