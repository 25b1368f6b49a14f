"""
How many loaves to bake?
========================

Too few loaves lose customers, too many are thrown away, and the two do not cost the same. The
best number is then neither the mean nor the most probable number, but a quantile: the one at
the ratio of the costs.
"""

from pathlib import Path

from scipy import stats

import credo
from credo.decisions import Absolute, AsymmetricLinear, Squared, decide_value
from credo.plots.figures import COLOURS, write

demand = stats.gamma(6, scale=20)

# %%
# A missing loaf costs 3, one too many costs 1; and two losses for comparison.
choices = {
    "squared": decide_value(demand, Squared()),
    "absolute": decide_value(demand, Absolute()),
    "3 to 1": decide_value(demand, AsymmetricLinear(under=3, over=1)),
}
for name, choice in choices.items():
    print(f"{name:>9}: bake {choice.value:.1f}, expected loss {choice.expected_loss:.1f}")

# %%
# The mean, the median, and the quantile at 3 / (3 + 1).
sales = demand.rvs(400, random_state=0)
axes = credo.plots.histogram(sales, {"demand": demand})
top = axes.get_ylim()[1]
axes.set_ylim(0, 1.35 * top)
for i, (name, choice) in enumerate(choices.items()):
    value = float(choice.value)
    axes.axvline(value, ymax=0.72 + 0.08 * i, color=COLOURS[1 + i], linewidth=1.5)
    place = value, top * (0.99 + 0.11 * i)
    write(axes, place, f"{name}: {value:.0f}", COLOURS[1 + i], ha="left")
axes.set(xlabel="loaves asked for", title=f"n = {len(sales)} days")

picture = Path("build/choose_a_number.png")
picture.parent.mkdir(parents=True, exist_ok=True)
axes.figure.savefig(picture, dpi=150)
print(f"\nThe figure is in {picture}")

# %%
# Next: :doc:`/how-to/choose_a_number` takes samples, quantiles and any loss.
