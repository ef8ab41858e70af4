"""How is this project set up? `backfill.yml`, the environment variables that override it, and where things live."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from backfill_assets.core.errors import Problem, ProjectError, SettingsError
from backfill_assets.core.settings import Settings
from backfill_assets.files.untrusted import is_untrusted
from backfill_assets.project.locations import resolve_location, wrong_location

SETTINGS_FILE = "backfill.yml"
_ADDRESS = re.compile(r"#|%[0-9A-Fa-f]{2}")
"""What readers of paths take for a part of a URI."""
EMBEDDED_PROJECT = Path(__file__).parent.parent / "demo"


def project_root(project: str | Path | None = None) -> Path:
    """The project's folder: the argument, else BACKFILL_PROJECT, else the first from here upwards that holds a
    `backfill.yml`, else the embedded demo.

    Raises SettingsError when the folder does not exist, and for a `backfill.yml` above that somebody else owns.
    """
    chosen = project or os.environ.get("BACKFILL_PROJECT")
    if not chosen:
        return _project_above() or EMBEDDED_PROJECT.resolve()
    try:
        root = Path(chosen).expanduser().resolve()
        found, other = root.is_dir(), root.exists()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a home of nobody, a zero byte
        raise SettingsError(f"no project at {chosen!r}", why=str(error), fix=_NAME_ANOTHER) from None
    if not found:
        raise SettingsError(
            f"no project at {chosen}",
            why="it is a file, not a folder" if other else "the folder does not exist",
            fix=_NAME_ANOTHER if other else f"create one with `backfill init {chosen}`, or {_NAME_ANOTHER}",
        )
    return root


_NAME_ANOTHER = "name the project's folder with --project DIR or BACKFILL_PROJECT"


def _project_above() -> Path | None:
    """The nearest folder, from the working one upwards, that holds a `backfill.yml`."""
    try:
        here = Path.cwd()
    except OSError:  # the working folder was removed
        return None
    for folder in (here, *here.parents):
        file = folder / SETTINGS_FILE
        if not file.is_file():
            continue
        # A project is code that runs. One above, in a place that many can write to, may be anybody's.
        if folder != here and hasattr(os, "getuid") and file.stat().st_uid not in (os.getuid(), 0):
            raise SettingsError(
                f"{folder} belongs to somebody else",
                why=f"{file} was found above the working folder, and is not owned by this user",
                fix=f"if you trust it, name it: --project {folder} or BACKFILL_PROJECT",
            )
        return folder.resolve()
    return None


def state_root(root: Path) -> Path:
    """Where relative paths start: the project's folder; for the embedded demo the checkout, else the cwd."""
    if root != EMBEDDED_PROJECT.resolve():
        return root
    checkout = Path(__file__).resolve().parents[2]
    return checkout if (checkout / "pyproject.toml").is_file() else Path.cwd()


def cache_folder(root: Path) -> Path:
    """Where what can be made again is kept: BACKFILL_CACHE, else beside the project's state."""
    return Path(os.environ.get("BACKFILL_CACHE") or state_root(root) / ".backfill" / "cache")


def read_settings(root: Path, problems: list[Problem]) -> Settings:
    """Read `<root>/backfill.yml` (all defaults when it is missing); what is wrong has its default, and is a problem."""
    from backfill_assets.project import settings_file

    file = root / SETTINGS_FILE
    settings = settings_file.parse_settings(file, problems)
    variable = os.environ.get("BACKFILL_WAREHOUSE")
    if variable and (why := wrong_location(variable)):
        fix = "correct the variable, or unset it"
        raise SettingsError(f"BACKFILL_WAREHOUSE is {variable!r}", why=why, fix=fix)
    warehouse = resolve_location(variable or settings.warehouse, state_root(root))
    if "://" not in warehouse and (taken := _file_in(Path(warehouse))):
        raise SettingsError(
            f"the warehouse cannot be at {warehouse}",
            why=f"{taken} is a file",
            fix="correct BACKFILL_WAREHOUSE" if variable else f"correct `warehouse:` in {file}",
        )
    if "://" not in warehouse and _ADDRESS.search(warehouse):
        raise SettingsError(
            f"the warehouse cannot be at {warehouse}",
            why="Spark and delta-rs take `#`, and `%` before two digits, for signs of an address, and look elsewhere",
            fix=f"set {'BACKFILL_WAREHOUSE' if variable else '`warehouse:`'} to a folder whose path has none of these"
            f"{'' if variable else ', or move the project to one'}",
        )
    return replace(settings, warehouse=warehouse, untrusted=settings.untrusted or is_untrusted())


def load_settings(root: Path) -> Settings:
    """The settings in a project's folder. Raises ProjectError with every problem of `backfill.yml` at once."""
    problems: list[Problem] = []
    settings = read_settings(root, problems)
    if problems:
        raise ProjectError(problems)
    return settings


def _file_in(path: Path) -> Path | None:
    """The first part of a path that is a file, where a folder would have to be."""
    with suppress(OSError):
        return next((p for p in (*reversed(path.parents), path) if p.exists() and not p.is_dir()), None)
    return None
