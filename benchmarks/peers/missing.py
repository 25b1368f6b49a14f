"""Missing values: exact marginals against the imputers of scikit-learn.

``python benchmarks/peers/missing.py [--quick]``

Each of 20 seeds draws a stratified half of the rows to learn from and removes 20 % of the cells,
completely at random: of the test rows only, or of all rows. The model is always the same
``GaussianClassifier`` with ``shrinkage="oas"``; only what it is given differs: the rows as they
are, or filled in by an imputer that was fitted to the training rows. No missing indicators are
added. The log loss is not clipped.

What the imputers see is fair to them. Breast cancer and wine are standardised by the training
rows first, for the neighbours' sake; the Gaussian model does not care. The digits are whole
numbers and some pixels are constant in a class, so uniform noise of one unit is added, after
imputing, for all alike. ``IterativeImputer`` stops after one round if the training rows are
complete; so it also takes part fitted to training rows from which 20 % were removed.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from _measure import Row, arguments, write, write_machine
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - unlocks the next import
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import credo

SEEDS, SHARE = 20, 0.2
DATASETS: dict[str, Callable[..., Any]] = {
    "breast cancer": load_breast_cancer,
    "wine": load_wine,
    "digits": load_digits,
}
WHOLE_NUMBERS = {"digits"}
MODELS = ("tied", "full")
TEST_ONLY, EVERYWHERE = "test rows", "all rows"
MARGINALISED, COMPLETE = "marginalised (credo)", "nothing missing (reference)"
MEAN, REHEARSED = "SimpleImputer mean", "IterativeImputer, rehearsed"
IMPUTERS: dict[str, Callable[[], Any]] = {
    MEAN: SimpleImputer,
    "SimpleImputer median": lambda: SimpleImputer(strategy="median"),
    "SimpleImputer most frequent": lambda: SimpleImputer(strategy="most_frequent"),
    "KNNImputer": KNNImputer,
    "IterativeImputer": lambda: IterativeImputer(random_state=0),
}

#: Log loss and accuracy of each seed, by data set, where cells are missing, model and method.
Scores = dict[tuple[str, str, str, str], list[tuple[float, float]]]


def main() -> None:
    """Score all methods on all seeds, write the tables and say who won."""
    read = arguments(__doc__)
    scores: Scores = defaultdict(list)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\[IterativeImputer\]")  # ten rounds, as by default
        for name in DATASETS:
            for seed in range(2 if read.quick else SEEDS):
                for place, score in scored(Split.draw(name, seed)):
                    scores[name, *place].append(score)
    table = list(rows_of(scores))
    write("gaussian_missing", table, read.into)
    groups = in_groups(table)
    write("imputers", map(glance, groups), read.into)
    for group in groups:
        say(group)
    write_machine(read.into)
    print(f"\nThe tables are in {read.into}")


@dataclass(frozen=True, slots=True)
class Split:
    """Rows to learn from and to be tested on, complete and with holes."""

    train: Any
    test: Any
    train_holes: Any
    test_holes: Any
    train_noise: Any
    test_noise: Any
    train_y: Any
    test_y: Any

    @classmethod
    def draw(cls, name: str, seed: int) -> Split:
        """Split a data set, scale it, and remove cells."""
        X, y = DATASETS[name](return_X_y=True)
        train, test, train_y, test_y = train_test_split(
            X, y, test_size=0.5, stratify=y, random_state=seed
        )
        if name not in WHOLE_NUMBERS:
            scaler = StandardScaler().fit(train)
            train, test = scaler.transform(train), scaler.transform(test)
        rng = np.random.default_rng(seed)
        noise = [
            rng.uniform(-0.5, 0.5, part.shape) if name in WHOLE_NUMBERS else 0.0
            for part in (train, test)
        ]
        holes = [np.where(rng.random(x.shape) < SHARE, np.nan, x) for x in (train, test)]
        return cls(train, test, *holes, *noise, train_y, test_y)


def scored(split: Split) -> Iterator[tuple[tuple[str, str, str], tuple[float, float]]]:
    """Give the score of each method and model, for both kinds of missing cells."""
    for where in (TEST_ONLY, EVERYWHERE):
        for method, train, test in prepared(split, where):
            for shape in MODELS:
                model = credo.GaussianClassifier(shape, shrinkage="oas")
                model.fit(train + split.train_noise, split.train_y)
                yield (where, shape, method), score(model, test + split.test_noise, split.test_y)


def prepared(split: Split, where: str) -> Iterator[tuple[str, Any, Any]]:
    """Give what each method makes of the training and the test rows."""
    train = split.train if where == TEST_ONLY else split.train_holes
    yield COMPLETE, split.train, split.test
    yield MARGINALISED, train, split.test_holes
    for name, make in IMPUTERS.items():
        imputer = make().fit(train)
        yield name, imputer.transform(train), imputer.transform(split.test_holes)
    if where == TEST_ONLY:
        imputer = IMPUTERS["IterativeImputer"]().fit(split.train_holes)
        yield REHEARSED, train, imputer.transform(split.test_holes)


def score(model: Any, X: Any, y: Any) -> tuple[float, float]:
    """Give the log loss, exact however small a probability is, and the accuracy."""
    logs = model.predict_log_proba(X)
    truth = np.searchsorted(model.classes_, y)
    loss = -float(logs[np.arange(len(y)), truth].mean())
    return loss, float((logs.argmax(axis=1) == truth).mean())


def rows_of(scores: Scores) -> Iterator[Row]:
    """Make the table: means over the seeds, standard errors, and who is best."""
    for place, pairs in scores.items():
        losses, accuracies = np.transpose(pairs)
        behind = losses - np.array(scores[*place[:3], MARGINALISED])[:, 0]
        yield {
            **dict(zip(("data", "missing in", "model", "method"), place, strict=True)),
            "log loss": round(losses.mean(), 4),
            "its standard error": round(standard_error(losses), 4),
            "over marginalised": round(behind.mean(), 4),
            "its paired standard error": round(standard_error(behind), 4),
            "accuracy": round(accuracies.mean(), 4),
            "standard error of accuracy": round(standard_error(accuracies), 4),
            "best of its group in": " and ".join(wins(scores, place)),
        }


def wins(scores: Scores, place: tuple[str, str, str, str]) -> Iterator[str]:
    """Say in what a method is the best of its group; the reference does not compete."""
    means = {
        key: np.mean(pairs, axis=0)
        for key, pairs in scores.items()
        if key[:3] == place[:3] and key[3] != COMPLETE
    }
    if place not in means:
        return
    if means[place][0] == min(mean[0] for mean in means.values()):
        yield "log loss"
    if means[place][1] == max(mean[1] for mean in means.values()):
        yield "accuracy"


def standard_error(values: Any) -> float:
    """Give the standard error of a mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def in_groups(table: list[Row]) -> list[dict[str, Row]]:
    """Gather the methods that compete: same data, same missing cells, same model."""
    groups: dict[Any, dict[str, Row]] = defaultdict(dict)
    for row in table:
        groups[row["data"], row["missing in"], row["model"]][row["method"]] = row
    return list(groups.values())


def imputed(group: dict[str, Row]) -> list[Row]:
    """Choose the rows of the imputers."""
    return [row for name, row in group.items() if name not in (MARGINALISED, COMPLETE)]


def glance(group: dict[str, Row]) -> Row:
    """Make a row of the README."""
    ours = group[MARGINALISED]
    least = min(imputed(group), key=lambda row: row["log loss"])
    most = max(imputed(group), key=lambda row: row["accuracy"])
    return {
        "20 % of the cells missing": f"{ours['data']}, in {ours['missing in']}, {ours['model']}",
        "log loss: marginalised (credo)": ours["log loss"],
        "best imputer": f"{least['log loss']} ({least['method']})",
        "mean imputed": group[MEAN]["log loss"],
        "accuracy: marginalised (credo)": ours["accuracy"],
        "most accurate imputer": f"{most['accuracy']} ({most['method']})",
    }


def say(group: dict[str, Row]) -> None:
    """Print the verdict of a group: marginalising is to have the least log loss."""
    ours = group[MARGINALISED]
    least = min(imputed(group), key=lambda row: row["log loss"])
    kept = "log loss" in ours["best of its group in"]
    print(
        f"{'kept  ' if kept else 'MISSED'} {ours['data']}, in {ours['missing in']}, "
        f"{ours['model']}: marginalised {ours['log loss']}, then {least['method']} "
        f"{least['log loss']}, {least['over marginalised']:+} ± "
        f"{least['its paired standard error']} paired",
        flush=True,
    )


if __name__ == "__main__":
    main()
