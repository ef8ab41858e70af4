"""What does Dagster load? `dagster dev -m backfill_assets.definitions`; BACKFILL_PROJECT chooses the project."""

import sys

import click

from backfill_assets.core.errors import BackfillError
from backfill_assets.crash import crashed
from backfill_assets.defs.build_definitions import build_definitions

try:
    defs = build_definitions()
except BackfillError as problems:
    # Dagster's commands print a ClickException as plain text; its UI shows any exception's text. No stack helps here.
    raise click.ClickException(str(problems)) from None
except Exception as error:
    raise click.ClickException(crashed(error, sys.argv)) from None
