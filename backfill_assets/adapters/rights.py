"""May this account use all of a warehouse in a folder, and will the others that share it?"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from backfill_assets.adapters.durable import local
from backfill_assets.adapters.log_folder import LOG
from backfill_assets.core.errors import SettingsError
from backfill_assets.files.no_access import SHARED, rights_of
from backfill_assets.state.salt import SALT

_SHOWN = 3
_DEPTH = 3
"""Folders of the warehouse, of a model or `_control`, of a table."""
_ALL = os.R_OK | os.W_OK | os.X_OK


def check_rights(where: str) -> str:
    """Who may use the folders of a warehouse, in a few words. Raises SettingsError for those that this account may not
    use, and for those that a shared warehouse keeps from its group: the next one to write would be refused."""
    folder = local(where)
    if folder is None or not Path(folder).is_dir():
        return "nothing is there yet"
    top, found = Path(folder), [*_folders(Path(folder), _DEPTH)]
    secret = top / "_control" / SALT.name
    closed = [each for each in found if not os.access(each, _ALL)]
    if lacking := [each for each in closed if each != secret]:
        raise _refused("this account may not use", lacking)
    if shared := bool(top.stat().st_mode & stat.S_IWGRP):
        own = [each for each in found if each not in closed and not _is_the_groups(each)]
        if own:
            raise _refused("its group shares the warehouse, and may not use", own)
    who = "its group" if shared else "this account alone writes"
    rest = f"; {secret} is closed to this account, which can approve and promote, and compare nothing" if closed else ""
    return f"{len(found)} folders of {where} can be used; {who}{rest}"


def _is_the_groups(folder: Path) -> bool:
    """Whether the group may use a folder, and what will be made in it; and may read the newest entries of a log."""
    mode = folder.stat().st_mode
    if mode & stat.S_IRWXG != stat.S_IRWXG or not (mode & stat.S_ISGID or _passes_rights_on(folder)):
        return False
    if folder.name != LOG:
        return True
    newest = sorted(each for each in folder.iterdir() if each.suffix == ".json")[-_SHOWN:]
    return all(each.stat().st_mode & stat.S_IRGRP for each in newest)


def _passes_rights_on(folder: Path) -> bool:
    """Whether a folder has a default ACL."""
    try:
        return bool(os.getxattr(folder, "system.posix_acl_default"))
    except (OSError, AttributeError):  # none; or a system without such attributes
        return False


def _refused(what: str, folders: list[Path]) -> SettingsError:
    listed = "; ".join(f"{each} {rights_of(each)}" for each in folders[:_SHOWN])
    more = f"; and {len(folders) - _SHOWN} more" if len(folders) > _SHOWN else ""
    return SettingsError(f"{what} {len(folders)} folders of the warehouse", why=f"{listed}{more}", fix=SHARED)


def _folders(folder: Path, depth: int) -> Iterator[Path]:
    """A folder, those in it so many levels down, and the logs and partitions of tables; not into what this account may
    not list."""
    yield folder
    if depth < 1 or not os.access(folder, os.R_OK | os.X_OK):
        return
    with os.scandir(folder) as entries:
        inside = sorted(Path(e.path) for e in entries if e.is_dir(follow_symlinks=False))
    for each in inside:
        if depth > 1 or each.name == LOG or "=" in each.name:
            yield from _folders(each, depth - 1 if each.name != LOG else 0)
