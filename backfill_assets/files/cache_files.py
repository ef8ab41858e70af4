"""Where is what can be made again kept? In files that their owner alone can read, and that nobody else put there.

A file that came with a checkout is readable by others, which those that are written here never are: it counts for
nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO, cast

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_private(file: Path) -> str:
    """The file's text. Raises OSError where there is none, or when it is somebody else's or open to others."""
    with open_private(file) as opened:
        return opened.read().decode()


def open_private(file: Path) -> BinaryIO:
    """The file, to read from, or to map: its content stays, another one takes its place. Raises OSError as above."""
    opened = file.open("rb")
    found = os.fstat(opened.fileno())
    if found.st_uid != os.getuid() or found.st_mode & _OTHERS:
        opened.close()
        raise PermissionError(f"{file} is not only its owner's")
    return opened


def write_private(file: Path, text: str) -> None:
    """Write the file whole (mode 0600, in a folder of mode 0700). Raises OSError."""
    with replacing_private(file) as written:
        written.write(text.encode())


@contextmanager
def replacing_private(file: Path) -> Generator[BinaryIO]:
    """A file to write to, which takes the other one's place at the end, whole. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.parent.chmod(0o700)
    written = NamedTemporaryFile(dir=file.parent, suffix=".tmp", delete=False)  # noqa: SIM115  (closed below)
    try:
        with written:
            yield cast(BinaryIO, written)  # a temporary file has mode 0600
        Path(written.name).replace(file)
    except BaseException:
        Path(written.name).unlink(missing_ok=True)
        raise
