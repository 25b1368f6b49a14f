"""Builders of whole models: Markov chains, hidden Markov models, linear codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo import _checks as check
from credo._types import F64, Bool, Labels
from credo.exceptions import InputError, ShapeError
from credo.graphs.bayesian_network import TOLERANCE, BayesianNetwork
from credo.graphs.factor_graph import FactorGraph
from credo.graphs.factors import divide_rows
from credo.graphs.markov_network import MarkovNetwork
from credo.graphs.variables import as_states
from credo.graphs.wiring import Int64, Wiring, starts


def chain(
    initial: Any,
    transition: Any,
    *,
    length: int | None = None,
    emission: Any = None,
    observations: Any = None,
    log_likelihood: Any = None,
) -> BayesianNetwork | MarkovNetwork:
    r"""Make a Markov chain, or a hidden Markov model.

    .. math:: p(x, y) = p(x_0) \prod_{t \ge 1} p(x_t \mid x_{t-1}) \prod_{t \ge 0} p(y_t \mid x_t)

    Parameters
    ----------
    initial : array_like of shape (k,), or dict
        Probabilities of the first state, in order, or ``{state: probability}``, which names the
        states; otherwise they are 0, …, k - 1.
    transition : array_like of shape (k, k) or (T - 1, k, k)
        ``transition[i, j]`` is the probability of state j after state i; the same for all steps,
        and held once, or one matrix for each.
    length : int, optional
        Number of steps T; needed if nothing else tells it.
    emission : array_like of shape (k, m), optional
        Probability of each of m symbols in each state.
    observations : array_like of int, shape (T,), optional
        The symbols that were seen, as numbers from 0 to m - 1; needs ``emission``.
    log_likelihood : array_like of shape (T, k), optional
        Log density of what was seen at each step under each state, in place of ``emission``;
        for observations of any kind. A row of zeros is a step at which nothing was seen.

    Returns
    -------
    BayesianNetwork or MarkovNetwork
        Without observations a BayesianNetwork of ``"x0"``, ``"x1"``, … and, with ``emission``, of
        ``"y0"``, ``"y1"``, … after them. With observations, or their log likelihood, a
        MarkovNetwork of the hidden variables only, whose sum is the likelihood.

    Raises
    ------
    ShapeError
        If the arrays do not fit together.
    InputError
        If a row is not a distribution; names it.

    See Also
    --------
    BayesianNetwork : What a chain is a case of.

    Notes
    -----
    A hundred thousand steps take a fraction of a second: no objects are made for the steps.

    References
    ----------
    .. [1] L. R. Rabiner, "A tutorial on hidden Markov models", Proceedings of the IEEE 77, 1989,
       section II.

    Examples
    --------
    >>> from credo.graphs import chain
    >>> weather = chain({"dry": 0.8, "rain": 0.2}, [[0.9, 0.1], [0.4, 0.6]], length=3)
    >>> weather.parents("x2"), weather["x2"].states
    (('x1',), ('dry', 'rain'))
    >>> chain([0.5, 0.5], [[0.9, 0.1], [0.4, 0.6]], emission=[[0.8, 0.2], [0.1, 0.9]],
    ...       observations=[0, 0, 1, 1])
    <MarkovNetwork: 4 variables, 7 factors, open>
    """
    if emission is not None and log_likelihood is not None:
        raise InputError("A chain takes an emission or a log_likelihood, not both.")
    if observations is not None and emission is None:
        raise InputError(
            "A chain needs an emission to read observations. Pass it, or a log_likelihood."
        )
    named = check.by_name(initial)
    given = initial if named is None else list(named.values())
    first = _as_rows(given, "initial", ("k",))
    k = len(first)
    states = as_states(k if named is None else tuple(named), "x0")
    moves = _as_rows(transition, "transition", (k, k), ("T - 1", k, k))
    seen = observations if log_likelihood is None else log_likelihood
    n = _count_steps(
        length, None if seen is None else len(seen), len(moves) + 1 if moves.ndim == 3 else None
    )
    symbols = np.empty((k, 0)) if emission is None else _as_rows(emission, "emission", (k, "m"))
    if seen is None:
        return _directed(states, first, moves.reshape(-1, k, k), n, symbols)
    first_node = np.arange(n - 1)
    edges = np.column_stack([first_node, first_node + 1])
    named = {"names": [f"x{t}" for t in range(n)], "states": states}
    if log_likelihood is None:
        numbers = check.indices(observations, symbols.shape[1], "observations of a chain")
        if numbers.ndim != 1:
            raise ShapeError(f"The observations of a chain must be 1-D. Got {numbers.shape}.")
        weights = symbols.T[numbers]
        weights[0] *= first
        return MarkovNetwork.from_arrays(weights, edges, moves, **named)
    logs = np.array(_shaped(log_likelihood, "log_likelihood", ("T", k)))
    with np.errstate(divide="ignore"):
        logs[0] += np.log(first)
        return MarkovNetwork.from_arrays(logs, edges, np.log(moves), log=True, **named)


def _shaped(values: Any, what: str, *forms: tuple[int | str, ...]) -> F64:
    """Check the shape of an array; a letter stands for any length."""
    array = check.floats(values, f"{what} of a chain")
    wanted = [
        [size if isinstance(f, str) else f for f, size in zip(form, array.shape, strict=False)]
        for form in forms
        if len(form) == array.ndim
    ]
    if list(array.shape) not in wanted or not array.shape[-1]:
        shapes = " or ".join(f"({', '.join(map(str, form))})" for form in forms)
        raise ShapeError(f"The {what} of a chain must have shape {shapes}. Got {array.shape}.")
    return array


def _as_rows(values: Any, what: str, *forms: tuple[int | str, ...]) -> F64:
    """Check an array whose rows are distributions."""
    array = _shaped(values, what, *forms)
    if not array.size:
        return array

    def name(row: int) -> str:
        where = [int(i) for i in np.unravel_index(row, array.shape[:-1])]
        return f"The {what} of a chain: {f'row {where}' if where else 'it'}"

    lengths = np.full(array.size // array.shape[-1], array.shape[-1])
    rows = divide_rows(np.array(array).ravel(), lengths, TOLERANCE, name, "Mend the row.")
    return rows.reshape(array.shape)


def _count_steps(length: int | None, n_seen: int | None, n_own: int | None) -> int:
    """Agree on the number of steps."""
    told = {
        "length": None if length is None else check.count(length, "length of a chain"),
        "steps observed": n_seen,
        "steps in the transition": n_own,
    }
    known = {what: steps for what, steps in told.items() if steps is not None}
    if not known:
        raise InputError("A chain needs its length. Pass length=..., the number of steps.")
    counts = set(known.values())
    if len(counts) > 1 or 0 in counts:
        listed = ", ".join(f"{what} {steps}" for what, steps in known.items())
        raise ShapeError(f"The numbers of steps of a chain must agree and be positive: {listed}.")
    return counts.pop()


def _directed(states: Labels, initial: F64, moves: F64, n: int, symbols: F64) -> BayesianNetwork:
    """Make the network of hidden variables, and of symbols if there are any."""
    k, m = symbols.shape
    n_symbols = n if m else 0
    hidden = np.arange(n, dtype=np.int32)
    scope = [hidden[:1], np.column_stack([hidden[:-1], hidden[1:]]).ravel()]
    scope += [np.column_stack([hidden, hidden + n]).ravel()[: 2 * n_symbols]]
    sizes = np.repeat([k, k * k, k * m], [1, len(moves), int(m > 0)])
    shown = np.full(n_symbols, len(sizes) - 1, dtype=np.int32)
    wiring = Wiring(
        names=(*(f"x{t}" for t in range(n)), *(f"y{t}" for t in range(n_symbols))),
        states=(*(states,) * n, *(tuple(range(m)),) * n_symbols),
        n_states=np.repeat([k, m], [n, n_symbols]),
        scope_start=np.append(0, np.arange(1, 2 * (n + n_symbols), 2)),
        scope=np.concatenate(scope),
        table=np.append(np.minimum(hidden, len(moves)), shown),
        table_start=starts(sizes),
        values=np.concatenate([initial, moves.ravel(), symbols.ravel()]),
        log_scale=np.zeros(len(sizes)),
        log_values=None,
        owner=np.arange(n + n_symbols, dtype=np.int32),
    )
    return BayesianNetwork._of_arrays(wiring)  # noqa: SLF001 - a wiring that is known to be good


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
    >>> from credo.graphs import parity_graph
    >>> graph = parity_graph([[1, 1, 0], [0, 1, 1]])
    >>> graph
    <FactorGraph: 3 variables, 2 factors, open>
    >>> graph.factors[1]
    parity check of 1, 2
    """
    rows, columns, shape = _ones(checks)
    parities = _parities(syndrome, shape[0])
    order = np.lexsort((columns, rows))
    cuts = np.searchsorted(rows[order], np.arange(1, shape[0]))
    graph = FactorGraph()
    bits = [graph.variable(bit, 2) for bit in range(shape[1])]
    for row, scope in enumerate(np.split(columns[order], cuts) if shape[0] else ()):
        odd = parities[row]
        if scope.size:
            graph.parity([bits[bit] for bit in scope.tolist()], even=not odd)
        elif odd:
            raise InputError(
                f"parity_graph: row {row} of the matrix has no ones, so it cannot be odd. Set "
                f"syndrome[{row}] to 0, or leave the row out."
            )
    return graph


def _ones(checks: Any) -> tuple[Int64, Int64, tuple[int, int]]:
    """Return the rows and the columns of the ones, and the shape of the matrix."""
    if hasattr(checks, "tocoo"):
        found = checks.tocoo()
        keep = found.data != 0
        shape, values = found.shape, found.data[keep]
        rows, columns = found.row[keep].astype(np.int64), found.col[keep].astype(np.int64)
    else:
        check.floats(checks, "checks of parity_graph")
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


def _parities(syndrome: Any, n_checks: int) -> Bool:
    """Read the parity of each check."""
    given = np.asarray(np.zeros(n_checks) if syndrome is None else syndrome)
    if given.shape != (n_checks,):
        raise ShapeError(
            f"The syndrome of parity_graph must have shape ({n_checks},), a parity for each check. "
            f"Got {given.shape}."
        )
    if not np.isin(given, (0, 1)).all():
        raise InputError("The syndrome of parity_graph must be zeros and ones. Divide by 2 first.")
    return given.astype(np.bool_)
