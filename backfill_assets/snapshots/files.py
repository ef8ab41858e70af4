"""Which files of a project may hold models?"""

from __future__ import annotations

from pathlib import Path

MODELS_FOLDER = "models"


def model_files(root: Path) -> list[Path]:
    """The SQL and Python files of the models' folder, helpers among them, by path."""
    folder = root / MODELS_FOLDER
    return sorted(p for p in folder.rglob("*") if p.suffix in (".sql", ".py") and "__pycache__" not in p.parts)
