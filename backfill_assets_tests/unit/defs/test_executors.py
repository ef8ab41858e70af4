"""How are the steps of a run carried out? In one process with one Spark session, or each in its own, as safely."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from backfill_assets.core.errors import SettingsError
from backfill_assets.defs.build_definitions import build_definitions
from backfill_assets.defs.runs import ToldPins, require_same_session
from backfill_assets_tests.dagster_place import a_place, with_changes
from backfill_assets_tests.fakes import a_model
from backfill_assets_tests.projects import small_project

TAG = "backfill/sources"


def test_somebody_elses_executor_is_accepted_beside(tmp_path: Path) -> None:
    """Asset runs are theirs to carry out; our jobs, of one step each, stay in the run's process."""
    root = small_project(tmp_path, days=2)
    theirs = dg.Definitions(executor=dg.multiprocess_executor)
    found = dg.Definitions.merge(build_definitions(root, in_process=False), theirs)
    assert found.resolve_implicit_global_asset_job_def().executor_def is dg.multiprocess_executor
    ours = [job for job in found.resolve_all_job_defs() if not job.name.startswith("__")]
    assert {"apply", "watch", "routine"} <= {job.name for job in ours}
    assert {job.name: job.executor_def for job in ours} == {job.name: dg.in_process_executor for job in ours}


def test_without_a_word_all_runs_are_in_one_process(tmp_path: Path) -> None:
    found = build_definitions(small_project(tmp_path, days=2))
    assert found.resolve_implicit_global_asset_job_def().executor_def is dg.in_process_executor


def told(instance: dg.DagsterInstance, run: dg.DagsterRun, **commits: int) -> dict[str, object]:
    """What a process of the run reads, which looked at the sources when they were there at these commits."""
    shared = ToldPins(instance, run, TAG).share({name: {"commit": commit} for name, commit in commits.items()})
    return {name: pin["commit"] for name, pin in shared.items()}


def a_run(instance: dg.DagsterInstance, **tags: str) -> dg.DagsterRun:
    return instance.create_run_for_job(dg.GraphDefinition(name="g").to_job(), tags=tags)


def test_the_processes_of_a_run_read_the_same_commits() -> None:
    """A source that grows between two steps, and one that only the second step reads."""
    with dg.DagsterInstance.ephemeral() as instance:
        run = a_run(instance)
        assert told(instance, run, raw=7) == {"raw": 7}
        assert told(instance, run, raw=8, other=3) == {"raw": 7, "other": 3}
        assert told(instance, run, raw=9, other=4) == {"raw": 7, "other": 3}
        assert told(instance, a_run(instance), raw=9) == {"raw": 9}, "another run looks anew"


def test_a_later_process_of_the_first_run_does_not_move_what_later_runs_read() -> None:
    """Of one Dagster backfill: what its first run froze counts, whichever of its processes says so."""
    with dg.DagsterInstance.ephemeral() as instance:
        first = a_run(instance, **{"dagster/backfill": "abcdefgh"})
        assert told(instance, first, raw=7) == {"raw": 7}
        assert told(instance, first, raw=8) == {"raw": 7}
        second = a_run(instance, **{"dagster/backfill": "abcdefgh"})
        assert told(instance, second, raw=9) == {"raw": 7}
        assert told(instance, second, raw=10) == {"raw": 7}


def test_projects_with_other_spark_settings_share_no_session(tmp_path: Path) -> None:
    """In one process of one run the rows of the second would be computed by the settings of the first."""
    one = a_place(a_model("base", "raw"))
    settings = replace(one.project.settings, spark={"spark.sql.legacy.timeParserPolicy": "LEGACY"})
    two = replace(one, project=with_changes(one.project, root=tmp_path / "two", settings=settings))
    same = replace(one, project=with_changes(one.project, root=tmp_path / "same"))
    require_same_session("run-1", one)
    require_same_session("run-1", same)
    require_same_session("run-2", two)
    with pytest.raises(SettingsError, match="launch a run for each"):
        require_same_session("run-1", two)
