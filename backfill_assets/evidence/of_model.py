"""What of a plan's packet is about one of its models? The same packet, without what is about others only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from backfill_assets.contracts.levels import Level
from backfill_assets.evidence.shape import Packet, Part, ProofPart, Section

T = TypeVar("T", bound=Part)


def of_model(packet: Packet, model: str) -> Packet:
    """The packet as far as it is about the model. Summary, costs and the way back stay the plan's."""
    readers = [_part(c, affected=[name for name in c.affected if name == model]) for c in packet.consumers.readers]
    reading = {c.name for c in packet.consumers.readers if model in c.reads}
    impact, stages = packet.contract_impact, [_stage(s, model) for s in packet.plan.stages]
    return _part(
        packet,
        plan=_part(packet.plan, stages=[s for s in stages if s.get("stage") != "approve" or s["owners"]]),
        models=[m for m in packet.models if m.model == model],
        checks=[c for c in packet.checks if c.model == model],
        consumers=_part(packet.consumers, readers=readers),
        approvals=[a for a in packet.approvals if model in a.scope or not a.scope],
        needed=[n for n in packet.needed if model in n.models],
        contract_impact=impact if impact is None else [_impact(one, model) for one in impact],
        data_diff=_proof(packet.data_diff, model),
        kept=_proof(packet.kept, model),
        proofs={kind: _known(proof, model) for kind, proof in packet.proofs.items()},
        query_reruns=_reruns(_proof(packet.query_reruns, model), reading),
    )


def _part(part: T, **changes: Any) -> T:
    return part.model_copy(update=changes)


def _stage(stage: Section, model: str) -> Section:
    """Of whom it asks, those who are asked about the model."""
    if stage.get("stage") != "approve":
        return stage
    return {**stage, "owners": [owned for owned in stage["owners"] if model in owned["models"]]}


def _impact(impact: Section, model: str) -> Section:
    models = [m for m in impact["models"] if m["model"] == model]
    worst = max((Level(m["level"]) for m in models), key=lambda level: level.rank, default=None)
    return {**impact, "models": models, "level": worst and worst.value}


def _proof(proof: ProofPart | None, model: str) -> ProofPart | None:
    return None if proof is None else _known(proof, model)


def _known(proof: ProofPart, model: str) -> ProofPart:
    return _part(proof, findings=[f for f in proof.findings if f.model == model])


def _reruns(proof: ProofPart | None, readers: set[str]) -> ProofPart | None:
    """The queries of those who read the model: what each reads beside it, nobody says."""
    if proof is None:
        return None
    document: Mapping[str, Any] = proof.document
    made = [r for r in document.get("reruns", ()) if r["consumer"] in readers]
    return _part(proof, document={**document, "reruns": made})
