"""Which number does a stranger's text say? None for what is none, or is longer than anything that counts."""

from __future__ import annotations

import re


def whole(text: str) -> int | None:
    """A number of digits alone. Python takes other things for digits too, and refuses thousands of them.

    >>> whole("30"), whole("²"), whole("-1"), whole("9" * 5000)
    (30, None, None, None)
    """
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None
