import pytest

import credo
import credo.decisions


def test_names_and_rooms_are_reached_through_the_lobby():
    assert credo.Loss is credo.decisions.Loss
    assert credo.exceptions.CredoError.__name__ == "CredoError"
    assert {"Loss", "decide", "decisions"} <= set(dir(credo))


def test_a_star_import_brings_the_public_names():
    names = {}
    exec("from credo.decisions import *", names)  # noqa: S102 - the only way to write it in a test
    assert {"Loss", "regions", "evaluate"} <= set(names)
    assert "doors" not in names
    assert "exceptions" in credo.__all__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'credo' has no attribute 'Los'"):
        credo.Los  # noqa: B018


def test_the_version_is_a_string():
    assert credo.__version__.count(".") == 2
