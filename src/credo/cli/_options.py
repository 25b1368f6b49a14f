"""Options that several commands share, and how names and findings in them are read."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias, get_type_hints

import typer

from credo.exceptions import InputError
from credo.inference.engines import OPTIONS, Engine, lookup

#: The panels of options in the help of every command, in this order.
READ, ASK, MODEL, METHOD = "What to read", "The question", "The model", "The method"
DECISIONS, PLACE, OUTPUT = "Decisions", "Where it runs", "Output"


def opt(told: str, panel: str, *names: str, **more: Any) -> Any:
    """Return an option of a command."""
    return typer.Option(*names, help=told, rich_help_panel=panel, **more)


def arg(told: str, metavar: str, **more: Any) -> Any:
    """Return an argument of a command."""
    return typer.Argument(help=told, metavar=metavar, show_default=False, **more)


AsJson: TypeAlias = Annotated[bool, opt("Print the result as JSON.", OUTPUT, "--json")]
_QUIET = "Say nothing but warnings and errors; no bar."
Quiet: TypeAlias = Annotated[bool, opt(_QUIET, OUTPUT, "--quiet")]
ROWS_OUT = (
    "write to this file: .csv, .csv.gz, .tsv, .parquet, .arrow or .feather; CSV to the terminal by "
    "default."
)
RowsOut: TypeAlias = Annotated[Path | None, opt(f"W{ROWS_OUT[1:]}", OUTPUT, "--out")]

_NETWORK = "The network: .bif, .xml, .bifxml, .xmlbif, .net, .xdsl, .dsl, .fg or .uai, also .gz."
NetworkFile: TypeAlias = Annotated[Path, arg(_NETWORK, "NETWORK")]
_EVIDENCE = (
    "What was observed: variable=state,variable=state. One of several states is "
    "variable=state|state; names with commas go in double quotes. Repeatable."
)
Evidence: TypeAlias = Annotated[list[str] | None, opt(_EVIDENCE, ASK, "--evidence")]
_QUERY = "Variables that are wanted, a,b; all by default."
Query: TypeAlias = Annotated[list[str] | None, opt(_QUERY, ASK, "--query")]
_LIKELIHOOD = (
    "Uncertain evidence: weights on states, as JSON {variable: {state: weight}} or as CSV with "
    "columns variable, state, weight."
)
Likelihood: TypeAlias = Annotated[Path | None, opt(_LIKELIHOOD, ASK, "--likelihood")]
_BUDGET = "Memory for the tables, such as 500MB; 'none' for no limit."
Budget: TypeAlias = Annotated[str, opt(_BUDGET, METHOD, "--budget")]
Seed: TypeAlias = Annotated[int, opt("Seed of whatever is random.", METHOD, "--seed")]

_TABLES = (
    "The rows: CSV (also .gz or .tsv), Parquet, Arrow or Feather; a folder of such files, or "
    "several of them."
)
TableFiles: TypeAlias = Annotated[list[Path], arg(_TABLES, "TABLE")]
ModelFile: TypeAlias = Annotated[Path, arg("The model, as credo fit writes it.", "MODEL")]
LOSS = "Loss matrix: acts in the first line, a true class at the start of the others."
LossFile: TypeAlias = Annotated[Path | None, opt(LOSS, DECISIONS, "--loss")]


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise typer.BadParameter(f"a cost must be finite. Got {text}.")
    return value


_REJECT = "Add a reject act with this cost."
RejectCost: TypeAlias = Annotated[
    float | None, opt(_REJECT, DECISIONS, "--reject", parser=_finite, metavar="COST")
]
_MISSING = (
    "Cell of a text file that means missing, such as ?; empty, NA and NaN always do, and among "
    "numbers ? and -. Repeatable."
)
MissingWords: TypeAlias = Annotated[list[str] | None, opt(_MISSING, READ, "--missing")]
_DASK = (
    "Work on a Dask cluster: the address of its scheduler, tcp://host:8786, or local to start one "
    "here."
)
DaskAddress: TypeAlias = Annotated[str | None, opt(_DASK, PLACE, "--dask")]
_SPARK = "Work on Spark: its master, spark://host:7077, or local[2] for two processes here."
SparkMaster: TypeAlias = Annotated[str | None, opt(_SPARK, PLACE, "--spark")]


def as_budget(text: str) -> str | None:
    """Read a budget; the word none is no limit."""
    return None if text.strip().lower() == "none" else text


class Word(NamedTuple):
    """A name or a state; one in double quotes is taken as it is."""

    text: str
    quoted: bool


def names_in(texts: Sequence[str] | None, option: str) -> list[str]:
    """Read the names of an option that lists them, a,b; each once."""
    names = [word.text for text in texts or () for word in words_in(text, option)]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InputError(f"{option} names {name!r} twice.")
    return names


def words_in(text: str, option: str) -> Iterator[Word]:
    """Read names that are separated by commas."""
    mark, place = ",", 0
    while mark:
        word, mark, place = _next_word(text, place, ",", option)
        yield word


def findings_in(text: str, option: str) -> Iterator[tuple[Word, list[Word]]]:
    """Read findings: variables and the words of their states, separated by commas."""
    mark, place = ",", 0
    while mark:
        variable, mark, place = _next_word(text, place, "=,", option)
        if mark != "=":
            raise _fault(text, option, f"expected variable=state, got {variable.text!r}")
        states, mark = [], "|"
        while mark == "|":
            state, mark, place = _next_word(text, place, "|,", option)
            states.append(state)
        yield variable, states


def _next_word(text: str, place: int, marks: str, option: str) -> tuple[Word, str, int]:
    """Read the word at a place, up to a mark or the end; return also the mark and what follows.

    Two quotes in a quoted word stand for one.
    """
    found = re.compile(rf'\s*+(?:"((?:[^"]|"")*+)"\s*+|([^{marks}]*+))').match(text, place)
    assert found is not None  # noqa: S101 - a word may be empty
    quoted, end = found[1] is not None, found.end()
    word = found[1].replace('""', '"') if quoted else found[2].strip()
    mark = text[end : end + 1]
    if not quoted and word.startswith('"'):
        raise _fault(text, option, "a double quote is not closed")
    if not quoted and '"' in word:
        reason = f"there is a double quote inside {word!r}; double it in a quoted name"
        raise _fault(text, option, reason)
    if not quoted and not word:
        reason = f"a name or a state is missing at character {found.start(2) + 1}"
        raise _fault(text, option, reason)
    if mark and mark not in marks:
        reason = f"expected one of {' '.join(marks)} after the quoted {word!r}"
        raise _fault(text, option, reason)
    return Word(word, quoted), mark, end + 1


def _fault(text: str, option: str, reason: str) -> InputError:
    return InputError(
        f"{option} {text!r}: {reason}. Write names or states that hold commas, equals signs or "
        "bars in double quotes."
    )


def method_options(
    *registries: Mapping[str, Engine], without: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options that engines of the registries have."""
    engines = [engine for registry in registries for engine in registry.values()]
    told = {}
    for name in OPTIONS:
        owners = dict.fromkeys(engine.name for engine in engines if name in engine.options)
        if owners and name not in without:
            told[name] = f"Of {', '.join(owners)}: {OPTIONS[name]}."
    return value_options(told, "Options of methods")


def value_options(
    told: Mapping[str, str], panel: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add options by their names and what they mean, in the place of a command's ``options``.

    The command is called with those that were given, as ``options``, and by keywords.
    """
    added = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[str | None, opt(text, panel, metavar="VALUE")],
        )
        for name, text in told.items()
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(**given: Any) -> None:
            texts = {name: given.pop(name) for name in told}
            options = {name: value_in(text) for name, text in texts.items() if text is not None}
            command(**given, options=options)

        hints = get_type_hints(command, include_extras=True)
        parameters = []
        for each in inspect.signature(command).parameters.values():
            own = [each.replace(annotation=hints[each.name])]
            parameters += added if each.name == "options" else own
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorate


def engine_of_method(
    method: str, options: Iterable[str], registry: Mapping[str, Engine], command: str
) -> Engine:
    """Return the engine of a name or an alias; refuse options that it does not have."""
    engine = lookup(method, registry, f"--method of {command}")
    for name in options:
        if name not in engine.options:
            owners = ", ".join(each.name for each in registry.values() if name in each.options)
            raise InputError(
                f"--{name.replace('_', '-')} is no option of {command} --method {engine.name}. "
                + (f"It goes with --method {owners}." if owners else "Leave it out.")
            )
    return engine


def value_in(text: str) -> Any:
    """Return a whole number, a number, None for the word none, or else the text."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return None if text.strip().lower() == "none" else text
