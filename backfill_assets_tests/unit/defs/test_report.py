"""What does Dagster get to know of a build that went beyond its partitions?"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import dagster as dg

from backfill_assets.build.apply import apply
from backfill_assets.core.intervals import Cadence
from backfill_assets.defs.partitions import partitions
from backfill_assets.defs.report import log_outcome, recorded
from backfill_assets.plan.stages import Request
from backfill_assets_tests.fakes import NOW, World, a_model


def test_an_open_interval_is_not_reported() -> None:
    """A build of ten days, today and this month: ten materializations and their checks, all of partitions that exist;
    a month that has none yet reports none, and fails nothing."""
    world = World(a_model("d", "raw", batch_size=20), a_model("m", "d", cadence=Cadence.MONTHLY))
    plan = world.plan(Request(ignore_cron=True))
    outcomes = apply(world.bench(pins=plan.sources), plan)
    place: Any = SimpleNamespace(
        project=replace(world.project, columns={"d": (), "m": ()}),
        control=world.control,
        log=world.tables,
        warehouse="/warehouse",
        now=lambda: NOW,
    )
    told: dict[str, list[Any]] = {}
    with dg.DagsterInstance.ephemeral() as instance:
        for name, outcome in outcomes.items():
            step: Any = SimpleNamespace(instance=instance, log_event=told.setdefault(name, []).append)
            log_outcome(place, step, world.project.models[name], outcome)
    keys = partitions(world.project.models["d"], clock=NOW).get_partition_keys()
    assert [e.partition for e in told["d"] if isinstance(e, dg.AssetMaterialization)] == keys
    checks = [e for e in told["d"] if not isinstance(e, dg.AssetMaterialization)]
    assert {c.partition for c in checks} == {*keys, None} and all(c.passed for c in checks)
    assert [e.partition for e in told["m"]] == [None], "a summary that says that nothing was checked"
    month = world.project.models["m"]
    assert recorded(place, month, outcomes["m"].green) == []
