"""Up to when does a source say that it is complete? By files in its folders, and by rows of later times."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from deltalake import write_deltalake

from backfill_assets.adapters.source_days import source_days
from backfill_assets.adapters.source_ready import NOTHING_READY, ready_until
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import NOTHING, Interval, Ranges, utc
from backfill_assets.core.model import Source, SourceReady

BY_FILES, BY_ROWS = SourceReady(file="_SUCCESS"), SourceReady()


def in_folders(root: Path, column: str = "ds") -> Source:
    return Source(name="raw", format="parquet", path=str(root), time_column=column, file=root / "sources.yml", line=3)


def folder(root: Path, name: str, *, complete: bool) -> None:
    (root / name).mkdir(parents=True)
    (root / name / "part.parquet").write_text("rows")
    if complete:
        (root / name / "_SUCCESS").touch()


def said(*ends: str) -> Ranges:
    return Ranges((Interval.of(*ends),))


def test_the_first_day_without_the_file_holds_up_the_rest(tmp_path: Path) -> None:
    """Days of several folders need it in each; one without a folder lacks it."""
    for day, complete in {"01": True, "02": True, "03": True, "04": True, "05": False, "06": True}.items():
        folder(tmp_path, f"country=de/DS=2024-01-{day}", complete=complete)
    assert ready_until(in_folders(tmp_path), BY_FILES, None) == utc("2024-01-05")
    (tmp_path / "country=de/DS=2024-01-05/_SUCCESS").touch()
    assert ready_until(in_folders(tmp_path), BY_FILES, None) == utc("2024-01-07")
    folder(tmp_path, "country=us/DS=2024-01-02", complete=False)
    assert ready_until(in_folders(tmp_path), BY_FILES, None) == utc("2024-01-02")


def test_a_day_without_a_folder(tmp_path: Path) -> None:
    """A later day that came before it vouches for nothing; unless the source has days without folders."""
    for day in ("01", "02", "05", "07"):
        folder(tmp_path, f"ds=2024-01-{day}", complete=True)
    own_days = replace(BY_FILES, every_day=False)
    assert ready_until(in_folders(tmp_path), BY_FILES, None) == utc("2024-01-03")
    assert ready_until(in_folders(tmp_path), own_days, None) == utc("2024-01-08")
    for day in ("03", "04"):
        folder(tmp_path, f"ds=2024-01-{day}", complete=True)
    assert ready_until(in_folders(tmp_path), BY_FILES, None) == utc("2024-01-06")
    folder(tmp_path, "ds=2024-01-06", complete=False)
    assert ready_until(in_folders(tmp_path), own_days, None) == utc("2024-01-06")


def test_what_is_still_written_is_no_folder_of_the_source(tmp_path: Path) -> None:
    folder(tmp_path, "ds=2024-01-01", complete=True)
    folder(tmp_path, "_temporary/0/ds=2024-01-01", complete=False)
    folder(tmp_path, ".staging/ds=2023-12-31", complete=False)
    (tmp_path / "ds=2024-01-02").mkdir()
    (tmp_path / "ds=2024-01-02" / "_SUCCESS").mkdir()
    assert ready_until(in_folders(tmp_path), BY_FILES, None) == utc("2024-01-02"), "a folder is no file"


def test_folders_of_hours(tmp_path: Path) -> None:
    folder(tmp_path, "ds=2024-01-01T05:00", complete=True)
    with pytest.raises(PlanError, match="the folder ds=2024-01-01T05:00 is of no day"):
        ready_until(in_folders(tmp_path), BY_FILES, None)


@pytest.mark.parametrize("name", ["ds=soon", "ds=__HIVE_DEFAULT_PARTITION__"])
def test_rows_of_no_day_hold_nothing_up(tmp_path: Path, name: str) -> None:
    folder(tmp_path, name, complete=False)
    folder(tmp_path, "ds=2024-01-01", complete=True)
    assert ready_until(in_folders(tmp_path), BY_FILES, None) == utc("2024-01-02")


def test_no_folders(tmp_path: Path) -> None:
    """Files without folders, or with folders of another column: it is said, not guessed."""
    folder(tmp_path, "day=2024-01-01", complete=True)
    with pytest.raises(PlanError, match="it has no folders ds=…") as told:
        ready_until(in_folders(tmp_path), BY_FILES, None)
    assert "sources.yml:3" in told.value.fix


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (said("2024-01-01", "2024-01-05T13:00:00.001"), "2024-01-05T13:00"),
        (said("2024-01-01", "2024-01-05T00:00:00.001"), "2024-01-05"),  # a row at midnight: the day before is over
        (said("2024-01-01", "2024-01-06"), "2024-01-05"),  # days alone, or a row of the last millisecond
        (NOTHING, NOTHING_READY.isoformat()),
    ],
)
def test_rows_of_a_later_time(tmp_path: Path, days: Ranges, expected: str) -> None:
    assert ready_until(in_folders(tmp_path), BY_ROWS, days) == utc(expected)


def test_a_delta_table_at_its_commit(tmp_path: Path) -> None:
    """What counts is the commit that the plan froze, whatever came since."""
    for instant in ("2024-01-03T23:00", "2024-01-04T00:30"):
        frame = pd.DataFrame({"at": pd.to_datetime([instant], utc=True), "n": [1]})
        write_deltalake(tmp_path / "t", frame, mode="append")
    source = Source(name="raw", path=str(tmp_path / "t"), time_column="at", file=tmp_path)
    found = [ready_until(source, BY_ROWS, source_days(source, {"commit": commit})) for commit in (0, 1)]
    assert found == [utc("2024-01-03T23:00"), utc("2024-01-04T00:30")]


def test_rows_that_nobody_can_date(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="nobody can tell how far raw is ready"):
        ready_until(in_folders(tmp_path), BY_ROWS, None)
