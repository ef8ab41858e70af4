"""Which evidence packets does the janitor take? Those that no release and no plan refers to, after the retention."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from backfill_assets.core.intervals import utc
from backfill_assets.evidence.orphans import PacketFolder, orphans
from backfill_assets.evidence.write import FILES, MANIFEST, RELEASE_FILES


@dataclass
class _Plan:
    id: str
    live: bool = False


@dataclass
class _Release:
    id: str
    evidence: dict[str, str] = field(default_factory=dict[str, str])


PLANS = [_Plan("aaaa0001", live=True), _Plan("aaaa0002")]
RELEASES = [_Release("r1", {"r1": "x", "aaaa0001": "y"}), _Release("r2", {"r2": "x", "aaaa0002": "y", "gone": "z"})]


def folder(name: str, files: tuple[str, ...] = (*RELEASE_FILES, MANIFEST), at: str = "2024-01-01") -> PacketFolder:
    return PacketFolder(name=name, files=files, bytes=1, written=utc(at))


def taken(*folders: PacketFolder) -> list[str]:
    found = orphans(folders, cast(Any, RELEASES), cast(Any, PLANS), before=utc("2024-02-01"))
    return [f.name for f in found]


@pytest.mark.parametrize("name", ["r1", "r2", "aaaa0001", "aaaa0002", "aaaa0002-1", "aaaa0001-2", "aaaa0001-9", "gone"])
def test_what_somebody_refers_to_stays(name: str) -> None:
    """Releases, plans of any state, what a release names, and what an open plan may be about to be released with."""
    assert taken(folder(name)) == []


@pytest.mark.parametrize("name", ["r3", "aaaa0002-2", "aaaa0003-1", "aaaa0002-x"])
def test_what_nothing_refers_to_goes(name: str) -> None:
    """Also what was not finished."""
    assert taken(folder(name)) == [name]
    assert taken(folder(name, ("packet.json",))) == [name]
    assert taken(folder(name, FILES)) == [name]


def test_what_is_new_or_is_no_packet_stays() -> None:
    """The retention counts from its newest file; a folder with anything else in it, and an empty one, are not ours."""
    assert taken(folder("r3", at="2024-02-01")) == []
    assert taken(folder("r3", (*RELEASE_FILES, "notes.txt"))) == []
    assert taken(folder("r3", ("inner/packet.json",))) == []
    assert taken(folder("r3", ())) == []
