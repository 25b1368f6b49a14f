"""Decisions against their peers: speed and memory of decide, start-up, thresholds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from _measure import RESULTS, best_of, extra_megabytes, seconds, write, write_machine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TunedThresholdClassifierCV

import credo

LABELS, ACTS = list("abcde"), list("uvwxyz")


def main() -> None:
    """Run all questions, write their tables and print them."""
    RESULTS.mkdir(exist_ok=True)
    write("decide", decide_against_numpy())
    write("startup", startup())
    write("thresholds", thresholds())
    write_machine()


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
    best = best_of(contestants, turns)
    expected, choice = (run() for run in contestants.values())
    wrong = int(np.count_nonzero(choice.act_index != expected))
    bare = next(iter(best.values()))
    return [
        {
            "10 million rows, 5 truths, 6 acts": name,
            "seconds": round(took, 3),
            "ratio": round(took / bare, 2),
            "MB beyond input and output": round(extra_megabytes(contestants[name], kept), 1),
            "acts that differ": wrong,
        }
        for name, took in best.items()
    ]


def kept(result: Any) -> int:
    """Tell the bytes of what a contestant returns."""
    if isinstance(result, np.ndarray):
        return result.nbytes
    return int(result.risk.nbytes) + len(result.risk)  # a number, and a byte for the act


def startup(turns: int = 15) -> list[dict[str, Any]]:
    """Time fresh interpreters that import or ask for help, over a bare one."""
    commands = {
        "python -c pass": ["-c", "pass"],
        "import credo": ["-c", "import credo"],
        "from credo import Loss, decide": ["-c", "from credo import Loss, decide"],
        "credo --help": ["-m", "credo", "--help"],
        "import sklearn.base": ["-c", "import sklearn.base"],
    }
    start = partial(subprocess.run, check=True, capture_output=True)
    best = best_of(
        {name: partial(start, [sys.executable, *rest]) for name, rest in commands.items()}, turns
    )
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


if __name__ == "__main__":
    main()
