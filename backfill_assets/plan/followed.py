"""Which versions does the code compute from other models than their records say, or from the same by other names?

A renamed model has the fingerprint that it had, so that its readers keep their versions: the records of these name what
they were built from. What reads a model from now on is what counts where that model is to go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from backfill_assets.core.model import UNKNOWN, Project
from backfill_assets.plan.changed_texts import Checks, recorded_text
from backfill_assets.project.algorithm import ALGORITHM, version_of
from backfill_assets.project.stored import declared_otherwise, to_definition
from backfill_assets.state.environment import Environment
from backfill_assets.state.versions import Version, VersionRecords

_CODE = ("language", "code", "text", "files", "helpers", "path", "upstreams")
"""What of a definition says what is read. All else stays as it was promoted."""


def followed(project: Project, shown: Environment, versions: VersionRecords, checks: Checks) -> dict[str, Version]:
    """By model: the versions that are shown and that the code computes from other models, as their records would be.

    All that the code reads has to be shown in the code's versions, and its text to be one that gave the version's rows.
    `versions` by what stands beside them in this environment.
    """
    found: dict[str, Version] = {}
    for name, pointer in shown.pointers.items():
        record = versions.get((name, pointer.version))
        if record is None or name not in project.models:
            continue
        above = _models_read(project, name)
        if above == set(record.upstream) or not _is_code(project, record):
            continue
        if all(n in shown.pointers and shown.pointers[n].version == project.fingerprints[n] for n in above):
            model = project.models[name]
            check = checks.get((name, pointer.version, model.text))
            if (check and check.equal) or recorded_text(model, record):
                said = to_definition(model)
                found[name] = replace(
                    record,
                    upstream={n: project.fingerprints[n] for n in sorted(above)},
                    definition={**record.definition, **{key: said[key] for key in _CODE}},
                    signature=project.signatures[name],
                    created=max(datetime.now(UTC), record.created + timedelta(microseconds=1)),  # clocks differ
                    before=record,
                )
    return found


def _is_code(project: Project, record: Version) -> bool:
    """Whether a version is what the code says by itself, from the sources that the record names."""
    name, signature = record.model, project.signatures.get(record.model, UNKNOWN)
    return (
        project.fingerprints[name] == record.version
        and name not in {*project.hidden, *project.overrides}
        and UNKNOWN not in (signature, record.signature)
        and record.algorithm == ALGORITHM
        and version_of(signature) == version_of(record.signature)
        and not declared_otherwise(project, project.models[name], record.definition, signature)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadByNow:
    """What the models that an environment shows are computed from, from now on."""

    upstreams: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """By model: the models that it reads, with their versions."""
    bound: frozenset[str] = frozenset()
    """Those that the code has as they are shown, reading other models, and whose versions stay with what they read."""

    def readers(self, name: str) -> list[str]:
        """Who reads a model."""
        return [reader for reader, above in self.upstreams.items() if name in above]


def read_by_now(
    project: Project, shown: Environment, versions: VersionRecords, follows: Mapping[str, Version]
) -> ReadByNow:
    """The same of what is `shown`, where some models are `followed`."""
    records = {n: found for n, p in shown.pointers.items() if (found := follows.get(n) or versions.get((n, p.version)))}
    return ReadByNow(
        upstreams={name: record.upstream for name, record in records.items()},
        bound=frozenset(
            name
            for name, record in records.items()
            if project.fingerprints.get(name) == record.version
            and _models_read(project, name) != set(record.upstream)
            and not _is_code(project, record)
        ),
    )


def _models_read(project: Project, name: str) -> set[str]:
    return {u.name for u in project.models[name].upstreams if u.name in project.models}
