"""Which commands are there, and what do they exit with? Each is thin: parse, call, print.

Exit codes: 0 done, 1 refused (the message says why), 2 wrong usage, 3 some intervals are not complete or something is
found, 4 the gate is closed, 5 a diff is not as expected, 130 interrupted.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from backfill_assets.cli.request import End, Start, between, with_request
from backfill_assets.errors import BackfillError, ProjectError, SettingsError
from backfill_assets.intervals import ranges_json
from backfill_assets.plan.estimate import comparison
from backfill_assets.plan.stages import Plan, Request

if TYPE_CHECKING:
    from backfill_assets.adapters.workspace import Workspace
    from backfill_assets.build.outcome import Outcome

INCOMPLETE, CLOSED, UNEXPECTED, INTERRUPTED = 3, 4, 5, 130

app = typer.Typer(
    name="backfill",
    help="Rewrite history safely: plan, build beside prod, audit, move every prod view in one step.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a machine instead of text for a person.")]
EnvironmentName = Annotated[str | None, typer.Option("--environment", "-e", help="Another than the project's.")]


@app.callback()
def _root(
    project: Annotated[
        Path | None,
        typer.Option(
            envvar="BACKFILL_PROJECT", metavar="DIR", help="The project's folder; default: the embedded demo."
        ),
    ] = None,
) -> None:
    if project is not None:
        os.environ["BACKFILL_PROJECT"] = str(project)


@app.command()
@with_request
def plan(
    request: Request,
    as_json: AsJson = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown for a pull request.")] = False,
) -> None:
    """Say what changed and what is missing.

    What kind of change each model is and which columns carry it on; what would be built, in which order and how long it
    takes; what could move then, and whom that affects. Changes nothing, needs no Spark.
    """
    from backfill_assets.cli.impact import impact_markdown, print_impacts
    from backfill_assets.cli.plans import claim_json, print_claim
    from backfill_assets.cli.preflight import hint
    from backfill_assets.cli.render import plan_markdown, print_plan, print_uncovered, uncovered_json

    place = _open()
    made = place.plan(request)
    estimate, claim, gaps = place.estimate(made), place.claim(made), place.uncovered(made)
    impacts = place.impacts(made)
    if as_json:
        more = {
            "estimate": estimate.to_json(),
            "open_plans": claim_json(claim),
            "uncovered": uncovered_json(gaps),
            "impact": [i.to_json() for i in impacts],
        }
        _print_json(made.to_json() | more)
    elif as_markdown:
        typer.echo(plan_markdown(made, place.project, estimate) + impact_markdown(made, impacts))
    else:
        print_plan(made, place.project, estimate)
        print_uncovered(gaps)
        print_impacts(made, impacts)
        if asked := hint(place.preflight(made)):
            typer.echo(asked)
        print_claim(claim)


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
    from backfill_assets.cli.preflight import print_preflight
    from backfill_assets.contracts.inventory import inventory
    from backfill_assets.contracts.preflight import preflight as look

    place = _open()
    made = place.plan(request)
    grounds = place.grounds(made, extents=True)
    sheets, findings = inventory(place.project, made, grounds), look(place.project, made, grounds)
    if as_json:
        found = {"inventory": [s.to_json() for s in sheets], "findings": [f.to_json() for f in findings]}
        _print_json({"id": made.id, **found})
    else:
        print_preflight(made, sheets, findings)
    if any(f.blocking for f in findings):
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

    project = _open().project
    if as_json:
        _print_json(lineage_json(project, target))
    else:
        print_lineage(project, target)


@app.command()
@with_request
def apply(
    request: Request,
    promote_after: Annotated[
        bool, typer.Option("--promote", help="Promote afterwards if everything is green.")
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option(metavar="N", help="Build N intervals of each model, then tell what the rest takes.", min=1),
    ] = None,
    empty: Annotated[
        bool, typer.Option("--empty", help="Record what is missing as complete, without computing it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Build and audit what is missing, beside prod.

    Run it again at any time, also after a crash: it does only what is still missing. Prod shows what it showed.
    """
    from backfill_assets.cli.plans import print_candidate, print_superseded
    from backfill_assets.cli.proofs import print_proofs

    place = _open()
    if empty:
        from backfill_assets.cli.by_hand import apply_empty

        apply_empty(place, request, alone=not (promote_after or sample), as_json=as_json)
        return
    made = place.plan(request)
    opened = place.open_plan(made)
    if opened and not as_json:
        print_superseded(opened)
    if sample is not None:
        from backfill_assets.plan.sample import sampled

        made = sampled(made, place.project, sample)
    guess, began = place.estimate(made), datetime.now(UTC)
    outcomes, run = carry_out(place, made, quiet=as_json)
    took = place.took(made, run, began)
    candidate = place.show_candidate(opened.plan.id) if opened else None
    complete = all(o.ok for o in outcomes.values()) and not made.blocked
    drift = place.drift(made) if outcomes and complete else []
    proofs = place.prove(opened.plan.id, drift) if opened and complete and made.owners and sample is None else ()
    if as_json:
        from backfill_assets.cli.render import outcomes_json

        _print_json(
            {
                "plan": made.to_json(),
                "complete": complete,
                "models": outcomes_json(outcomes),
                "estimate": guess.to_json(),
                "actual": took.to_json(),
                "candidate": candidate.name if candidate else None,
                "drift": [
                    {
                        "upstream": d.kept.upstream,
                        "readers": d.kept.readers,
                        "columns": d.kept.columns,
                        "by_word": d.kept.word is not None,
                        "intervals": ranges_json(d.intervals),
                    }
                    for d in drift
                ],
                "findings": [{"name": f.name, "model": f.model, "text": f.text} for p in proofs for f in p.findings],
            }
        )
    else:
        from backfill_assets.cli.render import print_outcomes

        name = opened.plan.id if opened else ""
        print_outcomes(made, outcomes, place.project, promoting=promote_after, opened=name)
        if outcomes:
            typer.echo(comparison(guess, took))
        for found in drift:
            typer.echo(str(found))
        print_proofs(proofs)
        if opened and not promote_after:
            print_candidate(opened, candidate)
        if sample is not None and complete:
            from backfill_assets.cli.render import print_plan

            rest = place.plan(request)
            print_plan(rest, place.project, place.estimate(rest))
    if not complete:
        raise typer.Exit(INCOMPLETE)
    if promote_after:
        _promote(place, request, plan=opened.plan.id if opened and made.patches else "", as_json=as_json)


@app.command()
def approve(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="Its id, or the beginning of it: see `backfill plans`.")],
    owner: Annotated[
        list[str] | None, typer.Option("--for", metavar="OWNER", help="Whose models; default: all you may speak for.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why it may be promoted; the evidence keeps it.")] = "",
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="FINDING=WHY", help="Accept a difference that was found, by its name, with a reason."),
    ] = None,
    by: Annotated[str, typer.Option(help="Who says yes; default: the user of this machine.")] = "",
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="Sign with this SSH key (or its agent).")] = None,
    prepare: Annotated[
        bool, typer.Option("--prepare", help="Print the statement to be signed elsewhere; record nothing.")
    ] = False,
    statement: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A prepared statement, signed elsewhere: with --signature.")
    ] = None,
    signature: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Its signature: ssh-keygen -Y sign -n backfill-approval.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say an owner's yes to a plan.

    It is about the rows as they are now: any later write in its scope voids it, and it is over after some days. Needs
    no Spark.
    """
    from backfill_assets.cli.approve import approval_json, asked, print_approved, signed, statement_given

    place = _open()
    if statement or signature:
        said = [statement_given(plan, statement, signature)]
    else:
        reasons = asked(accept or [])
        said = place.statements(plan, by=by, owners=owner or (), reason=reason, accepted=reasons)
        if prepare:
            for one in said:
                typer.echo(one.statement, nl=False)
            return
        said = signed(said, key)
    for one in said:
        place.approve(one)
    if as_json:
        _print_json([approval_json(one) for one in said])
    else:
        print_approved(said)


@app.command()
@with_request
def promote(
    request: Request,
    plan: Annotated[
        str, typer.Argument(metavar="[PLAN]", help="What a stored plan built; default: what the options say.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Point prod at what was built, in one atomic step.

    Every model moves in one commit; or nothing moves, and all that is in the way is listed, each with its remedy.
    """
    if plan and request != Request():
        raise SettingsError(
            "a plan and a range, models or a restatement were named",
            why="a stored plan says itself what it is about",
            fix=f"backfill promote {plan}",
        )
    _promote(_open(), request, plan=plan, as_json=as_json)


@app.command()
def withdraw(
    days: Annotated[list[str], typer.Argument(metavar="MODEL:DAY..DAY", help="Intervals of the code's version.")],
    reason: Annotated[str, typer.Option(help="Why; it is kept in the ledger.")] = "",
    as_json: AsJson = False,
) -> None:
    """Make intervals missing again.

    Those that were declared empty, or built and not published, and what was built from them: the next apply builds
    them. Needs no Spark.
    """
    from backfill_assets.cli.by_hand import print_withdrawn, withdrawn_json
    from backfill_assets.plan.asked import days_of

    place = _open()
    done = place.withdraw([days_of(text) for text in days], reason=reason)
    if as_json:
        _print_json(withdrawn_json(done))
    else:
        print_withdrawn(done, place.project)


@app.command()
def routine(as_json: AsJson = False) -> None:
    """Extend what prod shows by the intervals that are over, and publish them.

    By the published versions, whatever code is loaded. A model with a red audit holds back what reads it, nothing else.
    """
    from backfill_assets.cli.render import outcomes_json, print_outcomes, print_promotion, promotion_json

    place = _open().published()
    before = place.control.environments.read(place.environment)
    made = place.plan()
    outcomes, _ = carry_out(place, made, quiet=as_json)
    after, verdict, held = place.promote_green()
    if as_json:
        _print_json(
            {
                "plan": made.to_json(),
                "models": outcomes_json(outcomes),
                "promotion": promotion_json(before, after, verdict),
                "held_back": [str(obstacle) for obstacle in held],
            }
        )
    else:
        print_outcomes(made, outcomes, place.project, promoting=True)
        print_promotion(before, after, verdict)
        for obstacle in held:
            typer.echo(f"held back: {obstacle}")
    if held or made.blocked:
        raise typer.Exit(INCOMPLETE)


@app.command()
def plans(as_json: AsJson = False) -> None:
    """List the plans that were applied.

    Who opened each and when, what became of it, and which models it changes. Needs no Spark.
    """
    from backfill_assets.cli.plans import plan_json, print_plans

    records = _open().control.plans.all()
    if as_json:
        _print_json([plan_json(r) for r in records])
    else:
        print_plans(records)


@app.command()
def consumers(
    check: Annotated[bool, typer.Option("--check", help="Run their queries over an open plan's candidate.")] = False,
    plan: Annotated[
        str | None, typer.Option(metavar="PLAN", help="Its id, or the beginning of it; default: the only open one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List who reads prod, or run their queries over a plan.

    With --check, the queries and evaluations of those who read what the plan changes run over its candidate environment
    and over prod; code 3 when an answer is not as it has to be. Without it, no Spark is needed.
    """
    from backfill_assets.cli.consumers import consumers_json, print_consumers, print_reruns
    from backfill_assets.promote.lifecycle import only_open_plan

    place = _open()
    if not check:
        if as_json:
            _print_json(consumers_json(place.project))
        else:
            print_consumers(place.project)
        return
    found = place.rerun_consumers(plan or only_open_plan(place.control).id)
    if as_json:
        _print_json(found.to_json())
    else:
        print_reruns(found)
    if not found.met:
        raise typer.Exit(INCOMPLETE)


@app.command()
def diff(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[PLAN|A..B]",
            help="An open plan, or two sides: environments, or model@version. Default: the only open plan.",
        ),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", metavar="MODEL", help="This model only; may be repeated.")
    ] = None,
    start: Start = None,
    end: End = None,
    slices: Annotated[
        list[str] | None,
        typer.Option("--slice", metavar="COLUMN", help="Also by the values of this column; may be repeated."),
    ] = None,
    sample: Annotated[
        int, typer.Option(metavar="N", help="Show rows of N keys of each kind, up to 7 days each.", min=0, max=50)
    ] = 3,
    tolerance: Annotated[
        float | None,
        typer.Option(help="How far apart equal floats may be, relative; default: the model's.", min=0, max=1),
    ] = None,
    expect_moved: Annotated[
        list[str] | None, typer.Option(metavar="MODEL[.COLUMN]", help="It should move; exit with 5 if it did not.")
    ] = None,
    expect_unmoved: Annotated[
        list[str] | None, typer.Option(metavar="MODEL[.COLUMN]", help="It should not move; exit with 5 if it did.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare old and new rows, day by day.

    A plan's candidate with prod, or any two environments or versions: keys first, then rows, columns, days, slices, and
    sample rows. Days that are the same files on both sides are not read.
    """
    from backfill_assets.cli.diff import diff_json, print_diff
    from backfill_assets.compare.expect import expectations, judge_moves

    place = _open()
    expected = expectations(place.project.column_names, expect_moved or (), expect_unmoved or ())
    found = place.diff(
        target, models=model or (), within=between(start, end), slices=slices or (), tolerance=tolerance, sample=sample
    )
    judgement = judge_moves(found, expected)
    if as_json:
        _print_json(diff_json(found, judgement))
    else:
        print_diff(found, judgement)
    if not judgement.ok:
        raise typer.Exit(UNEXPECTED)


@app.command()
def abandon(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="Its id, or the beginning of it: see `backfill plans`.")],
    as_json: AsJson = False,
) -> None:
    """End a plan that is not to be promoted.

    Its candidate environment goes, prod is not touched, and what only this plan built is left to the janitor. Needs no
    Spark.
    """
    from backfill_assets.cli.plans import abandoned_json, print_abandoned

    done = _open().abandon(plan)
    if as_json:
        _print_json(abandoned_json(done))
    else:
        print_abandoned(done)


@app.command()
def evidence(
    plan: Annotated[
        str | None, typer.Argument(metavar="PLAN", help="Its id, or the beginning of it; default: the newest.")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a plan's evidence packet and sum it up.

    Which intervals changed, who depends on them, which tests passed, who accepted, how to go back. A promotion seals
    it. Needs no Spark.
    """
    from backfill_assets.cli.evidence import evidence_json, meant, open_page, print_evidence

    place = _open()
    made = place.evidence(meant(place, plan).id)
    if as_json:
        _print_json(evidence_json(made))
    else:
        print_evidence(made)
    if show:
        open_page(made)


@app.command()
def verify(
    target: Annotated[
        str | None, typer.Argument(metavar="PLAN|FOLDER", help="A plan, or a packet's folder; default: the newest.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that a packet and its tables are unchanged.

    Every file of it against its hash, and every commit and data file that it names. A folder without its warehouse is
    enough for the first.
    Needs neither Spark nor a network.
    """
    from backfill_assets.cli.evidence import check, print_verification

    found = check(target)
    if as_json:
        _print_json(found.to_json())
    else:
        print_verification(found)
    if not found.ok:
        raise typer.Exit(1)


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

    show_releases(_open(), one, other, as_json=as_json)


@app.command()
def rollback(
    release: Annotated[
        str | None, typer.Argument(metavar="RELEASE", help="What to go back to; default: before the last change.")
    ] = None,
    select: Annotated[
        list[str] | None, typer.Option("--select", "-s", metavar="MODELS", help="These models only.")
    ] = None,
    at_once: Annotated[
        bool, typer.Option("--now", help="Move at once, without the newer days that the older version lacks.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen, and prove that the older rows can all be read.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Point prod back at an older release, in one step.

    Days that prod has gained since are kept: what the older version lacks of them is built and audited first, by its
    stored code. A rollback is a release too: another one undoes it.
    """
    from backfill_assets.cli.rollback import run_rollback

    code = run_rollback(_open(), release, select or (), at_once=at_once, dry_run=dry_run, as_json=as_json)
    if code:
        raise typer.Exit(code)


@app.command()
def watch(as_json: AsJson = False) -> None:
    """Look for what went wrong since the last release.

    Source data that came late, with the restatement that makes up for it; freshness, row counts, files and views of
    what is shown; the first routine run. Code 3 when something is found. Needs Spark for a shared catalog's views only.
    """
    from backfill_assets.cli.watch import print_watch

    found = _open().watch()
    if as_json:
        _print_json(found.to_json())
    else:
        print_watch(found)
    if found.findings:
        raise typer.Exit(INCOMPLETE)


@app.command()
def janitor(
    apply_it: Annotated[bool, typer.Option("--apply", help="Really delete; without it nothing is changed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say which tables nothing needs any more; delete them.

    Kept is what an environment shows, an open plan leads to, a release of the retention needs, or a run writes to, and
    what those were built from.
    """
    from backfill_assets.cli.janitor import run_janitor

    run_janitor(_open(), apply_it=apply_it, as_json=as_json)


@app.command()
def status(as_json: AsJson = False) -> None:
    """Show what is built, shown, running and missing.

    Each model's coverage, what the environment shows of it, batches in flight and the last failure. Needs no Spark.
    """
    from backfill_assets.cli.status import print_status, read_status

    place = _open()
    found = read_status(place)
    if as_json:
        _print_json(found.to_json())
    else:
        print_status(found)


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="A Spark SQL query; `-` reads it from standard input.")],
    environment: EnvironmentName = None,
    limit: Annotated[int, typer.Option(help="Show at most this many rows.", min=1)] = 50,
    as_json: AsJson = False,
) -> None:
    """Run a Spark SQL query over prod's views.

    All views are of one release: backfill sql "SELECT * FROM prod.campaign_performance".
    """
    from backfill_assets.cli.query import run_query

    text = sys.stdin.read() if query == "-" else query
    run_query(_open(), text, environment=environment, limit=limit, as_json=as_json)


@app.command()
def shell(environment: EnvironmentName = None) -> None:
    """Open a Python prompt with the views in Spark.

    `spark` has the environment's views, `sql(query)` runs a query, `read(model)` gives Arrow tables without Spark.
    """
    from backfill_assets.cli.query import run_shell

    run_shell(_open(), environment=environment)


@app.command()
def ui(
    port: Annotated[int, typer.Option(help="Where the Dagster UI listens.", min=1, max=65535)] = 3000,
    host: Annotated[str, typer.Option(help="The address that it listens on.")] = "127.0.0.1",
) -> None:
    """Start Dagster, UI and daemon, for this project."""
    from backfill_assets.defs.home import run_ui

    raise typer.Exit(run_ui(_root_folder(), host=host, port=port))


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check this machine and this project.

    Java, jars, disk, configuration, files and state; says how to mend what is wrong.
    """
    from backfill_assets.cli.doctor import examine, print_checks

    checks = examine(_root_folder())
    if as_json:
        _print_json([c.to_json() for c in checks])
    else:
        print_checks(checks)
    if any(not c.ok for c in checks):
        raise typer.Exit(1)


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that does not exist, or is empty.")],
    example: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A worked example: events, fact_orders_daily, customer_days, fact_order_items."
        ),
    ] = None,
) -> None:
    """Make a new project from a template.

    Settings, a source with data, two models and a consumer that work, to be replaced by yours.
    """
    from backfill_assets.cli.init import make_project

    make_project(folder, example)


@app.command()
def demo(
    events: Annotated[int, typer.Option(help="How many ad events to generate.", min=10_000)] = 2_000_000,
) -> None:
    """Run the whole demo, from nothing to prod.

    Generates 540 days of ad events, builds and audits three models, promotes them and queries prod.
    """
    from backfill_assets.cli.demo import run_demo

    run_demo(events)


def main() -> None:
    """The console script. User errors end in a message and exit code 1, never in a stack trace."""
    try:
        app()
    except ProjectError as error:
        _complain(str(error))
        sys.exit(1)
    except BackfillError as error:
        _complain(str(error))
        sys.exit(1)
    except KeyboardInterrupt:
        _complain("interrupted: finished batches are kept; run the same command again to go on")
        sys.stdout.flush()
        os._exit(INTERRUPTED)  # batches in flight may be lost at any moment: nothing needs an orderly end


def carry_out(place: Workspace, made: Plan, *, quiet: bool) -> tuple[dict[str, Outcome], str]:
    """Apply a plan with progress on the terminal; what came of it, and the run's name in the ledger.

    Opens no Spark session when there is nothing to do.
    """
    from backfill_assets.build.apply import apply as apply_plan
    from backfill_assets.build.events import silence

    if not made.work and not made.invalidations:
        return {}, ""
    if quiet:
        bench = place.bench(made.sources, patches=made.patches, listen=silence)
        return apply_plan(bench, made), bench.run
    from backfill_assets.cli.progress import live_progress

    with live_progress(place.project) as listen:
        bench = place.bench(made.sources, patches=made.patches, listen=listen)
        return apply_plan(bench, made), bench.run


def _promote(place: Workspace, request: Request, *, plan: str = "", as_json: bool) -> None:
    from backfill_assets.cli.render import print_promotion, promotion_json

    before = place.control.environments.read(place.environment)
    after, verdict = place.promote(request, plan=plan)
    if as_json:
        _print_json(promotion_json(before, after, verdict))
    else:
        print_promotion(before, after, verdict)
    if not verdict.open:
        raise typer.Exit(CLOSED)


def _root_folder() -> Path:
    from backfill_assets.settings import project_root

    return project_root()


def _open() -> Workspace:
    from backfill_assets.adapters.workspace import Workspace

    return Workspace.open()


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=2, default=str))


def _complain(text: str) -> None:
    from rich.text import Text

    from backfill_assets.cli.terminal import err

    console = err()
    first, _, rest = text.partition("\n")
    console.print(Text("backfill: ", style="bold red") + Text(first, style="bold") + Text(f"\n{rest}" if rest else ""))
