"""Models from the options of ``credo fit``."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Choices:
    """What was asked for; None where nothing was."""

    covariance: str | None = None
    shrinkage: str | None = None
    families: Sequence[str] | None = None
    smoothing: float | None = None
    penalty: str | None = None
    strength: float | None = None
    priors: str | None = None

    def given(self) -> dict[str, Any]:
        """Return the options that were passed, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value not in (None, [], ())}


def models() -> dict[str, Any]:
    """Return the models by the names that --model takes, as they name themselves."""
    from credo import classifiers

    found: list[Any] = [each for each in vars(classifiers).values() if isinstance(each, type)]
    return {each.command: each for each in found if vars(each).get("command")}


def model_of(name: str, choices: Choices) -> Any:
    """Make the model, with its options; those of other models are refused."""
    from credo import _checks as check
    from credo.exceptions import InputError

    known, given = models(), choices.given()
    made = known[check.one_of(name, tuple(known), "--model of credo fit")]
    for option in given:
        if option not in _parameters(made):
            owners = [each for each, cls in known.items() if option in _parameters(cls)]
            told = " and ".join([", ".join(owners[:-1]), owners[-1]] if owners[1:] else owners)
            raise InputError(f"--{option} is an option of --model {told}, not of {name}.")
    return made(**{option: _READ.get(option, _as_is)(value) for option, value in given.items()})


def _parameters(model: Any) -> Any:
    """List the parameters of a model, which has the options of the same names."""
    return inspect.signature(model).parameters


def _as_is(value: Any) -> Any:
    return value


def _shrinkage(text: str) -> Any:
    """Read an amount, or the name of a rule for it."""
    from credo.exceptions import InputError

    if text in {"oas", "auto"}:
        return text
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not 0 <= amount <= 1:
        raise InputError(f"--shrinkage is a number from 0 to 1, or the word oas. Got {text!r}.")
    return amount


def _families(texts: Sequence[str]) -> dict[str, str]:
    """Read column=family,column=family; a column may have an equals sign in its name."""
    from credo.cli.findings import words_in
    from credo.exceptions import InputError

    found: dict[str, str] = {}
    for word in (word for text in texts for word in words_in(text, "--families")):
        column, sign, family = word.text.rpartition("=")
        if not sign or not column.strip() or not family.strip():
            raise InputError(f"--families takes column=family. Got {word.text!r}.")
        if column.strip() in found:
            raise InputError(f"--families names column {column.strip()!r} twice.")
        found[column.strip()] = family.strip()
    return found


def _penalty(text: str) -> str | None:
    """Read a penalty; the word none is none."""
    from credo import _checks as check

    check.one_of(text, ("none", "l1", "l2"), "--penalty of credo fit")
    return None if text == "none" else text


def _priors(text: str) -> str:
    """Read the priors."""
    from credo.exceptions import InputError

    if text != "uniform":
        raise InputError(
            f"--priors takes the word uniform; by default priors are the frequencies. Got {text!r}."
        )
    return text


_READ: dict[str, Any] = {
    "shrinkage": _shrinkage,
    "families": _families,
    "penalty": _penalty,
    "priors": _priors,
}
