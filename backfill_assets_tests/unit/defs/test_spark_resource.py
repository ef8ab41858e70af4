"""Do a user's own assets share the engine's Spark session, and does nothing open it before one of them asks?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from dagster_pyspark import LazyPySparkResource

from backfill_assets.app.context import Context
from backfill_assets.defs.build_definitions import build_definitions
from backfill_assets_tests.projects import small_project


def test_an_asset_beside_the_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance
) -> None:
    """It declares dagster-pyspark's resource, and gets the session of the workspace: not before it asks for it."""
    opened: list[Context] = []

    class Session:
        sparkContext = "its context"

    def open_session(place: Context) -> Session:
        opened.append(place)
        return session

    session = Session()
    monkeypatch.setattr(Context, "spark", property(open_session))
    seen: list[object] = []

    def mine(pyspark: LazyPySparkResource) -> None:
        assert not opened
        seen.extend([pyspark.spark_session, pyspark.spark_context])

    ours = build_definitions(small_project(tmp_path / "shop", days=2))
    both = dg.Definitions.merge(ours, dg.Definitions(assets=[dg.asset(mine)]))
    job = both.resolve_implicit_global_asset_job_def().get_subset(asset_selection={dg.AssetKey("mine")})
    assert job.execute_in_process(instance=instance).success
    assert seen == [session, "its context"] and opened


def test_loading_imports_no_spark(tmp_path: Path) -> None:
    """The code location has the resource, and loads without dagster-pyspark and py4j."""
    root = small_project(tmp_path / "shop", days=2)
    code = (
        "import sys\n"
        "from backfill_assets.defs.build_definitions import build_definitions\n"
        f"assert 'pyspark' in build_definitions({str(root)!r}).resources\n"
        "assert not {'dagster_pyspark', 'py4j'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
