"""How losses, and classifiers that act by them, are stored."""

from __future__ import annotations

from typing import Any, final

from credo.classifiers._base import LearnsFromSummary
from credo.classifiers.decision import DecisionClassifier
from credo.classifiers.logistic import LogisticClassifier
from credo.decisions import Loss
from credo.storage._estimators import SCHEMA, Estimator, Plan, learner_kind
from credo.storage._faults import Fault
from credo.storage._json import Json
from credo.storage._kinds import Kind, Labels, Maybe, Numbers, Record, Single, check_fields
from credo.storage._logistic_models import LOGISTIC
from credo.storage._page import Page, Scope


def _within(name: Any) -> Estimator | None:
    """Return how an estimator of a name is stored that a decision classifier may hold."""
    models = {**LearnsFromSummary.known, LogisticClassifier.__name__: LogisticClassifier}
    make = models.get(name) if isinstance(name, str) else None
    if make is None:
        return None
    return LOGISTIC if make is LogisticClassifier else learner_kind(make)


def _loss(matrix: Any, truths: Any, acts: Any, reject: Any) -> Loss:
    """Make a loss, which checks itself."""
    return Loss(matrix, truths, acts, reject=reject)


#: K truths, A acts, N rows.
LOSS = Record(
    _loss,
    {
        "matrix": Numbers(("K A", "N K A")),
        "truths": Labels("K", tuple),
        "acts": Labels("A", tuple),
        "reject": Single(),
    },
)


@final
class _LossOf(Kind):
    """The loss of a classifier: a Loss or None, but no function."""

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the loss."""
        if value is not None and type(value) is not Loss:
            remedy = "A model file holds no code. Save it with a Loss, or with loss=None."
            raise page.refuse(path, value, remedy)
        return Maybe(LOSS).write(value, path, page)

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Read the loss."""
        return Maybe(LOSS).read(node, path, scope.inner(own_sizes=True))


@final
class _Within(Kind):
    """The estimator within: one of our own, fitted or not."""

    def __init__(self, *, fitted: bool) -> None:
        self._fitted = fitted

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the name and what the estimator is made of."""
        name = type(value).__name__
        kind = _within(name)
        if kind is None or kind.make is not type(value):
            remedy = (
                "Model files hold Credo's own estimators only. Save the other library's model in "
                "its own way and the Loss with loss.save(path), and join them after loading."
            )
            raise page.refuse(path, value, remedy)
        write = kind.write if self._fitted else kind.write_parameters
        return {"class": name, "content": write(value, path, page)}

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Read an estimator of a known name."""
        check_fields(node, {"class", "content"}, {"class", "content"}, path)
        kind, inner = _within(node["class"]), scope.inner(own_sizes=True)
        if kind is None:
            raise Fault(f"{path} is no estimator that is known")
        read = kind.read if self._fitted else kind.read_parameters
        return read(node["content"], path, inner)


def _restore(model: Any, found: dict[str, Any]) -> None:
    """Show what the estimator within learned."""
    within = found["estimator_"]
    if not hasattr(within, "classes_") or not hasattr(within, "predict_proba"):
        raise Fault("the estimator within does not classify")
    for name in ("classes_", "n_features_in_", "feature_names_in_"):
        if hasattr(within, name):
            setattr(model, name, getattr(within, name))


_PLAN = Plan(
    learned={"estimator_": _Within(fitted=True), "schema_": SCHEMA},
    needed=frozenset({"estimator_"}),
    parameters={"estimator": _Within(fitted=False), "loss": _LossOf()},
    finish=_restore,
)

KINDS: dict[type, Kind] = {
    Loss: LOSS,
    DecisionClassifier: Estimator(DecisionClassifier, _PLAN),
}
