"""A copy of the demo is a project like any other, which another call goes on with."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.cli.demo import MARK, copy_demo
from backfill_assets.core.errors import PlanError, SettingsError
from backfill_assets.demo.generate import generate
from backfill_assets.project.settings import EMBEDDED_PROJECT


def test_a_copy_is_planned_from_its_own_data(tmp_path: Path) -> None:
    """Its models, sources and settings; nothing is read or written elsewhere."""
    folder = copy_demo(tmp_path / "mine")
    generate(folder / ".backfill" / "data", events=10_000, days=20)
    place = Context.open(folder)
    assert place.project.models.keys() == {"campaign_performance", "campaign_trends_monthly", "roi_analysis"}
    assert place.warehouse.startswith(str(folder))
    assert {stage.model for stage in plan_request(place).work} >= {"campaign_performance", "roi_analysis"}
    assert (folder / ".gitignore").read_text().splitlines()[1] == ".backfill/"


def test_what_was_edited_stays(tmp_path: Path) -> None:
    folder = copy_demo(tmp_path)
    file = folder / "models" / "campaign_performance.sql"
    file.write_text("edited")
    assert copy_demo(tmp_path) == folder and file.read_text() == "edited"


@pytest.mark.parametrize("name", ["notes.txt", "backfill.yml"])
def test_another_folder_is_not_touched(tmp_path: Path, name: str) -> None:
    """Neither somebody's files, nor a copy that was killed before it was whole."""
    (tmp_path / name).write_text("mine")
    with pytest.raises(SettingsError, match="is not empty"):
        copy_demo(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="cannot be copied"):
        copy_demo(tmp_path / "file" / "below")
    assert not (EMBEDDED_PROJECT / MARK).exists()


def test_the_embedded_demo_without_data_says_how_to_make_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are in the package, where nobody should correct a path."""
    monkeypatch.setenv("BACKFILL_CACHE", str(tmp_path / "cache"))  # no other test has read the demo into it
    monkeypatch.setattr("backfill_assets.project.settings.state_root", lambda _: tmp_path)
    monkeypatch.setattr("backfill_assets.project.sources.state_root", lambda _: tmp_path, raising=False)
    with pytest.raises(PlanError) as raised:
        plan_request(Context.open(EMBEDDED_PROJECT))
    assert "`backfill demo` makes" in raised.value.fix and "sources.yml" not in raised.value.fix
