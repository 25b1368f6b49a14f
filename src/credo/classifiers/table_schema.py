"""``TableSchema``: which columns of a table a model learned from, and as what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias, final

from credo._types import Labels

#: What a column is to a model: numbers, truth values, categories (of text; of numbers that are
#: names), or running text.
ColumnKind: TypeAlias = Literal["number", "boolean", "category", "code", "text"]
#: What the labels are.
LabelKind: TypeAlias = Literal["text", "number", "boolean"]


@final
@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """Say what one column of a table is to a model.

    Parameters
    ----------
    name : str
        The column.
    kind : {"number", "boolean", "category", "code", "text"}
        What its values are; a code is a category whose names are numbers.
    categories : tuple
        For models that need numbers (logistic regression): the categories, sorted, each but the
        first of which is a column of zeros and ones to the model. Empty for all others.

    Examples
    --------
    >>> from credo.tables import ColumnSpec
    >>> ColumnSpec("housing", "category", ("free", "own", "rent")).inputs
    ('housing=own', 'housing=rent')
    >>> ColumnSpec("age", "number").inputs
    ('age',)
    """

    name: str
    kind: ColumnKind
    categories: Annotated[Labels, "C"] = ()

    @property
    def is_category(self) -> bool:
        """Whether its values are names, of whatever kind."""
        return self.kind in ("category", "code")

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the features that the model sees in place of this column."""
        if not self.categories:
            return (self.name,)
        return tuple(f"{self.name}={category}" for category in self.categories[1:])


@final
@dataclass(frozen=True, slots=True)
class TableSchema:
    """Say which columns of a table a model learned from, and as what; kept in ``schema_``.

    Parameters
    ----------
    target : str
        The column of labels.
    label_kind : {"text", "number", "boolean"}
        What the labels are.
    features : tuple of ColumnSpec
        The columns of features, in the order of the model.
    weight : str or None
        The column of weights, if there was one.
    missing : tuple of str
        Words that stand for a missing cell in text files, beside those that always do.

    See Also
    --------
    credo.fit_table : Makes one, and checks later tables against it.

    Examples
    --------
    >>> import credo
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20, 30, 40, 50], "y": ["no", "no", "yes", "yes"]})
    >>> model = credo.fit_table(credo.NaiveBayes(), table, target="y")
    >>> model.schema_.features
    (ColumnSpec(name='age', kind='number', categories=()),)
    """

    target: str
    label_kind: LabelKind
    features: tuple[ColumnSpec, ...]
    weight: str | None = None
    missing: Annotated[tuple[str, ...], "M"] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of features."""
        return tuple(feature.name for feature in self.features)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the features that the model sees."""
        return tuple(name for feature in self.features for name in feature.inputs)
