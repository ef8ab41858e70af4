"""Commands that compare, approve, promote, and keep the proof."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from backfill_assets.cli.base import (
    CLOSED,
    INCOMPLETE,
    UNEXPECTED,
    AsJson,
    app,
    open_context,
    root_folder,
    tell_promoted,
)
from backfill_assets.cli.request import End, Start, typed, with_request
from backfill_assets.cli.terminal import echo, err, print_json, print_result, styled
from backfill_assets.plan.request_options import (
    ACCEPTED,
    ACTION,
    APPROVED,
    CLAIMED,
    COMPARED,
    EVERYTHING,
    FILLED,
    GROUNDS,
    MOVED,
    OWNERS,
    RERUN,
    RERUN_PLAN,
    RUNBOOK_OF,
    SHOWN_KEYS,
    SIDES,
    SIGNATURE,
    SLICES,
    STATEMENT,
    STORED_PLAN,
    TARGET,
    TOLERANCE,
    UNMOVED,
    VERIFIED,
    WHY_CHANGED,
    WRITE_TO,
)
from backfill_assets.plan.request_parsing import between
from backfill_assets.plan.stages import Request


@app.command()
def diff(
    target: Annotated[str | None, typed(SIDES)] = None,
    model: Annotated[list[str] | None, typed(COMPARED)] = None,
    start: Start = None,
    end: End = None,
    slices: Annotated[list[str] | None, typed(SLICES)] = None,
    sample: Annotated[int, typed(SHOWN_KEYS)] = 3,
    tolerance: Annotated[float | None, typed(TOLERANCE)] = None,
    expect_moved: Annotated[list[str] | None, typed(MOVED)] = None,
    expect_unmoved: Annotated[list[str] | None, typed(UNMOVED)] = None,
    expect_filled: Annotated[list[str] | None, typed(FILLED)] = None,
    as_json: AsJson = False,
) -> None:
    """Compare old and new rows, day by day.

    A plan's candidate with prod, or any two environments, releases or versions: keys first, then rows, columns, days,
    slices, and sample rows. Days that are the same files on both sides are not read; what `apply` compared of a plan is
    not compared again, unless the options ask for something else.
    """
    from backfill_assets.app.diff import DiffRequest, compare
    from backfill_assets.cli.diff import diff_json, print_diff

    request = DiffRequest(
        target=target,
        models=tuple(model or ()),
        within=between(start, end),
        slices=tuple(slices or ()),
        tolerance=tolerance,
        sample=sample,
        expect_moved=tuple(expect_moved or ()),
        expect_unmoved=tuple(expect_unmoved or ()),
        expect_filled=tuple(expect_filled or ()),
    )
    found = compare(open_context(), request)
    print_result(as_json, lambda: diff_json(found), lambda: print_diff(found))
    if not found.as_expected:
        raise typer.Exit(UNEXPECTED)


@app.command()
def consumers(
    check: Annotated[bool, typed(RERUN)] = False,
    plan: Annotated[str | None, typed(RERUN_PLAN)] = None,
    as_json: AsJson = False,
) -> None:
    """List who reads prod, or run their queries over a plan.

    With --check, the queries and evaluations of those who read what the plan changes run over its candidate environment
    and over prod; code 3 when an answer is not as it has to be. Without it, no Spark is needed.
    """
    from backfill_assets.app.consumers import rerun_consumers
    from backfill_assets.cli.consumers import consumers_json, print_consumers, print_reruns
    from backfill_assets.promote.lifecycle import only_open_plan
    from backfill_assets.state.pinned import pinned_consumers

    context = open_context()
    if not check:
        pins = pinned_consumers(context.control, context.environment)
        print_result(
            as_json, lambda: consumers_json(context.project, pins), lambda: print_consumers(context.project, pins)
        )
        return
    found = rerun_consumers(context, plan or only_open_plan(context.control).id)
    print_result(as_json, found.to_json, lambda: print_reruns(found))
    if not found.met:
        raise typer.Exit(INCOMPLETE)


@app.command()
def review(
    port: Annotated[int, typer.Option(help="Where the page is served.", min=1, max=65535)] = 3070,
    host: Annotated[str, typer.Option(help="The address that it listens on.")] = "127.0.0.1",
) -> None:
    """Serve the reviewer's page.

    What waits for whom; for a plan what changes, with its numbers, differences, readers and approvals. It only reads,
    unless the deployment says who is logged in. Needs neither Spark nor Dagster.
    """
    from backfill_assets.review.serve import serve_review

    serve_review(root_folder(), host=host, port=port)


@app.command()
def approve(
    plan: Annotated[str, typed(APPROVED)],
    owner: Annotated[list[str] | None, typed(OWNERS)] = None,
    reason: Annotated[str, typed(GROUNDS)] = "",
    accept: Annotated[list[str] | None, typed(ACCEPTED)] = None,
    by: Annotated[str, typed(CLAIMED)] = "",
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="Sign with this SSH key (or its agent).")] = None,
    only_prepare: Annotated[
        bool, typer.Option("--prepare", help="Print the statement to be signed elsewhere; record nothing.")
    ] = False,
    statement: Annotated[Path | None, typed(STATEMENT)] = None,
    signature: Annotated[Path | None, typed(SIGNATURE)] = None,
    as_json: AsJson = False,
) -> None:
    """Approve a plan for an owner.

    It is about the rows as they are now: any later write in its scope voids it, and it is over after some days. The
    account that runs this is recorded, and decides with the rules in force whether it counts. Needs no Spark.
    """
    from backfill_assets.app.approve import ApprovalRequest, accepted_findings, prepare, unaccepted_findings
    from backfill_assets.app.approve import approve as record
    from backfill_assets.cli.approve import approved_json, prepared, print_approved, unaccepted_text

    request = ApprovalRequest(
        plan=plan,
        by=by,
        owners=tuple(owner or ()),
        reason=reason,
        accepted=accepted_findings(accept or []),
        key=key,
        prepared=prepared(statement, signature),
    )
    context = open_context()
    if only_prepare:
        stated = prepare(context, request)
        for one in stated:
            typer.echo(one.statement, nl=False)
        for name in unaccepted_findings(context, stated):
            err().print(styled("{}", unaccepted_text(name)))
        return
    done = record(context, request)
    print_result(as_json, lambda: approved_json(done), lambda: print_approved(done))


class RulesAction(StrEnum):
    """What `backfill rules` does."""

    SHOW = "show"
    CHANGE = "change"


@app.command()
def rules(
    action: Annotated[RulesAction, typed(ACTION)] = RulesAction.SHOW,
    reason: Annotated[str, typed(WHY_CHANGED)] = "",
    as_json: AsJson = False,
) -> None:
    """Show the rules of approval that are in force, or propose a change.

    They are recorded in the warehouse by the first promotion. What backfill.yml, allowed_signers and models' owners say
    afterwards counts only once `rules change` proposed it and those whom the rules in force ask approved it: code 4
    until then. Needs no Spark.
    """
    from backfill_assets.app.rules import propose_rules, waiting_changes
    from backfill_assets.cli.rules import print_change, print_rules, rules_change_json, rules_json

    context = open_context()
    if action is RulesAction.CHANGE:
        change = propose_rules(context, reason=reason)
        print_result(as_json, lambda: rules_change_json(change), lambda: print_change(change))
        if not change.took_effect:
            raise typer.Exit(CLOSED)
        return
    records = context.control.rules.of(context.environment)
    rules, waiting = context.rules(), waiting_changes(context)
    print_result(as_json, lambda: rules_json(rules, records, waiting), lambda: print_rules(rules, records, waiting))


@app.command()
@with_request
def promote(
    request: Request,
    plan: Annotated[str, typed(STORED_PLAN)] = "",
    as_json: AsJson = False,
) -> None:
    """Point prod at what was built, in one atomic step.

    Every model moves in one commit; or nothing moves, and all that is in the way is listed, each with its remedy.
    """
    from backfill_assets.app.promote import promote_plan

    tell_promoted(promote_plan(open_context(), request, plan=plan), as_json=as_json)


@app.command()
def evidence(
    target: Annotated[str | None, typed(TARGET)] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a plan's evidence packet and sum it up; or a release's.

    Which intervals changed, who depends on them, which tests passed, who accepted, how to go back. A promotion seals
    it. Every release has a packet of its own, also routine runs and rollbacks. Needs no Spark.
    """
    from backfill_assets.app.evidence import plan_or_release
    from backfill_assets.cli.evidence import any_json, open_page, page_of, print_any

    found = plan_or_release(open_context(), target)
    print_result(as_json, lambda: any_json(found), lambda: print_any(found))
    if show:
        open_page(page_of(found))


@app.command()
def runbook(
    plan: Annotated[str | None, typed(RUNBOOK_OF)] = None,
    to: Annotated[str | None, typed(WRITE_TO)] = None,
    as_json: AsJson = False,
) -> None:
    """Write a plan's runbook, its safety checklist and the note for its readers.

    The eleven steps as commands of this plan, what is done of them by the records, what changes for readers, and the
    message to them: Markdown, printed or as files. Changes no record. Needs Spark for a shared catalog's views only.
    """
    from backfill_assets.app.runbook import look_for_runbook, write_runbook
    from backfill_assets.evidence.runbook import runbook_text

    found = look_for_runbook(open_context(), plan)
    written = write_runbook(found, to) if to else ()
    if as_json:
        print_json(found.to_json() | {"files": list(written)})
    elif written:
        for path in written:
            echo(f"Wrote {path}")
    else:
        echo(runbook_text(found.documents))


@app.command()
def verify(
    target: Annotated[str | None, typed(VERIFIED)] = None,
    everything: Annotated[bool, typed(EVERYTHING)] = False,
    as_json: AsJson = False,
) -> None:
    """Check that a packet and its tables are unchanged.

    Every file of it against its hash, and every commit and data file that it names. A folder without its warehouse is
    enough for the first. `--all` finds what no look at logs and footers can: flipped bits.
    Needs neither Spark nor a network.
    """
    if everything:
        from backfill_assets.cli.warehouse_commands import print_integrity

        print_integrity(every_file=True, as_json=as_json)
        return
    from backfill_assets.app.context import Context
    from backfill_assets.app.verify import verify_packet
    from backfill_assets.cli.evidence import print_verification

    found = verify_packet(target, Context.open)
    print_result(as_json, found.to_json, lambda: print_verification(found))
    if not found.ok:
        raise typer.Exit(1)
