"""Is a warehouse that the first release (4096d34) wrote read, and gone on with, without building or auditing again?

`fixtures/shop-4096d34.tar.xz` is a project of two models over a CSV source, made by that release: both promoted, then
`daily` edited and applied, not approved. No JVM is started here.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

from backfill_assets.adapters.reader import read_pointer
from backfill_assets.app.context import Context
from backfill_assets.app.faults import find_faults
from backfill_assets.app.plan import plan_request
from backfill_assets.app.routine import published_context
from backfill_assets.state.plans import PlanStatus
from backfill_assets_tests.projects import CHECKOUT, backfill_here, clean_environment

FIXTURE = CHECKOUT / "backfill_assets_tests" / "fixtures" / "shop-4096d34.tar.xz"
DAYS = "2024-01-01..2024-01-04"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project in a folder of its own. Whoever opens a Spark session here fails."""

    def none(_: object) -> Any:
        raise AssertionError("a session was asked for")

    monkeypatch.setattr(Context, "spark", property(none))
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def plan_of(root: Path) -> str:
    (plan,) = [p.id for p in Context.open(root).control.plans.all() if p.live]
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
        place = Context.open(shop)
        shown = place.control.environments.read("prod").pointers
        assert {n: str(p.covers) for n, p in shown.items()} == {"daily": DAYS, "totals": DAYS}
        published = published_context(place)
        assert plan_request(published).work == (), "what routine runs extend is complete, and green by its own audits"
        assert find_faults(place, place.facts()) == ()
        read = {name: read_pointer(pointer, place.warehouse).num_rows for name, pointer in shown.items()}
        assert read == {"daily": 8, "totals": 4}


def rows_shown(root: Path) -> dict[str, list[Any]]:
    """The rows of each pointer, read by DuckDB from the files that Delta's log names."""
    place, found = Context.open(root), dict[str, list[Any]]()
    for name, pointer in place.control.environments.read("prod").pointers.items():
        for segment in pointer.segments:
            table = DeltaTable(f"{place.warehouse}/{name}/{segment.version}", version=segment.commit)
            files = duckdb.from_arrow(table.to_pyarrow_table())
            found[name] = sorted(map(str, files.fetchall()))
    return found


def planned(root: Path) -> tuple[dict[str, str], list[str]]:
    """The category of each model, and what would be built."""
    made = backfill_here("plan", "--json", project=root).json
    return {n: c["category"] for n, c in made["changes"].items()}, [
        s["model"] for s in made["stages"] if s["stage"] == "build"
    ]


def test_nothing_is_built_again(shop: Path) -> None:
    """What did not change keeps its version, before `migrate` and after it; a change is one of its column."""
    before = rows_shown(shop)
    assert planned(shop) == ({"daily": "breaking", "totals": "unchanged"}, [])
    assert backfill_here("migrate", "--json", project=shop).json["unproved"] == []
    made = backfill_here("plan", "--json", project=shop).json
    assert made["changes"]["daily"]["columns"] == ["total"] and not made["changes"]["daily"]["rows"]
    assert planned(shop) == ({"daily": "breaking", "totals": "unchanged"}, [])
    daily = shop / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("sum(amount) * 2", "SUM( amount )"))
    assert planned(shop) == ({"daily": "unchanged", "totals": "unchanged"}, [])
    assert rows_shown(shop) == before and all(before.values())
    assert backfill_here("doctor", "--deep", project=shop).code == 0


KILLED = """\
import os, signal, sys
from backfill_assets.adapters import accepting
from backfill_assets.state.versions import Versions
where, name, after = {"accepting": accepting, "versions": Versions}[sys.argv[1]], sys.argv[2], sys.argv[3] == "after"
real = getattr(where, name)
def dies(*args, **kwargs):
    if after:
        real(*args, **kwargs)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(where, name, dies)
from backfill_assets.cli import main
sys.argv = ["backfill", "migrate"]
main()
"""
POINTS = [
    ("accepting", "write_identity", "before"), ("accepting", "write_identity", "after"),
    ("accepting", "write_memory", "after"), ("versions", "sign_again", "before"), ("versions", "sign_again", "after"),
]  # fmt: skip


def test_killed_in_the_middle(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """kill -9 before and after each thing that `migrate` writes: the next one ends where one that lived ended."""
    roots = [Path(shutil.copytree(shop, tmp_path_factory.mktemp("killed") / "shop")) for _ in POINTS]
    before = rows_shown(shop)
    for root, point in zip(roots, POINTS, strict=True):
        environment = clean_environment() | {"BACKFILL_PROJECT": str(root)}
        died = subprocess.run([sys.executable, "-c", KILLED, *point], env=environment, capture_output=True, text=True)
        assert died.returncode == -signal.SIGKILL, died.stderr
        assert backfill_here("migrate", "--json", project=root).json["unproved"] == []
        assert planned(root) == ({"daily": "breaking", "totals": "unchanged"}, [])
        assert rows_shown(root) == before
        table = DeltaTable(f"{Context.open(root).warehouse}/_control/versions").to_pyarrow_table()
        assert table.num_rows == 6, "three versions, each signed again once"


def test_what_cannot_be_proved_is_said(shop: Path) -> None:
    """With other sources than then nothing says that its rows are the code's: `migrate` and `plan` say so, model by
    model, and need the owner. It is proved when they are back, or kept by the author's word, which is tried on data."""
    sources = shop / "sources.yml"
    then = sources.read_text()
    sources.write_text(then.replace("amount: double", "amount: float"))
    said = backfill_here("migrate", "--json", project=shop).json["unproved"]
    assert [(u["model"], "sources.yml (raw.events)" in u["why"]) for u in said] == [
        ("daily", True), ("daily", True), ("totals", True),
    ]  # fmt: skip
    assert "backfill migrate" in said[2]["fix"] and "same_as" in said[2]["fix"]
    made = backfill_here("plan", "--json", project=shop).json
    for name in ("daily", "totals"):
        assert made["changes"][name]["category"] == "breaking"
        assert any(
            "nothing proves that" in why and "`backfill migrate`" in why for why in made["changes"][name]["because"]
        )
    assert [s["owners"][0]["owner"] for s in made["stages"] if s["stage"] == "approve"] == ["ana@example.com"]

    totals = shop / "models" / "totals.sql"
    text = totals.read_text()
    word = said[2]["fix"].partition("models/totals.sql: ")[2].partition("; else")[0].replace("…", "only the type moved")
    totals.write_text(text.replace("grain: [ds]\n", f"grain: [ds]\n{word}\n"))
    made = backfill_here("plan", "--json", project=shop).json
    assert made["changes"]["totals"]["category"] == "unchanged"
    assert [o["model"] for o in made["overrides"]] == ["totals"]
    assert [t["model"] for t in made["texts"]] == ["totals"], "five intervals of it are computed and compared"
    assert [u["model"] for u in backfill_here("migrate", "--json", project=shop).json["unproved"]] == ["daily", "daily"]

    totals.write_text(text)
    sources.write_text(then)
    assert backfill_here("migrate", "--json", project=shop).json["unproved"] == []
    assert planned(shop) == ({"daily": "breaking", "totals": "unchanged"}, [])


def test_writing_waits_for_migrate_and_goes_on(shop: Path) -> None:
    """Before it nothing is written, and it is named; after it the plan of then is there, and can be ended."""
    plan = plan_of(shop)
    refused = backfill_here("abandon", plan, project=shop)
    assert refused.code == 1 and "backfill migrate" in refused.err
    assert backfill_here("migrate", project=shop).code == 0
    assert Context.open(shop).control.plans.all()[-1].status is PlanStatus.APPLIED
    closed = backfill_here("promote", "--json", project=shop)
    assert closed.code == 4 and closed.json["in_the_way"]
    assert backfill_here("abandon", plan, project=shop).code == 0
