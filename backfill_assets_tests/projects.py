"""How does a test get a project of its own? Written files, a workspace over the shared session, CLI subprocesses."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pytest
from deltalake import CommitProperties, write_deltalake

from backfill_assets.adapters.engine import SparkEngine
from backfill_assets.adapters.table_log import batch_metadata, open_table
from backfill_assets.app.approve import approval_statements, approve_plan
from backfill_assets.app.candidate import open_plan, show_candidate
from backfill_assets.app.context import Context
from backfill_assets.app.gate import cases_of
from backfill_assets.app.plan import plan_request
from backfill_assets.app.prove import prove_built
from backfill_assets.build.apply import apply
from backfill_assets.build.engine import Input, Job, ModelInput, SourceInput
from backfill_assets.build.outcome import Outcome
from backfill_assets.core.intervals import Cadence, Interval, utc
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.plan.stages import Request
from backfill_assets.project.stored import to_definition
from backfill_assets.promote.approval import subject
from backfill_assets.promote.lifecycle import find_plan
from backfill_assets.promote.promote import promote
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.state.versions import Version, table_path

if TYPE_CHECKING:
    import dagster as dg

T = TypeVar("T")
CHECKOUT = Path(__file__).resolve().parent.parent
BACKFILL = Path(sys.executable).parent / "backfill"
SMALL_SPARK = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}
"""Settings for subprocesses: several of them run beside the JVM of the tests."""

EVENTS = """\
sources:
  - name: raw.events
    format: csv
    path: data/events
    options: {header: true}
    columns: {id: bigint, at: timestamp, kind: string, amount: "decimal(10,2)"}
"""

DAILY = """\
/*
start: 2024-01-01
owner: ana@example.com
grain: [ds, kind]
batch_size: {batch_size}
batch_concurrency: {batch_concurrency}
audits:
  - not_null: [ds, kind, n]
  - range: {{column: total, min: 0}}
  - completeness
*/
SELECT CAST(at AS DATE) AS ds, kind, count(*) AS n, sum(amount) AS total
FROM raw.events WHERE at >= :start AND at < :end
GROUP BY CAST(at AS DATE), kind
"""

RUNNING = """\
/*
start: 2024-01-01
owner: ana@example.com
grain: [ds]
lookback: 1
batch_size: {batch_size}
*/
SELECT now.ds, sum(now.total) AS total, sum(before.total) AS day_before
FROM (SELECT ds, sum(total) AS total FROM daily WHERE ds >= :start AND ds < :end GROUP BY ds) AS now
LEFT JOIN (SELECT ds, sum(total) AS total FROM daily WHERE ds >= date_sub(:start, 1) GROUP BY ds) AS before
  ON before.ds = date_sub(now.ds, 1)
GROUP BY now.ds
"""


def an_environment() -> str:
    """An environment's name that nobody else uses: all tests share one catalog."""
    return f"env_{uuid.uuid4().hex[:8]}"


def write_project(
    root: Path,
    models: Mapping[str, str],
    *,
    sources: str = EVENTS,
    clock: str = "2024-01-11",
    environment: str = "prod",
    spark: Mapping[str, str] = SMALL_SPARK,
    approvals: Mapping[str, object] | None = None,
) -> Path:
    """A project's files: `models` maps file names (`daily.sql`) to their text.

    Its owners approve what changes published rows, as in a project that says nothing of `approvals`.
    """
    (root / "models").mkdir(parents=True, exist_ok=True)
    settings = {
        "name": "tests",
        "environment": environment,
        "clock": clock,
        "spark": dict(spark),
    }
    settings |= {"approvals": dict(approvals)} if approvals is not None else {}
    (root / "backfill.yml").write_text(json.dumps(settings))
    (root / "sources.yml").write_text(dedent(sources))
    if not (root / "consumers.yml").exists():
        (root / "consumers.yml").write_text(f"last_verified: {clock[:10]}\n")
    for name, text in models.items():
        (root / "models" / name).write_text(dedent(text))
    return root


def write_events(root: Path, *, first: str = "2024-01-01", days: int = 10, per_day: int = 6, bad: str = "") -> Path:
    """A CSV file a day of raw.events; one amount of the day `bad` is negative."""
    folder = root / "data" / "events"
    folder.mkdir(parents=True, exist_ok=True)
    for day in range(days):
        start = utc(first) + timedelta(days=day)
        lines = ["id,at,kind,amount"]
        for n in range(per_day):
            at = start + timedelta(hours=23 * n // max(per_day - 1, 1), minutes=day % 60)
            cents = 1000 * (day + 1) + 7 * n if f"{start:%Y-%m-%d}" != bad or n else -50_000
            lines.append(f"{day * per_day + n},{at:%Y-%m-%dT%H:%M:%SZ},{'ab'[n % 2]},{cents / 100:.2f}")
        (folder / f"{start:%Y-%m-%d}.csv").write_text("\n".join(lines) + "\n")
    return folder


def small_project(
    root: Path, *, days: int = 10, batch_size: int = 1, batch_concurrency: int = 2, environment: str = "prod"
) -> Path:
    """Two models, `daily` over a CSV source and `running` over `daily`, over the days from 2024-01-01."""
    write_events(root, days=days)
    return write_project(
        root,
        {
            "daily.sql": DAILY.format(batch_size=batch_size, batch_concurrency=batch_concurrency),
            "running.sql": RUNNING.format(batch_size=max(batch_size, 5)),
        },
        clock=f"{utc('2024-01-01') + timedelta(days=days):%Y-%m-%d}",
        environment=environment,
    )


def expected_daily(root: Path) -> list[tuple[Any, ...]]:
    """What `daily` should hold: (ds, kind, n, total in cents), from the files alone."""
    found: dict[tuple[str, str], list[int]] = {}
    for file in sorted((root / "data" / "events").glob("*.csv")):
        for line in file.read_text().splitlines()[1:]:
            _, at, kind, amount = line.split(",")
            found.setdefault((at[:10], kind), []).append(round(float(amount) * 100))
    return sorted((ds, kind, len(v), sum(v)) for (ds, kind), v in found.items())


def built_daily(place: Context, commit: int | None = None) -> list[tuple[Any, ...]]:
    """What the newest `daily` holds, in the form of `expected_daily`. Read without Spark."""
    table = open_table(path_of(place, "daily"), commit)
    assert table is not None
    rows = table.to_pyarrow_table().to_pylist()
    return sorted((f"{r['ds']}", r["kind"], r["n"], int(r["total"] * 100)) for r in rows)


def path_of(place: Context, model: str) -> str:
    return table_path(place.warehouse, model, place.project.fingerprints[model])


# --- in this process --------------------------------------------------------------------------------------------------


def job(place: Context, name: str) -> Job:
    """What a build would hand to the engine right now."""
    project = place.project
    inputs: dict[str, Input] = {}
    for upstream in project.models[name].upstreams:
        if upstream.name in project.models:
            version = project.fingerprints[upstream.name]
            head = place.log.head(upstream.name, version)
            inputs[upstream.name] = ModelInput(model=project.models[upstream.name], version=version, commit=head)
        else:
            source = project.sources[upstream.name]
            inputs[upstream.name] = SourceInput(source=source, pin=place.pins.pin(source))
    return Job(model=project.models[name], version=project.fingerprints[name], inputs=inputs)


def engine(place: Context) -> SparkEngine:
    found = place.engine()
    assert isinstance(found, SparkEngine)
    return found


def build_all(place: Context, request: Request | None = None) -> dict[str, Outcome]:
    """Plan and apply, in this process."""
    made = plan_request(place, request)
    assert place.spark is not None  # opened by this thread, not by a worker
    return apply(place.bench(made.sources, patches=made.patches, frozen=made.continued.frozen), made)


def approve(place: Context, request: Request | None = None, *, why: str = "") -> None:
    """What comes between a build and the promotion of changed rows: they are compared, and each owner says yes."""
    say_yes(place, compare(place, request), why=why)


def compare(place: Context, request: Request | None = None) -> str:
    """What `backfill apply` does when all is built: the candidate is shown, and compared. The plan's id."""
    opened = open_plan(place, made := plan_request(place, request))
    assert opened is not None, "there is nothing to approve"
    show_candidate(place, opened.plan.id)
    prove_built(place, opened.plan.id, made, place.facts())
    return opened.plan.id


def say_yes(place: Context, plan: str, *, why: str = "") -> None:
    """What `backfill approve` does for each owner of what a plan changes, by an account of their own.

    `why`: accept all that was found, for this reason.
    """
    facts = place.facts()
    about = subject(place.project, facts, cases_of(place, facts).review(facts, find_plan(place.control, plan)))
    accepted = {found.name: why for found in about.findings} if why else {}
    for owner in about.owners:
        somebody = replace(place, acting=owner or "eva")
        for said in approval_statements(somebody, plan, owners=(owner,), accepted=accepted):
            approve_plan(somebody, said)


def days(first: str, last: str | None = None) -> Interval:
    """Whole days, both named as people do."""
    return Interval(utc(first), Cadence.DAILY.shift(utc(last or first), 1))


def commits_per_interval(place: Context, model: str) -> dict[Interval, int]:
    """How often each single interval was written, by the table's own history."""
    counts: dict[Interval, int] = {}
    cadence = place.project.models[model].cadence
    for commit in place.log.commits(model, place.project.fingerprints[model]):
        assert commit.interval is not None, "a commit without batch metadata"
        for part in cadence.split(commit.interval):
            counts[part] = counts.get(part, 0) + 1
    return counts


def release_by_hand(place: Context, version: str) -> None:
    """Two days of `daily` as a build leaves them, and the environment pointing at them; written without Spark."""
    interval, now = days("2024-01-01", "2024-01-02"), datetime.now(UTC)
    columns = (("ds", "date"), ("n", "bigint"))
    rows = pa.table({"ds": [date(2024, 1, 1), date(2024, 1, 2)], "n": [1, 2]})
    metadata = CommitProperties(custom_metadata={"userMetadata": batch_metadata(version, interval)})
    location = table_path(place.warehouse, "daily", version)
    write_deltalake(location, rows.slice(0, 0), partition_by=["ds"])
    write_deltalake(location, rows, mode="append", commit_properties=metadata)
    built = Entry(
        kind=Kind.BUILT, model="daily", version=version, interval=interval, table_commit=1, batch=version, at=now
    )
    place.control.ledger.append([built])
    definition = to_definition(place.project.models["daily"])
    place.control.versions.put(
        Version(model="daily", version=version, upstream={}, columns=columns, definition=definition, created=now)
    )
    segment = Segment(version=version, commit=1, interval=interval)
    pointer = Pointer(model="daily", time_column="ds", timestamps=False, columns=columns, segments=(segment,))
    environments = place.control.environments
    promote(environments, environments.read(place.environment), [pointer], None, note=ReleaseNote(by="ana"))


# --- in subprocesses --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """How a subprocess ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def clean_environment(**more: str) -> dict[str, str]:
    """This process's environment without what would lead a subprocess astray."""
    astray = ("BACKFILL_", "SPARK_", "PYSPARK_", "DAGSTER_", "PYTEST_")
    return {k: v for k, v in os.environ.items() if not k.startswith(astray)} | more


def backfill(
    *arguments: str | Path, project: Path | None = None, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Said:
    """Run the CLI to its end."""
    command = [str(BACKFILL), *(["--project", str(project)] if project else []), *map(str, arguments)]
    done = subprocess.run(
        command, cwd=cwd, env=dict(env or clean_environment()), capture_output=True, text=True, timeout=900, check=False
    )
    return Said(code=done.returncode, out=done.stdout, err=done.stderr)


def launched_here(job: str, instance: dg.DagsterInstance, project: Path, **config: object) -> dg.ExecuteInProcessResult:
    """Run a Dagster job of one step to its end in this process, with this configuration."""
    from backfill_assets.defs.build_definitions import build_definitions

    found = build_definitions(project).resolve_job_def(job)
    [step] = found.nodes
    return found.execute_in_process(run_config={"ops": {step.name: {"config": config}}}, instance=instance)


def backfill_here(*arguments: str | Path, project: Path, user: str = "") -> Said:
    """Run the CLI to its end in this process, over the tests' own Spark session: nothing is started for it.

    `user` is the account that the operating system is made to assert.
    """
    from backfill_assets.cli import main

    code, said, complaints = 0, io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(complaints):
        patch.setattr(sys, "argv", ["backfill", "--project", str(project), *map(str, arguments)])
        patch.setenv("BACKFILL_PROJECT", str(project))  # the CLI sets it for good
        if user:
            patch.setattr("backfill_assets.app.context.account", lambda: user)
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Said(code=code, out=said.getvalue(), err=complaints.getvalue())


def newest_plan(project: Path) -> str:
    """The id of the plan that was opened last."""
    return str(backfill_here("plans", "--json", project=project).json[-1]["id"])


def release_id(project: Path, number: int) -> str:
    """The id of a release, oldest first."""
    return str(backfill_here("releases", "--json", project=project).json[number]["id"])


def waiting_rules(project: Path) -> str:
    """The id of the one change of the rules that waits."""
    [change] = backfill_here("rules", "--json", project=project).json["waiting"]
    return str(change["id"])


def start(*command: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start a process in a group of its own, so that `kill` reaches its JVM too."""
    return subprocess.Popen(
        list(map(str, command)),
        cwd=cwd,
        env=dict(env or clean_environment()),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def kill(process: subprocess.Popen[str]) -> str:
    """kill -9 for the whole group; returns what was said until then."""
    os.killpg(process.pid, signal.SIGKILL)
    return process.communicate(timeout=60)[0]


def finish(process: subprocess.Popen[str], timeout: float = 900) -> Said:
    """Wait for the end of a process that `start` began."""
    out, _ = process.communicate(timeout=timeout)
    return Said(code=process.returncode, out=out, err="")


def script(text: str, *arguments: str | Path) -> Sequence[str]:
    """The command that runs a Python text in a fresh interpreter."""
    return [sys.executable, "-c", dedent(text), *map(str, arguments)]


def eventually(look: Callable[[], T], *, within: float = 300, while_: Callable[[], bool] = lambda: True) -> T:
    """The first true value that `look` gives. Fails when time is up, or when `while_` ends before."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        going = while_()
        if found := look():
            return found
        assert going, "it ended before that happened"
        time.sleep(0.05)  # what is waited for needs the cores, too
    raise AssertionError(f"it did not happen within {within:g} s")
