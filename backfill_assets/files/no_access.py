"""Which folder or file may this account not use, whose is it, and what gives the account its rights?"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from contextlib import suppress
from pathlib import Path

from backfill_assets.core.errors import StateError

SHARED = (
    "give all accounts that use the warehouse one group, and the group all rights: chgrp -R GROUP WAREHOUSE; "
    "chmod -R g+rwX WAREHOUSE; find WAREHOUSE -type d -exec chmod g+s {} +; umask 0007 for each account. "
    "`backfill doctor` looks for what is missing; `backfill docs warehouse` says more"
)
"""What a warehouse in a folder needs that several accounts use."""

READ_ONLY = "is on a file system that is read-only (mounted so, or since an error of its disk)"
WRITABLE = "mount it so that it can be written (`mount -o remount,rw`), or set `warehouse:` to another place"


class NoAccessError(StateError):
    """This account may not use a folder or a file. That says nothing of what is in it."""


def no_access(path: str | os.PathLike[str], fix: str = SHARED) -> NoAccessError:
    """The refusal: which account, and what of the path it may not use; or that nobody can write there."""
    closed = _closed(Path(path))
    if is_read_only(closed):
        return NoAccessError(f"{path} cannot be written", why=f"{closed} {READ_ONLY}", fix=WRITABLE)
    return NoAccessError(
        f"the account {_user(os.geteuid())} may not use {path}", why=f"{closed} {rights_of(closed)}", fix=fix
    )


def is_read_only(path: str | os.PathLike[str]) -> bool:
    """Whether nobody can write there, whatever the rights: the file system does not take it."""
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def _closed(path: Path) -> Path:
    """The first folder on the way to a path that this account may not enter; where there is none, the path itself, or
    the folder in which it would be made."""
    for each in reversed([path, *path.parents]):
        with suppress(OSError):
            enter = os.X_OK if stat.S_ISDIR(each.stat().st_mode) else 0
            if not os.access(each, enter | (os.R_OK if each == path else 0)):
                return each
    return next((each for each in (path, *path.parents) if each.exists()), path)


def rights_of(path: Path) -> str:
    """Whose it is, and who may do what with it."""
    try:
        found = path.stat()
    except OSError:
        return "cannot be looked at"
    return f"is of {_user(found.st_uid)}, group {_group(found.st_gid)}, with the rights {stat.filemode(found.st_mode)}"


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"uid {number}"


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return f"gid {number}"
