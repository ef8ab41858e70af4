"""What is said where Spark's JVM dies while rows are compared? That, not what the broken connection raised."""

from __future__ import annotations

from pathlib import Path

import pyspark  # noqa: F401  (a process that has no Spark has none to lose)
import pytest

from backfill_assets.adapters import spark_errors
from backfill_assets.app import apply as applying
from backfill_assets.app.engine_death import engine_death, telling_of_death
from backfill_assets.app.plan import plan_request
from backfill_assets.cli.app import _end  # pyright: ignore[reportPrivateUsage]
from backfill_assets.core.errors import EngineDiedError
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import unsparked


def broken(*_: object) -> None:
    raise ConnectionRefusedError(111, "Connection refused")


def test_a_death_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever came of it; not where the JVM answers."""
    with pytest.raises(ConnectionRefusedError), telling_of_death("compare"):
        broken()
    assert engine_death(ConnectionRefusedError(), "compare") is None
    monkeypatch.setattr(spark_errors, "jvm_answers", lambda _=None: False)
    with pytest.raises(EngineDiedError, match="cannot compare: Spark's JVM died"), telling_of_death("compare"):
        broken()
    assert engine_death(KeyError("x"), "compare") is None, "that is ours, whatever became of the JVM"


def test_what_is_built_stays_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An apply whose comparison broke off says that it was not compared, and how to go on."""
    place = unsparked(small_project(tmp_path, days=2))
    monkeypatch.setattr(spark_errors, "jvm_answers", lambda _=None: False)
    monkeypatch.setattr(applying, "prove_built", broken)
    found = applying.check_rows(place, plan_request(place), "a plan", place.facts())
    assert isinstance(found.unproved, EngineDiedError) and not found.proved.proofs
    assert "cannot compare what was built" in found.unproved.what and "run the same command again" in (
        found.unproved.fix or ""
    )


def test_any_command_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """No crash report: nothing of the program is to blame."""
    monkeypatch.setattr(spark_errors, "jvm_answers", lambda _=None: False)
    with pytest.raises(SystemExit) as ended:
        _end(ConnectionRefusedError(111, "Connection refused"))
    assert ended.value.code == EngineDiedError.exit_code
    said = " ".join(capsys.readouterr().err.split())
    assert "cannot go on: Spark's JVM died" in said and "unexpected" not in said
