"""What does the packet of a release say? What moves from where to where, what made its rows, and who let it.

Every release has one, written before anything moves: also a routine run, a rollback and joined corrections, of which no
plan tells. What was compared and asked about changed rows is in the packets of the plans that it names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from backfill_assets.audits.result import AuditResult
from backfill_assets.core.escaping import markdown, markdown_code
from backfill_assets.core.intervals import Cadence, Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.wording import listed
from backfill_assets.evidence.formatting import count, moment, spans
from backfill_assets.evidence.write import RELEASE, RELEASE_PAGE, as_json
from backfill_assets.state.approvals import Approval
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import DECIDING, Entry, by_version, coverage
from backfill_assets.state.releases import Release
from backfill_assets.state.replaced_rows import replaced
from backfill_assets.state.tables import TableLog

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moving:
    """A release that is about to happen."""

    release: str
    environment: Environment
    """As it is."""
    pointers: tuple[Pointer, ...]
    """Those that move, as they will be recorded."""
    removed: tuple[str, ...] = ()
    purpose: str
    """promotion, routine, rollback or join."""
    cadences: Mapping[str, Cadence] = field(default_factory=dict[str, Cadence])
    """Of models; days where none is known."""
    changed: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])
    """Model → the published intervals whose rows are others, as the gate judged it."""
    by: str = ""
    reason: str = ""
    at_once: bool = False
    back_to: Release | None = None
    provisional: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])
    """Model → what of it is not settled by the release's clock."""
    plans: Mapping[str, str] = field(default_factory=dict[str, str])
    """Plan → the digest of its packet."""
    approvals: tuple[Approval, ...] = ()
    """Those that it rests on."""
    rules: Json = field(default_factory=dict[str, Any])
    """Which ones are in force (`RulesInForce.to_json`)."""


def release_files(control: Control, log: TableLog, moving: Moving) -> tuple[Json, Mapping[str, bytes]]:
    """What the packet says, and its files. Reads records and tables' logs only. Raises StateError for a table that
    cannot be read."""
    said = _packet(control, log, moving)
    return said, {RELEASE: as_json(said), RELEASE_PAGE: _page(said).encode()}


def _packet(control: Control, log: TableLog, moving: Moving) -> Json:
    after = {p.model: p for p in moving.pointers}
    names = sorted({*after, *moving.removed})
    groups = by_version(control.ledger.entries(sorted(after), kinds=DECIDING)) if after else {}
    fresh = {name: _fresh(log, moving, after[name]) for name in after}
    batches = {name: _batches(groups, after[name], part) for name, part in fresh.items()}
    wanted = {entry.batch for found in batches.values() for _, entry in found}
    results = control.results.read(batches=wanted) if wanted else []
    models = [
        _model(moving, name, after.get(name), fresh.get(name, Ranges()), batches.get(name, []), results)
        for name in names
    ]
    said: dict[str, Any] = {
        "packet": 1,
        "release": moving.release,
        "environment": moving.environment.name,
        "purpose": moving.purpose,
        "by": moving.by,
        "reason": moving.reason,
        "at_once": moving.at_once,
        "back_to": _back_to(moving.back_to),
        "rules": dict(moving.rules),
        "plans": dict(sorted(moving.plans.items())),
        "approvals": [_approval(a) for a in moving.approvals],
        "models": models,
    }
    return {"summary": _summary(said, moving), **said}


def _fresh(log: TableLog, moving: Moving, pointer: Pointer) -> Ranges:
    """What it shows and did not show before, or showed other rows of."""
    before = moving.environment.pointers.get(pointer.model)
    others = replaced(before, pointer, log, moving.cadences.get(pointer.model, Cadence.DAILY))
    return (pointer.covers - (before.covers if before else Ranges())) | (others & pointer.covers)


def _batches(groups: Mapping[tuple[str, str], Sequence[Entry]], pointer: Pointer, part: Ranges) -> list[Any]:
    """Version and entry that computed each part, cut to it."""
    found: list[Any] = []
    for segment in pointer.segments:
        there = coverage(groups.get((pointer.model, segment.version), []), audits="", commit=segment.commit)
        found += there.batches(part & Ranges((segment.interval,)))
    return found


def _model(
    moving: Moving,
    name: str,
    after: Pointer | None,
    fresh: Ranges,
    batches: Sequence[Any],
    results: Sequence[AuditResult],
) -> Json:
    before = moving.environment.pointers.get(name)
    covers, covered = (after.covers if after else Ranges()), (before.covers if before else Ranges())
    mine = [r for r in results if r.model == name and fresh & Ranges((r.interval,))]
    return {
        "model": name,
        "before": before and json.loads(before.to_json()),
        "after": after and json.loads(after.to_json()),
        "added": (covers - covered).to_plain(),
        "gone": (covered - covers).to_plain(),
        "changed": (moving.changed.get(name, Ranges()) & covers).to_plain(),
        "provisional": moving.provisional.get(name, Ranges()).to_plain(),
        "batches": [
            {
                "interval": [part.start.isoformat(), part.end.isoformat()],
                "version": entry.version,
                "commit": entry.table_commit,
                "batch": entry.batch,
                "run": entry.run,
                "rows": entry.rows,
                "at": entry.at.isoformat(),
                "inputs": dict(entry.inputs or {}),
            }
            for part, entry in batches
        ],
        "checks": [_check(check, [r for r in mine if r.check == check]) for check in sorted({r.check for r in mine})],
    }


def _check(name: str, results: Sequence[AuditResult]) -> Json:
    """The newest result of each interval."""
    newest = {r.interval: r for r in results}
    return {
        "check": name,
        "blocking": results[-1].blocking,
        "tested": len(newest),
        "passed": sum(r.passed for r in newest.values()),
        "failed": [[i.start.isoformat(), i.end.isoformat()] for i, r in sorted(newest.items()) if not r.passed],
    }


def _back_to(release: Release | None) -> Json | None:
    """The release that lets the rows through again: they were judged when it was made. Of `nothing` its name."""
    if release is not None and release.shows_nothing:
        return {"release": release.id, "at": "", "by": "", "evidence": {}, "rules": {}}
    return release and {
        "release": release.id,
        "at": release.at.isoformat(),
        "by": release.by,
        "evidence": dict(release.evidence),
        "rules": dict(release.rules),
    }


def _approval(given: Approval) -> Json:
    return {
        "plan": given.plan,
        "owner": given.owner,
        "by": given.by,
        "account": given.account,
        "at": given.at.isoformat(),
        "digest": given.digest,
        "scope": {model: part.to_plain() for model, part in given.scope.items()},
        "reason": given.reason,
        "accepted": dict(given.accepted),
        "statement": given.statement,
        "signature": given.signature,
    }


def _summary(said: Json, moving: Moving) -> list[str]:
    """The answers at a glance."""
    place, by = said["environment"], said["by"] or "nobody knows whom"
    match said["purpose"]:
        case "routine":
            first = f"A routine run by {by} adds intervals to {place}."
        case "join":
            first = f"Corrections of {place} are joined in one table, by {by}: copies of the same rows."
        case "rollback":
            there = moving.back_to
            if there is None:
                first = f"{place} goes back, by {by}."
            elif there.shows_nothing:
                gone = listed(moving.removed)
                first = f"{gone}, which the code does not have any more, is taken out of {place}, by {by}."
            else:
                first = f"{place} goes back to release {there.id} ({moment(there.at)}, by {there.by}), by {by}."
        case _:
            first = f"{place} moves, by {by}."
    lines = [first]
    if said["reason"]:
        lines.append(f"Why: {said['reason']}")
    if said["at_once"]:
        lines.append("At once (--now): without what the older versions lack.")
    lines += [_line(m, moving.cadences.get(m["model"], Cadence.DAILY)) for m in said["models"]]
    lines.append(_permission(said, moving))
    tests = [c for m in said["models"] for c in m["checks"]]
    if tests:
        passed, tested = sum(c["passed"] for c in tests), sum(c["tested"] for c in tests)
        lines.append(f"Tests of what is shown anew: {passed:,} of {tested:,} passed.")
    if said["plans"]:
        lines.append(f"What was compared and asked is in the packet of {listed([f'plan {p}' for p in said['plans']])}.")
    return lines


def _line(model: Json, cadence: Cadence) -> str:
    parts = (("shows new rows", "changed"), ("is added", "added"), ("is out of sight", "gone"))
    found = [(what, Ranges.of_plain(model[key])) for what, key in parts]
    told = [f"{spans(ranges, cadence)} {what}" for what, ranges in found if ranges]
    if model["before"] is None:
        told.insert(0, "is shown for the first time")
    if model["after"] is None:
        told.insert(0, "is not shown any more")
    if part := Ranges.of_plain(model["provisional"]):
        told = [*(told or ["the same rows"]), f"{spans(part, cadence)} is provisional: rows may still come"]
    return f"{model['model']}: {', '.join(told) or 'the same rows'}."


def _permission(said: Json, moving: Moving) -> str:
    if not any(model["changed"] for model in said["models"]) and not moving.removed:
        return "No published row is another one: nobody's approval is needed."
    if moving.back_to is not None and moving.back_to.shows_nothing:
        return "No row takes the place of those: nobody's approval is needed. `backfill rollback` shows them again."
    if moving.back_to is not None:
        sealed = f", whose packets it names ({count(len(moving.back_to.evidence), 'packet')})" * bool(
            moving.back_to.evidence
        )
        return (
            f"Its rows were let through when release {moving.back_to.id} was made{sealed}: that stands for an approval."
        )
    if moving.purpose == "routine":
        return (
            "They were provisional, and their sources changed: the settling windows in force are their owners' consent."
        )
    if said["rules"].get("required") is False:
        return "Approvals were off (approvals.required: false): nobody had to approve it."
    by = listed(
        [f"{a['by']} for {a['owner'] or 'models without an owner'} at {a['at'][:16]} UTC" for a in said["approvals"]]
    )
    return f"Approved by {by}." if by else "No approval is recorded."


def _page(said: Json) -> str:
    """The same for people to read."""
    lines = [f"# Release {markdown(said['release'])} of {markdown(said['environment'])}", ""]
    lines += [f"- {markdown(line)}" for line in said["summary"]]
    for model in said["models"]:
        lines += ["", f"## {markdown(model['model'])}", ""]
        lines += [f"- {markdown_code(_place(model[side]))} {side}" for side in ("before", "after")]
        for batch in model["batches"]:
            pins = ", ".join(f"{name} {json.dumps(pin, sort_keys=True)}" for name, pin in batch["inputs"].items())
            at = f"{batch['interval'][0][:16]} to {batch['interval'][1][:16]}"
            what = f"batch {batch['batch']}, commit {batch['commit']}, {batch['rows']} rows, from {pins or 'nothing'}"
            lines.append(f"- {at}: {markdown(what)}")
        for check in model["checks"]:
            said_of = f"{check['passed']} of {check['tested']} passed{'' if check['blocking'] else ' (advisory)'}"
            lines.append(f"- {markdown(check['check'])}: {said_of}")
    return "\n".join(lines) + "\n"


def _place(pointer: Json | None) -> str:
    if pointer is None:
        return "nothing"
    return "; ".join(
        f"{s['version']} at commit {s['commit']}, {s['start'][:16]} to {s['end'][:16]}" for s in pointer["segments"]
    )
