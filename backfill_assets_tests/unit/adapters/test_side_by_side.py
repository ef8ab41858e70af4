"""Questions that are asked at a time: their answers keep their order, and who is interrupted ends them."""

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


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_one_that_fails(error: type[BaseException]) -> None:
    """What else the session computes goes on; but where the wait itself is interrupted, all of it ends."""
    session: Any = Session()
    ended: list[str] = []

    def long() -> None:
        ended.append("interrupted" if session.interrupted.wait(0.5) else "done")

    def fails() -> None:
        raise error("the reason")

    with pytest.raises(error, match="the reason"):
        side_by_side(session, [fails, long])
    assert ended == (["done"] if error is ValueError else ["interrupted"])
