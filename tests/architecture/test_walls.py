"""The walls between the rooms hold, and their picture is current."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "credo"
NAMELESS = {"utils", "helpers", "misc", "common", "core"}

HEAVY = ("matplotlib", "numba", "pandas", "scipy.stats", "sklearn")


def _run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def _loaded_by(statement):
    """Modules that a fresh interpreter has loaded after the statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules, sep='\\n')"
    result = _run(sys.executable, "-c", code)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


def test_imports_between_rooms_only_go_where_the_contracts_allow():
    linter = Path(sys.executable).with_name("lint-imports")
    result = _run(str(linter), "--no-cache")
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_picture_of_the_rooms_is_current():
    result = _run(sys.executable, "docs/draw_rooms.py", "--check")
    assert result.returncode == 0, result.stdout + result.stderr


def test_importing_credo_loads_nothing_heavy_and_no_room():
    rooms = {f"credo.{path.name}" for path in SOURCE.iterdir() if path.is_dir()}
    assert _loaded_by("import credo").isdisjoint({*HEAVY, *rooms, "numpy", "scipy"})


def test_deciding_loads_nothing_heavy():
    decide = "credo.decide([0.5, 0.5], credo.Loss.zero_one([0, 1]), labels=[0, 1]).acts"
    loaded = _loaded_by(f"import credo, credo.families; {decide}")
    assert loaded.isdisjoint(HEAVY)
    lazy = ("special", "sparse", "linalg", "optimize", "stats")
    assert loaded.isdisjoint(f"scipy.{name}" for name in lazy)


def test_every_module_has_a_name_that_says_what_it_holds():
    names = {path.stem.strip("_") for path in SOURCE.rglob("*") if "__pycache__" not in path.parts}
    assert names.isdisjoint(NAMELESS)
