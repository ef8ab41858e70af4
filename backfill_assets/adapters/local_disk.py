"""How does Spark write files to a local disk? As Hadoop does, without a process for each of them.

Hadoop sets the permissions of each file and folder that it makes, and of its checksum. It starts `chmod` for that where
it does not have its native library, which PySpark does not bring, and `readlink` for each file that it renames: some
processes a file, sixteen a commit, which was half of what writing a table of a file a day took. Two small
classes of Java, `local_files/`, ask the system instead; folders with a set-group-ID bit, which a call would lose,
are left to Hadoop (decision 0062).
"""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from backfill_assets.adapters.durable import local
from backfill_assets.adapters.own_jar import OwnJar

LOCAL_FILES_JAR = OwnJar(
    Path(__file__).with_name("local_files") / "local-files.jar",
    "b2c6e1bd9df32b5bb4a9837b0ccd021c86a41ad31550ff669ed1d1f5a2d626b0",
)
_CLASSES = {
    "spark.hadoop.fs.file.impl": "backfill_assets.LocalFiles",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "backfill_assets.LocalFilesContext",
}


def local_files_settings(conf: Mapping[str, str]) -> dict[str, str]:
    """What a session on one machine is told so that it writes so; nothing where `conf` names classes of its own, or
    executors that are processes beside it, which do not have the jar.

    >>> local_files_settings({"spark.master": "local-cluster[2,1,1024]"})
    {}
    >>> local_files_settings({"spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem"})
    {}
    """
    apart = conf.get("spark.master", "").startswith("local-cluster")
    return {} if apart or conf.keys() & _CLASSES.keys() else dict(_CLASSES)


_UMASK = "spark.hadoop.fs.permissions.umask-mode"


def umask_settings(conf: Mapping[str, str], warehouse: str) -> dict[str, str]:
    """That a session leaves to the group what it makes in a warehouse that is the group's, in a folder: Hadoop would
    keep it from the group whatever the account's umask. Others get no more than by that. Nothing where the warehouse is
    no group's, or `conf` says it."""
    folder = local(warehouse)
    if folder is None or _UMASK in conf:
        return {}
    with suppress(OSError):  # nothing is there yet
        if Path(folder).stat().st_mode & stat.S_IWGRP:
            return {_UMASK: f"{(_umask() & stat.S_IRWXO) | stat.S_IWOTH:03o}"}
    return {}


def _umask() -> int:
    """That of this process; to ask the system for it would set it for a moment, for all threads."""
    with suppress(OSError):  # not on Linux
        if said := re.search(r"^Umask:\s*([0-7]+)", Path("/proc/self/status").read_text(), re.MULTILINE):
            return int(said[1], 8)
    return 0o022
