"""How logistic classifiers are stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.classifiers.logistic import LogisticClassifier
from credo.classifiers.softmax.finding import Separation
from credo.classifiers.softmax.inference import Information
from credo.storage._derived import record_kind
from credo.storage._estimators import COLUMNS, Estimator, Plan
from credo.storage._faults import Fault
from credo.storage._kinds import Count, Kind, Labels, Maybe, Numbers, Single


def _check_rows(model: Any, found: dict[str, Any]) -> None:
    """Check that there is a row of coefficients per class, or one for two classes."""
    n_classes = len(found["classes_"])
    if len(model.coef_) != (1 if n_classes == 2 else n_classes):
        raise Fault("the coefficients do not fit the classes")


_LEARNED: dict[str, Kind] = {
    "classes_": Labels("K", np.ndarray, least=2, distinct=True),
    **COLUMNS,
    "coef_": Numbers("L D"),
    "intercept_": Numbers("L"),
    "n_iter_": Count(),
    "converged_": Single(bool),
    "gradient_norm_": Single(float),
    "log_likelihood_": Single(float),
    "null_log_likelihood_": Single(float),
    "n_parameters_": Count(),
    "separation_": Maybe(record_kind(Separation)),
    "_information": Maybe(record_kind(Information)),
    "_penalised": Single(bool),
    "_problem_of_table": Maybe(Single(str)),
}
_NEEDED = frozenset({*_LEARNED} - {"feature_names_in_", "schema_"})

LOGISTIC = Estimator(LogisticClassifier, Plan(_LEARNED, _NEEDED, finish=_check_rows))
