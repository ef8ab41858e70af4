"""Somebody changes a source whose columns its data says: the models that read what is gone cannot be computed, nothing
else is held up, and nobody who looks or goes back is refused."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from backfill_assets import build_definitions
from backfill_assets.app import apply as apply_case
from backfill_assets.app.apply import build_plan, check_plan, not_promoted, start_apply
from backfill_assets.app.approve import approval_statements, approve_plan
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.prove import Proved
from backfill_assets.app.routine import extend
from backfill_assets.app.status import read_status
from backfill_assets.build.bench import Workbench
from backfill_assets.core.errors import PlanError, ProjectError
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.core.model import Column, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.defs.runs import Runs
from backfill_assets.plan.stages import Request
from backfill_assets.project import file_schema
from backfill_assets.project.loader import load_project
from backfill_assets.state.versions import columns_ever
from backfill_assets_tests.dagster_place import failure_of, materialize, nothing_found
from backfill_assets_tests.projects import backfill_here
from backfill_assets_tests.unsparked import build, promoted, unsparked

HEADER = "/*\nstart: 2024-01-01\ngrain: [ds]\n*/\n"
WITHIN = "WHERE at >= :start AND at < :end GROUP BY ALL"
MODELS = {
    "of_a": f"{HEADER}SELECT CAST(at AS DATE) AS ds, sum(qty) AS qty FROM raw.a {WITHIN}",
    "counted_a": f"{HEADER}SELECT CAST(at AS DATE) AS ds, count(*) AS n FROM raw.a {WITHIN}",
    "of_b": f"{HEADER}SELECT CAST(at AS DATE) AS ds, sum(qty) AS qty FROM raw.b {WITHIN}",
    "over_a": f"{HEADER}SELECT ds, qty * 2 AS twice FROM of_a WHERE ds >= :start AND ds < :end",
}


def write(root: Path, source: str, *columns: str, days: int = 3) -> None:
    """A Delta table with a row a day."""
    at = pa.array([datetime(2024, 1, day, 10, tzinfo=UTC) for day in range(1, days + 1)], pa.timestamp("us", "UTC"))
    numbers = pa.array([*range(days)], pa.int64())
    table = pa.table({name: at if name == "at" else numbers for name in columns})
    write_deltalake(str(root / "data" / source), table, mode="overwrite", schema_mode="overwrite")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    for name, text in MODELS.items():
        (tmp_path / "models" / f"{name}.sql").write_text(text)
    (tmp_path / "backfill.yml").write_text("name: faults\nclock: 2024-01-04\n")
    sources = "".join(f"  - {{name: raw.{name}, path: data/{name}, time_column: at}}\n" for name in "ab")
    (tmp_path / "sources.yml").write_text(f"sources:\n{sources}")
    for source in "ab":
        write(tmp_path, source, "at", "qty")
    return tmp_path


def shown(root: Path) -> Mapping[str, Pointer]:
    """What prod shows."""
    return unsparked(root).control.environments.read("prod").pointers


def told(project: Project) -> dict[str, set[str]]:
    return {name: {problem.what for problem in problems} for name, problems in project.faults.items()}


def test_a_column_that_was_renamed(root: Path) -> None:
    """The model that reads it cannot be computed, and says what its source has by now. Whose versions are theirs."""
    before = load_project(root)
    write(root, "a", "at", "quantity")
    after = load_project(root)
    assert told(before) == {} and told(after) == {"of_a": {"no column `qty`"}}
    assert "raw.a has these columns by now, as its data says: at, quantity" in after.faults["of_a"][0].why
    same = {name for name in after.models if after.fingerprints[name] == before.fingerprints[name]}
    assert same == {"counted_a", "of_b"}
    write(root, "a", "at", "qty")
    assert load_project(root) == before


@pytest.mark.parametrize(
    ("columns", "faults"),
    [
        (None, {name: {"the columns of `raw.a` are unknown"} for name in ("counted_a", "of_a")}),
        (("qty", "noted"), {"counted_a": {"no column `at`", "`raw.a` has no column `at`"}}),
    ],
)
def test_a_table_or_its_time_column_is_gone(
    root: Path, columns: tuple[str, ...] | None, faults: dict[str, set[str]]
) -> None:
    shutil.rmtree(root / "data" / "a")
    if columns:
        write(root, "a", *columns)
    found = told(load_project(root))
    assert found.keys() == {"counted_a", "of_a"}
    assert {name: found[name] for name in faults} == faults


@pytest.mark.parametrize("damaged", [True, False])
def test_a_table_that_cannot_be_read_is_not_to_be_created(root: Path, damaged: bool) -> None:
    """Where there is one."""
    for entry in (root / "data" / "a" / "_delta_log").glob("*.json"):
        entry.write_text("no JSON") if damaged else entry.unlink()
    fixes = {problem.fix for problem in load_project(root).faults["of_a"]}
    assert fixes == {
        f"declare `columns:`, or {'mend' if damaged else 'create'} the delta table at {root / 'data' / 'a'}"
    }


def test_what_the_files_say_is_refused_with_it(root: Path) -> None:
    """All problems at once, as ever: the file is edited anyway."""
    write(root, "a", "at", "quantity")
    (root / "models" / "of_b.sql").write_text(MODELS["of_b"].replace("grain", "grian"))
    with pytest.raises(ProjectError) as refused:
        load_project(root)
    assert {p.what.split(" ")[0] for p in refused.value.problems} == {"no", "unknown", "`grain`"}


def test_columns_that_are_declared_are_the_files(root: Path) -> None:
    sources = root / "sources.yml"
    sources.write_text(sources.read_text().replace("time_column: at}", "time_column: at, columns: {at: timestamp}}"))
    with pytest.raises(ProjectError):
        load_project(root)


def test_plans_of_it_are_refused_and_of_others_are_not(root: Path) -> None:
    """Also of what reads it, and of all that is asked for without a name."""
    promoted(root)
    write(root, "a", "at", "quantity")
    place = unsparked(root)
    for select in ((), ("of_a",), ("over_a",), ("of_b", "over_a")):
        with pytest.raises(ProjectError, match="1 problem"):
            build(place, Request(select=select))
    plan, _ = build(place, Request(select=("of_b", "counted_a")))
    assert plan.models == ("counted_a", "of_b")


@pytest.mark.parametrize("columns", [("at", "quantity"), None], ids=["renamed", "away"])
def test_versions_stay_those_that_were_built(root: Path, columns: tuple[str, ...] | None) -> None:
    """Nobody is told that what is built is missing: not by `status`, not in Dagster. An edit is another version."""
    built = unsparked(promoted(root)).project.fingerprints
    shutil.rmtree(root / "data" / "a")
    if columns:
        write(root, "a", *columns)
    assert unsparked(root).project.faults and unsparked(root).project.fingerprints == built
    assert all(m.green == m.expected for m in read_status(unsparked(root)).models)
    for old, new in (("qty * 2", "qty * 3"), ("grain: [ds]", "grain: [ds]\nlookback: 2")):
        file = root / "models" / "over_a.sql"
        file.write_text(MODELS["over_a"].replace(old, new))
        now = unsparked(root).project.fingerprints
        assert {name for name in built if now[name] != built[name]} == {"over_a"}


def test_what_cannot_be_computed_is_not_materialized(root: Path, instance: dg.DagsterInstance) -> None:
    """Nor what reads it; an open plan of it changes nothing about that."""
    promoted(root)
    file = root / "models" / "over_a.sql"
    file.write_text(file.read_text().replace("qty * 2", "qty * 3"))
    start_apply(unsparked(root), Request(select=("over_a",)))
    write(root, "a", "at", "quantity")
    done = materialize(unsparked(root), instance, "over_a", first="2024-01-02", last="2024-01-03")
    assert "no column `qty`" in failure_of(done, "over_a")


def test_the_rest_is_extended_and_looked_at(root: Path) -> None:
    """Routine runs go on by what is published; whoever looks is told once, in a line."""
    promoted(root)
    write(root, "a", "at", "quantity", days=4)
    write(root, "b", "at", "qty", days=4)
    settings = root / "backfill.yml"
    settings.write_text(settings.read_text().replace("01-04", "01-05"))
    held = extend(unsparked(root)).left
    assert {o.model: o.what.split(", and")[0] for o in held if o.model == "of_a"} == {
        "of_a": "is not extended: column qty of its source raw.a is gone"
    }
    assert {name: str(p.covers)[-10:] for name, p in shown(root).items()} == {
        "counted_a": "2024-01-04", "of_b": "2024-01-04", "of_a": "2024-01-03", "over_a": "2024-01-03"
    }  # fmt: skip
    for command in ("status", "releases", "plans", "watch"):
        said = backfill_here(command, project=root)
        assert said.code in (0, 3), (command, said.err)
        assert "of_a cannot be computed, as its sources are by now: models/of_a.sql:5: no column `qty`" in said.err
    said = backfill_here("plan", project=root)
    assert said.code == 1 and "raw.a has these columns by now" in said.err


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("models/of_a.sql", "sum(qty)", "sum(qyt)"),
        ("models/of_a.sql", "grain: [ds]", "grain: [day]"),
        ("models/over_a.sql", "qty * 2", "qyt * 2"),
        ("sources.yml", "path: data/a", "path: data/aa"),
        ("sources.yml", "time_column: at", "time_column: att"),
    ],
)
def test_what_an_author_edited_is_the_author_s(root: Path, file: str, old: str, new: str) -> None:
    """Also where a source changed meanwhile: nothing that was built says that the file is right."""
    promoted(root)
    place = root / file
    place.write_text(place.read_text().replace(old, new, 1))
    for columns in (("at", "qty"), ("at", "quantity")):
        write(root, "a", *columns)
        if (file, columns[1]) != ("models/over_a.sql", "quantity"):  # nobody knows what it reads then
            with pytest.raises(ProjectError):
                unsparked(root)


def test_what_decides_no_rows_may_be_edited(root: Path) -> None:
    """Who owns a model, a comment, how fresh a source is: the source is the reason all the same."""
    promoted(root)
    of_a, sources = root / "models" / "of_a.sql", root / "sources.yml"
    of_a.write_text(of_a.read_text().replace("grain:", "owner: ana@example.com\ngrain:") + " -- by day\n")
    sources.write_text(sources.read_text().replace("path: data/a", "freshness: 36h, path: data/a"))
    write(root, "a", "at", "quantity")
    assert told(unsparked(root).project) == {"of_a": {"no column `qty`"}}


def test_a_header_that_is_wrong_is_no_source_s_fault(root: Path) -> None:
    """The query is as it was built, and so are the source's columns."""
    promoted(root)
    of_a = root / "models" / "of_a.sql"
    of_a.write_text(of_a.read_text().replace("grain: [ds]", "grain: [ds]\naudits:\n  - not_null: [qyt]"))
    with pytest.raises(ProjectError, match="1 problem"):
        unsparked(root)


def test_a_project_of_which_nothing_was_built_is_right_or_refused(root: Path) -> None:
    write(root, "a", "at", "quantity")
    with pytest.raises(ProjectError, match="1 problem"):
        unsparked(root)


def test_columns_that_nobody_can_tell_hold_back_what_reads_them(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is there, and whoever plans cannot read its columns: Spark may, and nobody knows as what."""
    promoted(root)
    write(root, "a", "at", "qty", days=4)
    settings = root / "backfill.yml"
    settings.write_text(settings.read_text().replace("01-04", "01-05"))
    readable = file_schema.read_schema

    def read_schema(format: str, path: str) -> tuple[Column, ...]:
        if path.endswith("/a"):
            raise OSError("a feature that this reader lacks")
        return readable(format, path)

    monkeypatch.setattr(file_schema, "read_schema", read_schema)
    held = {o.model: o.what for o in extend(unsparked(root)).left}
    why = "is not extended: the columns of its source raw.a are unknown by now:"
    assert (held["of_a"], held["counted_a"]) == (why, why)


def test_nothing_masked_is_shown(root: Path) -> None:
    """Of what a model is computed from that cannot be, nobody knows: all of its columns are masked, and of what reads
    it, in each form in which they were ever built."""
    sources = root / "sources.yml"
    sources.write_text(sources.read_text().replace("path: data/a,", "path: data/a, mask: [who],"))
    write(root, "a", "at", "qty", "who")
    of_a = root / "models" / "of_a.sql"
    of_a.write_text(MODELS["of_a"].replace("sum(qty) AS qty", "sum(qty) AS qty, max(who) AS who"))
    promoted(root)
    masks = {name: model.mask for name, model in unsparked(root).project.models.items()}
    assert masks == {"of_a": ("who",), "counted_a": (), "of_b": (), "over_a": ()}
    built = {
        name: tuple(sorted(c - {"ds"})) for name, c in columns_ever(unsparked(root).control.versions.all()).items()
    }
    for columns, hidden in ((("quantity", "who"), {"of_a", "over_a"}), (("qty", "called"), {*masks} - {"of_b"})):
        write(root, "a", "at", *columns)
        masks = {name: model.mask for name, model in unsparked(root).project.models.items()}
        assert masks == {name: built[name] if name in hidden else () for name in masks}


def test_a_routine_run_goes_on_where_a_source_is_away(root: Path) -> None:
    """Its readers stay as they are, with the reason; once it is back they are extended."""
    promoted(root)
    (root / "data" / "a").rename(root / "data" / "away")
    write(root, "b", "at", "qty", days=4)
    assert backfill_here("status", project=root).code == 0
    assert backfill_here("plan", "--select", "of_b", project=root).code == 0
    settings = root / "backfill.yml"
    settings.write_text(settings.read_text().replace("01-04", "01-05"))
    first = extend(unsparked(root))
    assert [*first.carried.outcomes] == ["of_b"] and first.promoted.environment.revision > 1
    why = "is not extended: its source raw.a is away: there is no Delta table"
    assert {o.model: why in o.what for o in first.left} == {"counted_a": True, "of_a": True, "over_a": False}
    assert all(str(o.intervals) == "2024-01-04" and "put back what was there" in o.remedy for o in first.left)
    (root / "data" / "away").rename(root / "data" / "a")
    write(root, "a", "at", "qty", days=4)
    assert extend(unsparked(root)).left == ()
    assert {str(p.covers) for p in shown(root).values()} == {"2024-01-01..2024-01-04"}


def test_dagster_loads_the_project(root: Path) -> None:
    """A code location that did not load would stop the schedules of all."""
    promoted(root)
    write(root, "a", "at", "quantity")
    assert len(build_definitions(root).resolve_all_asset_specs()) >= len(MODELS)


def test_a_source_that_an_audit_looks_up_is_away(root: Path) -> None:
    """Its model waits; once nobody built it with this code, it is an author's mistake as ever."""
    file = root / "models" / "of_b.sql"
    audit = "audits: [{relationships: {columns: qty, to: raw.c, fields: qty}}]\n"
    file.write_text(file.read_text().replace("grain: [ds]\n", f"grain: [ds]\n{audit}"))
    sources = root / "sources.yml"
    sources.write_text(sources.read_text() + "  - {name: raw.c, path: data/c}\n")
    write(root, "c", "at", "qty")
    promoted(root)
    shutil.rmtree(root / "data" / "c")
    assert told(load_project(root)) == {"of_b": {"the columns of `raw.c` are unknown"}}
    assert backfill_here("status", project=root).code == 0
    plan, _ = build(unsparked(root), Request(select=("of_a",)))
    assert plan.models == ("of_a",)
    with pytest.raises(ProjectError, match="1 problem"):
        build(unsparked(root), Request(select=("of_b",)))
    file.write_text(file.read_text().replace("sum(qty)", "max(qty)"))
    with pytest.raises(ProjectError):
        unsparked(root)


class TestDeclared:
    """A source whose columns are declared, or that nobody has to look into to load the project, is away."""

    @pytest.fixture
    def place(self, root: Path) -> Path:
        """All is promoted; then `raw.a` is away, and a day more is over."""
        sources = root / "sources.yml"
        sources.write_text(sources.read_text().replace(" at}", " at, columns: {at: timestamp, qty: bigint}}"))
        for file in (root / "models").iterdir():
            file.write_text(file.read_text().replace("grain:", "owner: ana@example.com\ngrain:"))
        (root / "consumers.yml").write_text("last_verified: 2024-01-03\nconsumers: []\n")
        promoted(root)
        (root / "data" / "a").rename(root / "data" / "away")
        write(root, "b", "at", "qty", days=4)
        settings = root / "backfill.yml"
        settings.write_text(settings.read_text().replace("01-04", "01-05"))
        return root

    def test_what_reads_it_waits_and_all_else_is_built_and_shown(self, place: Path) -> None:
        plan, _ = build(unsparked(place))
        waits = {(b.model, b.upstream, str(b.intervals)) for b in plan.blocked}
        assert waits == {(m, "raw.a", "2024-01-04") for m in ("counted_a", "of_a")} | {("over_a", "of_a", "2024-01-04")}
        [told] = [w for w in plan.warnings if w.place == "sources.yml:2"]
        assert told.what == "source raw.a has no data" and "what counted_a and of_a lack waits for it" in told.why
        assert promote_plan(unsparked(place)).verdict.open
        assert {name: str(p.covers)[-10:] for name, p in shown(place).items()} == {
            "counted_a": "2024-01-03", "of_a": "2024-01-03", "over_a": "2024-01-03", "of_b": "2024-01-04"
        }  # fmt: skip

    def test_who_looks_is_told(self, place: Path) -> None:
        said = backfill_here("status", project=place)
        assert said.code == 0 and "source raw.a has no data" in said.out and "sources.yml" in said.out
        said = backfill_here("watch", project=place)
        assert said.code == 3 and "raw.a" in said.out

    @pytest.mark.parametrize(
        "asked",
        [
            Request(select=("of_a",)),
            Request(restate=(("of_a", Interval.of("2024-01-01", "2024-01-02")),)),
        ],
    )
    def test_what_nothing_else_is_to_be_done_for_is_refused(self, place: Path, asked: Request) -> None:
        with pytest.raises(PlanError, match=r"source raw\.a has no data"):
            build(unsparked(place), asked)

    def test_other_code_waits_whole(self, place: Path) -> None:
        """Nothing of it is expected less, as of a source that has no rows."""
        file = place / "models" / "of_a.sql"
        file.write_text(file.read_text().replace("sum(qty)", "max(qty)"))
        plan, _ = build(unsparked(place))
        assert {(b.model, str(b.intervals)) for b in plan.blocked} == {
            ("counted_a", "2024-01-04"), ("of_a", "2024-01-01..2024-01-04"), ("over_a", "2024-01-01..2024-01-04")
        }  # fmt: skip
        assert [name for name, _ in plan.moves] == ["of_b"]

    def test_files_that_are_not_there_bound_nothing(self, place: Path) -> None:
        """A folder without files has no rows to end a model at."""
        sources = place / "sources.yml"
        sources.write_text(sources.read_text().replace("path: data/a,", "path: data/a, format: csv,"))
        plan, _ = build(unsparked(place))
        whole = {(b.model, str(b.intervals)) for b in plan.blocked if b.upstream == "raw.a"}
        assert whole == {("counted_a", "2024-01-01..2024-01-04"), ("of_a", "2024-01-01..2024-01-04")}

    def test_once_it_is_back_all_goes_on(self, place: Path) -> None:
        build(unsparked(place))
        (place / "data" / "away").rename(place / "data" / "a")
        write(place, "a", "at", "qty", days=4)
        plan, _ = build(unsparked(place))
        assert not plan.blocked and promote_plan(unsparked(place)).verdict.open
        assert {str(p.covers) for p in shown(place).values()} == {"2024-01-01..2024-01-04"}

    def test_what_is_complete_is_compared(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A change beside what waits needs no source to be approved; the apply says what shows it, in Dagster too."""
        proved: list[str] = []
        monkeypatch.setattr(apply_case, "prove_built", lambda _, plan, *__: proved.append(plan) or Proved())
        file = place / "models" / "of_b.sql"
        file.write_text(file.read_text().replace("sum(qty)", "max(qty)"))
        built = build_plan(there := unsparked(place), started := start_apply(there, Request()))
        assert started.plan.blocked and built.all_green and not built.complete
        checked = check_plan(there, built)
        assert not checked.unproved and proved == [started.stored]
        assert not_promoted(built, checked) == "Nothing was promoted. To show what is complete: backfill promote"

    def test_what_waits_for_its_last_days_is_left_out(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of what is judged: a model of which a part is built holds up no others."""
        monkeypatch.setattr("backfill_assets.app.apply.prove_built", nothing_found)
        for name, old, new in (("of_b", "sum(qty)", "max(qty)"), ("over_a", "qty * 2", "qty * 3")):
            file = place / "models" / f"{name}.sql"
            file.write_text(file.read_text().replace(old, new))
        built = build_plan(there := unsparked(place, user="dev"), started := start_apply(there, Request()))
        assert not check_plan(there, built).proved.in_the_way
        ana = unsparked(place, user="ana@example.com")
        [approval] = approval_statements(ana, started.stored, by="ana@example.com")
        approve_plan(ana, approval)
        done = promote_plan(unsparked(place), plan=started.stored)
        assert [p.model for p in done.verdict.pointers] == ["of_b"] and done.verdict.open

    def test_what_is_computed_again_is_shown_whole(self, place: Path) -> None:
        """A restatement of which a reader waits does not move without it."""
        joined = "SELECT b.ds, b.qty FROM of_b AS b JOIN raw.a AS a ON b.ds = CAST(a.at AS DATE)"
        (place / "models" / "joined.sql").write_text(f"{HEADER}{joined} WHERE b.ds >= :start AND b.ds < :end")
        (place / "data" / "away").rename(place / "data" / "a")
        promoted(place)
        restated = Request(restate=(("of_b", Interval.of("2024-01-02", "2024-01-03")),))
        there = unsparked(place)
        started = start_apply(there, restated, only=[("of_b", Interval.of("2024-01-02", "2024-01-03"))])
        build_plan(there, started)
        (place / "data" / "a").rename(place / "data" / "away")
        verdict = promote_plan(unsparked(place), plan=started.stored).verdict
        assert "1 day is not built:" in {o.what for o in verdict.obstacles if o.model == "joined"}

    def test_a_source_that_comes_back_during_a_run(
        self, place: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Is away for all of it: what its rows bound was found out without them."""
        steps: list[object] = []

        def bench(runs: Runs, step: dg.AssetExecutionContext) -> Workbench:
            if len(steps) == 1:
                (place / "data" / "away").rename(place / "data" / "a")
            steps.append(step)
            return asked(runs, step)

        asked = Runs.bench
        monkeypatch.setattr(Runs, "bench", bench)
        done = materialize(
            unsparked(place), instance, "counted_a", "of_a", "of_b", first="2024-01-04", last="2024-01-04"
        )
        assert len(steps) == 3 and "source raw.a has no data" in failure_of(done, "of_a")

    def test_a_change_above_what_waits(self, place: Path) -> None:
        """Is planned and built, and shown with its reader once that is built: neither is without the other."""
        joined = "SELECT b.ds, b.qty FROM of_b AS b JOIN raw.a AS a ON b.ds = CAST(a.at AS DATE)"
        (place / "models" / "joined.sql").write_text(f"{HEADER}{joined} WHERE b.ds >= :start AND b.ds < :end")
        (place / "data" / "away").rename(place / "data" / "a")
        promoted(place)
        (place / "data" / "a").rename(place / "data" / "away")
        file = place / "models" / "of_b.sql"
        file.write_text(file.read_text().replace("sum(qty)", "max(qty)"))
        built = build_plan(there := unsparked(place), started := start_apply(there, Request()))
        told = {o.model: o.remedy for o in (*started.ahead, *check_plan(there, built).proved.in_the_way)}
        waits = "joined waits for raw.a 2024-01-01..2024-01-04: promote both when joined is built"
        assert built.all_green and told == {"joined": waits}
        assert waits in {o.remedy for o in promote_plan(unsparked(place)).verdict.obstacles if o.model == "joined"}

    def test_the_watch_does_not_send_to_a_routine_run(self, place: Path) -> None:
        """Which would hold it back again."""
        settings = place / "backfill.yml"
        settings.write_text(settings.read_text().replace("01-05", "01-08"))
        said = " ".join(backfill_here("watch", project=place).out.split())
        assert "it is not extended: its source raw.a is away: there is no Delta table at" in said
        assert "fix: put back what was there, or promote what is declared now; then backfill routine" in said

    def test_dagster_builds_what_does_not_read_it(self, place: Path, instance: dg.DagsterInstance) -> None:
        """In one run with what does: of that the step says why it cannot."""
        done = materialize(unsparked(place), instance, "of_b", "of_a", first="2024-01-04", last="2024-01-04")
        assert {event.node_name for event in done.get_asset_materialization_events()} == {"of_b"}
        assert "source raw.a has no data" in failure_of(done, "of_a")

    def test_an_audit_that_looks_it_up_waits_too(self, place: Path) -> None:
        file = place / "models" / "of_b.sql"
        audit = "audits: [{relationships: {columns: qty, to: raw.a, fields: qty}}]\n"
        file.write_text(file.read_text().replace("grain: [ds]\n", f"grain: [ds]\n{audit}"))
        with pytest.raises(PlanError, match=r"source raw\.a has no data"):
            plan_request(unsparked(place), Request(select=("of_b",)))

    def test_nothing_of_it_is_promoted(self, place: Path) -> None:
        """Nobody can tell whether what is shown has newer rows of it than what was built; with it back, it is."""
        (place / "data" / "away").rename(place / "data" / "a")
        file = place / "models" / "of_a.sql"
        file.write_text(file.read_text().replace("sum(qty)", "max(qty)"))
        build(unsparked(place))
        (place / "data" / "a").rename(place / "data" / "away")
        verdict = promote_plan(unsparked(place), Request(end=utc("2024-01-04"))).verdict
        told = [o for o in verdict.obstacles if "raw.a cannot be looked at" in o.what]
        assert {o.model for o in told} >= {"of_a"} and not verdict.open

    def test_a_promotion_says_what_waits(self, place: Path) -> None:
        build(unsparked(place))
        done = promote_plan(unsparked(place))
        assert [note for note in done.notes if note.startswith("of_a waits for raw.a 2024-01-04: there is no Delta")]
        with pytest.raises(PlanError, match=r"source raw\.a has no data"):
            promote_plan(unsparked(place), Request(select=("of_a",)))

    def test_a_column_that_no_file_has_any_more(self, place: Path) -> None:
        """A routine run holds back what reads such a source, as plans do, and nothing is read unpinned."""
        (place / "data" / "away").rename(place / "data" / "a")
        sources = place / "sources.yml"
        sources.write_text(sources.read_text().replace("path: data/a,", "path: data/a, format: csv,"))
        shutil.rmtree(place / "data" / "a")
        (place / "data" / "a").mkdir()
        (place / "data" / "a" / "1.csv").write_text("at,quantity\n2024-01-04T10:00:00Z,1\n")
        sources.write_text(sources.read_text().replace("format: csv,", "format: csv, options: {header: true},"))
        held = extend(unsparked(place)).left
        assert {"of_a", "counted_a"} <= {o.model for o in held} and all(o.model != "of_b" for o in held)

    @pytest.mark.parametrize("command", ["plan --select of_b", "status", "watch", "routine"])
    def test_a_damaged_log_ends_nothing(self, place: Path, command: str) -> None:
        """Of a source; what else there is to do is done."""
        (place / "data" / "away").rename(place / "data" / "a")
        for entry in (place / "data" / "a" / "_delta_log").glob("*.json"):
            entry.write_text("no JSON")
        if command == "routine":
            assert {o.model for o in extend(unsparked(place)).left} == {"counted_a", "of_a", "over_a"}
        else:
            said = backfill_here(*command.split(), project=place)
            assert said.code in ((3,) if command == "watch" else (0,)), said.err
            assert command.startswith("plan") or "raw.a" in said.out
