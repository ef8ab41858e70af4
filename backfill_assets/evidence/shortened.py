"""How much of a packet's text is shown where it is kept for good, such as in Dagster's event log?"""

from __future__ import annotations

LONGEST = 12_000
"""Characters."""


def shortened(text: str, of: str, longest: int = LONGEST) -> str:
    """Whole lines of a packet's text; the last one says where the rest is.

    >>> shortened("# Release\\n\\n- all rows\\n", "1f3a", 12)
    '# Release\\n\\n\\n…the rest is in the packet: `backfill evidence 1f3a`\\n'
    """
    if len(text) <= longest:
        return text
    kept = text[: text.rfind("\n", 0, longest) + 1]
    return f"{kept}\n…the rest is in the packet: `backfill evidence {of}`\n"
