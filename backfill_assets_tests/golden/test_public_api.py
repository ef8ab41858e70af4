"""What code of others may rely on, word for word: a name or an argument that goes or changes breaks somebody's import.

The text is a file, to be read like a page of a manual. UPDATE_GOLDEN=1 writes it anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import backfill_assets
from backfill_assets_tests.projects import CHECKOUT
from backfill_assets_tests.public_api import module_page, signatures

GOLDEN = Path(__file__).parent / "public_api.txt"


def test_names_and_signatures() -> None:
    """A change here is a change of the Python API: it is in CHANGELOG.md, and may want another major version."""
    text = "\n".join(signatures(backfill_assets)) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
        return
    assert text == GOLDEN.read_text(), f"UPDATE_GOLDEN=1 writes {GOLDEN.name} anew"


def test_nothing_else_is_public() -> None:
    """What the package has at its top besides modules is in `__all__`, or begins with an underscore."""
    modules = {path.stem for path in (CHECKOUT / "backfill_assets").iterdir()}
    own = {
        name
        for name, value in vars(backfill_assets).items()
        if not name.startswith("_") and name not in modules and getattr(value, "__module__", "").startswith("backfill")
    }
    assert own == set(backfill_assets.__all__)


def test_every_name_is_explained() -> None:
    """docs/api.md has a section for each name, with what its docstring says."""
    page = module_page(backfill_assets)
    for name in backfill_assets.__all__:
        assert f"## {name}" in page and getattr(backfill_assets, name).__doc__
