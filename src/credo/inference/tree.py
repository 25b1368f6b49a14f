"""Belief propagation on trees: exact, in one pass towards a root, or in two for everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from credo._types import F64, Label
from credo._validation.arrays import frozen
from credo.exceptions import InputError
from credo.graphs.wiring import Int64, Wiring
from credo.inference._tree_forest import checked, is_forest, planted
from credo.inference._tree_layout import log_potentials
from credo.inference._tree_passes import Setting
from credo.inference._tree_reading import Reader
from credo.inference.messages import Message


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TreeRun:
    """Hold the beliefs of all variables after passing messages on a tree. Immutable.

    Attributes
    ----------
    marginals : ndarray
        Beliefs of variable v at ``marginals[start[v]:start[v + 1]]``, scaled to sum one, or for
        maxima to largest one: ``exp(log_z)`` times them are the max-marginals. NaN where no belief
        was asked for (all but the roots after one pass), and everywhere if ``log_z`` is -inf.
    start : ndarray of int64, shape (n + 1,)
        Where the states of each variable begin.
    log_z : float
        Log of the sum, or the maximum, over all configurations that agree with the evidence; -inf
        if there is none.
    n_messages : int
        How many messages were passed.

    See Also
    --------
    run_tree : Makes it.

    Examples
    --------
    >>> from credo.graphs import FactorGraph
    >>> graph = FactorGraph()
    >>> a, b = graph.variable("a", 2), graph.variable("b", 2)
    >>> _ = graph.factor([a, b], [[0.9, 0.1], [0.2, 0.8]])
    >>> run = run_tree(graph.compile(), [-1, 1], {})
    >>> run.message("b", "a")
    m[b -> a] = (0: 0.111111, 1: 0.888889)
    """

    marginals: F64
    start: Int64
    log_z: float
    n_messages: int
    _reader: Reader

    def __repr__(self) -> str:
        return (
            f"<TreeRun: {len(self.start) - 1} variables, {self.n_messages} messages, "
            f"log_z {self.log_z:.6g}>"
        )

    def message(
        self, source: Any, target: Any, factors: Mapping[Label, int] | None = None
    ) -> Message:
        """Give the message from one node to another.

        Parameters
        ----------
        source, target : Hashable
            Two variables joined by a factor of these two, or a variable and a factor of two
            variables or more, in either order; by name.
        factors : mapping of Hashable to int, optional
            Position of each factor by its name. A name that is also a variable's is the
            variable's.

        Returns
        -------
        Message
            Made when asked for.

        Raises
        ------
        LabelError
            If there is no such name.
        InputError
            If the two are not linked, if the message belongs to a pass that was not run, or if
            the evidence is impossible.

        Notes
        -----
        Includes every potential and all evidence on the sender's side. If the graph is a tree
        only because of evidence, an observed variable is cut off from its factors: it sends none of
        what it hears, and not its own potential, which is then counted once, in ``log_z``.
        """
        if self.log_z == -np.inf:
            raise InputError("There are no messages: the evidence is impossible.")
        return self._reader.message(source, target, factors or {})


def run_tree(
    wiring: Wiring,
    observed: Any,
    soft: dict[int, F64],
    *,
    root: int | None = None,
    both_passes: bool = True,
    maximum: bool = False,
) -> TreeRun:
    r"""Pass messages on a tree, or on several.

    .. math:: b(x_i) \propto \psi_i(x_i) \prod_{j \in N(i)} m_{j \to i}(x_i)

    Parameters
    ----------
    wiring : Wiring
        The compiled model, tables only.
    observed : array of int, shape (n,)
        The observed state of each variable, or -1.
    soft : dict of int to array
        Weights on the states of variables, by position.
    root : int, optional
        The variable that the first pass goes to; by default the first. Other trees of the
        graph go to their first variable.
    both_passes : bool
        Whether to come back from the root. One pass gives the belief of the root alone.
    maximum : bool
        Whether to maximise the other variables out, in place of summing.

    Returns
    -------
    TreeRun
        Beliefs, the log of the total, and messages.

    Raises
    ------
    InputError
        If the graph has a cycle that no observed variable cuts; the text names it.
    ShapeError
        If the evidence does not fit the model.

    See Also
    --------
    is_tree : Tells beforehand.

    Notes
    -----
    Exact. Time and memory are linear in the cells of all factors; nothing recurses. A tree of n
    variables joined by edges needs :math:`2 (n - 1)` messages, one per direction of an edge; a
    factor of three variables or more sends one to each and hears one from each. An edge is a
    factor of two variables; two edges between the same two variables are a cycle.

    Vectors are scaled by powers of two, which are counted exactly. As long as every number in a
    scaled vector is zero or above 1e-300, nothing underflows and each belief has full relative
    precision. Otherwise the run is done again with logs, as it is from the beginning for maxima
    and for tables that were given as logs too wide for float64.

    References
    ----------
    .. [1] F. R. Kschischang, B. J. Frey, H.-A. Loeliger, "Factor graphs and the sum-product
       algorithm", IEEE Transactions on Information Theory 47, 2001, section II.

    Examples
    --------
    >>> from credo.graphs import FactorGraph
    >>> graph = FactorGraph()
    >>> a, b = graph.variable("a", 2), graph.variable("b", 2)
    >>> _ = graph.factor([a, b], [[0.9, 0.1], [0.2, 0.8]])
    >>> run = run_tree(graph.compile(), [-1, 1], {})
    >>> run.marginals.round(3), round(run.log_z, 3), run.n_messages
    (array([0.111, 0.889, 0.   , 1.   ]), -0.105, 2)
    """
    states = checked(wiring, observed)
    forest = planted(wiring, states, _root(root, len(states)))
    setting = Setting(wiring, forest, *log_potentials(wiring, forest, soft), both_passes)
    if maximum:
        run = setting.solved("maxima")
    else:
        run = setting.solved("numbers" if wiring.log_values is None else "logs")
    reader = Reader(wiring, forest, run.store, run.base, maximum, both_passes)
    start = frozen(np.concatenate([[0], np.cumsum(wiring.n_states)]))
    return TreeRun(frozen(run.marginals), start, run.log_z, setting.n_messages, reader)


def is_tree(wiring: Wiring, observed: Any) -> bool:
    """Tell whether ``run_tree`` will take a graph.

    Parameters
    ----------
    wiring : Wiring
        The compiled model, tables only.
    observed : array of int, shape (n,)
        The observed state of each variable, or -1.

    Returns
    -------
    bool
        Whether the factor graph has no cycle, not counting factors that are left with one
        variable or none once the observed ones are fixed.

    Raises
    ------
    ShapeError
        If the evidence does not fit the model.

    See Also
    --------
    run_tree : Passes the messages.

    Notes
    -----
    Linear in the number of variables and factors; looks at no table.

    Examples
    --------
    >>> from credo.graphs import FactorGraph
    >>> ring = FactorGraph()
    >>> for name in "abc":
    ...     _ = ring.variable(name, 2)
    >>> for pair in ("ab", "bc", "ca"):
    ...     _ = ring.factor(list(pair), [[2, 1], [1, 2]])
    >>> is_tree(ring.compile(), [-1, -1, -1]), is_tree(ring.compile(), [-1, 0, -1])
    (False, True)
    """
    return is_forest(wiring, checked(wiring, observed))


def _root(root: int | None, n: int) -> int:
    """Check a root; -1 if there is none."""
    if root is None:
        return -1
    if not 0 <= root < n:
        raise InputError(f"The root must be the position of one of {n} variables. Got {root!r}.")
    return int(root)
