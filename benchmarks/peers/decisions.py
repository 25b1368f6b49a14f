"""Decisions against their peers: speed and memory of decide, start-up, thresholds."""

from __future__ import annotations

import csv
import json
import os
import platform
import re
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TunedThresholdClassifierCV

import credo

RESULTS = Path(__file__).parent / "results"
README = Path(__file__).parents[2] / "README.md"
LABELS, ACTS = list("abcde"), list("uvwxyz")


def main() -> None:
    """Run all questions, write their tables and print them."""
    RESULTS.mkdir(exist_ok=True)
    write("decide", decide_against_numpy())
    write("startup", startup())
    write("thresholds", thresholds())
    packages = ("numpy", "scipy", "scikit-learn", "credo")
    machine = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        **{name: version(name) for name in packages},
    }
    (RESULTS / "machine.json").write_text(json.dumps(machine, indent=1) + "\n")


def decide_against_numpy(n_rows: int = 10_000_000, turns: int = 9) -> list[dict[str, Any]]:
    """Time decide and the bare product on the same array, turn by turn."""
    rng = np.random.default_rng(0)
    p = rng.random((n_rows, len(LABELS)))
    p /= p.sum(axis=1, keepdims=True)
    matrix = rng.random((len(LABELS), len(ACTS)))
    loss = credo.Loss(matrix, LABELS, ACTS)
    contestants: dict[str, Callable[[], Any]] = {
        "numpy: (p @ L).argmin(axis=1)": lambda: (p @ matrix).argmin(axis=1),
        "credo.decide (checks rows, gives acts and risk)": lambda: credo.decide(p, loss, LABELS),
    }
    best = dict.fromkeys(contestants, np.inf)
    for _ in range(turns):
        for name, run in contestants.items():
            best[name] = min(best[name], seconds(run))
    expected, choice = (run() for run in contestants.values())
    wrong = int(np.count_nonzero(choice.act_index != expected))
    bare = next(iter(best.values()))
    return [
        {
            "10 million rows, 5 truths, 6 acts": name,
            "seconds": round(took, 3),
            "ratio": round(took / bare, 2),
            "MB beyond input and output": round(extra_megabytes(contestants[name]), 1),
            "acts that differ": wrong,
        }
        for name, took in best.items()
    ]


def extra_megabytes(run: Callable[[], Any]) -> float:
    """Measure the peak of a run minus what it returns."""
    tracemalloc.start()
    result = run()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    if isinstance(result, np.ndarray):
        kept = result.nbytes
    else:
        kept = result.risk.nbytes + len(result.risk)  # a number, and a byte for the act
    return (peak - kept) / 1e6


def startup(turns: int = 15) -> list[dict[str, Any]]:
    """Time fresh interpreters that import or ask for help, over a bare one."""
    commands = {
        "python -c pass": ["-c", "pass"],
        "import credo": ["-c", "import credo"],
        "from credo import Loss, decide": ["-c", "from credo import Loss, decide"],
        "credo --help": ["-m", "credo", "--help"],
        "import sklearn.base": ["-c", "import sklearn.base"],
    }
    best = dict.fromkeys(commands, np.inf)
    for _ in range(turns):
        for name, arguments in commands.items():
            took = seconds(
                lambda arguments=arguments: subprocess.run(
                    [sys.executable, *arguments], check=True, capture_output=True
                )
            )
            best[name] = min(best[name], took)
    bare = best["python -c pass"]
    return [
        {
            "start": name,
            "seconds": round(took, 3),
            "over a bare interpreter": round(took - bare, 3),
        }
        for name, took in best.items()
    ]


def thresholds(repeats: int = 60) -> list[dict[str, Any]]:
    """Compare mean losses on fresh data: 200 training rows, a miss costs 20, an alarm 1."""
    loss = credo.Loss.class_costs({0: 1, 1: 20})
    scorer = credo.expected_loss_scorer(loss)
    models = {
        "LogisticRegression, threshold 1/2": LogisticRegression,
        "scikit-learn TunedThresholdClassifierCV": lambda: TunedThresholdClassifierCV(
            LogisticRegression(), scoring=scorer
        ),
        "credo.DecisionClassifier": lambda: credo.DecisionClassifier(LogisticRegression(), loss),
    }
    total = dict.fromkeys([*models, "the true posterior"], 0.0)
    took = dict.fromkeys(total, 0.0)
    for seed in range(repeats):
        X, y, _ = two_gaussians(200, seed)
        test_X, test_y, posterior = two_gaussians(50_000, seed + 10_000)
        for name, make in models.items():
            model = make()
            took[name] += seconds(lambda model=model, X=X, y=y: model.fit(X, y))
            total[name] -= scorer(model, test_X, test_y)
        acts = credo.decide(posterior, loss).acts
        total["the true posterior"] += credo.decisions.expected_loss(
            test_y, acts, loss, n_bootstrap=0
        ).value
    floor = total["the true posterior"]
    return [
        {
            "200 rows, a miss costs 20, an alarm 1": name,
            "mean loss": round(value / repeats, 4),
            "above the best possible": f"{100 * (value / floor - 1):.1f} %",
            "fit, ms": round(1000 * took[name] / repeats, 1),
        }
        for name, value in total.items()
    ]


def two_gaussians(n_rows: int, seed: int) -> tuple[Any, Any, credo.Posterior]:
    """Draw labelled rows of two Gaussians in five dimensions, with their true posterior."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_rows) < 0.2).astype(int)
    X = rng.normal(size=(n_rows, 5)) + 0.6 * y[:, None]
    log_ratio = 0.6 * (X - 0.3).sum(axis=1)
    posterior = credo.Posterior.from_bayes({0: 0.8, 1: 0.2}, {0: 0.0, 1: log_ratio}, log=True)
    return X, y, posterior


def seconds(run: Callable[[], Any]) -> float:
    """Time one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def write(name: str, rows: Iterable[dict[str, Any]]) -> None:
    """Write a table as CSV, print it as Markdown, and put it in its place in the README."""
    table = list(rows)
    with (RESULTS / f"{name}.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, table[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    lines = [table[0].keys(), *(row.values() for row in table)]
    text = ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]
    text.insert(1, "|" + "---|" * len(table[0]))
    shown = "\n".join(text)
    print(shown, end="\n\n")
    place = re.compile(f"(<!-- {name} -->\n).*?(\n<!-- end -->)", re.DOTALL)
    page = README.read_text(encoding="utf-8")
    README.write_text(place.sub(lambda m: m[1] + shown + m[2], page), encoding="utf-8")


if __name__ == "__main__":
    main()
