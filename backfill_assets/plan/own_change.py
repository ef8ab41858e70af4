"""What of a model is other than in its shown version, besides the models that it reads? Its code, or its sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from backfill_assets.core.model import UNKNOWN, Model, Project, Refs, Signature
from backfill_assets.plan.changed_texts import same_text
from backfill_assets.project.stored import UNSAID, to_definition, what_is_otherwise
from backfill_assets.state.environment import Environment
from backfill_assets.state.versions import Version

_DECIDING = (
    "cadence", "time_column", "lookback", "spark", "write", "dedupe", "grain", "updated_at", "code_version",
)  # fmt: skip
"""What of a header decides rows."""
UNTOLD = "its code, or the columns of what it reads, changed"
"""Where its text is the same, and its record does not say what its sources were."""
WHOLE_BY_NOW = "its column lineage is unknown here, so it is compared as a whole"
APART_BY_NOW = "its column lineage is known now, and was not when it was published"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnChange:
    """How a model differs from its shown version."""

    code: bool
    """Its text is another one, or its header says something else of its rows."""
    around: tuple[str, ...] = ()
    """What is otherwise of the sources that it reads, of Spark's settings, and of how a Python model could be looked
    into, where its code is the same: a sentence each."""
    read: Refs = frozenset()
    """The columns that the shown version reads."""


def own_changes(project: Project, shown: Environment, recorded: Mapping[str, Version]) -> dict[str, OwnChange]:
    """Of the models whose shown version is another one than the code's; `recorded` are the records of shown ones."""
    return {
        name: _own_change(project, project.models[name], record)
        for name, record in recorded.items()
        if name in project.models and shown.pointers[name].version != project.fingerprints[name]
    }


def _own_change(project: Project, model: Model, record: Version) -> OwnChange:
    then, now = record.definition, to_definition(model)
    said = any(name in then and then[name] != now[name] for name in _DECIDING)
    code = said or not same_text(model, then) or then.get("time_zone") != now.get("time_zone")
    around = what_is_otherwise(project, model, then, record.signature)
    told = [UNTOLD if why == UNSAID else why for why in around if why != UNSAID or not code]
    looked = [] if code else _looked_into(project, model, record.signature)
    then_read = record.signature.row_reads.union(*record.signature.column_reads.values())
    return OwnChange(code=code, around=(*told, *looked), read=then_read)


def _looked_into(project: Project, model: Model, then: Signature) -> list[str]:
    """That a Python model's columns are told apart now and were not then, or the other way round."""
    now = project.signatures.get(model.name, UNKNOWN)
    apart, before = (bool(s.row_reads or s.column_reads) for s in (now, then))
    if model.language != "python" or apart == before:
        return []
    return [APART_BY_NOW if apart else WHOLE_BY_NOW]
