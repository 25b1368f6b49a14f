"""``credo show``: what a model file holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from credo.cli.options import AsJson

#: Features that are listed; the JSON has all.
_MOST_FEATURES = 50
#: Categories that are listed of each.
_MOST_VALUES = 6
#: Parameters that are functions or objects, and tell nothing on a line.
_OPAQUE = ("progress", "vectorizer")


def show(
    model: Annotated[
        Path,
        typer.Argument(
            help="A file that credo fit or model.save wrote.", metavar="MODEL", show_default=False
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Tell what a model file holds: model, labels, columns, loss, version and size."""
    from credo.cli.destinations import say, say_json
    from credo.cli.table_start import table_command

    with table_command():
        found = record_of(model)
    if as_json:
        say_json(found)
    else:
        say("\n".join(_lines(found)))


def record_of(path: Path) -> dict[str, Any]:
    """Gather what there is to say; every array is checked on the way."""
    from credo.cli.table_facts import class_weights, learner_in
    from credo.decisions import Loss
    from credo.storage import describe, load

    header, model = describe(path), load(path)
    learner = learner_in(model)
    loss = model if isinstance(model, Loss) else getattr(model, "loss", None)
    summary = getattr(learner, "summary_", None)
    return {
        "file": str(path),
        "bytes": header["size"],
        "format": header["format"],
        "library": header["library"],
        "class": header["class"],
        "model": type(learner).__name__,
        "parameters": _parameters(learner),
        "label_type": header["about"].get("label_type"),
        "classes": learner.classes_.tolist() if hasattr(learner, "classes_") else None,
        "class_weights": class_weights(learner),
        "priors": learner.priors_.tolist() if hasattr(learner, "priors_") else None,
        "table": _table(getattr(model, "schema_", None), learner),
        "loss": _loss(loss) if isinstance(loss, Loss) else None,
        "summary": summary is not None if hasattr(learner, "get_params") else None,
        "arrays": header["arrays"],
    }


def _parameters(learner: Any) -> dict[str, Any]:
    """Give the parameters of an estimator as plain values or text."""
    if not hasattr(learner, "get_params"):
        return {}
    plain = (str, int, float, bool, type(None))
    return {
        name: value if isinstance(value, plain) else _plain(value)
        for name, value in learner.get_params(deep=False).items()
        if name not in _OPAQUE
    }


def _plain(value: Any) -> Any:
    """Give a mapping as text to text, anything else as text."""
    if isinstance(value, dict):
        return {str(key): str(item) for key, item in value.items()}
    return str(value)


def _table(schema: Any, learner: Any) -> dict[str, Any] | None:
    """Describe the columns that a model takes."""
    if schema is None:
        return None
    families = getattr(learner, "families_", {})
    return {
        "target": schema.target,
        "label_kind": schema.label_kind,
        "weight": schema.weight,
        "missing": list(schema.missing),
        "features": [
            {
                "name": spec.name,
                "kind": spec.kind,
                "family": families.get(spec.name),
                "categories": _categories(learner, spec.name),
            }
            for spec in schema.features
        ],
    }


def _categories(learner: Any, name: str) -> list[Any] | None:
    """Give the categories that a model has seen in a column, if it has any."""
    found = getattr(learner, "categories_", {}).get(name)
    return None if found is None else [str(each) for each in found]


def _loss(loss: Any) -> dict[str, Any]:
    """Give a loss as plain lists."""
    return {
        "truths": list(loss.truths),
        "acts": list(loss.acts),
        "reject": loss.reject,
        "matrix": loss.matrix.tolist(),
    }


def _lines(found: dict[str, Any]) -> Iterator[str]:
    """Write it for a person."""
    from credo.cli.text_tables import columns_table

    rows = [("file", f"{found['file']}, {found['bytes']} bytes, by credo {found['library']}")]
    rows += [("model", found["model"])]
    given = ", ".join(f"{k}={v}" for k, v in found["parameters"].items() if v is not None)
    rows += [("parameters", given)] if given else []
    rows += _label_rows(found)
    rows += _summary_rows(found)
    yield columns_table(rows[0], rows[1:])
    if found["loss"] is not None:
        yield ""
        yield _loss_table(found["loss"])
    if found["table"] is not None:
        yield ""
        yield _feature_table(found["table"])


def _label_rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Tell about target and classes."""
    from credo.cli.table_facts import count_text

    table, classes, weights = found["table"], found["classes"], found["class_weights"]
    rows = []
    if table is not None:
        weighted = f", weighted by {table['weight']}" if table["weight"] else ""
        rows.append(("target", f"{table['target']} ({table['label_kind']}){weighted}"))
    if classes is not None:
        told = [
            str(label) if weights is None else f"{label} {count_text(weights[label])}"
            for label in classes[:_MOST_FEATURES]
        ]
        more = "" if len(classes) <= _MOST_FEATURES else f", … ({len(classes)} in all)"
        rows.append(("classes", ", ".join(told) + more))
    if table is not None and table["missing"]:
        rows.append(("missing", ", ".join(table["missing"])))
    return rows


def _summary_rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Tell whether the model can go on learning."""
    if found["summary"] is None:
        return []
    told = "kept; credo update and credo merge continue from it" if found["summary"] else "none"
    return [("summary", told)]


def _loss_table(loss: dict[str, Any]) -> str:
    """Write a loss matrix."""
    from credo.cli.text_tables import columns_table

    rows = [
        (truth, *(f"{cell:g}" for cell in row))
        for truth, row in zip(loss["truths"], loss["matrix"], strict=True)
    ]
    return columns_table(("truth \\ act", *map(str, loss["acts"])), rows)


def _feature_table(table: dict[str, Any]) -> str:
    """List the columns; only those facts that a model has."""
    from credo.cli.text_tables import columns_table

    features = table["features"]
    facts = [
        ("column", [each["name"] for each in features]),
        ("kind", [each["kind"] for each in features]),
        ("family", [each["family"] or "" for each in features]),
        ("values", [_listed(each["categories"]) for each in features]),
    ]
    told = [(name, cells[:_MOST_FEATURES]) for name, cells in facts if any(cells)]
    rows = list(zip(*(cells for _, cells in told), strict=True))
    if len(features) > _MOST_FEATURES:
        rows.append((f"… ({len(features)} in all)", *[""] * (len(told) - 1)))
    return columns_table([name for name, _ in told], rows)


def _listed(categories: list[Any] | None) -> str:
    """List a few categories."""
    if not categories:
        return ""
    more = "" if len(categories) <= _MOST_VALUES else f", … ({len(categories)} in all)"
    return ", ".join(map(str, categories[:_MOST_VALUES])) + more
