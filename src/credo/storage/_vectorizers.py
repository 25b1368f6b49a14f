"""How vectorizers of words are stored: by their options."""

from __future__ import annotations

from typing import Any, final

from credo.classifiers.text import TextClassifier
from credo.storage._faults import Fault
from credo.storage._json import Json
from credo.storage._kinds import Kind, check_fields
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
class Vectorizer(Kind):
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
    return TextClassifier(hashing=hashing)._make_vectorizer()  # noqa: SLF001 - of its own kind


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
