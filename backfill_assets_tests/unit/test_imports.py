"""What makes planning quick: what takes long to import is not imported before it is needed."""

from __future__ import annotations

import subprocess
import sys

SLOW = ("sqlglot", "pydantic", "yaml", "pandas", "pyspark", "dagster")


def test_planning_imports_nothing_slow() -> None:
    """The command and the workspace, in a fresh interpreter: a project that is in the cache needs none of these."""
    text = (
        "import sys, backfill_assets.cli, backfill_assets.adapters.workspace, backfill_assets.cli.render\n"
        f"print([name for name in {SLOW} if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
