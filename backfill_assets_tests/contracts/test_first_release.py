"""Is a warehouse that the first release (4096d34) wrote read, and gone on with, without building or auditing again?

`fixtures/shop-4096d34.tar.xz` is a project of two models over a CSV source, made by that release: both promoted, then
`daily` edited and applied, not approved. No JVM is started here.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest

from backfill_assets.adapters.reader import read_pointer
from backfill_assets.adapters.workspace import Workspace
from backfill_assets.state.plans import Status
from backfill_assets_tests.projects import CHECKOUT, backfill_here

FIXTURE = CHECKOUT / "backfill_assets_tests" / "fixtures" / "shop-4096d34.tar.xz"
DAYS = "2024-01-01..2024-01-04"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project in a folder of its own. Whoever opens a Spark session here fails."""

    def none(_: object) -> Any:
        raise AssertionError("a session was asked for")

    monkeypatch.setattr(Workspace, "spark", property(none))
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def plan_of(root: Path) -> str:
    (plan,) = [p.id for p in Workspace.open(root).control.plans.all() if p.live]
    return plan


READING = (
    ("plan",), ("status",), ("watch",), ("plans",), ("releases",), ("preflight",), ("lineage", "totals.n"), ("rules",),
    ("warehouse",), ("verify", "--all"), ("doctor", "--deep"), ("janitor",), ("consumers",),
)  # fmt: skip


def test_every_reading_command_works_before_and_after(shop: Path) -> None:
    """Each says the same of what is shown after `migrate` as before: nothing of that is built, or audited, again."""
    for migrated in (False, True):
        if migrated:
            assert backfill_here("migrate", project=shop).code == 0
            assert "nothing to do" in backfill_here("migrate", project=shop).out
        for command in READING:
            said = backfill_here(*command, project=shop)
            assert said.code in (0, 3, 4) and "Traceback" not in said.err, (migrated, command, said)
        place = Workspace.open(shop)
        shown = place.control.environments.read("prod").pointers
        assert {n: str(p.covers) for n, p in shown.items()} == {"daily": DAYS, "totals": DAYS}
        published = place.published()
        assert published.plan().work == (), "what routine runs extend is complete, and green by its own audits"
        assert place.faults() == ()
        read = {name: read_pointer(pointer, place.warehouse).num_rows for name, pointer in shown.items()}
        assert read == {"daily": 8, "totals": 4}


def test_what_cannot_be_proved_is_said(shop: Path) -> None:
    """Its records lack the models' files (decisions/0030), so no code of now is proved to be theirs: the plan says so,
    model by model, and needs the owner; it never takes them for the same, nor writes over them."""
    assert backfill_here("migrate", project=shop).code == 0
    made = backfill_here("plan", "--json", project=shop).json
    for name in ("daily", "totals"):
        assert made["changes"][name]["category"] == "breaking"
        assert any("nothing proves that" in why for why in made["changes"][name]["because"])
    assert [s["owners"][0]["owner"] for s in made["stages"] if s["stage"] == "approve"] == ["ana@example.com"]


def test_writing_waits_for_migrate_and_goes_on(shop: Path) -> None:
    """Before it nothing is written, and it is named; after it the plan of then is there, and can be ended."""
    plan = plan_of(shop)
    refused = backfill_here("abandon", plan, project=shop)
    assert refused.code == 1 and "backfill migrate" in refused.err
    assert backfill_here("migrate", project=shop).code == 0
    assert Workspace.open(shop).control.plans.all()[-1].status is Status.APPLIED
    closed = backfill_here("promote", "--json", project=shop)
    assert closed.code == 4 and closed.json["in_the_way"]
    assert backfill_here("abandon", plan, project=shop).code == 0
