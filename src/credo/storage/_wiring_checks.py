"""What must hold of the arrays of a network, so that no engine leaves its bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.exceptions import InputError
from credo.graphs.bayesian_network import check_acyclic
from credo.graphs.factors import divide_rows
from credo.graphs.wiring import Wiring
from credo.storage._faults import Fault


def check_starts(starts: Any, size: int, what: str) -> None:
    """Check where parts start: at zero, none of them empty, the last one ending at the end."""
    if not starts.size or starts[0] != 0 or starts[-1] != size or (np.diff(starts) < 1).any():
        raise Fault(f"the {what} of the network do not lie one after the other")


def check_scopes(fields: dict[str, Any], n_variables: int) -> None:
    """Check that every factor has variables that are there and differ."""
    scope, starts = fields["scope"], fields["scope_start"]
    check_starts(starts, len(scope), "scopes")
    if scope.size and (scope.min() < 0 or scope.max() >= n_variables):
        raise Fault("a factor of the network has a variable that is not there")
    factor = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    pairs = np.sort(factor * max(1, n_variables) + scope)
    if (pairs[1:] == pairs[:-1]).any():
        raise Fault("a factor of the network has a variable twice")


def check_tables(fields: dict[str, Any], n_rules: int) -> None:
    """Check that every factor has a table with a cell for each joint state, or a rule."""
    table, starts = fields["table"], fields["table_start"]
    check_starts(starts, len(fields["values"]), "tables")
    n_tables = len(starts) - 1
    if len(fields["log_scale"]) != n_tables:
        raise Fault("the tables of the network do not fit their scales")
    if table.size and (table.min() < -1 or table.max() >= n_tables):
        raise Fault("a factor of the network has a table that is not there")
    if (table == -1).sum() != n_rules:
        raise Fault("the rules of the network do not fit its factors")
    if not table.size:
        return
    states = fields["n_states"][fields["scope"]].astype(np.float64)
    cells = np.multiply.reduceat(states, fields["scope_start"][:-1])
    has_table = table >= 0
    if (cells[has_table] != np.diff(starts)[table[has_table]]).any():
        raise Fault("a table of the network does not fit the states of its variables")
    logs = fields["log_values"]
    if logs is not None and not (logs < np.inf).all():
        raise Fault("the logs of the tables hold NaN or infinity")


def check_directed(wiring: Wiring, tolerance: float) -> None:
    """Check that a network is one of conditional probabilities, without cycles."""
    n, starts = len(wiring.names), wiring.scope_start
    children = wiring.scope[starts[1:] - 1]
    numbers = np.arange(n)
    if len(children) != n or (children != numbers).any() or (wiring.owner != numbers).any():
        raise Fault("a variable of the network has no conditional probabilities, or two")
    if not all(rule.is_conditional for rule in wiring.structured):
        raise Fault("a rule of the network is no conditional probability")
    parts = zip(starts[:-1].tolist(), (starts[1:] - 1).tolist(), strict=True)
    check_acyclic([wiring.scope[a:b].tolist() for a, b in parts], wiring.names)
    _check_rows(wiring, tolerance)


def _check_rows(wiring: Wiring, tolerance: float) -> None:
    """Check that the rows of all tables sum to one."""
    used = wiring.table >= 0
    child_states = np.zeros(len(wiring.log_scale), dtype=np.int64)
    child_states[wiring.table[used]] = wiring.n_states[wiring.owner[used]]
    if (child_states[wiring.table[used]] != wiring.n_states[wiring.owner[used]]).any():
        raise Fault("a table of the network is shared by unlike variables")
    if (child_states < 1).any():
        raise Fault("a table of the network belongs to nothing")
    lengths = np.repeat(child_states, np.diff(wiring.table_start) // child_states)
    if not lengths.size:
        return
    try:
        divide_rows(wiring.values, lengths, tolerance, str)
    except InputError:
        raise Fault("the conditional probabilities of the network do not sum to one") from None


def check_pairs(wiring: Wiring) -> None:
    """Check that a network is one of nodes, each with one potential at most, and of pairs."""
    lengths = np.diff(wiring.scope_start)
    nodes = np.sort(wiring.scope[wiring.scope_start[:-1][lengths == 1]])
    if (lengths > 2).any() or (nodes[1:] == nodes[:-1]).any() or wiring.structured:
        raise Fault("the network is not one of nodes and pairs")


def check_unowned(wiring: Wiring) -> None:
    """Check that no factor is a conditional probability."""
    if (wiring.owner != -1).any():
        raise Fault("a factor of the network is owned by a variable")
