import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import credo
from credo._files import bytes_written_whole, local_path, path_written_whole, written_whole
from credo.exceptions import InputError
from credo.images.files import open_image


def test_a_file_appears_only_when_it_is_whole(tmp_path):
    path = tmp_path / "out.txt"
    with written_whole(path) as stream:
        stream.write("half")
        assert not path.exists()
    assert path.read_text() == "half"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")

    def fail():
        with written_whole(path) as stream:
            stream.write("new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_has_the_usual_mode(tmp_path):
    before = os.umask(0o027)
    try:
        with written_whole(tmp_path / "out.txt") as stream:
            stream.write("x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out.txt").stat().st_mode) == 0o640


def test_a_link_is_followed_not_replaced(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    with written_whole(link) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_device_is_written_to_not_replaced():
    with written_whole(os.devnull) as stream:
        stream.write("gone")
    assert Path(os.devnull).is_char_device()


def test_a_missing_folder_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"), written_whole(tmp_path / "no" / "f"):
        pass
    with pytest.raises(InputError, match="it is a folder"), written_whole(tmp_path):
        pass


def test_a_library_that_writes_itself_gets_a_temporary_name_beside_the_target(tmp_path):
    path = tmp_path / "out.bin"
    path.write_bytes(b"old")
    with path_written_whole(path) as temporary:
        assert temporary.parent == tmp_path
        assert temporary != path
        temporary.write_bytes(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_library_that_fails_leaves_nothing(tmp_path):
    def fail():
        with path_written_whole(tmp_path / "out.bin") as temporary:
            temporary.write_bytes(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_bytes_appear_only_when_they_are_whole(tmp_path):
    path = tmp_path / "out.bin"
    with bytes_written_whole(path) as stream:
        stream.write(b"\x00\xff")
        assert not path.exists()
    assert path.read_bytes() == b"\x00\xff"


def test_the_content_is_on_the_disk_before_the_name(tmp_path, monkeypatch):
    path, seen = tmp_path / "out.txt", []
    monkeypatch.setattr(os, "fsync", lambda _: seen.append(path.exists()))
    with written_whole(path) as stream:
        stream.write("x")
    assert seen == [False, True]  # the file before it is renamed, the folder after


def test_a_library_that_writes_itself_does_not_hide_the_file(tmp_path):
    plain, given = tmp_path / "plain", tmp_path / "given"
    plain.write_text("x")
    with path_written_whole(given) as place:
        place.unlink()
        place.touch(mode=0o600)
    assert given.stat().st_mode == plain.stat().st_mode


def test_an_error_of_the_disk_names_the_file_that_was_asked_for(tmp_path):
    path = tmp_path / "out.txt"

    def fail():
        with path_written_whole(path) as place:
            raise PermissionError(13, "Permission denied", str(place))

    with pytest.raises(PermissionError) as caught:
        fail()
    assert caught.value.filename == str(path)


FULL_DISK = """
import os, resource, signal, sys
import numpy as np, pyarrow as pa
import credo
from credo.images.files import save_image
from credo.tables import open_sink

def rows(name):
    batch = pa.record_batch({"x": np.random.default_rng(0).normal(size=20_000)})
    with open_sink(name, batch.schema) as sink:
        sink.write(batch)

def model(name):
    matrix = np.random.default_rng(0).random((200, 200))
    credo.Loss(matrix, range(200), range(200)).save(name)

def picture(name):
    save_image(name, np.random.default_rng(0).integers(0, 256, (300, 300), np.uint8))

os.chdir(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
for write, name in [(rows, "o.csv"), (rows, "o.csv.gz"), (rows, "o.parquet"), (rows, "o.arrow"),
                    (model, "o.credo"), (picture, "o.png")]:
    try:
        write(name)
    except OSError as error:
        print(error.filename, error.strerror, sorted(os.listdir(".")), sep="; ")
"""


def test_a_full_disk_is_told_of_the_file_that_was_asked_for(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, tmp_path], capture_output=True, text=True, check=True
    )
    names = ["o.csv", "o.csv.gz", "o.parquet", "o.arrow", "o.credo", "o.png"]
    assert done.stdout.splitlines() == [f"{name}; {os.strerror(errno.EFBIG)}; []" for name in names]


def test_a_quota_without_a_name_is_told_of_the_file(tmp_path):
    def fail():
        with written_whole(tmp_path / "out.txt"):
            raise OSError(errno.EDQUOT, "Disk quota exceeded")

    with pytest.raises(OSError, match=r"quota exceeded: '.*out\.txt'"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_an_error_about_another_file_stays_one_about_it(tmp_path):
    def fail():
        with written_whole(tmp_path / "out.txt"):
            (tmp_path / "rows.csv").read_text()

    with pytest.raises(FileNotFoundError, match="rows.csv"):
        fail()


def test_a_file_in_the_place_of_a_folder_is_called_one(tmp_path):
    (tmp_path / "plain").write_text("x")
    with (
        pytest.raises(InputError, match=r"Cannot write .*plain/o: .*plain is a file, not a folder"),
        written_whole(tmp_path / "plain" / "o"),
    ):
        pass


@pytest.mark.parametrize(
    "url", ["s3://bucket/rows.csv", "gs://b/r.csv", "https://x.org/alarm.bif", "hdfs:/host/m.credo"]
)
@pytest.mark.parametrize(
    "door",
    [credo.load, credo.read_network, credo.tables.open_source, open_image, credo.Loss.from_csv],
)
def test_a_url_is_called_one(door, url):
    whole = url.replace(":/host", "://host")
    with pytest.raises(InputError, match=rf"{whole} is a URL.* Download it first"):
        door(url)


def test_a_url_is_not_written_to():
    loss = credo.Loss.zero_one(["a", "b"])
    with pytest.raises(InputError, match="s3://bucket/l.credo is a URL"):
        loss.save("s3://bucket/l.credo")


def test_a_file_url_is_a_file(tmp_path):
    place = tmp_path / "two words ü.csv"
    place.write_text("x,y\n1,a\n")
    assert " " not in place.as_uri()
    rows = credo.tables.open_source(place.as_uri())
    assert rows.head().to_pydict() == {"x": [1.0], "y": ["a"]}
    assert local_path(f"file://localhost{place.as_posix()}") == str(place)
    credo.Loss.zero_one(["a", "b"]).save((tmp_path / "l.credo").as_uri())
    assert credo.load(tmp_path / "l.credo")["a", "b"] == 1.0


def test_what_is_no_name_of_a_file_is_refused():
    with pytest.raises(InputError, match="A file is named by a path, such as 'rows.csv'. Got int"):
        credo.read_bif(3)
