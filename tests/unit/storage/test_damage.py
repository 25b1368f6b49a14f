"""A damaged, cut, strange or hostile file gives a clear error and nothing else."""

import itertools
import json
import os
import re
import struct

import numpy as np
import pytest
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load as read_arrays, save as write_arrays
from tests.unit.storage.mutations import closed, damaged, hostile, opened
from tests.unit.storage.stored_models import all_models

import credo
from credo.exceptions import FileFormatError, InputError
from credo.storage import describe, load, pack, save, unpack

FILES = {name: pack(model) for name, model in all_models().items()}
SMALL = FILES["loss"]


def reason(content):
    """Say why bytes are refused."""
    with pytest.raises(FileFormatError) as caught:
        unpack(content)
    return caught.value.reason


def fault_of(content):
    """Say why bytes are refused, or None if they are not; no other error is clear."""
    try:
        unpack(content)
    except FileFormatError as error:
        return error.reason
    return None


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))]
)
def test_a_thousand_mutated_files_give_models_or_clear_errors(seed):
    rng = np.random.default_rng(seed)
    names = sorted(FILES)
    refused = 0
    for _ in range(1000):
        content = FILES[names[int(rng.integers(len(names)))]]
        changed = (hostile if rng.random() < 0.8 else damaged)(content, rng)
        told = fault_of(changed)
        refused += told is not None
        assert told is None or len(told) < 1000
        assert told is None or "it holds no proper model (" not in told  # a check should meet it
    assert 700 < refused < 1000  # some changes are of parameters, and give other models


def test_no_single_flipped_bit_goes_unnoticed():
    for place in range(len(SMALL)):
        for bit in range(8):
            changed = bytearray(SMALL)
            changed[place] ^= 1 << bit
            with pytest.raises(FileFormatError):
                unpack(bytes(changed))


@pytest.mark.parametrize("name", ["gaussian_tied", "naive_categories", "factor_graph"])
def test_no_changed_byte_gives_another_model(name):
    content, rng = FILES[name], np.random.default_rng(0)
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= int(rng.integers(1, 256))
        with pytest.raises(FileFormatError):
            unpack(bytes(changed))


def test_a_file_that_is_cut_anywhere_is_refused():
    for length in range(len(SMALL)):
        with pytest.raises(FileFormatError):
            unpack(SMALL[:length])


def test_a_file_with_a_tail_is_refused():
    assert "tail" in reason(SMALL + b"\x00")


def test_arrays_that_share_their_bytes_are_refused():
    content = FILES["gaussian_full"]
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    entries = [entry for name, entry in header.items() if name != "__metadata__"]
    one, two = _equal_in_size(entries)
    one["data_offsets"] = two["data_offsets"]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    changed = struct.pack("<Q", len(text)) + text + content[8 + length :]
    assert "its arrays overlap or leave a gap" in reason(changed)


def _equal_in_size(entries):
    """Give two arrays of one type and shape, of which the first is not the last of the file."""
    last = max(entry["data_offsets"][1] for entry in entries)
    return next(
        (one, two)
        for one, two in itertools.permutations(entries, 2)
        if (one["dtype"], one["shape"]) == (two["dtype"], two["shape"])
        and one["data_offsets"][1] < last
    )


def test_any_safetensors_reader_can_open_a_model_file(tmp_path):
    for content in FILES.values():
        (tmp_path / "m.credo").write_bytes(content)
        with safe_open(tmp_path / "m.credo", "numpy") as reader:
            assert list(reader.metadata()) == ["credo"]
            found = {name: reader.get_tensor(name) for name in reader.keys()}  # noqa: SIM118
        known = opened(content)[1]
        assert {name: array.tobytes() for name, array in found.items()} == {
            name: array.tobytes() for name, array in known.items()
        }
    with pytest.raises(SafetensorError):
        read_arrays(SMALL[:-1])


def test_the_error_names_the_file_the_fault_and_the_remedy(tmp_path):
    path = tmp_path / "churn.credo"
    path.write_bytes(SMALL[:-8])
    with pytest.raises(
        FileFormatError, match=r"churn\.credo: it is cut short.* save the model again"
    ):
        load(path)
    with pytest.raises(FileFormatError, match=r"churn\.credo: it is cut short"):
        describe(path)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "0 bytes, too few"),
        (b"age,y\n1,2\n3,4\n", "no model file"),
        (b"\x80\x04\x95" + bytes(60), "no model file"),
        (struct.pack("<Q", 2**63) + bytes(50), "no model file"),
        (struct.pack("<Q", 2**20) + bytes(50), "cut short"),
        (struct.pack("<Q", 8) + b"[1,2,3] ", "not in the safetensors format"),
        (struct.pack("<Q", 8) + b'{"a":1} ', "not a model file of Credo"),
        (write_arrays({"weights": np.zeros(3)}), "not a model file of Credo"),
        (write_arrays({"weights": np.zeros(3)}, {"format": "pt"}), "not a model file of Credo"),
        (write_arrays({}, {"credo": "{}"}), "checksum of its description"),
    ],
    ids=[
        "empty",
        "text",
        "pickle",
        "huge",
        "long",
        "list",
        "no text",
        "plain",
        "torch",
        "unsigned",
    ],
)
def test_other_files_are_told_from_model_files(content, told, tmp_path):
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(FileFormatError, match=re.escape(told)):
        load(tmp_path / "f")


def test_what_is_no_plain_file_is_refused(tmp_path):
    with pytest.raises(OSError, match="directory"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "no such file")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileFormatError, match="no plain file"):
        load(tmp_path / "pipe")
    with pytest.raises(FileFormatError, match="no plain file"):
        load(os.devnull)
    with pytest.raises(InputError, match="unpack needs bytes"):
        unpack("text")


def changed(name, change):
    """Change a file's tree and arrays, and sign it again."""
    tree, arrays = opened(FILES[name])
    change(tree, arrays)
    return closed(tree, arrays)


def within(tree, part, name):
    """Name another class within a model."""
    tree["content"][part][name]["class"] = "eval"


@pytest.mark.parametrize(("version", "remedy"), [(1, "Fit the model again"), (3, "Upgrade Credo")])
def test_a_file_of_another_version_says_what_to_do(version, remedy):
    def another(tree, _):
        tree["format"], tree["library"], tree["news"] = version, "9.1", True

    told = reason(changed("loss", another))
    assert re.search(rf"Credo 9\.1 in version {version}.*{remedy}", told)


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("loss", lambda t, _: t.update({"class": "Popen"}), "a Popen, which this version"),
        ("loss", lambda t, _: t.update({"class": "os.system"}), "which this version"),
        ("loss", lambda t, _: t.update({"class": ["Loss"]}), "which this version"),
        (
            "loss",
            lambda t, _: t["content"].update(extra=1),
            "the field 'extra', which is not known",
        ),
        ("loss", lambda t, _: t["content"].pop("acts"), "lacks the field 'acts'"),
        ("loss", lambda t, _: t.update(extra=1), "the field 'extra', which is not known"),
        ("loss", lambda _, a: a.update(extra=np.zeros(3)), "'extra', which belongs to nothing"),
        (
            "loss",
            lambda t, _: t["content"].update(matrix="Loss.nothing"),
            "array that is not there",
        ),
        ("gaussian_full", lambda t, _: t["content"]["parameters"].update(x=1), "the field 'x'"),
        ("gaussian_full", lambda t, _: t["content"]["learned"].update(predict=1), "'predict'"),
        ("gaussian_full", lambda t, _: t["content"]["learned"].pop("_fitted"), "'_fitted'"),
        (
            "decision",
            lambda t, _: t["content"]["learned"]["estimator_"].update({"class": "int"}),
            "no ",
        ),
        (
            "text_pairs",
            lambda t, _: t["content"]["parameters"]["vectorizer"].update({"class": "eval"}),
            "no ",
        ),
    ],
    ids=range(13),
)
def test_a_hostile_description_is_refused_by_name(name, change, told):
    assert told in reason(changed(name, change))


def with_array(file, ending, value):
    """Put another array into the place of one."""

    def change(_, arrays):
        name = next(each for each in arrays if each.endswith(ending))
        arrays[name] = np.asarray(value)

    return changed(file, change)


@pytest.mark.parametrize(
    ("file", "array", "value", "told"),
    [
        ("gaussian_full", "log_determinants", np.zeros(2), "shape (2,), where K of (K) is 3"),
        ("gaussian_full", "log_determinants", np.zeros((3, 1)), "has 2 axes"),
        ("gaussian_full", "log_determinants", np.zeros(3, np.float32), "of type float32"),
        ("gaussian_full", "log_determinants", np.full(3, np.nan), "holds NaN"),
        ("gaussian_full", "counts", np.full(3, -1), "not at least 0"),
        ("regressor", "active", np.ones(2, bool), "where D of (D) is 3"),
        ("markov", ".scope", np.array([0, 0, 7], np.int32), "variable that is not there"),
        ("markov", ".scope", np.array([0, 1, 1], np.int32), "a variable twice"),
        ("markov", ".table", np.array([0, 9], np.int32), "a table that is not there"),
        ("markov", ".table", np.array([1, 0], np.int32), "does not fit the states"),
        ("markov", ".scope_start", np.array([0, 3, 1]), "one after the other"),
        ("markov", ".table_start", np.array([0, 2, 2**62]), "one after the other"),
        ("markov", ".n_states", np.array([2, 2**40]), "not those of its states"),
        ("bayesian_chain", ".values", np.full(6, 0.6), "do not sum to one"),
        ("bayesian_rules", ".answers", np.array([0, 1, 0, 9]), "a state that is not there"),
        ("bayesian_rules", ".chances", np.full(3, 1.5), "a chance that is none"),
    ],
    ids=range(16),
)
def test_arrays_that_do_not_fit_are_refused_before_anything_is_built(file, array, value, told):
    assert told in reason(with_array(file, array, value))


def test_a_network_with_a_cycle_is_refused():
    net = credo.BayesianNetwork()
    for name in "ab":
        net.variable(name, 2)
    net.cpt("a", table=[0.5, 0.5])
    net.cpt("b", ["a"], [[0.5, 0.5], [0.5, 0.5]])
    tree, arrays = opened(pack(net))
    arrays["BayesianNetwork.scope"] = np.array([1, 0, 0, 1], np.int32)
    arrays["BayesianNetwork.scope_start"] = np.array([0, 2, 4])
    arrays["BayesianNetwork.table_start"] = np.array([0, 4, 8])
    arrays["BayesianNetwork.values"] = np.full(8, 0.5)
    assert "cycle" in reason(closed(tree, arrays))


def test_a_header_that_repeats_a_key_is_refused():
    length = struct.unpack("<Q", SMALL[:8])[0]
    text = SMALL[8 : 8 + length].decode().rstrip()
    entry = text[text.rindex('"Loss.') : -1]
    twice = f"{text[:-1]},{entry}}}".encode()
    twice += b" " * (-len(twice) % 8)
    assert "twice" in reason(struct.pack("<Q", len(twice)) + twice + SMALL[8 + length :])


def test_deep_nests_are_refused():
    for deep in ("[" * 100_000, '{"a":' * 100_000):
        text = json.dumps({"__metadata__": {"credo": "x"}})[:-1] + f',"a":{deep}}}'
        text += " " * (-len(text) % 8)
        assert "cannot be read" in reason(struct.pack("<Q", len(text)) + text.encode())


def test_booleans_other_than_zero_and_one_are_refused():
    tree, arrays = opened(FILES["gaussian_full"])
    name = next(each for each in arrays if each.endswith("active"))
    arrays[name] = np.array([1, 2, 1, 1], dtype=np.uint8).view(bool)
    assert "booleans other" in reason(closed(tree, arrays))


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.credo"
    save(credo.Loss.zero_one(["a", "b"]), path)
    before = path.read_bytes()
    with pytest.raises(InputError):
        save(credo.GaussianClassifier(), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
