"""Where are a project's sources? As its file says, without looking at any of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeGuard

from backfill_assets.project.locations import resolve_location
from backfill_assets.project.settings import state_root


def source_places(root: Path) -> tuple[str, ...]:
    """The paths and URIs of the sources; none of an entry, or a file, that is wrong."""
    from backfill_assets.project.sources import SOURCES_FILE, read_list

    paths = [entry.get("path") for entry in read_list(root / SOURCES_FILE, "sources", []).items if _is_entry(entry)]
    return tuple(resolve_location(path, state_root(root)) for path in paths if isinstance(path, str) and path)


def _is_entry(entry: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(entry, Mapping)
