"""Signs of life: a run is at work while one of its processes gives them; who stopped is known in seconds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backfill_assets.state.heartbeats import STOPPED_AFTER, Heartbeat, routine_at_work, why_stopped


def beat(age: float, *, home: str = "here", pid: int = 7, run: str = "r", routine: bool = False) -> Heartbeat:
    return Heartbeat(run=run, home=home, pid=pid, age=age, routine=routine)


@pytest.mark.parametrize(
    ("beats", "why"),
    [
        pytest.param([beat(2)], "", id="a fresh one of a process that is there"),
        pytest.param([beat(2, pid=8)], "its process 8 is gone", id="a fresh one of a process that was killed"),
        pytest.param([beat(2, home="there", pid=8)], "", id="a fresh one from elsewhere, where nobody can look"),
        pytest.param([beat(40, home="there")], "no sign of life for 40 s", id="an old one from elsewhere"),
        pytest.param([beat(STOPPED_AFTER + 1)], "no sign of life for 31 s", id="a process that hangs, or a new one"),
        pytest.param(
            [beat(-40)],
            "its sign of life is 40 s ahead of the clock here",
            id="one of which nobody knows how old it is",
        ),
        pytest.param([beat(-2)], "", id="clocks that differ by little"),
        pytest.param([beat(400, home="there"), beat(3)], "", id="two processes of which one is at work"),
        pytest.param([], "it ended without a word", id="none"),
        pytest.param([beat(2, run="other")], "it ended without a word", id="somebody else's"),
    ],
)
def test_who_is_at_work(beats: list[Heartbeat], why: str) -> None:
    """On this machine only process 7 is there."""
    assert why_stopped(beats, "r", home="here", alive=lambda pid: pid == 7) == why


@pytest.mark.parametrize(
    ("beats", "run"),
    [
        pytest.param([beat(2), beat(2, run="day", routine=True)], "day", id="one that is at work"),
        pytest.param(
            [replace(beat(2, run="day", routine=True), began="2024-03-01 05:00")],
            "day (since 2024-03-01 05:00 UTC)",
            id="since when it is at work",
        ),
        pytest.param([beat(-40, run="day", home="there", routine=True)], "", id="one from ahead of the clock"),
        pytest.param([beat(2, run="day", pid=8, routine=True)], "", id="one that was killed here"),
        pytest.param([beat(40, run="day", home="there", routine=True)], "", id="one that stopped elsewhere"),
        pytest.param([beat(2)], "", id="none"),
    ],
)
def test_whom_heavy_builds_let_go_first(beats: list[Heartbeat], run: str) -> None:
    """A routine run that is at work: one that died holds nobody up."""
    assert routine_at_work(beats, home="here", alive=lambda pid: pid == 7) == run
