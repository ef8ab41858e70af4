"""Which stored plan does a run work on? What its tags say: the plan that somebody named, or the one that was found."""

from __future__ import annotations

from collections.abc import Mapping

from backfill_assets.core.model import Project
from backfill_assets.defs.names import run_tag

PLAN_TAG = "backfill/plan"
"""How somebody names the plan, whatever the project: its candidate environment shows what the run builds."""
RECORDED_TAG = "backfill/plan_recorded"
"""The same id, where nobody named the plan: the run's first step found or opened it."""


def named_plan(project: Project, tags: Mapping[str, str]) -> str:
    """The plan that was named for this project as the run was launched; "" where none was.

    What a step of another project recorded in the same run is not named by anybody.
    """
    ours = run_tag(project, "plan"), run_tag(project, "plan_recorded")
    for named, recorded in (ours, (PLAN_TAG, RECORDED_TAG)):
        if (plan := tags.get(named, "")) and plan != tags.get(recorded):
            return plan
    return ""


def recorded_plan(project: Project, tags: Mapping[str, str]) -> str:
    """The plan that an earlier step of the run found or opened for this project; "" where none did."""
    return tags.get(run_tag(project, "plan_recorded"), "")


def recording(project: Project, plan: str) -> dict[str, str]:
    """The tags of a run whose step found or opened the plan: so that a re-execution is not bound to one that ended."""
    return {run_tag(project, "plan"): plan, run_tag(project, "plan_recorded"): plan}
