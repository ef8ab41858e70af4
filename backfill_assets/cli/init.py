"""`backfill init`: a project that works, and what to do next."""

from __future__ import annotations

import shlex
from pathlib import Path

from backfill_assets.app.new_project import make_project
from backfill_assets.cli.terminal import out, styled


def init_project(folder: Path, example: str | None = None) -> None:
    """Make a project, say what is in it and what comes next. Raises as `make_project` does."""
    files = make_project(folder, example)
    console = out()
    console.print(f"A project is in {folder}:")
    for file in files:
        console.print(f"  {file}")
    here = f"backfill --project {shlex.quote(str(folder))}"
    console.print(styled("Next: [bold]{} plan[/], then [bold]{} apply --promote[/]", here, here))
