"""What is read of a table's instants, as Spark writes them (INT96): all of them, not those of four centuries only."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyarrow import parquet

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.promote.promote import promote
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.state.versions import table_path
from backfill_assets_tests.projects import days, small_project

AT = [
    datetime(9999, 12, 31, tzinfo=UTC),
    datetime(1500, 1, 1, 12, 30, 0, 1, tzinfo=UTC),
    datetime(2024, 1, 1, tzinfo=UTC),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project whose prod shows such a table of two days."""
    root = small_project(tmp_path / "shop")
    place = Context.open(root)
    location = table_path(place.warehouse, "daily", "v1")
    inside = [{"until": at, "seen": [at]} for at in AT]
    kind = pa.struct([("until", pa.timestamp("us", "UTC")), ("seen", pa.list_(pa.timestamp("us", "UTC")))])
    rows = pa.table(
        {
            "ds": [date(2024, 1, 1), date(2024, 1, 1), date(2024, 1, 2)],
            "valid_to": pa.array(AT, pa.timestamp("us", "UTC")),
            "inside": pa.array(inside, kind),
        }
    )
    write_deltalake(location, rows, partition_by=["ds"])
    log = Path(location, "_delta_log", f"{0:020}.json")
    for file in Path(location).rglob("*.parquet"):
        before = file.stat().st_size
        parquet.write_table(parquet.ParquetFile(file).read(), file, use_deprecated_int96_timestamps=True)
        assert parquet.ParquetFile(file).schema.column(0).physical_type == "INT96"
        sizes = log.read_text().splitlines()
        log.write_text(
            "\n".join(
                line.replace(f'"size":{before}', f'"size":{file.stat().st_size}') if file.name in line else line
                for line in sizes
            )
            + "\n"
        )
    pointer = Pointer(
        model="daily",
        time_column="ds",
        timestamps=False,
        columns=(
            ("ds", "date"),
            ("valid_to", "timestamp"),
            ("inside", "struct<until:timestamp,seen:array<timestamp>>"),
        ),
        segments=(Segment(version="v1", commit=0, interval=days("2024-01-01", "2024-01-02")),),
    )
    environments = place.control.environments
    promote(environments, environments.read("prod"), [pointer], None, note=ReleaseNote(by="ana"))
    return root


def test_each_is_read_as_it_was_written(root: Path) -> None:
    rows = backfill_assets.read("daily", project=root)
    assert sorted(rows.column("valid_to").to_pylist()) == sorted(AT)
    assert sorted(each["until"] for each in rows.column("inside").to_pylist()) == sorted(AT)
    assert sorted(each["seen"][0] for each in rows.column("inside").to_pylist()) == sorted(AT)
