import os
import stat
from pathlib import Path

import pytest

from credo._files import written_whole
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
