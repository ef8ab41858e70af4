"""What does the packet of a plan say? A pure function from what was recorded to the content of `packet.json`."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, cast

from backfill_assets.audits.result import AuditResult
from backfill_assets.core.codec import to_plain
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import logic_of
from backfill_assets.core.wording import listed
from backfill_assets.evidence.inputs import ChangedModel, Inputs, Json, JudgedApproval
from backfill_assets.evidence.meaning import meaning
from backfill_assets.evidence.sentences import summary
from backfill_assets.evidence.shape import (
    ApprovalPart,
    Batch,
    Change,
    Check,
    Code,
    ColumnPart,
    ConsumerPart,
    Consumers,
    Count,
    Failure,
    FindingPart,
    MaintenancePart,
    ModelPart,
    NeededPart,
    Packet,
    PlanPart,
    ProofPart,
    RangesPart,
    Read,
    Rollback,
    RulesPart,
    SourcePart,
    Spent,
    Summary,
    TablePart,
    Target,
)
from backfill_assets.plan.category import Category
from backfill_assets.plan.category import Change as PlannedChange
from backfill_assets.plan.estimate_text import comparison, saving
from backfill_assets.plan.stages import Plan, change_json
from backfill_assets.state.approval_validity import expires, is_own
from backfill_assets.state.proofs import Proof
from backfill_assets.state.rules import Rules, RulesInForce
from backfill_assets.state.versions import table_path

OWN = frozenset({"diff", "consumers", "kept"})
"""Kinds of proofs that have a part of their own."""
QUIET = frozenset({"code", "path", "columns", "description", "helpers", "upstreams", "language"})
"""Parts of a definition that the list of changed settings leaves out: they are told elsewhere."""

Kind = Literal["new", "changed", "restated", "forward", "extended", "relisted"]
_EMPTY = Summary(headline="", changed=[], depends=[], tests=[], accepted=[], mind=[])


def packet(inputs: Inputs) -> Packet:
    """The packet, with its summary in plain words."""
    models = [_model(s, inputs) for s in inputs.subjects]
    changed = {m.model for m in models}
    proofs = {kind: _proof(proof, inputs.content) for kind, proof in inputs.proofs.items()}
    plain = Packet(
        packet=1,
        as_of=_newest(inputs).isoformat(),
        summary=_EMPTY,
        plan=PlanPart(
            id=inputs.plan.id,
            environment=inputs.plan.environment,
            status="promoting" if inputs.promoting else cast(Any, inputs.plan.status.value),
            by=inputs.plan.by,
            opened=inputs.plan.created.isoformat(),
            since=inputs.plan.since.isoformat(),
            now=inputs.said.now.isoformat(),
            stages=[to_plain(s) for s in inputs.said.stages],
            kept=_kept(inputs.said),
            why=inputs.said.request.why,
            amended=list(inputs.amendment.words) if inputs.amendment else [],
        ),
        models=models,
        sources=_sources(inputs.subjects, changed),
        checks=[check for s in inputs.subjects for check in _checks(s)],
        consumers=Consumers(
            confirmed=inputs.consumers_confirmed and inputs.consumers_confirmed.isoformat(),
            readers=[
                ConsumerPart(
                    name=c.name,
                    kind=c.kind,
                    owner=c.owner,
                    description=c.description,
                    url=c.url,
                    reads=list(c.reads),
                    affected=[name for name in c.reads if name in changed],
                    confirmed=c.last_verified and c.last_verified.isoformat(),
                    how=c.how,
                )
                for c in inputs.consumers
            ],
        ),
        approvals=[_approval(yes, inputs) for yes in inputs.approvals],
        needed=[
            NeededPart(
                owner=one.owner,
                models=list(one.models),
                roles=list(one.roles),
                command=f"backfill approve {inputs.plan.id}{_for(one.owner) if len(inputs.asked) > 1 else ''}",
                given=any(not yes.doubt and yes.approval.owner == one.owner for yes in inputs.approvals),
            )
            for one in inputs.asked
        ],
        spent=Spent(
            estimate=inputs.estimate.to_json(),
            actual=inputs.actual.to_json(),
            sentence=" ".join(filter(None, _took(inputs))),
        ),
        rollback=_rollback(inputs),
        data_diff=proofs.get("diff"),
        contract_impact=[dict(i) for i in inputs.impacts] if inputs.impacts is not None else None,
        query_reruns=proofs.get("consumers"),
        kept=proofs.get("kept"),
        proofs={kind: proof for kind, proof in proofs.items() if kind not in OWN},
        rules=inputs.rules and _rules(inputs.rules),
        maintenance=inputs.maintenance
        and MaintenancePart(
            windows=str(inputs.maintenance.windows),
            sentence=inputs.maintenance.sentence,
            notice=inputs.maintenance.notice,
        ),
    )
    return plain.model_copy(update={"summary": summary(plain)})


def _took(inputs: Inputs) -> list[str]:
    exceptions = [f"Some batches were built {reason.rstrip('.')}." for reason in inputs.exceptions]
    return [comparison(inputs.estimate, inputs.actual), saving(inputs.estimate, inputs.actual), *exceptions]


def _for(owner: str) -> str:
    return f" --for {shlex.quote(owner)}" if owner else ""


def _kept(said: Plan) -> dict[str, str]:
    """Why models are left as they are: what they do not read, where that is the reason."""
    because = said.because
    return {name: f"it {listed(because[name])}" if because.get(name) else why for name, why in said.kept.items()}


def _newest(inputs: Inputs) -> datetime:
    """The newest record: the packet's own time, so that the same facts make the same packet whenever it is written."""
    times = [inputs.plan.since]
    for s in inputs.subjects:
        times += [e.at for _, e in s.batches] + [r.at for r in s.results]
    times += [yes.approval.at for yes in inputs.approvals] + [p.at for p in inputs.proofs.values()]
    return max(times)


def _approval(yes: JudgedApproval, inputs: Inputs) -> ApprovalPart:
    a, rules = yes.approval, inputs.rules.rules if inputs.rules else Rules()
    return ApprovalPart(
        owner=a.owner,
        by=a.by,
        at=a.at.isoformat(),
        expires=expires(a, rules).isoformat(),
        digest=a.digest,
        scope={model: _pairs(part) for model, part in a.scope.items()},
        reason=a.reason,
        accepted=dict(a.accepted),
        own=is_own(a, rules, inputs.plan.authors),
        account=a.account,
        host=a.host,
        recorded=a.recorded.isoformat() if a.recorded else "",
        statement=a.statement,
        signature=a.signature,
        doubt=yes.doubt,
    )


def _rules(given: RulesInForce) -> RulesPart:
    said = given.rules
    return RulesPart(
        number=given.number,
        id=given.id,
        approvals=to_plain(said.approvals),
        people={person: list(accounts) for person, accounts in said.people.items()},
        signers=said.signers,
        owners=dict(said.owners),
        validation=dict(said.validation),
        consumers={name: str(reader) for name, reader in said.consumers.items()},
        notes=list(given.notes),
    )


def _proof(proof: Proof, content: str) -> ProofPart:
    return ProofPart(
        content=proof.content,
        holds=proof.content == content if content else None,
        at=proof.at.isoformat(),
        digest=proof.digest,
        findings=[FindingPart(name=f.name, model=f.model, text=f.text) for f in proof.findings],
        document=dict(proof.document),
    )


def _model(s: ChangedModel, inputs: Inputs) -> ModelPart:
    change = inputs.said.changes.get(s.target.model)
    return ModelPart(
        model=s.target.model,
        kind=_kind(s, change, inputs.before_known),
        owner=s.model.owner,
        description=s.model.description,
        cadence=s.model.cadence.value,
        grain=list(s.model.grain),
        version=s.target.version,
        before=s.before.version if s.before else None,
        change=Change(**change_json(change, inputs.said.because.get(s.target.model, ()))) if change else None,
        columns=_columns(s, change),
        code=_code(s),
        ranges=RangesPart(
            recomputed=_pairs(s.target.intervals),
            count=s.target.intervals.count(s.model.cadence),
            copied=_pairs(Ranges.of(i for i, e in s.batches if e.origin and not e.origin.scope)),
            where=next((e.origin.scope for _, e in s.batches if e.origin), ""),
            by_key=any(e.origin.by_key for _, e in s.batches if e.origin),
            shown=_pairs(s.shown),
            kept=_pairs(s.kept),
            missing=_pairs(s.missing),
            provisional=_pairs(s.provisional),
            partial=bool(s.kept or s.missing),
        ),
        table=_table(s),
        batches=[
            Batch(
                interval=(i.start.isoformat(), i.end.isoformat()),
                commit=e.table_commit,
                batch=e.batch,
                attempt=e.attempt,
                run=e.run,
                rows=e.rows,
                bytes=e.bytes,
                seconds=round(e.seconds, 3),
                at=e.at.isoformat(),
                inputs=dict(e.inputs or {}),
            )
            for i, e in s.batches
        ],
        rows=[
            Count(start=at.isoformat(), old=s.old_rows.get(at), new=s.new_rows.get(at))
            for at in sorted(s.old_rows.keys() | s.new_rows.keys())
        ],
        lineage=list(s.rewired),
    )


def _kind(s: ChangedModel, change: PlannedChange | None, known: bool) -> Kind:
    if s.target.version != logic_of(s.target.version):
        return "restated"
    if s.kept:
        return "forward"
    if s.target.columns and not s.target.intervals:
        return "relisted"
    if s.before is not None:
        return "extended" if s.before.version == s.target.version else "changed"
    return "changed" if not known and change and change.category is not Category.NEW else "new"


def _columns(s: ChangedModel, change: PlannedChange | None) -> list[ColumnPart]:
    old = dict(s.old.columns) if s.old else {}
    new = dict(s.record.columns) if s.record else {}
    if s.target.columns:  # the same table: what its view lists
        old = dict(s.before.columns) if s.before else old
        new = {name: kind for name, kind in new.items() if name.lower() in s.target.columns}
    values = {c.lower() for c in (change.columns if change else ())}
    written = {c.name.lower(): c.description for c in s.model.columns}

    def what(name: str) -> Literal["same", "values", "type", "added", "removed"]:
        if name not in new:
            return "removed"
        if name not in old:
            return "added" if old else "same"
        if old[name] != new[name]:
            return "type"
        return "values" if name.lower() in values else "same"

    return [
        ColumnPart(
            name=name,
            old_type=old.get(name),
            new_type=new.get(name),
            what=what(name),
            description=written.get(name.lower(), ""),
        )
        for name in [*new, *(n for n in old if n not in new)]
    ]


def _code(s: ChangedModel) -> Code:
    old = s.old.definition if s.old else None
    was = str(old["code"]) if old and "code" in old else None
    is_ = str(s.record.definition.get("code", s.model.code)) if s.record else s.model.code
    lines = difflib.unified_diff(
        (was or "").splitlines(),
        is_.splitlines(),
        f"{s.target.model} (before)",
        f"{s.target.model} (after)",
        lineterm="",
    )
    return Code(
        language=s.model.language,
        old=was,
        new=is_,
        diff="\n".join(lines) if was is not None and was != is_ else "",
        settings=_settings(old, s.record.definition) if old and s.record else {},
    )


def _settings(old: Mapping[str, object], new: Mapping[str, object]) -> dict[str, tuple[Any, Any]]:
    names = sorted((old.keys() | new.keys()) - QUIET)
    return {name: (old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)}


def _table(s: ChangedModel) -> TablePart | None:
    t = s.table
    if t is None:
        return None
    return TablePart(
        path=table_path("", t.model, t.version).lstrip("/"),
        commit=t.commit,
        commits=len(t.commits),
        foreign=list(t.foreign),
        files=len(t.files),
        bytes=t.bytes,
        digest=t.digest,
    )


def _sources(subjects: Sequence[ChangedModel], changed: Iterable[str]) -> list[SourcePart]:
    """What the batches read, source by source; what they read of changed models is in those models' own parts."""
    found: dict[str, dict[str, tuple[Mapping[str, Any], list[str]]]] = {}
    for s in subjects:
        for _, entry in s.batches:
            for name, pin in (entry.inputs or {}).items():
                if name in changed:
                    continue
                _, models = found.setdefault(name, {}).setdefault(repr(pin), (cast(Json, pin), []))
                if s.target.model not in models:
                    models.append(s.target.model)
    return [
        SourcePart(name=name, reads=[Read(pin=dict(pin), models=models) for pin, models in pins.values()])
        for name, pins in sorted(found.items())
    ]


def _checks(s: ChangedModel) -> list[Check]:
    audits = {a.name: a for a in s.model.audits}
    by_check: dict[str, list[AuditResult]] = {}
    for result in s.results:
        by_check.setdefault(result.check, []).append(result)
    return [
        Check(
            model=s.target.model,
            check=name,
            blocking=results[-1].blocking,
            means=(meaning(audits[name], s.model) if name in audits else "") or results[-1].expected,
            expected=results[-1].expected,
            tested=len(results),
            passed=sum(r.passed for r in results),
            failures=[
                Failure(
                    interval=(r.interval.start.isoformat(), r.interval.end.isoformat()),
                    observed=r.observed,
                    sample=list(r.sample),
                )
                for r in results
                if not r.passed
            ],
        )
        for name, results in by_check.items()
    ]


def _rollback(inputs: Inputs) -> Rollback:
    names = [s.target.model for s in inputs.subjects]
    place = inputs.plan.environment
    nothing = inputs.before_known and not any(s.before for s in inputs.subjects)
    if not inputs.before_known:
        text = f"What {place} showed before is not recorded in this packet, because it was written after the promotion."
    elif nothing:
        text = f"{place} showed nothing of this before: going back means to take it away again."
    else:
        text = (
            f"The tables that {place} showed before this release stay as they are. Going back points {place} at them "
            "again"
            f"{', all models at once' if len(names) > 1 else ''}; only days that came since are computed first, by the "
            "older definition. Nothing is copied."
        )
    return Rollback(
        known=inputs.before_known,
        to=[_before(s.target.model, s.before) for s in inputs.subjects],
        command=inputs.rollback_command,
        text=text,
    )


def _before(model: str, pointer: Pointer | None) -> Target:
    return Target(
        model=model,
        version=pointer.version if pointer else None,
        segments=[
            {
                "version": p.version,
                "commit": p.commit,
                "interval": [p.interval.start.isoformat(), p.interval.end.isoformat()],
            }
            for p in (pointer.segments if pointer else ())
        ],
    )


def _pairs(ranges: Ranges) -> list[tuple[str, str]]:
    return [(a, b) for a, b in ranges.to_plain()]
