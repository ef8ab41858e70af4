"""A published file that was cut short is found by its size, with its day, on real tables and without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.app import faults
from backfill_assets.app.context import Context
from backfill_assets.app.faults import find_faults
from backfill_assets.app.prove import unreadable_rows
from backfill_assets_tests.fakes import ranges
from backfill_assets_tests.projects import backfill_here, days, release_by_hand, small_project


def test_a_file_that_was_cut_short(tmp_path: Path) -> None:
    """`plan` and `status` name the day and the restatement; a comparison leaves it out, and says so."""
    root = small_project(tmp_path, days=2)
    place = Context.open(root)
    release_by_hand(place, place.project.fingerprints["daily"])
    scope = {"daily": ranges(days("2024-01-01", "2024-01-02"))}
    assert find_faults(place, place.facts()) == () and unreadable_rows(place, place.facts(), scope) == {}

    table = Path(place.warehouse) / "daily" / place.project.fingerprints["daily"]
    (file,) = table.glob("ds=2024-01-02/*.parquet")
    file.write_bytes(file.read_bytes()[:-100])

    (fault,) = find_faults(place, place.facts())
    assert (fault.kind.value, str(fault.intervals)) == ("damaged", "2024-01-02")
    assert fault.remedy.startswith("backfill apply --restate daily:2024-01-02,")
    assert [list(p.values()) for p in unreadable_rows(place, place.facts(), scope).values()] == [
        [ranges(days("2024-01-02"))]
    ]
    assert unreadable_rows(place, place.facts(), {"daily": ranges(days("2024-01-01"))}) == {}
    planned, status = (backfill_here(command, "--json", project=root) for command in ("plan", "status"))
    assert [f["kind"] for f in planned.json["faults"]] == [f["kind"] for f in status.json["faults"]] == ["damaged"]
    assert "damaged: daily 2024-01-02" in backfill_here("status", project=root).out


def test_a_command_looks_at_some_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many; the next ones look at the others, and what one found wrong all find."""
    root = small_project(tmp_path, days=2)
    place = Context.open(root)
    release_by_hand(place, place.project.fingerprints["daily"])
    asked: list[int | None] = []
    look = faults.rehearse
    monkeypatch.setattr(faults, "rehearse", lambda *said, **more: asked.append(more["most"]) or look(*said, **more))  # type: ignore[func-returns-value]
    assert find_faults(place, place.facts()) == ()
    assert asked == [faults._MOST_FILES]


def test_a_log_that_was_damaged_since_it_was_read(tmp_path: Path) -> None:
    """The facts are of a moment before. A table whose log is not whole since is damage of all its days, also where it
    lacks an entry after what is shown."""
    root = small_project(tmp_path, days=2)
    place = Context.open(root)
    version = place.project.fingerprints["daily"]
    release_by_hand(place, version)
    facts = place.facts()
    log = Path(place.warehouse) / "daily" / version / "_delta_log"
    (log / f"{place.log.head('daily', version) + 1:020}.json").touch()
    (fault,) = find_faults(place, facts)
    assert (fault.kind.value, str(fault.intervals)) == ("damaged", "2024-01-01..2024-01-02")
