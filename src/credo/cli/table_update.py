"""``credo update`` and ``credo merge``: models that learn from more rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credo.cli.options import AsJson
from credo.cli.table_options import DaskAddress, ModelFile, Quiet, SparkMaster, TableFiles

if TYPE_CHECKING:
    from credo.cli.table_progress import Meter


def update(
    model: ModelFile,
    tables: TableFiles,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write to this file and leave the model as it is; by default it is replaced.",
            show_default=False,
        ),
    ] = None,
    dask: DaskAddress = None,
    spark: SparkMaster = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Add the rows of a table to a model, as if it had been fitted to all of them.

    The model's file is replaced when all went well, else it stays as it was.
    """
    from credo.cli.table_engines import engine_of
    from credo.cli.table_files import open_model
    from credo.cli.table_options import source_of
    from credo.cli.table_places import check_place, refuse_inputs
    from credo.cli.table_progress import row_progress
    from credo.cli.table_start import table_command

    place = model if out is None else out
    check_place(place)
    refuse_inputs(place, {"a table to learn from": tables})
    with table_command():
        from credo.storage import save
        from credo.tables import update_table

        known = open_model(model)
        with (
            engine_of(dask, spark) as engine,
            row_progress("updating", quiet=quiet) as meter,
        ):
            update_table(known, source_of(tables), engine=engine, progress=meter)
        save(known, place)
    _tell(known, meter, place, quiet=quiet, as_json=as_json)


def merge(
    models: Annotated[
        list[Path],
        typer.Argument(
            help="Two or more models, fitted with the same options to the same columns of "
            "different rows.",
            metavar="MODEL",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="The file to write.", show_default=False)],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Merge models into one, as if it had been fitted to the rows of all.

    Models can be fitted where the rows are, and only the models travel.
    """
    from credo.cli.table_files import open_model
    from credo.cli.table_places import check_place
    from credo.cli.table_progress import Meter
    from credo.cli.table_start import table_command
    from credo.exceptions import InputError

    if len(models) < 2:
        raise InputError("credo merge needs two or more models. Got one.")
    check_place(out)
    with table_command():
        from credo.storage import save
        from credo.tables.fit import merge_models

        meter = Meter()
        merged = open_model(models[0])
        for path in models[1:]:
            try:
                merged = merge_models(merged, open_model(path))
            except InputError as error:
                raise InputError(f"{models[0]} and {path}: {error}") from error
        save(merged, out)
        meter.stop()
    _tell(merged, meter, out, quiet=quiet, as_json=as_json)


def _tell(model: Any, meter: Meter, out: Path, *, quiet: bool, as_json: bool) -> None:
    """Say what the model has learned from by now."""
    from credo.cli.destinations import say, say_json
    from credo.cli.table_facts import fit_record, fit_sentence, learner_in, total_weight

    total = total_weight(learner_in(model))
    if as_json:
        say_json({**fit_record(model, meter, out, total), "rows_added": meter.rows or None})
    elif not quiet:
        say(fit_sentence(model, meter, out, total))
