"""Where do people launch the project's jobs? The page of its code location in Dagster, said by whoever deploys it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import quote, urlencode

from backfill_assets.core.settings import DagsterNames
from backfill_assets.project.dagster_names import APPLY_STEP
from backfill_assets.project.review_address import address_of

URL = "BACKFILL_DAGSTER_URL"
"""The environment variable that says it."""


def launchpad_of_apply(names: DagsterNames, config: Mapping[str, object]) -> str:
    """The launchpad of the job `apply`, with this configuration of its step filled in; nothing is launched by opening
    it. "" where nobody said where Dagster is. Raises SettingsError for what is no address."""
    if not (address := address_of(URL, "https://dagster.example.com/locations/shop")):
        return ""
    job = quote(f"{names.job_prefix}apply", safe="")
    text = json.dumps({"ops": {APPLY_STEP: {"config": dict(config)}}}, indent=2)  # JSON is YAML
    return f"{address}/jobs/{job}/playground/setup?{urlencode({'config': text})}"
