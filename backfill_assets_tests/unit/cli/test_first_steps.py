"""What does a newcomer type next? What `init` says works from the folder that it was called in."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.cli.init import init_project


@pytest.mark.parametrize(("folder", "enter"), [("shop", "cd shop, "), ("my shop", "cd 'my shop', "), (".", "")])
def test_the_next_step_after_init(
    folder: str, enter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Into the folder, if it is another: all that later commands propose acts on the project around them."""
    monkeypatch.chdir(tmp_path)
    init_project(Path(folder))
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == f"Next: {enter}backfill plan, then backfill apply --promote"
