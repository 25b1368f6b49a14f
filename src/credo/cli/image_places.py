"""The files that restoring a picture reads and writes, or the folders of many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from credo.exceptions import InputError

#: Options whose pictures are extra: how sure, what was rejected, how it went.
_EXTRAS = ("rejected", "posterior", "strip")


@dataclass(frozen=True)
class Places:
    """The files of one restoration, or the folders of many."""

    noisy: Path
    clean: Path
    rejected: Path | None = None
    posterior: Path | None = None
    strip: Path | None = None
    compare: Path | None = None

    def written(self) -> Iterator[tuple[str, Path]]:
        """Give what is written, by the names of the options."""
        yield "CLEAN", self.clean
        for name in _EXTRAS:
            path = getattr(self, name)
            if path is not None:
                yield f"--{name}", path

    def read(self) -> dict[str, Path]:
        """Give what is read, by its role."""
        compare = {} if self.compare is None else {"the picture to compare with": self.compare}
        return {"the noisy image": self.noisy, **compare}

    def of(self, name: str) -> Places:
        """Give the files of one picture, where these are folders; what is extra becomes PNG."""
        extra = name if name.lower().endswith(".png") else f"{name}.png"
        extras = {role: getattr(self, role) and getattr(self, role) / extra for role in _EXTRAS}
        compare = self.compare and self.compare / name
        return Places(self.noisy / name, self.clean / name, **extras, compare=compare)

    def check(self) -> None:
        """Refuse names that cannot be written, before anything is computed."""
        from credo.cli.destinations import refuse_overwriting
        from credo.images.files import image_format

        for option, path in self.written():
            if image_format(path) == "JPEG" and option != "CLEAN":
                raise InputError(f"{option} {path}: JPEG would blur it. End its name in .png.")
            refuse_overwriting(path, {**self.read()})
        self.check_distinct()

    def check_distinct(self) -> None:
        """Refuse a place that is named twice."""
        seen: dict[Path, str] = {self.noisy.resolve(): "NOISY"}
        for option, path in self.written():
            other = seen.setdefault(path.resolve(), option)
            if other != option:
                raise InputError(f"{option} and {other} are both {path}. Choose another name.")
