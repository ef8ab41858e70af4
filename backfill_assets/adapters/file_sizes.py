"""How large are the files of a table? In an object store the folder of many is listed, a thousand a request: asked for
one by one, each would be a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
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
    workers, step = (8, 500) if system.type_name == "local" else (32, 1)  # Arrow asks for one after the other
    parts = [left[at : at + step] for at in range(0, len(left), step)]
    with ThreadPoolExecutor(workers) as pool:
        asked = [size for found in pool.map(partial(_asked, system), parts) for size in found]
    sizes = dict(zip(left, asked, strict=True))
    return [listed[place] if place in listed else sizes[place] for place in places]


def _asked(system: FileSystem, places: Sequence[str]) -> list[int]:
    from pyarrow.fs import FileType

    infos = system.get_file_info(list(places))
    return [info.size if info.type == FileType.File else NO_FILE for info in infos]
