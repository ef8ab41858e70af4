"""What does a build say while it goes on, where nobody watches a terminal?"""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from backfill_assets.build.events import BatchDivided, BatchFailed
from backfill_assets.cli import progress
from backfill_assets_tests.fakes import days


def test_a_reason_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be read fails a batch and all its parts; another model, and another reason, are told again."""
    text = io.StringIO()
    monkeypatch.setattr(progress, "err", lambda: Console(file=text, soft_wrap=True))
    month, half, day = days("2024-01-01", "2024-01-30"), days("2024-01-01", "2024-01-15"), days("2024-01-01")
    with progress.live_progress(None) as tell:  # pyright: ignore[reportArgumentType]
        tell(BatchDivided(model="a", interval=month, error="cannot compute a of January\nwhy: 6.csv"))
        tell(BatchDivided(model="a", interval=half, error="cannot compute a of the first half\nwhy: 6.csv"))
        tell(BatchFailed(model="b", interval=day, intervals=1, error="cannot compute b\nwhy: 6.csv", again=False))
        tell(BatchFailed(model="a", interval=day, intervals=1, error="cannot compute a\nwhy: 7.csv", again=False))
    assert text.getvalue().count("why: 6.csv") == 2 and text.getvalue().count("why: 7.csv") == 1
    assert "a: 2024-01-01..2024-01-15 failed, trying its parts for the same reason" in text.getvalue()


def test_models_of_another_project_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each hundred in a log: two thousand models take minutes."""
    with progress.counting("models are looked at") as looked_at:
        for number in range(1, 251):
            looked_at(number, 250)
    assert capsys.readouterr().err == "100 of 250 models are looked at\n200 of 250 models are looked at\n"
