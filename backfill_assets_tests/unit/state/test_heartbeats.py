"""Signs of life: a run is at work while one of its processes gives them; who stopped is known in seconds."""

from __future__ import annotations

import pytest

from backfill_assets.state.heartbeats import STOPPED_AFTER, Heartbeat, why_stopped


def beat(age: float, *, home: str = "here", pid: int = 7, run: str = "r") -> Heartbeat:
    return Heartbeat(run=run, home=home, pid=pid, age=age)


@pytest.mark.parametrize(
    ("beats", "why"),
    [
        pytest.param([beat(2)], "", id="a fresh one of a process that is there"),
        pytest.param([beat(2, pid=8)], "its process 8 is gone", id="a fresh one of a process that was killed"),
        pytest.param([beat(2, home="there", pid=8)], "", id="a fresh one from elsewhere, where nobody can look"),
        pytest.param([beat(40, home="there")], "no sign of life for 40 s", id="an old one from elsewhere"),
        pytest.param([beat(STOPPED_AFTER + 1)], "no sign of life for 31 s", id="a process that hangs, or a new one"),
        pytest.param([beat(400, home="there"), beat(3)], "", id="two processes of which one is at work"),
        pytest.param([], "it ended without a word", id="none"),
        pytest.param([beat(2, run="other")], "it ended without a word", id="somebody else's"),
    ],
)
def test_who_is_at_work(beats: list[Heartbeat], why: str) -> None:
    """On this machine only process 7 is there."""
    assert why_stopped(beats, "r", home="here", alive=lambda pid: pid == 7) == why
