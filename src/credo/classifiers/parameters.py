"""``count_parameters``: how many numbers a full table and naive Bayes have to learn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from credo import _checks as check
from credo.classifiers.naive_bayes import NaiveBayes
from credo.exceptions import InputError

_OWNER = "count_parameters"


@final
@dataclass(frozen=True, slots=True)
class ParameterCount:
    """Hold the free parameters per class of two models of discrete features.

    Attributes
    ----------
    states : tuple of int
        Number of values of each feature.
    n_classes : int
        Number of classes.
    full_table : int
        Of the joint table of all features, per class: the product of the states, less one.
    naive_bayes : int
        Of one distribution per feature, per class: the sum of the states less one each.

    Notes
    -----
    Whole numbers of any size, exactly. The class probabilities are ``n_classes - 1`` more in
    either model.

    Examples
    --------
    >>> import credo
    >>> credo.count_parameters(30).full_table
    1073741823
    """

    states: tuple[int, ...]
    n_classes: int
    full_table: int
    naive_bayes: int

    @property
    def full_table_total(self) -> int:
        """Free parameters of the full table in all classes, with the class probabilities."""
        return self.n_classes * self.full_table + self.n_classes - 1

    @property
    def naive_bayes_total(self) -> int:
        """Free parameters of naive Bayes in all classes, with the class probabilities."""
        return self.n_classes * self.naive_bayes + self.n_classes - 1

    def __repr__(self) -> str:
        rows = {
            "": ("per class", "in all"),
            "full table": (_short(self.full_table), _short(self.full_table_total)),
            "naive Bayes": (_short(self.naive_bayes), _short(self.naive_bayes_total)),
        }
        title = f"{len(self.states)} features, {self.n_classes} classes; free parameters"
        return "\n".join([title, *(f"  {n:<12}{a:>14}{b:>14}" for n, (a, b) in rows.items())])


def _short(count: int) -> str:
    """Return a count as text, in powers of ten if it is long."""
    return str(count) if count < 10**12 else f"about 1e{math.floor(math.log10(count))}"


def count_parameters(states: Any, n_classes: int = 2) -> ParameterCount:
    r"""Count what a full joint table and naive Bayes have to learn.

    .. math:: \prod_j S_j - 1 \quad \text{against} \quad \sum_j (S_j - 1)

    per class, with :math:`S_j` values of feature j; :math:`2^D - 1` against D if all are binary.

    Parameters
    ----------
    states : int, iterable of int, or fitted NaiveBayes
        So many binary features, or the number of values of each feature, or a model whose columns
        are Bernoulli or categorical.
    n_classes : int
        Number of classes; of a model, its own.

    Returns
    -------
    ParameterCount
        Exact; its repr is a small table.

    Raises
    ------
    InputError
        If a feature has no values, or a model has columns that are not discrete.

    See Also
    --------
    credo.NaiveBayes : Its ``n_parameters_`` counts all families, and K priors.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 4.2.3.

    Examples
    --------
    >>> import credo
    >>> credo.count_parameters(20, n_classes=2)
    20 features, 2 classes; free parameters
                       per class        in all
      full table         1048575       2097151
      naive Bayes             20            41
    """
    if isinstance(states, NaiveBayes):
        sizes, n_classes = _of_model(states), len(states.classes_)
    elif np.iterable(states):
        sizes = tuple(check.count(size, f"states of {_OWNER}") for size in states)
    else:
        sizes = (2,) * check.count(states, f"states of {_OWNER}")
    k = check.count(n_classes, f"n_classes of {_OWNER}")
    return ParameterCount(sizes, k, math.prod(sizes) - 1, sum(sizes) - len(sizes))


def _of_model(model: NaiveBayes) -> tuple[int, ...]:
    """Return the number of values of each column of a model."""
    if not hasattr(model, "families_"):
        raise InputError(f"{_OWNER} needs a fitted NaiveBayes. Call fit first.")
    sizes = []
    for column, family in model.families_.items():
        if family == "bernoulli":
            sizes += [2] * (len(column) if isinstance(column, range) else 1)
        elif family == "categorical":
            sizes.append(max(1, len(model.categories_[column])))
        else:
            raise InputError(
                f"{_OWNER}: column {column!r} is {family}, which no finite table describes. Count "
                "models of Bernoulli and categorical columns, or pass the numbers of values."
            )
    return tuple(sizes)
