"""Of which days are the rows that an apply says it has?"""

from __future__ import annotations

import pytest

from backfill_assets.build.outcome import Outcome
from backfill_assets.cli.outcomes import print_outcomes
from backfill_assets.core.intervals import Ranges
from backfill_assets_tests.fakes import World, a_model, days, ranges


@pytest.mark.parametrize(
    ("built", "said"),
    [(ranges(days("01", "04")), "266 rows "), (ranges(days("03", "04")), "266 rows by this run")],
)
def test_rows_of_days_that_were_complete_before_are_none_of_its_own(
    built: Ranges, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a kill the same command says all days, and counts the rows that it wrote itself: that is said."""
    world, four = World(a_model("a")), ranges(days("01", "04"))
    done = Outcome(model="a", version="1", requested=four, green=four, built=built, rows=266)
    print_outcomes(world.plan(), {"a": done}, world.project)
    assert said in capsys.readouterr().out
