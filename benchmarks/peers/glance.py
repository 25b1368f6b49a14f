"""Six rows for the README, picked from the tables that are there; nothing is measured.

``python benchmarks/peers/glance.py``
"""

from __future__ import annotations

import csv

from _measure import RESULTS, Row, write


def cells(name: str, first: str) -> dict[str, str]:
    """Return the row of a table that has this first cell."""
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        return next(row for row in csv.DictReader(stream) if next(iter(row.values())) == first)


def glance() -> list[Row]:
    """Make a row for each kind of work, by what was measured of it."""
    ours, tuned, best = (
        cells("thresholds", name)["mean loss"]
        for name in (
            "credo.DecisionClassifier",
            "scikit-learn TunedThresholdClassifierCV",
            "the true posterior",
        )
    )
    missing = cells("imputers", "breast cancer, in test rows, tied")
    table = cells("tables_ratios", "naive Bayes")
    networks = cells("exact_glance", "24")
    image = cells("grid_ratios", "1024×1024")
    photographs = {
        name: cells("images_ratios", name)["photographs"] for name in ("credo", "non-local means")
    }
    rows = [
        (
            f"mean cost of decisions learnt from 200 rows; {best} is the best possible",
            ours,
            f"{tuned}: scikit-learn, tuned threshold",
        ),
        (
            "error of probabilities (log loss), a fifth of the cells missing",
            missing["log loss: marginalised (credo)"],
            f"{missing['best imputer'].split()[0]}: scikit-learn, best way to fill them in",
        ),
        (
            "learn from a Parquet file of 5 million rows",
            f"{table['credo, s']} s, {float(table['MB: credo']):g} MB",
            (
                f"{table['scikit-learn, in memory / credo']} times as long, "
                f"{float(table['scikit-learn, in memory']):g} MB: scikit-learn"
            ),
        ),
        (
            f"time of a first exact answer, mean of {networks['networks']} networks",
            "1",
            f"{networks['first answer: pyAgrum / credo']}: pyAgrum",
        ),
        (
            "time of restoring a black and white picture of 1024 × 1024 pixels",
            "1",
            f"{float(image['PGMax / credo']):g}: PGMax",
        ),
        (
            "error of restored photographs, over the least of seven ways",
            photographs["credo"],
            f"{photographs['non-local means']}, which is better: non-local means",
        ),
    ]
    return [
        dict(zip(("what was measured", "Credo", "another way"), row, strict=True)) for row in rows
    ]


if __name__ == "__main__":
    write("glance", glance())
