"""How far approximate answers are from exact ones, method by method.

``python benchmarks/accuracy.py [--quick] [--only PART ...] [--data FOLDER] [--figure FILE]``;
parts: grids, graphs, networks, instances.

Beliefs are compared with the junction tree's: for each variable half the sum of the absolute
differences, of which the mean and the largest are told. Over-confidence is the mean excess of the
largest belief over the largest probability. The instances of the UAI competitions are looked for in
the folder ``graphical/uai`` of ``--data``. The networks come inside pgmpy.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _accuracy_cases import Case, graphs, grids, instances, networks

import credo

sys.path.insert(0, str(Path(__file__).parent / "peers"))

from _measure import RESULTS, Row, significant, write, write_machine

METHODS = (
    *("loopy", "tree_reweighted", "mean_field", "structured_mean_field"),
    *("generalised", "double_loop", "gibbs"),
)
SETTLED = ("CONVERGED", "EXACT", "SAMPLED")
#: Errors below this are those of floating point.
ROUNDING = 1e-12
#: Memory of the exact answer: a model that needs more is left out.
BUDGET = "2GB"


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is run."""

    sides: Sequence[int]
    nodes: int
    couplings: Sequence[float]
    draws: int
    networks: Sequence[str]
    instances: Sequence[str]


FULL = Scale(
    (10, 15),
    50,
    (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0),
    3,
    ("child", "alarm", "insurance", "hailfinder", "hepar2", "win95pts", "andes", "pigs"),
    ("uai2014/Grids_1*", "uai2014/Segmentation*", "uai2014/Obj*", "uai2014/Promedus*", "small/*"),
)
QUICK = Scale((4,), 12, (0.2, 1.0), 1, ("child",), ("small/*",))


def main() -> None:
    """Run the parts asked for, write their tables, print them, and draw the figure."""
    read = _arguments()
    scale = QUICK if read.quick else FULL
    measured: list[Row] = []
    for part in read.only:
        measured.extend(_measure(PARTS[part](scale, read.data), read.methods))
    _write(measured, read.into)
    if read.figure:
        _draw(measured, read.figure)
        print(f"The figure is {read.figure}")
    write_machine(read.into)
    print(f"\nThe tables are in {read.into}")


def _arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes; tables are temporary")
    parser.add_argument("--only", nargs="+", choices=tuple(PARTS), default=tuple(PARTS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--data", type=Path, help="the folder that holds graphical/uai")
    parser.add_argument("--figure", type=Path, help="where to draw error against coupling")
    read = parser.parse_args()
    read.into = Path(tempfile.mkdtemp(prefix="credo-bench-")) if read.quick else RESULTS
    return read


def _measure(cases: Iterable[Case], methods: Sequence[str]) -> Iterator[Row]:
    """Run all methods on all cases whose exact answer is within reach."""
    for case in cases:
        try:
            exact = credo.infer(case.model, case.evidence, method="junction_tree", budget=BUDGET)
        except credo.exceptions.BudgetError:
            print(f"{case.name} is left out: its exact answer needs more than {BUDGET}.")
            continue
        names = [name for name in case.model.names if name not in case.evidence]
        truth = [exact.probabilities(name) for name in names]
        for method in methods:
            place = {"kind": case.kind, "group": case.group, "case": case.name}
            row = place | {"coupling": case.coupling, "method": method}
            yield row | _compared(case, method, names, truth, exact.log_evidence)
        print(f"{case.name}, coupling {case.coupling}: done", flush=True)


def _compared(
    case: Case, method: str, names: Sequence[Any], truth: Sequence[Any], log_z: float
) -> Row:
    """Run one method on one case and compare; a method's refusal is an answer, too."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            post = credo.infer(case.model, case.evidence, method=method)
            found = [post.probabilities(name) for name in names]
    except credo.exceptions.CredoError as error:
        print(f"{case.name}, {method}: {type(error).__name__}: {error}"[:200], flush=True)
        return {"status": "refused"}
    took = time.perf_counter() - start
    apart = np.array([0.5 * np.abs(p - q).sum() for p, q in zip(found, truth, strict=True)])
    bold = np.mean([p.max() - q.max() for p, q in zip(found, truth, strict=True)])
    estimate = _log_evidence(post)
    return {
        "status": str(post.status),
        "mean": float(apart.mean()),
        "worst": float(apart.max()),
        "over-confidence": float(bold),
        "log Z": None if estimate is None else estimate - log_z,
        "seconds": took,
    }


def _log_evidence(post: Any) -> float | None:
    """Read the estimate of log Z, if the method has one."""
    try:
        value = float(post.log_evidence)
    except credo.exceptions.CredoError:
        return None
    return value if np.isfinite(value) else None


def _write(measured: Sequence[Row], into: Path) -> None:
    """Write the long table, and a short one with a row per method."""
    done = [row for row in measured if row["status"] != "refused"]
    keys = list(dict.fromkeys((r["group"], r["coupling"], r["method"]) for r in measured))
    table = [_average(key, measured) for key in keys]
    write("accuracy", table, into)
    short = [_glance(method, done) for method in dict.fromkeys(r["method"] for r in done)]
    write("accuracy_glance", short, into)


def _average(key: tuple[str, float | None, str], measured: Sequence[Row]) -> Row:
    """Average over the draws of one group, coupling and method."""
    every = [row for row in measured if (row["group"], row["coupling"], row["method"]) == key]
    rows = [row for row in every if row["status"] != "refused"]
    loopy = [r for r in measured if (r["group"], r["coupling"], r["method"]) == (*key[:2], "loopy")]
    row: Row = {"group": key[0], "coupling": "" if key[1] is None else key[1], "method": key[2]}
    row["answered"] = f"{len(rows)} of {len(every)}"
    row["settled"] = sum(row["status"] in SETTLED for row in rows)
    row["mean error"] = _mean(rows, "mean")
    row["worst error"] = significant(max(r["worst"] for r in rows)) if rows else ""
    row["over-confidence"] = _mean(rows, "over-confidence")
    row["log Z error"] = _mean([r | {"log Z": abs(r["log Z"])} for r in _with_log(rows)], "log Z")
    row["log Z excess"] = _mean(_with_log(rows), "log Z")
    row["loopy / this"] = _gain(_mean(loopy, "mean"), row["mean error"])
    row["seconds"] = _mean(rows, "seconds")
    return row


def _gain(loopy: float | str, this: float | str) -> float | str:
    """Tell how many times smaller an error is than that of loopy propagation."""
    if isinstance(loopy, str) or isinstance(this, str):
        return ""
    if not this:
        return "exact"
    return significant(loopy / this)


def _with_log(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["log Z"] is not None]


def _mean(rows: Sequence[Row], column: str) -> float | str:
    """Average a column; what is left by rounding is zero."""
    values = [row[column] for row in rows if column in row]
    mean = float(np.mean(values)) if values else 0.0
    return (significant(mean) if abs(mean) > ROUNDING else 0.0) if values else ""


def _glance(method: str, done: Sequence[Row]) -> Row:
    """Tell a method's mean error by kind of model."""
    row: Row = {"method": method}
    for kind, rows in _kinds(done).items():
        row[kind] = _mean([r for r in rows if r["method"] == method], "mean")
    row["worst of all"] = significant(max(r["worst"] for r in done if r["method"] == method))
    return row


def _kinds(done: Sequence[Row]) -> dict[str, list[Row]]:
    """Sort rows into a few kinds of models, weak and strong couplings apart."""
    kinds: dict[str, list[Row]] = {}
    for row in done:
        strength = row["coupling"]
        more = "" if strength is None else f", J {'≤' if strength <= 0.5 else '>'} 0.5"
        kinds.setdefault(row["kind"] + more, []).append(row)
    return kinds


def _draw(measured: Sequence[Row], path: Path) -> None:
    """Draw errors of beliefs and of log Z against coupling, on the largest grids."""
    import matplotlib as mpl  # noqa: PLC0415 - only when drawing

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    done = [r for r in measured if r["status"] != "refused" and r["kind"].endswith("grids")]
    chosen = {row["kind"]: row["group"] for row in done}
    columns = (("mean", "mean error of beliefs"), ("log Z", "|error| of log Z"))
    figure, axes = plt.subplots(2, 2, figsize=(9, 6.4), layout="constrained", sharex=True)
    for across, group in enumerate(chosen.values()):
        for down, (column, label) in enumerate(columns):
            axis = axes[down, across]
            for method in dict.fromkeys(r["method"] for r in done):
                rows = [r for r in done if (r["group"], r["method"]) == (group, method)]
                axis.plot(*_line(rows, column), "o-", label=method, markersize=3)
            axis.set(yscale="log", title=group if not down else "", ylabel=label)
            axis.set_xlabel("coupling" if down else "")
    axes[0, 0].legend(fontsize=7)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _line(rows: Sequence[Row], column: str) -> tuple[list[float], list[float]]:
    """Average over draws: couplings, and absolute errors above zero."""
    points: dict[float, list[float]] = {}
    for row in rows:
        if row[column] is not None:
            points.setdefault(row["coupling"], []).append(abs(row[column]))
    means = {coupling: float(np.mean(values)) for coupling, values in points.items()}
    kept = {coupling: mean for coupling, mean in means.items() if mean > 0}
    return list(kept), list(kept.values())


PARTS: dict[str, Callable[[Scale, Path | None], Iterator[Case]]] = {
    "grids": lambda scale, _: grids(scale.sides, scale.couplings, scale.draws),
    "graphs": lambda scale, _: graphs(scale.nodes, scale.couplings, scale.draws),
    "networks": lambda scale, _: networks(scale.networks, scale.draws),
    "instances": lambda scale, data: instances(data, scale.instances),
}

if __name__ == "__main__":
    main()
