"""How logistic classifiers are stored."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from credo.classifiers.logistic import LogisticClassifier
from credo.classifiers.softmax.finding import Separation
from credo.classifiers.softmax.inference import Information
from credo.classifiers.softmax.scaling import Scaling
from credo.storage._estimators import COLUMNS, Dropped, Estimator, Plan
from credo.storage._faults import Fault
from credo.storage._json import Json
from credo.storage._kinds import Choice, Count, Kind, Labels, Maybe, Numbers, Record, Single
from credo.storage._page import Page, Scope


@final
class _Pairs(Kind):
    """Pairs of labels, one after the other."""

    _labels = Labels("N", tuple)

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the labels one after the other."""
        return self._labels.write(tuple(label for pair in value for label in pair), path, page)

    def read(self, node: Json, path: str, scope: Scope) -> tuple[tuple[Any, Any], ...]:
        """Read two labels at a time."""
        found = self._labels.read(node, path, scope.inner(own_sizes=True))
        if len(found) % 2:
            raise Fault(f"{path} has a label without its partner")
        return tuple(zip(found[::2], found[1::2], strict=True))


_SEPARATION = Record(
    Separation,
    {
        "kind": Choice("complete", "quasi-complete"),
        "pairs": _Pairs(),
        "features": Labels("S", tuple),
        "shares": Numbers("S"),
        "coef": Numbers("L D"),
        "intercept": Numbers("L"),
    },
)


def _check_information(fields: dict[str, Any], scope: Scope) -> None:
    """Check that the Hessian is one of all coefficients but those of the last class."""
    n_logits = max(1, scope.sizes["L"] - 1)
    if scope.sizes["H"] != n_logits * fields["scaling"].n_columns:
        raise Fault("the Hessian does not fit the coefficients")


_INFORMATION = Record(
    Information,
    {
        "hessian": Numbers("H H"),
        "scaling": Record(
            Scaling,
            {"centre": Numbers("D"), "scale": Numbers("D"), "intercept": Single(bool)},
        ),
        "n_classes": Count("K"),
    },
    _check_information,
)


def _check_rows(model: Any, found: dict[str, Any]) -> None:
    """Check that there is a row of coefficients per class, or one for two classes."""
    n_classes = len(found["classes_"])
    if len(model.coef_) != (1 if n_classes == 2 else n_classes):
        raise Fault("the coefficients do not fit the classes")


_LEARNED: dict[str, Kind] = {
    "classes_": Labels("K", np.ndarray, least=2, distinct=object),
    **COLUMNS,
    "coef_": Numbers("L D"),
    "intercept_": Numbers("L"),
    "n_iter_": Count(),
    "converged_": Single(bool),
    "gradient_norm_": Single(float),
    "log_likelihood_": Single(float),
    "null_log_likelihood_": Single(float),
    "n_parameters_": Count(),
    "separation_": Maybe(_SEPARATION),
    "_information": Maybe(_INFORMATION),
    "_penalised": Single(bool),
    "_problem_of_table": Maybe(Single(str)),
}

KINDS: dict[type, Kind] = {
    LogisticClassifier: Estimator(
        LogisticClassifier,
        Plan(
            parameters={"progress": Dropped()},
            learned=_LEARNED,
            needed=frozenset({*_LEARNED} - {"feature_names_in_", "schema_"}),
            finish=_check_rows,
        ),
    )
}
