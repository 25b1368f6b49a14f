"""Kernels at two speeds: when they compile, that both agree, and what is kept."""

import os
import subprocess
import sys
import warnings
from collections import namedtuple

import numpy as np
import pytest
from tests.speeds import both_speeds

from credo._kernels import tiers
from credo._kernels.tiers import PAYS, Kernel, kernel
from credo.cli._small_calls import CALLS
from credo.exceptions import CompilingWarning, InputError

SCALE = 3.0


@kernel
def scaled(values):
    """Multiply by a constant."""
    total = 0.0
    for i in range(values.size):
        total += SCALE * values[i]
    return total


@kernel
def sum_of_two(pair, out):
    """Call another kernel, with arrays in a tuple."""
    out[0] = scaled(pair[0]) + scaled(pair[1])
    return out[0]


@pytest.fixture
def fresh(monkeypatch):
    """Make a kernel anew, to be run at the speed that pays."""
    monkeypatch.delenv("CREDO_KERNELS")
    monkeypatch.setattr(Kernel, "total", 0.0)
    monkeypatch.setattr(Kernel, "_is_kept", lambda _: True)
    return lambda decorated, **options: Kernel(decorated.function, **options)


def is_compiled(kernel):
    return kernel._compiled is not None


class TestWhatPays:
    def test_a_small_call_runs_plain(self, fresh):
        add = fresh(scaled)
        assert add(np.ones(5)) == 15.0
        assert not is_compiled(add)

    def test_a_large_call_is_compiled_at_once(self, fresh):
        add = fresh(scaled)
        assert add(np.ones(PAYS)) == 3.0 * PAYS
        assert is_compiled(add)

    def test_work_adds_up_over_calls(self, fresh):
        add = fresh(scaled)
        for _ in range(3):
            add(np.ones(PAYS // 4))
            assert not is_compiled(add)
        add(np.ones(PAYS // 4))
        assert is_compiled(add)

    def test_kernels_together_pay_for_the_compiler_and_each_for_its_code(self, fresh):
        one, other = fresh(scaled), fresh(scaled)
        one(np.ones(PAYS // 2))
        other(np.ones(PAYS // 2))
        assert not is_compiled(one)
        assert is_compiled(other)
        last = fresh(scaled)
        last(np.ones(PAYS // 100))
        assert not is_compiled(last)

    def test_code_that_was_not_kept_costs_its_length(self, fresh, monkeypatch):
        monkeypatch.setattr(Kernel, "_is_kept", lambda _: False)
        monkeypatch.setattr(tiers, "_VISIT", 1e-8)  # then it is worth ten million visits
        add = fresh(scaled)
        add(np.ones(2 * PAYS))
        assert not is_compiled(add)

    def test_even_empty_calls_add_up(self, fresh):
        add, empty = fresh(scaled), np.empty(0)
        while not is_compiled(add):
            add.expect(PAYS / 10)  # as after thousands of calls
            before = add._done
            assert add(empty) == 0.0
            assert add._done > before

    def test_arrays_in_tuples_count(self, fresh):
        add = fresh(sum_of_two)
        halves = np.ones(PAYS // 2 + 1), np.ones(PAYS // 2)
        assert add(halves, np.zeros(1)) == 3.0 * (PAYS + 1)
        assert is_compiled(add)

    def test_visits_count_as_often_as_they_are_made(self, fresh):
        add = fresh(scaled, visits=100)
        add(np.ones(PAYS // 100))
        assert is_compiled(add)

    def test_float32_is_never_computed_in_float64(self, fresh):
        add = fresh(scaled)
        add(np.ones(3, np.float32))
        assert is_compiled(add)

    @pytest.mark.parametrize(("wish", "compiled"), [("python", False), ("compiled", True)])
    def test_a_wish_decides(self, monkeypatch, wish, compiled):
        monkeypatch.setenv("CREDO_KERNELS", wish)
        add = Kernel(scaled.function)
        add(np.ones(2 * PAYS if wish == "python" else 1)[:3])
        assert is_compiled(add) == compiled

    def test_a_wish_that_is_none_is_refused(self, monkeypatch):
        monkeypatch.setenv("CREDO_KERNELS", "fast")
        with pytest.raises(InputError, match="one of python, compiled, both. Got 'fast'"):
            Kernel(scaled.function)(np.ones(1))


class TestBothSpeeds:
    def test_are_compared_and_the_arguments_written_once(self, monkeypatch):
        monkeypatch.setenv("CREDO_KERNELS", "both")
        add, out = Kernel(sum_of_two.function), np.zeros(1)
        assert add((np.ones(2), np.ones(3)), out) == out[0] == 15.0

    def test_a_kernel_that_differs_is_named(self, monkeypatch):
        monkeypatch.setenv("CREDO_KERNELS", "both")

        def rotten(values):
            return np.empty(values.size, np.int64).size + (values[0] * 3 if [1] else 0)

        spoilt = Kernel(rotten)
        plain = spoilt.plain()
        spoilt._plain = lambda values: plain(values) + 1
        with pytest.raises(AssertionError, match="rotten differs when compiled"):
            spoilt(np.arange(3))

    def test_nan_is_nan(self, monkeypatch):
        monkeypatch.setenv("CREDO_KERNELS", "both")
        assert np.isnan(Kernel(scaled.function)(np.array([np.nan])))

    @pytest.mark.parametrize("name", ["models"])
    def test_small_calls_give_the_same_bits(self, monkeypatch, name):
        both_speeds(monkeypatch)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            CALLS[name]()

    @pytest.mark.slow
    @pytest.mark.parametrize("name", sorted({*CALLS} - {"models"}))
    def test_all_calls_give_the_same_bits(self, monkeypatch, name):
        self.test_small_calls_give_the_same_bits(monkeypatch, name)


FINGERPRINTS = """
import importlib, pkgutil, credo
from credo._kernels.tiers import Kernel

def fingerprints():
    found = [m.name for m in pkgutil.walk_packages(credo.__path__, "credo.") if "kernels" in m.name]
    return [
        f"{module} {name} {each.fingerprint()}"
        for module in found
        for name, each in vars(importlib.import_module(module)).items()
        if isinstance(each, Kernel)
    ]
"""


class TestWhatIsKept:
    def test_the_fingerprint_changes_with_callees_and_constants(self, monkeypatch):
        before = sum_of_two.fingerprint()
        assert sum_of_two.fingerprint() == before
        monkeypatch.setitem(globals(), "SCALE", 4.0)
        assert sum_of_two.fingerprint() != before
        monkeypatch.undo()
        monkeypatch.setattr(scaled, "__module__", "elsewhere")  # kept code names its modules
        assert sum_of_two.fingerprint() != before
        monkeypatch.undo()
        other = Kernel(lambda values: values.sum())
        monkeypatch.setitem(globals(), "scaled", other)
        assert sum_of_two.fingerprint() != before

    def test_the_fingerprint_changes_with_names_and_the_fields_of_named_tuples(self, monkeypatch):
        one, other = Kernel(lambda pair: pair.one + 1), Kernel(lambda pair: pair.other + 1)
        monkeypatch.setattr(other, "__name__", one.__name__)
        assert one.fingerprint() != other.fingerprint()
        for fields in ("one other", "other one"):
            before = one.fingerprint()
            monkeypatch.setitem(globals(), "Pair", namedtuple("Pair", fields))  # noqa: PYI024 - fields vary
            assert one.fingerprint() != before

    @pytest.mark.slow
    def test_code_kept_for_a_named_tuple_that_is_gone_is_not_read(self, tmp_path):
        source = (
            "from typing import Any, NamedTuple\nimport numpy as np\n"
            "from credo._kernels.tiers import kernel\n"
            "class One(NamedTuple):\n    x: Any\n    y: Any\n"
            "@kernel\ndef f(pair):\n    return pair.x[0]\n"
        )
        (tmp_path / "main.py").write_text(
            "import sys, numpy as np, kept\n"
            "pair = getattr(kept, sys.argv[1])(x=np.array([3]), y=np.array([4]))\n"
            "print(kept.f.compiled()(pair), sum(kept.f.compiled().stats.cache_hits.values()))\n"
        )

        def run(name, text):
            (tmp_path / "kept.py").write_text(text)
            code = [sys.executable, "-B", "main.py", name]  # bytecode is told by size and second
            done = subprocess.run(code, cwd=tmp_path, capture_output=True, text=True, check=True)
            return done.stdout.split()

        assert run("One", source) == ["3", "0"]
        assert run("One", source) == ["3", "1"]
        assert run("One", source.replace("x: Any\n    y", "y: Any\n    x")) == ["3", "0"]
        assert run("Other", source.replace("One", "Other")) == ["3", "0"]

        start, end = source.index("class One"), source.index("@kernel")
        apart = source[:start] + "import shapes\n" + source[end:]
        main = (tmp_path / "main.py").read_text()
        (tmp_path / "main.py").write_text(main.replace("getattr(kept,", "getattr(kept.shapes,"))
        for name, hits in (("One", "0"), ("One", "1"), ("Other", "0")):
            text = f"from typing import Any, NamedTuple\n{source[start:end]}"
            (tmp_path / "shapes.py").write_text(text.replace("One", name))
            assert run(name, apart) == ["3", hits]

    def test_every_kernel_has_the_same_fingerprint_in_every_process(self):
        told = subprocess.run(
            [sys.executable, "-c", f"{FINGERPRINTS}\nfor told in fingerprints(): print(told)"],
            env=os.environ | {"PYTHONHASHSEED": "1"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        here = {}
        exec(FINGERPRINTS, here)  # noqa: S102 - the same code, with other hashes
        assert len(told) > 200
        assert told == here["fingerprints"]()

    def test_old_code_is_not_used_when_a_callee_in_another_file_changes(self, tmp_path):
        (tmp_path / "inner.py").write_text(
            "from credo._kernels.tiers import kernel\n@kernel\ndef f(x):\n    return x + 1\n"
        )
        (tmp_path / "outer.py").write_text(
            "import inner\nfrom inner import f\nfrom credo._kernels.tiers import kernel\n"
            "@kernel\ndef g(x):\n    return 10 * f(x)\n"
            "print(g.compiled()(1), sum(g.compiled().stats.cache_hits.values()))\n"
        )

        def run():
            code = [sys.executable, "outer.py"]
            done = subprocess.run(code, cwd=tmp_path, capture_output=True, text=True, check=True)
            return done.stdout.split()

        assert run() == ["20", "0"]
        assert run() == ["20", "1"]
        text = (tmp_path / "inner.py").read_text().replace("x + 1", "x + 2")
        (tmp_path / "inner.py").write_text(text)
        assert run() == ["30", "0"]


class TestWaiting:
    def test_a_long_compile_is_said_once(self, monkeypatch):
        monkeypatch.setattr(tiers, "_LONG", 0.0)
        monkeypatch.setattr(tiers, "_KEEPS", False)
        tiers._compiler.cache_clear()
        try:
            with pytest.warns(
                CompilingWarning, match=r"once per machine, about \d+ to \d+ s.*warm-up"
            ):
                Kernel(sum_of_two.function).compiled()((np.ones(1), np.ones(1)), np.ones(1))
            with warnings.catch_warnings():
                warnings.simplefilter("error", CompilingWarning)
                Kernel(scaled.function).compiled()(np.ones(1, np.float32))
        finally:
            monkeypatch.undo()
            tiers._compiler.cache_clear()

    def test_without_numba_kernels_stay_plain(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "numba", None)
        tiers._compiler.cache_clear()
        try:
            add = Kernel(scaled.function)
            assert add(np.ones(2, np.float32)) == 6.0
        finally:
            monkeypatch.undo()
            tiers._compiler.cache_clear()
