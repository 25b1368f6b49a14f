"""Plain data that agree, numbers to rounding."""

import pytest


def assert_alike(found, expected, *, apart=(), near=1e-12):
    """Check that two trees of dicts and lists are equal, but for the entries named ``apart``."""
    assert type(found) is type(expected)
    if isinstance(found, dict):
        assert found.keys() == expected.keys()
        kept = [name for name in found if name not in apart]
        found, expected = [found[name] for name in kept], [expected[name] for name in kept]
    if isinstance(found, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_alike(one, other, apart=apart, near=near)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-6, abs=near)
    else:
        assert found == expected
