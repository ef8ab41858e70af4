"""What do the jobs `apply` and `promote` say is next? Also of plans that nobody named."""

from __future__ import annotations

import dagster as dg
import pytest

from backfill_assets.app.promote import WaitingMove, promote_plan
from backfill_assets.app.prove import Proved
from backfill_assets.cli.promotion import print_promotion
from backfill_assets.core.errors import PlanError
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets_tests.dagster_place import Place, a_place, build_elsewhere, execute, loaded
from backfill_assets_tests.fakes import a_model


def shown() -> Place:
    place = a_place(a_model("base", "raw", owner="ana@example.com"))
    place.acting = "dev"
    build_elsewhere(place, "base")
    assert promote_plan(place).verdict.open
    return place


def logged(instance: dg.DagsterInstance, done: dg.ExecuteInProcessResult) -> list[str]:
    return [record.user_message for record in instance.all_logs(done.run_id)]


def live(place: Place) -> str:
    [plan] = [r.id for r in place.control.plans.all() if r.live]
    return plan


def test_apply_says_who_approves_and_how_it_is_promoted(instance: dg.DagsterInstance) -> None:
    """With the plan's id, in the words that a materialized partition has."""
    place = loaded(shown(), base="base-2")
    told = logged(instance, execute(place, instance, "apply"))
    plan = live(place)
    assert (
        f"plan {plan}: ana@example.com approve: `backfill approve {plan}` or the job `approve`, then"
        f" `backfill promote {plan}` or the job `promote` with plan: {plan}"
    ) in told


def test_a_restatement_is_promoted_by_its_id(instance: dg.DagsterInstance) -> None:
    """Which the log has; and a promotion without it says that it waits."""
    place = shown()
    told = logged(instance, execute(place, instance, "apply", restate=["base:2024-01-07"]))
    plan = live(place)
    assert any(f"the job `promote` with plan: {plan}" in line for line in told)
    done = execute(place, instance, "promote")
    assert done.success
    said = f"restatement {plan} waits: `backfill promote {plan}` or the job `promote` with plan: {plan}"
    assert said in logged(instance, done)


def test_what_waits_is_named_in_a_terminal(instance: dg.DagsterInstance, capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing was named and nothing moved."""
    place = shown()
    assert promote_plan(place).waiting == ()
    execute(place, instance, "apply", restate=["base:2024-01-07"])
    plan = live(place)
    done = promote_plan(place)
    assert done.waiting == (WaitingMove(plan=plan, kind="restatement"),)
    capsys.readouterr()
    print_promotion(done.before, done.environment, done.verdict, done.waiting)
    said = " ".join(capsys.readouterr().out.split())
    assert (
        said
        == f"prod shows all that is built of it: nothing to promote. restatement {plan} waits: backfill promote {plan}"
    )
    assert promote_plan(place, plan=plan).waiting == ()


def test_what_waits_for_its_own_code(instance: dg.DagsterInstance) -> None:
    """`promote` refuses it as long as other code is loaded."""
    place = shown()
    built = loaded(place, base="base-2")
    execute(built, instance, "apply")
    plan = live(built)
    [one] = promote_plan(place).waiting
    assert one.waits("backfill promote") == (
        f"plan {plan} is not promoted, and was made from other code than the loaded: "
        f"check out the code that plan {plan} was made of; "
        f"or end it and make one of the loaded code: `backfill abandon {plan}`, then `backfill apply`"
    )
    with pytest.raises(PlanError, match="which the loaded code does not know"):
        promote_plan(place, plan=plan)


def test_what_cannot_be_shown_is_not_offered_for_approval(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gate would refuse both: what mends it comes first."""
    older = Obstacle(model="base", what="was computed from older rows", remedy="backfill withdraw base:2024-01-07")
    found = Proved(in_the_way=(older,))
    monkeypatch.setattr("backfill_assets_tests.dagster_place.nothing_found", lambda *_: found)
    place = loaded(shown(), base="base-2")
    told = [line for line in logged(instance, execute(place, instance, "apply")) if line.startswith("plan ")]
    said = "it can be neither approved nor promoted yet: backfill withdraw base:2024-01-07"
    assert told == [f"plan {live(place)}: {said}"]
