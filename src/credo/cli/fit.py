"""``credo fit``: a model from a table of any size."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from credo.cli import _options as given
from credo.cli._console import Wait, check_out
from credo.cli._options import names_in, opt, value_options, words_in
from credo.cli._tables import engine_of, loss_for, read_loss, refuse_loss, source_of, tell_fit
from credo.exceptions import InputError, LabelError

if TYPE_CHECKING:
    from credo.decisions import Loss

_MODEL = (
    "gaussian for correlated numbers; naive-bayes for columns of all kinds, with missing values; "
    "logistic for log odds; text for documents; regression for a target that is a number. There is "
    "no default, since each assumes something else of the columns."
)
_FAMILIES = (
    "Of naive-bayes: families of columns, visits=poisson,income=gamma; the others are chosen by "
    "their values. Repeatable."
)
_NO_SUMMARY = (
    "Of gaussian and regression: leave out what update and merge continue from; half the size."
)
#: Parameters of models that take a word or a number.
_OPTIONS = {
    "covariance": "Of gaussian: full (the default), tied, diagonal, tied_diagonal, spherical, "
    "tied_spherical or proportional.",
    "shrinkage": "Of gaussian and regression: shrink correlations by this share, or by oas's own.",
    "cells": "Of naive-bayes: cells of histograms, a number, mdl or auto (the default).",
    "smoothing": "Of naive-bayes and text: artificial observations; 1 by default, of text the "
    "better of 1 and 0.1. For naive-bayes auto chooses them for each column.",
    "penalty": "Of logistic: none (the default), l2, l1 or elasticnet.",
    "strength": "Of logistic: strength of the penalty; 1.",
    "l1_ratio": "Of logistic: share of l1 in an elastic net, from 0 to 1; 0.5.",
    "missing_cells": "Of logistic: error (the default), or indicator to learn from missing cells.",
    "priors": "Of gaussian, naive-bayes and text: uniform for equal ones; the frequencies by "
    "default.",
}


@value_options(_OPTIONS, given.MODEL)
def fit(
    *,
    tables: given.TableFiles,
    target: Annotated[str, opt("Column of labels.", given.READ)],
    features: Annotated[
        list[str] | None,
        opt("Columns to learn from, a,b; all but target and weight by default.", given.READ),
    ] = None,
    drop: Annotated[
        list[str] | None, opt("Columns to leave out, such as an id: a,b.", given.READ)
    ] = None,
    weight: Annotated[
        str | None, opt("Column of weights: 2 counts as the row twice, 0 as no row.", given.READ)
    ] = None,
    missing: given.MissingWords = None,
    model: Annotated[str, opt(_MODEL, given.MODEL, autocompletion=lambda: list(_kinds()))],
    families: Annotated[list[str] | None, opt(_FAMILIES, given.MODEL)] = None,
    options: dict[str, Any],
    loss: given.LossFile = None,
    reject: given.RejectCost = None,
    dask: given.DaskAddress = None,
    spark: given.SparkMaster = None,
    out: Annotated[Path, opt("The file to write, such as m.credo.", given.OUTPUT)],
    no_summary: Annotated[bool, opt(_NO_SUMMARY, given.OUTPUT, "--no-summary")] = False,
    quiet: given.Quiet = False,
    as_json: given.AsJson = False,
) -> None:
    """Fit a model to a table, which may be larger than the memory.

    With --loss or --reject the model decides by them from then on. Numbers and booleans are
    taken as they are, text as categories.
    """
    check_out(out, {"a table to learn from": tables, "the loss": loss})
    with Wait("fitting", quiet=quiet) as wait:
        from credo.classifiers import DecisionClassifier
        from credo.storage import save
        from credo.tables import fit_table, open_source

        fitted = _model(model, options | ({"families": _families(families)} if families else {}))
        if loss is not None or reject is not None:
            refuse_loss(fitted)
            fitted = DecisionClassifier(fitted)
            loss_for([0, 1], None, None, reject)  # a cost that makes no sense is refused at once
        table = None if loss is None else read_loss(loss, reject)
        source, words = source_of(tables), missing or []
        chosen, dropped = names_in(features, "--features") or None, names_in(drop, "--drop")
        wait.start_clock()
        with engine_of(dask, spark) as engine:
            if table is not None:
                rows = (open_source if engine is None else engine.open)(source, missing=words)
                _check_first_labels(rows, target, table)
            fit_table(
                *(fitted, source, target, chosen, weight),
                drop=dropped,
                missing=words,
                engine=engine,
                progress=wait.rows,
            )
        if isinstance(fitted, DecisionClassifier):
            fitted.set_params(loss=loss_for(fitted.classes_.tolist(), table, None, reject))
        save(fitted, out, summary=not no_summary)
    tell_fit(fitted, wait, out, quiet=quiet, as_json=as_json)


def _kinds() -> dict[str, Any]:
    """Return the classes of models by what the command line calls them."""
    from credo import classifiers

    kinds: list[Any] = [each for each in vars(classifiers).values() if isinstance(each, type)]
    return {each.command: each for each in kinds if vars(each).get("command")}


def _model(name: str, options: dict[str, Any]) -> Any:
    """Make a model, with its options, which are its parameters; those of others are refused."""
    from credo import _checks as check

    known = _kinds()
    parameters = {each: inspect.signature(made).parameters for each, made in known.items()}
    name = check.one_of(name.lower().replace("_", "-"), tuple(known), "--model of credo fit")
    for option in options:
        if option not in parameters[name]:
            *owners, last = (each for each in known if option in parameters[each])
            told = f"{', '.join(owners)} and {last}" if owners else last
            raise InputError(f"--{option} is an option of --model {told}, not of {name}.")
    return known[name](**options)


def _families(texts: Sequence[str]) -> dict[str, str]:
    """Read column=family,column=family; a column may have an equals sign in its name."""
    found: dict[str, str] = {}
    for word in (word for text in texts for word in words_in(text, "--families")):
        column, _, family = (part.strip() for part in word.text.rpartition("="))
        if not column or not family:
            raise InputError(f"--families takes column=family. Got {word.text!r}.")
        if column in found:
            raise InputError(f"--families names column {column!r} twice.")
        found[column] = family
    return found


def _check_first_labels(rows: Any, target: str, loss: Loss) -> None:
    """Refuse a loss that does not know a label of the first rows, before all of them are read."""
    from credo import _checks as check
    from credo.tables.predict import label_text

    check.position(target, rows.schema.names, "column", rows.name)
    known = {label_text(truth) for truth in loss.truths}
    for label in rows.head([target]).column(0).unique().drop_null().to_pylist():
        text = label_text(label)
        if text not in known:
            raise LabelError(
                f"{rows.name} has the label {text!r} in column {target!r}, and the loss's truths "
                f"are {check.listing(loss.truths)}.{check.hint(text, loss.truths)} Rows of a loss "
                "are truths, columns are acts."
            )
