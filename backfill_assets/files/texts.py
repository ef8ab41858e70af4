"""How are texts read that somebody wrote by hand? All of a project are read here; what is wrong is told at its line."""

from __future__ import annotations

from pathlib import Path

from backfill_assets.core.errors import Problem
from backfill_assets.files.untrusted import is_untrusted

LARGEST = 4_000_000
"""Bytes of a file that somebody wrote by hand, at most."""


def read_text(file: Path, problems: list[Problem], *, missing: bool = False, largest: int = LARGEST) -> str | None:
    """The file's text without a byte order mark; None, and a problem, when it cannot be read.

    `missing` says that a file that does not exist is no problem (None, then). `largest`: bytes, at most.
    """

    def refuse(what: str, why: str, fix: str, line: int = 0) -> None:
        problems.append(Problem(file=file, line=line, what=what, why=why, fix=fix))

    try:
        if missing and not file.exists() and not file.is_symlink():
            return None
        if is_untrusted() and file.exists() and file.resolve() != file.absolute():
            why = "the files may be a stranger's, and a message about this one would tell of another file"
            return refuse("this leads to another place", why, "put the file itself in its place")
        if file.is_dir():
            return refuse("this is a folder, not a file", "", "rename or remove the folder, and write a file")
        if file.exists() and not file.is_file():
            return refuse("this is no regular file", "", "replace it by a file")
        if (size := file.stat().st_size) > largest:
            return refuse("the file is too large", f"it has {size:,} bytes", "keep data elsewhere: this is read whole")
        content = file.read_bytes()
    except OSError as error:
        fix = "make it readable for this user"
        if file.is_symlink():
            fix = "make it readable, or remove it"
        elif isinstance(error, FileNotFoundError):
            fix = "name a file that is there"
        return refuse("the file cannot be read", error.strerror or str(error), fix)
    utf8 = "save it as UTF-8"
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return refuse("the file is not UTF-8", "it begins like UTF-16", utf8, 1)
    if (at := content.find(b"\0")) >= 0:
        wide = content.count(b"\0") > len(content) // 4
        why = "every other byte is zero, as in UTF-16" if wide else f"byte {at + 1} is zero"
        return refuse("the file is not text", why, utf8 if wide else "remove the zero byte", _line(content, at))
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        why = f"byte {content[error.start]:#04x} is no UTF-8; the file may be Latin-1 or Windows-1252"
        return refuse("the file is not UTF-8", why, utf8, _line(content, error.start))


def _line(content: bytes, at: int) -> int:
    return content.count(b"\n", 0, at) + 1
