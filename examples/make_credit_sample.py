"""Draw the small credit tables of the tutorial, always the same ones.

Run ``python examples/make_credit_sample.py``; it writes ``examples/data/credit_*.csv``. All people
are invented: the columns are of the kind that banks have, and the shares are made up.
"""

import csv
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "data"
SEED = 1994
#: Rows of each file, and the first number given to an applicant.
FILES = {
    "credit_train.csv": (600, 1001),
    "credit_more.csv": (200, 2001),
    "credit_test.csv": (400, 3001),
}
#: Three in ten do not pay back.
SHARE_BAD = 0.3

#: Shares of the categories among applicants who pay back, and among those who do not.
CATEGORIES = {
    "checking": (
        ("none", "overdrawn", "low", "high"),
        (0.48, 0.20, 0.24, 0.08),
        (0.16, 0.44, 0.35, 0.05),
    ),
    "purpose": (
        ("car", "furniture", "electronics", "education", "business"),
        (0.33, 0.18, 0.32, 0.06, 0.11),
        (0.36, 0.22, 0.20, 0.09, 0.13),
    ),
    "savings": (
        ("little", "some", "plenty"),
        (0.62, 0.20, 0.18),
        (0.80, 0.13, 0.07),
    ),
    "housing": (
        ("own", "rent", "free"),
        (0.75, 0.15, 0.10),
        (0.62, 0.23, 0.15),
    ),
}
#: How many do not say what they have saved.
SILENT = 0.15


def rows(n: int, first: int, rng: np.random.Generator) -> list[list[object]]:
    """Draw applicants, one row each, the label last."""
    bad = rng.random(n) < SHARE_BAD
    duration = np.clip(np.rint(rng.gamma(3.4, np.where(bad, 7.2, 5.6))), 4, 72).astype(int)
    amount = np.rint(duration * rng.lognormal(np.where(bad, 5.02, 4.94), 0.45)).astype(int)
    age = np.clip(np.rint(19 + rng.gamma(np.where(bad, 1.45, 1.75), 9.5)), 19, 75).astype(int)
    loans = 1 + rng.poisson(np.where(bad, 0.35, 0.45))
    employed = rng.random(n) < np.where(bad, 0.90, 0.96)
    texts = {name: _drawn(*shares, bad, rng) for name, shares in CATEGORIES.items()}
    texts["savings"] = np.where(rng.random(n) < SILENT, "", texts["savings"])
    columns = [
        np.arange(first, first + n),
        texts["checking"],
        duration,
        amount,
        texts["purpose"],
        texts["savings"],
        np.where(employed, "true", "false"),
        loans,
        age,
        texts["housing"],
        np.where(bad, "bad", "good"),
    ]
    return [list(row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def _drawn(
    names: tuple[str, ...],
    if_good: tuple[float, ...],
    if_bad: tuple[float, ...],
    bad: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw categories, whose shares depend on the label."""
    bounds = np.cumsum([if_good, if_bad], axis=1)[bad.astype(int)]
    return np.array(names)[(rng.random((len(bad), 1)) > bounds).sum(axis=1)]


HEADER = [
    "id",
    "checking",
    "duration",
    "amount",
    "purpose",
    "savings",
    "employed",
    "loans",
    "age",
    "housing",
    "outcome",
]


def main() -> None:
    """Write the tables and the losses."""
    rng = np.random.default_rng(SEED)
    FOLDER.mkdir(exist_ok=True)
    for name, (n, first) in FILES.items():
        _write(name, [HEADER, *rows(n, first, rng)])
    _write("credit_loss.csv", [["truth", "grant", "refuse"], ["good", 0, 1], ["bad", 5, 0]])
    print(f"The tables are in {FOLDER}.")


def _write(name: str, lines: list[list[object]]) -> None:
    """Write a comma-separated file."""
    with (FOLDER / name).open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows(lines)


if __name__ == "__main__":
    main()
