"""Which restatement is proposed when a Delta source changes behind what is built? On real tables, without a JVM."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from deltalake import DeltaTable, write_deltalake

from backfill_assets.build.apply import apply
from backfill_assets.cli.plan_text import _late_lines
from backfill_assets.core.intervals import Cadence, Ranges, utc
from backfill_assets.core.model import Audit, Model
from backfill_assets.plan.stages import Request
from backfill_assets.state.settling import Settling
from backfill_assets.watch.conclusion import Watched, conclude
from backfill_assets.watch.late import late_sources, unsettled
from backfill_assets.watch.notice import NoticeKind
from backfill_assets_tests.fakes import NOW, a_model, a_project, days
from backfill_assets_tests.unit.watch.watch_world import Lookout, append, delta, rows, ten_days


def a_lookout(path: Path) -> Lookout:
    """`daily` reads the source; `wide` looks two days back; `reader` reads `daily`, three days back."""
    ten_days(path)
    found = Lookout(
        a_model("daily", "raw"),
        a_model("wide", "raw", lookback=2),
        a_model("reader", "daily", lookback=3),
        source=delta(path),
    )
    found.release()
    assert found.notices() == ()
    return found


def test_an_old_day_that_got_rows(tmp_path: Path) -> None:
    """Exactly the days that read it: itself, and as many after it as a model looks back; readers are named."""
    lookout = a_lookout(tmp_path / "raw")
    append(tmp_path / "raw", "03")
    assert lookout.late() == {"daily": "2024-01-03", "wide": "2024-01-03..2024-01-05"}
    daily = next(n for n in lookout.notices() if n.model == "daily")
    assert daily.remedy == "backfill apply --restate daily:2024-01-03, then backfill promote PLAN, which it names"
    assert {n: str(r) for n, r in daily.downstream.items()} == {"reader": "2024-01-03..2024-01-06"}
    assert daily.what == "built before its source changed: raw (commit 1)"


DIRECT, STAGED = (a_model("a", "raw"),), (a_model("stg", "raw"), a_model("a", "stg"))


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [(DIRECT, STAGED, "stg"), (STAGED, (STAGED[0], a_model("a", "raw")), "a")],
    ids=["split", "inlined"],
)
def test_older_rows_by_another_way(tmp_path: Path, before: Sequence[Model], after: Sequence[Model], found: str) -> None:
    """A model read the source itself, and reads it through another one by now, or the other way round: the gate does
    not compare the two, so the day that was settled since the plan was built is told here."""
    ten_days(tmp_path / "raw")
    lookout = Lookout(*before, source=delta(tmp_path / "raw"))
    lookout.release()
    old = lookout.code
    new = replace(a_project(*after, versions={"a": "2"}), sources=old.sources)
    lookout.world.project = new
    apply(lookout.world.bench(pins={"raw": lookout.pin()}, now=lookout.now), lookout.world.plan(Request(), lookout.now))
    append(tmp_path / "raw", "03")
    lookout.release(Request(restate=((before[0].name, days("03")),)))
    assert lookout.late() == {}
    lookout.code = new
    lookout.release()
    assert lookout.late() == {found: "2024-01-03"}


def test_the_restatement_makes_up_for_it(tmp_path: Path) -> None:
    """What is proposed, applied and promoted: nothing is found any more; what is named downstream was in its plan."""
    lookout = a_lookout(tmp_path / "raw")
    append(tmp_path / "raw", "03", "08")
    said = lookout.notices()
    assert {n.model: str(n.intervals) for n in said} == {
        "daily": "2024-01-03, 2024-01-08",
        "wide": "2024-01-03..2024-01-05, 2024-01-08..2024-01-10",
    }
    patches = lookout.release(Request(restate=tuple((n.model, i) for n in said for i in n.intervals)))
    assert {n: str(p.intervals) for n, p in patches.items()} == {
        **{n.model: str(n.intervals) for n in said},
        "reader": str(said[0].downstream["reader"]),
    }
    assert lookout.late() == {}
    append(tmp_path / "raw", "08")
    assert lookout.late()["daily"] == "2024-01-08"


def test_growth_is_no_news(tmp_path: Path) -> None:
    """A day that is not built yet, before and after it is over."""
    lookout = a_lookout(tmp_path / "raw")
    append(tmp_path / "raw", "11")
    assert lookout.late() == {}
    lookout.now = utc("2024-01-12T08:00")
    assert lookout.late() == {}
    lookout.release()
    assert lookout.late() == {}
    append(tmp_path / "raw", "11")
    assert lookout.late()["daily"] == "2024-01-11"


def test_compaction_is_no_change(tmp_path: Path) -> None:
    """OPTIMIZE rewrites every file, VACUUM deletes old ones: no row is another. A late row before it is still told."""
    append(tmp_path / "raw", "03", "04", "05")
    lookout = a_lookout(tmp_path / "raw")
    append(tmp_path / "raw", "12")
    assert DeltaTable(tmp_path / "raw").optimize.compact()["numFilesRemoved"] >= 6
    DeltaTable(tmp_path / "raw").vacuum(0, enforce_retention_duration=False, dry_run=False)
    assert lookout.notices() == ()
    append(tmp_path / "raw", "04")
    assert DeltaTable(tmp_path / "raw").optimize.compact()["numFilesRemoved"] == 2
    assert lookout.late()["daily"] == "2024-01-04"


def test_rows_that_went(tmp_path: Path) -> None:
    """A whole file that is removed: its log entry does not say what it held, the table before it does."""
    lookout = a_lookout(tmp_path / "raw")
    DeltaTable(tmp_path / "raw").delete("day = 6")
    assert lookout.late()["daily"] == "2024-01-06"


def test_rows_that_changed(tmp_path: Path) -> None:
    """An update rewrites the files of one day."""
    lookout = a_lookout(tmp_path / "raw")
    DeltaTable(tmp_path / "raw").update(predicate="day = 7", updates={"n": "n + 1"})
    assert lookout.late()["daily"] == "2024-01-07"


def test_one_file_of_several_days_is_said_to_be_coarse(tmp_path: Path) -> None:
    """As a compacted table has them: of one that is written again nobody knows which of its days are others now."""
    place = tmp_path / "raw"
    write_deltalake(place, rows(*(f"2024-01-{day:02}T10:00" for day in range(1, 11))))
    lookout = Lookout(a_model("daily", "raw"), source=delta(place))
    lookout.release()
    DeltaTable(place).delete("n = 4")
    [late] = late_sources(lookout.look())
    assert str(late.intervals) == "2024-01-01..2024-01-10"
    assert late.what.endswith(
        "; of a file of raw only the first and the last day are known, so all in between are named"
    )


def test_a_table_that_was_made_anew(tmp_path: Path) -> None:
    """The commits that were read are not there any more: everything is named, and why."""
    lookout = a_lookout(tmp_path / "raw")
    append(tmp_path / "raw", "11")
    lookout.now = utc("2024-01-12T08:00")
    lookout.release()  # the eleventh was built from commit 1
    for file in sorted((tmp_path / "raw").rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    ten_days(tmp_path / "raw")
    assert lookout.late()["daily"] == "2024-01-01..2024-01-11"
    assert "made anew" in lookout.said(NoticeKind.LATE)[0]


@pytest.mark.parametrize("known", [True, False])
def test_a_table_that_was_made_anew_with_as_many_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """Its commit 0 is another table's: everything is named, and why. Where the record is of an older release, which
    did not write down which table it was, nobody knows, and nothing is said."""
    if not known:
        monkeypatch.setattr(Lookout, "pin", lambda _: {"commit": 0})
    lookout = a_lookout(tmp_path / "raw")
    shutil.rmtree(tmp_path / "raw")
    ten_days(tmp_path / "raw")
    assert lookout.late().get("daily") == ("2024-01-01..2024-01-10" if known else None)
    assert ("made anew" in " ".join(lookout.said(NoticeKind.LATE))) is known


def test_a_table_that_was_replaced_in_its_log_is_the_same(tmp_path: Path) -> None:
    """Spark's REPLACE TABLE and an overwrite with other columns give it another id: the commits before are its own."""
    lookout = a_lookout(tmp_path / "raw")
    before = DeltaTable(tmp_path / "raw").metadata().id
    log = tmp_path / "raw" / "_delta_log"
    first = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    (metadata,) = [a["metaData"] for a in first if "metaData" in a]
    said = [{"commitInfo": {"operation": "REPLACE TABLE"}}, {"metaData": metadata | {"id": str(uuid4())}}]
    (log / f"{1:020}.json").write_text("".join(f"{json.dumps(action)}\n" for action in said))
    assert DeltaTable(tmp_path / "raw").metadata().id != before
    assert lookout.notices() == ()
    append(tmp_path / "raw", "04")
    assert lookout.late()["daily"] == "2024-01-04"
    assert "made anew" not in " ".join(lookout.said(NoticeKind.LATE))


def describe(table: Path, commit: int, mode: str = "name", **physical: str) -> None:
    """What `ALTER TABLE` writes where columns are mapped: the columns, by what files call them; no file. `mode` none:
    where they are not any more, and files were written anew as they were."""
    log = table / "_delta_log"
    first = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    (metadata,) = [a["metaData"] for a in first if "metaData" in a]
    (instants,) = [f for f in json.loads(metadata["schemaString"])["fields"] if f["name"] == "at"]
    fields = [
        {"name": name, "type": instants["type"] if known == "at" else "long", "nullable": True,
         "metadata": {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": known}}
        for number, (name, known) in enumerate(physical.items(), start=1)
    ]  # fmt: skip
    mapping = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "9"}
    said = [
        {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}},
        {"metaData": metadata | {
            "schemaString": json.dumps({"type": "struct", "fields": fields}), "configuration": mapping}},
    ]  # fmt: skip
    (log / f"{commit:020}.json").write_text("".join(f"{json.dumps(action)}\n" for action in said))


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([{"at": "at", "n": "n", "day": "day"}, {"at": "at", "m": "n", "day": "day"}], ""),
        ([{"at": "at", "m": "n", "N": "new", "day": "day"}], "another column is called n"),
        ([{"at": "at", "day": "day"}, {"at": "at", "n": "new", "day": "day"}], "another column is called n"),
        ([{"at": "at", "m": "n", "day": "day"}, {"mode": "none", "at": "at", "m": "m", "day": "day"}], ""),
    ],
    ids=["only renamed", "its name is taken", "dropped and added anew", "not mapped any more"],
)
def test_a_name_that_is_of_another_column(tmp_path: Path, steps: list[dict[str, str]], said: str) -> None:
    """No file changed, and every row has other values by that name; a column that has another name only fails whoever
    reads it by the old one."""
    lookout = a_lookout(tmp_path / "raw")
    for commit, names in enumerate(steps, start=1):
        describe(tmp_path / "raw", commit, **names)
    assert lookout.late() == ({"daily": "2024-01-01..2024-01-10", "wide": "2024-01-01..2024-01-10"} if said else {})
    assert said in " ".join(lookout.said(NoticeKind.LATE))


def test_files_without_statistics_touch_everything(tmp_path: Path) -> None:
    """Nobody knows which days they hold: every day that was built before is named, and that this is why."""
    lookout = a_lookout(tmp_path / "raw")
    write_deltalake(
        tmp_path / "raw",
        rows("2024-01-03T10:00").assign(day=3),
        mode="append",
        configuration={"delta.dataSkippingStatsColumns": "n"},
    )
    DeltaTable(tmp_path / "raw").alter.set_table_properties({"delta.dataSkippingStatsColumns": "n"})
    lookout.release(Request(restate=(("daily", days("01", "10")), ("wide", days("01", "10")))))
    append(tmp_path / "raw", "05")
    assert lookout.late()["daily"] == "2024-01-01..2024-01-10"
    assert "does not say which days" in lookout.said(NoticeKind.LATE)[0]


def test_a_source_without_a_time_column(tmp_path: Path) -> None:
    """Which days a change touches cannot be told: said once, of all that read it, and not a finding."""
    ten_days(tmp_path / "raw")
    lookout = Lookout(
        a_model("daily", "raw"),
        a_model("wide", "raw"),
        source=replace(delta(tmp_path / "raw"), time_column=None, freshness_hours=None),
    )
    lookout.release()
    append(tmp_path / "raw", "03")
    assert lookout.late() == {}
    (said,) = lookout.said(NoticeKind.UNWATCHED)
    assert "raw" in said and "commit 1" in said and not any(n.finding for n in lookout.notices())
    both = "backfill apply --restate daily:2024-01-01..2024-01-10 --restate wide:2024-01-01..2024-01-10"
    assert "daily and wide were built before: " in said and f"{both} computes all of it again" in said


def test_a_log_that_was_cleaned_up(tmp_path: Path) -> None:
    """What came before the oldest log entry is not known, and that is said; what came after it is."""
    lookout = a_lookout(tmp_path / "raw")
    append(tmp_path / "raw", "02")
    append(tmp_path / "raw", "11")
    DeltaTable(tmp_path / "raw").create_checkpoint()
    append(tmp_path / "raw", "05")
    for number in (0, 1):
        (tmp_path / "raw" / "_delta_log" / f"{number:020}.json").unlink()
    assert lookout.late()["daily"] == "2024-01-05"
    assert "until commit 1 cannot be told" in lookout.said(NoticeKind.UNWATCHED)[0]


def test_a_damaged_entry_before_a_checkpoint(tmp_path: Path) -> None:
    """The table can be read without it; what came until then cannot be told, whether a line was cut or lost."""
    lookout = a_lookout(tmp_path / "raw")
    append(tmp_path / "raw", "02")
    append(tmp_path / "raw", "03")
    DeltaTable(tmp_path / "raw").create_checkpoint()
    append(tmp_path / "raw", "05")
    entry = tmp_path / "raw" / "_delta_log" / f"{2:020}.json"
    whole = entry.read_bytes()
    for left in (whole[:-30], whole.splitlines()[0]):
        entry.write_bytes(left)
        assert lookout.late()["daily"] == "2024-01-05"
        assert "until commit 2 cannot be told" in lookout.said(NoticeKind.UNWATCHED)[0]


def test_months(tmp_path: Path) -> None:
    """A monthly reader is restated as a month; not the one that is still open, which is built again in any case."""
    frame = rows(*(f"2023-{m:02}-15T10:00" for m in (10, 11, 12)), "2024-01-05T10:00")
    for n in range(len(frame)):
        write_deltalake(tmp_path / "raw", frame[n : n + 1], mode="append")
    lookout = Lookout(
        a_model("monthly", "raw", cadence=Cadence.MONTHLY, start=utc("2023-10-01")),
        a_model("rolling", "raw", cadence=Cadence.MONTHLY, start=utc("2023-10-01"), lookback=1),
        source=delta(tmp_path / "raw"),
    )
    lookout.release(Request(ignore_cron=True))
    write_deltalake(tmp_path / "raw", rows("2024-01-07T10:00"), mode="append")
    assert lookout.late() == {}
    write_deltalake(tmp_path / "raw", rows("2023-10-20T10:00"), mode="append")
    assert lookout.late() == {"monthly": "2023-10-01..2023-10-31", "rolling": "2023-10-01..2023-11-30"}
    asked = {a for n in lookout.notices() for a in n.restate}
    assert asked == {"monthly:2023-10-01..2023-10-31", "rolling:2023-10-01..2023-11-30"}


def test_newer_code_is_in_the_way(tmp_path: Path) -> None:
    """A restatement needs the published logic: the remedy says whose code is newer."""
    lookout = a_lookout(tmp_path / "raw")
    fingerprints = {**lookout.code.fingerprints, "reader": "reader-2"}
    append(tmp_path / "raw", "03")
    lookout.code = replace(lookout.code, fingerprints=fingerprints)
    look = replace(lookout.look(), project=replace(lookout.code, fingerprints=lookout.world.project.fingerprints))
    notices = tuple(late_sources(look))
    remedies = {n.model: n.remedy for n in notices}
    watched = Watched(environment="prod", notices=notices, closing=conclude(look, notices))
    assert {a.partition(":")[0] for a in watched.restate} == {n.model for n in notices} - {"daily"}, "it is refused"
    assert "--restate daily" not in str(watched.to_json()["restate"])
    assert remedies["daily"].startswith("promote or take back the newer code of reader; then backfill apply")
    assert remedies["wide"].startswith("backfill apply --restate wide")


def test_an_open_restatement_is_in_the_way(tmp_path: Path) -> None:
    """No other one computes rows of its models again before it has ended: the remedy names it, and so does a plan."""
    lookout = a_lookout(tmp_path / "raw")
    append(tmp_path / "raw", "03")
    look = replace(lookout.look(), restating={"daily": "70f4a6cb", "reader": "70f4a6cb"})
    found = {n.model: n for n in late_sources(look)}
    first = "promote plan 70f4a6cb, which computes daily, reader again already, or end it: backfill abandon 70f4a6cb"
    assert found["daily"].first == first and found["daily"].remedy.startswith(f"{first}; then backfill apply --restate")
    assert found["wide"].first == "" and found["wide"].remedy.startswith("backfill apply --restate wide")
    assert f"  first: {first}" in [str(line) for line in _late_lines([found["daily"], found["wide"]])]


def test_days_of_older_logic(tmp_path: Path) -> None:
    """After a forward-only change the older days have older logic. Nothing computes a day of them by itself: what does
    is said, and no restatement is proposed of them, nor of what a reader of older logic reads."""
    lookout = a_lookout(tmp_path / "raw")
    newer = {**lookout.code.fingerprints, "wide": "wide-2"}
    lookout.code = replace(lookout.code, fingerprints=newer)
    lookout.release(Request(forward_only=utc("2024-01-08")))
    append(tmp_path / "raw", "03")
    append(tmp_path / "raw", "09")
    found = {n.model: n for n in lookout.notices() if n.kind is NoticeKind.LATE}
    wide = found["wide"]
    assert "; 2024-01-03..2024-01-05 is shown by older logic: neither a routine run nor a restatement" in wide.what
    assert wide.restate == ("wide:2024-01-09..2024-01-10",)
    assert wide.remedy.startswith("backfill apply, then backfill promote PLAN, which it names, gives all that is of ")
    assert "; backfill apply --restate wide:2024-01-09..2024-01-10, then" in wide.remedy
    assert "older logic" not in found["daily"].what


def test_provisional_days_of_older_logic(tmp_path: Path) -> None:
    """A routine run leaves them, so none is promised; nor of what a reader of such days would have to follow."""
    lookout = a_lookout(tmp_path / "raw")
    lookout.code = replace(lookout.code, fingerprints={**lookout.code.fingerprints, "wide": "wide-2"})
    lookout.release(Request(forward_only=utc("2024-01-08")))
    append(tmp_path / "raw", "07")
    began = dict.fromkeys(("daily", "wide"), utc("2024-01-02"))
    look = replace(lookout.look(), settling=Settling(clock=NOW, since=began, reach=dict.fromkeys(began, timedelta())))
    waiting = {name: str(part) for name, part in unsettled(look).items()}
    assert waiting == {"daily": "2024-01-07", "wide": "2024-01-08..2024-01-09"}
    found = {(n.model, n.kind): n for n in late_sources(look)}
    assert str(found["wide", NoticeKind.SETTLING].intervals) == "2024-01-08..2024-01-09"
    late = found["wide", NoticeKind.LATE]
    assert str(late.intervals) == "2024-01-07" and not late.restate and "shown by older logic" in late.what
    assert late.remedy.startswith("backfill apply, then backfill promote PLAN")


@pytest.mark.parametrize("kind", ["stable_key", "unique_grain"])
def test_provisional_days_of_a_stable_key(tmp_path: Path, kind: str) -> None:
    """A key that moved between them and settled ones keeps both from being green alone: one restatement is named."""
    ten_days(tmp_path / "raw")
    audits = (Audit(name="k", kind=kind, arguments={"columns": ("id",)}),)
    lookout = Lookout(a_model("daily", "raw", audits=audits), source=delta(tmp_path / "raw"))
    lookout.release()
    append(tmp_path / "raw", "03", "10")
    look = replace(
        lookout.look(),
        settling=Settling(clock=NOW, since={"daily": utc("2024-01-09")}, reach={"daily": timedelta()}),
    )
    late = next(n for n in late_sources(look) if n.kind is NoticeKind.LATE)
    both = ("daily:2024-01-03", "daily:2024-01-10")
    assert late.restate == (both if kind == "stable_key" else both[:1])
    assert ("2024-01-10 is provisional, and computed with the rest" in late.what) == (kind == "stable_key")


def test_what_came_to_other_days_is_not_named(tmp_path: Path) -> None:
    """Of all that came since one batch, only what the days that are named are of; the rest is provisional."""
    ten_days(tmp_path / "raw")
    lookout = Lookout(a_model("daily", "raw"), source=delta(tmp_path / "raw"))
    lookout.release()
    append(tmp_path / "raw", "03")
    append(tmp_path / "raw", "10")
    look = lookout.look()
    [both] = late_sources(look)
    assert both.what == "built before its source changed: raw (commit 1, commit 2)"
    look = replace(look, settling=Settling(clock=NOW, since={"daily": utc("2024-01-09")}, reach={"daily": timedelta()}))
    late = next(n for n in late_sources(look) if n.kind is NoticeKind.LATE)
    assert (str(late.intervals), late.what) == ("2024-01-03", "built before its source changed: raw (commit 1)")


@pytest.mark.parametrize(
    ("until", "window", "found"),
    [
        ({"raw": 86400.0}, 2, "2024-01-04..2024-01-05"),
        ({"raw": 0.0}, 2, "2024-01-05"),
        ({}, 2, "2024-01-03..2024-01-05"),
        ({"raw": 86400.0}, None, "2024-01-05"),
    ],
    ids=["reads a day more", "ends with the day", "nobody can tell", "no window"],
)
def test_settled_days_that_rows_of_later_times_are_of(
    tmp_path: Path, until: dict[str, float], window: int | None, found: str
) -> None:
    """A model that is cut by another time than its source's reads rows that came within its window: where these are
    others by now, the days are named that they may be of, with what reads these."""
    lookout = a_lookout(tmp_path / "raw")
    append(tmp_path / "raw", "05")
    reach = {} if window is None else {"daily": timedelta(days=window)}
    look = lookout.look()
    look = replace(
        look,
        project=replace(look.project, reads_until={"daily": until}),
        settling=Settling(clock=NOW, since=dict.fromkeys(reach, NOW), reach=reach),
    )
    late = next(n for n in late_sources(look) if n.model == "daily")
    assert (late.kind, str(late.intervals)) == (NoticeKind.LATE, found)
    assert late.what == "built before its source changed: raw (commit 1)"
    assert late.restate == (f"daily:{found}",)


def test_settled_days_of_older_logic_go_by_the_window(tmp_path: Path) -> None:
    """The loaded text does not say how far theirs read the source."""
    ten_days(tmp_path / "raw")
    lookout = Lookout(daily := a_model("daily", "raw"), source=delta(tmp_path / "raw"))
    lookout.release()
    lookout.code = replace(a_project(daily, versions={"daily": "2"}), sources=lookout.code.sources)
    lookout.release(Request(forward_only=utc("2024-01-08")))
    append(tmp_path / "raw", "05")
    look = lookout.look()
    project = replace(look.project, reads_until={"daily": {"raw": 0.0}})
    reach = {"daily": timedelta(days=2)}
    look = replace(look, project=project, settling=Settling(clock=NOW, since=dict.fromkeys(reach, NOW), reach=reach))
    late = next(n for n in late_sources(look) if n.model == "daily")
    assert str(late.intervals) == "2024-01-03..2024-01-05"


def test_provisional_days_that_settled_rows_read(tmp_path: Path) -> None:
    """No routine run builds them again, so none is promised: what holds them back is named, with what does build them.
    The last of the three days that `reader` reads is provisional there, too."""
    lookout = a_lookout(tmp_path / "raw")
    append(tmp_path / "raw", "03", "10")
    began = {"daily": utc("2024-01-02"), "wide": utc("2024-01-02"), "reader": utc("2024-01-09")}
    look = replace(lookout.look(), settling=Settling(clock=NOW, since=began, reach=dict.fromkeys(began, timedelta())))
    found = {(n.model, n.kind): n for n in late_sources(look)}
    assert str(found["daily", NoticeKind.SETTLING].intervals) == "2024-01-10"
    late = found["daily", NoticeKind.LATE]
    assert str(late.intervals) == "2024-01-03" and late.finding
    assert late.what.endswith("as what belongs to it stays (reader 2024-01-03..2024-01-06, settled)")
    assert late.remedy == "backfill apply --restate daily:2024-01-03, then backfill promote PLAN, which it names"
    assert ("wide", NoticeKind.LATE) not in found


def test_provisional_days_that_are_read_by_what_was_gone_back_to(tmp_path: Path) -> None:
    """These stay as well, however long their window lasts."""
    lookout = a_lookout(tmp_path / "raw")
    append(tmp_path / "raw", "09")
    began = dict.fromkeys(("daily", "reader"), utc("2024-01-02"))
    back = {"reader": Ranges((days("10"),))}
    seen = Settling(clock=NOW, since=began, reach=dict.fromkeys(began, timedelta()), went_back=back)
    [late] = [n for n in late_sources(replace(lookout.look(), settling=seen)) if n.model == "daily"]
    assert late.kind is NoticeKind.LATE and late.what.endswith("stays (reader 2024-01-10, gone back to)")


def test_provisional_days_that_are_read_beside_what_stays(tmp_path: Path) -> None:
    """`both` reads `one` and `two`, and something settled reads `one`: no routine run builds `both` again without it,
    so none builds `two`."""
    ten_days(tmp_path / "raw")
    models = a_model("one", "raw"), a_model("two", "raw"), a_model("both", "one", "two"), a_model("settled", "one")
    lookout = Lookout(*models, source=delta(tmp_path / "raw"))
    lookout.release()
    append(tmp_path / "raw", "03", "10")
    began = {**dict.fromkeys(("one", "two", "both"), utc("2024-01-02")), "settled": utc("2024-01-09")}
    look = replace(lookout.look(), settling=Settling(clock=NOW, since=began, reach=dict.fromkeys(began, timedelta())))
    found = {(n.model, n.kind): n for n in late_sources(look)}
    for name in ("one", "two"):
        late = found[name, NoticeKind.LATE]
        assert str(late.intervals) == "2024-01-03" and late.what.endswith("stays (settled 2024-01-03, settled)")
        assert str(found[name, NoticeKind.SETTLING].intervals) == "2024-01-10"
