"""What makes planning quick: what takes long to import is not imported before it is needed."""

from __future__ import annotations

import subprocess
import sys

SLOW = ("sqlglot", "pydantic", "yaml", "pandas", "pyspark", "grpc", "dagster")


def test_planning_imports_nothing_slow() -> None:
    """The command and every use case, in a fresh interpreter: a project that is in the cache needs none of these."""
    text = (
        "import importlib, pkgutil, sys, backfill_assets.app as app, backfill_assets.cli.plan_text\n"
        "for m in pkgutil.iter_modules(app.__path__): importlib.import_module(f'{app.__name__}.{m.name}')\n"
        f"print([name for name in {SLOW} if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
