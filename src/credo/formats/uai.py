"""UAI files: models and evidence of the inference competitions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from credo._types import Label
from credo.exceptions import InputError
from credo.formats._net_numbers import Numbers
from credo.formats._net_output import output
from credo.formats._net_parts import refuse_empty
from credo.formats._text import read_bytes
from credo.formats._uai_models import graph, network
from credo.formats._uai_names import are_plain, read_names, side_car, write_names
from credo.formats._uai_output import lines
from credo.formats._uai_tables import Tables, read_tables
from credo.graphs.bayesian_network import BayesianNetwork
from credo.graphs.factor_graph import FactorGraph
from credo.graphs.markov_network import MarkovNetwork
from credo.graphs.variables import Variable
from credo.graphs.wiring import Wiring

#: Any model.
Model: TypeAlias = BayesianNetwork | FactorGraph | MarkovNetwork


def read_uai(
    path: str | os.PathLike[str], *, log: bool | None = None
) -> BayesianNetwork | FactorGraph:
    """Read a model from a UAI file (.uai, .LG).

    Parameters
    ----------
    path : str or path
        The file, packed with gzip or not.
    log : bool, optional
        Whether the tables hold natural logs, ``-inf`` standing for zero; everything else is the
        same. By default they do in files called ``.LG`` (or ``.LG.gz``) and in no others.

    Returns
    -------
    BayesianNetwork or FactorGraph
        A MARKOV file gives a FactorGraph. A BAYES file gives a BayesianNetwork if its functions
        are one table per variable, the last of its scope, with rows that sum to 1 within 1e-4 and
        without a cycle; otherwise a FactorGraph, which is the same product.

    Raises
    ------
    FileFormatError
        If the file or its side-car is damaged; the text names the file, the line and the column.

    See Also
    --------
    write_uai : The way back.
    read_uai_evidence : Evidence for the model.
    read_network : Choose the reader by the name of the file.

    Notes
    -----
    The last variable of a scope is the fastest. The format knows no names: variables are called
    0, 1, … and their states 0, 1, …, unless a side-car ``model.uai.names.json`` stands beside
    ``model.uai`` (or ``model.uai.gz``). A side-car that does not fit the model is an error. A
    function of no variable, which is a constant, becomes a table of equal cells over the variable
    with the fewest states. Text from ``#`` to the end of a line is passed over. Time and memory are
    linear in the size of the file, whatever its preamble says.

    References
    ----------
    UAI inference competitions 2006 to 2022, "File formats".

    Examples
    --------
    >>> from credo.formats.uai import read_uai
    >>> file = getfixture("tmp_path") / "pair.uai"
    >>> _ = file.write_text("MARKOV 2 2 3 1 2 0 1 6 1 2 3 4 5 6")
    >>> read_uai(file).compile().values
    array([1., 2., 3., 4., 5., 6.])
    """
    name = os.fspath(path)
    in_logs = _is_log_name(name) if log is None else log
    tables = read_tables(read_bytes(path), name, log=in_logs)
    labels = _labels(path, tables)
    if tables.kind == "BAYES":
        net = network(tables, *labels, log=in_logs)
        if net is not None:
            return net
    return graph(tables, *labels, log=in_logs)


def write_uai(model: Model, path: str | os.PathLike[str], *, log: bool | None = None) -> None:
    """Write a model as a UAI file.

    Parameters
    ----------
    model : BayesianNetwork, FactorGraph or MarkovNetwork
        The model. It is not changed and not frozen.
    path : str or path
        Where to write; a name that ends in ``.gz`` is packed.
    log : bool, optional
        Whether to write natural logs, ``-inf`` for zero. By default this is done in files called
        ``.LG`` (or ``.LG.gz``) and in no others, as ``read_uai`` expects.

    Raises
    ------
    InputError
        If a table given in logs is too large or too small for plain numbers (pass ``log=True``),
        or if a label is neither text nor a number.

    See Also
    --------
    read_uai : The way back.

    Notes
    -----
    A Bayesian network is written as BAYES, all else as MARKOV. Plain numbers are read back bit for
    bit; logs of tables that were given as plain numbers to rounding. Names and states other than
    0, 1, … go to a side-car ``model.uai.names.json``, and ``read_uai`` takes them from there; if
    there are none, an old side-car is deleted. Rules (parity, noisy-OR, …) become tables; those
    that need auxiliary variables append them, with the same evidence, marginals and maxima for
    the variables of the model.

    Examples
    --------
    >>> from credo.formats.uai import read_uai, write_uai
    >>> from credo.graphs.factor_graph import FactorGraph
    >>> graph = FactorGraph()
    >>> rain = graph.variable("rain", ["no", "yes"])
    >>> _ = graph.factor([rain], [3.0, 1.0])
    >>> file = getfixture("tmp_path") / "rain.uai"
    >>> write_uai(graph, file)
    >>> read_uai(file)["rain"].states
    ('no', 'yes')
    """
    if not isinstance(model, Model):
        raise InputError(f"write_uai writes a model. Got {type(model).__name__}.")
    refuse_empty(model, "write_uai")
    wiring = model.copy().compile().tabulated(sum_product=False)
    names, states = _all_labels(wiring)
    keeper = side_car(path)
    plain = are_plain(names, states)
    in_logs = _is_log_name(os.fspath(path)) if log is None else log
    with output(path) as stream:
        stream.writelines(lines(wiring, log=in_logs))
        if not plain and keeper.parent.is_dir() and not _is_stream(path):
            write_names(keeper, names, states)
    if plain and not _is_stream(path):
        keeper.unlink(missing_ok=True)


def read_uai_evidence(
    path: str | os.PathLike[str], model: Model, *, number: int = 0
) -> dict[Label, Label]:
    """Read evidence from a UAI file (.evid).

    Parameters
    ----------
    path : str or path
        The file.
    model : BayesianNetwork, FactorGraph or MarkovNetwork
        The model that it belongs to; gives the names.
    number : int, default 0
        Which set to take, counted from zero, from an older file with several.

    Returns
    -------
    dict
        ``{name: state}`` in the order of the file; empty if nothing is observed.

    Raises
    ------
    FileFormatError
        If the file is damaged, or names a variable or a state that the model does not have, or two
        states for one variable.
    InputError
        If there is no set of that number.

    See Also
    --------
    write_uai_evidence : The way back.

    Notes
    -----
    The usual form is the number of observed variables followed by pairs of variable and state. A
    file that starts with 0 has no evidence, whatever comes after it. Files of before 2010 start
    with a number of sets, each in the usual form; they are told apart by their length, and where
    it fits both, which takes at least two sets, the usual form is taken.

    Examples
    --------
    >>> from credo.formats.uai import read_uai, read_uai_evidence
    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "pair.uai").write_text("MARKOV 2 2 3 1 2 0 1 6 1 2 3 4 5 6")
    >>> _ = (folder / "pair.uai.evid").write_text("1 1 2")
    >>> read_uai_evidence(folder / "pair.uai.evid", read_uai(folder / "pair.uai"))
    {1: 2}
    """
    found = Numbers.of(read_bytes(path), os.fspath(path))
    sets = _evidence_sets(found)
    if not 0 <= number < len(sets):
        raise InputError(
            f"{os.fspath(path)} has {len(sets)} sets of evidence, numbered from 0. Got "
            f"number={number!r}."
        )
    evidence: dict[Label, Label] = {}
    variables = model.variables
    for position in sets[number]:
        name, state = _finding(found, position, variables)
        if evidence.setdefault(name, state) != state:
            found.fail(position, f"Variable {name!r} is observed in two states. Remove one.")
    return evidence


def write_uai_evidence(
    evidence: Mapping[Any, Any], path: str | os.PathLike[str], model: Model
) -> None:
    r"""Write evidence as a UAI file.

    Parameters
    ----------
    evidence : dict
        ``{name: state}``, one state each.
    path : str or path
        Where to write; a name that ends in ``.gz`` is packed.
    model : BayesianNetwork, FactorGraph or MarkovNetwork
        The model that it belongs to; gives the numbers.

    Raises
    ------
    LabelError
        If a variable or a state is not known.
    InputError
        If the evidence is no mapping, as when the path is passed first.

    See Also
    --------
    read_uai_evidence : The way back.

    Examples
    --------
    >>> from credo.formats.uai import write_uai_evidence
    >>> from credo.graphs.factor_graph import FactorGraph
    >>> graph = FactorGraph()
    >>> _ = graph.variable("rain", ["no", "yes"]), graph.variable("wet", ["no", "yes"])
    >>> file = getfixture("tmp_path") / "wet.uai.evid"
    >>> write_uai_evidence({"wet": "yes"}, file, graph)
    >>> file.read_text()
    '1 1 1\n'
    """
    if not isinstance(evidence, Mapping):
        raise InputError(
            "write_uai_evidence takes the evidence {name: state}, then the path, then the model. "
            f"Got {type(evidence).__name__} for the evidence."
        )
    places = {name: index for index, name in enumerate(model.names)}
    words = [len(evidence)]
    for name, state in evidence.items():
        variable = model[name]
        words += [places[variable.name], variable.index(state)]
    with output(path) as stream:
        stream.write(f"{' '.join(map(str, words))}\n")


def _is_log_name(name: str) -> bool:
    """Tell whether a file is called as one that holds logs."""
    return name.lower().removesuffix(".gz").endswith(".lg")


def _is_stream(path: str | os.PathLike[str]) -> bool:
    """Tell whether something else than a file is written to: it has no side-car."""
    name = os.fspath(path)
    return name.startswith(("/dev/", "/proc/")) or (
        Path(name).exists() and not Path(name).is_file()
    )


def _labels(
    path: str | os.PathLike[str], tables: Tables
) -> tuple[list[Any], list[tuple[Any, ...]]]:
    """Give names and states: those of the side-car, or numbers."""
    keeper = side_car(path)
    sizes = tables.sizes.tolist()
    if keeper.exists():
        return read_names(keeper, sizes)
    ranges = {size: tuple(range(size)) for size in set(sizes)}
    return list(range(len(sizes))), [ranges[size] for size in sizes]


def _all_labels(wiring: Wiring) -> tuple[list[Any], list[Any]]:
    """Give the names and states of all variables, auxiliary ones too."""
    names, states = list(wiring.names), list(wiring.states)
    taken = set(names)
    for number, size in enumerate(wiring.n_states[len(names) :].tolist(), 1):
        name = f"auxiliary {number}"
        while name in taken:
            name += "'"
        names.append(name)
        states.append(tuple(range(size)))
    return names, states


def _evidence_sets(found: Numbers) -> list[range]:
    """Find where the pairs of each set of evidence stand."""
    count = found.whole(0, "the number of observed variables") if len(found) else 0
    if count == 0:
        return [range(0)]
    if len(found) == 1 + 2 * count:
        return [range(1, len(found), 2)]
    sets: list[range] = []
    position = 1
    while len(sets) < count and position < len(found):
        end = position + 1 + 2 * found.whole(position, "the number of observed variables")
        sets.append(range(position + 1, end, 2))
        position = end
    if len(sets) != count or position != len(found):
        reason = (
            f"Evidence on {count} variables takes {1 + 2 * count} numbers. Got {len(found)}. "
            "Write the number of pairs, then variable and state for each."
        )
        found.fail(0, reason)
    return sets


def _finding(found: Numbers, position: int, variables: Sequence[Variable]) -> tuple[Label, Label]:
    """Read one pair of variable and state."""
    place = found.whole(position, "the number of a variable")
    if place >= len(variables):
        reason = f"There is no variable {place}: the model has {len(variables)}, from 0 on."
        found.fail(position, reason)
    variable = variables[place]
    state = found.whole(position + 1, "the number of a state")
    if state >= variable.n_states:
        reason = f"Variable {place} has no state {state}: it has {variable.n_states}, from 0 on."
        found.fail(position + 1, reason)
    return variable.name, variable.states[state]
