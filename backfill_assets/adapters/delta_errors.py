"""What did delta-rs run into, in one line? Its messages are trees with colours, and backtraces of Rust below them."""

from __future__ import annotations

import re

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_BACKTRACE = re.compile(r"\s*\d+: |stack backtrace", re.IGNORECASE)
_LONGEST = 300


def delta_reason(error: BaseException) -> str:
    """The message's lines from the outermost to the cause.

    >>> delta_reason(OSError("Generic LocalFileSystem error\\n  \\x1b[31m↳\\x1b[0m File too large\\n   0: <unknown>"))
    'Generic LocalFileSystem error: File too large'
    """
    found: list[str] = []
    for line in str(error).splitlines():
        if _BACKTRACE.match(line):
            break
        if text := _COLOUR.sub("", line).replace("↳", "").strip():
            found.append(text)
    return ": ".join(found)[:_LONGEST] or type(error).__name__
