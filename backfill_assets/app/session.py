"""How is a Spark session kept for commands to come? Each opens none of its own while there is one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from backfill_assets.app.context import Context
from backfill_assets.app.query import query_views
from backfill_assets.core.errors import BackfillError


def keep_session(context: Context, *, minutes: int, ready: Callable[[], None]) -> str:
    """Keep one until no command used it for so many minutes; why it ended. `ready` is called once it can be used.

    Raises SettingsError where Spark cannot be started or its session not be shared, StateError when one is kept
    already.
    """
    from backfill_assets.adapters.session import keep_session

    def warm() -> None:
        """The first query of a JVM takes seconds, for the classes that it loads: it is nobody's."""
        shown = context.control.environments.read(context.environment)
        for model in list(shown.pointers)[:1]:
            with suppress(BackfillError):
                query_views(context, f"SELECT * FROM `{shown.name}`.`{model}` LIMIT 1", environment=None, limit=1)
        ready()

    return keep_session(context.project.root, context.project.settings, idle=60 * minutes, ready=warm)
