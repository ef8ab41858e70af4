"""How large are the files of a table? In an object store the folder of many is listed, a thousand a request: asked for
one by one, each would be a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

MANY = 100
"""Files: of fewer each is asked for."""
_PART = 10
"""A listing holds whatever is in the folder: it is worth it for at least this part of the table's files."""
NO_FILE = -1


def listed_sizes(system: FileSystem, root: str, wanted: int, among: int) -> Mapping[str, int]:
    """Path → bytes of the files in a table's folder, where looking at `wanted` of the table's `among` files is worth a
    listing; else nothing. What is not in it may be there nevertheless: ask for it."""
    from pyarrow.fs import FileSelector, FileType

    if system.type_name == "local" or wanted < MANY or wanted * _PART < among:
        return {}
    found = system.get_file_info(FileSelector(root, recursive=True, allow_not_found=True))
    return {info.path: info.size for info in found if info.type == FileType.File}


def file_sizes(system: FileSystem, places: Sequence[str], listed: Mapping[str, int]) -> list[int]:
    """The bytes of each file, NO_FILE where there is none: as `listed`, or else asked for."""
    left = [place for place in places if place not in listed]
    if system.type_name == "local" or len(left) < 2:
        asked = _asked(system, left)
    else:  # Arrow asks for one after the other
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            asked = [size for found in pool.map(lambda place: _asked(system, [place]), left) for size in found]
    sizes = dict(zip(left, asked, strict=True))
    return [listed[place] if place in listed else sizes[place] for place in places]


_AT_ONCE = 32


def _asked(system: FileSystem, places: Sequence[str]) -> list[int]:
    from pyarrow.fs import FileType

    infos = system.get_file_info(list(places)) if places else []
    return [info.size if info.type == FileType.File else NO_FILE for info in infos]
