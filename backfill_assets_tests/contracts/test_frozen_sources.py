"""What is left of a plan is built from the sources as the plan froze them: one version comes from one state of them.

Real processes, ledger, Delta sources and version tables; an engine that counts a source's rows stands in for Spark.
What should come out is computed from the sources' own history, by pandas.
"""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from backfill_assets.adapters.source_pins import FilePins
from backfill_assets.app.candidate import open_plan
from backfill_assets.app.context import Context
from backfill_assets.app.evidence import write_evidence
from backfill_assets.app.plan import claim_of, plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.build.engine import Job, SourceInput
from backfill_assets.core.errors import DataError
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.plan.frozen_text import frozen_words
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.lifecycle import named_or_newest_plan
from backfill_assets.state.ledger import Kind
from backfill_assets_tests.delta_tables import DeltaTables
from backfill_assets_tests.fakes import Cell
from backfill_assets_tests.projects import backfill_here, finish, script, start, write_project
from backfill_assets_tests.unsparked import RedEngine, build, unsparked

SOURCES = """\
sources:
  - name: clicks
    format: delta
    path: data/clicks
    time_column: at
    columns: {at: timestamp, n: bigint}
  - name: costs
    format: csv
    path: data/costs
    options: {header: true}
    columns: {at: timestamp, n: bigint}
"""
COUNTS = """\
/*
start: 2024-01-01
grain: [ds]
batch_size: 1
audits: [{{not_null: [ds]}}]
*/
SELECT CAST(at AS DATE) AS ds, count(*) AS id FROM {source} WHERE at >= :start AND at < :end GROUP BY CAST(at AS DATE)
"""
DIES = """
    import os, sys
    from backfill_assets.state.ledger import Ledger
    from backfill_assets_tests.contracts.test_frozen_sources import counting
    from backfill_assets_tests.unsparked import build

    append, seen = Ledger.append, [0]

    def die_after(self, entries):
        append(self, entries)
        seen[0] += any(entry.kind == "built" for entry in entries)
        if seen[0] == 3:
            os.kill(os.getpid(), 9)

    Ledger.append = die_after
    build(counting(sys.argv[1]))
"""


def add(root: Path, *days: int, rows: int = 1, name: str = "clicks") -> None:
    """Rows of these days of January 2024: a commit of the Delta source."""
    at = [datetime(2024, 1, day, 9) + timedelta(minutes=n) for day in days for n in range(rows)]
    frame = pd.DataFrame({"at": pd.to_datetime(at, utc=True), "n": range(len(at)), "day": [a.day for a in at]})
    write_deltalake(root / "data" / name, frame, mode="append", partition_by=["day"])


def counting(root: str | Path) -> Context:
    """The project, with an engine whose cells have as many rows as the source that the job names has at its pin."""
    place = unsparked(Path(root))
    engine = cast("RedEngine", place.engine())

    def cell(job: Job, unit: Interval) -> Cell:
        (read,) = job.inputs.values()
        assert isinstance(read, SourceInput) and read.source.path
        if "commit" not in read.pin:
            return Cell(rows=1)
        return Cell(rows=counts(Path(read.source.path), cast(int, read.pin["commit"])).get(f"{unit.start:%d}", 0))

    engine.cell = cell
    return place


def counts(path: Path, commit: int) -> dict[str, int]:
    """Rows by day of the month of a source at a commit."""
    frame = DeltaTable(path, version=commit).to_pandas()
    return {f"{day:02}": len(rows) for day, rows in frame.groupby(frame["at"].dt.day)}


def built(place: Context, model: str = "counts") -> dict[str, int]:
    """Rows by day of what is built of a model."""
    cells = DeltaTables(place.warehouse).cells(model, place.project.fingerprints[model])
    return {f"{start:%d}": cell.rows for start, cell in cells.items()}


def read(place: Context) -> dict[str, object]:
    """By the ledger: day → the commit of the source from which what counts was built."""
    have = place.facts().tables.coverage["counts"]
    return {
        f"{day.start:%d}": cast("dict[str, dict[str, object]]", entry.inputs)["clicks"]["commit"]
        for part, entry in have.batches(have.built)
        for day in place.project.models["counts"].cadence.split(part)
    }


def words(place: Context, plan: Plan) -> list[str]:
    return frozen_words(plan)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Eight days of a Delta source, in one commit, and a model that counts its rows; nothing is built."""
    return a_project(tmp_path / "shop")


def a_project(root: Path) -> Path:
    write_project(root, {"counts.sql": COUNTS.format(source="clicks")}, sources=SOURCES, clock="2024-01-09")
    add(root, *range(1, 9), rows=2)
    return root


@pytest.fixture(scope="module")
def killed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, after a kill -9 between two batches: three of eight days are built."""
    root = a_project(tmp_path_factory.mktemp("killed") / "shop")
    assert finish(start(*script(DIES, root)), 120).code == -9
    assert len(read(counting(root))) == 3
    return root


@pytest.fixture
def killed(killed_once: Path, tmp_path: Path) -> Path:
    """A copy of that."""
    return Path(shutil.copytree(killed_once, tmp_path / "shop"))


def test_after_a_kill_all_days_are_of_the_state_at_plan_time(killed: Path) -> None:
    """Rows come for built and for missing days, and for a new one: all days of the plan equal the source as it was."""
    at_plan = counts(killed / "data" / "clicks", 0)
    add(killed, 1, 2, 5, 8, rows=3)
    add(killed, 9)
    _clock(killed, "2024-01-10")
    place = counting(killed)
    plan, outcomes = build(place)
    assert all(o.ok for o in outcomes.values())
    assert built(place) == {**at_plan, "09": 1}
    assert read(place) == {f"{d:02}": 0 for d in range(1, 9)} | {"09": 2}
    first = named_or_newest_plan(place.control, None)
    (model,) = write_evidence(place, first.id).packet.models
    assert {b.interval[0][8:10]: b.inputs["clicks"]["commit"] for b in model.batches}.items() <= read(place).items()
    assert len(model.batches) >= 8
    assert [(f.plan, str(f.intervals)) for f in plan.continued.frozen] == [(first.id, "2024-01-01..2024-01-08")]
    froze = f"as plan {first.id} froze it:"
    assert words(place, plan) == [
        f"counts 2024-01-01..2024-01-08 reads clicks at commit 0, {froze} it is at commit 2 by now",
        f"counts 2024-01-09 reads clicks at commit 2, not at commit 0 {froze} the plan did not have them yet",
    ]


def test_killed_again_it_still_reads_the_first_state(killed: Path) -> None:
    """A second death, and more rows: the third run reads what the first one froze."""
    add(killed, 5, rows=3)
    assert finish(start(*script(DIES, killed)), 120).code == -9
    add(killed, 7, 8, rows=3)
    place = counting(killed)
    build(place)
    assert built(place) == counts(killed / "data" / "clicks", 0)


def test_a_plan_says_it_before_anything_is_built(killed: Path) -> None:
    """`plan` and its JSON and Markdown name the commit that is read, and the one that is there."""
    add(killed, 5)
    record = named_or_newest_plan(counting(killed).control, None)
    said = f"reads clicks at commit 0, as plan {record.id} froze it: it is at commit 1 by now"
    assert said in " ".join(backfill_here("plan", project=killed).out.split())
    assert said in backfill_here("plan", "--markdown", project=killed).out
    assert '"continued": {' in backfill_here("plan", "--json", project=killed).out


def test_red_day_is_built_from_the_mended_source(root: Path) -> None:
    """Day 3 is red and day 6 cannot be computed; rows of both and of day 7 change: 3 and 6 read them, 7 does not."""
    place = counting(root)
    engine = cast("RedEngine", place.engine())
    engine.red = {utc("2024-01-03")}
    count = engine.cell

    def broken(job: Job, unit: Interval) -> Cell:
        if unit.start in (utc("2024-01-06"), utc("2024-01-07")):
            raise DataError("a value cannot be cast")
        return count(job, unit)

    engine.cell = broken
    build(place)
    add(root, 3, 6, rows=5)
    again = counting(root)
    plan, _ = build(again)
    assert read(again) == {f"{d:02}": 0 for d in range(1, 9)} | {"03": 1, "06": 1}
    assert built(again) == counts(root / "data" / "clicks", 0) | {"03": 7, "06": 7}
    record = named_or_newest_plan(again.control, None)
    assert words(again, plan) == [
        f"counts 2024-01-07 reads clicks at commit 0, as plan {record.id} froze it: it is at commit 1 by now",
        f"counts 2024-01-03 reads clicks at commit 1, not at commit 0 as plan {record.id} froze it: not_null failed",
        f"counts 2024-01-06 reads clicks at commit 1, not at commit 0 as plan {record.id} froze it: their build failed",
    ]


def test_withdrawn_days_read_the_source_as_it_is(killed: Path) -> None:
    """Who withdraws days wants others: they read the source as it is, the rest stays as the plan froze it."""
    add(killed, *range(1, 9))
    assert backfill_here("withdraw", "counts:2024-01-02", project=killed).code == 0
    place = counting(killed)
    build(place)
    assert read(place) == {f"{d:02}": 0 for d in range(1, 9)} | {"02": 1}


def test_open_day_is_no_day_of_the_plan(root: Path) -> None:
    """A day that was open when the plan was made is built with all of its rows once it is over."""
    _clock(root, "2024-01-08T12:00")
    place = counting(root)
    made = plan_request(place, Request(ignore_cron=True))
    assert made.work and open_plan(place, made)
    add(root, 4, 8, rows=3)
    _clock(root, "2024-01-09")
    later = counting(root)
    build(later, Request(ignore_cron=True))
    assert read(later) == {f"{d:02}": 0 for d in range(1, 8)} | {"08": 1}


def test_newer_code_of_another_model_keeps_what_was_frozen(killed: Path) -> None:
    """A plan that replaces the killed one, since another model came, goes on with what it froze; so does the next."""
    add(killed, 5, 6, rows=3)
    (killed / "models" / "other.sql").write_text(COUNTS.format(source="clicks"))
    assert finish(start(*script(DIES, killed)), 120).code == -9
    add(killed, 7, 8, rows=3)
    place = counting(killed)
    build(place)
    assert built(place) == counts(killed / "data" / "clicks", 0)
    assert built(place, "other") == counts(killed / "data" / "clicks", 1)


def test_restatement_is_of_one_state(root: Path) -> None:
    """A restatement that was begun is gone on with as the source was; where a day of it is red and was mended, all of
    it begins anew."""
    build(counting(root))
    promote_plan(counting(root))
    add(root, 2, 3, rows=4)
    request = Request(restate=(("counts", Interval(utc("2024-01-02"), utc("2024-01-05"))),))
    place = counting(root)
    begun = open_plan(place, plan_request(place, request))
    add(root, 3, 4)
    cast("RedEngine", place.engine()).red = {utc("2024-01-04")}
    plan, _ = build(place, request)
    assert begun and claim_of(place, plan).continues == begun.plan
    version = plan.patches["counts"].version
    made = {f"{day:%d}": c.rows for day, c in DeltaTables(place.warehouse).cells("counts", version).items()}
    assert made == {day: rows for day, rows in counts(root / "data" / "clicks", 1).items() if day in ("02", "03", "04")}
    again = counting(root)
    anew, _ = build(again, request)
    assert anew.patches["counts"].version != version
    assert [(m.source, str(m.intervals), m.why) for m in anew.continued.moved] == [
        ("clicks", "2024-01-04", "not_null failed")
    ]
    cells = DeltaTables(again.warehouse).cells("counts", anew.patches["counts"].version)
    now = counts(root / "data" / "clicks", 2)
    assert {f"{day:%d}": c.rows for day, c in cells.items()} == {day: now[day] for day in ("02", "03", "04")}


def test_vacuumed_pin_is_refused_with_the_way_out(killed: Path) -> None:
    """What the plan froze cannot be read any more: nothing is built of it, and the remedy that is named works."""
    table = killed / "data" / "clicks"
    rows = DeltaTable(table).to_pyarrow_table()
    write_deltalake(table, pa.concat_tables([rows, rows]), mode="overwrite", partition_by=["day"])
    assert DeltaTable(table).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    record = named_or_newest_plan(counting(killed).control, None)
    refused = backfill_here("apply", project=killed)
    told = " ".join(refused.err.split())
    assert refused.code == 1
    assert f"source clicks cannot be read at commit 0 any more, which plan {record.id} froze" in told
    assert "8 of the files of commit 0 are gone (vacuumed)" in told
    assert f"fix: backfill abandon {record.id}, then this again" in told
    assert told.endswith(
        "make what is built missing as well, before that: backfill withdraw counts:2024-01-01..2024-01-03"
    )
    backfill_here("abandon", record.id, project=killed)
    backfill_here("withdraw", "counts:2024-01-01..2024-01-03", project=killed)
    place = counting(killed)
    build(place)
    assert built(place) == counts(table, 1)


def test_table_made_anew_is_refused_with_the_way_out(killed: Path) -> None:
    """Another table at the source's place has as many commits: what the plan froze is not its commit 0."""
    table = killed / "data" / "clicks"
    shutil.rmtree(table)
    add(killed, *range(1, 9), rows=5)
    record = named_or_newest_plan(counting(killed).control, None)
    for command in ("plan", "apply"):
        refused = backfill_here(command, project=killed)
        told = " ".join(refused.err.split())
        assert refused.code == 1, refused
        assert f"source clicks cannot be read at commit 0 any more, which plan {record.id} froze" in told
        assert "was made anew: its commit 0 is another table's" in told
        assert f"fix: backfill abandon {record.id}, then this again" in told
    backfill_here("abandon", record.id, project=killed)
    backfill_here("withdraw", "counts:2024-01-01..2024-01-03", project=killed)
    place = counting(killed)
    plan, _ = build(place)
    assert built(place) == counts(table, 0)
    opened = named_or_newest_plan(place.control, None)
    assert place.control.plans.document(opened.id)["sources"] == {n: dict(p) for n, p in plan.sources.items()}  # type: ignore[index]


def test_red_day_reads_the_table_that_was_made_anew(root: Path) -> None:
    """All is built and a day is red: that day reads the new table, whatever its commits' numbers, and it is said."""
    place = counting(root)
    cast("RedEngine", place.engine()).red = {utc("2024-01-03")}
    build(place)
    shutil.rmtree(root / "data" / "clicks")
    add(root, *range(1, 9), rows=5)
    again = counting(root)
    plan, _ = build(again)
    record = named_or_newest_plan(again.control, None)
    assert words(again, plan) == [
        "counts 2024-01-03 reads clicks at commit 0 of the table that was made anew, not at commit 0"
        f" as plan {record.id} froze it: not_null failed"
    ]
    assert built(again) == {f"{d:02}": 2 for d in range(1, 9)} | {"03": 5}


def test_records_without_a_tables_id_go_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an older release pinned, built and restated is built upon, restated and complete, as it was then."""
    pin = FilePins.pin
    restate = Request(restate=(("counts", Interval(utc("2024-01-02"), utc("2024-01-05"))),))
    with monkeypatch.context() as older:
        older.setattr(FilePins, "pin", lambda self, s: {k: v for k, v in pin(self, s).items() if k != "table"})
        place = counting(root)
        assert open_plan(place, plan_request(place))
        build(place)
        promote_plan(place)
        before, _ = build(counting(root), restate)
    place = counting(root)
    assert not plan_request(place).work
    plan = plan_request(place, restate)
    assert plan.patches["counts"].version == before.patches["counts"].version and not plan.work
    assert not words(place, plan)


def test_changed_files_are_said(killed: Path) -> None:
    """Files cannot be read as they were: which days read which is said, and the remedy that is named works."""
    costs = killed / "data" / "costs"
    costs.mkdir(parents=True)
    (costs / "a.csv").write_text("at,n\n2024-01-01T00:00:00Z,1\n")
    backfill_here("abandon", named_or_newest_plan(counting(killed).control, None).id, project=killed)
    (killed / "models" / "counts.sql").write_text(COUNTS.format(source="costs"))
    assert finish(start(*script(DIES, killed)), 120).code == -9
    (costs / "b.csv").write_text("at,n\n2024-01-02T00:00:00Z,1\n")
    place = counting(killed)
    plan, record = plan_request(place), named_or_newest_plan(place.control, None)
    remedy = f"backfill abandon {record.id}; backfill withdraw counts:2024-01-01..2024-01-03; then apply again"
    assert words(place, plan) == [
        f"costs changed since plan {record.id} froze it (1 files then, 2 now), and files cannot be read as they were: "
        "counts 2024-01-01..2024-01-03 was built from other files than 2024-01-04..2024-01-08 will be\n"
        f"  fix: to build all of it from those that are there: {remedy}"
    ]
    backfill_here("abandon", record.id, project=killed)
    backfill_here("withdraw", "counts:2024-01-01..2024-01-03", project=killed)
    again = counting(killed)
    plan, _ = build(again)
    assert not words(again, plan)
    entries = again.control.ledger.entries(["counts"], kinds=[Kind.BUILT])[-8:]
    assert all(e.inputs == {"costs": dict(again.facts().sources.pins["costs"])} for e in entries)


def _clock(root: Path, clock: str) -> None:
    text = (root / "backfill.yml").read_text()
    said = text.split('"clock": "')[1].split('"')[0]
    (root / "backfill.yml").write_text(text.replace(said, clock))
