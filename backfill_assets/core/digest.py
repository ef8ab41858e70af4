"""What is the short name of some content? 16 hex digits."""

from __future__ import annotations

import hashlib
import json


def digest(*parts: object) -> str:
    """16 hex digits of some JSON-like values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
