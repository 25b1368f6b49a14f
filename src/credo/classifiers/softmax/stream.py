"""Batches from a source that is read again for every pass, and caught if it changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from credo._types import F64, Int
from credo.classifiers.softmax.batches import Batch
from credo.classifiers.softmax.census import Census, Sample
from credo.exceptions import InputError


class Read(Protocol):
    """Checks one batch; gives rows and weights, with labels in the place of codes."""

    def __call__(self, raw: Any, *, first_batch: bool, first_pass: bool) -> Batch:
        """Check ``raw``."""


#: Finds the codes of labels.
Encode = Callable[[Any], Int]

#: Sums of the same numbers in another order agree to this share.
_SAME = 1e-9


def opened(source: Any, owner: str) -> Callable[[], Iterable[Any]]:
    """Give a function that starts a new pass; refuse what can be read only once."""
    if callable(source):
        return source
    if not hasattr(source, "__iter__") or iter(source) is source:
        raise InputError(
            f"{owner} reads its batches once per iteration. Got {type(source).__name__}, which "
            "can be read only once. Pass a function that gives a new iterator, or a list."
        )
    return lambda: source


@dataclass(slots=True)
class _Tally:
    """What must be the same in every pass."""

    n_rows: int = 0
    weight: float = 0.0
    entries: float = 0.0
    #: Sum of absolute entries, which the rounding of their sum is a share of; first pass only.
    size: float = 0.0

    def add(self, batch: Batch) -> None:
        """Count a batch."""
        values = batch.x.data if sparse.issparse(batch.x) else batch.x
        self.n_rows += len(batch)
        self.weight += batch.total
        self.entries += float(values.sum(dtype=np.float64))

    def measure(self, batch: Batch) -> None:
        """Add up sizes."""
        values = batch.x.data if sparse.issparse(batch.x) else batch.x
        self.size += float(np.abs(values).sum(dtype=np.float64))

    def check(self, other: _Tally, owner: str) -> None:
        """Refuse another pass that gave other rows."""
        slack = _SAME * self.size
        same = (
            self.n_rows == other.n_rows
            and abs(self.weight - other.weight) <= _SAME * self.weight
            and abs(self.entries - other.entries) <= slack
        )
        if not same:
            raise InputError(
                f"{owner}: the first pass over the batches gave {self.n_rows} rows, a later one "
                f"{other.n_rows}"
                + ("" if self.n_rows != other.n_rows else " with other values")
                + ". Every pass must give the same rows: pass a function that starts afresh."
            )


class Stream:
    """A source of batches; the first pass learns what is in it."""

    def __init__(
        self, source: Any, read: Read, owner: str, sample_size: Callable[[int], int]
    ) -> None:
        self._give, self._read, self._owner = opened(source, owner), read, owner
        self._tally = _Tally()
        self.census: Census | None = None
        self.weights: dict[Any, float] = {}
        self._sample: Sample | None = None
        self._survey(sample_size)

    def _survey(self, sample_size: Callable[[int], int]) -> None:
        """Pass for the first time."""
        for raw in self._give():
            batch = self._read(raw, first_batch=self.census is None, first_pass=True)
            if self.census is None:
                self.census = Census(batch.x.shape[1])
                if not sparse.issparse(batch.x):
                    self._sample = Sample(sample_size(batch.x.shape[1]))
            elif sparse.issparse(batch.x) != self.census.is_sparse:
                raise InputError(f"{self._owner}: batches must be all dense or all sparse.")
            if not len(batch):
                self.census.is_sparse = sparse.issparse(batch.x)
                continue
            self.census.add(batch)
            self._tally.add(batch)
            self._tally.measure(batch)
            self._count(batch)
            if self._sample is not None:
                self._sample.add(batch)
        if self.census is None or not self.census.n_rows:
            raise InputError(f"{self._owner} got no rows: the source gave no batches with any.")

    def _count(self, batch: Batch) -> None:
        """Add up the weight of each label."""
        try:
            labels, codes = np.unique(batch.codes, return_inverse=True)
        except TypeError as error:
            raise InputError(
                f"{self._owner}: the labels y must be of one kind. {error}."
            ) from error
        for label, weight in zip(labels, np.bincount(codes, batch.weights), strict=True):
            self.weights[label] = self.weights.get(label, 0.0) + float(weight)

    def sample(self, encode: Encode) -> Batch | None:
        """Give the sample of dense rows, if it is much less than all of them."""
        if self._sample is None or self.census is None or not self._sample.is_worth_it:
            return None
        rows = self._sample.rows
        return Batch(rows.x, encode(rows.codes), rows.weights)

    def source(self, encode: Encode) -> Callable[[], Iterator[Batch]]:
        """Give the passes that follow, with codes for labels."""

        def batches() -> Iterator[Batch]:
            tally = _Tally()
            for raw in self._give():
                batch = self._read(raw, first_batch=False, first_pass=False)
                if len(batch):
                    tally.add(batch)
                    yield Batch(batch.x, encode(batch.codes), batch.weights)
            self._tally.check(tally, self._owner)

        return batches


def one_batch(batch: Batch, sample_size: Callable[[int], int]) -> tuple[Census, Batch | None]:
    """Survey rows that are all in memory."""
    census = Census(batch.x.shape[1])
    census.add(batch)
    sample = Sample(sample_size(batch.x.shape[1]))
    if census.is_sparse or not sample.would_be_worth_it(len(batch)):
        return census, None
    sample.add(batch)
    return census, sample.rows


def refuse_unusable(x: Any, moments: F64, names: Callable[[int], str], owner: str) -> None:
    """Name the first entry that is not a number, where a column's moments are not."""
    if np.isfinite(moments).all():
        return
    for j in np.flatnonzero(~np.isfinite(moments)).tolist():
        column = x[:, [j]].toarray() if sparse.issparse(x) else x[:, j]
        column = np.asarray(column, dtype=np.float64).ravel()
        if np.isnan(column).any():
            row = int(np.isnan(column).argmax())
            raise InputError(
                f"{owner}: X contains NaN in column {names(j)} (row {row}). Scores given x say "
                "nothing of x itself, so missing values cannot be marginalised. Impute them, or "
                "use credo.GaussianClassifier or credo.NaiveBayes, which can."
            )
        if np.isinf(column).any():
            raise InputError(f"{owner}: X contains infinity (inf) in column {names(j)}.")
    raise InputError(f"{owner}: X contains numbers too large to square. Change their unit.")
