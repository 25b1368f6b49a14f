"""All formats of networks: the same network through each, and files that were tampered with."""

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from credo.exceptions import FileFormatError, InputError
from credo.formats.bif import read_bif
from credo.formats.network_files import FORMATS, read_network, write_network
from credo.graphs import BayesianNetwork, FactorGraph
from credo.inference import infer

PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "graphical" / "bif"
DIRECTED = [ending for ending in FORMATS if ending != ".lg"]


def weather():
    """Make a network whose variables are not in order, with three parents and many digits."""
    net = BayesianNetwork()
    net.variable("wet", ["dry", "damp", "soaked"])
    net.variable("rain", ["no", "yes"])
    net.variable("season", ["spring", "summer", "autumn", "winter"])
    net.variable("sprinkler", ["off", "on"])
    rng = np.random.default_rng(3)
    net.cpt("season", table=[0.1, 0.2, 0.3, 0.4])
    net.cpt("rain", given=["season"], table=rows(rng, 4, 2))
    net.cpt("sprinkler", given=["rain", "season"], table=rows(rng, 2, 4, 2))
    net.cpt("wet", given=["sprinkler", "season", "rain"], table=rows(rng, 2, 4, 2, 3))
    return net


def rows(rng, *shape):
    """Draw rows of probabilities, some of them zero or tiny."""
    table = rng.random(shape) ** 9
    table[table < 1e-4] = 0.0
    table[..., 0] += 0.01
    return table / table.sum(axis=-1, keepdims=True)


def same(one, other):
    """Compare two networks: order, names, states, parents, and numbers bit for bit."""
    assert list(one.variables) == list(other.variables)
    assert [list(map(type, v.states)) for v in one.variables] == [
        list(map(type, v.states)) for v in other.variables
    ]
    for name in one.names:
        assert one.parents(name) == other.parents(name)
        assert one.table(name).tolist() == other.table(name).tolist()
    return True


# --- there and back ----------------------------------------------------------------------------


@pytest.mark.parametrize("packed", ["", ".gz", ".GZ"])
@pytest.mark.parametrize("ending", [*DIRECTED, ".BIF"])
def test_every_format_reads_back_what_it_wrote(tmp_path, ending, packed):
    net = weather()
    path = tmp_path / f"x{ending}{packed}"
    write_network(net, path)
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == bool(packed)
    assert same(read_network(path), net)


@pytest.mark.parametrize("ending", DIRECTED)
def test_a_second_writing_gives_the_same_bytes(tmp_path, ending):
    write_network(weather(), tmp_path / f"a{ending}.gz")
    write_network(read_network(tmp_path / f"a{ending}.gz"), tmp_path / f"b{ending}.gz")
    first, second = (tmp_path / f"{name}{ending}.gz" for name in "ab")
    assert first.read_bytes() == second.read_bytes()


LABELS = {
    "blanks": (["a b", "a_b", "a  b"], ["x y", " x", "x "]),
    "marks": (['"', "&<>", "%{;}"], ["<5", "5-10", ">10|"]),
    "backslashes": (["\\", '\\"', "\\n"], ["a\\", "a\\\\", "\\"]),
    "lines": (["a\nb", "a\rb", "\t"], ["", "\n", "\x00"]),
    "letters": (["été", "été\u0301", "夏"], ["Ä", "ß", "\ud7ff"]),
    "numbers": ([0, 1, 2], [0, 1, 2]),
    "text and numbers": (["0", 0, "x0"], ["1", 1, 1.5]),
    "truth values": ([True, False, "True"], [False, True, None]),
    "tuples": ([("row", 1), ("row", 2), "row"], [(0, 0), (0, 1), ((1,), 1)]),
    "words": (["node", "potential", "data"], ["states", "true", "net"]),
    "like notes": (["labels", "labels = {}", "auxiliary 1"], ["{}", "null", "[]"]),
}


@pytest.mark.parametrize("which", LABELS)
@pytest.mark.parametrize("ending", DIRECTED)
def test_labels_of_any_kind_come_back_as_they_were(tmp_path, ending, which):
    names, states = LABELS[which]
    net = BayesianNetwork()
    for name in names:
        net.variable(name, states)
    first, second, third = names
    net.cpt(third, table=[0.25, 0.5, 0.25])
    net.cpt(first, given=[third], table=np.eye(3))
    net.cpt(second, given=[third, first], table=rows(np.random.default_rng(0), 3, 3, 3))
    write_network(net, tmp_path / f"x{ending}")
    assert same(read_network(tmp_path / f"x{ending}"), net)


@pytest.mark.parametrize("ending", [".xml", ".net", ".xdsl", ".uai"])
def test_labels_may_look_like_the_notes_that_keep_labels(tmp_path, ending):
    net = BayesianNetwork()
    net.variable("credo_labels", ["credo_labels = {}", '{"name": 1}'])
    net.cpt("credo_labels", table=[0.25, 0.75])
    write_network(net, tmp_path / f"x{ending}")
    assert same(read_network(tmp_path / f"x{ending}"), net)


@pytest.mark.parametrize("ending", DIRECTED)
def test_rules_are_written_out(tmp_path, ending):
    net = BayesianNetwork()
    for name in ("cold", "flu", "fever"):
        net.variable(name, ["no", "yes"])
    net.cpt("cold", table=[0.875, 0.125])
    net.cpt("flu", table=[0.75, 0.25])
    net.noisy_or("fever", {"cold": 0.5, "flu": 0.75}, leak=0.125)
    write_network(net, tmp_path / f"x{ending}")
    table = read_network(tmp_path / f"x{ending}").table("fever")
    none = (1 - 0.125) * np.array([[1.0, 0.25], [0.5, 0.125]])
    assert table[..., 0] == pytest.approx(none, rel=1e-15)


@pytest.mark.parametrize("ending", FORMATS)
def test_writing_leaves_the_network_open(tmp_path, ending):
    net = weather()
    write_network(net, tmp_path / f"x{ending}")
    net.variable("snow", 2)


@pytest.mark.parametrize(
    "name",
    [n for n in ("asia", "alarm", "child", "water") if (PUBLISHED / f"{n}.bif.gz").exists()],
)
@pytest.mark.parametrize("ending", [".xml", ".net", ".xdsl", ".uai"])
def test_published_networks_survive_every_format(tmp_path, name, ending):
    net = read_bif(PUBLISHED / f"{name}.bif.gz")
    write_network(net, tmp_path / f"x{ending}")
    assert same(read_network(tmp_path / f"x{ending}"), net)


def test_a_written_network_gives_the_same_answers(tmp_path):
    net = weather()
    given = infer(net, evidence={"wet": "damp"})
    for ending in FORMATS:
        write_network(net, tmp_path / f"x{ending}")
        found = infer(read_network(tmp_path / f"x{ending}"), evidence={"wet": "damp"})
        assert found.log_evidence == pytest.approx(given.log_evidence, rel=1e-13)
        assert found["rain"]["yes"] == pytest.approx(given["rain"]["yes"], rel=1e-13)


# --- choosing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x", "x.txt", "x.gz", "bif", "x.bif.zip"])
def test_an_unknown_ending_is_refused_with_the_known_ones(tmp_path, name):
    known = "Known endings: .bif, .xml, .bifxml, .xmlbif, .net, .xdsl, .uai, .lg, each also with"
    for call in (read_network, lambda path: write_network(weather(), path)):
        with pytest.raises(InputError, match=known):
            call(tmp_path / name)


def test_a_format_for_networks_refuses_other_models(tmp_path):
    with pytest.raises(InputError, match="Use write_uai, which writes any model"):
        write_network(FactorGraph(), tmp_path / "x.net")


@pytest.mark.parametrize("ending", FORMATS)
def test_a_model_without_variables_is_refused_and_the_old_file_kept(tmp_path, ending):
    path = tmp_path / f"old{ending}"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(InputError, match="the model has no variables"):
        write_network(BayesianNetwork(), path)
    assert path.read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize("ending", FORMATS)
def test_a_missing_file_and_a_folder_are_named(tmp_path, ending):
    with pytest.raises(FileFormatError, match="no such file"):
        read_network(tmp_path / f"none{ending}")
    (tmp_path / f"folder{ending}").mkdir()
    with pytest.raises(FileFormatError, match="folder"):
        read_network(tmp_path / f"folder{ending}")


def test_readers_are_loaded_only_when_they_are_needed():
    code = (
        "import sys, credo.formats.network_files\n"
        "sys.exit(any(name in sys.modules for name in "
        "('credo.formats.uai', 'credo.graphs', 'xml', 'numba', 'numpy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- tampering ---------------------------------------------------------------------------------

PIECES = [*'09-.e()"<>&;{}\\_%#=|[]\n ', "nan", "999999999999", "\0", "é", '<!ENTITY a "b">']


def tampered(data, rng):
    """Delete, insert, overwrite and repeat bytes at random."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        place = rng.randrange(len(data) + 1)
        match rng.randrange(5):
            case 0:
                del data[place : place + rng.choice([1, 1, 3, 30])]
            case 1:
                data[place:place] = rng.choice(PIECES).encode()
            case 2:
                data[place : place + 1] = bytes([rng.randrange(256)])
            case 3:
                data[place:place] = data[rng.randrange(place + 1) : place][:40]
            case _:
                del data[place:]
    return bytes(data)


@pytest.mark.parametrize("ending", [*FORMATS, ".uai.gz", ".uai.names.json"])
def test_a_file_that_was_tampered_with_is_read_or_named_as_damaged(tmp_path, ending):
    write_network(weather(), tmp_path / f"x{ending.removesuffix('.names.json')}")
    victim = tmp_path / f"x{ending}"
    model = tmp_path / f"x{ending.removesuffix('.names.json')}"
    whole = victim.read_bytes()
    rng = random.Random(11)  # noqa: S311 - no secret
    messages = []
    for _ in range(120):
        victim.write_bytes(tampered(whole, rng))
        try:
            read_network(model)
        except FileFormatError as error:
            messages.append(str(error))
    assert len(messages) > 50
    assert all(message.startswith(str(tmp_path)) for message in messages)
    assert max(map(len, messages)) < 1000


# --- a peer ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".bifxml", ".net"])
def test_another_library_reads_and_writes_the_same_networks(tmp_path, ending):
    """The peer holds some numbers in float32, hence 1e-6; its names must have no blanks."""
    gum = pytest.importorskip("pyagrum")
    net = weather()
    write_network(net, tmp_path / f"ours{ending}")
    peer = gum.loadBN(str(tmp_path / f"ours{ending}"))
    gum.saveBN(peer, str(tmp_path / f"theirs{ending}"))
    back = read_network(tmp_path / f"theirs{ending}")
    for name in net.names:
        table = peer.cpt(name)
        axes = list(reversed(table.names))  # its arrays list the first variable last
        order = [axes.index(axis) for axis in (*net.parents(name), name)]
        assert list(peer.variable(name).labels()) == list(net[name].states)
        assert table.toarray().transpose(order) == pytest.approx(net.table(name), abs=1e-6)
        order = [back.parents(name).index(parent) for parent in net.parents(name)]
        again = back.table(name).transpose(*order, len(order))
        assert again == pytest.approx(net.table(name), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".xdsl", ".uai"])
def test_another_library_reads_and_writes_chains_in_the_other_formats(tmp_path, ending):
    """The peer lists the first of several parents fastest, against both formats: chains only."""
    gum = pytest.importorskip("pyagrum")
    net = BayesianNetwork()
    rng = np.random.default_rng(1)
    for i in range(4):
        net.variable(f"v{i}", [f"s{j}" for j in range(2 + i)])
        shape = (2 + i,) if i == 0 else (1 + i, 2 + i)
        net.cpt(f"v{i}", given=[f"v{i - 1}"] if i else [], table=rows(rng, *shape))
    write_network(net, tmp_path / f"ours{ending}")
    peer = gum.loadBN(str(tmp_path / f"ours{ending}"))
    gum.saveBN(peer, str(tmp_path / f"theirs{ending}"))
    back = read_network(tmp_path / f"theirs{ending}")
    for i, name in enumerate(net.names):
        found = back.table(back.names[i])
        assert found == pytest.approx(net.table(name), abs=1e-6)
        assert peer.cpt(i).toarray() == pytest.approx(net.table(name), abs=1e-6)
