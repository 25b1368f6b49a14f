"""Starting quickly, and speaking of options: what is around every command for tables."""

from __future__ import annotations

import gc
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

#: scikit-learn and Arrow load pandas, if it is there, to see whether they were passed its frames.
#: Here they never are, and it takes a third of the time until the first row is read.
_UNUSED = "pandas"

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
_MISSING = re.compile(r"Name it as missing=\[(.+?)\] if")


@contextmanager
def table_command(*, clusters: bool = False) -> Iterator[None]:
    """Load what every command for tables needs; in the block, warnings and errors are spoken.

    Clusters may need pandas; without one it is not looked for.
    """
    from credo.cli.networks import spoken_warnings

    with ExitStack() as around:
        if not clusters:
            around.enter_context(_without_unused())
        _load()
        around.enter_context(spoken_warnings())
        around.enter_context(_in_our_words())
        yield


class _Blind:
    """Finds no pandas."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        """Say that it is not there; leave other names to others."""
        if name == _UNUSED:
            raise ModuleNotFoundError(f"{name} is not looked for here", name=name)


@contextmanager
def _without_unused() -> Iterator[None]:
    """Do as if pandas were not installed, in the block."""
    blind: Any = _Blind()
    sys.meta_path.insert(0, blind)
    try:
        yield
    finally:
        sys.meta_path.remove(blind)


def _load() -> None:
    """Load classifiers and tables without looking for garbage between modules."""
    collects = gc.isenabled()
    gc.disable()
    try:
        import credo.storage
        import credo.tables.fitting  # noqa: F401 - loaded here, used in the block
    finally:
        if collects:
            gc.enable()


@contextmanager
def _in_our_words() -> Iterator[None]:
    """Reword warnings, and errors about the input: options in the place of parameters."""
    from credo.exceptions import CredoWarning, InputError

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CredoWarning)
        try:
            yield
        except InputError as error:
            raise InputError(_reworded(str(error))) from error
    for warning in caught:
        warnings.warn(_reworded(str(warning.message)), CredoWarning, stacklevel=2)


def _reworded(text: str) -> str:
    """Speak of options."""
    for theirs, ours in _WORDS.items():
        text = text.replace(theirs, ours)
    return _MISSING.sub(r"Fit with --missing \1 if", text)
