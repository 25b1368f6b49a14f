"""Commands for tables that are killed at any moment, and losses with any damage."""

import json
import random
import signal
import subprocess
import sys
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from pyarrow import parquet

from credo.cli._tables import loss_for, read_loss
from credo.exceptions import CredoError
from credo.storage import load

# --- killed ---------------------------------------------------------------------------------

#: Runs commands in processes of their own, all loaded already: what is counted is then their work.
#: Each ends by itself, or dies after so many calls of functions, or just before it renames a file.
#: Prints the exit code, none if it died, and its calls before it writes, before it renames, in all.
NURSERY = """
import json, os, signal, sys
import credo.cli.main as cli
import credo.storage, credo.tables.fit, credo.tables.predict, credo.tables.sink
import credo.tables.source, safetensors.numpy, pyarrow.csv, pyarrow.parquet

def die():
    os.kill(os.getpid(), signal.SIGKILL)

for line in sys.stdin:
    arguments, end = json.loads(line)
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        calls = writes = renames = 0

        def count(_, event, __):
            global calls
            calls += event == "call"
            if calls == end:
                die()

        def watch(event, details):
            global writes, renames
            if event in ("open", "os.rename") and str(details[0]).endswith(".part"):
                writes, renames = writes or calls, calls
                if event == end:
                    die()

        sys.addaudithook(watch)
        sys.setprofile(count)
        sys.argv = ["credo", *arguments]
        try:
            cli.run()
        except SystemExit as stop:
            sys.setprofile(None)
            os.write(tell, json.dumps([writes, renames, calls]).encode())
            os._exit(stop.code)
    os.close(tell)
    _, status = os.waitpid(child, 0)
    code = None if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    print(json.dumps([code, json.loads(os.read(told, 100) or "null")]), flush=True)
    os.close(told)
"""
#: The shares of its calls after which a command is killed.
SHARES = (0.1, 0.5, 0.9)
COMMANDS = ("fit", "predict", "update")
ROWS = 200_000


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with tables of several batches."""
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
    """Run a command, to its end or to an earlier one; give its exit code and its calls."""
    with subprocess.Popen(
        [sys.executable, "-c", NURSERY],
        cwd=place,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as nursery:

        def ask(arguments, end=None):
            nursery.stdin.write(json.dumps([arguments, end]) + "\n")
            nursery.stdin.flush()
            return json.loads(nursery.stdout.readline())

        yield ask
        nursery.stdin.close()


@pytest.fixture(scope="module")
def commands(place, run):
    """Commands with the file each writes, what that holds before, the whole result, the calls."""
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
        for _ in range(2):  # the first may compile modules
            _set_back(out, before)
            code, calls = run(arguments)
            assert code == 0
        found[name] = (arguments, out, before, out.read_bytes(), calls)
    return found


def _set_back(out, before):
    if before is None:
        out.unlink(missing_ok=True)
    else:
        out.write_bytes(before)


def _left(place):
    return {path.name for path in place.iterdir() if path.name.startswith(".")}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_leaves_the_old_file(name, place, run, commands):
    arguments, out, before, _, (*_, calls) = commands[name]
    visible = {path.name for path in place.iterdir() if not path.name.startswith(".")} - {out.name}
    for end in (*(round(share * calls) for share in SHARES), "os.rename"):
        _set_back(out, before)
        known = _left(place)
        assert run(arguments, end)[0] is None
        assert (out.read_bytes() if out.exists() else None) == before
        shown = {path.name for path in place.iterdir() if not path.name.startswith(".")}
        assert shown - {out.name} == visible
        assert all(left.startswith(".credo-") and left.endswith(".part") for left in _left(place))
    assert _left(place) - known  # it was whole, but without its name


def test_a_command_killed_while_it_writes_leaves_a_file_without_its_name(place, run, commands):
    arguments, out, before, after, (writes, renames, _) = commands["predict"]
    _set_back(out, before)
    known = _left(place)
    assert run(arguments, round((writes + renames) / 2))[0] is None
    (left,) = _left(place) - known
    half = (place / left).read_bytes()
    assert 0 < len(half) < len(after)
    assert after.startswith(half)
    assert not out.exists()


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


def test_a_command_killed_from_outside_leaves_nothing_either(place, commands):
    arguments, out, before, _, _ = commands["predict"]
    _set_back(out, before)
    with subprocess.Popen(
        [sys.executable, "-m", "credo", *arguments], cwd=place, stderr=subprocess.DEVNULL
    ) as process:
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert not out.exists()


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
    content = rng.choice(LOSSES)
    for _ in range(rng.randint(1, 2)):
        at = rng.randrange(len(content) + 1)
        start, rest = content[:at], content[at + rng.randint(0, 2) :]
        lines = content.split(b"\n")
        rng.shuffle(lines)
        ways = (
            start + rest,
            start + rng.choice(SHARP) + rest,
            start + rng.randbytes(3) + content[at:],
            start + content[: rng.randrange(len(content) + 1)] + content[at:],
            start,
            b"\n".join(lines),
        )
        content = rng.choice(ways)
    return content


def test_a_damaged_loss_is_refused_in_a_sentence_or_read(tmp_path):
    rng = random.Random(5)  # noqa: S311 - as above
    path = tmp_path / "loss.csv"
    ends, longest = Counter(), 0
    for _ in range(1200):
        content, labels = _damaged(rng), rng.choice(LABELS)
        path.write_bytes(content)
        try:
            loss = read_loss(path, rng.choice((None, 0.5)))
            assert np.isfinite(loss.matrix).all(), content
            assert loss.matrix.shape == (len(loss.truths), len(loss.acts)), content
            ends["read"] += 1
            assert set(loss_for(labels, loss, None, None).truths) == set(labels), content
            ends["used"] += 1
        except CredoError as error:
            ends["refused"] += 1
            longest = max(longest, len(str(error)))
    assert min(ends.values()) > 40
    assert longest < 1000
