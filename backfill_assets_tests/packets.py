"""What do tests of packets start from? One plan with all that can be known of it, as frozen values."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from backfill_assets.audits.result import AuditResult
from backfill_assets.core.intervals import Cadence, Interval, Ranges, utc
from backfill_assets.core.model import Audit, Consumer
from backfill_assets.evidence.inputs import ChangedModel, Inputs, JudgedApproval
from backfill_assets.evidence.tables import EvidenceFile, TableCommit, TableState
from backfill_assets.plan.actual import Actual
from backfill_assets.plan.estimate import Estimate, PlanEstimate
from backfill_assets.plan.spread import Spread
from backfill_assets.plan.stages import plan_from_json
from backfill_assets.state.approvals import Approval
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets.state.plans import PlanRecord, PlanStatus, PlanTarget
from backfill_assets.state.proofs import Finding, Proof
from backfill_assets.state.versions import Version
from backfill_assets_tests.fakes import a_model, a_pointer, days, ranges

BUILT = utc("2024-02-01T09:30")
OLD_SQL = "SELECT ds, id, count(*) AS conversions FROM clicks GROUP BY ds, id"
NEW_SQL = "SELECT ds, id, count(DISTINCT click) AS conversions FROM clicks GROUP BY ds, id"
AUDITS = (
    Audit(name="not_null", kind="not_null", arguments={"columns": ("ds", "id")}),
    Audit(name="row_count", kind="row_count", arguments={"within_percent": 20}, blocking=False),
)
MODEL = a_model(
    "performance",
    "clicks",
    code=NEW_SQL,
    owner="marketing@example.com",
    description="One row per day and campaign.",
    audits=AUDITS,
)


class MemoryFolder:
    """A Folder in this process."""

    location = "memory:"

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self.files = dict(files or {})

    def names(self) -> list[str]:
        return sorted(self.files)

    def read(self, name: str) -> bytes | None:
        return self.files.get(name)

    def write(self, name: str, content: bytes) -> None:
        self.files[name] = content

    def delete(self, name: str) -> None:
        self.files.pop(name, None)


class MemoryTables:
    """A TableReader over states that a test made."""

    def __init__(self, *states: TableState) -> None:
        self.states = {(s.model, s.version, s.commit): s for s in states}

    def state(self, model: str, version: str, commit: int, *, hash_up_to: int = 0) -> TableState | None:
        return self.states.get((model, version, commit))


def a_table(model: str = "performance", version: str = "new", *, files: int = 4) -> TableState:
    """A table of one batch with a file a day."""
    return TableState(
        model=model,
        version=version,
        commit=1,
        commits=(
            TableCommit(commit=1, batch="b1", start="2024-01-01T00:00:00+00:00", end="2024-01-05T00:00:00+00:00"),
        ),
        files=tuple(
            EvidenceFile(path=f"ds=2024-01-0{n + 1}/part-{n}.parquet", bytes=1000 + n, sha256=_hash(f"{model}{n}"))
            for n in range(files)
        ),
    )


def a_diff() -> dict[str, Any]:
    """What `backfill diff` says, as far as packets read it: a quarter of the rows of each day moved."""

    def stats(total: int) -> dict[str, Any]:
        return {"nulls": 0, "distinct": 4, "sum": total, "mean": total / 4, "p50": 1, "p95": 9, "min": 0, "max": 9}

    def group(name: str, changed: int, unchanged: int, old: int, new: int) -> dict[str, Any]:
        rows = {"unchanged": unchanged, "changed": changed, "added": 0, "removed": 0}
        return {
            "name": name,
            "rows": rows,
            "columns": {"conversions": {"changed": changed, "old": stats(old), "new": stats(new)}},
        }

    def column(name: str, kind: str, of: str) -> dict[str, Any]:
        return {"name": name, "kind": kind, "old_type": of, "new_type": of, "key": kind == "text", "masked": False}

    return {
        "old": "prod",
        "new": "plan-7f3c",
        "models": [
            {
                "model": "performance",
                "grain": ["ds", "id"],
                "columns": [column("id", "text", "string"), column("conversions", "integer", "bigint")],
                "total": group("", 10, 30, 400, 380),
                "days": [group(f"2024-01-0{n + 1}", 2, 8, 100, 95 + n) for n in range(4)],
                "samples": [
                    {
                        "kind": "changed",
                        "key": {"ds": "2024-01-02", "id": "<b>7</b>"},
                        "old": {"conversions": "9"},
                        "new": {"conversions": "8"},
                    }
                ],
            }
        ],
    }


def a_proof(kind: str = "diff", **more: object) -> Proof:
    values: dict[str, object] = {
        "plan": "7f3c",
        "kind": kind,
        "content": "rows",
        "at": utc("2024-02-01T11:00"),
        "findings": (Finding(name="conversions", model="performance", text="conversions moved by −5 %"),),
        "document": a_diff(),
    }
    return Proof(**(values | more))  # type: ignore[arg-type]


def an_approval(*, doubt: str = "", **more: object) -> JudgedApproval:
    said = Approval(
        plan="7f3c",
        environment="prod",
        digest="c0ffee",
        scope={"performance": ranges(days("01", "04"))},
        owner="marketing@example.com",
        by="ana",
        at=utc("2024-02-01T12:00"),
        account="ana",
        host="laptop",
        recorded=utc("2024-02-01T12:00"),
        reason="One click counts once.",
        accepted={"conversions": "double clicks were counted twice"},
    )
    return JudgedApproval(approval=replace(said, **more), doubt=doubt)  # type: ignore[arg-type]


def some_inputs(*, scope: Interval | None = None, **more: object) -> Inputs:
    """A plan that changed `conversions` of `performance` on 1–4 January 2024; `trends` was kept."""
    scope = scope or days("01", "04")
    subject = a_subject(scope)
    plan = PlanRecord(
        id="7f3c",
        environment="prod",
        targets=(subject.target,),
        created=utc("2024-02-01T09:00"),
        by="ben",
        status=PlanStatus.APPLIED,
        since=utc("2024-02-01T10:00"),
    )
    values: dict[str, object] = {
        "plan": plan,
        "said": plan_from_json(a_document(scope)),
        "subjects": (subject,),
        "before_known": True,
        "consumers": (
            Consumer(name="dashboard", owner="cmo@example.com", reads=("performance",), file=Path("/c.yml")),
            Consumer(name="notebook", kind="notebook", reads=("trends",), file=Path("/c.yml")),
        ),
        "consumers_confirmed": date(2024, 1, 15),
        "estimate": PlanEstimate(
            stages=(),
            total=Estimate(seconds=Spread(low=20, likely=30, high=40), basis="3 batches"),
            unknown=(),
            price=None,
        ),
        "actual": Actual(stages=(), seconds=31, rows=40, bytes=4006, used=None, cost=None),
        "approvals": (an_approval(),),
        "proofs": {"diff": a_proof()},
        "content": "rows",
    }
    return Inputs(**(values | more))  # type: ignore[arg-type]


def a_subject(scope: Interval, **more: object) -> ChangedModel:
    entry = Entry(
        kind=Kind.BUILT,
        model="performance",
        version="new",
        interval=scope,
        table_commit=1,
        batch="b1",
        run="r1",
        inputs={"clicks": {"commit": 12}},
        rows=40,
        bytes=4006,
        seconds=12.5,
        at=BUILT,
    )
    starts = [part.start for part in Cadence.DAILY.split(scope)]
    subject = ChangedModel(
        target=PlanTarget(model="performance", version="new", intervals=ranges(scope)),
        model=MODEL,
        record=_version("new", NEW_SQL),
        before=a_pointer("performance", "old", scope),
        old=_version("old", OLD_SQL),
        complete=ranges(scope),
        shown=ranges(scope),
        kept=Ranges(),
        missing=Ranges(),
        table=a_table(),
        batches=((scope, entry),),
        results=tuple(_result(audit, Interval(at, at + timedelta(days=1))) for audit in AUDITS for at in starts),
        old_rows=dict.fromkeys(starts, 10),
        new_rows=dict.fromkeys(starts, 10),
    )
    return replace(subject, **more)  # type: ignore[arg-type]


def a_document(scope: Interval) -> dict[str, Any]:
    """The plan as it was stored."""
    pair = [scope.start.isoformat(), scope.end.isoformat()]
    return {
        "id": "7f3c",
        "environment": "prod",
        "now": "2024-01-11T12:00:00+00:00",
        "stages": [
            {
                "stage": "build", "model": "performance", "version": "new", "intervals": [pair], "count": 4,
                "batches": [pair], "concurrency": 1, "reason": "changed",
            },
            {"stage": "promote", "environment": "prod", "models": [{"model": "performance", "version": "new"}]},
        ],
        "kept": {"trends": "complete and audited"},
        "patches": {},
        "changes": {
            "performance": {
                "category": "breaking", "rows": False, "columns": ["conversions"], "added": [], "removed": [],
                "renamed": {}, "because": ["its own code changed"],
            },
            "trends": {
                "category": "unchanged", "rows": False, "columns": [], "added": [], "removed": [], "renamed": {},
                "because": ["reads none of what changed in performance (conversions)"],
            },
        },
    }  # fmt: skip


def _version(name: str, code: str) -> Version:
    return Version(
        model="performance",
        version=name,
        upstream={},
        columns=(("ds", "date"), ("id", "string"), ("conversions", "bigint")),
        definition={"code": code, "language": "sql", "lookback": 0},
        created=BUILT,
    )


def _result(audit: Audit, interval: Interval) -> AuditResult:
    return AuditResult(
        model="performance",
        version="new",
        batch="b1",
        interval=interval,
        check=audit.name,
        blocking=audit.blocking,
        passed=True,
        failures=0,
        observed="0 failing of 10 rows",
        expected=audit.name,
        at=BUILT,
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
