"""What is told from a listing of a Delta log?"""

from __future__ import annotations

from pathlib import Path

from backfill_assets.adapters.log_folder import read_log


def test_a_hint_that_is_written_again_hides_no_table(tmp_path: Path) -> None:
    """Spark deletes its hint before it renames the next one into place: whoever looks in between sees a table."""
    log = tmp_path / "_delta_log"
    log.mkdir()
    (log / f"{0:020}.json").write_text("{}")
    (log / "_last_checkpoint").symlink_to(log / "not there any more")
    assert read_log(str(tmp_path)).head == 0
