"""A test's meaning is told in words, or not at all: never more than it makes sure of."""

from __future__ import annotations

from typing import Any

import pytest

from backfill_assets.core.model import Audit
from backfill_assets.evidence.model_part import meaning
from backfill_assets_tests.fakes import a_model


@pytest.mark.parametrize(
    ("kind", "arguments", "said"),
    [
        ("not_null", {"columns": ("ds", "id")}, "ds and id are never empty."),
        ("not_null", {"columns": ("ds",)}, "ds is never empty."),
        ("not_null", {"columns": ("ds",), "where": "id > 3"}, "ds is never empty. Only rows with id > 3 count."),
        ("not_null", {"columns": ("ds",), "tolerate": 3}, ""),
        ("unique_grain", {}, "There is only one row for each ds and id."),
        ("unique", {"columns": ["a"]}, "There is only one row for each a."),
        ("accepted_values", {"column": "c", "values": ["x", 1]}, "c is one of x or 1, where it has a value."),
        ("range", {"column": "c", "min": 0}, "c is at least 0, where it has a value."),
        ("range", {"column": "c", "max": 9}, "c is at most 9, where it has a value."),
        ("range", {"column": "c", "min": 0, "max": 9}, "c is between 0 and 9, where it has a value."),
        ("not_future", {"column": "c"}, "c is never after the day of its row."),
        ("relationships", {"columns": ("c",), "to": "raw.c"}, "Every c is found in raw.c."),
        ("completeness", {}, "Every day has at least one row."),
        ("completeness", {"min_rows": 1200}, "Every day has at least 1,200 rows."),
        ("row_count", {"within_percent": 5}, "Every day has about as many rows as prod shows, 5 % more or less."),
        ("null_rate", {"column": "c", "max_percent": 5}, ""),
    ],
)
def test_meaning(kind: str, arguments: dict[str, Any], said: str) -> None:
    """What is not known, or tolerates failures, is left to the audit's own description."""
    assert meaning(Audit(name="a", kind=kind, arguments=arguments), a_model("m")) == said
