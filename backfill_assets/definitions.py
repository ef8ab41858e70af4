"""What does Dagster load? `dagster dev -m backfill_assets.definitions`; BACKFILL_PROJECT chooses the project."""

from backfill_assets.defs.build_definitions import build_definitions
from backfill_assets.errors import BackfillError

try:
    defs = build_definitions()
except BackfillError as problems:
    # Dagster shows the text and the stack; of the stack only this line helps.
    raise problems.with_traceback(None) from None
