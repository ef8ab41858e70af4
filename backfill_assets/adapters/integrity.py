"""Is everything in a warehouse as it was written? Records, what pointers count, and files: a few, or all, in full.

Full reads check the checksums that Spark writes for each Parquet page, decode every value and count rows: a flipped bit
is found, which looking at footers cannot see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from backfill_assets.adapters.data_files import data_files
from backfill_assets.adapters.delta_errors import delta_reason
from backfill_assets.adapters.durable import local
from backfill_assets.adapters.folder import file_system
from backfill_assets.adapters.log_folder import LOG, check_log
from backfill_assets.adapters.table_log import DeltaTableLog, open_table
from backfill_assets.core.errors import BackfillError, StateError
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.segments import NO_ROWS, is_adopted
from backfill_assets.files.no_access import NoAccessError
from backfill_assets.plan.versions import shown_segments
from backfill_assets.state.approvals import DamagedApproval
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.table_contents import with_counts
from backfill_assets.state.versions import table_path
from backfill_assets.state.view_types import two_types

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

T = TypeVar("T")
SAMPLE = 8
"""Files of each table at a commit that are read when not all are: the first, the last and some between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegrityReport:
    """What was looked at, and everything that is wrong: `backfill verify --all --json` prints it as it is."""

    records: int
    pointers: int
    files: int
    rows: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    location: str
    path: str
    bytes: int
    rows: int


def check_integrity(control: Control, warehouse: str, *, every_file: bool) -> IntegrityReport:
    """Read every control table wholly, compare every pointer with its tables, and read files in full.

    `every_file` that an environment shows, or SAMPLE of each table.
    """
    records, problems = _records(control)
    environments, wrong = _tried(control.lasting, "the environments")
    problems += wrong
    pointers = [(e.name, p) for e in environments or () for p in e.pointers.values()]
    log = DeltaTableLog(warehouse)
    for name, pointer in pointers:
        problems += _tried(partial(with_counts, log, [pointer]), f"{name} {pointer.model}")[1]
        problems += [f"{name} {pointer.model} cannot be read: {c} {c.intervals}" for c in two_types(pointer)]
    problems += _tried(partial(check_logs, control, warehouse, pointers=False), "tables")[1]
    files, wrong = _files(environments or (), warehouse, every_file)
    with ThreadPoolExecutor(max_workers=4) as pool:
        damaged = [problem for problem in pool.map(_damage, files) if problem]
    return IntegrityReport(
        records=records,
        pointers=len(pointers),
        files=len(files),
        rows=sum(f.rows for f in files),
        problems=tuple(dict.fromkeys([*problems, *wrong, *damaged])),
    )


def check_logs(control: Control, warehouse: str, *, pointers: bool = True) -> int:
    """Look at the log of every version's table on a local disk, shown or not; returns how many there are.

    Raises StateError, which names those that are damaged, or (`pointers`) that are not there, or not as far, as an
    environment shows them, and what to do with each.
    """
    damaged = list[tuple[str, str, bool]]()
    shown = shown_segments(control.lasting())
    where = local(warehouse)
    found = sorted(log.parent for log in Path(where).glob(f"[!_.]*/*/{LOG}")) if where else []
    there = {(folder.parent.name, folder.name) for folder in found}
    absent = {table for table in shown if not is_adopted(table[1])} - there if where and pointers else set()
    for table in sorted(absent):
        damaged.append((table_path(warehouse, *table), "an environment shows it, and it is gone", True))
    for folder in found:
        segments = shown.get((folder.parent.name, folder.name), NO_ROWS)
        last = max((segment.commit for segment in segments), default=-1)
        try:
            if (head := check_log(str(folder))) < last and pointers:
                damaged.append(
                    (str(folder), f"an environment shows its commit {last}, and its log ends at {head}", True)
                )
        except NoAccessError:
            raise
        except StateError as error:
            damaged.append((str(folder), error.why, bool(segments)))
    if damaged:
        lost = [folder for folder, _, is_shown in damaged if not is_shown]
        every = len(there | absent)
        ways = ["what was acknowledged comes back from a backup (backfill restore SRC)"]
        if len(damaged) > len(absent):
            ways.insert(0, "backfill warehouse --repair sets a newest entry aside that nobody was told of")
        if len(damaged) > len(lost):
            ways.append(
                "without one, move away what is left of a shown table: `backfill plan` names what puts other rows in "
                "its place"
            )
        if lost:
            ways.append(
                f"no environment shows {', '.join(lost)}: deleted, `backfill apply` builds what is wanted of it again"
            )
        raise StateError(
            f"the logs of {len(damaged)} of {every} tables are damaged or gone; nothing is read from them",
            why="; ".join(f"{folder}: {why}" for folder, why, _ in damaged),
            fix="; ".join(ways),
        )
    return len(found)


def _records(control: Control) -> tuple[int, list[str]]:
    """How many records there are, each read as the program reads it; and what cannot be read."""

    def plans() -> list[str]:
        return [p.id for p in control.plans.all()] or [""]  # a table is opened, whoever is asked about

    def names() -> list[str]:
        return control.environments.names() or [""]

    def changes() -> list[str]:
        return [r.id for name in names() for r in control.rules.of(name)]

    readers: Mapping[str, Callable[[], object]] = {
        "ledger": control.ledger.entries,
        "audits": control.results.read,
        "text checks": control.text_checks.all,
        "versions": control.versions.all,
        "plans": lambda: [control.plans.document(plan) for plan in plans()],
        "proofs": lambda: [proof for plan in plans() for proof in control.proofs.of(plan)],
        "rules": changes,
        "approvals": lambda: control.approvals.recorded([*plans(), *changes()]),
        "contracts": lambda: [said for name in names() for said in control.contracts.read(name)],
        "releases": control.releases.everywhere,
        "removals": control.removals.all,
        "environments": lambda: [control.environments.read(n) for n in control.environments.names()],
    }
    count, problems = 0, list[str]()
    for name, read in readers.items():
        found, wrong = _tried(read, name)
        count += len(found) if isinstance(found, list | dict) else 0
        problems += [str(f) for f in found if isinstance(f, DamagedApproval)] if isinstance(found, list) else []
        problems += wrong
    return count, problems


def _tried(look: Callable[[], T], name: str) -> tuple[T | None, list[str]]:
    try:
        return look(), []
    except BackfillError as error:
        return None, [f"{name}: {error.what}: {error.why}" if error.why else f"{name}: {error.what}"]
    except (ValueError, KeyError, TypeError) as error:  # a value that no program of ours wrote
        return None, [f"{name}: a record cannot be read ({type(error).__name__}: {error})"]


def _files(environments: Sequence[Environment], warehouse: str, every: bool) -> tuple[list[_File], list[str]]:
    found: dict[tuple[str, str], _File] = {}
    problems: list[str] = []
    for environment in environments:
        for pointer in environment.pointers.values():
            for segment, shown in pointer.segments.tables():
                location = table_path(warehouse, pointer.model, segment.version)
                look = partial(_shown, location, segment.commit, shown)
                files, wrong = _tried(look, f"{environment.name} {pointer.model}")
                problems += wrong
                chosen = files or []
                if not every and len(chosen) > SAMPLE:
                    chosen = [chosen[round(n * (len(chosen) - 1) / (SAMPLE - 1))] for n in range(SAMPLE)]
                found |= {(f.location, f.path): f for f in chosen}
    return list(found.values()), problems


def _shown(location: str, commit: int, shown: Ranges) -> list[_File]:
    table = open_table(location, commit)
    if table is None:  # its counts say so
        return []
    files = {file.path: file for file in data_files(table) if any(i.holds(file.at) for i in shown)}
    return [_File(location=f.root(location), path=f.inside, bytes=f.bytes, rows=f.in_all) for f in files.values()]


def _damage(file: _File) -> str:
    """What is wrong with a data file, read in full; "" when nothing is."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    system: FileSystem = file_system(file.location)
    name, rows = f"{file.location}/{file.path}", 0
    try:
        with system.open_input_file(file.path) as opened:
            if (size := opened.size()) != file.bytes:
                return f"{name} has {size} bytes, not {file.bytes}"
            for batch in pq.ParquetFile(opened, page_checksum_verification=True).iter_batches():
                batch.validate(full=True)
                rows += batch.num_rows
    except (OSError, pa.ArrowException) as error:
        return f"{name}: {delta_reason(error)}"
    return "" if rows == file.rows else f"{name} has {rows} rows, not {file.rows}"
