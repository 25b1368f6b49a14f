"""
Which bits were sent?
=====================

Seven bits are sent, of which three are checks: in each circle the sum of the bits is even. A noisy
channel flips one bit in ten. The most probable bits, one by one, and the most probable word come
from the same graph, whose factors are the checks.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import credo
from credo.graphs import parity_graph

# %%
# Bits 0 to 3 hold the message. Each check is a factor that allows even sums only.
checks = np.array([[1, 1, 1, 0, 1, 0, 0], [1, 1, 0, 1, 0, 1, 0], [1, 0, 1, 1, 0, 0, 1]])
graph = parity_graph(checks)
sent = np.array([1, 0, 1, 1, 0, 0, 1])
print("sums of the checks", checks @ sent)

# %%
# Bit 0 is flipped on its way. What was received is virtual evidence on each bit.
flips, received = 0.1, sent.copy()
received[0] = 0
heard = {
    bit: [1 - flips, flips] if r == 0 else [flips, 1 - flips] for bit, r in enumerate(received)
}
post = credo.infer(graph, likelihood=heard)
word = credo.mpe(graph, likelihood=heard)
print("sent      ", sent)
print("received  ", received)
print("word      ", np.array([word[bit] for bit in range(7)]))
print("p(bit = 1)", np.round([post[bit][1] for bit in range(7)], 2))

# %%
# Loopy belief propagation, sweep by sweep: the checks talk bit 0 round.
trace = []
credo.infer(
    graph,
    likelihood=heard,
    method="loopy",
    schedule="flooding",
    momentum=0.7,
    callback=lambda *_, beliefs: trace.append([beliefs[bit][1] for bit in range(7)]),
)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
graph.plot(left)
left.set_title("bits and checks", fontsize=10)
start = [heard[bit][1] for bit in range(7)]
curves = np.array([start, *trace[:25]])
for bit in range(7):
    ink, width = ("#D55E00", 2.2) if bit == 0 else ("#8C8C8C", 1.2)
    right.plot(curves[:, bit], color=ink, linewidth=width)
right.text(len(curves) - 1, curves[-1, 0] - 0.07, "bit 0, flipped", color="#D55E00", ha="right")
right.axhline(0.5, color="#000000", linestyle=":", linewidth=1)
right.set(
    xlabel="sweep of loopy belief propagation (0: as received)", ylabel="p(bit = 1)", ylim=(0, 1)
)
right.spines[["top", "right"]].set_visible(False)

picture = Path("build/bit_decoder.png")
picture.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(picture, dpi=110)
print(f"The figure is in {picture}")

# %%
# Next: :doc:`/how-to/loopy` has schedules, damping, and how far to trust such an answer.
