"""What is kept of an error that nobody expected? A file with what its makers need to find it, and no secrets."""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("backfill-assets", "dagster", "pyspark", "delta-spark", "deltalake", "sqlglot", "sqlframe", "pydantic")
_SECRET = r"[\w.-]*(?:secret|token|passw(?:or)?d|pwd|passphrase|credential|(?:api|access|account)[_.-]?key|sas)[\w.-]*"
_ASSIGNED = re.compile(rf"(?i)({_SECRET}[\"']?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s,;&)}}\]]+)")
_OPTION = re.compile(rf"(?i)--{_SECRET}")
_USER = re.compile(r"(\w+://)[^/\s:@]+:[^/\s@]+@")


def redacted(text: str) -> str:
    """The text without the values of what is named like a secret, and without passwords in URLs.

    >>> redacted("fs.s3a.secret.key=abc jdbc://me:pw@host/db")
    'fs.s3a.secret.key=*** jdbc://***@host/db'
    """
    return _USER.sub(r"\1***@", _ASSIGNED.sub(r"\1***", text))


def redacted_command(arguments: Sequence[str]) -> list[str]:
    """A command line without the values of its secrets.

    >>> redacted_command(["sql", "--api-token", "abc", "password=x"])
    ['sql', '--api-token', '***', 'password=***']
    """
    found: list[str] = []
    for argument in arguments:
        hide = bool(found) and _OPTION.fullmatch(found[-1]) is not None
        found.append("***" if hide else redacted(argument))
    return found


def write_report(error: BaseException, arguments: Sequence[str], folder: Path | None = None) -> Path | None:
    """Write the report into `folder`, or else among temporary files, readable for this user only; None if nobody can.

    It has the versions, the command line and the traceback, redacted; no environment, no values of variables.
    """
    text = "\n".join([*_facts(arguments), "", redacted("".join(traceback.format_exception(error)))])
    name = f"backfill-crash-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.txt"
    for place in (folder, Path(tempfile.gettempdir())):
        if place is None:
            continue
        with suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            file = place / name
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
            with os.fdopen(os.open(file, flags, 0o600), "w", encoding="utf-8", errors="backslashreplace") as out:
                out.write(text)
            return file
    return None


def _facts(arguments: Sequence[str]) -> list[str]:
    found = [f"time: {datetime.now(UTC).isoformat(timespec='seconds')}"]
    found.append(f"python: {sys.version.split()[0]} on {platform.platform()}")
    for library in LIBRARIES:
        with suppress(PackageNotFoundError):
            found.append(f"{library}: {version(library)}")
    return [*found, f"command: {' '.join(redacted_command(arguments))}"]
