"""How-to pages and the runbook, played as they are written: their commands in order, where each of them begins."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from backfill_assets.app.context import Context
from backfill_assets_tests.pages import blocks, commands, shell
from backfill_assets_tests.projects import (
    DAILY,
    Said,
    backfill,
    backfill_here,
    newest_plan,
    release_id,
    waiting_rules,
    write_events,
    write_project,
)

pytestmark = pytest.mark.spark

PLANS, RULES, RELEASE = ("1f3a9c02", "PLAN"), "rules-3abaa0b766d5", "RELEASE"
"""What the pages call the newest plan, the change of the rules that waits, and where a rollback goes."""
SERVES = "review"
"""The one command of these pages that serves until it is stopped."""
MAY_SAY = {"watch": 3, "preflight": 3, "rules": 4}
"""Exit codes beside 0: something was found, a change of the rules waits."""
ANA = "ana@example.com"


def play(page: str, project: Path) -> list[tuple[str, Said]]:
    """What each command of a page said. None fails."""
    played: list[tuple[str, Said]] = []
    for words in (command for block in shell(f"docs/{page}.md") for command in commands(block)):
        program, *arguments = words
        assert program == "backfill"
        if SERVES in arguments:
            continue
        given = [named(argument, project) for argument in arguments]
        said = backfill_here(*given, project=project, user="ana" if given[0] == "approve" else "dev")
        assert said.code in (0, MAY_SAY.get(arguments[0])), (words, said)
        played.append((" ".join(words), said))
    assert played, "the page has commands"
    return played


def named(argument: str, project: Path) -> str:
    """What stands for an argument of a page in this project."""
    if argument in PLANS:
        return newest_plan(project)
    if argument == RELEASE:
        return release_id(project, -2)
    return waiting_rules(project) if argument == RULES else argument


def shown(project: Path) -> list[list[object]]:
    """What the environment shows of `daily_sales`: day, kind, rows, total."""
    environment = Context.open(project).environment
    said = backfill_here("sql", f"SELECT * FROM {environment}.daily_sales ORDER BY 1, 2", "--json", project=project)
    return [list(row.values()) for row in said.json]


def test_how_to_pages(tmp_path: Path, environment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Published days are computed again, prod goes back and forth, a change is approved, late data is followed."""
    write_events(tmp_path, days=5)
    header = DAILY.format(batch_size=5, batch_concurrency=1)
    write_project(tmp_path, {"daily_sales.sql": header}, clock="2024-01-06", environment=environment)
    settings = tmp_path / "backfill.yml"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"people": {ANA: {"accounts": ["ana"]}}}))
    assert backfill_here("apply", "--promote", project=tmp_path, user="dev").code == 0
    first = shown(tmp_path)

    repaired = tmp_path / "data" / "events" / "2024-01-03.csv"
    repaired.write_text(repaired.read_text().replace(",a,", ",b,", 1))
    play("how-to/restate", tmp_path)
    restated = shown(tmp_path)
    assert [row[0] for row in first if row not in restated] == ["2024-01-03"] * 2, "prod shows the repaired day"

    said = dict(play("how-to/roll-back", tmp_path))
    assert "restate" in said["backfill releases"].out or "2024-01-03" in said["backfill releases"].out
    assert shown(tmp_path) == first, "back, once"
    undo = re.search(r"To undo it: backfill rollback (\S+)", said["backfill rollback"].out)
    assert undo is not None and "was rolled back already" in said["backfill rollback --now"].out
    assert backfill_here("rollback", undo[1], project=tmp_path, user="dev").code == 0
    assert shown(tmp_path) == restated, "and forth again"

    model = tmp_path / "models" / "daily_sales.sql"
    model.write_text(model.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    assert backfill_here("apply", project=tmp_path, user="dev").code == 0
    play("how-to/approve", tmp_path)
    assert [row[2] for row in shown(tmp_path)] == [int(str(row[2])) + 1 for row in restated]

    sources = tmp_path / "sources.yml"
    [settle] = [b.text for b in blocks() if b.where.startswith("docs/how-to/late-data.md:") and b.language == "yaml"]
    sources.write_text(f"{sources.read_text()}    {settle}")
    for day in (6, 7):  # the window holds for what ends after the first release under it
        write_events(tmp_path, first=f"2024-01-{day:02}", days=1)
        settings.write_text(settings.read_text().replace(f"2024-01-{day:02}", f"2024-01-{day + 1:02}"))
        if day == 6:
            play("how-to/late-data", tmp_path)
        else:
            assert backfill_here("routine", project=tmp_path).code == 0
        assert shown(tmp_path)[-1][0] == f"2024-01-{day:02}", "the routine published the new day"
    assert "provisional" in backfill_here("status", project=tmp_path).out

    reads = [b.text for b in blocks() if b.language == "python" and 'backfill_assets.read("campaign' in b.text]
    assert len(reads) == 2
    monkeypatch.setenv("BACKFILL_PROJECT", str(tmp_path))
    for text in reads:  # of a model that is there
        here = text.replace("campaign_performance", "daily_sales").replace("2025-06-01", "2024-01-01")
        names: dict[str, Any] = {}
        exec(here.replace('"prod"', repr(environment)), names)
        if table := names.get("table"):
            assert table.num_rows == len(shown(tmp_path))
            assert names["spark"].table(f"{environment}.daily_sales").count() == table.num_rows

    before = shown(tmp_path)
    model.write_text(model.read_text().replace("count(*) + 1 AS n", "count(*) + 2 AS n"))
    said = dict(play("runbook", tmp_path))
    assert "14 changed" in said["backfill diff PLAN"].out and shown(tmp_path) == before, "switched, and back"

    [ci] = [words for b in blocks() if b.where.startswith("docs/how-to/ci.md:") for words in commands(b)]
    comment = backfill(*ci[1:], project=tmp_path)
    assert comment.code == 0 and comment.out.startswith("#"), comment
