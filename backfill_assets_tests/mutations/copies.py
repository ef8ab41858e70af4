"""How is code broken without touching it? In a copy of the checkout, one text at a time."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_COPIED = ("backfill_assets", "backfill_assets_tests", "spark-conf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """`old` is once in the file (a path from the root of the checkout), and becomes `new`."""

    file: str
    old: str
    new: str

    def applied(self, text: str) -> str:
        """The file's text with the edit. ValueError where the code has changed."""
        if (there := text.count(self.old)) != 1:
            raise ValueError(f"its text is {there} times in {self.file}: {self.old!r}")
        return text.replace(self.old, self.new)


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of the checkout in a folder of its own."""

    folder: Path

    @property
    def environment(self) -> Mapping[str, str]:
        """For processes that are to import the copy's packages, whatever else is installed."""
        return os.environ | {"PYTHONPATH": str(self.folder)}

    @contextmanager
    def edited(self, edit: Edit) -> Iterator[None]:
        """The copy with an edit, while the block runs. ValueError where the code has changed."""
        file = self.folder / edit.file
        text = file.read_text(encoding="utf-8")
        file.write_text(edit.applied(text), encoding="utf-8")
        try:
            yield
        finally:
            file.write_text(text, encoding="utf-8")


@contextmanager
def copied() -> Iterator[Copy]:
    """A copy of the checkout that goes when the block ends."""
    with tempfile.TemporaryDirectory() as folder:
        for name in _COPIED:
            shutil.copytree(ROOT / name, Path(folder) / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        yield Copy(Path(folder))
