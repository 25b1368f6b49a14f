"""Published networks in BIF, where they are found beside the project, and peers that read them."""

import csv
import gzip
import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.oracles import bif as oracle

from credo.formats.bif import read_bif, write_bif

BESIDE = Path(__file__).parents[4] / "shared" / "data" / "graphical" / "bif"
PGMPY = importlib.util.find_spec("pgmpy")
PYAGRUM = importlib.util.find_spec("pyagrum")


def networks_in(folder):
    """Give the networks of a folder by their names."""
    return {file.name.removesuffix(".bif.gz"): file for file in sorted(folder.glob("*.bif.gz"))}


FOUND = networks_in(BESIDE)
IN_PGMPY = {}
if PGMPY is not None:
    IN_PGMPY = networks_in(Path(PGMPY.origin).parent / "utils" / "example_models")
#: Pgmpy reads these in about a second.
SMALL = [name for name in IN_PGMPY if IN_PGMPY[name].stat().st_size < 3_500]


def assert_same(net, other):
    assert list(net.names) == list(other.names)
    for name in net.names:
        assert net[name].states == other[name].states
        assert net.parents(name) == other.parents(name)
        assert net.table(name).tobytes() == other.table(name).tobytes()


def assert_written_and_read_back(file, folder):
    net = read_bif(file)
    write_bif(net, folder / "again.bif")
    assert_same(read_bif(folder / "again.bif"), net)


@pytest.mark.parametrize("name", FOUND)
def test_a_published_network_is_read_and_written(tmp_path, name):
    assert_written_and_read_back(FOUND[name], tmp_path)


@pytest.mark.parametrize("name", FOUND)
def test_a_published_network_has_the_size_its_list_says(name):
    with (BESIDE / "bif_networks.csv").open() as stream:
        rows = {row["network"]: row for row in csv.DictReader(stream)}
    net = read_bif(FOUND[name])
    assert len(net) == int(rows[name]["nodes"])
    assert sum(len(net.parents(each)) for each in net.names) == int(rows[name]["arcs"])


@pytest.mark.parametrize("name", [name for name in FOUND if FOUND[name].stat().st_size < 20_000])
def test_a_published_network_equals_its_slow_twin(name):
    states, tables = oracle.read(gzip.decompress(FOUND[name].read_bytes()).decode())
    net = read_bif(FOUND[name])
    assert {each: list(net[each].states) for each in net.names} == states
    for child, (parents, rows) in tables.items():
        assert list(net.parents(child)) == parents
        table = np.array(list(rows.values()))
        found = net.table(child).reshape(table.shape)
        np.testing.assert_allclose(found, table / table.sum(axis=1, keepdims=True), rtol=1e-14)


# --- peers ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_PGMPY)
def test_the_networks_of_pgmpy_are_read_and_written(tmp_path, name):
    assert_written_and_read_back(IN_PGMPY[name], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_pgmpy_reads_the_same_from_the_file_and_from_ours(tmp_path, name):
    net = read_bif(IN_PGMPY[name])
    write_bif(net, tmp_path / "ours.bif")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.readwrite import BIFReader

        theirs = BIFReader(string=gzip.decompress(IN_PGMPY[name].read_bytes()).decode())
        ours = BIFReader(path=str(tmp_path / "ours.bif"))
    assert list(net.names) == theirs.variable_names == ours.variable_names
    for child in net.names:
        assert list(net[child].states) == theirs.variable_states[child]
        assert list(net.parents(child)) == theirs.variable_parents[child]
        table = theirs.variable_cpds[child]
        found = np.moveaxis(net.table(child), -1, 0).reshape(table.shape)
        np.testing.assert_allclose(found, table / table.sum(axis=0), rtol=1e-14)
        np.testing.assert_array_equal(found, ours.variable_cpds[child])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in IN_PGMPY if PYAGRUM and name != "child"])
def test_pyagrum_reads_the_same_from_the_file_and_from_ours(tmp_path, name):
    """PyAgrum reads numbers in single precision, and no names with slashes, as child has."""
    net = read_bif(IN_PGMPY[name])
    (tmp_path / "theirs.bif").write_bytes(gzip.decompress(IN_PGMPY[name].read_bytes()))
    write_bif(net, tmp_path / "ours.bif")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pyagrum

        for file in ("theirs.bif", "ours.bif"):
            peer = pyagrum.loadBN(str(tmp_path / file))
            for child in net.names:
                table = peer.cpt(child)
                axes = list(reversed(table.names))
                order = [axes.index(each) for each in [*net.parents(child), child]]
                found = np.transpose(table.toarray(), order)
                assert peer.variable(child).labels() == net[child].states
                np.testing.assert_allclose(found, net.table(child), rtol=1e-4, atol=1e-7)
