"""Is a record stored byte for byte as the last release stored it, and is what that release stored still read?

`stored.json` holds the rows and documents that it wrote: hashes, approvals and signatures are made of that text. A
difference means that records which are there already would not be read, or would not be the same ones any more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from backfill_assets.audits.result import AuditResult
from backfill_assets.compare.codec import diff_from_json, diff_id, diff_to_json
from backfill_assets.compare.diff import (
    ColumnMove,
    Diff,
    DiffColumn,
    Keys,
    ModelDiff,
    RowCounts,
    RowGroup,
    Sample,
    Slice,
    Stats,
)
from backfill_assets.compare.diff import SameFiles as Unread
from backfill_assets.contracts.contract import Contract, Promise
from backfill_assets.contracts.rerun import Answer, Rerun, Reruns
from backfill_assets.core.codec import from_plain, to_plain
from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.model import (
    Audit,
    Column,
    ColumnRef,
    Model,
    Rule,
    SameAs,
    Signature,
    SortColumn,
    Terms,
    Upstream,
)
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import IntervalCounts, Segment, Segments
from backfill_assets.core.settings import ApprovalRules
from backfill_assets.evidence.tables import EvidenceFile, TableCommit, TableState
from backfill_assets.project.stored import from_definition, to_definition
from backfill_assets.state.approvals import Approval
from backfill_assets.state.changes import Changes
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Promotion
from backfill_assets.state.identity import Identity, LastRelease, identity_from_json
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets.state.plans import PlanRecord, PlanStatus, PlanTarget
from backfill_assets.state.proofs import DIFF, Finding, Proof
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.state.releases import PointerMove as Moved
from backfill_assets.state.releases import Release
from backfill_assets.state.rules import Rules, RulesKind, RulesRecord
from backfill_assets.state.text_checks import TextCheck
from backfill_assets.state.versions import Version
from backfill_assets_tests.memory_store import MemoryStore, MemoryTable

STORED: Mapping[str, list[dict[str, object]]] = json.loads((Path(__file__).parent / "stored.json").read_text())
AT, LATER = utc("2024-02-01T10:20:30.456789"), utc("2024-02-02T00:00:01")
DAYS, MORE = Interval.of("2024-01-01", "2024-01-05"), Interval.of("2024-01-07", "2024-01-08")
BOTH = Ranges((DAYS, MORE))

ENTRIES = (
    Entry(kind=Kind.STARTED, model="orders", version="v1", interval=DAYS, batch="b1", at=AT, id="e1"),
    Entry(
        kind=Kind.BUILT,
        model="orders",
        version="v1.r",
        interval=DAYS,
        table_commit=7,
        batch="b1",
        attempt=2,
        run="r1",
        audits="",
        inputs={"z": {"version": "u1", "commit": 3, "over": [["v0", 1]]}, "csv": {"files": 2, "name": "größe"}},
        rows=12,
        bytes=3456,
        changes=Changes(inserted=1, updated=2, deleted=3, copied=4),
        seconds=1.25,
        reason="",
        through=LATER,
        at=AT,
        id="e2",
    ),
    Entry(
        kind=Kind.INVALIDATED, model="a", version="v1", interval=MORE, audits="d", reason="Zoë: no", at=LATER, id="e3"
    ),
)
RESULTS = (
    AuditResult(
        model="orders",
        version="v1",
        batch="b1",
        interval=DAYS,
        check="not_null(id)",
        blocking=True,
        passed=False,
        failures=2,
        observed="2 NULLs",
        expected="none",
        sample=("2024-01-01, 7", "é"),
        at=AT,
    ),
)
REF, OTHER = ColumnRef(table="raw", column="b"), ColumnRef(table="raw", column="a")
SIGNATURE = Signature(
    rows="aa",
    columns={"id": "bb", "a": "cc"},
    row_reads=frozenset({REF, OTHER}),
    column_reads={"id": frozenset({REF}), "a": frozenset({OTHER, REF})},
    would_read=frozenset({OTHER}),
    code="dd",
    whole="ee",
)
MODEL = Model(
    name="orders",
    path=Path("models/orders.sql"),
    language="sql",
    code="SELECT 1",
    text="t",
    files={"models/orders.sql": "SELECT 1"},
    description="of the shop",
    owner="ana@example.com",
    cadence=Cadence.DAILY,
    start=utc("2024-01-01"),
    end=utc("2025-01-01"),
    grain=("ds", "id"),
    lookback=2,
    write="merge",
    dedupe=(SortColumn(column="at", descending=True),),
    updated_at="at",
    batch_size=5,
    batch_concurrency=2,
    retries=3,
    timeout=60,
    pool="small",
    spark={"spark.sql.ansi.enabled": "true"},
    columns=(Column(name="id", type="bigint", description="key"), Column(name="x")),
    audits=(Audit(name="not_null(id)", kind="not_null", arguments={"columns": ("id",), "where": None, "most": 0.5}),),
    upstreams=(Upstream(name="raw", parameter="raw", columns=("id", "x")), Upstream(name="csv")),
    terms=Terms(
        semantics={"id": "of the shop"},
        deletes="never",
        late_rows="two days",
        rules=(Rule(text="EUR", since=utc("2024-01-01")), Rule(text="all")),
        validation_owner="ben",
    ),
    code_version="2",
    same_as=SameAs(version="v0", code="c", columns=("id",), reason="same", line=3),
    allow_nondeterministic="a sample",
    slices=("country",),
    mask=("mail",),
    unmask={"mails": "a count"},
    tolerance=1e-6,
)
VERSION = Version(
    model="orders",
    version="v1",
    upstream={"raw": "u1", "items": "u2"},
    columns=(("id", "bigint"), ("x", "decimal(18,4)")),
    definition={"algorithm": 3, **to_definition(MODEL)},
    signature=SIGNATURE,
    created=AT,
)
POINTER = Pointer(
    model="orders",
    time_column="ds",
    timestamps=False,
    columns=(("id", "bigint"), ("x", "double")),
    segments=Segments(
        (
            Segment(version="v0", commit=2, interval=DAYS, columns=(("id", "bigint"),)),
            Segment(version="v1", commit=7, interval=MORE, held=IntervalCounts(interval=MORE, files=2, rows=9)),
        )
    ),
)
OLDER = replace(POINTER, segments=POINTER.segments[:1])
PLAN = PlanRecord(
    id="1f3a9c02",
    environment="prod",
    targets=(
        PlanTarget(model="orders", version="v1", intervals=BOTH),
        PlanTarget(model="items", version="u2", intervals=Ranges(), columns=("id",)),
    ),
    created=AT,
    by="ana",
    status=PlanStatus.OPEN,
    since=AT,
)
APPROVAL = Approval(
    plan="1f3a9c02",
    environment="prod",
    digest="f00",
    scope={"orders": BOTH, "items": Ranges((DAYS,))},
    owner="ana@example.com",
    by="Zoë",
    at=AT,
    reason="müde",
    accepted={"orders.x": "as meant"},
    onward={"orders": LATER},
    more={"own": False, "expires": "2024-03-01T00:00:00+00:00"},
    signature="-----BEGIN",
    account="zoe",
    host="box",
    recorded=LATER,
)
PROOF = Proof(
    plan="1f3a9c02",
    kind=DIFF,
    content="c",
    at=AT,
    findings=(Finding(name="orders.x", model="orders", text="it moved"),),
    document={"z": [1, None], "a": {"é": 1.5}},
)
RULES = Rules(
    approvals=ApprovalRules(required=True, self=True, days=3, signatures="required", owners={"shop": ("ana", "ben")}),
    people={"ana": ("ana@example.com", "zoe")},
    signers="ana ssh-ed25519 AAAA",
    owners={"orders": "shop", "items": ""},
)
RECORD = RulesRecord(
    environment="prod",
    number=1,
    kind=RulesKind.RECORDED,
    parent="",
    rules=RULES,
    account="ana",
    host="box",
    at=AT,
    reason="first",
)
CHECK = TextCheck(
    model="orders", version="v1", text="t", intervals=BOTH, differ=Ranges((MORE,)), error="no such column", at=AT
)
CONTRACT = Contract(
    columns=(
        Promise(name="id", type="bigint", nullable=False, semantics="key"),
        Promise(name="country", values=("CH", "DE")),
        Promise(name="none", values=()),
    ),
    grain=("ds", "id"),
    time_column="ds",
    cadence="daily",
)
IDENTITY = Identity(
    warehouse="w1",
    project="shop",
    generation=2,
    release=LastRelease(id="r1", environment="prod", commit=9),
    tables={"plans": 3, "ledger": 8},
    history=({"what": "created", "by": "Zoë"},),
)
TABLE = TableState(
    model="orders",
    version="v1",
    commit=2,
    commits=(TableCommit(commit=1, batch=""), TableCommit(commit=2, batch="b", start="2024-01-01", end="2024-01-02")),
    files=(EvidenceFile(path="ds=1/a.parquet", bytes=9, sha256="ab"), EvidenceFile(path="b", bytes=-1)),
)
ANSWER = Answer(
    columns=("n", "x"),
    rows=2,
    checksum="cc",
    sample=(("1", "a"), ("2", "b")),
    extremes={"n": (1.0, 2.5), "x": (None, None)},
    sums={"n": 3.5, "x": None},
)
RERUNS = Reruns(
    plan="1f3a9c02",
    at=AT,
    pointers={"orders": POINTER.id},
    reruns=(
        Rerun(consumer="bi", query="q", candidate=ANSWER, shown=ANSWER),
        Rerun(
            consumer="bi",
            query="q",
            evaluation="May",
            candidate=Answer(error="no table"),
            shown=None,
            missed=("it fails",),
        ),
    ),
)
SPENT = Stats(
    nulls=1, distinct=2, sum=Decimal("1.50"), mean=0.75, p50=Decimal(1), p95=Decimal("1.4"), min=Decimal(0), max=None
)
GROUP = RowGroup(
    name="2024-01-01",
    rows=RowCounts(old=3, new=4, unchanged=1, changed=1, added=1, removed=1, unpaired_old=0, unpaired_new=1),
    moves=(
        ColumnMove(column="spend", changed=1, old=SPENT, new=replace(SPENT, sum=Decimal("2.50"))),
        ColumnMove(column="rate", changed=0, old=Stats(sum=float("inf"), mean=float("inf"), min=-1.5), new=None),
        ColumnMove(column="n", changed=0, old=None, new=Stats(sum=2**70, min=1, max=2)),
        ColumnMove(column="who", changed=1, old=Stats(distinct=2, min="a", max="é"), new=Stats()),
        ColumnMove(column="tags", changed=1, old=Stats(), new=Stats(nulls=2)),
    ),
)
FOUND = Diff(
    old="prod",
    new="plan-1f3a9c02",
    models=(
        ModelDiff(
            model="ads",
            grain=("ds", "id"),
            time_column="ds",
            tolerance=1e-9,
            old=("v0 at commit 1",),
            new=("v1 at commit 2", "v1 at commit 3"),
            compared=BOTH,
            proofs=(Unread(interval=DAYS, version="v0", commits=(1, 2), rows=7),),
            only_old=Ranges((MORE,)),
            old_keys=Keys(),
            new_keys=Keys(null_rows=1, duplicate_keys=2, duplicate_rows=3),
            columns=(
                DiffColumn(name="spend", kind="decimal", old_type="decimal(9,2)", new_type="decimal(9,2)", key=True),
                DiffColumn(name="rate", kind="float", old_type="double", new_type=None, masked=True),
                DiffColumn(name="n", kind="integer", old_type=None, new_type="bigint"),
                DiffColumn(name="who", kind="text", old_type="string", new_type="string"),
                DiffColumn(name="tags", kind="nested", old_type="array<int>", new_type="array<int>"),
            ),
            total=replace(GROUP, name=""),
            days=(GROUP,),
            slices=(Slice(column="who", groups=(replace(GROUP, name=None),), complete=False),),
            samples=(
                Sample(kind="changed", key=(("id", "1"), ("ds", None)), old=(("spend", "1.5"),), new=(("spend", "é"),)),
            ),
        ),
        ModelDiff(model="same", grain=(), time_column="ds", tolerance=0.0, old=(), new=()),
    ),
)


def written() -> dict[str, list[dict[str, object]]]:
    """Every record, written as the program writes it: the rows of each control table, and each document."""
    store = MemoryStore()
    control = Control.over(store)
    control.ledger.append(ENTRIES)
    control.results.append(RESULTS)
    control.versions.put(VERSION)
    control.plans.put(PLAN, {"id": PLAN.id, "request": {"why": "é"}}, revision=-1)
    control.approvals.put(APPROVAL)
    control.proofs.put([PROOF])
    control.rules.put(RECORD, seen="")
    control.text_checks.put(CHECK)
    control.contracts.append("prod", {("orders", "v1"): to_plain(CONTRACT)}, at=AT)
    environments = control.environments
    seen = environments.flip(environments.read("prod"), [OLDER], release="r0", at=AT)
    environments.flip(
        seen,
        [POINTER],
        release="r1",
        at=LATER,
        note=ReleaseNote(
            by="ana",
            back_to="r0",
            evidence={"1f3a9c02": "f00"},
            rules={"number": 1, "id": RECORD.id, "required": True},
            at_once=True,
            changed={"orders": BOTH, "items": Ranges()},
        ),
    )
    opened = Promotion(release="r2", models=("orders",), opened=LATER, host="box", pid=42)
    environments.open(environments.read("prod"), opened)
    rows = {name: [dict(row) for row in table.rows] for name, table in sorted(store.tables.items())}
    for row in [row for table in rows.values() for row in table]:
        row |= {name: "" for name in ("id", "entry") if name in row and len(str(row[name])) == 16}  # random names
    documents: dict[str, list[dict[str, object]]] = {
        "diff": [diff_to_json(FOUND)],
        "identity": [{"text": IDENTITY.to_json()}],
        "reruns": [json.loads(json.dumps(RERUNS.to_json(), sort_keys=True))],
        "table": [to_plain(TABLE)],
        "hashes": [
            {
                "pointer": POINTER.id,
                "diff": diff_id(FOUND),
                "table": TABLE.digest,
                "proof": PROOF.digest,
                "rules": RECORD.id,
                "approval": APPROVAL.statement,
            }
        ],
    }
    return rows | documents


def as_text(stored: Mapping[str, Sequence[Mapping[str, object]]]) -> str:
    return json.dumps(stored, indent=1, ensure_ascii=False, default=lambda at: {"time": at.isoformat()}) + "\n"


def control() -> Control:
    """What the last release stored."""

    def value(raw: object) -> object:
        return datetime.fromisoformat(raw["time"]) if isinstance(raw, dict) else raw  # pyright: ignore

    store = MemoryStore()
    empty = Control.over(store)
    for name, table in store.tables.items():
        rows = [{column: value(raw) for column, raw in row.items()} for row in STORED.get(name, ())]
        store.tables[name].rows[:] = rows
        assert isinstance(table, MemoryTable)
    return empty


def test_what_is_written_is_what_the_last_release_wrote() -> None:
    """Rows and documents are the same, byte for byte; plans say their format beside."""
    expected = json.loads(as_text(STORED))
    for row in expected["plans"]:
        if "id" in (said := json.loads(row["plan"] or "{}")):
            row["plan"] = json.dumps({**said, "format": 1}, sort_keys=True)
    found = written()
    assert found.pop("writer_leases") == []  # came after that release, and holds what is under way
    assert as_text(found) == as_text(expected)


def test_rows_of_the_last_release_are_read() -> None:
    """Each record of the control tables reads back to the value that was written."""
    found = control()
    assert [replace(e, id="", sequence=0) for e in found.ledger.entries()] == [
        replace(e, id="", sequence=0, inputs=e.inputs or {}) for e in ENTRIES
    ]
    assert found.results.read() == list(RESULTS)
    version = found.versions.all()["orders", "v1"]
    stored = json.loads(json.dumps(VERSION.definition))
    assert version == replace(VERSION, definition=stored)
    arguments = {"columns": ["id"], "where": None, "most": 0.5}
    model = replace(
        MODEL, audits=(replace(MODEL.audits[0], arguments=arguments),), same_as=None, allow_nondeterministic=""
    )
    assert from_definition("orders", "v1", version.definition) == model
    assert found.plans.all() == [PLAN]
    assert found.approvals.of([PLAN.id]) == [APPROVAL]
    assert found.approvals.of([PLAN.id])[0].statement == STORED["approvals"][0]["statement"]
    assert found.proofs.of(PLAN.id) == (PROOF,)
    assert [*found.rules.of("prod")] == [RECORD]
    assert list(found.text_checks.all().values()) == [CHECK]
    (contract,) = found.contracts.read("prod").values()
    assert from_plain(Contract, contract) == CONTRACT
    shown = found.environments.read("prod")
    assert shown.pointers == {"orders": POINTER} and shown.pointers["orders"].segments[1].held
    assert shown.promotion == Promotion(release="r2", models=("orders",), opened=LATER, host="box", pid=42)
    assert found.releases.all("prod") == [
        Release(
            id="r1",
            environment="prod",
            revision=1,
            at=LATER,
            by="ana",
            back_to="r0",
            moves=(Moved(model="orders", before=OLDER, after=POINTER, changed=BOTH),),
            evidence={"1f3a9c02": "f00"},
            at_once=True,
            rules={"number": 1, "id": RECORD.id, "required": True},
        )
    ]


READERS: Mapping[str, tuple[Callable[[dict[str, object]], object], object]] = {
    "diff": (diff_from_json, FOUND),
    "identity": (lambda raw: identity_from_json(str(raw["text"]), "here"), IDENTITY),
    "reruns": (partial(from_plain, Reruns), RERUNS),
    "table": (partial(from_plain, TableState), TABLE),
}


@pytest.mark.parametrize("name", READERS)
def test_documents_of_the_last_release_are_read(name: str) -> None:
    """A document reads back to the value that was written."""
    read, value = READERS[name]
    assert read(STORED[name][0]) == value
