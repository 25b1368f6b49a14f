"""What is wrong with a file, before it is known which file that is."""

from __future__ import annotations


class Fault(Exception):  # noqa: N818 - never leaves this room
    """A fault in a file; the text is a clause that follows the name of the file."""
