"""How networks are stored: as the arrays that they are compiled to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, final

import numpy as np

from credo._types import Label
from credo.graphs import BayesianNetwork, FactorGraph, MarkovNetwork
from credo.graphs.factors import Factor
from credo.graphs.models import WiredFactors, scope_of
from credo.graphs.variables import Same, Variables
from credo.graphs.wiring import Wiring
from credo.storage._faults import Fault
from credo.storage._json import Json
from credo.storage._kinds import Kind, Labels, Maybe, Numbers, Record, Single, check_fields
from credo.storage._page import Page, Scope
from credo.storage._rules import RULES, Rules
from credo.storage._variables import Names, States
from credo.storage._wiring_checks import (
    check_directed,
    check_pairs,
    check_scopes,
    check_tables,
    check_unowned,
)


def _check_states(fields: dict[str, Any], scope: Scope) -> None:
    """Check that the numbers of states are those of the lists, then all arrays."""
    states, counts = fields["states"], fields["n_states"]
    if isinstance(states, Same):
        fits = bool((counts == len(states.item)).all())
    else:
        fits = counts.tolist() == [len(each) for each in states]
    if not fits:
        raise Fault("the numbers of states of the network are not those of its states")
    check_scopes(fields, scope.sizes["V"])
    check_tables(fields, len(fields["rules"].kinds))


def _wiring(rules: Rules, **arrays: Any) -> Wiring:
    """Make a wiring, with its rules."""
    plain = Wiring(**arrays)
    if not len(rules.kinds):
        return plain
    variables = Variables(plain.names, plain.states)
    numbers = np.flatnonzero(plain.table == -1).tolist()
    scopes = [tuple(variables[v] for v in scope_of(plain, number)) for number in numbers]
    return replace(plain, structured=rules.made(scopes))


#: V variables, F factors, S entries of their scopes, C cells of T tables.
_WIRING = Record(
    _wiring,
    {
        "names": Names(),
        "states": States(),
        "n_states": Numbers("V", "<i8", least=1),
        "scope_start": Numbers("F1", "<i8"),
        "scope": Numbers("S", "<i4"),
        "table": Numbers("F", "<i4"),
        "table_start": Numbers("T1", "<i8"),
        "values": Numbers("C", least=0),
        "log_scale": Numbers("T"),
        "log_values": Maybe(Numbers("C", finite=False)),
        "owner": Numbers("F", "<i4"),
        "rules": RULES,
    },
    _check_states,
)


@final
class _WithRules:
    """A wiring whose rules are arrays."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self.rules = Rules.of(wiring.structured)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wiring, name)


@final
class _Network(Kind):
    """A network of one class: its wiring, the names of its factors, and its tolerance."""

    _names = Maybe(Labels("F", tuple))

    def __init__(self, make: Any) -> None:
        self._make = make

    def write(self, value: Any, path: str, page: Page) -> Json:
        """Write a compiled copy; the network stays open if it is."""
        wiring = value.copy().compile()
        names = _factor_names(value)
        return {
            "wiring": _WIRING.write(_WithRules(wiring), path, page),
            "factor_names": self._names.write(names, f"{path}.factor_names", page),
            "tolerance": getattr(value, "tolerance", None),
        }

    def read(self, node: Json, path: str, scope: Scope) -> Any:
        """Check the wiring as one of this class of networks, then make the network."""
        fields = {"wiring", "factor_names", "tolerance"}
        check_fields(node, fields, fields, path)
        wiring = _WIRING.read(node["wiring"], path, scope)
        if scope.sizes["F1"] != scope.sizes["F"] + 1:
            raise Fault("the scopes of the network do not fit its factors")
        names = self._names.read(node["factor_names"], f"{path}.factor_names", scope)
        tolerance = Maybe(Single(float)).read(node["tolerance"], path, scope)
        model = self._empty(tolerance)
        self._check(wiring, model)
        if wiring.structured or names is not None:
            _fill(model, wiring, names)
            return model
        model._arrays, model._variables = wiring, wiring.variables  # noqa: SLF001 - as readers do
        return model

    def _empty(self, tolerance: float | None) -> Any:
        """Make a network without variables."""
        if (tolerance is None) == (self._make is BayesianNetwork):
            raise Fault("a BayesianNetwork has a tolerance, and no other network has")
        return self._make() if tolerance is None else self._make(tolerance)

    def _check(self, wiring: Wiring, model: Any) -> None:
        """Check what this class of networks asks for."""
        if self._make is BayesianNetwork:
            check_directed(wiring, model.tolerance)
            return
        check_unowned(wiring)
        if self._make is MarkovNetwork:
            check_pairs(wiring)


def _factor_names(model: Any) -> tuple[Label | None, ...] | None:
    """List the names of factors, if some have one; those made of arrays have none."""
    if model._arrays is not None:  # noqa: SLF001 - a million objects would be made otherwise
        return None
    names = tuple(getattr(factor, "name", None) for factor in model.factors)
    return names if any(name is not None for name in names) else None


def _fill(model: Any, wiring: Wiring, names: tuple[Label | None, ...] | None) -> None:
    """Add variables and factors as objects: rules and names have no arrays in a model."""
    model._variables = wiring.variables.grown()  # noqa: SLF001 - it is empty
    rules, tables = iter(wiring.structured), WiredFactors(wiring)
    for number, table in enumerate(wiring.table.tolist()):
        factor: Any = next(rules) if table < 0 else tables[number]
        if names is not None and isinstance(factor, Factor):
            factor = replace(factor, name=names[number])
        model._take(factor, scope_of(wiring, number))  # noqa: SLF001 - a factor that was checked


KINDS: dict[type, Kind] = {
    cls: _Network(cls) for cls in (BayesianNetwork, FactorGraph, MarkovNetwork)
}
