"""What a release did, in a line: columns are not told as rows, nor an open interval as columns."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

import pytest

from backfill_assets.cli.promotion import print_promotion
from backfill_assets.cli.releases import print_releases
from backfill_assets.core.intervals import Interval, Ranges, utc
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment, Segments
from backfill_assets.promote.gate import Verdict
from backfill_assets.state.environment import Environment
from backfill_assets.state.releases import PointerMove, Release

AT: datetime = utc("2024-02-01")
MONTH = Interval.of("2024-01-01", "2024-02-01")
BEFORE = Pointer(
    model="sales",
    time_column="ds",
    timestamps=False,
    columns=(("ds", "date"), ("n", "int")),
    segments=Segments([Segment(interval=MONTH, version="aa11", commit=3)]),
)
NEWER = replace(BEFORE, segments=Segments([replace(s, commit=4) for s in BEFORE.segments]))


@pytest.mark.parametrize(
    ("after", "changed", "line"),
    [
        (replace(BEFORE, columns=BEFORE.columns[:1]), Ranges((MONTH,)), "columns gone: n"),
        (replace(BEFORE, columns=(*BEFORE.columns, ("m", "int"))), Ranges((MONTH,)), "new columns: m"),
        (replace(BEFORE, columns=(("ds", "date"), ("n", "bigint"))), Ranges((MONTH,)), "of another type: n"),
        (replace(BEFORE, columns=BEFORE.columns[::-1]), Ranges((MONTH,)), "columns in another order"),
        (NEWER, Ranges(), "its open interval built further"),
    ],
)
def test_what_happened_to_a_version_that_stays(
    capsys: pytest.CaptureFixture[str], after: Pointer, changed: Ranges, line: str
) -> None:
    """By the promotion, and by the list of releases."""
    move = PointerMove(model="sales", before=BEFORE, after=after, changed=changed)
    release = Release(id="r1", environment="prod", revision=1, at=AT, by="ana", back_to="", moves=(move,))
    print_releases([release], "prod")
    listed = " ".join(capsys.readouterr().out.split())
    assert re.search(rf"sales \(?{re.escape(line)}\)?$", listed), listed
    one, other = (
        Environment(name="prod", revision=r, pointers={"sales": p}, releases={"sales": "r1"})
        for r, p in ((0, BEFORE), (1, after))
    )
    print_promotion(one, other, Verdict(pointers=(after,), obstacles=(), changed={"sales": changed}))
    assert f"same version, {line}" in " ".join(capsys.readouterr().out.split())


def test_rows_that_were_written_over_in_their_table(capsys: pytest.CaptureFixture[str]) -> None:
    """They are no open interval."""
    one, other = (
        Environment(name="prod", revision=r, pointers={"sales": p}, releases={"sales": "r1"})
        for r, p in ((0, BEFORE), (1, NEWER))
    )
    print_promotion(one, other, Verdict(pointers=(NEWER,), obstacles=(), changed={"sales": Ranges((MONTH,))}))
    assert "same version, 2024-01-01..2024-01-31 restated" in " ".join(capsys.readouterr().out.split())
