"""The `backfill` command: the same functions that Dagster calls, for a terminal and for scripts."""

from backfill_assets.cli.app import main

__all__ = ["main"]
