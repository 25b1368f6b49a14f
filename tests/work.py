"""Work that is counted: calls and bytes are the same on every machine, seconds are not."""

import sys
import tracemalloc


def calls_in(function, *arguments):
    """Return how many functions of Python or C are called while this one runs, in warm state."""
    function(*arguments)  # the first time modules are loaded and kernels compiled
    calls = 0

    def count(_frame, event, _details):
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function(*arguments)
    finally:
        sys.setprofile(before)
    return calls


def bytes_in(function, *arguments):
    """Return the most bytes that are held at once while this function runs in warm state."""
    function(*arguments)
    tracemalloc.start()
    try:
        function(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
