"""Run the everyday tests as on lesser processors: ``make test-cpus``, or with some files only.

NumPy, Numba and OpenBLAS choose their code by the processor, and the last bit of an exponential or
of a sum with it. No answer may hang on that bit.
"""

import argparse
import os
import subprocess
import sys

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

FOUND = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
AVX512 = [name for name in FOUND if name.startswith(("AVX512", "X86_V4"))]
AVX2 = [name for name in FOUND if name in {"AVX2", "FMA3", "X86_V3"}]

#: What a setting is called, and the variables that make it.
SETTINGS = {
    "the processor as it is": {},
    "NumPy without AVX-512": {"NPY_DISABLE_CPU_FEATURES": " ".join(AVX512)},
    "NumPy without AVX2": {"NPY_DISABLE_CPU_FEATURES": " ".join([*AVX2, *AVX512])},
    "Numba for any processor": {"NUMBA_CPU_NAME": "generic"},
    "OpenBLAS with AVX2": {"OPENBLAS_CORETYPE": "Haswell"},
    "OpenBLAS without AVX": {"OPENBLAS_CORETYPE": "Nehalem"},
}

PROBE = """
import numba.core.registry, numpy, scipy.linalg, threadpoolctl
from numpy._core._multiarray_umath import __cpu_baseline__, __cpu_dispatch__, __cpu_features__
used = [name for name in (*__cpu_baseline__, *__cpu_dispatch__) if __cpu_features__[name]]
pools = threadpoolctl.threadpool_info()
blas = sorted({pool["architecture"] for pool in pools if "architecture" in pool})
compiler = numba.core.registry.cpu_target.target_context.codegen()
features = "with its features" if compiler._tm_features else "without features"
print(f"NumPy {' '.join(used)}; Numba {compiler._get_host_cpu_name()} {features}; "
      f"BLAS {' '.join(blas) or 'unknown'}")
"""


def chosen_code(variables):
    """Return what the libraries choose under these variables, in words."""
    return subprocess.run(
        [sys.executable, "-c", PROBE],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def run(variables, arguments):
    """Return whether the everyday tests pass under these variables."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", *arguments]
    return subprocess.run(command, env={**os.environ, **variables}, check=False).returncode == 0


def main():
    """Run every setting that this machine can do; exit with 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("arguments", nargs="*", help="files, and options of pytest after --")
    arguments = parser.parse_args().arguments
    results, seen = {}, set()
    for name, variables in SETTINGS.items():
        code = chosen_code(variables)
        print(f"\n== {name}: {code}", flush=True)
        if code in seen:
            results[name] = "not run: this machine has no such choice"
        else:
            results[name] = "passed" if run(variables, arguments) else "FAILED"
        seen.add(code)
    print("\n" + "\n".join(f"{result:8} {name}" for name, result in results.items()))
    sys.exit("FAILED" in results.values())


if __name__ == "__main__":
    main()
