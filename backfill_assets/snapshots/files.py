"""Which files of a project may hold models, and which the queries of audits?"""

from __future__ import annotations

from pathlib import Path

MODELS_FOLDER = "models"
AUDITS_FOLDER = "audits"


def model_files(root: Path) -> list[Path]:
    """The SQL and Python files of the models' folder, helpers among them, by path."""
    folder = root / MODELS_FOLDER
    return sorted(p for p in folder.rglob("*") if p.suffix in (".sql", ".py") and "__pycache__" not in p.parts)


def audit_files(root: Path) -> list[Path]:
    """The queries of custom audits, by path."""
    return sorted((root / AUDITS_FOLDER).glob("*.sql"))
