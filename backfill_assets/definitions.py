"""What does Dagster load? `dagster dev -m backfill_assets.definitions`; BACKFILL_PROJECT chooses the project."""

from backfill_assets.defs.build_definitions import build_definitions

defs = build_definitions()
