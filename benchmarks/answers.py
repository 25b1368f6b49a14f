"""How good answers are on real data, as the library comes, without an option set.

``python benchmarks/answers.py --data FOLDER [--as COLUMN] [--only PART ...] [--quick]``; parts:
kdd, numbers, categories, text, logistic, digits, maxima, samples.

The measures go into one column of ``answers.csv``; the other columns stay, so that two versions are
compared by running the script under each. Cross-validation is 5 x 2 with fixed seeds. The contest's
test rows of KDD-99 are not in the folder: its costs are taken on half of the training sample that
the model has not seen, and on attacks of types that it has not seen.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

import credo
from credo.exceptions import InputError

sys.path.insert(0, str(Path(__file__).parent / "peers"))

from _measure import RESULTS, write

Measures = Iterator[tuple[str, float]]

#: File, target, and columns that say the answer or name the row.
TABLES: dict[str, tuple[str, str, list[str]]] = {
    "adult": ("adult_train.csv.gz", "class", ["fnlwgt"]),
    "bank": ("bank_marketing.csv.gz", "y", []),
    "credit approval": ("credit_approval.csv", "class", []),
    "german credit": ("german_credit.csv", "class", []),
    "glass": ("glass.csv", "Type", []),
    "iris": ("iris.csv", "class", []),
    "letter": ("letter.csv.gz", "class", []),
    "pima": ("pima_diabetes.csv", "class", []),
    "spambase": ("spambase.csv.gz", "class", []),
    "vehicle": ("vehicle.csv", "Class", []),
    "wdbc": ("wdbc.csv", "class", []),
    "wine": ("wine.csv", "class", []),
}
CATEGORIES: dict[str, tuple[str, str, list[str]]] = {
    "car": ("car_evaluation.csv", "class", []),
    "tic-tac-toe": ("tic_tac_toe.csv", "Class", []),
    "votes": ("house_votes_84.csv", "Class", []),
    "soybean": ("soybean.csv", "class", []),
}
#: Attack types of which training sees nothing in the second measure of KDD-99.
UNSEEN = ("satan", "teardrop", "back", "warezmaster", "buffer_overflow")
#: Rows taken of larger tables.
MOST = 6000
#: Probabilities below this are told as this in log loss, as scikit-learn does.
LEAST = 1e-15


def _table(data: Path, place: tuple[str, str, list[str]]) -> tuple[pd.DataFrame, pd.Series]:
    """Read a table: columns of numbers as numbers, the others as text, ``?`` as missing."""
    file, target, drop = place
    frame = pd.read_csv(data / "tabular" / file, na_values="?", skipinitialspace=True)
    frame = frame.drop(columns=[name for name in drop if name in frame])
    if len(frame) > MOST:
        frame = frame.sample(MOST, random_state=0).reset_index(drop=True)
    y = frame.pop(target).astype(str)
    return frame, y


def _validated(make: Callable[[], Any], X: Any, y: Any, repeats: int = 5) -> tuple[float, float]:
    """Return error and log loss of 5 x 2 cross-validation."""
    errors, losses = [], []
    for seed in range(repeats):
        for train, test in StratifiedKFold(2, shuffle=True, random_state=seed).split(X, y):
            model = make().fit(X.iloc[train], y.iloc[train])
            error, loss = _measured(model, X.iloc[test], y.iloc[test])
            errors.append(error)
            losses.append(loss)
    return float(np.mean(errors)), float(np.mean(losses))


def _measured(model: Any, X: Any, y: Any) -> tuple[float, float]:
    """Return error and log loss on rows; NaN if they are refused."""
    labels = model.classes_
    try:
        p = model.predict_proba(X)
    except InputError:
        return float("nan"), float("nan")
    error = float((labels[p.argmax(axis=1)] != y.to_numpy()).mean())
    p = np.clip(p, LEAST, None)
    return error, float(log_loss(y, p / p.sum(axis=1, keepdims=True), labels=labels))


# --- parts ----------------------------------------------------------------------------------------


def _kdd_rows(data: Path) -> tuple[pd.DataFrame, pd.Series, pd.Series, credo.Loss]:
    """Read the sample of KDD-99: columns, attack type, group, and the contest's costs."""
    names = (data / "tabular" / "kddcup99.names").read_text().splitlines()[1:]
    columns = [line.split(":")[0] for line in names if ":" in line]
    costs = json.loads((data / "tabular" / "cost_matrices.json").read_text())["kddcup99"]
    groups = {kind: group for group, kinds in costs["label_to_category"].items() for kind in kinds}
    frame = pd.read_csv(
        data / "tabular" / "kddcup99_10pct.gz", header=None, names=[*columns, "kind"]
    )
    kind = frame.pop("kind").str.rstrip(".")
    group = kind.map(groups)
    loss = credo.Loss(np.array(costs["matrix"], dtype=float), costs["classes"], costs["classes"])
    return frame, kind, group, loss


def kdd(data: Path, *, quick: bool) -> Measures:
    """Measure naive Bayes on KDD-99, by the contest's costs."""
    X, kind, group, loss = _kdd_rows(data)
    half = np.random.default_rng(0).random(len(X)) < (0.02 if quick else 0.5)
    half[X.select_dtypes("number").idxmax()] = True  # so that no number is above all that it saw
    model = credo.NaiveBayes().fit(X[half], group[half])
    yield "KDD-99 naive Bayes, other half: mean cost", _cost(model, X[~half], group[~half], loss)
    yield "KDD-99 naive Bayes, other half: log loss", _measured(model, X[~half], group[~half])[1]
    unseen = kind.isin(UNSEEN)
    model = credo.NaiveBayes().fit(X[half & ~unseen], group[half & ~unseen])
    yield (
        "KDD-99 naive Bayes, unseen attacks: mean cost",
        _cost(model, X[unseen], group[unseen], loss),
    )


def _cost(model: Any, X: Any, y: Any, loss: credo.Loss) -> float:
    """Return the mean cost of the decisions; NaN if the rows are refused."""
    try:
        acts = credo.decide(model.posterior(X), loss).acts
    except InputError:
        return float("nan")
    table = pd.DataFrame(loss.matrix, loss.truths, loss.acts)
    rows, columns = table.index.get_indexer(y), table.columns.get_indexer(np.asarray(acts))
    return float(table.to_numpy()[rows, columns].mean())


def numbers(data: Path, *, quick: bool) -> Measures:
    """Measure naive Bayes on tables with numeric columns."""
    found = {}
    for name, place in list(TABLES.items())[: 3 if quick else None]:
        X, y = _table(data, place)
        found[name] = _validated(credo.NaiveBayes, X, y, 1 if name == "letter" else 5)
    for j, what in enumerate(("error", "log loss")):
        yield (
            f"naive Bayes, {len(found)} tables: mean {what}",
            float(np.mean([pair[j] for pair in found.values()])),
        )
    for name, (error, loss) in found.items():
        yield f"naive Bayes, {name}: error", error
        yield f"naive Bayes, {name}: log loss", loss


def categories(data: Path, *, quick: bool) -> Measures:
    """Measure naive Bayes on categories; also with every second class thinned to five rows."""
    for name, place in list(CATEGORIES.items())[: 1 if quick else None]:
        X, y = _table(data, place)
        X = X.astype("string").astype(object).where(X.notna(), None)
        yield f"categories, {name}: log loss", _validated(credo.NaiveBayes, X, y)[1]
    losses = []
    for seed in range(5):
        for train, test in StratifiedKFold(2, shuffle=True, random_state=seed).split(X, y):
            thin = _thinned(y.iloc[train], np.random.default_rng(seed))
            model = credo.NaiveBayes().fit(X.iloc[train[thin]], y.iloc[train[thin]])
            losses.append(_measured(model, X.iloc[test], y.iloc[test])[1])
    yield f"categories, {name} with classes of 5 rows: log loss", float(np.mean(losses))


def _thinned(y: pd.Series, rng: np.random.Generator) -> Any:
    """Return positions that keep five rows of every second class."""
    kept = []
    for j, label in enumerate(sorted(set(y))):
        rows = rng.permutation(np.flatnonzero(y.to_numpy() == label))
        kept.append(rows[:5] if j % 2 else rows)
    return np.concatenate(kept)


def text(data: Path, *, quick: bool) -> Measures:
    """Measure the classifier of documents."""
    folder = data / "text"
    train, test = (_documents(folder / f"reuters_r8_{part}.tsv.gz") for part in ("train", "test"))
    error, loss = _measured(credo.TextClassifier().fit(*train), *test)
    yield "text, Reuters R8: error", error
    yield "text, Reuters R8: log loss", loss
    for name, file in (("SMS", "sms_spam"), ("twenty newsgroups", "newsgroups20_a")):
        X, y = _documents(folder / f"{file}.tsv.gz")
        error, loss = _validated(credo.TextClassifier, X, y, 1 if quick else 5)
        yield f"text, {name}: error", error
        yield f"text, {name}: log loss", loss


def _documents(path: Path) -> tuple[pd.Series, pd.Series]:
    """Read documents and labels."""
    frame = pd.read_csv(path, sep="\t", quoting=csv.QUOTE_NONE, keep_default_na=False)
    label = "label" if "label" in frame else frame.columns[0]
    words = next(name for name in frame.columns if name != label)
    return frame[words].astype(str), frame[label].astype(str)


def logistic(data: Path, *, quick: bool) -> Measures:
    """Time logistic regression with a ridge on all rows of KDD-99."""
    X, _, group, loss = _kdd_rows(data)
    if quick:
        X, group = X[::100], group[::100]
    start = time.process_time()
    model = credo.LogisticClassifier(penalty="l2").fit(X, group)
    yield "KDD-99 logistic regression, L2: CPU seconds", time.process_time() - start
    yield "KDD-99 logistic regression, L2: mean cost of training rows", _cost(model, X, group, loss)


def digits(data: Path, *, quick: bool) -> Measures:
    """Measure Gaussian naive Bayes on digits, with the widest variance smoothing there is."""
    del quick
    X, y = _table(data, ("digits.csv.gz", "class", []))
    yield (
        "digits, Gaussian naive Bayes, floor: accuracy",
        1 - _validated(lambda: credo.NaiveBayes("gaussian"), X, y)[0],
    )
    if "variance_smoothing" in credo.NaiveBayes().get_params():
        yield (
            "digits, Gaussian naive Bayes, variance_smoothing=0.1: accuracy",
            1 - _validated(lambda: credo.NaiveBayes("gaussian", variance_smoothing=0.1), X, y)[0],
        )


def maxima(data: Path, *, quick: bool) -> Measures:
    """Take the most probable configurations of frustrated grids; the best known is told, too."""
    for name in ("Grids_26",) if quick else ("Grids_26", "Grids_29"):
        path = data / "graphical" / "uai" / "uai2014map" / f"{name}.uai.gz"
        model = credo.read_network(path)
        start = time.process_time()
        found = credo.mpe(model)
        yield f"mpe, {name}: log score", float(found.log_score)
        yield f"mpe, {name}: CPU seconds", time.process_time() - start


def samples(data: Path, *, quick: bool) -> Measures:
    """Compare 10 000 draws on alarm with exact marginals."""
    path = data / "graphical" / "bif" / "alarm.bif.gz"
    net = credo.read_network(path)
    evidence = {"HRBP": "HIGH", "CVP": "LOW"}
    exact = credo.infer(net, evidence)
    draws = 1000 if quick else 10_000
    for method in ("gibbs", "samples"):
        try:
            post = credo.infer(net, evidence, method=method, draws=draws, seed=0)
        except InputError:  # a version without it
            continue
        pairs = [(post[name].probabilities, exact[name].probabilities) for name in net.names]
        off = max(float(np.abs(mine - true).max()) for mine, true in pairs)
        yield f"alarm, {draws} draws of {method}: largest error of a marginal", off


PARTS = {
    part.__name__: part
    for part in (kdd, numbers, categories, text, logistic, digits, maxima, samples)
}


def main() -> None:
    """Run the parts asked for, and put their measures into the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the real data")
    parser.add_argument("--as", dest="column", default="now", help="column of the table")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    parser.add_argument("--into", type=Path, default=RESULTS)
    parser.add_argument("--quick", action="store_true", help="little work, to see that it runs")
    read = parser.parse_args()
    path = read.into / "answers.csv"
    table: dict[str, dict[str, str]] = {}
    if path.exists():
        with path.open(newline="") as stream:
            table = {row["measure"]: row for row in csv.DictReader(stream)}
    for part in read.only:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for measure, value in PARTS[part](read.data, quick=read.quick):
                shown = "refused" if np.isnan(value) else f"{value:.4g}"
                table.setdefault(measure, {"measure": measure})[read.column] = shown
                print(f"{measure}: {shown}", flush=True)
    columns = list(dict.fromkeys(name for row in table.values() for name in row))
    write("answers", [{c: row.get(c, "") for c in columns} for row in table.values()], read.into)


if __name__ == "__main__":
    main()
