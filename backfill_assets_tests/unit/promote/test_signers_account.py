"""A signature is of whom `allowed_signers` lists the key for, whatever account brings it: also without `--by`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.adapters.signatures import ALLOWED, fingerprint
from backfill_assets.app.approve import ApprovalRequest, approve
from backfill_assets.app.context import Context
from backfill_assets.app.promote import promote_plan
from backfill_assets.core.errors import PlanError, SettingsError, UsageError
from backfill_assets.state.signers import may_sign
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unit.promote.test_signatures import a_key
from backfill_assets_tests.unsparked import changed, promoted

ANA = "ana@example.com"


def waiting(tmp_path: Path, *names: str) -> tuple[Context, ApprovalRequest]:
    """A change by dev that waits for Ana, and its approval by a key that the rules in force list for these."""
    root = small_project(tmp_path / "shop", days=2)
    key = a_key(tmp_path, "key")
    public = key.with_suffix(".pub").read_text()
    (root / ALLOWED).write_text("".join(f"{name} {public}" for name in names))
    place, plan = changed(promoted(root))
    return place, ApprovalRequest(plan=plan, key=key)


def test_a_key_that_the_plans_author_brings(tmp_path: Path) -> None:
    """Ana signs at dev's terminal: it is her approval, of his account, and it counts."""
    place, asked = waiting(tmp_path, ANA)
    [given] = approve(place, asked).approvals
    assert (given.by, given.account, bool(given.signature)) == (ANA, "dev", True)
    assert promote_plan(place, plan=asked.plan).verdict.open


def test_a_key_of_several(tmp_path: Path) -> None:
    """Who it was is not guessed: `--by` says it, or the account that is one of them."""
    place, asked = waiting(tmp_path, ANA, "eve@example.com")
    with pytest.raises(UsageError) as refused:
        approve(place, asked)
    assert f"lists it for {ANA}, eve@example.com" in refused.value.why and f"--by {ANA}" in refused.value.fix
    [given] = approve(replace(place, acting=ANA), asked).approvals
    assert given.by == ANA
    [given] = approve(place, replace(asked, by=ANA)).approvals
    assert given.by == ANA


def test_a_key_of_nobody(tmp_path: Path) -> None:
    """It is the account's approval, and refused as that."""
    place, asked = waiting(tmp_path)
    with pytest.raises(PlanError, match="dev may not approve"):
        approve(place, asked)


def test_a_key_that_no_line_has(tmp_path: Path) -> None:
    """That is what is wrong, not who made the plan; a line for a pattern has it, and an authority may vouch for it."""
    place, asked = waiting(tmp_path, ANA)
    (tmp_path / "other").mkdir()
    unknown = a_key(tmp_path / "other", "key")
    with pytest.raises(UsageError, match="is the key of nobody who may sign") as refused:
        approve(place, replace(asked, key=unknown))
    assert f"no line of {ALLOWED}" in refused.value.why and "rules change" in refused.value.fix
    with pytest.raises(SettingsError, match="cannot sign with") as refused:
        approve(place, replace(asked, key=tmp_path / "nowhere"))
    assert "No such file" in refused.value.why
    known, other = (key.with_suffix(".pub").read_text() for key in (tmp_path / "key", unknown))
    mine = fingerprint(unknown)
    assert not may_sign(f"{ANA} {known}", mine)
    assert may_sign(f"{ANA} {known}*@example.com {other}", mine)
    assert may_sign(f"{ANA} cert-authority {known}", mine)
    assert may_sign(f"{ANA} {other.strip()} CORP\\\\ana@PC", mine), "a comment that ssh-keygen reads otherwise"
