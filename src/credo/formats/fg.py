"""libDAI's factor graphs: .fg files."""

from __future__ import annotations

import math
import os
import re

import numpy as np

from credo._types import F64
from credo.formats._text import NumberFile, TextFile
from credo.graphs.factor_graph import FactorGraph

_COMMENT = re.compile(r"#[^\r\n]*")
#: Most cells of a factor, 128 MB: a file lists only those that are not zero.
_MOST_CELLS = 2**24


def read_fg(path: str | os.PathLike[str]) -> FactorGraph:
    r"""Read a factor graph from a libDAI file (.fg).

    Parameters
    ----------
    path : str or path
        The file, packed with gzip or not.

    Returns
    -------
    FactorGraph
        Its variables are the numbers of the file, in their order, with states 0, 1, …; its factors
        are in the order of the file. Factors of no variable multiply the first one that has some.

    Raises
    ------
    FileFormatError
        If the file is damaged; the text names the file, the line and the column.

    See Also
    --------
    read_network : Choose the reader by the name of the file.

    Notes
    -----
    A factor is its variables, their numbers of states, and its cells that are not zero, each with
    its number; the first variable is the fastest. From a hash to the end of a line is a comment.

    References
    ----------
    .. [1] J. M. Mooij, libDAI: a free and open source C++ library for discrete approximate
       inference in graphical models, Journal of Machine Learning Research 11 (2010).

    Examples
    --------
    >>> from credo.formats import read_fg
    >>> file = getfixture("tmp_path") / "pair.fg"
    >>> _ = file.write_text("1\n\n2\n0 1\n2 2\n3\n0 4\n1 2\n3 1\n")
    >>> read_fg(file).factors[0].table
    array([[4., 0.],
           [2., 1.]])
    """
    found = NumberFile.of(TextFile.read(path, _COMMENT))
    graph, sizes, constant, end = FactorGraph(), dict[int, int](), 1.0, 1
    tables: list[tuple[list[int], F64]] = []
    for _ in range(found.whole(0, "the number of factors")):
        place = end
        names, shape, end = _scope(found, place, sizes)
        table, end = _table(found, end, shape)
        if not (np.isfinite(table) & (table >= 0)).all() or not table.any():
            reason = "A factor needs finite numbers from 0 on, not all of them 0. Mend its cells."
            found.fail(place, reason)
        if names:
            tables.append((names, table))
        else:
            constant *= float(table)
    if end < len(found):
        found.fail(end, "Expected the end of the file after the last factor.")
    for name in sorted(sizes):
        graph.variable(name, sizes[name])
    for i, (names, table) in enumerate(tables):
        graph.factor(names, table if i else table * constant)
    return graph


def _scope(
    found: NumberFile, place: int, sizes: dict[int, int]
) -> tuple[list[int], list[int], int]:
    """Read the variables of a factor and their numbers of states; return where these end, too."""
    count = found.whole(place, "the number of variables of a factor")
    names = found.wholes(place + 1, count, "a variable")
    shape = found.wholes(place + 1 + count, count, "a number of states")
    for i, (name, size) in enumerate(zip(names, shape, strict=True)):
        if not size or sizes.setdefault(name, size) != size or name in names[:i]:
            reason = (
                f"Variable {name} has {size} states here. It needs as many as elsewhere, at "
                "least one, and stands once in a factor."
            )
            found.fail(place + 1 + count + i, reason)
    if math.prod(shape) > _MOST_CELLS:
        found.fail(place, f"The factor has more than {_MOST_CELLS} cells. Split it.")
    return names, shape, place + 1 + 2 * count


def _table(found: NumberFile, place: int, shape: list[int]) -> tuple[F64, int]:
    """Read the cells of a factor that are not zero; return all of them, and where it ends."""
    count = found.whole(place, "the number of cells that are not zero")
    end = place + 1 + 2 * count
    if len(found) < end:
        found.fail(len(found), "The file ends where a cell should stand. Fetch or write it again.")
    cells, table = found.values[place + 1 : end : 2], np.zeros(math.prod(shape))
    odd = ~((cells >= 0) & (cells < table.size) & (cells == np.floor(cells)))
    if odd.any():
        reason = f"Expected the number of a cell, from 0 to {table.size - 1}."
        found.fail(place + 1 + 2 * int(np.argmax(odd)), reason)
    table[cells.astype(np.intp)] = found.values[place + 2 : end : 2]
    return table.reshape(shape, order="F"), end
