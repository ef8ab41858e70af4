"""Is what an older release built the same as what the code says now? Its own files, read again by this release.

The record of a version holds the texts of its files, of its sources and its settings. Put into a folder, together with
those of its upstream versions, they are a project: reading it gives the signature that this release would have given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from backfill_assets.errors import BackfillError
from backfill_assets.snapshots.algorithm import SUBSTITUTED, UNNUMBERED
from backfill_assets.snapshots.model import Signature

Stored = Mapping[str, Any]
"""The definition of a version, and under `upstream` the versions of the models that it reads."""
Key = tuple[str, str]
"""Model and version."""


def signature_now(model: str, version: str, stored: Mapping[Key, Stored]) -> Signature | None:
    """The signature that this release gives what a version's record says; None when the record does not say enough,
    when this release cannot read it, or when it reads a query otherwise than the release that built its rows."""
    files: dict[str, str] = {}
    sources: dict[str, str] = {}
    settings: set[str] = set()
    pending, seen = [(model, version)], set[Key]()
    while pending:
        key = pending.pop()
        if key in seen:
            continue
        seen.add(key)
        found = stored.get(key)
        if found is None or not found.get("files") or "project" not in found:
            return None
        if found.get("algorithm", UNNUMBERED) <= SUBSTITUTED and any("${" in text for text in found["files"].values()):
            return None
        project = cast(Mapping[str, Any], found["project"])
        for there, more in ((files, found["files"]), (sources, project["sources"])):
            if any(there.setdefault(name, text) != text for name, text in more.items()):
                return None  # two versions, two texts of one file: no one project holds both
        settings.add(json.dumps(project["spark"], sort_keys=True))
        pending += list(cast(Mapping[str, str], found["upstream"]).items())
    if len(settings) != 1:
        return None
    return _read(model, files, sources, settings.pop())


def _read(model: str, files: Mapping[str, str], sources: Mapping[str, str], spark: str) -> Signature | None:
    from backfill_assets.snapshots.reading import read_project
    from backfill_assets.snapshots.records import no_records

    with TemporaryDirectory(prefix="backfill-upgrade-") as folder:
        root = Path(folder).resolve()
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        entries = [json.loads(entry) for entry in sources.values()]
        (root / "sources.yml").write_text(json.dumps({"sources": entries}), encoding="utf-8")
        (root / "backfill.yml").write_text(json.dumps({"spark": json.loads(spark)}), encoding="utf-8")
        try:
            return read_project(root, no_records, audits=False).project.signatures.get(model)
        except (BackfillError, OSError):
            return None
