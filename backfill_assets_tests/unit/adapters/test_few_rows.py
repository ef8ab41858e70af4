"""Few rows are told from logs and sizes of files, before any session is asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from deltalake import write_deltalake

from backfill_assets.adapters import few_rows
from backfill_assets.adapters.few_rows import FEW, reads_few
from backfill_assets.build.engine import Input, Job, ModelInput, SourceInput
from backfill_assets.core.model import Source
from backfill_assets.core.segments import Segments
from backfill_assets.state.versions import table_path
from backfill_assets_tests.fakes import a_model, days


def reads(warehouse: Path, **inputs: Input) -> bool:
    return reads_few(Job(model=a_model("m"), version="v", inputs=inputs), str(warehouse))


def a_table(place: str, *commits: int) -> None:
    """A table, a commit of so many rows each."""
    for rows in commits:
        write_deltalake(
            place, pd.DataFrame({"ds": ["2024-01-01"] * rows, "n": range(rows)}), mode="append", partition_by=["ds"]
        )


def test_rows_of_tables_are_counted_at_their_commit(tmp_path: Path) -> None:
    """What was appended later is not read; two inputs count together."""
    a_table(table_path(str(tmp_path), "up", "v1"), FEW, 1)
    a_table(str(tmp_path / "orders"), FEW - 1, 2)
    source = Source(name="orders", format="delta", path=str(tmp_path / "orders"), file="sources.yml")

    def up(commit: int) -> ModelInput:
        return ModelInput(model=a_model("up"), version="v1", commit=commit)

    def orders(commit: int) -> SourceInput:
        return SourceInput(source=source, pin={"commit": commit})

    assert reads(tmp_path, up=up(0)) and not reads(tmp_path, up=up(1))
    assert reads(tmp_path, orders=orders(0)) and not reads(tmp_path, orders=orders(1))
    assert not reads(tmp_path, up=up(0), orders=orders(0))


@pytest.mark.parametrize(("lines", "few"), [(100, True), (20_000, False)])
def test_files_are_judged_by_their_size(tmp_path: Path, lines: int, *, few: bool) -> None:
    """A file of lines does not tell how many it has."""
    folder = tmp_path / "orders"
    folder.mkdir()
    (folder / "one.csv").write_text("id,amount\n" + "1234,56.78\n" * lines)
    source = Source(name="orders", format="csv", path=str(folder), file="sources.yml")
    assert reads(tmp_path, orders=SourceInput(source=source, pin={"files": "x"})) is few


def test_what_only_spark_can_look_into_has_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of a catalog, files in a store without S3's protocol."""
    monkeypatch.setattr(few_rows, "files_at", pytest.fail)
    for source in (
        Source(name="o", format="table", table="db.o", file="sources.yml"),
        Source(name="o", format="csv", path="gs://b/o", file="sources.yml"),
    ):
        assert not reads(tmp_path, o=SourceInput(source=source, pin={}))


def test_what_is_copied_or_shown_counts(tmp_path: Path) -> None:
    """A job without inputs copies any number of rows, or judges them; what a batch made of few may be many by now. A
    table that is gone is for whoever reads it to tell."""
    a_table(table_path(str(tmp_path), "up", "v1"), 1)
    a_table(table_path(str(tmp_path), "m", "v0"), 2, FEW)
    up = ModelInput(model=a_model("up"), version="v1", commit=0)

    def few(version: str, commit: int) -> bool:
        shown = Segments.of_table(version, commit, [days("01"), days("02")])
        return reads_few(Job(model=a_model("m"), version="v", inputs={"up": up}, shown=shown), str(tmp_path))

    assert not reads(tmp_path)
    assert few("v0", 0) and not few("v0", 1)
    assert not few("gone", 0)
    assert not reads(tmp_path, up=replace(up, version="gone"))
