"""Blocks for Gibbs sampling: variables that form trees, in partitions that complete each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64, Bool
from credo._validation.labels import listing
from credo.exceptions import InputError
from credo.graphs.problems import Problem
from credo.inference.chains._field import Field
from credo.inference.question import indices

Int64: TypeAlias = npt.NDArray[np.int64]
#: Partitions to take turns, and the sweeps that each has at a time. On a 12 × 12 Ising grid near
#: its critical coupling 80000 draws are worth 4700 if one partition stays on, 4200 if they change
#: at every fourth sweep, and 3900 if they change at each.
_PARTITIONS, _HOLD = 4, 4
#: Trees of a partition; in denser graphs the variables that are left are blocks of their own.
_TREES = 16
#: In the place of the factor above a variable: not looked at yet.
_UNSEEN = -2


@dataclass(frozen=True, slots=True, eq=False)
class Forests:
    """Blocks of one or more partitions, numbered through; arrays as ``gibbs_blocks`` has them."""

    part_start: Int64  #: where the blocks of each partition begin
    of_block: Int64
    member: Int64
    roots: Int64
    of_family: Int64
    family: Int64
    outer_start: Int64
    outer: Int64
    most_cells: int  #: rows of a block, all families together, have at most so many

    @property
    def arrays(self) -> tuple[Int64, ...]:
        """The arrays that kernels take."""
        return (
            self.of_block,
            self.member,
            self.roots,
            self.of_family,
            self.family,
            self.outer_start,
            self.outer,
        )


def turns(sweeps: int, forests: Forests | None) -> Int64:
    """Plan sweeps of which nothing is kept yet; partitions take turns."""
    plan = np.full((sweeps, 5), -1, np.int64)
    if forests is not None:
        turn = np.arange(sweeps) // _HOLD % (len(forests.part_start) - 1)
        plan[:, 3], plan[:, 4] = forests.part_start[turn], forests.part_start[turn + 1]
    return plan


def tree_blocks(field: Field) -> Forests:
    """Cut the variables into trees, in a few ways, so that a tree holds each factor once.

    Trees are grown greedily. Factors that no tree held so far come first, and count more than all
    others of a variable together.
    """
    partitions: list[Int64] = []
    cut = np.ones(len(field.cell_start), np.bool_)
    arity = np.diff(field.scope_start)
    heavy = 1.0 + float(np.diff(field.near_start).max())
    while len(partitions) < _PARTITIONS:
        first = field.scope[np.repeat(cut, arity)] if partitions else field.scope[:0]
        block_of = _grown(field, first, np.where(cut, heavy, 1.0))
        held = cut & _is_held(field, block_of)
        if not held.any() and partitions:
            break
        partitions.append(block_of)
        cut &= ~held
        if not cut.any():
            break
    return _planted(field, partitions)[0]


def named_blocks(field: Field, problem: Problem, blocks: Any, owner: str) -> Forests:
    """Take the blocks that were asked for; other variables are blocks of their own."""
    if isinstance(blocks, str) or not isinstance(blocks, Iterable):
        raise InputError(
            f"The blocks of {owner} must be None, 'trees', or a list of lists of names. Got "
            f"{blocks!r}."
        )
    wiring = problem.wiring
    free = np.full(len(wiring.n_states), -1, np.int64)
    free[problem.variables] = np.arange(len(problem.variables))
    block_of = np.full(field.n_variables, -1, np.int64)
    taken = np.zeros(len(free), np.bool_)
    for i, names in enumerate(blocks):
        asked = indices(wiring, names, owner, f"blocks, number {i},") or []
        if taken[asked].any():
            twice = next(v for v in asked if taken[v])
            raise InputError(
                f"The blocks of {owner} must have no variable in common. {wiring.names[twice]!r} "
                "is in two of them."
            )
        taken[asked] = True
        block_of[[free[v] for v in asked if free[v] >= 0]] = i
    rest = block_of < 0
    block_of[rest] = len(free) + np.arange(int(rest.sum()))
    found, cycle = _planted(field, [np.unique(block_of, return_inverse=True)[1]])
    if cycle >= 0:
        raise _no_tree(field, problem, block_of, cycle, owner)
    return found


def _no_tree(field: Field, problem: Problem, block_of: Int64, cycle: int, owner: str) -> InputError:
    """Word the error for a block with a cycle."""
    names = problem.wiring.names
    block = block_of[field.scope[cycle]]
    inside = problem.variables[np.flatnonzero(block_of == block)].tolist()
    last = names[problem.variables[field.scope[cycle]]]
    return InputError(
        f"The blocks of {owner} must be trees: among the variables of a block, factors may close "
        f"no cycle. Those of {listing([names[v] for v in inside])} close one through {last!r}. "
        "Take a variable of it out, or pass blocks='trees'."
    )


def _grown(field: Field, first: Int64, weight: F64) -> Int64:
    """Give the block of each variable: trees that hold as much as they can, some grown first."""
    from credo._kernels.gibbs_blocks import grow_blocks  # noqa: PLC0415

    n = field.n_variables
    listed = np.concatenate([first, np.arange(n)])
    block_of, stamp = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    grow_blocks(
        listed[np.sort(np.unique(listed, return_index=True)[1])],
        field.near_start,
        field.near,
        field.scope_start,
        field.scope,
        weight,
        _TREES,
        block_of,
        np.arange(n),
        stamp,
        np.zeros(n, np.int64),
    )
    return block_of


def _is_held(field: Field, block_of: Int64) -> Bool:
    """Mark the factors whose variables are all in one block."""
    block = block_of[field.scope]
    if not len(block):
        return np.zeros(0, np.bool_)
    first = field.scope_start[:-1]
    return np.asarray(np.minimum.reduceat(block, first) == np.maximum.reduceat(block, first))


def _planted(field: Field, partitions: list[Int64]) -> tuple[Forests, int]:
    """Root the trees of all partitions and number them through; and give the link of a cycle."""
    parts = []
    for block_of in partitions:
        part, cycle = _rooted(field, block_of)
        parts.append(part)
        if cycle >= 0:
            return part, cycle
    return _joined(parts), -1


def _rooted(field: Field, block_of: Int64) -> tuple[Forests, int]:
    """Root the trees of one partition; and give the link of a cycle, or -1."""
    from credo._kernels.gibbs_blocks import plant  # noqa: PLC0415

    n, n_links = field.n_variables, len(field.scope)
    shapes = (n,), (int(block_of.max()) + 2, 3), (n,), (n + 1,), (2 * n,), (n + 1,), (n_links,)
    counts = np.zeros(5, np.int64)
    lists: list[Int64] = [np.zeros(shape, np.int64) for shape in shapes]
    cycle = plant(
        np.argsort(block_of, kind="stable"),
        field.near_start,
        field.near,
        field.scope_start,
        field.scope,
        field.place,
        block_of,
        np.full(n, _UNSEEN, np.int64),
        counts,
        *lists,
    )
    return _closed(field, counts, lists), int(cycle)


def _closed(field: Field, counts: Int64, lists: list[Int64]) -> Forests:
    """Write where the last of each list ends, and cut off what was not used."""
    member, of_block, roots, family_start, family, outer_start, outer = lists
    n_members, n_roots, n_families, n_links, n_outer = counts.tolist()
    of_block[-1] = n_members, n_roots, n_families
    family_start[n_families], outer_start[n_members] = n_links, n_outer
    family_start, family = family_start[: n_families + 1], family[:n_links]
    of_family, most_cells = _sized(field, of_block, family_start, family)
    return Forests(
        np.array([0, len(of_block) - 1]),
        of_block,
        member[:n_members],
        roots[:n_roots],
        of_family,
        family,
        outer_start[: n_members + 1],
        outer[:n_outer],
        most_cells,
    )


def _sized(field: Field, of_block: Int64, family_start: Int64, family: Int64) -> tuple[Int64, int]:
    """Give the first link, the first row and the children's states of each family; and the most.

    Rows of each block begin at zero.
    """
    states = np.diff(field.start)[field.ends[family]]
    first = family_start[:-1]
    n_rows = states[first]
    states[first] = 1
    count = np.multiply.reduceat(states, first) if len(first) else first
    end = np.concatenate([[0], np.cumsum(n_rows * count)])
    of_block_first = end[of_block[:-1, 2]]
    row = end[:-1] - np.repeat(of_block_first, np.diff(of_block[:, 2]))
    ended = np.column_stack([family_start, np.append(row, 0), np.append(count, 0)])
    return ended.astype(np.int64), int(np.diff(end[of_block[:, 2]]).max())


def _joined(parts: list[Forests]) -> Forests:
    """Put partitions one after the other."""
    return Forests(
        _chained([part.part_start for part in parts]),
        _chained([part.of_block for part in parts]),
        np.concatenate([part.member for part in parts]),
        np.concatenate([part.roots for part in parts]),
        _chained([part.of_family for part in parts], columns=1),
        np.concatenate([part.family for part in parts]),
        _chained([part.outer_start for part in parts]),
        np.concatenate([part.outer for part in parts]),
        max(part.most_cells for part in parts),
    )


def _chained(starts: list[Int64], columns: int | None = None) -> Int64:
    """Put lists of starts one after the other, each beginning where the one before it ends.

    Of ``of_family`` this is for the first column only.
    """
    whole = starts[0]
    for start in starts[1:]:
        shift = whole[-1].copy()
        if columns is not None:
            shift[columns:] = 0
        whole = np.concatenate([whole[:-1], start + shift])
    return whole
