"""``credo update`` and ``credo merge``: models that learn from more rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from credo.cli._console import Wait, check_out
from credo.cli._options import (
    AsJson,
    DaskAddress,
    ModelFile,
    Quiet,
    SparkMaster,
    TableFiles,
    arg,
    opt,
)
from credo.cli._tables import engine_of, open_model, source_of, tell_fit
from credo.exceptions import InputError


def update(
    model: ModelFile,
    tables: TableFiles,
    out: Annotated[
        Path | None,
        opt("Write to this file and leave the model as it is; by default it is replaced."),
    ] = None,
    dask: DaskAddress = None,
    spark: SparkMaster = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Add the rows of a table to a model, as if it had been fitted to all of them.

    The model's file is replaced when all went well, else it stays as it was.
    """
    place = out or model
    check_out(place, {"a table to learn from": tables})

    from credo.storage import save
    from credo.tables import update_table

    known = open_model(model)
    with engine_of(dask, spark) as engine, Wait("updating", quiet=quiet) as wait:
        update_table(known, source_of(tables), engine=engine, progress=wait.rows)
    save(known, place)
    tell_fit(known, wait, place, update=True, quiet=quiet, as_json=as_json)


def merge(
    models: Annotated[
        list[Path],
        arg(
            "Two or more models, fitted with the same options to the same columns of different "
            "rows.",
            "MODEL",
        ),
    ],
    out: Annotated[Path, opt("The file to write.")],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Merge models into one, as if it had been fitted to the rows of all.

    Models can be fitted where the rows are, and only the models travel.
    """
    check_out(out)
    first, *others = models
    if not others:
        raise InputError("credo merge needs two or more models. Got one.")

    from credo.storage import save
    from credo.tables import merge_models

    with Wait("merging", quiet=quiet) as wait:
        merged = open_model(first)
        for number, path in enumerate(others, 1):
            wait.steps("merging", number, len(models))
            try:
                merged = merge_models(merged, open_model(path))
            except InputError as error:
                raise InputError(f"{first} and {path}: {error}") from error
        save(merged, out)
    tell_fit(merged, wait, out, update=True, quiet=quiet, as_json=as_json)
