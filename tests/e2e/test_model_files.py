"""Model files in use: old files, killed writers, hostile files in little memory, and speed."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.unit.storage.stored_models import all_models, answers
from tests.work import calls_in

import credo
from credo.storage import describe, load

MODELS = Path(__file__).parents[1] / "data" / "models"
FIRST = MODELS / "version_3"


def write_golden_files(folder):
    """Write a file of every kind and what its model answers; once for each version, never again.

    Run by hand when the version of the format is raised, with a folder of its own.
    """
    folder.mkdir()
    known = {}
    for name, model in all_models().items():
        model_path = folder / f"{name}.credo"
        credo.storage.save(model, model_path)
        known[name] = answers(model)
    lines = (f"{json.dumps(name)}: {json.dumps(known[name])}" for name in sorted(known))
    (folder / "answers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


@pytest.mark.parametrize("path", sorted(FIRST.glob("*.credo")), ids=lambda path: path.stem)
def test_files_load_and_answer_as_on_the_day_they_were_written(path):
    known = json.loads((FIRST / "answers.json").read_text(encoding="utf-8"))[path.stem]
    found = answers(load(path))
    assert len(found) == len(known)
    for now, then in zip(found, known, strict=True):
        np.testing.assert_allclose(
            np.concatenate([np.ravel(each) for each in np.atleast_1d(_ragged(now))]),
            np.concatenate([np.ravel(each) for each in np.atleast_1d(_ragged(then))]),
            rtol=1e-9,
            atol=1e-12,
        )
    assert describe(path)["format"] == 3


def _ragged(values):
    """Make an array of lists of different lengths."""
    if isinstance(values, list) and values and isinstance(values[0], list):
        result = np.empty(len(values), dtype=object)
        result[:] = [np.array(each, dtype=float) for each in values]
        return result
    return np.array(values, dtype=float)


def test_there_is_an_old_file_of_every_class_that_can_be_stored():
    stored = {describe(path)["class"] for path in FIRST.glob("*.credo")}
    known = credo.storage.files.storable()  # a test may have defined a model of its own
    assert stored == {name for name, kind in known.items() if kind.__module__.startswith("credo.")}


#: Saves a second model over a first, in processes that die after so many calls of functions, or
#: just before the file gets its name; prints whether the first was found each time, then the parts.
KILLED = """
import os, signal, sys
import numpy as np
import credo
from credo.storage import load, save

folder = sys.argv[1]
path = os.path.join(folder, "model.credo")
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 150))
first, second = (credo.GaussianClassifier("full").fit(X + k, np.arange(400) % 2) for k in (0, 5))

def saved_by_child(end):
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        calls = 0

        def count(_, event, __):
            nonlocal calls
            calls += event == "call"
            if calls == end:
                os.kill(os.getpid(), signal.SIGKILL)

        def watch(event, _):
            if event == end == "os.rename":
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
        sys.setprofile(count)
        save(second, path)
        sys.setprofile(None)
        os.write(tell, str(calls).encode())
        os._exit(0)
    os.close(tell)
    os.waitpid(child, 0)
    with open(told, "rb") as stream:
        return int(stream.read() or 0)

def found():
    means = load(path).means_.tolist()
    return [model.means_.tolist() for model in (first, second)].index(means)

save(first, path)
calls = saved_by_child(None)
seen = [found()]
for end in (*np.linspace(1, 0.9 * calls, 10).astype(int).tolist(), "os.rename"):
    save(first, path)
    assert saved_by_child(end) == 0, end
    seen.append(found())
    others = [name for name in os.listdir(folder) if name != "model.credo"]
    assert all(name.startswith(".credo-") and name.endswith(".part") for name in others), others
print(seen, len(others))
"""


def test_a_writer_killed_at_any_moment_leaves_the_old_file(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    seen, parts = done.stdout.rsplit(" ", 1)
    assert seen == str([1] + [0] * 11)
    assert int(parts) > 0  # some were killed in the middle of writing


#: Saves two models under names of their own, then in turns over one file, for ever.
SAVED_IN_TURNS = """
import sys
import numpy as np
import credo

X = np.random.default_rng(0).normal(size=(200, 60))
models = [credo.GaussianClassifier("full").fit(X + k, np.arange(200) % 2) for k in (0, 5)]
for k, model in enumerate(models):
    model.save(f"{sys.argv[1]}.{k}")
models[0].save(sys.argv[1])
print("saved", flush=True)
while True:
    for model in models:
        model.save(sys.argv[1])
"""


@pytest.mark.parametrize(
    "times", [3, pytest.param(60, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_a_process_killed_while_it_saves_leaves_a_whole_file(tmp_path, times):
    path, rng = tmp_path / "model.credo", np.random.default_rng(0)
    for _ in range(times):
        with subprocess.Popen(
            [sys.executable, "-c", SAVED_IN_TURNS, str(path)], stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout.readline() == b"saved\n"
            time.sleep(float(rng.uniform(0.0, 0.05)))
            writer.kill()
        versions = [path.with_name(f"{path.name}.{k}").read_bytes() for k in (0, 1)]
        assert versions[0] != versions[1]
        assert path.read_bytes() in versions
        assert len(load(path).predict(np.zeros((2, 60)))) == 2
    credo.Loss.zero_one(["a", "b"]).save(path)  # what is left over does not stand in the way
    assert load(path) == credo.Loss.zero_one(["a", "b"])


HOSTILE = """
import os, sys
import credo
from credo.exceptions import FileFormatError
from credo.storage import load, networks  # before measuring

def status(what):
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(what))

credo.storage.unpack(credo.storage.pack(credo.Loss.zero_one([0, 1])))
for path in sys.argv[1:]:
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        continue
    before = status("VmRSS")
    try:
        load(path)
        verdict = "loaded"
    except FileFormatError as error:
        verdict = "refused"
    print(verdict, status("VmHWM") - before, flush=True)
    os._exit(0)
"""


def _grown(paths):
    """Load files in processes of their own; give how that ended and how much memory it took."""
    done = subprocess.run(
        [sys.executable, "-c", HOSTILE, *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
    )
    pairs = [line.split() for line in done.stdout.splitlines()]
    return [(verdict, int(grown)) for verdict, grown in pairs]


def _headed(text, size=0):
    """Make a file of a header and so many bytes."""
    content = text.encode()
    content += b" " * (-len(content) % 8)
    return len(content).to_bytes(8, "little") + content + bytes(size)


def _entry(shape, end):
    """Write the entry of an array."""
    return f'{{"dtype":"F64","shape":{shape},"data_offsets":[0,{end}]}}'


BOMBS = [
    (2**62).to_bytes(8, "little") + bytes(100),
    _headed(f'{{"__metadata__":{{"credo":"x"}},"a":{_entry([2**40], 2**43)}}}', 8),
    _headed(f'{{"__metadata__":{{"credo":"x"}},"a":{_entry([2**20, 2**20], 2**43)}}}', 8),
    _headed('{"a":[' + ",".join(["[]"] * 340_000) + "]}"),
    _headed('{"a":[' + ",".join(['{"":0}'] * 149_000) + "]}"),
    _headed('{"a":"' + "x" * 1_000_000 + '"}', 2**25),
]


def test_a_hostile_file_takes_no_more_memory_than_its_size_and_a_little(tmp_path):
    paths = [tmp_path / f"bad {i}.credo" for i in range(len(BOMBS))]
    for path, content in zip(paths, BOMBS, strict=True):
        path.write_bytes(content)
    found = _grown(paths)
    assert [verdict for verdict, _ in found] == ["refused"] * len(BOMBS)
    for content, (_, grown) in zip(BOMBS, found, strict=True):
        assert grown < len(content) + 40 * 2**20  # what 2**20 bytes of header make, and slack


def test_a_large_model_takes_no_more_memory_than_its_file(tmp_path):
    X = np.random.default_rng(0).normal(size=(3000, 700))
    model = credo.GaussianClassifier("tied").fit(X, np.arange(3000) % 1000)
    model.save(tmp_path / "m.credo")
    ((verdict, grown),) = _grown([tmp_path / "m.credo"])
    assert verdict == "loaded"
    assert grown < (tmp_path / "m.credo").stat().st_size + 20 * 2**20


def test_a_thousand_classes_load_with_few_calls_for_each(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 50))
    model = credo.GaussianClassifier("tied").fit(X, np.arange(4000) % 1000)
    model.save(tmp_path / "m.credo")
    assert calls_in(load, tmp_path / "m.credo") < 5 * 1000
    loaded = load(tmp_path / "m.credo")
    assert loaded.coef_.tolist()[0] == model.coef_.tolist()[0]
