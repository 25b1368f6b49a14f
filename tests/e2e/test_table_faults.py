"""Commands for tables that are killed at any moment, and losses with any damage."""

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from pyarrow import parquet

from credo import Loss
from credo.cli.table_losses import loss_of, read_loss
from credo.exceptions import CredoError
from credo.storage import load

# --- killed ---------------------------------------------------------------------------------

#: Runs commands in processes of their own, all loaded already: a moment in which one is killed is
#: then one of its work. That is after some seconds, or as soon as it writes a file.
NURSERY = """
import json, os, signal, sys, time
import credo.cli.main as cli
import credo.storage, credo.tables.fitting, credo.tables.scoring, credo.tables.sinks
import credo.tables.sources.opening, safetensors.numpy, pyarrow.csv, pyarrow.parquet

for line in sys.stdin:
    arguments, delay = json.loads(line)
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.argv = ["credo", *arguments]
        os._exit(cli.exit_code())
    begun, known, ended = time.perf_counter(), set(os.listdir()), 0
    while not ended:
        waited = time.perf_counter() - begun
        writes = any(name.endswith(".part") for name in set(os.listdir()) - known)
        if (writes if delay == "writes" else waited >= delay) or waited > 60:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.0005)
        ended, status = os.waitpid(child, os.WNOHANG)
    killed = os.WIFSIGNALED(status)
    code = None if killed else os.WEXITSTATUS(status)
    print(json.dumps([code, time.perf_counter() - begun]), flush=True)
"""
#: Kills of each command, fifty in all with those of commands that start from nothing.
KILLS = {"fit": 12, "predict": 14, "update": 12}
WRITING, COLD = 3, 3
ROWS = 200_000


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with tables that take some tenths of a second to read, score and write."""
    folder = tmp_path_factory.mktemp("killed")
    rng = np.random.default_rng(0)
    bad = rng.random(ROWS) < 0.3
    columns = {f"x{j}": rng.normal(bad * (j % 3), 1.0) for j in range(3)}
    table = pa.table({**columns, "y": np.where(bad, "bad", "good")})
    parquet.write_table(table, folder / "rows.parquet")
    arrow_csv.write_csv(table, folder / "rows.csv")
    return folder


@pytest.fixture(scope="module")
def run(place):
    """Run a command, to its end or for so many seconds; give its exit code and its time."""
    with subprocess.Popen(
        [sys.executable, "-c", NURSERY],
        cwd=place,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as nursery:

        def ask(arguments, delay=60):
            nursery.stdin.write(json.dumps([arguments, delay]) + "\n")
            nursery.stdin.flush()
            return json.loads(nursery.stdout.readline())

        yield ask
        nursery.stdin.close()


@pytest.fixture(scope="module")
def commands(place, run):
    """Commands with the file each writes, what that holds before, and the whole result."""
    fit = ["fit", "rows.csv", "--target", "y", "--model", "naive-bayes", "--out"]
    assert run([*fit, "model.credo"])[0] == 0
    model = (place / "model.credo").read_bytes()
    found = {}
    for name, arguments, before in (
        ("fit", [*fit, "fitted.credo"], None),
        ("predict", ["predict", "model.credo", "rows.parquet", "--out", "scored.csv"], None),
        ("update", ["update", "updated.credo", "rows.csv"], model),
    ):
        out = place / {"fit": arguments[-1], "predict": arguments[-1]}.get(name, arguments[1])
        if before is not None:
            out.write_bytes(before)
        code, seconds = run(arguments)
        assert code == 0
        found[name] = (arguments, out, before, out.read_bytes(), seconds)
    return found


def _set_back(out, before):
    if before is None:
        out.unlink(missing_ok=True)
    else:
        out.write_bytes(before)


def _left(place):
    return {path.name for path in place.iterdir() if path.name.startswith(".")}


@pytest.mark.parametrize("name", KILLS)
def test_a_killed_command_leaves_the_old_file_or_the_whole_new_one(name, place, run, commands):
    arguments, out, before, after, seconds = commands[name]
    visible = {path.name for path in place.iterdir() if not path.name.startswith(".")} - {out.name}
    rng = random.Random(name)  # noqa: S311 - moments, no secrets
    ends = Counter()
    for _ in range(KILLS[name]):
        _set_back(out, before)
        code, took = run(arguments, rng.uniform(0.0, 1.05 * seconds))
        seconds = seconds if code is None else min(seconds, took)  # a busy machine was slower
        content = out.read_bytes() if out.exists() else None
        assert content in (before, after)
        ends["killed" if code is None else "done"] += 1
        ends["old" if content == before else "new"] += 1
        shown = {path.name for path in place.iterdir() if not path.name.startswith(".")}
        assert shown - {out.name} == visible
        assert all(left.startswith(".credo-") and left.endswith(".part") for left in _left(place))
    assert ends["killed"] >= KILLS[name] / 3
    assert ends["old"] >= 1


@pytest.mark.parametrize("name", KILLS)
def test_a_command_killed_while_it_writes_leaves_a_file_without_its_name(
    name, place, run, commands
):
    arguments, out, before, after, _ = commands[name]
    halves = 0
    for _ in range(WRITING):
        _set_back(out, before)
        known = _left(place)
        run(arguments, "writes")
        content = out.read_bytes() if out.exists() else None
        assert content in (before, after)
        halves += bool(_left(place) - known)
    if name == "predict":  # the others write in no time
        assert halves


def test_what_a_killed_command_leaves_behind_does_not_disturb_later_ones(place, run, commands):
    arguments, out, before, after, _ = commands["predict"]
    _set_back(out, before)
    (place / ".credo-0123456789abcdef.part").write_bytes(b"half of something")
    folder = place / "folder"
    folder.mkdir()
    (folder / "rows.csv").write_bytes((place / "rows.csv").read_bytes())
    (folder / ".credo-0123456789abcdef.part").write_bytes(b"x0,y\n1,")
    assert run(arguments)[0] == 0
    assert out.read_bytes() == after
    fit = ["fit", "folder", "--target", "y", "--model", "naive-bayes", "--out", "again.credo"]
    assert run(fit)[0] == 0
    assert load(place / "again.credo").summary_.weights.sum() == ROWS
    (folder / "rows.csv").unlink()


def test_a_command_killed_from_its_start_on_leaves_nothing_either(place, commands):
    arguments, out, before, after, _ = commands["predict"]
    rng = random.Random(1)  # noqa: S311 - as above
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-m", "credo", *arguments], cwd=place, check=True)
    whole = time.perf_counter() - begun
    killed = 0
    for share in (0.3, *(rng.uniform(0.5, 1.0) for _ in range(COLD - 1))):
        _set_back(out, before)
        with subprocess.Popen(
            [sys.executable, "-m", "credo", *arguments], cwd=place, stderr=subprocess.DEVNULL
        ) as process:
            time.sleep(share * whole)
            process.kill()
            killed += process.wait() == -signal.SIGKILL
        assert (out.read_bytes() if out.exists() else None) in (before, after)
    assert killed >= 1
    assert sum(KILLS.values()) + WRITING * len(KILLS) + COLD == 50


# --- losses with any damage -----------------------------------------------------------------

LOSSES = (
    b"truth,grant,refuse\ngood,0,1\nbad,5,0\n",
    b"\xef\xbb\xbftruth \\ act,treat,discharge,ask\r\ncancer,0,1000,1\r\nnormal,1,0,1\r\n",
    b'corner,"a, b","say ""no"""\n1,0.5,-2e3\n2,1e-300,7\n',
    b"t,1,2,3\n1,0,1,1\n2,1,0,1\n3,1,1,0\n",
)
LABELS = (["bad", "good"], ["cancer", "normal"], [1, 2], [1, 2, 3])
#: Bytes that mean something to one reader or another.
SHARP = (
    *(b",", b"\n", b"\r", b'"', b"\x00", b"\xff", b"\xc3", b";", b"\t", b" ", b"_", b"'", b"\\"),
    *(b"nan", b"inf", b"-inf", b"1e999", b"1_0", b"0x1", b"1,1", b"1e400", b"--1", b"\xe2\x80\xa8"),
    *("١".encode(), "１".encode(), b"True", b"=1+1", b"9" * 400, b",,", b"\n\n", b'""', b"\x1a"),
)


def _damaged(rng):
    """Draw a file that was right and is damaged in a place or two."""
    content = bytearray(rng.choice(LOSSES))
    for _ in range(rng.randint(1, 2)):
        at = rng.randrange(len(content) + 1)
        to = min(len(content), at + rng.randint(0, 2))
        way = rng.randrange(6)
        if way == 0:
            content[at:to] = b""
        elif way == 1:
            content[at:to] = rng.choice(SHARP)
        elif way == 2:
            content[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 4)))
        elif way == 3:
            content[at:at] = content[: rng.randrange(len(content) + 1)]
        elif way == 4:
            del content[at:]
        else:
            lines = bytes(content).split(b"\n")
            rng.shuffle(lines)
            content[:] = b"\n".join(lines)
    return bytes(content)


def test_a_damaged_loss_is_refused_in_a_sentence_or_read(tmp_path):
    rng = random.Random(5)  # noqa: S311 - as above
    path = tmp_path / "loss.csv"
    ends, longest = Counter(), 0
    for _ in range(4000):
        content = _damaged(rng)
        path.write_bytes(content)
        try:
            loss = read_loss(path, rng.choice((None, 0.5)))
        except CredoError as error:
            ends["refused"] += 1
            longest = max(longest, len(str(error)))
            continue
        ends["read"] += 1
        assert np.isfinite(loss.matrix).all(), content
        assert loss.matrix.shape == (len(loss.truths), len(loss.acts)), content
    assert min(ends.values()) > 400
    assert longest < 1000


def test_a_loss_that_was_read_is_one_for_the_labels_or_is_refused(tmp_path):
    rng = random.Random(6)  # noqa: S311 - as above
    path = tmp_path / "loss.csv"
    ends = Counter()
    for _ in range(1500):
        path.write_bytes(_damaged(rng))
        labels = rng.choice(LABELS)
        try:
            found = loss_of(labels, read_loss(path, None), None, None, "credo predict")
        except CredoError:
            ends["refused"] += 1
            continue
        ends["used"] += 1
        assert isinstance(found, Loss)
        assert set(found.truths) == set(labels)
    assert min(ends.values()) > 50
