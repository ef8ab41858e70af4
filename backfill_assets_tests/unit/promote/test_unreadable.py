"""Published rows that cannot be read are compared with nothing: a finding, and the rest is compared."""

from __future__ import annotations

from backfill_assets.build.apply import apply
from backfill_assets.compare.sides import Side, cut
from backfill_assets.core.intervals import Ranges, utc
from backfill_assets.promote.findings import incomparable
from backfill_assets.promote.rehearsal import damages, rehearse
from backfill_assets_tests.fakes import World, a_model, a_pointer, days, ranges


def test_it_is_named_with_its_days() -> None:
    """By the model, so that its owner accepts it; with what is wrong."""
    world = World(a_model("a", "raw"))
    apply(world.bench(), world.plan())
    assert world.release().moved
    world.tables.lost_files.update({("a", utc("2024-01-03")), ("a", utc("2024-01-07"))})
    pointers = list(world.control.environments.read("prod").pointers.values())
    lost = damages(world.project, rehearse(pointers, world.tables, world.tables, world.control.ledger))
    assert list(lost["a"].values()) == [ranges(days("03"), days("07"))]
    (finding,) = incomparable(lost)
    assert (finding.name, finding.model) == ("a.unreadable", "a")
    assert "2024-01-03, 2024-01-07 cannot be read" in finding.text and "2024-01-03 is missing" in finding.text


def test_what_is_left_out_of_a_comparison() -> None:
    """These days of both sides; a model of which nothing is left is not compared; others stay as they are."""
    side = Side(
        name="prod",
        pointers={n: a_pointer(n, f"{n}-1", days("01", "05")) for n in "abc"},
    )
    left = cut(side, {"a": ranges(days("02", "03")), "b": ranges(days("01", "09")), "x": ranges(days("01"))})
    assert set(left.pointers) == {"a", "c"} and left.pointers["c"] == side.pointers["c"]
    assert left.pointers["a"].covers == Ranges((days("01"), days("04", "05")))
