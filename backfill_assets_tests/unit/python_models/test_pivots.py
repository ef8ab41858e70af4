"""A pivot that does not name its values gives other columns where other values come: the plan says so, at its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.project.loader import load_project
from backfill_assets_tests.unit.project.helpers import PYTHON, project

HEAD = "from backfill_assets import model\nimport pandas\nfrom lib.wide import widened\n"


def warned(root: Path, line: str) -> list[tuple[str, int, str]]:
    text = PYTHON.replace("from backfill_assets import model\n", HEAD).replace("return events", f"return {line}")
    (root / "lib").mkdir(parents=True)
    (root / "lib" / "wide.py").write_text("def widened(rows):\n    return rows.pivot('shop')\n")
    loaded = load_project(project(root, roi_py=text))
    return [(w.file.name, w.line, w.what) for w in loaded.warnings["roi"] if "pivot" in w.what]


@pytest.mark.parametrize(
    "call", ["pivot('shop')", "pivot(pivot_col='shop')", "pivot('shop', None)", "pivot('shop', values=None)"]
)
def test_a_pivot_without_values(tmp_path: Path, call: str) -> None:
    """A warning, with what to write."""
    [(file, line, what)] = warned(tmp_path, f"events.groupBy('ds').{call}.sum('clicks')")
    assert (file, line) == ("roi.py", 14)
    assert "the columns of `roi` follow the values of each batch" in what and "`.pivot('shop')`" in what


def test_in_a_helper(tmp_path: Path) -> None:
    """At its place in the helper's file."""
    [(file, line, _)] = warned(tmp_path, "widened(events.groupBy('ds')).sum('clicks')")
    assert (file, line) == ("wide.py", 2)


@pytest.mark.parametrize(
    "line",
    [
        "events.groupBy('ds').pivot('shop', ['a', 'b']).sum('clicks')", "events.pivot(index='ds', columns='shop')",
        "events.groupBy('ds').pivot('shop', values=SHOPS).sum()", "pandas.pivot(events, columns='shop')", "events",
    ],
)  # fmt: skip
def test_columns_that_stay(tmp_path: Path, line: str) -> None:
    """With values, and what other libraries call so."""
    assert warned(tmp_path, line) == []
