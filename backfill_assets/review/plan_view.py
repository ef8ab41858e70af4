"""What does the page of a plan show? Its packet, ordered for somebody who has two minutes and approves, or does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backfill_assets.app.review import PlanLook
from backfill_assets.core.intervals import utc
from backfill_assets.evidence.formatting import count, day, moment, number, percent
from backfill_assets.evidence.page import Chart, ModelView, model_view
from backfill_assets.evidence.plot import chart, note, title
from backfill_assets.evidence.questions import ReviewerQuestion, questions, rows_moved
from backfill_assets.evidence.readers import impact_on, moved_in, reruns
from backfill_assets.evidence.sentences import accepted_by
from backfill_assets.evidence.shape import ApprovalPart, FindingPart, ModelPart, NeededPart, Packet, Section
from backfill_assets.evidence.value_changes import Series, compared, row_series, value_changes, value_series
from backfill_assets.review.lineage import changed_columns, picture
from backfill_assets.review.plots import histogram, spread, strip
from backfill_assets.state.plans import PlanStatus
from backfill_assets.state.required_approvals import titled

COLUMNS, VALUES, SAMPLES = 24, 10, 12
"""How many columns, values of a slice and example rows of a model are shown; the packet has all."""
ANCHORS = {
    "keys": "diff", "rows": "diff", "moved": "differences", "contracts": "readers", "queries": "readers",
    "audits": "audits", "owner": "approvals",
}  # fmt: skip
"""Question → where the page answers it at length."""
STATUS = {
    "open": "being built", "applied": "built, not shown", "promoting": "about to be shown", "promoted": "shown",
    "superseded": "replaced by a newer plan", "abandoned": "given up",
}  # fmt: skip
_COUNTS = (("nulls", "empty"), ("distinct", "distinct, about"), ("min", "least"), ("p50", "median"),
           ("p95", "95 % are below"), ("max", "greatest"), ("mean", "average"), ("sum", "total"))  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDiff:
    """One column that is another one, with what there is to look at."""

    name: str
    what: str
    changed: str
    move: str
    """How its total, or the average of its rows, moved."""
    share: str
    strip: str
    chart: Chart | None
    spread: str
    histogram: str
    common: list[tuple[str, str, int, int]]
    """The most common values, and last all others: value, rows, and both bars, from 0 to 100."""
    one_in: int
    """Of the rows one in so many was counted for these."""
    facts: list[tuple[str, str, str]]
    """What was counted: name, before, after."""
    masked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceView:
    """Rows by the values of a column: value, rows, how many differ, and its bar, from 0 to 100."""

    column: str
    values: list[tuple[str, str, str, int]]
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffView:
    """A model's difference. `days` are the first and the last day that was compared."""

    model: str
    line: str
    rows_strip: str
    rows_chart: Chart | None
    days: tuple[str, str]
    columns: list[ColumnDiff]
    left_out: int
    slices: list[SliceView]
    samples: list[Section]
    uncompared: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Somebody who reads what changes: what it means for them."""

    name: str
    kind: str
    owner: str
    reads: list[str]
    means: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    """All of it, ready for the template."""

    look: PlanLook
    packet: Packet
    status: str
    sealed: bool
    """Whether it is what its release sealed, and nothing of it changes any more."""
    questions: tuple[ReviewerQuestion, ...]
    anchors: Mapping[str, str]
    models: list[ModelView]
    rows: Mapping[str, str]
    marks: Mapping[str, list[tuple[str, str]]]
    picture: str
    diffs: list[DiffView]
    findings: list[tuple[FindingPart, str]]
    readers: list[Reader]
    reruns: list[tuple[Section, str]]
    needed: list[tuple[str, NeededPart]]
    counted: list[ApprovalPart]
    void: list[ApprovalPart]


def plan_view(look: PlanLook) -> PlanView:
    """What the page says of a plan."""
    packet, sealed = look.packet, look.record.status is PlanStatus.PROMOTED
    return PlanView(
        look=look,
        packet=packet,
        status=STATUS["promoted" if sealed else packet.plan.status],
        sealed=sealed,
        questions=questions(packet),
        anchors=ANCHORS,
        models=[model_view(m, packet) for m in packet.models],
        rows={m.model: rows_moved(m) for m in packet.models},
        marks={m.model: changed_columns(m) for m in packet.models},
        picture=picture(packet, look.upstreams),
        diffs=[diff_view(m, packet) for m in packet.models],
        findings=[(f, accepted_by(packet, f)) for f in packet.findings],
        readers=[
            Reader(name=c.name, kind=c.kind, owner=c.owner, reads=c.affected, means=impact_on(packet, c.name))
            for c in packet.consumers.readers
            if c.affected
        ],
        reruns=[(r, moved_in(r)) for r in reruns(packet)],
        needed=[(titled(n.owner, n.roles), n) for n in packet.needed],
        counted=[a for a in packet.approvals if not a.doubt],
        void=[a for a in packet.approvals if a.doubt],
    )


def diff_view(m: ModelPart, packet: Packet) -> DiffView:
    """A model's difference by column and day."""
    raw = compared(packet.data_diff, m.model)
    rows = row_series(m)
    drawn = _chart(rows) if rows else None
    if raw is None:
        why = "Nothing of it was shown before." if not m.before else "Old and new rows were not compared."
        if packet.data_diff is not None and packet.data_diff.holds is False:
            why = "Old and new rows were compared, and are others by now."
        return DiffView(
            model=m.model, line=rows_moved(m), rows_strip="", rows_chart=drawn, days=("", ""), columns=[], left_out=0,
            slices=[], samples=[], uncompared=why,
        )  # fmt: skip
    days = [g for g in raw["days"] if g["name"]]
    names = [_day(g["name"]) for g in days]
    columns = _columns(m, packet, raw, days, names)
    return DiffView(
        model=m.model,
        line=_line(raw["total"]["rows"], m),
        rows_strip=strip(names, [_differ(g["rows"]) for g in days], "rows that differ, by day") if days else "",
        rows_chart=drawn,
        days=(names[0], names[-1]) if days else ("", ""),
        columns=columns[:COLUMNS],
        left_out=max(len(columns) - COLUMNS, 0),
        slices=[_slice(s) for s in raw.get("slices", ())],
        samples=list(raw.get("samples", ()))[:SAMPLES],
        uncompared="",
    )


def _line(rows: Mapping[str, int], m: ModelPart) -> str:
    paired = rows["unchanged"] + rows["changed"]
    said = f"{number(rows['changed'])} of {count(paired, 'row')} have other values"
    return f"{rows_moved(m)}; {said}, {number(rows['added'])} came, {number(rows['removed'])} went"


def _columns(
    m: ModelPart, packet: Packet, raw: Mapping[str, Any], days: Sequence[Section], names: Sequence[str]
) -> list[ColumnDiff]:
    """Those that moved, most of it first; then those that are new, and those that are gone."""
    moves = {move.column: move for move in value_changes(packet.data_diff, m.model)}
    series = {s.name: s for s in value_series(packet.data_diff, m.model)}
    kinds = {c["name"]: c for c in raw["columns"]}
    distributions = {d["column"]: d for d in raw.get("distributions", ())}
    new = [n for n, c in kinds.items() if c["old_type"] is None]
    gone = [n for n, c in kinds.items() if c["new_type"] is None]
    found: list[ColumnDiff] = []
    for name in [*moves, *new, *gone]:
        column, total = kinds[name], raw["total"]["columns"].get(name, {})
        move, drawn = moves.get(name), series.get(name)
        shares = [_share(g, name) for g in days]
        told = distributions.get(name, {"edges": (), "values": (), "old": (), "new": (), "one_in": 1})
        found.append(
            ColumnDiff(
                name=name,
                what="new" if name in new else "gone" if name in gone else "other values",
                changed=f"{number(move.changed)} of {number(move.rows)}" if move else "",
                move=(
                    f"{move.measure} {number(move.before)} → {number(move.after)}"
                    if move and move.before is not None and move.after is not None
                    else ""
                ),
                share=percent(move.share) if move and move.share is not None else "",
                strip=strip(names, shares, f"{name}: rows that differ, by day") if move and days else "",
                chart=_chart(drawn) if drawn else None,
                spread="" if column.get("masked") else spread(total.get("old"), total.get("new")),
                histogram=histogram(told["edges"], told["old"], told["new"]),
                common=_common(told),
                one_in=told["one_in"],
                facts=_facts(total.get("old"), total.get("new")),
                masked=bool(column.get("masked")),
            )
        )
    return found


def _chart(series: Series) -> Chart:
    differs = not series.fresh and series.old != series.new
    return Chart(title=title(series), note=note(series), svg=chart(series), fresh=series.fresh, differs=differs)


def _facts(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    for key, name in _COUNTS:
        one, other = (None if side is None else side.get(key) for side in (old, new))
        if one is not None or other is not None:
            found.append((name, _value(one), _value(other)))
    return found


def _value(value: object) -> str:
    if value is None:
        return "—"
    if isinstance(value, int | float):
        return number(value)
    try:
        return number(float(str(value)))
    except ValueError:
        text = str(value)
        return text if len(text) <= 60 else f"{text[:59]}…"


def _slice(raw: Mapping[str, Any]) -> SliceView:
    groups = sorted(raw["groups"], key=lambda g: -g["rows"]["new"])[:VALUES]
    most = max((max(g["rows"]["old"], g["rows"]["new"]) for g in groups), default=1) or 1
    return SliceView(
        column=raw["column"],
        values=[
            (
                "empty" if g["name"] is None else g["name"],
                f"{number(g['rows']['old'])} → {number(g['rows']['new'])}",
                number(g["rows"]["changed"]),
                round(100 * g["rows"]["new"] / most),
            )
            for g in groups
        ],
        complete=raw["complete"] and len(raw["groups"]) <= VALUES,
    )


def _common(told: Mapping[str, Any]) -> list[tuple[str, str, int, int]]:
    """The values of a distribution that tells of values; all others only where there are some."""
    if not told["values"]:
        return []
    names = ["empty" if v is None else v or "“”" for v in told["values"]]
    most = max(*told["old"], *told["new"], 1)
    found = [
        (name, f"{number(old)} → {number(new)}", round(100 * old / most), round(100 * new / most))
        for name, old, new in zip([*names, "all others"], told["old"], told["new"], strict=True)
    ]
    return found if told["old"][-1] or told["new"][-1] else found[:-1]


def _share(group: Mapping[str, Any], column: str) -> float:
    """Which part of a day's rows has another value of a column."""
    move, rows = group["columns"].get(column), group["rows"]
    paired = rows["unchanged"] + rows["changed"]
    return move["changed"] / paired if move and paired else 0.0


def _differ(rows: Mapping[str, int]) -> float:
    other = rows["changed"] + rows["added"] + rows["removed"]
    return other / max(other + rows["unchanged"], 1)


def _day(name: str) -> str:
    """A day as people read it; months and what is no day stay as they are."""
    try:
        at = utc(name)
    except ValueError:
        return name
    return day(at) if not (at.hour or at.minute) else moment(at)
