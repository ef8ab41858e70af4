"""Commands for what is there: plans, releases, the way back, the watch and the janitor."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from backfill_assets.cli.base import INCOMPLETE, AsJson, app, open_context
from backfill_assets.cli.request import typed
from backfill_assets.cli.terminal import print_result
from backfill_assets.plan.request_options import (
    ABANDONED,
    DRY_RUN,
    MODELS,
    NOW,
    REALLY,
    RELEASE,
    TODAY,
    WAITING_FOR,
    WHY_BACK,
)


@app.command()
def status(as_json: AsJson = False) -> None:
    """Show what is built, shown, running and missing.

    Each model's coverage, what the environment shows of it, batches in flight and the last failure. Needs no Spark.
    """
    from backfill_assets.app.status import read_status
    from backfill_assets.cli.status import print_status

    context = open_context()
    found = read_status(context)
    print_result(as_json, found.to_json, lambda: print_status(found))


@app.command()
def plans(waiting_for: Annotated[str | None, typed(WAITING_FOR)] = None, as_json: AsJson = False) -> None:
    """List the plans that were applied.

    Who opened each and when, what became of it, and which models it changes. With --waiting-for: whose approval open
    plans, and changes of the rules, lack, with the command that gives it. Needs no Spark.
    """
    from backfill_assets.cli.plans import plan_json, print_plans, undone_json
    from backfill_assets.promote.undone import rolled_back_plans

    context = open_context()
    if waiting_for is not None:
        from backfill_assets.app.waiting import read_waiting
        from backfill_assets.cli.waiting import print_waiting, waiting_json

        found = read_waiting(context, waiting_for)
        print_result(as_json, lambda: waiting_json(found), lambda: print_waiting(found, waiting_for))
        return
    control = context.control
    records = control.plans.all()
    back = rolled_back_plans(control, records)
    print_result(
        as_json,
        lambda: [plan_json(r) | undone_json(back.get(r.id)) for r in records],
        lambda: print_plans(records, back),
    )


@app.command()
def abandon(
    plan: Annotated[str, typed(ABANDONED)],
    as_json: AsJson = False,
) -> None:
    """End a plan that is not to be promoted.

    Its candidate environment goes, prod is not touched, and what only this plan built is left to the janitor. Needs no
    Spark.
    """
    from backfill_assets.app.candidate import abandon_plan
    from backfill_assets.cli.plans import abandoned_json, print_abandoned

    done = abandon_plan(open_context(), plan)
    print_result(as_json, lambda: abandoned_json(done), lambda: print_abandoned(done))


@app.command()
def releases(
    one: Annotated[
        str | None, typer.Argument(metavar="RELEASE", help="Its id, or a beginning or an end of it; default: list all.")
    ] = None,
    other: Annotated[str | None, typer.Argument(metavar="OTHER", help="Another one, to compare.")] = None,
    as_json: AsJson = False,
) -> None:
    """List what was released, show one, or compare two.

    Who moved which models from which version to which, and when; between two, which days come from other tables.
    """
    from backfill_assets.cli.releases import show_releases

    show_releases(open_context(), one, other, as_json=as_json)


@app.command()
def rollback(
    release: Annotated[str | None, typed(RELEASE)] = None,
    select: Annotated[list[str] | None, typed(MODELS)] = None,
    at_once: Annotated[bool, typed(NOW)] = False,
    dry_run: Annotated[bool, typed(DRY_RUN)] = False,
    reason: Annotated[str, typed(WHY_BACK)] = "",
    as_json: AsJson = False,
) -> None:
    """Point prod back at an older release, in one step.

    Days that prod has gained since are kept: what the older version lacks of them is built and audited first, by its
    stored code. A rollback is a release too: to undo it, name the one before it.
    """
    from backfill_assets.cli.rollback import run_rollback

    code = run_rollback(
        open_context(), release, select or (), at_once=at_once, dry_run=dry_run, as_json=as_json, reason=reason
    )
    if code:
        raise typer.Exit(code)


@app.command()
def watch(as_json: AsJson = False) -> None:
    """Look for what went wrong since the last release.

    Source data that came late, with the restatement that makes up for it; freshness, row counts, files and views of
    what is shown; the first routine run. Code 3 when something is found. Needs Spark for a shared catalog's views only.
    """
    from backfill_assets.app.watch import watch_environment
    from backfill_assets.cli.watch import print_watch

    found = watch_environment(open_context())
    print_result(as_json, found.to_json, lambda: print_watch(found))
    if found.findings:
        raise typer.Exit(INCOMPLETE)


@app.command()
def janitor(
    apply_it: Annotated[bool, typed(REALLY)] = False,
    today: Annotated[datetime | None, typed(TODAY, formats=["%Y-%m-%d"])] = None,
    as_json: AsJson = False,
) -> None:
    """Say which tables nothing needs any more; delete them.

    Kept is what an environment shows, an open plan leads to, a release of the retention needs, or a run writes to, and
    what those were built from. Joins the tables of corrections of a model that was restated many times. Removes nothing
    when the clock is the retention or more away from the newest record, until somebody confirms the date.
    """
    from backfill_assets.app.janitor import JanitorRequest, clear_up
    from backfill_assets.cli.janitor import janitor_json, print_janitor

    context = open_context()
    confirmed, kept = today.date() if today else None, context.project.settings.retention_days
    done = clear_up(context, JanitorRequest(apply=apply_it, today=confirmed))
    print_result(as_json, lambda: janitor_json(done), lambda: print_janitor(done, kept, confirmed))
    if any(done.joined.values()):
        raise typer.Exit(INCOMPLETE)
