"""Do the actions and the documented workflows fit together, and what does plan.sh leave behind?"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from backfill_assets_tests.projects import BACKFILL, CHECKOUT, small_project

ACTIONS = CHECKOUT / ".github" / "actions"
PAGE = CHECKOUT / "docs" / "pull-requests.md"
DOCUMENTED = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)]


def action(name: str) -> dict[str, Any]:
    return yaml.safe_load((ACTIONS / name / "action.yml").read_text())


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_documented_workflows_use_what_there_is() -> None:
    """Each input is one of the action's, and what is handed on is an output."""
    used = 0
    for step in (step for workflow in DOCUMENTED for step in steps(workflow)):
        if found := re.search(r"/\.github/actions/(\w+)@", step.get("uses", "")):
            used += 1
            assert step.get("with", {}).keys() <= action(found[1])["inputs"].keys()
    outputs = {name for text in re.findall(r"steps\.plan\.outputs\.(\w+)", PAGE.read_text()) for name in [text]}
    assert used == 4 and outputs <= action("plan")["outputs"].keys()


def test_a_strangers_files_and_a_token_that_writes_are_apart() -> None:
    """In the set-up for forks: the job that checks them out may read only, the one that comments checks out nothing."""
    by_trigger = [w for w in DOCUMENTED if "workflow_run" in (w.get(True) or {})]
    assert len(by_trigger) == 1 and by_trigger[0]["permissions"] == {}
    for job in by_trigger[0]["jobs"].values():
        checks_out = any("checkout" in step.get("uses", "") for step in job["steps"])
        assert checks_out != ("write" in job["permissions"].values())
    for step in (step for workflow in DOCUMENTED for step in steps(workflow)):
        if "actions/checkout" in step.get("uses", ""):
            assert step["with"]["persist-credentials"] is False
    assert not [w for w in DOCUMENTED if "pull_request_target" in str(w.get(True))]


@pytest.mark.parametrize("name", ["plan", "comment"])
def test_no_input_becomes_part_of_a_script(name: str) -> None:
    """Values reach a shell as variables: an expression within `run` would be executed."""
    for step in action(name)["runs"]["steps"]:
        assert "${{" not in step["run"] and step["shell"] == "bash"


def plan_sh(folder: Path, project: Path, **more: str) -> dict[str, str]:
    """Its files."""
    out = folder / "out"
    done = subprocess.run(
        ["bash", str(ACTIONS / "plan" / "plan.sh"), str(BACKFILL), str(out)],
        check=False, capture_output=True, text=True,
        env={**os.environ, "BACKFILL_PROJECT": str(project), "BACKFILL_UNTRUSTED": "1", **more}, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done
    return {file.name: file.read_text() for file in out.iterdir()}


def test_what_plan_leaves(tmp_path: Path) -> None:
    """A plan as Markdown and JSON, and what waits; the summary of the job has it, too."""
    project = small_project(tmp_path / "shop")
    summary = tmp_path / "summary.md"
    left = plan_sh(tmp_path, project, GITHUB_STEP_SUMMARY=str(summary))
    assert left["plan.md"].startswith("## Plan ") and "```mermaid" in left["plan.md"]
    assert json.loads(left["plan.json"])["id"] in left["plan.md"] and summary.read_text() == left["plan.md"]
    assert json.loads(left["waiting.json"]) == {"plans": [], "rules": [], "other_code": [], "overtaken": []}


def test_what_plan_leaves_of_a_broken_project(tmp_path: Path) -> None:
    """No plan, and why: also of a file that is a link to one of the machine's."""
    project = small_project(tmp_path / "shop")
    (tmp_path / "credentials").write_text("[default]\naws_secret_access_key = hunter2\n")
    (project / "models" / "mine.sql").symlink_to(tmp_path / "credentials")
    left = plan_sh(tmp_path, project)
    assert left["plan.md"] == left["plan.json"] == "" and "leads to another place" in left["error.txt"]
    assert "hunter2" not in str(left)


def test_the_runner_takes_no_commands_from_a_project(tmp_path: Path) -> None:
    """A line that begins with `::` would be one; error.txt is a stranger's words."""
    fake = tmp_path / "backfill"
    fake.write_text("#!/bin/sh\necho '::add-mask::x' >&2\nexit 1\n")
    fake.chmod(0o755)
    script = ["bash", str(ACTIONS / "plan" / "plan.sh"), str(fake), str(tmp_path / "out")]
    done = subprocess.run(script, check=True, capture_output=True, text=True)
    assert done.stderr == "| ::add-mask::x\n" and not done.stdout
