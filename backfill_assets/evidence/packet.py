"""What does the packet of a plan say? A pure function from what was recorded to the content of `packet.json`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from backfill_assets.core.codec import to_plain
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.wording import listed
from backfill_assets.evidence.inputs import ChangedModel, Inputs, Json, JudgedApproval
from backfill_assets.evidence.model_part import checks_of, model_part, pairs
from backfill_assets.evidence.sentences import summary
from backfill_assets.evidence.shape import (
    ApprovalPart,
    ConsumerPart,
    Consumers,
    FindingPart,
    MaintenancePart,
    NeededPart,
    Packet,
    PlanPart,
    ProofPart,
    Read,
    Rollback,
    RulesPart,
    SourcePart,
    Spent,
    Summary,
    Target,
)
from backfill_assets.plan.estimate_text import comparison, saving
from backfill_assets.plan.stages import Plan
from backfill_assets.state.approval_validity import expires, is_own
from backfill_assets.state.proofs import Proof
from backfill_assets.state.rules import Rules, RulesInForce

OWN = frozenset({"diff", "consumers", "kept"})
"""Kinds of proofs that have a part of their own."""
_EMPTY = Summary(headline="", changed=[], depends=[], tests=[], accepted=[], mind=[])


def packet(inputs: Inputs) -> Packet:
    """The packet, with its summary in plain words."""
    models = [model_part(s, inputs) for s in inputs.subjects]
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
        checks=[check for s in inputs.subjects for check in checks_of(s)],
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
    reads = {name: why for name, why in said.because.items() if all(each.startswith("reads") for each in why)}
    return {name: f"it {listed(reads[name])}" if reads.get(name) else why for name, why in said.kept.items()}


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
        scope={model: pairs(part) for model, part in a.scope.items()},
        reason=a.reason,
        accepted=dict(a.accepted),
        own=is_own(a, rules, inputs.plan.authors),
        account=a.account,
        host=a.host,
        recorded=a.recorded.isoformat() if a.recorded else "",
        statement=a.statement,
        signature=a.signature,
        plan=a.plan if a.plan != inputs.plan.id else "",
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


def _rollback(inputs: Inputs) -> Rollback:
    names = [s.target.model for s in inputs.subjects]
    place = inputs.plan.environment
    nothing = inputs.before_known and not any(s.before for s in inputs.subjects)
    if not inputs.before_known:
        text = f"What {place} showed before is not recorded in this packet, because it was written after the promotion."
    elif nothing:
        now = "shows" if any(s.out for s in inputs.subjects) else "showed"
        text = f"{place} {now} nothing of this before: going back means to take it away again."
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
