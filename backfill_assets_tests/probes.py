"""What a Python model stands for in one interval: the SQL that it compiles to has the values of several."""

from __future__ import annotations

import re


def first_probe(text: str) -> str:
    """The SQL of the first of the PROBES, from that of all."""
    return re.sub(r"'\{([^;{}]*);[^{}]*\}'", r"'\1'", text)
