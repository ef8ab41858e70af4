"""What do tests of the reviewer's page look at? A warehouse, built without Spark, whose texts are not to be trusted."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from backfill_assets.app.approve import ApprovalRequest, approve
from backfill_assets.app.context import Context
from backfill_assets.app.gate import cases_of
from backfill_assets.app.promote import promote_plan
from backfill_assets.compare.codec import diff_to_json
from backfill_assets.compare.diff import (
    ColumnMove,
    Diff,
    DiffColumn,
    Distribution,
    Keys,
    ModelDiff,
    RowCounts,
    RowGroup,
    Sample,
    Slice,
    Stats,
)
from backfill_assets.core.intervals import Cadence
from backfill_assets.plan.stages import Request
from backfill_assets.promote.approval import EVERY_PROOF, subject
from backfill_assets.promote.lifecycle import find_plan
from backfill_assets.state.proofs import Finding, Proof
from backfill_assets_tests.fakes import days, ranges
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import build, unsparked

ANA, VERA = "ana@example.com", "vera@example.com"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"' onload=x {{ 7 * 7 }} \u202egnp \x1b[31m"
SECRET, MASK = "ann@example.com", "#5f2a11cc0912"
FINDING = "daily.n"
READERS = """
last_verified: 2024-01-03
consumers:
  - {name: cfo_weekly_export, kind: export, owner: cfo@example.com, criticality: high, reads: [daily], notice: 7 days,
     description: "<b>every</b> Monday"}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """A project whose plan waits: ana's yes is void by now, vera was never asked before."""

    root: Path
    first: str
    """The plan that prod shows."""
    plan: str

    def place(self, user: str = "dev") -> Context:
        return unsparked(self.root, user=user)


def review_shop(root: Path, *, length: int = 4, signers: str = "") -> Shop:
    """Ana owns `daily`, vera validates it; dev's plan changes it, and was compared. `signers`: whose keys count."""
    project = small_project(root, days=length)
    if signers:
        (project / "allowed_signers").write_text(signers)
    settings = project / "backfill.yml"
    people = {name: {"accounts": [name.partition("@")[0]]} for name in (ANA, VERA, "dev@example.com")}
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"people": people}))
    daily = project / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("grain:", f"contract: {{validation_owner: {VERA}}}\ngrain:", 1))
    (project / "consumers.yml").write_text(READERS)
    place = unsparked(project, user="dev")
    build(place)
    assert promote_plan(place).verdict.open
    [first] = [r.id for r in place.control.plans.all()]
    daily.write_text(daily.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    place = unsparked(project, user="dev")
    build(place, Request(why=HOSTILE))
    [plan] = [r.id for r in place.control.plans.all() if r.live]
    compare(place, plan, a_difference(length, moved=5))
    request = ApprovalRequest(plan=plan, reason=HOSTILE, accepted={FINDING: HOSTILE})
    approve(unsparked(project, user="ana"), request)
    compare(place, plan, a_difference(length, moved=6))  # it came out differently: what ana said is void
    return Shop(root=project, first=first, plan=plan)


def compare(place: Context, plan: str, diff: Diff) -> None:
    """Record what a comparison in Spark would have found: `n` moved, which somebody has to accept."""
    record, facts = find_plan(place.control, plan), place.facts()
    content = subject(place.project, facts, cases_of(place, facts).review(facts, record)).content
    finding = Finding(name=FINDING, model="daily", text=f"n moved {HOSTILE}")
    made = Proof(plan=plan, kind="", content=content, at=datetime.now(UTC), findings=(), document={})
    kinds = [replace(made, kind=kind) for kind in sorted(EVERY_PROOF - {"diff"})]
    told = replace(made, kind="diff", findings=(finding,), document=diff_to_json(diff))
    place.control.proofs.put([told, *kinds])


def a_difference(length: int, *, moved: int) -> Diff:
    """`daily` on both sides: `moved` of the ten rows of each day have another `n`."""
    span = days("01", f"{length:02}")

    def group(name: str, many: int) -> RowGroup:
        old = Stats(nulls=0, distinct=4, sum=100 * many, mean=10.0, p50=9, p95=18, min=0, max=20)
        new = Stats(nulls=1, distinct=5, sum=110 * many, mean=11.0, p50=10, p95=20, min=0, max=24)
        text = Stats(distinct=3, min=HOSTILE, max="z")
        return RowGroup(
            name=name,
            rows=RowCounts(
                old=10 * many, new=11 * many, unchanged=(10 - moved) * many, changed=moved * many, added=many
            ),
            moves=(
                ColumnMove(column="n", changed=moved * many, old=old, new=new),
                ColumnMove(column=f"x{HOSTILE}", changed=1, old=text, new=text),
                ColumnMove(column="mail", changed=1, old=Stats(distinct=2), new=Stats(distinct=2)),
            ),
        )

    starts = [part.start for part in Cadence.DAILY.split(span)]
    model = ModelDiff(
        model="daily",
        grain=("ds", "kind"),
        time_column="ds",
        tolerance=1e-9,
        old=("old at commit 1",),
        new=("new at commit 1",),
        compared=ranges(span),
        old_keys=Keys(),
        new_keys=Keys(duplicate_keys=2, duplicate_rows=5),
        columns=(
            DiffColumn(name="ds", kind="text", old_type="date", new_type="date", key=True),
            DiffColumn(name="n", kind="integer", old_type="bigint", new_type="bigint"),
            DiffColumn(name=f"x{HOSTILE}", kind="text", old_type="string", new_type="string"),
            DiffColumn(name="mail", kind="text", old_type="string", new_type="string", masked=True),
        ),
        total=group("", length),
        days=tuple(group(f"{at:%Y-%m-%d}", 1) for at in starts),
        slices=(Slice(column="kind", groups=(group(HOSTILE, 1), group("b", 2))),),
        distributions=(
            Distribution(
                column="n", edges=tuple(map(float, range(0, 25, 5))), old=(0, 30, 10, 0, 0, 2), new=(1, 20, 18, 2, 0, 3)
            ),
            Distribution(
                column=f"x{HOSTILE}", values=(HOSTILE, None, ""), old=(9, 2, 1, 28), new=(7, 2, 0, 35), one_in=4
            ),
        ),
        samples=(
            Sample(
                kind="changed",
                key=(("ds", "2024-01-02"), ("kind", HOSTILE)),
                old=(("n", "9"), ("mail", MASK)),
                new=(("n", HOSTILE), ("mail", "#0000aaaa1111")),
            ),
        ),
    )
    return Diff(old="prod", new="plan", models=(model,))
