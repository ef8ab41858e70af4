"""When does somebody try again who lost a race? After a random while: of many who wait, one rarely meets another."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

MOST = 120
FIRST_WAIT, LONGEST_WAIT = 0.01, 0.25
"""Seconds: within the first one waits after the first race, within the other one after many."""


def attempts(most: int = MOST) -> Iterator[int]:
    """The numbers of at most so many attempts, with waits between: of 120, a quarter of a minute in all."""
    for number in range(most):
        if number:
            time.sleep(random.uniform(0, min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(number, 30))))
        yield number
