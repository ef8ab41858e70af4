"""What does this project's folder say? Read once for each content of its files; the same files are not parsed again."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from backfill_assets.core.codec import from_plain, to_plain
from backfill_assets.core.model import Column, Project, Source
from backfill_assets.files.cache_files import read_private, write_private
from backfill_assets.files.untrusted import is_untrusted
from backfill_assets.project.files import audit_files, model_files
from backfill_assets.project.records import ReadRecords, Records, named, no_records
from backfill_assets.project.settings import cache_folder, state_root

_PACKAGE = Path(__file__).parent.parent
_READERS = ("core", "files", "sql", "python_models", "audits", "project")
"""The packages whose code decides what a project is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A project as it was read, and what else it was read from."""

    content: str
    """Of its helpers."""
    helpers: tuple[Path, ...]
    records: Records
    found_out: tuple[str, ...]
    """The sources whose columns their data said."""
    project: Project


def load_project(root: Path, records: ReadRecords = no_records) -> Project:
    """The project in a folder, with the `faults` that sources may be the reason of. Raises ProjectError with every
    other problem of every file at once.

    `records` reads those of a warehouse; it is called only when a model's header has `same_as`. sqlglot and its
    like are imported on a cache miss only. The cache is data: nothing of it is executed.
    """
    root = root.resolve()
    if is_untrusted():  # nothing that a stranger may have put into the project's folder is trusted, a cache neither
        from backfill_assets.project.reading import read_project

        return read_project(root, records, faults=True).project
    file = cache_folder(root) / "project" / f"{_key(root)}.json"
    with suppress(OSError, ValueError):  # no file, half a file, one of another release: read the project
        kept = from_plain(_Kept, json.loads(read_private(file)))
        same = kept.content == _content(kept.helpers) and kept.records == _now(kept.project, records)
        if same and _say_the_same(kept.project.sources[name] for name in kept.found_out):
            return kept.project
    from backfill_assets.project.reading import read_project

    reading = read_project(root, records, faults=True)
    if reading.lasting:
        read = _Kept(
            content=_content(reading.helpers),
            helpers=reading.helpers,
            records=reading.records,
            found_out=tuple(sorted(reading.found_out)),
            project=reading.project,
        )
        _keep(file, read)
    return reading.project


def load_with_columns(project: Project, columns: Mapping[str, tuple[Column, ...]], records: ReadRecords) -> Project:
    """The project of the same folder, were these the columns of its undeclared sources. Raises ProjectError."""
    from backfill_assets.project.reading import read_project

    return read_project(project.root, records, columns=columns).project


def _say_the_same(sources: Iterable[Source]) -> bool:
    """Whether the data of these still says the columns that are known of them."""
    from backfill_assets.project.file_schema import read_schema

    try:
        return all(read_schema(s.format, s.path) == s.columns for s in sources if s.path)
    except Exception:  # who reads the project says what is wrong with the data
        return False


def _now(project: Project, records: ReadRecords) -> Records:
    """What the records say by now of the versions that the project's overrides name."""
    if not any(m.same_as for m in project.models.values()):
        return {}
    return named(project.models, records(project.settings.warehouse))


def _key(root: Path) -> str:
    """Names the content of the project's files, and everything else that reading them depends on."""
    engine = [*(f for name in _READERS for f in (_PACKAGE / name).rglob("*.py")), *_libraries()]
    places = [str(root), str(state_root(root)), os.environ.get("BACKFILL_WAREHOUSE", ""), sys.version]
    stamps = [f"{p.name} {s.st_mtime_ns} {s.st_size}" for p in sorted(engine) if (s := p.stat())]
    project = _content([*root.glob("*.y*ml"), *root.glob("*.py"), *model_files(root), *audit_files(root)])
    return hashlib.sha256(os.fsencode("\n".join([*places, *stamps, project]))).hexdigest()


def _content(files: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for file in sorted(files):
        found.update(os.fsencode(f"{file}\n"))
        try:
            found.update(hashlib.sha256(file.read_bytes()).digest() if file.is_file() else b"gone")
        except OSError:  # the reader says which, and why
            found.update(b"unreadable")
    return found.hexdigest()


def _libraries() -> Iterator[Path]:
    for name in ("sqlglot", "sqlframe", "yaml", "pydantic"):
        spec = find_spec(name)
        if spec and spec.origin:
            yield Path(spec.origin)


def _keep(file: Path, kept: _Kept) -> None:
    raw = to_plain(kept)
    if from_plain(_Kept, raw) != kept:
        return  # something that JSON does not tell apart: rather read again than be wrong
    with suppress(OSError):  # a folder that cannot be written costs time only
        write_private(file, json.dumps(raw, separators=(",", ":")))
        for old in sorted(file.parent.glob("*.json"), key=lambda p: p.stat().st_mtime)[:-20]:
            old.unlink(missing_ok=True)
