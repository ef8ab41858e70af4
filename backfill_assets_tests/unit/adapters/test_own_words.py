"""What a JVM says on standard error goes to a file; an end by a signal is said in our words only."""

from __future__ import annotations

import logging
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from backfill_assets.adapters import jvm
from backfill_assets.adapters.jvm import errors_reach_people_as_ours
from backfill_assets.cli.signals import listening


def start(words: str) -> None:
    """What PySpark does to start a JVM."""
    from pyspark import java_gateway

    gateway: Any = java_gateway
    gateway.Popen([sys.executable, "-c", f"import sys; sys.stderr.write({words!r})"]).wait()


def test_a_jvm_writes_to_its_file(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other, to the end; a file that is too long begins anew; afterwards the terminal is as it was."""
    log = tmp_path / "state" / "spark.log"
    for words in ("WARNING: incubator\\n", "WARN two\\n"):
        with jvm.own_words(log):
            start(words.replace("\\n", "\n"))
    assert log.read_text() == "WARNING: incubator\nWARN two\n" and log.stat().st_mode & 0o77 == 0
    monkeypatch.setattr(jvm, "MOST_WORDS", 5)
    with jvm.own_words(log):
        start("three")
    assert log.read_text() == "three" and capfd.readouterr().err == ""
    start("four")
    assert capfd.readouterr().err == "four" and log.read_text() == "three"


def test_where_no_file_can_be_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The terminal gets the words."""
    (tmp_path / "state").write_text("a file, not a folder")
    with jvm.own_words(tmp_path / "state" / "spark.log"):
        start("still said")
    assert capfd.readouterr().err == "still said"


def test_nothing_is_logged_once_a_signal_came(caplog: pytest.LogCaptureFixture) -> None:
    """py4j logs each call that its JVM does not answer any more; afterwards logs are written again."""
    with pytest.raises(KeyboardInterrupt), listening() as ending:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            logging.getLogger().error("Exception while sending command.")
    logging.getLogger().error("later")
    assert ending.code == 143 and [r.message for r in caplog.records] == ["later"]


def test_a_reset_connection_is_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    """py4j logs it through the root logger before it is raised; all else that is logged there is still said."""
    from py4j import java_gateway

    source = Path(java_gateway.__file__).read_text()
    assert source.count('"Exception while sending command."') >= 2, "py4j says it in other words: what is kept back?"
    errors_reach_people_as_ours()
    errors_reach_people_as_ours()
    root, heard = logging.getLogger(), logging.StreamHandler()
    root.addHandler(heard)
    try:
        logging.error("Exception while sending command.")
        logging.error("something else")
    finally:
        root.removeHandler(heard)
    said = capsys.readouterr().err
    assert "something else" in said and "sending command" not in said
    assert len([f for f in root.filters if getattr(f, "__name__", "") == "_said_anyway"]) == 1
