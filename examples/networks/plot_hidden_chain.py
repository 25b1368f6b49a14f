"""
Which die was thrown?
=====================

A croupier changes between a fair die and a loaded one now and then, and only the throws are seen.
How probable is it at each throw that the die was loaded, given all throws (forward–backward), and
which sequence of dice is the most probable one as a whole (Viterbi)?
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import credo

# %%
# The loaded die shows a six every second time. A hundred throws are drawn from the model itself.
first, moves = {"fair": 0.9, "loaded": 0.1}, [[0.95, 0.05], [0.10, 0.90]]
faces = np.array([[1 / 6] * 6, [0.1] * 5 + [0.5]])
drawn = credo.chain(first, moves, length=100, emission=faces).sample(1, random_state=7)
thrown = [drawn[f"y{t}"][0] for t in range(100)]
was_loaded = np.array([drawn[f"x{t}"][0] == "loaded" for t in range(100)])

# %%
# The same chain with what was seen: one posterior per throw, and one best sequence of all.
model = credo.chain(first, moves, emission=faces, observations=thrown)
post, best = credo.infer(model), credo.mpe(model)
loaded = np.array([post[f"x{t}"]["loaded"] for t in range(100)])
path = np.array([best[f"x{t}"] == "loaded" for t in range(100)])
print(
    f"log likelihood of the throws {post.log_evidence:.2f}, of the best sequence too "
    f"{best.log_score:.2f}"
)
print(
    f"wrong: throw by throw {np.mean((loaded > 0.5) != was_loaded):.0%}, "
    f"as a sequence {np.mean(path != was_loaded):.0%}"
)

# %%
# Messages from x0 to the last throw are the forward pass, those back the backward pass.
print(*credo.pass_messages(model, root="x99").messages[:2], sep="\n")

# %%
# Shaded where the die was loaded; below, the most probable sequence.
figure, axes = plt.subplots(figsize=(9, 3.4), layout="constrained")
time = np.arange(100)
axes.fill_between(time, was_loaded, step="mid", color="#8C8C8C", alpha=0.25, linewidth=0)
axes.plot(time, loaded, color="#0072B2", linewidth=1.6)
sixes = np.flatnonzero(np.array(thrown) == 5)
axes.plot(sixes, np.full(len(sixes), 1.05), "|", color="#000000", markersize=7)
axes.fill_between(time, -0.14, -0.14 + 0.09 * path, step="mid", color="#D55E00", linewidth=0)
axes.text(100, 1.05, "sixes", va="center")
axes.text(100, -0.1, "most probable\nsequence", va="center", color="#D55E00", fontsize=9)
axes.set(xlabel="throw (n = 100; grey: the die was loaded)", ylabel="p(loaded | all throws)")
axes.set(ylim=(-0.2, 1.12), xlim=(-1, 99.5), yticks=[0, 0.5, 1])
axes.spines[["top", "right"]].set_visible(False)

picture = Path("build/hidden_chain.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=110)
print(f"The figure is in {picture}")

# %%
# Next: :doc:`/how-to/most_probable` has the k best sequences, and ties.
