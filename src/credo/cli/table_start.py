"""Speaking of options: what is around every command for tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

#: What messages call things for people who write Python, and what they are called here.
_WORDS = {
    "eave it out with features=[…]": "eave it out with --drop",
    "with features=[…]": "with --features",
    "Leave the engine out.": "Leave --dask and --spark out.",
    "covariance='diagonal'": "--covariance diagonal",
    "NaiveBayes or LogisticClassifier": "--model naive-bayes or --model logistic",
    "GaussianClassifier or NaiveBayes": "--model gaussian or naive-bayes",
    "read the table into a frame and call fit, or use": "use",
    "pass shrinkage='oas'": "pass --shrinkage oas",
    "Pass penalty='l2'": "Pass --penalty l2",
    "fit_table": "credo fit",
    "update_table": "credo update",
    "predict_table": "credo predict",
    "evaluate_table": "credo evaluate",
    "merge_models": "credo merge",
}


@contextmanager
def table_command() -> Iterator[None]:
    """Speak warnings and errors, in the block, of options in the place of parameters."""
    from credo.cli.networks import spoken_warnings
    from credo.exceptions import InputError

    with spoken_warnings(_reworded):
        try:
            yield
        except InputError as error:
            raise InputError(_reworded(str(error))) from error


def _reworded(text: str) -> str:
    """Speak of options."""
    for theirs, ours in _WORDS.items():
        text = text.replace(theirs, ours)
    return text
