"""What does a packet say of a model that a plan leaves as it is?"""

from __future__ import annotations

from dataclasses import replace

from backfill_assets.evidence.packet import _kept  # pyright: ignore[reportPrivateUsage]
from backfill_assets_tests.fakes import World, a_model


def test_why_it_stays() -> None:
    """What it reads, where that is the reason; of one that changed by itself and was built before, that."""
    plan = World(a_model("a", "raw"), a_model("b", "a")).plan()
    said = _kept(
        replace(
            plan,
            kept={"a": "its code is that of a version that was built before", "b": "complete", "c": "complete"},
            because={
                "a": ("column v of its source raw is string by now, and was bigint when it was published",),
                "b": ("reads none of what changed in a (v)",),
            },
        )
    )
    assert said == {
        "a": "its code is that of a version that was built before",
        "b": "it reads none of what changed in a (v)",
        "c": "complete",
    }
