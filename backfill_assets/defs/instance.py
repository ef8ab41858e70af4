"""Is this a Dagster instance that will still be there tomorrow? Builds on a throw-away one are refused."""

from __future__ import annotations

from pathlib import Path

import dagster as dg

from backfill_assets.core.errors import SettingsError

THROW_AWAY = ".tmp_dagster_home_"
"""How the `dagster` command names the home that it makes, and deletes, when DAGSTER_HOME is not set."""


def require_lasting(instance: dg.DagsterInstance) -> None:
    """Raises SettingsError when the instance's records vanish with the process."""
    try:
        folder = "" if instance.is_ephemeral else instance.root_directory
    except AttributeError:
        folder = ""
    if folder and not any(part.startswith(THROW_AWAY) for part in Path(folder).parts):
        return
    raise SettingsError(
        "this run is on a throw-away Dagster instance; nothing was built",
        why="DAGSTER_HOME is not set, so Dagster would forget the run, its events and its checks",
        fix="start the UI with `backfill ui`, or run `backfill doctor`: it makes a lasting home and writes "
        "DAGSTER_HOME to .env, which Dagster reads in the working folder (or set it yourself, to an absolute folder)",
    )
