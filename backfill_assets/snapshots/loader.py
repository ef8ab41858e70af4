"""What does this project's folder say? Read once for each content of its files; the same files are not parsed again."""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import NamedTemporaryFile

from backfill_assets.settings import cache_folder, state_root
from backfill_assets.snapshots.files import audit_files, model_files
from backfill_assets.snapshots.model import Project
from backfill_assets.snapshots.records import ReadRecords, Records, named, no_records

_HERE = Path(__file__).parent


def load_project(root: Path, records: ReadRecords = no_records) -> Project:
    """The project in a folder. Raises ProjectError with every problem of every file at once.

    `records` reads those of a warehouse; it is called only when a model's header has `same_as`. sqlglot and its
    like are imported on a cache miss only. The cache is trusted like the code beside it.
    """
    root = root.resolve()
    file = cache_folder(root) / "project" / f"{_key(root)}.pickle"
    with suppress(Exception):  # no file, half a file, one of another release: read the project
        kept, helpers, there, project = pickle.loads(file.read_bytes())
        if kept == _content(helpers) and there == _now(project, records):
            return project
    from backfill_assets.snapshots.reading import read_project

    reading = read_project(root, records)
    if reading.lasting:
        _keep(file, pickle.dumps((_content(reading.helpers), reading.helpers, reading.records, reading.project)))
    return reading.project


def _now(project: Project, records: ReadRecords) -> Records:
    """What the records say by now of the versions that the project's overrides name."""
    if not any(m.same_as for m in project.models.values()):
        return {}
    return named(project.models, records(project.settings.warehouse))


def _key(root: Path) -> str:
    """Names the content of the project's files, and everything else that reading them depends on."""
    engine = [*_HERE.glob("*.py"), *_HERE.parent.glob("*.py"), *_libraries()]
    places = [str(root), str(state_root(root)), os.environ.get("BACKFILL_WAREHOUSE", ""), sys.version]
    stamps = [f"{p.name} {s.st_mtime_ns} {s.st_size}" for p in sorted(engine) if (s := p.stat())]
    project = _content([*root.glob("*.yml"), *root.glob("*.py"), *model_files(root), *audit_files(root)])
    return hashlib.sha256("\n".join([*places, *stamps, project]).encode()).hexdigest()


def _content(files: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for file in sorted(files):
        found.update(f"{file}\n".encode())
        found.update(hashlib.sha256(file.read_bytes()).digest() if file.is_file() else b"gone")
    return found.hexdigest()


def _libraries() -> Iterator[Path]:
    for name in ("sqlglot", "sqlframe", "yaml", "pydantic"):
        spec = find_spec(name)
        if spec and spec.origin:
            yield Path(spec.origin)


def _keep(file: Path, content: bytes) -> None:
    with suppress(OSError):  # a folder that cannot be written costs time only
        file.parent.mkdir(parents=True, exist_ok=True)
        for old in sorted(file.parent.glob("*.pickle"), key=lambda p: p.stat().st_mtime)[:-20]:
            old.unlink(missing_ok=True)
        with NamedTemporaryFile(dir=file.parent, suffix=".tmp", delete=False) as written:
            written.write(content)
        Path(written.name).replace(file)
