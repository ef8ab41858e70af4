"""`backfill init`: a project that works, and what to do next."""

from __future__ import annotations

import shlex
from pathlib import Path

from rich.text import Text

from backfill_assets.app.new_project import make_project
from backfill_assets.cli.terminal import out, styled


def init_project(folder: Path, example: str | None = None) -> None:
    """Make a project, say what is in it and what comes next. Raises as `make_project` does."""
    files = make_project(folder, example)
    console = out()
    console.print(f"A project is in {folder}:")
    for file in files:
        console.print(f"  {file}")
    steps = styled("[bold]backfill plan[/], then [bold]backfill apply --promote[/]")
    enter = styled("[bold]cd {}[/], ", shlex.quote(str(folder))) if folder.resolve() != Path.cwd() else Text()
    console.print(Text("Next: ") + enter + steps)
