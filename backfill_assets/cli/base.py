"""What do all commands share? The application, their common options, and how a plan is carried out."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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


def open_place() -> Workspace:
    """The project that the command is about."""
    from backfill_assets.adapters.workspace import Workspace

    return Workspace.open()


def root_folder() -> Path:
    """Its folder, which need not hold a whole project."""
    from backfill_assets.settings import project_root

    return project_root()


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


def print_json(value: object) -> None:
    """For a machine."""
    typer.echo(json.dumps(value, indent=2, default=str))


def promote_and_tell(place: Workspace, request: Request, *, plan: str = "", as_json: bool) -> None:
    """Promote, and say what moved or what is in the way. Exits with CLOSED when nothing may move."""
    from backfill_assets.cli.render import print_promotion, promotion_json

    before = place.control.environments.read(place.environment)
    after, verdict = place.promote(request, plan=plan)
    if as_json:
        print_json(promotion_json(before, after, verdict))
    else:
        print_promotion(before, after, verdict)
    if not verdict.open:
        raise typer.Exit(CLOSED)
