"""Commands that say what is missing, and build it beside what is shown."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from backfill_assets.cli.base import (
    CLOSED,
    HELD,
    INCOMPLETE,
    AsJson,
    app,
    following,
    open_context,
    tell_promoted,
)
from backfill_assets.cli.request import (
    By,
    Empty,
    NoWait,
    Only,
    OutsideWindows,
    Promote,
    Sample,
    Why,
    explained,
    typed,
    with_request,
)
from backfill_assets.cli.terminal import echo, out, print_json, print_result
from backfill_assets.core.codec import to_plain
from backfill_assets.plan.entities import EntitySample, sample_of
from backfill_assets.plan.request_options import WHY_WITHDRAWN, WITHDRAWN
from backfill_assets.plan.request_parsing import days_of, reason_of
from backfill_assets.plan.stages import Request


@app.command()
@with_request
def plan(
    request: Request,
    why: Why = None,
    as_json: AsJson = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown for a pull request.")] = False,
    page_url: Annotated[
        str,
        typer.Option(envvar="BACKFILL_PAGE_URL", metavar="URL", help="With --markdown: where the page of {plan} is."),
    ] = "",
    packet_url: Annotated[
        str,
        typer.Option(envvar="BACKFILL_PACKET_URL", metavar="URL", help="And where the packet of {plan} is."),
    ] = "",
) -> None:
    """Say what changed and what is missing.

    What kind of change each model is and which columns carry it on; what would be built, in which order and how long it
    takes; what could move then, and whom that affects. Changes nothing, needs no Spark.
    """
    from backfill_assets.app.preview import preview
    from backfill_assets.cli.plan_comment import Links, plan_comment
    from backfill_assets.cli.plan_more import print_more
    from backfill_assets.cli.plan_text import print_plan
    from backfill_assets.cli.plans import claim_json
    from backfill_assets.cli.promotion import obstacles_json
    from backfill_assets.cli.uncovered import uncovered_json
    from backfill_assets.plan.other_ways import other_ways

    links = Links(page=page_url, packet=packet_url)
    context = open_context()
    found = preview(context, explained(request, why))
    made, claim = found.plan, found.claim
    if as_json:
        more = {
            "estimate": found.estimate.to_json(),
            "open_plans": claim_json(claim),
            "amendment": to_plain(found.amendment),
            "uncovered": uncovered_json(found.uncovered),
            "impact": [i.to_json() for i in found.impacts],
            "rules": list(found.notes),
            "faults": to_plain(found.faults),
            "ahead": obstacles_json(found.ahead),
            "late": [
                {"model": n.model, "what": n.what, "intervals": n.intervals.to_plain(), "remedy": n.remedy}
                for n in found.late
            ],
            "other_ways": to_plain(tuple(other_ways(made, context.project.models))),
            "next": to_plain(found.following),
        }
        if found.maintenance:
            more["maintenance"] = found.maintenance.to_json()
        print_json(made.to_json() | more)
    elif as_markdown:
        echo(plan_comment(found, context.project, links))
    else:
        print_plan(
            made,
            context.project,
            found.estimate,
            verdict=found.verdict,
            following=found.following,
            gaps=found.blocking,
            ahead=found.ahead,
            late=found.late,
            collisions=claim.collisions,
            more=partial(print_more, found),
        )


@app.command()
@with_request
def preflight(
    request: Request,
    as_json: AsJson = False,
) -> None:
    """Say what is known of a plan before it begins.

    For each model: target, window, key, sources and what they cover, late rows, timestamps, rules, acceptance,
    downstream, owners, way back; then what is missing. Code 4 when something of it blocks. Needs no Spark.
    """
    from backfill_assets.app.preflight import read_preflight
    from backfill_assets.cli.preflight import print_preflight

    found = read_preflight(open_context(), request)
    if as_json:
        listed = {"inventory": [s.to_json() for s in found.sheets], "findings": to_plain(found.findings)}
        print_json({"id": found.plan.id, **listed})
    else:
        print_preflight(found.plan, found.sheets, found.findings)
    if any(f.blocking for f in found.findings):
        raise typer.Exit(CLOSED)


@app.command()
def lineage(
    target: Annotated[str, typer.Argument(metavar="MODEL[.COLUMN]", help="A model, or one of its columns.")],
    as_json: AsJson = False,
) -> None:
    """Show what a column is made of, and who reads it.

    Up to the sources and down to the last model. Needs no Spark.
    """
    from backfill_assets.cli.lineage import lineage_json, print_lineage

    context = open_context()
    pointers = context.control.environments.read(context.environment).pointers
    shown = {name: [column for column, _ in pointer.columns] for name, pointer in pointers.items()}
    print_result(
        as_json,
        lambda: lineage_json(context.project, target, shown),
        lambda: print_lineage(context.project, target, shown),
    )


@app.command()
@with_request
def apply(
    request: Request,
    why: Why = None,
    promote: Promote = False,
    sample: Sample = None,
    by: By = None,
    only: Only = None,
    empty: Empty = False,
    no_wait: NoWait = False,
    outside_windows: OutsideWindows = None,
    as_json: AsJson = False,
) -> None:
    """Build and audit what is missing, beside prod.

    Run it again at any time, also after a crash: it does only what is still missing. Prod shows what it showed. Where
    backfill.yml has `windows:`, batches begin within them only, and while no routine run is under way; it waits.
    """
    from backfill_assets.app.apply import build_plan, check_plan, not_promoted, start_apply
    from backfill_assets.app.promote import promote_plan
    from backfill_assets.cli.applied import applied_json, print_applied
    from backfill_assets.cli.plan_text import print_ahead, print_applying
    from backfill_assets.cli.plans import print_amendment, print_opened
    from backfill_assets.cli.rules import print_notes

    request, reason = explained(request, why), reason_of(outside_windows, "--outside-windows")
    size = sample_of(sample, by)
    context = open_context()
    if empty:
        from backfill_assets.cli.ledger_edits import apply_empty

        apply_empty(context, request, as_json=as_json)
        return
    if isinstance(size, EntitySample):
        from backfill_assets.cli.entity_sample import apply_sample

        apply_sample(context, request, size, context.hold(regardless=reason, waits=not no_wait), as_json=as_json)
        return
    started = start_apply(context, request, sample=size, only=[days_of(text, "--only ") for text in only or ()])
    if not as_json:
        if started.opened:
            print_opened(started.opened)
        print_amendment(started.amendment)
        print_applying(started.plan, started.whole, context.project)
        print_ahead(started.ahead, started.gaps)
        print_notes(started.notes)
        if started.maintenance:
            echo(started.maintenance.sentence)
    hold = context.hold(regardless=reason, waits=not no_wait)
    built = build_plan(context, started, follow=following(quiet=as_json), hold=hold)
    checked = check_plan(context, built)
    if checked.unproved:
        raise checked.unproved
    print_result(
        as_json, lambda: applied_json(built, checked), lambda: print_applied(context, built, checked, last=not promote)
    )
    if not built.complete or not checked.equal:
        if promote and not as_json:
            echo(not_promoted(built, checked))
        raise typer.Exit(HELD if built.held and built.goes_on and not built.failed else INCOMPLETE)
    if promote:
        tell_promoted(promote_plan(context, started.to_promote, plan=started.by_plan), as_json=as_json)
    elif checked.proved.in_the_way:
        raise typer.Exit(CLOSED)


@app.command()
def withdraw(
    days: Annotated[list[str], typed(WITHDRAWN)],
    reason: Annotated[str, typed(WHY_WITHDRAWN)] = "",
    as_json: AsJson = False,
) -> None:
    """Make intervals missing again.

    Those that were declared empty, or built and not published, and what was built from them: the next apply builds
    them. Needs no Spark.
    """
    from backfill_assets.app import ledger_edits
    from backfill_assets.cli.ledger_edits import print_withdrawn, withdrawn_json

    context = open_context()
    done = ledger_edits.withdraw(context, [days_of(text) for text in days], reason=reason)
    print_result(as_json, lambda: withdrawn_json(done), lambda: print_withdrawn(done, context.project))


@app.command()
def routine(as_json: AsJson = False) -> None:
    """Extend what prod shows by the intervals that are over, and publish them.

    Before that, provisional intervals whose sources changed are built again (`settle:`), with all that reads them.
    By the published versions, whatever code is loaded: only what is no part of one (`start`, `end`, batches) is as
    headers say. A model with a red audit holds back what reads it, nothing else.
    """
    from backfill_assets.app.routine import extend
    from backfill_assets.cli.faults import print_faults
    from backfill_assets.cli.outcomes import outcomes_json, print_outcomes
    from backfill_assets.cli.plan_stages import cut_off_lines
    from backfill_assets.cli.plan_text import print_warnings
    from backfill_assets.cli.promotion import print_promotion, promotion_json
    from backfill_assets.cli.rules import print_notes

    done = extend(open_context(), follow=following(quiet=as_json))
    carried, promoted = done.carried, done.promoted
    if as_json:
        print_json(
            {
                "plan": carried.plan.to_json(),
                "models": outcomes_json(carried.outcomes),
                "promotion": promotion_json(promoted.before, promoted.environment, promoted.verdict),
                "settled": {name: part.to_plain() for name, part in done.settled.replaced.items()},
                "held_back": [str(obstacle) for obstacle in done.held],
                "stale": to_plain(promoted.stale),
                "warnings": to_plain(done.odd),
            }
        )
    else:
        for name, part in done.settled.replaced.items():
            echo(f"settling: {name} {part} was built again, as its sources changed")
        print_warnings(done.odd)
        print_outcomes(carried.plan, carried.outcomes, carried.project)
        if carried.plan.work:  # else it is told beside that
            for line in cut_off_lines(carried.plan, carried.project):
                out().print(line)
        if done.held and promoted.verdict.open and not promoted.verdict.pointers:
            echo(f"Nothing was promoted to {promoted.environment.name}.")
        else:
            print_promotion(promoted.before, promoted.environment, promoted.verdict)
        print_faults(promoted.stale)
        for obstacle in done.held:
            echo(f"held back: {obstacle}")
        print_notes(promoted.notes)
    if done.held or carried.plan.blocked:
        raise typer.Exit(INCOMPLETE)
