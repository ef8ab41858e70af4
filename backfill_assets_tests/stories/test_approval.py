"""The owner's yes: a change of published rows waits for it, and it is proved who gave it (E3)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backfill_assets.adapters.workspace import Workspace
from backfill_assets_tests.projects import backfill_here as backfill
from backfill_assets_tests.projects import small_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_change_waits_for_its_owner(spark: SparkSession, tmp_path: Path) -> None:
    """Green is not enough: it takes a yes, and neither the author's own nor a forged one, but a signed one."""
    root = small_project(tmp_path, days=3, batch_size=3)
    settings = json.loads((root / "backfill.yml").read_text())
    key = tmp_path / "ana"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    (root / "allowed_signers").write_text(f"ana@example.com {key.with_suffix('.pub').read_text()}")
    settings["approvals"] = {"signatures": "required"}
    (root / "consumers.yml").write_text("last_verified: 2024-01-03\nconsumers: []\n")
    for model in (root / "models").glob("*.sql"):
        model.write_text(model.read_text().replace("grain:", "owner: ana@example.com\ngrain:", 1))
    (root / "backfill.yml").write_text(json.dumps(settings))
    assert backfill("apply", "--promote", project=root).code == 0, "a first promotion needs nobody"
    before = Workspace.open(root).control.environments.read("prod").pointers

    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    applied = backfill("apply", project=root)
    assert applied.code == 0 and "backfill approve" in applied.out, applied.out
    assert "compared  daily" in applied.out and "moved: n" in applied.out
    place = Workspace.open(root)
    (plan,) = [r.id for r in place.control.plans.all() if r.live]

    closed = backfill("promote", "--json", project=root)
    assert closed.code == 4
    assert any("needs the yes of" in o["what"] for o in closed.json["in_the_way"])
    own = backfill("approve", plan, "--key", str(key), project=root)
    assert own.code == 1 and "made it" in own.err
    unsigned = backfill("approve", plan, "--by", "ana@example.com", project=root)
    assert unsigned.code == 1 and "without a signature" in unsigned.err
    forged = backfill("approve", plan, "--by", "bo@example.com", "--key", str(key), project=root)
    assert forged.code == 1 and "is not one of bo@example.com" in forged.err
    assert place.control.environments.read("prod").pointers == before

    said, signature = tmp_path / "said.json", tmp_path / "said.json.sig"
    prepared = backfill("approve", plan, "--by", "ana@example.com", "--prepare", project=root)
    said.write_text(prepared.out)
    subprocess.run(["ssh-keygen", "-Y", "sign", "-q", "-n", "backfill-approval", "-f", key, said], check=True)
    good = backfill("approve", plan, "--statement", str(said), "--signature", str(signature), project=root)
    assert good.code == 0, good.err
    promoted = backfill("promote", project=root)
    assert promoted.code == 0, promoted.out
    verified = backfill("verify", plan, project=root)
    assert verified.code == 0, verified.out
    assert place.control.environments.read("prod").pointers["daily"].version == place.project.fingerprints["daily"]
