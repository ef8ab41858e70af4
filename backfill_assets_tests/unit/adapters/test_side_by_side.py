"""Questions that are asked at a time: their answers keep their order, and a failure ends the others."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from backfill_assets.adapters.side_by_side import side_by_side


class Session:
    """A session that is computing until it is interrupted."""

    def __init__(self) -> None:
        self.interrupted = threading.Event()

    def interruptAll(self) -> None:
        self.interrupted.set()


def test_answers_keep_their_order() -> None:
    both = threading.Barrier(2)  # which only two threads at a time get by

    def ask(n: int) -> int:
        both.wait(20)
        return n

    session: Any = Session()
    assert side_by_side(session, [lambda: ask(1), lambda: ask(2)]) == [1, 2]
    assert side_by_side(session, [lambda: 3]) == [3]
    assert side_by_side(session, []) == []
    assert not session.interrupted.is_set()


@pytest.mark.parametrize("first", [True, False])
def test_one_that_fails_ends_the_others(first: bool) -> None:
    session: Any = Session()

    def long() -> None:
        if not session.interrupted.wait(20 if first else 0.2):
            return
        raise RuntimeError("interrupted")

    def fails() -> None:
        raise ValueError("the reason")

    with pytest.raises(ValueError, match="the reason"):
        side_by_side(session, [fails, long] if first else [long, fails])
    assert session.interrupted.is_set()
