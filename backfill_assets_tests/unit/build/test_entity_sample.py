"""What does a sample of entities read and write, without Spark?"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from backfill_assets.app.entity_sample import _questions  # pyright: ignore[reportPrivateUsage]
from backfill_assets.build.apply import apply
from backfill_assets.build.engine import Job, ModelInput
from backfill_assets.build.entity_sample import build_sample
from backfill_assets.build.events import BatchDone, ModelStarted
from backfill_assets.core.intervals import Interval
from backfill_assets.core.model import Signature
from backfill_assets.plan.entities import EntitySample
from backfill_assets.plan.stages import Build, Plan, Request
from backfill_assets.promote.lifecycle import store_plan
from backfill_assets_tests.fakes import NOW, World, a_model, days

SALES = a_model("sales", "raw", grain=("ds", "shop"), batch_size=4)
SUMS = a_model("sums", "sales", grain=("ds", "shop"))
TAKEN = {"sales": "true", "sums": "true"}


def a_world(**versions: str) -> World:
    """Ten days of both, shown; the code of some may be another since."""
    world = World(SALES, SUMS)
    apply(world.bench(), world.plan())
    assert world.release(required=False).moved
    return changed(world, **versions)


def changed(world: World, **versions: str) -> World:
    return World(SALES, SUMS, store=world.store, tables=world.tables, versions=versions)


def builds(plan: Plan) -> list[Build]:
    return [stage for stage in plan.stages if isinstance(stage, Build)]


def test_corrections_of_what_is_read_are_read() -> None:
    """Around the sample's days an upstream is read as by a build: with the days that were corrected."""
    world = a_world()
    plan = world.plan(Request(restate=(("sales", days("03", "04")),)))
    opened = store_plan(world.control, plan, by="ana", views=lambda: None, code=world.project.fingerprints)
    assert opened
    outcomes = apply(world.bench("again", patches=plan.patches), plan)
    assert all(o.ok for o in outcomes.values()), outcomes
    world.prove(opened.plan.id)
    world.approve(opened.plan.id)
    assert world.release(plan=opened.plan.id, required=False).moved
    world = changed(world, sums="new")
    later = NOW + timedelta(days=1)
    plan = world.plan(now=later)
    assert {stage.model for stage in builds(plan)} == {"sales", "sums"}

    jobs: dict[str, Job] = {}
    world.engine.before_write = lambda job, _: jobs.setdefault(job.model.name, job)
    computed = build_sample(world.bench("sample", now=later), builds(plan), TAKEN)
    sampled = jobs.pop("sums").inputs["sales"]
    apply(world.bench("whole", now=later), plan)
    whole = jobs["sums"].inputs["sales"]
    assert isinstance(sampled, ModelInput) and isinstance(whole, ModelInput)
    assert whole.over and {s.interval for s in whole.over} == {days("03", "04")}
    assert set(whole.over) <= set(sampled.over)
    assert {s.version for s in sampled.over} == {s.version for s in (*whole.over, *computed["sales"])}


def test_batches_are_those_of_a_build() -> None:
    """Not all of history at once, however few the entities are: what a batch reads is as much. Whoever follows is told
    of each, and of how many there are."""
    world = a_world(sales="new", sums="new")
    plan = world.plan()
    written: list[tuple[str, Interval]] = []
    world.engine.before_write = lambda job, interval: written.append((job.model.name, interval))
    world.events.clear()
    build_sample(world.bench("sample"), builds(plan), TAKEN)
    planned = [(stage.model, batch) for stage in builds(plan) for batch in stage.batches]
    assert written == planned and len(planned) > 2
    assert [(e.model, e.interval) for e in world.events if isinstance(e, BatchDone)] == planned
    assert {e.model: (e.intervals, e.batches) for e in world.events if isinstance(e, ModelStarted)} == {
        stage.model: (stage.count, len(stage.batches)) for stage in builds(plan)
    }


def test_nothing_is_made_of_the_version_itself() -> None:
    """Neither table nor record: what a reader reads of a version of which nothing is built is all of the sample."""
    world = a_world(sales="new", sums="new")
    before = set(world.control.versions.all())
    jobs: dict[str, Job] = {}
    world.engine.before_write = lambda job, _: jobs.setdefault(job.model.name, job)
    bench = world.bench("sample")
    computed = build_sample(bench, builds(world.plan()), TAKEN)
    made = set(world.control.versions.all()) - before
    assert made == {(name, segment.version) for name, segments in computed.items() for segment in segments}
    assert all(bench.log.head(name, world.project.fingerprints[name]) < 0 for name in TAKEN)
    read = jobs["sums"].inputs["sales"]
    assert isinstance(read, ModelInput)
    assert (read.version, read.commit) == (computed["sales"][0].version, computed["sales"][0].commit)
    assert read.over == computed["sales"]


def test_models_whose_key_was_another_are_not_compared() -> None:
    """Of another type, it has other texts, and so other hashes: both sides would be of other entities."""
    world = World(SALES, SUMS)
    world.engine.columns = (("ds", "string"), ("shop", "int"))
    apply(world.bench(), world.plan())
    assert world.release(required=False).moved
    world = changed(world, sales="new", sums="new")
    sample = EntitySample(column="shop", parts=10_000)
    for kind, unlike in (("bigint", {}), ("string", dict.fromkeys(TAKEN, "shop is int in what is shown"))):
        world.engine.columns = (("ds", "string"), ("shop", kind))
        bench = world.bench(f"sample of {kind}")
        computed = build_sample(bench, builds(world.plan()), TAKEN)
        context: Any = SimpleNamespace(control=world.control, project=world.project, log=bench.log)
        shown = world.control.environments.read("prod")
        asked, found = _questions(context, shown, computed, dict.fromkeys(TAKEN, "shop"), sample)
        assert {name: why.partition(",")[0] for name, why in found.items()} == unlike
        assert {q.model.name for q in asked} == TAKEN.keys() - unlike.keys()
        assert all(q.taken == (sample.taken("shop"),) * 2 for q in asked)


def test_a_key_that_was_called_otherwise() -> None:
    """The version's own record is not there yet: what its columns were called is told by the sample's."""

    def called(world: World, key: str, rows: str) -> None:
        signature = Signature(rows=rows, columns={"ds": "of days", key: "of shops"})
        world.project = replace(world.project, signatures={"sales": signature})
        world.engine.columns = (("ds", "string"), (key, "string"))

    world = World(SALES)
    called(world, "store", "rows")
    apply(world.bench(), world.plan())
    assert world.release(required=False).moved
    world = World(SALES, store=world.store, tables=world.tables, versions={"sales": "new"})
    called(world, "shop", "other rows")
    bench, sample = world.bench("sample", project=world.project), EntitySample(column="shop", parts=10_000)
    computed = build_sample(bench, builds(world.plan()), {"sales": "true"})
    context: Any = SimpleNamespace(control=world.control, project=world.project, log=bench.log)
    shown = world.control.environments.read("prod")
    asked, found = _questions(context, shown, computed, {"sales": "shop"}, sample)
    assert not found and [q.taken for q in asked] == [(sample.taken("store"), sample.taken("shop"))]
