"""Codes: factor graphs of parity-check matrices."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo.exceptions import InputError, ShapeError
from credo.graphs.factor_graph import FactorGraph

Int64: TypeAlias = npt.NDArray[np.int64]


def parity_graph(checks: Any, syndrome: Any = None) -> FactorGraph:
    r"""Make the factor graph of a binary linear code from its parity-check matrix.

    .. math:: p(x) \propto \prod_{i=1}^m [\, H_{i1} x_1 + \dots + H_{in} x_n \equiv s_i
              \pmod 2 \,]

    Parameters
    ----------
    checks : array_like or sparse matrix of shape (n_checks, n_bits)
        The matrix H, of zeros and ones; of a sparse matrix only the ones are visited.
    syndrome : array_like of shape (n_checks,), optional
        The parity s of each check; zeros by default.

    Returns
    -------
    FactorGraph
        Variables 0, …, n_bits - 1 with states 0 and 1, and a parity rule for each row of H. Rows
        without a one are left out.

    Raises
    ------
    ShapeError
        If the matrix is not two-dimensional, or the syndrome does not fit it.
    InputError
        If an entry is neither 0 nor 1, or a row without a one must be odd.

    See Also
    --------
    credo.formats.read_alist : Read a matrix from a file.
    credo.infer_many : Decode many words at once.

    Notes
    -----
    Time is linear in the number of ones. Channels come in as node potentials of rows: for a word y
    received, ``potentials[row, bit] = p(y | bit is 0), p(y | bit is 1)``.

    References
    ----------
    .. [1] D. J. C. MacKay, *Information Theory, Inference, and Learning Algorithms*, Cambridge
       University Press, 2003, chapter 47.

    Examples
    --------
    >>> from credo.graphs.codes import parity_graph
    >>> graph = parity_graph([[1, 1, 0], [0, 1, 1]])
    >>> graph
    <FactorGraph: 3 variables, 2 factors, open>
    >>> graph.factors[1]
    parity check of 1, 2
    """
    rows, columns, shape = _ones(checks)
    parities = _parities(syndrome, shape[0])
    order = np.lexsort((columns, rows))
    cuts = np.searchsorted(rows[order], np.arange(shape[0] + 1)).tolist()
    listed = columns[order].tolist()
    graph = FactorGraph()
    bits = [graph.variable(bit, 2) for bit in range(shape[1])]
    for check, odd in enumerate(parities.tolist()):
        scope = listed[cuts[check] : cuts[check + 1]]
        if scope:
            graph.parity([bits[bit] for bit in scope], even=not odd)
        elif odd:
            raise InputError(
                f"parity_graph: row {check} of the matrix has no one, and can not be odd. Set "
                f"syndrome[{check}] to 0, or leave the row out."
            )
    return graph


def _ones(checks: Any) -> tuple[Int64, Int64, tuple[int, int]]:
    """Give the rows and the columns of the ones, and the shape of the matrix."""
    if hasattr(checks, "tocoo"):
        found = checks.tocoo()
        shape, values = found.shape, np.asarray(found.data)
        rows, columns = np.asarray(found.row, np.int64), np.asarray(found.col, np.int64)
        keep = values != 0
        rows, columns, values = rows[keep], columns[keep], values[keep]
    else:
        dense = np.asarray(checks)
        shape = dense.shape
        if dense.ndim != 2:
            raise ShapeError(f"parity_graph needs a matrix (checks, bits). Got shape {shape}.")
        rows, columns = np.nonzero(dense)
        values = dense[rows, columns]
    if len(values) and not (values == 1).all():
        worst = int(np.argmin(values == 1))
        raise InputError(
            f"parity_graph needs a matrix of zeros and ones. Got {values[worst]} in row "
            f"{rows[worst]}, column {columns[worst]}."
        )
    return rows, columns, (int(shape[0]), int(shape[1]))


def _parities(syndrome: Any, n_checks: int) -> npt.NDArray[np.bool_]:
    """Read the parity of each check."""
    if syndrome is None:
        return np.zeros(n_checks, np.bool_)
    given = np.asarray(syndrome)
    if given.shape != (n_checks,):
        raise ShapeError(
            f"The syndrome of parity_graph must have shape ({n_checks},), a parity for each check. "
            f"Got {given.shape}."
        )
    if not np.isin(given, (0, 1)).all():
        raise InputError("The syndrome of parity_graph must be zeros and ones. Divide by 2 first.")
    return given.astype(np.bool_)
