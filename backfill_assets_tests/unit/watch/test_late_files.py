"""Which restatement is proposed when files change behind what is built? By their times and what their paths say."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from backfill_assets.adapters import source_pins
from backfill_assets.adapters.source_pins import FilePins, placed_digest_of
from backfill_assets.core.intervals import utc
from backfill_assets.core.model import Source
from backfill_assets.state.settling import Settling
from backfill_assets.watch.late import unsettled
from backfill_assets.watch.notice import NoticeKind
from backfill_assets_tests.fakes import NOW, a_model
from backfill_assets_tests.unit.watch.watch_world import Lookout, rows


def put(file: Path, text: str = "x", *, later: bool = True) -> None:
    """Write a file an hour before the build, or (`later`) a minute after it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    at = datetime.now(UTC) + (timedelta(minutes=1) if later else timedelta(hours=-1))
    os.utime(file, (at.timestamp(), at.timestamp()))


def a_lookout(root: Path, source: Source) -> Lookout:
    """`daily` reads the files, `wide` looks a day back."""
    found = Lookout(a_model("daily", "raw"), a_model("wide", "raw", lookback=1), source=source)
    found.release()
    assert found.notices() == ()
    return found


@pytest.fixture(params=["at={}/part.csv", "{}.csv", "{}/part.csv"])
def csv(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Lookout, str]:
    """Ten files whose path says their day, in one way or another."""
    pattern = f"{tmp_path}/raw/{request.param}"
    for day in range(1, 11):
        put(Path(pattern.format(f"2024-01-{day:02}")), later=False)
    source = Source(name="raw", format="csv", path=f"{tmp_path}/raw", time_column="at", file=tmp_path)
    return a_lookout(tmp_path / "raw", source), pattern


def test_a_file_that_was_written_again(csv: tuple[Lookout, str]) -> None:
    """Its day, and what looks back on it; a new day's file is growth."""
    lookout, pattern = csv
    put(Path(pattern.format("2024-01-11")))
    assert lookout.notices() == ()
    put(Path(pattern.format("2024-01-03")), "y")
    assert lookout.late() == {"daily": "2024-01-03", "wide": "2024-01-03..2024-01-04"}
    assert "2024-01-03" in lookout.said(NoticeKind.LATE)[0].split("(")[1]


def test_files_that_went(csv: tuple[Lookout, str]) -> None:
    """Nobody can tell which days they held: said once, and no finding."""
    lookout, pattern = csv
    Path(pattern.format("2024-01-03")).unlink()
    assert lookout.late() == {}
    (said,) = lookout.said(NoticeKind.UNWATCHED)
    assert "removed" in said
    put(Path(pattern.format("2024-01-05")), "y")
    assert lookout.late()["daily"] == "2024-01-05" and len(lookout.said(NoticeKind.UNWATCHED)) == 1


def test_a_file_that_went_as_others_came(csv: tuple[Lookout, str]) -> None:
    """Newer files take no place of one that is gone, unless one of them has its name."""
    lookout, pattern = csv
    gone = Path(pattern.format("2024-01-03"))
    gone.unlink()
    for day in ("11", "12", "13", "14"):
        put(Path(pattern.format(f"2024-01-{day}")))
    (said,) = lookout.said(NoticeKind.UNWATCHED)
    assert lookout.late() == {} and "files were removed" in said
    put(gone, "y")
    assert lookout.said(NoticeKind.UNWATCHED) == [] and lookout.late()["daily"] == "2024-01-03"


def test_a_file_with_an_older_time(csv: tuple[Lookout, str]) -> None:
    """Copied with its time kept: that something changed is known, not what."""
    lookout, pattern = csv
    put(Path(pattern.format("2024-01-03")), "longer", later=False)
    assert lookout.late() == {} and "older time" in lookout.said(NoticeKind.UNWATCHED)[0]


def test_a_folder_that_was_moved(csv: tuple[Lookout, str], tmp_path: Path) -> None:
    """Where the files are is no part of what they are: a project that was moved, restored elsewhere, or checked out
    twice over one warehouse reads the same ones. So does one whose records an earlier release made."""
    lookout, _ = csv
    pin = lookout.pin()
    (tmp_path / "raw").rename(tmp_path / "elsewhere")
    moved = replace(lookout.source, path=f"{tmp_path}/elsewhere")
    assert FilePins().state(moved) == pin
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_pins, "digest_of", placed_digest_of)
        before = a_lookout(tmp_path / "elsewhere", moved)
        assert before.pin() != pin
    assert before.notices() == ()


def test_parquet_footers(tmp_path: Path) -> None:
    """A path that says nothing: the file's statistics do."""
    for day in range(1, 11):
        file = tmp_path / "raw" / f"part-{day}.parquet"
        put(file, later=False)
        rows(f"2024-01-{day:02}T05:00").to_parquet(file)
        os.utime(file, (0, 0))
    lookout = a_lookout(tmp_path / "raw", Source(
        name="raw", format="parquet", path=f"{tmp_path}/raw", time_column="at", file=tmp_path
    ))  # fmt: skip
    more = tmp_path / "raw" / "part-99.parquet"
    put(more)
    rows("2024-01-06T05:00", "2024-01-07T05:00").to_parquet(more)
    at = (datetime.now(UTC) + timedelta(minutes=1)).timestamp()
    os.utime(more, (at, at))
    assert lookout.late() == {"daily": "2024-01-06..2024-01-07", "wide": "2024-01-06..2024-01-08"}


def test_one_file_of_many_days_is_said_to_be_coarse(tmp_path: Path) -> None:
    """It was written again: all of its days are named, and that nobody knows which of them changed."""
    file = tmp_path / "raw" / "all.parquet"
    put(file, later=False)
    lookout = a_lookout(tmp_path / "raw", Source(
        name="raw", format="parquet", path=f"{tmp_path}/raw", time_column="at", file=tmp_path
    ))  # fmt: skip
    rows(*(f"2024-01-{day:02}T05:00" for day in range(1, 9))).to_parquet(file)
    at = (datetime.now(UTC) + timedelta(minutes=1)).timestamp()
    os.utime(file, (at, at))
    assert lookout.late()["daily"] == "2024-01-01..2024-01-08"
    assert all("only the first and the last day are known" in what for what in lookout.said(NoticeKind.LATE))


def test_names_that_say_nothing(tmp_path: Path) -> None:
    """A changed CSV file without a day in its path: said, with its name, and no finding."""
    put(tmp_path / "raw" / "all.csv", later=False)
    lookout = a_lookout(
        tmp_path / "raw", Source(name="raw", format="csv", path=f"{tmp_path}/raw", time_column="at", file=tmp_path)
    )
    put(tmp_path / "raw" / "all.csv", "y")
    assert lookout.late() == {}
    (said,) = lookout.said(NoticeKind.UNWATCHED)
    assert said.startswith("raw") and "all.csv" in said


@pytest.mark.parametrize(
    ("where", "why"),
    [({"path": None, "table": "lake.events"}, "catalog table"), ({"path": "gs://bucket/events"}, "object store")],
)
def test_what_cannot_be_watched(tmp_path: Path, where: dict[str, str | None], why: str) -> None:
    """Catalog tables and files in an object store: said once, whoever reads them."""
    source = Source(name="raw", format="csv", path=f"{tmp_path}/raw", file=tmp_path)
    put(tmp_path / "raw" / "all.csv", later=False)
    lookout = a_lookout(tmp_path / "raw", source)
    project = replace(lookout.code, sources={"raw": replace(source, **where)})  # pyright: ignore[reportArgumentType]
    lookout.code = project
    (said,) = lookout.said(NoticeKind.UNWATCHED)
    assert why in said


def test_provisional_days_and_files_that_do_not_say(tmp_path: Path) -> None:
    """Rows of any day may have come: what is provisional is computed again. Files that went are no rows that came."""
    put(tmp_path / "raw" / "all.csv", later=False)
    lookout = a_lookout(
        tmp_path / "raw", Source(name="raw", format="csv", path=f"{tmp_path}/raw", time_column="at", file=tmp_path)
    )

    def waiting() -> dict[str, str]:
        since = {"daily": utc("2024-01-02")}
        settling = Settling(clock=NOW, since=since, reach={"daily": timedelta(days=3)})
        found = unsettled(replace(lookout.look(), settling=settling))
        return {name: str(part) for name, part in found.items()}

    assert waiting() == {}
    put(tmp_path / "raw" / "more.csv")
    assert waiting()["daily"].endswith("2024-01-10")
    (tmp_path / "raw" / "more.csv").unlink()
    assert waiting() == {}
    (tmp_path / "raw" / "all.csv").rename(tmp_path / "raw" / "other.csv")
    assert waiting() == {}, "nobody can tell what went"
