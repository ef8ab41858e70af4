"""Where is what can be made again kept? In files that their owner alone can read, and that nobody else put there.

A file that came with a checkout is readable by others, which those that are written here never are: it counts for
nothing.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from tempfile import NamedTemporaryFile

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_private(file: Path) -> str:
    """The file's text. Raises OSError where there is none, or when it is somebody else's or open to others."""
    with file.open(encoding="utf-8") as opened:
        found = os.fstat(opened.fileno())
        if found.st_uid != os.getuid() or found.st_mode & _OTHERS:
            raise PermissionError(f"{file} is not only its owner's")
        return opened.read()


def write_private(file: Path, text: str) -> None:
    """Write the file whole (mode 0600, in a folder of mode 0700). Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.parent.chmod(0o700)
    with NamedTemporaryFile("w", dir=file.parent, suffix=".tmp", encoding="utf-8", delete=False) as written:
        written.write(text)  # a temporary file has mode 0600
    Path(written.name).replace(file)
