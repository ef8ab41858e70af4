"""Owners for whom nobody can approve yet are named before a plan waits for one, with what changes it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.core.settings import ApprovalRules
from backfill_assets.promote.unspoken_owners import unspoken_owners, unspoken_words
from backfill_assets.state.rules import ConsumerRule, Rules, RulesInForce
from backfill_assets_tests.projects import backfill_here, small_project
from backfill_assets_tests.unsparked import promoted

ANA, CFO = "ana@example.com", "cfo@example.com"
ASKED = Rules(owners={"a": ANA, "b": "dev", "c": ""}, consumers={"export": ConsumerRule(owner=CFO, reads=("a",))})
SIGNED = ApprovalRules(signatures="required")


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        pytest.param(ASKED, (ANA, CFO), id="no people; an account may be called dev"),
        pytest.param(replace(ASKED, people={ANA: ("ana",)}), (CFO,), id="an account"),
        pytest.param(replace(ASKED, approvals=ApprovalRules(owners={CFO: ("bo",)})), (ANA,), id="somebody else"),
        pytest.param(replace(ASKED, owners={"a": "team:x"}), (CFO, "team:x"), id="no account is called so"),
        pytest.param(
            replace(ASKED, approvals=ApprovalRules(owners={CFO: (ANA,)})), (ANA, CFO), id="somebody without an account"
        ),
        pytest.param(replace(ASKED, approvals=ApprovalRules(self=True)), (), id="a team of one"),
        pytest.param(replace(ASKED, approvals=ApprovalRules(required=False)), (), id="nobody is asked"),
        pytest.param(replace(ASKED, approvals=SIGNED, people={ANA: ("ana",)}), (ANA, CFO, "dev"), id="keys only"),
    ],
)
def test_who_they_are(rules: Rules, names: tuple[str, ...]) -> None:
    assert unspoken_owners(rules) == names


def test_what_changes_it() -> None:
    """Before the rules are recorded the file alone does; where keys are required, a key."""
    new = RulesInForce(environment="prod", rules=ASKED, edited=ASKED)
    [said] = unspoken_words(new)
    assert said.startswith(f"nobody can approve for {ANA}, {CFO} yet") and "{accounts: [NAME]}" in said
    assert "rules change" not in said
    [said] = unspoken_words(replace(new, number=1))
    assert said.endswith("then backfill rules change")
    [said] = unspoken_words(replace(new, rules=replace(ASKED, approvals=SIGNED)))
    assert "allowed_signers" in said and "people" not in said


def test_rules_and_doctor_say_so(tmp_path: Path) -> None:
    """A warning: nothing is wrong until a plan waits. Listed, it is gone."""
    root = promoted(small_project(tmp_path, days=2))
    said = backfill_here("rules", project=root)
    assert f"nobody can approve for {ANA} yet" in " ".join(said.out.split()), said
    assert backfill_here("rules", "--json", project=root).json["unspoken_owners"] == [ANA]
    [check] = [c for c in backfill_here("doctor", "--json", project=root).json if c["check"] == "approvals"]
    assert check["ok"] and check["warns"] and "backfill rules change" in check["found"]
    other = small_project(tmp_path / "other", days=2)
    settings = json.loads((other / "backfill.yml").read_text())
    (other / "backfill.yml").write_text(json.dumps(settings | {"people": {ANA: {"accounts": ["ana"]}}}))
    assert "nobody can approve" not in backfill_here("rules", project=other).out
    [check] = [c for c in backfill_here("doctor", "--json", project=other).json if c["check"] == "approvals"]
    assert check == {"check": "approvals", "ok": True, "found": "somebody can approve for each owner"}
