"""Where does Dagster lead to the reviewer's page? A line of metadata, where the deployment says its address."""

from __future__ import annotations

import dagster as dg
from dagster._core.events import EngineEventData

from backfill_assets.project.review_address import page_of

REVIEW = "review"


def review_link(*parts: str) -> dict[str, dg.MetadataValue[str | None]]:
    """Metadata with the address of a page, such as `plan`, `1f3a9c02`; nothing where nobody said where it is."""
    page = page_of(*parts)
    return {REVIEW: dg.MetadataValue.url(page)} if page else {}


def link_run(instance: dg.DagsterInstance, run: dg.DagsterRun, words: str, *parts: str) -> None:
    """Let a run's page lead to a page of the reviewer's, by an event of its log: Dagster shows the addresses in run
    tags as text. It is there also when the run fails."""
    if link := review_link(*parts):
        instance.report_engine_event(words, run, EngineEventData(metadata=link))
