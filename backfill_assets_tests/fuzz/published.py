"""The last large runs, as docs/categories.md tells them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RUNS = Path(__file__).parent / "last_runs.json"
"""What `--out` wrote, one run after the other."""


def table() -> str:
    """A Markdown table of the runs."""
    head = [
        "engine",
        "seed",
        "edits",
        "said of models",
        "untrue",
        "crashes",
        "equal: rows may differ",
        "columns may differ",
    ]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    runs: list[dict[str, Any]] = json.loads(RUNS.read_text(encoding="utf-8"))
    for run in runs:
        said = ", ".join(f"{n:,} {claim}" for claim, n in run["claims"].items())
        shares = [_share(run, claim) for claim in ("rows", "columns")]
        cells = [run["engine"], run["seed"], f"{run['edits']:,}", said, run["untrue"], run["crashes"], *shares]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def _share(run: dict[str, Any], claim: str) -> str:
    return f"{100 * run['needless'].get(claim, 0) / max(run['careful'].get(claim, 0), 1):.0f} %"
