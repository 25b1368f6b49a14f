"""Decode low-density parity-check codes of rate one half, next to the package ``ldpc``.

``python benchmarks/peers/ldpc.py [--quick] [--only PART ...]``; parts: curve, speed.

Bits are sent over a binary symmetric channel, which flips them, and over a Gaussian channel, which
adds noise to ±1. A parity factor for each check and the channel's odds on each bit make a factor
graph; a bit is decoded as the likelier of its two beliefs. Messages pass all at once. The curve of
errors goes to ``build/ldpc.png``. All words sent are zero: code and channels are symmetric.

The package sums products with the same number of sweeps, and stops a frame as soon as all checks
hold. It comes with the ``peers`` extra; ``CREDO_LDPC_PYTHON`` may name another interpreter that has
it.

``CREDO_DATA``
    A folder with ``ldpc/MACKAY_504_1008.alist``, a second code, if there is one.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _measure import Row, arguments, significant, verdict, write, write_machine
from _peers import blank, python_of, say_absent

import credo

PEERS = Path(__file__).parent / "_loopy_peers.py"
BUILD = Path(__file__).parents[2] / "build"
DATA = "CREDO_DATA"


class Code(NamedTuple):
    """Parity checks: the bits that each of them adds up."""

    name: str
    checks: Any  #: one entry for each one of the matrix: its row
    bits: Any  #: and its column
    length: int


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is run."""

    length: int
    frames: int
    sweeps: int
    flips: Sequence[float]
    decibels: Sequence[float]
    timed: int


FULL = Scale(
    4000, 200, 50, (0.05, 0.07, 0.075, 0.08, 0.085, 0.09), (1.0, 1.2, 1.4, 1.6, 1.8, 2.0), timed=100
)
QUICK = Scale(600, 20, 30, (0.04, 0.07), (1.5, 2.5), timed=10)
#: Flips so many that no frame is ever decoded, so that all sweeps are made.
HOPELESS = 0.15


def main() -> None:
    """Run the parts asked for, write their tables, print them and the verdicts."""
    read = arguments(__doc__, tuple(PARTS))
    scale = QUICK if read.quick else FULL
    say_absent("ldpc")
    for part in read.only:
        PARTS[part](scale, read.into)
    write_machine(read.into)
    print(f"\nThe tables are in {read.into}")


def random_code(length: int, seed: int = 0) -> Code:
    """Draw a code with three checks on each bit and six bits in each check, without 4-cycles."""
    rng = np.random.default_rng(seed)
    bits = np.repeat(np.arange(length), 3)
    checks = rng.permutation(np.repeat(np.arange(length // 2), 6))
    while len(wrong := _short_cycles(checks.reshape(-1, 3))):
        mixed = np.union1d(wrong, rng.choice(len(checks), len(wrong) + 1))
        checks[mixed] = rng.permutation(checks[mixed])
    return Code(f"random (3, 6), {length} bits", checks, bits, length)


def _short_cycles(checks: Any) -> Any:
    """Find ones to move: of pairs of checks that two bits share, or that a bit meets twice."""
    first, second = np.triu_indices(3, 1)
    low = np.minimum(checks[:, first], checks[:, second])
    high = np.maximum(checks[:, first], checks[:, second])
    key = (low * (checks.max() + 1) + high).ravel()
    order = np.argsort(key, kind="stable")
    bad = (low == high).ravel()
    bad[order[1:]] |= key[order[1:]] == key[order[:-1]]
    found = np.flatnonzero(bad)
    return np.unique(3 * (found // 3) + second[found % 3])


def read_alist(path: Path) -> Code:
    """Read a parity-check matrix as David MacKay writes them."""
    text = path.read_text(encoding="ascii").splitlines()
    lines = [line for line in text if line.strip() and not line.startswith("#")]
    length = int(lines[0].split()[0])
    columns = [[int(word) - 1 for word in line.split()] for line in lines[4 : 4 + length]]
    pairs = [(check, bit) for bit, each in enumerate(columns) for check in each if check >= 0]
    checks, bits = np.array(pairs).T
    return Code(f"{path.stem}, {length} bits", checks, bits, length)


def codes(scale: Scale) -> list[Code]:
    """Give the codes to decode: one drawn, and one from a file if it is there."""
    found = [random_code(scale.length)]
    path = Path(os.environ.get(DATA, "")) / "ldpc" / "MACKAY_504_1008.alist"
    return [*found, read_alist(path)] if DATA in os.environ and path.exists() else found


def symmetric(shape: tuple[int, int], flip: float, seed: int) -> Any:
    """Send zeros over a binary symmetric channel; give the log odds of zero against one."""
    flipped = np.random.default_rng(seed).random(shape) < flip
    return np.where(flipped, -1.0, 1.0) * np.log((1.0 - flip) / flip)


def gaussian(shape: tuple[int, int], decibels: float, seed: int) -> Any:
    """Send zeros as +1 over a Gaussian channel, so many decibels per bit of a rate one half."""
    variance = 1.0 / (2.0 * 0.5 * 10.0 ** (decibels / 10.0))
    noise = np.random.default_rng(seed).standard_normal(shape)
    return 2.0 * (1.0 + np.sqrt(variance) * noise) / variance


def graph(code: Code) -> credo.FactorGraph:
    """Make the factor graph of a code: a parity factor for each check."""
    model = credo.FactorGraph()
    each = [model.variable(bit, 2) for bit in range(code.length)]
    order = np.argsort(code.checks, kind="stable")
    cuts = np.flatnonzero(np.diff(code.checks[order])) + 1
    for bits in np.split(code.bits[order], cuts):
        model.parity([each[bit] for bit in bits])
    return model


def decode(model: credo.FactorGraph, odds: Any, sweeps: int) -> Any:
    """Pass messages for all frames, given the log odds of zero against one of their bits.

    A frame is done when its likeliest bits satisfy all checks.
    """
    return credo.infer_many(
        model,
        None,
        method="loopy",
        log_potentials=np.stack([np.zeros_like(odds), -odds], axis=2),
        sweeps=sweeps,
        tolerance=0.0,
        until="satisfied",
        dtype="float32",
        log_evidence=False,
        threads=1,
    )


def ours(model: credo.FactorGraph, odds: Any, sweeps: int) -> Row:
    """Decode with credo and count what is left of the errors."""
    start = time.perf_counter()
    posts = decode(model, odds, sweeps)
    wrong = sum((posts.probabilities(name)[:, 1] > 0.5).astype(int) for name in model.names)
    took = time.perf_counter() - start
    return {"seconds": took, "sweeps": int(posts.sweeps.sum()), "wrong": wrong.tolist()}


def theirs(code: Code, odds: Any, sweeps: int) -> Row | None:
    """Decode with the package, if it is there."""
    python = python_of("ldpc")
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frames.npz"
        np.savez(path, checks=code.checks, bits=code.bits, odds=odds)
        job = {"who": "ldpc", "file": str(path), "sweeps": sweeps, "schedule": "parallel"}
        done = subprocess.run(
            [python, str(PEERS), json.dumps(job)],
            check=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
    told: Row = json.loads(done.stdout.splitlines()[-1])
    return told


def curve(scale: Scale, into: Path) -> None:
    """Count wrong bits and frames over both channels, from noisy to clear."""
    table = []
    for code in codes(scale):
        model = graph(code)
        for channel, send, levels in (
            ("symmetric", symmetric, scale.flips),
            ("Gaussian", gaussian, scale.decibels),
        ):
            for seed, level in enumerate(levels):
                odds = send((scale.frames, code.length), level, seed)
                place: Row = {"model": code.name, "channel": channel, "level": level}
                place["sent wrong"] = significant(float((odds < 0).mean()))
                mine, other = ours(model, odds, scale.sweeps), theirs(code, odds, scale.sweeps)
                table.append(place | _errors("credo", mine, code) | _errors("ldpc", other, code))
                print(table[-1], flush=True)
    write("ldpc_curve", table, into)
    _draw(table, BUILD if into.name == "results" else into)
    clear = [row for row in table if row["channel"] == "symmetric" and row["level"] <= 0.05]
    verdict("symmetric channel, 5 % flips", clear, "credo frames", "<= 0.01")


def _errors(who: str, counted: Row | None, code: Code) -> Row:
    """Tell the shares of wrong bits and of frames with any."""
    if counted is None:
        return dict.fromkeys((f"{who} bits", f"{who} frames"), blank(who))
    wrong = np.array(counted["wrong"])
    return {
        f"{who} bits": significant(float(wrong.mean()) / code.length),
        f"{who} frames": significant(float((wrong > 0).mean())),
    }


def _draw(table: Sequence[Row], folder: Path) -> None:
    """Draw wrong bits against noise, one panel per channel."""
    import matplotlib as mpl  # noqa: PLC0415 - only when drawing

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    labels = {"symmetric": "share of bits flipped", "Gaussian": "signal to noise per bit, dB"}
    for axis, (channel, label) in zip(axes, labels.items(), strict=True):
        for code in dict.fromkeys(row["model"] for row in table):
            rows = [r for r in table if r["channel"] == channel and r["model"] == code]
            for who, style in (("credo", "o-"), ("ldpc", "x--")):
                shares = [(r["level"], r[f"{who} bits"]) for r in rows]
                points = [(x, y) for x, y in shares if not isinstance(y, str) and y]
                if points:
                    axis.semilogy(*zip(*points, strict=True), style, label=f"{code}, {who}")
        rows = [r for r in table if r["channel"] == channel]
        sent = sorted({(r["level"], r["sent wrong"]) for r in rows})
        axis.semilogy(*zip(*sent, strict=True), "k:", label="not coded")
        axis.set(xlabel=label, title=f"{channel} channel")
    axes[0].set_ylabel("share of bits wrong")
    axes[1].legend(fontsize=7)
    folder.mkdir(exist_ok=True)
    figure.savefig(folder / "ldpc.png", dpi=150)
    plt.close(figure)


def speed(scale: Scale, into: Path) -> None:
    """Time sweeps at a noise that nobody can decode, so that both make all of them."""
    table = []
    for code in codes(scale):
        model = graph(code)
        odds = symmetric((scale.timed, code.length), HOPELESS, 0)
        ours(model, odds[:2], scale.sweeps)
        pairs = [
            (ours(model, odds, scale.sweeps), theirs(code, odds, scale.sweeps)) for _ in range(3)
        ]
        mine = _rate(code, [one for one, _ in pairs])
        row: Row = {"model": code.name, "frames": scale.timed, "credo Mbit sweeps/s": mine / 1e6}
        others = [other for _, other in pairs if other is not None]
        rate = _rate(code, others) if others else None
        row["ldpc Mbit sweeps/s"] = rate / 1e6 if rate else blank("ldpc")
        row["credo / ldpc"] = mine / rate if rate else blank("ldpc")
        table.append({k: significant(v) if isinstance(v, float) else v for k, v in row.items()})
    write("ldpc_speed", table, into)
    verdict("ldpc speed", table, "credo / ldpc", ">= 1")


def _rate(code: Code, turns: Sequence[Row]) -> float:
    """Tell how many bits are swept over in a second, at best."""
    return max(code.length * turn["sweeps"] / turn["seconds"] for turn in turns)


PARTS: dict[str, Callable[[Scale, Path], Any]] = {"curve": curve, "speed": speed}

if __name__ == "__main__":
    main()
