"""docs/how-to/dimension.md, as it stands: its source, its model and its command, over files; no JVM."""

from __future__ import annotations

from pathlib import Path

from backfill_assets.app.context import Context
from backfill_assets.state.ledger import Kind
from backfill_assets_tests.pages import blocks, commands
from backfill_assets_tests.projects import backfill_here, write_project
from backfill_assets_tests.unsparked import extend, promoted, unsparked

PAGE = [block for block in blocks() if block.where.startswith("docs/how-to/dimension.md:")]


def text_of(language: str) -> str:
    [block] = [block for block in PAGE if block.language == language]
    return block.text


def write(root: Path, *, days: int, region: str) -> None:
    for day in range(1, days + 1):
        (root / "data" / "events").mkdir(parents=True, exist_ok=True)
        file = root / "data" / "events" / f"2024-01-{day:02}.csv"
        if not file.exists():
            file.write_text(f"id,at,amount\n1,2024-01-{day:02} 10:00:00,5\n")
    shops = f"id,region\n1,{region}\n"
    if not (root / "data" / "shops.csv").exists() or (root / "data" / "shops.csv").read_text() != shops:
        (root / "data" / "shops.csv").write_text(shops)
    write_project(root, {"sales.sql": text_of("sql")}, sources=text_of("yaml"), clock=f"2024-01-{days + 1:02}")


def read_of(place: Context) -> list[object]:
    """The states of the list that batches of the model read, oldest first."""
    entries = sorted(place.control.ledger.entries(["sales"]), key=lambda e: e.order)
    return [e.inputs["raw.shops"] for e in entries if e.inputs and e.kind is Kind.BUILT]


def test_as_the_page_says(tmp_path: Path) -> None:
    """The list changes: watch names all days as the page does, and only new days read the list of now."""
    write(tmp_path, days=4, region="north")
    promoted(tmp_path)
    write(tmp_path, days=4, region="south")
    console = text_of("console")
    [words] = list(commands(next(block for block in PAGE if block.language == "console")))
    said = backfill_here(*words[1:], project=tmp_path)
    *_, shown = console.strip().splitlines()
    assert shown in said.out.splitlines() and said.code == 0, said
    write(tmp_path, days=5, region="south")
    place = unsparked(tmp_path)
    assert extend(place) == ()
    *before, last = read_of(place)
    assert before and last not in before
