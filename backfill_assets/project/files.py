"""Which files of a project may hold models, and which the queries of audits?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from backfill_assets.core.errors import Problem

MODELS_FOLDER = "models"
AUDITS_FOLDER = "audits"


def model_files(root: Path) -> list[Path]:
    """The SQL and Python files of the models' folder, helpers among them, by path."""
    folder = root / MODELS_FOLDER
    return sorted(p for p in folder.rglob("*") if p.suffix in (".sql", ".py") and "__pycache__" not in p.parts)


def misnamed(root: Path) -> Iterator[Problem]:
    """Files that look as if they were read, and are not: `sources.yaml`, `models/orders.SQL`; no folder of models."""
    for name in ("backfill", "sources", "consumers"):
        for file in sorted(root.glob(f"{name}.*")):
            if file.suffix.lower() in (".yml", ".yaml") and file.suffix != ".yml":
                yield Problem(file=file, what="this file is not read", fix=f"rename it to {name}.yml")
    folder = root / MODELS_FOLDER
    if not folder.is_dir():
        what = f"`{MODELS_FOLDER}` is a file, not a folder" if folder.exists() else "the project has no models"
        fix = f"put each model's .sql or .py file in {folder}, or name the project's folder with --project DIR"
        yield Problem(file=folder, what=what, why="they are read from that folder", fix=fix)
        return
    for file in sorted(folder.rglob("*")):
        if file.suffix.lower() in (".sql", ".py") and file.suffix not in (".sql", ".py"):
            yield Problem(file=file, what="this file is not read", fix=f"rename it to {file.stem}{file.suffix.lower()}")


def audit_files(root: Path) -> list[Path]:
    """The queries of custom audits, by path."""
    return sorted((root / AUDITS_FOLDER).glob("*.sql"))
