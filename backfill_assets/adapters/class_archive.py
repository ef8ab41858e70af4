"""How does a JVM start without loading, parsing and verifying 25,000 classes anew? It maps an archive of them.

HotSpot calls it class data sharing. The second session of a kind (this Java, these jars) records what it loads, and its
JVM writes the archive when the command is over; the sessions after it map that. Recording costs half of what a session
that does little computes: the first one does not, so that a machine that has no second one pays nothing. It is a cache:
a JVM takes no archive of another Java, of other jars or of a wrong checksum, and starts without one, as it does where
none can be written.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from backfill_assets.core.digest import digest

_LEAST_FREE_BYTES = 2 * 1024**3
"""Room on disk below which none is written; one has some 200 MB."""
_UNUSED_SECONDS = 30 * 86_400.0
"""How long an archive stays that no session took."""
_OURS = ("SharedArchiveFile", "ArchiveClassesAtExit", "AutoCreateSharedArchive", "-Xshare")
"""Options of whoever has a way of their own."""
_SILENT = " ".join(f"-Xlog:cds*=off:{where}" for where in ("stdout", "stderr"))
_recording: list[TextIO] = []
"""Locks that this process holds as long as it lives."""


def archives() -> Path:
    """The folder of this account's archives."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "backfill-assets" / "classes"


def before_folders(jars: str) -> str:
    """A class path of jars, and Spark's own after them. Spark would put the folder of its configuration between them,
    and an archive holds no class that comes after a folder."""
    import pyspark

    return os.pathsep.join(filter(None, (jars, str(Path(pyspark.__file__).parent / "jars" / "*"))))


def sharing(java: str, path: str, options: str) -> str:
    """What a JVM is told so that it maps an archive, or records one; "" where it does neither.

    `java`: what that Java says of itself; `path`: the class path, from its beginning; `options`: those of the JVM.
    """
    if any(word in options for word in _OURS):
        return ""
    with suppress(OSError, RuntimeError):  # the latter where an account has no home
        folder = archives()
        if any(mark in str(folder) for mark in " ,'\"%\\"):
            return ""
        kind = digest(java, _seen(path))
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.stat()
        if found.st_uid != os.getuid() or found.st_mode & 0o022:
            return ""
        if (archive := _kept(folder, kind)) is not None:
            return f"-XX:SharedArchiveFile={archive} -XX:+UnlockDiagnosticVMOptions -XX:+VerifySharedSpaces {_SILENT}"
        lock = folder / f"{kind}.lock"
        if not lock.exists():
            lock.touch()
        elif shutil.disk_usage(folder).free > _LEAST_FREE_BYTES and _alone(lock):
            _tidy(folder)
            return f"-XX:ArchiveClassesAtExit={folder / f'{kind}.{os.getpid()}.part'} {_SILENT}"
    return ""


def _seen(path: str) -> list[object]:
    """The jars of a class path as a JVM takes them: a name with `*` is a folder, in the order in which it is listed."""
    jars: list[Path] = []
    for one in map(Path, path.split(os.pathsep)):
        jars += one.parent.iterdir() if one.name == "*" else [one]
    return [(str(jar), jar.stat().st_size, jar.stat().st_mtime_ns) for jar in jars]


def _kept(folder: Path, kind: str) -> Path | None:
    """The archive of a kind, whoever recorded it."""
    archive = folder / f"{kind}.jsa"
    if not archive.exists():
        for part in folder.glob(f"{kind}.*.part"):
            with part.open("rb") as written:
                if any(written.read(4)):  # the JVM writes what comes first last
                    part.replace(archive)
                    break
    if not archive.exists():
        return None
    os.utime(archive)
    return archive


def _alone(lock: Path) -> bool:
    """Whether nobody else records this kind; if so, this process does until it ends."""
    held = lock.open("w")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        held.close()
        return False
    _recording.append(held)
    return True


def _tidy(folder: Path) -> None:
    """Remove archives that nobody took for a month, and parts whose JVM was killed while it wrote them."""
    for file in (*folder.glob("*.jsa"), *folder.glob("*.part")):
        unused = _UNUSED_SECONDS if file.suffix == ".jsa" else 86_400.0
        if file.stat().st_mtime < time.time() - unused:
            file.unlink(missing_ok=True)
