"""The seven questions of an owner: each answer follows what was recorded, and none is better than what is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from backfill_assets.core.intervals import Ranges
from backfill_assets.evidence.inputs import Inputs
from backfill_assets.evidence.packet import packet
from backfill_assets.evidence.questions import ReviewerQuestion, questions
from backfill_assets.plan.stages import Owned
from backfill_assets_tests.fakes import days, ranges
from backfill_assets_tests.packets import a_diff, a_proof, a_subject, an_approval, some_inputs

NAMES = ("keys", "rows", "moved", "contracts", "queries", "audits", "owner")
WHOLE = {"null_rows": 0, "duplicate_keys": 0, "duplicate_rows": 0}


def asked(inputs: Inputs) -> dict[str, ReviewerQuestion]:
    found = questions(packet(inputs))
    assert tuple(q.name for q in found) == NAMES
    return {q.name: q for q in found}


def compared(**keys: Any) -> Inputs:
    """A comparison that counted keys: what each side has of them."""
    document = a_diff()
    document["models"][0]["keys"] = {"old": WHOLE, "new": WHOLE} | keys
    return some_inputs(proofs={"diff": a_proof(document=document)}, approvals=())


def test_nothing_is_known_without_a_comparison() -> None:
    """What was not compared is open, whatever else there is."""
    found = asked(some_inputs(proofs={}))
    assert {name: found[name].answer for name in ("keys", "rows", "moved")} == dict.fromkeys(
        ("keys", "rows", "moved"), "open"
    )


def test_a_comparison_of_other_rows_is_none() -> None:
    found = asked(replace(compared(), content="others"))
    assert found["keys"].answer == found["moved"].answer == "open"
    assert "others by now" in found["keys"].why


def test_keys() -> None:
    assert asked(compared())["keys"].answer == "good"
    twice = WHOLE | {"duplicate_keys": 3, "duplicate_rows": 7}
    bad = asked(compared(new=twice))["keys"]
    assert (bad.answer, bad.number) == ("bad", "3 duplicate, 0 empty")
    assert asked(compared(new=twice, old=twice))["keys"].answer == "look", "they are shown like that already"
    assert asked(compared(new=WHOLE | {"null_rows": 1}))["keys"].number == "0 duplicate, 1 empty"


def test_rows() -> None:
    found = asked(compared())["rows"]
    assert (found.answer, found.number) == ("good", "40 → 40 (0 %)")
    subject = a_subject(days("01", "04"))
    more = replace(subject, new_rows={at: n + 1 for at, n in subject.new_rows.items()})
    assert asked(some_inputs(subjects=(more,)))["rows"].number == "40 → 44 (+10 %)"
    part = replace(subject, complete=ranges(days("01", "03")), missing=ranges(days("04")))
    lacking = asked(some_inputs(subjects=(part,)))["rows"]
    assert lacking.answer == "open" and "not there yet: 1 day" in lacking.why


def test_differences_close_it_until_somebody_accepts_them() -> None:
    left = asked(compared())["moved"]
    assert (left.answer, left.number) == ("bad", "1 difference to accept")
    assert asked(replace(compared(), approvals=(an_approval(),)))["moved"].answer == "look"
    void = replace(compared(), approvals=(an_approval(doubt="rows were written again"),))
    assert asked(void)["moved"].answer == "bad", "what does not count accepts nothing"


def test_audits() -> None:
    assert (asked(some_inputs())["audits"].answer, asked(some_inputs())["audits"].number) == ("good", "8 of 8 passed")
    subject = a_subject(days("01", "04"))
    red = tuple(replace(r, passed=r.check != "not_null") for r in subject.results)
    assert asked(some_inputs(subjects=(replace(subject, results=red),)))["audits"].answer == "bad"
    warned = tuple(replace(r, passed=r.check != "row_count") for r in subject.results)
    assert asked(some_inputs(subjects=(replace(subject, results=warned),)))["audits"].answer == "look"
    assert asked(some_inputs(subjects=(replace(subject, results=()),)))["audits"].answer != "good"


def test_owners() -> None:
    owner = Owned(owner="marketing@example.com", models=("performance",), roles=("owner",))
    other = Owned(owner="vera@example.com", models=("performance",), roles=("validation owner",))
    half = asked(some_inputs(asked=(owner, other)))["owner"]
    assert (half.answer, half.number) == ("open", "1 of 2 given")
    assert "vera@example.com (validation owner)" in half.why
    assert asked(some_inputs(asked=(owner,)))["owner"].answer == "good"
    void = asked(some_inputs(asked=(owner,), approvals=(an_approval(doubt="it is over"),)))["owner"]
    assert void.answer == "open" and "ana (void: it is over)" in void.why


def test_contracts_and_queries() -> None:
    found = asked(some_inputs())
    assert (found["contracts"].answer, found["queries"].answer) == ("open", "open"), "nobody looked"
    impact = {"consumer": "dashboard", "level": "breaking", "models": [], "void_evaluations": []}
    assert asked(some_inputs(impacts=(impact,)))["contracts"].answer == "bad"
    assert asked(some_inputs(impacts=(impact | {"level": "behavioural"},)))["contracts"].answer == "look"
    assert asked(some_inputs(impacts=(impact | {"level": None},)))["contracts"].answer == "good"
    rerun = {"consumer": "dashboard", "query": "total", "evaluation": "", "missed": ["no row"], "met": False}
    proofs = {"diff": a_proof(), "consumers": a_proof("consumers", findings=(), document={"reruns": [rerun]})}
    missed = asked(some_inputs(proofs=proofs))["queries"]
    assert (missed.answer, missed.number) == ("bad", "0 of 1 as expected")


def test_a_new_table_asks_less() -> None:
    """Where nothing was shown there is nothing to compare with."""
    subject = replace(a_subject(days("01", "04")), before=None, old=None, old_rows={}, kept=Ranges())
    found = asked(some_inputs(subjects=(subject,), proofs={}))
    assert (found["keys"].answer, found["moved"].answer) == ("none", "none")
    assert found["rows"].number == "40, none before"
