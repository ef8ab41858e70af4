"""Where do the benchmarks run the demo's models? In a copied project, with the data where its sources expect it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from backfill_assets.demo.generate import generate
from backfill_assets.project.settings import EMBEDDED_PROJECT

BACKFILL = Path(sys.executable).with_name("backfill")
MODELS = ("campaign_performance", "campaign_trends_monthly", "roi_analysis")


def make_data(folder: Path, events: int) -> Path:
    """The demo's raw tables (generated once a folder and size)."""
    target = folder / f"data-{events}"
    made = generate(target, events=events)
    print(f"data: {made.events:,} events, {made.conversions:,} conversions, {made.bytes / 1e6:,.0f} MB")
    return target


def make_project(folder: Path, data: Path) -> Path:
    """A copy of the embedded demo whose `.backfill/data` is a link to `data`: its files stay as they are written."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(EMBEDDED_PROJECT / "models", folder / "models", ignore=shutil.ignore_patterns("__pycache__"))
    for file in EMBEDDED_PROJECT.glob("*.yml"):
        shutil.copy(file, folder)
    (folder / ".backfill").mkdir()
    (folder / ".backfill" / "data").symlink_to(data.resolve(), target_is_directory=True)
    return folder


def environment(project: Path, warehouse: Path) -> dict[str, str]:
    """The variables under which a command works on this project and this warehouse. Bytecode is kept, as for anybody:
    images that forbid it make each command compile all that it imports, which takes a second or two."""
    mine = {k: v for k, v in os.environ.items() if not k.startswith(("BACKFILL_", "DAGSTER_"))}
    mine.pop("PYTHONDONTWRITEBYTECODE", None)
    return mine | {"BACKFILL_PROJECT": str(project), "BACKFILL_WAREHOUSE": str(warehouse.resolve())}
