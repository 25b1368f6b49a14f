"""``NaiveBayes`` against its peers: documents, text columns, mixed tables, numbers.

``python benchmarks/peers/discrete.py [--quick] [--only text categorical mixed gaussian]``

All run on one thread. The peers are scikit-learn, mixed-naive-bayes and wnb; the last two come
with the extra ``peers``, and are not measured without it. Models are the same on both sides,
but for text columns with missing cells: ``CategoricalNB`` refuses them, so that its pipeline
makes them a category of their own first, by filling them in or by the encoder, while
``NaiveBayes`` marginalises them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from _discrete_problems import Categories, Mixed, Text
from _gaussian_problems import Problem
from _measure import (
    ABSENT,
    Row,
    arguments,
    in_fresh_process,
    significant,
    verdict,
    write,
    write_machine,
)
from _peers import is_there, say_absent

JOBS = Path(__file__).parent / "_discrete_jobs.py"
STEPS = ("fit", "predict_proba")
#: The pipelines of scikit-learn for text columns, by what they do with missing cells.
PIPELINES = {
    "none": "OrdinalEncoder + CategoricalNB",
    "filled": 'fill "missing" + OrdinalEncoder + CategoricalNB',
    "coded": "OrdinalEncoder(encoded_missing_value) + CategoricalNB",
}
#: How text columns are given, the share of missing cells, and what the peer does with these.
GIVEN = (
    ("object array", 0.0, "none"),
    ("data frame", 0.0, "none"),
    ("object array", 0.05, "filled"),
    ("object array", 0.05, "coded"),
    ("data frame", 0.05, "filled"),
    ("data frame", 0.05, "coded"),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """How large everything is; wnb is slow, so that its problem is smaller."""

    text: Text
    categorical: Categories
    mixed: dict[str, Mixed]
    gaussian: Problem
    turns: dict[str, int]


LEVELS = (4, 6, 8, 10, 12)
FULL = Scale(
    text=Text(200_000, 50_000, 20, length=60),
    categorical=Categories(300_000, (5, 11, 17, 24, 30, 37, 43, 50), classes=5),
    mixed={
        "mixed-naive-bayes": Mixed(1_000_000, 10, 5, LEVELS, classes=5),
        "wnb": Mixed(100_000, 10, 5, LEVELS, classes=5),
    },
    gaussian=Problem(1_000_000, 20, 5),
    turns={"text": 9, "categorical": 5, "mixed-naive-bayes": 7, "wnb": 2, "gaussian": 7},
)
QUICK = Scale(
    text=Text(3_000, 2_000, 5, length=30),
    categorical=Categories(5_000, (5, 20), classes=3),
    mixed={
        "mixed-naive-bayes": Mixed(5_000, 10, 5, LEVELS, classes=5),
        "wnb": Mixed(3_000, 10, 5, LEVELS, classes=5),
    },
    gaussian=Problem(5_000, 20, 5),
    turns=dict.fromkeys(("text", "categorical", "mixed-naive-bayes", "wnb", "gaussian"), 2),
)


def main() -> None:
    """Run the parts asked for, write their tables, print them and the verdicts."""
    read = arguments(__doc__, tuple(PARTS))
    scale = QUICK if read.quick else FULL
    say_absent(*scale.mixed)
    for part in read.only:
        PARTS[part](scale, read.into)
    write_machine(read.into)
    print(f"\nThe tables are in {read.into}")


def text(scale: Scale, into: Path) -> None:
    """Ask whether documents are learned and classified faster, in no more memory."""
    table = list(text_rows(scale))
    write("discrete_text", table, into)
    write("text_ratios", map(text_glance, table), into)
    for step in STEPS:
        rows = [row for row in table if row["step"] == step]
        verdict(f"documents, {step}", rows, "peer / credo", ">= 1.5")
        verdict(f"documents, {step}", rows, "MB more than peer", "<= 0")
    verdict("documents", table, "posteriors differ by", "<= 1e-10")


def text_rows(scale: Scale) -> Iterator[Row]:
    """Make the rows of the table of documents; the peer is the faster setting of it."""
    for model in ("multinomial", "bernoulli"):
        asked = {"problem": asdict(scale.text), "model": model, "turns": scale.turns["text"]}
        took = in_fresh_process(JOBS, asked | {"job": "text"}, 1)
        space = in_fresh_process(JOBS, asked | {"job": "text_memory"}, 1)
        for step in STEPS:
            peer = fastest_peer(took, step)
            more = space["credo"][step] - space[peer][step]
            yield asdict(scale.text) | {
                "model": model,
                "step": step,
                "peer": peer,
                **compared(took["credo"][step], took[peer][step]),
                "credo extra MB": round(space["credo"][step], 1),
                "peer extra MB": round(space[peer][step], 1),
                "MB more than peer": significant(more),
                "posteriors differ by": significant(took[peer]["difference"], 2),
            }


def fastest_peer(took: Row, step: str) -> str:
    """Name the peer that is fastest in a step."""
    return min(took.keys() - {"credo"}, key=lambda name: took[name][step])


def text_glance(row: Row) -> Row:
    """Make a row of the README."""
    size = f"{spaced(row['rows'])} documents, {spaced(row['features'])} words"
    return {
        "documents": f"{size}, {row['classes']} classes: {row['step']}, {row['peer']}",
        "credo, s": row["credo s"],
        "scikit-learn takes": f"{row['peer / credo']} ×",
        "MB beyond input and posteriors: credo": row["credo extra MB"],
        "scikit-learn": row["peer extra MB"],
    }


def categorical(scale: Scale, into: Path) -> None:
    """Ask whether columns of strings are faster without an encoder."""
    table = [categorical_row(scale, *given) for given in GIVEN]
    write("discrete_categorical", table, into)
    write("categorical_ratios", map(categorical_glance, table), into)
    for row in table:
        verdict(f"strings, {in_words(row)}, {row['peer']}", [row], "peer / credo", ">= 3")
    same = [row for row in table if not row["missing"]]
    verdict("strings", same, "posteriors differ by", "<= 1e-10")


def categorical_row(scale: Scale, given_as: str, missing: float, pipeline: str) -> Row:
    """Make a row of the table of text columns: a fit and the posteriors of the same rows."""
    problem = scale.categorical
    asked = {"job": "categorical", "problem": asdict(problem), "turns": scale.turns["categorical"]}
    given = {"given as": given_as, "missing": missing, "pipeline": pipeline}
    took = in_fresh_process(JOBS, asked | given, 1)
    difference = significant(took["difference"], 2)
    return {
        "rows": problem.rows,
        "features": len(problem.levels),
        "classes": problem.classes,
        "given as": given_as,
        "missing": missing,
        "peer": PIPELINES[pipeline],
        **compared(took["credo"], took["peer"]),
        "posteriors differ by": "another model" if missing else difference,
    }


def categorical_glance(row: Row) -> Row:
    """Make a row of the README."""
    size = f"{spaced(row['rows'])} × {row['features']} strings, {row['classes']} classes"
    return {
        "fit and predict_proba": f"{size}: {in_words(row)}",
        "credo, s": row["credo s"],
        "scikit-learn takes": f"{row['peer / credo']} ×",
        "with": row["peer"],
    }


def in_words(row: Row) -> str:
    """Name how text columns are given."""
    return f"{row['given as']}, {row['missing']:.0%} missing"


def mixed(scale: Scale, into: Path) -> None:
    """Ask whether a mixed table is faster than with the peers that take one."""
    table = [mixed_row(scale, peer) for peer in scale.mixed]
    write("discrete_mixed", table, into)
    write("mixed_ratios", map(mixed_glance, table), into)
    for row in table:
        verdict(f"mixed table, {row['peer']}", [row], "peer / credo", ">= 5")
        verdict(f"mixed table, {row['peer']}", [row], "posteriors differ by", "<= 1e-10")


def mixed_row(scale: Scale, peer: str) -> Row:
    """Make a row of the table of mixed tables."""
    problem = scale.mixed[peer]
    asked = {"job": "mixed", "peer": peer, "problem": asdict(problem), "turns": scale.turns[peer]}
    took = in_fresh_process(JOBS, asked, 1) if is_there(peer) else None
    place = {"rows": problem.rows, "features": problem.features, "classes": problem.classes}
    return place | {"peer": versioned(peer), **both_steps(took)}


def versioned(package: str) -> str:
    """Name a package, with its version if it is installed."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package


def both_steps(took: Row | None) -> Row:
    """Give the seconds of fit and posteriors, and the ratio of their sums."""
    columns = [f"{who} {step} s" for step in STEPS for who in ("credo", "peer")]
    if took is None:
        return dict.fromkeys([*columns, "peer / credo", "posteriors differ by"], ABSENT)
    parts = [significant(took[who][step]) for step in STEPS for who in ("credo", "peer")]
    ours, theirs = (sum(took[who][step] for step in STEPS) for who in ("credo", "peer"))
    return dict(zip(columns, parts, strict=True)) | {
        "peer / credo": significant(theirs / ours),
        "posteriors differ by": significant(took["peer"]["difference"], 2),
    }


def mixed_glance(row: Row) -> Row:
    """Make a row of the README."""
    ratio = row["peer / credo"]
    return {
        "mixed table": f"{spaced(row['rows'])} × {row['features']}, {row['classes']} classes",
        "peer": row["peer"],
        "credo: fit, s": row["credo fit s"],
        "predict_proba, s": row["credo predict_proba s"],
        "the peer takes": ratio if ratio == ABSENT else f"{ratio} ×",
    }


def gaussian(scale: Scale, into: Path) -> None:
    """Tell how numbers only compare with ``GaussianNB``; there is no bar."""
    asked = {"problem": asdict(scale.gaussian), "turns": scale.turns["gaussian"]}
    took = in_fresh_process(JOBS, asked | {"job": "gaussian"}, 1)
    row = asdict(scale.gaussian) | {"peer": "GaussianNB", **both_steps(took)}
    write("discrete_gaussian", [row], into)


def compared(ours: float, theirs: float) -> Row:
    """Give the seconds of both and their ratio."""
    return {
        "credo s": significant(ours),
        "peer s": significant(theirs),
        "peer / credo": significant(theirs / ours),
    }


def spaced(number: int) -> str:
    """Write a number with spaces between thousands."""
    return f"{number:_}".replace("_", " ")


PARTS: dict[str, Callable[[Scale, Path], Any]] = {
    "text": text,
    "categorical": categorical,
    "mixed": mixed,
    "gaussian": gaussian,
}

if __name__ == "__main__":
    main()
