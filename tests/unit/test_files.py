import os
import stat
from pathlib import Path

import pytest

from credo._files import bytes_written_whole, path_written_whole, written_whole
from credo.exceptions import InputError


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
