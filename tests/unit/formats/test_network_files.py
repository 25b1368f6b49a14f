"""All formats of networks: the same laws for each, and files that were tampered with."""

import gzip
import random
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.oracles import bif as oracle

from credo.exceptions import CredoWarning, FileFormatError, InputError
from credo.formats import _text, network_files, read_bif, read_network, read_uai, write_network
from credo.graphs import BayesianNetwork, FactorGraph

PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "graphical" / "bif"
READ = read_uai
FORMATS = list(network_files.FORMATS)
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


# --- there and back ----------------------------------------------------------------------------


@pytest.mark.parametrize("packed", ["", ".gz", ".GZ"])
@pytest.mark.parametrize("ending", [*DIRECTED, ".BIF"])
def test_every_format_reads_back_what_it_wrote(tmp_path, ending, packed):
    net = weather()
    path = tmp_path / f"x{ending}{packed}"
    write_network(net, path)
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == bool(packed)
    oracle.assert_same(read_network(path), net, ordered=ending != ".xdsl")
    net.variable("snow", 2)  # writing leaves it open


@pytest.mark.parametrize("ending", DIRECTED)
def test_a_second_writing_gives_the_same_bytes(tmp_path, ending):
    first, second, third = (tmp_path / f"{name}{ending}.gz" for name in "abc")
    write_network(weather(), first)
    write_network(read_network(first), second)  # in XDSL, parents come first from now on
    write_network(read_network(second), third)
    assert second.read_bytes() == third.read_bytes()
    assert ending == ".xdsl" or first.read_bytes() == second.read_bytes()


#: Labels, their text, and the words that Hugin's names and GeNIe's names and states become.
LABELS = {
    "words": (["node", "potential", "data"], ["node", "potential", "data"], None),
    "blanks": (["a b", "a_b", " a b"], ["a b", "a_b", "a b_2"], ["a_b", "a_b_2", "_a_b"]),
    "marks": (['"', "&<>", "%{;}//"], ['"', "&<>", "%{;}//"], ["_", "___", "______"]),
    "backslashes": (["\\", '\\"', "a\\n"], ["\\", '\\"', "a\\n"], ["_", "__", "a_n"]),
    "lines": (["a\nb", "", "\x00"], ["a_b", "_", "__2"], ["a_b", "x", "_"]),
    "letters": (["été", "夏", "\ud800"], ["été", "夏", "_"], ["_t_", "_", "__2"]),
    "numbers": ([0, 1, 2], ["0", "1", "2"], ["x0", "x1", "x2"]),
    "text and numbers": (["0", 0, 1.5], ["0", "0_2", "1.5"], ["x0", "x0_2", "x1_5"]),
    "booleans": ([True, False, None], ["True", "False", "None"], None),
    "tuples": ([(0, "a"), "b", (1,)], ["(0, 'a')", "b", "(1,)"], ["_0___a__", "b", "_1__"]),
}


def labelled(labels):
    """Make a network whose variables and states have these labels."""
    net = BayesianNetwork()
    for name in labels:
        net.variable(name, labels)
    first, second, third = labels
    net.cpt(first, table=[0.25, 0.5, 0.25])
    net.cpt(second, given=[first], table=np.eye(3))
    net.cpt(third, given=[second, first], table=rows(np.random.default_rng(0), 3, 3, 3))
    return net


@pytest.mark.parametrize("which", LABELS)
@pytest.mark.parametrize("ending", DIRECTED)
def test_labels_of_any_kind_come_back_as_text(tmp_path, ending, which):
    labels, text, words = LABELS[which]
    words = words or text
    names, states = {".net": (words, text), ".xdsl": (words, words)}.get(ending, (text, text))
    if ending == ".uai":  # keeps them beside the file
        labels = [label.replace("\ud800", "?") if label == "\ud800" else label for label in labels]
        names = states = labels
    write_network(labelled(labels), tmp_path / f"x{ending}")
    back = read_network(tmp_path / f"x{ending}")
    assert repr(list(back.names)) == repr(names)
    assert repr([list(variable.states) for variable in back.variables]) == repr([states] * 3)
    for old, new in zip(labelled(labels).factors, back.factors, strict=True):
        assert old.values.tobytes() == new.values.tobytes()


def test_other_programs_see_names_in_full(tmp_path):
    for ending, title in (
        (".net", 'label = "< 5 \\"°C\\""'),
        (".xdsl", '<name>&lt; 5 "°C"</name>'),
    ):
        net = BayesianNetwork.from_arrays(['< 5 "°C"'], [("n", "y")], [[]], np.array([0.5, 0.5]))
        write_network(net, tmp_path / f"x{ending}")
        assert title in (tmp_path / f"x{ending}").read_text(encoding="utf-8")


def test_two_thousand_names_that_become_the_same_word_are_told_apart(tmp_path):
    names = [chr(0x4E00 + i) for i in range(2_000)]
    net = BayesianNetwork.from_arrays(
        names, [("a",)] * len(names), [[]] * len(names), np.ones(len(names))
    )
    write_network(net, tmp_path / "x.net")
    assert len(set(read_network(tmp_path / "x.net").names)) == 2_000


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


@pytest.mark.parametrize(
    "name",
    [n for n in ("asia", "alarm", "child", "water") if (PUBLISHED / f"{n}.bif.gz").exists()],
)
@pytest.mark.parametrize("ending", [".xml", ".net", ".xdsl", ".uai"])
def test_published_networks_survive_every_format(tmp_path, name, ending):
    net = read_bif(PUBLISHED / f"{name}.bif.gz")
    write_network(net, tmp_path / f"x{ending}")
    back = read_network(tmp_path / f"x{ending}")
    if ending != ".xdsl" or name in ("asia", "alarm"):  # others have states that are no words
        oracle.assert_same(back, net, ordered=ending != ".xdsl")
    for child in net.names:
        assert back.table(child).tobytes() == net.table(child).tobytes()


# --- choosing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x", "x.txt", "x.gz", "bif", "x.bif.zip"])
def test_an_unknown_ending_is_refused_with_the_known_ones(tmp_path, name):
    known = f"Known endings: {', '.join(FORMATS)}"
    for call in (read_network, lambda path: write_network(weather(), path)):
        with pytest.raises(InputError, match=f"{known}.*, each also with"):
            call(tmp_path / name)


@pytest.mark.parametrize("ending", [".bif", ".xml", ".net", ".xdsl"])
def test_a_format_for_networks_refuses_other_models(tmp_path, ending):
    said = "writes a BayesianNetwork. Got FactorGraph. Use write_uai, which writes any model"
    with pytest.raises(InputError, match=said):
        write_network(FactorGraph(), tmp_path / f"x{ending}")


@pytest.mark.parametrize("ending", FORMATS)
def test_an_unfinished_model_is_refused_and_the_old_file_kept(tmp_path, ending):
    path = tmp_path / f"old{ending}"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(InputError, match="the model has no variables"):
        write_network(BayesianNetwork(), path)
    net = weather()
    net.variable("late", 2)
    with pytest.raises(InputError, match="late"):
        write_network(net, path)
    assert path.read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize("ending", FORMATS)
def test_a_missing_file_and_a_folder_are_named(tmp_path, ending):
    with pytest.raises(FileFormatError, match="no such file"):
        read_network(tmp_path / f"none{ending}")
    (tmp_path / f"folder{ending}").mkdir()
    with pytest.raises(FileFormatError, match="folder"):
        read_network(tmp_path / f"folder{ending}")
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_network(tmp_path / f"{'x' * 300}{ending}")


@pytest.mark.parametrize("ending", FORMATS)
def test_a_damaged_package_is_named(tmp_path, ending):
    write_network(weather(), tmp_path / f"x{ending}.gz")
    whole = (tmp_path / f"x{ending}.gz").read_bytes()
    for cut in (5, 12, 60):
        (tmp_path / f"x{ending}.gz").write_bytes(whole[:cut])
        with pytest.raises(FileFormatError, match="packed file is damaged"):
            read_network(tmp_path / f"x{ending}.gz")


@pytest.mark.parametrize("ending", [".bif", ".net", ".uai"])
def test_utf16_is_named(tmp_path, ending):
    (tmp_path / f"x{ending}").write_text("MARKOV", encoding="utf-16")
    with pytest.raises(FileFormatError, match="UTF-16. Save it as UTF-8"):
        read_network(tmp_path / f"x{ending}")


@pytest.mark.parametrize("ending", FORMATS)
def test_reading_stops_at_the_limit(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(_text, "LIMIT", 1000)
    file = tmp_path / f"x{ending}"
    for data in (gzip.compress(bytes(10**7)), b"a" * 1001):
        file.write_bytes(data)
        with pytest.raises(FileFormatError, match="larger than 1000 bytes"):
            read_network(file)


BOMB = """
import resource, sys
from credo.formats import _text, read_network

_text.LIMIT = 2**27
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_network(sys.argv[1])
except ValueError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("kind", ["packed", "plain"])
def test_a_file_of_too_much_is_refused_before_memory_grows(tmp_path, kind):
    file = tmp_path / "bomb.bif"
    if kind == "packed":
        file.write_bytes(gzip.compress(bytes(2**20)) * 129)
        assert file.stat().st_size < 150_000
    else:
        with file.open("wb") as stream:
            stream.truncate(2**27 + 1)
    done = subprocess.run(
        [sys.executable, "-c", BOMB, file], capture_output=True, text=True, check=True
    )
    said, grown = done.stdout.splitlines()
    assert "larger than 134217728 bytes" in said
    assert int(grown) < 30_000  # kilobytes


def test_little_is_loaded_to_read():
    code = (
        "import sys, tempfile, credo\n"
        "net = credo.BayesianNetwork.from_arrays(['a'], [('x', 'y')], [[]], [0.5, 0.5])\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    credo.write_network(net, f'{folder}/x.bif')\n"
        "    credo.read_bif(f'{folder}/x.bif')\n"
        "heavy = 'numba', 'scipy', 'xml.sax', 'urllib.request', 'credo.inference', 'sklearn'\n"
        "sys.exit(' '.join(name for name in heavy if name in sys.modules) or 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- numbers and places, whatever the format -----------------------------------------------------


def test_numbers_are_those_of_float(read):
    generator = np.random.default_rng(0)
    digits = generator.integers(0, 10**18, 3000).tolist()
    powers = generator.integers(-40, 20, 3000).tolist()
    words = [f"{d}e{p}" for d, p in zip(digits, powers, strict=True)]
    words += [repr(x) for x in generator.random(1000).tolist()]
    words += ["0.5000000000000000277555756156289135", "1e-400", ".5", "5.", "+0.5", "0E5", "1E-2"]
    # halfway between two floats, and one unit to either side
    words += [
        "0.500000000000000055511151231257827",
        "9007199254740993e-16",
        "0.1234567890123456785",
    ]
    words += [f"0.{'3' * 1000}", *["0.125"] * 2000]
    found = read(f"MARKOV 1 {len(words)} 1 1 0 {len(words)} {' '.join(words)}").compile().values
    assert found.tobytes() == np.array([float(word) for word in words]).tobytes()


@pytest.mark.parametrize(
    "word", ["1_0", "1e", "1e+", "1.2.3", "--1", "0x1", ".", "+", "1e5x", "5-12", "٠", "9" * 1300]
)
def test_other_words_are_no_numbers(refused, word):
    error = refused(f"MARKOV 1 2 1 1 0 2 0.5 {word}")
    assert error.reason.startswith(f"Expected a number, got '{word[:40]}")
    assert error.column == 24


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"abc", (1, 1)),
        (b"# a\n# b\n x", (3, 2)),
        (b"# a\r\n\r\n  x", (3, 3)),
        (b"# a\r\rx", (3, 1)),
        (b"\xef\xbb\xbf x", (1, 2)),
        ("# é\n\u3000x".encode(), (2, 2)),
        ("# é\n\xa0x".encode("latin-1"), (2, 2)),
        ("MARKOV # é\n1\xa02".encode(), (2, 2)),
    ],
)
def test_places_count_lines_and_characters_from_one(refused, data, place):
    error = refused(data)
    assert (error.line, error.column) == place


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
    for _ in range(80):
        victim.write_bytes(tampered(whole, rng))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CredoWarning)  # weights in Hugin's tables
                read_network(model)
        except FileFormatError as error:
            messages.append(str(error))
    assert len(messages) > 30
    assert all(message.startswith(str(tmp_path)) for message in messages)
    assert max(map(len, messages)) < 1000


# --- a peer ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".bif", ".bifxml", ".net"])
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
