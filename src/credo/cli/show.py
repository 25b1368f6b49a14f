"""``credo show``: what a model file holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from credo.cli._console import say, say_json, table_text
from credo.cli._options import AsJson, arg
from credo.cli._tables import classes_text, facts_of, learner_in, listed

#: Features, classes and categories that are listed; the JSON has all.
_MOST_FEATURES, _MOST_VALUES = 50, 6
#: Parameters that are functions or objects, and tell nothing on a line.
_OPAQUE = ("progress", "vectorizer")


def show(
    model: Annotated[Path, arg("A file that credo fit or model.save wrote.", "MODEL")],
    as_json: AsJson = False,
) -> None:
    """Tell what a model file holds: model, labels, columns, loss, version and size."""
    record = _record(model)
    if as_json:
        say_json(record)
    else:
        say("\n\n".join(_tables(record)))


def _record(path: Path) -> dict[str, Any]:
    """Gather what there is to say; every array is checked on the way."""
    from credo.decisions import Loss
    from credo.storage import describe, load

    header, model = describe(path), load(path)
    learner = learner_in(model)
    loss = model if isinstance(model, Loss) else getattr(model, "loss", None)
    facts = facts_of(model)
    return {
        "file": str(path),
        "bytes": header["size"],
        "format": header["format"],
        "library": header["library"],
        "class": header["class"],
        "model": facts["model"],
        "parameters": _parameters(learner),
        "label_type": header["about"].get("label_type"),
        "classes": facts["classes"],
        "class_weights": facts["class_weights"],
        "priors": learner.priors_.tolist() if hasattr(learner, "priors_") else None,
        "table": _columns(getattr(model, "schema_", None), learner),
        "loss": _matrix(loss) if isinstance(loss, Loss) else None,
        "summary": facts["rows"] is not None if hasattr(learner, "get_params") else None,
        "arrays": header["arrays"],
    }


def _parameters(learner: Any) -> dict[str, Any]:
    """Return the parameters of an estimator as plain values or text."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key): str(item) for key, item in value.items()}
        return value if isinstance(value, (str, int, float, type(None))) else str(value)

    given = learner.get_params(deep=False) if hasattr(learner, "get_params") else {}
    return {name: plain(value) for name, value in given.items() if name not in _OPAQUE}


def _columns(schema: Any, learner: Any) -> dict[str, Any] | None:
    """Describe the columns that a model takes."""
    if schema is None:
        return None
    families, categories = (getattr(learner, name, {}) for name in ("families_", "categories_"))
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
                "categories": [str(each) for each in categories[spec.name]]
                if spec.name in categories
                else None,
            }
            for spec in schema.features
        ],
    }


def _matrix(loss: Any) -> dict[str, Any]:
    """Return a loss as plain lists."""
    return {
        "truths": list(loss.truths),
        "acts": list(loss.acts),
        "reject": loss.reject,
        "matrix": loss.matrix.tolist(),
    }


def _tables(record: dict[str, Any]) -> Iterator[str]:
    """Write the record for a person: facts, loss, columns."""
    table, loss = record["table"], record["loss"]
    given = ", ".join(f"{k}={v}" for k, v in record["parameters"].items() if v is not None)
    facts = {
        "file": f"{record['file']}, {record['bytes']} bytes, by credo {record['library']}",
        "model": record["model"],
        "parameters": given,
    }
    if table is not None:
        weighted = f", weighted by {table['weight']}" if table["weight"] else ""
        facts["target"] = f"{table['target']} ({table['label_kind']}){weighted}"
        facts["missing"] = ", ".join(table["missing"])
    if record["classes"] is not None:
        facts["classes"] = classes_text(record, _MOST_FEATURES)
    if record["summary"] is not None:
        kept = "kept; credo update and credo merge continue from it"
        facts["summary"] = kept if record["summary"] else "none"
    yield table_text((name, fact) for name, fact in facts.items() if fact)
    if loss is not None:
        cells = [[f"{cell:g}" for cell in row] for row in loss["matrix"]]
        rows = [(truth, *row) for truth, row in zip(loss["truths"], cells, strict=True)]
        yield table_text([("truth \\ act", *loss["acts"]), *rows])
    if table is not None:
        yield _feature_table(table["features"])


def _feature_table(features: list[dict[str, Any]]) -> str:
    """List the columns; only those facts that a model has."""
    facts = {
        "column": [each["name"] for each in features],
        "kind": [each["kind"] for each in features],
        "family": [each["family"] or "" for each in features],
        "values": [listed(each["categories"] or [], _MOST_VALUES) for each in features],
    }
    columns = [[name, *cells[:_MOST_FEATURES]] for name, cells in facts.items() if any(cells)]
    if len(features) > _MOST_FEATURES:
        columns[0].append(f"… ({len(features)} in all)")
        for column in columns[1:]:
            column.append("")
    return table_text(zip(*columns, strict=True))
