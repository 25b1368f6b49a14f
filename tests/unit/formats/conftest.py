"""What tests of readers share: a text is put into a file and read."""

import pytest

from credo.exceptions import FileFormatError


@pytest.fixture
def read(tmp_path, request):
    """Read a text with a reader, by default with ``READ`` of the module."""

    def reader(text, read_it=None, **options):
        path = tmp_path / "x"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return (read_it or request.module.READ)(path, **options)

    return reader


@pytest.fixture
def refused(read, tmp_path):
    """Return the error that a text is refused with; it names the file."""

    def refusing(*arguments, **options):
        with pytest.raises(FileFormatError) as caught:
            read(*arguments, **options)
        assert caught.value.path == str(tmp_path / "x")
        return caught.value

    return refusing
