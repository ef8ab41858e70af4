"""What does the whole thing look like? The embedded demo from nothing to a query on prod, by the same commands."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

from backfill_assets.app.apply import build_plan, start_apply
from backfill_assets.app.context import Context
from backfill_assets.app.new_project import IGNORED, new_folder
from backfill_assets.app.promote import promote_plan
from backfill_assets.cli.base import INCOMPLETE, following
from backfill_assets.cli.outcomes import print_outcomes
from backfill_assets.cli.plan_text import print_plan
from backfill_assets.cli.promotion import print_promotion
from backfill_assets.cli.terminal import err, styled
from backfill_assets.core.errors import SettingsError
from backfill_assets.plan.stages import Request
from backfill_assets.project.settings import EMBEDDED_PROJECT, state_root

QUERY = """\
SELECT channel, count(DISTINCT campaign_id) AS campaigns, sum(impressions) AS impressions, sum(clicks) AS clicks,
       round(sum(spend), 2) AS spend, sum(conversions) AS conversions
FROM prod.campaign_performance GROUP BY channel ORDER BY channel"""


COPIED = ("backfill.yml", "sources.yml", "consumers.yml", "models")
MARK = ".backfill/demo"
"""A file that says that the folder is a copy of the demo, whole: another call goes on with it."""


def copy_demo(folder: Path) -> Path:
    """Copy the demo's files, and return the folder. One that is a copy stays as it is, with all that was edited.

    Raises SettingsError when the folder holds anything else, or cannot be written.
    """
    folder = folder.expanduser().resolve()
    try:
        if not (folder / MARK).is_file():
            new_folder(folder)
            folder.mkdir(parents=True, exist_ok=True)
            for name in COPIED:
                origin = EMBEDDED_PROJECT / name
                if origin.is_dir():
                    shutil.copytree(origin, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copyfile(origin, folder / name)
            (folder / ".gitignore").write_text(IGNORED, encoding="utf-8")
            (folder / MARK).parent.mkdir()
            (folder / MARK).touch()
    except OSError as error:
        raise SettingsError(
            f"the demo cannot be copied to {folder}",
            why=error.strerror or str(error),
            fix="name a folder that can be written",
        ) from None
    return folder


def run_demo(events: int, folder: Path | None = None) -> None:
    """Generate, plan, apply, promote, query: of a copy in a folder, or of the embedded demo. What is there already is
    not done again."""
    import typer

    from backfill_assets.cli.query import run_query
    from backfill_assets.defs.dagster_home import ensure_home
    from backfill_assets.demo.generate import generate

    root = folder or EMBEDDED_PROJECT.resolve()
    os.environ.pop("BACKFILL_PROJECT", None)
    console = err()
    began = time.monotonic()
    home = state_root(root)
    ensure_home(root)
    _step(console, f"generate {events:,} ad events over 540 days")
    summary = generate(home / ".backfill" / "data", events=events)
    console.print(Text(str(summary), style="dim"))
    context = Context.open(root)
    _step(console, "backfill plan")
    started = start_apply(context, Request())
    print_plan(started.whole, context.project, started.estimate)
    _step(console, "backfill apply")
    built = build_plan(context, started, follow=following(quiet=False))
    print_outcomes(started.plan, built.carried.outcomes, context.project)
    if not built.carried.ok:
        raise typer.Exit(INCOMPLETE)
    _step(console, "backfill promote")
    done = promote_plan(context)
    print_promotion(done.before, done.environment, done.verdict)
    _step(console, f'backfill sql "{QUERY.splitlines()[0]} …"')
    run_query(context, QUERY, environment=None, limit=50, as_json=False)
    took = f"{time.monotonic() - began:.0f}"
    console.print(styled("\nDone in {} s. Look around: [bold]backfill status[/], [bold]backfill ui[/]", took))
    if folder:
        edit = "edit models/campaign_performance.sql"
        console.print(styled("Next: [bold]cd {}[/], {}, [bold]backfill plan[/]", shlex.quote(str(folder)), edit))


def _step(console: Console, title: str) -> None:
    console.print(Text("\n$ ", style="dim") + Text(title, style="bold cyan"))
