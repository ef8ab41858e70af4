"""What does the whole thing look like? The embedded demo from nothing to a query on prod, by the same commands."""

from __future__ import annotations

import os
import time

from rich.console import Console
from rich.text import Text

from backfill_assets.app.apply import build_started, start_apply
from backfill_assets.app.context import Context
from backfill_assets.app.promote import promote_plan
from backfill_assets.cli.base import INCOMPLETE, following
from backfill_assets.cli.outcomes import print_outcomes
from backfill_assets.cli.plan_text import print_plan
from backfill_assets.cli.promotion import print_promotion
from backfill_assets.cli.terminal import err, styled
from backfill_assets.plan.stages import Request
from backfill_assets.project.settings import EMBEDDED_PROJECT, state_root

QUERY = """\
SELECT channel, count(DISTINCT campaign_id) AS campaigns, sum(impressions) AS impressions, sum(clicks) AS clicks,
       round(sum(spend), 2) AS spend, sum(conversions) AS conversions
FROM prod.campaign_performance GROUP BY channel ORDER BY channel"""


def run_demo(events: int) -> None:
    """Generate, plan, apply, promote, query. What is there already is not done again."""
    import typer

    from backfill_assets.cli.query import run_query
    from backfill_assets.defs.dagster_home import ensure_home
    from backfill_assets.demo.generate import generate

    os.environ.pop("BACKFILL_PROJECT", None)
    console = err()
    began = time.monotonic()
    home = state_root(EMBEDDED_PROJECT.resolve())
    ensure_home(EMBEDDED_PROJECT.resolve())
    _step(console, f"generate {events:,} ad events over 540 days")
    summary = generate(home / ".backfill" / "data", events=events)
    console.print(Text(str(summary), style="dim"))
    place = Context.open(EMBEDDED_PROJECT)
    _step(console, "backfill plan")
    started = start_apply(place, Request())
    print_plan(started.whole, place.project, started.estimate)
    _step(console, "backfill apply")
    built = build_started(place, started, follow=following(quiet=False))
    print_outcomes(started.plan, built.carried.outcomes, place.project)
    if not built.carried.ok:
        raise typer.Exit(INCOMPLETE)
    _step(console, "backfill promote")
    done = promote_plan(place)
    print_promotion(done.before, done.environment, done.verdict)
    _step(console, f'backfill sql "{QUERY.splitlines()[0]} …"')
    run_query(place, QUERY, environment=None, limit=50, as_json=False)
    console.print(
        styled(
            "\nDone in {} s. Look around: [bold]backfill status[/], [bold]backfill ui[/]",
            f"{time.monotonic() - began:.0f}",
        )
    )


def _step(console: Console, title: str) -> None:
    console.print(Text("\n$ ", style="dim") + Text(title, style="bold cyan"))
