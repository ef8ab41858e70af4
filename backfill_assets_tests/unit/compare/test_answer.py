"""Which days and columns have to be joined, by the fingerprints of both sides?"""

from __future__ import annotations

from typing import Any

from backfill_assets.compare.answer import cells, different
from backfill_assets.compare.diff import DiffColumn, Kind
from backfill_assets.compare.equality import Type
from backfill_assets.compare.profile import DAY, TOTAL
from backfill_assets.compare.query import ComparedColumn, Comparison


def a_query(nested: bool = False) -> Comparison:
    kinds: dict[str, tuple[Kind, Type]] = {"ds": ("text", "date"), "id": ("integer", "long"), "n": ("integer", "long")}
    kinds["more"] = ("nested", {"type": "array"}) if nested else ("text", "string")
    columns = [
        ComparedColumn(
            column=DiffColumn(name=name, kind=kind, old_type=name, new_type=name, key=name in ("ds", "id")),
            old=(name, spark),
            new=(name, spark),
            type=spark,
        )
        for name, (kind, spark) in kinds.items()
    ]
    return Comparison(columns=tuple(columns), slices=(), time=0, unit="DAY", tolerance=0.0)


def a_day(side: str, name: str, **values: int) -> dict[str, Any]:
    return {
        "bf_set": DAY,
        "bf_side": side,
        "bf_group": name,
        "bf_rows": 1,
        "bf_keys": 7,
        "hash2": 1,
        "hash3": 2,
        **values,
    }


SAME = [a_day(side, "2024-01-01") for side in ("old", "new")]
TOTALS: list[dict[str, Any]] = [
    {"bf_set": TOTAL, "bf_side": side, "bf_group": None, "bf_rows": 2} for side in ("old", "new")
]


def test_only_what_has_another_fingerprint_is_joined() -> None:
    """A column in one day; nothing at all; a day that one side has no row of."""
    other = [a_day("old", "2024-01-02"), a_day("new", "2024-01-02", hash3=5)]
    assert different(a_query(), cells([*TOTALS, *SAME, *other], [])) == (("2024-01-02",), (3,))
    assert different(a_query(), cells([*TOTALS, *SAME], [])) == ((), ())
    gone = a_day("old", "2024-01-03")
    assert different(a_query(), cells([*TOTALS, *SAME, gone], [])) == (("2024-01-03",), (2, 3))


def test_nested_columns_always_count_as_different() -> None:
    """They have no fingerprint: every day is joined for them, and only for them."""
    assert different(a_query(nested=True), cells([*TOTALS, *SAME], [])) == (("2024-01-01",), (3,))


def test_what_came_of_rows_adds_up_to_the_total() -> None:
    """Counts by day are added up; a slice's value that the sides' answer left out is left out."""
    came = [{"bf_set": DAY, "bf_side": "new", "bf_group": "2024-01-01", "changed": n} for n in (1, 2)]
    other = {"bf_set": 0, "bf_side": "new", "bf_group": "beyond", "changed": 9}
    found = cells([*TOTALS, *SAME], [*came, other])
    assert found[TOTAL, "new", None]["changed"] == 3 and "changed" not in found[TOTAL, "old", None]
    assert not any(group == "beyond" for _, _, group in found)
