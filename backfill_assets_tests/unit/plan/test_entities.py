"""Which entities are a sample, which models can be computed for them, and why are others left out?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from backfill_assets.core.errors import PlanError, UsageError
from backfill_assets.core.model import Column
from backfill_assets.plan.copied import Copied
from backfill_assets.plan.entities import EntitySample, followed, incomparable, sample_of
from backfill_assets_tests.fakes import World, a_model

SALES = a_model("sales", "raw", grain=("ds", "Region", "shop"))
PASSING = a_model(
    "passing", "sales", grain=("ds", "area"),
    code="SELECT ds, region AS area, sum(total) AS total FROM sales GROUP BY ds, region",
)  # fmt: skip
SUMS = a_model("sums", "sales", grain=("ds",), code="SELECT ds, sum(total) AS total FROM sales GROUP BY ds")
AFTER = a_model("after", "sums", grain=("ds",), code="SELECT ds, total FROM sums")
BY_REGION = EntitySample(column="region", parts=10_000)


def of(*models: Any, sample: EntitySample = BY_REGION) -> tuple[dict[str, str], dict[str, str]]:
    world = World(*models)
    columns = {m.name: tuple(Column(name=c) for c in (*m.grain, "total")) for m in models}
    world.project = replace(world.project, columns=columns)
    return followed(world.project, world.plan(), sample)


@pytest.mark.parametrize(
    ("text", "by", "found"),
    [
        (None, None, None), ("3", None, 3), (3, None, 3), ("100000", None, 100_000),
        ("1%", "Region", BY_REGION), ("0.0001%", "a", EntitySample(column="a", parts=1)),
        ("99.9999%", "a", EntitySample(column="a", parts=999_999)),
    ],
)  # fmt: skip
def test_how_much_is_built(text: str | int | None, by: str | None, found: int | EntitySample | None) -> None:
    assert sample_of(text, by) == found


def test_how_it_is_said() -> None:
    assert [str(sample_of(f"{n}%", "shop")) for n in ("1", "10", "0.5", "12.25")] == [
        "1% of shop", "10% of shop", "0.5% of shop", "12.25% of shop",
    ]  # fmt: skip
    assert "`a``b`" in BY_REGION.taken("a`b") and "10000" in BY_REGION.taken("a")


def test_models_follow_by_what_they_call_the_key() -> None:
    """What cannot be told for these entities alone is left out, and what reads that: it is never computed of a part."""
    taken, left = of(SALES, PASSING, SUMS, AFTER)
    assert taken == {"sales": "region", "passing": "area"}
    assert left == {"sums": "it adds up rows of several values of region", "after": "it reads sums"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"language": "python"}, "nobody can tell which rows a Python function puts together"),
        ({"grain": ("ds",)}, "area is no part of its key"),
        ({"mask": ("Area",)}, "area is masked"),
        ({"code": "SELECT ds, upper(region) AS area FROM sales"}, "its rows do not have region as it is"),
    ],
)
def test_in_doubt_a_reader_is_left_out(change: dict[str, Any], why: str) -> None:
    taken, left = of(SALES, replace(PASSING, **change))
    assert list(taken) == ["sales"] and why in left["passing"]


def test_what_is_copied_is_left_out() -> None:
    """The plan computes nothing of it: rows that a sample computed would be others than those that it leads to."""
    world = World(SALES, PASSING)
    columns = {m.name: tuple(Column(name=c) for c in (*m.grain, "total")) for m in (SALES, PASSING)}
    world.project = replace(world.project, columns=columns)
    plan = replace(world.plan(), copies={"passing": Copied(columns=(("region", "area"),))})
    taken, left = followed(world.project, plan, BY_REGION)
    assert taken == {"sales": "region"}
    assert left == {"passing": "the plan copies rows of it that are shown (region is area now), and computes none"}


@pytest.mark.parametrize(
    ("shown", "computed", "why"),
    [
        ("string", "string", ""), ("int", "bigint", ""), ("string", "varchar(8)", ""),
        ("", "string", "what is shown of it has no column area"),
        ("int", "string", "area is int in what is shown, region string now: equal values may be other texts"),
        ("decimal(9,1)", "decimal(9,2)", "area is decimal(9,1) in what is shown, region decimal(9,2) now"),
    ],
)  # fmt: skip
def test_keys_that_have_other_texts_are_not_compared(shown: str, computed: str, why: str) -> None:
    """Entities are in a sample by the text of their key, so that on both sides it has to be one text."""
    was = (("ds", "date"), ("Area", shown)) if shown else (("ds", "date"),)
    found = incomparable(("area", was), ("region", (("Region", computed),)))
    assert found.startswith(why) and bool(found) == bool(why)


def test_a_model_of_other_entities_is_left_out() -> None:
    other = a_model("other", "raw", grain=("ds", "product"))
    taken, left = of(SALES, other)
    assert list(taken) == ["sales"] and left == {"other": "it has no such column (ds, product)"}


def test_what_is_refused() -> None:
    with pytest.raises(UsageError, match="sales: it has no such column"):
        of(SALES, PASSING, sample=EntitySample(column="reigon", parts=1))
    with pytest.raises(UsageError, match="it is no part of its key"):
        of(SALES, sample=EntitySample(column="total", parts=1))
    with pytest.raises(UsageError, match="masked"):
        of(replace(SALES, mask=("Region",)))
    world = World(SALES)
    nothing = replace(world.plan(), stages=())
    with pytest.raises(PlanError, match="nothing to take a sample of"):
        followed(world.project, nothing, BY_REGION)
