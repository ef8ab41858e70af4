"""The packet says what was recorded, has the published form, and is the same for the same records."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files

import jsonschema
import pytest

from backfill_assets.build.apply import apply
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import utc
from backfill_assets.core.model import Column
from backfill_assets.evidence.gather import GatheredFrom, gather
from backfill_assets.evidence.inputs import Inputs
from backfill_assets.evidence.make import make
from backfill_assets.evidence.packet import packet
from backfill_assets.evidence.readers import moved_in
from backfill_assets.evidence.shape import json_schema
from backfill_assets.evidence.tables import HASHED, TableState
from backfill_assets.evidence.verify import form_problems, signature_problems
from backfill_assets.plan.stages import Owned, Request, plan_from_json
from backfill_assets.promote.lifecycle import end_promoted, store_plan
from backfill_assets.promote.promote import promote
from backfill_assets.state.plans import PlanRecord, PlanStatus
from backfill_assets.state.rules import Rules, RulesInForce
from backfill_assets_tests.fakes import NOW, Cell, FakeTables, World, a_model, a_pointer, days, gated, ranges
from backfill_assets_tests.packets import a_diff, a_document, a_proof, a_subject, a_table, an_approval, some_inputs

SCHEMA = json.loads((files("backfill_assets.evidence") / "packet.schema.json").read_text())


class Reader:
    """A TableReader over FakeTables: a file a commit."""

    def __init__(self, tables: FakeTables) -> None:
        self.tables, self.asked = tables, list[int]()

    def state(self, model: str, version: str, commit: int, *, hash_up_to: int = 0) -> TableState | None:
        self.asked.append(hash_up_to)
        return None if self.tables.head(model, version) < commit else replace(a_table(model, version), commit=commit)


def opened(world: World, request: Request | None = None) -> PlanRecord:
    """Plan, store and apply."""
    plan = world.plan(request)
    found = store_plan(world.control, plan, by="ben", views=lambda: None, code=world.project.fingerprints)
    assert found is not None
    apply(world.bench(patches=plan.patches), plan)
    return found.plan


def promoted(world: World, request: Request | None = None) -> None:
    facts, plan = world.facts(), world.plan(request)
    verdict = gated(world.project, facts, world.control.versions.all(), request or Request(), plan.models, plan.patches)
    assert verdict.open, verdict.obstacles
    moved = promote(world.control.environments, facts.environment, verdict.pointers, None)
    end_promoted(world.control, moved, by="ben", views=lambda: None)


def origin(world: World, reader: Reader | None = None) -> GatheredFrom:
    tables = reader or Reader(world.tables)
    return GatheredFrom(project=world.project, control=world.control, log=world.tables, tables=tables)


def gathered(world: World, plan: PlanRecord) -> Inputs:
    record = next(r for r in world.control.plans.all() if r.id == plan.id)
    return gather(origin(world), record)


def two_models(**versions: str) -> World:
    return World(a_model("daily", "raw"), a_model("sums", "daily"), versions=versions)


def test_what_the_sources_do_not_have_is_not_missing() -> None:
    """A plan whose source ends before the clock is complete once what there is of it is built: the packet, and the
    reviewer's questions, say the same."""
    world = two_models()
    world.extents = {"raw": days("03", "06")}
    plan = opened(world)
    assert [str(m.missing) for m in gathered(world, plan).subjects] == ["nothing", "nothing"]
    assert [str(m.shown) for m in gathered(world, plan).subjects] == ["2024-01-03..2024-01-06"] * 2


def test_hashes_have_a_limit_for_all_tables_together() -> None:
    """What a packet reads does not grow with the number of its models: what one table took the next one lacks."""
    world = two_models()
    plan, reader = opened(world), Reader(world.tables)
    gather(origin(world, reader), plan)
    assert reader.asked == [HASHED, HASHED - a_table().hashed] and a_table().hashed > 0


def test_days_that_are_not_settled() -> None:
    """By the plan's clock. What was never shown has the window of the files, as its first release will record."""
    world = World(a_model("daily", "raw", settle=2 * 86400.0), a_model("sums", "daily"), a_model("other", "raw2"))
    made = packet(gathered(world, opened(world)))
    said = {m.model: m.ranges.provisional for m in made.models}
    last = (days("08").start.isoformat(), days("10").end.isoformat())
    assert said == {"daily": [last], "sums": [last], "other": []}
    told = [line for line in made.summary.mind if "Provisional: " in line]
    assert told[0].startswith("Provisional: 3 days, from 8 to 10 January 2024 of daily. Rows") and len(told) == 2, told


def changed(world: World) -> World:
    """The same warehouse with newer code of `daily`."""
    newer = two_models(daily="2", sums="2")
    newer.store, newer.control, newer.tables, newer.engine = world.store, world.control, world.tables, world.engine
    return newer


@pytest.mark.parametrize("inputs", [some_inputs(), some_inputs(proofs={}, approvals=(), before_known=False)])
def test_it_has_the_published_form(inputs: Inputs) -> None:
    """`packet.json` is valid against the JSON Schema that is shipped, by a validator that is not ours."""
    _, made = make(inputs)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(json.loads(made["packet.json"]), SCHEMA)
    assert not form_problems(made["packet.json"])


def test_the_shipped_schema_is_the_form() -> None:
    """Whoever changes a part publishes the schema: `python -m backfill_assets.evidence.shape` writes it."""
    assert json_schema() == SCHEMA


def test_an_approval_of_another_plan_says_of_which() -> None:
    """A promotion rests on it, as it is of the same rows. Verified, it is what its statement says; of this plan it is
    not."""
    rules = RulesInForce(environment="prod", rules=Rules(), edited=Rules())
    written = packet(some_inputs(rules=rules, approvals=(an_approval(), an_approval(plan="2db5"))))
    assert [a.plan for a in written.approvals] == ["", "2db5"]
    assert not signature_problems(written, lambda *_: "")
    assert [said.count("for plan 2db5") for said in written.summary.accepted if said.startswith("ana")] == [0, 1]
    forged = written.approvals[1].model_copy(update={"plan": ""})
    (problem,) = signature_problems(written.model_copy(update={"approvals": [forged]}), lambda *_: "")
    assert problem.endswith("is not what its statement says")


def test_another_form_is_told() -> None:
    """A key too many and one too few are problems with their place."""
    said = json.loads(make(some_inputs())[1]["packet.json"])
    said["more"] = 1
    del said["models"][0]["version"]
    problems = form_problems(json.dumps(said).encode())
    assert len(problems) == 2 and any("models.0.version" in p for p in problems) and any("more" in p for p in problems)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(said, SCHEMA)


def test_a_plan_is_gathered_from_its_records() -> None:
    """Intervals, batches with their source commits, tests, what was shown before, and both codes."""
    world = two_models()
    opened(world)
    promoted(world)
    newer = changed(world)
    made = packet(gathered(newer, opened(newer)))
    daily, sums = made.models
    assert (daily.kind, daily.before, daily.version) == ("changed", "daily-1", "daily-2")
    assert daily.ranges.count == 10 and daily.ranges.recomputed == [
        (days("01").start.isoformat(), "2024-01-11T00:00:00+00:00")
    ]
    assert not daily.ranges.partial and not daily.ranges.missing
    assert sum(b.rows for b in daily.batches) == 100 and len(daily.batches) == 4
    assert all(b.inputs == {"raw": {"commit": 1}} for b in daily.batches)
    assert [(s.name, s.reads[0].pin, s.reads[0].models) for s in made.sources] == [("raw", {"commit": 1}, ["daily"])]
    assert sums.batches[0].inputs["daily"]["version"] == "daily-2"
    assert [(c.model, c.check, c.tested, c.passed) for c in made.checks] == [
        ("daily", "rows_ok", 10, 10),
        ("sums", "rows_ok", 10, 10),
    ]
    assert len(daily.rows) == 10 and {(r.old, r.new) for r in daily.rows} == {(10, 10)}
    assert [(t.model, t.version) for t in made.rollback.to] == [("daily", "daily-1"), ("sums", "sums-1")]


def test_the_same_records_make_the_same_bytes() -> None:
    """Nothing in a packet is of the clock at which it is written."""
    world = two_models()
    plan = opened(world)
    assert make(gathered(world, plan))[1] == make(gathered(world, plan))[1]


def test_it_names_what_is_about_to_be_shown() -> None:
    """A promotion of some days at an older commit: those days and that commit, whatever was written since."""
    world = two_models()
    plan = opened(world)
    part = {name: a_pointer(name, f"{name}-1", days("02", "05"), commit=3) for name in ("daily", "sums")}
    record = next(r for r in world.control.plans.all() if r.id == plan.id)
    made = packet(gather(origin(world), record, after=part))
    assert made.plan.status == "promoting"
    assert {m.table.commit for m in made.models if m.table} == {3}
    assert made.models[0].ranges.shown == [("2024-01-02T00:00:00+00:00", "2024-01-06T00:00:00+00:00")]
    assert {c.tested for c in made.checks} == {4} and len(made.models[0].rows) == 4


def test_a_late_packet_knows_what_was_shown_before() -> None:
    """Made after the promotion, it takes what was shown before from the release that brought the plan."""
    world = two_models()
    first = opened(world)
    promoted(world)
    late = packet(gathered(world, first))
    assert late.plan.status == "promoted" and late.rollback.known and late.models[0].kind == "new"
    assert late.models[0].before is None and late.models[0].ranges.count == 10
    newer = changed(world)
    plan = opened(newer)
    promoted(newer)
    said = packet(gathered(newer, plan))
    assert [(m.kind, m.before) for m in said.models] == [("changed", "daily-1"), ("changed", "sums-1")]
    assert said.rollback.known and said.rollback.to[0].version == "daily-1"


def test_what_is_not_recorded_is_not_invented() -> None:
    """Without a release, what was shown before is said to be unknown."""
    subject = replace(some_inputs().subjects[0], before=None, old=None)
    late = packet(some_inputs(subjects=(subject,), before_known=False))
    assert not late.rollback.known and "not recorded" in late.rollback.text and late.models[0].kind == "changed"


def test_a_plan_that_came_to_nothing_has_a_packet_too() -> None:
    """Abandoned, it says that nobody ever saw it; the status is the only thing that is different."""
    world = two_models()
    plan = opened(world)
    before = packet(gathered(world, plan))
    world.control.plans.mark([plan], PlanStatus.ABANDONED, by="ben", at=NOW)
    after = packet(gathered(world, plan))
    assert "This plan was given up: prod never showed it." in after.summary.mind
    assert after.models == before.models and after.checks == before.checks


def test_a_red_day_is_told() -> None:
    """A day that failed a test that must pass is not there, and the packet says which day and test."""
    world = two_models()
    bad = days("03")
    world.engine.cell = lambda job, i: Cell(failures={"rows_ok": 2} if job.model.name == "daily" and i == bad else {})
    made = packet(gathered(world, opened(world)))
    daily = made.models[0]
    assert daily.ranges.missing == [(bad.start.isoformat(), bad.end.isoformat())] and daily.ranges.partial
    assert "Not there yet: 1 day, on 3 January 2024." in made.summary.changed[0]
    assert any("lacks 1 day, on 3 January 2024" in line for line in made.summary.mind)


def test_a_restatement_says_what_stays() -> None:
    """Two days again: those are recomputed, the other days are kept, and the release note says a part is new."""
    world = two_models()
    opened(world)
    promoted(world)
    request = Request(restate=(("daily", days("03", "04")),))
    made, written = make(gathered(world, opened(world, request)))
    daily = made.models[0]
    assert daily.kind == "restated" and daily.ranges.count == 2 and daily.ranges.partial
    assert daily.ranges.kept == [
        ("2024-01-01T00:00:00+00:00", "2024-01-03T00:00:00+00:00"),
        ("2024-01-05T00:00:00+00:00", "2024-01-11T00:00:00+00:00"),
    ]
    assert len(daily.rows) == 2
    assert "a part of history only" in written["release_note.md"].decode()


def test_new_rules_from_a_day_on_say_what_older_days_keep() -> None:
    """A change that is made forward only: the days before it keep the values and rules that they had (E5)."""
    world = two_models()
    opened(world)
    promoted(world)
    newer = changed(world)
    made, written = make(gathered(newer, opened(newer, Request(forward_only=utc("2024-01-08")))))
    daily = made.models[0]
    assert daily.kind == "forward" and daily.ranges.count == 3
    assert daily.ranges.kept == [("2024-01-01T00:00:00+00:00", "2024-01-08T00:00:00+00:00")]
    assert "From 8 to 10 January 2024, 3 days of daily follow the new rules." in made.summary.changed[0]
    assert (
        "(7 days, from 1 to 7 January 2024) keep the values and rules that they had."
        in written["release_note.md"].decode()
    )


def test_foreign_commits_are_told() -> None:
    """A table that something else wrote to is named."""
    table = a_table()
    odd = replace(table, commits=(*table.commits, replace(table.commits[0], commit=2, batch="")))
    made = packet(some_inputs(subjects=(a_subject(days("01", "04"), table=odd),)))
    assert made.models[0].table is not None and made.models[0].table.foreign == [2]
    assert "Something else than this system wrote to the table of performance: commit 2." in made.summary.mind


def test_no_row_at_all_is_told() -> None:
    """Green audits of nothing are no proof of anything."""
    subject = a_subject(days("01", "04"))
    none = tuple((part, replace(entry, rows=0)) for part, entry in subject.batches)
    text = "performance has no row at all in what was computed: readers would find none there."
    assert text in packet(some_inputs(subjects=(replace(subject, batches=none),))).summary.mind
    assert text not in packet(some_inputs(subjects=(subject,))).summary.mind


def test_warnings_and_failures_are_told_apart() -> None:
    """A warning does not sound like a failure, nor a failure like a warning."""
    subject = a_subject(days("01", "04"))
    first, second = (next(r for r in subject.results if r.check == name) for name in ("not_null", "row_count"))
    failed = {id(first): "two NULLs", id(second): "8 rows"}
    results = tuple(replace(r, passed=False, observed=failed[id(r)]) if id(r) in failed else r for r in subject.results)
    made = packet(some_inputs(subjects=(replace(subject, results=results),)))
    assert made.summary.tests == ["performance: not_null failed on 1 day and row_count gave a warning on 1 day."]
    assert [line for line in made.summary.mind if "failed" in line] == [
        "performance failed the test not_null; it must not be shown before that is mended."
    ]


def test_a_plan_without_content_is_refused() -> None:
    """A record alone is no plan."""
    world = two_models()
    record = some_inputs().plan
    with pytest.raises(StateError, match="has no content"):
        gather(origin(world), record)


def test_a_finding_waits_for_its_acceptance() -> None:
    """A named difference is accepted with a reason, or told; an approval that does not count accepts nothing (D3)."""
    accepted = packet(some_inputs())
    assert "Accepted difference: conversions (double clicks were counted twice)." in accepted.summary.accepted
    assert not any("Not accepted yet" in line for line in accepted.summary.mind)
    for approvals in ((), (an_approval(doubt="rows are others by now"),)):
        said = packet(some_inputs(approvals=approvals)).summary
        assert "Not accepted yet: conversions moved by −5 %." in said.mind
    assert said.accepted == [
        "ana accepted it for marketing@example.com on 1 February 2024, 12:00 UTC, which does not count: "
        "rows are others by now."
    ]


def test_a_comparison_of_other_rows_proves_nothing() -> None:
    """Rows that were written again since are not those that were compared: its numbers are not told as theirs."""
    now, then = packet(some_inputs()), packet(some_inputs(content="others"))
    assert (
        now.data_diff is not None and now.data_diff.holds and "its total went from 400 to 380" in now.summary.changed[0]
    )
    assert then.data_diff is not None and then.data_diff.holds is False
    assert "400" not in then.summary.changed[0] and any("compare them again" in line for line in then.summary.mind)
    assert packet(some_inputs(content="")).data_diff.holds is None  # type: ignore[union-attr]


def test_what_it_means_for_each_reader() -> None:
    """The contracts' impact and the readers' own queries are told in plain words (D4, E6)."""
    impact = {
        "consumer": "dashboard", "level": "behavioural", "affected": True, "notice_days": 7,
        "notice_until": "2024-02-08T00:00:00+00:00",
        "models": [{"model": "performance", "level": "behavioural", "days": [],
                    "changes": [{"level": "behavioural", "column": "conversions", "what": "has other values"}]}],
        "void_evaluations": [{"name": "weekly", "days": "2024-01-01..2024-01-07"}],
    }  # fmt: skip
    good = {"consumer": "dashboard", "query": "by_day", "evaluation": "", "met": True, "missed": [], "same": False,
            "candidate": {"rows": 4}, "shown": {"rows": 4}}  # fmt: skip
    bad = good | {"query": "top", "met": False, "missed": ["2 rows; expected at least 5"], "candidate": {"rows": 2}}
    proof = a_proof("consumers", document={"reruns": [good, bad]}, findings=())
    made, written = make(some_inputs(impacts=(impact,), proofs={"consumers": proof}))
    assert made.summary.depends[0] == (
        "dashboard (dashboard of cmo@example.com) reads performance; will see other numbers (performance.conversions: "
        "has other values); wants to know of it 7 days before: not earlier than 8 February 2024; "
        "its evaluation weekly (2024-01-01..2024-01-07) was of the older rows: it has to be made again."
    )
    for missed, said in (([], "it is as expected"), (["2 rows"], "it is not as expected: 2 rows")):
        again = bad | {"evaluation": "weekly", "missed": missed, "met": not missed}
        proof = a_proof("consumers", document={"reruns": [good, again]}, findings=())
        told = packet(some_inputs(impacts=(impact,), proofs={"consumers": proof})).summary.depends[0]
        assert told.endswith(f"was of the older rows; made again over the new ones, {said}.")
    assert made.summary.tests[1:] == [
        "Readers' own queries over the new rows: 1 of 2 gave what their owners expect.",
        "dashboard, top: 2 rows; expected at least 5.",
    ]
    assert "2 rows; expected at least 5" in written["packet.html"].decode()
    jsonschema.validate(json.loads(written["packet.json"]), SCHEMA)


def test_what_of_an_answer_moved() -> None:
    """Totals, or the first row that differs, instead of two equal numbers of rows; nothing of answers of other rows."""
    shown = {
        "rows": 3,
        "columns": ["day", "spend"],
        "sample": [["Mon", "1"]],
        "sums": {"spend": 200.0},
        "checksum": "a",
    }
    rerun = {"consumer": "dashboard", "query": "by_day", "evaluation": "", "met": True, "missed": [], "same": False,
             "shown": shown, "candidate": shown | {"sums": {"spend": 150.0}, "checksum": "b"}}  # fmt: skip
    older = {"rows": 3, "columns": ["day", "spend"], "sample": [["Mon", "1"]], "checksum": "a"}
    bare = rerun | {"shown": older, "candidate": older | {"sample": [["Mon", "2"]], "checksum": "b"}}
    found = [
        rerun,
        bare,
        rerun | {"same": True},
        rerun | {"shown": None},
        rerun | {"candidate": shown | {"error": "no"}},
    ]
    assert [moved_in(r) for r in found] == [
        "spend, total 200 → 150 (-25.0 %)",
        "spend 1 → 2 (Mon)",
        "nothing: the same answer",
        "it was asked of the new rows only",
        "nobody can tell: it failed over one of the two",
    ]
    proof = a_proof("consumers", document={"reruns": [rerun]}, findings=())
    assert "spend, total 200 → 150" in make(some_inputs(proofs={"consumers": proof}))[1]["packet.html"].decode()
    stale = replace(proof, content="others")
    assert "spend, total 200 → 150" not in make(some_inputs(proofs={"consumers": stale}))[1]["packet.html"].decode()


def test_what_was_measured_is_not_said_to_be_possible() -> None:
    """Columns that may differ are told as they came out; "may" is for what nobody compared."""
    measured, unmeasured = make(some_inputs()), make(some_inputs(proofs={}))
    assert (
        "The values of conversions differ from before; all other columns keep theirs." in measured[0].summary.changed[0]
    )
    assert "other values in 10 of 40 rows" in measured[1]["packet.html"].decode()
    assert "may have other values" not in measured[1]["packet.html"].decode()
    assert "may differ from before" in unmeasured[0].summary.changed[0]
    assert "may have other values" in unmeasured[1]["packet.html"].decode()
    change = {**a_document(days("01", "04"))["changes"]["performance"], "columns": ["id"]}
    document = a_document(days("01", "04")) | {"changes": {"performance": change}}
    others = packet(some_inputs(said=plan_from_json(document))).summary.changed[0]
    assert (
        "The values of id could have differed, and are the same. Not meant to differ, and different: conversions."
        in others
    )
    document["changes"] = {"performance": change | {"rows": True}}
    rows = packet(some_inputs(said=plan_from_json(document))).summary.changed[0]
    assert "Old and new rows were compared: 10 of 40 rows differ, no rows came and no rows went." in rows


def test_a_new_column_is_told() -> None:
    """Its description, its range, how many rows lack it, and a chart of its days."""
    column = {
        "name": "value",
        "kind": "decimal",
        "old_type": None,
        "new_type": "decimal(9,2)",
        "key": False,
        "masked": False,
    }
    stats = {"nulls": 4, "distinct": 9, "sum": "90", "mean": 2.5, "p50": "2", "p95": "8", "min": "0.50", "max": "9.00"}
    diff = a_diff()
    [model] = diff["models"]
    model["columns"].append(column)
    for group in (model["total"], *model["days"]):
        group["columns"]["value"] = {"changed": 0, "old": None, "new": stats}
    subject = a_subject(days("01", "04"))
    assert subject.record
    record = replace(subject.record, columns=(*subject.record.columns, ("value", "decimal(9,2)")))
    described = replace(subject.model, columns=(Column(name="Value", description="What was paid, <b>EUR</b>."),))
    inputs = some_inputs(
        subjects=(replace(subject, record=record, model=described),), proofs={"diff": a_proof(document=diff)}
    )
    page = make(inputs)[1]["packet.html"].decode()
    assert "from 0.5 to 9, 2.50 on average, empty in 4 of 40 rows (10 %)" in page
    assert "What was paid, &lt;b&gt;EUR&lt;/b&gt;." in page
    assert "value, average of the rows" in page


def test_whose_approval_is_needed() -> None:
    """Each owner with the models and the command; who gave it is told from who did not."""
    first = Owned(owner="marketing@example.com", models=("performance",))
    asked = first, Owned(owner="growth team", models=("roi",), roles=("validation owner",))
    found, written = make(some_inputs(asked=asked))
    assert [(n.owner, n.given) for n in found.needed] == [("marketing@example.com", True), ("growth team", False)]
    needed = "Needed: growth team (validation owner) for roi, by backfill approve 7f3c --for 'growth team'."
    assert found.summary.accepted[-1] == needed
    assert "growth team (validation owner)" in written["packet.html"].decode()
    assert "backfill approve 7f3c --for &#39;growth team&#39;" in written["packet.html"].decode()
    alone = packet(some_inputs(asked=(first,), approvals=()))
    assert alone.summary.accepted[-1].endswith("by backfill approve 7f3c.")


def test_example_rows_are_printed() -> None:
    """What is closed is not printed; the rows are open."""
    page = make(some_inputs())[1]["packet.html"].decode()
    assert "<details open><summary>Example rows" in page and "details:not([open]) { display: none; }" in page


def test_nobody_accepted_is_said() -> None:
    """No approval is never silent, and an approval names who, when and of what."""
    assert packet(some_inputs(approvals=())).summary.accepted == ["No acceptance is recorded."]
    said = packet(some_inputs()).summary.accepted
    assert said[0].startswith("ana accepted it for marketing@example.com on 1 February 2024, 12:00 UTC (not signed)")
    assert packet(some_inputs()).approvals[0].digest == "c0ffee"
    assert packet(some_inputs()).as_of == utc("2024-02-01T12:00").isoformat()


def test_a_view_that_lists_fewer_columns_is_called_that() -> None:
    """No row was computed, and the dropped column is named."""
    scope = days("01", "04")
    whole = a_subject(scope)
    target = replace(whole.target, version="old", intervals=ranges(), columns=("ds", "id"))
    subject = a_subject(scope, target=target, record=whole.old)
    change = {"category": "removal", "rows": False, "columns": [], "added": [], "removed": ["conversions"]}
    document = a_document(scope) | {"changes": {"performance": change | {"renamed": {}, "because": []}}}
    assert whole.before and whole.old
    said = replace(subject, before=replace(whole.before, columns=whole.old.columns))
    found, written = make(some_inputs(subjects=(said,), said=plan_from_json(document), proofs={}))
    [model] = found.models
    assert model.kind == "relisted" and [c.name for c in model.columns if c.what == "removed"] == ["conversions"]
    assert "Only the view of performance changes" in found.summary.changed[0]
    assert "it has other columns" in written["cutover_message.md"].decode()


def test_it_says_what_building_everything_again_would_take() -> None:
    """Also the models that the plan leaves alone, by what the ledger knew when the plan was opened."""
    world = two_models()
    opened(world)
    promoted(world)
    newer = two_models(daily="2")
    newer.store, newer.control, newer.tables, newer.engine = world.store, world.control, world.tables, world.engine
    record = opened(newer)
    inputs = gathered(newer, record)
    assert inputs.estimate.whole is not None
    assert [stage.model for stage in inputs.estimate.whole.stages] == ["daily", "sums"]
    assert "Rebuilding everything" in packet(inputs).spent.sentence
