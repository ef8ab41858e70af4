"""How does a team begin? A small project that works, copied from the template."""

from __future__ import annotations

import shutil
from pathlib import Path

from backfill_assets.cli.terminal import out
from backfill_assets.errors import SettingsError

TEMPLATE = Path(__file__).resolve().parent.parent / "template"


def make_project(folder: Path) -> None:
    """Copy the template. Raises SettingsError when the folder holds anything already: nothing is overwritten."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingsError(
            f"{folder} is not empty",
            why="a new project would overwrite what is there",
            fix="name a new or empty folder",
        )
    shutil.copytree(TEMPLATE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    console = out()
    console.print(f"A project is in {folder}:")
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        console.print(f"  {file.relative_to(folder)}")
    console.print(f"Next: [bold]backfill --project {folder} apply --promote[/]")
