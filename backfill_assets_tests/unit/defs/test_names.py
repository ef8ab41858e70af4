"""Several projects with models of the same names, in one Dagster instance: nothing of one is taken for the other's."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

import backfill_assets
from backfill_assets.build.build import build
from backfill_assets.core.errors import PlanError, SettingsError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.settings import DagsterNames
from backfill_assets.defs.build_definitions import build_definitions
from backfill_assets.defs.io_manager import IO_MANAGER_KEY
from backfill_assets.defs.names import model_of
from backfill_assets.defs.partitions import require_over
from backfill_assets.defs.plan_tags import PLAN_TAG, RECORDED_TAG, named_plan, recorded_plan, recording
from backfill_assets.defs.report import done_text, failure_text
from backfill_assets.plan.request_options import SHARED
from backfill_assets_tests.fakes import NOW, World, a_model
from backfill_assets_tests.projects import small_project

ALICE, BOB = "alice", "bob"


@pytest.fixture
def both(tmp_path: Path) -> tuple[Path, Path]:
    first, second = (small_project(tmp_path / name, days=2) for name in (ALICE, BOB))
    return first, second


def keys_of(defs: dg.Definitions) -> set[str]:
    return {key.to_user_string() for key in defs.resolve_all_asset_keys()}


def names_of(defs: dg.Definitions) -> set[str]:
    """All that is named in a code location: of jobs the ops as well, whose names are the location's too."""
    jobs = list(defs.resolve_all_job_defs())
    found = {job.name for job in jobs} | {op.name for job in jobs for op in job.all_node_defs}
    found |= {one.name for one in (*(defs.schedules or ()), *(defs.sensors or ()))} | set(defs.resources or ())
    return found | {spec.group_name or "" for spec in defs.resolve_all_asset_specs()}


def test_without_prefixes_everything_is_called_as_ever(both: tuple[Path, Path]) -> None:
    """A project that says nothing keeps its keys, jobs and resources."""
    found = build_definitions(both[0])
    assert keys_of(found) == {"raw/events", "daily", "running", "prod/daily", "prod/running"}
    wanted = {"apply", "watch", "routine_schedule", "ledger_sensor", "pyspark", IO_MANAGER_KEY, "models"}
    assert wanted <= names_of(found)


def test_a_prefix_is_before_every_key_and_every_name(both: tuple[Path, Path]) -> None:
    """No asset, check, upstream, lineage, job, op, schedule, sensor, resource or group is left without."""
    found = build_definitions(both[0], key_prefix="marketing/eu", job_prefix="m_")
    assert keys_of(found) == {f"marketing/eu/{key}" for key in keys_of(build_definitions(both[0]))}
    graph = found.resolve_asset_graph()
    assert {tuple(key.asset_key.path[:2]) for key in graph.asset_check_keys} == {("marketing", "eu")}
    lineage = graph.get(dg.AssetKey(["marketing", "eu", "prod", "daily"])).metadata["dagster/column_lineage"]
    assert "marketing" in str(lineage)
    own = {name for name in names_of(found) if not name.startswith(("m_", "marketing__eu__"))}
    assert own == {"__ASSET_JOB"}


def test_two_projects_are_in_one_code_location(both: tuple[Path, Path]) -> None:
    """As two components are: everything resolves together, and each model hangs below its own project's."""
    found = dg.Definitions.merge(
        *(build_definitions(root, key_prefix=root.name, job_prefix=f"{root.name}_") for root in both)
    )
    dg.Definitions.validate_loadable(found)
    graph = found.resolve_asset_graph()
    for name in (ALICE, BOB):
        assert graph.get(dg.AssetKey([name, "running"])).parent_keys == {dg.AssetKey([name, "daily"])}
        assert graph.get(dg.AssetKey([name, "daily"])).parent_keys == {dg.AssetKey([name, "raw", "events"])}
    assert {f"{name}_{job}" for name in (ALICE, BOB) for job in ("apply", "promote", "watch")} <= names_of(found)


def test_a_configuration_names_the_same_steps_in_all_projects(both: tuple[Path, Path]) -> None:
    job = build_definitions(both[0], key_prefix=ALICE, job_prefix="a_").resolve_job_def("a_apply")
    assert [node.name for node in job.graph.nodes] == ["build_what_is_missing"]


def test_what_is_somebody_elses_asset_has_no_prefix(both: tuple[Path, Path]) -> None:
    """A source that others make has their key, and no second asset."""
    found = build_definitions(both[0], key_prefix=ALICE, existing_assets=["raw.events"])
    assert "alice/raw/events" not in keys_of(found)
    daily = found.resolve_asset_graph().get(dg.AssetKey([ALICE, "daily"]))
    assert daily.parent_keys == {dg.AssetKey(["raw", "events"])}


def test_the_file_says_it_and_an_argument_wins(both: tuple[Path, Path]) -> None:
    root = both[0]
    names = {"dagster": {"key_prefix": "sales", "job_prefix": "s_"}}
    (root / "backfill.yml").write_text(json.dumps(json.loads((root / "backfill.yml").read_text()) | names))
    assert "sales/daily" in keys_of(build_definitions(root)) and "s_apply" in names_of(build_definitions(root))
    other = build_definitions(root, key_prefix=["it"])
    assert "it/daily" in keys_of(other) and "s_apply" in names_of(other)
    assert "daily" in keys_of(build_definitions(root, key_prefix=[]))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"key_prefix": "a b"}, "'a b' is not a part of a key"),
        ({"key_prefix": ["a", ""]}, "'' is not a part of a key"),
        ({"key_prefix": ["x" * 41]}, "longer than 40"),
        ({"job_prefix": "a-"}, "letters, digits and _ are allowed"),
        ({"existing_assets": ["raw.other"]}, r"existing_assets names raw\.other(.|\n)*raw\.events"),
    ],
)
def test_names_that_dagster_would_not_take_are_refused(
    both: tuple[Path, Path], given: dict[str, object], said: str
) -> None:
    """Before anything is loaded, with what is wrong."""
    with pytest.raises(SettingsError, match=said):
        build_definitions(both[0], **given)  # type: ignore[arg-type]


def project_of(prefix: str = "") -> Project:
    project = World(a_model("base", "raw")).project
    names = DagsterNames(key_prefix=(prefix,) if prefix else ())
    return replace(project, settings=replace(project.settings, dagster=names))


def test_the_plan_of_one_project_is_not_the_others() -> None:
    """In one run, or one Dagster backfill: what a step of one recorded, nobody named for the other."""
    plain, alice, bob = (project_of(p) for p in ("", ALICE, BOB))
    for first, second in ((plain, alice), (alice, plain), (alice, bob)):
        tags = recording(first, "1f3a")
        assert recorded_plan(first, tags) == "1f3a" and named_plan(first, tags) == ""
        assert recorded_plan(second, tags) == "" and named_plan(second, tags) == ""


def test_a_plan_is_named_with_the_prefix_or_without() -> None:
    alice = project_of(ALICE)
    assert named_plan(alice, {"backfill/alice.plan": "1f3a"}) == "1f3a"
    assert named_plan(alice, {PLAN_TAG: "1f3a"}) == "1f3a"
    assert named_plan(alice, {PLAN_TAG: "1f3a", RECORDED_TAG: "1f3a"}) == ""
    assert named_plan(alice, {PLAN_TAG: "1f3a", "backfill/bob.plan": "2222"}) == "1f3a"


def test_whose_a_key_is() -> None:
    """The last part alone says nothing: another project has a model of that name."""
    alice = project_of(ALICE)
    assert model_of(alice, dg.AssetKey([ALICE, "base"])) == "base"
    assert [model_of(alice, dg.AssetKey(k)) for k in (["base"], [BOB, "base"], [ALICE, "top"])] == [None] * 3


def texts_of(file: Path) -> Iterator[tuple[int, str]]:
    """Every text of a module that may be shown: all but docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    written = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in written:
            yield node.lineno, node.value


def test_no_message_names_a_job_without_its_prefix() -> None:
    """A job is named by `job_text`, which knows what the project's jobs are called; never by a text of the code.
    (What a reference says of all projects, in `request_options`, has no project.)"""
    commands = "|".join((*SHARED, "routine", "watch"))
    named = re.compile(rf"\bjobs?:? [`']?({commands})\b|\blaunch [`']?({commands})\b")
    assert all(
        named.search(text) for text in ("run the job `apply` with", "launch the job approve", "launch promote now")
    )
    package = Path(backfill_assets.__file__).parent
    found = [
        f"{file.relative_to(package)}:{line}: {text}"
        for file in sorted(package.rglob("*.py"))
        if file.name != "request_options.py"
        for line, text in texts_of(file)
        if named.search(text)
    ]
    assert found == []


def test_messages_name_jobs_and_assets_as_dagster_does() -> None:
    """What to launch, and what to materialize, with the prefixes."""
    world = World(a_model("base", "raw"), a_model("top", "base"))
    names = DagsterNames(key_prefix=(ALICE,), job_prefix="a_")
    project = replace(world.project, settings=replace(world.project.settings, dagster=names))
    base, days = project.models["base"], Ranges((Interval.of("2024-01-01", "2024-01-03"),))
    waits = build(world.bench(), "top", days)
    assert "fix: materialize alice/base for 2024-01-01..2024-01-02 first" in failure_text(
        project, project.models["top"], waits
    )
    lacking = replace(waits, waits=tuple(replace(w, upstream="raw") for w in waits.waits))
    said = failure_text(project, project.models["top"], lacking)
    assert "fix: once raw has rows of 2024-01-01..2024-01-02, materialize the same range again" in said, (
        "it is no asset of ours"
    )
    build(world.bench(), "base", days)
    again = build(world.bench(), "base", days)
    assert "run the job `a_apply` with restate: ['base:DAY..DAY']" in done_text(project, base, again)
    with pytest.raises(PlanError, match="the job `a_apply` with ignore_cron"):
        require_over(project, base, Interval(NOW, base.cadence.shift(NOW, 1)), NOW)
