"""A damaged, cut, strange or hostile file gives a clear error and nothing else."""

import json
import os
import re
import struct

import numpy as np
import pytest
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load as read_arrays, save as write_arrays
from tests.unit.storage.mutations import closed, damaged, forged, hostile, opened
from tests.unit.storage.stored_models import all_models
from tests.unit.storage.use import use

import credo
from credo.exceptions import FileFormatError, InputError
from credo.storage import describe, load, pack, unpack

FILES = {name: pack(model) for name, model in all_models().items()}
SMALL = FILES["loss"]


def headed(header, data=b""):
    """Make a file of a header, as text or as a table, and what follows it."""
    text = header if isinstance(header, str) else json.dumps(header, separators=(",", ":"))
    text += " " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text.encode() + data


def reason(content):
    """Say why bytes are refused."""
    with pytest.raises(FileFormatError) as caught:
        unpack(content)
    return caught.value.reason


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))]
)
def test_a_thousand_changed_files_give_models_that_work_or_clear_errors(seed):
    rng, names = np.random.default_rng(seed), sorted(FILES)
    told = []
    for _ in range(1000):
        content = FILES[names[int(rng.integers(len(names)))]]
        change = (forged, hostile, damaged)[int(rng.choice(3, p=[0.6, 0.3, 0.1]))]
        made = change(content, rng)
        try:
            model = unpack(made)
        except FileFormatError as error:
            told.append(error.reason)
        else:
            assert change is not damaged or made == content
            assert use(model) > 0
    assert all(len(reason) < 1000 for reason in told)
    assert not [reason for reason in told if "no valid model (" in reason]  # a check meets it
    assert 500 < len(told) < 900  # some changes are of parameters, and give other models


def test_no_single_flipped_bit_goes_unnoticed():
    for place in range(len(SMALL)):
        for bit in range(8):
            changed = bytearray(SMALL)
            changed[place] ^= 1 << bit
            with pytest.raises(FileFormatError):
                unpack(bytes(changed))


def test_a_file_that_is_cut_anywhere_or_has_a_tail_is_refused():
    for length in range(len(SMALL)):
        assert reason(SMALL[:length])
    assert "tail" in reason(SMALL + b"\x00")


def test_arrays_that_share_their_bytes_are_refused():
    content = FILES["gaussian_full"]
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    one, two, *_ = (name for name in header if name != "__metadata__")
    for wrong in ({one: header[two]}, {"more": header[two]}):
        made = headed({**header, **wrong}, content[8 + length :])
        assert "its arrays overlap or leave a gap" in reason(made)


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
        (b"age,y\n1,2\n3,4\n", "not a model file"),
        (b"\x80\x04\x95" + bytes(60), "not a model file"),
        (struct.pack("<Q", 2**63) + bytes(50), "not a model file"),
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
    with pytest.raises(FileFormatError, match="not a regular file"):
        load(tmp_path / "pipe")
    with pytest.raises(FileFormatError, match="not a regular file"):
        load(os.devnull)
    with pytest.raises(InputError, match="unpack needs bytes"):
        unpack("text")


def changed(name, change):
    """Change a file's tree and arrays, and sign it again."""
    tree, arrays = opened(FILES[name])
    change(tree, arrays)
    return closed(tree, arrays)


@pytest.mark.parametrize(("version", "remedy"), [(2, "Fit the model again"), (4, "Upgrade Credo")])
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
        ("gaussian_full", lambda t, _: t["content"].update(predict=1), "'predict'"),
        ("gaussian_full", lambda t, _: t["content"].pop("_fitted"), "'_fitted'"),
        ("gaussian_full", lambda t, _: t["content"].update(_fitted=None), "has learned nothing"),
        ("decision", lambda t, _: t["content"].update(fitted={"int": {}}), "the field 'int'"),
        ("decision", lambda t, _: t["content"].update(estimator="os"), "no valid estimator"),
        ("decision", lambda t, _: t["content"].update(loss="zero_one"), "has no Loss"),
        (
            "text_pairs",
            lambda t, _: t["content"].update(vectorizer={"eval": {}}),
            "a value of an unknown kind",
        ),
    ],
    ids=range(15),
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
        ("markov", ".which", np.array([0, 2]), "states that are not there"),
        ("markov", ".values", np.zeros(8), "allows no state"),
        ("bayesian_chain", ".values", np.full(6, 0.6), "sums to 1.2, not to 1"),
        ("bayesian_rules", ".answers", np.array([0, 1, 0, 9]), "a state that is not there"),
        ("bayesian_rules", ".chances", np.full(3, 1.5), "a probability below 0 or above 1"),
    ],
    ids=range(17),
)
def test_arrays_that_do_not_fit_are_refused_before_anything_is_built(file, array, value, told):
    assert told in reason(with_array(file, array, value))


def scaled(ending, factor):
    """Multiply an array."""

    def change(_, arrays):
        name = next(each for each in arrays if each.endswith(ending))
        arrays[name] = np.ascontiguousarray(arrays[name] * factor)

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("regressor_em", scaled("whiteners", 2.0)),
        ("regressor_em", scaled("_fitted.covariance", -1.0)),
        ("regressor_em", scaled("slopes", 3.0)),
        ("regressor_em", lambda t, _: t["content"]["_fitted"].update(variance=-1.0)),
        ("regressor_em", lambda t, _: t["content"]["_fitted"].update(variance={"float": "nan"})),
        ("regressor", lambda _, a: a.update({"GaussianRegressor.summary_.classes": codes("row")})),
        ("gaussian_full", scaled("log_determinants", 2.0)),
        ("gaussian_full", scaled("whiteners", -1.0)),
        ("gaussian_diagonal", scaled("covariances", 0.0)),
        ("gaussian_proportional", scaled("factors", -1.0)),
        ("gaussian_spherical", scaled("summary_.moments.scatter", -1.0)),
        (
            "gaussian_full",
            lambda t, _: t["content"]["summary_"].update(classes={"range": [0, 3, 1]}),
        ),
        ("gaussian_schema", lambda t, _: t["content"].update(feature_names_in_=None)),
        (
            "class_summary",
            lambda _, a: a["ClassSummary.moments.scatter"].__setitem__((0, 0, 1), 9.0),
        ),
        ("naive_mixed", scaled("point_weights", 2.0)),
        ("markov", scaled("values", 0.0)),
        ("factor_graph", scaled("log_values", 2.0)),
        ("bayesian_rules", lambda t, _: t["content"].update(tolerance={"float": "nan"})),
        ("grid_potts", lambda t, _: t["content"].update(neighbours=5)),
        ("grid_linear", lambda t, _: t["content"].update(odds=t["content"]["logs"], logs=None)),
    ],
    ids=range(20),
)
def test_a_forged_model_that_could_not_be_used_is_refused(name, change):
    def copied(tree, arrays):
        arrays.update({each: array.copy() for each, array in arrays.items()})
        change(tree, arrays)

    assert "it holds no valid model (" not in reason(changed(name, copied))


def codes(text):
    """Write a text of fixed width as code points."""
    return np.array([[ord(each) for each in text]], dtype=np.uint32)


def test_a_network_of_more_variables_than_the_file_tells_of_is_refused():
    def many(tree, _):
        tree["content"]["names"] = {"range": [0, 2**40, 1]}

    assert "more values than the file" in reason(changed("markov_arrays", many))


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
    assert "twice" in reason(headed(f"{text[:-1]},{entry}}}", SMALL[8 + length :]))


def test_deep_nests_are_refused():
    for deep in ("[" * 100_000, '{"a":' * 100_000):
        text = json.dumps({"__metadata__": {"credo": "x"}})[:-1] + f',"a":{deep}}}'
        assert "cannot be read" in reason(headed(text))


def test_booleans_other_than_zero_and_one_are_refused():
    tree, arrays = opened(FILES["gaussian_full"])
    name = next(each for each in arrays if each.endswith("active"))
    arrays[name] = np.array([1, 2, 1, 1], dtype=np.uint8).view(bool)
    assert "booleans other" in reason(closed(tree, arrays))
