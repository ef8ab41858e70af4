"""The owner's approval: a change of published rows waits for it, and it is proved who gave it (E3)."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backfill_assets.app.context import Context
from backfill_assets_tests.projects import Said, an_environment, small_project
from backfill_assets_tests.projects import backfill_here as backfill

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ANA, BO = "ana@example.com", "bo@example.com"
PEOPLE = {ANA: {"accounts": ["ana", "ana.k"]}, "dev@example.com": {"accounts": ["dev"]}, BO: {"accounts": ["bo"]}}


def a_key(folder: Path, name: str) -> Path:
    key = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    return key


def edit(root: Path, **more: object) -> None:
    file = root / "backfill.yml"
    file.write_text(json.dumps(json.loads(file.read_text()) | more))


def owned(root: Path, owner: str) -> None:
    for model in (root / "models").glob("*.sql"):
        head, _, rest = model.read_text().partition("grain:")
        model.write_text(head.partition("owner:")[0].rstrip("\n") + f"\nowner: {owner}\ngrain:{rest}")


def in_the_way(said: Said) -> str:
    assert said.code == 4, said
    return "; ".join(o["what"] for o in said.json["in_the_way"])


@pytest.fixture(scope="module")
def environment() -> str:
    """One for all tests of this file: each has a copy of what is published there."""
    return an_environment()


@pytest.fixture(scope="module")
def built(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, environment: str) -> Path:
    """Two models of ana's in the environment, and a change of both by dev, built and not approved."""
    folder = tmp_path_factory.mktemp("built")
    root = small_project(folder / "shop", days=3, batch_size=3, environment=environment)
    (root / "allowed_signers").write_text(f"{ANA} {a_key(folder, 'ana').with_suffix('.pub').read_text()}")
    edit(root, people=PEOPLE)
    assert backfill("apply", "--promote", project=root, user="dev").code == 0, "a first promotion needs nobody"
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    applied = backfill("apply", project=root, user="dev")
    assert applied.code == 0 and "backfill approve" in applied.out, applied.out
    assert "compared  daily" in applied.out and "moved: n" in applied.out
    return root


@pytest.fixture
def shop(built: Path, tmp_path: Path) -> Path:
    """A copy of it, with ana's key beside."""
    return shutil.copytree(built.parent, tmp_path, dirs_exist_ok=True) / "shop"


def plan_of(root: Path) -> str:
    (plan,) = [r.id for r in Context.open(root).control.plans.all() if r.live]
    return plan


def test_nobody_becomes_somebody_else_by_saying_so(shop: Path, tmp_path: Path) -> None:
    """The author, whatever they say they are; somebody else; a statement whose claims were edited; then the owner."""
    plan = plan_of(shop)
    for user in ("dev", "bo", "eve"):
        for by in ([], ["--by", ANA], ["--by", "dev@example.com"], ["--by", BO], ["--by", "[/red]"]):
            refused = backfill("approve", plan, *by, project=shop, user=user)
            assert refused.code == 1 and "may not approve" in refused.err and not refused.out, (user, by, refused)
    key = a_key(tmp_path, "dev")
    forged = backfill("approve", plan, "--by", ANA, "--key", str(key), project=shop, user="dev")
    assert forged.code == 1 and f"is not one of {ANA}" in forged.err

    prepared = backfill("approve", plan, "--by", ANA, "--prepare", project=shop, user="ana")
    claims = json.loads(prepared.out) | {"own": False, "expires": "2099-01-01T00:00:00+00:00", "account": "ana"}
    said = tmp_path / "said.json"
    said.write_text(json.dumps(claims, sort_keys=True) + "\n")
    (tmp_path / "none.sig").write_text("")
    edited = ("approve", plan, "--statement", str(said), "--signature", str(tmp_path / "none.sig"))
    assert "the account dev is not known to be" in backfill(*edited, project=shop, user="dev").err
    closed = backfill("promote", "--json", project=shop, user="dev")
    assert f"needs approval by {ANA}" in in_the_way(closed)

    given = backfill("approve", plan, "--json", project=shop, user="ana.k")
    assert given.code == 0 and given.json[0]["account"] == "ana.k" and not given.json[0]["own"], given
    moved = backfill("promote", "--json", project=shop, user="dev")
    assert moved.code == 0 and moved.json["rules"] == [], moved
    assert backfill("verify", plan, project=shop).code == 0


def test_edited_rules_do_not_open_the_gate(shop: Path, tmp_path: Path, environment: str) -> None:
    """Not those of backfill.yml, of another folder, of a model or of allowed_signers: those that were in force when
    something was promoted stay in force until those whom they ask have approved others."""
    key = a_key(tmp_path, "dev")
    other = tmp_path / "other"
    warehouse = Context.open(shop).warehouse
    shutil.copytree(shop, other, ignore=shutil.ignore_patterns(".backfill"))
    edit(other, approvals={"required": False}, warehouse=warehouse)
    closed = backfill("promote", "--json", project=other, user="dev")
    assert f"needs approval by {ANA}" in in_the_way(closed)
    assert "backfill.yml says approvals.required: false; in force: true" in closed.json["rules"]
    for command in ("plan", "promote", "status"):
        assert "approvals.required: false; in force: true" in backfill(command, project=other, user="dev").out
    assert "approvals.required: false; in force: true" in backfill("plan", "--markdown", project=other).out
    packet = backfill("evidence", "--json", project=other, user="dev")
    assert any("in force: true" in line for line in packet.json["summary"]["mind"]), packet

    edit(shop, approvals={"self": True, "owners": {ANA: ["dev@example.com"]}, "days": 400})
    (shop / "allowed_signers").write_text(f"{ANA} {key.with_suffix('.pub').read_text()}")
    plan = plan_of(shop)
    assert backfill("approve", plan, project=shop, user="dev").code == 1
    assert backfill("approve", plan, "--by", ANA, "--key", str(key), project=shop, user="dev").code == 1
    owned(shop, "dev@example.com")
    assert backfill("approve", plan, project=shop, user="dev").code == 1
    ways = in_the_way(backfill("promote", "--json", project=shop, user="dev"))
    assert f"needs approval by {ANA}" in ways and "needs approval by dev@example.com" in ways

    change = backfill("rules", "change", "--reason", "faster", "--json", project=shop, user="dev")
    assert change.code == 4 and ANA in change.json["missing"], change
    assert backfill("approve", change.json["id"], project=shop, user="dev").code == 1
    assert backfill("promote", project=shop, user="dev").code == 4
    assert "proposed by dev waits" in backfill("rules", project=shop).out
    release = Context.open(shop).control.releases.all(environment)[-1]
    assert release.rules["number"] == 1 and not release.approvals_off
    done = backfill("approve", change.json["id"], "--json", project=shop, user="ana")
    assert done.code == 0 and done.json["in_force"], "ana gives it away, as she may; dev asked for it"
    assert Context.open(shop).rules().rules.owners["daily"] == "dev@example.com"


def test_a_signature_is_checked_again(shop: Path, tmp_path: Path) -> None:
    """It is made elsewhere, by the owner's key; `verify` checks it against the signers that were in force."""
    plan, said = plan_of(shop), tmp_path / "said.json"
    prepared = backfill("approve", plan, "--by", ANA, "--prepare", project=shop, user="dev")
    said.write_text(prepared.out)
    sign = ["ssh-keygen", "-Y", "sign", "-q", "-n", "backfill-approval", "-f", tmp_path / "ana", said]
    subprocess.run(sign, check=True)
    good = backfill("approve", plan, "--statement", said, "--signature", f"{said}.sig", project=shop, user="dev")
    assert good.code == 0, good.err
    assert backfill("promote", project=shop, user="dev").code == 0
    (shop / "allowed_signers").write_text("")
    verified = backfill("verify", plan, "--json", project=shop)
    assert verified.code == 0 and verified.json["signatures"] == 1, verified
