"""Parts: a family and the columns it describes, and the names that families go by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from credo._types import Label
from credo._validation.labels import listing
from credo.exceptions import InputError
from credo.families import (
    AbstractFamily,
    Bernoulli,
    Beta,
    Categorical,
    DiagonalGaussian,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    Laplace,
    Multinomial,
    MultivariateGaussian,
    Poisson,
)

#: Families by name. Those of one number describe each column by itself.
FAMILIES: dict[str, type[AbstractFamily[Any]]] = {
    "gaussian": Gaussian,
    "laplace": Laplace,
    "bernoulli": Bernoulli,
    "categorical": Categorical,
    "poisson": Poisson,
    "exponential": Exponential,
    "gamma": Gamma,
    "beta": Beta,
    "multinomial": Multinomial,
    "dirichlet": Dirichlet,
    "multivariate_gaussian": MultivariateGaussian,
}
#: Families of vectors describe a group of columns together.
VECTORS = ("multinomial", "dirichlet", "multivariate_gaussian")
#: Families that sparse rows can have: a value of zero costs nothing.
SPARSE = ("bernoulli", "multinomial", "poisson")


@final
@dataclass(frozen=True, slots=True)
class Part:
    """A family and the positions of its columns."""

    family: str
    columns: Sequence[int]

    @property
    def distribution(self) -> type[AbstractFamily[Any]]:
        """The class of the family."""
        return FAMILIES[self.family]

    @property
    def is_vector(self) -> bool:
        """Tell whether the columns are one event."""
        return self.family in VECTORS


@final
@dataclass(frozen=True, slots=True)
class ColumnNames:
    """What columns are called: by name, or by number if they have none."""

    owner: str
    names: Sequence[Label]

    def position(self, name: Any) -> int:
        """Find a column by its name, or by its number."""
        if not isinstance(name, bool):
            if name in self.names:
                return self.names.index(name)
            if isinstance(name, (int, np.integer)) and 0 <= name < len(self.names):
                return int(name)
        raise InputError(
            f"The families of {self.owner} name the column {name!r}, which is not there. Known: "
            f"{listing(self.names)}."
        )

    def of(self, columns: Sequence[int]) -> str:
        """List columns."""
        return listing([self.names[j] for j in columns])

    def called(self, column: int) -> str:
        """Name a column in a sentence; x and its number if it has no name."""
        return f"x{column}" if isinstance(self.names, range) else str(self.names[column])

    def shown(self, columns: Sequence[int], most: int = 8) -> str:
        """List columns without quotes."""
        more = f", … ({len(columns)} in all)" if len(columns) > most else ""
        return ", ".join(self.called(j) for j in columns[:most]) + more

    def keys(self, part: Part) -> list[Any]:
        """Name the columns of a part: one by one, or as a group if they are one event.

        All columns without names are a range: there may be a million of them.
        """
        if isinstance(part.columns, range) and isinstance(self.names, range):
            return [part.columns]
        names = [self.names[j] for j in part.columns]
        return [tuple(names)] if part.is_vector else names


def families_of(parts: list[Part], names: ColumnNames) -> dict[Any, str]:
    """Give the family of each column or group, in the order of the columns."""
    pairs = [
        (part.columns[i], key, part.family)
        for part in parts
        for i, key in enumerate(names.keys(part))
    ]
    return {key: family for _, key, family in sorted(pairs, key=lambda pair: pair[0])}


def family_name(family: Any, owner: str) -> str:
    """Give the name of a family that is given by name or by its class."""
    if isinstance(family, str) and family in FAMILIES:
        return family
    if family is DiagonalGaussian or (isinstance(family, str) and family == "diagonal_gaussian"):
        return "gaussian"  # the same: independent columns
    for name, known in FAMILIES.items():
        if family is known:
            return name
    if isinstance(family, (list, tuple, np.ndarray)):
        raise InputError(
            f"The families of {owner} are one name for all columns, or a mapping from column to "
            "family, such as {0: 'gaussian', 1: 'poisson'}. Got a list."
        )
    shown = family if isinstance(family, str) else getattr(family, "__name__", family)
    raise InputError(
        f"{owner} does not know the family {shown!r}. Choose one of {', '.join(FAMILIES)}."
    )
