"""A renamed model goes out of prod by what plan and rollback say; what reads it by its new name stays, and goes on."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from backfill_assets.app.apply import start_apply
from backfill_assets.app.context import Context
from backfill_assets.app.gate import obstacles_ahead
from backfill_assets.app.next_step import Step, next_step
from backfill_assets.app.plan import plan_request
from backfill_assets.app.preview import preview
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.rollback import roll_back
from backfill_assets.app.routine import published_context
from backfill_assets.app.watch import find_late, find_late_moves, watch_environment
from backfill_assets.build.ledger_edits import withdraw
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Interval
from backfill_assets.plan.stages import Request
from backfill_assets.plan.stale_inputs import stale_inputs
from backfill_assets.state.text_checks import TextCheck
from backfill_assets.watch.facts import WatchFacts
from backfill_assets_tests.fakes import days
from backfill_assets_tests.projects import DAILY, RUNNING, say_yes, write_events, write_project
from backfill_assets_tests.unsparked import build, promoted, prove, unsparked

BASE = DAILY.format(batch_size=1, batch_concurrency=1)
MIDDLE = """\
/*
start: 2024-01-01
owner: ana@example.com
grain: [ds, kind]
*/
SELECT ds, kind, n, total FROM base WHERE ds >= :start AND ds < :end
"""
TAKE_OUT = re.compile(r"backfill rollback nothing --select (\S+)")


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    """`running` reads `daily`, and that reads `base`."""
    write_events(tmp_path, days=2)
    models = {"base.sql": BASE, "daily.sql": MIDDLE, "running.sql": RUNNING.format(batch_size=5)}
    return promoted(write_project(tmp_path, models, clock="2024-01-03"))


def edit(root: Path, name: str, old: str, new: str) -> None:
    file = root / "models" / f"{name}.sql"
    file.write_text(file.read_text().replace(old, new))


def rename(root: Path, old: str = "daily", new: str = "by_day") -> Path:
    """The model gets another name, and its reader reads it by that."""
    (root / "models" / f"{old}.sql").rename(root / "models" / f"{new}.sql")
    edit(root, "running", f"FROM {old} ", f"FROM {new} ")
    return root


def change(root: Path) -> Path:
    edit(root, "base", "sum(amount)", "sum(amount) + 1")
    return root


def applied(root: Path, request: Request | None = None, *, checked: bool = True) -> Context:
    """What `apply` does, with what only Spark can tell: texts that count as unchanged give the same rows."""
    place = unsparked(root, user="dev")
    plan, _ = build(place, request)
    for text in plan.texts if checked else ():
        check = TextCheck(
            model=text.model, version=text.version, text=text.text, intervals=text.intervals, at=datetime.now(UTC)
        )
        place.control.text_checks.put(check)
    for opened in (p for p in place.control.plans.all() if p.live):
        prove(place, opened.id)
    return place


def released(root: Path) -> Context:
    """The code is built and shown."""
    place = applied(root)
    verdict = promote_plan(place).verdict
    assert verdict.open, verdict.obstacles
    return unsparked(root, user="dev")


def approved(root: Path, request: Request | None = None) -> None:
    """The same of what changes published rows."""
    place = applied(root, request)
    [plan] = [p.id for p in place.control.plans.all() if p.live]
    say_yes(place, plan)
    verdict = promote_plan(unsparked(root, user="dev"), plan=plan).verdict
    assert verdict.open, verdict.obstacles


def hint(place: Context) -> str:
    [warning] = [w for w in plan_request(place).warnings if w.model == "daily"]
    return f"{warning.why}; {warning.fix}"


def follow(root: Path, fix: str) -> None:
    """Take out of prod what a fix says."""
    found = TAKE_OUT.search(fix)
    assert found, fix
    ended = roll_back(unsparked(root, user="dev"), "nothing", [found.group(1).rstrip(";.")]).ended
    assert ended.moved is not None, ended.obstacles


def pointers(root: Path) -> set[str]:
    return set(unsparked(root).control.environments.read("prod").pointers)


def works(root: Path) -> None:
    """What is shown can be extended and watched, and is."""
    place = unsparked(root)
    routine = published_context(place)
    assert {u.name for u in routine.project.models["running"].upstreams} == {"by_day"}
    assert not watch_environment(place).notices
    assert pointers(root) == {"base", "by_day", "running"}


def test_a_renamed_model_goes_as_the_plan_says(shown: Path) -> None:
    """Before its new name is shown, the plan says what comes first; afterwards it still looks renamed."""
    place = unsparked(rename(shown))
    told = hint(place)
    assert "by_day, which is new, has its query: it looks renamed" in told
    assert told.index("backfill apply, then backfill promote") < told.index("backfill rollback nothing")
    [left] = roll_back(place, "nothing", ["daily"]).ended.obstacles
    assert left.model == "running" and "let both go" not in left.remedy
    assert "backfill apply, then backfill promote" in left.remedy
    told = hint(released(shown))
    assert "by_day has its query: it looks renamed" in told and "apply" not in told
    follow(shown, told)
    works(shown)
    assert plan_request(unsparked(shown)).warnings == ()


def test_its_upstream_changes_before_it_goes(shown: Path) -> None:
    """What the plan says of a change that waits for it can be done, and is all that is in the way."""
    rename(shown)
    released(shown)
    place = unsparked(change(shown))
    plan = plan_request(place)
    [left] = [o for o in obstacles_ahead(place, plan, place.facts()) if o.model == "daily"]
    assert left.remedy == (
        "the code has no daily any more: put its file back, or take it out of prod: "
        "backfill rollback nothing --select daily"
    )
    follow(shown, left.remedy)
    works(shown)
    place = unsparked(shown)
    assert not [o for o in obstacles_ahead(place, plan_request(place), place.facts()) if o.model != "running"]


def test_one_change_renames_it_and_changes_its_upstream(shown: Path) -> None:
    """Neither can go first: its file has to be back for a release."""
    place = applied(change(rename(shown)))
    [apart] = [o for o in promote_plan(place).verdict.obstacles if o.model == "daily"]
    [left] = roll_back(place, "nothing", ["daily"]).ended.obstacles
    steps = (
        "put its file back; backfill apply, then backfill promote, which shows running as the code has it; "
        "delete its file again; then backfill rollback nothing --select daily"
    )
    assert apart.remedy == f"the code has no daily any more, and running reads it as prod shows it: {steps}"
    assert left.remedy == steps and hint(place).endswith(steps)
    (shown / "models" / "daily.sql").write_text(MIDDLE)
    approved(shown)
    (shown / "models" / "daily.sql").unlink()
    follow(shown, hint(unsparked(shown)))
    works(shown)


def test_a_text_that_nobody_compared_holds_it(shown: Path) -> None:
    """The new text goes on under the version only when it gave its rows."""
    place = applied(rename(shown), checked=False)
    assert promote_plan(place).verdict.open
    [left] = roll_back(unsparked(shown), "nothing", ["daily"]).ended.obstacles
    assert left.remedy == hint(unsparked(shown)).partition("has its query; then ")[2]
    released(shown)
    follow(shown, left.remedy)
    works(shown)


def test_an_earlier_release_recorded_nothing(shown: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is recorded when the old name goes; where more has changed since, its file comes back for a release."""
    with monkeypatch.context() as earlier:
        earlier.setattr("backfill_assets.app.promote.record_followed", lambda *_: None)
        told = hint(released(rename(shown)))
    assert "apply" not in told
    text = (shown / "models" / "base.sql").read_text()
    place = unsparked(change(shown))
    assert "put its file back" in (other := hint(place)) and other != told
    [left] = roll_back(place, "nothing", ["daily"]).ended.obstacles
    assert left.remedy.startswith("put its file back; backfill apply") and other.endswith(left.remedy)
    (shown / "models" / "base.sql").write_text(text)
    assert {r.model for r in unsparked(shown).control.versions.all().values() if r.before} == set()
    follow(shown, told)
    assert {r.model for r in unsparked(shown).control.versions.all().values() if r.before} == {"running"}
    works(shown)


def test_a_version_by_its_authors_word_stays_with_what_it_read(shown: Path) -> None:
    """The word is about one version of what it reads: its reader needs a version of its own."""
    version = unsparked(shown).control.environments.read("prod").pointers["running"].version
    rename(shown)
    edit(shown, "running", "sum(now.total)", "sum(now.total * 1)")
    word = f"same_as: {{version: '{version}', code: '{unsparked(shown).project.fingerprints['running']}', reason: one}}"
    edit(shown, "running", "lookback: 1", f"lookback: 1\n{word}")
    told = hint(released(shown))
    [left] = roll_back(unsparked(shown), "nothing", ["daily"]).ended.obstacles
    assert left.remedy.startswith("give running a `code_version` of its own, and no `same_as`; ")
    assert told.endswith(left.remedy)
    edit(shown, "running", word, 'code_version: "2"')
    approved(shown)
    follow(shown, left.remedy)
    works(shown)


def test_readers_that_are_gone_as_well_go_with_it(shown: Path) -> None:
    for name in ("daily", "running"):
        (shown / "models" / f"{name}.sql").unlink()
    fixes = [w.fix for w in plan_request(unsparked(shown)).warnings]
    assert ["daily,running" in fix for fix in fixes] == [True, False]
    follow(shown, fixes[0])
    assert pointers(shown) == {"base"}


def test_a_rollback_shows_it_again(shown: Path) -> None:
    """Its reader goes on by what stands beside it: before the rename was shown, by the text of that time."""
    released(rename(shown))
    follow(shown, hint(unsparked(shown)))
    assert roll_back(unsparked(shown, user="dev"), None).ended.moved is not None
    assert pointers(shown) == {"base", "by_day", "daily", "running"}
    first = unsparked(shown).control.releases.all("prod")[0].id
    ended = roll_back(unsparked(shown, user="dev"), first).ended
    assert ended.moved is not None, ended.obstacles
    assert pointers(shown) == {"base", "daily", "running"}
    routine = published_context(unsparked(shown))
    assert {u.name for u in routine.project.models["running"].upstreams} == {"daily"}
    assert not watch_environment(unsparked(shown)).notices


def test_an_older_checkout_cannot_take_the_new_name_out(shown: Path) -> None:
    """Its reader would read what is gone; what it says instead leads back to the old name, which works."""
    released(rename(shown))
    follow(shown, hint(unsparked(shown)))
    rename(shown, "by_day", "daily")
    place = unsparked(shown)
    [left] = roll_back(place, "nothing", ["by_day"]).ended.obstacles
    assert left.model == "running" and pointers(shown) == {"base", "by_day", "running"}
    released(shown)
    follow(shown, left.remedy)
    assert pointers(shown) == {"base", "daily", "running"}
    assert not watch_environment(unsparked(shown)).notices


def test_rows_of_the_new_name_are_followed(shown: Path) -> None:
    """What is computed again under the new name reaches its reader, which said that it read the old one; shown without
    that it would be beside other rows."""
    released(rename(shown))
    follow(shown, hint(unsparked(shown)))
    before = unsparked(shown).control.environments.read("prod")
    approved(shown, Request(restate=(("by_day", before.pointers["by_day"].covers.intervals[0]),)))
    place = unsparked(shown)
    after = place.control.environments.read("prod").pointers
    assert {name for name, p in after.items() if p != before.pointers[name]} == {"by_day", "running"}
    assert not watch_environment(place).notices
    halfway = replace(before, pointers={**before.pointers, "by_day": after["by_day"]})
    found = stale_inputs(published_context(place).project, halfway, place.facts().tables.entries)
    assert {(s.model, s.upstream) for s in found} == {("running", "by_day")}


def late(root: Path) -> None:
    """A row of the first day comes."""
    file = root / "data" / "events" / "2024-01-01.csv"
    file.write_text(file.read_text() + "99,2024-01-01T10:00:00Z,a,5.00\n")


def of_a_source(folder: Path) -> Path:
    """`running` reads `daily`, and that reads the source itself."""
    write_events(folder, days=2)
    models = {"daily.sql": BASE, "running.sql": RUNNING.format(batch_size=5)}
    return promoted(write_project(folder, models, clock="2024-01-03"))


def test_rows_that_came_between_the_names_are_not_forgotten(tmp_path: Path) -> None:
    """`days` was built when a late row was there, `daily` and what read it before: that is computed again first."""
    root = of_a_source(tmp_path)
    late(root)
    released(rename(root))
    said = hint(unsparked(root))
    with pytest.raises(AssertionError, match="computed from other rows"):
        follow(root, said)
    [left] = roll_back(unsparked(root), "nothing", ["daily"]).ended.obstacles
    assert left.remedy.startswith("backfill apply --restate running:")
    approved(root, Request(restate=tuple(("running", i) for i in left.intervals)))
    follow(root, said)
    assert pointers(root) == {"by_day", "running"}
    assert not watch_environment(unsparked(root)).notices


def test_late_rows_of_the_old_name(tmp_path: Path) -> None:
    """No restatement by the loaded code computes `daily` again: its reader is computed again from `by_day`."""
    root = of_a_source(tmp_path)
    late(root)
    released(rename(root))
    [notice] = preview(unsparked(root), Request()).late
    assert notice.restate == ("running:2024-01-01..2024-01-02",)
    then = "then backfill promote PLAN, which it names"
    assert notice.remedy == (
        f"the code has no daily any more: backfill apply --restate running:2024-01-01..2024-01-02, {then}; "
        "then take it out of prod: backfill rollback nothing --select daily; "
        f"or put its file back, then backfill apply --restate daily:2024-01-01, {then}"
    )
    approved(root, Request(restate=(("running", Interval.of("2024-01-01", "2024-01-03")),)))
    follow(root, notice.remedy)
    assert pointers(root) == {"by_day", "running"} and not preview(unsparked(root), Request()).late


@pytest.mark.parametrize("came", [False, True])
def test_a_reader_comes_back_under_another_name(tmp_path: Path, *, came: bool) -> None:
    """`running` went on with `by_day` as another model, and `daily` was taken out. By now it is what it was, of `days`:
    where rows came in between, its table of that time lacks them."""
    root = of_a_source(tmp_path)
    rename(root)
    edit(root, "running", "AS day_before", "+ 1 AS day_before")
    approved(root)
    follow(root, "backfill rollback nothing --select daily")
    if came:
        late(root)
        approved(root, Request(restate=(("by_day", Interval.of("2024-01-01", "2024-01-02")),)))
    rename(root, "by_day", "days")
    edit(root, "running", "+ 1 AS day_before", "AS day_before")
    if came:
        with pytest.raises(PlanError, match="running: was computed from other rows of days 2024-01-01"):
            approved(root)
        place, both = unsparked(root), Interval.of("2024-01-01", "2024-01-03")
        withdraw(place.control, place.log, place.project, [("running", both)], now=datetime.now(UTC), by="dev")
    approved(root)
    published_context(unsparked(root))
    follow(root, "backfill rollback nothing --select by_day")
    assert pointers(root) == {"days", "running"}
    assert not watch_environment(unsparked(root)).notices


def test_late_rows_of_two_that_are_gone(tmp_path: Path) -> None:
    """The reader's file is gone as well: both go together."""
    root = of_a_source(tmp_path)
    late(root)
    for name in ("daily", "running"):
        (root / "models" / f"{name}.sql").unlink()
    [notice] = preview(unsparked(root), Request()).late
    assert (
        not notice.restate and "take it out of prod: backfill rollback nothing --select daily,running;" in notice.remedy
    )
    follow(root, notice.remedy)
    assert pointers(root) == set()


def test_what_would_be_shown_is_older_than_its_source(tmp_path: Path) -> None:
    """A candidate that waited, and a table of before: the plan says it, and what builds it from what is there."""
    write_events(tmp_path, days=2)
    root = promoted(write_project(tmp_path, {"daily.sql": BASE}, clock="2024-01-03"))
    edit(root, "daily", "sum(amount)", "sum(amount) + 1")
    applied(root)
    assert not preview(unsparked(root), Request()).late
    late(root)
    [notice] = preview(unsparked(root), Request()).late
    assert notice.what == "was built before its sources changed, and would be shown so"
    assert notice.remedy.startswith("backfill withdraw daily:2024-01-01, then backfill apply reads them")
    run_plan = preview(unsparked(root), Request())
    assert next_step(run_plan.plan, run_plan.verdict, "", run_plan.late).step is not Step.RESTATE
    place = unsparked(root)
    withdraw(place.control, place.log, place.project, [("daily", days("01"))], now=datetime.now(UTC), by="dev")
    applied(root)
    assert not preview(unsparked(root), Request()).late


def test_a_promotion_of_rows_that_are_older_than_their_source(tmp_path: Path) -> None:
    """`apply` says it before anything is shown, and `promote` of what it shows newly, with what mends it; what has been
    shown so for long is for `watch`."""
    write_events(tmp_path, days=2)
    root = write_project(tmp_path, {"daily.sql": BASE}, clock="2024-01-03")
    applied(root)
    late(root)
    place = unsparked(root)
    [said] = start_apply(place, Request()).notes
    assert said.startswith("daily 2024-01-01: was built before its sources changed, and would be shown so; backfill ")
    done = promote_plan(place)
    assert [n.model for n in done.late] == ["daily"] and done.late[0].restate == ("daily:2024-01-01",)
    write_project(tmp_path, {"daily.sql": BASE}, clock="2024-01-04")
    place = unsparked(root)
    build(place)
    assert promote_plan(place).late == ()
    assert [n.model for n in find_late(place, place.facts())] == ["daily"]


def test_what_is_late_in_a_promotion_beside_other_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that moves along also reads a model that stays as it is."""
    write_events(tmp_path, days=2)
    both = MIDDLE.replace("FROM base WHERE", "FROM base LEFT ANTI JOIN other USING (ds, kind) WHERE")
    root = promoted(
        write_project(tmp_path, {"base.sql": BASE, "other.sql": BASE, "both.sql": both}, clock="2024-01-03")
    )
    edit(root, "base", "sum(amount)", "sum(amount) + 1")
    place = applied(root)
    [plan] = [p.id for p in place.control.plans.all() if p.live]
    say_yes(place, plan)
    late(root)
    [notice] = promote_plan(unsparked(root, user="dev"), plan=plan).late
    assert notice.model == "base" and "newer code" not in notice.remedy
    place, looks = unsparked(root), list[WatchFacts]()
    prod = place.control.environments.read("prod")
    monkeypatch.setattr("backfill_assets.app.watch.late_sources", lambda look: looks.append(look) or ())
    find_late_moves(place, place.facts(), prod, {name: prod.pointers[name].covers for name in ("base", "both")})
    assert looks[0].beside == {"other": prod.versions["other"]}, "it is known of what it looks at no further"


def test_what_waits_for_a_model_that_is_not_selected(tmp_path: Path) -> None:
    """The gate is forecast also when all that can be built is: what waits is not shown beside what moves."""
    join = MIDDLE.replace("FROM base WHERE", "FROM base LEFT ANTI JOIN other USING (ds, kind) WHERE")
    models = {"first.sql": BASE, "base.sql": MIDDLE.replace("FROM base ", "FROM first "), "other.sql": BASE}
    write_events(tmp_path, days=2)
    root = promoted(write_project(tmp_path, {**models, "both.sql": join}, clock="2024-01-03"))
    edit(root, "first", "sum(amount)", "sum(amount) + 1")
    write_events(tmp_path, days=3)
    settings = root / "backfill.yml"
    settings.write_text(settings.read_text().replace("2024-01-03", "2024-01-04"))
    request = Request(select=("first", "base", "both"))
    place = unsparked(root)
    before = obstacles_ahead(place, plan_request(place, request), place.facts())
    applied(root, request)
    place = unsparked(root)
    plan = plan_request(place, request)
    assert not plan.work and [b.model for b in plan.blocked] == ["both"]
    after = obstacles_ahead(place, plan, place.facts())
    assert [o.model for o in after] == [o.model for o in before] == ["both"]
    assert "was built from base" in after[0].what
