"""What does the watch find beside late data, and what does it say when it is quiet?"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from backfill_assets.audits.digest import audits_digest
from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.model import SourceReady
from backfill_assets.core.readiness import with_readiness
from backfill_assets.state.environment import Promotion
from backfill_assets.state.ledger import Entry
from backfill_assets.state.ledger import Kind as Said
from backfill_assets.watch.before_restating import before_restating
from backfill_assets.watch.conclusion import Watched, conclude
from backfill_assets.watch.freshness import freshness, seams
from backfill_assets.watch.notice import NoticeKind
from backfill_assets.watch.watch import read_source_facts, watch
from backfill_assets_tests.fakes import Cell, a_model, a_pointer, days
from backfill_assets_tests.unit.watch.watch_world import Lookout, append, delta, ten_days


@pytest.fixture
def lookout(tmp_path: Path) -> Lookout:
    """Ten days of `daily` and `reader` are promoted, at noon of the eleventh."""
    ten_days(tmp_path / "raw")
    found = Lookout(a_model("daily", "raw"), a_model("reader", "daily"), source=delta(tmp_path / "raw"))
    found.release()
    return found


def a_day(lookout: Lookout, *, rows: int = 10) -> None:
    """The next day's source data and its routine run."""
    append(Path(str(lookout.source.path)), f"{lookout.now:%d}")
    lookout.now += timedelta(days=1)
    lookout.world.engine.cell = lambda job, interval: Cell(rows=rows)
    lookout.release()


def verdict(lookout: Lookout, hours: float) -> str:
    look = lookout.look(hours=hours)
    return conclude(look, watch(look)).sentence


def test_quiet(lookout: Lookout) -> None:
    """Nothing is found: still watching within 24 hours, closed after them."""
    release = lookout.world.control.releases.all("prod")[0].id
    assert lookout.notices() == ()
    assert verdict(lookout, 5) == f"still watching, 5 h of 24: quiet since the promotion of {release} 5 h ago"
    assert verdict(lookout, 31).startswith(f"closed: quiet since the promotion of {release} 31 h ago")


def test_nothing_was_released(tmp_path: Path) -> None:
    """An empty environment has nothing to be watched."""
    ten_days(tmp_path / "raw")
    lookout = Lookout(a_model("daily", "raw"), source=delta(tmp_path / "raw"))
    assert lookout.notices() == ()
    assert verdict(lookout, 5) == "nothing was released yet"


def test_the_first_run_over_the_seam(lookout: Lookout) -> None:
    """Not due, due and missing, done: the eleventh is over at midnight, and has a day for its run."""
    release = lookout.world.control.releases.all("prod")[0].id
    lookout.now = utc("2024-01-12T23:59")
    assert not [n for n in lookout.notices() if not n.source]
    seams = conclude(lookout.look(), ()).seams
    assert {s.model: (s.extended_by, s.due) for s in seams} == {
        m: ("", utc("2024-01-13T00:00")) for m in ("daily", "reader")
    }
    lookout.now = utc("2024-01-13T00:00")
    assert [s.split(";")[0] for s in lookout.said(NoticeKind.FIRST_RUN)] == [
        f"{m} 2024-01-11: no routine run has extended it since release {release}" for m in ("daily", "reader")
    ]
    lookout.now = utc("2024-01-11T12:00")
    a_day(lookout)
    grown = lookout.world.control.releases.all("prod")[-1].id
    assert {s.model: s.extended_by for s in conclude(lookout.look(), ()).seams} == {"daily": grown, "reader": grown}
    assert lookout.notices() == ()


def test_runs_that_stopped(lookout: Lookout) -> None:
    """Extended once, then no more: stale, with the reason of the last failure; an older failure is not named."""
    a_day(lookout)
    lookout.now = utc("2024-01-15T08:00")
    assert lookout.said(NoticeKind.FIRST_RUN) == []
    behind = [n for n in lookout.notices() if n.kind is NoticeKind.STALE and not n.source]
    assert [f"{n.model} {n.intervals}" for n in behind] == [
        "daily 2024-01-12..2024-01-13",
        "reader 2024-01-12..2024-01-13",
    ]
    assert all("there are no rows in raw from 2024-01-11" in n.what for n in behind)
    assert {n.remedy for n in behind} == {"load raw, then backfill routine"}
    failed = Entry(
        kind=Said.FAILED,
        model="daily",
        version="daily-1",
        interval=days("12"),
        reason="disk full\nat line 3",
        at=utc("2030-01-01"),
    )
    lookout.world.control.ledger.append([failed])
    assert "the last try failed: disk full" in lookout.said(NoticeKind.STALE)[0]
    late = replace(failed, kind=Said.INVALIDATED, reason="rows_ok", at=utc("2030-01-02"))
    lookout.world.control.ledger.append([late])
    assert "the last try failed: rows_ok" in lookout.said(NoticeKind.STALE)[0]


def test_days_that_a_source_is_not_ready_for(tmp_path: Path) -> None:
    """No routine run builds them: whoever is sent to one is told what it waits for; once they are, to a run."""
    ten_days(tmp_path / "raw")
    lookout = Lookout(a_model("daily", "raw"), source=replace(delta(tmp_path / "raw"), ready=SourceReady()))
    lookout.world.ready_until = {"raw": utc("2024-01-09")}
    lookout.release()
    lookout.now = utc("2024-01-13T08:00")
    [behind] = [n for n in lookout.notices() if n.kind is NoticeKind.FIRST_RUN]
    assert str(behind.intervals) == "2024-01-09..2024-01-11" and behind.remedy == "backfill routine", "the ninth is"
    lookout.world.ready_until = {"raw": utc("2024-01-10")}
    lookout.release()
    [behind] = [n for n in lookout.notices() if n.model == "daily"]
    assert str(behind.intervals) == "2024-01-10..2024-01-11"
    assert behind.what.endswith("; raw is not ready from 2024-01-10 10:00 UTC on"), behind.what
    assert behind.remedy == "wait until there is a row of a later time, then backfill routine"
    look = lookout.look()
    ready, newest = utc("2024-01-10T09:00"), utc("2024-01-10T10:00")
    for first in (replace(look, ready={"raw": ready}), replace(look, ready={"raw": newest}, newest={"raw": ready})):
        [behind] = [n for n in freshness(first) if n.model == "daily"]
        assert "raw from 2024-01-10 09:00" in behind.what or "raw is not ready from 2024-01-10 09:00" in behind.what


def test_what_is_shown_beside_what_is_looked_at(lookout: Lookout) -> None:
    """A restatement needs the published code of what its model reads, whether that was looked at or not."""
    look = lookout.look()
    reader = replace(look.environment, pointers={"reader": look.environment.pointers["reader"]})
    some = replace(look, environment=reader, fingerprints={**look.fingerprints, "daily": "newer"})
    assert before_restating(some, ["reader"]) == ""
    beside = replace(some, beside={"daily": look.environment.versions["daily"]})
    assert before_restating(beside, ["reader"]) == "promote or take back the newer code of daily; then "


def test_a_week_that_waits_for_its_last_days(tmp_path: Path) -> None:
    """The source ends within it: no routine run builds it, whoever is sent to one."""
    ten_days(tmp_path / "raw")
    lookout = Lookout(a_model("weekly", "raw", cadence=Cadence.WEEKLY), source=delta(tmp_path / "raw"))
    lookout.release()
    lookout.now = utc("2024-01-20T08:00")
    [behind] = [n for n in lookout.notices() if n.kind is NoticeKind.FIRST_RUN]
    assert str(behind.intervals) == "2024-01-08..2024-01-14" and behind.remedy == "load raw, then backfill routine"
    assert behind.what.endswith("there are no rows in raw from 2024-01-10 10:00 UTC on")


def test_a_stale_source(lookout: Lookout) -> None:
    """Its newest row is of the tenth, ten o'clock; 36 hours later it should have others."""
    lookout.now = utc("2024-01-11T22:00")
    assert lookout.said(NoticeKind.STALE) == []
    lookout.now = utc("2024-01-11T22:01")
    (notice,) = lookout.notices()
    assert (notice.model, notice.source, notice.kind) == ("raw", True, NoticeKind.STALE)
    assert "36 h ago; 36 h are promised" in notice.what and "tracking" in notice.remedy


@pytest.mark.parametrize(("rows", "odd"), [(5, False), (4, True), (20, False), (21, True), (0, True)])
def test_row_counts(lookout: Lookout, rows: int, odd: bool) -> None:
    """Half and twice the usual ten are let through, what is beyond is named."""
    a_day(lookout, rows=rows)
    found = lookout.said(NoticeKind.ROWS)
    assert [f.split(",")[0] for f in found] == (
        [
            f"{m} 2024-01-11: rows: {rows} in 2024-01-11; usual are 10 (median of the 8 before)"
            for m in ("daily", "reader")
        ]
        if odd
        else []
    )


def test_old_odd_days_are_not_told_again(lookout: Lookout) -> None:
    """Only the three newest intervals are looked at."""
    a_day(lookout, rows=50)
    for _ in range(2):
        a_day(lookout)
        assert [s.split(":")[0] for s in lookout.said(NoticeKind.ROWS)] == ["daily 2024-01-11", "reader 2024-01-11"]
    a_day(lookout)
    assert lookout.said(NoticeKind.ROWS) == []


def test_what_is_shown_and_gone(lookout: Lookout) -> None:
    """A missing file, a foreign commit within what is shown, a deleted table, a version without a record."""
    lookout.world.tables.lost_files.add(("daily", utc("2024-01-04")))
    assert lookout.said(NoticeKind.POINTER) == ["daily 2024-01-04: damaged: 2024-01-04 is missing; it stays shown"]
    lookout.world.tables.lost_files.clear()
    assert lookout.notices() == ()
    lookout.world.tables.drop("reader", "reader-1")
    (gone,) = lookout.said(NoticeKind.POINTER)
    assert gone.startswith("reader") and "has no commit" in gone
    look = lookout.look()
    look = replace(look, versions={("reader", "reader-1"): look.versions["reader", "reader-1"]})
    assert "daily: version daily-1 has no record: routine runs cannot extend it" in [
        f"{n.model}: {n.what}" for n in watch(look)
    ]


def test_rows_that_failed_since(lookout: Lookout) -> None:
    """An audit that fails later on what is shown, by the audits that were promoted, or by those that are loaded: it is
    told, with the restatement. One of audits that are neither is no news."""
    (built, *_) = [e for e in lookout.world.control.ledger.entries(["daily"]) if e.kind is Said.BUILT]
    red = replace(built, kind=Said.INVALIDATED, at=utc("2030-01-01"), id="", reason="rows_ok")
    lookout.world.control.ledger.append([replace(red, audits="others")])
    assert lookout.said(NoticeKind.POINTER) == []
    lookout.world.control.ledger.append([red])
    assert lookout.said(NoticeKind.POINTER) == [f"daily {built.interval}: red: rows_ok; it stays shown"]
    assert [n.remedy.split(",")[0] for n in lookout.notices()] == [f"backfill apply --restate daily:{built.interval}"]


def test_somebody_else_wrote(lookout: Lookout) -> None:
    """To the table of what is shown: readers are shown what was there before, and that is told."""
    lookout.world.tables.foreign("daily", "daily-1")
    (said,) = lookout.said(NoticeKind.POINTER)
    assert said.startswith("daily 2024-01-01..2024-01-10: foreign: somebody else wrote to its table in commit")


def test_a_reader_of_another_version(lookout: Lookout) -> None:
    """A lost race of an earlier release left `reader`, built from version 1, beside version 2 of `daily`."""
    world, look = lookout.world, lookout.look()
    daily = look.versions["daily", "daily-1"]
    world.control.versions.put(replace(daily, version="daily-2"))
    pointer = a_pointer("daily", "daily-2", days("01", "10"))
    shown = replace(look.environment, pointers={**look.environment.pointers, "daily": pointer})
    found = watch(replace(look, environment=shown, versions=world.control.versions.all()))
    assert [(n.model, n.what) for n in found if n.kind is NoticeKind.UPSTREAM] == [
        ("reader", "was built from daily daily-1, but prod shows daily-2")
    ]


def test_a_view_that_says_something_else(lookout: Lookout) -> None:
    """What the catalog's reader found is passed on."""
    (notice,) = watch(replace(lookout.look(), views={"daily": "there is no view"}))
    assert (notice.kind, notice.model) == (NoticeKind.VIEW, "daily")


def test_as_json(lookout: Lookout) -> None:
    """Keys that machines rely on; ends are exclusive; one command for all that is late."""
    append(Path(str(lookout.source.path)), "03")
    look = lookout.look(hours=2)
    notices = watch(look)
    found = Watched(environment="prod", notices=notices, closing=conclude(look, notices)).to_json()
    assert found["restate"] == "backfill apply --restate daily:2024-01-03"
    whole_day = [{"start": "2024-01-03T00:00:00+00:00", "end": "2024-01-04T00:00:00+00:00"}]
    assert found["notices"] == [
        {
            "kind": "late_source_data",
            "model": "daily",
            "intervals": whole_day,
            "what": "built before its source changed: raw (commit 1)",
            "remedy": "backfill apply --restate daily:2024-01-03, then backfill promote PLAN, which it names",
            "downstream": {"reader": whole_day},
        }
    ]
    said = found["closing"]
    assert isinstance(said, dict)
    assert said["findings"] == 1 and said["closed"] is False and str(said["sentence"]).startswith("open: 1 found")


def test_a_promotion_that_never_finished(lookout: Lookout) -> None:
    """One that was opened a while ago is still under way; after an hour, somebody has to look."""
    stuck = Promotion(release="r9", models=("daily", "reader"), opened=utc("2024-01-11"), host="h", pid=1)
    look = lookout.look()
    look = replace(look, environment=replace(look.environment, promotion=stuck), at=utc("2024-01-11T01:00"))
    assert watch(look) == ()
    (notice,) = watch(replace(look, at=utc("2024-01-11T01:01")))
    assert notice.model == "daily, reader" and "r9" in notice.what


def test_a_promise_that_nobody_can_check(lookout: Lookout) -> None:
    """A source that promises freshness and does not say how old its rows are: said, and no finding."""
    (notice,) = watch(replace(lookout.look(), newest={}))
    assert notice.kind is NoticeKind.UNWATCHED and notice.model == "raw"


def test_late_rows_of_a_published_day(lookout: Lookout) -> None:
    """A `ready` that came later does not hide that a published day's source changed."""
    append(Path(str(lookout.source.path)), "09")
    before = lookout.late()
    models = with_readiness({n: replace(m, ready="0 0 1 1 *") for n, m in lookout.code.models.items()})
    lookout.code = replace(lookout.code, models=models)
    assert lookout.late() == before == {"daily": "2024-01-09"}


def test_a_table_to_the_end_of_all_time(lookout: Lookout) -> None:
    """A row of 9999 makes no report: nothing is due after it."""
    shown = lookout.look().environment
    last = a_pointer("daily", "daily-1", Interval.of("2024-01-01", "9999-12-31"))
    look = replace(lookout.look(), environment=replace(shown, pointers={"daily": last}))
    assert [s.due for s in seams(look)] == [None]


def test_red_by_the_audits_that_were_promoted(lookout: Lookout) -> None:
    """An audit that was promoted and is not in the loaded code has failed: it is told beside what loaded ones say."""
    control, model = lookout.world.control, lookout.code.models["daily"]
    promoted = replace(model, audits=(replace(model.audits[0], name="other"),))
    digests = {"daily": audits_digest(model)}
    built = next(e for e in control.ledger.entries(["daily"]) if e.kind is Said.BUILT)
    for at, digest in (("first", audits_digest(promoted)), ("second", digests["daily"])):
        control.ledger.append([replace(built, kind=Said.INVALIDATED, audits=digest, reason=at, id=at)])
    facts = lookout.world.facts(lookout.now)
    assert set(facts.standing["daily"].red) == {"second"}
    for loaded in (None, facts.standing):
        found = read_source_facts(
            replace(lookout.code, models={**lookout.code.models, "daily": promoted}),
            control,
            lookout.world.tables,
            lookout.reader,
            environment=lookout.prod,
            fingerprints=lookout.code.fingerprints,
            digests=digests,
            now=lookout.now,
            at=lookout.now,
            lasts=timedelta(hours=24),
            loaded=loaded,
        )
        assert found.standing["daily"].red == dict.fromkeys(("first", "second"), Ranges((built.interval,)))
