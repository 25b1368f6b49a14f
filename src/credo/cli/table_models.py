"""Models from the options of ``credo fit``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

#: Models by the name that --model takes, and which options are theirs.
_OPTIONS = {
    "gaussian": ("covariance", "shrinkage", "priors"),
    "naive-bayes": ("families", "smoothing", "priors"),
    "logistic": ("penalty", "strength"),
    "text": ("smoothing", "priors"),
}


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
        """Give the options that were passed, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value not in (None, [], ())}


def model_of(name: str, choices: Choices) -> Any:
    """Make the model, with its options; those of other models are refused."""
    from credo import classifiers
    from credo._validation.labels import one_of
    from credo.exceptions import InputError

    one_of(name, tuple(_OPTIONS), "credo fit", "--model")
    given = choices.given()
    for option in given:
        if option not in _OPTIONS[name]:
            owners = " and ".join(model for model, known in _OPTIONS.items() if option in known)
            raise InputError(f"--{option} is an option of --model {owners}, not of {name}.")
    arguments = {option: _READ.get(option, _as_is)(value) for option, value in given.items()}
    made = {
        "gaussian": classifiers.GaussianClassifier,
        "naive-bayes": classifiers.NaiveBayes,
        "logistic": classifiers.LogisticClassifier,
        "text": classifiers.TextClassifier,
    }[name]
    return made(**arguments)


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
    from credo._validation.labels import one_of

    one_of(text, ("none", "l1", "l2"), "credo fit", "--penalty")
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
