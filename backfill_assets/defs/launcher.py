"""Which account launched a Dagster run? What the deployment asserts, or else the user that Dagster runs as."""

from __future__ import annotations

import os

import dagster as dg

from backfill_assets.app.approver import acting_for
from backfill_assets.app.context import Context

VARIABLE = "BACKFILL_DAGSTER_USER_TAG"
"""Names the run tag that says who launched. Set by whoever deploys, and only where the deployment itself writes that
tag and launchers cannot: Dagster+ writes `user` (https://github.com/dagster-io/dagster/pull/13494); in open-source
Dagster everybody can type any tag into the launchpad."""


def acting(context: Context, run: dg.DagsterRun) -> Context:
    """The same, acting for whoever launched the run. Raises PlanError."""
    tag = os.environ.get(VARIABLE, "")
    return acting_for(context, run.tags.get(tag, ""), f"the run tag `{tag}`") if tag else context
