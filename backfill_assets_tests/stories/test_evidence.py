"""A change leaves evidence that a business owner can read, that a machine can check, and that nobody can bend (E1, E2,
E5)."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

from backfill_assets.app.context import Context
from backfill_assets_tests.projects import Said, backfill, say_yes, small_project
from backfill_assets_tests.projects import backfill_here as here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def told(said: Said) -> list[str]:
    """What a failed verification complains about."""
    assert said.code == 1, said
    return said.json["problems"]


def test_change_apply_evidence_verify(spark: SparkSession, tmp_path: Path) -> None:
    """Change a formula, apply, look at the packet, verify, tamper with packet and table, be told; then promote."""
    project = small_project(tmp_path / "shop", days=4, batch_size=2)
    assert here("evidence", project=project).code == 1
    assert here("apply", "--promote", project=project).code == 0
    first_packet = here("evidence", "--json", project=project)
    assert first_packet.code == 0 and not first_packet.json["changed"], "the promotion wrote it before it moved prod"
    daily = project / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("sum(amount) AS total", "sum(abs(amount)) AS total"))
    applied = here("apply", "--json", project=project)
    assert applied.code == 0, applied.err
    plan = applied.json["plan"]["id"]

    made = here("evidence", "--json", project=project)
    assert made.code == 0, made.err
    assert made.json["plan"] == plan and made.json["changed"]
    folder = Path(made.json["location"])
    packet = json.loads((folder / "packet.json").read_text())
    jsonschema.validate(packet, json.loads((files("backfill_assets.evidence") / "packet.schema.json").read_text()))
    assert {m["model"]: (m["kind"], m["ranges"]["count"]) for m in packet["models"]} == {
        "daily": ("changed", 4),
        "running": ("changed", 4),
    }
    first = packet["models"][0]
    assert "-SELECT" in first["code"]["diff"] and "sum(abs(amount))" in first["code"]["new"]
    assert [c["what"] for c in first["columns"] if c["name"] == "total"] == ["values"]
    assert sum(b["rows"] for b in first["batches"]) == 8 and {b["commit"] for b in first["batches"]} == {1, 2}
    assert [s["name"] for s in packet["sources"]] == ["raw.events"]
    assert packet["rollback"]["to"][0]["segments"][0]["commit"] == 2
    shown = here("evidence", plan[:5], project=project)
    for words in (
        "From 1 to 4 January 2024, 4 days of daily were computed again",
        "No acceptance is recorded",
        "There",
    ):
        assert words in shown.out, shown
    assert here("evidence", "--json", project=project).json["digest"] == made.json["digest"]

    whole = here("verify", "--json", project=project)
    assert whole.code == 0 and whole.json["tables"] == 2 and whole.json["data_files"] == whole.json["hashed"] == 8, (
        whole
    )
    away = Path(shutil.copytree(folder, tmp_path / "mail" / plan))
    alone = backfill("verify", away, cwd=tmp_path)
    assert alone.code == 0 and "no warehouse is around" in alone.out, alone

    note = away / "release_note.md"
    note.write_text(note.read_text().replace("4 days", "5 days", 1))
    assert told(backfill("verify", "--json", away)) == [
        "release_note.md was changed: it is not what manifest.json says"
    ]
    table = folder.parent.parent / "daily" / first["version"]
    rows = next(table.rglob("*.parquet"))
    there = rows.read_bytes()
    rows.write_bytes(there[:-9] + bytes([there[-9] ^ 1]) + there[-8:])
    assert told(here("verify", plan, "--json", project=project)) == [
        f"file daily/{first['version']}/{rows.relative_to(table)} was changed"
    ]
    rows.write_bytes(there)

    say_yes(Context.open(project), plan)
    assert here("promote", project=project).code == 0
    sealed = here("evidence", plan, "--json", project=project)
    assert sealed.code == 0 and not sealed.json["changed"], sealed
    assert "just before prod was switched to it" in " ".join(sealed.json["summary"]["mind"])
    again = here("verify", "--json", plan, project=project)
    assert again.code == 0 and again.json["tables"] == 2, again
    (folder / "packet.html").write_text("nothing to see")
    assert here("evidence", plan, project=project).code == 1
    refused = here("verify", plan, project=project)
    assert refused.code == 1 and "packet.html was changed" in refused.out
