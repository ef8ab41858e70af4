"""Whatever happens to prod, and whoever clears up: a pinned consumer sees the rows of its release."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from backfill_assets.core.consumer import Consumer
from backfill_assets.core.errors import BackfillError, PromotionError
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.stages import Request
from backfill_assets.promote.janitor import sweep
from backfill_assets.promote.pinning import PinRequest, keep, let_go
from backfill_assets.state.pinned import pinned_consumers
from backfill_assets_tests.fakes import days
from backfill_assets_tests.unit.promote.rollback_world import ProjectHistory

READS = {"cfo": ("a", "b"), "board": ("c",)}
STEPS = ("release", "restate", "a day", "back", "sweep", "pin cfo", "pin board", "unpin cfo", "unpin board")
Rows = dict[tuple[str, datetime], object]


def rows(history: ProjectHistory, pointers: dict[str, Pointer]) -> Rows:
    """What a reader of these pointers gets, day by day."""
    return {
        (name, at): cell
        for name, pointer in pointers.items()
        for s in pointer.segments
        for at, cell in history.world.tables.cells(name, s.version, s.commit).items()
        if s.interval.holds(at)
    }


MADE_ANEW = ["release", "release", "restate", "back", "sweep", "restate", "release", "pin cfo"]
"""A restatement that was gone back from and removed, and its table made anew under the name that it had."""


@settings(max_examples=25, deadline=None)
@example([(step, 17) for step in MADE_ANEW])
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 20)), min_size=4, max_size=12))
def test_a_pin_shows_what_its_release_showed(steps: list[tuple[str, int]]) -> None:
    """What each release showed is noted when it is made, and not asked of the code that is tested."""
    history, noted, wanted = ProjectHistory(), dict[str, tuple[dict[str, Pointer], Rows]](), dict[str, str]()
    control, tables = history.world.control, history.world.tables
    number = 1

    def note() -> None:
        shown = dict(history.prod.pointers)
        for release in history.releases[-1:]:
            noted.setdefault(release.id, (shown, rows(history, shown)))

    history.release()
    note()
    for step, which in steps:
        what, _, name = step.partition(" ")
        if step == "release":
            number += 1
            history.change(a=str(number), b=str(number))
            history.release()
        elif step == "restate":
            with suppress(BackfillError):  # the code is another one than what was gone back to
                history.release(Request(restate=(("a", days("02")),)))
        elif step == "a day":
            history.a_day()
        elif step == "back" and len(history.releases) > 1:
            with suppress(BackfillError):  # what it would go back to was swept
                history.back()
        elif step == "sweep":
            later = datetime.now(UTC) + timedelta(days=31)
            sweep(control, tables, now=later, retention=timedelta(days=30), by="eva")
        elif what == "pin":
            release = list(noted)[which % len(noted)]
            request = PinRequest(consumer=name, release=release, until=date(2030, 1, 1))
            consumer = Consumer(name=name, reads=READS[name], file=Path("consumers.yml"))
            try:
                keep(control, tables, tables, consumer, request, environment="prod", by="ana", views=None)
            except PromotionError as error:
                assert "cannot be read any more" in error.what, error
            else:
                wanted[name] = release
        elif what == "unpin" and name in wanted:
            seen = control.environments.read(f"pin-{name}")
            assert let_go(control, tables, history.world.project, seen, by="ana", views=None).done
            del wanted[name]
        note()
        pins = {pin.consumer: pin for pin in pinned_consumers(control, "prod")}
        assert {name: pin.release for name, pin in pins.items()} == wanted
        for name, pin in pins.items():
            shown, then = noted[pin.release]
            assert dict(pin.pointers) == {model: shown[model] for model in READS[name]}
            assert rows(history, dict(pin.pointers)) == {k: v for k, v in then.items() if k[0] in READS[name]}
