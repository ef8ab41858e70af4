"""Settings of Spark's configuration that decide rows: a plan and a session say that no version has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backfill_assets.adapters.machine import check_versioned, session_conf
from backfill_assets.adapters.session import check_machine, spark_session
from backfill_assets.core.errors import SettingsError
from backfill_assets.core.settings import Settings
from backfill_assets_tests.projects import backfill_here, small_project

ANSI = "spark.sql.ansi.enabled"
OWN = f"# ours\nspark.master local[2]\nspark.sql.shuffle.partitions 4\n{ANSI}  false\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An account's configuration."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(OWN)
    return tmp_path / "conf"


def test_no_session_is_opened(folder: Path, tmp_path: Path) -> None:
    """Before any JVM; the line is named, and what to do."""
    for opening in (check_machine, spark_session):
        with pytest.raises(SettingsError) as refused:
            opening(tmp_path, Settings(warehouse=str(tmp_path)))
        assert refused.value.what.startswith(f"{folder}/spark-defaults.conf:4 sets {ANSI}: that can change results")
        assert "below `spark:` in backfill.yml" in refused.value.fix


@pytest.mark.parametrize(
    ("text", "own"),
    [
        (OWN, {ANSI: "false"}),
        (OWN, {ANSI: "true"}),
        (OWN.replace("false", "TRUE"), {}),
        ("spark.sql.session.timeZone Asia/Tokyo\nspark.sql.catalog.lake a.B\nspark.hadoop.x y\n", {}),
    ],
    ids=["the project says it", "the project goes before it", "as it is anyway", "decides none, or is set by us"],
)
def test_what_versions_know_is_fine(folder: Path, tmp_path: Path, text: str, own: dict[str, str]) -> None:
    (folder / "spark-defaults.conf").write_text(text)
    settings = Settings(warehouse=str(tmp_path), spark=own)
    check_versioned(session_conf(tmp_path, settings), settings)


def test_plans_say_it(folder: Path, tmp_path: Path) -> None:
    """They open no session, and are what people read first."""
    project = small_project(tmp_path / "p", days=2)
    said = backfill_here("plan", project=project)
    assert f"Nothing can be built. {folder}/spark-defaults.conf:4 sets {ANSI}" in " ".join(said.out.split())
    assert said.out.splitlines()[-1] == "Next: mend Spark's configuration as said above, then plan again"
    machine = backfill_here("plan", "--json", project=project)
    assert json.loads(machine.out)["next"] == {"step": "configuration", "command": ""}
