"""Is the gate the same one in Dagster? Who launched a run, what the files say, and what counts, through the jobs."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import click
import dagster as dg
import pytest

from backfill_assets.adapters.account import account
from backfill_assets.app.approve import approval_statements
from backfill_assets.app.promote import promote_plan
from backfill_assets.core.errors import BackfillError
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Audit
from backfill_assets.core.settings import ApprovalRules
from backfill_assets.defs.build_definitions import build_definitions
from backfill_assets.defs.launcher import VARIABLE
from backfill_assets.state.plans import PlanStatus
from backfill_assets_tests.dagster_place import (
    Place,
    a_place,
    build_elsewhere,
    execute,
    failure_of,
    loaded,
    with_changes,
)  # fmt: skip
from backfill_assets_tests.fakes import a_model, days
from backfill_assets_tests.projects import small_project

ANA = "ana@example.com"
PEOPLE = {ANA: ("ana",), "dev@example.com": ("dev",), "bo@example.com": ("bo",)}
TAG = "user"


@pytest.fixture(autouse=True)
def deployment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One that writes who launched into the tag `user`."""
    monkeypatch.setenv(VARIABLE, TAG)
    monkeypatch.chdir(tmp_path)  # packets


def by(user: str) -> dict[str, str]:
    return {TAG: user}


def a_change(signers: str = "", **rules: object) -> Place:
    """Ana's model is shown, by these rules; dev loaded an edit of it."""
    unique = Audit(name="unique_grain", kind="unique_grain", arguments={})
    first = a_place(a_model("base", "raw", owner=ANA, audits=(unique,)))
    settings = replace(first.project.settings, people=PEOPLE, approvals=ApprovalRules(**rules))  # type: ignore[arg-type]
    Path("allowed_signers").write_text(signers)
    confirmed = first.project.settings.now().date()
    project = with_changes(first.project, settings=settings, root=Path.cwd(), consumers_verified=confirmed)
    place = replace(first, project=project, acting="dev")
    build_elsewhere(place, "base")
    done = promote_plan(place)
    moved, verdict = done.environment, done.verdict
    assert verdict.open and moved.pointers, verdict.obstacles
    return replace(loaded(place, base="base-2"), acting="")


def applied(place: Place, instance: dg.DagsterInstance) -> str:
    """Dev launches `apply`; the plan."""
    assert execute(place, instance, "apply", tags=by("dev")).success
    [plan] = [p for p in place.control.plans.all() if p.live]
    assert (plan.by, plan.status) == ("dev", PlanStatus.APPLIED)
    return plan.id


def refusal(place: Place, instance: dg.DagsterInstance, job: str, user: str, **config: object) -> str:
    op = {"approve": "record_approval", "promote": "point_prod", "rules": "look_at_rules"}[job]
    result = execute(place, instance, job, tags=by(user), **config)
    assert not result.success
    return failure_of(result, op)


def version(place: Place) -> str:
    return place.control.environments.read("prod").pointers["base"].version


def test_who_launched_is_who_acts(instance: dg.DagsterInstance) -> None:
    """The author is refused, whoever they say they are, and so is somebody else; the owner's own run counts, and the
    record names the account. A promotion by the author is let through then."""
    place = a_change()
    plan = applied(place, instance)
    assert f"needs approval by {ANA}" in refusal(place, instance, "promote", "dev", plan=plan)
    for user in ("dev", "bo", "eve"):
        for claim in ("", ANA):
            said = refusal(place, instance, "approve", user, plan=plan, by=claim)
            assert "may not approve" in said, said
    assert place.control.approvals.of([plan]) == [] and version(place) == "base-1"

    assert execute(place, instance, "approve", tags=by("ana"), plan=plan, reason="as asked").success
    [given] = place.control.approvals.of([plan])
    assert (given.account, given.by, given.owner) == ("ana", ANA, ANA)
    assert given.host.endswith(f"(through the account {account()})")
    moved = execute(place, instance, "promote", tags=by("dev"), plan=plan)
    assert moved.success, failure_of(moved, "point_prod")
    assert version(place) == "base-2"
    assert place.control.releases.all("prod")[-1].by == "dev"


def test_nobody_makes_a_deployment_of_their_own(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may write to the warehouse can set the variable and the tag. Their account speaks for them only: in
    whatever they launch, whoever they say they are."""
    place = a_change()
    plan = applied(place, instance)
    monkeypatch.setattr("backfill_assets.app.approver.account", lambda: "dev")
    for job, config in (("approve", {"plan": plan}), ("promote", {"plan": plan}), ("rules", {})):
        said = refusal(place, instance, job, "ana", **config)
        assert "the account dev cannot act for ana" in said, said
        assert "the run tag `user` asserts ana" in said and "who is dev@example.com" in said
    elsewhere = replace(place.project.settings, environment="scratch", people={})
    theirs = replace(place, project=with_changes(place.project, settings=elsewhere))
    said = refusal(theirs, instance, "approve", "ana", plan=plan)
    assert f"plan {plan} is of prod, and this project's environment is scratch" in said, said
    assert place.control.approvals.of([plan]) == [] and version(place) == "base-1"
    assert "may not approve" in refusal(place, instance, "approve", "dev", plan=plan)


def test_a_tag_that_nobody_asserts_is_nothing(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    """In open-source Dagster anybody types any tag: where the deployment does not vouch for it, all runs are of the
    account that Dagster runs as, which made the plan."""
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr("backfill_assets.app.context.account", lambda: "dagster")
    place = a_change()
    assert execute(place, instance, "apply", tags=by("dev")).success
    [plan] = [p for p in place.control.plans.all() if p.live]
    assert plan.by == "dagster"
    assert "may not approve" in refusal(place, instance, "approve", "ana", plan=plan.id, by=ANA)
    assert f"needs approval by {ANA}" in refusal(place, instance, "promote", "ana", plan=plan.id)


def test_a_run_without_the_tag_is_nobodys(instance: dg.DagsterInstance) -> None:
    """A schedule's run has no launcher: it is of the system's account, never of an empty one that matches anything."""
    place = a_change()
    plan = applied(place, instance)
    result = execute(place, instance, "approve", plan=plan, by=ANA)
    assert "may not approve" in failure_of(result, "record_approval")


def test_own_and_expiry_are_computed_at_the_gate(instance: dg.DagsterInstance) -> None:
    """A record that says it is not the author's and lasts forever counts as what it is: by account and by date."""
    place = a_change()
    plan = applied(place, instance)
    assert execute(place, instance, "approve", tags=by("ana"), plan=plan).success
    [given] = place.control.approvals.of([plan])
    late = timedelta(days=15)
    for forged in (
        replace(given, account="dev"),
        replace(given, at=given.at - late, recorded=given.recorded - late),
    ):
        again = a_change()
        again.control.approvals.put(replace(forged, plan=applied(again, instance)))
        assert f"needs approval by {ANA}" in refusal(again, instance, "promote", "dev")
        assert version(again) == "base-1"


def test_signatures_that_are_required(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    """An owner's login does not do; a statement signed by another key neither; one of the owner's key does, whoever
    launches the job that records it."""
    keys = {name: tmp_path / name for name in ("ana_key", "dev_key")}
    for key in keys.values():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    signers = f"{ANA} {keys['ana_key'].with_suffix('.pub').read_text()}"
    place = a_change(signers, signatures="required")
    plan = applied(place, instance)
    refused = refusal(place, instance, "approve", "ana", plan=plan)
    assert f"sign it with a key: backfill approve {plan} --key FILE" in refused and "team of one" not in refused
    [claim] = approval_statements(replace(place, acting="dev"), plan, by=ANA, owners=[ANA], signs=True)
    said = claim.statement
    for name, good in (("dev_key", False), ("ana_key", True)):
        file = tmp_path / "said"
        file.write_text(said)
        (tmp_path / "said.sig").unlink(missing_ok=True)
        subprocess.run(
            ["ssh-keygen", "-Y", "sign", "-q", "-n", "backfill-approval", "-f", keys[name], file], check=True
        )
        signature = (tmp_path / "said.sig").read_text()
        result = execute(place, instance, "approve", tags=by("dev"), plan=plan, statement=said, signature=signature)
        assert result.success is good, name
    assert execute(place, instance, "promote", tags=by("dev"), plan=plan).success
    assert version(place) == "base-2"


@pytest.mark.parametrize("owner", [ANA, "dev@example.com"])
def test_edited_files_do_not_open_the_gate(instance: dg.DagsterInstance, owner: str) -> None:
    """Rules off, the author as the owner's speaker, another owner, in this project or in another folder over the same
    warehouse: what was in force at the promotion judges, and the job `rules` says who has to approve the change."""
    place = a_change()
    plan = applied(place, instance)
    edited = ApprovalRules(required=False, self=True, owners={ANA: ("dev@example.com",)}, days=400)
    settings = replace(place.project.settings, approvals=edited, people={ANA: ("dev",)}, name="another project")
    models = {"base": with_changes(place.project.models["base"], owner=owner)}
    project = with_changes(place.project, settings=settings, models=models, root=Path("/another/folder"))
    other = replace(place, project=project)
    for config in ({"plan": plan}, {}):
        assert f"needs approval by {ANA}" in refusal(other, instance, "promote", "dev", **config)
    assert "may not approve" in refusal(other, instance, "approve", "dev", plan=plan)

    assert "proposed, and not in force" in refusal(other, instance, "rules", "dev", action="change")
    [change] = other.control.rules.of("prod")[1:]
    assert refusal(other, instance, "approve", "dev", plan=change.id)
    assert f"needs approval by {ANA}" in refusal(other, instance, "promote", "dev", plan=plan)
    assert version(other) == "base-1"
    assert execute(other, instance, "approve", tags=by("ana"), plan=change.id).success
    assert execute(other, instance, "promote", tags=by("dev"), plan=plan).success, "ana gave it away"


def test_a_second_approvals_key(tmp_path: Path) -> None:
    """Neither of two is taken: the code location does not load, and the page says the file and the line."""
    root = small_project(tmp_path / "shop", days=2)
    file = root / "backfill.yml"
    settings = json.loads(file.read_text())
    settings.pop("approvals", None)
    lines = [f"{name}: {json.dumps(value)}" for name, value in settings.items()]
    file.write_text("\n".join([*lines, "approvals: {required: true}", "approvals: {required: false}", ""]))
    with pytest.raises((BackfillError, click.ClickException)) as refused:
        build_definitions(root)
    assert f"backfill.yml:{len(lines) + 2}" in str(refused.value) and "`approvals` is given twice" in str(refused.value)


def test_nothing_was_asked_about_growth(instance: dg.DagsterInstance) -> None:
    """The same rules do not hold up new days: nobody's rows become others."""
    place = a_change()
    settings = replace(place.project.settings, clock=days("12").end)
    grown = loaded(place, base="base-1")
    grown = replace(grown, project=with_changes(grown.project, settings=settings))
    assert execute(grown, instance, "apply", tags=by("dev")).success
    assert execute(grown, instance, "promote", tags=by("dev")).success
    assert str(grown.control.environments.read("prod").pointers["base"].covers) == "2024-01-01..2024-01-12"


def test_a_restatement_from_the_jobs(instance: dg.DagsterInstance) -> None:
    """Published days computed again by the job `apply`: shown once their owner approved, and only they move."""
    place = loaded(a_change(), base="base-1")
    assert execute(place, instance, "apply", tags=by("dev"), restate=["base:2024-01-03..2024-01-04"]).success
    [plan] = [p.id for p in place.control.plans.all() if p.live]
    assert f"needs approval by {ANA}" in refusal(place, instance, "promote", "dev", plan=plan)
    assert "may not approve" in refusal(place, instance, "approve", "dev", plan=plan, by=ANA)
    assert execute(place, instance, "approve", tags=by("ana"), plan=plan).success
    assert execute(place, instance, "promote", tags=by("dev"), plan=plan).success
    segments = place.control.environments.read("prod").pointers["base"].segments
    again = [str(Ranges((s.interval,))) for s in segments if s.version != "base-1"]
    assert again == ["2024-01-03..2024-01-04"]


def test_the_job_says_what_it_took_and_what_that_saves(instance: dg.DagsterInstance) -> None:
    """Before and after it is built, against building everything again; as `backfill apply` does."""
    place = a_place(a_model("base", "raw"), a_model("second", "base"))
    assert execute(place, instance, "apply", promote=True).success
    edited = loaded(place, base="base-2")
    done = execute(edited, instance, "apply", forward_only="2024-01-08")
    said = [entry.user_message for entry in instance.all_logs(done.run_id)]
    assert len([line for line in said if line.startswith("Rebuilding everything (10 days of base, ")]) == 2, said
    assert [line for line in said if line.startswith("Took ")], said
