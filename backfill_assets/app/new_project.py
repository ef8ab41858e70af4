"""How does a team begin? A small project that works, copied from the template or from a worked example."""

from __future__ import annotations

import shutil
from pathlib import Path

from backfill_assets.core.errors import SettingsError
from backfill_assets.demo.examples.data import EXAMPLES, write_data

PACKAGE = Path(__file__).resolve().parent.parent
TEMPLATE = PACKAGE / "template"
IGNORED = """\
# What commands make: tables and records, caches, Dagster's home, and the variables of this machine.
.backfill/
.dagster/
.tmp_dagster_home_*/
.env
spark-warehouse/
metastore_db/
derby.log
__pycache__/
"""
"""The `.gitignore` of a new project. Data and secrets stay out of the repository."""


def make_project(folder: Path, example: str | None = None) -> list[Path]:
    """Copy the template, or an example and write its data; the files that there are then, relative to the folder.

    Raises SettingsError for an unknown example, and when the folder holds anything already: nothing is overwritten.
    """
    if example is not None and example not in EXAMPLES:
        raise SettingsError(
            f"there is no example {example}", why=f"there are: {', '.join(EXAMPLES)}", fix="name one of these"
        )
    try:
        _make(folder, example)
    except OSError as error:
        raise SettingsError(
            f"no project can be made in {folder}",
            why=error.strerror or str(error),
            fix="name a folder that can be written",
        ) from None
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def _make(folder: Path, example: str | None) -> None:
    new_folder(folder)
    origin = PACKAGE / "demo" / "examples" / example if example else TEMPLATE
    shutil.copytree(origin, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / ".gitignore").write_text(IGNORED, encoding="utf-8")
    if example:
        write_data(example, folder)


def new_folder(folder: Path) -> None:
    """Raises SettingsError when the folder holds anything."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingsError(
            f"{folder} is not empty",
            why="a new project would overwrite what is there",
            fix="name a new or empty folder",
        )
