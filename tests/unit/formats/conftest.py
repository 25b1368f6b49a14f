"""What tests of readers share: ``READ`` of the module reads a text that is put into a file."""

import pytest

from credo.exceptions import FileFormatError


@pytest.fixture
def read(tmp_path, request):
    def reader(text, *arguments, **options):
        path = tmp_path / "x"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return request.module.READ(path, *arguments, **options)

    return reader


@pytest.fixture
def refused(read, tmp_path):
    """Give the error that a text is refused with; it names the file."""

    def refusing(text, *arguments, **options):
        with pytest.raises(FileFormatError) as caught:
            read(text, *arguments, **options)
        assert caught.value.path == str(tmp_path / "x")
        return caught.value

    return refusing
