"""``credo update`` and ``credo merge``: models that learn from more rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from credo.cli import _options as given
from credo.cli._console import Wait, check_out
from credo.cli._options import arg, opt
from credo.cli._tables import engine_of, open_model, source_of, tell_fit
from credo.exceptions import InputError

_OUT = "Write to this file and leave the model as it is; by default it is replaced."
_MODELS = "Two or more models, fitted with the same options to the same columns of different rows."


def update(
    model: given.ModelFile,
    tables: given.TableFiles,
    dask: given.DaskAddress = None,
    spark: given.SparkMaster = None,
    out: Annotated[Path | None, opt(_OUT, given.OUTPUT)] = None,
    quiet: given.Quiet = False,
    as_json: given.AsJson = False,
) -> None:
    """Add the rows of a table to a model, as if it had been fitted to all of them.

    The model's file is replaced when all went well, else it stays as it was.
    """
    place = out or model
    check_out(place, {"a table to learn from": tables})
    with Wait("updating", quiet=quiet) as wait:
        from credo.storage import save
        from credo.tables import update_table

        known = open_model(model)
        wait.start_clock()
        with engine_of(dask, spark) as engine:
            update_table(known, source_of(tables), engine=engine, progress=wait.rows)
        save(known, place)
    tell_fit(known, wait, place, update=True, quiet=quiet, as_json=as_json)


def merge(
    models: Annotated[list[Path], arg(_MODELS, "MODEL")],
    out: Annotated[Path, opt("The file to write.", given.OUTPUT)],
    quiet: given.Quiet = False,
    as_json: given.AsJson = False,
) -> None:
    """Merge models into one, as if it had been fitted to the rows of all.

    Models can be fitted where the rows are, and only the models travel.
    """
    check_out(out)
    first, *others = models
    if not others:
        raise InputError("credo merge needs two or more models. Got one.")
    with Wait("merging", quiet=quiet) as wait:
        from credo.storage import save
        from credo.tables import merge_models

        merged = open_model(first)
        for number, path in enumerate(others, 1):
            wait.steps("merging", number, len(models))
            try:
                merged = merge_models(merged, open_model(path))
            except InputError as error:
                raise InputError(f"{first} and {path}: {error}") from error
        save(merged, out)
    tell_fit(merged, wait, out, update=True, quiet=quiet, as_json=as_json)
