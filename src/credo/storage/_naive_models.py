"""How naive Bayes models of columns and of words are stored: by their summaries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, final

from credo.classifiers.naive_bayes import NaiveBayes, family_name
from credo.classifiers.naive_terms import FAMILIES
from credo.classifiers.text import TextClassifier
from credo.storage._estimators import COLUMNS, Estimator, Plan, as_stored, check_priors
from credo.storage._faults import Fault
from credo.storage._json import Json
from credo.storage._kinds import Choice, Kind, Labels, Maybe, Single, check_fields
from credo.storage._naive_summaries import FRAMES, NAIVE_SUMMARY, WORD_SUMMARY
from credo.storage._page import Page, Scope
from credo.storage._values import Value

#: Options of a vectoriser that tell what is counted; ``dtype`` does not.
_OPTIONS = {
    "CountVectorizer": (
        *("strip_accents", "lowercase", "stop_words", "token_pattern", "ngram_range", "analyzer"),
        *("max_df", "min_df", "max_features", "vocabulary", "binary"),
    ),
    "HashingVectorizer": (
        *("strip_accents", "lowercase", "stop_words", "token_pattern", "ngram_range", "analyzer"),
        *("n_features", "binary", "norm", "alternate_sign"),
    ),
}


@final
class _Families(Kind):
    """The families of columns, all by name."""

    _value = Value()

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write names in the place of classes."""
        if isinstance(value, Mapping):
            named = {column: _named(family) for column, family in value.items()}
            return self._value.write(named, path, page)
        return _named(value)

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Read a name, or a mapping from column to name."""
        value = self._value.read(node, path, scope)
        names = list(value.values()) if isinstance(value, dict) else [value]
        known = {*FAMILIES, "auto"}
        if not all(isinstance(name, str) and name in known for name in names):
            raise Fault(f"{path} names a family that is not known")
        return value


def _named(family: Any) -> str:
    """Name a family."""
    is_auto = isinstance(family, str) and family == "auto"
    return "auto" if is_auto else family_name(family, "NaiveBayes")


@final
class _Vectorizer(Kind):
    """A vectoriser of scikit-learn, by its options; functions are code, and refused."""

    _value = Value()

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write the options that tell what is counted."""
        made = [_plain_vectorizer(name) for name in _OPTIONS]
        if type(value) not in [type(each) for each in made]:
            remedy = "Model files hold a CountVectorizer or a HashingVectorizer."
            raise page.refuse(path, value, remedy)
        options = value.get_params()
        for name in ("tokenizer", "preprocessor"):
            if options[name] is not None:
                raise page.refuse(f"{path}.{name}", options[name], "A model file holds no code.")
        name = type(value).__name__
        kept = {each: options[each] for each in _OPTIONS[name]}
        written = {n: self._value.write(v, f"{path}.{n}", page) for n, v in kept.items()}
        return {"class": name, "options": written}

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Make the vectoriser and set its options."""
        check_fields(node, {"class", "options"}, {"class", "options"}, path)
        name, options = node["class"], node["options"]
        if not isinstance(name, str) or name not in _OPTIONS:
            raise Fault(f"{path} is no vectorizer that is known")
        check_fields(options, set(_OPTIONS[name]), set(), path)
        read = {n: self._value.read(v, f"{path}.{n}", scope) for n, v in options.items()}
        made = _plain_vectorizer(name).set_params(**read)
        _check_options(made, path)
        return made


def _plain_vectorizer(name: str) -> Any:
    """Make a vectoriser, as a text classifier does."""
    hashing = 1 if name == "HashingVectorizer" else None
    return TextClassifier(hashing=hashing)._make_vectorizer()  # noqa: SLF001 - of a model that is stored


def _check_options(vectorizer: Any, path: str) -> None:
    """Check options as scikit-learn does before it fits, and those that it does not check."""
    try:
        vectorizer._validate_params()  # noqa: SLF001 - what fit does first
    except ValueError as error:
        raise Fault(f"{path} has an option that is none: {str(error)[:200]}") from None
    options = vectorizer.get_params()
    lengths = options["ngram_range"]
    if [type(each) for each in lengths] != [int, int] or not 1 <= lengths[0] <= lengths[1]:
        raise Fault(f"{path} counts words in groups of no proper size")
    if callable(options["analyzer"]):
        raise Fault(f"{path} has an analyzer that is no text")


def _restore_columns(model: Any, found: dict[str, Any]) -> None:
    """Estimate from the summary again, which is exact."""
    summary, width = found["summary_"], found["n_features_in_"]
    columns = [part.part.columns for part in summary.parts]
    is_sparse = [each == range(width) for each in columns if isinstance(each, range)]
    if not all(is_sparse) or (is_sparse and len(columns) > 1):
        raise Fault("the columns of the parts are not those of the model")
    placed = [] if is_sparse else sorted(j for each in columns for j in each)
    if not is_sparse and (len(placed) != width or placed != list(range(len(placed)))):
        raise Fault("the columns of the parts are not those of the model")
    names = found.get("_labels", summary.columns)
    if found.get("feature_names_in_") is not None:
        names = tuple(found["feature_names_in_"].tolist())
    names = summary.columns if names is None else names
    if len(names) != width:
        raise Fault("the names of the columns are not those of the model")
    summary = replace(summary, columns=names, frame=found.get("_kind", summary.frame))
    for name in ("_sparse", "_labels", "_kind"):  # of version 1
        vars(model).pop(name, None)
    model.summary_, model.classes_ = summary, summary.classes
    if found.get("_problem") is None:
        with as_stored(model, found):
            model._learn(summary)  # noqa: SLF001 - as a fit does
        check_priors(model)


def _restore_words(model: Any, found: dict[str, Any]) -> None:
    """Choose words and estimate from the summary again, which is exact."""
    summary = found["summary_"]
    model.classes_ = summary.classes
    if model.model != summary.model:
        raise Fault("the model counts words in another way than its summary")
    model._check_parameters()  # noqa: SLF001 - what a fit does first
    reader = model._make_vectorizer()  # noqa: SLF001 - as above
    try:
        reader.build_analyzer()
    except (re.error, TypeError) as error:
        raise Fault(f"the words of the model have no proper pattern: {error}") from None
    slots = getattr(reader, "n_features", None)
    if slots != (len(summary.words) if isinstance(summary.words, range) else None):
        raise Fault("the words of the model are not those that it reads")
    if found.get("_problem") is None:
        model._learn(summary)  # noqa: SLF001 - what a fit does at its end
        check_priors(model)


_COLUMNS_PLAN = Plan(
    parameters={"families": _Families()},
    learned={
        **COLUMNS,
        "summary_": NAIVE_SUMMARY,
        "_sparse": Single(bool),
        "_labels": Maybe(Labels("D", tuple)),
        "_kind": Maybe(Choice(*FRAMES)),
        "_problem": Maybe(Single(str)),
        "_warned": Single(bool),
    },
    needed=frozenset({"n_features_in_", "summary_"}),
    remade=frozenset(
        {
            *("classes_", "_terms", "priors_", "families_", "categories_", "n_parameters_"),
            *("constant_features_", "variance_floored_", "_settled"),
        }
    ),
    finish=_restore_columns,
)
_WORDS_PLAN = Plan(
    parameters={"vectorizer": Maybe(_Vectorizer())},
    learned={
        "summary_": WORD_SUMMARY,
        "_problem": Maybe(Single(str)),
        "_warned": Single(bool),
        "schema_": COLUMNS["schema_"],
    },
    needed=frozenset({"summary_"}),
    remade=frozenset(
        {
            *("classes_", "_terms", "_reader", "_chosen", "words_", "log_probabilities_"),
            *("n_parameters_", "priors_"),
        }
    ),
    finish=_restore_words,
)

KINDS: dict[type, Kind] = {
    NaiveBayes: Estimator(NaiveBayes, _COLUMNS_PLAN),
    TextClassifier: Estimator(TextClassifier, _WORDS_PLAN),
}
