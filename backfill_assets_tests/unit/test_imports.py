"""What makes planning quick: what takes long to import is not imported before it is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


def test_a_warehouse_that_is_not_there_loads_no_arrow(tmp_path: Path) -> None:
    """A first plan finds that there is nothing: without Arrow and Delta, which are a fifth of the command."""
    text = (
        "import sys\n"
        "from backfill_assets.adapters.table_log import open_table\n"
        "from backfill_assets.adapters.warehouse import read_warehouse\n"
        f"assert read_warehouse({str(tmp_path / 'none')!r}).data is False\n"
        f"assert open_table({str(tmp_path / 'none')!r}) is None\n"
        "print([name for name in ('pyarrow', 'numpy', 'deltalake') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
