"""What do all tests share? One Spark session, opened by the first test that needs it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from backfill_assets_tests.projects import an_environment

if TYPE_CHECKING:
    import dagster as dg
    from pyspark.sql import SparkSession


# How long an example takes says more of the machine than of the code.
settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")


def pytest_configure() -> None:
    """A shell starts what it runs in the background with Ctrl-C ignored, for all its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One cache for the projects of all tests: a Python model that is compiled once is compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BACKFILL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def no_jvm(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that opens a session is marked `spark`: the others take no time, and leave nothing to each other."""
    before = _has_jvm()
    yield
    opened = _has_jvm() and not before
    assert not opened or request.node.get_closest_marker("spark"), (
        "it opened a Spark session, and is not marked `spark`"
    )


def _has_jvm() -> bool:
    context = sys.modules.get("pyspark.core.context")
    return context is not None and context.SparkContext._gateway is not None


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session that the project itself would open, in a folder of its own."""
    from backfill_assets.adapters.session import spark_session
    from backfill_assets.core.settings import Settings

    root = tmp_path_factory.mktemp("session")
    before = os.environ.get("SPARK_CONF_DIR")
    spark = {
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
    }
    settings = Settings(warehouse=str(root), spark=spark)
    session = spark_session(root, settings, long=True)
    if before is None:
        os.environ.pop("SPARK_CONF_DIR", None)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dagster's records before the first of them: making their tables takes as long as a test."""
    import dagster as dg

    folder = tmp_path_factory.mktemp("records")
    with dg.instance_for_test(temp_dir=str(folder)):
        return folder


@pytest.fixture
def instance(records: Path, tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """Dagster's records, in the folder of the test."""
    import dagster as dg

    shutil.copytree(records, tmp_path, dirs_exist_ok=True)
    with dg.instance_for_test(temp_dir=str(tmp_path)) as found:
        yield found


@pytest.fixture
def environment() -> str:
    """An environment's name that no other test uses."""
    return an_environment()
