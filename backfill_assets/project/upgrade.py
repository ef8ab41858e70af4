"""Is what an older release built the same as what the code says now? Its own files, read again by this release.

The record of a version holds the texts of its files, of its sources and its settings. Put into a folder, together with
those of its upstream versions, they are a project: reading it gives the signature that this release would have given.
Records of 4096d34 hold the code only: sources and settings are those of now, if the hash of then says so. Records of
up to algorithm 6 may have a source's columns by name: their order is that of now.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from backfill_assets.core.errors import BackfillError, ProjectError
from backfill_assets.core.model import Project, Signature
from backfill_assets.project.algorithm import SUBSTITUTED, algorithm_of
from backfill_assets.project.spark_settings import settings_that_count

if TYPE_CHECKING:
    from backfill_assets.project.reading import Reading

Stored = Mapping[str, Any]
"""The definition of a version, under `upstream` the versions of the models that it reads, and under `signed` the
signature that the release gave it which built it."""
Key = tuple[str, str]
"""Model and version."""


class Unproved(Exception):
    """Nothing shows what this release would have called a version; why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSettings:
    """What records of 4096d34 lack, as the loaded project has it: the entries of its sources, its Spark settings."""

    sources: Mapping[str, str]
    spark: Mapping[str, str]

    @classmethod
    def of(cls, project: Project) -> LoadedSettings:
        """Those of a project."""
        return cls(sources={s.name: s.declared for s in project.sources.values()}, spark=project.settings.spark)


def signature_now(
    model: str, version: str, stored: Mapping[Key, Stored], here: LoadedSettings | None = None
) -> Signature:
    """The signature that this release gives what a version's record says.

    Raises Unproved when the record does not say enough, when this release cannot read it, or when it reads a query
    otherwise than the release that built its rows.
    """
    files: dict[str, str] = {}
    sources: dict[str, str] = {}
    settings: set[str] = set()
    bare: dict[str, Stored] = {}
    pending, seen = [(model, version)], set[Key]()
    while pending:
        key = pending.pop()
        if key in seen:
            continue
        seen.add(key)
        if (found := stored.get(key)) is None:
            raise Unproved(f"there is no record of version {key[1]} of {key[0]}, which it reads")
        if not found.get("files") or "project" not in found:
            bare[key[0]] = found
            found = _completed(key[0], found, here)
        if algorithm_of(found) <= SUBSTITUTED and any("${" in text for text in found["files"].values()):
            raise Unproved(f"then Spark replaced `${{…}}` in the text of {key[0]}; nothing says by what")
        project = cast(Mapping[str, Any], found["project"])
        entries = {
            name: _in_order(text, here.sources.get(name) if here else None) for name, text in project["sources"].items()
        }
        for there, more, same in ((files, found["files"], str), (sources, entries, json.loads)):
            for name, text in more.items():
                if same(there.setdefault(name, text)) != same(text):
                    raise Unproved(f"two versions that it reads have different texts of {name}: no project holds both")
        settings.add(json.dumps(project["spark"], sort_keys=True))
        pending += list(cast(Mapping[str, str], found["upstream"]).items())
    if len(settings) != 1:
        raise Unproved("versions that it reads were built with other Spark settings than it")
    reading = _read(files, sources, settings.pop())
    if bare:
        from backfill_assets.project.unnumbered.proof import why_unproved

        if why := why_unproved(reading, {key[0]: stored[key] for key in seen}, bare):
            raise Unproved(why)
    if (signature := reading.project.signatures.get(model)) is None:
        raise Unproved("its file, as it was recorded, holds no such model")
    return signature


def _in_order(then: str, now: str | None) -> str:
    """A source's entry, with its columns in the order of now where the record has them by their names: releases wrote
    them so, which says nothing of their places."""
    entry: dict[str, Any] = json.loads(then)
    columns: dict[str, Any] = entry.get("columns") or {}
    order = list(cast(Mapping[str, Any], json.loads(now).get("columns") or {})) if now else []
    if entry.get("format") != "csv" or list(columns) != sorted(columns) or sorted(order) != sorted(columns):
        return then
    return json.dumps(entry | {"columns": {name: columns[name] for name in order}})


def _completed(name: str, found: Stored, here: LoadedSettings | None) -> Stored:
    """A record of 4096d34 with the file that it reads as, and what it lacks as it is now."""
    from backfill_assets.project.unnumbered.files import file_of
    from backfill_assets.project.unnumbered.model import settings_then

    if here is None or "signed" not in found:
        raise Unproved(f"the record of {name} does not hold its files")
    file = file_of(name, found)
    if file is None:
        raise Unproved(f"the record of {name} does not hold {', '.join(found['helpers'])}, which it imports")
    if strange := sorted(settings_that_count(here.spark).keys() - settings_then(here.spark).keys()):
        raise Unproved(f"records of then do not say whether {', '.join(strange)} was set, and it may decide rows")
    read = [n for n, *_ in found["upstreams"] if n not in found["upstream"]]
    if gone := [n for n in read if n not in here.sources]:
        raise Unproved(f"{name} reads {', '.join(gone)}, which is no source of the project any more")
    project = {"sources": {n: here.sources[n] for n in read}, "spark": dict(here.spark)}
    return {**found, "files": {file[0]: file[1]}, "project": project}


def _read(files: Mapping[str, str], sources: Mapping[str, str], spark: str) -> Reading:
    from backfill_assets.project.reading import read_project
    from backfill_assets.project.records import no_records

    with TemporaryDirectory(prefix="backfill-upgrade-") as folder:
        root = Path(folder).resolve()
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        entries = [json.loads(entry) for entry in sources.values()]
        (root / "sources.yml").write_text(json.dumps({"sources": entries}), encoding="utf-8")
        (root / "backfill.yml").write_text(json.dumps({"spark": json.loads(spark)}), encoding="utf-8")
        try:
            return read_project(root, no_records, recorded=True)
        except ProjectError as error:
            raise Unproved(f"this release does not take its text: {error.problems[0].what}") from None
        except (BackfillError, OSError) as error:
            raise Unproved(f"this release cannot read it: {error}") from None
