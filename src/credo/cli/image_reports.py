"""What was found about restored pictures, for a person who reads a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_COLUMNS = ("file", "size", "flip", "coupling", "U(x) noisy", "restored")


def report(record: dict[str, Any]) -> str:
    """Tell about one picture, line by line."""
    lines = [
        ("size", f"{record['width']} × {record['height']}"),
        (
            "flip probability",
            f"{_digits(record['flip_probability'])} {_how(record, 'flip_probability')}",
        ),
        ("coupling", f"{_digits(record['coupling'])} {_how(record, 'coupling')}"),
    ]
    if record["sigma"] is not None:
        lines.append(("sigma", _digits(record["sigma"])))
    swept = "" if record["sweeps"] is None else f" after {record['sweeps']} sweeps"
    lines += [
        ("status", f"{_words(record['status'])}{swept}"),
        ("learning", _words(record["learning_status"])),
        ("U(x)", _change(record["energy"], "{:.1f}")),
    ]
    if record["rejected"] is not None:
        lines.append(("rejected", f"{record['rejected']:.2%} of the pixels"))
    if record["error"] is not None:
        lines += _error_lines(record["error"])
    lines.append(("seconds", f"{record['seconds']:.3g}"))
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in lines)


def table(records: Sequence[dict[str, Any]]) -> str:
    """Tell about many pictures, one per row."""
    from pathlib import Path

    from credo.cli.text_tables import columns_table

    rejects = any(record["rejected"] is not None for record in records)
    compares = any(record["error"] is not None for record in records)
    header = [*_COLUMNS, *["rejected"] * rejects, *["error noisy", "restored"] * compares]
    rows = []
    for record in records:
        energy, error = record["energy"], record["error"]
        row = [
            Path(record["noisy"]).name,
            f"{record['width']}×{record['height']}",
            _digits(record["flip_probability"]),
            _digits(record["coupling"]),
            f"{energy['noisy']:.1f}",
            f"{energy['restored']:.1f}",
        ]
        row += [f"{record['rejected']:.2%}"] if rejects else []
        row += [_error(error, "noisy"), _error(error, "restored")] if compares else []
        rows.append([*row, f"{record['seconds']:.3g}"])
    return columns_table([*header, "seconds"], rows)


def _error_lines(error: dict[str, Any]) -> list[tuple[str, str]]:
    """Tell how far pictures are from the true one."""
    if error["measure"] != "share of pixels":
        return [("error", f"{_change(error, '{:.2f}')} levels (root mean square)")]
    lines = [("wrong", f"{_change(error, '{:.2%}')} of the pixels")]
    if error.get("kept") is not None:
        lines.append(("", f"{error['kept']:.2%} of those not rejected"))
    return lines


def _error(error: dict[str, Any], which: str) -> str:
    """Write an error in its own measure."""
    share = error["measure"] == "share of pixels"
    return f"{error[which]:.2%}" if share else f"{error[which]:.2f}"


def _change(pair: dict[str, Any], form: str) -> str:
    """Write what was before and what is now."""
    return f"{form.format(pair['noisy'])} -> {form.format(pair['restored'])}"


def _how(record: dict[str, Any], name: str) -> str:
    """Tell whether a parameter was given or estimated."""
    return f"({record[f'{name}_is']})"


def _words(status: Any) -> str:
    """Write a status, or one per channel if they differ."""
    return ", ".join(dict.fromkeys([status] if isinstance(status, str) else status))


def _digits(value: Any) -> str:
    """Write a number briefly, or one per channel."""
    if isinstance(value, list):
        return ", ".join(_digits(each) for each in value)
    return "none" if value is None else f"{value:.4g}"
