"""What is asked of an object store about many files: a listing; of few: themselves. A disk is never listed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import FileSelector, LocalFileSystem

from backfill_assets.adapters.file_sizes import NO_FILE, file_sizes, listed_sizes


class Store:
    """A file system that counts what it is asked for; `kind` is what it says that it is."""

    def __init__(self, kind: str) -> None:
        self.type_name, self.listings, self.asked = kind, 0, 0
        self._disk = LocalFileSystem()

    def get_file_info(self, wanted: Any) -> Any:
        if isinstance(wanted, FileSelector):
            self.listings += 1
        else:
            self.asked += len(wanted)
        return self._disk.get_file_info(wanted)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """150 files of a byte more each, in folders of ten."""
    for number in range(150):
        file = tmp_path / "t" / f"at={number // 10}" / f"{number}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * number)
    return tmp_path / "t"


@pytest.mark.parametrize(
    ("kind", "wanted", "among", "listings"),
    [
        ("s3", 150, 150, 1),
        ("s3", 100, 1000, 1),
        ("s3", 99, 99, 0),
        ("s3", 100, 1001, 0),  # most of what a listing holds would be of no interest
        ("local", 150, 150, 0),
    ],
)
def test_what_is_asked(folder: Path, kind: str, wanted: int, among: int, listings: int) -> None:
    """The sizes are the same whichever way, and what is not there is told."""
    store = Store(kind)
    files = sorted(folder.rglob("*.parquet"))[:wanted]
    gone, beside = folder / "at=0" / "gone.parquet", folder.parent / "beside.parquet"
    beside.write_bytes(b"elsewhere")
    places = [str(p) for p in (*files, gone, beside)]
    listed = listed_sizes(store, str(folder), wanted, among)  # type: ignore[arg-type]
    found = file_sizes(store, places, listed)  # type: ignore[arg-type]
    assert found == [*(p.stat().st_size for p in files), NO_FILE, 9]
    assert store.listings == listings
    assert store.asked == (2 if listings else len(places)), "what a listing lacks is asked for"


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    """Every file of it is."""
    store = Store("s3")
    assert listed_sizes(store, str(tmp_path / "none"), 200, 200) == {}  # type: ignore[arg-type]
    assert file_sizes(store, [str(tmp_path / "none" / "1")], {}) == [NO_FILE]  # type: ignore[arg-type]
