"""How long exact answers take, next to what their plans say.

``python benchmarks/plans.py [--data FOLDER]``; networks are looked for in ``graphical/bif`` and
``graphical/uai`` of that folder, and those whose tables take more than 3 GB, or that take more than
a minute by their plan, are left out. Seconds are CPU time of a first answer, search for an order
included, with compiled kernels; the best of up to three.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import credo

sys.path.insert(0, str(Path(__file__).parent / "peers"))

from _measure import Row, significant, write

_BYTES, _SECONDS = 3e9, 60.0


def measure(path: Path) -> Row | None:
    """Plan and answer the question of all marginals; None if it is too large."""
    model = credo.formats.read_network(path)
    plan = credo.plan(model)
    if plan.n_bytes > _BYTES or plan.seconds > _SECONDS:
        return None
    took = []
    while len(took) < 3 and sum(took) < 5.0:
        begun = time.process_time()
        credo.infer(model, method="exact")
        took.append(time.process_time() - begun)
    return {
        "network": path.name.split(".")[0],
        "engine": plan.engine,
        "multiplications": significant(plan.multiplications),
        "said": significant(plan.seconds),
        "took": significant(min(took)),
        "took / said": significant(min(took) / plan.seconds),
    }


def main() -> None:
    """Write the table, and print how far it is off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    folder = parser.parse_args().data / "graphical"
    paths = [*folder.glob("bif/*.bif*"), *folder.glob("uai/*/*.uai*")]
    known = sorted(p for p in paths if p.name.removesuffix(".gz").endswith((".bif", ".uai")))
    rows = [row for path in known if (row := measure(path)) is not None]
    write("plan_seconds", rows)
    if rows:
        off = [max(row["took / said"], 1 / row["took / said"]) for row in rows]
        print(f"off by {statistics.median(off):.2f} times in the median, {max(off):.1f} at most")


if __name__ == "__main__":
    main()
