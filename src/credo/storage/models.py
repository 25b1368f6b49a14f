"""Estimators, losses and vectorizers, and which classes can be stored at all.

Estimators need no line here: what they are made of follows from ``StoredModel``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self, final

import numpy as np

from credo._records import Declaration, Value, field_of
from credo._types import F64, Labels
from credo.classifiers import ClassSummary, DecisionClassifier, TextClassifier
from credo.classifiers._base import ScoredClassifier, StoredModel
from credo.classifiers.naive_bayes import NaiveSummary
from credo.classifiers.schema import TableSchema
from credo.classifiers.text import WordSummary
from credo.decisions import Loss
from credo.exceptions import InputError
from credo.storage.codec import (
    Form,
    Page,
    forms,
    given_parameters,
    parameter_names,
    parameters,
    stands_for,
)

#: Options of a vectorizer that tell what is counted; ``dtype`` does not.
_SHARED = (
    *("strip_accents", "lowercase", "stop_words", "token_pattern", "ngram_range", "analyzer"),
    "binary",
)
_OPTIONS = {
    "CountVectorizer": (*_SHARED, "max_df", "min_df", "max_features", "vocabulary"),
    "HashingVectorizer": (*_SHARED, "n_features", "norm", "alternate_sign"),
}
#: Vectorizers as a text classifier makes them, by name.
_VECTORIZERS: dict[str, Any] = {
    type(made).__name__: made
    for made in (TextClassifier(hashing=each)._make_vectorizer() for each in (None, 1))  # noqa: SLF001
}


def storable() -> Mapping[str, type]:
    """Return the classes that can be stored, by name; networks have a module of their own."""
    others = (ClassSummary, NaiveSummary, WordSummary, DecisionClassifier, Loss)
    return {**StoredModel.known, **{each.__name__: each for each in others}}


@final
class EstimatorForm(Form):
    """An estimator as its parameters and what it learned."""

    def __init__(self, make: Any) -> None:
        self.record, names = make, parameter_names(make)
        self.spare = frozenset(names)  # one that is not there has its default
        self.fields = dict.fromkeys(names, Declaration("value", ())) | _list_learned(make)

    def take(self, value: Any, page: Page) -> dict[str, Any]:
        """Take an estimator apart; refuse one that learned nothing, or would lose something."""
        found = given_parameters(value)
        found |= {name: vars(value).get(name) for name in self.fields if name not in self.spare}
        if found.get("_fitted") is None and found.get("summary_") is None:
            raise InputError(
                f"This {self.record.__name__} is not fitted, so there is nothing to save. Fit it "
                "first; an unfitted model is no more than its parameters."
            )
        if found["_problem"] is not None:
            found |= {"_fitted": None} if "_fitted" in found else {}
            if not page.summary:
                raise InputError(
                    f"This {self.record.__name__} waits for more rows: {found['_problem']} Without "
                    "its summary nothing would be left of it. Save it with summary=True."
                )
        given = {name: getattr(value, name) for name in self.spare}
        refuse_others(value, lambda: self._shown(self.record(**given), found))
        if not page.summary and found.get("_fitted") is not None and "summary_" in found:
            found["summary_"] = None
        return found

    def make(self, found: dict[str, Any]) -> Any:
        """Put an estimator together."""
        model = self.record(**{name: found[name] for name in self.spare if name in found})
        return self._shown(model, found)

    def _shown(self, model: Any, found: dict[str, Any]) -> Any:
        """Let a model show what it learned, as a fit does at its end, but without warnings."""
        fitted, warned = found.get("_fitted"), found.get("_warned")
        summary: Any = found.get("summary_")
        waits = found["_problem"] is not None
        if (summary if waits or model.Fitted is None else fitted) is None:
            raise InputError("The model has learned nothing.")
        learned = {n: found[n] for n in self.fields if n not in self.spare}
        vars(model).update({n: v for n, v in learned.items() if v is not None or n == "summary_"})
        _check_schema(model)
        if model.Fitted is None and isinstance(model, ScoredClassifier):
            model.classes_ = summary.classes
        model._check_loaded()  # noqa: SLF001 - it is there to be called here, as all of these
        if waits:
            return model
        model._warned = True  # noqa: SLF001
        if model.Fitted is None:
            model._learn(summary)  # noqa: SLF001
        else:
            model._set(fitted, found.get("classes_"), summary)  # noqa: SLF001
        del model._warned  # noqa: SLF001
        if warned is not None:
            model._warned = warned  # noqa: SLF001
        if not abs(np.sum(getattr(model, "priors_", 1.0)) - 1.0) < 1e-6:
            raise InputError("The classes of the model have no weight.")
        return model


def _list_learned(make: Any) -> dict[str, Declaration]:
    """Return what a model learned, in the order in which it is read."""
    found = {}
    if make.Fitted is not None and issubclass(make, ScoredClassifier):
        found["classes_"] = field_of(Annotated[Any, "K"], "classes_")
    names = Declaration("labels", (np.ndarray,), "D", each=str, optional=True)
    found["n_features_in_"] = replace(
        field_of(Annotated[int, "D"], "n_features_in_"), optional=make.kind == "documents"
    )
    found |= {
        "feature_names_in_": names,
        "schema_": field_of(Annotated[TableSchema, ""] | None, ""),
    }
    for attribute, record in (("_fitted", make.Fitted), ("summary_", make.Summary)):
        if record is not None:
            may_lack = attribute == "_fitted" or make.Fitted is not None
            found[attribute] = replace(field_of(record, attribute), optional=may_lack)
    return found | {"_problem": field_of(str | None, ""), "_warned": field_of(bool | None, "")}


def _check_schema(model: Any) -> None:
    """Refuse the schema of a table with other columns than the model has."""
    schema = getattr(model, "schema_", None)
    if schema is None or model.kind == "documents":
        return
    if schema.names != tuple(getattr(model, "feature_names_in_", ())):
        raise InputError("The schema of the model does not fit its features.")


#: Attributes that models of a class have shown after they were made of what a file holds.
_SHOWN: defaultdict[type, set[str]] = defaultdict(set)


def refuse_others(model: Any, twin: Callable[[], Any]) -> None:
    """Refuse attributes that would be lost: those that no model has which is made of the same."""
    known, names = _SHOWN[type(model)], {name for name in vars(model) if name[0] != "_"}
    if not names <= known:
        known.update(vars(twin()))
    strange = sorted(names - known)
    if strange:
        raise InputError(
            f"This {type(model).__name__} has the attribute {strange[0]!r}, which model files do "
            f"not hold. Remove it first: del model.{strange[0]}."
        )


@final
@stands_for(DecisionClassifier)
@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """A classifier that acts: the one that it was given, its loss, and the fitted one."""

    #: The class and the parameters of the one that it was given.
    estimator: str
    options: Value
    loss: Value
    fitted: StoredModel

    @classmethod
    def of(cls, model: DecisionClassifier) -> Self:
        """Take a fitted classifier apart."""
        if not hasattr(model, "estimator_"):
            raise InputError("This DecisionClassifier is not fitted, so there is nothing to save.")
        twin = DecisionClassifier(model.estimator, model.loss)
        refuse_others(model, lambda: twin._adopt(model.estimator_))  # noqa: SLF001 - as a fit does
        name, options = type(model.estimator).__name__, given_parameters(model.estimator)
        return cls(name, options, model.loss, model.estimator_)

    def made(self) -> DecisionClassifier:
        """Put the classifier together."""
        make: Any = StoredModel.known.get(self.estimator)
        proper = make is not None and isinstance(self.options, dict)
        if not proper or not set(parameter_names(make)).issuperset(self.options):
            raise InputError("The DecisionClassifier has no valid estimator.")
        if not isinstance(self.loss, Loss | None):
            raise InputError("The DecisionClassifier has no Loss.")
        if not isinstance(self.fitted, ScoredClassifier):
            raise InputError("The estimator within does not classify.")
        return DecisionClassifier(make(**self.options), self.loss)._adopt(self.fitted)  # noqa: SLF001


@final
@stands_for(Loss)
@dataclass(frozen=True, slots=True, eq=False)
class LossTable:
    """A loss of K true classes and A acts, perhaps for each of N rows."""

    matrix: Annotated[F64, ("K A", "N K A")]
    truths: Annotated[Labels, "K"]
    acts: Annotated[Labels, "A"]
    reject: Value

    @classmethod
    def of(cls, loss: Loss) -> Self:
        """Take a loss apart."""
        return cls(loss.matrix, loss.truths, loss.acts, loss.reject)

    def made(self) -> Loss:
        """Make the loss, which checks itself."""
        return Loss(self.matrix, self.truths, self.acts, reject=self.reject)


@final
@stands_for(*map(type, _VECTORIZERS.values()))
@dataclass(frozen=True, slots=True, eq=False)
class Vectorizer:
    """A vectorizer of scikit-learn by its options; functions are code, and refused."""

    kind: Literal["CountVectorizer", "HashingVectorizer"]
    options: Value

    @classmethod
    def of(cls, vectorizer: Any) -> Self:
        """Take the options that tell what is counted."""
        name, given = type(vectorizer).__name__, vectorizer.get_params()
        for each in ("tokenizer", "preprocessor", "analyzer"):
            if callable(given[each]):
                raise InputError(
                    f"A vectorizer cannot be saved: vectorizer.{each} is of type "
                    f"{type(given[each]).__name__}. A model file holds no code."
                )
        return cls(name, {each: given[each] for each in _OPTIONS[name]})  # type: ignore[arg-type]

    def made(self) -> Any:
        """Make the vectorizer; check options as scikit-learn does before it fits, and lengths."""
        if not isinstance(self.options, dict) or set(self.options) != set(_OPTIONS[self.kind]):
            raise InputError("The vectorizer has options that its class does not have.")
        made = type(_VECTORIZERS[self.kind])(**self.options)
        try:
            made._validate_params()  # noqa: SLF001 - what fit does first
        except ValueError as error:
            raise InputError(f"The vectorizer has an option that is not valid: {error}.") from None
        lengths = made.ngram_range
        if [type(each) for each in lengths] != [int, int] or not 1 <= lengths[0] <= lengths[1]:
            raise InputError("The vectorizer counts words in groups of a size that is not valid.")
        return made


forms[StoredModel] = EstimatorForm
parameters |= {"Loss": Loss, **{name: type(each) for name, each in _VECTORIZERS.items()}}
