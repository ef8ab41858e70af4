"""Is a commit's number right while others commit?"""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, write_deltalake

from backfill_assets.adapters.table_log import history

COMMITS = 60


def test_commits_are_numbered_rightly_while_others_write(tmp_path: Path) -> None:
    """Each commit says its own number; what the log gives for it is that, also when the table grows meanwhile."""

    def write(number: int) -> None:
        said = CommitProperties(custom_metadata={"number": str(number)})
        write_deltalake(str(tmp_path), pa.table({"a": [number]}), mode="append", commit_properties=said)

    write(0)
    writer = threading.Thread(target=lambda: [write(n) for n in range(1, COMMITS)])
    writer.start()
    looks = 0
    try:
        while writer.is_alive():
            for limit in (5, None):
                found = history(str(tmp_path), limit)
                assert [int(info["number"]) for info in found] == [info["version"] for info in found]
                looks += 1
    finally:
        writer.join(60)
    assert looks >= 4
    assert [info["version"] for info in history(str(tmp_path))] == list(range(COMMITS))[::-1]
