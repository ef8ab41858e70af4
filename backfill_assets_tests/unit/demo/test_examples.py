"""The worked examples are projects without problems, before and after their change, on data that never varies."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from backfill_assets.app.new_project import make_project
from backfill_assets.core.errors import SettingsError
from backfill_assets.demo.examples.data import EXAMPLES, write_data
from backfill_assets.plan.category import change_between
from backfill_assets.project.loader import load_project

CHANGES = {
    "events": "additive, non-breaking: adds session_length_sec",
    "fact_orders_daily": "breaking: rows may differ; adds cost, gross_profit, gross_margin",
    "customer_days": "breaking: paid may differ",
    "fact_order_items": "unchanged",
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_a_project_and_its_change_is_one_model(example: str, tmp_path: Path) -> None:
    """`backfill init --example` makes a project whose one model merges on its key; what is in `change/` makes of it the
    change that its README speaks of."""
    make_project(tmp_path, example)
    before = load_project(tmp_path)
    shutil.copytree(tmp_path / "change", tmp_path, dirs_exist_ok=True)
    after = load_project(tmp_path)
    assert set(before.models) == set(after.models) == {example}
    assert before.models[example].write == after.models[example].write == "merge"
    assert str(change_between(before.signatures[example], after.signatures[example])) == CHANGES[example]


@pytest.mark.parametrize("example", EXAMPLES)
def test_data_is_the_same_every_time(example: str, tmp_path: Path) -> None:
    """Two runs write the same files, of less than a megabyte."""
    contents: list[dict[str, bytes]] = []
    for name in ("one", "two"):
        write_data(example, tmp_path / name)
        files = [p for p in (tmp_path / name).rglob("*") if p.is_file()]
        contents.append({str(p.relative_to(tmp_path / name)): p.read_bytes() for p in files})
    assert contents[0] == contents[1]
    assert 0 < sum(map(len, contents[0].values())) < 1_000_000


def test_an_unknown_example_is_refused(tmp_path: Path) -> None:
    """The error says which there are; the folder stays empty."""
    with pytest.raises(SettingsError, match="no example nothing") as refused:
        make_project(tmp_path, "nothing")
    assert "fact_order_items" in refused.value.why and not list(tmp_path.iterdir())
