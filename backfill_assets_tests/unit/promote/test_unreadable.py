"""Published rows that cannot be read: no comparison of them, a finding; and whoever looks at them says so."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.adapters.integrity import check_integrity
from backfill_assets.adapters.reader import read_pointer
from backfill_assets.build.apply import apply
from backfill_assets.compare.sides import Side, cut
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Ranges, utc
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segments
from backfill_assets.evidence.release_tables import Tables, look_at_pointers
from backfill_assets.promote.findings import incomparable
from backfill_assets.promote.rehearsal import damages, rehearse, unreadable
from backfill_assets.state.control import Control
from backfill_assets.state.versions import table_path
from backfill_assets_tests.delta_tables import DeltaTables
from backfill_assets_tests.fakes import NOW, World, a_model, a_pointer, days, ranges


def test_it_is_named_with_its_days() -> None:
    """By the model, so that its owner accepts it; with what is wrong."""
    world = World(a_model("a", "raw"))
    apply(world.bench(), world.plan())
    assert world.release().moved
    world.tables.lost_files.update({("a", utc("2024-01-03")), ("a", utc("2024-01-07"))})
    pointers = list(world.control.environments.read("prod").pointers.values())
    lost = damages(world.project, rehearse(pointers, world.tables, world.tables, world.control.ledger))
    assert list(lost["a"].values()) == [ranges(days("03"), days("07"))]
    (finding,) = incomparable(lost)
    assert (finding.name, finding.model) == ("a.unreadable", "a")
    assert "2024-01-03, 2024-01-07 cannot be read" in finding.text and "2024-01-03 is missing" in finding.text


def test_what_is_left_out_of_a_comparison() -> None:
    """These days of both sides; a model of which nothing is left is not compared; others stay as they are."""
    side = Side(
        name="prod",
        pointers={n: a_pointer(n, f"{n}-1", days("01", "05")) for n in "abc"},
    )
    left = cut(side, {"a": ranges(days("02", "03")), "b": ranges(days("01", "09")), "x": ranges(days("01"))})
    assert set(left.pointers) == {"a", "c"} and left.pointers["c"] == side.pointers["c"]
    assert left.pointers["a"].covers == Ranges((days("01"), days("04", "05")))


def two_types_of_id() -> tuple[World, Pointer]:
    """Days 1 to 4 are of an older logic with a number, days 5 to 10 of one with a text: promoted by another release."""
    world = World(a_model("a", "raw"))
    apply(world.bench(), world.plan())
    old = a_pointer("a", "a-1", days("01", "04"), commit=world.tables.head("a", "a-1"))
    new = World(a_model("a", "raw"), store=world.store, versions={"a": "2"}, tables=world.tables)
    new.engine.columns = (("ds", "date"), ("id", "string"))
    apply(new.bench(), new.plan())
    segments = Segments(replace(s, columns=old.columns) for s in old.segments)
    above = Segments.of_table("a-2", world.tables.head("a", "a-2"), [days("05", "10")])
    return new, replace(old, columns=new.engine.columns, segments=(*segments, *above))


NOT_ONE_TYPE = "column id is string, but bigint in the rows of 2024-01-01..2024-01-04"


def test_rows_of_a_type_that_the_view_cannot_show() -> None:
    """`watch` names them, with their days, and so does a rollback to such a release or a pin of it."""
    world, pointer = two_types_of_id()
    proofs = rehearse([pointer], world.tables, world.tables, world.control.ledger)
    assert damages(world.project, proofs) == {"a": {NOT_ONE_TYPE: ranges(days("01", "04"))}}
    assert [o.what for o in unreadable(proofs)] == [f"1 files cannot be read: {NOT_ONE_TYPE}"]


def test_a_release_s_packet_names_them() -> None:
    """`backfill verify RELEASE`."""
    world, pointer = two_types_of_id()
    said = {"models": [{"model": "a", "after": json.loads(pointer.to_json()), "batches": []}]}
    found = look_at_pointers(said, Tables(log=world.tables, storage=world.tables))
    assert f"a cannot be read: {NOT_ONE_TYPE}" in found.problems


def test_whoever_verifies_all_or_reads_is_told(tmp_path: Path) -> None:
    """In words of ours, not of Arrow's; the days of one type, and other columns, can be read."""
    tables = DeltaTables(str(tmp_path))
    for version, kind in (("a-1", pa.int64()), ("a-2", pa.string())):
        days_of = pa.array([date(2024, 1, n) for n in range(1, 11)], pa.date32())
        rows = pa.table({"ds": days_of, "id": pa.array(range(10)).cast(kind)})
        write_deltalake(table_path(str(tmp_path), "a", version), rows, partition_by=["ds"])
    _, pointer = two_types_of_id()
    pointer = replace(pointer, segments=[replace(s, commit=0) for s in pointer.segments])
    store = DeltaStore(str(tmp_path))
    control = Control.over(store)
    control.environments.flip(control.environments.read("prod"), [pointer], release="r", at=NOW)
    found = check_integrity(control, str(tmp_path), every_file=True)
    assert found.problems == (f"prod a cannot be read: {NOT_ONE_TYPE}",)
    with pytest.raises(StateError) as refused:
        read_pointer(pointer, tables.warehouse)
    assert refused.value.what == f"a cannot be read: {NOT_ONE_TYPE}"
    assert read_pointer(pointer, tables.warehouse, start="2024-01-05").num_rows == 6
    assert read_pointer(pointer, tables.warehouse, columns=["ds"]).num_rows == 10
