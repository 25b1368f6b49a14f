"""``credo fit``: a model from a table of any size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credo.cli.options import AsJson
from credo.cli.table_options import (
    DaskAddress,
    LossFile,
    MissingWords,
    Quiet,
    RejectCost,
    SparkMaster,
    TableFiles,
)

if TYPE_CHECKING:
    from credo.cli.table_progress import Meter
    from credo.decisions import Loss


def fit(
    tables: TableFiles,
    target: Annotated[str, typer.Option(help="Column of labels.", show_default=False)],
    model: Annotated[
        str,
        typer.Option(
            help="gaussian for correlated numbers; naive-bayes for columns of all kinds, with "
            "missing values; logistic for log odds; text for documents; regression for a target "
            "that is a number. There is no default, since each assumes something else of the "
            "columns.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="The file to write, such as m.credo.", show_default=False)
    ],
    features: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns to learn from, a,b; all but target and weight by default.",
            show_default=False,
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Columns to leave out, such as an id: a,b.", show_default=False),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(
            help="Column of weights: 2 counts as the row twice, 0 as no row.", show_default=False
        ),
    ] = None,
    missing: MissingWords = None,
    loss: LossFile = None,
    reject: RejectCost = None,
    covariance: Annotated[
        str | None,
        typer.Option(
            help="Of gaussian: full (the default), tied, diagonal, tied_diagonal, spherical, "
            "tied_spherical or proportional.",
            show_default=False,
        ),
    ] = None,
    shrinkage: Annotated[
        str | None,
        typer.Option(
            help="Of gaussian and regression: shrink correlations by this share, or by oas's own.",
            show_default=False,
        ),
    ] = None,
    families: Annotated[
        list[str] | None,
        typer.Option(
            help="Of naive-bayes: families of columns, visits=poisson,income=gamma; the others "
            "are chosen by their values. Repeatable.",
            show_default=False,
        ),
    ] = None,
    smoothing: Annotated[
        float | None,
        typer.Option(
            help="Of naive-bayes and text: artificial observations; 1 by default.",
            show_default=False,
        ),
    ] = None,
    penalty: Annotated[
        str | None,
        typer.Option(help="Of logistic: none (the default), l2 or l1.", show_default=False),
    ] = None,
    strength: Annotated[
        float | None,
        typer.Option(help="Of logistic: strength of the penalty; 1.", show_default=False),
    ] = None,
    priors: Annotated[
        str | None,
        typer.Option(
            help="Of gaussian, naive-bayes and text: uniform for equal ones; the frequencies by "
            "default.",
            show_default=False,
        ),
    ] = None,
    no_summary: Annotated[
        bool,
        typer.Option(
            "--no-summary",
            help="Of gaussian and regression: leave out what update and merge continue from; half "
            "the size.",
        ),
    ] = False,
    dask: DaskAddress = None,
    spark: SparkMaster = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fit a model to a table, which may be larger than the memory.

    With --loss or --reject the model decides by them from then on. Numbers and booleans are
    taken as they are, text as categories.
    """
    from credo.cli.table_models import Choices, model_of
    from credo.cli.table_options import names_in
    from credo.cli.table_places import check_place, refuse_inputs
    from credo.cli.table_start import table_command

    check_place(out)
    refuse_inputs(out, {"a table to learn from": tables, "the loss": [loss] if loss else []})
    with table_command():
        from credo.storage import save

        choices = Choices(covariance, shrinkage, families, smoothing, penalty, strength, priors)
        learner = model_of(model, choices)
        columns = _Columns(
            target,
            names_in(features, "--features") or None,
            names_in(drop, "--drop"),
            weight,
            tuple(missing or ()),
        )
        job = _Job(tables, columns, loss, reject, dask, spark)
        fitted, meter = job.run(learner, quiet=quiet)
        save(fitted, out, summary=not no_summary)
    _tell(fitted, meter, out, quiet=quiet, as_json=as_json)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Which columns play which part."""

    target: str
    features: list[str] | None
    drop: list[str]
    weight: str | None
    missing: tuple[str, ...]

    def chosen(self, names: tuple[str, ...], owner: str) -> list[str] | None:
        """Give the features; all but some if there are columns to leave out."""
        from credo import _checks as check
        from credo.exceptions import InputError

        for name in self.drop:
            check.position(name, names, "column", owner)
        if self.features is not None:
            both = [name for name in self.drop if name in self.features]
            if both:
                raise InputError(f"--features and --drop both name {both[0]!r}.")
            return self.features
        if not self.drop:
            return None
        taken = {self.target, self.weight, *self.drop}
        return [name for name in names if name not in taken]


@dataclass(frozen=True, slots=True)
class _Job:
    """One fit: the rows, their columns, the loss and the place where it is done."""

    tables: list[Path]
    columns: _Columns
    loss: Path | None
    reject: float | None
    dask: str | None
    spark: str | None

    def run(self, learner: Any, *, quiet: bool) -> tuple[Any, Meter]:
        """Fit; give the model, and the meter with rows and time."""
        from credo.cli.table_engines import engine_of, opened
        from credo.cli.table_losses import check_first_labels, read_loss, refuse_loss
        from credo.cli.table_options import source_of
        from credo.cli.table_progress import row_progress
        from credo.tables import fit_table

        given = read_loss(self.loss, self.reject)
        if self.loss is not None or self.reject is not None:
            refuse_loss(learner)
        source, columns = source_of(self.tables), self.columns
        with engine_of(self.dask, self.spark) as engine:
            features = columns.features
            if given is not None or columns.drop:
                rows = opened(source, columns.missing, engine)
                features = columns.chosen(tuple(rows.schema.names), rows.name)
                if given is not None:
                    check_first_labels(rows, columns.target, given)
            with row_progress("fitting", quiet=quiet) as meter:
                fit_table(
                    learner,
                    source,
                    columns.target,
                    features,
                    columns.weight,
                    missing=columns.missing,
                    engine=engine,
                    progress=meter,
                )
        return self._deciding(learner, given), meter

    def _deciding(self, learner: Any, given: Loss | None) -> Any:
        """Give the model with the loss it decides by, or as it is."""
        from credo.classifiers import DecisionClassifier
        from credo.classifiers.schema import adopt
        from credo.cli.table_losses import loss_of

        if self.loss is None and self.reject is None:
            return learner
        loss = loss_of(learner.classes_, given, None, self.reject, "credo fit")
        policy = DecisionClassifier(type(learner)(**learner.get_params()), loss)
        return adopt(policy, learner, learner.schema_)


def _tell(fitted: Any, meter: Meter, out: Path, *, quiet: bool, as_json: bool) -> None:
    """Say what was learned and where it is."""
    from credo.cli.destinations import say, say_json
    from credo.cli.table_facts import fit_record, fit_sentence

    if as_json:
        say_json(fit_record(fitted, meter, out))
    elif not quiet:
        say(fit_sentence(fitted, meter, out))
