"""How does a comparison of a sample of entities look in the terminal? Like a diff, after what it is of."""

from __future__ import annotations

import typer
from rich.text import Text

from backfill_assets.app.context import Context
from backfill_assets.app.entity_sample import sample_entities
from backfill_assets.build.hold import Hold
from backfill_assets.cli.base import HELD, following
from backfill_assets.cli.diff import diff_json, print_diff
from backfill_assets.cli.terminal import out, print_json
from backfill_assets.core.errors import HeldError
from backfill_assets.core.escaping import one_line
from backfill_assets.plan.entities import EntitySample
from backfill_assets.plan.stages import Request


def apply_sample(context: Context, request: Request, sample: EntitySample, hold: Hold, *, as_json: bool) -> None:
    """Compute it, and print what is different."""
    try:
        done = sample_entities(context, request, sample, hold=hold, follow=following(quiet=as_json))
    except HeldError as error:
        out().print(Text(one_line(str(error)), style="yellow"))
        raise typer.Exit(HELD) from None
    if as_json:
        print_json(
            {
                "sample": {"by": sample.column, "of_a_million": sample.parts, "proof": False},
                "taken": dict(done.taken),
                "left_out": dict(done.left),
                "diff": diff_json(done.compared),
            }
        )
        return
    for sentence in done.words:
        out().print(Text(one_line(sentence), style="yellow"))
    print_diff(done.compared)
