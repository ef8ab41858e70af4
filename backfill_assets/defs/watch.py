"""What does Dagster see of the watch? A check of each kind of finding on the prod views, run by a job; none blocks."""

# No `from __future__ import annotations`: Dagster reads the annotation of its context, here `context_`.

from collections.abc import Iterator
from dataclasses import replace

import dagster as dg

from backfill_assets.app.context import Context
from backfill_assets.app.watch import watch_environment
from backfill_assets.defs.failures import short_failures
from backfill_assets.defs.links import review_link
from backfill_assets.defs.names import local_name, source_key, view_key
from backfill_assets.defs.safe_log import Log
from backfill_assets.watch.conclusion import Watched
from backfill_assets.watch.notice import Notice, NoticeKind

WATCHED = {
    NoticeKind.LATE: "No source changed in time that is built and shown already.",
    NoticeKind.FIRST_RUN: "A routine run has extended it since its last change, once that was due.",
    NoticeKind.STALE: "The newest interval that should be there is shown.",
    NoticeKind.ROWS: "The newest intervals have about as many rows as those before them.",
    NoticeKind.POINTER: "Every file that is shown is there, and the ledger vouches for its rows.",
    NoticeKind.UPSTREAM: "It was built from the versions of its upstreams that are shown.",
    NoticeKind.PINNED: "No consumer is kept on an older release of it beyond its last day, "
    "or on rows that cannot be read.",
    NoticeKind.VIEW: "The view of a shared catalog says what the environment does.",
}


def watch_checks(context: Context) -> dg.AssetChecksDefinition | None:
    """The checks: of every view, and of the freshness that sources promise. None in a project without models."""
    project = context.project
    specs = [
        dg.AssetCheckSpec(
            kind.value,
            asset=view_key(project, name),
            description=what,
            blocking=False,
            metadata=review_link("model", name),
        )
        for name in project.models
        for kind, what in WATCHED.items()
    ]
    specs += [
        dg.AssetCheckSpec(
            NoticeKind.STALE.value,
            asset=source_key(project, source.name),
            description=f"Its newest row is not older than {source.freshness_hours:g} hours.",
            blocking=False,
            metadata=review_link("source", source.name),
        )
        for source in project.sources.values()
        if source.freshness_hours and source.time_column
    ]
    if not project.models:
        return None

    @dg.multi_asset_check(name=local_name(project, "look"), specs=specs)
    def look(context_: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        with short_failures():
            found = watch_environment(context)
        for notice in found.notices:
            if not notice.finding:
                Log(context_).info(f"{notice.model}: {notice.what}")
        Log(context_).info(found.closing.sentence)
        for spec in specs:
            yield _result(spec, _about(context, found, spec), found)

    return look


def watch_schedule(context: Context, checks: dg.AssetChecksDefinition) -> dg.ScheduleDefinition:
    """The job `watch`, which runs the checks in one look, and its schedule: every hour, once somebody turned it on."""
    job = dg.define_asset_job(
        local_name(context.project, "watch"),
        selection=dg.AssetSelection.checks(checks),
        executor_def=dg.in_process_executor,
        description="Look for late source data, stale models, odd row counts and drift. Changes nothing.",
    )
    return dg.ScheduleDefinition(
        name=local_name(context.project, "watch_schedule"),
        job=job,
        cron_schedule="30 * * * *",
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Watch what is shown. Off until somebody turns it on.",
    )


def _about(context: Context, found: Watched, spec: dg.AssetCheckSpec) -> list[Notice]:
    """What is found about a view or a source; what reads rows that are found late is late with them."""
    return [
        n
        for one in found.findings
        for n in (one, *_with_it(one))
        if n.kind.value == spec.name
        and spec.asset_key == (source_key if n.source else view_key)(context.project, n.model)
    ]


def _with_it(notice: Notice) -> Iterator[Notice]:
    for reader, intervals in notice.downstream.items():
        what = f"reads {notice.model}, of which {notice.intervals} was {notice.what}"
        yield replace(notice, model=reader, intervals=intervals, what=what)


def _result(spec: dg.AssetCheckSpec, notices: list[Notice], found: Watched) -> dg.AssetCheckResult:
    metadata: dict[str, str] = {"watch": found.closing.sentence}
    if notices:
        metadata["intervals"] = "; ".join(str(n.intervals) for n in notices)
        metadata["remedy"] = "; ".join(n.remedy for n in notices)
    return dg.AssetCheckResult(
        asset_key=spec.asset_key,
        check_name=spec.name,
        passed=not notices,
        severity=dg.AssetCheckSeverity.WARN,
        description="; ".join(f"{n.intervals}: {n.what}" if n.intervals else n.what for n in notices)
        or "nothing is found",
        metadata=metadata,
    )
