"""What is kept of chains, within bounds, and what is told of it in the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.inference.chains._field import Field
from credo.inference.chains.diagnostics import ess_of, halves, mean_error, ratio

Int64: TypeAlias = npt.NDArray[np.int64]
#: Bytes of the states, and of the batches, that all chains keep together; unless this would leave
#: less than so many of them to each chain.
_BYTES, _LEAST_KEPT, _LEAST_BATCHES = 2**27, 64, 8
#: Batches of a chain: with four chains their spread is known to one part in twenty.
_MOST_BATCHES = 64
#: Numbers that diagnostics work on at a time: 8 MB, and a few copies.
_CHUNK = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """What one chain keeps."""

    sums: F64  #: (batches, S): sums of conditional probabilities
    visits: Int64  #: (2, S): how often each state was drawn, in each half of the chain
    trace: npt.NDArray[Any]  #: (kept, n): states


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long chains run, and how much of them is kept."""

    draws: int
    burn_in: int
    thin: int
    chains: int

    @property
    def sweeps(self) -> int:
        """Sweeps of one chain."""
        return self.burn_in + self.draws * self.thin

    def kept(self, field: Field) -> int:
        """Give how many draws of a chain are kept as states."""
        size = self.chains * max(1, field.n_variables) * _dtype(field).itemsize
        return min(self.draws, max(_LEAST_KEPT, _BYTES // size))

    def batches(self, field: Field) -> int:
        """Give into how many batches the draws of a chain go."""
        size = self.chains * max(1, field.n_states) * 8
        return min(self.draws, _MOST_BATCHES, max(_LEAST_BATCHES, _BYTES // size))

    def record(self, field: Field) -> Record:
        """Make room for one chain."""
        return Record(
            np.zeros((self.batches(field), field.n_states)),
            np.zeros((2, field.n_states), np.int64),
            np.zeros((self.kept(field), field.n_variables), _dtype(field)),
        )

    def plan(self, field: Field, turns: Int64) -> Int64:
        """Say for each sweep which batch, half and kept draw it is, or -1; and its blocks."""
        plan = turns.copy()
        d = np.arange(self.draws)
        half = np.where(d < self.draws // 2, 0, -1)
        half[self.draws - self.draws // 2 :] = 1
        kept = d * self.kept(field) // self.draws
        kept[1:][np.diff(kept) == 0] = -1
        drawn = plan[self.burn_in + self.thin - 1 :: self.thin]
        drawn[:, 0] = d * self.batches(field) // self.draws
        drawn[:, 1] = half
        drawn[:, 2] = kept
        return plan


def no_record() -> Record:
    """Give what a walk keeps of which only the weight counts: nothing."""
    return Record(np.empty((0, 0)), np.empty((0, 0), np.int64), np.empty((0, 0), np.uint8))


def _dtype(field: Field) -> np.dtype[Any]:
    """Choose the smallest of two kinds of whole numbers."""
    most = int(np.diff(field.start).max(initial=1))
    return np.dtype(np.uint8 if most <= 256 else np.uint32)


def pooled(records: list[Record], draws: int) -> F64:
    """Average the conditional probabilities of all chains: lower in variance than counting."""
    total = sum(record.sums.sum(axis=0) for record in records)
    return np.asarray(total / (draws * len(records)))


def diagnosed(records: list[Record], lengths: Lengths, start: Int64) -> dict[str, Any]:
    """Tell of each state whether the chains agree, and what the draws are worth."""
    visits = np.concatenate([record.visits for record in records])
    agreement = _indicator_r_hat(visits, lengths.draws // 2)
    worth, never_moved = _indicator_worth(records, start, lengths)
    return {
        "r_hat": agreement,
        "effective_sample_size": worth,
        "standard_error": _standard_error(records, lengths),
        "never_moved": never_moved,
        "worst_r_hat": float(agreement.max(initial=1.0)),
        "least_effective_sample_size": float(worth.min(initial=np.inf)),
        "draws": lengths.draws * lengths.chains,
        "kept": len(records[0].trace),
    }


def _indicator_r_hat(visits: Int64, n: int) -> F64:
    """Compute split R-hat of indicators from counts; ranks would change nothing."""
    means = visits / n
    within = (means * (1.0 - means)).mean(axis=0) * n / (n - 1)
    differ = (visits != visits[:1]).any(axis=0)
    between = np.where(differ, means.var(axis=0, ddof=1), 0.0)
    return ratio(within, (n - 1) / n * within + between)


def _indicator_worth(
    records: list[Record], start: Int64, lengths: Lengths
) -> tuple[F64, npt.NDArray[np.bool_]]:
    """Compute effective sample sizes of indicators, and which were the same in all draws."""
    sizes = np.diff(start)
    owner, state = np.repeat(np.arange(len(sizes)), sizes), np.arange(start[-1])
    state = state - np.repeat(start[:-1], sizes)
    kept = len(records[0].trace)
    worth = np.empty(len(state))
    moved = np.empty(len(state), np.bool_)
    twin = (sizes[owner] == 2) & (state == 0)  # its indicator is one minus that of the other state
    wanted = np.flatnonzero(~twin)
    step = max(1, _CHUNK // (kept * len(records)))
    for i in range(0, len(wanted), step):
        some = wanted[i : i + step]
        states = np.stack([record.trace[:, owner[some]].T for record in records], axis=1)
        draws = (states == state[some, None, None]).astype(np.float64)
        worth[some] = ess_of(halves(draws), kept * len(records))
        moved[some] = (draws != draws[:, :1, :1]).any(axis=(1, 2))
    worth[twin], moved[twin] = worth[np.flatnonzero(twin) + 1], moved[np.flatnonzero(twin) + 1]
    worth[~moved] = lengths.draws * lengths.chains
    return worth, ~moved


def _standard_error(records: list[Record], lengths: Lengths) -> F64:
    """Compute the standard errors of averaged conditional probabilities, from those of batches."""
    n_batches, n_states = records[0].sums.shape
    of_batch = np.bincount(
        np.arange(lengths.draws) * n_batches // lengths.draws, minlength=n_batches
    )
    errors = np.empty(n_states)
    step = max(1, _CHUNK // (n_batches * len(records)))
    for i in range(0, n_states, step):
        sums = np.stack([record.sums[:, i : i + step].T for record in records], axis=1)
        errors[i : i + step] = mean_error(sums / of_batch)
    return errors
