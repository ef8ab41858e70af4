"""Which pages of documentation came with the program, and what does one say?"""

from __future__ import annotations

import os
import pydoc
import re
from pathlib import Path

from backfill_assets.cli.terminal import echo, grid, out
from backfill_assets.core.errors import SettingsError, UsageError
from backfill_assets.core.wording import did_you_mean

_PACKAGE = Path(__file__).resolve().parent.parent
_FOLDERS = (_PACKAGE / "_docs", _PACKAGE.parent / "docs")
"""In a wheel, and in a checkout."""
_NOT_LISTED = {"decisions", "index"}
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


def doc_pages() -> dict[str, Path]:
    """The pages' files by name: `settings`, `how-to/restate`. Raises SettingsError where none came along."""
    for folder in _FOLDERS:
        if (folder / "settings.md").is_file():
            names = {file.relative_to(folder).with_suffix("").as_posix(): file for file in folder.rglob("*.md")}
            return {name: names[name] for name in sorted(names)}
    raise SettingsError("no documentation came with the program", fix="install it again: pip install backfill-assets")


def print_docs(page: str | None) -> None:
    """Print a page, in a pager where somebody looks; without one the names of those for users. Raises UsageError."""
    pages = doc_pages()
    if page is None:
        table = grid(0)
        for name, file in pages.items():
            if {*name.split("/")} & _NOT_LISTED:
                continue
            table.add_row(name, _text(file).partition("\n")[0].removeprefix("# "))
        out().print(table)
        return
    name = page.partition("#")[0].removeprefix("docs/").removesuffix(".md")
    if name not in pages:
        fix = did_you_mean(name, pages, "backfill docs lists them all", quote="")
        raise UsageError(f"there is no page {page}", fix=fix)
    text = _text(pages[name]).rstrip()
    if not out().is_terminal:
        echo(text)
        return
    os.environ.setdefault("LESS", "FRX")  # no pager for what fits on the screen
    pydoc.pager(text)


def _text(file: Path) -> str:
    """What a page says, without the comments that its tables are generated from."""
    return _COMMENT.sub("", file.read_text(encoding="utf-8"))
