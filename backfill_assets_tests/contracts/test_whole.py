"""Flipped bits, which neither the log nor a footer tells, are found by a full read; lost rows by the counts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from backfill_assets.adapters.integrity import check_integrity, check_logs
from backfill_assets.adapters.reader import read_pointer
from backfill_assets.adapters.table_log import DeltaTableLog
from backfill_assets.audits.result import AuditResult
from backfill_assets.core.errors import StateError
from backfill_assets.promote.approve import Approver
from backfill_assets.promote.promote import promote
from backfill_assets.promote.rules_change import record_rules, rules_to_record
from backfill_assets.state.approvals import Approval
from backfill_assets.state.control import Control
from backfill_assets.state.plans import PlanRecord, PlanStatus
from backfill_assets.state.proofs import DIFF, Proof
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.state.rules import Rules
from backfill_assets.state.table_contents import with_counts
from backfill_assets.state.text_checks import TextCheck
from backfill_assets.state.versions import Version, table_path
from backfill_assets_tests.contracts.test_backup import COLUMNS, House
from backfill_assets_tests.fakes import days, ranges


@pytest.fixture
def house(tmp_path: Path) -> House:
    made = House(tmp_path)
    for number in (1, 2, 3):
        made.release(number)
    return made


def data_file(house: House) -> Path:
    return next(Path(house.warehouse, "a", "a-1", "ds=2024-01-02").glob("*.parquet"))


@pytest.mark.parametrize("every_file", [True, False])
def test_a_whole_warehouse(house: House, every_file: bool) -> None:
    """All records, pointers and files are read, and nothing is found."""
    found = check_integrity(house.open(), house.warehouse, every_file=every_file)
    assert found.problems == ()
    assert (found.pointers, found.files, found.rows) == (1, 3, 9) and found.records > 0


def test_a_flipped_bit_is_found(house: House) -> None:
    """In a page whose checksum Spark would write; size, footer and row count stay as they are."""
    file = data_file(house)
    pq.write_table(pq.ParquetFile(file).read(), file, write_page_checksum=True, compression="none")
    log = next(p for p in Path(house.warehouse, "a", "a-1", "_delta_log").glob("*.json") if file.name in p.read_text())
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["size"] = file.stat().st_size
    log.write_text("\n".join(map(json.dumps, lines)) + "\n")
    assert check_integrity(house.open(), house.warehouse, every_file=True).problems == ()
    content = bytearray(file.read_bytes())
    column = pq.ParquetFile(file).metadata.row_group(0).column(0)
    begin = column.dictionary_page_offset or column.data_page_offset
    content[begin + column.total_compressed_size - 1] ^= 1
    file.write_bytes(bytes(content))
    (problem,) = check_integrity(house.open(), house.warehouse, every_file=True).problems
    assert file.name in problem


def test_damage_within_one_row_group_is_found(house: House) -> None:
    """The other row groups could be read: no reader gets half a day. The file, so its day, is named."""
    file = data_file(house)
    pq.write_table(pq.ParquetFile(file).read(), file, row_group_size=1)
    _note_size(house, file)
    pointer = house.open().environments.read("prod").pointers["a"]
    whole = read_pointer(pointer, house.warehouse)
    assert check_integrity(house.open(), house.warehouse, every_file=True).problems == ()
    found = pq.ParquetFile(file).metadata
    assert found.num_row_groups == 3
    chunk = found.row_group(1).column(0)
    begin, content = chunk.dictionary_page_offset or chunk.data_page_offset, bytearray(file.read_bytes())
    content[begin : begin + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    file.write_bytes(bytes(content))
    for group in (0, 2):
        assert pq.ParquetFile(file).read_row_group(group).num_rows == 1
    (problem,) = check_integrity(house.open(), house.warehouse, every_file=True).problems
    assert "ds=2024-01-02" in problem and file.name in problem
    with pytest.raises(StateError, match="cannot be read") as told:
        read_pointer(pointer, house.warehouse)
    assert told.value.fix and f"ds=2024-01-02/{file.name}" in told.value.why
    rest = read_pointer(pointer, house.warehouse, start="2024-01-03")
    assert 0 < rest.num_rows < whole.num_rows


def _note_size(house: House, file: Path) -> None:
    """A file that was written again is what the log names."""
    log = next(p for p in Path(house.warehouse, "a", "a-1", "_delta_log").glob("*.json") if file.name in p.read_text())
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "add" in line and file.name in line["add"]["path"]:
            line["add"]["size"] = file.stat().st_size
    log.write_text("\n".join(map(json.dumps, lines)) + "\n")


def test_missing_and_cut_files_are_found(house: House) -> None:
    """By name."""
    file = data_file(house)
    file.write_bytes(file.read_bytes()[:-1])
    (problem,) = check_integrity(house.open(), house.warehouse, every_file=False).problems
    assert file.name in problem and "bytes" in problem
    file.unlink()
    (problem,) = check_integrity(house.open(), house.warehouse, every_file=False).problems
    assert file.name in problem


# --- every control table, and pointers to what is not there -----------------------------------------------------------

AT = datetime(2024, 1, 11, tzinfo=UTC)
TABLES = (
    "ledger", "audits", "versions", "environments", "plans", "approvals", "proofs", "contracts", "rules", "text_checks",
)  # fmt: skip


def with_all_records(house: House) -> Control:
    """A record of each kind, beside those that releases make."""
    control, day = house.open(), days("01")
    plan = PlanRecord(
        id="p1", environment="prod", targets=(), created=AT, by="dev", status=PlanStatus.OPEN, since=AT
    )  # fmt: skip
    control.plans.put(plan, {"request": {}}, revision=control.plans.read_at()[1])
    control.proofs.put([Proof(plan="p1", kind=DIFF, content="c", at=AT, findings=(), document={})])
    control.approvals.put(
        Approval(plan="p1", environment="prod", digest="d", scope={"a": ranges(day)}, owner="ana", by="ana", at=AT)
    )
    control.results.append(
        [
            AuditResult(
                model="a", version="a-1", batch="b1", interval=day, check="rows", blocking=True, passed=True,
                failures=0, observed="1", expected="1", at=AT,
            )
        ]
    )  # fmt: skip
    control.text_checks.put(TextCheck(model="a", version="a-1", text="t", intervals=ranges(day), at=AT))
    control.contracts.append("prod", {("a", "a-1"): {"grain": []}}, at=AT)
    definition = {"kind": "sql"}
    control.versions.put(
        Version(model="a", version="a-1", upstream={}, columns=COLUMNS, definition=definition, created=AT)
    )
    rules = control.rules.in_force("prod", Rules())
    shown = control.environments.read("prod")
    nobody = replace(shown, pointers={})
    record_rules(
        control, rules, rules_to_record(rules, nobody, list(shown.pointers.values())), Approver(account="a", host="h"),
        now=AT,
    )  # fmt: skip
    return control


def lose_a_file(table: Path) -> None:
    """One that the newest state of the table names."""
    from deltalake import DeltaTable

    Path(DeltaTable(str(table)).file_uris()[-1].removeprefix("file://")).unlink()


def cut_the_log(table: Path) -> None:
    (*_, newest) = sorted((table / "_delta_log").glob("*.json"))
    newest.write_bytes(b"")


def hole_in_the_log(table: Path) -> None:
    entries = sorted((table / "_delta_log").glob("*.json"))
    entries[len(entries) // 2 if len(entries) > 2 else 0].unlink()


def cut_a_file(table: Path) -> None:
    from deltalake import DeltaTable

    file = Path(DeltaTable(str(table)).file_uris()[-1].removeprefix("file://"))
    file.write_bytes(file.read_bytes()[:20])


@pytest.mark.parametrize("table", TABLES)
def test_each_control_table_is_read(house: House, table: str) -> None:
    """Whatever of it is gone or cut: a file of records, an entry of the log in the middle or at the end. It is named;
    nothing is taken for empty."""
    with_all_records(house)
    folder = Path(house.warehouse, "_control", table)
    assert check_integrity(house.open(), house.warehouse, every_file=False).problems == ()
    damages: list[Callable[[Path], None]] = [lose_a_file, cut_a_file, cut_the_log, hole_in_the_log]
    for damage in damages:
        before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        damage(folder)
        problems = _problems(house)
        assert any(table in p or table.replace("_", " ") in p for p in problems), (damage.__name__, problems)
        for path, content in before.items():
            path.write_bytes(content)
    assert check_integrity(house.open(), house.warehouse, every_file=False).problems == ()


def _problems(house: House) -> tuple[str, ...]:
    """What is found; a warehouse that cannot be opened at all says why as well."""
    from backfill_assets.core.errors import BackfillError

    try:
        return check_integrity(house.open(), house.warehouse, every_file=False).problems
    except BackfillError as error:
        return (str(error),)


@pytest.mark.parametrize(
    ("version", "commit", "more"), [("a-1", 99, 0), ("gone", 1, 0), ("a-1", 3, 1)], ids=["commit", "table", "count"]
)
def test_a_pointer_to_what_is_not_there(house: House, version: str, commit: int, more: int) -> None:
    """To a commit or a table that is gone, or to fewer rows than it counted: its model and environment are named."""
    control = house.open()
    seen = control.environments.read("prod")
    pointer = seen.pointers["a"]
    (first, *others) = with_counts(DeltaTableLog(house.warehouse), [pointer])[0].segments
    assert first.held is not None
    wrong = replace(first, version=version, commit=commit, held=replace(first.held, rows=first.held.rows + more))
    promote(control.environments, seen, [replace(pointer, segments=(wrong, *others))], None, note=ReleaseNote(by="ana"))
    problems = check_integrity(house.open(), house.warehouse, every_file=False).problems
    assert problems and all("prod a" in p for p in problems), problems


def test_doctor_misses_a_table_that_is_shown(house: House) -> None:
    """Its folder is gone, log and all. (What nothing shows may go.)"""
    control = house.open()
    assert check_logs(control, house.warehouse) == 1
    shown = control.environments.read("prod").pointers["a"]
    log = Path(table_path(house.warehouse, "a", shown.version)) / "_delta_log"
    newest = max(log.glob("*.json"))
    kept = newest.read_bytes()
    for left in log.glob(f"{newest.stem}.*"):
        left.unlink()
    with pytest.raises(StateError, match=r"shows its commit \d+, and its log ends at \d+") as caught:
        check_logs(control, house.warehouse)
    assert "`backfill plan` names what puts other rows in its place" in (caught.value.fix or "")
    newest.write_bytes(kept)
    assert check_logs(control, house.warehouse) == 1
    shutil.rmtree(log.parent)
    with pytest.raises(
        StateError, match=f"(?s)1 of 1 tables are damaged or gone.*a/{shown.version}: .*it is gone.*backup"
    ):
        check_logs(control, house.warehouse)
