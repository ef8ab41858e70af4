"""Nobody can tell how far a source reaches: its models are built up to the clock, and the plan says so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backfill_assets.core.intervals import utc
from backfill_assets.core.model import Audit, Model, Source, SourceReady
from backfill_assets.plan.unknown_days import unknown_days
from backfill_assets_tests.fakes import World, a_model, a_project

PLAIN = a_model("a", "raw")
CSV = {"format": "csv", "path": "/data/raw", "table": None, "time_column": "at"}


def told(*models: Model, known: tuple[str, ...] = (), **source: object) -> list[str]:
    world = World(*models)
    project = a_project(*models)
    raw: Source = replace(project.sources["raw"], **(CSV | source))
    world.project = replace(project, sources={**project.sources, "raw": raw})
    return [f"{w.model}: {w.what}" for w in unknown_days(world.project, world.plan(), known)]


def test_a_source_of_which_nothing_is_known() -> None:
    assert told(PLAIN) == ["a: how far raw reaches cannot be told: a is built up to the clock"]
    both = told(PLAIN, a_model("b", "raw"), format="json")
    assert both == ["a: how far raw reaches cannot be told: a and b are built up to the clock"]


@pytest.mark.parametrize(
    ("model", "known", "source"),
    [
        (PLAIN, ("raw",), {}),
        (replace(PLAIN, audits=(Audit(name="c", kind="completeness"),)), (), {}),
        (replace(PLAIN, end=utc("2024-01-05")), (), {}),
        (PLAIN, (), {"cut_off": False}),
        (PLAIN, (), {"time_column": None}),
        (PLAIN, (), {"ready": SourceReady(file="_SUCCESS")}),
    ],
    ids=["known", "refused", "ends", "may be", "timeless", "ready"],
)
def test_where_nothing_is_to_be_said(model: Model, known: tuple[str, ...], source: dict[str, object]) -> None:
    assert told(model, known=known, **source) == []


@pytest.mark.parametrize("source", [{"format": "delta"}, {"format": "orc"}, {"path": None, "table": "c.d.t"}])
def test_of_any_kind(source: dict[str, object]) -> None:
    assert told(PLAIN, **source) == ["a: how far raw reaches cannot be told: a is built up to the clock"]
