"""A plan of a stranger's change executes none of its code and writes nothing."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from typer.testing import CliRunner

from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.cli.base import READING, app
from backfill_assets.core.errors import ProjectError, SettingsError, StateError
from backfill_assets.project.loader import load_project
from backfill_assets.project.records import Recorded
from backfill_assets.python_models import compiled as python_sql
from backfill_assets.state.versions import Version
from backfill_assets_tests.unit.project.helpers import PYTHON, project, sql

READER = sql("SELECT ds, roi FROM roi WHERE ds >= :start AND ds < :end")
SELECTING = PYTHON.replace("return events", "return events.selectExpr('ds', 'spend / 2 AS roi')").replace(
    "selectExpr('ds', 'spend / 2 AS roi')", "select('ds', (events.spend / 2).cast('double').alias('roi'))"
)


@pytest.fixture
def untrusted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("code of the project was executed")

    monkeypatch.setenv("BACKFILL_UNTRUSTED", "1")
    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(python_sql, "_read", refuse)


def with_data(root: Path) -> Path:
    rows = {
        "event_time": pa.array([datetime(2024, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC")),
        "campaign_id": [1], "channel": ["email"], "spend": pa.array([Decimal(1)], pa.decimal128(18, 4)),
    }  # fmt: skip
    write_deltalake(str(root / "data" / "ad_events"), pa.table(rows))
    return root


def test_an_unchanged_model_has_its_recorded_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told by the hash of its code: it and its readers keep their versions; one that changed is compared as a whole."""
    root = project(tmp_path, roi_py=SELECTING, reader_sql=READER)
    trusted = load_project(root)
    recorded = {
        (name, trusted.fingerprints[name]): Recorded(signature=s, cadence="daily", time_column="ds")
        for name, s in trusted.signatures.items()
        if name in trusted.models
    }
    monkeypatch.setenv("BACKFILL_UNTRUSTED", "1")
    monkeypatch.setattr(subprocess, "Popen", None)
    found = load_project(root, lambda _: recorded)
    assert found.fingerprints == trusted.fingerprints
    [warning] = found.warnings["roi"]
    assert "Python models were not executed: `roi` is compared as a whole" in warning.what
    (root / "models" / "roi.py").write_text(SELECTING.replace("/ 2", "/ 3"))
    changed = load_project(root, lambda _: recorded)
    assert changed.signatures["roi"].rows != trusted.signatures["roi"].rows
    assert changed.fingerprints["events"] == trusted.fingerprints["events"]


def test_a_cache_in_the_project_is_not_read(tmp_path: Path, untrusted: None) -> None:
    """Whatever a stranger put there."""
    (tmp_path / "backfill.yml").write_text("name: x\n")
    root = project(tmp_path, roi_py=SELECTING)
    place = Context.open(root)
    assert load_project(root).columns["roi"] and place.days.known is None and place.log._known is None
    assert not (root / ".backfill").exists()


def test_the_setting_says_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`untrusted: true` in backfill.yml; nothing in that file takes it back."""
    monkeypatch.setattr(subprocess, "Popen", None)
    root = project(tmp_path, roi_py=SELECTING, backfill="untrusted: true\n")
    assert load_project(root).settings.untrusted
    monkeypatch.setenv("BACKFILL_UNTRUSTED", "1")
    (root / "backfill.yml").write_text("untrusted: false\n")
    assert load_project(root).settings.untrusted


def test_nothing_is_recorded_and_no_session_is_opened(tmp_path: Path, untrusted: None) -> None:
    """Below every command: the records refuse a write, and there is no Spark."""
    place = Context.open(with_data(project(tmp_path, roi_py=SELECTING)))
    assert plan_request(place).work
    version = Version(
        model="m", version="v", upstream={}, columns=(), definition={}, created=datetime(2024, 1, 1, tzinfo=UTC)
    )
    with pytest.raises(StateError, match="nothing is recorded"):
        place.control.versions.put(version)
    with pytest.raises(SettingsError, match="no Spark session"):
        place.engine()


@pytest.mark.parametrize("command", ["apply", "promote", "routine", "sql", "shell", "approve", "janitor", "diff", "ui"])
def test_commands_that_do_something_are_refused(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before they look at anything."""
    monkeypatch.setenv("BACKFILL_UNTRUSTED", "")
    monkeypatch.setenv("BACKFILL_PROJECT", str(tmp_path))  # the CLI sets it for good
    assert command not in READING
    done = CliRunner().invoke(app, ["--project", str(tmp_path), "--untrusted", command])
    assert isinstance(done.exception, SettingsError) and f"`backfill {command}` is refused" in str(done.exception)


def test_plan_says_it(tmp_path: Path, untrusted: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its text."""
    root = with_data(project(tmp_path, roi_py=SELECTING))
    monkeypatch.setenv("BACKFILL_PROJECT", str(root))
    done = CliRunner().invoke(app, ["--untrusted", "plan", "--markdown"], catch_exceptions=False)
    assert done.exit_code == 0 and "Python models were not executed" in done.output


@pytest.mark.parametrize("name", ["sources.yml", "backfill.yml", "models/mine.sql", "models/mine.py"])
def test_links_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A stranger's link to a file of the machine: a message about it would tell of its content."""
    root = project(tmp_path / "project", roi_py=SELECTING)
    secret = tmp_path / "credentials"
    secret.write_text("[default]\naws_secret_access_key = hunter2\n")
    (root / name).unlink(missing_ok=True)
    (root / name).symlink_to(secret)
    monkeypatch.setenv("BACKFILL_UNTRUSTED", "1")
    with pytest.raises(ProjectError) as raised:
        load_project(root)
    assert "leads to another place" in str(raised.value) and "aws_secret" not in str(raised.value)


def test_doctor_leaves_nothing_in_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No home for Dagster either; of one's own project it makes one."""
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.setenv("BACKFILL_UNTRUSTED", "")  # the option sets it
    root = project(tmp_path / "p", backfill="name: p\n")

    def names(*options: str) -> set[str]:
        CliRunner().invoke(app, ["--project", str(root), *options, "doctor"], catch_exceptions=False)
        return {file.name for file in root.iterdir()} & {".dagster", ".env"}

    assert names("--untrusted") == set()
    monkeypatch.setenv("BACKFILL_UNTRUSTED", "")
    assert names() == {".dagster", ".env"}
